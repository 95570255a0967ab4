"""Kernels that are made in plain Python at first give the same bits as when they are compiled."""

import numpy as np
from hypothesis import given, strategies as st
from hypothesis.extra import numpy as hnp

from naively._kernels import compiled, hull
from naively._kernels.weighted_top import weighted_threshold


def same(one, other):
    assert type(one) is type(other)
    if isinstance(one, tuple):
        for each, its in zip(one, other, strict=True):
            same(each, its)
    else:
        assert np.asarray(one).tobytes() == np.asarray(other).tobytes()


counts = st.one_of(
    st.just(0.0), st.integers(0, 1000).map(float), st.floats(1e-12, 1e9, allow_subnormal=False)
)
tables = hnp.array_shapes(min_dims=2, max_dims=2, max_side=7).flatmap(
    lambda shape: hnp.arrays(np.float64, shape, elements=counts)
)


@given(tables, st.floats(-1, 0), st.sampled_from([1e-9, 0.5, 1.0]))
def test_the_best_point_is_the_same_in_python_and_compiled(totals, share, ghost):
    values = share * totals.sum(axis=1)
    kernel = hull.best_point.__wrapped__
    with np.errstate(all="ignore"):  # as where it is called
        same(
            compiled._interpreted(kernel.py_func)(values, totals, ghost),
            kernel(values, totals, ghost),
        )
        python = compiled._interpreted(hull._log_shares.py_func)
        same(python(totals[0]), hull._log_shares(totals[0]))


def test_it_is_compiled_when_calls_are_large_or_python_has_taken_long_enough(monkeypatch):
    def total(x):
        s = 0.0
        for i in range(len(x)):
            s += x[i]
        return s

    kernel = compiled.kernel(total)
    monkeypatch.setattr(compiled._Cache, "is_empty", True)
    patient = compiled.patient(kernel)
    few, many = np.ones(3), np.ones(compiled._SMALL + 1)
    assert patient(few) == 3.0
    assert not kernel.signatures
    assert patient(many) == len(many)
    assert len(kernel.signatures) == 1
    monkeypatch.setattr(compiled, "_PATIENCE", 0.0)
    calls = []
    monkeypatch.setattr(compiled, "_interpreted", lambda function: calls.append(function))
    assert compiled.patient(kernel)(few) == 3.0
    assert not calls


@given(st.integers(1, 12), st.integers(0, 1000))
def test_the_threshold_of_few_values_is_that_of_many(n, seed):
    rng = np.random.default_rng(seed)
    values = rng.integers(0, 5, n).astype(float)
    sizes = rng.integers(0, 4, n)
    padded = np.append(values, np.full(600, -1.0)), np.append(sizes, np.zeros(600, np.int64))
    for k in range(1, sizes.sum() + 1):
        expected = np.sort(np.repeat(values, sizes))[-k]
        assert weighted_threshold(values, sizes, k) == expected
        assert weighted_threshold(*padded, k) == expected
