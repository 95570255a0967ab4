"""Kernels against plain loops, and the ways of counting against one another."""

from __future__ import annotations

import numba
import numpy as np
import pytest
import scipy.sparse as sp
from hypothesis import HealthCheck, given, settings, strategies as st
from hypothesis.extra.numpy import arrays

import reference
from naively._kernels import class_sums as kernels
from naively._kernels.compiled import read_only
from naively.statistics import buckets, direct, source, tally
from naively.statistics.source import Quantity

NO_WEIGHTS = read_only(np.empty(0))
TYPES = [np.int32, np.int64, np.float64]


@st.composite
def problems(draw, dtype=None):
    """Dense matrix, codes of its rows, number of classes."""
    dtype = draw(st.sampled_from(TYPES)) if dtype is None else dtype
    n_rows, n_features = draw(st.integers(1, 8)), draw(st.integers(1, 20))
    n_classes = draw(st.integers(1, 5))
    elements = st.integers(0, 9) if dtype != np.float64 else st.sampled_from([0, 0.5, 1, 2.25])
    dense = draw(arrays(dtype, (n_rows, n_features), elements=elements))
    codes = draw(arrays(np.uint32, n_rows, elements=st.integers(0, n_classes - 1)))
    return dense, codes, n_classes


def compressed(matrix):
    """Arrays of a CSR or CSC matrix in the types of the kernels."""
    return (
        read_only(matrix.data),
        read_only(matrix.indices.astype(np.uint32)),
        matrix.indptr.astype(np.int64),
    )


def accumulator(dense, n_classes):
    dtype = np.float64 if dense.dtype == np.float64 else np.int64
    return np.zeros(dense.shape[1] * n_classes, dtype), np.zeros(len(dense), dtype)


@given(problems(), st.booleans())
def test_class_sums_of_compressed_rows_and_columns(problem, weighted):
    dense, codes, n_classes = problem
    weights = None
    if weighted and dense.dtype == np.float64:
        weights = np.arange(len(dense), dtype=np.float64) / 2
    expected_table, expected_totals = reference.class_sums(dense, codes, n_classes, weights)
    weights = NO_WEIGHTS if weights is None else read_only(weights)
    for kernel, matrix in (
        (kernels.class_sums_csr, sp.csr_array(dense)),
        (kernels.class_sums_csc, sp.csc_array(dense)),
    ):
        table, totals = accumulator(dense, n_classes)
        kernel(*compressed(matrix), codes, weights, n_classes, table, totals)
        np.testing.assert_array_equal(table.reshape(-1, n_classes), expected_table)
        np.testing.assert_array_equal(totals, expected_totals)


@given(problems())
def test_class_sums_of_dense_rows(problem):
    dense, codes, n_classes = problem
    expected, _ = reference.class_sums(dense, codes, n_classes)
    sums = np.ones((n_classes, dense.shape[1]), accumulator(dense, n_classes)[0].dtype)
    kernels.class_sums_dense(read_only(dense), codes, sums)
    np.testing.assert_array_equal(sums.T - 1, expected)


@given(problems(), st.integers(0, 4))
def test_partition_and_bucket_sums(problem, shift):
    dense, codes, n_classes = problem
    matrix = sp.csr_array(dense)
    data, indices, indptr = compressed(matrix)
    n_buckets = (dense.shape[1] - 1 >> shift) + 1
    rows = [[(int(j), dense[i, j].item()) for j in matrix[[i]].indices] for i in range(len(dense))]
    expected = reference.partition(rows, codes, n_classes, shift, n_buckets)

    sizes = np.zeros(n_buckets, np.int64)
    kernels.bucket_sizes(indices, shift, sizes)
    np.testing.assert_array_equal(sizes, reference.bucket_sizes(indices, shift, n_buckets))
    starts = np.concatenate([[0], np.cumsum(sizes)])

    table, totals = accumulator(dense, n_classes)
    cursors = starts[:-1].astype(np.uint64)
    cells, values = np.zeros(len(data), np.uint32), np.zeros(len(data), table.dtype)
    kernels.partition_wide_csr(
        data, indices, indptr, codes, NO_WEIGHTS, n_classes, shift, cursors, cells, values, totals
    )
    found = [
        list(zip(cells[a:b].tolist(), values[a:b].tolist(), strict=True))
        for a, b in zip(starts[:-1], starts[1:], strict=True)
    ]
    assert found == expected
    kernels.bucket_sums_wide(cells, values, starts, 0, n_buckets, 0, shift, n_classes, table)
    sums, row_totals = reference.class_sums(dense, codes, n_classes)
    np.testing.assert_array_equal(table.reshape(-1, n_classes), sums)
    np.testing.assert_array_equal(totals, row_totals)

    if dense.dtype == np.float64:
        return
    cell_bits = ((n_classes << shift) - 1).bit_length()
    cursors = starts[:-1].astype(np.uint64)
    packed = np.zeros(len(data), np.uint32)
    kernels.partition_packed_csr(
        data, indices, indptr, codes, n_classes, shift, cell_bits, cursors, packed, totals * 0
    )
    np.testing.assert_array_equal(packed, cells | values.astype(np.uint32) << cell_bits)
    table[:] = 0
    kernels.bucket_sums_packed(packed, starts, 0, n_buckets, 0, shift, cell_bits, n_classes, table)
    np.testing.assert_array_equal(table.reshape(-1, n_classes), sums)


@given(st.sampled_from(TYPES[1:]), st.lists(st.integers(0, 3), max_size=40), st.integers(0, 2**33))
def test_move_nonzero(dtype, values, first_cell):
    table = np.array(values + [0] * (-len(values) % 8), dtype=dtype) / dtype(2)
    table = table.astype(dtype)
    expected = table.copy()
    cells, moved = np.zeros(len(table) + 1, np.int64), np.zeros(len(table) + 1, dtype)
    count = kernels.move_nonzero(table, first_cell, cells, moved)
    assert cells[:count].tolist() == [first_cell + i for i, v in enumerate(expected) if v]
    assert moved[:count].tolist() == [v for v in expected.tolist() if v]
    assert not table.any()


# -- the ways -------------------------------------------------------------------------------------


@pytest.fixture
def small_limits(monkeypatch):
    """Make every way of dividing work apply to data of a few entries."""
    monkeypatch.setattr(source, "_BLOCK", 7)
    monkeypatch.setattr(tally, "_SMALL_TABLE", 0)
    monkeypatch.setattr(buckets, "BUCKET_CELLS", 8)
    monkeypatch.setattr(tally, "_LEAST_ENTRIES", 0)
    monkeypatch.setattr(buckets, "_LEAST_BUFFER", 100)
    monkeypatch.setattr(direct, "_GROUP_ENTRIES", 5)
    monkeypatch.setattr(direct, "_STRIP_CELLS", 8)
    monkeypatch.setattr(direct, "_DENSE_BLOCK", 10)
    monkeypatch.setattr(direct, "_DENSE_GROUP_ENTRIES", 40)


def ways(dense):
    """Yield a way of counting and a matrix that is counted in this way."""
    csr = sp.csr_array(dense)
    return [
        (lambda rows: buckets.sums_by_buckets(rows), csr),
        (direct.sums_of_rows, csr),
        (direct.sums_of_columns, sp.csc_array(dense)),
        (direct.sums_of_dense, dense),
        (direct.sums_of_dense, np.asfortranarray(dense)),
    ]


@pytest.mark.usefixtures("small_limits")
@pytest.mark.parametrize("dtype", [np.uint8, np.int32, np.int64, np.float64])
@pytest.mark.parametrize("n_classes", [1, 2, 7])
def test_all_ways_agree_for_any_number_of_threads(dtype, n_classes):
    rng = np.random.default_rng(n_classes)
    dense = rng.poisson(0.3, (60, 50)).astype(dtype)
    if dtype == np.float64:
        dense *= rng.random(dense.shape)
    codes = rng.integers(n_classes, size=60).astype(np.uint32)
    expected, expected_totals = reference.class_sums(dense, codes, n_classes)
    exact = dtype != np.float64
    for way, matrix in ways(dense):
        rows = source.Source(matrix, codes, NO_WEIGHTS, n_classes, Quantity(False, 0.0))
        results = []
        for threads in (1, 2):
            numba.set_num_threads(min(threads, numba.config.NUMBA_NUM_THREADS))
            results.append(way(rows))
        for first, second in zip(*results, strict=True):
            assert first.tobytes() == second.tobytes()
        table, totals = results[0]
        assert table.dtype == (np.int64 if exact else np.float64)
        tolerance = 0 if exact else 1e-13
        np.testing.assert_allclose(table.reshape(50, n_classes), expected, rtol=tolerance)
        np.testing.assert_allclose(totals, expected_totals, rtol=tolerance)


@pytest.mark.usefixtures("small_limits")
@given(problems(), st.floats(0, 3))
@settings(max_examples=50, suppress_health_check=[HealthCheck.function_scoped_fixture])
def test_all_ways_agree_with_weights(problem, first_weight):
    dense, codes, n_classes = problem
    weights = np.linspace(first_weight, 2, len(dense))
    expected, expected_totals = reference.class_sums(dense, codes, n_classes, weights)
    for way, matrix in ways(dense):
        rows = source.Source(matrix, codes, read_only(weights), n_classes, Quantity(False, 0.0))
        table, totals = way(rows)
        assert table.dtype == np.float64
        np.testing.assert_allclose(table.reshape(-1, n_classes), expected, rtol=1e-13)
        np.testing.assert_array_equal(totals, expected_totals)


@pytest.mark.usefixtures("small_limits")
def test_values_too_large_to_pack_are_counted_all_the_same():
    dense = np.zeros((4, 40), dtype=np.int64)
    dense[:, 3], dense[2, 39] = [1, 2**29, 5, 2**40], 2**61
    codes = np.array([0, 1, 1, 0], dtype=np.uint32)
    table, totals = tally.tally(sp.csr_array(dense), codes, None, 2, Quantity(False, 0.0))
    expected, expected_totals = reference.class_sums(dense, codes, 2)
    np.testing.assert_array_equal(table, expected)
    np.testing.assert_array_equal(totals, expected_totals)


@pytest.mark.usefixtures("small_limits")
@given(problems())
@settings(max_examples=50, suppress_health_check=[HealthCheck.function_scoped_fixture])
def test_nonzero_sums_are_those_of_the_table(problem):
    dense, codes, n_classes = problem
    rows = source.source_of(sp.csr_array(dense), codes, None, n_classes, Quantity(False, 0.0))
    (cells, values), totals = buckets.nonzero_sums_by_buckets(rows)
    table, row_totals = reference.class_sums(dense, codes, n_classes)
    np.testing.assert_array_equal(cells, np.flatnonzero(table))
    np.testing.assert_array_equal(values, table.reshape(-1)[np.flatnonzero(table)])
    np.testing.assert_array_equal(totals, row_totals)


def test_bucket_limits_cover_all_columns():
    for n_columns in (1, 2, 3, 1000, 10**6, 2**31):
        for n_classes in (1, 2, 20, 40_000):
            matrix = sp.csr_array((1, n_columns), dtype=np.int32)
            codes = np.zeros(1, np.uint32)
            rows = source.Source(matrix, codes, NO_WEIGHTS, n_classes, Quantity(False, 0.0))
            shift = buckets._shift(rows, 512)
            n_buckets = buckets._n_buckets(rows, shift)
            assert n_buckets << shift >= n_columns
            assert n_buckets <= 512


def test_cut_and_shares_cover_every_line_once():
    rng = np.random.default_rng(0)
    for _ in range(200):
        indptr = np.concatenate([[0], np.cumsum(rng.integers(0, 4, rng.integers(1, 30)))])
        first = int(rng.integers(0, len(indptr)))
        last = int(rng.integers(first, len(indptr)))
        spans = list(source.cut(indptr, (first, last), 5))
        for pieces in (spans, source.shares(indptr, (first, last), int(rng.integers(1, 6)))):
            assert [i for a, b in pieces for i in range(a, b)] == list(range(first, last))
        assert all(b - a == 1 or indptr[b] - indptr[a] <= 5 for a, b in spans)
