"""Gains at given class shares, and sums over a selection, in a fixed order of summation.

Not left to BLAS: its result depends on its number of threads, and a matrix of two columns is a
stream of memory in any case.
"""

from __future__ import annotations

import numpy as np

from naively._kernels.compiled import kernel
from naively._kernels.weighted_top import take_largest
from naively._types import Array, FloatArray, IntArray

_BLOCK = 256  # terms added up before they join a sum


@kernel
def linear_gains(counts: FloatArray, entropy: FloatArray, log_a: FloatArray) -> FloatArray:
    """entropy_i - sum_c counts_ic log_a_c: (d,)."""  # noqa: D403
    d, n_classes = counts.shape
    gains = np.empty(d)
    for i in range(d):
        total = entropy[i]
        for c in range(n_classes):
            total -= counts[i, c] * log_a[c]
        gains[i] = total
    return gains


@kernel
def taken_totals(counts: FloatArray, take: Array) -> FloatArray:
    """sum_i take_i counts_ic: (C,)."""  # noqa: D403
    d, n_classes = counts.shape
    totals = np.zeros(n_classes)
    for i in range(d):
        if take[i] != 0:
            for c in range(n_classes):
                totals[c] += take[i] * counts[i, c]
    return totals


@kernel
def best_selection(
    counts: FloatArray,
    entropy: FloatArray,
    alpha: FloatArray,
    sizes: IntArray,
    log_a: FloatArray,
    k: int,
    take: IntArray,
    totals: FloatArray,
) -> tuple[FloatArray, float, float]:
    """Select the k columns of largest gain; column i may be taken sizes[i] times.

    Parameters
    ----------
    counts : (d, C)
    entropy : (d,)
    alpha : (1,) or (d,) smoothing, added to the counts of each class
    sizes : (d,)
    log_a : (C,)
    k : at most the sum of the sizes
    take : (d,) receives how many of each
    totals : (C,) receives their smoothed counts

    Returns
    -------
    gains : (d,)
    threshold : smallest gain selected, see `take_largest`
    value : sum of the entropies selected
    """
    gains = linear_gains(counts, entropy, log_a)
    slope = 0.0
    for c in range(len(log_a)):
        slope += log_a[c]
    for i in range(len(gains)):
        gains[i] -= slope * alpha[i if len(alpha) > 1 else 0]
    threshold = take_largest(gains, sizes, k, take)
    value, smoothing = 0.0, 0.0
    for start in range(0, len(take), _BLOCK):  # sums of sums: thousands of terms lose digits
        value_here, smoothing_here = 0.0, 0.0
        for i in range(start, min(start + _BLOCK, len(take))):
            value_here += take[i] * entropy[i]
            smoothing_here += take[i] * alpha[i if len(alpha) > 1 else 0]
        value += value_here
        smoothing += smoothing_here
    summed = taken_totals(counts, take)
    for c in range(len(totals)):
        totals[c] = summed[c] + smoothing
    return gains, threshold, value


@kernel
def linear_gains_csr(
    data: FloatArray, indices: Array, indptr: Array, entropy: FloatArray, log_a: FloatArray
) -> FloatArray:
    """As `linear_gains`, of the counts that are not zero."""
    gains = np.empty(len(entropy))
    for i in range(len(entropy)):
        total = 0.0
        for p in range(indptr[i], indptr[i + 1]):
            total += data[p] * log_a[indices[p]]
        gains[i] = entropy[i] - total
    return gains


@kernel
def taken_totals_csr(
    data: FloatArray, indices: Array, indptr: Array, take: Array, n_classes: int
) -> FloatArray:
    """As `taken_totals`, of the counts that are not zero."""
    totals = np.zeros(n_classes)
    for i in range(len(take)):
        if take[i] != 0:
            for p in range(indptr[i], indptr[i + 1]):
                totals[indices[p]] += data[p] * take[i]
    return totals
