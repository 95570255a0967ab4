"""Matrix Market, checked before the compiled reader of SciPy sees it."""

from __future__ import annotations

import io
from collections.abc import Iterator
from typing import Any

import numpy as np
import scipy.io

from naively.read.batch import Batch, Part
from naively.read.bytes import check_memory, unpacked, whole_file
from naively.read.columns import Columns
from naively.read.errors import explained
from naively.read.formats import FORMATS
from naively.read.layout import Layout
from naively.read.matrix import check_rows, chosen, whole_batches

_HEAD = b"%%MatrixMarket matrix "
_NUMBERS = b"0123456789+-.eE \t\r\n" + b"nNaAiIfFtTyY"  # and nan, inf, infinity

cut = whole_file


def batches(part: Part, layout: Layout) -> Iterator[Batch]:
    """Rows of the matrix, in batches."""
    yield from whole_batches(part, _matrix(part, layout), {}, None, layout)


def columns(part: Part, layout: Layout) -> Columns:
    """Columns of the matrix that are kept."""
    n = _shape(part.source, _content(part), turned=layout.transpose)[0 if layout.transpose else 1]
    found, kept = chosen(part.source, n, None, layout, FORMATS[part.format].first)
    return found.take(kept)


def _content(part: Part) -> bytes:
    with unpacked(part.path, part.source) as file, explained(part.source):
        pieces = []
        size = 0
        while block := file.read(1 << 24):
            size += len(block)
            check_memory(part.source, 2 * size, "its lines")
            pieces.append(block)
    return b"".join([*pieces, b"\n"])  # SciPy reads on behind a last line that does not end


def _matrix(part: Part, layout: Layout) -> Any:
    content = _content(part)
    _shape(part.source, content, turned=layout.transpose)
    with explained(part.source, "a Matrix Market file"):
        X = scipy.io.mmread(io.BytesIO(content))
    return X if hasattr(X, "tocsr") else np.asarray(X)


def _shape(source: str, content: bytes, *, turned: bool) -> tuple[int, int]:
    """Rows and columns, if what is said of them can be true of a file of this size."""
    with explained(source, "a Matrix Market file"):
        if not content[: len(_HEAD)].lower() == _HEAD.lower():
            raise ValueError("it does not begin with %%MatrixMarket matrix")
        layout = content[len(_HEAD) :].split(None, 1)[0].lower()
        start = 0
        while content[start : start + 1] in (b"%", b"\n", b"\r"):
            start = content.index(b"\n", start) + 1
        if odd := content[start:].translate(None, _NUMBERS):
            raise ValueError(f"there is {odd[:1]!r}, which is of no number")
        sizes = [int(each) for each in content[start:].split(b"\n", 1)[0].split()]
        rows, columns = sizes[:2]
        n_entries = sizes[2] if layout == b"coordinate" else rows * columns
        if min(sizes) < 0 or n_entries > len(content):
            raise ValueError(f"{n_entries:,} entries are said to be in {len(content):,} bytes")
    check_memory(source, 8 * rows, "its rows")
    check_memory(source, 8 * columns, "its columns")
    check_rows(source, columns if turned else rows, n_entries)
    return rows, columns
