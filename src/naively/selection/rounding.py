r"""From the fractional solution of the dual to k whole columns.

With counts, thousands of columns tie at the threshold of the dual, in a few groups of equal
columns; which of them are taken decides the quality. For any support S and any shares a,

    gain(S) = sum_{i in S} h_i(a) - F(S) KL(F_c(S) / F(S) || a)

so at the dual solution the loss of a support that takes only tied columns is the last term alone:
the mix of the groups must reproduce the shares. The mixture of the vertices does so exactly, with
fractions. It is reduced to a basic solution of the linear program of NFS-long proposition 3.10
(over the tied groups: as many whole numbers as possible with the same shares), at most C fractions
remain, and these are rounded. The vertices themselves are candidates too; the best candidate is
improved by exchanging single columns.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any

import numpy as np

from naively._kernels.exchange import across, best_addition, best_exchange, edges
from naively._kernels.hull import log_shares
from naively._kernels.whole import contended, make_whole
from naively._types import FloatArray, IntArray
from naively.selection.dual import DualSolution, Problem

NEIGHBOURS = 48  # columns on each side of the threshold that may be exchanged
MAX_SWAPS = 200
MAX_CELLS = 200_000  # numbers looked at for one exchange
CLOSED = 1e-12  # relative gap that leaves nothing to improve
ROUNDING = 1e-14  # relative, of entropies, which all but cancel in a gain or a bound
WHOLE = 1e-7  # distance from a whole number that is rounding error


def round_solution(
    problem: Problem, dual: DualSolution, others: Sequence[IntArray] = ()
) -> tuple[IntArray, float]:
    """Good selection of k whole columns.

    Parameters
    ----------
    problem, dual
        The problem and the solution of its dual for k.
    others
        Further candidates, for example the selection of a neighbouring k completed to k.

    Returns
    -------
    take : (d,) how many of each column
    value : its gain in nats
    """
    rounded = rounded_mixture(problem, dual)
    candidates = [rounded, *dual.vertices, *others]
    values = [problem.value(rounded), *dual.vertex_values, *map(problem.value, others)]
    best = values.index(max(values))
    if dual.bound - values[best] <= CLOSED * abs(dual.bound):
        return candidates[best], values[best]
    take = improved_by_swaps(problem, candidates[best])
    return take, values[0] if take is rounded else problem.value(take)


def rounded_mixture(problem: Problem, dual: DualSolution) -> IntArray:
    """Whole numbers close to the fractional solution, with nearly its class shares: (d,)."""
    groups, x = _contended(problem, dual)
    take, whole = dual.vertices[0].copy(), np.floor(x + WHOLE).astype(np.int64)
    missing = int((take[groups] - whole).sum())
    take[groups] = whole
    return _completed(problem, take, groups[x - whole > WHOLE], missing)


def basic_solution(problem: Problem, dual: DualSolution) -> FloatArray:
    """Fractional solution with the same class shares and at most C fractions: (d,)."""
    groups, fractions = _contended(problem, dual)
    x: FloatArray = dual.vertices[0].astype(np.float64)
    x[groups] = fractions
    return x


def _contended(problem: Problem, dual: DualSolution) -> tuple[IntArray, FloatArray]:
    """Return groups that vertices differ in, and what the basic solution takes of these."""
    groups, x = np.empty(len(problem.size), dtype=np.int64), np.empty(len(problem.size))
    n = contended(dual.vertices, dual.weights, groups, x)
    groups, x = groups[:n], x[:n]
    is_open = np.abs(x - np.rint(x)) > WHOLE
    if np.count_nonzero(is_open) <= problem.counts.shape[1]:
        return groups, x
    open_groups = groups[is_open]
    f = column_counts(problem, open_groups)
    drift = f - f.sum(axis=1, keepdims=True) * dual.shares
    constraints = np.vstack([np.ones(len(f)), drift.T[:-1]])
    scale = np.abs(constraints).max(axis=1, keepdims=True)
    constraints /= np.where(scale > 0, scale, 1.0)
    fractions = x[is_open]
    make_whole(fractions, constraints, dual.gains[open_groups], WHOLE)
    x[is_open] = fractions
    return groups, x


def widened(problem: Problem, dual: DualSolution) -> IntArray:
    """Whole columns wherever the basic solution takes any part (NFS-long proposition 3.8): (d,).

    At most C more than k. No gain h_i(a) is negative, so that their value is at least that of the
    fractions, the bound.
    """
    return np.ceil(basic_solution(problem, dual) - WHOLE).astype(np.int64)


def _completed(problem: Problem, take: IntArray, groups: IntArray, missing: int) -> IntArray:
    """Add missing columns, in place, one by one from the groups: each time what gains most."""
    for _ in range(missing):
        groups = groups[take[groups] < problem.size[groups]]
        if len(groups) == 0:
            groups = np.flatnonzero(take < problem.size)
        if len(groups) == 1:
            take[groups] += 1
            groups = groups[:0]
            continue
        totals, counts = problem.totals(take), column_counts(problem, groups)
        best = groups[best_addition(problem.entropy[groups], counts, totals)]
        take[best] += 1
        groups = groups[groups != best]
    return take


def improved_by_swaps(problem: Problem, take: IntArray) -> IntArray:
    """Exchange one column for another as long as that raises the gain: (d,), or what is given."""
    for _ in range(MAX_SWAPS):
        swap = _best_swap(problem, take)
        if swap is None:
            break
        take = take.copy()
        take[swap[0]] -= 1
        take[swap[1]] += 1
    return take


def _best_swap(problem: Problem, take: IntArray) -> tuple[int, int] | None:
    """Column to take out and column to put in; None if no exchange is an improvement."""
    totals = problem.totals(take)
    log_a = log_shares(totals)
    gains = problem.gains(log_a)
    # An exchange only pays if the gain at the present shares rises.
    least, most = edges(gains, take, problem.size)
    if min(least, most) < 0 or gains[least] >= gains[most]:
        return None
    out, into = np.empty((2, len(take)), dtype=np.int64)
    n_out, n_into = across(gains, take, problem.size, gains[least], gains[most], out, into)
    n = min(max(math.isqrt(MAX_CELLS // len(totals)), 8), NEIGHBOURS)
    out, into = _extreme(out[:n_out], gains, n, 1.0), _extreme(into[:n_into], gains, n, -1.0)
    both = np.concatenate([out, into])
    # Gains are differences of entropies and logarithms: what these lose to rounding is nothing.
    noise = ROUNDING * np.abs(problem.entropy[both])
    counts, shares = column_counts(problem, both), np.exp(log_a)
    i, j = best_exchange(gains[both], noise, counts, len(out), totals, shares)
    return None if i < 0 else (int(both[i]), int(both[j]))


def _extreme(groups: IntArray, gains: FloatArray, n: int, sign: float) -> IntArray:
    """Up to n of the groups with the smallest gains, by their sign."""
    if len(groups) <= n:
        return groups
    key = sign * gains[groups]
    return np.asarray(groups[key <= np.partition(key, n)[n]][:n])


def column_counts(problem: Problem, groups: IntArray) -> FloatArray:
    """Smoothed counts of some columns: (len(groups), C)."""
    rows: Any = problem.counts[groups]
    dense = rows.toarray() if hasattr(rows, "toarray") else rows
    alpha = problem.alpha if np.ndim(problem.alpha) == 0 else np.asarray(problem.alpha)[groups]
    return np.asarray(dense + np.reshape(alpha, (-1, 1)))
