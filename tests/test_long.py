"""Counts that were taken elsewhere: what GROUP BY gives trains what the rows train."""

import csv
import json
import sqlite3
from contextlib import closing
from decimal import Decimal

import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pytest
from click.testing import CliRunner
from hypothesis import given, strategies as st
from pyarrow import parquet

from naively import (
    ClassCounts,
    SparseBernoulliNB,
    SparseMultinomialNB,
    expected_error,
    markers,
)
from naively.cli.commands import naively

OCCURRENCES = """
    SELECT d.label AS label, w.word AS feature, SUM(w.n) AS count, COUNT(*) AS documents
    FROM documents d JOIN words w ON w.document = d.id
    GROUP BY d.label, w.word
"""
ROWS = "SELECT label, COUNT(*) AS rows FROM documents GROUP BY label"


def a_database(X, y, words):
    """Rows as a database has them: one of documents, one of the words that they hold."""
    base = sqlite3.connect(":memory:")
    base.execute("CREATE TABLE documents (id INTEGER, label TEXT)")
    base.execute("CREATE TABLE words (document INTEGER, word TEXT, n INTEGER)")
    base.executemany("INSERT INTO documents VALUES (?, ?)", enumerate(y))
    held = [(int(i), words[j], int(X[i, j])) for i, j in zip(*np.nonzero(X), strict=True)]
    base.executemany("INSERT INTO words VALUES (?, ?, ?)", held)
    base.row_factory = sqlite3.Row
    return base


def some_rows(seed=0, n=60, m=9):
    rng = np.random.default_rng(seed)
    y = np.array(["ham", "spam", "tofu"])[rng.integers(0, 3, n)]
    X = rng.poisson(rng.gamma(0.5, 2, (3, m))[np.searchsorted(["ham", "spam", "tofu"], y)])
    X[:, 0] = np.maximum(X[:, 0], 1)  # every word is somewhere
    X[0] = 1
    X[3] = 0  # and some row is empty
    return X, y, np.array([f"w{j}" for j in range(m)])


@given(seed=st.integers(0, 200))
def test_what_a_database_counts_is_what_is_counted_of_the_rows(seed):
    X, y, words = some_rows(seed)
    with closing(a_database(X, y, words)) as base:
        counts, names = ClassCounts.from_long(
            base.execute(OCCURRENCES), rows=base.execute(ROWS), documents="documents"
        )
    of_rows = ClassCounts.from_matrix(X, y, documents=True)
    assert names.tolist() == words.tolist()
    assert counts.classes.tolist() == of_rows.classes.tolist()
    for name in ("table", "class_rows", "class_weight", "documents"):
        ours, theirs = getattr(counts, name), getattr(of_rows, name)
        assert ours.dtype.kind == theirs.dtype.kind
        assert np.array_equal(ours, theirs)
    model = SparseMultinomialNB.from_statistics(counts, k=4, feature_names=names)
    fitted = SparseMultinomialNB(k=4).fit(X, y)
    assert np.array_equal(model.rule_.weights, fitted.rule_.weights)
    assert np.array_equal(model.intercept_, fitted.intercept_)


def test_presence_is_counted_by_rows():
    X, y, words = some_rows()
    query = OCCURRENCES.replace("SUM(w.n)", "COUNT(DISTINCT d.id)")
    with closing(a_database(X, y, words)) as base:
        counts, _ = ClassCounts.from_long(
            base.execute(query), rows=base.execute(ROWS), presence=True
        )
    model, fitted = SparseBernoulliNB.from_statistics(counts, k=4), SparseBernoulliNB(k=4)
    assert np.array_equal(model.predict_proba(X), fitted.fit(X, y).predict_proba(X))
    shares = markers(model).share_in
    assert np.array_equal(shares, markers(fitted).share_in)


def test_other_databases_count_alike():
    duckdb = pytest.importorskip("duckdb")
    X, y, words = some_rows()
    base = duckdb.connect()
    documents = pd.DataFrame({"id": np.arange(len(y)), "label": y})
    i, j = np.nonzero(X)
    held = pd.DataFrame({"document": i, "word": words[j], "n": X[i, j]})
    base.register("documents", documents)
    base.register("words", held)
    tables = [base.sql(query) for query in (OCCURRENCES, ROWS)]
    arrow = [each.to_arrow_table() for each in tables]  # where a sum is a decimal of 38 digits
    for long, rows in (arrow, [each.df() for each in tables]):
        counts, names = ClassCounts.from_long(long, rows=rows, documents="documents")
        assert names.tolist() == words.tolist()
        assert np.array_equal(counts.table, ClassCounts.from_matrix(X, y).table)
        assert counts.table.dtype == np.int64


LONG = {"word": ["b", "a", "b"], "of": ["x", "x", "y"], "n": [2, 1, 5]}
TABLES = {
    "mapping of columns": LONG,
    "pandas": pd.DataFrame(LONG),
    "pandas, nullable": pd.DataFrame(LONG).convert_dtypes(),
    "pandas, categorical": pd.DataFrame(LONG).astype({"word": "category", "of": "category"}),
    "pandas, Arrow": pd.DataFrame(LONG).convert_dtypes(dtype_backend="pyarrow"),
    "polars": pl.DataFrame(LONG),
    "Arrow": pa.table(LONG),
    "Arrow, dictionaries": pa.table(
        {name: pa.array(v).dictionary_encode() if name == "of" else v for name, v in LONG.items()}
    ),
    "list of dicts": pd.DataFrame(LONG).to_dict("records"),
    "decimals": LONG | {"n": [Decimal(2), Decimal(1), Decimal(5)]},  # sums of databases
    "whole real numbers": LONG | {"n": [2.0, 1.0, 5.0]},
    "arrays": {name: np.array(values) for name, values in LONG.items()},
}


@pytest.mark.parametrize("table", TABLES.values(), ids=TABLES)
@pytest.mark.parametrize(
    "rows",
    [
        {"x": 3, "y": 4},
        pd.DataFrame({"of": ["y", "x"], "n": [4, 3]}),
        {"of": ["y", "x"], "n": [4, 3]},
        [{"of": "y", "n": 4}, {"of": "x", "n": 3}],
    ],
    ids=["mapping", "frame", "columns", "dicts"],
)
def test_any_container_will_do(table, rows):
    counts, names = ClassCounts.from_long(table, feature="word", label="of", count="n", rows=rows)
    assert names.tolist() == ["a", "b"]
    assert counts.classes.tolist() == ["x", "y"]
    assert counts.table.tolist() == [[1, 0], [2, 5]]
    assert counts.table.dtype == np.int64
    assert counts.class_rows.tolist() == [3, 4]


@pytest.mark.parametrize("suffix", ["csv", "tsv", "parquet"])
def test_files_are_read(tmp_path, suffix):
    path, rows = tmp_path / f"long.{suffix}", tmp_path / f"rows.{suffix}"
    for frame, file in ((LONG, path), ({"of": ["x", "y"], "k": [3, 4]}, rows)):
        if suffix == "parquet":
            parquet.write_table(pa.table(frame), file)
        else:
            pd.DataFrame(frame).to_csv(file, index=False, sep="\t" if suffix == "tsv" else ",")
    counts, _ = ClassCounts.from_long(path, feature="word", label="of", count="n", rows=str(rows))
    assert counts.table.tolist() == [[1, 0], [2, 5]]


def test_labels_and_features_of_numbers_and_real_counts_stay_what_they_are():
    table = {"feature": [7, 2], "label": [1, 0], "count": [0.5, 2]}
    counts, names = ClassCounts.from_long(table, rows={0: 1, 1: 1})
    assert (names.tolist(), counts.classes.tolist()) == ([2, 7], [0, 1])
    assert counts.table.tolist() == [[2, 0], [0, 0.5]]


ROW = {"feature": "a", "label": "x", "count": 1}
OTHER = {"feature": "b", "label": "y", "count": 1}
BAD = {
    "repeated pair": ([ROW, OTHER, ROW], {}, "feature='a', label='x' is in rows 1 and 3"),
    "negative": (
        [ROW | {"count": -2}],
        {},
        "`count` must be finite.*got -2 in row 1",
    ),
    "no number": ([ROW | {"count": "many"}], {}, "`count` must hold a number in every row"),
    "missing count": ([ROW, OTHER | {"count": float("nan")}], {}, "`count` must be finite.*row 2"),
    "no feature": ([OTHER, ROW | {"feature": None}], {}, "`feature` contains NaN or None"),
    "empty feature": ([OTHER, ROW | {"feature": ""}], {}, "`feature` must name something.*row 2"),
    "unknown class": ([ROW | {"label": "z"}], {}, "`rows` must have every class.*lacks 'z'"),
    "no column": ([{"word": "a", "label": "x", "count": 1}], {}, "has no column 'feature'"),
    "no rows": ([ROW], {"rows": None}, "`rows` must be the number of rows of each class"),
    "one number": ([ROW], {"rows": 7}, "`rows` must be the number of rows of each class"),
    "rows without end": ([ROW], {"rows": {"x": np.inf}}, "`rows` must be finite numbers >= 0"),
    "negative rows": ([ROW], {"rows": {"x": -1}}, "`rows` must be finite numbers >= 0"),
    "a class twice": (
        [ROW],
        {"rows": [{"label": "x", "n": 1}, {"label": "x", "n": 2}]},
        "each class once; 'x'",
    ),
    "columns of rows": ([ROW], {"rows": [ROW]}, "`rows` must have two columns"),
    "more rows than there are": (
        [ROW | {"count": 4}, OTHER],
        {"presence": True},
        "`count` must be rows.*got 4 for 'a' in 'x', which has 3 rows",
    ),
    "more documents than rows": (
        [ROW | {"held": 9}, OTHER | {"held": 1}],
        {"documents": "held"},
        "`held` must be rows that have the feature",
    ),
    "documents of presence": (
        [ROW],
        {"documents": "count", "presence": True},
        "`documents` must be None",
    ),
    "nothing counted": ([], {}, "`frame` must hold a row for each pair"),
    "a header alone": ({name: [] for name in ROW}, {}, "`frame` must hold a row for each pair"),
    "another file": ("counts.xlsx", {}, "`frame` must be a .csv, .tsv or .parquet file"),
    "no file": ("not_there.csv", {}, "not_there.csv: No such file"),
    "nothing of the kind": (7, {}, "`frame` must be a data frame"),
}


@pytest.mark.parametrize("case", BAD)
def test_what_cannot_be_counts_is_refused(case, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    frame, more, message = BAD[case]
    with pytest.raises(ValueError, match=message):
        ClassCounts.from_long(frame, **({"rows": {"x": 3, "y": 3}} | more))


def test_a_line_with_a_field_too_many_is_named(tmp_path):
    path = tmp_path / "long.csv"
    path.write_text("feature,label,count\na,x,1\nb,x,1,2\n")
    with pytest.raises(ValueError, match="line 3 has 4 fields, the header has 3"):
        ClassCounts.from_long(path, rows={"x": 1})


def test_row_totals_are_not_known_and_nothing_pretends_they_are():
    counts, _ = ClassCounts.from_long([ROW, OTHER], rows={"x": 3, "y": 3})
    model = SparseMultinomialNB.from_statistics(counts, k=2)
    with pytest.raises(ValueError, match="`length` must be given"):
        expected_error(model)
    assert 0 <= expected_error(model, length=3).error <= 1
    model.partial_fit([[1, 0]], ["x"])  # of which the totals are known, but not of all
    with pytest.raises(ValueError, match="`length` must be given"):
        expected_error(model)


def test_the_error_of_presence_needs_no_totals():
    X, y, words = some_rows()
    query = OCCURRENCES.replace("SUM(w.n)", "COUNT(*)")
    with closing(a_database(X, y, words)) as base:
        counts, _ = ClassCounts.from_long(
            base.execute(query), rows=base.execute(ROWS), presence=True
        )
    model, fitted = SparseBernoulliNB.from_statistics(counts, k=4), SparseBernoulliNB(k=4)
    assert expected_error(model).error == expected_error(fitted.fit(X, y)).error


def test_a_table_too_wide_to_be_dense_stays_sparse(monkeypatch):
    from naively.statistics import counts as module, sparse_table

    monkeypatch.setattr(sparse_table, "DENSE_CELLS", 10)
    monkeypatch.setattr(module, "DENSE_CELLS", 10)
    labels = ["uvwxyz"[i % 6] for i in range(40)]
    table = {"feature": np.arange(40), "label": labels, "count": np.ones(40, int)}
    rows = {f"{c}": 1 for c in "uvwxyz"}
    counts, _ = ClassCounts.from_long(table, rows=rows)
    assert isinstance(counts.table, sparse_table.SparseTable)
    assert counts.feature_totals().tolist() == [1] * 40


# The command -----------------------------------------------------------------------------------


def written(folder, X, y, words, presence=False):
    what = "COUNT(*)" if presence else "SUM(w.n)"
    with closing(a_database(X, y, words)) as base:
        for name, query in (("counts", OCCURRENCES.replace("SUM(w.n)", what)), ("rows", ROWS)):
            found = base.execute(query)
            with (folder / f"{name}.csv").open("w", newline="") as file:
                writer = csv.writer(file)
                writer.writerow([each[0] for each in found.description])
                writer.writerows(found)


def run(*arguments):
    return CliRunner().invoke(naively, [str(each) for each in arguments])


@pytest.mark.parametrize("model", ["multinomial", "bernoulli", "poisson"])
def test_the_command_trains_on_a_long_table_what_select_trains_on_the_rows(
    model, tmp_path, monkeypatch
):
    monkeypatch.chdir(tmp_path)
    X, y, words = some_rows()
    written(tmp_path, X, y, words, presence=model == "bernoulli")
    pd.DataFrame(X, columns=words).assign(label=y).to_csv("table.csv", index=False)
    asked = ["-k", 4, "--model", model, "-q", "--json"]
    result = run(
        "select",
        "counts.csv",
        "--read",
        "class-rows=rows.csv",
        "--out",
        "a",
        *asked,
    )
    assert result.exit_code == 0, result.output
    of_rows = run("select", "table.csv", "--read", "numbers", "--test", 0, "--out", "b", *asked)
    assert of_rows.exit_code == 0, of_rows.output
    features = [
        [each["name"] for each in json.loads(output)["features"]]
        for output in (result.output, of_rows.output)
    ]
    assert features[0] == features[1]
    for folder in "ab":  # and the model reads the same tables
        assert run("predict", f"{folder}/model.npz", "table.csv", "--out", f"{folder}.csv", "-q",
                   "--probabilities").exit_code == 0  # fmt: skip
    assert (tmp_path / "a.csv").read_bytes() == (tmp_path / "b.csv").read_bytes()


REFUSED = {
    "moments": (["--model", "gaussian"], "cannot be trained; choose one of multinomial"),
    "k": (["-k", "0"], ""),
    "auto": (["-k", "auto"], "cross-validates"),
    "text": (["--text", "body"], "--text has no effect on a table of counts"),
    "rows": (["--read", "class-rows=counts.csv"], "counts.csv must have two columns"),
}


@pytest.mark.parametrize("case", REFUSED)
def test_the_command_says_what_is_wrong(case, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    written(tmp_path, *some_rows())
    options, message = REFUSED[case]
    beside = [] if case == "rows" else ["--read", "class-rows=rows.csv"]
    result = run("select", "counts.csv", "-q", *beside, *options)
    if not message:
        assert result.exit_code == 0, result.output
        return
    assert result.exit_code == 2
    assert message in " ".join(result.output.split())
