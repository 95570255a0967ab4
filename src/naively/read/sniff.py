"""How text files are written: delimiter, encoding and Excel's first line, told by their heads.

What is usual holds wherever it can be read so; another way is taken only where the usual one would
be refused and exactly one other fits. So no file that is right is read in another way.
"""

from __future__ import annotations

import codecs
import csv
import io
import re
from collections.abc import Iterator, Sequence
from contextlib import suppress
from dataclasses import replace
from itertools import islice
from typing import Any

import numpy as np

from naively.read.batch import Part
from naively.read.bytes import BROKEN, unpacked
from naively.read.errors import InputError
from naively.read.formats import USUAL_DELIMITER
from naively.read.layout import Layout
from naively.read.style import THOUSANDS, Style, has_comma
from naively.read.table import wanted_columns
from naively.text.labels import clean

HEAD_BYTES = 1 << 20
_PIECE = 1 << 16
_ROWS = 20  # of the head that are looked at
_DELIMITERS = {",": "comma", ";": "semicolon", "\t": "tab", "|": "pipe"}
_ENCODINGS = {"utf-8": "UTF-8", "utf-16": "UTF-16", "utf-32": "UTF-32", "cp1252": "Windows-1252"}
_MARKS = (  # a mark of UTF-32 begins as one of UTF-16 does
    (codecs.BOM_UTF8, "utf-8"),
    (codecs.BOM_UTF32_LE, "utf-32"),
    (codecs.BOM_UTF32_BE, "utf-32"),
    (codecs.BOM_UTF16_LE, "utf-16"),
    (codecs.BOM_UTF16_BE, "utf-16"),
)
_POINT = re.compile(r"[+-]?\d*\.\d+(?:[eE][+-]?\d+)?")
_FIRST_LINE = "sep="  # of Excel, before a delimiter

Styles = dict[str, tuple[Style, str]]  # of a job: of each format, and the file that decided


def style_of(path: str, source: str, format: str, layout: Layout, known: Styles) -> Style | None:
    """Return how a file is written; None where that is no question.

    The first file of a format decides for all of a job; what was given as an option holds.

    Parameters
    ----------
    path, source, format, layout
        The file, what it is called, and where things should stand.
    known
        What was decided; filled by the first file.

    Raises
    ------
    InputError
        If the file contradicts the first.
    """
    if format not in (*USUAL_DELIMITER, "jsonl"):
        return None
    head, first = _head(path, source), known.get(format)
    encoding = layout.encoding or _encoding(head)
    if first is not None and encoding not in (None, first[0].encoding):
        raise _contradiction(source, _ENCODINGS[encoding], first, "encoding")
    encoding = first[0].encoding if first else encoding or "utf-8"
    style = Style(encoding, layout.delimiter)
    if format in USUAL_DELIMITER:
        usual = USUAL_DELIMITER[format] if first is None else str(first[0].delimiter)
        text = _decoded(head, encoding)
        style = _delimited(text, usual, style, layout)
        if not layout.text:
            style = replace(style, decimal=_decimal(_records(text, style, layout)))
        if first is not None and style.delimiter != first[0].delimiter:
            raise _contradiction(source, _separated(style), first, "delimiter")
    known.setdefault(format, (style, source))
    return style


def told(parts: Sequence[Part], layout: Layout) -> Iterator[str]:
    """Say how files are read, where that is neither usual nor asked for."""
    first = {(part.format, part.style): part for part in reversed(parts) if part.style is not None}
    for (format, found), part in first.items():
        style = found or Style()
        odd = style.decimal != "." or (layout.encoding is None and style.encoding != "utf-8")
        if format in USUAL_DELIMITER and layout.delimiter is None:
            odd |= style.delimiter != USUAL_DELIMITER[format]
        if odd:
            yield f"{part.source}: read as {_described(style)}."


def _described(style: Style) -> str:
    decimals = "numbers with decimal commas" * (style.decimal == ",")
    how = [_separated(style), _ENCODINGS.get(style.encoding, ""), decimals]
    return ", ".join(filter(None, how))


def _separated(style: Style) -> str:
    delimiter = style.delimiter
    return "" if delimiter is None else f"{_DELIMITERS.get(delimiter, delimiter)}-separated"


def _contradiction(source: str, what: str, first: tuple[Style, str], option: str) -> InputError:
    return InputError(
        f"{source}: looks {what}, and {first[1]} is read as {_described(first[0])}; write all "
        f"files alike, or say with --read {option} how they are written."
    )


# Bytes -----------------------------------------------------------------------------------------


def _head(path: str, source: str) -> bytes:
    head = b""
    # What is broken is told when it is read.
    with suppress(*BROKEN), unpacked(path, source) as file:
        while len(head) < HEAD_BYTES and (piece := file.read(_PIECE)):
            head += piece
    return head


def _encoding(head: bytes) -> str | None:
    """Tell the encoding of a head; None if it is ASCII, which is alike in most."""
    marked = next((name for mark, name in _MARKS if head.startswith(mark)), None)
    if marked is not None or head.isascii():
        return marked
    # The last character may be cut off.
    text = codecs.getincrementaldecoder("utf-8")("replace").decode(head)
    meant = head.count("\ufffd".encode())
    broken = text.count("\ufffd") - meant
    whole = len(text) - len(text.encode("ascii", "ignore")) - meant - broken
    return "cp1252" if broken > whole and _is_western(head) else "utf-8"


def _is_western(head: bytes) -> bool:
    """Whether bytes are text in Windows-1252: none without meaning, few amid others beyond ASCII.

    In other alphabets such bytes make up whole words.
    """
    try:
        head.decode("cp1252")
    except UnicodeDecodeError:
        return False
    beyond = np.frombuffer(head, dtype=np.uint8) >= 128
    amid = beyond[:-2] & beyond[1:-1] & beyond[2:]
    return b"\0" not in head and bool(2 * amid.sum() <= beyond.sum())


def _decoded(head: bytes, encoding: str) -> str:
    """Whole lines of a head as text; empty if the encoding is none."""
    with suppress(LookupError, ValueError):
        text = codecs.getincrementaldecoder(encoding)("replace").decode(head)
        text = text.removeprefix("\ufeff")
        return text if len(head) < HEAD_BYTES else text[: text.rfind("\n") + 1] or text
    return ""


# Delimiters ------------------------------------------------------------------------------------


def _delimited(text: str, usual: str, style: Style, layout: Layout) -> Style:
    """Add delimiter and first line to a style."""
    asked = style.delimiter
    style = replace(style, delimiter=usual if asked is None else asked)
    if _fits(text, style, layout):
        return style
    line, _, rest = text.partition("\n")
    line = line.strip("\r").strip('"')
    if line.startswith(_FIRST_LINE) and len(line) == len(_FIRST_LINE) + 1:
        own = replace(style, delimiter=line[-1] if asked is None else asked, skip=1)
        if _fits(rest, own, layout):
            return own
    if asked is not None:
        return style
    others = [replace(style, delimiter=each) for each in _DELIMITERS if each != usual]
    fitting = [each for each in others if _fits(text, each, layout, strictly=True)]
    if not fitting and not _parts(text, style, layout):  # columns of other names are told by it
        fitting = [each for each in others if _parts(text, each, layout)]
    return fitting[0] if len(fitting) == 1 else style


def _decimal(records: list[list[str]]) -> str:
    """Tell what numbers have for a point: a comma if some have one, and none has a point.

    Thousands may be written as 1,234, so that three digits behind a comma say nothing.
    """
    cells = {cell.strip() for record in records for cell in record}
    commas = any(has_comma(cell) and not THOUSANDS.fullmatch(cell) for cell in cells)
    return "," if commas and not any(map(_POINT.fullmatch, cells)) else "."


def _fits(text: str, style: Style, layout: Layout, *, strictly: bool = False) -> bool:
    """Whether the columns wanted are there; strictly: and rows are as long as the first."""
    records = _records(text, style, layout)
    if not records:
        return False
    widths = {len(record) for record in records[1:]}
    width = len(records[0])
    even = widths <= {width} or (layout.headed and not layout.text and widths == {width + 1})
    names = [clean(name).strip() for name in records[0]]
    if not layout.headed:
        names = [str(i + 1) for i in range(width)]
    wanted = _wanted(layout)
    if not set(wanted) <= set(names) or (not wanted and width < 2):
        return False
    return even if strictly or not layout.headed else True


def _parts(text: str, style: Style, layout: Layout) -> bool:
    """Whether all rows have as many fields, two or more, whatever they are called."""
    widths = {len(record) for record in _records(text, style, layout)}
    return len(widths) == 1 and widths != {1}


def _wanted(layout: Layout) -> list[str]:
    """Return the columns that must be there."""
    if layout.transpose:
        return []
    names = () if layout.wanted is None or layout.text else layout.wanted.names or ()
    return [*wanted_columns(layout), *names]


def _records(text: str, style: Style, layout: Layout) -> list[list[str]]:
    quoting: Any = csv.QUOTE_MINIMAL if layout.quotes else csv.QUOTE_NONE
    lines = io.StringIO(text, newline="\n")
    before, records = csv.field_size_limit(HEAD_BYTES), list[list[str]]()
    try:
        reader = csv.reader(lines, delimiter=style.delimiter or "", quoting=quoting)
        records += islice(filter(None, reader), _ROWS)
    except (csv.Error, TypeError, ValueError):  # told when the rows are read
        pass
    finally:
        csv.field_size_limit(before)
    return records
