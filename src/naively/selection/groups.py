"""Equal columns of a class-count table, grouped: solve on few groups, expand to columns at the end.

Counts repeat. A table of n-gram counts with twelve million columns has some ten thousand distinct
pairs of counts, and a column's gain depends on its counts only. A selection of groups says how many
columns of each are taken; the columns meant are those of lowest index.
"""

from __future__ import annotations

from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from typing import Protocol, TypeAlias, TypeVar

import numpy as np
from numba import get_num_threads
from numpy.typing import NDArray
from scipy import sparse

from naively._kernels.compiled import read_only
from naively._kernels.count_groups import (
    SIDE,
    count_pairs,
    groups_of_pairs,
    label_pairs,
    nonzeros_of_rows,
    number_equal_rows,
    number_equal_sparse_rows,
    take_labelled,
    take_pairs,
)
from naively._types import Array, BoolArray, FloatArray, IntArray
from naively.statistics.sparse_table import SparseTable

R = TypeVar("R")
Matrix: TypeAlias = "Array | sparse.csr_array"

CHUNK = (
    1 << 20
)  # columns per unit of parallel work: fixed, so that results do not depend on threads
_REPEATED = 4  # columns to a group, on average, where they are worth listing
PROBE = 4096  # columns looked at before grouping is tried
SMALL_SUM = 256  # larger columns of a table of many classes are not worth comparing


class Columns(Protocol):
    """The way back from groups to columns."""

    def take(self, label: IntArray, quota: IntArray) -> tuple[IntArray, IntArray]:
        """List the `quota[label]` columns of lowest index among all groups of each label.

        Parameters
        ----------
        label : (d,)
            Label of each group, 0, 1, ...
        quota : (number of labels,)
            How many columns of each label.

        Returns
        -------
        columns : (sum of quota,) ascending
        groups : (sum of quota,) the group of each
        """
        ...

    def labels(self, label: IntArray) -> IntArray:
        """Label of each column, from the label of each group: (m,)."""
        ...

    def groups(self, columns: IntArray) -> IntArray:
        """Group of each of some columns, ascending: (n,)."""
        ...


@dataclass(frozen=True, slots=True)
class Groups:
    """Distinct columns of a (m, C) table of counts."""

    counts: Matrix  # (d, C) the distinct columns; sparse for integer counts of many classes
    size: IntArray  # (d,) how many columns are equal to each
    columns: Columns

    def expand(self, take: IntArray) -> tuple[IntArray, IntArray]:
        """Columns of a selection of `take[g]` columns of each group g, ascending; their groups."""
        if isinstance(self.columns, SingleColumns):
            columns = np.flatnonzero(take)
            return columns, columns
        return self.columns.take(np.arange(len(self.size)), take)

    def dense(self) -> Array:
        """Distinct columns as a plain array: (d, C)."""
        counts = self.counts
        return counts.toarray() if sparse.issparse(counts) else np.asarray(counts)

    @property
    def repeat(self) -> bool:
        """Whether there are so few that a pass over all columns takes longer than one over them."""
        return _REPEATED * len(self.size) < int(self.size.sum())

    @property
    def seen(self) -> BoolArray:
        """(d,) whether the columns have any count at all."""
        return np.asarray(self.counts.sum(axis=1) > 0).ravel()


def count_groups(table: Array | SparseTable, *, by_column: bool = False) -> Groups:
    """Group equal columns of a class-count table.

    Parameters
    ----------
    table : (m, C)
        Counts, int64 or float64. Real numbers are not grouped; whole numbers are, also if those of
        a class are all multiplied by its weight.
    by_column : bool
        Keep every column a group of its own, because columns differ in more than their counts.
    """
    if isinstance(table, SparseTable):
        return (
            Groups(table.tocsr(), np.ones(len(table), dtype=np.int64), SingleColumns())
            if by_column
            else _group_sparse(table)
        )
    if by_column:
        return single_columns(table)
    weights = _class_weights(table)
    if weights is None:
        return single_columns(table)
    if table.shape[1] == 2:
        return _group_pairs(table, weights) or single_columns(table)
    if (weights != 1).any() or _is_whole(table):
        return _group_rows(table, weights)
    return single_columns(table)


def _class_weights(table: Array) -> FloatArray | None:
    """Weights (C,) of which the counts looked at are multiples; None if they are real numbers.

    Counts of 1 are what occurs most: the weight of a class is its smallest count.
    """
    ones = np.ones(table.shape[1])
    probe = table[:: max(1, len(table) // PROBE)]
    if table.dtype.kind in "iu":
        return ones
    fractions = np.count_nonzero(np.any(np.mod(probe, 1.0) != 0, axis=1))
    if fractions:
        smallest = np.where(probe > 0, probe, np.inf).min(axis=0)
        weights = np.where(np.isfinite(smallest), smallest, ones)
        if (np.rint(probe / weights) * weights == probe).all():
            return weights
    return ones if fractions <= len(probe) // 4 + 16 else None


# --- every column its own group ---------------------------------------------------------------


@dataclass(frozen=True, slots=True)
class SingleColumns:
    """Group g is column g."""

    def take(self, label: IntArray, quota: IntArray) -> tuple[IntArray, IntArray]:
        """See `Columns`."""
        columns = lowest(label, quota)
        return columns, columns

    def labels(self, label: IntArray) -> IntArray:
        """See `Columns`."""
        return label

    def groups(self, columns: IntArray) -> IntArray:
        """See `Columns`."""
        return columns


def single_columns(table: Array) -> Groups:
    """Make each column a group; a table of real numbers is not copied."""
    counts: Matrix = table
    if table.dtype.kind in "iu":
        many = table.shape[1] > 2
        counts = _compressed_rows(table, np.arange(len(table))) if many else table.astype(float)
    ones = np.broadcast_to(np.int64(1), len(table))  # not one number in memory for each column
    return Groups(counts, ones, SingleColumns())


def _compressed_rows(table: Array, rows: IntArray) -> sparse.csr_array:
    """Return some rows of the table as a sparse matrix, without a dense copy in between."""
    indptr = np.empty(len(rows) + 1, dtype=np.int64)
    table = read_only(table)
    indices, data = np.empty(0, dtype=np.int32), np.empty(0)
    nonzeros_of_rows(table, rows, indptr, indices, data)
    indices, data = np.empty(indptr[-1], dtype=np.int32), np.empty(indptr[-1])
    nonzeros_of_rows(table, rows, indptr, indices, data)
    return sparse.csr_array((data, indices, indptr), shape=(len(rows), table.shape[1]))


# --- some columns left out ---------------------------------------------------------------------


@dataclass(frozen=True, slots=True)
class OtherColumns:
    """Groups of all columns but some; columns are numbered without these."""

    inner: Columns
    out: IntArray  # (s,) columns that are left out, ascending
    group: IntArray  # (s,) their groups

    def take(self, label: IntArray, quota: IntArray) -> tuple[IntArray, IntArray]:
        """See `Columns`."""
        # As many more of each label as are left out of it: then enough are left.
        more = np.bincount(label[self.group], minlength=len(quota)) * (quota > 0)
        columns, groups = self.inner.take(label, quota + more)
        place = np.searchsorted(self.out, columns)
        kept = np.append(self.out, -1)[place] != columns
        columns, groups = (columns - place)[kept], groups[kept]
        first = lowest(label[groups], quota)
        return columns[first], groups[first]

    def labels(self, label: IntArray) -> IntArray:
        """See `Columns`."""
        return np.delete(self.inner.labels(label), self.out)

    def groups(self, columns: IntArray) -> IntArray:
        """See `Columns`."""
        return self.inner.groups(others_at(self.out, columns))


def others_at(out: IntArray, positions: IntArray) -> IntArray:
    """Return numbers at some positions among those that are not `out`, which are ascending."""
    return positions + np.searchsorted(out - np.arange(len(out)), positions, side="right")


def without(groups: Groups, out: IntArray) -> Groups:
    """Leave some columns, ascending, out of groups of all."""
    group = groups.columns.groups(out)
    size = groups.size - np.bincount(group, minlength=len(groups.size))
    return Groups(groups.counts, size, OtherColumns(groups.columns, out, group))


# --- two classes: a direct table of small counts ------------------------------------------------


@dataclass(frozen=True, slots=True)
class PairColumns:
    """Groups of a two-class table: cells of the direct table, then columns kept individually."""

    table: Array  # (m, 2)
    cells: IntArray  # (p,) the cells that occur
    per_chunk: IntArray  # (chunks, p) how often, in each chunk of columns
    rest_start: IntArray  # (chunks + 1,) groups of the individual columns of each chunk

    def take(self, label: IntArray, quota: IntArray) -> tuple[IntArray, IntArray]:
        """See `Columns`."""
        group_of_cell = self._group_of_cell()
        quotas = self._quotas(label, quota)
        ends = np.cumsum(quotas.sum(axis=1))
        columns, groups = np.empty((2, int(ends[-1])), dtype=np.int64)

        def run(t: int) -> None:
            part = slice(ends[t] - quotas[t].sum(), ends[t])
            if part.start < part.stop:
                begin, end = _chunk(t, len(self.table))
                take_pairs(
                    self.table,
                    begin,
                    end,
                    group_of_cell,
                    self.rest_start[t],
                    label,
                    quotas[t],
                    columns[part],
                    groups[part],
                )

        in_threads(run, len(self.per_chunk))
        return columns, groups

    def labels(self, label: IntArray) -> IntArray:
        """See `Columns`."""
        group_of_cell = self._group_of_cell()
        out = np.empty(len(self.table), dtype=np.int64)

        def run(t: int) -> None:
            begin, end = _chunk(t, len(self.table))
            label_pairs(
                self.table,
                begin,
                end,
                group_of_cell,
                self.rest_start[t],
                label,
                out[begin:end],
            )

        in_threads(run, len(self.per_chunk))
        return out

    def groups(self, columns: IntArray) -> IntArray:
        """See `Columns`."""
        group_of_cell, found = self._group_of_cell(), np.empty(len(columns), dtype=np.int64)
        bounds = np.searchsorted(columns, np.arange(len(self.per_chunk) + 1) * CHUNK)

        def run(t: int) -> None:
            begin, end = _chunk(t, len(self.table))
            part = slice(bounds[t], bounds[t + 1])
            groups_of_pairs(
                self.table, begin, end, group_of_cell, self.rest_start[t], columns[part],
                found[part],
            )  # fmt: skip

        in_threads(run, len(self.per_chunk))
        return found

    def _group_of_cell(self) -> IntArray:
        group_of_cell = np.zeros(SIDE * SIDE, dtype=np.int64)
        group_of_cell[self.cells] = np.arange(len(self.cells))
        return group_of_cell

    def _quotas(self, label: IntArray, quota: IntArray) -> IntArray:
        """How many columns of each label come from each chunk: the earlier chunks first."""
        quotas = np.zeros((len(self.per_chunk), len(quota)), dtype=np.int64)
        left = quota.copy()
        for t, here in enumerate(quotas):
            np.add.at(here, label[: len(self.cells)], self.per_chunk[t])
            np.add.at(here, label[self.rest_start[t] : self.rest_start[t + 1]], 1)
            np.minimum(here, left, out=here)
            left -= here
        return quotas


def _chunk(t: int, m: int) -> tuple[int, int]:
    return t * CHUNK, min((t + 1) * CHUNK, m)


def _group_pairs(table: Array, weights: FloatArray) -> Groups | None:
    """Group the columns of a two-class table, whole numbers times weights of the classes.

    None if too many are large, or no such numbers.
    """
    m, weighted = len(table), bool((weights != 1).any())
    given, table = table, read_only(_unweighted(table, weights) if weighted else table)
    n_chunks = max(1, -(-m // CHUNK))
    cells = np.zeros((n_chunks, SIDE * SIDE), dtype=np.int64)

    def run(t: int) -> IntArray | None:
        begin, end = _chunk(t, m)
        rest = np.empty((end - begin) // 4 + 1024, dtype=np.int64)
        n_rest = count_pairs(table, begin, end, cells[t], rest)
        return rest[:n_rest].copy() if n_rest >= 0 else None

    rest = [part for part in in_threads(run, n_chunks) if part is not None]
    if len(rest) < n_chunks:
        return None
    occurring = np.flatnonzero(cells.any(axis=0))
    per_chunk = cells[:, occurring]
    pairs = np.column_stack([occurring // SIDE, occurring % SIDE])
    counts = np.concatenate([pairs * weights, *(given[part] for part in rest)])
    individual = np.ones(len(counts) - len(pairs), dtype=np.int64)
    rest_start = np.cumsum([len(pairs), *(len(part) for part in rest)])
    return Groups(
        counts.astype(np.float64, copy=False),
        np.concatenate([per_chunk.sum(axis=0), individual]),
        PairColumns(table, occurring, per_chunk, rest_start),
    )


def _unweighted(table: Array, weights: FloatArray) -> Array:
    """Divide counts by the weights of their classes; what is no multiple of them is made a half."""
    whole = np.empty_like(table)

    def run(t: int) -> None:
        part = slice(*_chunk(t, len(table)))
        np.rint(np.divide(table[part], weights, out=whole[part]), out=whole[part])
        whole[part][whole[part] * weights != table[part]] = 0.5

    in_threads(run, max(1, -(-len(table) // CHUNK)))
    return whole


def in_threads(run: Callable[[int], R], n: int) -> list[R]:
    """Run n tasks in as many threads as numba uses; results in order."""
    if n == 1 or get_num_threads() == 1:
        return [run(t) for t in range(n)]
    with ThreadPoolExecutor(get_num_threads()) as pool:
        return list(pool.map(run, range(n)))


# --- many classes: a hash table of short count vectors --------------------------------------------


@dataclass(frozen=True, slots=True)
class NumberedColumns:
    """Groups by a number for each column."""

    number: NDArray[np.int32]  # (m,) group of each column

    def take(self, label: IntArray, quota: IntArray) -> tuple[IntArray, IntArray]:
        """See `Columns`."""
        columns = lowest(label[self.number], quota)
        return columns, self.number[columns].astype(np.int64)

    def labels(self, label: IntArray) -> IntArray:
        """See `Columns`."""
        return label[self.number]

    def groups(self, columns: IntArray) -> IntArray:
        """See `Columns`."""
        return self.number[columns].astype(np.int64)


def _is_whole(table: Array) -> bool:
    if table.dtype.kind in "iu":
        return True
    return all(bool(np.all(np.mod(part, 1.0) == 0)) for part in np.array_split(table, 16))


def _group_rows(table: Array, weights: FloatArray) -> Groups:
    number, first = equal_rows(table, 1.0 / weights, SMALL_SUM)
    size = np.bincount(number, minlength=len(first))
    return Groups(_compressed_rows(table, first), size, NumberedColumns(number))


def equal_rows(table: Array, per: FloatArray, small: int = 1 << 62) -> tuple[Array, IntArray]:
    """Give numbers to the distinct rows of a table, by their first appearance.

    Parameters
    ----------
    table : (m, C)
    per : (C,)
        By which values are multiplied to be about whole: what tells them apart at a glance.
    small : int
        Rows with a larger sum of these have a number of their own.

    Returns
    -------
    number : (m,)
    first : (number of distinct rows,) the first row of each
    """
    m = len(table)
    slots = np.full(1 << max(4, int(2 * m).bit_length()), -1, dtype=np.int32)
    number, first = np.empty(m, dtype=np.int32), np.empty(m, dtype=np.int64)
    d = number_equal_rows(read_only(table), per, small, slots, number, first)
    return number, first[:d].copy()


def first_of(number: Array, d: int) -> IntArray:
    """Position at which each of d numbers is there for the first time; all of them are: (d,)."""
    first = np.empty(d, dtype=np.int64)
    first[number[::-1]] = np.arange(len(number) - 1, -1, -1)
    return first


def lowest(label: Array, take: IntArray) -> IntArray:
    """Positions of the first `take[label]` of every label, ascending."""
    positions = np.empty(int(take.sum()), dtype=np.int64)
    take_labelled(label, take.copy(), positions)
    return positions


# --- wide tables: the columns that occur, and all the others as one group -------------------------


@dataclass(frozen=True, slots=True)
class OccurringColumns:
    """Groups of the columns that occur, then one group, if any, of those without a count."""

    inner: Columns  # groups of occurring columns, by position among them
    columns: IntArray  # (u,) the columns that occur, ascending
    n_columns: int  # m
    n_inner: int  # groups of occurring columns; the next one is that of the others

    def take(self, label: IntArray, quota: IntArray) -> tuple[IntArray, IntArray]:
        """See `Columns`."""
        if len(self.columns) == self.n_columns:
            return self.inner.take(label, quota)
        rest, inner_quota = label[-1], quota.copy()
        inner_quota[rest] = 0
        positions, groups = self.inner.take(label[:-1], inner_quota)
        columns, groups = _merged(
            (self.columns[positions], groups), self._tied_with_empty(label, int(quota[rest]))
        )
        return columns, groups

    def labels(self, label: IntArray) -> IntArray:
        """See `Columns`."""
        out = np.full(self.n_columns, label[-1], dtype=np.int64)
        n_inner = len(label) - (len(self.columns) < self.n_columns)
        out[self.columns] = self.inner.labels(label[:n_inner])
        return out

    def groups(self, columns: IntArray) -> IntArray:
        """See `Columns`."""
        place = np.searchsorted(self.columns, columns)
        occurs = np.append(self.columns, -1)[place] == columns
        found = np.full(len(columns), self.n_inner, dtype=np.int64)
        found[occurs] = self.inner.groups(place[occurs])
        return found

    def _tied_with_empty(self, label: IntArray, n: int) -> tuple[IntArray, IntArray]:
        """Return the first n columns with the label of the empty ones, and their groups."""
        if n == 0:
            return np.empty(0, dtype=np.int64), np.empty(0, dtype=np.int64)
        group = self.inner.labels(np.arange(len(label) - 1))
        tied = np.flatnonzero(label[:-1][group] == label[-1])
        empty = self._empty(n)
        columns, groups = _merged(
            (self.columns[tied], group[tied]), (empty, np.full(len(empty), len(label) - 1))
        )
        return columns[:n], groups[:n]

    def _empty(self, n: int) -> IntArray:
        """Return the first n columns that do not occur, or all if there are fewer."""
        rank = np.arange(min(n, self.n_columns - len(self.columns)), dtype=np.int64)
        empty_before = self.columns - np.arange(len(self.columns))
        return rank + np.searchsorted(empty_before, rank, side="right")


def _merged(
    first: tuple[IntArray, IntArray], second: tuple[IntArray, IntArray]
) -> tuple[IntArray, IntArray]:
    """Two lists of columns and their groups as one, ascending by column."""
    columns = np.concatenate([first[0], second[0]])
    order = np.argsort(columns, kind="stable")
    return columns[order], np.concatenate([first[1], second[1]])[order]


def _group_sparse(table: SparseTable) -> Groups:
    """Group the columns of a wide table."""
    columns, starts = table.occurring()
    rows, size, inner = _group_occurring(table, starts)
    n_inner = len(size)
    if len(columns) < len(table):
        indptr = np.append(rows.indptr, rows.indptr[-1])
        shape = (len(indptr) - 1, table.shape[1])
        rows = sparse.csr_array((rows.data, rows.indices, indptr), shape=shape)
        size = np.append(size, len(table) - len(columns))
    return Groups(rows, size, OccurringColumns(inner, columns, len(table), n_inner))


def _group_occurring(
    table: SparseTable, starts: IntArray
) -> tuple[sparse.csr_array, IntArray, Columns]:
    """Distinct rows among those that occur, how often each does, and the way back."""
    n_classes = table.shape[1]
    codes, values = table.codes.astype(np.int64), table.values.astype(np.float64)
    rows = sparse.csr_array((values, codes, starts), shape=(len(starts) - 1, n_classes))
    weights = np.ones(n_classes)
    if not _is_whole(values):
        weights[:] = np.inf
        np.minimum.at(weights, codes, values)  # of most classes that of a count of 1
        weights = np.where(np.isfinite(weights), weights, 1.0)
        if not (np.rint(values / weights[codes]) * weights[codes] == values).all():
            return rows, np.ones(rows.shape[0], dtype=np.int64), SingleColumns()
    slots = np.full(1 << max(4, (2 * rows.shape[0]).bit_length()), -1, dtype=np.int32)
    number = np.empty(rows.shape[0], dtype=np.int32)
    first = np.empty(rows.shape[0], dtype=np.int64)
    d = number_equal_sparse_rows(
        starts, codes, values, 1.0 / weights, SMALL_SUM, slots, number, first
    )
    return rows[first[:d]], np.bincount(number, minlength=d), NumberedColumns(number)
