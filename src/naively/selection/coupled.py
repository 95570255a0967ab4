"""Coupled problems on the columns of a table: grouped where columns repeat, screened where not."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Protocol, final

import numpy as np

from naively._kernels.hull import log_shares
from naively._kernels.logarithms import x_log_x
from naively._types import Array, FloatArray, IntArray
from naively.models.family import Coupled
from naively.models.model import Limits
from naively.selection.canonical import class_order, in_order, lowest_of_equal, of_classes
from naively.selection.certificate import finite_baseline
from naively.selection.dual import DualSolution, Problem, coupled_problem, solve_dual
from naively.selection.exact import SearchResult, branch_and_bound
from naively.selection.groups import Groups, SingleColumns, count_groups
from naively.selection.near import solve_near
from naively.selection.rounding import round_solution, widened
from naively.selection.screen import ColumnTable, Window, column_table, solve_screened

SCREEN_ABOVE = 1 << 15  # columns without groups; fewer are evaluated as a whole
NEAR_ABOVE = 1 << 14  # groups; of more, those near the threshold are looked at first
_NOTHING: IntArray = np.empty(0, dtype=np.int64)


@dataclass(frozen=True, slots=True)
class GroupSelection:
    """Selection of groups, before the columns are listed."""

    take: Array  # (d,) how many columns of each group
    shares: FloatArray  # (C,) class shares at the dual solution
    objective: float  # nats
    bound: float  # nats
    evaluations: int  # of the dual
    nodes: int  # of branch and bound
    window: Window | None = None  # of a screened problem: what was left to choose from


@dataclass(frozen=True, slots=True)
class Base:
    """Columns beside those to choose from: some are in whatever is chosen, all are pooled else."""

    value: float = 0.0  # entropies of the columns that are in: nats
    totals: FloatArray | None = None  # (C,) their smoothed counts; None: no column is in
    pooled: float = 0.0  # sum of g_i log g_i of all of them
    total: float = 0.0  # sum of their g_i
    baseline: float | None = None  # with everything pooled, if the columns to choose do not tell

    def under(self, problem: Problem, order: IntArray) -> Problem:
        """Return the problem with these columns in, of classes that stand in an order."""
        if self.totals is None:
            return problem
        return replace(problem, base_value=self.value, base_totals=self.totals[order])


NO_BASE = Base()


class CoupledProblem(Protocol):
    """Columns to choose from, whatever they are stored as."""

    @property
    def groups(self) -> Groups:
        """Groups of equal columns."""
        ...

    @property
    def baseline(self) -> float:
        """Objective with all columns pooled: nats."""
        ...

    @property
    def n_seen(self) -> int:
        """Number of columns with any count."""
        ...

    def select(self, k: int, start: FloatArray | None, limits: Limits | None) -> GroupSelection:
        """Select k columns: dual, rounding; branch and bound if the limits say so."""
        ...

    def listed(self, take: Array) -> tuple[IntArray, FloatArray]:
        """Columns of a selection, ascending, and the contribution of each to its gain.

        The gain h_i at the class shares of the selection; over its columns it sums to its gain.
        """
        ...

    def widened(self, k: int) -> Array:
        """Columns of which the dual for k takes any part: (d,) how many, k or up to C more."""
        ...

    def reachable(self, k: int, near: GroupSelection | None) -> float:
        """Value psi(k) of a fractional selection of k seen columns: nats above the baseline.

        `near` is the solution of a neighbouring, larger k, to start from.
        """
        ...


def coupled_columns(
    counts: Coupled, *, screen: bool = True, base: Base = NO_BASE
) -> CoupledProblem:
    """Set up the problem: group the columns, or survey them if there are too many groups.

    Parameters
    ----------
    counts : Coupled
    screen : bool
        Whether settling most columns in advance will do; a search needs them all.
    base : Base
        Columns that are not among them.
    """
    by_column = not isinstance(counts.alpha, float)
    order = class_order(counts.table)
    groups = in_order(count_groups(counts.table, by_column=by_column), order)
    single = isinstance(groups.columns, SingleColumns) and isinstance(counts.table, np.ndarray)
    if screen and single and len(groups.size) > SCREEN_ABOVE:
        table = np.asarray(of_classes(counts.table, order))
        columns = column_table(table, counts.alpha, (base.pooled, base.total))
        if base.totals is not None:
            columns = columns.above(base.value, base.totals[order])
        return ScreenedColumns(groups, columns)
    return grouped(groups, order, counts.alpha, base)


def grouped(
    groups: Groups,
    order: IntArray,
    alpha: float | FloatArray,
    base: Base,
    entropy: FloatArray | None = None,
) -> GroupedColumns:
    """Set up the problem on groups of equal columns, with classes in an order.

    `entropy` (d,) is given where it is not that of the counts: of columns that stand for several.
    """
    seen = np.flatnonzero(groups.seen)
    part = alpha if isinstance(alpha, float) else alpha[seen]
    everything = len(seen) == len(groups.size)
    counts = of_classes(groups.counts if everything else groups.counts[seen], order)
    baseline = base.baseline
    if baseline is None:
        with np.errstate(over="ignore", invalid="ignore"):  # what comes of it is refused
            baseline = finite_baseline(_pooled(groups, alpha, base))
    problem = coupled_problem(counts, part, groups.size[seen])
    if entropy is not None:
        problem = replace(problem, entropy=entropy[seen])
    return GroupedColumns(groups, seen, base.under(problem, order), baseline, entropy is None)


def a_priori_objective(
    coupled: CoupledProblem, k: int, near: GroupSelection | None = None
) -> float:
    """Objective that some k columns reach by theory, psi(k - C - 2); -inf if k is too small."""
    less = min(k, coupled.n_seen) - coupled.groups.counts.shape[1] - 2
    if less < 0:
        return -np.inf
    return coupled.baseline + coupled.reachable(less, near)


def _found(
    problem: Problem, k: int, dual: DualSolution, limits: Limits | None, *, settled: bool
) -> SearchResult:
    """Return k columns, with what is proven about them; nothing is left to prove if `settled`."""
    if settled:
        take, bound, nodes = dual.vertices[0], -np.inf, 0
        value = problem.value(take)
    else:
        take, value = round_solution(problem, dual)
        bound, nodes = dual.bound, 0
        if limits is not None and limits.exact:
            found = branch_and_bound(problem, k, dual, take, limits)
            take, value, bound, nodes = found.take, found.value, found.bound, found.nodes
    take = lowest_of_equal(problem, dual.gains, take)
    return SearchResult(take, value, max(bound, value), nodes)


def _is_settled(problem: Problem | ColumnTable, k: int, n_seen: int, *, single: bool) -> bool:
    """Whether any k are optimal: a single column alone gains nothing, and all leave no choice."""
    alone = k == 1 and single and not np.any(problem.base_totals)
    return alone or k in (0, n_seen)


# --- groups of equal columns ----------------------------------------------------------------------


@final
@dataclass(frozen=True, slots=True)
class GroupedColumns:
    """A coupled problem on groups of equal columns."""

    groups: Groups
    seen: IntArray  # (s,) groups with any count
    problem: Problem  # over the seen groups, classes in the order of `class_order`
    baseline: float
    single: bool = True  # whether a column is one feature, and not several

    @property
    def n_seen(self) -> int:
        """See `CoupledProblem`."""
        return self.problem.n_columns

    def select(self, k: int, start: FloatArray | None, limits: Limits | None) -> GroupSelection:
        """See `CoupledProblem`."""
        inner = min(k, self.n_seen)
        settled = _is_settled(self.problem, inner, self.n_seen, single=self.single)
        problem, missing, near = self.problem, inner, None
        exact = limits is not None and limits.exact
        if not exact and len(problem.size) > NEAR_ABOVE and 0 < inner < self.n_seen:
            near = solve_near(problem, inner, start, settled=settled)
        if near is None:
            dual = solve_dual(problem, inner, start=start)
        else:
            problem, missing, dual = near.problem, near.missing, near.dual
        found = _found(problem, missing, dual, limits, settled=settled)
        return GroupSelection(
            take=self._filled(found.take if near is None else near.completed(found.take), k),
            shares=dual.shares,
            objective=self.baseline + found.value,
            bound=self.baseline + found.bound,
            evaluations=max(dual.evaluations, 1),
            nodes=found.nodes,
        )

    def _filled(self, take: IntArray, k: int) -> IntArray:
        """Complete a selection of seen groups to at least k with columns without counts: (d,)."""
        if len(self.seen) == len(self.groups.size):
            return take
        full = np.zeros(len(self.groups.size), dtype=np.int64)
        full[self.seen] = take
        missing = k - take.sum()
        if missing <= 0:
            return full
        unseen = np.ones(len(full), dtype=bool)
        unseen[self.seen] = False
        room = np.where(unseen, self.groups.size, 0)
        full += np.clip(missing - (np.cumsum(room) - room), 0, room)
        return full

    def listed(self, take: Array) -> tuple[IntArray, FloatArray]:
        """See `CoupledProblem`."""
        log_a = log_shares(self.problem.totals(take[self.seen]))
        gains = np.zeros(len(take))
        gains[self.seen] = np.maximum(self.problem.gains(log_a), 0.0)
        columns, group = self.groups.expand(take)
        return columns, gains[group]

    def widened(self, k: int) -> Array:
        """See `CoupledProblem`."""
        dual = solve_dual(self.problem, min(k, self.n_seen))
        return self._filled(widened(self.problem, dual), k)

    def reachable(self, k: int, near: GroupSelection | None) -> float:
        """See `CoupledProblem`."""
        return solve_dual(self.problem, k, start=near.shares if near else None).value


def _pooled(groups: Groups, alpha: float | FloatArray, base: Base) -> float:
    """Sum_i g_i log g_i - G log G over all columns: nats."""
    g = np.asarray(groups.counts.sum(axis=1)).ravel() + groups.counts.shape[1] * np.asarray(alpha)
    total = float(np.sum(g * groups.size)) + base.total
    return float(np.sum(x_log_x(g) * groups.size) + base.pooled - x_log_x(total))


# --- many columns that do not repeat --------------------------------------------------------------


@final
@dataclass(frozen=True, slots=True)
class ScreenedColumns:
    """A coupled problem on single columns, most of which are settled without being evaluated."""

    groups: Groups
    columns: ColumnTable  # classes in the order of `class_order`

    @property
    def baseline(self) -> float:
        """See `CoupledProblem`."""
        return self.columns.baseline

    @property
    def n_seen(self) -> int:
        """See `CoupledProblem`."""
        return self.columns.n_seen

    def select(self, k: int, start: FloatArray | None, limits: Limits | None) -> GroupSelection:
        """See `CoupledProblem`."""
        inner = min(k, self.n_seen)
        take = np.zeros(len(self.groups.size), dtype=np.int8)
        if inner < k:
            unseen = np.flatnonzero(~self.columns.seen())
            take[unseen[: k - inner]] = 1
        if inner == 0:
            empty = self.columns.counts(_NOTHING, _NOTHING)
            value, shares = empty.value(_NOTHING), np.exp(log_shares(empty.totals(_NOTHING)))
            objective = self.baseline + value
            return GroupSelection(take, shares, objective, objective, 1, 0)
        window = solve_screened(self.columns, inner, start)
        missing = inner - len(window.above)
        settled = _is_settled(self.columns, inner, self.n_seen, single=True)
        found = _found(window.problem, missing, window.dual, limits, settled=settled)
        take[window.above] = 1
        take[window.between[found.take > 0]] = 1
        return GroupSelection(
            take=take,
            shares=window.dual.shares,
            objective=self.baseline + found.value,
            bound=self.baseline + found.bound,
            evaluations=max(window.dual.evaluations, 1),
            nodes=found.nodes,
            window=window,
        )

    def listed(self, take: Array) -> tuple[IntArray, FloatArray]:
        """See `CoupledProblem`."""
        columns = np.flatnonzero(take)
        problem = self.columns.counts(columns, np.ones(len(columns), dtype=np.int64))
        seen = self.columns.seen(columns)
        gains = problem.gains(log_shares(problem.totals(seen.astype(np.int64))))
        return columns, np.where(seen, np.maximum(gains, 0.0), 0.0)

    def widened(self, k: int) -> Array:
        """See `CoupledProblem`."""
        selection = self.select(k, None, None)
        take, window = selection.take, selection.window
        if window is not None:
            take[window.between] = widened(window.problem, window.dual)
        return take

    def reachable(self, k: int, near: GroupSelection | None) -> float:
        """See `CoupledProblem`."""
        if k == 0:
            return self.columns.counts(_NOTHING, _NOTHING).value(_NOTHING)
        window = near.window if near else None
        if near and window and len(window.above) <= k:
            # A selection from the window is one from all columns: a lower bound needs no pass.
            return solve_dual(window.problem, k - len(window.above), start=near.shares).value
        return solve_screened(self.columns, k).dual.value
