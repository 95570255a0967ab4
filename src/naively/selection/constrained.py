"""Selections that have to meet constraints, most of them by reduction to those that need not.

    excluded    left out of the problem, pooled in its baseline
    required    in whatever is chosen: their counts are constants of a coupled problem
    groups      gains of their columns add up, or their counts and entropies: a column of columns
    quota       gains that add up: the best of each class, then the best of the rest, exactly;
                an even one is a quota that follows k, so that supports need not be nested
    budget      gains that add up: branch and bound over the linear program

Where gains are coupled, quotas and budgets keep the dual, over the sets that are allowed
(:mod:`naively.selection.within`): its bound is one on them, and branch and bound closes it.
"""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Callable
from dataclasses import dataclass, replace
from functools import cached_property, partial
from typing import Any, final

import numpy as np
from scipy import sparse

from naively._kernels.hull import log_shares
from naively._kernels.logarithms import x_log_x
from naively._types import Array, BoolArray, FloatArray, IntArray
from naively.models.constraints import NONE, Constraints
from naively.models.family import (
    Coupled,
    Family,
    Ordered,
    Separable,
    SeparableCounts,
    blocks,
    objective_of,
)
from naively.models.model import Limits, Model, S
from naively.models.rules import weights_of_classes
from naively.selection.canonical import class_order, in_order, of_classes
from naively.selection.certificate import Certificate, Selection, finite_baseline
from naively.selection.coupled import Base, CoupledProblem, coupled_columns, grouped
from naively.selection.dual import Problem, entropies
from naively.selection.exact import TOLERANCE
from naively.selection.groups import Groups, Matrix, SingleColumns, count_groups, lowest, without
from naively.selection.path import (
    OrderedSupports,
    SparsityPath,
    checked_grid,
    coupled_path,
    grouped_path,
    ordered_path,
)
from naively.selection.polytope import Allowed
from naively.selection.solve import (
    best_classes,
    best_counts,
    certified,
    first_in_order,
    grouped_gains,
    optimal,
    separate_gains,
)
from naively.selection.top_k import TIE_TOLERANCE, gain_order, tie_class, top_k
from naively.selection.units import Task, UnitSupports, constraints_of
from naively.selection.within import Found, best_within, problem_of_gains
from naively.statistics.moments import ClassMoments
from naively.statistics.sparse_table import SparseTable


def select_within(model: Model[S], statistics: S, k: int, limits: Limits) -> Selection:
    """Select k units that meet the constraints of a model, or with a budget at most k.

    Raises
    ------
    ValueError
        If no choice of k can meet them.
    """
    problem = model.family.problem(statistics)
    if isinstance(problem, Ordered):
        task = spoken_task(model, statistics)
        return first_in_order(problem, len(task.required) + task.to_choose(k))
    task = _task(model, statistics)
    found = task.select(k, limits)
    reached = found.k if task.constraints.costs is None else k
    return replace(found, certificate=replace(found.proof, choice=task.choice(reached)))


def path_within(model: Model[S], statistics: S, ks: Any) -> SparsityPath:
    """Solve for a grid of k under the constraints of a model: at every k what it selects alone."""
    quota = 0 if model.constraints is None else model.constraints.quota
    task = _task(model, statistics, by_column=quota not in (0, "even"))  # one order for all k
    track = task.path(checked_grid(ks, task.constraints.n_choices, task.least))
    problem = model.family.problem(statistics)
    if not isinstance(problem, Ordered):
        return track
    at = np.searchsorted(task.free, problem.order[len(task.required) :])
    supports = UnitSupports(OrderedSupports(at, optimal=False), task)
    return ordered_path(problem, track, supports)


def interchangeable(model: Model[S], statistics: S, support: IntArray) -> tuple[int, int]:
    """Chosen units that others could stand in for, and these others.

    They have the same gain, to rounding, cost as much and speak for the same class. None are known
    where gains are coupled.
    """
    task = _task(model, statistics, by_column=True)
    if not isinstance(task, Adding):
        return 0, 0
    chosen = np.isin(task.free, task.constraints.units_of(support))
    near, number = _alike(task, task.free, chosen, task.ties())
    taken, left = (np.bincount(number[each], minlength=len(near)) for each in
                   (chosen[near], ~chosen[near]))  # fmt: skip
    return int(taken[left > 0].sum()), int(left[taken > 0].sum())


def _task(
    model: Model[S], statistics: S, *, by_column: bool = False
) -> Adding | _Repeating | _Tied:
    constraints = constraints_of(model, statistics)
    problem = objective_of(model.family.problem(statistics))
    single = constraints.groups is None and constraints.costs is None
    plain = single and not constraints.quota
    n_free = Task.plain(constraints).n_free if single else 0
    groups = None if plain or isinstance(problem, Separable) else _distinct(problem)
    by_column = by_column or not (groups is None or groups.repeat)
    if single and isinstance(problem, SeparableCounts) and not by_column and n_free:
        speak = partial(_spoken_rows, model, statistics)
        speaks = None if plain else NONE  # which the groups know
        n_classes = len(statistics.classes)
        known = constraints, speaks, n_classes, speak, groups
        repeating = _Repeating(*known, problem, model.family)
        _check_quota(repeating, statistics.classes)
        return repeating
    if isinstance(problem, Coupled) and isinstance(problem.alpha, float) and groups and single:
        speak = partial(_spoken_shares, _totals(problem, groups), problem.alpha)
        tied = _Tied(constraints, NONE, len(statistics.classes), speak, groups, problem)
        _check_quota(tied, statistics.classes)
        return tied
    if groups is None and isinstance(problem, SeparableCounts):
        groups = _distinct(problem)
    task = spoken_task(model, statistics, groups)
    if isinstance(problem, Coupled):
        return _Tied(constraints, task.speaks, task.n_classes, None, groups, problem)
    spoken = constraints, task.speaks, task.n_classes
    return Adding.of(*spoken, problem, model.family, groups)


def spoken_task(model: Model[S], statistics: S, groups: Groups | None = None) -> Task:
    """Return what the constraints of a model leave to choose; `groups` as in `speaks_for`.

    Raises
    ------
    ValueError
        If a class has fewer features than its quota; an even one bends.
    """
    constraints, n_classes = constraints_of(model, statistics), len(statistics.classes)
    if not constraints.quota:
        return Task.plain(constraints)
    task = Task(constraints, speaks_for(model, statistics, groups), n_classes)
    _check_quota(task, statistics.classes)
    return task


def _check_quota(task: Task, classes: Array) -> None:
    quota = task.constraints.quota
    if not quota or quota == "even":
        return
    there_are = task.has + task.there_are
    if (there_are < quota).any():
        c = int(np.argmax(there_are < quota))
        raise ValueError(
            f"`quota` must be at most {there_are[c]}, the number of features that may be "
            f"chosen and speak for class {classes.tolist()[c]!r}; got {quota}. With 'even' such a "
            "class has all of them."
        )


def _distinct(problem: SeparableCounts | Coupled) -> Groups:
    """Group the columns that a problem of counts does not tell apart."""
    by_column = isinstance(problem, Coupled) and not isinstance(problem.alpha, float)
    return count_groups(problem.table, by_column=by_column)


def speaks_for(model: Model[S], statistics: S, groups: Groups | None = None) -> IntArray:
    """Class that each feature speaks for, (m,): the position of the first of the largest.

    Where its weight is largest in the rule over all features; in models of values, its center.
    `groups` are of columns that nothing tells apart, if they are known.
    """
    problem = objective_of(model.family.problem(statistics))
    if isinstance(problem, Coupled):
        groups = groups or _distinct(problem)
        alpha = problem.alpha if isinstance(problem.alpha, float) else problem.alpha[:, None]
        spoken = _spoken_shares(_totals(problem, groups), alpha, groups.dense())
        return groups.columns.labels(spoken)
    if isinstance(statistics, ClassMoments):
        return _largest(statistics.mean)
    if hasattr(statistics, "center"):  # medians, (C, m)
        return _largest(statistics.center.T)
    if groups is not None:
        return groups.columns.labels(_spoken_rows(model, statistics, groups.dense()))
    return _spoken(model, statistics)


def _totals(problem: Coupled, groups: Groups) -> FloatArray:
    """Smoothed counts of each class in all columns, (C,); 1 where there are none."""
    smooth = np.broadcast_to(problem.alpha, len(problem.table)).sum()
    totals = groups.size @ groups.dense() + smooth
    return np.where(totals > 0, totals, 1.0)


def _spoken_shares(totals: FloatArray, alpha: float | FloatArray, table: Array) -> IntArray:
    """Class in whose counts each row (d, C) has the largest share: (d,)."""
    parts = [
        (table[each] + (alpha if isinstance(alpha, float) else alpha[each])) / totals
        for each in blocks(*table.shape)
    ]
    return np.concatenate([NONE, *map(_largest, parts)])


def _spoken_rows(model: Model[Any], statistics: Any, table: Array) -> IntArray:
    """Class that each row of counts (d, C) speaks for, where a column needs no more than these."""
    return _spoken(model, replace(statistics, table=table, documents=None, squares=None))


def _spoken(model: Model[Any], statistics: Any) -> IntArray:
    columns = np.arange(statistics.n_features)
    rule = model.family.rule(statistics, columns, model.log_prior(statistics))
    weights = weights_of_classes(rule)[: len(columns)]  # not that of an exposure
    return _largest(weights, least=1.0)  # differences of logarithms


def _largest(values: FloatArray, *, least: float = 0.0) -> IntArray:
    """Position of the first of the largest in each row, those equal but for rounding: (m,).

    Rounding is that of values of this size at least.
    """
    scale = np.where(np.isfinite(values), np.abs(values), 0.0).max(axis=1, keepdims=True)
    scale = np.maximum(scale, least)
    largest = values.max(axis=1, keepdims=True) - TIE_TOLERANCE * scale
    return np.asarray(np.argmax(values >= largest, axis=1), dtype=np.int64)


# --- gains that add up ----------------------------------------------------------------------------


@dataclass(frozen=True, eq=False)
class _Grouped(Task):
    """Counts that repeat, of which some columns are in and some are out: the others in groups."""

    speak: Callable[[Array], IntArray] | None  # counts (d, C): class that each row speaks for
    distinct: Groups | None  # of all columns, if they are known

    @property
    @abstractmethod
    def _table(self) -> Any:
        """Counts of all columns."""

    @property
    @abstractmethod
    def _groups(self) -> Groups:
        """Groups of all columns."""

    @cached_property
    def _others(self) -> Groups:
        return without(self._groups, self.settled)

    @cached_property
    def _spoken(self) -> IntArray:
        """Class that each group of the others speaks for: (d,)."""
        assert self.speak is not None
        return self.speak(self._others.dense())

    @cached_property
    def has(self) -> IntArray:
        """See `Task`."""
        if self.speak is None:
            return super().has
        required = self.speak(np.asarray(self._table[self.required]))
        return np.bincount(required, minlength=self.n_classes)

    @cached_property
    def there_are(self) -> IntArray:
        """See `Task`."""
        if self.speak is None:
            return super().there_are
        counted = np.bincount(self._spoken, self._others.size, self.n_classes)
        return counted.astype(np.int64)


@final
@dataclass(frozen=True, eq=False)
class _Repeating(_Grouped):
    """Gains that add up and repeat."""

    problem: SeparableCounts
    family: Family[Any]

    @property
    def _table(self) -> Any:
        return self.problem.table

    @cached_property
    def _groups(self) -> Groups:
        return self.distinct or _distinct(self.problem)

    def _best(self, n: int) -> tuple[IntArray, float]:
        """Positions of the best n of the others, each class its quota first, and the baseline."""
        if self.speaks is None:
            best, _, baseline = best_counts(self.problem, n, self._others)
            return best, baseline
        groups = self._others
        table, gain, baseline = grouped_gains(self.problem, groups)
        error, label, quotas = self.problem.rounding(table, gain), np.empty(len(gain), int), [NONE]
        for c, quota in enumerate(self.quota(n).tolist()):
            at = np.flatnonzero(self._spoken == c)
            tie, of_tie = best_classes(gain[at], error[at], groups.size[at], quota)
            label[at] = sum(map(len, quotas)) + tie
            quotas.append(of_tie)
        first, of = groups.columns.take(label, np.concatenate(quotas))
        left = groups.size - np.bincount(of, minlength=len(gain))
        rest = _lowest_of_best(groups, gain, error, left, n - len(first), (first, of))
        return np.sort(np.concatenate([first, rest])), baseline

    @property
    def _settled(self) -> float:
        """Objective of the columns that are in or out in any case, with all of them pooled."""
        return float(np.sum(self.problem.pooled(self.problem.table[self.settled])))

    def select(self, k: int, limits: Limits) -> Selection:
        """Select k columns."""
        best, baseline = self._best(self.to_choose(k))
        columns = self.support(self.units_at(best))
        gain = self.problem.gain(self.problem.table[columns])
        return optimal(self.family, columns, gain, baseline + self._settled)

    def path(self, grid: IntArray) -> SparsityPath:
        """Select at every k of a grid."""
        if self.speaks is not None:
            return _listed_path(self, grid, [self.select(int(k), Limits()) for k in grid])
        track = grouped_path(self.problem, grid - len(self.required), self._others)
        always = self._settled + self.problem.gain(self.problem.table[self.required]).sum()
        return SparsityPath(
            grid,
            track.objective + always,
            track.bound + always,
            track.baseline + self._settled,
            UnitSupports(track.supports, self),
        )


def _lowest_of_best(
    groups: Groups, gain: FloatArray, error: FloatArray, left: IntArray, n: int,
    taken: tuple[IntArray, IntArray],
) -> IntArray:  # fmt: skip
    """Columns of the n largest gains but those taken, of which so many are left in each group."""
    at = np.flatnonzero(left)
    if n <= 0 or len(at) == 0:
        return NONE
    tie, quota = best_classes(gain[at], error[at], left[at], n)
    label = np.full(len(gain), len(quota), dtype=np.int64)  # the last: nothing is left
    label[at] = tie
    # As many more as are taken, of which none is wanted twice.
    more = np.bincount(label[taken[1]], minlength=len(quota) + 1)[:-1] * (quota > 0)
    columns, of = groups.columns.take(label, np.append(quota + more, 0))
    new = ~np.isin(columns, taken[0], assume_unique=True)
    columns, of = columns[new], of[new]
    return np.asarray(columns[lowest(label[of], np.append(quota, 0))])


@final
@dataclass(frozen=True, eq=False)
class Adding(Task):
    """Gains that add up."""

    family: Family[Any]
    gain: FloatArray  # (m,) of columns
    error: FloatArray  # (m,) by how much rounding may have changed them
    baseline: float

    @classmethod
    def of(
        cls, constraints: Constraints, speaks: IntArray | None, n_classes: int,
        problem: Separable | SeparableCounts, family: Family[Any], groups: Groups | None,
    ) -> Adding:  # fmt: skip
        """Compute the gains of all columns."""
        if isinstance(problem, Separable):
            gain, baseline = separate_gains(problem)
            error = problem.rounding(np.arange(len(gain)), gain)
        else:
            assert groups is not None
            table, of_group, baseline = grouped_gains(problem, groups)
            label = groups.columns.labels(np.arange(len(of_group)))
            gain, error = of_group[label], problem.rounding(table, of_group)[label]
        return cls(constraints, speaks, n_classes, family, gain, error, baseline)

    def _of_free(self, values: FloatArray) -> FloatArray:
        if self.constraints.groups is None:
            return values[self.free]
        sums = np.bincount(self.constraints.units, values).astype(np.float64)
        return np.asarray(sums[self.free])

    def select(self, k: int, limits: Limits) -> Selection:
        """Select k units."""
        n = self.to_choose(k)
        if self.constraints.costs is not None:
            return self._within_budget(n, limits)
        columns = self.support(self.free[self.best(n)])
        return self._counted(optimal(self.family, columns, self.gain[columns], self.baseline))

    def best(self, n: int) -> IntArray:
        """Positions among the free units of the n best: of each class first, then of the rest."""
        gain, error = self._of_free(self.gain), self._of_free(self.error)
        first = self._first_of_classes(gain, error, n)
        rest = _without(len(gain), first)
        return np.concatenate([first, rest[_top(gain[rest], error[rest], n - len(first))]])

    def _counted(self, selection: Selection) -> Selection:
        k = len(self.constraints.units_of(selection.support))
        return replace(selection, certificate=replace(selection.proof, k=k))

    def _first_of_classes(self, gain: FloatArray, error: FloatArray, n: int) -> IntArray:
        """Positions among the free units of the best of each class, its quota of n."""
        first = [NONE]
        for of_class, quota in zip(self._of_classes, self.quota(n).tolist(), strict=True):
            first.append(of_class[_top(gain[of_class], error[of_class], quota)])
        return np.concatenate(first)

    @cached_property
    def _of_classes(self) -> list[IntArray]:
        """Positions among the free units that speak for each class; none without a quota."""
        if self.speaks is None:
            return []
        speaks = self.speaks[self.free]
        return [np.flatnonzero(speaks == c) for c in range(self.n_classes)]

    def _within_budget(self, n: int, limits: Limits) -> Selection:
        alike = self.alike(self.ties(), n)
        gain = self._of_free(self.gain)[alike.first]
        finite = np.isfinite(gain)
        # One infinite gain is worth all others.
        beyond = 2.0 * float((gain * alike.size)[finite].sum()) + 1.0
        problem = problem_of_gains(np.where(finite, gain, beyond), alike.size)
        found = best_within(problem, self.allowed(n, alike), replace(limits, exact=True))
        take = alike.lowest(found.take)
        columns = self.support(self.free[take])
        selection = self._counted(optimal(self.family, columns, self.gain[columns], self.baseline))
        certificate = selection.proof
        gap = max(found.bound - found.value, 0.0)
        proven = gap <= TOLERANCE * abs(found.bound) or not finite.all()
        if not proven:
            certificate = replace(
                certificate, bound=certificate.objective + gap, proven_optimal=False,
                a_priori=-np.inf,
            )  # fmt: skip
        return replace(
            selection,
            certificate=replace(certificate, evaluations=found.evaluations, nodes=found.nodes),
        )

    def ties(self) -> IntArray:
        """Give each free unit a number, equal ones where gains tie."""
        gain, error = self._of_free(self.gain), self._of_free(self.error)
        order = np.argsort(-gain, kind="stable")
        tie = np.empty(len(gain), dtype=np.int64)
        tie[order] = tie_class(gain[order], error[order])
        return tie

    def path(self, grid: IntArray) -> SparsityPath:
        """Select at every k of a grid."""
        if self.constraints.costs is not None or self.constraints.quota == "even":
            found = [self.select(int(k), Limits()) for k in grid]  # which need not be nested
            return _listed_path(self, grid, found)
        gain, error = self._of_free(self.gain), self._of_free(self.error)
        first = self._first_of_classes(gain, error, 0)
        rest = _without(len(gain), first)
        order = np.concatenate([
            first[_order(gain[first], error[first])], rest[_order(gain[rest], error[rest])]
        ])  # fmt: skip
        always = float(self.gain[self.support(NONE)].sum())
        gained = np.concatenate([[0.0], np.cumsum(gain[order])]) + always
        objective = self.baseline + gained[grid - len(self.required)]
        supports = UnitSupports(OrderedSupports(order), self)
        return SparsityPath(grid, objective, objective, self.baseline, supports)


def _without(n: int, some: IntArray) -> IntArray:
    rest = np.ones(n, dtype=np.bool_)
    rest[some] = False
    return np.flatnonzero(rest)


def _top(gain: FloatArray, error: FloatArray, n: int) -> IntArray:
    return top_k(gain, n, lambda columns, some: error[columns])


def _order(gain: FloatArray, error: FloatArray) -> IntArray:
    return gain_order(gain, lambda columns, some: error[columns])


def _alike(task: Task, free: IntArray, take: BoolArray, key: Array) -> tuple[IntArray, IntArray]:
    """Units with the key of one that is taken, and equal numbers where all else is equal."""
    near = np.flatnonzero(np.isin(key, key[take]))
    keys = [key[near]]
    if task.constraints.costs is not None:
        keys.append(task.constraints.unit_costs[free[near]])
    if task.speaks is not None:
        keys.append(task.speaks[free[near]])
    order = np.lexsort(keys)
    new = np.zeros(len(near), dtype=np.bool_)
    for each in keys:
        new[1:] |= np.diff(each[order]) != 0
    number = np.empty(len(near), dtype=np.int64)
    number[order] = np.cumsum(new)
    return near, number


# --- coupled gains --------------------------------------------------------------------------------


@final
@dataclass(frozen=True, eq=False)
class _Tied(_Grouped):
    """Gains tied together by the class totals of what is chosen."""

    counts: Coupled

    @property
    def _table(self) -> Any:
        return self.counts.table

    @cached_property
    def _groups(self) -> Groups:
        return self.distinct or _distinct(self.counts)

    def select(self, k: int, limits: Limits) -> Selection:
        """Select k units."""
        n = self.to_choose(k)
        if self.is_shaped or self.n_free == 0:
            return self._chosen(n, limits)
        coupled = self._coupled(screen=not limits.exact)
        take, certificate = certified(coupled, n, limits)
        columns = self.support(self.units_at(coupled.groups.expand(take)[0]))
        k = len(self.required) + n
        return Selection(columns, self._gains(columns), replace(certificate, k=k))

    def path(self, grid: IntArray) -> SparsityPath:
        """Select at every k of a grid."""
        if self.is_shaped or self.n_free == 0:
            # Each k by itself: from other shares the search may end at another set than a fit does.
            found = [self.select(k, Limits()) for k in grid.tolist()]
            return _listed_path(self, grid, found)
        track = coupled_path(self._coupled(screen=True), grid - len(self.required))
        return replace(track, k=grid, supports=UnitSupports(track.supports, self))

    # any k free units: the problem without constraints, over some of the columns

    def _coupled(self, *, screen: bool) -> CoupledProblem:
        if self.constraints.groups is not None:
            return self._coupled_groups()
        table, alpha = self.counts.table, self.counts.alpha
        others = self.settled
        wide = isinstance(table, SparseTable)
        sums = table.sum(axis=1)[others] if wide else table[others].sum(axis=1)
        g = sums + table.shape[1] * _some(alpha, others)
        base = self._base(*self._columns(self.required))
        base = replace(base, pooled=float(np.sum(x_log_x(g))), total=float(np.sum(g)))
        if isinstance(alpha, float) and len(others):
            groups = count_groups(table)
            if not isinstance(groups.columns, SingleColumns):  # no copy of the others
                order = class_order(table)
                return grouped(without(in_order(groups, order), others), order, alpha, base)
        free = _rows_of(table, self.free)
        some_alpha = alpha if isinstance(alpha, float) else alpha[self.free]
        return coupled_columns(Coupled(free, some_alpha), screen=screen, base=base)

    def _coupled_groups(self) -> CoupledProblem:
        counts, alpha, entropy, _ = self._units()
        base = self._base(counts[self.required], alpha[self.required], entropy[self.required])
        base = replace(base, baseline=self._baseline())
        some = Groups(counts[self.free], np.ones(len(self.free), np.int64), SingleColumns())
        order = class_order(self.counts.table)
        return grouped(some, order, alpha[self.free], base, entropy[self.free])

    def _base(self, counts: Matrix, alpha: FloatArray, entropy: FloatArray) -> Base:
        """Make constants of the required units."""
        totals = np.asarray(counts.sum(axis=0)).ravel() + alpha.sum()
        return Base(float(entropy.sum()), totals if len(alpha) else None)

    def _baseline(self) -> float:
        """Objective with all columns pooled: nats."""
        groups = self._groups
        sums = np.asarray(groups.counts.sum(axis=1)).ravel()
        g = sums + self.counts.table.shape[1] * np.asarray(self.counts.alpha)
        total = float(np.sum(groups.size * g))
        return finite_baseline(float(np.sum(groups.size * x_log_x(g)) - x_log_x(total)))

    # units one by one

    def _columns(self, columns: IntArray) -> tuple[FloatArray, FloatArray, FloatArray]:
        """Return counts, smoothing and entropies of columns; those without counts have neither."""
        counts = np.asarray(self.counts.table[columns], dtype=np.float64)
        alpha = np.where((counts > 0).any(axis=1), _some(self.counts.alpha, columns), 0.0)
        return counts, alpha, entropies(counts, alpha)

    def _units(self) -> tuple[Matrix, FloatArray, FloatArray, IntArray]:
        """Return counts, smoothing and entropies of distinct units, and which each unit is.

        They are sums over the columns of a group that have counts.
        """
        constraints, distinct = self.constraints, self._groups
        number = distinct.columns.labels(np.arange(len(distinct.size)))
        counts, smooth, entropy = self._distinct_units()
        if constraints.groups is None:
            return counts, smooth, entropy, number
        shape, ones = (constraints.n_units, len(smooth)), np.ones(len(number))
        members: Any = sparse.csr_array((ones, (constraints.units, number)), shape=shape)
        everything = np.arange(constraints.n_units)
        return members @ counts, members @ smooth, members @ entropy, everything

    def _distinct_units(self) -> tuple[Matrix, FloatArray, FloatArray]:
        """Return counts, smoothing and entropies of the groups of columns."""
        counts = self._groups.counts.astype(np.float64, copy=False)
        smooth = np.where(self._groups.seen, self.counts.alpha, 0.0)
        return counts, smooth, entropies(counts, smooth)

    def _chosen(self, n: int, limits: Limits) -> Selection:
        """Select n free units, or at most n, among the sets that are allowed."""
        if self.speak is not None:
            return self._chosen_groups(n, limits)
        counts, alpha, entropy, row = self._units()
        inside = row[self.required]
        base = self._base(counts[inside], alpha[inside], entropy[inside])
        alike = self.alike(row[self.free], n)
        some = row[self.free[alike.first]]
        units = counts[some], alpha[some], entropy[some]
        found = self._within(base, units, self.allowed(n, alike), limits)
        return self._selection(found, self.free[alike.lowest(found.take)])

    def _chosen_groups(self, n: int, limits: Limits) -> Selection:
        """Select n free columns, as numbers of each group."""
        others, d = self._others, len(self._others.size)
        counts, alpha, entropy = self._distinct_units()
        inside = self._groups.columns.groups(self.required)
        base = self._base(counts[inside], alpha[inside], entropy[inside])
        some, take = np.flatnonzero(others.size), np.zeros(d, dtype=np.int64)
        allowed = Allowed(
            k=n, size=others.size[some], speaks=self._spoken[some], quota=self.quota(n)
        )
        found = self._within(base, (counts[some], alpha[some], entropy[some]), allowed, limits)
        take[some] = found.take
        columns, _ = others.columns.take(np.arange(d), take)
        return self._selection(found, self.units_at(columns))

    def _within(
        self, base: Base, units: tuple[Matrix, FloatArray, FloatArray], allowed: Allowed,
        limits: Limits,
    ) -> Found:  # fmt: skip
        order = class_order(self.counts.table)
        inner = of_classes(units[0], order)
        inner = inner if sparse.issparse(inner) else np.ascontiguousarray(inner)
        problem = base.under(Problem(inner, *units[1:], allowed.size), order)
        return best_within(problem, allowed, limits)

    def _selection(self, found: Found, units: IntArray) -> Selection:
        columns = self.support(units)
        return Selection(columns, self._gains(columns), self._certificate(found, columns))

    def _certificate(self, found: Found, columns: IntArray) -> Certificate:
        baseline = self._baseline()
        return Certificate(
            k=len(self.constraints.units_of(columns)),
            objective=baseline + found.value,
            bound=baseline + found.bound,
            baseline=baseline,
            a_priori=-np.inf,
            proven_optimal=found.bound - found.value <= TOLERANCE * abs(found.bound),
            evaluations=found.evaluations,
            nodes=found.nodes,
        )

    def _gains(self, columns: IntArray) -> FloatArray:
        """Contribution of each column to the gain of all of them, at their class shares."""
        counts, alpha, entropy = self._columns(columns)
        ones = np.ones(len(columns), dtype=np.int64)
        problem = Problem(counts, alpha, entropy, ones)
        return np.maximum(problem.gains(log_shares(problem.totals(ones))), 0.0)


def _rows_of(table: Array | SparseTable, columns: IntArray) -> Any:
    """Take some columns of a table, as a table of its kind."""
    if isinstance(table, SparseTable):
        return table.take(columns)
    return np.take(table, columns, axis=0)


def _some(alpha: float | FloatArray, columns: IntArray) -> FloatArray:
    return np.full(len(columns), alpha) if isinstance(alpha, float) else alpha[columns]


# --- paths ----------------------------------------------------------------------------------------


@final
@dataclass(frozen=True, slots=True)
class ListedSupports:
    """Supports that have nothing in common, one by one."""

    grid: IntArray
    supports: list[IntArray]
    n_features: int
    solve: Callable[[int], IntArray]

    def at(self, k: int) -> IntArray:
        """See `Supports`."""
        position = int(np.searchsorted(self.grid, k))
        if position < len(self.grid) and self.grid[position] == k:
            return self.supports[position]
        return self.solve(k)

    def first_grid_position(self, k: IntArray) -> IntArray:
        """See `Supports`."""
        first = np.full(self.n_features, len(k))
        for g in range(len(k) - 1, -1, -1):
            first[self.at(int(k[g]))] = g
        return first

    def order(self, k: IntArray) -> IntArray:
        """See `Supports`."""
        first = self.first_grid_position(k)
        return np.argsort(first, kind="stable")[: np.count_nonzero(first < len(k))]

    def a_priori(self, k: IntArray, objective: FloatArray) -> FloatArray:
        """See `Supports`: nothing is promised of sets that have to meet more than their number."""
        return np.full(len(k), -np.inf)


def _listed_path(
    task: Adding | _Repeating | _Tied, grid: IntArray, found: list[Selection]
) -> SparsityPath:
    certificates = [each.proof for each in found]
    supports = ListedSupports(
        grid, [each.support for each in found], task.constraints.n_features,
        lambda k: task.select(k, Limits()).support,
    )  # fmt: skip
    return SparsityPath(
        grid,
        np.array([each.objective for each in certificates]),
        np.array([each.bound for each in certificates]),
        certificates[0].baseline,
        supports,
    )
