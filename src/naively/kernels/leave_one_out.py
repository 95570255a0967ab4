"""Leave-one-out features of a hybrid classifier, one sweep over the rows of a CSR matrix.

Whole counts are integers, and so is what a row leaves behind. Counts of real values are pairs
(high, low) whose sum is exact to about 32 digits: taking a row out of them leaves what the other
rows hold to full precision, and exactly zero for a word that no other row has. Plain floats would
leave rounding of the size of the smoothing.

Arguments of the kernels, beside the CSR rows (n, m) without duplicates and the `codes` of their
classes (n,):

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

from naively._types import Array, FloatArray, IntArray
from naively.kernels.compiled import kernel

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
def _region(j: Any, starts: IntArray, r: Any) -> Any:
    """Region of a column, searched from that of the previous entry: rows need not be sorted."""
    one = np.uint64(1)
    while j >= starts[r + one]:
        r += one
    while j < starts[r]:
        r -= one
    return r


@kernel
def _normalise_row(
    i: Any,
    own: Any,
    total: Array,
    total_low: FloatArray,
    tables: IntArray,
    alpha_total: FloatArray,
    row_total: FloatArray,
    size: Array,
    normalize: bool,
    out: FloatArray,
) -> None:
    """Turn sums of log counts into sums, or means, of log probabilities."""
    for r in range(len(tables)):
        if size[r] == 0:
            continue
        t = tables[r]
        for c in range(out.shape[2]):
            words = float(total[t, c])
            if c == own:
                words = _remaining(words, total_low[t, c], row_total[t, 0], row_total[t, 1])
            out[i, r, c] -= size[r] * np.log(alpha_total[t] + words)
            if normalize:
                out[i, r, c] /= size[r]


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
    normalize: bool,
    begin: int,
    end: int,
    out: FloatArray,
) -> None:
    """Features of rows without themselves; `logs` (L,) holds log(alpha[0] + t) for t < L."""
    n_regions, n_classes, n_logs = len(tables), out.shape[2], len(logs)
    # Only regions with one vocabulary can hold a word more than once.
    recurring = n_regions > 1 and total.shape[0] == 1
    taken = np.zeros(table.shape[0] if recurring else 0, dtype=np.int64)
    none_low = np.zeros(total.shape)
    row_total = np.zeros((total.shape[0], 2))
    size = np.zeros(n_regions, dtype=np.int64)
    sums = np.zeros((n_regions, n_classes))
    for i in range(np.uint64(begin), np.uint64(end)):
        span = (np.uint64(indptr[i]), np.uint64(indptr[i + np.uint64(1)]))
        own, weight = np.int64(codes[i]), weights[i]
        if recurring:
            _recount(data, indices, span, starts, offsets, taken)
        sums[:] = 0.0
        size[:] = 0
        r: Any = np.uint64(0)
        for position in range(span[0], span[1]):
            j = indices[position]
            r = _region(j, starts, r)
            w = np.uint64(j - offsets[r])
            count = np.int64(data[position])
            size[r] += count
            leaving = weight * (taken[w] if recurring else count)
            for c in range(n_classes):
                words = table[w, np.uint64(c)] - (leaving if c == own else 0)
                if words < n_logs:
                    log = logs[np.uint64(words)]
                else:
                    log = np.log(alpha[w if len(alpha) > 1 else np.uint64(0)] + words)
                sums[r, np.uint64(c)] += count * log
        out[i] = sums
        row_total[:] = 0.0
        for r in range(n_regions):
            row_total[tables[r], 0] += weight * size[r]
        _normalise_row(
            i, own, total, none_low, tables, alpha_total, row_total, size, normalize, out
        )
        if recurring:
            _forget(indices, span, starts, offsets, taken)


@kernel
def _recount(
    data: Array,
    indices: IntArray,
    span: Any,
    starts: IntArray,
    offsets: IntArray,
    taken: IntArray,
) -> None:
    """Count the words of one row over its regions."""
    r: Any = np.uint64(0)
    for position in range(span[0], span[1]):
        r = _region(indices[position], starts, r)
        taken[np.uint64(indices[position] - offsets[r])] += np.int64(data[position])


@kernel
def _forget(
    indices: IntArray, span: Any, starts: IntArray, offsets: IntArray, taken: Array
) -> None:
    """Set the words of one row to zero again."""
    r: Any = np.uint64(0)
    for position in range(span[0], span[1]):
        r = _region(indices[position], starts, r)
        taken[np.uint64(indices[position] - offsets[r])] = 0


# -- real counts ----------------------------------------------------------------------------------


@kernel
def _take_row(
    data: Array,
    indices: IntArray,
    span: Any,
    weight: float,
    starts: IntArray,
    offsets: IntArray,
    tables: IntArray,
    taken: FloatArray,
    row_total: FloatArray,
    size: FloatArray,
) -> None:
    """Add what one row holds to `taken`, by word; set its sums, by normaliser and by region."""
    row_total[:] = 0.0
    size[:] = 0.0
    r: Any = np.uint64(0)
    for position in range(span[0], span[1]):
        r = _region(indices[position], starts, r)
        w, t = np.uint64(indices[position] - offsets[r]), tables[r]
        size[r] += data[position]
        value, error = _product(weight, float(data[position]))
        row_total[t, 0], row_total[t, 1] = _add(row_total[t, 0], row_total[t, 1], value, error)
        taken[w, 0], taken[w, 1] = _add(taken[w, 0], taken[w, 1], value, error)


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
    taken = np.zeros((high.shape[0], 2))
    row_total = np.zeros((total.shape[0], 2))
    size = np.zeros(len(tables))
    for i in range(len(codes)):
        c = codes[i]
        span = (np.uint64(indptr[i]), np.uint64(indptr[i + 1]))
        _take_row(data, indices, span, weights[i], starts, offsets, tables, taken, row_total, size)
        r: Any = np.uint64(0)
        for position in range(span[0], span[1]):
            r = _region(indices[position], starts, r)
            w = np.uint64(indices[position] - offsets[r])
            high[w, c], low[w, c] = _add(high[w, c], low[w, c], taken[w, 0], taken[w, 1])
            taken[w] = 0.0  # a word that comes again has been added
        for t in range(total.shape[0]):
            total[t, c], total_low[t, c] = _add(
                total[t, c], total_low[t, c], row_total[t, 0], row_total[t, 1]
            )


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
    taken = np.zeros((high.shape[0], 2))
    row_total = np.zeros((total.shape[0], 2))
    size = np.zeros(len(tables))
    for i in range(begin, end):
        span = (np.uint64(indptr[i]), np.uint64(indptr[i + 1]))
        _take_row(data, indices, span, weights[i], starts, offsets, tables, taken, row_total, size)
        out[i] = 0.0
        r: Any = np.uint64(0)
        for position in range(span[0], span[1]):
            r = _region(indices[position], starts, r)
            w = np.uint64(indices[position] - offsets[r])
            smoothing = alpha[w if len(alpha) > 1 else np.uint64(0)]
            for c in range(out.shape[2]):
                words = high[w, c]
                if c == codes[i]:
                    words = _remaining(words, low[w, c], taken[w, 0], taken[w, 1])
                out[i, r, c] += data[position] * np.log(smoothing + words)
        _normalise_row(
            i, codes[i], total, total_low, tables, alpha_total, row_total, size, normalize, out
        )
        _forget(indices, span, starts, offsets, taken)
