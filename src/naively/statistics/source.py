"""Rows to be counted, handed to the kernels in checked blocks of few types.

The kernels know three types of values. Anything else is converted a block at a time, and so is
`value > threshold` when presence is counted; blocks fit the cache, so the conversion and the checks
cost little and no copy of the matrix is made.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass, replace
from typing import Any, TypeAlias, TypeVar

import numpy as np

from naively._kernels.compiled import read_only
from naively._kernels.leave_one_out import has_duplicates
from naively._types import Array, FloatArray, IntArray
from naively.statistics.matrix import Matrix, canonical, is_sparse
from naively.statistics.rows import refuse_overflow
from naively.statistics.sparse_table import DENSE_CELLS

Sums = TypeVar("Sums")
Span: TypeAlias = tuple[int, int]  # first line (row, column, bucket), and the one after the last

_BLOCK = 1 << 18  # entries of a block: 2 MB at most
_LARGEST = int(np.iinfo(np.int64).max)


class SuspiciousValueError(Exception):
    """A value that cannot be counted, or not without a look at the whole matrix."""


@dataclass(frozen=True, slots=True)
class Quantity:
    """What is added up: the values themselves, or how many exceed a threshold."""

    presence: bool
    threshold: float

    def is_whole(self, matrix: Matrix) -> bool:
        """Whether the addends are whole numbers, which are counted exactly."""
        return self.presence or matrix.dtype.kind in "biu"


@dataclass(frozen=True, slots=True)
class Block:
    """Consecutive rows of a CSR matrix, or columns of a CSC matrix, as the kernels want them."""

    lines: slice
    data: Array  # (entries,) int32, int64 or float64
    indices: Array  # (entries,) uint32
    indptr: IntArray  # (lines + 1,) from 0


@dataclass(frozen=True, slots=True)
class Source:
    """Rows, their classes and weights, and what to add up."""

    matrix: Matrix  # (n, m) CSR, CSC or dense
    codes: Array  # (n,) uint32, in [0, C)
    weights: FloatArray  # (n,), or (0,) if all are 1
    n_classes: int
    quantity: Quantity
    dense_cells: int = DENSE_CELLS  # a table of more cells is kept sparse
    examined: bool = False  # a look at the whole matrix found nothing wrong

    @property
    def layout(self) -> str:
        """How the matrix lies in memory: "csr", "csc" or "dense"."""
        return str(self.matrix.format) if is_sparse(self.matrix) else "dense"

    @property
    def shape(self) -> tuple[int, int]:
        """Shape of the class-by-feature table, (m, C)."""
        return self.n_columns, self.n_classes

    @property
    def dtype(self) -> Any:
        """Type of the sums."""
        whole = self.quantity.is_whole(self.matrix) and not len(self.weights)
        return np.dtype(np.int64 if whole else np.float64)

    @property
    def n_rows(self) -> int:
        """Number of rows n."""
        return int(self.matrix.shape[0])

    @property
    def n_columns(self) -> int:
        """Number of columns m."""
        return int(self.matrix.shape[1])

    @property
    def n_cells(self) -> int:
        """Number of cells of the class-by-feature table."""
        return self.n_columns * self.n_classes

    @property
    def n_entries(self) -> int:
        """Number of stored values."""
        return len(self.matrix.data) if is_sparse(self.matrix) else int(self.matrix.size)

    def of_rows(self, rows: slice) -> Source:
        """Return some of the rows."""
        matrix, codes = self.matrix[rows], self.codes[rows]
        return replace(self, matrix=matrix, codes=codes, weights=self.weights_of(rows))

    def row_chunks(self, count: int) -> list[Span]:
        """Divide the rows of a CSR matrix into spans of about equally many entries."""
        return shares(self.matrix.indptr, (0, self.n_rows), count)

    def blocks(self, lines: Span) -> Iterator[Block]:
        """Cut rows of a CSR matrix (columns of a CSC matrix) into checked blocks."""
        indptr = self.matrix.indptr
        for first, last in cut(indptr, lines, _BLOCK):
            entries = slice(int(indptr[first]), int(indptr[last]))
            yield Block(
                slice(first, last),
                read_only(self.addends(self.matrix.data[entries])),
                self._indices(entries),
                np.subtract(indptr[first : last + 1], indptr[first], dtype=np.int64),
            )

    def index_blocks(self, lines: Span) -> Iterator[Array]:
        """Columns (CSR) or rows (CSC) of the entries of some lines, in blocks."""
        indptr = self.matrix.indptr
        for start in range(int(indptr[lines[0]]), int(indptr[lines[1]]), _BLOCK):
            yield self._indices(slice(start, min(start + _BLOCK, int(indptr[lines[1]]))))

    def addends(self, data: Array) -> Array:
        """Return what some values add, checked, as contiguous int32, int64 or float64."""
        if self.quantity.presence:
            if data.dtype.kind == "f" and not np.isfinite(data).all():
                raise SuspiciousValueError
            data = data > self.quantity.threshold
        narrow = self.dtype.kind == "i" and np.can_cast(data.dtype, np.int32)
        addends: Array = np.ascontiguousarray(data, dtype=np.int32 if narrow else self.dtype)
        if addends.size and not self.examined:
            self._check(addends)
        return addends

    def _check(self, addends: Array) -> None:
        """Raise unless all is well; infinity is left to the totals of the rows."""
        if not addends.min() >= 0:  # NaN makes the minimum NaN
            raise SuspiciousValueError
        if addends.dtype == np.int64 and int(addends.max()) > _LARGEST // self.n_entries:
            raise SuspiciousValueError  # sums might overflow

    def _indices(self, entries: slice) -> Array:
        indices = np.ascontiguousarray(self.matrix.indices[entries])
        return read_only(indices.view(f"u{indices.itemsize}").astype(np.uint32, copy=False))

    def weights_of(self, rows: slice) -> FloatArray:
        """Return the weights of some rows, (0,) if all are 1."""
        return self.weights[rows] if len(self.weights) else self.weights


def cut(indptr: Array, lines: Span, capacity: int) -> Iterator[Span]:
    """Cut lines into spans of at most `capacity` entries, but at least one line each."""
    first, end = lines
    while first < end:
        last = int(np.searchsorted(indptr, indptr[first] + capacity, side="right")) - 1
        last = min(max(last, first + 1), end)
        yield first, last
        first = last


def shares(indptr: Array, lines: Span, count: int) -> list[Span]:
    """Divide lines into `count` spans of about equally many entries; some may be empty."""
    first, end = lines
    goals = np.linspace(indptr[first], indptr[end], count + 1)[1:-1]
    inner = np.clip(np.searchsorted(indptr, goals), first, end).tolist()
    return list(zip([first, *inner], [*inner, end], strict=True))


def distinct(matrix: Matrix) -> Matrix:
    """Return a CSR or CSC matrix without duplicates; sorted only if some have to be joined.

    What vectorizers of texts return is without duplicates and not sorted, and sorting would take
    longer than counting.
    """
    arrays = matrix.data, matrix.indices, matrix.indptr
    plain = type(matrix)(arrays, matrix.shape, copy=False)  # without flags, see `canonical`
    if plain.has_canonical_format:
        return plain
    crossing = matrix.shape[1 if matrix.format == "csr" else 0]
    indices, indptr = read_only(matrix.indices), read_only(matrix.indptr)
    return canonical(matrix) if has_duplicates(indices, indptr, crossing) else plain


def source_of(
    matrix: Matrix,
    codes: Array,
    weights: FloatArray | None,
    n_classes: int,
    quantity: Quantity,
    dense_cells: int = DENSE_CELLS,
) -> Source:
    """Return the rows of a matrix of any layout, ready to be counted."""
    if is_sparse(matrix):
        _check_size(matrix)
        if quantity.presence or matrix.dtype.kind == "b":
            matrix = distinct(matrix)  # what counts is whether the sum of duplicates is non-zero
    weights = read_only(np.empty(0) if weights is None else np.ascontiguousarray(weights))
    return Source(matrix, codes, weights, n_classes, quantity, dense_cells)


def counted(source: Source, way: Callable[[Source], tuple[Sums, Array]]) -> tuple[Sums, Array]:
    """Return the sums and the row totals (n,) that a way of counting finds.

    Raises
    ------
    ValueError
        If a value cannot be counted, with its place; or if sums of finite values overflow.
    """
    try:
        sums, totals = way(source)
        if _is_finite(source, totals):
            return sums, totals
    except SuspiciousValueError:
        pass
    source = examined(source)
    sums, totals = way(source)
    if not _is_finite(source, totals):
        refuse_overflow(source.matrix)
    return sums, totals


def _is_finite(source: Source, totals: Array) -> bool:
    """Whether no value is infinite, and no sum: all values are >= 0, their total bounds them."""
    if source.dtype.kind == "i":
        return True
    with np.errstate(over="ignore", invalid="ignore"):
        weighted = totals * source.weights if len(source.weights) else totals
        return bool(np.isfinite(weighted.sum()))


def _check_size(matrix: Matrix) -> None:
    if max(matrix.shape) > 1 << 32:
        raise ValueError(f"X may have up to 2**32 rows and columns; got shape {matrix.shape}.")


def examined(source: Source) -> Source:
    """After a suspicious value: return rows that can be counted after all, or explain why not."""
    matrix = source.matrix
    if is_sparse(matrix):
        matrix = canonical(matrix)  # an entry of -2 beside one of 3 in the same cell is a 1
    for start, values in _runs(matrix):
        for bad, message in _faults(values, source.quantity):
            if bad.any():
                position = int(np.flatnonzero(bad)[0])
                row, column = _place(matrix, start + position)
                raise ValueError(
                    message.format(value=values[position], place=f"row {row}, column {column}")
                )
    if source.dtype.kind == "i" and not source.quantity.presence:
        total = float(matrix.sum(dtype=np.float64))
        if total >= _LARGEST:
            raise ValueError(
                f"The values of X add up to {total:.3g}, more than a 64-bit integer holds "
                f"({_LARGEST}); pass X as float64."
            )
    return replace(source, matrix=matrix, examined=True)


def check_counts(matrix: Matrix) -> None:
    """Raise an error that names the first value that is no count, if there is one.

    Raises
    ------
    ValueError
        If a value is negative or not finite.
    """
    values = matrix.data if is_sparse(matrix) else matrix
    if values.size and not values.min() >= 0:  # NaN makes the minimum NaN
        examined(source_of(matrix, np.empty(0), None, 1, Quantity(presence=False, threshold=0.0)))


def _faults(values: Array, quantity: Quantity) -> Iterator[tuple[Array, str]]:
    """Masks of the values that cannot be counted, and what to say of them."""
    if values.dtype.kind == "f":
        yield (
            np.isnan(values),
            "Input X contains NaN at {place}. Fill in missing values or drop their rows.",
        )
        yield (
            np.isinf(values),
            "Input X contains infinity: {value} at {place}. All values must be finite.",
        )
    if values.dtype.kind in "if" and not quantity.presence:
        yield (
            values < 0,
            "Negative values in data passed to class counts: {value} at {place}. Counts must be "
            ">= 0; shift or clip them, or use a model of centers, which takes any sign.",
        )


def _runs(matrix: Matrix) -> Iterator[tuple[int, Array]]:
    """All stored values, in order, in runs: position of the first, values (run,)."""
    if is_sparse(matrix):
        for start in range(0, len(matrix.data), _BLOCK):
            yield start, matrix.data[start : start + _BLOCK]
        return
    height = max(_BLOCK // max(matrix.shape[1], 1), 1)
    for row in range(0, len(matrix), height):
        yield row * matrix.shape[1], matrix[row : row + height].reshape(-1)


def _place(matrix: Matrix, position: int) -> tuple[int, int]:
    """Row and column of a stored value."""
    if not is_sparse(matrix):
        return divmod(position, int(matrix.shape[1]))
    line = int(np.searchsorted(matrix.indptr, position, side="right")) - 1
    other = int(matrix.indices[position])
    return (line, other) if matrix.format == "csr" else (other, line)
