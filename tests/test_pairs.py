"""A panel that covers every pair of classes: its distances, its choice and what is proven of it."""

from __future__ import annotations

import json
from dataclasses import replace
from functools import partial
from itertools import combinations, product
from math import exp, prod, sqrt
from pathlib import Path

import numpy as np
import pytest
import scipy.sparse as sp
from click.testing import CliRunner
from hypothesis import given, settings, strategies as st
from scipy.integrate import quad
from scipy.special import logsumexp
from scipy.stats import laplace, nbinom, norm, poisson
from sklearn.model_selection import GridSearchCV
from sklearn.utils.class_weight import compute_sample_weight

import naively
from naively import (
    HybridNB,
    Pairs,
    SparseBernoulliNB,
    SparseCategoricalNB,
    SparseGaussianNB,
    SparseL1Centers,
    SparseL2Centers,
    SparseMultinomialNB,
    SparseNegativeBinomialNB,
    SparsePoissonNB,
    SparsityCV,
    error_path,
    sparsity_path,
)
from naively._kernels.pair_cover import first_equal, weighed_squares
from naively.cli.commands import naively as command
from naively.jobs import data
from naively.models import MODELS
from naively.models.constraints import Constraints
from naively.models.distances import CERTAIN, squares
from naively.models.model import Limits, with_objective
from naively.selection import pairs
from naively.selection.constrained import speaks_for
from naively.selection.pairs import cover_of
from naively.selection.polytope import Allowed
from naively.selection.train import model_path, train
from reference_constraints import choices_of

KINDS = {  # a model and its parameters
    "bernoulli": {},
    "bernoulli without smoothing": {"alpha": 0.0},
    "multinomial": {"alpha": 0.5},
    "poisson": {},
    "negative-binomial": {},
    "negative-binomial of given dispersion": {"dispersion": 0.7},
    "categorical": {},
    "categorical without smoothing": {"alpha": 0.0},
    "gaussian": {},
    "gaussian of shared variance": {"variance": "shared"},
    "gaussian without smoothing": {"var_smoothing": 0.0},
    "l2-centers": {"priors": "empirical"},
    "l2-centers by deviation": {"scale": "std"},
    "l1-centers": {},
}
every_kind = pytest.mark.parametrize("kind", KINDS)
ESTIMATORS = {
    "bernoulli": SparseBernoulliNB,
    "multinomial": SparseMultinomialNB,
    "poisson": SparsePoissonNB,
    "negative-binomial": SparseNegativeBinomialNB,
    "categorical": partial(SparseCategoricalNB, min_categories=3),
    "gaussian": SparseGaussianNB,
    "l2-centers": SparseL2Centers,
    "l1-centers": SparseL1Centers,
}


def of(kind, **objective):
    return with_objective(MODELS[kind.split(" ")[0]].build(**KINDS[kind]), Pairs(**objective))


def rows_of(kind, n_classes, m=9, n=42, seed=0):
    """Rows whose features tell some of the classes apart; the classes are not of one size."""
    rng = np.random.default_rng([seed, n_classes])
    y = np.sort(np.append(np.arange(n_classes).repeat(3), rng.integers(0, n_classes, n)))
    takes = MODELS[kind.split(" ")[0]].takes
    if takes == "values":
        return rng.normal(size=(len(y), m)) + rng.normal(size=(n_classes, m))[y], y
    if takes == "categories":
        own = (y[:, None] + np.arange(m)) % 3
        return np.where(rng.random((len(y), m)) < 0.5, rng.integers(0, 3, (len(y), m)), own), y
    return rng.poisson(rng.gamma(1.0, 1.0, (n_classes, m))[y]), y


def known(kind, n_classes, **options):
    model = of(kind)
    return model.gather(*rows_of(kind, n_classes, **options))


# -- distances: the laws of the models, summed and integrated ----------------------------------


def of_sum(first, second):
    return -np.log(sum(sqrt(a * b) for a, b in zip(first, second, strict=True)))


def of_integral(first, second):
    return -np.log(quad(lambda x: sqrt(first(x) * second(x)), -60, 60, limit=500, points=[0])[0])


def laws(kind, statistics, i):
    """Law of feature i in each class: probabilities of its values, or a density."""
    name, weight = kind.split(" ")[0], statistics.class_weight
    alpha = KINDS[kind].get("alpha", 1.0)
    C, n = len(weight), weight.sum()
    if name == "bernoulli":
        p = (statistics.table[i] + alpha) / (weight + 2 * alpha)
        return [(each, 1 - each) for each in p]
    if name == "categorical":
        counts = statistics.of_feature(i) + alpha
        return (counts / counts.sum(axis=1, keepdims=True)).tolist()
    x = np.arange(400)
    if name == "poisson":
        return [poisson(r).pmf(x) for r in (statistics.table[i] + alpha * C * weight / n) / weight]
    if name == "multinomial":  # documents of Poisson length
        p = (statistics.table[i] + alpha) / (statistics.table + alpha).sum(axis=0)
        return [poisson(statistics.table.sum() / n * each).pmf(x) for each in p]
    mean = statistics.center[:, i] if name == "l1-centers" else statistics.mean[i]
    if name == "negative-binomial":
        mean = (statistics.total[i] + alpha * C * weight / n) / weight
        phi = KINDS[kind].get("dispersion")
        if phi is None:
            within = (statistics.scatter[i].sum() - statistics.total[i].sum()) / n
            phi = max(within, 0) / ((statistics.mean[i] ** 2) @ weight / n)
        return [
            (nbinom(1 / phi, 1 / (1 + phi * m)) if phi > 0 else poisson(m)).pmf(x) for m in mean
        ]
    if name == "l1-centers":
        return [laplace(m, statistics.dispersion[:, i].mean()).pdf for m in mean]
    within = statistics.scatter[i].sum() / n if statistics.scatter is not None else 1.0
    if name == "l2-centers":
        return [norm(m, sqrt(within) if "scale" in KINDS[kind] else 1.0).pdf for m in mean]
    added = KINDS[kind].get("var_smoothing", 1e-9) * statistics.total_variance().max()
    shared = np.full(C, within)
    variance = shared if "variance" in KINDS[kind] else statistics.variance[i]
    return [norm(m, sqrt(v + added)).pdf for m, v in zip(mean, variance, strict=True)]


@every_kind
def test_distances_are_those_of_the_laws(kind):
    statistics = known(kind, 3, m=5)
    found = of(kind).family.distances(statistics).between(np.arange(5))
    for i in range(5):
        law = laws(kind, statistics, i)
        measure = of_integral if callable(law[0]) else of_sum
        expected = [measure(law[a], law[b]) for a, b in combinations(range(3), 2)]
        np.testing.assert_allclose(found[i], expected, rtol=1e-6, atol=1e-9)


@pytest.mark.parametrize(
    "model", [SparseL1Centers(), SparseL2Centers(scale="std"), SparseGaussianNB(var_smoothing=0)]
)
def test_columns_without_spread_are_certain_or_equal_and_leave_the_others_as_they_are(model):
    X, y = rows_of("gaussian", 3, m=5)

    def distances(X):
        fitted = model.set_params(k=1).fit(X, y)
        found = fitted.model_.family.distances(fitted.statistics_)
        return found.between(np.arange(X.shape[1]))

    found = distances(np.column_stack([X, y, np.ones(len(y))]))
    np.testing.assert_allclose(found[:5], distances(X), rtol=1e-12)
    assert (found[5] == CERTAIN).all()
    assert (found[6] == 0).all()


@every_kind
def test_weighed_distances_are_bounds_of_their_sums(kind):
    statistics = known(kind, 4, m=30)
    distances = of(kind).family.distances(statistics)
    weights = np.random.default_rng(1).dirichlet(np.full(6, 0.3))
    sums = distances.between(np.arange(30)) @ weights
    found = distances.weighed(weights)
    assert (found >= sums * (1 - 1e-12)).all()
    never = distances.between(np.arange(30)).max(axis=1) == CERTAIN
    assert (found <= 4 * sums + 1e-12)[~never].all()  # else they would be of no use
    one_by_one = [distances.between(np.array([i]))[0] for i in range(30)]
    np.testing.assert_allclose(distances.between(np.arange(30)), one_by_one, rtol=1e-12)


def test_words_bound_documents_of_one_length():
    """-log of the overlap of documents of n words is not below the sum over the words."""
    statistics = known("multinomial", 2, m=4)
    table = statistics.table + 0.5
    p = (table / table.sum(axis=0)).T
    n = 3
    overlap = sum(
        sqrt(prod(p[0, i] for i in words) * prod(p[1, i] for i in words))
        for words in product(range(4), repeat=n)
    )
    of_words = of("multinomial").family.distances(statistics).between(np.arange(4)).sum()
    length = statistics.table.sum() / statistics.class_weight.sum()
    assert of_words / length * n <= -np.log(overlap)
    assert of_words / length * n == pytest.approx(-np.log(overlap), rel=0.3)


def test_small_differences_keep_their_digits():
    """At d / p -> 0 all distances go to d^2 times an eighth of the Fisher information."""
    d = 1e-7
    n = 10.0**9
    counts = naively.ClassCounts.from_matrix(
        [[0.25 * n, 3 * n], [(0.25 + d) * n, 3 * n]], [0, 1], [1.0, 1.0]
    )
    rate = SparsePoissonNB.from_statistics(counts, 1, alpha=0.0)
    found = rate.model_.family.distances(counts).between(np.array([0, 1]))[:, 0]
    assert found[0] == pytest.approx((d * n) ** 2 / (8 * 0.25 * n), rel=1e-6)
    assert found[1] == 0.0


# -- what the objective is, and the best of it -------------------------------------------------


def separation(cover, support):
    """-log F in plain loops."""
    rows = cover.rows(np.array(support, dtype=np.int64))
    return -logsumexp([w - sum(rows[:, p]) for p, w in enumerate(cover.log_weight)])


def brute_force(cover, k):
    return max(separation(cover, s) for s in combinations(range(cover.n_features), k))


@every_kind
@pytest.mark.parametrize("n_classes", [2, 3, 4])
@pytest.mark.parametrize("exponent", [1.0, 0.3])
def test_bound_holds_and_exact_is_brute_force(kind, n_classes, exponent):
    greedy, exact = of(kind, exponent=exponent), of(kind, exponent=exponent, exact=True)
    statistics = known(kind, n_classes)
    cover = cover_of(greedy, statistics)
    for k in (0, 1, 2, 5, 8, 9):
        best = brute_force(cover, k)
        slack = 1e-9 * max(1.0, abs(best))
        found = train(greedy, statistics, k).selection
        certificate = found.certificate
        assert certificate.objective == pytest.approx(
            separation(cover, found.support), rel=1e-12, abs=1e-12
        )
        assert certificate.objective - slack <= best <= certificate.bound + slack
        assert (certificate.quantity, certificate.unit) == (
            "separation of the pairs of classes",
            "nats",
        )
        searched = train(exact, statistics, k).selection
        assert searched.certificate.objective == pytest.approx(best, abs=slack)
        assert searched.certificate.proven_optimal
        assert searched.certificate.bound == pytest.approx(best, abs=slack)
        if n_classes == 2:
            assert certificate.proven_optimal
            assert certificate.objective == pytest.approx(best, abs=slack)


def test_the_bound_is_that_of_the_error_of_naive_bayes():
    """Rows drawn from the model itself are decided wrongly no more often than F says."""
    X, y = rows_of("bernoulli", 3, m=6)
    fitted = SparseBernoulliNB(k=4, objective="pairs").fit(X, y)
    p = np.exp(fitted.feature_log_prob_)[:, fitted.support_]
    rows = np.zeros((16, 6), dtype=int)
    rows[:, fitted.support_] = list(product([0, 1], repeat=4))
    seen = rows[:, fitted.support_][:, None]
    joint = np.exp(fitted.class_log_prior_) * np.where(seen, p, 1 - p).prod(axis=2)
    wrong = 1 - joint.max(axis=1).sum()
    answers = fitted.predict(rows)
    assert wrong == pytest.approx(1 - joint[np.arange(16), answers].sum(), rel=1e-12)
    bound = exp(-fitted.certificate_.objective)
    assert wrong <= bound <= 20 * wrong


@pytest.mark.parametrize("exponent", [1.0, 0.3])
@every_kind
def test_two_classes_are_in_the_order_of_their_distance(kind, exponent):
    statistics = known(kind, 2, m=20)
    distance = of(kind).family.distances(statistics).between(np.arange(20))[:, 0]
    track = model_path(of(kind, exponent=exponent), statistics, np.arange(21))
    np.testing.assert_array_equal(track.order, np.argsort(-distance, kind="stable"))
    np.testing.assert_array_equal(track.gap, 0)
    np.testing.assert_allclose(
        track.objective - track.baseline,
        exponent * np.append(0, np.cumsum(np.sort(distance)[::-1])),
        atol=1e-12,
    )


def plain_elimination(cover, columns):
    """Of some columns, each time give up the one without which F is least; of ties, the last."""
    left, given_up = sorted(columns), []
    while left:
        reached = [separation(cover, [i for i in left if i != column]) for column in left]
        near = max(reached) - 1e-9
        given_up.append([c for c, value in zip(left, reached, strict=True) if value >= near][-1])
        left.remove(given_up[-1])
    return given_up[::-1]


def plain_greedy(cover, k):
    """Each time the feature that takes most off F; of those that tie, the first."""
    rows, energy, order = cover.rows(np.arange(cover.n_features)), 0.0, []
    for _ in range(k):
        share = cover.share(np.zeros(rows.shape[1]) + energy)
        fall = -(np.expm1(-rows) * share).sum(axis=1)
        fall[order] = -1
        order.append(int(np.flatnonzero(fall >= fall.max() * (1 - 1e-9))[0]))
        energy = energy + rows[order[-1]]
    return order


@every_kind
@pytest.mark.parametrize(("first", "cells"), [(1024, 1 << 25), (2, 1 << 25), (2, 40)])
def test_lazy_evaluation_changes_nothing(kind, first, cells, monkeypatch):
    """Whatever is looked at first, and however little of the distances is held at a time."""
    monkeypatch.setattr(pairs, "_FIRST", first)
    monkeypatch.setattr(pairs, "_CELLS", cells)
    statistics = known(kind, 4, m=60)
    cover = cover_of(of(kind), statistics)
    expected = plain_greedy(cover, 60)
    monkeypatch.setattr(pairs, "_GIVEN_UP", 10)
    order = plain_elimination(cover, expected[:10]) + expected[10:]
    for k in (1, 7, 60):
        assert pairs._greedy_order(cover, k).tolist() == expected[:k]
        assert pairs._order(cover, k)[:k].tolist() == order[:k]
        found = train(of(kind), statistics, k).selection.certificate
        assert found.bound >= found.objective


@settings(max_examples=40, deadline=None)
@given(st.integers(2, 4), st.integers(2, 12), st.randoms(use_true_random=False))
def test_copies_are_taken_in_their_order(n_classes, m, random):
    """Equal columns tie: the lowest comes first, and the others after it in their order."""
    rng = np.random.default_rng(random.getrandbits(32))
    y = np.arange(30) % n_classes
    X = rng.integers(0, 2, (30, m))
    copies = rng.integers(0, m, 3 * m)
    model = of("bernoulli")
    order = model_path(model, model.gather(X[:, copies], y)).order.tolist()
    for column in range(m):
        places = [order.index(i) for i in np.flatnonzero(copies == column)]
        assert places == sorted(places)


def test_a_panel_covers_what_the_largest_gains_leave():
    """Five columns tell the first two classes apart best; one tells the others apart."""
    rng = np.random.default_rng(0)
    y = np.arange(120) % 3
    X = rng.normal(size=(120, 6))
    X[:, :5] += 9.0 * (y == 0)[:, None]
    X[:, 5] += 3.0 * (y == 1)
    likely = SparseL2Centers(k=2).fit(X, y)
    covering = SparseL2Centers(k=2, objective="pairs").fit(X, y)
    assert not likely.support_[5]
    assert covering.support_[5]
    assert covering.score(X, y) > likely.score(X, y) + 0.2


@pytest.mark.parametrize("name", ["bernoulli", "multinomial", "poisson"])
def test_sparse_tables_are_as_dense_ones(name):
    X, y = rows_of(name, 4, m=40)
    X[:, 10:] = 0
    model = of(name)
    settings = {"presence": True} if name == "bernoulli" else {}
    wide = naively.ClassCounts.from_matrix(X, y, dense_cells=1, **settings)
    assert not isinstance(wide.table, np.ndarray)
    found, expected = train(model, wide, 5), train(model, model.gather(X, y), 5)
    np.testing.assert_array_equal(found.selection.support, expected.selection.support)
    assert found.selection.certificate == expected.selection.certificate


# -- what may be chosen ------------------------------------------------------------------------

SETTLED = {  # 9 columns
    "required": {"required": [2, 6]},
    "excluded": {"excluded": [0, 4]},
    "both": {"required": [5], "excluded": [0, 3]},
    "all but one settled": {"required": [1, 2, 3], "excluded": [0, 4, 5, 6, 7]},
    "groups": {"groups": [0, 1, 1, 2, 3, 4, 4, 4, 5]},
    "groups, some settled": {"groups": [0, 1, 1, 2, 3, 4, 4, 4, 5], "required": [5, 3],
                             "excluded": [2]},
    "groups that lie apart": {"groups": [0, 1, 2, 0, 1, 2, 3, 3, 0], "excluded": [6]},
}  # fmt: skip


def within(model, asked):
    return replace(model, constraints=Constraints.checked(9, **asked))


@every_kind
@pytest.mark.parametrize("n_classes", [2, 3, 4])
@pytest.mark.parametrize("asked", SETTLED.values(), ids=SETTLED)
def test_best_of_all_that_may_be_chosen(kind, n_classes, asked):
    statistics, cover = known(kind, n_classes), cover_of(of(kind), known(kind, n_classes))
    greedy, exact = (within(of(kind, exact=each), asked) for each in (False, True))
    least, most = greedy.constraints.least, greedy.constraints.n_choices
    track = model_path(greedy, statistics)
    for k in range(max(least, 1), most + 1):
        allowed = [tuple(each) for each in choices_of(greedy.constraints, k, None, 0)]
        best = max(separation(cover, each) for each in allowed)
        slack = 1e-9 * max(1.0, abs(best))
        for model in (greedy, exact):
            selection = train(model, statistics, k).selection
            support, proof = tuple(selection.support.tolist()), selection.certificate
            assert support in allowed
            assert proof.objective == pytest.approx(separation(cover, support), rel=1e-9, abs=1e-9)
            assert proof.objective - slack <= best <= proof.bound + slack
            assert proof.baseline == pytest.approx(separation(cover, ()))
            assert (proof.k, proof.choice) == (k, model.constraints.choice(k))
            without = [separation(cover, [j for j in support if j != i]) for i in support]
            lost = proof.objective - np.array(without)
            np.testing.assert_allclose(selection.gain, lost, rtol=1e-6, atol=1e-6)
            if model is exact or n_classes == 2:
                assert proof.proven_optimal
                assert proof.objective == pytest.approx(best, abs=slack)
            if model is greedy:
                at = track.k.tolist().index(k)
                assert tuple(track.support(k).tolist()) == support
                assert track.objective[at] == pytest.approx(proof.objective, rel=1e-9, abs=1e-9)
                assert track.bound[at] == pytest.approx(proof.bound, rel=1e-9, abs=1e-9)
    first = {i: k for k in reversed(track.k.tolist()) for i in track.support(k).tolist()}
    assert {i: k for i, k in enumerate(track.entry.tolist()) if k} == first
    if least:
        with pytest.raises(ValueError, match=f"`k` must be at least {least}: {least} are required"):
            train(greedy, statistics, least - 1)


@every_kind
@pytest.mark.parametrize("asked", [{"required": [7, 31]}, {"excluded": [*range(0, 60, 7)]}])
def test_the_order_is_that_beside_what_is_required(kind, asked, monkeypatch):
    """Greedy steps and the elimination, with the energies of the required columns in F."""
    monkeypatch.setattr(pairs, "_GIVEN_UP", 10)
    monkeypatch.setattr(pairs, "_FIRST", 2)
    statistics = known(kind, 4, m=60)
    cover, required = cover_of(of(kind), statistics), asked.get("required", [])
    free = np.setdiff1d(np.arange(60), [*required, *asked.get("excluded", [])])
    base = cover.energy(np.array(required, dtype=np.int64))
    rows, order, energy = cover.rows(free), [], base
    for _ in range(20):
        fall = -(np.expm1(-rows) * cover.share(energy)).sum(axis=1)
        fall[order] = -1
        order.append(int(np.flatnonzero(fall >= fall.max() * (1 - 1e-9))[0]))
        energy = energy + rows[order[-1]]
    left, given_up = sorted(order[:10]), []
    while left:
        kept = [[i for i in left if i != column] for column in left]
        reached = np.array([cover.separation(base + rows[each].sum(axis=0)) for each in kept])
        given_up.append([c for c, r in zip(left, reached, strict=True) if r >= reached.max() - 1e-9
                         ][-1])  # fmt: skip
        left.remove(given_up[-1])
    expected = free[given_up[::-1] + order[10:]]
    model = replace(of(kind), constraints=Constraints.checked(60, **asked))
    for n in (1, 4, 10, 20):
        found = train(model, statistics, n + len(required)).selection.support
        np.testing.assert_array_equal(found, np.sort([*required, *expected[:n]]))


@pytest.mark.parametrize("estimator", ESTIMATORS.values(), ids=ESTIMATORS)
def test_estimators_search_and_fold_within_constraints(estimator):
    kind = next(name for name, each in ESTIMATORS.items() if each is estimator)
    X, y = rows_of(kind, 3, n=60)
    asked = {"required": [6], "excluded": [0, 1], "objective": "pairs"}
    model = within(of(kind), {"required": [6], "excluded": [0, 1]})
    fitted = estimator(k=3, **asked).fit(X, y)
    expected = train(fitted.model_, model.gather(X, y), 3).selection.support
    assert fitted.get_support(indices=True).tolist() == expected.tolist()
    auto = estimator(k="auto", **asked).fit(X, y).support_
    assert auto[6]
    assert not auto[:2].any()
    search = SparsityCV(estimator(**asked), ks=[1, 3, 5], cv=3).fit(X, y)
    loop = GridSearchCV(estimator(**asked), {"k": [1, 3, 5]}, cv=3).fit(X, y)
    np.testing.assert_allclose(
        search.cv_results_["mean_test_score"], loop.cv_results_["mean_test_score"]
    )
    curves = error_path(estimator(**asked), X, y, ks=[1, 3], n_folds=3)
    assert np.isfinite(curves.cross_validated).all()


@pytest.mark.parametrize("kind", ["bernoulli", "multinomial", "gaussian"])
def test_weights_of_classes_weigh_the_pairs(kind):
    X, y = rows_of(kind, 3, n=60)
    weight = compute_sample_weight("balanced", y)
    asked = {"k": 3, "objective": "pairs", "required": [4]}
    fitted = ESTIMATORS[kind](class_weight="balanced", **asked).fit(X, y)
    plain = ESTIMATORS[kind](**asked).fit(X, y, weight)
    assert fitted.get_support(indices=True).tolist() == plain.get_support(indices=True).tolist()
    assert fitted.certificate_.objective == pytest.approx(plain.certificate_.objective, rel=1e-9)


COSTS = np.array([3.0, 1, 4, 1, 5, 2, 2, 6, 3])
SHAPED = {  # 9 columns
    "quota": {"quota": 1},
    "quota, some settled": {"quota": 1, "required": [2], "excluded": [5]},
    "even": {"quota": "even"},
    "even, some settled": {"quota": "even", "required": [2, 6], "excluded": [0]},
    "budget": {"costs": COSTS, "budget": 8.0},
    "budget of tenths": {"costs": COSTS / 10, "budget": 1.1},
    "budget, some settled": {"costs": COSTS, "budget": 11.0, "required": [1], "excluded": [3]},
    "budget of groups": {"costs": COSTS, "budget": 11.0, "groups": [0, 1, 1, 2, 3, 4, 4, 4, 5]},
    "budget and quota": {"costs": COSTS, "budget": 12.0, "quota": 1},
    "nothing costs": {"costs": 0 * COSTS, "budget": 1.0},
}


@every_kind
@pytest.mark.parametrize("n_classes", [2, 3])
@pytest.mark.parametrize("asked", SHAPED.values(), ids=SHAPED)
def test_best_within_budgets_and_quotas(kind, n_classes, asked):
    statistics, cover = known(kind, n_classes), cover_of(of(kind), known(kind, n_classes))
    speaks = speaks_for(of(kind), statistics)
    greedy, exact = (within(of(kind, exact=each), asked) for each in (False, True))
    constraints = greedy.constraints
    there_are = np.bincount(speaks[np.setdiff1d(np.arange(9), constraints.excluded)],
                            minlength=n_classes)  # fmt: skip
    if asked.get("quota") == 1 and not there_are.all():
        with pytest.raises(ValueError, match="`quota` must be at most 0"):
            train(greedy, statistics, 9)
        return
    for k in range(1, constraints.n_choices + 1):
        allowed = choices_of(constraints, k, speaks, n_classes)
        if not allowed:
            with pytest.raises(ValueError, match="must be"):
                train(greedy, statistics, k)
            continue
        best = max(separation(cover, each) for each in allowed)
        slack = 1e-9 * max(1.0, abs(best))
        for model in (greedy, exact):
            selection = train(model, statistics, k).selection
            support, proof = selection.support.tolist(), selection.certificate
            assert support in allowed
            assert proof.objective == pytest.approx(separation(cover, support), rel=1e-9, abs=1e-9)
            assert proof.objective - slack <= best <= proof.bound + slack
            assert proof.baseline == pytest.approx(separation(cover, ()))
            assert (proof.quantity, proof.unit) == (pairs.SEPARATION, "nats")
            assert proof.k == len(constraints.units_of(selection.support))
            if model is exact or n_classes == 2:
                assert proof.proven_optimal
                assert proof.objective == pytest.approx(best, abs=slack)
    least = min(k for k in range(10) if choices_of(constraints, k, speaks, n_classes))
    track = model_path(greedy, statistics, range(max(least, 1), constraints.n_choices + 1))
    for g, k in enumerate(track.k.tolist()):
        selection = train(greedy, statistics, k).selection
        assert track.support(k).tolist() == selection.support.tolist()
        proof = selection.certificate
        assert track.objective[g] == pytest.approx(proof.objective, rel=1e-9, abs=1e-9)
        assert track.bound[g] == pytest.approx(proof.bound, rel=1e-9, abs=1e-9)


@pytest.mark.parametrize("asked", [{"quota": 2}, {"quota": "even"}, {"budget": 60.0}])
def test_greedy_of_many_within_budgets_and_quotas(asked, monkeypatch):
    """Each step takes the largest fall of all that may enter; the bound is one on random sets."""
    monkeypatch.setattr(pairs, "_LOOKED", 3)
    statistics, rng = known("bernoulli", 4, m=200), np.random.default_rng(0)
    costs = rng.integers(1, 9, 200).astype(float)
    more = {"costs": costs} if "budget" in asked else {}
    constraints = Constraints.checked(200, **asked, **more)
    model = replace(of("bernoulli"), constraints=constraints)
    cover, speaks = cover_of(model, statistics), speaks_for(model, statistics)
    rows, k = cover.rows(np.arange(200)), 70
    level = np.array([0 if more else k // 4 if asked["quota"] == "even" else 2])
    allowed = Allowed(k, np.ones(200, int), costs if more else None, asked.get("budget", np.inf),
                      0.0, speaks, np.minimum(level, np.bincount(speaks, minlength=4)))  # fmt: skip
    proof = train(model, statistics, k).selection.certificate
    for per_cost in (False, True):
        order, energy, take = [], np.zeros(rows.shape[1]), np.zeros(200, dtype=np.int64)
        while len(order) < k and (may := allowed.may_enter(take)).any():
            fall = -(np.expm1(-rows) * cover.share(energy)).sum(axis=1)
            fall = fall / costs if per_cost and more else fall
            fall[~may] = -1
            order.append(int(np.flatnonzero(fall >= fall.max() * (1 - 1e-9))[0]))
            take[order[-1]] = 1
            energy = energy + rows[order[-1]]
        found = pairs._greedy_choice(cover, allowed, per_cost=per_cost)
        assert found.tolist() == order
        assert proof.objective >= cover.separation(energy) - 1e-9
        assert proof.bound >= proof.objective
    for _ in range(50):
        take = np.zeros(200, dtype=np.int64)
        while take.sum() < k and (may := allowed.may_enter(take)).any():
            take[rng.choice(np.flatnonzero(may))] = 1
        assert cover.separation(rows[take > 0].sum(axis=0)) <= proof.bound


@pytest.mark.parametrize("asked", [{"quota": "even"}, {"costs": COSTS, "budget": 12.0}])
@pytest.mark.parametrize("estimator", [SparsePoissonNB, naively.SparseGaussianNB])
def test_estimators_search_within_budgets_and_quotas(estimator, asked):
    X, y = rows_of("poisson", 3, n=60)
    asked = {**asked, "objective": "pairs"}
    search = SparsityCV(estimator(**asked), ks=[3, 4, 5], cv=3).fit(X, y)
    loop = GridSearchCV(estimator(**asked), {"k": [3, 4, 5]}, cv=3).fit(X, y)
    np.testing.assert_allclose(
        search.cv_results_["mean_test_score"], loop.cv_results_["mean_test_score"]
    )
    fitted = estimator(k="best", **asked).fit(X, y)
    if "budget" in asked:
        assert COSTS[fitted.support_].sum() <= 12.0
        assert estimator(k=None, **asked).fit(X, y).certificate_.gain > 0
    curves = error_path(estimator(**asked), X, y, ks=[3, 4], n_folds=3)
    assert np.isfinite(curves.cross_validated).all()


# -- corners -----------------------------------------------------------------------------------


def test_classes_without_rows_or_without_a_prior_make_no_pair():
    X, y = rows_of("poisson", 3)
    model = of("poisson")
    few = model.gather(X, y)
    more = model.gather(X, y, classes=np.arange(5))
    assert len(cover_of(model, more).kept) == 3
    without = with_objective(MODELS["poisson"].build(class_prior=[0.0, 0.5, 0.5]), "pairs")
    cover = cover_of(without, few)
    assert cover.kept.tolist() == [2]
    assert train(without, few, 4).selection.certificate.proven_optimal


@pytest.mark.parametrize("classes", [[0], [0, 1]])
def test_one_class_has_nothing_to_be_told_apart(classes):
    model = of("multinomial")
    statistics = model.gather([[1, 2, 0], [3, 0, 1]], [0, 0], classes=classes)
    found = train(model, statistics, 2).selection
    assert found.support.tolist() == [0, 1]
    assert found.certificate.proven_optimal
    assert (found.certificate.objective, found.certificate.gap) == (0.0, 0.0)
    track = model_path(model, statistics, [0, 1, 3])
    assert track.objective.tolist() == [0.0, 0.0, 0.0]


def test_classes_that_are_never_confused():
    X = [[1, 0, 5.0], [1, 0, 5.0], [0, 1, 5.0], [0, 1, 5.0], [0, 2, 5.0], [0, 2, 5.0]]
    y = [0, 0, 1, 1, 2, 2]
    for estimator in (
        SparseGaussianNB(k=1, var_smoothing=0.0, objective="pairs"),
        SparseL2Centers(k=1, scale="std", objective="pairs"),
    ):
        fitted = estimator.fit(X, y)
        assert fitted.get_support(indices=True).tolist() == [1]
        assert fitted.certificate_.objective == pytest.approx(CERTAIN, rel=1e-3)
        assert fitted.certificate_.proven_optimal
    never = SparseBernoulliNB(k=1, alpha=0.0, objective="pairs").fit([[1, 0], [0, 0]], [0, 1])
    assert never.certificate_.gain == CERTAIN


def test_distances_that_cannot_be_held_are_refused():
    with pytest.raises(ValueError, match="distance of two classes in a feature is not a finite"):
        SparseL2Centers(k=1, objective="pairs").fit([[1e200], [-1e200], [0.0]], [0, 1, 2])


def test_limits_return_the_best_found_with_its_gap():
    rng = np.random.default_rng(0)
    y = np.arange(80) % 8
    X = rng.normal(size=(80, 40))
    found = {
        nodes: SparseL2Centers(k=6, objective=Pairs(exact=True, max_nodes=nodes)).fit(X, y)
        for nodes in (1, 20)
    }
    few, many = (each.certificate_ for each in found.values())
    assert not few.proven_optimal
    assert few.nodes <= 3
    assert few.objective - 1e-9 <= many.objective <= many.bound + 1e-9 <= few.bound + 2e-9
    limited = Pairs(exact=True, time_limit=1e-9)
    assert SparseL2Centers(k=6, objective=limited).fit(X, y).certificate_.gap > 0


@pytest.mark.parametrize(
    ("objective", "message"),
    [
        ("pair", "`objective` must be 'likelihood', 'pairs' or a `Pairs` record; got 'pair'"),
        (None, "`objective` must be"),
    ],
)
def test_other_objectives_are_refused(objective, message):
    with pytest.raises(ValueError, match=message):
        SparsePoissonNB(objective=objective).fit([[1, 2], [0, 1]], [0, 1])


@pytest.mark.parametrize("exponent", [0, -1, np.nan, np.inf, "1"])
def test_exponents_are_positive(exponent):
    with pytest.raises(ValueError, match="`exponent` must be a finite number > 0"):
        Pairs(exponent=exponent)


def test_a_search_of_the_likelihood_is_none_of_pairs():
    with pytest.raises(
        ValueError, match=r"have no effect on pairs .* objective=Pairs\(exact=True\)"
    ):
        SparseMultinomialNB(exact=True, objective="pairs").fit([[1, 2], [0, 1]], [0, 1])
    assert "objective" not in HybridNB().get_params()
    with pytest.raises(ValueError, match="`max_nodes` must be an int >= 1"):
        Pairs(max_nodes=0)
    with pytest.raises(ValueError, match="needs distances of classes, which the hybrid model"):
        with_objective(MODELS["hybrid"].build(), "pairs")


# -- path, folds and everything that takes a model ---------------------------------------------


@every_kind
@pytest.mark.parametrize("n_classes", [2, 3])
def test_the_path_is_the_fits(kind, n_classes):
    statistics = known(kind, n_classes, m=30)
    grid = np.array([0, 1, 3, 4, 10, 30])
    track = model_path(of(kind), statistics, grid)
    before = np.empty(0)
    for g, k in enumerate(grid.tolist()):
        found = train(of(kind), statistics, k).selection
        np.testing.assert_array_equal(track.support(k), found.support)
        assert track.objective[g] == pytest.approx(found.certificate.objective, rel=1e-9)
        assert track.bound[g] == pytest.approx(found.certificate.bound, rel=1e-9)
        assert np.isin(before, found.support).all()
        before = found.support
    short = model_path(of(kind), statistics, [2, 5])
    np.testing.assert_array_equal(
        short.support(17), train(of(kind), statistics, 17).selection.support
    )
    assert (short.entry > 0).sum() == 5
    assert set(short.order.tolist()) == set(short.support(5).tolist())


@pytest.mark.parametrize("name", ESTIMATORS)
def test_cross_validation_is_a_loop_of_fits(name):
    X, y = rows_of(name, 3, m=12, n=60)
    make = partial(ESTIMATORS[name], objective=Pairs(exponent=0.5))
    folds = [
        (np.flatnonzero(np.arange(len(y)) % 3 != t), np.arange(t, len(y), 3)) for t in range(3)
    ]
    search = SparsityCV(make(), ks=[1, 2, 5, 12], cv=folds).fit(X, y)
    for g, k in enumerate([1, 2, 5, 12]):
        expected = [make(k=k).fit(X[a], y[a]).score(X[b], y[b]) for a, b in folds]
        found = [search.cv_results_[f"split{t}_test_score"][g] for t in range(3)]
        np.testing.assert_allclose(found, expected, atol=1e-12)
    chosen = make(k="auto").fit(X, y)
    assert chosen.support_.sum() == chosen.fold_errors_.best_k()
    curves = error_path(make(), X, y, ks=[1, 4])
    assert curves.folds.errors.shape[1] == 2


@pytest.mark.parametrize("name", ESTIMATORS)
def test_batches_and_containers_change_nothing(name):
    X, y = rows_of(name, 4, m=25)
    whole = ESTIMATORS[name](k=6, objective="pairs").fit(X, y)
    sparse = ESTIMATORS[name](k=6, objective="pairs").fit(sp.csr_array(X), y)
    np.testing.assert_array_equal(sparse.support_, whole.support_)
    if name == "l1-centers":
        return
    parts = ESTIMATORS[name](k=6, objective="pairs")
    for t in range(3):
        parts.partial_fit(X[t::3], y[t::3], classes=np.arange(4))
    np.testing.assert_array_equal(parts.support_, whole.support_)
    assert parts.certificate_.bound == pytest.approx(whole.certificate_.bound, rel=1e-9)
    order = np.random.default_rng(0).permutation(25)
    moved = ESTIMATORS[name](k=6, objective="pairs").fit(X[:, order], y)
    np.testing.assert_array_equal(moved.support_, whole.support_[order])


def test_the_gain_of_a_feature_is_what_would_be_lost_without_it():
    model, statistics = of("gaussian"), known("gaussian", 4)
    found = train(model, statistics, 4).selection
    cover = cover_of(model, statistics)
    for column, gain in zip(found.support, found.gain, strict=True):
        others = found.support[found.support != column]
        lost = found.certificate.objective - separation(cover, others)
        assert gain == pytest.approx(lost, rel=1e-9)


# -- kernels -----------------------------------------------------------------------------------


def test_equal_rows_are_found():
    rng = np.random.default_rng(0)
    rows = rng.integers(-1, 2, (300, 3)) * 1e-200
    expected = [next(j for j in range(300) if (rows[j] == rows[i]).all()) for i in range(300)]
    assert first_equal(rows).tolist() == expected
    assert first_equal(np.zeros((0, 3))).tolist() == []


def test_weighed_squares_are_a_double_loop():
    rng = np.random.default_rng(0)
    roots, weights, total = rng.normal(size=(7, 4)), rng.random(6), np.empty(7)
    weighed_squares(roots, weights, total)
    each = zip(weights, combinations(range(4), 2), strict=True)
    expected = sum(w * (roots[:, a] - roots[:, b]) ** 2 for w, (a, b) in each)
    np.testing.assert_allclose(total, expected, rtol=1e-13)
    np.testing.assert_allclose(squares(roots) @ weights, expected, rtol=1e-13)


def test_limits_are_those_of_the_objective():
    model = of("poisson", exact=True, max_nodes=7, time_limit=3.0)
    assert model.limits == Limits(exact=True, max_nodes=7, time_limit=3.0)
    assert model.words.quantity == "separation of the pairs of classes"


# -- the command -------------------------------------------------------------------------------


@pytest.fixture
def table(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    X, y = rows_of("poisson", 3, m=8, n=90)
    lines = ["label," + ",".join(f"x{i}" for i in range(8))]
    lines += [
        f"c{label}," + ",".join(map(str, row)) for label, row in zip(y, X.tolist(), strict=True)
    ]
    (tmp_path / "t.csv").write_text("\n".join(lines))
    return X, y


def run(*arguments, status=0):
    result = CliRunner().invoke(command, [str(each) for each in arguments])
    assert result.exit_code == status, result.output
    return result.output


@pytest.mark.parametrize("model", ["poisson", "multinomial", "l1-centers"])
def test_the_command_selects_what_the_estimator_does(table, model, monkeypatch):
    X, y = table
    options = (
        "--read",
        "numbers",
        "--model",
        model,
        "-k",
        3,
        "--choose",
        "objective=pairs",
        "--choose",
        "exponent=0.5",
    )
    shown = run("select", "t.csv", *options, "-q", "--test", 0, "--out", "held")
    assert "3 of 8 features tell 3 classes apart" in shown
    monkeypatch.setattr(data, "HELD_BYTES", 0)
    run("select", "t.csv", *options, "-q", "--test", 0, "--out", "streamed", "--on", 2)
    held, streamed = (
        json.loads(Path(out, "summary.json").read_text()) for out in ("held", "streamed")
    )
    assert held["certificate"]["quantity"] == "separation of the pairs of classes"
    assert held["features"] == streamed["features"]
    assert held["certificate"] == streamed["certificate"]
    fitted = ESTIMATORS[model](k=3, objective=Pairs(exponent=0.5)).fit(X, y)
    names = {f"x{i}" for i in fitted.get_support(indices=True)}
    assert {each["name"] for each in held["features"]} == names
    assert held["certificate"]["objective"] == pytest.approx(fitted.certificate_.objective)
    track = json.loads(run("cv", "t.csv", *options[:4], *options[6:], "--ks", "3", "--json", "-q"))
    assert track["contenders"][0]["quantity"] == "separation of the pairs of classes"
    assert track["points"][0]["gain"] == pytest.approx(fitted.certificate_.gain)
    scores = sparsity_path(ESTIMATORS[model](objective=Pairs(exponent=0.5)), X, y, ks=[3])
    assert track["points"][0]["bound"] == pytest.approx(scores.bound[0] - scores.baseline)


def test_the_command_cross_validates_and_searches(table):
    options = ("--read", "numbers", "--choose", "objective=pairs")
    shown = json.loads(
        run("cv", "t.csv", *options, "--model", "poisson", "--ks", "1,3,8", "--json", "-q")
    )
    assert [each["k"] for each in shown["points"]] == [1, 3, 8]
    out = run(
        "select",
        "t.csv",
        *options,
        "--model",
        "poisson",
        "-k",
        3,
        "--choose",
        "exact",
        "--out",
        "r",
        "-q",
    )
    assert "Proven optimal" in out
    run("select", "t.csv", *options, "--model", "poisson", "-k", "auto", "--out", "a", "-q")


@pytest.mark.parametrize(
    ("options", "message"),
    [
        (
            ("--choose", "exponent=0.3"),
            "`--choose exponent` has no effect without --choose objective=pairs",
        ),
        (
            ("--choose", "objective=pairs", "--model", "hybrid"),
            "needs distances of classes, which the hybrid model lacks",
        ),
        (
            ("--model", "poisson", "--choose", "exact"),
            "`--choose exact` has no effect on --model poisson",
        ),
    ],
)
def test_options_without_effect_are_refused(tmp_path, monkeypatch, options, message):
    monkeypatch.chdir(tmp_path)
    (tmp_path / "t.csv").write_text("text,label\na b,x\nb c,y\na c,x\nb d,y\n")
    assert message in run("select", "t.csv", *options, "--out", "r", "-q", status=2)


@pytest.mark.parametrize("quota", [1, 4, "even"])
@pytest.mark.parametrize("n_classes", [2, 4])
def test_a_quota_that_never_binds_leaves_the_order_as_it_is(monkeypatch, quota, n_classes):
    """From 64 columns on they are taken one by one: where no class is short, as without a quota."""
    rng = np.random.default_rng(n_classes)
    y = np.repeat(np.arange(n_classes), 12)
    X = rng.poisson(rng.gamma(0.7, 1.5, (n_classes, 120))[y])
    make = partial(SparsePoissonNB, objective="pairs", quota=quota)
    ks = [64, 70, 110]
    found = [make(k=k).fit(X, y).get_support(indices=True).tolist() for k in ks]
    path = sparsity_path(make(), X, y, ks=ks)
    assert [path.support(k).tolist() for k in ks] == found
    monkeypatch.setattr(pairs._Shaped, "_free_choice", lambda *_: None)
    assert [make(k=k).fit(X, y).get_support(indices=True).tolist() for k in ks] == found
