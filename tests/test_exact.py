"""Branch and bound finds what brute force finds."""

from __future__ import annotations

from dataclasses import replace
from functools import partial
from itertools import combinations

import numpy as np
import pytest

from naively.models.bernoulli import bernoulli
from naively.models.model import Limits
from naively.models.multinomial import multinomial
from naively.selection.coupled import coupled_columns
from naively.selection.dual import coupled_problem, solve_dual
from naively.selection.exact import _Tree, branch_and_bound, tightened
from naively.selection.rounding import round_solution
from naively.selection.solve import solve
from reference_nfs import (
    Counts,
    best_by_brute_force,
    multinomial_log_likelihood,
    seen_columns,
)
from test_dual import KINDS, random_table


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("alpha", [0.0, 1.0])
@pytest.mark.parametrize("n_classes", [2, 3, 4])
def test_exact_is_brute_force(kind, alpha, n_classes):
    rng = np.random.default_rng([n_classes, len(kind), int(alpha)])
    for _ in range(12):
        table = random_table(rng, kind, int(rng.integers(2, 11)), n_classes)
        k = int(rng.integers(0, len(table) + 1))
        selection = solve(multinomial(alpha), Counts(table), k, Limits(exact=True))
        likelihood = partial(multinomial_log_likelihood, table.tolist(), alpha=alpha)
        seen = seen_columns(table.tolist())
        best = best_by_brute_force(likelihood, seen, k)
        slack = 1e-10 * max(1.0, abs(best))
        assert selection.certificate.proven_optimal
        assert selection.certificate.gap == pytest.approx(0, abs=slack)
        assert likelihood(set(selection.support.tolist()) & set(seen)) >= best - slack
        assert selection.certificate.objective == pytest.approx(best, abs=slack)


@pytest.mark.parametrize("n_classes", [2, 3, 4])
def test_sixteen_features(n_classes):
    rng = np.random.default_rng(n_classes)
    table = rng.poisson(4, (16, n_classes))
    likelihood = partial(multinomial_log_likelihood, table.tolist(), alpha=0.0)
    for k in (3, 12):
        objective = solve(
            multinomial(0.0), Counts(table), k, Limits(exact=True)
        ).certificate.objective
        assert objective == pytest.approx(best_by_brute_force(likelihood, range(16), k), rel=1e-12)


def test_exact_closes_the_gap_of_larger_problems():
    rng = np.random.default_rng(0)
    for k in (10, 100):
        counts = Counts(rng.random((3000, 2)))
        loose = solve(multinomial(0.0), counts, k).certificate
        closed = solve(multinomial(0.0), counts, k, Limits(exact=True)).certificate
        assert closed.proven_optimal
        assert closed.nodes < 50
        assert loose.objective - 1e-9 <= closed.objective <= loose.bound + 1e-9


@pytest.mark.parametrize("limits", [{"max_nodes": 3}, {"time_limit": 1e-9}])
def test_limits_return_the_best_found_with_its_gap(limits):
    rng = np.random.default_rng(1)
    counts = Counts(rng.random((200, 20)))
    first = solve(multinomial(0.0), counts, 15).certificate
    limited = solve(multinomial(0.0), counts, 15, Limits(exact=True, **limits)).certificate
    assert not limited.proven_optimal
    assert limited.gap > 0
    assert limited.nodes <= 5
    assert first.objective - 1e-9 <= limited.objective <= limited.bound <= first.bound + 1e-9


def test_exact_does_nothing_where_gains_add_up():
    counts = Counts([[1, 0], [2, 3]], [4, 4])
    one, two = (solve(bernoulli(1.0), counts, 1, Limits(exact=exact)) for exact in (False, True))
    assert one.certificate == two.certificate


@pytest.mark.parametrize("loose", [2e-10, 1e-3])
def test_a_node_whose_bound_stays_open_stays_in_the_bound(loose, monkeypatch):
    """Bounds of nodes that cannot be divided, or were not closed, are never forgotten."""
    solved = []

    def loosely(problem, k, start=None):
        dual = solve_dual(problem, k, start=start)
        solved.append(dual)
        return replace(dual, bound=dual.bound * (1 + loose))

    rng = np.random.default_rng(0)
    problem = coupled_columns(multinomial(0.0).problem(Counts(rng.random((9, 2))))).problem
    root = loosely(problem, 4)
    take, value = round_solution(problem, root)
    monkeypatch.setattr("naively.selection.exact.solve_dual", loosely)
    found = branch_and_bound(problem, 4, root, take, Limits(exact=True))
    best = max(
        problem.value(np.isin(np.arange(9), columns)) for columns in combinations(range(9), 4)
    )
    assert found.value == pytest.approx(best, rel=1e-12)
    # The best selection is a node with this bound, whatever was closed above it.
    assert found.bound >= found.value * (1 + loose / 2)
    assert len(solved) < 200


def test_a_node_that_is_whole_but_not_solved_is_divided(monkeypatch):
    """A dual that gave up far from its bound proves nothing: its children do."""

    def first_gives_up(problem, k, start=None):
        dual = solve_dual(problem, k, start=start)
        first_gives_up.calls += 1
        if first_gives_up.calls > 1:
            return dual
        whole = np.argmax([problem.value(take) for take in dual.vertices])
        only = {"vertices": dual.vertices[[whole]], "weights": np.ones(1)}
        only["vertex_values"] = [dual.vertex_values[whole]]
        return replace(dual, bound=dual.bound * 1.5, **only)

    first_gives_up.calls = 0
    rng = np.random.default_rng(1)
    problem = coupled_columns(multinomial(0.0).problem(Counts(rng.random((9, 2))))).problem
    dual = solve_dual(problem, 4)
    root = replace(dual, bound=dual.bound * 1.5)
    monkeypatch.setattr("naively.selection.exact.solve_dual", first_gives_up)
    found = branch_and_bound(problem, 4, root, dual.vertices[0], Limits(exact=True))
    assert found.bound == found.value
    assert found.nodes > 1


def test_groups_that_tie_to_rounding_stay_open():
    """Gains within rounding of the threshold settle nothing, however small the gap is."""
    gains = np.array([2.0, 1.0 + 1e-13, 1.0, 1.0 - 1e-13, 0.5])
    size = np.ones(5, dtype=np.int64)
    dual = replace(
        solve_dual(coupled_problem(np.eye(5) + 1.0, 0.0, size), 2),
        gains=gains,
        threshold=gains[1],
        bound=3.0,
    )
    for best in (3.0, 3.0 * (1 + 1e-15)):  # a value may exceed its bound by rounding
        low, high = tightened(dual, np.zeros_like(size), size, 2, best)
        assert low.tolist() == [1, 0, 0, 0, 0]
        assert high.tolist() == [1, 1, 1, 1, 0]


def test_a_limit_forgets_no_bound():
    rng = np.random.default_rng(1)
    problem = coupled_columns(multinomial(0.0).problem(Counts(rng.random((40, 8))))).problem
    dual = solve_dual(problem, 7)
    tree = _Tree(problem, 7, 0.0, dual, 0.0)
    tree.closed = 2 * dual.bound
    tree.search(Limits(exact=True, max_nodes=1))
    assert tree.bound == 2 * dual.bound
