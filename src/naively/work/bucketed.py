"""Rows counted by buckets, of which halves of all rows are sums."""

from __future__ import annotations

from functools import reduce
from operator import add
from typing import Any

import numpy as np

from naively._types import Array
from naively.judging.parting import Repeats, random_numbers
from naively.models.model import Model
from naively.read.batch import Batch
from naively.work.judged import Look
from naively.work.row_keys import column_keys, part_keys, row_keys
from naively.work.stream import Task, is_grouped, rows_by_kind, told_at


def bucketed(
    task: Task, look: Look, kinds: tuple[int, ...], model: Model[Any], classes: Array, n: int,
    groups: Array | None = None,
) -> list[Any]:  # fmt: skip
    """Statistics of the rows of some kinds in each of n buckets, over the columns looked at.

    The bucket of a row is decided by its content and label, and by how many such rows of its part
    come before it: it is the same for every division of the work, and every order of the
    rows. That of groups of rows is decided by their keys: with `groups` (n,), ascending, each has
    its own. None stands for a bucket without rows.
    """
    see, found = look.eye(), [None] * n
    columns = column_keys(task.names)
    for part in task.parts:
        repeats = Repeats()
        for seen in rows_by_kind(task, part):
            batch, labels = seen.of_kind(*kinds)
            if not len(batch):
                continue
            if groups is not None:
                bucket = np.searchsorted(groups, part_keys(batch))
            else:
                grouped = is_grouped(task)
                keys = part_keys(batch) if grouped else _keys(batch, labels, columns)
                keys = keys if grouped else repeats.told_apart(keys)
                bucket = random_numbers("bucket", keys) % n
            with told_at(part):
                X = see(batch)
                for b in np.unique(bucket).tolist():
                    rows = np.flatnonzero(bucket == b)
                    weight = None if batch.weight is None else batch.weight[rows]
                    own = model.gather(X[rows], labels[rows], weight, classes=classes)
                    found[b] = summed([found[b], own])
    return found


def _keys(batch: Batch, labels: Array, columns: Array) -> Array:
    """Keys (n,) of rows by content and label."""
    names, codes = np.unique(labels, return_inverse=True)
    mark = [random_numbers(f"bucket:{name}", np.zeros(1))[0] for name in names.tolist()]
    with np.errstate(over="ignore"):
        return np.asarray(row_keys(batch, columns) + np.array(mark, dtype=np.uint64)[codes])


def summed(statistics: list[Any]) -> Any:
    """Add up statistics, of which some may be None; None if all are."""
    known = [each for each in statistics if each is not None]
    return reduce(add, known) if known else None
