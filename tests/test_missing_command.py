"""Cells without a value at the command: the same as in Python, whatever holds the table."""

import csv
import io
import json
from pathlib import Path

import numpy as np
import pandas as pd
import pytest
import scipy.sparse as sp
from click.testing import CliRunner

from naively import (
    SparseBernoulliNB,
    SparseCategoricalNB,
    SparseGaussianNB,
    SparseL1Centers,
    SparseL2Centers,
    SparseNegativeBinomialNB,
    SparsePoissonNB,
    SparsityCV,
    sparsity_path,
)
from naively.cli.commands import naively
from naively.jobs.model_file import load_model
from naively.models import MODELS

ESTIMATORS = {
    "gaussian": SparseGaussianNB,
    "bernoulli": SparseBernoulliNB,
    "poisson": SparsePoissonNB,
    "categorical": SparseCategoricalNB,
    "negative-binomial": SparseNegativeBinomialNB,
    "l2-centers": SparseL2Centers,
}
each = pytest.mark.parametrize("name", ESTIMATORS)
NAMES = [f"c{j}" for j in range(6)]


def run(*arguments, status=0):
    result = CliRunner().invoke(naively, [str(each) for each in arguments])
    assert result.exit_code == status, (result.output, result.exception)
    return result.stdout if status == 0 else " ".join(result.output.split())


def data(n=120, seed=0):
    rng = np.random.default_rng(seed)
    y = rng.integers(0, 3, n)
    X = rng.poisson(1.0 + (np.arange(6) < 3) * y[:, None]).astype(float)
    X[rng.random(X.shape) < 0.15] = np.nan
    return X, np.array(["ant", "bee", "cat"])[y]


def frame(X, y):
    return pd.DataFrame(X, columns=NAMES).assign(label=y)


def features(folder="result"):
    return list(csv.DictReader(Path(folder, "features.csv").read_text().splitlines()))


def assert_same(path, other):
    """Models of the same columns that score alike, but for the last digit."""
    first, second = load_model(path), load_model(other)
    assert (first.names, first.missing) == (second.names, second.missing)
    X = data()[0][:, first.columns]
    np.testing.assert_allclose(first.scores(X), second.scores(X), rtol=1e-12)


@pytest.fixture(autouse=True)
def here(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    X, y = data()
    frame(X, y).to_csv("t.csv", index=False)
    return X, y


SELECT = (
    "select",
    "--read",
    "numbers",
    "--read",
    "missing=ignore",
    "-k",
    3,
    "--test",
    0,
    "-q",
    "--force",
)
OF_ANY_K = (*SELECT[:5], *SELECT[7:])


@each
def test_it_is_the_estimator(name, here):
    X, y = here
    model = ESTIMATORS[name](k=3, missing="ignore").fit(X, y)
    run(*SELECT, "t.csv", "--model", name)
    file = load_model("result/model.npz")
    assert file.missing
    assert file.columns.tolist() == model.get_support(indices=True).tolist()
    gains = {row["feature"]: float(row["gain"]) for row in features()}
    expected = {NAMES[j]: model.scores_[j] for j in model.get_support(indices=True)}
    assert gains == pytest.approx(expected, rel=1e-6)
    found = run("predict", "result", "t.csv", "--probabilities", "-q")
    rows = list(csv.reader(io.StringIO(found)))[1:]
    assert [row[1] for row in rows] == model.predict(X).tolist()
    np.testing.assert_allclose(
        [[float(p) for p in row[2:]] for row in rows], model.predict_proba(X), rtol=1e-9
    )


def test_medians_are_those_of_the_estimator(here):
    X, y = here
    model = SparseL1Centers(k=3, missing="ignore").fit(X, y)
    run(*SELECT, "t.csv", "--model", "l1-centers")
    file = load_model("result/model.npz")
    assert file.missing
    assert file.columns.tolist() == model.get_support(indices=True).tolist()
    found = run("predict", "result", "t.csv", "-q")
    assert [row[1] for row in list(csv.reader(io.StringIO(found)))[1:]] == model.predict(X).tolist()
    notes = json.loads(run(*SELECT, "t.csv", "--model", "l1-centers", "--json", "--out", "again"))[
        "notes"
    ]
    assert any("values (17 %) are missing; each is left out" in note for note in notes), notes
    run(*OF_ANY_K, "t.csv", "--model", "l1-centers", "-k", "auto", "--words", "min-count=60")
    message = run("explain", "result", "--file", "t.csv", "--row", 1)
    assert not [name for name in np.array(NAMES)[np.isnan(X[0])] if f" {name} " in message]


@each
def test_what_holds_the_table_makes_no_difference(name, here):
    X, y = here
    table = frame(X, y)
    table.to_csv("t.tsv", index=False, sep="\t", na_rep="NA")
    table.to_parquet("t.parquet", index=False)
    table.astype(dict.fromkeys(NAMES, "Int64")).to_parquet("nulls.parquet", index=False)
    table.to_json("t.jsonl", orient="records", lines=True)
    np.savez("t.npz", X=X, y=y, feature_names=NAMES)
    turned = pd.DataFrame(X.T, index=NAMES, columns=[f"r{i}" for i in range(len(X))])
    turned.to_csv("turned.csv")
    Path("labels.txt").write_text("\n".join(y))
    for shard in range(4):
        table[30 * shard : 30 * shard + 30].to_csv(f"shard{shard}.csv", index=False)
    run(*SELECT, "t.csv", "--model", name)
    expected = Path("result/model.npz").read_bytes()
    for file in ("t.tsv", "t.parquet", "nulls.parquet", "t.jsonl", "t.npz", "shard?.csv"):
        how = SELECT if file != "t.npz" else [SELECT[0], *SELECT[3:]]  # a matrix holds numbers
        run(*how, file, "--model", name, "--out", "other")
        if file != "shard?.csv" or name != "gaussian":  # whose deviations depend on the batches
            assert Path("other/model.npz").read_bytes() == expected, file
        assert_same("other/model.npz", "result/model.npz")
    run(
        *SELECT, "turned.csv", "--read", "transpose", "--read", "labels=labels.txt", "--model", name
    )
    assert Path("result/model.npz").read_bytes() == expected


@each
def test_streams_are_memory(name, monkeypatch):
    for shard in range(3):
        frame(*data(90, shard)).to_csv(f"shard{shard}.csv", index=False)
    command = (
        "select",
        "shard?.csv",
        "--read",
        "numbers",
        "--read",
        "missing=ignore",
        "--model",
        name,
        "-k",
        3,
    )
    command += (
        "--force",
        "--train",
        "calibration=cross-fitted",
        "--judge",
        "stability",
        "--markers",
        2,
        "-q",
    )
    run(*command)
    files = ("model.npz", "features.csv", "markers.csv")
    expected = [Path("result", each).read_bytes() for each in files]
    monkeypatch.setattr("naively.jobs.data.HELD_BYTES", 0)  # read once for every pass
    run(*command, "--on", 2, "--checkpoint", "work")
    assert [Path("result", each).read_bytes() for each in files] == expected


@each
def test_records_are_merged_and_solved(name, here):
    X, y = here
    for shard in range(3):
        frame(X, y)[40 * shard : 40 * shard + 40].to_csv(f"shard{shard}.csv", index=False)
    shards = [f"shard{i}.csv" for i in range(3)]
    run(
        "count",
        *shards,
        "--read",
        "numbers",
        "--read",
        "missing=ignore",
        "--model",
        name,
        "-o",
        "data",
        "-q",
    )
    run("count", "data", "-o", "all.npz", "-q")
    run("select", "all.npz", "--model", name, "-k", 3, "--out", "solved", "-q")
    run(*SELECT, "shard?.csv", "--model", name)
    assert_same("solved/model.npz", "result/model.npz")


def test_statistics_without_missing_values_are_for_models_that_know_them():
    options = ("--read", "numbers", "--read", "missing=ignore", "-o", "data", "-q")
    run("count", "t.csv", "--model", "poisson", *options)
    run("count", "data", "-o", "all.npz", "-q")
    message = run("select", "all.npz", "--model", "multinomial", status=2)
    assert "takes no missing values" in message
    message = run("count", "t.csv", "--model", "multinomial", *options, status=2)
    assert "`--read missing` has no effect on --model multinomial" in message
    message = run(
        "count", "t.csv", "--model", "poisson", "--read", "resolution=1", *options, status=2
    )
    assert "--read resolution and --read missing=ignore exclude each other" in message


def test_sparse_matrices(here):
    X, y = here
    sp.save_npz("s.npz", sp.csr_array(X))
    Path("labels.txt").write_text("\n".join(y))
    np.savez("d.npz", X=X)
    how = (SELECT[0], *SELECT[3:])
    for name in ESTIMATORS:
        for file in ("d.npz", "s.npz"):
            run(*how, file, "--read", "labels=labels.txt", "--model", name, "--out", file[0])
        dense, sparse = (load_model(f"{file}/model.npz") for file in "ds")
        assert dense.columns.tolist() == sparse.columns.tolist()
        np.testing.assert_allclose(
            dense.scores(X[:, dense.columns]),
            sparse.scores(sp.csr_array(X)[:, dense.columns]),
            rtol=1e-9,
        )


def test_h5ad(here):
    import h5py

    X, y = here
    with h5py.File("t.h5ad", "w") as file:
        file["X"] = X
        for frame_, index, cells in (
            ("obs", [f"r{i}" for i in range(len(X))], {"label": y}),
            ("var", NAMES, {}),
        ):
            group = file.create_group(frame_)
            group.attrs["_index"] = "_index"
            for key, values in {"_index": index, **cells}.items():
                group[key] = np.array(values, dtype="S")
    run(*SELECT, "t.csv", "--model", "gaussian")
    expected = Path("result/model.npz").read_bytes()
    run(SELECT[0], *SELECT[3:], "t.h5ad", "--label", "label", "--model", "gaussian")
    assert Path("result/model.npz").read_bytes() == expected


@each
def test_every_k(name, here):
    X, y = here
    options = ("--read", "numbers", "--read", "missing=ignore", "--model", name, "--json", "-q")
    table = json.loads(run("cv", "t.csv", *options, "--ks", "1-6"))
    gains = [row["gain"] for row in table["points"]]
    track = sparsity_path(ESTIMATORS[name](missing="ignore"), X, y, ks=range(1, 7))
    np.testing.assert_allclose(gains, track.objective - track.baseline, rtol=1e-9)
    points = json.loads(run("cv", "t.csv", *options, "--ks", "1-6"))["points"]
    found = SparsityCV(ESTIMATORS[name](missing="ignore"), ks=range(1, 7), cv=5).fit(X, y)
    scores = np.array([point["score"] for point in points])
    assert np.abs(scores - found.cv_results_["mean_test_score"]).max() < 0.1  # other folds


@each
def test_an_explanation_adds_up_and_a_missing_value_says_nothing(name, here):
    X, y = here
    run(*OF_ANY_K, "t.csv", "--model", name, "-k", "all")
    model = ESTIMATORS[name](k="all", missing="ignore").fit(X, y)
    for row in range(1, 20):
        found = json.loads(run("explain", "result", "--file", "t.csv", "--row", row, "--json"))
        joint = np.sort(model.predict_log_proba(X[[row - 1]])[0])
        assert found["total"] == pytest.approx(joint[-1] - joint[-2])
        nats = found["start"] + sum(each["nats"] for each in found["contributions"])
        assert nats == pytest.approx(found["total"])
        assert {each["feature"] for each in found["contributions"]}.isdisjoint(
            np.array(NAMES)[np.isnan(X[row - 1])]
        )


def test_a_model_of_whole_rows_refuses_a_row_with_holes():
    X, y = data()
    frame(np.nan_to_num(X), y).to_csv("whole.csv", index=False)
    run("select", "whole.csv", "--read", "numbers", "--model", "gaussian", "-k", 6, "-q")
    message = run("predict", "result", "t.csv", status=2)
    assert (
        "is missing; fill it in, or train with `naively select --read missing=ignore`." in message
    )
    run("select", "whole.csv", "--read", "numbers", "--model", "multinomial", "-k", 6, "-q")
    assert run("predict", "result", "t.csv", status=2).endswith("is missing; fill it in.")


OF_NUMBERS = [n for n, kind in MODELS.items() if not kind.regions and kind.takes != "table"]


@pytest.mark.parametrize("name", OF_NUMBERS)
def test_mistakes_are_told_in_one_sentence(name):
    message = run("select", "t.csv", "--read", "numbers", "--model", name, status=2)
    knows = name in (*ESTIMATORS, "l1-centers")
    assert message.endswith(
        "is missing; fill it in, leave it out with --read ignore='c5', or add --read "
        "missing=ignore."
        if knows
        else "is missing; fill it in, or leave it out with --read ignore='c5'."
    ), message
    if not knows:
        message = run(
            "select",
            "t.csv",
            "--read",
            "numbers",
            "--model",
            name,
            "--read",
            "missing=ignore",
            status=2,
        )
        assert message == (
            f"naively: `--read missing` has no effect on --model {name}; leave it out (it is for "
            "bernoulli, poisson, negative-binomial, categorical, gaussian, l2-centers, l1-centers)."
        )


def test_what_does_not_go_together_is_refused(here):
    X, y = here
    options = ("--read", "numbers", "--read", "missing=ignore")

    def told(*more):
        return run("select", "t.csv", *options, *more, status=2)

    assert "needs every entry of a row" in told("--model", "gaussian", "--train", "refit=logistic")
    assert "needs every entry" in told("--model", "gaussian", "--choose", "redundancy=conditional")
    assert "`--read exposure` is of whole rows" in told(
        "--model", "poisson", "--read", "exposure=total"
    )
    assert "`--read missing` is of rows of counts, neither weighted" in told(
        "--model", "poisson", "--words", "weights=log"
    )
    message = run("cv", "t.csv", *options, "--model", "gaussian", "--against", "logistic", status=2)
    assert "`--against logistic` takes no missing values" in message
    pd.DataFrame({"text": ["a b", "c d"] * 9, "label": ["x", "y"] * 9}).to_csv("w.csv", index=False)
    message = run("select", "w.csv", "--model", "bernoulli", "--read", "missing=ignore", status=2)
    assert "--read missing has no effect on texts in csv" in message
    X[3, 2] = np.inf
    np.savez("t.npz", X=X, y=y)
    message = run("select", "t.npz", "--model", "gaussian", "--read", "missing=ignore", status=2)
    assert "row 4: the value of `2` is not a finite number; replace infinite values" in message
    message = run("select", "t.npz", "--model", "gaussian", status=2)
    assert message.endswith("replace NaN and infinite values first, or add --read missing=ignore.")
    X[3, 2] = -1
    np.savez("t.npz", X=X, y=y)
    message = run("select", "t.npz", "--model", "poisson", "--read", "missing=ignore", status=2)
    assert "row 4: the value of column 3 is -1, and counts are never negative" in message


def test_the_report_counts_the_values_that_are_missing(tmp_path):
    rows = [
        "label,a,b",
        *(f"{'pq'[i % 2]},{i % 2 + i / 40},{'' if i % 5 == 0 else i}" for i in range(40)),
    ]
    (tmp_path / "a.csv").write_text("\n".join(rows) + "\n")
    asked = ["--model", "gaussian", "--read", "missing=ignore", "-q", "--out", str(tmp_path / "r")]
    found = CliRunner().invoke(naively, ["select", str(tmp_path / "a.csv"), *asked])
    assert found.exit_code == 0, found.output
    assert json.loads((tmp_path / "r" / "summary.json").read_text())["profile"]["missing"] == 8
    page = (tmp_path / "r" / "report.html").read_text()
    assert "each left out of its own column" in page
