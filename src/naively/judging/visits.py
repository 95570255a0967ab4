"""When each feature is in the supports of a path."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from naively._kernels.path_visits import group_slots, list_visits
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


def _stepped_visits(path: SparsityPath) -> Visits:
    """Visits of a path whose supports are not nested."""
    supports, G = path.supports, len(path.k)
    assert isinstance(supports, SteppedSupports)
    d = len(supports.coupled.groups.size)
    position = np.repeat(np.arange(G), np.diff(supports.step))
    order = np.lexsort((position, supports.group))
    group, position = supports.group[order], position[order]
    pointer = np.searchsorted(group, np.arange(d + 1))
    level = np.append(0, np.cumsum(supports.change[order]))
    level = level[1:] - level[pointer[group]]
    # Columns of a group with ranks between two of its levels are in at the same points.
    above = 1 + level.max(initial=0)
    of_slot, levels = np.divmod(np.unique((above * group + level)[level > 0]), above)
    labels = supports.coupled.groups.columns.labels(np.arange(d))
    slot, feature = np.empty(len(labels), np.int32), np.empty(len(levels), np.int64)
    group_slots(labels, np.searchsorted(of_slot, np.arange(d + 1)), levels, slot, feature)
    ptr = np.empty(len(levels) + 1, np.int64)
    enter, leave = np.empty((2, int(np.diff(pointer)[of_slot].sum())), np.int64)
    list_visits(of_slot, levels, pointer, position, level, G, ptr, enter, leave)
    return Visits(slot, feature, ptr, enter[: ptr[-1]], leave[: ptr[-1]], G)
