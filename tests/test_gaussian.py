import numpy as np
import pytest
import scipy.sparse as sp
from hypothesis import given, strategies as st

import reference_centers as reference
from naively.models.gaussian import gaussian, gaussian_gain, sparse_parameters
from naively.selection.solve import solve
from naively.statistics.moments import ClassMoments

rng = np.random.default_rng(0)


def log_likelihood(X, y, support, shared):
    """Largest log-likelihood over means and variances, with the parameters in closed form."""
    total = 0.0
    for i, x in enumerate(X.T):
        groups = [x[y == c] for c in np.unique(y)] if i in support else [x]
        within = sum(((g - g.mean()) ** 2).sum() for g in groups) / len(x)
        for group in groups:
            variance = within if shared or i not in support else group.var()
            total += reference.gaussian_log_likelihood(group, group.mean(), variance)
    return total


@st.composite
def problems(draw):
    seed, C = draw(st.integers(0, 10**6)), draw(st.integers(2, 3))
    local = np.random.default_rng(seed)
    y = np.repeat(np.arange(C), local.integers(2, 6, C))
    return local.normal(size=(len(y), 5)) * local.uniform(0.1, 5, 5) + local.normal(size=5), y


@pytest.mark.parametrize("variance", ["class", "shared"])
@given(problems(), st.integers(0, 5))
def test_the_support_is_the_best_of_all(variance, problem, k):
    X, y = problem
    shared = variance == "shared"
    statistics = ClassMoments.from_matrix(X, y)
    selection = solve(gaussian(variance, 0.0), statistics, k)
    _, value = reference.best_support(lambda S: log_likelihood(X, y, S, shared), 5, k)
    assert log_likelihood(X, y, selection.support, shared) == pytest.approx(value, rel=1e-9)
    assert selection.certificate.objective == pytest.approx(value, rel=1e-9)
    assert selection.certificate.proven_optimal


def test_closed_form_parameters_are_the_maximum():
    x, step = rng.normal(size=9) + 3, 1e-3
    best = reference.gaussian_log_likelihood(x, x.mean(), x.var())
    for dm, dv in ((step, 0), (-step, 0), (0, step), (0, -step)):
        assert reference.gaussian_log_likelihood(x, x.mean() + dm, x.var() + dv) < best


@pytest.mark.parametrize("variance", ["class", "shared"])
@pytest.mark.parametrize("var_smoothing", [0.0, 1e-9, 0.1])
def test_the_rule_is_the_likelihood(variance, var_smoothing):
    X = rng.normal(size=(50, 6)) + 10
    y = rng.integers(0, 3, 50)
    statistics = ClassMoments.from_matrix(X, y)
    support = np.array([0, 2, 5])
    prior = np.log([0.2, 0.3, 0.5])
    rule = gaussian(variance, var_smoothing).rule(statistics, support, prior)
    theta, var = sparse_parameters(
        statistics, support, shared=variance == "shared", var_smoothing=var_smoothing
    )
    joint = np.array(
        [
            [
                prior[c]
                + sum(
                    reference.gaussian_log_likelihood([x[i]], theta[c, i], var[c, i])
                    for i in range(6)
                )
                for c in range(3)
            ]
            for x in X
        ]
    )
    for rows in (X[:, support], sp.csr_array(X[:, support])):
        scores = rule.scores(rows)
        np.testing.assert_allclose(scores - scores[:, :1], joint - joint[:, :1], atol=1e-8)


@pytest.mark.parametrize("variance", ["class", "shared"])
@given(problems(), st.floats(0, 1))
def test_gains_are_never_negative(variance, problem, var_smoothing):
    X, y = problem
    X[:, 0] = X[0, 0]
    gain = gaussian_gain(
        ClassMoments.from_matrix(X, y), shared=variance == "shared", var_smoothing=var_smoothing
    )
    assert (gain >= 0).all()
    assert gain[0] == 0


@pytest.mark.parametrize("variance", ["class", "shared"])
def test_separators_and_constants(variance):
    X = rng.normal(size=(40, 4))
    y = np.repeat([0, 1], 20)
    X[:, 1] = np.where(y, 0.3, 0.1)
    X[:, 2] = 1 / 3
    statistics = ClassMoments.from_matrix(X, y)
    assert gaussian(variance, 0.0).gain(statistics)[[1, 2]].tolist() == [np.inf, 0.0]
    smoothed = gaussian(variance, 1e-9).gain(statistics)
    assert np.isfinite(smoothed).all()
    assert np.argmax(smoothed) == 1
    for smoothing in (0.0, 1e-9):
        family = gaussian(variance, smoothing)
        selection = solve(family, statistics, 4)
        assert selection.certificate.gap == 0
        scores = family.rule(statistics, selection.support, np.zeros(2)).scores(X)
        assert (np.argmax(scores, axis=1) == y).all()


def test_large_means_keep_their_digits():
    X = rng.normal(size=(200, 3))
    X[100:, 1] += 2
    y = np.repeat([0, 1], 100)
    near = gaussian_gain(ClassMoments.from_matrix(X, y))
    far = gaussian_gain(ClassMoments.from_matrix(X + 1e9, y))
    np.testing.assert_allclose(far, near, rtol=1e-4, atol=1e-4)
    rules = [
        gaussian("class", 0.0).rule(ClassMoments.from_matrix(Z, y), np.arange(3), np.zeros(2))
        for Z in (X, X + 1e9)
    ]
    np.testing.assert_allclose(rules[1].scores(X + 1e9), rules[0].scores(X), rtol=1e-4, atol=1e-4)


def test_parameters_are_checked():
    with pytest.raises(ValueError, match="`variance` must be 'class' or 'shared'; got 'full'"):
        gaussian("full")
    for bad in (-1, np.nan, "1", None):
        with pytest.raises(ValueError, match="`var_smoothing` must be a finite number >= 0"):
            gaussian("class", bad)
