"""Rows of a file of any kind, as documents or as a matrix, with label and part of each."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import TypeAlias, overload

from naively.io.errors import InputError
from naively.io.files import Fingerprint, fingerprint
from naively.io.formats import TABLE_FORMATS, Source, format_of, name_of
from naively.io.matrices import Matrix, read_labels, read_matrix, read_names
from naively.io.models import Model
from naively.io.numbers import NumberTable, read_number_table
from naively.io.progress import Progress, silent
from naively.io.tables import (
    Columns,
    TableStyle,
    labels_of,
    read_columns,
    texts_of,
)
from naively.text.labels import label_text

Documents: TypeAlias = list[tuple[str, ...]]


@dataclass(frozen=True, slots=True)
class Layout:
    """Where things stand in a file. A name that is None has its default, or is not wanted."""

    format: str | None = None  # one of FORMATS; None: by the name of the file
    text: tuple[str, ...] = ()  # columns of text
    label: str | None = None  # column (or array of an .npz file) with the label
    split: str | None = None  # column (or array) that says train or test
    key: str | None = None  # column that identifies a row, copied to predictions
    labels_file: str | None = None  # for a matrix: one label a line
    names_file: str | None = None  # for a matrix: one column name a line
    tokens: bool = False  # the columns of text hold lists of strings
    numbers: bool = False  # a table holds numbers, not text
    transpose: bool = False  # of a table of numbers: rows are features
    ignore: tuple[str, ...] = ()  # columns of a table of numbers to leave out
    style: TableStyle = TableStyle()


@dataclass(frozen=True, slots=True)
class Samples:
    """The rows of one file. Exactly one of `documents` and `matrix` is there."""

    file: Fingerprint
    documents: Documents | None = None
    matrix: Matrix | None = None
    labels: list[str] | None = None
    split: list[str] | None = None
    keys: list[str] | None = None
    selected: bool = False  # the matrix has the columns of the model only, in its order

    def __len__(self) -> int:
        """Count the rows."""
        if self.documents is not None:
            return len(self.documents)
        return 0 if self.matrix is None else int(self.matrix.X.shape[0])


@dataclass(frozen=True, slots=True)
class Numbered(Sequence[str]):
    """Names of columns that have none: their numbers, spelled out only where one is asked for.

    A file of a few bytes may have more columns than there is memory for their names.
    """

    columns: range

    def __len__(self) -> int:
        """Count the columns."""
        return len(self.columns)

    @overload
    def __getitem__(self, index: int) -> str: ...

    @overload
    def __getitem__(self, index: slice) -> Numbered: ...

    def __getitem__(self, index: int | slice) -> str | Numbered:
        """Name one column, or some."""
        if isinstance(index, slice):
            return Numbered(self.columns[index])
        return str(self.columns[index])


def is_text(source: Source, layout: Layout) -> bool:
    """Whether a file holds texts (a table) rather than numbers (a matrix, a table of numbers).

    Raises
    ------
    InputError
        If its name does not tell.
    """
    return format_of(source, layout.format) in TABLE_FORMATS and not layout.numbers


def read_samples(source: Source, layout: Layout, progress: Progress = silent) -> Samples:
    """Read the rows of a file with their labels, for training or testing.

    Raises
    ------
    InputError
        Naming the file and the place in it, if it cannot be read or labels are missing.
    """
    if is_text(source, layout):
        return _read_table(source, layout, progress)
    matrix = _read_numbers(source, layout, progress)
    if layout.split and matrix.split is None:
        raise InputError(
            f"{matrix.source}: --split-column needs a table, or a file with a column or array "
            f"`{layout.split}`; give the test rows with --test instead."
        )
    labels = _matrix_labels(matrix, layout)
    names = _matrix_names(matrix, layout)
    matrix = Matrix(matrix.source, matrix.X, labels, names, matrix.split, matrix.first_column)
    return Samples(fingerprint(source), None, matrix, labels, matrix.split)


def read_unlabelled(
    source: Source, layout: Layout, model: Model, progress: Progress = silent
) -> Samples:
    """Read the rows of a file as a model needs them; labels only where the layout names them.

    Raises
    ------
    InputError
        If the file cannot be read, or is not of the kind the model was trained on.
    """
    layout = replace(layout, numbers=layout.numbers or model.text is None)
    text = is_text(source, layout)
    if text != (model.text is not None):
        raise InputError(
            f"{name_of(source)}: the model was trained on {'a matrix' if text else 'text'}, "
            f"this file holds {'text' if text else 'a matrix'}; give a file like the one of "
            "training."
        )
    if model.text is not None:
        layout = replace(layout, tokens=model.text.analyzer == "tokens")
        return _read_table(source, layout, progress)
    wanted = layout.label or layout.labels_file
    if format_of(source, layout.format) in TABLE_FORMATS:
        matrix = _read_numbers(source, layout, progress, model.names)
        labels = _matrix_labels(matrix, layout) if wanted else None
        return Samples(fingerprint(source), None, matrix, labels, selected=True)
    matrix = read_matrix(
        source,
        format=layout.format,
        label=layout.label or "y",
        n_columns=model.n_features,
        first_column=model.first_column,
    )
    return Samples(
        fingerprint(source), None, matrix, _matrix_labels(matrix, layout) if wanted else None
    )


def _read_numbers(
    source: Source, layout: Layout, progress: Progress, wanted: tuple[str, ...] | None = None
) -> Matrix:
    if format_of(source, layout.format) not in TABLE_FORMATS:
        label = layout.label or "y"
        return read_matrix(source, format=layout.format, label=label, split=layout.split)
    # In training the labels must stand somewhere; in prediction only where they are asked for.
    usual = "label" if wanted is None and not layout.labels_file else None
    table = NumberTable(
        label=layout.label or usual,
        split=layout.split,
        transpose=layout.transpose,
        ignore=layout.ignore,
        wanted=wanted,
    )
    return read_number_table(
        source, table, format=layout.format, style=layout.style, progress=progress
    )


def _read_table(source: Source, layout: Layout, progress: Progress) -> Samples:
    if layout.labels_file or layout.names_file:
        option = "--names" if layout.names_file else "--labels or --test-labels"
        raise InputError(
            f"{name_of(source)}: {option} belong to a matrix, and this is a table; name its "
            "columns with --label and --text."
        )
    wanted = [*layout.text, *(n for n in (layout.label, layout.split, layout.key) if n)]
    columns = read_columns(
        source, wanted, format=layout.format, style=layout.style, progress=progress
    )
    return Samples(
        fingerprint(source),
        texts_of(columns, layout.text, tokens=layout.tokens),
        labels=labels_of(columns, layout.label) if layout.label else None,
        split=labels_of(columns, layout.split) if layout.split else None,
        keys=_keys(columns, layout.key) if layout.key else None,
    )


def _keys(columns: Columns, name: str) -> list[str]:
    try:
        return [label_text(value) or "" for value in columns.column(name)]
    except TypeError as error:
        raise InputError(f"{columns.source}: column `{name}` holds {error}, not a key.") from error


def _matrix_labels(matrix: Matrix, layout: Layout) -> list[str]:
    if layout.labels_file:
        return read_labels(layout.labels_file, matrix.X.shape[0], matrix.source)
    if matrix.labels is None:
        raise InputError(
            f"{matrix.source}: holds no labels; give them, one a line, with --labels FILE "
            "(an .npz file may hold them as an array, an .h5ad file as a column of obs: name it "
            "with --label)."
        )
    return matrix.labels


def _matrix_names(matrix: Matrix, layout: Layout) -> Sequence[str]:
    columns = matrix.X.shape[1]
    if layout.names_file:
        return read_names(layout.names_file, columns, matrix.source)
    first = matrix.first_column
    return matrix.names or Numbered(range(first, first + columns))
