"""Constraints at the command: names, patterns and files, whatever the way to the rows."""

import csv
import json
import random
from pathlib import Path

import numpy as np
import pytest
from click.testing import CliRunner

from naively import SparseBernoulliNB, SparseMultinomialNB
from naively.cli.scale import naively
from naively.jobs import data
from naively.jobs.model_file import load_model
from naively.read import batch

WORDS = {
    "pos": ["good", "great", "fine", "film", "the"],
    "neg": ["bad", "awful", "sad", "film", "the"],
    "mid": ["so", "meh", "ok", "film", "the"],
}


@pytest.fixture
def folder(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    rng = random.Random(0)
    with open("all.csv", "w") as file:
        file.write("text,label\n")
        for i in range(300):
            label = ["pos", "neg", "mid", "pos", "pos"][i % 5]
            words = rng.choices(WORDS[label], k=4) + rng.choices(sum(WORDS.values(), []), k=3)
            file.write(f"{' '.join([*words, *(['rare'] * (i == 7))])},{label}\n")
    Path("groups.csv").write_text("good,praise\ngreat,praise\nb*,blame\nawful,blame\nabsent,x\n")
    Path("costs.tsv").write_text("film\t9\nthe\t9\n*\t2\n")
    return tmp_path


def run(*arguments, status=0):
    result = CliRunner().invoke(naively, [str(each) for each in arguments])
    assert result.exit_code == status, result.output
    return " ".join(result.output.split())


def chosen(out="out"):
    with open(Path(out) / "features.csv", newline="") as file:
        return {row["feature"] for row in csv.DictReader(file)}


def certificate(out="out"):
    return json.loads((Path(out) / "summary.json").read_text())["certificate"]


ASKED = {
    "required": ("-k", 4, "--require", "film", "--exclude", "g*"),
    "groups": ("-k", 3, "--feature-groups", "groups.csv", "--require", "great"),
    "budget": ("--costs", "costs.tsv", "--budget", 9),
    "quota": ("-k", 5, "--quota", 1, "--exclude", "the"),
    "even": ("-k", 5, "--quota", "even", "--require", "film"),
    "pairs": ("-k", 4, "--require", "film", "--exclude", "g*", "--objective", "pairs"),
    "even pairs": ("-k", 5, "--quota", "even", "--objective", "pairs"),
    "paid pairs": ("--costs", "costs.tsv", "--budget", 9, "--objective", "pairs"),
    "even words": ("-k", 5, "--quota", "even", "--redundancy", "conditional"),
    "redundancy": ("-k", 4, "--require", "film", "--exclude", "g*", "--redundancy", "conditional"),
    "weights": ("-k", 4, "--class-weight", "balanced"),
    "auto": ("-k", "auto", "--require", "film", "--quota", 1, "--class-weight", "balanced"),
}


@pytest.mark.parametrize("model", ["multinomial", "bernoulli", "hybrid"])
@pytest.mark.parametrize("asked", ASKED)
def test_constraints_hold_whatever_the_way(folder, monkeypatch, asked, model):
    if model == "hybrid" and ("pairs" in asked or asked in ("redundancy", "even words")):
        return  # which it does not have
    arguments = ("select", "all.csv", "--model", model, *ASKED[asked], "-q")
    run(*arguments, "--out", "out")
    found = chosen()
    if asked in ("required", "pairs", "redundancy"):
        assert len(found) == 4
        assert "film" in found
        assert not {"good", "great"} & found
    if asked == "groups":
        assert {"good", "great"} <= found
        assert ("bad" in found) == ("awful" in found)
        assert certificate()["k"] == 3
    if asked in ("budget", "paid pairs"):
        assert len(found) == 4
        assert not {"film", "the"} & found
    if asked in ("quota", "even", "even pairs", "even words"):
        assert len(found) == 5
    if "even" in asked:
        spoken = {name for name, words in WORDS.items() if set(words[:3]) & found}
        assert spoken == set(WORDS)
    with monkeypatch.context() as patch:
        patch.setattr(data, "HELD_BYTES", 0)
        patch.setattr(batch, "BATCH_ROWS", 17)
        run(*arguments, "--out", "streamed")
    for name in ("features.csv", "model.npz"):
        assert (Path("out") / name).read_bytes() == (Path("streamed") / name).read_bytes()


@pytest.mark.parametrize(
    "asked", ["required", "groups", "budget", "quota", "even", "pairs", "weights"]
)
def test_statistics_alone_give_the_same_model(folder, asked):
    run("select", "all.csv", *ASKED[asked], "--holdout", 0, "-q")
    run("count", "all.csv", "--out", "records", "-q")
    run("merge", "records", "-o", "all.npz", "-q")
    run("solve", "all.npz", *ASKED[asked], "-o", "solved", "-q")
    assert chosen("solved") == chosen("result")
    for name in ("features.csv", "model.npz"):
        assert (Path("solved") / name).read_bytes() == (Path("result") / name).read_bytes()


def test_numbers_are_constrained_as_the_estimator_is(folder):
    rng = np.random.default_rng(0)
    y = np.array(["ab"[i % 2] for i in range(80)])
    X = rng.poisson(np.where(y[:, None] == "a", 1.0, 1.0 + (np.arange(8) < 3)))
    names = [*(f"MT-{j}" for j in range(3)), *(f"g{j}" for j in range(5))]
    rows = [",".join([*names, "label"])]
    rows += [",".join([*map(str, row), label]) for row, label in zip(X.tolist(), y, strict=True)]
    Path("genes.csv").write_text("\n".join(rows) + "\n")
    ways = ("genes.csv", "--numbers", "--exclude", "MT-[01]", "--require", "g4", "-q")
    for model, kind in (("multinomial", SparseMultinomialNB), ("bernoulli", SparseBernoulliNB)):
        fitted = kind(k=3, excluded=[0, 1], required=[7], class_weight="balanced").fit(X, y)
        run("select", *ways, "--model", model, "-k", 3, "--holdout", 0, "--class-weight",
            "balanced", "--out", model)  # fmt: skip
        file = load_model(f"{model}/model.npz")
        assert file.columns.tolist() == np.flatnonzero(fitted.support_).tolist()
        own, weights = file.rule.arrays()["weights"], fitted.rule_.weights
        np.testing.assert_allclose(own - own.mean(axis=0), weights - weights.mean(axis=0))


@pytest.mark.parametrize(
    "asked",
    [
        ("--quota", 1, "--require", "film"), ("--quota", "even"), ASKED["groups"][2:],
        ASKED["pairs"][2:],
        (*ASKED["groups"][2:], "--objective", "pairs"),
    ],
)  # fmt: skip
def test_path_and_folds_start_where_they_can(folder, asked):
    path = json.loads(run("path", "all.csv", *asked, "--json", "-q"))
    for row in path["rows"][:3]:
        run("select", "all.csv", *asked, "-k", row["k"], "--holdout", 0, "--quick", "--force", "-q")
        found = certificate("result")
        assert found["objective"] - found["baseline"] == pytest.approx(row["gain"])
    least = 0 if "even" in asked else path["rows"][0]["k"]  # of which no feature is a choice, too
    table = json.loads(run("cv", "all.csv", *asked, "--model", "bernoulli", "--json", "-q"))
    assert table["points"][0]["k"] >= least


def test_the_summary_says_what_was_chosen_from(folder):
    said = run("select", "all.csv", *ASKED["budget"], "--model", "bernoulli", "-q")
    assert "no other features of a cost of 9 at most reach a higher training likelihood" in said
    page = (Path("result") / "report.html").read_text()
    assert "No choice of features of a cost of 9 at most" in page
    assert run("report", "result", "--format", "md")
    run("select", "all.csv", "-q", "--out", "plain")
    assert "choice" not in certificate("plain")


def test_ties_are_those_among_what_may_be_chosen(folder):
    lines = [f"{'aa bb cc dd' if i % 2 else 'ee ff gg hh'},{'xy'[i % 2]}" for i in range(40)]
    Path("ties.csv").write_text("text,label\n" + "\n".join(lines) + "\n")
    three = ("-k", 3, "--require", "hh", "--exclude", "aa")
    for model, free in (("multinomial", 3), ("bernoulli", 6)):  # bb to dd are alike, bb to gg tie
        ways = ("select", "ties.csv", "--model", model, "--holdout", 0, "--json", "-q")
        notes = json.loads(run(*ways, *three, "--out", model))["notes"]
        (note,) = [each for each in notes if " tie for " in each]
        assert note.startswith(f"{free} features tie for 2 of the 3 places")


def test_a_mistake_is_told_in_one_sentence(folder):
    Path("twice.csv").write_text("good,1\ngood,2\n*,1\n")
    Path("some.csv").write_text("good,1\n")
    Path("none.csv").write_text("zebra,1\n")
    Path("word.csv").write_text("good,cheap\n")
    Path("three.csv").write_text("good,1,2\n")
    for arguments, message in (
        (("--require", "goood"), "`--require goood` is no feature; did you mean `good`?"),
        (("--require", "z*"), "`--require z*` matches no feature"),
        (("--exclude", "z*"), "`--exclude z*` matches no feature"),
        (("--exclude", "flim"), "did you mean `film`?"),
        (("--require", "rare", "--min-count", 2, "--holdout", 0), "is not counted 2 times or more"),
        (("--require", "film", "--exclude", "f*"), "`--require` and `--exclude` must not overlap"),
        (("--require", "*", "-k", 3), "`-k` must be at least 12: 12 are required; got 3"),
        (("--quota", 90), "`--quota` must be at most"),
        (("--quota", 2, "-k", 5), "`-k` must be at least 6: `--quota` needs 6; got 5"),
        (("--quota", 2, "--feature-groups", "groups.csv"), "leave out `--quota` or"),
        (("--quota", "odd"), "is not a number of features for each class, 0 or more, or even"),
        (("--quota", "even", "--costs", "costs.tsv", "--budget", 9), "`--quota even` shares k"),
        (("--budget", 3), "`--budget` has no effect without --costs"),
        (("--costs", "costs.tsv"), "`--costs` has no effect without --budget"),
        (("--costs", "costs.tsv", "--budget", 3, "--require", "film"), "features, 9; got 3"),
        (("--costs", "some.csv", "--budget", 3), "11 features have no cost, such as `awful`"),
        (("--costs", "none.csv", "--budget", 3), "names no feature of all.csv"),
        (("--costs", "twice.csv", "--budget", 3), "line 2 names `good` once more"),
        (("--costs", "word.csv", "--budget", 3), "line 1 must be a feature and its cost"),
        (("--feature-groups", "three.csv"), "line 1 must be the name of a feature, or a pattern"),
        (("--feature-groups", "absent.csv"), "no such file"),
        (("--model", "l2-centers", "--class-weight", "balanced"), "all classes weigh the same"),
        (("-k", 13, "--exclude", "film"), "features that may be chosen, 11; got 13"),
    ):
        assert message in run("select", "all.csv", *arguments, "-q", status=2), arguments
    # What is excluded and too rare to be a feature is not chosen: that is what was asked.
    run("select", "all.csv", "--exclude", "rare", "--min-count", 2, "-k", 3, "-q")


@pytest.mark.parametrize(
    "ways",
    [
        ("--objective", "pairs", "--redundancy", "conditional"),
        ("--redundancy", "conditional", "--costs", "costs.csv", "--budget", "3"),
        ("--redundancy", "conditional", "--feature-groups", "groups.csv"),
    ],
)
@pytest.mark.parametrize("command", ["select", "path", "cv"])
def test_of_two_ways_to_choose_one_is_to_be_left_out(command, ways, tmp_path):
    result = CliRunner().invoke(naively, [command, "no.csv", *ways])
    assert result.exit_code == 2
    assert f"`{ways[2]}`" in result.output or f"`{' '.join(ways[:2])}`" in result.output
    assert "are ways to choose the features, of which one can be asked for" in result.output


@pytest.mark.parametrize(
    "options",
    [
        ("--analyzer", "char", "--stop-words", "english"),
        ("--analyzer", "tokens", "--token-pattern", "x"),
    ],
)
def test_options_of_words_are_refused_for_characters(options):
    result = CliRunner().invoke(naively, ["select", "no.csv", *options])
    assert result.exit_code == 2
    assert "has no effect on --analyzer" in result.output
