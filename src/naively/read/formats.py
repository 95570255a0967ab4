"""The one table of formats, told by the names of files. Importing this costs nothing."""

from __future__ import annotations

import os
from collections.abc import Iterator, Sequence
from contextlib import suppress
from dataclasses import dataclass
from importlib import import_module
from pathlib import Path
from typing import TYPE_CHECKING, Literal, Protocol, cast

from naively.read.errors import InputError

if TYPE_CHECKING:
    from naively.read.batch import Batch, Part
    from naively.read.columns import Columns
    from naively.read.layout import Layout

PACKED = {
    ".gz": b"\x1f\x8b",
    ".bz2": b"BZh",
    ".xz": b"\xfd7zXZ\x00",
    ".zst": b"\x28\xb5\x2f\xfd",
    ".zip": b"PK\x03\x04",
}
USUAL_DELIMITER = {"csv": ",", "tsv": "\t"}  # of formats that have one
_WRITTEN = (*USUAL_DELIMITER, "xlsx")  # formats of which people write the cells
_SPREADSHEETS = (".xls", ".ods")


class Reader(Protocol):
    """How a format is read."""

    @staticmethod
    def cut(path: str, layout: Layout) -> list[tuple[int, int]]:
        """Begin and end of each part of a file, in bytes, rows or groups of rows."""

    @staticmethod
    def batches(part: Part, layout: Layout) -> Iterator[Batch]:
        """Rows of a part, in batches of bounded size."""

    @staticmethod
    def columns(part: Part, layout: Layout) -> Columns:
        """Columns of numbers that the batches have."""


@dataclass(frozen=True, slots=True)
class Format:
    """A format: how its files are called, and what they hold."""

    suffixes: tuple[str, ...]
    holds: Literal["table", "matrix"]
    unit: Literal["line", "row"]  # what is counted to name a place
    module: str  # of this package: its reader
    first: int = 0  # number of the first column, where columns have no names


FORMATS = {
    "csv": Format((".csv",), "table", "line", "csv"),
    "tsv": Format((".tsv", ".tab"), "table", "line", "csv"),
    "jsonl": Format((".jsonl", ".ndjson", ".json"), "table", "line", "jsonl"),
    "parquet": Format((".parquet", ".pq"), "table", "row", "parquet"),
    "xlsx": Format((".xlsx",), "table", "row", "xlsx"),
    "svmlight": Format((".svmlight", ".svm", ".libsvm"), "matrix", "line", "svmlight"),
    "npz": Format((".npz",), "matrix", "row", "npz"),
    "mtx": Format((".mtx", ".mm"), "matrix", "row", "mtx", first=1),
    "h5ad": Format((".h5ad",), "matrix", "row", "h5ad"),
}
_BY_SUFFIX = {suffix: name for name, each in FORMATS.items() for suffix in each.suffixes}


def is_written(format: str) -> bool:
    """Whether cells are written by people, who put a word such as NA where nothing is known."""
    return format in _WRITTEN


def reader_of(format: str) -> Reader:
    """Return how a format is read; only now is its module loaded."""
    return cast("Reader", import_module(f"naively.read.{FORMATS[format].module}"))


def packing_of(name: str) -> str:
    """Suffix of the packing that a name promises, lower-case; empty for none."""
    suffix = Path(name.lower()).suffix
    return suffix if suffix in PACKED else ""


def format_by_name(name: str) -> str | None:
    """Format that a name promises, or None."""
    path = Path(name.lower())
    return _BY_SUFFIX.get(Path(path.stem).suffix if path.suffix in PACKED else path.suffix)


def _format_inside(name: str) -> str | None:
    """Format that the only file in an archive promises, or None."""
    if packing_of(name) != ".zip":
        return None
    from zipfile import BadZipFile, ZipFile

    with suppress(OSError, BadZipFile, ValueError), ZipFile(name) as archive:
        found = members_of(archive.namelist())
        return format_by_name(found[0]) if len(found) == 1 else None
    return None


def members_of(names: Sequence[str]) -> list[str]:
    """Return the files in an archive, without folders and what macOS adds."""
    return [name for name in names if not name.endswith("/") and not name.startswith("__MACOSX/")]


def format_of(source: str | os.PathLike[str], given: str | None = None) -> str:
    """Format of a file: the one given, or the one its name promises.

    Raises
    ------
    InputError
        If neither tells.
    """
    name = os.fspath(source)
    format = given or format_by_name(name) or _format_inside(name)
    if Path(name.lower()).suffix in _SPREADSHEETS:
        raise InputError(f"{name}: this spreadsheet is not read; save it as .xlsx or CSV.")
    if format not in FORMATS:
        raise InputError(
            f"{'standard input' if name == '-' else name}: the name does not tell the format; "
            "give it with --read "
            f"format={'|'.join(FORMATS)}."
        )
    return format
