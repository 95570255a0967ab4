"""What is cross-validated: an estimator, or a pipeline, on the folds that all share."""

from __future__ import annotations

from dataclasses import replace
from typing import Any, TypeAlias

import numpy as np
import scipy.sparse as sp
from numpy.typing import ArrayLike
from sklearn import get_config
from sklearn.base import ClassifierMixin, clone
from sklearn.utils import column_or_1d

from naively._types import Array, FloatArray, IntArray, MatrixLike
from naively.estimators.base import AbstractSparseClassifier
from naively.estimators.path_scoring import (
    Params,
    Scoring,
    part_of,
    rows_at,
    scores_of_folds,
    scores_of_refits,
)
from naively.estimators.pipelines import last_step
from naively.judging.curves import Curve, Settings
from naively.judging.folds import Folds, Splits
from naively.judging.rows import weighted_rows
from naively.selection.train import choices
from naively.statistics.labels import encode_labels, refuse_missing
from naively.statistics.matrix import Matrix, is_sparse

_SMOOTHING = ("alpha", "var_smoothing")

# Scores (T, G) of so many divisions and k; seconds of training and of scoring of each division.
FoldScores: TypeAlias = tuple[FloatArray, FloatArray, FloatArray]


class Contender:
    """One estimator on the folds that all share."""

    def __init__(
        self,
        estimator: ClassifierMixin,
        X: MatrixLike,
        y: ArrayLike,
        labels: Array,
        splits: Splits,
        scoring: Scoring,
        fit_params: Params,
        checked: tuple[Matrix, Array] | None = None,  # rows and labels, if the estimator has seen
    ) -> None:
        self.estimator = estimator
        self.given = (X, y)
        self.labels = labels
        self.splits = splits
        self.scoring = scoring
        self.fit_params = fit_params
        self._known = checked
        self._prepare()

    def _prepare(self) -> None:
        """Hold the rows of all folds, as they are judged."""
        self.folds: Folds[Any] | None = self._folds() if _is_native(self.estimator) else None

    def _checked(self) -> tuple[Matrix, Array]:
        if self._known is None:
            self._known = self.estimator._check_batch(*self.given, reset=True)
        return self._known

    def _folds(self) -> Folds[Any]:
        unknown = sorted(self.fit_params.keys() - {"sample_weight"})
        if unknown:
            name = type(self.estimator).__name__
            raise TypeError(f"{name}.fit takes `sample_weight` beside X and y; got {unknown}.")
        X, y = self._checked()
        self._seen = dict(vars(self.estimator))
        classes, codes = encode_labels(y)
        rows = weighted_rows(X, codes.astype(np.int64), self.fit_params.get("sample_weight"))
        return Folds(self.estimator._of_path(), rows, classes, self.splits)

    def curve(self, estimator: ClassifierMixin, settings: Settings, grid: IntArray) -> Curve:
        """Scores of every k with the smoothing of an estimator."""
        name = type(last_step(estimator)).__name__
        return Curve(name, settings, grid, *self._scores(estimator, grid), n_rows=self._n_judged())

    def _scores(self, estimator: ClassifierMixin, grid: IntArray) -> FoldScores:
        if self.folds is None:
            data = (rows_as_given(self.given[0]), self.labels)
            return scores_of_refits(
                estimator, data, self.splits, grid, self.scoring, **self.fit_params
            )
        estimator._seeing(self.folds.rows.X.shape[1], self.estimator)
        return scores_of_folds(estimator, self.folds, grid, self.labels, self.scoring)

    def bounds(self) -> tuple[int, int]:
        """Most and fewest features that it can choose."""
        estimator = self.estimator
        if isinstance(estimator, AbstractSparseClassifier) and estimator._is_constrained:
            rows, _ = self._checked()
            return choices(estimator._of_path(), rows.shape[1], len(np.unique(self.labels)))
        rows = rows_as_given(self.given[0]) if self.folds is None else self.folds.rows.X
        return rows.shape[1], 0

    def _n_judged(self) -> float | None:
        """Rows that are judged, if a score is the share of them that is right."""
        if not self.scoring.is_accuracy:
            return None
        judged = np.unique(np.concatenate([test for _, test in self.splits]))
        weight = self.scoring.of_rows(judged, len(self.labels)).get("sample_weight")
        return weighted_rows(judged[:, None], judged, weight).equal_rows

    def trained(self, estimator: ClassifierMixin) -> ClassifierMixin:
        """Train an estimator on all rows, from their statistics where these are known."""
        known = self.folds is not None and not self.folds.model.needs_rows
        if not known or self.folds is None or self.folds.total is None:
            return estimator.fit(*self.given, **self.fit_params)
        # What the check has left beside the parameters, which are this estimator's own.
        vars(estimator).update(self._seen | vars(estimator))
        return estimator._finish(self.folds.total)


class PipelineContender(Contender):
    """A pipeline: the steps before its last are fitted to the training rows of each fold.

    The rows of all folds, as the last step sees them, are held together.
    """

    def _prepare(self) -> None:
        self._each = [self._fold(train, test) for train, test in self.splits]

    def _fold(self, train: IntArray, test: IntArray) -> Contender:
        """Return the last step on one division of the rows, as the steps before it see them."""
        X, n = self.given[0], len(self.labels)
        steps, last = self.estimator[:-1], clone(last_step(self.estimator))
        seen, unseen = rows_at(X, train), rows_at(X, test)
        if len(steps):
            steps = clone(steps)
            seen = steps.fit_transform(seen, self.labels[train])
            unseen = steps.transform(unseen)
        first, y = last._check_batch(seen, self.labels[train], reset=True)
        second, z = last._check_batch(unseen, self.labels[test], reset=False)
        stack = sp.vstack([first, second], format="csr") if is_sparse(first) else np.vstack(
            [first, second]
        )  # fmt: skip
        order = np.concatenate([train, test])
        scoring = replace(self.scoring, params=self.scoring.of_rows(order, n))
        fit = {name: part_of(value, order, n) for name, value in self.fit_params.items()}
        places = np.arange(len(order))
        split = [(places[: len(train)], places[len(train) :])]
        labels = np.concatenate([y, z])
        return Contender(last, stack, labels, labels, split, scoring, fit, (stack, labels))

    def _scores(self, estimator: ClassifierMixin, grid: IntArray) -> FoldScores:
        if not _is_native(last_step(estimator)):
            data, fit = (self.given[0], self.labels), self._fit_params(estimator)
            return scores_of_refits(estimator, data, self.splits, grid, self.scoring, **fit)
        found = [fold._scores(clone(last_step(estimator)), grid) for fold in self._each]
        scores, fit_seconds, score_seconds = zip(*found, strict=True)
        return np.concatenate(scores), np.concatenate(fit_seconds), np.concatenate(score_seconds)

    def bounds(self) -> tuple[int, int]:
        """Most and fewest features that it can choose in every fold."""
        most, least = zip(*(fold.bounds() for fold in self._each), strict=True)
        return min(most), max(least)

    def trained(self, estimator: ClassifierMixin) -> ClassifierMixin:
        """Train a pipeline on all rows."""
        return estimator.fit(*self.given, **self._fit_params(estimator))

    def _fit_params(self, estimator: Any) -> Params:
        """Arguments of `fit` for the last step, as the pipeline takes them."""
        prefix = "" if routing_enabled() else f"{estimator.steps[-1][0]}__"
        return {f"{prefix}{name}": value for name, value in self.fit_params.items()}


def rows_as_given(X: Matrix) -> Matrix:
    """Rows for an estimator from elsewhere: as they are, but so that some of them can be taken."""
    if is_sparse(X):
        return X.tocsr()
    return X if hasattr(X, "shape") else np.asarray(X)


def smoothing_of(estimator: ClassifierMixin) -> str:
    """Return the name of the smoothing of an estimator."""
    last = last_step(estimator)
    for name in _SMOOTHING:
        if name in last.get_params():
            return name
    raise ValueError(
        f"`alphas` needs an estimator with smoothing; {type(last).__name__} has none. Pass "
        "alphas=None."
    )


def _is_native(estimator: object) -> bool:
    """Whether folds judge the rule of a family; one fitted to rows is trained for every k."""
    fitted = any(getattr(estimator, name, None) is not None for name in ("refit", "calibration"))
    return isinstance(estimator, AbstractSparseClassifier) and not fitted


def checked_labels(y: ArrayLike) -> Array:
    """Return labels in one dimension, none of which is missing."""
    refuse_missing(y, "y")
    labels: Array = column_or_1d(y, warn=True)
    return labels


def routing_enabled() -> bool:
    """Whether scikit-learn routes metadata."""
    return bool(get_config().get("enable_metadata_routing", False))
