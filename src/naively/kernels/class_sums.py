"""Sums of the values of each column within each class.

All kernels add to a flat table whose cell `j * n_classes + c` belongs to column j and class c:
the classes of one column are neighbours, so one entry of the data touches one cache line. They add
the entries of a cell in the order of the rows, whatever the layout, and they also write the total
of each row. Values outside [low, high] (NaN included) are reported, not raised: the caller knows
names and reasons.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from naively._types import Array, FloatArray
from naively.kernels.compiled import kernel


@kernel
def class_sums_csr(
    data: Array,
    indices: Array,
    indptr: Array,
    codes: Array,
    weights: FloatArray,
    low: Any,
    high: Any,
    n_classes: int,
    table: Array,
    totals: Array,
) -> bool:
    """Add compressed rows to the table; False if a value lies outside [low, high]."""
    sound = True
    width = np.uint64(n_classes)
    for i in range(len(codes)):
        c = np.uint64(codes[i])
        w = table.dtype.type(weights[i]) if len(weights) else table.dtype.type(1)
        total = data.dtype.type(0)
        for position in range(indptr[i], indptr[i + 1]):
            value = data[position]
            sound &= low <= value <= high
            table[np.uint64(indices[position]) * width + c] += value * w
            total += value
        totals[i] = total
    return sound


@kernel
def class_sums_csc(
    data: Array,
    indices: Array,
    indptr: Array,
    codes: Array,
    weights: FloatArray,
    low: Any,
    high: Any,
    n_classes: int,
    table: Array,
    totals: Array,
) -> bool:
    """Add compressed columns to the table; False if a value lies outside [low, high]."""
    sound = True
    for j in range(len(indptr) - 1):
        for position in range(indptr[j], indptr[j + 1]):
            i = np.uint64(indices[position])
            value = data[position]
            sound &= low <= value <= high
            w = table.dtype.type(weights[i]) if len(weights) else table.dtype.type(1)
            table[np.uint64(j * n_classes) + np.uint64(codes[i])] += value * w
            totals[i] += value
    return sound


@kernel
def class_sums_dense(
    rows: Array,
    codes: Array,
    weights: FloatArray,
    low: Any,
    high: Any,
    n_classes: int,
    table: Array,
    totals: Array,
) -> bool:
    """Add dense rows to the table; False if a value lies outside [low, high]."""
    sound = True
    for i in range(rows.shape[0]):
        c = codes[i]
        w = table.dtype.type(weights[i]) if len(weights) else table.dtype.type(1)
        for j in range(rows.shape[1]):
            value = rows[i, j]
            sound &= low <= value <= high
            table[j * n_classes + c] += value * w
            totals[i] += value
    return sound
