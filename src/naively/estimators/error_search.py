"""Feature selection by the predicted error."""

from __future__ import annotations

from inspect import signature
from numbers import Integral
from typing import Any, Self, final, get_args

import numpy as np
from numpy.typing import ArrayLike
from sklearn.base import BaseEstimator
from sklearn.feature_selection import SelectorMixin
from sklearn.utils import Tags, check_consistent_length, column_or_1d
from sklearn.utils.multiclass import check_classification_targets
from sklearn.utils.validation import check_is_fitted

from naively._types import BoolArray, K, MatrixLike
from naively._warn import warn
from naively.estimators.all_or_nothing import all_or_nothing
from naively.estimators.base import checked_rows_of, selected_columns, texts_untold
from naively.expected.decision_models import log_or_veto
from naively.expected.estimates import Method, check_choice, check_priors, lengths_of
from naively.expected.feature_search import (
    Criterion,
    EstimatedCriterion,
    SearchResult,
    SetErrors,
    Strategy,
    Together,
    search,
)
from naively.models.family import checked_alpha, smoothing
from naively.selection.train import is_auto, resolve_k
from naively.statistics.counts import ClassCounts
from naively.statistics.matrix import check_numbers

_ALONE = {  # strategies that a parameter is of
    "plus": "plus_l_minus_r", "minus": "plus_l_minus_r", "max_nodes": "branch_and_bound",
}  # fmt: skip


@final
class ErrorSearchSelector(SelectorMixin, BaseEstimator):
    """Select k count features by the error that a multinomial classifier would make with them.

    The error is predicted from the class counts alone. By the normal approximation of the log-odds,
    with the exact mean and variance, trying one more feature costs the same however many are in;
    any other method computes an estimate for each set tried, and is for some hundred features.

    Parameters
    ----------
    k : int, float or "all", default=10
        Number of features, or a fraction of them in (0, 1].
    strategy : {"forward", "best_individual", "plus_l_minus_r", "branch_and_bound"}
        Add the best feature k times; take the k best on their own (which may say the same thing);
        `plus` steps forward and `minus` back in turn; or search all sets, cutting off those that
        cannot win as long as taking a feature away never lowers the predicted error. Where that
        fails, a warning says so. Branch and bound is for a few dozen features at most.
    method : {"normal", "exact", "saddlepoint", "compensated", "uncorrelated"}
        How the error is predicted; see :func:`expected_error`.
    rivals : {"mean", "product"}, default="mean"
        The error for more than two classes: the mean of the errors against each rival, or the
        product of the comparisons (ERR eq. 30), by which a search on short documents of many
        classes finds little (experiments/RESULTS.md).
    length : number, default=None
        Draws per document; by default the mean row total of each class or, where `method` is not
        "normal", the histogram of row totals.
    alpha : float or array-like of shape (n_features,), default=1.0
        Smoothing, added to the count of every class and feature.
    priors : array-like of shape (n_classes,), default=None
        How often each class occurs; by default equally often, so that features are sought for
        rare classes too.
    pooled : bool, default=True
        Whether the classifier ignores the features left out, as one trained on the selected
        columns does. If False, their total count is a feature of its own, as in the paper.
    plus, minus : int, default=2 and 1
        For `strategy="plus_l_minus_r"`. With `plus` < `minus` the search starts from all features.
    max_nodes : int, default=10_000
        Most sets below which branch and bound looks.

    Attributes
    ----------
    support_ : ndarray of shape (n_features,)
        Mask of the selected features.
    result_ : SearchResult
        Predicted error, order and course of the search.
    error_ : float
        Predicted error of the selected features, as `method`, `rivals` and `priors` have it;
        optimistic, as it was minimised.
    statistics_ : ClassCounts
        The class statistics.
    classes_ : ndarray of shape (n_classes,)
        Class labels.
    n_features_in_ : int
        Number of features seen in `fit`.
    feature_names_in_ : ndarray of shape (n_features,)
        Names of the features, if `X` has string column names.

    References
    ----------
    van Dyk, Barnard, "Naive Bayesian classifiers for multinomial features: a theoretical
    analysis", PRASA 2007.

    Examples
    --------
    >>> from naively import ErrorSearchSelector
    >>> X = [[3, 0, 1, 1], [2, 1, 0, 1], [0, 3, 1, 1], [1, 2, 1, 0]]
    >>> ErrorSearchSelector(k=2).fit(X, ["a", "a", "b", "b"]).get_support(indices=True)
    array([0, 1])
    """

    def __init__(
        self,
        k: K = 10,
        *,
        strategy: Strategy = "forward",
        method: Method = "normal",
        rivals: Together = "mean",
        length: float | None = None,
        alpha: ArrayLike = 1.0,
        priors: ArrayLike | None = None,
        pooled: bool = True,
        plus: int = 2,
        minus: int = 1,
        max_nodes: int = 10_000,
    ) -> None:
        self.k = k
        self.strategy = strategy
        self.method = method
        self.rivals = rivals
        self.length = length
        self.alpha = alpha
        self.priors = priors
        self.pooled = pooled
        self.plus = plus
        self.minus = minus
        self.max_nodes = max_nodes

    @all_or_nothing
    def fit(self, X: MatrixLike, y: ArrayLike, sample_weight: ArrayLike | None = None) -> Self:
        """Search for the features.

        Parameters
        ----------
        X : {array-like, sparse matrix, data frame} of shape (n_samples, n_features)
            Counts.
        y : array-like of shape (n_samples,)
            Class labels.
        sample_weight : array-like of shape (n_samples,), default=None
            Weight of each row.

        Returns
        -------
        self : object
            The fitted selector.

        Raises
        ------
        ValueError
            If the data, the labels, the weights or a parameter cannot be used.

        Warns
        -----
        UserWarning
            If branch and bound met sets that are better than a set which contains them, so that
            its answer is not proven; or if it stopped at `max_nodes`.
        """
        check_numbers(X)
        # Finite and non-negative values are checked while counting.
        with texts_untold(self, X):
            labels = y if y is None else "no_validation"
            X = checked_rows_of(self, X, labels, reset=True, finite=False)
        y = column_or_1d(y, warn=True)
        check_consistent_length(X, y)
        check_classification_targets(y)
        return self._finish(ClassCounts.from_matrix(X, y, sample_weight))

    def _finish(self, statistics: ClassCounts) -> Self:
        self._check_parameters()
        k = resolve_k(self.k, statistics.n_features)
        self.result_ = search(
            self._criterion(statistics),
            k,
            self.strategy,
            plus=self.plus,
            minus=self.minus,
            max_nodes=self.max_nodes,
        )
        self.statistics_ = statistics
        self.classes_ = statistics.classes
        self._warn(self.result_)
        return self

    def _criterion(self, statistics: ClassCounts) -> SetErrors:
        counts = statistics.table + smoothing(checked_alpha(self.alpha), statistics.n_features)
        total = counts.sum(axis=0)
        probability = (counts / np.where(total > 0, total, 1.0)).T
        priors = check_priors(self.priors, len(total))
        lengths = lengths_of(statistics, self.length)
        if self.method == "normal":
            return Criterion.from_probabilities(
                probability, lengths.mean, priors, pooled=self.pooled, rivals=self.rivals
            )
        log_prior = log_or_veto(priors)
        return EstimatedCriterion(
            probability.T, lengths, log_prior, self.pooled, self.rivals, self.method
        )

    def _check_parameters(self) -> None:
        if is_auto(self.k):
            raise ValueError(
                "`k` must be a number or 'all': the predicted error is optimistic about the "
                "features it selected, and cannot choose how many; got 'auto'. Choose `k` by "
                "cross-validation."
            )
        choices = {"strategy": Strategy, "method": Method, "rivals": Together}
        for name, allowed in choices.items():
            check_choice(name, getattr(self, name), get_args(allowed))
        for name in ("plus", "minus", "max_nodes"):
            value = getattr(self, name)
            if not isinstance(value, Integral) or value < 0:
                raise ValueError(f"`{name}` must be an int >= 0; got {value!r}.")
            default = signature(type(self)).parameters[name].default
            if self.strategy != _ALONE[name] and value != default:
                raise ValueError(
                    f"`{name}` has no effect with `strategy`={self.strategy!r}, but only with "
                    f"{_ALONE[name]!r}; leave it at {default}. Got {value!r}."
                )

    def _warn(self, result: SearchResult) -> None:
        if self.strategy != "branch_and_bound":
            return
        if not result.complete:
            warn(
                f"Branch and bound stopped at `max_nodes`={self.max_nodes}: the features are the "
                "best found, not proven best.",
            )
        elif result.violations:
            warn(
                f"Branch and bound takes it that fewer features never have a lower predicted "
                f"error; {result.violations} of {result.evaluations} sets did. The features are "
                "the best found, not proven best.",
            )

    @property
    def support_(self) -> BoolArray:
        """Mask of the selected features, (n_features,)."""
        check_is_fitted(self)
        mask = np.zeros(self.statistics_.n_features, dtype=np.bool_)
        mask[self.result_.support] = True
        return mask

    @property
    def error_(self) -> float:
        """Predicted error of the selected features."""
        return self.result_.error

    def transform(self, X: MatrixLike) -> Any:  # a frame, with `set_output`
        """Reduce rows to the selected features.

        Parameters
        ----------
        X : {array-like, sparse matrix, data frame} of shape (n_samples, n_features)
            Rows.

        Returns
        -------
        X : {ndarray, sparse matrix, data frame} of shape (n_samples, k)
            The selected columns, in their order in `X`.
        """
        check_is_fitted(self)
        return selected_columns(self, X, finite=True)

    def _get_support_mask(self) -> BoolArray:
        return self.support_

    def __sklearn_is_fitted__(self) -> bool:
        return hasattr(self, "result_")

    def __sklearn_tags__(self) -> Tags:
        tags = super().__sklearn_tags__()
        tags.input_tags.sparse = True
        tags.input_tags.positive_only = True
        tags.target_tags.required = True
        return tags
