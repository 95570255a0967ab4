"""Any container of numbers as one of three layouts, without making sparse data dense.

Everything behind this module sees a CSR or CSC matrix or a dense array of plain NumPy numbers.
Frames are recognised by what they can do, so neither pandas nor polars is imported.
"""

from __future__ import annotations

from typing import Any, TypeAlias

import numpy as np
import scipy.sparse as sp

from naively._types import Array

Matrix: TypeAlias = Any  # a CSR or CSC matrix or array of SciPy, or a 2-D NumPy array

_NUMERIC = "biuf"
_EXACT = 2**53  # up to here every whole number is a double
_NO_NUMBERS = (str, bytes, bytearray, np.datetime64, np.timedelta64)  # though `float` takes some


def is_sparse(matrix: Any) -> bool:
    """Whether a matrix has `data`, `indices` and `indptr` (or another sparse format)."""
    return bool(sp.issparse(matrix))


def as_matrix(X: Any) -> Matrix:
    """Return X as CSR, CSC or a dense two-dimensional array; X itself where it already is one.

    Parameters
    ----------
    X : array-like, sparse matrix or array of SciPy, or data frame of shape (n, m)
        Sparse formats other than CSR and CSC become CSR, their duplicates summed exactly. Frames
        with sparse columns become CSC. Missing values of frames become NaN.

    Returns
    -------
    matrix : csr_matrix, csr_array, csc_matrix, csc_array or ndarray of shape (n, m)
        Of boolean, integer or floating type, in the machine's byte order. May share memory with X
        and must not be modified.

    Raises
    ------
    ValueError
        If X does not have two dimensions, holds anything but real numbers, or is sparse and points
        out of itself.
    TypeError
        If X is an array of a library other than NumPy.
    """
    if is_sparse(X):
        return _native(consistent(_compressed(X)))
    check_library(X)
    if hasattr(X, "iloc") and hasattr(X, "dtypes"):
        return _native(_from_pandas(X))
    dense = np.asarray(X.to_numpy() if hasattr(X, "to_numpy") else unmasked(X))
    if dense is not X and dense.dtype == np.float64 and (np.abs(dense) >= _EXACT).any():
        dense = _exactly(X, dense)
    return _native(_two_dimensional(dense))


def _exactly(X: Any, rounded: Array) -> Array:
    """Whole numbers of lists and columns of which NumPy's common type, float64, loses digits."""
    if isinstance(X, list | tuple):
        values = np.asarray(X, dtype=object)
        whole = all(isinstance(each, int | np.integer) for each in values.flat)
        return values if whole else rounded
    names = getattr(X, "column_names", getattr(X, "columns", ()))
    columns = [np.asarray(X[name]) for name in names]
    if not columns or any(column.dtype.kind not in "iub" for column in columns):
        return rounded
    return np.column_stack([column.astype(object) for column in columns])


def unmasked(X: Any) -> Any:
    """Return a masked array as a plain one, NaN (of objects None) where it is masked, else X."""
    if not isinstance(X, np.ma.MaskedArray):
        return X
    if not np.ma.is_masked(X):
        return np.asarray(X.data)
    numbers = X.dtype.kind in "biuf"
    values: Any = X if X.dtype.kind == "f" else X.astype(np.float64 if numbers else object)
    return values.filled(np.nan if numbers else None)


def check_library(X: Any) -> None:
    """Raise if X is an array of another library than NumPy, which would be copied unnoticed.

    AnnData holds labels and several matrices: which of them is X is not to be guessed.
    """
    if all(hasattr(X, name) for name in ("obs", "var", "layers", "X")):
        raise TypeError(
            "`X` must be a matrix or a table; got AnnData. Pass adata.X, or a layer such as "
            "adata.layers['counts'], and as `y` the column of labels, such as "
            "adata.obs['cell_type']; naively.scanpy.rank_genes(adata, 'cell_type') does both."
        )
    if hasattr(X, "collect_schema") and hasattr(X, "collect"):
        raise TypeError("`X` must hold its rows; got a lazy frame. Pass X.collect().")
    if hasattr(X, "__array_namespace__") and not isinstance(X, np.ndarray | np.generic):
        raise TypeError(
            "`X` must be a NumPy array, a sparse matrix of SciPy, a data frame or a list; got "
            f"{type(X).__module__}.{type(X).__qualname__}. Its entries would be copied and the "
            "results be NumPy's: pass numpy.asarray(X), or what its library offers for that."
        )


def check_numbers(X: Any) -> None:
    """Raise as `check_library`, or if the types of X are of complex numbers, dates or times."""
    check_library(X)
    frame = hasattr(X, "iloc") and hasattr(X, "columns")
    for dtype in X.dtypes if frame else (getattr(X, "dtype", None),):
        if getattr(dtype, "kind", "") in tuple("cmM"):
            raise _no_numbers(dtype)


def _no_numbers(dtype: Any) -> ValueError:
    told = "Complex data not supported: " if dtype.kind == "c" else ""
    return ValueError(
        f"{told}X must hold real numbers; got dtype {dtype}. Encode text as counts, split complex "
        "numbers into their parts, turn dates into numbers."
    )


def canonical(matrix: Matrix) -> Matrix:
    """Return a sparse matrix with indices sorted and duplicates summed; integers summed exactly.

    Parameters
    ----------
    matrix : CSR or CSC matrix
        Not modified. Duplicates of booleans are joined by "or", as `toarray` does.

    Returns
    -------
    canonical : matrix of the same format
        `matrix` itself if it is canonical already.
    """
    # The flags that SciPy caches on the caller's matrix stay untouched: shallow copies carry them.
    plain = type(matrix)((matrix.data, matrix.indices, matrix.indptr), matrix.shape, copy=False)
    if plain.has_canonical_format:
        return matrix
    plain = type(matrix)((_widened(matrix.data), matrix.indices, matrix.indptr), matrix.shape)
    plain = plain.copy()
    plain.sum_duplicates()
    return plain


def consistent(matrix: Matrix) -> Matrix:
    """Return a CSR or CSC matrix that points at nothing but its own entries, rows and columns.

    SciPy looks at the ends of `indptr` alone, and compiled code follows whatever is in between.

    Raises
    ------
    ValueError
        If it points elsewhere.
    """
    lines, bound = matrix.shape if matrix.format == "csr" else matrix.shape[::-1]
    indptr, size = matrix.indptr, min(len(matrix.data), len(matrix.indices))
    if len(indptr) != lines + 1:
        raise ValueError(f"`indptr` of sparse X must have {lines + 1} bounds; got {len(indptr)}.")
    if indptr[0] != 0 or indptr[-1] > size or (indptr[1:] < indptr[:-1]).any():
        raise ValueError(
            f"`indptr` of sparse X must ascend from 0 to at most {size}, its number of entries."
        )
    indices = matrix.indices[: indptr[-1]]
    unsigned = indices.view(f"u{indices.itemsize}")  # negative ones become large
    if len(indices) and int(unsigned.max()) >= bound:
        raise ValueError(
            f"The indices of sparse X must lie in [0, {bound}); got "
            f"{indices[unsigned >= bound][0]}."
        )
    return matrix


def _widened(data: Array) -> Array:
    """Values in a type in which sums of duplicates cannot wrap around."""
    if data.dtype.kind in "iu" and data.dtype.itemsize < 8:
        return data.astype(np.int64)
    return data


def _compressed(X: Any) -> Matrix:
    if X.ndim != 2:
        raise ValueError(
            f"X must have two dimensions, rows and columns; got a sparse array of {X.ndim}."
        )
    if X.format in ("csr", "csc"):
        return X
    if X.format == "coo" and X.dtype.kind in _NUMERIC:  # `tocsr` sums duplicates in X's own type
        X = type(X)((_widened(X.data), (X.row, X.col)), shape=X.shape, copy=False)
    return X.tocsr()


def _two_dimensional(dense: Array) -> Array:
    if dense.ndim != 2:
        raise ValueError(
            f"X must have two dimensions, rows and columns; got an array of {dense.ndim}. "
            "Reshape one row with X.reshape(1, -1), one column with X.reshape(-1, 1)."
        )
    return _numbers(dense)


def _numbers(values: Array) -> Array:
    """Python objects as numbers, whole ones exactly; text that looks like a number is none."""
    if values.dtype.kind != "O":
        return values
    kinds = set(map(type, values.flat))
    strange = [kind.__name__ for kind in kinds if issubclass(kind, _NO_NUMBERS)]
    if strange:
        raise ValueError(
            f"X must hold real numbers; got an object that is none, of type {min(strange)}. "
            "Encode text as counts, turn digits and dates into numbers."
        )
    if values.size and all(issubclass(kind, int | np.integer | np.bool_) for kind in kinds):
        return values.astype(_whole_type(int(values.min()), int(values.max())))
    try:
        return values.astype(np.float64)
    except (TypeError, ValueError) as error:
        raise ValueError(f"X must hold real numbers; got an object that is none: {error}") from None


def _whole_type(low: int, high: int) -> Any:
    """Return the type of 64 bits that holds a range of whole numbers, exactly if there is one."""
    for dtype in (np.int64, np.uint64):
        if np.iinfo(dtype).min <= low and high <= np.iinfo(dtype).max:
            return dtype
    return np.float64


def _native(matrix: Matrix) -> Matrix:
    dtype = matrix.dtype
    if dtype.kind not in _NUMERIC:
        raise _no_numbers(dtype)
    if dtype.isnative and dtype != np.longdouble:
        return matrix
    return matrix.astype(np.float64 if dtype == np.longdouble else dtype.newbyteorder("="))


def _from_pandas(frame: Any) -> Matrix:
    if not hasattr(frame, "columns"):
        return _two_dimensional(frame.to_numpy())
    if has_sparse_columns(frame):
        return _sparse_frame(frame)
    kinds = {getattr(dtype, "kind", "O") for dtype in frame.dtypes}
    if not kinds <= set("iufb"):
        return _two_dimensional(frame.to_numpy())
    plain = all(isinstance(dtype, np.dtype) for dtype in frame.dtypes)
    if not plain and frame.isna().to_numpy().any():  # nullable and Arrow-backed columns
        return frame.to_numpy(dtype=np.float64, na_value=np.nan)
    # A mixture of booleans and numbers would become a table of Python objects.
    return frame.to_numpy(dtype=_common_type(frame) if len(kinds) else None)


def _common_type(frame: Any) -> Any:
    types = [getattr(dtype, "numpy_dtype", dtype) for dtype in frame.dtypes]
    common = np.result_type(*types)
    if common.kind != "f" or len(frame) == 0 or any(dtype.kind == "f" for dtype in types):
        return common
    # Signed beside unsigned numbers of 64 bits: NumPy's common type is float64, which rounds.
    columns = [column for _, column in frame.items()]
    lows, highs = [int(c.min()) for c in columns], [int(c.max()) for c in columns]
    return _whole_type(min(lows), max(highs))


def has_sparse_columns(X: Any) -> bool:
    """Whether a frame has some, which stay sparse in `as_matrix`."""
    frame = hasattr(X, "iloc") and hasattr(X, "columns")
    return frame and any(_is_sparse(dtype) for dtype in X.dtypes)


def _is_sparse(dtype: Any) -> bool:
    return hasattr(dtype, "fill_value") and hasattr(dtype, "subtype")


def _sparse_frame(frame: Any) -> Matrix:
    """Columns of a frame side by side as CSC; only columns not sparse in zeros are expanded."""
    columns = [_column_entries(column) for _, column in frame.items()]
    indptr = np.zeros(len(columns) + 1, dtype=np.int64)
    np.cumsum([len(rows) for rows, _ in columns], out=indptr[1:])
    indices = np.concatenate([rows for rows, _ in columns])
    types = {values.dtype for _, values in columns}
    entries = [values for _, values in columns]
    if len(types) > 1 and all(dtype.kind in "iub" for dtype in types):  # exactly
        bounds = [int(bound) for each in entries if each.size for bound in (each.min(), each.max())]
        common = _whole_type(min(bounds, default=0), max(bounds, default=0))
        entries = [values.astype(common) for values in entries]
    data = np.concatenate(entries)
    return sp.csc_array((data, indices, indptr), shape=(len(frame), len(columns)))


def _column_entries(column: Any) -> tuple[Array, Array]:
    """Rows (ascending) and values of the entries of one column of a frame."""
    if _is_sparse(column.dtype) and column.dtype.fill_value == 0:
        sparse = column.array
        return sparse.sp_index.indices, sparse.sp_values
    values = _numbers(column.to_numpy())
    rows = np.flatnonzero(values).astype(np.int32)  # NaN counts as an entry
    return rows, values[rows]


def whole_numbers(data: Array) -> Array:
    """Return numbers as integers if all are whole: integers are counted exactly and fast."""
    with np.errstate(invalid="ignore"):
        whole = data.astype(np.int64)
    return whole if np.array_equal(whole, data) else data
