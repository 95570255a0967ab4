"""The sparsity path: objective, bound and support for a whole grid of k.

Everything is computed on groups of equal columns; columns are listed only when asked for. Where
gains add up, one order of the features gives every support. The supports of a coupled family need
not be nested, and are stored as what changes from one k of the grid to the next.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from numbers import Integral
from typing import Any, Protocol, TypeVar

import numpy as np

from naively._kernels.count_groups import first_positions
from naively._kernels.path_visits import class_stays
from naively._notebook import points_shown, table_html
from naively._types import Array, FloatArray, IntArray
from naively.models.family import Coupled, Family, Ordered, Problem, Separable, SeparableCounts
from naively.models.multinomial import class_shares, multinomial_gain
from naively.selection.coupled import CoupledProblem, a_priori_objective, coupled_columns
from naively.selection.groups import Columns, Groups, count_groups
from naively.selection.solve import best_classes, grouped_gains, separate_gains
from naively.selection.top_k import gain_order

S = TypeVar("S")

GRID_POINTS = 100


class Supports(Protocol):
    """Supports for every k, in compact form."""

    @property
    def n_features(self) -> int:
        """Number of columns m."""
        ...

    def at(self, k: int) -> IntArray:
        """Columns of the support of k features, ascending."""
        ...

    def first_grid_position(self, k: IntArray) -> IntArray:
        """Position in the grid k at which each column is in for the first time; len(k): never."""
        ...

    def order(self, k: IntArray) -> IntArray:
        """Columns in the order in which they enter along the grid k."""
        ...

    def a_priori(self, k: IntArray, objective: FloatArray) -> FloatArray:
        """Objective reachable by theory at each k of the grid, given that of the supports: (K,)."""
        ...


@dataclass(frozen=True, slots=True)
class SparsityPath:
    """Selections over a grid of k; values in nats of the training log-likelihood.

    Attributes
    ----------
    k : ndarray of shape (n_points,)
        Numbers of features, ascending.
    objective : ndarray of shape (n_points,)
        Objective of the selection at each k.
    bound : ndarray of shape (n_points,)
        No selection of k features does better.
    limit : ndarray of shape (n_points,) or callable
        The bound, or what computes it when it is asked for.
    gap : ndarray of shape (n_points,)
        How far the objective could still rise, at most.
    baseline : float
        Objective without any feature.
    a_priori : ndarray of shape (n_points,)
        What theory promises at each k; see :class:`Certificate`. Solved when asked for.
    order : ndarray of int
        Features in the order in which they enter; those that never do are left out.
    entry : ndarray of shape (n_features,)
        Smallest k of the grid at which each feature is selected; 0 if never.
    supports : object
        The selections in compact form; read them with `support`.

    See Also
    --------
    sparsity_path : Makes one.
    """

    k: IntArray
    objective: FloatArray
    limit: FloatArray | Callable[[], FloatArray] = field(repr=False)  # (K,) or solved on demand
    baseline: float
    supports: Supports = field(repr=False)  # large

    @property
    def bound(self) -> FloatArray:
        """No selection of k features does better, at each k: (K,)."""
        return self.limit() if callable(self.limit) else self.limit

    @property
    def a_priori(self) -> FloatArray:
        """Objective reachable by theory at each k, see `Certificate`: (K,). Solved on demand."""
        return self.supports.a_priori(self.k, self.objective)

    @property
    def gap(self) -> FloatArray:
        """Nats by which the objective could still rise, at most: (K,)."""
        gap = np.zeros(len(self.k))  # both are infinite where a feature separates perfectly
        np.subtract(self.bound, self.objective, out=gap, where=self.bound > self.objective)
        return gap

    def _repr_html_(self) -> str:
        """Show some points as a table, for notebooks."""
        shown = points_shown(len(self.k))
        rows = [
            (
                f"{self.k[g]:,}",
                f"{self.objective[g] - self.baseline:,.6g}",
                f"{self.bound[g] - self.baseline:,.6g}",
                f"{self.gap[g]:.2g}",
            )
            for g in shown
        ]
        title = f"Path of {len(self.k):,} k over {self.supports.n_features:,} features"
        return f"<p>{title}</p>" + table_html(("k", "gain", "at most", "gap"), rows)

    def support(self, k: int) -> IntArray:
        """Return the columns selected at any k.

        Off the grid, the multinomial model is solved for this k on demand.

        Parameters
        ----------
        k : int
            Number of features, from 0 to n_features.

        Returns
        -------
        columns : ndarray of shape (k,)
            Column indices, ascending.

        Raises
        ------
        ValueError
            If `k` is not such a number.
        """
        return self.supports.at(_checked_size(k, self.supports.n_features))

    def widened(self, k: int) -> IntArray:
        """Return up to one column more for each class, that reach the bound of k.

        Where the best k columns stay below `bound`, the solution of the dual takes parts of some
        columns, no more than there are classes. With all of these the objective is between the
        bound of k and the best objective of as many columns (NFS-long proposition 3.8). Models
        whose gains add up reach their bound with k columns.

        Parameters
        ----------
        k : int
            Number of features, from 0 to n_features.

        Returns
        -------
        columns : ndarray of shape (k,) to (k + n_classes,)
            Column indices, ascending.

        Raises
        ------
        ValueError
            If `k` is not such a number, or the path has a constraint, groups, redundancy or
            pairs of classes: the proposition is about any k columns.

        Examples
        --------
        >>> from naively import SparseMultinomialNB, sparsity_path
        >>> X = [[1, 2, 3, 1, 3], [3, 1, 2, 2, 1]]
        >>> path = sparsity_path(SparseMultinomialNB(alpha=0), X, [0, 1], ks=[3])
        >>> path.support(3), path.widened(3)
        (array([0, 3, 4]), array([0, 1, 3, 4]))
        """
        supports = self.supports
        if isinstance(supports, SteppedSupports):
            return supports.widened(_checked_size(k, supports.n_features))
        if isinstance(supports, ClassedSupports) or (
            isinstance(supports, OrderedSupports) and supports.optimal
        ):
            return self.support(k)
        raise ValueError(
            "`widened` is of paths over any k columns; this one is constrained, or its columns are "
            "chosen in units, one after the other, or for pairs of classes. Use `support`."
        )

    @property
    def entry(self) -> IntArray:
        """Smallest k of the grid at which each feature is in the support, 0 if never: (m,)."""
        return np.append(self.k, 0)[self.supports.first_grid_position(self.k)]

    @property
    def order(self) -> IntArray:
        """Features in the order in which they enter; those that never do are left out."""
        return self.supports.order(self.k)


def _checked_size(k: object, n_features: int) -> int:
    if not isinstance(k, Integral) or not 0 <= int(k) <= n_features:
        raise ValueError(
            f"`k` must be an int in [0, {n_features}] (n_features={n_features}); got {k!r}."
        )
    return int(k)


def path(family: Family[S], statistics: S, ks: Any = None) -> SparsityPath:
    """Solve for a whole grid of k.

    Parameters
    ----------
    family : Family
        The model, with its smoothing bound.
    statistics
        Class statistics of the data.
    ks : (K,) int, optional
        The grid; by default about 100 values from 1 to m, evenly spaced on a log scale.
    """
    return _path(family.problem(statistics), ks)


def _path(problem: Problem, ks: Any) -> SparsityPath:
    if isinstance(problem, Ordered):
        track = _path(problem.plain, checked_grid(ks, len(problem.order)))
        return ordered_path(problem, track, OrderedSupports(problem.order, optimal=False))
    if isinstance(problem, Coupled):
        grid = checked_grid(ks, len(problem.table))
        return coupled_path(coupled_columns(problem), grid)
    if isinstance(problem, SeparableCounts):
        return grouped_path(problem, checked_grid(ks, len(problem.table)))
    gain, baseline = separate_gains(problem)
    grid = checked_grid(ks, len(gain))
    order = gain_order(gain, problem.rounding)
    gained = np.concatenate([[0.0], np.cumsum(gain[order])])[grid]
    return _separable_path(grid, gained, baseline, OrderedSupports(order))


def log_grid(n_features: int, points: int) -> IntArray:
    """About so many numbers of features from 1 to all, evenly spaced on a log scale: (K,)."""
    return np.unique(np.rint(np.geomspace(1, n_features, points)).astype(np.int64))


def checked_grid(ks: Any, n_features: int, least: int = 0) -> IntArray:
    """Return the grid as ascending, distinct numbers of features, `least` or more: (K,)."""
    if ks is None:
        return np.unique(np.maximum(log_grid(n_features, GRID_POINTS), least))
    grid = np.unique(np.asarray(ks))
    if grid.ndim != 1 or len(grid) == 0 or grid.dtype.kind not in "iu":
        raise ValueError(f"`ks` must be a list of ints, the numbers of features; got {ks!r}.")
    if grid[0] < least or grid[-1] > n_features:
        outside = grid[0] if grid[0] < least else grid[-1]
        why = f"n_features={n_features}" if not least else f"{least} are required"
        raise ValueError(f"`ks` must lie in [{least}, {n_features}] ({why}); got {outside}.")
    return grid.astype(np.int64)


# --- gains that add up ------------------------------------------------------------------------


def _separable_path(
    grid: IntArray, gained: FloatArray, baseline: float, supports: Supports
) -> SparsityPath:
    objective = baseline + gained
    return SparsityPath(grid, objective, objective, baseline, supports)


def ordered_path(problem: Ordered, plain: SparsityPath, supports: Supports) -> SparsityPath:
    """Path of an order that nothing was proven of; no k features pass the bound all the same."""
    objective = plain.baseline + _gained_together(problem, plain.k)
    bound = np.maximum(plain.bound, objective)
    return SparsityPath(plain.k, objective, bound, plain.baseline, supports)


def _gained_together(ordered: Ordered, grid: IntArray) -> FloatArray:
    """Nats over no feature that the first k features of an order gain together: (G,)."""
    plain, order = ordered.plain, ordered.order[: grid.max(initial=0)]
    if isinstance(plain, Coupled):
        alpha = np.broadcast_to(plain.alpha, len(plain.table))
        supports = [order[:k] for k in grid.tolist()]
        return np.array([_together(plain.table[at], alpha[at]) for at in supports])
    gain = plain.gain()[order] if isinstance(plain, Separable) else plain.gain(plain.table[order])
    return np.asarray(np.concatenate([[0.0], np.cumsum(gain)])[grid])


def _together(table: Array, alpha: FloatArray) -> float:
    return float(multinomial_gain(table, class_shares(table, alpha), alpha).sum())


def grouped_path(
    problem: SeparableCounts, grid: IntArray, groups: Groups | None = None
) -> SparsityPath:
    """Order the features of a problem of counts by their gains, for every k of a grid."""
    groups = groups or count_groups(problem.table)
    table, gain, baseline = grouped_gains(problem, groups)
    label, _ = best_classes(gain, problem.rounding(table, gain), groups.size, 0)
    order = np.argsort(label, kind="stable")
    taken = np.concatenate([[0], np.cumsum(groups.size[order])])
    gained = np.concatenate([[0.0], np.cumsum(gain[order] * groups.size[order])])
    supports = ClassedSupports(groups.columns, label, groups.size)
    return _separable_path(grid, np.interp(grid, taken, gained), baseline, supports)


@dataclass(frozen=True, slots=True)
class OrderedSupports:
    """The support of k features is the first k of an order."""

    features: IntArray  # (m,) best first
    optimal: bool = True

    @property
    def n_features(self) -> int:
        """See `Supports`."""
        return len(self.features)

    def at(self, k: int) -> IntArray:
        """See `Supports`."""
        return np.sort(self.features[:k])

    def first_grid_position(self, k: IntArray) -> IntArray:
        """See `Supports`."""
        position = np.empty(len(self.features), dtype=np.int64)
        position[self.features] = np.searchsorted(k, np.arange(len(self.features)), side="right")
        return position

    def order(self, k: IntArray) -> IntArray:
        """See `Supports`."""
        return self.features[: k[-1]]

    def a_priori(self, k: IntArray, objective: FloatArray) -> FloatArray:
        """See `Supports`; theory promises nothing of supports that are not optimal."""
        return objective if self.optimal else np.full(len(k), -np.inf)


@dataclass(frozen=True, slots=True)
class ClassedSupports:
    """Groups in classes of tied gains: whole classes, best first, then columns by index."""

    columns: Columns
    label: IntArray  # (d,) class of each group, 0 the best
    size: IntArray  # (d,)

    @property
    def n_features(self) -> int:
        """See `Supports`."""
        return int(self.size.sum())

    def _class_ends(self) -> IntArray:
        return np.cumsum(np.bincount(self.label, weights=self.size).astype(np.int64))

    def at(self, k: int) -> IntArray:
        """See `Supports`."""
        ends = self._class_ends()
        sizes = np.diff(ends, prepend=0)
        return self.columns.take(self.label, np.clip(k - (ends - sizes), 0, sizes))[0]

    def first_grid_position(self, k: IntArray) -> IntArray:
        """See `Supports`."""
        slot, _, enter = self.stays(k)
        return np.append(enter, len(k))[slot]

    def stays(self, k: IntArray) -> tuple[Array, IntArray, IntArray]:
        """Columns that are equal and enter together along the grid k, to stay.

        Returns
        -------
        slot : (m,) int32, which of them each column belongs to; -1: never in
        feature, enter : (U,) lowest column of each slot, and grid position at which it enters
        """
        ends = self._class_ends()
        starts = ends - np.diff(ends, prepend=0)
        # A class may go in at several points of the grid, and each of its groups at any of these.
        points = np.searchsorted(k, ends) - np.searchsorted(k, starts, side="right") + 1
        room = int(points[self.label].sum())
        slot = np.empty(self.n_features, dtype=np.int32)
        feature, enter = np.empty((2, room), dtype=np.int64)
        group = self.columns.labels(np.arange(len(self.size)))
        n = class_stays(group, self.label, starts, k, slot, feature, enter)
        return slot, feature[:n], enter[:n]

    def order(self, k: IntArray) -> IntArray:
        """See `Supports`."""
        return np.argsort(self.columns.labels(self.label), kind="stable")[: k[-1]]

    def a_priori(self, k: IntArray, objective: FloatArray) -> FloatArray:
        """See `Supports`; the supports are optimal."""
        return objective


# --- coupled families -----------------------------------------------------------------------------


def coupled_path(coupled: CoupledProblem, grid: IntArray) -> SparsityPath:
    """Solve a coupled problem for every k of a grid, each from the shares of the one before."""
    solutions, changes = [], []
    before = np.zeros(len(coupled.groups.size), dtype=np.int64)
    start = None
    for k in grid:
        solution = coupled.select(int(k), start, None)
        start = solution.shares
        solutions.append((solution.objective, solution.bound))
        group = np.flatnonzero(solution.take != before)
        changes.append((group, solution.take[group] - before[group]))
        before = solution.take
    supports = SteppedSupports(
        coupled,
        grid,
        np.cumsum([0, *(len(group) for group, _ in changes)]),
        np.concatenate([group for group, _ in changes]),
        np.concatenate([change for _, change in changes]),
    )
    objective, bound = np.array(solutions).T
    return SparsityPath(grid, objective, bound, coupled.baseline, supports)


@dataclass(frozen=True, slots=True)
class SteppedSupports:
    """How many columns of each group are in, as changes from each k of the grid to the next.

    The supports need not be nested: a change may be negative.
    """

    coupled: CoupledProblem
    grid: IntArray  # (K,)
    step: IntArray  # (K + 1,) where the changes of each k start
    group: IntArray  # which group changes
    change: IntArray  # by how many columns

    @property
    def n_features(self) -> int:
        """See `Supports`."""
        return int(self.coupled.groups.size.sum())

    def _take(self, position: int) -> IntArray:
        take = np.zeros(len(self.coupled.groups.size), dtype=np.int64)
        end = self.step[position + 1]
        np.add.at(take, self.group[:end], self.change[:end])
        return take

    def at(self, k: int) -> IntArray:
        """See `Supports`."""
        position = int(np.searchsorted(self.grid, k))
        if position < len(self.grid) and self.grid[position] == k:
            return self.coupled.groups.expand(self._take(position))[0]
        return self.coupled.groups.expand(self.coupled.select(k, None, None).take)[0]

    def widened(self, k: int) -> IntArray:
        """Columns of which the dual for k takes any part, ascending."""
        return self.coupled.groups.expand(self.coupled.widened(k))[0]

    def first_grid_position(self, k: IntArray) -> IntArray:
        """See `Supports`."""
        d = len(self.coupled.groups.size)
        position = np.repeat(np.arange(len(self.grid)), np.diff(self.step))
        order = np.lexsort((position, self.group))
        pointer = np.searchsorted(self.group[order], np.arange(d + 1))
        number = self.coupled.groups.columns.labels(np.arange(d))
        out = np.empty(len(number), dtype=np.int64)
        first_positions(number, pointer, position[order], self.change[order], len(self.grid), out)
        return out

    def order(self, k: IntArray) -> IntArray:
        """See `Supports`."""
        first = self.first_grid_position(k)
        order = np.argsort(first, kind="stable")
        return order[: np.count_nonzero(first < len(k))]

    def a_priori(self, k: IntArray, objective: FloatArray) -> FloatArray:
        """See `Supports`."""
        return np.array([a_priori_objective(self.coupled, int(each)) for each in k])
