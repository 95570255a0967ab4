"""When each feature is in the supports of a path."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from naively._kernels.path_visits import group_stays, list_visits
from naively._types import Array, FloatArray, IntArray
from naively.selection.path import (
    ClassedSupports,
    OrderedSupports,
    SparsityPath,
    SteppedSupports,
)


@dataclass(frozen=True, slots=True)
class Visits:
    """Stays of the features in the supports.

    Features have a slot if they occur at all. Those with the same counts and the same visits may
    share one: then what is looked up for each entry of a row is small, and stays in the cache.
    """

    slot: Array  # (m,) int32, -1 for features that never occur
    feature: IntArray  # (U,) lowest feature of each slot
    ptr: IntArray  # (U + 1,) where the visits of each slot start
    enter: IntArray  # (V,) first grid point of a visit
    leave: IntArray  # (V,) grid point after the last one
    n_points: int

    @property
    def columns(self) -> IntArray:
        """Features that occur, ascending."""
        return np.flatnonzero(self.slot >= 0)

    def totals(self, values: FloatArray) -> FloatArray:
        """Sum over the features of each grid point (G, C) of values (U, C)."""
        size = np.bincount(self.slot[self.slot >= 0], minlength=len(self.feature))
        values = values * size[:, None]
        per_visit = np.repeat(np.arange(len(self.ptr) - 1), np.diff(self.ptr))
        sums = np.zeros((self.n_points + 1, values.shape[1]))
        for c in range(values.shape[1]):
            part = values[per_visit, c]
            sums[:, c] = np.bincount(self.enter, part, self.n_points + 1)
            sums[:, c] -= np.bincount(self.leave, part, self.n_points + 1)
        return np.asarray(np.cumsum(sums[:-1], axis=0))


def path_visits(path: SparsityPath, n_features: int) -> Visits:
    """Visits of all features along a path."""
    G = len(path.k)
    if isinstance(path.supports, SteppedSupports):
        return _stepped_visits(path)
    if isinstance(path.supports, ClassedSupports):
        slot, feature, enter = path.supports.stays(path.k)
    elif isinstance(path.supports, OrderedSupports):
        first = path.supports.first_grid_position(path.k)
        feature = np.flatnonzero(first < G)
        slot, enter = _slots(feature, n_features), first[feature]
    else:
        return _listed_visits(path, n_features)
    return Visits(slot, feature, np.arange(len(feature) + 1), enter, np.full(len(feature), G), G)


def _listed_visits(path: SparsityPath, n_features: int) -> Visits:
    """Visits of a path of any supports, each listed."""
    supports = [path.support(int(k)) for k in path.k]
    feature = np.concatenate(supports)
    at = np.repeat(np.arange(len(supports)), [len(each) for each in supports])
    order = np.lexsort((at, feature))
    feature, at = feature[order], at[order]
    follows = (np.diff(feature, prepend=-1) == 0) & (np.diff(at, prepend=-1) == 1)
    starts = np.flatnonzero(~follows)
    ends = np.append(starts[1:], len(at)) - 1
    inside, ptr = np.unique(feature[starts], return_index=True)
    slot, ptr = _slots(inside, n_features), np.append(ptr, len(starts))
    leave = at[ends[: len(starts)]] + 1
    return Visits(slot, inside, ptr, at[starts], leave, len(supports))


def _slots(feature: IntArray, n_features: int) -> Array:
    slot = np.full(n_features, -1, dtype=np.int32)
    slot[feature] = np.arange(len(feature), dtype=np.int32)
    return slot


def _changes(supports: SteppedSupports, G: int) -> tuple[IntArray, IntArray, IntArray, IntArray]:
    """Group of each column, where the changes of each group start, their positions and sizes."""
    d = len(supports.coupled.groups.size)
    position = np.repeat(np.arange(G), np.diff(supports.step))
    order = np.lexsort((position, supports.group))
    return (
        supports.coupled.groups.columns.labels(np.arange(d)),
        np.searchsorted(supports.group[order], np.arange(d + 1)),
        position[order],
        supports.change[order],
    )


@dataclass(frozen=True, slots=True)
class Stays:
    """When each column is in the supports of a coupled path, and what its counts are.

    Laid out to be read at random, once for every entry of the data: small numbers, side by side.
    """

    stay: Array  # (m, 3) int16 or int32, see `leave_one_out_counts_csr`
    more_feature: IntArray  # (features with several visits,)
    more_ptr: IntArray  # one more
    more_enter: IntArray
    more_leave: IntArray
    supports: SteppedSupports

    @property
    def counts(self) -> Array:
        """Counts of the groups of equal columns: (d, C)."""
        return self.supports.coupled.groups.dense()

    @property
    def n_points(self) -> int:
        """Number of grid points G."""
        return len(self.supports.grid)

    def totals(self, values: FloatArray) -> FloatArray:
        """Sum over the features of each grid point (G, v) of values of the groups (d, v)."""
        position = np.repeat(np.arange(self.n_points), np.diff(self.supports.step))
        sums = np.empty((self.n_points, values.shape[1]))
        for v in range(values.shape[1]):
            changed = self.supports.change * values[self.supports.group, v]
            sums[:, v] = np.bincount(position, changed, self.n_points)
        return np.cumsum(sums, axis=0)


def path_stays(path: SparsityPath) -> Stays:
    """Stays of all columns along a path of a coupled family."""
    supports = path.supports
    assert isinstance(supports, SteppedSupports)
    G, groups = len(path.k), supports.coupled.groups
    group, pointer, position, change = _changes(supports, G)
    small = max(G, len(groups.size)) < 1 << 15
    stay = np.empty((len(group), 3), dtype=np.int16 if small else np.int32)
    level, lowest = _levels(pointer, change)
    room, several = 0, 1 << 12
    while room < several:
        room = several
        feature, rank = np.empty((2, room), np.int64)
        ptr = np.zeros(room + 1, np.int64)
        seen, first = np.zeros(len(groups.size), np.int64), pointer[:-1].copy()
        several = group_stays(
            group, pointer, position, level, lowest, G, seen, first, stay, feature, rank, ptr
        )
    feature, rank, ptr = feature[:several], rank[:several], ptr[: several + 1]
    enter, leave = np.empty((2, ptr[-1]), np.int64)
    list_visits(group[feature], rank, pointer, position, change, G, ptr, enter, leave)
    return Stays(stay, feature, ptr, enter, leave, supports)


def _levels(pointer: IntArray, change: IntArray) -> tuple[IntArray, IntArray]:
    """Columns of a group that are in after each of its changes; the fewest from there on."""
    group = np.repeat(np.arange(len(pointer) - 1), np.diff(pointer))
    level = np.append(0, np.cumsum(change))
    level = level[1:] - level[pointer[group]]
    above = (1 + level.max(initial=0)) * group  # no group reaches up to the next
    return level, np.minimum.accumulate((level + above)[::-1])[::-1] - above


def _stepped_visits(path: SparsityPath) -> Visits:
    """Visits of a path whose supports are not nested."""
    stays = path_stays(path)
    enters, leaves = stays.stay[:, 1], stays.stay[:, 2]
    feature = np.flatnonzero(enters < stays.n_points)
    several = leaves[feature] < 0
    n_visits = np.ones(len(feature), dtype=np.int64)
    n_visits[several] = np.diff(stays.more_ptr)
    ptr = np.append(0, np.cumsum(n_visits))
    listed = np.repeat(several, n_visits)
    enter, leave = np.empty((2, ptr[-1]), np.int64)
    enter[listed], leave[listed] = stays.more_enter, stays.more_leave
    enter[~listed], leave[~listed] = enters[feature[~several]], leaves[feature[~several]]
    return Visits(_slots(feature, len(enters)), feature, ptr, enter, leave, stays.n_points)
