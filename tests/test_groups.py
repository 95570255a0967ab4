"""Grouping equal columns loses nothing: every table comes back."""

from __future__ import annotations

from unittest import mock

import numba
import numpy as np
import pytest
from hypothesis import given, settings, strategies as st
from hypothesis.extra.numpy import array_shapes, arrays

from naively.selection import canonical, groups as module
from naively.selection.canonical import class_order
from naively.selection.groups import count_groups, without
from naively.statistics.sparse_table import SparseTable

tables = arrays(
    np.int64,
    array_shapes(min_dims=2, max_dims=2, min_side=1, max_side=5).map(lambda s: (4 * s[0], s[1])),
    elements=st.sampled_from([0, 0, 0, 1, 2, 255, 256, 70000]),
)


def check_groups(table, **options):
    groups = count_groups(table, **options)
    d = len(groups.size)
    assert groups.size.sum() == len(table)
    of_column = groups.columns.labels(np.arange(d))
    np.testing.assert_array_equal(groups.dense()[of_column], table)
    np.testing.assert_array_equal(np.bincount(of_column, minlength=d), groups.size)
    columns, group = groups.expand(groups.size)
    np.testing.assert_array_equal(columns, np.arange(len(table)))
    np.testing.assert_array_equal(group, of_column)
    return groups


@settings(deadline=None)  # the first call compiles
@given(tables)
def test_groups_reproduce_the_table(table):
    groups = check_groups(table)
    small = table[(table < 256).all(axis=1) & (table.sum(axis=1) <= 256)]
    large = len(table) - len(small)
    assert len(groups.size) <= len(np.unique(small, axis=0)) + large
    check_groups(table.astype(np.float64))
    check_groups(table, by_column=True)


@settings(deadline=None)
@pytest.mark.parametrize("form", [np.asarray, SparseTable.from_dense])
@given(table=tables, data=st.data())
def test_expansion_takes_the_lowest_columns_of_each_label(form, table, data):
    groups = count_groups(form(table))
    d = len(groups.size)
    label = np.array(data.draw(st.lists(st.integers(0, 2), min_size=d, max_size=d)), dtype=int)
    of_column = groups.columns.labels(label)
    available = np.bincount(of_column, minlength=3)
    quota = np.array([data.draw(st.integers(0, int(n))) for n in available])
    columns, _ = groups.columns.take(label, quota.copy())
    expected = np.concatenate([np.flatnonzero(of_column == c)[: quota[c]] for c in range(3)])
    np.testing.assert_array_equal(columns, np.sort(expected))


@pytest.mark.parametrize("n_classes", [2, 3])
def test_fractions_are_not_grouped(n_classes):
    rng = np.random.default_rng(0)
    table = rng.random((3000, n_classes))
    groups = check_groups(table)
    assert len(groups.size) == 3000
    assert groups.counts is table  # no copy


def test_a_few_fractions_among_whole_numbers():
    table = np.zeros((5000, 2))
    table[7] = 0.5, 1
    table[9] = 3, 1
    groups = check_groups(table)
    assert len(groups.size) == 3


@pytest.mark.parametrize("threads", [1, 2])
def test_many_chunks_any_number_of_threads(monkeypatch, threads):
    monkeypatch.setattr(module, "CHUNK", 100)
    monkeypatch.setattr(module, "get_num_threads", lambda: threads)
    rng = np.random.default_rng(1)
    table = rng.poisson(rng.gamma(0.3, 30, (1234, 1)) * np.ones(2))
    groups = check_groups(table)
    take = groups.size // 2
    expected = np.concatenate(
        [
            np.flatnonzero(groups.columns.labels(np.arange(len(take))) == g)[:n]
            for g, n in enumerate(take)
        ]
    )
    np.testing.assert_array_equal(groups.expand(take)[0], np.sort(expected))


def test_threads_of_numba_are_respected():
    assert module.get_num_threads() == numba.get_num_threads()


@pytest.mark.parametrize("first", [0, 300, 400_000])
def test_classes_are_ordered_by_the_first_column_that_tells_them_apart(first):
    """Dense and sparse tables alike: cells of a sparse one number their class, too."""
    table = np.ones((500_000, 3))
    table[first] = [3, 1, 2]
    for form in (table, table.astype(np.int64), SparseTable.from_dense(table)):
        assert class_order(form).tolist() == [1, 2, 0]
    table[first] = 1
    assert class_order(table).tolist() == [0, 1, 2]


@given(table=tables)
@pytest.mark.parametrize("parts", [(None,), (2, 5, None)])
def test_classes_are_in_the_order_of_their_counts(parts, table):
    expected = sorted(range(table.shape[1]), key=lambda c: table[:, c].tolist())
    with mock.patch.object(canonical, "_PARTS", parts):
        assert class_order(table).tolist() == expected
        assert class_order(SparseTable.from_dense(table)).tolist() == expected


@pytest.mark.parametrize("n_classes", [2, 3])
@pytest.mark.parametrize("wide", [False, True])
def test_counts_that_class_weights_multiply_are_grouped_like_the_counts(n_classes, wide):
    rng = np.random.default_rng(n_classes)
    counts = rng.poisson(0.7, (20_000, n_classes)).astype(float)
    counts[7] = 1000.0
    weights = np.array([1.7, 0.31, 2 / 3])[:n_classes]
    plain, weighted = counts.copy(), counts * weights
    if wide:
        plain, weighted = SparseTable.from_dense(plain), SparseTable.from_dense(weighted)
    expected, found = count_groups(plain), count_groups(weighted)
    np.testing.assert_array_equal(found.size, expected.size)
    np.testing.assert_array_equal(found.dense(), expected.dense() * weights)
    every = np.arange(len(found.size))
    np.testing.assert_array_equal(found.columns.labels(every), expected.columns.labels(every))


@pytest.mark.parametrize("n_classes", [2, 3])
@pytest.mark.parametrize("wide", [False, True])
def test_groups_without_some_columns_are_those_of_the_others(n_classes, wide):
    rng = np.random.default_rng(n_classes)
    counts = rng.poisson(rng.choice([0.0, 0.5, 200.0], (3000, 1)), (3000, n_classes))
    out = np.sort(rng.choice(3000, 200, replace=False))
    table = SparseTable.from_dense(counts) if wide else counts
    every = count_groups(table)
    labels = every.columns.labels(np.arange(len(every.size)))
    np.testing.assert_array_equal(every.columns.groups(out), labels[out])
    some, left = without(every, out), np.delete(labels, out)
    np.testing.assert_array_equal(some.size, np.bincount(left, minlength=len(every.size)))
    np.testing.assert_array_equal(some.columns.labels(np.arange(len(some.size))), left)
    take = np.minimum(some.size, 2)
    columns, groups = some.expand(take)
    expected = [c for c, g in enumerate(left) if np.sum(left[:c] == g) < 2]
    np.testing.assert_array_equal(columns, expected)
    np.testing.assert_array_equal(groups, left[columns])
    np.testing.assert_array_equal(some.columns.groups(np.arange(len(left))), left)
