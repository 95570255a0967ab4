"""The formulas of the center and moment models in plain loops and exact fractions."""

from __future__ import annotations

import math
from fractions import Fraction
from itertools import combinations

import numpy as np


def exact_median(values, weights):
    """CEN proposition 2 with weights as fractions."""
    values = [float(v) for v in values]
    weights = [Fraction(w) for w in weights]
    total = sum(weights)
    for value in sorted(set(values)):
        below = sum(w for v, w in zip(values, weights, strict=True) if v <= value)
        if 2 * below > total:
            return value
        if 2 * below == total:
            following = min(v for v in values if v > value)
            return 0.5 * value + 0.5 * following
    raise AssertionError("no median")


def class_medians(X, y, weights=None):
    """Medians and mean deviations by class, pooled median and its deviations; dense, exact."""
    X = np.asarray(X, dtype=float)
    y = np.asarray(y)
    weights = [1] * len(y) if weights is None else list(weights)
    classes = np.unique(y)
    m = X.shape[1]
    center = np.zeros((len(classes), m))
    spread = np.zeros((len(classes), m))
    pooled = np.zeros(m)
    pooled_spread = np.zeros(m)
    totals = [
        sum(Fraction(w) for w, label in zip(weights, y, strict=True) if label == c) for c in classes
    ]
    share = [
        Fraction(w) / totals[np.searchsorted(classes, label)]
        for w, label in zip(weights, y, strict=True)
    ]
    rows = [i for i in range(len(y)) if share[i] > 0]
    for j in range(m):
        pooled[j] = exact_median([X[i, j] for i in rows], [share[i] for i in rows])
        pooled_spread[j] = sum(float(share[i]) * abs(X[i, j] - pooled[j]) for i in rows)
        for c, label in enumerate(classes):
            members = [i for i in rows if y[i] == label]
            center[c, j] = exact_median(X[members, j], [share[i] for i in members])
            spread[c, j] = sum(float(share[i]) * abs(X[i, j] - center[c, j]) for i in members)
    return center, spread, pooled, pooled_spread


def moments(X, y, weights=None):
    """Weight (C,), sum (m, C) and scatter (m, C) by class, in exact fractions."""
    X = np.asarray(X)
    y = np.asarray(y)
    weights = [1] * len(y) if weights is None else list(weights)
    classes = np.unique(y)
    total = np.zeros((X.shape[1], len(classes)))
    scatter = np.zeros_like(total)
    weight = np.zeros(len(classes))
    for c, label in enumerate(classes):
        members = [(Fraction(float(w)), X[i]) for i, w in enumerate(weights) if y[i] == label]
        W = sum(w for w, _ in members)
        weight[c] = float(W)
        for j in range(X.shape[1]):
            s = sum(w * Fraction(float(x[j])) for w, x in members)
            total[j, c] = float(s)
            if W:
                scatter[j, c] = float(
                    sum(w * (Fraction(float(x[j])) - s / W) ** 2 for w, x in members)
                )
    return weight, total, scatter


def best_support(gain_of_support, n_features, k):
    """Support of size k with the largest value, the first among equals, by trying all."""
    best = None
    for support in combinations(range(n_features), k):
        value = gain_of_support(support)
        if best is None or value > best[1] + 1e-12 * max(abs(best[1]), 1):
            best = (support, value)
    return best


def l2_objective(X, y, support):
    """Minus the smallest value of CEN eq. (8), each class averaged, with free `support`."""
    X = np.asarray(X, dtype=float)
    classes = np.unique(y)
    means = [X[np.asarray(y) == c].mean(axis=0) for c in classes]
    common = np.mean(means, axis=0)
    distance = 0.0
    for c, mean in zip(classes, means, strict=True):
        center = common.copy()
        center[list(support)] = mean[list(support)]
        members = X[np.asarray(y) == c]
        distance += ((members - center) ** 2).sum() / len(members)
    return -distance


def l1_objective(X, y, support):
    """Minus the smallest value of CEN eq. (10) with free `support`."""
    center, _, pooled, _ = class_medians(X, y)
    X = np.asarray(X, dtype=float)
    distance = 0.0
    for c, label in enumerate(np.unique(y)):
        theta = pooled.copy()
        theta[list(support)] = center[c, list(support)]
        members = X[np.asarray(y) == label]
        distance += np.abs(members - theta).sum() / len(members)
    return -distance


def gaussian_log_likelihood(x, mean, variance):
    return sum(
        -0.5 * math.log(2 * math.pi * variance) - (v - mean) ** 2 / (2 * variance) for v in x
    )


def poisson_log_likelihood(x, rate):
    return sum((v * math.log(rate) if v else 0.0) - rate - math.lgamma(v + 1) for v in x)


def categorical_log_likelihood(x, probabilities):
    return sum(math.log(probabilities[int(v)]) for v in x)
