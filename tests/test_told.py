"""What would go wrong in silence, with data that look right: read rightly, refused or told."""

import csv
import json
from pathlib import Path

import numpy as np
import pandas as pd
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from naively.jobs.model_file import load_model
from tests.test_cli import run


def features_of(out="out"):
    with open(f"{out}/features.csv", encoding="utf-8", newline="") as file:
        return [row["feature"] for row in csv.DictReader(file)]


def summary_of(out="out"):
    with open(f"{out}/summary.json", encoding="utf-8") as file:
        return json.load(file)


def numbers(n=40, m=3, seed=0):
    """Counts of two classes, of which the first feature tells one from the other."""
    rng = np.random.default_rng(seed)
    labels = np.array(["a", "b"] * (n // 2))
    X = rng.poisson(2, (n, m))
    X[:, 0] += 4 * (labels == "b")
    return pd.DataFrame(X, columns=[f"g{j}" for j in range(m)]), labels


@pytest.fixture(autouse=True)
def _folder(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)


# The index of pandas ----------------------------------------------------------------------------

INDICES = {
    "integers": pd.Index(np.arange(40) * 10),
    "named": pd.Index(np.arange(40) * 10, name="event"),
    "strings": pd.Index([f"S{i}" for i in range(40)]),
    "range": pd.RangeIndex(40),
    "two": pd.MultiIndex.from_product([list("ab"), range(20)], names=["donor", "cell"]),
}


@pytest.mark.parametrize("index", INDICES.values(), ids=INDICES)
@pytest.mark.parametrize("model", ["poisson", "mixed"])
def test_the_index_of_a_frame_is_no_feature(index, model):
    frame, labels = numbers()
    frame = frame.assign(label=labels).set_index(index)
    frame.to_parquet("table.parquet")
    read = [] if model == "mixed" else ["--read", "numbers"]
    run("select", "table.parquet", "--model", model, *read, "-k", "all", "-o", "out", "-q")
    assert sorted(features_of()) == ["g0", "g1", "g2"]
    answers = run("predict", "out", "table.parquet", "-q").output.splitlines()[1:]
    names = [line.rpartition(",")[0].strip('"') for line in answers]
    expected = [", ".join(map(str, each)) if isinstance(each, tuple) else str(each)
                for each in index]  # fmt: skip
    assert names == (expected if index is not INDICES["range"] else [*map(str, range(1, 41))])


def test_an_index_that_is_the_label_is_the_label():
    frame, labels = numbers()
    frame.set_index(pd.Index(labels, name="label")).to_parquet("table.parquet")
    run("select", "table.parquet", "--read", "numbers", "--model", "poisson", "-o", "out", "-q")
    assert sorted(features_of()) == ["g0", "g1", "g2"]


def test_genes_by_samples_with_numbers_for_names():
    frame, labels = numbers()
    frame.columns = [5, 77, 301]  # as Entrez numbers genes
    turned = frame.set_axis([f"s{i}" for i in range(40)]).T
    turned.to_parquet("turned.parquet")
    Path("labels.txt").write_text("\n".join(labels))
    asked = ("--read", "transpose", "--model", "poisson", "--read", "labels=labels.txt")
    run("select", "turned.parquet", *asked, "-k", 1, "-o", "out", "-q")
    assert features_of() == ["5"]
    assert summary_of()["n_rows"] == 40


@pytest.mark.parametrize("rows", [range(40), [f"S{i}" for i in range(40)]], ids=["int", "str"])
def test_names_of_rows_of_csv_are_no_feature(rows):
    frame, labels = numbers()
    frame = frame.assign(label=labels).set_index(pd.Index(rows))
    frame.to_csv("pandas.csv")
    content = frame.to_csv().partition("\n")
    with open("r.csv", "w") as file:  # as write.table of R does
        file.write("g0,g1,g2,label\n" + content[2])
    for name in ("pandas.csv", "r.csv"):
        run("select", name, "--read", "numbers", "-k", "all", "-o", "out", "-q")
        assert sorted(features_of()) == ["g0", "g1", "g2"]
