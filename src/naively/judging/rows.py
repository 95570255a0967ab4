"""Labelled rows to judge models by, and their statistics."""

from __future__ import annotations

from dataclasses import dataclass
from typing import cast

import numpy as np
from numpy.typing import ArrayLike
from scipy import sparse

from naively._types import Array, FloatArray, IntArray
from naively.models.model import AddingStatistics, Model, S
from naively.statistics.labels import encode_labels
from naively.statistics.matrix import Matrix, is_sparse
from naively.statistics.weights import check_weights


@dataclass(frozen=True, slots=True)
class Rows:
    """A checked matrix, with the class and the weight of each of its rows."""

    X: Matrix  # (n, m) CSR or dense
    labels: IntArray  # (n,) position of the class
    weight: FloatArray  # (n,), or (0,) if all are 1

    def take(self, rows: IntArray) -> Rows:
        """Return some of the rows."""
        weight = self.weight[rows] if len(self.weight) else self.weight
        return Rows(self.X[rows], self.labels[rows], weight)

    @property
    def total(self) -> float:
        """Weight of all rows."""
        return float(self.weight.sum()) if len(self.weight) else float(len(self.labels))

    @property
    def equal_rows(self) -> float:
        """How many rows of equal weight make a mean that varies as much as that of these."""
        if not len(self.weight):
            return float(len(self.labels))
        share = self.weight / self.weight.max(initial=0.0)
        return float(share.sum() ** 2 / np.square(share).sum())


def weighted_rows(X: Matrix, labels: IntArray, sample_weight: ArrayLike | None) -> Rows:
    """Rows with their weights checked, those of weight zero included; sparse ones as CSR."""
    X = X.tocsr() if is_sparse(X) else X
    weight = check_weights(sample_weight, len(labels))
    return Rows(X, labels, np.empty(0) if weight is None else np.ascontiguousarray(weight))


def checked_rows(X: Matrix, y: Array, sample_weight: ArrayLike | None) -> Rows:
    """Rows of positive weight, sparse ones as CSR."""
    labels = encode_labels(y)[1].astype(np.int64)
    rows = weighted_rows(X, labels, sample_weight)
    kept = rows.weight > 0
    return rows if kept.all() else rows.take(np.flatnonzero(kept))


def gather_rows(model: Model[S], rows: Rows, classes: Array) -> S:
    """Statistics of some rows, all classes included."""
    weight = rows.weight if len(rows.weight) else None
    return model.gather(rows.X, classes[rows.labels], weight, classes=classes)


def without(total: S, part: S) -> S:
    """Statistics of all rows but some, from those of all and those of some."""
    return cast("S", cast("AddingStatistics", total) - cast("AddingStatistics", part))


def as_csr(X: Array) -> Matrix:
    """Return dense rows as CSR, which scipy has not of half precision."""
    return sparse.csr_array(X.astype(np.float32) if X.dtype == np.float16 else X)


def dense_row(X: Matrix, row: int) -> FloatArray:
    """Return one row (q,)."""
    one = X[row : row + 1]
    return np.asarray((one.toarray() if hasattr(one, "toarray") else one)[0], dtype=np.float64)
