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
def group_slots(
    group: IntArray,
    start: IntArray,
    level: IntArray,
    slot: Array,
    feature: IntArray,
) -> None:
    """Tell which columns of the same group are in at the same points, where groups come and go.

    Parameters
    ----------
    group : ndarray of shape (m,)
        Group of each column; the columns of a group enter lowest index first.
    start : ndarray of shape (d + 1,)
        Where the slots of each group start.
    level : ndarray of shape (U,)
        Numbers of columns of a group that are in at some point, ascending within a group: a slot
        has the columns between two of them.
    slot : ndarray of shape (m,)
        Receives the slot of each column; -1: never in.
    feature : ndarray of shape (U,)
        Receives the lowest column of each slot.
    """
    current = start[:-1].copy()
    rank = np.zeros(len(current), np.int64)  # of the next column of each group
    for j in range(len(group)):
        g = group[j]
        u, end = current[g], start[g + 1]
        while u < end and level[u] <= rank[g]:
            u += 1
        if rank[g] == 0 or u > current[g]:
            if u < end:
                feature[u] = j
            current[g] = u
        rank[g] += 1
        slot[j] = u if u < end else -1


@kernel
def list_visits(
    group: IntArray,
    level: IntArray,
    pointer: IntArray,
    position: IntArray,
    level_at: IntArray,
    n_points: int,
    ptr: IntArray,
    enter: IntArray,
    leave: IntArray,
) -> None:
    """List the points between which each slot is in.

    Parameters
    ----------
    group, level : ndarray of shape (U,)
        Group of each slot, and how many of its columns must be in for the slot to be.
    pointer : ndarray of shape (d + 1,)
        Where the changes of each group start.
    position, level_at : ndarray
        Of each change, ascending within a group: its grid position, and how many columns of the
        group are in after it.
    n_points : int
        Number of grid points G.
    ptr : ndarray of shape (U + 1,)
        Receives where the visits of each slot start.
    enter, leave : ndarray
        Receive the visits.
    """
    listed = 0
    for u in range(len(group)):
        ptr[u] = listed
        inside = False
        for at in range(pointer[group[u]], pointer[group[u] + 1]):
            if inside == (level_at[at] >= level[u]):
                continue
            inside = not inside
            if inside:
                enter[listed], leave[listed] = position[at], n_points
                listed += 1
            else:
                leave[listed - 1] = position[at]
    ptr[len(group)] = listed
