"""The number of features and the smoothing, chosen by cross-validation of the whole path."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterable
from typing import Any, Self, TypeAlias, TypeVar, cast, final

import numpy as np
from numpy.typing import ArrayLike
from sklearn.base import BaseEstimator, ClassifierMixin, MetaEstimatorMixin, clone, is_classifier
from sklearn.exceptions import NotFittedError
from sklearn.model_selection import BaseCrossValidator, check_cv
from sklearn.utils import Tags, check_consistent_length, get_tags
from sklearn.utils.metadata_routing import (
    MetadataRouter,
    MethodMapping,
    process_routing,
)
from sklearn.utils.metaestimators import available_if
from sklearn.utils.validation import check_is_fitted

from naively._choices import Choice
from naively._types import Array, IntArray, MatrixLike
from naively.estimators.all_or_nothing import all_or_nothing
from naively.estimators.base import AbstractSparseClassifier
from naively.estimators.contenders import (
    Contender,
    PipelineContender,
    checked_labels,
    routing_enabled,
    rows_as_given,
    smoothing_of,
)
from naively.estimators.cv_results import results_table
from naively.estimators.path_scoring import Params, Scorer, Scoring
from naively.estimators.pipelines import is_pipeline, last_step, with_params
from naively.estimators.search_checks import (
    check_split_weights,
    check_takes_weights,
    checked_alphas,
    checked_splits,
    one_scorer,
)
from naively.judging.curves import Curve, Ranking, best_curve, ranking
from naively.judging.folds import Splits
from naively.selection.path import checked_grid
from naively.statistics.labels import group_codes
from naively.statistics.matrix import Matrix

M = TypeVar("M", bound=Callable[..., Any])
Routed: TypeAlias = dict[str, Any]  # what goes to `fit` (of each), `score` and `split`


def _of_best(name: str) -> Callable[[M], M]:
    """Availability of a method: that of the estimators, and of the best one once it is fitted."""

    def check(self: SparsityCV) -> bool:
        if not hasattr(self, "best_estimator_") and not self.refit:
            raise AttributeError(
                f"`{name}` needs the best estimator, which is fitted with `refit=True` only."
            )
        best = getattr(self, "best_estimator_", None)
        getattr(self._contenders()[0] if best is None else best, name)
        return True

    return cast("Callable[[M], M]", available_if(check))


@final
class SparsityCV(ClassifierMixin, MetaEstimatorMixin, BaseEstimator):
    r"""Choose the number of features by cross-validating the whole path at once.

    The statistics of the training rows of a fold are those of all rows less those of the rows that
    are left out, so one pass counts the rows for all folds; the models of all k score a row in one
    sweep over its entries. The features are selected anew in each fold, without the rows that are
    judged. The result is that of a loop over folds, k and smoothings with a fit in each, for a
    small part of its time. Models that have no linear rule are trained for each k, from the same
    statistics.

    Parameters
    ----------
    estimator : classifier with a parameter `k`, Pipeline, or list of them
        The models to cross-validate, all on the same folds; their own `k` does not matter. The
        steps of a pipeline before its last, a classifier of this package, are fitted within each
        fold; `k` and the smoothing are those of the last step. Linear
        ones (:class:`SparseMultinomialNB`, :class:`SparseBernoulliNB`, :class:`SparsePoissonNB`,
        :class:`SparseNegativeBinomialNB`, :class:`SparseL2Centers`, :class:`SparseGaussianNB`
        with shared variances) take one sweep, unless they ignore missing values.
    ks : array-like of int, default=None
        Numbers of features; by default about 100, evenly spaced from 1 to all on a log scale.
    cv : int, splitter or iterable, default=5
        Number of stratified folds, a splitter of scikit-learn, or pairs of arrays of indices.
    scoring : str, callable or None, default=None
        As in scikit-learn: a name, a scorer, or a function of estimator, X and y that returns a
        number, larger is better. None is accuracy.
    alphas : array-like of float, default=None
        Smoothings to try: values for the parameter `alpha` (or `var_smoothing`) of the estimators.
    refit : bool, "simplest" or callable, default=True
        Train the best model on all rows; False: do not. "simplest" takes the smallest k
        whose mean score is within one standard error of the best; a callable takes `cv_results_`
        and returns an index.

    Attributes
    ----------
    cv_results_ : dict of ndarrays
        As in :class:`sklearn.model_selection.GridSearchCV`, with the columns `param_k`,
        `param_alpha` (if `alphas` are given) and `param_estimator` (if a list is). Times are equal
        shares of the pass that served all k.
    best_index_ : int
        Which candidate was chosen: the highest mean score, fewest features where several have it,
        or what `refit` says.
    best_k_ : int
        Its number of features.
    best_score_ : float
        Its mean score over the folds. It is the best of many, so it flatters; to report the
        error of the choice, cross-validate this object as a whole.
    best_params_ : dict
        Its parameters.
    best_estimator_ : estimator
        Trained on all rows, unless `refit=False`.
    simplest_k_ : int
        Fewest features within one standard error of the best mean score, for the winning
        estimator and smoothing.
    ranking_ : Ranking
        The estimators at their best, with the difference to the winner and its standard error
        over the folds; `print` it.
    scorer_ : callable
        What scores the held-out rows.
    n_splits_ : int
        Number of folds.
    refit_time_ : float
        Seconds that the training of the best estimator took.
    classes_ : ndarray of shape (n_classes,)
        Class labels.
    n_features_in_ : int
        Number of features seen in `fit`.
    feature_names_in_ : ndarray of shape (n_features,)
        Names of the features, if `X` has string column names.

    See Also
    --------
    error_path : Three estimates of the error over k.

    Notes
    -----
    Weights of rows count in the training and in the scores, as if rows were repeated. With
    metadata routing enabled, `set_fit_request` and `set_score_request` decide instead.

    Examples
    --------
    >>> from sklearn.datasets import load_digits
    >>> from naively import SparseBernoulliNB, SparseMultinomialNB, SparsityCV
    >>> X, y = load_digits(return_X_y=True)
    >>> search = SparsityCV([SparseMultinomialNB(), SparseBernoulliNB(binarize=7)]).fit(X, y)
    >>> search.best_k_, search.simplest_k_
    (44, 31)
    >>> search.ranking_.winner.name
    'SparseMultinomialNB'
    """

    def __init__(
        self,
        estimator: ClassifierMixin | list[ClassifierMixin] | tuple[ClassifierMixin, ...],
        ks: ArrayLike | None = None,
        cv: int | BaseCrossValidator | Iterable[tuple[ArrayLike, ArrayLike]] = 5,
        scoring: str | Scorer | None = None,
        alphas: float | Iterable[ArrayLike] | None = None,
        refit: bool | str | Callable[[dict[str, Any]], int] = True,
    ) -> None:
        self.estimator = estimator
        self.ks = ks
        self.cv = cv
        self.scoring = scoring
        self.alphas = alphas
        self.refit = refit

    # -- training -------------------------------------------------------------------------------

    @all_or_nothing
    def fit(
        self,
        X: MatrixLike,
        y: ArrayLike,
        sample_weight: ArrayLike | None = None,
        groups: ArrayLike | None = None,
        **params: Any,
    ) -> Self:
        """Cross-validate all k, and train the best model on all rows.

        Parameters
        ----------
        X : {array-like, sparse matrix, data frame} of shape (n_samples, n_features)
            Rows.
        y : array-like of shape (n_samples,)
            Class labels.
        sample_weight : array-like of shape (n_samples,), default=None
            Weight of each row, in training and scoring.
        groups : array-like of shape (n_samples,), default=None
            For splitters that keep groups together.
        **params : dict
            Further arguments of the `fit` of estimators from elsewhere; with metadata routing
            enabled, whatever was requested.

        Returns
        -------
        self : object
            The fitted search.

        Raises
        ------
        ValueError
            If the data, the grid, or a parameter cannot be used.
        """
        contenders = [clone(each) for each in self._contenders()]
        self.scorer_ = one_scorer(contenders[0], self.scoring)
        checked, labels = self._checked(contenders[0], X, y)
        if groups is not None:
            group_codes(groups, len(labels), "row")
        routed = self._routed(sample_weight, groups, params)
        cv = check_cv(self.cv, labels, classifier=True)
        splits = checked_splits(cv.split(checked, labels, **routed["split"]), len(labels))
        self._check_weights(routed, splits, len(labels))
        is_accuracy = self.scoring is None or (
            isinstance(self.scoring, str) and self.scoring == "accuracy"
        )
        scoring = Scoring(self.scorer_, is_accuracy, routed["score"])
        self.n_splits_ = len(splits)
        kinds = [PipelineContender if is_pipeline(each) else Contender for each in contenders]
        known = [(checked, labels), *[None] * (len(contenders) - 1)]
        searches = [
            kind(each, X, y, labels, splits, scoring, fit, rows)
            for kind, each, fit, rows in zip(kinds, contenders, routed["fit"], known, strict=True)
        ]
        most, least = zip(*(search.bounds() for search in searches), strict=True)
        grid = checked_grid(self.ks, min(most), max(least))
        groups_of_curves = [self._curves(search, grid) for search in searches]
        self._choose(groups_of_curves)
        if self.refit:
            self._train_best(groups_of_curves, searches)
        return self

    def _contenders(self) -> list[ClassifierMixin]:
        given = self.estimator
        contenders = [*given] if isinstance(given, list | tuple) else [given]
        if not contenders:
            raise ValueError("`estimator` must be a classifier or a list of at least one; got [].")
        for each in contenders:
            is_instance = hasattr(each, "get_params") and not isinstance(each, type)
            if not is_instance or not _is_contender(each):
                got = (
                    f"the class {each.__name__}" if isinstance(each, type) else type(each).__name__
                )
                raise TypeError(
                    "`estimator` must be a classifier with a parameter `k`, such as "
                    f"SparseBernoulliNB(), a pipeline whose last step is one of this package, or a "
                    f"list of them; got {got}."
                )
            if not is_classifier(each):
                raise TypeError(
                    f"`estimator` must be a classifier; {type(each).__name__} is none. Put a "
                    "selector in a pipeline with a classifier, and use GridSearchCV."
                )
        return contenders

    def _checked(self, first: ClassifierMixin, X: MatrixLike, y: ArrayLike) -> tuple[Matrix, Array]:
        """Rows and labels as the first estimator checks them; those of others are taken as is."""
        if isinstance(first, AbstractSparseClassifier):
            return first._check_batch(X, y, reset=True)
        if is_pipeline(first):
            labels = checked_labels(y)
            check_consistent_length(X, labels)
            return np.zeros((len(labels), 1)), labels
        rows = rows_as_given(X)
        if len(rows.shape) != 2:
            raise ValueError(f"`X` must have two dimensions, rows and columns; got {rows.shape}.")
        return rows, np.asarray(y)

    def _check_weights(self, routed: Routed, splits: Splits, n: int) -> None:
        weight = routed["score"].get("sample_weight")
        if weight is not None:
            check_takes_weights(self.scorer_, self.scoring)
        for fit in routed["fit"]:
            check_split_weights(fit.get("sample_weight"), splits, 0, n)
        check_split_weights(weight, splits, 1, n)

    def _curves(self, search: Contender, grid: IntArray) -> list[Curve]:
        """Curves of one estimator, one for each smoothing."""
        fixed = {"estimator": search.estimator} if isinstance(self.estimator, list | tuple) else {}
        if self.alphas is None:
            return [search.curve(search.estimator, fixed, grid)]
        name = smoothing_of(search.estimator)
        return [
            search.curve(with_params(search.estimator, {name: alpha}), {**fixed, name: alpha}, grid)
            for alpha in checked_alphas(self.alphas)
        ]

    def _choose(self, groups_of_curves: list[list[Curve]]) -> None:
        curves = [curve for group in groups_of_curves for curve in group]
        self.cv_results_ = results_table(curves)
        self.ranking_: Ranking = ranking(groups_of_curves)
        winner = best_curve(curves)
        if np.isnan(winner.mean).all():
            raise ValueError(
                "`scoring` must give a number for at least one candidate in every fold; every mean "
                "score is NaN."
            )
        self.simplest_k_ = int(winner.k[winner.position("simplest")])
        self.multimetric_ = False
        if callable(self.refit):
            self.best_index_ = self._checked_index(self.refit(self.cv_results_))
        else:
            first = curves.index(winner) * len(winner.k)  # every curve has the same grid
            self.best_index_ = first + winner.position(self._choice())
        self.best_params_ = self.cv_results_["params"][self.best_index_]
        self.best_k_ = self.best_params_["k"]
        self.best_score_ = float(self.cv_results_["mean_test_score"][self.best_index_])

    def _choice(self) -> Choice:
        if isinstance(self.refit, str) and self.refit == "simplest":
            return "simplest"
        if not isinstance(self.refit, bool | np.bool_):
            raise ValueError(
                f"`refit` must be True, False, 'simplest' or a callable; got {self.refit!r}."
            )
        return "best"

    def _checked_index(self, index: object) -> int:
        n = len(self.cv_results_["params"])
        if not isinstance(index, int | np.integer) or not 0 <= index < n:
            raise ValueError(f"The callable `refit` must return an int in [0, {n}); got {index!r}.")
        return int(index)

    def _train_best(self, groups_of_curves: list[list[Curve]], searches: list[Contender]) -> None:
        start = time.perf_counter()
        before = np.cumsum([sum(len(curve.k) for curve in group) for group in groups_of_curves])
        search = searches[int(np.searchsorted(before, self.best_index_, side="right"))]
        values = {name: v for name, v in self.best_params_.items() if name != "estimator"}
        self.best_estimator_ = search.trained(with_params(search.estimator, values))
        self.refit_time_ = time.perf_counter() - start

    # -- metadata -------------------------------------------------------------------------------

    def _routed(
        self, sample_weight: ArrayLike | None, groups: ArrayLike | None, params: Params
    ) -> Routed:
        """Arguments of `fit` (those of each estimator), `score` and `split`."""
        per_row = {"sample_weight": sample_weight, "groups": groups}
        given = {name: np.asarray(each) for name, each in per_row.items() if each is not None}
        if routing_enabled():
            routed = process_routing(self, "fit", **given, **params)
            fits = [routed[name].fit for name in self._names()]
            return {"fit": fits, "score": routed.scorer.score, "split": routed.splitter.split}
        weight = {name: value for name, value in given.items() if name == "sample_weight"}
        split = {"groups": groups} if groups is not None else {}
        fits = [{**weight, **params} for _ in self._names()]
        return {"fit": fits, "score": weight, "split": split}

    def _names(self) -> list[str]:
        several = isinstance(self.estimator, list | tuple)
        n = len(self._contenders())
        return [f"estimator_{i}" for i in range(n)] if several else ["estimator"]

    def get_metadata_routing(self) -> MetadataRouter:
        """Say which metadata goes where.

        Returns
        -------
        routing : MetadataRouter
            To the estimators (`fit`), the scorer (`fit` and `score`) and the splitter.
        """
        router = MetadataRouter(owner=self)
        for name, each in zip(self._names(), self._contenders(), strict=True):
            router.add(**{name: each}, method_mapping=_mapping(fit="fit"))
        scorer = one_scorer(self._contenders()[0], self.scoring)
        router.add(scorer=scorer, method_mapping=_mapping(fit="score", score="score"))
        cv = check_cv(self.cv, classifier=True)
        return router.add(splitter=cv, method_mapping=_mapping(fit="split"))

    # -- the best estimator ---------------------------------------------------------------------

    def _best(self) -> ClassifierMixin:
        check_is_fitted(self)
        if not hasattr(self, "best_estimator_"):
            raise NotFittedError("This search has no best estimator: it has `refit=False`.")
        return self.best_estimator_

    def score(self, X: MatrixLike, y: ArrayLike, **params: Any) -> float:
        """Score the best estimator with `scorer_`.

        Parameters
        ----------
        X : {array-like, sparse matrix, data frame} of shape (n_samples, n_features)
            Rows.
        y : array-like of shape (n_samples,)
            Class labels.
        **params : dict
            Arguments of the scorer, such as `sample_weight`.

        Returns
        -------
        score : float
            Accuracy, unless `scoring` says otherwise.
        """
        best = self._best()
        if routing_enabled():
            params = process_routing(self, "score", **params).scorer.score
        return float(self.scorer_(best, X, y, **params))

    @_of_best("predict")
    def predict(self, X: MatrixLike) -> Array:
        """Predict the class of each row with the best estimator.

        Parameters
        ----------
        X : {array-like, sparse matrix, data frame} of shape (n_samples, n_features)
            Rows.

        Returns
        -------
        y : ndarray of shape (n_samples,)
            Labels.
        """
        return self._best().predict(X)

    @_of_best("predict_proba")
    def predict_proba(self, X: MatrixLike) -> Array:
        """Class probabilities of the best estimator.

        Parameters
        ----------
        X : {array-like, sparse matrix, data frame} of shape (n_samples, n_features)
            Rows.

        Returns
        -------
        proba : ndarray of shape (n_samples, n_classes)
            Columns in the order of `classes_`.
        """
        return self._best().predict_proba(X)

    @_of_best("predict_log_proba")
    def predict_log_proba(self, X: MatrixLike) -> Array:
        """Compute the logarithms of the class probabilities of the best estimator.

        Parameters
        ----------
        X : {array-like, sparse matrix, data frame} of shape (n_samples, n_features)
            Rows.

        Returns
        -------
        log_proba : ndarray of shape (n_samples, n_classes)
            Columns in the order of `classes_`.
        """
        return self._best().predict_log_proba(X)

    @_of_best("decision_function")
    def decision_function(self, X: MatrixLike) -> Array:
        """Compute the scores of the best estimator.

        Parameters
        ----------
        X : {array-like, sparse matrix, data frame} of shape (n_samples, n_features)
            Rows.

        Returns
        -------
        scores : ndarray of shape (n_samples,) or (n_samples, n_classes)
            As the estimator gives them.
        """
        return self._best().decision_function(X)

    @_of_best("transform")
    def transform(self, X: MatrixLike) -> Any:  # a frame, with `set_output`
        """Reduce rows to the features of the best estimator.

        Parameters
        ----------
        X : {array-like, sparse matrix, data frame} of shape (n_samples, n_features)
            Rows.

        Returns
        -------
        X : {ndarray, sparse matrix, data frame} of shape (n_samples, k)
            The selected columns.
        """
        return self._best().transform(X)

    @_of_best("transform")
    def fit_transform(self, X: MatrixLike, y: ArrayLike, **params: Any) -> Any:
        """Fit, and reduce the rows to the features of the best estimator.

        Parameters
        ----------
        X : {array-like, sparse matrix, data frame} of shape (n_samples, n_features)
            Rows.
        y : array-like of shape (n_samples,)
            Class labels.
        **params : dict
            As in :meth:`fit`.

        Returns
        -------
        X : {ndarray, sparse matrix, data frame} of shape (n_samples, k)
            The selected columns.
        """
        return self.fit(X, y, **params).transform(X)

    @_of_best("get_support")
    def get_support(self, indices: bool = False) -> Array:
        """Find the features of the best estimator.

        Parameters
        ----------
        indices : bool, default=False
            Return positions instead of a mask.

        Returns
        -------
        support : ndarray
            Mask (n_features,) or positions (k,).
        """
        return self._best().get_support(indices=indices)

    @_of_best("get_feature_names_out")
    def get_feature_names_out(self, input_features: ArrayLike | None = None) -> Array:
        """Name the features that :meth:`transform` returns.

        Parameters
        ----------
        input_features : array-like of str, default=None
            Names of the columns, if they were not seen in `fit`.

        Returns
        -------
        names : ndarray of str
        """
        return self._best().get_feature_names_out(input_features)

    @property
    def classes_(self) -> Array:
        """Class labels, (n_classes,)."""
        return self._attribute("classes_")

    @property
    def n_features_in_(self) -> int:
        """Number of features seen in `fit`."""
        return self._attribute("n_features_in_")

    @property
    def feature_names_in_(self) -> Array:
        """Names of the features seen in `fit`."""
        return self._attribute("feature_names_in_")

    def _attribute(self, name: str) -> Any:
        if not hasattr(self, "best_estimator_"):
            raise AttributeError(f"{type(self).__name__} has no `{name}` before it is refitted.")
        return getattr(self.best_estimator_, name)

    def __sklearn_is_fitted__(self) -> bool:
        return hasattr(self, "cv_results_")

    def __sklearn_tags__(self) -> Tags:
        tags = super().__sklearn_tags__()
        inner = get_tags(self._contenders()[0])
        tags.input_tags.sparse = inner.input_tags.sparse
        tags.input_tags.positive_only = inner.input_tags.positive_only
        tags.transformer_tags = inner.transformer_tags
        tags.classifier_tags.poor_score = True
        return tags


def _is_contender(estimator: BaseEstimator) -> bool:
    if is_pipeline(estimator):
        return isinstance(last_step(estimator), AbstractSparseClassifier)
    return "k" in estimator.get_params()


def _mapping(**callers: str) -> MethodMapping:
    mapping = MethodMapping()
    for caller, callee in callers.items():
        mapping.add(caller=caller, callee=callee)
    return mapping
