r"""A logistic regression on the chosen features: another linear rule for the same k features.

    min_{W, b}  |W|^2 / 2 - C sum_j s_j log P(y_j | x_j),   P(c | x) = softmax(b + W x)_c

over the rows x_j (k columns, as the rule of the model sees them) with their weights s_j; for two
classes W is the difference of theirs. This is scikit-learn's `LogisticRegression`. C is the one of
10^-4 to 10^4, by half powers, that has the least log loss on rows held out, in five folds of equal
shares of the classes.
Naive Bayes adds what each feature says on its own, and counts twice what two of them say together;
here the weights are fitted to each other. That needs the rows, so statistics alone will not do.

Columns of real values are centered and divided by their standard deviation in the fit (sparse ones
only divided), since the penalty would depend on their units; counts and presence are as they are.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from itertools import islice
from typing import Any

import numpy as np

from naively._types import FloatArray, IntArray
from naively.models.rules import LinearRule
from naively.models.value_rules import MixedRule
from naively.statistics.matrix import Matrix, is_sparse
from naively.statistics.rows import LabelledRows

PENALTIES = (1e-4, 1e-3, 1e-2, 1e-1, 1.0, 1e1, 1e2, 1e3, 1e4)  # C, from strong to weak
N_FOLDS = 5
_BETWEEN = 10.0**0.5  # half a step of the grid: tried on both sides of the best
_LEAST = np.log(np.finfo(float).tiny)  # of the log-probability of a class that a fold has not seen
_ITERATIONS = 1000


@dataclass(frozen=True, slots=True)
class Refitted:
    """The rule, and what was chosen on the way."""

    rule: LinearRule | MixedRule
    C: float  # inverse of the penalty
    log_loss: float  # of the rows held out, nats a row


def logistic_rule(rows: LabelledRows, log_prior: FloatArray, *, scaled: bool) -> Refitted:
    """Fit a penalised logistic regression to rows over the chosen features.

    Parameters
    ----------
    rows : LabelledRows
        (n, k), as the rule of the model sees them.
    log_prior : (C,)
        Of the classes; kept with the rule, in which it has no part.
    scaled : bool
        Whether the columns are real values, to be divided by their standard deviation.

    Returns
    -------
    Refitted
        Scores of two classes are minus and plus half of their difference.

    Raises
    ------
    ValueError
        If the rows are of one class.
    """
    rows = counted(rows)
    k = rows.matrix.shape[1]
    shift, scale = _standard(rows) if scaled else (np.zeros(k), np.ones(k))
    if scaled:
        rows = replace(rows, matrix=_moved(rows.matrix, shift, scale))
    found = regression(rows)
    weights = found.weights / scale
    return Refitted(
        LinearRule(found.start - weights @ shift, weights, log_prior), found.C, found.log_loss
    )


@dataclass(frozen=True, slots=True)
class Regression:
    """A logistic regression, its C chosen: the scores of classes are start + X @ weights.T."""

    start: FloatArray  # (C,) -inf for a class without rows, which is never the answer
    weights: FloatArray  # (C, k)
    C: float
    log_loss: float


def counted(rows: LabelledRows) -> LabelledRows:
    """Return the rows of positive weight.

    Raises
    ------
    ValueError
        If they are of one class.
    """
    if rows.weights is not None and not rows.weights.all():
        rows = _some(rows, np.flatnonzero(rows.weights))
    if len(np.unique(rows.codes)) < 2:
        raise ValueError(
            "`refit`='logistic' needs rows of two classes or more; leave `refit` out, or give more "
            "rows."
        )
    return rows


def regression(rows: LabelledRows) -> Regression:
    """Fit rows (n, k), of positive weight, as they are."""
    C, loss = penalty_of(rows)
    fitted = _fitted(rows, C)
    coef, intercept = np.asarray(fitted.coef_), np.asarray(fitted.intercept_)
    if len(coef) == 1:
        coef, intercept = (np.concatenate([-each, each]) / 2 for each in (coef, intercept))
    weights = np.zeros((len(rows.classes), coef.shape[1]))
    start = np.full(len(rows.classes), -np.inf)
    weights[fitted.classes_], start[fitted.classes_] = coef, intercept
    return Regression(start, weights, C, loss)


def _fitted(rows: LabelledRows, C: float, start: Any = None) -> Any:
    """Train on some rows, from where another C has ended."""
    from sklearn.linear_model import LogisticRegression

    model = start or LogisticRegression(max_iter=_ITERATIONS, warm_start=True)
    model.set_params(C=C)
    return model.fit(rows.matrix, rows.codes, rows.weights)


def penalty_of(
    rows: LabelledRows, penalties: Sequence[float] = PENALTIES, most: int = N_FOLDS
) -> tuple[float, float]:
    """C of the least log loss on the rows held out, and that loss in nats a row.

    Weaker penalties are left out once the loss has risen: it falls and rises once. Of the five
    folds so many at most are tried.
    """
    folds = list(islice(_folds(rows), most))
    if not folds and rows.groups is not None:
        raise ValueError(
            "`refit`='logistic' chooses its penalty on folds that keep groups of rows together, "
            "and none leaves two classes to train on; leave `refit` out, or give more groups."
        )
    models: list[Any] = [None] * len(folds)
    losses: dict[float, float] = {}

    def try_out(C: float) -> float:
        models[:] = [_fitted(train, C, m) for (train, _), m in zip(folds, models, strict=True)]
        held_out = zip(models, (rows for _, rows in folds), strict=True)
        losses[C] = sum(_log_loss(*each) for each in held_out)
        return losses[C]

    least = np.inf
    for C in penalties:
        if try_out(C) > least:
            break
        least = losses[C]
    best = min(losses, key=losses.__getitem__)
    for C in (best / _BETWEEN, best * _BETWEEN):
        try_out(C)
    best = min(losses, key=losses.__getitem__)
    held_out = [fold.class_weight.sum() for _, fold in folds]
    return best, float(losses[best] / max(sum(held_out), np.finfo(float).tiny))


def _folds(rows: LabelledRows) -> Iterator[tuple[LabelledRows, LabelledRows]]:
    """Rows to train on and rows held out: those of each class, or groups, are dealt out in turn."""
    groups = np.arange(len(rows.codes)) if rows.groups is None else rows.groups
    _, first, unit = np.unique(groups, return_index=True, return_inverse=True)
    fold = np.empty(len(first), dtype=np.int64)
    fold[np.argsort(rows.codes[first], kind="stable")] = np.arange(len(fold)) % N_FOLDS
    fold = fold[unit]
    for t in range(N_FOLDS):
        train, held_out = np.flatnonzero(fold != t), np.flatnonzero(fold == t)
        if len(held_out) and len(np.unique(rows.codes[train])) > 1:
            yield _some(rows, train), _some(rows, held_out)


def log_probabilities(model: Any, X: Any) -> FloatArray:
    """Return log-probabilities (n, C) by a logistic regression of scikit-learn.

    Its own `predict_log_proba` takes the logarithm of probabilities that have become 0.
    """
    from scipy.special import log_softmax  # 0.1 s to import

    scores = np.asarray(model.decision_function(X))
    if scores.ndim == 1:  # of the second of two classes, against the first
        scores = np.column_stack([np.zeros(len(scores)), scores])
    return np.asarray(log_softmax(scores, axis=1))


def _log_loss(model: Any, rows: LabelledRows) -> float:
    log_prob = np.full((len(rows.codes), len(rows.classes)), _LEAST)
    log_prob[:, model.classes_] = log_probabilities(model, rows.matrix)
    own = np.maximum(log_prob[np.arange(len(rows.codes)), rows.codes], _LEAST)
    return -float(own.sum() if rows.weights is None else own @ rows.weights)


def _some(rows: LabelledRows, chosen: IntArray) -> LabelledRows:
    weights = None if rows.weights is None else rows.weights[chosen]
    groups = None if rows.groups is None else rows.groups[chosen]
    return LabelledRows(rows.matrix[chosen], rows.classes, rows.codes[chosen], weights, groups)


def _standard(rows: LabelledRows) -> tuple[FloatArray, FloatArray]:
    """Mean (0 for sparse rows, which stay sparse) and standard deviation of each column."""
    w = np.ones(len(rows.codes)) if rows.weights is None else rows.weights
    share = w / w.sum()
    X = rows.matrix
    mean = np.asarray(share @ X)
    square = np.asarray(share @ (X.multiply(X) if is_sparse(X) else X * X))
    variance = square - mean**2
    spread = np.sqrt(np.where(variance > 1e-12 * square, variance, 0.0))
    return np.zeros(len(mean)) if is_sparse(X) else mean, np.where(spread > 0, spread, 1.0)


def _moved(X: Matrix, shift: FloatArray, scale: FloatArray) -> Matrix:
    return X.multiply(1.0 / scale).tocsr() if is_sparse(X) else (X - shift) / scale
