"""How text files are written is told by their heads, and a right file is never read otherwise."""

import csv
import gzip
import io
import itertools
import json
from contextlib import suppress

import pandas as pd
import pytest
from hypothesis import given, strategies as st

from naively.read import bytes as stored
from naively.read.columns import Wanted
from naively.read.errors import InputError
from naively.read.layout import Layout
from naively.read.parts import batches_of, collected, columns_of, parts_of, told

TEXT = Layout(text=("text",))
ROWS = [("the plain text", "a"), ("so; many, marks|here\t!", "b"), ('a "quoted" one', "a")]
WORDS = st.text(st.characters(codec="utf-8", exclude_characters="\r\0"), max_size=8)
NAMES = {",": "comma", ";": "semicolon", "\t": "tab", "|": "pipe"}


def delimited(rows, delimiter=",", header=("text", "label"), **style):
    out = io.StringIO()
    csv.writer(out, delimiter=delimiter, lineterminator="\n", **style).writerows([header, *rows])
    return out.getvalue()


def rows_in(path, layout):
    """Rows as (text, label), in memory and batch by batch alike."""
    parts = parts_of(path, layout)
    whole = collected(parts, layout)
    batches = [batch for part in parts for batch in batches_of(part, layout)]
    labels = [label for batch in batches for label in batch.labels.tolist()]
    assert labels == whole.labels.tolist()
    texts = [whole.rows.decoded(i) for i in range(len(whole))]
    return list(zip(texts, labels, strict=True)), list(told(parts, layout))


@pytest.mark.parametrize("delimiter", NAMES)
@pytest.mark.parametrize("suffix", ["csv", "tsv"])
def test_the_delimiter_is_the_one_that_fits(tmp_path, delimiter, suffix):
    (tmp_path / f"a.{suffix}").write_text(delimited(ROWS, delimiter))
    rows, said = rows_in(tmp_path / f"a.{suffix}", TEXT)
    assert rows == ROWS
    usual = delimiter == {"csv": ",", "tsv": "\t"}[suffix]
    name = f"{tmp_path}/a.{suffix}: read as {NAMES[delimiter]}-separated, UTF-8."
    assert said == ([] if usual else [name])


@pytest.mark.parametrize("quoted", ["sep=;", '"sep=;"'])
def test_excel_says_its_delimiter_in_a_line_of_its_own(tmp_path, quoted, monkeypatch):
    content = f"{quoted}\r\n" + delimited(ROWS, ";").replace("\n", "\r\n")
    (tmp_path / "a.csv").write_text(content, newline="")
    assert rows_in(tmp_path / "a.csv", TEXT)[0] == ROWS
    (tmp_path / "a.csv").write_text(f"{quoted}\n" + delimited([("x", "y"), ("z",)], ";"))
    monkeypatch.setattr(stored, "BLOCK_BYTES", 4)
    with pytest.raises(InputError, match="line 4 has 1 fields"):
        rows_in(tmp_path / "a.csv", TEXT)


def test_a_line_of_excel_of_its_own_kind(tmp_path):
    """Any delimiter may be said there; `sep=` as a name of a column is none."""
    (tmp_path / "a.csv").write_text("sep=#\n" + delimited(ROWS, "#"))
    assert rows_in(tmp_path / "a.csv", TEXT)[0] == ROWS
    (tmp_path / "a.csv").write_text("sep=;,label\na,b\n")
    assert rows_in(tmp_path / "a.csv", Layout(text=("sep=;",)))[0] == [("a", "b")]


MARKED = {"utf-8-sig": "", "utf-16": "UTF-16", "utf-32": "UTF-32", "cp1252": "Windows-1252"}


@pytest.mark.parametrize("encoding", MARKED)
@pytest.mark.parametrize("suffix", ["csv", "jsonl", "csv.gz"])
def test_the_encoding_is_told_by_the_bytes(tmp_path, encoding, suffix):
    rows = [*ROWS, ("Grüße aus Köln – “ganz” schön", "b")]
    content = delimited(rows, ";")
    if suffix == "jsonl":
        lines = (dict(zip(("text", "label"), row, strict=True)) for row in rows)
        content = "".join(json.dumps(line, ensure_ascii=False) + "\n" for line in lines)
    content = content.encode(encoding)
    (tmp_path / f"a.{suffix}").write_bytes(gzip.compress(content) if "gz" in suffix else content)
    found, said = rows_in(tmp_path / f"a.{suffix}", TEXT)
    assert found == rows
    name = MARKED[encoding] or ("UTF-8" if suffix != "jsonl" else "")
    assert [each.rpartition(" ")[2] for each in said] == ([f"{name}."] if name else [])


@pytest.mark.parametrize(
    "content",
    [
        "text,label\nπλήρης ".encode() + b"\xff,a\n",  # damaged UTF-8
        "text,label\nПривет мир,a\n".encode("koi8-r"),
        "text,label\nこんにちは,a\n".encode("shift-jis"),
        b"text,label\n\x81bc,a\n",  # a byte without meaning
    ],
)
def test_what_is_not_western_is_refused_with_its_line(tmp_path, content):
    (tmp_path / "a.csv").write_bytes(content)
    with pytest.raises(InputError, match="line 2: byte 0x.* is not utf-8.*--read encoding"):
        rows_in(tmp_path / "a.csv", TEXT)


def test_columns_of_other_names_are_told_whatever_separates_them(tmp_path):
    lines = [("Nachricht", "Kategorie", "Urteil"), ("Grüße, Karl", "a", "b"), ("Hallo", "b", "c")]
    for delimiter in ";\t|":
        content = "\ufeff" + "\n".join(map(delimiter.join, lines))
        (tmp_path / "a.csv").write_text(content, "utf-8")
        with pytest.raises(InputError) as error:
            rows_in(tmp_path / "a.csv", TEXT)
        assert "there are no columns `text` and `label`; it has `Nachricht`, `Kate" in str(
            error.value
        )
        assert "--text and --label" in str(error.value)
        assert "separated" not in str(error.value)
        with pytest.raises(InputError, match="`nachricht`; did you mean `Nachricht`"):
            rows_in(tmp_path / "a.csv", Layout(text=("nachricht",), label="Urteil"))
        with pytest.raises(InputError, match="no column `text`; it has `Nachricht`"):
            rows_in(tmp_path / "a.csv", Layout(text=("text",), label="Urteil"))


@pytest.mark.parametrize(
    ("option", "asks"),
    [
        ({"split": "fold"}, "--read split asks for"),
        ({"key": "fold"}, "--id asks for"),
        ({"group": "fold"}, "--read groups or --read time asks for"),
    ],
)
@pytest.mark.parametrize("format", ["csv", "jsonl", "parquet"])
def test_the_option_that_asks_for_a_column_is_named(tmp_path, option, asks, format):
    frame = pd.DataFrame({"text": ["a b", "c d"], "label": ["x", "y"]})
    file = tmp_path / f"a.{format}"
    if format == "parquet":
        frame.to_parquet(file)
    elif format == "csv":
        frame.to_csv(file, index=False)
    else:
        frame.to_json(file, orient="records", lines=True)
    with pytest.raises(InputError) as error:
        rows_in(file, Layout(text=("text",), **option))
    assert f"`fold`, which {asks}; it has `text`, `label`." in str(error.value)
    assert "--text" not in str(error.value)


@pytest.mark.parametrize("format", ["csv", "tsv"])
def test_lines_of_fasttext_are_known(tmp_path, format):
    lines = "__label__spam buy now\n__label__ham see you, at noon\n"
    (tmp_path / f"a.{format}").write_text(lines)
    with pytest.raises(InputError, match="line 1: begins with __label__.*sed -E .*--label 1"):
        rows_in(tmp_path / f"a.{format}", TEXT)
    (tmp_path / "b.tsv").write_text(lines.replace(" ", "\t", 1).replace("ham ", "ham\t"))
    found, _ = rows_in(tmp_path / "b.tsv", Layout(text=("2",), label="1", header=False))
    assert found == [("buy now", "__label__spam"), ("see you, at noon", "__label__ham")]


def test_options_win(tmp_path):
    (tmp_path / "a.csv").write_bytes(delimited([("Grüße", "a")], ";").encode("cp1252"))
    with pytest.raises(InputError, match="byte 0xfc is not utf-8"):
        rows_in(tmp_path / "a.csv", Layout(text=("text",), encoding="utf-8"))
    with pytest.raises(InputError, match="not separated by ','"):
        rows_in(tmp_path / "a.csv", Layout(text=("text",), delimiter=","))
    told_so = Layout(text=("text",), delimiter=";", encoding="cp1252")
    assert rows_in(tmp_path / "a.csv", told_so) == ([("Grüße", "a")], [])


@pytest.mark.parametrize(
    ("second", "match"),
    [
        (delimited(ROWS, "|").encode(), "b.csv: looks pipe-separated, and .*a.csv is read as semi"),
        (delimited([("ü", "a")], ";").encode(), "looks UTF-8, .*Windows-1252; .*--read encoding"),
    ],
)
def test_another_file_that_contradicts_the_first_is_refused(tmp_path, second, match):
    (tmp_path / "a.csv").write_bytes(delimited([("Grüße", "a")], ";").encode("cp1252"))
    (tmp_path / "b.csv").write_bytes(second)
    with pytest.raises(InputError, match=match):
        parts_of(tmp_path / "?.csv", TEXT)
    (tmp_path / "b.csv").write_text(delimited([("plain", "a")], ";"))  # ASCII is alike in both
    assert rows_in(tmp_path / "?.csv", TEXT)[0] == [("Grüße", "a"), ("plain", "a")]


def test_tables_of_numbers(tmp_path):
    (tmp_path / "a.csv").write_text("label;u;v\na;1;2\nb;3;4.5\n")
    layout = Layout()
    batch = collected(parts_of(tmp_path / "a.csv", layout), layout)
    assert batch.rows.tolist() == [[1, 2], [3, 4.5]]
    wanted = Layout(needs_label=False, wanted=Wanted(2, ["v", "u"]))
    (tmp_path / "b.csv").write_text("u|v\n1|2\n")
    assert collected(parts_of(tmp_path / "b.csv", wanted), wanted).rows.tolist() == [[2, 1]]
    (tmp_path / "c.csv").write_text("g;s1;s2\nu;1;2\nlabel;a;b\n")
    turned = Layout(transpose=True)
    assert list(columns_of(parts_of(tmp_path / "c.csv", turned), turned).names) == ["u"]
    (tmp_path / "d.csv").write_text("a;x y\nb;z, w\n")
    bare = Layout(text=("2",), label="1", header=False)
    assert rows_in(tmp_path / "d.csv", bare)[0] == [("x y", "a"), ("z, w", "b")]


@given(
    header=st.permutations(["text", "label", "a;b|c\td"]),
    rows=st.lists(st.tuples(WORDS, st.sampled_from(["a;b", "c|d", "e"]), WORDS), min_size=1),
    mark=st.booleans(),
)
def test_no_file_that_is_right_is_read_in_another_way(tmp_path_factory, header, rows, mark):
    """Whatever marks and letters it holds: with commas in UTF-8 it is read as ever."""
    path = tmp_path_factory.mktemp("sniff") / "a.csv"
    path.write_bytes(b"\xef\xbb\xbf" * mark + delimited(rows, header=header).encode())
    found, said = rows_in(path, TEXT)
    asked = Layout(text=("text",), delimiter=",", encoding="utf-8")
    assert (found, said) == (rows_in(path, asked)[0], [])
    text, label = header.index("text"), header.index("label")
    assert [row[0] for row in found] == [row[text] for row in rows if any(row)]
    assert [row[1] for row in found] == [row[label].strip() for row in rows if any(row)]


@given(
    rows=st.lists(st.tuples(WORDS, st.sampled_from(["a,b", "c|d", "e"])), min_size=1),
    delimiter=st.sampled_from(sorted(set(NAMES) - {","})),
)
def test_any_delimiter_that_fits_is_found(tmp_path_factory, rows, delimiter):
    path = tmp_path_factory.mktemp("sniff") / "a.csv"
    path.write_bytes(delimited(rows, delimiter).encode())
    assert rows_in(path, TEXT)[0] == list(itertools.starmap(lambda t, y: (t, y), rows))


@given(st.binary(max_size=60), st.sampled_from([b"", b"\xff\xfe", b"sep=;\n", b"text;"]))
def test_any_bytes_are_read_or_refused(tmp_path_factory, content, mark):
    path = tmp_path_factory.mktemp("sniff") / "a.csv"
    path.write_bytes(mark + content)
    with suppress(InputError):
        rows_in(path, TEXT)
