import numba
import numpy as np
import pytest
import scipy.sparse as sp
from hypothesis import given, strategies as st

import reference_centers as reference
from naively.statistics.moments import ClassMoments, _with_zeros

CONTAINERS = (np.asarray, np.asfortranarray, sp.csr_matrix, sp.csc_matrix, sp.coo_matrix)
rng = np.random.default_rng(0)


@st.composite
def problems(draw):
    n, m, n_classes = draw(st.integers(1, 12)), draw(st.integers(1, 4)), draw(st.integers(1, 3))
    values = draw(st.sampled_from([[0, 0, 0, 1, 2], [-2.5, -1, 0, 0, 1, 3e3], [0.1, 0.1, 0.3]]))
    X = np.array([[draw(st.sampled_from(values)) for _ in range(m)] for _ in range(n)], float)
    y = np.array([draw(st.integers(0, n_classes - 1)) for _ in range(n)])
    w = np.array([draw(st.sampled_from([0.0, 0.5, 1.0, 2.0])) for _ in range(n)])
    w[np.unique(y, return_index=True)[1]] = 1.0
    return X, y, w


@given(problems(), st.booleans())
def test_moments_by_the_definition(problem, weighted):
    X, y, w = problem
    w = w if weighted else None
    weight, total, scatter = reference.moments(X, y, w)
    for container in CONTAINERS:
        found = ClassMoments.from_matrix(container(X), y, w)
        assert np.array_equal(found.class_weight, weight)
        np.testing.assert_allclose(found.total, total, rtol=1e-14)
        np.testing.assert_allclose(found.scatter, scatter, rtol=1e-12, atol=1e-12)
        sums = ClassMoments.from_matrix(container(X), y, w, deviations=False)
        assert sums.scatter is None
        np.testing.assert_allclose(sums.total, total, rtol=1e-14, atol=1e-14)


@given(problems())
def test_whole_numbers_add_up_exactly(problem):
    X, y, _ = problem
    X = np.rint(X)
    whole = ClassMoments.from_matrix(X, y)
    for container in CONTAINERS:
        parts = ClassMoments.zero(X.shape[1], whole.classes)
        for i in range(len(y)):
            parts = parts.update(container(X[i : i + 1]), y[i : i + 1])
        assert np.array_equal(parts.total, whole.total)


@pytest.mark.parametrize("container", CONTAINERS)
@pytest.mark.parametrize("offset", [1e9, -1e12])
def test_large_means_do_not_cancel(container, offset):
    X = rng.integers(0, 9, (200, 3)).astype(float)
    y = np.arange(200) % 2
    X[0] += 1000  # the origin of the first class is an outlier
    expected = reference.moments(X, y)[2]
    found = ClassMoments.from_matrix(container(X + offset), y)
    np.testing.assert_allclose(found.scatter, expected, rtol=1e-9)
    halves = ClassMoments.from_matrix(container(X[:77] + offset), y[:77]).update(
        container(X[77:] + offset), y[77:]
    )
    np.testing.assert_allclose(halves.scatter, expected, rtol=1e-5)


@pytest.mark.parametrize("container", CONTAINERS)
def test_constant_columns_have_no_scatter(container):
    X = np.full((1000, 2), 0.1)
    X[:, 1] = 1e15 / 3
    found = ClassMoments.from_matrix(container(X), np.arange(1000) % 3)
    assert not found.scatter.any()
    np.testing.assert_allclose(found.mean, X[:3].T, rtol=1e-15)


@pytest.mark.parametrize(
    "dtype", [bool, np.uint8, np.int8, np.int16, np.int32, np.int64, np.float32, np.float64]
)
def test_types_and_index_widths(dtype):
    X = rng.integers(0, 2, (600, 5)).astype(dtype)
    y = np.repeat([0, 1], 300)
    expected = ClassMoments.from_matrix(X.astype(float), y)
    wide = sp.csr_array(X)
    wide.indices, wide.indptr = wide.indices.astype(np.int64), wide.indptr.astype(np.int64)
    for matrix in (X, np.asfortranarray(X), sp.csr_matrix(X), sp.csc_array(X), wide):
        found = ClassMoments.from_matrix(matrix, y)
        assert np.array_equal(found.total, expected.total)
        np.testing.assert_allclose(found.scatter, expected.scatter)


def test_stored_zeros_and_duplicates():
    X = sp.csr_matrix((np.array([1.0, 1, 0, 4]), [0, 0, 1, 1], [0, 2, 3, 4]), shape=(3, 2))
    found = ClassMoments.from_matrix(X, [0, 0, 0])
    assert found.total.tolist() == [[2.0], [4.0]]
    np.testing.assert_allclose(found.scatter, [[8 / 3], [32 / 3]])
    assert X.nnz == 4


def test_threads_do_not_change_a_bit():
    X = rng.normal(size=(300, 20_000))
    y = rng.integers(0, 3, 300)
    sparse = sp.csr_array(np.where(X > 0, X, 0))
    n_threads = numba.get_num_threads()
    try:
        for matrix in (X, sparse, sparse.tocsc()):
            for deviations in (True, False):
                numba.set_num_threads(1)
                one = ClassMoments.from_matrix(matrix, y, deviations=deviations)
                numba.set_num_threads(min(2, n_threads))
                two = ClassMoments.from_matrix(matrix, y, deviations=deviations)
                assert one.equals(two)
    finally:
        numba.set_num_threads(n_threads)


@pytest.mark.parametrize("container", CONTAINERS)
@pytest.mark.parametrize("deviations", [True, False])
@pytest.mark.parametrize(("bad", "word"), [(np.nan, "NaN"), (-np.inf, "infinity")])
def test_values_must_be_finite(container, deviations, bad, word):
    X = np.array([[1.0, 2], [0, bad], [1, 1]])
    with pytest.raises(ValueError, match=f"{word}.* row 1, column 1"):
        ClassMoments.from_matrix(container(X), [0, 1, 0], deviations=deviations)


def test_variances():
    X = np.array([[0.0], [2], [7], [9], [11]])
    found = ClassMoments.from_matrix(X, [0, 0, 1, 1, 1], classes=[0, 1, 2])
    assert found.mean.tolist() == [[1.0, 9.0, 0.0]]
    np.testing.assert_allclose(found.variance, [[1.0, 8 / 3, 0.0]])
    np.testing.assert_allclose(found.pooled_variance(), [10 / 5])
    np.testing.assert_allclose(found.total_variance(), [X.var()])


@pytest.mark.parametrize("deviations", [True, False])
def test_moments_of_columns_are_those_of_a_matrix_of_them(deviations):
    X, y, columns = np.random.default_rng(0).normal(size=(9, 5)), [0, 1, 2] * 3, np.array([3, 0])
    found = ClassMoments.from_matrix(X, y, deviations=deviations).take(columns)
    assert found.equals(ClassMoments.from_matrix(X[:, columns], y, deviations=deviations))


def test_errors():
    with pytest.raises(ValueError, match="no second moments"):
        ClassMoments.from_matrix([[1.0]], [0], deviations=False).pooled_variance()
    with pytest.raises(ValueError, match="same number of rows"):
        ClassMoments.from_matrix([[1.0]], [0, 1])


def test_a_matrix_that_could_not_be_dense():
    n, m = 1_000_000, 3_000_000
    X = sp.csr_array(
        (np.full(n, 3.0), np.arange(n) + 9, np.arange(n + 1)), shape=(n, m)
    )  # 3e12 cells
    found = ClassMoments.from_matrix(X, np.arange(n) % 2)
    assert found.total[9].tolist() == [3.0, 0.0]
    np.testing.assert_allclose(found.scatter[9, 0], 9 - 9 / (n / 2))


@pytest.mark.parametrize("container", [sp.csr_array, sp.csc_array])
def test_weights_that_were_summed_in_another_order_are_no_zeros(container):
    """What is left of the weight of a class, up to a share of 1e-12, is no row with a zero."""
    local = np.random.default_rng(0)
    weights = local.random(3000)
    X = np.column_stack([np.full(3000, 1e6), local.random(3000) > 0.5])
    found = ClassMoments.from_matrix(container(X), np.zeros(3000, int), weights)
    assert found.scatter[0, 0] == 0
    for share, stays in ((3e-12, True), (3e-13, False)):
        rows = container(np.array([[1e6], [0.0]]))
        scatter = ClassMoments.from_matrix(rows, [0, 0], np.array([1.0, share])).scatter[0, 0]
        assert scatter == pytest.approx(share * 1e12 if stays else 0.0, rel=1e-3)


def test_weights_summed_in_another_order_leave_no_row_of_zeros():
    """0.1 + 0.2 + 0.3 is more than 0.3 + 0.2 + 0.1, by 1e-16, which is no row at all."""
    entries, rows = 0.3 + 0.2 + 0.1, 0.1 + 0.2 + 0.3
    assert entries < rows
    origin, sums, squares = 1e9, 0.3, 0.2
    cells = np.array([[[entries, origin, sums, squares]]])
    total, scatter = _with_zeros(cells, np.array([rows]))
    assert total[0, 0] == pytest.approx(entries * origin + sums)
    assert scatter[0, 0] == pytest.approx(squares - sums**2 / entries)
    for light in (1e-9, 1e-3):  # a row that is there
        mean = origin + sums / entries
        spread = _with_zeros(cells, np.array([entries + light]))[1]
        expected = mean**2 * entries * light / (entries + light)
        assert spread[0, 0] == pytest.approx(expected, rel=1e-6)
