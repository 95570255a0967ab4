"""Scores along a path, and leave-one-out errors, against one rule after the other."""

from __future__ import annotations

import numpy as np
import pytest
from scipy import sparse

from naively.judging.leave_one_out import multinomial_errors, presence_errors
from naively.judging.path_rule import path_rule, rule_of_rules
from naively.judging.rows import Rows
from naively.judging.visits import Visits, path_visits
from naively.models.bernoulli import bernoulli
from naively.models.multinomial import multinomial
from naively.models.priors import log_prior
from naively.selection.path import path
from naively.statistics.counts import ClassCounts

NO_WEIGHT = np.empty(0)


def data(seed, n=40, m=14, n_classes=2, rate=0.7):
    rng = np.random.default_rng(seed)
    X = rng.poisson(rate * rng.gamma(1.0, size=(n_classes, m))[np.arange(n) % n_classes])
    return sparse.csr_array(X), np.arange(n) % n_classes


def supports_of(visits, m):
    """Members at each grid point, from the visits."""
    members = np.zeros((visits.n_points, m), dtype=bool)
    for j in visits.columns:
        for v in range(visits.ptr[visits.slot[j]], visits.ptr[visits.slot[j] + 1]):
            members[visits.enter[v] : visits.leave[v], j] = True
    return [np.flatnonzero(row) for row in members]


@pytest.mark.parametrize("n_classes", [2, 3])
@pytest.mark.parametrize("make", [multinomial, bernoulli])
def test_visits_are_the_supports(make, n_classes):
    nested = []
    for seed in range(12):
        X, y = data(seed, n_classes=n_classes, m=30)
        statistics = ClassCounts.from_matrix(X, y, presence=make is bernoulli)
        track = path(make(0.3), statistics, np.arange(31))
        visits = path_visits(track, 30)
        for k, support in zip(track.k, supports_of(visits, 30), strict=True):
            np.testing.assert_array_equal(support, track.support(k))
        nested.append(len(visits.enter) == len(visits.feature))
        values = np.random.default_rng(seed).random((len(visits.feature), 2))
        spread = np.zeros((30, 2))
        spread[visits.columns] = values[visits.slot[visits.columns]]
        table = statistics.table
        np.testing.assert_array_equal(
            table[visits.columns], table[visits.feature][visits.slot[visits.columns]]
        )
        expected = [spread[track.support(k)].sum(axis=0) for k in track.k]
        np.testing.assert_allclose(visits.totals(values), expected, atol=1e-12)
    if make is multinomial:
        assert not all(nested), "some path should not be nested, or the case is untested"


@pytest.mark.parametrize("alpha", [1.0, 0.1, 0.0])
@pytest.mark.parametrize("n_classes", [1, 2, 3])
@pytest.mark.parametrize("make", [multinomial, bernoulli])
@pytest.mark.parametrize("seed", range(2))
def test_path_rule_equals_one_rule_per_k(make, n_classes, alpha, seed):
    X, y = data(seed, n_classes=n_classes, rate=0.3)
    presence = make is bernoulli
    statistics = ClassCounts.from_matrix(X, y, presence=presence)
    family = make(alpha)
    prior = log_prior(statistics.class_weight)
    track = path(family, statistics, np.arange(15))
    fresh, _ = data(seed + 100, n_classes=n_classes, rate=0.5)
    rows = sparse.csr_array(fresh > 0, dtype=float) if presence else fresh
    together = path_rule(family, statistics, track, prior)
    scores = np.concatenate([block for _, block in together.blocks(rows)])
    for g, k in enumerate(track.k):
        support = track.support(k)
        expected = family.rule(statistics, support, prior).scores(rows[:, support])
        check_scores(scores[:, g], expected)


def first_best(scores):
    """Class of the largest score; equal to rounding is equal, and the first class wins."""
    return np.argmax(scores >= scores.max(axis=-1, keepdims=True) - 1e-9, axis=-1)


def check_scores(found, expected):
    """Equal up to a term per row."""
    np.testing.assert_array_equal(np.isneginf(found), np.isneginf(expected))
    found, expected = (s - s.max(axis=1, keepdims=True) for s in (found, expected))
    np.testing.assert_allclose(found, expected, atol=1e-10)


def test_supports_that_are_not_nested():
    X, y = data(0, n_classes=3)
    statistics = ClassCounts.from_matrix(X, y)
    family, prior = multinomial(0.5), np.log([0.2, 0.3, 0.5])
    supports = [np.array(s) for s in ([0, 3], [1, 2, 3], [0, 1, 4], [7], [2, 5, 6], range(14))]
    rules = [family.rule(statistics, support, prior) for support in supports]
    together = rule_of_rules(supports, rules, 14)
    scores = together.scores(X, 0, X.shape[0])
    for g, support in enumerate(supports):
        check_scores(scores[:, g], rules[g].scores(X[:, support]))


@pytest.mark.parametrize("weighted", [False, True])
def test_errors_are_those_of_the_scores(weighted):
    X, y = data(1, n=5000, n_classes=3)
    statistics = ClassCounts.from_matrix(X, y)
    prior = log_prior(statistics.class_weight)
    family = multinomial(1.0)
    track = path(family, statistics, [0, 2, 5, 9])
    weight = np.random.default_rng(0).random(5000) if weighted else NO_WEIGHT
    wrong = path_rule(family, statistics, track, prior).errors(X, y, weight)
    for g, k in enumerate(track.k):
        support = track.support(k)
        winner = first_best(family.rule(statistics, support, prior).scores(X[:, support]))
        expected = (weight if weighted else np.ones(5000)) @ (winner != y)
        assert wrong[g] == pytest.approx(expected)


# Leave-one-out ----------------------------------------------------------------------------------


def refit_errors(family, statistics, track, X, rows, y, weight, fixed_prior, presence):
    """One refit of the parameters per row, the supports as they are."""
    wrong = np.zeros(len(track.k))
    for i in range(len(y)):
        one = ClassCounts.from_matrix(
            X[[i]], y[[i]], weight[[i]], classes=statistics.classes, presence=presence
        )
        rest = statistics - one
        prior = fixed_prior if fixed_prior is not None else log_prior(rest.class_weight)
        for g, k in enumerate(track.k):
            support = track.support(k)
            scores = family.rule(rest, support, prior).scores(rows[[i]][:, support])[0]
            wrong[g] += weight[i] * (first_best(scores) != y[i])
    return wrong


@pytest.mark.parametrize("case", ["plain", "weighted", "fixed prior", "alpha per feature"])
@pytest.mark.parametrize("n_classes", [2, 3])
@pytest.mark.parametrize("make", [multinomial, bernoulli])
@pytest.mark.parametrize("seed", range(2))
def test_leave_one_out_equals_refits(make, n_classes, case, seed):
    rng = np.random.default_rng(seed)
    X, y = data(seed, n=17, n_classes=n_classes, rate=0.4)
    presence = make is bernoulli
    weight = rng.integers(1, 4, 17) / 2.0 if case == "weighted" else np.ones(17)
    alpha = rng.random(14) + 0.1 if case == "alpha per feature" else 0.7
    fixed = np.log(np.full(n_classes, 1 / n_classes)) if case == "fixed prior" else None
    family = make(alpha)
    statistics = ClassCounts.from_matrix(X, y, weight, presence=presence)
    track = path(family, statistics, [0, 1, 2, 4, 7, 10, 13, 14])
    rows = sparse.csr_array(X > 0, dtype=float) if presence else sparse.csr_array(X, dtype=float)
    expected = refit_errors(family, statistics, track, X, rows, y, weight, fixed, presence)
    visits = path_visits(track, 14)
    given = Rows(rows, y, weight if case == "weighted" else NO_WEIGHT)
    errors = presence_errors if presence else multinomial_errors
    found = errors(statistics.table, alpha, statistics.class_weight, visits, given, fixed)
    np.testing.assert_allclose(found, expected)


@pytest.mark.parametrize("make", [multinomial, bernoulli])
def test_leave_one_out_of_a_class_with_one_row(make):
    X, y = data(3, n=12)
    y = np.where(np.arange(12) == 4, 2, y)
    presence = make is bernoulli
    family = make(1.0)
    statistics = ClassCounts.from_matrix(X, y, presence=presence)
    track = path(family, statistics, [0, 3, 14])
    rows = sparse.csr_array(X > 0, dtype=float) if presence else X
    weight = np.ones(12)
    expected = refit_errors(family, statistics, track, X, rows, y, weight, None, presence)
    visits, given = path_visits(track, 14), Rows(rows, y, NO_WEIGHT)
    errors = presence_errors if presence else multinomial_errors
    found = errors(statistics.table, 1.0, statistics.class_weight, visits, given, None)
    np.testing.assert_allclose(found, expected)


def test_results_do_not_depend_on_the_number_of_threads():
    import numba

    X, y = data(1, n=9000)
    statistics = ClassCounts.from_matrix(X, y)
    family = multinomial(1.0)
    track = path(family, statistics, np.arange(15))
    visits = path_visits(track, 14)
    rows = Rows(X, y, np.random.default_rng(0).random(9000))
    both = multinomial_errors(statistics.table, 1.0, statistics.class_weight, visits, rows, None)
    threads = numba.get_num_threads()
    numba.set_num_threads(1)
    try:
        one = multinomial_errors(statistics.table, 1.0, statistics.class_weight, visits, rows, None)
    finally:
        numba.set_num_threads(threads)
    np.testing.assert_array_equal(both, one)


def test_a_visit_may_be_empty():
    none = np.empty(0, dtype=np.int64)
    visits = Visits(np.full(3, -1, dtype=np.int32), none, np.zeros(1, np.int64), none, none, 2)
    np.testing.assert_array_equal(visits.totals(np.empty((0, 2))), np.zeros((2, 2)))
