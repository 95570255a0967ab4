"""Cross-validation of a whole path: statistics of a fold are total minus fold."""

from __future__ import annotations

import warnings
from collections.abc import Iterator
from functools import reduce
from operator import add
from typing import Any

import numpy as np
from sklearn.base import clone
from sklearn.utils import check_random_state

from naively._types import Array, FloatArray, IntArray
from naively.error.error_path import FoldErrors
from naively.error.leave_one_out import Rows
from naively.error.path_rule import path_rule
from naively.families.rules import LinearRule
from naively.selection.path import SparsityPath, checked_grid, path
from naively.statistics.matrix import is_sparse

REPEATED_ROWS = 500  # rows below which the folds are drawn more than once
MAX_REPEATS = 5


def choose_k(estimator: Any, X: Any, y: Array, sample_weight: Any = None) -> FoldErrors:
    """Cross-validated errors on the default grid, from which `k="auto"` takes its k.

    Parameters
    ----------
    estimator : sparse classifier
        The model; its `k` does not matter.
    X, y : checked rows and labels
        What `fit` works on.
    sample_weight : array-like of shape (n_samples,), default=None
        Weight of each row.

    Returns
    -------
    FoldErrors
        Errors for no feature, and for about 100 numbers of features up to all.

    Warns
    -----
    UserWarning
        If no number of features does better than none by more than one standard error.
    """
    grid = np.append(0, checked_grid(None, X.shape[1]))
    # With few rows the division into folds decides as much as the rows do: average it out.
    repeats = int(np.clip(REPEATED_ROWS // X.shape[0], 1, MAX_REPEATS))
    folds = fold_errors(estimator, X, y, sample_weight, grid, n_repeats=repeats)
    if folds.best_k() == 0:
        best = int(np.argmin(folds.mean))
        warnings.warn(
            f"`k`='auto' selects no feature: the cross-validated error is {folds.mean[0]:.3g} "
            f"without any, and {folds.mean[best]:.3g} at best (k={folds.k[best]}), which is "
            "within one standard error. Set `k` to use features all the same.",
            UserWarning,
            stacklevel=4,
        )
    return folds


def fold_errors(
    estimator: Any,
    X: Any,
    y: Array,
    sample_weight: Any = None,
    ks: Any = None,
    *,
    n_folds: int = 5,
    n_repeats: int = 1,
    random_state: Any = 0,
) -> FoldErrors:
    """Cross-validate every number of features of a grid, the selection inside each fold.

    Parameters
    ----------
    estimator : sparse classifier
        The model; its `k` does not matter.
    X, y : checked rows and labels
        As `fit` takes them.
    sample_weight : array-like of shape (n_samples,), default=None
        Weight of each row.
    ks : array-like of int, default=None
        The grid; about 100 values by default.
    n_folds : int, default=5
        Number of folds; never more than rows.
    n_repeats : int, default=1
        How often the rows are divided anew; the errors are averaged.
    random_state : int or RandomState, default=0
        Seed of the assignment of the rows to folds of equal class shares.

    Returns
    -------
    FoldErrors
        Errors of each fold at each k.
    """
    grid = checked_grid(ks, X.shape[1])
    rows = checked_rows(X, y, sample_weight)
    if len(rows.labels) < 2:
        raise ValueError("Cross-validation needs at least two rows of positive weight; got one.")
    classes, rng = np.unique(y), check_random_state(random_state)
    errors, weight = [], []
    for _ in range(n_repeats):
        fold = stratified_folds(rows.labels, n_folds, rng)
        held_out = [rows.take(np.flatnonzero(fold == t)) for t in range(fold.max() + 1)]
        parts = [gather_rows(estimator, part, classes) for part in held_out]
        for part, training in zip(held_out, training_statistics(parts), strict=True):
            weight.append(part.total)
            errors.append(path_errors(estimator, training, grid, part) / part.total)
    return FoldErrors(grid, np.array(errors), np.array(weight), int(fold.max()) + 1)


def stratified_folds(labels: IntArray, n_folds: int, random_state: Any) -> IntArray:
    """Fold of each row: classes dealt out in turn, so that fold sizes differ by one at most."""
    n_folds = max(min(n_folds, len(labels)), 1)
    shuffled = check_random_state(random_state).permutation(len(labels))
    order = shuffled[np.argsort(labels[shuffled], kind="stable")]
    fold = np.empty(len(labels), dtype=np.int64)
    fold[order] = np.arange(len(labels)) % n_folds
    return fold


def checked_rows(X: Any, y: Array, sample_weight: Any) -> Rows:
    """Rows of positive weight, sparse ones compressed by row without duplicate entries."""
    if is_sparse(X):
        X = X.tocsr()
        if not X.has_canonical_format:
            X = X.copy()
            X.sum_duplicates()
    labels = np.unique(y, return_inverse=True)[1]
    if sample_weight is None:
        return Rows(X, labels, np.empty(0))
    weight = np.broadcast_to(np.asarray(sample_weight, dtype=np.float64), labels.shape)
    rows = Rows(X, labels, np.ascontiguousarray(weight))
    return rows if (weight > 0).all() else rows.take(np.flatnonzero(weight > 0))


def gather_rows(estimator: Any, rows: Rows, classes: Array) -> Any:
    """Statistics of some rows, all classes included."""
    weight = rows.weight if len(rows.weight) else None
    return estimator._gather(rows.X, classes[rows.labels], weight, classes)


def training_statistics(parts: list[Any]) -> Iterator[Any]:
    """Statistics of all folds but one, for each: total minus fold, or a sum of the others."""
    if hasattr(parts[0], "__sub__"):
        total = reduce(add, parts)
        yield from (total - part for part in parts)
    else:
        for t in range(len(parts)):
            yield reduce(add, parts[:t] + parts[t + 1 :])


def path_errors(estimator: Any, statistics: Any, grid: IntArray, rows: Rows) -> FloatArray:
    """Weight (G,) of rows decided wrongly by the models that the statistics give for each k."""
    family = estimator.family(statistics)
    track = path(family, statistics, grid)
    prior = estimator._log_prior(statistics)
    if isinstance(family.rule(statistics, track.support(0), prior), LinearRule):
        X = as_compressed_rows(estimator._prepare(rows.X))
        return path_rule(family, statistics, track, prior).errors(X, rows.labels, rows.weight)
    return _errors_one_by_one(estimator, family, statistics, track, rows)


def _errors_one_by_one(
    estimator: Any, family: Any, statistics: Any, track: SparsityPath, rows: Rows
) -> FloatArray:
    prior = estimator._log_prior(statistics)
    weight = rows.weight if len(rows.weight) else np.ones(len(rows.labels))
    errors = np.empty(len(track.k))
    for g, k in enumerate(track.k):
        support = track.support(k)
        scores = family.rule(statistics, support, prior).scores(
            estimator._prepare(rows.X[:, support])
        )
        errors[g] = weight @ (np.argmax(scores, axis=1) != rows.labels)
    return errors


def as_compressed_rows(X: Any) -> Any:
    """Return rows in CSR form."""
    from scipy import sparse

    return X.tocsr() if is_sparse(X) else sparse.csr_array(X)


def fresh(estimator: Any, X: Any, y: Any) -> tuple[Any, Any, Array]:
    """Return an unfitted copy of an estimator, and rows and labels as its `fit` checks them."""
    estimator = clone(estimator)
    X, y = estimator._check_batch(X, y, reset=True)
    return estimator, X, y
