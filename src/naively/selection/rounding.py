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

from collections.abc import Sequence
from typing import Any

import numpy as np

from naively._kernels.hull import log_shares
from naively._kernels.weighted_top import edges
from naively._kernels.whole import make_whole
from naively._types import FloatArray, IntArray
from naively.models.family import divergence
from naively.selection.dual import DualSolution, Problem

NEIGHBOURS = 48  # columns on each side of the threshold that may be exchanged
MAX_SWAPS = 200
MAX_CELLS = 200_000  # numbers looked at for one exchange
CLOSED = 1e-12  # relative gap that leaves nothing to improve
ROUNDING = 1e-14  # relative, of entropies, which all but cancel in a gain or a bound
WHOLE = 1e-7  # distance from a whole number that is rounding error


def round_solution(
    problem: Problem, k: int, dual: DualSolution, others: Sequence[IntArray] = ()
) -> tuple[IntArray, float]:
    """Good selection of k whole columns.

    Parameters
    ----------
    problem, k, dual
        The problem and the solution of its dual.
    others
        Further candidates, for example the selection of a neighbouring k completed to k.

    Returns
    -------
    take : (d,) how many of each column
    value : its gain in nats
    """
    rounded = rounded_mixture(problem, k, dual)
    candidates = [rounded, *dual.vertices, *others]
    values = [problem.value(rounded), *dual.vertex_values, *map(problem.value, others)]
    best = int(np.argmax(values))
    if dual.bound - values[best] <= CLOSED * abs(dual.bound):
        return candidates[best], values[best]
    take = improved_by_swaps(problem, candidates[best])
    return take, problem.value(take)


def rounded_mixture(problem: Problem, k: int, dual: DualSolution) -> IntArray:
    """Whole numbers close to the fractional solution, with nearly its class shares: (d,)."""
    groups, x = _contended(problem, dual)
    take = dual.vertices[0].copy()
    take[groups] = np.floor(x + WHOLE)
    return _completed(problem, take, groups[x - take[groups] > WHOLE], k - int(take.sum()))


def basic_solution(problem: Problem, dual: DualSolution) -> FloatArray:
    """Fractional solution with the same class shares and at most C fractions: (d,)."""
    groups, fractions = _contended(problem, dual)
    x = dual.vertices[0].astype(np.float64)
    x[groups] = fractions
    return x


def _contended(problem: Problem, dual: DualSolution) -> tuple[IntArray, FloatArray]:
    """Return groups that vertices differ in, and what the basic solution takes of these."""
    first, differ = dual.vertices[0], np.zeros(len(problem.size), dtype=np.bool_)
    for other in dual.vertices[1:]:
        differ |= first != other
    groups = np.flatnonzero(differ)
    x = dual.mixed(groups)
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
    """Add the missing columns one by one from the groups, each time the one that gains most."""
    take = take.copy()
    for _ in range(missing):
        groups = groups[take[groups] < problem.size[groups]]
        if len(groups) == 0:
            groups = np.flatnonzero(take < problem.size)
        if len(groups) == 1:
            take[groups] += 1
            groups = groups[:0]
            continue
        totals = problem.totals(take)
        trial = totals + column_counts(problem, groups)
        shares = np.log(np.maximum(trial / trial.sum(axis=1, keepdims=True), 1e-300))
        best = groups[np.argmax(problem.entropy[groups] - np.sum(trial * shares, axis=1))]
        take[best] += 1
        groups = groups[groups != best]
    return take


def improved_by_swaps(problem: Problem, take: IntArray) -> IntArray:
    """Exchange one column for another as long as that raises the gain: (d,)."""
    take = take.copy()
    for _ in range(MAX_SWAPS):
        swap = _best_swap(problem, take)
        if swap is None:
            break
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
    n = int(np.clip(np.sqrt(MAX_CELLS / len(totals)), 8, NEIGHBOURS))
    out = _extreme(np.flatnonzero((take > 0) & (gains < gains[most])), gains, n)
    into = _extreme(np.flatnonzero((take < problem.size) & (gains > gains[least])), -gains, n)
    # Gains are differences of entropies and logarithms: what these lose to rounding is nothing.
    noise = ROUNDING * (np.abs(problem.entropy[into]) + np.abs(problem.entropy[out])[:, None])
    rise = gains[into] - gains[out][:, None]
    i, j = np.nonzero(rise > noise)
    changed = totals + column_counts(problem, into)[j] - column_counts(problem, out)[i]
    expected = changed.sum(axis=1, keepdims=True) * np.exp(log_a)
    better = rise[i, j] - divergence(changed - expected, expected).sum(axis=1)
    better[better <= noise[i, j]] = 0.0
    if not better.any():
        return None
    best = np.argmax(better)
    return int(out[i[best]]), int(into[j[best]])


def _extreme(groups: IntArray, key: FloatArray, n: int) -> IntArray:
    """Up to n of the groups with the smallest key."""
    if len(groups) <= n:
        return groups
    cut = np.partition(key[groups], n)[n]
    return np.asarray(groups[key[groups] <= cut][:n])


def column_counts(problem: Problem, groups: IntArray) -> FloatArray:
    """Smoothed counts of some columns: (len(groups), C)."""
    rows: Any = problem.counts[groups]
    dense = rows.toarray() if hasattr(rows, "toarray") else rows
    alpha = problem.alpha if np.ndim(problem.alpha) == 0 else np.asarray(problem.alpha)[groups]
    return np.asarray(dense + np.reshape(alpha, (-1, 1)))
