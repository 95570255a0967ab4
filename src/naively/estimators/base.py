"""What every sparse classifier shares: the pipeline from data to a decision.

    check the batch -> class statistics -> support and certificate -> rule -> scores

`fit` runs it, `partial_fit` runs it on `statistics + batch`, `from_statistics` from its second
step. An estimator says which :class:`~naively.models.model.Model` its parameters make; everything
else follows from that.
"""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any, Protocol, Self

import numpy as np
from numpy.typing import ArrayLike
from scipy.special import logsumexp
from sklearn.base import BaseEstimator, ClassifierMixin
from sklearn.exceptions import NotFittedError
from sklearn.feature_selection import SelectorMixin
from sklearn.utils import (
    Tags,
    assert_all_finite,
    check_array,
    check_consistent_length,
    column_or_1d,
)
from sklearn.utils.multiclass import check_classification_targets
from sklearn.utils.validation import check_is_fitted, validate_data

from naively._nearest import short
from naively._notebook import note_html
from naively._types import Array, BoolArray, FloatArray, IntArray, K, MatrixLike
from naively._warn import warn
from naively.estimators.all_or_nothing import all_or_nothing
from naively.estimators.asked import AskedMixin
from naively.judging.calibration import cross_fitted
from naively.judging.error_path import FoldErrors
from naively.judging.folds import choose_k
from naively.judging.rows import checked_rows
from naively.judging.stability import SelectionStability, stability_at
from naively.models.alike import p_values
from naively.models.counting import (
    FIRST_ROWS,
    size_of_values,
    uncounted,
    unlike_training,
    whole_values,
)
from naively.models.kinds import MODELS
from naively.models.model import A, Model, RowsOver, S
from naively.models.rules import LinearRule, Rule, winners
from naively.selection.certificate import UNPROVEN, Certificate, Selection
from naively.selection.chance import RATE, discoveries
from naively.selection.redundancy import refuse_no_rows
from naively.selection.refit import Refitted
from naively.selection.train import Trained, is_auto, is_fdr, k_of, train
from naively.statistics.labels import refuse_missing
from naively.statistics.matrix import (
    Matrix,
    as_matrix,
    canonical,
    check_numbers,
    has_sparse_columns,
    is_sparse,
    unmasked,
)
from naively.statistics.source import distinct

RULED_OUT = 1e300


def _warn_of_fractions(name: str, X: Matrix) -> None:
    """Warn of logarithms in place of counts; elsewhere shares of terms are usual."""
    kind = MODELS[name]
    if (
        kind.takes == "counts"
        and "exposure" in kind.parameters
        and (said := uncounted(X[:FIRST_ROWS]))
    ):
        warn(
            f"The {name} model takes counts, and {said}. Pass counts, or take SparseGaussianNB for "
            "logarithms."
        )


class Reading(Protocol):
    """How a model that comes from a file sees rows: the columns it knows, by their names."""

    @property
    def names(self) -> Array:
        """Names of the selected features, (k,)."""
        ...

    def columns(self, estimator: Any, X: Any) -> Any:
        """Return the selected columns of rows."""
        ...

    def seen(self, estimator: Any, X: Any) -> Matrix:
        """Return what the rule sees of rows."""
        ...

    def answers(self, scores: FloatArray) -> IntArray:
        """Codes (n,) of the classes that are answered."""
        ...


class AbstractSelectingClassifier(SelectorMixin, ClassifierMixin, BaseEstimator):
    """Scores become decisions, and the features behind them can be had: whatever the training."""

    rule_: Rule
    _reading: Reading | None = None  # of a model that comes from a file
    _whole: bool | None = None  # of what was trained on; older pickles do not hold it
    _size: float | None = None

    @abstractmethod
    def _selected(self, X: MatrixLike) -> Matrix:
        """Check rows, and return what the rule sees of them."""

    def _seen(self, X: MatrixLike) -> Matrix:
        check_is_fitted(self)
        return self._selected(X) if self._reading is None else self._reading.seen(self, X)

    def _scores(self, X: MatrixLike) -> FloatArray:
        """Score of each class (n_samples, n_classes), up to a term common to a row."""
        seen = self._seen(X)
        return self.rule_.scores(seen)

    def __getattr__(self, name: str) -> Any:
        if self._reading is not None and name.endswith("_") and not name.startswith("_"):
            raise AttributeError(
                f"{type(self).__name__} comes from a file, which holds the rule of a model and not "
                f"what it was trained on: there is no `{name}`. Fit it anew to have it."
            )
        raise AttributeError(f"{type(self).__name__!r} object has no attribute {name!r}")

    @property
    @abstractmethod
    def support_(self) -> BoolArray:
        """Mask of the selected features, (n_features,)."""

    classes_: Array

    # -- notebooks: the diagram of scikit-learn, and below it what was found ---------------------

    @property
    def _repr_html_(self) -> Callable[[], str]:
        diagram = super()._repr_html_  # not there if scikit-learn is configured to show text
        return lambda: diagram() + _found_html(self)

    def _repr_mimebundle_(self, **kwargs: Any) -> dict[str, str]:
        bundle: dict[str, str] = super()._repr_mimebundle_(**kwargs)
        if "text/html" in bundle:
            bundle["text/html"] += _found_html(self)
        return bundle

    def _check_values(self, X: Matrix) -> None:
        """Raise if finite rows to score hold values that the model cannot take."""

    # -- checks ---------------------------------------------------------------------------------

    def _check_batch(self, X: MatrixLike, y: ArrayLike, *, reset: bool) -> tuple[Matrix, Array]:
        check_numbers(X)
        # Finite and non-negative values are checked while counting: one pass instead of three.
        # Other sparse formats become CSR here, where no sum of duplicates can wrap around.
        with texts_untold(self, X):
            labels = y if y is None else "no_validation"
            rows = checked_rows_of(self, X, labels, reset=reset, finite=False, in_order=False)
        return rows, self._check_labels(y, rows)

    def _check_labels(self, y: ArrayLike, rows: Matrix) -> Array:
        refuse_missing(y, "y")
        labels: Array = column_or_1d(y, warn=True)
        check_consistent_length(rows, labels)
        if labels.dtype.kind not in "biuUS":  # integers, booleans and strings are always labels
            if labels.dtype.kind == "f":
                assert_all_finite(labels, input_name="y")
            check_classification_targets(labels)
        return labels

    # -- decisions ------------------------------------------------------------------------------

    def _check_rows(self, X: MatrixLike) -> Matrix:
        check_numbers(X)
        with texts_untold(self, X):
            X = checked_rows_of(self, X, finite=self._finite(), formats="csr")
        self._check_values(X)
        return X

    def _finite(self) -> bool | str:
        """Which rows are refused: those with NaN and infinity, or with infinity alone."""
        return "allow-nan" if getattr(self, "missing", "error") == "ignore" else True

    def predict(self, X: MatrixLike) -> Array:
        """Predict the class of each row.

        Parameters
        ----------
        X : {array-like, sparse matrix, data frame} of shape (n_samples, n_features)
            Rows to classify.

        Returns
        -------
        y : ndarray of shape (n_samples,)
            Labels; the first of `classes_` where scores tie, to rounding, as in scikit-learn:
            other labels may move such rows.
        """
        scores = self._scores(X)
        answers = winners if self._reading is None else self._reading.answers
        return np.asarray(self.classes_[answers(scores)])

    def decision_function(self, X: MatrixLike) -> FloatArray:
        """Score each class, or the second against the first when there are two.

        Parameters
        ----------
        X : {array-like, sparse matrix, data frame} of shape (n_samples, n_features)
            Rows to score.

        Returns
        -------
        scores : ndarray of shape (n_samples,) or (n_samples, n_classes)
            Two classes: positive where `predict` gives the second. Otherwise one column per class,
            up to a term common to the row; `predict` gives the first of the largest. In nats, but
            of center classifiers. A class that is ruled out (smoothing 0) has -1e300.
        """
        scores = self._scores(X)
        # What ties to rounding is equal here, too.
        np.put_along_axis(scores, winners(scores)[:, None], scores.max(axis=1)[:, None], axis=1)
        with np.errstate(over="ignore"):
            two = scores.shape[1] == 2
            found = scores[:, 1] - scores[:, 0] if two else scores
        # Finite, and so are sums of many: metrics refuse what is not.
        return np.nan_to_num(found, posinf=RULED_OUT, neginf=-RULED_OUT)

    # -- the selector ---------------------------------------------------------------------------

    def transform(self, X: MatrixLike) -> Any:  # a frame, with `set_output`
        """Reduce rows to the selected features.

        Parameters
        ----------
        X : {array-like, sparse matrix, data frame} of shape (n_samples, n_features)
            Rows; infinity is refused in every container, and NaN unless `missing` is "ignore".

        Returns
        -------
        X : {ndarray, sparse matrix, data frame} of shape (n_samples, k)
            The selected columns, in their order in `X`.
        """
        check_is_fitted(self)
        if self._reading is not None:
            return self._reading.columns(self, X)
        return selected_columns(self, X, self._finite())

    def get_feature_names_out(self, input_features: ArrayLike | None = None) -> Array:
        """Name the selected features.

        Parameters
        ----------
        input_features : array-like of str of shape (n_features,), default=None
            Names of all features, if they have none of their own.

        Returns
        -------
        names : ndarray of str of shape (k,)
            Without names `x0`, `x1`, ... by their position.
        """
        check_is_fitted(self)
        if self._reading is not None:
            return self._reading.names
        return np.asarray(super().get_feature_names_out(input_features), dtype=object)

    def _get_support_mask(self) -> BoolArray:
        check_is_fitted(self)
        return self.support_

    def __sklearn_tags__(self) -> Tags:
        tags = super().__sklearn_tags__()
        tags.input_tags.sparse = True
        tags.input_tags.allow_nan = self._finite() == "allow-nan"
        return tags


class AbstractSparseClassifier(AskedMixin[S], AbstractSelectingClassifier):
    """A classifier that uses k features, and the selector of those features."""

    k: K
    stable: float | None
    model_: Model[S]
    statistics_: S
    selection_: Selection
    refitted_: Refitted | None
    temperature_: float
    fold_errors_: FoldErrors  # with k="auto", "simplest" or "best"
    stability_: SelectionStability  # with `stable`

    # -- training -------------------------------------------------------------------------------

    @all_or_nothing
    def fit(self, X: MatrixLike, y: ArrayLike, sample_weight: ArrayLike | None = None) -> Self:
        """Select the features and train the classifier.

        Parameters
        ----------
        X : {array-like, sparse matrix, data frame} of shape (n_samples, n_features)
            Training rows.
        y : array-like of shape (n_samples,)
            Class labels.
        sample_weight : array-like of shape (n_samples,), default=None
            Weight of each row, non-negative; a weight of 2 is the row twice.

        Returns
        -------
        self : object
            The fitted estimator.

        Raises
        ------
        ValueError
            If the data, the labels, the weights or a parameter cannot be used.
        """
        X, y = self._check_batch(X, y, reset=True)
        model = self._asked()
        _warn_of_fractions(model.name, X)
        counted = model.gather(X, y, sample_weight)
        statistics = self._weighed(counted)
        weight = self._weighted_rows(y, sample_weight)
        k, support = self._choice(model, X, y, weight, statistics)
        if support is not None and model.calibration is not None:
            raise ValueError(
                "`calibration` is fitted on folds that choose the k best features, not those of "
                "`k`='fdr' or `stable`; leave one of them out."
            )
        rows = model.rows_over(statistics, X, y, weight)
        trained = train(model, statistics, k, rows=rows, support=support)
        if model.calibration is not None:
            judged = checked_rows(X, y, weight)
            trained = trained.at(cross_fitted(model, judged, statistics, k))
        return self._store(trained, counted)

    def _choice(
        self, model: Model[S], X: Matrix, y: Array, sample_weight: ArrayLike | None, statistics: S
    ) -> tuple[int, IntArray | None]:
        """Find the number of features, and which they are where the model is not to say so."""
        if is_auto(self.k):
            self._checked_rate()
            self.fold_errors_, k = choose_k(model, X, y, sample_weight, statistics, self.k)
            support = None
        else:
            k, support = self._asked_for(model, statistics)
        if self.stable is None:
            return k, support
        self.stability_ = stability_at(
            model, checked_rows(X, y, sample_weight), statistics, k, self.stable, known=support
        )
        support = self.stability_.stable(k, self.stable)
        return len(support), support

    def _asked_for(self, model: Model[S], statistics: S) -> tuple[int, IntArray | None]:
        """Return the same from statistics alone."""
        q = self._checked_rate()
        if q is None:
            return k_of(model, statistics, self.k), None
        weighed = getattr(self, "class_weight", None) is not None
        support = discoveries(model, statistics, q, class_weights=weighed)
        return len(support), support

    def _checked_rate(self) -> float | None:
        """Return the false discovery rate, where it chooses the features."""
        q = getattr(self, "q", None)
        if is_fdr(self.k):
            return RATE if q is None else q
        if q is not None:
            raise ValueError(f"`q` has no effect without `k`='fdr'; give both or neither. Got {q}.")
        return None

    def gather(
        self,
        X: MatrixLike,
        y: ArrayLike,
        sample_weight: ArrayLike | None = None,
        *,
        classes: ArrayLike | None = None,
    ) -> S:
        """Class statistics of rows, without training.

        Statistics of the same model add up: gather them anywhere, sum them, and pass the sum to
        :meth:`from_statistics`.

        Parameters
        ----------
        X : {array-like, sparse matrix, data frame} of shape (n_samples, n_features)
            Rows.
        y : array-like of shape (n_samples,)
            Class labels.
        sample_weight : array-like of shape (n_samples,), default=None
            Weight of each row.
        classes : array-like of shape (n_classes,), default=None
            All labels, if the rows may lack some.

        Returns
        -------
        statistics : ClassCounts, ClassMoments or ClassValues
            What `fit` would have stored as `statistics_`, without weights of classes.
        """
        X, y = self._check_batch(X, y, reset=not hasattr(self, "statistics_"))
        return self._asked().gather(X, y, sample_weight, classes=classes)

    @classmethod
    def from_statistics(
        cls, statistics: S, k: K = 10, *, feature_names: ArrayLike | None = None, **parameters: Any
    ) -> Self:
        """Fit without data, from class statistics gathered anywhere.

        Parameters
        ----------
        statistics : ClassCounts, ClassMoments or ClassValues
            Statistics of the kind that this model counts (its `statistics_`).
        k : int, float, "all" or "fdr", default=10
            As in the constructor.
        feature_names : array-like of str of shape (n_features,), default=None
            Becomes `feature_names_in_`.
        **parameters
            Further parameters of the constructor.

        Returns
        -------
        estimator : object
            Equal to the estimator fitted on the rows behind the statistics.
        """
        estimator = cls(k=k, **parameters)
        estimator.n_features_in_ = statistics.n_features
        if feature_names is not None:
            names = np.asarray(feature_names, dtype=object)
            if names.shape != (statistics.n_features,):
                raise ValueError(
                    f"`feature_names` must have one name per feature "
                    f"(n_features={statistics.n_features}); got shape {names.shape}."
                )
            estimator.feature_names_in_ = names
        return estimator._finish(statistics)

    def _finish(self, statistics: S, rows: RowsOver | None = None) -> Self:
        """Train on statistics of rows that weigh the same, and on these where they are needed."""
        model, weighed = self._asked(), self._weighed(statistics)
        if model.calibration is not None:
            refuse_no_rows("calibration", model.calibration)
        if self.stable is not None:
            refuse_no_rows("stable", self.stable)
        k, support = self._asked_for(model, weighed)
        trained = train(model, weighed, k, rows=rows, support=support)
        return self._store(trained, statistics)

    def _store(self, trained: Trained[S], counted: S) -> Self:
        if said := trained.told:
            warn(said)
        self._reading = None
        self._counted = counted  # before the weights of the classes: more rows are added to it
        name, support = trained.model.name, trained.selection.support
        self._whole = whole_values(counted, support)
        self._size = size_of_values(name, counted, support)
        self.model_ = trained.model
        self.statistics_ = trained.statistics
        self.selection_ = trained.selection
        self.rule_ = trained.rule
        self.refitted_ = trained.refitted
        self.temperature_ = trained.temperature
        self.classes_ = trained.classes
        return self

    # -- decisions ------------------------------------------------------------------------------

    def _selected(self, X: MatrixLike) -> Matrix:
        support = self.selection_.support
        seen = self.model_.seen(self.statistics_, self._check_rows(X), support)
        own = seen[:, : len(support)]
        if said := unlike_training(self._whole, own, self.rule_, self._size):
            warn(said)
        return seen

    @property
    def support_(self) -> BoolArray:
        """Mask of the selected features, (n_features,)."""
        mask = np.zeros(self._n_variables, dtype=np.bool_)
        mask[self.selection_.support] = True
        return mask

    @property
    def scores_(self) -> FloatArray:
        """Gain of each feature, (n_features,): nats of likelihood, or distance for centers."""
        return self.model_.family.gain(self.statistics_)

    @property
    def certificate_(self) -> Certificate | None:
        """Proof of how good the selection is (:class:`naively.Certificate`), if there is one."""
        return self.selection_.certificate

    @property
    def displaced_(self) -> list[IntArray]:
        """Columns that say what each selected feature says, with `redundancy`; (k,) arrays."""
        return list(self.selection_.displaced)

    def __sklearn_is_fitted__(self) -> bool:
        return hasattr(self, "selection_")


class AbstractAddingClassifier(AbstractSparseClassifier[A]):
    """Training in batches too, for models whose statistics add up."""

    @all_or_nothing
    def partial_fit(
        self,
        X: MatrixLike,
        y: ArrayLike,
        classes: ArrayLike | None = None,
        sample_weight: ArrayLike | None = None,
    ) -> Self:
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
            earlier call, or lacks a label of `y`. The estimator is then unchanged.
        """
        if self._reading is not None:
            raise ValueError(
                "A model from a file holds no statistics, to which a batch could be added; clone "
                "it, and train it on all rows."
            )
        first = not hasattr(self, "statistics_")
        X, y = self._check_batch(X, y, reset=first)
        known = self._known_classes(classes, first=first)
        batch = self._asked().gather(X, y, sample_weight, classes=known)
        return self._finish(batch if first else self._counted + batch)

    def forget(self, X: MatrixLike, y: ArrayLike, sample_weight: ArrayLike | None = None) -> Self:
        """Take rows out again; the result is that of `fit` on the rows that are left.

        Counts are subtracted: whole numbers without weights exactly, real numbers (and squared
        deviations, of which dispersions are made) to rounding.
        Classes stay, with or without rows.

        Parameters
        ----------
        X : {array-like, sparse matrix, data frame} of shape (n_samples, n_features)
            Rows that the estimator was trained on.
        y : array-like of shape (n_samples,)
            Their class labels.
        sample_weight : array-like of shape (n_samples,), default=None
            Their weights in training.

        Returns
        -------
        self : object
            The fitted estimator.

        Raises
        ------
        ValueError
            If the rows cannot have been there, as far as sums can tell: a count would fall below 0,
            rows would be left without a count, or counts without rows. The estimator is then
            unchanged.
        NotFittedError
            If the estimator is not fitted.
        """
        check_is_fitted(self)
        before = self.__dict__.copy()
        try:
            rows, labels = self._check_batch(X, y, reset=False)
            gone = self._asked().gather(rows, labels, sample_weight)
            return self._finish(self._left(gone, len(labels)))
        except BaseException:
            self.__dict__.update(before)
            raise

    def _left(self, gone: A, n_rows: int) -> A:
        """Statistics without those of so many rows that are to be forgotten."""
        known = self._counted.classes.tolist()
        strange = [label for label in gone.classes.tolist() if label not in known]
        try:
            if strange:
                raise ValueError(f"No row has the label {short(strange[0])!r}.")
            return self._counted.without(gone)
        except ValueError as error:
            raise ValueError(
                f"`X` must hold rows that the estimator was trained on, with the same labels and "
                f"weights; it was not trained on all of these {n_rows}. {error} "
                "Nothing was forgotten; pass the rows as they were, or fit anew."
            ) from error

    def _known_classes(self, classes: ArrayLike | None, *, first: bool) -> Array:
        if classes is None:
            if first:
                raise ValueError(
                    "`classes` must be passed on the first call to partial_fit: the labels of "
                    "this batch may not be all there are."
                )
            return self.classes_
        known: Array = np.unique(np.asarray(classes))
        if not first and not np.array_equal(known, self.classes_):
            raise ValueError(
                f"`classes={known!r}` is not the same as on the last call to partial_fit: "
                f"{self.classes_!r}."
            )
        return known


class PosteriorMixin(AbstractSelectingClassifier):
    """Scores that are log posteriors, up to a term common to a row."""

    def predict_log_proba(self, X: MatrixLike) -> FloatArray:
        """Log posterior of each class.

        Parameters
        ----------
        X : {array-like, sparse matrix, data frame} of shape (n_samples, n_features)
            Rows to classify.

        Returns
        -------
        log_proba : ndarray of shape (n_samples, n_classes)
            Columns in the order of `classes_`. A class that cannot have produced a row (smoothing
            0) has -inf; a row that no class can have produced gets the prior.
        """
        scores = self._scores(X)
        return scores - logsumexp(scores, axis=1, keepdims=True)

    def predict_proba(self, X: MatrixLike) -> FloatArray:
        """Posterior probability of each class.

        Parameters
        ----------
        X : {array-like, sparse matrix, data frame} of shape (n_samples, n_features)
            Rows to classify.

        Returns
        -------
        proba : ndarray of shape (n_samples, n_classes)
            Columns in the order of `classes_`; rows sum to 1.
        """
        return np.exp(self.predict_log_proba(X))


class AbstractSparseNaiveBayes(PosteriorMixin, AbstractAddingClassifier[A]):
    """A sparse classifier whose scores are log posteriors, and gains likelihood ratios."""

    @property
    def pvalues_(self) -> FloatArray:
        """Chance of a gain as large in a feature that is alike in all classes, (n_features,).

        From the likelihood-ratio test: twice the gain against chi-squared. It takes rows to be
        independent and the model to hold: counts that come in bursts (a word that is repeated
        within a row) look far more significant than they are. `k="fdr"` takes other p-values
        where these do not hold.
        """
        check_is_fitted(self)
        return p_values(self.model_.family, self.statistics_)

    @property
    def class_log_prior_(self) -> FloatArray:
        """Log prior of each class, (n_classes,)."""
        return self.model_.log_prior(self.statistics_)

    @property
    def class_count_(self) -> FloatArray:
        """Weight of the training rows of each class, (n_classes,)."""
        return self.statistics_.class_weight


class LinearWeightsMixin(AbstractSparseClassifier[S]):
    """Weights of a linear rule, laid out over all features as scikit-learn does."""

    rule_: LinearRule

    @property
    def coef_(self) -> FloatArray:
        """Weights, (1, n_features) for two classes, else (n_classes, n_features).

        Zero outside the support. Two classes: the second against the first.
        """
        support = self.selection_.support
        rows = contrast(self.rule_.weights[:, : len(support)])
        coef = np.zeros((len(rows), self.n_features_in_))
        coef[:, support] = rows
        return coef

    @property
    def intercept_(self) -> FloatArray:
        """Intercept, (1,) for two classes, else (n_classes,)."""
        return contrast(self.rule_.intercept)


class ExposedMixin(LinearWeightsMixin[S]):
    """Weights of a linear rule whose rows may have an exposure."""

    @property
    def exposure_coef_(self) -> FloatArray:
        """Weight of the exposure of a row, (1,) for two classes, else (n_classes,); 0 without."""
        return contrast(self.rule_.weights[:, len(self.selection_.support) :].sum(axis=1))


def check_sparse_classifier(estimator: object) -> None:
    """Raise an error if an estimator is none whose path over k is known."""
    if not isinstance(estimator, AbstractSparseClassifier):
        raise TypeError(
            "`estimator` must be a sparse classifier of this package, such as "
            f"SparseBernoulliNB(); got {type(estimator).__name__}."
        )


def refuse_negative(estimator: object, X: Matrix) -> None:
    """Raise if rows of counts hold negative values."""
    values = X.data if is_sparse(X) else X
    if values.size and np.fmin.reduce(values, axis=None) < 0:  # NaN is missing, or refused before
        raise ValueError(
            f"Negative values in data passed to {type(estimator).__name__} (input X): counts are "
            ">= 0. Center classifiers take values of any sign."
        )


def selected_columns(selector: SelectorMixin, X: MatrixLike, finite: bool | str) -> Any:
    """Return the columns that a fitted selector keeps of some rows, in their container."""
    check_numbers(X)
    if has_sparse_columns(X):  # of which scikit-learn makes dense ones
        return checked_rows_of(selector, X, finite=finite)[:, selector.get_support()]
    if hasattr(X, "iloc"):  # a pandas frame may pass through the parent's checks as it is
        validate_data(selector, X, reset=False, accept_sparse="csr", ensure_all_finite=finite)
    return SelectorMixin.transform(selector, unmasked(X))


def checked_rows_of(
    estimator: BaseEstimator, X: Any, y: Any = "no_validation", *, reset: bool = False,
    finite: bool | str, formats: str | tuple[str, ...] = ("csr", "csc"), in_order: bool = True,
) -> Matrix:  # fmt: skip
    """Check rows as scikit-learn does, and return them as a matrix of plain numbers.

    Entries of sparse rows are distinct, and in order unless they are to be counted: sums of whole
    numbers do not depend on it.
    """
    how = {"accept_sparse": formats, "ensure_all_finite": finite}
    if has_sparse_columns(X):  # of which scikit-learn makes dense ones
        validate_data(estimator, X, y, reset=reset, skip_check_array=True)
        return check_array(as_matrix(X), **how)
    plain = as_matrix(X) if is_sparse(X) else unmasked(X)
    if is_sparse(plain):
        plain = canonical(plain) if in_order or plain.dtype.kind == "f" else distinct(plain)
    rows: Matrix = validate_data(estimator, plain, y, reset=reset, **how)
    return rows if rows.dtype.kind != "O" and rows.dtype.isnative else as_matrix(rows)


@contextmanager
def texts_untold(estimator: object, X: Any) -> Iterator[None]:
    """Say that rows to check hold texts, where they do, without a word of them."""
    try:
        # Of objects NumPy would make numbers, if they are digits.
        if _of_objects(X) and _texts_in(X) is not None:
            raise ValueError("X holds texts.")
        yield
    except ValueError:
        found = _texts_in(X)
        if found is None:
            raise
        name = type(estimator).__name__
    else:
        return
    raise ValueError(
        f"{found} texts, and {name} takes numbers: count their words before, as in "
        f"make_pipeline(WordCounts(), {name}()), or with scikit-learn's CountVectorizer; "
        "SparseMixedNB takes tables of numbers and categories."
    ) from None  # which may quote them


def _of_objects(X: Any) -> bool:
    dtypes = (
        X.dtypes if hasattr(X, "iloc") and hasattr(X, "columns") else [getattr(X, "dtype", None)]
    )
    return any(getattr(dtype, "kind", "") == "O" for dtype in dtypes)


def _texts_in(X: Any) -> str | None:
    """Where rows hold texts, as the begin of a sentence; None if nowhere."""
    if hasattr(X, "columns") and hasattr(X, "to_numpy"):
        names = getattr(X, "column_names", X.columns)
        found = [name for name in names if holds_text(np.asarray(X[name]))]
        return f"The column {found[0]!r} of X holds" if found else None
    return "X holds" if not is_sparse(X) and holds_text(X) else None


def holds_text(values: Any) -> bool:
    """Whether a string is among values of any shape, some of which may be lists."""
    if isinstance(values, list | tuple):
        return any(isinstance(each, str) or holds_text(each) for each in values)
    kind = getattr(getattr(values, "dtype", None), "kind", "")
    if kind == "O" and hasattr(values, "tolist"):
        return holds_text(values.tolist())
    return kind in ("U", "T")


def contrast(values: FloatArray) -> FloatArray:
    """Rows per class to the layout of `coef_`: one row, second minus first, for two classes."""
    return values[1:] - values[:1] if len(values) == 2 else values


_LISTED_FEATURES = 50  # in a notebook
_FROM_FILE = "This model comes from a file, which holds its rule and no certificate."


def _found_html(estimator: AbstractSelectingClassifier) -> str:
    """Certificate and selected features of a fitted estimator; nothing before."""
    if not _is_fitted(estimator):
        return ""
    if estimator._reading is None and not hasattr(estimator, "certificate_"):
        return ""
    support = np.flatnonzero(estimator.support_)
    shown = support[:_LISTED_FEATURES]
    if estimator._reading is not None:
        proof, names = _FROM_FILE, list(estimator._reading.names[:_LISTED_FEATURES])
    else:
        proof = str(estimator.certificate_ or UNPROVEN)
        known = getattr(estimator, "_names", None)  # of one whose statistics are of columns
        known = getattr(estimator, "feature_names_in_", None) if known is None else known
        names = [f"column {i}" if known is None else known[i] for i in shown.tolist()]
    return note_html(proof, names, len(estimator.support_), len(support) - len(shown))


def _is_fitted(estimator: BaseEstimator) -> bool:
    try:
        check_is_fitted(estimator)
    except NotFittedError:
        return False
    return True
