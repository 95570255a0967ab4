"""Names, labels and keys that a spreadsheet computes are told, and stay as they are."""

import csv
import json
from pathlib import Path

import pytest
from click.testing import CliRunner

from naively.cli.commands import naively
from naively.report.names import formula

ROWS = "text,label,id\n" + 'good fun,"=1+1",@a\nbad dull,no,b\n' * 6
TOLD = "Spreadsheets take what begins with =, +, - or @ for a formula, as {} here does"


@pytest.fixture
def run(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)

    def run(*arguments):
        found = CliRunner().invoke(naively, [*arguments])
        assert found.exit_code == 0, found.output
        return " ".join(found.output.split())

    return run


def test_labels_and_keys_that_are_formulas_are_told(run):
    Path("a.csv").write_text(ROWS)
    assert TOLD.format("=1+1") in run("select", "a.csv", "-k", "2", "--quick")
    assert any(
        "=1+1" in each for each in json.loads(Path("result/summary.json").read_text())["notes"]
    )
    with open("result/features.csv", newline="") as file:
        assert {row["class"] for row in csv.DictReader(file)} == {"=1+1", "no"}
    predict = ("predict", "result/model.npz", "a.csv", "--out", "p.csv")
    assert TOLD.format("=1+1") in run(*predict)
    Path("a.csv").write_text(ROWS.replace("=1+1", "yes"))
    assert "Spreadsheets" not in run("select", "a.csv", "-k", "2", "--quick")
    assert "Spreadsheets" not in run(*predict)
    assert TOLD.format("@a") in run(*predict, "--id", "id")


@pytest.mark.parametrize(
    ("name", "computed"),
    [("=1", True), ("+x", True), ("-2+3", True), ("@x", True), ("\t=1", True),
     ("-2", False), ("+1e5", False), ("-inf", False), ("a=1", False), ("", False), (" =1", False)],
)  # fmt: skip
def test_what_a_formula_is(name, computed):
    assert (formula(["word", None, name]) is not None) == computed
