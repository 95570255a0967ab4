"""Parts of files, batches of their rows, and the place of each row for messages."""

from __future__ import annotations

import os
from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
import scipy.sparse as sp

from naively._types import Array, FloatArray, IntArray
from naively.read.bytes import lines_before
from naively.read.columns import Columns
from naively.read.formats import FORMATS
from naively.read.style import Style
from naively.statistics.matrix import is_sparse
from naively.text.labels import name_text
from naively.text.utf8 import Texts, TokenRows, as_texts, as_tokens

_BEGINNING = 100  # characters
BATCH_ROWS = 25_000
BATCH_BYTES = 1 << 25


def height(row_bytes: int) -> int:
    """Rows of a batch of bounded size."""
    return max(min(BATCH_ROWS, BATCH_BYTES // max(row_bytes, 1)), 1)


@dataclass(frozen=True, slots=True)
class Part:
    """A part of a file."""

    path: str
    number: int  # of the part within its file
    format: str
    name: str  # by which a repetition is known
    begin: int  # row group, first byte or first row
    end: int  # behind the last one
    source: str  # what the file is called in messages
    columns: Columns | None = None  # of svmlight: what all files together have
    style: Style | None = None  # of text files: how it is written
    held: tuple[Batch, ...] | None = None  # its rows, where they are in memory

    def line(self, number: int) -> str:
        """Place of a line, or of a row, counted from 1 within the part."""
        unit = FORMATS[self.format].unit
        before = lines_before(self.path, self.begin) if unit == "line" else 0
        return f"{self.source}: {unit} {number + before:,}"


@dataclass(frozen=True, slots=True)
class Places:
    """Where rows stand: found out only when something is to be said about one."""

    parts: tuple[Part, ...]
    numbers: Sequence[int] | IntArray  # (n,) lines (from 1, within the part) or rows (of the file)
    which: IntArray | None = None  # (n,) part of each row; None: all of the first
    unit: str = ""  # what is counted; by default lines or rows, as the format has them

    def __len__(self) -> int:
        return len(self.numbers)

    def of(self, row: int) -> str:
        """Place of a row: "file.csv: line 7"."""
        part = self.parts[0 if self.which is None else int(self.which[row])]
        number = int(self.numbers[row])
        return f"{part.source}: {self.unit} {number:,}" if self.unit else part.line(number)

    def take(self, rows: Any) -> Places:
        """Places of some of the rows."""
        which = None if self.which is None else self.which[rows]
        return Places(self.parts, np.asarray(self.numbers)[rows], which, self.unit)


@dataclass(frozen=True, slots=True)
class Batch:
    """Some rows: texts, or a matrix."""

    rows: Any  # Texts or TokenRows (n * width,), row i column j at i * width + j; or CSR or dense
    labels: Array | None  # (n,) text; None if they were not asked for
    split: Array | None  # (n,) text
    keys: Array | None  # (n,) names of the rows: those asked for, or those that the file has
    places: Places  # (n,)
    width: int = 1  # columns of text
    group: Array | None = None  # (n,) text
    weight: FloatArray | None = None  # (n,) of the rows, above 0; None: all weigh the same

    def __len__(self) -> int:
        return len(self.places)

    @property
    def nbytes(self) -> int:
        """Memory that the rows take, in bytes, about."""
        rows = self.rows
        if isinstance(rows, Texts | TokenRows):
            return int(rows.offsets[-1] - rows.offsets[0]) + rows.offsets.nbytes
        if is_sparse(rows):
            return int(rows.data.nbytes + rows.indices.nbytes + rows.indptr.nbytes)
        return int(rows.nbytes)

    def place(self, row: int) -> str:
        """Place of a row, for messages."""
        return self.places.of(row)

    def called(self, row: int) -> str:
        """Name of a row, or its place where it has none."""
        if self.keys is not None:
            return str(self.keys[row])
        return os.path.basename(self.place(row))  # without the folders

    def beginning(self, row: int) -> str:
        """First characters of a row of texts, in one line; nothing of numbers."""
        if not isinstance(self.rows, Texts | TokenRows):
            return ""
        texts = (self.rows.decoded(row * self.width + j) for j in range(self.width))
        whole = " ".join(" ".join(text[: 2 * _BEGINNING].split()) for text in texts).strip()
        cut = len(whole) > _BEGINNING
        return whole[: _BEGINNING - 1] + "\N{HORIZONTAL ELLIPSIS}" if cut else whole

    def named(self, names: Sequence[Any] | Array) -> Batch:
        """Return the rows with the names (n,) that the file has, unless others were asked for."""
        if self.keys is not None:
            return self
        return replace(self, keys=np.array([name_text(each) for each in names], dtype=np.str_))

    def take(self, rows: Array) -> Batch:
        """Return some of the rows: by a mask, which gives itself if it holds all, or by numbers."""
        if rows.dtype == np.bool_:
            if rows.all():
                return self
            rows = np.flatnonzero(rows)
        texts = isinstance(self.rows, Texts | TokenRows)
        cells = (rows[:, None] * self.width + np.arange(self.width)).ravel() if texts else rows
        return Batch(
            self.rows.take(cells) if texts else self.rows[rows],
            None if self.labels is None else self.labels[rows],
            None if self.split is None else self.split[rows],
            None if self.keys is None else self.keys[rows],
            self.places.take(rows),
            self.width,
            None if self.group is None else self.group[rows],
            None if self.weight is None else self.weight[rows],
        )


def joined(batches: Sequence[Batch]) -> Batch:
    """Return batches, one at least, as one."""
    first = batches[0]
    if len(batches) == 1:
        return first
    return Batch(
        _joined_rows([each.rows for each in batches]),
        _joined_cells([each.labels for each in batches]),
        _joined_cells([each.split for each in batches]),
        _joined_cells([each.keys for each in batches]),
        _joined_places([each.places for each in batches]),
        first.width,
        _joined_cells([each.group for each in batches]),
        _joined_cells([each.weight for each in batches]),
    )


def _joined_cells(columns: list[Array | None]) -> Array | None:
    found = [each for each in columns if each is not None]
    return np.concatenate(found) if found else None


def _joined_places(places: list[Places]) -> Places:
    parts = {(part.path, part.number): part for each in places for part in each.parts}
    number = {key: i for i, key in enumerate(parts)}
    which = []
    for each in places:
        own = np.array([number[part.path, part.number] for part in each.parts])
        which.append(np.repeat(own, len(each)) if each.which is None else own[each.which])
    numbers = np.concatenate([np.asarray(each.numbers, dtype=np.int64) for each in places])
    return Places(tuple(parts.values()), numbers, np.concatenate(which), places[0].unit)


def _joined_rows(rows: list[Any]) -> Any:
    if isinstance(rows[0], Texts):
        return joined_texts(rows)
    if isinstance(rows[0], TokenRows):
        return joined_tokens(rows)
    return sp.vstack(rows, format="csr") if is_sparse(rows[0]) else np.concatenate(rows)


def joined_texts(pieces: Sequence[Texts]) -> Texts:
    """Return texts one after another."""
    ends = [(int(each.offsets[0]), int(each.offsets[-1])) for each in pieces]
    shifts = np.cumsum([0, *(stop - start for start, stop in ends)])
    content = [each.bytes[a:b] for each, (a, b) in zip(pieces, ends, strict=True)]
    offsets = [
        each.offsets[:-1] - start + shift
        for each, (start, _), shift in zip(pieces, ends, shifts[:-1], strict=True)
    ]
    return Texts(np.concatenate(content), np.concatenate([*offsets, shifts[-1:]]))


def joined_tokens(pieces: Sequence[TokenRows]) -> TokenRows:
    """Return rows of tokens one after another."""
    tokens = joined_texts([_own_tokens(each) for each in pieces])
    lengths = np.concatenate([np.diff(each.starts) for each in pieces])
    return TokenRows(tokens, np.concatenate([[0], np.cumsum(lengths)]))


def _own_tokens(rows: TokenRows) -> Texts:
    return rows.tokens.rows(int(rows.starts[0]), int(rows.starts[-1]))


def batch_of_texts(cells: Sequence[str] | Sequence[Sequence[str]]) -> Batch:
    """Return one row of texts, or of lists of strings, that stand in no file."""
    listed = bool(cells) and not isinstance(cells[0], str)
    rows = as_tokens(cells) if listed else as_texts(cells)
    return Batch(rows, None, None, None, Places((), [0]), len(cells))


def interleaved(columns: Sequence[Texts | TokenRows]) -> Texts | TokenRows:
    """Return columns of texts as rows: row i of column j at i * width + j."""
    if len(columns) == 1:
        return columns[0]
    rows: Texts | TokenRows = _joined_rows(list(columns))
    return rows.take(np.arange(len(rows)).reshape(len(columns), -1).T.ravel())
