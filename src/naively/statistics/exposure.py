"""What a row is exposed to: how much was counted to make it, in whatever unit.

Cells are sequenced to different depths, documents are long or short, districts have many or few
inhabitants. The exposure of a row says so; counts are expected to be in proportion to it.
"""

from __future__ import annotations

from typing import Literal, TypeAlias

import numpy as np
import scipy.sparse as sp

from naively._types import FloatArray, IntArray
from naively.statistics.matrix import Matrix, is_sparse

# The sum of the row over all its columns, or the position of the column that holds it.
Exposure: TypeAlias = Literal["total"] | int | None


def exposures_of(X: Matrix, exposure: Exposure) -> FloatArray:
    """Exposure of each row (n,) of finite counts (n, m).

    Raises
    ------
    ValueError
        If one is below 0, or is 0 in a row that counts something.
    """
    wrong = fault_in(X, exposure)
    if wrong is not None:
        row, what = wrong
        raise ValueError(f"row {row}: {what}")
    return _found(X, exposure)


def _found(X: Matrix, exposure: Exposure) -> FloatArray:
    if not X.shape[0] or exposure == "total":
        return _totals(X)
    return _totals(X[:, [exposure]])


def fault_in(X: Matrix, exposure: Exposure) -> tuple[int, str] | None:
    """First row (n, m) whose exposure cannot be used, and why; None if there is none."""
    if exposure == "total" or not X.shape[0]:
        return None
    found = _found(X, exposure)
    nothing = np.flatnonzero(~((found > 0) & np.isfinite(found)))
    if not len(nothing):
        return None
    counted = _totals(X[nothing])
    for row, value, total in zip(nothing.tolist(), found[nothing], counted, strict=True):
        if value != 0:
            return row, f"`exposure` must be a finite number >= 0; got {value:g}."
        if total != 0:
            return row, (
                "`exposure` must be > 0 in a row that counts something; it is 0, and the entries "
                f"add up to {total:g}. Correct it, or leave the row out."
            )
    return None


def _totals(X: Matrix) -> FloatArray:
    if is_sparse(X):
        return np.asarray(X @ np.ones(X.shape[1]), dtype=np.float64)
    return np.asarray(np.asarray(X).sum(axis=1, dtype=np.float64))


def exposed_columns(X: Matrix, columns: IntArray, exposure: Exposure) -> Matrix:
    """Return some columns of rows (n, m), and after them their exposure: (n, q + 1)."""
    return beside(X[:, columns], exposures_of(X, exposure))


def beside(X: Matrix, found: FloatArray) -> Matrix:
    """Return rows (n, q) with one more column (n,), the last."""
    if is_sparse(X):
        return sp.hstack([X, sp.csr_array(found[:, None])], format="csr")
    return np.column_stack([X, found])


def place_of(exposure: Exposure, n_features: int) -> IntArray:
    """Position of the exposure among columns, (1,); one past the last where it is none of them.

    None has no place: (0,).
    """
    if exposure is None:
        return np.empty(0, dtype=np.int64)
    return np.array([n_features if exposure == "total" else exposure], dtype=np.int64)


def per_exposure(X: Matrix, found: FloatArray) -> Matrix:
    """Divide rows (n, m) by their exposure (n,); rows of exposure 0 count nothing."""
    divisor = np.where(found > 0, found, 1.0)
    if not is_sparse(X):
        return X / divisor[:, None]
    by_rows = X.format == "csr"
    of_entry = np.repeat(divisor, np.diff(X.indptr)) if by_rows else divisor[X.indices]
    return type(X)((X.data / of_entry, X.indices, X.indptr), shape=X.shape)
