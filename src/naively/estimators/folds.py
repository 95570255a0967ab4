"""Cross-validation of a whole path: statistics of a fold are total minus fold."""

from __future__ import annotations

import warnings
from typing import Any

import numpy as np
from sklearn.base import clone
from sklearn.utils import check_random_state

from naively._types import Array, BoolArray, FloatArray, IntArray
from naively.error.error_path import FoldErrors
from naively.error.leave_one_out import Rows
from naively.error.path_rule import path_rule
from naively.families.rules import LinearRule
from naively.selection.path import checked_grid, path
from naively.statistics.matrix import is_sparse

REPEATED_ROWS = 500  # rows below which the folds are drawn more than once
MAX_REPEATS = 5


def choose_k(estimator: Any, X: Any, y: Array, sample_weight: Any, statistics: Any) -> FoldErrors:
    """Cross-validated errors on the default grid, from which `k="auto"` takes its k.

    Parameters
    ----------
    estimator : sparse classifier
        The model; its `k` does not matter.
    X, y : checked rows and labels
        What `fit` works on.
    sample_weight : array-like of shape (n_samples,) or None
        Weight of each row.
    statistics
        Class statistics of all rows.

    Returns
    -------
    FoldErrors
        Errors for no feature, and for about 100 numbers of features up to all.

    Warns
    -----
    UserWarning
        If no number of features does better than none by more than one standard error.
    """
    grid = np.append(0, checked_grid(None, statistics.n_features))
    # With few rows the division into folds decides as much as the rows do: average it out.
    repeats = int(np.clip(REPEATED_ROWS // X.shape[0], 1, MAX_REPEATS))
    rows = checked_rows(X, y, sample_weight)
    folds = fold_errors(estimator, rows, statistics, grid, n_repeats=repeats)
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
    rows: Rows,
    statistics: Any,
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
    rows : Rows
        From `checked_rows`.
    statistics
        Class statistics of all of them.
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
    grid = checked_grid(ks, statistics.n_features)
    n = len(rows.labels)
    if n < 2:
        raise ValueError(
            f"`k`='auto' and error curves need at least two rows of positive weight to "
            f"cross-validate; got n_samples={n}."
        )
    rng, n_folds = check_random_state(random_state), min(n_folds, n)
    errors, weight = [], []
    for _ in range(n_repeats):
        fold = stratified_folds(rows.labels, n_folds, rng)
        for t in range(n_folds):
            held_out = rows.take(np.flatnonzero(fold == t))
            training = _without(estimator, statistics, rows, fold == t)
            wrong = path_errors(estimator, training, grid, held_out)
            weight.append(held_out.total)
            errors.append(wrong / held_out.total)
    return FoldErrors(grid, np.array(errors), np.array(weight), n_folds)


def stratified_folds(labels: IntArray, n_folds: int, random_state: Any) -> IntArray:
    """Fold of each row: classes dealt out in turn, so that fold sizes differ by one at most."""
    shuffled = random_state.permutation(len(labels))
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


def _without(estimator: Any, statistics: Any, rows: Rows, held_out: BoolArray) -> Any:
    """Statistics of the other rows: total minus fold, or gathered where they do not subtract."""
    if hasattr(statistics, "__sub__"):
        fold = rows.take(np.flatnonzero(held_out))
        return statistics - gather_rows(estimator, fold, statistics.classes)
    return gather_rows(estimator, rows.take(np.flatnonzero(~held_out)), statistics.classes)


def path_errors(estimator: Any, statistics: Any, grid: IntArray, rows: Rows) -> FloatArray:
    """Weight (G,) of rows decided wrongly by the models that the statistics give for each k."""
    family = estimator.family(statistics)
    prior = estimator._log_prior(statistics)
    nothing = family.rule(statistics, np.empty(0, dtype=np.int64), prior)
    if not isinstance(nothing, LinearRule) or hasattr(statistics, "whitener"):
        return _errors_one_by_one(estimator, statistics, grid, rows)
    track = path(family, statistics, grid)
    X = as_compressed_rows(estimator._prepare(rows.X))
    return path_rule(family, statistics, track, prior).errors(X, rows.labels, rows.weight)


def _errors_one_by_one(estimator: Any, statistics: Any, grid: IntArray, rows: Rows) -> FloatArray:
    """Train a model for each k, for rules that no sweep can put together."""
    weight = rows.weight if len(rows.weight) else np.ones(len(rows.labels))
    model = clone(estimator)
    model.n_features_in_ = rows.X.shape[1]
    errors = np.empty(len(grid))
    for g, k in enumerate(grid.tolist()):
        model._finish(statistics, k=k)
        scores = model.rule_.scores(model._prepare(model._selected(rows.X)))
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
