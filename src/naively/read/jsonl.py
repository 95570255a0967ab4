"""JSON Lines: blocks of lines at once through Arrow, or line by line where they are not alike."""

from __future__ import annotations

import json
import os
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from itertools import islice
from typing import Any

import numpy as np

from naively._types import IntArray
from naively.read import batch as limits, bytes as stored
from naively.read.batch import Batch, Part, Places
from naively.read.cells import Cells
from naively.read.columns import Columns
from naively.read.errors import InputError, cause, missing
from naively.read.layout import Layout
from naively.read.table import (
    Records,
    Rows,
    number_batches,
    number_columns,
    text_batch,
    wanted_columns,
)
from naively.text.labels import clean

PART_BYTES = 1 << 26


def cut(path: str, layout: Layout) -> list[tuple[int, int]]:
    """Cut a file into ranges of bytes; each line belongs to the range that it begins in."""
    size = os.path.getsize(path)
    if stored.in_one_piece(path, layout.encoding):
        return [(0, size)]
    starts = range(0, max(size, 1), PART_BYTES)
    return [(start, min(start + PART_BYTES, size)) for start in starts]


def batches(part: Part, layout: Layout) -> Iterator[Batch]:
    """Rows of the lines that begin in a part, in batches."""
    if not layout.text:
        yield from number_batches(part, _records(part, layout), layout)
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
            cells = _columns(rows, names, part, layout.roles_way)
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
    return stored.blocks(part.path, part.source, part.begin, part.end, layout.encoding)


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
        record = json.loads(line.decode())
    except UnicodeDecodeError as error:
        raise stored.undecodable(part.line, number, error, "utf-8") from error
    except (ValueError, RecursionError) as error:
        raise InputError(
            f"{part.line(number)} is not JSON ({getattr(error, 'msg', cause(error))}); "
            "write one object a line."
        ) from error
    if not isinstance(record, dict):
        kind = "an array" if isinstance(record, list) else "a bare value"
        raise InputError(
            f"{part.line(number)} holds {kind}, not an object; write one object a line."
        )
    return record


def _columns(
    rows: list[tuple[int, dict[str, Any]]], names: list[str], part: Part, way: str
) -> dict[str, list[Any]]:
    for number, record in rows:
        for name in names:
            if name not in record:
                raise missing(part.line(number), "field", name, record, way)
    return {name: [record[name] for _, record in rows] for name in names}


# Numbers ---------------------------------------------------------------------------------------


def _records(part: Part, layout: Layout) -> Records:
    """Fields of all lines, in the order of the first line of the file."""
    names = [clean(name).strip() for name in _first(part, layout)]
    return Records(names, _rows(part, layout))


def _first(part: Part, layout: Layout) -> dict[str, Any]:
    for line, block in stored.blocks(part.path, part.source, 0, part.end, layout.encoding):
        for _, record in _lines(block, line, part):
            return record
    return {}


def _rows(part: Part, layout: Layout) -> Iterator[Rows]:
    keys = list(_first(part, layout))
    for line, block in _blocks(part, layout):
        lines = _lines(block, line, part)
        while some := list(islice(lines, limits.height(64 * len(keys)))):
            if layout.variables is None:
                cells = _columns(some, keys, part, layout.roles_way)
            else:  # a field that is not there is missing
                cells = {key: [record.get(key) for _, record in some] for key in keys}
            numbers: IntArray = np.array([number for number, _ in some])
            yield Rows(list(zip(*cells.values(), strict=True)), numbers)
