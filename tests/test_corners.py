"""Corners of the command: the right answer or one sentence, and nothing half-written."""

import json
import warnings
from pathlib import Path

import numpy as np
import pytest

from naively.expected.log_odds import LogOdds
from naively.expected.saddlepoint import saddlepoint_tail
from naively.jobs.model_file import load_model
from naively.judging.parting import TRAIN, Parting
from naively.models import MODELS
from test_names import FORMATS, X, Y, refused, run, write

TEXTS = [k for k, kind in MODELS.items() if kind.takes in ("counts", "presence")]


@pytest.fixture(autouse=True)
def _folder(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    Path("y.txt").write_text("\n".join(Y) + "\n")


def texts(path, rows):
    Path(path).write_text("text,label\n" + "".join(f"{text},{label}\n" for text, label in rows))


def noise(n=60):
    """Words that tell nothing: every text is of both classes."""
    rng = np.random.default_rng(1)
    found = [" ".join(f"w{j}" for j in rng.integers(0, 30, 5)) for _ in range(n // 2)]
    return [(text, label) for text in found for label in "ab"]


def told(n=60):
    return [(f"{'good' if i % 2 else 'bad'} w{i % 7}", "ab"[i % 2]) for i in range(n)]


def summary(folder):
    return json.loads(Path(folder, "summary.json").read_text())


def untouched(*arguments, match):
    """Refused in one sentence, and nothing is written."""
    before = sorted(map(str, Path().rglob("*")))
    refused(*arguments, match=match)
    assert sorted(map(str, Path().rglob("*"))) == before


# No feature at all -----------------------------------------------------------------------------


@pytest.mark.parametrize("format", FORMATS)
@pytest.mark.parametrize("model", ["multinomial", "l1-centers", "gaussian", "categorical"])
def test_a_model_of_no_feature_answers_by_its_prior(format, model):
    y = np.where(np.arange(len(Y)) % 4 == 1, "b", "a")
    Path("y.txt").write_text("\n".join(y) + "\n")
    path, options = write(format, "a", X, y=y)
    run("select", path, *options, "--model", model, "-k", 0, "--test", 0, "--out", "r", "-q")
    known = load_model("r/model.npz")
    assert known.names == ()
    keys = [key for key in options[1::2] if key not in ("numbers", "labels=y.txt")]
    names = [each for key in keys for each in ("--read", key)]
    answers = run("predict", "r", path, *names, "--probabilities").stdout.splitlines()[1:]
    equal = model == "l1-centers"  # whose priors are: the class that comes first
    for line in answers:
        assert line.split(",")[1] == "a"
        assert float(line.split(",")[2]) == pytest.approx(0.5 if equal else 0.75)
    found = json.loads(run("explain", "r", "--file", path, "--row", 2, *names, "--json").stdout)
    assert found["answer"] == "a"
    assert found["contributions"] == []


@pytest.mark.parametrize("way", [(), ("--on", 1), ("--quick",), ("--test", 0)])
@pytest.mark.parametrize("model", TEXTS)
def test_a_choice_of_no_feature_is_a_model_and_a_note(way, model):
    if model == "hybrid" and "--on" in way:
        pytest.skip("needs the rows themselves, whatever the way")
    texts("a.csv", noise())
    with warnings.catch_warnings():
        warnings.simplefilter("error")  # a warning would be seen raw, even with -q
        run("select", "a.csv", "-k", "auto", "--model", model, *way, "--text", "text", "-q",
            "--out", "r")  # fmt: skip
    assert load_model("r/model.npz").names == ()
    notes = [each for each in summary("r")["notes"] if "selects no feature" in each]
    assert len(notes) == 1
    assert "the cross-validated error is" in notes[0]
    answers = run("predict", "r", "a.csv").stdout.splitlines()[1:]
    assert len({line.split(",")[1] for line in answers}) == 1
    assert json.loads(run("explain", "r", "w1 w2", "--json").stdout)["contributions"] == []


def test_counting_and_solving_for_no_feature():
    texts("a.csv", told())
    run("count", "a.csv", "-o", "c", "-q")
    run("count", "c", "-o", "s.npz", "-q")
    run("select", "s.npz", "-k", 0, "-o", "s", "-q")
    run("select", "a.csv", "-k", 0, "--test", 0, "--out", "r", "-q")
    assert Path("s/model.npz").read_bytes() == Path("r/model.npz").read_bytes()


# Too few rows ----------------------------------------------------------------------------------


@pytest.mark.parametrize("model", TEXTS)
@pytest.mark.parametrize("holdout", [(), ("--test", 0)])
def test_one_row_a_class_cannot_be_cross_validated(model, holdout):
    texts("a.csv", [("foo bar", "a"), ("baz qux", "b")])
    untouched(
        *("select", "a.csv", "-k", "auto", "--model", model, "--text", "text", *holdout, "-q"),
        match=["a.csv: `-k auto` cross-validates, for which a class needs two training rows"],
    )
    run("select", "a.csv", "--model", model, "--text", "text", "-k", 1, *holdout, "-q")


@pytest.mark.parametrize("n", [3, 4, 5, 6])
@pytest.mark.parametrize("model", TEXTS)
def test_few_rows_are_cross_validated(n, model):
    texts("a.csv", told(n))
    run("select", "a.csv", "-k", "auto", "--model", model, "--text", "text", "--test", 0, "-q")


@pytest.mark.parametrize("way", [(), ("--on", 1)])
def test_a_file_to_test_on_without_rows(way):
    texts("a.csv", told())
    texts("b.csv", [])
    untouched(
        *("select", "a.csv", "--test", "b.csv", "-k", 2, *way, "-q"),
        match="b.csv: there are no rows with a label to test on; give a file with data in it.",
    )
    run("select", "a.csv", "-k", 2, "--out", "r", "-q")
    found = run("predict", "r", "b.csv", "--label", "label")
    assert (found.stdout, found.stderr) == ("row,label\n", "")
    found = run("predict", "r", "b.csv", "--label", "label", "--out", "o.csv")
    assert found.stdout == "0 rows labelled in o.csv\n"
    refused("explain", "r", "--file", "b.csv", "--row", 1, match="b.csv: there are no rows")


@pytest.mark.parametrize("rows", [[("foo bar", "a"), ("baz qux", "a")]])
def test_statistics_of_one_class_train_no_model(rows):
    texts("a.csv", rows)
    run("count", "a.csv", "-o", "c", "-q")
    run("count", "c", "-o", "s.npz", "-q")
    untouched(
        "select", "s.npz", "-o", "s", match="s.npz: the training rows hold one class only (a)"
    )


@pytest.mark.parametrize("way", [(), ("--on", 1), ("--on", "dask")])
def test_the_same_rows_in_two_folders_are_refused(way):
    for folder in ("d1", "d2"):
        Path(folder).mkdir()
        texts(f"{folder}/part.csv", told())
    words = "d2/part.csv: is the same data as d1/part.csv, and each shard must be counted once"
    untouched("select", "d*/part.csv", *way, "-k", 2, "-q", match=words)
    untouched("cv", "d*/part.csv", match=words)


@pytest.mark.parametrize("share", [1e-9, 1e-12, 1e-300])
def test_a_share_of_nothing_is_no_test(share):
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        keys, codes = np.arange(50, dtype=np.uint64), np.zeros(50, dtype=int)
        assert (Parting(share).dealt(keys, codes, np.array(["a"]), None) == TRAIN).all()
        assert (Parting(share).drawn(keys, None) == TRAIN).all()
        texts("a.csv", told())
        run("select", "a.csv", "--test", share, "-k", 2, "--out", "r", "-q")
    assert summary("r")["evaluation"] is None


# Extreme numbers -------------------------------------------------------------------------------


@pytest.mark.parametrize("alpha", ["1e-300", "1e-320", "1e-100", "1e100", "1e300"])
@pytest.mark.parametrize("model", TEXTS)
def test_extreme_smoothing_is_used_or_refused(alpha, model):
    texts("a.csv", [*told(), *[("!", "c")] * 5])  # c: no words, its total is smoothing alone
    with warnings.catch_warnings():
        warnings.simplefilter("error", RuntimeWarning)
        try:
            run(
                "select",
                "a.csv",
                "--train",
                f"alpha={alpha}",
                "--model",
                model,
                "--text",
                "text",
                "-k",
                2,
                "--out",
                "r",
                "-q",
            )
        except AssertionError as error:
            assert "naively: a.csv: " in str(error)  # noqa: PT017 (either answer is right)
            assert not Path("r").exists()
            return
    answers = run("predict", "r", "a.csv", "--probabilities").stdout.splitlines()[1:]
    found = np.array([[float(p) for p in line.split(",")[2:]] for line in answers])
    np.testing.assert_allclose(found.sum(axis=1), 1)


@pytest.mark.parametrize("p", [1e-300, 1e-320, 5e-324, 0.0])
@pytest.mark.parametrize(("threshold", "above"), [(1.5, 1.0), (3.0, 0.0)])
def test_the_tail_of_a_law_of_next_to_no_variance(p, threshold, above):
    """Of two draws of 1, or of 690 with a probability that no number can tell from 0."""
    value, probability = np.array([[690.0, 1.0]]), np.array([[p, 1.0]])
    law = LogOdds(value, probability, threshold, False, 1.0, 1.0, 1.0, True)
    found, tie = saddlepoint_tail(law, np.array([2.0]), np.array([1.0]))
    assert found == pytest.approx(above, abs=1e-12)
    assert tie == 0
    at = LogOdds(value, probability, 2.0, False, 1.0, 1.0, 1.0, True)
    found, tie = saddlepoint_tail(at, np.array([2.0]), np.array([1.0]))
    assert 0 <= found <= found + tie <= 1


@pytest.mark.parametrize("step", ["1e-300", "1e-309", "1e-320", "5e-324", "1e-20"])
@pytest.mark.parametrize("values", [[[1, 2], [3, 4]], [[0.5, 0], [0, 0.25]]])
def test_a_resolution_too_fine_for_counters_is_refused(step, values):
    np.savez("a.npz", X=np.array(values), y=["a", "b"])
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        refused(
            "count", "a.npz", "--read", f"resolution={step}", "-o", "c", match="coarser resolution"
        )
    assert not list(Path().glob("c/*"))


def test_a_resolution_of_nothing_but_zeros():
    np.savez("a.npz", X=np.zeros((2, 2), dtype=int), y=["a", "b"])
    run("count", "a.npz", "--read", "resolution=1e-300", "-o", "c")


@pytest.mark.parametrize("model", TEXTS)
@pytest.mark.parametrize("way", [(), ("--on", 1)])
def test_tokens_with_blanks_have_no_ngrams(model, way):
    rows = [{"text": ["new york", "ab"[i % 2] * 2], "label": "ab"[i % 2]} for i in range(20)]
    Path("a.jsonl").write_text("\n".join(map(json.dumps, rows)))
    how = ("--words", "analyzer=tokens", "--model", model, "--text", "text", *way, "-k", 2, "-q")
    untouched(
        *("select", "a.jsonl", *how, "--words", "ngrams=1,2"),
        match="a.jsonl: Tokens must hold no blanks where n-grams of them are counted",
    )
    run("select", "a.jsonl", *how)
