"""Training and test rows, told apart without knowing any other part of the data.

Of each class, one row in so many is tested on: the rows of a class in a part are taken in runs of
1 / share rows, and one of each run is chosen at random. The choice follows from the name of the
part, the class, the number of the run and the seed, so it is the same for every division of the
work, and for rows in memory. The first row of a class in a part is never chosen: no class of a file
in one part is without training.

Both kinds are counted in one pass: a label `pos` becomes `train:pos` or `test:pos`, and the
statistics of the two are taken apart afterwards, or added.
"""

from __future__ import annotations

import hashlib
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from fractions import Fraction
from typing import Any

import numpy as np

from naively._types import Array, IntArray
from naively.scale.sources import Batch
from naively.statistics.counts import ClassCounts
from naively.statistics.labels import encode_labels
from naively.statistics.sparse_table import SparseTable
from naively.text.labels import text_labels
from naively.text.utf8 import Texts, TokenRows

TRAIN, TEST, LEFT_OUT = 0, 1, 2  # kinds of rows
_MARKS = ("train:", "test:")
_KINDS = {"train": TRAIN, "training": TRAIN, "test": TEST, "testing": TEST}
_SPARE_KINDS = ("dev", "development", "val", "valid", "validation", "extra", "unsup")
_FINEST = 10**6  # largest denominator of a share
_STEP = np.uint64(0x9E3779B97F4A7C15)
_MIX1, _MIX2 = np.uint64(0xBF58476D1CE4E5B9), np.uint64(0x94D049BB133111EB)


@dataclass(frozen=True, slots=True)
class Holdout:
    """Which rows are tested on: a share of each class, at random, unless a split column says it.

    A share of 0 leaves all rows for training, a share of 1 all for the test.
    """

    share: float = 0.0
    seed: int = 0

    def marked(self, part: str, batches: Iterator[Batch]) -> Iterator[Batch]:
        """Mark the labels of a part; rows that a split column gives to neither are dropped."""
        for rows, names, codes, kinds in self.parted(part, batches):
            given = np.flatnonzero(kinds != LEFT_OUT)
            if len(given) < len(kinds):
                rows, codes, kinds = rows_at(rows, given), codes[given], kinds[given]
            both = np.array([mark + name for mark in _MARKS for name in names.tolist()] or [""])
            yield Batch(rows, both[codes + len(names) * kinds])

    def parted(
        self, part: str, batches: Iterator[Batch]
    ) -> Iterator[tuple[Any, Array, Array, IntArray]]:
        """Yield rows, names of labels (C,), label (n,) and kind (n,) of each batch of a part."""
        chooser = Chooser(self.share, self.seed, part)
        for batch in batches:
            names, codes = text_labels(batch.labels)
            split = batch.split
            kinds = chooser.kinds(names, codes) if split is None else _kinds_of_column(split)
            yield batch.rows, names, codes, kinds


class Chooser:
    """Chooses the test rows of a part, batch by batch; remembers how many of a class came by."""

    def __init__(self, share: float, seed: int, part: str) -> None:
        fraction = Fraction(share).limit_denominator(_FINEST)
        self._chosen, self._of = fraction.numerator, fraction.denominator
        self._key = f"{seed}:{part}"
        self._seen: dict[str, int] = {}

    def kinds(self, classes: Array, codes: Array) -> IntArray:
        """Return TRAIN or TEST for each of the rows that come next, (n,)."""
        if self._chosen in (0, self._of):
            return np.full(len(codes), TEST if self._chosen else TRAIN)
        order = np.argsort(codes, kind="stable")
        ends = np.cumsum(np.bincount(codes, minlength=len(classes)))
        kinds = np.empty(len(codes), dtype=np.int64)
        for name, members in zip(classes.tolist(), np.split(order, ends)[:-1], strict=True):
            first = self._seen.get(name, 0)
            self._seen[name] = first + len(members)
            kinds[members] = self._of_class(name, first + np.arange(len(members)))
        return kinds

    def _of_class(self, name: str, rank: IntArray) -> Array:
        """Whether the rows with these numbers among those of a class are tested on."""
        run = rank * self._chosen // self._of
        # Run r holds the rows from start(r) to before start(r + 1).
        start, end = (-(-each * self._of // self._chosen) for each in (run, run + 1))
        spared = start == 0  # the first row of all
        size = np.maximum(end - start - spared, 1)
        place = start + spared + (_random(f"{self._key}:{name}", run) % size)
        chosen: Array = (rank == place) & (rank > 0)
        return chosen


def _random(key: str, numbers: IntArray) -> IntArray:
    """Return a random number for each of some numbers, the same for the same key."""
    origin = np.uint64(int.from_bytes(hashlib.sha256(key.encode()).digest()[:8], "little"))
    # SplitMix64 (Steele, Lea, Flood 2014): the values of consecutive numbers are independent.
    with np.errstate(over="ignore"):
        z = origin + (numbers + 1).astype(np.uint64) * _STEP
        z = (z ^ (z >> np.uint64(30))) * _MIX1
        z = (z ^ (z >> np.uint64(27))) * _MIX2
    return ((z ^ (z >> np.uint64(31))) >> np.uint64(1)).astype(np.int64)


def _kinds_of_column(split: Array) -> IntArray:
    try:
        return kinds_in(split)
    except ValueError as error:
        raise ValueError(f"the split column {error}") from error


def kinds_in(split: Array) -> IntArray:
    """Return the kinds that a split column spells, (n,).

    Raises
    ------
    ValueError
        If it holds anything but training, test and validation.
    """
    values, codes = encode_labels(split)
    kinds = [_KINDS.get(str(value).strip().casefold(), -1) for value in values.tolist()]
    for i, value in enumerate(values.tolist()):
        if str(value).strip().casefold() in _SPARE_KINDS:
            kinds[i] = LEFT_OUT
        elif kinds[i] < 0:
            raise ValueError(
                "must hold train and test (rows of dev or validation are left "
                f"out); it also holds {str(value)!r}."
            )
    return np.array(kinds, dtype=np.int64)[codes]


def kinds_of(parts: Sequence[tuple[str, int]], labels: Array, share: float, seed: int) -> IntArray:
    """Return the kinds of rows in memory, (n,), from the names and lengths of their parts."""
    kinds, start = [np.empty(0, dtype=np.int64)], 0
    for name, n in parts:
        classes, codes = text_labels(labels[start : start + n])
        kinds.append(Chooser(share, seed, name).kinds(classes, codes))
        start += n
    return np.concatenate(kinds)


def rows_at(rows: Any, chosen: Array) -> Any:
    """Return some of the rows of a batch."""
    return rows.take(chosen) if isinstance(rows, Texts | TokenRows) else rows[chosen]


def _of_kind(classes: Array, kind: int) -> tuple[Array, Array]:
    """Positions of the marked classes of a kind, and their names."""
    mark, names = _MARKS[kind], classes.astype(str).tolist()
    chosen = [c for c, name in enumerate(names) if name.startswith(mark)]
    return np.array(chosen, dtype=np.int64), np.array([names[c][len(mark) :] for c in chosen], str)


def counts_of(counts: ClassCounts, kind: int) -> ClassCounts:
    """Return the statistics of one kind of rows of marked statistics."""
    chosen, names = _of_kind(counts.classes, kind)
    table = counts.table
    if isinstance(table, SparseTable):
        table = _classes_of(table, chosen)
    else:
        # The classes of a kind stand side by side, as they are sorted: copied many times faster.
        first, last = (chosen[0], chosen[-1]) if len(chosen) else (0, -1)
        adjacent = last - first + 1 == len(chosen)
        table = np.ascontiguousarray(table[:, slice(first, last + 1) if adjacent else chosen])
    weight = counts.length_weight[:, chosen]
    occurring = weight.any(axis=1)
    return replace(
        counts,
        classes=names,
        table=table,
        class_rows=counts.class_rows[chosen],
        class_weight=counts.class_weight[chosen],
        length_values=counts.length_values[occurring],
        length_weight=weight[occurring],
    )


def _classes_of(table: SparseTable, chosen: Array) -> SparseTable:
    position = np.full(table.shape[1], -1, dtype=np.int64)
    position[chosen] = np.arange(len(chosen))
    codes = position[table.codes]
    kept = codes >= 0
    columns = table.cells[kept].astype(np.int64) // table.shape[1]
    shape = (table.shape[0], len(chosen))
    return SparseTable.of(shape, columns * shape[1] + codes[kept], table.values[kept])
