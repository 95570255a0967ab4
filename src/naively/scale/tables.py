"""Tables in: the rows of CSV, JSON Lines and Parquet files, in batches of bounded size.

Texts and labels are those that `naively.io.tables` reads row by row. Labels of CSV are text, since
the file does not say what they are; of other files, numbers and booleans stay what they are.
"""

from __future__ import annotations

import codecs
import csv
import io
import json
import lzma
from collections.abc import Iterator, Sequence
from dataclasses import replace
from itertools import chain
from pathlib import Path
from typing import Any, BinaryIO, cast

import numpy as np

from naively._types import Array
from naively.scale import parts
from naively.scale.parts import Batch, Layout, Part, compression_of, no_column
from naively.scale.strict import StrictQuotes
from naively.statistics.matrix import whole_numbers
from naively.text.features import ColumnFeatures, FeatureDefinition
from naively.text.labels import clean, label_text
from naively.text.utf8 import rows_of_column
from naively.text.vocabulary import digest_of_names

_BOM = codecs.BOM_UTF8


def unpacked(path: str) -> Any:
    """Open a file, whatever its name says it is packed with, for reading bytes."""
    import pyarrow as pa

    compression = compression_of(path)
    if compression == "xz":  # Arrow does not know it
        return lzma.open(path)
    return pa.input_stream(path, compression=compression)


def wanted(layout: Layout) -> list[str]:
    """Return the columns to be read of a table of texts."""
    return [each for each in (layout.label, layout.text, layout.split) if each is not None]


def number_columns(names: Sequence[str], layout: Layout) -> list[str]:
    """Return the columns that hold the features of a table of numbers."""
    return [name for name in names if name not in (layout.label, layout.split)]


def _check_columns(names: Sequence[str], layout: Layout) -> None:
    for name in wanted(layout):
        if name not in names:
            raise no_column(name, list(names))
        if names.count(name) > 1:
            raise ValueError(
                f"{names.count(name)} columns are called `{name}`; rename all but one."
            )


def check_names(names: Sequence[str], features: FeatureDefinition) -> None:
    """Refuse other columns than those of the definition, or another order of them."""
    if not isinstance(features, ColumnFeatures) or features.names is None:
        return
    if digest_of_names(list(names)) != features.names:
        raise ValueError(
            "its columns have other names, or another order, than those of the first file; give "
            "the same columns in all."
        )


# Batches ---------------------------------------------------------------------------------------


def _batches(tables: Iterator[Any], layout: Layout) -> Iterator[Batch]:
    """Cut record batches of Arrow: texts, or all columns but label and split as numbers."""
    row = 0
    for table in tables:
        for start in range(0, table.num_rows, parts.BATCH_ROWS):
            yield _batch(table.slice(start, parts.BATCH_ROWS), layout, row + start)
        row += table.num_rows


def _batch(table: Any, layout: Layout, row: int) -> Batch:
    y = _labels(table.column(layout.label), layout.label, row)
    split = None if layout.split is None else _split(table.column(layout.split))
    if layout.text is not None:
        return Batch(_texts(table.column(layout.text), layout.text), y, split)
    names = number_columns(table.schema.names, layout)
    columns = [table.column(name).to_numpy(zero_copy_only=False) for name in names]
    return Batch(np.column_stack(columns) if columns else np.empty((len(y), 0)), y, split)


def _labels(column: Any, name: str, first: int) -> Array:
    """Labels: of text as text, numbers and booleans as they are."""
    import pyarrow as pa

    kind = column.type
    kind = kind.value_type if pa.types.is_dictionary(kind) else kind
    if pa.types.is_integer(column.type) and not column.null_count:
        return _whole_numbers(column)
    if pa.types.is_integer(kind) or pa.types.is_boolean(kind) or pa.types.is_floating(kind):
        numbers = column.to_numpy(zero_copy_only=False)
        missing = column.is_null(nan_is_null=True).to_numpy(zero_copy_only=False)
    elif _is_text(kind) or pa.types.is_null(kind):
        numbers, missing = _text_labels(column)
    else:
        raise ValueError(f"column `{name}` holds {kind}, not labels; name a column with --label.")
    if missing.any():
        row = first + int(np.argmax(missing))
        raise ValueError(
            f"the label in column `{name}` is missing at row {row}; fill it in or take the row out."
        )
    return cast("Array", numbers)


def _text_labels(column: Any) -> tuple[Array, Array]:
    """Return labels as text and which are missing, (n,) each."""
    values, codes = _distinct(column)
    names = [label_text(value) for value in values]
    missing = np.array([name is None for name in names], dtype=np.bool_)[codes]
    return np.array([name or "" for name in names], dtype=str)[codes], missing


def _split(column: Any) -> Array:
    values, codes = _distinct(column)
    names: Array = np.array([label_text(value) or "" for value in values], dtype=str)
    return names[codes]


def _distinct(column: Any) -> tuple[list[Any], Array]:
    """Return the distinct values of a column, None among them, and which each row has."""
    import pyarrow as pa

    if pa.types.is_null(column.type):
        return [None], np.zeros(len(column), dtype=np.int64)
    if pa.types.is_string_view(column.type) or pa.types.is_binary_view(column.type):
        column = column.cast(pa.large_binary())
    if not pa.types.is_dictionary(column.type):
        column = column.dictionary_encode()
    indices = column.indices
    if indices.null_count:
        indices = indices.fill_null(len(column.dictionary))
    return [*column.dictionary.to_pylist(), None], _whole_numbers(indices).astype(np.int64)


def _whole_numbers(column: Any) -> Array:
    """Integers of which none is missing; without pandas, which Arrow imports to convert them."""
    _, content = column.buffers()
    kind = np.dtype(str(column.type))  # int8 to uint64 are called alike
    if content is None:
        return np.empty(0, dtype=kind)
    return np.frombuffer(content, kind)[column.offset : column.offset + len(column)]


def _is_text(kind: Any) -> bool:
    import pyarrow as pa

    tests = ("is_string", "is_large_string", "is_string_view")
    binary = ("is_binary", "is_large_binary", "is_binary_view")
    return any(getattr(pa.types, test)(kind) for test in (*tests, *binary))


def _texts(column: Any, name: str) -> Any:
    """Texts of a column as `rows_of_column` takes them; numbers are spelled as Python does."""
    import pyarrow as pa

    if pa.types.is_dictionary(column.type):
        column = column.dictionary_decode()
    kind = column.type
    if pa.types.is_string_view(kind) or pa.types.is_binary_view(kind):
        column = column.cast(pa.large_string())
    elif pa.types.is_integer(kind) or pa.types.is_floating(kind) or pa.types.is_boolean(kind):
        column = pa.array(list(map(_spelled, column.to_pylist())), pa.large_string())
    elif pa.types.is_null(kind):
        column = column.cast(pa.large_string())
    elif not (_is_text(kind) or pa.types.is_list(kind) or pa.types.is_large_list(kind)):
        raise ValueError(f"column `{name}` holds {kind}, not text; name a column of texts.")
    return rows_of_column(column)


def _spelled(value: Any) -> str:
    return "" if value is None or value != value else str(value)


# Parquet ---------------------------------------------------------------------------------------


def parquet_file(path: str) -> Any:
    """Open a Parquet file, which is mapped into memory."""
    import pyarrow.parquet as pq

    if compression_of(path) is not None:
        raise ValueError("a packed Parquet file is not read in streams; unpack it.")
    return pq.ParquetFile(path, memory_map=True)


def read_parquet(part: Part, layout: Layout, features: FeatureDefinition) -> Iterator[Batch]:
    """Read a row group."""
    file = parquet_file(part.path)
    names = file.schema_arrow.names
    _check_columns(names, layout)
    if layout.text is None:
        check_names(number_columns(names, layout), features)
    tables = file.iter_batches(
        batch_size=parts.BATCH_ROWS,
        row_groups=[part.begin],
        columns=names if layout.text is None else wanted(layout),
        use_threads=False,
    )
    return _batches(tables, layout)


# CSV -------------------------------------------------------------------------------------------


def read_csv(part: Part, layout: Layout, features: FeatureDefinition) -> Iterator[Batch]:
    """Read a whole file; numbers are whole where all of a batch are."""
    names = csv_names(part.path, layout)
    _check_columns(names, layout)
    if layout.text is not None:
        return _batches(_csv_tables(part.path, layout, names), layout)
    check_names(number_columns(names, layout), features)
    return (
        replace(batch, rows=whole_numbers(batch.rows))
        for batch in _batches(_csv_tables(part.path, layout, names), layout)
    )


def _csv_tables(path: str, layout: Layout, names: list[str]) -> Iterator[Any]:
    import pyarrow as pa
    from pyarrow import csv as arrow

    texts = wanted(layout)
    types = {name: pa.large_string() if name in texts else pa.float64() for name in names}
    reader = arrow.open_csv(
        _strict(path, layout) if layout.quotes else unpacked(path),
        read_options=arrow.ReadOptions(
            block_size=parts.BLOCK_BYTES,
            use_threads=False,
            column_names=None if layout.header else names,
            encoding=layout.encoding,
        ),
        parse_options=arrow.ParseOptions(
            delimiter=_delimiter(path, layout),
            quote_char='"' if layout.quotes else False,
            newlines_in_values=layout.quotes,
        ),
        convert_options=arrow.ConvertOptions(
            column_types=types, include_columns=names if layout.text is None else texts
        ),
    )
    return iter(reader)


def _strict(path: str, layout: Layout) -> Any:
    """Open a file, refusing what Python's strict reader refuses; Arrow is more lenient."""
    stream, delimiter = unpacked(path), _delimiter(path, layout)
    of_bytes = delimiter.isascii() and "\n".encode(layout.encoding) == b"\n"
    return StrictQuotes(stream, delimiter) if of_bytes else stream


def _delimiter(path: str, layout: Layout) -> str:
    tab = layout.format == "tsv" or (
        layout.format is None and ".tsv" in [each.lower() for each in Path(path).suffixes[-2:]]
    )
    usual = "\t" if tab else ","
    delimiter = usual if layout.delimiter is None else layout.delimiter
    if len(delimiter) != 1:
        raise ValueError(f"`--delimiter` must be one character, such as ';'; got {delimiter!r}.")
    return delimiter


def csv_names(path: str, layout: Layout) -> list[str]:
    """Return the names of the columns of a CSV file: 1, 2, ... if it has no header."""
    delimiter = _delimiter(path, layout)
    encoding = "utf-8-sig" if _is_utf8(layout.encoding) else layout.encoding
    with unpacked(path) as file, io.TextIOWrapper(file, encoding, newline="") as lines:
        rows = csv.reader(
            lines,
            delimiter=delimiter,
            quoting=csv.QUOTE_MINIMAL if layout.quotes else csv.QUOTE_NONE,
        )
        first = next((row for row in rows if row), None)
    if first is None:
        raise ValueError("the file is empty; give one with data in it.")
    if not layout.header:
        return [str(i + 1) for i in range(len(first))]
    other = next((each for each in ";\t,|" if each != delimiter and each in first[0]), None)
    if len(first) == 1 and other is not None:
        raise ValueError(
            f"the columns are not separated by {delimiter!r}; try --delimiter {other!r}."
        )
    return first


def _is_utf8(encoding: str) -> bool:
    return codecs.lookup(encoding).name == "utf-8"


# Lines -----------------------------------------------------------------------------------------


def whole_file(path: str, layout: Layout) -> bool:
    """Whether the lines of a file can only be read from its start."""
    return compression_of(path) is not None or not _is_utf8(layout.encoding)


def lines(part: Part, layout: Layout) -> Iterator[bytes]:
    """Blocks of whole lines in UTF-8: those that begin within the range of bytes of a part."""
    blocks = _all_lines(part.path, layout) if whole_file(part.path, layout) else _own_lines(part)
    first = next(blocks, b"")
    if part.begin == 0:
        first = first.removeprefix(_BOM)
    return chain([first] if first else [], blocks)


def _own_lines(part: Part) -> Iterator[bytes]:
    with open(part.path, "rb") as file:
        if part.begin:
            file.seek(part.begin - 1)
            file.readline()  # a line that began before belongs to the part before
        while file.tell() < part.end:
            block = file.read(min(parts.BLOCK_BYTES, part.end - file.tell()))
            yield block if block.endswith(b"\n") else block + file.readline()


def _all_lines(path: str, layout: Layout) -> Iterator[bytes]:
    left = b""
    with unpacked(path) as file:
        for block in _in_utf8(file, layout.encoding):
            whole, newline, rest = (left + block).rpartition(b"\n")
            left = rest
            if newline:
                yield whole + newline
    if left.strip():
        yield left


def _in_utf8(file: BinaryIO, encoding: str) -> Iterator[bytes]:
    decoder = None if _is_utf8(encoding) else codecs.getincrementaldecoder(encoding)()
    while block := file.read(parts.BLOCK_BYTES):
        yield block if decoder is None else decoder.decode(block).encode()
    if decoder is not None:
        yield decoder.decode(b"", final=True).encode()


# JSON Lines ------------------------------------------------------------------------------------


def read_jsonl(part: Part, layout: Layout, features: FeatureDefinition) -> Iterator[Batch]:
    """Read the lines that begin in a range of bytes."""
    return _batches(_jsonl_tables(part, layout), layout)


def _jsonl_tables(part: Part, layout: Layout) -> Iterator[Any]:
    done = 0
    for block in lines(part, layout):
        table = _parsed(block, wanted(layout))
        if table is None:
            table = _parsed_by_line(block, layout, done)
        yield from table.to_batches()
        done += block.count(b"\n")


def _parsed(block: bytes, names: list[str]) -> Any:
    """Parse lines at once; None if that needs another look, at each line."""
    import pyarrow as pa
    from pyarrow import json as arrow

    schema = _schema(block, names)
    if schema is None:
        return None
    try:
        table = arrow.read_json(
            pa.BufferReader(block),
            arrow.ReadOptions(use_threads=False, block_size=len(block) + 1),
            arrow.ParseOptions(explicit_schema=schema, unexpected_field_behavior="ignore"),
        )
        # Arrow takes any bytes for text, and a field that is missing for null.
        table.validate(full=True)
    except pa.ArrowException:
        return None
    return None if any(column.null_count for column in table.columns) else table


def _schema(block: bytes, names: list[str]) -> Any:
    """Return the types of some fields in the first line."""
    import pyarrow as pa

    kinds = {str: pa.string(), bool: pa.bool_(), int: pa.int64(), float: pa.float64()}
    try:
        record = json.loads(block[: block.find(b"\n") + 1 or None])
        types = [
            pa.list_(pa.string()) if type(record[name]) is list else kinds[type(record[name])]
            for name in names
        ]
    except (ValueError, LookupError, TypeError, RecursionError):
        return None
    return pa.schema(list(zip(names, types, strict=True)))


def _parsed_by_line(block: bytes, layout: Layout, done: int) -> Any:
    """Parse each line on its own, and say which is wrong."""
    import pyarrow as pa

    names = wanted(layout)
    cells: dict[str, list[Any]] = {name: [] for name in names}
    for number, line in enumerate(block.split(b"\n"), done + 1):
        if not line.strip():
            continue
        record = _record(line, number)
        for name in names:
            if name not in record:
                raise no_column(name, list(record), "field", f" in line {number:,}")
            cells[name].append(record[name])
    columns = [
        pa.array(_text_cells(cells[name], name) if name == layout.text else _cells(cells[name]))
        for name in names
    ]
    return pa.table(columns, names=names)


def _record(line: bytes, number: int) -> dict[str, Any]:
    try:
        record = json.loads(line.decode())
    except UnicodeDecodeError as error:
        raise ValueError(
            f"byte 0x{error.object[error.start]:02x} in line {number:,} is not utf-8; save the "
            "file as UTF-8 or name its encoding, for example with --encoding latin-1."
        ) from error
    except (ValueError, RecursionError) as error:
        raise ValueError(
            f"line {number:,} is not JSON ({getattr(error, 'msg', error)}); write one object a "
            "line."
        ) from error
    if not isinstance(record, dict):
        raise ValueError(f"line {number:,} holds no object; write one object a line.")
    return record


def _text_cells(values: list[Any], name: str) -> list[Any]:
    """Texts, or lists of tokens, where some are missing or are numbers."""
    strange = {type(value).__name__ for value in values} - _TEXTS
    if strange:
        raise ValueError(f"column `{name}` holds a {min(strange)}, not text.")
    if any(isinstance(value, list) for value in values):
        return values
    return [clean(value) if isinstance(value, str) else _spelled(value) for value in values]


_TEXTS = {"str", "int", "float", "bool", "NoneType", "list"}


def _cells(values: list[Any]) -> list[Any]:
    """Labels: as they are if all are numbers, or all are true or false, else text."""
    kinds = {type(value) for value in values} - {type(None)}
    if kinds and (kinds <= {int, float} or kinds == {bool}):
        return values
    try:
        return [label_text(value) for value in values]
    except TypeError as error:
        raise ValueError(f"a label holds {error}, not a single value.") from error
