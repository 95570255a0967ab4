"""Fractions to whole numbers under constraints."""

import numpy as np
import pytest

from naively._kernels.whole import make_whole, null_vector


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
