"""Byte strings in one array (`arena`, `starts`): sorting keys, gathering."""

from __future__ import annotations

import numpy as np

from naively._kernels.compiled import kernel
from naively._kernels.prefetch import prefetch
from naively._types import Array, IntArray

_BYTE = np.uint64(8)
_AHEAD = 16  # strings that are on their way while one is copied


@kernel
def prefix_keys(arena: Array, starts: IntArray, which: IntArray, depth: int, keys: Array) -> None:
    """Write bytes depth .. depth + 7 of strings as big-endian numbers, zeros behind the end."""
    for i in range(len(which)):
        stop = starts[which[i] + 1]
        position = starts[which[i]] + depth
        key = np.uint64(0)
        for k in range(8):
            key <<= _BYTE
            if position + k < stop:
                key |= np.uint64(arena[position + k])
        keys[i] = key


@kernel
def gather_strings(
    arena: Array, starts: IntArray, order: IntArray, new_starts: IntArray, new_arena: Array
) -> None:
    """Copy strings in a new order."""
    for i in range(len(order)):
        prefetch(starts, order[min(i + 2 * _AHEAD, len(order) - 1)])
        prefetch(arena, starts[order[min(i + _AHEAD, len(order) - 1)]])
        write = new_starts[i]
        for position in range(starts[order[i]], starts[order[i] + 1]):
            new_arena[write] = arena[position]
            write += 1
