import numpy as np
import pytest
from hypothesis import given, strategies as st

import reference_centers as reference
from naively.models.l2_centers import l2_centers, l2_gain, sparse_centers
from naively.selection.solve import solve
from naively.selection.top_k import gain_order
from naively.statistics.moments import ClassMoments

rng = np.random.default_rng(0)


@st.composite
def problems(draw, least=2, most=3):
    C = draw(st.integers(least, most))
    y = np.array(
        [*range(C), *(draw(st.integers(0, C - 1)) for _ in range(draw(st.integers(0, 7))))]
    )
    X = np.array([[draw(st.integers(-4, 4)) for _ in range(6)] for _ in y], float)
    return X, y


@given(problems(), st.integers(0, 6))
def test_the_support_is_the_best_of_all(problem, k):
    X, y = problem
    statistics = ClassMoments.from_matrix(X, y, deviations=False)
    selection = solve(l2_centers(), statistics, k)
    _, value = reference.best_support(lambda S: reference.l2_objective(X, y, S), 6, k)
    found = reference.l2_objective(X, y, selection.support)
    assert found == pytest.approx(value, abs=1e-9)
    pooled = reference.l2_objective(X, y, ())
    assert selection.certificate.objective == pytest.approx(value - pooled, abs=1e-9)
    assert selection.certificate.bound == selection.certificate.objective
    assert selection.certificate.proven_optimal


@given(problems(2, 2))
def test_two_classes_as_in_proposition_1(problem):
    X, y = problem
    delta = X[y == 1].mean(axis=0) - X[y == 0].mean(axis=0)
    gain = l2_gain(ClassMoments.from_matrix(X, y))
    np.testing.assert_allclose(gain, delta**2 / 2, atol=1e-12)
    centers = sparse_centers(ClassMoments.from_matrix(X, y), np.array([0, 3]))
    midpoint = (X[y == 1].mean(axis=0) + X[y == 0].mean(axis=0)) / 2
    np.testing.assert_allclose(centers[:, [1, 2, 4, 5]], np.tile(midpoint[[1, 2, 4, 5]], (2, 1)))
    np.testing.assert_allclose(centers[1, [0, 3]], X[y == 1].mean(axis=0)[[0, 3]])


def test_scaled_gains_are_those_of_scaled_data():
    X = rng.normal(size=(60, 8)) * rng.uniform(0.1, 9, 8) + rng.normal(size=8)
    y = rng.integers(0, 3, 60)
    statistics = ClassMoments.from_matrix(X, y)
    within = statistics.pooled_variance()
    for scale, divisor in (("std", np.sqrt(within)), ("variance", within)):
        family, plain = l2_centers(scale), l2_centers()
        scaled = ClassMoments.from_matrix(X / divisor, y)
        np.testing.assert_allclose(family.gain(statistics), plain.gain(scaled), rtol=1e-9)
        support = np.array([1, 2, 5])
        rule = family.rule(statistics, support, np.zeros(3))
        expected = plain.rule(scaled, support, np.zeros(3)).scores((X / divisor)[:, support])
        np.testing.assert_allclose(rule.scores(X[:, support]), expected, rtol=1e-9, atol=1e-9)


@pytest.mark.parametrize("scale", ["std", "variance"])
def test_a_perfect_separator_comes_first_and_a_constant_last(scale):
    X = rng.normal(size=(40, 4))
    y = np.repeat([0, 1], 20)
    X[:, 1] = np.where(y, 0.3, 0.1)  # no spread, and not a whole number
    X[:, 2] = 1 / 3
    for parts in (1, 2, 7):
        statistics = sum(
            (ClassMoments.from_matrix(X[i::parts], y[i::parts]) for i in range(parts)),
            start=ClassMoments.zero(4),
        )
        gain = l2_centers(scale).gain(statistics)
        assert gain[1] == np.inf
        assert gain[2] == 0
        assert gain_order(gain)[[0, 3]].tolist() == [1, 2]
        selection = solve(l2_centers(scale), statistics, 4)
        assert selection.certificate.gap == 0
        assert selection.certificate.relative_gap == 0
        rule = l2_centers(scale).rule(statistics, selection.support, np.zeros(2))
        assert (np.argmax(rule.scores(X), axis=1) == y).all()
        far = X.copy()
        far[:, [0, 3]] += 1e4  # cannot outweigh a perfect separator
        assert (np.argmax(rule.scores(far), axis=1) == y).all()


def test_equal_means_gain_nothing():
    X = np.array([[0.1], [0.2], [0.3], [0.2], [0.1], [0.3]])
    assert l2_gain(ClassMoments.from_matrix(X, [0, 0, 0, 1, 1, 1])).tolist() == [0.0]


def test_classes_without_rows_have_no_center():
    X, y = np.array([[0.0, 1], [4, 1]]), np.array([0, 1])
    statistics = ClassMoments.from_matrix(X, y, classes=[0, 1, 2])
    assert l2_gain(statistics).tolist() == [8.0, 0.0]
    scores = l2_centers().rule(statistics, np.array([0]), np.zeros(3)).scores(X[:, [0]])
    assert np.argmax(scores, axis=1).tolist() == [0, 1]
    assert np.isneginf(scores[:, 2]).all()


def test_scale_must_be_known():
    with pytest.raises(ValueError, match="`scale` must be None, 'std' or 'variance'; got 'sd'"):
        l2_centers("sd")
