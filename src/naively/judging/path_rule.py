"""A linear rule for every point of a path, in a form that scores a row in one sweep."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, replace
from typing import Any, cast

import numba
import numpy as np

from naively._kernels.path_scores import add_errors, path_scores_csr
from naively._types import BoolArray, FloatArray, IntArray
from naively.judging.visits import Visits, path_visits
from naively.models.family import Coupled, Family, objective_of
from naively.models.rules import LinearRule
from naively.selection.path import SparsityPath
from naively.statistics.matrix import Matrix

CHUNK = 2048  # rows per task: fixed, so that sums do not depend on the number of threads
_NUMBERS = 1 << 22  # scores held at a time by one thread
_SAME = 1e-12  # weights that differ by less, relatively, are the same weight


@dataclass(frozen=True, slots=True)
class PathRule:
    """Rules of all grid points; see :mod:`naively._kernels.path_scores` for the formula."""

    visits: Visits
    weight: FloatArray  # (V, C) one for each visit
    base: FloatArray  # (G, C)
    shift: FloatArray  # (G, C)
    log_prior: FloatArray  # (C,)
    veto: FloatArray  # (V, C), or (0, C) if no event has probability zero
    base_veto: FloatArray  # (G, C), or (0, C)
    of_presence: bool = False  # entries become 0 or 1 before they are scored

    @property
    def takes_parts(self) -> bool:
        """Whether a feature may have several entries in a row, that stand for their sum."""
        return self.of_presence or len(self.veto) == 0  # presence is of the sum

    @property
    def columns(self) -> IntArray:
        """Columns that are in a support anywhere on the path, ascending: (U,)."""
        return self.visits.columns

    def over_its_columns(self) -> PathRule:
        """Return the same rule for rows of which only `columns` are kept, (n, U)."""
        visits = self.visits
        feature = np.searchsorted(self.columns, visits.feature)
        return replace(
            self, visits=replace(visits, slot=visits.slot[self.columns], feature=feature)
        )

    def scores(self, X: Matrix, start: int, stop: int) -> FloatArray:
        """Scores (stop - start, G, C) of some rows of a CSR matrix."""
        n_points, n_classes = self.base.shape
        scores, v = np.empty((stop - start, n_points, n_classes)), self.visits
        longest = np.diff(X.indptr[start : stop + 1]).max(initial=0)
        path_scores_csr(
            X.data,
            X.indices,
            X.indptr,
            start,
            v.slot,
            v.ptr,
            v.enter,
            v.leave,
            self.weight,
            self.veto,
            self.base,
            self.base_veto,
            self.shift,
            self.log_prior,
            np.empty((n_points + 1, n_classes + 1)),
            np.empty((n_points + 1, n_classes if len(self.base_veto) else 0)),
            np.empty(longest, dtype=np.int32),
            scores,
        )
        return scores

    def part(self, first: int, last: int) -> PathRule:
        """Rule of the grid points from `first` to before `last`."""
        v = self.visits
        enter, leave = (np.clip(at, first, last) - first for at in (v.enter, v.leave))
        return replace(
            self,
            visits=Visits(v.slot, v.feature, v.ptr, enter, leave, last - first),
            base=self.base[first:last],
            shift=self.shift[first:last],
            base_veto=self.base_veto[first:last],
        )

    def blocks(self, X: Matrix) -> Iterator[tuple[int, FloatArray]]:
        """First row and scores (rows, G, C) of consecutive blocks of a CSR matrix."""
        size = max(1, min(CHUNK, _NUMBERS // max(self.base.size, 1)))
        for start in range(0, X.shape[0], size):
            yield start, self.scores(X, start, min(start + size, X.shape[0]))

    def errors(self, X: Matrix, labels: IntArray, row_weight: FloatArray) -> FloatArray:
        """Weight (G,) of the rows of a CSR matrix decided wrongly at each grid point.

        Parameters
        ----------
        X : CSR matrix of shape (n, m)
            Rows as the rule takes them.
        labels : ndarray of shape (n,)
            Position of the true class.
        row_weight : ndarray of shape (n,) or (0,)
            Weights; empty for 1.
        """
        size = max(1, min(CHUNK, _NUMBERS // max(self.base.size, 1)))

        def part(start: int) -> FloatArray:
            wrong = np.zeros(len(self.base))
            scores = self.scores(X, start, min(start + size, X.shape[0]))
            add_errors(scores, labels, row_weight, start, wrong)
            return wrong

        return sum_of_parts(part, range(0, X.shape[0], size), len(self.base))


def sum_of_parts(part: Callable[[int], FloatArray], starts: range, n_points: int) -> FloatArray:
    """Sum of part(start) over all starts, by threads, added in the order of the starts."""
    total = np.zeros(n_points)
    with ThreadPoolExecutor(numba.get_num_threads()) as pool:
        for wrong in pool.map(part, starts):
            total += wrong
    return total


def path_rule(
    family: Family[Any],
    statistics: Any,
    path: SparsityPath,
    log_prior: FloatArray,
    also: IntArray | None = None,
) -> PathRule:
    """Rules of a linear family at every point of a path; they may see other columns, `also`."""
    problem = objective_of(family.problem(statistics))
    if isinstance(problem, Coupled):
        if np.min(problem.alpha) > 0:
            return _smoothed_counts_rule(problem, path, log_prior)
    elif getattr(statistics, "presence", False):
        visits = path_visits(path, len(statistics.table))
        rule = family.rule(statistics, visits.feature, log_prior)
        if isinstance(rule, LinearRule) and rule.veto is None:
            return _presence_rule(rule, visits)
    supports = [path.support(k) for k in path.k]
    rules = [cast("LinearRule", family.rule(statistics, at, log_prior)) for at in supports]
    n_columns = statistics.n_features
    if also is not None and len(also):
        supports = [np.append(support, also) for support in supports]
        n_columns = max(n_columns, int(also.max()) + 1)
    whole = rule_of_rules(supports, rules, n_columns)
    return replace(whole, of_presence=getattr(statistics, "presence", False))


def _smoothed_counts_rule(counts: Coupled, path: SparsityPath, log_prior: FloatArray) -> PathRule:
    """Multinomial rule without events of probability zero, straight from the counts."""
    visits = path_visits(path, len(counts.table))
    smoothed = smoothed_counts(counts, visits.feature)
    weight = np.log(smoothed)
    total = visits.totals(smoothed)
    shift = np.log(total, out=np.zeros_like(total), where=total > 0)
    base = np.tile(log_prior, (len(total), 1))
    return _without_vetoes(visits, weight, base, shift, log_prior)


def _presence_rule(rule: LinearRule, visits: Visits) -> PathRule:
    """Bernoulli rule of all features on the path: log P(absent) = -log(1 + exp(log-odds))."""
    weight = rule.weights.T
    base = rule.log_prior - visits.totals(np.logaddexp(0.0, weight))
    additive = _without_vetoes(visits, weight, base, np.zeros_like(base), rule.log_prior)
    return replace(additive, of_presence=True)


def _without_vetoes(
    visits: Visits, weight: FloatArray, base: FloatArray, shift: FloatArray, log_prior: FloatArray
) -> PathRule:
    """Rule in which no event has probability zero, from weights (U, C) of the features."""
    none = np.empty((0, len(log_prior)))
    per_visit = np.repeat(np.ascontiguousarray(weight), np.diff(visits.ptr), axis=0)
    return PathRule(visits, per_visit, base, shift, log_prior, none, none)


def smoothed_counts(counts: Coupled, features: IntArray) -> FloatArray:
    """Add the smoothing to the counts of some features: (U, C)."""
    alpha = counts.alpha if isinstance(counts.alpha, float) else counts.alpha[features, None]
    return np.asarray(counts.table[features] + alpha, dtype=np.float64)


def rule_of_rules(supports: list[IntArray], rules: list[LinearRule], n_features: int) -> PathRule:
    """Put linear rules for given supports together.

    Where the weights of a class move by the same amount for all features from one grid point to
    the next, that is a shift; a feature whose weight moves otherwise starts a new visit.

    Parameters
    ----------
    supports : list of G arrays
        Column indices.
    rules : list of G LinearRule
        Their rules.
    n_features : int
        Number of columns m.
    """
    vetoes = any(rule.veto is not None for rule in rules)
    builder = _Builder(n_features, len(rules[0].intercept), vetoes=vetoes)
    for support, rule in zip(supports, rules, strict=True):
        builder.add(support, rule)
    return builder.finish(rules)


class _Builder:
    """Visits and weights, collected from one grid point to the next."""

    def __init__(self, n_features: int, n_classes: int, *, vetoes: bool) -> None:
        self.vetoes = vetoes
        self.point = 0
        self.current = np.full(n_features, -1, dtype=np.int64)  # visit of each feature, if in
        self.feature: list[IntArray] = []
        self.enter: list[IntArray] = []
        self.weight = np.empty((0, n_classes))
        self.veto = np.empty((0, n_classes))
        self.leave = np.empty(0, dtype=np.int64)
        self.shift: list[FloatArray] = []

    def add(self, support: IntArray, rule: LinearRule) -> None:
        """Note what changes at the next grid point."""
        weight = rule.weights.T
        veto = rule.veto.T if rule.veto is not None else np.zeros_like(weight)
        visit = self.current[support]
        old = visit >= 0
        moved = self.weight[visit[old]] - weight[old]
        ignored = (self.veto[visit[old]] > 0) & (veto[old] > 0)
        shift = _common(moved, ignored)
        scale = np.abs(weight[old]) + np.abs(shift)
        agrees = (np.abs(moved - shift) <= _SAME * (1 + scale)) | ignored
        stays = old.copy()
        stays[old] = agrees.all(axis=1) & (self.veto[visit[old]] == veto[old]).all(axis=1)
        self._leave(support[stays])
        self._enter(support[~stays], weight[~stays] + shift, veto[~stays])
        self.shift.append(shift)
        self.point += 1

    def _leave(self, staying: IntArray) -> None:
        """End the visits of all other features."""
        kept = self.current[staying]
        active = self.current[self.current >= 0]
        self.leave[active] = self.point
        self.leave[kept] = -1
        self.current[:] = -1
        self.current[staying] = kept

    def _enter(self, features: IntArray, weight: FloatArray, veto: FloatArray) -> None:
        start = len(self.weight)
        self.current[features] = np.arange(start, start + len(features))
        self.feature.append(features)
        self.enter.append(np.full(len(features), self.point))
        self.leave = np.append(self.leave, np.full(len(features), -1))
        self.weight = np.concatenate([self.weight, weight])
        self.veto = np.concatenate([self.veto, veto])

    def finish(self, rules: list[LinearRule]) -> PathRule:
        """Sort the visits by feature."""
        feature, enter = np.concatenate(self.feature), np.concatenate(self.enter)
        leave = np.where(self.leave < 0, self.point, self.leave)
        order = np.lexsort((enter, feature))
        present, start = np.unique(feature[order], return_index=True)
        slot = np.full(len(self.current), -1, dtype=np.int32)
        slot[present] = np.arange(len(present), dtype=np.int32)
        ptr = np.append(start, len(feature)).astype(np.int64)
        none = np.empty((0, self.weight.shape[1]))
        none_here = np.zeros(self.weight.shape[1])
        offsets = [none_here if r.veto_offset is None else r.veto_offset for r in rules]
        return PathRule(
            visits=Visits(slot, present, ptr, enter[order], leave[order], self.point),
            weight=self.weight[order],
            base=np.array([rule.intercept for rule in rules]),
            shift=np.array(self.shift),
            log_prior=rules[0].log_prior,
            veto=self.veto[order] if self.vetoes else none,
            base_veto=np.array(offsets) if self.vetoes else none,
        )


def _common(moved: FloatArray, ignored: BoolArray) -> FloatArray:
    """By how much the weights of each class moved, for most features: (C,)."""
    shift = np.zeros(moved.shape[1])
    for c in range(moved.shape[1]):
        values = moved[~ignored[:, c], c]
        if len(values):
            shift[c] = np.partition(values, len(values) // 2)[len(values) // 2]
    return shift
