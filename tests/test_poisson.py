import numpy as np
import pytest
from hypothesis import given, strategies as st

import reference_centers as reference
from naively.models.poisson import poisson, poisson_gain, rates
from naively.selection.solve import solve
from naively.statistics.counts import ClassCounts

rng = np.random.default_rng(0)


def log_likelihood(X, y, support):
    total = 0.0
    for i, x in enumerate(X.T):
        groups = [x[y == c] for c in np.unique(y)] if i in support else [x]
        total += sum(reference.poisson_log_likelihood(g, g.mean()) for g in groups if g.any())
    return total


@st.composite
def problems(draw):
    C = draw(st.integers(2, 3))
    y = np.array(
        [*range(C), *(draw(st.integers(0, C - 1)) for _ in range(draw(st.integers(0, 7))))]
    )
    return np.array([[draw(st.integers(0, 5)) for _ in range(5)] for _ in y]), y


@given(problems(), st.integers(0, 5))
def test_the_support_is_the_best_of_all(problem, k):
    X, y = problem
    statistics = ClassCounts.from_matrix(X, y)
    selection = solve(poisson(0.0), statistics, k)
    _, value = reference.best_support(lambda S: log_likelihood(X, y, S), 5, k)
    assert log_likelihood(X, y, selection.support) == pytest.approx(value, abs=1e-8)
    pooled = log_likelihood(X, y, ())
    assert selection.certificate.gain == pytest.approx(value - pooled, abs=1e-8)
    assert selection.certificate.proven_optimal


@given(problems(), st.floats(0, 3))
def test_smoothing(problem, alpha):
    """Gain of the smoothed counts, and none where the rates agree."""
    X, y = problem
    X[:, 0], X[:, 1] = 0, 3
    statistics = ClassCounts.from_matrix(X, y)
    n = statistics.class_weight
    smoothed = statistics.table + alpha * len(n) * n / n.sum()
    total = smoothed.sum(axis=1, keepdims=True)
    safe = np.where(smoothed > 0, smoothed, 1.0)
    expected = (smoothed * np.log(safe / n / np.where(total > 0, total / n.sum(), 1))).sum(axis=1)
    gain = poisson(alpha).gain(statistics)
    np.testing.assert_allclose(gain, expected, atol=1e-9)
    assert gain[[0, 1]].tolist() == [0, 0]
    np.testing.assert_allclose(poisson(np.full(5, alpha)).gain(statistics), gain)


@pytest.mark.parametrize("alpha", [1.0, 0.25, [0.5, 1, 2, 3]])
def test_the_rule_is_the_likelihood(alpha):
    X = rng.poisson(2.0, (30, 4))
    y = rng.integers(0, 3, 30)
    statistics = ClassCounts.from_matrix(X, y)
    support, prior = np.array([1, 2]), np.log([0.2, 0.3, 0.5])
    _, free = rates(statistics, support, np.asarray(alpha, float))
    joint = [
        [
            prior[c]
            + sum(
                reference.poisson_log_likelihood([x[i]], free[c, s]) for s, i in enumerate(support)
            )
            for c in range(3)
        ]
        for x in X
    ]
    joint = np.array(joint)
    scores = poisson(alpha).rule(statistics, support, prior).scores(X[:, support])
    np.testing.assert_allclose(scores - scores[:, :1], joint - joint[:, :1], atol=1e-9)


def test_without_smoothing_a_row_can_rule_out_a_class():
    statistics = ClassCounts.from_matrix([[1, 0], [2, 1], [0, 3]], [0, 0, 1])
    rule = poisson(0.0).rule(statistics, np.array([0, 1]), np.log([0.5, 0.5]))
    scores = rule.scores(np.array([[1, 0], [0, 1]]))
    assert np.isneginf(scores[0, 1])
    assert np.isfinite(scores[1]).all()


def test_rates_of_equal_columns_are_grouped():
    X = rng.poisson(0.1, (50, 4000))
    y = np.arange(50) % 2
    statistics = ClassCounts.from_matrix(X, y)
    selection = solve(poisson(1.0), statistics, 300)
    gain = poisson_gain(statistics.table, statistics.class_weight, 1.0)
    order = np.lexsort((np.arange(4000), np.round(-gain, 9)))
    assert selection.support.tolist() == sorted(order[:300].tolist())


def test_a_class_without_rows_takes_the_pooled_rates():
    statistics = ClassCounts.from_matrix([[1], [5]], [0, 1], classes=[0, 1, 2])
    _, free = rates(statistics, np.array([0]), 0.0)
    assert free.ravel().tolist() == [1, 5, 3]
