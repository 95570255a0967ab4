"""Weighted medians and dispersions of sorted segments, and what they need of a matrix.

A segment holds the values of one column in one class, ascending. Segment `s` of column `j` and
class `c` is `s = j * n_classes + c`; its values are `values[starts[s] : starts[s + 1]]`. The
weight of its first r + 1 values is `cumulative[cumulative_starts[s] + r]`, so that columns whose
rows have equal weights share one array. A sparse column carries its zeros as one value.

The median is that of Calafiore and Fracastoro (2019), proposition 2: the smallest value z with
W(z) >= W/2, or the midpoint to the next larger value where W(z) = W/2. Over all classes, a row
weighs its share of its class. Where sums of shares come close to one half they are compared in
exact arithmetic: `digits` holds the integers lcm(W_1, W_2, ...) / W_c in base 2**15, lowest first.
Without digits (weights that are no integers), sums within `tolerance` of one half are equal to it.
"""

from __future__ import annotations

import numpy as np

from naively._kernels.compiled import kernel, kernel_part, summing_kernel
from naively._types import Array, FloatArray, IntArray

DIGIT_BITS = 15
_LINE = 8  # values of a cache line
_FEW = 24  # values that are gone through one by one
_NEAR = 1e-9  # shares closer than this to one half are compared exactly


@kernel_part
def first_above(values: Array, first: int, last: int, limit: float) -> int:
    """Return the first position in [first, last) of a sorted array with a value > limit."""
    while first < last:
        middle = (first + last) // 2
        if values[middle] > limit:
            last = middle
        else:
            first = middle + 1
    return first


@kernel_part
def first_from(values: Array, first: int, last: int, limit: float) -> int:
    """Return the first position in [first, last) of a sorted array with a value >= limit."""
    while first < last:
        middle = (first + last) // 2
        if values[middle] >= limit:
            last = middle
        else:
            first = middle + 1
    return first


@kernel_part
def compare_exactly(below: FloatArray, digits: IntArray) -> int:
    """Return the sign of 2 sum_c below_c share_c - total, for integers `below` (C,).

    The digits of the total are the last row of `digits` (C + 1, D), those of share_c row c.
    """
    carry = 0
    highest = 0
    nonzero = False
    base = 1 << DIGIT_BITS
    for d in range(digits.shape[1]):
        carry -= digits[-1, d]
        for c in range(len(below)):
            carry += 2 * np.int64(below[c]) * digits[c, d]
        highest = carry >> DIGIT_BITS  # rounds towards minus infinity: the remainder is >= 0
        nonzero |= carry - highest * base != 0
        carry = highest
    if highest < 0:
        return -1
    return 1 if nonzero or highest > 0 else 0


@kernel_part
def compare_to_half(
    below: FloatArray, inverse: FloatArray, digits: IntArray, tolerance: float
) -> int:
    """Return the sign of sum_c (below_c / total_c - 1/2) over the classes with rows.

    `inverse` (C,) holds 1 / total_c, and 0 for classes without rows.
    """
    excess = 0.0
    for c in range(len(below)):
        excess += below[c] * inverse[c] - (0.5 if inverse[c] > 0 else 0.0)
    if abs(excess) <= _NEAR and digits.shape[1] > 0:
        return compare_exactly(below, digits)
    if abs(excess) <= tolerance:
        return 0
    return 1 if excess > 0 else -1


@kernel_part
def half_position(
    first: int, last: int, cumulative: FloatArray, shift: int, tolerance: float
) -> int:
    """First position of a segment at which the cumulative weight reaches one half."""
    half = 0.5 * cumulative[shift + last - first - 1] * (1 - tolerance)
    return first + first_from(cumulative, shift, shift + last - first - 1, half) - shift


@kernel_part
def segment_median(
    values: Array,
    position: int,
    first: int,
    last: int,
    cumulative: FloatArray,
    shift: int,
    tolerance: float,
) -> float:
    """Weighted median of values[first:last], given the position where the weight reaches half."""
    value = np.float64(values[position])
    total = cumulative[shift + last - first - 1]
    exceeds = 2 * cumulative[shift + position - first] > total * (1 + tolerance)
    if exceeds or position + 1 == last:
        return value
    return 0.5 * value + 0.5 * np.float64(values[position + 1])


@kernel_part
def weight_until(position: int, first: int, shift: int, cumulative: FloatArray) -> float:
    """Weight of the values of a segment before `position`."""
    return cumulative[shift + position - first - 1] if position > first else 0.0


@kernel_part
def first_from_near(values: Array, first: int, position: int, limit: float) -> int:
    """Return the first position in [first, position] with a value >= limit; most often close by.

    The value at `position` must be >= limit.
    """
    steps = 0
    while position > first and values[position - 1] >= limit:
        position -= 1
        steps += 1
        if steps == _FEW:
            return first_from(values, first, position, limit)
    return position


@kernel_part
def end_below_near(values: Array, position: int, last: int, limit: float) -> int:
    """Return the first position in [position, last] with a value >= limit; most often close by."""
    steps = 0
    while position < last and values[position] < limit:
        position += 1
        steps += 1
        if steps == _FEW:
            return first_from(values, position, last, limit)
    return position


@kernel_part
def count_candidates(low: IntArray, high: IntArray) -> int:
    """Return how many values lie in the ranges of all classes together."""
    candidates = 0
    for c in range(len(low)):
        candidates += high[c] - low[c]
    return candidates


@kernel_part
def middle_candidate(values: Array, low: IntArray, high: IntArray, candidates: int) -> float:
    """Return the middle of the range of the class that holds the middle one of all candidates."""
    seen = 0
    for c in range(len(low)):
        seen += high[c] - low[c]
        if 2 * seen >= candidates and high[c] > low[c]:
            return np.float64(values[(low[c] + high[c] - 1) // 2])
    return np.nan


@kernel_part
def cut_candidates(
    values: Array,
    starts: IntArray,
    cumulative: FloatArray,
    shifts: IntArray,
    s: int,
    inverse: FloatArray,
    digits: IntArray,
    tolerance: float,
    answer: float,
    low: IntArray,
    high: IntArray,
    ends: IntArray,
    below: FloatArray,
) -> float:
    """Halve the ranges of candidates until few are left; return the least value known to do."""
    candidates = count_candidates(low, high)
    while candidates > _FEW:
        pivot = middle_candidate(values, low, high, candidates)
        for c in range(len(low)):
            ends[c] = first_above(values, low[c], high[c], pivot)
            below[c] = weight_until(ends[c], starts[s + c], shifts[s + c], cumulative)
        if compare_to_half(below, inverse, digits, tolerance) >= 0:
            answer = pivot
            for c in range(len(low)):
                high[c] = first_from(values, low[c], ends[c], pivot)
        else:
            low[:] = ends
        candidates = count_candidates(low, high)
    return answer


@kernel_part
def walk_candidates(
    values: Array,
    starts: IntArray,
    cumulative: FloatArray,
    shifts: IntArray,
    s: int,
    inverse: FloatArray,
    digits: IntArray,
    tolerance: float,
    answer: float,
    low: IntArray,
    high: IntArray,
    below: FloatArray,
) -> float:
    """Go through the candidates in ascending order up to the first that will do, else `answer`."""
    excess = 0.0
    for c in range(len(low)):
        below[c] = weight_until(low[c], starts[s + c], shifts[s + c], cumulative)
        excess += below[c] * inverse[c] - (0.5 if inverse[c] > 0 else 0.0)
    while True:
        value, least = np.inf, 0
        for c in range(len(low)):
            if low[c] < high[c] and values[low[c]] < value:
                value, least = np.float64(values[low[c]]), c
        if value == np.inf:
            return answer
        weight = cumulative[shifts[s + least] + low[least] - starts[s + least]]
        excess += (weight - below[least]) * inverse[least]
        below[least] = weight
        low[least] += 1
        # Sums this far below one half need no exact comparison.
        if excess >= -_NEAR and compare_to_half(below, inverse, digits, tolerance) >= 0:
            return value


@kernel_part
def pooled_median(
    values: Array,
    starts: IntArray,
    cumulative: FloatArray,
    shifts: IntArray,
    s: int,
    inverse: FloatArray,
    digits: IntArray,
    tolerance: float,
    least: float,
    greatest: float,
    low: IntArray,
    high: IntArray,
    ends: IntArray,
    below: FloatArray,
) -> float:
    """Weighted median over all classes of the column of segment `s`, classes weighing the same.

    The smallest value that reaches one half lies between the smallest and the largest at which a
    class reaches its half, `least` and `greatest`; `low` (C) comes with the positions of these.
    `low`, `high`, `ends` and `below` (C) are scratch: the values of each class that may still be
    the answer are those in [low, high).
    """
    for c in range(len(low)):
        high[c] = end_below_near(values, low[c], starts[s + c + 1], greatest)
        low[c] = first_from_near(values, starts[s + c], low[c], least)
    answer = cut_candidates(
        values, starts, cumulative, shifts, s, inverse, digits, tolerance,
        greatest, low, high, ends, below,
    )  # fmt: skip
    answer = walk_candidates(
        values, starts, cumulative, shifts, s, inverse, digits, tolerance,
        answer, low, high, below,
    )  # fmt: skip
    following = np.inf
    for c in range(len(low)):
        end = low[c]
        if end < starts[s + c + 1] and values[end] == answer:
            end = first_above(values, end, starts[s + c + 1], answer)
        below[c] = weight_until(end, starts[s + c], shifts[s + c], cumulative)
        if end < starts[s + c + 1]:
            following = min(following, np.float64(values[end]))
    if following < np.inf and compare_to_half(below, inverse, digits, tolerance) == 0:
        return 0.5 * answer + 0.5 * following
    return answer


@kernel_part
def holds_nan(values: Array, starts: IntArray) -> bool:
    """Whether a segment from one of `starts` to the next holds NaN: it is sorted last."""
    for s in range(len(starts) - 1):
        if starts[s] < starts[s + 1] and np.isnan(values[starts[s + 1] - 1]):
            return True
    return False


@summing_kernel
def dispersions(
    values: Array,
    first: int,
    last: int,
    cumulative: FloatArray,
    shift: int,
    center: float,
    other: float,
) -> tuple[float, float]:
    """Weighted sums of |value - center| and of |value - other| over a segment."""
    if first == last:
        return 0.0, 0.0
    segment = values[first:last]
    until = cumulative[shift : shift + last - first]
    own = until[0] * abs(np.float64(segment[0]) - center)
    pooled = until[0] * abs(np.float64(segment[0]) - other)
    for r in range(np.uint64(1), np.uint64(len(segment))):
        w = until[r] - until[r - np.uint64(1)]
        value = np.float64(segment[r])
        own += w * abs(value - center)
        pooled += w * abs(value - other)
    return own, pooled


@kernel
def pooled_medians(
    values: Array,
    starts: IntArray,
    cumulative: FloatArray,
    cumulative_starts: IntArray,
    totals: FloatArray,
    digits: IntArray,
    tolerance: float,
    pooled: FloatArray,
) -> None:
    """Write the medians over all classes (columns,); NaN where a value is."""
    n_classes = len(totals)
    low = np.empty(n_classes, np.int64)
    high = np.empty(n_classes, np.int64)
    ends = np.empty(n_classes, np.int64)
    below = np.empty(n_classes)
    inverse = np.zeros(n_classes)
    for c in range(n_classes):
        if totals[c] > 0:
            inverse[c] = 1.0 / totals[c]
    for j in range(len(pooled)):
        s = j * n_classes
        if holds_nan(values, starts[s : s + n_classes + 1]):
            pooled[j] = np.nan  # a search among NaN need not end
            continue
        least, greatest = np.inf, -np.inf
        for c in range(n_classes):
            first, last, shift = starts[s + c], starts[s + c + 1], cumulative_starts[s + c]
            low[c] = first
            if first < last:
                low[c] = half_position(first, last, cumulative, shift, tolerance)
                least = min(least, np.float64(values[low[c]]))
                greatest = max(greatest, np.float64(values[low[c]]))
        pooled[j] = pooled_median(
            values, starts, cumulative, cumulative_starts, s, inverse, digits, tolerance,
            least, greatest, low, high, ends, below,
        )  # fmt: skip


@kernel
def pooled_medians_of_two(
    values: Array, starts: IntArray, needed: Array, pooled: FloatArray
) -> None:
    """Write the medians over two classes whose rows weigh the same (columns,), NaN apart.

    With i values of the first class and needed[i] of the second, one half is reached: at the larger
    of the last two of these. That is least where they cross, for one grows with i and one falls.
    """
    one = np.uint64(1)
    for j in range(len(pooled)):
        first = values[starts[2 * j] : starts[2 * j + 1]]
        second = values[starts[2 * j + 1] : starts[2 * j + 2]]
        n, n_other = np.uint64(len(first)), np.uint64(len(second))
        i, size = one, n
        while size > one:  # the least i with first[i - 1] >= second[needed[i] - 1] is one of `size`
            half = size >> one
            middle = i + half
            is_below = first[middle - one - one] < second[needed[middle - one] - one]
            i = middle if is_below else i  # without a branch, which could not be foretold
            size -= half
        value, other = np.float64(first[i - one]), np.float64(second[needed[i - one] - one])
        answer = value if value <= other else other
        i -= np.uint64(value > other)
        if n_other * i == (n_other - needed[i]) * n:  # one half, if none that follow are equal
            after = np.float64(first[i]) if i < n else np.inf
            after_other = np.float64(second[needed[i]]) if needed[i] < n_other else np.inf
            following = after if after < after_other else after_other
            if answer < following < np.inf:
                answer = 0.5 * answer + 0.5 * following
        pooled[j] = answer


@kernel
def segment_centers(
    values: Array,
    starts: IntArray,
    cumulative: FloatArray,
    cumulative_starts: IntArray,
    totals: FloatArray,
    tolerance: float,
    columns: IntArray,
    common: FloatArray,
    medians: FloatArray,
    spreads: FloatArray,
    pooled: FloatArray,
    pooled_spread: FloatArray,
) -> None:
    """Write medians and mean absolute deviations of the segments of `columns`.

    `medians` and `spreads` (C, m) are by class, `pooled` and `pooled_spread` (m,) over all
    classes: their medians `common` (columns,), and the sum over the classes of the mean absolute
    deviation from them. Deviations are NaN where a value is.
    """
    n_classes = len(totals)
    for b in range(len(columns)):
        j = columns[b]
        pooled[j] = common[b]
        pooled_spread[j] = 0.0
        for c in range(n_classes):
            s = b * n_classes + c
            first, last, shift = starts[s], starts[s + 1], cumulative_starts[s]
            if first == last:
                medians[c, j] = common[b]
                continue
            position = half_position(first, last, cumulative, shift, tolerance)
            medians[c, j] = segment_median(
                values, position, first, last, cumulative, shift, tolerance
            )
            own, other = dispersions(
                values, first, last, cumulative, shift, medians[c, j], common[b]
            )
            spreads[c, j] = own / totals[c]
            pooled_spread[j] += other / totals[c]


@kernel
def columns_dense(X: Array, order: IntArray, first: int, block: Array) -> None:
    """Copy the columns of X from `first` on, rows in the order given, to the rows of `block`.

    A few rows at a time: each row of the block lies in another page of memory, and the cache line
    that is written should be full before the next page is turned to.
    """
    n_rows = np.uint64(block.shape[1])
    for start in range(np.uint64(0), n_rows, np.uint64(_LINE)):
        stop = min(start + np.uint64(_LINE), n_rows)
        for b in range(np.uint64(block.shape[0])):
            for r in range(start, stop):
                block[b, r] = X[np.uint64(order[r]), np.uint64(first) + b]


@kernel
def signs_csr(
    data: Array,
    indices: Array,
    indptr: Array,
    codes: Array,
    weights: FloatArray,
    n_classes: int,
    first: int,
    last: int,
    signs: FloatArray,
) -> None:
    """Add lines [first, last) to signs[j * n_classes + c].

    Number of entries, weight below 0, weight above 0, weighted sum of absolute values.
    """
    width = np.uint64(n_classes)
    for i in range(first, last):
        w = weights[i]
        if w == 0:
            continue
        for position in range(indptr[i], indptr[i + 1]):
            cell = np.uint64(indices[position]) * width + np.uint64(codes[i])
            value = np.float64(data[position])
            signs[cell, 0] += value != 0
            signs[cell, 1] += w if value < 0 else 0.0
            signs[cell, 2] += w if value > 0 else 0.0
            signs[cell, 3] += w * abs(value)


@kernel
def signs_csc(
    data: Array,
    indices: Array,
    indptr: Array,
    codes: Array,
    weights: FloatArray,
    n_classes: int,
    first: int,
    last: int,
    signs: FloatArray,
) -> None:
    """Add lines [first, last) to signs[j * n_classes + c].

    Number of entries, weight below 0, weight above 0, weighted sum of absolute values.
    """
    for j in range(first, last):
        for position in range(indptr[j], indptr[j + 1]):
            i = np.uint64(indices[position])
            w = weights[i]
            if w == 0:
                continue
            cell = np.uint64(j * n_classes) + np.uint64(codes[i])
            value = np.float64(data[position])
            signs[cell, 0] += value != 0
            signs[cell, 1] += w if value < 0 else 0.0
            signs[cell, 2] += w if value > 0 else 0.0
            signs[cell, 3] += w * abs(value)


@kernel
def segments_csr(
    data: Array,
    indices: Array,
    indptr: Array,
    codes: Array,
    weights: FloatArray,
    slots: IntArray,
    n_classes: int,
    ends: IntArray,
    values: Array,
    value_weights: FloatArray,
) -> None:
    """Append the non-zeros of column j to the segments of slots[j], if that is not negative.

    `ends` holds the position behind each segment's values so far, and moves.
    """
    for i in range(len(codes)):
        w = weights[i]
        if w == 0:
            continue
        for position in range(indptr[i], indptr[i + 1]):
            slot = slots[np.uint64(indices[position])]
            if slot >= 0 and data[position] != 0:
                s = slot * n_classes + np.int64(codes[i])
                values[ends[s]] = data[position]
                value_weights[ends[s]] = w
                ends[s] += 1


@kernel
def segments_csc(
    data: Array,
    indices: Array,
    indptr: Array,
    codes: Array,
    weights: FloatArray,
    slots: IntArray,
    n_classes: int,
    ends: IntArray,
    values: Array,
    value_weights: FloatArray,
) -> None:
    """Append the non-zeros of column j to the segments of slots[j], if that is not negative.

    `ends` holds the position behind each segment's values so far, and moves.
    """
    for j in range(len(indptr) - 1):
        if slots[j] < 0:
            continue
        for position in range(indptr[j], indptr[j + 1]):
            i = np.uint64(indices[position])
            if weights[i] != 0 and data[position] != 0:
                s = slots[j] * n_classes + np.int64(codes[i])
                values[ends[s]] = data[position]
                value_weights[ends[s]] = weights[i]
                ends[s] += 1


@kernel
def accumulate_segments(starts: IntArray, weights: FloatArray) -> None:
    """Replace the weights of each segment by their running sums."""
    for s in range(len(starts) - 1):
        total = 0.0
        for position in range(starts[s], starts[s + 1]):
            total += weights[position]
            weights[position] = total
