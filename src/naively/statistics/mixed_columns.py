"""A table of columns of several kinds as one matrix of numbers: what each column is to a model.

    gaussian      a real number                    as it is
    poisson       a count                          as it is
    bernoulli     a boolean, or a number           whether it is true, or above 0
    categorical   a string, number or boolean      position among the categories of the column

What is missing (NaN, None, NaT, `pandas.NA`) becomes NaN, and so does a category that was not there
when the columns were learned: nothing is known of it.

Frames are recognised by what they can do, so no library of frames is imported.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from decimal import Decimal
from numbers import Integral, Real
from typing import Any, Self, TypeAlias, final

import numpy as np

from naively._types import Array, FloatArray
from naively.statistics.column_kinds import KINDS
from naively.statistics.labels import is_missing
from naively.statistics.matrix import Matrix, as_matrix, is_sparse, unmasked

Labels: TypeAlias = tuple[Any, ...]  # of the categories of a column, in the order of their codes


@final
@dataclass(frozen=True, slots=True)
class MixedColumns:
    """Kind of each column of a table, and the categories of those that have some.

    Attributes
    ----------
    kinds : tuple of str
        "gaussian", "categorical", "bernoulli" or "poisson".
    labels : tuple of tuple
        Categories of each column in the order of their codes, () of other kinds.
    names : tuple of str or None
        What the columns are called, for messages.
    """

    kinds: tuple[str, ...]
    labels: tuple[Labels, ...]
    names: tuple[str, ...] | None = None

    @classmethod
    def of(
        cls, X: Any, told: Any = None, names: Sequence[str] | None = None, text: Sequence[int] = ()
    ) -> Self:
        """Look at a table.

        Parameters
        ----------
        X : data frame, sparse matrix or array-like of shape (n, m)
            The rows.
        told : mapping, sequence of str of length m, or None
            Kinds: of some columns by name (or by position), the others by their type; or of all.
        names : sequence of str, optional
            Of the columns.
        text : sequence of int, optional
            Positions of texts, which are left out.

        Raises
        ------
        ValueError
            If a kind or a column is unknown, or the values of a column are not of its kind.
        """
        table = Table.of(X)
        named = None if names is None else tuple(map(str, names))
        asked = _checked_kinds(told, table.width, named)
        if text:
            table, asked, named = _without_text(table, asked, named, text)
        kinds = tuple(
            kind or ("gaussian" if table.sparse else _kind_of(table.column(i)))
            for i, kind in enumerate(asked)
        )
        columns = cls(kinds, ((),) * table.width, named)
        columns._refuse_dates(table)
        return columns._extended(table)

    def extended(self, X: Any) -> Self:
        """Return the same columns with the categories that are new in some rows after the others.

        Raises
        ------
        ValueError
            If the table has another number of columns.
        """
        return self._extended(self._checked(X))

    def _extended(self, table: Table) -> Self:
        if "categorical" in self.kinds and table.sparse:
            i = self.kinds.index("categorical")
            raise ValueError(
                f"{self._name(i)} cannot be 'categorical' in a sparse `X`, whose zeros are no "
                "category of their own; pass a data frame or a dense array, or one-hot columns as "
                "'bernoulli'."
            )
        labels = list(self.labels)
        for i, kind in enumerate(self.kinds):
            if kind == "categorical":
                labels[i] = self._with_new(i, table.column(i))
        return replace(self, labels=tuple(labels))

    def _with_new(self, i: int, column: Any) -> Labels:
        known = self.labels[i]
        categories = getattr(getattr(column, "dtype", None), "categories", None)
        values = _plain(column) if categories is None else categories.tolist()
        values = [value for value in values if not is_missing(value)]
        strange = [value for value in values if not isinstance(value, str | bytes | Real)]
        if strange:
            raise ValueError(
                f"{self._name(i)} is 'categorical', and its categories must be strings, numbers "
                f"or booleans; got {strange[0]!r}. Turn them into strings."
            )
        found = set(values) - set(known)
        return known + tuple(
            sorted(found, key=lambda v: (isinstance(v, Real), type(v) is bytes, v))
        )

    def encoded(self, X: Any) -> Matrix:
        """Return rows as numbers: (n, m) float64, CSR if they are sparse.

        Raises
        ------
        ValueError
            If the values of a column are not of its kind; the message names it.
        """
        table = self._checked(X)
        self._refuse_dates(table)
        if table.matrix is not None:
            return self._of_sparse(table.matrix.tocsc())
        encoded = np.empty((table.height, table.width))
        for i, kind in enumerate(self.kinds):
            encoded[:, i] = self._encoded(i, kind, table.column(i))
        return encoded

    def _encoded(self, i: int, kind: str, column: Any) -> FloatArray:
        if kind == "categorical":
            code = {label: float(position) for position, label in enumerate(self.labels[i])}
            categories = getattr(getattr(column, "dtype", None), "categories", None)
            if categories is None:
                return _looked_up(_plain(column), code)
            table = np.append(_looked_up(categories.tolist(), code), np.nan)  # -1: missing
            return np.asarray(table[np.asarray(column.cat.codes)])
        numbers = self._numbers(i, kind, column)
        return self._checked_numbers(i, kind, numbers)

    def _numbers(self, i: int, kind: str, column: Any) -> FloatArray:
        if isinstance(column, np.ndarray) and column.dtype.kind in "biuf":
            return column.astype(np.float64)
        values = _plain(column)
        bad = [v for v in values if not isinstance(v, Real | Decimal) and not is_missing(v)]
        if bad:
            raise ValueError(
                f"{self._name(i)} is '{kind}', but holds {bad[0]!r}, which is no number. Say "
                f"`columns`={{{self._key(i)!r}: 'categorical'}}, or turn it into numbers."
            )
        return np.array([np.nan if is_missing(v) else float(v) for v in values])

    def _of_sparse(self, X: Matrix) -> Matrix:
        pieces = [X.data[X.indptr[i] : X.indptr[i + 1]] for i in range(X.shape[1])]
        data = [
            self._checked_numbers(i, kind, piece.astype(np.float64))
            for i, (kind, piece) in enumerate(zip(self.kinds, pieces, strict=True))
        ]
        values = np.concatenate(data) if data else np.empty(0)
        return type(X)((values, X.indices, X.indptr), shape=X.shape).tocsr()

    def _checked_numbers(self, i: int, kind: str, values: FloatArray) -> FloatArray:
        bad = np.isinf(values) | ((kind == "poisson") & (values < 0))
        if bad.any():
            worst, name = values[np.argmax(bad)], self._name(i)
            if np.isinf(worst):
                raise ValueError(
                    f"Input X contains infinity: {name} holds {worst}. All values must be "
                    "finite or missing."
                )
            raise ValueError(
                f"Negative values in data: {name} is 'poisson', a count, and holds "
                f"{worst:g}; it may be 'gaussian'."
            )
        if kind == "bernoulli":
            return np.where(np.isnan(values), np.nan, values > 0)
        return values

    def _checked(self, X: Any) -> Table:
        table = Table.of(X)
        if table.width != len(self.kinds):
            raise ValueError(
                f"X has {table.width} features, but {len(self.kinds)} are expected: the columns "
                "of training."
            )
        return table

    def _refuse_dates(self, table: Table) -> None:
        for i in range(table.width):
            dtype = None if table.sparse else getattr(table.column(i), "dtype", None)
            kind = getattr(dtype, "kind", "")
            if kind in ("M", "m", "c"):
                complex_ = "Complex data not supported: " if kind == "c" else ""
                raise ValueError(
                    f"{complex_}{self._name(i)} is of type {dtype}, which is of no kind. Turn "
                    "dates into numbers (days since one of them) or categories (months), complex "
                    "numbers into their parts."
                )

    def of_kind(self, kind: str) -> Array:
        """Positions of the columns of a kind, ascending.

        Parameters
        ----------
        kind : str
            One of `KINDS`.

        Returns
        -------
        positions : ndarray of int
            Of the columns.
        """
        return np.flatnonzero(np.array(self.kinds, dtype=object) == kind)

    def take(self, columns: Array) -> Self:
        """Return some columns, in the order given.

        Parameters
        ----------
        columns : array-like of int
            Which ones.

        Returns
        -------
        columns : MixedColumns
            Only these.
        """
        return replace(
            self,
            kinds=tuple(self.kinds[i] for i in columns),
            labels=tuple(self.labels[i] for i in columns),
            names=None if self.names is None else tuple(self.names[i] for i in columns),
        )

    def united(self, other: Self) -> Self:
        """Return the same columns with the categories of both, whose codes must agree.

        Parameters
        ----------
        other : MixedColumns
            The same columns as seen elsewhere.

        Returns
        -------
        columns : MixedColumns
            One of the two, or each column from that which has more categories.

        Raises
        ------
        ValueError
            If they are not the same columns, or a code means different categories.
        """
        if self.kinds != other.kinds:
            raise ValueError(
                "Statistics must be of columns of the same kinds to be combined; got "
                f"{list(self.kinds)} and {list(other.kinds)}. Say all kinds in `columns`."
            )
        if None not in (self.names, other.names) and self.names != other.names:
            raise ValueError(
                "Statistics must be of the same columns to be combined, and these have other "
                "names, or other words. Gather them with the same columns, in the same order."
            )
        labels = []
        for i, (ours, theirs) in enumerate(zip(self.labels, other.labels, strict=True)):
            short, long = sorted((ours, theirs), key=len)
            if long[: len(short)] != short:
                raise ValueError(
                    f"The categories of {self._name(i)} have other numbers in the one statistics "
                    f"than in the other: {list(ours)} and {list(theirs)}. Gather with one "
                    "estimator (`partial_fit`), or as pandas categoricals of the same categories."
                )
            labels.append(long)
        return replace(self, labels=tuple(labels))

    def _key(self, i: int) -> str | int:
        return i if self.names is None else self.names[i]

    def _name(self, i: int) -> str:
        return f"Column {self._key(i)!r}"


@final
@dataclass(frozen=True, slots=True)
class Table:
    """Any container with columns."""

    height: int
    width: int
    column: Callable[[int], Any]  # position -> values (n,), with `dtype` if the container has one
    matrix: Matrix | None = None  # sparse

    @property
    def sparse(self) -> bool:
        """Whether its zeros are not there."""
        return self.matrix is not None

    def some(self, positions: Sequence[int]) -> Self:
        """Return some of the columns."""
        if self.matrix is not None:
            return type(self).of(self.matrix[:, list(positions)])
        return replace(self, width=len(positions), column=lambda i: self.column(positions[i]))

    @classmethod
    def of(cls, X: Any) -> Self:
        """Return the columns of a frame, an array, a sparse matrix or a list of rows."""
        if isinstance(X, cls):
            return X
        if is_sparse(X):
            X = as_matrix(X)
            return cls(X.shape[0], X.shape[1], lambda i: X[:, [i]], X)
        if hasattr(X, "iloc") and hasattr(X, "columns"):  # pandas
            return cls(X.shape[0], X.shape[1], lambda i: _unwrapped(X.iloc[:, i]))
        if hasattr(X, "to_pylist") and hasattr(X, "column"):  # Arrow
            return cls(X.shape[0], X.shape[1], lambda i: _objects(X.column(i).to_pylist()))
        if hasattr(X, "to_dict") and hasattr(X, "columns"):  # polars
            return cls(X.shape[0], X.shape[1], lambda i: _objects(X[X.columns[i]].to_list()))
        rows = array_of(X)
        if rows.ndim != 2:
            raise ValueError(
                f"X must have two dimensions, rows and columns; got an array of {rows.ndim}. "
                "Reshape your data: one row with X.reshape(1, -1), one column with "
                "X.reshape(-1, 1)."
            )
        return cls(rows.shape[0], rows.shape[1], lambda i: rows[:, i])


def text_columns(X: Any, text: Any, names: Sequence[str] | None) -> list[int]:
    """Return the positions of the columns of text, ascending.

    Parameters
    ----------
    X : data frame or array-like of shape (n, m)
        The rows.
    text : sequence of str or int, or None
        Names, or positions.
    names : sequence of str or None
        Of the columns.

    Raises
    ------
    ValueError
        If `text` is no sequence, names no column or one twice, or X is sparse.
    """
    if text is None:
        return []
    if isinstance(text, str) or not isinstance(text, Iterable):
        raise ValueError(f"`text` must be a list of columns, such as [{text!r}]; got {text!r}.")
    table, named = Table.of(X), None if names is None else tuple(map(str, names))
    found = [_position(each, table.width, named, "text") for each in text]
    if len(set(found)) != len(found):
        raise ValueError(f"`text` must name each column once; got {text!r}.")
    if found and table.sparse:
        raise ValueError(
            "`text` must be None with a sparse `X`, which holds numbers; pass a data frame."
        )
    return sorted(found)


def texts_of(X: Any, positions: Sequence[int], names: Sequence[str]) -> list[list[str]]:
    """Return the texts (n,) of some columns; a missing one is empty.

    Raises
    ------
    ValueError
        If a value is neither missing nor a text; the message names the column.
    """
    table, found = Table.of(X), []
    for i, name in zip(positions, names, strict=True):
        values = ["" if is_missing(value) else value for value in _plain(table.column(i))]
        strange = [value for value in values if not isinstance(value, str)]
        if strange:
            raise ValueError(
                f"Column {name!r} must hold texts, as `text` says; got {strange[0]!r}. Turn it "
                "into strings, or take it out of `text`."
            )
        found.append(values)
    return found


def _without_text(
    table: Table, asked: list[str | None], names: Labels | None, text: Sequence[int]
) -> tuple[Table, list[str | None], Labels | None]:
    both = [i for i in text if asked[i] is not None]
    if both:
        name = both[0] if names is None else names[both[0]]
        raise ValueError(
            f"`columns` must not give a kind to column {name!r}, which `text` names: its words "
            "are variables of their own. Leave one of them out."
        )
    kept = [i for i in range(table.width) if i not in text]
    named = None if names is None else tuple(names[i] for i in kept)
    return table.some(kept), [asked[i] for i in kept], named


def check_table(X: Any) -> None:
    """Raise ValueError unless X has rows and columns."""
    table = Table.of(X)
    for n, what in ((table.height, "sample(s)"), (table.width, "feature(s)")):
        if n == 0:
            raise ValueError(
                f"Found array with 0 {what} (shape=({table.height}, {table.width})) while a "
                "minimum of 1 is required."
            )


def array_of(X: Any) -> Array:
    """Rows of an array or a list of lists as an array that keeps the types of Python."""
    if not isinstance(X, list | tuple):
        return np.asarray(unmasked(X))
    rows = [
        list(row) if isinstance(row, Iterable) and not isinstance(row, str) else row for row in X
    ]
    if rows and all(isinstance(row, list) for row in rows):
        width = len(rows[0])
        ragged = [i for i, row in enumerate(rows) if len(row) != width]
        if ragged:
            raise ValueError(
                f"All rows of X must have as many values as the first, {width}; row {ragged[0]} "
                f"has {len(rows[ragged[0]])}."
            )
        table = np.empty((len(rows), width), dtype=object)
        for i, row in enumerate(rows):
            table[i] = row
        return table
    return np.asarray(X)


def _unwrapped(column: Any) -> Any:
    """Return a column of pandas: a plain array where it is one of NumPy's numbers."""
    dtype = column.dtype
    if isinstance(dtype, np.dtype):
        return column.to_numpy()
    if getattr(dtype, "categories", None) is not None:
        return column
    if getattr(dtype, "kind", "O") in "biuf" and not column.isna().any():
        return column.to_numpy(dtype=getattr(dtype, "numpy_dtype", np.float64))
    if getattr(dtype, "kind", "O") in "iuf":
        return column.to_numpy(dtype=np.float64, na_value=np.nan)
    return column if getattr(dtype, "kind", "O") in "Mm" else _objects(column.tolist())


def _objects(values: list[Any]) -> Array:
    column = np.empty(len(values), dtype=object)
    column[:] = values
    return column


def _plain(column: Any) -> list[Any]:
    """Values of a column as those of Python."""
    values = column.tolist()
    return [value.item() if isinstance(value, np.generic) else value for value in values]


def _kind_of(column: Any) -> str:
    """Kind of a column of which nothing was said: by its type, or that of its values."""
    dtype = getattr(column, "dtype", None)
    if getattr(dtype, "categories", None) is not None:
        return "categorical"
    kind = getattr(dtype, "kind", "O")
    if kind == "b":
        return "bernoulli"
    if kind in "iuf":
        return "gaussian"
    values = [value for value in _plain(column) if not is_missing(value)]
    if values and all(isinstance(value, bool) for value in values):
        return "bernoulli"
    if all(isinstance(value, Real | Decimal) for value in values):
        return "gaussian"
    return "categorical"


def _looked_up(values: Iterable[Any], code: Mapping[Any, float]) -> FloatArray:
    """Codes of values, NaN of those that have none."""
    return np.array([_code(value, code) for value in values], dtype=np.float64)


def _code(value: Any, code: Mapping[Any, float]) -> float:
    try:
        return code.get(value, np.nan)
    except TypeError:  # no label could be equal to it
        return np.nan


def _checked_kinds(told: Any, width: int, names: Labels | None) -> list[str | None]:
    kinds: list[str | None] = [None] * width
    if told is None:
        return kinds
    if isinstance(told, Mapping):
        for column, kind in told.items():
            kinds[_position(column, width, names)] = _checked_kind(column, kind)
        return kinds
    if isinstance(told, str) or len(told) != width:
        raise ValueError(
            f"`columns` must map columns to kinds, or have one kind for each of the {width} "
            f"columns; got {told!r}."
        )
    return [_checked_kind(i, kind) for i, kind in enumerate(told)]


def _position(column: Any, width: int, names: Labels | None, parameter: str = "columns") -> int:
    if names is not None and column in names:
        return names.index(column)
    if isinstance(column, Integral) and not isinstance(column, bool) and 0 <= int(column) < width:
        return int(column)
    known = f"names {', '.join(map(repr, names[:10]))}" if names else "positions, as X has no names"
    raise ValueError(f"`{parameter}` must name columns of X ({known}); got {column!r}.")


def _checked_kind(column: Any, kind: Any) -> str:
    if isinstance(kind, str) and kind in KINDS:
        return kind
    if isinstance(kind, str) and kind == "text":
        raise ValueError(
            f"`columns` cannot make column {column!r} 'text': its words are variables of their "
            f"own. Say `text`=[{column!r}]."
        )
    raise ValueError(
        f"`columns` must give one of {', '.join(KINDS)} to column {column!r}; got {kind!r}."
    )
