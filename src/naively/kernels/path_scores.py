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

from naively._types import Array, FloatArray, IntArray
from naively.kernels.compiled import kernel

_ROUNDING = 1e-9  # nats


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
    scores : ndarray of shape (rows, G, C)
        Receives the scores.
    """
    n_points, n_classes = base.shape
    change = np.zeros((n_points + 1, n_classes + 1))
    changed_veto = np.zeros((n_points + 1, n_classes if len(base_veto) else 0))
    for row in range(len(scores)):
        change[:] = 0.0
        changed_veto[:] = 0.0
        for position in range(indptr[first + row], indptr[first + row + 1]):
            u = slot[np.uint64(indices[position])]
            value = np.float64(data[position])
            if u < 0 or value == 0.0:
                continue
            for v in range(visit_ptr[u], visit_ptr[u + 1]):
                _visit(change, enter[v], leave[v], value, weight[v])
                for c in range(changed_veto.shape[1]):
                    changed_veto[enter[v], c] += veto[v, c]
                    changed_veto[leave[v], c] -= veto[v, c]
        _add_up(change, base, shift, scores[row])
        if len(base_veto):
            _rule_out(changed_veto, base_veto, log_prior, scores[row])


@kernel
def _visit(change: FloatArray, enter: int, leave: int, value: float, weight: FloatArray) -> None:
    """Note in the changes (G + 1, C + 1) of a row what one of its entries does during a visit."""
    n_classes = len(weight)
    for c in range(n_classes):
        change[enter, c] += value * weight[c]
        change[leave, c] -= value * weight[c]
    change[enter, n_classes] += value
    change[leave, n_classes] -= value


@kernel
def _add_up(change: FloatArray, base: FloatArray, shift: FloatArray, scores: FloatArray) -> None:
    """Sum the changes up over the grid, to scores (G, C)."""
    n_points, n_classes = base.shape
    for g in range(n_points):
        for c in range(n_classes):
            scores[g, c] = base[g, c] + (change[g, c] - change[g, n_classes] * shift[g, c])
        for c in range(n_classes + 1):
            change[g + 1, c] += change[g, c]


@kernel
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
            else:
                possible += 1
            changed_veto[g + 1, c] += changed_veto[g, c]
        if possible == 0:
            scores[g, :] = log_prior


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
            if _best(scores[row, g]) != labels[first + row]:
                wrong[g] += weight


@kernel
def _best(scores: FloatArray) -> int:
    """First class whose score is the largest; closer than rounding can tell is equal."""
    largest = scores[0]
    for c in range(1, len(scores)):
        largest = max(largest, scores[c])
    for c in range(len(scores)):
        if scores[c] >= largest - _ROUNDING:
            return c
    return 0


@kernel
def leave_one_out_errors_csr(
    data: Array,
    indices: Array,
    indptr: Array,
    labels: Array,
    row_weight: FloatArray,
    first: int,
    last: int,
    slot: Array,
    visit_ptr: IntArray,
    enter: IntArray,
    leave: IntArray,
    cell: FloatArray,
    absent: FloatArray,
    base: FloatArray,
    own_base: FloatArray,
    total: FloatArray,
    shift: FloatArray,
    class_weight: FloatArray,
    fit_prior: bool,
    wrong: FloatArray,
) -> None:
    """Add to `wrong` the weight of rows decided wrongly with their own counts taken out.

    The supports stay as they are. For the class of the row only, every parameter is recomputed
    from the counts without the row; all smoothed counts must be positive then.

    Parameters
    ----------
    data, indices, indptr : ndarray
        Rows in compressed form; entries are 0 or 1 in the presence model.
    labels : ndarray of shape (n,)
        Class of each row.
    row_weight : ndarray of shape (n,) or (0,)
        Weight of each row; empty for 1.
    first, last : int
        Rows to decide on.
    slot, visit_ptr, enter, leave
        As in `path_scores_csr`.
    cell : ndarray of shape (U, 2 C)
        Smoothed counts of the feature, then its weights.
    absent : ndarray of shape (U or 0, C)
        Presence model: what `own_base` takes the feature to be worth, smoothed number of rows
        without it. Empty for counts.
    base, own_base : ndarray of shape (G, C)
        Score of a row of zeros without the prior if that is learned: with all rows, and with one
        row of this weight less in the class.
    total : ndarray of shape (G or 0, C)
        Counts: smoothed count of the support. Empty for presence.
    shift : ndarray of shape (G, C)
        Logarithm of `total`; zeros for presence.
    class_weight : ndarray of shape (C,)
        Weight of the rows of each class.
    fit_prior : bool
        Whether the priors are learned, and so change with the row.
    wrong : ndarray of shape (G,)
        Receives the weights.
    """
    n_points, n_classes = base.shape
    change = np.zeros((n_points + 1, n_classes + 1))
    weight = np.empty(n_classes)
    prior = np.zeros(n_classes)
    for i in range(first, last):
        own = labels[i]
        s = row_weight[i] if len(row_weight) else 1.0
        if fit_prior:
            _learned_prior(class_weight, own, s, prior)
        change[:] = 0.0
        for position in range(indptr[i], indptr[i + 1]):
            u = slot[np.uint64(indices[position])]
            if u < 0:
                continue
            value = np.float64(data[position])
            weight[:] = cell[u, n_classes:]
            weight[own] = math.log(cell[u, own] - s * value)
            if len(absent):
                weight[own] -= math.log(absent[u, own])
            for v in range(visit_ptr[u], visit_ptr[u + 1]):
                _visit(change, enter[v], leave[v], value, weight)
        _decide_without(change, own, s, base, own_base, total, shift, prior, wrong)


@kernel
def _decide_without(
    change: FloatArray,
    own: int,
    s: float,
    base: FloatArray,
    own_base: FloatArray,
    total: FloatArray,
    shift: FloatArray,
    prior: FloatArray,
    wrong: FloatArray,
) -> None:
    """Add up the changes of a row of weight s and class `own`, and decide at every grid point."""
    n_points, n_classes = base.shape
    score = np.empty(n_classes)
    for g in range(n_points):
        size = change[g, n_classes]
        for c in range(n_classes):
            score[c] = prior[c] + base[g, c] + (change[g, c] - size * shift[g, c])
        score[own] = prior[own] + own_base[g, own] + change[g, own]
        if len(total):
            score[own] -= size * _log_less(total[g, own], shift[g, own], s * size)
        if _best(score) != own:
            wrong[g] += s
        for c in range(n_classes + 1):
            change[g + 1, c] += change[g, c]


@kernel
def _learned_prior(class_weight: FloatArray, own: int, s: float, prior: FloatArray) -> None:
    """Log weight of each class without a row of weight s; -inf for a class that had no other."""
    for c in range(len(prior)):
        left = class_weight[c] - (s if c == own else 0.0)
        prior[c] = math.log(left) if left > 1e-12 * class_weight[c] else -np.inf


@kernel
def _log_less(whole: float, log_whole: float, part: float) -> float:
    """Return log(whole - part)."""
    ratio = part / whole
    if ratio < 1e-4:
        # A logarithm per row and grid point is what the sweep would spend most of its time on;
        # the next term of the series is below 1e-16.
        return log_whole - ratio * (1.0 + ratio * (0.5 + ratio * (1.0 / 3.0)))
    return math.log(whole - part)


@kernel
def group_visits(
    group: IntArray,
    pointer: IntArray,
    position: IntArray,
    change: IntArray,
    n_points: int,
    slot: Array,
    visit_ptr: IntArray,
    enter: IntArray,
    leave: IntArray,
) -> tuple[int, int]:
    """List the visits of columns that enter and leave by groups, lowest index first.

    Called twice: with empty `visit_ptr`, `enter` and `leave` to count, then to write.

    Parameters
    ----------
    group : ndarray of shape (m,)
        Group of each column.
    pointer : ndarray of shape (d + 1,)
        Where the changes of each group start.
    position, change : ndarray
        Grid position and number of columns of each change, ascending within a group.
    n_points : int
        Number of grid points G.
    slot : ndarray of shape (m,)
        Receives the slots, -1 for columns that are never in.
    visit_ptr, enter, leave : ndarray of shape (U + 1,) and (V,)
        Receive the visits.

    Returns
    -------
    U, V : int
        Number of columns that are ever in, and of their visits.
    """
    seen = np.zeros(len(pointer) - 1, np.int64)  # columns of the group so far
    slots = 0
    visits = 0
    for j in range(len(group)):
        g = group[j]
        rank = seen[g]
        seen[g] += 1
        level = 0
        inside = False
        before = visits
        for at in range(pointer[g], pointer[g + 1]):
            level += change[at]
            if inside == (level > rank):
                continue
            inside = not inside
            if inside:
                if len(enter):
                    enter[visits] = position[at]
                    leave[visits] = n_points
                visits += 1
            elif len(enter):
                leave[visits - 1] = position[at]
        slot[j] = slots if visits > before else -1
        if visits > before:
            slots += 1
            if len(visit_ptr):
                visit_ptr[slots] = visits
    return slots, visits
