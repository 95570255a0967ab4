"""How well every number of features predicts, model by model, on the same folds."""

from __future__ import annotations

import csv
import io
import warnings
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from naively._types import Array
from naively.io.errors import InputError, told_of
from naively.io.models import COUNTING
from naively.io.progress import Progress, silent
from naively.jobs.paths import check_ks, counted
from naively.jobs.settings import UNSMOOTHED, SelectJob
from naively.jobs.training import new_estimator

_SHOWN_CLASSES = 5


@dataclass(frozen=True, slots=True)
class CvPoint:
    """Accuracy of a model with k features."""

    model: str
    k: int
    alpha: float | None  # where smoothings were searched
    accuracy: float  # mean over the folds
    standard_error: float


@dataclass(frozen=True, slots=True)
class CvTable:
    """The cross-validation of a file."""

    n_features: int
    n_rows: int
    folds: int
    best: CvPoint
    simplest_k: int  # fewest features of the same model within one standard error of the best
    ranking: tuple[str, ...]  # a sentence for each model, the best first
    points: tuple[CvPoint, ...]
    notes: tuple[str, ...] = ()  # what the reader should know


def cross_validate(
    job: SelectJob,
    models: Sequence[str],
    ks: Sequence[int] | None,
    folds: int,
    alphas: Sequence[float] | None,
    progress: Progress = silent,
) -> CvTable:
    """Cross-validate some models over k, the features selected anew in each fold.

    Raises
    ------
    InputError
        If the file or a setting cannot be used.
    """
    from naively.estimators.search import SparsityCV

    unsmoothed = [kind for kind in models if kind in UNSMOOTHED]
    if alphas is not None and unsmoothed:
        raise InputError(
            f"{job.input}: --alphas is smoothing, which --model {unsmoothed[0]} does not have; "
            "leave one of them out."
        )
    # The first that counts checks that these are counts.
    kinds = sorted(models, key=lambda kind: kind not in COUNTING)
    job = replace(job, model=replace(job.model, kind=kinds[0]))
    X, labels, _, _ = counted(job, progress)
    check_ks(job.input, ks, X.shape[1])
    notes = _checked_folds(job.input, labels, folds)
    estimators = [new_estimator(replace(job.model, kind=kind, k=1), 1) for kind in models]
    progress("cross-validating", 0, 0)
    with told_of(job.input), warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        warnings.filterwarnings("ignore", "The least populated class")  # said in `notes`
        search = SparsityCV(estimators, ks=ks, cv=folds, alphas=alphas, refit=False)
        search.fit(X, labels)
    notes += tuple(dict.fromkeys(str(each.message) for each in caught))
    points = _points(search.cv_results_, models, alphas is not None, search.n_splits_)
    return CvTable(
        n_features=X.shape[1],
        n_rows=X.shape[0],
        folds=search.n_splits_,
        best=points[search.best_index_],
        simplest_k=int(search.one_standard_error_k_),
        ranking=tuple(str(search.ranking_).splitlines()),
        points=points,
        notes=notes,
    )


def _checked_folds(name: str, labels: Array, folds: int) -> tuple[str, ...]:
    """Return notes on classes of few rows; refuse folds for which no class has rows enough."""
    rows = Counter(labels.tolist())
    largest = max(rows.values())
    if largest < folds:
        way_out = f"use --folds {largest}" if largest > 1 else "give more rows"
        raise InputError(
            f"{name}: `--folds` must be at most {largest:,}, the number of rows of the largest "
            f"class; got {folds:,} ({way_out})."
        )
    few = sorted(label for label, n in rows.items() if n < folds)
    if not few:
        return ()
    shown = ", ".join(few[:_SHOWN_CLASSES]) + (", ..." if len(few) > _SHOWN_CLASSES else "")
    return (
        f"Classes with fewer rows than there are folds: {shown} ({len(few):,} of {len(rows):,}); "
        "in some folds none of their rows are judged.",
    )


def _points(
    results: dict[str, Any], models: Sequence[str], smoothed: bool, folds: int
) -> tuple[CvPoint, ...]:
    n = len(results["params"])
    names = np.repeat(models, n // len(models)).tolist()  # one model after the other
    error = np.asarray(results["std_test_score"]) / np.sqrt(max(folds - 1, 1))
    alphas = [_smoothing(params) if smoothed else None for params in results["params"]]
    return tuple(
        CvPoint(name, int(k), alpha, float(accuracy), float(spread))
        for name, k, alpha, accuracy, spread in zip(
            names, results["param_k"], alphas, results["mean_test_score"], error, strict=True
        )
    )


def _smoothing(params: dict[str, Any]) -> float:
    return float(params["alpha"] if "alpha" in params else params["var_smoothing"])


def cv_csv(table: CvTable) -> str:
    """Give all points as CSV."""
    out = io.StringIO()
    writer = csv.writer(out, lineterminator="\n")
    writer.writerow(["model", "k", "alpha", "accuracy", "standard_error"])
    writer.writerows(
        [p.model, p.k, "" if p.alpha is None else p.alpha, repr(p.accuracy), repr(p.standard_error)]
        for p in table.points
    )
    return out.getvalue()
