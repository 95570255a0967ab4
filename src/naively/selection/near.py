"""The coupled dual of very many groups, solved over those near the threshold.

The gains at the shares of a neighbouring k tell which groups are clearly in, and which clearly out.
The dual over the others has a fractional support of all groups for its value. If at its shares
every group that was taken is still above the threshold and every one left out below, its bound
holds for all groups too, and it is the solution; else the dual is solved over all of them.
"""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np

from naively._kernels.hull import log_shares
from naively._kernels.weighted_top import weighted_threshold
from naively._types import FloatArray, IntArray
from naively.selection.dual import DualSolution, Problem, restricted, solve_dual

REACH = 1 << 12  # columns on each side of the threshold to choose from, and a share of k
SHARE = 32


@dataclass(frozen=True, slots=True)
class NearSolution:
    """Groups that are in for certain, and the solution of choosing among those near them."""

    above: IntArray  # (d,) columns taken of groups that are in
    between: IntArray  # (b,) groups to choose from
    missing: int  # columns to choose among them
    problem: Problem  # of choosing among them
    dual: DualSolution

    def completed(self, take: IntArray) -> IntArray:
        """Take of all groups, (d,), from that of the groups to choose from."""
        whole = self.above.copy()
        whole[self.between] = take
        return whole


def solve_near(
    problem: Problem, k: int, start: FloatArray | None, *, settled: bool
) -> NearSolution | None:
    """Solve the dual near the threshold, 0 < k < sum of sizes; None if that proves nothing.

    Parameters
    ----------
    problem : Problem
        Of all groups, without a base.
    k : int
    start : (C,) or None
        Shares of a neighbouring k.
    settled : bool
        Whether any choice is optimal, so that nothing has to be proven.
    """
    if start is None:
        start = np.exp(log_shares(problem.totals(problem.size)))
    above, between = _parted(problem.gains(np.log(start)), problem.size, k)
    if 2 * len(between) > len(problem.size):
        return None
    inner = restricted(problem, between)
    if above.any():
        value, totals = problem.linear_value(above), problem.totals(above)
        inner = replace(inner, base_value=value, base_totals=totals)
    missing = k - int(above.sum())
    dual = solve_dual(inner, missing, start=start)
    solution = NearSolution(above, between, missing, inner, dual)
    if settled:
        return solution
    gains = problem.gains(dual.log_a)
    taken = above > 0
    left = ~taken
    left[between] = False
    holds = gains[taken].min(initial=np.inf) >= dual.threshold >= gains[left].max(initial=-np.inf)
    return solution if holds else None


def _parted(gains: FloatArray, size: IntArray, k: int) -> tuple[IntArray, IntArray]:
    """Columns taken of the groups clearly in, (d,), and the groups to choose from."""
    reach, total = REACH + k // SHARE, int(size.sum())
    low = weighted_threshold(gains, size, k + reach) if k + reach < total else -np.inf
    high = weighted_threshold(gains, size, k - reach) if k > reach else np.inf
    is_above = gains > high
    return np.where(is_above, size, 0), np.flatnonzero(~is_above & (gains >= low))
