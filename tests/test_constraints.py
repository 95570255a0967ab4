"""Constraints on the features that are chosen: against all choices that meet them."""

from __future__ import annotations

from dataclasses import replace
from itertools import chain, combinations
from math import log
from typing import Any

import numpy as np
import pytest

from naively.models import MODELS
from naively.models.constraints import Constraints
from naively.models.model import Limits, Model
from naively.selection.constrained import speaks_for
from naively.selection.train import model_path, train

EXACT = Limits(exact=True)
M = 9
ADDING = [name for name in MODELS if name not in ("multinomial", "hybrid")]


def _rows(seed: int, n_classes: int, m: int = M) -> tuple[Any, Any]:
    rng = np.random.default_rng(seed)
    y = np.arange(30) % n_classes
    X = rng.poisson(rng.gamma(1.0, 1.0, (n_classes, m))[y])
    X[:, 3] = X[:, 5]  # copies tie
    X[:, 7] = 0
    return X, y


def _kinds_of_constraints(m: int, seed: int) -> dict[str, Constraints | None]:
    costs = np.random.default_rng(seed).integers(1, 6, m).astype(float)
    groups = [0, 1, 1, 2, 3, 4, 4, 4, *range(5, m - 3)]
    asked: dict[str, dict[str, Any]] = {
        "required": {"required": [2, 6]},
        "one required": {"required": [1]},
        "excluded": {"excluded": [0, 4]},
        "both": {"required": [5], "excluded": [0, 3]},
        "groups": {"groups": groups},
        "groups, some settled": {"groups": groups, "required": [5], "excluded": [2]},
        "quota": {"quota": 1},
        "quota and required": {"quota": 1, "required": [0, 3]},
        "budget": {"costs": costs, "budget": 9.0},
        "budget and required": {"costs": costs, "budget": 11.0, "required": [1]},
        "budget and groups": {"costs": costs, "budget": 12.0, "groups": groups},
        "budget and quota": {"costs": costs, "budget": 14.0, "quota": 1, "excluded": [8]},
        "unseen required": {"required": [7]},
    }
    return {name: Constraints.checked(m, **each) for name, each in asked.items()}


NAMES = list(_kinds_of_constraints(M, 0))


def _allowed(constraints: Constraints, k: int, speaks: Any, n_classes: int) -> list[list[int]]:
    """All sets of columns that meet constraints, by their definition."""
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
        if constraints.costs is not None and constraints.costs[columns].sum() > constraints.budget:
            continue
        spoken = [sum(speaks[i] == c for i in columns) for c in range(n_classes)]
        if constraints.quota and min(spoken) < constraints.quota:
            continue
        found.append(columns)
    return found


def _coupled_gain(table: Any, alpha: float, columns: list[int]) -> float:
    """Gain of freeing some columns: the objective of `models.multinomial`, in plain loops."""
    seen = [[float(f) + alpha for f in table[i]] for i in columns if sum(table[i]) > 0]

    def part(f: float) -> float:
        return f * log(f) if f > 0 else 0.0

    totals = [sum(row[c] for row in seen) for c in range(len(table[0]))]
    gain = sum(sum(part(f) for f in row) - part(sum(row)) for row in seen)
    return gain - sum(part(f) for f in totals) + part(sum(totals))


def _gain(model: Model[Any], statistics: Any, columns: list[int], alpha: float) -> float:
    if model.name in ("multinomial", "hybrid"):
        table = getattr(statistics, "words", statistics).table
        return _coupled_gain(table.tolist(), alpha, columns)
    return float(model.family.gain(statistics)[columns].sum())


def _made(name: str, constraints: Constraints | None, **parameters: Any) -> Model[Any]:
    return replace(MODELS[name].build(**parameters), constraints=constraints)


CASES = [(name, {}) for name in ADDING]
CASES += [
    ("multinomial", {"alpha": 1.0}),
    ("multinomial", {"alpha": 0.0}),
    ("hybrid", {"penalty": 0.1}),
]


@pytest.mark.parametrize("asked", NAMES)
@pytest.mark.parametrize("n_classes", [2, 3])
@pytest.mark.parametrize(("name", "parameters"), CASES)
def test_best_of_all_choices(
    name: str, parameters: dict[str, Any], n_classes: int, asked: str
) -> None:
    alpha = parameters.get("alpha", 1.0)
    for seed in range(3):
        constraints = _kinds_of_constraints(M, seed)[asked]
        assert constraints is not None
        model = _made(name, constraints, **parameters)
        statistics = model.gather(*_rows(seed, n_classes))
        speaks = speaks_for(model, statistics)
        for k in range(1, min(7, constraints.n_choices + 1)):
            allowed = _allowed(constraints, k, speaks, n_classes)
            if not allowed:
                with pytest.raises(ValueError, match="must be"):
                    train(model, statistics, k)
                continue
            best = max(_gain(model, statistics, each, alpha) for each in allowed)
            for limits in (EXACT, Limits()):
                selection = train(model, statistics, k, limits).selection
                support, certificate = selection.support.tolist(), selection.certificate
                assert support in allowed
                own = _gain(model, statistics, support, alpha)
                assert certificate.gain == pytest.approx(own, rel=1e-9, abs=1e-9)
                assert selection.gain.sum() == pytest.approx(own, rel=1e-9, abs=1e-9)
                reach = certificate.bound - certificate.baseline
                assert reach >= best - 1e-9 * (1 + abs(best))
                if limits is EXACT or name in ADDING:
                    assert certificate.proven_optimal
                    assert own == pytest.approx(best, rel=1e-9, abs=1e-9)


@pytest.mark.parametrize("asked", NAMES)
@pytest.mark.parametrize("name", [*ADDING, "multinomial", "hybrid"])
def test_path_is_fits(name: str, asked: str) -> None:
    constraints = _kinds_of_constraints(M, 1)[asked]
    model = _made(name, constraints, **({"penalty": 0.1} if name == "hybrid" else {}))
    statistics = model.gather(*_rows(1, 3))
    track = model_path(model, statistics)
    for g, k in enumerate(track.k.tolist()):
        selection = train(model, statistics, k).selection
        if name in ADDING:
            assert track.support(k).tolist() == selection.support.tolist()
        reached = selection.certificate
        assert track.objective[g] == pytest.approx(reached.objective, rel=1e-9)
        assert track.bound[g] == pytest.approx(reached.bound, rel=1e-9)
    first = {i: k for k in reversed(track.k.tolist()) for i in track.support(k).tolist()}
    assert {i: k for i, k in enumerate(track.entry.tolist()) if k} == first
    assert sorted(track.order.tolist()) == sorted(first)
