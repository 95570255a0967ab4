"""Excel: the cells of a sheet as they are stored; nothing in them is computed or run."""

from __future__ import annotations

import os
import warnings
import zipfile
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from datetime import date
from itertools import chain, islice
from typing import Any

import numpy as np

from naively._nearest import short
from naively.read import batch as limits
from naively.read.batch import Batch, Part, Places
from naively.read.bytes import check_memory, seekable
from naively.read.columns import Columns
from naively.read.errors import InputError, explained, missing
from naively.read.layout import Layout
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
from naively.text.labels import clean, date_text

_WHAT = "an Excel file"
_MOST_ROWS = 1 << 20  # that Excel has: a few bytes can claim more
_TIMES = 8  # what its XML needs when it is parsed

_Row = tuple[int, list[Any]]  # number from 1, cells


def cut(path: str, layout: Layout) -> list[tuple[int, int]]:
    """Take a file for one part."""
    return [(0, os.path.getsize(path))]


def batches(part: Part, layout: Layout) -> Iterator[Batch]:
    """Rows of the sheet, in batches."""
    with _opened(part, layout) as (names, rows):
        if not layout.text:
            yield from number_batches(part, Records(names, _grouped(rows, names)), layout)
            return
        first = list(islice(rows, 1))
        check_columns(
            part.source, names, layout, [is_number(cell) for _, row in first for cell in row]
        )
        for some in _grouped(chain(first, rows), names):
            wanted = {name: names.index(name) for name in wanted_columns(layout)}
            cells = {name: [row[j] for row in some.cells] for name, j in wanted.items()}
            yield text_batch(cells, Places((part,), some.numbers), layout)


def columns(part: Part, layout: Layout) -> Columns:
    """Columns of numbers."""
    with _opened(part, layout) as (names, rows):
        return number_columns(part, Records(names, _grouped(rows, names)), layout)


@contextmanager
def records(part: Part, layout: Layout) -> Iterator[Records]:
    """All rows, as the sheet has them."""
    with _opened(part, layout) as (names, rows):
        yield Records(names, _grouped(rows, names))


@contextmanager
def _opened(part: Part, layout: Layout) -> Iterator[tuple[list[str], Iterator[_Row]]]:
    """Names of the columns, and the rows below."""
    with explained(part.source, _WHAT):
        import openpyxl

        with (
            seekable(part.path, part.source) as path,
            open(path, "rb") as raw,
            warnings.catch_warnings(),
        ):
            warnings.simplefilter("ignore")  # of styles and extensions, which are not read
            with zipfile.ZipFile(raw) as archive:
                size = sum(each.file_size for each in archive.infolist())
            check_memory(part.source, _TIMES * size, "its sheets")
            book = openpyxl.load_workbook(raw, read_only=True, data_only=True)
            try:
                rows = _rows(part, _sheet(part.source, book, layout.sheet))
                first = next(rows, None)
                if first is None:
                    raise InputError(
                        f"{part.source}: the sheet is empty; give one with data in it."
                    )
                names = [str(i + 1) for i in range(len(first[1]))]
                if layout.headed:
                    names = ["" if each is None else clean(str(each)).strip() for each in first[1]]
                    check_header(f"{part.source}: row {first[0]:,}", names, layout)
                else:
                    rows = chain([first], rows)
                yield names, rows
            finally:
                book.close()


def _sheet(source: str, book: Any, wanted: str | None) -> Any:
    sheets = {sheet.title: sheet for sheet in book.worksheets}
    if wanted is not None:
        if wanted not in sheets:
            raise missing(source, "sheet", wanted, sheets)
        return sheets[wanted]
    filled = [sheet for sheet in sheets.values() if next(_filled(source, sheet), None) is not None]
    if len(filled) > 1:
        raise InputError(
            f"{source}: {len(filled)} sheets hold cells "
            f"({', '.join(short(sheet.title) for sheet in filled)}); choose one with --read sheet."
        )
    if not filled:
        raise InputError(f"{source}: its sheets are empty; give a file with data in it.")
    return filled[0]


def _filled(source: str, sheet: Any) -> Iterator[_Row]:
    """Rows with a cell in them, their empty cells at the end left out."""
    sheet.reset_dimensions()  # what the file says of its size need not be true
    for number, row in enumerate(sheet.iter_rows(values_only=True), 1):
        if number > _MOST_ROWS:
            raise InputError(f"{source}: a row has a number above {_MOST_ROWS:,}; get it again.")
        width = max((j + 1 for j, cell in enumerate(row) if cell not in (None, "")), default=0)
        if width:
            yield number, [_plain(cell) for cell in row[:width]]


def _rows(part: Part, sheet: Any) -> Iterator[_Row]:
    """Rows, all as long as the first."""
    width = 0
    for number, row in _filled(part.source, sheet):
        width = width or len(row)
        if len(row) > width:
            raise InputError(
                f"{part.source}: row {number:,} has {len(row)} cells, the first has {width}; give "
                "every column a name, or empty the cells beyond."
            )
        yield number, row + [None] * (width - len(row))


def _plain(cell: Any) -> Any:
    return date_text(cell) if isinstance(cell, date) else cell


def _grouped(rows: Iterator[_Row], names: Sequence[str]) -> Iterator[Rows]:
    while some := list(islice(rows, limits.height(64 * len(names)))):
        numbers = np.array([number for number, _ in some], dtype=np.int64)
        yield Rows([row for _, row in some], numbers)
