"""Which columns of a class-count table are equal: count the distinct ones, and find them again.

Pairs of counts below 256 (nearly all columns of any text) are counted in a direct 256 x 256 table
that stays in the cache; a column with a larger or a fractional count is a group of its own. Nothing
as long as the table is written.
"""

from __future__ import annotations

import numpy as np
from numba import uint64

from naively._kernels.compiled import kernel, kernel_part
from naively._types import Array, FloatArray, IntArray

SIDE = 256  # counts below this share the direct table of SIDE x SIDE cells


@kernel_part
def _cell(first: float, second: float) -> int:
    """Cell of a pair of non-negative counts, -1 if it has none."""
    if first < 256 and second < 256:
        row, column = int(first), int(second)
        if row == first and column == second:
            return row * 256 + column
    return -1


@kernel
def count_pairs(table: Array, start: int, stop: int, cells: IntArray, rest: IntArray) -> int:
    """Count the columns start..stop by cell; list the columns that have none.

    Parameters
    ----------
    table : (m, 2) non-negative
    start, stop : the range of columns
    cells : (SIDE * SIDE,) zeros on entry; number of columns by first count * SIDE + second count
    rest : receives the columns without a cell, ascending

    Returns
    -------
    How many columns have no cell; -1 if they do not fit in `rest` (`cells` is then incomplete).
    """
    n_rest = 0
    for j in range(uint64(start), uint64(stop)):
        cell = _cell(table[j, 0], table[j, 1])
        if cell >= 0:
            cells[uint64(cell)] += 1
            continue
        if n_rest == len(rest):
            return -1
        rest[n_rest] = j
        n_rest += 1
    return n_rest


@kernel
def label_pairs(
    table: Array,
    start: int,
    stop: int,
    group_of_cell: IntArray,
    first_rest: int,
    label: IntArray,
    out: IntArray,
) -> None:
    """Label the columns start..stop.

    Parameters
    ----------
    table, start, stop : as in `count_pairs`
    group_of_cell : (SIDE * SIDE,)
    first_rest : group of the first column of the range that has no cell; the others follow
    label : (d,) label of each group
    out : (stop - start,)
    """
    rest = first_rest
    for j in range(uint64(start), uint64(stop)):
        cell = _cell(table[j, 0], table[j, 1])
        if cell >= 0:
            group = group_of_cell[uint64(cell)]
        else:
            group = rest
            rest += 1
        out[j - uint64(start)] = label[uint64(group)]


@kernel
def groups_of_pairs(
    table: Array,
    start: int,
    stop: int,
    group_of_cell: IntArray,
    first_rest: int,
    columns: IntArray,
    out: IntArray,
) -> None:
    """Give the groups of some of the columns start..stop.

    Parameters
    ----------
    table, start, stop, group_of_cell, first_rest : as in `label_pairs`
    columns : (n,) ascending, of the range
    out : (n,)
    """
    rest, n = first_rest, 0
    for j in range(uint64(start), uint64(stop)):
        if n == len(columns):
            break
        cell = _cell(table[j, 0], table[j, 1])
        if uint64(columns[n]) == j:
            out[n] = group_of_cell[uint64(cell)] if cell >= 0 else rest
            n += 1
        rest += cell < 0


@kernel
def take_pairs(
    table: Array,
    start: int,
    stop: int,
    group_of_cell: IntArray,
    first_rest: int,
    label: IntArray,
    quota: IntArray,
    columns: IntArray,
    groups: IntArray,
) -> None:
    """List the first `quota[label]` columns of every label among the columns start..stop.

    Parameters
    ----------
    table, start, stop, group_of_cell, first_rest, label : as in `label_pairs`
    quota : how many columns of each label to take; used up on return
    columns, groups : (sum of quota,) receive the columns, ascending, and their groups
    """
    rest = first_rest
    n = 0
    for j in range(uint64(start), uint64(stop)):
        cell = _cell(table[j, 0], table[j, 1])
        if cell >= 0:
            group = group_of_cell[uint64(cell)]
        else:
            group = rest
            rest += 1
        of = uint64(label[uint64(group)])
        if quota[of] > 0:
            quota[of] -= 1
            columns[n] = j
            groups[n] = group
            n += 1


@kernel
def take_labelled(label: Array, quota: IntArray, columns: IntArray) -> None:
    """List the first `quota[label]` columns of every label.

    Parameters
    ----------
    label : (m,) label of each column
    quota : how many columns of each label to take; used up on return
    columns : (sum of quota,) receives the columns, ascending
    """
    n = 0
    for j in range(uint64(len(label))):
        of = uint64(label[j])
        if quota[of] > 0:
            quota[of] -= 1
            columns[n] = j
            n += 1


@kernel
def number_equal_rows(
    table: Array, per: FloatArray, limit: int, slots: Array, number: Array, first: IntArray
) -> int:
    """Give numbers to the distinct rows of the table, in order of first appearance.

    Rows are looked up in an open hash table. Rows whose sum exceeds `limit` repeat too rarely to be
    worth comparing and get a number of their own.

    Parameters
    ----------
    table : (m, C)
    per : (C,) by which counts of each class are multiplied to be about whole
    limit : largest row sum that is looked up
    slots : hash table, -1 everywhere; its length is a power of two, above 2 * m
    number : (m,) receives the number of each row
    first : (m,) receives the first row of each number

    Returns
    -------
    How many numbers were given.
    """
    m, n_classes = table.shape
    mask = uint64(len(slots) - 1)
    n_numbers = 0
    for i in range(m):
        key = uint64(1469598103934665603)
        total = 0.0
        for c in range(n_classes):
            value = float(table[i, c])
            if value != 0:
                value = value * per[c]
                total += value
                key = (key ^ uint64(value * 8191 + c)) * uint64(1099511628211)
                key ^= key >> uint64(29)
        found = -1
        if total <= limit:
            slot = key & mask
            while slots[slot] >= 0:
                other = first[slots[slot]]
                c = 0
                while c < n_classes and table[i, c] == table[other, c]:
                    c += 1
                if c == n_classes:
                    found = slots[slot]
                    break
                slot = (slot + uint64(1)) & mask
            if found < 0:
                slots[slot] = n_numbers
        if found < 0:
            found = n_numbers
            first[n_numbers] = i
            n_numbers += 1
        number[i] = found
    return n_numbers


@kernel
def number_equal_sparse_rows(
    starts: IntArray,
    codes: IntArray,
    values: Array,
    per: FloatArray,
    limit: int,
    slots: Array,
    number: Array,
    first: IntArray,
) -> int:
    """As `number_equal_rows`, of rows of which only the entries that are not zero are given.

    Parameters
    ----------
    starts : (m + 1,) where the entries of each row start
    codes, values : column, ascending within a row, and value of each entry
    per, limit : as above
    slots : hash table, -1 everywhere; its length is a power of two, above 2 * m
    number, first : (m,) receive the number of each row, and the first row of each number

    Returns
    -------
    How many numbers were given.
    """
    mask = uint64(len(slots) - 1)
    n_numbers = 0
    for i in range(len(number)):
        begin, length = starts[i], starts[i + 1] - starts[i]
        key = uint64(1469598103934665603)
        total = 0.0
        for k in range(begin, begin + length):
            value = values[k] * per[codes[k]]
            total += value
            key = (key ^ uint64(value * 8191 + codes[k])) * uint64(1099511628211)
            key ^= key >> uint64(29)
        found = -1
        if total <= limit:
            slot = key & mask
            while slots[slot] >= 0:
                other = starts[first[slots[slot]]]
                k = 0
                if starts[first[slots[slot]] + 1] - other == length:
                    while (
                        k < length
                        and values[begin + k] == values[other + k]
                        and codes[begin + k] == codes[other + k]
                    ):
                        k += 1
                    if k == length:
                        found = slots[slot]
                        break
                slot = (slot + uint64(1)) & mask
            if found < 0:
                slots[slot] = n_numbers
        if found < 0:
            found = n_numbers
            first[n_numbers] = i
            n_numbers += 1
        number[i] = found
    return n_numbers


@kernel
def nonzeros_of_rows(
    table: Array, rows: IntArray, indptr: IntArray, indices: Array, data: FloatArray
) -> None:
    """Write some rows of the table in compressed form.

    Parameters
    ----------
    table : (m, C)
    rows : (d,)
    indptr : (d + 1,) receives the row starts
    indices, data : receive the entries; if they are empty, the entries are only counted
    """
    n = 0
    for i in range(len(rows)):
        indptr[i] = n
        for c in range(table.shape[1]):
            value = table[rows[i], c]
            if value != 0:
                if len(data) > 0:
                    indices[n] = c
                    data[n] = value
                n += 1
    indptr[len(rows)] = n


@kernel
def first_positions(
    group: IntArray,
    pointer: IntArray,
    position: IntArray,
    change: IntArray,
    never: int,
    out: IntArray,
) -> None:
    """Position in a grid of k at which each column is in for the first time.

    Parameters
    ----------
    group : (m,) group of each column
    pointer : (d + 1,) where the changes of each group start
    position, change : grid position and number of columns of each change, ascending by group
    never : what to write for columns that are never in
    out : (m,)
    """
    d = len(pointer) - 1
    level = np.zeros(d, np.int64)  # columns in, after the changes up to `at`
    ready = np.zeros(d, np.int64)  # columns of the group seen so far
    at = pointer.copy()
    for j in range(len(group)):
        g = group[j]
        while at[g] < pointer[g + 1] and level[g] <= ready[g]:
            level[g] += change[at[g]]
            at[g] += 1
        out[j] = position[at[g] - 1] if level[g] > ready[g] else never
        ready[g] += 1
