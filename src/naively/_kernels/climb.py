"""The coupled dual of a table of counts, from one vertex to the next."""

from __future__ import annotations

import numpy as np

from naively._kernels.compiled import kernel, patient
from naively._kernels.hull import BEST, THRESHOLD, VERTICES, _turn, turn
from naively._kernels.linear_gains import linear_gains, take_best
from naively._kernels.weighted_top import bracketed_threshold, weighted_threshold
from naively._types import FloatArray, IntArray


@kernel
def _climb(
    counts: FloatArray,
    entropy: FloatArray,
    size: IntArray,
    alpha: FloatArray,
    base_value: float,
    base_totals: FloatArray,
    k: int,
    gains: FloatArray,
    takes: IntArray,
    log_a: FloatArray,
    best_log_a: FloatArray,
    values: FloatArray,
    totals: FloatArray,
    weights: FloatArray,
    count: IntArray,
    reached: FloatArray,
    ghost: float,
) -> bool:
    """Take the k columns of largest gain at the shares, and move these, until nothing is gained.

    Parameters
    ----------
    counts, entropy, size, alpha : (d, C), (d,), (d,) and (1,) or (d,)
        Groups of equal columns: counts, entropies, how many there are of each, and smoothing.
    base_value, base_totals : float and (C,)
        Entropies and smoothed counts of what is taken in any case.
    gains : (2, d)
        Receives the gains, those at the least bound in the row `count[BEST]`.
    takes : (v, d)
        Receives how many are taken of each group, by each vertex.
    others
        As of `turn`.

    Returns
    -------
    Whether that was the end; else there is no room for another vertex.
    """
    vertex = np.empty(len(log_a))
    while count[VERTICES] < len(values):
        sum_log_a, row, take = 0.0, 1 - count[BEST], takes[count[VERTICES]]
        for c in range(len(log_a)):
            sum_log_a += log_a[c]
        linear_gains(counts, entropy, alpha, log_a, sum_log_a, gains[row])
        threshold = bracketed_threshold(gains[row], size, k)
        value, smoothing = take_best(
            gains[row], size, threshold, k, counts, entropy, alpha, take, vertex
        )
        for c in range(len(vertex)):
            vertex[c] = vertex[c] + smoothing + base_totals[c]
        is_best, is_last = _turn(
            value + base_value, vertex, log_a, best_log_a, values, totals, weights, count, reached,
            ghost,
        )  # fmt: skip
        if is_best:
            count[BEST], reached[THRESHOLD] = row, threshold
        if is_last:
            return True
    return False


climb = patient(_climb, bracketed_threshold=weighted_threshold, _turn=turn)
