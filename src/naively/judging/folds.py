"""Cross-validation of a whole path: statistics of a fold are total minus fold."""

from __future__ import annotations

from dataclasses import dataclass, replace
from functools import reduce
from numbers import Integral
from operator import add
from typing import Generic, TypeAlias, cast

import numpy as np
from numpy.typing import ArrayLike

from naively._choices import Choice
from naively._types import Array, FloatArray, IntArray, K
from naively._warn import warn
from naively.judging.error_path import FoldErrors
from naively.judging.leave_one_out import multinomial_errors
from naively.judging.path_scores import has_path, linear_path, rule_rows, scores_one_by_one
from naively.judging.rows import Rows, as_csr, checked_rows, gather_rows, without
from naively.judging.visits import path_visits
from naively.models.family import Coupled
from naively.models.model import Model, RowsOver, S
from naively.models.rules import winners
from naively.selection.redundancy import own
from naively.selection.train import choices, model_grid, model_path
from naively.statistics.matrix import Matrix, is_sparse
from naively.statistics.rows import LabelledRows
from naively.statistics.threads import in_threads

REPEATED_ROWS = 500  # rows below which the folds are drawn more than once
MAX_REPEATS = 5
_MOST_CELLS = 1 << 27  # of tables kept for all folds at once: 1 GB

Seed: TypeAlias = int | np.random.RandomState
Splits: TypeAlias = list[tuple[IntArray, IntArray]]  # training rows, rows to judge


def choose_k(
    model: Model[S], X: Matrix, y: Array, sample_weight: ArrayLike | None, statistics: S,
    k: K = "auto",
) -> tuple[FoldErrors, int]:  # fmt: skip
    """Choose k by cross-validated errors on the default grid.

    Parameters
    ----------
    model : Model
        What is judged.
    X, y : checked rows and labels
        All of them.
    sample_weight : array-like of shape (n_samples,) or None
        Weight of each row.
    statistics
        Class statistics of all rows.
    k : {"auto", "simplest", "best"}
        See :func:`naively.judging.error_path.chosen`.

    Returns
    -------
    FoldErrors
        Errors for no feature, and for about 100 numbers of features up to all.
    int
        The number of features that is chosen.

    Warns
    -----
    UserWarning
        If no number of features does better than none by more than the rule of `k` asks.
    """
    _, least = choices(model, statistics.n_features, len(statistics.classes))
    grid = model_grid(model, statistics.n_features, len(statistics.classes))
    grid = np.unique(np.append(least, grid))
    rows = checked_rows(X, y, sample_weight)
    folds = fold_errors(model, rows, statistics, grid)
    return folds, chosen_k(folds, k)


def repeats_of(n_rows: int) -> int:
    """How often rows are divided anew: with few, the folds decide as much as the rows do."""
    return int(np.clip(REPEATED_ROWS // max(n_rows, 1), 1, MAX_REPEATS))


def chosen_k(folds: FoldErrors, k: K) -> int:
    """Return the number of features that `k` takes by cross-validation; warn if it is none."""
    found = folds.best_k(cast("Choice", k))
    if found == 0:
        best = int(np.argmin(folds.mean))
        warn(
            f"`k`={k!r} selects no feature: the cross-validated error is {folds.mean[0]:.3g} "
            f"without any, and {folds.mean[best]:.3g} at best (k={folds.k[best]})"
            + (", which is too near to it" if found != folds.k[best] else "")
            + ". Set `k` to use features all the same.",
        )
    return found


def fold_errors(
    model: Model[S],
    rows: Rows,
    statistics: S,
    ks: ArrayLike | None = None,
    *,
    n_folds: int = 5,
    n_repeats: int | None = None,
    random_state: Seed = 0,
) -> FoldErrors:
    """Cross-validate every number of features of a grid, the selection inside each fold.

    Parameters
    ----------
    model : Model
        What is judged.
    rows : Rows
        From `checked_rows`.
    statistics
        Class statistics of all of them.
    ks : array-like of int, default=None
        The grid; about 100 values by default.
    n_folds : int, default=5
        Number of folds; never more than rows.
    n_repeats : int, default=None
        How often the rows are divided anew; the errors are averaged. By default 500 times by the
        number of rows, between one and five times.
    random_state : int or RandomState, default=0
        Seed of the assignment of the rows to folds of equal class shares.

    Returns
    -------
    FoldErrors
        Errors of each fold at each k.
    """
    if not isinstance(n_folds, Integral) or n_folds < 2:
        raise ValueError(f"`n_folds` must be an int >= 2; got {n_folds!r}.")
    grid = model_grid(model, statistics.n_features, len(statistics.classes), ks)
    n = len(rows.labels)
    if n < 2:
        raise ValueError(
            f"`k`='auto' and error curves need at least two rows of positive weight to "
            f"cross-validate; got n_samples={n}."
        )
    rng, n_folds = _generator(random_state), min(n_folds, n)
    judged: list[tuple[float, FloatArray]] = []
    for _ in range(repeats_of(n) if n_repeats is None else n_repeats):
        splits = divided(stratified_folds(rows.labels, n_folds, rng), n_folds)
        judged += _judged(Folds(model, rows, statistics.classes, splits, statistics), grid)
    weight, errors = zip(*judged, strict=True)
    return FoldErrors(grid, np.array(errors), np.array(weight), n_folds, rows.equal_rows)


def _judged(folds: Folds[S], grid: IntArray) -> list[tuple[float, FloatArray]]:
    """Weight of the rows of each fold, and the share (G,) of it that is decided wrongly."""

    def judged(t: int) -> tuple[float, FloatArray]:
        fold = folds.fold(t)
        total = fold.held_out.total
        return total, path_errors(folds.model, fold, grid) / total

    return in_threads(judged, range(len(folds)))


def _generator(seed: Seed) -> np.random.RandomState:
    return seed if isinstance(seed, np.random.RandomState) else np.random.RandomState(seed)


def stratified_folds(
    labels: IntArray, n_folds: int, random_state: np.random.RandomState
) -> IntArray:
    """Fold of each row: classes dealt out in turn, so that fold sizes differ by one at most."""
    shuffled = random_state.permutation(len(labels))
    order = shuffled[np.argsort(labels[shuffled], kind="stable")]
    fold = np.empty(len(labels), dtype=np.int64)
    fold[order] = np.arange(len(labels)) % n_folds
    return fold


def divided(fold: IntArray, n_folds: int) -> Splits:
    """Rows to train on and rows to judge, for each fold, from the fold of each row."""
    return [(np.flatnonzero(fold != t), np.flatnonzero(fold == t)) for t in range(n_folds)]


@dataclass(frozen=True, slots=True)
class Fold(Generic[S]):
    """One division of the rows: what the training rows add up to, and the rows to judge."""

    statistics: S  # of the training rows, with the classes that occur among them
    held_out: Rows  # label: position in these classes; their number if it does not occur
    training: RowsOver  # the training rows themselves, for a model that needs them


class Folds(Generic[S]):
    """All divisions of the rows, each row counted once: training = total - the others.

    Parameters
    ----------
    model : Model
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
        self, model: Model[S], rows: Rows, classes: Array, splits: Splits, total: S | None = None
    ) -> None:
        self.model = model
        self.rows = rows
        self.classes = classes
        self.splits = splits
        self.total = total
        # What to count and subtract; None where the training rows are fewer, or occur twice.
        self._left_out = [self._subtracted(train) for train, _ in splits]
        self._counts = self._count()

    def _subtracted(self, train: IntArray) -> IntArray | None:
        """Rows whose statistics are taken from the total; None if the training rows are counted."""
        n = len(self.rows.labels)
        part = _complement(train, n)
        fewer = len(part) <= len(train) == n - len(part)
        return part if self.model.subtracts and fewer and self._has_weight(part) else None

    def _count(self) -> list[S | None]:
        """Statistics of the rows that each division leaves out, and the total."""
        parts = [rows for rows in self._left_out if rows is not None]
        n, cells = len(self.rows.labels), self.rows.X.shape[1] * len(self.classes)
        in_memory = len(parts) * cells <= _MOST_CELLS

        def counted(rows: IntArray | None) -> S | None:
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

    def fold(self, t: int) -> Fold[S]:
        """Training statistics and rows to judge of one division."""
        train, test = self.splits[t]
        others, left_out = self._counts[t], self._left_out[t]
        if others is None and left_out is not None:
            others = self._gather(left_out)
        present = np.bincount(self.rows.labels[train], minlength=len(self.classes)) > 0
        held_out = self.rows.take(test)
        if self.total is not None and others is not None and present.all():
            statistics = without(self.total, others)
            return Fold(statistics, held_out, self._over(statistics, train))
        position = np.where(present, np.cumsum(present) - 1, present.sum())
        rows = self.rows.take(train)
        rows = replace(rows, labels=position[rows.labels])
        statistics = gather_rows(self.model, rows, self.classes[present])
        held_out = replace(held_out, labels=position[held_out.labels])
        return Fold(statistics, held_out, self._over(statistics, train))

    def _over(self, statistics: S, train: IntArray) -> RowsOver:
        """Give the training rows of a division, when they are asked for."""

        def over(columns: IntArray) -> LabelledRows:
            rows = self.rows.take(train)
            weight = rows.weight if len(rows.weight) else None
            labels = self.classes[rows.labels]
            return self.model.rows_over(statistics, rows.X, labels, weight)(columns)

        return over

    def _gather(self, rows: IntArray) -> S:
        everything = len(rows) == len(self.rows.labels)
        part = self.rows if everything else self.rows.take(rows)
        return gather_rows(self.model, part, self.classes)


def _complement(rows: IntArray, n: int) -> IntArray:
    """Rows of n that are not among some."""
    others = np.ones(n, dtype=np.bool_)
    others[rows] = False
    return np.flatnonzero(others)


def path_errors(model: Model[S], fold: Fold[S], grid: IntArray) -> FloatArray:
    """Weight (G,) of held-out rows decided wrongly by the models of a fold for each k."""
    model = own(model, fold.statistics, fold.training, int(grid[-1]))
    rows, problem = fold.held_out, model.family.problem(fold.statistics)
    if isinstance(problem, Coupled) and _is_swept(model, problem):
        return _count_errors(model, problem, fold, grid)
    rule = linear_path(model, fold.statistics, grid)
    if rule is not None:
        return rule.errors(rule_rows(model, rows.X, rule), rows.labels, rows.weight)
    weight = rows.weight if len(rows.weight) else np.ones(len(rows.labels))
    errors = np.empty(len(grid))
    for g, scores in scores_one_by_one(model, fold.statistics, grid, rows.X):
        errors[g] = weight @ (winners(scores) != rows.labels)
    return errors


def _is_swept(model: Model[S], problem: Coupled) -> bool:
    """Whether no event has probability zero, and the supports are those of the coupled path."""
    free = model.constraints is None and model.objective is None
    dense = isinstance(problem.table, np.ndarray)
    return dense and free and has_path(model) and bool(np.min(problem.alpha) > 0)


def _count_errors(model: Model[S], problem: Coupled, fold: Fold[S], grid: IntArray) -> FloatArray:
    """Weight (G,) of rows decided wrongly by multinomial models, straight from the counts."""
    statistics = fold.statistics
    X = model.prepare(fold.held_out.X)
    held_out = replace(fold.held_out, X=X if is_sparse(X) else as_csr(X))
    return multinomial_errors(
        problem.table,
        problem.alpha,
        statistics.class_weight,
        path_visits(model_path(model, statistics, grid), statistics.n_features),
        held_out,
        model.log_prior(statistics),
        counted=False,
    )
