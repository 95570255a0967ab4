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
from tests.test_cli import refused, run


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
    rows = frame.to_csv().partition("\n")[2]
    Path("r.csv").write_text("g0,g1,g2,label\n" + rows)  # as write.table of R does
    for name in ("pandas.csv", "r.csv"):
        run("select", name, "--read", "numbers", "-k", "all", "-o", "out", "-q")
        assert sorted(features_of()) == ["g0", "g1", "g2"]


# What was tested, and on what --------------------------------------------------------------------


def words_table(name="words.csv", n=60):
    lines = [f"{'good fine' if i % 2 else 'bad poor'} word{i % 7},{'pn'[i % 2]},{i % 3}"
             for i in range(n)]  # fmt: skip
    Path(name).write_text("text,label,plate\n" + "\n".join(lines) + "\n")
    return name


@pytest.mark.parametrize("more", [("--markers", 3), ("--judge", "stability")], ids=["m", "s"])
def test_a_split_that_was_given_keeps_its_model(more):
    run("select", words_table("a.csv", 300), "--test", words_table("b.csv"), "-k", 3, *more, "-q",
        "-o", "out")  # fmt: skip
    found = summary_of()
    assert found["settings"]["final_rows"].startswith("trained on the training rows only")
    assert found["evaluation"]["shared_features"] is None
    assert found["n_rows"] == 300


def test_groups_that_cannot_be_parted_are_refused():
    head, *lines = Path(words_table()).read_text().splitlines()
    Path("one.csv").write_text("\n".join([head, *(line[:-1] + "0" for line in lines)]))
    one = ("all 60 rows are of one group", "--read groups=plate", "choose another column")
    refused("select", "one.csv", "--read", "groups=plate", match=one)
    refused("cv", "one.csv", "--read", "groups=plate", match=one)


def test_a_test_that_cannot_be_is_told():
    Path("few.csv").write_text("text,label\ngood,p\nbad,n\n")
    out = run("select", "few.csv", "--test", "0.1", "-k", 1, "-o", "out", "-q").output
    assert "No row was held out" in out and "--test 0.5" in out
    assert any("No row was held out" in note for note in summary_of()["notes"])


def test_a_table_of_several_kinds_tells_its_missing_values():
    frame, labels = numbers(60)
    frame = frame.astype(float).assign(label=labels)
    frame.iloc[:7, 1] = np.nan
    frame.to_csv("gaps.csv", index=False)
    run("select", "gaps.csv", "--model", "mixed", "-o", "out", "-q")
    assert summary_of()["profile"]["missing"] == 7
    assert "lacks a value is refused" not in Path("out/report.html").read_text()


# Names of files and of options -------------------------------------------------------------------


@pytest.mark.parametrize("name", ["a.parquet", "a.tsv", "a.json", "a.csv.gz"])
def test_csv_is_not_written_under_another_name(name):
    run("select", words_table(), "-k", 2, "-o", "out", "-q")
    refused("predict", "out", "words.csv", "-o", name, match=(name, "CSV", "choose one in .csv"))
    refused("cv", "words.csv", "-o", name, match=(name, "CSV"))


def test_an_option_that_is_given_twice_is_refused():
    run("select", words_table(), "-k", 2, "-o", "out", "-q")
    ids = ("predict", "out", "words.csv", "--id", "text", "--id", "plate")
    ks = ("select", "words.csv", "-k", 2, "-k", 3)
    keys = ("select", "words.csv", "--read", "groups=plate", "--read", "groups=text")
    for asked, option in ((ids, "--id"), (ks, "-k"), (keys, "--read groups")):
        assert f"{option} is given twice" in run(*asked, status=2).stderr
    run("select", "words.csv", "--text", "text", "--text", "plate", "-k", 2, "-o", "two", "-q")


@pytest.mark.parametrize("model", ["multinomial", "l1-centers"])
def test_a_copy_of_a_shard_is_told(model):
    frame, labels = numbers()
    frame.assign(label=labels).to_csv("a.csv", index=False)
    frame.assign(label=labels).to_csv("b.csv", index=False)
    frame.iloc[::-1].assign(label=labels[::-1]).to_csv("c.csv", index=False)
    asked = ("--model", model, "--read", "numbers", "-q", "-o")
    said = run("select", "?.csv", *asked, "out").output
    assert "copies of others" in said and "b.csv of a.csv." in said.replace("\n", " ")
    Path("b.csv").unlink()
    assert "copies" not in run("select", "?.csv", *asked, "out").output
    assert {each["name"]: each["rows"] for each in summary_of()["files"]} == {
        "a.csv": 40, "c.csv": 40,
    }  # fmt: skip
