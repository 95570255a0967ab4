"""Scores that the models of every k give to rows: in one sweep where the rule is linear."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np

from naively._types import FloatArray, IntArray
from naively.judging.path_rule import PathRule, path_rule
from naively.judging.rows import as_csr
from naively.models.model import Model, S
from naively.models.rules import LinearRule
from naively.selection.train import model_path, train
from naively.statistics.exposure import exposed_columns, exposures_of
from naively.statistics.matrix import Matrix, canonical, is_sparse
from naively.statistics.source import distinct

_NUMBERS = 1 << 25  # scores held at a time: 256 MB

Scored = Iterator[tuple[int, FloatArray]]  # position in the grid, and scores (n, C) of all rows


def has_path(model: Model[S]) -> bool:
    """Whether the models of all k are those of a path over columns."""
    return model.of_columns and not model.limits.exact


def linear_path(model: Model[S], statistics: S, grid: IntArray) -> PathRule | None:
    """Rules of all k in a form that scores a row in one sweep; None if the model has no such."""
    if not has_path(model):
        return None
    family, prior = model.family, model.log_prior(statistics)
    nothing = family.rule(statistics, np.empty(0, dtype=np.int64), prior)
    if not isinstance(nothing, LinearRule) or nothing.offset is not None:
        return None  # or entries may be missing
    also = model.also(statistics.n_features)
    return path_rule(family, statistics, model_path(model, statistics, grid), prior, also)


def rule_rows(model: Model[S], X: Matrix, rule: PathRule | None = None) -> Matrix:
    """Return checked rows as CSR of what the rules of a model see.

    Duplicate entries are summed, unless a `rule` is given to which they make no difference.
    """
    if is_sparse(X) and (rule is None or not rule.takes_parts):
        X = distinct(X)
    if model.exposure == "total":
        X = exposed_columns(X, np.arange(X.shape[1]), model.exposure)
    elif model.exposure is not None:
        exposures_of(X, model.exposure)  # refused where they cannot be
    X = model.prepare(X)
    return X if is_sparse(X) else as_csr(X)


def scores_of_path(
    model: Model[S], statistics: S, grid: IntArray, X: Matrix, *, exactly: bool
) -> Scored:
    """Scores of checked rows by the model of each k.

    Rows that tie are told apart by the order in which a sum is rounded: `exactly` adds up as the
    models do, so that the same rows tie.
    """
    if exactly and has_path(model):
        return scores_along_path(model, statistics, grid, X)
    rule = linear_path(model, statistics, grid)
    if rule is None:
        return scores_one_by_one(model, statistics, grid, X)
    return swept(rule, rule_rows(model, X, rule))


def scores_along_path(model: Model[S], statistics: S, grid: IntArray, X: Matrix) -> Scored:
    """Scores of checked rows by the rule of each k on its own, the supports those of the path."""
    family, prior = model.family, model.log_prior(statistics)
    track = model_path(model, statistics, grid)
    X = canonical(X) if is_sparse(X) else X
    for g, k in enumerate(grid.tolist()):
        support = track.support(k)
        rule = family.rule(statistics, support, prior)
        yield g, rule.scores(model.seen(statistics, X, support))


def scores_one_by_one(model: Model[S], statistics: S, grid: IntArray, X: Matrix) -> Scored:
    """Scores of checked rows by a model trained for each k."""
    X = canonical(X) if is_sparse(X) else X
    for g, k in enumerate(grid.tolist()):
        yield g, train(model, statistics, k).scores(X)


def swept(rule: PathRule, rows: Matrix) -> Scored:
    """Scores of CSR rows by the rules of all k, some of them in a sweep."""
    n_points, n_classes = rule.base.shape
    step = max(1, _NUMBERS // max(1, rows.shape[0] * n_classes))
    for first in range(0, n_points, step):
        part = rule.part(first, min(first + step, n_points))
        scores = part.scores(rows, 0, rows.shape[0])
        for g in range(scores.shape[1]):
            yield first + g, scores[:, g]
