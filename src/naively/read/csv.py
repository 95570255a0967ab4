"""CSV and TSV: Python's strict reader, or the same fields all at once where the text is regular.

A stray quotation mark is an error that names its line, and so is one that is never closed, or
closed so late that it has swallowed rows.
"""

from __future__ import annotations

import csv
import io
import re
from collections.abc import Iterator, Sequence
from contextlib import contextmanager, suppress
from dataclasses import dataclass, replace
from functools import partial
from itertools import chain
from operator import itemgetter
from typing import Any, TypeAlias

import numpy as np

from naively.read import batch as limits
from naively.read.batch import Batch, Part, Places
from naively.read.bytes import LARGEST_LINE, blocks, count_lines, decoded, whole_file
from naively.read.columns import Columns
from naively.read.errors import InputError
from naively.read.fields import Fields, split_fields
from naively.read.formats import USUAL_DELIMITER
from naively.read.layout import Layout
from naively.read.style import pointed
from naively.read.table import (
    Records,
    Rows,
    check_columns,
    check_header,
    is_number,
    number_batches,
    number_columns,
    text_batch,
    wanted_columns,
)
from naively.text.labels import clean

_MOST_CELLS = 1 << 17  # of a batch, while they are strings
_FASTTEXT = re.compile(r"\s*__label__\S+\s+\S")  # label and text in one field
_ROWS_IN_A_CELL = 10  # that look like rows of the table, where labels cannot tell

_Record: TypeAlias = tuple[int, int, list[str]]  # line it begins with, lines it takes, fields

cut = whole_file  # where a quoted field ends is known from the start only


def batches(part: Part, layout: Layout) -> Iterator[Batch]:
    """Rows of a file, in batches."""
    table, row = _opened(part, layout)
    if not layout.text:
        yield from number_batches(part, Records(table.names, _all_rows(table)), layout)
        return
    check_columns(part.source, table.names, layout, list(map(is_number, row)))
    yield from _text_batches(table)


def columns(part: Part, layout: Layout) -> Columns:
    """Columns of numbers."""
    table, _ = _opened(part, layout)
    return number_columns(part, Records(table.names, _all_rows(table)), layout)


@contextmanager
def records(part: Part, layout: Layout) -> Iterator[Records]:
    """All rows, as they are written."""
    table, _ = _opened(part, layout)
    yield Records(table.names, _all_rows(table), written=True)


@dataclass(frozen=True, slots=True)
class _Table:
    """A file that is being read."""

    part: Part
    layout: Layout
    delimiter: str
    names: list[str]  # of the columns

    @property
    def label(self) -> int | None:
        """Where the label stands, if it is there."""
        name = self.layout.label_column
        return self.names.index(name) if name in self.names else None


# Header ----------------------------------------------------------------------------------------


def _opened(part: Part, layout: Layout) -> tuple[_Table, list[str]]:
    """Return the table, and its first row; empty if there is none."""
    usual = USUAL_DELIMITER[part.format]
    table = _Table(part, layout, usual if layout.delimiter is None else layout.delimiter, [])
    records = _records(table, _blocks(table), 1 + layout.skip)
    with _any_field_size():
        first = next(records, (1, 1, None))[2]
    if first is None:
        raise InputError(f"{part.source}: the file is empty; give one with data in it.")
    if _FASTTEXT.match(first[0]):
        raise InputError(
            f"{part.line(1 + layout.skip)}: begins with __label__, as files of fastText do; make "
            "a table of label and text of it: sed -E 's/^__label__([^ ]+) /\\1\\t/' FILE > "
            "FILE.tsv, and read that with --read header=false --read quotes=false --label 1 "
            "--text 2."
        )
    if not layout.headed:
        return replace(table, names=[str(i + 1) for i in range(len(first))]), first
    _check_delimiter(table, first)
    names, row = [clean(name).strip() for name in first], list[str]()
    check_header(part.line(1 + layout.skip), names, layout)
    with suppress(InputError):  # said when the rows are read
        row = next(records, (1, 1, row))[2]
    if not layout.text and len(row) == len(names) + 1:  # as R writes names of rows
        names.insert(0, "")
    return replace(table, names=names), row


def _check_delimiter(table: _Table, header: list[str]) -> None:
    others = (each for each in ";\t,|" if each != table.delimiter and each in header[0])
    other = next(others, None)
    if len(header) == 1 and other and header[0] not in wanted_columns(table.layout):
        raise InputError(
            f"{table.part.line(1)}: the columns are not separated by {table.delimiter!r}; "
            f"try --read delimiter={other!r}."
        )


# Python's reader -------------------------------------------------------------------------------


def _blocks(table: _Table) -> Iterator[tuple[int, bytes]]:
    part, layout = table.part, table.layout
    pieces = blocks(part.path, part.source, part.begin, part.end, layout.coding)
    for line, piece in pieces:
        if line > layout.skip:
            yield line, piece
            continue
        start = 0
        for _ in range(line, layout.skip + 1):
            start = piece.find(b"\n", start) + 1 or len(piece)
        if start < len(piece):
            yield layout.skip + 1, piece[start:]


def _records(table: _Table, pieces: Iterator[tuple[int, bytes]], start: int) -> Iterator[_Record]:
    """Yield all records; the first piece begins with line `start`."""
    texts = (decoded(block, table.part.line, line) for line, block in pieces)
    lines = chain.from_iterable(io.StringIO(text, newline="\n") for text in texts)
    quoting: Any = csv.QUOTE_MINIMAL if table.layout.quotes else csv.QUOTE_NONE
    try:
        reader = csv.reader(lines, delimiter=table.delimiter, quoting=quoting, strict=True)
    except (TypeError, ValueError) as error:
        raise InputError(
            f"`--read delimiter` must be one character, such as ';'; got {table.delimiter!r}."
        ) from error
    line = start
    try:
        for record in reader:
            if record:
                yield line, start + reader.line_num - line, record
            line = start + reader.line_num
    except csv.Error as error:
        raise InputError(f"{table.part.line(line)}: {_fault(table, error)}.") from error


def _fault(table: _Table, error: csv.Error) -> str:
    if "new-line character" in str(error):
        return "a carriage return stands alone; save the file with line ends LF or CRLF"
    if table.layout.quotes:
        return f"{error}; if quotation marks are part of the text, add --read quotes=false"
    return f"{error}; mend the line"


@contextmanager
def _any_field_size() -> Iterator[None]:
    # Documents are longer than the 131,072 characters that the csv module allows by default.
    before = csv.field_size_limit(LARGEST_LINE)
    try:
        yield
    finally:
        csv.field_size_limit(before)


def _all_rows(table: _Table) -> Iterator[Rows]:
    rows = _rows(table, _blocks(table), 1 + table.layout.skip, header=table.layout.headed)
    return rows if table.layout.decimal == "." else map(_pointed, rows)


def _pointed(rows: Rows) -> Rows:
    """Rows whose numbers have points for commas."""
    return Rows([list(map(pointed, row)) for row in rows.cells], rows.numbers)


def _rows(
    table: _Table, pieces: Iterator[tuple[int, bytes]], start: int, *, header: bool
) -> Iterator[Rows]:
    """Rows in groups of bounded size; the first may be the header, which is left out."""
    records = _records(table, pieces, start)
    while True:
        with _any_field_size():
            if header:
                next(records, None)
            rows, header = _some(table, records), False
        if not rows.cells:
            return
        yield rows


def _some(table: _Table, records: Iterator[_Record]) -> Rows:
    """Next records, up to a number of them and of characters."""
    cells, lines, tall, size = list[list[str]](), list[int](), list[int](), 0
    most = min(limits.BATCH_ROWS, max(_MOST_CELLS // len(table.names), 1))
    for line, height, record in records:
        if len(record) != len(table.names):
            what = "header" if table.layout.headed else "first line"
            raise InputError(
                f"{table.part.line(line)} has {len(record)} fields, the {what} has "
                f"{len(table.names)}; mend the line (text that holds the delimiter needs "
                "quotation marks around it)."
            )
        if height > 1:
            tall.append(len(cells))
        cells.append(record)
        lines.append(line)
        size += sum(map(len, record))
        if len(cells) >= most or size >= limits.BATCH_BYTES:
            break
    place = table.label
    known = {record[place].strip() for record in cells} if tall and place is not None else None
    for i in tall:
        _check_swallowed(table, cells[i], lines[i], known)
    return Rows(cells, np.array(lines, dtype=np.int64))


# Rows inside of a field ------------------------------------------------------------------------


def _check_swallowed(
    table: _Table, record: Sequence[str], line: int, known: set[str] | None
) -> None:
    """Refuse a field whose lines are rows of the table: its quotation mark was not closed."""
    for column, field in enumerate(record):
        lines = field.count("\n")
        if not lines or field.count(table.delimiter) != lines * (len(record) - 1):
            continue
        rows = [each.split(table.delimiter) for each in field.split("\n")]
        rows[0], rows[-1] = [*record[:column], *rows[0]], [*rows[-1], *record[column + 1 :]]
        if len(record) == 1 or any(len(row) != len(record) for row in rows):
            continue
        place, alike = table.label, lines >= _ROWS_IN_A_CELL
        if place is not None and known is not None:
            alike = {row[place].strip() for row in rows} <= known
        if alike:
            raise InputError(
                f"{table.part.line(line)}: the quotation mark that opens here is closed only at "
                f"line {line + lines:,}, and the lines between look like rows; close it, or add "
                "--read quotes=false if quotation marks are part of the text."
            )


# Texts -----------------------------------------------------------------------------------------


def _text_batches(table: _Table) -> Iterator[Batch]:
    """Fields of whole blocks while they are regular, then rows of Python's reader."""
    pieces, header, line, left = _blocks(table), table.layout.headed, 1, b""
    for number, block in pieces:
        line = line if left else number
        left += block if block.endswith(b"\n") else block + b"\n"
        fields = _fields(table, left, line)
        if fields is None:
            break
        if len(fields) > header:
            yield _field_batch(table, fields, line, header)
        header = header and not len(fields)
        line, left = line + count_lines(left[: fields.end]), left[fields.end :]
    if left:
        rest = _rows(table, chain([(line, left)], pieces), line, header=header)
        yield from map(partial(_row_batch, table), rest)


def _fields(table: _Table, block: bytes, line: int) -> Fields | None:
    delimiter = table.delimiter
    if not (len(delimiter) == 1 and delimiter.isascii()) or len(block) > LARGEST_LINE:
        return None
    if not block.isascii():
        decoded(block, table.part.line, line)
    return split_fields(block, ord(delimiter), len(table.names), quotes=table.layout.quotes)


def _field_batch(table: _Table, fields: Fields, line: int, first: int) -> Batch:
    """Make a batch of all fields from a row on."""
    columns = {name: table.names.index(name) for name in wanted_columns(table.layout)}
    cells = {name: fields.column(j).rows(first, len(fields)) for name, j in columns.items()}
    places = Places((table.part,), fields.lines[first:] + line)
    batch = text_batch(cells, places, table.layout)
    if fields.many.any():
        known = None if batch.labels is None else set(batch.labels.tolist())
        for i in np.flatnonzero(fields.many).tolist():
            _check_swallowed(table, fields.record(i), int(fields.lines[i]) + line, known)
    return batch


def _row_batch(table: _Table, rows: Rows) -> Batch:
    places = {name: table.names.index(name) for name in wanted_columns(table.layout)}
    cells = {name: list(map(itemgetter(j), rows.cells)) for name, j in places.items()}
    return text_batch(cells, Places((table.part,), rows.numbers), table.layout)
