"""Gains at given class shares and class totals of a selection, in a fixed order of summation.

Not left to BLAS: its result depends on its number of threads, and a matrix of two columns is a
stream of memory in any case.
"""

from __future__ import annotations

import numpy as np

from naively._types import Array, FloatArray
from naively.kernels.compiled import kernel


@kernel
def linear_gains(counts: FloatArray, entropy: FloatArray, log_a: FloatArray) -> FloatArray:
    """entropy_i - sum_c counts_ic log_a_c: (d,)."""  # noqa: D403
    d, n_classes = counts.shape
    gains = np.empty(d)
    for i in range(d):
        total = entropy[i]
        for c in range(n_classes):
            total -= counts[i, c] * log_a[c]
        gains[i] = total
    return gains


@kernel
def taken_totals(counts: FloatArray, take: Array) -> FloatArray:
    """sum_i take_i counts_ic: (C,)."""  # noqa: D403
    d, n_classes = counts.shape
    totals = np.zeros(n_classes)
    for i in range(d):
        if take[i] != 0:
            for c in range(n_classes):
                totals[c] += take[i] * counts[i, c]
    return totals
