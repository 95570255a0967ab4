"""Equal columns of a class-count table, grouped: solve on few groups, expand to columns at the end.

Counts repeat. A table of n-gram counts with twelve million columns has some ten thousand distinct
pairs of counts, and a column's gain depends on its counts only. A selection of groups says how many
columns of each are taken; the columns meant are those of lowest index.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from typing import Protocol, TypeAlias, TypeVar

import numpy as np
from numba import get_num_threads
from numpy.typing import NDArray
from scipy import sparse

from naively._types import Array, BoolArray, IntArray
from naively.kernels.count_groups import (
    SIDE,
    count_pairs,
    label_pairs,
    number_equal_rows,
    take_numbered,
    take_pairs,
)

T = TypeVar("T")
R = TypeVar("R")
Matrix: TypeAlias = "Array | sparse.csr_array"

CHUNK = (
    1 << 20
)  # columns per unit of parallel work: fixed, so that results do not depend on threads
SMALL_SUM = 256  # larger columns of a table of many classes are not worth comparing


class Columns(Protocol):
    """The way back from groups to columns."""

    def take(self, label: IntArray, quota: IntArray) -> IntArray:
        """List the `quota[label]` columns of lowest index among all groups of each label.

        Parameters
        ----------
        label : (d,)
            Label of each group, 0, 1, ...
        quota : (number of labels,)
            How many columns of each label.

        Returns
        -------
        (sum of quota,) ascending column indices.
        """
        ...

    def labels(self, label: IntArray) -> IntArray:
        """Label of each column, from the label of each group: (m,)."""
        ...


@dataclass(frozen=True, slots=True)
class Groups:
    """Distinct columns of a (m, C) table of counts."""

    counts: Matrix  # (d, C) the distinct columns; sparse for integer counts of many classes
    size: IntArray  # (d,) how many columns are equal to each
    columns: Columns

    def expand(self, take: IntArray) -> IntArray:
        """Columns of a selection of `take[g]` columns of each group g, ascending."""
        return self.columns.take(np.arange(len(self.size)), take)

    def dense(self) -> Array:
        """Distinct columns as a plain array: (d, C)."""
        counts = self.counts
        return counts.toarray() if sparse.issparse(counts) else np.asarray(counts)

    @property
    def seen(self) -> BoolArray:
        """(d,) whether the columns have any count at all."""
        return np.asarray(self.counts.sum(axis=1) > 0).ravel()


def count_groups(table: Array, *, by_column: bool = False) -> Groups:
    """Group equal columns of a class-count table.

    Parameters
    ----------
    table : (m, C)
        Counts, int64 or float64. Real numbers are not grouped, whole numbers are.
    by_column : bool
        Keep every column a group of its own, because columns differ in more than their counts.
    """
    if by_column:
        return _singles(table)
    if table.shape[1] == 2:
        return _group_pairs(table) or _singles(table)
    if table.dtype.kind in "iu" or _is_whole(table):
        return _group_rows(table)
    return _singles(table)


# --- every column its own group ---------------------------------------------------------------


@dataclass(frozen=True, slots=True)
class SingleColumns:
    """Group g is column g."""

    def take(self, label: IntArray, quota: IntArray) -> IntArray:
        """See `Columns`."""
        out = np.empty(int(quota.sum()), dtype=np.int64)
        take_numbered(np.arange(len(label)), label, quota.copy(), out)
        return out

    def labels(self, label: IntArray) -> IntArray:
        """See `Columns`."""
        return label


def _singles(table: Array) -> Groups:
    counts: Matrix = table
    if table.dtype.kind in "iu":
        counts = (
            sparse.csr_array(table.astype(np.float64))
            if table.shape[1] > 2
            else table.astype(np.float64)
        )
    return Groups(counts, np.ones(len(table), dtype=np.int64), SingleColumns())


# --- two classes: a direct table of small counts ------------------------------------------------


@dataclass(frozen=True, slots=True)
class PairColumns:
    """Groups of a two-class table: cells of the direct table, then columns kept individually."""

    table: Array  # (m, 2)
    cells: IntArray  # (p,) the cells that occur
    per_chunk: IntArray  # (chunks, p) how often, in each chunk of columns
    rest: tuple[IntArray, ...]  # per chunk: columns without a cell, ascending

    def take(self, label: IntArray, quota: IntArray) -> IntArray:
        """See `Columns`."""
        label_of_cell, rest_label = self._lookup(label)
        quotas = self._quotas(label, rest_label, quota)
        ends = np.cumsum(quotas.sum(axis=1))
        out = np.empty(int(ends[-1]), dtype=np.int64)

        def run(t: int) -> None:
            if quotas[t].any():
                part = out[ends[t] - quotas[t].sum() : ends[t]]
                begin, end = _chunk(t, len(self.table))
                take_pairs(
                    self.table, begin, end, label_of_cell, rest_label[t], quotas[t].copy(), part
                )

        _in_threads(run, range(len(self.rest)))
        return out

    def labels(self, label: IntArray) -> IntArray:
        """See `Columns`."""
        label_of_cell, rest_label = self._lookup(label)
        out = np.empty(len(self.table), dtype=np.int64)

        def run(t: int) -> None:
            begin, end = _chunk(t, len(self.table))
            label_pairs(self.table, begin, end, label_of_cell, rest_label[t], out[begin:end])

        _in_threads(run, range(len(self.rest)))
        return out

    def _lookup(self, label: IntArray) -> tuple[IntArray, list[IntArray]]:
        """Label of each cell, -1 for none, and per chunk those of the columns without a cell."""
        label_of_cell = np.full(SIDE * SIDE, -1, dtype=np.int64)
        label_of_cell[self.cells] = label[: len(self.cells)]
        starts = len(self.cells) + np.cumsum([0, *(len(r) for r in self.rest)])
        return label_of_cell, [label[starts[t] : starts[t + 1]] for t in range(len(self.rest))]

    def _quotas(self, label: IntArray, rest_label: list[IntArray], quota: IntArray) -> IntArray:
        """How many columns of each label come from each chunk: the earlier chunks first."""
        quotas = np.empty((len(self.rest), len(quota)), dtype=np.int64)
        left = quota.copy()
        for t, of_rest in enumerate(rest_label):
            here = np.bincount(of_rest, minlength=len(quota))
            np.add.at(here, label[: len(self.cells)], self.per_chunk[t])
            quotas[t] = np.minimum(here, left)
            left -= quotas[t]
        return quotas


def _chunk(t: int, m: int) -> tuple[int, int]:
    return t * CHUNK, min((t + 1) * CHUNK, m)


def _group_pairs(table: Array) -> Groups | None:
    """Group the columns of a two-class table; None if too many are large or fractional."""
    m = len(table)
    n_chunks = max(1, -(-m // CHUNK))
    cells = np.zeros((n_chunks, SIDE * SIDE), dtype=np.int64)

    def run(t: int) -> IntArray | None:
        begin, end = _chunk(t, m)
        rest = np.empty((end - begin) // 4 + 1024, dtype=np.int64)
        n_rest = count_pairs(table, begin, end, cells[t], rest)
        return rest[:n_rest].copy() if n_rest >= 0 else None

    rest = _in_threads(run, range(n_chunks))
    if any(part is None for part in rest):
        return None
    occurring = np.flatnonzero(cells.sum(axis=0))
    per_chunk = cells[:, occurring]
    individual = np.concatenate([part for part in rest if part is not None])
    pairs = np.column_stack([occurring // SIDE, occurring % SIDE])
    counts = np.concatenate([pairs, table[individual]]).astype(np.float64)
    size = np.concatenate([per_chunk.sum(axis=0), np.ones(len(individual), dtype=np.int64)])
    columns = PairColumns(
        table, occurring, per_chunk, tuple(part for part in rest if part is not None)
    )
    return Groups(counts, size, columns)


def _in_threads(run: Callable[[T], R], items: Iterable[T]) -> list[R]:
    items = list(items)
    if len(items) == 1 or get_num_threads() == 1:
        return [run(item) for item in items]
    with ThreadPoolExecutor(get_num_threads()) as pool:
        return list(pool.map(run, items))


# --- many classes: a hash table of short count vectors --------------------------------------------


@dataclass(frozen=True, slots=True)
class NumberedColumns:
    """Groups by a number for each column."""

    number: NDArray[np.int32]  # (m,) group of each column

    def take(self, label: IntArray, quota: IntArray) -> IntArray:
        """See `Columns`."""
        out = np.empty(int(quota.sum()), dtype=np.int64)
        take_numbered(self.number, label, quota.copy(), out)
        return out

    def labels(self, label: IntArray) -> IntArray:
        """See `Columns`."""
        return label[self.number]


def _is_whole(table: Array) -> bool:
    return all(bool(np.all(np.mod(part, 1.0) == 0)) for part in np.array_split(table, 16))


def _group_rows(table: Array) -> Groups:
    m = len(table)
    slots = np.full(1 << max(4, int(2 * m).bit_length()), -1, dtype=np.int32)
    number = np.empty(m, dtype=np.int32)
    d = number_equal_rows(table, SMALL_SUM, slots, number)
    first = np.empty(d, dtype=np.int64)
    first[number[::-1]] = np.arange(m - 1, -1, -1)
    counts = sparse.csr_array(table[first].astype(np.float64))
    return Groups(counts, np.bincount(number, minlength=d), NumberedColumns(number))
