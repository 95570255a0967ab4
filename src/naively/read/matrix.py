"""Matrices as batches: their columns, and what every one must be."""

from __future__ import annotations

import os
from collections.abc import Iterator, Mapping, Sequence
from typing import Any

import numpy as np
import scipy.sparse as sp

from naively._types import Array, FloatArray, IntArray
from naively.read import batch as limits
from naively.read.batch import Batch, Part, Places
from naively.read.bytes import blocks, decoded
from naively.read.cells import batch_of
from naively.read.columns import Columns, kept_columns, numbered
from naively.read.errors import InputError, explained, missing
from naively.read.formats import FORMATS
from naively.read.layout import Layout, check_roles
from naively.statistics.matrix import is_sparse
from naively.text.labels import clean

_EMPTY_ROWS = 1000  # for each entry, and so many more entries: rows are cheap up to a million


def read_words(path: str) -> list[str]:
    """Read the lines of a text file, without blanks around them: labels or names."""
    with explained(path):
        pieces = blocks(path, path, 0, os.path.getsize(path))
        text = "".join(
            decoded(block, lambda n: f"{path}: line {n:,}", line) for line, block in pieces
        )
    return [clean(line.strip()) for line in text.removesuffix("\n").split("\n")] if text else []


def names_in(path: str) -> list[str]:
    """Read names, one a line, without the empty lines behind them."""
    names = read_words(path)
    while names and not names[-1]:
        names.pop()
    return names


def chosen(
    source: str, n: int, names: Sequence[str] | None, layout: Layout, first: int = 0
) -> tuple[Columns, IntArray | None]:
    """Columns of a matrix, and the positions of those that are kept; None for all.

    They are called as the file calls them, as a file beside it does, or have numbers from `first`.
    """
    columns = numbered(n, first)
    if layout.names_file and not (layout.own_names and names is not None):
        names = names_in(layout.names_file)
    if names is not None:
        if len(names) != n:
            what = f"{layout.names_file}: holds" if layout.names_file else f"{source}: has"
            raise InputError(
                f"{what} {len(names):,} names, {source} has {n:,} columns; write one name a line."
            )
        columns = Columns(names)
    return columns, kept_columns(source, columns, layout.ignore, layout.wanted)


def wanted_cells(layout: Layout, known: Sequence[str], source: str, what: str) -> dict[str, str]:
    """Return role and name of what a matrix file has beside the matrix."""
    found = {"split": layout.split, "group": layout.group, "key": layout.key}
    found["weight"] = layout.weight
    if layout.label_column:
        found["label"] = layout.label or next((n for n in ("label", "y") if n in known), None)
    for name in filter(None, found.values()):
        if name not in known:
            raise missing(source, what, name, known)
    check_roles(layout, found.get("label"), source)
    return {role: name for role, name in found.items() if name is not None}


def check_rows(source: str, rows: int, entries: int) -> None:
    """Refuse a sparse matrix that claims very many more rows than entries, before they cost memory.

    Raises
    ------
    InputError
        If it does.
    """
    if rows > _EMPTY_ROWS * (entries + _EMPTY_ROWS):
        raise InputError(
            f"{source}: {rows:,} rows are said to have {entries:,} entries; check its number of "
            "rows, and leave out those that are empty."
        )


def whole_batches(
    part: Part,
    X: Any,
    cells: Mapping[str, tuple[str, Any]],
    names: Sequence[str] | None,
    layout: Layout,
) -> Iterator[Batch]:
    """Cut a matrix in memory, with all that stands beside it, into batches."""
    X = usual(part.source, X.T if layout.transpose else X)
    first = FORMATS[part.format].first
    columns, kept = chosen(part.source, X.shape[1], names, layout, first)
    for name, values in cells.values():
        if len(values) != X.shape[0]:
            raise InputError(
                f"{part.source}: {len(values):,} cells of `{name}` for {X.shape[0]:,} rows."
            )
    for start, stop in row_bounds(X):
        places = Places((part,), range(start + 1, stop + 1))
        rows = kept_values(X[start:stop], places, columns, kept, layout)
        yield batch_of(rows, sliced(cells, start, stop), places)


def sliced(
    cells: Mapping[str, tuple[str, Any]], start: int, stop: int
) -> dict[str, tuple[str, Any]]:
    """Cells of some of the rows."""
    return {role: (name, values[start:stop]) for role, (name, values) in cells.items()}


def kept_values(
    X: Any, places: Places, columns: Columns, kept: IntArray | None, layout: Layout
) -> Any:
    """Return the columns that are kept, checked to be finite numbers, or missing if they may be."""
    X = scaled_rows(X, places, layout)
    X = X if kept is None else X[:, kept]
    check_finite(X, columns.take(kept), places, layout)
    return X


def row_sums(X: Any) -> FloatArray:
    """Sum of each row of a matrix, (n,)."""
    return np.asarray(X.sum(axis=1, dtype=np.float64)).ravel()


def scaled_rows(X: Any, places: Places, layout: Layout) -> Any:
    """Scale rows of counts as a layout asks, see `scaled_counts`.

    Raises
    ------
    InputError
        Naming the first row with a value below 0.
    """
    if layout.normalize is None and not layout.log1p:
        return X
    values = X.data if is_sparse(X) else X
    if (values < 0).any():
        below = np.asarray((X < 0).sum(axis=1)).ravel()
        raise InputError(
            f"{places.of(int(np.argmax(below > 0)))}: a value is below 0, and rows to be scaled or "
            "taken logarithms of are counts; give those."
        )
    assert layout.normalize != "median"  # known by then
    return scaled_counts(X, layout.normalize, log1p=layout.log1p)


def scaled_counts(X: Any, normalize: float | None, *, log1p: bool) -> Any:
    """Scale rows of counts to a sum, those of sum 0 excepted, then take ln(1 + value), as asked.

    As Scanpy does with its `normalize_total` and `log1p`, in double precision.
    """
    X = X.astype(np.float64)
    if normalize is not None:
        sums = row_sums(X)
        factor = float(normalize) / np.where(sums > 0, sums, 1)
        X = sp.diags_array(factor).dot(X).tocsr() if is_sparse(X) else X * factor[:, None]
    if not log1p:
        return X
    if is_sparse(X):
        X.data = np.log1p(X.data)
        return X
    return np.log1p(X)


def usual(source: str, X: Any) -> Any:
    """Return a matrix as CSR or dense, of numbers in the machine's own order of bytes."""
    if X.ndim != 2 or 0 in X.shape:
        raise InputError(
            f"{source}: the matrix must have rows and columns; its shape is {X.shape}."
        )
    if X.dtype.kind not in "biuf":
        raise InputError(f"{source}: the matrix must hold numbers; it holds {X.dtype}.")
    X = X.astype(usual_type(X.dtype), copy=False)
    return X.tocsr() if is_sparse(X) else np.ascontiguousarray(X)


def usual_type(dtype: np.dtype[Any]) -> np.dtype[Any]:
    """Type that sparse matrices know: neither half nor extended precision, nor foreign orders."""
    if dtype.kind == "f" and dtype.itemsize not in (4, 8):
        return np.dtype(np.float64)
    return dtype.newbyteorder("=")


def row_bounds(X: Any) -> Iterator[tuple[int, int]]:
    """Bounds of batches of rows of a matrix in memory."""
    n = X.shape[0]
    if is_sparse(X):
        yield from entry_bounds(X.indptr, 0, n)
        return
    step = limits.height(X[:1].nbytes)
    yield from ((start, min(start + step, n)) for start in range(0, n, step))


def entry_bounds(indptr: Array, begin: int, end: int) -> Iterator[tuple[int, int]]:
    """Bounds of batches of rows by the entries they have, one row at least each."""
    start = begin
    while start < end:
        limit = int(indptr[start]) + limits.BATCH_BYTES // 12
        rows = indptr[start : min(start + limits.BATCH_ROWS, end) + 1]
        stop = start + max(int(np.searchsorted(rows, limit, side="right")) - 1, 1)
        yield start, stop
        start = stop


def check_finite(X: Any, columns: Columns, places: Places, layout: Layout) -> None:
    """Refuse values that are no finite numbers, naming the first; NaN, unless it may be missing.

    Raises
    ------
    InputError
        If there is one.
    """
    values = X.data if is_sparse(X) else X
    if values.dtype.kind != "f" or np.isfinite(values).all():
        return
    odd = np.isinf(values) if layout.missing else ~np.isfinite(values)
    if not odd.any():
        return
    if is_sparse(X):
        entry = int(np.argmax(odd))
        row, column = int(np.searchsorted(X.indptr, entry, side="right")) - 1, X.indices[entry]
    else:
        row, column = np.argwhere(odd)[0]
    way = f", or {layout.missing_way}" if layout.missing_way and np.isnan(values).any() else ""
    raise InputError(
        f"{places.of(int(row))}: the value of `{columns.names[int(column)]}` is not a finite "
        f"number; replace {'' if layout.missing else 'NaN and '}infinite values first{way}."
    )
