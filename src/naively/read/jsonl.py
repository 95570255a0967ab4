"""JSON Lines: blocks of lines at once through Arrow, or line by line where they are not alike.

A file that begins with a bracket is an array of objects, which are read one by one.
"""

from __future__ import annotations

import json
import os
import re
from collections.abc import Iterator, Sequence
from contextlib import contextmanager, suppress
from dataclasses import replace
from itertools import chain, islice
from typing import Any

import numpy as np

from naively._types import IntArray
from naively.read import batch as limits, bytes as stored
from naively.read.batch import Batch, Part, Places
from naively.read.cells import Cells
from naively.read.columns import Columns
from naively.read.errors import InputError, cause
from naively.read.layout import Layout
from naively.read.table import (
    Records,
    Rows,
    lacking,
    number_batches,
    number_columns,
    text_batch,
    wanted_columns,
)
from naively.text.labels import clean

PART_BYTES = 1 << 26
_HEAD = 4096
_BLANKS = " \t\r\n"
_BLANK = re.compile(f"[{_BLANKS}]*")
_LONGEST_WORD = 16  # of JSON outside of strings: a number or a literal that is cut off
_WANTED = {"[": "an opening bracket", ",": "a comma or the closing bracket", "end": "the end"}


def cut(path: str, layout: Layout) -> list[tuple[int, int]]:
    """Cut a file into ranges of bytes; each line belongs to the range that it begins in."""
    size = os.path.getsize(path)
    if stored.in_one_piece(path, layout.coding) or _is_array(path, layout):
        return [(0, size)]
    starts = range(0, max(size, 1), PART_BYTES)
    return [(start, min(start + PART_BYTES, size)) for start in starts]


def batches(part: Part, layout: Layout) -> Iterator[Batch]:
    """Rows of the lines that begin in a part, in batches."""
    if not layout.text:
        yield from number_batches(part, _records(part, layout), layout)
        return
    if _is_array(part.path, layout):
        yield from _array_batches(part, layout)
        return
    names = wanted_columns(layout)
    for line, block in _blocks(part, layout):
        table, numbers = _parsed(block, names), _numbers(block, line)
        cells: dict[str, Cells] = {}
        if table is not None and len(numbers) == table.num_rows:
            cells = {name: table.column(name).combine_chunks() for name in names}
        else:
            rows = list(_lines(block, line, part))
            numbers = np.array([number for number, _ in rows], dtype=np.int64)
            cells = _columns(rows, names, part, layout)
        if len(numbers):
            yield text_batch(cells, Places((part,), numbers), layout)


def columns(part: Part, layout: Layout) -> Columns:
    """Columns of numbers."""
    return number_columns(part, _records(part, layout), layout)


@contextmanager
def records(part: Part, layout: Layout) -> Iterator[Records]:
    """All rows, as JSON has them."""
    yield _records(part, layout)


def _blocks(part: Part, layout: Layout) -> Iterator[tuple[int, bytes]]:
    return stored.blocks(part.path, part.source, part.begin, part.end, layout.coding)


def _numbers(block: bytes, line: int) -> Sequence[int] | IntArray:
    """Lines of a block, if none is empty."""
    return range(line, line + stored.count_lines(block) + (not block.endswith(b"\n")))


# Lines at once ---------------------------------------------------------------------------------


def _parsed(block: bytes, names: list[str]) -> Any:
    """Parse lines at once; None if that needs another look, at each line."""
    try:
        import pyarrow as pa
        from pyarrow import json as arrow
    except ImportError:
        return None
    schema = _schema(block, names)
    if schema is None:
        return None
    try:
        table = arrow.read_json(
            pa.BufferReader(block),
            arrow.ReadOptions(use_threads=False, block_size=len(block) + 1),
            arrow.ParseOptions(explicit_schema=schema, unexpected_field_behavior="ignore"),
        )
        # Arrow takes any bytes for text, and a field that is missing for null.
        table.validate(full=True)
    except pa.ArrowException:
        return None
    return None if any(column.null_count for column in table.columns) else table


def _schema(block: bytes, names: list[str]) -> Any:
    """Return the types of some fields in the first line, if they are not numbers with a point.

    Those are read line by line: as one type whole numbers among them would lose digits.
    """
    import pyarrow as pa

    kinds = {str: pa.string(), bool: pa.bool_(), int: pa.int64()}
    try:
        record = json.loads(block[: block.find(b"\n") + 1 or None])
        types = [
            pa.list_(pa.string()) if type(record[name]) is list else kinds[type(record[name])]
            for name in names
        ]
    except (ValueError, LookupError, TypeError, RecursionError):
        return None
    return pa.schema(list(zip(names, types, strict=True)))


# Line by line ----------------------------------------------------------------------------------


def _lines(block: bytes, first: int, part: Part) -> Iterator[tuple[int, dict[str, Any]]]:
    for number, line in enumerate(block.split(b"\n"), first):
        if line.strip():
            yield number, _record(line, number, part)


def _record(line: bytes, number: int, part: Part) -> dict[str, Any]:
    try:
        return _object(json.loads(line.decode(), object_pairs_hook=_distinct), number, part)
    except InputError:
        raise
    except UnicodeDecodeError as error:
        raise stored.undecodable(part.line, number, error, "utf-8") from error
    except (ValueError, RecursionError) as error:
        raise _no_json(part, number, error) from error


class _TwiceError(ValueError):
    """A name of two fields, of which JSON readers keep the last unseen."""


def _distinct(fields: list[tuple[str, Any]]) -> dict[str, Any]:
    record = dict(fields)
    if len(record) < len(fields):
        names = [name for name, _ in fields]
        raise _TwiceError(next(name for name in record if names.count(name) > 1))
    return record


def _no_json(part: Part, number: int, error: Exception) -> InputError:
    if isinstance(error, _TwiceError):
        name = f"2 fields are called `{clean(str(error))}`"
        return InputError(f"{part.line(number)}: {name}; rename all but one.")
    return InputError(
        f"{part.line(number)} is not JSON ({getattr(error, 'msg', cause(error))}); "
        "write one object a line."
    )


def _object(record: Any, number: int, part: Part) -> dict[str, Any]:
    if not isinstance(record, dict):
        kind = "an array" if isinstance(record, list) else "a bare value"
        raise InputError(
            f"{part.line(number)} holds {kind}, not an object; write one object a line."
        )
    return record


def _columns(
    rows: list[tuple[int, dict[str, Any]]], names: list[str], part: Part, layout: Layout
) -> dict[str, list[Any]]:
    for number, record in rows:
        for name in names:
            if name not in record:
                raise lacking(part.line(number), "field", name, record, layout, layout.roles_way)
    return {name: [record[name] for _, record in rows] for name in names}


# Numbers ---------------------------------------------------------------------------------------


def _records(part: Part, layout: Layout) -> Records:
    """Fields of all lines, in the order of the first line of the file."""
    names = [clean(name).strip() for name in _first(part, layout)]
    return Records(names, _rows(part, layout))


def _first(part: Part, layout: Layout) -> dict[str, Any]:
    start = replace(part, begin=0)
    return next((record for _, record in chain.from_iterable(_pieces(start, layout))), {})


def _rows(part: Part, layout: Layout) -> Iterator[Rows]:
    keys = list(_first(part, layout))
    for lines in _pieces(part, layout):
        while some := list(islice(lines, limits.height(64 * len(keys)))):
            if layout.variables is None:
                cells = _columns(some, keys, part, layout)
            else:  # a field that is not there is missing
                cells = {key: [record.get(key) for _, record in some] for key in keys}
            numbers: IntArray = np.array([number for number, _ in some])
            yield Rows(list(zip(*cells.values(), strict=True)), numbers)


def _pieces(part: Part, layout: Layout) -> Iterator[Iterator[tuple[int, dict[str, Any]]]]:
    """Objects with their lines, block by block, or all of an array."""
    if _is_array(part.path, layout):
        yield _elements(part, layout)
        return
    for line, block in _blocks(part, layout):
        yield _lines(block, line, part)


# An array --------------------------------------------------------------------------------------


def _is_array(path: str, layout: Layout) -> bool:
    with suppress(*stored.BROKEN), stored.unpacked(path) as file:
        head = file.read(_HEAD).decode(layout.coding, "ignore")
        return head.removeprefix("\ufeff").lstrip(_BLANKS).startswith("[")
    return False


def _array_batches(part: Part, layout: Layout) -> Iterator[Batch]:
    records, names, size = _elements(part, layout), wanted_columns(layout), 1
    while some := list(islice(records, size)):
        cells = _columns(some, names, part, layout)
        numbers = np.array([number for number, _ in some], dtype=np.int64)
        batch = text_batch(cells, Places((part,), numbers), layout)
        yield batch
        # As many as fit, if the next are as long as these.
        mean = (int(batch.rows.offsets[-1]) - int(batch.rows.offsets[0])) // len(some)
        size = min(limits.height(mean + 64 * len(names)), 16 * size)


def _elements(part: Part, layout: Layout) -> Iterator[tuple[int, dict[str, Any]]]:
    """Objects of an array, each with the line that it begins in."""
    decoder = json.JSONDecoder(object_pairs_hook=_distinct)
    text, line, wanted = "", 1, "["
    broken: Exception = ValueError("it is not closed")
    for first, block in _blocks(part, layout):
        text, at = text + stored.decoded(block, part.line, first), 0
        while True:
            begin, at = at, _past_blanks(text, at)
            line += text.count("\n", begin, at)
            if at == len(text):
                break
            mark = text[at]
            if wanted in ("[", ",", "end") or (mark == "]" and wanted == "first"):
                wanted, at = _after(mark, wanted, part, line), at + 1
                continue
            try:
                record, end = decoder.raw_decode(text, at)
            except (ValueError, RecursionError) as error:
                if not _may_go_on(error, len(text), at):
                    raise _no_json(part, line, error) from error
                broken = error
                break
            yield line, _object(record, line, part)
            line += text.count("\n", at, end)
            wanted, at = ",", end
        text = text[at:]
    if wanted != "end":
        raise _no_json(part, line, broken) from broken


def _past_blanks(text: str, at: int) -> int:
    found = _BLANK.match(text, at)
    return found.end() if found else at


def _after(mark: str, wanted: str, part: Part, line: int) -> str:
    """Return what must follow a mark of an array: value, mark or end."""
    follows = {("[", "["): "first", ("first", "]"): "end", (",", ","): "value", (",", "]"): "end"}
    if (wanted, mark) not in follows:
        raise _no_json(part, line, ValueError(f"got {mark!r}, and not {_WANTED[wanted]}"))
    return follows[wanted, mark]


def _may_go_on(error: Exception, length: int, at: int) -> bool:
    """Whether what is wrong may be that an object goes on in the next block."""
    if not isinstance(error, json.JSONDecodeError) or length - at > stored.LARGEST_LINE:
        return False
    return error.msg.startswith("Unterminated") or error.pos >= length - _LONGEST_WORD
