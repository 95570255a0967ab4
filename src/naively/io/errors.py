"""Errors that the person at the keyboard can mend.

Each says in one sentence what is wrong, where (file, line or column) and the way out. The command
line shows the sentence alone; a traceback would only hide it.
"""

from __future__ import annotations

import errno
from collections.abc import Iterator
from contextlib import contextmanager


class InputError(ValueError):
    """Something in the input that only its owner can mend."""


class UnreadableError(InputError):
    """A stream cannot read the files, or not as they are asked to be read."""


class OutputError(OSError):
    """The result could not be written; nothing half-written is left."""


@contextmanager
def told_of(source: str) -> Iterator[None]:
    """Let an error of what is computed from an input name that input."""
    try:
        yield
    except ValueError as error:
        raise InputError(f"{source}: {error}") from error


@contextmanager
def mendable(kind: type[InputError] = InputError) -> Iterator[None]:
    """Turn errors of the layers below into those that the command shows as one sentence."""
    try:
        yield
    except (InputError, OutputError):
        raise
    except (ValueError, ModuleNotFoundError) as error:
        raise kind(str(error)) from error


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
