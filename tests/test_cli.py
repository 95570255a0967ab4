"""The command as a person meets it: results, messages, exit status, and nothing half-written."""

import bz2
import csv
import errno
import gzip
import io
import json
import os
import signal
import subprocess
import sys
import time
from dataclasses import replace
from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
import scipy.io
import scipy.sparse as sp
from click.testing import CliRunner
from sklearn.datasets import dump_svmlight_file

import naively as package
from naively.cli.commands import naively
from naively.jobs.model_file import load_model, save_model

GOOD = "great lovely superb charming film"
BAD = "awful boring dull wretched film"
RESULT = ["features.csv", "model.npz", "report.html", "run.toml", "summary.json"]


def reviews(n=60):
    """Texts whose words give their label away, except every tenth."""
    rows = []
    for i in range(n):
        good = i % 2 == 0
        words = (GOOD if good != (i % 10 == 9) else BAD).split()
        text = " ".join([words[i % 4], words[(i + 1) % 4], "film", f"word{i % 7}"])
        rows.append((text, "pos" if good else "neg", "train" if i < 40 else "test"))
    return rows


def table(rows, delimiter="\t"):
    out = io.StringIO()
    writer = csv.writer(out, delimiter=delimiter, lineterminator="\n")
    writer.writerows([("text", "label", "split"), *rows])
    return out.getvalue()


@pytest.fixture
def folder(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    (tmp_path / "reviews.tsv.gz").write_bytes(gzip.compress(table(reviews()).encode()))
    return tmp_path


def run(*arguments, status=0):
    result = CliRunner().invoke(naively, [str(each) for each in arguments])
    if result.exception is not None and not isinstance(result.exception, SystemExit):
        raise result.exception
    assert result.exit_code == status, result.output
    return result


def refused(*arguments, match):
    """Run, and check that one sentence with the words of `match` is all that happens."""
    before = sorted(Path().rglob("*"))
    result = run(*arguments, status=2)
    assert result.stdout == ""
    assert result.stderr.startswith("naively: ")
    assert result.stderr.count("\n") == 1
    assert "Traceback" not in result.stderr
    for words in (match,) if isinstance(match, str) else match:
        assert words in result.stderr
    assert sorted(Path().rglob("*")) == before


# What it does ----------------------------------------------------------------------------------


def test_select_leaves_a_complete_result(folder):
    result = run("select", "reviews.tsv.gz", "--text", "text", "--label", "label", "-k", 8)
    assert sorted(os.listdir("result")) == RESULT
    assert sorted(os.listdir(".")) == ["result", "reviews.tsv.gz"]
    with open("result/features.csv", newline="") as file:
        rows = list(csv.DictReader(file))
    assert [row["rank"] for row in rows] == [str(i) for i in range(1, 9)]
    assert {row["feature"]: row["class"] for row in rows} == {
        **dict.fromkeys(GOOD.split()[:4], "pos"),
        **dict.fromkeys(BAD.split()[:4], "neg"),
    }
    gains = [float(row["gain"]) for row in rows]
    assert gains == sorted(gains, reverse=True)
    for row in rows:
        assert row["class"] == max(("pos", "neg"), key=lambda c: float(row[f"weight:{c}"]))
        whole = [text for text, _, _ in reviews()]
        total = sum(text.split().count(row["feature"]) for text in whole)
        assert int(row["count:pos"]) + int(row["count:neg"]) == total
    summary = json.loads(Path("result/summary.json").read_text("utf-8"))
    assert summary["evaluation"]["accuracy"] >= 0.7
    assert str(summary["certificate"]["sentence"]) in " ".join(result.stdout.split())
    assert f"Accuracy {summary['evaluation']['accuracy']:.4f}" in result.stdout
    assert "held out at random with seed 0" in " ".join(result.stdout.split())
    assert result.stderr == ""


@pytest.mark.parametrize("way", [(), ("--words", "token-pattern=[a-z0-9]+")])  # streamed, in memory
def test_quick_tells_the_features_and_the_test_and_nothing_more(folder, way):
    summaries = []
    for name, options in (("full", ()), ("quick", ("--quick",))):
        run("select", "reviews.tsv.gz", "-k", 8, *way, *options, "--out", name)
        assert sorted(os.listdir(name)) == RESULT
        summaries.append(json.loads(Path(name, "summary.json").read_text("utf-8")))
    assert Path("full/features.csv").read_text() == Path("quick/features.csv").read_text()
    assert Path("full/model.npz").read_bytes() == Path("quick/model.npz").read_bytes()
    full, quick = summaries
    assert full["path"] is not None
    assert all(row["example"] is not None for row in full["features"])
    assert quick["path"] is None
    assert all(row["example"] is None for row in quick["features"])
    for left_out in ("coverage", "predicted_error", "misled"):
        assert not quick["evaluation"].pop(left_out)
        assert full["evaluation"].pop(left_out)
    assert quick["evaluation"] == full["evaluation"]
    pages = [Path(name, "report.html").read_text("utf-8") for name in ("full", "quick")]
    for section in ("path", "coverage"):
        assert [f'<section id="{section}">' in page for page in pages] == [True, False]


def test_the_same_command_gives_the_same_bytes(folder):
    contents = []
    for _ in range(2):
        run("select", "reviews.tsv.gz", "-k", 5)
        contents.append([Path("result", name).read_bytes() for name in RESULT])
    assert contents[0] == contents[1]


def evaluation(*options):
    run("select", "reviews.tsv.gz", *(() if "-k" in options else ("-k", 6)), *options)
    return json.loads(Path("result/summary.json").read_text("utf-8"))


def test_split_by_column_trains_on_train_only(folder):
    summary = evaluation("--read", "split=split")
    assert summary["n_rows"] == 40
    assert summary["evaluation"]["test_rows"] == 20
    assert summary["evaluation"]["shared_features"] is None
    assert sum(each["train_rows"] for each in summary["classes"]) == 40


def test_a_test_on_the_training_rows_is_said_to_flatter(folder):
    for test, same in (("copy.tsv", True), ("more.csv", False)):
        rows = table(reviews(), "\t" if same else ",")
        Path(test).write_text(rows)
        Path("reviews.tsv").write_text(table(reviews()))
        run("select", "reviews.tsv", "-k", 4, "--test", test)
        notes = json.loads(Path("result/summary.json").read_text("utf-8"))["notes"]
        assert any("are the training rows" in note for note in notes) == same


def test_split_by_file_equals_split_by_column(folder):
    rows = reviews()
    Path("reviews.tsv.gz").write_bytes(gzip.compress(table(rows[:40]).encode()))
    Path("more.csv").write_text(table(rows[40:], ","))
    by_file = evaluation("--test", "more.csv")
    model = Path("result/model.npz").read_bytes()
    Path("reviews.tsv.gz").write_bytes(gzip.compress(table(rows).encode()))
    by_column = evaluation("--read", "split=split")
    found = load_model("result/model.npz")
    assert found.split == "split"  # all else is alike
    with io.BytesIO() as file:
        save_model(replace(found, split=""), file)
        assert file.getvalue() == model
    for name in ("accuracy", "mistakes", "test_rows"):
        assert by_file["evaluation"][name] == by_column["evaluation"][name]
    assert [each["role"] for each in by_file["files"]] == ["training", "test"]


def test_holdout_is_tested_and_then_trained_on(folder):
    summary = evaluation("--test", "0.25", "--judge", "seed=3")
    assert 14 <= summary["evaluation"]["test_rows"] <= 16  # 7 or 8 of each class of 30
    assert summary["evaluation"]["train_rows"] == 60 - summary["evaluation"]["test_rows"]
    assert summary["n_rows"] == 60
    assert 0 <= summary["evaluation"]["shared_features"] <= 6
    without = evaluation("--test", "0")
    assert without["evaluation"] is None
    assert without["features"] == summary["features"]


def test_dev_rows_are_left_out_and_said_so(folder):
    rows = [(t, y, "dev" if i % 3 == 0 else part) for i, (t, y, part) in enumerate(reviews())]
    Path("reviews.tsv.gz").write_bytes(gzip.compress(table(rows).encode()))
    summary = evaluation("--read", "split=split")
    assert summary["n_rows"] + summary["evaluation"]["test_rows"] == 40
    assert summary["notes"][-1].startswith("20 rows that are neither train nor test")


def test_labels_unseen_in_training_count_as_mistakes(folder):
    rows = reviews()
    rows[50:55] = [(text, "neutral", "test") for text, _, _ in rows[50:55]]
    Path("reviews.tsv.gz").write_bytes(gzip.compress(table(rows).encode()))
    summary = evaluation("--read", "split=split")
    assert summary["evaluation"]["unseen_rows"] == 5
    assert summary["evaluation"]["accuracy"] <= 15 / 20
    assert "5 test rows have labels that training does not have (neutral)" in summary["notes"][-1]


def test_predict_repeats_the_accuracy_of_the_test(folder):
    accuracy = evaluation("--read", "split=split")["evaluation"]["accuracy"]
    Path("more.csv").write_text(table(reviews()[40:], ","))
    options = ("--out", "labels.csv", "--label", "label", "--probabilities")
    result = run("predict", "result/model.npz", "more.csv", *options)
    assert f"Accuracy {accuracy:.4f} (" in result.stdout
    assert "confidence) on 20 rows" in result.stdout
    with open("labels.csv", newline="") as file:
        rows = list(csv.DictReader(file))
    assert [row["row"] for row in rows] == [str(i + 1) for i in range(20)]
    truth = [label for _, label, _ in reviews()[40:]]
    assert np.mean(np.array([row["label"] for row in rows]) == truth) == accuracy
    for row in rows:
        assert float(row["p:pos"]) + float(row["p:neg"]) == pytest.approx(1)
        assert (float(row["p:pos"]) > 0.5) == (row["label"] == "pos")


def test_predict_to_the_terminal_with_keys(folder):
    evaluation("-k", "all")
    Path("more.jsonl").write_text('{"id": 7, "text": "superb"}\n{"id": "x,y", "text": "dull"}\n')
    result = run("predict", "result/model.npz", "more.jsonl", "--id", "id")
    assert result.stdout == 'id,label\n7,pos\n"x,y",neg\n'


def test_bernoulli_binary_and_exact(folder):
    bernoulli = evaluation("--model", "bernoulli")
    assert bernoulli["certificate"]["proven_optimal"]
    assert bernoulli["settings"]["model"] == "bernoulli"
    assert evaluation("--choose", "exact")["certificate"]["proven_optimal"]
    Path("more.csv").write_text("text\nsuperb superb superb dull\nsuperb dull\n")
    options = ("--probabilities", "--out", "labels.csv")
    for chosen in ("--model=bernoulli", "--words=weights=presence"):
        evaluation(chosen)
        run("predict", "result/model.npz", "more.csv", *options)
        lines = Path("labels.csv").read_text().splitlines()
        assert lines[1].split(",")[1:] == lines[2].split(",")[1:]  # repetition says nothing more


def test_without_smoothing_a_word_speaks_for_the_class_that_has_it(folder):
    # Every review of one label has a word that no other has: it rules the other label out.
    rows = [(f"common {'aye' if i % 2 else 'nay'}", "yn"[i % 2 == 0], "train") for i in range(40)]
    Path("votes.tsv").write_text(table(rows))
    for model in ("multinomial", "bernoulli"):
        run("select", "votes.tsv", "-k", 2, "--train", "alpha=0", "--model", model)
        with open("result/features.csv", newline="") as file:
            found = {row["feature"]: row for row in csv.DictReader(file)}
        assert {name: row["class"] for name, row in found.items()} == {"aye": "y", "nay": "n"}
        assert found["aye"]["weight:n"] == "-inf"
        assert "nan" not in Path("result/report.html").read_text("utf-8")
        record = json.loads(Path("result/summary.json").read_text("utf-8"))
        assert record["evaluation"]["accuracy"] == 1


def names_of(*options):
    return [row["name"] for row in evaluation(*options)["features"]]


def test_options_of_counting(folder):
    assert {"superb film", "superb"} <= {*names_of("--words", "ngrams=1,2", "-k", "all")}
    assert all(
        len(name) == 2 for name in names_of("--words", "ngrams=2", "--words", "analyzer=char")
    )
    Path("stop.txt").write_text("film\nsuperb\n")
    kept = names_of("--words", "stop-words=stop.txt", "-k", "all")
    assert "film" not in kept
    assert "dull" in kept
    assert "superb" not in kept
    assert "word3" not in names_of("--words", "min-count=10", "-k", "all")
    assert len(names_of("--words", "token-pattern=word[0-9]", "-k", "all")) == 7
    assert len(names_of("--words", "token-pattern=word[0-9]", "-k", "50%")) == 4  # 3.5 rounded
    assert len(names_of("-k", "0.5", "--words", "token-pattern=word[0-9]")) == 4


def test_several_columns_of_text(folder):
    lines = [
        json.dumps({"subject": text.split()[0], "body": " ".join(text.split()[1:]), "y": label})
        for text, label, _ in reviews()
    ]
    Path("posts.jsonl").write_text("\n".join(lines))
    run("select", "posts.jsonl", "--text", "subject", "--text", "body", "--label", "y", "-k", 8)
    assert load_model("result/model.npz").text_columns == ("subject", "body")
    run("predict", "result/model.npz", "posts.jsonl", "--out", "labels.csv")  # same columns


def test_json_for_machines(folder):
    result = run("select", "reviews.tsv.gz", "-k", 3, "--json")
    assert json.loads(result.stdout) == json.loads(Path("result/summary.json").read_text("utf-8"))


COUNTS = np.array([[i % 2 * 3, 1, (i + 1) % 2 * 2, i % 3] for i in range(40)])
LABELS = np.array(["odd" if i % 2 else "even" for i in range(40)])


def write_matrix(kind):
    """Write the counts as a file of some kind; return the arguments that read it."""
    Path("labels.txt").write_text("\n".join(LABELS))
    beside = ("--read", "labels=labels.txt")
    if kind == "svmlight":
        dump_svmlight_file(COUNTS, (LABELS == "odd").astype(int), "m.svmlight", zero_based=False)
        return ("m.svmlight",)
    if kind == "svmlight.bz2":
        write_matrix("svmlight")
        Path("m.svm.bz2").write_bytes(bz2.compress(Path("m.svmlight").read_bytes()))
        return ("m.svm.bz2", *beside)
    if kind == "mtx":
        scipy.io.mmwrite("m.mtx", sp.csr_matrix(COUNTS))
        return ("m.mtx", *beside)
    if kind == "sparse npz":
        sp.save_npz("s.npz", sp.csr_matrix(COUNTS))
        return ("s.npz", *beside)
    np.savez("m.npz", X=COUNTS, y=LABELS, feature_names=list("wxyz"))
    return ("m.npz",)


@pytest.mark.parametrize("kind", ["svmlight", "svmlight.bz2", "mtx", "sparse npz", "npz"])
@pytest.mark.parametrize("model", ["multinomial", "bernoulli"])
def test_matrices(folder, kind, model):
    arguments = write_matrix(kind)
    run("select", *arguments, "-k", 2, "--model", model)
    summary = json.loads(Path("result/summary.json").read_text("utf-8"))
    first = "w" if kind == "npz" else "0" if kind == "sparse npz" else "1"
    names = {row["name"] for row in summary["features"]}
    assert names == ({"w", "y"} if kind == "npz" else {first, str(int(first) + 2)})
    assert summary["evaluation"]["accuracy"] == 1
    with_labels = arguments if len(arguments) > 1 else (*arguments, "--label", "y")
    result = run("predict", "result/model.npz", *with_labels, "--out", "out.csv")
    assert "Accuracy 1.0000 (0.9124 to 1.0000 with 95 % confidence) on 40 rows" in result.stdout


def test_matrix_with_test_file_and_names(folder):
    scipy.io.mmwrite("a.mtx", sp.csr_matrix(COUNTS[:30]))
    Path("a.txt").write_text("\n".join(LABELS[:30]))
    Path("names.txt").write_text("w\nx\ny\nz\n")
    scipy.io.mmwrite("b.mtx", COUNTS[30:])
    Path("b.txt").write_text("\n".join(LABELS[30:]))
    run(
        *("select", "a.mtx", "--read", "labels=a.txt", "--read", "names=names.txt", "-k", 2),
        *("--test", "b.mtx", "--read", "test-labels=b.txt"),
    )
    summary = json.loads(Path("result/summary.json").read_text("utf-8"))
    assert {row["name"] for row in summary["features"]} == {"w", "y"}
    assert summary["evaluation"]["test_rows"] == 10


def test_parquet_and_formats_by_option(folder):
    texts, labels, _ = zip(*reviews(), strict=True)
    pq.write_table(pa.table({"text": texts, "label": labels}), "reviews.parquet")
    run("select", "reviews.parquet", "-k", 4)
    model = Path("result/model.npz").read_bytes()
    Path("reviews.dat").write_text(table(reviews(), ";"))
    run("select", "reviews.dat", "--read", "format=csv", "--read", "delimiter=;", "-k", 4)
    assert Path("result/model.npz").read_bytes() == model


def test_two_thousand_features_of_five_hundred_classes_stay_on_the_screen(folder):
    rows = [(f"tongue{i % 150} common", f"lang{i % 150}", "train") for i in range(450)]
    Path("many.tsv").write_text(table(rows))
    result = run("select", "many.tsv", "-k", 100)
    assert "100 of 151 features tell 150 classes apart" in result.stdout
    assert "and 80 more in result/features.csv" in result.stdout
    assert len(result.stdout.splitlines()) < 60


SHORT = "aa bb,x\nbb cc,y\n" * 9
KEYS = "".join(f"aa,{i}\n" for i in range(24))
HEAD = "text,label,split\n"

# Mistakes --------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("name", "content", "options", "match"),
    [
        ("a.csv", "", (), ["the file is empty"]),
        ("a.csv", "text,label\n", (), ["no rows"]),
        ("a.csv", "txt,label\na,b\n", (), ["no column `text`; did you mean `txt`?"]),
        ("a.csv", "text,label\na,b\n", ("--label", "lable"), ["did you mean `label`?"]),
        ("a.csv", "text,label\na,x\nb,x\n", (), ["one class only (x)"]),
        ("a.csv", "text,label\na,x\nb\n", (), ["line 3 has 1 fields, the header has 2"]),
        ("a.csv", b"text,label\na,x\n\x81,y\n", (), ["line 3: byte 0x81 is not utf-8"]),
        ("a.csv", 'text,label\n"a,x\n', (), ["line 2:", "--read", "quotes=false"]),
        ("a.csv", "text,label\n?,x\n!,y\n", ("--test=0",), ["no text holds any word"]),
        ("a.csv", f"text,label\n{SHORT}", ("--words", "min-count=99"), ["lower --words min-count"]),
        ("a.csv", f"text,label\n{SHORT}", ("-k", "500"), ["at most", "3; got 500", "-k all"]),
        ("a.csv", f"text,id\n{KEYS}", ("--label", "id"), ["24 different values in 24 rows"]),
        ("a.csv", f"{HEAD}a,x,left\n", ("--read", "split=split"), ["'left'"]),
        ("a.csv", f"{HEAD}a,x,train\n", ("--read", "split=split"), ["no row has 'test'"]),
        ("a.jsonl", '{"text": "a", "label": NaN}\n', (), ["no row has a label (1 read)"]),
        ("a.jsonl", '{"text": "a"\n', (), ["line 1 is not JSON"]),
        ("a.tsv.gz", b"text\tlabel\n", (), ["not gz data"]),
        (
            "a.tsv.gz",
            gzip.compress(table(reviews()).encode(), mtime=0)[:-40],
            (),
            ["broken or cut off"],
        ),
        ("a.xyz", "text,label\n", (), ["--read format=csv|tsv"]),
        ("a.parquet", b"no", (), ["not a Parquet file"]),
        ("a.svmlight", "1 1:x\n", (), ["line 1 is not svmlight"]),
        ("a.npz", b"no", (), ["not an .npz file"]),
        ("a.mtx", b"no", (), ["not a Matrix Market file"]),
    ],
)
def test_bad_input_is_refused_in_one_sentence(folder, name, content, options, match):
    Path(name).write_bytes(content.encode() if isinstance(content, str) else content)
    refused("select", name, *options, match=(name, *match))


def test_negative_counts_name_their_place(folder):
    np.savez("m.npz", X=COUNTS - 1, y=LABELS)
    refused(
        "select",
        "m.npz",
        match=(
            "row 1: the value of column 1 is -1, and counts are never negative",
            "l1-centers",
            "--model bernoulli",
        ),
    )
    run("select", "m.npz", "--model", "bernoulli", "-k", 2)
    refused_not_negative = np.where(COUNTS == 0, np.nan, COUNTS)
    np.savez("m.npz", X=refused_not_negative, y=LABELS)
    refused("select", "m.npz", match="row 1: the value of `0` is not a finite")


def test_matrix_without_labels(folder):
    np.savez("m.npz", X=COUNTS)
    refused(
        "select",
        "m.npz",
        match=("holds no labels", "--read labels=FILE", "column of obs"),
    )
    Path("labels.txt").write_text("a\nb\n")
    beside = ("--read", "labels=labels.txt")
    refused("select", "m.npz", *beside, match=("labels.txt", "2 labels", "40 rows"))


def test_wrong_files_name_the_way_out(folder):
    refused("select", ".", match=(".: it is a folder", "'./*.csv'"))
    refused("select", "book.ods", match=("spreadsheet", "save it as .xlsx or CSV"))
    refused("select", "-", match=("standard input", "--read format"))
    assert "pattern in quotes" in run("select", "a.csv", "b.csv", status=2).stderr


def test_columns_that_are_rows_are_told_of_transpose(folder):
    Path("genes.csv").write_text("gene,s1,s2\ntype,a,b\ng1,1,2\ng2,4,1\n")
    numbers = ("--label", "type", "--model", "l1-centers", "-k", 1, "--test", 0)
    refused(
        "select",
        "genes.csv",
        *numbers,
        match=("no column `type`", "--label", "--read", "transpose"),
    )
    run("select", "genes.csv", "--read", "transpose", *numbers)
    refused(
        "predict", "result/model.npz", "genes.csv", match=("column `g2`", "add --read transpose")
    )


@pytest.mark.parametrize(
    ("options", "match"),
    [
        (("-k", "-1"), "not a number of features"),
        (("-k", "1.5"), "not a number of features"),
        (("-k", "many"), "not a number of features"),
        (("--words", "ngrams=3,1"), "not a size"),
        (("--train", "alpha=-1"), "--train alpha"),
        (("--test", "1"), "--test"),
        (("--test", "0.1", "--read", "split=x"), "--test and --read split exclude each other"),
        (("--modle", "x"), "No such option"),
        (("--read", "format=docx"), "docx"),
    ],
)
def test_wrong_options_say_what_is_right(folder, options, match):
    result = run("select", "reviews.tsv.gz", *options, status=2)
    assert match in result.stderr
    assert not Path("result").exists()


def test_wrong_expressions_and_words(folder):
    refused("select", "reviews.tsv.gz", "--words", "token-pattern=(", match="regular expression")
    refused(
        "select", "reviews.tsv.gz", "--words", "stop-words=englsh", match="Did you mean `english`?"
    )
    refused(
        "select", "reviews.tsv.gz", "--words", "min-count=9999", match="lower --words min-count"
    )
    refused("select", "review.tsv.gz", match="did you mean `reviews.tsv.gz`?")
    refused("select", "reviews.tsv.gz", "--read", "encoding=utf-99", match="`--read encoding`")
    refused("select", "reviews.tsv.gz", "--test", "m.npz", match="must hold the same")


def test_models_and_input_that_do_not_belong_together(folder):
    run("select", "reviews.tsv.gz", "-k", 4)
    np.savez("m.npz", X=COUNTS, y=LABELS)
    refused("predict", "result/model.npz", "m.npz", match="trained on text")
    run("select", "m.npz", "-k", 2, "--out", "matrix")
    refused(
        "predict",
        "matrix/model.npz",
        "reviews.tsv.gz",
        match="has 1 columns, the model was",
    )
    np.savez("wide.npz", X=np.ones((2, 9)))
    refused("predict", "matrix/model.npz", "wide.npz", match="has 9 columns")
    refused("predict", "reviews.tsv.gz", "m.npz", match="not a model file")
    Path("cut.npz").write_bytes(Path("result/model.npz").read_bytes()[:500])
    refused("predict", "cut.npz", "reviews.tsv.gz", match="damaged or cut off")


def test_output_never_overwrites_what_is_read(folder):
    run("select", "reviews.tsv.gz", "-k", 4)
    model = Path("result/model.npz").read_bytes()
    for target in ("result/model.npz", "reviews.tsv.gz"):
        refused("predict", "result/model.npz", "reviews.tsv.gz", "--out", target, match="also read")
    assert Path("result/model.npz").read_bytes() == model


def test_folders_with_other_files_are_refused_before_any_work(folder):
    Path("thesis").mkdir()
    Path("thesis/chapter.tex").write_text("precious")
    refused("select", "nosuch.tsv", "--out", "thesis", match=("not empty", "--force"))
    run("select", "reviews.tsv.gz", "-k", 4, "--out", "thesis", "--force")
    assert sorted(os.listdir("thesis")) == sorted([*RESULT, "chapter.tex"])
    assert Path("thesis/chapter.tex").read_text() == "precious"


def test_bad_input_leaves_an_earlier_result_alone(folder):
    run("select", "reviews.tsv.gz", "-k", 4)
    before = {name: Path("result", name).read_bytes() for name in RESULT}
    refused("select", "reviews.tsv.gz", "-k", 9999, match="at most")
    assert {name: Path("result", name).read_bytes() for name in RESULT} == before


@pytest.mark.parametrize("number", [errno.ENOSPC, errno.EACCES, errno.EDQUOT])
def test_full_disk_and_forbidden_places_leave_nothing(folder, monkeypatch, number):
    def fail(*_args):
        raise OSError(number, os.strerror(number))

    monkeypatch.setattr("naively.jobs.results.save_model", fail)
    refused("select", "reviews.tsv.gz", "-k", 4, match="result: cannot be written: ")


def test_out_of_memory_is_a_sentence(folder, monkeypatch):
    def fail(*_args, **_options):
        raise MemoryError

    monkeypatch.setattr("naively.work.stream.run_task", fail)
    refused("select", "reviews.tsv.gz", match="not enough memory")


# In a process of its own -----------------------------------------------------------------------


def process(*arguments, **options):
    environment = os.environ | {"PYTHONPATH": str(Path(package.__file__).parents[1])}
    command = [sys.executable, "-m", "naively", *map(str, arguments)]
    return subprocess.Popen(command, text=True, stderr=subprocess.PIPE, env=environment, **options)


def test_help_and_version_import_neither_scikit_learn_nor_numba():
    code = (
        "import sys, runpy\n"
        "for arguments in (['--help'], ['--version'], ['select', '--help']):\n"
        "    sys.argv = ['naively', *arguments]\n"
        "    try:\n"
        "        runpy.run_module('naively', run_name='__main__')\n"
        "    except SystemExit as end:\n"
        "        assert not end.code, end.code\n"
        "heavy = {'sklearn', 'numba', 'scipy', 'numpy', 'rich', 'jinja2'} & set(sys.modules)\n"
        "assert not heavy, heavy\n"
    )
    result = subprocess.run(
        [sys.executable, "-c", code],
        env=os.environ | {"PYTHONPATH": str(Path(package.__file__).parents[1])},
        capture_output=True,
        text=True,
        check=False,
    )
    assert result.returncode == 0, result.stderr
    assert f"naively {package.__version__}" in result.stdout


def test_without_the_extra_one_sentence_says_how_to_install_it():
    code = "import sys; sys.modules['click'] = None\nfrom naively.cli import main; main()\n"
    result = subprocess.run(
        [sys.executable, "-c", code],
        env=os.environ | {"PYTHONPATH": str(Path(package.__file__).parents[1])},
        capture_output=True,
        text=True,
        check=False,
    )
    assert result.returncode == 2
    assert result.stderr.count("\n") == 1
    assert "pip install 'naively[cli]'" in result.stderr


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM])
def test_interrupted_run_leaves_nothing(folder, number):
    os.mkfifo("endless.tsv")
    with process("select", "endless.tsv", stdout=subprocess.PIPE) as running:
        with open("endless.tsv", "w") as pipe:  # opens when the command starts to read
            pipe.write(table(reviews()))
            pipe.flush()
            running.send_signal(number)
            time.sleep(0.2)
        _, error = running.communicate(timeout=60)
    assert running.returncode == 130
    assert error == "naively: interrupted; nothing was written.\n"
    assert sorted(os.listdir(".")) == ["endless.tsv", "reviews.tsv.gz"]


def test_pipes_can_be_read(folder):
    os.mkfifo("pipe.tsv")
    with process("select", "pipe.tsv", "-k", "4", stdout=subprocess.PIPE) as running:
        Path("pipe.tsv").write_text(table(reviews()))
        _, error = running.communicate(timeout=120)
    assert (running.returncode, error) == (0, "")
    assert sorted(os.listdir("result")) == RESULT


def test_the_standard_input_is_read(folder):
    with process(
        "select",
        "-",
        "--read",
        "format=tsv",
        "-k",
        "4",
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
    ) as running:
        out, error = running.communicate(table(reviews()), timeout=120)
    assert (running.returncode, error) == (0, "")
    assert "4 of " in out


def test_terminal_that_is_full_or_gone(folder):
    run("select", "reviews.tsv.gz", "-k", 4)
    arguments = ("predict", "result/model.npz", "reviews.tsv.gz")
    with open("/dev/full", "w") as full, process(*arguments, stdout=full) as running:
        _, error = running.communicate(timeout=60)
    assert running.returncode == 2
    assert error.count("\n") == 1
    assert "no space left on the device" in error
    end, other = os.pipe()
    os.close(end)  # as after `| head`
    with process(*arguments, stdout=other) as running:
        os.close(other)
        _, error = running.communicate(timeout=60)
    assert running.returncode != 0
    assert "Traceback" not in error


def test_quota_of_the_system_leaves_nothing(folder):
    code = (
        "import resource, sys, runpy\n"
        "import naively.jobs.learn\n"
        "resource.setrlimit(resource.RLIMIT_FSIZE, (3000, 3000))\n"
        "sys.argv = ['naively', 'select', 'reviews.tsv.gz', '-k', '4']\n"
        "runpy.run_module('naively', run_name='__main__')\n"
    )
    environment = os.environ | {"PYTHONPATH": str(Path(package.__file__).parents[1])}
    result = subprocess.run(
        [sys.executable, "-c", code], env=environment, capture_output=True, text=True, check=False
    )
    assert result.returncode == 2
    assert "result: cannot be written: the file would be larger" in result.stderr
    assert os.listdir(".") == ["reviews.tsv.gz"]


def test_columns_beyond_memory_are_refused_at_once(folder):
    width = 2**40
    X = sp.csr_array(([1.0] * 16, [0] * 16, range(17)), shape=(16, width))
    sp.save_npz("wide.npz", X)
    Path("labels.txt").write_text("a\nb\n" * 8)
    refused(
        "select", "wide.npz", "--read", "labels=labels.txt", match=f"{width:,} columns in 2 classes"
    )


@pytest.mark.parametrize(
    ("options", "match"),
    [
        (("--test", "nan"), "is not a share of the rows"),
        (("--judge", "seed=-1"), "--judge seed"),
        (("--choose", "time-limit=5"), "no effect without --choose exact"),
        (("--read", "test-labels=x"), "no effect without --test"),
        (("--words", "ngrams=1,99999999999999999999"), "not a size"),
        (("--read", "names=x"), "--read names has no effect on texts in tsv"),
        (("--read", "delimiter="), "must be one character"),
        (("--out", ""), "`--out` must be the name"),
    ],
)
def test_options_without_effect_or_sense(folder, options, match):
    assert match in run("select", "reviews.tsv.gz", *options, status=2).stderr
    assert not Path("result").exists()


# What gives way, what is too large, what is not asked for -----------------------------------------


def test_an_earlier_result_that_gives_way_is_told(folder):
    Path("a.csv").write_text("text,label\n" + "sun,x\nrain,y\n" * 4)
    said = [run("select", "a.csv", "-q", "--quick", "-k", "1", "--json") for _ in range(2)]
    assert [each.stderr for each in said] == [
        "", "naively: the earlier result in result was replaced.\n"
    ]  # fmt: skip
    assert json.loads(said[1].stdout)["n_rows"] == 8
    Path("result/notes.txt").touch()
    refused("select", "a.csv", match=("not empty and is no earlier result", "--force"))


def test_an_exposure_that_is_too_large_is_refused(folder):
    rows = "".join(f"{3 + i % 3},{i % 4},{1 + i % 5},{'ab'[i % 2]}\n" for i in range(40))
    Path("t.csv").write_text(f"u,v,s,label\n{rows}")
    options = (
        "--read",
        "numbers",
        "--model",
        "poisson",
        "--read",
        "exposure=s",
        "-k",
        "2",
        "--quick",
        "-q",
    )
    run("select", "t.csv", *options)
    Path("p.csv").write_text("u,v,s\n1,2,1e308\n")
    refused("predict", "result", "p.csv", match=("p.csv: ", "not finite"))


def test_rows_of_a_turned_table_that_no_model_asks_for(folder):
    rows = "".join(f"{9 * (i % 2)},{i % 3 + 1},{'ab'[i % 2]}\n" for i in range(40))
    Path("t.csv").write_text(f"u,v,label\n{rows}")
    run("select", "t.csv", "--read", "numbers", "-k", "2", "--quick", "-q")
    Path("p.csv").write_text("gene,s1,s2\nv,1,1\nu,9,0\nkind,odd,label\n")
    found = run("predict", "result", "p.csv", "--read", "transpose", "-q").stdout
    assert found.split() == ["row,label", "s1,b", "s2,a"]
    Path("p.csv").write_text("gene,s1,s2\nw,1,9\n")
    refused("predict", "result", "p.csv", "--read", "transpose", match="the row `u`")


def test_names_beside_many_files(folder):
    X = np.arange(12).reshape(4, 3) % 5
    for name, y in (("a.npz", "xyxy"), ("b.npz", "yxyx")):
        np.savez(name, X=X + (np.array(list(y)) == "x")[:, None], y=list(y))
    Path("names.txt").write_text("u\nv\nw\n")
    run("select", "?.npz", "--read", "names=names.txt", "-k", "1", "--test", "0", "--quick", "-q")
    assert set(load_model("result/model.npz").names) < {"u", "v", "w"}
