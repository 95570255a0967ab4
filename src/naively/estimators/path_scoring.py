"""Scores of the models of every k on held-out rows, for accuracy and for any other scorer."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator, Sized
from dataclasses import dataclass, replace
from typing import Any, TypeAlias, cast

import numpy as np
from numpy.typing import ArrayLike
from sklearn.base import ClassifierMixin, clone
from sklearn.metrics import accuracy_score, brier_score_loss, log_loss, make_scorer

from naively._types import Array, FloatArray, IntArray, MatrixLike
from naively.estimators.base import AbstractSparseClassifier
from naively.estimators.pipelines import with_params
from naively.estimators.search_checks import as_score
from naively.judging.folds import Fold, Folds, Splits, path_errors
from naively.judging.path_scores import scores_of_path
from naively.models.model import Model, S
from naively.selection.redundancy import own
from naively.statistics.matrix import Matrix
from naively.statistics.threads import in_threads

_SCORER = type(make_scorer(accuracy_score))  # what scikit-learn makes of a metric
_CONTINUOUS = (log_loss, brier_score_loss)  # rounding of the scores is rounding of these


Params: TypeAlias = dict[str, Any]  # arguments of the `fit` or the scorer of others, by name
Scorer: TypeAlias = Callable[..., float]  # estimator, X, y, **params


@dataclass(frozen=True, slots=True)
class Scoring:
    """How models are judged."""

    scorer: Scorer
    is_accuracy: bool
    params: Params  # arguments of the scorer; those with a value per row are divided

    def of_rows(self, rows: IntArray, n: int) -> Params:
        """Arguments for some of n rows."""
        return {name: part_of(value, rows, n) for name, value in self.params.items()}

    @property
    def needs_decisions_only(self) -> bool:
        """Whether the scorer looks at nothing but the decisions or probabilities of the rows."""
        return isinstance(self.scorer, _SCORER)

    @property
    def may_rank(self) -> bool:
        """Whether the order of two rows may decide, even if they differ by rounding alone."""
        decides = getattr(self.scorer, "_response_method", None) == "predict"
        return not decides and getattr(self.scorer, "_score_func", None) not in _CONTINUOUS


def part_of(value: ArrayLike | None, rows: IntArray, n: int) -> ArrayLike | None:
    """Return what belongs to some of n rows, of a value that may have one for each."""
    if value is None or np.ndim(value) == 0 or len(cast("Sized", value)) != n:
        return value
    return np.asarray(value)[rows]


def scores_of_refits(
    estimator: ClassifierMixin,
    data: tuple[MatrixLike, Array],
    splits: Splits,
    grid: IntArray,
    scoring: Scoring,
    **fit: Any,
) -> tuple[FloatArray, FloatArray, FloatArray]:
    """Train and judge an estimator anew for each division and k.

    Parameters
    ----------
    estimator : classifier with a parameter `k`
        Not changed.
    data : (X, y)
        All rows.
    splits : list of (training rows, rows to judge)
        Indices.
    grid : ndarray of shape (G,)
        Values of k.
    scoring : Scoring
        How to judge.
    **fit
        Arguments of `fit`; those with a value per row are divided.

    Returns
    -------
    scores : ndarray of shape (T, G)
    fit_seconds, score_seconds : ndarray of shape (T,)
    """
    (X, y), n = data, len(data[1])
    scores, seconds = np.empty((len(splits), len(grid))), np.zeros((2, len(splits)))
    for t, (train, test) in enumerate(splits):
        params = {name: part_of(value, train, n) for name, value in fit.items()}
        for g, k in enumerate(grid.tolist()):
            start = time.perf_counter()
            model = with_params(estimator, {"k": k}).fit(rows_at(X, train), y[train], **params)
            fitted = time.perf_counter()
            judged = scoring.of_rows(test, n)
            scores[t, g] = as_score(scoring.scorer(model, rows_at(X, test), y[test], **judged))
            seconds[:, t] += fitted - start, time.perf_counter() - fitted
    return scores, seconds[0], seconds[1]


def rows_at(X: Any, rows: IntArray) -> Any:
    """Return some rows of a container of any kind."""
    if isinstance(X, list | tuple):
        return [X[i] for i in rows.tolist()]
    if hasattr(X, "iloc"):
        return X.iloc[rows]
    return X.take(rows) if hasattr(X, "to_pylist") else X[rows]


def scores_of_folds(
    estimator: AbstractSparseClassifier[S],
    folds: Folds[S],
    grid: IntArray,
    y: Array,
    scoring: Scoring,
) -> tuple[FloatArray, FloatArray, FloatArray]:
    """Judge the models of every k that the statistics of each fold give.

    Parameters
    ----------
    estimator : sparse classifier
        Its `k` does not matter.
    folds : Folds
        Training statistics and rows to judge.
    grid : ndarray of shape (G,)
        Values of k.
    y : ndarray of shape (n,)
        Labels of all rows.
    scoring : Scoring
        How to judge.

    Returns
    -------
    scores : ndarray of shape (T, G)
    fit_seconds, score_seconds : ndarray of shape (T,)
    """
    model = estimator._of_path()

    def judged(t: int) -> tuple[FloatArray, float, float]:
        start = time.perf_counter()
        fold, test = folds.fold(t), folds.splits[t][1]
        counted = time.perf_counter()
        params = scoring.of_rows(test, len(y))
        if scoring.is_accuracy:
            weighed = replace(fold, statistics=estimator._weighed(fold.statistics))
            scores = _accuracy(model, weighed, grid, params.get("sample_weight"))
        else:
            scores = np.empty(len(grid))
            for g, fitted in _fitted(estimator, model, fold, grid, scoring):
                scores[g] = as_score(scoring.scorer(fitted, fold.held_out.X, y[test], **params))
        return scores, counted - start, time.perf_counter() - counted

    # Scorers of others may not be ready for threads.
    each_fold = range(len(folds))
    found = in_threads(judged, each_fold) if scoring.is_accuracy else [*map(judged, each_fold)]
    scores, fit_seconds, score_seconds = zip(*found, strict=True)
    return np.array(scores), np.array(fit_seconds), np.array(score_seconds)


def _accuracy(
    model: Model[S], fold: Fold[S], grid: IntArray, weight: ArrayLike | None
) -> FloatArray:
    given = np.empty(0) if weight is None else np.asarray(weight, dtype=np.float64)
    held_out = replace(fold.held_out, weight=given)
    wrong = path_errors(model, replace(fold, held_out=held_out), grid)
    return np.asarray(1.0 - wrong / held_out.total)


def _fitted(
    estimator: AbstractSparseClassifier[S],
    model: Model[S],
    fold: Fold[S],
    grid: IntArray,
    scoring: Scoring,
) -> Iterator[tuple[int, AbstractSparseClassifier[S]]]:
    """Estimators of a fold for each position in the grid, that can judge the held-out rows."""
    X, statistics = fold.held_out.X, fold.statistics
    if not scoring.needs_decisions_only:
        for g, k in enumerate(grid.tolist()):
            yield g, _bare(estimator, fold, k)._finish(statistics, fold.training)
        return
    statistics = estimator._weighed(statistics)
    model = own(model, statistics, fold.training, int(grid[-1]))
    for g, scores in scores_of_path(model, statistics, grid, X, exactly=scoring.may_rank):
        known = _bare(estimator, fold, int(grid[g]))
        known.classes_ = statistics.classes
        known._scores = _Known(X, scores)  # type: ignore[method-assign]
        yield g, known


def _bare(
    estimator: AbstractSparseClassifier[S], fold: Fold[S], k: int
) -> AbstractSparseClassifier[S]:
    bare: AbstractSparseClassifier[S] = clone(estimator).set_params(k=k)
    return bare._seeing(fold.statistics.n_features, estimator)


@dataclass(frozen=True, slots=True)
class _Known:
    """Scores of the rows that a scorer asks for, computed with those of all other k."""

    X: Matrix
    scores: FloatArray  # (n, C)

    def __call__(self, X: Matrix) -> FloatArray:
        if X is not self.X:
            raise ValueError(
                "A scorer made from a metric judges the rows it is given, and no others; pass a "
                "plain function as `scoring` to work with the fitted model."
            )
        return self.scores.copy()
