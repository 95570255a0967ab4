"""Excel, arrays of JSON and archives hold the same rows as the plain files."""

import datetime
import gzip
import io
import json
import zipfile
from decimal import Decimal

import h5py
import numpy as np
import openpyxl
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from hypothesis import given, strategies as st

from naively.read import bytes as stored
from naively.read.errors import InputError
from naively.read.formats import format_of
from naively.read.layout import Layout
from naively.read.parts import collected, parts_of

TEXT = Layout(text=("text",))
ROWS = [{"text": "good, very; good", "label": "a"}, {"text": "schlecht\nü", "label": "b"}]


def read(tmp_path, name, content, layout=TEXT):
    (tmp_path / name).write_bytes(content)
    return collected(parts_of(tmp_path / name, layout), layout)


def refused(tmp_path, name, content, match, layout=TEXT):
    with pytest.raises(InputError, match=match) as caught:
        read(tmp_path, name, content, layout)
    assert "\n" not in str(caught.value)


def pairs(batch):
    return [(batch.rows.decoded(i), label) for i, label in enumerate(batch.labels.tolist())]


EXPECTED = [(row["text"], row["label"]) for row in ROWS]


# Excel -----------------------------------------------------------------------------------------


def book(*sheets):
    made, out = openpyxl.Workbook(), io.BytesIO()
    made.remove(made.active)
    for i, rows in enumerate(sheets):
        sheet = made.create_sheet(f"sheet {i}")
        for row in rows:
            sheet.append(row)
    made.save(out)
    return out.getvalue()


TABLE = [["id", "text", "label"], *([i, row["text"], row["label"]] for i, row in enumerate(ROWS))]


def test_texts_in_excel(tmp_path):
    rows = [TABLE[0], [], *TABLE[1:], [3, None, "a"], [4, 2.5, None]]
    batch = read(tmp_path, "a.xlsx", book(rows, []))
    assert pairs(batch) == [*EXPECTED, ("", "a"), ("2.5", "")]
    assert batch.place(0).endswith("a.xlsx: row 3")
    assert pairs(read(tmp_path, "a.xlsx.gz", gzip.compress(book(TABLE)))) == EXPECTED
    sheet = Layout(text=("text",), sheet="sheet 1", key="id")
    assert read(tmp_path, "b.xlsx", book([["x"]], TABLE), sheet).keys.tolist() == ["0", "1"]
    bare = Layout(text=("2",), label="3", header=False)
    assert pairs(read(tmp_path, "c.xlsx", book(TABLE[1:]), bare)) == EXPECTED


def test_numbers_and_dates_in_excel(tmp_path):
    day = datetime.datetime(2024, 5, 1)
    content = book([["u", "v", "label"], [1, 2.5, day], [3, 4, day + datetime.timedelta(hours=7)]])
    batch = read(tmp_path, "a.xlsx", content, Layout())
    assert batch.rows.tolist() == [[1, 2.5], [3, 4]]
    assert batch.labels.tolist() == ["2024-05-01", "2024-05-01 07:00:00"]
    refused(tmp_path, "a.xlsx", book([["u", "label"], ["x1", "a"]]), "no column holds", Layout())
    content = book([["u", "label"], [1, "a"], ["#N/A", "b"]])
    refused(tmp_path, "a.xlsx", content, "row 3: the value of `u` is missing; fill it in", Layout())


def far(content, row):
    """A book of which a row claims another number."""
    out = io.BytesIO()
    with zipfile.ZipFile(io.BytesIO(content)) as old, zipfile.ZipFile(out, "w") as new:
        for each in old.infolist():
            piece = old.read(each).replace(b'r="3"', b'r="%d"' % row)
            new.writestr(each, piece.replace(b'="A3', b'="A%d' % row))
    return out.getvalue()


def test_bad_books(tmp_path):
    refused(
        tmp_path,
        "a.xlsx",
        book(TABLE, TABLE),
        "2 sheets hold cells .*sheet 0, sheet 1.*--read sheet",
    )
    sheet = Layout(text=("text",), sheet="sheet 3")
    refused(tmp_path, "a.xlsx", book(TABLE), "no sheet `sheet 3`", sheet)
    refused(tmp_path, "a.xlsx", book([]), "its sheets are empty")
    refused(tmp_path, "a.xlsx", b"no", "not an Excel file, or it is damaged")
    refused(tmp_path, "a.xlsx", book([*TABLE, [1, "a", "b", "c"]]), "row 4 has 4 cells")
    refused(tmp_path, "a.xlsx", book([["txt", "label"]]), "did you mean `txt`")
    refused(tmp_path, "a.csv", b"text,label\n", "--read sheet has no effect", sheet)
    content = far(book([*TABLE[:2], [3, "c", "a"]]), 10**12)
    refused(tmp_path, "a.xlsx", content, "a row has a number above 1,048,576")


# Arrays of JSON --------------------------------------------------------------------------------


@pytest.mark.parametrize("block", [1 << 23, 7, 40])
@pytest.mark.parametrize("indent", [None, 1])
@pytest.mark.parametrize("name", ["a.json", "a.jsonl.gz"])
def test_arrays_of_json(tmp_path, monkeypatch, block, indent, name):
    monkeypatch.setattr(stored, "BLOCK_BYTES", block)
    content = ("\ufeff \n" + json.dumps(ROWS, indent=indent, ensure_ascii=False)).encode()
    batch = read(tmp_path, name, gzip.compress(content) if "gz" in name else content)
    assert pairs(batch) == EXPECTED
    assert batch.place(1).endswith(f"line {2 if indent is None else 7}")
    numbers = json.dumps([{"u": 1, "label": "a"}, {"label": "b", "u": 2.5}], indent=indent)
    batch = read(tmp_path, "b.json", numbers.encode(), Layout())
    assert (batch.rows.tolist(), batch.labels.tolist()) == ([[1], [2.5]], ["a", "b"])


@given(
    rows=st.lists(st.tuples(st.text(max_size=9), st.sampled_from("ab")), min_size=1, max_size=9),
    indent=st.sampled_from([None, 0, 3]),
    block=st.integers(1, 40),
)
def test_any_array_is_read_as_its_lines(tmp_path_factory, rows, indent, block):
    folder, before = tmp_path_factory.mktemp("json"), stored.BLOCK_BYTES
    records = [{"text": text, "label": label} for text, label in rows]
    stored.BLOCK_BYTES = block
    try:
        batch = read(folder, "a.json", json.dumps(records, indent=indent).encode())
    finally:
        stored.BLOCK_BYTES = before
    lines = "".join(json.dumps(each) + "\n" for each in records)
    assert pairs(batch) == pairs(read(folder, "b.jsonl", lines.encode()))


@pytest.mark.parametrize(
    ("content", "match"),
    [
        ('[{"text": "a", "label": "b"}', "line 1 is not JSON .it is not closed"),
        ('[\n{"text": "a", "label"', "line 2 is not JSON"),
        ('[\n{"text": "a"} {"text": "b"}]', "line 2: there is no field `label`"),
        ('[{"text": "a", "label": "b"} {}]', "line 1 is not JSON .got '{', and not a comma"),
        ('[{"text": "a", "label": "b"}]\n\n{}', "line 3 is not JSON .got '{', and not the end"),
        ("[1, 2]", "line 1 holds a bare value, not an object"),
        ("[]", "no rows"),
        ('[{"text": "a", "text": "c", "label": "b"}]', "line 1: 2 fields are called `text`"),
        ("[" * 100_000, "line 1 is not JSON"),
        ('[{"text": "a", ' + " " * 100 + "nonsense" + " " * 100 + "}]", "line 1 is not JSON"),
    ],
)
def test_bad_arrays_of_json(tmp_path, content, match):
    refused(tmp_path, "a.json", content.encode(), match)


# Archives --------------------------------------------------------------------------------------


def archive(**members):
    out = io.BytesIO()
    with zipfile.ZipFile(out, "w", zipfile.ZIP_DEFLATED) as made:
        for name, content in members.items():
            made.writestr(name, content)
    return out.getvalue()


CSV = 'text,label\n"good, very; good",a\n"schlecht\nü",b\n'.encode()


@pytest.mark.parametrize("name", ["a.csv.zip", "a.zip", "a.csv"])
def test_an_archive_of_one_file(tmp_path, name):
    content = archive(**{"__MACOSX/._a": b"x", "folder/": b"", "folder/a.csv": CSV})
    assert pairs(read(tmp_path, name, content)) == EXPECTED
    assert format_of(tmp_path / name) == "csv"


@pytest.mark.parametrize("format", ["parquet", "npz"])
def test_an_archive_of_a_binary_file(tmp_path, format):
    out = io.BytesIO()
    if format == "parquet":
        pq.write_table(pa.Table.from_pylist(ROWS), out)
        batch = read(tmp_path, "a.parquet.zip", archive(x=out.getvalue()))
        assert pairs(batch) == EXPECTED
    else:
        np.savez(out, X=np.eye(2), y=["a", "b"])
        batch = read(tmp_path, "a.npz.zip", archive(x=out.getvalue()), Layout())
        assert batch.rows.tolist() == [[1, 0], [0, 1]]


def test_bad_archives(tmp_path):
    two = archive(**{"a.csv": CSV, "b.csv": CSV})
    refused(tmp_path, "a.csv.zip", two, r"holds 2 files \(a.csv, b.csv\), not one; unpack")
    refused(tmp_path, "a.csv.zip", archive(), "content is not zip data")
    refused(tmp_path, "a.csv.zip", archive(**{"a.csv": CSV})[:-30], "broken or cut off|damaged")
    lying = bytearray(archive(**{"a.csv": CSV}))
    at = lying.rindex(b"PK\x01\x02") + 24
    lying[at : at + 4] = b"\x09\0\0\0"
    refused(tmp_path, "a.csv.zip", bytes(lying), "broken or cut off|damaged")
    secret = bytearray(archive(**{"a.csv": CSV}))
    secret[secret.rindex(b"PK\x01\x02") + 8] |= 1
    refused(tmp_path, "a.csv.zip", bytes(secret), "has a password; unpack it first")


# Labels of every type --------------------------------------------------------------------------


def test_labels_are_spelled_alike_whatever_their_type(tmp_path):
    half = np.array([0.1, 2.0, 0.1], dtype=np.float32)
    X, out = np.eye(3), io.BytesIO()
    np.savez(out, X=X, y=half)
    assert read(tmp_path, "a.npz", out.getvalue(), Layout()).labels.tolist() == ["0.1", "2", "0.1"]
    dates = np.array(["2024-05-01", "2024-05-02", "NaT"], dtype="M8[D]")
    out = io.BytesIO()
    np.savez(out, X=X, y=dates)
    found = read(tmp_path, "a.npz", out.getvalue(), Layout()).labels.tolist()
    assert found == ["2024-05-01", "2024-05-02", ""]
    moments = pa.array([datetime.datetime(2024, 5, 1), datetime.datetime(2024, 5, 1, 7), None])
    for labels, expected in [
        (pa.array(half), ["0.1", "2", "0.1"]),
        (pa.array(dates), found),
        (moments, ["2024-05-01", "2024-05-01 07:00:00", ""]),
        (pa.array([Decimal("1.50"), Decimal("200.00"), None]), ["1.5", "200", ""]),
    ]:
        out = io.BytesIO()
        pq.write_table(pa.table({"text": ["a"] * 3, "label": labels}), out)
        assert read(tmp_path, "a.parquet", out.getvalue()).labels.tolist() == expected
    out = io.BytesIO()
    with h5py.File(out, "w") as file:
        file["X"] = X
        for frame in ("obs", "var"):
            file.create_group(frame).attrs["_index"] = "_index"
            file[frame]["_index"] = [b"a", b"b", b"c"]
        file["obs/label"] = half
    assert read(tmp_path, "a.h5ad", out.getvalue(), Layout()).labels.tolist() == ["0.1", "2", "0.1"]
