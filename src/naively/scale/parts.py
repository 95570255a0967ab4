"""Parts of files, what they hold, and how a file that cannot be read is named."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from naively._nearest import nearest
from naively._types import Array

BATCH_ROWS = 25_000
BATCH_BYTES = 1 << 25
BLOCK_BYTES = 1 << 23
COMPRESSED = {".gz": "gzip", ".bz2": "bz2", ".zst": "zstd", ".xz": "xz"}


@dataclass(frozen=True, slots=True)
class Layout:
    """Where text, labels and numbers stand in the files."""

    label: str = "label"  # column, array, or `obs` column with the label
    text: str | None = "text"  # column of texts; None: all other columns are numbers
    format: str | None = None  # one of FORMATS; by default what the name ends in
    delimiter: str | None = None  # of CSV; by default a comma, or a tab for .tsv
    split: str | None = None  # column that says train or test; other rows are left out
    quotes: bool = True  # of CSV; False: quotation marks are part of the text
    header: bool = True  # of CSV; False: columns are called 1, 2, ...
    encoding: str = "utf-8"  # of CSV and JSON Lines


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
        return f"{self.path}{PLACES[self.format].format(part=self)}"


@dataclass(frozen=True, slots=True)
class Batch:
    """Some rows: texts, or a matrix."""

    rows: Any  # Texts, TokenRows, or CSR or dense matrix (n, m)
    labels: Array  # (n,)
    split: Array | None = None  # (n,) what the split column says

    def __len__(self) -> int:
        return len(self.labels)


PLACES = {
    "parquet": ", row group {part.number}",
    "csv": "",
    "tsv": "",
    "jsonl": ", bytes {part.begin} to {part.end}",
    "svmlight": ", bytes {part.begin} to {part.end}",
    "npz": "",
    "csr": ", rows {part.begin} to {part.end}",
    "h5ad": ", rows {part.begin} to {part.end}",
}
FORMATS = tuple(PLACES)


def compression_of(path: str) -> str | None:
    """Return how the file is packed, by its name."""
    return COMPRESSED.get(Path(path).suffix.lower())


ANYTHING = (Exception,)  # what libraries raise on a damaged file


@contextmanager
def explained(
    place: str, kinds: tuple[type[Exception], ...] = (ValueError, OSError, KeyError, TypeError)
) -> Iterator[None]:
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
    except (MemoryError, ImportError):
        raise
    except kinds as error:
        message = _in_words(error)
        raise ValueError(message if message.startswith(place) else f"{place}: {message}") from error


def _in_words(error: Exception) -> str:
    if isinstance(error, OSError) and error.errno is not None and error.strerror:
        return f"{error.strerror[:1].lower()}{error.strerror[1:]}; check name and permissions."
    message = " ".join(str(error.args[0] if isinstance(error, KeyError) else error).split())
    if type(error) is ValueError:
        return message
    if "UTF8" in message or isinstance(error, UnicodeError):
        return f"{message}; save the file as UTF-8, or name its encoding."
    return f"{message or type(error).__name__}; if the file is damaged, get it again."


def no_column(name: str, known: list[str], what: str = "column", where: str = "") -> ValueError:
    """Return the error of a missing column, which names the nearest one, or some of them."""
    return ValueError(f"there is no {what} `{name}`{where}; {nearest(name, known)}")
