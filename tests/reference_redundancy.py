"""Conditional mutual information maximisation in plain loops (Fleuret 2004)."""

from collections import Counter
from math import log

import numpy as np


def information(x, y, weight):
    """n I(x; y) in nats, by its definition over the cells."""
    n, both, xs, ys = sum(weight), Counter(), Counter(), Counter()
    for a, b, w in zip(x, y, weight, strict=True):
        both[a, b] += w
        xs[a] += w
        ys[b] += w
    return sum(w * log(w * n / (xs[a] * ys[b])) for (a, b), w in both.items() if w > 0)


def given(x, y, z, weight):
    """n I(x; y | z): the sum over the rows of each value of z."""
    total = 0.0
    for value in set(z):
        rows = [i for i in range(len(z)) if z[i] == value]
        parts = ([each[i] for i in rows] for each in (x, y, weight))
        total += information(*parts)
    return total


def correlation_within(x, z, y, weight):
    """Correlation of deviations from the class means."""
    a, b = np.array(x, dtype=float), np.array(z, dtype=float)
    for c in set(y):
        rows = [i for i in range(len(y)) if y[i] == c]
        for each in (a, b):
            mean = sum(weight[i] * each[i] for i in rows) / sum(weight[i] for i in rows)
            each[rows] -= mean
    spread = (weight * a * a).sum() * (weight * b * b).sum()
    return (weight * a * b).sum() / np.sqrt(spread) if spread > 1e-20 else 0.0


def greedy(gain, pair, k, slack=1e-9, required=(), excluded=(), quota=0, speaks=None):
    """Columns in order, what each adds, and who displaces whom: {chosen: [left out]}.

    `pair(i, j)` is the gain of i given j. Of equal values the largest gain is first, then the
    lowest column. The required columns come first, in the same order; excluded ones never come.
    Until each class has its quota, or all there are, those that have fewest come.
    """
    allowed = [i for i in range(len(gain)) if i not in excluded]
    ranks = sorted(allowed, key=lambda i: (-round(gain[i] / slack), i))
    order, added = [], []
    for _ in range(k):
        left = [i for i in required if i not in order] or [i for i in allowed if i not in order]
        if quota and len(order) >= len(required):
            has = {c: sum(speaks[i] == c for i in order) for c in {speaks[i] for i in left}}
            fewest = min(has.values())
            if quota == "even" or fewest < quota:
                left = [i for i in left if has[speaks[i]] == fewest]
        value = {i: min([gain[i], *(pair(i, j) for j in order)]) for i in left}
        best = max(value.values())
        first = next(i for i in ranks if i in value and value[i] >= best - slack)
        order.append(first)
        added.append(value[first])
    displaced = {j: [] for j in order}
    for i in ranks:
        if i not in order and gain[i] > added[-1] + slack:
            pairs = [pair(i, j) for j in order]
            to_blame = next(j for j, p in zip(order, pairs, strict=True) if p <= min(pairs) + slack)
            if min(pairs) < gain[i] - slack:
                displaced[to_blame].append(i)
    return order, added, displaced
