"""Class sums of a large table: entries are partitioned by ranges of columns, then added.

Random additions to a table larger than the cache each wait for memory. Partitioned into buckets of
neighbouring columns, whose part of the table fits the cache, entries are read and written in order,
twice, which is faster; and buckets can be added by several threads. Every bucket keeps its entries
in the order of the rows, so sums do not depend on the number of threads.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from typing import TypeAlias, final

import numpy as np

from naively._kernels import class_sums as kernels
from naively._types import Array, IntArray
from naively.statistics.source import Block, Source, Span, shares
from naively.statistics.sparse_table import index_type
from naively.statistics.threads import in_threads, n_threads

BUCKET_CELLS = 1 << 16  # 512 KB of the table
_MOST_BUCKETS = 1 << 10  # places written to at a time, for 4 bytes an entry
_LEAST_BUFFER = 32 << 20  # bytes for partitioned entries, if 1.5 tables are less

Cells: TypeAlias = tuple[Array, Array]  # numbers (z,) of some cells of a table, and their values


def sums_by_buckets(source: Source) -> tuple[Array, Array]:
    """Return the table (m, C) and the row totals (n,) of CSR rows."""
    try:
        return _dense_sums(_buckets(source))
    except _TooWideError:
        return _dense_sums(_WideBuckets(source))


def nonzero_sums_by_buckets(source: Source) -> tuple[Cells, Array]:
    """Return the cells of the table that are not zero, ascending, and the row totals (n,)."""
    try:
        return _nonzero_sums(_buckets(source))
    except _TooWideError:
        return _nonzero_sums(_WideBuckets(source))


def _buckets(source: Source) -> _AbstractBuckets:
    return _PackedBuckets(source) if source.dtype.kind == "i" else _WideBuckets(source)


def _dense_sums(buckets: _AbstractBuckets) -> tuple[Array, Array]:
    source = buckets.source
    table = np.zeros(source.n_cells, source.dtype)
    totals = np.zeros(source.n_rows, source.dtype)
    room = max(table.nbytes * 3 // 2, _LEAST_BUFFER)
    for rows in source.row_chunks(source.n_entries * buckets.entry_bytes // room + 1):
        spans = buckets.partition(rows, totals)
        in_threads(lambda span: buckets.add(span, 0, table), spans)
    return table.reshape(source.shape), totals


def _nonzero_sums(buckets: _AbstractBuckets) -> tuple[Cells, Array]:
    source = buckets.source
    totals = np.zeros(source.n_rows, source.dtype)
    spans = buckets.partition((0, source.n_rows), totals)
    parts = in_threads(buckets.nonzero, spans)
    cells, values = (np.concatenate(arrays) for arrays in zip(*parts, strict=True))
    return (cells, values), totals


class _TooWideError(Exception):
    """A value that does not fit into the bits reserved for it."""


class _AbstractBuckets(ABC):
    """Entries of some rows, by range of columns; the buffer is reused for the next rows."""

    entry_bytes: int
    starts: IntArray  # (B + 1,) first entry of each bucket, and the end

    def __init__(self, source: Source):
        self.source = source
        self.shift = _shift(source, _MOST_BUCKETS * 4 // self.entry_bytes)

    def partition(self, rows: Span, totals: Array) -> list[Span]:
        """Sort entries of some rows into buckets; return spans of buckets to share out."""
        parts = shares(self.source.matrix.indptr, rows, n_threads())
        sizes = np.array(in_threads(self._sizes, parts))
        self.starts = np.concatenate([[0], np.cumsum(sizes.sum(axis=0))])
        self._reserve(int(self.starts[-1]))
        # In every bucket, a part of the rows continues where the part before it ends.
        cursors = (self.starts[:-1] + np.cumsum(sizes, axis=0) - sizes).astype(np.uint64)
        in_threads(
            lambda t: self._fill(parts[t], cursors[t], totals),
            range(len(parts)),
        )
        return shares(self.starts, (0, len(self.starts) - 1), 8 * n_threads())

    def nonzero(self, buckets: Span) -> Cells:
        """Cells that are not zero, and values, of the entries of some buckets."""
        source = self.source
        n_entries = int(self.starts[buckets[1]] - self.starts[buckets[0]])
        cells = np.empty(n_entries + 1, dtype=index_type((source.n_columns, source.n_classes)))
        values = np.empty(n_entries + 1, dtype=source.dtype)
        bucket_cells = source.n_classes << self.shift
        table = np.zeros(-(-bucket_cells // 8) * 8, dtype=source.dtype)
        count = 0
        for bucket in range(*buckets):
            self.add((bucket, bucket + 1), bucket, table)
            first = bucket * bucket_cells
            count += kernels.move_nonzero(table, first, cells[count:], values[count:])
        return cells[:count], values[:count]

    def _sizes(self, rows: Span) -> IntArray:
        """Entries of some rows in each bucket (B,)."""
        sizes = np.zeros(_n_buckets(self.source, self.shift), dtype=np.int64)
        for indices in self.source.index_blocks(rows):
            kernels.bucket_sizes(indices, self.shift, sizes)
        return sizes

    def _fill(self, rows: Span, cursors: Array, totals: Array) -> None:
        """Append the entries of some rows to the buckets, at cursors (B,); row totals (n,)."""
        for block in self.source.blocks(rows):
            self._append(block, cursors, totals[block.lines])

    @abstractmethod
    def add(self, buckets: Span, origin: int, table: Array) -> None:
        """Add the entries of some buckets to a flat table that begins with bucket `origin`."""

    @abstractmethod
    def _reserve(self, n_entries: int) -> None: ...

    @abstractmethod
    def _append(self, block: Block, cursors: Array, totals: Array) -> None: ...


@final
class _PackedBuckets(_AbstractBuckets):
    """Small whole numbers: 32 bits an entry, cell and value."""

    entry_bytes = 4

    def __init__(self, source: Source):
        super().__init__(source)
        self.cell_bits = ((source.n_classes << self.shift) - 1).bit_length()
        self.packed: Array = np.empty(0, dtype=np.uint32)

    def _reserve(self, n_entries: int) -> None:
        if len(self.packed) < n_entries:
            self.packed = np.empty(n_entries, dtype=np.uint32)

    def _append(self, block: Block, cursors: Array, totals: Array) -> None:
        if len(block.data) and int(block.data.max()) >> (32 - self.cell_bits):
            raise _TooWideError
        kernels.partition_packed_csr(
            block.data,
            block.indices,
            block.indptr,
            self.source.codes[block.lines],
            self.source.n_classes,
            self.shift,
            self.cell_bits,
            cursors,
            self.packed,
            totals,
        )

    def add(self, buckets: Span, origin: int, table: Array) -> None:
        kernels.bucket_sums_packed(
            self.packed,
            self.starts,
            *buckets,
            origin,
            self.shift,
            self.cell_bits,
            self.source.n_classes,
            table,
        )


@final
class _WideBuckets(_AbstractBuckets):
    """Any numbers: a cell and a weighted value of 64 bits."""

    entry_bytes = 12

    def __init__(self, source: Source):
        super().__init__(source)
        self.cells: Array = np.empty(0, dtype=np.uint32)
        self.values: Array = np.empty(0, dtype=source.dtype)

    def _reserve(self, n_entries: int) -> None:
        if len(self.cells) < n_entries:
            self.cells = np.empty(n_entries, dtype=np.uint32)
            self.values = np.empty(n_entries, dtype=self.source.dtype)

    def _append(self, block: Block, cursors: Array, totals: Array) -> None:
        kernels.partition_wide_csr(
            block.data,
            block.indices,
            block.indptr,
            self.source.codes[block.lines],
            self.source.weights_of(block.lines),
            self.source.n_classes,
            self.shift,
            cursors,
            self.cells,
            self.values,
            totals,
        )

    def add(self, buckets: Span, origin: int, table: Array) -> None:
        kernels.bucket_sums_wide(
            self.cells,
            self.values,
            self.starts,
            *buckets,
            origin,
            self.shift,
            self.source.n_classes,
            table,
        )


def _shift(source: Source, most_buckets: int) -> int:
    """Return the binary logarithm of the number of columns in a bucket."""
    shift = max((BUCKET_CELLS // source.n_classes).bit_length() - 1, 0)
    while _n_buckets(source, shift) > most_buckets:
        shift += 1
    return shift


def _n_buckets(source: Source, shift: int) -> int:
    return ((source.n_columns - 1) >> shift) + 1
