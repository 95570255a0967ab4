"""What is measured beyond the accuracy equals what plain loops find."""

from collections import Counter

import numpy as np
import pytest

from naively import SparseBernoulliNB, SparseL1Centers, SparseMultinomialNB, sparsity_path
from naively.jobs.rows import TEST, TRAIN, Rows
from naively.jobs.study import (
    confusion_of,
    coverage_points,
    grid_of,
    grid_of_test,
    on_test_rows,
    path_curve,
    predicted_error,
    with_accuracies,
)
from naively.judging.coverage import margins

RNG = np.random.default_rng(3)
X = RNG.poisson(1 + (np.arange(12) < 4) * (np.arange(60) % 2)[:, None] * 2.0)
Y = np.where(np.arange(60) % 2, "pos", "neg").astype(object)


def rows(labels=Y):
    part = np.where(np.arange(60) < 40, TRAIN, TEST)
    return Rows(X, labels, tuple(map(str, range(12))), part, (), "the rest", None)


@pytest.mark.parametrize("model", [SparseMultinomialNB, SparseBernoulliNB, SparseL1Centers])
def test_accuracy_at_every_k_is_that_of_one_model_each(model):
    labels = Y.copy()
    labels[-1] = "neutral"  # training does not have it: a mistake at every k
    fitted = model(k=3).fit(X[:40], labels[:40].astype(str))
    grid = np.array([1, 2, 5, 12])
    found = on_test_rows(fitted, rows(labels), np.arange(12), grid)
    single = [
        (model(k=k).fit(X[:40], Y[:40].astype(str)).predict(X[40:]) == labels[40:]).mean()
        for k in grid.tolist()
    ]
    assert found.mean.tolist() == pytest.approx(single)
    assert found.of == "the rest"


def test_the_path_has_the_chosen_k_and_the_accuracies():
    fitted = SparseMultinomialNB(k=7).fit(X[:40], Y[:40].astype(str))
    grid = grid_of(12, 7)
    assert grid.tolist() == list(range(1, 13))
    statistics, family = fitted.statistics_, fitted.family_
    accuracies = on_test_rows(fitted, rows(), np.arange(12), grid)
    curve = with_accuracies(path_curve(family, statistics, 7, grid), accuracies)
    path = sparsity_path(SparseMultinomialNB(), X[:40], Y[:40].astype(str), ks=grid)
    assert [point.k for point in curve.points] == grid.tolist()
    assert [point.objective for point in curve.points] == path.objective.tolist()
    assert [point.bound for point in curve.points] == path.bound.tolist()
    assert all(0 <= point.accuracy <= 1 for point in curve.points)
    assert curve.chosen == 7
    assert len(grid_of(1_000_000, 777)) <= 41
    assert 777 in grid_of(1_000_000, 777)


def test_only_models_with_a_law_of_their_error_predict_it():
    labels = Y.astype(str)
    assert 0 < predicted(SparseMultinomialNB(k=3).fit(X, labels)) < 0.5
    assert predicted(SparseL1Centers(k=3).fit(X, labels)) is None


def predicted(fitted):
    support = fitted.selection_.support
    return predicted_error(fitted.family_, fitted.statistics_, support, fitted.rule_)


def test_a_path_goes_on_where_the_test_stops():
    fitted = SparseMultinomialNB(k=3).fit(X, Y.astype(str))
    curve = path_curve(fitted.family_, fitted.statistics_, 3, np.array([1, 2, 3, 4]))
    assert [point.k for point in curve.points] == [1, 2, 3, 4, *range(5, 13)]
    assert grid_of_test(60_000, 100, 2)[-1] == 60_000
    assert 1000 < grid_of_test(10**7, 100, 2)[-1] <= 1600
    assert 700 < grid_of_test(10**7, 3, 2)[-1] <= 1000
    assert 5000 < grid_of_test(10**7, 5000, 1000)[-1] <= 8388  # weights are bounded
    assert grid_of_test(10**7, 10**7, 2)[-1] == 10**7


def test_confusion_counts_pairs():
    confusion = confusion_of(Counter(zip("babz", "aabb", strict=True)), ("a", "b"))
    assert confusion.truths == ("a", "b", "z")
    assert confusion.rows == ((1, 0), (1, 1), (0, 1))
    many = tuple(str(i) for i in range(101))
    assert confusion_of(Counter(zip(many, many, strict=True)), many) is None


def coverage(scores, right):
    return coverage_points(margins(scores), np.ones(len(scores), int), right.astype(int))


def test_coverage_of_rows_taken_together():
    margin, right = np.round(RNG.normal(size=200), 1), RNG.random(200) < 0.7
    values, which = np.unique(margin, return_inverse=True)
    rows, hits = np.bincount(which), np.bincount(which, right).astype(int)
    for point in coverage_points(values, rows, hits):
        surest = margin >= np.log(point.confidence / (1 - point.confidence)) - 1e-9
        assert point.coverage == surest.mean()
        assert point.accuracy == pytest.approx(right[surest].mean())


def test_coverage_by_sorting_posteriors():
    scores = RNG.normal(size=(30, 3)) * 3
    right = RNG.random(30) < 0.5
    points = coverage(scores, right)
    proba = np.exp(scores) / np.exp(scores).sum(axis=1, keepdims=True)
    order = np.argsort(-proba.max(axis=1))
    for point in points:
        n = round(30 * point.coverage)
        assert point.accuracy == pytest.approx(right[order[:n]].mean())
        assert point.confidence == pytest.approx(proba.max(axis=1)[order[n - 1]])
    assert points[-1].coverage == 1
    # Margins order rows whose probabilities are all 1 when rounded, and a veto is surest.
    vetoed = np.array([[900.0, 0.0], [-np.inf, 0.0], [800.0, 0.0]])
    assert [p.accuracy for p in coverage(vetoed, np.array([False, True, True]))] == [
        *(1, 1 / 2, 2 / 3),
    ]
