"""One learner: whatever the way to the rows, and whatever holds them, the result is the same."""

import gzip
import json
import random
import shutil
import subprocess
import sys
import time
from pathlib import Path

import h5py
import numpy as np
import pyarrow as pa
import pyarrow.csv
import pyarrow.parquet as pq
import pytest
import scipy.io
import scipy.sparse as sp
from click.testing import CliRunner
from sklearn.datasets import dump_svmlight_file

from naively import (
    SparseGaussianNB,
    SparseL2Centers,
    SparseMultinomialNB,
    SparseNegativeBinomialNB,
    SparsePoissonNB,
    SparsityCV,
)
from naively.cli.commands import naively
from naively.jobs import data, learn
from naively.jobs.model_file import load_model
from naively.judging.parting import TEST, TRAIN, Parting
from naively.models import MODELS
from naively.read import batch, jsonl
from naively.read.layout import Layout
from naively.read.parts import batches_of, parts_of
from naively.work import stream
from naively.work.judged import judged
from naively.work.records import load_record
from naively.work.stream import parted

GOOD, BAD = ["great", "lovely", "film", "the"], ["awful", "boring", "film", "the"]
RESULTS = ("features.csv", "model.npz", "summary.json")


def rows(n=400):
    rng = random.Random(0)
    return [
        (" ".join(rng.choices(GOOD if i % 2 else BAD, k=6)), "pos" if i % 2 else "neg")
        for i in range(n)
    ]


def counts(n=120, m=9, seed=0):
    rng = np.random.default_rng(seed)
    y = np.array(["ab"[i % 2] for i in range(n)])
    rate = np.where(y[:, None] == "a", 1.0, 1.0 + (np.arange(m) < 3))
    return rng.poisson(rate), y


@pytest.fixture
def folder(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    (tmp_path / "data").mkdir()
    table = pa.table(dict(zip(("text", "label"), zip(*rows(), strict=True), strict=True)))
    pq.write_table(table, "all.parquet", row_group_size=70)
    for i in range(4):
        pq.write_table(table.slice(100 * i, 100), f"data/{i}.parquet", row_group_size=30)
    return tmp_path


def run(*arguments, status=0):
    result = CliRunner().invoke(naively, [str(each) for each in arguments])
    assert result.exit_code == status, result.output
    return result.output


def summary_of(out):
    return json.loads((Path(out) / "summary.json").read_text())


def written(out):
    """Bytes of a result, without the command that led to it and the names of what was read."""
    summary = summary_of(out)
    del summary["settings"]["command"], summary["files"]
    return {
        "features": (Path(out) / "features.csv").read_bytes(),
        "model": (Path(out) / "model.npz").read_bytes(),
        "summary": summary,
    }


# One result, whatever the way --------------------------------------------------------------------

TEXT_MODELS = [
    "multinomial", "bernoulli", "negative-binomial", "hybrid", "l1-centers", "l2-centers"
]  # fmt: skip
NUMBER_MODELS = [name for name, kind in MODELS.items() if kind.takes != "table"]
WAYS = {
    "held": {},
    "streamed in small batches": {"held": 0, "rows": 17},
    "streamed in three threads": {"held": 0, "options": ("--on", 3)},
}


def by(monkeypatch, way, arguments, out):
    with monkeypatch.context() as patch:
        patch.setattr(data, "HELD_BYTES", way.get("held", 1 << 25))
        patch.setattr(batch, "BATCH_ROWS", way.get("rows", 25_000))
        run(*arguments, *way.get("options", ()), "--out", out, "-q")
    return written(out)


@pytest.mark.parametrize("options", [(), ("-k", "auto")], ids=str)
@pytest.mark.parametrize("model", TEXT_MODELS)
def test_texts_give_the_same_bytes_whatever_the_way(folder, monkeypatch, model, options):
    arguments = ("select", "all.parquet", "--text", "text", *(options or ("-k", 3)),
                 "--model", model)  # fmt: skip
    first = by(monkeypatch, WAYS["held"], arguments, "held")
    for name in WAYS:
        assert by(monkeypatch, WAYS[name], arguments, name) == first, name


@pytest.mark.parametrize("options", [("-k", 3), ("-k", "auto"), ("-k", 3, "--on", 3)], ids=str)
def test_rows_kept_for_the_test_are_those_that_would_be_read_again(folder, monkeypatch, options):
    """All of them, none, and none since they turn out to be too many; unlabelled rows among them.

    Rows are drawn by their content, as of files of many rows.
    """
    texts, labels = (list(each) for each in zip(*rows(), strict=True))
    labels[::9] = [""] * len(labels[::9])
    texts = [f"{text} {i:03d}" for i, text in enumerate(texts)]  # no row is another one
    split = [("train", "train", "train", "test", "dev")[i % 5] for i in range(400)]
    table = pa.table({"text": texts, "label": labels, "split": split})
    pq.write_table(table, "rows.parquet", row_group_size=70)
    monkeypatch.setattr(data, "HELD_BYTES", 0)
    monkeypatch.setattr(stream, "FEW_ROWS", 20)
    monkeypatch.setattr(batch, "BATCH_ROWS", 17)
    found, reading = {}, set()

    def noted(part, layout):
        reading.add(part.held is None)
        return batches_of(part, layout)

    def judged_noting(task, *arguments):
        with monkeypatch.context() as patch:
            patch.setattr(stream, "batches_of", noted)
            return judged(task, *arguments)

    for more in ((), ("--read", "split=split")):
        for room in (1 << 20, 0, 1500):
            monkeypatch.setattr(data, "_KEPT_BYTES", room)
            monkeypatch.setattr(learn, "judged", judged if "--on" in options else judged_noting)
            run("select", "rows.parquet", *options, *more, "-q", "--out", "r")
            found[more, room] = written("r")
        assert found[more, 0] == found[more, 1500] == found[more, 1 << 20]
    assert reading in ({True, False}, set())


@pytest.mark.parametrize("options", [(), ("-k", "auto")], ids=str)
@pytest.mark.parametrize("model", NUMBER_MODELS)
def test_numbers_give_the_same_bytes_whatever_the_way(folder, monkeypatch, model, options):
    X, y = counts()
    lines = [",".join([*(f"g{j}" for j in range(9)), "label"])]
    lines += [",".join([*map(str, row), label]) for row, label in zip(X.tolist(), y, strict=True)]
    Path("a.csv").write_text("\n".join(lines) + "\n")
    arguments = ("select", "a.csv", "--read", "numbers", *(options or ("-k", 3)),
                 "--model", model)  # fmt: skip
    first = by(monkeypatch, WAYS["held"], arguments, "held")
    for name in WAYS:
        found = by(monkeypatch, WAYS[name], arguments, name)
        # Moments of batches are merged, and rows of other batches scored, to rounding.
        assert_alike(found["summary"], first["summary"])
        if MODELS[model].statistic != "moments":
            assert {**found, "summary": None} == {**first, "summary": None}, name


@pytest.mark.parametrize("held", [0, 1 << 25])
@pytest.mark.parametrize("model", NUMBER_MODELS)
def test_rows_that_are_tested_have_no_part_in_the_model(folder, monkeypatch, model, held):
    X, y = counts()
    X[80:] += 7  # categories and sums that no row of training has
    heading = [*(f"g{j}" for j in range(9)), "label"]

    def table(name, rows, heading):
        lines = [[*map(str, X[i].tolist()), y[i], "test" if i >= 80 else "train"] for i in rows]
        lines = [",".join(each[: len(heading)]) for each in [heading, *lines]]
        Path(name).write_text("\n".join(lines) + "\n")

    table("all.csv", range(120), [*heading, "split"])
    table("train.csv", range(80), heading)
    table("test.csv", range(80, 120), heading)
    monkeypatch.setattr(data, "HELD_BYTES", held)
    options = ("--read", "numbers", "-k", 3, "--model", model, "-q")
    run("select", "train.csv", "--test", "test.csv", *options, "--out", "apart")
    run("select", "all.csv", "--read", "split=split", *options, "--out", "together")
    apart, together = load_model("apart/model.npz"), load_model("together/model.npz")
    assert together.columns.tolist() == apart.columns.tolist()
    rows = X[80:, apart.columns].astype(float)
    np.testing.assert_allclose(together.scores(rows), apart.scores(rows), rtol=1e-9)
    tests = [summary_of(out)["evaluation"] for out in ("apart", "together")]
    assert tests[0]["accuracy"] == tests[1]["accuracy"]


def test_columns_with_numbers_for_names_are_matched_by_them(folder):
    X, y = counts()
    X[:, 0] += 5 * (y == "b")
    rows = [",".join([label, *map(str, row)]) for row, label in zip(X.tolist(), y, strict=True)]
    turned = [
        ",".join([label, *map(str, row[::-1])]) for row, label in zip(X.tolist(), y, strict=True)
    ]
    names = [str(year) for year in range(2011, 2020)]
    Path("a.csv").write_text("\n".join([",".join(["label", *names]), *rows]) + "\n")
    Path("b.csv").write_text("\n".join([",".join(["label", *names[::-1]]), *turned]) + "\n")
    run("select", "a.csv", "--read", "numbers", "-k", 2, "-q")
    assert run("predict", "result", "a.csv", "-q") == run("predict", "result", "b.csv", "-q")
    Path("c.csv").write_text("2011,2099\n1,2\n")
    assert "the model needs the column `20" in run("predict", "result", "c.csv", "-q", status=2)


@pytest.mark.parametrize(
    "command",
    [("select", "-", "-k", "auto"), ("cv", "-", "--model", "bernoulli", "--model", "poisson")],
)
def test_a_pipe_is_read_once(folder, command):
    text = "text,label\n" + "".join(f"{text},{label}\n" for text, label in rows(100))
    result = CliRunner().invoke(naively, [*command, "--read", "format=csv", "-q"], input=text)
    assert result.exit_code == 0, result.output


def test_labels_that_were_edited_are_counted_again(folder):
    X, y = counts()
    np.savez("a.npz", X=X)
    Path("l.txt").write_text("\n".join(y) + "\n")
    arguments = (
        "select",
        "a.npz",
        "--read",
        "labels=l.txt",
        "--checkpoint",
        "cp",
        "--test",
        0,
        "-q",
    )
    run(*arguments, "-k", 3)
    first = summary_of("result")
    time.sleep(0.01)
    Path("l.txt").write_text(
        "\n".join(np.roll(y, 1)[: len(y) // 2].tolist() + ["c"] * (len(y) // 2))
    )
    run(*arguments, "-k", 3, "--force")
    assert [each["name"] for each in first["classes"]] == ["a", "b"]
    assert [each["name"] for each in summary_of("result")["classes"]] == ["a", "b", "c"]


def test_test_labels_that_training_does_not_have_are_told(folder):
    Path("a.csv").write_text("u,label\n1,true\n3,false\n5,true\n7,false\n")
    Path("b.csv").write_text("u,label\n1,True\n3,False\n")
    run("select", "a.csv", "--read", "numbers", "--test", "b.csv", "-q")
    (note,) = [each for each in summary_of("result")["notes"] if "training does not have" in each]
    assert "2 test rows" in note
    assert "(training has false, true, ...)" in note


def test_cv_does_not_depend_on_the_way_either(folder, monkeypatch):
    for command in (("cv", "all.parquet"), ("cv", "all.parquet", "--model", "bernoulli")):
        first = run(*command, "--json")
        monkeypatch.setattr(data, "HELD_BYTES", 0)
        monkeypatch.setattr(batch, "BATCH_ROWS", 23)
        assert run(*command, "--json") == first
        monkeypatch.undo()
        monkeypatch.chdir(folder)


def assert_alike(first, second):
    """Assert that two documents are equal, numbers but for rounding."""
    if isinstance(first, dict):
        assert first.keys() == second.keys()
        first, second = list(first.values()), list(second.values())
    if isinstance(first, list):
        assert len(first) == len(second)
        for one, other in zip(first, second, strict=True):
            assert_alike(one, other)
    elif isinstance(first, float):
        assert second == pytest.approx(first, rel=1e-9)
    else:
        assert first == second


def write_tsv(table, path):
    lines = ["\t".join(table.column_names)]
    lines += ["\t".join(map(str, row.values())) for row in table.to_pylist()]
    path.write_text("\n".join(lines) + "\n")


def write_jsonl(table, path):
    path.write_text("\n\n".join(map(json.dumps, table.to_pylist())))


TABLES = {
    "a.parquet": lambda table, path: pq.write_table(table, path, row_group_size=70),
    "a.csv": lambda table, path: pyarrow.csv.write_csv(table, path),
    "a.tab": write_tsv,
    "a.jsonl": write_jsonl,
    "a.json": write_jsonl,
}


@pytest.mark.parametrize("packed", [False, True])
def test_every_format_of_tables_gives_the_same_result(folder, monkeypatch, packed):
    monkeypatch.setattr(jsonl, "PART_BYTES", 4000, raising=False)
    texts, labels = zip(*rows(300), strict=True)
    split = ["train" if i % 5 else "dev" if i % 10 else "test" for i in range(300)]
    table = pa.table({"n": range(300), "words": texts, "class": labels, "part": split})
    options = ("--text", "words", "--label", "class", "--read", "split=part", "-k", 4)
    results = {}
    for name, write in TABLES.items():
        write(table, Path(name))
        if packed:
            Path(f"{name}.gz").write_bytes(gzip.compress(Path(name).read_bytes()))
            name = f"{name}.gz"
        run("select", name, *options, "--words", "ngrams=1,2", "-q", "--out", "out")
        results[name] = written("out")
    first, *others = results.values()
    for found in others:
        assert found == first
    assert first["summary"]["evaluation"]["test_rows"] == 30


def write_h5ad(X, y, path, layer="X"):
    with h5py.File(path, "w") as file:
        strings = h5py.string_dtype()
        if layer != "X":
            file["X"] = np.zeros(X.shape)
        file[layer] = X
        for name, prefix, n in (("obs", "c", X.shape[0]), ("var", "g", X.shape[1])):
            group = file.create_group(name)
            group.attrs["_index"] = "_index"
            group.create_dataset("_index", data=[f"{prefix}{i}" for i in range(n)], dtype=strings)
        file["obs"].create_dataset("y", data=y.tolist(), dtype=strings)


def test_every_format_of_matrices_gives_the_same_numbers(folder):
    X, y = counts()
    np.savez("dense.npz", X=X, y=y)
    sp.save_npz("sparse.npz", sp.csr_array(X))
    scipy.io.mmwrite("a.mtx", sp.csr_array(X))
    dump_svmlight_file(X, (y == "b").astype(int), "a.svmlight", zero_based=False)
    write_h5ad(X, y, "a.h5ad")
    Path("y.txt").write_text("\n".join(y))
    with open("a.csv", "w") as file:
        print(*(f"g{j}" for j in range(9)), "label", sep=",", file=file)
        for row, label in zip(X.tolist(), y, strict=True):
            print(*row, label, sep=",", file=file)
    expected = SparseMultinomialNB(k=3).fit(X, y)
    for name in ("dense.npz", "sparse.npz", "a.mtx", "a.svmlight", "a.h5ad", "a.csv"):
        how = ("--read", "labels=y.txt") if name in ("sparse.npz", "a.mtx") else ()
        how = ("--read", "numbers") if name == "a.csv" else how
        run("select", name, *how, "-k", 3, "--test", 0, "-q", "--out", name + "r")
        found = load_model(f"{name}r/model.npz")
        assert found.columns.tolist() == expected.get_support(indices=True).tolist()
        np.testing.assert_allclose(found.rule.weights, expected.rule_.weights, rtol=1e-12)
        run("count", name, *how, "-o", name + "c")
        (record,) = Path(name + "c").iterdir()
        assert load_record(record).statistics.table.sum() == X.sum()


# Drift that is gone ------------------------------------------------------------------------------


def test_held_out_rows_are_a_matter_of_content_not_of_the_name(folder):
    """A copy under another name has the same test rows; so have another packing and a pipe."""
    pyarrow.csv.write_csv(pq.read_table("all.parquet"), "all.csv")
    shutil.copy("all.csv", "copy.csv")
    Path("all.csv.gz").write_bytes(gzip.compress(Path("all.csv").read_bytes()))
    found = []
    for name in ("all.csv", "copy.csv", "all.csv.gz"):
        run("select", name, "-k", 3, "-q", "--out", "r")
        found.append(written("r"))
    command = [sys.executable, "-m", "naively", "select", "-", "--read", "format=csv", "-k", "3"]
    with open("all.csv", "rb") as file:
        subprocess.run([*command, "-q", "--out", "r"], stdin=file, check=True)
    found.append(written("r"))
    assert found == found[:1] * 4


def test_the_rows_held_out_of_cells_are_the_same_in_memory_and_in_streams(folder, monkeypatch):
    X, y = counts(2000)
    write_h5ad(X, y, "cells.h5ad")
    for held in (1 << 25, 0):
        monkeypatch.setattr(data, "HELD_BYTES", held)
        monkeypatch.setattr(batch, "BATCH_ROWS", 300)
        run("select", "cells.h5ad", "-k", 3, "-q", "--out", f"r{held}")
    assert written("r0") == written(f"r{1 << 25}")
    assert summary_of("r0")["evaluation"]["test_rows"] == 400


def test_the_default_label_of_a_matrix_is_label_and_else_y(folder):
    X, y = counts()
    write_h5ad(X, y, "a.h5ad")
    np.savez("b.npz", X=X, y=y)
    np.savez("c.npz", X=X, y=np.roll(y, 1), label=y)
    for name in ("a.h5ad", "b.npz", "c.npz"):
        run("select", name, "-k", 3, "--test", 0, "-q", "--out", f"{name}r")
    weights = [
        load_model(f"{name}r/model.npz").rule.weights for name in ("a.h5ad", "b.npz", "c.npz")
    ]
    np.testing.assert_array_equal(weights[0], weights[1])
    np.testing.assert_array_equal(weights[0], weights[2])


def test_columns_are_matched_by_name(folder):
    """Genes in another order are the same genes: in training, in the test, and in prediction."""
    X, y = counts(200)
    order = np.random.default_rng(1).permutation(9)
    names = np.array([f"g{j}" for j in range(9)])
    np.savez("a.npz", X=X[:100], y=y[:100], feature_names=names)
    np.savez("b.npz", X=X[100:], y=y[100:], feature_names=names)
    np.savez("turned.npz", X=X[100:, order], y=y[100:], feature_names=names[order])
    run("select", "a.npz", "-k", 4, "--test", "b.npz", "-q", "--out", "r")
    run("select", "a.npz", "-k", 4, "--test", "turned.npz", "-q", "--out", "t")
    assert written("r")["model"] == written("t")["model"]
    assert summary_of("r")["evaluation"]["confusion"] == summary_of("t")["evaluation"]["confusion"]
    answers = run("predict", "r/model.npz", "b.npz")
    assert run("predict", "r/model.npz", "turned.npz") == answers
    lost = load_model("r/model.npz").columns[0]
    np.savez("lost.npz", X=np.delete(X, lost, axis=1), feature_names=np.delete(names, lost))
    assert f"needs the column `g{lost}`" in run("predict", "r/model.npz", "lost.npz", status=2)
    for name in ("b.npz", "turned.npz"):
        run("count", name, "-o", f"c-{name}")
        run("count", f"c-{name}", "-o", f"{name}.stats")
    run("select", "[bt]*.npz", "--test", 0, "-k", 4, "-q", "--out", "many")
    both = SparseMultinomialNB(k=4).fit(np.vstack([X[100:], X[100:]]), np.r_[y[100:], y[100:]])
    assert load_model("many/model.npz").columns.tolist() == both.get_support(indices=True).tolist()


def test_the_predicted_error_is_of_whole_rows_whatever_the_least_count(folder, monkeypatch):
    for held in (1 << 25, 0):
        monkeypatch.setattr(data, "HELD_BYTES", held)
        run("select", "all.parquet", "-k", 3, "--words", "min-count=2", "-q", "--out", f"r{held}")
    errors = [summary_of(f"r{held}")["evaluation"]["predicted_error"] for held in (1 << 25, 0)]
    assert errors[0] == errors[1]


def test_svmlight_files_tell_their_width(folder):
    X, y = counts()
    X[:, -1] = 0
    dump_svmlight_file(X[:60], (y == "b").astype(int)[:60], "0.svmlight", zero_based=False)
    X[90, -1] = 3
    dump_svmlight_file(X[60:], (y == "b").astype(int)[60:], "1.svmlight", zero_based=False)
    run("select", "?.svmlight", "-k", 3, "--test", 0, "-q")
    model = load_model("result/model.npz")
    assert model.n_features == 9
    expected = SparseMultinomialNB(k=3).fit(X, y)
    np.testing.assert_allclose(model.rule.weights, expected.rule_.weights, rtol=1e-12)


STRAY = 'text,label\nab,x\n"ab"c,x\nd,y\n'


def test_one_fault_has_one_message_whatever_the_way(folder, monkeypatch):
    Path("a.csv").write_text(STRAY)
    said = [run(*job, status=2) for job in (("select", "a.csv"), ("count", "a.csv", "-o", "c"))]
    monkeypatch.setattr(data, "HELD_BYTES", 0)
    said.append(run("select", "a.csv", "--on", 2, status=2))
    assert said[0] == said[1] == said[2]
    assert "a.csv: line 3" in said[0]


# What the learner finds is what the library finds ------------------------------------------------


@pytest.mark.parametrize(
    ("model", "estimator"),
    [
        ("poisson", SparsePoissonNB(k=3)),
        ("negative-binomial", SparseNegativeBinomialNB(k=3)),
        ("gaussian", SparseGaussianNB(k=3)),
        ("l2-centers", SparseL2Centers(k=3)),
    ],
)
def test_shards_counted_apart_train_what_all_rows_train(folder, model, estimator):
    X, y = counts()
    for i in range(3):
        np.savez(f"s{i}.npz", X=X[40 * i : 40 * i + 40], y=y[40 * i : 40 * i + 40])
        run("count", f"s{i}.npz", "-o", "records", "--model", model)
    run("count", "records", "-o", "stats.npz")
    run("select", "stats.npz", "-k", 3, "--model", model, "-o", "solved")
    fitted = estimator.fit(X, y)
    found = load_model("solved/model.npz")
    assert found.columns.tolist() == fitted.get_support(indices=True).tolist()
    scores = found.scores(X[:, found.columns])
    np.testing.assert_array_equal(np.array(found.classes)[scores.argmax(1)], fitted.predict(X))
    other = "multinomial" if model != "poisson" else "gaussian"
    message = run("select", "stats.npz", "--model", other, "-o", "no", status=2)
    assert f"count the shards again with --model {other}" in message


@pytest.mark.parametrize("model", NUMBER_MODELS)
def test_columns_counted_too_seldom_are_left_out_of_every_model(folder, model):
    X, y = counts()
    X[:, 4] = 0
    X[3, 4] = 1  # alone in its column, among the rows of training or not
    np.savez("a.npz", X=X, y=y)
    run(
        "select",
        "a.npz",
        "-k",
        "all",
        "--model",
        model,
        "--words",
        "min-count=2",
        "--test",
        0,
        "-q",
    )
    assert load_model("result/model.npz").columns.tolist() == [0, 1, 2, 3, 5, 6, 7, 8]


@pytest.mark.parametrize(
    "model", [name for name in NUMBER_MODELS if MODELS[name].takes == "counts"]
)
def test_counts_below_0_are_refused_with_their_place(folder, model):
    Path("a.csv").write_text("u,v,label\n1,2,a\n3,-4,b\n5,6,a\n7,80,b\n")
    Path("b.csv").write_text("u,v,label\n1,2,a\n3,4,b\n5,6,a\n7,80,b\n")
    options = ("--read", "numbers", "--model", model)
    jobs = [("select", "a.csv", "--test", 0), ("select", "b.csv", "--test", "a.csv")]
    if not MODELS[model].regions:
        jobs.append(("count", "a.csv", "-o", "c"))
    for job in jobs:
        assert "a.csv: line 3: the value of v is -4, and" in run(*job, *options, status=2)


def test_statistics_of_any_sign_do_not_train_a_model_of_counts(folder):
    Path("a.csv").write_text("u,v,label\n1,-2,a\n3,-4,b\n5,6,a\n7,-80,b\n")
    run("count", "a.csv", "-o", "records", "--model", "gaussian")
    run("count", "records", "-o", "stats.npz")
    message = run("select", "stats.npz", "-k", 1, "--model", "negative-binomial", status=2)
    assert "the mean of column 1 is -42 in a class" in message


def test_statistics_that_texts_do_not_have_are_refused(folder):
    message = run("count", "all.parquet", "-o", "c", "--model", "negative-binomial", status=2)
    assert "and not moments; give the files to `naively select`" in message


def test_k_is_chosen_on_folds_of_the_training_rows(folder):
    """Against the library, on the same folds of the same rows."""
    X, y = counts(600)
    np.savez("a.npz", X=X, y=y)
    for k in ("auto", "simplest"):
        run("select", "a.npz", "-k", k, "-q", "--out", k)
    parts = parts_of("a.npz", Layout())
    parting = parted(Parting(0.2, n_folds=5), parts, Layout())
    kinds = parting.of_part(parts[0].name).kinds(len(y), None)
    train = np.flatnonzero(kinds != TEST)
    folds = kinds[train] - TRAIN
    splits = [(np.flatnonzero(folds != t), np.flatnonzero(folds == t)) for t in range(5)]
    ks = range(10)
    search = SparsityCV(SparseMultinomialNB(), ks=ks, cv=splits).fit(X[train], y[train])
    assert len(load_model("simplest/model.npz").names) == search.simplest_k_
    points = summary_of("auto")["path"]["points"]
    accuracy = {point["k"]: point["accuracy"] for point in points}
    means = search.cv_results_["mean_test_score"]
    error, n = 1 - means.max(), len(train)
    doubt = max(
        np.sqrt((error + 1 / n) * (1 - error) / n),
        search.cv_results_["std_test_score"][search.best_index_] / np.sqrt(4),
    )
    near = int(np.argmax(means >= means.max() - doubt / 4 - 1e-12))
    assert len(load_model("auto/model.npz").names) == ks[near]
    sizes = np.bincount(folds)
    scores = np.array([search.cv_results_[f"split{t}_test_score"] for t in range(5)])
    weighted = sizes @ scores / sizes.sum()
    assert means == pytest.approx(weighted, abs=0.01)
    for k in ks[1:]:
        assert accuracy[k] == pytest.approx(weighted[k])


def test_the_accuracies_of_other_k_are_those_of_models_of_their_own(folder):
    for k in (1, 2, 4):
        run("select", "data/0.parquet", "--test", "data/1.parquet", "-k", k, "-q", "--out", f"r{k}")
    points = {point["k"]: point["accuracy"] for point in summary_of("r2")["path"]["points"]}
    for k in (1, 2, 4):
        assert points[k] == pytest.approx(summary_of(f"r{k}")["evaluation"]["accuracy"])


# Commands ----------------------------------------------------------------------------------------


@pytest.mark.parametrize("model", ["multinomial", "bernoulli"])
def test_select_and_count_merge_solve_lead_to_the_same_model(folder, model):
    options = ["-k", 3, "--model", model]
    run("select", "data/*.parquet", *options, "--out", "selected", "--on", 2)
    for i in range(4):
        run("count", f"data/{i}.parquet", "-o", "records", "--model", model)
    run("count", "records", "-o", "stats.npz")
    run("select", "stats.npz", *options, "-o", "solved")
    first, second = (load_model(f"{way}/model.npz") for way in ("selected", "solved"))
    assert first.names == second.names
    np.testing.assert_array_equal(first.rule.weights, second.rule.weights)
    summary = summary_of("selected")
    assert summary["evaluation"]["accuracy"] > 0.9
    assert 40 < summary["evaluation"]["test_rows"] < 120
    assert "answers" not in run("predict", "solved/model.npz", "all.parquet")


def test_solving_has_a_path(folder):
    run("count", "data/0.parquet", "-o", "records")
    run("count", "records", "-o", "stats.npz")
    run("select", "stats.npz", "-k", 3, "-o", "solved")
    summary = summary_of("solved")
    assert [point["k"] for point in summary["path"]["points"]] == [1, 2, 3, 4, 5, 6]
    assert summary["path"]["chosen"] == 3


def test_a_split_column_and_a_test_file(folder):
    texts, labels = zip(*rows(), strict=True)
    split = ["train" if i < 200 else "test" if i < 300 else "dev" for i in range(400)]
    pq.write_table(pa.table({"text": texts, "label": labels, "split": split}), "split.parquet")
    run("select", "split.parquet", "-k", 2, "--read", "split=split", "--out", "a")
    assert summary_of("a")["n_rows"] == 200
    assert summary_of("a")["evaluation"]["test_rows"] == 100
    assert "100 rows that are neither train nor test" in " ".join(summary_of("a")["notes"])
    run("select", "data/0.parquet", "-k", 2, "--test", "data/1.parquet", "--out", "b")
    assert summary_of("b")["n_rows"] == summary_of("b")["evaluation"]["test_rows"] == 100


def test_counting_again_changes_nothing_and_repeats_are_refused(folder):
    run("count", "data/0.parquet", "-o", "records")
    first = {path: path.read_bytes() for path in (folder / "records").iterdir()}
    run("count", "data/0.parquet", "-o", "records")
    assert {path: path.read_bytes() for path in (folder / "records").iterdir()} == first
    run("count", "records", "-o", "one.npz")
    message = run("count", "records", "one.npz", "-o", "two.npz", status=2)
    assert "counted once" in message
    assert not (folder / "two.npz").exists()


def test_other_settings_are_not_merged(folder):
    run("count", "data/0.parquet", "-o", "records")
    run("count", "data/1.parquet", "-o", "records", "--words", "ngrams=1,2")
    assert "ngram_range" in run("count", "records", "-o", "two.npz", status=2)


def test_a_run_with_checkpoints_is_resumed(folder):
    for _ in range(2):
        run("select", "data/*.parquet", "-k", 2, "--checkpoint", "done", "--out", "r")
    assert len(list((folder / "done").iterdir())) == 2


def test_presence_of_words_for_a_multinomial_model(folder):
    run("select", "all.parquet", "-k", 3, "--test", 0)  # the default for words
    X = np.array([[word in text.split() for word in sorted({*GOOD, *BAD})] for text, _ in rows()])
    expected = SparseMultinomialNB(k=3).fit(X, [label for _, label in rows()])
    found = load_model("result/model.npz")
    assert found.columns.tolist() == expected.get_support(indices=True).tolist()
    np.testing.assert_allclose(found.rule.weights, expected.rule_.weights, rtol=1e-12)
    twice = run("explain", "result", "great great great")
    assert twice.replace("great great great", "great") == run("explain", "result", "great")


@pytest.mark.parametrize(
    "arguments",
    [
        ["count", "data/0.parquet", "-o", "records"],
        ["select", "data/*.parquet", "-k", "3"],
        ["select", "data/*.parquet", "-k", "auto", "--model", "bernoulli"],
        ["select", "a.npz", "-k", "3", "--model", "gaussian"],
        ["select", "a.npz", "-k", "3", "--model", "l1-centers"],
        ["select", "a.npz", "-k", "3", "--model", "categorical"],
        ["select", "a.svmlight", "-k", "3", "--model", "poisson"],
        ["cv", "a.npz", "--model", "l2-centers"],
        ["cv", "all.parquet"],
        ["predict", "result/model.npz", "all.parquet"],
        ["explain", "result/model.npz", "a great film"],
    ],
    ids=" ".join,
)
def test_no_command_needs_scikit_learn(folder, arguments):
    X, y = counts()
    np.savez("a.npz", X=X, y=y)
    dump_svmlight_file(X, (y == "b").astype(int), "a.svmlight")
    if "result/model.npz" in arguments:
        run("select", "all.parquet", "-k", 3, "-q")
    script = (
        "import sys; from naively.cli.commands import naively;"
        f"naively({arguments!r}, standalone_mode=False);"
        "sys.exit('sklearn' in sys.modules)"
    )
    assert subprocess.run([sys.executable, "-c", script], check=False).returncode == 0


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["select", "no/*.parquet"], "no/*.parquet: no such file"),
        (["select", "data/*.parquet", "--text", "words"], "no column `words`"),
        (["select", "data/*.parquet", "-k", "999"], "at most the number of features, 6; got 999"),
        (
            ["select", "data/*.parquet", "--words", "min-count=9999"],
            "no feature is counted 9,999 times",
        ),
        (
            ["select", "data/*.parquet", "--train", "scale=std"],
            "`--train scale` has no effect on --model multi",
        ),
        (
            ["select", "all.parquet", "--model", "bernoulli", "--choose", "exact"],
            "`--choose exact` has no effect",
        ),
        (["select", "all.parquet", "--read", "names=n"], "--read names has no effect"),
        (["select", "data/*.parquet", "--read", "ignore=x"], "--read ignore has no effect"),
        (["count", "data", "-o", "x.npz"], "holds no statistics"),
        (["select", "data/*.parquet", "--on", "tcp:x:1"], "the address of one (tcp://HOST:PORT"),
        (
            ["select", "data/*.parquet", "--on", "tcp://127.0.0.1:1"],
            "no scheduler answers there",
        ),
        (
            ["select", "data/*.parquet", "--on", "dask", "--checkpoint", "x.npz"],
            "--checkpoint is of this machine only",
        ),
        (
            ["count", "all.parquet", "-o", "x.npz", "--read", "resolution=0.5"],
            "--read resolution is of numbers",
        ),
        (["count", "all.parquet", "-o", "x.npz", "--model", "gaussian"], "no column holds num"),
        (["select", "no.npz", "-k", 3], "no.npz: no such file"),
        (["select", "no.stats", "-k", 3], "no.stats: No such file or directory; check name"),
        (["select", "data", "-k", 3], "data: it is a folder; name a file, or many by"),
    ],
)
def test_what_cannot_be_done_is_said_in_a_sentence(folder, arguments, message):
    assert message in run(*arguments, status=2)
    assert not (folder / "x.npz").exists()
    assert not (folder / "result").exists()


@pytest.mark.parametrize(
    ("encoding", "separator", "options"),
    [
        ("latin-1", ",", ["--read", "encoding=latin-1"]),
        ("utf-16", ";", ["--read", "encoding=utf-16", "--read", "delimiter=;"]),
        ("utf-8", "\t", ["--read", "format=tsv", "--read", "quotes=false"]),
    ],
)
def test_a_table_of_any_style_gives_the_same_result(folder, encoding, separator, options):
    for name, way in (("a.csv", options), ("plain.csv", [])):
        style = (encoding, separator) if way else ("utf-8", ",")
        lines = [style[1].join(("text", "label"))]
        lines += [style[1].join((f"{text} café", label)) for text, label in rows()]
        (folder / name).write_text("\n".join(lines) + "\n", style[0])
        run("select", name, "-k", 3, "-q", "--test", 0, *way, "--out", f"{name}r")
    first, second = (summary_of(f"{name}r") for name in ("a.csv", "plain.csv"))
    assert first["classes"] == second["classes"]
    assert first["features"] == second["features"]


def test_where_nothing_can_be_written_is_named(folder):
    (folder / "work").write_text("")
    message = run("select", "data/*.parquet", "-k", 3, "-q", "--checkpoint", "work", status=2)
    assert "work: cannot be written" in message
    assert not (folder / "result").exists()


@pytest.mark.parametrize("name", ["t.parquet", "t.jsonl"])
def test_lists_of_strings_are_counted_as_they_stand(folder, name):
    found = [(text.title().split(), label) for text, label in rows()]
    found[7] = ([], "neg")
    table = pa.table(dict(zip(("text", "label"), zip(*found, strict=True), strict=True)))
    if name == "t.parquet":
        pq.write_table(table, name, row_group_size=90)
    else:
        Path(name).write_text("\n".join(map(json.dumps, table.to_pylist())))
    options = [
        "select",
        name,
        "--words",
        "analyzer=tokens",
        "--words",
        "stop-words=stop.txt",
        "-k",
        3,
    ]
    Path("stop.txt").write_text("Film\n")
    run(*options, "--out", "r")
    summary = summary_of("r")
    assert summary["settings"]["features"] == "rows that hold it (tokens)"
    assert {row["name"] for row in summary["features"]} <= {"Great", "Lovely", "Awful", "Boring"}
    assert summary["features"][0]["example"]["hit"] == summary["features"][0]["name"]
    assert "Awful" in run("explain", "r/model.npz", "Awful Boring The")
    run(
        "count",
        name,
        "-o",
        "records",
        "--words",
        "analyzer=tokens",
        "--words",
        "stop-words=stop.txt",
    )
    assert "Film" not in list(load_record(next((folder / "records").iterdir())).names)
    assert "counts lists of strings" in run(
        "select", "all.parquet", "--words", "analyzer=tokens", status=2
    )


def test_a_split_column_of_other_words_is_named_with_its_place(folder):
    lines = [
        json.dumps({"text": t, "label": y, "part": "ab"[i % 2]}) for i, (t, y) in enumerate(rows())
    ]
    (folder / "a.jsonl").write_text("\n".join(lines))
    message = run("select", "a.jsonl", "--read", "split=part", "-q", status=2)
    assert "a.jsonl: column `part` must hold train and test" in message


def test_a_shard_under_two_names_is_one_record(folder):
    assert "1 record" in run("count", "data/0.parquet", "./data/0.parquet", "-o", "counted", "-q")


def test_a_layer_of_cells_is_chosen_by_its_name(folder):
    X, y = counts()
    write_h5ad(X, y, "a.h5ad", "layers/raw_counts")
    run("select", "a.h5ad", "--read", "layer=raw_counts", "-k", 3, "--test", 0, "-q")
    expected = SparseMultinomialNB(k=3).fit(X, y)
    found = load_model("result/model.npz")
    assert found.columns.tolist() == expected.get_support(indices=True).tolist()
    assert "no layer" in run("select", "a.h5ad", "--read", "layer=no", status=2).replace("`", "")
