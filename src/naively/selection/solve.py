"""The one entry: statistics and k in, the selected features and their certificate out."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TypeVar

import numpy as np
from scipy.special import xlogy

from naively._types import Array, FloatArray, IntArray
from naively.families.family import CountTable, CoupledCounts, Family, PerColumn
from naively.kernels.hull import log_shares
from naively.selection.certificate import Certificate, Selection, finite_baseline
from naively.selection.dual import DualSolution, Problem, coupled_problem, solve_dual
from naively.selection.exact import TOLERANCE, Search, SearchResult, branch_and_bound
from naively.selection.groups import Groups, count_groups
from naively.selection.rounding import round_solution
from naively.selection.top_k import tie_class, tie_step, top_k

S = TypeVar("S", bound=CountTable)


def solve(
    family: Family[S],
    statistics: S,
    k: int,
    *,
    exact: bool = False,
    max_nodes: int = 1000,
    time_limit: float | None = None,
) -> Selection:
    """Select the k features that raise the training likelihood most.

    Parameters
    ----------
    family : Family
        The model, with its smoothing bound.
    statistics
        Class statistics of the data.
    k : int
        Number of features, >= 0; all of them if there are fewer.
    exact : bool
        Close what gap is left by branch and bound (coupled families; the others are exact).
    max_nodes, time_limit : int, float (seconds)
        Limits of `exact`; when they are reached, the best found so far is returned.
    """
    if family.coupled_counts is not None:
        search = Search(max_nodes, time_limit) if exact else None
        return _solve_coupled(family.coupled_counts(statistics), k, search)
    if family.per_column is not None:
        return _solve_grouped(family, family.per_column, statistics, k)
    gain = family.gain(statistics)
    support = top_k(gain, k)
    return _optimal(family, support, gain[support], family.baseline(statistics))


def _optimal(family: Family[S], support: IntArray, gain: FloatArray, baseline: float) -> Selection:
    """Return the selection of a family whose gains add up: the k largest are the optimum."""
    objective = baseline + float(np.sum(gain))
    certificate = Certificate(
        k=len(support),
        objective=objective,
        bound=objective,
        baseline=baseline,
        a_priori=objective,
        proven_optimal=True,
        quantity=family.objective,
        unit=family.unit,
    )
    return Selection(support, gain, certificate)


def _solve_grouped(family: Family[S], per_column: PerColumn[S], statistics: S, k: int) -> Selection:
    groups = count_groups(statistics.table)
    table = groups.dense()
    gain = per_column.gain(statistics, table)
    label, quota = best_classes(gain, groups.size, k)
    support, group = groups.columns.take(label, quota)
    baseline = pooled_baseline(per_column, statistics, groups.size, table)
    return _optimal(family, support, gain[group], baseline)


def pooled_baseline(per_column: PerColumn[S], statistics: S, size: IntArray, table: Array) -> float:
    """Objective with every column pooled, from groups of `size` equal columns: nats."""
    return finite_baseline(float(np.sum(per_column.pooled(statistics, table) * size)))


def best_classes(gain: FloatArray, size: IntArray, k: int) -> tuple[IntArray, IntArray]:
    """Tie classes of the groups, best first, and how many columns to take of each.

    Groups with tied gains form one class: its columns are taken by index, whatever the group.

    Parameters
    ----------
    gain, size : (d,)
        Gain and number of columns of each group.
    k : int
        Number of columns to take.

    Returns
    -------
    label : (d,) class of each group
    quota : (number of classes,)
    """
    order = np.argsort(-gain, kind="stable")
    label = np.empty(len(gain), dtype=np.int64)
    label[order] = tie_class(gain[order], tie_step(gain))
    per_class = np.zeros(int(label.max(initial=-1)) + 1, dtype=np.int64)
    np.add.at(per_class, label, size)
    before = np.cumsum(per_class) - per_class
    return label, np.clip(k - before, 0, per_class)


# --- coupled families -----------------------------------------------------------------------------


@dataclass(frozen=True, slots=True)
class CoupledGroups:
    """A coupled problem on groups of equal columns."""

    groups: Groups
    seen: IntArray  # (s,) groups with any count
    problem: Problem  # over the seen groups
    baseline: float  # nats, all columns pooled

    @property
    def n_seen(self) -> int:
        """Number of columns with any count."""
        return int(self.problem.size.sum())

    def filled(self, take: IntArray, k: int) -> IntArray:
        """Complete a selection of seen groups to k with columns without counts: (d,)."""
        full = np.zeros(len(self.groups.size), dtype=np.int64)
        full[self.seen] = take
        unseen = np.ones(len(full), dtype=bool)
        unseen[self.seen] = False
        room = np.where(unseen, self.groups.size, 0)
        full += np.clip(k - take.sum() - (np.cumsum(room) - room), 0, room)
        return full

    def gains(self, take: IntArray) -> FloatArray:
        """Contribution of a column of each group to the gain of a selection: (d,).

        The gain h_i at the class shares of the selection; over its columns it sums to its gain.
        """
        log_a = log_shares(self.problem.totals(take[self.seen]))
        gains = np.zeros(len(take))
        gains[self.seen] = np.maximum(self.problem.gains(log_a), 0.0)
        return gains


@dataclass(frozen=True, slots=True)
class GroupSelection:
    """Selection of groups, before the columns are listed."""

    take: IntArray  # (d,) how many columns of each group
    shares: FloatArray  # (C,) class shares at the dual solution
    objective: float  # nats
    bound: float  # nats
    evaluations: int  # of the dual
    nodes: int  # of branch and bound


def coupled_groups(counts: CoupledCounts) -> CoupledGroups:
    """Group the columns and set up the problem."""
    by_column = not isinstance(counts.alpha, float)
    groups = count_groups(counts.table, by_column=by_column)
    seen = np.flatnonzero(groups.seen)
    alpha = counts.alpha[seen] if not isinstance(counts.alpha, float) else counts.alpha
    everything = len(seen) == len(groups.size)
    problem = coupled_problem(
        groups.counts if everything else groups.counts[seen], alpha, groups.size[seen]
    )
    return CoupledGroups(groups, seen, problem, finite_baseline(_pooled(groups, counts.alpha)))


def _pooled(groups: Groups, alpha: float | FloatArray) -> float:
    """Sum_i g_i log g_i - G log G: nats."""
    g = np.asarray(groups.counts.sum(axis=1)).ravel() + groups.counts.shape[1] * np.asarray(alpha)
    total = float(np.sum(g * groups.size))
    return float(np.sum(xlogy(g, g) * groups.size) - xlogy(total, total))


def _solve_coupled(counts: CoupledCounts, k: int, search: Search | None) -> Selection:
    coupled = coupled_groups(counts)
    k = min(k, len(counts.table))
    solution = solve_groups(coupled, k, search=search)
    certificate = Certificate(
        k=k,
        objective=solution.objective,
        bound=solution.bound,
        baseline=coupled.baseline,
        a_priori=a_priori_objective(coupled, k, solution.shares),
        proven_optimal=_closed(solution.bound - coupled.baseline, solution),
        evaluations=solution.evaluations,
        nodes=solution.nodes,
    )
    support, group = coupled.groups.expand(solution.take)
    return Selection(support, coupled.gains(solution.take)[group], certificate)


def _closed(possible: float, solution: GroupSelection) -> bool:
    return solution.bound - solution.objective <= TOLERANCE * abs(possible)


def a_priori_objective(coupled: CoupledGroups, k: int, start: FloatArray | None = None) -> float:
    """Objective that some k columns reach by theory, psi(k - C - 2); -inf if k is too small."""
    less = min(k, coupled.n_seen) - coupled.problem.counts.shape[1] - 2
    if less < 0:
        return -np.inf
    return coupled.baseline + solve_dual(coupled.problem, less, start=start).value


def solve_groups(
    coupled: CoupledGroups,
    k: int,
    *,
    start: FloatArray | None = None,
    search: Search | None = None,
) -> GroupSelection:
    """Select k columns: dual, rounding, certificate; branch and bound if a search is asked for.

    Parameters
    ----------
    coupled : CoupledGroups
    k : int
        At most the number of columns.
    start : (C,), optional
        Class shares to start from.
    search : Search, optional
        Limits of the branch and bound.
    """
    inner = min(k, coupled.n_seen)
    dual = solve_dual(coupled.problem, inner, start=start)
    found = _found(coupled, inner, dual, search)
    return GroupSelection(
        take=coupled.filled(found.take, k),
        shares=dual.shares,
        objective=coupled.baseline + found.value,
        bound=coupled.baseline + found.bound,
        evaluations=max(dual.evaluations, 1),
        nodes=found.nodes,
    )


def _found(
    coupled: CoupledGroups, k: int, dual: DualSolution, search: Search | None
) -> SearchResult:
    """Return k seen columns, with what is proven about them."""
    if k in (0, 1, coupled.n_seen):
        # One column alone gains nothing, and all columns leave no choice: optimal as they are.
        value = coupled.problem.value(dual.vertices[0])
        return SearchResult(dual.vertices[0], value, value, 0)
    take, value = round_solution(coupled.problem, k, dual)
    if search is not None:
        return branch_and_bound(coupled.problem, k, dual, take, search)
    return SearchResult(take, value, max(dual.bound, value), 0)
