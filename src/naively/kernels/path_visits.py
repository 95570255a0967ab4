"""When columns that enter and leave the supports of a path by groups are in."""

from __future__ import annotations

import numpy as np

from naively._types import Array, FloatArray, IntArray
from naively.kernels.compiled import kernel


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
