r"""Features that do not say the same: each is chosen for what it adds to every one before it.

The first feature is the one of largest gain g_i; then always the one with the largest

    min(g_i, min over the chosen j of g_i|j)

(Fleuret 2004, "Fast binary feature selection with conditional mutual information"). A copy of a
chosen feature adds nothing. What the gains are depends on what the entries are to the model:

    presence     g_i = n I(x_i; y)            g_i|j = n I(x_i; y | x_j)       x: entry above 0
    categories   g_i = n I(x_i; y)            g_i|j = n I(x_i; y | x_j)
    counts       g_i: that of the model       g_i|j = g_i I(x_i; y | x_j) / I(x_i; y)
    real values  g_i: that of the model       g_i|j = g_i (1 - r_ij^2)

in nats (or in the unit of the model) and without smoothing. I is the mutual information of the
rows and n their weight; r_ij^2 is the share of the spread of i within the classes that j explains.
Counts are told apart by presence, but valued by their model: the multinomial one leaves out of a
gain that some classes have longer rows, and with g_i = n I(x_i; y) its 300 words of twenty
newsgroups were worse than those of the plain gains.

Required features come first, put in order among themselves; the others are chosen for what they add
to these too. Excluded ones are no candidates. A quota comes next: as long as a class has less than
its own, a feature that speaks for one of those that have fewest so far; an even one never ends. So
one order meets it at every k.

Of features that tie for a place that of the largest gain of its own comes first, then that of the
lowest column.

Gains of pairs need the rows, over the *candidates* alone: the features of the largest gains by the
model. The others follow by their gains. The criterion is no sum over features and its order is
greedy: there is no bound, and so no certificate.

*Displaced* is a candidate that would have come in by its gain, which is larger than what the last
feature adds, but is not chosen: by the feature j of those chosen for which g_i|j is least. They say
the same.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from functools import partial
from typing import Any, NoReturn, Self

import numpy as np
import scipy.sparse as sp

from naively._kernels.conditional_gains import presence_order
from naively._kernels.logarithms import x_log_x
from naively._types import Array, BoolArray, FloatArray, IntArray
from naively.models.bernoulli import bernoulli_gain
from naively.models.constraints import Constraints
from naively.models.family import Ordered, Problem
from naively.models.kinds import MODELS
from naively.models.model import Model, RowsOver, S
from naively.selection.constrained import Adding, spoken_task
from naively.selection.top_k import top_k
from naively.selection.units import Task
from naively.statistics.categories import ClassCategories
from naively.statistics.matrix import Matrix, canonical, is_sparse
from naively.statistics.rows import LabelledRows

CANDIDATES = 4000
_SLACK = 1e-12  # of n log n, by which sums of x log x are off

# What is chosen in turn: places, what each adds, and what lowered the bound of each candidate.
Found = tuple[IntArray, FloatArray, FloatArray, IntArray]


def of_rows(
    model: Model[S], statistics: S, rows: RowsOver | None, k: int | None = None
) -> Model[S]:
    """Return the model bound to the order of its features; itself where none is asked for.

    Parameters
    ----------
    model, statistics
        The model, and the class statistics of the rows.
    rows : callable or None
        Gives the rows over some columns.
    k : int, optional
        How many features to put in order, and beyond which others are displaced: all candidates by
        default. The others follow by their own gains.

    Raises
    ------
    ValueError
        If rows are needed, and there are none.
    """
    if model.redundancy is None:
        return model
    if rows is None:
        refuse_no_rows("redundancy", "conditional")
    plain = model.family.problem(statistics)
    if isinstance(plain, Ordered):
        raise TypeError("The model is bound to an order already.")
    gain, columns = model.family.gain(statistics), candidates(model, statistics)
    most = len(columns) if k is None else min(k, len(columns))
    constraints = model.constraints or Constraints(len(gain))
    task = spoken_task(model, statistics)
    turns = Turns.of(task, columns)
    found = _found(model, statistics, rows(columns), gain[columns], most, turns)
    ordered = _ordered(plain, gain, columns, found, constraints.excluded, task)
    family = replace(model.family, problem=partial(_known, ordered))
    return replace(model, family=family, redundancy=None)


def _known(problem: Problem, statistics: object) -> Problem:
    """Return the problem that is known already, whatever the statistics."""
    return problem


def own(model: Model[S], statistics: S, rows: RowsOver | None, k: int | None = None) -> Model[S]:
    """Return the model bound as by `of_rows`, with the rule of its family, which is judged."""
    return replace(of_rows(model, statistics, rows, k), refit=None, calibration=None)


def candidates(model: Model[S], statistics: S) -> IntArray:
    """Columns that are put in order, ascending: those of the largest gains, and the required."""
    asked = model.redundancy.candidates if model.redundancy else None
    gain = model.family.gain(statistics)
    if model.constraints is None:
        return top_k(gain, asked or CANDIDATES)
    task = spoken_task(model, statistics)
    known = task.constraints, task.speaks, task.n_classes
    adding = Adding(*known, model.family, gain, np.zeros(len(gain)), 0.0)
    best = task.free[adding.best(min(asked or CANDIDATES, task.n_free))]
    return np.union1d(model.constraints.required, best)


@dataclass(frozen=True, slots=True)
class Turns:
    """Whose turn it is to enter: the required ones first, then who speaks for a class that lacks.

    That is one of those that have fewest features of all that have candidates left, a number beyond
    the quota being none.
    """

    inside: BoolArray  # (q,) candidates that are required
    speaks: IntArray  # (q,) class of each; 0 without a quota
    quota: int  # 0: none; an even one is never met
    n_classes: int

    @classmethod
    def of(cls, task: Task, columns: IntArray) -> Self:
        """Return the turns of some columns (q,)."""
        inside, quota = np.isin(columns, task.required), task.constraints.quota
        if task.speaks is None:
            return cls(inside, np.zeros(len(columns), dtype=np.int64), 0, 1)
        endless = len(task.speaks)
        quota = endless if quota == "even" else quota
        return cls(inside, task.speaks[columns], quota, task.n_classes)

    def of_classes(self, taken: BoolArray) -> BoolArray:
        """Whose turn it is after some are taken (q,): mask of the candidates."""
        left = ~taken
        if (left & self.inside).any():
            return left & self.inside
        has = np.minimum(np.bincount(self.speaks[taken], minlength=self.n_classes), self.quota)
        fewest = has[self.speaks[left]].min(initial=self.quota)
        return np.asarray(left & (has[self.speaks] == fewest))


def refuse_no_rows(name: str, value: object) -> NoReturn:
    """Raise the ValueError of what statistics alone cannot give."""
    raise ValueError(
        f"`{name}`={value!r} needs the rows themselves and not only their statistics: use `fit` "
        "with all of them (at the command, `naively select`)."
    )


def _found(
    model: Model[Any], statistics: Any, rows: LabelledRows, gain: FloatArray, k: int, turns: Turns
) -> Found:  # fmt: skip
    """Put candidates in order, by the measure for what their entries are."""
    takes = MODELS[model.name].takes
    if takes in ("counts", "presence"):
        worth = None if takes == "presence" else gain
        return of_presence(rows, k, turns, worth)
    if isinstance(statistics, ClassCategories):
        return _in_turn(_Categories(rows), k, turns)
    return _in_turn(_Correlated(rows, gain), k, turns)


def _ordered(
    plain: Any, gain: FloatArray, columns: IntArray, found: Found, excluded: IntArray, task: Task
) -> Ordered:
    order, added, alone, by = found
    rest = np.ones(len(gain), dtype=np.bool_)
    rest[columns[order]] = rest[excluded] = False
    others = np.flatnonzero(rest)
    others = others[np.argsort(-gain[others], kind="stable")]
    others = others[np.argsort(_rounds(task, columns[order], others), kind="stable")]
    said = np.flatnonzero(by >= 0)
    said = said[np.argsort(-alone[said], kind="stable")]
    return Ordered(
        order=np.concatenate([columns[order], others]),
        added=added,
        displaced=tuple(columns[said[by[said] == t]] for t in range(len(order))),
        plain=plain,
    )


def _rounds(task: Task, taken: IntArray, others: IntArray) -> IntArray:
    """How many features the class of each other column has when it comes in, up to its quota."""
    if task.speaks is None:
        return np.zeros(len(others), dtype=np.int64)
    turns, rounds = Turns.of(task, others), np.empty(len(others), dtype=np.int64)
    has = np.bincount(task.speaks[taken], minlength=task.n_classes)
    for c in range(task.n_classes):
        of_class = np.flatnonzero(turns.speaks == c)
        rounds[of_class] = has[c] + np.arange(len(of_class))
    return np.minimum(rounds, turns.quota)


# Presence ----------------------------------------------------------------------------------------


def of_presence(rows: LabelledRows, k: int, turns: Turns, worth: FloatArray | None = None) -> Found:
    """Order of the first k columns of rows (n, q), an entry above 0 being present.

    Parameters
    ----------
    rows : LabelledRows
    k : int
    turns : Turns
        Which columns come first.
    worth : (q,), optional
        Gains of the columns, if they are not those of presence: what is left of them is the same
        share.
    """
    X, total = _present(rows), rows.class_weight
    table = np.asarray((X.T @ _marks(rows)).toarray())
    information = bernoulli_gain(table, total)
    gain = information if worth is None else worth
    slack = _SLACK * max(float(x_log_x(total.sum())), np.finfo(float).tiny)
    by_gain = np.lexsort((np.arange(len(gain)), -np.rint(gain / slack)))
    none = np.where(gain > 0, np.inf, 1.0)
    scale = np.divide(gain, information, out=none, where=information > slack)[by_gain]
    X, table = X[:, by_gain], np.ascontiguousarray(table[by_gain])
    number, words = _numbers(rows.codes, len(total))
    logs, weights = np.empty(0), np.zeros(64 * words[-1])
    if rows.weights is None:
        logs, weights = x_log_x(np.arange(len(number) + 1.0)), np.empty(0)
    else:
        weights[number] = rows.weights
    k = min(k, len(gain))
    least, by = gain[by_gain], np.full(len(gain), -1, dtype=np.int64)
    order, added = np.empty(k, dtype=np.int64), np.empty(k)
    presence_order(
        number[X.indices], X.indptr.astype(np.int64), words, weights, table, logs, total, slack,
        scale, turns.inside[by_gain], turns.speaks[by_gain], turns.quota, turns.n_classes, least,
        order, added, by,
    )  # fmt: skip
    return by_gain[order], added, gain, by[np.argsort(by_gain)]


def _present(rows: LabelledRows) -> sp.csc_array:
    X = sp.csc_array(canonical(rows.matrix) if is_sparse(rows.matrix) else rows.matrix > 0)
    keep = X.data > 0
    indptr = np.concatenate([[0], np.cumsum(keep)])[X.indptr]
    return sp.csc_array((np.ones(indptr[-1]), X.indices[keep], indptr), X.shape)


def _marks(rows: LabelledRows) -> sp.csr_array:
    """Weight of each row in the place of its class: (n, C)."""
    n = len(rows.codes)
    w = np.ones(n) if rows.weights is None else rows.weights
    return sp.csr_array((w, (np.arange(n), rows.codes)), (n, len(rows.classes)))


def _numbers(codes: Array, n_classes: int) -> tuple[IntArray, IntArray]:
    """Give rows numbers, each class from a multiple of 64, and say where these are (C + 1,)."""
    size = np.bincount(codes, minlength=n_classes)
    words = np.concatenate([[0], np.cumsum(-(-size // 64))]).astype(np.int64)
    number = np.empty(len(codes), dtype=np.int64)
    start = np.cumsum(size) - size
    order = np.argsort(codes, kind="stable")
    number[order] = np.arange(len(codes)) + np.repeat(64 * words[:-1] - start, size)
    return number, words


# Categories and real values: all candidates at once, given one feature ---------------------------


def _in_turn(given: Any, k: int, turns: Turns) -> Found:
    """Choose greedily; `given.gains(j)` are those of all candidates given one of them."""
    gain = given.alone
    least, taken = gain.copy(), np.zeros(len(gain), dtype=np.bool_)
    by = np.full(len(gain), -1, dtype=np.int64)
    order, added = [], []
    for t in range(min(k, len(gain))):
        left = np.where(turns.of_classes(taken), least, -np.inf)
        tied = np.flatnonzero(left >= left.max() - given.slack)
        j = int(tied[np.argmax(np.rint(gain[tied] / max(given.slack, 1e-300)))])
        order.append(j)
        added.append(least[j])
        taken[j] = True
        now = given.gains(j)
        by[now < least - given.slack] = t
        np.minimum(least, now, out=least, where=~taken)
    last = added[-1] if added else np.inf
    by[taken | ~(gain > last + given.slack)] = -1
    return np.array(order, dtype=np.int64), np.array(added), gain, by


class _Categories:
    """Conditional gains of categories: n I(x_i; y | x_j)."""

    def __init__(self, rows: LabelledRows) -> None:
        X = rows.matrix.toarray() if is_sparse(rows.matrix) else np.asarray(rows.matrix)
        self.X: IntArray = X.astype(np.int64)
        self.codes, self.n_classes = rows.codes.astype(np.int64), len(rows.classes)
        self.weights = np.ones(len(X)) if rows.weights is None else rows.weights
        sizes = self.X.max(axis=0, initial=0) + 1
        self.starts = np.cumsum(sizes) - sizes
        n, q = self.X.shape
        at = np.repeat(np.arange(n), q), (self.X + self.starts).ravel()
        self.marks = sp.csr_array((np.ones(n * q), at), (n, int(sizes.sum()))).T.tocsr()
        total = self.weights.sum()
        self.slack = _SLACK * max(float(x_log_x(total)), 1e-300)
        self.alone = self._gains(np.zeros(n, dtype=np.int64))

    def gains(self, j: int) -> FloatArray:
        """Gains (q,) of all candidates given one of them."""
        return self._gains(self.X[:, j])

    def _gains(self, values: IntArray) -> FloatArray:
        """Gains (q,) given what each row (n,) has."""
        n, K = len(values), int(values.max(initial=0)) + 1
        cell = values * self.n_classes + self.codes
        mark = sp.csr_array((self.weights, (np.arange(n), cell)), (n, K * self.n_classes))
        table = np.asarray((self.marks @ mark).todense()).reshape(-1, K, self.n_classes)
        of_value = table.sum(axis=2)
        terms = x_log_x(table).sum(axis=(1, 2)) - x_log_x(of_value).sum(axis=1)
        rows: FloatArray = np.asarray(mark.sum(axis=0)).reshape(K, self.n_classes)
        start = x_log_x(rows).sum() - x_log_x(rows.sum(axis=1)).sum()
        gain = np.add.reduceat(terms, self.starts) - start
        return np.where(gain > self.slack, gain, 0.0)


class _Correlated:
    """Gains of real values, less the share that a correlation within the classes explains."""

    def __init__(self, rows: LabelledRows, gain: FloatArray) -> None:
        self.alone = gain
        self.slack = _SLACK * float(np.max(gain[np.isfinite(gain)], initial=0.0))
        w = np.ones(len(rows.codes)) if rows.weights is None else rows.weights
        self.weights = w
        self.size = np.maximum(rows.class_weight, np.finfo(float).tiny)
        sums = _marks(rows).T @ rows.matrix
        self.mean = np.asarray(sums.todense() if is_sparse(sums) else sums) / self.size[:, None]
        if is_sparse(rows.matrix):
            self.X: Matrix = sp.csc_array(rows.matrix, dtype=np.float64)
            square = np.asarray(w @ self.X.multiply(self.X))
            spread = square - self.size @ self.mean**2
        else:
            self.X = np.asarray(rows.matrix, dtype=np.float64) - self.mean[rows.codes]
            spread = square = w @ self.X**2
        self.spread = np.where(spread > 1e-12 * square, spread, 0.0)

    def gains(self, j: int) -> FloatArray:
        """Gains (q,) of all candidates given one of them."""
        if is_sparse(self.X):
            column = self.X[:, [j]].toarray().ravel() * self.weights
            joint = np.asarray(self.X.T @ column) - self.mean.T @ (self.size * self.mean[:, j])
        else:
            joint = self.X.T @ (self.weights * self.X[:, j])
        scale = self.spread * self.spread[j]
        r2 = np.divide(joint**2, scale, out=np.zeros(len(joint)), where=scale > 0)
        share = 1.0 - np.minimum(r2, 1.0)
        return np.where(share > 0, self.alone * np.where(share > 0, share, 1.0), 0.0)
