r"""Weights of rows: what a count is worth, and how long a row is.

With c the count of a feature in a row,

    counts      c
    presence    1 where c > 0
    log         1 + ln c where c > 0
    tfidf       c idf,  idf = ln((1 + n) / (1 + d)) + 1

where d of n training rows hold the feature. Norm "l2" then divides a row by the root of the sum of
its squares, over every feature of the row, whether it is chosen later or not.

That is scikit-learn's `TfidfTransformer`: `sublinear_tf` without idf, or its smooth idf. All but
the idf is of the row alone, so rows are weighted as they are read. The idf is of the training rows;
it is a factor of each feature, so sums of weighted rows are weighted sums of rows. Only a length
of rows weighted by idf ("tfidf" with "l2") takes a second pass, over rows that are kept.

Weights that are no whole numbers are rounded to multiples of `UNIT` before they are added. So
their sums are exact: the same for any division into parts, batches and workers, and under
subtraction.
"""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np
import scipy.sparse as sp

from naively._types import Array, FloatArray, IntArray
from naively.statistics.matrix import Matrix, canonical, is_sparse
from naively.statistics.sparse_table import SparseTable
from naively.text.features import UNIT, Norm, Weights


def log_weights(X: Matrix) -> Matrix:
    """1 + ln of the entries above 0, (n, m), sparse if X is.

    Raises
    ------
    ValueError
        If an entry is between 0 and 1, whose logarithm could make it weigh less than nothing.
    """
    X = canonical(X) if is_sparse(X) else np.asarray(X)
    values = X.data if is_sparse(X) else X
    between = (values > 0) & (values < 1)
    if between.any():
        raise ValueError(
            f"Weights 'log' are of counts: 0, or at least 1; got {values[between].min():g}. Use "
            "weights 'counts', or multiply the values by a constant."
        )
    weights = np.zeros(values.shape)
    np.log(values, out=weights, where=values > 0)
    weights += values > 0
    if not is_sparse(X):
        return weights
    return type(X)((weights, X.indices, X.indptr), shape=X.shape)


def row_weights(X: sp.csr_array, weights: Weights, norm: Norm | None) -> sp.csr_array:
    """Weigh rows of counts (n, m), canonical CSR, but for the idf; X itself if nothing changes."""
    data = X.data
    if weights == "presence":
        data = np.ones_like(X.data)
    elif weights == "log":
        data = log_weights(X).data
    weighted = X if data is X.data else sp.csr_array((data, X.indices, X.indptr), shape=X.shape)
    # Rows that wait for their idf have no length yet.
    return weighted if norm is None or weights == "tfidf" else unit_rows(weighted)


def unit_rows(X: sp.csr_array) -> sp.csr_array:
    """Divide each row (n, m) by the root of the sum of its squares; rows of zeros stay."""
    data = X.data.astype(np.float64)
    squares = np.add.reduceat(np.append(data * data, 0.0), X.indptr[:-1])
    sizes = np.diff(X.indptr)
    filled = (sizes > 0) & (squares > 0)
    data /= np.repeat(np.sqrt(np.where(filled, squares, 1.0)), sizes)
    return sp.csr_array((data, X.indices, X.indptr), shape=X.shape)


def in_whole_units(values: Array) -> IntArray:
    """Round weights above 0 to multiples of `UNIT`, of which each has one at least."""
    units: IntArray = np.maximum(np.rint(values / UNIT), 1.0).astype(np.int64)
    return units


def smooth_idf(documents: Array, n_rows: int) -> FloatArray:
    """Give the inverse document frequency (m,) of features that so many of n rows hold, (m,).

    Nothing is 0 in it: a feature of all rows weighs 1.
    """
    idf: FloatArray = np.log((1.0 + n_rows) / (1.0 + np.asarray(documents))) + 1.0
    return idf


def scaled(X: Any, factors: FloatArray) -> Any:
    """Multiply each column of X, (n, m) or a row (m,), by its factor; sparse if X is."""
    if not is_sparse(X):
        return np.asarray(X) * factors
    rows = X.tocsr()
    return sp.csr_array((rows.data * factors[rows.indices], rows.indices, rows.indptr), rows.shape)


def rows_times(table: Any, factors: FloatArray) -> Any:
    """Multiply each row of a table of sums (m, C) by its factor."""
    if not isinstance(table, SparseTable):
        return table * factors[:, None]
    return replace(table, values=table.values * factors[table.cells // table.shape[1]])
