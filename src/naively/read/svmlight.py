"""Svmlight: blocks of lines parsed at once, or line by line where they are not regular."""

from __future__ import annotations

import re
import warnings
from collections.abc import Iterator
from dataclasses import replace
from typing import TypeAlias

import numpy as np
import scipy.sparse as sp

from naively._types import FloatArray, IntArray
from naively.read import bytes as stored, jsonl
from naively.read.batch import Batch, Part, Places
from naively.read.cells import batch_of
from naively.read.columns import Columns, numbered
from naively.read.errors import InputError
from naively.read.layout import Layout
from naively.read.matrix import chosen, entry_bounds, kept_values, names_in, sliced
from naively.statistics.matrix import whole_numbers

Parsed: TypeAlias = tuple[FloatArray, IntArray, IntArray, FloatArray, IntArray]

_COMMENT = re.compile(rb"#[^\n]*")
_QUERY = re.compile(rb"(?<=[ \t])qid:\S*")
_ENTRY = re.compile(rb"\d+:\S+")
_COLON, _LF = 58, 10
_LARGEST_COLUMN = (1 << 31) - 2


cut = jsonl.cut


def batches(part: Part, layout: Layout) -> Iterator[Batch]:
    """Rows of the lines that begin in a part, in batches."""
    known, all_columns, kept = _chosen(part, layout)
    for line, block in stored.blocks(part.path, part.source, part.begin, part.end):
        y, indptr, columns, values, lines = _parsed(block, line, part)
        columns = columns - known.first_column
        _check_columns(columns, indptr, lines, known, part)
        cells = {"label": ("label", y)} if layout.label_column is not None else {}
        for start, stop in entry_bounds(indptr, 0, len(y)):
            own = slice(int(indptr[start]), int(indptr[stop]))
            bounds = indptr[start : stop + 1] - own.start
            entries = (whole_numbers(values[own]), columns[own], bounds)
            X = sp.csr_array(entries, shape=(stop - start, known.n))
            places = Places((part,), lines[start:stop])
            rows = kept_values(X, places, all_columns, kept, layout)
            yield batch_of(rows, sliced(cells, start, stop), places)


def columns(part: Part, layout: Layout) -> Columns:
    """Columns of numbers: those that are kept."""
    _, found, kept = _chosen(part, layout)
    return found.take(kept)


def _chosen(part: Part, layout: Layout) -> tuple[Columns, Columns, IntArray | None]:
    """Columns by their numbers and by their names, and the positions of those that are kept."""
    known = part.columns or columns_of([part], layout)
    named, kept = chosen(part.source, known.n, None, layout, known.first_column)
    return known, replace(named, first_column=known.first_column), kept


def columns_of(parts: list[Part], layout: Layout) -> Columns:
    """Columns that some parts have together: those wanted or named, or as many as occur."""
    wanted = layout.wanted
    if wanted is not None:
        width = len(names_in(layout.names_file)) if layout.names_file else wanted.width
        return numbered(width, wanted.first_column)
    low, high, rows = 1, 0, False
    for part in parts:
        for _, block in stored.blocks(part.path, part.source, part.begin, part.end):
            cleaned = _cleaned(block)
            rows |= not cleaned.isspace()
            found = _outer_columns(cleaned)
            if len(found):
                low, high = min(low, int(found.min())), max(high, int(found.max()))
    if rows and high < low:
        raise InputError(
            f"{parts[0].source}: no line has an entry (column:value); give a file with data in it."
        )
    return numbered(high + 1 - low, low)


def _outer_columns(block: bytes) -> IntArray:
    """First and last column of each line: they ascend, as is checked when all are read."""
    octets = np.frombuffer(block, dtype=np.uint8)
    colons = np.flatnonzero(octets == _COLON)
    behind = np.unique(np.searchsorted(colons, np.flatnonzero(octets == _LF)))
    first, last = behind[behind < len(colons)], behind[behind > 0] - 1
    outer = colons[np.concatenate([[0], first, last, [len(colons) - 1]])] if len(colons) else colons
    numbers, digit = np.zeros(len(outer), dtype=np.int64), np.ones(len(outer), dtype=np.bool_)
    for place in range(10):
        octet = octets[np.maximum(outer - 1 - place, 0)].astype(np.int64) - ord("0")
        digit &= (octet >= 0) & (octet <= 9) & (outer > place)
        numbers += np.where(digit, octet * 10**place, 0)
    return numbers


def _check_columns(
    columns: IntArray, indptr: IntArray, lines: IntArray, known: Columns, part: Part
) -> None:
    odd = np.flatnonzero((columns < 0) | (columns >= known.n))
    if len(odd):
        row = int(np.searchsorted(indptr, odd[0], side="right")) - 1
        first = known.first_column
        raise InputError(
            f"{part.line(int(lines[row]))} has a column {int(columns[odd[0]]) + first:,}, known "
            f"are {first} to {first + known.n - 1:,}; use the numbering of the training file."
        )


# Lines at once ---------------------------------------------------------------------------------


def _parsed(block: bytes, line: int, part: Part) -> Parsed:
    """Labels (n,), bounds of rows (n + 1,), columns, values, and the line of each row (n,)."""
    block = _cleaned(block)
    found = _at_once(block)
    if found is None:
        found = _by_line(block, line, part)
    y, indptr, columns, values, lines = found
    return y, indptr, columns, values, lines + line


def _cleaned(block: bytes) -> bytes:
    """Take comments and numbers of queries out."""
    if b"#" in block:
        block = _COMMENT.sub(b"", block)
    return _QUERY.sub(b"", block) if b"qid:" in block else block


def _at_once(block: bytes) -> Parsed | None:
    """Parse lines that have a label and pairs of a column and a value; None if not all do."""
    octets = np.frombuffer(block, dtype=np.uint8)
    colons = np.flatnonzero(octets == _COLON)
    blank = octets <= 32
    starts = np.flatnonzero(~blank & np.concatenate([[True], blank[:-1]]))
    lines = np.searchsorted(np.flatnonzero(octets == _LF), starts)  # of each word
    is_label = np.diff(lines, prepend=-1) > 0
    pairs = np.diff(np.searchsorted(colons, np.append(starts, len(octets))))
    if not np.array_equal(pairs, ~is_label):
        return None
    numbers = _numbers(block.replace(b":", b" "))
    if len(numbers) != len(starts) + len(colons):
        return None
    first = np.flatnonzero(is_label)
    labels = first * 2 - np.arange(len(first))
    entries = np.delete(numbers, labels).reshape(-1, 2)
    indptr = np.append(first - np.arange(len(first)), len(entries))
    columns = entries[:, 0].astype(np.int64)
    if not _ascending(columns, entries[:, 0], indptr):
        return None
    return numbers[labels], indptr, columns, entries[:, 1].copy(), lines[first]


def _numbers(content: bytes) -> FloatArray:
    """Parse numbers parted by blanks, up to what is none."""
    with warnings.catch_warnings():  # NumPy raises since 2.4, and warned before
        warnings.simplefilter("error", DeprecationWarning)
        try:
            return np.fromstring(content, dtype=np.float64, sep=" ")
        except (ValueError, DeprecationWarning):
            return np.empty(0)


def _ascending(columns: IntArray, numbers: FloatArray, indptr: IntArray) -> bool:
    """Whether columns are whole numbers that grow within each row."""
    if not len(columns):
        return True
    grows = np.diff(columns, prepend=-1) > 0
    grows[indptr[:-1][indptr[:-1] < len(columns)]] = True
    whole = (columns == numbers) & (columns >= 0) & (columns <= _LARGEST_COLUMN)
    return bool((grows & whole).all())


def _by_line(block: bytes, first: int, part: Part) -> Parsed:
    y, ends, columns, values, lines = [], [0], list[int](), list[float](), []
    for number, line in enumerate(block.split(b"\n")):
        fields = line.split()
        if not fields:
            continue
        try:
            y.append(float(fields[0]))
            pairs = [_pair(field) for field in fields[1:]]
        except ValueError as error:
            raise _no_svmlight(part, first + number) from error
        own = [column for column, _ in pairs]
        if own != sorted(set(own)):
            raise _no_svmlight(part, first + number)
        columns += own
        values += [value for _, value in pairs]
        ends.append(len(columns))
        lines.append(number)
    return (
        np.array(y),
        np.array(ends),
        np.array(columns, dtype=np.int64),
        np.array(values),
        np.array(lines, dtype=np.int64),
    )


def _pair(field: bytes) -> tuple[int, float]:
    if not _ENTRY.fullmatch(field):
        raise ValueError(field)
    column, _, value = field.partition(b":")
    if int(column) > _LARGEST_COLUMN:
        raise ValueError(field)
    return int(column), float(value)


def _no_svmlight(part: Part, number: int) -> InputError:
    return InputError(
        f"{part.line(number)} is not svmlight; "
        "write a number as the label and then column:value pairs in ascending order."
    )
