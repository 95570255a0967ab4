"""Byte strings in one array (`arena`, `starts`): sorting keys, gathering."""

from __future__ import annotations

import numpy as np

from naively._kernels.compiled import kernel
from naively._types import Array, IntArray

_BYTE = np.uint64(8)


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
        write = new_starts[i]
        for position in range(starts[order[i]], starts[order[i] + 1]):
            new_arena[write] = arena[position]
            write += 1


@kernel
def differs_from_previous(arena: Array, starts: IntArray, order: IntArray, new: Array) -> None:
    """Flag the strings, in sorted order, that differ from the one before them."""
    for i in range(len(order)):
        new[i] = True
        if i == 0:
            continue
        first, second = starts[order[i - 1]], starts[order[i]]
        length = starts[order[i] + 1] - second
        if starts[order[i - 1] + 1] - first == length:
            k = 0
            while k < length and arena[first + k] == arena[second + k]:
                k += 1
            new[i] = k < length
