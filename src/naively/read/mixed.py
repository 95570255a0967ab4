"""Tables with columns of several kinds: what their columns are, and their rows as numbers.

a look at all rows -> kinds          a second one -> categories and words
rows -> matrix of numbers, in which every batch has the same columns and categories
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import AbstractContextManager
from dataclasses import dataclass, replace
from typing import Any, Protocol, cast

import numpy as np

from naively.read.batch import Batch, Part, Places
from naively.read.cells import batch_of
from naively.read.columns import ignored
from naively.read.errors import check_distinct, explained, missing
from naively.read.formats import reader_of
from naively.read.layout import Layout
from naively.read.table import Records, beside, check_columns, index_of, roles, row_names
from naively.read.variables import Cells, Variables, kind_of, spellings, what_is
from naively.statistics.mixed_columns import MixedColumns
from naively.text.counter import TextCounter
from naively.text.vocabulary import Vocabulary


class _TableReader(Protocol):
    """How a format that holds tables is read."""

    @staticmethod
    def records(part: Part, layout: Layout) -> AbstractContextManager[Records]:
        """All rows of a part, with the names of the columns."""


def batches(part: Part, layout: Layout) -> Iterator[Batch]:
    """Rows of a part as numbers, in batches."""
    variables = _of(layout)
    with _records(part, layout) as records:
        _check_names(part, records, layout)
        index = index_of(records.names, layout, index=records.index)
        for cells, places in _columns(part, records):
            X = variables.encoded(cells, places, written=records.written)
            batch = batch_of(X, beside(cells, layout), places)
            own = [cells[records.names[j]] for j in index]
            yield batch.named(row_names(own)) if own else batch


def named(part: Part, layout: Layout) -> Layout:
    """Return the layout with the columns that are variables: those of a file, in their order."""
    with explained(part.source), _records(part, layout) as records:
        check_columns(part.source, records.names, layout)
        check_distinct(part.source, "column", records.names, records.names)
        left_out = {*roles(layout).values(), layout.label or "label"}
        left_out |= {records.names[j] for j in ignored(part.source, records.names, layout.ignore)}
        index = index_of(records.names, layout, index=records.index)
        left_out |= {records.names[j] for j in index}
        kept = [name for name in records.names if name not in left_out]
        return replace(layout, variables=_of(layout).of_columns(part.source, kept))


@dataclass(frozen=True, slots=True)
class Found:
    """What is in the columns of some rows; of more rows it is united."""

    kinds: tuple[frozenset[str], ...]  # of cells, by column: see `what_is`
    written: frozenset[bool]  # whether cells were text, as CSV has them
    categories: tuple[frozenset[str], ...] = ()  # by column
    words: tuple[Vocabulary, ...] = ()  # by column of text

    def __add__(self, other: Found) -> Found:
        def both(one: Sequence[frozenset[str]], two: Sequence[frozenset[str]]) -> Any:
            return tuple(a | b for a, b in zip(one, two, strict=True))

        return Found(
            both(self.kinds, other.kinds), self.written | other.written,
            both(self.categories, other.categories),
            tuple(
                Vocabulary.union([one, two])[0]
                for one, two in zip(self.words, other.words, strict=True)
            ),
        )  # fmt: skip


def kinds_in(part: Part, layout: Layout) -> Found:
    """Look at which kinds of cells the columns of a part hold."""
    variables = _of(layout)
    kinds: list[set[str]] = [set() for _ in variables.names]
    with explained(part.source), _records(part, layout) as records:
        _check_names(part, records, layout)
        for own, name in zip(kinds, variables.names, strict=True):
            own |= {"text"} & {"text" * (name in records.categorical)}
        for cells, _ in _columns(part, records):
            for own, name in zip(kinds, variables.names, strict=True):
                if "text" not in own:  # nothing changes any more
                    own |= {what_is(cell, written=records.written) for cell in cells[name]}
        return Found(tuple(map(frozenset, kinds)), frozenset({records.written}))


def with_kinds(layout: Layout, found: Found) -> Layout:
    """Return the layout with the kind of each column: as it was told, or by what was found."""
    variables = _of(layout)
    told, written = dict(variables.told), found.written != {False}
    kinds = tuple(
        told.get(name) or kind_of(own, written=written)
        for name, own in zip(variables.names, found.kinds, strict=True)
    )
    columns = MixedColumns(kinds, ((),) * len(kinds), variables.names)
    return replace(layout, variables=replace(variables, columns=columns))


def values_in(part: Part, layout: Layout) -> Found:
    """Look at which categories, and which words, the columns of a part hold."""
    variables = _of(layout)
    assert variables.columns is not None
    categories: list[set[str]] = [set() for _ in variables.names]
    counters = [TextCounter(variables.words.features) for _ in variables.words.columns]
    pairs = [
        (own, name)
        for own, name, kind in zip(
            categories, variables.names, variables.columns.kinds, strict=True
        )
        if kind == "categorical"
    ]
    with explained(part.source), _records(part, layout) as records:
        _check_names(part, records, layout)
        for cells, places in _columns(part, records):
            for own, name in pairs:
                spelled = spellings(cells[name], name, places, written=records.written)
                own |= {each for each in spelled if each is not None}
            for counter, texts in zip(counters, variables.texts(cells, places), strict=True):
                counter.update(texts, np.zeros(len(places), dtype=np.int64))
    words = tuple(counter.result()[0] for counter in counters)
    nothing: frozenset[str] = frozenset()
    return Found(
        (nothing,) * len(categories), frozenset(), tuple(map(frozenset, categories)), words
    )


def with_values(layout: Layout, found: Found) -> Layout:
    """Return the layout with the categories and words that were found."""
    variables = _of(layout)
    assert variables.columns is not None
    columns = replace(
        variables.columns, labels=tuple(tuple(sorted(own)) for own in found.categories)
    )
    words = replace(variables.words, words=found.words)
    words.check_names(columns)
    return replace(layout, variables=replace(variables, columns=columns, words=words))


def _of(layout: Layout) -> Variables:
    assert layout.variables is not None
    return layout.variables


def _records(part: Part, layout: Layout) -> AbstractContextManager[Records]:
    reader = cast("_TableReader", reader_of(part.format))
    return reader.records(part, layout.written(part.style))


def _check_names(part: Part, records: Records, layout: Layout) -> None:
    variables = _of(layout)
    if not records.names:  # JSON without rows
        return
    check_columns(part.source, records.names, layout)
    check_distinct(part.source, "column", records.names, records.names)
    for name in (*variables.names, *variables.words.columns):
        if name not in records.names:
            raise missing(part.source, "column", name, records.names)


def _columns(part: Part, records: Records) -> Iterator[tuple[dict[str, Cells], Places]]:
    """Columns of some rows at a time, and where these stand."""
    for some in records.rows:
        columns: Iterator[Cells] = zip(*some.cells, strict=True)
        cells = dict(zip(records.names, columns, strict=True))
        yield cells, Places((part,), some.numbers)
