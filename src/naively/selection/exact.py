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
from dataclasses import dataclass, replace

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
        _fixed(problem, low, high, left), k - int(low.sum()), value, dual, _rounding(problem, dual)
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


def _fixed(problem: Problem, low: IntArray, high: IntArray, left: IntArray) -> Problem:
    """Restrict to the groups `left`, with `low` of every group in and at most `high` allowed."""
    return replace(
        restricted(problem, left),
        size=(high - low)[left],
        base_value=problem.linear_value(low),
        base_totals=problem.totals(low),
    )


class _Tree:
    """Nodes that are still open, best bound first, and the best selection found."""

    def __init__(
        self, problem: Problem, k: int, value: float, dual: DualSolution, rounding: float
    ) -> None:
        self.problem, self.k = problem, k
        self.value = value
        self.take: IntArray | None = None  # only if better than the value given
        self.bound = dual.bound
        self.tolerance = TOLERANCE * abs(dual.bound) + rounding
        self.nodes = 0
        self.closed = -np.inf  # largest bound of a node that cannot be divided further
        self._open: list[tuple[float, int, IntArray, IntArray, DualSolution]] = []
        self._visit(np.zeros_like(problem.size), problem.size, dual.shares)

    def search(self, limits: Limits) -> None:
        """Divide the node of largest bound until none can improve on the best selection."""
        deadline = time.monotonic() + (limits.time_limit or np.inf)
        while self._open and -self._open[0][0] > self.value + self.tolerance:
            if self.nodes >= limits.max_nodes or time.monotonic() >= deadline:
                self.bound = max(-self._open[0][0], self.closed)
                return
            _, _, low, high, dual = heapq.heappop(self._open)
            low, high = tightened(dual, low, high, self.k - int(low.sum()), self.value)
            x = low + dual.fraction
            marginal = np.abs(x - np.rint(x))
            branch = int(np.argmax(marginal))
            if marginal[branch] < WHOLE:
                # The solution is whole, and known. What its bound leaves open is rounding, or else
                # the dual was not solved: then any group that is still open will do.
                branch = int(np.argmax(high - low))
                rounding = dual.bound - self.value <= SMALL * abs(dual.bound)
                if rounding or high[branch] == low[branch]:
                    self.closed = max(self.closed, dual.bound)
                    continue
            for child_low, child_high in _halves(low, high, branch, x[branch]):
                self._visit(child_low, child_high, dual.shares)
        self.bound = max(self.value, self.closed)

    def _visit(self, low: IntArray, high: IntArray, start: FloatArray) -> None:
        """Bound a node, try its rounding, and keep it if it may hold something better."""
        missing = self.k - int(low.sum())
        if missing < 0 or missing > int((high - low).sum()):
            return
        self.nodes += 1
        problem = _fixed(self.problem, low, high, np.arange(len(low)))
        dual = solve_dual(problem, missing, start=start)
        if dual.bound <= self.value + self.tolerance:
            return
        take, value = round_solution(problem, missing, dual)
        if value > self.value:
            self.take, self.value = low + take, value
        heapq.heappush(self._open, (-dual.bound, self.nodes, low, high, dual))


def _halves(
    low: IntArray, high: IntArray, branch: int, x: float
) -> list[tuple[IntArray, IntArray]]:
    """Bounds with more than x of a group, and with no more, x in [low, high]; neither is all."""
    cut = int(np.clip(np.floor(x + WHOLE), low[branch], high[branch] - 1))
    more, less = low.copy(), high.copy()
    more[branch], less[branch] = cut + 1, cut
    return [(more, high), (low, less)]


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
