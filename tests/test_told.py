"""What would go wrong in silence, with data that look right: read rightly, refused or told."""

import csv
import json
import sqlite3
import sys
import unicodedata
from pathlib import Path

import numpy as np
import pandas as pd
import pyarrow as pa
import pytest
import scipy.sparse as sp
from click.testing import CliRunner
from hypothesis import given, strategies as st
from hypothesis.extra.numpy import arrays
from tests.test_cli import refused, run

from naively import (
    ClassCounts,
    ClassMedians,
    ClassMoments,
    ErrorSearchSelector,
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
    export,
    load,
    save,
    select,
    selection_stability,
)
from naively._nearest import nearest
from naively.cli.commands import naively
from naively.models.counting import size_of_values


def features_of(out="out"):
    with open(f"{out}/features.csv", encoding="utf-8", newline="") as file:
        return [row["feature"] for row in csv.DictReader(file)]


def told(*arguments):
    """Return what the command prints, lines joined."""
    return " ".join(run(*arguments).output.split())


def summary_of(out="out"):
    with open(f"{out}/summary.json", encoding="utf-8") as file:
        return json.load(file)


def numbers(n=40, m=3, seed=0):
    """Counts of two classes, of which the first feature tells one from the other."""
    rng = np.random.default_rng(seed)
    labels = np.array(["a", "b"] * (n // 2))
    X = rng.poisson(2, (n, m))
    X[:, 0] += 4 * (labels == "b")
    return pd.DataFrame(X, columns=[f"g{j}" for j in range(m)]), labels


@pytest.fixture(autouse=True)
def _folder(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)


# Columns of text ---------------------------------------------------------------------------------


def test_fewer_columns_of_text_than_in_training_are_refused():
    rows = [("good", "film", "p"), ("bad", "plot", "n")] * 10
    pd.DataFrame(rows, columns=["head", "body", "label"]).to_csv("a.csv", index=False)
    run("select", "a.csv", "--text", "head", "--text", "body", "-k", 2, "-q", "-o", "out")
    said = "was trained on 2 columns of text (head, body); give --text as often"
    refused("predict", "out", "a.csv", "--text", "head", match=said)
    frame = pd.read_csv("a.csv").rename(columns={"head": "h", "body": "b"})
    frame.to_csv("b.csv", index=False)
    own = run("predict", "out", "a.csv", "-q").stdout
    assert run("predict", "out", "b.csv", "--text", "h", "--text", "b", "-q").stdout == own


# Rows without any of the features ---------------------------------------------------------------


@pytest.mark.parametrize("model", ["multinomial", "bernoulli"])
def test_rows_that_hold_none_of_the_features_are_counted(model):
    rows = [("good", "p"), ("bad", "n")] * 10 + [("other", "p"), ("", "n"), ("else", "n")]
    frame = pd.DataFrame(rows, columns=["text", "label"])
    frame.assign(part=["train"] * 20 + ["test"] * 3).to_csv("a.csv", index=False)
    said = told("select", "a.csv", "-k", 2, "--model", model, "--read", "split=part", "-o", "out")
    note = "3 of the 3 test rows (100 %) hold none of the 2 features"
    assert note in said
    assert note in Path("out/report.html").read_text().replace("\xa0", " ")
    said = told("predict", "out", "a.csv", "-q", "-o", "answers.csv")
    assert "3 of the 23 rows (13 %) hold none of the 2 features: the prior of the classes" in said
    assert ("absence" in said) == (model == "bernoulli")
    answers = pd.read_csv("answers.csv")["label"]
    assert answers[20:].nunique() == 1
    frame[:20].to_csv("known.csv", index=False)
    assert "hold none" not in told("predict", "out", "known.csv", "-q", "-o", "answers.csv")


@pytest.mark.parametrize("other", [True, False])
def test_rows_without_a_word_are_counted_beside_other_columns(other):
    rows = [("good", 3.0, "p"), ("bad", 1.0, "n")] * 10 + [("other", 3.0, "p"), ("", 1.0, "n")]
    frame = pd.DataFrame(rows, columns=["text", "size", "label"])
    frame = frame if other else frame.drop(columns="size")
    frame[:20].to_csv("a.csv", index=False)
    frame.to_csv("b.csv", index=False)
    asked = ("--model", "mixed", "--text", "text", "-k", "all", "--test", 0, "-q", "-o", "out")
    run("select", "a.csv", *asked)
    assert "hold none" not in told("predict", "out", "a.csv", "-q", "-o", "answers.csv")
    said = told("predict", "out", "b.csv", "-q", "-o", "answers.csv")
    beside = "the other columns" if other else "the prior of the classes"
    assert (
        f"2 of the 22 rows (9.09 %) hold none of the 2 words: their absence and {beside} are all "
        "that decides" in said
    )


def test_rows_without_any_value_are_counted():
    rng = np.random.default_rng(0)
    X, y = rng.normal(size=(40, 3)), ["a", "b"] * 20
    X[:, 0] += np.arange(40) % 2
    frame = pd.DataFrame(X, columns=["u", "v", "w"]).assign(label=y)
    frame.loc[3, ["u", "v", "w"]] = np.nan
    frame.loc[5, ["u"]] = np.nan
    frame.to_csv("a.csv", index=False)
    asked = ("--model", "gaussian", "--read", "missing=ignore", "-k", "all", "-o", "out", "-q")
    run("select", "a.csv", *asked)
    said = told("predict", "out", "a.csv", "-q", "-o", "answers.csv")
    assert "1 of the 40 rows (2.5 %) have no value in the 3 features: the prior" in said


# The index of pandas ----------------------------------------------------------------------------

INDICES = {
    "integers": pd.Index(np.arange(40) * 10),
    "named": pd.Index(np.arange(40) * 10, name="event"),
    "strings": pd.Index([f"S{i}" for i in range(40)]),
    "range": pd.RangeIndex(40),
    "two": pd.MultiIndex.from_product([list("ab"), range(20)], names=["donor", "cell"]),
}


@pytest.mark.parametrize("index", INDICES.values(), ids=INDICES)
@pytest.mark.parametrize("model", ["poisson", "mixed"])
def test_the_index_of_a_frame_is_no_feature(index, model):
    frame, labels = numbers()
    frame = frame.assign(label=labels).set_index(index)
    frame.to_parquet("table.parquet")
    read = [] if model == "mixed" else ["--read", "numbers"]
    run("select", "table.parquet", "--model", model, *read, "-k", "all", "-o", "out", "-q")
    assert sorted(features_of()) == ["g0", "g1", "g2"]
    answers = run("predict", "out", "table.parquet", "-q").stdout.splitlines()[1:]
    names = [line.rpartition(",")[0].strip('"') for line in answers]
    expected = [", ".join(map(str, each)) if isinstance(each, tuple) else str(each)
                for each in index]  # fmt: skip
    assert names == (expected if index is not INDICES["range"] else [*map(str, range(1, 41))])


def test_an_index_that_is_the_label_is_the_label():
    frame, labels = numbers()
    frame.set_index(pd.Index(labels, name="label")).to_parquet("table.parquet")
    run("select", "table.parquet", "--read", "numbers", "--model", "poisson", "-o", "out", "-q")
    assert sorted(features_of()) == ["g0", "g1", "g2"]


def test_genes_by_samples_with_numbers_for_names():
    frame, labels = numbers()
    frame.columns = [5, 77, 301]  # as Entrez numbers genes
    turned = frame.set_axis([f"s{i}" for i in range(40)]).T
    turned.to_parquet("turned.parquet")
    Path("labels.txt").write_text("\n".join(labels))
    asked = ("--read", "transpose", "--model", "poisson", "--read", "labels=labels.txt")
    run("select", "turned.parquet", *asked, "-k", 1, "-o", "out", "-q")
    assert features_of() == ["5"]
    assert summary_of()["n_rows"] == 40


@pytest.mark.parametrize("rows", [range(40), [f"S{i}" for i in range(40)]], ids=["int", "str"])
def test_names_of_rows_of_csv_are_no_feature(rows):
    frame, labels = numbers()
    frame = frame.assign(label=labels).set_index(pd.Index(rows))
    frame.to_csv("pandas.csv")
    rows = frame.to_csv().partition("\n")[2]
    Path("r.csv").write_text("g0,g1,g2,label\n" + rows)  # as write.table of R does
    for name in ("pandas.csv", "r.csv"):
        run("select", name, "--read", "numbers", "-k", "all", "-o", "out", "-q")
        assert sorted(features_of()) == ["g0", "g1", "g2"]


# What was tested, and on what --------------------------------------------------------------------


def words_table(name="words.csv", n=60):
    lines = [f"{'good fine' if i % 2 else 'bad poor'} word{i % 7},{'pn'[i % 2]},{i % 3}"
             for i in range(n)]  # fmt: skip
    Path(name).write_text("text,label,plate\n" + "\n".join(lines) + "\n")
    return name


@pytest.mark.parametrize("more", [("--markers", 3), ("--judge", "stability")], ids=["m", "s"])
def test_a_split_that_was_given_keeps_its_model(more):
    run("select", words_table("a.csv", 300), "--test", words_table("b.csv"), "-k", 3, *more, "-q",
        "-o", "out")  # fmt: skip
    found = summary_of()
    assert found["settings"]["final_rows"].startswith("trained on the training rows only")
    assert found["evaluation"]["shared_features"] is None
    assert found["n_rows"] == 300


def test_groups_that_cannot_be_parted_are_refused():
    head, *lines = Path(words_table()).read_text().splitlines()
    Path("one.csv").write_text("\n".join([head, *(line[:-1] + "0" for line in lines)]))
    one = ("all 60 rows are of one group", "--read groups=plate", "choose another column")
    refused("select", "one.csv", "--read", "groups=plate", match=one)
    refused("cv", "one.csv", "--read", "groups=plate", match=one)


def test_a_test_that_cannot_be_is_told():
    Path("few.csv").write_text("text,label\ngood,p\nbad,n\n")
    out = told("select", "few.csv", "--test", "0.1", "-k", 1, "-o", "out", "-q")
    assert "No row was held out" in out
    assert "--test 0.5" in out
    assert any("No row was held out" in note for note in summary_of()["notes"])


def test_a_table_of_several_kinds_tells_its_missing_values():
    frame, labels = numbers(60)
    frame = frame.astype(float).assign(label=labels)
    frame.iloc[:7, 1] = np.nan
    frame.to_csv("gaps.csv", index=False)
    run("select", "gaps.csv", "--model", "mixed", "-o", "out", "-q")
    assert summary_of()["profile"]["missing"] == 7
    assert "lacks a value is refused" not in Path("out/report.html").read_text()


# Names of files and of options -------------------------------------------------------------------


@pytest.mark.parametrize("name", ["a.parquet", "a.tsv", "a.json", "a.csv.gz"])
def test_csv_is_not_written_under_another_name(name):
    run("select", words_table(), "-k", 2, "-o", "out", "-q")
    refused("predict", "out", "words.csv", "-o", name, match=(name, "CSV", "choose one in .csv"))
    refused("cv", "words.csv", "-o", name, match=(name, "CSV"))


def test_two_names_for_one_thing_are_refused():
    run("select", words_table(), "-k", 2, "-o", "out", "-q")
    ids = ("predict", "out", "words.csv", "--id", "text", "--id", "plate")
    keys = ("select", "words.csv", "--read", "groups=plate", "--read", "groups=text")
    for asked, option in ((ids, "--id"), (keys, "--read groups")):
        assert f"{option} is given more than once" in run(*asked, status=2).stderr
    run("select", "words.csv", "--text", "text", "--text", "plate", "-k", 2, "-o", "two", "-q")


@pytest.mark.parametrize("model", ["multinomial", "l1-centers"])
def test_a_copy_of_a_shard_is_told(model):
    frame, labels = numbers()
    frame.assign(label=labels).to_csv("a.csv", index=False)
    frame.assign(label=labels).to_csv("b.csv", index=False)
    frame.iloc[::-1].assign(label=labels[::-1]).to_csv("c.csv", index=False)
    asked = ("--model", model, "--read", "numbers", "-q", "-o")
    said = told("select", "?.csv", *asked, "out")
    assert "copies of others" in said
    assert "b.csv of a.csv." in said.replace("\n", " ")
    Path("b.csv").unlink()
    assert "copies" not in told("select", "?.csv", *asked, "out")
    assert {each["name"]: each["rows"] for each in summary_of()["files"]} == {
        "a.csv": 40, "c.csv": 40,
    }  # fmt: skip


# What values are --------------------------------------------------------------------------------


def matrices(n=60, seed=0):
    frame, labels = numbers(n, 5, seed)
    return frame.to_numpy(), labels


def saved(name, X, y):
    np.savez(name, X=X, y=y)
    return name


OF_COUNTS = ["multinomial", "poisson", "negative-binomial"]


@pytest.mark.parametrize("model", OF_COUNTS)
def test_a_model_of_counts_is_told_from_logarithms(model):
    X, y = matrices()
    asked = ("--model", model, "-k", 2, "-q", "-o", "out")
    said = told("select", saved("logs.npz", np.log1p(X), y), *asked)
    odd = np.log1p(X)[np.log1p(X) > 0]
    assert f"of the {len(odd)} values above 0 in the first 60 rows {len(odd)} are no whole" in said
    counts = saved("counts.npz", X, y)
    assert "whole numbers" not in told("select", counts, *asked)
    of_counts = told("predict", "out", counts, "-q", "-o", "answers.csv")
    of_logs = told("predict", "out", "logs.npz", "-q", "-o", "answers.csv")
    assert "no whole numbers" in of_logs.replace("\n", " ")
    assert "whole" not in of_counts
    read = told("select", counts, "--read", "log1p", *asked)
    assert "takes counts" in read


def test_estimators_with_a_law_of_counts_warn_of_logarithms():
    X, y = matrices()
    for kind in (SparsePoissonNB, SparseNegativeBinomialNB):
        with pytest.warns(UserWarning, match="takes counts, and of the .* are no whole numbers"):
            kind(k=2).fit(np.log1p(X), y)
        kind(k=2).fit(X * 1.0, y)
    SparseMultinomialNB(k=2).fit(np.log1p(X), y)  # frequencies are usual there


OF_VALUES = {
    "gaussian": SparseGaussianNB, "l2-centers": SparseL2Centers, "l1-centers": SparseL1Centers,
}  # fmt: skip


@pytest.mark.parametrize("model", OF_VALUES)
def test_a_model_of_logarithms_is_told_from_counts_and_the_reverse(model):
    X, y = matrices()
    given = {"counts": X, "logs": np.log1p(X)}
    says = {"logs": "trained on whole numbers", "counts": "trained on values that are no whole"}
    for name, rows in given.items():
        saved(f"{name}.npz", rows, y)
    for name, rows in given.items():
        (other,) = set(given) - {name}
        run("select", f"{name}.npz", "--model", model, "-k", 2, "-q", "-o", "out")
        assert says[other] in told("predict", "out", f"{other}.npz", "-q", "-o", "answers.csv")
        assert "trained on" not in told("predict", "out", f"{name}.npz", "-q", "-o", "answers.csv")
        own = OF_VALUES[model](k=2).fit(rows, y)
        save(own, "own.npz")
        for fitted in (own, load("own.npz"), load("out")):
            fitted.predict(rows)
            with pytest.warns(UserWarning, match=says[other]):
                fitted.predict(given[other])


@pytest.mark.parametrize("model", OF_VALUES)
def test_values_without_the_logarithms_of_training_are_told(model):
    """Intensities are no whole numbers; ten rows or more tell, of whatever classes."""
    rng = np.random.default_rng(0)
    y = np.repeat([*"abc"], 20)
    logs = rng.normal(np.where(y[:, None] == [*"abca"], 7, 5), 0.5, (60, 4))
    raw = np.exp(logs)
    saved("logs.npz", logs, y)
    saved("raw.npz", raw, y)
    scale = ("--train", "scale=std") if model == "l2-centers" else ()  # by whose spread it is told
    run("select", "logs.npz", "--model", model, *scale, "-k", 2, "-q", "-o", "out")
    far = "times as far from 0 as those of training"
    assert far in told("predict", "out", "raw.npz", "-q", "-o", "answers.csv")
    assert far not in told("predict", "out", "logs.npz", "-q", "-o", "answers.csv")
    own = OF_VALUES[model](k=2, **({"scale": "std"} if scale else {})).fit(logs, y)
    save(own, "own.npz")
    for fitted in (own, load("own.npz"), load("out")):
        for rows in (logs, logs[y == "a"], logs[y == "b"], 1.5 * logs[y == "c"], raw[:9]):
            fitted.predict(rows)
        with pytest.warns(UserWarning, match=far):
            fitted.predict(raw)
    times = np.exp(logs[:, own.get_support()]).mean() / own._size
    with pytest.warns(UserWarning, match=f" {times:.3g} times"):
        own.predict(sp.csr_array(raw))


@given(arrays(np.float64, (12, 3), elements=st.integers(-(10**6), 10**6)))
def test_rows_of_training_are_not_larger_than_themselves(X):
    """The mean of |x| is at most |mean| + deviation, and |median| + mean deviation."""
    y = np.arange(12) % 2
    gathered = {
        "gaussian": ClassMoments.from_matrix(X, y),
        "l1-centers": ClassMedians.from_matrix(X, y),
    }
    for model, statistics in gathered.items():
        size = size_of_values(model, statistics, np.arange(3))
        for rows in (X, X[y == 0], X[y == 1]):
            assert size is None or np.abs(rows).mean() <= size * (1 + 1e-6)


def test_a_loaded_model_of_counts_warns_of_logarithms():
    X, y = matrices()
    save(SparseMultinomialNB(k=2).fit(X, y), "counts.npz")
    with pytest.warns(UserWarning, match="trained on whole numbers, and of the .* no whole"):
        load("counts.npz").predict(np.log1p(X))


def test_models_of_columns_of_several_kinds_know_which_are_numbers():
    X, y = matrices()
    frame = pd.DataFrame(np.asarray(X), columns=[f"g{j}" for j in range(X.shape[1])])
    given = {"counts": frame, "logs": np.log1p(frame)}
    says = {"logs": "trained on whole numbers", "counts": "trained on values that are no whole"}
    colour = np.where(np.arange(len(y)) % 3, "red", "blue")
    for name, rows in given.items():
        given[name] = rows.assign(colour=colour)
        given[name].assign(label=y).to_csv(f"{name}.csv", index=False)
    for name, rows in given.items():
        (other,) = set(given) - {name}
        run("select", f"{name}.csv", "--model", "mixed", "-k", "all", "-q", "-o", "out")
        assert says[other] in told("predict", "out", f"{other}.csv", "-q", "-o", "answers.csv")
        assert "trained on" not in told("predict", "out", f"{name}.csv", "-q", "-o", "answers.csv")
        own = SparseMixedNB(k="all").fit(rows, y)
        save(own, "own.npz")
        for fitted in (own, load("own.npz"), load("out")):
            fitted.predict(rows)
            with pytest.warns(UserWarning, match=says[other]):
                fitted.predict(given[other])


@pytest.mark.parametrize("shared", [True, False])
def test_hybrids_are_told_from_logarithms_and_the_reverse(shared):
    X, y = matrices()
    X = np.asarray(X)[:, :2]
    given = {"whole": X, "values": np.log1p(X)}
    for name, rows in given.items():
        model = HybridNB(2, shared_vocabulary=shared, penalty=1.0).fit(rows, y)
        save(model, "own.npz")
        (other,) = set(given) - {name}
        for fitted in (model, load("own.npz")):
            fitted.predict(rows)
            with pytest.warns(UserWarning, match=f"The model was trained on {name}"):
                fitted.predict(given[other])


@pytest.mark.parametrize("weight", [0.5, 0.1, 3.0])
def test_rows_that_all_weigh_alike_tell_of_their_values(weight):
    X, y = matrices()
    weights = np.full(len(y), weight)
    for model in (SparseMultinomialNB(k=2), HybridNB(penalty=1.0), SparseGaussianNB(k=2)):
        model.fit(X, y, sample_weight=weights).predict(X)
        with pytest.warns(UserWarning, match="trained on whole numbers"):
            model.predict(np.log1p(X))
    values = SparseGaussianNB(k=2).fit(np.log1p(X), y, sample_weight=weights)
    with pytest.warns(UserWarning, match="trained on values that are no whole"):
        values.predict(X)


def test_rows_of_fractional_weight_tell_nothing_of_their_values():
    X, y = matrices()
    weight = np.random.default_rng(0).uniform(1, 2, len(y))
    model = SparseGaussianNB(k=2).fit(X, y, sample_weight=weight)
    model.predict(X)
    model.predict(np.log1p(X))


def test_logarithms_taken_twice_are_told():
    X, y = matrices()
    asked = ("--read", "normalize=100", "--read", "log1p", "--model", "gaussian", "-k", 2, "-q")
    twice = told("select", saved("logs.npz", np.log1p(X), y), *asked, "-o", "out")
    assert "`--read log1p` is for counts" in twice
    once = told("select", saved("counts.npz", X, y), *asked, "-o", "out")
    assert "is for counts" not in once


@pytest.mark.parametrize("model", ["mixed", "gaussian"])
@pytest.mark.parametrize("spelled", ["{}", "u{}"])
def test_columns_of_names_are_told(model, spelled):
    frame, labels = numbers(60)
    if model == "gaussian" and spelled == "u{}":
        return  # refused
    ids = [spelled.format(7 * i + 1000) for i in range(60)]
    frame.insert(1, "user_id", ids)
    frame.assign(label=labels).to_csv("table.csv", index=False)
    read = ("--read", "numbers") if model == "gaussian" else ()
    said = told("select", "table.csv", "--model", model, *read, "-q", "-o", "out")
    assert "--read ignore='user_id'" in said
    assert "`g0`" not in said
    left = ("--read", "ignore=user_id")
    assert "names of rows" not in told(
        "select", "table.csv", "--model", model, *read, *left, "-q", "-o", "out"
    )  # fmt: skip


@pytest.mark.parametrize("out", ["records", "all.npz"])
def test_columns_of_names_are_told_where_rows_are_counted(out):
    frame, labels = numbers()
    frame.assign(id=range(40), label=labels).to_csv("a.csv", index=False)
    asked = ("--read", "numbers", "--model", "poisson", "-q", "-o", out)
    said = "`id` holds another value in each of the first 40 rows, as names of rows do"
    assert said in told("count", "a.csv", *asked)
    run("select", out, "--model", "poisson", "-k", "all", "-q", "-o", "with")
    assert "id" in features_of("with")
    assert "as names of rows" not in told("count", "a.csv", "--id", "id", *asked[:-1], f"id-{out}")
    run("select", f"id-{out}", "--model", "poisson", "-k", "all", "-q", "-o", "without")
    assert sorted(features_of("without")) == ["g0", "g1", "g2"]


def test_names_of_rows_have_no_effect_where_texts_and_matrices_are_counted():
    X, y = matrices()
    saved("a.npz", X, y)
    Path("a.csv").write_text("text,id,label\ngood,1,a\nbad,2,b\n")
    for name in ("a.npz", "a.csv"):
        refused("count", name, "--id", "id", "-o", "out", match="--id has no effect here")


def test_measurements_are_no_names():
    rng = np.random.default_rng(0)
    X = rng.permuted(np.tile(np.arange(60), (5, 1)), axis=1).T  # all values of a column differ
    frame = pd.DataFrame(X, columns=list("abcde")).assign(label=["a", "b"] * 30)
    frame.to_csv("table.csv", index=False)
    assert "names of rows" not in told(
        "select", "table.csv", "--read", "numbers", "-q", "-o", "out"
    )  # fmt: skip


def test_values_that_two_columns_share_are_told():
    lines = [f"v{i % 4},{'v' if i % 3 else 'w'}{i % 5},id-{i},{'ab'[i % 2]}" for i in range(60)]
    Path("hot.csv").write_text("c5,c100,key,label\n" + "\n".join(lines))
    texts = ("--text", "c5", "--text", "c100")
    said = told("select", "hot.csv", *texts, "-q", "-o", "out")
    assert "`c5` and `c100` hold the same values, such as v0" in said
    assert "--model mixed" in said
    said = told("select", "hot.csv", "--text", "key", "-q", "-o", "out")
    assert "`key` holds another word in each of the first 60 rows" in said.replace("\n", " ")
    assert "hold" not in told("select", words_table(), "-k", 2, "-q", "-o", "out")


def test_letters_in_parts_are_told():
    words = [("süß fein", "p"), ("übel", "n")] * 20
    for form in ("NFC", "NFD"):
        texts = "\n".join(f"{unicodedata.normalize(form, text)},{y}" for text, y in words)
        Path(f"{form}.csv").write_text("text,label\n" + texts + "\n")
    said = told("select", "NFD.csv", "-q", "-o", "out")
    assert "40 of the first 40 texts hold letters in parts" in said
    assert "in parts" not in told("select", "NFC.csv", "-q", "-o", "out")
    said = told("predict", "out", "NFD.csv", "-q", "-o", "answers.csv")
    assert "in parts" in said


# Columns ----------------------------------------------------------------------------------------


def strings_table(name):
    frame, labels = numbers(40)
    for j, column in enumerate(["city", "color", "device"]):
        frame.insert(j, column, [f"{column}{i % 3}" for i in range(40)])
    frame = frame.assign(event=range(40), label=labels)
    getattr(frame, f"to_{name.rpartition('.')[2]}")(name, index=False)
    return name


@pytest.mark.parametrize("name", ["t.csv", "t.parquet"])
def test_all_columns_of_text_are_told_at_once_and_left_out_by_a_pattern(name):
    asked = ("select", strings_table(name), "--model", "gaussian")
    options = [f"--read ignore='{each}'" for each in ("color", "device")]
    match = ["not a number", *options, "--model mixed", "`device`"]
    refused(*asked, match=match)
    some = ("--read", "ignore=color", "--read", "ignore=device")
    assert "names of the rows, which repeat" in told(*asked, *some, "-o", "out", "-q")  # city
    own = ("--id", "event", "--read", "ignore=event", "--read", "ignore=c[io]*")
    run(*asked, *own, "--read", "ignore=device", "-o", "out", "-q")
    assert sorted(features_of()) == ["g0", "g1", "g2"]
    lost = run(*asked, "--read", "ignore=x*", status=2).stderr
    assert "there is no column `x*`" in lost
    run("select", name, "--model", "mixed", "--read", "ignore=[cde]*", "-o", "out", "-q")
    assert sorted(features_of()) == ["g0", "g1", "g2"]


def test_rows_that_are_features_are_left_out_by_a_pattern():
    frame, labels = numbers()
    frame.columns = ["MT-1", "MT-2", "ACT"]
    frame.assign(label=labels).T.to_csv("turned.csv")
    run("select", "turned.csv", "--read", "transpose", "--read", "ignore=MT-*", "-o", "out", "-q")
    assert features_of() == ["ACT"]


def test_categories_of_a_table_are_for_mixed():
    match = ("there is no column `text`", "--model mixed takes columns of categories")
    refused("select", strings_table("t.csv"), "--model", "categorical", match=match)


def test_no_guess_among_identifiers():
    names = [f"ENSG{i:08d}" for i in range(20)]
    assert "did you mean" not in nearest("ENSG00000099", names)
    assert "did you mean `x1`" not in nearest("x12", ["x1", "x2"])
    assert nearest("ENSG00000001x", names) == "did you mean `ENSG00000001`?"
    assert nearest("labl", ["label", "text"]) == "did you mean `label`?"


@pytest.mark.parametrize("exposure", [None, "total"])
def test_how_many_chosen_features_are_missing(exposure):
    frame, labels = numbers(60, 6)
    frame.assign(label=labels).to_csv("all.csv", index=False)
    read = ["--read", "numbers", *(["--read", "exposure=total"] if exposure else [])]
    run("select", "all.csv", "--model", "poisson", *read, "-k", 2, "-o", "out", "-q")
    chosen = features_of()
    left = [name for name in frame.columns if name not in chosen]
    frame.drop(columns=chosen[0]).to_csv("less.csv", index=False)
    said = run("predict", "out", "less.csv", status=2).stderr
    assert f"the model needs the column `{chosen[0]}`" in said
    assert "1 of its 2 features" in said
    frame.drop(columns=left).to_csv("panel.csv", index=False)
    if exposure is None:
        run("predict", "out", "panel.csv", "-q")
    else:
        said = run("predict", "out", "panel.csv", status=2).stderr
        assert "0 of its 2 features" in said
        assert "all are needed" in said
        assert "did you mean" not in said


def test_labels_beside_are_joined_by_the_names_of_the_rows():
    frame, labels = numbers()
    names = [f"s{i}" for i in range(40)]
    frame.set_axis(names).T.to_csv("turned.csv")
    order = np.random.default_rng(0).permutation(40)
    lines = [f"{names[i]},{labels[i]}" for i in order]
    Path("types.csv").write_text("sample,type\n" + "\n".join([*lines, "s99,c"]))
    Path("order.txt").write_text("\n".join(labels))
    for file, out in (("types.csv", "named"), ("order.txt", "ordered")):
        read = ("--read", "transpose", "--read", f"labels={file}")
        run("select", "turned.csv", *read, "--model", "poisson", "-k", "all", "-o", out, "-q")
    assert features_of("named") == features_of("ordered")
    assert summary_of("named")["classes"] == summary_of("ordered")["classes"]
    Path("few.csv").write_text("\n".join(lines[:-1]))
    lost = f"lacks the label of row `{names[order[-1]]}`"
    read = ("--read", "transpose", "--read", "labels=few.csv")
    refused("select", "turned.csv", *read, "-o", "new", match=lost)
    frame.to_csv("unnamed.csv", index=False)
    read = ("--read", "numbers", "--read", "labels=types.csv")
    refused("select", "unnamed.csv", *read, "-o", "new", match="the rows of unnamed.csv have no")


# Tables of counts ------------------------------------------------------------------------------


def counted(weight=None, n=60):
    """A long table of counts of words, or of weights, and the rows of each class."""
    rng = np.random.default_rng(0)
    frame = pd.DataFrame({
        "label": np.array(["a", "b"])[np.arange(n) % 2],
        "feature": [f"w{(i % 2) * (i % 3) + i % 5}" for i in range(n)],
        "count": 1 if weight is None else rng.uniform(0.1, 2, n),
    })  # fmt: skip
    counts = frame.groupby(["label", "feature"], as_index=False)["count"].sum()
    rows = frame.groupby("label", as_index=False)["count"].sum().set_axis(["label", "rows"], axis=1)
    return frame, counts, rows


@pytest.mark.parametrize("model", ["multinomial", "bernoulli", "poisson"])
def test_weighted_counts_are_weighted_rows(model):
    frame, counts, rows = counted("weight")
    counts.to_csv("counts.csv", index=False)
    rows.to_csv("rows.csv", index=False)
    asked = ("--read", "class-rows=rows.csv", "--model", model, "-k", 4, "-o", "out", "-q")
    run("select", "counts.csv", *asked)
    X = pd.get_dummies(frame["feature"]).astype(int)
    kind = {"multinomial": SparseMultinomialNB, "bernoulli": SparseBernoulliNB,
            "poisson": SparsePoissonNB}[model]  # fmt: skip
    whole = kind(k=4).fit(X, frame["label"], sample_weight=frame["count"])
    assert sorted(features_of()) == sorted(whole.get_feature_names_out())
    gains = {row["name"]: row["gain"] for row in summary_of()["features"]}
    expected = dict(zip(X.columns, whole.scores_, strict=True))
    for name, gain in gains.items() if model != "multinomial" else ():  # whose gains depend on k
        assert gain == pytest.approx(expected[name], rel=1e-6)  # as rounded


def test_shards_of_counts_are_added_and_piped_in():
    _, counts, rows = counted()
    rows.to_csv("rows.csv", index=False)
    counts.to_csv("all.csv", index=False)
    half = counts.assign(count=counts["count"] // 2)
    half.to_csv("cnt1.csv", index=False)
    counts.assign(count=counts["count"] - half["count"]).to_csv("cnt2.csv", index=False)
    asked = ("--read", "class-rows=rows.csv", "-k", 4, "-q", "-o")
    run("select", "all.csv", *asked, "all")
    run("select", "cnt?.csv", *asked, "shards")
    piped = CliRunner().invoke(
        naively, ["select", "-", "--read", "format=csv", *map(str, asked), "piped"],
        input=Path("all.csv").read_text(),
    )  # fmt: skip
    assert piped.exit_code == 0, piped.output
    for out in ("shards", "piped"):
        assert summary_of(out)["features"] == summary_of("all")["features"]
    refused("select", "-", *asked, "new", match=("standard input", "--read format"))
    counts.set_axis(["label", "word", "n"], axis=1).to_csv("raw.csv", index=False)
    match = ("raw.csv: it has no column 'feature'", "must be called feature, label and count")
    refused("select", "raw.csv", *asked, "new", match=match)


def test_rows_that_do_not_fit_counts_are_told():
    _, counts, rows = counted()
    counts.to_csv("counts.csv", index=False)
    rows.assign(rows=3).to_csv("rows.csv", index=False)
    said = told("select", "counts.csv", "--read", "class-rows=rows.csv", "-o", "out", "-q")
    assert "in the 3 rows of" in said
    assert "counts and rows are not of the same rows" in said
    rows.to_csv("rows.csv", index=False)
    said = told("select", "counts.csv", "--read", "class-rows=rows.csv", "-o", "out", "-q")
    assert "not of the same rows" not in said


def test_too_many_rows_for_the_counts_are_told():
    _, counts, rows = counted()
    counts.to_csv("counts.csv", index=False)
    total = counts["count"].groupby(counts["label"]).sum()
    first, *_ = rows["label"]
    n, mean = int(rows["rows"].iloc[0]), total[first] / rows["rows"].iloc[0]
    for times, of in ((100, slice(None)), (10, slice(1))):  # all classes, and one of them
        wrong = rows.copy()
        wrong.loc[wrong.index[of], "rows"] *= times
        wrong.to_csv("rows.csv", index=False)
        said = told("select", "counts.csv", "--read", "class-rows=rows.csv", "-o", "out", "-q")
        assert f"The counts make {mean / times:.3g} for each of the {n * times:,} rows of" in said
    rows.to_csv("rows.csv", index=False)
    said = told("select", "counts.csv", "--read", "class-rows=rows.csv", "-o", "out", "-q")
    assert "The counts make" not in said


def test_chosen_features_that_lose_by_the_correction_are_told():
    X, y = np.random.default_rng(0).integers(0, 4, (60, 5)), np.array(["a", "b"] * 30)
    X[:, 2] = 3 * (y == "b")
    plain = SparseCategoricalNB(k=3).fit(X, y)
    penalty = 0.5 * 3 * np.log(60)  # nats: 3 free shares of 4 categories in a class more
    penalty = np.where(np.arange(5) == 2, 0.5 * 3 * np.log(60), penalty)
    lost = int((np.sort(plain.scores_ - penalty)[-3:] < 0).sum())
    assert lost
    with pytest.warns(UserWarning, match=f"{lost} of the 3 chosen features have a gain below 0"):
        model = SparseCategoricalNB(k=3, correction="bic").fit(X, y)
    assert (model.scores_[model.support_] < 0).sum() == lost
    SparseCategoricalNB(k=3 - lost, correction="bic").fit(X, y)
    frame = pd.DataFrame(X.astype(str), columns=list("uvwxy")).assign(label=y)
    frame.to_csv("a.csv", index=False)
    asked = ("--model", "mixed", "--train", "correction=bic", "-k", "all", "-q", "-o", "out")
    kinds = [each for name in "uvwxy" for each in ("--read", f"kind={name}=categorical")]
    assert "of the 5 chosen features have a gain below 0" in told("select", "a.csv", *kinds, *asked)


def test_results_of_queries_are_long_tables():
    _, counts, rows = counted()
    expected, names = ClassCounts.from_long(counts, rows=rows)
    con = sqlite3.connect(":memory:")
    counts.to_sql("counts", con, index=False)
    rows.to_sql("nrows", con, index=False)
    results = [(con.execute("SELECT * FROM counts"), con.execute("SELECT * FROM nrows"))]
    duckdb = pytest.importorskip("duckdb")
    base = duckdb.connect()
    base.register("counts", pa.Table.from_pandas(counts))
    base.register("nrows", pa.Table.from_pandas(rows))
    results += [(base.sql("SELECT * FROM counts"), base.sql("SELECT * FROM nrows"))]
    results += [(base.cursor().execute("SELECT * FROM counts"), rows)]
    results += [(pa.Table.from_pandas(counts).to_reader(), rows)]
    for frame, of_classes in results:
        found, own = ClassCounts.from_long(frame, rows=of_classes)
        assert found.equals(expected)
        assert own.tolist() == names.tolist()


# Halves, quotas and classes without a feature ----------------------------------------------------


def test_few_rows_are_halved_one_by_one():
    frame, labels = numbers(60, 12)
    frame.assign(label=labels).to_csv("few.csv", index=False)
    asked = ("--read", "numbers", "--model", "poisson", "-k", 3, "--test", 0, "--judge")
    run("select", "few.csv", *asked, "stability", "-o", "out", "-q")
    halves = selection_stability(SparsePoissonNB(), frame.to_numpy(), labels, ks=[3])
    shares = dict(zip(frame.columns, halves.times.toarray()[0] / 100, strict=True))
    assert len(summary_of()["features"]) == 3
    for row in summary_of()["features"]:
        assert row["stability"] == pytest.approx(shares[row["name"]])


def test_a_quota_may_be_judged_for_stability():
    rng = np.random.default_rng(1)
    y = np.arange(90) % 3
    X = rng.poisson(2, (90, 12))
    X[:, :3] += 3 * (y[:, None] == np.arange(3))
    frame = pd.DataFrame(X, columns=[f"g{j}" for j in range(12)])
    frame.assign(label=y).to_csv("three.csv", index=False)
    asked = ("--read", "numbers", "--model", "poisson", "-k", 6, "--test", 0, "--choose")
    run("select", "three.csv", *asked, "quota=1", "--judge", "stability", "-o", "out", "-q")
    model = SparsePoissonNB(quota=1)
    shares = selection_stability(model, X, y, ks=[6]).times.toarray()[0] / 100
    for row in summary_of()["features"]:
        assert row["stability"] == pytest.approx(shares[int(row["name"][1:])])


def test_classes_without_a_feature_are_told():
    y = np.arange(90) % 3
    X = np.column_stack([5 * (y == 0), 4 * (y == 1), np.ones(90)]).astype(int)
    frame = pd.DataFrame(X, columns=["one", "two", "rest"]).assign(label=np.array(list("abc"))[y])
    frame.to_csv("three.csv", index=False)
    said = told("select", "three.csv", "--read", "numbers", "-k", 2, "-o", "out", "-q")
    assert "No feature speaks for c." in said


def test_markers_are_in_the_order_of_z():
    lines = [f"{'good fine' if i % 2 else 'bad poor'} w{i % 7} v{i % 3},{'pn'[i % 2]}"
             for i in range(90)]  # fmt: skip
    Path("w.csv").write_text("text,label\n" + "\n".join(lines))
    run("select", "w.csv", "--markers", 4, "-o", "out", "-q")
    found = pd.read_csv("out/markers.csv")
    for _, own in found.groupby("class"):
        assert (np.diff(own["z"]) <= 1e-12).all()


def test_names_of_features_stay_in_one_line(monkeypatch):
    monkeypatch.setenv("COLUMNS", "80")
    frame, labels = numbers(300, 4)
    frame.columns = [f"ENSG0000000{j}-a-rather-long-name" for j in range(4)]
    types = np.where(labels == "a", "adenocarcinoma of the lung", "healthy donor")
    frame.assign(label=types).to_csv("long.csv", index=False)
    asked = ("--read", "numbers", "--model", "poisson", "--judge", "stability", "-o", "out", "-q")
    said = run("select", "long.csv", *asked).output
    for name in frame.columns:
        assert name in said


def test_the_surest_mistakes_show_how_they_begin():
    rows = [
        (f"{'good fine' if i % 2 else 'bad poor'} item {i % 5}", "np"[i % 2]) for i in range(80)
    ]
    rows[7] = ("bad poor bad poor wrongly labelled", "p")
    test = [*rows[:20], ("bad poor and a label that lies", "p")]
    for name, some in (("train.csv", rows), ("test.csv", test)):
        Path(name).write_text("text,label\n" + "\n".join(map(",".join, some)))
    run("select", "train.csv", "--test", "test.csv", "-o", "out", "-q")
    assert "bad poor and a label that lies" in [
        each["text"] for each in summary_of()["evaluation"]["misled"]
    ]  # fmt: skip
    page = Path("out/report.html").read_text()
    assert "a label that lies" in page
    assert "<strong>not asked" not in page


# AnnData ------------------------------------------------------------------------------------------


def cells(n=60):
    """Cells whose depth says nothing of their type, and is a column of `obs`."""
    anndata = pytest.importorskip("anndata")
    rng = np.random.default_rng(3)
    depth = rng.integers(1, 9, n)
    y = np.arange(n) % 2
    X = rng.poisson(depth[:, None] * np.where(y[:, None] == 1, [3, 1, 1, 1], [1, 1, 1, 1]))
    obs = pd.DataFrame({"total_counts": 10.0 * depth, "type": np.array(["a", "b"])[y]})
    obs.index = [f"c{i}" for i in range(n)]
    return anndata.AnnData(sp.csr_array(X.astype(float)), obs, pd.DataFrame(index=list("stuv")))


def test_the_exposure_may_be_a_column_of_obs():
    adata = cells()
    adata.write_h5ad("cells.h5ad")
    asked = ("--label", "type", "--model", "poisson", "--test", 0, "-k", 2, "-q", "-o", "out")
    run("select", "cells.h5ad", "--read", "exposure=total_counts", *asked)
    e = adata.obs["total_counts"].to_numpy()
    model = SparsePoissonNB(k=2, exposure=4).fit(np.column_stack([adata.X.toarray(), e]),
                                                 adata.obs["type"].to_numpy())  # fmt: skip
    assert sorted(features_of()) == [list("stuv")[j] for j in np.flatnonzero(model.support_)]
    answers = run("predict", "out", "cells.h5ad", "-q").stdout.splitlines()[1:]
    expected = model.predict(np.column_stack([adata.X.toarray(), e]))
    assert [line.split(",")[1] for line in answers] == expected.tolist()
    lost = run("select", "cells.h5ad", "--read", "exposure=depth", *asked, status=2).stderr
    assert "`--read exposure` must be" in lost
    refused("select", "cells.h5ad", "--read", "exposure=type", *asked[:-1], "new", match="numbers")


def test_without_a_label_the_columns_are_listed():
    adata = cells()
    adata.obs["labels"] = adata.obs["type"]
    adata.write_h5ad("cells.h5ad")
    said = run("select", "cells.h5ad", "-o", "out", status=2).stderr
    assert "it has `labels`, `total_counts`, `type`" in said
    assert "did you mean" not in said


@pytest.mark.parametrize("seed", range(3))
def test_a_quota_that_the_told_weights_miss_is_told(seed):
    rng = np.random.default_rng(seed)
    y = rng.integers(0, 4, 120)
    X = rng.poisson(rng.gamma(1, 1, (4, 15))[y])
    frame = pd.DataFrame(X, columns=[f"g{j}" for j in range(15)]).assign(label=y)
    frame.to_csv("four.csv", index=False)
    asked = ("--read", "numbers", "-k", 8, "--choose", "quota=even", "-o", "out", "-q")
    said = told("select", "four.csv", *asked)
    spoken = pd.read_csv("out/features.csv")["class"].value_counts()
    few = [str(c) for c in range(4) if spoken.get(c, 0) < 2]
    assert ("fewer speak for" in said) == bool(few)
    for c in few:
        assert f"{c} ({spoken.get(int(c), 0)})" in said


def test_a_share_that_equal_rows_make_larger_is_told():
    rng = np.random.default_rng(0)
    words = np.array([f"w{i}" for i in range(40)])
    rows = [{"text": " ".join(rng.choice(words, 12)), "label": "pq"[i % 2]} for i in range(1000)]
    pd.DataFrame(rows).to_json("plain.jsonl", orient="records", lines=True)
    empty = [{"text": "", "label": "pq"[i % 2]} for i in range(600)]
    pd.DataFrame(rows + empty).to_json("empty.jsonl", orient="records", lines=True)
    for name, told in (("plain", 0), ("empty", 1)):
        run("select", f"{name}.jsonl", "-k", 5, "--quick", "--judge", "seed=1", "-o", name, "-q")
        summary = summary_of(name)
        notes = [each for each in summary["notes"] if "were held out, where 20 %" in each]
        assert len(notes) == told
    share = summary["evaluation"]["test_rows"] / 1600
    assert notes[0].startswith(f"{100 * share:.0f} % of the rows")


# Groups of rows are never parted ------------------------------------------------------------------


def donors(n=30):
    """Rows of two donors: `u` tells the classes of the first, with more rows, `v` of the other."""
    rng = np.random.default_rng(0)
    donor, y = np.repeat(["one", "two"], [3 * n, n]), np.tile(["a", "b"], 2 * n)
    frame = pd.DataFrame(rng.normal(0, 0.1, (4 * n, 3)), columns=["u", "v", "w"])
    for name, of in (("u", "one"), ("v", "two")):
        frame.loc[(donor == of) & (y == "b"), name] += 1
    return frame.assign(label=y, donor=donor)


@pytest.mark.parametrize("n", [30, 90], ids=["few rows", "many"])
def test_halves_keep_groups_of_rows_together(n):
    """So each half is one donor, and selects the feature of that donor, whatever the seed."""
    donors(n).to_csv("a.csv", index=False)
    asked = ("--model", "gaussian", "-k", 1, "--judge", "stability", "--test", 0, "-q", "-o", "out")
    run("select", "a.csv", "--read", "groups=donor", *asked)
    assert summary_of()["features"][0]["stability"] == 0.5
    run("select", "a.csv", "--read", "ignore=donor", *asked)
    assert summary_of()["features"][0]["stability"] > 0.9


def test_many_groups_are_kept_together_too():
    """Of 300 groups, each a row 3 times, halves select on distinct rows, not on copies."""
    rng = np.random.default_rng(1)
    frame = pd.DataFrame(rng.normal(size=(300, 40)), columns=[f"g{j}" for j in range(40)])
    frame = frame.assign(label=rng.permutation(["a", "b"] * 150), donor=range(300))
    copies = pd.concat([frame] * 3, ignore_index=True)
    frame.to_csv("once.csv", index=False)
    copies.to_csv("copies.csv", index=False)
    asked = ("--model", "gaussian", "-k", 5, "--judge", "stability", "-q", "--test", 0, "-o", "out")

    def mean(*arguments):
        run("select", *arguments, *asked)
        return np.mean([row["stability"] for row in summary_of()["features"]])

    once = mean("once.csv", "--read", "ignore=donor")
    grouped = mean("copies.csv", "--read", "groups=donor")
    parted = mean("copies.csv", "--read", "ignore=donor")
    assert abs(grouped - once) < 0.1
    assert parted > grouped + 0.15


@pytest.mark.parametrize("model", ["gaussian", "mixed"])
def test_the_penalty_of_a_refit_is_chosen_on_folds_of_groups(model):
    """Copies of noise in other folds would be learned by heart: weak penalty, large weights."""
    rng = np.random.default_rng(2)
    frame = pd.DataFrame(rng.normal(size=(40, 12)), columns=[f"g{j}" for j in range(12)])
    frame = frame.assign(label=rng.permutation(["a", "b"] * 20), donor=[f"d{i}" for i in range(40)])
    pd.concat([frame] * 4, ignore_index=True).to_csv("a.csv", index=False)
    asked = ("--model", model, "-k", "all", "--train", "refit=logistic", "--test", 0, "-q")

    def largest(*arguments):
        run("select", "a.csv", *arguments, *asked, "-o", "out")
        own = load("out")
        scores = own.decision_function(frame.drop(columns=["label", "donor"]))
        return np.abs(scores).max()

    assert largest("--read", "groups=donor") < 0.5 * largest("--read", "ignore=donor")


# One number -------------------------------------------------------------------------------------


@pytest.mark.parametrize("model", ["poisson", "categorical"])
def test_the_weight_of_two_classes_is_the_same_everywhere(model):
    X, y = matrices()
    saved("a.npz", X, y)
    said = run("select", "a.npz", "--model", model, "-k", 1, "-q", "-o", "out").output
    with open("out/features.csv", encoding="utf-8", newline="") as file:
        (row,) = csv.DictReader(file)
    largest = float(row[f"weight:{row['class']}"])
    shown = -largest if row["class"] == "a" else largest
    line = next(line for line in said.splitlines() if line.startswith("1  "))
    assert f"{shown:+.2f}" in line.split()
    if model == "poisson":
        weights = load("out").rule_.weights[:, 0]
        assert shown == pytest.approx(weights[1] - weights[0], rel=1e-6)


# What cannot be, and what to do instead --------------------------------------------------------


def test_records_and_files_are_added_to_one_record():
    for name, seed in (("a.csv", 0), ("b.csv", 1)):
        frame, labels = numbers(seed=seed)
        frame.assign(label=labels).to_csv(name, index=False)
    asked = ("--read", "numbers", "-q")
    run("count", "a.csv", *asked, "-o", "a.stats.npz")
    run("count", "a.stats.npz", "b.csv", *asked, "-o", "both.npz")
    run("count", "a.csv", "b.csv", *asked, "-o", "once.npz")
    for record in ("both", "once"):
        run("select", f"{record}.npz", "-k", 2, "-q", "-o", record)
    assert Path("both/features.csv").read_bytes() == Path("once/features.csv").read_bytes()


def test_a_model_of_counts_from_a_database_says_where_it_answers():
    _, counts, rows = counted()
    counts.to_csv("counts.csv", index=False)
    rows.to_csv("rows.csv", index=False)
    run("select", "counts.csv", "--read", "class-rows=rows.csv", "-q", "-o", "out")
    Path("t.jsonl").write_text('{"text": ["good", "film"]}\n')
    Path("t.csv").write_text("text\ngood film\n")
    for name in ("t.jsonl", "t.csv"):
        refused("predict", "out", name, match="naively.export(MODEL, 'sql', layout='words')")
    assert "SELECT" in export("out", "sql", layout="words")


@pytest.mark.parametrize(
    ("asked", "said"),
    [
        (("--test", "20%"), "'20%' is not a share of the rows in [0, 1), such as 0.2"),
        (("--words", "stop-words=de"), "no file 'de'. Did you mean 'german'?"),
        (("--words", "stop-words=qq"), "Languages: afrikaans, arabic,"),
    ],
)
def test_what_is_allowed_is_said(asked, said):
    words_table()
    refused("select", "words.csv", *asked, match=said)


def test_a_function_of_python_is_no_command():
    refused("export", match="it is a function in Python: naively.export.")


def test_an_empty_cell_of_counts_is_named():
    _, counts, rows = counted()
    rows.to_csv("rows.csv", index=False)
    counts.assign(count=[*map(str, counts["count"][:-1]), ""]).to_csv("counts.csv", index=False)
    said = f"`count` must hold a number in every row; row {len(counts)} has none"
    refused("select", "counts.csv", "--read", "class-rows=rows.csv", match=said)


def test_spark_that_is_not_installed_is_told(monkeypatch):
    words_table()
    for name in ("pyspark", "pyspark.sql"):
        monkeypatch.setitem(sys.modules, name, None)
    refused("select", "words.csv", "--on", "spark", match="pip install 'naively[spark]'")


def test_parameters_of_other_searches_are_refused():
    X, y = matrices()
    for name in ("plus", "minus", "max_nodes"):
        alone = "branch_and_bound" if name == "max_nodes" else "plus_l_minus_r"
        for strategy in ("forward", "best_individual", "plus_l_minus_r", "branch_and_bound"):
            given = {name: 500 if name == "max_nodes" else 3}
            model = ErrorSearchSelector(k=2, strategy=strategy, **given)
            if strategy == alone:
                model.fit(X, y)
            else:
                with pytest.raises(ValueError, match=f"`{name}` has no effect with `strategy`="):
                    model.fit(X, y)
    for given in ({"max_nodes": 5}, {"time_limit": 3}):
        (name,) = given
        said = f"`{name}` has no effect without `exact`=True"
        with pytest.raises(ValueError, match=said):
            SparseMultinomialNB(k=2, **given).fit(X, y)
        with pytest.raises(ValueError, match=said):
            Pairs(**given)
        SparseMultinomialNB(k=2, exact=True, **given).fit(X, y)


@pytest.mark.parametrize("n", [60, 300], ids=["few rows", "many"])
def test_pairs_are_selected_on_halves_too(n):
    """Of two classes with one spread, both objectives are the distance of the means."""
    rng = np.random.default_rng(3)
    y = np.array(["a", "b"] * (n // 2))
    X = rng.normal(size=(n, 8)) + (y == "b")[:, None] * np.linspace(0, 0.6, 8)
    pd.DataFrame(X, columns=[f"g{j}" for j in range(8)]).assign(label=y).to_csv(
        "a.csv", index=False
    )
    asked = ("--model", "l2-centers", "--train", "scale=std", "-k", 3, "--test", 0, "-q")
    found = {}
    for objective in ("likelihood", "pairs"):
        more = ("--choose", f"objective={objective}", "--judge", "stability", "-o", objective)
        run("select", "a.csv", *asked, *more)
        rows = summary_of(objective)["features"]
        found[objective] = {row["name"]: row["stability"] for row in rows}
    assert found["pairs"] == found["likelihood"]
    assert 0 < min(found["pairs"].values()) < 1


def test_halves_are_advised_where_they_can_be_asked_for():
    words_table()
    for asked, advised in (((), True), (("--choose", "redundancy=conditional"), False)):
        run("select", "words.csv", *asked, "-k", 2, "-q", "-o", "out")
        page = Path("out/report.html").read_text("utf-8")
        assert ("<code>--judge stability</code> tells" in page) == advised


def test_weights_may_have_decimal_commas():
    rows = [("good film", "p", "1,5"), ("bad film", "n", "2,25")] * 10
    frame = pd.DataFrame(rows, columns=["text", "label", "w"])
    frame.to_csv("commas.csv", index=False, sep=";")
    frame.assign(w=frame["w"].str.replace(",", ".")).to_csv("points.csv", index=False)
    for name in ("commas", "points"):
        run("select", f"{name}.csv", "--read", "weight=w", "--test", 0, "-q", "-o", name)
    assert Path("commas/features.csv").read_bytes() == Path("points/features.csv").read_bytes()
    frame.assign(w="1,000").to_csv("thousands.csv", index=False, sep=";")
    said = ("got '1,000'", "write decimals behind a point, and thousands without a comma")
    refused("select", "thousands.csv", "--read", "weight=w", match=said)


def test_ties_go_to_the_first_class():
    """As in scikit-learn; classes are in the order of their labels."""
    X, y = np.array([[2, 0], [0, 2]]), np.array(["a", "b"])
    for name in ("a", "z"):
        model = SparsePoissonNB(k=2).fit(X, np.where(y == "a", name, y))
        scores = model.predict_proba([[1, 1]])
        assert scores[0, 0] == pytest.approx(scores[0, 1])
        assert model.predict([[1, 1]]).tolist() == [min(name, "b")]


def test_columns_counted_as_present_are_told_where_another_model_is_trained():
    frame, labels = numbers()
    frame.assign(label=labels).to_csv("a.csv", index=False)
    run("count", "a.csv", "--read", "numbers", "--model", "bernoulli", "-o", "r.npz")
    said = "which --model bernoulli is made for"
    assert said in told("select", "r.npz", "-k", 1, "-o", "one")
    assert said not in told("select", "r.npz", "-k", 1, "--model", "bernoulli", "-o", "two")


def test_a_table_of_counts_is_for_select():
    Path("c.csv").write_text("feature,label,count\na,x,5\na,y,3\n")
    refused("count", "c.csv", "-o", "r.npz", match="is for `naively select --read class-rows=FILE`")


def test_halves_of_medians_name_the_model_that_has_them():
    frame, labels = numbers()
    frame.assign(label=labels).to_csv("a.csv", index=False)
    asked = ["a.csv", "--read", "numbers", "--model", "l1-centers", "-k", 1, "--judge", "stability"]
    refused("select", *asked, match="or take --model l2-centers")


@pytest.mark.parametrize("out", ["a.npz", "b.npz"])
def test_what_is_counted_is_not_written_over(out):
    X, labels = numbers()
    for name in ("a.npz", "b.npz"):
        np.savez(name, X=X.to_numpy(), y=labels)
    before = [Path(name).read_bytes() for name in ("a.npz", "b.npz")]
    refused(
        "count", "a.npz", "b.npz", "-o", out, match=f"{out}: it is also counted; choose another"
    )
    assert [Path(name).read_bytes() for name in ("a.npz", "b.npz")] == before


def test_many_classes_of_categories_stay_on_the_screen():
    y = np.arange(60) % 6
    pd.DataFrame({"p": y, "q": y % 2, "r": 0, "label": [f"c{each}" for each in y]}).to_csv(
        "a.csv", index=False
    )
    how = ["--read", "numbers", "--model", "categorical", "-k", 2, "--test", 0]
    said = told("select", "a.csv", *how)
    assert "2 of 3 features" in said
    assert features_of("result") == ["p", "q"]


def test_rows_of_a_rare_class_are_in_both_halves():
    rng = np.random.default_rng(0)
    label = np.array(["a", "b"] * 150)
    label[[5, 100, 150, 222]] = "rare"
    X = rng.poisson(1 + 4 * (label[:, None] == ["a", "b", "rare"]))
    pd.DataFrame(X, columns=[*"xyz"]).assign(label=label).to_csv("a.csv", index=False)
    run("select", "a.csv", "--read", "numbers", "-k", 2, "--test", 0, "--judge", "stability")
    assert len(features_of("result")) == 2


@pytest.mark.parametrize("model", [SparseGaussianNB, SparseL1Centers, SparseL2Centers])
@pytest.mark.parametrize("unit", [0.5, 1 / 16])
def test_rows_of_training_are_never_told_of(model, unit):
    rng = np.random.default_rng(1)
    y = np.arange(60) % 3
    X = unit * rng.poisson(4 + 3 * (y[:, None] == np.arange(8) % 3))
    for k in range(1, 9):
        fitted = model(k=k).fit(X, y)
        fitted.predict(X)  # warnings are errors
        for row in X[:20]:
            fitted.predict(row[None])


def test_rows_of_classes_that_are_none_or_too_many():
    Path("c.csv").write_text("feature,label,count\nu,a,5\nv,b,3\n")
    Path("rows.csv").write_text("label,rows\na,0\nb,9\n")
    how = ["c.csv", "--read", "class-rows=rows.csv", "-k", 1]
    refused("select", *how, match="hold one class only (b)")
    Path("rows.csv").write_text("label,rows\na,1e300\nb,9\n")
    refused("select", *how, "-o", "other", match="must be below 2**53")


# Another choice than the tested one ---------------------------------------------------------------


def test_a_written_model_that_does_worse_than_the_tested_is_told():
    said = {}
    for seed in (0, 3):
        rng = np.random.default_rng(seed)
        y = rng.integers(0, 2, 60)
        X = rng.normal(size=(60, 6))
        X[:, :2] += 2 * y[:, None]
        X[:, 5] = rng.normal(size=60) * rng.choice([1, 40], 60, p=[0.7, 0.3])  # tells nothing
        frame = pd.DataFrame(X, columns=list("abcdef"))
        found = select(frame, label=np.array(["p", "q"])[y], k=2, model="l2-centers")
        said[seed] = [note for note in found.summary.notes if "chose anew" in note]
        assert (found.summary.evaluation.shared_features == 2) == (seed == 0)
    assert not said[0]
    assert "right on 69.2% of the test rows" in said[3][0]
    assert "tested on 100.0%" in said[3][0]
