"""Models written from Python and read into it: the same answers, by names and not by position."""

from __future__ import annotations

import csv
import io
import json
import pickle
import zipfile

import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pytest
import scipy.sparse as sp
from click.testing import CliRunner
from hypothesis import given, settings, strategies as st
from sklearn.base import clone
from sklearn.linear_model import LogisticRegression
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import MaxAbsScaler

import naively
from naively import (
    HybridNB,
    Pairs,
    SparseBernoulliNB,
    SparseCategoricalNB,
    SparseGaussianNB,
    SparseL1Centers,
    SparseL2Centers,
    SparseMixedNB,
    SparseMultinomialNB,
    SparseNegativeBinomialNB,
    SparsePoissonNB,
    SparsityCV,
    WordCounts,
)
from naively.cli.commands import naively as command
from naively.jobs.model_file import load_model

RNG = np.random.default_rng(0)
Y = np.repeat([3, 10, 2], 20)
COUNTS = RNG.poisson([[1.0], [2.0], [4.0]], size=(60, 3, 8))[np.arange(60), RNG.integers(0, 3, 60)]
COUNTS[Y == 10, 2] += 4
COUNTS[Y == 2, 5] += 3
COUNTS[:, 7] = RNG.integers(1, 5, 60)  # an exposure
NAMES = [f"gene {c}" for c in "hgfedcba"]
HOLES = COUNTS.astype(float)
HOLES[RNG.random(HOLES.shape) < 0.1] = np.nan

MODELS = {
    "multinomial": SparseMultinomialNB(k=3),
    "multinomial 0": SparseMultinomialNB(k=3, alpha=0.0),
    "bernoulli": SparseBernoulliNB(k=3, binarize=2.0),
    "poisson": SparsePoissonNB(k=3),
    "poisson of total": SparsePoissonNB(k=3, exposure="total"),
    "poisson of column": SparsePoissonNB(k=3, exposure=7),
    "negative binomial": SparseNegativeBinomialNB(k=3),
    "negative binomial of total": SparseNegativeBinomialNB(k=3, exposure="total"),
    "categorical": SparseCategoricalNB(k=3),
    "gaussian": SparseGaussianNB(k=3),
    "shared": SparseGaussianNB(k=3, variance="shared"),
    "l2": SparseL2Centers(k=3, scale="std"),
    "l1": SparseL1Centers(k=3),
    "hybrid": HybridNB(penalty=0.1),
    "hybrid of 2": HybridNB(2, penalty=0.1, estimator=SparseMultinomialNB(k=2)),
    "hybrid of its own": HybridNB(
        2, penalty=0.1, shared_vocabulary=False, normalize=False, estimator=SparseMultinomialNB(k=3)
    ),
    "refit": SparseMultinomialNB(k=3, refit="logistic"),
    "calibrated": SparseBernoulliNB(k=3, calibration="cross-fitted"),
    "pairs": SparseL2Centers(k=3, objective=Pairs()),
    "constrained": SparsePoissonNB(k=3, excluded=[2]),
    "all": SparseMultinomialNB(k="all"),
    "search": SparsityCV(SparseMultinomialNB(), [2, 4], cv=3),
}
WITH_HOLES = {
    "gaussian": SparseGaussianNB(k=3, missing="ignore"),
    "bernoulli": SparseBernoulliNB(k=3, missing="ignore"),
    "poisson": SparsePoissonNB(k=3, missing="ignore"),
    "categorical": SparseCategoricalNB(k=3, missing="ignore"),
    "mixed": SparseMixedNB(k=3, columns={NAMES[0]: "poisson", NAMES[5]: "bernoulli"}),
    "mixed, calibrated": SparseMixedNB(k=3, calibration="cross-fitted"),
}


def again(model, path):
    naively.save(model, path)
    return naively.load(path)


def same(one, other, X, Z=None):
    """The answers of a model to X, and of another to Z, are the same to the bit."""
    Z = X if Z is None else Z
    for name in ("predict", "predict_proba", "predict_log_proba", "decision_function"):
        if hasattr(one, name):
            expected = getattr(one, name)(X)
            np.testing.assert_array_equal(getattr(other, name)(Z), expected, err_msg=name)


def plain(X):
    return X.toarray() if sp.issparse(X) else np.asarray(X)


@pytest.mark.parametrize("container", [np.asarray, sp.csr_matrix, "frame"], ids=str)
@pytest.mark.parametrize("name", MODELS)
def test_a_model_comes_back_as_it_was(name, container, tmp_path):
    X = pd.DataFrame(COUNTS, columns=NAMES) if container == "frame" else container(COUNTS)
    model = clone(MODELS[name])
    if container == "frame" and name == "poisson of column":
        model.set_params(exposure=NAMES[7])
    model = model.fit(X, Y)
    loaded = again(model, tmp_path / "model.npz")
    own = getattr(model, "best_estimator_", model)
    assert type(loaded) is type(own)
    assert loaded.classes_.tolist() == [2, 3, 10]
    same(own, loaded, X)
    np.testing.assert_array_equal(plain(loaded.transform(X)), plain(own.transform(X)))
    assert loaded.get_feature_names_out().tolist() == own.get_feature_names_out().tolist()
    np.testing.assert_array_equal(loaded.support_, own.support_)
    for attribute in ("coef_", "intercept_", "exposure_coef_", "theta_"):
        if hasattr(own, attribute) and (attribute != "theta_" or "hybrid" in name):
            np.testing.assert_array_equal(getattr(loaded, attribute), getattr(own, attribute))
    first = (tmp_path / "model.npz").read_bytes()
    again(loaded, tmp_path / "model.npz")
    assert (tmp_path / "model.npz").read_bytes() == first
    same(own, pickle.loads(pickle.dumps(loaded)), X)
    assert "comes from a file" in loaded._repr_html_()


@pytest.mark.parametrize("name", WITH_HOLES)
def test_missing_values_and_mixed_columns_come_back(name, tmp_path):
    X = pd.DataFrame(HOLES, columns=NAMES)
    model = clone(WITH_HOLES[name]).fit(X, Y)
    loaded = again(model, tmp_path / "model.npz")
    same(model, loaded, X)
    fewer = X[NAMES[::-1]].assign(other=1)[[*model.get_feature_names_out(), "other"]]
    found, expected = (each.predict_proba(Z) for each, Z in ((loaded, fewer), (model, X)))
    np.testing.assert_allclose(found, expected, rtol=1e-12)


TABLE = {
    "age": [31, 35, None, 62, 70, 66],
    "town": ["Oslo", "Bergen", "Oslo", "Bergen", None, "Oslo"],
    "smokes": [True, False, False, True, False, True],
    "code": [1, 2, 2, 1, 3, 1],
}


@pytest.mark.parametrize("container", [pd.DataFrame, pl.DataFrame, pa.table])
def test_a_table_of_several_kinds(container, tmp_path):
    frame, y = container(TABLE), ["young"] * 3 + ["old"] * 3
    model = SparseMixedNB(k=3, columns={"code": "categorical"}).fit(frame, y)
    loaded = again(model, tmp_path / "model.npz")
    turned = container(dict(reversed(TABLE.items())))
    same(model, loaded, frame)
    same(model, loaded, frame, turned)
    assert loaded.transform(turned).shape == (6, 3)
    rows = np.column_stack([np.array(each, dtype=object) for each in TABLE.values()])
    with pytest.warns(UserWarning, match="X has no names"):
        assert loaded.predict(rows).tolist() == model.predict(frame).tolist()
    pd.DataFrame(TABLE).to_csv(tmp_path / "rows.csv", index=False)
    found, proba = answers(tmp_path / "model.npz", tmp_path / "rows.csv")
    assert found == model.predict(frame).tolist()
    np.testing.assert_allclose(proba, model.predict_proba(frame), rtol=1e-9)


@pytest.mark.parametrize("container", [pd.DataFrame, pl.DataFrame, pa.table])
@pytest.mark.parametrize(
    "values",
    [[1, 2, 3], [0.5, 2.0, -1.25], [True, False, None], ["x", "y z", None], [1.0, 2.5, None]],
    ids=str,
)
def test_categories_keep_their_type(values, container, tmp_path):
    table, y = {"size": values * 4, "noise": [0.0, 1.0] * 6}, [1, 2, 3] * 4
    frame = container(table)
    model = SparseMixedNB(k=1, columns={"size": "categorical"}, required=["size"]).fit(frame, y)
    loaded = again(model, tmp_path / "model.npz")
    same(model, loaded, frame)
    assert loaded._reading.file.variables.columns.labels == (tuple(model.categories_[0]),)
    pd.DataFrame(table).to_parquet(tmp_path / "rows.parquet")
    found, proba = answers(tmp_path / "model.npz", tmp_path / "rows.parquet")
    assert found == [str(each) for each in model.predict(frame)]
    np.testing.assert_allclose(proba, model.predict_proba(frame), rtol=1e-9)


NOTES = TABLE | {"note": ["fit and well", "well", None, "tired, ill", "ill", "so ill"]}


@pytest.mark.parametrize("container", [pd.DataFrame, pl.DataFrame, pa.table])
@pytest.mark.parametrize(
    ("k", "required"), [(4, ["town", "age"]), (1, ["note__ill"]), ("all", None)]
)
def test_words_of_a_table_come_back(k, required, container, tmp_path):
    frame, y = container(NOTES), ["young"] * 3 + ["old"] * 3
    model = SparseMixedNB(k, text=["note"], required=required).fit(frame, y)
    loaded = again(model, tmp_path / "model.npz")
    turned = container(dict(reversed(NOTES.items())))
    same(model, loaded, frame)
    same(model, loaded, frame, turned)
    assert loaded.get_feature_names_out().tolist() == model.get_feature_names_out().tolist()
    np.testing.assert_array_equal(loaded.support_, model.support_)
    shown = loaded.transform(turned).toarray()
    np.testing.assert_array_equal(shown, model.transform(frame).toarray())
    with pytest.raises(ValueError, match="X has no column 'note'"):
        loaded.predict(container(TABLE))
    with pytest.raises(ValueError, match="reads texts in the columns note"):
        loaded.predict(np.zeros((2, 5)))
    pd.DataFrame(NOTES).to_parquet(tmp_path / "rows.parquet")
    found, proba = answers(tmp_path / "model.npz", tmp_path / "rows.parquet")
    assert found == model.predict(frame).tolist()
    np.testing.assert_allclose(proba, model.predict_proba(frame), rtol=1e-9)


def test_a_table_that_the_command_read_answers_in_python(tmp_path):
    table = pd.DataFrame(NOTES).assign(label=["young"] * 3 + ["old"] * 3)
    table.to_parquet(tmp_path / "rows.parquet")
    options = ("--model", "mixed", "--read", "kind=code=categorical", "--text", "note", "-k", "all")
    run("select", tmp_path / "rows.parquet", *options, "--test", 0, "--out", tmp_path / "r", "-q")
    expected, proba = answers(tmp_path / "r", tmp_path / "rows.parquet")
    loaded = naively.load(tmp_path / "r")
    assert loaded.predict(table).tolist() == expected
    np.testing.assert_allclose(loaded.predict_proba(table), proba, rtol=1e-9)
    spelled = table.assign(code=[f" {each}.0"[:2] for each in table["code"]])
    np.testing.assert_array_equal(loaded.predict_proba(spelled), loaded.predict_proba(table))


def test_files_cannot_say_all_that_a_table_in_memory_does(tmp_path):
    y = ["a", "b"] * 3
    pd.DataFrame({"c": [1] * 6}).to_csv(tmp_path / "rows.csv", index=False)
    rows = np.array([["x"], ["y"]] * 3, dtype=object)
    for X, message in (
        (rows, "trained on columns without names"),
        (pd.DataFrame({"c": [1, "1"] * 3}), "categories of `c` are not told apart"),
        (pd.DataFrame({"c": ["", "b"] * 3}), "categories of `c` are not told apart"),
    ):
        model = SparseMixedNB("all").fit(X, y)
        loaded = again(model, tmp_path / "model.npz")
        same(model, loaded, X)
        result = run("predict", tmp_path / "model.npz", tmp_path / "rows.csv", "-q", status=2)
        assert message in " ".join(result.output.split())
    with pytest.raises(ValueError, match="written with the names of its columns"):
        naively.save(SparseMixedNB("all", text=[0]).fit(rows, y), tmp_path / "model.npz")
    with pytest.raises(
        ValueError, match="must be strings, numbers or booleans of Python; got b'x'"
    ):
        naively.save(SparseMixedNB("all").fit([[b"x"], [b"y"]] * 3, y), tmp_path / "model.npz")


# By name ---------------------------------------------------------------------------------------


@pytest.mark.parametrize("container", [pd.DataFrame, pl.DataFrame, pa.table])
@pytest.mark.parametrize(
    "estimator",
    [SparseMultinomialNB(k=3), SparsePoissonNB(k=3, exposure=NAMES[7]), SparseL1Centers(k=3)],
)
@given(order=st.permutations(NAMES))
@settings(max_examples=20, deadline=None)
def test_columns_are_known_by_name(estimator, container, order, tmp_path_factory):
    columns = dict(zip(NAMES, COUNTS.T, strict=True))
    frame = pd.DataFrame(columns)
    model = clone(estimator).fit(frame, Y)
    loaded = again(model, tmp_path_factory.mktemp("files") / "model.npz")
    same(model, loaded, frame, container({name: columns[name] for name in order}))
    needed = [*model.get_feature_names_out(), NAMES[7]]
    same(model, loaded, frame, container({n: columns[n] for n in order if n in needed}))


def test_what_is_missing_is_named_and_what_is_more_is_told_once(tmp_path, recwarn):
    frame = pd.DataFrame(COUNTS, columns=NAMES)
    model = SparseMultinomialNB(k=3).fit(frame, Y)
    loaded = again(model, tmp_path / "model.npz")
    one, two, _ = model.get_feature_names_out()
    with pytest.raises(ValueError, match=f"no columns '{one}', '{two}'; columns are known by name"):
        loaded.predict(frame.drop(columns=[one, two]))
    with pytest.warns(UserWarning, match="10 columns, and the model was trained on 8"):
        same(model, loaded, frame, frame.assign(age=1, town="Oslo"))
    with pytest.raises(ValueError, match=r"4 features, but .* expecting 8"):
        loaded.predict(COUNTS[:, :4])
    with pytest.warns(UserWarning, match="no names of columns"):
        loaded.predict(COUNTS)
    infinite = np.where(COUNTS > 3, np.inf, COUNTS)
    for bad, message in ((-COUNTS, "Negative values"), (infinite, "infinity")):
        with pytest.raises(ValueError, match=message):
            loaded.predict(pd.DataFrame(bad, columns=NAMES))
    assert not recwarn.list  # each was told once, and caught


@pytest.mark.parametrize("labels", [["b", "a"], [True, False], [2.0, 1.0], [-1, 7]], ids=str)
def test_labels_keep_their_type(labels, tmp_path):
    X = [[3, 0], [0, 3]] * 2
    model = SparseMultinomialNB(k="all").fit(X, labels * 2)
    loaded = again(model, tmp_path / "model.npz")
    assert loaded.classes_.tolist() == model.classes_.tolist()
    assert loaded.classes_.dtype.kind == model.classes_.dtype.kind
    assert loaded.predict(X).tolist() == labels * 2


# Texts -----------------------------------------------------------------------------------------

POSTS = {
    "subject": ["big sale", None, "meeting", "sale today"] * 5,
    "body": ["sale now now", "see you at noon", "", "big big prices"] * 5,
}
SPAM = ["spam", "ham", "ham", "spam"] * 5
NEW = pd.DataFrame({"body": ["Sale at NOON", ""], "subject": ["unknown", "big meeting big"]})
PIPELINES = {
    "words": (WordCounts(), SparseMultinomialNB(k=4)),
    "presence": (WordCounts(weights="presence", stop_words=["at"]), SparseMultinomialNB(k=4)),
    "rows": (WordCounts(ngram_range=(1, 2), min_df=2), SparseBernoulliNB(k=4)),
    "characters": (WordCounts(analyzer="char_wb", ngram_range=(1, 3)), SparsePoissonNB(k=4)),
    "log": (WordCounts(weights="log", norm="l2"), SparseMultinomialNB(k=4)),
    "tfidf": (WordCounts(weights="tfidf"), SparseMultinomialNB(k=4)),
    "tfidf of length 1": (WordCounts(weights="tfidf", norm="l2"), SparseGaussianNB(k=4)),
    "vocabulary": (WordCounts(vocabulary=["sale", "noon", "big"]), SparseMultinomialNB(k=2)),
    "hybrid": (WordCounts(), HybridNB(penalty=0.1)),
}


@pytest.mark.parametrize("name", PIPELINES)
def test_a_pipeline_of_words_comes_back_as_a_model_of_texts(name, tmp_path):
    texts, new = POSTS["body"], NEW["body"].tolist()
    pipeline = clone(make_pipeline(*PIPELINES[name])).fit(texts, SPAM)
    loaded = again(pipeline, tmp_path / "model.npz")
    assert type(loaded) is type(pipeline[-1])
    for rows in (texts, new):
        same(pipeline, loaded, rows)
        for container in (
            pd.Series,
            np.array,
            pl.Series,
            pa.array,
            lambda t: pl.DataFrame({"text": t}),
        ):
            same(pipeline, loaded, rows, container(rows))
        expected = pipeline.transform(rows).toarray()
        np.testing.assert_allclose(loaded.transform(rows).toarray(), expected, rtol=1e-15)
    names = pipeline[-1].get_feature_names_out(pipeline[0].get_feature_names_out())
    assert loaded.get_feature_names_out().tolist() == names.tolist()
    pd.DataFrame({"text": new}).to_csv(tmp_path / "new.csv", index=False)
    predicted = run("predict", tmp_path / "model.npz", tmp_path / "new.csv", "-q").stdout
    answers = [row["label"] for row in csv.DictReader(io.StringIO(predicted))]
    assert answers == pipeline.predict(new).tolist()


@pytest.mark.parametrize("container", [pd.DataFrame, pl.DataFrame, pa.table])
@pytest.mark.parametrize(
    "steps",
    [
        (WordCounts(["subject", "body"]), SparseMultinomialNB(k=3)),
        (WordCounts(["subject", "body"], regions=True),
         HybridNB(2, penalty=0.1, estimator=SparseMultinomialNB(k=3))),
    ],
    ids=["together", "apart"],
)  # fmt: skip
def test_columns_of_text_are_known_by_name(steps, container, tmp_path):
    posts, new = container(POSTS), container(NEW.to_dict("list"))
    pipeline = clone(make_pipeline(*steps)).fit(posts, SPAM)
    loaded = again(pipeline, tmp_path / "model.npz")
    same(pipeline, loaded, posts)
    same(pipeline, loaded, new)
    names = pipeline[-1].get_feature_names_out(pipeline[0].get_feature_names_out())
    assert loaded.get_feature_names_out().tolist() == names.tolist()
    with pytest.raises(ValueError, match="no column of text 'subject'"):
        loaded.predict(container({"body": ["sale"]}))
    with pytest.raises(ValueError, match="reads the columns subject, body"):
        loaded.predict(["sale"])


# The command -----------------------------------------------------------------------------------


def run(*arguments, status=0):
    found = CliRunner().invoke(command, [str(each) for each in arguments])
    assert found.exit_code == status, found.output
    return found


def answers(*arguments):
    rows = list(
        csv.DictReader(io.StringIO(run("predict", *arguments, "--probabilities", "-q").stdout))
    )
    proba = np.array([[float(v) for k, v in row.items() if k.startswith("p:")] for row in rows])
    return [row["label"] for row in rows], proba


@pytest.mark.parametrize(
    "options",
    [
        ("--model", "multinomial"),
        ("--model", "bernoulli"),
        ("--model", "poisson", "--read", "exposure=total"),
        ("--model", "poisson", "--read", f"exposure={NAMES[7]}"),
        ("--model", "negative-binomial"),
        ("--model", "categorical"),
        ("--model", "gaussian"),
        ("--model", "l1-centers"),
        ("--model", "l2-centers"),
        ("--model", "multinomial", "--words", "weights=log"),
        ("--model", "multinomial", "--words", "weights=tfidf"),
    ],
    ids=" ".join,
)
def test_the_model_of_the_command_answers_in_python(options, tmp_path):
    frame = pd.DataFrame(COUNTS, columns=NAMES)
    path = tmp_path / "counts.csv"
    frame.assign(label=Y).to_csv(path, index=False)
    run("select", path, "--read", "numbers", *options, "-k", 3, "--out", tmp_path / "result", "-q")
    model = naively.load(tmp_path / "result")
    expected, proba = answers(tmp_path / "result", path)
    turned = frame[NAMES[::-1]]
    assert model.predict(turned).tolist() == expected
    if hasattr(model, "predict_proba"):
        np.testing.assert_allclose(model.predict_proba(turned), proba, rtol=1e-12)


@pytest.mark.parametrize(
    "options",
    [(), ("--model", "bernoulli"), ("--model", "hybrid"),
     ("--words", "weights=tfidf", "--words", "norm=l2"),
     ("--model", "poisson", "--read", "exposure=total", "--words", "weights=counts")],
    ids=" ".join,
)  # fmt: skip
def test_the_model_of_texts_of_the_command_answers_in_python(options, tmp_path):
    posts = pd.DataFrame(POSTS).assign(label=SPAM)
    posts.to_parquet(tmp_path / "posts.parquet")
    text = ("--text", "subject", "--text", "body")
    run("select", tmp_path / "posts.parquet", *text, *options, "--out", tmp_path / "result", "-q")
    model = naively.load(tmp_path / "result" / "model.npz")
    expected, proba = answers(tmp_path / "result", tmp_path / "posts.parquet")
    assert model.predict(posts).tolist() == expected
    np.testing.assert_allclose(model.predict_proba(posts), proba, rtol=1e-12)


@pytest.mark.parametrize("name", [name for name in MODELS if name != "search"])
def test_the_command_uses_what_python_saved(name, tmp_path):
    frame = pd.DataFrame(COUNTS, columns=NAMES)
    model = clone(MODELS[name])
    if name == "poisson of column":
        model.set_params(exposure=NAMES[7])
    model = model.fit(frame, Y)
    naively.save(model, tmp_path / "model.npz")
    frame[NAMES[::-1]].to_csv(tmp_path / "rows.csv", index=False)
    found, proba = answers(tmp_path / "model.npz", tmp_path / "rows.csv")
    assert found == [str(each) for each in model.predict(frame)]
    if hasattr(model, "predict_proba"):
        np.testing.assert_allclose(proba, model.predict_proba(frame), rtol=1e-9)


# What cannot be --------------------------------------------------------------------------------


def test_no_file_holds_a_pickle(tmp_path):
    naively.save(SparseMultinomialNB(k=3).fit(COUNTS, Y), tmp_path / "model.npz")
    with zipfile.ZipFile(tmp_path / "model.npz") as archive:
        for name in archive.namelist():
            assert b"pickle" not in archive.read(name)
    for array in np.load(tmp_path / "model.npz", allow_pickle=False).values():
        assert array is not None


def changed(path, edit, arrays=()):
    """Write a file anew with another manifest, and with some arrays in the place of others."""
    with zipfile.ZipFile(path) as archive:
        members = {name: archive.read(name) for name in archive.namelist()}
    manifest = json.loads(members["manifest.json"])
    edit(manifest)
    members["manifest.json"] = json.dumps(manifest).encode()
    for name, array in dict(arrays).items():
        content = io.BytesIO()
        np.lib.format.write_array(content, array, (1, 0))
        members[f"{name}.npy"] = content.getvalue()
    with zipfile.ZipFile(path, "w") as archive:
        for name, content in members.items():
            archive.writestr(name, content)


def nothing(_):
    pass


@pytest.mark.parametrize(
    ("model", "edit", "arrays"),
    [
        ("mixed", lambda m: m.pop("variables"), {}),
        ("mixed", lambda m: m["variables"]["names"].pop(), {}),
        ("mixed", lambda m: m["variables"]["kinds"].reverse(), {}),
        ("mixed", lambda m: m["variables"].update(kinds=["text"] * 3), {}),
        ("mixed", lambda m: m["variables"].update(categories=[[], [1, 1], []]), {}),
        ("mixed", lambda m: m["variables"].update(categories=[[], [[1]], []]), {}),
        ("mixed", lambda m: m["variables"].update(categories=[[], [1e999], []]), {}),
        ("mixed", lambda m: m["variables"].update(categories=[[], "no", []]), {}),
        ("mixed", lambda m: m.update(kind="gaussian"), {}),
        ("mixed", nothing, {"gaussian.quadratic.columns": np.array([0, 7])}),
        ("mixed", nothing, {"gaussian.quadratic.mean": np.zeros((3, 9))}),
        ("mixed", nothing, {"gaussian.quadratic.more": np.zeros(3)}),
        ("hybrid", lambda m: m.update(kind="multinomial", rule="linear"), {}),
        ("hybrid", nothing, {"theta": np.zeros(3)}),
        ("hybrid", nothing, {"theta": np.array([np.nan, 1.0])}),
        ("hybrid", nothing, {"starts": np.array([0, 9, 2])}),
        ("hybrid", nothing, {"starts": np.array([0, 2, 4]), "offsets": np.array([0, 9])}),
        ("hybrid", nothing, {"weights": np.zeros((3, 9))}),
        ("hybrid", lambda m: m.update(label_type="date"), {}),
        ("hybrid", lambda m: m.update(classes=["a", "b", "c"]), {}),
        ("hybrid", lambda m: m.update(label_type="bool"), {}),
    ],
)
def test_damage_is_noticed(model, edit, arrays, tmp_path):
    path = tmp_path / "model.npz"
    X = pd.DataFrame(COUNTS, columns=NAMES)
    chosen = {
        "mixed": SparseMixedNB(k=3, columns={NAMES[2]: "categorical"}, required=[NAMES[2]]),
        "hybrid": HybridNB(2, penalty=0.1, estimator=SparseMultinomialNB(k=2)),
    }[model]
    naively.save(chosen.fit(X, Y), path)
    changed(path, nothing)
    naively.load(path)
    changed(path, edit, arrays)
    with pytest.raises(ValueError, match=r"model.npz: the model file is damaged"):
        naively.load(path)


def test_a_model_of_a_file_has_nothing_of_its_training(tmp_path):
    loaded = again(SparseMultinomialNB(k=3).fit(COUNTS, Y), tmp_path / "model.npz")
    for name in ("statistics_", "scores_", "class_log_prior_"):
        with pytest.raises(AttributeError, match=f"comes from a file.*no `{name}`"):
            getattr(loaded, name)
    with pytest.raises(ValueError, match="holds no statistics"):
        loaded.partial_fit(COUNTS, Y, classes=[2, 3, 10])
    assert loaded.fit(COUNTS, Y).statistics_ is not None
    same(SparseMultinomialNB(k=3).fit(COUNTS, Y), loaded, COUNTS)


@pytest.mark.parametrize(
    ("model", "error", "message"),
    [
        (SparseMultinomialNB(), ValueError, "not fitted"),
        (LogisticRegression(), TypeError, "classifier of this package"),
        (make_pipeline(MaxAbsScaler(), SparseMultinomialNB()), TypeError, "MaxAbsScaler before it"),
        (SparseMultinomialNB(k=2).fit(COUNTS, np.where(Y == 2, "", "a")), ValueError, "not empty"),
        (
            make_pipeline(WordCounts(), SparsePoissonNB(k=2, exposure="total")).fit(
                POSTS["body"], SPAM
            ),
            ValueError,
            "exposure is that of the vocabulary",
        ),
        (
            make_pipeline(WordCounts(regions=True), SparseMultinomialNB(k=2)).fit(
                pd.DataFrame(POSTS), SPAM
            ),
            ValueError,
            "only HybridNB keeps",
        ),
        (
            make_pipeline(WordCounts(), HybridNB(penalty=1.0)).fit(pd.DataFrame(POSTS), SPAM),
            ValueError,
            "`regions` of HybridNB",
        ),
    ],
)
def test_what_a_file_does_not_hold_is_refused(model, error, message, tmp_path):
    with pytest.raises(error, match=message):
        naively.save(model, tmp_path / "model.npz")
    assert not (tmp_path / "model.npz").exists()


def test_texts_for_a_matrix_and_a_matrix_for_texts(tmp_path):
    secret = "my secret diary"
    texts = again(make_pipeline(*PIPELINES["words"]).fit(POSTS["body"], SPAM), tmp_path / "t.npz")
    with pytest.raises(ValueError, match="trained on texts, and X is a matrix"):
        texts.predict(COUNTS)
    numbers = again(SparseMultinomialNB(k=3).fit(COUNTS, Y), tmp_path / "n.npz")
    with pytest.raises(ValueError, match="X holds texts") as caught:
        numbers.predict([secret])
    assert secret not in str(caught.value)


# Rows that the reader scales ------------------------------------------------------------------


@pytest.mark.parametrize("read", [("normalize=100", "log1p"), ("normalize=median",), ("log1p",)])
def test_rows_are_scaled_as_the_command_does(read, tmp_path):
    np.savez(tmp_path / "counts.npz", X=COUNTS, y=Y, feature_names=NAMES)
    options = [part for each in read for part in ("--read", each)]
    run("select", tmp_path / "counts.npz", *options, "--model", "gaussian", "-k", 3,
        "--out", tmp_path / "result", "-q")  # fmt: skip
    model = naively.load(tmp_path / "result")
    expected, proba = answers(tmp_path / "result", tmp_path / "counts.npz")
    frame = pd.DataFrame(COUNTS, columns=NAMES)
    for rows in (frame[NAMES[::-1]], pl.from_pandas(frame), pa.Table.from_pandas(frame)):
        assert model.predict(rows).tolist() == expected
        np.testing.assert_allclose(model.predict_proba(rows), proba, rtol=1e-9)
    selected = naively.select(tmp_path / "counts.npz", model="gaussian", k=3,
                              read={name: value or True for name, _, value in
                                    (each.partition("=") for each in read)}).model  # fmt: skip
    np.testing.assert_allclose(selected.predict_proba(frame), proba, rtol=1e-9)
    with pytest.raises(ValueError, match="X must hold counts, none below 0"):
        model.predict(-frame)
    told = json.loads(naively.export(tmp_path / "result" / "model.npz", "json"))
    assert told["log1p"] == ("log1p" in read)
    assert (told["normalize"] is None) == (read == ("log1p",))


def test_columns_without_names_are_scaled_too(tmp_path):
    np.savez(tmp_path / "counts.npz", X=COUNTS, y=Y)
    run("select", tmp_path / "counts.npz", "--read", "normalize=50", "--model", "multinomial",
        "-k", 4, "--out", tmp_path / "result", "-q")  # fmt: skip
    model = naively.load(tmp_path / "result")
    expected, proba = answers(tmp_path / "result", tmp_path / "counts.npz")
    for rows in (COUNTS, sp.csr_matrix(COUNTS), sp.csc_array(COUNTS)):
        assert model.predict(rows).tolist() == expected
        np.testing.assert_allclose(model.predict_proba(rows), proba, rtol=1e-9)


# Thresholds ------------------------------------------------------------------------------------


@pytest.fixture(scope="module")
def cautious(tmp_path_factory):
    """A model that answers class 10 only from some log-odds on, far from where it is likeliest."""
    folder = tmp_path_factory.mktemp("cautious")
    np.savez(folder / "counts.npz", X=COUNTS, y=Y, feature_names=NAMES)
    options = {"model": "poisson", "k": 3, "judge": {"recall": "10=0.3"}}
    found = naively.select(folder / "counts.npz", **options)
    found.save(folder / "result")
    return folder, found.model


def test_a_stored_threshold_is_followed(cautious):
    folder, model = cautious
    expected, proba = answers(folder / "result", folder / "counts.npz")
    classes = load_model(str(folder / "result" / "model.npz")).classes
    name, least = load_model(str(folder / "result" / "model.npz")).answer_from
    at = classes.index(name)
    plain = []
    for row in proba.tolist():
        others = [p for c, p in enumerate(row) if c != at]
        called = np.log(row[at] / sum(others)) >= least
        plain.append(name if called else classes[row.index(max(others))])
    assert expected == plain != [classes[i] for i in proba.argmax(axis=1)]
    frame = pd.DataFrame(COUNTS, columns=NAMES)
    for each in (model, naively.load(folder / "result")):
        assert each.predict(frame).astype(str).tolist() == expected
        np.testing.assert_allclose(each.predict_proba(frame), proba, rtol=1e-12)
    differs = next(i for i, p in enumerate(proba) if classes[p.argmax()] != expected[i])
    out = run("explain", folder / "result", "--file", folder / "counts.npz", "--row", differs + 1,
              "--json").stdout  # fmt: skip
    assert json.loads(out)["answer"] == expected[differs]


def test_a_stored_threshold_is_exported(cautious):
    for model in (cautious[0] / "result" / "model.npz", cautious[1]):
        name, least = json.loads(naively.export(model, "json"))["answer_from"]
        assert str(name) == "10"
        assert least == load_model(str(cautious[0] / "result" / "model.npz")).answer_from[1]
