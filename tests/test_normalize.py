"""Rows of counts scaled to a sum, and their logarithms: as Scanpy does, kept by the model."""

import io
import math
from pathlib import Path

import anndata
import numpy as np
import pandas as pd
import pytest
import scipy.io
import scipy.sparse as sp
from click.testing import CliRunner

from naively.cli.commands import naively
from naively.jobs.model_file import load_model
from naively.read.errors import InputError
from naively.read.layout import Layout
from naively.read.parts import collected, parts_of, targeted

N, M = 60, 12


def run(*arguments, status=0):
    result = CliRunner().invoke(naively, [str(each) for each in arguments])
    assert result.exit_code == status, result.output
    return result.stderr if status else result.stdout


def cells():
    """Counts of cells of very different depth; the first has none."""
    rng = np.random.default_rng(5)
    y = np.array(["T", "B"] * (N // 2))
    rate = np.ones((2, M)) + 4 * np.eye(2, M)
    depth = rng.lognormal(1.5, 1, N)
    X = rng.poisson(rate[(y == "B").astype(int)] * depth[:, None])
    X[0] = 0
    return X, y


def scaled(X, target, log1p):
    """The formula, cell by cell."""
    out = np.zeros(X.shape)
    for i, row in enumerate(X.tolist()):
        total = sum(row)
        for j, value in enumerate(row):
            out[i, j] = value * target / total if total else 0.0
            out[i, j] = math.log1p(out[i, j]) if log1p else out[i, j]
    return out


def write(path, X, y, form):
    frame = pd.DataFrame({"label": pd.Categorical(y)}, index=[f"c{i}" for i in range(len(y))])
    names = pd.DataFrame(index=[f"g{j}" for j in range(X.shape[1])])
    made = {"dense": np.asarray, "csr": sp.csr_matrix, "csc": sp.csc_matrix}[form]
    anndata.AnnData(made(X.astype(np.float32)), frame, names).write_h5ad(path)


@pytest.fixture
def folder(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    return tmp_path


@pytest.mark.parametrize("form", ["dense", "csr", "csc"])
@pytest.mark.parametrize(("normalize", "log1p"), [("median", True), (1e4, False), (None, True)])
def test_what_is_read_is_the_formula(folder, form, normalize, log1p):
    X, y = cells()
    write("a.h5ad", X, y, form)
    layout = Layout(normalize=normalize, log1p=log1p)
    parts = parts_of("a.h5ad", layout)
    layout = targeted(parts, layout)
    sums = sorted(sum(row) for row in X.tolist() if sum(row))
    median = (sums[(len(sums) - 1) // 2] + sums[len(sums) // 2]) / 2
    if normalize == "median":
        assert layout.normalize == median
    found = collected(parts, layout).rows
    found = found.toarray() if sp.issparse(found) else found
    expected = scaled(X, layout.normalize, True) if normalize and log1p else (
        scaled(X, 1e4, False) if normalize else np.log1p(X)
    )  # fmt: skip
    np.testing.assert_allclose(found, expected, rtol=1e-14)


@pytest.mark.parametrize("model", ["gaussian", "l2-centers", "l1-centers"])
def test_the_model_keeps_it(folder, model):
    X, y = cells()
    write("a.h5ad", X, y, "csr")
    np.savez("b.npz", X=scaled(X, 50, True), y=y, feature_names=[f"g{j}" for j in range(M)])
    options = ("--model", model, "-k", "3", "--test", "0", "--quick", "-q")
    run("select", "a.h5ad", "--read", "normalize=50", "--read", "log1p", *options, "--out", "a")
    run("select", "b.npz", *options, "--out", "b")
    ours, theirs = load_model("a/model.npz"), load_model("b/model.npz")
    assert (ours.normalize, ours.log1p) == (50, True)
    assert ours.names == theirs.names
    for name, array in theirs.rule.arrays().items():
        np.testing.assert_allclose(ours.rule.arrays()[name], array, rtol=1e-9)
    assert run("predict", "a", "a.h5ad", "-q").split("\n")[1].startswith("c0,")
    answers = [each.split(",")[1] for each in run("predict", "a", "a.h5ad", "-q").split()]
    assert answers == [each.split(",")[1] for each in run("predict", "b", "b.npz", "-q").split()]


def test_the_median_is_that_of_the_files_wherever_it_is_asked_for(folder):
    X, y = cells()
    write("a.h5ad", X, y, "csr")
    options = (
        "a.h5ad",
        "--model",
        "gaussian",
        "--read",
        "normalize=median",
        "--read",
        "log1p",
        "-q",
    )
    run("select", *options, "-k", "3", "--quick")
    sums = X.sum(axis=1)
    median = float(np.median(sums[sums > 0]))
    assert load_model("result/model.npz").normalize == median
    table = run("cv", *options[:1], "--model", "gaussian", "--model", "l2-centers", *options[3:])
    fixed = ("--read", f"normalize={str(median)}", "--read", "log1p", "-q")
    assert table == run("cv", "a.h5ad", "--model", "gaussian", "--model", "l2-centers", *fixed)
    run("count", "a.h5ad", "--model", "gaussian", *options[3:], "-o", "r", status=2)


def test_a_part_of_the_columns_or_scaled_rows_are_not_taken_for_counts(folder):
    X, y = cells()
    write("a.h5ad", X, y, "csr")
    options = ("--read", "normalize=median", "--read", "log1p", "-k", 3, "--test", 0, "-q")
    run("select", "a.h5ad", "--model", "l2-centers", *options)
    names = list(load_model("result/model.npz").names)
    panel = anndata.read_h5ad("a.h5ad")[:, names].copy()
    panel.write_h5ad("panel.h5ad")
    said = " ".join(run("predict", "result", "panel.h5ad", status=2).split())
    assert f"has 3 columns, the model was trained on {M}, and scales rows by the sum" in said
    assert "scales them itself" not in run("predict", "result", "a.h5ad", "-o", "a.csv")
    write("b.h5ad", scaled(X, 50, True), y, "csr")
    said = " ".join(run("predict", "result", "b.h5ad", "-o", "b.csv").split())
    assert "The model was trained on whole numbers, and of the" in said
    assert "such values. It scales them itself." in said


def test_raw_counts_are_told_of(folder):
    X, y = cells()
    write("a.h5ad", X, y, "csr")
    for model, told in (("gaussian", True), ("l1-centers", True), ("multinomial", False)):
        said = run("select", "a.h5ad", "--model", model, "-k", "3", "-q", "--quick", "--force")
        assert ("as raw counts are" in " ".join(said.split())) == told
    said = run(
        "select", "a.h5ad", "--model", "gaussian", "--read", "log1p", "-k", "3", "-q", "--quick"
    )
    assert "raw counts" not in said


def test_what_cannot_be_scaled_is_refused(folder):
    X, y = cells()
    np.savez("a.npz", X=X - 1, y=y)
    message = run("select", "a.npz", "--model", "gaussian", "--read", "log1p", status=2)
    assert "a.npz: row 1: a value is below 0, and rows to be scaled or taken" in message
    message = run("select", "a.npz", "--read", "normalize=1", "--read", "ignore=0", status=2)
    assert "leave out --read ignore" in message
    assert "neither median nor" in run("select", "a.npz", "--read", "normalize=0", status=2)
    Path("t.csv").write_text("u,label\n1,a\n2,b\n")
    message = run("select", "t.csv", "--read", "numbers", "--read", "log1p", status=2)
    assert "--read log1p has no effect on numbers in csv" in message
    out = io.BytesIO()
    scipy.io.mmwrite(out, sp.csr_matrix((3, 2)))
    Path("z.mtx").write_bytes(out.getvalue())
    with pytest.raises(InputError, match="no row has a sum above 0"):
        targeted(parts_of("z.mtx", Layout(normalize="median")), Layout(normalize="median"))


def test_rows_scaled_to_their_median_are_left_out_alone(folder):
    write("a.h5ad", *cells(), "csr")
    options = ("a.h5ad", "--model", "gaussian", "--read", "log1p", "--folds", "loo", "--ks", "2")
    run("cv", *options, "--read", "normalize=median", "-q", "--out", "median.csv")
    X, _ = cells()
    median = np.median(X.sum(axis=1)[X.sum(axis=1) > 0])
    run("cv", *options, "--read", f"normalize={median}", "-q", "--out", "known.csv")
    assert (folder / "median.csv").read_text() == (folder / "known.csv").read_text()
