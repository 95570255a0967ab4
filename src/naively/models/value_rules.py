"""Decision rules that read the values of the selected columns other than linearly."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, replace
from typing import Any, Self, cast

import numpy as np

from naively._types import Array, FloatArray, IntArray
from naively.models.counting import presence_of
from naively.models.rules import (
    HybridRule,
    LinearRule,
    Rule,
    finite,
    present,
    with_offset,
    without_missing,
)
from naively.statistics.matrix import Matrix, is_sparse
from naively.statistics.missing import missing_mask

_CELLS = 1 << 20  # of a temporary


def _row_blocks(X: Matrix) -> Iterator[tuple[slice, Array]]:
    """Yield some rows of selected columns at a time, dense."""
    height = max(_CELLS // max(X.shape[1], 1), 1)
    for start in range(0, X.shape[0], height):
        rows = slice(start, start + height)
        yield rows, X[rows].toarray() if is_sparse(X) else X[rows]


@dataclass(frozen=True, slots=True)
class AbsoluteRule:
    """scores = intercept - sum of |x - center|; of sparse rows only the non-zeros are read.

    An entry that is missing (NaN) is as far from all centers.
    """

    intercept: FloatArray  # (C,)
    centers: FloatArray  # (C, k)

    def scores(self, X: Matrix) -> FloatArray:
        """Score of each class: (n, C) from X (n, k), dense or CSR, up to a term per row."""
        if X.shape[1] == 0:
            return np.tile(self.intercept, (X.shape[0], 1))
        if missing_mask(X) is not None:
            return finite(self.intercept - self._observed_distances(X), self.intercept)
        if is_sparse(X):
            return finite(self.intercept - self._sparse_distances(X.tocsr()), self.intercept)
        from scipy.spatial.distance import cdist  # a second to import, for this rule only

        distance = cdist(np.asarray(X, dtype=np.float64), self.centers, "cityblock")
        return finite(self.intercept - distance, self.intercept)

    def terms(self, x: FloatArray) -> tuple[FloatArray, FloatArray]:
        """See `Rule`."""
        return self.intercept, np.where(np.isnan(x), 0.0, -np.abs(x - self.centers))

    def arrays(self) -> dict[str, Array]:
        """See `Rule`."""
        return present(self)

    def _observed_distances(self, X: Matrix) -> FloatArray:
        distances = np.empty((X.shape[0], len(self.centers)))
        for rows, block in _row_blocks(X):
            for c, center in enumerate(self.centers):
                deviation = np.abs(block - center)
                deviation[np.isnan(block)] = 0.0
                distances[rows, c] = deviation.sum(axis=1)
        return distances

    def _sparse_distances(self, X: Matrix) -> FloatArray:
        from naively._kernels.compiled import read_only
        from naively._kernels.distances import absolute_distances_csr

        distances = np.empty((X.shape[0], len(self.centers)))
        arrays = read_only(X.data), read_only(X.indices), read_only(X.indptr)
        absolute_distances_csr(*arrays, self.centers, distances)
        return distances


@dataclass(frozen=True, slots=True)
class QuadraticRule:
    """scores = intercept - sum of (x - mean)^2 * precision / 2."""

    intercept: FloatArray  # (C,)
    mean: FloatArray  # (C, k)
    precision: FloatArray  # (C, k)
    # (C, k) what each feature has in the intercept, if entries may be missing (NaN)
    offset: FloatArray | None = None

    def scores(self, X: Matrix) -> FloatArray:
        """Score of each class: (n, C) from X (n, k), dense or CSR, up to a term per row."""
        mask = None if self.offset is None else missing_mask(X)
        with np.errstate(over="ignore", invalid="ignore"):
            scores = self._scores(X) if mask is None else self._observed_scores(X, mask)
            return finite(scores, self.intercept)

    def _observed_scores(self, X: Matrix, mask: Matrix) -> FloatArray:
        """Score rows (n, k) with missing entries; a missing one is at the mean of every class."""
        assert self.offset is not None
        scores = np.tile(self.intercept, (X.shape[0], 1))
        scores = without_missing(scores, mask, self.offset)
        for rows, block in _row_blocks(X):
            for c, (mean, precision) in enumerate(zip(self.mean, self.precision, strict=True)):
                deviation = block - mean
                deviation[np.isnan(block)] = 0.0
                scores[rows, c] -= 0.5 * (deviation**2 @ precision)
        return scores

    def _scores(self, X: Matrix) -> FloatArray:
        if is_sparse(X):
            weighted = self.mean * self.precision
            distance = X.multiply(X) @ self.precision.T - 2 * (X @ weighted.T)
            return np.asarray(
                self.intercept - 0.5 * (distance + (weighted * self.mean).sum(axis=1))
            )
        scores = np.empty((X.shape[0], len(self.mean)))
        height = max(_CELLS // max(X.shape[1], 1), 1)
        for start in range(0, X.shape[0], height):
            rows = slice(start, start + height)
            for c, (mean, precision) in enumerate(zip(self.mean, self.precision, strict=True)):
                # Not expanded: the difference keeps its digits where means are large.
                scores[rows, c] = self.intercept[c] - 0.5 * ((X[rows] - mean) ** 2 @ precision)
        return scores

    def terms(self, x: FloatArray) -> tuple[FloatArray, FloatArray]:
        """See `Rule`."""
        terms = -0.5 * (x - self.mean) ** 2 * self.precision
        return with_offset(self.intercept, terms, x, self.offset)

    def arrays(self) -> dict[str, Array]:
        """See `Rule`."""
        return present(self)


@dataclass(frozen=True, slots=True)
class TableRule:
    """scores = log prior + log probability of the category that each column holds.

    Categories beyond the table tell nothing, and neither do missing ones (NaN). A row that no class
    can have produced gets the prior.
    """

    log_prior: FloatArray  # (C,)
    log_prob: FloatArray  # (M, C) log probability of each category, column after column
    starts: IntArray  # (k + 1,) where the categories of each column start

    def scores(self, X: Matrix) -> FloatArray:
        """Score of each class: (n, C) from X (n, k), dense or CSR, up to a term per row."""
        scores = self.joint(X)
        undecided = np.all(np.isneginf(scores), axis=1)
        scores[undecided] = self.log_prior
        return scores

    def joint(self, X: Matrix) -> FloatArray:
        """Log prior plus log probabilities: (n, C) from X (n, k), dense or CSR."""
        scores = np.empty((X.shape[0], len(self.log_prior)))
        height = max(_CELLS // max(X.shape[1], 1), 1)
        for start in range(0, X.shape[0], height):
            rows = X[start : start + height]
            categories = _categories(rows.toarray() if is_sparse(rows) else np.asarray(rows))
            if categories.size and categories.min() < 0:
                raise ValueError(
                    f"Categories are whole numbers >= 0; got {categories.min()}. Encode them as in "
                    "training."
                )
            self._add(categories, scores[start : start + height])
        return scores

    def terms(self, x: FloatArray) -> tuple[FloatArray, FloatArray]:
        """See `Rule`; a category beyond the table has terms of 0."""
        categories = _categories(x)
        known = categories < np.diff(self.starts)
        rows = self.starts[:-1] + np.where(known, categories, 0)
        return self.log_prior, np.where(known, self.log_prob[rows].T, 0.0)

    def arrays(self) -> dict[str, Array]:
        """See `Rule`."""
        return present(self)

    def _add(self, categories: IntArray, scores: FloatArray) -> None:
        known = categories < np.diff(self.starts)
        scores[:] = self.log_prior
        for column, start in enumerate(self.starts[:-1]):
            of_column = self.log_prob[start + np.where(known[:, column], categories[:, column], 0)]
            scores += np.where(known[:, column, None], of_column, 0.0)


def _categories(values: Array) -> IntArray:
    """Categories as whole numbers; a missing one is beyond every table."""
    if values.dtype.kind == "f":
        values = values.astype(np.float64, copy=False)  # half precision ends before the beyond
        values = np.where(np.isnan(values), np.iinfo(np.int32).max, values)
    return np.asarray(values, dtype=np.int64)


@dataclass(frozen=True, slots=True)
class MixedRule:
    """scores = log prior + those of the columns of each kind, missing entries (NaN) left out.

    A row that no class can have produced gets the prior.
    """

    log_prior: FloatArray  # (C,)
    columns: Mapping[str, IntArray]  # those of each kind among the k, ascending
    rules: Mapping[str, LinearRule | QuadraticRule | TableRule]  # of these columns; prior 0

    def scores(self, X: Matrix) -> FloatArray:
        """Score of each class: (n, C) from X (n, k), dense or CSR, up to a term per row."""
        scores = np.tile(self.log_prior, (X.shape[0], 1))
        for kind, rule in self.rules.items():
            own = self._own(kind, X[:, self.columns[kind]])
            if isinstance(rule, QuadraticRule):
                _add_quadratic(rule, own, scores)
            else:
                scores += rule.joint(own)
        undecided = np.all(np.isneginf(scores), axis=1)
        scores[undecided] = self.log_prior
        return scores

    def terms(self, x: FloatArray) -> tuple[FloatArray, FloatArray]:
        """See `Rule`."""
        start, terms = self.log_prior.copy(), np.zeros((len(self.log_prior), len(x)))
        for kind, rule in self.rules.items():
            own = self._own(kind, np.asarray(x, dtype=np.float64)[None, self.columns[kind]])
            begin, terms[:, self.columns[kind]] = rule.terms(own[0])
            start += begin
        return start, terms

    def arrays(self) -> dict[str, Array]:
        """See `Rule`; those of a kind are called kind.name."""
        arrays = {"log_prior": self.log_prior}
        for kind, rule in self.rules.items():
            own = {"columns": self.columns[kind], **rule.arrays()}
            arrays |= {f"{kind}.{kind_of(rule)}.{name}": array for name, array in own.items()}
        return arrays

    @classmethod
    def restored(cls, arrays: Mapping[str, Array]) -> Self:
        """Rule from its arrays."""
        parts: dict[tuple[str, str], dict[str, Array]] = {}
        for path, array in arrays.items():
            if path != "log_prior":
                kind, of_rule, name = path.split(".")
                parts.setdefault((kind, of_rule), {})[name] = array
        columns = {kind: own.pop("columns") for (kind, _), own in parts.items()}
        rules = {kind: restored(of_rule, own) for (kind, of_rule), own in parts.items()}
        return cls(arrays["log_prior"], columns, cast("dict[str, Any]", rules))

    def tempered(self, temperature: float) -> Self:
        """Return the rule whose scores are those of this one, divided by a temperature."""
        rules = {kind: tempered(rule, temperature) for kind, rule in self.rules.items()}
        return replace(self, log_prior=self.log_prior / temperature, rules=cast("Any", rules))

    @staticmethod
    def _own(kind: str, X: Matrix) -> Matrix:
        return presence_of(0.0, X) if kind == "bernoulli" else X


def _add_quadratic(rule: QuadraticRule, X: Matrix, scores: FloatArray) -> None:
    """Add the scores of numbers beside words, block by block dense: they keep their digits."""
    height = max(_CELLS // max(X.shape[1], 1), 1) if is_sparse(X) else len(scores)
    for start in range(0, len(scores), max(height, 1)):
        block = X[start : start + height]
        scores[start : start + height] += rule.scores(
            block.toarray() if is_sparse(block) else block
        )


RULES: Mapping[str, type[Rule]] = {
    "linear": LinearRule,
    "absolute": AbsoluteRule,
    "quadratic": QuadraticRule,
    "table": TableRule,
    "hybrid": HybridRule,
    "mixed": MixedRule,
}


# Arrays in which the scores are linear. Distances are no log-probabilities: they have no scale.
_LINEAR_IN: Mapping[type[Rule], tuple[str, ...]] = {
    LinearRule: ("intercept", "weights", "offset"),
    QuadraticRule: ("intercept", "precision", "offset"),
    TableRule: ("log_prior", "log_prob"),
}


def tempered(rule: Rule, temperature: float) -> Rule:
    """Return the rule whose scores are those of another, divided by a temperature."""
    if isinstance(rule, MixedRule):
        return rule.tempered(temperature)
    arrays = rule.arrays()
    linear = [name for name in _LINEAR_IN[type(rule)] if name in arrays]
    return restored(
        kind_of(rule),
        {**arrays, **{name: arrays[name] / temperature for name in linear}},
    )


def kind_of(rule: Rule) -> str:
    """Name of the kind of a rule, see `restored`."""
    return next(name for name, kind in RULES.items() if type(rule) is kind)


def restored(kind: str, arrays: Mapping[str, Array]) -> Rule:
    """Return the rule of which these are the `arrays`.

    Parameters
    ----------
    kind : "linear", "hybrid", "absolute", "quadratic", "table" or "mixed"
        Of the rule.
    arrays
        By name.
    """
    of_kind = RULES[kind]
    if of_kind is HybridRule or of_kind is MixedRule:
        return of_kind.restored(arrays)
    return of_kind(**arrays)
