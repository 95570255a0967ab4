"""Training and test rows, told apart without knowing any other row.

Whether a row is tested on follows from the name of its part, its number there and the seed, so it
is the same for every division of the work. Both kinds are counted in one pass: a label `pos`
becomes `train:pos` or `test:pos`, and the statistics of the two are taken apart afterwards, or
added.
"""

from __future__ import annotations

import hashlib
from collections.abc import Iterator
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from naively._types import Array, BoolArray
from naively.scale.sources import Batch
from naively.scale.utf8 import Texts, TokenRows
from naively.statistics.counts import ClassCounts
from naively.statistics.labels import encode_labels
from naively.statistics.sparse_table import SparseTable

TRAIN, TEST = "train:", "test:"
_PARTS = {"train": TRAIN, "training": TRAIN, "test": TEST, "testing": TEST}
_STEP = np.uint64(0x9E3779B97F4A7C15)
_MIX1, _MIX2 = np.uint64(0xBF58476D1CE4E5B9), np.uint64(0x94D049BB133111EB)


@dataclass(frozen=True, slots=True)
class Holdout:
    """Which rows are tested on: a share of all, at random, unless a split column says it."""

    share: float = 0.0
    seed: int = 0

    def marked(self, part: str, batches: Iterator[Batch]) -> Iterator[Batch]:
        """Mark the labels of a part; rows that a split column gives to neither are dropped."""
        start = 0
        for batch in batches:
            if batch.split is None:
                test = self._chosen(part, start, len(batch))
                yield replace(batch, labels=_marked(test, batch.labels))
            else:
                yield _by_column(batch)
            start += len(batch)

    def _chosen(self, part: str, start: int, n: int) -> BoolArray:
        """Whether rows start .. start + n - 1 of a part are tested on, (n,)."""
        digest = hashlib.sha256(f"{self.seed}:{part}".encode()).digest()
        origin = np.uint64(int.from_bytes(digest[:8], "little"))
        # SplitMix64 (Steele, Lea, Flood 2014): the numbers of consecutive rows are independent.
        with np.errstate(over="ignore"):
            z = origin + np.arange(start + 1, start + n + 1, dtype=np.uint64) * _STEP
            z = (z ^ (z >> np.uint64(30))) * _MIX1
            z = (z ^ (z >> np.uint64(27))) * _MIX2
        z ^= z >> np.uint64(31)
        return np.asarray(z < np.uint64(int(self.share * 2.0**64)))


def _by_column(batch: Batch) -> Batch:
    kinds = [_PARTS.get(str(value).casefold(), "") for value in np.asarray(batch.split).tolist()]
    rows = np.flatnonzero([bool(kind) for kind in kinds])
    labels = _marked(np.array(kinds)[rows] == TEST, batch.labels[rows])
    return Batch(_rows(batch.rows, rows), labels)


def _marked(test: BoolArray, labels: Array) -> Array:
    classes, codes = encode_labels(labels)
    names = [str(label) for label in classes.tolist()]
    both = np.array([kind + name for kind in (TRAIN, TEST) for name in names] or [""], dtype=str)
    marked: Array = both[codes + len(names) * test]
    return marked


def _rows(rows: Any, chosen: Array) -> Any:
    return rows.take(chosen) if isinstance(rows, Texts | TokenRows) else rows[chosen]


def rows_of(batch: Batch, kind: str) -> tuple[Any, Array]:
    """Return the rows of one kind of a marked batch, and their labels, unmarked."""
    chosen = np.flatnonzero(np.char.startswith(batch.labels, kind))
    return _rows(batch.rows, chosen), unmarked(batch.labels[chosen], kind)


def unmarked(labels: Array, kind: str) -> Array:
    """Take the mark off labels that all have it."""
    return np.array([label[len(kind) :] for label in labels.tolist()], dtype=str)


def counts_of(counts: ClassCounts, kind: str) -> ClassCounts:
    """Return the statistics of one kind of rows of marked statistics."""
    chosen = np.flatnonzero(np.char.startswith(counts.classes.astype(str), kind))
    table = counts.table
    if isinstance(table, SparseTable):
        table = _classes_of(table, chosen)
    else:
        table = np.ascontiguousarray(table[:, chosen])
    weight = counts.length_weight[:, chosen]
    occurring = weight.any(axis=1)
    return replace(
        counts,
        classes=unmarked(counts.classes[chosen], kind),
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
