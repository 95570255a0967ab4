"""Which rows are trained on, tested on, or left out: the *kind* of a row.

A kind is decided by the content of the row, known by a number (its key), not by the name of its
file, the format, the shard or the place in it. So copies of the same rows are divided alike,
wherever they are counted.

Of many rows, those are tested on whose random number, drawn by the key, is below the share; the
folds are equal stretches of another such number. Few rows are dealt out exactly, by class: the
share of them with the smallest numbers is tested on (what is left over is rounded at random, by the
class), one row at least is trained on, and the folds are equal stretches of the others in an order
of their own. There the other rows of its class have a say in the kind of a row.

Equal rows (of one class, where they are few) are of one kind, so that no row is tested on that was
trained on. Where more than half of the rows repeat others, as in tables of few categories,
repetitions are what the data is made of: then rows are dealt out exactly, however many they are,
and equal rows one by one.

Rows that belong together (of one author, one donor, one plate) are known by the name of their
group, and of one kind. Groups are dealt out exactly, by the rows that they have, whatever the
classes, and one group at least is tested on.

Rows that have a time are told by it alone: the last share of them is tested on, and of the others
K + 1 stretches follow each other, of which the last K are judged, each by what was trained on those
before it. Rows of the same time are in the same stretch, the later one.

Left out one at a time, each row, or group, is a fold of its own.
"""

from __future__ import annotations

import hashlib
from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from fractions import Fraction
from typing import final

import numpy as np

from naively._nearest import short
from naively._types import Array, FloatArray, IntArray

# Kinds; with K folds, fold t of the training rows is TRAIN + t.
UNLABELLED, LEFT_OUT, TEST, TRAIN = -2, -1, 0, 1
FEW_ROWS = 10_000  # that are dealt out exactly; of more, a share varies by less than 0.01
_NAMES = {"train": TRAIN, "training": TRAIN, "test": TEST, "testing": TEST}
_SPARE = ("dev", "development", "val", "valid", "validation", "extra", "unsup")
_FINEST = 10**6  # largest denominator of a share
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
    grouped: bool = False  # keys are those of groups of rows
    timed: bool = False  # keys are times
    singly: bool = False  # of so many folds as there are rows, or groups
    apart: bool = False  # equal rows are dealt out one by one
    few: Mapping[str, bytes] | None = None  # kinds (int32) of the rows of each part, by its name
    groups: Mapping[int, int] | None = None  # kind of each group, by its key
    cuts: tuple[float, ...] | None = None  # first times of the stretches but the first, of the test

    @property
    def n_kinds(self) -> int:
        """Number of kinds of rows that are counted."""
        return TRAIN + self.n_folds + self._chained

    @property
    def _chained(self) -> bool:
        return self.timed and self.n_folds > 1

    @property
    def training(self) -> tuple[int, ...]:
        """Kinds of the rows that are trained on."""
        return tuple(range(TRAIN, self.n_kinds))

    @property
    def judged(self) -> tuple[int, ...]:
        """Kinds of the rows that are judged by models of others, in folds."""
        return self.training[self._chained :]

    def others(self, kind: int, kinds: tuple[int, ...]) -> tuple[int, ...]:
        """Return those of some kinds that are trained on where one is judged."""
        return tuple(each for each in kinds if (each < kind if self.timed else each != kind))

    @property
    def by_chance(self) -> bool:
        """Whether another seed divides the rows into other folds."""
        return not self.timed and not self.singly

    @property
    def asks_content(self) -> bool:
        """Whether kinds are decided by what the rows hold."""
        return self.grouped or self.n_folds > 1 or 0 < self.share < 1

    def of_part(self, name: str) -> Chooser:
        """Return what tells the kinds of the rows of a part."""
        return Chooser(self, name)

    def given(self, n: int, split: IntArray | None) -> IntArray:
        """Kinds (n,) before any row is chosen: those of a split column, or all training."""
        return np.full(n, TEST if self.share == 1 else TRAIN) if split is None else split.copy()

    def dealt(self, keys: Array, codes: IntArray, names: Array, split: IntArray | None) -> IntArray:
        """Return the kinds (n,) of all the rows there are, which are few.

        Parameters
        ----------
        keys : (n,)
            By which the rows are known.
        codes : (n,)
            Class of each row.
        names : (C,)
            Labels of the classes.
        split : (n,), optional
            Kinds that a split column says.
        """
        kinds = self.given(len(keys), split)
        if self.grouped:
            codes, names = np.zeros_like(codes), np.array(["all"])
        if self.apart:  # by class, so that the order of the rows has no say
            with np.errstate(over="ignore"):
                keys = Repeats().told_apart(keys + codes.astype(np.uint64) * _MIX2)
        free = np.flatnonzero(kinds == TRAIN)
        if split is None and 0 < self.share < 1:
            begin, end, size = _ranks(self._numbers("test", keys[free]), codes[free])
            share = Fraction(self.share).limit_denominator(_FINEST)
            whole, rest = np.divmod(size * share.numerator, share.denominator)
            rest = self._of_class("rest", names)[codes[free]] % share.denominator < rest
            chosen = begin + end < 2 * (whole + rest)  # of equal rows, to the nearest
            chosen |= self.grouped & (begin == 0)
            kinds[free[chosen & (end < size)]] = TEST
            free = np.flatnonzero(kinds == TRAIN)
        if self.singly:
            each = np.unique(keys[free], return_inverse=True)[1] if self.grouped else None
            kinds[free] += np.arange(len(free)) if each is None else each
            return kinds
        begin, _, size = _ranks(self._numbers("fold", keys[free]), codes[free])
        turn = self._of_class("turn", names)[codes[free]]
        kinds[free] += (begin * self.n_folds // size + turn) % self.n_folds
        return kinds

    def drawn(self, keys: Array, split: IntArray | None) -> IntArray:
        """Return the kinds (n,) of some of many rows, known by their keys (n,)."""
        kinds = self.given(len(keys), split)
        if split is None and 0 < self.share < 1:
            share = float(Fraction(self.share).limit_denominator(_FINEST))
            kinds[_uniform(self._numbers("test", keys)) < share] = TEST
        if self.n_folds > 1:
            fold = (_uniform(self._numbers("fold", keys)) * self.n_folds).astype(np.int64)
            kinds += np.where(kinds == TRAIN, fold, 0)
        return kinds

    def _numbers(self, purpose: str, keys: Array) -> IntArray:
        seed = self.fold_seed if purpose == "fold" else self.seed
        return random_numbers(f"{seed}:{purpose}", keys)

    def _of_class(self, purpose: str, names: Array) -> IntArray:
        """Draw a random number for each class (C,)."""
        seed = self.fold_seed if purpose == "turn" else self.seed
        drawn = [random_numbers(f"{seed}:{purpose}:{name}", np.zeros(1)) for name in names.tolist()]
        return np.concatenate([np.empty(0, dtype=np.int64), *drawn])


def is_repetitive(keys: Array) -> bool:
    """Whether more than half of the rows, known by their keys, repeat others."""
    return 2 * len(np.unique(keys)) < len(keys)


def for_rows(
    parting: Parting, keys: Array, codes: IntArray, names: Array, split: IntArray | None,
    parts: Mapping[str, int],
) -> Parting:  # fmt: skip
    """Return the parting for all the rows there are: they are dealt out exactly.

    Parameters
    ----------
    keys, codes, split : (n,)
        Of these rows.
    names : (C,)
        Of the classes; rows of the class "" are of no kind that is counted.
    parts
        Number of rows in each part, in the order of the rows.

    Raises
    ------
    ValueError
        If the rows have too few times, or one group.
    """
    labelled = (names != "")[codes] if len(names) else np.ones(len(keys), dtype=np.bool_)
    given = None if split is None else split[labelled]
    keys, codes = keys[labelled], codes[labelled]
    free = slice(None) if given is None else given == TRAIN
    if parting.timed:
        return replace(parting, cuts=_cuts(parting, np.sort(keys[free]), given is None))
    if parting.grouped and len(keys[free]) and (keys[free] == keys[free][0]).all():
        raise ValueError(
            f"all {len(keys[free]):,} rows are of one group, of which none can be kept apart"
        )
    parting = replace(parting, apart=not parting.grouped and is_repetitive(keys))
    kinds = np.full(len(labelled), UNLABELLED, dtype=np.int32)
    kinds[labelled] = own = parting.dealt(keys, codes, names, given).astype(np.int32)
    if parting.grouped:
        return replace(
            parting, groups=dict(zip(keys[free].tolist(), own[free].tolist(), strict=True))
        )
    ends = np.cumsum(list(parts.values()))
    pieces = np.split(kinds, ends[:-1])
    return replace(
        parting, few={part: each.tobytes() for part, each in zip(parts, pieces, strict=True)}
    )


def _cuts(parting: Parting, times: FloatArray, tests: bool) -> tuple[float, ...]:  # noqa: FBT001
    """First times of stretches of rows (n,), in their order; of the test, the last, infinity."""
    n, cuts, test = len(times), list[float](), np.inf
    if tests and 0 < parting.share < 1:
        share = Fraction(parting.share).limit_denominator(_FINEST)
        test = float(times[n - max(round(n * share), 1)]) if n else test
        n = int(np.searchsorted(times, test))
    if parting.n_folds > 1:
        length = n // (parting.n_folds + 1)
        first = n - parting.n_folds * length
        cuts = [float(times[first + t * length]) for t in range(parting.n_folds)] if length else []
    edges = [*times[:1].tolist(), *cuts, test]
    if not n or len(cuts) < parting.n_folds * (parting.n_folds > 1) or len(set(edges)) < len(edges):
        raise ValueError(
            f"{len(np.unique(times)):,} times of {len(times):,} rows cannot be cut into stretches "
            f"({parting.n_folds + 1 if parting.n_folds > 1 else 1} to train on"
            f"{', one to test on' * bool(test < np.inf)})"
        )
    return (*cuts, test)


def times_in(texts: Array) -> FloatArray:
    """Return times (n,) as numbers: of a column of numbers, or of dates as of ISO 8601.

    Raises
    ------
    ValueError
        If one is neither, or they are of both kinds.
    """
    is_date = np.array([each[:4].isdecimal() and "-" in each for each in texts.tolist()])
    try:
        if (is_date | (texts == "")).all() and is_date.any():
            dates = texts.astype("datetime64[us]")
            times = np.where(np.isnat(dates), np.nan, dates.astype(np.int64).astype(np.float64))
        else:
            times = np.where(texts == "", "nan", texts).astype(np.float64)
    except ValueError:
        raise ValueError(
            "must hold numbers, or dates such as 2024-01-31 or 2024-01-31T12:00"
        ) from None
    if not np.isfinite(times).all():
        raise ValueError("must hold a time in every row")
    return np.asarray(times)


@final
@dataclass(slots=True)
class Repeats:
    """Counts how often each key came by."""

    _seen: dict[int, int] = field(default_factory=dict)

    def told_apart(self, keys: Array) -> Array:
        """Return keys (n,) that depend on how often the same key came before."""
        distinct, codes, n = np.unique(keys, return_inverse=True, return_counts=True)
        order = np.argsort(codes, kind="stable")
        number = np.empty(len(keys), dtype=np.int64)
        number[order] = np.arange(len(keys)) - np.repeat(np.cumsum(n) - n, n)
        before = np.array([self._seen.get(key, 0) for key in distinct.tolist()], dtype=np.int64)
        self._seen.update(zip(distinct.tolist(), (before + n).tolist(), strict=True))
        with np.errstate(over="ignore"):
            return np.asarray(keys + (before[codes] + number).astype(np.uint64) * _MIX1)


@final
@dataclass(slots=True)
class Chooser:
    """Tells the kinds of the rows of a part, batch by batch."""

    parting: Parting
    name: str  # of the part
    _done: int = 0  # rows so far

    @property
    def asks_keys(self) -> bool:
        """Whether the keys of the rows are needed."""
        return self.parting.asks_content and self.parting.few is None

    def kinds(self, n: int, keys: Array | None, split: IntArray | None = None) -> IntArray:
        """Return the kind of each of the n rows that come next.

        Parameters
        ----------
        n
            Number of rows.
        keys : (n,)
            By which they are known, if they are asked for.
        split : (n,), optional
            Kinds that the split column says.
        """
        self._done += n
        if not self.parting.asks_content:
            return self.parting.given(n, split)
        if self.parting.few is not None:
            listed = np.frombuffer(self.parting.few[self.name], dtype=np.int32)
            return listed[self._done - n : self._done].astype(np.int64)
        assert keys is not None
        if self.parting.cuts is not None:
            kinds = self.parting.given(n, split)
            *cuts, test = self.parting.cuts
            stretch = TRAIN + np.searchsorted(cuts, keys, "right")
            return np.where(kinds == TRAIN, np.where(keys >= test, TEST, stretch), kinds)
        if self.parting.groups is not None:
            groups, codes = np.unique(keys, return_inverse=True)
            found = [self.parting.groups.get(key, TRAIN) for key in groups.tolist()]
            kinds = self.parting.given(n, split)
            return np.where(kinds == TRAIN, np.array(found, dtype=np.int64)[codes], kinds)
        return self.parting.drawn(keys, split)


def _ranks(numbers: IntArray, codes: IntArray) -> tuple[IntArray, IntArray, IntArray]:
    """Rows of the same class with smaller numbers, with no larger ones, and in all: (n,) each."""
    begin, end, size = (np.empty(len(codes), dtype=np.int64) for _ in range(3))
    for code in np.unique(codes).tolist():
        members = np.flatnonzero(codes == code)
        own = numbers[members]
        ascending = np.sort(own)
        begin[members] = np.searchsorted(ascending, own, "left")
        end[members] = np.searchsorted(ascending, own, "right")
        size[members] = len(own)
    return begin, end, size


def _uniform(numbers: IntArray) -> FloatArray:
    """Random numbers of 63 bits as numbers in [0, 1)."""
    return np.asarray((numbers >> 10) / 2.0**53)


def random_numbers(key: str, numbers: Array) -> IntArray:
    """Return a random number of 63 bits for each of some numbers, the same for the same key."""
    origin = np.uint64(int.from_bytes(hashlib.sha256(key.encode()).digest()[:8], "little"))
    # SplitMix64 (Steele, Lea, Flood 2014): the values of consecutive numbers are independent.
    with np.errstate(over="ignore"):
        z = origin + (numbers.astype(np.uint64) + np.uint64(1)) * _STEP
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
