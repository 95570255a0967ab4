"""All sets of columns that meet constraints, by their definition."""

from __future__ import annotations

from dataclasses import replace
from itertools import chain, combinations
from typing import Any

from naively.models.constraints import Constraints


def choices_of(constraints: Constraints, k: int, speaks: Any, n_classes: int) -> list[list[int]]:
    """All sets of columns that meet constraints, by their definition."""
    if constraints.quota == "even" and k < n_classes:
        return []
    if constraints.quota == "even":  # the highest level up to k / C that some choice reaches
        plain = replace(constraints, quota=0)
        choices = choices_of(plain, k, speaks, n_classes)
        spoken = [[sum(speaks[i] == c for i in S) for c in range(n_classes)] for S in choices]
        may = [i for i in range(constraints.n_features) if i not in constraints.excluded]
        there_are = [sum(speaks[i] == c for i in may) for c in range(n_classes)]
        for level in range(k // n_classes, -1, -1):
            met = [
                all(n >= min(level, most) for n, most in zip(each, there_are, strict=True))
                for each in spoken
            ]
            if any(met):
                return [S for S, fine in zip(choices, met, strict=True) if fine]
        return []
    units = constraints.units.tolist()
    members = {u: [i for i in range(len(units)) if units[i] == u] for u in set(units)}
    sizes = range(k + 1) if constraints.costs is not None else [k]
    found = []
    for chosen in chain(*(combinations(sorted(members), size) for size in sizes)):
        columns = sorted(i for u in chosen for i in members[u])
        others = [i for u in members if u not in chosen for i in members[u]]
        if set(constraints.required.tolist()) & set(others):
            continue
        if set(constraints.excluded.tolist()) & set(columns):
            continue
        if (
            constraints.costs is not None
            and constraints.costs[columns].sum() > constraints.budget + 1e-9
        ):
            continue
        spoken = [sum(speaks[i] == c for i in columns) for c in range(n_classes)]
        if constraints.quota and min(spoken) < constraints.quota:
            continue
        found.append(columns)
    return found
