"""The best columns among the sets that are allowed: dual, exchanges, branch and bound.

The dual is that of the coupled problem, over a polytope instead of all supports of k columns. Gains
that add up are the case of one class: its share is 1, whatever is chosen, and the dual is the
linear program.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import final

import numpy as np

from naively._kernels.hull import log_shares
from naively._types import BoolArray, FloatArray, IntArray
from naively.models.family import divergence
from naively.models.model import Limits
from naively.selection.dual import MARGIN, DualSolution, Problem, solve_dual
from naively.selection.exact import TOLERANCE, SearchTree, fixed
from naively.selection.polytope import Allowed, largest
from naively.selection.rounding import MAX_SWAPS, NEIGHBOURS, ROUNDING, WHOLE, column_counts


@dataclass(frozen=True, slots=True)
class Found:
    """Best set found, and what is proven about it."""

    take: IntArray  # (d,) columns of each group
    value: float  # nats
    bound: float  # nats: no set that is allowed gains more
    shares: FloatArray  # (C,) of the dual
    evaluations: int
    nodes: int


def problem_of_gains(gain: FloatArray, size: IntArray) -> Problem:
    """Return the problem of gains (d,) that add up, to nats: one class, whose share is 1."""
    return Problem(np.zeros((len(gain), 1)), 0.0, gain, size, base_totals=np.ones(1))


def best_within(problem: Problem, allowed: Allowed, limits: Limits) -> Found:
    """Choose the best of the sets that are allowed, of which there must be one.

    Parameters
    ----------
    problem : Problem
        Groups of equal columns.
    allowed : Allowed
        Which sets may be chosen.
    limits : Limits
        Of the search; without `exact` the gap that the dual leaves is not searched.
    """
    root = _Node.of(problem, allowed, np.zeros_like(problem.size), problem.size, None)
    tree = _Tree(problem, allowed, root)
    if limits.exact:
        tree.search(limits)
    return Found(
        tree.take, tree.value, max(tree.bound, tree.value), root.dual.shares,
        max(root.dual.evaluations, 1), tree.nodes,
    )  # fmt: skip


@dataclass(frozen=True, slots=True)
class _Node:
    """Of every group some columns are in, and some are left to choose from."""

    low: IntArray  # (d,) columns that are in
    high: IntArray  # (d,) and at most
    left: IntArray  # groups to choose from
    allowed: Allowed  # what remains allowed among these
    problem: Problem  # over these
    dual: DualSolution

    @classmethod
    def of(
        cls, problem: Problem, allowed: Allowed, low: IntArray, high: IntArray,
        start: FloatArray | None,
    ) -> _Node:  # fmt: skip
        """Bound what can be chosen; it must be possible."""
        left = np.flatnonzero(high > low)
        rest = allowed.without(low, left, (high - low)[left])
        part = replace(fixed(problem, low, high, left), polytope=rest)
        none_left = len(left) == 0 or rest.k == 0
        return cls(low, high, left, rest, part, solve_dual(part, 0 if none_left else 1, start))

    def whole(self) -> list[IntArray]:
        """Round the solution to sets of all groups."""
        dual, sets = self.dual, [np.asarray(x, dtype=np.float64) for x in self.dual.vertices]
        if len(self.left) and self.allowed.k:
            share = dual.fraction / self.problem.size
            for gains in (dual.gains, dual.gains + share * np.abs(dual.gains).max()):
                sets.append(self.allowed.filled(gains, self.allowed.optimum(gains)).astype(float))
        found = []
        for x in sets:
            if (np.abs(x - np.rint(x)) <= WHOLE).all():
                take = self.low.copy()
                take[self.left] += np.rint(x).astype(np.int64)
                found.append(take)
        return found

    def tightened(self, best: float) -> tuple[IntArray, IntArray]:
        """Bounds on the columns of each group in whatever beats a value: (d,), (d,)."""
        if len(self.left) == 0 or self.allowed.k == 0:
            return self.low, self.low
        dual, gains = self.dual, self.dual.gains
        slack = max(dual.bound - best, 0.0) + 1e-9 * max(abs(dual.bound), 1e-9)
        inside, outside = self.allowed.settled(gains, self.allowed.optimum(gains), slack)
        low, high = self.low.copy(), self.high.copy()
        low[self.left[inside]] = high[self.left[inside]]
        high[self.left[outside]] = low[self.left[outside]]
        return low, high


@final
class _Tree(SearchTree[_Node]):
    """Sets that are allowed."""

    def __init__(self, problem: Problem, allowed: Allowed, root: _Node) -> None:
        fraction, bound = root.dual.fraction, root.dual.bound
        entropy = abs(root.problem.linear_value(fraction))
        rounding = ROUNDING * entropy + MARGIN * float(root.problem.totals(fraction).sum())
        super().__init__(-np.inf, bound, TOLERANCE * abs(bound) + rounding)
        self.problem, self.allowed = problem, allowed
        self.take = np.zeros_like(problem.size)
        self._try(root)
        if bound > self.value + self.tolerance:
            self._offer(exchanged(problem, allowed, self.take))
        self._keep(bound, root)

    def _try(self, node: _Node) -> None:
        for take in node.whole():
            self._offer(take)

    def _offer(self, take: IntArray) -> None:
        value = self.problem.value(take)
        if value > self.value:
            self.take, self.value = take, value

    def _divide(self, node: _Node) -> None:
        low, high = node.tightened(self.value)
        if (low == high).all():
            self._visit(low, high, node.dual.shares)
            return
        x = node.low.astype(np.float64)
        x[node.left] += node.dual.fraction
        for part in self._halves(node.dual.bound, low, high, np.clip(x, low, high)):
            self._visit(*part, node.dual.shares)

    def _visit(self, low: IntArray, high: IntArray, start: FloatArray) -> None:
        """Bound a node, try its rounding, and keep it if it may hold something better."""
        everything = np.arange(len(low))
        allowed = self.allowed.without(low, everything, high - low)
        if allowed.cost is not None:  # what costs more than is left will never be chosen
            high = np.where(allowed.cost <= allowed.budget + allowed.slack, high, low)
            allowed = replace(allowed, size=high - low)
        if not allowed.is_possible():
            return
        self.nodes += 1
        node = _Node.of(self.problem, self.allowed, low, high, start)
        if node.dual.bound <= self.value + self.tolerance:
            return
        self._try(node)
        if len(node.left) and allowed.k:
            self._keep(node.dual.bound, node)


def exchanged(problem: Problem, allowed: Allowed, take: IntArray) -> IntArray:
    """Exchange, add or drop single columns as long as that raises the value: (d,)."""
    for _ in range(MAX_SWAPS):
        better = _best_exchange(problem, allowed, take)
        if better is None:
            break
        take = take.copy()
        take[better[0]] -= 1
        take[better[1]] += 1
    return take


def _best_exchange(
    problem: Problem, allowed: Allowed, take: IntArray
) -> tuple[IntArray, IntArray] | None:
    """Columns (at most one each) to take out and to put in; None if that is no improvement."""
    totals = problem.totals(take)
    log_a = log_shares(totals)
    gains = problem.gains(log_a)
    there, absent = np.flatnonzero(take > 0), np.flatnonzero(take < problem.size)
    spared = [_spared(allowed, gains, there), _spared(allowed, -gains, absent)]
    out, into = (np.append(each, -1) for each in spared)  # -1: no column
    moved = [_counts_or_none(problem, each) for each in (out, into)]
    changed = totals + moved[1][None] - moved[0][:, None]
    expected = changed.sum(axis=2, keepdims=True) * np.exp(log_a)
    gained = [np.where(each < 0, 0.0, gains[each]) for each in (out, into)]
    better = gained[1] - gained[0][:, None]
    better = better - divergence(changed - expected, expected).sum(axis=2)
    entropy = [np.where(each < 0, 0.0, np.abs(problem.entropy[each])) for each in (out, into)]
    noise = ROUNDING * (entropy[1] + entropy[0][:, None])
    better = np.where(allowed.may_exchange(take, out, into) & (better > noise), better, 0.0)
    i, j = np.unravel_index(np.argmax(better), better.shape)
    if not better[i, j] > 0:
        return None
    return out[i : i + 1][out[i : i + 1] >= 0], into[j : j + 1][into[j : j + 1] >= 0]


def _spared(allowed: Allowed, key: FloatArray, columns: IntArray) -> IntArray:
    """Columns of the smallest keys, of each kind of cost and class: few enough to try all pairs."""
    chosen = columns[_most(-key[columns])]
    if allowed.cost is not None and len(columns) > NEIGHBOURS:  # also those good for what they cost
        cheap = key[columns] / np.maximum(allowed.cost[columns], 1e-300)
        chosen = np.union1d(chosen, columns[_most(-cheap)])
    return chosen


def _most(key: FloatArray) -> BoolArray:
    """Mask of the largest keys, as many as are neighbours."""
    return largest(key, np.ones(len(key), dtype=np.int64), NEIGHBOURS) > 0


def _counts_or_none(problem: Problem, columns: IntArray) -> FloatArray:
    counts = column_counts(problem, np.maximum(columns, 0))
    return np.asarray(np.where(columns[:, None] < 0, 0.0, counts))
