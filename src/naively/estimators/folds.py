"""Cross-validation of a whole path: statistics of a fold are total minus fold."""

from __future__ import annotations

import warnings
from collections.abc import Iterator
from dataclasses import dataclass, replace
from functools import reduce
from numbers import Integral
from operator import add
from typing import Any

import numpy as np
from scipy import sparse
from sklearn.base import clone
from sklearn.utils import check_random_state

from naively._types import Array, FloatArray, IntArray
from naively.judging.error_path import FoldErrors
from naively.judging.leave_one_out import Rows, multinomial_errors
from naively.judging.path_rule import PathRule, path_rule
from naively.judging.visits import path_stays
from naively.models.rules import LinearRule, winners
from naively.selection.path import checked_grid, path
from naively.statistics.labels import encode_labels
from naively.statistics.matrix import canonical, is_sparse
from naively.statistics.threads import in_threads
from naively.statistics.weights import check_weights

REPEATED_ROWS = 500  # rows below which the folds are drawn more than once
MAX_REPEATS = 5
_MOST_CELLS = 1 << 27  # of tables kept for all folds at once: 1 GB


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
    if not isinstance(n_folds, Integral) or n_folds < 2:
        raise ValueError(f"`n_folds` must be an int >= 2; got {n_folds!r}.")
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
        number = stratified_folds(rows.labels, n_folds, rng)
        splits = [
            (np.flatnonzero(number != t), np.flatnonzero(number == t)) for t in range(n_folds)
        ]
        folds = Folds(estimator, rows, statistics.classes, splits, statistics)

        def judged(t: int, folds: Folds = folds) -> tuple[float, FloatArray]:
            fold = folds.fold(t)
            total = fold.held_out.total
            return total, path_errors(estimator, fold, grid) / total

        for total, wrong in in_threads(judged, range(n_folds)):
            weight.append(total)
            errors.append(wrong)
    return FoldErrors(grid, np.array(errors), np.array(weight), n_folds)


def stratified_folds(labels: IntArray, n_folds: int, random_state: Any) -> IntArray:
    """Fold of each row: classes dealt out in turn, so that fold sizes differ by one at most."""
    shuffled = random_state.permutation(len(labels))
    order = shuffled[np.argsort(labels[shuffled], kind="stable")]
    fold = np.empty(len(labels), dtype=np.int64)
    fold[order] = np.arange(len(labels)) % n_folds
    return fold


def checked_rows(X: Any, y: Array, sample_weight: Any) -> Rows:
    """Rows of positive weight, sparse ones compressed by row."""
    labels = encode_labels(y)[1].astype(np.int64)
    rows = weighted_rows(X, labels, sample_weight)
    kept = rows.weight > 0
    return rows if kept.all() else rows.take(np.flatnonzero(kept))


def weighted_rows(X: Any, labels: IntArray, sample_weight: Any) -> Rows:
    """Rows with their weights checked, those of weight zero included."""
    X = X.tocsr() if is_sparse(X) else X
    weight = check_weights(sample_weight, len(labels))
    return Rows(X, labels, np.empty(0) if weight is None else np.ascontiguousarray(weight))


def gather_rows(estimator: Any, rows: Rows, classes: Array) -> Any:
    """Statistics of some rows, all classes included."""
    weight = rows.weight if len(rows.weight) else None
    return estimator._gather(rows.X, classes[rows.labels], weight, classes)


@dataclass(frozen=True, slots=True)
class Fold:
    """One division of the rows: what the training rows add up to, and the rows to judge."""

    statistics: Any  # of the training rows, with the classes that occur among them
    held_out: Rows  # label: position in these classes; their number if it does not occur


class Folds:
    """All divisions of the rows, each row counted once: training = total - the others.

    Parameters
    ----------
    estimator : sparse classifier
        Counts the rows.
    rows : Rows
        All rows.
    classes : ndarray of shape (C,)
        Their classes.
    splits : list of (training rows, rows to judge)
        Indices, from any splitter.
    total : statistics, default=None
        Of all rows, if they are known.
    """

    def __init__(
        self,
        estimator: Any,
        rows: Rows,
        classes: Array,
        splits: list[tuple[IntArray, IntArray]],
        total: Any = None,
    ) -> None:
        self.estimator = estimator
        self.rows = rows
        self.classes = classes
        self.splits = splits
        self.total = total
        n = len(rows.labels)
        left_out = [_complement(train, n) for train, _ in splits]
        # What to count and subtract; None where the training rows are fewer, or occur twice.
        self._left_out = [
            part
            if estimator._subtracts()
            and len(part) <= len(train) == n - len(part)
            and self._has_weight(part)
            else None
            for part, (train, _) in zip(left_out, splits, strict=True)
        ]
        self._counts = self._count()

    def _count(self) -> list[Any]:
        """Statistics of the rows that each division leaves out, and the total."""
        parts = [rows for rows in self._left_out if rows is not None]
        n, cells = len(self.rows.labels), self.rows.X.shape[1] * len(self.classes)
        in_memory = len(parts) * cells <= _MOST_CELLS

        def counted(rows: IntArray | None) -> Any:
            return self._gather(rows) if in_memory and rows is not None else None

        counts = in_threads(counted, self._left_out)
        if self.total is None and parts:
            divided = in_memory and (np.bincount(np.concatenate(parts), minlength=n) == 1).all()
            known = [each for each in counts if each is not None]
            self.total = reduce(add, known) if divided else self._gather(np.arange(n))
        return counts

    def _has_weight(self, part: IntArray) -> bool:
        return len(self.rows.weight) == 0 or bool(self.rows.weight[part].any())

    def __len__(self) -> int:
        return len(self.splits)

    def fold(self, t: int) -> Fold:
        """Training statistics and rows to judge of one division."""
        train, test = self.splits[t]
        others = self._counts[t]
        if others is None and self._left_out[t] is not None:
            others = self._gather(self._left_out[t])
        present = np.bincount(self.rows.labels[train], minlength=len(self.classes)) > 0
        held_out = self.rows.take(test)
        if others is not None and present.all():
            return Fold(self.total - others, held_out)
        position = np.where(present, np.cumsum(present) - 1, present.sum())
        rows = self.rows.take(train)
        statistics = gather_rows(
            self.estimator,
            Rows(rows.X, position[rows.labels], rows.weight),
            self.classes[present],
        )
        return Fold(statistics, Rows(held_out.X, position[held_out.labels], held_out.weight))

    def _gather(self, rows: Any) -> Any:
        everything = len(rows) == len(self.rows.labels)
        part = self.rows if everything else self.rows.take(rows)
        return gather_rows(self.estimator, part, self.classes)


def _complement(rows: IntArray, n: int) -> IntArray:
    """Rows of n that are not among some."""
    others = np.ones(n, dtype=np.bool_)
    others[rows] = False
    return np.flatnonzero(others)


def path_errors(estimator: Any, fold: Fold, grid: IntArray) -> FloatArray:
    """Weight (G,) of held-out rows decided wrongly by the models of a fold for each k."""
    rows = fold.held_out
    if _is_smoothed_counts(estimator) and isinstance(fold.statistics.table, np.ndarray):
        return _count_errors(estimator, fold, grid)
    rule = linear_path(estimator, fold.statistics, grid)
    if rule is not None:
        return rule.errors(rule_rows(estimator, rows.X, rule), rows.labels, rows.weight)
    weight = rows.weight if len(rows.weight) else np.ones(len(rows.labels))
    errors = np.empty(len(grid))
    for g, scores in scores_one_by_one(estimator, fold.statistics, grid, rows.X):
        errors[g] = weight @ (winners(scores) != rows.labels)
    return errors


def _is_smoothed_counts(estimator: Any) -> bool:
    """Whether the model is the multinomial one without events of probability zero."""
    alpha = getattr(estimator, "alpha", 0.0)
    return "exact" in estimator._search_options() and not estimator.exact and np.min(alpha) > 0


def _count_errors(estimator: Any, fold: Fold, grid: IntArray) -> FloatArray:
    """Weight (G,) of rows decided wrongly by multinomial models, straight from the counts."""
    statistics = fold.statistics
    family = estimator.family(statistics)
    stays = path_stays(path(family, statistics, grid))
    X = fold.held_out.X
    held_out = replace(fold.held_out, X=X if is_sparse(X) else as_csr(X))
    return multinomial_errors(
        family.coupled_counts(statistics).alpha,
        statistics.class_weight,
        stays,
        held_out,
        estimator._log_prior(statistics),
        counted=False,
    )


def linear_path(estimator: Any, statistics: Any, grid: IntArray) -> PathRule | None:
    """Rules of all k in a form that scores a row in one sweep; None if the model has no such."""
    if not has_path(estimator, statistics):
        return None
    family = estimator.family(statistics)
    prior = estimator._log_prior(statistics)
    nothing = family.rule(statistics, np.empty(0, dtype=np.int64), prior)
    if not isinstance(nothing, LinearRule):
        return None
    return path_rule(family, statistics, path(family, statistics, grid), prior)


def has_path(estimator: Any, statistics: Any) -> bool:
    """Whether the models of all k are those of a path."""
    return not (hasattr(statistics, "whitener") or estimator._search_options().get("exact"))


def scores_along_path(
    estimator: Any, statistics: Any, grid: IntArray, X: Any
) -> Iterator[tuple[int, FloatArray]]:
    """Position in the grid, and scores (n, C) of some rows by the rule of each k on its own."""
    family, prior = estimator.family(statistics), estimator._log_prior(statistics)
    track = path(family, statistics, grid)
    X = canonical(X) if is_sparse(X) else X
    for g, k in enumerate(grid.tolist()):
        support = track.support(k)
        rule = family.rule(statistics, support, prior)
        columns = X if len(support) == X.shape[1] else X[:, support]
        yield g, rule.scores(estimator._prepare(columns))


def scores_one_by_one(
    estimator: Any, statistics: Any, grid: IntArray, X: Any
) -> Iterator[tuple[int, FloatArray]]:
    """Train a model for each k: position in the grid, and its scores (n, C) of some rows."""
    model = clone(estimator)
    model.n_features_in_ = X.shape[1]
    X = canonical(X) if is_sparse(X) else X
    for g, k in enumerate(grid.tolist()):
        model._finish(statistics, k=k)
        yield g, model.rule_.scores(model._prepare(model._selected(X)))


def rule_rows(estimator: Any, X: Any, rule: PathRule | None = None) -> Any:
    """Return checked rows as CSR of what the rule of an estimator sees.

    Duplicate entries are summed, unless a `rule` is given to which they make no difference.
    """
    if is_sparse(X) and (rule is None or not rule.is_additive):
        X = canonical(X)
    X = estimator._prepare(X)
    return X if is_sparse(X) else as_csr(X)


def as_csr(X: Array) -> Any:
    """Return dense rows as CSR, which scipy has not of half precision."""
    return sparse.csr_array(X.astype(np.float32) if X.dtype == np.float16 else X)


def fresh(estimator: Any, X: Any, y: Any) -> tuple[Any, Any, Array]:
    """Return an unfitted copy of an estimator, and rows and labels as its `fit` checks them."""
    estimator = clone(estimator)
    X, y = estimator._check_batch(X, y, reset=True)
    return estimator, X, y
