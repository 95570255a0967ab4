"""One pass over a matrix: the sums of each column within each class, and the total of each row.

`WAYS` says how, by layout and by the size of the class-by-feature table; the first that applies is
taken. All give the same sums, bit for bit for whole numbers, for any number of threads.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
import scipy.sparse as sp

from naively._kernels.cells import renumber
from naively._types import Array, FloatArray
from naively.statistics.buckets import BUCKET_CELLS, nonzero_sums_by_buckets, sums_by_buckets
from naively.statistics.direct import sums_of_columns, sums_of_dense, sums_of_rows
from naively.statistics.matrix import Matrix
from naively.statistics.source import Quantity, Source, counted, cut, source_of
from naively.statistics.sparse_table import DENSE_CELLS, SparseTable, settled
from naively.statistics.threads import n_threads

_MOST_CELLS = 256  # an entry, for a pass over all cells to pay
_SMALL_TABLE = 32 << 20  # bytes; random additions to a larger one mostly miss the cache
_LEAST_ENTRIES = 64  # a bucket, for partitioning to pay
_BLOCK = 1 << 22  # entries counted at a time
_PARTS = 8  # sparse parts kept before they are added up


@dataclass(frozen=True, slots=True)
class Way:
    """A way of counting, and when it is taken if none before it is."""

    name: str
    applies: Callable[[Source], bool]
    count: Callable[[Source], tuple[Any, Array]]  # table (m, C), and totals of the rows (n,)


def tally(
    matrix: Matrix,
    codes: Array,
    weights: FloatArray | None,
    n_classes: int,
    quantity: Quantity,
    dense_cells: int = DENSE_CELLS,
) -> tuple[Any, Array]:
    """Sum the rows of a matrix by class.

    Parameters
    ----------
    matrix : CSR, CSC or dense matrix of shape (n, m)
        Finite; non-negative too unless presence is counted. Never modified.
    codes : ndarray of shape (n,), uint32
        Class of each row, in [0, n_classes).
    weights : ndarray of shape (n,) or None
        Weight of each row.
    n_classes : int
        Number of classes C.
    quantity : Quantity
        What to add up.
    dense_cells : int, default=2**27
        A table of more cells is kept sparse while that is smaller.

    Returns
    -------
    table : ndarray or SparseTable of shape (m, C)
        Sum by column and class: int64 for whole numbers without weights, else float64.
    totals : ndarray of shape (n,)
        Unweighted total of each row, of the same type.

    Raises
    ------
    ValueError
        If a value cannot be counted; the message names its row and column.
    """
    source = source_of(matrix, codes, weights, n_classes, quantity, dense_cells)
    return counted(source, _sums)


def _sums(source: Source) -> tuple[Any, Array]:
    return next(way for way in WAYS if way.applies(source)).count(source)


# -- conditions ----------------------------------------------------------------------------------


def _is_wide(source: Source) -> bool:
    """Whether the table is better kept sparse; a negative threshold makes zeros count."""
    return source.n_cells > source.dense_cells and source.quantity.threshold >= 0


def _fills_a_wide_table(source: Source) -> bool:
    """Whether there are so many entries that a pass over all cells pays."""
    entries = source.n_entries if source.layout != "dense" else 0
    return _is_wide(source) and source.n_cells <= _MOST_CELLS * entries


def _misses_the_cache(source: Source) -> bool:
    """Whether partitioning the entries is likely to be faster than adding them one by one."""
    if source.layout != "csr" or source.n_cells * 8 <= _SMALL_TABLE:
        return False
    if source.dtype.kind == "f" and n_threads() == 1:
        return False  # moving 12 bytes an entry costs what it saves, unless it is shared out
    return source.n_entries >= _LEAST_ENTRIES * (source.n_cells // BUCKET_CELLS)


# -- ways that keep only the sums that are not zero ----------------------------------------------


def _cells_by_buckets(source: Source) -> tuple[Any, Array]:
    """Count each range of columns in a small dense table, of which cells are kept."""
    (cells, values), totals = nonzero_sums_by_buckets(_by_rows(source))
    return settled(SparseTable(source.shape, cells, values)), totals


def _cells_by_blocks(source: Source) -> tuple[Any, Array]:
    """Count some million entries at a time, where hardly any column occurs.

    Real numbers are added in the order of the rows within a block, then by block.
    """
    no_cells, no_values = np.empty(0, dtype=np.int64), np.empty(0, dtype=source.dtype)
    nothing = SparseTable.of(source.shape, no_cells, no_values)
    parts: list[SparseTable] = []
    totals = [no_values]
    for block in _row_blocks(_by_rows(source)):
        part, total = _block_cells(block)
        parts.append(part)
        totals.append(total)
        if len(parts) == _PARTS:
            parts = [SparseTable.total(parts)]
    return settled(SparseTable.total([nothing, *parts])), np.concatenate(totals)


def _block_cells(block: Source) -> tuple[SparseTable, Array]:
    """Count a block in a dense table of the columns that occur, which are numbered."""
    indices = np.ascontiguousarray(block.matrix.indices)
    columns, numbers = np.empty(len(indices), np.int64), np.empty(len(indices), np.int64)
    slots = np.zeros(1 << (2 * len(numbers)).bit_length(), dtype=np.uint32)
    n_columns = renumber(indices, slots, columns, numbers)
    shape = (block.n_rows, n_columns)
    narrow = sp.csr_array((block.matrix.data, numbers, block.matrix.indptr), shape=shape)
    everything = max(n_columns * block.n_classes, DENSE_CELLS)
    table, totals = _sums(replace(block, matrix=narrow, dense_cells=everything))
    return SparseTable.from_dense(table, columns[:n_columns], block.n_columns), totals


def _row_blocks(source: Source) -> Iterator[Source]:
    if source.layout == "dense":
        height = max(_BLOCK // max(source.n_columns, 1), 1)
        for start in range(0, source.n_rows, height):
            block = source.of_rows(slice(start, start + height))
            yield replace(block, matrix=sp.csr_array(block.matrix))
        return
    for start, stop in cut(source.matrix.indptr, (0, source.n_rows), _BLOCK):
        yield source.of_rows(slice(start, stop))


def _by_rows(source: Source) -> Source:
    return replace(source, matrix=source.matrix.tocsr()) if source.layout == "csc" else source


WAYS = (
    Way("sparse cells, by ranges of columns", _fills_a_wide_table, _cells_by_buckets),
    Way("sparse cells, by blocks of rows", _is_wide, _cells_by_blocks),
    Way("strips of dense columns", lambda source: source.layout == "dense", sums_of_dense),
    Way("columns one after the other", lambda source: source.layout == "csc", sums_of_columns),
    Way("entries partitioned by ranges of columns", _misses_the_cache, sums_by_buckets),
    Way("rows one after the other", lambda source: True, sums_of_rows),
)
