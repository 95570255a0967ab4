"""Rows counted by buckets, of which halves of all rows are sums."""

from __future__ import annotations

from functools import reduce
from operator import add
from typing import Any

import numpy as np

from naively._types import Array
from naively.judging.parting import Repeats, random_numbers
from naively.models.model import Model
from naively.work.judged import Look
from naively.work.row_keys import row_keys
from naively.work.stream import Task, rows_by_kind, told_at


def bucketed(
    task: Task, look: Look, kinds: tuple[int, ...], model: Model[Any], classes: Array, n: int
) -> list[Any]:
    """Statistics of the rows of some kinds in each of n buckets, over the columns looked at.

    The bucket of a row is decided by its content, and by how many equal rows its part has before
    it, so it is the same for every division of the work. None stands for a bucket without rows.
    """
    see, found = look.eye(), [None] * n
    for part in task.parts:
        repeats = Repeats()
        for seen in rows_by_kind(task, part):
            bucket = random_numbers("bucket", repeats.told_apart(row_keys(seen.batch))) % n
            chosen = np.isin(seen.kinds, kinds)
            if not chosen.any():
                continue
            with told_at(part):
                X, y = see(seen.batch.take(chosen)), seen.names[seen.codes[chosen]]
                for b in np.unique(bucket[chosen]).tolist():
                    rows = np.flatnonzero(bucket[chosen] == b)
                    found[b] = summed([found[b], model.gather(X[rows], y[rows], classes=classes)])
    return found


def summed(statistics: list[Any]) -> Any:
    """Add up statistics, of which some may be None; None if all are."""
    known = [each for each in statistics if each is not None]
    return reduce(add, known) if known else None
