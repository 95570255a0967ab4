"""What the rows that were read are like: repeated, empty, without values, of labels that vary."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable
from itertools import chain

import numpy as np

from naively._types import Array
from naively.jobs.data import BLANK_BYTES, Data
from naively.read.batch import Batch
from naively.read.parts import batches_of
from naively.report.summary import InputProfile
from naively.statistics.matrix import is_sparse
from naively.statistics.missing import missing_mask
from naively.text.labels import folded
from naively.text.utf8 import Texts, TokenRows, are_blank
from naively.work.row_keys import row_keys

_LOOKED_AT = 10_000  # rows


def profile_of(data: Data) -> InputProfile | None:
    """Go through the first rows once more.

    None where there are no rows any more, but what was counted of them.
    """
    if not data.tasks:
        return None
    layout, there_are = data.tasks[0].layout, sum(data.shards.values())
    may_miss = layout.missing or layout.variables is not None
    keys, empty, read, missing = [np.empty(0, np.uint64)], 0, 0, 0
    for batch in chain.from_iterable(batches_of(part, layout) for part in data.parts):
        left = _LOOKED_AT - read
        some = batch if left >= len(batch) else batch.take(np.arange(left))
        read += len(some)
        keys.append(row_keys(some))
        empty += int(_are_empty(some, of_table=data.words_from is not None).sum())
        missing += _n_missing(some) if may_miss else 0
        if read >= _LOOKED_AT:
            break
    return InputProfile(
        rows=read,
        whole=read >= there_are,
        repeated=read - len(np.unique(np.concatenate(keys))),
        empty=empty,
        variants=variants_of(data.labelled_rows),
        missing=missing if may_miss else None,
    )


def _n_missing(batch: Batch) -> int:
    """Count the values that are missing."""
    rows = batch.rows
    return int(np.isnan(rows.data if is_sparse(rows) else rows).sum())


def _are_empty(batch: Batch, *, of_table: bool) -> Array:
    """Whether rows (n,) hold no text, or no value that is not 0; of a table, no value at all."""
    rows = batch.rows
    if of_table:
        mask = missing_mask(rows)
        missing = 0 if mask is None else np.asarray(mask.sum(axis=1)).ravel()
        return np.broadcast_to(missing == rows.shape[1], (rows.shape[0],))
    if isinstance(rows, TokenRows):
        blank = np.diff(rows.starts) == 0
        return np.asarray(blank.reshape(len(batch), batch.width).all(axis=1))
    if isinstance(rows, Texts):
        blank = are_blank(rows.rows(0, len(rows)), BLANK_BYTES)
        return np.asarray(blank.reshape(len(batch), batch.width).all(axis=1))
    # What is missing is no value, and nothing is what it is unequal to.
    present = rows != 0
    if not is_sparse(rows):
        return np.asarray((present & ~np.isnan(rows)).sum(axis=1) == 0)
    return np.asarray(present.sum(axis=1) == 0).ravel()


def variants_of(labels: Iterable[str]) -> tuple[tuple[str, ...], ...]:
    """Labels that differ in case and blanks alone, together; those that are alone are left out."""
    alike: dict[str, list[str]] = defaultdict(list)
    for label in sorted(labels):
        alike[folded(" ".join(label.split()))].append(label)
    return tuple(tuple(each) for each in alike.values() if len(each) > 1)
