"""Weights of rows: scikit-learn's CountVectorizer and TfidfTransformer, whatever the way."""

import csv
import json
import random
from itertools import pairwise
from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
import scipy.sparse as sp
from click.testing import CliRunner
from hypothesis import given, settings, strategies as st
from sklearn.feature_extraction.text import CountVectorizer, TfidfTransformer

from naively import ClassCounts, SparseL2Centers, SparseMultinomialNB, SparsePoissonNB
from naively.cli.commands import naively
from naively.jobs import data
from naively.jobs.fit import is_burst
from naively.jobs.model_file import load_model, save_model
from naively.judging.parting import LEFT_OUT, TEST, TRAIN, Parting
from naively.read import batch
from naively.read.layout import Layout
from naively.read.parts import parts_of
from naively.text.counter import TextCounter, count_rows, text_matrix
from naively.text.features import UNIT, ColumnFeatures, TextFeatures
from naively.text.vocabulary import Vocabulary
from naively.text.weighting import log_weights
from naively.work.counters import MatrixCounter, record_of
from naively.work.judged import Answerer
from naively.work.records import load_record, merge, save_record
from naively.work.stream import rows_by_kind, run_task, tasks_of

WEIGHTED = [
    (weights, norm)
    for weights in ("counts", "presence", "log", "tfidf")
    for norm in (None, "l2")
    if (weights, norm) != ("tfidf", "l2")  # needs two passes
]
every_weight = pytest.mark.parametrize(("weights", "norm"), WEIGHTED)
in_the_command = pytest.mark.parametrize(("weights", "norm"), [*WEIGHTED, ("tfidf", "l2")])
WORDS = [f"w{i:02}" for i in range(40)]


def texts_and_labels(n=300, seed=0):
    """Rows of which some words come in bursts, so that no two ways to weight agree."""
    rng = random.Random(seed)
    found = []
    for i in range(n):
        label = "abc"[i % 3]
        own = WORDS["abc".index(label) * 5 :][:8]
        words = rng.choices(WORDS, k=rng.randint(1, 12)) + rng.choices(own, k=3)
        words += [rng.choice(words)] * rng.choice([0, 0, 0, 9])
        split = "test" if i % 4 == 0 else "train"
        # Words of the test rows are frequent there: their idf would tell on it.
        found.append((" ".join(words + ["w39"] * (split == "test")), label, split))
    return [list(column) for column in zip(*found, strict=True)]


TEXTS, LABELS, SPLIT = texts_and_labels()
IS_TEST = np.array(SPLIT) == "test"


def transformer(weights, norm):
    return TfidfTransformer(
        norm=norm, use_idf=weights == "tfidf", sublinear_tf=weights == "log", smooth_idf=True
    )


def weighted_rows(weights, norm, fit=slice(None), texts=TEXTS):
    """All rows as scikit-learn weighs them, with the idf of some; no word is unknown."""
    counts = CountVectorizer(vocabulary=WORDS).fit_transform(texts)
    if weights == "presence":
        counts = (counts > 0).astype(np.int64)
    return sp.csr_array(transformer(weights, norm).fit(counts[fit]).transform(counts))


@pytest.fixture
def folder(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    table = pa.table({"text": TEXTS, "label": LABELS, "split": SPLIT})
    pq.write_table(table, "all.parquet", row_group_size=40)
    (tmp_path / "data").mkdir()
    for i in range(3):
        pq.write_table(table.slice(100 * i, 100), f"data/{i}.parquet", row_group_size=30)
    return tmp_path


def run(*arguments, status=0):
    result = CliRunner().invoke(naively, [str(each) for each in arguments])
    assert result.exit_code == status, result.output
    return result.output


def options(weights, norm):
    return ["--words", f"weights={weights}", *(["--words", f"norm={norm}"] if norm else [])]


def summary_of(out):
    return json.loads((Path(out) / "summary.json").read_text())


def fitted(X, k=9, **parameters):
    return SparseMultinomialNB(k=k, **parameters).fit(X, np.array(LABELS))


def agrees(model, expected, tolerance=1e-6):
    """Whether a model file has the features and the rule of an estimator."""
    assert model.columns.tolist() == expected.get_support(indices=True).tolist()
    np.testing.assert_allclose(model.rule.weights, expected.rule_.weights, rtol=tolerance)
    np.testing.assert_allclose(model.rule.intercept, expected.rule_.intercept, rtol=tolerance)


# Rows and sums -----------------------------------------------------------------------------------


@every_weight
def test_rows_are_those_of_scikit_learn(weights, norm):
    """All but the idf, which is of the training rows and comes later."""
    features = TextFeatures(weights=weights, norm=norm)
    expected = weighted_rows("counts" if weights == "tfidf" else weights, norm).toarray()
    vocabulary, X = count_rows(TEXTS, features)
    assert list(vocabulary) == WORDS
    np.testing.assert_allclose(X.toarray(), expected, rtol=1e-12)
    some = [WORDS[j] for j in range(0, 40, 3)] + ["zebra"]
    found = text_matrix(TEXTS, features, Vocabulary.of(some)).toarray()
    np.testing.assert_allclose(found[:, :-1], expected[:, ::3], rtol=1e-12)
    assert not found[:, -1].any()


@every_weight
def test_sums_are_those_of_the_rows(weights, norm):
    """Each entry is rounded to a multiple of the unit, so a sum of n is within n / 2 of them."""
    features = TextFeatures(weights=weights, norm=norm, documents=True)
    counter = TextCounter(features)
    counter.update(TEXTS, LABELS)
    record = record_of(counter, {"a": len(TEXTS)})
    found = record.in_units()
    rows = weighted_rows("counts" if weights == "tfidf" else weights, norm)
    expected = ClassCounts.from_matrix(rows, LABELS)
    np.testing.assert_allclose(found.table, expected.table, atol=UNIT * len(TEXTS) / 2)
    np.testing.assert_array_equal(found.length_values, expected.length_values)
    counts = CountVectorizer(vocabulary=WORDS).fit_transform(TEXTS)
    present = ClassCounts.from_matrix(counts, LABELS, presence=True).table
    if (weights, norm) == ("presence", None):
        np.testing.assert_array_equal(found.table, present)
        assert found.documents is None
        return
    np.testing.assert_array_equal(found.documents, present)
    squares = ClassCounts.from_matrix(counts.multiply(counts), LABELS).table
    np.testing.assert_array_equal(found.squares, squares)
    assert found.documents.dtype == found.squares.dtype == np.int64


@settings(max_examples=60, deadline=None)
@given(
    weighted=st.sampled_from(WEIGHTED),
    rows=st.lists(
        st.tuples(st.lists(st.sampled_from(["ab", "cd", "ef", "gh"]), max_size=6),
                  st.sampled_from("xyz")),
        min_size=1, max_size=12,
    ),
    cuts=st.lists(st.integers(0, 12), max_size=3),
    dense_cells=st.sampled_from([0, 1 << 27]),
)  # fmt: skip
def test_parts_give_the_sums_of_the_whole_bit_for_bit(weighted, rows, cuts, dense_cells):
    """Sums are whole multiples of a unit: any division, any order, and subtraction undoes it."""
    features = TextFeatures(weights=weighted[0], norm=weighted[1], documents=True)

    def record(part, name):
        counter = TextCounter(features, classes=list("xyz"), dense_cells=dense_cells)
        counter.update([" ".join(words) for words, _ in part], [label for _, label in part])
        return record_of(counter, {name: len(part)})

    bounds = [0, *sorted(min(cut, len(rows)) for cut in cuts), len(rows)]
    parts = [record(rows[a:b], f"{i}") for i, (a, b) in enumerate(pairwise(bounds))]
    whole, merged = merge([record(rows, "0")]), merge(parts)
    assert merged.statistics.equals(whole.statistics)
    assert merge(parts[::-1]).statistics.equals(whole.statistics)
    if whole.names is not None and all(part.names.equals(whole.names) for part in parts):
        rest = whole.statistics
        for part in parts:
            rest = rest - merge([part]).statistics
        assert not rest.table.any()


@every_weight
def test_records_and_definitions_are_saved(tmp_path, weights, norm):
    features = TextFeatures(weights=weights, norm=norm, documents=True)
    counter = TextCounter(features)
    counter.update(TEXTS, LABELS)
    record = record_of(counter, {"a": len(TEXTS)})
    save_record(record, tmp_path / "r.npz")
    assert load_record(tmp_path / "r.npz").equals(record)


# The command, in every way -----------------------------------------------------------------------

WAYS = {
    "held": {},
    "streamed in small batches": {"held": 0, "rows": 17},
    "streamed in three threads": {"held": 0, "options": ("--on", 3)},
}


@in_the_command
@pytest.mark.parametrize("way", WAYS.values(), ids=WAYS)
@pytest.mark.usefixtures("folder")
def test_select_and_predict_are_the_estimator_on_rows_of_scikit_learn(
    monkeypatch, way, weights, norm
):
    monkeypatch.setattr(data, "HELD_BYTES", way.get("held", 1 << 25))
    monkeypatch.setattr(batch, "BATCH_ROWS", way.get("rows", 25_000))
    run("select", "all.parquet", "--read", "split=split", "-k", 9, "--out", "r",
        *options(weights, norm), *way.get("options", ()))  # fmt: skip
    X, y = weighted_rows(weights, norm, ~IS_TEST), np.array(LABELS)
    expected = SparseMultinomialNB(k=9).fit(X[~IS_TEST], y[~IS_TEST])
    agrees(load_model("r/model.npz"), expected)
    summary = summary_of("r")
    assert summary["evaluation"]["accuracy"] == expected.score(X[IS_TEST], y[IS_TEST])
    for point in summary["path"]["points"][::6]:
        alone = SparseMultinomialNB(k=point["k"]).fit(X[~IS_TEST], y[~IS_TEST])
        assert point["accuracy"] == pytest.approx(alone.score(X[IS_TEST], y[IS_TEST]))
    run("predict", "r", "all.parquet", "--probabilities", "--out", "p.csv")
    with open("p.csv", newline="") as file:
        rows = list(csv.DictReader(file))
    assert [row["label"] for row in rows] == expected.predict(X).tolist()
    found = [[float(row[f"p:{c}"]) for c in "abc"] for row in rows]
    np.testing.assert_allclose(found, expected.predict_proba(X), rtol=1e-5)


@in_the_command
@pytest.mark.usefixtures("folder")
def test_a_test_file_and_all_rows_after_it(weights, norm):
    table = pq.read_table("all.parquet")
    pq.write_table(table.filter(pa.array(IS_TEST)), "test.parquet")
    pq.write_table(table.filter(pa.array(~IS_TEST)), "train.parquet")
    common = ("-k", 9, *options(weights, norm))
    run("select", "train.parquet", "--test", "test.parquet", *common, "--out", "given")
    X, y = weighted_rows(weights, norm, ~IS_TEST), np.array(LABELS)
    expected = SparseMultinomialNB(k=9).fit(X[~IS_TEST], y[~IS_TEST])
    accuracy = summary_of("given")["evaluation"]["accuracy"]
    assert accuracy == expected.score(X[IS_TEST], y[IS_TEST])
    run("select", "all.parquet", *common, "--out", "held")  # the idf is then of all rows
    agrees(load_model("held/model.npz"), fitted(weighted_rows(weights, norm)))


@in_the_command
@pytest.mark.usefixtures("folder")
def test_explain_adds_up_to_what_predict_says(weights, norm):
    run("select", "all.parquet", "-k", 9, *options(weights, norm), "--out", "r")
    record = json.loads(run("explain", "r", TEXTS[0], "--json"))
    X = weighted_rows(weights, norm)
    expected = fitted(X).predict_proba(X[:1])[0]
    assert record["probabilities"] == pytest.approx(dict(zip("abc", expected, strict=True)), 1e-5)
    nats = sum(each["nats"] for each in record["contributions"])
    assert record["total"] == pytest.approx(record["start"] + nats)


def folds_of(n_folds=5):
    """Fold of each row, as the command divides them."""
    layout = Layout(text=("text",))
    parts = parts_of(["all.parquet"], layout)
    (task,) = tasks_of(parts, TextFeatures(), layout, parting=Parting(n_folds=n_folds))
    return np.concatenate([seen.kinds for part in parts for seen in rows_by_kind(task, part)])


@in_the_command
@pytest.mark.usefixtures("folder")
def test_folds_are_weighted_by_the_other_rows(weights, norm):
    """Cross-validation is a loop: the idf, too, is learnt without the rows that are judged."""
    run("cv", "all.parquet", "--ks", "2,9,40", *options(weights, norm), "--out", "cv.csv")
    kinds, y = folds_of(), np.array(LABELS)
    with open("cv.csv", newline="") as file:
        found = {int(row["k"]): float(row["accuracy"]) for row in csv.DictReader(file)}
    for k, accuracy in found.items():
        scores = []
        for kind in range(TRAIN, TRAIN + 5):
            rest = kinds != kind
            X = weighted_rows(weights, norm, rest)
            scores.append(SparseMultinomialNB(k=k).fit(X[rest], y[rest]).score(X[~rest], y[~rest]))
        assert accuracy == pytest.approx(np.mean(scores), abs=1e-12)
    assert {TEST, LEFT_OUT}.isdisjoint(kinds.tolist())


@in_the_command
@pytest.mark.usefixtures("folder")
def test_the_path_is_of_weighted_rows(weights, norm):
    run("cv", "all.parquet", "--ks", "5,20", *options(weights, norm), "--out", "path.csv")
    X = weighted_rows(weights, norm)
    with open("path.csv", newline="") as file:
        for row in csv.DictReader(file):
            certificate = fitted(X, int(row["k"])).certificate_
            gain = certificate.objective - certificate.baseline
            assert float(row["gain"]) == pytest.approx(gain, 1e-6)


@every_weight
@pytest.mark.usefixtures("folder")
def test_count_merge_and_solve_give_the_model_of_select(weights, norm):
    run("count", "data/0.parquet", "data/1.parquet", "data/2.parquet", "-o", "records",
        *options(weights, norm))  # fmt: skip
    run("count", "records", "-o", "all.npz")
    run("select", "all.npz", "-k", 9, "-o", "solved")
    run("select", "all.parquet", "-k", 9, "--test", 0, *options(weights, norm), "--out", "r")
    for name in ("model.npz", "features.csv"):
        assert (Path("solved") / name).read_bytes() == (Path("r") / name).read_bytes()


@every_weight
def test_workers_of_dask_count_the_same(folder, weights, norm):
    dask = pytest.importorskip("naively.work.dask")
    features = TextFeatures(weights=weights, norm=norm, documents=True)
    layout = Layout(text=("text",))
    tasks = tasks_of(parts_of([f"{folder}/data/*.parquet"], layout), features, layout, n_jobs=3)
    whole = merge([run_task(task) for task in tasks])
    import dask as scheduler

    with scheduler.config.set(scheduler="threads"):
        assert dask.count_tasks(tasks).equals(whole)


@pytest.mark.filterwarnings("ignore:The poisson model takes counts")  # weighted by idf
@pytest.mark.parametrize("model", ["poisson", "l2-centers"])
@pytest.mark.parametrize("weights", ["log", "tfidf"])
@pytest.mark.usefixtures("folder")
def test_other_models_of_weighted_texts(model, weights):
    """Sums of a Poisson model; rows in memory, for a model that has no sums of texts."""
    run("select", "all.parquet", "--read", "split=split", "-k", 9, "--model", model,
        "--text", "text", "--words", f"weights={weights}", "--out", "r")  # fmt: skip
    X, y = weighted_rows(weights, None, ~IS_TEST), np.array(LABELS)
    make = {"poisson": SparsePoissonNB, "l2-centers": SparseL2Centers}[model]
    expected = make(k=9).fit(X[~IS_TEST], y[~IS_TEST])
    assert load_model("r/model.npz").columns.tolist() == expected.get_support(True).tolist()
    accuracy = summary_of("r")["evaluation"]["accuracy"]
    assert accuracy == expected.score(X[IS_TEST], y[IS_TEST])


@pytest.mark.filterwarnings("ignore:The poisson model takes counts")  # weighted by idf
@pytest.mark.parametrize("model", ["multinomial", "poisson"])
@pytest.mark.parametrize("weights", ["counts", "presence", "log", "tfidf"])
@pytest.mark.usefixtures("folder")
def test_columns_of_counts(model, weights):
    X = CountVectorizer(vocabulary=WORDS).fit_transform(TEXTS)
    np.savez("c.npz", X=X.toarray(), y=np.array(LABELS))
    if (model, weights) == ("poisson", "presence"):
        assert "no counts" in run(
            "select", "c.npz", "--model", model, "--words", f"weights={weights}", status=2
        )
        return
    run("select", "c.npz", "-k", 9, "--model", model, "--words", f"weights={weights}", "--out", "r")
    expected = fitted(weighted_rows(weights, None))
    if model == "poisson":
        expected = SparsePoissonNB(k=9).fit(weighted_rows(weights, None), np.array(LABELS))
    agrees(load_model("r/model.npz"), expected)
    run("predict", "r", "c.npz", "--out", "p.csv")
    with open("p.csv", newline="") as file:
        labels = [row["label"] for row in csv.DictReader(file)]
    assert labels == expected.predict(weighted_rows(weights, None)).tolist()


def test_log_of_columns_in_batches_and_of_doubled_entries():
    rng = np.random.default_rng(0)
    X, y = rng.poisson(1.0, (60, 7)), rng.integers(0, 2, 60)
    doubled = sp.csr_array(
        (np.r_[1, 2, 5], np.r_[3, 3, 0], np.r_[0, 2, 3, *[3] * 58]), shape=(60, 7)
    )
    for whole in (X, sp.csr_array(X), doubled):
        counter = MatrixCounter(ColumnFeatures(7, weights="log", documents=True))
        for rows in (slice(0, 25), slice(25, 60)):
            counter.update(whole[rows], y[rows])
        found = record_of(counter, {}).in_units()
        plain = whole.toarray() if sp.issparse(whole) else whole
        logs = np.where(plain > 0, 1 + np.log(np.maximum(plain, 1)), 0)
        expected = ClassCounts.from_matrix(logs, y).table
        np.testing.assert_allclose(found.table, expected, atol=60 * UNIT)
        np.testing.assert_array_equal(
            found.documents, ClassCounts.from_matrix(plain, y, presence=True).table
        )
    with pytest.raises(ValueError, match=r"0, or at least 1; got 0.25"):
        log_weights(np.array([[0.25]]))


# Documents, and bursts ---------------------------------------------------------------------------


@pytest.mark.usefixtures("folder")
def test_rows_that_hold_a_feature_stand_beside_its_counts():
    said = run("select", "all.parquet", "-k", 40, "--words", "weights=counts", "--out", "r")
    X, y = CountVectorizer(vocabulary=WORDS).fit_transform(TEXTS).toarray(), np.array(LABELS)
    with open("r/features.csv", newline="") as file:
        for row in csv.DictReader(file):
            column = X[:, WORDS.index(row["feature"])]
            for label in "abc":
                assert int(row[f"count:{label}"]) == column[y == label].sum()
                assert int(row[f"rows:{label}"]) == (column[y == label] > 0).sum()
    assert " rows" in said.splitlines()[1]
    assert "rows:" in run("explain", "r", "--report", "json") or "documents" in run(
        "explain", "r", "--report", "json"
    )
    run("select", "all.parquet", "-k", 40, "--out", "p")  # counts are rows already
    assert "rows:a" not in Path("p/features.csv").read_text()


@pytest.mark.parametrize("weights", ["counts", "presence", "log", "tfidf"])
@pytest.mark.parametrize("model", ["multinomial", "l2-centers"])
@pytest.mark.usefixtures("folder")
def test_least_number_of_documents(model, weights):
    X = CountVectorizer(vocabulary=WORDS).fit_transform(TEXTS)
    documents = np.asarray((X > 0).sum(axis=0)).ravel()
    least = int(np.median(documents))
    run(
        "select",
        "all.parquet",
        "-k",
        "all",
        "--test",
        0,
        "--model",
        model,
        "--text",
        "text",
        "--words",
        f"weights={weights}",
        "--words",
        f"min-documents={least}",
        "--out",
        "r",
    )
    found = load_model("r/model.npz").columns.tolist()
    assert found == np.flatnonzero(documents >= least).tolist()


def test_a_burst_is_a_count_of_a_handful_of_rows():
    """The effective number of rows is theirs if all held it equally often."""
    rows = np.zeros((400, 5))
    rows[0, 0] = 50  # one row
    rows[:300, 1] = 20  # often in every row, but in many rows
    rows[:8, 2] = 1  # few rows, but once in each
    rows[:8, 3] = 12  # few rows, often in each
    rows[:, 4] = 1
    rows[0, 4] = 900  # in all rows, but most of the count is of one
    found = is_burst(rows.sum(axis=0), (rows**2).sum(axis=0), 400)
    assert found.tolist() == [True, False, False, True, True]
    assert not is_burst(rows.sum(axis=0), (rows**2).sum(axis=0), 10)[3]  # 8 of 10 rows


@pytest.mark.usefixtures("folder")
def test_a_burst_is_told():
    texts = [*TEXTS, "surname " * 60 + "w00"]
    labels, split = [*LABELS, "a"], [*SPLIT, "train"]
    pq.write_table(pa.table({"text": texts, "label": labels, "split": split}), "b.parquet")
    said = run("select", "b.parquet", "--words", "weights=counts", "-k", 20, "--test", 0)
    assert "surname (60 times in 1 row)" in " ".join(said.split())
    rows = {row["name"]: row for row in summary_of("result")["features"]}
    assert rows["surname"]["burst"]
    assert "surname (60 times in 1 row)" in Path("result/report.html").read_text("utf-8")
    with open("result/features.csv", newline="") as file:
        marks = {row["feature"]: row["burst"] for row in csv.DictReader(file)}
    assert [name for name, mark in marks.items() if mark == "yes"] == ["surname"]
    said = run("select", "b.parquet", "-k", 20, "--test", 0)
    assert "surname (" not in said


# What is refused, and what is saved --------------------------------------------------------------


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        (["--model", "bernoulli", "--words", "weights=presence"], "no effect on --model bernoulli"),
        (["--model", "poisson", "--words", "weights=presence"], "no counts"),
        (["--model", "categorical", "--words", "weights=log"], "takes categories"),
        (["--model", "hybrid", "--words", "weights=tfidf"], "counts, presence or log"),
        (["--words", "weights=log", "--words", "min-count=2"], "use --words min-documents"),
        (["--words", "min-documents=999"], "lower --words min-count or --words min-documents"),
    ],
)
@pytest.mark.usefixtures("folder")
def test_options_without_effect_or_sense_are_refused(arguments, words):
    assert words in " ".join(run("select", "all.parquet", *arguments, status=2).split())


@pytest.mark.usefixtures("folder")
def test_tfidf_of_rows_of_length_1_takes_two_passes():
    """In memory; where rows are added up and let go it is refused."""
    both = ["--words", "weights=tfidf", "--words", "norm=l2"]
    said = run("count", "data/0.parquet", "-o", "records", *both, status=2)
    assert "use --words weights=log --words norm=l2" in " ".join(said.split())
    with pytest.raises(ValueError, match="must be None where rows are added up"):
        TextCounter(TextFeatures(weights="tfidf", norm="l2"))
    run("select", "all.parquet", "-k", 9, *both, "--out", "r")
    model = load_model("r/model.npz")
    assert list(model.known) == WORDS
    with open("again.npz", "wb") as file:
        save_model(model, file)
    assert Path("again.npz").read_bytes() == Path("r/model.npz").read_bytes()


@pytest.mark.usefixtures("folder")
def test_numbers_are_weighted_where_they_are_counts_that_add_up():
    np.savez("c.npz", X=np.ones((6, 3)), y=np.arange(6) % 2)
    for arguments, words in (
        (["--words", "norm=l2"], "is of texts"),
        (["--model", "gaussian", "--words", "weights=log"], "leave them out with --model gaussian"),
        (["--model", "l1-centers", "--words", "min-documents=2"], "does not count"),
    ):
        assert words in " ".join(run("select", "c.npz", *arguments, status=2).split())


@every_weight
@pytest.mark.usefixtures("folder")
def test_a_model_file_keeps_the_weights(weights, norm):
    run("select", "all.parquet", "-k", 9, *options(weights, norm), "--out", "r")
    model = load_model("r/model.npz")
    assert (model.features.weights, model.features.norm) == (weights, norm)
    assert (model.idf is None) == (weights != "tfidf")
    with open("again.npz", "wb") as file:
        save_model(model, file)
    assert Path("again.npz").read_bytes() == Path("r/model.npz").read_bytes()
    terms = Vocabulary.of(model.names)
    answerer = Answerer(model.rule, model.classes, model.features, terms, model.columns, model.idf)
    expected = fitted(weighted_rows(weights, norm)).predict(weighted_rows(weights, norm))
    assert answerer.answers(TEXTS).tolist() == expected.tolist()
    other = np.ones(9) if model.idf is None else None
    with pytest.raises(ValueError, match="`idf` must be that of the selected features"):
        Answerer(model.rule, model.classes, model.features, terms, model.columns, other)


def test_rows_of_length_1_are_no_bursts(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    rng = random.Random(0)
    words = [[f"w{rng.randrange(3000)}" for _ in range(120)] for _ in range(400)]
    rows = [("good" if j % 2 else "bad", each) for j, each in enumerate(words)]
    with Path("b.csv").open("w", newline="") as file:
        csv.writer(file).writerows(
            [["text", "label"], *([f"{word} {' '.join(others)}", word] for word, others in rows)]
        )
    options = [
        "--words",
        "weights=counts",
        "--words",
        "norm=l2",
        "-k",
        "2",
        "--test",
        "0",
        "--out",
        "r",
    ]
    assert CliRunner().invoke(naively, ["select", "b.csv", *options]).exit_code == 0
    summary = json.loads(Path("r/summary.json").read_text())
    assert [row["name"] for row in summary["features"]] == ["bad", "good"]
    assert not any(row["burst"] for row in summary["features"])
    assert not any("handful" in note for note in summary["notes"])
