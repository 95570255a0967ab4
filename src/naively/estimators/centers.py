"""Sparse nearest-center classifiers: by squared and by absolute distance."""

from __future__ import annotations

from typing import Any, Self, final

import numpy as np
from sklearn.base import clone
from sklearn.utils.validation import check_is_fitted

from naively._types import Array, BoolArray, FloatArray
from naively.estimators.base import (
    AbstractSparseClassifier,
    DecisionFunctionMixin,
    LinearWeightsMixin,
    PartialFitMixin,
    PosteriorMixin,
    contrast,
)
from naively.models import l1_centers, l2_centers
from naively.models.family import Family
from naively.models.priors import log_prior
from naively.statistics.moments import ClassMoments
from naively.statistics.values import ClassMedians
from naively.statistics.whitened import WhitenedMoments


def center_log_prior(priors: Any, class_weight: FloatArray) -> FloatArray:
    """Log prior that `priors` asks for, (C,); zeros where classes weigh the same.

    Scores are distances in the unit of the data: a constant of every class would swallow small
    ones by rounding.
    """
    if priors is None or (isinstance(priors, str) and priors == "uniform"):
        return np.zeros(len(class_weight))
    if isinstance(priors, str) and priors == "empirical":
        return log_prior(class_weight)
    if isinstance(priors, str):
        raise ValueError(
            "`priors` must be None, 'uniform', 'empirical' or an array with one probability per "
            f"class; got {priors!r}."
        )
    return log_prior(class_weight, class_prior=priors, name="priors")


@final
class SparseL2Centers(
    LinearWeightsMixin,
    DecisionFunctionMixin,
    PosteriorMixin,
    PartialFitMixin,
    AbstractSparseClassifier,
):
    r"""Nearest class center by squared distance, with at most k features whose centers differ.

    Minimises the squared distance of the rows from the center of their class, averaged within
    each class, subject to at most `k` features having centers that differ between the classes.
    The features whose class means lie furthest apart are the optimum, for every k.

    Parameters
    ----------
    k : int, float, "all" or "auto", default=10
        Number of features, or a fraction of them in (0, 1]; "auto" chooses by cross-validation
        with the selection inside each fold (see :func:`naively.error_path`). "all" gives
        :class:`~sklearn.neighbors.NearestCentroid`.
    scale : {None, "std", "variance"}, default=None
        What every feature is divided by: its standard deviation within the classes (diagonal
        Mahalanobis distance) or its variance within the classes. A feature without spread within
        the classes whose means differ separates them perfectly, scores inf and comes first.
    covariance : {None, "diagonal", "full"} or covariance estimator, default=None
        Mahalanobis distance. "diagonal" is `scale="std"`. "full", or an estimator of
        :mod:`sklearn.covariance` such as `LedoitWolf()`, whitens the features with the inverse
        root of their covariance within the classes. **The k features selected are then whitened
        features, each a combination of all columns; no column is selected.** There is no
        `support_` and no `scores_`, `get_support` raises, :meth:`transform` returns
        whitened features named "whitened0", and so on. X must be dense.
    priors : {None, "uniform", "empirical"} or array-like of shape (n_classes,), default=None
        Log priors added to minus half the squared distance. By default classes weigh the same.

    Attributes
    ----------
    support_ : ndarray of shape (n_features,)
        Mask of the selected features.
    certificate_ : Certificate
        Objective and bound, in squared distance saved; they agree.
    centers_, centroids_ : ndarray of shape (n_classes, n_features)
        Class means on the support, their mean over the classes elsewhere.
    coef_ : ndarray of shape (1, n_features) or (n_classes, n_features)
        Weights of the rule; zero outside the support.
    intercept_ : ndarray of shape (1,) or (n_classes,)
        Intercept of the rule.
    scores_ : ndarray of shape (n_features,)
        Gain of each feature: squared distance between its class means (from their mean), scaled.
    classes_ : ndarray of shape (n_classes,)
        Class labels.
    class_prior_ : ndarray of shape (n_classes,)
        Prior of each class.
    component_support_, component_scores_ : ndarray of shape (n_features,)
        Mask and gains of the whitened features; full covariance only.
    components_ : ndarray of shape (k, n_features)
        Weights of all columns in each selected whitened feature; full covariance only.
    statistics_ : ClassMoments or WhitenedMoments
        The class statistics, from which everything above follows.
    n_features_in_ : int
        Number of features seen in `fit`.
    feature_names_in_ : ndarray of shape (n_features,)
        Names of the features, if `X` has string column names.

    See Also
    --------
    SparseL1Centers : Medians instead of means: outliers do not count.
    SparseGaussianNB : Spreads that differ between the features, and between the classes.

    References
    ----------
    Calafiore, Fracastoro, "Sparse l1 and l2 center classifiers", arXiv 1911.07320; proposition 1.

    Examples
    --------
    >>> from naively import SparseL2Centers
    >>> X = [[1.0, 5.0, 0.2], [1.2, 1.0, 0.1], [3.0, 1.0, 0.1], [3.2, 5.0, 0.3]]
    >>> model = SparseL2Centers(k=1).fit(X, ["low", "low", "high", "high"])
    >>> model.get_support(indices=True)
    array([0])
    >>> str(model.predict([[2.9, 3.0, 0.2]])[0])
    'high'
    """

    def __init__(
        self, k: Any = 10, *, scale: Any = None, covariance: Any = None, priors: Any = None
    ) -> None:
        self.k = k
        self.scale = scale
        self.covariance = covariance
        self.priors = priors

    # -- the model ------------------------------------------------------------------------------

    def _gather(self, X: Any, y: Array, sample_weight: Any, classes: Any) -> Any:
        if self._whitens:
            return WhitenedMoments.from_matrix(
                X, y, sample_weight, classes=classes, covariance=self._estimate
            )
        deviations = self._checked_scale() is not None
        return ClassMoments.from_matrix(X, y, sample_weight, classes=classes, deviations=deviations)

    def family(self, statistics: Any) -> Family[Any]:
        """Return the model as functions of its statistics, parameters checked and bound."""
        if self._whitens:
            return l2_centers.whitened_l2_centers()
        return l2_centers.l2_centers(self._checked_scale())

    def _log_prior(self, statistics: Any) -> FloatArray:
        return center_log_prior(self.priors, statistics.class_weight)

    def _subtracts(self) -> bool:
        return not self._whitens

    @property
    def _whitens(self) -> bool:
        return self.covariance == "full" or hasattr(self.covariance, "fit")

    @property
    def _estimate(self) -> Any:
        if isinstance(self.covariance, str):
            return None
        return lambda centered: clone(self.covariance).fit(centered).covariance_

    def _checked_scale(self) -> Any:
        if self.covariance is None:
            return self.scale
        if not (isinstance(self.covariance, str) and self.covariance == "diagonal"):
            raise ValueError(
                "`covariance` must be None, 'diagonal', 'full' or a covariance estimator of "
                f"scikit-learn; got {self.covariance!r}."
            )
        if self.scale not in (None, "std"):
            raise ValueError(
                f"`covariance='diagonal'` divides by the standard deviation; got also "
                f"`scale={self.scale!r}`. Give one of the two."
            )
        return "std"

    def partial_fit(self, X: Any, y: Any, classes: Any = None, sample_weight: Any = None) -> Self:
        """Add a batch of rows; the result is that of `fit` on all rows seen so far.

        Parameters
        ----------
        X : {array-like, sparse matrix, data frame} of shape (n_samples, n_features)
            Rows of this batch.
        y : array-like of shape (n_samples,)
            Class labels.
        classes : array-like of shape (n_classes,), default=None
            All labels that may ever occur; required at the first call, optional afterwards.
        sample_weight : array-like of shape (n_samples,), default=None
            Weight of each row.

        Returns
        -------
        self : object
            The fitted estimator.

        Raises
        ------
        ValueError
            As `fit`; also if `classes` is missing at the first call, differs from that of an
            earlier call, or lacks a label of `y`, and with a full covariance, since whitening
            depends on all rows. The estimator is then unchanged.
        """
        if self._whitens:
            raise ValueError(
                "partial_fit needs `covariance` None or 'diagonal': a full covariance depends on "
                "all rows. Use `fit`."
            )
        return super().partial_fit(X, y, classes, sample_weight)

    # -- whitened features ----------------------------------------------------------------------

    def _selected(self, X: Any) -> Any:
        if not self._is_whitened:
            return super()._selected(X)
        return X @ self.statistics_.whitener[:, self.selection_.support]

    @property
    def _is_whitened(self) -> bool:
        check_is_fitted(self)
        return isinstance(self.statistics_, WhitenedMoments)

    def _refuse_columns(self, name: str, instead: str) -> None:
        if self._is_whitened:
            raise AttributeError(
                f"With a full covariance there is no `{name}`: whitened features are selected, "
                f"each a combination of all columns, and no column is. See `{instead}`."
            )

    @property
    def support_(self) -> BoolArray:
        """Mask of the selected features, (n_features,)."""
        self._refuse_columns("support_", "component_support_")
        return super().support_

    @property
    def scores_(self) -> FloatArray:
        """Gain of each feature, (n_features,)."""
        self._refuse_columns("scores_", "component_scores_")
        return super().scores_

    @property
    def component_support_(self) -> BoolArray:
        """Mask of the selected whitened features, (n_features,); full covariance only."""
        self._check_whitened("component_support_")
        return super().support_

    @property
    def component_scores_(self) -> FloatArray:
        """Gain of each whitened feature, (n_features,); full covariance only."""
        self._check_whitened("component_scores_")
        return super().scores_

    @property
    def components_(self) -> FloatArray:
        """Weights of all columns in each selected whitened feature, (k, n_features)."""
        self._check_whitened("components_")
        return np.asarray(self.statistics_.whitener[self.selection_.support])

    def _check_whitened(self, name: str) -> None:
        if not self._is_whitened:
            raise AttributeError(f"`{name}` exists with a full covariance only.")

    def transform(self, X: Any) -> Any:
        """Reduce rows to the selected features.

        Parameters
        ----------
        X : {array-like, sparse matrix, data frame} of shape (n_samples, n_features)
            Rows; NaN and infinity are refused in every container.

        Returns
        -------
        X : {ndarray, sparse matrix, data frame} of shape (n_samples, k)
            The selected columns, in their order in `X`; with a full covariance the selected
            whitened features.
        """
        if not self._is_whitened:
            return super().transform(X)
        return self._selected(self._check_rows(X))

    def get_feature_names_out(self, input_features: Any = None) -> Array:
        """Name the features that :meth:`transform` returns.

        Parameters
        ----------
        input_features : array-like of str, default=None
            Names of the columns, if they were not seen in `fit`.

        Returns
        -------
        names : ndarray of str
            Selected columns; with a full covariance "whitened0" and so on.
        """
        if not self._is_whitened:
            return np.asarray(super().get_feature_names_out(input_features))
        return np.array([f"whitened{i}" for i in self.selection_.support], dtype=object)

    # -- what was learned -----------------------------------------------------------------------

    @property
    def centers_(self) -> FloatArray:
        """Center of each class, (n_classes, n_features), in the units of the columns."""
        support = self.selection_.support
        if not self._is_whitened:
            return l2_centers.sparse_centers(self.statistics_, support)
        whitened = l2_centers.sparse_centers(self.statistics_.moments, support)
        return np.asarray(np.linalg.solve(self.statistics_.whitener, whitened.T).T)

    @property
    def centroids_(self) -> FloatArray:
        """Center of each class: the name in scikit-learn's NearestCentroid."""
        return self.centers_

    @property
    def coef_(self) -> FloatArray:
        """Weights of the columns, (1, n_features) for two classes, else (n_classes, n_features).

        Zero outside the support; with a full covariance no column is.
        """
        if not self._is_whitened:
            return super().coef_
        return np.asarray(contrast(self.rule_.weights) @ self.components_)

    @property
    def class_prior_(self) -> FloatArray:
        """Prior of each class, (n_classes,)."""
        return np.exp(self._log_prior(self.statistics_))


@final
class SparseL1Centers(DecisionFunctionMixin, AbstractSparseClassifier):
    r"""Nearest class center by absolute distance, with at most k features whose centers differ.

    Minimises the absolute distance of the rows from the center of their class, averaged within
    each class, subject to at most `k` features having centers that differ between the classes.
    Centers are medians, so that outliers do not count. The features whose dispersion falls most
    when the classes have medians of their own are the optimum, for every k.

    Medians of batches do not add up to those of all rows: there is no `partial_fit`. For data in
    batches, collect the values (:class:`naively.ClassValues`), and pass their `medians()` to
    :meth:`from_statistics`.

    Parameters
    ----------
    k : int, float, "all" or "auto", default=10
        Number of features, or a fraction of them in (0, 1]; "auto" chooses by cross-validation
        with the selection inside each fold (see :func:`naively.error_path`). "all" gives
        :class:`~sklearn.neighbors.NearestCentroid` with `metric="manhattan"`.
    priors : {None, "uniform", "empirical"} or array-like of shape (n_classes,), default=None
        Log priors added to minus the distance. By default classes weigh the same.

    Attributes
    ----------
    support_ : ndarray of shape (n_features,)
        Mask of the selected features.
    certificate_ : Certificate
        Objective and bound, in distance saved; they agree.
    centers_, centroids_ : ndarray of shape (n_classes, n_features)
        Class medians on the support, elsewhere the median of all rows, each class weighing the
        same. Midpoints where a median is not unique.
    dispersion_ : ndarray of shape (n_classes, n_features)
        Mean absolute deviation from the median of the class.
    scores_ : ndarray of shape (n_features,)
        Gain of each feature: distance that medians by class save, summed over the classes.
    classes_ : ndarray of shape (n_classes,)
        Class labels.
    class_prior_ : ndarray of shape (n_classes,)
        Prior of each class.
    statistics_ : ClassMedians
        The class statistics, from which everything above follows.
    n_features_in_ : int
        Number of features seen in `fit`.
    feature_names_in_ : ndarray of shape (n_features,)
        Names of the features, if `X` has string column names.

    See Also
    --------
    SparseL2Centers : Means instead of medians; a linear rule; trains in batches.

    References
    ----------
    Calafiore, Fracastoro, "Sparse l1 and l2 center classifiers", arXiv 1911.07320; proposition 3.

    Examples
    --------
    >>> from naively import SparseL1Centers
    >>> X = [[0, 0], [0, 0], [0, 60], [2, 0], [2, 0], [2, 0]]
    >>> model = SparseL1Centers(k=1).fit(X, ["a", "a", "a", "b", "b", "b"])
    >>> model.get_support(indices=True)
    array([0])
    >>> model.centers_
    array([[0., 0.],
           [2., 0.]])
    """

    def __init__(self, k: Any = 10, *, priors: Any = None) -> None:
        self.k = k
        self.priors = priors

    def _gather(self, X: Any, y: Array, sample_weight: Any, classes: Any) -> ClassMedians:
        return ClassMedians.from_matrix(X, y, sample_weight, classes=classes)

    def _subtracts(self) -> bool:
        return False

    def family(self, statistics: Any) -> Family[Any]:
        """Return the model as functions of its statistics."""
        return l1_centers.l1_centers()

    def _log_prior(self, statistics: Any) -> FloatArray:
        return center_log_prior(self.priors, statistics.class_weight)

    @property
    def centers_(self) -> FloatArray:
        """Center of each class, (n_classes, n_features)."""
        return l1_centers.sparse_centers(self.statistics_, self.selection_.support)

    @property
    def centroids_(self) -> FloatArray:
        """Center of each class: the name in scikit-learn's NearestCentroid."""
        return self.centers_

    @property
    def dispersion_(self) -> FloatArray:
        """Mean absolute deviation from the median of the class, (n_classes, n_features)."""
        return self.statistics_.dispersion

    @property
    def class_prior_(self) -> FloatArray:
        """Prior of each class, (n_classes,)."""
        return np.exp(self._log_prior(self.statistics_))
