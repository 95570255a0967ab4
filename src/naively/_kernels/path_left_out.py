"""Errors at every point of a path with each row taken out of the counts, in one sweep.

The layout is that of :mod:`naively._kernels.path_scores`, the formulas stand in
:mod:`naively.judging.leave_one_out`.
"""

from __future__ import annotations

import math

import numpy as np

from naively._kernels.compiled import kernel, kernel_part
from naively._kernels.logarithms import SMALL_LOSS, log_less, small_log_loss
from naively._kernels.path_scores import ROUNDING, best_class, longest_row, note_visit
from naively._kernels.residue import RESIDUE
from naively._types import Array, FloatArray, IntArray


@kernel
def leave_one_out_presence_csr(
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
    class_weight: FloatArray,
    fit_prior: bool,
    wrong: FloatArray,
) -> None:
    """Add to `wrong` the weight of presence rows decided wrongly with themselves taken out.

    The supports stay as they are. For the class of the row only, every parameter is recomputed
    from the counts without the row; all smoothed counts must be positive then.

    Parameters
    ----------
    data, indices, indptr : ndarray
        Rows in compressed form; entries are 0 or 1.
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
    absent : ndarray of shape (U, C)
        Smoothed number of rows without the feature, as `own_base` has it.
    base, own_base : ndarray of shape (G, C)
        Score of a row of zeros without the prior if that is learned: with all rows, and with one
        row of this weight less in the class.
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
            weight[own] = math.log(cell[u, own] - s * value) - math.log(absent[u, own])
            for v in range(visit_ptr[u], visit_ptr[u + 1]):
                note_visit(change, enter[v], leave[v], value, weight)
        _decide_without(change, own, s, base, own_base, prior, wrong)


@kernel
def _decide_without(
    change: FloatArray,
    own: int,
    s: float,
    base: FloatArray,
    own_base: FloatArray,
    prior: FloatArray,
    wrong: FloatArray,
) -> None:
    """Add up the changes of a row of weight s and class `own`, and decide at every grid point."""
    n_points, n_classes = base.shape
    score = np.empty(n_classes)
    for g in range(n_points):
        for c in range(n_classes):
            score[c] = prior[c] + base[g, c] + change[g, c]
        score[own] += own_base[g, own] - base[g, own]
        if best_class(score) != own:
            wrong[g] += s
        for c in range(n_classes + 1):
            change[g + 1, c] += change[g, c]


@kernel
def leave_one_out_counts_csr(
    data: Array,
    indices: Array,
    indptr: Array,
    labels: Array,
    row_weight: FloatArray,
    first: int,
    last: int,
    stay: Array,
    more_feature: IntArray,
    more_ptr: IntArray,
    more_enter: IntArray,
    more_leave: IntArray,
    table: Array,
    logs: FloatArray,
    alpha: FloatArray,
    log_small: FloatArray,
    total: FloatArray,
    shift: FloatArray,
    base: FloatArray,
    class_weight: FloatArray,
    fit_prior: bool,
    counted: bool,
    wrong: FloatArray,
) -> None:
    """Add to `wrong` the weight of rows of counts decided wrongly, with themselves taken out.

    Tables as long as the columns do not fit a cache, so an entry reads one place of such a table
    only: its stay, and by its group the counts. All entries of a row are read before any is worked
    on, so that the reads overlap.

    Parameters
    ----------
    data, indices, indptr, labels, row_weight, first, last
        As in `leave_one_out_presence_csr`.
    stay : ndarray of shape (m, 3)
        Group of equal features that the feature belongs to, and grid points at which it enters
        (G: never) and leaves; -1 instead of the latter for a feature with several visits.
    more_feature, more_ptr, more_enter, more_leave : ndarray
        Features with several visits, ascending, where their visits start, and these.
    table, logs : ndarray of shape (d, C)
        Counts of each group in all rows, and their smoothed logarithms.
    alpha : ndarray of shape (1,) or (d,)
        Smoothing, positive.
    log_small : ndarray
        log(count + alpha) of small whole counts; empty if alpha is an array.
    total, shift : ndarray of shape (C, G)
        Smoothed count of the support, and its logarithm.
    base : ndarray of shape (C,)
        Fixed log priors, or zeros.
    class_weight, fit_prior, wrong
        As in `leave_one_out_presence_csr`.
    counted : bool
        Whether the counts hold the rows, so that each has to be taken out. Labels of other rows
        may lie beyond the classes: no class is right then.
    """
    n_classes, n_points = total.shape
    change = np.zeros((n_classes + 1, n_points + 1))
    score, top, lost = np.empty((n_classes, n_points)), np.empty(n_points), np.empty(n_points)
    prior = base.copy()
    longest = longest_row(indptr, first, last)
    group = np.empty(longest, np.int64)
    enter = np.empty(longest, np.int64)
    leave = np.empty(longest, np.int64)
    weights = np.empty((longest, n_classes))
    for i in range(first, last):
        own = labels[i]
        s = row_weight[i] if len(row_weight) else 1.0
        if fit_prior:
            _learned_prior(class_weight, own, s, prior)
        taken = s if counted else 0.0
        start = indptr[i]
        size = indptr[i + 1] - start
        _read_row(indices, start, size, stay, logs, n_points, group, enter, leave, weights)
        earliest = n_points
        for e in range(size):
            if enter[e] == n_points:
                continue
            earliest = min(earliest, enter[e])
            value = np.float64(data[start + e])
            if counted:
                count, log_count = np.float64(table[group[e], own]), weights[e, own]
                smoothing = alpha[group[e] if len(alpha) > 1 else 0]
                weights[e, own] = _log_without(count, s * value, smoothing, log_count, log_small)
            if leave[e] == n_points:  # it stays to the end, as most do
                at = np.uint64(enter[e])
                for c in range(n_classes):
                    change[c, at] += value * weights[e, c]
                change[n_classes, at] += value
            else:
                more = (more_feature, more_ptr, more_enter, more_leave)
                j = indices[start + e]
                _come_and_go(change, j, enter[e], leave[e], *more, value, weights[e])
        if earliest > 0 and best_class(prior) != own:
            for g in range(earliest):
                wrong[g] += s
        _decide_counts(
            change[:, earliest:], own, s, taken, total[:, earliest:], shift[:, earliest:], prior,
            score[:, earliest:], top[earliest:], lost[earliest:], wrong[earliest:],
        )  # fmt: skip


@kernel_part
def _read_row(
    indices: Array,
    start: int,
    size: int,
    stay: Array,
    logs: FloatArray,
    n_points: int,
    group: IntArray,
    enter: IntArray,
    leave: IntArray,
    weights: FloatArray,
) -> None:
    """Read groups, stays and logarithms of the features of a row."""
    for e in range(size):
        j = np.uint64(indices[start + e])
        group[e] = stay[j, 0]
        enter[e] = stay[j, 1]
        leave[e] = stay[j, 2]
    for e in range(size):
        if enter[e] != n_points:
            for c in range(weights.shape[1]):
                weights[e, c] = logs[group[e], c]


@kernel
def _come_and_go(
    change: FloatArray,
    j: int,
    enter: int,
    leave: int,
    more_feature: IntArray,
    more_ptr: IntArray,
    more_enter: IntArray,
    more_leave: IntArray,
    value: float,
    weight: FloatArray,
) -> None:
    """Note the visits of a feature that leaves."""
    if leave >= 0:
        note_visit(change.T, enter, leave, value, weight)
        return
    several = np.searchsorted(more_feature, j)
    for v in range(more_ptr[several], more_ptr[several + 1]):
        note_visit(change.T, more_enter[v], more_leave[v], value, weight)


@kernel_part
def _decide_counts(
    change: FloatArray,
    own: int,
    s: float,
    taken: float,
    total: FloatArray,
    shift: FloatArray,
    prior: FloatArray,
    score: FloatArray,
    top: FloatArray,
    lost: FloatArray,
    wrong: FloatArray,
) -> None:
    """Add up and clear the changes (C + 1, G + 1) of a row, and decide, at some grid points.

    Loops go over the points, without a branch, so that several are worked on at once.
    """
    n_classes, n_points = total.shape
    for c in range(n_classes + 1):
        running = 0.0
        for g in range(n_points):
            running += change[c, g]
            change[c, g] = running
    size = change[n_classes]
    for c in range(n_classes):
        for g in range(n_points):
            score[c, g] = prior[c] + (change[c, g] - size[g] * shift[c, g])
    if taken > 0.0:
        _score_own(change[own], size, taken, total[own], shift[own], prior[own], score[own])
    _mark_lost(score, own, top, lost)
    for g in range(n_points):
        wrong[g] += s * lost[g]
    for c in range(n_classes + 1):
        for g in range(n_points + 1):
            change[c, g] = 0.0


@kernel_part
def _score_own(
    change: FloatArray,
    size: FloatArray,
    taken: float,
    total: FloatArray,
    shift: FloatArray,
    prior: float,
    score: FloatArray,
) -> None:
    """Write the scores of the class of a row, which is taken out of its totals."""
    largest = 0.0
    for g in range(len(total)):
        r = taken * size[g] / total[g]
        score[g] = prior + (change[g] - size[g] * (shift[g] - small_log_loss(r)))
        largest = r if r > largest else largest
    if largest >= SMALL_LOSS:
        for g in range(len(total)):
            part = taken * size[g]
            if part / total[g] >= SMALL_LOSS:
                score[g] = prior + (change[g] - size[g] * math.log(total[g] - part))


@kernel_part
def _mark_lost(score: FloatArray, own: int, top: FloatArray, lost: FloatArray) -> None:
    """Write 1 where `best_class` of the scores is another than `own`, else 0; `top` is scratch."""
    n_classes, n_points = score.shape
    for g in range(n_points):
        top[g] = score[0, g]
        lost[g] = 1.0
    for c in range(1, n_classes):
        for g in range(n_points):
            top[g] = score[c, g] if score[c, g] > top[g] else top[g]
    for g in range(n_points):
        top[g] -= ROUNDING * abs(top[g]) if abs(top[g]) < math.inf else 0.0
    if own < n_classes:
        for g in range(n_points):
            lost[g] = 0.0 if score[own, g] >= top[g] else 1.0
        for c in range(own):
            for g in range(n_points):
                lost[g] = 1.0 if score[c, g] >= top[g] else lost[g]


@kernel_part
def _log_without(
    count: float, part: float, smoothing: float, log_count: float, log_small: FloatArray
) -> float:
    """Return log(count - part + smoothing), from log(count + smoothing) where that is close."""
    left = count - part
    small = int(left) if 0.0 <= left < len(log_small) else -1
    if small == left:
        return float(log_small[small])
    return log_less(count + smoothing, log_count, part)


@kernel_part
def _learned_prior(class_weight: FloatArray, own: int, s: float, prior: FloatArray) -> None:
    """Log weight of each class without a row of weight s; -inf for a class that had no other."""
    for c in range(len(prior)):
        left = class_weight[c] - (s if c == own else 0.0)
        prior[c] = math.log(left) if left > RESIDUE * class_weight[c] else -np.inf
