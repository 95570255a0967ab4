"""The formulas of the papers in plain loops, and brute force over all supports."""

from __future__ import annotations

import itertools
import math

import numpy as np


def xlogx(x):
    return x * math.log(x) if x > 0 else 0.0


def bernoulli_log_likelihood(table, class_weight, support, alpha=0.0):
    """Smoothed log-likelihood with the features of `support` free, the others pooled."""
    total = 0.0
    for i, row in enumerate(table):
        f = [x + alpha for x in row]
        n = [w + 2 * alpha for w in class_weight]
        if i not in support:
            f, n = [sum(f)], [sum(n)]
        for present, rows in zip(f, n, strict=True):
            total += xlogx(present) + xlogx(rows - present) - xlogx(rows)
    return total


def multinomial_log_likelihood(table, support, alpha=0.0):
    """Smoothed log-likelihood at the maximiser: NFS-long equation (13), written out."""
    f = [[x + alpha for x in row] for row in table]
    g = [sum(row) for row in f]
    all_counts = sum(g)
    n_classes = len(f[0])
    free = [sum(f[i][c] for i in support) for c in range(n_classes)]
    total = 0.0
    for i, row in enumerate(f):
        for c in range(n_classes):
            if row[c] == 0:
                continue
            theta = g[i] / all_counts
            if i in support:
                theta = row[c] / free[c] * sum(free) / all_counts
            total += row[c] * math.log(theta)
    return total


def seen_columns(table):
    return [i for i, row in enumerate(table) if sum(row) > 0]


def best_by_brute_force(log_likelihood, columns, k):
    """Largest log-likelihood over all supports of k of the columns."""
    k = min(k, len(columns))
    return max(log_likelihood(set(s)) for s in itertools.combinations(columns, k))


def multinomial_gain_vector(table, shares, alpha=0.0):
    gains = []
    for row in table:
        f = [x + alpha for x in row]
        g = sum(f)
        gains.append(
            sum(x * math.log(x / (g * a)) for x, a in zip(f, shares, strict=True) if x > 0)
        )
    return np.array(gains)


class Counts:
    """Stand-in for class statistics: what the count models read."""

    def __init__(self, table, class_weight=None):
        self.table = np.asarray(table)
        if self.table.dtype.kind in "bui":
            self.table = self.table.astype(np.int64)
        if class_weight is None:
            class_weight = self.table.sum(axis=0)
        self.class_weight = np.asarray(class_weight, dtype=np.float64)
        self.feature_weight, self.observed = self.class_weight, None  # nothing is missing
