"""Rows known by their content, whatever file, format, shard, batch or order of columns."""

from __future__ import annotations

import numpy as np

from naively._kernels.compiled import read_only
from naively._kernels.row_keys import dense_keys, sparse_keys, text_keys
from naively._types import Array, IntArray
from naively.read.batch import Batch
from naively.statistics.matrix import canonical, is_sparse
from naively.text.utf8 import Texts, TokenRows, as_texts
from naively.text.vocabulary import Vocabulary

_NONE = np.empty(0, dtype=np.uint64)


def row_keys(batch: Batch, columns: Array = _NONE) -> Array:
    """Return a number for each row (n,), uint64: that of its texts, or of its values not 0.

    Values count in single precision and by the name of their column, of which `columns` are the
    keys (m,), or without them by its place. So sparse is dense, a table that was written and read
    again is the same, and the order of named columns has no part in it. Nor have labels.
    """
    rows, keys = batch.rows, np.empty(len(batch), dtype=np.uint64)
    if isinstance(rows, Texts | TokenRows):
        tokens = rows if isinstance(rows, Texts) else rows.tokens
        starts = np.arange(len(rows) + 1) if isinstance(rows, Texts) else rows.starts
        _write_text_keys(tokens, starts[:: batch.width], keys)
        return keys
    if is_sparse(rows):
        rows = canonical(rows)  # an entry may be there in two parts
        indices, indptr = (each.astype(np.int64) for each in (rows.indices, rows.indptr))
        sparse_keys(_bits(rows.data), indices, indptr, columns, keys)
    else:
        dense_keys(_bits(rows), columns, keys)
    return keys


def part_keys(batch: Batch, columns: Array = _NONE) -> Array:
    """Return the keys (n,) by which rows are divided: of their groups, where they have some."""
    if batch.group is None:
        return row_keys(batch, columns)
    groups, codes = np.unique(batch.group, return_inverse=True)
    return np.asarray(_text_keys(as_texts(groups.tolist()))[codes])


def column_keys(names: Vocabulary | None) -> Array:
    """Return the keys (m,) of columns, by their names; (0,) if they have none."""
    return _NONE if names is None else _text_keys(Texts(names.bytes, names.starts))


def _text_keys(texts: Texts) -> Array:
    keys = np.empty(len(texts), dtype=np.uint64)
    _write_text_keys(texts, np.arange(len(texts) + 1), keys)
    return keys


def _write_text_keys(texts: Texts, starts: IntArray, keys: Array) -> None:
    offsets, starts = texts.offsets.astype(np.int64), starts.astype(np.int64)
    text_keys(read_only(texts.bytes), read_only(offsets), read_only(starts), keys)


def _bits(values: Array) -> Array:
    """Single precision as whole numbers, with one zero and one NaN."""
    with np.errstate(over="ignore", under="ignore"):
        single = np.ascontiguousarray(values, dtype=np.float32) + np.float32(0)
    single[np.isnan(single)] = np.nan
    return np.asarray(single.view(np.uint32))
