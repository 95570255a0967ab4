"""The one entry: statistics and k in, the selected features and their certificate out."""

from __future__ import annotations

from typing import TypeVar

import numpy as np

from naively._types import Array, FloatArray, IntArray
from naively.models.family import CountTable, CoupledCounts, Family, PerColumn
from naively.selection.certificate import Certificate, Selection, finite_baseline
from naively.selection.coupled import a_priori_objective, coupled_columns
from naively.selection.exact import TOLERANCE, Search
from naively.selection.groups import count_groups
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


def _solve_coupled(counts: CoupledCounts, k: int, search: Search | None) -> Selection:
    coupled = coupled_columns(counts, screen=search is None)
    k = min(k, len(counts.table))
    solution = coupled.select(k, None, search)
    possible = solution.bound - coupled.baseline
    certificate = Certificate(
        k=k,
        objective=solution.objective,
        bound=solution.bound,
        baseline=coupled.baseline,
        a_priori=a_priori_objective(coupled, k, solution),
        proven_optimal=solution.bound - solution.objective <= TOLERANCE * abs(possible),
        evaluations=solution.evaluations,
        nodes=solution.nodes,
    )
    support, gain = coupled.listed(solution.take)
    return Selection(support, gain, certificate)
