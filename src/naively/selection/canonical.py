"""Choices that nothing in the data makes, made in one way.

Supports of a coupled problem may reach the same gain, and which one is found hangs on the last
digits of sums. So classes are added up in an order of their own, whatever they are called, and of
columns that are equal the lowest are taken, also where they were solved for one by one.
"""

from __future__ import annotations

from dataclasses import replace

import numpy as np
from scipy import sparse

from naively._kernels.compiled import read_only
from naively._kernels.count_groups import number_equal_rows, number_equal_sparse_rows
from naively._kernels.exchange import edges
from naively._kernels.residue import RESIDUE
from naively._types import Array, FloatArray, IntArray
from naively.selection.dual import Problem
from naively.selection.groups import Groups, Matrix, PairColumns
from naively.selection.rounding import ROUNDING
from naively.selection.top_k import tie_class
from naively.statistics.sparse_table import SparseTable

_PARTS = (1 << 10, 1 << 18, None)  # counts that classes are told apart by; None: all
_NONE: IntArray = np.empty(0, dtype=np.int64)
_ANY_SUM = 1 << 62  # all columns are worth comparing


def class_order(table: Array | SparseTable) -> IntArray:
    """Return the classes in the order of their counts, those of the first columns first: (C,)."""
    keys: list[tuple[bytes, ...]] = [()] * table.shape[1]
    order = undecided = list(range(table.shape[1]))
    for part in _PARTS:
        if len(undecided) > 1:
            for c, key in zip(undecided, _counts_of(table, undecided, part), strict=True):
                keys[c] = (*keys[c], key)
            undecided = [c for c in undecided if keys.count(keys[c]) > 1]
    order.sort(key=keys.__getitem__)
    return np.array(order, dtype=np.int64)


def _counts_of(table: Array | SparseTable, classes: list[int], n: int | None) -> list[bytes]:
    """Return counts of classes in the first columns, n in all, as bytes that are in their order."""
    if isinstance(table, SparseTable):
        keys = _sparse_keys(table, n)
        return [keys[c] for c in classes]
    rows = table if n is None else table[: max(n // table.shape[1], 1)]
    return [np.ascontiguousarray(rows[:, c], dtype=">f8").tobytes() for c in classes]


def _sparse_keys(table: SparseTable, n: int | None) -> list[bytes]:
    """As above, by the first n counts that are not zero: those of earlier columns are larger."""
    n_classes = table.shape[1]
    end = len(table.cells)
    if n is not None and n < end:  # whole columns
        end = int(np.searchsorted(table.cells, table.cells[n] // n_classes * n_classes))
    columns, codes = np.divmod(table.cells[:end].astype(np.int64), n_classes)
    order = np.argsort(codes, kind="stable")
    entries = np.empty(end, dtype=[("column", ">u8"), ("value", ">f8")])
    entries["column"], entries["value"] = len(table) - columns[order], table.values[:end][order]
    bounds = np.searchsorted(codes[order], np.arange(n_classes + 1))
    return [entries[bounds[c] : bounds[c + 1]].tobytes() for c in range(n_classes)]


def of_classes(counts: Matrix, order: IntArray) -> Matrix:
    """Return counts (d, C) with the classes in this order; as they are, if that is theirs."""
    if (order == np.arange(len(order))).all():
        return counts
    if not sparse.issparse(counts):
        return np.ascontiguousarray(np.take(counts, order, axis=1))
    place = np.argsort(order).astype(counts.indices.dtype)
    arrays = counts.data.copy(), place[counts.indices], counts.indptr  # sorted in place: not shared
    moved = sparse.csr_array(arrays, counts.shape)
    moved.sort_indices()
    return moved


def in_order(groups: Groups, order: IntArray) -> Groups:
    """Return groups of pairs in the order that they have if classes stand in this one."""
    columns = groups.columns
    if not isinstance(columns, PairColumns) or order[0] == 0:
        return groups
    n_cells = len(columns.cells)
    pairs = np.asarray(groups.counts)[:n_cells]
    cells = np.lexsort((pairs[:, 0], pairs[:, 1]))
    everything = np.concatenate([cells, np.arange(n_cells, len(groups.size))])
    moved = replace(
        columns,
        cells=columns.cells[cells],
        per_chunk=np.ascontiguousarray(columns.per_chunk[:, cells]),
    )
    return Groups(groups.counts[everything], groups.size[everything], moved)


def lowest_of_equal(problem: Problem, gains: FloatArray, take: IntArray) -> IntArray:
    """Return a selection that takes the lowest of equal columns instead of others: (d,).

    Parameters
    ----------
    problem : Problem
        The columns, equal ones in the order of their indices.
    gains : (d,)
        At any shares: equal columns have equal gains, so that few have to be compared.
    take : (d,)
        How many are taken of each.
    """
    near = _contested(problem, gains, take)
    if len(near) < 2 or not _may_repeat(problem, near):
        return take
    near = _tied(problem, gains, take, near)
    if len(near) < 2:
        return take
    number = _numbered(problem, near)
    order = np.argsort(number, kind="stable")
    near, number = near[order], number[order]
    first = np.searchsorted(number, number)  # of the columns equal to each
    size, total = problem.size[near], np.bincount(number, take[near]).astype(np.int64)
    before = np.cumsum(size) - size
    lowest = take.copy()
    lowest[near] = np.clip(total[number] - (before - before[first]), 0, size)
    return lowest


def _contested(problem: Problem, gains: FloatArray, take: IntArray) -> IntArray:
    """Places from the least gain taken to the largest left, to rounding; none if these part."""
    least, most = edges(gains, take, problem.size)
    if min(least, most) < 0:
        return _NONE
    slack = 2.0 * ROUNDING * max(abs(problem.entropy[least]), abs(problem.entropy[most]))
    low, high = gains[least] - slack, gains[most] + slack
    return np.flatnonzero((gains >= low) & (gains <= high)) if low <= high else _NONE


def _may_repeat(problem: Problem, columns: IntArray) -> bool:
    """Whether two columns may be equal: sums with weights tell nearly all others apart."""
    counts = problem.counts[columns]
    sums = np.sort(counts @ (1.0 + np.sqrt(np.arange(2.0, counts.shape[1] + 2.0))))
    return bool((sums[1:] - sums[:-1] <= 4 * RESIDUE * sums[1:]).any())


def _tied(problem: Problem, gains: FloatArray, take: IntArray, near: IntArray) -> IntArray:
    """Those of some columns, ascending, whose gain some column taken and some left have."""
    near = near[np.argsort(-gains[near], kind="stable")]
    tie = tie_class(gains[near], ROUNDING * np.abs(problem.entropy[near]))
    some = take[near]
    of_taken, of_left = (
        np.bincount(tie, each, tie[-1] + 1) > 0 for each in (some > 0, some < problem.size[near])
    )
    return np.sort(near[(of_taken & of_left)[tie]])


def _numbered(problem: Problem, columns: IntArray) -> IntArray:
    """Give equal columns equal numbers."""
    counts, number = problem.counts[columns], np.empty(len(columns), dtype=np.int32)
    first_rows = np.empty(len(columns), dtype=np.int64)
    ones = np.ones(counts.shape[1])
    slots = np.full(1 << max(4, (2 * len(columns)).bit_length()), -1, dtype=np.int32)
    if sparse.issparse(counts):
        starts, codes = counts.indptr.astype(np.int64), counts.indices.astype(np.int64)
        number_equal_sparse_rows(
            starts, codes, counts.data, ones, _ANY_SUM, slots, number, first_rows
        )
    else:
        counts = np.ascontiguousarray(counts)
        number_equal_rows(read_only(counts), ones, _ANY_SUM, slots, number, first_rows)
    keys = number.astype(np.float64)[:, None]
    if np.ndim(problem.alpha) > 0:
        keys = np.column_stack([keys, np.asarray(problem.alpha)[columns]])
    _, first, key = np.unique(keys, axis=0, return_index=True, return_inverse=True)
    rows: FloatArray = counts[first].toarray() if sparse.issparse(counts) else counts[first]
    return _merged(np.column_stack([rows, keys[first, 1:]]))[key.ravel()]


def _merged(rows: FloatArray) -> IntArray:
    """Give numbers to distinct rows, one to those that residues make distinct (sums differ)."""
    number = np.arange(len(rows))
    if (np.mod(rows, 1.0) == 0).all():
        return number
    left = number
    while len(left):
        same = (np.abs(rows[left] - rows[left[0]]) <= RESIDUE * rows[left[0]]).all(axis=1)
        number[left[same]] = left[0]
        left = left[~same]
    return np.unique(number, return_inverse=True)[1].ravel()
