"""Tables read in streams give the texts and labels that reading them whole gives."""

import bz2
import csv
import gzip
import json
import lzma

import numpy as np
import pyarrow as pa
import pyarrow.csv
import pyarrow.parquet as pq
import pytest
import scipy.sparse as sp

from naively.io.tables import TableStyle, labels_of, read_columns, texts_of
from naively.scale import parts
from naively.scale.sources import Layout, columns_of, find_files, identity, save_mapped
from naively.text.counter import count_text
from naively.text.features import ColumnFeatures, TextFeatures
from naively.work.stream import count_files

TEXTS = ["ab cd", 'say "ef", gh', "two\nlines", "café ΑΣ", "NA", "", "12", "ab ab"]
LETTERS = ["a", "b"] * 4
DATES = ["2020-01-01", "2020-01-02 10:00:00"] * 4


def write_csv(path, rows, separator=",", encoding="utf-8", eol="\n"):
    with path.open("w", encoding=encoding, newline="") as file:
        writer = csv.writer(file, delimiter=separator, lineterminator=eol)
        writer.writerows([("label", "text", "id"), *((y, text, "x") for text, y in rows)])


def write_jsonl(path, rows, opened=open):
    with opened(path, "wb") as file:
        for text, label in rows:
            file.write(json.dumps({"text": text, "label": label}).encode() + b"\n")


def write_parquet(path, rows):
    texts, labels = zip(*rows, strict=True)
    pq.write_table(pa.table({"text": pa.array(texts), "label": pa.array(labels)}), path, 3)


def in_memory(path, **options):
    columns = read_columns(path, ["text", "label"], **options)
    texts = [row[0] for row in texts_of(columns, ["text"])]
    return count_text(texts, labels_of(columns, "label"))


def assert_read_alike(path, layout=None, **options):
    names, expected = in_memory(path, **options)
    found = count_files(path, TextFeatures(), layout)
    assert list(found.names) == list(names)
    classes = found.counts.classes
    assert [str(label).lower().removesuffix(".0") for label in classes] == [
        label.lower() for label in expected.classes.tolist()
    ]
    np.testing.assert_array_equal(found.counts.table, expected.table)
    np.testing.assert_array_equal(found.counts.class_rows, expected.class_rows)


@pytest.mark.parametrize(
    "labels",
    [
        LETTERS,
        ["007", "7"] * 4,
        ["NA", "1"] * 4,
        ["true", "false"] * 4,
        ["1.0", "2.0"] * 4,
        [" a", "b "] * 4,
        DATES,
    ],
)
def test_labels_of_csv_are_the_text_that_stands_there(tmp_path, labels):
    write_csv(tmp_path / "a.csv", list(zip(TEXTS, labels, strict=True)))
    names, expected = in_memory(tmp_path / "a.csv")
    found = count_files(tmp_path / "a.csv", TextFeatures())
    assert found.counts.classes.tolist() == expected.classes.tolist()
    assert found.counts.equals(expected)
    assert found.names.equals(names)


def test_shards_of_csv_that_alone_look_like_numbers_fit_those_that_do_not(tmp_path):
    write_csv(tmp_path / "a.csv", [("ab", "1"), ("cd", "2")])
    write_csv(tmp_path / "b.csv", [("ab", "x"), ("cd", "2")])
    found = count_files(f"{tmp_path}/*.csv", TextFeatures())
    assert found.counts.classes.tolist() == ["1", "2", "x"]


@pytest.mark.parametrize(
    ("layout", "style", "encoding", "options"),
    [
        (Layout(delimiter=";"), TableStyle(delimiter=";"), "utf-8", {"separator": ";"}),
        (Layout(), None, "utf-8-sig", {}),
        (Layout(), None, "utf-8", {"eol": "\r\n"}),
        (Layout(encoding="utf-16"), TableStyle(encoding="utf-16"), "utf-16", {}),
        (Layout(encoding="iso8859_7"), TableStyle(encoding="iso8859_7"), "iso8859_7", {}),
    ],
)
def test_csv_of_any_style(tmp_path, layout, style, encoding, options):
    texts = [text.replace("é", "e") for text in TEXTS]
    rows = list(zip(texts, LETTERS, strict=True))
    write_csv(tmp_path / "a.csv", rows, encoding=encoding, **options)
    assert_read_alike(tmp_path / "a.csv", layout, style=style)


def test_csv_without_header_and_with_quotes_that_are_text(tmp_path):
    path = tmp_path / "a.dat"
    path.write_text('a\t"ab cd\nb\tef" gh\n')
    layout = Layout(label="1", text="2", format="tsv", quotes=False, header=False)
    found = count_files(path, TextFeatures(), layout)
    assert found.counts.classes.tolist() == ["a", "b"]
    assert list(found.names) == ["ab", "cd", "ef", "gh"]


@pytest.mark.parametrize("block_bytes", [1 << 23, 64])
@pytest.mark.parametrize(
    ("texts", "labels"),
    [
        (TEXTS, LETTERS),
        (TEXTS, [0, 1] * 4),
        (TEXTS, [True, False] * 4),
        (TEXTS, DATES),
        (TEXTS, [1, 2.0] * 4),
        (TEXTS, [1.5, 2.5] * 4),
        (TEXTS, [" a", "b "] * 4),
        (DATES, LETTERS),
        (["ab", None] * 4, LETTERS),
        (["ab", 12, 1.5, True] * 2, LETTERS),
        (["ab", "\ud800 cd"] * 4, LETTERS),
    ],
)
def test_json_lines_of_any_kind(tmp_path, monkeypatch, texts, labels, block_bytes):
    monkeypatch.setattr(parts, "BLOCK_BYTES", block_bytes)
    write_jsonl(tmp_path / "a.jsonl", list(zip(texts, labels, strict=True)))
    if labels[0] == 1.5:
        with pytest.raises(ValueError, match="is continuous"):
            count_files(tmp_path / "a.jsonl", TextFeatures())
    else:
        assert_read_alike(tmp_path / "a.jsonl")


def test_labels_of_several_kinds_in_json_are_text(tmp_path):
    write_jsonl(tmp_path / "a.jsonl", list(zip(TEXTS, [1, "x"] * 4, strict=True)))
    assert_read_alike(tmp_path / "a.jsonl")


def test_other_fields_of_json_lines_may_hold_anything(tmp_path):
    rows = [{"id": 1}, {"id": "x", "more": {"a": [1]}}, {"id": None}, {}]
    lines = [json.dumps({"text": "ab", "label": "ab"[i % 2], **row}) for i, row in enumerate(rows)]
    (tmp_path / "a.jsonl").write_bytes(b"\xef\xbb\xbf" + "\r\n".join([*lines, "", ""]).encode())
    assert count_files(tmp_path / "a.jsonl", TextFeatures()).n_rows == 4


def test_json_lines_in_another_encoding(tmp_path, monkeypatch):
    monkeypatch.setattr(parts, "BLOCK_BYTES", 11)
    rows = [json.dumps({"text": "café noir", "label": y}, ensure_ascii=False) for y in LETTERS]
    for encoding in ("latin-1", "utf-16", "utf-8-sig"):
        (tmp_path / "a.jsonl").write_text("\n".join(rows), encoding)
        layout = Layout(encoding=encoding)
        assert_read_alike(tmp_path / "a.jsonl", layout, style=TableStyle(encoding=encoding))


@pytest.mark.parametrize(
    ("suffix", "opened"),
    [("gz", gzip.open), ("bz2", bz2.open), ("xz", lzma.open), ("XZ", lzma.open)],
)
def test_packed_files(tmp_path, suffix, opened):
    write_jsonl(tmp_path / f"a.jsonl.{suffix}", list(zip(TEXTS, LETTERS, strict=True)), opened)
    assert count_files(tmp_path / f"a.jsonl.{suffix}", TextFeatures()).n_rows == 8


@pytest.mark.parametrize(
    ("texts", "labels"),
    [
        (pa.array(TEXTS).dictionary_encode(), pa.array(LETTERS).dictionary_encode()),
        (pa.array(TEXTS, pa.large_string()), pa.array(LETTERS, pa.string_view())),
        (pa.array(TEXTS, pa.string_view()), pa.array([True, False] * 4)),
        (pa.array([1.5, None, 10.0, 22.0] * 2), pa.array([1.0, 2.0] * 4)),
        (pa.array([15, None, 10, 22] * 2), pa.array([" a", "b"] * 4)),
        (pa.nulls(8), pa.array(LETTERS)),
    ],
)
def test_parquet_of_any_type(tmp_path, texts, labels):
    pq.write_table(pa.table({"text": texts, "label": labels}), tmp_path / "a.parquet", 3)
    assert_read_alike(tmp_path / "a.parquet")


# What goes wrong ---------------------------------------


def rows_of(**columns):
    rows = [dict(zip(columns, row, strict=True)) for row in zip(*columns.values(), strict=True)]
    return "".join(json.dumps(row) + "\n" for row in rows).encode()


@pytest.mark.parametrize(
    ("name", "content", "layout", "message"),
    [
        ("a.csv", b"text,label\nab,x\ncd, \n", {}, "label` is missing at row 1; fill"),
        ("a.csv", b"txet,label\nab,x\n", {}, "no column `text`; did you mean `txet`"),
        ("a.csv", b"text,text,label\na,b,x\n", {}, "2 columns are called `text`"),
        ("a.csv", b"text;label\nab;x\n", {}, "not separated by ','; try --delimiter ';'"),
        ("a.csv", b"text,label\nab,x\n", {"delimiter": "::"}, "one character, such as ';'"),
        ("a.csv", b"", {}, "a.csv: the file is empty"),
        ("a.csv", b"text,label\ncaf\xe9,x\n", {}, "save the file as UTF-8, or name its enc"),
        ("a.csv", b"text,label\nab,x,y\n", {}, "Expected 2 columns, got 3"),
        ("a.jsonl", rows_of(text=["ab", "cd"], label=["x", None]), {}, "missing at row 1; fill"),
        ("a.jsonl", rows_of(text=["ab"]), {}, "no field `label` in line 1; it has `text`"),
        ("a.jsonl", rows_of(label=["x"]) + b"[1]\n", {"text": "label"}, "line 2 holds no object"),
        ("a.jsonl", rows_of(text=["ab"], label=["x"]) + b"{", {}, "line 2 is not JSON"),
        ("a.jsonl", b'{"text": "caf\xe9", "label": "x"}', {}, "0xe9 in line 1 is not utf-8"),
        ("a.jsonl", rows_of(text=[{}], label=["x"]), {}, "`text` holds a dict, not text"),
        ("a.jsonl", rows_of(text=["ab"], label=[[]]), {}, "`label` holds list.*not labels"),
        (
            "a.jsonl.gz",
            gzip.compress(rows_of(text=["ab"], label=["x"]), mtime=0)[:-5],
            {},
            "get it again",
        ),
        ("a.jsonl.xz", b"{}", {}, "a.jsonl.xz.*get it again"),
        ("a.parquet", b"PAR1", {}, "get it again"),
        ("a.parquet.gz", b"", {}, "a packed parquet file is not read in streams; unpack it"),
        ("a.npz", b"PK\3\4junk", {"text": None}, "a.npz.*get it again"),
        ("a.mtx", b"", {"format": "mtx"}, "format mtx are not read in streams"),
    ],
)
def test_what_cannot_be_read_is_said_in_a_sentence(tmp_path, name, content, layout, message):
    (tmp_path / name).write_bytes(content)
    layout = Layout(**layout)
    features = TextFeatures() if layout.text else ColumnFeatures(2)
    with pytest.raises(ValueError, match=message) as caught:
        count_files(tmp_path / name, features, layout)
    assert "\n" not in str(caught.value)


@pytest.mark.parametrize(
    ("column", "message"),
    [
        (pa.array([0.5, float("nan")]), "label in column `label` is missing at row 1"),
        (pa.array([None, 1]), "label in column `label` is missing at row 0"),
        (pa.nulls(2), "label in column `label` is missing at row 0"),
        (pa.array(["x", ""]), "label in column `label` is missing at row 1"),
        (pa.array([0, 1], pa.timestamp("us")), "holds timestamp.*not labels"),
        (pa.array([["a"], ["b"]]), "holds list.*not labels"),
    ],
)
def test_labels_that_are_none(tmp_path, column, message):
    pq.write_table(pa.table({"text": ["ab", "cd"], "label": column}), tmp_path / "a.parquet")
    with pytest.raises(ValueError, match=message):
        count_files(tmp_path / "a.parquet", TextFeatures())
    pq.write_table(pa.table({"text": column, "label": ["a", "b"]}), tmp_path / "b.parquet")
    if "timestamp" in message:
        with pytest.raises(ValueError, match=r"b\.parquet.*holds timestamp.*not text"):
            count_files(tmp_path / "b.parquet", TextFeatures())


def test_a_folder_is_not_a_file(tmp_path):
    (tmp_path / "a.jsonl").mkdir()
    with pytest.raises(ValueError, match=r"it is a folder; name files, or a pattern such as"):
        find_files(tmp_path / "a.jsonl")


# Columns of numbers ------------------------------------


def write_columns(path, names):
    columns = {name: [j, 2 * j] for j, name in enumerate(names)}
    table = pa.table({**columns, "label": ["a", "b"]})
    if path.suffix == ".parquet":
        pq.write_table(table, path)
    elif path.suffix == ".csv":
        pa.csv.write_csv(table, path)
    else:
        np.savez(
            path, X=np.array(list(columns.values())).T, label=["a", "b"], feature_names=list(names)
        )


@pytest.mark.parametrize("suffix", ["parquet", "csv", "npz"])
def test_shards_with_columns_in_another_order_are_refused(tmp_path, suffix):
    write_columns(tmp_path / f"a.{suffix}", ["u", "v", "w"])
    write_columns(tmp_path / f"b.{suffix}", ["v", "u", "w"])
    layout = Layout(text=None)
    features, names = columns_of(str(tmp_path / f"a.{suffix}"), layout)
    assert list(names) == ["u", "v", "w"]
    assert count_files(tmp_path / f"a.{suffix}", features, layout).n_rows == 2
    with pytest.raises(ValueError, match=rf"b\.{suffix}.*other names, or another order"):
        count_files(f"{tmp_path}/*.{suffix}", features, layout)


def test_numbers_of_csv_may_turn_real_behind_the_first_block(tmp_path, monkeypatch):
    monkeypatch.setattr(parts, "BLOCK_BYTES", 100)
    lines = ["u,v,label", *["1,2,x"] * 50, "1.5,2,x", *["1,2,y"] * 9]
    (tmp_path / "a.csv").write_text("\n".join(lines) + "\n")
    layout = Layout(text=None)
    features, _ = columns_of(str(tmp_path / "a.csv"), layout)
    assert count_files(tmp_path / "a.csv", features, layout).counts.table.tolist() == [
        [51.5, 9],
        [102, 18],
    ]


def test_svmlight_is_numbered_from_1(tmp_path):
    (tmp_path / "a.svm").write_text("1 1:2 3:1\n2 2:1\n")
    layout = Layout(text=None)
    counts = count_files(tmp_path / "a.svm", ColumnFeatures(3), layout).counts
    assert counts.table.tolist() == [[2, 0], [0, 1], [1, 0]]
    assert counts.table.dtype == np.int64
    (tmp_path / "a.svm").rename(tmp_path / "b.svm")
    (tmp_path / "a.svm").write_text("1 0:2 3:1\n2 2:1\n")
    with pytest.raises(ValueError, match="a column 0; columns must be numbered from 1 to 3"):
        count_files(tmp_path / "a.svm", ColumnFeatures(3), layout)
    with pytest.raises(ValueError, match="a column 3; columns must be numbered from 1 to 2"):
        count_files(tmp_path / "b.svm", ColumnFeatures(2), layout)


@pytest.mark.parametrize("n_labels", [1, 3])
def test_there_must_be_a_label_for_each_row(tmp_path, n_labels):
    X, y = sp.csr_array(np.eye(2, dtype=int)), np.arange(n_labels)
    layout = Layout(text=None)
    np.savez(tmp_path / "a.npz", X=X.toarray(), label=y)
    save_mapped(tmp_path / "a.csr", X, y)
    for name in ("a.npz", "a.csr"):
        with pytest.raises(ValueError, match="labels for 2 rows"):
            count_files(tmp_path / name, ColumnFeatures(2), layout)


def test_a_split_column_of_a_matrix(tmp_path):
    np.savez(
        tmp_path / "a.npz", X=np.eye(3), label=np.array([b"x", b"y", b"x"]), part=["a", "b", "a"]
    )
    layout = Layout(text=None, split="part")
    assert count_files(tmp_path / "a.npz", ColumnFeatures(3), layout).counts.classes.tolist() == [
        "x",
        "y",
    ]
    with pytest.raises(ValueError, match="no array `parts`; did you mean `part`"):
        count_files(tmp_path / "a.npz", ColumnFeatures(3), Layout(text=None, split="parts"))
    save_mapped(tmp_path / "a.csr", sp.csr_array(np.eye(2)), [0, 1])
    with pytest.raises(ValueError, match="the file has no column `part`"):
        count_files(tmp_path / "a.csr", ColumnFeatures(2), layout)


def test_mapped_matrices_that_differ_in_labels_alone_are_different(tmp_path):
    for name, labels in (("one", [0, 1]), ("two", [1, 0])):
        save_mapped(tmp_path / name / "a.csr", sp.csr_array(np.eye(2)), labels)
    assert identity(str(tmp_path / "one/a.csr")) != identity(str(tmp_path / "two/a.csr"))


@pytest.mark.filterwarnings("ignore")
def test_a_cell_without_label_is_refused(tmp_path):
    anndata = pytest.importorskip("anndata")
    import pandas as pd

    index = pd.Index(["c1", "c2", "c3"], dtype=object)
    obs = pd.DataFrame({"label": pd.Categorical(["a", None, "b"])}, index=index)
    var = pd.DataFrame(index=pd.Index(["g1", "g2", "g3"], dtype=object))
    anndata.AnnData(np.eye(3), obs=obs, var=var).write_h5ad(tmp_path / "a.h5ad")
    layout = Layout(text=None)
    features, _ = columns_of(str(tmp_path / "a.h5ad"), layout)
    with pytest.raises(ValueError, match="column `label` of obs is missing at row 1"):
        count_files(tmp_path / "a.h5ad", features, layout)
