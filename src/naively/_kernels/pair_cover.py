"""Loops over pairs of classes: weighted squares, greedy cover with lazy evaluation, mixtures.

Distances of n features for P pairs of classes are rows (n, P) in nats; a pair whose distances sum
to e has weight exp(log_weight - e), and F is the sum of these weights.
"""

from __future__ import annotations

import math

import numpy as np

from naively._kernels.compiled import kernel, kernel_part
from naively._types import FloatArray, IntArray

DONE, MORE = 0, 1  # why `cover_pairs` returned: it has all it was asked for; it needs more rows
_SIDE = 256  # rows side by side
SLACK = 1e-9  # relative: how far a stale bound is trusted


@kernel
def weighed_squares(roots: FloatArray, weights: FloatArray, total: FloatArray) -> None:
    """Total (d,) of weights_ab (roots_ia - roots_ib)^2 over the pairs a < b, row by row.

    Some rows at a time, side by side: the loop over them has no sums to wait for.
    """
    d, n_classes = roots.shape
    side = np.empty((n_classes, _SIDE))
    for start in range(0, d, _SIDE):
        n = min(_SIDE, d - start)
        for i in range(n):
            total[start + i] = 0.0
            for c in range(n_classes):
                side[c, i] = roots[start + i, c]
        at = 0
        for a in range(n_classes - 1):
            for b in range(a + 1, n_classes):
                weight = weights[at]
                at += 1
                for i in range(n):
                    difference = side[a, i] - side[b, i]
                    total[start + i] += weight * difference * difference


@kernel
def pair_squares(roots: FloatArray, squares: FloatArray) -> None:
    """Squares (d, P) of the differences of roots (d, C), pairs a < b row by row."""
    d, n_classes = roots.shape
    for i in range(d):
        at = 0
        for a in range(n_classes - 1):
            for b in range(a + 1, n_classes):
                difference = roots[i, a] - roots[i, b]
                squares[i, at] = difference * difference
                at += 1


@kernel
def row_sums(rows: FloatArray, weights: FloatArray) -> FloatArray:
    """sum_p rows_ip weights_p in a fixed order: (n,)."""  # noqa: D403
    n, n_pairs = rows.shape
    sums = np.empty(n)
    for i in range(n):
        total = 0.0
        for p in range(n_pairs):
            total += rows[i, p] * weights[p]
        sums[i] = total
    return sums


@kernel
def first_equal(rows: FloatArray) -> IntArray:
    """Position of the first row that each row is equal to: (n,)."""
    n, n_pairs = rows.shape
    size = 2
    while size < 2 * n:
        size *= 2
    place = np.full(size, -1, dtype=np.int64)
    first = np.empty(n, dtype=np.int64)
    for i in range(n):
        mixed = 0.0
        for p in range(n_pairs):
            mixed = mixed * 0.6180339887498949 + rows[i, p]
        # The digits of a float, whatever its size, as a number.
        mantissa, exponent = math.frexp(mixed)
        at = (int(mantissa * 4503599627370496.0) * 2654435761 + exponent * 40503) & (size - 1)
        while place[at] >= 0:
            other, same = place[at], True
            for p in range(n_pairs):
                if rows[i, p] != rows[other, p]:
                    same = False
                    break
            if same:
                break
            at = (at + 1) & (size - 1)
        if place[at] < 0:
            place[at] = i
        first[i] = place[at]
    return first


@kernel
def log_sum(log_weight: FloatArray, share: FloatArray) -> float:
    """Log of the sum of the weights; `share` (P,) receives their shares of it."""
    top: float = log_weight.max()
    total = 0.0
    for p in range(len(log_weight)):
        share[p] = math.exp(log_weight[p] - top)
        total += share[p]
    for p in range(len(log_weight)):
        share[p] /= total
    return top + math.log(total)


@kernel_part
def lost(x: float) -> float:
    """1 - exp(-x); small x, which are many, by the series: to a relative 1e-14."""
    if x < 0.004:
        return x * (1.0 - x / 2 * (1.0 - x / 3 * (1.0 - x / 4 * (1.0 - x / 5))))
    return -math.expm1(-x)


@kernel
def _sift(heap: IntArray, size: int, at: int, stale: FloatArray) -> None:
    """Let the entry at a place of a heap, the largest bound first, sink to where it belongs."""
    item = heap[at]
    while True:
        child = 2 * at + 1
        if child >= size:
            break
        if child + 1 < size and stale[heap[child + 1]] > stale[heap[child]]:
            child += 1
        if stale[heap[child]] <= stale[item]:
            break
        heap[at] = heap[child]
        at = child
    heap[at] = item


@kernel
def _push(heap: IntArray, size: int, item: int, stale: FloatArray) -> None:
    at = size
    while at > 0 and stale[heap[(at - 1) // 2]] < stale[item]:
        heap[at] = heap[(at - 1) // 2]
        at = (at - 1) // 2
    heap[at] = item


@kernel
def cover_pairs(  # noqa: C901, PLR0915 (a heap and the ties at its top; calls would copy both)
    rows: FloatArray,
    members: IntArray,
    pointer: IntArray,
    size: FloatArray,
    stale: FloatArray,
    floor: float,
    tie: float,
    rounding: float,
    settled: bool,
    log_weight: FloatArray,
    order: IntArray,
    start: int,
) -> tuple[int, int]:
    """Take features one by one, each time the one by which F falls most.

    F is supermodular: what a feature takes off it only shrinks as others are taken. So the fall of
    a feature when it was last looked at is a bound on that of now, and few are looked at again.
    Falls are a tie if they differ by no more than `tie` of themselves or than rounding, or are
    connected by a chain of such steps; of those that tie with the largest, the lowest column.

    Parameters
    ----------
    rows : (n, P) distances of features that differ, times the exponent
    members : (q,) their columns, those of each ascending; `pointer` (n + 1,) where they start,
        which moves on as columns are taken
    size : (n,) rounding of a fall f is rounding * (f + 2 size f^(1/2))
    stale : (n,) log of a bound on the fall of each
    floor : log of a bound on the fall of columns that are not here; -inf if there are none
    tie, rounding : relative
    settled : whether columns that are not here lose all ties
    log_weight : (P,) of the pairs; what is taken is subtracted
    order : (k,) receives the columns
    start : how many are there

    Returns
    -------
    how many columns are in the order, and DONE or MORE
    """
    n, n_pairs = rows.shape
    ends = pointer[1:].copy()
    heap, entries = np.empty(n, dtype=np.int64), 0
    for i in range(n):
        if pointer[i] < ends[i]:
            heap[entries] = i
            entries += 1
    for at in range(entries // 2 - 1, -1, -1):
        _sift(heap, entries, at, stale)
    share, fresh, value = np.empty(n_pairs), np.empty(n, dtype=np.int64), np.empty(n)
    while start < len(order):
        log_f = log_sum(log_weight, share)
        trust = 1.0 + SLACK + 16 * 2.2e-16 * abs(log_f)
        looked, best, least = 0, -1.0, -1.0
        winner = -1
        while True:
            while entries > 0 and math.exp(min(stale[heap[0]] - log_f, 1.0)) * trust >= least:
                i = heap[0]
                entries -= 1
                heap[0] = heap[entries]
                if entries > 0:
                    _sift(heap, entries, 0, stale)
                fall = 0.0
                for p in range(n_pairs):
                    if share[p] > 0.0:
                        fall += share[p] * lost(rows[i, p])
                stale[i] = min(stale[i], log_f + math.log(fall)) if fall > 0 else -np.inf
                fresh[looked], value[looked] = i, fall
                looked += 1
                if fall > best:
                    best = fall
                    error = rounding * (best + 2.0 * size[i] * math.sqrt(best))
                    least = max(best - tie * best - 2.0 * error, 0.0)
            # The chain of ties that starts with the best.
            descending = np.argsort(-value[:looked])
            low, winner = best, -1
            for at in descending:
                i = fresh[at]
                error = rounding * (value[at] + 2.0 * size[i] * math.sqrt(value[at]))
                if low - value[at] > tie * value[at] + 2.0 * error:
                    break
                low = value[at]
                if winner < 0 or members[pointer[i]] < members[pointer[winner]]:
                    winner = i
                reach = max(low - tie * low - 2.0 * error, 0.0)
                least = min(least, reach)
            if entries == 0 or math.exp(min(stale[heap[0]] - log_f, 1.0)) * trust < least:
                break
        others = math.exp(min(floor - log_f, 1.0)) * trust
        more = floor > -np.inf and (others > best if settled else others >= least)
        for at in range(looked):
            i = fresh[at]
            if more or i != winner or pointer[i] + 1 < ends[i]:
                _push(heap, entries, i, stale)
                entries += 1
        if more or winner < 0:
            return start, MORE
        order[start] = members[pointer[winner]]
        pointer[winner] += 1
        start += 1
        for p in range(n_pairs):
            log_weight[p] -= rows[winner, p]
    return start, DONE


@kernel
def mix_vertices(  # noqa: C901 (a line search inside the steps)
    vertices: FloatArray, log_weight: FloatArray, mixture: FloatArray, tolerance: float
) -> None:
    """Change a mixture (J,) until that of the vertices (J, P) has the least F, to a tolerance.

    Weight goes from the worst vertex in the mixture to the best of all, by exact line search
    (pairwise Frank-Wolfe, Lacoste-Julien and Jaggi 2015).
    """
    J, n_pairs = vertices.shape
    share, at, step = np.empty(n_pairs), np.empty(n_pairs), np.empty(n_pairs)
    for _ in range(200):
        for p in range(n_pairs):
            at[p] = log_weight[p]
            for j in range(J):
                at[p] -= mixture[j] * vertices[j, p]
        log_sum(at, share)
        best, worst = -1, -1
        high, low, mean = -np.inf, np.inf, 0.0
        for j in range(J):
            slope = 0.0
            for p in range(n_pairs):
                slope += share[p] * vertices[j, p]
            mean += mixture[j] * slope
            if slope > high:
                high, best = slope, j
            if mixture[j] > 0 and slope < low:
                low, worst = slope, j
        if high - mean <= tolerance * abs(high) or best == worst:
            return
        for p in range(n_pairs):
            step[p] = vertices[best, p] - vertices[worst, p]
        left, right, moved = 0.0, mixture[worst], mixture[worst]
        for _ in range(30):  # Newton, kept between two ends of opposite slopes
            top = -np.inf
            for p in range(n_pairs):
                top = max(top, at[p] - moved * step[p])
            total, slope, square = 0.0, 0.0, 0.0
            for p in range(n_pairs):
                weight = math.exp(at[p] - moved * step[p] - top)
                total += weight
                slope += weight * step[p]
                square += weight * step[p] * step[p]
            slope /= total
            curvature = square / total - slope * slope
            if slope >= 0:
                left = moved
            else:
                right = moved
            if left == mixture[worst] or abs(slope) <= 0.1 * tolerance * abs(high):
                break
            following = moved + slope / curvature if curvature > 0 else -1.0
            moved = following if left < following < right else 0.5 * (left + right)
        if moved <= 0.0:
            return
        mixture[best] += moved
        mixture[worst] = mixture[worst] - moved if moved < mixture[worst] else 0.0
