"""The k largest among values that stand for several equal columns each."""

from __future__ import annotations

import numpy as np

from naively._kernels.compiled import kernel, kernel_part
from naively._types import FloatArray, IntArray

_SAMPLE = 64  # values that bracket the threshold
_FEW = 8 * _SAMPLE  # so few values are sorted


def weighted_threshold(values: FloatArray, sizes: IntArray, k: int) -> float:
    """Return the k-th largest value when value i occurs sizes[i] times; 1 <= k <= sum of sizes."""
    if len(values) > _FEW:
        return bracketed_threshold(values, sizes, k)
    order = np.argsort(values)[::-1]  # nothing has to be compiled for a few values
    return float(values[order[np.searchsorted(np.cumsum(sizes[order]), k)]])


@kernel
def bracketed_threshold(values: FloatArray, sizes: IntArray, k: int) -> float:
    """As `weighted_threshold`, in one pass over many values.

    Counting the weight above a value is a loop without branches, many times faster than moving
    values: a sample brackets the threshold, and only the values in between are partitioned. Only
    the value matters, so the result does not depend on the order of equal elements.
    """
    low, high, above = -1, _SAMPLE, 0
    sample = np.empty(_SAMPLE)
    _sorted_sample(values, sample)
    while high - low > 1:
        middle = (low + high) // 2
        weight = _weight_above(values, sizes, sample[middle])
        if weight >= k:
            low = middle
        else:
            high, above = middle, weight
    from_below, to_above = low < 0, high == _SAMPLE  # no sampled value on that side
    least, most = sample[max(low, 0)], sample[min(high, _SAMPLE - 1)]
    inside, weights, n = np.empty(len(values)), np.empty(len(values), np.int64), 0
    for i in range(len(values)):
        inside[n], weights[n] = values[i], sizes[i]
        n += (from_below | (values[i] > least)) & (to_above | (values[i] <= most))
    return _quickselect(inside, weights, n, k - above)


@kernel_part
def _sorted_sample(values: FloatArray, sample: FloatArray) -> None:
    """Fill the sample with values at equal distances, ascending."""
    step = len(values) // len(sample)
    for i in range(len(sample)):
        at, value = i, values[i * step]
        while at > 0 and sample[at - 1] > value:
            sample[at] = sample[at - 1]
            at -= 1
        sample[at] = value


@kernel_part
def _weight_above(values: FloatArray, sizes: IntArray, limit: float) -> int:
    weight = 0
    for i in range(len(values)):
        weight += sizes[i] if values[i] > limit else 0
    return weight


@kernel_part
def _quickselect(v: FloatArray, w: IntArray, n: int, k: int) -> float:
    """k-th largest of the first n, v[i] occurring w[i] times; reorders both."""  # noqa: D403
    low, high, missing = 0, n, k
    while True:
        a, b, c = v[low], v[(low + high) // 2], v[high - 1]
        pivot = max(min(a, b), min(max(a, b), c))
        larger, i, smaller = low, low, high
        w_larger = w_equal = 0
        while i < smaller:
            if v[i] > pivot:
                v[i], v[larger] = v[larger], v[i]
                w[i], w[larger] = w[larger], w[i]
                w_larger += w[larger]
                larger += 1
                i += 1
            elif v[i] < pivot:
                smaller -= 1
                v[i], v[smaller] = v[smaller], v[i]
                w[i], w[smaller] = w[smaller], w[i]
            else:
                w_equal += w[i]
                i += 1
        if missing <= w_larger:
            high = larger
        elif missing <= w_larger + w_equal:
            return float(pivot)
        else:
            missing -= w_larger + w_equal
            low = smaller


def take_largest(values: FloatArray, sizes: IntArray, k: int, take: IntArray) -> float:
    """Fill `take` with how many of each value are among the k largest; returns the k-th largest.

    Equal values are taken in order. 0 <= k <= sum of sizes; returns the largest value if k = 0.
    """
    if k == 0:
        take[:] = 0
        return float(values.max()) if len(values) else 0.0
    threshold = weighted_threshold(values, sizes, k)
    np.multiply(sizes, values > threshold, out=take)
    equal = np.flatnonzero(values == threshold)
    size = sizes[equal]
    left = k - take.sum() - (np.cumsum(size) - size)
    take[equal] = np.minimum(np.maximum(left, 0), size)
    return threshold
