"""What tells each class of a job from all others."""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping
from dataclasses import replace
from typing import Any

import numpy as np

from naively._nearest import short
from naively.jobs.data import Data, Kinds
from naively.jobs.fit import Fitted
from naively.jobs.settings import ModelSettings
from naively.models import MODELS
from naively.read.errors import InputError, told_of
from naively.report.summary import MarkerRow
from naively.selection.markers import markers_of
from naively.selection.train import Trained

_SHOWN = 5


def check_markers(settings: ModelSettings, most: int | None) -> None:
    """Refuse a model whose classes cannot be compared with all others.

    Raises
    ------
    InputError
        Naming what stands in the way.
    """
    if most is None:
        return
    kind = MODELS[settings.kind]
    if kind.takes == "table":
        raise InputError(
            f"`--markers` compares a class with all others by one figure of each feature, and "
            f"--model {settings.kind} has others for each kind of column; leave it out."
        )
    if kind.statistic is None:
        raise InputError(
            f"`--markers` compares a class with all others by statistics that add up, which "
            f"--model {settings.kind} lacks; leave it out."
        )
    norm = settings.norm is not None or settings.weights in ("log", "tfidf")
    if kind.takes == "counts" and norm:
        raise InputError(
            "`--markers` takes rows to hold counts, whose chance is known, not --words "
            "weights=log, --words weights=tfidf or --words norm; leave one of them out."
        )


def with_markers(
    fitted: Fitted, data: Data, trained: Trained[Any], settings: ModelSettings, kinds: Kinds,
    most: int | None,
) -> Fitted:  # fmt: skip
    """Add the features of each class, `most` at most, and which classes have none of their own."""
    if most is None:
        return fitted
    kept, support = data.kept(kinds, settings), trained.selection.support
    columns = support if kept is None else kept[support]
    documents = data.occurrences(kinds).documents
    held = None if documents is None else np.asarray(documents[columns])
    with told_of(data.name):
        found = markers_of(
            trained.model, data.statistics(kinds, kept), support, most, presence=held,
            names=np.array(data.named(columns), dtype=object),
        )  # fmt: skip
    table = {name: values.tolist() for name, values in found.columns().items()}
    table["label"] = [str(each) for each in table.pop("class")]
    names = list(table)
    rows = tuple(
        MarkerRow(**{name: _told(value) for name, value in zip(names, values, strict=True)})
        for values in zip(*table.values(), strict=True)
    )
    notes = (*fitted.notes, *((found.coverage,) if len(found.uncovered) else ()))
    if len(support) < data.n_features:
        own = {str(each): 0 for each in trained.classes.tolist()}
        for row in rows:
            own[row.label] += 1
        notes = (*notes, *_few_note(own, most, len(support)))
    return replace(fitted, markers=rows, notes=notes)


def _few_note(markers: Mapping[str, int], most: int, k: int) -> Iterator[str]:
    """Say that markers are chosen features, where these are too few for a class."""
    few = sorted(label for label, n in markers.items() if n < most)
    if few:
        shown = ", ".join(f"{short(label)} ({markers[label]:,})" for label in few[:_SHOWN])
        more = f" and {len(few) - _SHOWN:,} classes more" if len(few) > _SHOWN else ""
        yield (
            f"Markers are among the {k:,} chosen features, which have fewer than {most:,} of: "
            f"{shown}{more}; a larger -k may find more."
        )


def _told(value: Any) -> Any:
    return None if isinstance(value, float) and math.isnan(value) else value
