"""Where things stand in a file: the one record that says so."""

from __future__ import annotations

from dataclasses import dataclass

from naively.read.columns import Wanted
from naively.read.errors import InputError
from naively.read.formats import FORMATS


@dataclass(frozen=True, slots=True)
class Layout:
    """Where things stand in a file. A name that is None has its default, or is not wanted."""

    format: str | None = None  # one of FORMATS; None: by the name of the file
    text: tuple[str, ...] = ()  # columns of text; empty: the file holds numbers
    tokens: bool = False  # the columns of text hold lists of strings
    label: str | None = None  # column of labels; None: `label`, or `y` where only that is there
    needs_label: bool = (
        True  # False: labels are read only where `label` or `labels_file` names them
    )
    split: str | None = None  # column that says train or test
    key: str | None = None  # column that identifies a row
    labels_file: str | None = None  # beside numbers: one label a line
    names_file: str | None = None  # beside a matrix: one column name a line
    transpose: bool = False  # of numbers: rows are features
    ignore: tuple[str, ...] = ()  # columns of numbers to leave out
    layer: str | None = None  # of AnnData: None for X, "raw", or the name of a layer
    delimiter: str | None = None  # of CSV; None: a comma, or a tab in .tsv
    quotes: bool = True  # of CSV; False: quotation marks are part of the text
    header: bool = True  # of CSV; False: columns are called 1, 2, ...
    encoding: str = "utf-8"  # of CSV and JSON Lines
    wanted: Wanted | None = None  # columns of numbers to keep; None: all

    @property
    def label_column(self) -> str | None:
        """Name of the column of labels in a table; None if no labels are to be read from it."""
        if self.labels_file or not (self.needs_label or self.label):
            return None
        return self.label or "label"


_TABLES = tuple(name for name, each in FORMATS.items() if each.holds == "table")
_MATRICES = tuple(name for name, each in FORMATS.items() if each.holds == "matrix")
_COLUMNS = (*_TABLES, "npz", "h5ad")  # formats that can hold more than numbers
_TRANSPOSED = (*_TABLES, "npz", "mtx")
_EFFECTS = (  # option, field, formats in which it has an effect with texts, and with numbers
    ("--text", "text", _TABLES, ()),
    ("--analyzer tokens", "tokens", ("jsonl", "parquet"), ()),
    ("--label", "label", _TABLES, (*_COLUMNS, "svmlight")),
    ("--split-column", "split", _TABLES, _COLUMNS),
    ("--id", "key", _TABLES, _COLUMNS),
    ("--labels", "labels_file", (), tuple(FORMATS)),
    ("--names", "names_file", (), _MATRICES),
    ("--transpose", "transpose", (), _TRANSPOSED),
    ("--ignore", "ignore", (), tuple(FORMATS)),
    ("--layer", "layer", (), ("h5ad",)),
    ("--delimiter", "delimiter", ("csv", "tsv"), ("csv", "tsv")),
    ("--no-quotes", "quotes", ("csv", "tsv"), ("csv", "tsv")),
    ("--no-header", "header", ("csv", "tsv"), ("csv", "tsv")),
    ("--encoding", "encoding", ("csv", "tsv", "jsonl"), ("csv", "tsv", "jsonl")),
)


def check_effects(layout: Layout, format: str, source: str = "") -> None:
    """Refuse an option that would change nothing in a file of this format.

    Raises
    ------
    InputError
        Naming the option, and the formats in which it has an effect.
    """
    place = f"{source}: " if source else ""
    for option, field, *formats in _EFFECTS:
        if getattr(layout, field) == getattr(_USUAL, field):
            continue
        kinds = dict(zip(("texts", "numbers"), formats, strict=True))
        if format in kinds["texts" if layout.text else "numbers"]:
            continue
        known = [f"{kind} in {', '.join(each)}" for kind, each in kinds.items() if each]
        raise InputError(
            f"{place}{option} has no effect on {'texts' if layout.text else 'numbers'} in "
            f"{format}, only on {' and '.join(known)}; leave it out."
        )


_USUAL = Layout()
