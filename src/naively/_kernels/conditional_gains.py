"""Features of presence in the order in which each adds most to those before it."""

from __future__ import annotations

from typing import Any

import numpy as np

from naively._kernels.compiled import kernel, kernel_part
from naively._types import Array, BoolArray, FloatArray, IntArray


@kernel_part
def _x_log_x(x: float, logs: FloatArray) -> float:
    """Return x log x: from a table, if counts are whole."""
    if len(logs) > 0:
        return float(logs[int(x)])
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
        with_j += other[c]
        total += class_weight[c]
        if own[c] == 0:  # the terms of the class cancel
            continue
        with_both += both[c]
        with_i += own[c]
        i_alone = own[c] - both[c]
        neither = max(class_weight[c] - other[c] - i_alone, 0.0)
        value += _x_log_x(i_alone, logs) + _x_log_x(neither, logs)
        value -= _x_log_x(class_weight[c] - other[c], logs)
        if both[c] > 0:
            value += _x_log_x(both[c], logs) + _x_log_x(other[c] - both[c], logs)
            value -= _x_log_x(other[c], logs)
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
def _ones(word: Any) -> Any:
    """Count the bits that are set (a compiler knows an instruction for it)."""
    x = word - ((word >> np.uint64(1)) & np.uint64(0x5555555555555555))
    x = (x & np.uint64(0x3333333333333333)) + ((x >> np.uint64(2)) & np.uint64(0x3333333333333333))
    x = (x + (x >> np.uint64(4))) & np.uint64(0x0F0F0F0F0F0F0F0F)
    return (x * np.uint64(0x0101010101010101)) >> np.uint64(56)


@kernel_part
def _by_bits(
    own: Array, other: Array, words: IntArray, most: FloatArray, both: FloatArray
) -> None:  # fmt: skip
    for c in range(len(both)):
        count = np.uint64(0)
        if most[c] > 0:
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


@kernel_part
def _lower(
    i: int, until: int, floor: float, slack: float,
    least: FloatArray, seen: IntArray, by: IntArray, order: IntArray,
    scale: FloatArray, table: FloatArray, class_weight: FloatArray, logs: FloatArray,
    columns: tuple[Array, ...], both: FloatArray,
) -> None:  # fmt: skip
    """Lower the bound of a column by the first chosen ones it has not seen, down to a floor."""
    indices, indptr, words, class_of, weights, slot, bits, chosen = columns
    if scale[i] == np.inf:
        seen[i] = until
    while seen[i] < until and least[i] > floor:
        t = seen[i]
        if slot[i] >= 0:
            _by_bits(bits[slot[i]], chosen[t], words, table[i], both)
        else:
            _by_list(indices, indptr[i], indptr[i + 1], chosen[t], class_of, weights, both)
        value = scale[i] * _given(both, table[i], table[order[t]], class_weight, logs, slack)
        if value < least[i] - slack:
            by[i] = t
        least[i] = min(least[i], value)
        seen[i] += 1


@kernel_part
def _class_of(words: IntArray) -> IntArray:
    class_of = np.empty(words[-1], dtype=np.int64)
    for c in range(len(words) - 1):
        class_of[words[c] : words[c + 1]] = c
    return class_of


@kernel_part
def _dense_columns(
    indices: Array, indptr: Array, n_words: int, slot: IntArray, most: int
) -> Array:  # fmt: skip
    """Bits of the columns that are longer lists than a row of bits; `slot` is where they are."""
    n_slots = 0
    for i in range(len(slot)):
        if indptr[i + 1] - indptr[i] > most:
            slot[i], n_slots = n_slots, n_slots + 1
    bits = np.zeros((n_slots, n_words), dtype=np.uint64)
    for i in range(len(slot)):
        if slot[i] >= 0:
            _set_bits(indices, indptr[i], indptr[i + 1], bits[slot[i]])
    return bits


@kernel
def presence_order(  # noqa: C901, PLR0915 (whose turn it is, and what is largest of these)
    indices: Array,
    indptr: Array,
    words: IntArray,
    weights: FloatArray,
    table: FloatArray,
    logs: FloatArray,
    class_weight: FloatArray,
    slack: float,
    scale: FloatArray,
    inside: BoolArray,
    speaks: IntArray,
    quota: int,
    n_spoken: int,
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
    inside : (m,)
        Columns that come before all others.
    speaks : (m,)
        Which of `n_spoken` classes each column speaks for.
    quota
        Until each has so many, or all of its columns, it is the turn of those that have fewest.
    least : (m,)
        Gains of the columns alone; becomes the bounds.
    order, added : (k,)
        Filled with the columns chosen, and what each adds.
    by : (m,)
        Filled with the place in the order of what leaves least to a column that would have come in
        by its gain alone; -1 for all others.
    """
    m, k, n_words = len(least), len(order), words[-1]
    class_of = _class_of(words)
    slot, both = np.full(m, -1, dtype=np.int64), np.empty(len(class_weight))
    most = n_words // 3 if len(weights) == 0 else len(indices)  # a word takes as long as 1/3 entry
    bits = _dense_columns(indices, indptr, n_words, slot, most)
    chosen = np.zeros((k, n_words), dtype=np.uint64)
    columns = (indices, indptr, words, class_of, weights, slot, bits, chosen)
    alone, n_inside = least.copy(), np.count_nonzero(inside)
    left = np.ones(m, dtype=np.bool_)
    has, has_left = np.zeros(n_spoken, dtype=np.int64), np.zeros(n_spoken, dtype=np.int64)
    for i in range(m):
        has_left[speaks[i]] += 1
    turn = np.empty(m, dtype=np.bool_)
    seen = np.zeros(m, dtype=np.int64)
    for t in range(k):
        fewest = quota
        for c in range(n_spoken):
            fewest = min(fewest, has[c]) if has_left[c] > 0 else fewest
        first, bar = -1, -1.0
        for i in range(m):
            turn[i] = left[i] and (inside[i] if t < n_inside else has[speaks[i]] <= fewest
                                   or fewest == quota)  # fmt: skip
            if turn[i] and least[i] > bar:
                first, bar = i, least[i]
        bar = -1.0
        for step in range(-1, m):  # the largest value; the most promising column tells most of it
            i = step if step >= 0 else first
            if turn[i] and least[i] > bar:
                _lower(i, t, bar, slack, least, seen, by, order, scale, table, class_weight, logs,
                       columns, both)  # fmt: skip
                bar = max(bar, least[i]) if seen[i] == t else bar
        first = -1
        for i in range(m):  # and the first column that has it
            if first < 0 and turn[i] and least[i] >= bar - slack:
                _lower(i, t, bar - slack, slack, least, seen, by, order, scale, table,
                       class_weight, logs, columns, both)  # fmt: skip
                first = i if seen[i] == t and least[i] >= bar - slack else first
        order[t], added[t], left[first] = first, least[first], False
        has[speaks[first]] += 1
        has_left[speaks[first]] -= 1
        _set_bits(indices, indptr[first], indptr[first + 1], chosen[t])
    for i in range(m):
        if k > 0 and left[i] and alone[i] > added[k - 1] + slack:
            _lower(i, k, -1.0, slack, least, seen, by, order, scale, table, class_weight, logs,
                   columns, both)  # fmt: skip
        else:
            by[i] = -1
