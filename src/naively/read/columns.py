"""What the columns of a matrix are called, and which of them are kept."""

from __future__ import annotations

from collections.abc import Collection, Sequence
from dataclasses import dataclass
from fnmatch import fnmatchcase
from typing import overload

import numpy as np

from naively._nearest import nearest
from naively._types import IntArray
from naively.read.errors import InputError, check_distinct, missing


@dataclass(frozen=True, slots=True)
class Numbered(Sequence[str]):
    """Names of columns that have none: their numbers, spelled out only where one is asked for.

    A file of a few bytes may have more columns than there is memory for their names.
    """

    columns: range

    def __len__(self) -> int:
        return len(self.columns)

    @overload
    def __getitem__(self, index: int) -> str: ...

    @overload
    def __getitem__(self, index: slice) -> Numbered: ...

    def __getitem__(self, index: int | slice) -> str | Numbered:
        if isinstance(index, slice):
            return Numbered(self.columns[index])
        return str(self.columns[index])

    def index(self, name: str, *_bounds: int) -> int:
        """Position of a name, or ValueError."""
        position = self.columns.index(int(name))
        if self[position] != name:
            raise ValueError(name)
        return position


@dataclass(frozen=True, slots=True)
class Wanted:
    """Columns to keep, in this order: by name, or by position if those wanted have no names."""

    width: int  # columns of the data that they were chosen from
    names: Sequence[str] | None = None  # (k,) of those to keep; None: they had no names
    columns: IntArray | None = None  # (k,) their positions among the `width`; None: all
    first_column: int = 1  # number that svmlight files give the first column: 0 or 1
    owner: str = "the model"  # who wants them, in messages
    layer: str | None = None  # of AnnData, in which they stood: None for X, "raw" or a layer
    way: str = "give them with --read names=FILE, one a line"  # out, where a file has no names
    chosen: tuple[str, ...] = ()  # of the names: the features of a model; (): nobody chose
    why: str = ""  # others are needed, too
    whole: bool = False  # all the `width` columns are needed, of which names of some are known

    def lack(self, lost: Collection[str]) -> str:
        """Say how many of the features of a model are lost."""
        if not self.chosen:
            return ""
        n = len(set(self.chosen) & set(lost))
        return f" ({n:,} of its {len(self.chosen):,} features{self.why})"


@dataclass(frozen=True, slots=True)
class Columns:
    """The columns of a matrix."""

    names: Sequence[str]  # `Numbered` where the file has no names
    first_column: int = 1  # number that the file gives the first column: 0 or 1
    sure: bool = True  # False: no row told whether the first column of the table names the rows

    @property
    def n(self) -> int:
        """Number of columns."""
        return len(self.names)

    @property
    def named(self) -> bool:
        """Whether the file has names for them."""
        return not isinstance(self.names, Numbered)

    def wanted(self, owner: str = "the model") -> Wanted:
        """Ask another file for the same columns."""
        names = self.names if self.named else None
        way = "give files that all name their columns, or none that does"
        return Wanted(self.n, names, None, self.first_column, owner, way=way)

    def take(self, kept: IntArray | None) -> Columns:
        """Return some of them; those without names keep their numbers."""
        if kept is None:
            return self
        return Columns([self.names[j] for j in kept.tolist()], self.first_column)


def numbered(n: int, first: int = 0) -> Columns:
    """Columns that have no names."""
    return Columns(Numbered(range(first, first + n)), first)


def kept_columns(
    source: str,
    columns: Columns,
    ignore: Sequence[str],
    wanted: Wanted | None,
    what: str = "column",
    beside: Collection[str] = (),
) -> IntArray | None:
    """Return the positions of the columns to keep, in their order; None for all as they are.

    Those to ignore may be patterns, and names of what stands `beside` the columns.

    Raises
    ------
    InputError
        If a name stands twice, one to ignore or one that is wanted is not there, or columns
        wanted by name have none.
    """
    if columns.named:
        check_distinct(source, what, columns.names, columns.names)
    left_out = ignored(source, columns.names, ignore, what, beside)
    kept = np.delete(np.arange(columns.n), left_out) if left_out else None
    if wanted is None:
        return kept
    if wanted.names is not None:
        if not columns.named:
            raise InputError(
                f"{source}: its {what}s have no names, by which {wanted.owner} knows them; "
                f"{wanted.way}."
            )
        return _by_name(source, columns.take(kept), kept, wanted, what)
    n = columns.n if kept is None else len(kept)
    if n != wanted.width:
        raise InputError(
            f"{source}: has {n:,} {what}s, {wanted.owner} was trained on {wanted.width:,}; "
            "give the same columns in the same order."
        )
    if wanted.columns is None:
        return kept
    return wanted.columns if kept is None else kept[wanted.columns]


def ignored(
    source: str,
    names: Sequence[str],
    ignore: Sequence[str],
    what: str = "column",
    beside: Collection[str] = (),
) -> list[int]:
    """Return the positions of what names and patterns of the shell say.

    Raises
    ------
    InputError
        If one says nothing.
    """
    found = list[int]()
    for pattern in ignore:
        try:
            own = [names.index(pattern)]
        except ValueError:
            some = [] if isinstance(names, Numbered) else names
            own = [j for j, name in enumerate(some) if fnmatchcase(name, pattern)]
        if not own and not any(fnmatchcase(name, pattern) for name in beside):
            raise missing(source, what, pattern, names[: 1 << 20])
        found += own
    return sorted(set(found))


def _by_name(
    source: str, columns: Columns, kept: IntArray | None, wanted: Wanted, what: str
) -> IntArray | None:
    names = wanted.names or ()
    position = {name: j for j, name in enumerate(columns.names)}
    lost = [name for name in names if name not in position]
    if lost:
        others = f" and {len(lost) - 1:,} more" if len(lost) > 1 else ""
        lack = wanted.lack(lost) if len(lost) < len(names) else ""
        rows = " If the rows are features, add --read transpose." if len(lost) == len(names) else ""
        raise InputError(
            f"{source}: {wanted.owner} needs the {what} `{lost[0]}`{others}{lack}, which "
            f"{'are' if others else 'is'} not here; {nearest(lost[0], columns.names)}{rows}"
        )
    if wanted.whole and columns.n < wanted.width:
        raise InputError(
            f"{source}: has {columns.n:,} {what}s, {wanted.owner} was trained on {wanted.width:,}, "
            "and scales rows by the sum of all of them; give a file that has all."
        )
    found = np.array([position[name] for name in names], dtype=np.int64)
    if kept is None and np.array_equal(found, np.arange(columns.n)):
        return None
    return found if kept is None else kept[found]
