"""Tables in memory: frames of pandas and polars, tables of Arrow. Columns are known by name."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from naively._nearest import nearest
from naively._types import Array
from naively.read.batch import interleaved
from naively.read.cells import Cells, is_arrow
from naively.statistics.labels import is_missing
from naively.text.utf8 import Texts, TokenRows, as_texts, as_tokens, is_list, rows_of_column


def is_frame(X: Any) -> bool:
    """Whether X has columns with names, or will have them once it is collected."""
    return hasattr(X, "collect") or (hasattr(X, "columns") and hasattr(X, "__getitem__"))


def column_names(X: Any) -> list[Any]:
    """Names of the columns of a table, in its order.

    Raises
    ------
    TypeError
        If X is no table, or does not hold its rows.
    """
    if hasattr(X, "collect"):
        raise TypeError(f"X must hold its rows; got a {type(X).__name__}: pass `X.collect()`.")
    if not is_frame(X):
        raise TypeError(
            f"X must be a pandas, polars or pyarrow table with named columns; got {type(X)}."
        )
    return list(getattr(X, "column_names", X.columns))  # of pyarrow `columns` are the values


def check_named(X: Any, names: Sequence[Any], what: str = "column") -> None:
    """Raise ValueError unless a table has each of these columns once; say which it lacks."""
    there = column_names(X)
    found = set(there)
    missing = [name for name in names if name not in found]
    if missing:
        listed = ", ".join(repr(name) for name in missing[:10])
        more = f" and {len(missing) - 10:,} more" if len(missing) > 10 else ""
        way = nearest(str(missing[0]), [str(each) for each in there])
        raise ValueError(
            f"X has no {what}{'s' * (len(missing) > 1)} {listed}{more}; columns are known by "
            f"name. {way[:1].upper()}{way[1:]}"
        )
    twice = [name for name in names if there.count(name) > 1] if len(found) < len(there) else []
    if twice:
        raise ValueError(f"X has several columns {twice[0]!r}; rename all but one.")


def text_rows(X: Any, names: Sequence[Any], *, tokens: bool = False) -> Texts | TokenRows:
    """Return columns of texts as rows, see `interleaved`; a missing text is an empty one.

    Raises
    ------
    ValueError
        If a column is not there, or holds something else.
    """
    check_named(X, names, "column of text")
    of_column = _tokens if tokens else _texts
    return interleaved([of_column(_cells(X[name]), name) for name in names])


def labels_in(X: Any, name: Any) -> list[Any]:
    """Return a column as Python has its values."""
    check_named(X, [name], "column of labels")
    cells = _cells(X[name])
    return list(cells.to_pylist() if is_arrow(cells) else cells)


def _cells(column: Any) -> Cells:
    """Return a column as an array of Arrow, or a list."""
    if hasattr(column, "to_arrow"):  # polars
        column = column.to_arrow()
    column = getattr(getattr(column, "array", None), "_pa_array", column)  # pandas on Arrow
    if not is_arrow(column):
        return column.tolist()
    if hasattr(column, "combine_chunks"):
        column = column.combine_chunks()
    if hasattr(column, "dictionary"):
        column = column.dictionary_decode()
    return column


def _texts(cells: Cells, name: Any) -> Texts:
    if is_arrow(cells):
        import pyarrow as pa

        kind = cells.type
        if pa.types.is_null(kind) or pa.types.is_string_view(kind):
            cells = cells.cast(pa.large_string())
        elif not (pa.types.is_string(kind) or pa.types.is_large_string(kind)):
            raise _no_text(name, str(kind))
        found = rows_of_column(cells)
        assert isinstance(found, Texts)
        return found
    texts = ["" if is_missing(value) else value for value in cells]
    strangers = [each for each in texts if not isinstance(each, str)]
    if strangers:
        raise _no_text(name, type(strangers[0]).__name__)
    return as_texts(texts)


def _no_text(name: Any, kind: str) -> ValueError:
    return ValueError(
        f"Column {name!r} must hold text; it holds {kind}. Convert it to strings, or name other "
        "columns of text."
    )


def _tokens(cells: Cells, name: Any) -> TokenRows:
    if is_arrow(cells) and is_list(cells.type):
        found = rows_of_column(cells)
        assert isinstance(found, TokenRows)
        return found
    cells = cells.to_pylist() if is_arrow(cells) else cells
    rows = [[] if value is None or isinstance(value, float) else value for value in cells]
    try:
        return as_tokens(rows)
    except ValueError as error:
        raise ValueError(f"Column {name!r}: {error}") from error


def number_columns(X: Any, names: Sequence[Any]) -> Any:
    """Return columns of numbers in the order of some names: a frame, or (n, k) of Arrow."""
    check_named(X, names)
    if hasattr(X, "iloc"):
        return X.loc[:, list(names)]
    chosen = X.select(list(names))
    if not hasattr(X, "column_names"):
        return chosen
    columns = [np.asarray(column.to_numpy()) for column in chosen.columns]
    rows: Array = np.column_stack(columns) if columns else np.empty((X.num_rows, 0))
    return rows
