"""Rows known by their content, whatever file, format, shard or batch they stand in."""

from __future__ import annotations

import numpy as np

from naively._kernels.compiled import read_only
from naively._kernels.row_keys import dense_keys, sparse_keys, text_keys
from naively._types import Array
from naively.read.batch import Batch
from naively.statistics.matrix import canonical, is_sparse
from naively.text.utf8 import Texts, TokenRows, as_texts


def row_keys(batch: Batch) -> Array:
    """Return a number for each row (n,), uint64: that of its texts, or of its values not 0.

    Values count in single precision and by the place of their column, so that sparse is dense, and
    a table that was written and read again is the same. Labels have no part in it.
    """
    rows, keys = batch.rows, np.empty(len(batch), dtype=np.uint64)
    if isinstance(rows, Texts | TokenRows):
        tokens = rows if isinstance(rows, Texts) else rows.tokens
        starts = np.arange(len(rows) + 1) if isinstance(rows, Texts) else rows.starts
        offsets, starts = tokens.offsets.astype(np.int64), starts[:: batch.width].astype(np.int64)
        text_keys(read_only(tokens.bytes), read_only(offsets), read_only(starts), keys)
    elif is_sparse(rows):
        rows = canonical(rows)  # an entry may be there in two parts
        indices, indptr = (each.astype(np.int64) for each in (rows.indices, rows.indptr))
        sparse_keys(_bits(rows.data), indices, indptr, keys)
    else:
        dense_keys(_bits(rows), keys)
    return keys


def part_keys(batch: Batch) -> Array:
    """Return the keys (n,) by which rows are divided: of their groups, where they have some."""
    if batch.group is None:
        return row_keys(batch)
    groups, codes = np.unique(batch.group, return_inverse=True)
    texts, keys = as_texts(groups.tolist()), np.empty(len(groups), dtype=np.uint64)
    starts = np.arange(len(groups) + 1)
    offsets = texts.offsets.astype(np.int64)
    text_keys(read_only(texts.bytes), read_only(offsets), read_only(starts), keys)
    return np.asarray(keys[codes])


def _bits(values: Array) -> Array:
    """Single precision as whole numbers, with one zero and one NaN."""
    with np.errstate(over="ignore", under="ignore"):
        single = np.ascontiguousarray(values, dtype=np.float32) + np.float32(0)
    single[np.isnan(single)] = np.nan
    return np.asarray(single.view(np.uint32))
