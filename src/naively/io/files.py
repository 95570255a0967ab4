"""Files in and out: compression on the way in, all or nothing on the way out."""

from __future__ import annotations

import bz2
import codecs
import gzip
import hashlib
import io
import lzma
import os
import shutil
import stat
import tempfile
import zlib
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from pathlib import Path
from typing import IO, Any, BinaryIO, cast

from naively._nearest import nearest
from naively.io.errors import InputError, OutputError, reason
from naively.io.formats import Source, compression_of, name_of
from naively.io.progress import Progress, silent

_MAGIC = {".gz": b"\x1f\x8b", ".bz2": b"BZh", ".xz": b"\xfd7zXZ\x00", ".zst": b"\x28\xb5\x2f\xfd"}
_BROKEN = (EOFError, gzip.BadGzipFile, zlib.error, lzma.LZMAError)
_REPORT_EVERY = 2000  # lines between two reports of progress


@dataclass(frozen=True, slots=True)
class Input:
    """An open file: what it is called, its plain bytes, and how far reading has come."""

    name: str
    stream: BinaryIO  # decompressed
    raw: BinaryIO  # as stored
    size: int  # bytes as stored; 0 when unknown


@dataclass(frozen=True, slots=True)
class Fingerprint:
    """Which file was read, so that a run can be repeated on the same bytes."""

    name: str  # without its folders
    size: int  # bytes
    sha256: str  # empty for a pipe, which can be read once only


def fingerprint(source: Source) -> Fingerprint:
    """Size and SHA-256 of a file as it is stored."""
    name = Path(name_of(source)).name
    if not isinstance(source, str | os.PathLike) or not Path(source).is_file():
        return Fingerprint(name, 0, "")
    with open_input(source) as file:
        file.raw.seek(0)
        digest = hashlib.file_digest(cast(io.BufferedReader, file.raw), "sha256").hexdigest()
        return Fingerprint(name, file.size, digest)


@contextmanager
def open_input(source: Source) -> Iterator[Input]:
    """Open a file for reading, decompressed.

    Parameters
    ----------
    source
        A path, or a binary file object, which is left open.

    Raises
    ------
    InputError
        If it cannot be read, or is not what its name says.
    """
    name = name_of(source)
    if "\0" in name:
        raise InputError(f"{name}: no file is called so; check the name.")
    if not isinstance(source, str | os.PathLike):
        yield Input(name, _decompressed(source, name), source, 0)
        return
    try:
        with open(source, "rb") as raw:
            yield Input(name, _decompressed(raw, name), raw, os.fstat(raw.fileno()).st_size)
    except FileNotFoundError as error:
        raise InputError(f"{name}: no such file; {_nearest_file(Path(source))}") from error
    except OSError as error:
        if isinstance(error, OutputError):
            raise
        if error.errno is None:  # what is read for a fingerprint only has no other net
            raise _broken(name, error) from error
        raise InputError(f"{name}: {reason(error)}.") from error


def _nearest_file(path: Path) -> str:
    with suppress(OSError):
        hint = nearest(path.name, sorted(each.name for each in path.parent.iterdir()))
        if hint.startswith("did"):
            return hint
    return "check the name and the folder."


def _decompressed(raw: BinaryIO, name: str) -> BinaryIO:
    # The content decides, since tools and browsers unpack files and leave the name; a name that
    # promises compression over other content is a broken file, and is said to be one.
    promised = compression_of(name)
    start = _peek(raw, 6)
    found = next((s for s, magic in _MAGIC.items() if start.startswith(magic)), "")
    if promised and promised != found and start:
        raise InputError(
            f"{name}: the content is not {promised[1:]} data; "
            f"get the file again, or take `{promised}` off its name if it is not compressed."
        )
    match found:
        case ".gz":
            return cast(BinaryIO, gzip.GzipFile(fileobj=raw))
        case ".bz2":
            return cast(BinaryIO, bz2.BZ2File(raw))
        case ".xz":
            return cast(BinaryIO, lzma.LZMAFile(raw))
        case ".zst":
            return _zstandard(raw, name)
        case _:
            return raw


def _peek(raw: BinaryIO, size: int) -> bytes:
    if isinstance(raw, io.BufferedReader):
        return raw.peek(size)[:size]
    if not raw.seekable():
        return b""
    position = raw.tell()
    start = raw.read(size)
    raw.seek(position)
    return start


def _zstandard(raw: BinaryIO, name: str) -> BinaryIO:
    with suppress(ImportError):
        from compression import zstd  # type: ignore[import-not-found,unused-ignore]

        return cast(BinaryIO, zstd.ZstdFile(raw))
    with suppress(ImportError):
        import pyarrow as pa

        stream = pa.CompressedInputStream(raw, "zstd")
        return cast(BinaryIO, io.BufferedReader(stream))
    raise InputError(
        f"{name}: zstd needs Python 3.14 or the extra `arrow`; "
        "install it with: pip install 'naively[arrow]'"
    )


@contextmanager
def explained(name: str) -> Iterator[None]:
    """Turn whatever the reading of a damaged file raises into one clear sentence.

    Parsers raise exceptions of any type over data that nobody foresaw; listing them would miss
    some. What is no fault of the file passes (see `passes`); the cause stays attached.
    """
    try:
        yield
    except Exception as error:
        if passes(error):
            raise
        # bz2 and Arrow report damage as a plain OSError without a system error number.
        if isinstance(error, (*_BROKEN, OSError)):
            raise _broken(name, error) from error
        raise InputError(
            f"{name}: the file is damaged, or not what its name says ({cause(error)}); "
            "get it again, or name what it is with --format."
        ) from error


def passes(error: Exception) -> bool:
    """Whether an exception is no fault of the file, or says already what is wrong with it."""
    if isinstance(error, OSError) and not isinstance(error, gzip.BadGzipFile):
        return isinstance(error, OutputError) or error.errno is not None
    return isinstance(error, (InputError, MemoryError, ImportError))


def cause(error: BaseException) -> str:
    """Say what an exception says, shortly; its type if it says nothing."""
    text = " ".join(str(error).split()).rstrip(".")
    return text if len(text) <= 200 else f"{text[:200]}..." if text else type(error).__name__


def _broken(name: str, error: BaseException, line: int = 0) -> InputError:
    after = f" after line {line:,}" if line else ""
    return InputError(
        f"{name}: the compressed data are broken or cut off{after} ({cause(error)}); "
        "get the file again."
    )


def read_lines(file: Input, encoding: str = "utf-8", progress: Progress = silent) -> Iterator[str]:
    """Decode the lines of an open file; each keeps its line end.

    Raises
    ------
    InputError
        With the line number, if bytes cannot be decoded or the compressed data break off.
    """
    number = 0
    try:
        for number, line in enumerate(_raw_lines(file, encoding), 1):
            if number % _REPORT_EVERY == 0:
                progress("reading", file.raw.tell() if file.size else number, file.size)
            yield line if isinstance(line, str) else line.decode(encoding)
    except UnicodeDecodeError as error:
        bad = error.object[error.start : error.start + 1].hex()
        raise InputError(
            f"{file.name}: line {number:,}: byte 0x{bad} is not {encoding}; "
            "save the file as UTF-8 or name its encoding, for example with --encoding latin-1."
        ) from error
    except UnicodeError as error:  # what codecs such as UTF-16 and punycode raise
        raise InputError(
            f"{file.name}: after line {number:,} it is not {encoding} ({cause(error)}); "
            "save the file as UTF-8 or name its encoding, for example with --encoding utf-16-le."
        ) from error
    except _BROKEN as error:
        raise _broken(file.name, error, number) from error
    except OSError as error:
        # bz2 reports damage as a plain OSError without a system error number.
        if error.errno is None:
            raise _broken(file.name, error, number) from error
        raise


def _raw_lines(file: Input, encoding: str) -> Iterator[Any]:
    try:
        unit = "\n".encode(encoding)
    except (LookupError, ValueError) as error:  # ValueError: a NUL in it, or `undefined`
        raise InputError(
            f"`--encoding` must be an encoding that Python knows, such as utf-8; got {encoding!r}."
        ) from error
    if unit != b"\n":  # UTF-16 and the like: lines cannot be told apart before decoding
        text = io.TextIOWrapper(file.stream, encoding, newline="\n")
        try:
            yield from text
        finally:
            text.detach()  # the stream is not ours to close
        return
    lines = iter(file.stream)
    first = next(lines, b"")
    if first.startswith((b"\xff\xfe", b"\xfe\xff")):
        raise InputError(f"{file.name}: this is UTF-16; read it with --encoding utf-16.")
    if codecs.lookup(encoding).name == "utf-8":  # it has many names, such as U8
        first = first.removeprefix(b"\xef\xbb\xbf")
    if first:
        yield first
    yield from lines


# Writing: beside, then renamed. ---------------------------------------------------------------


@contextmanager
def atomic_file(path: str | os.PathLike[str]) -> Iterator[BinaryIO]:
    """Write a file that appears complete or not at all, whatever interrupts the writing.

    Raises
    ------
    OutputError
        If it cannot be written; nothing is left behind.

    Notes
    -----
    A pipe or a device is written in place, once all is there: a file renamed over it would take
    it away from everybody who uses it.
    """
    target = _target(path)
    if target.is_dir():
        raise OutputError(f"{path}: it is a folder; name a file.")
    temporary: Path | None = None
    try:
        if _is_special(path):
            whole = io.BytesIO()
            yield whole
            with open(path, "wb") as special:
                special.write(whole.getbuffer())
            return
        with tempfile.NamedTemporaryFile(
            dir=target.parent, prefix=f".{target.name}.", suffix=".partial", delete=False
        ) as file:
            temporary = Path(file.name)
            yield cast(BinaryIO, file)
            _to_disk(file)
        _ordinary_mode(temporary, 0o666)
        os.replace(temporary, target)
    except OSError as error:
        raise _output_error(path, error) from error
    finally:
        if temporary is not None:
            temporary.unlink(missing_ok=True)


def _target(path: str | os.PathLike[str]) -> Path:
    name = os.fspath(path)
    if not name or "\0" in name:
        raise OutputError(f"`--out` must be the name of a file or folder; got {name!r}.")
    return Path(os.path.realpath(path))


def _is_special(path: str | os.PathLike[str]) -> bool:
    # Asked of the path itself: what /dev/stdout leads to often has no name to be followed to.
    try:
        return not stat.S_ISREG(os.stat(path).st_mode)
    except FileNotFoundError:
        return False


@contextmanager
def atomic_directory(
    path: str | os.PathLike[str], names: tuple[str, ...], *, force: bool = False
) -> Iterator[Path]:
    """Fill a folder that appears complete or not at all.

    Parameters
    ----------
    path
        The folder to make. One that holds exactly files of these names is an earlier result and
        is replaced as a whole.
    names
        The files that a result consists of.
    force
        Put the files into a folder that holds other files as well; those are left alone.

    Yields
    ------
    Path
        A folder beside, to write into; renamed at the end.

    Raises
    ------
    OutputError
        If the folder may not be used or cannot be written; nothing is left behind.
    """
    check_directory(path, names, force=force)
    target = _target(path)
    missing = [each for each in target.parents if not each.exists()]
    staged: Path | None = None
    try:
        target.parent.mkdir(parents=True, exist_ok=True)
        # Inside an existing folder, which may be a mount point that renaming cannot cross.
        parent = target if target.exists() else target.parent
        staged = Path(tempfile.mkdtemp(dir=parent, prefix=f".{target.name}.", suffix=".partial"))
        yield staged
        for each in staged.iterdir():
            with each.open("rb") as file:
                _to_disk(file)
        _ordinary_mode(staged, 0o777)
        _publish(staged, target, names)
    except OSError as error:
        raise _output_error(path, error) from error
    finally:
        if staged is not None:
            shutil.rmtree(staged, ignore_errors=True)
        with suppress(OSError):  # not empty: the result is in it
            for each in missing:
                each.rmdir()


def check_directory(
    path: str | os.PathLike[str], names: tuple[str, ...], *, force: bool = False
) -> None:
    """Refuse a folder that holds something else, before any work is done.

    Raises
    ------
    OutputError
        If it is a file, cannot be looked into, or holds other files and `force` is not given.
    """
    target = _target(path)
    try:
        if not target.exists():
            return
        if not target.is_dir():
            raise OutputError(f"{path}: a file of this name exists; choose another --out.")
        found = {each.name for each in target.iterdir()}
    except OSError as error:
        raise _output_error(path, error) from error
    if found and found != set(names) and not force:
        raise OutputError(
            f"{path}: the folder is not empty and is no earlier result of this command; "
            "choose another --out, or add --force to put the result beside what is there."
        )


def _foreign(target: Path, names: tuple[str, ...]) -> list[str]:
    return sorted({each.name for each in target.iterdir()} - set(names))


def _publish(staged: Path, target: Path, names: tuple[str, ...]) -> None:
    if staged.parent != target:
        staged.rename(target)
    elif _foreign(target, (*names, staged.name)) or not _swapped(staged, target):
        for each in sorted(staged.iterdir()):
            each.replace(target / each.name)


def _swapped(staged: Path, target: Path) -> bool:
    # The old result steps aside as a whole, so old and new files are never mixed.
    aside = target.with_name(f"{staged.name}.old")
    try:
        target.rename(aside)
    except OSError:  # a mount point, or a folder above that may not be written
        return False
    try:
        (aside / staged.name).rename(target)
    except BaseException:
        aside.rename(target)
        raise
    shutil.rmtree(aside, ignore_errors=True)
    return True


def _to_disk(file: IO[Any]) -> None:
    file.flush()
    with suppress(OSError, io.UnsupportedOperation):
        os.fsync(file.fileno())


def _ordinary_mode(path: Path, mode: int) -> None:
    # tempfile makes private files; a result has the rights that any new file would have.
    mask = os.umask(0)
    os.umask(mask)
    path.chmod(mode & ~mask)


def _output_error(path: str | os.PathLike[str], error: OSError) -> OSError:
    if isinstance(error, OutputError):
        return error
    return OutputError(f"{os.fspath(path)}: cannot be written: {reason(error)}.")
