"""Class statistics: right values from any container, errors that explain, laws of addition."""

from __future__ import annotations

import tracemalloc

import numpy as np
import pandas as pd
import polars as pl
import pytest
import scipy.sparse as sp
from hypothesis import given, settings, strategies as st

import reference
from naively import (
    ClassCategories,
    ClassCounts,
    ClassMedians,
    ClassMixed,
    ClassMoments,
    HybridNB,
    SparseGaussianNB,
    SparseL1Centers,
    SparseMixedNB,
    SparseMultinomialNB,
)
from naively.statistics.sparse_table import SparseTable

rng = np.random.default_rng(0)
COUNTS = rng.poisson(0.5, (40, 7))
LABELS = rng.integers(0, 3, 40)

CONTAINERS = {
    "dense": lambda X: X,
    "fortran": np.asfortranarray,
    "strided": lambda X: np.repeat(np.repeat(X, 2, axis=0), 3, axis=1)[::2, ::3],
    "list": lambda X: X.tolist(),
    "csr": sp.csr_matrix,
    "csc": sp.csc_array,
    "coo": sp.coo_array,
    "lil": sp.lil_matrix,
    "bsr": sp.bsr_array,
    "pandas": pd.DataFrame,
    "sparse pandas": lambda X: pd.DataFrame.sparse.from_spmatrix(sp.csr_matrix(X)),
    "polars": lambda X: pl.DataFrame(X, schema=[str(j) for j in range(X.shape[1])]),
}
containers = pytest.mark.parametrize("container", CONTAINERS.values(), ids=CONTAINERS)


def histogram(counts):
    return dict(zip(counts.length_values.tolist(), counts.length_weight.tolist(), strict=True))


def assert_right(counts, dense, labels, weights=None):
    """Every field against plain loops."""
    classes, codes = np.unique(labels, return_inverse=True)
    kept = np.ones(len(codes)) if weights is None else np.asarray(weights)
    table, totals = reference.class_sums(dense, codes, len(classes), weights)
    np.testing.assert_array_equal(counts.classes, classes)
    np.testing.assert_array_equal(counts.table, table)
    np.testing.assert_array_equal(counts.feature_count, table.T)
    np.testing.assert_array_equal(
        counts.class_rows, [np.sum((codes == c) & (kept > 0)) for c in range(len(classes))]
    )
    np.testing.assert_array_equal(
        counts.class_weight, [kept[codes == c].sum() for c in range(len(classes))]
    )
    present = kept > 0
    assert histogram(counts) == reference.length_histogram(
        totals[present], codes[present], len(classes), kept[present]
    )


# -- containers and types -------------------------------------------------------------------------


@containers
def test_every_container_gives_the_same_statistics(container):
    counts = ClassCounts.from_matrix(container(COUNTS), LABELS)
    assert_right(counts, COUNTS, LABELS)
    assert counts.table.dtype == np.int64
    assert counts.equals(ClassCounts.from_matrix(COUNTS, LABELS))


@containers
def test_every_container_gives_the_same_presence_counts(container):
    counts = ClassCounts.from_matrix(container(COUNTS), LABELS, presence=True, threshold=1)
    assert_right(counts, (COUNTS > 1).astype(int), LABELS)
    assert counts.presence
    assert counts.threshold == 1


@pytest.mark.parametrize(
    "dtype",
    [
        bool,
        "i1",
        "i2",
        "i4",
        "i8",
        "u1",
        "u2",
        "u4",
        "u8",
        "f2",
        "f4",
        "f8",
        "longdouble",
        ">i4",
        ">f8",
    ],
)
@pytest.mark.parametrize("container", [np.asarray, sp.csr_matrix, sp.csc_matrix])
def test_every_type_is_counted_exactly(dtype, container):
    X = COUNTS.astype(dtype)
    if container is not np.asarray:  # SciPy knows fewer types
        X = container(
            X.astype(np.float32) if dtype == "f2" else X.astype(X.dtype.newbyteorder("="))
        )
    counts = ClassCounts.from_matrix(X, LABELS)
    assert_right(counts, COUNTS.astype(bool).astype(int) if dtype is bool else COUNTS, LABELS)
    whole = np.dtype(dtype).kind in "biu"
    assert counts.table.dtype == (np.int64 if whole else np.float64)
    assert ClassCounts.from_matrix(X, LABELS, presence=True).table.dtype == np.int64


def test_small_integers_do_not_wrap_around():
    X = np.full((600, 2), 255, np.uint8)
    for container in (np.asarray, sp.csr_matrix, sp.csc_matrix, sp.coo_matrix):
        counts = ClassCounts.from_matrix(container(X), np.repeat([0, 1], 300))
        assert counts.table.tolist() == [[300 * 255, 300 * 255]] * 2
        assert counts.length_values.tolist() == [510]


def test_floats_of_low_precision_are_summed_in_high_precision():
    X = np.ones((1, 1), np.float32) * 2**24
    X = np.vstack([X, np.ones((3, 1), np.float32)])
    assert ClassCounts.from_matrix(X, [0, 0, 0, 0]).table[0, 0] == 2**24 + 3
    X = np.full((40, 1), 60000, np.float16)
    assert ClassCounts.from_matrix(X, np.zeros(40, int)).table[0, 0] == 40 * 60000


def test_large_integers_are_counted_exactly_or_refused():
    X = np.array([[2**61, 1], [2**61 - 1, 0]])
    assert ClassCounts.from_matrix(X, [0, 0]).table.tolist() == [[2**62 - 1], [1]]
    X = 2 * X
    for container in (np.asarray, sp.csr_matrix, sp.csc_matrix):
        for dtype in (np.int64, np.uint64):
            with pytest.raises(ValueError, match="pass X as float64"):
                ClassCounts.from_matrix(container(X.astype(dtype) + dtype(2)), [0, 0])
        with pytest.raises(ValueError, match="pass X as float64"):
            ClassCounts.from_matrix(container(np.array([[2**63 + 5]], dtype=np.uint64)), [0])
    huge = np.array([[2**63 + 5]], dtype=np.uint64)
    assert ClassCounts.from_matrix(huge, [0], presence=True).table[0, 0] == 1


@pytest.mark.parametrize("dtype", [np.int32, np.int64])
@pytest.mark.parametrize("format", ["csr", "csc"])
def test_indices_of_both_widths(dtype, format):
    X = sp.csr_matrix(COUNTS).asformat(format)
    X.indices, X.indptr = X.indices.astype(dtype), X.indptr.astype(dtype)
    assert_right(ClassCounts.from_matrix(X, LABELS), COUNTS, LABELS)


def test_duplicates_are_summed():
    D = sp.csr_matrix((np.ones(4), [0, 0, 1, 1], [0, 2, 3, 4]), shape=(3, 2))
    y = [0, 1, 1]
    assert ClassCounts.from_matrix(D, y).feature_count.tolist() == [[2, 0], [0, 2]]
    assert ClassCounts.from_matrix(D, y, presence=True).feature_count.tolist() == [[1, 0], [0, 2]]
    assert ClassCounts.from_matrix(D, y, presence=True, threshold=1).table.sum() == 1
    assert ClassCounts.from_matrix(D.astype(bool), y).feature_count.tolist() == [[1, 0], [0, 2]]
    assert D.nnz == 4
    small = sp.coo_array((np.array([200, 100], np.uint8), ([0, 0], [0, 0])), shape=(1, 1))
    assert ClassCounts.from_matrix(small, [0]).table[0, 0] == 300
    assert ClassCounts.from_matrix(small.tocsr(copy=True), [0]).table[0, 0] in (300, 44)
    csr = sp.csr_array((np.array([200, 100], np.uint8), [0, 0], [0, 2]), shape=(1, 1))
    assert ClassCounts.from_matrix(csr, [0]).table[0, 0] == 300
    assert ClassCounts.from_matrix(csr, [0], presence=True, threshold=250).table[0, 0] == 1


@pytest.mark.parametrize("dtype", [np.int32, np.int64, np.float64])
def test_negative_entries_are_accepted_where_duplicates_make_up_for_them(dtype):
    C = sp.csr_matrix((np.array([2, -2, 1, 3], dtype), [0, 0, 1, 0], [0, 2, 3, 4]), shape=(3, 2))
    for matrix in (C, C.tocsc()):
        counts = ClassCounts.from_matrix(matrix, [0, 1, 1])
        assert counts.feature_count.tolist() == [[0, 0], [3, 1]]
        assert ClassCounts.from_matrix(matrix, [0, 1, 1], presence=True).table.sum() == 2
    assert C.nnz == 4


def test_stored_zeros_are_absent():
    Z = sp.csr_matrix((np.array([0.0, 1, 1]), [0, 1, 0], [0, 2, 3, 3]), shape=(3, 2))
    counts = ClassCounts.from_matrix(Z, [0, 1, 1], presence=True)
    assert counts.feature_count.tolist() == [[0, 1], [1, 0]]
    assert Z.nnz == 3


def test_input_is_read_only_unsorted_and_unchanged():
    arrays = np.array([1.0, 2, 3, 4, 5]), np.array([2, 0, 1, 2, 0]), np.array([0, 2, 4, 5])
    A = sp.csr_matrix(arrays, shape=(3, 3))
    for array in (A.data, A.indices, A.indptr):
        array.setflags(write=False)
    y, w = np.array([0, 1, 1]), np.ones(3)
    y.setflags(write=False)
    w.setflags(write=False)
    for matrix in (A, A.tocsc(), A.toarray()):
        for weights in (None, w):
            counts = ClassCounts.from_matrix(matrix, y, weights)
            assert counts.feature_count.tolist() == [[2, 0, 1], [5, 3, 4]]
        ClassCounts.from_matrix(matrix, y, presence=True)
    assert A.indices.tolist() == [2, 0, 1, 2, 0]
    assert not A.has_sorted_indices


def test_memory_maps(tmp_path):
    np.save(tmp_path / "X.npy", COUNTS)
    X = np.load(tmp_path / "X.npy", mmap_mode="r")
    assert_right(ClassCounts.from_matrix(X, LABELS), COUNTS, LABELS)
    csr = sp.csr_matrix(COUNTS)
    for part in ("data", "indices", "indptr"):
        np.save(tmp_path / f"{part}.npy", getattr(csr, part))
    parts = [
        np.load(tmp_path / f"{part}.npy", mmap_mode="r") for part in ("data", "indices", "indptr")
    ]
    mapped = sp.csr_matrix(tuple(parts), shape=csr.shape)
    assert_right(ClassCounts.from_matrix(mapped, LABELS), COUNTS, LABELS)


def test_memory_does_not_grow_with_rows_times_classes():
    X = sp.random(20_000, 1000, density=0.002, format="csr", random_state=0)
    y = np.arange(20_000) % 2000
    for matrix in (X, X.tocsc()):
        ClassCounts.from_matrix(matrix[:10], y[:10])  # compiles
        tracemalloc.start()
        ClassCounts.from_matrix(matrix, y)
        peak = tracemalloc.get_traced_memory()[1]
        tracemalloc.stop()
        table = 2000 * 1000 * 8
        assert peak < 3.5 * table


def test_sparse_data_are_not_made_dense():
    wide = sp.random(100, 500_000, density=1e-6, format="csr", random_state=0)
    y = np.arange(100) % 2
    expected = ClassCounts.from_matrix(wide, y)
    assert expected.table.sum() == pytest.approx(wide.sum())
    for matrix in (wide, wide.tocsc(), wide.tocoo()):
        tracemalloc.start()
        counted = ClassCounts.from_matrix(matrix, y)
        peak = tracemalloc.get_traced_memory()[1]
        tracemalloc.stop()
        assert counted.equals(expected)
        assert peak < 100 * 500_000 * 8 / 4  # of dense rows


def test_statistics_do_not_depend_on_how_columns_are_stored_for_real_numbers_either():
    X = sp.random(300, 50, density=0.3, format="csr", random_state=1)
    y = np.arange(300) % 3
    expected = ClassCounts.from_matrix(X, y)
    for matrix in (X.tocsc(), X.toarray(), np.asfortranarray(X.toarray())):
        assert ClassCounts.from_matrix(matrix, y).table.tobytes() == expected.table.tobytes()


# -- errors ---------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    "container", [np.asarray, sp.csr_matrix, sp.csc_matrix, sp.coo_matrix, pd.DataFrame]
)
@pytest.mark.parametrize("presence", [False, True])
@pytest.mark.parametrize(
    ("bad", "message"),
    [
        (np.nan, "NaN at row 2, column 1"),
        (np.inf, "infinity: inf at row 2, column 1"),
        (-np.inf, "infinity: -inf at row 2, column 1"),
    ],
)
@pytest.mark.parametrize("dtype", [np.float16, np.float32, np.float64])
def test_values_that_are_not_finite(container, presence, bad, message, dtype):
    if container not in (np.asarray, pd.DataFrame) and dtype == np.float16:
        dtype = np.float32  # SciPy has no half floats
    X = np.array([[1, 0, 2], [0, 0, 1], [3, bad, 1]], dtype)
    with pytest.raises(ValueError, match=message):
        ClassCounts.from_matrix(container(X), [0, 1, 1], presence=presence)


@pytest.mark.parametrize("container", [np.asarray, sp.csr_matrix, sp.csc_matrix, pd.DataFrame])
@pytest.mark.parametrize("dtype", [np.int8, np.int32, np.int64, np.float64])
def test_negative_values(container, dtype):
    X = container(np.array([[1, 0], [0, 4], [3, -2]], dtype))
    with pytest.raises(
        ValueError, match=r"Negative values in data passed to .*-2.* row 2, column 1"
    ):
        ClassCounts.from_matrix(X, [0, 1, 1])
    counts = ClassCounts.from_matrix(X, [0, 1, 1], presence=True)
    assert counts.table.tolist() == [[1, 1], [0, 1]]


def test_negative_zero_is_zero():
    for container in (np.asarray, sp.csr_matrix):
        counts = ClassCounts.from_matrix(container(np.array([[-0.0, 1.0]])), [0])
        assert counts.table.tolist() == [[0], [1]]


@pytest.mark.parametrize("X", [[[1e308, 1e308], [0, 1]], [[1e308, 0], [1e308, 1]]])
def test_finite_values_that_add_up_to_infinity(X):
    for container in (np.asarray, sp.csr_matrix, sp.csc_matrix):
        with pytest.raises(ValueError, match="too large for sums in double precision"):
            ClassCounts.from_matrix(container(np.array(X)), [0, 0])


def test_thresholds():
    X = np.array([[-1.0, 0.5], [2, 0]])
    assert ClassCounts.from_matrix(X, [0, 1], presence=True, threshold=-0.5).table.tolist() == [
        [0, 1],
        [1, 1],
    ]
    for container in (sp.csr_matrix, sp.csc_array):
        with pytest.raises(ValueError, match=r"`threshold` must be >= 0 for sparse X.*-0.5"):
            ClassCounts.from_matrix(container(X), [0, 1], presence=True, threshold=-0.5)
    with pytest.raises(ValueError, match="`threshold` must be a finite number"):
        ClassCounts.from_matrix(X, [0, 1], presence=True, threshold=np.nan)


@pytest.mark.parametrize(
    ("weights", "message"),
    [
        ([1, 1, -5, 1], "Negative values in data passed to `sample_weight`: -5.0 at row 2"),
        ([0, 0, 0, 0], "must have a positive weight"),
        ([1, np.nan, 1, 1], "must be finite; got nan at row 1"),
        ([1, np.inf, 1, 1], "must be finite; got inf at row 1"),
        ([1, 1, 1], r"shape \(4,\); got shape \(3,\)"),
        (np.ones((4, 1)), r"got shape \(4, 1\)"),
    ],
)
def test_weights_that_make_no_sense(weights, message):
    with pytest.raises(ValueError, match=message):
        ClassCounts.from_matrix(COUNTS[:4], LABELS[:4], weights)


@pytest.mark.parametrize(
    ("y", "message"),
    [
        ([0, 1, 2], "same number of rows; got 4 and 3"),
        ([[1, 0], [0, 1], [1, 1], [0, 0]], r"one dimension.*shape \(4, 2\)"),
        ([0.5, 1.5, 0.5, 1.5], "Unknown label type: `y` is continuous"),
        ([0, 1, np.nan, 0], "`y` contains NaN"),
        ([0, 1, np.inf, 0], "`y` contains NaN or infinity"),
        (["a", None, "b", "a"], "`y` contains NaN or None"),
        (np.array(["a", 1, "b", "a"], dtype=object), "Labels must be of one kind.*int and str"),
        ([1j, 0, 1, 0], "must hold labels"),
    ],
)
def test_labels_that_make_no_sense(y, message):
    with pytest.raises(ValueError, match=message):
        ClassCounts.from_matrix(COUNTS[:4], y)


@pytest.mark.parametrize(
    "X",
    [
        [1, 2],
        [["a", "b"]],
        np.zeros((2, 2), complex),
        np.zeros((1, 2), "M8[s]"),
        [[object()]],
        np.zeros((1, 1, 1)),
    ],
)
def test_data_that_are_no_matrix_of_numbers(X):
    with pytest.raises(ValueError, match="X must"):
        ClassCounts.from_matrix(X, np.zeros(len(X)))


POINTING = {
    "beyond the columns": ({"indices": [0, 5]}, "indices of sparse X must lie in"),
    "before the columns": ({"indices": [0, -1]}, "indices of sparse X must lie in"),
    "down": ({"indptr": [0, 3, 2]}, "`indptr` of sparse X must ascend"),
    "out and back": ({"indptr": [0, 1 << 28, 0]}, "`indptr` of sparse X must ascend"),
    "before the entries": ({"indptr": [0, -(1 << 28), 2]}, "`indptr` of sparse X must ascend"),
    "beyond the entries": ({"indptr": [0, 1, 9]}, "`indptr` of sparse X must ascend"),
    "for fewer rows": ({"indptr": [0, 2]}, "`indptr` of sparse X must have 3 bounds"),
}


@pytest.mark.parametrize("case", POINTING)
@pytest.mark.parametrize("dtype", [np.int32, np.int64])
@pytest.mark.parametrize("form", [sp.csr_matrix, sp.csc_matrix])
def test_what_points_elsewhere_does_not_touch_foreign_memory(case, dtype, form):
    changes, match = POINTING[case]
    X = form(np.eye(2, dtype=int))
    for name, values in changes.items():
        setattr(X, name, np.array(values, dtype))
    y = [0, 1]
    for statistic in (ClassCounts, ClassMoments, ClassCategories, ClassMedians, ClassMixed):
        with pytest.raises(ValueError, match=match):
            statistic.from_matrix(X, y)
    with pytest.raises(ValueError, match=match):
        ClassMoments.from_matrix(X, y, deviations=False)
    with pytest.raises(ValueError, match=match):
        HybridNB().fit(X, y)
    for model in (SparseMultinomialNB, SparseGaussianNB, SparseMixedNB, SparseL1Centers):
        with pytest.raises(ValueError, match=match):
            model(k=1).fit(X, y)
        fitted = model(k=1).fit(np.eye(2, dtype=int), y)
        with pytest.raises(ValueError, match=match):
            fitted.predict(X)


# -- labels and weights ---------------------------------------------------------------------------


@pytest.mark.parametrize(
    "classes",
    [
        [0, 1],
        [-1, 1],
        [0, 2],
        ["ham", "spam"],
        np.array(["ham", "spam"], dtype=object),
        [False, True],
        np.array([0, 255], np.uint8),
        np.array([-128, 127], np.int8),
        np.array([1, 2**64 - 1], np.uint64),
        np.array([2**63, 2**63 + 3], np.uint64),
        [-(2**63), 2**63 - 1],
        [1.0, 3.0],
        [b"a", b"b"],
        pd.Series(["x", "y"]),
        pl.Series([5, 6]),
    ],
    ids=repr,
)
def test_labels_of_any_kind(classes):
    classes = classes if hasattr(classes, "to_numpy") else np.asarray(classes)
    order = np.array([1, 0, 0, 1])
    y = classes[order] if not isinstance(classes, pd.Series) else classes.iloc[order]
    X = np.array([[1, 0], [0, 2], [0, 3], [4, 0]])
    counts = ClassCounts.from_matrix(X, y)
    assert counts.classes.tolist() == np.asarray(classes).tolist()
    assert counts.classes.dtype == np.asarray(classes).dtype
    assert counts.feature_count.tolist() == [[0, 5], [5, 0]]


def test_classes_given():
    counts = ClassCounts.from_matrix([[1], [2]], ["b", "b"], classes=["c", "a", "b"])
    assert counts.classes.tolist() == ["a", "b", "c"]
    assert counts.table.tolist() == [[0, 3, 0]]
    assert counts.class_rows.tolist() == [0, 2, 0]
    with pytest.raises(ValueError, match=r"labels outside `classes`, such as \['b'\]"):
        ClassCounts.from_matrix([[1], [2]], ["b", "c"], classes=["c", "a"])
    with pytest.raises(ValueError, match="one kind"):
        ClassCounts.from_matrix([[1], [2]], ["b", "c"], classes=[1, 2])
    empty = ClassCounts.from_matrix(np.empty((0, 1)), [], classes=["c", "a"])
    assert empty.table.tolist() == [[0, 0]]


@containers
def test_weights_equal_repetition_and_zero_weight_equals_removal(container):
    w = rng.integers(0, 4, len(LABELS))
    counts = ClassCounts.from_matrix(container(COUNTS), LABELS, w)
    assert_right(counts, COUNTS, LABELS, w)
    assert counts.table.dtype == np.float64
    repeated = ClassCounts.from_matrix(COUNTS.repeat(w, axis=0), LABELS.repeat(w))
    np.testing.assert_array_equal(counts.table, repeated.table)
    np.testing.assert_array_equal(counts.class_weight, repeated.class_weight)
    np.testing.assert_array_equal(counts.length_values, repeated.length_values)
    np.testing.assert_array_equal(counts.length_weight, repeated.length_weight)
    removed = ClassCounts.from_matrix(COUNTS[w > 0], LABELS[w > 0], w[w > 0], classes=range(3))
    assert counts.equals(removed)


def test_lengths_are_exact_to_4096_and_close_above():
    totals = np.array([0, 1, 4095, 4096, 4097, 1_000_003, 2**40 + 1])
    counts = ClassCounts.from_matrix(totals[:, None], np.zeros(len(totals), int))
    assert counts.length_values[:4].tolist() == [0, 1, 4095, 4096]
    assert len(counts.length_values) == 6  # 4097 joins 4096
    np.testing.assert_allclose(counts.length_values[-2:], totals[-2:], rtol=1.3e-4)
    assert counts.length_weight.sum() == len(totals)
    many = np.arange(1, 3_000_000, 7)
    lengths = ClassCounts.from_matrix(many[:, None], many % 2).length_values
    assert len(lengths) < 21_000
    assert np.array_equal(
        ClassCounts.from_matrix([[0.4], [1.5], [2.5]], [0, 0, 0]).length_values, [0, 2]
    )


# -- sums and differences -------------------------------------------------------------------------


@settings(max_examples=20)
@given(st.integers(0, 2**32 - 1))
def test_real_rows_taken_away_leave_nothing_behind(seed):
    local = np.random.default_rng(seed)
    X, y = local.random((30, 5)) * (local.random((30, 5)) < 0.3), np.arange(30) % 2
    w = local.random(30)
    whole = ClassCounts.from_matrix(X, y, w)
    part = ClassCounts.from_matrix(X[:20], y[:20], w[:20])
    rest = ClassCounts.from_matrix(X[20:], y[20:], w[20:])
    difference = whole - part
    np.testing.assert_allclose(difference.table, rest.table, rtol=1e-9, atol=1e-15)
    np.testing.assert_array_equal(difference.table == 0, rest.table == 0)
    np.testing.assert_array_equal(difference.length_values, rest.length_values)
    np.testing.assert_allclose(difference.length_weight, rest.length_weight)


def test_whole_numbers_and_real_numbers_add_up_to_real_numbers():
    whole = ClassCounts.from_matrix([[1, 2]], [0])
    real = ClassCounts.from_matrix([[0.5, 0]], [0])
    assert (whole + real).table.tolist() == [[1.5], [2]]


def test_equality_is_of_all_fields():
    a = ClassCounts.from_matrix(COUNTS, LABELS)
    assert not a.equals(ClassCounts.from_matrix(COUNTS.astype(float), LABELS))
    assert not a.equals(ClassCounts.from_matrix(COUNTS, LABELS, classes=range(4)))
    assert not a.equals(a + a)
    assert not a.equals(ClassCounts.from_matrix(COUNTS, LABELS, presence=True))


def test_sums_of_batches_that_overflow_are_refused():
    half = ClassCounts.from_matrix([[2**62, 1], [1, 5]], [0, 1])
    for second in (half, ClassCounts.from_matrix([[2**62, 0]], [2])):
        with pytest.raises(ValueError, match="64-bit integer holds.*float64"):
            half + second
    # One cell never overflows here, but the total, of which models take logarithms, would.
    with pytest.raises(ValueError, match="64-bit integer holds"):
        half + ClassCounts.from_matrix([[0, 2**62]], [1])
    real = half + ClassCounts.from_matrix([[2.0**62, 0.0]], [0])
    assert real.table[0, 0] == 2.0**63


def test_sums_up_to_the_largest_integer_are_exact():
    most = ClassCounts.from_matrix([[2**62, 0]], [0])
    most += ClassCounts.from_matrix([[0, 2**62 - 2]], [0])
    one = ClassCounts.from_matrix([[0, 1]], [0])
    assert (most + one).table.sum() == 2**63 - 1
    with pytest.raises(ValueError, match="64-bit integer holds"):
        most + one + one


def test_sums_of_sparse_tables_that_overflow_are_refused():
    X = sp.csr_array(([2**62, 1], ([0, 0], [5, 900])), shape=(1, 1000))
    wide = ClassCounts.from_matrix(X, [0], dense_cells=10)
    dense = ClassCounts.from_matrix(X, [0])
    assert isinstance(wide.table, SparseTable)
    for first, second in [(wide, wide), (wide, dense), (dense, wide)]:
        with pytest.raises(ValueError, match="64-bit integer holds"):
            first + second


def test_real_sums_of_batches_that_overflow_are_refused():
    large = ClassCounts.from_matrix([[1e308]], [0])
    with pytest.raises(ValueError, match="double precision"):
        large + large
    heavy = ClassCounts.from_matrix([[1.0]], [0], [1e308])
    with pytest.raises(ValueError, match="double precision"):
        heavy + heavy


def test_adding_takes_no_memory_but_the_result():
    counts = ClassCounts.zero(1 << 20, classes=[0, 1])
    counts.table[0, 0] = 2**62
    other = ClassCounts.zero(1 << 20, classes=[0, 1])
    tracemalloc.start()
    total = counts + other
    peak = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    assert peak < 1.6 * total.table.nbytes


@pytest.mark.parametrize(
    "y",
    [
        ["a", np.nan, "b", "b"],
        ["a", None, "b", "b"],
        pd.Series(["a", None, "b", "b"], dtype="string"),
        pd.Series([1, None, 2, 2], dtype="Int64"),
        pd.Series(["a", None, "b", "b"], dtype="category"),
        pl.Series(["a", None, "b", "b"]),
    ],
)
def test_missing_labels_of_any_kind(y):
    with pytest.raises(ValueError, match="`y` contains NaN"):
        ClassCounts.from_matrix(COUNTS[:4], y)


def test_missing_classes_and_labels_of_two_kinds():
    with pytest.raises(ValueError, match="`classes` contains NaN or None"):
        ClassCounts.from_matrix(COUNTS[:2], ["a", "b"], classes=["a", "b", np.nan])
    with pytest.raises(ValueError, match="`classes`.*NaN or None"):
        ClassCounts.from_matrix(COUNTS[:2], ["a", "b"], classes=["a", "b", None])
    with pytest.raises(ValueError, match="one kind.*int and str"):
        ClassCounts.from_matrix(COUNTS[:2], ["a", 1])


def test_no_features_and_sums_of_lists():
    counts = ClassCounts.from_matrix(COUNTS, LABELS)
    assert counts.take([]).table.shape == (0, 3)
    assert sum([counts, counts]).equals(counts + counts)
    with pytest.raises(TypeError):
        1 + counts


def test_labels_that_doubles_round_stay_apart():
    whole = ClassCounts.from_matrix([[1]], [2**53 + 1])
    real = ClassCounts.from_matrix([[2]], [2.0**53])
    both = whole + real
    assert both.classes.tolist() == [2**53, 2**53 + 1]
    assert both.table.tolist() == [[2, 1]]
    low = ClassCounts.from_matrix([[1]], [-1])
    high = ClassCounts.from_matrix([[1]], np.array([2**64 - 1], np.uint64))
    with pytest.raises(ValueError, match="one type of numbers.*-1 and 18446744073709551615"):
        low + high
