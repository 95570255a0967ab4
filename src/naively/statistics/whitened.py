"""Moments of whitened features S^(-1/2) x, where S is the covariance within the classes."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import Any, Self, final

import numpy as np

from naively._types import Array, FloatArray, IntArray
from naively.statistics.matrix import is_sparse
from naively.statistics.moments import ClassMoments
from naively.statistics.rows import LabelledRows

Covariance = Callable[[FloatArray], FloatArray]  # centered rows (n, m) -> (m, m)


@final
@dataclass(frozen=True, slots=True, eq=False)
class WhitenedMoments:
    """Moments of whitened features, and the matrix that makes them.

    They do not add up: whitening depends on all rows.
    """

    moments: ClassMoments  # first moments of the whitened features
    whitener: FloatArray  # (m, m) symmetric: whitened rows are X @ whitener

    @classmethod
    def from_matrix(
        cls,
        X: Any,
        y: Any,
        sample_weight: Any = None,
        *,
        classes: Any = None,
        covariance: Covariance | None = None,
    ) -> Self:
        """Estimate the covariance within the classes, and take the moments of whitened rows.

        Parameters
        ----------
        X : array-like or data frame of shape (n, m)
            Dense rows of finite numbers.
        y : array-like of shape (n,)
            Labels: whole numbers, booleans or strings.
        sample_weight : array-like of shape (n,), default=None
            Weight of each row; only with the default covariance.
        classes : array-like of shape (C,), default=None
            All labels, where y may lack some. By default those in y.
        covariance : function, default=None
            Estimates S from rows with the mean of their class taken away. By default the
            covariance of those rows.

        Returns
        -------
        moments : WhitenedMoments
            The statistics.

        Raises
        ------
        ValueError
            If the data cannot be used, or S is singular; the message says what to do.
        """
        rows = LabelledRows.of(X, y, sample_weight, classes)
        if is_sparse(rows.matrix):
            raise ValueError(
                "A full covariance needs dense X (it mixes all columns); use "
                "`covariance='diagonal'`, or pass X.toarray() if it has few columns."
            )
        moments = ClassMoments.from_matrix(X, y, sample_weight, classes=classes, deviations=False)
        centered = np.asarray(rows.matrix, dtype=np.float64) - moments.mean[rows.codes]
        if covariance is None:
            weights = np.ones(len(centered)) if rows.weights is None else rows.weights
            matrix = (centered * weights[:, None]).T @ centered / weights.sum()
        elif sample_weight is not None:
            raise ValueError(
                "`sample_weight` cannot be used with a covariance estimator, which takes no "
                "weights; use `covariance='full'`, or repeat rows."
            )
        else:
            matrix = covariance(centered)
        whitener = _inverse_root(matrix, len(centered))
        return cls(replace(moments, total=moments.total @ whitener), whitener)

    @property
    def classes(self) -> Array:
        """Labels (C,), ascending."""
        return self.moments.classes

    @property
    def class_rows(self) -> IntArray:
        """Rows of positive weight of each class, (C,)."""
        return self.moments.class_rows

    @property
    def class_weight(self) -> FloatArray:
        """Sum of the weights of the rows of each class, (C,)."""
        return self.moments.class_weight

    @property
    def n_features(self) -> int:
        """Number of columns, and of whitened features, m."""
        return self.moments.n_features


def _inverse_root(covariance: FloatArray, n_rows: int) -> FloatArray:
    """Symmetric S^(-1/2)."""
    n_features = len(covariance)
    values, vectors = np.linalg.eigh(covariance)
    least = n_features * np.finfo(np.float64).eps * values.max(initial=0.0)
    rank = int((values > least).sum())
    if rank < n_features:
        raise ValueError(
            f"The covariance within the classes is singular: rank {rank} of {n_features} "
            f"features, from {n_rows} rows. Shrink it, for example with "
            "`covariance=sklearn.covariance.LedoitWolf()`, or use `covariance='diagonal'`."
        )
    return np.asarray((vectors / np.sqrt(values)) @ vectors.T)
