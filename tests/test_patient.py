"""Kernels that are made in plain Python at first give the same bits as when they are compiled."""

from dataclasses import fields

import numpy as np
import pytest
from hypothesis import given, settings, strategies as st
from hypothesis.extra import numpy as hnp

from naively._kernels import climb, compiled, hull, whole
from naively._kernels.weighted_top import weighted_threshold
from naively.selection import dual

FIELDS = [field.name for field in fields(dual.DualSolution)]


@compiled.kernel
def first(x):
    return x[0]


def first_of(x):
    return first(x)


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
    kernel = hull.best_point
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


@given(st.integers(0, 10**6), st.integers(1, 9), st.integers(2, 5), st.booleans())
@settings(max_examples=40)
def test_the_dual_is_the_same_in_python_and_compiled(seed, columns, n_classes, by_column):
    rng = np.random.default_rng(seed)
    counts = rng.poisson(rng.gamma(0.5, 20, (columns, n_classes))) + rng.random(n_classes)
    alpha = rng.random(columns) if by_column else 0.5
    problem = dual.coupled_problem(counts, alpha, rng.integers(1, 4, columns))
    k = int(rng.integers(1, problem.n_columns + 1))
    in_python = compiled._interpreted(
        climb._climb.py_func, {"bracketed_threshold": weighted_threshold, "_turn": hull.turn}
    )
    found = []
    for way in (in_python, climb._climb):
        with pytest.MonkeyPatch.context() as patch, np.errstate(all="ignore"):
            patch.setattr(dual, "climb", way)
            solution = dual.solve_dual(problem, k)
        found.append(tuple(np.asarray(getattr(solution, name)) for name in FIELDS))
    same(*found)


def test_compiling_what_it_calls_does_not_try_its_patience(monkeypatch):
    def compiling(x):
        compiled.COMPILING.start()
        compiled.COMPILING.stop("first")
        return x[0]

    kernel = compiled.kernel(first_of)
    monkeypatch.setattr(compiled._Cache, "is_empty", True)
    monkeypatch.setattr(compiled, "_PATIENCE", 1e-9)
    patient = compiled.patient(kernel, first=compiling)
    many = np.ones(compiled._SMALL + 1)
    for _ in range(3):  # large arrays too, as something else is called instead
        assert patient(many) == 1.0
    assert not kernel.signatures


@given(st.integers(0, 10**6), st.integers(1, 4), st.integers(1, 9))
def test_making_whole_is_the_same_in_python_and_compiled(seed, r, n):
    rng = np.random.default_rng(seed)
    constraints, gains = rng.uniform(-1, 1, (r, n)), rng.normal(size=n)
    constraints[rng.random((r, n)) < 0.2] = 0.0
    moved = [rng.integers(0, 4, n) + rng.random(n)] * 2
    for t, way in enumerate([compiled._interpreted(whole._make_whole.py_func), whole._make_whole]):
        moved[t] = moved[t].copy()
        with np.errstate(all="ignore"):
            way(moved[t], constraints, gains, 1e-7)
    same(*moved)
