"""A logistic regression on the chosen features: scikit-learn's, and the same in every way."""

import csv
import json
import subprocess
import sys

import numpy as np
import pytest
import scipy.sparse as sp
from click.testing import CliRunner
from sklearn.linear_model import LogisticRegression
from sklearn.metrics import log_loss
from sklearn.model_selection import GridSearchCV

from naively import (
    SparseBernoulliNB,
    SparseGaussianNB,
    SparseL1Centers,
    SparseL2Centers,
    SparseMultinomialNB,
    SparseNegativeBinomialNB,
    SparsePoissonNB,
    SparsityCV,
    error_path,
)
from naively.cli.commands import naively
from naively.jobs.model_file import load_model
from naively.models.rules import LinearRule
from naively.selection.refit import N_FOLDS, log_probabilities, logistic_rule
from naively.statistics.rows import LabelledRows


def counts(n=90, m=14, classes=3, seed=0):
    rng = np.random.default_rng(seed)
    y = np.arange(n) % classes
    return rng.poisson(0.5 + (np.arange(m) % classes == y[:, None])), np.array(list("abc"))[y]


def regression(X, y, C, weight=None):
    return LogisticRegression(C=C, max_iter=1000).fit(X, y, weight)


@pytest.mark.parametrize("classes", [2, 3])
@pytest.mark.parametrize(
    ("estimator", "seen"),
    [
        (SparseMultinomialNB, lambda X: X),
        (SparseBernoulliNB, lambda X: (X > 0).astype(int)),
        (SparsePoissonNB, lambda X: X),
        (SparseNegativeBinomialNB, lambda X: X),
    ],
)
@pytest.mark.parametrize("weighted", [False, True])
def test_coefficients_are_those_of_scikit_learn(estimator, seen, classes, weighted):
    X, y = counts(classes=classes)
    weight = np.random.default_rng(1).uniform(0, 2, len(y)) if weighted else None
    fitted = estimator(k=5, refit="logistic").fit(X, y, weight)
    plain = estimator(k=5).fit(X, y, weight)
    np.testing.assert_array_equal(fitted.support_, plain.support_)  # the model's own choice
    assert fitted.certificate_ == plain.certificate_
    expected = regression(seen(X)[:, fitted.support_], y, fitted.refitted_.C, weight)
    np.testing.assert_allclose(fitted.coef_[:, fitted.support_], expected.coef_, rtol=1e-9)
    np.testing.assert_allclose(fitted.intercept_, expected.intercept_, rtol=1e-9, atol=1e-9)
    np.testing.assert_allclose(
        fitted.predict_proba(X), expected.predict_proba(seen(X)[:, fitted.support_]), atol=1e-9
    )
    sparse = estimator(k=5, refit="logistic").fit(sp.csr_array(X), y, weight)
    np.testing.assert_allclose(sparse.coef_, fitted.coef_, atol=1e-6)


@pytest.mark.parametrize("estimator", [SparseGaussianNB, SparseL2Centers, SparseL1Centers])
def test_units_of_real_values_do_not_matter(estimator):
    rng = np.random.default_rng(0)
    X, y = counts(classes=2)
    X = X + 0.1 * rng.normal(size=X.shape)
    scale = 10.0 ** rng.integers(-4, 5, X.shape[1])
    fitted = estimator(k=14, refit="logistic").fit(X, y)
    other = estimator(k=14, refit="logistic").fit(7.0 + X * scale, y)
    np.testing.assert_allclose(other._scores(7.0 + X * scale), fitted._scores(X), atol=1e-6)
    Z = (X - X.mean(axis=0)) / X.std(axis=0)
    expected = regression(Z, y, fitted.refitted_.C)
    difference = np.diff(fitted._scores(X), axis=1).ravel()
    np.testing.assert_allclose(difference, expected.decision_function(Z), atol=1e-6)
    sparse = estimator(k=14, refit="logistic").fit(sp.csr_array(X), y)
    np.testing.assert_allclose(sparse._scores(X), fitted._scores(X), atol=0.05)  # not centered


def test_the_penalty_is_that_of_the_least_log_loss():
    X, y = counts(200, seed=3)
    rows = LabelledRows.of(X[:, :6], y)
    found = logistic_rule(rows, np.zeros(3), scaled=False)
    fold = np.empty(len(y), dtype=int)
    fold[np.argsort(rows.codes, kind="stable")] = np.arange(len(y)) % N_FOLDS
    losses = []
    grid = 10.0 ** np.arange(-3, 3, 0.5)
    for C in grid:
        loss = 0.0
        for t in range(N_FOLDS):
            model = regression(X[fold != t, :6], y[fold != t], C)
            proba = model.predict_proba(X[fold == t, :6])
            loss += log_loss(y[fold == t], proba, normalize=False)
        losses.append(loss / len(y))
    assert found.C == pytest.approx(grid[int(np.argmin(losses))])
    assert found.log_loss == pytest.approx(min(losses), abs=1e-3)


def test_what_is_all_but_impossible_has_a_loss_and_no_warning():
    X = np.array([[0.0, 2.0], [3.0, 0.0]] * 20)
    X[0, 0] = 1e6  # held out, it is of the other class by far more than exp(-745)
    found = logistic_rule(LabelledRows.of(X, ["a", "b"] * 20), np.zeros(2), scaled=False)
    assert np.isfinite(found.log_loss)
    model = LogisticRegression().fit(X[1:], ["b", "a"] * 19 + ["b"])
    odds = model.decision_function(X)
    expected = [[-np.logaddexp(0, d), -np.logaddexp(0, -d)] for d in odds]
    np.testing.assert_allclose(log_probabilities(model, X), expected, rtol=1e-12)


def test_rare_classes_and_rows_without_weight():
    X, y = counts(60)
    y = y.astype("<U4")
    y[:1] = "rare"
    fitted = SparseMultinomialNB(k=4, refit="logistic").fit(X, y)
    assert fitted.predict(X).shape == y.shape
    weight = (y != "rare").astype(float)  # a class without weight is never the answer
    fitted = SparseMultinomialNB(k=4, refit="logistic").fit(X, y, weight)
    without = SparseMultinomialNB(k=4, refit="logistic").fit(X[1:], y[1:])
    np.testing.assert_array_equal(fitted.predict(X), without.predict(X))
    assert (fitted.predict_proba(X)[:, fitted.classes_ == "rare"] == 0).all()
    with pytest.raises(ValueError, match="needs rows of two classes"):
        SparseMultinomialNB(k=4, refit="logistic").fit(X, ["a"] * 60)


def test_statistics_alone_do_not_do():
    X, y = counts()
    model = SparseMultinomialNB(k=3, refit="logistic")
    with pytest.raises(ValueError, match="`refit`='logistic' needs the rows themselves"):
        model.partial_fit(X, y, classes=["a", "b", "c"])
    statistics = SparseMultinomialNB().gather(X, y)
    with pytest.raises(ValueError, match="`refit`='logistic' needs the rows themselves"):
        SparseMultinomialNB.from_statistics(statistics, k=3, refit="logistic")
    with pytest.raises(ValueError, match="`refit` must be 'logistic' or None; got 'svm'"):
        SparseMultinomialNB(k=3, refit="svm").fit(X, y)
    with pytest.raises(ValueError, match="no part in the errors of a path"):
        error_path(model, X, y)


def test_k_is_chosen_by_the_folds_of_the_own_rule():
    X, y = counts(300)
    own = SparseMultinomialNB(k="auto").fit(X, y)
    fitted = SparseMultinomialNB(k="auto", refit="logistic").fit(X, y)
    np.testing.assert_array_equal(fitted.fold_errors_.errors, own.fold_errors_.errors)
    np.testing.assert_array_equal(fitted.support_, own.support_)


def test_a_search_refits_for_every_k():
    X, y = counts(120)
    model = SparseMultinomialNB(refit="logistic")
    found = SparsityCV(model, ks=[2, 6], cv=3).fit(X, y)
    expected = GridSearchCV(model, {"k": [2, 6]}, cv=3).fit(X, y)
    np.testing.assert_allclose(
        found.cv_results_["mean_test_score"], expected.cv_results_["mean_test_score"]
    )
    assert isinstance(found.best_estimator_.rule_, LinearRule)
    np.testing.assert_array_equal(found.predict(X), expected.predict(X))


# --- the command --------------------------------------------------------------------------------


def run(*arguments, status=0):
    result = CliRunner().invoke(naively, [str(each) for each in arguments])
    assert result.exit_code == status, result.output
    return result.output


@pytest.fixture
def folder(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    rng = np.random.default_rng(0)
    rows = []
    for i in range(400):
        words = [
            f"w{j}" for j in np.flatnonzero(rng.random(8) < 0.2 + 0.5 * (np.arange(8) % 2 == i % 2))
        ]
        rows.append((" ".join(["film", *words]), "pos" if i % 2 else "neg"))
    for name, part in (("all", rows), ("part-0", rows[:150]), ("part-1", rows[150:])):
        with open(f"{name}.csv", "w", newline="") as file:
            csv.writer(file).writerows([("text", "label"), *part])
    return tmp_path


@pytest.mark.parametrize("model", ["bernoulli", "multinomial", "poisson"])
def test_the_command_fits_what_the_estimator_fits(folder, model):
    shown = run("select", "all.csv", "-k", 4, "--model", model, "--train", "refit=logistic",
                "--test", 0, "--out", "r")  # fmt: skip
    assert "A logistic regression on the 4 features decides" in shown
    assert "chosen by the " + model in " ".join(shown.split())
    from sklearn.feature_extraction.text import CountVectorizer

    with open("all.csv") as file:
        rows = list(csv.DictReader(file))
    vectorizer = CountVectorizer(token_pattern=r"(?u)\b\w\w+\b")
    X, y = vectorizer.fit_transform([row["text"] for row in rows]), [row["label"] for row in rows]
    kind = {"bernoulli": SparseBernoulliNB, "multinomial": SparseMultinomialNB}
    fitted = kind.get(model, SparsePoissonNB)(k=4, refit="logistic").fit(X, y)
    file = load_model("r/model.npz")
    names = vectorizer.get_feature_names_out()[fitted.support_]
    np.testing.assert_array_equal(file.names, names)
    np.testing.assert_allclose(file.rule.weights, fitted.rule_.weights, atol=1e-9)
    run("predict", "r", "all.csv", "--probabilities", "--out", "answers.csv")
    with open("answers.csv") as table:
        answers = list(csv.DictReader(table))
    assert [row["label"] for row in answers] == fitted.predict(X).tolist()
    np.testing.assert_allclose(
        [float(row["p:pos"]) for row in answers], fitted.predict_proba(X)[:, 1], atol=1e-9
    )
    summary = json.loads((folder / "r/summary.json").read_text())
    assert summary["certificate"]["proven_optimal"]
    found = json.loads(run("explain", "r", "w1 w3 w0 film", "--json"))
    terms = sum(each["nats"] for each in found["contributions"])
    assert found["total"] == pytest.approx(found["start"] + terms)
    x = vectorizer.transform(["w1 w3 w0 film"])
    scores = fitted._scores(x)[0]
    assert found["total"] == pytest.approx(abs(scores[1] - scores[0]))


def test_streams_give_the_same(folder):
    options = ("-k", 4, "--train", "refit=logistic")
    run("select", "part-*.csv", *options, "--out", "files")
    run("select", "part-*.csv", *options, "--out", "threads", "--on", 2)
    first, second = (folder / out / "model.npz" for out in ("files", "threads"))
    assert first.read_bytes() == second.read_bytes()
    run("select", "all.csv", *options, "--test", 0, "--out", "one")
    run("select", "part-*.csv", *options, "--test", 0, "--out", "two")
    one, two = (load_model(out + "/model.npz").rule for out in ("one", "two"))
    np.testing.assert_allclose(two.weights, one.weights, rtol=1e-9)


def test_reports_say_which_rule_is_judged(folder):
    run("select", "all.csv", "-k", 4, "--train", "refit=logistic", "--out", "r")
    summary = json.loads((folder / "r/summary.json").read_text())
    assert summary["evaluation"]["predicted_error"] is None  # which is of the model's own rule
    assert summary["path"]["accuracy_of"].endswith("of the multinomial model's own rule")
    run("select", "all.csv", "-k", "auto", "--train", "refit=logistic", "--out", "r")
    summary = json.loads((folder / "r/summary.json").read_text())
    assert summary["path"]["accuracy_of"].endswith("of the multinomial model's own rule")
    assert "k was chosen by the folds of the multinomial model's own rule." in summary["notes"]


def test_a_table_of_real_values(folder):
    rng = np.random.default_rng(0)
    y = np.arange(90) % 3
    X = rng.normal(size=(90, 6)) + (np.arange(6) % 3 == y[:, None])
    np.savez("x.npz", X=X, y=np.array(list("abc"))[y], feature_names=[f"g{i}" for i in range(6)])
    for model, kind in (("gaussian", SparseGaussianNB), ("l2-centers", SparseL2Centers),
                        ("l1-centers", SparseL1Centers)):  # fmt: skip
        run("select", "x.npz", "-k", 3, "--model", model, "--train", "refit=logistic", "--test", 0,
            "--out", "r", "--force")  # fmt: skip
        fitted = kind(k=3, refit="logistic").fit(X, np.array(list("abc"))[y])
        np.testing.assert_allclose(
            load_model("r/model.npz").scores(X[:, fitted.support_]), fitted._scores(X), atol=1e-6
        )


def test_what_cannot_be_refitted_is_refused(folder):
    for model in ("hybrid", "categorical"):
        shown = run("select", "all.csv", "--model", model, "--train", "refit=logistic", status=2)
        assert f"`--train refit` has no effect on --model {model}" in shown


def test_scikit_learn_is_imported_for_a_refit_alone(folder):
    code = """
import sys
from click.testing import CliRunner
from naively.cli.commands import naively
def run(*more):
    arguments = ["select", "all.csv", "-k", "auto", "--out", "r", "--force", *more]
    assert CliRunner().invoke(naively, arguments).exit_code == 0
run("--choose", "redundancy=conditional")
assert "sklearn" not in sys.modules
run("--train", "refit=logistic")
assert "sklearn" in sys.modules
"""
    subprocess.run([sys.executable, "-c", code], check=True)


def test_no_feature_leaves_the_prior():
    X, y = np.arange(20).reshape(10, 2), np.repeat([0, 1], [3, 7])
    model = SparseMultinomialNB(k=0, refit="logistic").fit(X, y)
    np.testing.assert_allclose(model.predict_proba(X), [[0.3, 0.7]] * 10)
