"""The same rows through every table format, packed or not, whole, in parts, or piped in."""

import bz2
import csv
import gzip
import io
import json
import lzma
from types import SimpleNamespace

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from hypothesis import given, strategies as st

from naively.read import batch as limits, bytes as stored, jsonl
from naively.read.batch import joined
from naively.read.layout import Layout
from naively.read.parts import batches_of, collected, columns_of, held, parts_of

ODD = ["plain", 'with "quotes", commas\tand tabs', "two\nlines", "", "süß 日本 😀 ΑΣ", "NA", "12"]
TEXTS = [f"{ODD[i % 7]} {i}" if i % 7 != 3 else "" for i in range(30)]
TITLES = [f"title {i}, {'é' * (i % 3)}" for i in range(30)]
TOKENS = [["a", "b c", "é"][: i % 4] for i in range(30)]
LABELS = ["pos", "neg", "007"]
ROWS = [
    {
        "text": TEXTS[i],
        "title": TITLES[i],
        "tokens": TOKENS[i],
        "label": LABELS[i % 3],
        "part": "train" if i % 5 else "test",
        "id": f"r{i}",
        "u": i,
        "v": i / 4,
    }
    for i in range(30)
]
LAYOUT = Layout(text=("text", "title"), split="part", key="id")


def delimited(rows, delimiter, end="\n"):
    out = io.StringIO()
    names = [name for name in rows[0] if name != "tokens"]
    writer = csv.DictWriter(
        out, names, delimiter=delimiter, lineterminator=end, extrasaction="ignore"
    )
    writer.writeheader()
    writer.writerows(rows)
    return out.getvalue().encode()


def json_lines(rows):
    return "".join(json.dumps(row) + "\n" for row in rows).encode()


def parquet(rows):
    out = io.BytesIO()
    table = pa.Table.from_pylist(rows)
    label = table.schema.get_field_index("label")
    if label >= 0:
        table = table.set_column(label, "label", table.column(label).dictionary_encode())
    pq.write_table(table, out, row_group_size=7)
    return out.getvalue()


WRITERS = {
    "csv": lambda rows: delimited(rows, ","),
    "tsv": lambda rows: delimited(rows, "\t", "\r\n"),
    "jsonl": json_lines,
    "parquet": parquet,
}


def zstandard(content):
    out = pa.BufferOutputStream()
    with pa.CompressedOutputStream(out, "zstd") as stream:
        stream.write(content)
    return out.getvalue().to_pybytes()


PACKERS = {
    "": bytes,
    ".gz": gzip.compress,
    ".bz2": bz2.compress,
    ".xz": lzma.compress,
    ".zst": zstandard,
}


def texts_of(batch):
    cells = [batch.rows.decoded(i) for i in range(len(batch.rows))]
    return list(zip(*(cells[j :: batch.width] for j in range(batch.width)), strict=True))


def tokens_of(batch):
    rows = batch.rows
    return [
        [rows.tokens.decoded(t) for t in range(rows.starts[i], rows.starts[i + 1])]
        for i in range(len(rows))
    ]


def assert_all_rows(batch):
    assert texts_of(batch) == list(zip(TEXTS, TITLES, strict=True))
    assert batch.labels.tolist() == [LABELS[i % 3] for i in range(30)]
    assert batch.split.tolist() == [row["part"] for row in ROWS]
    assert batch.keys.tolist() == [row["id"] for row in ROWS]
    assert batch.labels.dtype.kind == "U"


@pytest.fixture(params=["large", "small"])
def pieces(request, monkeypatch):
    """Blocks, parts and batches of the usual size, and of a few bytes."""
    if request.param == "small":
        monkeypatch.setattr(stored, "BLOCK_BYTES", 50)
        monkeypatch.setattr(jsonl, "PART_BYTES", 300)
        monkeypatch.setattr(limits, "BATCH_ROWS", 4)
    return request.param


@pytest.mark.parametrize("format", WRITERS)
@pytest.mark.parametrize("packed", PACKERS)
def test_every_format_gives_the_same_rows(tmp_path, format, packed, pieces):
    path = tmp_path / f"table.{format}{packed}"
    path.write_bytes(PACKERS[packed](WRITERS[format](ROWS)))
    parts = parts_of(path, LAYOUT)
    assert_all_rows(collected(parts, LAYOUT))
    assert_all_rows(collected(held(parts, LAYOUT), LAYOUT))
    in_parts = format == "parquet" or (format == "jsonl" and pieces == "small")
    assert (len(parts) > 1) == (in_parts and not packed)


@pytest.mark.parametrize("format", WRITERS)
@pytest.mark.parametrize("packed", PACKERS)
def test_from_standard_input(tmp_path, monkeypatch, format, packed):
    content = PACKERS[packed](WRITERS[format](ROWS))
    monkeypatch.setattr("sys.stdin", SimpleNamespace(buffer=io.BytesIO(content)))
    layout = Layout(format=format, text=("text", "title"), split="part", key="id")
    parts = parts_of("-", layout)
    batch = collected(parts, layout)
    assert_all_rows(batch)
    assert batch.place(0).startswith("standard input: ")
    (tmp_path / "other").write_bytes(content)
    again = parts_of(tmp_path / "other", layout)
    assert len(again) == len(parts)


@pytest.mark.parametrize("format", ["jsonl", "parquet"])
@pytest.mark.parametrize("packed", PACKERS)
def test_lists_of_tokens(tmp_path, format, packed, pieces):
    path = tmp_path / f"table.{format}{packed}"
    path.write_bytes(PACKERS[packed](WRITERS[format](ROWS)))
    layout = Layout(text=("tokens",), tokens=True)
    assert tokens_of(collected(parts_of(path, layout), layout)) == TOKENS
    layout = Layout(text=("tokens", "tokens"), tokens=True)
    twice = [tokens for tokens in TOKENS for _ in range(2)]
    assert tokens_of(collected(parts_of(path, layout), layout)) == twice


@pytest.mark.parametrize("format", WRITERS)
def test_numbers_from_every_format(tmp_path, format, pieces):
    path = tmp_path / f"table.{format}"
    numbers = [{name: row[name] for name in ("id", "u", "v", "label")} for row in ROWS]
    path.write_bytes(WRITERS[format](numbers))
    layout = Layout(key="id")
    parts = parts_of(path, layout)
    batch = collected(parts, layout)
    assert batch.rows.tolist() == [[i, i / 4] for i in range(30)]
    assert list(columns_of(parts, layout).names) == ["u", "v"]
    assert batch.labels.tolist() == [LABELS[i % 3] for i in range(30)]
    assert batch.keys[3] == "r3"
    bare = collected(parts_of(path, Layout(ignore=("v",))), Layout(ignore=("v",)))
    assert bare.rows.tolist() == [[i] for i in range(30)]  # `id` names the rows: no number
    assert bare.rows.dtype == np.int64


# Places ----------------------------------------------------------------------------------------


def lines_of(path, layout):
    batch = collected(parts_of(path, layout), layout)
    return [batch.place(i).rpartition(" ")[2] for i in range(len(batch))]


@pytest.mark.parametrize("literal", ["", 'say "hi"'])
def test_lines_of_csv_are_those_of_the_file(tmp_path, pieces, literal):
    # The literal quotation marks are beyond what is read at once: Python's reader goes on.
    rows = f'text,label\n\n"two\nlines",a\nplain {literal},b\n\n"x\n\n\ny",a\nz,b'
    (tmp_path / "a.csv").write_text(rows)
    assert lines_of(tmp_path / "a.csv", Layout(text=("text",))) == ["3", "5", "7", "11"]
    regular = 'text,label\n"two\nlines",a\nplain,b\n"x\n\n\ny",a\nz,b\n'
    (tmp_path / "a.csv").write_text(regular)
    assert lines_of(tmp_path / "a.csv", Layout(text=("text",))) == ["2", "4", "5", "9"]


def test_lines_of_json_and_rows_of_parquet(tmp_path, pieces):
    content = json_lines(ROWS).replace(b'{"text": "plain 7"', b'\n  \n{"text": "plain 7"')
    (tmp_path / "a.jsonl").write_bytes(content)
    expected = [*range(1, 8), *range(10, 33)]
    assert lines_of(tmp_path / "a.jsonl", LAYOUT) == [str(line) for line in expected]
    (tmp_path / "a.parquet").write_bytes(parquet(ROWS))
    assert lines_of(tmp_path / "a.parquet", LAYOUT) == [str(row) for row in range(1, 31)]


def test_rows_taken_keep_their_places(tmp_path, pieces):
    for name in ("a", "b"):
        (tmp_path / f"{name}.parquet").write_bytes(parquet(ROWS))
    batch = collected(parts_of(f"{tmp_path}/*.parquet", LAYOUT), LAYOUT)
    taken = batch.take(np.array([45, 2]))
    assert texts_of(taken) == [(TEXTS[15], TITLES[15]), (TEXTS[2], TITLES[2])]
    assert taken.keys.tolist() == ["r15", "r2"]
    assert taken.place(0) == f"{tmp_path}/b.parquet: row 16"
    assert taken.place(1) == f"{tmp_path}/a.parquet: row 3"
    masked = batch.take(np.arange(60) == 45)
    assert masked.place(0) == taken.place(0)


# Cutting ---------------------------------------------------------------------------------------

cells = st.text(st.characters(exclude_categories=["Cs", "Cc"]), max_size=12)
with_lines = st.text(st.sampled_from('ab,;" \n\té'), max_size=12)


def all_of(path, layout):
    parts = parts_of(path, layout)
    batches = [batch for part in parts for batch in batches_of(part, layout)]
    return joined(batches) if batches else None


@given(
    st.lists(st.tuples(with_lines, cells), min_size=1, max_size=12),
    st.integers(1, 60),
    st.sampled_from(["\n", "\r\n"]),
    st.sampled_from([csv.QUOTE_ALL, csv.QUOTE_MINIMAL]),
)
def test_csv_of_any_text_in_blocks_of_any_size(tmp_path_factory, rows, size, end, quoting):
    path = tmp_path_factory.mktemp("any") / "a.csv"
    out = io.StringIO()
    writer = csv.writer(out, lineterminator=end, quoting=quoting)
    writer.writerows([("text", "key", "label"), *((text, f"k{key}", "x") for text, key in rows)])
    path.write_bytes(out.getvalue().encode())
    layout = Layout(text=("text",), key="key", needs_label=False)
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(stored, "BLOCK_BYTES", size)
        batch = all_of(path, layout)
    assert [text for (text,) in texts_of(batch)] == [text for text, _ in rows]
    assert batch.keys.tolist() == [f"k{key}".strip() for _, key in rows]
    lines = np.cumsum([2, *(1 + text.count("\n") for text, _ in rows[:-1])])
    assert [batch.place(i).rpartition(" ")[2] for i in range(len(rows))] == list(map(str, lines))


@given(st.lists(with_lines, min_size=1, max_size=12), st.integers(1, 90), st.integers(1, 60))
def test_json_lines_in_parts_of_any_size(tmp_path_factory, texts, part_bytes, block_bytes):
    path = tmp_path_factory.mktemp("any") / "a.jsonl"
    path.write_bytes(json_lines([{"text": text, "label": "x"} for text in texts]))
    layout = Layout(text=("text",))
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(jsonl, "PART_BYTES", part_bytes)
        patch.setattr(stored, "BLOCK_BYTES", block_bytes)
        batch = all_of(path, layout)
        lines = [batch.place(i) for i in range(len(texts))]
    assert [text for (text,) in texts_of(batch)] == texts
    assert lines == [f"{path}: line {i + 1}" for i in range(len(texts))]


# Which file ------------------------------------------------------------------------------------


def test_parts_are_known_by_name_and_content(tmp_path):
    content = json_lines(ROWS)
    for name in ("a.jsonl", "b.jsonl"):
        (tmp_path / name).write_bytes(content)
    (tmp_path / "sub").mkdir()
    (tmp_path / "sub" / "a.jsonl").write_bytes(content)
    a, b, copy = (
        parts_of(tmp_path / name, LAYOUT)[0] for name in ("a.jsonl", "b.jsonl", "sub/a.jsonl")
    )
    assert a.name == copy.name != b.name
    (tmp_path / "a.jsonl").write_bytes(content.replace(b"r29", b"q29"))
    assert parts_of(tmp_path / "a.jsonl", LAYOUT)[0].name != a.name


# Columns and labels ----------------------------------------------------------------------------


def read(tmp_path, name, content, layout):
    (tmp_path / name).write_bytes(content if isinstance(content, bytes) else content.encode())
    return collected(parts_of(tmp_path / name, layout), layout)


SPELLED = [
    ([True, False], ["True", "False"]),
    ([1.0, 2.0], ["1", "2"]),
    ([1.5, -2.5], ["1.5", "-2.5"]),
    ([7, 2**62], ["7", str(2**62)]),
    ([" a ", "b"], ["a", "b"]),
    (["007", "7"], ["007", "7"]),
]


@pytest.mark.parametrize(("labels", "spelled"), SPELLED)
@pytest.mark.parametrize("format", ["jsonl", "parquet"])
def test_labels_are_spelled_alike(tmp_path, labels, spelled, format):
    rows = [{"text": "ab", "label": label} for label in labels]
    batch = read(tmp_path, f"a.{format}", WRITERS[format](rows), Layout(text=("text",)))
    assert batch.labels.tolist() == spelled


def test_labels_of_several_kinds_are_text(tmp_path):
    rows = [{"text": "ab", "label": label} for label in (1, "x", True, 1.0, 2**70)]
    batch = read(tmp_path, "a.jsonl", json_lines(rows), Layout(text=("text",)))
    assert batch.labels.tolist() == ["1", "x", "True", "1", str(2**70)]


@pytest.mark.parametrize(
    "column",
    [
        pa.array(["a", "b"], pa.string_view()),
        pa.array(["a", "b"], pa.large_string()),
        pa.array([b"a", b"b"]),
        pa.array(["a", "b"]).dictionary_encode(),
        pa.chunked_array([["a"], ["b"]]),
    ],
)
def test_text_of_parquet_of_any_type(tmp_path, column):
    try:
        pq.write_table(pa.table({"text": column, "label": column}), tmp_path / "a.parquet")
    except pa.ArrowNotImplementedError as error:  # older versions of pyarrow have no such files
        pytest.skip(str(error))
    layout = Layout(text=("text",))
    batch = collected(parts_of(tmp_path / "a.parquet", layout), layout)
    assert texts_of(batch) == [("a",), ("b",)]
    assert batch.labels.tolist() == ["a", "b"]


def test_texts_that_are_missing_or_numbers(tmp_path):
    rows = [{"text": t, "label": "x"} for t in ("ab", None, 12, 1.5, True, "a\ud83d b")]
    expected = ["ab", "", "12", "1.5", "True", "a\ufffd\ufffd\ufffd b"]
    batch = read(tmp_path, "a.jsonl", json_lines(rows), Layout(text=("text",)))
    assert [text for (text,) in texts_of(batch)] == expected
    column = pa.array([1.5, None, 2.0])
    pq.write_table(pa.table({"text": column, "label": ["x"] * 3}), tmp_path / "a.parquet")
    layout = Layout(text=("text",))
    batch = collected(parts_of(tmp_path / "a.parquet", layout), layout)
    assert texts_of(batch) == [("1.5",), ("",), ("2.0",)]


def test_labels_are_read_only_where_they_are_asked_for(tmp_path):
    content = "text,label\nab,\ncd,x\n"
    layout = Layout(text=("text",), needs_label=False)
    assert read(tmp_path, "a.csv", content, layout).labels is None
    assert read(tmp_path, "b.csv", "text\nab\n", layout).labels is None
    layout = Layout(text=("text",), needs_label=False, label="label")
    assert read(tmp_path, "a.csv", content, layout).labels.tolist() == ["", "x"]


# Styles of CSV ---------------------------------------------------------------------------------


@pytest.mark.parametrize("encoding", ["utf-8", "utf-8-sig", "utf-16", "iso8859_7", "utf-32"])
@pytest.mark.parametrize("delimiter", [",", ";", "|"])
def test_csv_in_any_encoding_and_with_any_delimiter(tmp_path, encoding, delimiter, pieces):
    rows = [{"text": 'ΑΣ, "x"\ny;|', "label": "a"}, {"text": "β", "label": "b"}]
    content = delimited(rows, delimiter).decode().encode(encoding)
    layout = Layout(text=("text",), delimiter=delimiter, encoding=encoding)
    batch = read(tmp_path, "a.csv", content, layout)
    assert texts_of(batch) == [(row["text"],) for row in rows]
    lines = [json.dumps(row, ensure_ascii=False) for row in rows]
    layout = Layout(text=("text",), encoding=encoding)
    batch = read(tmp_path, "a.jsonl", "\n".join(lines).encode(encoding), layout)
    assert texts_of(batch) == [(row["text"],) for row in rows]


def test_a_delimiter_outside_ascii(tmp_path):
    layout = Layout(text=("text",), delimiter="§")
    batch = read(tmp_path, "a.csv", "text§label\na,b§x\n", layout)
    assert texts_of(batch) == [("a,b",)]


def test_quotes_as_text_and_tables_without_header(tmp_path, pieces):
    layout = Layout(text=("2",), label="1", quotes=False, header=False)
    batch = read(tmp_path, "a.tab", 'pos\t"Great"\nneg\tso "so"\nneg\t"\n', layout)
    assert texts_of(batch) == [('"Great"',), ('so "so"',), ('"',)]
    assert batch.labels.tolist() == ["pos", "neg", "neg"]


def test_long_texts_and_the_field_limit_of_the_csv_module(tmp_path):
    before = csv.field_size_limit()
    content = f'text,label\n"{"x" * 200_000}",a\nsay "b",c\n'
    batch = read(tmp_path, "a.csv", content, Layout(text=("text",)))
    assert len(batch.rows.decoded(0)) == 200_000
    assert csv.field_size_limit() == before


def test_texts_that_look_a_little_like_rows_are_texts(tmp_path):
    poem = "roses are red, yes\nviolets are blue, no\nsugar, sweet\nand so, you"
    rows = [{"text": poem, "label": "a"}, {"text": "one, two\nthree", "label": "b"}] * 3
    batch = read(tmp_path, "a.csv", delimited(rows, ","), Layout(text=("text",)))
    assert texts_of(batch)[0] == (poem,)
    assert len(batch) == 6


# Tables of numbers -----------------------------------------------------------------------------

PLAIN = "cell,gene1,gene2,label\nc1,1,-2.5,a\nc2,0,1e3,b\n"


def names_of(tmp_path, name, layout):
    return list(columns_of(parts_of(tmp_path / name, layout), layout).names)


def test_rows_are_samples(tmp_path):
    batch = read(tmp_path, "a.csv", PLAIN, Layout())
    assert batch.rows.tolist() == [[1, -2.5], [0, 1000]]
    assert names_of(tmp_path, "a.csv", Layout()) == ["gene1", "gene2"]
    assert batch.labels.tolist() == ["a", "b"]


@pytest.mark.parametrize(
    ("name", "content", "names"),
    [
        ("a.csv", "label,g,h\nx,1,2\ny,3,4\n", ["g", "h"]),
        ("a.csv", "g,h,label\n1,2,x\n3,4,y\n", ["g", "h"]),
        ("a.tsv", "g\th\tlabel\ns1\t1\t2\tx\ns2\t3\t4\ty\n", ["g", "h"]),  # as R writes it
        ("a.csv", ",g,h,label\n0,1,2,x\n1,3,4,y\n", ["g", "h"]),  # as pandas writes it
        ("a.tsv", '"g"\t"h"\t"label"\n"1"\t1\t2\t"x"\n"2"\t3\t4\t"y"\n', ["g", "h"]),
    ],
)
def test_names_of_rows_are_no_feature(tmp_path, name, content, names):
    batch = read(tmp_path, name, content, Layout())
    assert batch.rows.tolist() == [[1, 2], [3, 4]]
    assert batch.labels.tolist() == ["x", "y"]
    assert names_of(tmp_path, name, Layout()) == names


TURNED = "gene\tc1\tc2\tc3\nA\t1\t2\t3\nlabel\tx\ty\tx\npart\ttrain\ttrain\ttest\nB\t4\t5\t6\n"


def turned_parquet():
    names, *rows = (line.split("\t") for line in TURNED.splitlines())
    out = io.BytesIO()
    pq.write_table(pa.Table.from_pylist([dict(zip(names, r, strict=True)) for r in rows]), out, 2)
    return out.getvalue()


def turned_json():
    names, *rows = (line.split("\t") for line in TURNED.splitlines())
    return json_lines([dict(zip(names, row, strict=True)) for row in rows])


@pytest.mark.parametrize(
    ("name", "content"),
    [("a.tsv", TURNED), ("a.parquet", turned_parquet()), ("a.jsonl", turned_json())],
)
def test_rows_are_features(tmp_path, name, content, pieces):
    layout = Layout(split="part", transpose=True)
    batch = read(tmp_path, name, content, layout)
    assert batch.rows.tolist() == [[1, 4], [2, 5], [3, 6]]
    assert names_of(tmp_path, name, layout) == ["A", "B"]
    assert batch.labels.tolist() == ["x", "y", "x"]
    assert batch.split.tolist() == ["train", "train", "test"]
    layout = Layout(transpose=True, ignore=("part", "A"))
    assert read(tmp_path, name, content, layout).rows.tolist() == [[4], [5], [6]]


def test_labels_beside_a_turned_table(tmp_path):
    (tmp_path / "y.txt").write_text("x\ny\nx\n\n")
    content = "gene\tc1\tc2\tc3\nA\t1\t2\t3\nB\t4\t5\t6\n"
    layout = Layout(transpose=True, labels_file=str(tmp_path / "y.txt"))
    assert read(tmp_path, "a.tsv", content, layout).labels.tolist() == ["x", "y", "x"]


def test_without_header(tmp_path):
    layout = Layout(header=False, label="3")
    assert read(tmp_path, "a.csv", "1,2,a\n3,4,b\n", layout).rows.tolist() == [[1, 2], [3, 4]]
    assert names_of(tmp_path, "a.csv", layout) == ["1", "2"]
