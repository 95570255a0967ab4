import warnings

import numba
import numpy as np
import pandas as pd
import pytest
import scipy.sparse as sp
from hypothesis import given, settings, strategies as st

from naively import SparseL1Centers
from naively.statistics.values import ClassMedians, ClassValues
from reference_centers import class_medians

FIELDS = ("center", "dispersion", "pooled_center", "pooled_dispersion")
CONTAINERS = (np.asarray, np.asfortranarray, sp.csr_matrix, sp.csc_matrix, sp.coo_matrix)


def agree(first, second, exact=False):
    for name in FIELDS:
        a, b = getattr(first, name), getattr(second, name)
        if exact:
            assert a.tobytes() == b.tobytes(), name
        else:
            np.testing.assert_allclose(a, b, rtol=1e-12, atol=1e-12, err_msg=name)


@st.composite
def problems(draw):
    n, m, n_classes = draw(st.integers(2, 14)), draw(st.integers(1, 4)), draw(st.integers(1, 4))
    values = draw(st.sampled_from([[0, 0, 0, 1, 2], [-2, -1, 0, 0, 1, 3], [-1.5, 0.1, 0.3, 7e5]]))
    X = np.array([[draw(st.sampled_from(values)) for _ in range(m)] for _ in range(n)], float)
    return X, np.array([draw(st.integers(0, n_classes - 1)) for _ in range(n)])


@given(problems())
def test_medians_and_dispersions_by_the_definition(problem):
    X, y = problem
    expected = dict(zip(FIELDS, class_medians(X, y), strict=True))
    for container in CONTAINERS:
        found = ClassMedians.from_matrix(container(X), y)
        assert np.array_equal(found.center, expected["center"])
        assert np.array_equal(found.pooled_center, expected["pooled_center"])
        np.testing.assert_allclose(found.dispersion, expected["dispersion"], atol=1e-9)
        np.testing.assert_allclose(
            found.pooled_dispersion, expected["pooled_dispersion"], rtol=1e-12, atol=1e-9
        )


@given(problems(), st.data())
def test_weights_are_repetition(problem, data):
    X, y = problem
    w = np.array([data.draw(st.integers(0, 3)) for _ in y])
    w[np.unique(y, return_index=True)[1]] += 1  # every class keeps a row
    repeated = ClassMedians.from_matrix(np.repeat(X, w, axis=0), np.repeat(y, w))
    for container in CONTAINERS:
        for scale in (1, 10, 0.1, 1 / 3):
            agree(ClassMedians.from_matrix(container(X), y, w * scale), repeated)


@given(problems(), st.data())
def test_any_weights(problem, data):
    X, y = problem
    w = np.array([data.draw(st.floats(0.1, 2.0)) for _ in y])
    expected = dict(zip(FIELDS, class_medians(X, y, w), strict=True))
    for container in CONTAINERS:
        found = ClassMedians.from_matrix(container(X), y, w)
        # Sums of such weights that hit one half are a matter of rounding; the dispersions are not.
        np.testing.assert_allclose(found.dispersion, expected["dispersion"], rtol=1e-9, atol=1e-9)
        np.testing.assert_allclose(
            found.pooled_dispersion, expected["pooled_dispersion"], rtol=1e-9, atol=1e-9
        )


def test_even_counts_implicit_zeros_and_negative_values():
    X = np.array([[0.0, -1], [2, 0], [0, 0], [4, 2], [7, 0], [7, -3], [8, 0], [8, -5]])
    for container in CONTAINERS:
        found = ClassMedians.from_matrix(container(X), np.repeat([0, 1], 4))
        assert found.center.tolist() == [[1.0, 0.0], [7.5, -1.5]]
        assert (found.pooled_dispersion - found.dispersion.sum(axis=0)).tolist() == [4.0, 0.0]


def test_pooled_ties_are_decided_exactly():
    # Shares 1/3 and 1/6: W(2) = 2/3 + 2/6 is one half of 2, in floats a matter of rounding.
    X = np.array([[1.0], [2], [9], [1], [2], [8], [8], [9], [9]])
    y = [0, 0, 0, 1, 1, 1, 1, 1, 1]
    assert ClassMedians.from_matrix(X, y).pooled_center.tolist() == [5.0]
    assert ClassMedians.from_matrix(sp.csr_array(X), y).pooled_center.tolist() == [5.0]


def test_stored_zeros_are_zeros():
    c = sp.csc_matrix(
        (np.array([0.0, 0, 5, 1, 1]), np.array([0, 1, 2, 3, 4]), np.array([0, 5])), shape=(5, 1)
    )
    for X in (c, c.tocsr()):
        found = ClassMedians.from_matrix(X, [0, 0, 0, 1, 1])
        assert found.center.tolist() == [[0.0], [1.0]]
    assert c.nnz == 5


def test_duplicate_entries_are_summed():
    X = sp.csr_matrix((np.ones(4), [0, 0, 1, 1], [0, 2, 3, 4]), shape=(3, 2))
    found = ClassMedians.from_matrix(X, [0, 1, 1])
    assert found.center.tolist() == [[2.0, 0.0], [0.0, 1.0]]
    assert X.nnz == 4


@pytest.mark.parametrize(
    "dtype", [bool, np.uint8, np.int8, np.int16, np.int32, np.int64, np.float32, np.float64]
)
def test_types_and_index_widths(dtype):
    X = np.random.default_rng(0).integers(0, 3, (30, 5)).astype(dtype)
    y = np.arange(30) % 3
    expected = ClassMedians.from_matrix(X.astype(float), y)
    wide = sp.csr_array(X)
    wide.indices, wide.indptr = wide.indices.astype(np.int64), wide.indptr.astype(np.int64)
    for matrix in (X, np.asfortranarray(X), sp.csr_matrix(X), sp.csc_array(X), wide):
        agree(ClassMedians.from_matrix(matrix, y), expected)


def test_threads_do_not_change_a_bit():
    rng = np.random.default_rng(1)
    X = rng.lognormal(size=(301, 700)).astype(np.float32)
    y = rng.integers(0, 3, 301)
    X[rng.random(X.shape) < 0.3] = 0
    n_threads = numba.get_num_threads()
    try:
        for matrix in (X, sp.csr_array(X)):
            numba.set_num_threads(1)
            one = ClassMedians.from_matrix(matrix, y)
            numba.set_num_threads(min(2, n_threads))
            agree(ClassMedians.from_matrix(matrix, y), one, exact=True)
    finally:
        numba.set_num_threads(n_threads)


def test_read_only_input_is_left_alone():
    X = sp.random(40, 6, density=0.7, format="csr", rng=np.random.default_rng(0))
    D = X.toarray()
    for array in (X.data, X.indices, X.indptr, D):
        array.setflags(write=False)
    agree(
        ClassMedians.from_matrix(X, np.arange(40) % 2),
        ClassMedians.from_matrix(D, np.arange(40) % 2),
    )


def test_a_matrix_that_could_not_be_dense():
    n, m = 2_000_000, 3_000_000  # 6e12 cells
    rows = np.arange(n)
    X = sp.csr_array(
        (np.concatenate([np.full(n, 5.0), np.ones(n)]),
         np.concatenate([np.full(n, 7), rows + 9]), np.concatenate([[0], np.arange(1, n + 1) * 2])),
        shape=(n, m),
    )  # fmt: skip
    X.indices = np.stack([np.full(n, 7), rows + 9], axis=1).ravel()
    X.data = np.stack([np.where(rows % 2, 5.0, 3.0), np.ones(n)], axis=1).ravel()
    found = ClassMedians.from_matrix(X, rows % 2)
    assert found.center[:, 7].tolist() == [3.0, 5.0]
    assert found.center.sum() == 8
    assert found.dispersion[:, 9].tolist() == [2 / n, 0]


@pytest.mark.parametrize("container", CONTAINERS)
@pytest.mark.parametrize(("bad", "word"), [(np.nan, "NaN"), (np.inf, "infinity")])
def test_values_must_be_finite(container, bad, word):
    X = np.array([[1.0, 2], [0, bad], [1, 1]])
    with pytest.raises(ValueError, match=f"{word}.* row 1, column 1"):
        ClassMedians.from_matrix(container(X), [0, 1, 0])


def test_sums_must_be_finite():
    with pytest.raises(ValueError, match="too large"):
        ClassMedians.from_matrix([[1e308], [-1e308], [1e308], [-1e308]], [0, 0, 0, 0])


def test_a_class_without_rows():
    X = np.array([[1.0, 0], [3, 0], [5, 0]])
    for container in CONTAINERS:
        found = ClassMedians.from_matrix(container(X), ["a", "a", "b"], classes=["a", "b", "c"])
        assert found.class_rows.tolist() == [2, 1, 0]
        assert np.isfinite(found.center).all()
        assert found.dispersion[2].tolist() == [0, 0]
        without = ClassMedians.from_matrix(container(X), ["a", "a", "b"])
        assert np.array_equal(found.pooled_dispersion, without.pooled_dispersion)


@settings(deadline=None)
@given(problems(), st.integers(1, 13))
def test_kept_values_add_up(problem, cut):
    X, y = problem
    whole = ClassMedians.from_matrix(X, y)
    for container in CONTAINERS:
        parts = ClassValues.from_matrix(container(X[:cut]), y[:cut]) if cut < len(y) else None
        if parts is None:
            continue
        agree(parts.update(container(X[cut:]), y[cut:]).medians(), whole)
        weights = np.ones(len(y) - cut)
        with warnings.catch_warnings():
            warnings.simplefilter("error")
            agree(parts.update(container(X[cut:]), y[cut:], weights).medians(), whole)


def test_kept_values_of_other_features_do_not_add_up():
    with pytest.raises(ValueError, match="same features"):
        ClassValues.from_matrix([[1.0]], [0]) + ClassValues.from_matrix([[1.0, 2]], [0])


HELD = {
    "dense": np.asarray,
    "column order": np.asfortranarray,
    "float32": lambda X: X.astype(np.float32),
    "float16": lambda X: X.astype(np.float16),
    "csr": sp.csr_array,
    "csc": sp.csc_array,
    "frame": lambda X: pd.DataFrame(X),
    "sparse frame": lambda X: pd.DataFrame(X).astype(pd.SparseDtype(float, 0.0)),
}


@pytest.mark.parametrize("container", HELD)
@pytest.mark.parametrize("bad", [np.nan, np.inf, -np.inf])
@pytest.mark.parametrize("rows", [[17], slice(None)])
def test_a_column_of_no_numbers_is_refused_before_a_median_is_sought(container, bad, rows):
    # The search for a median among NaN went on for ever.
    X = np.random.default_rng(0).poisson(1, (60, 5)).astype(float)
    X[rows, 2] = bad
    held, y = HELD[container](X), np.array(["a", "b"] * 30)
    kind = "NaN" if np.isnan(bad) else "infinity"
    for take in (
        lambda: ClassMedians.from_matrix(held, y),
        lambda: ClassMedians.from_matrix(held, y, np.linspace(0.3, 1, 60)),
        lambda: ClassValues.from_matrix(np.ones((2, 5)), ["a", "b"]).update(held, y).medians(),
        lambda: SparseL1Centers(2).fit(X if container == "frame" else held, y),
    ):
        with pytest.raises(ValueError, match=f"contains {kind}"):
            take()
