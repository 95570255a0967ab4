"""Counts of the categories of each column within each class."""

from __future__ import annotations

import numpy as np

from naively._kernels.compiled import kernel
from naively._types import Array, FloatArray, IntArray


@kernel
def category_counts_rows(
    rows: Array, codes: Array, weights: FloatArray, starts: IntArray, table: FloatArray
) -> None:
    """Add the weight of each row to the cells (start of column + value, class) of its values.

    Rows that weigh nothing are passed over: the table need not have their values.
    """
    for i in range(rows.shape[0]):
        if weights[i] == 0:
            continue
        for j in range(rows.shape[1]):
            table[starts[j] + np.int64(rows[i, j]), codes[i]] += weights[i]


@kernel
def category_counts_csr(
    data: Array,
    indices: Array,
    indptr: Array,
    codes: Array,
    weights: FloatArray,
    starts: IntArray,
    table: FloatArray,
) -> None:
    """Move the weight of each row from category 0 to that of its non-zeros, column by column.

    Rows that weigh nothing are passed over, as above.
    """
    for i in range(len(codes)):
        if weights[i] == 0:
            continue
        for position in range(indptr[i], indptr[i + 1]):
            start = starts[indices[position]]
            table[start, codes[i]] -= weights[i]
            table[start + np.int64(data[position]), codes[i]] += weights[i]
