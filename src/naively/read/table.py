"""Tables as batches: columns of texts with labels, or all other columns as numbers."""

from __future__ import annotations

from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from fnmatch import fnmatchcase
from operator import itemgetter
from typing import Any

import numpy as np

from naively._nearest import listed, short
from naively._types import FloatArray, IntArray
from naively.read.batch import Batch, Part, Places, height, interleaved
from naively.read.cells import Cells, batch_of, texts_of, tokens_of
from naively.read.columns import Columns, ignored, kept_columns
from naively.read.errors import InputError, check_distinct, missing
from naively.read.layout import Layout
from naively.read.matrix import check_finite
from naively.read.style import has_comma
from naively.statistics.matrix import whole_numbers
from naively.text.labels import ABSENT, clean

_LABELS = " Name the column of labels with --label."
_TURNED = " If the rows are features, add --read transpose."
_NUMBERS = " The table holds numbers: `naively select --read numbers` selects among its columns."
_ABSENT = ABSENT | {None}
_COUNTS = {"feature", "label", "count"}  # columns of a table of counts
_NAMED = 10  # columns in a message


@dataclass(frozen=True, slots=True)
class Rows:
    """Some rows of a table, as they were read."""

    cells: Sequence[Sequence[Any]]  # one a row, each with a field for each column
    numbers: Sequence[int] | IntArray  # line or row of each


@dataclass(frozen=True, slots=True)
class Records:
    """All rows of a part of a table."""

    names: list[str]  # of the columns
    rows: Iterator[Rows]
    written: bool = False  # cells are text, as CSV has them
    categorical: tuple[str, ...] = ()  # columns that the file says are of categories
    index: tuple[str, ...] = ()  # columns that the file says name the rows


# Columns ---------------------------------------------------------------------------------------


def roles(layout: Layout) -> dict[str, str]:
    """Return what is read beside texts or numbers: role and name of the column."""
    found = {"label": layout.label_column, "split": layout.split}
    found |= {"group": layout.group, "key": layout.key, "weight": layout.weight}
    return {role: name for role, name in found.items() if name is not None}


def wanted_columns(layout: Layout) -> list[str]:
    """Return the columns that are read of a table of texts."""
    return list(dict.fromkeys([*layout.text, *roles(layout).values()]))


def check_columns(
    source: str, names: Sequence[str], layout: Layout, numeric: Sequence[bool] = ()
) -> None:
    """Refuse a table that lacks a column, or has it twice.

    Parameters
    ----------
    source, names, layout
        The table, its columns, and where things should stand.
    numeric
        Whether each column holds numbers, as far as is known.
    """
    wanted = wanted_columns(layout)
    lost = next((name for name in wanted if name not in names), None)
    if lost is not None:
        raise lacking(source, "column", lost, names, layout, _way_out(layout, names, numeric))
    check_distinct(source, "column", names, wanted)


def lacking(
    source: str, what: str, name: str, names: Collection[str], layout: Layout, way: str
) -> InputError:
    """Return the error of a table that lacks columns: all it lacks, or the option that asks."""
    told = dict.fromkeys([*layout.text, *filter(None, [layout.label_column])])
    plain = [each for each in told if each not in names]
    if len(plain) > 1:
        first = ", ".join(f"`{short(each)}`" for each in plain[:-1])
        return InputError(
            f"{source}: there are no {what}s {first} and `{short(plain[-1])}`; "
            f"{listed(names, what)}{way}"
        )
    options = {layout.split: "--read split", layout.key: "--id"}
    options |= {layout.group: "--read groups or --read time"}
    if plain or name not in options:
        return missing(source, what, name, names, way)
    return missing(source, what, name, names, asked_by=f"{options[name]} asks for")


def check_header(place: str, names: Sequence[str], layout: Layout) -> None:
    """Refuse to take a row of numbers for names, unless they count the columns or are known.

    Parameters
    ----------
    place, names, layout
        Of the first row, what stands in it, and where things should stand.
    """
    found = [name for name in names[layout.transpose :] if name]
    if layout.header or layout.text or not found or not all(map(_is_finite, found)):
        return
    known = None if layout.wanted is None or layout.transpose else layout.wanted.names
    if known is None and layout.variables is not None:
        known = layout.variables.names
    if set(known or ()) & set(found):
        return
    if all(found != list(map(str, range(i, i + len(found)))) for i in (0, 1)):
        raise InputError(
            f"{place}: the first row, which names {'samples' if layout.transpose else 'columns'}, "
            f"holds only numbers ({short(', '.join(found))}); add --read header=false if it is a "
            "row of data, or --read header=true if it is one of names."
        )


def _is_finite(cell: str) -> bool:
    return is_number(cell) and (cell in _ABSENT or bool(np.isfinite(float(cell))))


def _way_out(layout: Layout, names: Sequence[str], numeric: Sequence[bool]) -> str:
    if set(names) >= _COUNTS and layout.variables is None:
        return (
            " A table of counts is for `naively select --read class-rows=FILE`, with the rows of "
            "each class in FILE."
        )
    if not layout.text:
        return _LABELS + _TURNED * (layout.variables is None)
    # Beside the numbers of the features stand a label and perhaps the name of the row.
    return (_NUMBERS if sum(numeric) >= max(len(names) - 2, 2) else "") + layout.roles_way


# Texts -----------------------------------------------------------------------------------------


def text_batch(columns: Mapping[str, Cells], places: Places, layout: Layout) -> Batch:
    """Make a batch of columns of texts, or of lists of tokens."""
    cells = tokens_of if layout.tokens else texts_of
    texts = interleaved([cells(columns[name], name, places) for name in layout.text])
    return batch_of(texts, beside(columns, layout), places, len(layout.text))


def beside(columns: Mapping[str, Cells], layout: Layout) -> dict[str, tuple[str, Cells]]:
    """Return name and cells of labels, parts and keys."""
    return {role: (name, columns[name]) for role, name in roles(layout).items()}


# Numbers ---------------------------------------------------------------------------------------


@dataclass(frozen=True, slots=True)
class Plan:
    """Which columns of a table of numbers are read, and as what."""

    columns: Columns  # of the matrix
    places: list[int]  # (m,) of them in the table
    index: tuple[int, ...] = ()  # places of the columns that name the rows


def plan_of(
    source: str, names: Sequence[str], layout: Layout, named: bool, index: Sequence[str] = ()
) -> Plan:
    """Choose the columns of numbers of a table.

    Parameters
    ----------
    source, names, layout
        The table, its columns, and where things should stand.
    named
        Whether the first column holds names of rows, not numbers.
    index
        Columns that the file says name the rows.
    """
    check_columns(source, names, layout)
    special = {*roles(layout).values(), layout.label or "label"}
    places = index_of(names, layout, named, index)
    free = [j for j, name in enumerate(names) if name not in special and j not in places]
    if not free:
        first = short(next(iter(names), ""))
        raise InputError(
            f"{source}: no column holds numbers; "
            + (
                f"if column `{first}` holds text, name it with --text '{first}'."
                if layout.needs_label
                else "give a table with the columns of the training. If these are words that a "
                "database counted, naively.export(MODEL, 'sql', layout='words') answers there."
            )
        )
    columns = Columns([names[j] for j in free])
    beside = [name for j, name in enumerate(names) if name in special or j in places]
    kept = kept_columns(source, columns, layout.ignore, layout.wanted, beside=beside)
    found = free if kept is None else [free[j] for j in kept.tolist()]
    return Plan(columns.take(kept), found, places)


def index_of(
    names: Sequence[str], layout: Layout, named: bool = False, index: Sequence[str] = ()
) -> tuple[int, ...]:
    """Places of the columns that name the rows: those of which the file says so, or the first.

    None is a column that is something else by name, or that a model knows.
    """
    wanted = layout.wanted and layout.wanted.names
    other = {*roles(layout).values(), *layout.ignore, *(wanted or ())}
    first = index or (names[:1] if named or names[:1] in ([""], ["Unnamed: 0"]) else ())
    return tuple(j for j, name in enumerate(names) if name in first and name not in other)


def row_names(columns: Sequence[Sequence[Any]]) -> Sequence[Any]:
    """Names (n,) of rows of which columns, one at least, tell them: of several joined."""
    if len(columns) == 1:
        return columns[0]
    return [", ".join(map(str, cells)) for cells in zip(*columns, strict=True)]


def number_batches(part: Part, records: Records, layout: Layout) -> Iterator[Batch]:
    """Make batches of rows of numbers."""
    if layout.transpose:
        yield from _split(_turned(part, records, layout)[0])
        return
    plan: Plan | None = None
    for some in records.rows:
        plan = plan or plan_of(part.source, records.names, layout, _is_named(some), records.index)
        places = Places((part,), some.numbers)
        X = numbers_of(some.cells, plan, places, layout)
        columns = {
            name: list(map(itemgetter(records.names.index(name)), some.cells))
            for name in roles(layout).values()
        }
        batch = batch_of(whole_numbers(X), beside(columns, layout), places)
        own = [[row[j] for row in some.cells] for j in plan.index]
        yield batch.named(row_names(own)) if own else batch


def number_columns(part: Part, records: Records, layout: Layout) -> Columns:
    """Columns of the matrix that `number_batches` makes."""
    if layout.transpose:
        return _turned(part, records, layout)[1]
    first = next(records.rows, Rows([], []))
    plan = plan_of(part.source, records.names, layout, _is_named(first), records.index)
    return replace(plan.columns, sure=bool(first.cells))


def _is_named(rows: Rows) -> bool:
    if not rows.cells:
        return False
    first = rows.cells[0][0]
    return not (is_number(first) or has_comma(str(first)))


def is_number(cell: Any) -> bool:
    """Whether a cell holds a number, or nothing."""
    try:
        float(cell)
    except (TypeError, ValueError):
        return (cell is None or isinstance(cell, str)) and cell in _ABSENT
    return True


def numbers_of(
    rows: Sequence[Sequence[Any]], plan: Plan, places: Places, layout: Layout, row_name: str = ""
) -> FloatArray:
    """Return cells as numbers, (n, m), of rows that are samples, or features by name."""
    number: Any = _number_or_nan if layout.missing else float
    if not plan.places:
        return np.empty((len(rows), 0))
    first, last = plan.places[0], plan.places[-1]
    pick: Any = itemgetter(slice(first, last + 1))
    if plan.places != list(range(first, last + 1)):
        pick = itemgetter(*plan.places)
    X = np.empty((len(rows), len(plan.places)))
    try:
        for i, row in enumerate(rows):
            X[i] = list(map(number, pick(row)))
    except (TypeError, ValueError):
        for i, row in enumerate(rows):
            cells = dict(zip(plan.columns.names, pick(row), strict=True))
            odd = [name for name, cell in cells.items() if not is_number(cell)]
            for name, cell in cells.items():
                check_number(cell, name, places, i, layout, [row_name] if row_name else odd)
        raise
    check_finite(X, plan.columns, places, layout)
    return X


def _number_or_nan(cell: Any) -> float:
    return np.nan if cell in _ABSENT else float(cell)


def _listed(names: Sequence[str]) -> str:
    listed = ", ".join(f"`{short(name)}`" for name in names[:_NAMED])
    return listed + f" and {len(names) - _NAMED:,} more" * (len(names) > _NAMED)


def check_number(
    cell: Any, column: str, places: Places, row: int, layout: Layout, odd: Sequence[str] = ()
) -> None:
    """Refuse a cell that is no number, or is missing where that may not be.

    `odd` are all columns that hold something else, or the feature whose row it is.
    """
    absent = cell in _ABSENT
    if is_number(cell) and not (absent and not layout.missing):
        return
    said = "is missing" if absent else f"is {str(cell)[:50]!r}, not a number"
    if absent or not odd:
        odd = odd[:1] if odd and odd[0] != column and layout.transpose else [column]
    said += f", and {_listed(odd[1:])} {'is' if len(odd) == 2 else 'are'} none" * (len(odd) > 1)
    ways = ["fill it in" if absent else "make numbers of it"]
    if layout.needs_label:  # otherwise a model needs it
        options = " ".join(f"--read ignore='{short(name)}'" for name in odd[:_NAMED])
        ways += [f"leave {'it' if len(odd) == 1 else 'them'} out with {options}"]
        if not absent and not layout.transpose:
            ways += ["let --model mixed read columns of any kind"]
    if absent and layout.missing_way:
        ways += [layout.missing_way]
    if isinstance(cell, str) and "," in cell and is_number(cell.replace(",", ".", 1)):
        ways[0] = "write its decimals behind a point"
    way = f"{', '.join(ways[:-1])}, or {ways[-1]}" if len(ways) > 1 else ways[0]
    raise InputError(f"{places.of(row)}: the value of `{short(column)}` {said}; {way}.")


# Rows are features -----------------------------------------------------------------------------


def _turned(part: Part, records: Records, layout: Layout) -> tuple[Batch, Columns]:
    """Read a table whose rows are features and whose columns are samples."""
    special: dict[str, list[Any]] = {name: [] for name in roles(layout).values()}
    if not layout.header and records.names[:1] and records.names[0] in special:
        raise InputError(
            f"{part.source}: the first row names the samples, and is called "
            f"`{short(records.names[0])}`; add --read header=false if they have no names."
        )
    wanted = None if layout.wanted is None else layout.wanted.names
    places = list(range(1, len(records.names)))
    samples = Plan(Columns(records.names[1:]), places)

    def is_left_out(name: str) -> bool:
        return name == (layout.label or "label") or any(
            fnmatchcase(name, pattern) for pattern in layout.ignore
        )

    names, rows = list[str](), dict[str, FloatArray]()
    for some in records.rows:
        for number, cells in zip(some.numbers, some.cells, strict=True):
            name = clean(str(cells[0])).strip()
            if name in special:
                special[name] = list(cells[1:])
            # Others may be labels, or something else that a model does not ask for.
            elif not is_left_out(name) and (wanted is None or name in wanted):
                place = Places((part,), [number])
                rows[name] = numbers_of([cells], samples, place, layout, name)[0]
            names.append(name)
    ignored(part.source, names, layout.ignore, "row")
    lost = next((each for each in special if each not in names), None)
    if lost is not None:
        way = " Labels that lie beside the table are given with --read labels=FILE."
        raise missing(part.source, "row", lost, names, way)
    columns = Columns([name for name in names if name not in special and not is_left_out(name)])
    if not columns.n:
        raise InputError(f"{part.source}: the file holds no rows; give one with data in it.")
    kept = kept_columns(part.source, columns, (), layout.wanted, "row")
    columns = columns.take(kept)
    X = np.ascontiguousarray(np.array([rows[name] for name in columns.names]).T)
    turned = Places((part,), range(2, len(X) + 2), unit="column")
    batch = batch_of(whole_numbers(X), beside(special, layout), turned)
    return batch.named(records.names[1:]), columns


def _split(batch: Batch) -> Iterator[Batch]:
    step = height(8 * batch.rows.shape[1])
    for start in range(0, len(batch), step):
        yield batch.take(np.arange(start, min(start + step, len(batch))))
