"""Fractions to whole numbers under constraints."""

import numpy as np
import pytest
from hypothesis import given, strategies as st

from naively._kernels.whole import contended, make_whole, null_vector


@pytest.mark.parametrize("seed", range(20))
def test_null_vector(seed):
    rng = np.random.default_rng(seed)
    r = int(rng.integers(1, 8))
    matrix = rng.normal(size=(r, r + 1))
    if seed % 3 == 0:
        matrix[-1] = matrix[0]  # rank deficient
    if seed % 4 == 0:
        matrix[:, 0] = 0
    vector = null_vector(matrix)
    assert np.abs(vector).max() > 0
    np.testing.assert_allclose(matrix @ vector, 0, atol=1e-9 * np.abs(vector).max())


@pytest.mark.parametrize("seed", range(20))
def test_few_fractions_are_left_and_nothing_is_lost(seed):
    rng = np.random.default_rng(seed)
    r, n = int(rng.integers(1, 6)), int(rng.integers(1, 60))
    x = rng.uniform(0, 30, n)
    constraints = rng.uniform(-1, 1, (r, n))
    constraints[0] = 1
    gains = rng.normal(size=n)
    before = constraints @ x, gains @ x, np.floor(x), np.ceil(x)
    make_whole(x, constraints, gains, 1e-7)
    assert np.count_nonzero(np.abs(x - np.rint(x)) > 1e-7) <= r
    np.testing.assert_allclose(constraints @ x, before[0], atol=1e-7)
    assert gains @ x >= before[1] - 1e-7
    assert ((x >= before[2] - 1e-7) & (x <= before[3] + 1e-7)).all()


@given(st.integers(0, 10**6), st.integers(1, 4), st.integers(0, 30))
def test_contended_places_are_those_where_rows_differ(seed, v, d):
    rng = np.random.default_rng(seed)
    takes, weights = rng.integers(0, 3, (v, d)), rng.random(v)
    places, sums = np.empty(d, dtype=np.int64), np.empty(d)
    n = contended(takes, weights, places, sums)
    assert places[:n].tolist() == np.flatnonzero((takes != takes[0]).any(axis=0)).tolist()
    np.testing.assert_allclose(sums[:n], (weights @ takes)[places[:n]])
