"""The k largest among values that stand for several equal columns each."""

from __future__ import annotations

from naively._types import FloatArray, IntArray
from naively.kernels.compiled import kernel


@kernel
def weighted_threshold(values: FloatArray, sizes: IntArray, k: int) -> float:
    """Return the k-th largest value when value i occurs sizes[i] times; 1 <= k <= sum of sizes.

    Quickselect with a three-way partition. Only the value matters, so the result does not depend
    on the order of equal elements.
    """
    v, w = values.copy(), sizes.copy()
    low, high, missing = 0, len(v), k
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

    Equal values are taken in order. 1 <= k <= sum of sizes.
    """
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
