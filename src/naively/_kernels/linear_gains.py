"""Gains at given class shares, and sums over a selection, in a fixed order of summation.

Not left to BLAS: its result depends on its number of threads, and a matrix of two columns is a
stream of memory in any case.
"""

from __future__ import annotations

from naively._kernels.compiled import kernel
from naively._types import Array, FloatArray, IntArray

_BLOCK = 256  # terms added up before they join a sum


@kernel
def linear_gains(
    counts: FloatArray,
    entropy: FloatArray,
    alpha: FloatArray,
    log_a: FloatArray,
    sum_log_a: float,
    gains: FloatArray,
) -> None:
    """Write entropy_i - sum_c (counts_ic + alpha_i) log_a_c; alpha (1,) or (d,)."""
    d, n_classes = counts.shape
    for i in range(d):
        total = entropy[i]
        for c in range(n_classes):
            total -= counts[i, c] * log_a[c]
        gains[i] = total - sum_log_a * alpha[i if len(alpha) > 1 else 0]


@kernel
def taken_totals(counts: FloatArray, take: Array, totals: FloatArray) -> None:
    """Add sum_i take_i counts_ic to the totals (C,)."""
    d, n_classes = counts.shape
    for i in range(d):
        if take[i] != 0:
            for c in range(n_classes):
                totals[c] += take[i] * counts[i, c]


@kernel
def take_best(
    gains: FloatArray,
    size: IntArray,
    threshold: float,
    k: int,
    counts: FloatArray,
    entropy: FloatArray,
    alpha: FloatArray,
    take: IntArray,
    totals: FloatArray,
) -> tuple[float, float]:
    """Take the k columns of largest gain, equal ones in order, and add up what they are.

    Parameters
    ----------
    gains, size : ndarray of shape (d,)
        Gain of each group of equal columns, and how many there are.
    threshold : float
        The k-th largest gain.
    counts, entropy, alpha : ndarray of shape (d, C), (d,) and (1,) or (d,)
        What a column of each group adds up to.
    take : ndarray of shape (d,)
        Receives how many are taken of each group.
    totals : ndarray of shape (C,)
        Receives the sum of take_i counts_ic.

    Returns
    -------
    Sums of take_i entropy_i and take_i alpha_i.
    """
    d, n_classes = counts.shape
    left = k  # for groups at the threshold
    for i in range(d):
        left -= size[i] if gains[i] > threshold else 0
    for c in range(n_classes):
        totals[c] = 0.0
    value, smoothing = 0.0, 0.0
    value_here, smoothing_here = 0.0, 0.0
    for i in range(d):
        if i % _BLOCK == 0:  # sums of sums: thousands of terms lose digits
            value += value_here
            smoothing += smoothing_here
            value_here, smoothing_here = 0.0, 0.0
        n = 0
        if gains[i] > threshold:
            n = size[i]
        elif gains[i] == threshold and left > 0:
            n = size[i] if size[i] < left else left
            left -= n
        take[i] = n
        if n != 0:
            value_here += n * entropy[i]
            smoothing_here += n * alpha[i if len(alpha) > 1 else 0]
            for c in range(n_classes):
                totals[c] += n * counts[i, c]
    return value + value_here, smoothing + smoothing_here


@kernel
def linear_gains_csr(
    data: FloatArray,
    indices: Array,
    indptr: Array,
    entropy: FloatArray,
    log_a: FloatArray,
    gains: FloatArray,
) -> None:
    """As `linear_gains`, of the counts that are not zero."""
    for i in range(len(entropy)):
        total = 0.0
        for p in range(indptr[i], indptr[i + 1]):
            total += data[p] * log_a[indices[p]]
        gains[i] = entropy[i] - total


@kernel
def taken_totals_csr(
    data: FloatArray, indices: Array, indptr: Array, take: Array, totals: FloatArray
) -> None:
    """As `taken_totals`, of the counts that are not zero."""
    for i in range(len(take)):
        if take[i] != 0:
            for p in range(indptr[i], indptr[i + 1]):
                totals[indices[p]] += data[p] * take[i]
