"""Multinomial model: gains at given class shares, its rule, priors."""

from __future__ import annotations

import numpy as np
import pytest
from scipy.special import logsumexp
from sklearn.naive_bayes import MultinomialNB

from naively._kernels import exchange
from naively.models.family import divergence
from naively.models.multinomial import (
    class_shares,
    feature_log_prob,
    multinomial,
    multinomial_gain,
)
from naively.models.priors import log_prior
from naively.selection.coupled import coupled_columns
from reference_nfs import Counts, multinomial_gain_vector, multinomial_log_likelihood


@pytest.mark.parametrize("alpha", [0.0, 0.7])
@pytest.mark.parametrize("n_classes", [1, 2, 5])
def test_gain_is_the_formula_written_out(n_classes, alpha):
    rng = np.random.default_rng(n_classes)
    table = (
        rng.poisson(2, (50, n_classes))
        + np.eye(n_classes, dtype=int)[rng.integers(0, n_classes, 50)]
    )
    shares = rng.dirichlet(np.ones(n_classes))
    expected = multinomial_gain_vector(table.tolist(), shares, alpha)
    np.testing.assert_allclose(multinomial_gain(table, shares, alpha), expected, atol=1e-12)


def test_gain_where_the_formula_cancels():
    # Counts in nearly the given proportions: g KL is about half of chi squared.
    gain = multinomial_gain(np.array([[10**9, 10**9 + 2]]), np.array([0.5, 0.5]))[0]
    assert gain == pytest.approx(2 * 1.0**2 / (10**9 + 1) / 2, rel=1e-6)


def test_special_columns():
    gain = multinomial_gain(np.array([[0, 0], [2, 0], [1, 1]]), np.array([1.0, 0.0]), 0.0)
    assert gain.tolist() == [0.0, 0.0, np.inf]
    # Smoothing alone tells nothing: a column without counts gains 0 by definition.
    assert multinomial_gain(np.array([[0, 0]]), np.array([0.9, 0.1]), 1.0)[0] == 0


def test_divergence_of_small_and_large_excess():
    e = np.array([4.0, 4.0, 4.0, 0.0])
    x = np.array([4.0 + 1e-9, 0.0, 8.0, 0.0])
    d = divergence(x - e, e)
    assert d[0] == pytest.approx((x[0] - 4.0) ** 2 / 8, rel=1e-8)
    assert d[1:].tolist() == pytest.approx([4.0, 8 * np.log(2) - 4, 0.0])
    near = np.linspace(-0.06, 0.06, 25)  # both sides of where the series takes over
    direct = (1 + near) * np.log1p(near) - near
    np.testing.assert_allclose(divergence(near, np.ones(25)), direct, rtol=1e-9, atol=1e-18)


def test_the_divergence_within_kernels_is_that_of_arrays():
    rng = np.random.default_rng(0)
    e = np.append(rng.gamma(1, 10, 400), [0.0, 3.0, 3.0])
    near = rng.choice([1e-12, 1e-4, 0.05, 1.0], len(e))
    excess = np.maximum(e * near * rng.normal(size=len(e)), -e)
    excess[-2:] = -3.0, -3.0 - 1e-15
    within = np.array(list(map(exchange._divergence, excess.tolist(), e.tolist())))
    np.testing.assert_allclose(within, divergence(excess, e), rtol=1e-14, atol=1e-300)


def test_baseline_and_scores_of_all_features():
    rng = np.random.default_rng(3)
    counts = Counts(rng.poisson(2, (20, 3)))
    family = multinomial(1.0)
    pooled = multinomial_log_likelihood(counts.table.tolist(), set(), 1.0)
    assert coupled_columns(family.problem(counts)).baseline == pytest.approx(pooled, rel=1e-12)
    shares = class_shares(counts.table, 1.0)
    assert shares.sum() == pytest.approx(1)
    np.testing.assert_allclose(family.gain(counts), multinomial_gain(counts.table, shares, 1.0))


def test_objective_is_reached_by_the_probabilities_of_the_model():
    rng = np.random.default_rng(4)
    counts = Counts(rng.poisson(3, (12, 3)))
    support = np.array([1, 4, 5, 9])
    theta = feature_log_prob(counts, support, 0.5)
    np.testing.assert_allclose(np.exp(theta).sum(axis=1), 1)
    reached = np.sum((counts.table.T + 0.5) * theta)
    expected = multinomial_log_likelihood(counts.table.tolist(), set(support.tolist()), 0.5)
    assert reached == pytest.approx(expected, rel=1e-12)
    outside = np.setdiff1d(np.arange(12), support)
    assert np.ptp(theta[:, outside], axis=0).max() == 0


def test_rule_of_all_features_is_scikit_learns():
    rng = np.random.default_rng(5)
    X, y = rng.poisson(1, (60, 15)), rng.integers(0, 3, 60)
    counts = Counts(np.stack([X[y == c].sum(0) for c in range(3)], axis=1), np.bincount(y))
    reference = MultinomialNB(alpha=0.3).fit(X, y)
    rule = multinomial(0.3).rule(counts, np.arange(15), log_prior(counts.class_weight))
    scores = rule.scores(X)
    log_proba = scores - logsumexp(scores, axis=1, keepdims=True)
    np.testing.assert_allclose(log_proba, reference.predict_log_proba(X), rtol=1e-12, atol=1e-12)
    log_prob = feature_log_prob(counts, np.arange(15), 0.3)
    np.testing.assert_allclose(log_prob, reference.feature_log_prob_, rtol=1e-12)


def test_two_class_weights_are_those_of_the_paper():
    counts = Counts([[5, 1], [2, 8], [3, 3]])
    weights = multinomial(0.0).rule(counts, np.array([0, 1]), np.log([0.5, 0.5])).weights
    expected = [np.log(5 / 1) - np.log(7 / 9), np.log(2 / 8) - np.log(7 / 9)]
    np.testing.assert_allclose(weights[0] - weights[1], expected)


def test_no_smoothing_vetoes_and_a_class_without_counts():
    rule = multinomial(0.0).rule(Counts([[2, 0], [0, 3]]), np.array([0, 1]), np.log([0.4, 0.6]))
    scores = rule.scores(np.array([[1, 0], [0, 1], [1, 1], [0, 0]]))
    assert np.isneginf(scores[:2]).tolist() == [[False, True], [True, False]]
    np.testing.assert_allclose(scores[2:], np.log([[0.4, 0.6]] * 2))
    # Nothing is known about the words of a class without counts on the support: it takes the
    # pooled ones, and no row is impossible for it.
    rule = multinomial(0.0).rule(Counts([[2, 0], [3, 0]]), np.array([0, 1]), np.log([0.5, 0.5]))
    np.testing.assert_allclose(np.diff(rule.scores(np.array([[1, 4]]))), 0, atol=1e-12)


def test_empty_support_scores_by_the_prior():
    rule = multinomial(1.0).rule(Counts([[2, 1]]), np.array([], dtype=int), np.log([0.2, 0.8]))
    np.testing.assert_allclose(rule.scores(np.empty((3, 0))), np.log([[0.2, 0.8]] * 3))


@pytest.mark.parametrize("alpha", [-1, np.nan, [[1.0]], [1.0, -2.0]])
def test_bad_smoothing_is_refused(alpha):
    with pytest.raises(ValueError, match="alpha"):
        multinomial(alpha)


def test_smoothing_of_the_wrong_length_is_refused():
    with pytest.raises(ValueError, match="3 features"):
        multinomial([1.0, 2.0]).gain(Counts([[1, 2], [3, 4], [5, 6]]))


def test_priors():
    weight = np.array([1.0, 3.0])
    np.testing.assert_allclose(np.exp(log_prior(weight)), [0.25, 0.75])
    np.testing.assert_allclose(np.exp(log_prior(weight, fit_prior=False)), [0.5, 0.5])
    given = log_prior(weight, class_prior=[0.0, 1.0])
    assert np.isneginf(given[0])
    assert given[1] == 0
    for bad, message in [
        ([0.5], "2 classes"),
        ([-0.5, 1.5], ">= 0"),
        ([0.5, 0.6], "sum to 1"),
        ([np.nan, 1.0], ">= 0"),
    ]:
        with pytest.raises(ValueError, match=message):
            log_prior(weight, class_prior=bad)
    with pytest.raises(ValueError, match="total weight 0"):
        log_prior(np.zeros(2))
