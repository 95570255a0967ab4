import math
from fractions import Fraction

import numpy as np
import pytest
from hypothesis import given, strategies as st

from naively._kernels.medians import (
    compare_exactly,
    compare_to_half,
    pooled_medians,
    pooled_medians_of_two,
    segment_centers,
)
from naively.statistics.values import _digits, _needed
from reference_centers import exact_median

sizes = st.lists(st.integers(1, 10**9), min_size=1, max_size=9)


@given(sizes, st.data())
def test_shares_are_compared_with_one_half_exactly(totals, data):
    below = [data.draw(st.integers(0, total)) for total in totals]
    difference = sum(Fraction(b, t) for b, t in zip(below, totals, strict=True)) - Fraction(
        len(totals), 2
    )
    sign = (difference > 0) - (difference < 0)
    digits = _digits(np.array(totals, float))
    assert compare_exactly(np.array(below, float), digits) == sign
    inverse = 1 / np.array(totals, float)
    assert compare_to_half(np.array(below, float), inverse, digits, 0.0) == sign


def test_a_third_and_a_sixth_are_a_half():
    digits = _digits(np.array([3.0, 6.0]))
    inverse = np.array([1 / 3, 1 / 6])
    assert compare_to_half(np.array([2.0, 2.0]), inverse, digits, 0.0) == 0
    assert 2 / 3 + 2 * (1 / 6) == 1.0
    near = np.array([10**8 + 7, 10**8 + 39, 10**8 + 49], float)  # shares differ by 1e-16 at most
    below = np.floor(near / 2)
    expected = sum(Fraction(int(b), int(t)) for b, t in zip(below, near, strict=True)) - Fraction(
        3, 2
    )
    assert compare_to_half(below, 1 / near, _digits(near), 0.0) == (expected > 0) - (expected < 0)


def test_many_classes_of_coprime_sizes():
    primes = [p for p in range(2, 1200) if all(p % q for q in range(2, math.isqrt(p) + 1))]
    totals = np.array(primes, float)
    digits = _digits(totals)
    below = np.array([p // 2 for p in primes], float)
    assert compare_exactly(below, digits) == -1
    below = np.array([p - p // 2 for p in primes], float)
    assert compare_exactly(below, digits) == 1


def test_empty_classes_have_no_vote():
    digits = _digits(np.array([0.0, 4.0]))
    assert compare_to_half(np.array([0.0, 2.0]), np.array([0, 0.25]), digits, 0.0) == 0


small = st.integers(-3, 3)
column = st.lists(st.lists(small, min_size=1, max_size=9), min_size=1, max_size=5)


@given(column)
@pytest.mark.parametrize("dtype", [np.float32, np.float64])
def test_segment_centers_follow_the_definition(dtype, classes):
    segments = [np.sort(np.array(values, dtype)) for values in classes]
    starts = np.append(0, np.cumsum([len(s) for s in segments]))
    totals = np.array([len(s) for s in segments], float)
    center, spread = np.zeros((len(classes), 1)), np.zeros((len(classes), 1))
    pooled, pooled_spread = np.zeros(1), np.zeros(1)
    running = np.arange(1.0, 10), np.zeros(len(classes), np.int64), totals
    values, common = np.concatenate(segments), np.zeros(1)
    pooled_medians(values, starts, *running, _digits(totals), 0.0, common)
    segment_centers(
        values, starts, *running, 0.0, np.array([0]), common, center, spread, pooled, pooled_spread
    )
    assert center[:, 0].tolist() == [exact_median(s, [1] * len(s)) for s in segments]
    assert center[:, 0].tolist() == [np.median(s) for s in segments]
    weights = [Fraction(1, len(s)) for s in segments for _ in s]
    assert pooled[0] == exact_median(values, weights)
    exact = sum(float(w) * abs(v - pooled[0]) for v, w in zip(values, weights, strict=True))
    assert pooled_spread[0] == pytest.approx(float(exact), abs=1e-12)
    for c, segment in enumerate(segments):
        assert spread[c, 0] == pytest.approx(np.abs(segment - center[c, 0]).mean(), abs=1e-12)


ones = st.lists(small, min_size=1, max_size=9)


@given(ones, ones)
@pytest.mark.parametrize("dtype", [np.float32, np.float64])
def test_pooled_medians_of_two_follow_the_definition(dtype, first, second):
    segments = [np.sort(np.array(values, dtype)) for values in (first, second)]
    starts = np.array([0, len(first), len(first) + len(second)])
    needed = _needed(np.array([len(first), len(second)], float))
    values, pooled = np.concatenate(segments), np.zeros(1)
    pooled_medians_of_two(values, starts, needed, pooled)
    weights = [Fraction(1, len(s)) for s in segments for _ in s]
    assert pooled[0] == exact_median(values, weights)
