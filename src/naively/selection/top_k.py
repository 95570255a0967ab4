"""The k largest gains, with ties broken by the lowest index.

Gains that are equal in theory differ in their last digits in practice. Two gains are a tie if they
differ by no more than `TIE_TOLERANCE` of themselves, or than the rounding errors that their family
states for both of them; so are gains connected by a chain of such steps. What other columns gain
has no part in it: a column in bytes does not make equal what tells classes apart. Ties go to the
lowest index first. Nothing here depends on the order in which a library happens to leave equal
elements: values are compared, positions never.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import TypeAlias

import numpy as np

from naively._types import FloatArray, IntArray

TIE_TOLERANCE = 1e-12

Rounding: TypeAlias = Callable[[IntArray, FloatArray], FloatArray]


def exact(columns: IntArray, gain: FloatArray) -> FloatArray:
    """Return the errors of gains that are off by a few digits at most: none to speak of."""
    return np.zeros(len(columns))


def gain_order(gain: FloatArray, rounding: Rounding = exact) -> IntArray:
    """All columns, best first: the best k are the first k, for every k.

    Parameters
    ----------
    gain : (m,)
        Gains; +inf is allowed.
    rounding : callable
        By how much rounding may have changed some of them: columns, their gains -> errors.

    Returns
    -------
    (m,) permutation of the columns.
    """
    order = np.argsort(-gain, kind="stable")
    rank = tie_class(gain[order], rounding(order, gain[order]))
    return order[np.lexsort((order, rank))].astype(np.int64)


def top_k(gain: FloatArray, k: int, rounding: Rounding = exact) -> IntArray:
    """Columns of the k largest gains (all, if there are fewer), ascending; O(m).

    Parameters
    ----------
    gain : (m,)
        Gains; +inf is allowed.
    k : int
        How many, >= 0.
    rounding : callable
        As in :func:`gain_order`.

    Returns
    -------
    (min(k, m),) ascending indices: the first k of :func:`gain_order`, as a set.
    """
    m = len(gain)
    if k >= m:
        return np.arange(m, dtype=np.int64)
    if k <= 0:
        return np.empty(0, dtype=np.int64)
    threshold = float(np.partition(gain, m - k)[m - k])
    lowest, highest = tied_interval(gain, threshold, rounding)
    certain = gain > highest
    tied = np.flatnonzero((gain >= lowest) & ~certain)
    certain[tied[: k - np.count_nonzero(certain)]] = True
    return np.flatnonzero(certain).astype(np.int64)


def tie_class(descending: FloatArray, error: FloatArray) -> IntArray:
    """Give each of the gains, which come in descending order, the number of its tie class."""
    new = np.zeros(len(descending), dtype=np.int64)
    upper, lower = descending[:-1], descending[1:]
    # The smaller of the two errors: one gain that is uncertain must not connect two that are not.
    step = _step(lower, np.minimum(error[:-1], error[1:]))
    with np.errstate(invalid="ignore"):  # inf - inf: equal, hence a tie
        new[1:] = upper - lower > step
    return np.cumsum(new)


def _step(gain: FloatArray, error: FloatArray) -> FloatArray:
    """Largest distance to the next gain above that is still a tie."""
    return np.asarray(TIE_TOLERANCE * np.abs(gain) + 2.0 * error)


def tied_interval(gain: FloatArray, threshold: float, rounding: Rounding) -> tuple[float, float]:
    """Smallest and largest gain tied with `threshold`, which is one of the gains."""
    if not np.isfinite(threshold):
        return threshold, threshold
    reach = 16 * TIE_TOLERANCE * abs(threshold)
    while True:
        near = np.flatnonzero(np.abs(gain - threshold) <= reach)
        near = near[np.argsort(-gain[near], kind="stable")]
        here = gain[near]
        error = rounding(near, here)
        label = tie_class(here, error)
        tied = np.flatnonzero(label == label[np.argmax(here == threshold)])
        highest, lowest = here[tied[0]], here[tied[-1]]
        # As far as the next gain on either side could be and still be a tie.
        end = highest + _step(highest, error[tied[0]])
        start = lowest - _step(lowest, error[tied[-1]])
        if max(end - threshold, threshold - start) <= reach:
            return float(lowest), float(highest)
        reach = 16 * float(max(end - threshold, threshold - start))
