"""The k largest gains: exactly k, ties by index, one order for every k."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, strategies as st

from naively.selection.top_k import TIE_TOLERANCE, gain_order, top_k

gains = st.lists(st.sampled_from([0.0, 0.5, 1.0, 1.0 + 3e-13, 2.0, np.inf]), max_size=30)


@given(gains, st.integers(0, 31))
def test_the_best_k_are_the_first_k_of_the_order(values, k):
    gain = np.array(values)
    np.testing.assert_array_equal(top_k(gain, k), np.sort(gain_order(gain)[:k]))


@given(gains, st.integers(0, 31))
def test_nothing_left_out_is_better(values, k):
    gain = np.array(values)
    chosen = top_k(gain, k)
    assert len(chosen) == min(k, len(gain))
    left = np.setdiff1d(np.arange(len(gain)), chosen)
    if len(chosen) and len(left):
        assert gain[chosen].min() >= gain[left].max() - 2 * TIE_TOLERANCE * len(gain)


def test_ties_go_to_the_lowest_index():
    assert top_k(np.array([1.0, 2.0, 1.0, 2.0, 1.0]), 3).tolist() == [0, 1, 3]
    assert gain_order(np.array([1.0, 2.0, 1.0, 2.0])).tolist() == [1, 3, 0, 2]
    assert gain_order(np.array([0.0, np.inf, 1.0, np.inf])).tolist() == [1, 3, 2, 0]


def test_equal_up_to_rounding_is_a_tie():
    gain = np.array([1.0, 1.0 + 4e-16, 1.0 - 2e-16, 1.0 + 1e-9])
    assert top_k(gain, 2).tolist() == [0, 3]
    assert top_k(gain, 3).tolist() == [0, 1, 3]


def test_a_chain_of_ties_is_one_tie():
    gain = 1.0 + 0.9 * TIE_TOLERANCE * np.arange(400.0)[::-1]
    rng = np.random.default_rng(0)
    for k in (1, 57, 399):
        assert top_k(gain, k).tolist() == list(range(k))
        assert sorted(top_k(rng.permutation(gain), k)) == list(range(k))


@pytest.mark.parametrize("k", [0, 1, 5000, 9999, 10000, 20000])
def test_large_with_many_ties(k):
    rng = np.random.default_rng(k)
    gain = rng.integers(0, 50, 10000) / 7
    chosen = top_k(gain, k)
    assert (np.diff(chosen) > 0).all()
    np.testing.assert_array_equal(chosen, np.sort(np.lexsort((np.arange(10000), -gain))[:k]))


def test_what_other_columns_gain_makes_no_tie():
    gain = np.array([7e-6, 3e-6, 0.31, 0.31 * (1 + 1e-13), 1e12])
    assert top_k(gain, 2).tolist() == [2, 4]
    assert gain_order(gain).tolist() == [4, 2, 3, 0, 1]
    assert gain_order(np.append(gain, np.inf)).tolist() == [5, 4, 2, 3, 0, 1]


def test_rounding_that_is_stated_makes_ties_of_what_it_concerns_alone():
    gain = np.array([1.0, 1.0 + 1e-6, 2.0, 2.0 + 1e-6, 3.0, 2.5])
    rounding = np.array([1e-6, 1e-6, 0.0, 0.0, 0.0, 10.0])

    def errors(columns, _):
        return rounding[columns]

    assert gain_order(gain, errors).tolist() == [4, 5, 3, 2, 0, 1]
    for k in range(7):
        assert top_k(gain, k, errors).tolist() == sorted([4, 5, 3, 2, 0, 1][:k])


@given(gains, st.lists(st.sampled_from([0.0, 1e-13, 0.2, 1.0]), min_size=30, max_size=30))
def test_one_order_for_every_k_whatever_the_rounding(values, errors):
    gain = np.array(values)

    def rounding(columns, _):
        return np.array(errors)[columns]

    order = gain_order(gain, rounding)
    for k in range(len(gain) + 1):
        np.testing.assert_array_equal(top_k(gain, k, rounding), np.sort(order[:k]))
