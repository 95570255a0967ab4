"""Sums and squared deviations of the values of each column within each class.

Cell (c, j) of a table belongs to class c and column j. Second moments are taken about an origin
that is a value of the cell itself. Then the sum of squared distances from the origin is at most
n / weight of that value times the sum from the mean, so that the subtraction of the mean cannot
cancel more than log10(n) digits, whatever the size of the values.
"""

from __future__ import annotations

import numpy as np

from naively._kernels.compiled import kernel
from naively._types import Array, FloatArray


@kernel
def class_sums_rows(
    rows: Array, codes: Array, weights: FloatArray, first: int, last: int, sums: FloatArray
) -> None:
    """Add the columns [first, last) of dense rows to the sums (C, m)."""
    for i in range(np.uint64(rows.shape[0])):
        c = np.uint64(codes[i])
        w = weights[i]
        for j in range(np.uint64(first), np.uint64(last)):
            sums[c, j] += w * np.float64(rows[i, j])


@kernel
def class_moments_rows(
    rows: Array,
    codes: Array,
    weights: FloatArray,
    origin: FloatArray,
    first: int,
    last: int,
    sums: FloatArray,
    squares: FloatArray,
) -> None:
    """Add (value - origin) and its square to the tables (C, m), for columns [first, last)."""
    for i in range(np.uint64(rows.shape[0])):
        c = np.uint64(codes[i])
        w = weights[i]
        for j in range(np.uint64(first), np.uint64(last)):
            deviation = np.float64(rows[i, j]) - origin[c, j]
            weighted = w * deviation
            sums[c, j] += weighted
            squares[c, j] += weighted * deviation


@kernel
def class_sums_lines(
    data: Array,
    indices: Array,
    indptr: Array,
    codes: Array,
    weights: FloatArray,
    n_features: int,
    first: int,
    last: int,
    sums: FloatArray,
) -> None:
    """Add the compressed rows [first, last) to the flat sums (C * m)."""
    for i in range(np.uint64(first), np.uint64(last)):
        w = weights[i]
        offset = np.uint64(codes[i]) * np.uint64(n_features)
        for position in range(np.uint64(indptr[i]), np.uint64(indptr[i + 1])):
            sums[offset + np.uint64(indices[position])] += w * np.float64(data[position])


@kernel
def class_sums_columns(
    data: Array,
    indices: Array,
    indptr: Array,
    codes: Array,
    weights: FloatArray,
    n_features: int,
    first: int,
    last: int,
    sums: FloatArray,
) -> None:
    """Add the compressed columns [first, last) to the flat sums (C * m)."""
    for j in range(np.uint64(first), np.uint64(last)):
        for position in range(np.uint64(indptr[j]), np.uint64(indptr[j + 1])):
            i = np.uint64(indices[position])
            cell = np.uint64(codes[i]) * np.uint64(n_features) + j
            sums[cell] += weights[i] * np.float64(data[position])


@kernel
def add_moment(cell: FloatArray, value: float, w: float) -> None:
    """Add an entry to a cell: weight, origin (its first entry), sum and squares about that."""
    if cell[0] == 0:
        cell[1] = value
    deviation = value - cell[1]
    cell[0] += w
    cell[2] += w * deviation
    cell[3] += w * deviation * deviation


@kernel
def class_moments_lines(
    data: Array,
    indices: Array,
    indptr: Array,
    codes: Array,
    weights: FloatArray,
    n_features: int,
    first: int,
    last: int,
    cells: FloatArray,
) -> None:
    """Add the compressed rows [first, last) to the cells (C * m, 4)."""
    for i in range(np.uint64(first), np.uint64(last)):
        w = weights[i]
        offset = np.uint64(codes[i]) * np.uint64(n_features)
        for position in range(np.uint64(indptr[i]), np.uint64(indptr[i + 1])):
            if w > 0:
                cell = cells[offset + np.uint64(indices[position])]
                add_moment(cell, np.float64(data[position]), w)


@kernel
def class_moments_columns(
    data: Array,
    indices: Array,
    indptr: Array,
    codes: Array,
    weights: FloatArray,
    n_features: int,
    first: int,
    last: int,
    cells: FloatArray,
) -> None:
    """Add the compressed columns [first, last) to the cells (C * m, 4)."""
    for j in range(np.uint64(first), np.uint64(last)):
        for position in range(np.uint64(indptr[j]), np.uint64(indptr[j + 1])):
            i = np.uint64(indices[position])
            if weights[i] > 0:
                cell = cells[np.uint64(codes[i]) * np.uint64(n_features) + j]
                add_moment(cell, np.float64(data[position]), weights[i])
