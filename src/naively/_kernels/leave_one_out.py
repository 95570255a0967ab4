"""Leave-one-out features of a hybrid classifier, one sweep over the rows of a CSR matrix.

Whole counts are integers, and so is what a row leaves behind. Counts of real values are pairs
(high, low) whose sum is exact to about 32 digits: taking a row out of them leaves what the other
rows hold to full precision, and exactly zero for a word that no other row has. Plain floats would
leave rounding of the size of the smoothing.

Arguments of the kernels, beside the CSR rows (n, m), without duplicates and (but for one region of
whole counts) sorted, and the `codes` of their classes (n,):

weights (n,)
    Weight with which the counts of a row are to be taken out of its class; 0 gives the features
    of a row that is not among the counts.
starts (R + 1,), offsets (R,), tables (R,)
    First column of each region; column minus word; which of the T normalisers applies.
table or high, low (V, C); total or total, total_low (T, C)
    Word counts, and their sums.
alpha (V,) or (1,), alpha_total (T,)
    Smoothing and its sum.
normalize
    Whether to divide by the number of words in the region.
begin, end
    Rows to do.
out (n, R, C)
    Filled with sum_w x_rw log P(w | c) by region and class; zero where a region is empty.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from naively._kernels.compiled import kernel
from naively._types import Array, FloatArray, IntArray

_BLOCK = 64  # rows
_SPLITTER = 134217729.0  # 2^27 + 1 halves the 53 bits of a float (Dekker 1971)


@kernel
def _sum(a: float, b: float) -> tuple[float, float]:
    """Return a + b rounded, and the rounding error, exact (Knuth)."""
    high = a + b
    part = high - a
    return high, (a - (high - part)) + (b - part)


@kernel
def _product(a: float, b: float) -> tuple[float, float]:
    """Return a * b rounded, and the rounding error, exact (Dekker)."""
    high = a * b
    a_big = _SPLITTER * a
    a_high = a_big - (a_big - a)
    a_low = a - a_high
    b_big = _SPLITTER * b
    b_high = b_big - (b_big - b)
    b_low = b - b_high
    return high, ((a_high * b_high - high) + a_high * b_low + a_low * b_high) + a_low * b_low


@kernel
def _add(high: float, low: float, other: float, other_low: float) -> tuple[float, float]:
    """Sum of two pairs."""
    top, rest = _sum(high, other)
    return _sum(top, rest + (low + other_low))


@kernel
def _remaining(high: float, low: float, taken: float, taken_low: float) -> float:
    """Pair minus pair, as a float; a count cannot fall below zero."""
    rest, rest_low = _add(high, low, -taken, -taken_low)
    return max(rest + rest_low, 0.0)


@kernel
def _find_regions(indices: IntArray, span: Any, starts: IntArray, bounds: Any) -> None:
    """Set `bounds` (R + 1,) to the positions between the regions of one row."""
    bounds[0], bounds[len(starts) - 1] = span[0], span[1]
    for r in range(1, len(starts) - 1):
        low, high = bounds[r - 1], span[1]
        while low < high:
            middle = (low + high) >> np.uint64(1)
            if indices[middle] < starts[r]:
                low = middle + np.uint64(1)
            else:
                high = middle
        bounds[r] = low


@kernel
def _log_totals(total: Array, alpha_total: FloatArray) -> FloatArray:
    """Return the logarithms of the smoothed totals, (T, C)."""
    log_total = np.empty(total.shape)
    for t in range(total.shape[0]):
        for c in range(total.shape[1]):
            log_total[t, c] = np.log(alpha_total[t] + float(total[t, c]))
    return log_total


@kernel
def _normalise(
    begin: Any,
    codes: IntArray,
    total: Array,
    total_low: FloatArray,
    tables: IntArray,
    alpha_total: FloatArray,
    log_total: FloatArray,
    row_total: FloatArray,
    size: Array,
    normalize: bool,
    out: FloatArray,
) -> None:
    """Turn sums of log counts into sums, or means, of log probabilities.

    For rows from `begin` on: `size` (B, R) are their words, `row_total` (B, T, 2) what they take
    out; `log_total` (T, C) comes from `_log_totals`.
    """
    mine = 0.0
    for i in range(begin, begin + len(size)):
        own, of_row = codes[i], i - begin
        for r in range(len(tables)):
            t, words = tables[r], size[of_row, r]
            if r == 0 or t != tables[r - 1]:
                taken, taken_low = row_total[of_row, t, 0], row_total[of_row, t, 1]
                left = _remaining(float(total[t, own]), total_low[t, own], taken, taken_low)
                mine = np.log(alpha_total[t] + left)
            if words == 0:
                continue
            for c in range(out.shape[2]):
                out[i, r, c] -= words * (mine if c == own else log_total[t, c])
                if normalize:
                    out[i, r, c] /= words


# -- whole counts ---------------------------------------------------------------------------------


@kernel
def leave_one_out_whole_csr(
    data: Array,
    indices: IntArray,
    indptr: IntArray,
    codes: IntArray,
    weights: IntArray,
    starts: IntArray,
    offsets: IntArray,
    tables: IntArray,
    table: IntArray,
    total: IntArray,
    alpha: FloatArray,
    alpha_total: FloatArray,
    logs: FloatArray,
    log_table: FloatArray,
    normalize: bool,
    begin: int,
    end: int,
    out: FloatArray,
) -> None:
    """Features of rows without themselves.

    `logs` (L,) holds log(alpha[0] + t) for t < L; `log_table` (V, C) the logarithms of the smoothed
    counts. It is empty where there are two classes and `logs` holds those of all counts.

    Rows are done in blocks: a call for each row, to which arrays are passed, takes as long as its
    words.
    """
    n_regions, n_tables = len(tables), total.shape[0]
    none_low, log_total = np.zeros(total.shape), _log_totals(total, alpha_total)
    # Only regions with one vocabulary can hold a word more than once.
    recurring = n_regions > 1 and n_tables == 1
    of_word = np.zeros(len(table) if recurring else 0, dtype=np.int64)
    bounds = np.zeros((_BLOCK, n_regions + 1), dtype=np.uint64)
    size = np.zeros((_BLOCK, n_regions), dtype=np.int64)
    row_total = np.zeros((_BLOCK, n_tables, 2))
    for first in range(begin, end, _BLOCK):
        last = min(first + _BLOCK, end)
        n = last - first
        for i in range(first, last):
            span = (np.uint64(indptr[i]), np.uint64(indptr[i + 1]))
            _find_regions(indices, span, starts, bounds[i - first])
        entries = int(indptr[last] - indptr[first]) if recurring else 0
        leaving = np.zeros(entries, dtype=np.int64)
        if recurring:
            _count_over_regions(data, indices, bounds[:n], offsets, of_word, leaving)
        where = (
            data,
            indices,
            bounds[:n],
            offsets,
            leaving,
            codes[first:last],
            weights[first:last],
        )
        if len(log_table) == 0:
            _sum_two(*where, table, logs, size, out[first:last])
        else:
            _sum_many(*where, table, alpha, logs, log_table, size, out[first:last])
        row_total[:] = 0.0
        for i in range(n):
            for r in range(n_regions):
                row_total[i, tables[r], 0] += weights[first + i] * size[i, r]
        _normalise(
            first, codes, total, none_low, tables, alpha_total, log_total, row_total, size[:n],
            normalize, out,
        )  # fmt: skip


@kernel
def _count_over_regions(
    data: Array,
    indices: IntArray,
    bounds: Any,
    offsets: IntArray,
    of_word: IntArray,
    leaving: IntArray,
) -> None:
    """Set `leaving` to the count, over all regions of a row, of the word of each entry.

    `of_word` (V,) holds zeros, before and after.
    """
    start = bounds[0, 0]
    for i in range(len(bounds)):
        for r in range(len(offsets)):
            offset = offsets[r]
            for position in range(bounds[i, r], bounds[i, r + 1]):
                of_word[np.uint64(indices[position] - offset)] += np.int64(data[position])
        for r in range(len(offsets)):
            offset = offsets[r]
            for position in range(bounds[i, r], bounds[i, r + 1]):
                leaving[position - start] = of_word[np.uint64(indices[position] - offset)]
        for r in range(len(offsets)):
            offset = offsets[r]
            for position in range(bounds[i, r], bounds[i, r + 1]):
                of_word[np.uint64(indices[position] - offset)] = 0


@kernel
def _sum_two(
    data: Array,
    indices: IntArray,
    bounds: Any,
    offsets: IntArray,
    leaving: IntArray,
    codes: IntArray,
    weights: IntArray,
    table: IntArray,
    logs: FloatArray,
    size: IntArray,
    out: FloatArray,
) -> None:
    """Set `out` to sum_w x_w log(f_wc + alpha_w) by row, region and class; `size` to the words.

    Without a branch, without a call, with two sums in registers.
    """
    start, recurring = bounds[0, 0], len(leaving) > 0
    for i in range(len(bounds)):
        of_a, of_b = (weights[i], 0) if codes[i] == 0 else (0, weights[i])
        for r in range(len(offsets)):
            words: Any = 0
            a, b, offset = 0.0, 0.0, offsets[r]
            for position in range(bounds[i, r], bounds[i, r + 1]):
                w = np.uint64(indices[position] - offset)
                count = np.int64(data[position])
                words += count
                left = leaving[position - start] if recurring else count
                a += count * logs[np.uint64(table[w, 0] - of_a * left)]
                b += count * logs[np.uint64(table[w, 1] - of_b * left)]
            out[i, r, 0], out[i, r, 1], size[i, r] = a, b, words


@kernel
def _sum_many(
    data: Array,
    indices: IntArray,
    bounds: Any,
    offsets: IntArray,
    leaving: IntArray,
    codes: IntArray,
    weights: IntArray,
    table: IntArray,
    alpha: FloatArray,
    logs: FloatArray,
    log_table: FloatArray,
    size: IntArray,
    out: FloatArray,
) -> None:
    """Do the same for any number of classes and any smoothing."""
    start, recurring, one_alpha = bounds[0, 0], len(leaving) > 0, len(alpha) == 1
    for i in range(len(bounds)):
        own = np.uint64(codes[i])
        for r in range(len(offsets)):
            words: Any = 0
            out[i, r] = 0.0
            for position in range(bounds[i, r], bounds[i, r + 1]):
                w = np.uint64(indices[position] - offsets[r])
                count = np.int64(data[position])
                words += count
                for c in range(out.shape[2]):
                    out[i, r, c] += count * log_table[w, np.uint64(c)]
                left = leaving[position - start] if recurring else count
                remaining = table[w, own] - weights[i] * left
                if remaining < len(logs):
                    log = logs[np.uint64(remaining)]
                else:
                    log = np.log(alpha[np.uint64(0) if one_alpha else w] + remaining)
                out[i, r, own] += count * (log - log_table[w, own])
            size[i, r] = words


# -- real counts ----------------------------------------------------------------------------------


@kernel
def word_counts_csr(
    data: Array,
    indices: IntArray,
    indptr: IntArray,
    codes: IntArray,
    weights: FloatArray,
    starts: IntArray,
    offsets: IntArray,
    tables: IntArray,
    high: FloatArray,
    low: FloatArray,
    total: FloatArray,
    total_low: FloatArray,
) -> None:
    """Add weighted rows to the pairs (high, low) and (total, total_low).

    A row is summed before it is added, in the order in which the sweep sums it: what is left of a
    word, or of a class, that only this row has is then exactly zero.
    """
    bounds = np.zeros(len(starts), dtype=np.uint64)
    cursors = np.zeros(len(tables), dtype=np.uint64)
    row_total = np.zeros((total.shape[0], 2))
    size = np.zeros(len(tables))
    for i in range(len(codes)):
        c = codes[i]
        span = (np.uint64(indptr[i]), np.uint64(indptr[i + 1]))
        _find_regions(indices, span, starts, bounds)
        _total_row(data, bounds, weights[i], tables, row_total, size)
        for t in range(total.shape[0]):
            total[t, c], total_low[t, c] = _add(
                total[t, c], total_low[t, c], row_total[t, 0], row_total[t, 1]
            )
        for r in range(len(tables)):
            cursors[:] = bounds[:-1]
            for position in range(bounds[r], bounds[r + 1]):
                w = np.int64(indices[position] - offsets[r])
                value, error, source = _word_of_row(
                    data, indices, bounds, offsets, cursors, w, weights[i]
                )
                if source == r:  # a word of several regions is added once
                    high[w, c], low[w, c] = _add(high[w, c], low[w, c], value, error)


@kernel
def _total_row(
    data: Array,
    bounds: Any,
    weight: float,
    tables: IntArray,
    row_total: FloatArray,
    size: FloatArray,
) -> None:
    """Sum one row: weighted by normaliser, unweighted by region."""
    row_total[:] = 0.0
    for r in range(len(tables)):
        size[r], t = 0.0, tables[r]
        for position in range(bounds[r], bounds[r + 1]):
            size[r] += data[position]
            value, error = _product(weight, float(data[position]))
            row_total[t, 0], row_total[t, 1] = _add(row_total[t, 0], row_total[t, 1], value, error)


@kernel
def _word_of_row(
    data: Array,
    indices: IntArray,
    bounds: Any,
    offsets: IntArray,
    cursors: Any,
    w: Any,
    weight: float,
) -> tuple[float, float, int]:
    """Weighted count of a word in all regions of a row, and the first region that has it.

    The cursors move on to the word; words must be asked for in ascending order.
    """
    value, error, source = 0.0, 0.0, -1
    for q in range(len(cursors)):
        while cursors[q] < bounds[q + 1] and indices[cursors[q]] - offsets[q] < w:
            cursors[q] += np.uint64(1)
        if cursors[q] < bounds[q + 1] and indices[cursors[q]] - offsets[q] == w:
            part, part_error = _product(weight, float(data[cursors[q]]))
            value, error = _add(value, error, part, part_error)
            source = q if source < 0 else source
    return value, error, source


@kernel
def leave_one_out_paired_csr(
    data: Array,
    indices: IntArray,
    indptr: IntArray,
    codes: IntArray,
    weights: FloatArray,
    starts: IntArray,
    offsets: IntArray,
    tables: IntArray,
    high: FloatArray,
    low: FloatArray,
    total: FloatArray,
    total_low: FloatArray,
    alpha: FloatArray,
    alpha_total: FloatArray,
    normalize: bool,
    begin: int,
    end: int,
    out: FloatArray,
) -> None:
    """Features of rows without themselves."""
    bounds = np.zeros(len(starts), dtype=np.uint64)
    cursors = np.zeros(len(tables), dtype=np.uint64)
    row_total = np.zeros((total.shape[0], 2))
    size = np.zeros(len(tables))
    log_total = _log_totals(total, alpha_total)
    for i in range(begin, end):
        span = (np.uint64(indptr[i]), np.uint64(indptr[i + 1]))
        _find_regions(indices, span, starts, bounds)
        _total_row(data, bounds, weights[i], tables, row_total, size)
        out[i] = 0.0
        for r in range(len(tables)):
            cursors[:] = bounds[:-1]
            for position in range(bounds[r], bounds[r + 1]):
                w = np.int64(indices[position] - offsets[r])
                value, error, _ = _word_of_row(
                    data, indices, bounds, offsets, cursors, w, weights[i]
                )
                smoothing = alpha[w if len(alpha) > 1 else 0]
                for c in range(out.shape[2]):
                    words = high[w, c]
                    if c == codes[i]:
                        words = _remaining(words, low[w, c], value, error)
                    out[i, r, c] += data[position] * np.log(smoothing + words)
        _normalise(
            i, codes, total, total_low, tables, alpha_total, log_total, row_total[None], size[None],
            normalize, out,
        )  # fmt: skip


@kernel
def all_whole(values: FloatArray) -> bool:
    """Whether all values are whole numbers."""
    whole = True
    for position in range(len(values)):
        whole &= values[position] == np.rint(values[position])
    return whole


@kernel
def has_duplicates(indices: IntArray, indptr: IntArray, n_columns: int) -> bool:
    """Whether a row of a CSR matrix, sorted or not, has two entries in one column."""
    last = np.full(n_columns, -1, dtype=np.int32)
    for i in range(len(indptr) - 1):
        for position in range(np.uint64(indptr[i]), np.uint64(indptr[i + 1])):
            j = np.uint64(indices[position])
            if last[j] == i:
                return True
            last[j] = i
    return False
