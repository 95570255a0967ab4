"""Bernoulli model: its gains, the optimality of the k largest, its rule."""

from __future__ import annotations

from functools import partial

import numpy as np
import pytest
from hypothesis import given, strategies as st
from scipy.special import logsumexp
from sklearn.naive_bayes import BernoulliNB

from naively.models.bernoulli import bernoulli, bernoulli_gain, feature_log_prob
from naively.models.priors import log_prior
from naively.selection.solve import solve
from reference_nfs import Counts, bernoulli_log_likelihood, best_by_brute_force


def random_problem(rng, n_classes, m):
    rows = rng.integers(1, 9, n_classes)
    return np.minimum(rng.integers(0, 10, (m, n_classes)), rows), rows


@pytest.mark.parametrize("alpha", [0.0, 0.5, 1.0])
@pytest.mark.parametrize("n_classes", [1, 2, 3, 4])
def test_selection_is_the_best_of_all_supports(n_classes, alpha):
    rng = np.random.default_rng(n_classes)
    for _ in range(20):
        table, rows = random_problem(rng, n_classes, int(rng.integers(1, 9)))
        k = int(rng.integers(0, len(table) + 1))
        selection = solve(bernoulli(alpha), Counts(table, rows), k)
        likelihood = partial(bernoulli_log_likelihood, table.tolist(), rows.tolist(), alpha=alpha)
        varying = [i for i, f in enumerate(table) if 0 < f.sum() < rows.sum()]
        best = best_by_brute_force(likelihood, varying, k)
        assert len(selection.support) == k
        assert selection.certificate.objective == pytest.approx(best, rel=1e-12, abs=1e-10)
        assert selection.certificate.bound == selection.certificate.objective
        assert selection.certificate.baseline == pytest.approx(likelihood(set()), rel=1e-12)
        assert likelihood(set(selection.support) & set(varying)) == pytest.approx(best, abs=1e-10)


def test_brute_force_with_twelve_features():
    rng = np.random.default_rng(0)
    table, rows = random_problem(rng, 3, 12)
    likelihood = partial(bernoulli_log_likelihood, table.tolist(), rows.tolist(), alpha=1.0)
    for k in (1, 4, 7):
        objective = solve(bernoulli(1.0), Counts(table, rows), k).certificate.objective
        assert objective == pytest.approx(best_by_brute_force(likelihood, range(12), k), rel=1e-12)


def test_known_gains():
    # By hand: a perfect separator of 3 + 3 rows; 2 log(1/2) - log(1/4) - 3 log(3/4); and the
    # column of one row in four, which scores 11.09 when a term of the likelihood is mistaken.
    assert bernoulli_gain(np.array([[0, 3]]), np.array([3.0, 3.0]))[0] == pytest.approx(
        6 * np.log(2)
    )
    gain = bernoulli_gain(np.array([[2, 2], [0, 0], [1, 0]]), np.array([2.0, 2.0]))
    assert gain == pytest.approx([0, 0, 0.86304622], abs=1e-8)
    gain = bernoulli_gain(np.array([[0, 0], [0, 1]]), np.array([4.0, 4.0]), 1e-10)
    assert gain == pytest.approx([0, 0.76482071], abs=1e-7)


def test_constant_features_gain_nothing_whatever_the_smoothing():
    table = np.array([[0, 0], [1000, 10], [1000, 9]])
    gain = bernoulli_gain(table, np.array([1000.0, 10.0]), 1.0)
    assert (gain[:2] == 0).all()
    assert gain[2] > 0


def test_small_gain_keeps_its_digits():
    # Two classes of n rows, f and f + 1 presences. To second order the gain is
    # n (d theta)^2 / (4 theta (1 - theta)); subtracting two sums of 1e10 would leave no digit.
    n, f = 10**9, 4 * 10**8
    gain = bernoulli_gain(np.array([[f, f + 1]]), np.array([n, n], dtype=float))[0]
    theta = (f + 0.5) / n
    assert gain == pytest.approx((1 / n) ** 2 * n / (4 * theta * (1 - theta)), rel=1e-6)


@given(
    st.lists(st.tuples(st.integers(0, 50), st.integers(0, 50)), min_size=1, max_size=8),
    st.floats(0, 3),
)
def test_gains_are_non_negative_and_do_not_depend_on_the_order_of_classes(columns, alpha):
    table, rows = np.array(columns), np.array([50.0, 60.0])
    gain = bernoulli_gain(table, rows, alpha)
    assert (gain >= 0).all()
    np.testing.assert_allclose(
        gain, bernoulli_gain(table[:, ::-1], rows[::-1], alpha), rtol=1e-12, atol=1e-14
    )


def test_per_feature_smoothing_equals_the_same_number_everywhere():
    rng = np.random.default_rng(1)
    table, rows = random_problem(rng, 3, 40)
    one, many = (solve(bernoulli(a), Counts(table, rows), 7) for a in (0.7, np.full(40, 0.7)))
    np.testing.assert_array_equal(one.support, many.support)
    np.testing.assert_allclose(one.gain, many.gain)
    assert one.certificate.objective == pytest.approx(many.certificate.objective)


def test_rule_of_all_features_is_scikit_learns():
    rng = np.random.default_rng(2)
    X, y = rng.integers(0, 2, (60, 15)), rng.integers(0, 3, 60)
    counts = Counts(np.stack([X[y == c].sum(0) for c in range(3)], axis=1), np.bincount(y))
    reference = BernoulliNB(alpha=0.3).fit(X, y)
    rule = bernoulli(0.3).rule(counts, np.arange(15), log_prior(counts.class_weight))
    scores = rule.scores(X)
    log_proba = scores - logsumexp(scores, axis=1, keepdims=True)
    np.testing.assert_allclose(log_proba, reference.predict_log_proba(X), rtol=1e-12, atol=1e-12)
    log_prob = feature_log_prob(counts, np.arange(15), 0.3)
    np.testing.assert_allclose(log_prob, reference.feature_log_prob_, rtol=1e-12)


def test_pooled_probabilities_outside_the_support():
    counts = Counts([[3, 1], [2, 2]], [4, 4])
    log_prob = feature_log_prob(counts, np.array([1]), 0.0)
    np.testing.assert_allclose(np.exp(log_prob), [[0.5, 0.5], [0.5, 0.5]])
    log_prob = feature_log_prob(counts, np.array([0]), 0.0)
    np.testing.assert_allclose(np.exp(log_prob), [[0.75, 0.5], [0.25, 0.5]])


def test_impossible_events_veto_a_class_and_unseen_ones_do_not():
    # Feature 0 is always on in class 1 and never in class 0; feature 1 was never seen.
    counts = Counts([[0, 2], [0, 0]], [2, 2])
    rule = bernoulli(0.0).rule(counts, np.array([0, 1]), np.log([0.25, 0.75]))
    scores = rule.scores(np.array([[1, 0], [0, 0], [1, 1]]))
    assert np.isneginf(scores[[0, 1, 2], [0, 1, 0]]).all()
    assert np.isfinite(scores[[0, 1, 2], [1, 0, 1]]).all()


def test_a_class_without_rows_is_pooled_and_gains_nothing():
    counts = Counts([[2, 1, 0], [1, 1, 0]], [3, 2, 0])
    with_empty = bernoulli_gain(counts.table, counts.class_weight)
    np.testing.assert_allclose(with_empty, bernoulli_gain(counts.table[:, :2], np.array([3.0, 2])))
    rule = bernoulli(0.0).rule(counts, np.array([0]), log_prior(counts.class_weight))
    assert np.isneginf(rule.scores(np.array([[1]]))[0, 2])
    assert np.isfinite(rule.weights).all()
