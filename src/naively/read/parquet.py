"""Parquet through Arrow: a part is a row group, or a whole file that is packed once more."""

from __future__ import annotations

import json
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import replace
from typing import Any

import numpy as np

from naively._types import Array
from naively.read import batch as limits
from naively.read.batch import Batch, Part, Places
from naively.read.bytes import seekable
from naively.read.cells import batch_of
from naively.read.columns import Columns
from naively.read.errors import explained
from naively.read.layout import Layout
from naively.read.matrix import check_finite
from naively.read.table import (
    Plan,
    Records,
    Rows,
    beside,
    check_columns,
    check_number,
    number_batches,
    number_columns,
    plan_of,
    roles,
    row_names,
    text_batch,
    wanted_columns,
)
from naively.statistics.matrix import whole_numbers

_WHAT = "a Parquet file"


def cut(path: str, layout: Layout) -> list[tuple[int, int]]:
    """Take each row group for a part."""
    with _opened(path, path) as file:
        n_groups = file.num_row_groups
    return [(group, group + 1) for group in range(n_groups)]


@contextmanager
def _opened(path: str, source: str) -> Iterator[Any]:
    with explained(source, _WHAT):
        import pyarrow.parquet as pq

        with seekable(path, source) as plain, pq.ParquetFile(plain, memory_map=True) as file:
            yield file


def batches(part: Part, layout: Layout) -> Iterator[Batch]:
    """Rows of some row groups, in batches."""
    with _opened(part.path, part.source) as file:
        if layout.transpose:
            yield from number_batches(part, _records(file, part), layout)
            return
        names = file.schema_arrow.names
        numeric = [_holds_numbers(field.type) for field in file.schema_arrow]
        if layout.text:
            check_columns(part.source, names, layout, numeric)
            for table, places in _tables(file, part, wanted_columns(layout)):
                cells = {name: table.column(name) for name in table.schema.names}
                yield text_batch(_decoded(cells, layout), places, layout)
            return
        plan = plan_of(part.source, names, layout, not numeric[0], _index(file))
        for table, places in _tables(file, part, None):
            rows = _numbers(table, plan, places, layout)
            special = {name: table.column(name) for name in roles(layout).values()}
            batch = batch_of(rows, beside(special, layout), places)
            own = [table.column(j).to_pylist() for j in plan.index]
            yield batch.named(row_names(own)) if own else batch


def columns(part: Part, layout: Layout) -> Columns:
    """Columns of numbers."""
    with _opened(part.path, part.source) as file:
        if layout.transpose:
            return number_columns(part, _records(file, part), layout)
        fields = file.schema_arrow
        named = not _holds_numbers(fields[0].type)
        return plan_of(part.source, fields.names, layout, named, _index(file)).columns


@contextmanager
def records(part: Part, layout: Layout) -> Iterator[Records]:
    """All rows as Python has them, and which columns are stored as categories."""
    import pyarrow as pa

    with _opened(part.path, part.source) as file:
        fields = file.schema_arrow
        of_categories = (each.name for each in fields if pa.types.is_dictionary(each.type))
        yield replace(_records(file, part), categorical=tuple(of_categories))


def _tables(file: Any, part: Part, names: list[str] | None) -> Iterator[tuple[Any, Places]]:
    """Batches of Arrow, and the rows of the file that they hold."""
    metadata = file.metadata
    row = 1 + sum(metadata.row_group(group).num_rows for group in range(part.begin))
    width = len(names or file.schema_arrow.names)
    tables = file.iter_batches(
        batch_size=limits.height(8 * width),
        row_groups=list(range(part.begin, part.end)),
        columns=names,
        use_threads=False,
    )
    for table in tables:
        if table.num_rows:
            yield table, Places((part,), range(row, row + table.num_rows))
        row += table.num_rows


def _decoded(cells: dict[str, Any], layout: Layout) -> dict[str, Any]:
    """Columns of texts that are stored as numbers into a dictionary, spelled out."""
    import pyarrow as pa

    return {
        name: each.dictionary_decode()
        if name in layout.text and pa.types.is_dictionary(each.type)
        else each
        for name, each in cells.items()
    }


def _holds_numbers(kind: Any) -> bool:
    import pyarrow as pa

    tests = (pa.types.is_integer, pa.types.is_floating, pa.types.is_boolean, pa.types.is_decimal)
    return any(test(kind) for test in tests)


def _numbers(table: Any, plan: Plan, places: Places, layout: Layout) -> Array:
    import pyarrow as pa

    odd = [
        name
        for j, name in zip(plan.places, plan.columns.names, strict=True)
        if not (_holds_numbers(kind := table.column(j).type) or pa.types.is_null(kind))
    ]
    columns = [
        _column(table.column(j), name, places, layout, odd)
        for j, name in zip(plan.places, plan.columns.names, strict=True)
    ]
    X = whole_numbers(np.column_stack(columns) if columns else np.empty((table.num_rows, 0)))
    check_finite(X, plan.columns, places, layout)
    return X


def _column(column: Any, name: str, places: Places, layout: Layout, others: list[str]) -> Array:
    import pyarrow as pa

    absent = layout.missing and (_holds_numbers(column.type) or pa.types.is_null(column.type))
    if not absent and (not _holds_numbers(column.type) or column.null_count):
        odd = column.is_null().to_numpy(zero_copy_only=False)
        row = int(np.argmax(odd)) if odd.any() else 0
        check_number(column[row].as_py(), name, places, row, layout, others)
    if pa.types.is_decimal(column.type):
        column = column.cast(pa.float64())
    if pa.types.is_boolean(column.type):
        column = column.cast(pa.int8())
    if column.null_count:
        column = column.cast(pa.float64(), safe=False).fill_null(np.nan)
    values: Array = np.from_dlpack(column)  # to_numpy would import pandas
    return values


def _index(file: Any) -> tuple[str, ...]:
    """Columns that pandas wrote for the index of a frame: names of rows, wherever they stand."""
    stored = (file.schema_arrow.metadata or {}).get(b"pandas")
    listed = json.loads(stored).get("index_columns", []) if stored else []
    return tuple(each for each in listed if isinstance(each, str))  # a range is no column


def _records(file: Any, part: Part) -> Records:
    """All rows as Python has them, the columns that name them first."""
    names, index = list(file.schema_arrow.names), _index(file)
    order = sorted(range(len(names)), key=lambda j: names[j] not in index)
    rows = (
        Rows(list(zip(*(table.column(j).to_pylist() for j in order), strict=True)), places.numbers)
        for table, places in _tables(file, part, None)
    )
    return Records([names[j] for j in order], rows, index=index)
