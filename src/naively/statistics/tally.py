"""One pass over a matrix: the sums of each column within each class, and the total of each row.

The kernels know two types of values, int64 and float64. Everything else is converted a block at a
time, and so is `value > threshold` when presence is counted; blocks fit the cache, so the
conversion costs little and no copy of the matrix is made.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

import numpy as np

from naively._types import Array, FloatArray
from naively.kernels.class_sums import class_sums_csc, class_sums_csr, class_sums_dense
from naively.kernels.compiled import read_only
from naively.statistics.matrix import Matrix, canonical, is_sparse

_BLOCK = 1 << 16  # entries converted at a time: 0.5 MB of values, which stays in the cache
_NO_WEIGHTS = np.empty(0)


@dataclass(frozen=True, slots=True)
class Quantity:
    """What is added up: the values themselves, or how many exceed a threshold."""

    presence: bool
    threshold: float

    def is_whole(self, matrix: Matrix) -> bool:
        """Whether the addends are whole numbers, which are counted exactly."""
        return self.presence or matrix.dtype.kind in "biu"

    def largest(self, matrix: Matrix) -> float | int:
        """Return the value up to which no sum can overflow."""
        if not self.is_whole(matrix):
            return float(np.finfo(np.float64).max)
        return int(np.iinfo(np.int64).max) // max(_n_entries(matrix), 1)

    def addends(self, data: Array, dtype: Any) -> tuple[Array, bool]:
        """Return a block of data as numbers of type `dtype`, and whether presence is defined."""
        if not self.presence:
            return np.ascontiguousarray(data, dtype=dtype), True
        finite = data.dtype.kind != "f" or bool(np.isfinite(data).all())
        return np.ascontiguousarray(data > self.threshold, dtype=dtype), finite


def tally(
    matrix: Matrix, codes: Array, weights: FloatArray | None, n_classes: int, quantity: Quantity
) -> tuple[Array, Array]:
    """Sum the rows of a matrix by class.

    Parameters
    ----------
    matrix : CSR, CSC or dense matrix of shape (n, m)
        Finite; non-negative too unless presence is counted. Never modified.
    codes : ndarray of shape (n,)
        Class of each row, in [0, n_classes).
    weights : ndarray of shape (n,) or None
        Weight of each row.
    n_classes : int
        Number of classes C.
    quantity : Quantity
        What to add up.

    Returns
    -------
    table : ndarray of shape (m, C)
        Sum by column and class: int64 for whole numbers without weights, else float64.
    totals : ndarray of shape (n,)
        Unweighted total of each row, of the same type.

    Raises
    ------
    ValueError
        If a value cannot be counted; the message names its row and column.
    """
    if is_sparse(matrix) and (quantity.presence or matrix.dtype.kind == "b"):
        matrix = canonical(matrix)  # what counts is whether the sum of duplicates is non-zero
    weights = _NO_WEIGHTS if weights is None else weights
    table, totals, sound = _sums(
        matrix, codes, weights, n_classes, quantity, quantity.largest(matrix)
    )
    if sound:
        return table, totals
    del table  # a failed pass must not keep its table while the second one runs
    matrix, largest = examined(matrix, quantity)
    return _sums(matrix, codes, weights, n_classes, quantity, largest)[:2]


def _sums(
    matrix: Matrix,
    codes: Array,
    weights: FloatArray,
    n_classes: int,
    quantity: Quantity,
    largest: float | int,
) -> tuple[Array, Array, bool]:
    n_rows, n_features = matrix.shape
    whole = quantity.is_whole(matrix) and not len(weights)
    dtype = np.dtype(np.int64 if whole else np.float64)
    table = np.zeros((n_features, n_classes), dtype=dtype)
    totals = np.zeros(n_rows, dtype=dtype)
    low, high = dtype.type(0), np.asarray(largest, dtype)[()]
    sound = True
    for block in _blocks(matrix):
        addends, finite = quantity.addends(block.data, dtype)
        sound &= finite
        if block.indptr is None:
            rows = slice(block.start, block.start + len(addends))
            sound &= class_sums_dense(
                addends, codes[rows], weights[rows], low, high, n_classes,
                table.reshape(-1), totals[rows],
            )  # fmt: skip
        elif matrix.format == "csr":
            rows = slice(block.start, block.start + len(block.indptr) - 1)
            sound &= class_sums_csr(
                addends, read_only(block.indices), block.indptr, codes[rows], weights[rows],
                low, high, n_classes, table.reshape(-1), totals[rows],
            )  # fmt: skip
        else:
            columns = slice(block.start, block.start + len(block.indptr) - 1)
            sound &= class_sums_csc(
                addends, read_only(block.indices), block.indptr, codes, weights,
                low, high, n_classes, table[columns].reshape(-1), totals,
            )  # fmt: skip
    return table, totals, bool(sound)


@dataclass(frozen=True, slots=True)
class _Block:
    """Consecutive rows (or columns, for CSC) of a matrix."""

    start: int  # first row or column
    data: Array  # values: (rows, m) when dense, else the entries
    indices: Any = None  # (entries,)
    indptr: Any = None  # (rows + 1,) int64, from 0


def _blocks(matrix: Matrix) -> Iterator[_Block]:
    if not is_sparse(matrix):
        height = max(_BLOCK // max(matrix.shape[1], 1), 1)
        for start in range(0, matrix.shape[0], height):
            yield _Block(start, matrix[start : start + height])
        return
    indptr = matrix.indptr.astype(np.int64)
    start, n_lines = 0, len(indptr) - 1
    while start < n_lines:
        stop = int(np.searchsorted(indptr, indptr[start] + _BLOCK, side="right")) - 1
        stop = min(max(stop, start + 1), n_lines)
        entries = slice(indptr[start], indptr[stop])
        yield _Block(
            start,
            matrix.data[entries],
            matrix.indices[entries],
            indptr[start : stop + 1] - indptr[start],
        )
        start = stop


def _n_entries(matrix: Matrix) -> int:
    return len(matrix.data) if is_sparse(matrix) else matrix.size


def examined(matrix: Matrix, quantity: Quantity) -> tuple[Matrix, float | int]:
    """After a suspicious value: the matrix to count and its largest value, or an error."""
    if is_sparse(matrix):
        matrix = canonical(matrix)  # an entry of -2 beside one of 3 in the same cell is a 1
    for block in _blocks(matrix):
        _explain(matrix, block, quantity)
    if not quantity.is_whole(matrix):
        return matrix, float(np.finfo(np.float64).max)
    largest = int(np.iinfo(np.int64).max)
    total = float(matrix.sum(dtype=np.float64))
    if total >= largest:
        raise ValueError(
            f"The values of X add up to {total:.3g}, more than a 64-bit integer holds "
            f"({largest}); pass X as float64."
        )
    return matrix, largest


def _explain(matrix: Matrix, block: _Block, quantity: Quantity) -> None:
    """Raise an error for the first value of a block that cannot be counted."""
    values = block.data
    if values.dtype.kind == "f":
        _refuse(
            matrix, block, np.isnan(values),
            "Input X contains NaN: at {place}. Fill in missing values or drop their rows.",
        )  # fmt: skip
        _refuse(
            matrix, block, np.isinf(values),
            "Input X contains infinity: {value} at {place}. All values must be finite.",
        )  # fmt: skip
    if not quantity.presence and values.dtype.kind != "b":
        _refuse(
            matrix, block, values < 0,
            "Negative values in data passed to class counts: {value} at {place}. Counts must be "
            ">= 0; shift or clip them, or use a model of centers, which takes any sign.",
        )  # fmt: skip


def _refuse(matrix: Matrix, block: _Block, bad: Array, message: str) -> None:
    if not bad.any():
        return
    position = int(np.flatnonzero(bad)[0])
    value = block.data.flat[position] if block.indptr is None else block.data[position]
    if block.indptr is None:
        row, column = divmod(position, matrix.shape[1])
        row += block.start
    else:
        line = block.start + int(np.searchsorted(block.indptr, position, side="right")) - 1
        other = int(block.indices[position])
        row, column = (line, other) if matrix.format == "csr" else (other, line)
    raise ValueError(message.format(value=value, place=f"row {row}, column {column}"))
