r"""Sets of columns that may be chosen: so many, within a budget, some for each class.

    max sum_i g_i x_i,   sum x = k (<= k with a budget),   sum_i c_i x_i <= B,   x_i in 0..s_i
                         sum over the columns of each class >= quota

Column i stands for s_i equal ones. Without the budget, the best of each class up to its quota and
then the best of the rest are the optimum: exactly so, and the relaxation 0 <= x <= s has no larger
value. With it, the budget is priced. For every price p >= 0 the best set for the gains g - p c,
plus p B, is an upper bound; the smallest one is the value of the linear program, and is found as
the crossing of two lines (a set within the budget, and one beyond it) until no set lies above the
crossing. A mixture of these two sets spends the budget exactly and has that value: the fractional
optimum.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from functools import cached_property
from typing import final

import numpy as np

from naively._kernels.weighted_top import take_largest
from naively._types import BoolArray, FloatArray, IntArray

PRICES = 200  # tried at most; some ten do
ROUNDING = 1e-14  # relative, of sums of gains
FILLINGS = 30  # rounds in which what the budget leaves is spent


def largest(values: FloatArray, size: IntArray, n: int) -> IntArray:
    """How many of each to take for the n largest, of equal ones the first; O(len)."""
    if n >= size.sum():
        return size.copy()
    take = np.zeros(len(size), dtype=np.int64)
    if n > 0:
        take_largest(values, size, n, take)
    return take


@dataclass(frozen=True, slots=True)
class Relaxed:
    """Optimum of the relaxation at some gains."""

    x: FloatArray  # (n,) fractional
    whole: IntArray  # (n,) a set that may be chosen, optimal at the price
    price: float  # gain that a unit of the budget is worth


@final
@dataclass(frozen=True, eq=False)
class Allowed:
    """The sets that may be chosen among n columns."""

    k: int  # so many, or with costs at most so many
    size: IntArray  # (n,) how many are equal to each
    cost: FloatArray | None = None  # (n,)
    budget: float = np.inf
    slack: float = 0.0  # by which rounding may lift a sum of costs above the budget
    speaks: IntArray | None = None  # (n,) class that each column speaks for
    quota: IntArray | None = None  # (C,) at least so many that speak for each class

    def relaxed(self, gains: FloatArray) -> FloatArray:
        """See `Polytope` of the dual."""
        return self.optimum(gains).x

    def spent(self, take: IntArray) -> float:
        """Cost of a set; 0 if there are none."""
        return 0.0 if self.cost is None else float((self.cost * take).sum())

    def optimum(self, gains: FloatArray) -> Relaxed:
        """Solve the relaxation; the sets allowed must not be none."""
        beyond, cost = self._best(gains), self.cost
        more = self.spent(beyond)
        if cost is None or more <= self.budget + self.slack:
            return Relaxed(beyond.astype(np.float64), beyond, 0.0)
        within = self.cheapest()
        spent, inside, outside = self.spent(within), (gains * within).sum(), (gains * beyond).sum()
        for _ in range(PRICES):
            price = max((outside - inside) / (more - spent), 0.0)
            best = self._best(gains - price * cost)
            paid, gained = self.spent(best), (gains * best).sum()
            rounding = ROUNDING * (abs(gained) + price * self.budget)
            if gained - price * paid <= inside - price * spent + rounding:
                break
            if paid <= self.budget + self.slack:
                within, spent, inside = best, paid, gained
            else:
                beyond, more, outside = best, paid, gained
        share = max((self.budget - spent) / (more - spent), 0.0)
        return Relaxed((1.0 - share) * within + share * beyond, within, price)

    def filled(self, gains: FloatArray, found: Relaxed) -> IntArray:
        """Spend what the whole set of a relaxation leaves of the budget: (n,)."""
        chosen, cost = found.whole.copy(), self.cost
        if cost is None:
            return chosen
        order = np.flatnonzero((chosen < self.size) & (gains > 0))
        order = order[np.argsort(-(gains - found.price * cost)[order], kind="stable")]
        for _ in range(FILLINGS):
            left, room = self.budget + self.slack - self.spent(chosen), self.k - int(chosen.sum())
            order = order[(chosen[order] < self.size[order]) & (cost[order] <= left)]
            if room <= 0 or len(order) == 0:
                break
            there_are, each = (self.size - chosen)[order], cost[order]
            left_before = left - (np.cumsum(there_are * each) - there_are * each)
            fitting = np.where(left_before >= 0, there_are, 0).astype(np.float64)
            np.divide(left_before, each, out=fitting, where=each > 0)
            room_before = room - (np.cumsum(there_are) - there_are)
            fitting = np.minimum(np.floor(fitting), np.minimum(there_are, room_before))
            chosen[order] += np.maximum(fitting, 0).astype(np.int64)
        return chosen

    def _best(self, gains: FloatArray) -> IntArray:
        """Best set whatever it costs; with costs, no column that loses but for a quota: (n,)."""
        chosen = np.zeros(len(gains), dtype=np.int64)
        if self.quota is not None:
            chosen = self._first_of_classes(-gains)
        left = self.size - chosen
        if self.cost is not None:
            left[gains <= 0] = 0
        return chosen + largest(gains, left, self.k - int(chosen.sum()))

    @cached_property
    def _classes(self) -> list[IntArray]:
        """Columns that speak for each class."""
        assert self.speaks is not None
        assert self.quota is not None
        order = np.argsort(self.speaks, kind="stable")
        return np.split(order, np.searchsorted(self.speaks[order], np.arange(1, len(self.quota))))

    def _first_of_classes(self, key: FloatArray) -> IntArray:
        """As many of each class as its quota, those of the smallest key: (n,)."""
        first = np.zeros(len(key), dtype=np.int64)
        for columns, n in zip(self._classes, self.quota.tolist(), strict=True):  # type: ignore[union-attr]
            first[columns] = largest(-key[columns], self.size[columns], n)
        return first

    def cheapest(self) -> IntArray:
        """Return the set that costs least: (n,)."""
        if self.quota is None:
            return np.zeros(len(self.size), dtype=np.int64)
        return self._first_of_classes(np.zeros(len(self.size)) if self.cost is None else self.cost)

    def is_possible(self) -> bool:
        """Whether any set is allowed."""
        if self.k < 0 or (self.cost is None and self.k > self.size.sum()):
            return False
        if self.quota is not None and self.speaks is not None:
            there_are = np.bincount(self.speaks, self.size, len(self.quota))
            if (there_are < self.quota).any() or self.quota.sum() > self.k:
                return False
        return self.spent(self.cheapest()) <= self.budget + self.slack

    def without(self, low: IntArray, left: IntArray, size: IntArray) -> Allowed:
        """Return what remains allowed among `size` of the columns `left` if `low` are chosen."""
        rest = replace(self, k=self.k - int(low.sum()), size=size)
        if self.cost is not None:
            budget = self.budget - self.spent(low)
            budget = max(budget, 0.0) if budget >= -self.slack else budget
            rest = replace(rest, cost=self.cost[left], budget=budget)
        if self.quota is not None and self.speaks is not None:
            had = np.bincount(self.speaks, low, len(self.quota)).astype(np.int64)
            quota = np.maximum(self.quota - had, 0)
            rest = replace(rest, speaks=self.speaks[left], quota=quota)
        return rest

    def over(self, columns: IntArray) -> Allowed:
        """Return the sets that are allowed of some columns alone."""
        return self.without(np.zeros_like(self.size), columns, self.size[columns])

    def may_exchange(self, take: IntArray, out: IntArray, into: IntArray) -> BoolArray:
        """Whether a set stays allowed with one column out and one in, -1 for none: (out, into)."""
        leaves, enters = (out >= 0)[:, None], (into >= 0)[None]
        size = take.sum() - leaves + enters
        fine = size == self.k if self.cost is None else size <= self.k
        if self.cost is not None:
            cost = self.spent(take) - np.where(leaves, self.cost[out][:, None], 0.0)
            cost = cost + np.where(enters, self.cost[into][None], 0.0)
            fine &= cost <= self.budget + self.slack
        if self.quota is not None and self.speaks is not None:
            has = np.bincount(self.speaks, take, len(self.quota))
            of_out, of_in = self.speaks[out][:, None], self.speaks[into][None]
            spare = has[of_out] > self.quota[of_out]
            fine &= ~leaves | spare | (enters & (of_out == of_in))
        return np.asarray(fine)

    def may_enter(self, take: IntArray) -> BoolArray:
        """Which columns a set can grow by, one at a time, to one that is allowed: (n,)."""
        may, left = take < self.size, self.k - int(take.sum())
        extra = np.zeros(len(take)) if self.cost is None else self.cost
        spent = self.spent(take)
        if self.quota is not None and self.speaks is not None:
            lacks = np.maximum(self.quota - np.bincount(self.speaks, take, len(self.quota)), 0)
            of_lacking = lacks[self.speaks] > 0
            if left == lacks.sum():
                may = may & of_lacking
            if self.cost is not None:  # the cheapest that the quotas still need are paid for
                highest = np.zeros(len(lacks))
                for c in np.flatnonzero(lacks).tolist():
                    columns = self._classes[c]
                    some = self.cost[columns[take[columns] < self.size[columns]]]
                    cheapest = np.sort(some)[: int(lacks[c])]
                    spent, highest[c] = spent + float(cheapest.sum()), cheapest[-1]
                beyond = np.maximum(extra - highest[self.speaks], 0.0)
                extra = np.where(of_lacking, beyond, extra)
        return np.asarray(may & (left > 0) & (spent + extra <= self.budget + self.slack))

    def settled(
        self, gains: FloatArray, found: Relaxed, slack: float
    ) -> tuple[BoolArray, BoolArray]:
        """Columns that every set better by less than `slack` than the relaxation takes, or leaves.

        Exchanging columns changes the bound at the price by the difference of their priced gains.
        """
        priced = gains if self.cost is None else gains - found.price * self.cost
        some, others = found.whole > 0, found.whole < self.size
        last = priced[some].min(initial=np.inf)
        following = priced[others].max(initial=-np.inf)
        if self.cost is not None:  # a place may stay empty
            following = max(following, 0.0)
            last = last if found.whole.sum() == self.k else min(last, 0.0)
        return ~others & (priced - following > slack), ~some & (last - priced > slack)
