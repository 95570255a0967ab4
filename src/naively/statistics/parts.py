"""What class statistics are made of: arrays whose last axis is the classes.

A statistic declares each of its arrays as a `Part`: what its rows are, and in which way two of
them add and subtract. Everything that statistics have in common follows from these declarations
(`naively.statistics.base`).
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np

from naively._kernels.residue import RESIDUE
from naively._types import Array, IntArray
from naively.statistics.addition import checked_sum
from naively.statistics.sparse_table import DENSE_CELLS, SparseTable, settled

NOT_COUNTED = (
    "Only statistics of rows that were counted can be subtracted; the difference has negative "
    "counts, or counts without rows."
)
_STRIP = 1 << 18  # cells of a table treated at a time, so that temporaries stay small


@dataclass(frozen=True, slots=True)
class Way:
    """How an array of two statistics of the same classes and rows adds and subtracts."""

    added: Callable[[str, Any, Any], Any]  # (name of the array, first, second)
    taken: Callable[[str, Any, Any, Any], Any]  # (name, whole, part, what is known of the rest)
    wider: Callable[[Any, IntArray, int], Any]  # (array, new positions of its classes, classes)


@dataclass(frozen=True, slots=True)
class Keyed:
    """Rows that another field of the statistics numbers; keys of two statistics unite."""

    key: str  # the field
    united: Callable[[Array, Array], Array]
    places: Callable[[Array, Array], IntArray]  # rows of some keys among those of more keys
    size: Callable[[Array], int]
    of_columns: Callable[[Array, IntArray], IntArray] | None = None  # rows of some features
    sparse: bool = False  # rows of zeros are left out, and their keys


@dataclass(frozen=True, slots=True)
class Part:
    """An array of a statistic."""

    way: Way
    rows: Keyed | None = None  # None: one for each feature, or no such axis at all


def part(way: Way, rows: Keyed | None = None) -> Mapping[str, Part]:
    """Return the metadata that declares a field to be an array of the statistics."""
    return {"part": Part(way, rows)}


def wider(array: Array, positions: IntArray, n_classes: int) -> Array:
    """Return an array (..., C) with class c as class positions[c] of `n_classes`, else zeros."""
    shape = (*array.shape[:-1], n_classes)
    spread = np.zeros(shape, array.dtype, order="C" if array.flags.c_contiguous else "F")
    spread[..., positions] = array
    return spread


def _wider_table(table: Any, positions: IntArray, n_classes: int) -> Any:
    if isinstance(table, SparseTable):
        return table.spread(positions, n_classes)
    if len(table) * n_classes > DENSE_CELLS:
        return settled(SparseTable.from_dense(table).spread(positions, n_classes))
    return wider(table, positions, n_classes)


def some_rows(table: Any, rows: IntArray) -> Any:
    """Return some rows of an array, in the order given."""
    if isinstance(table, SparseTable):
        return table.take(rows)
    by_row = table.strides[0] >= table.strides[-1]
    return np.ascontiguousarray(table[rows]) if by_row else table.T[:, rows].T


def some_classes(array: Any, chosen: IntArray, *, copy: bool) -> Any:
    """Return some classes of an array (..., C), in the order given."""
    if isinstance(array, SparseTable):
        return array.of_classes(chosen)
    # Classes that stand side by side are copied many times faster.
    first, last = (chosen[0], chosen[-1]) if len(chosen) else (0, -1)
    adjacent = bool((np.diff(chosen) == 1).all())
    some = array[..., slice(first, last + 1) if adjacent else chosen]
    return some if not copy else np.array(some, order="C" if array.flags.c_contiguous else "F")


# -- counts: cells >= 0 --------------------------------------------------------------------------


def difference(whole: Any, part: Any) -> Any:
    """Return whole - part, both >= 0, with rounding residues as exact zeros.

    Raises
    ------
    ValueError
        If a cell becomes negative.
    """
    if isinstance(whole, SparseTable):
        return _sparse_difference(whole, part)
    rest = whole + -part if isinstance(part, SparseTable) else np.subtract(whole, part)
    cells, minuend = rest.reshape(-1), whole.reshape(-1)
    for start in range(0, cells.size, _STRIP):
        strip = slice(start, start + _STRIP)
        if cells.dtype.kind == "f":
            residue = np.abs(cells[strip]) <= RESIDUE * minuend[strip]
            cells[strip][residue] = 0.0
        if (cells[strip] < 0).any():
            raise ValueError(NOT_COUNTED)
    return rest


def _sparse_difference(whole: SparseTable, part: Array | SparseTable) -> SparseTable:
    part = part if isinstance(part, SparseTable) else SparseTable.from_dense(part)
    if not np.isin(part.cells, whole.cells, assume_unique=True).all():
        raise ValueError(NOT_COUNTED)
    taken = np.zeros(len(whole.values), dtype=np.result_type(whole.dtype, part.dtype))
    taken[np.searchsorted(whole.cells, part.cells)] = part.values
    return SparseTable.of(whole.shape, whole.cells, difference(whole.values, taken))


def _counts_added(name: str, first: Any, second: Any) -> Array:
    return checked_sum(getattr(first, name), getattr(second, name))


def _counts_taken(name: str, whole: Any, part: Any, rest: Any) -> Any:
    return difference(getattr(whole, name), getattr(part, name))


def _table_added(name: str, first: Any, second: Any) -> Any:
    one, two = getattr(first, name), getattr(second, name)
    if isinstance(one, SparseTable) or isinstance(two, SparseTable):
        return settled(one + two)  # checks the total itself
    return settled(checked_sum(one, two))


def _table_taken(name: str, whole: Any, part: Any, rest: Any) -> Any:
    return settled(_counts_taken(name, whole, part, rest))


def _if_any(way: Callable[..., Any]) -> Callable[..., Any]:
    def applied(name: str, whole: Any, *others: Any) -> Any:
        return None if getattr(whole, name) is None else way(name, whole, *others)

    return applied


COUNTS = Way(_counts_added, _counts_taken, wider)
MAYBE_COUNTS = Way(_if_any(_counts_added), _if_any(_counts_taken), wider)  # or None
TABLE = Way(_table_added, _table_taken, _wider_table)  # of counts; sparse where that is smaller
MAYBE_TABLE = Way(_if_any(_table_added), _if_any(_table_taken), _wider_table)  # or None


# -- rows that are not features ------------------------------------------------------------------


def _value_places(own: Array, values: Array) -> IntArray:
    places = np.searchsorted(values, own)
    if not np.array_equal(values[np.minimum(places, len(values) - 1)] if len(values) else [], own):
        raise ValueError(NOT_COUNTED)
    return np.asarray(places)


def starts_of(sizes: IntArray) -> IntArray:
    """Return where the rows of each feature start, if it has so many."""
    return np.cumsum(sizes) - sizes


def _category_places(own: IntArray, sizes: IntArray) -> IntArray:
    if (own > sizes).any():
        raise ValueError(NOT_COUNTED)
    return np.arange(own.sum()) + np.repeat(starts_of(sizes) - starts_of(own), own)


def _category_rows(sizes: IntArray, columns: IntArray) -> IntArray:
    taken = sizes[columns]
    return np.arange(taken.sum()) + np.repeat(starts_of(sizes)[columns] - starts_of(taken), taken)


def values_of(key: str) -> Keyed:
    """Rows that stand for values, ascending, of which only those that occur are kept."""
    return Keyed(key, np.union1d, _value_places, len, sparse=True)


def categories_of(key: str) -> Keyed:
    """Rows that stand for the categories of each feature, feature after feature."""
    return Keyed(key, np.maximum, _category_places, lambda sizes: int(sizes.sum()), _category_rows)
