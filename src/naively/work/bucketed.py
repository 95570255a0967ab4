"""Rows counted by buckets, of which halves of all rows are sums."""

from __future__ import annotations

from functools import reduce
from operator import add
from typing import Any

import numpy as np

from naively._types import Array
from naively.judging.parting import LEFT_OUT, Repeats, random_numbers
from naively.models.model import Model
from naively.work.judged import Look
from naively.work.row_keys import row_keys
from naively.work.stream import Seen, Task, rows_by_kind, told_at


def bucketed(
    task: Task, look: Look, kinds: tuple[int, ...], model: Model[Any], classes: Array, n: int
) -> list[Any]:
    """Statistics of the rows of some kinds in each of n buckets, over the columns looked at.

    The bucket of a row is decided by its content, label and kind, and by how many rows of the same
    its part has before it: it is the same for every division of the work, and every order of the
    rows. None stands for a bucket without rows.
    """
    see, found = look.eye(), [None] * n
    for part in task.parts:
        repeats = Repeats()
        for seen in rows_by_kind(task, part):
            bucket = random_numbers("bucket", repeats.told_apart(_keys(seen))) % n
            chosen = np.isin(seen.kinds, kinds)
            if not chosen.any():
                continue
            with told_at(part):
                X, y = see(seen.batch.take(chosen)), seen.names[seen.codes[chosen]]
                for b in np.unique(bucket[chosen]).tolist():
                    rows = np.flatnonzero(bucket[chosen] == b)
                    found[b] = summed([found[b], model.gather(X[rows], y[rows], classes=classes)])
    return found


def _keys(seen: Seen) -> Array:
    """Keys (n,) of rows by content, label and kind."""
    of_label = [
        random_numbers(f"bucket:{name}", np.arange(seen.kinds.max(initial=0) + 2))
        for name in seen.names.tolist()
    ]
    mixed = np.array(of_label, dtype=np.uint64)[seen.codes, seen.kinds - LEFT_OUT]
    with np.errstate(over="ignore"):
        return np.asarray(row_keys(seen.batch) + mixed)


def summed(statistics: list[Any]) -> Any:
    """Add up statistics, of which some may be None; None if all are."""
    known = [each for each in statistics if each is not None]
    return reduce(add, known) if known else None
