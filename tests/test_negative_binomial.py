import csv
import json
from decimal import Decimal, localcontext
from fractions import Fraction
from functools import partial
from pathlib import Path

import numpy as np
import pytest
import scipy.sparse as sp
from hypothesis import given, settings, strategies as st
from scipy.special import logsumexp
from scipy.stats import nbinom, poisson

import reference_centers as reference
from naively import ClassMoments, SparseNegativeBinomialNB, SparsePoissonNB, sparsity_path
from naively.models.negative_binomial import (
    SpreadCounts,
    moment_dispersion,
    negative_binomial,
    negative_binomial_gain,
)
from naively.models.poisson import poisson as poisson_family, poisson_gain
from naively.selection.path import path
from naively.selection.solve import solve
from naively.statistics.counts import ClassCounts

rng = np.random.default_rng(0)


# The formulas, in plain loops ------------------------------------------------------------------


def log_probability(x, mean, phi):
    """Sum of log P(x) by scipy; counts in classes without any have probability 1 or 0."""
    if mean == 0:
        return 0.0 if not np.any(x) else -np.inf
    law = nbinom(1 / phi, 1 / (1 + phi * mean)) if phi > 0 else poisson(mean)
    return float(np.sum(law.logpmf(x)))


def log_likelihood(X, y, support, phi):
    total = 0.0
    for i, x in enumerate(X.T):
        groups = [x[y == c] for c in np.unique(y)] if i in support else [x]
        total += sum(log_probability(group, group.mean(), phi[i]) for group in groups)
    return total


def exact_dispersion(X, y, weights):
    """The moments in exact fractions."""
    found = []
    for x in X.T.tolist():
        beyond = square = Fraction(0)
        for c in np.unique(y):
            rows = [
                (Fraction(w), Fraction(v)) for w, v, k in zip(weights, x, y, strict=True) if k == c
            ]
            n = sum(w for w, _ in rows)
            mean = sum(w * v for w, v in rows) / n
            beyond += sum(w * (v - mean) ** 2 for w, v in rows) - n * mean
            square += n * mean**2
        found.append(float(max(beyond / square, 0)) if square else 0.0)
    return np.array(found)


def decimal_gain(sums, weight, phi, alpha):
    """The gain as it is defined, to 400 digits: likelihood free minus pooled."""
    with localcontext() as context:
        context.prec = 400
        n, C = sum(map(Decimal, weight)), len(weight)
        added = Decimal(alpha) * C / n
        rows = [Decimal(w) for w in weight]
        f = [Decimal(float(s)) + added * w for s, w in zip(sums, rows, strict=True)]
        phi = Decimal(float(phi))

        def value(total, n):
            mean = total / n
            one = 1 + phi * mean
            return (total * (mean / one).ln() if total else 0) - n * (
                one.ln() / phi if phi else mean
            )

        free = sum(value(s, w) for s, w in zip(f, rows, strict=True))
        return float(free - value(sum(f), n))


@st.composite
def problems(draw, columns=5):
    C = draw(st.integers(2, 3))
    y = np.array(
        [*range(C), *(draw(st.integers(0, C - 1)) for _ in range(draw(st.integers(0, 9))))]
    )
    column = st.lists(
        st.integers(0, draw(st.sampled_from([1, 4, 40]))), min_size=len(y), max_size=len(y)
    )
    return np.array([draw(column) for _ in range(columns)]).T, y


dispersions = st.sampled_from(["moments", 0.0, 1e-6, 0.5, 20.0])


# Likelihood -------------------------------------------------------------------------------------


@settings(max_examples=60, deadline=None)
@given(problems(), st.integers(0, 5), dispersions)
def test_the_support_is_the_best_of_all(problem, k, dispersion):
    X, y = problem
    statistics = ClassMoments.from_matrix(X, y)
    selection = solve(negative_binomial(0.0, dispersion), statistics, k)
    phi = moment_dispersion(statistics) if dispersion == "moments" else np.full(5, dispersion)
    _, value = reference.best_support(lambda S: log_likelihood(X, y, S, phi), 5, k)
    assert log_likelihood(X, y, selection.support, phi) == pytest.approx(value, rel=1e-9, abs=1e-7)
    pooled = log_likelihood(X, y, (), phi)
    assert selection.certificate.gain == pytest.approx(value - pooled, rel=1e-9, abs=1e-7)
    assert selection.certificate.proven_optimal


@pytest.mark.parametrize("n_classes", [2, 3])
def test_ten_features_and_every_k(n_classes):
    y = np.arange(24) % n_classes
    mean = rng.gamma(2.0, 2.0, (n_classes, 10))
    X = rng.poisson(rng.gamma(1.5, mean[y] / 1.5))
    statistics = ClassMoments.from_matrix(X, y)
    phi, track = moment_dispersion(statistics), path(negative_binomial(0.0), statistics, range(11))
    alone = [log_likelihood(X, y, (i,), phi) - log_likelihood(X, y, (), phi) for i in range(10)]
    for k in range(11):
        _, value = reference.best_support(lambda S: sum(alone[i] for i in S), 10, k)
        assert sum(alone[i] for i in track.support(k)) == pytest.approx(value, rel=1e-9)
        assert track.objective[k] - track.baseline == pytest.approx(value, rel=1e-9)


def test_the_objective_is_the_likelihood_but_for_what_no_choice_changes():
    X, y = rng.poisson(rng.gamma(1.0, 3.0, (40, 6))), np.arange(40) % 2
    statistics = ClassMoments.from_matrix(X, y)
    phi = moment_dispersion(statistics)
    left_out = sum(
        np.log1p(phi[i] * np.arange(v)).sum() - np.log(np.arange(1, v + 1)).sum()
        for row in X
        for i, v in enumerate(row)
    )
    for k in (0, 3, 6):
        certificate = solve(negative_binomial(0.0), statistics, k)
        value = certificate.certificate.objective + left_out
        assert value == pytest.approx(log_likelihood(X, y, certificate.support, phi), rel=1e-10)


@pytest.mark.parametrize("alpha", [1.0, 0.25, [0.5, 1, 2, 3]])
@pytest.mark.parametrize("dispersion", ["moments", 0.0, 0.3, [0, 0.1, 2, 30]])
def test_the_posterior_is_bayes_rule(alpha, dispersion):
    y = rng.integers(0, 3, 60)
    X = rng.poisson(rng.gamma(2.0, 1.0 + y[:, None], (60, 4)))
    model = SparseNegativeBinomialNB(2, alpha=alpha, dispersion=dispersion).fit(X, y)
    joint = [
        [
            model.class_log_prior_[c]
            + sum(
                log_probability(row[i], model.rate_[c, i], model.dispersion_[i]) for i in range(4)
            )
            for c in range(3)
        ]
        for row in X
    ]
    expected = joint - logsumexp(joint, axis=1, keepdims=True)
    np.testing.assert_allclose(model.predict_log_proba(X), expected, rtol=1e-9, atol=1e-11)
    pooled = ~model.support_
    assert np.ptp(model.rate_[:, pooled], axis=0).max() == 0


# Numbers ----------------------------------------------------------------------------------------

TABLES = [
    ([3, 5], [10, 10]),
    ([0, 7], [3, 11]),
    ([1e-9, 4e-9], [1, 1]),
    ([1_000_000, 1_000_001], [500, 500]),
    ([1e12, 3e12], [7, 2]),
    ([100.0, 200.0, 300.0 * (1 + 1e-12)], [1, 2, 3]),
    ([5, 0, 2], [5, 2.5, 1]),
]


@pytest.mark.parametrize("phi", [0.0, 1e-300, 1e-20, 1e-9, 1e-3, 1.0, 1e4, 1e12, 1e50, 1e100])
@pytest.mark.parametrize("alpha", [0.0, 0.5])
@pytest.mark.parametrize(("sums", "weight"), TABLES)
def test_all_digits_of_a_gain_are_right(sums, weight, alpha, phi):
    table, weight = np.array([sums], dtype=float), np.array(weight, dtype=float)
    gain = negative_binomial_gain(SpreadCounts(table, weight, alpha, np.array([phi])))
    expected = decimal_gain(sums, weight.tolist(), phi, alpha)
    # Where means agree to 12 digits, the sums of doubles hold no more than 4 digits of the excess.
    assert gain[0] == pytest.approx(
        expected, rel=1e-3 if len(sums) == 3 and sums[0] == 100 else 1e-13
    )


@pytest.mark.parametrize("alpha", [0.0, 1.0])
def test_no_dispersion_is_the_poisson_model_bit_for_bit(alpha):
    X, y = rng.poisson(3.0, (50, 30)), np.arange(50) % 3
    counts, moments = ClassCounts.from_matrix(X, y), ClassMoments.from_matrix(X, y)
    ours, theirs = negative_binomial(alpha, 0.0), poisson_family(alpha)
    assert (ours.gain(moments) == theirs.gain(counts)).all()
    baseline = theirs.problem(counts)
    assert ours.problem(moments).baseline() == pytest.approx(
        float(np.sum(baseline.pooled(counts.table))), rel=1e-15
    )
    support, prior = np.array([1, 2, 28]), np.log([0.2, 0.3, 0.5])
    a, b = ours.rule(moments, support, prior), theirs.rule(counts, support, prior)
    for name, array in b.arrays().items():
        assert (a.arrays()[name] == array).all()
    fitted = SparseNegativeBinomialNB(k=5, dispersion=0.0).fit(X, y)
    assert (fitted.predict_proba(X) == SparsePoissonNB(k=5).fit(X, y).predict_proba(X)).all()


def test_small_dispersion_goes_to_poisson_and_a_large_one_to_gamma_laws():
    table, weight = rng.integers(1, 90, (40, 3)).astype(float), np.array([5.0, 9.0, 4.0])
    expected = poisson_gain(table, weight)
    for phi in (1e-300, 1e-100, 1e-20, 1e-12):
        gain = negative_binomial_gain(SpreadCounts(table, weight, 0.0, np.full(40, phi)))
        np.testing.assert_allclose(gain, expected, rtol=1e3 * phi + 1e-14)
    ratio = table / weight / (table.sum(axis=1, keepdims=True) / weight.sum())
    gamma = ((ratio - 1 - np.log(ratio)) * weight).sum(axis=1)
    for phi in (1e9, 1e30, 1e100):
        gain = negative_binomial_gain(SpreadCounts(table, weight, 0.0, np.full(40, phi)))
        np.testing.assert_allclose(gain * phi, gamma, rtol=1e2 / phi + 1e-11)


def test_dispersion_lowers_the_gain_without_end():
    table, weight = np.tile([[3.0, 90.0]], (50, 1)), np.array([10.0, 10.0])
    phi = np.geomspace(1e-8, 1e20, 50)
    gain = negative_binomial_gain(SpreadCounts(table, weight, 0.0, phi))
    assert (np.diff(gain) < 0).all()
    assert gain[-1] > 0


@settings(max_examples=60, deadline=None)
@given(problems(), st.sampled_from([1.0, 0.5, 3.0]), st.booleans())
def test_dispersions_are_moments(problem, unit, sparse):
    X, y = problem
    weights = np.full(len(y), unit)
    weights[-1] *= 2
    statistics = ClassMoments.from_matrix(sp.csr_array(X) if sparse else X, y, weights)
    expected = exact_dispersion(X, y, weights)
    np.testing.assert_allclose(moment_dispersion(statistics), expected, rtol=1e-11, atol=1e-14)


def test_the_dispersion_is_found_again():
    y = np.arange(40_000) % 2
    mean, phi = np.array([[2.0, 9.0, 0.5], [4.0, 9.0, 1.0]]), np.array([0.5, 0.0, 3.0])
    shape = np.array([1 / 0.5, 1e9, 1 / 3.0])
    X = rng.poisson(rng.gamma(shape, mean[y] / shape))
    found = moment_dispersion(ClassMoments.from_matrix(X, y))
    np.testing.assert_allclose(found, phi, rtol=0.1, atol=0.002)


def test_very_large_and_very_small_values():
    X = np.array([[1e150, 1e-130], [3e150, 3e-130], [2e150, 2e-130], [9e150, 9e-130]])
    statistics = ClassMoments.from_matrix(X, [0, 0, 1, 1])
    phi = moment_dispersion(statistics)
    assert phi[0] == pytest.approx(26.5 / 68.5, rel=1e-12)
    assert phi[1] == 0
    gain = negative_binomial(1.0).gain(statistics)
    assert np.isfinite(gain).all()
    assert (gain >= 0).all()


# Corners ----------------------------------------------------------------------------------------


def test_columns_that_vary_less_than_poisson_have_no_dispersion():
    X = np.array([[5, 0, 2, 0], [5, 0, 3, 9], [5, 0, 7, 0], [5, 0, 8, 0]])
    model = SparseNegativeBinomialNB(k=4).fit(X, [0, 0, 1, 1])
    assert model.dispersion_[:3].tolist() == [0, 0, 0]
    assert model.dispersion_[3] > 0
    assert model.scores_[:2].tolist() == [0, 0]
    assert (model.scores_[2:] > 0).all()


def test_classes_of_one_row_have_no_dispersion():
    X = [[1, 9], [4, 0], [0, 7]]
    model = SparseNegativeBinomialNB(k=1).fit(X, ["a", "b", "c"])
    assert model.dispersion_.tolist() == [0, 0]
    assert (model.scores_ == SparsePoissonNB(k=1).fit(X, list("abc")).scores_).all()


def test_a_class_without_rows_takes_the_pooled_means():
    X, y = [[1], [9], [30], [2]], [0, 0, 1, 1]
    make = partial(SparseNegativeBinomialNB, k=1, alpha=0.0)
    known = ClassMoments.from_matrix(X, y, classes=[0, 1, 2])
    model, plain = make(fit_prior=False).from_statistics(known, k=1, alpha=0.0), make().fit(X, y)
    assert model.rate_.ravel().tolist() == [5, 16, 10.5]
    assert model.scores_ == plain.scores_
    assert model.dispersion_ == plain.dispersion_
    assert (model.predict_proba(X)[:, 2] == 0).all()


def test_rows_without_weight_are_no_rows():
    X, y = rng.poisson(4.0, (20, 5)), np.arange(20) % 2
    weight = (np.arange(20) < 14).astype(float)
    a = SparseNegativeBinomialNB(k=2).fit(X, y, weight)
    b = SparseNegativeBinomialNB(k=2).fit(X[:14], y[:14])
    np.testing.assert_allclose(a.dispersion_, b.dispersion_, rtol=1e-12)
    np.testing.assert_allclose(a.scores_, b.scores_, rtol=1e-12)


def test_without_smoothing_a_row_can_rule_out_a_class():
    X = [[1, 0], [8, 1], [0, 3], [0, 0]]
    model = SparseNegativeBinomialNB(k=2, alpha=0.0).fit(X, [0, 0, 1, 1])
    log_proba = model.predict_log_proba([[1, 0], [0, 1], [0, 0]])
    assert np.isneginf(log_proba[0, 1])
    assert np.isfinite(log_proba[1:]).all()


def test_what_a_fold_takes_away_leaves_no_lifted_veto():
    """0.3 less 0.1 and less 0.2 is -5e-17, where nothing is left."""
    parts = [
        ClassMoments.from_matrix([[value, 1.0], [0.0, 2.0]], [0, 1]) for value in (0.1, 0.2, 0.0)
    ]
    rest = parts[0] + parts[1] + parts[2] - parts[0] - parts[1]
    assert rest.total.tolist() == [[0, 0], [1, 2]]
    model = SparseNegativeBinomialNB.from_statistics(rest, k=2, alpha=0.0)
    assert np.isfinite(model.predict_log_proba([[1, 1]])).all()


@pytest.mark.parametrize("container", [np.asarray, sp.csr_array, sp.csc_matrix, list])
def test_negative_values_are_refused(container):
    X = container([[1, 2], [3, -1], [0, 5]])
    with pytest.raises(
        ValueError, match=r"Negative values in data passed to .*-1.*row 1, column 1"
    ):
        SparseNegativeBinomialNB()._model().gather(X, [0, 1, 1])
    below = ClassMoments.from_matrix([[1, 2], [3, -1]], [0, 1])
    with pytest.raises(ValueError, match=r"the mean of column 1 is -1 in a class"):
        SparseNegativeBinomialNB.from_statistics(below, k=1)


@pytest.mark.parametrize(
    "bad", ["likelihood", -0.1, np.nan, np.inf, [[1.0]], [0.1, -2], None, 1e101]
)
def test_dispersions_that_are_none(bad):
    with pytest.raises(ValueError, match=r"`dispersion` must be 'moments', or a number"):
        SparseNegativeBinomialNB(dispersion=bad).fit([[1, 2], [3, 0]], [0, 1])


def test_one_dispersion_for_each_feature():
    X, y = [[1, 2], [3, 0], [8, 1]], [0, 1, 1]
    with pytest.raises(ValueError, match="each of the 2 features; got 3"):
        SparseNegativeBinomialNB(k=1, dispersion=[1, 2, 3]).fit(X, y)
    model = SparseNegativeBinomialNB(k=1, dispersion=[5.0, 0.0]).fit(X, y)
    assert model.dispersion_.tolist() == [5, 0]
    alone = [SparseNegativeBinomialNB(k=1, dispersion=phi).fit(X, y).scores_ for phi in (5.0, 0.0)]
    assert model.scores_.tolist() == [alone[0][0], alone[1][1]]


def test_given_dispersions_need_no_second_moments():
    X, y = rng.poisson(3.0, (30, 4)), np.arange(30) % 2
    model = SparseNegativeBinomialNB(k=2, dispersion=0.4)
    assert model.gather(X, y).scatter is None
    means = ClassMoments.from_matrix(X, y, deviations=False)
    again = SparseNegativeBinomialNB.from_statistics(means, k=2, dispersion=0.4)
    assert (again.scores_ == model.fit(X, y).scores_).all()
    with pytest.raises(ValueError, match="deviations=True"):
        SparseNegativeBinomialNB.from_statistics(means, k=2)


# Sums -------------------------------------------------------------------------------------------


@settings(max_examples=30, deadline=None)
@given(problems(), st.integers(1, 4))
def test_statistics_of_parts_train_what_all_rows_train(problem, n_parts):
    X, y = problem
    whole = SparseNegativeBinomialNB(k=2).fit(X, y)
    rows = np.array_split(np.arange(len(y)), min(n_parts, len(y)))
    gathered = [whole.gather(X[at], y[at], classes=whole.classes_) for at in rows]
    merged = SparseNegativeBinomialNB.from_statistics(sum(gathered[1:], gathered[0]), k=2)
    partly = SparseNegativeBinomialNB(k=2)
    for at in rows:
        partly.partial_fit(X[at], y[at], classes=whole.classes_)
    for model in (merged, partly):
        np.testing.assert_allclose(model.scores_, whole.scores_, rtol=1e-9, atol=1e-12)
        np.testing.assert_allclose(model.dispersion_, whole.dispersion_, rtol=1e-9, atol=1e-12)
        assert (model.support_ == whole.support_).all()


@settings(max_examples=30, deadline=None)
@given(problems())
def test_the_path_is_every_single_fit(problem):
    X, y = problem
    track = sparsity_path(SparseNegativeBinomialNB(), X, y, ks=range(6))
    for k in range(6):
        model = SparseNegativeBinomialNB(k=k).fit(X, y)
        assert track.support(k).tolist() == np.flatnonzero(model.support_).tolist()
        assert track.objective[k] == pytest.approx(model.certificate_.objective, rel=1e-12)


@pytest.mark.parametrize("unit", [1.0, 1e6, 1e12, 1e15])
def test_posteriors_of_large_counts_keep_their_digits(unit):
    # With phi mu large the law of x / unit goes to an exponential law, whatever the unit.
    X, y = np.array([[1.0], [3.0], [2.0], [6.0]]) * unit, [0, 0, 1, 1]
    model = SparseNegativeBinomialNB(k=1, dispersion=1.0, alpha=0.0).fit(X, y)
    with localcontext() as context:
        context.prec = 60
        x, (a, b) = Decimal(3 * unit), (Decimal(2 * unit), Decimal(4 * unit))
        odds = (x * (b / (1 + b)).ln() - (1 + b).ln()) - (x * (a / (1 + a)).ln() - (1 + a).ln())
        expected = float(1 / (1 + (-odds).exp()))
    np.testing.assert_allclose(model.predict_proba([[3 * unit]])[0, 1], expected, rtol=1e-9)


def test_large_counts_of_one_row_do_not_decide():
    """What the model is for: a burst is evidence of bursts, and not of the class."""
    y = np.arange(200) % 2
    X = np.column_stack([rng.poisson(3 + 2 * y), rng.poisson(3.0, 200)])
    X[7, 1] = 4_000
    assert SparsePoissonNB(k=1).fit(X, y).support_.tolist() == [False, True]
    assert SparseNegativeBinomialNB(k=1).fit(X, y).support_.tolist() == [True, False]


# The command ------------------------------------------------------------------------------------


def test_the_command_answers_as_the_estimator(tmp_path, monkeypatch):
    testing, command = (
        pytest.importorskip("click.testing"),
        pytest.importorskip("naively.cli.commands"),
    )
    monkeypatch.chdir(tmp_path)

    def run(*arguments):
        result = testing.CliRunner().invoke(command.naively, [str(each) for each in arguments])
        assert result.exit_code == 0, result.output
        return result.stdout

    y = np.array(["a", "b", "c"])[np.arange(120) % 3]
    mean = rng.gamma(1.0, 3.0, (3, 14))
    X = rng.poisson(rng.gamma(1.5, mean[np.arange(120) % 3] / 1.5))
    with Path("counts.csv").open("w", newline="") as file:
        writer = csv.writer(file)
        writer.writerow([*(f"g{j}" for j in range(14)), "label"])
        writer.writerows([*row, label] for row, label in zip(X.tolist(), y, strict=True))
    options = ("--read", "numbers", "--model", "negative-binomial")
    summary = run("select", "counts.csv", *options, "-k", 4, "--test", 0, "--json", "-q")
    fitted = SparseNegativeBinomialNB(k=4).fit(X, y)
    with open("result/features.csv", newline="") as file:
        found = {row["feature"]: float(row["gain"]) for row in csv.DictReader(file)}
    support = fitted.get_support(indices=True)
    assert found == pytest.approx({f"g{j}": fitted.scores_[j] for j in support}, rel=1e-6)
    assert json.loads(summary)["settings"]["model"] == "negative-binomial"
    run("predict", "result", "counts.csv", "--probabilities", "--out", "answers.csv")
    with open("answers.csv", newline="") as file:
        answers = list(csv.DictReader(file))
    assert [row["label"] for row in answers] == fitted.predict(X).tolist()
    proba = [[float(row[f"p:{c}"]) for c in "abc"] for row in answers]
    np.testing.assert_allclose(proba, fitted.predict_proba(X), rtol=1e-9)
    points = json.loads(run("cv", "counts.csv", *options, "--ks", "1-14", "--json"))["points"]
    track = sparsity_path(SparseNegativeBinomialNB(), X, y, ks=range(1, 15))
    gains = [point["gain"] for point in points]
    assert gains == pytest.approx((track.objective - track.baseline).tolist(), rel=1e-9)
