"""Units that are in or out in any case, and the others, which are left to choose from."""

from __future__ import annotations

from bisect import bisect_right
from dataclasses import dataclass
from functools import cached_property
from typing import Self, final

import numpy as np

from naively._types import Array, BoolArray, FloatArray, IntArray
from naively.models.constraints import NONE, Constraints
from naively.models.model import Model, S
from naively.selection.groups import equal_rows, first_of, lowest, others_at
from naively.selection.path import Supports
from naively.selection.polytope import Allowed


def constraints_of(model: Model[S], statistics: S) -> Constraints:
    """Return the constraints of a model, or none.

    Raises
    ------
    ValueError
        If they are on other features than those of the statistics.
    """
    constraints = model.constraints or Constraints(statistics.n_features)
    if constraints.n_features != statistics.n_features:
        raise ValueError(
            f"The constraints are on n_features={constraints.n_features}; the statistics have "
            f"n_features={statistics.n_features}."
        )
    return constraints


@dataclass(frozen=True, slots=True)
class Alike:
    """Units that nothing tells apart, counted and never distinguished."""

    at: IntArray  # (n,) positions among the free units
    label: Array  # (n,) of each
    _first: IntArray  # (d,)
    size: IntArray  # (d,)

    @property
    def first(self) -> IntArray:
        """Position among the free units of the first of each label: (d,)."""
        return self.at[self._first]

    def lowest(self, take: IntArray) -> IntArray:
        """Positions among the free units of the first `take` of each label, ascending."""
        return self.at[lowest(self.label, take)]


def _cheapest(key: Array, cost: FloatArray, size: IntArray, n: int) -> BoolArray:
    """Which of some labels are among the n cheapest of their key: (d,)."""
    order = np.lexsort((cost, key))
    before = np.cumsum(size[order]) - size[order]
    new = np.diff(key[order], prepend=-1) != 0
    before -= np.maximum.accumulate(np.where(new, before, 0))
    enough = np.empty(len(key), dtype=np.bool_)
    enough[order] = before < n
    return enough


@dataclass(frozen=True, eq=False)
class Task:
    """Constraints, and what they leave to choose."""

    constraints: Constraints
    speaks: IntArray | None  # (u,) class that each unit speaks for, with a quota; (0,) by groups
    n_classes: int  # C, where there is a quota

    @classmethod
    def plain(cls, constraints: Constraints) -> Self:
        """Return what constraints without a quota leave to choose."""
        return cls(constraints, None, 0)

    @cached_property
    def free(self) -> IntArray:
        """Units to choose from: what could still be paid, if there is a budget."""
        free = self.constraints.free
        if self.constraints.costs is None:
            return free
        return free[self.constraints.unit_costs[free] <= self._left + self.constraints.slack]

    @property
    def n_free(self) -> int:
        """Number of units to choose from."""
        if self.constraints.costs is not None:
            return len(self.free)
        return self.constraints.n_choices - len(self.required)

    @cached_property
    def settled(self) -> IntArray:
        """Units that are in or out in any case, ascending."""
        excluded = self.constraints.units_of(self.constraints.excluded)
        return np.sort(np.concatenate([self.required, excluded]))

    def units_at(self, positions: IntArray) -> IntArray:
        """Units at some positions among those to choose from."""
        if self.constraints.costs is not None:
            return self.free[positions]
        return others_at(self.settled, positions)  # not one number for each unit there is

    @cached_property
    def required(self) -> IntArray:
        """Units that are in."""
        return self.constraints.units_of(self.constraints.required)

    @property
    def least(self) -> int:
        """Fewest units that meet the constraints."""
        if self.constraints.quota == "even":  # of less than one feature a class it asks nothing
            return max(len(self.required), self.n_classes)
        return len(self.required) + int(self._quota_at(0).sum())

    @cached_property
    def has(self) -> IntArray:
        """How many required units speak for each class: (C,)."""
        assert self.speaks is not None
        return np.bincount(self.speaks[self.required], minlength=self.n_classes)

    @cached_property
    def there_are(self) -> IntArray:
        """How many units that may be chosen speak for each class, beside the required: (C,)."""
        assert self.speaks is not None
        return np.bincount(self.speaks[self.constraints.free], minlength=self.n_classes)

    def level(self, k: int) -> int:
        """How many of k units speak for each class, or all there are of it.

        An even quota is k over the classes, or as near to that as the required units leave it.
        """
        if self.constraints.quota != "even":
            return self.constraints.quota

        def needed(level: int) -> int:
            of_class = np.minimum(level, self.has + self.there_are)
            return int(np.maximum(of_class, self.has).sum())

        return bisect_right(range(k // self.n_classes + 1), k, key=needed) - 1

    def quota(self, n: int) -> IntArray:
        """How many of n free units are of each class, at least: (C,); (0,) without a quota."""
        return self._quota_at(len(self.required) + n)

    def _quota_at(self, k: int) -> IntArray:
        if self.speaks is None:
            return NONE
        return np.clip(self.level(k) - self.has, 0, self.there_are)

    def choice(self, k: int) -> str:
        """Say in words what k units are chosen from."""
        level, for_each = 0 if self.speaks is None else self.level(k), ""
        if level:
            few = bool((self.has + self.there_are < level).any())
            for_each = f"with {level} or more for each class" + " that has so many" * few
        return self.constraints.choice(k, for_each)

    @cached_property
    def _left(self) -> float:
        """What the required units leave of the budget."""
        spent = float(self.constraints.unit_costs[self.required].sum())
        return self.constraints.budget - spent

    def to_choose(self, k: int) -> int:
        """How many of the free units k leaves to choose.

        Raises
        ------
        ValueError
            If k is less than what is required.
        """
        if k < self.least:
            even = self.constraints.quota == "even"
            needs = self.n_classes if even else self.least - len(self.required)
            each = ", one for each class" * even
            asked = [
                (f"{len(self.required)} are required", len(self.required)),
                (f"`quota` needs {needs}{each}", self.speaks is not None),
            ]
            why = " and ".join(text for text, holds in asked if holds)
            raise ValueError(f"`k` must be at least {self.least}: {why}; got {k}.")
        return min(k - len(self.required), self.n_free)

    def alike(self, key: Array, n: int) -> Alike:
        """Put free units together that have equal keys, whole numbers, and equal costs and classes.

        Of units that differ by what they cost alone, the n cheapest will do.
        """
        at = np.arange(len(key))
        if self.speaks is not None:
            key = key * self.n_classes + self.speaks[self.free]
        if self.constraints.costs is not None:
            costs = self.constraints.unit_costs[self.free]
            pairs = np.column_stack([key, costs.view(np.int64)])
            number, first = equal_rows(pairs, np.array([1.0, 2.0**-40]))
            enough = _cheapest(key[first], costs[first], np.bincount(number, minlength=1), n)
            at = np.flatnonzero(enough[number])
            key = number[at]
        there = np.bincount(key, minlength=1) > 0
        label = (np.cumsum(there) - 1)[key]
        size = np.bincount(label, minlength=np.count_nonzero(there))
        return Alike(at, label, first_of(label, len(size)), size)

    @property
    def is_shaped(self) -> bool:
        """Whether not any number of the free units may be chosen together."""
        return self.constraints.costs is not None or self.speaks is not None

    def allowed(self, n: int, alike: Alike | None = None) -> Allowed:
        """Return which sets of n free units are allowed, as numbers of those that are alike.

        Each unit is a number of its own if none are known to be.
        """
        some = self.free if alike is None else self.free[alike.first]
        paid = self.constraints.costs is not None
        allowed = Allowed(
            k=n,
            size=np.ones(len(some), dtype=np.int64) if alike is None else alike.size,
            cost=self.constraints.unit_costs[some] if paid else None,
            budget=max(self._left, 0.0),
            slack=self.constraints.slack,
            speaks=None if self.speaks is None else self.speaks[some],
            quota=None if self.speaks is None else self.quota(n),
        )
        if not allowed.is_possible():
            raise ValueError(
                "`budget` must be enough for the `required` features and the `quota` of each "
                f"class; got {self.constraints.budget:g}."
            )
        return allowed

    def support(self, units: IntArray) -> IntArray:
        """Columns of free units and of the required ones, ascending."""
        return self.constraints.columns_of(np.concatenate([self.required, units]))


@final
@dataclass(frozen=True, slots=True)
class UnitSupports:
    """Supports over the free units, with the columns behind them and those that are required."""

    inner: Supports  # over the free units, for k less what is required
    task: Task

    @property
    def n_features(self) -> int:
        """See `Supports`."""
        return self.task.constraints.n_features

    def at(self, k: int) -> IntArray:
        """See `Supports`."""
        return self.task.support(self.task.units_at(self.inner.at(self.task.to_choose(k))))

    def first_grid_position(self, k: IntArray) -> IntArray:
        """See `Supports`."""
        first = np.full(self.task.constraints.n_units, len(k))
        first[self.task.required] = 0
        inner = k - len(self.task.required)
        first[self.task.free] = self.inner.first_grid_position(inner)
        return np.asarray(first[self.task.constraints.units])

    def order(self, k: IntArray) -> IntArray:
        """See `Supports`."""
        inner = self.task.free[self.inner.order(k - len(self.task.required))]
        units = np.concatenate([self.task.required, inner])
        rank = np.full(self.task.constraints.n_units, len(units))
        rank[units] = np.arange(len(units))
        of_column = rank[self.task.constraints.units]
        return np.argsort(of_column, kind="stable")[: np.count_nonzero(of_column < len(units))]

    def a_priori(self, k: IntArray, objective: FloatArray) -> FloatArray:
        """See `Supports`."""
        return self.inner.a_priori(k - len(self.task.required), objective)
