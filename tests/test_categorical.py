import numpy as np
import pytest
import scipy.sparse as sp
from hypothesis import given, strategies as st

import reference_centers as reference
from naively import SparseCategoricalNB, error_path
from naively.models.categorical import (
    categorical,
    categorical_gain,
    log_probabilities,
    pooled_log_probabilities,
)
from naively.selection.solve import solve
from naively.statistics.categories import ClassCategories

rng = np.random.default_rng(0)


def log_likelihood(X, y, support):
    total = 0.0
    for i, x in enumerate(X.T):
        groups = [x[y == c] for c in np.unique(y)] if i in support else [x]
        for group in groups:
            shares = np.bincount(group) / len(group)
            total += reference.categorical_log_likelihood(group, shares)
    return total


@st.composite
def problems(draw):
    C = draw(st.integers(2, 3))
    y = np.array(
        [*range(C), *(draw(st.integers(0, C - 1)) for _ in range(draw(st.integers(0, 7))))]
    )
    return np.array([[draw(st.integers(0, 3)) for _ in range(5)] for _ in y]), y


@given(problems(), st.integers(0, 5))
def test_the_support_is_the_best_of_all(problem, k):
    X, y = problem
    statistics = ClassCategories.from_matrix(X, y)
    selection = solve(categorical(0.0), statistics, k)
    _, value = reference.best_support(lambda S: log_likelihood(X, y, S), 5, k)
    assert log_likelihood(X, y, selection.support) == pytest.approx(value, abs=1e-8)
    assert selection.certificate.objective == pytest.approx(value, abs=1e-8)
    assert selection.certificate.proven_optimal


@given(problems(), st.floats(0.01, 3))
def test_smoothed_gains(problem, alpha):
    X, y = problem
    X[:, 0] = 2
    statistics = ClassCategories.from_matrix(X, y, min_categories=4)
    gain = categorical_gain(statistics, alpha)
    assert gain[0] == 0
    for i in range(1, 5):
        f = statistics.of_feature(i) + alpha
        if (statistics.of_feature(i).sum(axis=0) > 0).sum() > 1:
            theta = f / f.sum(axis=1, keepdims=True)
            pooled = f.sum(axis=0) / f.sum()
            assert gain[i] == pytest.approx((f * np.log(theta / pooled)).sum(), abs=1e-9)


@pytest.mark.parametrize("alpha", [0.0, 1.0])
def test_the_rule_adds_log_probabilities(alpha):
    X = rng.integers(0, 3, (40, 4))
    y = rng.integers(0, 2, 40)
    statistics = ClassCategories.from_matrix(X, y)
    support, prior = np.array([1, 3]), np.log([0.4, 0.6])
    log_prob, starts = log_probabilities(statistics, support, alpha)
    expected = prior + sum(log_prob[starts[s] + X[:, i]] for s, i in enumerate(support))
    for rows in (X[:, support], sp.csr_array(X[:, support])):
        scores = categorical(alpha).rule(statistics, support, prior).scores(rows)
        np.testing.assert_allclose(scores, expected)
    f = statistics.of_feature(3) + alpha
    np.testing.assert_allclose(
        np.exp(log_prob[starts[1] : starts[2]]), (f / f.sum(axis=1, keepdims=True)).T
    )
    pooled = np.exp(pooled_log_probabilities(statistics, alpha))
    np.testing.assert_allclose(pooled[:3], statistics.of_feature(0).sum(axis=0) / 40, atol=0.1)


def test_categories_never_seen_tell_nothing():
    statistics = ClassCategories.from_matrix([[0], [1], [3]], [0, 0, 1])
    for alpha in (0.0, 1.0):
        rule = categorical(alpha).rule(statistics, np.array([0]), np.log([0.25, 0.75]))
        np.testing.assert_allclose(np.exp(rule.scores(np.array([[7]]))), [[0.25, 0.75]])
    rule = categorical(0.0).rule(statistics, np.array([0]), np.log([0.25, 0.75]))
    np.testing.assert_allclose(np.exp(rule.scores(np.array([[2]]))), [[0.25, 0.75]])
    assert np.isneginf(rule.scores(np.array([[3]]))[0, 0])


def test_a_class_without_rows_has_the_shares_of_all():
    X, y = np.array([[0], [1], [1], [2], [0], [0]]), [0, 0, 0, 1, 1, 1]
    statistics = ClassCategories.from_matrix(X, y, classes=[0, 1, 2])
    found, _ = log_probabilities(statistics, np.array([0]), 0.0)
    with np.errstate(divide="ignore"):
        expected = np.log([[1 / 3, 2 / 3, 3 / 6], [2 / 3, 0, 2 / 6], [0, 1 / 3, 1 / 6]])
    np.testing.assert_allclose(found, expected)


@given(problems(), st.data())
def test_weights_are_repetition_and_sparse_is_dense(problem, data):
    X, y = problem
    w = np.array([data.draw(st.integers(1, 3)) for _ in y])
    repeated = ClassCategories.from_matrix(np.repeat(X, w, axis=0), np.repeat(y, w))
    for container in (np.asarray, sp.csr_matrix, sp.csc_array):
        found = ClassCategories.from_matrix(container(X), y, w)
        assert np.array_equal(found.table, repeated.table)
        assert np.array_equal(found.n_categories, repeated.n_categories)


def test_rows_of_some_classes_have_the_categories_that_they_have():
    X, y = np.array([[0, 1], [2, 0], [9, 0], [1, 4]]), np.array(["a", "a", "b", "b"])
    every = ClassCategories.from_matrix(X, y)
    for label in "ab":
        alone = ClassCategories.from_matrix(X[y == label], y[y == label])
        assert every.of_classes(["ab".index(label)]).equals(alone)
    asked_for = ClassCategories.from_matrix(X, y, min_categories=12)
    assert asked_for.of_classes([0]).n_categories.tolist() == [12, 12]


def test_negative_categories_are_refused_in_prediction_too():
    statistics = ClassCategories.from_matrix([[0], [1], [1]], ["a", "b", "b"])
    rule = categorical(1.0).rule(statistics, np.array([0]), np.log([0.5, 0.5]))
    with pytest.raises(ValueError, match=r"whole numbers >= 0; got -1"):
        rule.scores(np.array([[-1.0]]))


def test_a_row_left_out_takes_its_category_along():
    X, y = np.array([[5, 0, 2, 1, 1, 1, 0, 2, 0, 0]]).T, np.array([0, 0, 1, 1, 1, 0, 0, 0, 0, 0])
    model, wrong = SparseCategoricalNB(k=1, fit_prior=False), 0
    for i in range(10):
        others = np.arange(10) != i
        counts = ClassCategories.from_matrix(X[others], y[others])
        # A category that the others do not have has the same probability in both classes: a tie.
        size = counts.n_categories[0]
        f = np.stack([np.bincount(X[others & (y == c), 0], minlength=size) for c in (0, 1)]) + 1.0
        p = f / f.sum(axis=1, keepdims=True)
        x = X[i, 0]
        wrong += (p[:, x].argmax() if x < size else 0) != y[i]
    found = error_path(model, X, y, [1], n_folds=2).leave_one_out
    assert found.tolist() == [wrong / 10]


def test_errors():
    with pytest.raises(ValueError, match="Negative values"):
        ClassCategories.from_matrix([[-1]], [0])
    with pytest.raises(ValueError, match="NaN"):
        ClassCategories.from_matrix([[np.nan]], [0])
    with pytest.raises(ValueError, match="below 2"):
        ClassCategories.from_matrix([[1e10]], [0])
    with pytest.raises(ValueError, match="`min_categories` must be an int"):
        ClassCategories.from_matrix([[1]], [0], min_categories=[1, 2])
    with pytest.raises(ValueError, match="`alpha` must be a finite number"):
        categorical([1.0, 2.0])
