"""Constraints as the command has them, by the names of features: on the columns of the data."""

from __future__ import annotations

import csv
import fnmatch
import re
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any

import numpy as np

from naively._nearest import nearest, short
from naively._types import FloatArray, IntArray
from naively.jobs.data import Data, placed_exposure
from naively.jobs.settings import ModelSettings, in_options
from naively.models.constraints import Constraints
from naively.models.model import Model
from naively.read.errors import InputError, told_of
from naively.read.matrix import read_words
from naively.statistics.weights import class_weights

_COMPARED = 20_000  # names that a mistyped one is compared with, at most
_WILD = re.compile(r"[*?\[]")


def constrained(
    model: Model[Any], data: Data, settings: ModelSettings, kept: IntArray | None
) -> Model[Any]:
    """Return the model with the constraints of the settings on the columns that are kept.

    Raises
    ------
    InputError
        If a name or pattern matches no feature, or if no choice can meet the constraints.
    """
    exposure = placed_exposure(data.features.exposure, kept)
    if exposure is not None:
        model = settings.model(of_text=bool(data.text_columns), exposure=exposure)
    if not settings.is_constrained:
        return _without(model, data, kept)
    names = _Names(data, kept)
    given: dict[str, Any] = {"budget": settings.budget, "quota": settings.quota}
    if settings.require:
        found = [names.matching("require", each, settings.min_count) for each in settings.require]
        given["required"] = np.unique(np.concatenate(found))
    if settings.exclude:
        found = [names.matching("exclude", each, None) for each in settings.exclude]
        given["excluded"] = np.unique(np.concatenate(found))
    if settings.feature_groups is not None:
        given["groups"] = _groups(settings.feature_groups, names)
    if settings.costs is not None:
        given["costs"] = _costs(settings.costs, names)
    with told_of(data.name), in_options():
        constraints = Constraints.checked(len(names.kept), names.kept, **given)
    return _without(replace(model, constraints=constraints), data, kept)


def _without(model: Model[Any], data: Data, kept: IntArray | None) -> Model[Any]:
    """Return the model with a column that holds the exposure never chosen."""
    if not isinstance(model.exposure, int):
        return model
    names = _Names(data, kept).kept
    constraints = model.constraints or Constraints(len(names))
    with told_of(data.name), in_options():
        return replace(model, constraints=constraints.without(model.exposure, names))


def weighed(statistics: Any, settings: ModelSettings) -> Any:
    """Return statistics with the weights of the classes that the settings ask for."""
    if settings.class_weight is None:
        return statistics
    weight = getattr(statistics, "counts", statistics).class_weight
    return statistics.weighted(class_weights(settings.class_weight, statistics.classes, weight))


@dataclass(frozen=True)
class _Names:
    """Names of the features that are counted, and of those that are kept to choose from."""

    data: Data
    columns: IntArray | None  # that are kept; None: all

    @cached_property
    def kept(self) -> Sequence[str]:
        """Names to choose from, in the order of the columns."""
        everything = np.arange(self.data.n_features)
        return self.data.named(everything if self.columns is None else self.columns)

    @cached_property
    def place(self) -> dict[str, int]:
        """Position of each name."""
        return {name: i for i, name in enumerate(self.kept)}

    def matching(self, key: str, pattern: str, min_count: int | None) -> IntArray:
        """Positions of the features with a name, or names that a pattern matches.

        With a `min_count` one of them has to be kept, else it is enough that it was counted.
        """
        found = self.positions(pattern)
        if len(found) or (min_count is None and self._is_counted(pattern)):
            return found
        source = f"{self.data.name}: `--choose {key}={short(pattern)}`"
        if self._is_counted(pattern):
            raise InputError(
                f"{source} is not counted {max(min_count or 0, 1):,} times or more in training; "
                "lower --words min-count, or leave it out."
            )
        if _WILD.search(pattern):
            raise InputError(f"{source} matches no feature; correct it, or leave it out.")
        raise InputError(f"{source} is no feature; {nearest(pattern, self._near(pattern))}")

    def positions(self, pattern: str) -> IntArray:
        """Positions of a name, or of all names that a pattern matches."""
        at = self.place.get(pattern)
        if at is not None:
            return np.array([at], dtype=np.int64)
        return _matched(pattern, self.kept)

    def _is_counted(self, pattern: str) -> bool:
        names = self.data.names
        return any(name == pattern for name in names) or len(_matched(pattern, names)) > 0

    def _near(self, name: str) -> list[str]:
        """Names that a mistyped one could mean: of the same beginning, or the same end."""
        folded = name.casefold()
        near = [
            each
            for each in self.kept
            if abs(len(each) - len(name)) <= 2
            and (each[:1].casefold() == folded[:1] or each[-2:].casefold() == folded[-2:])
        ]
        return (near or list(self.kept[:_COMPARED]))[:_COMPARED]


def _matched(pattern: str, names: Any) -> IntArray:
    """Positions of the names that a pattern matches; a plain name matches itself alone."""
    if not _WILD.search(pattern):
        return np.empty(0, dtype=np.int64)
    matches = re.compile(fnmatch.translate(pattern)).match
    return np.array([i for i, name in enumerate(names) if matches(name)], dtype=np.int64)


# --- files with a line for each feature -----------------------------------------------------------


def _groups(path: str, names: _Names) -> IntArray:
    """Group of each feature; one that the file does not name is a group of its own."""
    numbers: dict[str, int] = {}

    def read(text: str, line: int) -> int:
        return numbers.setdefault(text, len(numbers))

    found, named = _values(path, names, "group", read)
    group = named.astype(np.int64)
    group[found < 0] = len(numbers) + np.arange(np.count_nonzero(found < 0))
    return group


def _costs(path: str, names: _Names) -> FloatArray:
    def read(text: str, line: int) -> float:
        try:
            return float(text)
        except ValueError:
            raise InputError(
                f"{path}: line {line:,} must be a feature and its cost, as in gene,12.5; got "
                f"{short(text)!r}."
            ) from None

    found, costs = _values(path, names, "cost", read)
    without = np.flatnonzero(found < 0)
    if len(without):
        raise InputError(
            f"{path}: {len(without):,} features have no cost, such as "
            f"`{short(names.kept[without[0]])}`; a line *,1 gives one to all that are not named."
        )
    return costs


def _values(
    path: str, names: _Names, what: str, read: Callable[[str, int], float]
) -> tuple[IntArray, FloatArray]:
    """Line of a file that says something of each feature, -1 for none, and what it says: (m,).

    A name goes before a pattern, and an earlier pattern before the others. Names that the data do
    not have are passed over, as most words of a lexicon are, unless none is there.
    """
    by = np.full(len(names.kept), -1, dtype=np.int64)
    values = np.zeros(len(names.kept))
    patterns = []
    for line, (name, text) in enumerate(_pairs(path, what), start=1):
        if name is None:
            continue
        value, at = read(text, line), names.place.get(name)
        if at is not None:
            if by[at] >= 0:
                raise InputError(
                    f"{path}: line {line:,} names `{short(name)}` once more; a feature has one "
                    f"{what}."
                )
            by[at], values[at] = line, value
        elif _WILD.search(name):
            patterns.append((line, name, value))
    for line, name, value in patterns:
        found = names.positions(name)
        found = found[by[found] < 0]
        by[found], values[found] = line, value
    if (by < 0).all():
        raise InputError(
            f"{path}: names no feature of {names.data.name}; each line must be the name of a "
            f"feature, or a pattern, and its {what}, with a comma or tab in between."
        )
    return by, values


def _pairs(path: str, what: str) -> Iterator[tuple[str | None, str]]:
    """Name and value of each line; no name where the line is empty."""
    lines = read_words(path)
    delimiter = "\t" if any("\t" in line for line in lines) else ","
    for number, line in enumerate(lines, start=1):
        fields = next(csv.reader([line], delimiter=delimiter), [])
        if not line:
            yield None, ""
        elif len(fields) != 2 or not all(fields):
            raise InputError(
                f"{path}: line {number:,} must be the name of a feature, or a pattern, and its "
                f"{what}, with a comma or tab in between; got {short(line)!r}."
            )
        else:
            yield fields[0], fields[1].strip()
