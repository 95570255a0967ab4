"""What is measured beyond the accuracy equals what plain loops find."""

from collections import Counter

import numpy as np
import pytest
from scipy.sparse import csr_array

from naively import (
    SparseBernoulliNB,
    SparseGaussianNB,
    SparseL1Centers,
    SparseMultinomialNB,
    sparsity_path,
)
from naively.jobs.settings import ModelSettings
from naively.jobs.study import (
    Accuracies,
    confusion_of,
    coverage_points,
    grid_of,
    measured_grid,
    path_curve,
    predicted_error,
)
from naively.judging.coverage import margins
from naively.judging.every_k import every_k, wrong_at_every_k
from naively.models import MODELS as KINDS
from naively.selection.train import train

RNG = np.random.default_rng(3)
X = RNG.poisson(1 + (np.arange(12) < 4) * (np.arange(60) % 2)[:, None] * 2.0)
Y = np.where(np.arange(60) % 2, "pos", "neg").astype(object)


MODELS = {
    "multinomial": SparseMultinomialNB,
    "bernoulli": SparseBernoulliNB,
    "l1-centers": SparseL1Centers,
    "gaussian": SparseGaussianNB,
}


def trained(name, k, X=X, y=Y, **parameters):
    model = KINDS[name].build(**parameters)
    return train(model, model.gather(X, y.astype(str)), k)


@pytest.mark.parametrize(
    ("name", "exact"), [*((name, False) for name in MODELS), ("multinomial", True)]
)
def test_errors_at_every_k_are_those_of_one_model_each(name, exact):
    parameters = {"exact": True} if exact else {}
    labels = Y.copy().astype(str)
    labels[-1] = "neutral"  # training does not have it: a mistake at every k
    grid = np.array([0, 1, 2, 5])
    found = trained(name, 1, X[:40], Y[:40], **parameters)
    models = every_k(found.model, found.statistics, grid)
    seen = X[40:][:, models.columns]
    wrong = wrong_at_every_k(models, seen, labels[40:], np.array(["neg", "pos"]))
    single = [
        MODELS[name](k=k, **parameters).fit(X[:40], Y[:40].astype(str)).predict(X[40:])
        for k in grid.tolist()
    ]
    assert wrong.tolist() == [(answers != labels[40:]).sum() for answers in single]
    sparse = wrong_at_every_k(models, csr_array(seen), labels[40:], np.array(["neg", "pos"]))
    assert sparse.tolist() == wrong.tolist()


def test_the_path_has_the_chosen_k_and_the_accuracies():
    grid = grid_of(12, 7)
    assert grid.tolist() == list(range(1, 13))
    accuracies = Accuracies(grid, grid / 12, None, "the rest")
    curve = path_curve(trained("multinomial", 7), ModelSettings(), accuracies)
    path = sparsity_path(SparseMultinomialNB(), X, Y.astype(str), ks=grid)
    assert [point.k for point in curve.points] == grid.tolist()
    assert [point.objective for point in curve.points] == path.objective.tolist()
    assert [point.bound for point in curve.points] == path.bound.tolist()
    assert [point.accuracy for point in curve.points] == (grid / 12).tolist()
    assert curve.chosen == 7
    assert len(grid_of(1_000_000, 777)) <= 41
    assert 777 in grid_of(1_000_000, 777)


def test_only_models_with_a_law_of_their_error_predict_it():
    assert 0 < predicted_error(trained("multinomial", 3)) < 0.5
    assert predicted_error(trained("l1-centers", 3)) is None


def largest(n_features, chosen, n_classes):
    grid = measured_grid(grid_of(n_features, chosen), n_features, chosen, n_classes)
    return grid[-1]


def test_a_path_goes_on_where_the_test_stops():
    accuracies = Accuracies(np.arange(1, 5), np.ones(4), None, "some")
    curve = path_curve(trained("multinomial", 3), ModelSettings(), accuracies)
    assert [point.k for point in curve.points] == [1, 2, 3, 4, *range(5, 13)]
    assert largest(60_000, 100, 2) == 60_000
    assert 1000 < largest(10**7, 100, 2) <= 1600
    assert 700 < largest(10**7, 3, 2) <= 1000
    assert 5000 < largest(10**7, 5000, 1000) <= 8388  # weights are bounded
    assert largest(10**7, 10**7, 2) == 10**7


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


def test_coverage_is_the_same_in_any_order_of_the_rows():
    margin, right = np.round(RNG.normal(size=200), 1), (RNG.random(200) < 0.7).astype(int)
    ones, turned = np.ones(200, int), RNG.permutation(200)
    values, which = np.unique(margin, return_inverse=True)
    together = coverage_points(values, np.bincount(which), np.bincount(which, right).astype(int))
    assert coverage_points(margin, ones, right) == together
    assert coverage_points(margin[turned], ones, right[turned]) == together


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
