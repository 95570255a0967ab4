"""When columns that enter and leave the supports of a path by groups are in."""

from __future__ import annotations

import numpy as np

from naively._kernels.compiled import kernel
from naively._types import Array, IntArray


@kernel
def class_stays(
    group: IntArray,
    label: IntArray,
    start: IntArray,
    k: IntArray,
    slot: Array,
    feature: IntArray,
    enter: IntArray,
) -> int:
    """Tell which columns of the same group enter together, where the best class goes in first.

    Parameters
    ----------
    group : ndarray of shape (m,)
        Group of each column.
    label : ndarray of shape (d,)
        Class of each group; the columns of a class enter lowest index first.
    start : ndarray of shape (number of classes,)
        Number of columns of all better classes.
    k : ndarray of shape (G,)
        Numbers of columns that are in, ascending.
    slot : ndarray of shape (m,)
        Receives a number for each group and point at which columns of it enter; -1: never.
    feature, enter : ndarray of shape (U,)
        Receive the lowest column of each slot, and the point.

    Returns
    -------
    int
        Number of slots.
    """
    n_points, slots = len(k), 0
    rank = start.copy()  # of the next column of each class
    point = np.zeros(len(start), np.int64)
    current = np.full(len(label), -1, np.int64)  # slot of the last column of each group
    for j in range(len(group)):
        g = group[j]
        c = label[g]
        while point[c] < n_points and k[point[c]] <= rank[c]:
            point[c] += 1
        rank[c] += 1
        if point[c] == n_points:
            slot[j] = -1
            continue
        if current[g] < 0 or enter[current[g]] != point[c]:
            current[g] = slots
            feature[slots], enter[slots] = j, point[c]
            slots += 1
        slot[j] = current[g]
    return slots


@kernel
def group_stays(
    group: IntArray,
    pointer: IntArray,
    position: IntArray,
    level_at: IntArray,
    lowest: IntArray,
    n_points: int,
    seen: IntArray,
    first: IntArray,
    stay: Array,
    more_feature: IntArray,
    more_rank: IntArray,
    more_ptr: IntArray,
) -> int:
    """Tell when columns that enter and leave by groups are in.

    Parameters
    ----------
    group : ndarray of shape (m,)
        Group of each column; the columns of a group enter lowest index first.
    pointer : ndarray of shape (d + 1,)
        Where the changes of each group start.
    position, level_at, lowest : ndarray
        Of each change, ascending within a group: its grid position, how many columns of the group
        are in after it, and the fewest that are in from there on.
    n_points : int
        Number of grid points G.
    seen : ndarray of shape (d,)
        Zeros; receives the number of columns of each group.
    first : ndarray of shape (d,)
        The change at which the next column of each group enters: its first one; changes.
    stay : ndarray of shape (m, 3)
        Receives the stays, see `leave_one_out_counts_csr`.
    more_feature, more_rank, more_ptr : ndarray of shape (F,), (F,) and (F + 1,)
        Receive the columns with several visits, their ranks in their groups and where their visits
        start; the first F of them.

    Returns
    -------
    int
        Number of columns with several visits, which may be above F.
    """
    several = 0
    for j in range(len(group)):
        g = group[j]
        rank = seen[g]
        seen[g] += 1
        level = 0
        visits = 0
        stay[j, 0] = g
        stay[j, 1] = n_points
        stay[j, 2] = n_points
        while first[g] < pointer[g + 1] and level_at[first[g]] <= rank:
            first[g] += 1
        for at in range(first[g], pointer[g + 1]):
            before = level
            level = level_at[at]
            if before <= rank and level > rank:
                visits += 1
                if visits == 1:
                    stay[j, 1] = position[at]
                    stay[j, 2] = n_points
            elif before > rank and level <= rank and visits == 1:
                stay[j, 2] = position[at]
            if lowest[at] > rank:
                break
        if visits < 2:
            continue
        stay[j, 2] = -1
        if several < len(more_feature):
            more_feature[several], more_rank[several] = j, rank
            more_ptr[several + 1] = more_ptr[several] + visits
        several += 1
    return several


@kernel
def list_visits(
    group: IntArray,
    rank: IntArray,
    pointer: IntArray,
    position: IntArray,
    change: IntArray,
    n_points: int,
    ptr: IntArray,
    enter: IntArray,
    leave: IntArray,
) -> None:
    """Write the visits of some columns, given by group and rank in it, from position ptr on."""
    for f in range(len(group)):
        level = 0
        listed = ptr[f]
        for at in range(pointer[group[f]], pointer[group[f] + 1]):
            before = level
            level += change[at]
            if before <= rank[f] and level > rank[f]:
                enter[listed] = position[at]
                leave[listed] = n_points
                listed += 1
            elif before > rank[f] and level <= rank[f]:
                leave[listed - 1] = position[at]
