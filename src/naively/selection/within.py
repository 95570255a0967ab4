"""The best columns among the sets that are allowed: dual, exchanges, branch and bound.

The dual is that of the coupled problem, over a polytope instead of all supports of k columns. Gains
that add up are the case of one class: its share is 1, whatever is chosen, and the dual is the
linear program.
"""

from __future__ import annotations

import heapq
import time
from dataclasses import dataclass, replace

import numpy as np

from naively._kernels.hull import log_shares
from naively._types import BoolArray, FloatArray, IntArray
from naively.models.family import divergence
from naively.models.model import Limits
from naively.selection.dual import MARGIN, DualSolution, Problem, restricted, solve_dual
from naively.selection.exact import SMALL, TOLERANCE
from naively.selection.polytope import Allowed, largest
from naively.selection.rounding import MAX_SWAPS, NEIGHBOURS, ROUNDING, WHOLE, column_counts


@dataclass(frozen=True, slots=True)
class Found:
    """Best set found, and what is proven about it."""

    take: BoolArray  # (d,)
    value: float  # nats
    bound: float  # nats: no set that is allowed gains more
    shares: FloatArray  # (C,) of the dual
    evaluations: int
    nodes: int


def problem_of_gains(gain: FloatArray) -> Problem:
    """Return the problem of gains (d,) that add up, to nats: one class, whose share is 1."""
    n = len(gain)
    ones = np.ones(n, dtype=np.int64)
    return Problem(np.zeros((n, 1)), 0.0, gain, ones, base_totals=np.ones(1))


def best_within(problem: Problem, allowed: Allowed, limits: Limits) -> Found:
    """Choose the best of the sets that are allowed, of which there must be one.

    Parameters
    ----------
    problem : Problem
        Columns, each once.
    allowed : Allowed
        Which sets may be chosen.
    limits : Limits
        Of the search; without `exact` the gap that the dual leaves is not searched.
    """
    everything = np.arange(len(problem.size))
    root = _Node.of(problem, allowed, everything, everything[:0], None)
    tree = _Tree(problem, allowed, root)
    if limits.exact:
        tree.search(limits)
    return Found(
        tree.take, tree.value, max(tree.bound, tree.value), root.dual.shares,
        max(root.dual.evaluations, 1), tree.nodes,
    )  # fmt: skip


@dataclass(frozen=True, slots=True)
class _Node:
    """Some columns are in, some are left to choose from, the others out."""

    chosen: IntArray  # columns that are in
    left: IntArray  # columns to choose from
    allowed: Allowed  # what remains allowed among these
    problem: Problem  # over these
    dual: DualSolution

    @classmethod
    def of(
        cls, problem: Problem, allowed: Allowed, left: IntArray, chosen: IntArray,
        start: FloatArray | None,
    ) -> _Node:  # fmt: skip
        """Bound what can be chosen; it must be possible."""
        rest = allowed.without(chosen, left)
        base = np.zeros(len(problem.size), dtype=np.int64)
        base[chosen] = 1
        part = replace(
            restricted(problem, left),
            base_value=problem.linear_value(base),
            base_totals=problem.totals(base),
            polytope=rest,
        )
        none_left = len(left) == 0 or rest.k == 0
        return cls(chosen, left, rest, part, solve_dual(part, 0 if none_left else 1, start))

    def whole(self, n: int) -> list[BoolArray]:
        """Round the solution to sets of all n columns."""
        dual, sets = self.dual, [np.asarray(x, dtype=np.float64) for x in self.dual.vertices]
        if len(self.left) and self.allowed.k:
            for gains in (dual.gains, dual.gains + dual.fraction * np.abs(dual.gains).max()):
                sets.append(self.allowed.filled(gains, self.allowed.optimum(gains)).astype(float))
        found = []
        for x in sets:
            if (np.abs(x - np.rint(x)) <= WHOLE).all():
                take = np.zeros(n, dtype=np.bool_)
                take[self.chosen] = True
                take[self.left[x > 0.5]] = True
                found.append(take)
        return found

    def tightened(self, best: float) -> tuple[IntArray, IntArray]:
        """Columns in, and left to choose from, of whatever beats a value."""
        if len(self.left) == 0 or self.allowed.k == 0:
            return self.chosen, self.left[:0]
        dual, gains = self.dual, self.dual.gains
        slack = max(dual.bound - best, 0.0) + 1e-9 * max(abs(dual.bound), 1e-9)
        inside, outside = self.allowed.settled(gains, self.allowed.optimum(gains), slack)
        chosen = np.concatenate([self.chosen, self.left[inside]])
        return chosen, self.left[~inside & ~outside]


class _Tree:
    """Nodes that are still open, largest bound first, and the best set found."""

    def __init__(self, problem: Problem, allowed: Allowed, root: _Node) -> None:
        self.problem, self.allowed = problem, allowed
        self.nodes, self.value = 0, -np.inf
        self.closed = -np.inf  # largest bound of a node that cannot be divided further
        self.bound = root.dual.bound
        self.take = np.zeros(len(problem.size), dtype=np.bool_)
        fraction = root.dual.fraction
        entropy = abs(root.problem.linear_value(fraction))
        rounding = ROUNDING * entropy + MARGIN * float(root.problem.totals(fraction).sum())
        self.tolerance = TOLERANCE * abs(self.bound) + rounding
        self._open: list[tuple[float, int, _Node]] = []
        self._try(root)
        if root.dual.bound > self.value + self.tolerance:
            self._offer(exchanged(problem, allowed, self.take))
        heapq.heappush(self._open, (-root.dual.bound, 0, root))

    def _try(self, node: _Node) -> None:
        for take in node.whole(len(self.take)):
            self._offer(take)

    def _offer(self, take: BoolArray) -> None:
        value = self.problem.value(take.astype(np.int64))
        if value > self.value:
            self.take, self.value = take, value

    def search(self, limits: Limits) -> None:
        """Divide the node of largest bound until none can improve on the best set."""
        deadline = time.monotonic() + (limits.time_limit or np.inf)
        while self._open and -self._open[0][0] > self.value + self.tolerance:
            if self.nodes >= limits.max_nodes or time.monotonic() >= deadline:
                self.bound = max(-self._open[0][0], self.closed)
                return
            self._divide(heapq.heappop(self._open)[2])
        self.bound = max(self.value, self.closed)

    def _divide(self, node: _Node) -> None:
        x = np.zeros(len(self.take))
        x[node.left] = node.dual.fraction
        chosen, left = node.tightened(self.value)
        if len(left) == 0:
            self._visit(chosen, left, node.dual.shares)
            return
        marginal = np.abs(x[left] - np.rint(x[left]))
        branch = int(np.argmax(marginal))
        if marginal[branch] < WHOLE:
            # A whole solution, which is known. What its bound leaves open is rounding, or the dual
            # was not solved: then any column that is still open will do.
            if node.dual.bound - self.value <= SMALL * abs(node.dual.bound):
                self.closed = max(self.closed, node.dual.bound)
                return
            branch = int(np.argmax(x[left]))
        rest = np.delete(left, branch)
        self._visit(np.append(chosen, left[branch]), rest, node.dual.shares)
        self._visit(chosen, rest, node.dual.shares)

    def _visit(self, chosen: IntArray, left: IntArray, start: FloatArray) -> None:
        """Bound a node, try its rounding, and keep it if it may hold something better."""
        allowed = self.allowed.without(chosen, left)
        if allowed.cost is not None:  # what costs more than is left will never be chosen
            left = left[allowed.cost <= allowed.budget + allowed.slack]
            allowed = self.allowed.without(chosen, left)
        if not allowed.is_possible(len(left)):
            return
        self.nodes += 1
        node = _Node.of(self.problem, self.allowed, left, chosen, start)
        if node.dual.bound <= self.value + self.tolerance:
            return
        self._try(node)
        if len(left) and allowed.k:
            heapq.heappush(self._open, (-node.dual.bound, self.nodes, node))


def exchanged(problem: Problem, allowed: Allowed, take: BoolArray) -> BoolArray:
    """Exchange, add or drop single columns as long as that raises the value: (d,)."""
    for _ in range(MAX_SWAPS):
        better = _best_exchange(problem, allowed, take)
        if better is None:
            break
        take = take.copy()
        take[better[0]], take[better[1]] = False, True
    return take


def _best_exchange(
    problem: Problem, allowed: Allowed, take: BoolArray
) -> tuple[IntArray, IntArray] | None:
    """Columns (at most one each) to take out and to put in; None if that is no improvement."""
    totals = problem.totals(take.astype(np.int64))
    log_a = log_shares(totals)
    gains = problem.gains(log_a)
    spared = [_spared(allowed, gains, np.flatnonzero(take)), _spared(allowed, -gains,
              np.flatnonzero(~take))]  # fmt: skip
    out, into = (np.append(each, -1) for each in spared)  # -1: no column
    moved = [_counts_or_none(problem, each) for each in (out, into)]
    changed = totals + moved[1][None] - moved[0][:, None]
    expected = changed.sum(axis=2, keepdims=True) * np.exp(log_a)
    gained = [np.where(each < 0, 0.0, gains[each]) for each in (out, into)]
    better = gained[1] - gained[0][:, None]
    better = better - divergence(changed - expected, expected).sum(axis=2)
    entropy = [np.where(each < 0, 0.0, np.abs(problem.entropy[each])) for each in (out, into)]
    noise = ROUNDING * (entropy[1] + entropy[0][:, None])
    better = np.where(_may_exchange(allowed, take, out, into) & (better > noise), better, 0.0)
    i, j = np.unravel_index(np.argmax(better), better.shape)
    if not better[i, j] > 0:
        return None
    return out[i : i + 1][out[i : i + 1] >= 0], into[j : j + 1][into[j : j + 1] >= 0]


def _spared(allowed: Allowed, key: FloatArray, columns: IntArray) -> IntArray:
    """Columns of the smallest keys, of each kind of cost and class: few enough to try all pairs."""
    chosen = columns[largest(-key[columns], NEIGHBOURS)]
    if allowed.cost is not None and len(columns) > NEIGHBOURS:  # also those good for what they cost
        cheap = key[columns] / np.maximum(allowed.cost[columns], 1e-300)
        chosen = np.union1d(chosen, columns[largest(-cheap, NEIGHBOURS)])
    return chosen


def _counts_or_none(problem: Problem, columns: IntArray) -> FloatArray:
    counts = column_counts(problem, np.maximum(columns, 0))
    return np.asarray(np.where(columns[:, None] < 0, 0.0, counts))


def _may_exchange(allowed: Allowed, take: BoolArray, out: IntArray, into: IntArray) -> BoolArray:
    """Whether the set stays allowed with one column out and one in: (out, into)."""
    leaves, enters = (out >= 0)[:, None], (into >= 0)[None]
    size = take.sum() - leaves + enters
    fine = size == allowed.k if allowed.cost is None else size <= allowed.k
    if allowed.cost is not None:
        cost = allowed.cost[take].sum() - np.where(leaves, allowed.cost[out][:, None], 0.0)
        fine &= (
            cost + np.where(enters, allowed.cost[into][None], 0.0) <= allowed.budget + allowed.slack
        )
    if allowed.quota is not None and allowed.speaks is not None:
        has = np.bincount(allowed.speaks[take], minlength=len(allowed.quota))
        of_out, of_in = allowed.speaks[out][:, None], allowed.speaks[into][None]
        spare = has[of_out] > allowed.quota[of_out]
        fine &= ~leaves | spare | (enters & (of_out == of_in))
    return np.asarray(fine)
