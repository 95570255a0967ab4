"""`naively explain` and `cv`, a result in another form, and the mistakes that people make most."""

import csv
import json
import os
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest
from click.testing import CliRunner
from sklearn.base import clone
from sklearn.linear_model import LogisticRegression
from sklearn.metrics import get_scorer, log_loss
from sklearn.model_selection import (
    LeaveOneGroupOut,
    LeaveOneOut,
    TimeSeriesSplit,
)
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

from naively import (
    SparseBernoulliNB,
    SparseGaussianNB,
    SparseMultinomialNB,
    SparsityCV,
    sparsity_path,
)
from naively.cli.commands import naively
from naively.jobs.explain import explain_row
from naively.jobs.model_file import load_model
from naively.judging.parting import Parting
from naively.models import MODELS
from naively.read.layout import Layout
from naively.read.parts import parts_of
from naively.report.reading import summary_of_json
from naively.work.stream import parted

GOOD, BAD = "great lovely superb", "awful boring dull"


def reviews(n=40):
    rows = []
    for i in range(n):
        words = (BAD if i % 2 else GOOD).split()
        rows.append([f"film {words[i % 3]} {words[(i + 1) % 3]} w{i % 5}", "np"[i % 2 == 0]])
    return rows


@pytest.fixture
def folder(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    with open("reviews.csv", "w", newline="") as file:
        csv.writer(file).writerows([["text", "label"], *reviews()])
    rng = np.random.default_rng(0)
    X = rng.poisson(2, (40, 6)) + 3 * np.eye(6, dtype=int)[np.arange(40) % 2]
    np.savez("counts.npz", X=X, y=np.array(["even", "odd"])[np.arange(40) % 2])
    return tmp_path


def run(*arguments, status=0, stdin=None):
    result = CliRunner().invoke(naively, [str(each) for each in arguments], input=stdin)
    if result.exception is not None and not isinstance(result.exception, SystemExit):
        raise result.exception
    assert result.exit_code == status, result.output
    return result


# cv, on all rows --------------------------------------------------------------------------------


def test_gains_are_those_of_the_path_of_the_library(folder):
    found = json.loads(run("cv", "counts.npz", "--ks", "1-6", "--json", "--out", "path.csv").stdout)
    with np.load("counts.npz") as file:
        path = sparsity_path(SparseMultinomialNB(), file["X"], file["y"], ks=range(1, 7))
    assert [row["k"] for row in found["points"]] == path.k.tolist()
    assert [row["gain"] for row in found["points"]] == pytest.approx(path.objective - path.baseline)
    assert [row["bound"] for row in found["points"]] == pytest.approx(path.bound - path.baseline)
    second = sorted(set(path.support(2).tolist()) - set(path.support(1).tolist()))
    assert found["points"][1]["entered"] == [str(i) for i in second]
    with open("path.csv", newline="") as file:
        assert [int(row["k"]) for row in csv.DictReader(file)] == path.k.tolist()


def test_the_screen_names_what_comes_in(folder):
    out = run("cv", "reviews.csv", "--ks", "1-3,8", "--model", "bernoulli").stdout
    assert "no k features pass the bound" in out
    assert all(word in out for word in GOOD.split())
    run("cv", "reviews.csv", "--ks", "1,x", status=2)


def test_figures_are_shown_on_a_narrow_terminal(folder, monkeypatch):
    monkeypatch.setenv("COLUMNS", "60")
    lines = run("cv", "reviews.csv", "--ks", "1,8").stdout.splitlines()
    assert lines[1].split()[:5] == ["k", "accuracy", "s.e.", "gain", "bound"]
    assert lines[3].split()[0] == "8"
    assert lines[3].endswith("…")
    assert max(map(len, lines[:4])) <= 60


def test_a_page_is_no_summary(folder):
    run("select", "reviews.csv", "-k", 4)
    said = run("explain", "result/report.html", "--report", "md", status=2).stderr
    assert "give the folder that `naively select` wrote" in said


# report ------------------------------------------------------------------------------------------


def test_report_renders_the_summary_in_every_form(folder):
    run("select", "reviews.csv", "-k", 4)
    page = Path("result/report.html").read_bytes()
    Path("result/report.html").unlink()
    assert "result/report.html" in run("explain", "result", "--report", "html").stdout
    assert Path("result/report.html").read_bytes() == page
    text = Path("result/summary.json").read_text("utf-8")
    assert run("explain", "result", "--report", "json").stdout == text
    assert run("explain", "result", "--report", "md").stdout.startswith("# 4 of 12 features")
    run("explain", "result/summary.json", "--report", "md", "--out", "notes.md")
    assert Path("notes.md").read_text("utf-8").startswith("# 4 of 12 features")


def test_select_measures_what_the_report_shows(folder):
    run("select", "reviews.csv", "-k", 4, "--test", 0.5)
    summary = summary_of_json(Path("result/summary.json").read_text("utf-8"))
    at_four = [point for point in summary.path.points if point.k == 4]
    assert at_four[0].accuracy == summary.evaluation.accuracy
    assert summary.path.chosen == 4
    assert at_four[0].objective == pytest.approx(summary.certificate.objective)
    texts = [text for text, _ in reviews()]
    for row in summary.features:
        quoted = row.example.before + row.example.hit + row.example.after
        assert quoted == texts[row.example.row - 1]
        assert row.example.hit == row.name
    total = sum(map(sum, summary.evaluation.confusion.rows))
    assert total == summary.evaluation.test_rows
    assert summary.evaluation.coverage[-1].accuracy == summary.evaluation.accuracy


def test_k_chosen_by_cross_validation(folder):
    said = run("select", "reviews.csv", "-k", "auto").stdout
    summary = summary_of_json(Path("result/summary.json").read_text("utf-8"))
    assert summary.settings.k == "auto"
    assert len(summary.features) == summary.path.chosen
    assert f"k = {summary.path.chosen} was chosen by cross-validation" in said
    assert "cross-validation" in summary.path.accuracy_of
    assert all(point.spread is not None for point in summary.path.points)
    assert "chosen by cross-validation" in Path("result/report.html").read_text("utf-8")


# explain -----------------------------------------------------------------------------------------


def test_explain_says_which_words_moved_the_decision(folder):
    run("select", "reviews.csv", "-k", 6, "--words", "weights=counts")
    record = json.loads(run("explain", "result", "a superb film, superb and dull", "--json").stdout)
    assert record["answer"] == "p"
    said = {each["feature"]: (each["value"], each["nats"]) for each in record["contributions"]}
    assert said["superb"][0] == 2
    assert said["superb"][1] > 0 > said["dull"][1]
    total = record["start"] + sum(nats for _, nats in said.values())
    assert record["total"] == pytest.approx(total)
    assert record["probability"] == pytest.approx(1 / (1 + np.exp(-record["total"])))
    out = run("explain", "result/model.npz", "-", stdin="superb").stdout
    assert out.startswith("p, with probability")
    assert "No selected feature occurs" in run("explain", "result", "nothing known").stdout


SMOOTHED = [  # of matrices
    name
    for name, kind in MODELS.items()
    if kind.smoothed and not kind.regions and kind.takes != "table"
]


@pytest.mark.parametrize(
    ("model", "options"),
    [
        *((model, ("--train", f"alpha={alpha}")) for model in SMOOTHED for alpha in (0, 1)),
        ("l1-centers", ()),
        ("l2-centers", ()),
    ],
)
def test_terms_add_up_to_the_scores(folder, model, options):
    run("select", "counts.npz", "-k", 3, "--model", model, *options)
    trained = load_model("result/model.npz")
    with np.load("counts.npz") as file:
        X = file["X"][:, trained.columns].astype(float)
    for x in (*X[:5], np.zeros(3)):
        start, terms = trained.rule.terms(trained.seen(x))
        exact = trained.scores(x[None, :])[0]
        found = start + terms.sum(axis=1)
        assert explain_row(trained, x).answer == trained.classes[int(np.argmax(exact))]
        if np.isfinite(found).any():  # else every class is ruled out, and the prior decides
            assert found - found.max() == pytest.approx(exact - exact.max())
    shown = json.loads(
        run("explain", "result", "--file", "counts.npz", "--row", 3, "--json").stdout
    )
    assert shown["answer"] == explain_row(trained, X[2]).answer


def test_terms_of_two_columns_of_text_add_up(folder):
    rows = [{"a": text, "b": text[5:], "label": label} for text, label in reviews()]
    Path("two.jsonl").write_text("\n".join(map(json.dumps, rows)))
    columns = ("--text", "a", "--text", "b")
    run("select", "two.jsonl", *columns, "-k", 5, "--model", "hybrid")
    trained = load_model("result/model.npz")
    x = np.array([1.0, 0, 2, 0, 1, 0, 1, 0, 0, 3])
    start, terms = trained.rule.terms(trained.seen(x))
    assert start + terms.sum(axis=1) == pytest.approx(trained.scores(x[None, :])[0])
    record = json.loads(
        run("explain", "result", " ".join((GOOD, BAD)), f"{GOOD} {BAD}", "--json").stdout
    )
    assert {each["region"] for each in record["contributions"]} == {"a", "b"}
    run("select", "reviews.csv", "-k", 2, "--out", "one")
    refused("explain", "one", "a", "b", match=["takes 1 text (text), 2 given; give one TEXT."])
    assert "takes 2 texts (a, b), 1 given" in run("explain", "result", "x", status=2).stderr


# The mistakes people make most -------------------------------------------------------------------


def refused(*arguments, match):
    result = run(*arguments, status=2)
    assert result.stdout == ""
    assert "Traceback" not in result.stderr
    for words in match:
        assert words in result.stderr


def test_ten_likely_mistakes_are_told_with_the_way_out(folder):
    run("select", "reviews.csv", "-k", 4, "--out", "result")
    refused("selct", "reviews.csv", match=["selct", "select"])
    refused("select", "review.csv", match=["no such file", "did you mean", "reviews.csv"])
    refused("select", "reviews.csv", "--text", "txt", match=["did you mean `text`?"])
    refused("select", "reviews.csv", "-k", 99, match=["at most", "12", "got 99", "-k all"])
    few = "label,text\np,good film\nn,bad film\np,good day\nn,bad day\n"
    Path("few.csv").write_text(few, "utf-8")  # too few rows to keep some for a test
    refused("select", "few.csv", "-k", 99, match=["at most", "4", "got 99"])
    refused("select", "reviews.csv", "--model", "l1-centers", match=["no column holds", "--text"])
    Path("one.csv").write_text("text,label\na b,x\nc d,x\n")
    refused("select", "one.csv", match=["one class only (x)", "--label"])
    with np.load("counts.npz") as file:
        np.savez("negative.npz", X=file["X"] - 3, y=file["y"])
    refused("select", "negative.npz", "-k", 2, match=["are never negative", "--model"])
    refused("predict", "reviews.csv", "result/model.npz", match=["not a model", "model.npz"])
    refused("explain", ".", "--report", "html", match=["holds no summary.json", "naively select"])
    refused("explain", "result", match=["TEXT", "--file and --row"])
    refused("explain", "result", "--file", "reviews.csv", "--row", 99, match=["1 to 40"])
    Path("kept").mkdir()
    Path("kept/diary.txt").write_text("mine")
    refused("select", "reviews.csv", "--out", "kept", match=["kept", "--force"])


def test_presence_of_counts_is_done_and_said(folder):
    result = run("select", "counts.npz", "-k", 2, "--model", "bernoulli")
    assert "--model multinomial counts them" in " ".join(result.stdout.split())
    refused(
        "select",
        "counts.npz",
        "--model",
        "bernoulli",
        "--words",
        "weights=presence",
        match=["no effect"],
    )


def test_mistakes_in_looking_at_every_k(folder):
    Path("six.csv").write_text("text,label\n" + "good day,p\nbad day,n\n" * 3)
    refused("cv", "six.csv", match=["six.csv: `--folds` must be at most 3", "use --folds 3"])
    Path("each.csv").write_text("text,label\n" + "".join(f"word{i} a,c{i}\n" for i in range(9)))
    refused("cv", "each.csv", "--folds", 2, match=["must be at most 1", "give more rows"])
    refused("cv", "reviews.csv", "--ks", 99, match=["`--ks`", "at most", "12", "got 99"])
    refused("cv", "reviews.csv", "--model", "hybrid", match=["'hybrid' is not one of"])
    centers = ("cv", "counts.npz", "--model", "l1-centers")
    refused(
        *centers, "--train", "alpha=0.1,1", match=["--train alpha", "--model l1-centers", "leave"]
    )
    with np.load("counts.npz") as file:
        np.savez("negative.npz", X=file["X"] - 3, y=file["y"])
    both = ("cv", "negative.npz", "--model", "l1-centers", "--model", "multinomial")
    refused(*both, match=["are never negative", "--model"])


def test_classes_of_few_rows_are_said_not_warned_of(folder):
    text = "text,label\nodd film,rare\n" + "good film,p\nbad film,n\n" * 9
    Path("rare.csv").write_text(text)
    result = run("cv", "rare.csv")
    assert "fewer rows than there are folds: rare (1 of 3)" in " ".join(result.stdout.split())
    assert result.stderr == ""
    assert "rare" in json.loads(run("cv", "rare.csv", "--json").stdout)["notes"][0]


def test_smoothing_of_gaussians(folder):
    options = ("--model", "gaussian", "--train", "alpha=1e-9,0.1", "--ks", "1,2", "--json")
    found = json.loads(run("cv", "counts.npz", *options).stdout)
    assert [point["alpha"] for point in found["points"]] == [1e-9, 1e-9, 0.1, 0.1]


def test_auto_needs_rows(folder):
    run("count", "reviews.csv", "-o", "records", "-q")
    run("count", "records", "-o", "all.stats", "-q")
    refused("select", "all.stats", "-k", "auto", match=["-k auto", "give a number"])


def test_predict_takes_the_result_folder(folder):
    run("select", "reviews.csv", "-k", 4)
    assert run("predict", "result", "reviews.csv").stdout.startswith("row,label\n1,p\n2,n\n")


# Outside of Python -------------------------------------------------------------------------------


def shell(*arguments, **environment):
    return subprocess.run(
        [sys.executable, "-m", "naively", *arguments],
        capture_output=True,
        text=True,
        env={**os.environ, **environment},
        timeout=300,
    )


def test_exit_statuses_and_version(folder):
    assert shell("--version").stdout.startswith("naively 0.")
    assert shell("--help").returncode == 0
    assert shell("select", "nothing.csv").returncode == 2
    assert shell("select", "reviews.csv", "--no-such-option").returncode == 2
    assert "Exit status: 0, done" in shell("--help").stdout


def test_a_fault_of_its_own_is_status_1(folder):
    code = (
        "from naively.cli import main\nfrom naively.jobs import tables as paths\n"
        "def fault(*_, **__): raise ZeroDivisionError('a fault')\n"
        "paths.cross_validate = fault\nmain()\n"
    )
    command = [sys.executable, "-c", code, "cv", "reviews.csv"]
    result = subprocess.run(command, capture_output=True, text=True, check=False)
    assert result.returncode == 1
    assert "ZeroDivisionError: a fault" in result.stderr
    assert result.stdout == ""


COMMANDS = [
    ("cv", "reviews.csv"),
    ("cv", "reviews.csv", "--ks", "1"),
    ("cv", "reviews.csv", "--ks", "1", "--json"),
    ("explain", "result", "--report", "md"),
    ("explain", "result", "superb"),
]


def test_readers_that_go_and_disks_that_are_full(folder):
    run("select", "reviews.csv", "-k", 4)
    for arguments in COMMANDS:
        end, other = os.pipe()
        os.close(end)  # as after `| head`
        command = [sys.executable, "-m", "naively", *arguments]
        gone = subprocess.run(command, stdout=other, stderr=subprocess.PIPE, check=False)
        os.close(other)
        assert (gone.returncode, gone.stderr) == (141, b"")
    for arguments in (*COMMANDS[-1:], ("--help",), ("--version",)):
        with open("/dev/full", "w") as full:
            command = [sys.executable, "-m", "naively", *arguments]
            refusal = subprocess.run(command, stdout=full, stderr=subprocess.PIPE, check=False)
        assert refusal.returncode == 2
        assert refusal.stderr.count(b"\n") == 1
        assert b"no space left on the device" in refusal.stderr


@pytest.mark.parametrize("name", ["bash", "zsh", "fish"])
def test_shells_complete(folder, name):
    script = shell(_NAIVELY_COMPLETE=f"{name}_source").stdout
    assert "_NAIVELY_COMPLETE" in script
    words = {"COMP_WORDS": "naively ex", "COMP_CWORD": "1" if name != "fish" else "ex"}
    found = shell(_NAIVELY_COMPLETE=f"{name}_complete", **words).stdout
    assert "explain" in found
    assert "select" not in found


# cv ----------------------------------------------------------------------------------------------


def test_cv_is_that_of_the_library(folder):
    models = ("--model", "multinomial", "--model", "bernoulli")
    options = ("--ks", "1-6", "--folds", 4, "--train", "alpha=0.5,1", "--out", "cv.csv", "--json")
    found = json.loads(run("cv", "counts.npz", *models, *options).stdout)
    estimators = [SparseMultinomialNB(k=1), SparseBernoulliNB(k=1)]
    with np.load("counts.npz") as file:
        X, y = file["X"], file["y"]
    parts, splits = parts_of("counts.npz", Layout()), []
    assert found["repeats"] == 5
    for seed in range(5):
        parting = parted(Parting(n_folds=4, fold_seed=seed), parts, Layout())
        fold = parting.of_part(parts[0].name).kinds(len(y), None)
        assert set(np.bincount(fold)[1:].tolist()) == {len(y) // 4}
        splits += [(np.flatnonzero(fold != t), np.flatnonzero(fold == t)) for t in np.unique(fold)]
    search = SparsityCV(estimators, ks=range(1, 7), cv=splits, alphas=[0.5, 1]).fit(X, y)
    results = search.cv_results_
    for name, expected in (
        ("score", results["mean_test_score"]),
        ("k", results["param_k"]),
        ("alpha", results["param_alpha"]),
    ):
        assert [point[name] for point in found["points"]] == pytest.approx(list(expected))
    assert found["best"]["k"] == search.best_k_
    mean, spread = results["mean_test_score"], results["std_test_score"] / np.sqrt(4 - 1)
    own = np.flatnonzero([point["model"] == found["best"]["model"] for point in found["points"]])
    own = own[results["param_alpha"][own] == found["best"]["alpha"]]
    error = 1 - max(mean)
    doubt = np.sqrt((error + 1 / len(y)) * (1 - error) / len(y))
    doubt = max(doubt, spread[search.best_index_])
    within = own[mean[own] >= max(mean) - doubt - 1e-12]
    assert found["simplest_k"] == results["param_k"][within].min()
    of_class = {"multinomial": SparseMultinomialNB, "bernoulli": SparseBernoulliNB}
    for point, params in zip(found["points"], results["params"], strict=True):
        assert isinstance(params["estimator"], of_class[point["model"]])
    with open("cv.csv", newline="") as file:
        assert len(list(csv.DictReader(file))) == 24


@pytest.mark.parametrize("n", [200, 12_000])
@pytest.mark.parametrize("model", ["multinomial", "bernoulli"])
def test_cv_and_select_choose_the_same_k(tmp_path, monkeypatch, n, model):
    monkeypatch.chdir(tmp_path)
    rng = np.random.default_rng(n)
    y = np.array(["a", "b"])[rng.integers(0, 2, n)]
    mean = np.where(y[:, None] == "a", 0.5, 0.5 + 0.6 * rng.random(30) ** 3)
    np.savez("a.npz", X=rng.poisson(mean), y=y)
    found = json.loads(run("cv", "a.npz", "--model", model, "--json").stdout)
    for choice, k in (("simplest", found["simplest_k"]), ("best", found["best"]["k"])):
        run("select", "a.npz", "-k", choice, "--model", model, "--test", 0, "-q", "--out", "r",
            "--force")  # fmt: skip
        assert len(load_model("r/model.npz").names) == k


def of_folds(estimator, X, y, splits, ks, scorer):
    """Mean scores over folds of a fit for each k, by scikit-learn."""

    def score(fitted, X, y):
        if scorer != "neg_log_loss":
            return get_scorer(scorer)(fitted, X, y)
        return -log_loss(y, fitted.predict_proba(X), labels=fitted.classes_)

    return [
        np.mean([score(clone(estimator).set_params(k=k).fit(X[a], y[a]), X[b], y[b])
                 for a, b in splits])
        for k in ks
    ]  # fmt: skip


@pytest.fixture
def dated(tmp_path, monkeypatch):
    """Counts in the order of their dates, written in another."""
    monkeypatch.chdir(tmp_path)
    rng = np.random.default_rng(6)
    y = np.array(["a", "b", "c"])[rng.choice(3, 61, p=[0.5, 0.3, 0.2])]
    X = rng.poisson(1.0 + (y[:, None] == "a") * np.linspace(0, 3, 8))
    dates = np.arange("2024-01-01", "2024-03-02", dtype="datetime64[D]")[:61]
    order = rng.permutation(61)
    np.savez("a.npz", X=X[order], y=y[order], when=dates.astype(str)[order], who=order % 9)
    return X, y, order


@pytest.mark.parametrize("scoring", ["accuracy", "f1_macro", "neg_log_loss"])
@pytest.mark.parametrize("model", ["multinomial", "gaussian"])
def test_cv_in_time_is_that_of_scikit_learn(dated, scoring, model):
    X, y, _ = dated
    made = {"multinomial": SparseMultinomialNB(), "gaussian": SparseGaussianNB(variance="class")}
    splits = list(TimeSeriesSplit(4).split(X))
    options = (
        "--read",
        "time=when",
        "--folds",
        4,
        "--ks",
        "1,3,8",
        "--judge",
        f"scoring={scoring}",
    )
    found = json.loads(run("cv", "a.npz", *options, "--model", model, "--json").stdout)
    expected = of_folds(made[model], X, y, splits, (1, 3, 8), scoring)
    assert [point["score"] for point in found["points"]] == pytest.approx(expected)
    assert (found["folds"], found["repeats"], found["scoring"]) == (4, 1, scoring)


@pytest.mark.parametrize("scoring", ["accuracy", "neg_log_loss"])
def test_rows_left_out_alone_are_those_of_scikit_learn(dated, scoring):
    X, y, order = dated
    options = ("--folds", "loo", "--ks", "1,3", "--judge", f"scoring={scoring}", "--json")
    found = json.loads(run("cv", "a.npz", *options).stdout)
    expected = of_folds(SparseMultinomialNB(), X, y, list(LeaveOneOut().split(X)), (1, 3), scoring)
    assert [point["score"] for point in found["points"]] == pytest.approx(expected)
    assert (found["folds"], found["repeats"]) == (61, 1)
    if scoring == "accuracy":
        for point in found["points"]:
            p = point["score"]
            assert point["standard_error"] == pytest.approx(np.sqrt(p * (1 - p) / 60))


def test_groups_left_out_alone_are_those_of_scikit_learn(dated):
    X, y, order = dated
    found = json.loads(
        run("cv", "a.npz", "--folds", "loo", "--read", "groups=who", "--ks", "2", "--judge",
            "scoring=f1_macro", "--json").stdout
    )  # fmt: skip
    splits = LeaveOneGroupOut().split(X, y, np.arange(61) % 9)
    expected = of_folds(SparseMultinomialNB(), X, y, splits, (2,), "f1_macro")
    assert [point["score"] for point in found["points"]] == pytest.approx(expected)
    assert found["folds"] == 9


@pytest.mark.parametrize("scoring", ["f1_macro", "neg_log_loss"])
@pytest.mark.parametrize("model", ["multinomial", "gaussian"])
def test_repeats_are_means_over_divisions(uneven, scoring, model):
    X, y, _ = uneven
    parts, splits = parts_of("a.npz", Layout()), []
    for seed in range(3):
        parting = parted(Parting(n_folds=5, fold_seed=seed), parts, Layout())
        fold = parting.of_part(parts[0].name).kinds(len(y), None)
        splits += [(np.flatnonzero(fold != t), np.flatnonzero(fold == t)) for t in range(1, 6)]
    options = (
        "--ks",
        "2,12",
        "--judge",
        "repeats=3",
        "--judge",
        f"scoring={scoring}",
        "--model",
        model,
        "--json",
    )
    found = json.loads(run("cv", "a.npz", *options, "--against", "logistic").stdout)
    made = {"multinomial": SparseMultinomialNB(), "gaussian": SparseGaussianNB()}[model]
    search = SparsityCV(made, ks=[2, 12], cv=splits, scoring=scoring).fit(X, y)
    own = [point for point in found["points"] if point["model"] == model]
    expected = search.cv_results_["mean_test_score"]
    assert [point["score"] for point in own] == pytest.approx(list(expected), rel=1e-3)
    spread = search.cv_results_["std_test_score"] / np.sqrt(4)
    assert [point["standard_error"] for point in own] == pytest.approx(list(spread), rel=1e-2)
    logistic = [get_scorer(scoring)(tuned(X[a], y[a]), X[b], y[b]) for a, b in splits]
    (other,) = (point for point in found["points"] if point["model"] == "logistic")
    assert other["score"] == pytest.approx(np.mean(logistic), rel=1e-3)
    for k in ("best", "simplest"):
        asked = ("--test", 0, "-q", "--judge", f"scoring={scoring}", "--judge", "repeats=3",
                 "--model", model)  # fmt: skip
        run("select", "a.npz", "-k", k, *asked, "--out", "r", "--force")
        every = json.loads(run("cv", "a.npz", *options[2:]).stdout)
        known = every["best"]["k"] if k == "best" else every["simplest_k"]
        assert len(load_model("r/model.npz").names) == known


def test_the_last_rows_are_held_out(dated):
    X, y, order = dated
    run("select", "a.npz", "--read", "time=when", "-k", "3", "--train", "calibration=cross-fitted",
        "--judge", "precision=a=0.5", "-q", "--out", "r")  # fmt: skip
    summary = json.loads(Path("r/summary.json").read_text())
    test = summary["evaluation"]
    assert test["method"] == "the last 20 % of the rows by when"
    fitted = SparseMultinomialNB(k=3).fit(X[:49], y[:49])
    assert test["accuracy"] == pytest.approx(fitted.score(X[49:], y[49:]))
    run("select", "a.npz", "--read", "time=when", "-k", "best", "-q", "--out", "r2")
    assert "later than those trained on" in Path("r2/summary.json").read_text()


@pytest.mark.parametrize(
    ("command", "said"),
    [
        ("select a.npz --read time=when --read groups=who", "divide the rows in two ways"),
        (
            "select a.npz --read time=when --judge seed=3",
            "`--judge seed` has no effect with --read time",
        ),
        ("select a.npz --read time=when --test 0", "`--read time` has no effect"),
        ("select a.npz --read time=y", "each needs one of its own"),
        ("select a.npz --label who --read time=y", "must hold numbers, or dates"),
        ("select a.npz --judge repeats=2", "`--judge repeats` has no effect without -k auto"),
        (
            "select a.npz -k auto --read time=when --judge repeats=2",
            "`--judge repeats` has no effect with --read time",
        ),
        ("cv a.npz --read time=when --folds loo", "`--folds loo` and `--read time` divide"),
        ("cv a.npz --read time=when --folds 61", "cannot be cut into stretches"),
        (
            "cv a.npz --folds loo --judge repeats=2",
            "`--judge repeats` has no effect with --folds loo",
        ),
        ("cv a.npz --folds loo --judge scoring=f1_macro", "has no sense in folds of one row"),
        ("cv a.npz --folds one", "is not a number of folds"),
    ],
)
def test_ways_to_divide_that_exclude_each_other(dated, command, said):
    found = CliRunner().invoke(naively, command.split())
    assert found.exit_code == 2
    assert said in " ".join(found.output.split())


@pytest.fixture
def uneven(tmp_path, monkeypatch):
    """Counts of two classes, one of them rare, and the splits of the command."""
    monkeypatch.chdir(tmp_path)
    rng = np.random.default_rng(5)
    y = np.where(rng.random(600) < 0.15, "rare", "usual")
    X = rng.poisson(np.where(y[:, None] == "rare", 1.0, 0.6) * np.linspace(0.4, 1, 12))
    np.savez("a.npz", X=X, y=y)
    parts = parts_of("a.npz", Layout())
    fold = parted(Parting(n_folds=5), parts, Layout()).of_part(parts[0].name).kinds(len(y), None)
    return X, y, [(np.flatnonzero(fold != t), np.flatnonzero(fold == t)) for t in range(1, 6)]


@pytest.mark.parametrize("model", ["multinomial", "gaussian"])
def test_cv_scores_are_those_of_the_library(uneven, model):
    X, y, splits = uneven
    options = ("--ks", "1-12", "--judge", "scoring=balanced_accuracy", "--model", model, "--json")
    found = json.loads(run("cv", "a.npz", *options).stdout)
    estimator = {"multinomial": SparseMultinomialNB, "gaussian": SparseGaussianNB}[model](k=1)
    search = SparsityCV(estimator, ks=range(1, 13), cv=splits, scoring="balanced_accuracy")
    expected = search.fit(X, y).cv_results_["mean_test_score"]
    assert [point["score"] for point in found["points"]] == pytest.approx(list(expected))
    assert found["best"]["k"] == search.best_k_
    run("select", "a.npz", "-k", "best", "--judge", "scoring=balanced_accuracy", "--test", 0, "-q",
        "--model", model, "--out", "r")  # fmt: skip
    ks = json.loads(run("cv", "a.npz", *options[2:]).stdout)["best"]["k"]
    assert len(load_model("r/model.npz").names) == ks
    message = run("select", "a.npz", "-k", 3, "--judge", "scoring=accuracy", "-q", status=2).stderr
    assert "`--judge scoring` has no effect without -k auto" in message


def tuned(X, y):
    """Logistic regression, its C the best on every fifth row of each class, held out once."""
    place = np.empty(len(y), dtype=int)
    for label in np.unique(y):
        place[y == label] = np.arange((y == label).sum())
    place += np.where(y == np.unique(y)[1], (y == np.unique(y)[0]).sum(), 0)
    a, b = place % 5 != 0, place % 5 == 0
    scaled = StandardScaler(with_mean=False).fit_transform(X)

    def loss(C):
        fitted = LogisticRegression(C=C, max_iter=1000).fit(scaled[a], y[a])
        return log_loss(y[b], fitted.predict_proba(scaled[b]))

    best = min((0.01, 0.1, 1, 10, 100), key=loss)
    best = min((best, best / 10**0.5, best * 10**0.5), key=loss)
    return make_pipeline(
        StandardScaler(with_mean=False), LogisticRegression(C=best, max_iter=1000)
    ).fit(X, y)


@pytest.mark.parametrize("scoring", ["accuracy", "balanced_accuracy"])
def test_cv_against_logistic_regression_is_scikit_learn_on_the_same_folds(uneven, scoring):
    X, y, splits = uneven
    options = ("--ks", "1,6,12", "--judge", f"scoring={scoring}", "--against", "logistic", "--json")
    found = json.loads(run("cv", "a.npz", *options).stdout)
    scores = [get_scorer(scoring)(tuned(X[a], y[a]), X[b], y[b]) for a, b in splits]
    sizes = [len(rows) if scoring == "accuracy" else 1 for _, rows in splits]
    (point,) = [each for each in found["points"] if each["model"] == "logistic"]
    assert point["k"] == 12
    assert point["score"] == pytest.approx(np.average(scores, weights=sizes), abs=1e-3)
    told = {each["best"]["model"] for each in found["contenders"]}
    assert told == {"multinomial", "logistic"}
    assert any("C chosen from 0.01 to 100 by the log loss" in each for each in found["notes"])
    behind = [each["behind"] for each in found["contenders"]]
    assert behind[0] == 0 <= behind[1]
    assert found["best"] == found["contenders"][0]["best"]


def test_cv_against_logistic_regression_weighs_all_words(folder):
    out = run("cv", "reviews.csv", "--ks", "1,2", "--against", "logistic").stdout
    assert "logistic: 40 rows in 5 folds" in out
    assert "logistic(k=" in out


def test_cv_on_the_screen(folder):
    out = run("cv", "reviews.csv", "--ks", "1,2,6,12").stdout
    assert "multinomial: 40 rows in 5 folds" in out
    assert "best" in out
    assert "folds" in run("cv", "reviews.csv", "--folds", 1, status=2).stderr
    run("cv", "reviews.csv", "--train", "alpha=1,x", status=2)
