import numpy as np
import pytest
import scipy.sparse as sp
from hypothesis import given, strategies as st

import reference_centers as reference
from naively.models.l1_centers import l1_centers, l1_gain, sparse_centers
from naively.selection.solve import solve
from naively.statistics.values import ClassMedians

rng = np.random.default_rng(0)


@st.composite
def problems(draw):
    C = draw(st.integers(2, 3))
    y = np.array(
        [*range(C), *(draw(st.integers(0, C - 1)) for _ in range(draw(st.integers(0, 7))))]
    )
    X = np.array([[draw(st.integers(-2, 2)) for _ in range(5)] for _ in y], float)
    return X, y


@given(problems(), st.integers(0, 5))
def test_the_support_is_the_best_of_all(problem, k):
    X, y = problem
    statistics = ClassMedians.from_matrix(X, y)
    selection = solve(l1_centers(), statistics, k)
    _, value = reference.best_support(lambda S: reference.l1_objective(X, y, S), 5, k)
    assert reference.l1_objective(X, y, selection.support) == pytest.approx(value, abs=1e-9)
    assert selection.certificate.objective == pytest.approx(value, abs=1e-9)
    assert selection.certificate.gap == 0
    assert selection.certificate.proven_optimal


@given(problems())
def test_no_other_centers_are_better(problem):
    """The free and pooled centers minimise CEN eq. (10): every value of the data is tried."""
    X, y = problem
    statistics = ClassMedians.from_matrix(X, y)
    for i, x in enumerate(X.T):
        members = [x[y == c] for c in range(len(statistics.classes))]
        free = sum(min(np.abs(v - t).mean() for t in x) for v in members)
        pooled = min(sum(np.abs(v - t).mean() for v in members) for t in x)
        assert statistics.dispersion[:, i].sum() == pytest.approx(free, abs=1e-9)
        assert statistics.pooled_dispersion[i] == pytest.approx(pooled, abs=1e-9)
        assert l1_gain(statistics)[i] == pytest.approx(pooled - free, abs=1e-9)
        assert l1_gain(statistics)[i] >= 0


@given(problems())
def test_the_rule_is_the_distance_from_the_sparse_centers(problem):
    X, y = problem
    statistics = ClassMedians.from_matrix(X, y)
    support = np.array([0, 2, 3])
    centers = sparse_centers(statistics, support)
    distance = np.abs(X[:, None] - centers).sum(axis=2)
    rule = l1_centers().rule(statistics, support, np.zeros(len(centers)))
    scores = rule.scores(X[:, support])
    np.testing.assert_allclose(
        scores - scores[:, :1], distance[:, :1] - distance, atol=1e-9
    )  # up to a term of the row
    for container in (sp.csr_matrix, sp.csr_array, sp.csc_array):
        np.testing.assert_allclose(rule.scores(container(X[:, support])), scores, atol=1e-9)


def test_sparse_rows_are_scored_by_their_non_zeros():
    k = 2_000_000
    statistics = ClassMedians.from_matrix(sp.csr_array(([3.0], ([0], [5])), shape=(2, k)), [0, 1])
    rule = l1_centers().rule(statistics, np.arange(k), np.zeros(2))
    rows = sp.csr_array((np.ones(10**6), np.full(10**6, 5), np.arange(10**6 + 1)), shape=(10**6, k))
    scores = rule.scores(rows)  # 2e12 cells
    assert (scores[:, 0] - scores[:, 1] == -1).all()


def test_an_outlier_does_not_count():
    Z = np.array([[0.0, 0], [0, 0], [0, 0], [0, 60], [2, 0], [2, 0], [2, 0], [2, 0]])
    y = np.repeat([0, 1], 4)
    assert l1_gain(ClassMedians.from_matrix(Z, y)).tolist() == [2.0, 0.0]  # 8, 0 over 4 rows


def test_constant_columns_gain_nothing():
    X = np.full((1001, 3), [0.1, 1e9 / 3, -7e-8])
    assert l1_gain(ClassMedians.from_matrix(X, np.arange(1001) % 3)).tolist() == [0, 0, 0]
    same = np.tile([[0.1], [0.7], [1e3]], (100, 1))  # equal medians
    assert l1_gain(ClassMedians.from_matrix(same, np.repeat([0, 1], 150))).tolist() == [0]


def test_classes_without_rows_are_never_predicted():
    statistics = ClassMedians.from_matrix([[0.0], [4]], [0, 1], classes=[0, 1, 2])
    rule = l1_centers().rule(statistics, np.array([0]), np.zeros(3))
    assert np.argmax(rule.scores(np.array([[1.9], [2.1]])), axis=1).tolist() == [0, 1]


def test_no_feature():
    statistics = ClassMedians.from_matrix([[0.0], [4]], [0, 1])
    rule = l1_centers().rule(statistics, np.array([], int), np.log([0.25, 0.75]))
    for rows in (np.empty((2, 0)), sp.csr_array((2, 0))):
        np.testing.assert_allclose(rule.scores(rows), np.log([[0.25, 0.75]] * 2))
