"""Which columns of a table are variables of a model, and their cells as numbers, whatever the file.

    gaussian, poisson   a number
    bernoulli           a truth value (in CSV true or false), or a number: whether it is above 0
    categorical         anything single, spelled alike in all formats: a label of its column

What is missing is NaN: an empty cell, NA and NaN in CSV, null, NaN and an empty string elsewhere.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from decimal import Decimal
from numbers import Real
from typing import Any, Self, TypeAlias, final

import numpy as np

from naively._nearest import short
from naively._types import FloatArray, IntArray
from naively.read.batch import Places
from naively.read.cells import texts_of, tokens_of
from naively.read.errors import InputError
from naively.statistics.column_kinds import KINDS
from naively.statistics.matrix import Matrix
from naively.statistics.mixed_columns import MixedColumns
from naively.text.labels import label_text
from naively.text.table_words import TableWords

Cells: TypeAlias = Sequence[Any]  # (n,) a column, as Python has it

_ABSENT = ("", "na", "nan")  # of CSV, in any case
_TRUTH = {"true": 1.0, "false": 0.0}  # likewise
_ONLY_SPELLED = (int, float, str, bytes, Decimal, bool)


@final
@dataclass(frozen=True, slots=True)
class Variables:
    """The columns of a table that are variables.

    What was told is there from the start; what looking at the rows finds is None or empty before.
    """

    told: tuple[tuple[str, str], ...] = ()  # name of a column, and its kind
    words: TableWords = TableWords()  # the columns of text, and their words once they are known
    names: tuple[str, ...] = field(default=(), repr=False)  # of the other columns
    columns: MixedColumns | None = field(default=None, repr=False)  # kinds and categories of these

    def of_columns(self, source: str, names: Sequence[str]) -> Self:
        """Return the variables of a table with these columns, labels and the like left out.

        Raises
        ------
        InputError
            If a kind is unknown, a name that was told is not there, or no column is left.
        """
        for name, kind in self.told:
            if kind not in KINDS:
                raise InputError(
                    f"`--read kind` must give one of {', '.join(KINDS)} to column {short(name)}; "
                    f"got {short(kind)}."
                )
        asked = [(name, "--read kind") for name, _ in self.told]
        asked += [(name, "--text") for name in self.words.columns]
        for name, option in asked:
            if name not in names:
                raise InputError(
                    f"{source}: `{option}` must name columns of the table that are variables; got "
                    f"{short(name)}."
                )
        if repeated := [name for i, (name, _) in enumerate(asked) if (name, _) in asked[:i]]:
            raise InputError(f"{source}: column {short(repeated[0])} is named twice; once will do.")
        both = {name for name, _ in self.told} & set(self.words.columns)
        if both:
            raise InputError(
                f"{source}: the words of column {short(min(both))} are variables of their own; "
                "leave out --read kind for it, or --text."
            )
        left = tuple(name for name in names if name not in self.words.columns)
        if not names:
            raise InputError(f"{source}: there is no column beside the label; give more of them.")
        return replace(self, names=left)

    @property
    def all(self) -> MixedColumns:
        """Kinds, categories and names of all variables, the words after the other columns."""
        assert self.columns is not None
        return self.words.variables(self.columns)

    def take(self, chosen: IntArray) -> Self:
        """Return what is read for some variables, ascending: columns without a word are left."""
        assert self.columns is not None
        m = len(self.names)
        own = self.columns.take(chosen[chosen < m])
        return replace(
            self, told=(), names=own.names or (), columns=own,
            words=self.words.take(chosen[chosen >= m] - m),
        )  # fmt: skip

    def encoded(self, cells: Mapping[str, Cells], places: Places, *, written: bool) -> Matrix:
        """Return rows as numbers, (n, m): CSR if there are texts.

        Parameters
        ----------
        cells, places
            By name of the column, and where the rows stand.
        written
            Whether cells are text, as CSV has them.
        """
        assert self.columns is not None
        X = np.empty((len(places), len(self.names)))
        kinds = zip(self.names, self.columns.kinds, self.columns.labels, strict=True)
        for j, (name, kind, labels) in enumerate(kinds):
            if kind == "categorical":
                code = {label_text(label): float(i) for i, label in enumerate(labels)}
                spelled = spellings(cells[name], name, places, written=written)
                X[:, j] = [np.nan if each is None else code.get(each, np.nan) for each in spelled]
            else:
                X[:, j] = _numbers(cells[name], name, kind, places, written=written)
        return self.words.beside(X, self.texts(cells, places))

    def texts(self, cells: Mapping[str, Cells], places: Places) -> list[Any]:
        """Return the texts (n,) of each column of text."""
        read = tokens_of if self.words.features.analyzer == "tokens" else texts_of
        return [read(cells[name], name, places) for name in self.words.columns]


def what_is(cell: Any, *, written: bool) -> str:
    """Return "number", "truth", "text", or nothing for what is missing."""
    if not written:
        if cell is None or cell != cell or cell == "":
            return ""
        if isinstance(cell, bool):
            return "truth"
        return "number" if isinstance(cell, Real | Decimal) else "text"
    text = cell.strip().lower()
    if text in _ABSENT:
        return ""
    if text in _TRUTH:
        return "truth"
    try:
        float(text)
    except ValueError:
        return "text"
    return "number"


def kind_of(found: Iterable[str], *, written: bool) -> str:
    """Kind of a column in which so much was found: in CSV truth values and numbers do not mix."""
    found = set(found) - {""}
    if found == {"truth"}:
        return "bernoulli"
    if found <= {"number"} or (found == {"number", "truth"} and not written):
        return "gaussian"
    return "categorical"


def spellings(cells: Cells, name: str, places: Places, *, written: bool) -> list[str | None]:
    """Spell the categories (n,) of a column; None for what is missing.

    Raises
    ------
    InputError
        Naming the place of what is no single value.
    """
    if written:
        return [None if each.strip().lower() in _ABSENT else label_text(each) for each in cells]
    found = []
    for row, cell in enumerate(cells):
        if cell is not None and not isinstance(cell, _ONLY_SPELLED):
            raise InputError(
                f"{places.of(row)}: column `{short(name)}` holds a {type(cell).__name__}, and "
                "categories are strings, numbers or truth values; make one of it, or leave it out "
                f"with --read ignore='{short(name)}'."
            )
        found.append(label_text(float(cell) if isinstance(cell, Decimal) else cell))
    return found


def _numbers(cells: Cells, name: str, kind: str, places: Places, *, written: bool) -> FloatArray:
    """Return the numbers (n,) of a column that is not of categories."""
    values = np.empty(len(cells))
    for row, cell in enumerate(cells):
        found = what_is(cell, written=written)
        if found == "text" or (found == "truth" and written and kind != "bernoulli"):
            raise InputError(
                f"{places.of(row)}: the value of `{short(name)}` is {str(cell)[:50]!r}, and the "
                f"column is {kind}; mend it, or say --read kind='{short(name)}=categorical'."
            )
        if not found:
            values[row] = np.nan
        elif found == "truth" and written:
            values[row] = _TRUTH[cell.strip().lower()]
        else:
            values[row] = float(cell)
    wrong = np.isinf(values) | ((kind == "poisson") & (values < 0))
    if wrong.any():
        row = int(np.argmax(wrong))
        must = "finite" if np.isinf(values[row]) else "a count, which is never negative"
        raise InputError(
            f"{places.of(row)}: the value of `{short(name)}` must be {must}; got {values[row]:g}."
        )
    return np.where(np.isnan(values), np.nan, values > 0) if kind == "bernoulli" else values
