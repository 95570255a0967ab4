"""AnnData files (.h5ad): the matrix X, one column of `obs`, and the names of `var`.

Read with h5py alone, as the format is laid down; nothing in the file is run.
"""

from __future__ import annotations

from typing import Any, BinaryIO

import numpy as np

from naively._nearest import nearest
from naively._types import Array
from naively.io.errors import InputError
from naively.io.matrices import Matrix, strings


def read_h5ad(name: str, stream: BinaryIO, label: str, split: str | None) -> Matrix:
    """Read X, the label and the part of each row, and the names of the columns.

    Parameters
    ----------
    name
        Name of the file, for messages.
    stream
        The file; it must be able to seek.
    label, split
        Columns of `obs`. The label may be missing, the part may not.

    Raises
    ------
    InputError
        If h5py is missing, or the file cannot be read.
    """
    try:
        import h5py
    except ImportError as error:
        raise InputError(
            f"{name}: reading AnnData needs the extra `anndata`; "
            "install it with: pip install 'naively[anndata]'"
        ) from error
    try:
        with h5py.File(stream, "r") as file:
            for part in ("X", "obs", "var"):
                if part not in file:
                    raise InputError(f"{name}: there is no `{part}`; this is not an AnnData file.")
            return Matrix(
                name,
                _values(name, file["X"]),
                _column(name, file["obs"], label, required=label != "y"),
                _names(name, file["var"]),
                _column(name, file["obs"], split, required=True) if split else None,
            )
    except (OSError, KeyError, TypeError, ValueError) as error:
        if isinstance(error, InputError):
            raise
        raise InputError(
            f"{name}: this is not an AnnData file, or is damaged ({error})."
        ) from error


def _values(name: str, X: Any) -> Any:
    if not hasattr(X, "keys"):
        return X[()]
    import scipy.sparse as sp

    encoding = _text(X.attrs.get("encoding-type", ""))
    if encoding not in ("csr_matrix", "csc_matrix"):
        raise InputError(f"{name}: X is stored as {encoding!r}; save it dense, as CSR or as CSC.")
    make = sp.csr_array if encoding == "csr_matrix" else sp.csc_array
    rows, columns = (int(each) for each in X.attrs["shape"])
    matrix = make((X["data"][()], X["indices"][()], X["indptr"][()]), shape=(rows, columns))
    matrix.check_format(full_check=True)
    return matrix.tocsr()


def _names(name: str, var: Any) -> tuple[str, ...]:
    return tuple(strings(name, "var index", _array(name, var[_index(name, var)])) or ())


def _index(name: str, frame: Any) -> str:
    if not hasattr(frame, "keys") or "_index" not in frame.attrs:
        raise InputError(
            f"{name}: written by an old version of anndata; read it and write it again with a "
            "newer one."
        )
    return _text(frame.attrs["_index"])


def _column(name: str, obs: Any, column: str, *, required: bool) -> list[str] | None:
    index = _index(name, obs)
    if column not in obs:
        if not required:
            return None
        known = [key for key in obs if key not in (index, "__categories")]
        raise InputError(f"{name}: `obs` has no column `{column}`; {nearest(column, known)}")
    return strings(name, column, _array(name, obs[column]))


def _array(name: str, stored: Any) -> Array:
    """Return a column as it is, or expanded from its categories."""
    if not hasattr(stored, "keys"):
        return np.asarray(stored[()])
    if "categories" in stored:
        codes = stored["codes"][()]
        categories = np.asarray(stored["categories"][()], dtype=object)
        values = np.full(len(codes), None, dtype=object)
        values[codes >= 0] = categories[codes[codes >= 0]]
        return values
    if "values" in stored and "mask" in stored:
        values = np.asarray(stored["values"][()], dtype=object)
        values[stored["mask"][()]] = None
        return values
    raise InputError(f"{name}: {stored.name} is stored in a way that is not read.")


def _text(value: Any) -> str:
    return value.decode("utf-8", "replace") if isinstance(value, bytes) else str(value)
