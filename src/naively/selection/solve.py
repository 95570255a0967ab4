"""The one entry: statistics and k in, the selected features and their certificate out."""

from __future__ import annotations

from typing import TypeVar

import numpy as np

from naively._types import Array, BoolArray, FloatArray, IntArray
from naively.models.family import Coupled, Family, Ordered, Separable, SeparableCounts
from naively.models.model import Limits
from naively.selection.certificate import Certificate, Selection, finite_baseline, refuse_huge
from naively.selection.coupled import CoupledProblem, a_priori_objective, coupled_columns
from naively.selection.exact import TOLERANCE
from naively.selection.groups import Groups, count_groups
from naively.selection.top_k import tie_class, tied_interval, top_k

S = TypeVar("S")

NO_SEARCH = Limits()


def solve(family: Family[S], statistics: S, k: int, limits: Limits = NO_SEARCH) -> Selection:
    """Select the k features that raise the training likelihood most.

    Parameters
    ----------
    family : Family
        The model, with its smoothing bound.
    statistics
        Class statistics of the data.
    k : int
        Number of features, >= 0; all of them if there are fewer.
    limits : Limits
        Whether to close what gap is left by branch and bound (coupled problems; the others are
        exact), and how far; when a limit is reached, the best found so far is returned.
    """
    problem = family.problem(statistics)
    if isinstance(problem, Ordered):
        return first_in_order(problem, k)
    if isinstance(problem, Coupled):
        return _solve_coupled(problem, k, limits)
    if isinstance(problem, SeparableCounts):
        return optimal(family, *best_counts(problem, k))
    return optimal(family, *_best(problem, k))


def first_in_order(problem: Ordered, k: int) -> Selection:
    """Return the first k features of an order; nothing is proven of them."""
    order, added = problem.order[:k], problem.added[:k]
    more = np.zeros(len(order) - len(added))  # of those that were not put in order
    displaced = [*problem.displaced, *[np.empty(0, dtype=np.int64)] * len(more)]
    places = np.argsort(order)
    return Selection(
        support=order[places],
        gain=np.concatenate([added, more])[places],
        certificate=None,
        displaced=tuple(displaced[t] for t in places.tolist()),
    )


def optimal(family: Family[S], support: IntArray, gain: FloatArray, baseline: float) -> Selection:
    """Return the selection of a family whose gains add up: the k largest are the optimum."""
    with np.errstate(over="ignore"):
        objective = baseline + float(np.sum(gain))
    if not np.isfinite(objective) and np.isfinite(gain).all():
        refuse_huge(family.objective)
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


def _best(problem: Separable, k: int) -> tuple[IntArray, FloatArray, float]:
    """Columns of the k largest gains, these gains, and the baseline."""
    gain, baseline = separate_gains(problem)
    support = top_k(gain, k, problem.rounding)
    return support, gain[support], baseline


def tied_with_last(
    problem: Separable | SeparableCounts, gain: FloatArray, support: IntArray
) -> BoolArray:
    """Columns (m,) whose gains tie with the smallest of a support, which has one at least."""

    def rounding(columns: IntArray, some: FloatArray) -> FloatArray:
        if isinstance(problem, Separable):
            return problem.rounding(columns, some)
        return problem.rounding(problem.table[columns], some)

    low, high = tied_interval(gain, float(gain[support].min()), rounding)
    return np.asarray((gain >= low) & (gain <= high))


def separate_gains(problem: Separable) -> tuple[FloatArray, float]:
    """Return the gain of each column (m,), and the baseline; ValueError if they are no numbers."""
    with np.errstate(over="ignore", invalid="ignore"):  # what comes of it is refused
        gain, baseline = problem.gain(), problem.baseline()
    if np.isnan(gain).any():
        refuse_huge("gain of a feature")
    return gain, finite_baseline(baseline)


def grouped_gains(problem: SeparableCounts, groups: Groups) -> tuple[Array, FloatArray, float]:
    """Return counts (d, C) and gains (d,) of groups, and the baseline; ValueError as above."""
    table = groups.dense()
    with np.errstate(over="ignore", invalid="ignore"):
        gain = problem.gain(table)
        baseline = float(np.sum(problem.pooled(table) * groups.size))
    if np.isnan(gain).any():
        refuse_huge("gain of a feature")
    return table, gain, finite_baseline(baseline)


def best_counts(
    problem: SeparableCounts, k: int, groups: Groups | None = None
) -> tuple[IntArray, FloatArray, float]:
    """Columns of the k largest gains, these gains, and the baseline; by groups of equal columns."""
    groups = groups or count_groups(problem.table)
    table, gain, baseline = grouped_gains(problem, groups)
    label, quota = best_classes(gain, problem.rounding(table, gain), groups.size, k)
    support, group = groups.columns.take(label, quota)
    return support, gain[group], baseline


def best_classes(
    gain: FloatArray, rounding: FloatArray, size: IntArray, k: int
) -> tuple[IntArray, IntArray]:
    """Tie classes of the groups, best first, and how many columns to take of each.

    Groups with tied gains form one class: its columns are taken by index, whatever the group.

    Parameters
    ----------
    gain, rounding, size : (d,)
        Gain of each group, by how much rounding may have changed it, and number of columns.
    k : int
        Number of columns to take.

    Returns
    -------
    label : (d,) class of each group
    quota : (number of classes,)
    """
    order = np.argsort(-gain, kind="stable")
    label = np.empty(len(gain), dtype=np.int64)
    label[order] = tie_class(gain[order], rounding[order])
    per_class = np.zeros(int(label.max(initial=-1)) + 1, dtype=np.int64)
    np.add.at(per_class, label, size)
    before = np.cumsum(per_class) - per_class
    return label, np.clip(k - before, 0, per_class)


def _solve_coupled(problem: Coupled, k: int, limits: Limits) -> Selection:
    coupled = coupled_columns(problem, screen=not limits.exact)
    take, certificate = certified(coupled, min(k, len(problem.table)), limits)
    support, gain = coupled.listed(take)
    return Selection(support, gain, certificate)


def certified(coupled: CoupledProblem, k: int, limits: Limits) -> tuple[Array, Certificate]:
    """Solve a coupled problem; how many columns of each group, and what is proven about them."""
    solution = coupled.select(k, None, limits)
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
    return solution.take, certificate
