"""Ways out that messages name are there, and options that change nothing are refused."""

import json
import re
from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from click.testing import CliRunner

from conftest import strange_options
from naively.cli.commands import naively
from naively.models import MODELS
from naively.read.errors import InputError
from naively.read.layout import Layout
from naively.read.parts import collected, columns_of, parts_of
from test_names import X, Y, anndata, refused, run, write


@pytest.fixture(autouse=True)
def _folder(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    Path("y.txt").write_text("\n".join(Y) + "\n")


def table(path, head, *rows):
    Path(path).write_text("\n".join([head, *rows]) + "\n")


NUMBERS = ["a,1,2", "b,2,1", "a,1,3", "b,3,1"]


def models():
    """A model of numbers, one of texts and one of lists, each in a folder."""
    table("n.csv", "label,u,v", *NUMBERS)
    run("select", "n.csv", "--read", "numbers", "--out", "n", "--test", 0, "-q")
    table(
        "t.csv", "text,label", *(f"{'good' if i % 2 else 'bad'} w,{'ab'[i % 2]}" for i in range(9))
    )
    run("select", "t.csv", "--out", "t", "-q")
    rows = [{"text": ["ab"[i % 2]], "label": "ab"[i % 2]} for i in range(9)]
    Path("l.jsonl").write_text("\n".join(map(json.dumps, rows)))
    run("select", "l.jsonl", "--words", "analyzer=tokens", "--out", "l", "-q")


# Each is refused, and `conftest` looks whether the command has the options that it is told of.
@pytest.mark.parametrize("command", ["predict", "explain", "count", "select", "cv"])
def test_advice_for_what_a_file_lacks_is_for_the_command(command):
    models()
    table("gap.csv", "label,u,v", "a,1,", "b,2,1")
    table("word.csv", "label,u,v", "a,1,x", "b,2,1")
    table("minus.csv", "label,u,v", "a,1,-2", "b,2,1")
    table("few.csv", "label,u", "a,1", "b,2")
    table("none.csv", "label", "a", "b")
    table("other.csv", "words,labels", "a b,1", "c d,2")
    table("null.csv", "text,label", "a b,", "c d,2")
    Path("other.jsonl").write_text('{"words": "a", "labels": "b"}\n')
    Path("null.jsonl").write_text('{"text": ["a", null], "label": "b"}\n')
    for name in ("gap", "word", "minus", "few", "none"):
        ask(command, "n", f"{name}.csv")
        run_anyway(command, "n", f"{name}.csv", "--read", "transpose")
    for name in ("other.csv", "null.csv", "other.jsonl", "n.csv"):
        run_anyway(command, "t", name, numbers=False)
    for name in ("t.csv", "null.jsonl", "other.jsonl"):
        run_anyway(command, "l", name, numbers=False, tokens=True)
    np.savez("a.npz", X=X)
    run_anyway(command, "n", "a.npz", numbers=False)


def run_anyway(command, model, file, *more, numbers=True, tokens=False):
    """Run a command on a file; nothing but one sentence or success may come of it."""
    arguments = {"predict": [model, file], "explain": [model, "--file", file, "--row", 1]}
    given = arguments.get(command, [file, *["--read", "numbers"] * numbers])
    if tokens and command not in arguments:
        given += ["--words", "analyzer=tokens"]
    if command == "count":
        given += ["-o", "c"]
    found = CliRunner().invoke(naively, list(map(str, [command, *given, *more])))
    if found.exception is not None and not isinstance(found.exception, SystemExit):
        raise found.exception
    assert found.exit_code in (0, 2)
    return found


def ask(command, model, file):
    found = run_anyway(command, model, file)
    if (command, file) not in (("predict", "minus.csv"), ("explain", "minus.csv")):
        return
    assert found.stderr.endswith(
        "counts are never negative; give counts, as the model was trained on.\n"
    )


def test_strange_options_are_seen():
    assert list(strange_options("a.csv: add --read transpose.", "predict")) == []
    assert list(strange_options("leave it out with --read ignore='x'", "predict")) == [
        "--read ignore"
    ]
    assert list(strange_options("use `naively select --read numbers`", "demo")) == []
    strange = strange_options("use `naively explain --read numbers --report html`", "select")
    assert list(strange) == ["--read numbers"]


def test_a_refusal_that_names_a_strange_option_fails_a_test(monkeypatch):
    def fault(*_):
        raise InputError("add --read transpose, or --bogus")

    monkeypatch.setattr("naively.jobs.predict.predict", fault)
    with pytest.raises(AssertionError, match="predict has no .'--bogus'."):
        run("predict", "a", "b")


def test_count_leaves_out_and_turns_as_select_does():
    turned = zip(*(line.split(",") for line in ["label,u,v", *NUMBERS]), strict=True)
    table("t.csv", ",s1,s2,s3,s4", *map(",".join, turned))
    for how in (
        (
            "--read",
            "transpose",
        ),
        ("--read", "transpose", "--read", "ignore=v"),
    ):
        run("select", "t.csv", *how, "-k", 1, "--test", 0, "--out", "r", "-q")
        run("count", "t.csv", *how, "-o", f"c{len(how)}", "-q")
        run("count", f"c{len(how)}", "-o", "s.npz", "-q")
        run("select", "s.npz", "-k", 1, "-o", "s", "-q")
        assert Path("s/model.npz").read_bytes() == Path("r/model.npz").read_bytes()


def test_statistics_offer_what_they_do():
    table("s.csv", "text,label", "a b,x", "b c,y", "a c,x")
    run("count", "s.csv", "-o", "s.npz", "-q")
    words = " ".join(run("count", "--help").stdout.split())
    for name, kind in MODELS.items():
        assert (re.search(rf"(?<![\w-]){name}(?![\w-])", words) is not None) is (
            kind.statistic is not None and kind.takes != "table"
        )
    for k in ("auto", "best"):
        found = run("select", "s.npz", "-k", k, status=2)
        assert "needs the rows themselves and not only their statistics" in found.stderr
    found = run("select", "s.npz", "-k", "many", status=2)
    assert "all, fdr, auto, simplest or best" in found.stderr


@pytest.mark.parametrize(
    "given",
    [
        *(
            ("--read", key)
            for key in (
                "layer=x",
                "transpose",
                "names=y.txt",
                "format=csv",
                "encoding=utf-8",
                "header=false",
            )
        ),
        ("--text", "text"),
    ],
)
def test_options_of_a_file_have_no_effect_on_a_text(given):
    models()
    found = run("explain", "t", "good", *given, status=2)
    spelled = " ".join(given).partition("=")[0] if given[0] == "--read" else given[0]
    assert f"{spelled} has no effect on a TEXT" in found.stderr
    run("explain", "t", "good")


def test_text_columns_have_no_effect_on_a_model_of_numbers():
    models()
    words = "n.csv: --text has no effect, since the model was trained on columns of numbers"
    refused("predict", "n", "n.csv", "--text", "u", match=words)
    refused("explain", "n", "--file", "n.csv", "--row", 1, "--text", "u", match=words)


# Messages that were wrong ----------------------------------------------------------------------


@pytest.mark.parametrize("format", ["jsonl", "parquet"])
@pytest.mark.parametrize("engine", [(), ("--on", 1)])
def test_null_among_tokens_is_said_to_be_null(format, engine):
    rows = {"text": [["a"], ["b", None], ["c"]], "label": ["x", "y", "x"]}
    path = f"a.{format}"
    if format == "parquet":
        pq.write_table(pa.table(rows), path)
    else:
        lines = [dict(zip(rows, each, strict=True)) for each in zip(*rows.values(), strict=True)]
        Path(path).write_text("\n".join(map(json.dumps, lines)))
    unit = "row" if format == "parquet" else "line"
    refused(
        *("select", path, "--words", "analyzer=tokens", *engine, "-q"),
        match=f"{path}: {unit} 2: column `text` holds a list with null in it, and the analyzer",
    )


@pytest.mark.parametrize("role", ["label", "id", "text"])
def test_whole_numbers_of_json_keep_their_digits_beside_others(role):
    numbers = [1.5, 2**53 + 1, 2**63 - 1, -(2**62) - 1]
    rows = [{"text": "a", "label": "b", "id": i} | {role: n} for i, n in enumerate(numbers)]
    Path("a.jsonl").write_text("\n".join(map(json.dumps, rows)))
    layout = Layout(text=("text",), key="id")
    batch = collected(parts_of("a.jsonl", layout), layout)
    found = {"label": batch.labels, "id": batch.keys}.get(role)
    texts = [batch.rows.decoded(i) for i in range(4)] if found is None else found.tolist()
    assert texts == ["1.5", str(2**53 + 1), str(2**63 - 1), str(-(2**62) - 1)]


@pytest.mark.parametrize("engine", [(), ("--on", 1)])
def test_svmlight_without_any_entry_is_refused(engine):
    Path("a.svm").write_text("1\n2\n1 # 3:4\n2 qid:7\n")
    refused("select", "a.svm", *engine, "-q", match="a.svm: no line has an entry (column:value)")
    refused("count", "a.svm", "-o", "c", match="a.svm: no line has an entry (column:value)")
    Path("b.svm").write_text("1 1:2\n2 2:1\n1 1:1\n2 2:3\n")
    run("select", "b.svm", "--test", 0, "--out", "r", "-q")
    answers = run("predict", "r", "a.svm").stdout.splitlines()  # of which nothing is known
    assert len(answers) == 5


@pytest.mark.parametrize("engine", [(), ("--on", 1)])
@pytest.mark.parametrize("first", ["name,label,u,v", ",label,u,v"])
def test_a_first_file_of_a_header_alone_names_no_more_columns_than_the_others(engine, first):
    rows = [f"s{i},{each}" for i, each in enumerate(NUMBERS)]
    table("a.csv", first)
    table("b.csv", first, *rows)
    parts = parts_of(["a.csv", "b.csv"], Layout())
    assert list(columns_of(parts, Layout()).names) == ["u", "v"]
    run("select", "?.csv", "--read", "numbers", "--test", 0, *engine, "--out", "r", "-q")
    run("select", "b.csv", "--read", "numbers", "--test", 0, "--out", "s", "-q")
    assert Path("r/model.npz").read_bytes() == Path("s/model.npz").read_bytes()
    assert list(columns_of(parts_of("a.csv", Layout()), Layout()).names)


# The report ------------------------------------------------------------------------------------


def test_a_class_without_features_stays_in_the_report():
    y = np.repeat(["a", "b", "c"], 20)
    noisy = np.random.default_rng(0).poisson(np.where(y[:, None] == "a", [9, 1], [1, 9]))
    np.savez("a.npz", X=noisy, y=y, feature_names=["u", "v"])
    run("select", "a.npz", "-k", 1, "--out", "r", "-q")
    (row,) = json.loads(Path("r/summary.json").read_text())["features"]
    page = Path("r/report.html").read_text()
    shown = page[page.index("<h2>What was found</h2>") :]
    shown = shown[: shown.index("</dl>")]
    for name in "abc":
        of_class = shown[shown.index(f">{name}</bdi>") :]
        of_class = of_class[: of_class.index("</dd>")]
        assert ("none speaks for it" in of_class) is (name != row["speaks_for"])


@pytest.mark.parametrize(("n_classes", "columns"), [(2, 4), (3, 6), (4, 0)])
def test_figures_of_classes_have_columns_while_the_page_has_room(n_classes, columns):
    y = np.arange(60) % n_classes
    np.savez("a.npz", X=np.random.default_rng(0).normal(y[:, None], 1, (60, 3)), y=y)
    run("select", "a.npz", "--model", "l2-centers", "-k", 2, "--out", "r", "-q")
    page = Path("r/report.html").read_text()
    head = page[page.index('id="feature-table"') :]
    head = head[: head.index("</thead>")]
    assert len(re.findall(r"<button type=\"button\">\w+ <bdi", head)) == columns


def test_layers_of_a_file_without_any():
    anndata("a.h5ad", X, list("uvwxy"))
    refused(
        "select", "a.h5ad", "--read", "layer=x", match="it has no layers. --read layer=X reads X."
    )
    path, _ = write("npz", "a", X)
    refused(
        "select", path, "--read", "layer=x", match="--read layer has no effect on numbers in npz"
    )
