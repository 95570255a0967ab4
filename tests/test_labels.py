"""One label has one spelling, whatever file it stands in; what differs by spelling is told."""

import json
from pathlib import Path

import h5py
import numpy as np
import pandas as pd
import pytest

from naively.jobs.model_file import load_model
from naively.jobs.strangers import strangers_note
from naively.read.layout import Layout
from naively.read.parts import collected, parts_of
from naively.text.labels import folded
from test_names import run

N = 24
X = np.random.default_rng(0).poisson(np.where(np.arange(N)[:, None] % 2, [1, 6, 3], [6, 1, 3]))
WHICH = np.arange(N) % 2
KINDS = {  # two labels as values with a type, and as text
    "boolean": ([False, True], ["False", "True"]),
    "whole float": ([1.0, 2.0], ["1", "2"]),
    "integer": ([1, 2], ["1", "2"]),
    "float": ([0.5, 1.25], ["0.5", "1.25"]),
    "large": ([2**53 + 1, 2**62 + 1], [str(2**53 + 1), str(2**62 + 1)]),
    "text": (["one", "Two"], ["one", "Two"]),
}
NAMES = ["u", "v", "w"]


@pytest.fixture(autouse=True)
def _folder(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)


def parquet(path, y):
    pd.DataFrame(X, columns=NAMES).assign(label=y).to_parquet(path)


def dictionary(path, y):
    pd.DataFrame(X, columns=NAMES).assign(label=pd.Categorical(y)).to_parquet(path)


def jsonl(path, y):
    rows = [dict(zip(NAMES, row, strict=True)) for row in X.tolist()]
    lines = [
        json.dumps(row | {"label": label}) for row, label in zip(rows, y.tolist(), strict=True)
    ]
    Path(path).write_text("\n".join(lines) + "\n")


def npz(path, y):
    np.savez(path, X=X, label=y, feature_names=NAMES)


def frame(file, name, index):
    file.create_group(name).attrs["_index"] = "_index"
    file[name].create_dataset("_index", data=index, dtype=h5py.string_dtype())


def h5ad(path, y, *, categorical=False):
    with h5py.File(path, "w") as file:
        file["X"] = X
        frame(file, "obs", [f"c{i}" for i in range(N)])
        frame(file, "var", NAMES)
        if categorical:
            known, codes = np.unique(y, return_inverse=True)
            file["obs/label/codes"] = codes.astype(np.int8)
            y, place = known, "obs/label/categories"
        else:
            place = "obs/label"
        text = y.dtype.kind in "OU"
        file.create_dataset(place, data=list(y) if text else y,
                            dtype=h5py.string_dtype() if text else None)  # fmt: skip


def categories(path, y):
    h5ad(path, y, categorical=True)


WRITERS = {
    "a.parquet": parquet,
    "b.parquet": dictionary,
    "a.jsonl": jsonl,
    "a.npz": npz,
    "a.h5ad": h5ad,
    "b.h5ad": categories,
}
TABLES = ("parquet", "jsonl", "csv")


def column(kind):
    return np.array(KINDS[kind][0])[WHICH]


def options(path):
    return (
        (
            "--read",
            "numbers",
        )
        if path.endswith(TABLES)
        else ()
    )


@pytest.mark.parametrize("kind", KINDS)
def test_a_label_is_spelled_alike_in_every_container(kind):
    expected = [KINDS[kind][1][i] for i in WHICH]
    for path, write in WRITERS.items():
        write(path, column(kind))
        batch = collected(parts_of(path, Layout()), Layout())
        assert batch.labels.tolist() == expected, path
    text = pd.DataFrame(X, columns=NAMES).assign(label=expected)
    text.to_csv("a.csv", index=False)
    assert collected(parts_of("a.csv", Layout()), Layout()).labels.tolist() == expected


@pytest.mark.parametrize("kind", ["boolean", "whole float"])
@pytest.mark.parametrize("train", [*WRITERS, "a.csv"])
def test_a_model_of_one_container_knows_the_labels_of_the_others(kind, train):
    pd.DataFrame(X, columns=NAMES).assign(label=np.array(KINDS[kind][1])[WHICH]).to_csv(
        "a.csv", index=False
    )
    for path, write in WRITERS.items():
        write(path, column(kind))
    run("select", train, *options(train), "-k", 2, "--test", 0, "--out", "r", "-q")
    assert list(load_model("r/model.npz").classes) == KINDS[kind][1]
    accuracy = set()
    for path in (*WRITERS, "a.csv"):
        told = run("predict", "r", path, "--label", "label", "--out", "o.csv", "-q").stdout
        accuracy |= {line for line in told.splitlines() if line.startswith("Accuracy")}
        assert "training" not in told
        run("select", train, *options(train), "-k", 2, "--test", path, "--out", "t", "-q")
        assert json.loads(Path("t/summary.json").read_text())["evaluation"]["unseen_rows"] == 0
    assert len(accuracy) == 1
    assert float(accuracy.pop().split()[1]) > 0.8


def csv(path, labels):
    pd.DataFrame(X, columns=NAMES).assign(label=labels).to_csv(path, index=False)


TEXTS = {  # labels of the training, of the test, and what is said of them
    "case": (["true", "false"], ["True", "False"], "False and false; True and true"),
    "point": (["1", "2"], ["1.", "2."], "1. and 1; 2. and 2"),
    "other": (["1", "2"], ["good", "bad"], None),
}


@pytest.mark.parametrize("which", TEXTS)
def test_labels_that_no_row_of_the_training_has_are_told_by_every_command(which):
    known, strange, alike = TEXTS[which]
    csv("a.csv", np.array(known)[WHICH])
    csv("b.csv", np.array(strange)[WHICH])
    run("select", "a.csv", "--read", "numbers", "-k", 2, "--test", "b.csv", "--out", "r", "-q")
    notes = json.loads(Path("r/summary.json").read_text())["notes"]
    for out in ((), ("--out", "o.csv")):
        found = run("predict", "r", "b.csv", "--label", "label", *out, "-q")
        told = " ".join((found.stdout if out else found.stderr).split())
        assert "Accuracy 0.0000 (0.0000 to 0.1380 with 95 % confidence) on 24 rows" in told
        assert "24 test rows have labels that training does not have" in told
        assert "there are no others" in told
        for note in notes:
            assert note in told or "labels" not in note.lower()
    said = "Labels of the test and of the training that differ by spelling only are not the same: "
    if alike:
        assert f"{said}{alike}. Write them alike." in notes
    else:
        assert not any("spelling" in note for note in notes)
    csv("b.csv", np.where(np.arange(N) < 3, strange[0], np.array(known)[WHICH]))
    found = run("predict", "r", "b.csv", "--label", "label", "--out", "o.csv", "-q")
    assert "3 test rows have labels that training does not have" in " ".join(found.stdout.split())
    assert "without them the accuracy is" in " ".join(found.stdout.split())


def test_known_labels_are_nothing_to_tell():
    assert list(strangers_note({"a": 3}, 2, ["a", "b"])) == []
    (note,) = strangers_note({"c": 1, "a": 4}, 3, ["a", "b"])
    assert note.startswith("1 test row has a label that training does not have (c) and counts")
    assert note.endswith("without them the accuracy is 0.7500.")


def test_classes_that_differ_by_a_point_are_told():
    csv("a.csv", np.array(["1", "1."])[WHICH])
    run("select", "a.csv", "--read", "numbers", "-k", 2, "--out", "r", "-q")
    notes = json.loads(Path("r/summary.json").read_text())["notes"]
    assert any("kept apart: 1 and 1.." in note for note in notes)


def test_what_labels_have_in_common():
    assert folded("TRUE") == folded("true") == "true"
    assert folded("1.0") == folded("1.") == folded("1.000") == folded("1")
    assert len({folded(each) for each in ("1.5", "10", "1", "v.0", "v", "1.50")}) == 6
