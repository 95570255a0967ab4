"""Tables of numbers in: CSV, TSV and Parquet, rows as samples or (transposed) as features.

One column (transposed: one row) may hold the labels. The first column may name the rows, as may a
header that is one field short, which is how R writes tables.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from contextlib import suppress
from dataclasses import dataclass
from typing import Any, TypeAlias

import numpy as np

from naively._nearest import nearest
from naively._types import FloatArray
from naively.io.errors import InputError
from naively.io.files import Input, explained, open_input
from naively.io.formats import Source, format_of
from naively.io.matrices import Matrix, check_matrix, strings
from naively.io.progress import Progress, silent
from naively.io.tables import TableStyle, delimited_records, parquet_records
from naively.text.labels import clean

Records: TypeAlias = Iterator[tuple[int, list[Any]]]

_ROWS = " If the rows are features, add --transpose."
_LABELS = " Name the column of labels with --label."


@dataclass(frozen=True, slots=True)
class NumberTable:
    """What stands where in a table of numbers."""

    label: str | None = None  # column (transposed: row) of labels; None: the labels lie elsewhere
    split: str | None = None  # column (row) that says train or test
    transpose: bool = False  # rows are features, columns are samples
    ignore: tuple[str, ...] = ()  # columns (rows) to leave out
    wanted: tuple[str, ...] | None = None  # features to keep, in this order; None: all


def read_number_table(
    source: Source,
    table: NumberTable,
    *,
    format: str | None = None,
    style: TableStyle | None = None,
    progress: Progress = silent,
) -> Matrix:
    """Read a table of numbers with its labels.

    Parameters
    ----------
    source
        A path or binary file object; .gz, .bz2, .xz and .zst files are unpacked.
    table
        What stands where.
    format
        One of "csv", "tsv", "parquet"; by default what the name ends in.
    style
        How a delimited file is written.
    progress
        Told how much of the file has been read.

    Returns
    -------
    matrix
        Dense, float64, rows as samples.

    Raises
    ------
    InputError
        Naming the file and the line and column, if the table cannot be read.
    """
    format = format_of(source, format)
    style = style or TableStyle()
    with open_input(source) as file, explained(file.name):
        header, records = _opened(file, format, style, progress)
        read = _features_in_rows if table.transpose else _samples_in_rows
        matrix = read(file.name, header, records, table)
    check_matrix(matrix)
    return matrix


def _opened(
    file: Input, format: str, style: TableStyle, progress: Progress
) -> tuple[list[str], Records]:
    """Header, one field for each field of the records, and the records."""
    if format == "jsonl":
        raise InputError(
            f"{file.name}: tables of numbers are read from CSV, TSV or Parquet; write one of these."
        )
    records: Records = (
        parquet_records(file)
        if format == "parquet"
        else delimited_records(file, format, style, progress)
    )
    first = next(records, None)
    second = next(records, None)
    if first is None or (second is None and style.header):
        raise InputError(f"{file.name}: the file holds no rows; give one with data in it.")
    if not style.header:
        return [str(i + 1) for i in range(len(first[1]))], _with(first, second, records)
    header = [clean(str(each)).strip() for each in first[1]]
    if second is not None and len(second[1]) == len(header) + 1:
        header.insert(0, "")
    return header, _with(second, None, records)


def _with(first: Any, second: Any, rest: Records) -> Records:
    yield from (each for each in (first, second) if each is not None)
    yield from rest


def _is_number(cell: Any) -> bool:
    with suppress(TypeError, ValueError):
        float(cell)
        return True
    return cell in ("", "NA", None)


def _places(
    name: str, names: Sequence[str], wanted: Iterable[str], what: str, *, way: str = ""
) -> list[int]:
    """Position of each name; every one must be there once, or `way` out is shown."""
    position: dict[str, int] = {}
    repeated = set()
    for i, each in enumerate(names):
        if position.setdefault(each, i) != i:
            repeated.add(each)
    found = []
    for each in wanted:
        if each not in position:
            hint = nearest(each, names)
            raise InputError(
                f"{name}: there is no {what} `{each}`; {hint}{way if hint.endswith('.') else ''}"
            )
        if each in repeated:
            raise InputError(f"{name}: two {what}s are called `{each}`; rename all but one.")
        found.append(position[each])
    return found


def _wanted_places(name: str, names: Sequence[str], table: NumberTable, what: str) -> list[int]:
    missing = next((each for each in table.wanted or () if each not in set(names)), None)
    if missing is not None:
        raise InputError(
            f"{name}: the model was trained on a matrix and needs its {what} `{missing}`, which "
            f"is not here; {nearest(missing, names)}{_ROWS if what == 'column' else ''}"
        )
    return _places(name, names, table.wanted or (), what)


def _check_length(name: str, line: int, record: Sequence[Any], header: Sequence[str]) -> None:
    if len(record) != len(header):
        raise InputError(
            f"{name}: line {line:,} has {len(record)} fields, the header has {len(header)}; mend "
            "the line."
        )


def _numbers(name: str, line: int, cells: Sequence[Any], names: Sequence[str]) -> FloatArray:
    try:
        return np.array(list(map(float, cells)))
    except (TypeError, ValueError):
        for cell, column in zip(cells, names, strict=True):
            if not _is_number(cell) or cell in ("", "NA", None):
                said = "is missing" if cell in ("", "NA", None) else f"is {cell!r}, not a number"
                raise InputError(
                    f"{name}: line {line:,}: the value of `{column}` {said}; fill it in, or leave "
                    f"it out with --ignore '{column}'."
                ) from None
        raise


def _samples_in_rows(name: str, header: list[str], records: Records, table: NumberTable) -> Matrix:
    special = [each for each in (table.label, table.split) if each]
    places = _places(name, header, special, "column", way=_LABELS + _ROWS)
    left_out = {*places, *_places(name, header, table.ignore, "column")}
    first = next(records)
    if 0 not in left_out and not _is_number(first[1][0]):
        left_out.add(0)  # names of the rows
    kept = [i for i in range(len(header)) if i not in left_out]
    if not kept:
        raise InputError(
            f"{name}: no column holds numbers; if column `{header[0]}` holds text, name it with "
            f"--text '{header[0]}'."
        )
    if table.wanted is not None:
        kept = [kept[i] for i in _wanted_places(name, [header[i] for i in kept], table, "column")]
    names = [header[i] for i in kept]
    rows, cells = [], []
    for line, record in _with(first, None, records):
        _check_length(name, line, record, header)
        rows.append(_numbers(name, line, [record[i] for i in kept], names))
        cells.append([record[i] for i in places])
    said = [
        strings(name, each, np.array([row[i] for row in cells], dtype=object))
        for i, each in enumerate(special)
    ]
    return Matrix(name, np.array(rows), *_assigned(said, names, table))


def _features_in_rows(name: str, header: list[str], records: Records, table: NumberTable) -> Matrix:
    special = [each for each in (table.label, table.split) if each]
    said: dict[str, list[str] | None] = {}
    names, columns = [], []
    for line, record in records:
        _check_length(name, line, record, header)
        feature = clean(str(record[0])).strip()
        if feature in special:
            said[feature] = strings(name, feature, np.array(record[1:], dtype=object))
        elif feature not in table.ignore and (table.wanted is None or feature in table.wanted):
            names.append(feature)
            columns.append(_numbers(name, line, record[1:], header[1:]))
    for each in special:
        if each not in said:
            raise InputError(
                f"{name}: there is no row `{each}`; {nearest(each, names)} Labels that lie beside "
                "the table are given with --labels FILE."
            )
    if table.wanted is not None:
        order = _wanted_places(name, names, table, "row")
        names, columns = [names[i] for i in order], [columns[i] for i in order]
    X = np.ascontiguousarray(np.array(columns).T)
    return Matrix(name, X, *_assigned([said[each] for each in special], names, table))


def _assigned(
    said: list[list[str] | None], names: list[str], table: NumberTable
) -> tuple[list[str] | None, tuple[str, ...], list[str] | None]:
    """Labels, names and parts, in the order of the fields of `Matrix`."""
    found = iter(said)
    labels = next(found) if table.label else None
    split = next(found) if table.split else None
    return labels, tuple(names), split
