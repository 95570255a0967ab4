"""Rows of unequal exposure: the likelihood in plain loops, laws, files and the command."""

import itertools
import json
from pathlib import Path

import numpy as np
import pandas as pd
import pytest
import scipy.sparse as sp
from click.testing import CliRunner
from hypothesis import given, settings, strategies as st
from scipy.special import logsumexp
from scipy.stats import nbinom, poisson

from naively import (
    ClassCounts,
    ClassMoments,
    Pairs,
    SparseNegativeBinomialNB,
    SparsePoissonNB,
    SparsityCV,
    error_path,
    gain,
    selection_stability,
    sparsity_path,
)
from naively.cli.scale import naively as command
from naively.judging.path_scores import linear_path, rule_rows
from naively.models.negative_binomial import moment_dispersion
from naively.read.layout import Layout
from naively.text.features import ColumnFeatures, TextFeatures
from naively.work.judged import Answerer
from naively.work.records import load_record, save_record
from naively.work.stream import count_files

ESTIMATORS = [SparsePoissonNB, SparseNegativeBinomialNB]
both = pytest.mark.parametrize("make", ESTIMATORS)


def data(seed, n=40, m=6, n_classes=3):
    rng = np.random.default_rng(seed)
    y = np.arange(n) % n_classes
    depth = rng.integers(1, 9, n) * (1 + y)
    rate = rng.gamma(0.7, 0.8, (n_classes, m))
    X = rng.negative_binomial(depth[:, None] / 0.8, 1 / (1 + 0.8 * rate[y]))
    X[0], depth[0] = 0, 0  # a row to which nothing happened
    return X, y, depth, rng.integers(1, 4, n)


def beside(X, depth):
    """The exposure in a column among the others."""
    return np.column_stack([X[:, :2], depth, X[:, 2:]])


FEATURES = np.array([0, 1, 3, 4, 5, 6])  # columns of `beside` that are features


# The likelihood, in plain loops ------------------------------------------------------------------


def log_probability(x, e, rate, phi):
    """SciPy's law of a count in a row of exposure e."""
    if e == 0 or rate == 0:
        return 0.0 if x == 0 else -np.inf
    if phi == 0:
        return poisson(e * rate).logpmf(x)
    return nbinom(e / phi, 1 / (1 + phi * rate)).logpmf(x)


def rates(X, y, depth, weights, support, alpha, n_classes):
    """Rate of each class and feature, smoothed in proportion to the exposures of the classes."""
    total = sum(w * e for w, e in zip(weights, depth, strict=True))
    rate = np.zeros((n_classes, X.shape[1]))
    for i in range(X.shape[1]):
        everything = sum(w * x for w, x in zip(weights, X[:, i], strict=True))
        for c in range(n_classes):
            rows = np.flatnonzero(y == c)
            f, E = (sum(weights[j] * a[j] for j in rows) for a in (X[:, i], depth))
            free = (f + alpha * n_classes * E / total) / E
            rate[c, i] = free if i in support else (everything + alpha * n_classes) / total
    return rate


def dispersions(X, y, depth, weights):
    found = []
    for x in X.T:
        beyond = square = 0.0
        for c in np.unique(y):
            rows = [j for j in np.flatnonzero(y == c) if depth[j] > 0]
            mean = sum(weights[j] * x[j] for j in rows) / sum(weights[j] * depth[j] for j in rows)
            for j in rows:
                beyond += weights[j] * ((x[j] - depth[j] * mean) ** 2 / depth[j] - mean)
                square += weights[j] * mean**2
        found.append(max(beyond / square, 0.0) if square else 0.0)
    return np.array(found)


def log_likelihood(X, y, depth, weights, support, phi, n_classes):
    rate = rates(X, y, depth, weights, support, 0.0, n_classes)
    return sum(
        w * log_probability(x, e, rate[c, i], phi[i])
        for row, c, e, w in zip(X, y, depth, weights, strict=True)
        for i, x in enumerate(row)
    )


@both
@pytest.mark.parametrize("n_classes", [2, 3])
def test_support_and_gains_are_those_of_the_likelihood(make, n_classes):
    X, y, depth, w = data(1, n_classes=n_classes)
    phi = dispersions(X, y, depth, w) if make is SparseNegativeBinomialNB else np.zeros(6)
    nothing = log_likelihood(X, y, depth, w, (), phi, n_classes)
    model = make(k=2, alpha=0, exposure=2).fit(beside(X, depth), y, w)
    single = [log_likelihood(X, y, depth, w, (i,), phi, n_classes) - nothing for i in range(6)]
    np.testing.assert_allclose(model.scores_[FEATURES], single, rtol=1e-9, atol=1e-9)
    assert model.scores_[2] == 0
    for k in range(1, 6):
        best = max(
            itertools.combinations(range(6), k),
            key=lambda s: log_likelihood(X, y, depth, w, s, phi, n_classes),
        )
        chosen = make(k=k, alpha=0, exposure=2).fit(beside(X, depth), y, w)
        assert chosen.get_support(indices=True).tolist() == FEATURES[list(best)].tolist()
        certificate = chosen.certificate_
        assert certificate.proven_optimal
        gained = log_likelihood(X, y, depth, w, best, phi, n_classes) - nothing
        assert certificate.objective - certificate.baseline == pytest.approx(gained)


@both
def test_posterior_is_that_of_the_law(make):
    X, y, depth, w = data(2)
    phi = dispersions(X, y, depth, w) if make is SparseNegativeBinomialNB else np.zeros(6)
    model = make(k=3, alpha=0.5, exposure=2).fit(beside(X, depth), y, w)
    support = np.searchsorted(FEATURES, model.get_support(indices=True))
    rate = rates(X, y, depth, w, support, 0.5, 3)
    np.testing.assert_allclose(model.rate_[:, FEATURES], rate)
    prior = np.log([w[y == c].sum() / w.sum() for c in range(3)])
    for row, e, log_proba in zip(X, depth, model.predict_log_proba(beside(X, depth)), strict=True):
        joint = prior + [
            sum(log_probability(row[i], e, rate[c, i], phi[i]) for i in support) for c in range(3)
        ]
        np.testing.assert_allclose(log_proba, joint - logsumexp(joint), rtol=1e-8, atol=1e-9)
    # Nothing is known of a row to which nothing happened.
    np.testing.assert_allclose(model.predict_log_proba(beside(X, depth))[0], prior)


def test_dispersions_are_moments_of_rows_in_proportion_to_their_exposure():
    X, y, depth, w = data(3)
    found = ClassMoments.from_matrix(beside(X, depth), y, w, exposure=2)
    np.testing.assert_allclose(moment_dispersion(found)[FEATURES], dispersions(X, y, depth, w))
    assert moment_dispersion(found)[2] == 0
    np.testing.assert_array_equal(found.total[2], found.exposure)
    assert found.exposed.sum() == w[depth > 0].sum() < found.class_weight.sum() == w.sum()


def test_moments_find_the_dispersion_that_rows_were_drawn_with():
    rng = np.random.default_rng(0)
    n, phi = 40_000, 0.8
    depth, y = rng.integers(1, 40, n), np.arange(n) % 2
    rate = np.array([0.3, 1.1])[y]
    x = rng.negative_binomial(depth / phi, 1 / (1 + phi * rate))
    model = SparseNegativeBinomialNB(k=1, exposure=1).fit(np.column_stack([x, depth]), y)
    assert model.dispersion_[0] * depth.mean() == pytest.approx(phi, rel=0.05)


# Laws --------------------------------------------------------------------------------------------


@both
def test_exposures_of_one_are_the_model_without_any(make):
    X, y, _, w = data(4)
    ones = beside(X, np.ones(len(X), dtype=int))
    plain = make(k=3).fit(X, y, w)
    model = make(k=3, exposure=2).fit(ones, y, w)
    np.testing.assert_array_equal(model.scores_[FEATURES], plain.scores_)
    np.testing.assert_allclose(model.predict_proba(ones), plain.predict_proba(X), rtol=1e-12)
    np.testing.assert_allclose(model.intercept_ + model.exposure_coef_, plain.intercept_)
    np.testing.assert_array_equal(model.coef_[:, FEATURES], plain.coef_)
    assert not plain.exposure_coef_.any()


@both
@given(unit=st.floats(1e-6, 1e6))
@settings(max_examples=20, deadline=None)
def test_the_unit_of_the_exposures_does_not_matter(make, unit):
    X, y, depth, _ = data(5)
    parameters = [{}, {"dispersion": 0.7}] if make is SparseNegativeBinomialNB else [{}]
    for more in parameters:
        one = make(k=2, exposure=2, **more).fit(beside(X, depth), y)
        other = make(k=2, exposure=2, **more).fit(beside(X, depth * unit), y)
        np.testing.assert_allclose(other.scores_[FEATURES], one.scores_[FEATURES], rtol=1e-9)
        proba = one.predict_proba(beside(X, depth))
        np.testing.assert_allclose(other.predict_proba(beside(X, depth * unit)), proba, rtol=1e-9)
        if more:
            np.testing.assert_allclose(other.dispersion_, 0.7)


@both
@pytest.mark.parametrize("unit", [1e-3, 1.0, 1e3])
def test_pairs_are_told_apart_in_rows_of_mean_exposure(make, unit):
    """With exposures that are all the same, those of the model without any."""
    X, y, depth, _ = data(20)
    Z = beside(X, np.full(len(X), unit))
    asked = make(exposure=2, alpha=0.1)
    asked._check_batch(Z, y, reset=True)
    model = asked._model()
    plain = make(alpha=0.1)._model()
    columns = np.arange(6)
    found = model.family.distances(model.gather(Z, y)).between(FEATURES)
    wanted = plain.family.distances(plain.gather(X, y)).between(columns)
    np.testing.assert_allclose(found, wanted, rtol=1e-9)
    uneven_rows = np.column_stack([X, depth * unit])
    one = make(k=3, exposure="total", objective="pairs").fit(X, y)
    assert one.support_.sum() == 3
    # In proportion to the exposure: that of the roots of the law of the mean exposure.
    uneven = make(exposure=6, alpha=0.1)
    uneven._check_batch(uneven_rows, y, reset=True)
    model = uneven._model()
    statistics = model.gather(uneven_rows, y)
    mean = depth.mean() if make is SparsePoissonNB else depth[depth > 0].mean()
    fitted = make(k="all", exposure=6, alpha=0.1).fit(uneven_rows, y)
    rate = fitted.rate_ * unit * mean
    phi = fitted.dispersion_ if make is SparseNegativeBinomialNB else np.zeros(7)
    between = model.family.distances(statistics).between(columns)
    counts = np.arange(2000)
    for i in columns:
        for p, (a, b) in enumerate(itertools.combinations(range(3), 2)):
            law = [
                poisson(rate[c, i])
                if phi[i] == 0
                else nbinom(1 / phi[i], 1 / (1 + phi[i] * rate[c, i]))
                for c in (a, b)
            ]
            affinity = np.sqrt(law[0].pmf(counts) * law[1].pmf(counts)).sum()
            assert between[i, p] == pytest.approx(-np.log(affinity), rel=1e-6, abs=1e-9)


@both
def test_depth_of_a_class_is_no_evidence(make):
    """Rows of one law, those of a class thinned to a fifth: nothing tells the classes apart."""
    rng = np.random.default_rng(6)
    n, m = 2000, 40
    y = np.arange(n) % 2
    X = rng.negative_binomial(2.0, 2.0 / (2.0 + rng.gamma(1, 30, m)), (n, m))
    X[y == 1] = rng.binomial(X[y == 1], 0.2)
    deep = np.where(y == 1, 1, 5)
    scores, pvalues = gain(
        np.column_stack([X, deep]), y, model=SparseNegativeBinomialNB(alpha=0, exposure=m)
    )
    # A fifth of the depth of an overdispersed count is no thinner law, but means agree.
    assert np.median(scores[:m]) < 2
    assert not (pvalues[:m] < 0.01 / m).any()
    without = make(alpha=0, k=5).fit(X, y)
    assert np.median(without.scores_) > 100
    Z = rng.poisson(deep[:, None] * rng.gamma(1, 2, m))
    for exposure in (m, "total"):
        model = make(k=5, alpha=0, exposure=exposure).fit(np.column_stack([Z, deep]), y)
        twice = 2 * model.scores_[:m]
        assert 0.5 < twice.mean() < 2.0  # chi-squared with one degree of freedom
    assert np.median(make(k=5).fit(Z, y).scores_) > 100


@both
@pytest.mark.parametrize("exposure", ["total", 2])
def test_a_row_of_weight_two_is_the_row_twice(make, exposure):
    X, y, depth, w = data(7)
    Z = beside(X, depth)
    weighted = make(k=2, exposure=exposure).fit(Z, y, w)
    repeated = make(k=2, exposure=exposure).fit(np.repeat(Z, w, axis=0), np.repeat(y, w))
    np.testing.assert_allclose(weighted.scores_, repeated.scores_, rtol=1e-9, atol=1e-9)
    np.testing.assert_allclose(weighted.predict_proba(Z), repeated.predict_proba(Z), rtol=1e-9)


@both
def test_the_column_is_never_selected_and_total_is_the_sum_of_the_row(make):
    X, y, depth, _ = data(8)
    everything = make(k="all", exposure=2).fit(beside(X, depth), y)
    assert everything.get_support(indices=True).tolist() == FEATURES.tolist()
    assert make(k=1.0, exposure=2, excluded=[0]).fit(beside(X, depth), y).support_.sum() == 5
    total = X.sum(axis=1)
    by_total = make(k=3, exposure="total").fit(X, y)
    by_column = make(k=3, exposure=2).fit(beside(X, total), y)
    np.testing.assert_allclose(by_total.scores_, by_column.scores_[FEATURES])
    np.testing.assert_allclose(by_total.predict_proba(X), by_column.predict_proba(beside(X, total)))


def test_a_total_makes_poisson_counts_multinomial():
    """Given the total, with all features free and no smoothing, rates are probabilities."""
    from sklearn.naive_bayes import MultinomialNB

    X, y, _, _ = data(9)
    X = X + 1
    model = SparsePoissonNB(k="all", alpha=0, exposure="total").fit(X, y)
    np.testing.assert_allclose(model.rate_.sum(axis=1), 1)
    other = MultinomialNB(alpha=1e-12).fit(X, y)
    np.testing.assert_allclose(model.predict_proba(X), other.predict_proba(X), rtol=1e-8)


# Statistics, containers --------------------------------------------------------------------------


@pytest.mark.parametrize("kind", [ClassCounts, ClassMoments])
@pytest.mark.parametrize("exposure", ["total", 2])
def test_statistics_add_and_subtract(kind, exposure):
    X, y, depth, w = data(10)
    Z = beside(X, depth)
    whole = kind.from_matrix(Z, y, w, exposure=exposure)
    first, second = (
        kind.from_matrix(Z[rows], y[rows], w[rows], classes=[0, 1, 2], exposure=exposure)
        for rows in (slice(0, 15), slice(15, None))
    )
    for found, wanted in ((first + second, whole), (whole - second, first)):
        np.testing.assert_array_equal(found.exposure, wanted.exposure)
        for name in ("table", "total", "scatter", "exposed"):
            if hasattr(wanted, name):
                np.testing.assert_allclose(
                    getattr(found, name), getattr(wanted, name), rtol=1e-9, atol=1e-9
                )
    assert (kind.zero(7, exposure=exposure) + whole).equals(whole)
    assert whole.take([0, 1]).exposure is whole.exposure
    with pytest.raises(ValueError, match="must count the same thing"):
        whole + kind.from_matrix(Z, y)


@both
@pytest.mark.parametrize("exposure", ["total", 2])
@pytest.mark.parametrize("container", [sp.csr_array, sp.csc_array, sp.coo_array, pd.DataFrame])
def test_containers_agree(make, exposure, container):
    X, y, depth, _ = data(11)
    Z = beside(X, depth)
    dense = make(k=3, exposure=exposure).fit(Z, y)
    if container is pd.DataFrame:
        other = pd.DataFrame(Z, columns=list("abcdefg"))
        exposure = "c" if exposure == 2 else exposure
    else:
        other = container(Z)
    model = make(k=3, exposure=exposure).fit(other, y)
    np.testing.assert_allclose(model.scores_, dense.scores_, rtol=1e-12, atol=1e-12)
    np.testing.assert_allclose(model.predict_proba(other), dense.predict_proba(Z), rtol=1e-12)


@both
def test_batches_and_statistics_alone_train_the_same(make):
    X, y, depth, _ = data(12)
    Z = beside(X, depth)
    whole, parts = make(k=3, exposure=2).fit(Z, y), make(k=3, exposure=2)
    for rows in np.array_split(np.arange(len(Z)), 3):
        parts.partial_fit(Z[rows], y[rows], classes=[0, 1, 2])
    alone = make.from_statistics(make(exposure=2).gather(Z, y), k=3, exposure=2)
    for other in (parts, alone):
        np.testing.assert_allclose(other.predict_proba(Z), whole.predict_proba(Z), rtol=1e-9)
    with pytest.raises(ValueError, match="gathered with exposure='total' for this model; got"):
        make.from_statistics(whole.statistics_, k=2, exposure="total")
    with pytest.raises(ValueError, match="gathered with exposure=None"):
        make.from_statistics(whole.statistics_, k=2)


# Every k, folds, rows left out -------------------------------------------------------------------


@both
@pytest.mark.parametrize("exposure", ["total", 2])
@pytest.mark.parametrize("alpha", [0.0, 1.0])
def test_every_k_of_a_path_is_a_fit(make, exposure, alpha):
    X, y, depth, w = data(13)
    Z = beside(X, depth)
    estimator = make(exposure=exposure, alpha=alpha)
    grid = np.arange(1, 7)
    path = sparsity_path(estimator, Z, y, grid, sample_weight=w)
    whole = make(k=6, exposure=exposure, alpha=alpha).fit(Z, y, w)
    rule = linear_path(whole.model_, whole.statistics_, grid)
    swept = rule.scores(rule_rows(whole.model_, Z, rule), 0, len(Z))
    for g, k in enumerate(grid.tolist()):
        fitted = make(k=k, exposure=exposure, alpha=alpha).fit(Z, y, w)
        np.testing.assert_array_equal(path.support(k), fitted.get_support(indices=True))
        scores = fitted._scores(Z)
        finite = np.isfinite(scores)
        np.testing.assert_array_equal(np.isfinite(swept[:, g]), finite)
        np.testing.assert_allclose(swept[:, g][finite], scores[finite], rtol=1e-9, atol=1e-9)


@both
@pytest.mark.parametrize("exposure", ["total", 2])
def test_folds_and_rows_left_out_are_loops_of_fits(make, exposure):
    X, y, depth, _ = data(14, n=30)
    Z = beside(X, depth)
    found = error_path(make(exposure=exposure), Z, y, ks=[1, 3])
    assert found.predicted is None
    for g, k in enumerate((1, 3)):
        support = make(k=k, exposure=exposure).fit(Z, y).get_support(indices=True)
        wrong = 0
        for j in range(len(Z)):
            others = np.delete(np.arange(len(Z)), j)
            forced = make(k=k, exposure=exposure, required=support).fit(Z[others], y[others])
            wrong += forced.predict(Z[[j]])[0] != y[j]
        assert found.leave_one_out[g] == pytest.approx(wrong / len(Z))
    search = SparsityCV(make(exposure=exposure), ks=[1, 3], cv=3).fit(Z, y)
    from sklearn.model_selection import cross_val_score

    by_hand = [cross_val_score(make(k=k, exposure=exposure), Z, y, cv=3).mean() for k in (1, 3)]
    np.testing.assert_allclose(search.cv_results_["mean_test_score"], by_hand)
    auto = make(k="auto", exposure=exposure, calibration="cross-fitted").fit(Z, y)
    assert auto.support_.sum() == auto.fold_errors_.best_k()
    assert auto.temperature_ > 0


@both
def test_stability_is_that_of_the_column(make):
    X, y, _, _ = data(15, n=60)
    by_total = selection_stability(make(k=2, exposure="total"), X, y, n_subsamples=10)
    Z = beside(X, X.sum(axis=1))
    by_column = selection_stability(make(k=2, exposure=2), Z, y, n_subsamples=10)
    np.testing.assert_array_equal(by_total.frequency(2), by_column.frequency(2)[FEATURES])
    assert by_column.frequency(2)[2] == 0


# Refusals ----------------------------------------------------------------------------------------


@both
def test_what_cannot_be_an_exposure_is_refused(make):
    X, y, depth, _ = data(16)
    frame = pd.DataFrame(beside(X, depth), columns=["a", "b", "depth", "d", "e", "f", "g"])
    for exposure, X_, message in [
        ("dept", frame, "`exposure` must be 'total' or a column; got 'dept': did you mean `depth`"),
        ("depth", X, "X has no names"),
        (True, X, "name or index of a column; got True"),
        (-1, X, "name or index of a column; got -1"),
        (6, X, r"in \[0, 6\); got 6"),
        ("total", frame.rename(columns={"a": "total"}), "a column is called so"),
    ]:
        with pytest.raises(ValueError, match=message):
            make(k=2, exposure=exposure).fit(X_, y)
    depth[5] = 0
    X[5] = 1
    with pytest.raises(ValueError, match="row 5: `exposure` must be > 0 .* add up to 6"):
        make(k=2, exposure=2).fit(beside(X, depth), y)
    model = make(k=2, exposure="depth").fit(frame, y)
    with pytest.raises(ValueError, match="row 5: `exposure` must be > 0"):
        model.predict(frame.assign(depth=depth, a=X[:, 0]))
    with pytest.raises(
        ValueError, match="`required` must not have `depth`, which is the `exposure`"
    ):
        make(k=2, exposure="depth", required=["depth"]).fit(frame, y)


@both
def test_what_knows_nothing_of_exposures_is_refused(make):
    X, y, _, _ = data(17)
    for name, value in (("redundancy", "conditional"), ("refit", "logistic")):
        with pytest.raises(ValueError, match=f"`{name}` looks at the entries of single rows"):
            make(k=2, exposure="total", **{name: value}).fit(X, y)
    Z = beside(X, X.sum(axis=1))
    pairs = make(k=2, exposure="total", objective=Pairs()).fit(X, y)
    of_column = make(k=2, exposure=2, objective="pairs").fit(Z, y)
    np.testing.assert_array_equal(np.delete(of_column.support_, 2), pairs.support_)
    assert not of_column.support_[2]
    quota = make(k=3, exposure="total", quota=1).fit(X, y)
    speaks = quota.rate_.argmax(axis=0)[quota.support_]
    assert set(speaks.tolist()) == {0, 1, 2}


# The command -------------------------------------------------------------------------------------


@pytest.fixture
def files(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    X, y, depth, _ = data(18, n=200)
    table = pd.DataFrame(X, columns=list("abcdef")).assign(
        depth=depth, label=np.array(["u", "v", "w"])[y]
    )
    table.to_csv("rows.csv", index=False)
    with open("texts.jsonl", "w") as file:
        for row, label in zip(X.tolist(), table["label"], strict=True):
            words = " ".join(f"word{i}" for i, n in enumerate(row) for _ in range(n))
            file.write(json.dumps({"text": words, "label": label}) + "\n")
    return table


def run(*arguments, status=0):
    found = CliRunner().invoke(command, [str(each) for each in arguments])
    if found.exception is not None and not isinstance(found.exception, SystemExit):
        raise found.exception
    assert found.exit_code == status, found.output
    return found.output if status else found.stdout


MODELS = {"poisson": SparsePoissonNB, "negative-binomial": SparseNegativeBinomialNB}


def probabilities(model, path):
    found = pd.read_csv(path) if isinstance(path, str) else path
    found.to_csv("asked.csv", index=False)
    run("predict", model, "asked.csv", "--probabilities", "--out", "answers.csv", "-q")
    return pd.read_csv("answers.csv").filter(like="p:").to_numpy()


@pytest.mark.parametrize("model", MODELS)
@pytest.mark.parametrize("exposure", ["depth", "total"])
def test_command_is_the_estimator(files, model, exposure):
    ignored = ["--ignore", "depth"] if exposure == "total" else []
    run(
        *("select", "rows.csv", "--numbers", "--model", model, "--exposure", exposure),
        *(*ignored, "-k", 3, "--out", "out", "-q"),
    )
    X = files.drop(columns=["label", *ignored[1:]])
    estimator = MODELS[model](k=3, exposure=exposure).fit(X, files["label"])
    # Columns in another order, and one more.
    asked = files.drop(columns="label")[list("fedcba") + ["depth"]].assign(more=7)
    found = probabilities("out", asked)
    np.testing.assert_allclose(found, estimator.predict_proba(X), rtol=1e-9)
    explained = json.loads(run("explain", "out", "--file", "asked.csv", "--row", "2", "--json"))
    parts = explained["contributions"]
    assert {part["feature"] for part in parts} <= {*"abcdef", "exposure"}
    assert explained["total"] == pytest.approx(
        explained["start"] + sum(part["nats"] for part in parts)
    )
    chosen = X.columns[estimator.support_]
    needed = "depth" if exposure == "depth" else next(c for c in "abcdef" if c not in chosen)
    asked.drop(columns=needed).to_csv("lacking.csv", index=False)
    message = run("predict", "out", "lacking.csv", status=2)
    assert f"needs the column `{needed}`" in message


@pytest.mark.parametrize("model", MODELS)
def test_total_of_texts_counts_every_term(files, model):
    run("select", "texts.jsonl", "--model", model, "--exposure", "total", "-k", 2, "-q")
    X = files[list("abcdef")]
    estimator = MODELS[model](k=2, exposure="total").fit(X, files["label"])
    names = [f"word{i}" for i in estimator.get_support(indices=True)]
    chosen = pd.read_csv("result/features.csv")
    assert set(chosen["feature"]) == set(names)
    texts = [" ".join([names[0]] * 3 + [f"unknown{i}" for i in range(n)]) for n in (0, 40)]
    found = probabilities("result", pd.DataFrame({"text": texts}))
    rows = np.zeros((2, 6), dtype=int)
    rows[:, estimator.get_support(indices=True)[0]] = 3
    other = next(i for i in range(6) if not estimator.support_[i])
    rows[1, other] = 40  # terms that were not chosen, known or not
    np.testing.assert_allclose(
        found, estimator.predict_proba(pd.DataFrame(rows, columns=X.columns)), rtol=1e-9
    )


@pytest.mark.parametrize("model", MODELS)
@pytest.mark.parametrize("exposure", ["depth", "total"])
def test_shards_are_the_whole(files, model, exposure):
    for part in (0, 1):
        files[part::2].to_csv(f"part{part}.csv", index=False)
    how = ("--model", model, "--exposure", exposure, "--numbers")
    run("count", "part0.csv", "part1.csv", *how, "-o", "records", "-q")
    run("merge", "records", "-o", "all.npz", "-q")
    run("solve", "all.npz", "--model", model, "-k", 3, "-o", "solved", "-q")
    run("select", "rows.csv", *how, "-k", 3, "--holdout", 0, "--out", "out", "-q")
    asked = files.drop(columns="label")
    np.testing.assert_allclose(
        probabilities("solved", asked), probabilities("out", asked), rtol=1e-9
    )
    message = run("solve", "all.npz", "--model", "gaussian", "-k", 3, status=2)
    assert "gaussian takes no exposure" in message


@pytest.mark.parametrize("model", MODELS)
@pytest.mark.parametrize("exposure", ["depth", "total"])
def test_folds_calibration_and_rare_features(files, model, exposure):
    least = int(files[list("abcdef")].sum().sort_values().iloc[2])
    output = run(
        *("select", "rows.csv", "--numbers", "--model", model, "--exposure", exposure),
        *("-k", "auto", "--calibration", "cross-fitted", "--min-count", least, "--stability"),
        *("--holdout", 0),
    )
    assert "features tell 3 classes apart" in output
    X = files.drop(columns="label")
    often = X.columns[X.sum() >= least]
    k = len(pd.read_csv("result/features.csv"))
    excluded = [c for c in X.columns if c not in often]
    estimator = MODELS[model](k=k, exposure=exposure, excluded=excluded)
    estimator.fit(X, files["label"])
    chosen = pd.read_csv("result/features.csv")
    assert set(chosen["feature"]) == set(X.columns[estimator.support_])
    assert chosen["stability"].between(0, 1).all()
    # Scores in proportion: those of the estimator, divided by the temperature.
    mine = np.log(probabilities("result", X))[1:]
    theirs = estimator.predict_log_proba(X)[1:]
    ratio = (theirs - theirs[:, :1])[:, 1:] / (mine - mine[:, :1])[:, 1:]
    np.testing.assert_allclose(ratio, ratio[0, 0], rtol=1e-6)


@pytest.mark.parametrize("model", MODELS)
def test_the_total_is_a_column_that_holds_it_in_every_judgement(files, model):
    """Folds, test rows and every k, also where rare features are left out."""
    letters = list("abcdef")
    rows = files.assign(sum=files[letters].sum(axis=1), row=np.arange(len(files)))
    rows.to_csv("rows.csv", index=False)  # a group each: the same rows are held out
    least = int(files[letters].sum().sort_values().iloc[2])
    rare = [c for c in letters if files[c].sum() < least]
    how = ("rows.csv", "--numbers", "--model", model, "--ignore", "depth", "--groups", "row")
    total, column = ("--exposure", "total", "--ignore", "sum"), ("--exposure", "sum")
    ignored = [each for c in rare for each in ("--ignore", c)]
    judged = [
        json.loads(run("cv", *how, *exposure, "--ks", "1-4", "--alphas", "0,1", "--json"))["points"]
        for exposure in (
            (*total, "--min-count", least),
            (*column, "--min-count", least),
            (*column, *ignored),
        )
    ]
    assert judged[0] == judged[1] == judged[2]
    tested = [
        json.loads(run("select", *how, *exposure, "-k", 2, "--json"))
        for exposure in ((*total, "--min-count", least), (*column, *ignored))
    ]
    assert tested[0]["evaluation"] == tested[1]["evaluation"]
    of_k = [
        {p["k"]: p["accuracy"] for p in each["path"]["points"] if p["accuracy"] is not None}
        for each in tested
    ]
    assert 2 in of_k[0]
    assert of_k[0].items() <= of_k[1].items()


@both
@pytest.mark.parametrize("exposure", ["total", 2])
def test_rows_counted_anywhere_train_and_are_answered(files, make, exposure):
    X, y, depth, _ = data(19)
    Z = beside(X, depth)
    np.savez("m.npz", X=Z, y=y.astype(str))
    statistic = "counts" if make is SparsePoissonNB else "moments"
    features = ColumnFeatures(7, statistic=statistic, exposure=exposure)
    record = count_files("m.npz", features, Layout(label="y"))
    save_record(record, "record.npz")
    model = make.from_statistics(load_record("record.npz").in_units(), k=3, exposure=exposure)
    np.testing.assert_allclose(
        model.scores_, make(k=3, exposure=exposure).fit(Z, y).scores_, rtol=1e-9
    )
    support = model.get_support(indices=True)
    answerer = Answerer(model.rule_, tuple(model.classes_), features, None, support)
    assert answerer.answers(Z).tolist() == model.predict(Z).tolist()


def test_texts_counted_anywhere_train_and_are_answered(files):
    texts = [json.loads(line)["text"] for line in Path("texts.jsonl").read_text().splitlines()]
    features = TextFeatures(exposure="total")
    record = count_files("texts.jsonl", features)
    model = SparsePoissonNB.from_statistics(record.in_units(), k=3, exposure="total")
    X = files[list("abcdef")].to_numpy()
    support = model.get_support(indices=True)
    answerer = Answerer(
        model.rule_, tuple(model.classes_), features, record.names.take(support), support
    )
    assert answerer.answers(texts).tolist() == model.predict(X).tolist()
    with pytest.raises(ValueError, match="neither weighted nor normalised"):
        TextFeatures(exposure="total", weights="log")
    with pytest.raises(ValueError, match="`exposure` of texts must be 'total' or None"):
        TextFeatures(exposure=3)


@pytest.mark.filterwarnings("ignore")  # of processes that end while the cluster closes
def test_dask_is_the_same_to_the_byte(files):
    pytest.importorskip("dask")
    for model in MODELS:
        how = ("select", "rows.csv", "--numbers", "--model", model, "--exposure", "total", "-k", 3)
        run(*how, "--out", "here", "-q")
        run(*how, "--engine", "dask", "--out", "there", "-q")
        with open("here/model.npz", "rb") as here, open("there/model.npz", "rb") as there:
            assert here.read() == there.read()


def test_command_refuses(files):
    bad = files.copy()
    bad.loc[4, ["depth", "a"]] = [0, 5]
    bad.to_csv("bad.csv", index=False)
    numbers = ("select", "rows.csv", "--numbers", "-k", 2)
    counts = (*numbers, "--model", "poisson")
    texts = ("select", "texts.jsonl", "-k", 2, "--model", "poisson", "--exposure")
    for arguments, message in [
        ((*numbers, "--exposure", "depth"), "has no effect on --model multinomial"),
        ((*counts, "--exposure", "dept"), "did you mean `depth`?"),
        ((*counts, "--exposure", "depth", "--refit", "logistic"), "looks at the entries"),
        (
            (*counts, "--exposure", "depth", "--require", "depth"),
            "`--require` must not have `depth`, which is the `--exposure`",
        ),
        ((*texts, "depth"), "must be total for texts"),
        ((*texts, "total", "--weights", "log"), "neither weighted nor normalised"),
        ((*texts, "total", "--norm", "l2"), "neither weighted nor normalised"),
        (
            (
                "select",
                "bad.csv",
                "--numbers",
                "-k",
                2,
                "--model",
                "poisson",
                "--exposure",
                "depth",
            ),
            "bad.csv: line 6: the exposure must be > 0",
        ),
    ]:
        assert message in run(*arguments, status=2)
