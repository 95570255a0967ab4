"""What all class statistics have in common: they are values that add up and subtract.

A statistic is a frozen record: its classes, arrays whose last axis is these classes (each declared
as a `Part`), the keys of rows that are not features, and settings that say what was counted. From
the declarations follow addition, subtraction, equality, and statistics of some features or classes;
what remains to a statistic is to gather its arrays from rows, and to read them.

What keeps the rows themselves, as medians need them, does not add up in bounded memory and is no
statistic: see `naively.statistics.values`.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Mapping
from dataclasses import dataclass, field, fields, replace
from functools import cache
from typing import Any, Self

import numpy as np
import numpy.typing as npt

from naively._types import Array, FloatArray, IntArray
from naively.statistics.addition import is_nothing
from naively.statistics.labels import class_positions, union_of_classes
from naively.statistics.parts import (
    COUNTS,
    MAYBE_COUNTS,
    NOT_COUNTED,
    Keyed,
    Part,
    part,
    some_classes,
    some_rows,
)
from naively.statistics.sparse_table import SparseTable, column_positions


@cache
def parts_of(kind: type[AbstractStatistics]) -> Mapping[str, Part]:
    """Return the arrays of a kind of statistics, by their names."""
    return {each.name: each.metadata["part"] for each in fields(kind) if "part" in each.metadata}


@cache
def keyed_rows(kind: type[AbstractStatistics]) -> tuple[Keyed, ...]:
    """Return the axes of a kind of statistics that are numbered by a field."""
    axes = {each.rows.key: each.rows for each in parts_of(kind).values() if each.rows is not None}
    return tuple(axes.values())


@dataclass(frozen=True, slots=True, eq=False)
class AbstractStatistics(ABC):
    """Sums over the rows of each class."""

    classes: Array  # (C,) labels, ascending
    class_rows: IntArray = field(metadata=part(COUNTS))  # (C,)
    class_weight: FloatArray = field(metadata=part(COUNTS))  # (C,)
    # (m, C) weight of the rows in which a feature is observed, where values may be missing
    observed: FloatArray | None = field(default=None, kw_only=True, metadata=part(MAYBE_COUNTS))

    # -- what a kind of statistics says of itself -------------------------------------------------

    @classmethod
    @abstractmethod
    def from_matrix(cls, *args: Any, **kwargs: Any) -> Self:
        """Gather the statistics of rows (X, y, sample_weight), `classes` and settings by name."""

    @property
    @abstractmethod
    def n_features(self) -> int:
        """Number of features m."""

    @property
    @abstractmethod
    def _settings(self) -> Mapping[str, Any]:
        """Keywords of `from_matrix` by which the same is counted."""

    @property
    def feature_weight(self) -> FloatArray:
        """Weight of the rows of each class that have a feature: (C,), or (m, C) if they differ.

        Of rows of some exposure, their exposure.
        """
        exposure: FloatArray | None = getattr(self, "exposure", None)
        if exposure is not None:
            return exposure
        if self.observed is None or bool((self.observed == self.class_weight).all()):
            return self.class_weight
        return self.observed

    @abstractmethod
    def feature_totals(self) -> Array:
        """How much of each feature was counted, all classes together.

        Returns
        -------
        totals : ndarray of shape (n_features,)
            Weighted sum of what is counted of it.
        """

    # -- making ---------------------------------------------------------------------------------

    @classmethod
    def zero(cls, n_features: int, classes: Any = (), **settings: Any) -> Self:
        """Return the statistics of no rows: adding them changes nothing.

        Parameters
        ----------
        n_features : int
            Number of features m.
        classes : array-like of shape (C,), default=()
            Labels that will occur.
        **settings
            What is counted, as in `from_matrix`.

        Returns
        -------
        statistics
            All sums zero.
        """
        empty = np.empty((0, n_features), dtype=np.int64)
        return cls.from_matrix(empty, [], classes=classes, **settings)

    def update(self, X: Any, y: Any, sample_weight: Any = None) -> Self:
        """Return the statistics of the rows seen so far and some more.

        Parameters
        ----------
        X : array-like, sparse matrix or data frame of shape (n, m)
            Rows, as in `from_matrix`.
        y : array-like of shape (n,)
            Labels; there may be new ones.
        sample_weight : array-like of shape (n,), default=None
            Weight of each row.

        Returns
        -------
        statistics
            A new value; this one does not change.
        """
        return self + type(self).from_matrix(X, y, sample_weight, **self._settings)

    def without(self, other: Self) -> Self:
        """Return the statistics of the rows that are left when some are taken out.

        As `-`, but other rows than those counted are refused as far as sums can tell, and what
        only the rows taken out had (their last categories) is left out.

        Parameters
        ----------
        other : statistics of the same kind
            Of rows that are among those counted here.

        Returns
        -------
        statistics
            As counted from the rows that are left; classes stay.

        Raises
        ------
        ValueError
            If these rows cannot have been counted here.
        """
        return self._less(other)._alone(self)

    def _less(self, other: Self) -> Self:
        rest = self - other
        alike = (rest.class_rows > 0) == (rest.class_weight > 0)
        if not alike.all() or not self._may_leave(rest, other._wider(self.classes, self._keys())):
            raise ValueError(NOT_COUNTED)
        return rest

    def _may_leave(self, rest: Self, taken: Self) -> bool:
        """Whether what is left of the features may be of rows; no count is below 0."""
        return True

    # -- reading --------------------------------------------------------------------------------

    def take(self, columns: npt.ArrayLike) -> Self:
        """Return the statistics of some features.

        Parameters
        ----------
        columns : array-like of int or bool
            Which features, in the order wanted, or a mask (m,).

        Returns
        -------
        statistics
            What is known of whole rows stays as it is.
        """
        wanted = column_positions(columns, self.n_features)
        taken: dict[str, Any] = {}
        for name, array in self._arrays().items():
            rows = self._parts[name].rows
            if rows is None and len(array.shape) == 2:
                taken[name] = some_rows(array, wanted)
            elif rows is not None and rows.of_columns is not None:
                sizes = getattr(self, rows.key)
                taken[name] = some_rows(array, rows.of_columns(sizes, wanted))
                taken[rows.key] = sizes[wanted]
        return replace(self, **taken)

    def of_classes(
        self, positions: npt.ArrayLike, names: npt.ArrayLike | None = None, *, copy: bool = True
    ) -> Self:
        """Return the statistics of the rows of some classes.

        Parameters
        ----------
        positions : array-like of int
            Which of `classes`, each at most once.
        names : array-like of the same length, default=None
            Their labels in the result, whose classes ascend by them. By default those they have.
        copy : bool, default=True
            Whether arrays are the result's own, without gaps. False: they may be views of these,
            which is enough where a sum makes others of them.

        Returns
        -------
        statistics
            As these rows alone are counted; all features are kept.

        Raises
        ------
        ValueError
            If two classes would have the same name.
        """
        chosen = np.asarray(positions, dtype=np.int64)
        classes, order = np.unique(
            self.classes[chosen] if names is None else np.asarray(names), return_index=True
        )
        if len(classes) != len(chosen):
            raise ValueError(f"`names` must be as many distinct labels as classes; got {names!r}.")
        some = {
            name: some_classes(array, chosen[order], copy=copy)
            for name, array in self._arrays().items()
        }
        return replace(self, classes=classes, **some)._alone(self)

    def _alone(self, everything: Self) -> Self:
        """Return these statistics without what only other rows of everything have."""
        return self._occurring()

    def weighted(self, weights: npt.ArrayLike) -> Self:
        """Return the statistics with the rows of each class weighing more, or less.

        Parameters
        ----------
        weights : array-like of shape (C,)
            By what the weight of the rows of each class is multiplied, > 0.

        Returns
        -------
        statistics
            As of rows that had `sample_weight` times as large; the number of rows stays.
        """
        by = np.asarray(weights, dtype=np.float64)
        more: dict[str, Any] = {
            name: array.scaled(by) if isinstance(array, SparseTable) else array * by
            for name, array in self._arrays().items()
            if name != "class_rows"
        }
        return replace(self, **more)

    def equals(self, other: Self) -> bool:
        """Whether all fields agree exactly, types included.

        Parameters
        ----------
        other : statistics of the same kind
            What to compare with.

        Returns
        -------
        equal : bool
            True if arrays agree in shape and in every entry, and in type.
        """
        return type(other) is type(self) and all(
            _same(getattr(self, each.name), getattr(other, each.name)) for each in fields(self)
        )

    # -- arithmetic -----------------------------------------------------------------------------

    def __add__(self, other: Self) -> Self:
        if type(other) is not type(self):
            return NotImplemented
        self._check_alike(other)
        classes = union_of_classes(self.classes, other.classes)
        ours, theirs = self._keys(), other._keys()
        keys = {
            rows.key: rows.united(ours[rows.key], theirs[rows.key])
            for rows in keyed_rows(type(self))
        }
        first, second = self._wider(classes, keys), other._wider(classes, keys)
        sums = {name: each.way.added(name, first, second) for name, each in self._parts.items()}
        return replace(first, **sums)

    def __radd__(self, other: int) -> Self:
        return self if is_nothing(other) else NotImplemented

    def __sub__(self, other: Self) -> Self:
        if type(other) is not type(self):
            return NotImplemented
        self._check_alike(other)
        taken, rest = other._wider(self.classes, self._keys()), self
        for name, each in self._parts.items():  # in order: what is left of the rows comes first
            rest = replace(rest, **{name: each.way.taken(name, self, taken, rest)})
        return rest._occurring()

    @property
    def _parts(self) -> Mapping[str, Part]:
        return parts_of(type(self))

    def _arrays(self) -> dict[str, Any]:
        arrays = {name: getattr(self, name) for name in self._parts}
        return {name: array for name, array in arrays.items() if array is not None}

    def _keys(self) -> dict[str, Array]:
        return {rows.key: getattr(self, rows.key) for rows in keyed_rows(type(self))}

    def _wider(self, classes: Array, keys: Mapping[str, Array]) -> Self:
        """Return the same statistics with zeros for classes and keys that are not their own."""
        same = np.array_equal(classes, self.classes)
        positions = np.empty(0, np.int64) if same else class_positions(self.classes, classes)
        changed: dict[str, Any] = {"classes": classes, **keys}
        for name, array in self._arrays().items():
            each = self._parts[name]
            wider = self._rows_among(keys, each.rows, array) if each.rows else array
            changed[name] = wider if same else each.way.wider(wider, positions, len(classes))
        return replace(self, **changed)

    def _rows_among(self, keys: Mapping[str, Array], rows: Keyed, array: Array) -> Array:
        own, united = getattr(self, rows.key), keys[rows.key]
        if np.array_equal(own, united):
            return array
        more = np.zeros((rows.size(united), array.shape[1]), dtype=array.dtype)
        more[rows.places(own, united)] = array
        return more

    def _occurring(self) -> Self:
        """Leave out rows of zeros where only rows that occur are kept."""
        kept: dict[str, Any] = {}
        for name, array in self._arrays().items():
            rows = self._parts[name].rows
            if rows is not None and rows.sparse:
                occurring = array.any(axis=1)
                kept[name] = array[occurring]
                kept[rows.key] = getattr(self, rows.key)[occurring]
        return replace(self, **kept)

    def _check_alike(self, other: Self) -> None:
        if self.n_features != other.n_features:
            raise ValueError(
                "Statistics must be of the same features to be combined; got "
                f"n_features={self.n_features} and n_features={other.n_features}."
            )
        if self._settings != other._settings:
            ours, theirs = (
                ", ".join(f"{name}={value}" for name, value in each._settings.items())
                for each in (self, other)
            )
            raise ValueError(
                f"Statistics must count the same thing to be combined; got {ours} and {theirs}."
            )


def _same(first: Any, second: Any) -> bool:
    if isinstance(first, SparseTable):
        return first.equals(second)
    if not isinstance(first, np.ndarray) or not isinstance(second, np.ndarray):
        return type(first) is type(second) and bool(first == second)
    return first.dtype == second.dtype and np.array_equal(first, second)
