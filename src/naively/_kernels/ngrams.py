"""n-grams of any symbols as nodes of a tree: words, or characters, one after another.

A node is a pair (node of the n-gram without its last symbol, last symbol), packed in 64 bits, so
two n-grams are compared as two integers and never spelled before the end. The open-addressing
table holds nodes + 1, as in :mod:`naively._kernels.tokens`; nodes precede their extensions.
"""

from __future__ import annotations

import numpy as np

from naively._kernels.compiled import kernel
from naively._kernels.tokens import NOTHING
from naively._types import Array, IntArray

_SPREAD = np.uint64(0x9E3779B97F4A7C15)
_ROOT = np.uint64(0xFFFFFFFF)  # the node of no symbols
_HALF = np.uint64(32)
_ONE = np.uint64(1)


@kernel
def ngram_nodes(  # noqa: C901 (a hash table inside three loops; calls would cost more)
    symbols: Array,
    ends: IntArray,
    first_segment: int,
    shortest: int,
    longest: int,
    clipped: bool,
    frozen: bool,
    slots: Array,
    keys: Array,
    used: IntArray,
    nodes: Array,
    node_ends: IntArray,
) -> int:
    """Write the nodes of the n-grams of each segment; return the segment reached.

    n runs from `shortest` to `longest`; with `clipped`, segments shorter than `shortest` give one
    n-gram, the whole. A frozen tree gains no nodes, and skips n-grams that it does not hold.
    """
    mask = np.uint64(len(slots) - 1)
    n_nodes = used[0]
    written = node_ends[first_segment - 1] if first_segment else 0
    for segment in range(first_segment, len(ends)):
        begin = ends[segment - 1] if segment else 0
        stop = ends[segment]
        if n_nodes + (stop - begin) * min(longest, stop - begin) > len(keys):
            used[0] = n_nodes
            return segment
        least = min(shortest, stop - begin) if clipped else shortest
        for start in range(begin, stop - least + 1):
            prefix = _ROOT
            for position in range(start, min(start + longest, stop)):
                symbol = np.uint32(symbols[position])
                if symbol == NOTHING:
                    break
                key = (prefix << _HALF) | np.uint64(symbol)
                h = key * _SPREAD
                slot = (h ^ (h >> _HALF)) & mask
                node = np.uint32(0)
                while True:
                    node = slots[slot]
                    if node == 0 or keys[node - 1] == key:
                        break
                    slot = (slot + _ONE) & mask
                if node == 0:
                    if frozen:
                        break
                    keys[n_nodes] = key
                    n_nodes += 1
                    node = np.uint32(n_nodes)
                    slots[slot] = node
                prefix = np.uint64(node - 1)
                if position - start + 1 >= least:
                    nodes[written] = node - np.uint32(1)
                    written += 1
        node_ends[segment] = written
    used[0] = n_nodes
    return len(ends)


@kernel
def refill_nodes(keys: Array, n_nodes: int, slots: Array) -> None:
    """Enter the nodes 0 .. n_nodes - 1 into an empty table."""
    mask = np.uint64(len(slots) - 1)
    for node in range(n_nodes):
        h = keys[node] * _SPREAD
        slot = (h ^ (h >> _HALF)) & mask
        while slots[slot]:
            slot = (slot + _ONE) & mask
        slots[slot] = np.uint32(node + 1)


@kernel
def spelling_lengths(
    keys: Array, symbol_starts: IntArray, separator: int, lengths: IntArray
) -> None:
    """Write the length in bytes of each node's spelling."""
    for node in range(len(keys)):
        prefix, symbol = keys[node] >> _HALF, keys[node] & _ROOT
        lengths[node] = symbol_starts[symbol + _ONE] - symbol_starts[symbol]
        if prefix != _ROOT:
            lengths[node] += lengths[prefix] + separator


@kernel
def spell_nodes(
    keys: Array,
    symbol_arena: Array,
    symbol_starts: IntArray,
    separator: int,
    starts: IntArray,
    arena: Array,
) -> None:
    """Spell each node: its prefix, a blank if words are separated, its last symbol."""
    for node in range(len(keys)):
        prefix, symbol = keys[node] >> _HALF, keys[node] & _ROOT
        write = starts[node]
        if prefix != _ROOT:
            for position in range(starts[prefix], starts[prefix + _ONE]):
                arena[write] = arena[position]
                write += 1
            for _ in range(separator):
                arena[write] = 32
                write += 1
        for position in range(symbol_starts[symbol], symbol_starts[symbol + _ONE]):
            arena[write] = symbol_arena[position]
            write += 1
