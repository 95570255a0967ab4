"""Sums per (column, class): of identifiers into a dense table, of anything into a hash table.

The hash table serves where the dense one would be mostly zeros: a cell is a key
`column * n_classes + class`, and only cells that occur take memory. Cells are added to in the order
of the rows. `keys` holds key + 1, and 0 where free; its length is a power of two.
"""

from __future__ import annotations

import numpy as np

from naively._kernels.compiled import kernel
from naively._kernels.prefetch import prefetch
from naively._types import Array, IntArray

_SPREAD = np.uint64(0x9E3779B97F4A7C15)
_HALF = np.uint64(32)
_ONE = np.uint64(1)
WINDOW = 64  # cells that are on their way at a time


@kernel
def distinct_ids(ids: Array, ends: IntArray, stamps: IntArray, stamp: int, kept: Array) -> None:
    """Write each identifier once per row, and the new row ends over the old.

    `stamps` remembers the row at which each identifier was last seen; rows are `stamp` + i.
    """
    written = begin = 0
    for i in range(len(ends)):
        for position in range(begin, ends[i]):
            prefetch(stamps, ids[min(position + WINDOW, len(ids) - 1)])
            if stamps[ids[position]] != stamp + i:
                stamps[ids[position]] = stamp + i
                kept[written] = ids[position]
                written += 1
        begin = ends[i]
        ends[i] = written


@kernel
def count_ids(
    ids: Array, ends: IntArray, codes: Array, n_classes: int, table: Array, window: Array
) -> None:
    """Count identifiers by class in a flat dense table; `window` has room for WINDOW cells."""
    begin = 0
    width, last = np.uint64(n_classes), np.uint64(WINDOW - 1)
    for i in range(len(ends)):
        c = np.uint64(codes[i])
        for position in range(begin, ends[i]):
            slot = np.uint64(position) & last
            if position >= WINDOW:
                table[window[slot]] += 1
            window[slot] = np.uint64(ids[position]) * width + c
            prefetch(table, window[slot])
        begin = ends[i]
    for left in range(min(begin, WINDOW)):
        table[window[left]] += 1


@kernel
def add_rows(counts: Array, columns: IntArray, order: IntArray, table: IntArray) -> None:
    """Add row i of `counts` to row columns[i] of the table, entry c to entry order[c]."""
    for i in range(len(columns)):
        row = columns[i]
        for c in range(len(order)):
            count = counts[i, c]
            if count != 0:
                table[row, order[c]] += np.int64(count)


@kernel
def add_cells(
    columns: Array,
    values: Array,
    ends: IntArray,
    codes: Array,
    n_classes: int,
    first_row: int,
    keys: Array,
    sums: Array,
    used: IntArray,
) -> int:
    """Add the entries of each row to their cells; return the row reached.

    No `values` (length 0) means ones. Stops when the table might become fuller than half.
    """
    mask = np.uint64(len(keys) - 1)
    width = np.uint64(n_classes)
    n_cells = used[0]
    for i in range(first_row, len(ends)):
        begin = ends[i - 1] if i else 0
        if (n_cells + ends[i] - begin) * 2 > len(keys):
            used[0] = n_cells
            return i
        for position in range(begin, ends[i]):
            key = np.uint64(columns[position]) * width + np.uint64(codes[i]) + _ONE
            h = key * _SPREAD
            slot = (h ^ (h >> _HALF)) & mask
            while keys[slot] != key and keys[slot] != 0:
                slot = (slot + _ONE) & mask
            if keys[slot] == 0:
                keys[slot] = key
                n_cells += 1
            value = sums.dtype.type(values[position]) if len(values) else sums.dtype.type(1)
            sums[slot] += value
    used[0] = n_cells
    return len(ends)


@kernel
def move_cells(old_keys: Array, old_sums: Array, keys: Array, sums: Array) -> None:
    """Enter the cells of one table into a larger, empty one."""
    mask = np.uint64(len(keys) - 1)
    for old in range(len(old_keys)):
        if old_keys[old] == 0:
            continue
        h = old_keys[old] * _SPREAD
        slot = (h ^ (h >> _HALF)) & mask
        while keys[slot] != 0:
            slot = (slot + _ONE) & mask
        keys[slot] = old_keys[old]
        sums[slot] = old_sums[old]


@kernel
def renumber(indices: Array, slots: Array, columns: IntArray, numbers: Array) -> int:
    """Write numbers for indices in order of first occurrence; return how many are distinct.

    `slots` is an empty table of numbers + 1, a power of two above the number of indices;
    `columns[number]` receives the index, `numbers` the number of each index.
    """
    mask = np.uint64(len(slots) - 1)
    n_columns = 0
    for position in range(len(indices)):
        column = np.int64(indices[position])
        h = np.uint64(column) * _SPREAD
        slot = (h ^ (h >> _HALF)) & mask
        while slots[slot] and columns[slots[slot] - 1] != column:
            slot = (slot + _ONE) & mask
        if slots[slot] == 0:
            columns[n_columns] = column
            n_columns += 1
            slots[slot] = n_columns
        numbers[position] = slots[slot] - 1
    return n_columns
