"""The formulas in plain loops: slow, obvious, and what the compiled code must agree with."""

from __future__ import annotations

import numpy as np

# -- class sums -------------------------------------------------------------------------------


def class_sums(dense, codes, n_classes, weights=None):
    """Sum of each column in each class (m, C) and of each row (n,), in exact Python numbers."""
    n_rows, n_features = dense.shape
    weights = [1] * n_rows if weights is None else list(weights)
    table = [[0] * n_classes for _ in range(n_features)]
    totals = [0] * n_rows
    for i in range(n_rows):
        for j in range(n_features):
            value = dense[i, j].item()
            table[j][codes[i]] += value * weights[i]
            totals[i] += value
    return np.array(table).reshape(n_features, n_classes), np.array(totals)


def length_histogram(totals, codes, n_classes, weights=None):
    """Weight of the rows of each (rounded) total in each class, as a dictionary."""
    weights = [1] * len(totals) if weights is None else list(weights)
    histogram = {}
    for total, code, weight in zip(totals, codes, weights, strict=True):
        row = histogram.setdefault(round(float(total)), [0.0] * n_classes)
        row[code] += weight
    return histogram
