"""Temperatures fitted on folds: the maximum of the likelihood, and the same answers everywhere."""

import csv
import json

import numpy as np
import pytest
from click.testing import CliRunner
from scipy.optimize import minimize_scalar
from scipy.special import log_softmax

from naively import (
    SparseBernoulliNB,
    SparseCategoricalNB,
    SparseGaussianNB,
    SparseL2Centers,
    SparseMultinomialNB,
    SparsityCV,
    error_path,
)
from naively.cli.commands import naively
from naively.jobs.model_file import load_model
from naively.judging.calibration import GRID, positions, slopes, temperature_of
from naively.judging.folds import divided, stratified_folds


def rows(n=300, m=12, classes=3, seed=0):
    """Counts in which every column stands twice, so that naive Bayes is too sure."""
    rng = np.random.default_rng(seed)
    y = rng.integers(0, classes, n)
    X = rng.poisson(0.6 + 0.5 * (np.arange(m) % classes == y[:, None]))
    return np.hstack([X, X]), y


@pytest.mark.parametrize("classes", [2, 4])
@pytest.mark.parametrize("scale", [0.1, 1.0, 8.0])
def test_the_temperature_is_the_maximum_of_the_likelihood(classes, scale):
    rng = np.random.default_rng(1)
    scores = scale * rng.normal(size=(500, classes))
    y = np.array([rng.choice(classes, p=np.exp(s)) for s in log_softmax(scores / scale, axis=1)])
    weight = rng.uniform(0, 2, 500)

    def loss(log_beta):
        return -(weight * log_softmax(np.exp(log_beta) * scores, axis=1)[np.arange(500), y]).sum()

    best = minimize_scalar(loss, bounds=(-7, 2), method="bounded", options={"xatol": 1e-9})
    slope = slopes(scores, y, weight)
    beta, step = GRID[60], 1e-5
    by_difference = (loss(np.log(beta)) - loss(np.log(beta) + step)) / step / beta
    assert slope[60] == pytest.approx(by_difference, rel=1e-2)
    expected = min(max(np.exp(-best.x), 1 / GRID[-1]), 1 / GRID[0])
    assert temperature_of(slope) == pytest.approx(expected, rel=1e-3)


def test_rows_that_no_temperature_helps_have_no_part():
    scores = np.array([[0.0, -np.inf, 1.0], [2.0, 0.0, 1.0], [0.0, 1.0, 0.5]])
    all_rows = slopes(scores, np.array([1, 0, 3]))  # ruled out, and a label that is not known
    np.testing.assert_allclose(all_rows, slopes(scores[1:2], np.array([0])))
    assert np.isfinite(slopes(scores, np.array([0, 0, 1]))).all()
    assert positions(np.array(["b", "c", "z"]), np.array(["a", "b"])).tolist() == [1, 2, 2]


ESTIMATORS = [
    SparseMultinomialNB(k=8),
    SparseMultinomialNB(k=8, alpha=0.0),
    SparseBernoulliNB(k=8, redundancy="conditional"),
    SparseCategoricalNB(k=8, min_categories=20),
    SparseGaussianNB(k=8),
    SparseL2Centers(k=8, scale="std"),
    SparseMultinomialNB(k=8, refit="logistic"),
]


@pytest.mark.parametrize("estimator", ESTIMATORS)
@pytest.mark.parametrize("weighted", [False, True])
def test_scores_are_divided_by_what_folds_say(estimator, weighted):
    X, y = rows()
    weight = np.random.default_rng(2).uniform(0.5, 2, len(y)) if weighted else None
    plain = type(estimator)(**estimator.get_params()).fit(X, y, weight)
    assert plain.temperature_ == 1.0
    fitted = type(estimator)(**estimator.get_params()).set_params(calibration="cross-fitted")
    fitted.fit(X, y, weight)
    total = np.zeros(len(GRID))
    fold = stratified_folds(y, 5, np.random.RandomState(0))
    for inside, outside in divided(fold, 5):
        own, other = (None, None) if weight is None else (weight[inside], weight[outside])
        part = type(estimator)(**estimator.get_params()).fit(X[inside], y[inside], own)
        total += slopes(part._scores(X[outside]), y[outside], other)
    assert fitted.temperature_ == pytest.approx(temperature_of(total), rel=1e-6)
    np.testing.assert_array_equal(fitted.predict(X), plain.predict(X))
    given = np.exp(plain._scores(X) / fitted.temperature_)
    given /= given.sum(axis=1, keepdims=True)
    decided = np.isfinite(plain._scores(X)).any(axis=1)
    np.testing.assert_allclose(fitted.predict_proba(X)[decided], given[decided], atol=1e-9)
    assert fitted.certificate_ == plain.certificate_


def test_copies_double_the_temperature():
    """Every column twice: the scores of a model without copies are half as large."""
    X, y = rows(2000, 6, 2)
    once = SparseBernoulliNB(k=6, calibration="cross-fitted", fit_prior=False).fit(X[:, :6], y)
    twice = SparseBernoulliNB(k=12, calibration="cross-fitted", fit_prior=False).fit(X, y)
    assert once.temperature_ == pytest.approx(1, abs=0.25)
    assert twice.temperature_ == pytest.approx(2 * once.temperature_, rel=1e-3)


def test_what_has_no_rows_or_no_effect_is_refused():
    X, y = rows()
    model = SparseMultinomialNB(k=3, calibration="cross-fitted")
    with pytest.raises(ValueError, match="`calibration`='cross-fitted' needs the rows"):
        model.partial_fit(X, y, classes=[0, 1, 2])
    statistics = SparseMultinomialNB().gather(X, y)
    with pytest.raises(ValueError, match="`calibration`='cross-fitted' needs the rows"):
        SparseMultinomialNB.from_statistics(statistics, k=3, calibration="cross-fitted")
    with pytest.raises(ValueError, match="`calibration` must be 'cross-fitted' or None"):
        SparseMultinomialNB(k=3, calibration="isotonic").fit(X, y)
    with pytest.raises(ValueError, match="no part in the errors of a path"):
        error_path(model, X, y)


def test_a_search_scores_what_is_calibrated():
    X, y = rows()
    model = SparseMultinomialNB(calibration="cross-fitted")
    found = SparsityCV(model, ks=[3, 8], scoring="neg_log_loss", cv=3).fit(X, y)
    plain = SparsityCV(SparseMultinomialNB(), ks=[3, 8], scoring="neg_log_loss", cv=3).fit(X, y)
    assert found.best_score_ > plain.best_score_
    assert found.best_estimator_.temperature_ > 1


# --- the command --------------------------------------------------------------------------------


def run(*arguments, status=0):
    result = CliRunner().invoke(naively, [str(each) for each in arguments])
    assert result.exit_code == status, result.output
    return result.output


@pytest.fixture
def folder(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    rng = np.random.default_rng(0)
    texts = []
    for i in range(400):
        share = 0.35 + 0.3 * (np.arange(8) % 2 == i % 2)
        words = [f"w{j} copy{j}" for j in np.flatnonzero(rng.random(8) < share)]
        texts.append((" ".join(["film", *words]), "pos" if i % 2 else "neg"))
    for name, part in (("all", texts), ("part-0", texts[:150]), ("part-1", texts[150:])):
        with open(f"{name}.csv", "w", newline="") as file:
            csv.writer(file).writerows([("text", "label"), *part])
    return tmp_path


@pytest.mark.parametrize("model", ["bernoulli", "multinomial"])
def test_the_command_keeps_answers_and_mends_probabilities(folder, model):
    run("select", "all.csv", "-k", 16, "--model", model, "--out", "plain")
    shown = run(
        "select",
        "all.csv",
        "-k",
        16,
        "--model",
        model,
        "--train",
        "calibration=cross-fitted",
        "--out",
        "mended",
    )
    heat = float(shown.split("Scores were divided by ")[1].split(",")[0])
    assert heat > 1.1
    plain, mended = (load_model(f"{out}/model.npz") for out in ("plain", "mended"))
    np.testing.assert_allclose(mended.rule.weights * heat, plain.rule.weights, rtol=5e-3)
    first, second = (
        json.loads((folder / out / "summary.json").read_text())["evaluation"]
        for out in ("plain", "mended")
    )
    assert first["accuracy"] == second["accuracy"]
    assert first["predicted_error"] == pytest.approx(second["predicted_error"])
    run("predict", "mended", "all.csv", "--out", "b.csv")
    run("predict", "plain", "all.csv", "--out", "a.csv")
    assert (folder / "a.csv").read_bytes() == (folder / "b.csv").read_bytes()


def test_streams_give_the_same(folder):
    options = ("--train", "calibration=cross-fitted", "-k", "auto", "--train", "refit=logistic")
    run("select", "part-*.csv", *options, "--out", "files")
    run("select", "part-*.csv", *options, "--out", "threads", "--on", 2)
    first, second = (load_model(f"{out}/model.npz").rule for out in ("files", "threads"))
    np.testing.assert_allclose(second.weights, first.weights, rtol=1e-9)


def test_distances_have_no_probabilities(folder):
    shown = run("select", "all.csv", "--model", "l1-centers", "--train", "calibration=cross-fitted",
                status=2)  # fmt: skip
    assert "`--train calibration` has no effect on --model l1-centers" in shown
