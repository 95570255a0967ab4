"""Files out: all or nothing, written beside and then renamed."""

from __future__ import annotations

import io
import os
import shutil
import stat
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import IO, Any, BinaryIO, cast

from naively.read.errors import OutputError, reason


@contextmanager
def atomic_file(path: str | os.PathLike[str], *, folders: bool = False) -> Iterator[BinaryIO]:
    """Write a file that appears complete or not at all, whatever interrupts the writing.

    With `folders`, those above it are made where they are missing.

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
        if folders:
            target.parent.mkdir(parents=True, exist_ok=True)
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
