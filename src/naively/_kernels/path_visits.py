"""When columns that enter and leave the supports of a path by groups are in."""

from __future__ import annotations

from naively._kernels.compiled import kernel
from naively._types import Array, IntArray


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
