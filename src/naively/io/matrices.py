"""Matrices in: svmlight, .npz, Matrix Market and AnnData files, with their labels."""

from __future__ import annotations

import io
import operator
import os
import re
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, BinaryIO, cast

import numpy as np

from naively._nearest import nearest
from naively._types import Array
from naively.io.errors import InputError
from naively.io.files import cause, explained, open_input, passes, read_lines
from naively.io.formats import MATRIX_FORMATS, Source, format_of, name_of
from naively.statistics.matrix import whole_numbers
from naively.text.labels import clean, label_text

_SVMLIGHT_ENTRY = re.compile(r"\d+:\S+")


@dataclass(frozen=True, slots=True)
class Matrix:
    """Rows and columns of numbers, with what the file says about them."""

    source: str  # name of the file
    X: Any  # (n, m) dense array or CSR matrix
    labels: list[str] | None = None  # (n,)
    names: Sequence[str] | None = None  # (m,) column names
    split: list[str] | None = None  # (n,) part each row belongs to
    first_column: int = 0  # number of the first column in the file: 0 or 1


def read_matrix(
    source: Source,
    *,
    format: str | None = None,
    label: str = "y",
    split: str | None = None,
    n_columns: int | None = None,
    first_column: int | None = None,
) -> Matrix:
    """Read a matrix and the labels that its file holds, if any.

    Parameters
    ----------
    source
        A path or binary file object.
    format
        One of "svmlight", "npz", "mtx", "h5ad"; by default what the name ends in.
    label, split
        Names of the arrays (.npz) or columns of `obs` (.h5ad) with the label and the part of each
        row.
    n_columns
        Columns the matrix must have; by default as many as the file says.
    first_column
        Number of the first column in an svmlight file, 0 or 1; by default 1 unless a column 0
        occurs.

    Raises
    ------
    InputError
        Naming the file and the place in it, if the matrix cannot be read.
    """
    format = format_of(source, format)
    with open_input(source) as file, explained(file.name):
        match format:
            case "svmlight":
                matrix = _svmlight(file.name, _whole(file.stream), n_columns, first_column)
            case "npz":
                matrix = _npz(file.name, _whole(file.stream), label, split)
            case "mtx":
                matrix = _matrix_market(file.name, file.stream)
            case "h5ad":
                from naively.io.anndata import read_h5ad

                matrix = read_h5ad(file.name, _whole(file.stream), label, split)
            case _:
                raise InputError(
                    f"{file.name}: the name does not tell the format; "
                    f"give it with --format {'|'.join(MATRIX_FORMATS)}."
                )
    check_matrix(matrix, n_columns)
    return matrix


def read_words(source: Source) -> list[str]:
    """Read the lines of a text file, without blanks around them: labels, names or stop words."""
    with open_input(source) as file, explained(file.name):
        return [clean(line.strip()) for line in read_lines(file)]


def read_labels(source: Source, rows: int, matrix: str) -> list[str]:
    """Read one label a line from a file that lies beside a matrix.

    Raises
    ------
    InputError
        If a label is missing or there are not as many as the matrix has rows.
    """
    labels = read_words(source)
    while labels and not labels[-1]:
        labels.pop()
    if len(labels) != rows:
        raise InputError(
            f"{name_of(source)}: holds {len(labels):,} labels, {matrix} has {rows:,} rows; "
            "write one label a line."
        )
    if "" in labels:
        raise InputError(
            f"{name_of(source)}: line {labels.index('') + 1:,}: the label is missing; fill it in."
        )
    return labels


def read_names(source: Source, columns: int, matrix: str) -> tuple[str, ...]:
    """Read one column name a line from a file that lies beside a matrix.

    Raises
    ------
    InputError
        If there are not as many names as columns, or one name stands twice.
    """
    names = read_words(source)
    while len(names) > columns and not names[-1]:
        names.pop()
    if len(names) != columns:
        raise InputError(
            f"{name_of(source)}: holds {len(names):,} names, {matrix} has {columns:,} columns; "
            "write one name a line."
        )
    return tuple(names)


def _whole(stream: BinaryIO) -> BinaryIO:
    return stream if stream.seekable() else io.BytesIO(stream.read())


# svmlight --------------------------------------------------------------------------------------


def _svmlight(
    name: str, stream: BinaryIO, n_columns: int | None, first_column: int | None
) -> Matrix:
    from sklearn.datasets import load_svmlight_file

    content = io.BytesIO(stream.read())
    if not content.getvalue().strip():
        raise InputError(f"{name}: the file is empty; give one with data in it.")
    try:
        X, y = load_svmlight_file(content, dtype=np.float64, zero_based=True)
    except (ValueError, OverflowError, IndexError) as error:
        raise InputError(_svmlight_fault(name, content.getvalue(), error)) from error
    if first_column is None:
        first_column = 0 if X.nnz == 0 or X.indices.min() == 0 else 1
    width = X.shape[1] - first_column if n_columns is None else n_columns
    columns = X.indices - first_column
    if columns.size and (columns.min() < 0 or columns.max() >= width):
        raise InputError(
            f"{name}: has columns {X.indices.min()} to {X.indices.max()}, the model knows "
            f"{first_column} to {first_column + width - 1}; use the numbering of the training file."
        )
    X = type(X)((whole_numbers(X.data), columns, X.indptr), shape=(X.shape[0], width))
    labels = [cast(str, label_text(value)) for value in y.tolist()]
    return Matrix(name, X, labels, first_column=first_column)


def _svmlight_fault(name: str, content: bytes, error: Exception) -> str:
    for number, line in enumerate(content.decode("latin-1").splitlines(), 1):
        fields = line.partition("#")[0].split()
        if fields and not _svmlight_line(fields):
            return (
                f"{name}: line {number:,} is not svmlight; "
                "write a number as the label and then column:value pairs in ascending order."
            )
    return (
        f"{name}: this is not an svmlight file ({cause(error)}); "
        "get it again, or name what it is with --format."
    )


def _svmlight_line(fields: Sequence[str]) -> bool:
    last = -1
    try:
        float(fields[0])
        for field in fields[1:]:
            if field.startswith("qid:"):
                continue
            if not _SVMLIGHT_ENTRY.fullmatch(field):
                return False
            column, value = field.split(":", 1)
            float(value)
            if int(column) <= last:
                return False
            last = int(column)
    except ValueError:
        return False
    return True


# .npz ------------------------------------------------------------------------------------------


def _npz(name: str, stream: BinaryIO, label: str, split: str | None) -> Matrix:
    start = stream.read(6)
    stream.seek(-len(start), 1)
    if not start.startswith((b"PK", b"\x93NUMPY")):
        raise InputError(f"{name}: this is not an .npz file; get it again.")
    try:
        # A pickle in a file from somebody else could run code: never allowed.
        loaded = np.load(stream, allow_pickle=False)
        if isinstance(loaded, np.ndarray):
            raise InputError(f"{name}: this is one array; save X and y with numpy.savez.")
        with loaded as archive:
            arrays = {key: archive[key] for key in archive.files if _wanted(key, label, split)}
            known = archive.files
    except Exception as error:  # encrypted, packed in an unknown way, damaged, ...
        if passes(error):
            raise
        raise InputError(f"{name}: {_npz_fault(error)}") from error
    for key, array in arrays.items():
        if not isinstance(array, np.ndarray):  # NumPy hands out the bytes of what it cannot read
            raise InputError(f"{name}: `{key}` is not an array; save it with numpy.savez.")
    if "format" in arrays and "shape" in arrays:
        return Matrix(name, _sparse(name, arrays))
    for key in ("X", split):
        if key is not None and key not in arrays:
            raise InputError(f"{name}: there is no array `{key}`; {nearest(key, known)}")
    return Matrix(
        name,
        arrays["X"].astype(_usual(arrays["X"].dtype), copy=False),
        strings(name, label, arrays.get(label)),
        _names(name, arrays.get("feature_names")),
        strings(name, split, arrays.get(split)) if split else None,
    )


def _wanted(key: str, label: str, split: str | None) -> bool:
    sparse = ("format", "shape", "data", "indices", "indptr", "row", "col")
    return key in (*sparse, "X", "feature_names", label, split)


def _npz_fault(error: Exception) -> str:
    if "allow_pickle" in str(error):
        return "it holds Python objects, which are not read; save text as arrays of dtype str."
    return f"this is not an .npz file, or it is damaged ({cause(error)}); get it again."


def _sparse(name: str, arrays: dict[str, Array]) -> Any:
    import scipy.sparse as sp

    try:
        kind = arrays["format"].item()
        kind = kind.decode("ascii", "replace") if isinstance(kind, bytes) else str(kind)
        rows, columns = (operator.index(each) for each in arrays["shape"].tolist())
        shape = (rows, columns)
        check_memory(name, rows, "its rows")
        data = arrays["data"].astype(_usual(arrays["data"].dtype), copy=False)
        if kind == "coo":
            return sp.coo_array((data, (arrays["row"], arrays["col"])), shape).tocsr()
        if kind not in ("csr", "csc"):
            raise InputError(f"{name}: sparse format {kind!r} is not read; save CSR, CSC or COO.")
        make = sp.csr_array if kind == "csr" else sp.csc_array
        X = make((data, arrays["indices"], arrays["indptr"]), shape)
        X.check_format(full_check=True)
        return X.tocsr()
    except Exception as error:
        if passes(error):
            raise
        raise InputError(
            f"{name}: the sparse matrix is not consistent ({cause(error)}); "
            "save it with scipy.sparse.save_npz."
        ) from error


def _usual(dtype: np.dtype[Any]) -> np.dtype[Any]:
    # Sparse matrices know neither half nor extended precision, nor foreign byte orders.
    if dtype.kind == "f" and dtype.itemsize not in (4, 8):
        return np.dtype(np.float64)
    return dtype.newbyteorder("=")


def check_memory(name: str, cells: int, what: str) -> None:
    """Refuse a file whose shape alone asks for more memory than the machine has.

    A few bytes can claim a shape of any size, and the system grants memory that it does not
    have until it is used.

    Parameters
    ----------
    name
        The file.
    cells
        Figures of eight bytes that are sure to be needed.
    what
        What there are too many of, in words.

    Raises
    ------
    InputError
        If they do not fit.
    """
    try:
        memory = os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES")
    except (AttributeError, ValueError, OSError):  # not on every system
        memory = 1 << 37
    if 8 * cells > memory:
        raise InputError(
            f"{name}: {what} need {8 * cells / 2**30:,.0f} GiB, this machine has "
            f"{memory / 2**30:,.0f}; check the largest number of a row or column, or leave out "
            "what is empty."
        )


def strings(name: str, key: str | None, array: Array | None) -> list[str] | None:
    """Labels of an array as text; None if there is no array.

    Raises
    ------
    InputError
        If a label is missing, or the array has another shape.
    """
    if array is None:
        return None
    if array.ndim != 1:
        raise InputError(f"{name}: array `{key}` must have one dimension; it has {array.ndim}.")
    try:
        labels = [label_text(value) for value in array.tolist()]
    except TypeError as error:
        raise InputError(
            f"{name}: array `{key}` holds {array.dtype}, not labels; save text or whole numbers."
        ) from error
    if None in labels:
        raise InputError(
            f"{name}: array `{key}`: the label of row {labels.index(None) + 1:,} is missing; "
            "fill it in or take the row out."
        )
    return cast("list[str]", labels)


def _names(name: str, array: Array | None) -> tuple[str, ...] | None:
    if array is None:
        return None
    return tuple(clean(str(each)) for each in array.ravel().tolist())


# Matrix Market ---------------------------------------------------------------------------------


def _matrix_market(name: str, stream: BinaryIO) -> Matrix:
    import scipy.io
    import scipy.sparse as sp

    try:
        X = scipy.io.mmread(io.BytesIO(stream.read()))
    except Exception as error:
        if passes(error) or isinstance(error, (EOFError, OSError)):
            raise
        raise InputError(
            f"{name}: this is not a Matrix Market file, or it is damaged ({cause(error)}); "
            "get it again, or name what it is with --format."
        ) from error
    check_memory(name, X.shape[0], "its rows")
    return Matrix(name, sp.csr_array(X) if sp.issparse(X) else np.asarray(X), first_column=1)


# What every matrix must be ---------------------------------------------------------------------


def check_matrix(matrix: Matrix, n_columns: int | None = None) -> None:
    """Refuse a matrix that is empty, is not of finite numbers, or does not fit its names.

    Raises
    ------
    InputError
        Saying what is wrong, and where.
    """
    X, name = matrix.X, matrix.source
    if X.ndim != 2 or 0 in X.shape:
        raise InputError(f"{name}: the matrix must have rows and columns; its shape is {X.shape}.")
    if X.dtype.kind not in "biuf":
        raise InputError(f"{name}: the matrix must hold numbers; it holds {X.dtype}.")
    if n_columns is not None and X.shape[1] != n_columns:
        raise InputError(
            f"{name}: has {X.shape[1]:,} columns, the model was trained on {n_columns:,}; "
            "give the same columns in the same order."
        )
    for what, found in (("labels", matrix.labels), ("parts", matrix.split)):
        if found is not None and len(found) != X.shape[0]:
            raise InputError(f"{name}: {len(found):,} {what} for {X.shape[0]:,} rows.")
    if matrix.names is not None and len(matrix.names) != X.shape[1]:
        raise InputError(f"{name}: {len(matrix.names):,} feature names for {X.shape[1]:,} columns.")
    _check_finite(name, X)


def _check_finite(name: str, X: Any) -> None:
    values = X if isinstance(X, np.ndarray) else X.data
    if values.dtype.kind != "f" or np.isfinite(values).all():
        return
    place = first_place(X, ~np.isfinite(values))
    raise InputError(
        f"{name}: {place} is not a finite number; replace NaN and infinite values first."
    )


def first_place(X: Any, bad: Array) -> str:
    """Row and column, counted from 1, of the first entry marked in `bad` (shaped like the data)."""
    if isinstance(X, np.ndarray):
        row, column = np.argwhere(bad)[0]
    else:
        entry = int(np.argmax(bad))
        row = int(np.searchsorted(X.indptr, entry, side="right")) - 1
        column = X.indices[entry]
    return f"the value in row {int(row) + 1:,}, column {int(column) + 1:,}"
