"""Passes over a table of real counts that evaluate few of its columns.

The gain g KL(p || a) is at most g chi^2(p || a) = sum_c (f_c - g a_c)^2 / (g a_c), which needs no
logarithm: most columns are ruled out by it.
"""

from __future__ import annotations

import numpy as np
from numba import uint64

from naively._kernels.compiled import kernel
from naively._types import Array, FloatArray


@kernel
def column_totals(table: Array, start: int, stop: int, totals: FloatArray) -> None:
    """Sum over the classes of the columns start..stop: (stop - start,)."""  # noqa: D403
    n_classes = uint64(table.shape[1])
    for i in range(uint64(start), uint64(stop)):
        total = 0.0
        for c in range(n_classes):
            total += table[i, c]
        totals[i - uint64(start)] = total


@kernel
def _squares(table: Array, i: int, alpha: float, inverse: FloatArray) -> tuple[float, float]:
    """Smoothed total g of one column, and an upper bound of g times its gain."""
    total = alpha * table.shape[1]
    for c in range(uint64(table.shape[1])):
        total += table[i, c]
    squares = 0.0
    for c in range(uint64(table.shape[1])):
        excess = table[i, c] + alpha - total / inverse[c]
        squares += excess * excess * inverse[c]
    return total, squares


@kernel
def _is_seen(table: Array, i: int) -> bool:
    """Whether a column has any count."""
    for c in range(uint64(table.shape[1])):  # noqa: SIM110
        if table[i, c] > 0:
            return True
    return False


@kernel
def _entropy(table: Array, i: int, alpha: float, total: float) -> float:
    """Value of sum_c f log f - g log g for one column."""
    entropy = -total * np.log(total)
    for c in range(uint64(table.shape[1])):
        f = table[i, c] + alpha
        if f == total:
            return 0.0  # all in one class
        if f > 0:
            entropy += f * np.log(f)
    return float(entropy)


@kernel
def split_columns(
    table: Array,
    alphas: FloatArray,
    start: int,
    stop: int,
    log_a: FloatArray,
    low: float,
    high: float,
    above: Array,
    between: Array,
    totals: FloatArray,
) -> tuple[int, int, float]:
    """List the columns with a gain above `high`, and those with one in [low, high].

    Columns without any count are in neither list.

    Parameters
    ----------
    table : (m, C) non-negative
    alphas : (1,) or (m,) smoothing
    start, stop : the range of columns
    log_a : (C,) log shares at which gains are evaluated
    low, high : gains
    above, between : (stop - start,) receive the columns, ascending
    totals : (C,) the smoothed counts of the columns above are added

    Returns
    -------
    n_above, n_between : how many
    entropy : sum of sum_c f log f - g log g over the columns above
    """
    n_classes = uint64(table.shape[1])
    inverse = np.exp(-log_a)
    n_above = n_between = 0
    entropy_above = 0.0
    alpha = alphas[0]
    by_column = len(alphas) > 1
    for i in range(uint64(start), uint64(stop)):
        if by_column:
            alpha = alphas[i]
        if n_classes == 2:  # the two excesses are equal and opposite
            g = table[i, 0] + table[i, 1] + 2.0 * alpha
            excess = table[i, 0] + alpha - g / inverse[0]
            squares = excess * excess * (inverse[0] + inverse[1])
        else:
            g, squares = _squares(table, i, alpha, inverse)
        # A count may be lost in the smoothing, and the column has still been seen.
        if squares < low * g or (g <= alpha * n_classes and not _is_seen(table, i)):
            continue
        entropy = gain = _entropy(table, i, alpha, g)
        for c in range(n_classes):
            gain -= (table[i, c] + alpha) * log_a[c]
        if gain > high:
            above[n_above] = i
            n_above += 1
            entropy_above += entropy
            for c in range(n_classes):
                totals[c] += table[i, c] + alpha
        elif gain >= low:
            between[n_between] = i
            n_between += 1
    return n_above, n_between, entropy_above
