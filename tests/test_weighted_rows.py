"""Weights of the rows of files: `sample_weight` of the estimators, and rows that are repeated."""

import csv
import json
from pathlib import Path

import numpy as np
import pandas as pd
import pytest
from click.testing import CliRunner
from sklearn.feature_extraction.text import CountVectorizer, TfidfTransformer

import naively
from naively.cli.commands import naively as command
from naively.text.counter import TextCounter
from naively.text.features import ColumnFeatures, TextFeatures

WORDS = [f"w{i}" for i in range(12)]
QUARTERS = "quarters"  # weights whose sums are exact in any order
TENTHS = "tenths"


def run(*arguments, status=0):
    result = CliRunner().invoke(command, [str(each) for each in arguments])
    if result.exception is not None and not isinstance(result.exception, SystemExit):
        raise result.exception
    assert result.exit_code == status, result.output
    return result.stderr if status else result.stdout


@pytest.fixture
def rows(tmp_path, monkeypatch):
    """Texts and numbers of the same rows, whose weights turn the order of the features."""
    monkeypatch.chdir(tmp_path)
    rng = np.random.default_rng(5)
    n = 90
    label = np.array(["a", "b", "c"])[np.arange(n) % 3]
    X = rng.poisson(0.2 + (np.arange(12) % 3 == np.arange(n)[:, None] % 3), (n, 12))
    frame = pd.DataFrame(X, columns=WORDS)
    frame["label"] = label
    frame[QUARTERS] = rng.integers(0, 9, n) / 4
    frame[TENTHS] = rng.integers(0, 30, n) / 10
    frame.loc[3, QUARTERS] = frame.loc[4, TENTHS] = 0
    frame.to_csv("numbers.csv", index=False)
    texts = [" ".join(np.repeat(WORDS, row)) for row in X]
    columns = frame[["label", QUARTERS, TENTHS]]
    columns.assign(text=texts).to_csv("texts.csv", index=False)
    return frame, texts


def features_of(*arguments):
    run("select", *arguments, "-q", "--force")
    return Path("result/features.csv").read_bytes()


def table():
    with open("result/features.csv", newline="") as file:
        return list(csv.DictReader(file))


ESTIMATORS = {
    "multinomial": naively.SparseMultinomialNB,
    "bernoulli": naively.SparseBernoulliNB,
    "poisson": naively.SparsePoissonNB,
    "negative-binomial": naively.SparseNegativeBinomialNB,
    "categorical": naively.SparseCategoricalNB,
    "gaussian": naively.SparseGaussianNB,
    "l1-centers": naively.SparseL1Centers,
    "l2-centers": naively.SparseL2Centers,
}


def agree(estimator, names):
    """Assert that the result holds the features and gains of an estimator; return its model."""
    chosen = estimator.get_support(indices=True)
    if isinstance(estimator, naively.SparseMultinomialNB):  # whose gains depend on the others
        assert {row["feature"] for row in table()} == {names[j] for j in chosen}
        return naively.load("result/model.npz")
    order = chosen[np.argsort(-estimator.scores_[chosen], kind="stable")]
    assert [row["feature"] for row in table()] == [names[j] for j in order]
    gains = [float(row["gain"]) for row in table()]
    np.testing.assert_allclose(gains, estimator.scores_[order], rtol=1e-6)  # of 7 digits
    return naively.load("result/model.npz")


@pytest.mark.parametrize("kind", ESTIMATORS)
@pytest.mark.parametrize("weight", [QUARTERS, TENTHS])
def test_numbers_weigh_as_sample_weight(rows, kind, weight):
    frame, _ = rows
    features_of("numbers.csv", "--read", "numbers", "--read", f"weight={weight}", "--model", kind,
                "-k", 4, "--test", 0, "--read", f"ignore={[QUARTERS, TENTHS][weight == QUARTERS]}"
                )  # fmt: skip
    X = frame[WORDS].to_numpy()
    estimator = ESTIMATORS[kind](k=4).fit(X, frame["label"], sample_weight=frame[weight])
    model = agree(estimator, WORDS)
    scores = model.decision_function(frame[WORDS])
    np.testing.assert_allclose(scores, estimator.decision_function(X), rtol=1e-9, atol=1e-9)


@pytest.mark.parametrize("weights", ["presence", "counts", "log", "tfidf"])
def test_words_weigh_as_sample_weight(rows, weights):
    frame, texts = rows
    features_of("texts.csv", "--read", f"weight={TENTHS}", "--words", f"weights={weights}",
                "-k", 5, "--test", 0)  # fmt: skip
    kept = (frame[TENTHS] > 0).to_numpy()
    X = CountVectorizer(binary=weights == "presence").fit(WORDS).transform(texts)
    if weights == "log":
        X = TfidfTransformer(norm=None, use_idf=False, sublinear_tf=True).fit_transform(X)
    if weights == "tfidf":  # whose frequencies are those of rows
        X = TfidfTransformer(norm=None).fit(X[kept]).transform(X)
    estimator = naively.SparseMultinomialNB(k=5)
    estimator.fit(X[kept], frame["label"][kept], sample_weight=frame[TENTHS][kept])
    found = agree(estimator, sorted(WORDS)).decision_function(texts)
    np.testing.assert_allclose(found, estimator.decision_function(X), rtol=1e-9, atol=1e-9)


@pytest.mark.parametrize("kind", [*ESTIMATORS, "hybrid", "mixed"])
def test_whole_weights_repeat_rows(rows, kind):
    frame, _ = rows
    times = frame.index % 4
    of_text = kind == "hybrid"
    source = pd.read_csv("texts.csv" if of_text else "numbers.csv").drop(columns=[QUARTERS, TENTHS])
    source.assign(times=times).to_csv("weighted.csv", index=False)
    source.loc[source.index.repeat(times)].to_csv("repeated.csv", index=False)
    asked = ["--model", kind, "-k", 4, "--test", 0]
    asked += [] if of_text or kind == "mixed" else ["--read", "numbers"]
    features_of("repeated.csv", *asked)
    repeated = table()
    features_of("weighted.csv", "--read", "weight=times", *asked)
    assert [row["feature"] for row in table()] == [row["feature"] for row in repeated]
    for one, other in zip(table(), repeated, strict=True):
        assert float(one["gain"]) == pytest.approx(float(other["gain"]), rel=1e-9)


@pytest.mark.parametrize("source", ["texts.csv", "numbers.csv"])
def test_weights_are_the_same_wherever_rows_are_counted(rows, source):
    asked = ["-k", 4, "--read", f"weight={QUARTERS}", "--test", 0]
    asked += ["--read", "numbers", "--read", f"ignore={TENTHS}"] * (source == "numbers.csv")
    wanted = features_of(source, *asked)
    frame = pd.read_csv(source)
    for i in range(3):
        frame[i::3].to_csv(f"part-{i}.csv", index=False)
    assert features_of("part-?.csv", *asked) == wanted
    assert features_of("part-?.csv", *asked, "--on", 2) == wanted
    assert features_of(source, *asked, "--checkpoint", "kept") == wanted
    reading = asked[2:4] + asked[6:]
    run("count", "part-?.csv", *reading, "-o", "records", "-q")
    assert features_of("records", "-k", 4) == wanted
    in_python = naively.select(
        frame, label="label", k=4, test=0,
        read={"weight": QUARTERS} | ({"ignore": TENTHS} if source == "numbers.csv" else {}),
    )  # fmt: skip
    in_python.save("python")
    assert Path("python/features.csv").read_bytes() == wanted


def test_records_of_rows_that_weigh_differently_are_not_added(rows):
    run("count", "texts.csv", "-o", "one.npz", "-q")
    run("count", "texts.csv", "--read", f"weight={TENTHS}", "-o", "two.npz", "-q")
    assert "row_weight" in run("count", "one.npz", "two.npz", "-o", "all.npz", status=2)


@pytest.mark.parametrize("format", ["npz", "h5ad", "parquet", "jsonl", "xlsx"])
def test_every_format_with_columns_has_weights(rows, format):
    frame, _ = rows
    asked = ["-k", 4, "--read", f"weight={QUARTERS}", "--test", 0]
    wanted = features_of("numbers.csv", *asked, "--read=numbers", f"--read=ignore={TENTHS}")
    file, own = f"rows.{format}", ["--read=numbers", f"--read=ignore={TENTHS}"]
    if format == "npz":
        beside = {QUARTERS: frame[QUARTERS], "y": frame["label"].to_numpy(str)}
        np.savez(file, X=frame[WORDS].to_numpy(), feature_names=WORDS, **beside)
        own = []
    elif format == "h5ad":
        anndata = pytest.importorskip("anndata")
        obs = frame[["label", QUARTERS]].set_axis([f"c{i}" for i in frame.index])
        var = pd.DataFrame(index=WORDS)
        anndata.AnnData(frame[WORDS].to_numpy(float), obs=obs, var=var).write_h5ad(file)
        own = []
    elif format == "jsonl":
        frame.to_json(file, orient="records", lines=True)
    else:
        getattr(frame, {"parquet": "to_parquet", "xlsx": "to_excel"}[format])(file, index=False)
    assert features_of(file, *asked, *own) == wanted


def test_what_needs_the_rows_weighs_them(rows):
    frame, _ = rows
    times = frame.index % 4
    frame = frame.drop(columns=[QUARTERS, TENTHS])
    frame.assign(times=times).to_csv("weighted.csv", index=False)
    X, y = frame[WORDS].to_numpy(), frame["label"]
    asked = ["weighted.csv", "--read", "numbers", "--read", "weight=times", "-k", 4, "--test", 0]
    features_of(*asked, "--train", "refit=logistic")
    fitted = naively.SparseMultinomialNB(k=4, refit="logistic").fit(
        X[times > 0], y[times > 0], sample_weight=times[times > 0]
    )
    found = naively.load("result/model.npz").predict_proba(frame[WORDS])
    np.testing.assert_allclose(found, fitted.predict_proba(X), rtol=1e-4, atol=1e-4)
    for more in (
        ["--judge", "stability"],
        ["--train", "calibration=cross-fitted"],
        ["--markers=2"],
    ):
        features_of(*asked, *more)


def test_rows_count_once_where_a_model_is_judged(rows):
    run("select", "texts.csv", "-k", 4, "--read", f"weight={QUARTERS}", "--test", 0.3, "-q")
    summary = json.loads(Path("result/summary.json").read_text())
    n = sum(each["test_rows"] for each in summary["classes"])
    assert n == pytest.approx(0.3 * (rows[0][QUARTERS] > 0).sum(), abs=2)
    assert any(f"`{QUARTERS}`" in note for note in summary["notes"])


@pytest.mark.parametrize("value", ["-1", "nan", "inf", "x", ""])
def test_a_weight_that_is_none_is_told_with_its_place(rows, value):
    lines = Path("texts.csv").read_text().splitlines()
    cells = lines[4].split(",")
    cells[1] = value
    lines[4] = ",".join(cells)
    Path("bad.csv").write_text("\n".join(lines))
    told = run("select", "bad.csv", "--read", f"weight={QUARTERS}", status=2)
    assert f"bad.csv: line 5: column `{QUARTERS}` must hold a finite number >= 0" in told
    assert repr(value) in told


@pytest.mark.parametrize(
    ("asked", "told"),
    [
        (["--words=min-count=2"], "`--words min-count` is of rows that weigh the same"),
        (["--words=min-documents=2"], "`--words min-documents` is of rows that weigh the same"),
        (["-kfdr"], "--read weight"),
        (["--read=weight=none"], "there is no column `none`"),
    ],
)
def test_what_cannot_go_with_weights_is_refused(rows, asked, told):
    weight = [] if "weight" in asked[0] else ["--read", f"weight={QUARTERS}"]
    assert told in run("select", "texts.csv", *asked, *weight, status=2)


def test_some_row_must_weigh(rows):
    frame = pd.read_csv("texts.csv").assign(zero=0)
    frame.to_csv("zero.csv", index=False)
    told = run("select", "zero.csv", "--read", "weight=zero", status=2)
    assert "no row has a weight above 0 in column `zero`" in told


def test_a_counter_takes_weights_where_its_features_have_them():
    for features, weight in ((TextFeatures(), [1.0]), (TextFeatures(row_weight="w"), None)):
        with pytest.raises(ValueError, match="`sample_weight` must be given where `row_weight`"):
            TextCounter(features).update(["one two"], ["a"], weight)
    with pytest.raises(ValueError, match="`resolution` makes sums whole"):
        ColumnFeatures(3, resolution=0.1, row_weight="w")
