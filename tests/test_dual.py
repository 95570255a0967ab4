"""The coupled dual, its rounding, and the certificate they give."""

from __future__ import annotations

from functools import partial

import numpy as np
import pytest
from scipy.optimize import minimize_scalar
from scipy.special import xlogy

from naively._kernels.exchange import across, best_addition, best_exchange, edges
from naively._kernels.hull import best_point, log_shares
from naively._kernels.logarithms import x_log_x
from naively._kernels.weighted_top import take_largest, weighted_threshold
from naively.models.model import Limits
from naively.models.multinomial import multinomial
from naively.selection.coupled import coupled_columns
from naively.selection.dual import coupled_problem, solve_dual
from naively.selection.groups import count_groups
from naively.selection.near import solve_near
from naively.selection.rounding import (
    basic_solution,
    column_counts,
    improved_by_swaps,
    rounded_mixture,
)
from naively.selection.solve import solve
from reference_nfs import (
    Counts,
    best_by_brute_force,
    multinomial_gain_vector,
    multinomial_log_likelihood,
    seen_columns,
)


def test_x_log_x_is_that_of_scipy_in_the_order_of_the_memory():
    x = np.exp(np.random.default_rng(0).normal(0, 20, (30, 4)))
    x[3:7, 1] = 0.0
    for each in (x, np.asfortranarray(x), x[::2, 1:], x.T, x.astype(int), x[:, 0], x[0, 0]):
        found, expected = x_log_x(each), xlogy(each, each)
        np.testing.assert_array_almost_equal_nulp(found, expected, 1)
        assert found.strides == expected.strides
    assert x_log_x([0.0, -0.0, 1.0, np.inf]).tolist() == [0.0, 0.0, 0.0, np.inf]


KINDS = ["counts", "ties", "zeros", "one class", "heavy"]


def random_table(rng, kind, m, n_classes):
    """Adversarial class-count tables."""
    if kind == "counts":
        return rng.poisson(5, (m, n_classes))
    if kind == "ties":
        return rng.integers(0, 2, (m, n_classes))
    if kind == "zeros":
        return rng.poisson(2, (m, n_classes)) * rng.integers(0, 2, (m, 1))
    if kind == "one class":
        only = np.eye(n_classes, dtype=int)[rng.integers(0, n_classes, m)]
        return rng.integers(1, 6, (m, 1)) * only
    return rng.poisson(np.exp(rng.normal(0, 3, (m, n_classes))))


def problem_of(table, alpha=0.0):
    return coupled_columns(multinomial(alpha).problem(Counts(table))).problem


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("alpha", [0.0, 1.0])
@pytest.mark.parametrize("n_classes", [1, 2, 3, 4])
def test_certificate_is_true(kind, alpha, n_classes):
    rng = np.random.default_rng([n_classes, len(kind)])
    for _ in range(8):
        table = random_table(rng, kind, int(rng.integers(1, 9)), n_classes)
        k = int(rng.integers(0, len(table) + 1))
        selection = solve(multinomial(alpha), Counts(table), k)
        likelihood = partial(multinomial_log_likelihood, table.tolist(), alpha=alpha)
        seen = seen_columns(table.tolist())
        certificate = selection.certificate
        best = best_by_brute_force(likelihood, seen, k)
        slack = 1e-10 * max(1.0, abs(best))
        assert len(selection.support) == k
        assert (np.diff(selection.support) > 0).all()
        reached = likelihood(set(selection.support.tolist()) & set(seen))
        assert certificate.objective == pytest.approx(reached, abs=slack)
        assert certificate.baseline == pytest.approx(likelihood(set()), abs=slack)
        assert selection.gain.sum() == pytest.approx(certificate.gain, abs=slack)
        assert certificate.bound >= best - slack
        assert certificate.a_priori <= best + slack  # psi(k - C - 2) <= phi(k)
        if certificate.proven_optimal:
            assert reached >= best - slack


def test_dual_of_two_classes_is_the_minimum_over_the_share():
    rng = np.random.default_rng(0)
    table = rng.poisson(np.exp(rng.normal(0, 1.5, (60, 2)))) + 1
    for k in (1, 3, 10, 40):

        def largest(share, k=k):
            gain = multinomial_gain_vector(table.tolist(), [share, 1 - share])
            return np.sort(gain)[-k:].sum()

        found = minimize_scalar(largest, bounds=(1e-9, 1 - 1e-9), options={"xatol": 1e-12})
        dual = solve_dual(problem_of(table), k)
        assert dual.bound == pytest.approx(found.fun, rel=1e-6)  # the search stops at a kink
        assert dual.bound <= found.fun * (1 + 1e-13)


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("n_classes", [2, 3, 30])
def test_dual_gap_closes(kind, n_classes):
    rng = np.random.default_rng(n_classes)
    table = random_table(rng, kind, 3000, n_classes)
    for alpha in (0.0, 1.0):
        problem = problem_of(table, alpha)
        for k in (2, 30, 700):
            dual = solve_dual(problem, k)
            assert dual.bound - dual.value <= 1e-12 * dual.bound
            assert n_classes > 3 or dual.evaluations < 60
            assert dual.fraction.sum() == pytest.approx(k)
            assert (dual.fraction <= problem.size + 1e-9).all()
            assert problem.value(dual.fraction) == pytest.approx(dual.value)


def test_classes_that_no_support_reaches():
    # Without smoothing the share of such a class is exponentially small, and the gain of its only
    # column enormous as soon as the share is too small.
    table = np.zeros((60, 30), dtype=int)
    table[np.arange(30), np.arange(30)] = 1 + np.arange(30) ** 3
    table[30:, :2] = np.random.default_rng(0).integers(1, 9000, (30, 2))
    for k in (1, 3, 8, 40):
        dual = solve_dual(problem_of(table), k)
        assert dual.bound - dual.value <= 1e-11 * dual.bound


def test_warm_start_gives_the_same_bound():
    rng = np.random.default_rng(1)
    problem = problem_of(random_table(rng, "heavy", 500, 4))
    cold = solve_dual(problem, 50)
    warm = solve_dual(problem, 50, start=solve_dual(problem, 45).shares)
    assert warm.bound == pytest.approx(cold.bound, rel=1e-12)


def test_bound_grows_with_k_and_ends_at_all_features():
    rng = np.random.default_rng(2)
    table = random_table(rng, "counts", 40, 3)
    bounds = [solve_dual(problem_of(table), k).bound for k in range(1, 41)]
    assert (np.diff(bounds) > -1e-10).all()
    everything = solve(multinomial(0.0), Counts(table), 40).certificate
    assert everything.bound == everything.objective
    assert everything.proven_optimal
    assert bounds[-1] == pytest.approx(everything.gain)


@pytest.mark.parametrize("k", [0, 1])
def test_no_feature_and_one_feature_gain_nothing(k):
    selection = solve(multinomial(1.0), Counts([[5, 1], [2, 8], [3, 3]]), k)
    assert len(selection.support) == k
    assert selection.certificate.gain == pytest.approx(0, abs=1e-12)
    assert selection.certificate.proven_optimal


def test_more_features_than_were_seen():
    selection = solve(multinomial(1.0), Counts([[0, 0], [5, 1], [0, 0], [2, 8]]), 3)
    assert selection.support.tolist() == [0, 1, 3]
    assert selection.gain[0] == 0
    assert selection.certificate.proven_optimal
    assert len(solve(multinomial(1.0), Counts([[0, 0], [5, 1]]), 9).support) == 2


def test_the_best_mix_of_tied_pairs():
    # 3 of 6 columns (1, 0) and 3 of 6 columns (0, 1) reproduce the shares 1/2; six of one gain 0.
    table = np.array([[1, 0]] * 6 + [[0, 1]] * 6)
    selection = solve(multinomial(0.0), Counts(table), 6)
    assert selection.support.tolist() == [0, 1, 2, 6, 7, 8]
    assert selection.certificate.gain == pytest.approx(6 * np.log(2))
    assert selection.certificate.proven_optimal


def test_ties_on_a_table_of_rare_words_leave_no_gap():
    rng = np.random.default_rng(3)
    rare = rng.random(300_000) < 0.45
    table = np.column_stack([rare * rng.poisson(0.7, 300_000), rare * rng.poisson(0.7, 300_000)])
    for k in (300, 3000):
        certificate = solve(multinomial(1.0), Counts(table), k).certificate
        assert certificate.relative_gap <= 1e-6


def test_the_set_at_the_kink():
    table = np.array([[3, 2], [2, 1], [1, 1], [8, 3]])
    selection = solve(multinomial(0.0), Counts(table), 2)
    assert selection.support.tolist() == [2, 3]
    assert selection.certificate.gain == pytest.approx(0.192369844035)
    assert selection.certificate.gap == pytest.approx(0.00700314, abs=1e-7)


def test_mixture_is_rounded_to_a_selection():
    rng = np.random.default_rng(4)
    problem = problem_of(random_table(rng, "ties", 400, 3))
    dual = solve_dual(problem, 37)
    x = basic_solution(problem, dual)
    assert np.count_nonzero(np.abs(x - np.rint(x)) > 1e-6) <= 3
    assert x.sum() == pytest.approx(37)
    np.testing.assert_allclose(problem.totals(x) / problem.totals(x).sum(), dual.shares, atol=1e-9)
    take = rounded_mixture(problem, dual)
    assert take.sum() == 37
    assert ((take >= 0) & (take <= problem.size)).all()


def test_swaps_only_improve():
    rng = np.random.default_rng(5)
    problem = problem_of(random_table(rng, "heavy", 80, 3))
    take = np.zeros_like(problem.size)
    take[rng.permutation(len(take))[:9]] = 1
    better = improved_by_swaps(problem, take)
    assert better.sum() == 9
    assert problem.value(better) > problem.value(take)


@pytest.mark.parametrize("seed", range(6))
def test_no_exchange_is_left_that_improves(seed):
    """However small it is beside the gain of columns that are in for certain."""
    rng = np.random.default_rng(seed)
    table = np.concatenate([rng.poisson(4, (12, 3)), [[90_000, 10, 10], [20, 80_000, 5]]])
    problem = problem_of(table)
    take = np.zeros_like(problem.size)
    sums = np.asarray(problem.counts.sum(axis=1)).ravel()
    take[np.argsort(-sums)[:2]] = 1
    take[rng.permutation(np.flatnonzero((take == 0) & (problem.size == 1)))[:4]] = 1
    better = improved_by_swaps(problem, take)
    value = problem.value(better)
    assert 0 < value - problem.value(take) < 1e-3 * value
    for out in np.flatnonzero(better > 0):
        for into in np.flatnonzero(better < problem.size):
            exchanged = better.copy()
            exchanged[out] -= 1
            exchanged[into] += 1
            assert problem.value(exchanged) <= value + 1e-8


@pytest.mark.parametrize("seed", range(6))
def test_the_best_exchange_and_addition_are_those_of_all(seed):
    rng = np.random.default_rng(seed)
    n, n_classes = 12, 2 + seed % 3
    problem = coupled_problem(rng.poisson(9, (n, n_classes)) + 1.0, 0.5, np.ones(n, np.int64))
    take = np.zeros(n, dtype=np.int64)
    take[rng.permutation(n)[:5]] = 1
    out, into = np.flatnonzero(take), np.flatnonzero(take == 0)
    both, totals, unit = np.concatenate([out, into]), problem.totals(take), np.eye(n, dtype=int)
    counts, log_a = column_counts(problem, both), log_shares(totals)
    gains = problem.gains(log_a)
    i, j = best_exchange(gains[both], np.zeros(n), counts, len(out), totals, np.exp(log_a))
    after = np.array([[problem.value(take - unit[a] + unit[b]) for b in into] for a in out])
    assert after[i, j - len(out)] == after.max() > problem.value(take)
    best = best_addition(problem.entropy[into], counts[len(out) :], totals)
    assert best == np.argmax([problem.value(take + unit[b]) for b in into])
    least, most = edges(gains, take, problem.size)
    assert (least, most) == (out[gains[out].argmin()], into[gains[into].argmax()])
    below, above = np.empty((2, n), dtype=np.int64)
    n_below, n_above = across(gains, take, problem.size, gains[least], gains[most], below, above)
    assert below[:n_below].tolist() == out[gains[out] < gains[most]].tolist()
    assert above[:n_above].tolist() == into[gains[into] > gains[least]].tolist()


def test_no_exchange_is_the_best_if_none_improves():
    gains, counts = np.array([1.0, 0.5]), np.array([[1.0, 3.0], [3.0, 1.0]])
    totals = counts[0] + 5.0
    shares = totals / totals.sum()
    assert best_exchange(gains, np.zeros(2), counts, 1, totals, shares) == (-1, -1)
    assert best_exchange(gains[::-1].copy(), np.ones(2), counts, 1, totals, shares) == (-1, -1)


@pytest.mark.parametrize("n_classes", [2, 3])
def test_the_a_priori_bound_is_that_of_so_many_features_less(n_classes):
    """Theorem 3.6: psi(k - C - 2), not more, and no less of it."""
    rng = np.random.default_rng(n_classes)
    table = random_table(rng, "counts", 30, n_classes)
    for k in (n_classes + 2, n_classes + 5, 20):
        less = k - n_classes - 2
        for exact in (False, True):
            certificate = solve(
                multinomial(1.0), Counts(table), k, Limits(exact=exact, max_nodes=3)
            ).certificate
            bound = solve_dual(problem_of(table, 1.0), less).value if less else 0.0
            assert certificate.a_priori - certificate.baseline == pytest.approx(bound, rel=1e-9)
    few = solve(multinomial(1.0), Counts(table), n_classes + 1).certificate
    assert few.a_priori == -np.inf


def test_per_feature_smoothing_equals_the_same_number_everywhere():
    rng = np.random.default_rng(6)
    for n_classes in (2, 3):
        counts = Counts(random_table(rng, "counts", 80, n_classes))
        one, many = (solve(multinomial(a), counts, 11) for a in (0.7, np.full(80, 0.7)))
        np.testing.assert_array_equal(one.support, many.support)
        assert one.certificate.bound == pytest.approx(many.certificate.bound)


def test_whole_numbers_as_floats_select_the_same():
    rng = np.random.default_rng(7)
    for n_classes in (2, 3):
        table = random_table(rng, "zeros", 200, n_classes)
        a, b = (solve(multinomial(1.0), Counts(t), 20) for t in (table, table.astype(float)))
        np.testing.assert_array_equal(a.support, b.support)


@pytest.mark.parametrize("most", [12, 2000])  # of many values a sample brackets the threshold
@pytest.mark.parametrize("kind", ["tied", "spread", "rising", "infinite"])
def test_weighted_top_is_the_top_of_the_repeated_values(kind, most):
    rng = np.random.default_rng(8)
    for case in range(100):
        d = int(rng.integers(most // 6, most))
        values, sizes = rng.integers(0, 5, d) / 3, rng.integers(0, 4, d)
        if sizes.sum() == 0:
            continue
        if kind != "tied":
            values = rng.normal(size=d)
        if kind == "rising":
            values, sizes = np.sort(values), np.where(rng.random(d) < 0.01, 500, sizes)
        if kind == "infinite":
            values[rng.random(d) < 0.3] = -np.inf
        total = sizes.sum()
        k = (1, int(total), max(1, int(total) - 1), int(rng.integers(1, total + 1)))[case % 4]
        repeated = np.sort(np.repeat(values, sizes))[::-1]
        take = np.empty_like(sizes)
        assert take_largest(values, sizes, k, take) == repeated[k - 1]
        assert weighted_threshold(values, sizes, k) == repeated[k - 1]
        assert take.sum() == k
        assert (take <= sizes).all()
        taken = np.sort(np.repeat(values, take))[::-1]
        np.testing.assert_array_equal(taken, repeated[:k])


@pytest.mark.parametrize("n_classes", [2, 5, 40])
def test_best_points_satisfy_the_optimality_conditions(n_classes):
    rng = np.random.default_rng(n_classes)
    for n in (1, 2, 3, 8):
        counts = rng.poisson(rng.gamma(0.5, 200, (n, n_classes))).astype(float) + 1e-9
        values = -counts.sum(axis=1) * rng.random(n)
        weights = best_point(values, counts, 0.0)[0]
        mixed = weights @ counts
        gradient = values - counts @ np.log(mixed / mixed.sum())
        assert weights.sum() == pytest.approx(1)
        assert (weights > 0).all()
        scale = abs(gradient).max() + abs(values).max()
        assert gradient.max() - weights @ gradient <= 1e-13 * scale


def test_groups_do_not_change_the_solution():
    rng = np.random.default_rng(9)
    table = random_table(rng, "ties", 300, 3)
    grouped, single = count_groups(table), count_groups(table, by_column=True)
    bounds = [
        solve_dual(coupled_problem(g.counts, 1.0, g.size), 40).bound for g in (grouped, single)
    ]
    assert bounds[0] == pytest.approx(bounds[1], rel=1e-12)


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("n_classes", [2, 3, 6])
def test_groups_near_the_threshold_have_the_bound_of_all(kind, n_classes, monkeypatch):
    rng = np.random.default_rng([n_classes, len(kind)])
    table = random_table(rng, kind, 400, n_classes)
    coupled = coupled_columns(multinomial(0.5).problem(Counts(table)))
    proven = 0
    for k in (1, 2, 5, 17, 60, 200, 390):
        monkeypatch.setattr("naively.selection.coupled.NEAR_ABOVE", 1 << 14)
        whole = coupled.select(k, None, None)
        monkeypatch.setattr("naively.selection.coupled.NEAR_ABOVE", 0)
        monkeypatch.setattr("naively.selection.near.REACH", 8)
        near = coupled.select(k, whole.shares, None)
        if k < coupled.n_seen:
            proven += solve_near(coupled.problem, k, whole.shares, settled=False) is not None
        assert near.take.sum() == k
        assert near.bound == pytest.approx(whole.bound, rel=1e-12)
        assert near.objective <= near.bound + 1e-9 * abs(near.bound)
        assert near.objective == pytest.approx(whole.objective, rel=1e-4)
    assert proven or len(coupled.groups.size) < 40  # else groups near the threshold are most
