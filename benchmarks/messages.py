"""Made-up short messages as Parquet files: words by Zipf's law, handles, addresses, hashtags.

About 13 tokens and 76 characters a message; a tenth of the words leans towards the class. Files do
not depend on each other, so any number of them may be made, and larger sets begin with the smaller.
"""

from __future__ import annotations

import tempfile
from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.parquet as pq

ROWS = 100_000  # of a file
_WORDS = 200_000
_HANDLES = 3_000_000
_OWN = 0.1  # share of the words that lean towards the class
_MEAN = 11


def files(n_rows, n_classes):
    """Folder of n_rows / 100,000 files; made once, kept in the temporary directory."""
    folder = Path(tempfile.gettempdir()) / "naively-benchmarks" / f"messages-{n_classes}-{n_rows}"
    folder.mkdir(parents=True, exist_ok=True)
    for number in range(n_rows // ROWS):
        path = folder / f"part-{number:04d}.parquet"
        if not path.exists():
            part = path.with_suffix(".part")
            pq.write_table(table(ROWS, n_classes, number), part, row_group_size=ROWS // 2)
            part.replace(path)
    return folder


def table(n_rows, n_classes, seed):
    """Columns `text` and `label` of some messages."""
    rng = np.random.default_rng(100 + seed)
    labels = rng.integers(0, n_classes, n_rows)
    lengths = rng.poisson(_MEAN, n_rows) + 1
    n_words = int(lengths.sum())
    ranks = np.floor(np.exp(rng.random(n_words) * np.log(_WORDS))).astype(np.int64) - 1
    own = rng.random(n_words) < _OWN
    ranks = np.where(own, (ranks * n_classes + np.repeat(labels, lengths)) % _WORDS, ranks)
    words = _decorated(_vocabulary().take(pa.array(ranks)), rng)
    offsets = pa.array(np.concatenate([[0], np.cumsum(lengths)]).astype(np.int32))
    texts = pc.binary_join(pa.ListArray.from_arrays(offsets, words), " ")
    return pa.table({"text": texts, "label": labels})


def _vocabulary():
    rng = np.random.default_rng(0)
    lengths = rng.integers(2, 9, _WORDS)
    letters = rng.integers(97, 123, int(lengths.sum())).astype(np.uint8)
    offsets = np.concatenate([[0], np.cumsum(lengths)]).astype(np.int32)
    return pa.StringArray.from_buffers(_WORDS, pa.py_buffer(offsets), pa.py_buffer(letters))


def _decorated(words, rng):
    n = len(words)
    kind = pa.array(rng.random(n))
    handles = pa.array(rng.integers(0, _HANDLES, n)).cast(pa.string())
    pages = pa.array(rng.integers(0, 10_000, n)).cast(pa.string())
    forms = [
        (0.03, pc.binary_join_element_wise("@", words, handles, "")),
        (0.045, pc.binary_join_element_wise("http://t.co/", words, pages, "")),
        (0.06, pc.binary_join_element_wise("#", words, "")),
        (0.12, pc.ascii_capitalize(words)),
        (0.2, pc.binary_join_element_wise(words, "!", "")),
    ]
    for limit, form in reversed(forms):
        words = pc.if_else(pc.less(kind, limit), form, words)
    return words
