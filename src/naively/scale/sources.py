"""Shards: files cut into parts that are read, counted and counted again on their own.

A part is a Parquet row group, a range of bytes of an uncompressed text file with a row a line, a
range of rows of a matrix that is mapped into memory, or a whole file of another kind. Parts are cut
by the file alone, never by the number of workers, and have a name by which a repetition is known:
the name of the file, its size, a digest of its head and tail, and the number of the part.
"""

from __future__ import annotations

import glob
import hashlib
import io
import os
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path
from typing import Any

import numpy as np
import scipy.sparse as sp

from naively._types import Array
from naively.scale import parts
from naively.scale.parts import (
    ANYTHING,
    COMPRESSED,
    FORMATS,
    Batch,
    Layout,
    Part,
    compression_of,
    explained,
    no_column,
)
from naively.scale.tables import (
    check_names,
    csv_names,
    lines,
    number_columns,
    parquet_file,
    read_csv,
    read_jsonl,
    read_parquet,
    whole_file,
)
from naively.statistics.matrix import is_sparse, whole_numbers
from naively.text.features import ColumnFeatures, FeatureDefinition, TextFeatures
from naively.text.utf8 import as_texts, is_list
from naively.text.vocabulary import Vocabulary, digest_of_names

__all__ = ["FORMATS", "Batch", "Layout", "Part", "cut", "explained", "find_files", "read"]

_PART_BYTES = 1 << 26  # of a text file with a row a line
_DIGEST_BYTES = 1 << 16
_SUFFIXES = {
    ".parquet": "parquet",
    ".pq": "parquet",
    ".csv": "csv",
    ".tsv": "csv",
    ".jsonl": "jsonl",
    ".ndjson": "jsonl",
    ".svmlight": "svmlight",
    ".svm": "svmlight",
    ".libsvm": "svmlight",
    ".npz": "npz",
    ".csr": "csr",
    ".h5ad": "h5ad",
}


def find_files(patterns: str | os.PathLike[str] | Sequence[str | os.PathLike[str]]) -> list[str]:
    """List the files that paths and patterns name, each pattern's in ascending order.

    Raises
    ------
    ValueError
        If a pattern matches nothing.
    """
    if isinstance(patterns, str | os.PathLike):
        patterns = [patterns]
    files: list[str] = []
    for pattern in [os.fspath(each) for each in patterns]:
        found = [pattern] if os.path.exists(pattern) else sorted(glob.glob(pattern, recursive=True))
        if not found:
            raise ValueError(f"{pattern}: there is no such file; check the name or the pattern.")
        files += found
    files = list(dict.fromkeys(files))
    for path in files:
        if os.path.isdir(path) and not os.path.exists(os.path.join(path, "indptr.npy")):
            raise ValueError(
                f"{path}: it is a folder; name files, or a pattern such as "
                f"'{os.path.join(path, '*.parquet')}'."
            )
    return files


def cut(files: Sequence[str], layout: Layout) -> list[Part]:
    """Cut files into parts, in the order of the files.

    Raises
    ------
    ValueError
        If the format of a file is unknown, or it cannot be opened.
    """
    return [part for path in files for part in _parts(path, layout)]


def _parts(path: str, layout: Layout) -> list[Part]:
    kind = _format(path, layout)
    with explained(path, ANYTHING):
        digest = identity(path)
        ranges = _CUTTERS.get(kind, _whole_file)(path, layout)
    return [
        Part(path, number, kind, f"{digest}#{number}", begin, end)
        for number, (begin, end) in enumerate(ranges)
    ]


def _format(path: str, layout: Layout) -> str:
    kind = layout.format or format_of(path)
    if kind not in FORMATS:
        raise ValueError(
            f"{path}: files of format {kind} are not read in streams, only {', '.join(FORMATS)}."
        )
    if kind in _UNPACKED and compression_of(path) is not None:
        raise ValueError(f"{path}: a packed {kind} file is not read in streams; unpack it.")
    return kind


def holds_strings(path: str, column: str, *, lists: bool = False) -> bool:
    """Whether a column of a Parquet file holds strings, or lists; False if it cannot be said."""
    import pyarrow as pa

    try:
        kind = parquet_file(path).schema_arrow.field(column).type
    except (pa.ArrowException, OSError, KeyError, ValueError):
        return False
    if lists:
        return is_list(kind)
    return bool(pa.types.is_string(kind) or pa.types.is_large_string(kind))


def rows_in_parts(path: str, layout: Layout, n_rows: int) -> list[tuple[str, int]]:
    """Return name and number of rows of each part of a file that is read as a whole.

    Parameters
    ----------
    path
        Of the file; a pipe is one part.
    layout
        Its format and encoding.
    n_rows
        Rows of the whole.
    """
    if not os.path.isfile(path):
        return [(Path(path).name, n_rows)]
    in_parts = layout.format in ("parquet", "jsonl") and not whole_file(path, layout)
    found = _parts(path, layout) if in_parts else []
    if len(found) < 2:
        return [(f"{identity(path)}#0", n_rows)]
    if layout.format == "parquet":
        metadata = parquet_file(path).metadata
        lengths = [metadata.row_group(part.begin).num_rows for part in found]
    else:
        lengths = [sum(map(_n_lines, lines(part, layout))) for part in found]
    return list(zip((part.name for part in found), lengths, strict=True))


def _n_lines(block: bytes) -> int:
    return sum(1 for line in block.split(b"\n") if line.strip())


def format_of(path: str) -> str:
    """Return the format that a name promises.

    Raises
    ------
    ValueError
        If it promises none of those read here.
    """
    bare = Path(path)
    packed = bare.suffix.lower() in COMPRESSED
    suffix = Path(bare.stem).suffix if packed else bare.suffix
    kind = _SUFFIXES.get(suffix.lower())
    if kind is None:
        raise ValueError(
            f"{path}: the name does not tell the format; it must end in one of "
            f"{', '.join(_SUFFIXES)}, or the format must be given ({', '.join(FORMATS)})."
        )
    return kind


def identity(path: str) -> str:
    """Return name, size and a digest of head and tail: equal for copies, different otherwise."""
    file = Path(path)
    files = sorted(file.glob("*.npy")) if file.is_dir() else [file]
    digest, total = hashlib.sha256(), 0
    for each in files:
        size = each.stat().st_size
        total += size
        with each.open("rb") as stream:
            digest.update(stream.read(_DIGEST_BYTES))
            stream.seek(max(size - _DIGEST_BYTES, 0))
            digest.update(stream.read(_DIGEST_BYTES))
    return f"{file.name}:{total}:{digest.hexdigest()[:16]}"


# Cutting ---------------------------------------------------------------------------------------


def _whole_file(path: str, layout: Layout) -> list[tuple[int, int]]:
    return [(0, os.path.getsize(path))]


def _row_groups(path: str, layout: Layout) -> list[tuple[int, int]]:
    n_groups = parquet_file(path).num_row_groups
    return [(group, group + 1) for group in range(n_groups)]


def _byte_ranges(path: str, layout: Layout) -> list[tuple[int, int]]:
    size = os.path.getsize(path)
    if whole_file(path, layout):
        return [(0, size)]
    return [
        (start, min(start + _PART_BYTES, size)) for start in range(0, max(size, 1), _PART_BYTES)
    ]


def _mapped_ranges(path: str, layout: Layout) -> list[tuple[int, int]]:
    indptr = np.load(Path(path) / "indptr.npy", mmap_mode="r")
    return _row_ranges(len(indptr) - 1, int(indptr[-1]))


def _row_ranges(n_rows: int, n_entries: int) -> list[tuple[int, int]]:
    """Cut rows so that a part has some ten million entries."""
    height = max(int(1e7 * n_rows / max(n_entries, 1)), 1)
    return [(start, min(start + height, n_rows)) for start in range(0, n_rows, height)]


def _anndata_ranges(path: str, layout: Layout) -> list[tuple[int, int]]:
    data = _anndata(path)
    try:
        return _row_ranges(data.n_obs, data.n_obs * min(data.n_vars, 2000))
    finally:
        data.file.close()


_CUTTERS: dict[str, Callable[[str, Layout], list[tuple[int, int]]]] = {
    "parquet": _row_groups,
    "jsonl": _byte_ranges,
    "svmlight": _byte_ranges,
    "csr": _mapped_ranges,
    "h5ad": _anndata_ranges,
}


# Reading ---------------------------------------------------------------------------------------


def read(part: Part, layout: Layout, features: FeatureDefinition) -> Iterator[Batch]:
    """Read a part in batches of bounded size.

    Raises
    ------
    ValueError
        Naming file and part, if it cannot be read.
    """
    with explained(str(part), ANYTHING):
        batches = _READERS[part.format](part, layout, features)
    while True:
        with explained(str(part), ANYTHING):
            batch = next(batches, None)
        if batch is None:
            return
        yield batch


def _read_svmlight(part: Part, layout: Layout, features: FeatureDefinition) -> Iterator[Batch]:
    from sklearn.datasets import load_svmlight_file

    n_columns = _n_columns(features)
    _no_split(layout)
    for block in lines(part, layout):
        X, y = load_svmlight_file(io.BytesIO(block), zero_based=True, dtype=np.float64)
        found = X.indices if X.nnz else np.ones(1, dtype=int)
        if found.min() < 1 or found.max() > n_columns:
            raise ValueError(
                f"there is a column {found.min() if found.min() < 1 else found.max()}; columns "
                f"must be numbered from 1 to {n_columns}, as many as were said to be there."
            )
        shape = (X.shape[0], n_columns + 1)
        X = sp.csr_array((whole_numbers(X.data), X.indices, X.indptr), shape=shape)
        yield from _row_batches(X[:, 1:], np.asarray(y))


def _read_npz(part: Part, layout: Layout, features: FeatureDefinition) -> Iterator[Batch]:
    with open(part.path, "rb") as file, np.load(file, allow_pickle=False) as archive:
        X = _matrix_of(archive)
        labels = _array_of(archive, layout.label if layout.label in archive else "y")
        split = None if layout.split is None else _array_of(archive, layout.split)
        check_names(_names_of(archive) or [], features)
    yield from _row_batches(X.tocsr() if is_sparse(X) else X, labels, split)


def _matrix_of(archive: Any) -> Any:
    if "indptr" not in archive:
        if "X" not in archive:
            raise no_column("X", list(archive), "array")
        return archive["X"]
    kinds = {"csr": sp.csr_array, "csc": sp.csc_array}
    name = _text(archive["format"])
    if name not in kinds:
        raise ValueError(f"sparse format {name!r} is not read in streams; save CSR or CSC.")
    arrays = tuple(archive[name] for name in ("data", "indices", "indptr"))
    return kinds[name](arrays, shape=tuple(archive["shape"].tolist()))


def _array_of(archive: Any, name: str) -> Array:
    """Return labels, or parts of rows: strings of bytes as text."""
    if name not in archive:
        raise no_column(name, list(archive), "array")
    array: Array = archive[name]
    return np.char.decode(array, "utf-8") if array.dtype.kind == "S" else array


def _names_of(archive: Any) -> list[str] | None:
    if "feature_names" not in archive:
        return None
    return [str(name) for name in archive["feature_names"].ravel().tolist()]


def _no_split(layout: Layout) -> None:
    if layout.split is not None:
        raise ValueError(
            f"the file has no column `{layout.split}` that parts its rows; name a file of test "
            "rows instead."
        )


def _text(array: Array) -> str:
    value = array.item()
    return value.decode() if isinstance(value, bytes) else str(value)


def _read_mapped(part: Part, layout: Layout, features: FeatureDefinition) -> Iterator[Batch]:
    _no_split(layout)
    folder = Path(part.path)
    data, indices, indptr, labels = (
        np.load(folder / f"{name}.npy", mmap_mode="r") for name in _MAPPED
    )
    shape = tuple(np.load(folder / "shape.npy").tolist())
    if not len(labels) == len(indptr) - 1 == shape[0]:
        raise ValueError(f"{len(labels):,} labels for {len(indptr) - 1:,} rows; write it again.")
    for start, stop in _batch_bounds(indptr, part.begin, part.end):
        entries = slice(int(indptr[start]), int(indptr[stop]))
        X = sp.csr_array(
            (data[entries], indices[entries], indptr[start : stop + 1] - indptr[start]),
            shape=(stop - start, shape[1]),
        )
        yield Batch(X, np.asarray(labels[start:stop]))


def _read_anndata(part: Part, layout: Layout, features: FeatureDefinition) -> Iterator[Batch]:
    data = _anndata(part.path)
    try:
        check_names(data.var_names.astype(str).tolist(), features)
        labels = _observed(data, layout.label)
        split = None if layout.split is None else _observed(data, layout.split)
        height = min(parts.BATCH_ROWS, max(parts.BATCH_BYTES // max(8 * data.n_vars, 1), 1))
        for start in range(part.begin, part.end, height):
            stop = min(start + height, part.end)
            rows = slice(start, stop)
            yield Batch(data.X[rows], labels[rows], None if split is None else split[rows])
    finally:
        data.file.close()


def _observed(data: Any, name: str) -> Array:
    """Return a column of `obs` as text."""
    if name not in data.obs:
        raise no_column(name, list(map(str, data.obs.columns)), "column", " in obs")
    missing = data.obs[name].isna().to_numpy()
    if missing.any():
        raise ValueError(
            f"column `{name}` of obs is missing at row {int(np.argmax(missing))}; fill it in or "
            "take the row out."
        )
    values: Array = data.obs[name].astype(str).to_numpy()
    return values


def _anndata(path: str) -> Any:
    from anndata.io import read_h5ad

    return read_h5ad(path, backed="r")


def _row_batches(X: Any, labels: Array, split: Array | None = None) -> Iterator[Batch]:
    """Cut a matrix in memory into batches of bounded size."""
    n = X.shape[0]
    if labels.shape != (n,) or (split is not None and split.shape != (n,)):
        raise ValueError(f"{labels.shape} labels for {n:,} rows; there must be one for each.")
    if is_sparse(X):
        bounds = list(_batch_bounds(X.indptr, 0, n))
    else:
        height = min(parts.BATCH_ROWS, max(parts.BATCH_BYTES // max(X[:1].nbytes, 1), 1))
        bounds = [(start, min(start + height, n)) for start in range(0, n, height)]
    for start, stop in bounds:
        rows = slice(start, stop)
        yield Batch(X[rows], labels[rows], None if split is None else split[rows])


def _batch_bounds(indptr: Array, begin: int, end: int) -> Iterator[tuple[int, int]]:
    """Bounds of batches of at most so many rows and bytes, one row at least."""
    start = begin
    while start < end:
        limit = int(indptr[start]) + parts.BATCH_BYTES // 12
        rows = indptr[start : min(start + parts.BATCH_ROWS, end) + 1]
        stop = start + max(int(np.searchsorted(rows, limit, side="right")) - 1, 1)
        yield start, stop
        start = stop


_UNPACKED = ("parquet", "npz", "csr", "h5ad")
_MAPPED = ("data", "indices", "indptr", "labels")
_READERS: dict[str, Callable[[Part, Layout, FeatureDefinition], Iterator[Batch]]] = {
    "parquet": read_parquet,
    "csv": read_csv,
    "tsv": read_csv,
    "jsonl": read_jsonl,
    "svmlight": _read_svmlight,
    "npz": _read_npz,
    "csr": _read_mapped,
    "h5ad": _read_anndata,
}


def save_mapped(path: str | os.PathLike[str], X: Any, labels: Any) -> None:
    """Write a CSR matrix as arrays that can be mapped into memory: a folder called `*.csr`.

    Parameters
    ----------
    path : path
        The folder; made if it does not exist.
    X : CSR matrix of shape (n, m)
        Rows.
    labels : array-like of shape (n,)
        Numbers, or strings of bounded length.
    """
    folder = Path(path)
    folder.mkdir(parents=True, exist_ok=True)
    for name, array in zip(_MAPPED, (X.data, X.indices, X.indptr, np.asarray(labels)), strict=True):
        np.save(folder / f"{name}.npy", array, allow_pickle=False)
    np.save(folder / "shape.npy", np.array(X.shape))


# What the columns of a matrix are --------------------------------------------------------------


def _n_columns(features: FeatureDefinition) -> int:
    if isinstance(features, TextFeatures):
        raise ValueError("this holds numbers, and text features were asked for.")
    return features.n_columns


def columns_of(
    path: str,
    layout: Layout,
    *,
    n_columns: int | None = None,
    presence: bool = False,
    threshold: float = 0.0,
    resolution: float | None = None,
) -> tuple[ColumnFeatures, Vocabulary | None]:
    """Define the columns of a matrix file, with their names if it has any.

    Parameters
    ----------
    path : str
        One of the files; all must have the same columns.
    layout : Layout
        Where the label stands.
    n_columns : int, default=None
        Number of columns of svmlight files, which do not say it.
    presence, threshold, resolution
        As in `ColumnFeatures`.

    Returns
    -------
    features : ColumnFeatures
        The definition; column names are part of it.
    names : Vocabulary or None
        The names, in the order of the columns.
    """
    kind = _format(path, layout)
    with explained(path, ANYTHING):
        found, names = _columns(path, kind, layout)
    n_columns = n_columns if found is None else found
    if n_columns is None:
        raise ValueError(
            f"{path}: svmlight files do not say how many columns there are; say it, as in "
            "`naively count --columns N`."
        )
    digest, known = None, None
    if names is not None:
        texts = as_texts(names)
        known, digest = Vocabulary(texts.bytes, texts.offsets), digest_of_names(names)
    return ColumnFeatures(n_columns, digest, presence, threshold, resolution), known


def _columns(path: str, kind: str, layout: Layout) -> tuple[int | None, list[str] | None]:
    if kind == "svmlight":
        return None, None
    if kind == "csr":
        return int(np.load(Path(path) / "shape.npy")[1]), None
    if kind == "npz":
        with open(path, "rb") as file, np.load(file, allow_pickle=False) as archive:
            if "shape" not in archive and "X" not in archive:
                raise no_column("X", list(archive), "array")
            shape = archive["shape"] if "shape" in archive else archive["X"].shape
            return int(shape[1]), _names_of(archive)
    if kind == "h5ad":
        data = _anndata(path)
        names = data.var_names.astype(str).tolist()
        data.file.close()
        return len(names), names
    if kind == "jsonl":
        raise ValueError("JSON Lines are read for their texts only; name the text column.")
    known = parquet_file(path).schema_arrow.names if kind == "parquet" else csv_names(path, layout)
    names = number_columns(known, layout)
    return len(names), names
