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
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import scipy.sparse as sp

from naively._types import Array
from naively.scale.features import ColumnFeatures, FeatureDefinition, TextFeatures
from naively.scale.utf8 import as_texts, rows_of_column
from naively.scale.vocabulary import Vocabulary, digest_of_names
from naively.statistics.matrix import is_sparse

BATCH_ROWS = 25_000
BATCH_BYTES = 1 << 25
_BLOCK_BYTES = 1 << 23
_PART_BYTES = 1 << 26  # of a text file with a row a line
_DIGEST_BYTES = 1 << 16
_COMPRESSED = (".gz", ".bz2", ".xz", ".zst")


@dataclass(frozen=True, slots=True)
class Layout:
    """Where text, labels and numbers stand in the files."""

    label: str = "label"  # column, array, or `obs` column with the label
    text: str | None = "text"  # column of texts; None: all other columns are numbers
    format: str | None = None  # one of FORMATS; by default what the name ends in
    delimiter: str | None = None  # of CSV; by default a comma, or a tab for .tsv
    split: str | None = None  # column that says train or test; other rows are left out


@dataclass(frozen=True, slots=True)
class Part:
    """A part of a file."""

    path: str
    number: int  # of the part within its file
    format: str
    name: str  # by which a repetition is known
    begin: int = 0  # row group, first byte or first row
    end: int = 0  # behind the last one

    def __str__(self) -> str:
        """Say where this is, for messages."""
        return f"{self.path}{_PLACES[self.format].format(part=self)}"


@dataclass(frozen=True, slots=True)
class Batch:
    """Some rows: texts, or a matrix."""

    rows: Any  # Texts, TokenRows, or CSR or dense matrix (n, m)
    labels: Array  # (n,)
    split: Array | None = None  # (n,) what the split column says

    def __len__(self) -> int:
        return len(self.labels)


_PLACES = {
    "parquet": ", row group {part.number}",
    "csv": "",
    "jsonl": ", bytes {part.begin} to {part.end}",
    "svmlight": ", bytes {part.begin} to {part.end}",
    "npz": "",
    "csr": ", rows {part.begin} to {part.end}",
    "h5ad": ", rows {part.begin} to {part.end}",
}
FORMATS = tuple(_PLACES)
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
        files += [path for path in found if path not in files]
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
    kind = layout.format or format_of(path)
    with explained(path):
        digest = identity(path)
        ranges = _CUTTERS.get(kind, _whole_file)(path)
    return [
        Part(path, number, kind, f"{digest}#{number}", begin, end)
        for number, (begin, end) in enumerate(ranges)
    ]


def format_of(path: str) -> str:
    """Return the format that a name promises.

    Raises
    ------
    ValueError
        If it promises none of those read here.
    """
    bare = Path(path)
    suffix = Path(bare.stem).suffix if bare.suffix in _COMPRESSED else bare.suffix
    kind = _SUFFIXES.get(suffix.lower())
    if kind is None:
        raise ValueError(
            f"{path}: the name does not tell the format; it must end in one of "
            f"{', '.join(_SUFFIXES)}, or the format must be given ({', '.join(FORMATS)})."
        )
    return kind


def identity(path: str) -> str:
    """Return name, size and a digest of head and tail: equal for copies, different otherwise."""
    file = Path(path) / "data.npy" if os.path.isdir(path) else Path(path)
    size = file.stat().st_size
    digest = hashlib.sha256()
    with file.open("rb") as stream:
        digest.update(stream.read(_DIGEST_BYTES))
        stream.seek(max(size - _DIGEST_BYTES, 0))
        digest.update(stream.read(_DIGEST_BYTES))
    return f"{Path(path).name}:{size}:{digest.hexdigest()[:16]}"


# Cutting ---------------------------------------------------------------------------------------


def _whole_file(path: str) -> list[tuple[int, int]]:
    return [(0, os.path.getsize(path))]


def _row_groups(path: str) -> list[tuple[int, int]]:
    n_groups = _parquet(path).num_row_groups
    return [(group, group + 1) for group in range(n_groups)]


def _byte_ranges(path: str) -> list[tuple[int, int]]:
    size = os.path.getsize(path)
    if Path(path).suffix in _COMPRESSED:
        return [(0, size)]
    return [
        (start, min(start + _PART_BYTES, size)) for start in range(0, max(size, 1), _PART_BYTES)
    ]


def _mapped_ranges(path: str) -> list[tuple[int, int]]:
    indptr = np.load(Path(path) / "indptr.npy", mmap_mode="r")
    return _row_ranges(len(indptr) - 1, int(indptr[-1]))


def _row_ranges(n_rows: int, n_entries: int) -> list[tuple[int, int]]:
    """Cut rows so that a part has some ten million entries."""
    height = max(int(1e7 * n_rows / max(n_entries, 1)), 1)
    return [(start, min(start + height, n_rows)) for start in range(0, n_rows, height)]


def _anndata_ranges(path: str) -> list[tuple[int, int]]:
    data = _anndata(path)
    try:
        return _row_ranges(data.n_obs, data.n_obs * min(data.n_vars, 2000))
    finally:
        data.file.close()


_CUTTERS: dict[str, Callable[[str], list[tuple[int, int]]]] = {
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
    with explained(str(part)):
        batches = _READERS[part.format](part, layout, features)
    while True:
        with explained(str(part)):
            batch = next(batches, None)
        if batch is None:
            return
        yield batch


@contextmanager
def explained(place: str) -> Iterator[None]:
    """Name the place in the message of what goes wrong."""
    try:
        yield
    except ModuleNotFoundError as error:
        extra = {"pyarrow": "arrow", "anndata": "anndata"}.get(error.name or "")
        if extra is None:
            raise
        raise ValueError(
            f"{place}: reading this needs the extra `{extra}`; install it with: "
            f"pip install 'naively[{extra}]'"
        ) from error
    except (ValueError, OSError, KeyError, TypeError) as error:
        message = str(error)
        raise ValueError(message if message.startswith(place) else f"{place}: {message}") from error


def _table_batches(tables: Iterator[Any], layout: Layout) -> Iterator[Batch]:
    """Batches of Arrow record batches: texts, or all columns but the label as numbers."""
    for table in tables:
        for name in filter(None, (layout.label, layout.text, layout.split)):
            if name not in table.schema.names:
                known = ", ".join(table.schema.names[:10])
                raise ValueError(f"there is no column `{name}`; it has {known}.")
        for start in range(0, table.num_rows, BATCH_ROWS):
            yield _arrow_batch(table.slice(start, BATCH_ROWS), layout)


def _arrow_batch(table: Any, layout: Layout) -> Batch:
    labels = table.column(layout.label)
    if labels.null_count:
        row = int(np.argmax(labels.is_null().to_numpy(zero_copy_only=False)))
        raise ValueError(f"the label in column `{layout.label}` is missing at row {row}.")
    y = _plain(labels.to_numpy(zero_copy_only=False))
    split = None
    if layout.split is not None:
        split = _plain(table.column(layout.split).to_numpy(zero_copy_only=False))
    if layout.text is not None:
        return Batch(rows_of_column(table.column(layout.text)), y, split)
    names = [name for name in table.schema.names if name not in (layout.label, layout.split)]
    columns = [table.column(name).to_numpy(zero_copy_only=False) for name in names]
    return Batch(np.column_stack(columns) if columns else np.empty((len(y), 0)), y, split)


def _plain(labels: Array) -> Array:
    """Strings as an array of strings, so that the type of labels does not depend on the file."""
    return labels.astype(str) if labels.dtype.kind == "O" else labels


def _parquet(path: str) -> Any:
    import pyarrow.parquet as pq

    return pq.ParquetFile(path, memory_map=True)


def _read_parquet(part: Part, layout: Layout, features: FeatureDefinition) -> Iterator[Batch]:
    file = _parquet(part.path)
    names = file.schema_arrow.names
    wanted = [name for name in (layout.label, layout.text, layout.split) if name in names]
    tables = file.iter_batches(
        batch_size=BATCH_ROWS,
        row_groups=[part.begin],
        columns=names if layout.text is None else wanted,
        use_threads=False,
    )
    return _table_batches(tables, layout)


def _read_csv(part: Part, layout: Layout, features: FeatureDefinition) -> Iterator[Batch]:
    return _table_batches(iter(_open_csv(part.path, layout)), layout)


def _open_csv(path: str, layout: Layout) -> Any:
    import pyarrow as pa
    from pyarrow import csv

    tab = ".tsv" in Path(path).suffixes
    types = {} if layout.text is None else {layout.text: pa.large_string()}
    wanted = [name for name in (layout.label, layout.text, layout.split) if name is not None]
    return csv.open_csv(
        pa.input_stream(path, compression="detect"),
        read_options=csv.ReadOptions(block_size=_BLOCK_BYTES, use_threads=False),
        parse_options=csv.ParseOptions(
            delimiter=layout.delimiter or ("\t" if tab else ","), newlines_in_values=True
        ),
        convert_options=csv.ConvertOptions(
            column_types=types, include_columns=wanted if types else None
        ),
    )


def _read_jsonl(part: Part, layout: Layout, features: FeatureDefinition) -> Iterator[Batch]:
    from pyarrow import BufferReader, json

    options = json.ReadOptions(use_threads=False, block_size=2 * BATCH_BYTES)
    tables = (
        table
        for block in _lines(part)
        for table in json.read_json(BufferReader(block), options).to_batches()
    )
    return _table_batches(tables, layout)


def _lines(part: Part) -> Iterator[bytes]:
    """Blocks of whole lines: those that begin within the range of bytes of a part."""
    if Path(part.path).suffix in _COMPRESSED:
        yield from _unpacked_lines(part.path)
        return
    with open(part.path, "rb") as file:
        if part.begin:
            file.seek(part.begin - 1)
            file.readline()  # a line that began before belongs to the part before
        while file.tell() < part.end:
            block = file.read(min(_BLOCK_BYTES, part.end - file.tell()))
            yield block if block.endswith(b"\n") else block + file.readline()


def _unpacked_lines(path: str) -> Iterator[bytes]:
    import pyarrow as pa

    left = b""
    with pa.input_stream(path, compression="detect") as stream:
        while block := stream.read(_BLOCK_BYTES):
            lines, newline, rest = (left + block).rpartition(b"\n")
            left = rest
            if newline:
                yield lines + newline
    if left.strip():
        yield left


def _read_svmlight(part: Part, layout: Layout, features: FeatureDefinition) -> Iterator[Batch]:
    from sklearn.datasets import load_svmlight_file

    n_columns = _n_columns(features)
    for block in _lines(part):
        X, y = load_svmlight_file(
            io.BytesIO(block), n_features=n_columns + 1, zero_based=True, dtype=np.float64
        )
        # Columns are numbered from 1, as the format's own tools write them.
        yield from _row_batches(sp.csr_array(X)[:, 1:], np.asarray(y))


def _read_npz(part: Part, layout: Layout, features: FeatureDefinition) -> Iterator[Batch]:
    with np.load(part.path, allow_pickle=False) as archive:
        labels = archive[layout.label if layout.label in archive else "y"]
        if "indptr" in archive:
            kind = {"csr": sp.csr_array, "csc": sp.csc_array}[_text(archive["format"])]
            arrays = tuple(archive[name] for name in ("data", "indices", "indptr"))
            X: Any = kind(arrays, shape=tuple(archive["shape"].tolist()))
        else:
            X = archive["X"]
    yield from _row_batches(X.tocsr() if is_sparse(X) else X, _plain(labels))


def _text(array: Array) -> str:
    value = array.item()
    return value.decode() if isinstance(value, bytes) else str(value)


def _read_mapped(part: Part, layout: Layout, features: FeatureDefinition) -> Iterator[Batch]:
    folder = Path(part.path)
    data, indices, indptr, labels = (
        np.load(folder / f"{name}.npy", mmap_mode="r") for name in _MAPPED
    )
    shape = tuple(np.load(folder / "shape.npy").tolist())
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
        if layout.label not in data.obs:
            raise ValueError(
                f"there is no column `{layout.label}` in obs; it has "
                f"{', '.join(map(str, data.obs.columns[:10]))}."
            )
        labels = data.obs[layout.label].astype(str).to_numpy()
        height = min(BATCH_ROWS, max(BATCH_BYTES // max(8 * data.n_vars, 1), 1))
        for start in range(part.begin, part.end, height):
            stop = min(start + height, part.end)
            yield Batch(data.X[start:stop], labels[start:stop])
    finally:
        data.file.close()


def _anndata(path: str) -> Any:
    from anndata.io import read_h5ad

    return read_h5ad(path, backed="r")


def _row_batches(X: Any, labels: Array) -> Iterator[Batch]:
    """Cut a matrix in memory into batches of bounded size."""
    if not is_sparse(X):
        height = min(BATCH_ROWS, max(BATCH_BYTES // max(X[:1].nbytes, 1), 1))
        for start in range(0, len(X), height):
            yield Batch(X[start : start + height], labels[start : start + height])
        return
    for start, stop in _batch_bounds(X.indptr, 0, X.shape[0]):
        yield Batch(X[start:stop], labels[start:stop])


def _batch_bounds(indptr: Array, begin: int, end: int) -> Iterator[tuple[int, int]]:
    """Bounds of batches of at most so many rows and bytes, one row at least."""
    start = begin
    while start < end:
        limit = int(indptr[start]) + BATCH_BYTES // 12
        rows = indptr[start : min(start + BATCH_ROWS, end) + 1]
        stop = start + max(int(np.searchsorted(rows, limit, side="right")) - 1, 1)
        yield start, stop
        start = stop


_MAPPED = ("data", "indices", "indptr", "labels")
_READERS: dict[str, Callable[[Part, Layout, FeatureDefinition], Iterator[Batch]]] = {
    "parquet": _read_parquet,
    "csv": _read_csv,
    "jsonl": _read_jsonl,
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
    kind = layout.format or format_of(path)
    with explained(path):
        found, names = _columns(path, kind, layout)
    n_columns = n_columns if found is None else found
    if n_columns is None:
        raise ValueError(f"{path}: svmlight files do not say how many columns there are; give it.")
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
        with np.load(path, allow_pickle=False) as archive:
            return int((archive["shape"] if "shape" in archive else archive["X"].shape)[1]), None
    if kind == "h5ad":
        data = _anndata(path)
        names = data.var_names.astype(str).tolist()
        data.file.close()
        return len(names), names
    if kind == "parquet":
        known = _parquet(path).schema_arrow.names
        names = [name for name in known if name not in (layout.label, layout.split)]
        return len(names), names
    if kind != "csv":
        raise ValueError("JSON Lines are read for their texts only; name the text column.")
    known = _open_csv(path, layout).schema.names
    names = [name for name in known if name not in (layout.label, layout.split)]
    return len(names), names
