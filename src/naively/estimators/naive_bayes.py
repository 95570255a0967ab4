"""Sparse naive Bayes for counts and for presence: classifiers that use k features."""

from __future__ import annotations

from numbers import Integral, Real
from typing import Any, final

import numpy as np
from sklearn.utils.validation import check_is_fitted

from naively._types import Array, FloatArray
from naively.estimators.base import AbstractSparseNaiveBayes, LinearWeightsMixin
from naively.models.bernoulli import bernoulli
from naively.models.family import Family
from naively.models.multinomial import multinomial
from naively.models.priors import log_prior
from naively.statistics.counts import ClassCounts
from naively.statistics.matrix import is_sparse


class AbstractCountNaiveBayes(LinearWeightsMixin, AbstractSparseNaiveBayes):
    """Naive Bayes on class counts: smoothing, priors and the names scikit-learn gives them."""

    family_: Any  # of counts, so it has `feature_log_prob` and `joint_rule`

    def _log_prior(self, statistics: ClassCounts) -> FloatArray:
        return log_prior(
            statistics.class_weight, fit_prior=self.fit_prior, class_prior=self.class_prior
        )

    @property
    def feature_count_(self) -> Array:
        """Weighted count of each class and feature, (n_classes, n_features); unsmoothed."""
        return self.statistics_.feature_count

    @property
    def feature_log_prob_(self) -> FloatArray:
        """Log probability of each feature given the class, (n_classes, n_features).

        Equal over the classes outside the support.
        """
        return self.family_.feature_log_prob(self.statistics_, self.selection_.support)

    def predict_joint_log_proba(self, X: Any) -> FloatArray:
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
        X = self._prepare(self._check_rows(X))
        rule = self.family_.joint_rule(
            self.statistics_, self.selection_.support, self.class_log_prior_
        )
        return rule.joint(X)


def _check_kind(statistics: ClassCounts, *, presence: bool, threshold: float) -> None:
    """Refuse statistics that count something else than the model needs."""
    if (statistics.presence, statistics.threshold) != (presence, threshold):
        raise ValueError(
            f"`statistics` must have been counted with presence={presence}, "
            f"threshold={threshold:g} for this model; got presence={statistics.presence}, "
            f"threshold={statistics.threshold:g}. The method `gather` of the model counts rightly."
        )


@final
class SparseMultinomialNB(AbstractCountNaiveBayes):
    r"""Multinomial naive Bayes in which at most k features tell the classes apart.

    Maximises the likelihood of :class:`sklearn.naive_bayes.MultinomialNB` subject to at most `k`
    features having probabilities that differ between the classes. The problem is solved through
    a convex bound that is nearly tight; `certificate_` says how far from optimal the selection
    can be at most, and `exact=True` searches until that distance is zero.

    Parameters
    ----------
    k : int, float, "all" or "auto", default=10
        Number of features, or a fraction of them in (0, 1]; "auto" chooses by cross-validation
        with the selection inside each fold (see :func:`naively.error_path`). "all" gives
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
    certificate_ : Certificate
        Objective, bound and gap in nats.
    coef_ : ndarray of shape (1, n_features) or (n_classes, n_features)
        Weights of the rule; zero outside the support.
    intercept_ : ndarray of shape (1,) or (n_classes,)
        Intercept of the rule.
    scores_ : ndarray of shape (n_features,)
        Gain of each feature in nats.
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
        k: Any = 10,
        *,
        alpha: Any = 1.0,
        fit_prior: bool = True,
        class_prior: Any = None,
        exact: bool = False,
        max_nodes: int = 1000,
        time_limit: float | None = None,
    ) -> None:
        self.k = k
        self.alpha = alpha
        self.fit_prior = fit_prior
        self.class_prior = class_prior
        self.exact = exact
        self.max_nodes = max_nodes
        self.time_limit = time_limit

    def _gather(self, X: Any, y: Array, sample_weight: Any, classes: Any) -> ClassCounts:
        return ClassCounts.from_matrix(X, y, sample_weight, classes=classes)

    def family(self, statistics: ClassCounts) -> Family[ClassCounts]:
        """Return the model as functions of its statistics."""
        _check_kind(statistics, presence=False, threshold=0.0)
        return multinomial(self.alpha)

    def _search_options(self) -> dict[str, Any]:
        if not isinstance(self.max_nodes, Integral) or int(self.max_nodes) < 1:
            raise ValueError(f"`max_nodes` must be an int >= 1; got {self.max_nodes!r}.")
        limit = self.time_limit
        if limit is not None and not (isinstance(limit, Real) and float(limit) > 0):
            raise ValueError(f"`time_limit` must be seconds > 0, or None; got {limit!r}.")
        return {
            "exact": self.exact,
            "max_nodes": self.max_nodes,
            "time_limit": self.time_limit,
        }

    def _check_values(self, X: Any) -> None:
        values = X.data if is_sparse(X) else X
        if values.size and values.min() < 0:
            raise ValueError(
                "Negative values in data passed to SparseMultinomialNB (input X): counts are "
                ">= 0. Center classifiers take values of any sign."
            )

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.input_tags.positive_only = True
        tags.classifier_tags.poor_score = True
        return tags


@final
class SparseBernoulliNB(AbstractCountNaiveBayes):
    r"""Bernoulli naive Bayes in which at most k features tell the classes apart; exact.

    Maximises the likelihood of :class:`sklearn.naive_bayes.BernoulliNB` subject to at most `k`
    features having probabilities that differ between the classes. The k features with the
    largest mutual information with the class are the optimum, for every k.

    Parameters
    ----------
    k : int, float, "all" or "auto", default=10
        Number of features, or a fraction of them in (0, 1]; "auto" chooses by cross-validation
        with the selection inside each fold (see :func:`naively.error_path`). "all" gives
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
    certificate_ : Certificate
        Objective and bound in nats; they agree.
    coef_ : ndarray of shape (1, n_features) or (n_classes, n_features)
        Weights of the rule on presence; zero outside the support.
    intercept_ : ndarray of shape (1,) or (n_classes,)
        Intercept of the rule.
    scores_ : ndarray of shape (n_features,)
        Gain of each feature in nats: rows times mutual information.
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
        k: Any = 10,
        *,
        alpha: Any = 1.0,
        binarize: float | None = 0.0,
        fit_prior: bool = True,
        class_prior: Any = None,
    ) -> None:
        self.k = k
        self.alpha = alpha
        self.binarize = binarize
        self.fit_prior = fit_prior
        self.class_prior = class_prior

    def _gather(self, X: Any, y: Array, sample_weight: Any, classes: Any) -> ClassCounts:
        self._check_values(X)
        return ClassCounts.from_matrix(
            X, y, sample_weight, classes=classes, presence=True, threshold=self._threshold()
        )

    def family(self, statistics: ClassCounts) -> Family[ClassCounts]:
        """Return the model as functions of its statistics."""
        _check_kind(statistics, presence=True, threshold=self._threshold())
        return bernoulli(self.alpha)

    def _threshold(self) -> float:
        if self.binarize is None:
            return 0.0
        if not isinstance(self.binarize, Real) or not np.isfinite(float(self.binarize)):
            raise ValueError(f"`binarize` must be a finite number or None; got {self.binarize!r}.")
        return float(self.binarize)

    def _check_values(self, X: Any) -> None:
        if self.binarize is not None:
            return
        values = X.data if is_sparse(X) else np.asarray(X)
        if not ((values == 0) | (values == 1)).all():
            raise ValueError(
                "`binarize=None` states that X holds zeros and ones only, but it holds other "
                "values; give `binarize` a threshold."
            )

    def _prepare(self, X: Any) -> Any:
        threshold = self._threshold()
        if not is_sparse(X):
            return (np.asarray(X) > threshold).astype(np.float64)
        if threshold < 0:
            raise ValueError(
                f"`binarize` must be >= 0 for sparse X, whose zeros are not stored; got "
                f"{threshold}. Pass X.toarray() or a threshold >= 0."
            )
        return (X > threshold).astype(np.float64)

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.classifier_tags.poor_score = True
        return tags
