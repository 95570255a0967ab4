"""Hybrid generative/discriminative classifier: many word probabilities, a handful of weights.

    class counts -> word probabilities -> features of each row without itself -> weights -> scores

The mathematics is in :mod:`naively.models.hybrid` and :mod:`naively.models.conditional`.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Self, final

import numpy as np
from numpy.typing import ArrayLike
from sklearn.base import BaseEstimator, clone
from sklearn.exceptions import ConvergenceWarning
from sklearn.utils import Tags
from sklearn.utils.validation import has_fit_parameter

from naively._types import Array, BoolArray, FloatArray, MatrixLike
from naively._warn import warn
from naively.estimators.all_or_nothing import all_or_nothing
from naively.estimators.asked import row_weights
from naively.estimators.base import (
    AbstractSelectingClassifier,
    PosteriorMixin,
    contrast,
    refuse_negative,
)
from naively.models.conditional import ConditionalFit
from naively.models.counting import unlike_training, whole_values
from naively.models.hybrid import (
    Learning,
    Penalty,
    RegionRows,
    learn,
    selected_columns,
    separation,
    word_alpha,
)
from naively.models.region_columns import RegionsLike
from naively.models.rules import HybridRule
from naively.statistics.counts import ClassCounts
from naively.statistics.matrix import Matrix


class SeparationWarning(ConvergenceWarning):
    """The likelihood of the region weights has no finite optimum; a penalised one was taken."""


@final
class HybridNB(PosteriorMixin, AbstractSelectingClassifier):
    r"""Naive Bayes with one learned weight for each region of the document.

    Word probabilities are those of :class:`~sklearn.naive_bayes.MultinomialNB`. How much each
    region (subject, body, ...) counts, and how sure the posterior may be, is learned so that the
    classes of the training rows become likely, each row judged by word counts without itself.
    With one region this calibrates naive Bayes: its posterior on long documents is far too sure
    because words are not independent, and dividing by the length mends also the order in which
    documents are trusted.

    Parameters
    ----------
    regions : int, list of slices, or array-like of shape (n_features,), default=None
        `X` holds the regions side by side: so many blocks of equal width, the columns of each
        region, or the region of each column (any labels; theta follows their sorted order). None
        is one region. See :class:`WordCounts` for text columns.
    shared_vocabulary : bool, default=True
        Whether column q of every region is the same word, with one probability. Otherwise each
        region has probabilities of its own.
    normalize : bool, default=True
        Whether a region's evidence is the mean over its words, not their sum.
    alpha : float or array-like, default=1.0
        Smoothing, positive: added to the count of every class and word. An array has a value per
        word, (n_features / n_regions,), or per column if the vocabulary is not shared.
    penalty : "auto", float or array-like of shape (n_regions,), default="auto"
        Subtract (penalty / 2) ``theta^2`` for each region from the log-likelihood; 1 / penalty is
        the `C` of :class:`~sklearn.linear_model.LogisticRegression`. "auto" chooses, by the
        likelihood of each row under the weights of the other rows, how many rows of mean weight the
        penalty is worth: from 3 + 150 / n_samples up to inf, where theta is 0 and only the class
        shares speak. Where 0 leaves no finite optimum (few or separable rows), a
        :class:`SeparationWarning` says which penalty was used.
    fit_intercept : bool, default=True
        Whether the intercept is learned (equation 9) or is the logarithm of the class shares
        (equations 7, 8).
    leave_one_out : bool, default=True
        Whether a row is judged by word counts without itself (equation 11). False: by counts that
        it is part of (equation 10), which makes the weights too large; for comparison.
    estimator : object, default=None
        A selector with `get_support`, such as `SparseMultinomialNB(k=500)`; only the words that it
        selects are used. With a shared vocabulary it sees the counts of each word summed over the
        regions, and its words are used in all of them; otherwise it sees the columns of `X`, one
        region after the other. `support_` speaks of `X` itself.
    class_weight : "balanced" or dict, default=None
        Weight of the rows of each class, 1 where a dict has none, on top of `sample_weight`:
        "balanced" lets all classes weigh the same: n / (n_classes * n of the class), where n is
        the number of rows, each as often as `sample_weight` says.

    Attributes
    ----------
    theta_ : ndarray of shape (n_regions,)
        Weight of each region. Normalised: the number of independent words that a region is worth.
    intercept_ : ndarray of shape (1,) or (n_classes,)
        Two classes: log-odds of the second without any evidence; otherwise per class, the first
        (with rows) at 0.
    penalty_ : ndarray of shape (n_regions,)
        The penalty behind `theta_`.
    separable_ : bool
        Whether `penalty_` had to be chosen because `penalty` leaves no finite optimum.
    conditional_ : ConditionalFit
        Log-likelihood in nats, gradient at the optimum, number of Newton steps, penalties.
    word_log_prob_ : ndarray of shape (n_classes, n_words)
        Log probability of each word used (per column if the vocabulary is not shared).
    support_ : ndarray of shape (n_features,)
        Mask of the columns used.
    estimator_ : object
        The fitted `estimator`; None without one.
    classes_ : ndarray of shape (n_classes,)
        Class labels.
    class_count_ : ndarray of shape (n_classes,)
        Weight of the rows of each class.
    statistics_ : ClassCounts
        Counts of each column by class.
    n_features_in_ : int
        Number of features seen in `fit`.
    feature_names_in_ : ndarray of shape (n_features,)
        Names of the features, if `X` has string column names.

    See Also
    --------
    WordCounts : Text columns to the matrix that this classifier reads.
    accuracy_coverage_curve : What better posteriors are worth.

    Notes
    -----
    Leaving a row out means leaving out all of its weight: for the word counts a weight of 2 is the
    row twice, for theta it is one document that matters twice. Zero weight is no row.

    With `estimator` the support is chosen once, from all rows. Leave-one-out is exact for that
    support; it does not undo the selection, which has seen every row. On noise the posterior stays
    too sure: judge accuracy by cross-validation around the whole classifier.

    A theta can come out negative where a region tells nothing: a row taken out of its class makes
    that class a little less likely. The penalty draws it to 0.

    References
    ----------
    Raina, Shen, Ng, McCallum, "Classification with hybrid generative/discriminative models", NIPS
    2003; equations 7 to 11.

    Examples
    --------
    >>> import numpy as np
    >>> from naively import HybridNB
    >>> subject = [[1, 0, 0], [0, 1, 0], [0, 0, 1], [0, 1, 0], [1, 0, 0], [0, 1, 1]]
    >>> body = [[4, 1, 2], [3, 2, 3], [1, 3, 3], [2, 3, 1], [2, 2, 2], [1, 4, 3]]
    >>> X = np.hstack([subject, body])
    >>> model = HybridNB(regions=2, penalty=0.1).fit(X, ["a", "a", "b", "b", "a", "b"])
    >>> model.theta_.shape
    (2,)
    >>> model.predict([[1, 0, 0, 3, 1, 2]])
    array(['a'], dtype='<U1')
    """

    statistics_: ClassCounts
    conditional_: ConditionalFit
    rule_: HybridRule

    def __init__(
        self,
        regions: RegionsLike = None,
        *,
        shared_vocabulary: bool = True,
        normalize: bool = True,
        alpha: ArrayLike = 1.0,
        penalty: Penalty = "auto",
        fit_intercept: bool = True,
        leave_one_out: bool = True,
        estimator: BaseEstimator | None = None,
        class_weight: Mapping[Any, float] | str | None = None,
    ) -> None:
        self.regions = regions
        self.shared_vocabulary = shared_vocabulary
        self.normalize = normalize
        self.alpha = alpha
        self.penalty = penalty
        self.fit_intercept = fit_intercept
        self.leave_one_out = leave_one_out
        self.estimator = estimator
        self.class_weight = class_weight

    # -- training -------------------------------------------------------------------------------

    @all_or_nothing
    def fit(self, X: MatrixLike, y: ArrayLike, sample_weight: ArrayLike | None = None) -> Self:
        """Count the words and learn the weights of the regions.

        Parameters
        ----------
        X : {array-like, sparse matrix, data frame} of shape (n_samples, n_features)
            Counts, >= 0: the regions side by side.
        y : array-like of shape (n_samples,)
            Class labels.
        sample_weight : array-like of shape (n_samples,), default=None
            Weight of each row, non-negative; see the notes of the class.

        Returns
        -------
        self : object
            The fitted estimator.

        Raises
        ------
        ValueError
            If the data, the labels, the weights or a parameter cannot be used.

        Warns
        -----
        SeparationWarning
            If the weights of the regions have no finite optimum and `penalty_` was chosen.
        """
        X, y = self._check_batch(X, y, reset=True)
        shared = bool(self.shared_vocabulary)
        sample_weight = row_weights(self.class_weight, y, sample_weight)
        rows = RegionRows.from_matrix(X, y, sample_weight, regions=self.regions, shared=shared)
        alpha = word_alpha(self.alpha, rows.regions)
        learning = Learning.checked(
            self.normalize, self.penalty, self.fit_intercept, self.leave_one_out
        )
        estimator, words = self._select(rows, y, sample_weight)
        learned = learn(rows, words, alpha, learning)
        if not learned.fit.finite:
            text = separation(learned.fit, len(y))
            warn(text, SeparationWarning)
        self._reading = None
        self.statistics_ = rows.counts
        self.classes_ = rows.classes
        self.estimator_ = estimator
        self.columns_ = rows.regions.columns(words)
        used = slice(None) if self.columns_ is None else self.columns_
        self._whole = whole_values(rows.counts, used)
        self.rule_ = learned.rule
        self.conditional_ = learned.fit
        return self

    def _select(
        self, rows: RegionRows, y: Array, sample_weight: ArrayLike | None
    ) -> tuple[BaseEstimator | None, BoolArray | None]:
        """Fit the selector; which words it selects, or None for all."""
        if self.estimator is None:
            return None, None
        _check_selector(self.estimator)
        weighted = has_fit_parameter(self.estimator, "sample_weight")
        options = {"sample_weight": sample_weight} if weighted else {}
        estimator = clone(self.estimator).fit(rows.regions.fold_rows(rows.X), y, **options)
        return estimator, np.asarray(estimator.get_support(), dtype=np.bool_)

    # -- decisions ------------------------------------------------------------------------------

    def _check_values(self, X: Matrix) -> None:
        refuse_negative(self, X)

    def _selected(self, X: MatrixLike) -> Matrix:
        seen = selected_columns(self._check_rows(X), self.columns_)
        if said := unlike_training(self._whole, seen):
            warn(said)
        return seen

    def region_scores(self, X: MatrixLike) -> FloatArray:
        """Evidence of each region for each class, before it is weighed.

        Parameters
        ----------
        X : {array-like, sparse matrix, data frame} of shape (n_samples, n_features)
            Rows.

        Returns
        -------
        evidence : ndarray of shape (n_samples, n_regions, n_classes)
            Mean (or sum, if not normalised) of the log probabilities of a region's words, in nats;
            0 for an empty region.
        """
        seen = self._seen(X)
        return self.rule_.evidence(seen)

    # -- what was learned -----------------------------------------------------------------------

    @property
    def theta_(self) -> FloatArray:
        """Weight of each region, (n_regions,)."""
        return self.rule_.theta

    @property
    def intercept_(self) -> FloatArray:
        """Intercept, (1,) for two classes, else (n_classes,)."""
        return contrast(self.rule_.intercept)

    @property
    def penalty_(self) -> FloatArray:
        """The penalty behind `theta_`, (n_regions,)."""
        return self.conditional_.penalty

    @property
    def separable_(self) -> bool:
        """Whether `penalty` leaves no finite optimum."""
        return not self.conditional_.finite

    @property
    def word_log_prob_(self) -> FloatArray:
        """Log probability of each word used, (n_classes, n_words)."""
        return self.rule_.weights

    @property
    def class_count_(self) -> FloatArray:
        """Weight of the training rows of each class, (n_classes,)."""
        return self.statistics_.class_weight

    @property
    def support_(self) -> BoolArray:
        """Mask of the columns used, (n_features,)."""
        mask = np.zeros(self.n_features_in_, dtype=np.bool_)
        mask[slice(None) if self.columns_ is None else self.columns_] = True
        return mask

    def __sklearn_is_fitted__(self) -> bool:
        return hasattr(self, "rule_")

    def __sklearn_tags__(self) -> Tags:
        tags = super().__sklearn_tags__()
        tags.input_tags.positive_only = True
        tags.classifier_tags.poor_score = True  # continuous data are no word counts
        return tags


def _check_selector(estimator: object) -> None:
    if not hasattr(estimator, "get_support") or isinstance(estimator, type):
        raise TypeError(
            "`estimator` must be a selector, such as SparseMultinomialNB(k=500), with "
            f"`get_support`; got {estimator!r}."
        )
