"""Histogram of row totals ("document lengths") within each class."""

from __future__ import annotations

import numpy as np

from naively._types import Array, FloatArray, IntArray

_EXACT_BITS = 12
_FEW_CELLS = 1 << 16  # of a histogram with all lengths up to the largest
_LARGEST = 2.0**52  # totals beyond are cut: no row of counts is that long


def length_histogram(
    totals: Array, codes: Array, weights: FloatArray | None, n_classes: int
) -> tuple[IntArray, FloatArray]:
    """Return the row totals that occur and the weight of their rows in each class.

    Totals are rounded to whole numbers, and above 4096 to 12 significant bits (a relative change
    of at most 1.3e-4). The grid is fixed, so histograms of parts add up to that of the whole, and
    their size does not grow with the number of rows: under 21,000 values up to totals of a million.

    Parameters
    ----------
    totals : ndarray of shape (n,)
        Total of each row, >= 0.
    codes : ndarray of shape (n,)
        Class of each row.
    weights : ndarray of shape (n,) or None
        Weight of each row.
    n_classes : int
        Number of classes C.

    Returns
    -------
    values : ndarray of shape (L,), int64
        Ascending.
    weight : ndarray of shape (L, C)
        Sum of the weights of the rows.
    """
    lengths = _rounded(totals)
    if len(lengths) and lengths.max() * n_classes <= max(len(lengths), _FEW_CELLS):
        cells = lengths * n_classes + codes
        present = np.bincount(lengths) > 0
        weight = np.bincount(cells, weights, len(present) * n_classes).reshape(-1, n_classes)
        return np.flatnonzero(present), weight[present].astype(np.float64)
    values, ranks = np.unique(lengths, return_inverse=True)
    weight = np.bincount(ranks * n_classes + codes, weights, len(values) * n_classes)
    return values, weight.astype(np.float64).reshape(len(values), n_classes)


def _rounded(totals: Array) -> IntArray:
    lengths: IntArray = totals
    if totals.dtype.kind == "f":
        lengths = np.rint(np.minimum(totals, _LARGEST)).astype(np.int64)
    if len(lengths) == 0 or lengths.max() < 1 << _EXACT_BITS:
        return lengths
    significand, exponent = np.frexp(np.minimum(lengths, _LARGEST))
    dropped = np.maximum(exponent - _EXACT_BITS, 0)
    kept: FloatArray = np.rint(np.ldexp(significand, exponent - dropped))
    rounded: IntArray = np.ldexp(kept, dropped).astype(np.int64)
    return rounded
