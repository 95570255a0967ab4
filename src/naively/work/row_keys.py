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

_PLACE = np.uint64(32)  # bits of a value, behind which stands the place of its column


def row_keys(batch: Batch, names: Vocabulary | None = None) -> Array:
    """Return a number for each row (n,), uint64: that of its texts, or of its values not 0.

    Values count in single precision and by the name of their column, whose place has no part in it;
    without `names` (m,) by its place. So sparse is dense, and a table that was written and read
    again is the same. Labels have no part in it.
    """
    rows, keys = batch.rows, np.empty(len(batch), dtype=np.uint64)
    if isinstance(rows, Texts | TokenRows):
        tokens = rows if isinstance(rows, Texts) else rows.tokens
        starts = np.arange(len(rows) + 1) if isinstance(rows, Texts) else rows.starts
        _write_text_keys(tokens, starts[:: batch.width], keys)
        return keys
    columns = _column_keys(rows.shape[1], names)
    if is_sparse(rows):
        rows = canonical(rows)  # an entry may be there in two parts
        indices, indptr = (each.astype(np.int64) for each in (rows.indices, rows.indptr))
        sparse_keys(_bits(rows.data), indices, indptr, columns, keys)
    else:
        dense_keys(_bits(rows), columns, keys)
    return keys


def part_keys(batch: Batch, names: Vocabulary | None = None) -> Array:
    """Return the keys (n,) by which rows are divided: of their groups, where they have some."""
    if batch.group is None:
        return row_keys(batch, names)
    groups, codes = np.unique(batch.group, return_inverse=True)
    return np.asarray(_text_keys(as_texts(groups.tolist()))[codes])


def _column_keys(n: int, names: Vocabulary | None) -> Array:
    """Keys (m,) of columns: of their names, or of their places."""
    if names is None:
        return np.arange(n, dtype=np.uint64) << _PLACE
    return _text_keys(Texts(names.bytes, names.starts))


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
