"""Tables in: columns of CSV, TSV, JSON Lines and Parquet files, plain or compressed."""

from __future__ import annotations

import csv
import json
import sys
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from itertools import chain
from typing import Any, TypeAlias

from naively._nearest import nearest
from naively.io.errors import InputError
from naively.io.files import Input, cause, explained, open_input, passes, read_lines
from naively.io.formats import Source, format_of, name_of
from naively.io.progress import Progress, silent
from naively.text.labels import clean, label_text

_BATCH_ROWS = 8192
_ROLES = " Name the columns of text and of labels with --text and --label."


@dataclass(frozen=True, slots=True)
class TableStyle:
    """How a delimited text file is written."""

    delimiter: str | None = None  # None: by the format
    quotes: bool = True  # False: quotation marks are part of the text
    header: bool = True  # False: columns are called 1, 2, ...
    encoding: str = "utf-8"


@dataclass(frozen=True, slots=True)
class Columns:
    """Some columns of a table, as they were read."""

    source: str  # name of the file
    names: tuple[str, ...]
    cells: tuple[list[Any], ...]  # one list per name, each with n entries
    lines: Sequence[int]  # (n,) where each row stands in the file
    unit: str  # what is counted in `lines`: "line" or "row"

    def __len__(self) -> int:
        """Count the rows."""
        return len(self.lines)

    def column(self, name: str) -> list[Any]:
        """Cells of one column."""
        return self.cells[self.names.index(name)]

    def where(self, row: int) -> str:
        """Place of a row, for messages."""
        return f"{self.source}: {self.unit} {self.lines[row]:,}"


_Rows: TypeAlias = Iterator[tuple[int, list[Any]]]
_RowReader: TypeAlias = Callable[[Input, Sequence[str], TableStyle, Progress], _Rows]


def read_columns(
    source: Source,
    names: Sequence[str],
    *,
    format: str | None = None,
    style: TableStyle | None = None,
    progress: Progress = silent,
) -> Columns:
    """Read the named columns of a table.

    Parameters
    ----------
    source
        A path or binary file object; .gz, .bz2, .xz and .zst files are unpacked.
    names
        The columns wanted.
    format
        One of "csv", "tsv", "jsonl", "parquet"; by default what the name ends in.
    style
        How a delimited file is written.
    progress
        Told how much of the file has been read.

    Raises
    ------
    InputError
        Naming the file and the column or line, if the table cannot be read.
    """
    format = format_of(source, format)
    names = tuple(dict.fromkeys(names))
    with open_input(source) as file, explained(file.name):
        rows = _READERS[format](file, names, style or TableStyle(), progress)
        lines, cells = _transposed(rows, len(names))
    if not lines:
        raise InputError(f"{name_of(source)}: the file holds no rows; give one with data in it.")
    return Columns(name_of(source), names, cells, lines, "row" if format == "parquet" else "line")


def _transposed(rows: _Rows, width: int) -> tuple[list[int], tuple[list[Any], ...]]:
    lines: list[int] = []
    cells: tuple[list[Any], ...] = tuple([] for _ in range(width))
    for line, row in rows:
        lines.append(line)
        for column, value in zip(cells, row, strict=True):
            column.append(value)
    return lines, cells


# Delimited text --------------------------------------------------------------------------------


def _csv_rows(file: Input, names: Sequence[str], style: TableStyle, progress: Progress) -> _Rows:
    return _delimited(
        file, names, style, "," if style.delimiter is None else style.delimiter, progress
    )


def _tsv_rows(file: Input, names: Sequence[str], style: TableStyle, progress: Progress) -> _Rows:
    return _delimited(
        file, names, style, "\t" if style.delimiter is None else style.delimiter, progress
    )


def _delimited(
    file: Input, names: Sequence[str], style: TableStyle, delimiter: str, progress: Progress
) -> _Rows:
    lines = read_lines(file, style.encoding, progress)
    with _any_field_size():
        records = _records(file.name, lines, style, delimiter)
        first = next(records, None)
        if first is None:
            raise InputError(f"{file.name}: the file is empty; give one with data in it.")
        header = first[1] if style.header else [str(i + 1) for i in range(len(first[1]))]
        second = next(records, None) if style.header else first
        row = second[1] if second is not None else []
        places = [_place(file.name, header, name, delimiter, row) for name in names]
        for line, record in chain([second] if second is not None else [], records):
            if len(record) != len(header):
                raise InputError(_ragged(file.name, line, record, header, style))
            yield line, [record[i] for i in places]


def delimited_records(
    file: Input, format: str, style: TableStyle, progress: Progress = silent
) -> Iterator[tuple[int, list[str]]]:
    """Yield line number and fields of every record of a CSV or TSV file, the header included."""
    delimiter = style.delimiter or ("\t" if format == "tsv" else ",")
    with _any_field_size():
        yield from _records(file.name, read_lines(file, style.encoding, progress), style, delimiter)


def parquet_records(file: Input) -> Iterator[tuple[int, list[Any]]]:
    """Yield row number and cells of a Parquet file; row 0 holds the names of the columns."""
    with _arrow_explained(file.name):
        table = _parquet_file(file)
        yield 0, list(table.schema_arrow.names)
        row = 0
        for batch in table.iter_batches(batch_size=_BATCH_ROWS):
            for values in zip(*(column.to_pylist() for column in batch.columns), strict=True):
                row += 1
                yield row, list(values)


def _records(
    name: str, lines: Iterable[str], style: TableStyle, delimiter: str
) -> Iterator[tuple[int, list[str]]]:
    # strict: a stray quotation mark is an error, instead of swallowing the lines that follow.
    try:
        reader = csv.reader(
            lines,
            delimiter=delimiter,
            quoting=csv.QUOTE_MINIMAL if style.quotes else csv.QUOTE_NONE,
            strict=True,
        )
    except (TypeError, ValueError) as error:
        raise InputError(
            f"`--delimiter` must be one character, such as ';'; got {delimiter!r}."
        ) from error
    start = 1
    try:
        for record in reader:
            if record:
                yield start, record
            start = reader.line_num + 1
    except csv.Error as error:
        raise InputError(f"{name}: line {start:,}: {_csv_fault(error, style)}.") from error


def _csv_fault(error: csv.Error, style: TableStyle) -> str:
    if "new-line character" in str(error):
        return "a carriage return stands alone; save the file with line ends LF or CRLF"
    if style.quotes:
        return f"{error}; if quotation marks are part of the text, add --no-quotes"
    return f"{error}; mend the line"


def _place(
    source: str, header: Sequence[str], name: str, delimiter: str, row: Sequence[str]
) -> int:
    found = [i for i, each in enumerate(header) if each == name]
    if len(found) == 1:
        return found[0]
    if found:
        raise InputError(
            f"{source}: line 1: {len(found)} columns are called `{name}`; rename all but one."
        )
    other = next((d for d in (";", "\t", ",", "|") if d != delimiter and d in header[0]), None)
    if len(header) == 1 and other:
        raise InputError(
            f"{source}: line 1: the columns are not separated by {delimiter!r}; "
            f"try --delimiter {other!r}."
        )
    raise InputError(_no_column(source, name, header, map(_is_number, row)))


def _no_column(source: str, name: str, known: Sequence[str], numeric: Iterable[bool]) -> str:
    """Say that a column is missing, and what a table is that holds numbers in most columns."""
    message = f"{source}: there is no column `{name}`; {nearest(name, known)}"
    # Beside the numbers of the features stand a label and perhaps the name of the row.
    if sum(numeric) >= max(len(known) - 2, 2):
        message += " The table holds numbers: `naively select --numbers` selects among its columns."
    return f"{message}{_ROLES}" if message.endswith(".") else message


def _is_number(cell: str) -> bool:
    try:
        float(cell)
    except ValueError:
        return False
    return True


def _ragged(
    source: str, line: int, record: Sequence[str], header: Sequence[str], style: TableStyle
) -> str:
    what = "the header" if style.header else "the first line"
    return (
        f"{source}: line {line:,} has {len(record)} fields, {what} has {len(header)}; "
        "mend the line (text that holds the delimiter needs quotation marks around it)."
    )


@contextmanager
def _any_field_size() -> Iterator[None]:
    # Documents are longer than the 131,072 characters that the csv module allows by default.
    before = csv.field_size_limit(min(sys.maxsize, 2**31 - 1))
    try:
        yield
    finally:
        csv.field_size_limit(before)


# JSON Lines ------------------------------------------------------------------------------------


def _jsonl_rows(file: Input, names: Sequence[str], style: TableStyle, progress: Progress) -> _Rows:
    for number, line in enumerate(read_lines(file, style.encoding, progress), 1):
        if not line.isspace():
            record = _parsed(file.name, number, line)
            try:
                yield number, [record[name] for name in names]
            except KeyError as error:
                raise InputError(_no_field(file.name, number, error.args[0], record)) from None


def _parsed(source: str, number: int, line: str) -> dict[str, Any]:
    try:
        record = json.loads(line)
    except (ValueError, RecursionError) as error:
        cause = getattr(error, "msg", None) or str(error)
        raise InputError(
            f"{source}: line {number:,} is not JSON ({cause}); write one object a line."
        ) from error
    if not isinstance(record, dict):
        kind = "an array" if isinstance(record, list) else "a bare value"
        raise InputError(
            f"{source}: line {number:,} holds {kind}, not an object; write one object a line."
        )
    return record


def _no_field(source: str, number: int, name: str, record: dict[str, Any]) -> str:
    hint = nearest(name, record)
    roles = _ROLES if hint.endswith(".") else ""
    return f"{source}: line {number:,}: there is no field `{name}`; {hint}{roles}"


# Parquet ---------------------------------------------------------------------------------------


def _parquet_rows(
    file: Input, names: Sequence[str], style: TableStyle, progress: Progress
) -> _Rows:
    with _arrow_explained(file.name):
        table = _parquet_file(file)
        known = table.schema_arrow.names
        for name in names:
            if name not in known:
                raise InputError(
                    _no_column(file.name, name, known, map(_holds_numbers, table.schema_arrow))
                )
            if known.count(name) > 1:
                raise InputError(
                    f"{file.name}: {known.count(name)} columns are called `{name}`; "
                    "rename all but one."
                )
        done = 0
        for batch in table.iter_batches(batch_size=_BATCH_ROWS, columns=list(names)):
            progress("reading", done, table.metadata.num_rows)
            columns = [batch.column(name).to_pylist() for name in names]
            for row, values in enumerate(zip(*columns, strict=True), done + 1):
                yield row, list(values)
            done += batch.num_rows


def _holds_numbers(field: Any) -> bool:
    import pyarrow as pa

    return bool(pa.types.is_integer(field.type) or pa.types.is_floating(field.type))


def _parquet_file(file: Input) -> Any:
    import pyarrow as pa
    import pyarrow.parquet as pq

    # Parquet is read from its end, so a stream that cannot seek is taken whole.
    plain = file.stream is file.raw and file.raw.seekable()
    return pq.ParquetFile(file.raw if plain else pa.BufferReader(file.stream.read()))


@contextmanager
def _arrow_explained(name: str) -> Iterator[None]:
    try:
        import pyarrow as pa
    except ImportError as error:
        raise InputError(
            f"{name}: reading Parquet needs the extra `arrow`; "
            "install it with: pip install 'naively[arrow]'"
        ) from error
    try:
        yield
    except (pa.ArrowException, OSError) as error:
        if not isinstance(error, pa.ArrowException) and passes(error):
            raise
        raise InputError(
            f"{name}: this is not a Parquet file, or it is damaged ({cause(error)}); get it again."
        ) from error


_READERS: dict[str, _RowReader] = {
    "csv": _csv_rows,
    "tsv": _tsv_rows,
    "jsonl": _jsonl_rows,
    "parquet": _parquet_rows,
}


# Cells -----------------------------------------------------------------------------------------


def texts_of(
    columns: Columns, names: Sequence[str], *, tokens: bool = False
) -> list[tuple[Any, ...]]:
    """Documents: one tuple per row with the text of each named column; a null is empty text.

    With `tokens`, each cell is a list of strings, which becomes a tuple of them.

    Raises
    ------
    InputError
        Naming line and column, if a cell is neither text nor a number.
    """
    parts: list[list[Any]] = [(_tokens if tokens else _texts)(columns, name) for name in names]
    return list(zip(*parts, strict=True))


def _tokens(columns: Columns, name: str) -> list[tuple[str, ...]]:
    rows = []
    for row, value in enumerate(columns.column(name)):
        found = [] if value is None else value
        if not isinstance(found, list) or not all(isinstance(each, str) for each in found):
            raise InputError(
                f"{columns.where(row)}: column `{name}` holds a {type(value).__name__}, not a list "
                "of strings, which --analyzer tokens counts."
            )
        rows.append(tuple(map(clean, found)))
    return rows


def _texts(columns: Columns, name: str) -> list[str]:
    texts = []
    for row, value in enumerate(columns.column(name)):
        if isinstance(value, str):
            texts.append(clean(value))
        elif value is None or value != value:
            texts.append("")
        elif isinstance(value, int | float):
            texts.append(str(value))
        else:
            raise InputError(
                f"{columns.where(row)}: column `{name}` holds a {type(value).__name__}, "
                "not text; name a column of texts with --text."
            )
    return texts


def labels_of(columns: Columns, name: str) -> list[str]:
    """Label of each row.

    Raises
    ------
    InputError
        Naming line and column, if a label is missing or is not a single value.
    """
    labels = []
    for row, value in enumerate(columns.column(name)):
        try:
            label = label_text(value)
        except TypeError as error:
            raise InputError(
                f"{columns.where(row)}: column `{name}` holds {error}, not a single label."
            ) from error
        if label is None:
            raise InputError(
                f"{columns.where(row)}: the label in column `{name}` is missing; "
                "fill it in or take the row out."
            )
        labels.append(label)
    return labels
