"""Long tables of counts: what `GROUP BY label, feature` gives, from any database or frame.

Each row names a feature, a class and a count; pairs that are not there count 0. The rows of the
classes, which the pairs do not tell, stand beside them.
"""

from __future__ import annotations

import csv
import os
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

from naively._nearest import nearest, short
from naively._types import Array, FloatArray, IntArray
from naively.statistics.labels import encode_labels
from naively.statistics.matrix import as_matrix
from naively.statistics.sparse_table import SparseTable

_EXACT = 2.0**53  # whole numbers below are exact in double precision
_EMPTY = "`frame` must hold a row for each pair of feature and class; it is empty."
_ROWS = "such as {'ham': 4360, 'spam': 1300}, or a table of label and rows"


@dataclass(frozen=True, slots=True)
class LongCounts:
    """A long table, checked: one cell for each pair."""

    features: Array  # (m,) distinct, ascending
    classes: Array  # (C,) labels, ascending
    class_rows: IntArray  # (C,), rounded up where rows are weighted
    class_weight: FloatArray  # (C,)
    tables: tuple[SparseTable, ...]  # (m, C) one for each column of counts

    @classmethod
    def of(
        cls, frame: Any, feature: str, label: str, counts: Sequence[str], rows: Any
    ) -> LongCounts:
        """Read a long table.

        Parameters
        ----------
        frame
            Data frame, Arrow table, list or mapping of columns, path of a CSV or Parquet file, or
            what a database gives: a relation, a cursor after its query. Of a list of paths the
            counts are added.
        feature, label
            Names of its columns.
        counts
            Names of its columns of counts.
        rows
            Rows of each class: a mapping, or a table of two columns, one of them `label`.

        Raises
        ------
        ValueError
            If a column is missing, a cell is not what it should be, a pair is repeated, or a class
            has no number of rows.
        """
        shards = []
        for each in _shards(frame):
            with _told_of(each):
                shards.append(_columns(each, [feature, label, *counts]))
        with _told_of(rows):
            classes, weight = _rows_of_classes(rows, label)
        with _told_of(frame):
            columns = {name: _concatenated([each[name] for each in shards]) for name in shards[0]}
            if not len(columns[feature]):
                raise ValueError(_EMPTY)
            names, codes = _encoded(columns[feature], feature)
            labels = _positions(columns[label], label, classes)
            shape = (len(names), len(classes))
            cells = codes.astype(np.int64) * shape[1] + labels
            ends = np.cumsum([len(each[feature]) for each in shards])
            for end, own in zip(ends.tolist(), shards, strict=True):
                _refuse_repeated(cells[end - len(own[feature]) : end], own, feature, label)
            tables = [_numbers(columns[name], name) for name in counts]
            idle = np.setdiff1d(np.arange(len(classes)), labels)
            if len(idle):
                raise ValueError(
                    f"column {label!r} must have every class of `rows`; it lacks "
                    f"{classes.tolist()[idle[0]]!r}. Leave that out of `rows`, or give it a row "
                    "with count 0 if its rows hold no feature."
                )
        return cls(
            names, classes, np.ceil(weight).astype(np.int64), weight.astype(np.float64),
            tuple(SparseTable.of(shape, cells, n) for n in tables),
        )  # fmt: skip


def _shards(frame: Any) -> list[Any]:
    """Long tables that are added up: of a list of paths each."""
    paths = isinstance(frame, list | tuple) and frame
    if paths and all(isinstance(each, str | os.PathLike) for each in frame):
        return list(frame)
    return [frame]


def _concatenated(columns: Sequence[Array]) -> Array:
    if len(columns) == 1:
        return columns[0]
    kinds = {each.dtype.kind for each in columns}
    return np.concatenate([each.astype(object) if len(kinds) > 1 else each for each in columns])


@contextmanager
def _told_of(source: Any) -> Iterator[None]:
    """Name a file in what is wrong with it."""
    try:
        yield
    except ValueError as error:
        path = os.fspath(source) if isinstance(source, str | os.PathLike) else ""
        if not path or str(error).startswith(f"{path}: "):
            raise
        raise ValueError(f"{path}: {error}") from error


# Columns of anything ---------------------------------------------------------------------------


def _columns(frame: Any, names: Sequence[str] | None, parameter: str = "frame") -> dict[str, Any]:
    """Return columns by name, those asked for or all there are."""
    if isinstance(frame, str | os.PathLike):
        frame = _from_file(Path(frame), parameter)
    frame = _of_database(frame)
    rows = isinstance(frame, Sequence) or not hasattr(frame, "__getitem__")
    if rows and not isinstance(frame, str | bytes):
        frame = _of_rows(frame, parameter)
    found = getattr(frame, "column_names", getattr(frame, "columns", frame))
    known = [str(each) for each in found]
    for name in known if names is None else names:
        if name not in known:
            raise ValueError(
                f"`{parameter}` has no column {short(name)!r}; "
                f"{nearest(name, known)} Rename it, or in Python name it with `feature`, `label` "
                "or `count`."
            )
    return {name: _array(frame[name]) for name in (known if names is None else names)}


def _of_database(frame: Any) -> Any:
    """Return the result of a query as a table: what a relation, a cursor or a stream holds."""
    if hasattr(frame, "column_names") or hasattr(frame, "iloc") or isinstance(frame, Mapping):
        return frame
    if hasattr(frame, "execute") and getattr(frame, "description", None):  # a cursor, by PEP 249
        names = [each[0] for each in frame.description]
        rows = frame.fetchall()
        if rows and isinstance(rows[0], Mapping):
            return rows
        columns = list(zip(*rows, strict=True)) or [()] * len(names)
        return {name: list(cells) for name, cells in zip(names, columns, strict=True)}
    for name in ("to_arrow_table", "fetch_arrow_table", "fetch_record_batch"):  # of DuckDB
        if callable(fetch := getattr(frame, name, None)):
            found = fetch()
            return found.read_all() if hasattr(found, "read_all") else found
    if hasattr(frame, "__arrow_c_stream__") and not hasattr(frame, "__getitem__"):
        import pyarrow as pa

        return pa.table(frame)
    return frame


def _of_rows(rows: Any, parameter: str) -> dict[str, list[Any]]:
    """Columns of rows that are mappings, such as those of a database cursor."""
    try:
        listed = list(rows)
        if not listed:
            raise ValueError(_EMPTY)
        names = list(listed[0].keys())
        return {name: [row[name] for row in listed] for name in names}
    except (TypeError, AttributeError, LookupError) as error:
        raise ValueError(
            f"`{parameter}` must be a data frame, an Arrow table, a mapping of columns, a list of "
            f"mappings with the same keys, a cursor after its query, or the path of a CSV or "
            f"Parquet file; got "
            f"{type(rows).__name__}."
        ) from error


def _from_file(path: Path, parameter: str) -> Any:
    suffix = path.suffix.lower()
    if suffix in (".parquet", ".pq"):
        try:
            import pyarrow.parquet as pq
        except ImportError as error:
            raise ImportError(
                "Parquet files need pyarrow, which is not installed: pip install 'naively[arrow]'. "
                "CSV files need nothing."
            ) from error
        try:
            return pq.read_table(path)
        except (OSError, ValueError) as error:  # ArrowInvalid is a ValueError
            raise ValueError(f"{path}: {error}") from error
    if suffix not in (".csv", ".tsv"):
        raise ValueError(
            f"`{parameter}` must be a .csv, .tsv or .parquet file if it is a path; got "
            f"{str(path)!r}."
        )
    try:
        with path.open(encoding="utf-8-sig", newline="") as file:
            records = csv.reader(file, delimiter="\t" if suffix == ".tsv" else ",", strict=True)
            header = next(records, [])
            return _of_records(path, header, records)
    except OSError as error:
        raise ValueError(f"{path}: {error.strerror}; check name and permissions.") from error
    except (csv.Error, UnicodeDecodeError) as error:
        raise ValueError(f"{path}: {error}; save the table as CSV in UTF-8.") from error


def _of_records(path: Path, header: list[str], records: Any) -> dict[str, list[str]]:
    columns: dict[str, list[str]] = {name: [] for name in header}
    for record in filter(None, records):
        if len(record) != len(header):
            raise ValueError(
                f"{path}: line {records.line_num} has {len(record)} fields, the header has "
                f"{len(header)}; mend the line."
            )
        for name, cell in zip(header, record, strict=True):
            columns[name].append(cell)
    return columns


def _array(column: Any) -> Array:
    if hasattr(column, "to_pylist"):  # of Arrow, whose whole numbers with gaps would become real
        column = column.to_pylist()
    values: Array = np.asarray(column.to_numpy() if hasattr(column, "to_numpy") else column)
    if values.dtype.kind in "US" and not isinstance(column, np.ndarray):
        values = np.array(column, dtype=object)  # None among texts is not the text 'None'
    return values


# Cells -----------------------------------------------------------------------------------------


def _encoded(values: Array, name: str) -> tuple[Array, Array]:
    """Distinct cells, ascending, and which of them each cell is; none is missing or empty."""
    distinct, codes = encode_labels(values, name=name)
    if distinct.dtype.kind in "OU" and "" in distinct[:1].tolist():
        raise ValueError(
            f"`{name}` must name something in every row; it is empty in row "
            f"{int(np.argmin(codes)) + 1}. Leave such rows out of the query."
        )
    return distinct, codes


def _positions(values: Array, name: str, classes: Array) -> IntArray:
    found, codes = _encoded(values, name)
    position = {each: c for c, each in enumerate(classes.tolist())}
    unknown = [each for each in found.tolist() if each not in position]
    if unknown:
        raise ValueError(
            f"`rows` must have every class of column {name!r}; it lacks {unknown[0]!r}"
            f"{f' and {len(unknown) - 1} more' if len(unknown) > 1 else ''}, and has "
            f"{classes[:10].tolist()}. Give the number of its rows."
        )
    return np.array([position[each] for each in found.tolist()], dtype=np.int64)[codes]


def _rows_of_classes(rows: Any, label: str) -> tuple[Array, Array]:
    """Classes (C,), ascending, and how many rows each has, or what these weigh (C,)."""
    if isinstance(rows, Mapping) and label not in rows:
        labels, numbers = _array(list(rows.keys())), _array(list(rows.values()))
    elif rows is None or isinstance(rows, int | float):
        raise ValueError(
            f"`rows` must be the number of rows of each class, {_ROWS}; got {rows!r}. Counts do "
            "not tell it: SELECT label, COUNT(*) ... GROUP BY label."
        )
    else:
        columns = _columns(rows, None, "rows")
        if len(columns) != 2 or label not in columns:
            raise ValueError(
                f"`rows` must have two columns, {label!r} and the number of rows; got "
                f"{list(columns)}."
            )
        labels = columns.pop(label)
        (numbers,) = columns.values()
    classes, codes = _encoded(labels, label)
    if len(classes) != len(codes):
        twice = classes[np.argmax(np.bincount(codes))]
        raise ValueError(f"`rows` must have each class once; {twice!r} is there twice.")
    counted = _numbers(numbers, "rows")
    large = np.flatnonzero(counted >= _EXACT)
    if len(large):
        raise ValueError(
            f"`rows` must be below 2**53, from where on not all numbers are there; got "
            f"{counted[large[0]]:.10g} of {classes.tolist()[codes[large[0]]]!r}."
        )
    weight = np.empty_like(counted)
    weight[codes] = counted
    return classes, weight


def _numbers(values: Array, name: str) -> Array:
    """Return counts as 64-bit integers if all are whole, else as float64; texts are parsed."""
    try:
        if values.dtype.kind in "OU" and len(values) and isinstance(values[0], str):
            cells = values.tolist()
            empty = [i for i, cell in enumerate(cells, 1) if cell is None or not str(cell).strip()]
            if empty:
                raise ValueError(f"row {empty[0]:,} has none: write 0, or leave the row out.")
            values = np.array([_number(cell) for cell in cells])
        numbers: Array = np.asarray(as_matrix(values.reshape(-1, 1)))[:, 0]
    except (TypeError, ValueError) as error:
        raise ValueError(f"`{name}` must hold a number in every row; {error}") from error
    real = numbers.astype(np.float64)
    wrong = np.flatnonzero(~((real >= 0) & (real < np.inf)))
    if len(wrong):
        raise ValueError(
            f"`{name}` must be finite numbers >= 0; got {real[wrong[0]]:g} in row {wrong[0] + 1}."
        )
    if numbers.dtype.kind == "f" and (real == np.rint(real)).all() and (real < _EXACT).all():
        return real.astype(np.int64)
    return numbers.astype(np.int64) if numbers.dtype.kind in "biu" else real


def _number(cell: str) -> int | float:
    return int(cell) if cell.isdecimal() else float(cell)


def _refuse_repeated(cells: IntArray, columns: Mapping[str, Array], *names: str) -> None:
    order = np.argsort(cells, kind="stable")
    again = np.flatnonzero(np.diff(cells[order]) == 0)
    if len(again):
        first, second = order[again[0] : again[0] + 2].tolist()
        pair = ", ".join(f"{name}={columns[name][first]!r}" for name in names)
        raise ValueError(
            f"`frame` must have each pair of feature and class once; {pair} is in rows {first + 1} "
            f"and {second + 1}. Add them up: SUM(count) ... GROUP BY {', '.join(names)}."
        )
