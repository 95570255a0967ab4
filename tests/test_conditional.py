"""A few weights by conditional likelihood: optima, derivatives, data without an optimum."""

from __future__ import annotations

import numpy as np
import pytest
from scipy.optimize import approx_fprime
from scipy.stats import chi2
from sklearn.linear_model import LogisticRegression

import reference_hybrid as reference
from naively import HybridNB
from naively.models.conditional import _centred, _Problem, _solved, expand, fit_conditional


def log_posterior(features, theta, intercept):
    scores = np.einsum("irc,r->ic", features, theta) + intercept
    return scores - np.logaddexp.reduce(scores, axis=1)[:, None]


def sample(n=300, n_regions=2, n_classes=2, seed=0, signal=1.0):
    rng = np.random.default_rng(seed)
    y = rng.integers(0, n_classes, n)
    b = rng.normal(-9, 1, (n, n_regions, n_classes))
    b[np.arange(n), :, y] += signal * np.arange(1, n_regions + 1)
    return b, y, rng.uniform(0.1, 3, n)


@pytest.mark.parametrize("n_regions", [1, 2, 4])
@pytest.mark.parametrize("weighted", [False, True])
@pytest.mark.parametrize("scale", [1e-3, 1.0, 1e3])
def test_two_classes_equal_logistic_regression(n_regions, weighted, scale):
    b, y, weights = sample(n_regions=n_regions, signal=0.3)
    weights = weights if weighted else np.ones(len(y))
    fit = fit_conditional(b * scale, y, weights)
    logistic = LogisticRegression(C=np.inf, solver="newton-cholesky", tol=1e-12)
    logistic.fit(b[:, :, 1] - b[:, :, 0], y, weights)
    np.testing.assert_allclose(fit.theta * scale, logistic.coef_[0], rtol=1e-8)
    np.testing.assert_allclose(fit.intercept, [0, logistic.intercept_[0]], rtol=1e-8)
    assert fit.gradient < 1e-8
    assert fit.finite


@pytest.mark.parametrize("penalty", [0.01, 1.0, 100.0])
def test_the_penalty_is_that_of_logistic_regression(penalty):
    b, y, weights = sample()
    fit = fit_conditional(b, y, weights, penalty=penalty)
    logistic = LogisticRegression(C=1 / penalty, solver="newton-cholesky", tol=1e-12)
    logistic.fit(b[:, :, 1] - b[:, :, 0], y, weights)
    np.testing.assert_allclose(fit.theta, logistic.coef_[0], rtol=1e-8)
    np.testing.assert_allclose(fit.intercept[1], logistic.intercept_[0], rtol=1e-8)
    assert (fit.penalty == penalty).all()


@pytest.mark.parametrize("n_classes", [2, 3, 5, 70])  # more than 64: as matrix products
def test_derivatives_are_those_of_the_plain_loops(n_classes):
    b, y, weights = sample(40, 3, n_classes)
    rng = np.random.default_rng(1)
    point = rng.normal(size=n_classes + 3) / 3

    def value(p):
        return reference.conditional_log_likelihood(p[n_classes:], p[:n_classes], b, y, weights)

    rows_last = b.transpose(1, 2, 0)
    here = expand(point, rows_last, y, weights)
    assert here.value == pytest.approx(value(point), rel=1e-12)
    np.testing.assert_allclose(here.gradient, approx_fprime(point, value, 1e-6), rtol=1e-4)
    slopes = approx_fprime(point, lambda p: expand(p, rows_last, y, weights).gradient, 1e-6)
    np.testing.assert_allclose(here.curvature, -slopes, rtol=1e-4, atol=1e-4)
    np.testing.assert_allclose(here.curvature, here.curvature.T, rtol=1e-12)


@pytest.mark.parametrize("n_classes", [3, 7])
def test_many_classes_reach_the_optimum(n_classes):
    """The likelihood is concave, so a zero gradient (of the plain loops) is the optimum."""
    b, y, weights = sample(200, 2, n_classes, signal=0.5)
    fit = fit_conditional(b, y, weights)
    assert fit.gradient < 1e-8

    def value(p):
        theta, intercept = p[n_classes:], p[:n_classes]
        return reference.conditional_log_likelihood(theta, intercept, b, y, weights)

    best = np.concatenate([fit.intercept, fit.theta])
    assert fit.log_likelihood == pytest.approx(value(best), rel=1e-12)
    rng = np.random.default_rng(2)
    for _ in range(20):
        assert value(best + rng.normal(size=len(best)) * 1e-2) < value(best)


@pytest.mark.parametrize("threads_from", [0, 1 << 20])
def test_rows_in_chunks_are_all_used(monkeypatch, threads_from):
    b, y, weights = sample(100, 2, 3)
    whole = fit_conditional(b, y, weights)
    monkeypatch.setattr("naively.models.conditional._CHUNK", 50)
    monkeypatch.setattr("naively.models.conditional._MANY", threads_from)
    parts = fit_conditional(b, y, weights)
    np.testing.assert_allclose(parts.theta, whole.theta, rtol=1e-9)


def test_a_large_finite_optimum_is_not_taken_for_none():
    """One row in ten thousand on the wrong side: log-odds near log 10000, and finite."""
    y = np.arange(20000) % 2
    b = np.zeros((20000, 1, 2))
    b[np.arange(20000), 0, y] = 1.0
    b[:2, 0] = b[:2, 0, ::-1]
    fit = fit_conditional(b, y, np.ones(20000))
    assert fit.finite
    assert fit.theta[0] == pytest.approx(np.log(9999), rel=1e-9)


@pytest.mark.parametrize("scale", [1e-3, 1.0, 1e3])
@pytest.mark.parametrize("n_classes", [2, 3])
@pytest.mark.parametrize("undecided", [False, True])
def test_separable_rows_get_a_penalised_finite_answer(scale, n_classes, undecided):
    b, y, weights = sample(60, 2, n_classes, signal=0)
    b[np.arange(60), 0, y] = b[:, 0].max(axis=1) + 0.1
    if undecided:  # rows without words stay undecided: the separation is not complete
        b[:10] = 0
    b *= scale
    fit = fit_conditional(b, y, weights)
    assert not fit.finite
    assert np.isfinite(fit.theta).all()
    assert np.isfinite(fit.intercept).all()
    assert (fit.penalty > 0).all()
    again = fit_conditional(b, y, weights, penalty=fit.penalty)
    assert again.finite
    np.testing.assert_array_equal(again.theta, fit.theta)
    accuracy = (log_posterior(b, fit.theta, fit.intercept).argmax(axis=1) == y)[10:].mean()
    assert accuracy > 0.9
    # The penalty is in the units of the features: rescaling them changes no posterior.
    other = fit_conditional(b / scale, y, weights)
    np.testing.assert_allclose(other.theta / scale, fit.theta, rtol=1e-6)


def test_weights_that_do_not_matter_are_zero():
    """A region empty everywhere has theta 0; two equal regions share their theta."""
    b, y, weights = sample()
    alone = fit_conditional(b[:, :1], y, weights)
    beside = fit_conditional(np.stack([b[:, 0], 0 * b[:, 0]], axis=1), y, weights)
    np.testing.assert_allclose(beside.theta, [alone.theta[0], 0], rtol=1e-8)
    twice = fit_conditional(b[:, [0, 0]], y, weights)
    np.testing.assert_allclose(twice.theta, alone.theta[0] / 2 * np.ones(2), rtol=1e-8)
    assert beside.finite
    assert twice.finite


def test_no_features_at_all_give_the_class_shares():
    y = np.array([0, 0, 0, 1])
    fit = fit_conditional(np.zeros((4, 1, 2)), y, np.ones(4))
    assert fit.finite
    assert fit.theta[0] == 0
    np.testing.assert_allclose(fit.intercept, [0, np.log(1 / 3)], rtol=1e-10)


def test_classes_without_rows():
    b, y, weights = sample(100, 2, 3)
    weights = weights * (y != 1)
    fit = fit_conditional(b, y, weights)
    kept = y != 1
    pair = fit_conditional(b[kept][:, :, [0, 2]], y[kept] // 2, weights[kept])
    assert np.isneginf(fit.intercept[1])
    np.testing.assert_allclose(fit.theta, pair.theta, rtol=1e-10)
    assert (np.exp(log_posterior(b, fit.theta, fit.intercept))[:, 1] == 0).all()
    single = fit_conditional(b, np.zeros(100, dtype=int), np.ones(100))
    assert (single.theta == 0).all()
    assert single.finite


def shares(y, weights):
    return np.log(np.bincount(y, weights) / weights.sum())


@pytest.mark.parametrize("n_classes", [2, 3])
def test_held_intercepts_are_the_class_shares(n_classes):
    """The gradient of the plain loops, in theta alone, is zero at the optimum."""
    b, y, weights = sample(80, 2, n_classes, signal=0.4)
    fit = fit_conditional(b, y, weights, fit_intercept=False)
    prior = shares(y, weights)
    np.testing.assert_allclose(fit.intercept, prior - prior[0], rtol=1e-12)

    def value(theta):
        return reference.conditional_log_likelihood(theta, prior, b, y, weights)

    assert fit.log_likelihood == pytest.approx(value(fit.theta), rel=1e-12)
    assert np.abs(approx_fprime(fit.theta, value, 1e-6)).max() < 1e-3
    assert fit.gradient < 1e-8


def test_an_infinite_penalty_leaves_the_class_shares():
    b, y, weights = sample(signal=1.0)
    none = fit_conditional(b, y, weights, penalty=np.inf)
    prior = shares(y, weights)
    np.testing.assert_array_equal(none.theta, [0, 0])
    np.testing.assert_allclose(none.intercept, prior - prior[0], rtol=1e-9)
    one = fit_conditional(b, y, weights, penalty=np.array([np.inf, 2.0]))
    alone = fit_conditional(b[:, 1:], y, weights, penalty=2.0)
    np.testing.assert_allclose(one.theta, [0, alone.theta[0]], rtol=1e-9)


def intercepts(scores, y):
    """Intercepts that maximise the likelihood of rows beside given scores: shares are matched."""
    t = np.zeros(scores.shape[1])
    for _ in range(500):
        posterior = np.exp(scores + t)
        posterior /= posterior.sum(axis=1, keepdims=True)
        t += np.log(np.bincount(y) / posterior.sum(axis=0))
    return t


@pytest.mark.parametrize("fit_intercept", [True, False])
@pytest.mark.parametrize("n_classes", [2, 4])
def test_one_step_without_a_row_is_a_fit_without_it(fit_intercept, n_classes):
    """Every row under weights fitted to the others, the intercepts those that go with them."""
    b, y, _ = sample(90, 2, n_classes, signal=0.5)
    ones = np.ones(90)
    held = None if fit_intercept else shares(y, ones)
    problem = _Problem(_centred(b), y, ones, held)
    fit = problem.solve(np.full(2, 2.0))
    near = problem.without_each(fit)
    for i in range(0, 90, 7):
        others = np.arange(90) != i
        without = _Problem(problem.features[:, :, others], y[others], ones[others], held)
        again = without.solve(np.full(2, 2.0))
        if fit_intercept:  # those of all rows that go with these weights
            shift = np.einsum("irc,r->ic", b, again.theta)
            exact = log_posterior(b[i : i + 1], again.theta, intercepts(shift, y))[0, y[i]]
        else:
            exact = log_posterior(b[i : i + 1], again.theta, held)[0, y[i]]
        assert near[i] == pytest.approx(exact, abs=0.02)


def test_systems_are_solved_at_once():
    rng = np.random.default_rng(3)
    root, right = rng.normal(size=(20, 5, 5)), rng.normal(size=(20, 5))
    left = root @ root.transpose(0, 2, 1) + np.eye(5)
    expected = np.linalg.solve(left, right[:, :, None])[:, :, 0]
    found = _solved(left.transpose(1, 2, 0).copy(), right.T.copy())
    np.testing.assert_allclose(found.T, expected, rtol=1e-10)


def test_the_chosen_penalty_is_small_where_rows_tell_much_and_infinite_where_nothing():
    b, y, weights = sample(400, 2, signal=1.0)
    fit = fit_conditional(b, y, weights, penalty=None)
    usual = np.median(np.var(b, axis=2), axis=0) / chi2(1).median()
    rows = (3 + 150 / 400) * weights.mean()
    np.testing.assert_allclose(fit.penalty, rows * usual, rtol=1e-4)
    again = fit_conditional(b, y, weights, penalty=fit.penalty)
    np.testing.assert_allclose(again.theta, fit.theta, rtol=1e-6)
    noise = np.random.default_rng(5).permutation(y)
    none = fit_conditional(b, noise, weights, penalty=None)
    assert np.isinf(none.penalty).all()
    assert (none.theta == 0).all()


@pytest.mark.parametrize("seed", range(12))
def test_a_given_penalty_is_kept_where_classes_are_far_apart(seed):
    """Intercepts move by whole units there for 1e-12 nats, which is an optimum all the same."""
    rng = np.random.default_rng(seed)
    y = np.repeat([0, 1, 2], 6)
    X = rng.poisson(rng.dirichlet(np.ones(3), 3)[y] * 40)
    model = HybridNB(penalty=1.0, normalize=False).fit(X, y)
    assert model.penalty_ == 1.0
    assert model.conditional_.finite
    assert model.conditional_.gradient < 1e-6  # of a concave function: nothing is better


@pytest.mark.parametrize("same", [1.0, 1 + np.array([0.0, 3e-16])])
def test_rows_that_tell_nothing_are_none_of_the_usual_ones(same):
    b, y, weights = sample(40, 2)
    b[:10, 0] = same  # under both classes, but for rounding
    problem = _Problem(_centred(b), y, weights)
    told = np.var(b, axis=2)
    expected = [0.75 * np.median(told[10:, 0]), np.median(told[:, 1])]
    found = problem.usual_information() * chi2(1).median() / weights.mean()
    np.testing.assert_allclose(found, expected, rtol=1e-4)


@pytest.mark.parametrize("scale", [1e-3, 1e3])
def test_the_chosen_penalty_knows_no_units(scale):
    b, y, weights = sample(30, signal=0.3)
    one = fit_conditional(b, y, weights, penalty=None)
    other = fit_conditional(b * scale, y, weights, penalty=None)
    np.testing.assert_allclose(other.theta * scale, one.theta, rtol=1e-6)


@pytest.mark.parametrize("penalty", [0.0, None])
@pytest.mark.parametrize("separable", [True, False])
def test_rows_that_all_weigh_alike_weigh_one(penalty, separable):
    """A penalty worth so many rows, chosen or to the rescue, grows with the weight of the rows."""
    b, y, weights = sample(60, 2, signal=0.3)
    if separable:
        b[np.arange(60), 0, y] = b[:, 0].max(axis=1) + 0.1
    one = fit_conditional(b, y, weights, penalty=penalty)
    other = fit_conditional(b, y, 50 * weights, penalty=penalty)
    np.testing.assert_allclose(other.theta, one.theta, rtol=1e-5)
    np.testing.assert_allclose(other.penalty, 50 * one.penalty, rtol=1e-9)


def test_separable_rows_need_no_rescue_when_the_penalty_is_chosen():
    b, y, weights = sample(60, 2, signal=0)
    b[np.arange(60), 0, y] = b[:, 0].max(axis=1) + 0.1
    fit = fit_conditional(b, y, weights, penalty=None)
    assert fit.finite
    assert np.isfinite(fit.theta).all()
