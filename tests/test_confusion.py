"""The confusion matrix, matched by name; and rows called as their file calls them."""

import csv
import json
import re
from pathlib import Path

import numpy as np
import pytest
from click.testing import CliRunner
from tests.test_report import summary_of

from naively.cli.commands import naively
from naively.jobs.study import confusion_of
from naively.report.page import summary_html
from naively.report.reading import summary_of_json
from naively.report.summary import Confusion

CLASSES = ("a", "b", "c", "d", "e", "a longer name")


def run(*arguments):
    result = CliRunner().invoke(naively, [str(each) for each in arguments])
    assert result.exit_code == 0, (result.output, result.exception)
    return result.output


def test_classes_without_test_rows_keep_their_row():
    confusion = confusion_of({("b", "b"): 3, ("d", "a"): 1, ("z", CLASSES[5]): 2}, CLASSES)
    assert confusion.answers == CLASSES
    assert confusion.truths == (*CLASSES, "z")
    for truth, row in zip(confusion.truths, confusion.rows, strict=True):
        for answer, n in zip(confusion.answers, row, strict=True):
            assert n == {("b", "b"): 3, ("d", "a"): 1, ("z", CLASSES[5]): 2}.get((truth, answer), 0)


def test_rows_and_columns_of_the_page_have_the_same_numbers():
    """Also in a summary of an earlier version, which has no rows for classes without tests."""
    rows = ((0, 3, 0, 0, 0, 0), (0, 0, 0, 2, 0, 0))
    summary = summary_of(classes=CLASSES)
    old = Confusion(("b", "z"), CLASSES, rows)
    object.__setattr__(summary.evaluation, "confusion", old)
    page = summary_html(summary)
    table = page[page.index('<table class="confusion">') :]
    table = table[: table.index("</table>")]
    columns = re.findall(r'<bdi title="([^"]*)">(\d)</bdi>', table)
    assert columns == [(name, str(i)) for i, name in enumerate(CLASSES, 1)]
    heads = re.findall(
        r'<th scope="row" class="text">(\d*) <bdi class="cut" title="\w">(\w)</bdi>', table
    )
    assert heads == [("2", "b"), ("", "z")]
    right = [" right" in cell for cell in re.findall(r'<td class="([^"]*)">', table)]
    assert right == [False, True, *[False] * 10]


def test_many_classes_of_short_names_have_them_above_their_columns():
    digits = tuple("0123456789")
    summary = summary_of(classes=digits)
    rows = tuple((i,) * 10 for i in range(10))
    object.__setattr__(summary.evaluation, "confusion", Confusion(digits, digits, rows))
    table = summary_html(summary).split('<table class="confusion">')[1].split("</table>")[0]
    heads = re.findall(r'<bdi class="cut" title="\d">(\d)</bdi>', table)
    assert heads == [*digits, *digits]  # columns, then rows: no number that is none of theirs


@pytest.fixture
def folder(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    return tmp_path


NAMES = [f"cell-{i}" for i in range(40)]
GENES = [f"G{j}" for j in range(6)]


def table():
    rng = np.random.default_rng(0)
    y = np.repeat(["B", "T"], 20)
    X = rng.poisson(2, (40, 6)) + 5 * (y == "T")[:, None] * (np.arange(6) < 2)
    return X, y


def write_table(path, *, transposed, head="", names=NAMES):
    X, y = table()
    rows = [[head, *GENES, "label"]]
    rows += [[name, *row, label] for name, row, label in zip(names, X.tolist(), y, strict=True)]
    with open(path, "w", newline="") as file:
        csv.writer(file).writerows(zip(*rows, strict=True) if transposed else rows)


def write_h5ad(path, sparse):
    import anndata as ad
    import pandas as pd

    X, y = table()
    X = X.astype(np.float32)
    obs = pd.DataFrame({"label": pd.Categorical(y)}, index=NAMES)
    data = ad.AnnData(sparse(X), obs=obs, var=pd.DataFrame(index=GENES))
    data.write_h5ad(path)


def written(kind):
    import scipy.sparse as sp

    if kind == "csv":
        write_table("a.csv", transposed=False)
        return "a.csv", ["--read", "numbers"]
    if kind == "named column":
        write_table("a.csv", transposed=False, head="cell")
        return "a.csv", ["--read", "numbers"]
    if kind == "transposed":
        write_table("a.csv", transposed=True)
        return "a.csv", ["--read", "transpose"]
    if kind == "parquet":
        import pyarrow as pa
        import pyarrow.parquet as pq

        X, y = table()
        columns = {"cell": NAMES} | dict(zip(GENES, X.T, strict=True)) | {"label": y}
        pq.write_table(pa.table(columns), "a.parquet")
        return "a.parquet", ["--read", "numbers"]
    sparse = {"h5ad": np.asarray, "h5ad csr": sp.csr_matrix, "h5ad csc": sp.csc_matrix}[kind]
    write_h5ad("a.h5ad", sparse)
    return "a.h5ad", []


@pytest.mark.filterwarnings("ignore::FutureWarning", "ignore::DeprecationWarning")
@pytest.mark.parametrize(
    "kind", ["csv", "named column", "transposed", "parquet", "h5ad", "h5ad csr", "h5ad csc"]
)
def test_rows_are_called_as_their_file_calls_them(folder, kind):
    path, options = written(kind)
    run("select", path, *options, "-k", 2)
    summary = json.loads(Path("result/summary.json").read_text("utf-8"))
    X, y = table()
    for row in summary["features"]:
        example = row["example"]
        i = NAMES.index(example["name"])
        assert y[i] == example["label"]
        assert X[i, GENES.index(row["name"])] == int(example["hit"])
        assert example["name"] in Path("result/report.html").read_text("utf-8")
    turned = ["--read", "transpose"] if kind == "transposed" else []
    run("predict", "result", path, *turned, "--out", "labels.csv")
    with open("labels.csv", newline="") as file:
        assert [row["row"] for row in csv.DictReader(file)] == NAMES


def test_rows_without_names_have_their_numbers(folder):
    X, y = table()
    with open("a.csv", "w", newline="") as file:
        csv.writer(file).writerows(
            [[*GENES, "label"], *([*r, c] for r, c in zip(X, y, strict=True))]
        )
    run("select", "a.csv", "--read", "numbers", "-k", 2)
    summary = json.loads(Path("result/summary.json").read_text("utf-8"))
    assert {row["example"]["name"] for row in summary["features"]} == {""}
    run("predict", "result", "a.csv", "--out", "labels.csv")
    with open("labels.csv", newline="") as file:
        assert [row["row"] for row in csv.DictReader(file)] == [str(i) for i in range(1, 41)]


def test_a_summary_of_an_earlier_version_is_read(folder):
    write_table("a.csv", transposed=False)
    run("select", "a.csv", "--read", "numbers", "-k", 2)
    record = json.loads(Path("result/summary.json").read_text("utf-8"))
    for row in record["features"]:
        del row["example"]["name"]
    assert summary_of_json(json.dumps(record)).features[0].example.name == ""
