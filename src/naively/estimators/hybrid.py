"""Hybrid generative/discriminative classifier: many word probabilities, a handful of weights.

    class counts -> word probabilities -> features of each row without itself -> weights -> scores

The mathematics is in :mod:`naively.models.hybrid` and :mod:`naively.models.conditional`.
"""

from __future__ import annotations

import warnings
from dataclasses import dataclass
from numbers import Real
from typing import Any, Self, final

import numpy as np
import scipy.sparse as sp
from sklearn.base import clone
from sklearn.exceptions import ConvergenceWarning
from sklearn.utils.validation import check_is_fitted, has_fit_parameter

from naively._types import Array, BoolArray, FloatArray, IntArray
from naively.estimators.base import (
    AbstractSelectingClassifier,
    DecisionFunctionMixin,
    PosteriorMixin,
    contrast,
    refuse_negative,
)
from naively.estimators.regions import resolve_regions
from naively.models.conditional import ConditionalFit, fit_conditional
from naively.models.family import checked_alpha, smoothing
from naively.models.hybrid import WordModel
from naively.models.rules import HybridRule
from naively.statistics.counts import ClassCounts
from naively.statistics.labels import encode_labels
from naively.statistics.regions import (
    Regions,
    WordCounts,
    distinct_rows,
    is_whole,
    plain_values,
)


class SeparationWarning(ConvergenceWarning):
    """The likelihood of the region weights has no finite optimum; a penalised one was taken."""


@final
class HybridNB(PosteriorMixin, DecisionFunctionMixin, AbstractSelectingClassifier):
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
        is one region. See :class:`RegionVectorizer` for text columns.
    shared_vocabulary : bool, default=True
        Whether column q of every region is the same word, with one probability. Otherwise each
        region has probabilities of its own.
    normalize : bool, default=True
        Whether a region's evidence is the mean over its words, not their sum.
    alpha : float or array-like, default=1.0
        Smoothing, positive: added to the count of every class and word. An array has a value per
        word, (n_features / n_regions,), or per column if the vocabulary is not shared.
    penalty : float, default=0.0
        Subtract (penalty / 2) ``|theta|^2`` from the log-likelihood; 1 / penalty is the `C` of
        :class:`~sklearn.linear_model.LogisticRegression`. Where 0 leaves no finite optimum (few or
        separable rows), a :class:`SeparationWarning` says which penalty was used.
    estimator : object, default=None
        A selector with `get_support`, such as `SparseMultinomialNB(k=500)`; only the words that it
        selects are used. With a shared vocabulary it sees the counts of each word summed over the
        regions, and its words are used in all of them; otherwise it sees the columns of `X`, one
        region after the other. `support_` speaks of `X` itself.

    Attributes
    ----------
    theta_ : ndarray of shape (n_regions,)
        Weight of each region. Normalised: the number of independent words that a region is worth.
    intercept_ : ndarray of shape (1,) or (n_classes,)
        Two classes: log-odds of the second without any evidence; otherwise per class, the first
        (with rows) at 0.
    penalty_ : float
        The penalty behind `theta_`.
    separable_ : bool
        Whether `penalty_` had to be chosen because `penalty` leaves no finite optimum.
    conditional_ : ConditionalFit
        Log-likelihood in nats, gradient at the optimum, number of Newton steps.
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
    RegionVectorizer : Text columns to the matrix that this classifier reads.
    accuracy_coverage_curve : What better posteriors are worth.

    Notes
    -----
    Leaving a row out means leaving out all of its weight: for the word counts a weight of 2 is the
    row twice, for theta it is one document that matters twice. Zero weight is no row.

    With `estimator` the support is chosen once, from all rows. Leave-one-out is exact for that
    support; it does not undo the selection, which has seen every row. On noise the posterior stays
    too sure: judge accuracy by cross-validation around the whole classifier.

    A theta can come out negative where a region tells nothing: a row taken out of its class makes
    that class a little less likely. `penalty` draws it to 0.

    References
    ----------
    Raina, Shen, Ng, McCallum, "Classification with hybrid generative/discriminative models", NIPS
    2003; equations 8, 9 and 11.

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

    conditional_: ConditionalFit
    rule_: HybridRule

    def __init__(
        self,
        regions: Any = None,
        *,
        shared_vocabulary: bool = True,
        normalize: bool = True,
        alpha: Any = 1.0,
        penalty: float = 0.0,
        estimator: Any = None,
    ) -> None:
        self.regions = regions
        self.shared_vocabulary = shared_vocabulary
        self.normalize = normalize
        self.alpha = alpha
        self.penalty = penalty
        self.estimator = estimator

    # -- training -------------------------------------------------------------------------------

    def fit(self, X: Any, y: Any, sample_weight: Any = None) -> Self:
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
        return self._train(_Batch.of(X, y, sample_weight, None), None)

    def partial_fit(self, X: Any, y: Any, classes: Any = None, sample_weight: Any = None) -> Self:
        """Add a batch of rows.

        The word counts become exactly those of all rows so far. The weights of the regions are
        learned from the rows of this batch, without themselves but with all counts so far; the
        rows of earlier batches, which are gone, enter through the parabola that touches their
        log-likelihood at the weights learned then. So the result is close to that of `fit` on all
        rows, depends on the order of the batches, and the first batches, judged by few counts,
        should not be tiny. With `estimator`, which must have `partial_fit`, the support follows
        the batches.

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
            earlier call, or lacks a label of `y`.

        Warns
        -----
        SeparationWarning
            As `fit`.
        """
        first = not hasattr(self, "conditional_")
        X, y = self._check_batch(X, y, reset=first)
        batch = _Batch.of(X, y, sample_weight, self._known_classes(classes, first=first))
        return self._train(batch, None if first else self.statistics_)

    def _train(self, batch: _Batch, before: ClassCounts | None) -> Self:
        """Take counts to word probabilities, features without the row itself, and weights."""
        penalty = _checked_penalty(self.penalty)
        n_features = batch.X.shape[1]
        regions = resolve_regions(self.regions, n_features, shared=bool(self.shared_vocabulary))
        alpha = self._smoothing(regions)
        if before is not None:
            self._check_same_model(regions)
        estimator, words = self._select(batch, regions, before)
        counts = batch.counts if before is None else before + batch.counts
        rows = _columns(batch.X, regions.columns(words))
        table = _word_counts(batch, before, counts, rows, regions, words)
        if words is not None and len(alpha) > 1:
            alpha = alpha[words]
        model = WordModel(regions.keep(words), table, alpha, bool(self.normalize))
        features = model.leave_one_out(rows, batch.codes, batch.weights)
        _check_finite(features)
        past = None if before is None else self.conditional_.quadratic
        fit = fit_conditional(features, batch.codes, batch.weights, penalty=penalty, past=past)
        if not fit.finite:
            _warn_separable(fit, len(batch.codes), penalty)
        self.statistics_ = counts
        self.classes_ = self.statistics_.classes
        self.estimator_ = estimator
        self.columns_ = regions.columns(words)
        self.regions_ = regions
        self.rule_ = model.rule(fit.theta, fit.intercept)
        self.conditional_ = fit
        return self

    def _smoothing(self, regions: Regions) -> FloatArray:
        """Smoothing by word, (V,) or (1,)."""
        alpha = np.ravel(smoothing(checked_alpha(self.alpha), regions.n_words))
        if not (alpha > 0).all():
            raise ValueError(
                "`alpha` must be > 0: without the row itself, a word that no other row has would "
                f"have probability 0; got {self.alpha!r}. A tiny value, such as 1e-10, is fine."
            )
        return alpha if regions.shared or len(alpha) == 1 else regions.bring_together(alpha)

    def _select(
        self, batch: _Batch, regions: Regions, before: ClassCounts | None
    ) -> tuple[Any, BoolArray | None]:
        """Fit the selector; which words it selects, or None for all."""
        if self.estimator is None:
            return None, None
        batches = before is not None or batch.classes is not None
        _check_selector(self.estimator, needs=["get_support", "partial_fit"][: 1 + batches])
        words = regions.fold_rows(batch.X)
        weighted = has_fit_parameter(self.estimator, "sample_weight")
        options = {"sample_weight": batch.sample_weight} if weighted else {}
        if not batches:
            estimator = clone(self.estimator).fit(words, batch.y, **options)
        else:
            estimator = clone(self.estimator) if before is None else self.estimator_
            estimator.partial_fit(words, batch.y, classes=batch.classes, **options)
        return estimator, np.asarray(estimator.get_support(), dtype=np.bool_)

    def _check_same_model(self, regions: Regions) -> None:
        """Raise if features of this batch would not mean what those of earlier ones did."""
        same = {
            "regions": regions.equals(self.regions_),
            "normalize": bool(self.normalize) == self.rule_.normalize,
            "estimator": (self.estimator is None) == (self.estimator_ is None),
        }
        for name, kept in same.items():
            if not kept:
                raise ValueError(
                    f"`{name}` must be what it was in earlier calls of fit or partial_fit; got "
                    f"{getattr(self, name)!r}. To start again, use `fit` or a clone."
                )

    # -- decisions ------------------------------------------------------------------------------

    def _check_values(self, X: Any) -> None:
        refuse_negative(self, X)

    def _scores(self, X: Any) -> FloatArray:
        check_is_fitted(self)
        return self.rule_.scores(_columns(self._check_rows(X), self.columns_))

    def region_scores(self, X: Any) -> FloatArray:
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
        check_is_fitted(self)
        return self.rule_.evidence(_columns(self._check_rows(X), self.columns_))

    # -- what was learned -----------------------------------------------------------------------

    @property
    def theta_(self) -> FloatArray:
        """Weight of each region, (n_regions,)."""
        return self.conditional_.theta

    @property
    def intercept_(self) -> FloatArray:
        """Intercept, (1,) for two classes, else (n_classes,)."""
        return contrast(self.conditional_.intercept)

    @property
    def penalty_(self) -> float:
        """The penalty behind `theta_`."""
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
        return hasattr(self, "conditional_")

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.input_tags.positive_only = True
        tags.classifier_tags.poor_score = True  # continuous data are no word counts
        return tags


@final
@dataclass(frozen=True, slots=True)
class _Batch:
    """Checked rows and what is counted of them."""

    X: Any  # CSR (n, m), without duplicates
    y: Array  # (n,)
    sample_weight: Any
    classes: Array | None  # named beforehand
    counts: ClassCounts
    codes: Array  # (n,)
    weights: FloatArray  # (n,)

    @classmethod
    def of(cls, X: Any, y: Array, sample_weight: Any, classes: Array | None) -> _Batch:
        counts = ClassCounts.from_matrix(X, y, sample_weight, classes=classes)
        codes = encode_labels(y, counts.classes)[1]
        weights = np.ones(len(y)) if sample_weight is None else sample_weight
        weights = np.array(np.broadcast_to(np.asarray(weights, dtype=np.float64), len(y)))
        # SciPy has no sparse half floats. Sums over regions must not wrap around in small integers.
        rows = sp.csr_matrix(X.astype(np.float32) if X.dtype == np.float16 else X)
        rows.data = plain_values(rows.data)
        return cls(distinct_rows(rows), y, sample_weight, classes, counts, codes, weights)


def _word_counts(
    batch: _Batch,
    before: ClassCounts | None,
    counts: ClassCounts,
    rows: Any,
    regions: Regions,
    words: BoolArray | None,
) -> WordCounts:
    """Return the counts of the words used in all rows so far; `rows` are those of the batch."""
    kept: Any = slice(None) if words is None else words
    table = regions.fold(counts.table)[kept]
    used = regions.keep(words)
    if is_whole(table) and is_whole(rows.data) and is_whole(batch.weights):
        return WordCounts.whole(np.ascontiguousarray(table, dtype=np.int64), used)
    earlier = np.zeros_like(table) if before is None else regions.fold(before.table)[kept]
    return WordCounts.paired(rows, batch.codes, batch.weights, used, earlier)


def _check_finite(features: FloatArray) -> None:
    if not np.isfinite(features).all():
        raise ValueError(
            "The values of X are too large for sums in double precision; divide X by a constant."
        )


def _columns(rows: Any, columns: IntArray | None) -> Any:
    return rows if columns is None else rows[:, columns]


def _check_selector(estimator: Any, needs: list[str]) -> None:
    lacking = [name for name in needs if not hasattr(estimator, name)]
    if lacking or isinstance(estimator, type):
        raise TypeError(
            "`estimator` must be a selector, such as SparseMultinomialNB(k=500), with "
            f"{' and '.join(f'`{name}`' for name in needs)}; got {estimator!r}."
        )


def _checked_penalty(penalty: Any) -> float:
    if not isinstance(penalty, Real) or not 0 <= float(penalty) < np.inf:
        raise ValueError(f"`penalty` must be a finite number >= 0; got {penalty!r}.")
    return float(penalty)


def _warn_separable(fit: ConditionalFit, n_rows: int, penalty: float) -> None:
    warnings.warn(
        f"The {n_rows} training rows separate the classes: with `penalty`={penalty:g} the weights "
        f"of the regions have no finite optimum. `theta_` is the optimum with `penalty_`="
        f"{fit.penalty:.6g}, the information of one average row. Give `penalty` to choose another.",
        SeparationWarning,
        stacklevel=4,
    )
