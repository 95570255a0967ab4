"""Predicted errors against enumeration of all documents, and against known cases."""

from __future__ import annotations

from dataclasses import replace
from math import comb

import numpy as np
import pytest
from hypothesis import given, settings, strategies as st
from scipy.stats import binom

import reference_error as reference
from naively import SparseBernoulliNB, SparseMultinomialNB
from naively.expected.blocks import Block, span
from naively.expected.decision_models import from_probabilities, switches
from naively.expected.estimates import estimate, expected_error
from naively.expected.gaussian import compensated_variance, uncorrelated_variance
from naively.expected.lengths import as_lengths
from naively.expected.log_odds import LogOdds, log_odds, moments
from naively.expected.many_classes import simulated_rows
from naively.expected.saddlepoint import saddlepoint_tail

METHODS = ["exact", "saddlepoint", "normal", "compensated", "uncorrelated"]


def random_probabilities(seed, n_classes, n_features, zeros=0.0):
    rng = np.random.default_rng(seed)
    P = rng.gamma(0.7, size=(n_classes, n_features))
    P[rng.random(P.shape) < zeros] = 0
    P[:, 0] += 1e-3
    return P / P.sum(axis=1, keepdims=True)


# Moments ----------------------------------------------------------------------------------------


@pytest.mark.parametrize("seed", range(20))
@pytest.mark.parametrize("kept", [1, 3, 11, 12])
def test_moments_equal_the_multinomial_covariance(seed, kept):
    P = random_probabilities(seed, 3, 12)
    model = from_probabilities(P, np.zeros(3), support=range(kept))
    for j in range(3):
        mean, variance = moments(model, j)
        p = model.probability[j, 0]
        for i in range(3):
            for k in range(3):
                a = model.weight[i, 0] - model.weight[k, 0]
                expected = reference.log_odds_moments(p, a, 1)
                scale = max(1.0, abs(expected[1]))
                law = log_odds(model, i, k, j)
                for value in (mean[i, k], law.mean()):
                    assert value == pytest.approx(expected[0], abs=1e-12 * scale)
                for value in (variance[i, k], law.variance()):
                    assert value == pytest.approx(expected[1], abs=1e-12 * scale)


@pytest.mark.parametrize("seed", range(10))
def test_variances_of_the_paper(seed):
    P = random_probabilities(seed, 2, 9)
    model = from_probabilities(P, np.zeros(2), support=range(6))
    law = log_odds(model, 0, 1, 0)
    p, a = law.probability[0], law.value[0]
    expected = reference.paper_variances(p[:-1], a[:-1], p[-1], a[-1], 1)
    assert uncorrelated_variance(law) == pytest.approx(expected[0], rel=1e-12)
    assert compensated_variance(law) == pytest.approx(max(expected[1], 0.0), rel=1e-10)


def test_the_mended_equation_compensates():
    P = np.full((2, 400), 1 / 400)
    P[0, :100] *= np.linspace(0.3, 1.7, 100)
    P[1, :100] *= np.linspace(1.6, 0.4, 100)
    P /= P.sum(axis=1, keepdims=True)
    law = log_odds(from_probabilities(P, np.zeros(2), support=range(60)), 0, 1, 0)
    assert compensated_variance(law) == pytest.approx(law.variance(), rel=0.01)


def test_moments_over_a_distribution_of_lengths():
    P = random_probabilities(1, 2, 5)
    result = expected_error(P, length=([2, 6], [0.25, 0.75]))
    one = expected_error(P, length=1)
    n, spread = 5.0, 3.0
    np.testing.assert_allclose(result.mean, n * one.mean)
    np.testing.assert_allclose(result.variance, n * one.variance + spread * one.mean**2)


# Two classes against enumeration ----------------------------------------------------------------


@pytest.mark.parametrize("seed", range(12))
@pytest.mark.parametrize("length", [0, 1, 2, 7])
@pytest.mark.parametrize("zeros", [0.0, 0.4])
def test_exact_equals_enumeration(seed, length, zeros):
    P = random_probabilities(seed, 2, 4, zeros)
    priors = [0.3, 0.7] if seed % 2 else [0.5, 0.5]
    model = from_probabilities(P, np.log(priors))
    expected = reference.confusion_of_documents(
        P, model.weight[:, 0], model.bias, model.log_prior, length
    )
    result = expected_error(P, length=length, priors=priors)
    np.testing.assert_allclose(result.confusion, expected, atol=1e-12)
    assert result.error == pytest.approx(
        priors[0] * expected[0, 1] + priors[1] * expected[1, 0], abs=1e-12
    )
    assert -1e-15 <= result.error <= min(priors) + 1e-12


@pytest.mark.parametrize("seed", range(6))
@pytest.mark.parametrize("pooled", [False, True])
def test_rest_cell_equals_enumeration(seed, pooled):
    P = random_probabilities(seed, 2, 6)
    model = from_probabilities(P, np.log([0.5, 0.5]), support=[1, 4], pooled=pooled)
    expected = reference.confusion_of_documents(
        model.probability[:, 0], model.weight[:, 0], model.bias, model.log_prior, 6
    )
    result = expected_error(P, length=6, support=[1, 4], pooled=pooled)
    np.testing.assert_allclose(result.confusion, expected, atol=1e-12)
    if pooled:  # the rule sees the shares among the two features only
        share = P[:, [1, 4]] / P[:, [1, 4]].sum(axis=1, keepdims=True)
        np.testing.assert_allclose(model.weight[:, 0, :2], np.log(share))
        np.testing.assert_array_equal(model.weight[:, 0, 2], 0)


@pytest.mark.parametrize("seed", range(8))
@pytest.mark.parametrize("support", [[0, 1, 2, 3], [1, 3], [2]])
@pytest.mark.parametrize("zeros", [0.0, 0.4])
def test_the_product_of_binomials_equals_enumeration(seed, support, zeros):
    P = random_probabilities(seed, 2, 4, zeros)
    asked = {"length": 5, "support": support, "likelihood": "binomials"}
    expected = reference.confusion_of_binomials(P, support, 5)
    np.testing.assert_allclose(expected_error(P, **asked).confusion, expected, atol=1e-12)
    best = expected_error(P, length=5, support=support).error
    assert best <= expected_error(P, **asked).error + 1e-12  # it knows the law


def test_a_certain_feature_is_never_absent():
    """Its class is ruled out by any other word: 1 - p is 0."""
    found = expected_error([[1.0, 0.0], [0.5, 0.5]], length=3, likelihood="binomials")
    np.testing.assert_allclose(found.confusion, [[1, 0], [1 / 8, 7 / 8]])


@pytest.mark.parametrize("seed", range(4))
def test_the_grid_equals_the_sum_atom_by_atom(seed, monkeypatch):
    """Counts with many ties, forced through the transform."""
    rng = np.random.default_rng(seed)
    counts = rng.integers(0, 4, (2, 6)) + 1.0
    P = counts / counts.sum(axis=1, keepdims=True)
    for length in (1, 4, 30):
        atoms = expected_error(P, length=length).confusion
        with monkeypatch.context() as patch:
            patch.setattr("naively.expected.atoms.FEW_ATOMS", 0)
            grid = expected_error(P, length=length).confusion
        np.testing.assert_allclose(grid, atoms, atol=2e-5)


@pytest.mark.parametrize("kept", [0.01, 0.1, 0.3])
def test_a_heavy_sum_just_beside_the_threshold(kept, monkeypatch):
    """A document without any kept word favours one class by 1e-5 nats: no tie on any grid."""
    P = kept * np.array([[0.2, 0.5, 0.3], [0.45, 0.1, 0.45]])
    P[1] *= 1 - 1e-5
    atoms = expected_error(P, length=10)
    with monkeypatch.context() as patch:
        patch.setattr("naively.expected.atoms.FEW_ATOMS", 0)
        grid = expected_error(P, length=10)
    assert grid.error == pytest.approx(atoms.error, rel=1e-3)
    split = expected_error(P, length=10, ties="split")
    np.testing.assert_allclose(split.confusion, atoms.confusion, atol=1e-12)


def test_a_tie_at_a_threshold_other_than_zero():
    """Likelihood ratio 3 against prior odds 3: word 0 ties, and goes to class 0."""
    P = np.array([[0.75, 0.25], [0.25, 0.75]])
    result = expected_error(P, length=1, priors=[0.25, 0.75])
    np.testing.assert_allclose(result.confusion, [[0.75, 0.25], [0.25, 0.75]])
    split = expected_error(P, length=1, priors=[0.25, 0.75], ties="split")
    np.testing.assert_allclose(split.confusion, [[0.375, 0.625], [0.125, 0.875]])
    assert result.error == pytest.approx(split.error) == pytest.approx(0.25)


def test_length_distribution_is_the_average():
    P = random_probabilities(3, 2, 30)
    one = [expected_error(P, length=n).confusion for n in (3, 11, 40)]
    weights = np.array([[0.2, 0.5], [0.5, 0.5], [0.3, 0.0]])
    result = expected_error(P, length=([3, 11, 40], weights))
    for j in range(2):
        expected = sum(w * c[j] for w, c in zip(weights[:, j], one, strict=True))
        np.testing.assert_allclose(result.confusion[j], expected, atol=1e-6)


@pytest.mark.parametrize("length", [5, 40])
def test_against_simulation(length):
    P = random_probabilities(5, 2, 60)
    model = from_probabilities(P, np.log([0.5, 0.5]), support=range(50))
    rng = np.random.default_rng(0)
    simulated = simulated_rows(model, as_lengths(length, 2), 200_000, rng)
    exact = expected_error(P, length=length, support=range(50))
    error = (simulated[0, 1] + simulated[1, 0]) / 2
    noise = np.sqrt(error / 400_000)
    assert exact.error == pytest.approx(error, abs=4 * noise)
    saddlepoint = expected_error(P, length=length, support=range(50), method="saddlepoint")
    assert saddlepoint.error == pytest.approx(exact.error, rel=0.15)


@pytest.mark.parametrize("method", METHODS)
@given(data=st.data())
@settings(max_examples=40, deadline=None)
def test_estimates_are_probabilities(method, data):
    counts = data.draw(st.lists(st.tuples(st.integers(0, 5), st.integers(0, 5)), min_size=1))
    P = np.array(counts, float).T
    P[:, 0] += 1
    P /= P.sum(axis=1, keepdims=True)
    prior = data.draw(st.floats(0.05, 0.95))
    length = data.draw(st.integers(0, 60))
    result = expected_error(P, length=length, priors=[prior, 1 - prior], method=method)
    assert np.isfinite(result.error)
    assert np.isfinite(result.mean).all()
    assert np.isfinite(result.variance).all()
    np.testing.assert_allclose(result.confusion.sum(axis=1), 1)
    if method == "exact":
        assert -1e-12 <= result.error <= min(prior, 1 - prior) + 1e-4
    else:
        assert 0 <= result.error <= 1


# Known cases ------------------------------------------------------------------------------------


@pytest.mark.parametrize("method", METHODS)
def test_trivial_cases(method):
    nothing = expected_error(np.zeros((2, 0)), length=9, priors=[0.2, 0.8], method=method)
    assert nothing.error == pytest.approx(0.2)
    assert expected_error([[0.5, 0.5]], length=9, method=method).error == 0
    same = expected_error([[0.5, 0.5]] * 2, length=9, priors=[0.8, 0.2], method=method)
    assert same.error == pytest.approx(0.2)
    separated = expected_error([[1.0, 0.0], [0.0, 1.0]], length=3, method=method)
    assert separated.error == 0
    assert np.isfinite(separated.variance).all()


def test_a_class_that_never_occurs_is_never_chosen():
    P = random_probabilities(0, 3, 5)
    result = expected_error(P, length=4, priors=[0.5, 0.0, 0.5])
    assert np.isfinite(result.confusion).all()
    np.testing.assert_array_equal(result.confusion[:, 1], 0)


@pytest.mark.parametrize("method", METHODS)
def test_classes_that_never_occur_are_never_chosen(method):
    P = random_probabilities(1, 3, 5)
    result = expected_error(P, length=4, priors=[0.0, 1.0, 0.0], method=method)
    np.testing.assert_array_equal(result.confusion, np.tile([0.0, 1.0, 0.0], (3, 1)))
    assert result.error == 0


def test_a_veto_does_not_bring_in_a_class_that_never_occurs():
    # Word 0 rules class 0 out, but only class 0 has a prior.
    result = expected_error([[0.0, 1.0], [0.5, 0.5]], length=5, priors=[1.0, 0.0])
    np.testing.assert_array_equal(result.confusion, [[1, 0], [1, 0]])


def test_a_variance_of_the_paper_is_not_below_zero():
    # Where word 0 vetoes, all that is left has the same log-odds: the terms cancel to rounding.
    for share in np.linspace(0.05, 0.95, 19):
        P = [[0.5, 0.5 * share], [0.0, share]]
        assert np.isfinite(expected_error(P, length=6, method="uncorrelated").error)


def test_an_impossible_word_decides():
    # Class 0 never uses word 1; class 1 uses it with 1/2: it is missed with 1/2^3.
    result = expected_error([[1.0, 0.0], [0.5, 0.5]], length=3)
    np.testing.assert_allclose(result.confusion, [[1, 0], [1 / 8, 7 / 8]])


def bayes(k):
    """Error for k columns with P(1 | class) of 3/4 and 1/4, ties split evenly."""
    wrong = [1 if 2 * j < k else 0.5 if 2 * j == k else 0 for j in range(k + 1)]
    return sum(comb(k, j) * 0.75**j * 0.25 ** (k - j) * wrong[j] for j in range(k + 1))


def bayes_switches(presence, log_prior):
    presence = np.asarray(presence, float)
    weight = np.log(presence / (1 - presence))
    bias = np.log(1 - presence).sum(axis=1) + log_prior
    return switches(presence, weight, None, bias=bias, log_prior=log_prior)


@pytest.mark.parametrize("ties", ["lowest", "split"])
@pytest.mark.parametrize("k", range(8))
def test_binary_columns(k, ties):
    presence = np.array([[0.25] * k, [0.75] * k]).reshape(2, k)
    model = bayes_switches(presence, np.log([0.5, 0.5]))
    result = estimate(model, as_lengths(1, 2), np.array([0.5, 0.5]), ties=ties)
    assert result.error == pytest.approx(bayes(k), abs=1e-12)


@pytest.mark.parametrize("seed", range(6))
def test_binary_columns_equal_enumeration(seed, monkeypatch):
    presence = np.random.default_rng(seed).random((2, 8))
    priors = np.array([0.4, 0.6])
    model = bayes_switches(presence, np.log(priors))
    expected = reference.confusion_of_switches(presence, np.log(priors))
    lengths = as_lengths(1, 2)
    np.testing.assert_allclose(estimate(model, lengths, priors).confusion, expected, atol=1e-12)
    monkeypatch.setattr("naively.expected.atoms.FEW_ATOMS", 0)
    # On the grid an outcome within a few points of the threshold passes for a tie.
    np.testing.assert_allclose(estimate(model, lengths, priors).confusion, expected, atol=0.015)
    approximate = estimate(model, lengths, priors, method="saddlepoint").confusion
    np.testing.assert_allclose(approximate, expected, atol=0.05)


def test_certain_columns_veto():
    """Column 0 is always on in class 1: its absence rules class 1 out."""
    presence = np.array([[0.5, 0.5], [1.0, 0.5]])
    weight = np.array([[0.0, 0.0], [np.log(1 / 0.5), 0.0]])
    veto = np.array([[0.0, 0.0], [-1.0, 0.0]])
    log_prior = np.log([0.5, 0.5])
    model = switches(presence, weight, veto, bias=log_prior, log_prior=log_prior)
    result = estimate(model, as_lengths(1, 2), np.array([0.5, 0.5]))
    np.testing.assert_allclose(result.confusion, [[0.5, 0.5], [0, 1]])


def test_methods_for_documents_refuse_binary_columns():
    model = bayes_switches([[0.2], [0.4]], np.log([0.5, 0.5]))
    with pytest.raises(ValueError, match="use 'normal'"):
        estimate(model, as_lengths(1, 2), np.array([0.5, 0.5]), method="compensated")


# More than two classes --------------------------------------------------------------------------


@pytest.mark.parametrize("zeros", [0.0, 0.3])
def test_three_classes_bracket_the_truth(zeros):
    P = random_probabilities(2, 3, 5, zeros)
    priors = np.array([0.2, 0.3, 0.5])
    model = from_probabilities(P, np.log(priors))
    truth = reference.confusion_of_documents(P, model.weight[:, 0], model.bias, np.log(priors), 6)
    error = 1 - priors @ np.diag(truth)
    kw = {"length": 6, "priors": priors}
    simulated = expected_error(P, **kw, rivals="simulated")
    np.testing.assert_allclose(simulated.confusion, truth, atol=0.01)
    assert simulated.error == pytest.approx(error, abs=0.005)
    assert simulated.pair is None
    assert expected_error(P, **kw, rivals="normal").error == pytest.approx(error, abs=0.06)
    product = expected_error(P, **kw)
    assert product.error >= error - 1e-9
    assert product.error == pytest.approx(error, abs=0.005)
    assert product.normalized_error < error  # the paper's eq. (34) is not pessimistic
    repeated = expected_error(P, **kw, rivals="simulated")
    assert repeated.error == simulated.error


def test_three_classes_of_binary_columns():
    presence = np.random.default_rng(0).random((3, 5))
    log_prior = np.log([0.2, 0.3, 0.5])
    truth = reference.confusion_of_switches(presence, log_prior)
    model = bayes_switches(presence, log_prior)
    result = estimate(model, as_lengths(1, 3), np.exp(log_prior), rivals="simulated")
    np.testing.assert_allclose(result.confusion, truth, atol=0.01)


def test_many_classes_need_a_simulation():
    P = random_probabilities(0, 41, 50)
    with pytest.raises(ValueError, match="rivals='simulated'"):
        expected_error(P, length=5)
    assert 0 < expected_error(P, length=5, rivals="simulated", n_rows=1000).error < 1


# Arguments --------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("kwargs", "message"),
    [
        ({"length": -1}, "`length` must be finite"),
        ({"length": None}, "`length` must be given"),
        ({"length": ([1, 2], [1.0])}, "weights must have shape"),
        ({"length": ([1, 2], [0.0, 0.0])}, "not all zero"),
        ({"length": 3, "priors": [0.5, 0.6]}, "sum to 1"),
        ({"length": [[1, 2], [0.5, 0.5]]}, "a tuple"),
        ({"length": 3, "support": [2]}, "`support` must be different column indices"),
        ({"length": 3, "support": [-1]}, "`support` must be different column indices"),
        ({"length": 3, "support": [0, 0]}, "`support` must be different column indices"),
        ({"length": 3, "support": [0.5]}, "`support` must be different column indices"),
        ({"length": 3, "support": [True]}, "`support` must be different column indices"),
        ({"length": 3, "n_rows": 9}, "`n_rows` has no effect"),
        ({"length": 3, "law": "model"}, "`law`='model' goes with a fitted model"),
        ({"length": 3, "rivals": "normal", "n_rows": 0}, "`n_rows` must be an int >= 1"),
        ({"length": 3, "method": "best"}, "`method` must be one of"),
        ({"length": 3, "rivals": "best"}, "`rivals` must be one of"),
        ({"length": 3, "likelihood": "best"}, "`likelihood` must be one of"),
        ({"length": 3, "likelihood": "binomials", "pooled": True}, "has no part in"),
        ({"length": 3, "likelihood": "binomials", "method": "compensated"}, "use 'normal'"),
    ],
)
def test_bad_arguments(kwargs, message):
    with pytest.raises(ValueError, match=message):
        expected_error([[0.5, 0.5], [0.2, 0.8]], **kwargs)


@pytest.mark.parametrize("rivals", ["normal", "simulated"])
@pytest.mark.parametrize("unused", [{"method": "saddlepoint"}, {"ties": "split"}])
def test_drawn_errors_compare_no_pairs(rivals, unused):
    name = next(iter(unused))
    with pytest.raises(ValueError, match=f"`{name}`=.* has no effect with `rivals`='{rivals}'"):
        expected_error(np.full((3, 2), 0.5), length=3, rivals=rivals, **unused)
    two = expected_error(np.full((2, 2), 0.5), length=3, rivals=rivals, **unused)
    assert two.error == 0.5  # of two classes there is one pair


@pytest.mark.parametrize("unused", [{"pooled": True}, {"length": 3}, {"law": "model"}])
def test_what_a_model_of_presence_has_no_use_for(unused):
    X = np.random.default_rng(0).integers(0, 2, (20, 5))
    model = SparseBernoulliNB(k=2).fit(X, np.arange(20) % 2)
    with pytest.raises(ValueError, match=next(iter(unused))):
        expected_error(model, **unused)


def test_a_row_that_no_class_can_produce_goes_by_the_priors_which_may_tie():
    """In a row of class 2 with both words the rules of classes 0 and 1 veto: it is a tie."""
    P = [[0.5, 0.0, 0.5], [0.0, 0.5, 0.5], [0.5, 0.5, 0.0]]
    for ties, share in (("lowest", 1.0), ("split", 0.5)):
        pair = expected_error(P, length=2, ties=ties).pair
        one = 0.25  # both draws word 0, or both word 1: the other class alone is vetoed
        assert pair[2, 0, 1] == pytest.approx(one + 0.5 * share)
        assert pair[2, 1, 0] == pytest.approx(one + 0.5 * (1 - share))


@pytest.mark.parametrize("method", METHODS)
def test_classes_alike_but_for_rounding_tie(method):
    """Both words are half of what either class has of them: no document tells the classes."""
    for alpha in (0.1, 0.3, 0.7):
        counts = np.array([[11, 11, 3], [5, 5, 15]]) + alpha
        P = counts / counts.sum(axis=1, keepdims=True)
        found = expected_error(P, length=3, method=method, pooled=True, support=[0, 1])
        np.testing.assert_allclose(found.confusion, [[1, 0], [1, 0]], atol=1e-12)


def test_support_may_be_a_mask():
    P = [[0.5, 0.2, 0.3], [0.1, 0.8, 0.1]]
    by_mask = expected_error(P, length=3, support=[False, True, False])
    assert by_mask.error == expected_error(P, length=3, support=[1]).error
    assert expected_error(P, length=3, support=[]).error == 0.5


def test_a_model_must_be_fitted():
    with pytest.raises(ValueError, match="Call `fit` first"):
        expected_error(SparseMultinomialNB(), length=3)


@pytest.mark.parametrize("P", [[[0.5, 0.6]], [[-0.1, 0.5]], [0.5, 0.5], [[np.nan, 0.5]]])
def test_bad_probabilities(P):
    with pytest.raises(ValueError, match="lass probabilities"):
        expected_error(P, length=3)


def test_long_histograms_are_condensed():
    rng = np.random.default_rng(0)
    values = np.arange(500)
    weights = rng.random((500, 2))
    few = as_lengths((values, weights), 2)
    assert len(few.values) <= 64
    assert few.values[0] == 0
    np.testing.assert_allclose(few.weights.sum(axis=0), 1)
    np.testing.assert_allclose(few.mean, values @ weights / weights.sum(axis=0), rtol=0.02)
    empty = as_lengths(([2, 3], [[1, 0], [3, 0]]), 2)
    np.testing.assert_allclose(empty.weights[:, 1], [0.25, 0.75])


@pytest.mark.parametrize("sign", [1, -1])
def test_a_skewed_sum_exceeds_its_mean_less_often_than_not(sign):
    """At the mean the saddlepoint formula is 1/2 less the skewness over 6 (2 pi)^(1/2)."""
    p, a, length = np.array([0.9, 0.07, 0.03]), sign * np.array([0.0, 1.0, np.sqrt(27)]), 40
    law = replace(
        log_odds(from_probabilities(random_probabilities(0, 2, 3), np.zeros(2)), 0, 1, 0),
        value=a[None],
        probability=p[None],
        threshold=length * float(p @ a),
    )
    above = 0.0
    for second in range(length + 1):
        for third in range(length + 1 - second):
            first = length - second - third
            ways = comb(length, second) * comb(length - second, third)
            if second * a[1] + third * a[2] > law.threshold:
                above += ways * p[0] ** first * p[1] ** second * p[2] ** third
    central = (a - p @ a) ** 2 @ p, (a - p @ a) ** 3 @ p
    skewness = central[1] / central[0] ** 1.5 / np.sqrt(length)
    expected = 0.5 - skewness / (6 * np.sqrt(2 * np.pi))
    found, _ = saddlepoint_tail(law, np.array([float(length)]), np.ones(1))
    assert found == pytest.approx(expected, rel=1e-6)
    assert sign * (0.5 - above) > 0.02
    assert found == pytest.approx(above, abs=0.02)


@pytest.mark.parametrize("threshold", [-8.0, 12.0])
def test_the_saddlepoint_knows_the_ends_of_all_sums(threshold):
    """Four draws of -2 or 3: what is above the least or the largest sum, or a tie with it."""
    law = LogOdds(
        np.array([[-2.0, 3.0]]), np.array([[0.7, 0.3]]), threshold, False, 1.0, 1.0, 1.0, 0
    )
    above, tie = saddlepoint_tail(law, np.array([4.0]), np.ones(1))
    chance, sums = binom(4, 0.3).pmf(np.arange(5)), -8.0 + 5.0 * np.arange(5)
    assert above == pytest.approx(chance[sums > threshold].sum(), abs=1e-12)
    assert tie == pytest.approx(chance[sums == threshold].sum(), abs=1e-12)


def test_sums_of_any_length_lie_in_the_span():
    """The interval for several lengths holds those of each, of which the shorter leave least."""
    blocks = [Block(np.array([-1.0, 0.2, 3.0]), np.array([0.3, 0.5, 0.2]), 2)]
    lengths = [3, 40, 2000]
    low, high = span(blocks, np.array(lengths))
    each = [span(blocks, np.array([n])) for n in lengths]
    assert low <= min(one for one, _ in each) < max(one for _, one in each) <= high
