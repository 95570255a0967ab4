"""Class tables too wide to be dense: only the cells that are not zero, sorted.

Cell `column * C + class` and its value, 12 or 16 bytes together, against 8 for every cell of a
dense table. For everything that reads a table it behaves like an (m, C) array whose rows, when
taken, are dense: gains are computed block by block, and equal columns are grouped, without the
whole ever being dense.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from typing import Any, Self, final

import numpy as np
import scipy.sparse as sp

from naively._types import Array, FloatArray, IntArray
from naively.statistics.addition import check_total

DENSE_CELLS = 1 << 27  # a dense table may have as many: 1 GiB
_DENSE_BYTES = 8


@final
@dataclass(frozen=True, slots=True, eq=False)
class SparseTable:
    """An (m, C) table of counts of which only the cells that are not zero are stored."""

    shape: tuple[int, int]  # (m, C)
    cells: Array  # (z,) uint32, or int64 where m C exceeds it: column * C + class, ascending
    values: Array  # (z,) int64 or float64, not zero

    __array_ufunc__ = None  # dense + sparse is ours to compute

    @classmethod
    def of(cls, shape: tuple[int, int], cells: Array, values: Array) -> Self:
        """Return the table of some cells in any order; values of the same cell add up in order."""
        cells, values = _summed(np.asarray(cells), np.asarray(values))
        kept = values != 0
        if not kept.all():
            cells, values = cells[kept], values[kept]
        return cls(shape, cells.astype(index_type(shape), copy=False), values)

    @classmethod
    def from_dense(cls, table: Array, columns: Any = None, n_columns: int | None = None) -> Self:
        """Return a dense (u, C) table as the given `columns` of one of `n_columns` columns."""
        n_columns = len(table) if n_columns is None else n_columns
        rows, codes = np.nonzero(table)
        columns = rows if columns is None else np.asarray(columns, dtype=np.int64)[rows]
        cells = columns * table.shape[1] + codes
        return cls.of((n_columns, table.shape[1]), cells, table[rows, codes])

    @classmethod
    def total(cls, tables: Iterable[Self]) -> Self:
        """Add any number of tables of one shape, in the order given."""
        tables = list(tables)
        check_total(*(table.values for table in tables))
        cells = np.concatenate([table.cells for table in tables])
        return cls.of(tables[0].shape, cells, np.concatenate([table.values for table in tables]))

    # -- what a reader of arrays expects ----------------------------------------------------------

    def __len__(self) -> int:
        return self.shape[0]

    @property
    def dtype(self) -> np.dtype[Any]:
        """Type of the values."""
        return self.values.dtype

    @property
    def nbytes(self) -> int:
        """Memory of the stored cells."""
        return self.cells.nbytes + self.values.nbytes

    @property
    def T(self) -> sp.csc_array:  # noqa: N802 (the name arrays have for it)
        """The transpose (C, m), sparse."""
        return self.tocsr().T

    def __getitem__(self, columns: Any) -> Array:
        """Rows of the table, dense: (k, C) for a slice, a mask (m,) or positions (k,)."""
        positions = column_positions(columns, len(self))
        wanted = positions * self.shape[1]
        first = np.searchsorted(self.cells, wanted.astype(self.cells.dtype))
        rows = np.zeros((len(positions), self.shape[1]), dtype=self.dtype)
        for c in range(self.shape[1]):
            here = first < len(self.cells)
            here[here] = self.cells[first[here]] == wanted[here] + c
            rows[here, c] = self.values[first[here]]
            first += here
        return rows

    def sum(self, axis: int | None = None) -> Any:
        """Sum by class (axis 0), by column (axis 1: dense, (m,)), or of everything."""
        if axis is None:
            return self.values.sum()
        if axis == 1:
            columns, starts = self.occurring()
            sums = np.zeros(len(self), dtype=self.dtype)
            if len(columns):
                sums[columns] = np.add.reduceat(self.values, starts[:-1])
            return sums
        codes = self.cells % self.shape[1]
        sums = np.zeros(self.shape[1], dtype=self.dtype)
        np.add.at(sums, codes, self.values)
        return sums

    # -- what only this table has -----------------------------------------------------------------

    def occurring(self) -> tuple[IntArray, IntArray]:
        """Columns with any count (u,), and where the cells of each start (u + 1,)."""
        columns = self.cells // self.shape[1]
        starts = np.flatnonzero(np.diff(columns, prepend=-1)) if len(columns) else np.empty(0, int)
        ends = np.append(starts, len(self.cells)).astype(np.int64)
        return columns[starts].astype(np.int64), ends

    @property
    def codes(self) -> Array:
        """Class of each stored cell, (z,)."""
        return self.cells % self.shape[1]

    def tocsr(self) -> sp.csr_array:
        """Return the table as a CSR array (m, C)."""
        columns, starts = self.occurring()
        indptr = np.zeros(len(self) + 1, dtype=np.int64)
        indptr[columns + 1] = np.diff(starts)
        np.cumsum(indptr, out=indptr)
        return sp.csr_array((self.values, self.codes.astype(np.int64), indptr), shape=self.shape)

    def toarray(self) -> Array:
        """Return the table as a dense array (m, C)."""
        table = np.zeros(self.shape, dtype=self.dtype)
        table.reshape(-1)[self.cells] = self.values
        return table

    def take(self, columns: Any) -> Any:
        """Return some columns as a table of their own, dense unless that is too large."""
        positions = column_positions(columns, len(self))
        shape = (len(positions), self.shape[1])
        if shape[0] * shape[1] <= DENSE_CELLS:
            return self[positions]
        starts = np.searchsorted(self.cells, (positions * shape[1]).astype(self.cells.dtype))
        ends = np.searchsorted(self.cells, (positions + 1) * shape[1])
        lengths = ends - starts
        new_starts = np.cumsum(lengths) - lengths
        entries = np.arange(lengths.sum()) + np.repeat(starts - new_starts, lengths)
        cells = np.repeat(np.arange(shape[0]) * shape[1], lengths) + self.codes[entries]
        return settled(SparseTable.of(shape, cells, self.values[entries]))

    def spread(self, positions: IntArray, n_classes: int) -> Self:
        """Return the same counts with class c as class positions[c] of `n_classes`, ascending."""
        cells = self.cells.astype(np.int64)
        cells = cells // self.shape[1] * n_classes + positions[cells % self.shape[1]]
        shape = (self.shape[0], n_classes)
        return type(self)(shape, cells.astype(index_type(shape)), self.values)

    def of_classes(self, chosen: IntArray) -> SparseTable:
        """Return some classes, in the order given, as a table of their own."""
        position = np.full(self.shape[1], -1, dtype=np.int64)
        position[chosen] = np.arange(len(chosen))
        codes = position[self.codes]
        kept = codes >= 0
        columns = self.cells[kept].astype(np.int64) // self.shape[1]
        shape = (self.shape[0], len(chosen))
        return SparseTable.of(shape, columns * shape[1] + codes[kept], self.values[kept])

    def scaled(self, by: FloatArray) -> Self:
        """Return the table with the counts of each class multiplied, by (C,) > 0."""
        return type(self)(self.shape, self.cells, self.values * by[self.codes])

    def equals(self, other: Any) -> bool:
        """Whether shape, cells and values agree exactly, types included."""
        return (
            isinstance(other, SparseTable)
            and self.shape == other.shape
            and self.dtype == other.dtype
            and np.array_equal(self.cells, other.cells)
            and np.array_equal(self.values, other.values)
        )

    def __add__(self, other: Any) -> Any:
        if isinstance(other, np.ndarray):
            check_total(other, self.values)
            table = other.astype(np.result_type(other, self.dtype))
            table.reshape(-1)[self.cells] += self.values
            return table
        return SparseTable.total([self, other])

    __radd__ = __add__

    def __neg__(self) -> Self:
        return type(self)(self.shape, self.cells, -self.values)


def column_positions(columns: Any, n_columns: int) -> IntArray:
    """Return the positions that a slice, a mask (m,) or positions of columns stand for."""
    if isinstance(columns, slice):
        return np.arange(*columns.indices(n_columns), dtype=np.int64)
    columns = np.asarray(columns)
    if columns.dtype.kind == "b":
        if columns.shape != (n_columns,):
            raise IndexError(f"A mask must have shape ({n_columns},); got {columns.shape}.")
        return np.flatnonzero(columns)
    positions: IntArray = np.where(columns < 0, columns + n_columns, columns).astype(np.int64)
    if positions.size and not 0 <= positions.min() <= positions.max() < n_columns:
        raise IndexError(f"Columns must be in [0, {n_columns}); got {columns}.")
    return positions


def settled(table: Any) -> Any:
    """Return a table in its proper form: dense, unless it has many cells and most are zero."""
    n_cells = table.shape[0] * table.shape[1]
    if isinstance(table, SparseTable):
        return table.toarray() if table.nbytes > n_cells * _DENSE_BYTES else table
    if n_cells <= DENSE_CELLS:
        return table
    stored = np.count_nonzero(table) * (_DENSE_BYTES + np.dtype(index_type(table.shape)).itemsize)
    return table if stored > table.nbytes else SparseTable.from_dense(table)


def index_type(shape: tuple[int, int]) -> Any:
    """Return the narrowest type in which all cells of a table can be numbered."""
    return np.uint32 if shape[0] * shape[1] <= 1 << 32 else np.int64


def _summed(cells: Array, values: Array) -> tuple[Array, Array]:
    """Sort cells and add the values of equal ones, in the order in which they come."""
    if len(cells) == 0 or bool((cells[1:] > cells[:-1]).all()):
        return cells, values
    order = np.argsort(cells, kind="stable")
    cells, values = cells[order], values[order]
    starts = np.flatnonzero(np.concatenate([[True], cells[1:] != cells[:-1]]))
    return cells[starts], np.add.reduceat(values, starts)
