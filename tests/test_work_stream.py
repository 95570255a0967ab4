"""Files of any kind, parts of any size, workers that die: always the statistics of all rows."""

import gzip
import io
import json
import os
import random
import signal
import subprocess
import sys
import time
import traceback
import zipfile

import joblib
import numpy as np
import pyarrow as pa
import pyarrow.csv
import pyarrow.parquet as pq
import pytest
import scipy.io
import scipy.sparse as sp
from sklearn.datasets import dump_svmlight_file

from naively import ClassCounts, SparseMultinomialNB
from naively.jobs.data import definition, names_of
from naively.jobs.settings import ModelSettings
from naively.judging.parting import LEFT_OUT, TEST, TRAIN, Parting
from naively.read import batch as limits, bytes as stored, jsonl
from naively.read.layout import Layout
from naively.read.parts import parts_of
from naively.text.counter import count_text
from naively.text.features import ColumnFeatures, TextFeatures, fingerprint
from naively.work.counters import MatrixCounter
from naively.work.records import (
    Record,
    load_record,
    merge,
    merge_stream,
    save_record,
)
from naively.work.stream import count_files, of_kinds, rows_by_kind, run_tasks, tasks_of

WORDS = ["red", "green", "blue", "näive", "Straße", "x1", "don't", "ok", "the", "THE"]


def make_texts(n, seed=0):
    rng = random.Random(seed)
    return [" ".join(rng.choices(WORDS, k=rng.randrange(8))) for _ in range(n)]


def make_labels(n, n_classes=3, seed=0):
    rng = random.Random(seed)
    return [f"class {rng.randrange(n_classes)}" for _ in range(n)]


TEXTS, LABELS = make_texts(300), make_labels(300)
LAYOUT = Layout(text=("text",))


def write_parquet(path, texts, labels, group=40):
    pq.write_table(pa.table({"text": texts, "label": labels}), path, row_group_size=group)


def write_csv(path, texts, labels):
    pa.csv.write_csv(pa.table({"label": labels, "text": texts}), path)


def write_jsonl(path, texts, labels, opened=open):
    with opened(path, "wt", encoding="utf-8") as file:
        for text, label in zip(texts, labels, strict=True):
            file.write(json.dumps({"text": text, "label": label}) + "\n")


def write_jsonl_gz(path, texts, labels):
    write_jsonl(path, texts, labels, gzip.open)


def same(record, expected_names, expected):
    assert record.names.equals(expected_names)
    assert record.statistics.equals(expected)


@pytest.fixture
def small_pieces(monkeypatch):
    """Parts, blocks and batches of a few rows."""
    monkeypatch.setattr(jsonl, "PART_BYTES", 1000)
    monkeypatch.setattr(stored, "BLOCK_BYTES", 300)
    monkeypatch.setattr(limits, "BATCH_ROWS", 17)


def test_a_task_for_each_processor(tmp_path, monkeypatch):
    monkeypatch.setenv("LOKY_MAX_CPU_COUNT", "2")
    for i in range(6):
        pq.write_table(pa.table({"text": [f"a{i}"], "label": ["x"]}), tmp_path / f"{i}.parquet")
    parts = parts_of(f"{tmp_path}/*.parquet", LAYOUT)
    cut = {n: len(tasks_of(parts, TextFeatures(), LAYOUT, n_jobs=n)) for n in (None, 2)}
    assert cut == {None: 1, 2: 2}
    every = tasks_of(parts, TextFeatures(), LAYOUT, n_jobs=-1)
    assert len(every) == joblib.effective_n_jobs(-1)


@pytest.mark.parametrize(
    ("name", "write"),
    [
        ("a.parquet", write_parquet),
        ("a.csv", write_csv),
        ("a.jsonl", write_jsonl),
        ("a.jsonl.gz", write_jsonl_gz),
    ],
)
@pytest.mark.parametrize("n_jobs", [1, 2, 7])
@pytest.mark.usefixtures("small_pieces")
def test_texts_from_any_table_in_any_number_of_tasks(tmp_path, name, write, n_jobs):
    write(tmp_path / name, TEXTS, LABELS)
    record = count_files(tmp_path / name, TextFeatures(ngram_range=(1, 2)), n_jobs=n_jobs)
    same(record, *count_text(TEXTS, LABELS, TextFeatures(ngram_range=(1, 2))))
    assert record.n_rows == sum(record.shards.values()) == 300


@pytest.mark.usefixtures("small_pieces")
def test_columns_of_tokens(tmp_path):
    tokens = [text.split() for text in TEXTS]
    features = TextFeatures(analyzer="tokens", ngram_range=(1, 2))
    layout = Layout(text=("text",), tokens=True)
    expected = count_text(tokens, LABELS, features)
    pq.write_table(pa.table({"text": tokens, "label": LABELS}), tmp_path / "a.parquet", 40)
    same(count_files(tmp_path / "a.parquet", features, layout, n_jobs=2), *expected)
    write_jsonl(tmp_path / "a.jsonl", tokens, LABELS)
    same(count_files(tmp_path / "a.jsonl", features, layout), *expected)


def test_several_columns_of_text_are_counted_together(tmp_path):
    titles = make_texts(300, 1)
    table = pa.table({"title": titles, "text": TEXTS, "label": LABELS})
    pq.write_table(table, tmp_path / "a.parquet", 40)
    record = count_files(tmp_path / "a.parquet", TextFeatures(), Layout(text=("title", "text")))
    both = [f"{title} {text}" for title, text in zip(titles, TEXTS, strict=True)]
    same(record, *count_text(both, LABELS))


def test_files_skewed_and_empty_give_the_same_as_one(tmp_path):
    bounds = [0, 1, 1, 250, 300]
    for i, (start, stop) in enumerate(zip(bounds[:-1], bounds[1:], strict=True)):
        write_parquet(tmp_path / f"{i}.parquet", TEXTS[start:stop], LABELS[start:stop])
    record = count_files(f"{tmp_path}/*.parquet", TextFeatures(weights="presence"), n_jobs=3)
    same(record, *count_text(TEXTS, LABELS, TextFeatures(weights="presence")))


@pytest.mark.parametrize("n_jobs", [1, 3])
@pytest.mark.usefixtures("small_pieces")
def test_kinds_of_rows_are_counted_in_one_pass_and_taken_apart(tmp_path, n_jobs):
    write_jsonl(tmp_path / "a.jsonl", TEXTS, LABELS)
    parting = Parting(share=0.25, n_folds=2)
    parts = parts_of(tmp_path / "a.jsonl", LAYOUT)
    tasks = tasks_of(parts, TextFeatures(), LAYOUT, parting=parting, n_jobs=n_jobs)
    marked = run_tasks(tasks, n_jobs)
    seen = [each for task in tasks for part in task.parts for each in rows_by_kind(task, part)]
    kinds = np.concatenate([each.kinds for each in seen])
    assert set(kinds.tolist()) == {TEST, TRAIN, TRAIN + 1}
    for chosen in ((TEST,), (TRAIN,), (TRAIN, TRAIN + 1), (TEST, TRAIN, TRAIN + 1)):
        rows = np.flatnonzero(np.isin(kinds, chosen))
        names, expected = count_text([TEXTS[i] for i in rows], [LABELS[i] for i in rows])
        found = of_kinds(marked.statistics, chosen)
        occurring = np.flatnonzero(found.table.sum(axis=1))
        assert marked.names.take(occurring).equals(names)
        assert found.take(occurring).equals(expected)


def test_rows_that_a_split_column_leaves_out_are_not_counted(tmp_path):
    split = [["train", "test", "dev"][i % 3] for i in range(300)]
    table = pa.table({"text": TEXTS, "label": LABELS, "part": split})
    pq.write_table(table, tmp_path / "a.parquet", 40)
    layout = Layout(text=("text",), split="part")
    parts = parts_of(tmp_path / "a.parquet", layout)
    (task,) = tasks_of(parts, TextFeatures(), layout, parting=Parting())
    assert run_tasks([task]).n_rows == 200
    seen = [each for part in parts for each in rows_by_kind(task, part)]
    assert np.concatenate([each.kinds for each in seen]).tolist() == [TRAIN, TEST, LEFT_OUT] * 100
    table = table.set_column(2, "part", pa.array(["train"] * 299 + ["maybe"]))
    pq.write_table(table, tmp_path / "b.parquet")
    (task,) = tasks_of(parts_of(tmp_path / "b.parquet", layout), TextFeatures(), layout)
    with pytest.raises(ValueError, match=r"b\.parquet: column `part` must hold train .* 'maybe'"):
        run_tasks([task])


# Numbers ---------------------------------------


def matrix(kind="int", n=120, m=50):
    rng = np.random.default_rng(0)
    X = sp.random_array((n, m), density=0.1, rng=rng, format="csr")
    X.data = rng.integers(1, 5, X.nnz).astype(float) if kind == "int" else rng.random(X.nnz)
    return (X.astype(np.int64) if kind == "int" else X), rng.integers(0, 3, n)


def write_svmlight(path, X, y):
    dump_svmlight_file(X, y, str(path), zero_based=False)


def write_npz(path, X, y):
    np.savez(
        path, data=X.data, indices=X.indices, indptr=X.indptr, shape=X.shape, format="csr", y=y
    )


def write_dense_npz(path, X, y):
    np.savez(path, X=X.toarray(), label=y)


def write_numbers(path, X, y, names=None):
    names = [f"gene {j}" for j in range(X.shape[1])] if names is None else names
    table = pa.table({**{name: X.toarray()[:, j] for j, name in enumerate(names)}, "label": y})
    (pq.write_table if path.suffix == ".parquet" else pa.csv.write_csv)(table, path)


def write_anndata(path, X, y):
    anndata = pytest.importorskip("anndata")
    import pandas as pd

    cells = pd.Index([f"cell {i}" for i in range(len(y))], dtype=object)
    genes = pd.Index([f"gene {j}" for j in range(X.shape[1])], dtype=object)
    obs = pd.DataFrame({"label": pd.Categorical(y.astype(str).astype(object))}, index=cells)
    anndata.AnnData(X, obs=obs, var=pd.DataFrame(index=genes)).write_h5ad(path)


def write_mtx(path, X, y):
    scipy.io.mmwrite(path, X)
    path.with_name("labels.txt").write_text("\n".join(map(str, y.tolist())))


MATRIX_FILES = [
    ("a.svm", write_svmlight),
    ("a.npz", write_npz),
    ("a.npz", write_dense_npz),
    ("a.parquet", write_numbers),
    ("a.csv", write_numbers),
    ("a.h5ad", write_anndata),
    ("a.mtx", write_mtx),
]


def counted(files, layout=None, **options):
    """Record of the numbers in files, defined by the first of them."""
    layout = Layout() if layout is None else layout
    parts = parts_of(files, layout)
    features, layout, columns = definition(None, parts, layout, ModelSettings("multinomial"))
    return count_files(files, features, layout, names=names_of(columns), **options)


@pytest.mark.filterwarnings(
    "ignore:.*infer_string",
    "ignore::FutureWarning",
    "ignore::UserWarning",  # of anndata itself
)
@pytest.mark.parametrize("kind", ["int", "real"])
@pytest.mark.parametrize(("name", "write"), MATRIX_FILES)
@pytest.mark.usefixtures("small_pieces")
def test_numbers_from_any_file(tmp_path, name, write, kind):
    X, y = matrix(kind)
    write(tmp_path / name, X, y)
    labels = str(tmp_path / "labels.txt") if write is write_mtx else None
    record = counted(tmp_path / name, Layout(labels_file=labels), n_jobs=2)
    expected = ClassCounts.from_matrix(X, y.astype("U1"), documents=True)
    assert record.statistics.classes.tolist() == ["0", "1", "2"]
    np.testing.assert_allclose(record.statistics.table, expected.table, rtol=1e-13)
    np.testing.assert_array_equal(record.statistics.class_rows, expected.class_rows)
    if kind == "int":
        assert record.statistics.equals(expected)


def test_column_names_are_part_of_the_definition(tmp_path):
    X, y = matrix()
    write_numbers(tmp_path / "a.parquet", X, y)
    record = counted(tmp_path / "a.parquet")
    assert list(record.names)[:2] == ["gene 0", "gene 1"]
    assert fingerprint(record.features) != fingerprint(ColumnFeatures(50))


@pytest.mark.parametrize("suffix", ["parquet", "csv"])
def test_columns_in_another_order_are_matched_by_name(tmp_path, suffix):
    X, y = matrix()
    order = np.random.default_rng(1).permutation(50)
    write_numbers(tmp_path / f"a.{suffix}", X[:70], y[:70])
    names = [f"gene {j}" for j in order]
    write_numbers(tmp_path / f"b.{suffix}", X[70:][:, order], y[70:], names)
    record = counted(f"{tmp_path}/*.{suffix}", n_jobs=2)
    assert record.statistics.equals(ClassCounts.from_matrix(X, y.astype("U1"), documents=True))
    write_numbers(tmp_path / f"b.{suffix}", X[70:, 1:], y[70:], [f"gene {j}" for j in range(1, 50)])
    with pytest.raises(ValueError, match=rf"b\.{suffix}: .* needs the column `gene 0`, which is"):
        counted(f"{tmp_path}/*.{suffix}")


def test_the_width_of_svmlight_is_that_of_all_files(tmp_path):
    X, y = matrix()
    X = sp.csr_array(np.where(np.arange(50) < np.repeat([[30], [50]], 60, axis=0), X.toarray(), 0))
    write_svmlight(tmp_path / "a.svm", X[:60], y[:60])
    write_svmlight(tmp_path / "b.svm", X[60:], y[60:])
    record = counted(f"{tmp_path}/*.svm", n_jobs=2)
    assert record.statistics.equals(ClassCounts.from_matrix(X, y.astype("U1"), documents=True))


def test_negative_counts_are_refused_with_their_place(tmp_path):
    np.savez(tmp_path / "a.npz", X=[[1, 0], [0, -2]], label=["x", "y"])
    with pytest.raises(ValueError, match=r"a\.npz: row 2: the value of column 2 is -2"):
        counted(tmp_path / "a.npz")


# Real numbers ---------------------------------------


def real_records(parts, resolution):
    X, y = matrix("real")
    features = ColumnFeatures(50, resolution=resolution)
    counters = []
    for i in range(parts):
        counter = MatrixCounter(features)
        counter.update(X[i::parts], y[i::parts])
        counters.append(Record(counter.result()[1], features, None, {str(i): 1}))
    return counters


def test_with_a_resolution_real_sums_are_the_same_in_any_order():
    expected = merge(real_records(1, 2.0**-30)).statistics
    assert expected.table.dtype == np.int64
    for n in (2, 7, 30):
        records = real_records(n, 2.0**-30)
        assert merge(records).statistics.equals(expected)
        assert merge(records[::-1]).statistics.equals(expected)
    X, y = matrix("real")
    exact = ClassCounts.from_matrix(X, y)
    found = merge(real_records(7, 2.0**-30)).in_units()
    np.testing.assert_allclose(found.table, exact.table, atol=120 * 2.0**-31)
    np.testing.assert_array_equal(found.length_weight.sum(axis=0), exact.class_weight)


def test_without_one_the_same_parts_in_the_same_order_give_the_same_bits():
    assert merge(real_records(7, None)).statistics.equals(merge(real_records(7, None)).statistics)
    np.testing.assert_allclose(
        merge(real_records(7, None)).statistics.table, merge(real_records(1, None)).statistics.table
    )


@pytest.mark.parametrize("value", [8.0, 8, np.uint64(2**63)])
def test_a_resolution_too_fine_for_the_values_is_refused(value):
    counter = MatrixCounter(ColumnFeatures(1, resolution=2.0**-60))
    with pytest.raises(ValueError, match=r"below 2\*\*62 times the resolution"):
        counter.update(np.array([[value]]), [0])


@pytest.mark.parametrize("resolution", [2.0**-30, 0.01, 0.3, 2.0, 10.0])
def test_whole_numbers_are_rounded_as_real_ones_are(resolution):
    whole = np.array([[1, 0, 7], [2, 10, 44], [3, 3, 3]])
    tables = []
    for X in (whole, whole.astype(np.float64), sp.csr_array(whole), whole.astype(np.uint8)):
        counter = MatrixCounter(ColumnFeatures(3, resolution=resolution))
        counter.update(X, [0, 1, 1])
        tables.append(counter.result()[1].table)
    multiples = [[round(value / resolution) for value in row] for row in whole.tolist()]
    expected = [[a, b + c] for a, b, c in zip(*multiples, strict=True)]
    assert all(table.tolist() == expected for table in tables)


@pytest.mark.parametrize("value", [-2.5, -2])
def test_with_a_resolution_a_negative_value_is_named_as_it_is(value):
    counter = MatrixCounter(ColumnFeatures(1, resolution=0.25))
    with pytest.raises(ValueError, match=f"{value} at row 0, column 0"):
        counter.update(np.array([[value]]), [0])


def test_whole_numbers_beyond_those_of_reals_stay_exact():
    counter = MatrixCounter(ColumnFeatures(1, resolution=0.5))
    counter.update(np.array([[2**53 + 1]]), [0])
    assert counter.result()[1].table.tolist() == [[2**54 + 2]]


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"resolution": 0.0}, "`resolution` must be a positive number; got 0.0"),
        ({"resolution": np.inf}, "`resolution` must be a positive number; got inf"),
        ({"threshold": np.nan}, "`threshold` must be a finite number; got nan"),
        ({"n_columns": -1}, "`n_columns` must be at least 0; got -1"),
    ],
)
def test_columns_that_mean_nothing_are_refused(options, message):
    with pytest.raises(ValueError, match=message):
        ColumnFeatures(**{"n_columns": 3, **options})


def test_sums_beyond_64_bits_are_refused():
    def record(name):
        counter = MatrixCounter(ColumnFeatures(1))
        counter.update(np.array([[2**62]]), [0])
        return Record(counter.result()[1], ColumnFeatures(1), None, {name: 1})

    with pytest.raises(ValueError, match="more than a 64-bit integer holds"):
        merge([record("a"), record("b")])


def test_a_stream_whose_sums_exceed_64_bits_is_refused():
    counter = MatrixCounter(ColumnFeatures(1))
    counter.update(np.array([[2**62]]), [0])
    with pytest.raises(ValueError, match="more than a 64-bit integer holds"):
        counter.update(np.array([[2**62]]), [0])
    counter = MatrixCounter(ColumnFeatures(2))
    counter.update(np.array([[0.0, 1e308]]), [0])
    with pytest.raises(ValueError, match="exceed the range of double precision"):
        counter.update(np.array([[0.0, 1e308]]), [0])


@pytest.mark.parametrize("dense_cells", [0, 1 << 27])
def test_counting_in_batches_with_new_labels_is_counting_at_once(dense_cells):
    X, y = matrix()
    y = np.sort(y)
    counter = MatrixCounter(ColumnFeatures(50), dense_cells=dense_cells)
    for i in range(0, 120, 11):
        counter.update(X[i : i + 11], y[i : i + 11])
    expected = ClassCounts.from_matrix(X, y)
    table = counter.result()[1].table
    np.testing.assert_array_equal(getattr(table, "toarray", lambda: table)(), expected.table)


# Records ---------------------------------------


def text_record(start, stop, shard, **options):
    features = TextFeatures(**options)
    vocabulary, counts = count_text(TEXTS[start:stop], LABELS[start:stop], features)
    return Record(counts, features, vocabulary, {shard: stop - start})


@pytest.mark.parametrize("dense_cells", [10, 1 << 27])
def test_a_record_survives_its_file(tmp_path, monkeypatch, dense_cells):
    monkeypatch.setattr("naively.text.counter.DENSE_CELLS", dense_cells)
    monkeypatch.setattr("naively.statistics.sparse_table.DENSE_CELLS", dense_cells)
    record = text_record(0, 40, "a")
    save_record(record, tmp_path / "a.npz")
    assert load_record(tmp_path / "a.npz").equals(record)
    first = (tmp_path / "a.npz").read_bytes()
    save_record(record, tmp_path / "a.npz")
    assert (tmp_path / "a.npz").read_bytes() == first
    assert os.listdir(tmp_path) == ["a.npz"]


@pytest.mark.parametrize("labels", [[0, 1], [True, False], ["ä", "b"], [2**40, -1]])
def test_labels_of_any_kind_survive_too(tmp_path, labels):
    features = ColumnFeatures(2)
    record = Record(ClassCounts.from_matrix(np.eye(2, dtype=int), labels), features)
    save_record(record, tmp_path / "a.npz")
    assert load_record(tmp_path / "a.npz").statistics.classes.tolist() == sorted(labels)


def test_merging_is_counting_everything():
    parts = [text_record(0, 1, "a"), text_record(1, 200, "b"), text_record(200, 300, "c")]
    merged = merge(parts)
    same(merged, *count_text(TEXTS, LABELS))
    assert merge([merge(parts[1:]), parts[0]]).equals(merged)
    assert merged.shards == {"a": 1, "b": 199, "c": 100}


def test_records_that_come_one_by_one_are_merged_in_pairs(monkeypatch):
    parts = [text_record(10 * i, 10 * i + 10, f"{i:02d}") for i in range(30)]
    most = []

    def counted(records):
        most.append(len(records))
        return merge(records)

    monkeypatch.setattr("naively.work.records.merge", counted)
    for n in (1, 2, 7, 30):
        assert merge_stream(iter(parts[:n])).equals(merge(parts[:n]))
    assert max(most) <= 5
    with pytest.raises(ValueError, match="at least one record"):
        merge_stream(iter([]))


def test_a_shard_in_two_records_is_refused():
    with pytest.raises(ValueError, match="counted once; 1 are in two records, such as 'a'"):
        merge([text_record(0, 10, "a"), text_record(0, 10, "a")])


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"lowercase": False}, "lowercase=True and lowercase=False"),
        ({"ngram_range": (1, 2)}, r"ngram_range=\(1, 1\) and ngram_range=\(1, 2\)"),
        ({"weights": "presence"}, "weights='counts' and weights='presence'"),
    ],
)
def test_other_definitions_are_refused(options, message):
    with pytest.raises(ValueError, match=message):
        merge([text_record(0, 10, "a"), text_record(10, 20, "b", **options)])


def test_a_damaged_file_is_named(tmp_path):
    path = tmp_path / "a.npz"
    save_record(text_record(0, 40, "a"), path)
    content = bytearray(path.read_bytes())
    content[len(content) // 2] ^= 1
    path.write_bytes(content)
    with pytest.raises(ValueError, match=r"a\.npz: this is no statistics file"):
        load_record(path)
    np.savez(path, x=1)
    with pytest.raises(ValueError, match=r"a\.npz: this is not a statistics file of naively"):
        load_record(path)


def test_every_damage_to_a_file_is_named(tmp_path):
    path, record = tmp_path / "a.npz", text_record(0, 40, "a")
    save_record(record, path)
    whole, rng = path.read_bytes(), random.Random(0)
    for length in (0, 10, len(whole) // 3, len(whole) - 1):
        path.write_bytes(whole[:length])
        with pytest.raises(ValueError, match=r"a\.npz: this is no statistics file"):
            load_record(path)
    for _ in range(300):
        content = bytearray(whole)
        start = rng.randrange(len(content))
        content[start : start + rng.randrange(9)] = rng.randbytes(rng.randrange(9))
        path.write_bytes(content)
        try:
            assert load_record(path).equals(record)  # no byte that matters
        except ValueError as error:
            assert "a.npz: this is no statistics file" in str(error)  # noqa: PT017
    with pytest.raises(ValueError, match=r"no\.npz: No such file or directory"):
        load_record(tmp_path / "no.npz")


def rewritten(path, **changes):
    """Write a record again, with other members and the checksums of these."""
    with zipfile.ZipFile(path) as archive:
        members = {name: archive.read(name) for name in archive.namelist()}
    with zipfile.ZipFile(path, "w") as archive:
        for name, content in members.items():
            change = changes.get(name.partition(".")[0])
            if change is not None and name.endswith(".json"):
                content = json.dumps({**json.loads(content), **change}).encode()
            elif change is not None:
                array = io.BytesIO()
                np.save(array, change(np.load(io.BytesIO(content))))
                content = array.getvalue()
            archive.writestr(name, content)


@pytest.mark.parametrize("dense_cells", [10, 1 << 27])
@pytest.mark.parametrize(
    "changes",
    [
        {"manifest": {"fingerprint": "0" * 64}},
        {"manifest": {"classes": ["b", "a", "c"]}},
        {"manifest": {"classes": ["a", "a", "a"]}},
        {"manifest": {"settings": {"presence": True, "threshold": 0.0}}},
        {"manifest": {"settings": {"deviations": True}}},
        {"manifest": {"shards": [1]}},
        {"manifest": {"shape": [3, 3]}},
        {"class_rows": lambda rows: -rows},
        {"class_weight": lambda rows: rows.astype(str)},
        {"name_starts": lambda starts: 2 * starts},
        {"name_starts": lambda starts: starts[::-1]},
        {"name_bytes": lambda content: content.astype(np.int64)},
        {"table": lambda table: -table, "table_values": lambda values: -values},
        {"table": lambda table: table[1:], "table_cells": lambda cells: cells[::-1]},
        {"table": lambda table: table.T, "table_cells": lambda cells: cells + 10**6},
    ],
)
def test_a_record_that_nobody_wrote_is_refused(tmp_path, monkeypatch, changes, dense_cells):
    monkeypatch.setattr("naively.text.counter.DENSE_CELLS", dense_cells)
    monkeypatch.setattr("naively.statistics.sparse_table.DENSE_CELLS", dense_cells)
    path, record = tmp_path / "a.npz", text_record(0, 40, "a")
    save_record(record, path)
    rewritten(path)
    assert load_record(path).equals(record)
    rewritten(path, **changes)
    with pytest.raises(ValueError, match=r"a\.npz: this is no statistics file"):
        load_record(path)


def test_objects_in_a_file_are_never_loaded(tmp_path):
    path = tmp_path / "a.npz"
    save_record(text_record(0, 40, "a"), path)
    np.save(tmp_path / "evil.npy", np.array([{}], dtype=object))
    with zipfile.ZipFile(path, "a") as archive:
        archive.write(tmp_path / "evil.npy", "evil.npy")
    with pytest.raises(ValueError, match="no statistics file"):
        load_record(path)


def test_the_same_file_under_two_names_is_refused(tmp_path):
    write_csv(tmp_path / "a.csv", TEXTS, LABELS)
    (tmp_path / "copy").mkdir()
    write_csv(tmp_path / "copy" / "a.csv", TEXTS, LABELS)
    with pytest.raises(ValueError, match="is the same data as"):
        count_files([tmp_path / "a.csv", tmp_path / "copy" / "a.csv"], TextFeatures())


def test_a_model_comes_out_of_a_record():
    record = merge([text_record(0, 200, "a"), text_record(200, 300, "b")])
    model = SparseMultinomialNB.from_statistics(
        record.in_units(), k=3, feature_names=record.names.names()
    )
    assert len(model.get_feature_names_out()) == 3


# What goes wrong ---------------------------------------


def test_a_poisoned_row_group_is_named(tmp_path):
    write_parquet(tmp_path / "a.parquet", TEXTS, LABELS, group=100)
    content = bytearray((tmp_path / "a.parquet").read_bytes())
    offset = pq.ParquetFile(tmp_path / "a.parquet").metadata.row_group(1).column(0).data_page_offset
    content[offset : offset + 40] = b"\xff" * 40
    (tmp_path / "b.parquet").write_bytes(content)
    with pytest.raises(ValueError, match=r"b\.parquet: "):
        count_files(tmp_path / "b.parquet", TextFeatures(), n_jobs=2)


def test_spark_hands_on_the_sentence_and_not_its_causes(tmp_path):
    from naively.work.spark import _explained

    np.savez(tmp_path / "a.npz", X=[[1.0, 2.0]], label=["x"])
    with pytest.raises(ValueError, match=r"a\.npz: X must have 3 columns") as raised:
        count_files(tmp_path / "a.npz", ColumnFeatures(3))
    told = "".join(traceback.format_exception(raised.value))  # as a virtual machine prints it
    with pytest.raises(ValueError, match=r"^\S+a\.npz: X must have 3 columns"), _explained():
        raise RuntimeError(f"Job aborted: Traceback\n{told}\n\tat org.apache.spark")


# Killed and started again ---------------------------------------

RUN = """
import sys, time
from naively.work import stream
from naively.text.features import TextFeatures
from naively.work.records import save_record
stream.CHECKPOINT_PARTS = 2
print("ready", flush=True)
save_record(stream.count_files(sys.argv[1], TextFeatures(), checkpoint=sys.argv[2]), sys.argv[3])
"""


def start(tmp_path, out):
    process = subprocess.Popen(
        [sys.executable, "-c", RUN, f"{tmp_path}/*.parquet", f"{tmp_path}/done", str(out)],
        stdout=subprocess.PIPE,
    )
    process.stdout.readline()
    return process


def test_killed_twenty_times_it_ends_with_the_same_file(tmp_path):
    for i in range(8):
        write_parquet(tmp_path / f"{i}.parquet", make_texts(4000, i), make_labels(4000, 3, i), 500)
    whole = count_files(f"{tmp_path}/*.parquet", TextFeatures())
    rng = random.Random(0)
    killed = 0
    for _ in range(20):
        process = start(tmp_path, tmp_path / "out.npz")
        time.sleep(rng.random() * 0.4)
        if process.poll() is None:
            process.send_signal(signal.SIGKILL)
            killed += 1
        process.wait()
        process.stdout.close()
    process = start(tmp_path, tmp_path / "out.npz")
    process.stdout.close()
    assert process.wait() == 0
    assert killed > 0
    assert load_record(tmp_path / "out.npz").equals(whole)


def test_a_record_damaged_on_disk_is_counted_again(tmp_path):
    write_parquet(tmp_path / "a.parquet", TEXTS, LABELS)
    first = count_files(tmp_path / "a.parquet", TextFeatures(), checkpoint=tmp_path / "done")
    for path in (tmp_path / "done").iterdir():
        path.write_bytes(path.read_bytes()[:100])
    again = count_files(tmp_path / "a.parquet", TextFeatures(), checkpoint=tmp_path / "done")
    assert again.equals(first)


def test_a_record_cut_off_is_counted_again(tmp_path):
    write_jsonl(tmp_path / "a.jsonl", TEXTS, LABELS)
    expected = count_files(tmp_path / "a.jsonl", TextFeatures(), checkpoint=tmp_path / "work")
    (path,) = (tmp_path / "work").iterdir()
    path.write_bytes(path.read_bytes()[:30])
    again = count_files(tmp_path / "a.jsonl", TextFeatures(), checkpoint=tmp_path / "work")
    assert again.equals(expected)
    assert load_record(path).equals(expected)


def test_a_file_changed_in_its_middle_is_counted_again(tmp_path, monkeypatch):
    monkeypatch.setattr(stored, "_HEAD", 100)
    write_jsonl(tmp_path / "a.jsonl", TEXTS, LABELS)
    before = count_files(tmp_path / "a.jsonl", TextFeatures(), checkpoint=tmp_path / "work")
    time.sleep(0.05)
    write_jsonl(
        tmp_path / "a.jsonl", TEXTS, [*LABELS[:150], *LABELS[150:0:-1], *LABELS[-150:]][:300]
    )
    after = count_files(tmp_path / "a.jsonl", TextFeatures(), checkpoint=tmp_path / "work")
    assert after.shards == before.shards  # nothing else tells the two files apart
    assert after.equals(count_files(tmp_path / "a.jsonl", TextFeatures()))
    assert not after.equals(before)


def test_files_without_any_part_have_no_rows(tmp_path):
    schema = pa.schema([("text", pa.string()), ("label", pa.string())])
    pq.ParquetWriter(tmp_path / "a.parquet", schema).close()
    record = count_files(tmp_path / "a.parquet", TextFeatures())
    assert (record.n_rows, record.statistics.n_features, record.shards) == (0, 0, {})


def test_records_of_other_settings_are_not_taken(tmp_path):
    write_parquet(tmp_path / "a.parquet", TEXTS, LABELS)
    for features in (TextFeatures(), TextFeatures(lowercase=False)):
        found = count_files(tmp_path / "a.parquet", features, checkpoint=tmp_path / "done")
        same(found, *count_text(TEXTS, LABELS, features))


def test_counting_does_not_import_scikit_learn(tmp_path):
    write_parquet(tmp_path / "a.parquet", TEXTS, LABELS)
    script = (
        "import sys; from naively.work.stream import count_files;"
        "from naively.text.features import TextFeatures;"
        f"count_files({str(tmp_path / 'a.parquet')!r}, TextFeatures(), n_jobs=2);"
        "sys.exit('sklearn' in sys.modules)"
    )
    assert subprocess.run([sys.executable, "-c", script], check=False).returncode == 0
