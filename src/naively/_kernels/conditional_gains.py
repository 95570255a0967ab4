"""Features of presence in the order in which each adds most to those before it."""

from __future__ import annotations

import numpy as np

from naively._kernels.compiled import kernel, kernel_part
from naively._types import Array, FloatArray, IntArray


@kernel_part
def _x_log_x(x: float, logs: FloatArray) -> float:
    """Return x log x: from a table, if counts are whole."""
    if len(logs) > 0:
        return logs[int(x)]
    return x * np.log(x) if x > 0 else 0.0


@kernel_part
def _given(
    both: FloatArray, own: FloatArray, other: FloatArray, class_weight: FloatArray,
    logs: FloatArray, slack: float,
) -> float:  # fmt: skip
    """Return n I(x_i; y | x_j) in nats, from the weight of the rows of each class with i and j."""
    value = 0.0
    with_both, with_i, with_j, total = 0.0, 0.0, 0.0, 0.0
    for c in range(len(class_weight)):
        i_alone, j_alone = own[c] - both[c], other[c] - both[c]
        neither = max(class_weight[c] - other[c] - i_alone, 0.0)
        value += _x_log_x(both[c], logs) + _x_log_x(j_alone, logs)
        value += _x_log_x(i_alone, logs) + _x_log_x(neither, logs)
        value -= _x_log_x(other[c], logs) + _x_log_x(class_weight[c] - other[c], logs)
        with_both += both[c]
        with_i += own[c]
        with_j += other[c]
        total += class_weight[c]
    value -= _x_log_x(with_both, logs) + _x_log_x(with_j - with_both, logs)
    value -= _x_log_x(with_i - with_both, logs)
    value -= _x_log_x(max(total - with_j - with_i + with_both, 0.0), logs)
    value += _x_log_x(with_j, logs) + _x_log_x(total - with_j, logs)
    return value if value > slack else 0.0


@kernel_part
def _set_bits(indices: Array, start: int, stop: int, row: Array) -> None:
    for at in range(start, stop):
        r = indices[at]
        row[r >> 6] |= np.uint64(1) << np.uint64(r & 63)


@kernel_part
def _ones(word: int) -> int:
    """Count the bits that are set (a compiler knows an instruction for it)."""
    x = word - ((word >> np.uint64(1)) & np.uint64(0x5555555555555555))
    x = (x & np.uint64(0x3333333333333333)) + ((x >> np.uint64(2)) & np.uint64(0x3333333333333333))
    x = (x + (x >> np.uint64(4))) & np.uint64(0x0F0F0F0F0F0F0F0F)
    return (x * np.uint64(0x0101010101010101)) >> np.uint64(56)


@kernel_part
def _by_bits(own: Array, other: Array, words: IntArray, both: FloatArray) -> None:
    for c in range(len(both)):
        count = np.uint64(0)
        for w in range(words[c], words[c + 1]):
            count += _ones(own[w] & other[w])
        both[c] = count


@kernel_part
def _by_list(
    indices: Array, start: int, stop: int, other: Array, class_of: IntArray, weights: FloatArray,
    both: FloatArray,
) -> None:  # fmt: skip
    both[:] = 0.0
    for at in range(start, stop):
        r = indices[at]
        if (other[r >> 6] >> np.uint64(r & 63)) & np.uint64(1):
            both[class_of[r >> 6]] += weights[r] if len(weights) > 0 else 1.0


@kernel
def presence_order(
    indices: Array,
    indptr: Array,
    words: IntArray,
    weights: FloatArray,
    table: FloatArray,
    logs: FloatArray,
    class_weight: FloatArray,
    slack: float,
    scale: FloatArray,
    least: FloatArray,
    order: IntArray,
    added: FloatArray,
    by: IntArray,
) -> None:
    """Choose greedily the column whose smallest gain given one that is chosen is largest.

    The smallest gain over some of the chosen columns is a bound: a column whose bound is no larger
    than what another has reached need not be looked at (Fleuret 2004, section 4). Rows with two
    columns are counted by bits, or by those of the list of the one that are bits of the other,
    whichever is shorter.

    Parameters
    ----------
    indices, indptr
        Columns (m,) of presence: numbers of the rows in which each occurs. Rows stand class by
        class, and those of each class begin at a multiple of 64.
    words : (C + 1,)
        Where each class begins, in units of 64 rows.
    weights
        Weight of each number of a row; (0,): all 1.
    table : (m, C)
        Weight of the rows of each class with each column.
    logs : (n + 1,) or (0,)
        x log x of whole numbers, if all weights are 1.
    class_weight : (C,)
    slack
        Gains that differ by no more are equal: the first column is taken.
    scale : (m,)
        What a nat of information of a column is worth; inf, where it has none to be lost.
    least : (m,)
        Gains of the columns alone; becomes the bounds.
    order, added : (k,)
        Filled with the columns chosen, and what each adds.
    by : (m,)
        Filled with the place in the order of what leaves least to a column that would have come in
        by its gain alone; -1 for all others.
    """
    m, k, n_classes, n_words = len(least), len(order), len(class_weight), words[-1]
    alone = least.copy()
    class_of = np.empty(n_words, dtype=np.int64)
    for c in range(n_classes):
        class_of[words[c] : words[c + 1]] = c
    slot, n_slots = np.full(m, -1, dtype=np.int64), 0
    for i in range(m):
        if len(weights) == 0 and indptr[i + 1] - indptr[i] > n_words // 3:
            slot[i], n_slots = n_slots, n_slots + 1
    bits = np.zeros((n_slots, n_words), dtype=np.uint64)
    for i in range(m):
        if slot[i] >= 0:
            _set_bits(indices, indptr[i], indptr[i + 1], bits[slot[i]])
    chosen = np.zeros((k, n_words), dtype=np.uint64)
    seen, taken = np.zeros(m, dtype=np.int64), np.zeros(m, dtype=np.bool_)
    both = np.empty(n_classes)
    for t in range(k + 1):
        if t == k:  # what would have come in by its gain alone, and did not: who is to blame?
            for i in range(m):
                displaced = k > 0 and not taken[i] and alone[i] > added[k - 1] + slack
                by[i] = by[i] if displaced else -1
                taken[i] = not displaced
        bar, first = -1.0, 0
        for i in range(m):
            if not taken[i] and least[i] > bar:
                bar, first = least[i], i
        bar = -1.0
        # Once for the largest value, the most promising first; once more for the first that has it.
        for step in range(1 + (2 * m if t < k else m)):
            i, again = first if step == 0 else (step - 1) % m, step > m
            floor = bar - slack if again else bar
            if t == k:
                floor = -1.0
            if taken[i] or least[i] < floor or (least[i] <= floor and not again):
                continue
            while seen[i] < t and least[i] > floor:
                if scale[i] == np.inf:
                    seen[i] = t
                    break
                row = chosen[seen[i]]
                if slot[i] >= 0:
                    _by_bits(bits[slot[i]], row, words, both)
                else:
                    _by_list(indices, indptr[i], indptr[i + 1], row, class_of, weights, both)
                value = _given(both, table[i], table[order[seen[i]]], class_weight, logs, slack)
                value *= scale[i]
                if value < least[i] - slack:
                    by[i] = seen[i]
                least[i] = min(least[i], value)
                seen[i] += 1
            if seen[i] == t and again and least[i] >= floor:
                first = i
                break
            if seen[i] == t:
                bar = max(bar, least[i])
        if t == k:
            break
        order[t], added[t], taken[first] = first, least[first], True
        _set_bits(indices, indptr[first], indptr[first + 1], chosen[t])
