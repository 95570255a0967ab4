r"""Sets of columns that may be chosen: so many, within a budget, some for each class.

    max sum_i g_i x_i,   sum x = k (<= k with a budget),   sum_i c_i x_i <= B,   x in {0, 1}
                         sum over the columns of each class >= quota

Without the budget, the best of each class up to its quota and then the best of the rest are the
optimum: exactly so, and the relaxation 0 <= x <= 1 has no larger value. With it, the budget is
priced. For every price p >= 0 the best set for the gains g - p c, plus p B, is an upper bound; the
smallest one is the value of the linear program, and is found as the crossing of two lines (a set
within the budget, and one beyond it) until no set lies above the crossing. A mixture of these two
sets spends the budget exactly and has that value: the fractional optimum.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from functools import cached_property
from typing import final

import numpy as np

from naively._types import BoolArray, FloatArray, IntArray

PRICES = 200  # tried at most; some ten do
ROUNDING = 1e-14  # relative, of sums of gains
FILLINGS = 30  # rounds in which what the budget leaves is spent


def largest(values: FloatArray, n: int) -> BoolArray:
    """Mask of the n largest values, of equal ones the first: O(len)."""
    if n >= len(values):
        return np.ones(len(values), dtype=np.bool_)
    if n <= 0:
        return np.zeros(len(values), dtype=np.bool_)
    threshold = np.partition(values, len(values) - n)[len(values) - n]
    chosen = values > threshold
    chosen[np.flatnonzero(values == threshold)[: n - np.count_nonzero(chosen)]] = True
    return np.asarray(chosen)


@dataclass(frozen=True, slots=True)
class Relaxed:
    """Optimum of the relaxation at some gains."""

    x: FloatArray  # (n,) fractional
    whole: BoolArray  # (n,) a set that may be chosen, optimal at the price
    price: float  # gain that a unit of the budget is worth


@final
@dataclass(frozen=True, eq=False)
class Allowed:
    """The sets that may be chosen among n columns."""

    k: int  # so many, or with costs at most so many
    cost: FloatArray | None = None  # (n,)
    budget: float = np.inf
    slack: float = 0.0  # by which rounding may lift a sum of costs above the budget
    speaks: IntArray | None = None  # (n,) class that each column speaks for
    quota: IntArray | None = None  # (C,) at least so many that speak for each class

    def relaxed(self, gains: FloatArray) -> FloatArray:
        """See `Polytope` of the dual."""
        return self.optimum(gains).x

    def optimum(self, gains: FloatArray) -> Relaxed:
        """Solve the relaxation; the sets allowed must not be none."""
        best = self._best(gains)
        cost = self.cost
        if cost is None or cost[best].sum() <= self.budget + self.slack:
            return Relaxed(best.astype(np.float64), best, 0.0)
        within, beyond = self.cheapest(), best
        for _ in range(PRICES):
            spent, more = cost[within].sum(), cost[beyond].sum()
            inside, outside = gains[within].sum(), gains[beyond].sum()
            price = max((outside - inside) / (more - spent), 0.0)
            priced = gains - price * cost
            best = self._best(priced)
            rounding = ROUNDING * (np.abs(gains[best]).sum() + price * self.budget)
            if priced[best].sum() <= priced[within].sum() + rounding:
                break
            if cost[best].sum() <= self.budget + self.slack:
                within = best
            else:
                beyond = best
        share = max((self.budget - spent) / (more - spent), 0.0)
        return Relaxed(np.where(within, 1.0 - share, 0.0) + share * beyond, within, price)

    def filled(self, gains: FloatArray, found: Relaxed) -> BoolArray:
        """Spend what the whole set of a relaxation leaves of the budget: (n,)."""
        chosen, cost = found.whole.copy(), self.cost
        if cost is None:
            return chosen
        priced, order = gains - found.price * cost, None
        for _ in range(FILLINGS):
            left, room = self.budget + self.slack - cost[chosen].sum(), self.k - int(chosen.sum())
            if order is None:
                order = np.flatnonzero(~chosen & (cost <= left) & (gains > 0))
                order = order[np.argsort(-priced[order], kind="stable")]
            order = order[~chosen[order] & (cost[order] <= left)]
            if room <= 0 or len(order) == 0:
                break
            fitting = np.searchsorted(np.cumsum(cost[order]), left, side="right")
            chosen[order[: max(min(int(fitting), room), 1)]] = True
        return chosen

    def _best(self, gains: FloatArray) -> BoolArray:
        """Best set whatever it costs; with costs, no column that loses but for a quota: (n,)."""
        chosen = np.zeros(len(gains), dtype=np.bool_)
        if self.quota is not None:
            chosen |= self._first_of_classes(-gains)
        rest = ~chosen if self.cost is None else ~chosen & (gains > 0)
        room = max(self.k - int(chosen.sum()), 0)
        if np.count_nonzero(rest) > room:
            columns = np.flatnonzero(rest)
            chosen[columns[largest(gains[columns], room)]] = True
        else:
            chosen |= rest
        return chosen

    @cached_property
    def _classes(self) -> list[IntArray]:
        """Columns that speak for each class."""
        assert self.speaks is not None
        assert self.quota is not None
        order = np.argsort(self.speaks, kind="stable")
        return np.split(order, np.searchsorted(self.speaks[order], np.arange(1, len(self.quota))))

    def _first_of_classes(self, key: FloatArray) -> BoolArray:
        """As many of each class as its quota, those of the smallest key: (n,)."""
        first = np.zeros(len(key), dtype=np.bool_)
        for columns, n in zip(self._classes, self.quota.tolist(), strict=True):  # type: ignore[union-attr]
            first[columns[largest(-key[columns], n)]] = True
        return first

    def cheapest(self) -> BoolArray:
        """Return the set that costs least: (n,)."""
        if self.quota is None or self.speaks is None:
            return np.zeros(0 if self.cost is None else len(self.cost), dtype=np.bool_)
        return self._first_of_classes(
            np.zeros(len(self.speaks)) if self.cost is None else self.cost
        )

    def is_possible(self, n: int) -> bool:
        """Whether any set of the n columns is allowed."""
        if self.k < 0 or (self.cost is None and self.k > n):
            return False
        if self.quota is not None and self.speaks is not None:
            there_are = np.bincount(self.speaks, minlength=len(self.quota))
            if (there_are < self.quota).any() or self.quota.sum() > self.k:
                return False
        if self.cost is None:
            return True
        cheapest = self.cheapest() if self.quota is not None else np.zeros(n, dtype=np.bool_)
        return bool(self.cost[cheapest].sum() <= self.budget + self.slack)

    def without(self, chosen: IntArray, left: IntArray) -> Allowed:
        """Return what remains allowed among the columns `left` once some others are chosen."""
        rest = replace(self, k=self.k - len(chosen))
        if self.cost is not None:
            budget = self.budget - float(self.cost[chosen].sum())
            budget = max(budget, 0.0) if budget >= -self.slack else budget
            rest = replace(rest, cost=self.cost[left], budget=budget)
        if self.quota is not None and self.speaks is not None:
            had = np.bincount(self.speaks[chosen], minlength=len(self.quota))
            quota = np.maximum(self.quota - had, 0)
            rest = replace(rest, speaks=self.speaks[left], quota=quota)
        return rest

    def settled(
        self, gains: FloatArray, found: Relaxed, slack: float
    ) -> tuple[BoolArray, BoolArray]:
        """Columns that every set better by less than `slack` than the relaxation takes, or leaves.

        Exchanging columns changes the bound at the price by the difference of their priced gains.
        """
        priced = gains if self.cost is None else gains - found.price * self.cost
        inside, outside = found.whole, ~found.whole
        last = priced[inside].min(initial=np.inf)
        following = priced[outside].max(initial=-np.inf)
        if self.cost is not None:  # a place may stay empty
            following = max(following, 0.0)
            last = last if inside.sum() == self.k else min(last, 0.0)
        return inside & (priced - following > slack), outside & (last - priced > slack)
