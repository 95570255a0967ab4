"""Sparse naive Bayes for real values, rates and categories: classifiers that use k features."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, final

import numpy as np
from numpy.typing import ArrayLike
from sklearn.utils import Tags

from naively._types import Array, FloatArray, IntArray, K
from naively.estimators.asked import describe_asked
from naively.estimators.base import AbstractSparseNaiveBayes, ExposedMixin, refuse_negative
from naively.models import categorical, gaussian, negative_binomial, poisson
from naively.models.constraints import Quota
from naively.models.exposure import mean_exposure, sized
from naively.models.family import checked_alpha
from naively.models.model import Model, Objective
from naively.statistics.categories import ClassCategories
from naively.statistics.counts import ClassCounts
from naively.statistics.matrix import Matrix
from naively.statistics.moments import ClassMoments


@final
@describe_asked
class SparseGaussianNB(AbstractSparseNaiveBayes[ClassMoments]):
    r"""Gaussian naive Bayes in which at most k features tell the classes apart; exact.

    Maximises the likelihood of :class:`sklearn.naive_bayes.GaussianNB` subject to at most `k`
    features having means and variances that differ between the classes. The k features that gain
    most likelihood from parameters of their own are the optimum, for every k. Takes sparse X.

    Parameters
    ----------
    k : int, float, "all", "auto", "simplest", "best" or "fdr", default=10
        Number of features, or a fraction of them in (0, 1]; "auto" chooses by cross-validation
        with the selection inside each fold (see :func:`naively.error_path`): the fewest within a
        quarter of a standard error of the best; "simplest" those within one, "best" the best;
        "fdr" takes all that are significant (see `q`). "all" gives
        :class:`~sklearn.naive_bayes.GaussianNB`.
    variance : {"class", "shared"}, default="class"
        Whether the variance of a selected feature differs between the classes, or only its mean
        does. Shared variances make the rule linear.
    priors : array-like of shape (n_classes,), default=None
        Prior probabilities of the classes in the order of `classes_`, instead of learned ones.
    var_smoothing : float, default=1e-9
        Share of the largest variance of all features that is added to every variance. With 0, a
        feature that does not vary within a class scores inf.

    Attributes
    ----------
    support_ : ndarray of shape (n_features,)
        Mask of the selected features.
    certificate_ : Certificate or None
        Objective and bound in nats; they agree.
    theta_, var_ : ndarray of shape (n_classes, n_features)
        Mean and (smoothed) variance by class on the support, those of all rows elsewhere.
    epsilon_ : float
        What smoothing adds to the variances.
    scores_ : ndarray of shape (n_features,)
        Gain of each feature in nats.
    pvalues_ : ndarray of shape (n_features,)
        Chance of such a gain in a feature alike in all classes (likelihood-ratio test).
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
    class_count_, class_prior_, class_log_prior_ : ndarray of shape (n_classes,)
        Weight of the rows, and prior, of each class.
    statistics_ : ClassMoments
        The class statistics, from which everything above follows.
    n_features_in_ : int
        Number of features seen in `fit`.
    feature_names_in_ : ndarray of shape (n_features,)
        Names of the features, if `X` has string column names.

    See Also
    --------
    SparseL2Centers : Means alone.

    Examples
    --------
    >>> from naively import SparseGaussianNB
    >>> X = [[1.0, 5.0], [1.2, 1.0], [3.0, 1.5], [3.3, 4.5]]
    >>> model = SparseGaussianNB(k=1).fit(X, ["low", "low", "high", "high"])
    >>> model.get_support(indices=True)
    array([0])
    >>> str(model.predict([[2.9, 3.0]])[0])
    'high'
    """

    def __init__(
        self,
        k: K = 10,
        *,
        variance: str = "class",
        priors: ArrayLike | None = None,
        var_smoothing: float = 1e-9,
        missing: str = "error",
        objective: Objective = "likelihood",
        redundancy: str | None = None,
        candidates: int | None = None,
        refit: str | None = None,
        calibration: str | None = None,
        q: float | None = None,
        stable: float | None = None,
        required: ArrayLike | None = None,
        excluded: ArrayLike | None = None,
        groups: ArrayLike | None = None,
        costs: ArrayLike | None = None,
        budget: float | None = None,
        quota: Quota | None = None,
        class_weight: Mapping[Any, float] | str | None = None,
    ) -> None:
        self.k = k
        self.variance = variance
        self.priors = priors
        self.var_smoothing = var_smoothing
        self.missing = missing
        self.objective = objective
        self.redundancy, self.candidates, self.refit, self.calibration = (
            redundancy,
            candidates,
            refit,
            calibration,
        )
        self.q, self.stable = q, stable
        self.required, self.excluded, self.groups = required, excluded, groups
        self.costs, self.budget, self.quota = costs, budget, quota
        self.class_weight = class_weight

    def _model(self) -> Model[ClassMoments]:
        return gaussian.model(
            variance=self.variance,
            priors=self.priors,
            var_smoothing=self.var_smoothing,
            missing=self.missing,
        )

    @property
    def theta_(self) -> FloatArray:
        """Mean of each class and feature, (n_classes, n_features)."""
        return self._parameters()[0]

    @property
    def var_(self) -> FloatArray:
        """Smoothed variance of each class and feature, (n_classes, n_features)."""
        return self._parameters()[1]

    @property
    def epsilon_(self) -> float:
        """What smoothing adds to the variances."""
        return gaussian.epsilon(self.statistics_, self.var_smoothing)

    @property
    def class_prior_(self) -> FloatArray:
        """Prior of each class, (n_classes,)."""
        return np.exp(self.class_log_prior_)

    def _parameters(self) -> tuple[FloatArray, FloatArray]:
        return gaussian.sparse_parameters(
            self.statistics_,
            self.selection_.support,
            shared=self.variance == "shared",
            var_smoothing=self.var_smoothing,
        )


@final
@describe_asked
class SparsePoissonNB(ExposedMixin[ClassCounts], AbstractSparseNaiveBayes[ClassCounts]):
    r"""Poisson naive Bayes in which at most k features tell the classes apart; exact.

    Entries are counts with a mean for each class and feature. Maximises their likelihood subject
    to at most `k` features having means that differ between the classes. The k features that
    gain most likelihood from means of their own are the optimum, for every k. Other than in the
    multinomial model, the length of a row tells something about its class.

    Parameters
    ----------
    k : int, float, "all", "auto", "simplest", "best" or "fdr", default=10
        Number of features, or a fraction of them in (0, 1]; "auto" chooses by cross-validation
        with the selection inside each fold (see :func:`naively.error_path`): the fewest within a
        quarter of a standard error of the best; "simplest" those within one, "best" the best;
        "fdr" takes all that are significant (see `q`).
    alpha : float or array-like of shape (n_features,), default=1.0
        Smoothing: added to the sums of the classes, on average over the classes, in proportion
        to their rows. With 0, a row can rule out a class; a row that rules out every class gets
        the class prior.
    fit_prior : bool, default=True
        Whether to learn the class priors; otherwise they are equal.
    class_prior : array-like of shape (n_classes,), default=None
        Prior probabilities of the classes in the order of `classes_`, instead of learned ones.

    Attributes
    ----------
    support_ : ndarray of shape (n_features,)
        Mask of the selected features.
    certificate_ : Certificate or None
        Objective and bound in nats; they agree.
    coef_ : ndarray of shape (1, n_features) or (n_classes, n_features)
        Weights of the rule; zero outside the support.
    intercept_ : ndarray of shape (1,) or (n_classes,)
        Intercept of the rule.
    exposure_coef_ : ndarray of shape (1,) or (n_classes,)
        Weight of the exposure in the rule; 0 without one.
    rate_ : ndarray of shape (n_classes, n_features)
        Mean entry, of a row of exposure 1 if rows have an exposure: by class on the support, over
        all rows elsewhere.
    feature_count_ : ndarray of shape (n_classes, n_features)
        Sum of the entries, without smoothing.
    scores_ : ndarray of shape (n_features,)
        Gain of each feature in nats.
    pvalues_ : ndarray of shape (n_features,)
        Chance of such a gain in a feature alike in all classes (likelihood-ratio test).
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
    class_count_, class_log_prior_ : ndarray of shape (n_classes,)
        Weight of the rows, and log prior, of each class.
    statistics_ : ClassCounts
        The class statistics, from which everything above follows.
    n_features_in_ : int
        Number of features seen in `fit`.
    feature_names_in_ : ndarray of shape (n_features,)
        Names of the features, if `X` has string column names.

    See Also
    --------
    SparseMultinomialNB : Counts, whatever the length of the row.

    Examples
    --------
    >>> from naively import SparsePoissonNB
    >>> X = [[4, 1, 0], [5, 0, 1], [0, 1, 0], [1, 0, 1]]
    >>> model = SparsePoissonNB(k=1).fit(X, ["busy", "busy", "quiet", "quiet"])
    >>> model.get_support(indices=True)
    array([0])
    """

    def __init__(
        self,
        k: K = 10,
        *,
        alpha: ArrayLike = 1.0,
        fit_prior: bool = True,
        class_prior: ArrayLike | None = None,
        exposure: str | int | None = None,
        missing: str = "error",
        objective: Objective = "likelihood",
        redundancy: str | None = None,
        candidates: int | None = None,
        refit: str | None = None,
        calibration: str | None = None,
        q: float | None = None,
        stable: float | None = None,
        required: ArrayLike | None = None,
        excluded: ArrayLike | None = None,
        groups: ArrayLike | None = None,
        costs: ArrayLike | None = None,
        budget: float | None = None,
        quota: Quota | None = None,
        class_weight: Mapping[Any, float] | str | None = None,
    ) -> None:
        self.k = k
        self.alpha = alpha
        self.fit_prior = fit_prior
        self.class_prior = class_prior
        self.exposure = exposure
        self.missing = missing
        self.objective = objective
        self.redundancy, self.candidates, self.refit, self.calibration = (
            redundancy,
            candidates,
            refit,
            calibration,
        )
        self.q, self.stable = q, stable
        self.required, self.excluded, self.groups = required, excluded, groups
        self.costs, self.budget, self.quota = costs, budget, quota
        self.class_weight = class_weight

    def _model(self) -> Model[ClassCounts]:
        return poisson.model(
            alpha=self.alpha,
            fit_prior=self.fit_prior,
            class_prior=self.class_prior,
            exposure=self._exposure(),
            missing=self.missing,
        )

    def _check_values(self, X: Matrix) -> None:
        refuse_negative(self, X)

    @property
    def rate_(self) -> FloatArray:
        """Mean entry of each class and feature by exposure, (n_classes, n_features)."""
        alpha = np.asarray(self.alpha, dtype=np.float64)
        return poisson.sparse_rates(sized(self.statistics_), self.selection_.support, alpha)

    @property
    def feature_count_(self) -> Array:
        """Weighted sum of the entries of each class and feature, (n_classes, n_features)."""
        return self.statistics_.feature_count

    def __sklearn_tags__(self) -> Tags:
        tags = super().__sklearn_tags__()
        tags.input_tags.positive_only = True
        tags.classifier_tags.poor_score = True
        return tags


@final
@describe_asked
class SparseNegativeBinomialNB(ExposedMixin[ClassMoments], AbstractSparseNaiveBayes[ClassMoments]):
    r"""Negative binomial naive Bayes in which at most k features tell the classes apart; exact.

    Entries are counts that vary more than a Poisson law allows: with mean mu and dispersion phi,
    their variance is mu + phi mu^2. Each feature has a mean for each class and a dispersion that
    the classes share. Given the dispersions, this maximises the likelihood subject to at most `k`
    features having means that differ between the classes. The k features that gain most
    likelihood from means of their own are the optimum, for every k.

    Parameters
    ----------
    k : int, float, "all", "auto", "simplest", "best" or "fdr", default=10
        Number of features, or a fraction of them in (0, 1]; "auto" chooses by cross-validation
        with the selection inside each fold (see :func:`naively.error_path`): the fewest within a
        quarter of a standard error of the best; "simplest" those within one, "best" the best;
        "fdr" takes all that are significant (see `q`).
    alpha : float or array-like of shape (n_features,), default=1.0
        Smoothing: added to the sums of the classes, on average over the classes, in proportion
        to their rows. With 0, a row can rule out a class; a row that rules out every class gets
        the class prior.
    fit_prior : bool, default=True
        Whether to learn the class priors; otherwise they are equal.
    class_prior : array-like of shape (n_classes,), default=None
        Prior probabilities of the classes in the order of `classes_`, instead of learned ones.
    dispersion : "moments", float or array-like of shape (n_features,), default="moments"
        Dispersion of each feature, >= 0; "moments" estimates it from the means and variances
        within the classes. With 0 the model is :class:`SparsePoissonNB`.

    Attributes
    ----------
    support_ : ndarray of shape (n_features,)
        Mask of the selected features.
    certificate_ : Certificate or None
        Objective and bound in nats, given the dispersions; they agree.
    coef_ : ndarray of shape (1, n_features) or (n_classes, n_features)
        Weights of the rule; zero outside the support.
    intercept_ : ndarray of shape (1,) or (n_classes,)
        Intercept of the rule.
    exposure_coef_ : ndarray of shape (1,) or (n_classes,)
        Weight of the exposure in the rule; 0 without one.
    rate_ : ndarray of shape (n_classes, n_features)
        Mean entry, of a row of exposure 1 if rows have an exposure: by class on the support, over
        all rows elsewhere.
    dispersion_ : ndarray of shape (n_features,)
        Dispersion of each feature, in a row of mean exposure; 0 where it varies less than a
        Poisson law.
    feature_count_ : ndarray of shape (n_classes, n_features)
        Sum of the entries, without smoothing.
    scores_ : ndarray of shape (n_features,)
        Gain of each feature in nats.
    pvalues_ : ndarray of shape (n_features,)
        Chance of such a gain in a feature alike in all classes (likelihood-ratio test).
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
    class_count_, class_log_prior_ : ndarray of shape (n_classes,)
        Weight of the rows, and log prior, of each class.
    statistics_ : ClassMoments
        The class statistics, from which everything above follows.
    n_features_in_ : int
        Number of features seen in `fit`.
    feature_names_in_ : ndarray of shape (n_features,)
        Names of the features, if `X` has string column names.

    See Also
    --------
    SparsePoissonNB : The same without dispersion.

    Notes
    -----
    All rows are taken to be observed equally long (there are no size factors): the depth of a row
    is evidence, as in the Poisson model.

    References
    ----------
    Anscombe, "The statistical analysis of insect counts based on the negative binomial
    distribution", Biometrics 5, 1949: the method of moments.

    Robinson, Smyth, "Small-sample estimation of negative binomial dispersion, with applications
    to SAGE data", Biostatistics 9, 2008: a dispersion that groups share.

    Examples
    --------
    >>> from naively import SparseNegativeBinomialNB
    >>> X = [[6, 40], [8, 0], [1, 2], [0, 9]]  # the second column has one large entry
    >>> y = ["busy", "busy", "quiet", "quiet"]
    >>> model = SparseNegativeBinomialNB(k=1).fit(X, y)
    >>> model.get_support(indices=True), model.dispersion_.round(2)
    (array([0]), array([0. , 0.9]))
    >>> model.set_params(dispersion=0.0).fit(X, y).get_support(indices=True)  # Poisson
    array([1])
    """

    def __init__(
        self,
        k: K = 10,
        *,
        alpha: ArrayLike = 1.0,
        fit_prior: bool = True,
        class_prior: ArrayLike | None = None,
        dispersion: ArrayLike = "moments",
        exposure: str | int | None = None,
        missing: str = "error",
        objective: Objective = "likelihood",
        redundancy: str | None = None,
        candidates: int | None = None,
        refit: str | None = None,
        calibration: str | None = None,
        q: float | None = None,
        stable: float | None = None,
        required: ArrayLike | None = None,
        excluded: ArrayLike | None = None,
        groups: ArrayLike | None = None,
        costs: ArrayLike | None = None,
        budget: float | None = None,
        quota: Quota | None = None,
        class_weight: Mapping[Any, float] | str | None = None,
    ) -> None:
        self.k = k
        self.alpha = alpha
        self.fit_prior = fit_prior
        self.class_prior = class_prior
        self.dispersion = dispersion
        self.exposure = exposure
        self.missing = missing
        self.objective = objective
        self.redundancy, self.candidates, self.refit, self.calibration = (
            redundancy,
            candidates,
            refit,
            calibration,
        )
        self.q, self.stable = q, stable
        self.required, self.excluded, self.groups = required, excluded, groups
        self.costs, self.budget, self.quota = costs, budget, quota
        self.class_weight = class_weight

    def _model(self) -> Model[ClassMoments]:
        return negative_binomial.model(
            alpha=self.alpha,
            fit_prior=self.fit_prior,
            class_prior=self.class_prior,
            dispersion=self.dispersion,
            exposure=self._exposure(),
            missing=self.missing,
        )

    def _check_values(self, X: Matrix) -> None:
        refuse_negative(self, X)

    @property
    def rate_(self) -> FloatArray:
        """Mean entry of each class and feature by exposure, (n_classes, n_features)."""
        counts = self._counts()
        return poisson.sparse_rates(counts, self.selection_.support, counts.alpha)

    @property
    def dispersion_(self) -> FloatArray:
        """Dispersion of each feature, in a row of mean exposure, (n_features,)."""
        return self._counts().dispersion / mean_exposure(self.statistics_)

    @property
    def feature_count_(self) -> Array:
        """Weighted sum of the entries of each class and feature, (n_classes, n_features)."""
        return self.statistics_.total.T

    def _counts(self) -> negative_binomial.SpreadCounts:
        settings = checked_alpha(self.alpha), negative_binomial.checked_dispersion(self.dispersion)
        return negative_binomial.spread_counts(*settings, self.statistics_)

    def __sklearn_tags__(self) -> Tags:
        tags = super().__sklearn_tags__()
        tags.input_tags.positive_only = True
        tags.classifier_tags.poor_score = True
        return tags


@final
@describe_asked
class SparseCategoricalNB(AbstractSparseNaiveBayes[ClassCategories]):
    r"""Categorical naive Bayes in which at most k features tell the classes apart; exact.

    Maximises the likelihood of :class:`sklearn.naive_bayes.CategoricalNB` subject to at most `k`
    features having probabilities that differ between the classes. The k features with the
    largest mutual information with the class are the optimum, for every k.

    Parameters
    ----------
    k : int, float, "all", "auto", "simplest", "best" or "fdr", default=10
        Number of features, or a fraction of them in (0, 1]; "auto" chooses by cross-validation
        with the selection inside each fold (see :func:`naively.error_path`): the fewest within a
        quarter of a standard error of the best; "simplest" those within one, "best" the best;
        "fdr" takes all that are significant (see `q`). "all" gives
        :class:`~sklearn.naive_bayes.CategoricalNB`.
    alpha : float, default=1.0
        Smoothing, added to the count of every category in every class. With 0, a row can rule
        out a class; a row that rules out every class gets the class prior.
    fit_prior : bool, default=True
        Whether to learn the class priors; otherwise they are equal.
    class_prior : array-like of shape (n_classes,), default=None
        Prior probabilities of the classes in the order of `classes_`, instead of learned ones.
    min_categories : int or array-like of shape (n_features,), default=None
        Number of categories of each feature, where X may lack the last ones.

    Attributes
    ----------
    support_ : ndarray of shape (n_features,)
        Mask of the selected features.
    certificate_ : Certificate or None
        Objective and bound in nats; they agree.
    scores_ : ndarray of shape (n_features,)
        Gain of each feature in nats.
    pvalues_ : ndarray of shape (n_features,)
        Chance of such a gain in a feature alike in all classes (likelihood-ratio test).
    category_count_ : list of ndarray of shape (n_classes, n_categories of the feature)
        Weight of the rows of each class and category, for each feature.
    feature_log_prob_ : list of ndarray of shape (n_classes, n_categories of the feature)
        Log probability of each category, for each feature; equal over the classes outside the
        support.
    n_categories_ : ndarray of shape (n_features,)
        Number of categories of each feature.
    displaced_ : list of ndarray
        For each selected feature, with `redundancy`, features that would have come in by their
        gain and were left out because it says the same; those of the largest gain first.
    temperature_ : float
        What the scores were divided by; 1 without `calibration`.
    stability_ : SelectionStability
        With `stable`: how often each feature was selected.
    classes_ : ndarray of shape (n_classes,)
        Class labels.
    class_count_, class_log_prior_ : ndarray of shape (n_classes,)
        Weight of the rows, and log prior, of each class.
    statistics_ : ClassCategories
        The class statistics, from which everything above follows.
    n_features_in_ : int
        Number of features seen in `fit`.
    feature_names_in_ : ndarray of shape (n_features,)
        Names of the features, if `X` has string column names.

    Notes
    -----
    Categories are whole numbers from 0, as :class:`sklearn.preprocessing.OrdinalEncoder` makes
    them; what follows the decimal point is cut off. A category that was never seen in training
    tells nothing about the class. Zeros of sparse X are category 0.

    Examples
    --------
    >>> from naively import SparseCategoricalNB
    >>> X = [[0, 2], [0, 1], [1, 2], [2, 1]]
    >>> model = SparseCategoricalNB(k=1).fit(X, ["a", "a", "b", "b"])
    >>> model.get_support(indices=True)
    array([0])
    """

    def __init__(
        self,
        k: K = 10,
        *,
        alpha: float = 1.0,
        fit_prior: bool = True,
        class_prior: ArrayLike | None = None,
        min_categories: ArrayLike | None = None,
        correction: str | None = None,
        missing: str = "error",
        objective: Objective = "likelihood",
        redundancy: str | None = None,
        candidates: int | None = None,
        calibration: str | None = None,
        q: float | None = None,
        stable: float | None = None,
        required: ArrayLike | None = None,
        excluded: ArrayLike | None = None,
        groups: ArrayLike | None = None,
        costs: ArrayLike | None = None,
        budget: float | None = None,
        quota: Quota | None = None,
        class_weight: Mapping[Any, float] | str | None = None,
    ) -> None:
        self.k = k
        self.alpha = alpha
        self.fit_prior = fit_prior
        self.class_prior = class_prior
        self.min_categories = min_categories
        self.correction = correction
        self.missing = missing
        self.objective = objective
        self.redundancy, self.candidates, self.calibration = redundancy, candidates, calibration
        self.q, self.stable = q, stable
        self.required, self.excluded, self.groups = required, excluded, groups
        self.costs, self.budget, self.quota = costs, budget, quota
        self.class_weight = class_weight

    def _model(self) -> Model[ClassCategories]:
        return categorical.model(
            alpha=self.alpha,
            fit_prior=self.fit_prior,
            class_prior=self.class_prior,
            min_categories=self.min_categories,
            correction=self.correction,
            missing=self.missing,
        )

    def _check_values(self, X: Matrix) -> None:
        refuse_negative(self, X)

    @property
    def n_categories_(self) -> IntArray:
        """Number of categories of each feature, (n_features,)."""
        return self.statistics_.n_categories

    @property
    def category_count_(self) -> list[FloatArray]:
        """Weight of the rows of each class and category, for each feature."""
        return [self.statistics_.of_feature(i) for i in range(self.statistics_.n_features)]

    @property
    def feature_log_prob_(self) -> list[FloatArray]:
        """Log probability of each category by class, for each feature."""
        pooled = categorical.pooled_log_probabilities(self.statistics_, self.alpha)
        edges = np.cumsum(self.statistics_.n_categories)[:-1]
        log_prob = [np.tile(part, (len(self.classes_), 1)) for part in np.split(pooled, edges)]
        support = self.selection_.support
        free, starts = categorical.log_probabilities(self.statistics_, support, self.alpha)
        for position, i in enumerate(support):
            log_prob[i] = free[starts[position] : starts[position + 1]].T
        return log_prob

    def __sklearn_tags__(self) -> Tags:
        tags = super().__sklearn_tags__()
        tags.input_tags.categorical = True
        tags.input_tags.positive_only = True
        tags.classifier_tags.poor_score = True
        return tags
