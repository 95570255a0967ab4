"""Archives of NumPy: a matrix, dense or sparse, and arrays of labels, parts, keys and names."""

from __future__ import annotations

import operator
import zipfile
from collections.abc import Iterator, Sequence
from typing import Any

import numpy as np
import scipy.sparse as sp

from naively._types import Array
from naively.read.batch import Batch, Part
from naively.read.bytes import check_memory, seekable, whole_file
from naively.read.columns import Columns
from naively.read.errors import InputError, cause, explained, missing
from naively.read.layout import Layout
from naively.read.matrix import check_rows, chosen, usual_type, wanted_cells, whole_batches
from naively.statistics.matrix import consistent
from naively.text.labels import clean

_SPARSE = ("format", "shape", "data", "indices", "indptr", "row", "col")
_NAMES = "feature_names"

cut = whole_file


def batches(part: Part, layout: Layout) -> Iterator[Batch]:
    """Rows of the matrix, in batches."""
    arrays, cells = _loaded(part, layout)
    yield from whole_batches(
        part, _matrix(part.source, arrays, layout), cells, _names(arrays), layout
    )


def columns(part: Part, layout: Layout) -> Columns:
    """Columns of the matrix that are kept."""
    arrays, _ = _loaded(part, layout)
    n = _matrix(part.source, arrays, layout).shape[0 if layout.transpose else 1]
    found, kept = chosen(part.source, n, _names(arrays), layout)
    return found.take(kept)


def _names(arrays: dict[str, Array]) -> Sequence[str] | None:
    if _NAMES not in arrays:
        return None
    return [clean(str(name)) for name in arrays[_NAMES].ravel().tolist()]


def _loaded(part: Part, layout: Layout) -> tuple[dict[str, Array], dict[str, tuple[str, Array]]]:
    """Arrays of the matrix, and those of the rows by what they are for."""
    with seekable(part.path, part.source) as path, explained(part.source, "an .npz file"):
        known = _members(part.source, path)
        if "X" not in known and not {"format", "shape"} <= set(known):
            raise missing(part.source, "array", "X", known)
        roles = wanted_cells(layout, known, part.source, "array")
        arrays = {
            name: _array(part.source, path, name)
            for name in known
            if name in (*_SPARSE, "X", _NAMES, *roles.values())
        }
    for name in roles.values():
        if arrays[name].ndim != 1:
            raise InputError(
                f"{part.source}: array `{name}` must have one dimension; it has "
                f"{arrays[name].ndim}."
            )
    return arrays, {role: (name, _labels(part, name, arrays[name])) for role, name in roles.items()}


def _labels(part: Part, name: str, array: Array) -> Array:
    if array.dtype.kind not in "biufUSTM":
        raise InputError(
            f"{part.source}: array `{name}` holds {array.dtype}, not labels; save text or whole "
            "numbers."
        )
    return array


def _members(source: str, path: str) -> list[str]:
    with open(path, "rb") as file:
        if file.read(6) == b"\x93NUMPY":
            raise InputError(f"{source}: this is one array; save X and y with numpy.savez.")
    with zipfile.ZipFile(path) as archive:
        members = archive.infolist()
    check_memory(source, sum(each.file_size for each in members), "its arrays")
    return [each.filename.removesuffix(".npy") for each in members]


def _array(source: str, path: str, name: str) -> Array:
    try:
        # A pickle in a file from somebody else could run code: never allowed.
        with np.load(path, allow_pickle=False) as archive:
            array = archive[name]
    except ValueError as error:
        if "allow_pickle" not in str(error):
            raise
        raise InputError(
            f"{source}: it holds Python objects, which are not read; save text as arrays of dtype "
            "str."
        ) from error
    except MemoryError as error:
        raise InputError(f"{source}: `{name}` claims to need more memory than there is.") from error
    if not isinstance(array, np.ndarray):  # NumPy hands out the bytes of what it cannot read
        raise InputError(f"{source}: `{name}` is not an array; save it with numpy.savez.")
    return array


def _matrix(source: str, arrays: dict[str, Array], layout: Layout) -> Any:
    if not ("format" in arrays and "shape" in arrays):
        return arrays["X"]
    try:
        return _sparse(source, arrays, turned=layout.transpose)
    except (InputError, MemoryError):
        raise
    except Exception as error:
        raise InputError(
            f"{source}: the sparse matrix is not consistent ({cause(error)}); "
            "save it with scipy.sparse.save_npz."
        ) from error


def _sparse(source: str, arrays: dict[str, Array], *, turned: bool) -> Any:
    kind = arrays["format"].item()
    kind = kind.decode("ascii", "replace") if isinstance(kind, bytes) else str(kind)
    rows, columns = (operator.index(each) for each in arrays["shape"].tolist())
    check_memory(source, 8 * rows, "its rows")
    check_rows(source, columns if turned else rows, len(arrays["data"]))
    data = arrays["data"].astype(usual_type(arrays["data"].dtype), copy=False)
    if kind == "coo":
        return sp.coo_array((data, (arrays["row"], arrays["col"])), (rows, columns)).tocsr()
    if kind not in ("csr", "csc"):
        raise InputError(f"{source}: sparse format {kind!r} is not read; save CSR, CSC or COO.")
    make = sp.csr_array if kind == "csr" else sp.csc_array
    return consistent(make((data, arrays["indices"], arrays["indptr"]), (rows, columns)))
