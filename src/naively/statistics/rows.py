"""Rows of any container with their classes and weights, checked."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, Self, final

import numpy as np

from naively._types import Array, FloatArray, IntArray
from naively.statistics.labels import encode_labels
from naively.statistics.matrix import Matrix, as_matrix, is_sparse
from naively.statistics.threads import in_threads
from naively.statistics.weights import check_weights

_PIECE = 1 << 18  # values that are checked at a time


@final
@dataclass(frozen=True, slots=True)
class LabelledRows:
    """A matrix, and the class and weight of each of its rows.

    Values are not looked at: see `check_finite`.
    """

    matrix: Matrix  # (n, m) CSR, CSC or dense
    classes: Array  # (C,) labels, ascending
    codes: Array  # (n,) position of the label of each row in `classes`
    weights: FloatArray | None  # (n,) >= 0, or None: all 1
    groups: Array | None = None  # (n,) rows of one are never parted where rows are divided

    @classmethod
    def of(cls, X: Any, y: Any, sample_weight: Any = None, classes: Any = None) -> Self:
        """Check and encode what an estimator or a user hands over.

        Raises
        ------
        ValueError
            If shapes disagree, or labels or weights cannot be used.
        """
        matrix = as_matrix(X)
        if matrix.dtype == np.float16:  # compiled code does not know it
            matrix = matrix.astype(np.float32)
        classes, codes = encode_labels(y, classes)
        if len(codes) != matrix.shape[0]:
            raise ValueError(
                f"X and y must have the same number of rows; got {matrix.shape[0]} and "
                f"{len(codes)}."
            )
        return cls(matrix, classes, codes, check_weights(sample_weight, len(codes)))

    @property
    def class_rows(self) -> IntArray:
        """Rows of positive weight of each class, (C,)."""
        codes = self.codes if self.weights is None else self.codes[self.weights > 0]
        return np.bincount(codes, minlength=len(self.classes)).astype(np.int64)

    @property
    def class_weight(self) -> FloatArray:
        """Sum of the weights of the rows of each class, (C,)."""
        counts = np.bincount(self.codes, self.weights, len(self.classes))
        return counts.astype(np.float64)

    def sums(self, values: FloatArray) -> FloatArray:
        """Weighted sum of a value of each row (n,) in each class, (C,)."""
        weighted = values if self.weights is None else values * self.weights
        return np.bincount(self.codes, weighted, len(self.classes)).astype(np.float64)


def _are_finite(values: Array) -> bool:
    """Whether all values are finite, looked at in pieces that stay in the cache."""
    flat = values.ravel(order="K")  # a view, unless the values are spaced
    pieces = range(0, len(flat), _PIECE)
    return all(in_threads(lambda at: bool(np.isfinite(flat[at : at + _PIECE]).all()), pieces))


def check_finite(matrix: Matrix) -> None:
    """Raise an error that names the first value that is not finite, if there is one.

    Raises
    ------
    ValueError
        If a value is NaN or infinite.
    """
    sparse = is_sparse(matrix)
    values = matrix.data if sparse else matrix
    if values.dtype.kind != "f" or _are_finite(values):
        return
    position = int(np.argmin(np.isfinite(values)))
    value = values.flat[position]
    kind = "NaN" if np.isnan(value) else "infinity"
    if sparse:
        coordinates = matrix.tocoo(copy=False)
        row, column = coordinates.row[position], coordinates.col[position]
    else:
        row, column = divmod(position, matrix.shape[1])
    raise ValueError(
        f"Input X contains {kind}: {value} at row {row}, column {column}. All values must be "
        "finite; fill in missing values or drop their rows."
    )


# A mean below it, other than 0, has a square that double precision cannot hold.
_SMALL = 1e-140


def check_squares(total: FloatArray, weight: FloatArray) -> None:
    """Refuse weighted sums (m, C) of values whose squares would all be 0.

    Raises
    ------
    ValueError
        Naming the first such column.
    """
    size = np.abs(total)
    if size.min(initial=np.inf) >= _SMALL * weight.max(initial=0.0):  # as it is most often
        return
    lost = (size < _SMALL * weight) & (size > 0)
    if lost.any():
        column = int(np.flatnonzero(lost.any(axis=1))[0])
        raise ValueError(
            f"The values of column {column} of X are too small for squares in double precision (a "
            f"mean other than 0 is below {_SMALL:g}); multiply the column by a constant."
        )


def refuse_overflow(matrix: Matrix) -> None:
    """Explain sums that are not finite: by a value of the matrix, or by their size.

    Raises
    ------
    ValueError
        Always.
    """
    check_finite(matrix)
    raise ValueError(
        "The values of X are too large for sums in double precision; divide X by a constant."
    )
