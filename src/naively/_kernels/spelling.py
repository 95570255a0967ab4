"""Byte strings in one array (`arena`, `starts`): sorting keys, gathering, hashing."""

from __future__ import annotations

import numpy as np

from naively._kernels.compiled import kernel
from naively._types import Array, IntArray

_BYTE = np.uint64(8)
_C1, _C2 = np.uint32(0xCC9E2D51), np.uint32(0x1B873593)
_FIVE, _ADD = np.uint32(5), np.uint32(0xE6546B64)
_MIX1, _MIX2 = np.uint32(0x85EBCA6B), np.uint32(0xC2B2AE35)


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


@kernel
def murmur3_columns(arena: Array, starts: IntArray, n_columns: int, columns: IntArray) -> None:
    """Write |MurmurHash3_x86_32(string, seed 0)| modulo n_columns, as scikit-learn hashes."""
    for i in range(len(columns)):
        begin, stop = starts[i], starts[i + 1]
        h = np.uint32(0)
        position = begin
        while position + 4 <= stop:
            k = np.uint32(0)
            for b in range(4):
                k |= np.uint32(arena[position + b]) << np.uint32(8 * b)
            k = np.uint32(k * _C1)
            k = np.uint32((k << np.uint32(15)) | (k >> np.uint32(17)))
            h ^= np.uint32(k * _C2)
            h = np.uint32((h << np.uint32(13)) | (h >> np.uint32(19)))
            h = np.uint32(np.uint32(h * _FIVE) + _ADD)
            position += 4
        k = np.uint32(0)
        for b in range(stop - position):
            k |= np.uint32(arena[position + b]) << np.uint32(8 * b)
        if stop > position:
            k = np.uint32(k * _C1)
            k = np.uint32((k << np.uint32(15)) | (k >> np.uint32(17)))
            h ^= np.uint32(k * _C2)
        h ^= np.uint32(stop - begin)
        h ^= h >> np.uint32(16)
        h = np.uint32(h * _MIX1)
        h ^= h >> np.uint32(13)
        h = np.uint32(h * _MIX2)
        h ^= h >> np.uint32(16)
        signed = np.int64(h) if h < np.uint32(0x80000000) else np.int64(h) - np.int64(0x100000000)
        columns[i] = abs(signed) % n_columns
