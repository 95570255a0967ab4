"""Whitening: features without covariance within the classes."""

from __future__ import annotations

from typing import Any, Self, final

import numpy as np
from sklearn.base import (
    BaseEstimator,
    ClassNamePrefixFeaturesOutMixin,
    TransformerMixin,
    clone,
)
from sklearn.utils.validation import check_is_fitted, validate_data

from naively._types import Array, FloatArray
from naively.estimators.all_or_nothing import all_or_nothing
from naively.statistics.moments import ClassMoments
from naively.statistics.rows import LabelledRows


@final
class Whitener(ClassNamePrefixFeaturesOutMixin, TransformerMixin, BaseEstimator):
    r"""Whitened features S^(-1/2) x, whose squared distance is the Mahalanobis distance of x.

    Before :class:`SparseL2Centers` this is the variant of its paper with a full covariance (CEN
    section 4.1): ``make_pipeline(Whitener(), SparseL2Centers(k))`` decides by Mahalanobis distance,
    with at most k whitened features whose centers differ. **What is then selected are whitened
    features, each a combination of all columns; no column is.** With a diagonal covariance columns
    stay columns: ``SparseL2Centers(k, scale="std")``.

    Parameters
    ----------
    covariance : "within", covariance estimator or array-like, default="within"
        Where S comes from: the covariance of the rows about the means of their classes; an
        estimator of scikit-learn that is fitted to rows with the mean of their class taken away,
        such as :class:`~sklearn.covariance.LedoitWolf`, if there are too few rows for that; or S
        itself, of shape (n_features, n_features).

    Attributes
    ----------
    covariance_ : ndarray of shape (n_features, n_features)
        The covariance S.
    components_ : ndarray of shape (n_features, n_features)
        S^(-1/2), symmetric: weights of all columns in each whitened feature.
    n_features_in_ : int
        Number of features seen in `fit`.
    feature_names_in_ : ndarray of shape (n_features,)
        Names of the features, if `X` has string column names.

    See Also
    --------
    SparseL2Centers : Nearest centers, of whitened features or of columns.

    References
    ----------
    Calafiore, Fracastoro, "Sparse l1 and l2 center classifiers", arXiv 1911.07320 ("CEN");
    section 4.1.

    Examples
    --------
    >>> from sklearn.pipeline import make_pipeline
    >>> from naively import SparseL2Centers, Whitener
    >>> X = [[0.0, 1.0], [1.0, 2.1], [2.0, 2.9], [1.0, 0.0], [2.0, 1.1], [3.0, 1.9]]
    >>> model = make_pipeline(Whitener(), SparseL2Centers(k=1)).fit(X, [0, 0, 0, 1, 1, 1])
    >>> model.predict([[5.0, 6.0], [6.0, 5.0]])
    array([0, 1])
    """

    def __init__(self, covariance: Any = "within") -> None:
        self.covariance = covariance

    @all_or_nothing
    def fit(self, X: Any, y: Any = None, sample_weight: Any = None) -> Self:
        """Estimate the covariance, and take its root.

        Parameters
        ----------
        X : {array-like, data frame} of shape (n_samples, n_features)
            Dense rows of finite numbers.
        y : array-like of shape (n_samples,), default=None
            Class labels; not needed if the covariance is given.
        sample_weight : array-like of shape (n_samples,), default=None
            Weight of each row, with "within" only.

        Returns
        -------
        self : object
            The fitted transformer.

        Raises
        ------
        ValueError
            If labels are missing, weights cannot be used, or the covariance is singular.
        """
        given = {} if self._is_given else {"y": y}
        checked = validate_data(self, X, **given, dtype=np.float64)
        rows = checked if self._is_given else checked[0]
        labels = None if self._is_given else checked[1]
        self.covariance_ = self._estimated(rows, labels, sample_weight)
        self.components_ = _inverse_root(self.covariance_, len(rows))
        return self

    def transform(self, X: Any) -> Any:
        """Whiten rows.

        Parameters
        ----------
        X : {array-like, data frame} of shape (n_samples, n_features)
            Dense rows of finite numbers.

        Returns
        -------
        X : {ndarray, data frame} of shape (n_samples, n_features)
            Whitened features.
        """
        check_is_fitted(self)
        return validate_data(self, X, reset=False, dtype=np.float64) @ self.components_

    def inverse_transform(self, X: Any) -> FloatArray:
        """Return rows, or centers, of whitened features in the units of the columns.

        Parameters
        ----------
        X : array-like of shape (n_samples, n_features)
            Whitened rows.

        Returns
        -------
        X : ndarray of shape (n_samples, n_features)
            Rows.
        """
        check_is_fitted(self)
        return np.asarray(np.linalg.solve(self.components_, np.asarray(X, dtype=np.float64).T).T)

    @property
    def _is_given(self) -> bool:
        return not (isinstance(self.covariance, str) or hasattr(self.covariance, "fit"))

    @property
    def _n_features_out(self) -> int:
        return len(self.components_)

    def _estimated(self, X: FloatArray, y: Array | None, sample_weight: Any) -> FloatArray:
        if self._is_given:
            return _checked_covariance(self.covariance, X.shape[1])
        rows = LabelledRows.of(X, y, sample_weight)
        moments = ClassMoments.from_matrix(X, y, sample_weight, deviations=False)
        centered = X - moments.mean.T[rows.codes]
        if not isinstance(self.covariance, str):
            if sample_weight is not None:
                raise ValueError(
                    "`sample_weight` cannot be used with a covariance estimator, which takes no "
                    "weights; use `covariance='within'`, or repeat rows."
                )
            return np.asarray(clone(self.covariance).fit(centered).covariance_)
        if self.covariance != "within":
            raise ValueError(
                "`covariance` must be 'within', a covariance estimator of scikit-learn or a "
                f"matrix; got {self.covariance!r}."
            )
        weights = np.ones(len(centered)) if rows.weights is None else rows.weights
        return np.asarray((centered * weights[:, None]).T @ centered / weights.sum())

    def __sklearn_tags__(self) -> Any:
        """Say that labels are needed, unless the covariance is given."""
        tags = super().__sklearn_tags__()
        tags.target_tags.required = not self._is_given
        return tags


def _checked_covariance(covariance: Any, n_features: int) -> FloatArray:
    matrix = np.asarray(covariance, dtype=np.float64)
    if matrix.shape != (n_features, n_features) or not np.allclose(matrix, matrix.T):
        raise ValueError(
            f"`covariance` must be a symmetric matrix of shape ({n_features}, {n_features}), "
            f"(n_features, n_features); got shape {matrix.shape}."
        )
    return matrix


def _inverse_root(covariance: FloatArray, n_rows: int) -> FloatArray:
    """Symmetric S^(-1/2)."""
    n_features = len(covariance)
    values, vectors = np.linalg.eigh(covariance)
    least = n_features * np.finfo(np.float64).eps * values.max(initial=0.0)
    rank = int((values > least).sum())
    if rank < n_features:
        raise ValueError(
            f"The covariance is singular: rank {rank} of n_features={n_features}, from "
            f"n_samples={n_rows}. Shrink it, for example with "
            "`covariance=sklearn.covariance.LedoitWolf()`, or use SparseL2Centers(scale='std') "
            "without whitening."
        )
    return np.asarray((vectors / np.sqrt(values)) @ vectors.T)
