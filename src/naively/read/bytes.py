"""Bytes in: files and pipes, packed or not, as blocks of whole lines in UTF-8."""

from __future__ import annotations

import atexit
import bz2
import codecs
import gzip
import hashlib
import io
import lzma
import os
import shutil
import tempfile
import zipfile
import zlib
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from pathlib import Path
from typing import BinaryIO, cast

import numpy as np

from naively._nearest import nearest, short
from naively.read.errors import InputError, cause, explained, reason
from naively.read.formats import FORMATS, PACKED, format_by_name, members_of, packing_of

BLOCK_BYTES = 1 << 23
LARGEST_LINE = 1 << 26  # bytes: what is longer is no line of text, but a trap for memory
_HEAD = 1 << 16  # bytes that tell one file from another
_COPIED = 1 << 20
_SHOWN = 5  # files of an archive
BROKEN = (  # what broken packed data make the libraries raise
    *(EOFError, OSError, zlib.error, lzma.LZMAError),
    *(zipfile.BadZipFile, NotImplementedError),
)


@dataclass(frozen=True, slots=True)
class Fingerprint:
    """Which file was read, so that a run can be repeated on the same bytes."""

    name: str  # without its folders
    size: int  # bytes
    sha256: str


def fingerprint(path: str | os.PathLike[str]) -> Fingerprint:
    """Size and SHA-256 of a file as it is stored."""
    with opened(os.fspath(path)) as file:
        digest = hashlib.file_digest(cast(io.BufferedReader, file), "sha256").hexdigest()
        return Fingerprint(Path(path).name, file.tell(), digest)


# Opening ---------------------------------------------------------------------------------------


@contextmanager
def opened(path: str, source: str = "") -> Iterator[BinaryIO]:
    """Open a file as it is stored.

    Raises
    ------
    InputError
        If that cannot be.
    """
    source = source or path
    if "\0" in path:
        raise InputError(f"{source}: no file is called so; check the name.")
    try:
        file = open(path, "rb")  # noqa: SIM115 (closed below: errors of opening are its own)
    except FileNotFoundError as error:
        raise InputError(f"{source}: no such file; {_nearest_file(Path(path))}") from error
    except OSError as error:
        raise InputError(f"{source}: {reason(error)}.") from error
    with file:
        yield file


def _nearest_file(path: Path) -> str:
    with suppress(OSError):
        hint = nearest(path.name, sorted(each.name for each in path.parent.iterdir()))
        if hint.startswith("did"):
            return hint
    return "check the name and the folder."


def packing(path: str, source: str = "") -> str:
    """Suffix of the packing that a file has; empty for none.

    The content decides, since tools and browsers unpack files and leave the name; a name that
    promises packing over other content is a broken file, and is said to be one.
    """
    with opened(path, source) as file:
        start = file.read(6)
    promised = packing_of(source or path)
    found = next((suffix for suffix, magic in PACKED.items() if start.startswith(magic)), "")
    if found == ".zip" != promised and not _is_of_lines(source or path):
        return ""  # .npz and .xlsx are archives themselves
    if promised and promised != found and start:
        raise InputError(
            f"{source or path}: the content is not {promised[1:]} data; get the file again, "
            f"or take `{promised}` off its name if it is not compressed."
        )
    return found


def _is_of_lines(name: str) -> bool:
    format = format_by_name(name)
    return format is not None and FORMATS[format].unit == "line"


@contextmanager
def unpacked(path: str, source: str = "") -> Iterator[BinaryIO]:
    """Open a file for reading what is packed in it."""
    how = packing(path, source)
    with opened(path, source) as raw:
        match how:
            case ".gz":
                yield cast(BinaryIO, gzip.GzipFile(fileobj=raw))
            case ".bz2":
                yield cast(BinaryIO, bz2.BZ2File(raw))
            case ".xz":
                yield cast(BinaryIO, lzma.LZMAFile(raw))  # noqa: SIM115 (`raw` is closed below)
            case ".zst":
                yield _zstandard(raw, source or path)
            case ".zip":
                with (
                    zipfile.ZipFile(raw) as archive,
                    archive.open(_member(archive, source or path)) as file,
                ):
                    yield cast(BinaryIO, file)
            case _:
                yield raw


def _member(archive: zipfile.ZipFile, source: str) -> zipfile.ZipInfo:
    """Return the only file in an archive."""
    names = members_of(archive.namelist())
    if len(names) != 1:
        listed = f" ({', '.join(map(short, names[:_SHOWN]))}{', ...' * (len(names) > _SHOWN)})"
        raise InputError(
            f"{source}: the archive holds {len(names):,} files{listed * bool(names)}, not one; "
            "unpack it, and name one of them or many by a pattern in quotes."
        )
    found = archive.getinfo(names[0])
    if found.flag_bits & 1:
        raise InputError(f"{source}: the archive has a password; unpack it first.")
    return found


def _zstandard(raw: BinaryIO, source: str) -> BinaryIO:
    with suppress(ImportError):
        from compression import zstd  # type: ignore[import-not-found,unused-ignore]

        return cast(BinaryIO, zstd.ZstdFile(raw))
    with suppress(ImportError):
        import pyarrow as pa

        return cast(BinaryIO, io.BufferedReader(pa.CompressedInputStream(raw, "zstd")))
    raise InputError(
        f"{source}: zstd needs Python 3.14 or the extra `arrow`; "
        "install it with: pip install 'naively[arrow]'"
    )


@contextmanager
def seekable(path: str, source: str = "") -> Iterator[str]:
    """Path of a file in which one can seek: the file itself, or an unpacked copy for a while."""
    if not packing(path, source):
        yield path
        return
    with tempfile.NamedTemporaryFile(prefix="naively-") as copy:
        with unpacked(path, source) as file, explained(source or path):
            _copy(file, cast(BinaryIO, copy), source or path)
        copy.flush()
        yield copy.name


def _copy(file: BinaryIO, copy: BinaryIO, source: str) -> None:
    size = 0
    limit = min(_memory(), shutil.disk_usage(tempfile.gettempdir()).free)
    while block := file.read(_COPIED):
        size += len(block)
        if size > limit:
            raise InputError(
                f"{source}: what is packed in it needs more than {limit / 2**30:,.0f} GiB, all "
                "that there is; unpack it first if it is what it should be."
            )
        copy.write(block)


def spooled(stream: BinaryIO, suffix: str = "") -> str:
    """Path of a temporary file with all that a pipe holds; it goes when the program ends."""
    with tempfile.NamedTemporaryFile(prefix="naively-", suffix=suffix, delete=False) as copy:
        atexit.register(lambda: Path(copy.name).unlink(missing_ok=True))
        shutil.copyfileobj(stream, copy)
    return copy.name


def _memory() -> int:
    try:
        return os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES")
    except (AttributeError, ValueError, OSError):  # not on every system
        return 1 << 40


def check_memory(source: str, size: int, what: str) -> None:
    """Refuse a file that claims to hold more than the memory of the machine.

    A few bytes can claim a shape of any size, and the system grants memory that it does not
    have until it is used.

    Parameters
    ----------
    source
        The file.
    size
        Bytes that are sure to be needed.
    what
        What there are too many of, in words.

    Raises
    ------
    InputError
        If they do not fit.
    """
    if size > _memory():
        raise InputError(
            f"{source}: {what} need {size / 2**30:,.0f} GiB, this machine has "
            f"{_memory() / 2**30:,.0f}; check the largest number of a row or column, or leave out "
            "what is empty."
        )


# Which bytes -----------------------------------------------------------------------------------


def identity(path: str, source: str) -> str:
    """Return name, size and a digest of head and tail: equal for copies, different otherwise."""
    with opened(path, source) as file:
        size = file.seek(0, os.SEEK_END)
        digest = hashlib.sha256()
        for start in (0, max(size - _HEAD, 0)):
            file.seek(start)
            digest.update(file.read(_HEAD))
    return f"{Path(source).name}:{size}:{digest.hexdigest()[:16]}"


def whole_file(path: str, layout: object) -> list[tuple[int, int]]:
    """Take a file for one part: its begin and end."""
    return [(0, os.path.getsize(path))]


def lines_before(path: str, begin: int) -> int:
    """Count the lines before the first that begins at a byte or behind it."""
    if begin == 0:
        return 0
    count, left = 1, begin - 1  # the line that ends at that byte, or runs over it
    with open(path, "rb") as file:
        while left and (block := file.read(min(left, BLOCK_BYTES))):
            count += count_lines(block)
            left -= len(block)
    return count


# Lines -----------------------------------------------------------------------------------------


def count_lines(block: bytes) -> int:
    """Count line ends; five times as fast as `bytes.count` where they are many."""
    return int(np.count_nonzero(np.frombuffer(block, dtype=np.uint8) == ord("\n")))


def in_one_piece(path: str, encoding: str) -> bool:
    """Whether the lines of a file can only be read from its start."""
    return bool(packing(path)) or not is_utf8(encoding)


def is_utf8(encoding: str) -> bool:
    """Whether an encoding is UTF-8, which has many names; unknown ones are refused."""
    try:
        "\n".encode(encoding)
        return codecs.lookup(encoding).name in ("utf-8", "utf-8-sig")
    except (LookupError, ValueError) as error:  # ValueError: a NUL in it, or `undefined`
        raise InputError(
            "`--read encoding` must be an encoding that Python knows, such as utf-8; got "
            f"{encoding!r}."
        ) from error


def blocks(
    path: str, source: str, begin: int, end: int, encoding: str = "utf-8"
) -> Iterator[tuple[int, bytes]]:
    """Blocks of whole lines in UTF-8, each with the number of its first line, from 1.

    Parameters
    ----------
    path, source
        The file, and what it is called in messages.
    begin, end
        The lines that begin within these bytes; of a file that is read in one piece, all.
    encoding
        What the file is written in.

    Raises
    ------
    InputError
        Naming the line, if the packed data break off or are no text of this encoding.
    """
    pieces = (
        _whole(path, source, encoding) if in_one_piece(path, encoding) else _own(path, begin, end)
    )
    line = 1
    for piece in pieces:
        block = piece.removeprefix(codecs.BOM_UTF8) if line == 1 and begin == 0 else piece
        if line == 1 and block.startswith((codecs.BOM_UTF16_LE, codecs.BOM_UTF16_BE)):
            raise InputError(f"{source}: this is UTF-16; read it with --read encoding=utf-16.")
        if len(block) > LARGEST_LINE and b"\n" not in block[:-1]:
            raise InputError(
                f"{source}: line {line + lines_before(path, begin):,} is longer than "
                f"{LARGEST_LINE / 2**20:,.0f} MiB; check that this is a file of lines."
            )
        yield line, block
        line += count_lines(block)


def _own(path: str, begin: int, end: int) -> Iterator[bytes]:
    with open(path, "rb") as file:
        if begin:
            file.seek(begin - 1)
            file.readline()  # a line that began before belongs to the part before
        while file.tell() < end:
            block = file.read(min(BLOCK_BYTES, end - file.tell()))
            yield block if block.endswith(b"\n") else block + file.readline(LARGEST_LINE + 1)


def _whole(path: str, source: str, encoding: str) -> Iterator[bytes]:
    left, line = b"", 0
    with unpacked(path, source) as file:
        pieces = _in_utf8(file, source, encoding)
        while True:
            try:
                block = next(pieces, None)
            except BROKEN as error:
                raise _cut_off(source, error, line) from error
            if block is None:
                break
            whole, newline, left = (left + block).rpartition(b"\n")
            if newline or len(left) > LARGEST_LINE:
                line += count_lines(whole) + 1
                yield whole + newline or left
    if left:
        yield left


def _cut_off(source: str, error: Exception, line: int) -> InputError:
    after = f" after line {line:,}" if line else ""
    return InputError(
        f"{source}: the compressed data are broken or cut off{after} ({cause(error)}); "
        "get the file again."
    )


def _in_utf8(file: BinaryIO, source: str, encoding: str) -> Iterator[bytes]:
    if is_utf8(encoding):
        yield from iter(lambda: file.read(BLOCK_BYTES), b"")
        return
    decoder, line = codecs.getincrementaldecoder(encoding)(), 1
    while True:
        block = file.read(BLOCK_BYTES)
        try:
            text = decoder.decode(block, final=not block)
        except UnicodeError as error:
            raise undecodable(lambda n: f"{source}: line {n:,}", line, error, encoding) from error
        yield text.encode("utf-8", "replace")
        line += text.count("\n")
        if not block:
            return


def decoded(block: bytes, place: Callable[[int], str], line: int) -> str:
    """Return a block of UTF-8 as text.

    Raises
    ------
    InputError
        Naming the line of the first byte that is none; the block begins with line `line`.
    """
    try:
        return block.decode()
    except UnicodeDecodeError as error:
        raise undecodable(place, line, error, "utf-8") from error


def undecodable(
    place: Callable[[int], str], line: int, error: UnicodeError, encoding: str
) -> InputError:
    """Return the error of bytes that are no text; `place` says where a line is."""
    if not isinstance(error, UnicodeDecodeError):  # what codecs such as punycode raise
        return InputError(
            f"{place(line)} or a later one is not {encoding} ({cause(error)}); save the file as "
            "UTF-8 or name its encoding, for example with --read encoding=utf-16-le."
        )
    line += error.object[: error.start].count(b"\n")
    return InputError(
        f"{place(line)}: byte 0x{error.object[error.start]:02x} is not {encoding}; "
        "save the file as UTF-8 or name its encoding, for example with --read encoding=latin-1."
    )
