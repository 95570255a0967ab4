"""The k largest among values that stand for several equal columns each."""

from __future__ import annotations

import numpy as np

from naively._kernels.compiled import kernel
from naively._types import FloatArray, IntArray

_SAMPLE = 64  # values that bracket the threshold
_FEW = 4 * _SAMPLE  # so few values are not bracketed


@kernel
def weighted_threshold(values: FloatArray, sizes: IntArray, k: int) -> float:
    """Return the k-th largest value when value i occurs sizes[i] times; 1 <= k <= sum of sizes.

    Counting the weight above a value is a loop without branches, many times faster than moving
    values: a sample brackets the threshold, and only the values in between are partitioned. Only
    the value matters, so the result does not depend on the order of equal elements.
    """
    bracketed = len(values) > _FEW
    low, high, above = -1, _SAMPLE if bracketed else 0, 0
    sample = np.empty(_SAMPLE)
    if bracketed:
        _sorted_sample(values, sample)
    while high - low > 1:
        middle = (low + high) // 2
        weight = _weight_above(values, sizes, sample[middle])
        if weight >= k:
            low = middle
        else:
            high, above = middle, weight
    from_below = low < 0  # no sampled value on that side
    to_above = not bracketed or high == _SAMPLE
    least, most = sample[max(low, 0)], sample[min(high, _SAMPLE - 1)]
    inside, weights, n = np.empty(len(values)), np.empty(len(values), np.int64), 0
    for i in range(len(values)):
        inside[n], weights[n] = values[i], sizes[i]
        n += (from_below | (values[i] > least)) & (to_above | (values[i] <= most))
    return _quickselect(inside, weights, n, k - above)


@kernel
def _sorted_sample(values: FloatArray, sample: FloatArray) -> None:
    """Fill the sample with values at equal distances, ascending."""
    step = len(values) // len(sample)
    for i in range(len(sample)):
        at, value = i, values[i * step]
        while at > 0 and sample[at - 1] > value:
            sample[at] = sample[at - 1]
            at -= 1
        sample[at] = value


@kernel
def _weight_above(values: FloatArray, sizes: IntArray, limit: float) -> int:
    weight = 0
    for i in range(len(values)):
        weight += sizes[i] if values[i] > limit else 0
    return weight


@kernel
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


@kernel
def take_largest(values: FloatArray, sizes: IntArray, k: int, take: IntArray) -> float:
    """Fill `take` with how many of each value are among the k largest; returns the k-th largest.

    Equal values are taken in order. 0 <= k <= sum of sizes; returns the largest value if k = 0.
    """
    if k == 0:
        largest = values[0] if len(values) else 0.0
        for i in range(len(values)):
            take[i] = 0
            largest = max(largest, values[i])
        return largest
    threshold = weighted_threshold(values, sizes, k)
    missing = k
    for i in range(len(values)):
        take[i] = sizes[i] if values[i] > threshold else 0
        missing -= take[i]
    for i in range(len(values)):
        if values[i] == threshold:
            take[i] = min(sizes[i], missing)
            missing -= take[i]
    return threshold


@kernel
def contested(
    values: FloatArray, sizes: IntArray, take: IntArray, scale: FloatArray, rounding: float
) -> IntArray:
    """Places of values from the least taken to the largest left, to rounding; none if these part.

    Parameters
    ----------
    values, sizes : (d,)
    take : (d,) how many are taken of each
    scale : (d,) what errors are relative to
    rounding : twice this share of the scale is what two values may differ by and be equal
    """
    least, most, n = -1, -1, 0
    for i in range(len(values)):
        if take[i] > 0 and (least < 0 or values[i] < values[least]):
            least = i
        if take[i] < sizes[i] and (most < 0 or values[i] > values[most]):
            most = i
    low, high = np.inf, -np.inf
    if min(least, most) >= 0:
        slack = 2.0 * rounding * max(abs(scale[least]), abs(scale[most]))
        low, high = values[least] - slack, values[most] + slack
    found = np.empty(len(values) if low <= high else 0, np.int64)
    for i in range(len(values) if low <= high else 0):
        found[n] = i
        n += (values[i] >= low) & (values[i] <= high)
    return found[:n].copy()
