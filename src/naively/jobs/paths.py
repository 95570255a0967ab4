"""Every k at once: the path of a file, and its cross-validation."""

from __future__ import annotations

import csv
import io
from collections.abc import Callable, Sequence
from contextlib import suppress
from dataclasses import asdict, dataclass, replace
from typing import Any, Protocol

import numpy as np

from naively._types import Array, IntArray
from naively.io.errors import InputError, UnreadableError, told_of
from naively.io.progress import Progress, silent
from naively.jobs.engines import running
from naively.jobs.route import streamed_job
from naively.jobs.rows import load
from naively.jobs.settings import SelectJob
from naively.jobs.streamed import check_rows, count_job
from naively.jobs.totals import family_of, feature_names, kept_totals
from naively.jobs.training import kept_columns, new_estimator
from naively.scale.holdout import TEST, TRAIN, counts_of

_NEW_FEATURES = 1000  # named at each k


class HasK(Protocol):
    """A row of a table over k."""

    @property
    def k(self) -> int:
        """Number of features."""


@dataclass(frozen=True, slots=True)
class PathRow:
    """What k features reach."""

    k: int
    gain: float  # of the objective over no feature
    limit: float  # of any k features
    relative_gap: float  # share of the limit that is left open
    entered: tuple[str, ...]  # features that the k before did not have; those of many are cut


@dataclass(frozen=True, slots=True)
class PathTable:
    """The path of a file."""

    n_features: int
    n_rows: int
    quantity: str  # what the gain is of
    unit: str
    rows: tuple[PathRow, ...]


def path_of(job: SelectJob, ks: Sequence[int] | None, progress: Progress = silent) -> PathTable:
    """Solve for every k of a grid on all rows of a file.

    Raises
    ------
    InputError
        If the file or a setting cannot be used.
    """
    from naively.selection.path import path

    counts = _streamed(job, progress) or _in_memory(job, progress)
    check_ks(job.input, ks, counts.statistics.n_features)
    progress("solving", 0, 0)
    with told_of(job.input):
        track = path(counts.family, counts.statistics, ks)
    rows, before = [], np.empty(0, dtype=np.int64)
    for g, k in enumerate(track.k.tolist()):
        support = track.support(k)
        new = np.setdiff1d(support, before)[:_NEW_FEATURES]
        limit = float(track.bound[g] - track.baseline)
        gap = float(track.gap[g]) / limit if limit > 0 and np.isfinite(limit) else 0.0
        gain = float(track.objective[g] - track.baseline)
        rows.append(PathRow(k, gain, limit, gap, counts.named(new)))
        before = support
    unit, quantity = _unit(job)
    return PathTable(counts.statistics.n_features, counts.n_rows, quantity, unit, tuple(rows))


@dataclass(frozen=True, slots=True)
class _Counts:
    """What a path is solved on."""

    family: Any
    statistics: Any
    n_rows: int
    named: Callable[[IntArray], tuple[str, ...]]  # names of some features


def _in_memory(job: SelectJob, progress: Progress) -> _Counts:
    X, labels, names, estimator = counted(job, progress)
    with told_of(job.input):
        statistics = estimator.gather(X, labels)
        family = estimator.family(statistics)
    return _Counts(
        family, statistics, X.shape[0], lambda columns: tuple(names[i] for i in columns.tolist())
    )


def _streamed(job: SelectJob, progress: Progress) -> _Counts | None:
    """Count in streams; None where they do not give the same."""
    streamed = streamed_job(job)
    if streamed is None:
        return None
    with suppress(UnreadableError), running(streamed.engine) as engine:
        found = count_job(streamed, engine, progress)
        training, held_out = (counts_of(found.counts, kind) for kind in (TRAIN, TEST))
        check_rows(streamed, training, held_out)
        kept = kept_totals(found.source, training, job.model)
        statistics = training if len(kept) == training.n_features else training.take(kept)
        return _Counts(
            family_of(job.model, training),
            statistics,
            int(training.class_rows.sum()),
            lambda columns: feature_names(found.source, kept[columns]),
        )
    return None


def _unit(job: SelectJob) -> tuple[str, str]:
    if job.model.kind in ("l1-centers", "l2-centers"):
        return "units", "saving of distance"
    return "nats", "training likelihood"


def counted(job: SelectJob, progress: Progress) -> tuple[Any, Array, list[str], Any]:
    """Read a file: its rows (n, m), labels (n,), names (m,) and an estimator for them."""
    if job.model.kind == "hybrid":
        raise InputError(
            f"{job.input}: hybrid models have no path of their own; use --model multinomial, which "
            "selects their features."
        )
    rows = load(job, progress)
    X, labels = rows.of(TRAIN)
    kept = kept_columns(rows, X, job.model)
    X = X if len(kept) == X.shape[1] else X[:, kept]
    names = [rows.names[i] for i in kept.tolist()]
    return X, labels.astype(str), names, new_estimator(replace(job.model, k=1), 1)


def check_ks(name: str, ks: Sequence[int] | None, there_are: int) -> None:
    """Refuse a number of features that a file does not have.

    Raises
    ------
    InputError
        Naming the file.
    """
    if ks is not None and max(ks) > there_are:
        raise InputError(
            f"{name}: `--ks` must be at most the number of features, {there_are:,}; got "
            f"{max(ks):,}."
        )


def path_csv(table: PathTable) -> str:
    """Give the path as CSV."""
    out = io.StringIO()
    writer = csv.writer(out, lineterminator="\n")
    writer.writerow(["k", "gain", "limit", "relative_gap"])
    writer.writerows(
        [row.k, repr(row.gain), repr(row.limit), row.relative_gap] for row in table.rows
    )
    return out.getvalue()


def grid(text: str | None) -> list[int] | None:
    """Read 1,10,100 or 1-20 as numbers of features.

    Raises
    ------
    ValueError
        If the text is anything else.
    """
    if text is None:
        return None
    ks: list[int] = []
    for part in text.split(","):
        first, _, last = part.strip().partition("-")
        if int(last or first) - int(first) > 1_000_000:
            raise ValueError("too many")
        ks.extend(range(int(first), int(last or first) + 1))
    if not ks or min(ks) < 0:
        raise ValueError("none")
    return sorted(set(ks))


def as_record(table: Any) -> dict[str, Any]:
    """Plain record of a result."""
    return asdict(table)


def first_ks(rows: Sequence[HasK], n: int) -> IntArray:
    """Positions of about n rows, evenly spaced, the first and the last among them."""
    return np.unique(np.rint(np.linspace(0, len(rows) - 1, min(n, len(rows)))).astype(np.int64))
