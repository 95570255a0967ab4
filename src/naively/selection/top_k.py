"""The k largest gains, with ties broken by the lowest index.

Gains that are equal in theory differ in their last digits in practice, so values within
`TIE_TOLERANCE` times the largest finite gain are ties, and so are values connected by a chain of
such steps. Ties go to the lowest index first. Nothing here depends on the order in which a library
happens to leave equal elements: values are compared, positions never.
"""

from __future__ import annotations

import numpy as np

from naively._types import FloatArray, IntArray

TIE_TOLERANCE = 1e-12


def gain_order(gain: FloatArray) -> IntArray:
    """All columns, best first: the best k are the first k, for every k.

    Parameters
    ----------
    gain : (m,)
        Gains; +inf is allowed.

    Returns
    -------
    (m,) permutation of the columns.
    """
    order = np.argsort(-gain, kind="stable")
    rank = tie_class(gain[order], tie_step(gain))
    return order[np.lexsort((order, rank))].astype(np.int64)


def top_k(gain: FloatArray, k: int) -> IntArray:
    """Columns of the k largest gains (all, if there are fewer), ascending; O(m).

    Parameters
    ----------
    gain : (m,)
        Gains; +inf is allowed.
    k : int
        How many, >= 0.

    Returns
    -------
    (min(k, m),) ascending indices: the first k of :func:`gain_order`, as a set.
    """
    m = len(gain)
    if k >= m:
        return np.arange(m, dtype=np.int64)
    if k <= 0:
        return np.empty(0, dtype=np.int64)
    lowest, highest = tied_interval(gain, np.partition(gain, m - k)[m - k], tie_step(gain))
    certain = gain > highest
    tied = np.flatnonzero((gain >= lowest) & ~certain)
    certain[tied[: k - np.count_nonzero(certain)]] = True
    return np.flatnonzero(certain).astype(np.int64)


def tie_step(gain: FloatArray) -> float:
    """Largest difference between two gains that still count as equal."""
    finite = gain[np.isfinite(gain)]
    return TIE_TOLERANCE * float(np.max(np.abs(finite))) if len(finite) else 0.0


def tie_class(descending: FloatArray, step: float) -> IntArray:
    """Give each of the gains, which come in descending order, the number of its tie class."""
    new = np.zeros(len(descending), dtype=np.int64)
    with np.errstate(invalid="ignore"):  # inf - inf: equal, hence a tie
        new[1:] = descending[:-1] - descending[1:] > step
    return np.cumsum(new)


def tied_interval(gain: FloatArray, threshold: float, step: float) -> tuple[float, float]:
    """Smallest and largest gain tied with `threshold`, which is one of the gains."""
    if not np.isfinite(threshold):
        return threshold, threshold
    reach = 16 * step
    while True:
        near = np.sort(gain[np.abs(gain - threshold) <= reach])
        start = np.searchsorted(near, threshold)
        jumps = np.flatnonzero(np.diff(near) > step)
        below, above = jumps[jumps < start], jumps[jumps >= start]
        lowest = near[below[-1] + 1] if len(below) else near[0]
        highest = near[above[0]] if len(above) else near[-1]
        if step == 0 or max(threshold - lowest, highest - threshold) <= reach - step:
            return float(lowest), float(highest)
        reach *= 16
