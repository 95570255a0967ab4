"""Cells of any container as texts and labels: one spelling, one message for what is missing."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, TypeAlias

import numpy as np

from naively._nearest import short
from naively._types import Array, FloatArray, IntArray
from naively.read.batch import Batch, Places
from naively.read.errors import InputError
from naively.read.formats import is_written
from naively.read.style import THOUSANDS, has_comma, pointed
from naively.text.labels import ABSENT, clean, label_text, name_text
from naively.text.utf8 import Texts, TokenRows, as_texts, as_tokens, is_list, rows_of_column

Cells: TypeAlias = Any  # (n,) a column: Texts, a list or NumPy array, or an array of pyarrow

_DOUBLE = 8  # bytes
LONGEST_LABEL = 1000  # characters; what is longer is a text


# Texts -----------------------------------------------------------------------------------------


def texts_of(cells: Cells, name: str, places: Places) -> Texts:
    """Return a column of texts; what is missing is empty, numbers are spelled as Python does.

    Raises
    ------
    InputError
        Naming the place of the first cell that is neither.
    """
    if isinstance(cells, Texts):
        return cells
    if is_arrow(cells):
        return _arrow_texts(cells, name, places)
    return as_texts([_text(cell, name, places, row) for row, cell in enumerate(cells)])


def _text(cell: Any, name: str, places: Places, row: int) -> str:
    if isinstance(cell, str):
        return clean(cell)
    if cell is None or isinstance(cell, int | float):
        return _spelled(cell)
    raise _no_text(type(cell).__name__, name, places, row)


def _spelled(cell: Any) -> str:
    return "" if cell is None or cell != cell else str(cell)


def _no_text(kind: str, name: str, places: Places, row: int) -> InputError:
    return InputError(
        f"{places.of(row)}: column `{name}` holds a {kind}, not text; "
        "name a column of texts with --text."
    )


def _arrow_texts(column: Any, name: str, places: Places) -> Texts:
    import pyarrow as pa

    kind = column.type
    if pa.types.is_integer(kind) or pa.types.is_floating(kind) or pa.types.is_boolean(kind):
        column = pa.array(list(map(_spelled, column.to_pylist())), pa.large_string())
    elif pa.types.is_null(kind) or _is_view(kind):
        column = column.cast(pa.large_string())
    elif not _is_text(kind):
        row = int(np.argmax(column.is_valid().to_numpy(zero_copy_only=False)))
        raise _no_text(type(column[row].as_py()).__name__, name, places, row)
    found = rows_of_column(column)
    assert isinstance(found, Texts)
    return found


def tokens_of(cells: Cells, name: str, places: Places) -> TokenRows:
    """Return a column of lists of strings; what is missing is an empty list.

    Raises
    ------
    InputError
        Naming the place of the first cell that is none.
    """
    whole = is_arrow(cells) and is_list(cells.type) and not cells.flatten().null_count
    if whole and _is_text(cells.type.value_type):
        found = rows_of_column(cells)
        assert isinstance(found, TokenRows)
        return found
    values = cells.to_pylist() if is_arrow(cells) else cells
    rows = [[] if value is None else value for value in values]
    for row, value in enumerate(rows):
        if not isinstance(value, list) or not all(isinstance(each, str) for each in value):
            raise InputError(
                f"{places.of(row)}: column `{name}` holds {_held(value)}, and the analyzer tokens "
                "counts lists of strings; write each text as one."
            )
    return as_tokens([list(map(clean, row)) for row in rows])


def _held(value: Any) -> str:
    if not isinstance(value, list):
        return f"a {type(value).__name__}"
    odd = next(each for each in value if not isinstance(each, str))
    return f"a list with {'null' if odd is None else f'a {type(odd).__name__}'} in it"


# Labels ----------------------------------------------------------------------------------------


def labels_of(cells: Cells, name: str, places: Places, what: str = "label") -> Array:
    """Return a column of labels, parts or keys as text, (n,); a label that is missing is empty.

    In files of text and sheets, words such as NA stand for a label that is missing.

    Raises
    ------
    InputError
        Naming the place of the first that is not a single value, or is missing and no label.
    """
    values, codes = _distinct(cells)
    names = list[str]()
    absent = ABSENT if any(is_written(part.format) for part in places.parts) else frozenset()
    for code, value in enumerate(values):
        try:
            text = _label(value, name, what)
            names.append("" if what == "label" and text in absent else text)
        except InputError as error:
            odd = np.flatnonzero(codes == code)
            if len(odd):
                raise InputError(f"{places.of(int(odd[0]))}: {error}") from error
            names.append("")
    return np.array(names or [""], dtype=np.str_)[codes]


def batch_of(
    rows: Any, beside: Mapping[str, tuple[str, Cells]], places: Places, width: int = 1
) -> Batch:
    """Make a batch of rows, and of name and cells of what stands beside them, by its role."""
    called = {"label": "label", "split": "part", "key": "key", "group": "group"}
    found: dict[str, Array] = {
        role: labels_of(cells, name, places, called[role])
        for role, (name, cells) in beside.items()
        if role in called
    }
    label, split, key, group = (found.get(role) for role in called)
    weight = None
    if "weight" in beside:
        name, cells = beside["weight"]
        weight = weights_of(cells, name, places)
    return Batch(rows, label, split, key, places, width, group, weight)


def weights_of(cells: Cells, name: str, places: Places) -> FloatArray:
    """Return a column of weights of rows, (n,).

    Raises
    ------
    InputError
        Naming the place of the first that is no finite number >= 0.
    """
    listed = _strings if isinstance(cells, Texts) else _plain
    values = cells.to_pylist() if is_arrow(cells) else listed(cells)
    values = [v.decode("utf-8", "replace") if isinstance(v, bytes) else v for v in values]
    found = np.array([_weight(value) for value in values], dtype=np.float64)
    wrong = np.flatnonzero(~((found >= 0) & (found < np.inf)))
    if len(wrong):
        row = int(wrong[0])
        value = values[row]
        comma = isinstance(value, str) and has_comma(value)
        way = "; write decimals behind a point, and thousands without a comma" * comma
        raise InputError(
            f"{places.of(row)}: column `{name}` must hold a finite number >= 0 for --read weight; "
            f"got {short(value)!r} (0 leaves the row out){way}."
        )
    return found


def _weight(value: Any) -> float:
    """Weight of a row; 1,5 is one and a half, but 1,000 is no weight: it may be a thousand."""
    if isinstance(value, str) and has_comma(value) and not THOUSANDS.fullmatch(value.strip()):
        value = pointed(value)
    try:
        return float(value)
    except (TypeError, ValueError):
        return np.nan


def _label(value: Any, name: str, what: str) -> str:
    try:
        written = what == "key" and isinstance(value, str | bytes)  # to be found again
        text = name_text(value).strip() or None if written else label_text(value)
    except TypeError as error:
        raise InputError(f"column `{name}` holds {error}, not a single {what}.") from error
    if text is None:
        if what == "label":
            return ""
        raise InputError(
            f"the {what} in column `{name}` is missing; fill it in or take the row out."
        )
    if "\0" in text:
        raise InputError(f"the {what} in column `{name}` holds a NUL character; take it out.")
    if len(text) > LONGEST_LABEL and what != "key":
        raise InputError(
            f"the {what} in column `{name}` has {len(text):,} characters; name a column of {what}s."
        )
    return text


def _distinct(cells: Cells) -> tuple[list[Any], IntArray]:
    """Return some values, all that differ among them, and which each row has."""
    if is_arrow(cells):
        return _arrow_distinct(cells)
    values = _strings(cells) if isinstance(cells, Texts) else _plain(cells)
    kinds = set(map(type, values))
    if len(kinds) > 1 or not kinds <= {str, int, bytes, bool, float}:  # 1, 1.0 and True are equal
        return values, np.arange(len(values))
    code = {value: i for i, value in enumerate(dict.fromkeys(values))}
    return list(code), np.fromiter(map(code.__getitem__, values), np.int64, len(values))


def _plain(cells: Sequence[Any] | Array) -> list[Any]:
    if not isinstance(cells, np.ndarray):
        return list(cells)
    if cells.dtype.kind == "M":
        return list(cells.astype("M8[us]").tolist())
    if cells.dtype.kind == "f" and cells.dtype.itemsize < _DOUBLE:
        return list(map(_shortest, cells))
    plain: list[Any] = list(cells) if cells.dtype.kind == "m" else cells.tolist()
    return plain


def _shortest(value: Any) -> float:
    """Return the number that is spelled as one of single or half precision is."""
    return float(str(value))


def _strings(texts: Texts) -> list[Any]:
    content, offsets = texts.bytes.tobytes(), texts.offsets.tolist()
    return [content[start:stop] for start, stop in zip(offsets[:-1], offsets[1:], strict=True)]


def _arrow_distinct(column: Any) -> tuple[list[Any], IntArray]:
    import pyarrow as pa

    if pa.types.is_null(column.type):
        return [None], np.zeros(len(column), dtype=np.int64)
    if _is_view(column.type):
        column = column.cast(pa.large_binary())
    if pa.types.is_nested(column.type):
        return column.to_pylist(), np.arange(len(column))
    if not pa.types.is_dictionary(column.type):
        column = column.dictionary_encode()
    values = column.dictionary.to_pylist()
    if pa.types.is_floating(column.type.value_type):
        single = {16: np.float16, 32: np.float32}.get(column.type.value_type.bit_width, float)
        values = [_shortest(single(value)) for value in values]
    indices = column.indices
    if indices.null_count:
        indices = indices.fill_null(len(column.dictionary))
    codes = np.from_dlpack(indices)  # to_numpy would import pandas
    return [*values, None], codes.astype(np.int64)


# Types of Arrow --------------------------------------------------------------------------------


def is_arrow(cells: Cells) -> bool:
    """Whether a column is an array of pyarrow."""
    return type(cells).__module__.startswith("pyarrow")


def _is_view(kind: Any) -> bool:
    import pyarrow as pa

    return bool(pa.types.is_string_view(kind) or pa.types.is_binary_view(kind))


def _is_text(kind: Any) -> bool:
    import pyarrow as pa

    tests = ("is_string", "is_large_string", "is_binary", "is_large_binary")
    return _is_view(kind) or any(getattr(pa.types, test)(kind) for test in tests)
