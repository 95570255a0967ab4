"""Errors at every point of a path with each row taken out of the counts, in one sweep.

The layout is that of :mod:`naively._kernels.path_scores`, the formulas stand in
:mod:`naively.judging.leave_one_out`.
"""

from __future__ import annotations

import math

import numpy as np

from naively._kernels.compiled import kernel_part, lane_kernel
from naively._kernels.logarithms import SMALL_LOSS, log_less, small_log_loss
from naively._kernels.path_scores import ROUNDING, best_class
from naively._kernels.prefetch import prefetch_to_read
from naively._kernels.residue import RESIDUE
from naively._types import Array, FloatArray

_AHEAD = 16  # entries by which the tables, too large for a cache, are asked for before


@lane_kernel
def leave_one_out_csr(
    data: Array,
    indices: Array,
    indptr: Array,
    labels: Array,
    row_weight: FloatArray,
    first: int,
    last: int,
    slot: Array,
    visit_ptr: Array,
    visit: Array,
    cell: FloatArray,
    base: FloatArray,
    own_base: FloatArray,
    alpha: FloatArray,
    log_small: FloatArray,
    total: FloatArray,
    shift: FloatArray,
    log_prior: FloatArray,
    class_weight: FloatArray,
    fit_prior: bool,
    counted: bool,
    wrong: FloatArray,
) -> None:
    """Add to `wrong` the weight of rows decided wrongly, with themselves taken out.

    The supports stay as they are. For the class of the row only, every parameter is recomputed
    from the counts without the row; all smoothed counts must be positive then.

    Parameters
    ----------
    data, indices, indptr : ndarray
        Rows in compressed form.
    labels : ndarray of shape (n,)
        Class of each row.
    row_weight : ndarray of shape (n,) or (0,)
        Weight of each row; empty for 1.
    first, last : int
        Rows to decide on.
    slot, visit_ptr
        As in `path_scores_csr`.
    visit : ndarray of shape (V, 2)
        Grid points at which each visit starts, and after which it ends.
    cell : ndarray of shape (U, 2 C)
        Counts of the feature in all rows (of presence the weights without the row), then weights.
    base, own_base : ndarray of shape (C, G)
        Of presence, whose entries are 0 or 1: score of a row of zeros without the prior, with all
        rows, and with one row of this weight less in the class. (0, G) if the features are counts.
    alpha : ndarray of shape (1,) or (U,)
        Of counts: smoothing, positive.
    log_small : ndarray
        Of counts: log(count + alpha) of small whole counts; empty if alpha is an array.
    total, shift : ndarray of shape (C, G)
        Of counts: smoothed count of the support, and its logarithm.
    log_prior : ndarray of shape (C,)
        Priors, if they are not learned.
    class_weight : ndarray of shape (C,)
        Weight of the rows of each class.
    fit_prior : bool
        Whether the priors are learned, and so change with the row.
    counted : bool
        Whether the counts hold the rows, so that each has to be taken out. Labels of other rows
        may lie beyond the classes: no class is right then.
    wrong : ndarray of shape (G,)
        Receives the weights.
    """
    n_classes, n_points, presence = len(class_weight), len(wrong), len(base) > 0
    change = np.zeros((n_classes + 1, n_points + 1))
    score, top, lost = np.empty((n_classes, n_points)), np.empty(n_points), np.empty(n_points)
    prior, weight, cells = log_prior.copy(), np.empty(n_classes), cell.ravel()
    for i in range(first, last):
        own = labels[i]
        s = row_weight[i] if len(row_weight) else 1.0
        if fit_prior:
            _learned_prior(class_weight, own, s, prior)
        taken = s if counted else 0.0
        earliest = _note_entries(
            data, indices, indptr[i], indptr[i + 1], slot, visit_ptr, visit, cell, cells, alpha,
            log_small, own, taken, presence, weight, change,
        )  # fmt: skip
        if presence:
            earliest = 0
            _score_presence(change, own, base, own_base, prior, score)
        else:
            if earliest > 0 and best_class(prior) != own:
                for g in range(earliest):
                    wrong[g] += s
            _score_counts(
                change[:, earliest:], own, taken, total[:, earliest:], shift[:, earliest:], prior,
                score[:, earliest:],
            )  # fmt: skip
        _mark_lost(score[:, earliest:], own, top[earliest:], lost[earliest:])
        for g in range(earliest, n_points):
            wrong[g] += s * lost[g]
        change[:, earliest:] = 0.0


@kernel_part
def _note_entries(
    data: Array,
    indices: Array,
    start: int,
    stop: int,
    slot: Array,
    visit_ptr: Array,
    visit: Array,
    cell: FloatArray,
    cells: FloatArray,
    alpha: FloatArray,
    log_small: FloatArray,
    own: int,
    taken: float,
    presence: bool,
    weight: FloatArray,
    change: FloatArray,
) -> int:
    """Note what a row changes at each point, and add that up; return the first such point.

    `cells` is `cell` as one row.
    """
    n_classes, n_points, last = len(weight), change.shape[1] - 1, len(indices) - 1
    earliest = n_points
    for position in range(start, stop):
        prefetch_to_read(slot, np.int64(indices[min(position + 3 * _AHEAD, last)]))
        soon = slot[np.uint64(indices[min(position + _AHEAD, last)])]
        prefetch_to_read(cells, np.int64(soon) * 2 * n_classes)
        u = np.int64(slot[np.uint64(indices[position])])
        if u < 0:
            continue
        value = np.float64(data[position])
        for c in range(n_classes):
            weight[c] = cell[u, n_classes + c]
        if presence:
            weight[own] = cell[u, own]
        elif taken > 0.0:
            smoothing = alpha[u] if len(alpha) > 1 else alpha[0]
            weight[own] = _log_without(
                cell[u, own], taken * value, smoothing, weight[own], log_small
            )
        for v in range(visit_ptr[u], visit_ptr[u + 1]):
            # What stays to the end, as most does, changes nothing there that is looked at.
            enter, leave = np.int64(visit[v, 0]), np.int64(visit[v, 1])
            earliest = enter if enter < earliest else earliest
            for c in range(n_classes):
                change[c, enter] += value * weight[c]
                change[c, leave] -= value * weight[c]
            change[n_classes, enter] += value
            change[n_classes, leave] -= value
    for c in range(n_classes + 1):
        running = 0.0
        for g in range(earliest, n_points):
            running += change[c, g]
            change[c, g] = running
    return int(earliest)


# Loops go over the points, without a branch, so that several are worked on at once.


@kernel_part
def _score_presence(
    change: FloatArray,
    own: int,
    base: FloatArray,
    own_base: FloatArray,
    prior: FloatArray,
    score: FloatArray,
) -> None:
    """Write the scores of a row, taken out of the base of its class."""
    n_classes, n_points = score.shape
    for c in range(n_classes):
        zeros = own_base[c] if c == own else base[c]
        for g in range(n_points):
            score[c, g] = prior[c] + zeros[g] + change[c, g]


@kernel_part
def _score_counts(
    change: FloatArray,
    own: int,
    taken: float,
    total: FloatArray,
    shift: FloatArray,
    prior: FloatArray,
    score: FloatArray,
) -> None:
    """Write the scores of a row, whose weight `taken` is out of the totals of its class."""
    n_classes, n_points = score.shape
    size = change[n_classes]
    for c in range(n_classes):
        for g in range(n_points):
            score[c, g] = prior[c] + (change[c, g] - size[g] * shift[c, g])
    if taken > 0.0:
        _score_own(change[own], size, taken, total[own], shift[own], prior[own], score[own])


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
    large = 0
    for g in range(len(total)):
        r = taken * size[g] / total[g]
        score[g] = prior + (change[g] - size[g] * (shift[g] - small_log_loss(r)))
        large += r >= SMALL_LOSS
    if large > 0:
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
