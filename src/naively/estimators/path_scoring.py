"""Scores of the models of every k on held-out rows, for accuracy and for any other scorer."""

from __future__ import annotations

import time
from collections.abc import Iterator
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from sklearn.base import clone
from sklearn.metrics import accuracy_score, brier_score_loss, log_loss, make_scorer

from naively._types import Array, FloatArray, IntArray
from naively.estimators.folds import (
    Fold,
    Folds,
    has_path,
    linear_path,
    path_errors,
    rule_rows,
    scores_along_path,
    scores_one_by_one,
)
from naively.estimators.search_checks import as_score
from naively.statistics.threads import in_threads

_NUMBERS = 1 << 25  # scores held at a time: 256 MB
_SCORER = type(make_scorer(accuracy_score))  # what scikit-learn makes of a metric
_CONTINUOUS = (log_loss, brier_score_loss)  # rounding of the scores is rounding of these


@dataclass(frozen=True, slots=True)
class Scoring:
    """How models are judged."""

    scorer: Any  # callable(estimator, X, y, **params)
    is_accuracy: bool
    params: dict[str, Any]  # arguments of the scorer; those with a value per row are divided

    def of_rows(self, rows: IntArray, n: int) -> dict[str, Any]:
        """Arguments for some of n rows."""
        return {name: _part(value, rows, n) for name, value in self.params.items()}

    @property
    def needs_decisions_only(self) -> bool:
        """Whether the scorer looks at nothing but the decisions or probabilities of the rows."""
        return isinstance(self.scorer, _SCORER)

    @property
    def may_rank(self) -> bool:
        """Whether the order of two rows may decide, even if they differ by rounding alone."""
        decides = getattr(self.scorer, "_response_method", None) == "predict"
        return not decides and getattr(self.scorer, "_score_func", None) not in _CONTINUOUS


def _part(value: Any, rows: IntArray, n: int) -> Any:
    if value is None or np.ndim(value) == 0 or len(value) != n:
        return value
    return np.asarray(value)[rows]


def scores_of_refits(
    estimator: Any,
    data: tuple[Any, Array],
    splits: Any,
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
        params = {name: _part(value, train, n) for name, value in fit.items()}
        for g, k in enumerate(grid.tolist()):
            start = time.perf_counter()
            model = clone(estimator).set_params(k=k).fit(_rows(X, train), y[train], **params)
            fitted = time.perf_counter()
            judged = scoring.of_rows(test, n)
            scores[t, g] = as_score(scoring.scorer(model, _rows(X, test), y[test], **judged))
            seconds[:, t] += fitted - start, time.perf_counter() - fitted
    return scores, seconds[0], seconds[1]


def _rows(X: Any, rows: IntArray) -> Any:
    return X.iloc[rows] if hasattr(X, "iloc") else X[rows]


def scores_of_folds(
    estimator: Any, folds: Folds, grid: IntArray, y: Array, scoring: Scoring
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

    def judged(t: int) -> tuple[FloatArray, float, float]:
        start = time.perf_counter()
        fold, test = folds.fold(t), folds.splits[t][1]
        counted = time.perf_counter()
        params = scoring.of_rows(test, len(y))
        if scoring.is_accuracy:
            scores = _accuracy(estimator, fold, grid, params.get("sample_weight"))
        else:
            scores = np.empty(len(grid))
            for g, model in _models(estimator, fold, grid, scoring):
                scores[g] = as_score(scoring.scorer(model, fold.held_out.X, y[test], **params))
        return scores, counted - start, time.perf_counter() - counted

    # Scorers of others may not be ready for threads.
    each_fold = range(len(folds))
    found = in_threads(judged, each_fold) if scoring.is_accuracy else [*map(judged, each_fold)]
    scores, fit_seconds, score_seconds = zip(*found, strict=True)
    return np.array(scores), np.array(fit_seconds), np.array(score_seconds)


def _accuracy(estimator: Any, fold: Fold, grid: IntArray, weight: Any) -> FloatArray:
    given = np.empty(0) if weight is None else np.asarray(weight, dtype=np.float64)
    held_out = replace(fold.held_out, weight=given)
    wrong = path_errors(estimator, replace(fold, held_out=held_out), grid)
    return np.asarray(1.0 - wrong / held_out.total)


def _models(
    estimator: Any, fold: Fold, grid: IntArray, scoring: Scoring
) -> Iterator[tuple[int, Any]]:
    """Models of a fold for each position in the grid, that can judge the held-out rows."""
    X = fold.held_out.X
    if not scoring.needs_decisions_only:
        for g, k in enumerate(grid.tolist()):
            yield g, _bare(estimator, fold, k)._finish(fold.statistics, k=k)
        return
    for g, scores in _all_scores(estimator, fold, grid, exactly=scoring.may_rank):
        model = _bare(estimator, fold, int(grid[g]))
        model.classes_ = fold.statistics.classes
        model._scores = _Known(X, scores)
        yield g, model


def _bare(estimator: Any, fold: Fold, k: int) -> Any:
    model = clone(estimator).set_params(k=k)
    model.n_features_in_ = fold.statistics.n_features
    return model


@dataclass(frozen=True, slots=True)
class _Known:
    """Scores of the rows that a scorer asks for, computed with those of all other k."""

    X: Any
    scores: FloatArray  # (n, C)

    def __call__(self, X: Any) -> FloatArray:
        if X is not self.X:
            raise ValueError(
                "A scorer made from a metric judges the rows it is given, and no others; pass a "
                "plain function as `scoring` to work with the fitted model."
            )
        return self.scores.copy()


def _all_scores(
    estimator: Any, fold: Fold, grid: IntArray, *, exactly: bool
) -> Iterator[tuple[int, FloatArray]]:
    """Scores (n, C) of the held-out rows for each position in the grid.

    Rows that tie are told apart by the order in which a sum is rounded: `exactly` adds up as the
    models do, so that the same rows tie.
    """
    X, statistics = fold.held_out.X, fold.statistics
    if exactly and has_path(estimator, statistics):
        yield from scores_along_path(estimator, statistics, grid, X)
        return
    rule = linear_path(estimator, statistics, grid)
    if rule is None:
        yield from scores_one_by_one(estimator, statistics, grid, X)
        return
    rows = rule_rows(estimator, X, rule)
    step = max(1, _NUMBERS // max(1, rows.shape[0] * len(statistics.classes)))
    for first in range(0, len(grid), step):
        part = rule.part(first, min(first + step, len(grid)))
        scores = part.scores(rows, 0, rows.shape[0])
        for g in range(scores.shape[1]):
            yield first + g, scores[:, g]
