"""Feature names by the million: sorted, distinct, in two flat arrays instead of Python strings."""

from __future__ import annotations

import hashlib
from collections.abc import Iterator
from dataclasses import dataclass
from itertools import pairwise
from typing import Any, final

import numpy as np

from naively._kernels.compiled import read_only
from naively._kernels.spelling import gather_strings, prefix_keys
from naively._types import Array, BoolArray, IntArray
from naively.text.utf8 import as_texts

_KEY_BYTES = 8


@final
@dataclass(frozen=True, slots=True, eq=False)
class Vocabulary:
    """Distinct names in ascending order of their code points, as Python sorts strings."""

    bytes: Array  # (total,) uint8, UTF-8
    starts: IntArray  # (m + 1,) name j is bytes[starts[j]:starts[j + 1]]

    @classmethod
    def of(cls, names: Any) -> Vocabulary:
        """Return the vocabulary of some names, in any order, with or without repetition."""
        texts = as_texts(names)
        return cls.sorted(texts.bytes, texts.offsets)[0]

    @classmethod
    def sorted(cls, arena: Array, starts: IntArray) -> tuple[Vocabulary, IntArray]:
        """Sort strings and drop repetitions.

        Parameters
        ----------
        arena : ndarray of uint8
            UTF-8 bytes.
        starts : ndarray of shape (n + 1,)
            Where each string starts.

        Returns
        -------
        vocabulary : Vocabulary
            Of m <= n names.
        positions : ndarray of shape (n,)
            Where in it each string stands.
        """
        order, new = _sorting_order(arena, starts)
        positions = np.empty(len(order), dtype=np.int64)
        positions[order] = np.cumsum(new) - 1
        return _gathered(arena, starts, order[new]), positions

    @classmethod
    def union(cls, parts: list[Vocabulary]) -> tuple[Vocabulary, list[IntArray]]:
        """Unite vocabularies; also return the positions of the names of each in the union."""
        if len(parts) == 1:
            return parts[0], [np.arange(len(parts[0]))]
        shifts = np.cumsum([0] + [len(part.bytes) for part in parts])
        starts = [part.starts[:-1] + shift for part, shift in zip(parts, shifts, strict=False)]
        united, positions = cls.sorted(
            np.concatenate([part.bytes for part in parts]),
            np.concatenate([*starts, shifts[-1:]]).astype(np.int64),
        )
        return united, np.split(positions, np.cumsum([len(part) for part in parts])[:-1])

    def __len__(self) -> int:
        return len(self.starts) - 1

    def __getitem__(self, position: int) -> str:
        piece = self.bytes[self.starts[position] : self.starts[position + 1]]
        return piece.tobytes().decode("utf-8", "surrogatepass")

    def __iter__(self) -> Iterator[str]:
        content, starts = self.bytes.tobytes(), self.starts.tolist()
        return (
            content[start:stop].decode("utf-8", "surrogatepass") for start, stop in pairwise(starts)
        )

    def equals(self, other: Vocabulary | None) -> bool:
        """Whether the other holds the same names."""
        return (
            other is not None
            and np.array_equal(self.starts, other.starts)
            and np.array_equal(self.bytes, other.bytes)
        )

    def take(self, positions: Any) -> Vocabulary:
        """Return some of the names; ascending positions keep the order."""
        return _gathered(self.bytes, self.starts, np.asarray(positions))

    def names(self, positions: Any = None) -> Array:
        """Return names as an array of Python strings; all, or those at some positions."""
        chosen = self if positions is None else self.take(positions)
        names = np.empty(len(chosen), dtype=object)
        names[:] = list(chosen)
        return names

    def digest(self) -> str:
        """Return a fingerprint of the names and their order."""
        content = hashlib.sha256(np.ascontiguousarray(self.starts, dtype="<i8").data)
        content.update(np.ascontiguousarray(self.bytes).data)
        return content.hexdigest()


def _gathered(arena: Array, starts: IntArray, order: IntArray) -> Vocabulary:
    order = np.ascontiguousarray(order, dtype=np.int64)
    new_starts = np.zeros(len(order) + 1, dtype=np.int64)
    np.cumsum((starts[1:] - starts[:-1])[order], out=new_starts[1:])
    new_arena = np.empty(new_starts[-1], dtype=np.uint8)
    gather_strings(read_only(arena), read_only(starts), order, new_starts, new_arena)
    return Vocabulary(new_arena, new_starts)


def _sorting_order(arena: Array, starts: IntArray) -> tuple[IntArray, BoolArray]:
    """Return the order of strings, and which of them, in it, differ from the one before.

    They are sorted by their first eight bytes; where those tie, by the next.
    """
    lengths = np.diff(starts)
    order, new = np.arange(len(lengths), dtype=np.int64), np.ones(len(lengths), dtype=np.bool_)
    if not len(order):
        return order, new
    keys = np.empty(len(order), dtype=np.uint64)
    arena, starts = read_only(arena), read_only(starts)
    prefix_keys(arena, starts, order, 0, keys)
    order = np.argsort(keys)
    # Where a run of equal keys begins, in sorted order, is the rank of all its members so far.
    undecided = _tied(keys[order])
    places, depth = np.flatnonzero(undecided), _KEY_BYTES
    ranks = _run_starts(keys[order])[places]
    while len(places):
        members = order[places]
        keys = np.empty(len(members), dtype=np.uint64)
        prefix_keys(arena, starts, members, depth, keys)
        # A string that ends here precedes those that go on; they may look equal by a zero byte.
        finer = np.lexsort((np.minimum(lengths[members], depth + _KEY_BYTES + 1), keys, ranks))
        order[places] = members = members[finer]
        both = _run_ids(ranks[finer], keys[finer])
        ended = lengths[members] <= depth + _KEY_BYTES
        new[places[1:]] &= (np.diff(both) > 0) | (np.diff(lengths[members]) > 0) | ~ended[1:]
        keep = _tied(both) & ~ended
        ranks = _run_starts(both)[keep]
        places, depth = places[keep], depth + _KEY_BYTES
    return order, new


def _tied(ordered: Array) -> BoolArray:
    """Whether each element of an ordered array equals a neighbour."""
    equal = ordered[1:] == ordered[:-1]
    tied: BoolArray = np.concatenate([[False], equal]) | np.concatenate([equal, [False]])
    return tied


def _run_ids(ranks: IntArray, keys: Array) -> IntArray:
    new = (np.diff(ranks, prepend=-1) != 0) | np.concatenate([[True], keys[1:] != keys[:-1]])
    ids: IntArray = np.cumsum(new)
    return ids


def _run_starts(ordered: Array) -> IntArray:
    new = np.concatenate([[True], ordered[1:] != ordered[:-1]])
    starts: IntArray = np.flatnonzero(new)[np.cumsum(new) - 1]
    return starts
