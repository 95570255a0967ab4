"""`refit` of tables: scikit-learn's logistic regression on columns that pandas makes."""

import json
from pathlib import Path

import numpy as np
import pandas as pd
import pytest
import scipy.sparse as sp
from click.testing import CliRunner
from sklearn.feature_extraction.text import CountVectorizer
from sklearn.linear_model import LogisticRegression

from naively import SparseBernoulliNB, SparseGaussianNB, SparseMixedNB, SparsePoissonNB
from naively.cli.commands import naively
from naively.jobs.model_file import load_model

TOLD = {"visits": "poisson"}


def table(n=200, n_classes=2, share=0.1, seed=0):
    rng = np.random.default_rng(seed)
    c = np.arange(n) % n_classes
    frame = pd.DataFrame(
        {
            "age": 1900 + rng.normal(6.0 * c, 10.0),
            "town": rng.choice(["Oslo", "Bergen", "Voss"], n),
            "smokes": rng.random(n) < 0.3 + 0.2 * c,
            "visits": rng.poisson(1 + c).astype(float),
            "note": [" ".join(rng.choice(["ache", "fine", "rest"][i % 2 :], 2)) for i in c],
        }
    ).astype({"smokes": object})
    for name in frame.columns.drop("note"):
        frame[name] = frame[name].mask(rng.random(n) < share)
    return frame, np.array(["ant", "bee", "cat"])[c]


def design(frame, train, weight=None, text=False):
    """Columns as the regression sees them, in plain pandas: what is missing is 0."""
    w = np.ones(len(train)) if weight is None else weight

    def mean(column):
        seen = train[column].notna()
        return np.average(train[column][seen].astype(float), weights=w[seen])

    def spread(column):
        seen = train[column].notna()
        values = train[column][seen].astype(float)
        return np.sqrt(np.average((values - mean(column)) ** 2, weights=w[seen]))

    parts = [((frame.age - mean("age")) / spread("age")).rename("age")]
    parts += [(frame.town == town).rename(town) for town in sorted(train.town.dropna().unique())]
    parts += [frame[name].astype(float) - mean(name) for name in ("smokes", "visits")]
    X = pd.concat(parts, axis=1).astype(float).fillna(0.0)
    if text:
        words = CountVectorizer(binary=True).fit(train.note)
        X = np.column_stack([X, words.transform(frame.note).toarray()])
    return np.asarray(X)


@pytest.mark.parametrize("share", [0.0, 0.15])
@pytest.mark.parametrize("n_classes", [2, 3])
@pytest.mark.parametrize("text", [False, True])
@pytest.mark.parametrize("weighted", [False, True])
def test_it_is_scikit_learn_on_one_hot_and_standardised_columns(weighted, text, n_classes, share):
    frame, y = table(200, n_classes, share)
    weight = np.random.default_rng(1).uniform(0.5, 2.0, 200) if weighted else None
    if not text:
        frame = frame.drop(columns="note")
    model = SparseMixedNB(
        k="all", columns=TOLD, text=["note"] if text else None, refit="logistic"
    ).fit(frame, y, weight)
    regression = LogisticRegression(C=model.refitted_.C, max_iter=10_000, tol=1e-10)
    regression.fit(design(frame, frame, weight, text), y, weight)
    new, _ = table(80, n_classes, 0.3, seed=5)
    for rows in (frame, new[frame.columns]):
        np.testing.assert_allclose(
            model.predict_proba(rows),
            regression.predict_proba(design(rows, frame, weight, text)),
            atol=2e-3,  # scikit-learn stops at a tolerance of its own
        )


def test_what_is_missing_or_unknown_has_no_part_in_the_score():
    frame, y = table()
    model = SparseMixedNB(k="all", columns=TOLD, text=["note"], refit="logistic").fit(frame, y)
    bare = pd.DataFrame({name: [None] for name in frame}).assign(note="ache fine")
    known = bare.assign(age=1910.0)
    strange = known.assign(town="Paris")
    np.testing.assert_array_equal(model.predict_proba(known), model.predict_proba(strange))
    alone = SparseMixedNB(k=4, columns=TOLD, refit="logistic").fit(frame.drop(columns="note"), y)
    nothing = pd.DataFrame({name: [None] for name in frame.columns.drop("note")})
    start = alone.rule_.log_prior - np.logaddexp.reduce(alone.rule_.log_prior)
    np.testing.assert_allclose(alone.predict_log_proba(nothing)[0], start, atol=1e-12)


@pytest.mark.parametrize(
    ("kind", "single"),
    [
        ("gaussian", SparseGaussianNB),
        ("bernoulli", SparseBernoulliNB),
        ("poisson", SparsePoissonNB),
    ],
)
def test_columns_of_one_kind_are_its_refit(kind, single):
    rng = np.random.default_rng(0)
    y = np.arange(120) % 2
    X = rng.poisson(1.0 + (np.arange(5) < 2) * y[:, None]).astype(float)
    a = SparseMixedNB(k=3, columns=[kind] * 5, refit="logistic").fit(X, y)
    b = single(k=3, refit="logistic").fit(X, y)
    np.testing.assert_array_equal(a.support_, b.support_)
    assert a.refitted_.C == b.refitted_.C
    np.testing.assert_allclose(a.predict_proba(X), b.predict_proba(X), atol=1e-3)
    c = SparseMixedNB(k=3, columns=[kind] * 5, refit="logistic").fit(sp.csr_array(X), y)
    np.testing.assert_allclose(a.predict_proba(X), c.predict_proba(sp.csr_array(X)), atol=1e-3)


def test_it_is_certified_calibrated_and_refused_where_it_cannot_be():
    frame, y = table()
    plain = SparseMixedNB(k=3, columns=TOLD, text=["note"]).fit(frame, y)
    model = SparseMixedNB(
        k=3, columns=TOLD, text=["note"], refit="logistic", calibration="cross-fitted"
    ).fit(frame, y)
    np.testing.assert_array_equal(model.support_, plain.support_)
    assert model.certificate_ == plain.certificate_
    assert model.temperature_ > 0
    assert SparseMixedNB(k=0, refit="logistic").fit(frame, y).refitted_ is None
    with pytest.raises(ValueError, match="needs the rows themselves"):
        SparseMixedNB.from_statistics(
            SparseMixedNB(k=1).fit(frame, y).statistics_, k=2, refit="logistic"
        )
    with pytest.raises(ValueError, match="needs rows of two classes"):
        SparseMixedNB(k=2, refit="logistic").fit(frame, y, (y == "ant").astype(float))


def test_the_command_does_it(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    frame, y = table()
    frame.assign(label=y).astype({"smokes": "boolean"}).to_parquet("t.parquet", index=False)
    line = "select t.parquet --model mixed --read kind=visits=poisson --text note -k 4"
    line += " --train refit=logistic"
    result = CliRunner().invoke(naively, [*line.split(), "--test", "0", "-q"])
    assert result.exit_code == 0, result.output
    assert "A logistic regression on the 4 features decides" in " ".join(result.output.split())
    model = SparseMixedNB(k=4, columns=TOLD, text=["note"], refit="logistic").fit(frame, y)
    file = load_model("result/model.npz")
    assert list(file.names) == model.get_feature_names_out().tolist()
    X = model.transform(frame)
    np.testing.assert_allclose(file.scores(X), model.rule_.scores(X), atol=1e-6)
    assert json.loads(Path("result/summary.json").read_text())["certificate"]["relative_gap"] == 0
