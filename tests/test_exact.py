"""Branch and bound finds what brute force finds."""

from __future__ import annotations

from functools import partial

import numpy as np
import pytest

from naively.models.bernoulli import bernoulli
from naively.models.model import Limits
from naively.models.multinomial import multinomial
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
