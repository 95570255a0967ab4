"""`naively select --model hybrid`: columns of text as regions, from file to file."""

import csv
import io
import json

import numpy as np
import pandas as pd
import pytest
from click.testing import CliRunner

from naively import HybridNB, SparseMultinomialNB, WordCounts
from naively.cli.commands import naively
from naively.jobs.model_file import load_model

SUBJECTS = {"sale": "cheap offer discount win", "work": "meeting agenda report minutes"}
TALK = "hello please see this message today about the thing we said"


def posts(n=120):
    rng = np.random.default_rng(0)
    rows = []
    for i in range(n):
        label = "sale" if i % 2 else "work"
        other = "work" if label == "sale" else "sale"
        said = [label if rng.random() < share else other for share in (0.9, 0.8)]
        subject = rng.choice(SUBJECTS[said[0]].split()) if rng.random() < 0.8 else ""
        body = [*rng.choice(TALK.split(), rng.integers(5, 40))]
        body.append(rng.choice(SUBJECTS[said[1]].split()))
        rows.append((subject, " ".join(body), label, "train" if i < 90 else "test"))
    return pd.DataFrame(rows, columns=["subject", "body", "group", "split"])


@pytest.fixture
def folder(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    posts().to_parquet("posts.parquet")
    return tmp_path


def run(*arguments, status=0):
    result = CliRunner().invoke(naively, [str(each) for each in arguments])
    if result.exception is not None and not isinstance(result.exception, SystemExit):
        raise result.exception
    assert result.exit_code == status, result.output
    return result


SELECT = ["select", "posts.parquet", "--text", "subject", "--text", "body", "--label", "group"]


@pytest.mark.parametrize(
    ("k", "weights"),
    [(8, ["--words", "weights=counts"]), ("all", ["--words", "weights=counts"]), (8, [])],
)
def test_the_command_is_the_library(folder, k, weights):
    arguments = ["--model", "hybrid", "-k", k, "--read", "split=split", "--json", "-q"]
    summary = json.loads(run(*SELECT, *arguments, *weights).stdout)
    table = posts()
    train, test = (table[table["split"] == part] for part in ("train", "test"))
    vectorizer = WordCounts(["subject", "body"], regions=True)
    vectorizer.fit(train)

    def rows(of):
        X = vectorizer.transform(of)
        return X if weights else (X > 0).astype(np.int64)  # by default a word is there or not

    model = HybridNB(2, estimator=SparseMultinomialNB(k=k)).fit(rows(train), train["group"])
    accuracy = model.score(rows(test), test["group"])
    assert summary["evaluation"]["accuracy"] == pytest.approx(accuracy)
    stored = load_model("result/model.npz")
    np.testing.assert_allclose(stored.rule.theta, model.theta_, rtol=1e-9)
    words = np.array(list(vectorizer.vocabulary_))
    assert list(stored.names) == list(words[model.estimator_.support_])
    assert any("subject" in note and "body" in note for note in summary["notes"])

    answers = run("predict", "result/model.npz", "posts.parquet", "--probabilities", "-q").stdout
    answered = list(csv.DictReader(io.StringIO(answers)))
    proba = model.predict_proba(rows(table))
    assert [row["label"] for row in answered] == model.classes_[proba.argmax(axis=1)].tolist()
    np.testing.assert_allclose([float(row["p:work"]) for row in answered], proba[:, 1], rtol=1e-9)


@pytest.mark.parametrize("columns", [["body"], ["subject", "body", "body"]])
def test_as_many_columns_of_text_as_regions(folder, columns):
    run(*SELECT, "--model", "hybrid", "-k", "8", "--test", "0", "-q")
    names = [part for column in columns for part in ("--text", column)]
    answer = run("predict", "result/model.npz", "posts.parquet", *names, "-q", status=2)
    assert "weighs 2 columns of text (subject, body)" in answer.stderr
    assert "row,label" not in answer.stdout


def test_held_out_rows_and_the_report(folder):
    shown = run(*SELECT, "--model", "hybrid", "-k", "8", "--test", "0.3").output
    assert "Weights of the regions" in shown
    assert "Weights of the regions" in (folder / "result" / "report.html").read_text()


def test_numbers_are_one_region(folder):
    rng = np.random.default_rng(1)
    y = rng.integers(0, 2, 80)
    X = rng.poisson(1 + np.outer(y, [2, 0, 0, 1]))
    np.savez("counts.npz", X=X, y=y)
    run("select", "counts.npz", "--model", "hybrid", "-k", "3", "--test", "0", "-q")
    stored = load_model("result/model.npz")
    model = HybridNB(estimator=SparseMultinomialNB(k=3)).fit(X, y)
    np.testing.assert_allclose(stored.rule.theta, model.theta_, rtol=1e-9)
    answers = run("predict", "result/model.npz", "counts.npz", "-q").stdout
    labels = [row["label"] for row in csv.DictReader(io.StringIO(answers))]
    assert labels == model.predict(X).astype(str).tolist()


def test_smoothing_is_needed(folder):
    result = run(*SELECT, "--model", "hybrid", "--train", "alpha=0", "-k", "8", "-q", status=2)
    assert "`--train alpha` must be > 0" in result.stderr


def test_few_rows_say_that_they_separate(folder):
    posts(12).assign(body="a b").to_parquet("few.parquet")
    arguments = ["--text", "subject", "--text", "body", "--label", "group", "--model", "hybrid"]
    out = run("select", "few.parquet", *arguments, "-k", "all", "--test", "0", "--json", "-q")
    notes = json.loads(out.stdout)["notes"]
    finite = np.isfinite(load_model("result/model.npz").rule.theta).all()
    assert finite
    assert any("Weights of the regions" in note for note in notes)


@pytest.mark.parametrize(
    ("asked", "parameters"),
    [
        ("penalty=0.5", {"penalty": 0.5}),
        ("normalize=false", {"normalize": False}),
        ("fit-intercept=false", {"fit_intercept": False}),
        ("leave-one-out=false", {"leave_one_out": False}),
    ],
)
def test_weights_are_learned_as_the_estimator_is_told(folder, asked, parameters):
    train = ["--model", "hybrid", "-k", "all", "--test", 0, "-q", "--train", asked]
    run(*SELECT, *train, "--words", "weights=counts")
    vectorizer, table = WordCounts(["subject", "body"], regions=True), posts()
    model = HybridNB(2, estimator=SparseMultinomialNB(k="all"), **parameters)
    model.fit(vectorizer.fit_transform(table), table["group"])
    plain = HybridNB(2, estimator=SparseMultinomialNB(k="all"))
    plain.fit(vectorizer.transform(table), table["group"])
    theta = load_model("result/model.npz").rule.theta
    np.testing.assert_allclose(theta, model.theta_, rtol=1e-9)
    assert not np.allclose(theta, plain.theta_, rtol=1e-6)


def test_k_is_chosen_beside_what_is_asked_of_the_weights(folder):
    asked = ["--model", "hybrid", "--test", 0, "-q", "--train", "normalize=false"]
    run(*SELECT, *asked, "-k", "auto")
    chosen = load_model("result/model.npz").names
    run(*SELECT, "--test", 0, "-q", "-k", "auto", "--text", "subject", "--text", "body", "--force")
    assert chosen == load_model("result/model.npz").names


@pytest.mark.parametrize("value", ["-1", "nan", "inf", "some"])
def test_a_penalty_is_auto_or_a_number(folder, value):
    asked = ["--model", "hybrid", "--train", f"penalty={value}"]
    assert "is neither auto nor a number >= 0" in run(*SELECT, *asked, status=2).stderr
