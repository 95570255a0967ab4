"""The formulas in plain loops: slow, obvious, and what the compiled code must agree with."""

from __future__ import annotations

import numpy as np

# -- class sums -------------------------------------------------------------------------------


def class_sums(dense, codes, n_classes, weights=None):
    """Sum of each column in each class (m, C) and of each row (n,), in Python's own numbers."""
    n_rows, n_features = dense.shape
    weights = [1] * n_rows if weights is None else np.asarray(weights).tolist()
    table = [[0] * n_classes for _ in range(n_features)]
    totals = [0] * n_rows
    for i in range(n_rows):
        for j in range(n_features):
            value = dense[i, j].item()
            table[j][codes[i]] += value * weights[i]
            totals[i] += value
    return np.array(table).reshape(n_features, n_classes), np.array(totals)


def bucket_sizes(indices, shift, n_buckets):
    """Number of entries of each range of 2**shift columns."""
    sizes = [0] * n_buckets
    for j in indices:
        sizes[int(j) // 2**shift] += 1
    return np.array(sizes)


def partition(rows, codes, n_classes, shift, n_buckets):
    """Entries (cell within the bucket, value) of each bucket, in the order of the rows.

    `rows` is a list of rows, each a list of (column, value).
    """
    buckets = [[] for _ in range(n_buckets)]
    for i, row in enumerate(rows):
        for j, value in row:
            cell = j % 2**shift * n_classes + int(codes[i])
            buckets[j // 2**shift].append((cell, value))
    return buckets


def length_histogram(totals, codes, n_classes, weights=None):
    """Weight of the rows of each total, rounded, in each class: a dictionary of lists."""
    weights = [1] * len(totals) if weights is None else list(weights)
    histogram = {}
    for total, code, weight in zip(totals, codes, weights, strict=True):
        row = histogram.setdefault(round(float(total)), [0.0] * n_classes)
        row[code] += weight
    return histogram
