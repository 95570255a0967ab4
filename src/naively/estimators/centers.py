"""Sparse nearest-center classifiers: by squared and by absolute distance."""

from __future__ import annotations

from typing import final

import numpy as np
from numpy.typing import ArrayLike

from naively._types import FloatArray, K
from naively.estimators.asked import describe_asked
from naively.estimators.base import (
    AbstractAddingClassifier,
    AbstractSparseClassifier,
    LinearWeightsMixin,
    PosteriorMixin,
)
from naively.models import l1_centers, l2_centers
from naively.models.constraints import Quota
from naively.models.model import Model, Objective
from naively.statistics.moments import ClassMoments
from naively.statistics.values import ClassMedians


@final
@describe_asked
class SparseL2Centers(
    LinearWeightsMixin[ClassMoments],
    PosteriorMixin,
    AbstractAddingClassifier[ClassMoments],
):
    r"""Nearest class center by squared distance, with at most k features whose centers differ.

    Minimises the squared distance of the rows from the center of their class, averaged within
    each class, subject to at most `k` features having centers that differ between the classes.
    The features whose class means lie furthest apart are the optimum, for every k.

    Parameters
    ----------
    k : int, float, "all", "auto", "simplest" or "best", default=10
        Number of features, or a fraction of them in (0, 1]; "auto" chooses by cross-validation
        with the selection inside each fold (see :func:`naively.error_path`): the fewest within a
        quarter of a standard error of the best; "simplest" those within one, "best" the best.
        "all" gives the centers of :class:`~sklearn.neighbors.NearestCentroid` and, as long as
        classes weigh the same, its predictions; see the notes.
    scale : {None, "std", "variance"}, default=None
        What every feature is divided by: its standard deviation within the classes (diagonal
        Mahalanobis distance) or its variance within the classes. A feature without spread within
        the classes whose means differ separates them perfectly, scores inf and comes first.
    priors : {None, "uniform", "empirical"} or array-like of shape (n_classes,), default=None
        Log priors added to minus half the squared distance. By default classes weigh the same.

    Attributes
    ----------
    support_ : ndarray of shape (n_features,)
        Mask of the selected features.
    certificate_ : Certificate or None
        Objective and bound, in squared distance saved; they agree.
    centers_, centroids_ : ndarray of shape (n_classes, n_features)
        Class means on the support, their mean over the classes elsewhere.
    coef_ : ndarray of shape (1, n_features) or (n_classes, n_features)
        Weights of the rule; zero outside the support.
    intercept_ : ndarray of shape (1,) or (n_classes,)
        Intercept of the rule.
    scores_ : ndarray of shape (n_features,)
        Gain of each feature: squared distance between its class means (from their mean), scaled.
    displaced_ : list of ndarray
        For each selected feature, with `redundancy`, features that would have come in by their
        gain and were left out because it says the same; those of the largest gain first.
    refitted_ : Refitted or None
        With `refit`: the `rule`, its inverse penalty `C`, and the `log_loss` of the folds in nats.
    temperature_ : float
        What the scores were divided by; 1 without `calibration`.
    stability_ : SelectionStability
        With `stable`: how often each feature was selected.
    classes_ : ndarray of shape (n_classes,)
        Class labels.
    class_prior_ : ndarray of shape (n_classes,)
        Prior of each class.
    statistics_ : ClassMoments
        The class statistics, from which everything above follows.
    n_features_in_ : int
        Number of features seen in `fit`.
    feature_names_in_ : ndarray of shape (n_features,)
        Names of the features, if `X` has string column names.

    See Also
    --------
    SparseL1Centers : Medians instead of means: outliers do not count.
    Whitener : A full covariance, instead of the variances of `scale`.
    SparseGaussianNB : Spreads that differ between the features, and between the classes.

    Notes
    -----
    Probabilities are those of normal classes of variance 1 in the scaled features, and `predict`
    takes the most probable class. In scikit-learn's NearestCentroid, with classes of equal priors,
    `predict` does without probabilities and takes the nearest center, as here without `scale`. Its
    probabilities, and its predictions with other priors, are of something else: features divided by
    their standard deviation, and scores of twice the log posterior.

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
        self,
        k: K = 10,
        *,
        scale: str | None = None,
        priors: ArrayLike | None = None,
        missing: str = "error",
        objective: Objective = "likelihood",
        redundancy: str | None = None,
        candidates: int | None = None,
        refit: str | None = None,
        calibration: str | None = None,
        stable: float | None = None,
        required: ArrayLike | None = None,
        excluded: ArrayLike | None = None,
        groups: ArrayLike | None = None,
        costs: ArrayLike | None = None,
        budget: float | None = None,
        quota: Quota | None = None,
    ) -> None:
        self.k = k
        self.scale = scale
        self.priors, self.missing = priors, missing
        self.objective = objective
        self.redundancy, self.candidates, self.refit, self.calibration = (
            redundancy,
            candidates,
            refit,
            calibration,
        )
        self.stable = stable
        self.required, self.excluded, self.groups = required, excluded, groups
        self.costs, self.budget, self.quota = costs, budget, quota

    # -- the model ------------------------------------------------------------------------------

    def _model(self) -> Model[ClassMoments]:
        return l2_centers.model(scale=self.scale, priors=self.priors, missing=self.missing)

    # -- what was learned -----------------------------------------------------------------------

    @property
    def centers_(self) -> FloatArray:
        """Center of each class, (n_classes, n_features), in the units of the columns."""
        return l2_centers.sparse_centers(self.statistics_, self.selection_.support)

    @property
    def centroids_(self) -> FloatArray:
        """Center of each class: the name in scikit-learn's NearestCentroid."""
        return self.centers_

    @property
    def class_prior_(self) -> FloatArray:
        """Prior of each class, (n_classes,)."""
        return np.exp(self.model_.log_prior(self.statistics_))


@final
@describe_asked
class SparseL1Centers(AbstractSparseClassifier[ClassMedians]):
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
    k : int, float, "all", "auto", "simplest" or "best", default=10
        Number of features, or a fraction of them in (0, 1]; "auto" chooses by cross-validation
        with the selection inside each fold (see :func:`naively.error_path`): the fewest within a
        quarter of a standard error of the best; "simplest" those within one, "best" the best.
        "all" gives the centers of :class:`~sklearn.neighbors.NearestCentroid` with
        `metric="manhattan"` and, as long as classes weigh the same, its predictions; see the notes.
    priors : {None, "uniform", "empirical"} or array-like of shape (n_classes,), default=None
        Log priors added to minus the distance. By default classes weigh the same.

    Attributes
    ----------
    support_ : ndarray of shape (n_features,)
        Mask of the selected features.
    certificate_ : Certificate or None
        Objective and bound, in distance saved; they agree.
    centers_, centroids_ : ndarray of shape (n_classes, n_features)
        Class medians on the support, elsewhere the median of all rows, each class weighing the
        same. Midpoints where a median is not unique.
    dispersion_ : ndarray of shape (n_classes, n_features)
        Mean absolute deviation from the median of the class.
    scores_ : ndarray of shape (n_features,)
        Gain of each feature: distance that medians by class save, summed over the classes.
    displaced_ : list of ndarray
        For each selected feature, with `redundancy`, features that would have come in by their
        gain and were left out because it says the same; those of the largest gain first.
    refitted_ : Refitted or None
        With `refit`: the `rule`, its inverse penalty `C`, and the `log_loss` of the folds in nats.
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

    Notes
    -----
    The score of a class is its log prior minus the distance. In scikit-learn's NearestCentroid,
    predictions with priors that differ are of something else: distances of features divided by
    their standard deviation, squared.

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

    def __init__(
        self,
        k: K = 10,
        *,
        priors: ArrayLike | None = None,
        missing: str = "error",
        objective: Objective = "likelihood",
        redundancy: str | None = None,
        candidates: int | None = None,
        refit: str | None = None,
        stable: float | None = None,
        required: ArrayLike | None = None,
        excluded: ArrayLike | None = None,
        groups: ArrayLike | None = None,
        costs: ArrayLike | None = None,
        budget: float | None = None,
        quota: Quota | None = None,
    ) -> None:
        self.k = k
        self.priors, self.missing = priors, missing
        self.objective = objective
        self.redundancy, self.candidates, self.refit = redundancy, candidates, refit
        self.stable = stable
        self.required, self.excluded, self.groups = required, excluded, groups
        self.costs, self.budget, self.quota = costs, budget, quota

    def _model(self) -> Model[ClassMedians]:
        return l1_centers.model(priors=self.priors, missing=self.missing)

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
        return np.exp(self.model_.log_prior(self.statistics_))
