"""A rule elsewhere says what it says here: SQL, Python without NumPy, ONNX, JSON."""

import csv
import json
import sqlite3
import subprocess
import sys
from contextlib import closing
from dataclasses import replace

import numpy as np
import pandas as pd
import pytest
from click.testing import CliRunner
from hypothesis import given, strategies as st
from sklearn.datasets import load_breast_cancer, load_digits, load_wine
from sklearn.feature_extraction.text import CountVectorizer
from sklearn.pipeline import make_pipeline

from naively import (
    SparseBernoulliNB,
    SparseCategoricalNB,
    SparseGaussianNB,
    SparseL1Centers,
    SparseL2Centers,
    SparseMixedNB,
    SparseMultinomialNB,
    SparseNegativeBinomialNB,
    SparsePoissonNB,
    WordCounts,
    export,
    load,
    save,
)
from naively.cli.commands import naively
from naively.jobs.model_file import load_model, save_model
from naively.models.rules import LinearRule, winners
from naively.models.value_rules import restored
from naively.read.matrix import scaled_counts
from naively.text.weighting import log_weights

DIGITS, DIGIT = load_digits(return_X_y=True)
CANCER, TUMOUR = load_breast_cancer(return_X_y=True, as_frame=True)
WINE, CULTIVAR = load_wine(return_X_y=True, as_frame=True)
TUMOUR = np.array(["it's", 'a "quoted" class'])[TUMOUR]  # spellings that must be escaped


def lacking(X):
    """Some entries of real rows are missing."""
    X = np.array(X, dtype=float)
    X[np.random.default_rng(0).random(X.shape) < 0.1] = np.nan
    return X


# Real rows, each with its model; every kind of rule and of what rules see.
CASES = {
    "multinomial": (SparseMultinomialNB(k=20), DIGITS, DIGIT),
    "vetoes": (SparseMultinomialNB(k=30, alpha=0), DIGITS, DIGIT),
    "bernoulli": (SparseBernoulliNB(k=20, binarize=4.0), DIGITS, DIGIT),
    "bernoulli, vetoes": (SparseBernoulliNB(k=30, alpha=0, binarize=0.5), DIGITS, DIGIT),
    "bernoulli, missing": (SparseBernoulliNB(k=20, missing="ignore"), lacking(DIGITS), DIGIT),
    "missing and vetoes": (
        SparseBernoulliNB(k=30, alpha=0, missing="ignore"),
        lacking(DIGITS),
        DIGIT,
    ),
    "poisson": (SparsePoissonNB(k=20), DIGITS, DIGIT),
    "poisson, missing": (SparsePoissonNB(k=20, missing="ignore"), lacking(DIGITS), DIGIT),
    "exposure in a column": (SparsePoissonNB(k=3, exposure=0), DIGITS[:, 2:6] + 1, DIGIT),
    "negative binomial": (SparseNegativeBinomialNB(k=20), DIGITS, DIGIT),
    "refit": (SparseGaussianNB(k=5, refit="logistic"), WINE, CULTIVAR),
    "gaussian": (SparseGaussianNB(k=8), CANCER, TUMOUR),
    "one variance": (SparseGaussianNB(k=8, variance="shared"), WINE, CULTIVAR),
    "gaussian, missing": (SparseGaussianNB(k=8, missing="ignore"), lacking(CANCER), TUMOUR),
    "l1 centers": (SparseL1Centers(k=8), CANCER, TUMOUR),
    "l2 centers": (SparseL2Centers(k=8, scale="std"), WINE, CULTIVAR),
    "categorical": (SparseCategoricalNB(k=20), DIGITS, DIGIT),
    "categorical, vetoes": (SparseCategoricalNB(k=30, alpha=0), DIGITS, DIGIT),
    "categorical, missing": (SparseCategoricalNB(k=20, missing="ignore"), lacking(DIGITS), DIGIT),
    "no feature": (SparseBernoulliNB(k=0), DIGITS, DIGIT),
    "booleans": (SparseGaussianNB(k=2), CANCER, TUMOUR == "it's"),
}
TOTAL = SparsePoissonNB(k=20, exposure="total")


def fitted(name):
    """An estimator trained on half of the rows, and the others."""
    estimator, X, y = CASES[name]
    model = type(estimator)(**estimator.get_params()).fit(X[::2], y[::2])
    return model, X[1::2]


def agree(scores, model, X):
    """Whether scores are those of the model, up to a term of a row and -inf written low."""
    ours = model._scores(X)
    scores = np.where(np.array(scores, dtype=float) <= -1e307, -np.inf, scores)
    decided = ~np.isneginf(scores).all(axis=1)  # of the others SQL tells the label alone
    scores, ours = scores[decided], ours[decided]
    with np.errstate(invalid="ignore"):
        ours, scores = (each - each.max(axis=1, keepdims=True) for each in (ours, scores))
    np.testing.assert_allclose(scores, ours, rtol=1e-9, atol=1e-9)


# SQL -------------------------------------------------------------------------------------------


def asked(statement, frame, table="rows"):
    """What SQLite answers on a table, in the order of its rows."""
    names = ", ".join('"' + name.replace('"', '""') + '"' for name in frame)
    marks = ", ".join("?" * len(frame.columns))
    quoted = '"' + table.replace('"', '""') + '"'
    values = frame.astype(object).where(frame.notna(), None).to_numpy().tolist()
    with closing(sqlite3.connect(":memory:")) as base:
        base.execute(f"CREATE TABLE {quoted} ({names})")
        base.executemany(f"INSERT INTO {quoted} VALUES ({marks})", values)
        found = base.execute(statement)
        return pd.DataFrame(found.fetchall(), columns=[each[0] for each in found.description])


def table_of(model, X):
    names = getattr(model, "feature_names_in_", [f"x{j}" for j in range(np.shape(X)[1])])
    return pd.DataFrame(np.asarray(X), columns=names)


@pytest.mark.parametrize("name", CASES)
def test_sql_answers_as_the_model_does(name):
    model, X = fitted(name)
    found = asked(export(model, "sql"), table_of(model, X))
    assert len(found) == len(X)
    agree(found[[f"naively_score_{c}" for c in range(len(model.classes_))]], model, X)
    assert found["naively_label"].tolist() == model.predict(X).tolist()
    assert found.columns[: np.shape(X)[1]].tolist() == table_of(model, X).columns.tolist()


@pytest.mark.parametrize("name", ["multinomial", "gaussian", "categorical", "vetoes"])
def test_a_missing_value_has_no_label_in_sql(name):
    model, X = fitted(name)
    frame = table_of(model, X).head(3).astype(object)
    frame.iloc[1, np.flatnonzero(model.support_)[0]] = None
    assert asked(export(model, "sql"), frame)["naively_label"].isna().tolist() == [0, 1, 0]


NAMES = [
    'x"; DROP TABLE rows; --',
    "a b",
    "select",
    "naïve ✓ 数",
    "it's",
    "new\nline",
    "%s {0} \\",
    "__import__('os')",
    "r.x",
    '"',
]


def with_names():
    rng = np.random.default_rng(0)
    X = pd.DataFrame(rng.integers(0, 4, (40, len(NAMES))), columns=NAMES)
    y = np.array(["x'; DROP TABLE rows; --", "\\", "ç\n"])[rng.integers(0, 3, 40)]
    return SparsePoissonNB(k="all").fit(X, y), X


def test_names_and_labels_of_any_kind_are_only_names():
    model, X = with_names()
    found = asked(export(model, "sql", table='ta"ble'), X, table='ta"ble')
    assert found["naively_label"].tolist() == model.predict(X).tolist()
    code = {}
    exec(export(model, "python"), code)
    rows = X.to_dict("records")
    assert [code["predict"](row) for row in rows] == model.predict(X).tolist()
    described = json.loads(export(model, "json"))
    assert [each["name"] for each in described["features"]] == NAMES
    assert described["classes"] == model.classes_.tolist()


@given(name=st.text(min_size=1, max_size=20).filter(lambda s: "\0" not in s))
def test_no_name_breaks_out(name):
    try:
        name.encode()
    except UnicodeEncodeError:
        return
    X = pd.DataFrame({name: [1, 2, 8, 9]})
    model = SparseGaussianNB(k=1).fit(X, [name, name, name + "'", name + "'"])
    assert asked(export(model, "sql"), X)["naively_label"].tolist() == model.predict(X).tolist()
    code = {}
    exec(export(model, "python"), code)
    assert [code["predict"]({name: x}) for x in (1, 9)] == model.predict(X)[[0, 3]].tolist()


def test_names_that_sql_cannot_spell_are_refused():
    model = SparseGaussianNB(k=1).fit(pd.DataFrame({"a\0": [1, 2, 8, 9]}), list("aabb"))
    with pytest.raises(ValueError, match="none that is NUL"):
        export(model, "sql")


def test_thousands_of_features_and_many_classes_stay_within_what_engines_take():
    rng = np.random.default_rng(0)
    X, y = rng.poisson(1.0, (120, 1500)), rng.integers(0, 12, 120)
    model = SparseBernoulliNB(k="all", alpha=0).fit(X, y)
    found = asked(export(model, "sql"), table_of(model, X[:5]))
    assert found["naively_label"].tolist() == model.predict(X[:5]).tolist()


def test_other_engines_take_the_statement():
    duckdb = pytest.importorskip("duckdb")
    for name in ("multinomial", "gaussian, missing", "l1 centers", "categorical"):
        model, X = fitted(name)
        rows = table_of(model, X)  # noqa: F841 (found by its name)
        found = duckdb.sql(export(model, "sql")).fetchall()
        labels = [row[-1] for row in found]
        assert sorted(labels) == sorted(model.predict(X).tolist())


# Words -----------------------------------------------------------------------------------------


def test_sql_over_words():
    X, y = DIGITS.astype(int), DIGIT
    names = [f"pixel {j}'s" for j in range(64)]
    rows, columns = np.nonzero(X[1::2])
    counts = X[1::2][rows, columns]
    long = pd.DataFrame({"row": rows, "word": [names[j] for j in columns], "count": counts})
    for model in (
        SparseMultinomialNB(k=20),
        SparseMultinomialNB(k=30, alpha=0),
        SparseBernoulliNB(k=20),
        SparseBernoulliNB(k=30, alpha=0),
        SparsePoissonNB(k=20),
    ):
        model.fit(pd.DataFrame(X[::2], columns=names), y[::2])
        statement = export(model, "sql", layout="words")
        found = asked(statement, long, "words").sort_values("naively_row")
        rows_of = pd.DataFrame(X[1::2], columns=names)
        assert found["naively_label"].tolist() == model.predict(rows_of).tolist()
        agree(found[[f"naively_score_{c}" for c in range(10)]], model, rows_of)


# Python ----------------------------------------------------------------------------------------

FRESH = """
import json, math, sys
class Refused:
    def find_spec(self, name, path=None, target=None):
        if name.split(".")[0] in ("numpy", "naively", "scipy"):
            raise ImportError(name)
sys.meta_path.insert(0, Refused())
code = {}
exec(open(sys.argv[1], encoding="ascii").read(), code)
rows = json.load(open(sys.argv[2]))
rows = [[math.nan if x is None else x for x in row] for row in rows]
if sys.argv[3] != "null":
    rows = [dict(zip(json.loads(sys.argv[3]), row)) for row in rows]
more = "probabilities" in code
print(json.dumps([[code["predict"](row), code["probabilities"](row) if more else
                   [repr(x) for x in code["scores"](row)]] for row in rows]))
"""


@pytest.mark.parametrize("name", CASES)
def test_python_answers_as_the_model_does_without_any_library(name, tmp_path):
    model, X = fitted(name)
    export(model, "python", tmp_path / "rule.py")
    values = np.asarray(X, dtype=object)
    rows = [[None if x != x else x for x in row] for row in values.tolist()]
    (tmp_path / "rows.json").write_text(json.dumps(rows))
    names = json.dumps(getattr(model, "feature_names_in_", np.array(None)).tolist())
    files = [str(tmp_path / "rule.py"), str(tmp_path / "rows.json"), names]
    command = [sys.executable, "-I", "-S", "-c", FRESH, *files]
    found = json.loads(subprocess.run(command, capture_output=True, check=True).stdout)
    assert [label for label, _ in found] == model.predict(X).tolist()
    if hasattr(model, "predict_proba"):
        np.testing.assert_allclose([p for _, p in found], model.predict_proba(X), atol=1e-9)
    else:
        agree([[float(x) for x in scores] for _, scores in found], model, X)


def test_python_refuses_what_is_missing_or_no_category():
    code = {}
    exec(export(fitted("multinomial")[0], "python"), code)
    with pytest.raises(ValueError, match="is missing"):
        code["predict"]([float("nan")] * 64)
    code = {}
    exec(export(fitted("categorical")[0], "python"), code)
    with pytest.raises(ValueError, match="categories are whole numbers >= 0; got -1"):
        code["predict"]([-1] * 64)


# ONNX ------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    "name", [name for name in [*CASES, "total"] if not name.startswith("categorical")]
)
def test_onnx_answers_as_the_model_does(name, tmp_path):
    pytest.importorskip("onnx")
    runtime = pytest.importorskip("onnxruntime")
    if name == "total":
        model, X = TOTAL.fit(DIGITS[::2], DIGIT[::2]), DIGITS[1::2]
    else:
        model, X = fitted(name)
    graph = export(model, "onnx", tmp_path / "rule.onnx")
    assert [each.name for each in graph.graph.input] == ["X"]
    used = {name for node in graph.graph.node for name in node.input}
    assert {each.name for each in graph.graph.initializer} <= used
    session = runtime.InferenceSession(tmp_path / "rule.onnx", providers=["CPUExecutionProvider"])
    rows = np.asarray(X, dtype=np.float32)
    label, second = session.run(None, {"X": rows})
    rows = table_of(model, rows) if hasattr(model, "feature_names_in_") else rows
    assert label.tolist() == model.predict(rows.astype(np.float64)).tolist()
    names = [each.name for each in session.get_outputs()]
    if hasattr(model, "predict_proba"):
        assert names == ["label", "probabilities"]
        proba = model.predict_proba(rows.astype(np.float64))
        np.testing.assert_allclose(second, proba, rtol=1e-6, atol=1e-7)
    else:
        assert names == ["label", "scores"]
        np.testing.assert_allclose(second, model._scores(rows.astype(np.float64)), rtol=1e-6)


def test_onnx_that_is_not_installed_says_how_to_get_it(monkeypatch):
    monkeypatch.setitem(sys.modules, "onnx", None)
    with pytest.raises(ImportError, match=r"pip install 'naively\[onnx\]'"):
        export(fitted("multinomial")[0], "onnx")


# JSON ------------------------------------------------------------------------------------------


@pytest.mark.parametrize("name", CASES)
def test_json_tells_the_whole_rule(name):
    model, X = fitted(name)
    told = json.loads(export(model, "json"))
    assert (told["format"], told["version"]) == ("naively rule", 1)
    assert [each["column"] for each in told["features"]][: model.support_.sum()] == np.flatnonzero(
        model.support_
    ).tolist()
    arrays = {
        key: np.array(value, dtype=np.int64 if key == "starts" else np.float64)
        for key, value in told["arrays"].items()
    }  # null is NaN to NumPy, and -inf here
    arrays = {key: np.where(np.isnan(a), -np.inf, a) if a.dtype.kind == "f" else a
              for key, a in arrays.items()}  # fmt: skip
    shapes = {key: value.shape for key, value in model.rule_.arrays().items()}
    arrays = {key: value.reshape(shapes[key]) for key, value in arrays.items()}
    rule = restored(told["rule"], arrays)
    X = np.asarray(X)[:, [each["column"] for each in told["features"]]]
    if told["threshold"] is not None:
        X = np.where(np.isnan(X), np.nan, X > told["threshold"])
    ours = model._scores(fitted(name)[1])
    np.testing.assert_allclose(rule.scores(X), ours, rtol=1e-12)
    assert told["classes"] == model.classes_.tolist()


def test_json_of_a_table_of_several_kinds():
    frame = pd.DataFrame({"age": [3.0, 4, 70, 80], "town": list("aabb")})
    model = SparseMixedNB(k=2).fit(frame, list("yyoo"))
    told = json.loads(export(model, "json"))
    assert told["kinds"] == ["gaussian", "categorical"]
    assert told["categories"] == [[], ["a", "b"]]
    for format in ("sql", "python", "onnx"):
        with pytest.raises(ValueError, match="cannot express this mixed model.*Use 'json'"):
            export(model, format)


# Model files -----------------------------------------------------------------------------------


@pytest.fixture(scope="module")
def reviews(tmp_path_factory):
    """Texts in a file, and their words as a database counts them."""
    folder = tmp_path_factory.mktemp("reviews")
    rng = np.random.default_rng(0)
    good, bad = ["lovely", "superb", "fine", "film"], ["dull", "awful", "film", "plot"]
    rows = []
    for i in range(80):
        words = good if i % 2 else bad
        rows.append((" ".join(rng.choice(words, 6)), "good" if i % 2 else "it's bad"))
    with (folder / "reviews.csv").open("w", newline="") as file:
        csv.writer(file).writerows([("text", "label"), *rows])
    held = [(i, word, text.split().count(word))
            for i, (text, _) in enumerate(rows) for word in sorted(set(text.split()))]  # fmt: skip
    return folder, pd.DataFrame(held, columns=["row", "word", "count"])


def selected(folder, *options):
    out = folder / "_".join(["out", *map(str, options)])
    arguments = ["select", folder / "reviews.csv", "-k", 4, "--out", out, "-q", "--quick", *options]
    result = CliRunner().invoke(naively, list(map(str, arguments)))
    assert result.exit_code == 0, result.output
    answers = folder / "answers.csv"
    arguments = ["predict", out / "model.npz", folder / "reviews.csv", "--out", answers, "-q"]
    result = CliRunner().invoke(naively, list(map(str, arguments)))
    assert result.exit_code == 0, result.output
    return out / "model.npz", pd.read_csv(answers).iloc[:, 1].tolist()


@pytest.mark.parametrize(
    "options",
    [(), ("--words", "weights=counts"), ("--words", "weights=tfidf"), ("--words", "weights=log"),
     ("--model", "bernoulli"), ("--model", "poisson"),
     ("--model", "poisson", "--read", "exposure=total"), ("--judge", "precision=good=0.99")],
    ids=" ".join,
)  # fmt: skip
def test_a_model_file_of_words(reviews, options):
    folder, words = reviews
    path, answers = selected(folder, *options)
    found = asked(export(path, "sql"), words, "words").sort_values("naively_row")
    assert found["naively_label"].tolist() == answers
    code = {}
    exec(export(str(path), "python"), code)
    rows = [dict(zip(own["word"], own["count"], strict=True)) for _, own in words.groupby("row")]
    assert [code["predict"](row) for row in rows] == answers
    told = json.loads(export(load_model(path), "json"))
    assert told["text"]["analyzer"] == "word"
    with pytest.raises(ValueError, match="words of texts.* Use 'sql' or 'python' or 'json'"):
        export(path, "onnx")


@pytest.mark.parametrize("options", [("--words", "weights=tfidf", "--words", "norm=l2")])
def test_weights_that_need_the_whole_row_are_told_by_json_alone(reviews, options):
    path, _ = selected(reviews[0], *options)
    for format in ("sql", "python", "onnx"):
        with pytest.raises(ValueError, match=rf"`{options[-2]} {options[-1]}`.*Use 'json'"):
            export(path, format)
    assert json.loads(export(path, "json"))["weights"] == options[1].partition("=")[2]


def test_a_model_file_of_numbers(tmp_path):
    table = CANCER.assign(label=TUMOUR)
    table.to_csv(tmp_path / "cancer.csv", index=False)
    arguments = ["select", tmp_path / "cancer.csv", "--model", "gaussian", "-k", "5", "--quick",
                 "-q", "--out", tmp_path / "out"]  # fmt: skip
    result = CliRunner().invoke(naively, list(map(str, arguments)))
    assert result.exit_code == 0, result.output
    model = SparseGaussianNB(k=5).fit(CANCER, TUMOUR)
    found = asked(export(tmp_path / "out" / "model.npz", "sql"), CANCER)
    assert found["naively_label"].tolist() == model.predict(CANCER).tolist()


@pytest.mark.parametrize("format", ["sql", "python"])
@pytest.mark.parametrize("name", ["poisson", "gaussian"])
def test_a_model_from_a_file_is_exported_as_it_was(name, format, tmp_path):
    model, *_ = fitted(name)
    save(model, tmp_path / "model.npz")
    found = export(load(tmp_path / "model.npz"), format)
    assert found == export(tmp_path / "model.npz", format)
    assert found == export(model, format)


# What is done to a row, and to its scores --------------------------------------------------------

COUNTS = DIGITS.astype(int)  # the first column is 0 in all rows, others are not
TWO = np.where(DIGIT < 5, "low", "it's high")
SCALED = scaled_counts(DIGITS, 100.0, log1p=True)
# An estimator, the rows that it is trained on, the labels, and what its file says beside.
FILES = {
    "threshold": (SparseMultinomialNB(k=20), COUNTS, DIGIT, {"answer_from": ("3", 2.5)}),
    "threshold below": (SparseMultinomialNB(k=20), COUNTS, DIGIT, {"answer_from": ("0", -2.5)}),
    "threshold of two": (SparsePoissonNB(k=5), COUNTS, TWO, {"answer_from": ("low", 1.25)}),
    "threshold, vetoes": (SparseMultinomialNB(k=30, alpha=0), COUNTS, DIGIT,
                          {"answer_from": ("8", 3.0)}),
    "threshold, categories": (SparseCategoricalNB(k=9, alpha=0), COUNTS, DIGIT,
                              {"answer_from": ("8", 1.0)}),
    "threshold, two and vetoes": (SparseBernoulliNB(k=30, alpha=0), COUNTS, TWO,
                                  {"answer_from": ("it's high", -1.0)}),
    "sum": (SparseMultinomialNB(k=20), scaled_counts(DIGITS, 50.0, log1p=False), DIGIT,
            {"normalize": 50.0}),
    "sum, logarithms": (SparseGaussianNB(k=9), SCALED, DIGIT, {"normalize": 100.0, "log1p": True}),
    "sum, logarithms, threshold": (SparseMultinomialNB(k=9), SCALED, DIGIT,
                                   {"normalize": 100.0, "log1p": True, "answer_from": ("5", 0.5)}),
    "sum, presence": (SparseBernoulliNB(k=9, binarize=2.0),
                      scaled_counts(DIGITS, 99.0, log1p=False), DIGIT, {"normalize": 99.0}),
    "logarithms": (SparseL1Centers(k=9), np.log1p(DIGITS), DIGIT, {"log1p": True}),
    "logarithms, linear": (SparseL2Centers(k=9), np.log1p(DIGITS), DIGIT, {"log1p": True}),
    "logarithms of counts": (SparseMultinomialNB(k=9), log_weights(COUNTS), DIGIT,
                             {"weights": "log", "whole": True}),
    "total": (SparsePoissonNB(k=9, exposure="total"), COUNTS, DIGIT, {}),
}  # fmt: skip


@pytest.fixture(scope="module")
def files(tmp_path_factory):
    """Path, model and counts of other rows, of which one holds nothing; trained once."""
    known = {}

    def file_of(name):
        if name not in known:
            estimator, X, y, changes = FILES[name]
            path = tmp_path_factory.mktemp("files") / "model.npz"
            save(type(estimator)(**estimator.get_params()).fit(X[::2], y[::2]), path)
            file = replace(load_model(path), **changes)
            with path.open("wb") as out:
                save_model(file, out)
            empty = np.zeros_like(COUNTS[:1]) + (name == "total") * np.eye(1, 64, dtype=int)
            known[name] = path, load(path), np.vstack([COUNTS[1:600:2], empty])
        return known[name]

    return file_of


def test_thresholds_decide_in_these_rows(files):
    """Otherwise the tests below would hold for the likeliest class as well."""
    for name in FILES:
        _, model, X = files(name)
        if "threshold" in name:
            likeliest = model.classes_[winners(model._scores(X))]
            assert (model.predict(X) != likeliest).any()


@pytest.mark.parametrize("name", FILES)
def test_python_does_to_a_row_what_the_reader_did(name, files):
    path, model, X = files(name)
    code = {}
    exec(export(path, "python"), code)
    rows = X.tolist()
    assert [code["predict"](row) for row in rows] == model.predict(X).tolist()
    agree([code["scores"](row) for row in rows], model, X)


@pytest.mark.parametrize("name", [name for name in FILES if "categories" not in name])
def test_onnx_does_to_a_row_what_the_reader_did(name, files):
    pytest.importorskip("onnx")
    runtime = pytest.importorskip("onnxruntime")
    path, model, X = files(name)
    graph = export(path, "onnx").SerializeToString()
    session = runtime.InferenceSession(graph, providers=["CPUExecutionProvider"])
    label, second = session.run(None, {"X": X.astype(np.float32)})
    assert label.tolist() == model.predict(X).tolist()
    expected = model.predict_proba(X) if hasattr(model, "predict_proba") else model._scores(X)
    np.testing.assert_allclose(second, expected, rtol=1e-6, atol=1e-7)


@pytest.mark.parametrize("name", FILES)
def test_sql_does_to_a_row_what_the_reader_did(name, files):
    path, model, X = files(name)
    columns = [f"naively_score_{c}" for c in range(len(model.classes_))]
    if "sum" in name or name == "total":
        with pytest.raises(ValueError, match="sees the total of a row over all columns"):
            export(path, "sql", layout="columns")
    else:
        found = asked(export(path, "sql"), table_of(model, X))
        assert found["naively_label"].tolist() == model.predict(X).tolist()
        agree(found[columns], model, X)
    if not isinstance(model.rule_, LinearRule):
        return
    X = X[:-1]  # a row without words is not in such a table
    rows, places = np.nonzero(X)
    counts = X[rows, places].tolist()
    words = pd.DataFrame({"row": rows, "word": [str(j) for j in places], "count": counts})
    statement = export(replace(load_model(path), named=True), "sql", layout="words")
    found = asked(statement, words, "words").sort_values("naively_row")
    assert found["naively_label"].tolist() == model.predict(X).tolist()
    agree(found[columns], model, X)
    duckdb = pytest.importorskip("duckdb")
    there = duckdb.sql(statement).df().sort_values("naively_row")
    assert there["naively_label"].tolist() == found["naively_label"].tolist()


@pytest.mark.parametrize("name", FILES)
def test_json_tells_what_is_done_to_a_row(name, files):
    path, *_ = files(name)
    told, changes = json.loads(export(path, "json")), FILES[name][3]
    if "answer_from" in changes:
        label, least = changes["answer_from"]
        assert told["answer_from"] == [label if label in TWO else int(label), least]
    for each in ("normalize", "log1p", "weights"):
        assert each not in changes or told[each] == changes[each]


def test_python_refuses_rows_that_reading_refuses(files):
    code = {}
    exec(export(files("sum, logarithms")[0], "python"), code)
    with pytest.raises(ValueError, match="counts are never below 0"):
        code["predict"]([-1] * 64)
    with pytest.raises(ValueError, match="a value of the row is missing"):
        code["predict"]([1.0] * 63 + [float("nan")])
    exec(export(files("logarithms of counts")[0], "python"), code)
    with pytest.raises(ValueError, match="counts are never between 0 and 1"):
        code["predict"]([0.5] * 64)


@pytest.mark.parametrize(
    "name", ["multinomial", "exposure in a column", "gaussian", "l1 centers", "l2 centers"]
)
def test_columns_are_called_alike_in_estimators_and_their_files(name, tmp_path):
    model, _ = fitted(name)
    save(model, tmp_path / "model.npz")
    for format in ("sql", "python"):
        assert export(tmp_path / "model.npz", format) == export(model, format)
    ours, files = (json.loads(export(each, "json")) for each in (model, tmp_path / "model.npz"))
    assert files | ours == files
    named = hasattr(model, "feature_names_in_")
    assert all(each["name"] == f"x{each['column']}" for each in ours["features"] if not named)


def test_json_of_a_table_in_a_file_is_that_of_the_estimator(tmp_path):
    frame = pd.DataFrame({
        "noise": [0.5, 0.5, 0.5, 0.5, 0.5, 0.5], "age": [3.0, 4, 5, 70, 80, 75],
        "town": list("aabbcb"), "note": ["up", "up so", "so up", "down", "down so", "so"],
    })  # fmt: skip
    for text in ((), ("note",)):
        own = frame if text else frame.drop(columns="note")
        model = SparseMixedNB(k=3, text=text or None).fit(own, list("yyyooo"))
        save(model, tmp_path / "model.npz")
        ours, files = (json.loads(export(each, "json")) for each in (model, tmp_path / "model.npz"))
        for key in ("features", "kinds", "categories", "arrays", "rule", "missing", "classes"):
            assert ours[key] == files[key]
        assert len(files["kinds"]) == len(files["categories"]) == len(files["features"]) == 3
        assert (files["text"] is None) == (not text)


def test_a_pipeline_of_words_is_exported_as_its_model_file(tmp_path):
    texts = ["claim your prize", "prize money", "see you at lunch", "lunch at noon"] * 3
    labels = ["spam", "spam", "ham", "ham"] * 3
    pipeline = make_pipeline(WordCounts(), SparseBernoulliNB(k=3)).fit(texts, labels)
    save(pipeline, tmp_path / "model.npz")
    for format in ("sql", "python", "json"):
        assert export(pipeline, format) == export(tmp_path / "model.npz", format)
        assert export(pipeline, format) == export(tmp_path, format)  # as `naively predict` takes it
    counts = pipeline[0].transform(texts).tocoo()
    names = pipeline[0].get_feature_names_out()
    words = pd.DataFrame({"row": counts.row, "word": names[counts.col], "count": counts.data})
    found = asked(export(pipeline, "sql"), words, "words").sort_values("naively_row")
    assert found["naively_label"].tolist() == pipeline.predict(texts).tolist() == labels


def test_exported_python_says_that_it_takes_no_string():
    texts = ["big sale", "team notes"]
    pipeline = make_pipeline(WordCounts(), SparseBernoulliNB(k=2)).fit(texts, ["spam", "ham"])
    for model, message in (
        (pipeline, "words to their counts.*cut it"),
        (FITTED, "FEATURES to num"),
    ):
        code = {}
        exec(export(model, "python"), code)
        with pytest.raises(TypeError, match=message):
            code["predict"]("big sale")


# What cannot be --------------------------------------------------------------------------------

FITTED = SparseMultinomialNB(k=2).fit([[1, 0], [0, 1]], ["a", "b"])
REFUSED = {
    "format": ((FITTED, "pmml"), {}, ValueError, "`format` must be one of onnx, sql, json, python"),
    "layout": ((FITTED, "json"), {"layout": "words"}, ValueError, "`layout` has no effect on"),
    "table": ((FITTED, "python"), {"table": "t"}, ValueError, "`table` has no effect on"),
    "no layout": ((FITTED, "sql"), {"layout": "wide"}, ValueError, "`layout` must be 'columns' or"),
    "not fitted": ((SparseMultinomialNB(), "sql"), {}, ValueError, "`model` must be fitted"),
    "pipeline": ((make_pipeline(FITTED), "sql"), {}, TypeError, r"no step before.*pipeline\[-1\]"),
    "categories": (
        (fitted("categorical")[0], "onnx"),
        {},
        ValueError,
        "'sql' or 'python' or 'json'",
    ),
    "values by words": (
        (fitted("gaussian")[0], "sql"),
        {"layout": "words"},
        ValueError,
        "in linear rules only.*'quadratic'. Use `layout`='columns'",
    ),
    "missing words": (
        (fitted("poisson, missing")[0], "sql"),
        {"layout": "words"},
        ValueError,
        "knows missing values. Use `layout`='columns'",
    ),
    "words without names": (
        (FITTED, "sql"),
        {"layout": "words"},
        ValueError,
        "columns have no names.*first step is WordCounts.*Use `layout`='columns'",
    ),
    "another vectorizer": (
        (
            make_pipeline(CountVectorizer(), SparseMultinomialNB(k=1)).fit(["a b", "cc"], [0, 1]),
            "sql",
        ),
        {},
        TypeError,
        "CountVectorizer before it.*use WordCounts",
    ),
    "total": (
        (
            SparsePoissonNB(k=2, exposure="total").fit(pd.DataFrame(DIGITS).add_prefix("p"), DIGIT),
            "sql",
        ),
        {},
        ValueError,
        "with `layout`='columns' cannot.*total of a row.*Use `layout`='words', or 'onnx' or 'pyth",
    ),
}


@pytest.mark.parametrize("case", REFUSED)
def test_what_cannot_be_exported_is_refused_with_the_way_out(case):
    arguments, options, kind, message = REFUSED[case]
    with pytest.raises(kind, match=message):
        export(*arguments, **options)


def test_a_file_appears_whole(tmp_path):
    text = export(FITTED, "sql", tmp_path / "rule.sql")
    assert (tmp_path / "rule.sql").read_text(encoding="utf8") == text
