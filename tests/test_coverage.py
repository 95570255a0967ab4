"""Accuracy/coverage curves against a plain loop, and their display."""

from __future__ import annotations

import sys

import matplotlib as mpl
import numpy as np
import pytest
from hypothesis import given, settings, strategies as st

from naively import CoverageDisplay, HybridNB, accuracy_coverage_curve

mpl.use("Agg")


def plain_curve(labels, proba, weights):
    """For every threshold: share of weight at or above it, share of that which is right."""
    points = []
    for threshold in sorted({max(p) for p in proba}, reverse=True):
        chosen = [i for i, p in enumerate(proba) if max(p) >= threshold and weights[i] > 0]
        total = sum(weights[i] for i in chosen)
        if total == 0:
            continue
        right = sum(weights[i] for i in chosen if list(proba[i]).index(max(proba[i])) == labels[i])
        point = (total / sum(weights), right / total)
        if point[0] > (points[-1][0] if points else 0):
            points.append(point)
    return np.array(points)


@st.composite
def predictions(draw):
    n = draw(st.integers(1, 12))
    grid = st.sampled_from([0.0, 0.1, 0.25, 0.5, 0.7, 1.0])
    proba = np.array([[p, 1 - p] for p in draw(st.lists(grid, min_size=n, max_size=n))])
    labels = np.array(draw(st.lists(st.integers(0, 1), min_size=n, max_size=n)))
    weights = np.array(draw(st.lists(st.integers(0, 3), min_size=n, max_size=n)), dtype=float)
    return labels, proba, weights if weights.any() else weights + 1


@given(predictions())
@settings(max_examples=200, deadline=None, derandomize=True)
def test_the_curve_is_that_of_a_plain_loop(case):
    labels, proba, weights = case
    curve = accuracy_coverage_curve(labels, proba, labels=[0, 1], sample_weight=weights)
    points = plain_curve(labels, proba, weights)
    np.testing.assert_allclose(curve.coverage, points[:, 0], rtol=1e-12)
    np.testing.assert_allclose(curve.accuracy, points[:, 1], rtol=1e-12)
    assert curve.coverage[-1] == 1
    widths = np.diff(points[:, 0], prepend=0)
    assert curve.area == pytest.approx(sum(widths * points[:, 1]))
    for wanted in (0.0, 0.5, 0.95, 1.0):
        reached = [c for c, a in points if a >= wanted]
        assert curve.coverage_at(wanted) == pytest.approx(max(reached, default=0.0))
    for coverage in (0.0, 0.3, 1.0):
        first = next(a for c, a in points if c >= coverage - 1e-12)
        assert curve.accuracy_at(coverage) == pytest.approx(first)


def test_by_hand():
    """Confidences 0.9, 0.8, 0.7, 0.6; the third is wrong."""
    proba = [[0.9, 0.1, 0], [0.1, 0.8, 0.1], [0.2, 0.1, 0.7], [0.6, 0.2, 0.2]]
    curve = accuracy_coverage_curve(["a", "b", "a", "a"], proba, labels=["a", "b", "c"])
    assert curve.coverage.tolist() == [0.25, 0.5, 0.75, 1.0]
    assert curve.accuracy.tolist() == [1.0, 1.0, 2 / 3, 0.75]
    assert curve.confidence.tolist() == [0.9, 0.8, 0.7, 0.6]
    assert curve.area == pytest.approx((1 + 1 + 2 / 3 + 3 / 4) / 4)
    assert curve.coverage_at(0.7) == 1.0
    assert curve.coverage_at(0.95) == 0.5
    assert curve.accuracy_at(0.6) == pytest.approx(2 / 3)


def test_a_recalibration_symmetric_about_one_half_leaves_the_curve():
    """One with an intercept is as monotone, and reorders the rows of the two classes."""
    rng = np.random.default_rng(0)
    p = rng.random(200)
    y = (rng.random(200) < p).astype(int)
    curve = accuracy_coverage_curve(y, p)
    surer = accuracy_coverage_curve(y, 1 / (1 + ((1 - p) / p) ** 3))
    assert (curve.accuracy == surer.accuracy).all()
    assert curve.accuracy_at(1) == ((p > 0.5) == y).mean()
    shifted = accuracy_coverage_curve(y, 1 / (1 + (1 - p) / p * np.exp(-1)))
    assert (shifted.accuracy != curve.accuracy).any()


@pytest.mark.parametrize(
    ("arguments", "options", "message"),
    [
        (([], np.empty((0, 2))), {"labels": [0, 1]}, "at least"),
        (([0, 1], [0.5]), {}, "one entry per row"),
        (([0, 0], [[0.5, 0.5], [1, 0]]), {}, "column for each of the 1 labels"),
        (([0, 2], [[0.5, 0.5], [1, 0]]), {"labels": [0, 1]}, "labels that `labels` lacks"),
        (([0, 1], [0.5, np.nan]), {}, "NaN"),
        (([0, 1], [0.5, 0.5]), {"sample_weight": [1, -1]}, "sample_weight"),
        (([0, 1], [0.5, 0.5]), {"sample_weight": [0, 0]}, "sample_weight"),
        (([0, 1], [0.5, 0.5]), {"sample_weight": [1, np.inf]}, "finite weight"),
        (([0, 1], [0.5, np.inf]), {}, "probabilities in"),
        (([0, 1], [-2.0, 3.0]), {}, "predict_proba"),
        (([1, 1], [[0.5, 0.5], [1, 0]]), {"labels": [1, 1]}, "differ from each other"),
        ((1, [0.5]), {}, "one label per row"),
    ],
)
def test_input_that_cannot_be(arguments, options, message):
    with pytest.raises(ValueError, match=message):
        accuracy_coverage_curve(*arguments, **options)


def test_huge_weights_are_weights():
    curve = accuracy_coverage_curve([0, 1, 1], [0.1, 0.9, 0.4], sample_weight=[1e308, 1e308, 1e308])
    assert curve.coverage.tolist() == [2 / 3, 1]
    assert curve.accuracy.tolist() == [1, 2 / 3]


def test_wanted_values_out_of_range():
    curve = accuracy_coverage_curve([0, 1], [0.2, 0.9])
    with pytest.raises(ValueError, match="accuracy"):
        curve.coverage_at(95)
    with pytest.raises(ValueError, match="coverage"):
        curve.accuracy_at(-0.1)


def test_display():
    from matplotlib import pyplot

    rng = np.random.default_rng(0)
    y = rng.integers(0, 2, 80)
    X = rng.poisson(1 + np.outer(y, [1, 0, 0]) + [0, 1, 1])
    model = HybridNB().fit(X, y)
    shown = CoverageDisplay.from_estimator(model, X, y, color="black")
    given = CoverageDisplay.from_predictions(y, model.predict_proba(X), name="x", ax=shown.ax_)
    assert given.ax_ is shown.ax_
    assert shown.figure_ is shown.ax_.figure
    assert shown.line_.get_color() == "black"
    assert shown.line_.get_label().startswith("HybridNB (area 0.")
    np.testing.assert_array_equal(given.line_.get_ydata(), given.curve.accuracy)
    again = shown.plot(name="again")
    assert again is shown
    assert shown.ax_ is not given.ax_
    pyplot.close("all")


def test_without_matplotlib(monkeypatch):
    monkeypatch.setitem(sys.modules, "matplotlib", None)
    with pytest.raises(ImportError, match=r"naively\[plot\]"):
        CoverageDisplay.from_predictions([0, 1], [0.1, 0.9])
