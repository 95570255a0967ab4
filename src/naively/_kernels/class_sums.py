"""Sums of the values of each column within each class.

All kernels add to a flat table whose cell `j * n_classes + c` belongs to column j and class c:
the classes of one column are neighbours, so one entry of the data touches one cache line. They add
the entries of a cell in the order of the rows, whatever the layout. Values and indices have been
checked by the caller.

A table larger than the cache makes every addition a miss. Entries are then first partitioned into
buckets of neighbouring columns (`bucket_sizes`, `partition_*`), whose part of the table does fit,
and added bucket by bucket (`bucket_sums_*`). Within a bucket they keep the order of the rows.
Whole numbers that fit are packed with their cell into 32 bits, the cell in the low `cell_bits`.
"""

from __future__ import annotations

import numpy as np

from naively._kernels.compiled import kernel
from naively._kernels.prefetch import prefetch
from naively._types import Array, FloatArray

# Writing to hundreds of buckets at once defeats the hardware's own prefetching.
_AHEAD = np.uint64(32)


@kernel
def class_sums_csr(
    data: Array,
    indices: Array,
    indptr: Array,
    codes: Array,
    weights: FloatArray,
    n_classes: int,
    table: Array,
    totals: Array,
) -> None:
    """Add compressed rows to the table, and to `totals` their unweighted totals."""
    width = np.uint64(n_classes)
    for i in range(len(codes)):
        c = np.uint64(codes[i])
        w = table.dtype.type(weights[i]) if len(weights) else table.dtype.type(1)
        total = table.dtype.type(0)
        for position in range(np.uint64(indptr[i]), np.uint64(indptr[i + 1])):
            value = table.dtype.type(data[position])
            table[np.uint64(indices[position]) * width + c] += value * w
            total += value
        totals[i] += total


@kernel
def class_sums_csc(
    data: Array,
    indices: Array,
    indptr: Array,
    codes: Array,
    weights: FloatArray,
    n_classes: int,
    table: Array,
    totals: Array,
) -> None:
    """Add compressed columns to the table, and to `totals` the unweighted totals of the rows."""
    for j in range(len(indptr) - 1):
        cell = np.uint64(j * n_classes)
        for position in range(np.uint64(indptr[j]), np.uint64(indptr[j + 1])):
            i = np.uint64(indices[position])
            value = table.dtype.type(data[position])
            w = table.dtype.type(weights[i]) if len(weights) else table.dtype.type(1)
            table[cell + np.uint64(codes[i])] += value * w
            totals[i] += value


@kernel
def class_sums_dense(rows: Array, codes: Array, sums: Array) -> None:
    """Add dense rows to `sums` of shape (C, columns)."""
    for i in range(rows.shape[0]):
        row, target = rows[i], sums[codes[i]]
        for j in range(len(row)):
            target[j] += row[j]


@kernel
def bucket_sizes(indices: Array, shift: int, sizes: Array) -> None:
    """Add to `sizes` the number of entries of each bucket of `2**shift` neighbouring columns."""
    # Neighbouring entries often share a bucket; two counters halve the wait for one another.
    other = np.zeros_like(sizes)
    even = len(indices) // 2 * 2
    for position in range(0, even, 2):
        sizes[np.uint64(indices[position]) >> np.uint64(shift)] += 1
        other[np.uint64(indices[position + 1]) >> np.uint64(shift)] += 1
    for position in range(even, len(indices)):
        sizes[np.uint64(indices[position]) >> np.uint64(shift)] += 1
    sizes += other


@kernel
def partition_packed_csr(
    data: Array,
    indices: Array,
    indptr: Array,
    codes: Array,
    n_classes: int,
    shift: int,
    cell_bits: int,
    cursors: Array,
    packed: Array,
    totals: Array,
) -> None:
    """Append the entries of compressed rows to their buckets, cell and value in 32 bits."""
    width, column_bits = np.uint64(n_classes), np.uint64(shift)
    mask = np.uint64((1 << shift) - 1)
    for i in range(len(codes)):
        c = np.uint64(codes[i])
        total = np.int64(0)
        for position in range(np.uint64(indptr[i]), np.uint64(indptr[i + 1])):
            j = np.uint64(indices[position])
            value = np.int64(data[position])
            bucket = j >> column_bits
            target = cursors[bucket]
            cursors[bucket] = target + np.uint64(1)
            prefetch(packed, target + _AHEAD)
            cell = (j & mask) * width + c
            packed[target] = np.uint32(cell | (np.uint64(value) << np.uint64(cell_bits)))
            total += value
        totals[i] += total


@kernel
def bucket_sums_packed(
    packed: Array,
    starts: Array,
    first: int,
    last: int,
    origin: int,
    shift: int,
    cell_bits: int,
    n_classes: int,
    table: Array,
) -> None:
    """Add the packed entries of buckets `first` to `last` (excluded) to the table.

    The table begins with the first column of bucket `origin`.
    """
    mask = np.uint32((1 << cell_bits) - 1)
    value_shift = np.uint32(cell_bits)
    for bucket in range(first, last):
        base = np.uint64(((bucket - origin) << shift) * n_classes)
        for position in range(np.uint64(starts[bucket]), np.uint64(starts[bucket + 1])):
            entry = packed[position]
            table[base + np.uint64(entry & mask)] += np.int64(entry >> value_shift)


@kernel
def partition_wide_csr(
    data: Array,
    indices: Array,
    indptr: Array,
    codes: Array,
    weights: FloatArray,
    n_classes: int,
    shift: int,
    cursors: Array,
    cells: Array,
    values: Array,
    totals: Array,
) -> None:
    """Append the entries of compressed rows to their buckets, cells and values apart."""
    width, column_bits = np.uint64(n_classes), np.uint64(shift)
    mask = np.uint64((1 << shift) - 1)
    for i in range(len(codes)):
        c = np.uint64(codes[i])
        w = values.dtype.type(weights[i]) if len(weights) else values.dtype.type(1)
        total = values.dtype.type(0)
        for position in range(np.uint64(indptr[i]), np.uint64(indptr[i + 1])):
            j = np.uint64(indices[position])
            value = values.dtype.type(data[position])
            bucket = j >> column_bits
            target = cursors[bucket]
            cursors[bucket] = target + np.uint64(1)
            prefetch(cells, target + _AHEAD)
            prefetch(values, target + _AHEAD)
            cells[target] = np.uint32((j & mask) * width + c)
            values[target] = value * w
            total += value
        totals[i] += total


@kernel
def bucket_sums_wide(
    cells: Array,
    values: Array,
    starts: Array,
    first: int,
    last: int,
    origin: int,
    shift: int,
    n_classes: int,
    table: Array,
) -> None:
    """Add the entries of buckets `first` to `last` (excluded) to the table, as above."""
    for bucket in range(first, last):
        base = np.uint64(((bucket - origin) << shift) * n_classes)
        for position in range(np.uint64(starts[bucket]), np.uint64(starts[bucket + 1])):
            table[base + np.uint64(cells[position])] += values[position]


@kernel
def move_nonzero(table: Array, first_cell: int, cells: Array, values: Array) -> int:
    """Move what is not zero in a part of the table to `cells` and `values`; return how many.

    `first_cell` is the number of the part's first cell. The part becomes zero; its length must be a
    multiple of 8. `cells` and `values` need room for one more.
    """
    count = np.uint64(0)
    for start in range(np.uint64(0), np.uint64(len(table)), np.uint64(8)):
        found = False
        for cell in range(start, start + np.uint64(8)):
            found |= table[cell] != 0
        if not found:
            continue
        for cell in range(start, start + np.uint64(8)):
            value = table[cell]
            table[cell] = 0
            # Written in any case: a branch here would often be mispredicted.
            cells[count] = np.uint64(first_cell) + cell
            values[count] = value
            count += np.uint64(value != 0)
    return int(count)
