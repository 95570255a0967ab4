"""Errors that the person at the keyboard can mend.

Each says in one sentence what is wrong, where (file, line or column) and the way out. The command
line shows the sentence alone; a traceback would only hide it.
"""

from __future__ import annotations

import errno
import gzip
import lzma
import zlib
from collections.abc import Iterable, Iterator
from contextlib import contextmanager

from naively._nearest import listed, nearest, short

_EXTRAS = {
    "pyarrow": ("Parquet", "arrow"),
    "h5py": ("AnnData", "anndata"),
    "openpyxl": ("Excel", "excel"),
}


class InputError(ValueError):
    """Something in the input that only its owner can mend."""


class OutputError(OSError):
    """The result could not be written; nothing half-written is left."""


@contextmanager
def told_of(source: str) -> Iterator[None]:
    """Let an error of what is computed from an input name that input."""
    try:
        yield
    except ValueError as error:
        said = str(error)
        said = said if said.startswith(f"{source}: ") else f"{source}: {said}"
        raise InputError(said) from error


@contextmanager
def explained(source: str, what: str = "") -> Iterator[None]:
    """Turn whatever the reading of a damaged file raises into one clear sentence.

    Parsers raise exceptions of any type over data that nobody foresaw; listing them would miss
    some. What is no fault of the file passes; the cause stays attached.
    """
    try:
        yield
    except ModuleNotFoundError as error:
        kind, extra = _EXTRAS.get((error.name or "").partition(".")[0], ("", ""))
        if not extra:
            raise
        raise InputError(
            f"{source}: reading {kind} needs the extra `{extra}`; "
            f"install it with: pip install 'naively[{extra}]'"
        ) from error
    except (InputError, OutputError, MemoryError, ImportError, NameError, AssertionError):
        raise
    except Exception as error:
        raise InputError(f"{source}: {_fault(error, what)}") from error


def _fault(error: Exception, what: str) -> str:
    if isinstance(error, OSError) and error.errno is not None:
        return f"{reason(error)}."
    if what:
        return f"this is not {what}, or it is damaged ({cause(error)}); get it again."
    if isinstance(error, (EOFError, OSError, zlib.error, lzma.LZMAError, gzip.BadGzipFile)):
        return f"the compressed data are broken or cut off ({cause(error)}); get the file again."
    return (
        f"the file is damaged, or not what its name says ({cause(error)}); "
        "get it again, or name what it is with --read format."
    )


def cause(error: BaseException) -> str:
    """Say what an exception says, shortly; its type if it says nothing."""
    text = " ".join(str(error).split()).rstrip(".")
    return text if len(text) <= 200 else f"{text[:200]}..." if text else type(error).__name__


def missing(
    source: str,
    what: str,
    name: str,
    known: Iterable[str],
    way: str = "",
    *,
    asked: bool = True,
    asked_by: str = "",
) -> InputError:
    """Return the error of a name that is not there: the nearest one, or all and a way out.

    Of a name that nobody gave (`asked`), no other is guessed; `asked_by` says who did.
    """
    hint = nearest(name, known, what) if asked else listed(known, what)
    asked_by = f", which {asked_by}" if asked_by else ""
    return InputError(
        f"{source}: there is no {what} `{short(name)}`{asked_by}; {hint}{way * hint.endswith('.')}"
    )


def check_distinct(source: str, what: str, names: Iterable[str], wanted: Iterable[str]) -> None:
    """Refuse names of which one is wanted that stands there more than once."""
    seen: dict[str, int] = {}
    for name in names:
        seen[name] = seen.get(name, 0) + 1
    for name in wanted:
        if seen.get(name, 0) > 1:
            raise InputError(
                f"{source}: {seen[name]} {what}s are called `{short(name)}`; rename all but one."
            )


def reason(error: OSError) -> str:
    """Say in words why the system refused, with the way out where there is one."""
    ways_out = {
        errno.EACCES: "permission denied; check who may read or write it",
        errno.EPERM: "permission denied; check who may read or write it",
        errno.EROFS: "the file system is read-only; choose another place",
        errno.ENOSPC: "no space left on the device; free some or choose another place",
        errno.EDQUOT: "the disk quota is used up; free some space or choose another place",
        errno.EFBIG: "the file would be larger than the system allows; choose another place",
        errno.ENOENT: "no such file or folder; check the name",
        errno.EISDIR: "it is a folder; name a file",
        errno.ENOTDIR: "a part of the path is a file, not a folder; check the name",
        errno.ENAMETOOLONG: "the name is too long; choose a shorter one",
    }
    return ways_out.get(error.errno or 0, error.strerror or str(error))


@contextmanager
def mendable() -> Iterator[None]:
    """Turn errors of the layers below into those that the command shows as one sentence."""
    try:
        yield
    except (InputError, OutputError):
        raise
    except (ValueError, ModuleNotFoundError) as error:
        raise InputError(str(error)) from error
