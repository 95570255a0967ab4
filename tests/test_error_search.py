"""Feature search by the predicted error, against naive re-evaluation of every set."""

from __future__ import annotations

import itertools
import warnings

import numpy as np
import pytest
from scipy import sparse
from sklearn.utils.estimator_checks import parametrize_with_checks

import reference_error as reference
from naively import ErrorSearchSelector, expected_error
from naively.expected.feature_search import Criterion, EstimatedCriterion, search, set_error
from naively.expected.lengths import as_lengths


def problem(seed, n_classes, n_features):
    rng = np.random.default_rng(seed)
    P = rng.gamma(0.8, size=(n_classes, n_features)) + 0.01
    P = P / P.sum(axis=1, keepdims=True) * rng.uniform(0.6, 1, (n_classes, 1))
    priors = rng.dirichlet(np.full(n_classes, 5.0))
    return P, priors


def criterion_of(P, priors, length, pooled):
    return Criterion.from_probabilities(P, np.full(len(P), length), priors, pooled=pooled)


def naive_forward(P, k, length, priors, pooled, rivals="product"):
    support = []
    for _ in range(k):
        left = [d for d in range(P.shape[1]) if d not in support]
        error_of = reference.search_error
        shares = pooled and len(support) > 0  # one feature alone is compared with the rest
        errors = [error_of(P, [*support, d], length, priors, shares, rivals) for d in left]
        smallest = min(errors)
        chosen = next(i for i, e in enumerate(errors) if e <= smallest * (1 + 1e-10))
        support.append(left[chosen])
    return support


@pytest.mark.parametrize("pooled", [False, True])
@pytest.mark.parametrize("n_classes", [2, 3])
@pytest.mark.parametrize("seed", range(6))
def test_forward_equals_naive_evaluation(seed, n_classes, pooled):
    P, priors = problem(seed, n_classes, 9)
    found = search(criterion_of(P, priors, 20.0, pooled), 6, "forward")
    order = naive_forward(P, 6, 20.0, priors, pooled)
    np.testing.assert_array_equal(found.order, order)
    for size, error in zip(found.sizes, found.errors, strict=True):
        expected = reference.search_error(P, order[:size], 20.0, priors, pooled)
        assert error == pytest.approx(expected, abs=1e-12)
    assert found.evaluations == 9 + 8 + 7 + 6 + 5 + 4


@pytest.mark.parametrize("pooled", [False, True])
@pytest.mark.parametrize("seed", range(4))
def test_the_mean_over_the_rivals(seed, pooled):
    P, priors = problem(seed, 4, 9)
    criterion = Criterion.from_probabilities(
        P, np.full(4, 20.0), priors, pooled=pooled, rivals="mean"
    )
    order = naive_forward(P, 4, 20.0, priors, pooled, "mean")
    np.testing.assert_array_equal(search(criterion, 4, "forward").order, order)
    by_methods = EstimatedCriterion(
        P.T, as_lengths(20, 4), np.log(priors), pooled, "mean", "normal"
    )
    expected = reference.search_error(P, order, 20.0, priors, pooled, "mean")
    for each in (criterion, by_methods):
        assert set_error(each, np.sort(order)) == pytest.approx(expected, abs=1e-12)


@pytest.mark.parametrize("method", ["exact", "saddlepoint", "compensated", "uncorrelated"])
@pytest.mark.parametrize("n_classes", [2, 3])
@pytest.mark.parametrize("seed", range(2))
def test_search_by_any_method_is_a_loop_of_estimates(seed, n_classes, method):
    P, priors = problem(seed, n_classes, 6)
    P[0, 1] = 0.0  # a word that decides
    asked = {"length": ([3, 7], [0.4, 0.6]), "priors": priors, "method": method}

    def error(support):
        return expected_error(P, support=support, **asked).error

    lengths = as_lengths(asked["length"], n_classes)
    criterion = EstimatedCriterion(P.T, lengths, np.log(priors), False, "product", method)
    found = search(criterion, 3, "forward")
    support = []
    for size in range(3):
        errors = [error([*support, d]) if d not in support else 1.0 for d in range(6)]
        smallest = next(d for d in range(6) if errors[d] <= min(errors) * (1 + 1e-10))
        support.append(smallest)
        assert found.errors[size] == pytest.approx(errors[smallest], abs=1e-12)
    assert found.order.tolist() == support
    assert found.evaluations == 6 + 5 + 4
    best = search(criterion, 3, "branch_and_bound")
    assert best.error <= found.error + 1e-12


@pytest.mark.parametrize("pooled", [False, True])
def test_the_criterion_is_the_normal_estimate(pooled):
    P, priors = problem(1, 2, 8)
    P[0, 2] = P[1, 5] = 0.0  # words that decide
    criterion = criterion_of(P, priors, 12, pooled)
    for support in ([], [3], [2, 3], [2, 5, 7], list(range(8))):
        expected = expected_error(
            P, length=12, priors=priors, method="normal", support=support, pooled=pooled
        )
        found = set_error(criterion, np.array(support, dtype=np.int64))
        assert found == pytest.approx(expected.error, abs=1e-12)


@pytest.mark.parametrize("pooled", [False, True])
@pytest.mark.parametrize("length", [20, 150])
def test_small_steps_keep_all_digits(length, pooled):
    """Of many features one changes little: the series must be as good as the tail itself."""
    P, priors = problem(0, 2, 500)
    criterion = criterion_of(P, priors, length, pooled)
    members = np.arange(0, 400, 2)
    errors = criterion.errors(members, ~np.isin(np.arange(500), members), 1)
    for i in range(1, 100, 2):
        together = np.sort([*members, i])
        assert errors[i] == pytest.approx(set_error(criterion, together), rel=1e-12, abs=0)
    estimate = {"priors": priors, "method": "normal", "pooled": pooled}
    expected = expected_error(P, length=length, support=together, **estimate)
    assert errors[i] == pytest.approx(expected.error, rel=1e-12, abs=1e-15)


@pytest.mark.parametrize("seed", range(4))
def test_taking_away_undoes_adding(seed):
    P, priors = problem(seed, 3, 7)
    criterion = criterion_of(P, priors, 15.0, False)
    members = np.array([0, 2, 4, 6])
    candidate = np.isin(np.arange(7), members)
    errors = criterion.errors(members, candidate, -1)
    for i in members:
        assert errors[i] == pytest.approx(set_error(criterion, members[members != i]), abs=1e-12)
    assert np.isinf(errors[[1, 3, 5]]).all()


def test_best_individual():
    P, priors = problem(3, 2, 10)
    found = search(criterion_of(P, priors, 10.0, False), 4, "best_individual")
    alone = [reference.search_error(P, [d], 10.0, priors, False) for d in range(10)]
    np.testing.assert_array_equal(found.order, np.argsort(alone)[:4])
    np.testing.assert_array_equal(found.support, np.sort(found.order))


def test_ties_go_to_the_lowest_index():
    P = np.array([[0.1, 0.3, 0.3, 0.1], [0.1, 0.1, 0.1, 0.1]])
    criterion = criterion_of(P, np.array([0.5, 0.5]), 10.0, False)
    assert search(criterion, 1, "forward").support.tolist() == [1]
    assert search(criterion, 3, "best_individual").order.tolist() == [1, 2, 0]


@pytest.mark.parametrize(("plus", "minus"), [(2, 1), (3, 1), (3, 2), (1, 2), (0, 1)])
@pytest.mark.parametrize("k", [0, 1, 4, 7, 8])
def test_plus_l_take_away_r_ends_on_k(plus, minus, k):
    P, priors = problem(5, 2, 8)
    criterion = criterion_of(P, priors, 10.0, False)
    found = search(criterion, k, "plus_l_minus_r", plus=plus, minus=minus)
    assert len(found.support) == k
    assert found.error == pytest.approx(set_error(criterion, found.support), abs=1e-12)
    assert (np.abs(np.diff(found.sizes)) == 1).all()


def test_plus_l_take_away_r_may_beat_forward():
    gains = []
    for seed in range(30):
        P, priors = problem(seed, 2, 10)
        criterion = criterion_of(P, priors, 30.0, True)
        forward = search(criterion, 4, "forward").error
        gains.append(forward - search(criterion, 4, "plus_l_minus_r", plus=3, minus=2).error)
    assert max(gains) > 1e-4


@pytest.mark.parametrize("seed", range(8))
def test_branch_and_bound(seed):
    P, priors = problem(seed, 2, 9)
    criterion = criterion_of(P, priors, 25.0, False)
    found = search(criterion, 4, "branch_and_bound")
    sets = [np.array(s) for s in itertools.combinations(range(9), 4)]
    best = min(set_error(criterion, s) for s in sets)
    assert found.complete
    assert found.error >= best - 1e-12
    if found.violations == 0:
        assert found.error == pytest.approx(best, rel=1e-9)
    assert found.error <= search(criterion, 4, "forward").error + 1e-12


@pytest.mark.parametrize("k", [1, 4])
def test_branch_and_bound_looks_at_no_set_twice(k, monkeypatch):
    criterion = criterion_of(*problem(3, 2, 9), 25.0, False)
    looked, errors = [], type(criterion).errors

    def noted(self, members, candidate, sign):
        if sign < 0:
            looked.extend(frozenset(members) - {i} for i in np.flatnonzero(candidate))
        return errors(self, members, candidate, sign)

    monkeypatch.setattr(type(criterion), "errors", noted)
    found = search(criterion, k, "branch_and_bound")
    assert found.complete
    assert len(looked) == len(set(looked)) > k


@pytest.mark.filterwarnings("ignore:Branch and bound takes it")
@pytest.mark.parametrize("seed", range(4))
def test_a_set_that_loses_nearly_all_of_it_is_added_up_anew(seed):
    """Pooled, a single feature says nothing: half of two equal classes are wrong."""
    rng = np.random.default_rng(seed)
    X = np.column_stack([rng.poisson(3, (6, 4)), rng.poisson(1e9, 6), rng.poisson(1e8, 6)])
    for strategy in ("branch_and_bound", "forward"):
        found = ErrorSearchSelector(k=1, strategy=strategy).fit(X, [0, 1] * 3)
        assert found.error_ == pytest.approx(0.5)


def test_branch_and_bound_sees_that_its_assumption_fails():
    """Pooled: two words say something about each other, a third one only adds noise."""
    violations = 0
    for seed in range(10):
        P, priors = problem(seed, 2, 8)
        violations += search(criterion_of(P, priors, 5.0, True), 3, "branch_and_bound").violations
    assert violations > 0


def test_branch_and_bound_stops_at_its_limit():
    P, priors = problem(0, 2, 12)
    found = search(criterion_of(P, priors, 25.0, False), 6, "branch_and_bound", max_nodes=2)
    assert not found.complete
    assert len(found.support) == 6


@pytest.mark.parametrize("strategy", ["best_individual", "forward", "branch_and_bound"])
def test_no_feature_and_all_features(strategy):
    P, priors = problem(2, 2, 5)
    criterion = criterion_of(P, priors, 10.0, False)
    nothing = search(criterion, 0, strategy)
    assert nothing.support.tolist() == []
    assert nothing.error == pytest.approx(priors.min())
    assert search(criterion, 5, strategy).support.tolist() == [0, 1, 2, 3, 4]


def test_threads_do_not_change_the_result():
    P, priors = problem(0, 4, 9000)
    criterion = criterion_of(P, priors, 30.0, False)
    everything, members = np.ones(9000, dtype=bool), np.arange(5)
    both = criterion.errors(members, everything, 1)
    import numba

    threads = numba.get_num_threads()
    numba.set_num_threads(1)
    try:
        np.testing.assert_array_equal(criterion.errors(members, everything, 1), both)
    finally:
        numba.set_num_threads(threads)


# The selector -----------------------------------------------------------------------------------


@parametrize_with_checks(
    [ErrorSearchSelector(k=2), ErrorSearchSelector(k=1, strategy="plus_l_minus_r", pooled=False)]
)
def test_scikit_learn_checks(estimator, check):
    check(estimator)


def documents(seed=0, n=40, m=12):
    rng = np.random.default_rng(seed)
    y = np.arange(n) % 2
    return rng.poisson(rng.gamma(1.0, size=(2, m))[y]), y


def test_the_first_feature_is_not_chosen_blindly():
    """Shares of one feature are 1 in all classes; the informative last column must still win."""
    P = np.array([[0.2, 0.2, 0.2, 0.3], [0.2, 0.2, 0.2, 0.05]])
    for strategy in ("forward", "best_individual"):
        found = search(criterion_of(P, np.array([0.5, 0.5]), 10.0, True), 1, strategy)
        assert found.support.tolist() == [3]
        assert found.error == pytest.approx(0.5)


@pytest.mark.parametrize("strategy", ["best_individual", "forward", "plus_l_minus_r"])
@pytest.mark.parametrize("container", [np.asarray, sparse.csr_array, sparse.csc_array])
def test_selector_is_the_search(strategy, container):
    X, y = documents()
    selector = ErrorSearchSelector(k=3, strategy=strategy, alpha=0.5).fit(container(X), y)
    counts = np.array([X[y == c].sum(axis=0) for c in (0, 1)]) + 0.5
    lengths = [X[y == c].sum(axis=1).mean() for c in (0, 1)]
    P = counts / counts.sum(axis=1, keepdims=True)
    criterion = Criterion.from_probabilities(P, lengths, np.array([0.5, 0.5]), pooled=True)
    expected = search(criterion, 3, strategy)
    np.testing.assert_array_equal(selector.get_support(indices=True), expected.support)
    assert selector.error_ == pytest.approx(expected.error)
    assert selector.transform(container(X)).shape == (40, 3)


@pytest.mark.parametrize("method", ["exact", "saddlepoint"])
def test_selector_searches_by_the_lengths_of_the_rows(method):
    X, y = documents(n=30, m=6)
    found = ErrorSearchSelector(k=2, method=method, pooled=False).fit(X, y)
    counts = np.array([X[y == c].sum(axis=0) for c in (0, 1)]) + 1.0
    values = np.unique(X.sum(axis=1))
    weights = [[np.sum(X[y == c].sum(axis=1) == n) for c in (0, 1)] for n in values]
    estimate = expected_error(
        counts / counts.sum(axis=1, keepdims=True), length=(values, weights), method=method,
        support=found.get_support(indices=True),
    )  # fmt: skip
    assert found.error_ == pytest.approx(estimate.error, abs=1e-12)


def test_selector_warns_when_branch_and_bound_proves_nothing():
    X, y = documents(1)
    with pytest.warns(UserWarning, match="stopped at `max_nodes`"):
        ErrorSearchSelector(k=4, strategy="branch_and_bound", max_nodes=1).fit(X, y)
    warned = 0
    for seed in range(10):
        with warnings.catch_warnings(record=True) as caught:
            warnings.simplefilter("always")
            selector = ErrorSearchSelector(k=3, strategy="branch_and_bound", length=5)
            selector.fit(*documents(seed))
        assert bool(caught) == bool(selector.result_.violations)
        warned += len(caught)
    assert warned > 0


@pytest.mark.parametrize(
    ("parameters", "message"),
    [
        ({"strategy": "best"}, "`strategy` must be one of best_individual"),
        ({"method": "best"}, "`method` must be one of exact"),
        ({"rivals": "simulated"}, "`rivals` must be one of mean, product"),
        ({"strategy": "plus_l_minus_r", "plus": 1}, "must differ"),
        ({"plus": 1.5}, "`plus` must be an int"),
        ({"k": -1}, "`k` must be an int"),
        ({"k": "auto"}, "`k` must be a number or .all."),
        ({"alpha": -1}, "`alpha` must be finite"),
        ({"priors": [0.5, 0.6]}, "`priors` must be 2 numbers"),
        ({"length": -3}, "`length` must be finite"),
    ],
)
def test_selector_refuses(parameters, message):
    X, y = documents()
    with pytest.raises(ValueError, match=message):
        ErrorSearchSelector(**parameters).fit(X, y)
    with pytest.raises(ValueError, match="egative"):
        ErrorSearchSelector().fit(-X, y)
