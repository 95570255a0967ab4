"""Which features may be chosen: a record, in terms of columns.

A *unit* is what k counts: a column, or with `groups` all columns of one group, which are chosen
together. A group is required if one of its columns is, and excluded if one of them is. What is
excluded stays in the data: it is pooled, as all that is not chosen.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property
from numbers import Integral, Real
from typing import Any, Literal, Self, TypeAlias

import numpy as np

from naively._nearest import nearest, short
from naively._types import Array, FloatArray, IntArray
from naively.statistics.labels import group_codes

NONE: IntArray = np.empty(0, dtype=np.int64)
ROUNDING = 1e-12  # relative, of sums of costs

Quota: TypeAlias = int | Literal["even"]


@dataclass(frozen=True, eq=False)
class Constraints:
    """What a choice of features has to meet; see `Constraints.checked`."""

    n_features: int
    required: IntArray = field(default_factory=lambda: NONE)  # (r,) columns, ascending
    excluded: IntArray = field(default_factory=lambda: NONE)  # (e,) columns, ascending
    groups: IntArray | None = None  # (m,) unit of each column, numbered by their first columns
    costs: FloatArray | None = None  # (m,) of each column; with a budget
    budget: float = np.inf  # of the columns chosen; what k says is then the most of them
    # So many units, at least, that speak for each class; "even": k over the classes, rounded down.
    quota: Quota = 0

    @classmethod
    def checked(
        cls,
        n_features: int,
        names: Sequence[str] | None = None,
        *,
        required: Any = None,
        excluded: Any = None,
        groups: Any = None,
        costs: Any = None,
        budget: float | None = None,
        quota: Quota | None = None,
    ) -> Self | None:
        """Return constraints as a user gives them; None where there are none.

        Parameters
        ----------
        n_features : int
            Number of columns m.
        names : sequence of str, optional
            Their names, if they have any.
        required, excluded : sequence of str or int, or bool (m,)
            Names or indices of columns, or a mask of all of them.
        groups : (m,)
            Label of the group of each column.
        costs : (m,)
            Cost of each column, >= 0; with a budget.
        budget : float
            Of the columns chosen.
        quota : int or "even"
            How many units, at least, speak for each class; "even": as many as k has for each.

        Raises
        ------
        ValueError
            If one cannot be used, or if no choice can meet them.
        """
        inside = _columns("required", required, n_features, names)
        outside = _columns("excluded", excluded, n_features, names)
        of_column = None if groups is None else _numbered(groups, n_features)
        if (costs is None) != (budget is None):
            given, other = ("costs", "budget") if budget is None else ("budget", "costs")
            raise ValueError(f"`{given}` has no effect without `{other}`; give both or neither.")
        for_each = _checked_quota(quota)
        if for_each and of_column is not None:
            raise ValueError(
                "`quota` counts features that speak for a class, and a group may speak for "
                "several; leave out `quota` or `groups`."
            )
        if for_each == "even" and costs is not None:
            raise ValueError(
                "`quota`='even' shares k among the classes, and a `budget` leaves open how many "
                "features there are; give `quota` a number, or leave one out."
            )
        found = cls(
            n_features=n_features,
            required=inside,
            excluded=outside,
            groups=of_column,
            costs=None if costs is None else _checked_costs(costs, n_features),
            budget=np.inf if budget is None else _checked_budget(budget),
            quota=for_each,
        )
        found._check_possible(names)
        nothing = not (len(inside) or len(outside) or found.quota)
        return None if nothing and groups is None and costs is None else found

    def without(self, column: int, names: Sequence[str] | None = None) -> Self:
        """Return the constraints with the column of the exposure never chosen.

        Raises
        ------
        ValueError
            If no choice can meet them.
        """
        if self.units[column] in self.units_of(self.required):
            what = f"column {column}" if names is None else f"`{short(names[column])}`"
            group = "" if self.groups is None else "the group of "
            raise ValueError(
                f"`required` must not have {group}{what}, which is the `exposure` of the rows and "
                "no feature; leave it out."
            )
        found = replace(self, excluded=np.union1d(self.excluded, [column]))
        found._check_possible(names)
        return found

    def _check_possible(self, names: Sequence[str] | None) -> None:
        inside, outside = self.units_of(self.required), self.units_of(self.excluded)
        both = np.intersect1d(inside, outside, assume_unique=True)
        if len(both):
            column = int(np.flatnonzero(self.units == both[0])[0])
            what = f"column {column}" if names is None else f"`{short(names[column])}`"
            group = "" if self.groups is None else "the group of "
            raise ValueError(
                f"`required` and `excluded` must not overlap; both have {group}{what}: leave it "
                "out of one of them."
            )
        if self.n_choices == 0 and self.n_features:
            raise ValueError("`excluded` must leave a feature to choose; got all of them.")
        least = float(self.unit_costs[self.units_of(self.required)].sum())
        if least > self.budget + self.slack:
            raise ValueError(
                f"`budget` must be at least the cost of the `required` features, {least:g}; got "
                f"{self.budget:g}."
            )

    @property
    def asked(self) -> tuple[str, ...]:
        """Names of the parameters that say anything."""
        given = {
            "required": len(self.required),
            "excluded": len(self.excluded),
            "groups": self.groups is not None,
            "costs": self.costs is not None,
            "budget": self.costs is not None,
            "quota": self.quota,
        }
        return tuple(name for name, holds in given.items() if holds)

    @cached_property
    def units(self) -> IntArray:
        """Unit of each column, (m,)."""
        return np.arange(self.n_features) if self.groups is None else self.groups

    @property
    def n_units(self) -> int:
        """How many units there are."""
        return self.n_features if self.groups is None else int(self.groups.max(initial=-1)) + 1

    @cached_property
    def unit_costs(self) -> FloatArray:
        """Cost of each unit, that of its columns: (u,)."""
        if self.costs is None:
            return np.zeros(self.n_units)
        return (
            self.costs
            if self.groups is None
            else np.bincount(self.units, self.costs).astype(np.float64)
        )

    @property
    def slack(self) -> float:
        """By how much rounding may lift a sum of costs above the budget."""
        return ROUNDING * self.budget if np.isfinite(self.budget) else 0.0

    def units_of(self, columns: IntArray) -> IntArray:
        """Units that some columns are of, ascending."""
        return columns if self.groups is None else np.unique(self.units[columns])

    def columns_of(self, units: IntArray) -> IntArray:
        """Columns of some units, ascending."""
        if self.groups is None:
            return np.sort(units)
        chosen = np.zeros(self.n_units, dtype=np.bool_)
        chosen[units] = True
        return np.flatnonzero(chosen[self.units])

    @cached_property
    def free(self) -> IntArray:
        """Units that may be chosen or not, ascending."""
        settled = np.zeros(self.n_units, dtype=np.bool_)
        settled[self.units_of(self.required)] = True
        settled[self.units_of(self.excluded)] = True
        return np.flatnonzero(~settled)

    @property
    def least(self) -> int:
        """Fewest units that can be chosen, quotas aside."""
        return len(self.units_of(self.required))

    @property
    def n_choices(self) -> int:
        """Most units that can be chosen, the budget aside."""
        return self.n_units - len(self.units_of(self.excluded))

    @property
    def counted(self) -> str:
        """What k counts."""
        return "features" if self.groups is None else "groups of features"

    def choice(self, k: int, for_each: str = "") -> str:
        """Say in words what k units are chosen from; `for_each` is what a quota comes to."""
        some = f"{k} {self.counted}"
        if self.costs is not None:
            some = self.counted if k >= self.n_choices else f"{some} or fewer"
            some += f" of a cost of {self.budget:g} at most"
        asked = [
            ("with the required ones", len(self.required)),
            ("without the excluded ones", len(self.excluded)),
            (for_each, for_each),
        ]
        told = [text for text, holds in asked if holds]
        told = [", ".join(told[:-1]), told[-1]] if len(told) > 1 else told
        return " ".join([some, " and ".join(told)]).strip()

    def take(self, columns: IntArray) -> Self:
        """Return the constraints on some columns, ascending.

        Raises
        ------
        ValueError
            If a required column is not among them.
        """
        missing = np.setdiff1d(self.required, columns)
        if len(missing):
            raise ValueError(f"`required` has column {missing[0]}, which is left out of the data.")
        at = np.full(self.n_features, -1, dtype=np.int64)
        at[columns] = np.arange(len(columns))
        excluded = at[self.excluded]
        return type(self)(
            n_features=len(columns),
            required=at[self.required],
            excluded=excluded[excluded >= 0],
            groups=None if self.groups is None else _numbered(self.groups[columns], len(columns)),
            costs=None if self.costs is None else self.costs[columns],
            budget=self.budget,
            quota=self.quota,
        )


def _columns(parameter: str, given: Any, n: int, names: Sequence[str] | None) -> IntArray:
    """Return the columns that names, indices or a mask stand for, ascending and distinct."""
    if given is None:
        return NONE
    if isinstance(given, str) or not isinstance(given, Iterable):
        raise ValueError(
            f"`{parameter}` must be a list of names or indices of columns, or a mask of all of "
            f"them; got {given!r}."
        )
    listed = np.asarray(given if hasattr(given, "shape") else list(given))
    if listed.size == 0:
        return NONE
    if listed.ndim == 1 and listed.dtype.kind == "b":
        if len(listed) != n:
            raise ValueError(
                f"`{parameter}`, as a mask, must have one bool for each of the {n} features; got "
                f"{len(listed)}."
            )
        return np.flatnonzero(listed)
    if listed.ndim == 1 and listed.dtype.kind in "iu":
        outside = listed[(listed < 0) | (listed >= n)]
        if len(outside):
            raise ValueError(
                f"`{parameter}` must hold column indices in [0, {n}) (n_features={n}); got "
                f"{outside[0]}."
            )
        ascending: IntArray = np.sort(listed.astype(np.int64))  # half the time of `unique`
        return np.asarray(ascending[np.append(True, np.diff(ascending) > 0)])
    if listed.ndim == 1 and all(isinstance(each, str) for each in listed.tolist()):
        return _named(parameter, listed, names)
    raise ValueError(
        f"`{parameter}` must be a list of names or indices of columns, or a mask of all of them; "
        f"got {short(repr(given))}."
    )


def _named(parameter: str, listed: Array, names: Sequence[str] | None) -> IntArray:
    if names is None:
        raise ValueError(
            f"`{parameter}` has names, and the columns have none: fit a data frame, or give "
            "indices."
        )
    place = {name: i for i, name in enumerate(names)}
    for each in listed.tolist():
        if each not in place:
            raise ValueError(
                f"`{parameter}` must hold names of features; there is no `{short(each)}`: "
                f"{nearest(each, list(names))}"
            )
    return np.unique([place[each] for each in listed.tolist()]).astype(np.int64)


def _numbered(groups: Any, n: int) -> IntArray:
    """Return the number of the group of each column, counted by their first columns: (m,)."""
    _, first, number = np.unique(
        group_codes(groups, n, "feature"), return_index=True, return_inverse=True
    )
    rank = np.empty(len(first), dtype=np.int64)
    rank[np.argsort(first)] = np.arange(len(first))
    return rank[number]


def _checked_quota(quota: Any) -> Quota:
    if quota is None or quota == "even":
        return quota or 0
    if not isinstance(quota, Integral) or isinstance(quota, bool) or int(quota) < 0:
        raise ValueError(
            f"`quota` must be an int >= 0, of features for each class, or 'even'; got {quota!r}."
        )
    return int(quota)


def _checked_costs(costs: Any, n: int) -> FloatArray:
    try:
        values = np.asarray(costs, dtype=np.float64)
    except (TypeError, ValueError):
        raise ValueError(f"`costs` must be numbers, one for each feature; got {costs!r}.") from None
    if values.shape != (n,):
        raise ValueError(
            f"`costs` must have one number for each of the {n} features; got shape {values.shape}."
        )
    bad = ~(np.isfinite(values) & (values >= 0))
    if bad.any():
        i = int(np.flatnonzero(bad)[0])
        raise ValueError(f"`costs` must be finite and >= 0; got {values[i]} for column {i}.")
    return values


def _checked_budget(budget: Any) -> float:
    if not isinstance(budget, Real) or isinstance(budget, bool) or not 0 <= float(budget) < np.inf:
        raise ValueError(f"`budget` must be a finite number >= 0; got {budget!r}.")
    return float(budget)
