"""The models of every k of a grid, ready to judge rows over the columns that any of them sees."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any, Protocol, TypeVar, final

import numpy as np

from naively._types import Array, FloatArray, IntArray
from naively.judging.path_rule import PathRule
from naively.judging.path_scores import Scored, linear_path, swept
from naively.judging.rows import as_csr
from naively.models.model import Model, Statistics
from naively.models.rules import Rule, winners
from naively.selection.train import train
from naively.statistics.matrix import Matrix, canonical, is_sparse

S = TypeVar("S", bound=Statistics)


class EveryK(Protocol):
    """Models of a grid of k."""

    @property
    def columns(self) -> IntArray:
        """(U,) ascending: the columns that any of them sees."""
        ...

    def errors(self, X: Matrix, labels: IntArray, row_weight: FloatArray) -> FloatArray:
        """Weight (G,) of the rows X (n, U) decided wrongly at each k; weights (0,) are 1."""
        ...

    def scores(self, X: Matrix) -> Scored:
        """Scores of the rows X (n, U) at each k."""
        ...


def every_k(model: Model[S], statistics: S, grid: IntArray) -> EveryK:
    """Train the models of a grid of k (G,), ascending."""
    rule, judge = linear_path(model, statistics, grid), replace(model, constraints=None)
    if rule is not None:
        return _Swept(rule.columns, rule.over_its_columns(), judge)
    rules, supports, also = [], [], model.also(statistics.n_features)
    for k in grid.tolist():
        trained = train(model, statistics, k)
        rules.append(trained.rule)
        supports.append(np.append(trained.selection.support, also))
    columns = np.unique(np.concatenate(supports))
    seen = tuple(np.searchsorted(columns, support) for support in supports)
    return _OneByOne(columns, tuple(rules), seen, judge)


@final
@dataclass(frozen=True, slots=True)
class _Swept:
    """Linear models: a row is scored for every k in one sweep over its entries."""

    columns: IntArray  # (U,)
    rule: PathRule  # over these columns
    model: Model[Any]

    def errors(self, X: Matrix, labels: IntArray, row_weight: FloatArray) -> FloatArray:
        return self.rule.errors(self._rows(X), labels, row_weight)

    def scores(self, X: Matrix) -> Scored:
        return swept(self.rule, self._rows(X))

    def _rows(self, X: Matrix) -> Matrix:
        rows = self.model.prepare(canonical(X) if is_sparse(X) else X)
        return rows if is_sparse(rows) else as_csr(rows)


@final
@dataclass(frozen=True, slots=True)
class _OneByOne:
    """Models that have no common form: each looks at the rows by itself."""

    columns: IntArray  # (U,)
    rules: tuple[Rule, ...]  # of each k
    seen: tuple[IntArray, ...]  # (k,) positions among the columns that each sees
    model: Model[Any]

    def errors(self, X: Matrix, labels: IntArray, row_weight: FloatArray) -> FloatArray:
        weight = row_weight if len(row_weight) else np.ones(len(labels))
        return np.array([weight @ (winners(scores) != labels) for _, scores in self.scores(X)])

    def scores(self, X: Matrix) -> Scored:
        X = canonical(X) if is_sparse(X) else X
        for g, (rule, seen) in enumerate(zip(self.rules, self.seen, strict=True)):
            yield g, rule.scores(self.model.prepare(X[:, seen]))


def wrong_at_every_k(models: EveryK, X: Matrix, labels: Array, names: Array) -> IntArray:
    """Rows (G,) of X (n, U), labelled (n,), that are decided wrongly at each k.

    Labels that are not among the `names` of the classes (C,) are mistakes at every k.
    """
    return np.rint(weight_of_wrong(models, X, labels, names, np.ones(len(labels)))).astype(np.int64)


def weight_of_wrong(
    models: EveryK, X: Matrix, labels: Array, names: Array, row_weight: FloatArray
) -> FloatArray:
    """Weight (G,) of such rows, which weigh (n,)."""
    is_known = np.isin(labels, names)
    known = np.flatnonzero(is_known)
    codes = np.searchsorted(names, labels[known]).astype(np.int64)
    wrong = models.errors(X[known], codes, row_weight[known])
    return np.asarray(wrong + row_weight[~is_known].sum())
