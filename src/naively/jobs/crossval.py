"""How well every number of features predicts, model by model, on the same folds."""

from __future__ import annotations

import csv
import io
from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from naively.io.errors import told_of
from naively.io.progress import Progress, silent
from naively.jobs.paths import counted
from naively.jobs.settings import SelectJob
from naively.jobs.training import new_estimator


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

    job = replace(job, model=replace(job.model, kind=models[0]))
    X, labels, _, first = counted(job, progress)
    others = [new_estimator(replace(job.model, kind=kind, k=1), 1) for kind in models[1:]]
    progress("cross-validating", 0, 0)
    with told_of(job.input):
        search = SparsityCV([first, *others], ks=ks, cv=folds, alphas=alphas, refit=False)
        search.fit(X, labels)
    points = _points(search.cv_results_, models, alphas is not None, search.n_splits_)
    return CvTable(
        n_features=X.shape[1],
        n_rows=X.shape[0],
        folds=search.n_splits_,
        best=points[search.best_index_],
        simplest_k=int(search.one_standard_error_k_),
        ranking=tuple(str(search.ranking_).splitlines()),
        points=points,
    )


def _points(
    results: dict[str, Any], models: Sequence[str], smoothed: bool, folds: int
) -> tuple[CvPoint, ...]:
    n = len(results["params"])
    names = np.repeat(models, n // len(models)).tolist()  # one model after the other
    error = np.asarray(results["std_test_score"]) / np.sqrt(max(folds - 1, 1))
    alphas = results["param_alpha"].tolist() if smoothed else [None] * n
    return tuple(
        CvPoint(name, int(k), alpha, float(accuracy), float(spread))
        for name, k, alpha, accuracy, spread in zip(
            names, results["param_k"], alphas, results["mean_test_score"], error, strict=True
        )
    )


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
