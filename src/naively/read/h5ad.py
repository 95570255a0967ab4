"""AnnData: X, a layer or `raw`, columns of `obs`, and the names of `var`.

Read with h5py alone, as the format is laid down; nothing in the file is run.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from typing import Any

import numpy as np
import scipy.sparse as sp

from naively._nearest import nearest, short
from naively._types import Array
from naively.read import batch as limits
from naively.read.batch import Batch, Part, Places
from naively.read.bytes import check_memory, seekable
from naively.read.cells import batch_of
from naively.read.columns import Columns
from naively.read.errors import InputError, explained, missing
from naively.read.fence import check_hdf5
from naively.read.layout import Layout
from naively.read.matrix import (
    check_rows,
    chosen,
    entry_bounds,
    kept_values,
    sliced,
    usual,
    wanted_cells,
    whole_batches,
)
from naively.statistics.matrix import consistent, is_sparse
from naively.text.labels import clean

PART_ENTRIES = 10_000_000
_SPARSE = {"csr_matrix": sp.csr_array, "csc_matrix": sp.csc_array}


def cut(path: str, layout: Layout) -> list[tuple[int, int]]:
    """Cut rows so that a part has some ten million entries."""
    with _opened(path, path) as file:
        X, _ = _matrix(path, file, layout)
        n, m = _shape(path, X)
        entries = n * m
        if hasattr(X, "keys"):
            entries = len(X["data"])
            if _encoding(X) != "csr_matrix":
                return [(0, n)]
    step = max(int(PART_ENTRIES * n / max(entries, 1)), 1)
    return [(start, min(start + step, n)) for start in range(0, n, step)]


def batches(part: Part, layout: Layout) -> Iterator[Batch]:
    """Rows of a range, in batches."""
    with _opened(part.path, part.source) as file:
        X, var = _matrix(part.source, file, layout)
        names, also = _with_beside(part.source, file["obs"], _names(part.source, var), layout)
        cells = _cells(part.source, file["obs"], layout, _shape(part.source, X)[0])
        samples = _sample_names(part, file["obs"], layout)
        if hasattr(X, "keys") and _encoding(X) != "csr_matrix":
            begin = 0
            whole = _joined(_csc(part.source, X), also)
            for batch in whole_batches(part, whole, cells, names, layout):
                yield batch.named(samples[begin : begin + len(batch)])
                begin += len(batch)
            return
        n = _shape(part.source, X)[1] + (also is not None)
        columns, kept = chosen(part.source, n, names, layout)
        for start, stop, rows in _ranges(part, X):
            places = Places((part,), range(start + 1, stop + 1))
            rows = _joined(rows, None if also is None else also[start:stop])
            rows = kept_values(rows, places, columns, kept, layout)
            batch = batch_of(rows, sliced(cells, start, stop), places)
            yield batch.named(samples[start - part.begin : stop - part.begin])


def columns(part: Part, layout: Layout) -> Columns:
    """Columns of the matrix that are kept."""
    with _opened(part.path, part.source) as file:
        X, var = _matrix(part.source, file, layout)
        names, also = _with_beside(part.source, file["obs"], _names(part.source, var), layout)
        n = _shape(part.source, X)[1] + (also is not None)
        found, kept = chosen(part.source, n, names, layout)
        return found.take(kept)


@contextmanager
def _opened(path: str, source: str) -> Iterator[Any]:
    with explained(source, "an AnnData file"):
        import h5py

        with _tried(path, source) as plain, h5py.File(plain, "r") as file:
            for each in ("X", "obs", "var"):
                if each not in file:
                    raise InputError(
                        f"{source}: there is no `{each}`; this is not an AnnData file."
                    )
            yield file


@contextmanager
def _tried(path: str, source: str) -> Iterator[str]:
    """Path of a file, unpacked, which HDF5 can go through."""
    with seekable(path, source) as plain:
        check_hdf5(plain, source)
        yield plain


# The matrix ------------------------------------------------------------------------------------


def _matrix(source: str, file: Any, layout: Layout) -> tuple[Any, Any]:
    """Return the matrix that is asked for, as it is stored, and what describes its columns."""
    wanted = None if layout.wanted is None else layout.wanted.layer
    layer = layout.layer or wanted
    if layer in (None, "X"):
        return file["X"], file["var"]
    if layer == "raw" and "raw" in file:
        return file["raw/X"], file["raw/var"]
    layers = list(file["layers"]) if "layers" in file else []
    if layer not in layers:
        known = [*layers, *(["raw"] if "raw" in file else [])]
        of_model = ", on which the model was trained" * (layout.layer is None)
        raise InputError(
            f"{source}: there is no layer `{short(layer)}`{of_model}; "
            f"{nearest(layer, known, 'layer')} --read layer=X reads X."
        )
    return file["layers"][layer], file["var"]


def _shape(source: str, X: Any) -> tuple[int, int]:
    stored = hasattr(X, "keys")
    if stored and _encoding(X) not in _SPARSE:
        raise InputError(
            f"{source}: {X.name.strip('/')} is stored as {_encoding(X)!r}; save it dense, as CSR "
            "or as CSC."
        )
    shape = tuple(int(each) for each in (X.attrs["shape"] if stored else X.shape))
    if len(shape) != 2 or 0 in shape:
        raise InputError(f"{source}: the matrix must have rows and columns; its shape is {shape}.")
    check_memory(source, 8 * shape[0], "its rows")
    check_memory(source, 8 * shape[1], "its columns")
    return shape[0], shape[1]


def _encoding(X: Any) -> str:
    return _string(X.attrs.get("encoding-type", ""))


def _csc(source: str, X: Any) -> Any:
    data, indices, indptr = (_read(source, X[name]) for name in ("data", "indices", "indptr"))
    shape = _shape(source, X)
    check_rows(source, shape[0], len(data))
    return consistent(sp.csc_array((data, indices, indptr), shape=shape))


def _ranges(part: Part, X: Any) -> Iterator[tuple[int, int, Any]]:
    """Begin and end of some rows, and the rows."""
    n, m = _shape(part.source, X)
    if not hasattr(X, "keys"):
        step = limits.height(X.dtype.itemsize * m)
        for start in range(part.begin, part.end, step):
            stop = min(start + step, part.end)
            yield start, stop, usual(part.source, X[start:stop])
        return
    indptr = _read(part.source, X["indptr"])
    if len(indptr) != n + 1:
        raise ValueError(f"{len(indptr):,} bounds of {n:,} rows")
    for start, stop in entry_bounds(indptr, part.begin, part.end):
        own = slice(int(indptr[start]), int(indptr[stop]))
        bounds = indptr[start : stop + 1] - indptr[start]
        rows = sp.csr_array((X["data"][own], X["indices"][own], bounds), shape=(stop - start, m))
        yield start, stop, usual(part.source, consistent(rows))


# What stands beside it -------------------------------------------------------------------------


def _cells(source: str, obs: Any, layout: Layout, n: int) -> dict[str, tuple[str, Any]]:
    index = _index(source, obs)
    known = [name for name in obs if name not in (index, "__categories")]
    named = known if layout.key != "_index" else [*known, "_index"]
    cells = {}
    for role, name in wanted_cells(layout, named, f"{source}: obs", "column").items():
        values = _column(source, obs, index if name == "_index" else name)
        if len(values) != n:
            raise InputError(f"{source}: {len(values):,} cells of `{name}` for {n:,} rows.")
        cells[role] = (name, values)
    if layout.label_column and "label" not in cells:
        way = " Name that of the labels with --label, or give them with --read labels=FILE."
        raise missing(f"{source}: obs", "column", "label", known, way, asked=False)
    return cells


def _with_beside(
    source: str, obs: Any, names: Sequence[str], layout: Layout
) -> tuple[Sequence[str], Array | None]:
    """Names of the columns, and the numbers (n,) of one of `obs` that stands behind them."""
    name = layout.beside
    if name is None or name in names or name not in obs:
        return names, None
    if layout.normalize is not None or layout.log1p:
        raise InputError(
            f"{source}: `--read exposure={name}` is of counts as they were counted; leave out "
            "--read normalize and --read log1p."
        )
    values = _column(source, obs, name)
    if values.dtype.kind not in "iuf":
        raise InputError(
            f"{source}: column `{short(name)}` of obs must hold numbers for --read exposure; it "
            f"holds {short(values[0])!r}."
        )
    return [*names, name], values


def _joined(X: Any, also: Array | None) -> Any:
    """Put a column behind those of a matrix."""
    if also is None:
        return X
    column = also.reshape(-1, 1)
    return (
        sp.hstack([X, sp.csr_array(column)], format="csr")
        if is_sparse(X)
        else np.hstack([X, column])
    )


def _sample_names(part: Part, obs: Any, layout: Layout) -> Array:
    """Names of the rows of a part, which stand in the index of `obs`."""
    stored = obs[_index(part.source, obs)]
    if layout.key is not None or hasattr(stored, "keys") or stored.ndim != 1:
        return _column(part.source, obs, _index(part.source, obs))[part.begin : part.end]
    return np.asarray(stored[part.begin : part.end])


def _names(source: str, var: Any) -> Sequence[str]:
    return [clean(_string(name)) for name in _column(source, var, _index(source, var))]


def _index(source: str, frame: Any) -> str:
    if not hasattr(frame, "keys") or "_index" not in frame.attrs:
        raise InputError(
            f"{source}: written by an old version of anndata; read it and write it again with a "
            "newer one."
        )
    return _string(frame.attrs["_index"])


def _column(source: str, frame: Any, name: str) -> Array:
    """Return a column of `obs` or `var` as it is, or expanded from its categories."""
    stored = frame[name]
    if hasattr(stored, "keys"):
        return _encoded(source, stored)
    values = _read(source, stored)
    if "categories" in stored.attrs:  # anndata before 0.8: a reference, or a name
        return _of_codes(values, _read(source, frame["__categories"][name]))
    return values


def _encoded(source: str, stored: Any) -> Array:
    if "categories" in stored:
        categories = stored["categories"]
        nested = hasattr(categories, "keys")
        known = _encoded(source, categories) if nested else _read(source, categories)
        return _of_codes(_read(source, stored["codes"]), known)
    if "values" in stored and "mask" in stored:
        values = np.asarray(_read(source, stored["values"]), dtype=object)
        values[_read(source, stored["mask"]).astype(np.bool_)] = None
        return values
    raise InputError(f"{source}: {stored.name} is stored in a way that is not read.")


def _of_codes(codes: Array, categories: Array) -> Array:
    values = np.full(len(codes), None, dtype=object)
    known = np.asarray(categories, dtype=object)
    values[codes >= 0] = known[codes[codes >= 0]]
    return values


def _read(source: str, stored: Any) -> Array:
    check_memory(source, int(stored.size) * int(stored.dtype.itemsize), f"{stored.name}")
    values: Array = np.asarray(stored[()])
    if values.ndim != 1:
        raise InputError(f"{source}: {stored.name} must have one dimension; it has {values.ndim}.")
    return values


def _string(value: Any) -> str:
    return value.decode("utf-8", "replace") if isinstance(value, bytes) else str(value)
