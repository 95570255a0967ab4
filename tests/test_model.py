"""The record of a model: built, trained, and taken apart without scikit-learn."""

import inspect
import subprocess
import sys
from importlib import import_module

import numpy as np
import pytest
import scipy.sparse as sp
from hypothesis import given, settings, strategies as st

from naively import (
    HybridNB,
    SparseBernoulliNB,
    SparseCategoricalNB,
    SparseGaussianNB,
    SparseL1Centers,
    SparseL2Centers,
    SparseMixedNB,
    SparseMultinomialNB,
    SparseNegativeBinomialNB,
    SparsePoissonNB,
)
from naively.expected.path import predicted_errors
from naively.judging.folds import choose_k, divided, fold_errors, stratified_folds
from naively.judging.leave_one_out import left_out_errors
from naively.judging.rows import checked_rows
from naively.models import MODELS
from naively.models.kinds import ASKED
from naively.models.model import Limits
from naively.models.rules import HybridRule, LinearRule, hybrid_rule
from naively.models.value_rules import AbsoluteRule, QuadraticRule, TableRule, restored
from naively.selection.path import path
from naively.selection.train import resolve_k, train

PRIOR = [0.2, 0.5, 0.3]
SAME = {  # model, its parameters, and the estimator that has them
    "multinomial": ({"alpha": 0.3, "class_prior": PRIOR}, SparseMultinomialNB),
    "multinomial exactly": ({"exact": True, "max_nodes": 9}, SparseMultinomialNB),
    "bernoulli": ({"alpha": 0.5, "binarize": 1.0}, SparseBernoulliNB),
    "poisson": ({"fit_prior": False}, SparsePoissonNB),
    "negative-binomial": ({"alpha": 0.2, "dispersion": 0.4}, SparseNegativeBinomialNB),
    "negative-binomial by moments": ({"class_prior": PRIOR}, SparseNegativeBinomialNB),
    "categorical": ({"min_categories": 9}, SparseCategoricalNB),
    "gaussian": ({"var_smoothing": 1e-3, "priors": PRIOR}, SparseGaussianNB),
    "gaussian of shared variance": ({"variance": "shared"}, SparseGaussianNB),
    "l2-centers": ({"scale": "std", "priors": "empirical"}, SparseL2Centers),
    "l1-centers": ({"priors": PRIOR}, SparseL1Centers),
    "mixed": ({"alpha": 0.5, "correction": "bic", "class_prior": PRIOR}, SparseMixedNB),
}


def counts(n=60, m=24, seed=0):
    rng = np.random.default_rng(seed)
    y = np.arange(n) % 3
    return rng.poisson(np.where(np.arange(m) % 5 == y[:, None], 2.0, 0.8)), y


def of(name, **parameters):
    return MODELS[name.split(" ")[0]].build(**parameters)


@pytest.mark.parametrize("name", SAME)
def test_training_equals_the_fit_of_the_estimator(name):
    parameters, estimator = SAME[name]
    X, y = counts()
    weight = np.random.default_rng(1).uniform(0.5, 2, len(y))
    model = of(name, **parameters)
    trained = train(model, model.gather(X, y, weight), 7)
    fitted = estimator(k=7, **parameters).fit(X, y, weight)
    assert trained.selection.certificate == fitted.certificate_
    np.testing.assert_array_equal(trained.selection.support, fitted.get_support(indices=True))
    np.testing.assert_array_equal(trained.scores(X), fitted._scores(X))
    np.testing.assert_array_equal(trained.classes, fitted.classes_)


def test_every_model_is_asked():
    """The hybrid, whose rows are several regions, has tests of its own below."""
    assert {name.split(" ")[0] for name in SAME} | {"hybrid"} == set(MODELS)


def test_the_table_says_what_its_models_take():
    for name, kind in MODELS.items():
        own = set(inspect.signature(import_module(kind.home).model).parameters)
        assert set(kind.parameters) - set(ASKED) == own
        model = kind.build()
        assert (kind.name, model.name, model.words) == (name, name, kind.words)


def test_a_model_refuses_what_it_does_not_take():
    with pytest.raises(TypeError, match="alpha"):
        of("l1-centers", alpha=1.0)
    for name, parameters in (
        ("multinomial", {"max_nodes": 0}),
        ("multinomial", {"time_limit": -1}),
        ("bernoulli", {"binarize": np.nan}),
        ("gaussian", {"variance": "some"}),
        ("hybrid", {"penalty": -1}),
    ):
        with pytest.raises(ValueError, match=f"`{next(iter(parameters))}`"):
            of(name, **parameters)


def test_limits_of_the_call_win():
    X, y = counts()
    model = of("multinomial", alpha=0.1)
    statistics = model.gather(X, y)
    assert train(model, statistics, 5).selection.certificate.nodes == 0
    exact = train(model, statistics, 5, Limits(exact=True)).selection.certificate
    assert (
        exact
        == train(of("multinomial", alpha=0.1, exact=True), statistics, 5).selection.certificate
    )
    assert exact.proven_optimal


def test_binary_multinomial_is_that_of_rows_of_presence():
    X, y = counts()
    model, plain = of("multinomial", binary=True), of("multinomial")
    ones = (X > 0).astype(int)
    a = train(model, model.gather(X, y), 6)
    b = train(plain, plain.gather(ones, y), 6)
    np.testing.assert_array_equal(a.selection.support, b.selection.support)
    np.testing.assert_array_equal(a.scores(X), b.scores(ones))
    folds, expected = (
        choose_k(model, X, y, None, a.statistics),
        choose_k(plain, ones, y, None, b.statistics),
    )
    np.testing.assert_array_equal(folds[0].errors, expected[0].errors)
    assert folds[1] == expected[1]
    with pytest.raises(ValueError, match="counted with presence=False"):
        train(plain, a.statistics, 3)


@pytest.mark.parametrize(("regions", "shared"), [(1, True), (2, True), (2, False)])
@pytest.mark.parametrize("weighted", [False, True])
def test_hybrid_is_the_estimator_with_multinomial_selection(regions, shared, weighted):
    X, y = counts(300, 12)
    weight = np.random.default_rng(1).uniform(0.5, 2, 300) if weighted else None
    rows = sp.csr_array(X)
    model = of("hybrid", regions=regions, shared_vocabulary=shared, penalty=0.1)
    trained = train(model, model.gather(rows, y, weight), 5)
    selector = SparseMultinomialNB(k=5)
    fitted = HybridNB(regions, shared_vocabulary=shared, penalty=0.1, estimator=selector)
    fitted.fit(rows, y, weight)
    support = fitted.estimator_.get_support(indices=True)
    np.testing.assert_array_equal(trained.selection.support, support)
    np.testing.assert_allclose(trained.rule.theta, fitted.theta_, rtol=1e-9)
    np.testing.assert_allclose(trained.scores(rows), fitted._scores(rows), rtol=1e-9)


def test_hybrid_says_that_rows_are_separable():
    X = [[3, 0, 1], [2, 0, 2], [0, 3, 1], [0, 2, 2], [1, 0, 2], [0, 1, 3]]
    model = MODELS["hybrid"].build(penalty=0)
    statistics = model.gather(np.array(X), [0, 0, 1, 1, 0, 1])
    with pytest.warns(UserWarning, match=r"6 training rows .*`penalty`="):
        train(model, statistics, 3)


@pytest.mark.parametrize("regions", [1, 2])
def test_hybrid_is_judged_by_its_own_rule(regions):
    rng = np.random.default_rng(3)
    y = np.arange(60) % 3
    X = sp.csr_matrix(rng.poisson(0.5 + (np.arange(20) % 3 == y[:, None])))
    model = MODELS["hybrid"].build(regions=regions, penalty=0.1)
    grid, rows = [1, 3, 5], checked_rows(X, y, None)
    statistics = model.gather(X, y)
    seed = np.random.RandomState(0)
    found = fold_errors(model, rows, statistics, grid, n_folds=4, random_state=seed)
    splits = divided(stratified_folds(y, 4, np.random.RandomState(0)), 4)
    for t, (inside, outside) in enumerate(splits):
        for g, k in enumerate(grid):
            trained = train(model, model.gather(X[inside], y[inside]), k)
            seen = model.seen(trained.statistics, X[outside], trained.selection.support)
            wrong = trained.rule.scores(seen).argmax(axis=1) != y[outside]
            assert found.errors[t, g] == wrong.mean()
    track = path(model.family, statistics, grid)
    assert left_out_errors(model, statistics, track, rows) is None
    assert predicted_errors(model, statistics, track) is None


def test_resolve_k():
    assert [resolve_k(k, 50) for k in (0, 7, 0.1, 0.001, 1.0, "all")] == [0, 7, 5, 1, 50, 50]
    with pytest.warns(UserWarning, match="all features are used"):
        assert resolve_k(51, 50) == 50
    for wrong in (-1, 0.0, 1.5, True, "some", "auto", None):
        with pytest.raises(ValueError, match="`k`"):
            resolve_k(wrong, 50)


# --- rules --------------------------------------------------------------------------------------


def numbers(rng, *shape):
    return rng.normal(size=shape)


def linear(rng, C, q):
    return LinearRule(numbers(rng, C), numbers(rng, C, q), np.log(np.full(C, 1 / C)))


def vetoed(rng, C, q):
    """Each feature of some classes is impossible when present, or when absent."""
    veto = rng.choice([-1.0, 0.0, 0.0, 0.0, 1.0], (C, q))
    offset = (veto < 0).sum(axis=1).astype(float)
    plain = linear(rng, C, q)
    return LinearRule(plain.intercept, plain.weights, plain.log_prior, offset, veto)


def absolute(rng, C, q):
    return AbsoluteRule(numbers(rng, C), numbers(rng, C, q))


def quadratic(rng, C, q):
    return QuadraticRule(numbers(rng, C), numbers(rng, C, q), rng.uniform(0.1, 2, (C, q)))


def table(rng, C, q):
    """Some categories are impossible in some classes."""
    sizes = rng.integers(1, 4, q)
    log_prob = np.where(rng.random((sizes.sum(), C)) < 0.1, -np.inf, numbers(rng, sizes.sum(), C))
    return TableRule(numbers(rng, C), log_prob, np.append(0, np.cumsum(sizes)))


def shared_regions(rng, C, q):
    return hybrid_rule(numbers(rng, C), numbers(rng, 2), numbers(rng, C, q))


def own_regions(rng, C, q):
    starts = np.array([0, q // 2, q])
    return HybridRule(
        numbers(rng, C), numbers(rng, 2), numbers(rng, C, q), starts, np.zeros(2, int), False
    )


RULES = {
    "linear": [linear, vetoed],
    "absolute": [absolute],
    "quadratic": [quadratic],
    "table": [table],
    "hybrid": [shared_regions, own_regions],
}
MADE = [(kind, make) for kind, makers in RULES.items() for make in makers]


@settings(max_examples=40, deadline=None)
@given(st.integers(0, 2**32), st.integers(2, 4), st.integers(1, 6), st.sampled_from(MADE))
def test_terms_add_up_to_the_scores(seed, C, q, made):
    rng = np.random.default_rng(seed)
    rule = made[1](rng, C, q)
    width = 2 * q if made[1] is shared_regions else q
    x = rng.poisson(1.0, width).astype(float)  # categories beyond the table among them
    start, terms = rule.terms(x)
    assert terms.shape == (C, width)
    total, scores = start + terms.sum(axis=1), rule.scores(x[None])[0]
    if np.isneginf(total).all():  # no class can have produced the row: it gets the prior
        total = rule.log_prior
    np.testing.assert_allclose(scores, total, rtol=1e-9, atol=1e-9)


@pytest.mark.parametrize(("kind", "make"), MADE)
def test_arrays_make_the_rule_again(kind, make):
    rule = make(np.random.default_rng(3), 3, 4)
    arrays = rule.arrays()
    assert all(isinstance(array, np.ndarray) for array in arrays.values())
    again = restored(kind, arrays)
    assert type(again) is type(rule)
    x = (
        np.random.default_rng(4)
        .poisson(1.0, (20, 8 if make is shared_regions else 4))
        .astype(float)
    )
    np.testing.assert_array_equal(again.scores(x), rule.scores(x))
    assert sorted(again.arrays()) == sorted(arrays)


# --- what is imported ---------------------------------------------------------------------------


def test_training_and_judging_do_not_import_scikit_learn():
    code = """
import sys
import numpy as np
from naively.models import MODELS
from naively.selection.train import train
import naively.judging.folds, naively.judging.leave_one_out, naively.expected.path
X, y = np.arange(60).reshape(12, 5) % 7 % 3, np.arange(12) % 2
for name, kind in MODELS.items():
    model = kind.build(**({"penalty": 1.0} if name == "hybrid" else {}))
    statistics = model.gather(X, y)
    train(model, statistics, 3)
    naively.judging.folds.choose_k(model, X, y, None, statistics)
assert not [name for name in sys.modules if name.partition(".")[0] == "sklearn"]
"""
    subprocess.run([sys.executable, "-W", "ignore", "-c", code], check=True)


def test_the_table_of_models_is_cheap_to_import():
    code = "import sys, naively.models; assert not {'numba', 'scipy.special'} & set(sys.modules)"
    subprocess.run([sys.executable, "-c", code], check=True)
