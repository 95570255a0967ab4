"""Arrays in zip archives that anybody may have written: nothing is run, sizes are checked first."""

from __future__ import annotations

import io
import json
import math
import zipfile
from collections.abc import Container, Iterable
from contextlib import suppress
from typing import Any

import numpy as np
from numpy.lib import format as npy

from naively._types import Array
from naively._versions import FileKind

_LARGEST = 1 << 48  # no matrix has more columns
MANIFEST = "manifest.json"


def stored_manifest(archive: zipfile.ZipFile, kind: FileKind) -> dict[str, Any]:
    """Return what an archive says of itself, of this kind and version.

    Raises
    ------
    VersionError
        If it is of another kind or version, or says nothing.
    ValueError
        If it is damaged.
    """
    info, found = archive.NameToInfo.get(MANIFEST), None
    if info is not None:
        _check_stored([info])
        with suppress(RecursionError, ValueError):
            found = json.loads(archive.read(MANIFEST))
    kind.check(found)
    assert isinstance(found, dict)
    return found


def stored_arrays(archive: zipfile.ZipFile, types: Container[str]) -> dict[str, Array]:
    """Return the arrays of an archive by name; its members are never compressed.

    Parameters
    ----------
    archive
        An open archive.
    types
        Types of NumPy that an array may have, such as "<f8".

    Raises
    ------
    ValueError
        If an array stands in it twice, is packed, or is not what its header says.
    """
    infos = archive.infolist()
    if len({info.filename for info in infos}) != len(infos):
        raise ValueError("an array stands in it twice")
    _check_stored(infos)
    return {
        info.filename.removesuffix(".npy"): _array(archive.read(info), info.filename, types)
        for info in infos
        if info.filename.endswith(".npy")
    }


def _check_stored(infos: Iterable[zipfile.ZipInfo]) -> None:
    """Refuse packed members; stored ones cannot unpack to more than the file holds."""
    if any(info.compress_type != zipfile.ZIP_STORED for info in infos):
        raise ValueError("it is compressed, which files of naively never are")


def _array(content: bytes, name: str, types: Container[str]) -> Array:
    stream = io.BytesIO(content)
    try:
        if npy.read_magic(stream) != (1, 0):
            raise ValueError("has another layout")
        shape, fortran, dtype = npy.read_array_header_1_0(stream)
    except ValueError as error:
        raise ValueError(f"{name}: {error}") from error
    if dtype.str not in types:
        raise ValueError(f"{name} is of type {dtype}")
    if not all(type(length) is int and 0 <= length <= _LARGEST for length in shape):
        raise ValueError(f"{name} has an impossible shape")
    if dtype.itemsize * math.prod(shape) != len(content) - stream.tell():
        raise ValueError(f"{name} is not as long as it says")
    flat = np.frombuffer(content, dtype, offset=stream.tell()).copy()  # which can be written to
    return flat.reshape(shape, order="F" if fortran else "C")
