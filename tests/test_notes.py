"""What the summary says of texts, labels and ties; and what no message says whole."""

import csv
import json
from pathlib import Path

import pytest
from click.testing import CliRunner

from naively import ClassCounts
from naively.cli.commands import naively


@pytest.fixture(autouse=True)
def folder(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)


def run(*arguments, status=0):
    result = CliRunner().invoke(naively, [str(each) for each in arguments])
    assert result.exit_code == status, result.output
    return " ".join(result.output.split())


def notes(rows, *options, heads=("text", "label")):
    with open("a.csv", "w", newline="", encoding="utf-8") as file:
        csv.writer(file).writerows([heads, *rows])
    shown = run("select", "a.csv", *options)
    found = json.loads(Path("result/summary.json").read_text("utf-8"))["notes"]
    assert all(" ".join(each.split()) in shown for each in found)
    return found


REVIEWS = [("good film", "pos"), ("bad film", "neg")] * 10


def test_empty_texts_are_counted():
    rows = [*REVIEWS, ("", "pos"), ("  \t", "neg"), ("\u3000", "pos")]
    told = "3 of 23 rows hold no text; of these only the number is counted."
    assert told in notes(rows)
    assert not any("no text" in each for each in notes(REVIEWS))


def test_empty_texts_of_large_files_are_counted_in_the_first_rows(monkeypatch):
    monkeypatch.setattr("naively.jobs.data.HELD_BYTES", 0)
    monkeypatch.setattr("naively.jobs.data.FIRST_ROWS", 12)
    rows = [("", "pos"), *REVIEWS, ("", "neg")]
    assert any(each.startswith("1 of the first 12 rows holds no") for each in notes(rows))


def test_rows_of_several_texts_are_empty_if_all_are():
    rows = [("good", "film", "pos"), ("bad", "", "neg")] * 10 + [("", " ", "neg")]
    found = notes(rows, "--text", "head", "--text", "body", heads=("head", "body", "label"))
    assert any(each.startswith("1 of 21 rows holds no text") for each in found)


def test_labels_that_differ_by_case():
    rows = [(text, label) for text, label in REVIEWS] + [("good", "POS"), ("good", "Pos ")]
    found = notes(rows, "--test", "0")
    assert (
        "Classes that differ by case or spelling only are kept apart: POS and Pos and pos." in found
    )
    assert not any("differ by case" in each for each in notes(REVIEWS))


@pytest.mark.parametrize("model", ["bernoulli", "poisson"])
def test_ties_for_the_last_places(model):
    """a, b, ..., l occur in the same rows of one class; x tells more than any of them."""
    tied = " ".join("abcdefghijkl")
    pattern = ["--words", r"token-pattern=\w+", "--test", 0, "--model", model]
    rows = [(f"x {tied}", "pos"), ("y", "neg")] * 9 + [("x", "pos"), (f"y {tied}", "neg")]
    said = "12 features tie for the last 3 places; those that come first"
    assert any(each.startswith(said) for each in notes(rows, "-k", 5, *pattern))
    one = "12 features tie for the last place; those that come first"
    assert any(each.startswith(one) for each in notes(rows, "-k", 3, *pattern))
    for k in (2, 14, "all"):
        assert not any("tie for" in each for each in notes(rows, "-k", k, *pattern))


def test_words_that_are_counted_alike():
    rows = [("aa bb cc good", "pos"), ("dd bad", "neg"), ("dd ee", "neg")] * 8
    found = notes(rows, "-k", 3, "--test", 0)
    names = {
        each["name"] for each in json.loads(Path("result/summary.json").read_text())["features"]
    }
    alike = {"aa", "bb", "cc", "good"}
    assert 0 < len(names & alike) < 4
    said = f"4 features tie for {len(names & alike)} of the 3 places"
    assert any(each.startswith(said) for each in found)


REVIEW = (
    "This film, which I saw with my aunt in the winter of that year, was the worst of all. " * 4
)


@pytest.mark.parametrize(
    ("rows", "heads", "options"),
    [
        ([(REVIEW, "pos")] * 5, (REVIEW, "pos"), ()),  # no header: the first row is taken for one
        (
            [(REVIEW, "1", "x")] * 30,
            ("text", "label", "split"),
            ("--label", "text", "--text", "split"),
        ),
        ([("a", "1", REVIEW)] * 30, ("text", "label", "split"), ("--read", "split=split")),
        (
            [(REVIEW, "1")] * 30,
            (REVIEW, "label"),
            (
                "--read",
                "numbers",
            ),
        ),
        (
            [("a", "1", REVIEW)] * 30,
            ("text", "label", REVIEW),
            ("--read", "numbers", "--read", "ignore=x"),
        ),
    ],
)
def test_no_review_stands_in_a_message(rows, heads, options):
    with open("a.csv", "w", newline="") as file:
        csv.writer(file).writerows([heads, *rows])
    message = run("select", "a.csv", *options, status=2)
    assert "This film, which I saw" in message or "is 'a'" in message
    assert REVIEW[:80] not in message
    assert len(message) < 400


def test_no_review_stands_in_messages_about_labels():
    first = ClassCounts.from_matrix([[1], [2]], ["a", REVIEW])
    with pytest.raises(ValueError, match="outside `classes`") as raised:
        ClassCounts.from_matrix([[1]], [REVIEW + "!"], classes=first.classes)
    assert len(str(raised.value)) < 300


def test_labels_unseen_in_training_are_cut():
    long = REVIEW[:900]
    rows = [(*each, "train") for each in REVIEWS] + [("good", "pos", "test"), ("bad", long, "test")]
    found = notes(rows, "--read", "split=split", heads=("text", "label", "split"))
    assert any("a label that training does not have" in each for each in found)
    assert all(len(each) < 300 for each in found)


# Emoji ------------------------------------------------------------------------------------------


def test_emoji_that_are_not_counted_are_told():
    rows = [("good \U0001f600", "pos"), ("bad", "neg"), ("good", "pos"), ("bad", "neg")] * 10
    told = "10 of the first 40 rows hold emoji, which are not counted; --words text-like=tweets"
    assert any(each.startswith(told) for each in notes(rows))
    for other in ("text-like=tweets", "analyzer=char"):
        assert not any("emoji" in each for each in notes(rows, "--words", other))
    seldom = [*[("good", "pos"), ("bad", "neg")] * 30, ("bad \u2639", "neg")]
    assert not any("emoji" in each for each in notes(seldom))


def test_pairs_of_name_and_value_that_are_cut_are_told():
    rows = [("c1=2 c8=v2", "pos"), ("c1=3 site=5", "neg")] * 10
    told = "20 of the first 20 rows hold only NAME=VALUE"
    assert any(each.startswith(told) for each in notes(rows))
    assert not any("NAME=" in each for each in notes(rows, "--words", r"token-pattern=\S+"))
    with open("result/features.csv", encoding="utf-8", newline="") as file:
        assert {row["feature"] for row in csv.DictReader(file)} == {
            "c1=2", "c1=3", "c8=v2", "site=5",
        }  # fmt: skip
    assert not any("NAME=" in each for each in notes([*REVIEWS, ("if a=b then", "pos")]))


def test_texts_of_a_table_are_looked_at_too():
    rows = [(f"c1={i} c2=x", f"good \U0001f600 u\u0308 {i % 3}", i, "pn"[i % 2]) for i in range(20)]
    options = ("--model", "mixed", "--text", "pairs", "--text", "said")
    found = notes(rows, *options, heads=("pairs", "said", "n", "label"))
    for told in ("20 of the first 20 rows hold emoji", "texts hold letters in parts"):
        assert sum(told in each for each in found) == 1
    alone = notes(rows, "--model", "mixed", "--text", "pairs", "--read", "kind=said=categorical",
                  heads=("pairs", "said", "n", "label"))  # fmt: skip
    assert any("20 rows hold only NAME=VALUE" in each for each in alone)
    assert not any("emoji" in each for each in alone)


def test_letters_in_parts_are_no_matter_where_words_are_not_cut():
    rows = [{"text": ["u\u0308bel", "gut"], "label": "pn"[i % 2]} for i in range(20)]
    Path("a.jsonl").write_text("\n".join(map(json.dumps, rows)), "utf-8")
    for asked in (("--words", "analyzer=tokens"),):
        assert "in parts" not in run("select", "a.jsonl", *asked, "-q")
        assert "in parts" not in run("predict", "result", "a.jsonl", "--out", "o.csv", "-q")
    rows = [("u\u0308bel", "p"), ("gut", "n")] * 10
    assert not any("in parts" in each for each in notes(rows, "--words", r"token-pattern=\S+"))
    assert any("in parts" in each for each in notes(rows))


def test_a_normal_distribution_of_zeros_is_told():
    rows = [(i % 5 == 0, i % 7 == 0, i + 0.5, "pn"[i % 2]) for i in range(70)]
    rows = [(int(a), int(b), c, y) for a, b, c, y in rows]
    share = 100 * sum((a == 0) + (b == 0) for a, b, _, _ in rows) / 210
    heads = ("a", "b", "c", "label")
    found = notes(rows, "--model", "gaussian", heads=heads)
    assert any(
        each.startswith(f"Of the values of the first 70 rows {share:.3g} % are 0") for each in found
    )
    assert not any("are 0" in each for each in notes(rows, "--model", "l2-centers", heads=heads))
    dense = [(a + 1, b, c, y) for a, b, c, y in rows]
    assert not any("are 0" in each for each in notes(dense, "--model", "gaussian", heads=heads))


def test_markers_that_k_leaves_out_are_told():
    rows = [("good fine film", "pos"), ("bad dull film", "neg")] * 10
    told = "Markers are among the 1 chosen features, which have fewer than 2 of: neg ("
    assert any(each.startswith(told) for each in notes(rows, "-k", 1, "--markers", 2))
    assert not any("Markers are" in each for each in notes(rows, "-k", 4, "--markers", 2))


# Rows of training that are judged ----------------------------------------------------------------


@pytest.fixture
def parted():
    """Of 40 rows every second is of the test, where the labels are turned round."""
    rows = [*REVIEWS, *REVIEWS]
    with open("a.csv", "w", newline="", encoding="utf-8") as file:
        rows = [
            (text, "neg" if test and label == "pos" else label, "test" if test else "train")
            for i, (text, label) in enumerate(rows)
            for test in [i // 2 % 2]
        ]
        csv.writer(file).writerows([("text", "label", "fold"), *rows])
    run("select", "a.csv", "--read", "split=fold", "-k", 2)


def test_rows_of_training_are_told_where_they_are_judged(parted):
    shown = run("predict", "result", "a.csv", "--truth", "label", "-o", "all.csv")
    assert "Accuracy 0.7500" in shown
    assert "20 of the 40 rows are those of training, by the column `fold`" in shown
    assert "--read split=fold judges" in shown
    shown = run(
        "predict", "result", "a.csv", "--truth", "label", "--read", "split=fold", "-o", "test.csv"
    )
    assert "Accuracy 0.5000" in shown
    assert "of training" not in shown
    with open("test.csv", encoding="utf-8", newline="") as file:
        rows = [int(row["row"]) for row in csv.DictReader(file)]
    assert rows == [i + 1 for i in range(40) if i // 2 % 2]


def test_no_column_and_no_truth_say_nothing_of_training(parted):
    assert "of training" not in run("predict", "result", "a.csv")
    lines = Path("a.csv").read_text("utf-8").splitlines()
    Path("b.csv").write_text("\n".join(line.rpartition(",")[0] for line in lines), "utf-8")
    assert "of training" not in run("predict", "result", "b.csv", "--truth", "label")
    shown = run("predict", "result", "b.csv", "--read", "split=fold", status=2)
    assert "no column `fold`" in shown
    Path("c.csv").write_text("text,label,fold\ngood,pos,train\n", "utf-8")
    shown = run("predict", "result", "c.csv", "--read", "split=fold", status=2)
    assert "no row has test in column `fold`" in shown
