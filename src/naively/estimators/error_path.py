"""Errors over the number of features, for any sparse classifier."""

from __future__ import annotations

from typing import Any

import numpy as np

from naively._types import FloatArray, IntArray
from naively.estimators.folds import (
    checked_rows,
    fold_errors,
    fresh,
    gather_rows,
    rule_rows,
)
from naively.expected.decision_models import from_fitted
from naively.expected.estimates import Method, Rivals, estimate, lengths_of
from naively.judging.error_path import ErrorPath
from naively.judging.leave_one_out import Rows, multinomial_errors, presence_errors
from naively.judging.visits import path_stays, path_visits
from naively.models.family import Family, checked_alpha
from naively.models.rules import winners
from naively.selection.path import SparsityPath, path

SIMULATED_ROWS = 20_000  # of all classes together, for each predicted error of many classes
MAX_REFITS = 50_000  # rules trained for a leave-one-out curve without a formula


def error_path(
    estimator: Any,
    X: Any,
    y: Any,
    ks: Any = None,
    *,
    sample_weight: Any = None,
    n_folds: int = 5,
    method: Method = "exact",
    rivals: Rivals | None = None,
    random_state: Any = 0,
) -> ErrorPath:
    """Estimate the error at every number of features in three ways.

    Parameters
    ----------
    estimator : sparse classifier
        The model and its parameters; its `k` does not matter. It is not changed.
    X : {array-like, sparse matrix, data frame} of shape (n_samples, n_features)
        Rows.
    y : array-like of shape (n_samples,)
        Class labels.
    ks : array-like of int, default=None
        The grid; by default about 100 values from 1 to n_features, evenly spaced on a log scale.
    sample_weight : array-like of shape (n_samples,), default=None
        Weight of each row.
    n_folds : int, default=5
        Number of folds, with equal shares of the classes.
    method : {"exact", "saddlepoint", "normal", "compensated", "uncorrelated"}
        How the error is predicted; see :func:`expected_error`.
    rivals : {"product", "normal", "simulated"}, default=None
        How the predictions for more than two classes are put together, see
        :func:`expected_error`; by default they are simulated, with 20,000 rows in all.
    random_state : int or RandomState, default=0
        Seed of the folds.

    Returns
    -------
    ErrorPath
        The predicted error from the statistics alone (multinomial and Bernoulli models), the
        leave-one-out error with the features held fixed, and the cross-validated error with the
        features selected anew in each fold. Only the last one is honest about the selection.

    Examples
    --------
    >>> import numpy as np
    >>> from naively import SparseBernoulliNB, error_path
    >>> rng = np.random.default_rng(0)
    >>> X, y = rng.integers(0, 2, (60, 5000)), np.repeat([0, 1], 30)  # nothing to be learned
    >>> curves = error_path(SparseBernoulliNB(), X, y, ks=[0, 20])
    >>> bool(curves.leave_one_out[1] < 0.1), bool(curves.cross_validated[1] > 0.35)
    (True, True)
    """
    estimator, X, y = fresh(estimator, X, y)
    statistics = estimator._gather(X, y, sample_weight, None)
    rows = checked_rows(X, y, sample_weight)
    folds = fold_errors(estimator, rows, statistics, ks, n_folds=n_folds, random_state=random_state)
    family = estimator.family(statistics)
    track = path(family, statistics, folds.k)
    return ErrorPath(
        k=folds.k,
        predicted=_predicted(estimator, family, statistics, track, method, rivals),
        leave_one_out=_leave_one_out(estimator, family, statistics, track, rows),
        folds=folds,
    )


def _predicted(
    estimator: Any,
    family: Family[Any],
    statistics: Any,
    track: SparsityPath,
    method: Method,
    rivals: Rivals | None,
) -> FloatArray | None:
    if family.coupled_counts is None and not getattr(statistics, "presence", False):
        return None
    log_prior = estimator._log_prior(statistics)
    prior = np.exp(log_prior) / np.exp(log_prior).sum()
    lengths = lengths_of(statistics)
    combine: dict[str, Any] = {"method": method, "rivals": rivals or "simulated"}
    combine["n_rows"] = -(-SIMULATED_ROWS // len(prior))

    def error(k: int) -> float:
        support = track.support(k)
        rule = family.rule(statistics, support, log_prior)
        model = from_fitted(family, statistics, support, rule, "classes")
        return estimate(model, lengths, prior, **combine).error

    return np.array([error(k) for k in track.k])


def _leave_one_out(
    estimator: Any, family: Family[Any], statistics: Any, track: SparsityPath, rows: Rows
) -> FloatArray | None:
    """Share of the weight decided wrongly with the row out of the parameters, supports fixed."""
    presence = getattr(statistics, "presence", False)
    coupled = family.coupled_counts
    if not (presence or coupled) or np.min(estimator.alpha) <= 0:
        errors = _by_refits(estimator, family, statistics, track, rows)
        return None if errors is None else errors / rows.total
    learned = estimator.fit_prior and estimator.class_prior is None
    prior = None if learned else estimator._log_prior(statistics)
    prepared = Rows(rule_rows(estimator, rows.X), rows.labels, rows.weight)
    weight = statistics.class_weight
    if coupled is not None:
        alpha = coupled(statistics).alpha
        errors = multinomial_errors(alpha, weight, path_stays(track), prepared, prior)
    else:
        visits = path_visits(track, statistics.n_features)
        table = np.asarray(statistics.table, dtype=np.float64)
        errors = presence_errors(
            table, checked_alpha(estimator.alpha), weight, visits, prepared, prior
        )
    return errors / rows.total


def _by_refits(
    estimator: Any, family: Family[Any], statistics: Any, track: SparsityPath, rows: Rows
) -> FloatArray | None:
    """Weight of the rows decided wrongly, one refit of the parameters per row and k."""
    n = len(rows.labels)
    if n * len(track.k) > MAX_REFITS or not hasattr(statistics, "__sub__"):
        return None
    supports = [track.support(k) for k in track.k]
    errors = np.zeros(len(supports))
    for i in range(n):
        row = rows.take(np.array([i]))
        rest = statistics - gather_rows(estimator, row, statistics.classes)
        weight = row.total
        errors += weight * _wrong(estimator, family, rest, supports, row)
    return errors


def _wrong(
    estimator: Any, family: Family[Any], rest: Any, supports: list[IntArray], row: Rows
) -> FloatArray:
    prior = estimator._log_prior(rest)
    wrong = np.empty(len(supports))
    for g, support in enumerate(supports):
        rule = family.rule(rest, support, prior)
        scores = rule.scores(estimator._prepare(row.X[:, support]))
        wrong[g] = winners(scores)[0] != row.labels[0]
    return wrong
