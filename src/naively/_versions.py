"""What marks the files that are read again: each kind has a name and a version, checked here alone.

A version is raised when what stands in the files changes; `tests/kept_files.py` keeps one of each.
"""

from __future__ import annotations

import reprlib
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, final


class VersionError(ValueError):
    """A file of another kind, or of another version than this one reads."""


@final
@dataclass(frozen=True, slots=True)
class FileKind:
    """A kind of file, or of what stands in one."""

    format: str  # its name in files
    version: int  # that is written, and the only one that is read
    what: str  # in messages
    wanted: str  # what to give instead of a file that is something else
    again: str  # how one of this version is made

    def marks(self) -> dict[str, Any]:
        """Return the fields that every file of the kind begins with."""
        return {"format": self.format, "version": self.version}

    def check(self, manifest: Any) -> None:
        """Refuse what is not of this kind and version.

        Raises
        ------
        VersionError
            With what wrote the file, and the way out.
        """
        fields = manifest if isinstance(manifest, Mapping) else {}
        if fields.get("format") != self.format:
            found = fields.get("format")
            but = "" if found is None else f", but {reprlib.repr(found)}"
            raise VersionError(f"this is not {self.what} of naively{but}; {self.wanted}")
        self.check_version(fields.get("version"))

    def check_version(self, found: Any) -> None:
        """Refuse any other version.

        Raises
        ------
        VersionError
            With what wrote the file, and the way out.
        """
        if type(found) is int and found == self.version:
            return
        said = f"version {reprlib.repr(found)} of {self.what}; this naively reads {self.version}"
        if type(found) is not int or found < 1:
            raise VersionError(f"no naively wrote this: {said}; {self.again}.")
        if found > self.version:
            upgrade = "upgrade with: pip install --upgrade naively"
            raise VersionError(f"written by a newer naively ({said}); {upgrade}.")
        ways = f"{self.again}, or use the naively that wrote it"
        raise VersionError(f"written by an earlier naively ({said}); {ways}.")


MODEL = FileKind(
    "naively model",
    1,
    "a model file",
    "give the model.npz that `naively select` wrote.",
    "train again with `naively select`",
)
RECORD = FileKind(
    "naively statistics",
    2,
    "a statistics file",
    "give what `naively count` wrote.",
    "count the shards again with `naively count`, or into another --checkpoint",
)
FEATURES = FileKind(  # raised when the same definition would give other columns
    "naively features",
    3,
    "the definition of features",
    "give what `naively count` wrote.",
    RECORD.again,
)
SUMMARY = FileKind(
    "naively summary",
    1,
    "a summary",
    "give the folder that `naively select` wrote.",
    "run `naively select` again",
)
