"""Regions of a document side by side in one matrix, and the counts of the words behind them.

A document has R regions (subject, body, ...); its row is their word counts side by side. Regions
that share a vocabulary have columns of the same words in the same order, and one table of counts
serves them all; regions that do not share it have a table each.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, final

import numpy as np

from naively._kernels.compiled import read_only
from naively._kernels.leave_one_out import all_whole, word_counts_csr
from naively._types import Array, BoolArray, FloatArray, IntArray

_EXACT = float(1 << 53)  # whole numbers up to this are floats


@final
@dataclass(frozen=True, slots=True)
class Regions:
    """Which columns belong to which region, and which word each stands for."""

    starts: IntArray  # (R + 1,) first column of each region, and the number of columns
    shared: bool  # whether column q of every region is the same word q
    order: IntArray | None = None  # (m,) columns brought together by region; None: they are

    @property
    def n_regions(self) -> int:
        """Number of regions R."""
        return len(self.starts) - 1

    @property
    def n_words(self) -> int:
        """Rows of the table of counts, V."""
        return int(self.starts[1] if self.shared else self.starts[-1])

    @property
    def offsets(self) -> IntArray:
        """Column minus word, by region (R,)."""
        return self.starts[:-1] if self.shared else np.zeros(self.n_regions, dtype=np.int64)

    @property
    def tables(self) -> IntArray:
        """Which of the T normalisers belongs to each region, (R,): one if the words are shared."""
        return np.arange(self.n_regions, dtype=np.int64) * (not self.shared)

    def columns(self, words: BoolArray | None = None) -> IntArray | None:
        """Columns of some words by region, in the order of `keep`; None: all, as they are."""
        if words is None:
            return self.order
        kept = np.flatnonzero(np.tile(words, self.n_regions) if self.shared else words)
        return kept if self.order is None else self.order[kept]

    def bring_together(self, columns: Array) -> Array:
        """Values of the columns, (m, ...), by region."""
        return columns if self.order is None else columns[self.order]

    def fold_rows(self, X: Any) -> Any:
        """Sparse rows of columns, (n, m), to rows of words, (n, V)."""
        together = X if self.order is None else X[:, self.order]
        if not self.shared or self.n_regions == 1:
            return together
        bounds = zip(self.starts[:-1], self.starts[1:], strict=True)
        return sum(together[:, begin:end] for begin, end in bounds)

    def fold(self, table: Array) -> Array:
        """Table of columns, (m, C), to table of words, (V, C)."""
        table = self.bring_together(table)
        if not self.shared or self.n_regions == 1:
            return table
        return np.asarray(table.reshape(self.n_regions, self.n_words, -1).sum(axis=0))

    def sums(self, words: Array) -> Array:
        """Sum over the words of each normaliser, (T, ...) from (V, ...)."""
        if self.shared:
            return np.asarray(words.sum(axis=0, keepdims=True))
        bounds = zip(self.starts[:-1], self.starts[1:], strict=True)
        return np.stack([words[begin:end].sum(axis=0) for begin, end in bounds])

    def keep(self, words: BoolArray | None = None) -> Regions:
        """Regions of the matrix that has only the columns of some words, brought together."""
        if words is None:
            return Regions(self.starts, self.shared)
        columns = np.tile(words, self.n_regions) if self.shared else words
        kept = np.concatenate([[0], np.cumsum(columns)])
        return Regions(kept[self.starts].astype(np.int64), self.shared)


@final
@dataclass(frozen=True, slots=True)
class WordCounts:
    """Counts of words by class, exact enough to take a row out again.

    Whole numbers are exact as they are. Sums of real numbers are pairs high + low: the part that
    a float could not hold is in `low`.
    """

    high: Array  # (V, C)
    low: FloatArray  # (V, C); (0, C) if all counts are whole
    total: Array  # (T, C)
    total_low: FloatArray  # (T, C)

    @property
    def is_whole(self) -> bool:
        """Whether all counts are whole numbers."""
        return len(self.low) == 0 < len(self.high)

    @classmethod
    def whole(cls, table: Array, regions: Regions) -> WordCounts:
        """From a table of words, (V, C), that holds whole numbers."""
        total = regions.sums(table)
        return cls(table, np.zeros((0, table.shape[1])), total, np.zeros(total.shape))

    @classmethod
    def paired(
        cls, X: Any, codes: Array, weights: FloatArray, regions: Regions, n_classes: int
    ) -> WordCounts:
        """From arranged rows."""
        high = np.zeros((regions.n_words, n_classes))
        total = regions.sums(high)
        low, total_low = np.zeros(high.shape), np.zeros(total.shape)
        X = sorted_rows(X)
        rows = (plain_values(X.data), X.indices, X.indptr, codes, weights)
        layout = (regions.starts, regions.offsets, regions.tables)
        inputs: list[Any] = [read_only(array) for array in (*rows, *layout)]
        word_counts_csr(*[*inputs, high, low, total, total_low])
        return cls(high, low, total, total_low)


def sorted_rows(X: Any) -> Any:
    """Return CSR rows with the entries of each row in the order of the columns."""
    return X if X.has_sorted_indices else X.sorted_indices()


def plain_values(data: Array) -> Array:
    """Return values in one of the types for which kernels are compiled."""
    if data.dtype in (np.int32, np.int64, np.float64):
        return data
    return data.astype(np.int64 if data.dtype.kind in "biu" else np.float64)


def is_whole(values: Array) -> bool:
    """Whether all values, >= 0, are whole numbers whose sum is exact in any order."""
    if not values.size:
        return True
    if values.dtype.kind == "f" and not all_whole(read_only(np.ravel(values))):
        return False
    return float(values.max()) * values.size < _EXACT
