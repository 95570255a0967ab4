"""Containers become CSR, CSC or dense arrays of the same numbers."""

from __future__ import annotations

import tracemalloc

import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pytest
import scipy.sparse as sp

from naively.models.counting import presence_of
from naively.statistics.matrix import as_matrix, canonical
from naively.statistics.source import distinct

DENSE = np.array([[2, 0, 1], [0, 3, 0]])


def values(matrix):
    return matrix.toarray() if sp.issparse(matrix) else matrix


def test_arrays_of_the_right_form_are_not_copied():
    for matrix in (DENSE, sp.csr_matrix(DENSE), sp.csc_array(DENSE), np.asfortranarray(DENSE)):
        assert as_matrix(matrix) is matrix


@pytest.mark.parametrize("format", ["coo", "lil", "dok", "bsr", "dia"])
@pytest.mark.parametrize("dtype", [bool, np.uint8, np.int64, np.float32])
def test_other_sparse_formats_become_rows(format, dtype):
    matrix = as_matrix(sp.csr_array(DENSE.astype(dtype)).asformat(format))
    assert matrix.format == "csr"
    np.testing.assert_array_equal(matrix.toarray(), DENSE.astype(dtype))


def test_duplicates_of_coordinates_are_summed_without_wrapping():
    for kind in (sp.coo_array, sp.coo_matrix):
        X = kind((np.array([200, 100], np.uint8), ([0, 0], [1, 1])), shape=(1, 2))
        assert as_matrix(X).toarray().tolist() == [[0, 300]]
        assert X.nnz == 2


@pytest.mark.parametrize(
    "frame",
    [
        pd.DataFrame({"a": [1, 0], "b": [True, False]}),
        pd.DataFrame({"a": [1, 0], "b": [1.0, 0.0]}),
        pd.DataFrame({"a": np.array([1, 0], np.uint8), "b": np.array([1, 0], np.int8)}),
        pd.DataFrame(
            {"a": pd.array([1, 0], dtype="Int64"), "b": pd.array([True, False], "boolean")}
        ),
        pd.DataFrame({"a": pd.array([1, 0], dtype="Int64"), "b": [1.0, 0.0]}),
        pd.DataFrame({"a": [1, 0], "b": [1, 0]}, dtype="int64[pyarrow]"),
        pd.DataFrame({"a": np.array([1, 0], object), "b": [1, 0]}),
        pl.DataFrame({"a": [1, 0], "b": [True, False]}),
        pl.DataFrame({"a": [1, 0], "b": [1.0, 0.0]}),
    ],
)
def test_frames_of_mixed_columns_become_numbers(frame):
    matrix = as_matrix(frame)
    assert matrix.dtype.kind in "iuf"
    assert matrix.tolist() == [[1, 1], [0, 0]]


def test_missing_values_of_frames_become_nan():
    for frame in (
        pd.DataFrame({"a": pd.array([1, None], dtype="Int64"), "b": [0, 1]}),
        pd.DataFrame({"a": [1, None], "b": [0, 1]}),
        pl.DataFrame({"a": [1, None], "b": [0, 1]}),
    ):
        matrix = as_matrix(frame)
        np.testing.assert_array_equal(matrix, [[1, 0], [np.nan, 1]])


def test_frames_of_sparse_columns_stay_sparse():
    frame = pd.DataFrame.sparse.from_spmatrix(sp.csr_matrix(DENSE))
    matrix = as_matrix(frame)
    assert matrix.format == "csc"
    np.testing.assert_array_equal(matrix.toarray(), DENSE)
    frame["dense"] = [0, 7]
    frame["ones"] = pd.arrays.SparseArray([1, 4], fill_value=1)
    frame["gaps"] = pd.arrays.SparseArray([np.nan, 2.0])
    frame["runs"] = pd.arrays.SparseArray([0, 5], kind="block")
    expected = np.column_stack([DENSE, [0, 7], [1, 4], [np.nan, 2], [0, 5]])
    np.testing.assert_array_equal(as_matrix(frame).toarray(), expected)


def test_a_large_sparse_frame_costs_what_its_entries_cost():
    X = sp.random(1000, 5000, density=0.001, format="csc", random_state=0)
    frame = pd.DataFrame.sparse.from_spmatrix(X)
    tracemalloc.start()
    matrix = as_matrix(frame)
    peak = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    assert peak < 15e6  # 40 MB dense
    assert (matrix != X).nnz == 0


def test_canonical_sums_duplicates_of_a_copy():
    X = sp.csr_matrix((np.array([100, 100, 1], np.int8), [1, 1, 0], [0, 3]), shape=(1, 2))
    matrix = canonical(X)
    assert matrix.toarray().tolist() == [[1, 200]]
    assert X.indices.tolist() == [1, 1, 0]
    assert X.data.tolist() == [100, 100, 1]
    assert canonical(matrix) is matrix
    flags = sp.csr_matrix((np.array([True, True]), [1, 1], [0, 2]), shape=(1, 2))
    assert canonical(flags).data.tolist() == [True]


@pytest.mark.parametrize(
    ("X", "message"),
    [
        ([1, 2], "array of 1"),
        pytest.param(
            *(_line := sp.coo_array(np.array([1, 2])), "sparse array of 1"),
            marks=pytest.mark.skipif(len(_line.shape) == 2, reason="before scipy 1.13 it has two"),
        ),
        (np.zeros((1, 1), complex), "dtype complex128"),
        (sp.csr_matrix(np.ones((1, 1), complex)), "dtype complex128"),
        ([["a"]], "dtype <U1"),
        (pd.DataFrame({"a": ["x"]}), "an object that is none|dtype"),
        (pl.DataFrame({"a": ["x"]}), "an object that is none|dtype"),
        (pd.Series([1, 2]), "array of 1"),
    ],
)
def test_what_is_no_matrix_of_real_numbers_is_refused(X, message):
    with pytest.raises(ValueError, match=message):
        as_matrix(X)


def test_values_do_not_change():
    for X in (sp.coo_matrix(DENSE), sp.lil_array(DENSE), pd.DataFrame(DENSE), DENSE.tolist()):
        np.testing.assert_array_equal(values(as_matrix(X)), DENSE)


BIG = 2**63 + 2**53 + 1


@pytest.mark.parametrize(
    ("frame", "expected"),
    [
        (pd.DataFrame({"a": pd.array([BIG, 1], dtype="UInt64")}), [[BIG], [1]]),
        (pd.DataFrame({"a": [BIG, 1]}, dtype="uint64[pyarrow]"), [[BIG], [1]]),
        (pd.DataFrame({"a": [BIG, 1], "b": np.array([3, 4])}), [[BIG, 3], [1, 4]]),
        (
            pd.DataFrame({"a": pd.array([BIG, 1], dtype="UInt64"), "b": np.array([3, 4])}),
            [[BIG, 3], [1, 4]],
        ),
        (
            pd.DataFrame({"a": np.array([2**53 + 1], np.uint64), "b": np.array([-1])}),
            [[2**53 + 1, -1]],
        ),
        (pd.DataFrame({"a": np.array([2**53 + 1, 1], object)}), [[2**53 + 1], [1]]),
        (np.array([[BIG, 1]], object), [[BIG, 1]]),
        ([[BIG, 1], [2**53 + 1, 2]], [[BIG, 1], [2**53 + 1, 2]]),
        ([[np.uint64(2**53 + 1), np.int64(-1)]], [[2**53 + 1, -1]]),
        (pl.DataFrame({"a": [BIG], "b": [3]}, schema={"a": pl.UInt64, "b": pl.Int64}), [[BIG, 3]]),
        (pa.table({"a": pa.array([2**53 + 1], pa.uint64()), "b": [-1]}), [[2**53 + 1, -1]]),
    ],
)
def test_whole_numbers_that_doubles_round_stay_exact(frame, expected):
    assert as_matrix(frame).tolist() == expected


def test_whole_numbers_of_two_types_stay_exact_in_a_sparse_frame():
    kinds = {"a": pd.SparseDtype(np.uint64, 0), "b": pd.SparseDtype(np.int64, 0)}
    frame = pd.DataFrame({"a": [2**53 + 1, 0], "b": [2**53 + 1, -1]}).astype(kinds)
    assert as_matrix(frame).toarray().tolist() == [[2**53 + 1, 2**53 + 1], [0, -1]]
    partly = as_matrix(frame.astype({"b": "int64"}))
    assert partly.toarray().tolist() == [[2**53 + 1, 2**53 + 1], [0, -1]]


@pytest.mark.parametrize(
    "X",
    [
        np.array([["1", "2"]], object),
        np.array([[1, b"2"]], object),
        pd.DataFrame({"a": ["1", "2"]}),
        pd.DataFrame({"a": ["1", "2"]}, dtype="string"),
        pd.DataFrame({"a": ["1", "2"]}, dtype="category"),
        pd.DataFrame({"a": pd.arrays.SparseArray([0, 1]), "b": ["1", "2"]}),
        pl.DataFrame({"a": ["1", "2"]}),
        pl.DataFrame({"a": ["1", "2"]}, schema={"a": pl.Categorical}),
    ],
)
def test_text_of_digits_is_text(X):
    with pytest.raises(ValueError, match="X must hold real numbers"):
        as_matrix(X)


@pytest.mark.parametrize("make", [sp.csr_array, sp.csc_array])
@pytest.mark.parametrize("stale", [False, True])
def test_rows_are_distinct_and_sorted_only_to_join_entries(make, stale):
    """Vectorizers renumber columns, and leave the flag of what was in order before."""
    plain = make((np.array([4, 5, 6]), np.array([2, 0, 1]), np.array([0, 2, 3, 3])), (3, 3))
    parts = make((np.array([4, 5, 6]), np.array([2, 2, 1]), np.array([0, 2, 3, 3])), (3, 3))
    for matrix in (plain, parts) if stale else ():
        matrix.has_canonical_format = True
    found, joined = distinct(plain), distinct(parts)
    assert np.shares_memory(found.indices, plain.indices)
    assert not found.has_sorted_indices
    assert joined.data.tolist() == [9, 6]
    assert parts.data.tolist() == [4, 5, 6]
    np.testing.assert_array_equal(joined.toarray(), canonical(parts).toarray())


def test_presence_of_entries_in_parts_and_out_of_order():
    X = sp.csr_array((np.array([3.0, -2.0, 0.0, 1.0]), np.array([1, 1, 2, 0]), np.array([0, 4])),
                     (1, 3))  # fmt: skip
    found = presence_of(0.0, X)
    assert found.toarray().tolist() == [[1.0, 1.0, 0.0]]
    assert found.nnz == 2  # the zero is not stored
    assert X.nnz == 4
    assert presence_of(1.0, X).toarray().tolist() == [[0.0, 0.0, 0.0]]
