r"""Branch and bound: close the gap that rounding leaves.

A node restricts how many columns of each group are taken, low <= x <= high. Its bound is the same
dual on the columns that are left to choose. Three things keep the tree small.

Bounds by reduced cost. At the shares of the dual, exchanging one column for another changes the
bound by the difference of their gains. With psi the bound, h_[k] and h_[k+1] the last gain that is
taken and the first that is not, a selection better than the best one known,

    takes all but at most (psi - best) / (h_i - h_[k+1]) columns of a group with h_i > h_[k]
    takes at most (psi - best) / (h_[k] - h_i) columns of a group with h_i < h_[k]

which settles nearly all groups at the root. Equal columns are counted, never distinguished, so
there is no symmetry to search through. Branching is on the group with the most marginal fraction.
"""

from __future__ import annotations

import heapq
import time
from abc import ABC, abstractmethod
from dataclasses import dataclass, replace
from typing import Generic, TypeVar, final

import numpy as np

from naively._kernels.weighted_top import weighted_threshold
from naively._types import FloatArray, IntArray
from naively.models.model import Limits
from naively.selection.dual import MARGIN, DualSolution, Problem, restricted, solve_dual
from naively.selection.rounding import ROUNDING, WHOLE, round_solution

TOLERANCE = 1e-12  # relative gap that counts as closed
SMALL = 1e-9  # relative gap that rounding may leave, of sums of large terms that cancel


@dataclass(frozen=True, slots=True)
class SearchResult:
    """Best selection found, and what is proven about it."""

    take: IntArray  # (d,)
    value: float  # nats
    bound: float  # nats: no selection gains more; equal to `value` if the search was completed
    nodes: int


def branch_and_bound(
    problem: Problem, k: int, dual: DualSolution, take: IntArray, limits: Limits
) -> SearchResult:
    """Search for the best selection of k columns.

    Parameters
    ----------
    problem, k, dual
        The problem and the solution of its dual.
    take : (d,)
        A good selection to start from.
    limits : Limits
        Limits; when one is reached, the best selection so far is returned with its bound.
    """
    value = problem.value(take)
    low, high = tightened(dual, np.zeros_like(problem.size), problem.size, k, value)
    left = np.flatnonzero(high > low)
    tree = _Tree(
        fixed(problem, low, high, left), k - int(low.sum()), value, dual, _rounding(problem, dual)
    )
    tree.search(limits)
    if tree.take is not None:
        take = low.copy()
        take[left] += tree.take
    return SearchResult(take, tree.value, max(tree.bound, tree.value), tree.nodes)


def _rounding(problem: Problem, dual: DualSolution) -> float:
    """Difference of a bound and a value that their sums, and the margin of shares, may leave."""
    entropy = abs(problem.linear_value(dual.fraction))
    return ROUNDING * entropy + MARGIN * float(problem.totals(dual.fraction).sum())


def fixed(problem: Problem, low: IntArray, high: IntArray, left: IntArray) -> Problem:
    """Restrict to the groups `left`, with `low` of every group in and at most `high` allowed."""
    return replace(
        restricted(problem, left),
        size=(high - low)[left],
        base_value=problem.linear_value(low),
        base_totals=problem.totals(low),
    )


N = TypeVar("N")


class SearchTree(ABC, Generic[N]):
    """Nodes that are still open, best bound first, and the best value found."""

    def __init__(self, value: float, bound: float, tolerance: float) -> None:
        self.value, self.bound, self.tolerance = value, bound, tolerance
        self.nodes = 0
        self.closed = -np.inf  # largest bound of a node that cannot be divided further
        self._open: list[tuple[float, int, N]] = []

    def search(self, limits: Limits) -> None:
        """Divide the node of largest bound until none can improve on the best selection."""
        deadline = time.monotonic() + (limits.time_limit or np.inf)
        while self._open and -self._open[0][0] > self.value + self.tolerance:
            if self.nodes >= limits.max_nodes or time.monotonic() >= deadline:
                self.bound = max(-self._open[0][0], self.closed)
                return
            self._divide(heapq.heappop(self._open)[2])
        self.bound = max(self.value, self.closed)

    @abstractmethod
    def _divide(self, node: N) -> None:
        """Visit the parts of a node."""

    def _keep(self, bound: float, node: N) -> None:
        heapq.heappush(self._open, (-bound, self.nodes, node))

    def _halves(
        self, bound: float, low: IntArray, high: IntArray, x: FloatArray
    ) -> list[tuple[IntArray, IntArray]]:
        """Bounds on the columns of each group in the parts of a node, cut at its solution x."""
        marginal = np.abs(x - np.rint(x))
        branch = int(np.argmax(marginal))
        if marginal[branch] < WHOLE:
            # The solution is whole, and known. What its bound leaves open is rounding, or else
            # the dual was not solved: then any group that is still open will do.
            branch = int(np.argmax(high - low))
            if bound - self.value <= SMALL * abs(bound) or high[branch] == low[branch]:
                self.closed = max(self.closed, bound)
                return []
        # More than x of a group, or no more; neither is all.
        cut = int(np.clip(np.floor(x[branch] + WHOLE), low[branch], high[branch] - 1))
        more, less = low.copy(), high.copy()
        more[branch], less[branch] = cut + 1, cut
        return [(more, high), (low, less)]


@final
class _Tree(SearchTree[tuple[IntArray, IntArray, DualSolution]]):
    """Selections of k columns."""

    def __init__(
        self, problem: Problem, k: int, value: float, dual: DualSolution, rounding: float
    ) -> None:
        super().__init__(value, dual.bound, TOLERANCE * abs(dual.bound) + rounding)
        self.problem, self.k = problem, k
        self.take: IntArray | None = None  # only if better than the value given
        self._visit(np.zeros_like(problem.size), problem.size, dual.shares)

    def _divide(self, node: tuple[IntArray, IntArray, DualSolution]) -> None:
        low, high, dual = node
        low, high = tightened(dual, low, high, self.k - int(low.sum()), self.value)
        for part in self._halves(dual.bound, low, high, low + dual.fraction):
            self._visit(*part, dual.shares)

    def _visit(self, low: IntArray, high: IntArray, start: FloatArray) -> None:
        """Bound a node, try its rounding, and keep it if it may hold something better."""
        missing = self.k - int(low.sum())
        if missing < 0 or missing > int((high - low).sum()):
            return
        self.nodes += 1
        problem = fixed(self.problem, low, high, np.arange(len(low)))
        dual = solve_dual(problem, missing, start=start)
        if dual.bound <= self.value + self.tolerance:
            return
        take, value = round_solution(problem, dual)
        if value > self.value:
            self.take, self.value = low + take, value
        self._keep(dual.bound, (low, high, dual))


def tightened(
    dual: DualSolution, low: IntArray, high: IntArray, k: int, best: float
) -> tuple[IntArray, IntArray]:
    """Bounds on the columns of each group that every selection better than `best` keeps.

    Parameters
    ----------
    dual : DualSolution
        Of choosing k columns among `high - low`, on top of `low`.
    low, high : (d,)
        Bounds so far.
    k : int
        Number of columns left to choose.
    best : float
        Value to beat, nats.
    """
    room = high - low
    h, last = dual.gains, dual.threshold
    slack = max(dual.bound - best, 0.0) + 1e-9 * max(abs(dual.bound), 1e-9)
    following = weighted_threshold(h, room, k + 1) if room.sum() > k else -np.inf
    with np.errstate(divide="ignore", invalid="ignore"):
        drop = np.where(h > last, np.floor(slack / (h - following)), np.inf)
        add = np.where(h < last, np.floor(slack / (last - h)), np.inf)
    if following == -np.inf:
        drop = np.zeros(len(h))
    new_low = np.where(drop < room, high - np.minimum(drop, room), low).astype(np.int64)
    new_high = np.where(add < room, low + np.minimum(add, room), high).astype(np.int64)
    return new_low, np.maximum(new_high, new_low)
