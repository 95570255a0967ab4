"""Class sums without a detour: every entry is added where it belongs.

Work is divided by the shape of the data, never by the number of threads, or else so that the order
of additions within a cell does not depend on it: results are equal bit for bit for any number.
"""

from __future__ import annotations

import numpy as np

from naively._kernels import class_sums as kernels
from naively._kernels.compiled import read_only
from naively._types import Array
from naively.statistics.source import Source, Span, shares
from naively.statistics.threads import in_threads, n_threads

_MOST_PARTS = 8  # largest number of threads that independent partial sums can occupy
_GROUP_ENTRIES = 1 << 19  # rows of fewer entries are not worth a second table
_STRIP_CELLS = 1 << 15  # partial sums of dense columns: 256 KB
_DENSE_BLOCK = 1 << 16  # dense values converted at a time
_DENSE_GROUP_ENTRIES = 1 << 21


def sums_of_rows(source: Source) -> tuple[Array, Array]:
    """Add each entry where it belongs; groups of rows have tables of their own."""
    totals = np.zeros(source.n_rows, source.dtype)

    def add(rows: Span) -> Array:
        table = np.zeros(source.n_cells, source.dtype)
        for block in source.blocks(rows):
            kernels.class_sums_csr(
                block.data,
                block.indices,
                block.indptr,
                source.codes[block.lines],
                source.weights_of(block.lines),
                source.n_classes,
                table,
                totals[block.lines],
            )
        return table

    table, *others = in_threads(add, source.row_chunks(_n_groups(source)))
    for other in others:
        table += other
    return table.reshape(source.shape), totals


def _n_groups(source: Source) -> int:
    """Return how many tables to fill side by side."""
    if source.dtype.kind == "i":  # sums are the same in any order
        return min(n_threads(), source.n_entries // max(source.n_cells, _GROUP_ENTRIES) + 1)
    # The same for any number of threads, so few that one thread loses little.
    return min(_MOST_PARTS, source.n_entries // max(8 * source.n_cells, _GROUP_ENTRIES) + 1)


def sums_of_columns(source: Source) -> tuple[Array, Array]:
    """Fill the table in order; parts of the columns have row totals of their own."""
    table = np.zeros(source.n_cells, source.dtype)

    def add(columns: Span) -> Array:
        totals = np.zeros(source.n_rows, source.dtype)
        for block in source.blocks(columns):
            cells = slice(block.lines.start * source.n_classes, block.lines.stop * source.n_classes)
            kernels.class_sums_csc(
                block.data,
                block.indices,
                block.indptr,
                source.codes,
                source.weights,
                source.n_classes,
                table[cells],
                totals,
            )
        return totals

    room = max(source.n_cells // (2 * source.n_rows + 1), 1)
    n_parts = min(source.n_entries // _GROUP_ENTRIES + 1, room, _MOST_PARTS)
    parts = shares(source.matrix.indptr, (0, source.n_columns), n_parts)
    totals, *others = in_threads(add, parts)
    for other in others:
        totals += other
    return table.reshape(source.shape), totals


def sums_of_dense(source: Source) -> tuple[Array, Array]:
    """Sum strips of columns, narrow enough for the sums of all classes to stay in the cache."""
    totals = np.zeros(source.n_rows, source.dtype)
    width, height = _dense_block(source)

    def add(group: Span) -> Array:
        table = np.zeros((source.n_columns, source.n_classes), source.dtype)
        for first in range(0, source.n_columns, width):
            columns = slice(first, min(first + width, source.n_columns))
            sums = np.zeros((source.n_classes, columns.stop - first), source.dtype)
            for start in range(*group, height):
                rows = slice(start, min(start + height, group[1]))
                _add_dense(source, rows, columns, sums, totals)
            table[columns] = sums.T
        return table

    # As many for any number of threads; rows of a group outnumber the rows of its table.
    n_groups = min(
        source.n_rows // (4 * max(source.n_classes, 1)) + 1,
        source.n_entries // _DENSE_GROUP_ENTRIES + 1,
        _MOST_PARTS,
    )
    bounds = np.linspace(0, source.n_rows, n_groups + 1).astype(int).tolist()
    table, *others = in_threads(add, zip(bounds[:-1], bounds[1:], strict=True))
    for other in others:
        table += other
    return table, totals


def _dense_block(source: Source) -> tuple[int, int]:
    """Width and height of the blocks in which dense values are converted."""
    width = max(_STRIP_CELLS // max(source.n_classes, 1), 64)
    row_stride, column_stride = source.matrix.strides
    if abs(row_stride) < abs(column_stride):  # columns are contiguous: transpose square blocks
        width = min(width, 1 << (_DENSE_BLOCK.bit_length() // 2))
    width = max(min(width, source.n_columns), 1)
    return width, max(_DENSE_BLOCK // width, 1)


def _add_dense(source: Source, rows: slice, columns: slice, sums: Array, totals: Array) -> None:
    addends = source.addends(source.matrix[rows, columns])
    with np.errstate(over="ignore"):  # an infinite total is reported with its reason
        totals[rows] += addends.sum(axis=1)
        if len(source.weights):
            addends = addends * source.weights[rows, None]
    kernels.class_sums_dense(read_only(addends), source.codes[rows], sums)
