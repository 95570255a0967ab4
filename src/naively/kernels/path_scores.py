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
from naively.kernels.compiled import kernel, kernel_part

_ROUNDING = 1e-12  # as in families.rules.winners


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


@kernel_part
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


@kernel_part
def _best(scores: FloatArray) -> int:
    """First class whose score is the largest; closer than rounding can tell is equal."""
    largest = scores[0]
    size = 0.0
    for c in range(len(scores)):
        largest = max(largest, scores[c])
        if math.isfinite(scores[c]):
            size = max(size, abs(scores[c]))
    for c in range(len(scores)):
        if scores[c] >= largest - _ROUNDING * size:
            return c
    return 0


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
                _visit(change, enter[v], leave[v], value, weight)
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
        if _best(score) != own:
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

    Tables as long as the columns do not fit a cache, so an entry reads two places only: its stay
    and its counts. All entries of a row are read before any is worked on, so that the reads
    overlap.

    Parameters
    ----------
    data, indices, indptr, labels, row_weight, first, last
        As in `leave_one_out_presence_csr`.
    stay : ndarray of shape (m, 2)
        Grid points at which the feature enters (G: never) and leaves; -1 instead of the latter
        for a feature with several visits.
    more_feature, more_ptr, more_enter, more_leave : ndarray
        Features with several visits, ascending, where their visits start, and these.
    table : ndarray of shape (m, C)
        Counts of all rows.
    alpha : ndarray of shape (1,) or (m,)
        Smoothing, positive.
    log_small : ndarray
        log(count + alpha) of small whole counts; empty if alpha is an array.
    total, shift : ndarray of shape (G, C)
        Smoothed count of the support, and its logarithm.
    base : ndarray of shape (C,)
        Fixed log priors, or zeros.
    class_weight, fit_prior, wrong
        As in `leave_one_out_presence_csr`.
    counted : bool
        Whether the counts hold the rows, so that each has to be taken out. Labels of other rows
        may lie beyond the classes: no class is right then.
    """
    n_points, n_classes = total.shape
    change = np.zeros((n_points + 1, n_classes + 1))
    weight = np.empty(n_classes)
    prior = base.copy()
    longest = _longest_row(indptr, first, last)
    enter = np.empty(longest, np.int64)
    leave = np.empty(longest, np.int64)
    counts = np.empty((longest, n_classes), table.dtype)
    for i in range(first, last):
        own = labels[i]
        s = row_weight[i] if len(row_weight) else 1.0
        taken = s if counted else 0.0
        if fit_prior:
            _learned_prior(class_weight, own, s, prior)
        start = indptr[i]
        size = indptr[i + 1] - start
        _read_row(indices, start, size, stay, table, n_points, enter, leave, counts)
        earliest = n_points
        for e in range(size):
            if enter[e] == n_points:
                continue
            earliest = min(earliest, enter[e])
            value = np.float64(data[start + e])
            smoothing = alpha[indices[start + e] if len(alpha) > 1 else 0]
            for c in range(n_classes):
                left = np.float64(counts[e, c]) - (taken * value if c == own else 0.0)
                weight[c] = _log(left, smoothing, log_small)
            if leave[e] == n_points:  # it stays to the end, as most do
                at = np.uint64(enter[e])
                for c in range(n_classes):
                    change[at, c] += value * weight[c]
                change[at, n_classes] += value
            else:
                more = (more_feature, more_ptr, more_enter, more_leave)
                j = indices[start + e]
                _come_and_go(change, j, enter[e], leave[e], *more, value, weight)
        _decide_counts(change, earliest, own, s, taken, total, shift, prior, wrong)


@kernel_part
def _read_row(
    indices: Array,
    start: int,
    size: int,
    stay: Array,
    table: Array,
    n_points: int,
    enter: IntArray,
    leave: IntArray,
    counts: Array,
) -> None:
    """Stays and counts of the features of a row."""
    for e in range(size):
        j = np.uint64(indices[start + e])
        enter[e] = stay[j, 0]
        leave[e] = stay[j, 1]
        if enter[e] != n_points:
            for c in range(counts.shape[1]):
                counts[e, c] = table[j, c]


@kernel
def _longest_row(indptr: Array, first: int, last: int) -> int:
    longest = 0
    for i in range(first, last):
        longest = max(longest, indptr[i + 1] - indptr[i])
    return longest


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
        _visit(change, enter, leave, value, weight)
        return
    several = np.searchsorted(more_feature, j)
    for v in range(more_ptr[several], more_ptr[several + 1]):
        _visit(change, more_enter[v], more_leave[v], value, weight)


@kernel_part
def _log(count: float, smoothing: float, log_small: FloatArray) -> float:
    """Return log(count + smoothing), looked up for small whole counts."""
    if 0.0 <= count < len(log_small):
        whole = int(count)
        if whole == count:
            return float(log_small[whole])
    return math.log(count + smoothing)


@kernel_part
def _decide_counts(
    change: FloatArray,
    earliest: int,
    own: int,
    s: float,
    taken: float,
    total: FloatArray,
    shift: FloatArray,
    prior: FloatArray,
    wrong: FloatArray,
) -> None:
    """Add up and clear the changes of a row, and decide; before `earliest` the prior decides."""
    n_points, n_classes = total.shape
    score = np.empty(n_classes)
    if earliest > 0 and _best(prior) != own:
        for g in range(earliest):
            wrong[g] += s
    for g in range(earliest, n_points):
        size = change[g, n_classes]
        for c in range(n_classes):
            score[c] = prior[c] + (change[g, c] - size * shift[g, c])
        if size > 0.0 and taken > 0.0:
            own_shift = _log_less(total[g, own], shift[g, own], taken * size)
            score[own] = prior[own] + (change[g, own] - size * own_shift)
        if _best(score) != own:
            wrong[g] += s
        for c in range(n_classes + 1):
            change[g + 1, c] += change[g, c]
            change[g, c] = 0.0
    change[n_points, :] = 0.0


@kernel_part
def _learned_prior(class_weight: FloatArray, own: int, s: float, prior: FloatArray) -> None:
    """Log weight of each class without a row of weight s; -inf for a class that had no other."""
    for c in range(len(prior)):
        left = class_weight[c] - (s if c == own else 0.0)
        prior[c] = math.log(left) if left > 1e-12 * class_weight[c] else -np.inf


@kernel_part
def _log_less(whole: float, log_whole: float, part: float) -> float:
    """Return log(whole - part)."""
    ratio = part / whole
    if ratio < 1e-4:
        # A logarithm per row and grid point is what the sweep would spend most of its time on;
        # the next term of the series is below 1e-16.
        return log_whole - ratio * (1.0 + ratio * (0.5 + ratio * (1.0 / 3.0)))
    return math.log(whole - part)


@kernel
def sums_of_stays(
    stay: Array,
    more_feature: IntArray,
    more_ptr: IntArray,
    more_enter: IntArray,
    more_leave: IntArray,
    table: Array,
    sums: FloatArray,
) -> None:
    """Add the counts (m, C) of the features that enter, less those that leave, to (G + 1, C)."""
    n_points = len(sums) - 1
    for j in range(len(stay)):
        if stay[j, 0] == n_points:
            continue
        if stay[j, 1] >= 0:
            for c in range(table.shape[1]):
                sums[stay[j, 0], c] += table[j, c]
                sums[stay[j, 1], c] -= table[j, c]
            continue
        several = np.searchsorted(more_feature, j)
        for v in range(more_ptr[several], more_ptr[several + 1]):
            for c in range(table.shape[1]):
                sums[more_enter[v], c] += table[j, c]
                sums[more_leave[v], c] -= table[j, c]


@kernel
def group_stays(
    group: IntArray,
    pointer: IntArray,
    position: IntArray,
    change: IntArray,
    n_points: int,
    stay: Array,
    more_feature: IntArray,
    more_ptr: IntArray,
    more_enter: IntArray,
    more_leave: IntArray,
) -> tuple[int, int]:
    """As `group_visits`, in the layout of `leave_one_out_counts_csr`.

    Called twice if any feature has several visits: with empty arrays for them to count, then to
    write. Returns the number of such features, and of all their visits.
    """
    seen = np.zeros(len(pointer) - 1, np.int64)
    level_at = np.empty(len(change), np.int64)  # columns of the group that are in after a change
    lowest = np.empty(len(change), np.int64)  # fewest that are in from there on
    _levels(pointer, change, level_at, lowest)
    first = pointer.copy()  # change at which the next column of the group enters
    several = 0
    listed = 0
    for j in range(len(group)):
        g = group[j]
        rank = seen[g]
        seen[g] += 1
        level = 0
        visits = 0
        stay[j, 0] = n_points
        stay[j, 1] = n_points
        while first[g] < pointer[g + 1] and level_at[first[g]] <= rank:
            first[g] += 1
        for at in range(first[g], pointer[g + 1]):
            before = level
            level = level_at[at]
            if before <= rank and level > rank:
                visits += 1
                if visits == 1:
                    stay[j, 0] = position[at]
                    stay[j, 1] = n_points
            elif before > rank and level <= rank and visits == 1:
                stay[j, 1] = position[at]
            if lowest[at] > rank:
                break
        if visits < 2:
            continue
        stay[j, 1] = -1
        if len(more_feature):
            more_feature[several] = j
            start, stop = pointer[g], pointer[g + 1]
            _list_visits(
                rank, start, stop, position, change, n_points, listed, more_enter, more_leave
            )
            more_ptr[several + 1] = listed + visits
        several += 1
        listed += visits
    return several, listed


@kernel
def _levels(pointer: IntArray, change: IntArray, level_at: IntArray, lowest: IntArray) -> None:
    """Sum up the changes of each group, and find the smallest sum from each change on."""
    for g in range(len(pointer) - 1):
        level = 0
        for at in range(pointer[g], pointer[g + 1]):
            level += change[at]
            level_at[at] = level
        for at in range(pointer[g + 1] - 1, pointer[g] - 1, -1):
            level = min(level, level_at[at])
            lowest[at] = level


@kernel
def _list_visits(
    rank: int,
    start: int,
    stop: int,
    position: IntArray,
    change: IntArray,
    n_points: int,
    listed: int,
    more_enter: IntArray,
    more_leave: IntArray,
) -> None:
    """Write the visits of one column from position `listed` on."""
    level = 0
    for at in range(start, stop):
        before = level
        level += change[at]
        if before <= rank and level > rank:
            more_enter[listed] = position[at]
            more_leave[listed] = n_points
            listed += 1
        elif before > rank and level <= rank:
            more_leave[listed - 1] = position[at]


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
