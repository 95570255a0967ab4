"""The formats that are read, told by the names of files. Importing this costs nothing."""

from __future__ import annotations

import os
from pathlib import Path
from typing import BinaryIO, TypeAlias

from naively.io.errors import InputError

Source: TypeAlias = str | os.PathLike[str] | BinaryIO

TABLE_FORMATS = ("csv", "tsv", "jsonl", "parquet")
MATRIX_FORMATS = ("svmlight", "npz", "mtx", "h5ad")
FORMATS = (*TABLE_FORMATS, *MATRIX_FORMATS)
COMPRESSIONS = (".gz", ".bz2", ".xz", ".zst")
_SUFFIXES = {
    ".csv": "csv",
    ".tsv": "tsv",
    ".tab": "tsv",
    ".jsonl": "jsonl",
    ".ndjson": "jsonl",
    ".json": "jsonl",
    ".parquet": "parquet",
    ".pq": "parquet",
    ".svmlight": "svmlight",
    ".svm": "svmlight",
    ".libsvm": "svmlight",
    ".npz": "npz",
    ".mtx": "mtx",
    ".mm": "mtx",
    ".h5ad": "h5ad",
}


def name_of(source: Source) -> str:
    """Name of a path or file object, for messages."""
    if isinstance(source, str | os.PathLike):
        return os.fspath(source)
    return str(getattr(source, "name", "<stream>"))


def compression_of(source: Source) -> str:
    """Suffix of the compression that a name promises, lower-case; empty for none."""
    suffix = Path(name_of(source).lower()).suffix
    return suffix if suffix in COMPRESSIONS else ""


def format_by_name(source: Source) -> str | None:
    """Format that a name promises, or None."""
    path = Path(name_of(source).lower())
    return _SUFFIXES.get(Path(path.stem).suffix if path.suffix in COMPRESSIONS else path.suffix)


def format_of(source: Source, given: str | None = None) -> str:
    """Format of a file: the one given, or the one its name promises.

    Raises
    ------
    InputError
        If neither tells.
    """
    format = given or format_by_name(source)
    if isinstance(source, str | os.PathLike) and Path(source).is_dir():
        raise InputError(
            f"{name_of(source)}: is a folder; name a file, or many by a quoted pattern such as "
            "'data/*.csv'."
        )
    if Path(name_of(source).lower()).suffix in (".xlsx", ".xls", ".ods"):
        raise InputError(f"{name_of(source)}: a spreadsheet is not read; save the sheet as CSV.")
    if format not in FORMATS:
        raise InputError(
            f"{name_of(source)}: the name does not tell the format; "
            f"give it with --format {'|'.join(FORMATS)}."
        )
    return format
