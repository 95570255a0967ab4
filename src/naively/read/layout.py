"""Where things stand in a file: the one record that says so."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field, replace
from typing import Literal

from naively._nearest import short
from naively.read.columns import Wanted
from naively.read.errors import InputError
from naively.read.formats import FORMATS
from naively.read.style import Style
from naively.read.variables import Variables


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
    group: str | None = None  # column of what rows belong to: an author, a donor, or a time
    key: str | None = None  # column that identifies a row
    # Column of the weights of the rows; the features say so.
    weight: str | None = field(default=None, repr=False)
    labels_file: str | None = None  # beside numbers: one label a line
    names_file: str | None = None  # beside a matrix: one column name a line
    own_names: bool = False  # those in a file go before those of `names_file`
    transpose: bool = False  # of numbers: rows are features
    ignore: tuple[str, ...] = ()  # columns of numbers to leave out
    layer: str | None = None  # of AnnData: "raw" or the name of a layer; None for X, or as wanted
    # Of a matrix of counts: sum that every row is scaled to, and ln(1 + value) after that.
    normalize: float | Literal["median"] | None = None  # median: of the sums, once they are known
    log1p: bool = False
    # Of AnnData: a column of obs that stands behind those of the matrix; the features say so.
    beside: str | None = field(default=None, repr=False)
    sheet: str | None = None  # of Excel; None: the only one that is not empty
    delimiter: str | None = None  # of CSV; None: a comma, a tab in .tsv, or what fits (`sniff`)
    quotes: bool = True  # of CSV; False: quotation marks are part of the text
    # Of CSV and Excel. False: columns are called 1, 2, ...; None: yes, unless it can be none.
    header: bool | None = None
    encoding: str | None = None  # of CSV and JSON Lines; None: UTF-8, or what fits
    skip: int = 0  # of CSV: lines before the first, as `Style` has them
    decimal: str = "."  # of CSV: what numbers have for a point, as `Style` has it
    wanted: Wanted | None = None  # columns of numbers to keep; None: all
    variables: Variables | None = None  # of a table with columns of several kinds; else None
    # Of numbers. (What is counted is told by the features, by which records are named.)
    missing: bool = field(default=False, repr=False)  # cells without a value are NaN, not refused
    text_way: str = field(default="", repr=False)  # out, where there is no column of text
    missing_way: str = field(default="", repr=False)  # out, where a value is missing: "add ..."

    def written(self, style: Style | None) -> Layout:
        """Return the layout of a file that is written so."""
        if style is None:
            return self
        return replace(
            self, encoding=style.encoding, delimiter=style.delimiter, skip=style.skip,
            decimal=style.decimal,
        )  # fmt: skip

    @property
    def headed(self) -> bool:
        """Whether the first row names the columns."""
        return self.header is not False

    @property
    def coding(self) -> str:
        """Encoding of a text file."""
        return self.encoding or "utf-8"

    @property
    def roles_way(self) -> str:
        """Way out where a column of a table of texts is not there."""
        roles = "of text and of labels with --text and --label" if self.needs_label else (
            "of text with --text" + " and of labels with --truth" * (self.label is not None)
        )  # fmt: skip
        return f" Name the columns {roles}{self.text_way}."

    @property
    def label_column(self) -> str | None:
        """Name of the column of labels in a table; None if no labels are to be read from it."""
        if self.labels_file or not (self.needs_label or self.label):
            return None
        return self.label or "label"


_TABLES = tuple(name for name, each in FORMATS.items() if each.holds == "table")
_MATRICES = tuple(name for name, each in FORMATS.items() if each.holds == "matrix")
LISTS = ("jsonl", "parquet")  # formats that can hold lists of strings
_COLUMNS = (*_TABLES, "npz", "h5ad")  # formats that can hold more than numbers
_TRANSPOSED = (*_TABLES, "npz", "mtx")
_EFFECTS = (  # option, field, formats in which it has an effect with texts, and with numbers
    ("--text", "text", _TABLES, ()),
    ("--words analyzer=tokens", "tokens", LISTS, ()),
    ("--label", "label", _TABLES, (*_COLUMNS, "svmlight")),
    ("--read split", "split", _TABLES, _COLUMNS),
    ("--read groups or --read time", "group", _TABLES, _COLUMNS),
    ("--read weight", "weight", _TABLES, _COLUMNS),
    ("--id", "key", _TABLES, _COLUMNS),
    ("--read labels", "labels_file", (), tuple(FORMATS)),
    ("--read names", "names_file", (), _MATRICES),
    ("--read transpose", "transpose", (), _TRANSPOSED),
    ("--read ignore", "ignore", (), tuple(FORMATS)),
    ("--read layer", "layer", (), ("h5ad",)),
    ("--read normalize", "normalize", (), _MATRICES),
    ("--read log1p", "log1p", (), _MATRICES),
    ("--read missing", "missing", (), tuple(FORMATS)),
    ("--read delimiter", "delimiter", ("csv", "tsv"), ("csv", "tsv")),
    ("--read quotes", "quotes", ("csv", "tsv"), ("csv", "tsv")),
    ("--read header", "header", ("csv", "tsv", "xlsx"), ("csv", "tsv", "xlsx")),
    ("--read sheet", "sheet", ("xlsx",), ("xlsx",)),
    ("--read encoding", "encoding", ("csv", "tsv", "jsonl"), ("csv", "tsv", "jsonl")),
)
_WRITTEN = (
    *("label", "names_file", "transpose", "layer"),
    *("delimiter", "quotes", "header", "encoding", "sheet"),
)


def of_format(layout: Layout, format: str) -> Layout:
    """Return the layout for a file of another format, for which not all options were meant.

    How the others are written says nothing of it, and columns that have names keep them.
    """
    idle = {field for _, field in _idle(layout, format)} & set(_WRITTEN)
    return replace(layout, own_names=True, **{field: getattr(_USUAL, field) for field in idle})


def _idle(layout: Layout, format: str) -> Iterator[tuple[str, str]]:
    """Options that were given and change nothing in a file of this format, and their fields."""
    holds = "texts" if layout.text else "numbers"
    for option, name, *formats in _EFFECTS:
        given = getattr(layout, name) != getattr(_USUAL, name)
        if given and format not in dict(zip(_HELD, formats, strict=True))[holds]:
            yield option, name


def check_effects(layout: Layout, format: str, source: str = "") -> None:
    """Refuse an option that would change nothing in a file of this format.

    Raises
    ------
    InputError
        Naming the option, and the formats in which it has an effect.
    """
    place = f"{source}: " if source else ""
    if layout.variables is not None and format not in _TABLES:
        raise InputError(
            f"{place}a mixed model reads tables with names of columns ({', '.join(_TABLES)}), and "
            f"{format} holds a matrix of one kind of numbers; give a table, or choose the model of "
            "that kind."
        )
    for option, _ in _idle(layout, format):
        (formats,) = (each for name, _, *each in _EFFECTS if name == option)
        both = zip(_HELD, formats, strict=True)
        known = [f"{held} in {', '.join(each)}" for held, each in both if each]
        raise InputError(
            f"{place}{option} has no effect on {'texts' if layout.text else 'numbers'} in "
            f"{format}, only on {' and '.join(known)}; leave it out."
        )


def check_roles(layout: Layout, label: str | None = None, source: str = "") -> None:
    """Refuse to take labels, splits or weights of a column that something else is taken of.

    Names of rows may be their groups, or their texts: nothing is learned from them.

    Parameters
    ----------
    layout
        Where things should stand.
    label
        The column of labels; that of the layout by default.

    Raises
    ------
    InputError
        Naming the column and both options.
    """
    place = f"{source}: " if source else ""
    alone = {"--label": label or layout.label_column}
    alone |= {"--read split": layout.split, "--read weight": layout.weight}
    others = [("--read groups or --read time", layout.group), ("--id", layout.key)]
    others += [("--text", name) for name in layout.text]
    for i, (option, name) in enumerate(alone.items()):
        for other, same in (*[*alone.items()][i + 1 :], *others):
            if name is not None and name == same:
                usual = " (by default)" if option == "--label" and layout.label is None else ""
                raise InputError(
                    f"{place}`{short(name)}` is the column of {option}{usual} and of {other}; "
                    "each needs one of its own: name another column, or leave one out."
                )


def check_scaling(layout: Layout) -> None:
    """Refuse what cannot go with rows that are scaled by their sums.

    Raises
    ------
    InputError
        If columns are left out, or values may be missing.
    """
    for name in ("ignore", "missing"):
        if layout.normalize is not None and getattr(layout, name):
            raise InputError(
                "`--read normalize` is by the sum of all columns and values; leave out --read "
                f"{name}."
            )


_HELD = ("texts", "numbers")
_USUAL = Layout()
