"""What is measured of a model beyond its accuracy: every k, and how well it knows itself."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from naively._types import Array, FloatArray, IntArray
from naively.families.rules import winners
from naively.jobs.rows import TEST, Rows
from naively.report.summary import Confusion, CoveragePoint, PathCurve, PathPoint
from naively.selection.path import log_grid, path

GRID_POINTS = 40
_COVERAGE_POINTS = 50
_CONFUSED_CLASSES = 100  # more are too many to keep every cell of the matrix
_PREDICTED_CLASSES = 20  # the prediction compares all pairs in all classes


@dataclass(frozen=True, slots=True)
class Accuracies:
    """Accuracy at each k of a grid."""

    k: IntArray  # (G,)
    mean: FloatArray  # (G,)
    spread: FloatArray | None  # (G,) standard error, if it was cross-validated
    of: str  # in words: whose accuracy it is


def grid_of(n_features: int, chosen: int) -> IntArray:
    """Values of k, evenly spaced on a log scale from 1 to all, with the chosen one: (G,)."""
    spaced = log_grid(max(n_features, 1), GRID_POINTS)
    return np.unique(np.append(spaced, max(chosen, 1)).clip(0, n_features))


def cross_validated(estimator: Any) -> Accuracies | None:
    """Accuracies from which `k="auto"` took its k; None for another k."""
    folds = getattr(estimator, "fold_errors_", None)
    if folds is None:
        return None
    whose = f"{folds.n_folds}-fold cross-validation of the training rows, with its standard error"
    return Accuracies(folds.k, 1 - folds.mean, folds.standard_error, whose)


def on_test_rows(estimator: Any, rows: Rows, kept: IntArray, grid: IntArray) -> Accuracies | None:
    """Accuracy on the test rows at every k, the features selected among the training rows.

    Parameters
    ----------
    estimator
        Fitted; its `k` does not matter.
    rows
        All rows.
    kept
        The columns of the rows that the estimator was given.
    grid
        Values of k (G,).
    """
    from naively.error.leave_one_out import Rows as Labelled
    from naively.estimators.folds import Fold, path_errors

    X, labels = rows.of(TEST)
    if not len(labels) or not hasattr(estimator, "family_"):
        return None
    names = estimator.classes_.astype(str)
    known = np.flatnonzero(np.isin(labels.astype(str), names))
    codes = np.searchsorted(names, labels[known].astype(str))
    X = X[known] if len(kept) == X.shape[1] else X[known][:, kept]
    fold = Fold(estimator.statistics_, Labelled(X, codes, np.empty(0)))
    wrong = path_errors(estimator, fold, grid)
    right = (len(known) - wrong) / len(labels)  # labels that training does not have are mistakes
    return Accuracies(grid, right, None, rows.test_method)


def predicted_error(estimator: Any) -> float | None:
    """Error that the model expects of itself; None where no law of it is known."""
    from naively.error.estimates import expected_error

    if len(estimator.classes_) > _PREDICTED_CLASSES:
        return None
    try:
        return float(expected_error(estimator, method="saddlepoint").error)
    except (ValueError, AttributeError):  # only count and presence models have such a law
        return None


def path_curve(estimator: Any, chosen: int, accuracies: Accuracies | None) -> PathCurve | None:
    """Objective and bound at every k, with the accuracies that were measured.

    Parameters
    ----------
    estimator
        Fitted on the rows that the model was trained on.
    chosen
        Its number of features.
    accuracies
        Measured at some values of k, of which this path takes those it can reach.
    """
    selector = getattr(estimator, "estimator_", estimator)
    statistics, n_features = selector.statistics_, selector.statistics_.n_features
    if n_features == 0 or chosen == 0:
        return None
    grid = grid_of(n_features, chosen)
    if accuracies is not None:
        grid = np.union1d(accuracies.k[(accuracies.k > 0) & (accuracies.k <= n_features)], chosen)
    track = path(selector.family(statistics), statistics, grid)
    of_k = _by_k(accuracies)
    points = [
        PathPoint(k, objective, bound, *of_k.get(k, (None, None)))
        for k, objective, bound in zip(
            track.k.tolist(), track.objective.tolist(), track.bound.tolist(), strict=True
        )
    ]
    whose = accuracies.of if accuracies is not None else ""
    return PathCurve(chosen, float(track.baseline), whose, tuple(points))


def _by_k(accuracies: Accuracies | None) -> dict[int, tuple[float, float | None]]:
    if accuracies is None:
        return {}
    spread = [None] * len(accuracies.k) if accuracies.spread is None else accuracies.spread.tolist()
    rows = zip(accuracies.k.tolist(), accuracies.mean.tolist(), spread, strict=True)
    return {k: (mean, error) for k, mean, error in rows}


def confusion_of(truth: Array, answers: Array, classes: tuple[str, ...]) -> Confusion | None:
    """Count test rows (n,) by class and answer."""
    truths = sorted(set(truth.tolist()))
    if max(len(truths), len(classes)) > _CONFUSED_CLASSES:
        return None
    rows = np.searchsorted(np.array(truths, dtype=object), truth)
    order = {name: c for c, name in enumerate(classes)}
    columns = np.array([order[each] for each in answers.tolist()], dtype=np.int64)
    counted = np.zeros((len(truths), len(classes)), dtype=np.int64)
    np.add.at(counted, (rows, columns), 1)
    return Confusion(tuple(truths), classes, tuple(map(tuple, counted.tolist())))


def coverage_points(scores: FloatArray, right: Array) -> tuple[CoveragePoint, ...]:
    """Accuracy on the surest part of the test rows, for some fifty shares of them.

    Parameters
    ----------
    scores
        Of each class (n, C).
    right
        Whether the largest is that of the true class (n,).
    """
    margin = _margins(scores)
    order = np.argsort(-margin, kind="stable")
    n = len(order)
    ends = np.unique(np.rint(np.linspace(0, n, _COVERAGE_POINTS + 1)[1:]).astype(np.int64))
    ends = ends[ends > 0]
    hits = np.cumsum(right[order])
    sure = 1 / (1 + np.exp(-margin[order].clip(-700, 700)))
    return tuple(
        CoveragePoint(end / n, float(hits[end - 1] / end), float(sure[end - 1]))
        for end in ends.tolist()
    )


def _margins(scores: FloatArray) -> FloatArray:
    """Log-odds of the answer against all others: orders rows as its probability, unrounded."""
    best = winners(scores)
    rows = np.arange(len(scores))
    top = scores[rows, best]
    others = scores.copy()
    others[rows, best] = -np.inf
    with np.errstate(divide="ignore", invalid="ignore"):
        rest = others.max(axis=1)
        total = np.log(np.exp(others - rest[:, None]).sum(axis=1)) + rest
    return np.where(np.isneginf(rest), np.inf, top - total)
