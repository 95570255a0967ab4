"""Numbers that tell rows by their content: 64 bits, equal for equal rows.

Words of eight bytes go through a multiplication and a shift each, and the end through the finalizer
of SplitMix64 (Steele, Lea, Flood 2014). The keys divide rows; they are no proof against a forger.
"""

from __future__ import annotations

import numpy as np

from naively._kernels.compiled import kernel, kernel_part
from naively._types import Array, IntArray

_STEP = np.uint64(0x9E3779B97F4A7C15)
_MIX1, _MIX2 = np.uint64(0xBF58476D1CE4E5B9), np.uint64(0x94D049BB133111EB)
_HALF, _S30, _S27, _S31 = np.uint64(32), np.uint64(30), np.uint64(27), np.uint64(31)
_ONE, _EIGHT = np.uint64(1), np.uint64(8)


@kernel_part
def _finished(z: np.uint64) -> np.uint64:
    z = (z ^ (z >> _S30)) * _MIX1
    z = (z ^ (z >> _S27)) * _MIX2
    return z ^ (z >> _S31)


@kernel
def text_keys(arena: Array, offsets: IntArray, starts: IntArray, keys: Array) -> None:
    """Write the key of each row, the strings starts[i] .. starts[i + 1] - 1 of the arena."""
    for i in range(len(keys)):
        h = np.uint64(0)
        for piece in range(starts[i], starts[i + 1]):
            # Unsigned places spare the check for negative ones: eight bytes are loaded at once.
            p, end = np.uint64(offsets[piece]), np.uint64(offsets[piece + 1])
            h = _finished(h + _STEP) + (end - p)
            while p + _EIGHT <= end:
                word = np.uint64(0)
                for b in range(8):
                    word |= np.uint64(arena[p + np.uint64(b)]) << np.uint64(8 * b)
                h = (h ^ word) * _MIX1
                h ^= h >> _HALF
                p += _EIGHT
            tail = np.uint64(0)
            while p < end:
                tail = tail << _EIGHT | np.uint64(arena[p])
                p += _ONE
            h = (h ^ tail) * _MIX2
            h ^= h >> _HALF
        keys[i] = _finished(h)


@kernel_part
def _entry_key(columns: Array, j: int, bits: int) -> np.uint64:
    column = columns[j] if len(columns) else np.uint64(j) << _HALF
    return _finished(((column ^ np.uint64(bits)) + _ONE) * _STEP)


@kernel
def sparse_keys(
    bits: Array, indices: IntArray, indptr: IntArray, columns: Array, keys: Array
) -> None:
    """Write the key of each row of a CSR matrix whose values are given by their 32 bits.

    It is a sum over the entries that are not 0 of what the key of the column and the value give, so
    that the order of the columns has no part in it; without keys of columns their places count.
    """
    for i in range(len(keys)):
        h = np.uint64(0)
        for at in range(indptr[i], indptr[i + 1]):
            if bits[at]:
                h += _entry_key(columns, indices[at], bits[at])
        keys[i] = _finished(h)


@kernel
def dense_keys(bits: Array, columns: Array, keys: Array) -> None:
    """Write the key of each row of a dense matrix: that of the same row in CSR."""
    for i in range(len(keys)):
        h = np.uint64(0)
        for j in range(bits.shape[1]):
            if bits[i, j]:
                h += _entry_key(columns, j, bits[i, j])
        keys[i] = _finished(h)
