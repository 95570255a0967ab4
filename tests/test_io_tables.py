"""Columns of tables: every format gives the same, and bad ones are refused by line and column."""

import csv
import gzip
import io
import json

import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from hypothesis import given
from hypothesis import strategies as st

from naively.io.errors import InputError
from naively.io.tables import TableStyle, label_text, labels_of, read_columns, texts_of

ROWS = [
    ("plain", "pos"),
    ('with "quotes", commas\tand tabs', "neg"),
    ("two\nlines", "pos"),
    ("", "neg"),
    ("süß 日本 😀", "pos"),
    ("x" * 200_000, "neg"),
]


def delimited(rows, delimiter):
    out = io.StringIO()
    writer = csv.writer(out, delimiter=delimiter, lineterminator="\r\n")
    writer.writerows([("text", "label"), *rows])
    return out.getvalue().encode()


def json_lines(rows):
    return "".join(json.dumps({"text": t, "label": y}) + "\n" for t, y in rows).encode()


def parquet(rows):
    out = io.BytesIO()
    texts, labels = zip(*rows, strict=True)
    table = pa.table({"text": texts, "label": pa.array(labels).dictionary_encode()})
    pq.write_table(table, out)
    return out.getvalue()


WRITERS = {
    "csv": lambda rows: delimited(rows, ","),
    "tsv": lambda rows: delimited(rows, "\t"),
    "jsonl": json_lines,
    "parquet": parquet,
}


@pytest.mark.parametrize("format", WRITERS)
@pytest.mark.parametrize("packed", [False, True])
def test_every_format_gives_the_same_columns(tmp_path, format, packed):
    path = tmp_path / f"table.{format}{'.gz' if packed else ''}"
    content = WRITERS[format](ROWS)
    path.write_bytes(gzip.compress(content) if packed else content)
    columns = read_columns(path, ["text", "label"])
    assert texts_of(columns, ["text"]) == [(text,) for text, _ in ROWS]
    assert labels_of(columns, "label") == [label for _, label in ROWS]
    assert len(columns) == len(ROWS)


def test_lines_are_those_of_the_file():
    columns = read_columns(io.BytesIO(delimited(ROWS, ",")), ["text"], format="csv")
    assert list(columns.lines) == [2, 3, 4, 6, 7, 8]  # the third row takes two lines


def test_order_and_repetition_of_the_columns_wanted():
    columns = read_columns(io.BytesIO(b"a,b\n1,2\n"), ["b", "a", "b"], format="csv")
    assert columns.names == ("b", "a")
    assert texts_of(columns, ["b", "a", "b"]) == [("2", "1", "2")]


def test_field_limit_of_the_csv_module_is_restored():
    before = csv.field_size_limit()
    read_columns(io.BytesIO(delimited(ROWS, ",")), ["text"], format="csv")
    assert csv.field_size_limit() == before


cells = st.text(st.characters(exclude_categories=["Cs", "Cc"]), max_size=20)


@given(st.lists(st.tuples(cells, cells), min_size=1, max_size=8))
def test_quoted_tables_survive_any_text(rows):
    for delimiter, format in ((",", "csv"), ("\t", "tsv")):
        out = io.StringIO()
        writer = csv.writer(out, delimiter=delimiter, quoting=csv.QUOTE_ALL, lineterminator="\n")
        writer.writerows([("text", "label"), *rows])
        source = io.BytesIO(out.getvalue().encode())
        columns = read_columns(source, ["text", "label"], format=format)
        assert list(zip(*columns.cells, strict=True)) == rows


def refused(content, match, format="csv", names=("text", "label"), style=None):
    if isinstance(content, str):
        content = content.encode()
    with pytest.raises(InputError, match=match):
        read_columns(io.BytesIO(content), names, format=format, style=style)


@pytest.mark.parametrize(
    ("content", "match"),
    [
        ("", "empty"),
        ("text,label\n", "no rows"),
        ("text,lable\na,b\n", "no column `label`; did you mean `lable`"),
        ("text,label,text\na,b,c\n", "line 1: 2 columns are called `text`"),
        ("text,label\na,b\nc\n", "line 3 has 1 fields, the header has 2"),
        ("text,label\na,b,c\n", "line 2 has 3 fields"),
        ('text,label\n"a\nb",x\n"open,y\nz,w\n', r"line 4: .*--no-quotes"),
        ('text,label\n"a"b,x\n', r"line 2: .*--no-quotes"),
        ("text;label\na;b\n", r"not separated by ','; try --delimiter ';'"),
        ("text\tlabel\na\tb\n", r"try --delimiter '\\t'"),
        (
            "id,p,q,label\nr1,1,-2.5e3,a\n",
            "it has `id`.* holds numbers: `naively select --numbers`",
        ),
        ("p,q,r\n1,2,3\n", "holds numbers: `naively select --numbers`"),
        ("site,device,hour,label\na,b,3,1\n", "with --text and --label.$"),
        ("id,words,label\n1,spam,a\n", "`id`, `words`, `label`. Name .* with --text and --label.$"),
        ("p,q,label\n", "`p`, `q`, `label`. Name .* with --text and --label.$"),
    ],
)
def test_bad_delimited_text(content, match):
    refused(content, match)


@pytest.mark.parametrize(
    ("content", "match"),
    [
        ("", "no rows"),
        ('{"text": "a", "label": "b"}\n{"text": "a", \n', "line 2 is not JSON"),
        ('{"text": "a", "label": "b"}\n\n{"text": "a"}\n', "line 3: there is no field `label`"),
        ('{"txt": "a", "label": "b"}\n', "line 1: there is no field `text`; did you mean `txt`"),
        ("[1, 2]\n", "line 1 holds an array, not an object"),
        ("3\n", "line 1 holds a bare value"),
        ("[" * 100_000 + "\n", "line 1 is not JSON"),
    ],
)
def test_bad_json_lines(content, match):
    refused(content, match, "jsonl")


def test_bad_parquet():
    refused(b"PAR1 nonsense", "not a Parquet file", "parquet")
    refused(parquet(ROWS)[:-50], "not a Parquet file", "parquet")
    refused(parquet(ROWS), "no column `lable`; did you mean `label`", "parquet", ["lable"])


def test_parquet_without_the_extra(monkeypatch):
    monkeypatch.setitem(__import__("sys").modules, "pyarrow", None)
    refused(b"PAR1", r"pip install 'naively\[arrow\]'", "parquet")


def test_delimiter_must_be_one_character():
    refused("a", "`--delimiter` must be one character", style=TableStyle(delimiter="ab"))


def test_quotes_as_text_and_tables_without_header():
    source = io.BytesIO(b'pos\t"Great"\nneg\tso "so"\nneg\t"\n')
    style = TableStyle(quotes=False, header=False)
    columns = read_columns(source, ["2", "1"], format="tsv", style=style)
    assert columns.cells == (['"Great"', 'so "so"', '"'], ["pos", "neg", "neg"])


@pytest.mark.parametrize(
    ("value", "text"),
    [(" a ", "a"), (1, "1"), (1.0, "1"), (-1.5, "-1.5"), (True, "true"), (b"x", "x")],
)
def test_labels_as_text(value, text):
    assert label_text(value) == text


@pytest.mark.parametrize("value", [None, "", "  ", float("nan")])
def test_missing_labels(value):
    assert label_text(value) is None


def test_missing_and_odd_labels_name_the_line():
    lines = b'{"text": "a", "label": "x"}\n{"text": "b", "label": %s}\n'
    for value, match in ((b"null", "line 2: the label .* missing"), (b"[1]", "holds a list")):
        columns = read_columns(io.BytesIO(lines % value), ["text", "label"], format="jsonl")
        with pytest.raises(InputError, match=match):
            labels_of(columns, "label")


def test_null_text_is_empty_and_a_list_is_refused():
    lines = b'{"text": null}\n{"text": 3}\n'
    columns = read_columns(io.BytesIO(lines), ["text"], format="jsonl")
    assert texts_of(columns, ["text"]) == [("",), ("3",)]
    columns = read_columns(io.BytesIO(b'{"text": ["a"]}\n'), ["text"], format="jsonl")
    with pytest.raises(InputError, match="line 1: column `text` holds a list"):
        texts_of(columns, ["text"])


def test_lone_surrogates_are_replaced():
    columns = read_columns(io.BytesIO(b'{"text": "a\\ud83d b"}\n'), ["text"], format="jsonl")
    texts_of(columns, ["text"])[0][0].encode()


def test_a_parquet_file_of_numbers_is_told_so():
    out = io.BytesIO()
    pq.write_table(pa.table({"p": [1, 2], "q": [0.5, 1.5], "label": ["a", "b"]}), out)
    refused(out.getvalue(), "no column `text`.* holds numbers: `naively select", "parquet")
    refused(parquet(ROWS), "no column `txt`; did you mean `text`.$", "parquet", ("txt",))
