"""`naively select` and `predict` on tables of numbers: a marker panel from an expression matrix."""

import csv
import io
import json

import h5py
import numpy as np
import pytest
from click.testing import CliRunner

from naively import ClassMedians, SparseGaussianNB, SparseL1Centers, SparseL2Centers
from naively.cli.commands import naively
from naively.jobs.model_file import load_model

ESTIMATORS = {
    "l1-centers": SparseL1Centers,
    "l2-centers": SparseL2Centers,
    "gaussian": SparseGaussianNB,
}


def expression(n_types=3):
    local = np.random.default_rng(4)
    y = np.repeat([f"type{c}" for c in range(n_types)], 20)
    X = local.normal(size=(len(y), 12))
    X[:, 3] += 4 * (y == "type1")
    X[:, 7] -= 5 * (y == "type2")
    return np.round(X, 4), y


@pytest.fixture
def folder(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    return tmp_path


def write(path, X, y, transpose=False):
    names = [f"gene{i}" for i in range(X.shape[1])]
    table = [["cell", *names, "type"]]
    table += [
        [f"c{i}", *row, label] for i, (row, label) in enumerate(zip(X.tolist(), y, strict=True))
    ]
    if transpose:
        table = list(zip(*table, strict=True))
    out = io.StringIO()
    csv.writer(out, lineterminator="\n").writerows(table)
    path.write_text(out.getvalue())


def run(*arguments):
    result = CliRunner().invoke(naively, [str(each) for each in arguments])
    assert result.exit_code == 0, result.output
    return result


def features():
    with open("result/features.csv", newline="") as file:
        return list(csv.DictReader(file))


@pytest.mark.parametrize("model", ESTIMATORS)
@pytest.mark.parametrize("transpose", [False, True])
def test_a_marker_panel_from_a_table(folder, model, transpose):
    X, y = expression()
    write(folder / "counts.csv", X, y, transpose)
    turned = ["--read", "transpose"] if transpose else []
    result = run("select", "counts.csv", "--label", "type", "-k", 2, "--model", model, *turned)
    rows = features()
    assert {row["feature"] for row in rows} == {"gene3", "gene7"}
    estimator = ESTIMATORS[model](k=2).fit(X, y)
    by_name = {row["feature"]: row for row in rows}
    for i in (3, 7):
        for c, name in enumerate(estimator.classes_):
            members = X[y == name, i]
            l1 = model == "l1-centers"
            center = np.median(members) if l1 else members.mean()
            spread = np.abs(members - center).mean() if l1 else members.std()
            row = by_name[f"gene{i}"]
            assert float(row[f"center:{name}"]) == pytest.approx(center, rel=1e-6)
            assert float(row[f"dispersion:{name}"]) == pytest.approx(spread, rel=1e-6)
            assert estimator.classes_[c] == name
        assert float(by_name[f"gene{i}"]["gain"]) == pytest.approx(estimator.scores_[i], rel=1e-6)
    assert by_name["gene3"]["class"] == "type1"
    assert "Proven optimal" in result.output
    assert "Accuracy" in result.output
    summary = json.loads((folder / "result/summary.json").read_text())
    assert summary["settings"]["alpha"] is None
    assert "center" in (folder / "result/report.html").read_text()
    loaded = load_model("result/model.npz")
    np.testing.assert_allclose(
        loaded.rule.scores(X[:, loaded.columns]), estimator.rule_.scores(X[:, estimator.support_])
    )


def test_predict_finds_columns_by_name(folder):
    X, y = expression()
    write(folder / "counts.csv", X, y)
    run("select", "counts.csv", "--label", "type", "-k", 2, "--model", "l1-centers")
    expected = SparseL1Centers(k=2).fit(X, y).predict(X)
    order = np.random.default_rng(0).permutation(12)
    names = np.array([f"gene{i}" for i in range(12)])[order]
    for turned in (False, True):
        table = [["id", *names], *([f"c{i}", *row] for i, row in enumerate(X[:, order].tolist()))]
        table = list(zip(*table, strict=True)) if turned else table
        with open("new.csv", "w", newline="") as file:
            csv.writer(file).writerows(table)
        run(
            "predict",
            "result/model.npz",
            "new.csv",
            "--out",
            "a.csv",
            *["--read", "transpose"] * turned,
        )
        with open("a.csv", newline="") as file:
            assert [row["label"] for row in csv.DictReader(file)] == expected.tolist()
    result = run("predict", "result/model.npz", "counts.csv", "--label", "type", "--probabilities")
    assert f"Accuracy {(expected == y).mean():.4f}" in result.output


def test_labels_beside_a_transposed_table(folder):
    X, y = expression()
    write(folder / "full.csv", X, y, transpose=True)
    lines = (folder / "full.csv").read_text().splitlines()
    (folder / "genes.csv").write_text("\n".join(lines[:-1]) + "\n")
    (folder / "types.txt").write_text("\n".join(y) + "\n")
    model = ["--model", "l2-centers", "--train", "scale=std"]
    labels = ["--read", "labels=types.txt", "--test", 0]
    run("select", "genes.csv", *labels, "--read", "transpose", "-k", 2, *model)
    assert {row["feature"] for row in features()} == {"gene3", "gene7"}


def test_npz_and_anndata(folder):
    X, y = expression(2)
    np.savez("m.npz", X=X, y=y)
    run("select", "m.npz", "-k", 1, "--model", "l1-centers")
    assert features()[0]["feature"] == "3"
    with h5py.File("m.h5ad", "w") as file:
        file["X"] = X
        obs, var = file.create_group("obs"), file.create_group("var")
        obs.attrs["_index"] = var.attrs["_index"] = "_index"
        strings = h5py.string_dtype()
        obs.create_dataset("_index", data=[f"c{i}" for i in range(len(y))], dtype=strings)
        var.create_dataset("_index", data=[f"gene{i}" for i in range(12)], dtype=strings)
        obs.create_dataset("type", data=y.tolist(), dtype=strings)
    run("select", "m.h5ad", "--label", "type", "-k", 1, "--model", "l1-centers")
    row = features()[0]
    assert row["feature"] == "gene3"
    medians = ClassMedians.from_matrix(X, y)
    assert float(row["center:type1"]) == pytest.approx(medians.center[1, 3], rel=1e-6)
    run("predict", "result/model.npz", "m.h5ad", "--label", "type", "--out", "answers.csv")


def test_counts_in_a_table_of_numbers(folder):
    X = np.abs(np.rint(expression()[0] * 3))
    write(folder / "counts.csv", X, expression()[1])
    run(
        "select",
        "counts.csv",
        "--read",
        "numbers",
        "--label",
        "type",
        "-k",
        3,
        "--model",
        "multinomial",
    )
    row = features()[0]
    assert {key.partition(":")[0] for key in row} == {
        "rank",
        "feature",
        "gain",
        "class",
        "standard error",
        "weight",
        "count",
        "rows",
        "burst",
    }


def test_few_columns_and_no_k(folder):
    X, y = expression()
    write(folder / "counts.csv", X, y)
    arguments = ("select", "counts.csv", "--label", "type", "--model", "l1-centers")
    output = run(*arguments).output
    assert len(features()) == 12
    assert "All features were taken, since there are fewer than 100" in output.replace("\n", " ")
    settings = json.loads((folder / "result/summary.json").read_text())["settings"]
    assert settings["k"] == "12"
    given = CliRunner().invoke(naively, [*arguments, "-k", "100"])
    assert given.exit_code == 2
    assert "counts.csv: `-k` must be at most the number of features, 12; got 100" in given.output


def test_text_with_a_center_model(folder):
    rows = [("great film", "pos"), ("dull film", "neg")] * 10
    with open("t.csv", "w", newline="") as file:
        csv.writer(file).writerows([("text", "label"), *rows])
    run("select", "t.csv", "--text", "text", "-k", 2, "--model", "l2-centers")
    assert {row["feature"] for row in features()} == {"great", "dull"}


def test_many_types(folder):
    local = np.random.default_rng(0)
    y = np.repeat([f"t{c}" for c in range(7)], 6)
    X = np.round(local.normal(size=(42, 5)), 3)
    X[:, 2] = np.repeat(np.arange(7.0) * 9, 6)
    write(folder / "c.csv", X, y)
    for model in ("l1-centers", "l2-centers"):
        scale = ["--train", "scale=std"] if model == "l2-centers" else []
        run("select", "c.csv", "--label", "type", "-k", 1, "--model", model, *scale)
        assert features()[0]["feature"] == "gene2"
        page = (folder / "result/report.html").read_text()
        assert "by class" in page
