"""Which rows are trained on, tested on, or left out: the *kind* of a row.

A kind is decided by the part of the data in which a row stands, its class, and its rank among the
rows of that class in the part; so it is the same for every division of the work, and nothing has to
be known of other parts. A part is known by its content, never by the name of its file.

Of each class, one row in so many is tested on: its rows are taken in runs of 1 / share, and one row
of each run is chosen at random. The first row of a class in a part is never chosen: no class of a
file in one part is without training. The rows that are trained on may be dealt out to folds: of
every run of K rows of a class, each goes to another fold.
"""

from __future__ import annotations

import hashlib
from collections.abc import Callable
from dataclasses import dataclass, field
from fractions import Fraction
from typing import TypeAlias, final

import numpy as np

from naively._nearest import short
from naively._types import Array, IntArray

LEFT_OUT, TEST, TRAIN = -1, 0, 1  # kinds; with K folds, fold t of the training rows is TRAIN + t
_NAMES = {"train": TRAIN, "training": TRAIN, "test": TEST, "testing": TEST}
_SPARE = ("dev", "development", "val", "valid", "validation", "extra", "unsup")
_FINEST = 10**6  # largest denominator of a share
_KindOf: TypeAlias = Callable[[str, IntArray], IntArray]
_STEP = np.uint64(0x9E3779B97F4A7C15)
_MIX1, _MIX2 = np.uint64(0xBF58476D1CE4E5B9), np.uint64(0x94D049BB133111EB)


@dataclass(frozen=True, slots=True)
class Parting:
    """Which rows are of which kind.

    A split column, where there is one, says which rows are tested on; else a share of each class.
    """

    share: float = 0.0  # in [0, 1]: 0 leaves all rows for training, 1 all for the test
    seed: int = 0
    n_folds: int = 1  # of the training rows
    fold_seed: int = 0

    @property
    def n_kinds(self) -> int:
        """Number of kinds of rows that are counted."""
        return TRAIN + self.n_folds

    def of_part(self, content: str) -> Chooser:
        """Return what tells the kinds of the rows of a part, known by its content."""
        return Chooser(self, content)


@final
@dataclass(slots=True)
class Chooser:
    """Tells the kinds of the rows of a part, batch by batch."""

    parting: Parting
    content: str  # by which the part is known
    _ranks: dict[str, int] = field(default_factory=dict)  # rows of each class so far
    _trained: dict[str, int] = field(default_factory=dict)  # training rows of each so far

    def kinds(self, names: Array, codes: Array, split: Array | None = None) -> IntArray:
        """Return the kind of each of the rows that come next.

        Parameters
        ----------
        names : (C,)
            Labels that occur.
        codes : (n,)
            Which of them each row has.
        split : (n,), optional
            What the split column says.
        """
        if split is not None:
            kinds = kinds_in(split)
        elif self.parting.share in (0, 1):
            kinds = np.full(len(codes), TEST if self.parting.share else TRAIN)
        else:
            kinds = self._per_class(names, codes, self._ranks, self._tested)
        if self.parting.n_folds > 1:
            chosen = np.flatnonzero(kinds == TRAIN)
            kinds[chosen] += self._per_class(names, codes[chosen], self._trained, self._fold)
        return kinds

    @staticmethod
    def _per_class(names: Array, codes: Array, seen: dict[str, int], kind_of: _KindOf) -> IntArray:
        """Kinds (n,) from the class and rank of each row; counts the rows that came by."""
        order = np.argsort(codes, kind="stable")
        ends = np.cumsum(np.bincount(codes, minlength=len(names)))
        kinds = np.empty(len(codes), dtype=np.int64)
        for name, members in zip(names.tolist(), np.split(order, ends)[:-1], strict=True):
            first = seen.get(name, 0)
            seen[name] = first + len(members)
            kinds[members] = kind_of(name, first + np.arange(len(members)))
        return kinds

    def _tested(self, name: str, rank: IntArray) -> IntArray:
        """Kinds of the rows with these ranks in a class."""
        share = Fraction(self.parting.share).limit_denominator(_FINEST)
        chosen, of = share.numerator, share.denominator
        if not chosen:
            return np.full(len(rank), TRAIN)
        run = rank * chosen // of
        # Run r holds the rows from start(r) to before start(r + 1).
        start, end = (-(-each * of // chosen) for each in (run, run + 1))
        spared = start == 0  # the first row of all
        size = np.maximum(end - start - spared, 1)
        key = f"{self.parting.seed}:{self.content}:{name}"
        place = start + spared + random_numbers(key, run) % size
        return np.where((rank == place) & (rank > 0), TEST, TRAIN)

    def _fold(self, name: str, rank: IntArray) -> IntArray:
        """Folds of the training rows with these ranks in a class."""
        n = self.parting.n_folds
        key = f"{self.parting.fold_seed}:{self.content}:{name}:fold"
        run, place = np.divmod(rank, n)
        numbers = random_numbers(key, (run[:, None] * n + np.arange(n)).reshape(-1))
        dealt = np.argsort(numbers.reshape(-1, n), axis=1, kind="stable")
        return np.asarray(dealt[np.arange(len(rank)), place])


def random_numbers(key: str, numbers: IntArray) -> IntArray:
    """Return a random number for each of some numbers, the same for the same key."""
    origin = np.uint64(int.from_bytes(hashlib.sha256(key.encode()).digest()[:8], "little"))
    # SplitMix64 (Steele, Lea, Flood 2014): the values of consecutive numbers are independent.
    with np.errstate(over="ignore"):
        z = origin + (numbers + 1).astype(np.uint64) * _STEP
        z = (z ^ (z >> np.uint64(30))) * _MIX1
        z = (z ^ (z >> np.uint64(27))) * _MIX2
    return ((z ^ (z >> np.uint64(31))) >> np.uint64(1)).astype(np.int64)


def kinds_in(split: Array) -> IntArray:
    """Return the kinds that a split column spells, (n,).

    Raises
    ------
    ValueError
        If it holds anything but training, test and validation.
    """
    values, codes = np.unique(split.astype(str), return_inverse=True)
    kinds = []
    for value in values.tolist():
        word = value.strip().casefold()
        if word not in _NAMES and word not in _SPARE:
            raise ValueError(
                "must hold train and test (rows of dev or validation are left out); it also holds "
                f"{short(value)!r}."
            )
        kinds.append(_NAMES.get(word, LEFT_OUT))
    return np.array(kinds, dtype=np.int64)[codes]
