"""Missing values, left out of their own feature: rows without them, and the weight of what is seen.

The likelihood of naive Bayes is a product over the features, so a row of which one entry is missing
(NaN) still says what it says of the others: the likelihood of what is observed, with each feature
averaged over its own rows. A missing value never stands for a value.
"""

from __future__ import annotations

from dataclasses import replace

import numpy as np

from naively._kernels.residue import RESIDUE
from naively._types import Array, FloatArray
from naively.statistics.matrix import Matrix, canonical, is_sparse
from naively.statistics.rows import LabelledRows
from naively.statistics.source import Quantity
from naively.statistics.tally import tally


def missing_mask(matrix: Matrix) -> Matrix | None:
    """Where entries are missing: (n, m) bool, sparse if the matrix is; None if nowhere."""
    values = matrix.data if is_sparse(matrix) else matrix
    if values.dtype.kind != "f":
        return None
    missing = np.isnan(values)
    if not missing.any():
        return None
    if not is_sparse(matrix):
        return missing
    mask = type(matrix)((missing, matrix.indices, matrix.indptr), shape=matrix.shape, copy=True)
    mask.eliminate_zeros()
    return mask


def filled(matrix: Matrix, mask: Matrix | None, value: float | Array = 0.0) -> Matrix:
    """Return a matrix with something in the place of what is missing; nothing if it is sparse."""
    if mask is None:
        return matrix
    if not is_sparse(matrix):
        return np.where(mask, np.asarray(value, dtype=matrix.dtype), matrix)
    kept = type(matrix)(
        (np.nan_to_num(matrix.data, nan=0.0, posinf=np.inf, neginf=-np.inf), matrix.indices,
         matrix.indptr), shape=matrix.shape, copy=True,
    )  # fmt: skip
    kept.eliminate_zeros()
    return kept


def split_missing(rows: LabelledRows) -> tuple[LabelledRows, Matrix | None, FloatArray]:
    """Rows with nothing in the place of what is missing, where it is, and what is observed.

    Returns
    -------
    rows : LabelledRows
        Zeros where entries are missing; canonical if sparse.
    mask : (n, m) bool, or None
        See `missing_mask`.
    observed : (m, C)
        Weight of the rows of each class in which a feature is observed.
    """
    matrix = canonical(rows.matrix) if is_sparse(rows.matrix) else rows.matrix
    mask = missing_mask(matrix)
    weight = rows.class_weight
    observed = np.tile(weight, (matrix.shape[1], 1))
    if mask is not None:
        presence = Quantity(presence=True, threshold=0.0)
        lacking, _ = tally(mask, rows.codes, rows.weights, len(weight), presence)
        observed = weight - np.asarray(lacking, dtype=np.float64)
        observed[observed <= RESIDUE * weight] = 0.0
    return replace(rows, matrix=filled(matrix, mask)), mask, observed
