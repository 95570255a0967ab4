"""Scores of rows at every point of a path of supports, in one sweep over their entries.

At grid point g the score of class c for a row x is

    base[g, c] + sum of x_i * weight[i, c] - (sum of x_i) * shift[g, c]

over the features i of the point. Linear models whose features do not depend on one another have
no shift; in the multinomial model it is log F_c(S_g), and one weight serves the whole path.

A visit is a stay of a feature in the supports, from grid point `enter` to before `leave`. An entry
of a row is touched once per visit of its feature; running sums over the grid do the rest. Slots
number the features that occur anywhere on the path; `slot` is -1 for all others.

Weights and bases are finite. What has probability zero is counted apart (`veto`, `base_veto`;
arrays without rows if there is no such event): minus infinity cannot leave a running sum again.
"""

from __future__ import annotations

import math

import numpy as np

from naively._kernels.compiled import kernel, kernel_part
from naively._types import Array, FloatArray, IntArray

ROUNDING = 1e-12  # as in models.rules.winners


@kernel
def path_scores_csr(
    data: Array,
    indices: Array,
    indptr: Array,
    first: int,
    slot: Array,
    visit_ptr: IntArray,
    enter: IntArray,
    leave: IntArray,
    weight: FloatArray,
    veto: FloatArray,
    base: FloatArray,
    base_veto: FloatArray,
    shift: FloatArray,
    log_prior: FloatArray,
    change: FloatArray,
    changed_veto: FloatArray,
    slots: Array,
    scores: FloatArray,
) -> None:
    """Score rows `first`, `first` + 1, ... at every grid point.

    Parameters
    ----------
    data, indices, indptr : ndarray
        Rows in compressed form.
    first : int
        First row to score.
    slot : ndarray of shape (m,)
        Slot of each feature, or -1.
    visit_ptr : ndarray of shape (U + 1,)
        Where the visits of each slot start.
    enter, leave : ndarray of shape (V,)
        Grid points.
    weight, veto : ndarray of shape (V, C) and (V or 0, C)
        Weights, and 1 where presence rules the class out (-1: no longer does).
    base, base_veto, shift : ndarray of shape (G, C), (G or 0, C) and (G, C)
        As above; `base_veto` counts the events that rule out a row of zeros.
    log_prior : ndarray of shape (C,)
        Scores of a row that every class rules out.
    change, changed_veto, slots : ndarray of shape (G + 1, C + 1), (G + 1, C or 0) and (entries,)
        Room for the changes that one row makes, and for its entries.
    scores : ndarray of shape (rows, G, C)
        Receives the scores.
    """
    n_classes = base.shape[1]
    for row in range(len(scores)):
        change[:] = 0.0
        changed_veto[:] = 0.0
        start = indptr[first + row]
        size = indptr[first + row + 1] - start
        for e in range(size):  # before any is worked on, so that the reads overlap
            slots[e] = slot[np.uint64(indices[start + e])]
        for e in range(size):
            u = slots[e]
            value = np.float64(data[start + e])
            if u < 0 or value == 0.0:
                continue
            for v in range(visit_ptr[u], visit_ptr[u + 1]):
                # What stays to the end, as most does, changes nothing there that is looked at.
                for c in range(n_classes):
                    change[enter[v], c] += value * weight[v, c]
                    change[leave[v], c] -= value * weight[v, c]
                change[enter[v], n_classes] += value
                change[leave[v], n_classes] -= value
                for c in range(changed_veto.shape[1]):
                    changed_veto[enter[v], c] += veto[v, c]
                    changed_veto[leave[v], c] -= veto[v, c]
        _add_up(change, base, shift, scores[row])
        if len(base_veto):
            _rule_out(changed_veto, base_veto, log_prior, scores[row])


@kernel_part
def longest_row(indptr: Array, first: int, last: int) -> int:
    """Return the most entries that a row from `first` to before `last` has."""
    longest = 0
    for i in range(first, last):
        longest = max(longest, indptr[i + 1] - indptr[i])
    return longest


@kernel_part
def _add_up(change: FloatArray, base: FloatArray, shift: FloatArray, scores: FloatArray) -> None:
    """Sum the changes up over the grid, to scores (G, C)."""
    n_points, n_classes = base.shape
    for g in range(n_points):
        for c in range(n_classes):
            scores[g, c] = base[g, c] + (change[g, c] - change[g, n_classes] * shift[g, c])
        for c in range(n_classes + 1):
            change[g + 1, c] += change[g, c]


@kernel_part
def _rule_out(
    changed_veto: FloatArray, base_veto: FloatArray, log_prior: FloatArray, scores: FloatArray
) -> None:
    """Minus infinity for classes that are ruled out; the prior where all are."""
    n_points, n_classes = base_veto.shape
    for g in range(n_points):
        possible = 0
        for c in range(n_classes):
            if base_veto[g, c] + changed_veto[g, c] > 0.5:
                scores[g, c] = -np.inf
            elif scores[g, c] > -np.inf:  # a class without prior is not possible either
                possible += 1
            changed_veto[g + 1, c] += changed_veto[g, c]
        if possible == 0:
            for c in range(n_classes):
                scores[g, c] = log_prior[c]


@kernel
def add_errors(
    scores: FloatArray, labels: Array, row_weight: FloatArray, first: int, wrong: FloatArray
) -> None:
    """Add the weight of the rows decided wrongly at each grid point to `wrong` (G,).

    The first class with the largest score (to rounding) wins. `labels` and `row_weight` (empty:
    all 1) are of all rows; `scores` (rows, G, C) starts with row `first`.
    """
    for row in range(scores.shape[0]):
        weight = row_weight[first + row] if len(row_weight) else 1.0
        for g in range(scores.shape[1]):
            if best_class(scores[row, g]) != labels[first + row]:
                wrong[g] += weight


@kernel_part
def best_class(scores: FloatArray) -> int:
    """First class whose score is the largest; closer than rounding can tell is equal."""
    largest = scores[0]
    for c in range(len(scores)):
        largest = max(largest, scores[c])
    slack = ROUNDING * abs(largest) if math.isfinite(largest) else 0.0
    for c in range(len(scores)):
        if scores[c] >= largest - slack:
            return c
    return 0
