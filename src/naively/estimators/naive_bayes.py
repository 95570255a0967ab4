"""Sparse naive Bayes for counts and for presence: classifiers that use k features."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, final

from numpy.typing import ArrayLike
from sklearn.utils import Tags
from sklearn.utils.validation import check_is_fitted

from naively._types import Array, FloatArray, K, MatrixLike
from naively.estimators.asked import describe_asked
from naively.estimators.base import (
    AbstractSparseNaiveBayes,
    LinearWeightsMixin,
    refuse_negative,
)
from naively.models import bernoulli, multinomial
from naively.models.constraints import Quota
from naively.models.model import Model, Objective
from naively.statistics.counts import ClassCounts
from naively.statistics.matrix import Matrix


class AbstractCountNaiveBayes(
    LinearWeightsMixin[ClassCounts], AbstractSparseNaiveBayes[ClassCounts]
):
    """Naive Bayes on class counts: what is learned, by the names scikit-learn gives it."""

    @property
    def feature_count_(self) -> Array:
        """Weighted count of each class and feature, (n_classes, n_features); unsmoothed."""
        return self.statistics_.feature_count

    @property
    def feature_log_prob_(self) -> FloatArray:
        """Log probability of each feature given the class, (n_classes, n_features).

        Equal over the classes outside the support.
        """
        log_prob = self.model_.family.feature_log_prob
        assert log_prob is not None  # families of counts have it
        return log_prob(self.statistics_, self.selection_.support)

    def predict_joint_log_proba(self, X: MatrixLike) -> FloatArray:
        """Joint log-likelihood of each row and class, all features included.

        Parameters
        ----------
        X : {array-like, sparse matrix, data frame} of shape (n_samples, n_features)
            Rows.

        Returns
        -------
        joint : ndarray of shape (n_samples, n_classes)
            Nats: log P(c) + log P(x | c), without the multinomial coefficient.
        """
        check_is_fitted(self)
        joint_rule = self.model_.family.joint_rule
        assert joint_rule is not None  # families of counts have it
        rule = joint_rule(self.statistics_, self.selection_.support, self.class_log_prior_)
        return rule.joint(self.model_.prepare(self._check_rows(X)))


@final
@describe_asked
class SparseMultinomialNB(AbstractCountNaiveBayes):
    r"""Multinomial naive Bayes in which at most k features tell the classes apart.

    Maximises the likelihood of :class:`sklearn.naive_bayes.MultinomialNB` subject to at most `k`
    features having probabilities that differ between the classes. The problem is solved through
    a convex bound that is nearly tight; `certificate_` says how far from optimal the selection
    can be at most, and `exact=True` searches until that distance is zero.

    Parameters
    ----------
    k : int, float, "all", "auto", "simplest", "best" or "fdr", default=10
        Number of features, or a fraction of them in (0, 1]; "auto" chooses by cross-validation
        with the selection inside each fold (see :func:`naively.error_path`): the fewest within a
        quarter of a standard error of the best; "simplest" those within one, "best" the best;
        "fdr" takes all that are significant (see `q`). "all" gives
        :class:`~sklearn.naive_bayes.MultinomialNB`. `k=1` selects a feature but cannot use it:
        two probability vectors cannot differ in one entry only.
    alpha : float or array-like of shape (n_features,), default=1.0
        Smoothing, added to the count of every class and feature. With 0, a class in which a
        feature never occurs is ruled out by that feature; a row that rules out every class gets
        the class prior.
    fit_prior : bool, default=True
        Whether to learn the class priors; otherwise they are equal.
    class_prior : array-like of shape (n_classes,), default=None
        Prior probabilities of the classes in the order of `classes_`, instead of learned ones.
    exact : bool, default=False
        Whether to close the gap by branch and bound.
    max_nodes : int, default=1000
        Most nodes that `exact` may visit; the best selection found is then returned with its gap.
    time_limit : float, default=None
        Most seconds that `exact` may take.

    Attributes
    ----------
    support_ : ndarray of shape (n_features,)
        Mask of the selected features.
    certificate_ : Certificate or None
        Objective, bound and gap in nats.
    coef_ : ndarray of shape (1, n_features) or (n_classes, n_features)
        Weights of the rule; zero outside the support.
    intercept_ : ndarray of shape (1,) or (n_classes,)
        Intercept of the rule.
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
    feature_count_, feature_log_prob_ : ndarray of shape (n_classes, n_features)
        Counts (without smoothing), and log probabilities (equal over the classes outside the
        support).
    statistics_ : ClassCounts
        The class statistics, from which everything above follows.
    n_features_in_ : int
        Number of features seen in `fit`.
    feature_names_in_ : ndarray of shape (n_features,)
        Names of the features, if `X` has string column names.

    See Also
    --------
    SparseBernoulliNB : The model of presence and absence; better for long documents.

    References
    ----------
    Askari, d'Aspremont, El Ghaoui, "Naive Feature Selection: Sparsity in Naive Bayes", AISTATS
    2020; theorem 2.

    Examples
    --------
    >>> import numpy as np
    >>> from naively import SparseMultinomialNB
    >>> X = np.array([[3, 0, 1, 1], [2, 0, 1, 1], [0, 3, 1, 1], [0, 2, 1, 1]])
    >>> model = SparseMultinomialNB(k=2).fit(X, ["a", "a", "b", "b"])
    >>> model.get_support(indices=True)
    array([0, 1])
    >>> model.predict([[1, 0, 5, 5]])
    array(['a'], dtype='<U1')
    """

    def __init__(
        self,
        k: K = 10,
        *,
        alpha: ArrayLike = 1.0,
        fit_prior: bool = True,
        class_prior: ArrayLike | None = None,
        exact: bool = False,
        max_nodes: int = 1000,
        time_limit: float | None = None,
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
        self.exact = exact
        self.max_nodes = max_nodes
        self.time_limit = time_limit
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
        return multinomial.model(
            alpha=self.alpha,
            fit_prior=self.fit_prior,
            class_prior=self.class_prior,
            exact=self.exact,
            max_nodes=self.max_nodes,
            time_limit=self.time_limit,
        )

    def _check_values(self, X: Matrix) -> None:
        refuse_negative(self, X)

    def __sklearn_tags__(self) -> Tags:
        tags = super().__sklearn_tags__()
        tags.input_tags.positive_only = True
        tags.classifier_tags.poor_score = True
        return tags


@final
@describe_asked
class SparseBernoulliNB(AbstractCountNaiveBayes):
    r"""Bernoulli naive Bayes in which at most k features tell the classes apart; exact.

    Maximises the likelihood of :class:`sklearn.naive_bayes.BernoulliNB` subject to at most `k`
    features having probabilities that differ between the classes. The k features with the
    largest mutual information with the class are the optimum, for every k.

    Parameters
    ----------
    k : int, float, "all", "auto", "simplest", "best" or "fdr", default=10
        Number of features, or a fraction of them in (0, 1]; "auto" chooses by cross-validation
        with the selection inside each fold (see :func:`naively.error_path`): the fewest within a
        quarter of a standard error of the best; "simplest" those within one, "best" the best;
        "fdr" takes all that are significant (see `q`). "all" gives
        :class:`~sklearn.naive_bayes.BernoulliNB`.
    alpha : float or array-like of shape (n_features,), default=1.0
        Smoothing: (count + alpha) / (rows of the class + 2 alpha). With 0, a row can rule out a
        class; a row that rules out every class gets the class prior.
    binarize : float or None, default=0.0
        An entry above this threshold is present. None states that `X` holds zeros and ones only,
        which is checked.
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
        Weights of the rule on presence; zero outside the support.
    intercept_ : ndarray of shape (1,) or (n_classes,)
        Intercept of the rule.
    scores_ : ndarray of shape (n_features,)
        Gain of each feature in nats: rows times mutual information.
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
    feature_count_, feature_log_prob_ : ndarray of shape (n_classes, n_features)
        Rows with the feature (without smoothing), and log probability of presence (equal over
        the classes outside the support).
    statistics_ : ClassCounts
        The class statistics, from which everything above follows.
    n_features_in_ : int
        Number of features seen in `fit`.
    feature_names_in_ : ndarray of shape (n_features,)
        Names of the features, if `X` has string column names.

    See Also
    --------
    SparseMultinomialNB : The model of counts.

    References
    ----------
    Askari, d'Aspremont, El Ghaoui, "Naive Feature Selection: Sparsity in Naive Bayes", AISTATS
    2020; theorem 1.

    Examples
    --------
    >>> from naively import SparseBernoulliNB
    >>> X = [[1, 1, 0], [1, 0, 0], [0, 1, 1], [0, 0, 1]]
    >>> model = SparseBernoulliNB(k=1).fit(X, ["spam", "spam", "ham", "ham"])
    >>> model.get_support(indices=True)
    array([0])
    >>> str(model.predict([[1, 1, 1]])[0])
    'spam'
    """

    def __init__(
        self,
        k: K = 10,
        *,
        alpha: ArrayLike = 1.0,
        binarize: float | None = 0.0,
        fit_prior: bool = True,
        class_prior: ArrayLike | None = None,
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
        self.binarize = binarize
        self.fit_prior = fit_prior
        self.class_prior = class_prior
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
        return bernoulli.model(
            alpha=self.alpha,
            fit_prior=self.fit_prior,
            class_prior=self.class_prior,
            binarize=self.binarize,
            missing=self.missing,
        )

    def _check_values(self, X: Matrix) -> None:
        if self.binarize is None:
            bernoulli.check_binary(X)

    def __sklearn_tags__(self) -> Tags:
        tags = super().__sklearn_tags__()
        tags.classifier_tags.poor_score = True
        return tags
