"""Counting more columns than a dense class table holds.

Entries are partitioned by ranges of columns; each range is counted in a small dense table, of which
the cells that are not zero are kept. Where hardly any column occurs, rows are taken some million
entries at a time instead; within such a block the columns that occur are numbered, counted in a
small dense table by the same code as always, and kept as sparse cells.
"""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np
import scipy.sparse as sp

from naively._kernels.cells import renumber
from naively._types import Array, FloatArray
from naively.statistics.buckets import nonzero_sums_by_buckets
from naively.statistics.matrix import Matrix, is_sparse
from naively.statistics.source import Quantity, counted, examined, source_of
from naively.statistics.sparse_table import SparseTable
from naively.statistics.tally import tally

_MOST_CELLS = 256  # an entry, for a pass over all cells to pay
_BLOCK = 1 << 22  # entries counted at a time
_PARTS = 8  # sparse parts kept before they are added up


def tally_wide(
    matrix: Matrix, codes: Array, weights: FloatArray | None, n_classes: int, quantity: Quantity
) -> tuple[SparseTable, Array]:
    """Sum the rows of a matrix by class, keeping only the sums that are not zero.

    Parameters and totals are those of `tally`. Whole numbers give the same sums as there; real
    numbers are added in the order of the rows within a block of entries, then by block.
    """
    shape = (matrix.shape[1], n_classes)
    matrix = matrix.tocsr() if is_sparse(matrix) else matrix
    if is_sparse(matrix) and shape[0] * n_classes <= _MOST_CELLS * len(matrix.data):
        source = source_of(matrix, codes, weights, n_classes, quantity)
        (cells, values), totals = counted(source, nonzero_sums_by_buckets)
        return SparseTable(shape, cells, values), totals
    return _tally_blocks(matrix, codes, weights, n_classes, quantity)


def _tally_blocks(
    matrix: Matrix, codes: Array, weights: FloatArray | None, n_classes: int, quantity: Quantity
) -> tuple[SparseTable, Array]:
    shape = (matrix.shape[1], n_classes)
    parts: list[SparseTable] = []
    totals = []
    try:
        for rows, block in _row_blocks(matrix):
            part_weights = None if weights is None else weights[rows]
            part, total = _tally_block(block, codes[rows], part_weights, n_classes, quantity)
            parts.append(part)
            totals.append(total)
            if len(parts) == _PARTS:
                parts = [SparseTable.total(parts)]
    except ValueError:
        # Names the place in the whole matrix, not in the block.
        examined(source_of(matrix, codes, weights, n_classes, quantity))
        raise
    whole = quantity.is_whole(matrix)
    sum_type = np.int64 if whole and weights is None else np.float64
    nothing = SparseTable.of(shape, np.empty(0, np.int64), np.empty(0, sum_type))
    total_type = np.int64 if whole and weights is None else np.float64
    return SparseTable.total([nothing, *parts]), np.concatenate(
        [np.empty(0, dtype=total_type), *totals]
    )


def _tally_block(
    block: Matrix, codes: Array, weights: FloatArray | None, n_classes: int, quantity: Quantity
) -> tuple[SparseTable, Array]:
    columns = np.empty(len(block.indices), dtype=np.int64)
    numbers = np.empty(len(block.indices), dtype=np.int64)
    slots = np.zeros(1 << (2 * len(numbers)).bit_length(), dtype=np.uint32)
    n_columns = renumber(np.ascontiguousarray(block.indices), slots, columns, numbers)
    narrow = sp.csr_array((block.data, numbers, block.indptr), shape=(len(codes), n_columns))
    table, totals = tally(narrow, codes, weights, n_classes, quantity)
    return SparseTable.from_dense(table, columns[:n_columns], block.shape[1]), totals


def _row_blocks(matrix: Matrix) -> Iterator[tuple[slice, Matrix]]:
    if not is_sparse(matrix):
        height = max(_BLOCK // max(matrix.shape[1], 1), 1)
        for start in range(0, matrix.shape[0], height):
            rows = slice(start, start + height)
            yield rows, sp.csr_array(matrix[rows])
        return
    start, n_rows = 0, matrix.shape[0]
    while start < n_rows:
        limit = matrix.indptr[start] + _BLOCK
        stop = int(np.searchsorted(matrix.indptr, limit, side="right")) - 1
        rows = slice(start, min(max(stop, start + 1), n_rows))
        yield rows, matrix[rows]
        start = rows.stop
