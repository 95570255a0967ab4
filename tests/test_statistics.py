"""Everything that adds up: what does not belong together, and what rounding leaves."""

import pickle
from functools import reduce
from operator import add

import numpy as np
import pytest
import scipy.sparse as sp
from hypothesis import given, strategies as st
from hypothesis.extra.numpy import array_shapes, arrays

from agreement import agree, arrays_of
from naively import ClassCategories, ClassCounts, ClassMoments
from naively.statistics.sparse_table import SparseTable
from subjects import STATISTICS, M, gathered

KINDS = {name: kind for name, kind in STATISTICS.items() if name != "mixed"}  # in test_mixed.py
every_kind = pytest.mark.parametrize("kind", KINDS.values(), ids=KINDS)


@every_kind
def test_a_hundred_batches_of_a_row_in_a_tree_or_in_a_line(kind):
    rng = np.random.default_rng(0)
    X, y = rng.choice(kind.values, (100, M)), rng.integers(0, 3, 100)
    each = [gathered(kind, X[i : i + 1], y[i : i + 1]) for i in range(100)]
    agree(reduce(add, each), gathered(kind, X, y))
    while len(each) > 1:
        each = [sum(each[i : i + 2]) for i in range(0, len(each), 2)]
    agree(each[0], gathered(kind, X, y))


@every_kind
def test_values_never_change_and_travel(kind):
    X, y = np.array([[0, 1, 2, 5], [1, 0, 0, 2]]), ["a", "b"]
    a = gathered(kind, X, y)
    kept = pickle.loads(pickle.dumps(a))
    assert kept.equals(a)
    _ = a + a, a - a, a.take([0]), a.of_classes([1])
    assert kept.equals(a)
    for some in ([0], [1], [0, 1]):
        view = a.of_classes(some, copy=False)
        assert view.equals(a.of_classes(some))
        assert (view + view).equals(a.of_classes(some) + a.of_classes(some))
        assert view.take([2, 0]).equals(a.of_classes(some).take([2, 0]))
    assert kept.equals(a)
    assert not kept.equals(a + a)
    assert not a.equals(a.of_classes([0, 1], ["a", "c"]))
    with pytest.raises(AttributeError):
        a.classes = a.classes


# -- what does not belong together ---------------------------------------------------------------


@every_kind
def test_wrong_partners_are_refused(kind):
    X = np.ones((2, M), dtype=int)
    a = gathered(kind, X, ["a", "b"])
    with pytest.raises(ValueError, match="n_features=4 and n_features=3"):
        a + kind.of.zero(3, **a._settings)
    with pytest.raises(ValueError, match="n_features=4 and n_features=3"):
        a - kind.of.zero(3, **a._settings)
    for labels in (["a", "c"], ["c", "d"]):  # as many classes, but others
        with pytest.raises(ValueError, match="labels outside"):
            a - gathered(kind, X, labels)
    with pytest.raises(ValueError, match="Labels must be of one kind"):
        a + gathered(kind, X, [0, 1])
    with pytest.raises(ValueError, match="negative counts"):
        a - (a + a)
    with pytest.raises(ValueError, match="distinct labels"):
        a.of_classes([0, 1], ["x", "x"])
    with pytest.raises(IndexError):
        a.take([M])
    stranger = ClassMoments.zero(M) if kind.of is not ClassMoments else ClassCounts.zero(M)
    for operation in (add, lambda one, two: one - two):
        for other in (stranger, 1, None):
            with pytest.raises(TypeError, match="unsupported operand"):
                operation(a, other)
    assert not a.equals(stranger)


@pytest.mark.parametrize(
    ("one", "two"),
    [
        (ClassCounts.zero(2), ClassCounts.zero(2, presence=True)),
        (
            ClassCounts.zero(2, presence=True),
            ClassCounts.zero(2, presence=True, threshold=1.0),
        ),
        (ClassMoments.zero(2), ClassMoments.zero(2, deviations=False)),
    ],
)
def test_other_settings_count_something_else(one, two):
    for operation in (add, lambda a, b: a - b):
        with pytest.raises(ValueError, match="must count the same thing"):
            operation(one, two)


# -- rounding ------------------------------------------------------------------------------------


@every_kind
def test_what_counts_as_nothing(kind):
    """A share of 1e-12 of what it was taken from, from both sides."""
    X, y = np.ones((2, M), dtype=int), ["a", "a"]
    for share, stays in ((3e-12, True), (3e-13, False)):
        weights = np.array([1.0, share])
        rest = gathered(kind, X, y, weights) - gathered(kind, X[:1], y[:1], weights[:1])
        assert (rest.class_weight > 0).tolist() == [stays]
        for name, array in arrays_of(rest).items():
            if name not in ("class_rows", "scatter"):
                assert (np.any(array) == stays) or array is None, name


@pytest.mark.parametrize("value", [1.0, 0.1, -3e5])
def test_rows_that_are_alike_have_no_squares_however_they_came_to_be_alone(value):
    rng = np.random.default_rng(0)
    X, y = np.vstack([np.full((5, M), value), rng.normal(0, 3, (40, M))]), np.zeros(45, int)
    rest = ClassMoments.from_matrix(X, y) - ClassMoments.from_matrix(X[5:], y[5:])
    assert not rest.scatter.any()
    far = ClassMoments.from_matrix(X, y) - ClassMoments.from_matrix(X[:5], y[:5])
    np.testing.assert_allclose(far.scatter[:, 0], 40 * X[5:].var(axis=0), rtol=1e-4)


def test_rounding_of_a_fold_is_no_absence():
    """Weights that were summed in another order must not lift the veto of a word in all rows."""
    from naively.models.bernoulli import bernoulli

    rng = np.random.default_rng(0)
    for _ in range(20):
        X, y, w = rng.integers(0, 2, (40, 6)), np.arange(40) % 2, rng.random(40)
        X[y == 1, :3] = 1
        settings, fold = {"presence": True}, rng.random(40) < 0.2
        whole = ClassCounts.from_matrix(X, y, w, **settings)
        part = ClassCounts.from_matrix(X[fold], y[fold], w[fold], classes=[0, 1], **settings)
        rest = ClassCounts.from_matrix(X[~fold], y[~fold], w[~fold], **settings)
        rules = [
            bernoulli(0.0).rule(each, np.arange(6), np.zeros(2)) for each in (whole - part, rest)
        ]
        one, two = (rule.scores(1 - np.eye(6, dtype=int)) for rule in rules)
        np.testing.assert_allclose(one, two, rtol=1e-9)


@pytest.mark.parametrize("kind", [ClassCounts, ClassMoments, ClassCategories])
def test_weights_of_classes_are_those_of_their_rows(kind):
    local = np.random.default_rng(0)
    X, y = local.integers(0, 4, (30, 5)), np.arange(30) % 3
    by = np.array([0.5, 1.0, 3.0])
    rows = kind.from_matrix(X, y, by[y])
    for form in (X, sp.csr_array(X)):
        agree(kind.from_matrix(form, y).weighted(by), rows, rounded=("scatter", "total", "table"))
    if kind is ClassCounts:
        wide = kind.from_matrix(sp.csr_array(X), y, dense_cells=1).weighted(by)
        agree(wide, rows, rounded=("table",))


@given(
    table=arrays(np.int64, array_shapes(min_dims=2, max_dims=2, max_side=5),
                 elements=st.sampled_from([0, 0, 1, 7])),
    data=st.data(),
)  # fmt: skip
def test_a_sparse_table_is_its_dense_one(table, data):
    def some(n):
        return np.array(data.draw(st.lists(st.integers(0, n - 1), unique=True)), dtype=np.int64)

    (m, n_classes), sparse = table.shape, SparseTable.from_dense(table)
    classes, columns = some(n_classes), some(m)
    at = np.sort(data.draw(st.permutations(range(n_classes + 2)))[:n_classes])
    by = np.arange(1.0, n_classes + 1)
    spread = np.zeros((m, n_classes + 2), dtype=np.int64)
    spread[:, at] = table
    for found, expected in [
        (sparse.toarray(), table),
        (sparse.T.toarray(), table.T),
        (sparse[columns], table[columns]),
        (sparse.sum(axis=0), table.sum(axis=0)),
        (sparse.sum(axis=1), table.sum(axis=1)),
        (sparse.sum(), table.sum()),
        (sparse.occurring()[0], np.flatnonzero(table.any(axis=1))),
        (sparse.of_classes(classes).toarray(), table[:, classes]),
        (sparse.spread(at, n_classes + 2).toarray(), spread),
        (sparse.scaled(by).toarray(), table * by),
        ((sparse + sparse).toarray(), 2 * table),
        ((-sparse).toarray(), -table),
    ]:
        np.testing.assert_array_equal(found, expected)
    assert sparse.equals(SparseTable.from_dense(table))
    assert not sparse.equals(SparseTable.from_dense(table + (np.arange(m) == 0)[:, None]))
