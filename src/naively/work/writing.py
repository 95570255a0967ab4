"""Files out: all or nothing, written beside and then renamed."""

from __future__ import annotations

import errno
import io
import os
import re
import shutil
import stat
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import IO, Any, BinaryIO, cast

from naively.read.errors import OutputError, reason
from naively.read.formats import format_by_name, packing_of

try:
    import fcntl
except ImportError:  # Windows: two runs into one folder are told apart at the end only
    fcntl = None  # type: ignore[assignment]

_RANDOM = "[a-z0-9_]{8}"  # what `tempfile` puts into names

_OF_FILES = (  # ends of names that folders rarely have
    *(".npz", ".stats", ".csv", ".tsv", ".txt", ".json", ".jsonl", ".parquet", ".h5ad", ".xlsx"),
    *(".html", ".md", ".toml", ".gz", ".zip", ".pdf"),
)


def is_of_a_file(path: str) -> bool:
    """Whether a name looks like one of a file, where a folder is to be made, and none is there."""
    return path.lower().endswith(_OF_FILES) and not os.path.lexists(path)


def is_same_file(one: str, other: str) -> bool:
    """Whether two paths lead to one file that is there."""
    return os.path.exists(one) and os.path.exists(other) and os.path.samefile(one, other)


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
    missing = [each for each in target.parents if folders and not each.exists()]
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
        _like(temporary, target)
        os.replace(temporary, target)
    except OSError as error:
        raise _output_error(path, error) from error
    finally:
        if temporary is not None:
            temporary.unlink(missing_ok=True)
        _remove_empty(missing)


def _remove_empty(folders: list[Path]) -> None:
    with suppress(OSError):  # not empty: the result is in it
        for each in folders:
            each.rmdir()


def check_csv_name(path: str | os.PathLike[str]) -> None:
    """Refuse a name that promises something else than the CSV that is written.

    Raises
    ------
    OutputError
        Naming it.
    """
    name = os.fspath(path)
    promised = packing_of(name).lstrip(".") or format_by_name(name) or "csv"
    if promised != "csv":
        raise OutputError(
            f"{name}: what is written is CSV, and the name promises {promised}; choose one in .csv."
        )


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
def reserved_directory(
    path: str | os.PathLike[str],
    names: tuple[str, ...],
    *,
    sometimes: tuple[str, ...] = (),
    force: bool = False,
) -> Iterator[None]:
    """Keep a folder for a result of this run, from before the work until it is written.

    What a run left there that was killed while it wrote is taken away, and the earlier result that
    it had moved aside is put back.

    Raises
    ------
    OutputError
        If another run is at work on it, or as :func:`check_directory` does.
    """
    target = _target(path)
    with _locked(path, target) as alone:
        if alone:
            _tidy(target)
        check_directory(path, names, sometimes=sometimes, force=force)
        yield


@contextmanager
def _locked(path: str | os.PathLike[str], target: Path) -> Iterator[bool]:
    """Lock a folder that exists or not: by a file beside it, and by itself; False if impossible."""
    above = next((each for each in target.parents if each.is_dir()), target)
    beside = above / f".{'-'.join(target.relative_to(above).parts)}.lock"
    held: list[int] = []
    try:
        with suppress(OSError):  # a folder above that may not be written
            held.append(os.open(beside, os.O_RDWR | os.O_CREAT, 0o666))
        if target.is_dir():
            with suppress(OSError):
                held.append(os.open(target, os.O_RDONLY))
        alone = _lock(held)
        if alone is False or (alone and _is_gone(beside, held[0])):
            raise OutputError(
                f"{os.fspath(path)}: another run is writing its result there; wait for it, or "
                "choose another --out."
            )
        try:
            yield bool(alone)
        finally:
            with suppress(OSError):
                beside.unlink()
    finally:
        for each in held:
            os.close(each)


def _lock(held: list[int]) -> bool | None:
    """Lock open files, or tell that somebody else has; None where there are no locks."""
    if fcntl is None or not held:
        return None
    try:
        for each in held:
            fcntl.flock(each, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except BlockingIOError:
        return False
    except OSError:  # a file system without locks
        return None
    return True


def _is_gone(path: Path, opened: int) -> bool:
    """Whether the file that was opened and locked was meanwhile taken away by who had it."""
    try:
        return path.stat().st_ino != os.fstat(opened).st_ino
    except OSError:
        return stat.S_ISREG(os.fstat(opened).st_mode)


def _tidy(target: Path) -> None:
    """Take away what killed runs left, and put back a result that one of them had set aside."""
    for aside in _left_behind(target.parent, target, r"\.old"):
        with suppress(OSError):
            if target.exists():
                shutil.rmtree(aside)
            else:
                aside.rename(target)
    for each in (*_left_behind(target.parent, target), *_left_behind(target, target)):
        shutil.rmtree(each, ignore_errors=True)


def _left_behind(folder: Path, target: Path, end: str = "") -> list[Path]:
    """Return the folders in one that runs into `target` fill before they are renamed."""
    ours = re.compile(rf"\.{re.escape(target.name)}\.{_RANDOM}\.partial{end}")
    with suppress(OSError):
        return [each for each in folder.iterdir() if ours.fullmatch(each.name) and each.is_dir()]
    return []


@contextmanager
def atomic_directory(
    path: str | os.PathLike[str],
    names: tuple[str, ...],
    *,
    sometimes: tuple[str, ...] = (),
    force: bool = False,
) -> Iterator[Path]:
    """Fill a folder that appears complete or not at all.

    Parameters
    ----------
    path
        The folder to make. One that holds exactly files of these names is an earlier result and
        is replaced as a whole.
    names
        The files that a result consists of.
    sometimes
        Files that some results have as well.
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
    check_directory(path, names, sometimes=sometimes, force=force)
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
        _publish(staged, target, names, sometimes)
    except OSError as error:
        if error.errno in (errno.ENOTEMPTY, errno.EEXIST):
            raise OutputError(
                f"{path}: something was put there while this run was at work; run it again with "
                "another --out."
            ) from error
        raise _output_error(path, error) from error
    finally:
        if staged is not None:
            shutil.rmtree(staged, ignore_errors=True)
        _remove_empty(missing)


def check_directory(
    path: str | os.PathLike[str],
    names: tuple[str, ...],
    *,
    sometimes: tuple[str, ...] = (),
    force: bool = False,
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
        left = _left_behind(target, target)  # by a run that was killed
        found = {each.name for each in target.iterdir()} - {each.name for each in left}
    except OSError as error:
        raise _output_error(path, error) from error
    if found and found - set(sometimes) != set(names) and not force:
        raise OutputError(
            f"{path}: the folder is not empty and is no earlier result of this command; "
            "choose another --out, or add --force to put the result beside what is there."
        )


def replaces(path: str | os.PathLike[str], names: tuple[str, ...]) -> bool:
    """Whether a folder holds an earlier result, which a new one takes the place of."""
    return all((Path(path) / name).is_file() for name in names)


def _foreign(target: Path, names: tuple[str, ...]) -> list[str]:
    return sorted({each.name for each in target.iterdir()} - set(names))


def _publish(
    staged: Path, target: Path, names: tuple[str, ...], sometimes: tuple[str, ...]
) -> None:
    if staged.parent != target:
        staged.rename(target)
        return
    for each in staged.iterdir():
        _like(each, target / each.name)
    if _foreign(target, (*names, *sometimes, staged.name)) or not _swapped(staged, target):
        for name in set(sometimes) - {each.name for each in staged.iterdir()}:
            (target / name).unlink(missing_ok=True)  # of an earlier result
        for each in sorted(staged.iterdir()):
            each.replace(target / each.name)


def _swapped(staged: Path, target: Path) -> bool:
    # The old result steps aside as a whole, so old and new files are never mixed.
    here = Path(os.getcwd())  # a folder that somebody stands in must stay what it is
    if target in (here, *here.parents) or not _like(staged, target):
        return False
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
    path.chmod((mode & ~mask) | (path.stat().st_mode & stat.S_ISGID))


def _like(new: Path, old: Path) -> bool:
    """Give a file or folder the owner, the group and the mode of one it replaces, if it can."""
    try:
        wanted, given = old.stat(), new.stat()
        same = (wanted.st_uid, wanted.st_gid) == (given.st_uid, given.st_gid)
    except OSError:
        return False
    if not same:
        with suppress(OSError):
            os.chown(new, wanted.st_uid, wanted.st_gid)
            same = True
    new.chmod(stat.S_IMODE(wanted.st_mode) if same else stat.S_IMODE(wanted.st_mode) & 0o777)
    return same


def _output_error(path: str | os.PathLike[str], error: OSError) -> OSError:
    if isinstance(error, OutputError):
        return error
    return OutputError(f"{os.fspath(path)}: cannot be written: {reason(error)}.")
