"""What is decided with a model: agreement with the truth, thresholds, rows for a person."""

import csv
import json
import math
import zipfile
from pathlib import Path

import numpy as np
import pytest
from click.testing import CliRunner
from hypothesis import given, settings, strategies as st
from sklearn import metrics

from naively import SparseMultinomialNB
from naively.cli.commands import naively
from naively.jobs.model_file import load_model
from naively.judging.agreement import agreement, share_interval
from naively.judging.parting import TEST, TRAIN, Parting
from naively.judging.thresholds import Wanted, answers_at, log_odds, reached_by, threshold_for
from naively.read.errors import InputError
from naively.read.layout import Layout
from naively.read.parts import parts_of
from naively.work.stream import parted


def run(*arguments, status=0):
    found = CliRunner().invoke(naively, [str(each) for each in arguments])
    assert found.exit_code == status, found.output
    return found


def pairs_of(truth, answers):
    found = {}
    for pair in zip(truth, answers, strict=True):
        found[pair] = found.get(pair, 0) + 1
    return found


LABELS = st.lists(st.tuples(*[st.sampled_from("abcd")] * 2), min_size=1, max_size=30)


@given(LABELS)
def test_agreement_is_that_of_scikit_learn(rows):
    truth, answers = zip(*rows, strict=True)
    found = agreement(pairs_of(truth, answers))
    assert found.rows == len(rows)
    assert found.accuracy == pytest.approx(metrics.accuracy_score(truth, answers))
    recalls = metrics.recall_score(
        truth, answers, average=None, labels=sorted(set(truth)), zero_division=0
    )
    assert found.balanced_accuracy == pytest.approx(np.mean(recalls))
    macro = metrics.f1_score(truth, answers, average="macro", zero_division=0)
    assert found.macro_f1 == pytest.approx(macro)
    assert 0 <= found.low <= found.accuracy + 1e-12
    assert found.accuracy - 1e-12 <= found.high <= 1


def test_the_interval_solves_its_equation():
    """Its ends are the shares p with |k / n - p| = z sqrt(p (1 - p) / n) (Wilson 1927)."""
    for k, n in ((7, 10), (95, 100), (1, 3)):
        for p in share_interval(k, n):
            assert abs(k / n - p) == pytest.approx(1.959963984540054 * math.sqrt(p * (1 - p) / n))
    assert share_interval(0, 5)[0] == 0
    assert share_interval(5, 5)[1] == pytest.approx(1)


# Thresholds ------------------------------------------------------------------------------------

ROWS = st.lists(st.tuples(st.integers(-4, 4), st.booleans()), min_size=1, max_size=25)


@given(ROWS, st.sampled_from(["precision", "recall"]), st.sampled_from([0.3, 0.5, 0.8, 0.95, 1.0]))
@settings(max_examples=200)
def test_the_threshold_is_the_best_of_all(rows, goal, share):
    odds, members = (np.array(each) for each in zip(*rows, strict=True))
    members = members.astype(np.int64)
    found = threshold_for(odds.astype(float), np.ones_like(odds), members, Wanted("c", goal, share))
    good = []
    for t in sorted(set(odds.tolist())):
        right = sum(m for o, m in zip(odds, members, strict=True) if o >= t)
        of = (odds >= t).sum() if goal == "precision" else members.sum()
        if right and right >= share * of - 1e-9:
            good.append(t)
    if not good:
        assert found is None
        return
    assert found == (min(good) if goal == "precision" else max(good))
    reached = reached_by(odds, np.ones_like(odds), members, found)
    some, n = reached.of(goal)
    assert some / n >= share - 1e-9


@given(st.lists(st.lists(st.floats(-30, 30), min_size=3, max_size=3), min_size=1, max_size=8))
def test_log_odds_and_answers_are_those_of_the_probabilities(scores):
    scores = np.array(scores)
    p = np.exp(scores - scores.max(axis=1, keepdims=True))
    p /= p.sum(axis=1, keepdims=True)
    odds = log_odds(scores, 1)
    inside = (p[:, 1] > 1e-12) & (p[:, 1] < 1 - 1e-12)
    expected = np.log(p[inside, 1] / (p[inside, 0] + p[inside, 2]))
    assert odds[inside] == pytest.approx(expected, rel=1e-6, abs=1e-9)
    answers = answers_at(scores, 1, 1.5)
    assert ((answers == 1) == (odds >= 1.5)).all()
    others = np.where(scores[:, 2] > scores[:, 0], 2, 0)
    assert (answers[answers != 1] == others[answers != 1]).all()


def test_classes_that_are_ruled_out_have_no_odds():
    scores = np.array([[-np.inf, 0.0], [0.0, -np.inf], [-np.inf, -np.inf]])
    assert log_odds(scores, 1).tolist() == [np.inf, -np.inf, -np.inf]
    assert answers_at(scores, 1, 0.0).tolist() == [1, 0, 0]


# Commands --------------------------------------------------------------------------------------


@pytest.fixture
def data(tmp_path, monkeypatch):
    """Counts of a rare and two usual classes."""
    monkeypatch.chdir(tmp_path)
    rng = np.random.default_rng(3)
    y = rng.choice(["b", "rare", "z"], 1500, p=[0.5, 0.1, 0.4])
    mean = np.full((1500, 10), 0.5)
    mean[y == "rare", :4] += 1.3
    mean[y == "z", 4:8] += 0.4
    X = rng.poisson(mean)
    for name, rows in (("a", slice(0, 1000)), ("b", slice(1000, None))):
        np.savez(f"{name}.npz", X=X[rows], y=y[rows])
    return X, y


def threshold(path="result"):
    with open(f"{path}/summary.json") as file:
        return json.load(file)["thresholds"]


@pytest.mark.parametrize(("goal", "share"), [("precision", 0.8), ("recall", 0.8)])
def test_a_threshold_is_chosen_on_folds_and_told_on_test_rows(data, goal, share):
    X, y = data
    out = run("select", "a.npz", "--test", "b.npz", "-k", 6, "--judge", f"{goal}=rare={share}",
              "--out", "result", "-q").stdout  # fmt: skip
    (found,) = threshold()
    parts = parts_of("a.npz", Layout())
    fold = parted(Parting(n_folds=5), parts, Layout()).of_part(parts[0].name).kinds(1000, None)
    odds, members = [], []
    for t in range(TRAIN, TRAIN + 5):
        fitted = SparseMultinomialNB(k=6).fit(X[:1000][fold != t], y[:1000][fold != t])
        p = fitted.predict_log_proba(X[:1000][fold == t])
        odds += (p[:, 1] - np.logaddexp(p[:, 0], p[:, 2])).tolist()
        members += (y[:1000][fold == t] == "rare").tolist()
    odds, members = np.array(odds), np.array(members)
    reached = {}
    for t in sorted(odds):
        called = odds >= t - 1e-9
        of = called.sum() if goal == "precision" else members.sum()
        reached[t] = (called & members).sum() / of
    good = [t for t, each in reached.items() if each >= share]
    assert found["log_odds"] == pytest.approx(
        min(good) if goal == "precision" else max(good), abs=1e-6
    )
    # On the test rows it does what `predict` does with it.
    least = repr(found["log_odds"])
    said = run("predict", "result", "b.npz", "--truth", "y", "--threshold", f"rare={least}",
               "--out", "o.csv", "-q").stdout  # fmt: skip
    with open("o.csv", newline="") as file:
        answers = np.array([row["label"] for row in csv.DictReader(file)])
    truth = y[1000:]
    precision = np.mean(truth[answers == "rare"] == "rare")
    recall = np.mean(answers[truth == "rare"] == "rare")
    figures = {"precision": precision, "recall": recall}
    assert found["reached"] == pytest.approx(figures.pop(goal))
    assert found["other"] == pytest.approx(*figures.values())
    assert found["low"] <= found["reached"] <= found["high"]
    assert f"precision {precision:.4f}" in " ".join(said.split())
    assert f"recall {recall:.4f}" in " ".join(said.split())
    assert "`naively predict` does so, unless --threshold says otherwise" in " ".join(out.split())
    assert load_model("result/model.npz").answer_from == ("rare", found["log_odds"])
    own = run("predict", "result", "b.npz", "--out", "own.csv", "-q").stdout
    assert f"rare is answered from {least} nats of log-odds on" in " ".join(own.split())
    assert Path("own.csv").read_text() == Path("o.csv").read_text()
    plain = run("predict", "result", "b.npz", "--threshold", "none", "--out", "n.csv", "-q").stdout
    assert "is answered from" not in plain
    fitted = SparseMultinomialNB(k=6).fit(X[:1000], y[:1000])
    with open("n.csv", newline="") as file:
        likeliest = [row["label"] for row in csv.DictReader(file)]
    assert likeliest == fitted.predict(X[1000:]).tolist()
    with open("o.csv", newline="") as file:
        assert [*csv.DictReader(file)][0].keys() == {"row", "label"}


def test_one_of_several_thresholds_is_for_who_predicts_to_choose(data):
    wanted = ("--judge", "recall=rare=0.5", "--judge", "precision=rare=0.5")
    out = run("select", "a.npz", "-k", 6, *wanted, "--out", "r", "-q").stdout
    assert "naively predict --threshold rare=" in " ".join(out.split())
    assert load_model("r/model.npz").answer_from is None


@pytest.mark.parametrize("found", [["other", 1.0], ["rare"], ["rare", "1"], [3, 1.0], "rare"])
def test_a_damaged_threshold_is_refused(data, found):
    run("select", "a.npz", "-k", 2, "--out", "r", "-q")
    with zipfile.ZipFile("r/model.npz") as file:
        content = {name: file.read(name) for name in file.namelist()}
    manifest = json.loads(content["manifest.json"]) | {"answer_from": found}
    content["manifest.json"] = json.dumps(manifest).encode()
    with zipfile.ZipFile("bad.npz", "w") as file:
        for name, each in content.items():
            file.writestr(name, each)
    with pytest.raises(InputError, match="answer_from"):
        load_model("bad.npz")


def test_the_surest_mistakes_are_told_with_what_misled(data):
    X, y = data
    run("select", "a.npz", "--test", "b.npz", "-k", 6, "--out", "r", "-q")
    found = json.loads(Path("r/summary.json").read_text())["evaluation"]["misled"]
    fitted = SparseMultinomialNB(k=6).fit(X[:1000], y[:1000])
    p, truth = fitted.predict_log_proba(X[1000:]), y[1000:]
    best = p.argmax(axis=1)
    margin = p.max(axis=1) - np.log1p(-np.exp(p.max(axis=1)))
    wrong = np.flatnonzero(fitted.classes_[best] != truth)
    order = wrong[np.argsort(-margin[wrong], kind="stable")][:5]
    assert [each["margin"] for each in found] == pytest.approx(margin[order])
    assert [each["key"] for each in found] == [f"row {i + 1}" for i in order]
    assert [each["truth"] for each in found] == truth[order].tolist()
    columns = fitted.get_support(indices=True)
    weights = fitted.feature_log_prob_[:, columns]
    for each, i in zip(found, order, strict=True):
        own = list(fitted.classes_).index(each["truth"])
        said = X[1000 + i, columns] * (weights[best[i]] - weights[own])
        expected = sorted((nats for nats in said if nats > 0), reverse=True)[:4]
        assert [word["nats"] for word in each["words"]] == pytest.approx(expected)
    page = Path("r/report.html").read_text()
    assert "Surest mistakes" in page
    assert f"row {order[0] + 1}" in page


def test_what_no_threshold_reaches_is_said(data):
    out = run("select", "a.npz", "-k", 2, "--judge", "precision=rare=1", "--out", "r", "-q").stdout
    (found,) = threshold("r")
    if found["log_odds"] is None:
        assert "No threshold reaches a precision of 1 for rare" in " ".join(out.split())
    message = run("select", "a.npz", "--judge", "recall=rar=0.9", "-q", status=2).output
    assert "`--judge recall` must be of a class of the training (b, rare, z); got rar" in " ".join(
        message.split()
    )
    run("select", "a.npz", "--judge", "recall=rare=1.5", "-q", status=2)
    run("select", "a.npz", "--judge", "precision=0.5", "-q", status=2)
    message = run("predict", "r", "b.npz", "--threshold", "x=1", status=2).output
    assert "`--threshold` must be of a class of the model (b, rare, z); got x" in " ".join(
        message.split()
    )


def test_predict_compares_with_the_truth(data):
    X, y = data
    run("select", "a.npz", "-k", 6, "--test", 0, "--out", "r", "-q")
    said = run("predict", "r", "b.npz", "--truth", "y", "--margin", "--out", "o.csv", "-q").stdout
    said = " ".join(said.split())
    fitted = SparseMultinomialNB(k=6).fit(X[:1000], y[:1000])
    answers, p = fitted.predict(X[1000:]), fitted.predict_proba(X[1000:]).max(axis=1)
    truth, margin = y[1000:], np.log(p / (1 - p))
    with open("o.csv", newline="") as file:
        rows = list(csv.DictReader(file))
    assert [row["label"] for row in rows] == answers.tolist()
    assert [float(row["margin"]) for row in rows] == pytest.approx(margin.tolist())
    assert f"Accuracy {np.mean(answers == truth):.4f} (" in said
    macro = metrics.f1_score(truth, answers, average="macro")
    assert f"macro F1 {macro:.4f}" in said
    for name, row in zip(["b", "rare", "z"], metrics.confusion_matrix(truth, answers), strict=True):
        assert f"{name} {' '.join(map(str, row.tolist()))}" in said
    told = np.array([float(row["margin"]) for row in rows])
    reached = np.array([(told >= each).sum() for each in told])  # rows of equal log-odds together
    kept = reached <= reached[reached >= 450].min()
    assert f"accuracy on the rest is {np.mean((answers == truth)[kept]):.4f}" in said
    wrong = np.flatnonzero(answers != truth)
    surest = wrong[np.argmax(margin[wrong])]
    assert f"Surely wrong: row {surest + 1} is {truth[surest]}, answered {answers[surest]}" in said


def test_explain_says_where_a_threshold_decided(data):
    X, y = data
    run(
        "select", "a.npz", "-k", 6, "--judge", "precision=rare=0.9", "--test", 0, "--out", "r", "-q"
    )
    name, least = load_model("r/model.npz").answer_from
    fitted = SparseMultinomialNB(k=6).fit(X[:1000], y[:1000])
    p = fitted.predict_proba(X[1000:])
    odds = np.log(p[:, 1] / (p[:, 0] + p[:, 2]))
    short = (p.argmax(axis=1) == 1) & (odds < least - 1e-6)
    for row in (int(np.flatnonzero(short)[0]), int(np.argmax(odds))):
        asked = ["explain", "r", "--file", "b.npz", "--row", row + 1]
        told = json.loads(run(*asked, "--json").stdout)
        others = np.delete(fitted.classes_, 1), np.delete(p[row], 1)
        answer = others[0][others[1].argmax()] if short[row] else "rare"
        assert told["answer"] == answer
        assert told["threshold"]["log_odds"] == pytest.approx(odds[row], rel=1e-6)
        assert (told["threshold"]["name"], told["threshold"]["least"]) == (name, least)
        said = " ".join(run(*asked).stdout.split())
        assert f"rare is answered from {least!r} nats of log-odds on, and this row has" in said
        assert ("without that threshold the answer would be rare" in said) == bool(short[row])
    run("select", "a.npz", "-k", 6, "--test", 0, "--out", "plain", "-q")
    told = run("explain", "plain", "--file", "b.npz", "--row", 1, "--json").stdout
    assert json.loads(told)["threshold"] is None


def test_the_words_that_misled_speak_for_the_answer_against_the_truth(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    rows = [("good fine", "yes"), ("bad poor", "no"), ("good nice", "yes"), ("bad sad", "no")] * 9
    with open("a.jsonl", "w") as file:
        file.writelines(json.dumps({"text": t, "label": y}) + "\n" for t, y in rows)
    with open("b.jsonl", "w") as file:
        for t, y in [("good bad good good", "no"), ("bad", "no")]:
            file.write(json.dumps({"text": t, "label": y}) + "\n")
    run("select", "a.jsonl", "-k", 2, "--test", 0, "--out", "r", "-q")
    assert set(load_model("r/model.npz").names) == {"good", "bad"}
    run("select", "a.jsonl", "-k", 2, "--words", "weights=counts", "--test", 0, "--out", "c", "-q")
    said = run("predict", "c", "b.jsonl", "--truth", "label", "--out", "o.csv", "-q").stdout
    said = " ".join(said.split())
    assert "Surely wrong: row 1 is no, answered yes" in said
    assert "(good +" in said
    assert "bad" not in said[said.index("(good +") :]


def test_hold_out_is_part_of_the_thresholds_test(data):
    run(
        "select",
        "a.npz",
        "-k",
        6,
        "--judge",
        "recall=rare=0.8",
        "--out",
        "r",
        "-q",
        "--judge",
        "seed=4",
    )
    (found,) = threshold("r")
    parts = parts_of("a.npz", Layout())
    parting = parted(Parting(0.2, seed=4, n_folds=5), parts, Layout())
    kinds = parting.of_part(parts[0].name).kinds(1000, None)
    assert found["test_rows"] == ((kinds == TEST) & (data[1][:1000] == "rare")).sum()
