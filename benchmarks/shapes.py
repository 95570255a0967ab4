"""Synthetic count data of three sizes, for the benchmarks.

    A  1.6 M rows x 12 M columns, about 25 entries a row: word n-grams of short messages
    B  25 k rows x 9 M columns, about 245 a row: word n-grams of reviews; half the columns empty
    C  25 k rows x 103 k columns, about 132 a row: words of reviews

Document frequencies follow a power law, columns stand in random order, and each column prefers one
class by a strength of its own. The arrays are made once and kept in the temporary directory.

    X, y = load("A", n_classes=20, dtype=np.float64)
"""

from __future__ import annotations

import tempfile
from dataclasses import dataclass
from pathlib import Path

import numpy as np
import scipy.sparse as sp


@dataclass(frozen=True)
class Shape:
    n_rows: int
    n_columns: int
    n_entries: int
    occupied: float  # share of the columns with an entry
    least: int  # rows of the rarest occupied column


SHAPES = {
    "A": Shape(1_600_000, 12_000_000, 40_000_000, occupied=1.0, least=1),
    "B": Shape(25_000, 9_000_000, 6_200_000, occupied=0.49, least=1),
    "C": Shape(25_000, 103_000, 3_400_000, occupied=1.0, least=4),
}


def load(name, n_classes=2, dtype=np.int32, *, tfidf=False, scale=1.0, seed=0):
    """One shape as (CSR matrix, labels); `scale` < 1 shrinks rows, columns and entries alike."""
    shape = SHAPES[name]
    shape = Shape(
        round(shape.n_rows * scale),
        round(shape.n_columns * scale),
        round(shape.n_entries * scale),
        shape.occupied,
        shape.least,
    )
    folder = Path(tempfile.gettempdir()) / "naively-benchmarks"
    folder = folder / f"{name}-{n_classes}-{scale:g}-{seed}"
    if not (folder / "y.npy").exists():
        _store(folder, *generate(shape, n_classes, seed))
    data, indices, indptr, y = (
        np.load(folder / f"{part}.npy") for part in ("data", "indices", "indptr", "y")
    )
    X = sp.csr_matrix((data.astype(dtype), indices, indptr), (shape.n_rows, shape.n_columns))
    return (_tfidf(X) if tfidf else X), y


def generate(shape, n_classes, seed):
    """Draw the rows of every entry, column by column, then turn columns into rows."""
    rng = np.random.default_rng(seed)
    y = rng.integers(n_classes, size=shape.n_rows)
    by_class = np.argsort(y, kind="stable").astype(np.int32)
    first = np.searchsorted(y[by_class], np.arange(n_classes + 1))

    frequency = rng.permutation(document_frequencies(shape)).astype(np.int64)
    favourite = rng.integers(n_classes, size=shape.n_columns)
    strength = rng.beta(0.5, 2.0, shape.n_columns)
    indptr = np.concatenate([[0], np.cumsum(frequency)])
    rows = np.empty(indptr[-1], dtype=np.int32)
    for start in range(0, shape.n_columns, 500_000):  # bounds the temporaries
        part = slice(start, start + 500_000)
        column = np.repeat(np.arange(len(frequency[part])), frequency[part])
        partial = rng.random(len(column)) < strength[part][column]
        low = np.where(partial, first[favourite[part]][column], 0)
        high = np.where(partial, first[favourite[part] + 1][column], shape.n_rows)
        drawn = (low + rng.random(len(column)) * (high - low)).astype(np.int64)
        stop = min(start + 500_000, shape.n_columns)
        rows[indptr[start] : indptr[stop]] = by_class[np.minimum(drawn, shape.n_rows - 1)]
    counts = rng.geometric(0.9, len(rows)).astype(np.int32)
    X = sp.csc_matrix((counts, rows, indptr), (shape.n_rows, shape.n_columns)).tocsr()
    X.sum_duplicates()
    return X, y


def document_frequencies(shape):
    """Rows of each column, by rank: a power law whose exponent gives the number of entries."""
    n_occupied = round(shape.n_columns * shape.occupied)
    quantile = n_occupied / np.arange(1, n_occupied + 1)
    head = np.minimum(0.3 * shape.n_rows / np.arange(1, n_occupied + 1), 0.3 * shape.n_rows)
    head[1000:] = 0

    def frequencies(exponent):
        tail = np.minimum(shape.least * quantile**exponent, 0.3 * shape.n_rows)
        return np.floor(np.maximum(tail, head))

    low, high = 0.0, 1.5
    for _ in range(30):
        middle = (low + high) / 2
        low, high = (middle, high) if frequencies(middle).sum() < shape.n_entries else (low, middle)
    return np.concatenate([frequencies(low), np.zeros(shape.n_columns - n_occupied)])


def _tfidf(X):
    """Counts weighted by log inverse document frequency, rows of length one."""
    frequency = np.bincount(X.indices, minlength=X.shape[1])
    idf = np.log((1 + X.shape[0]) / (1 + frequency)) + 1
    data = X.data * idf[X.indices]
    squares = np.concatenate([[0.0], np.cumsum(data**2)])
    norms = np.sqrt(np.diff(squares[X.indptr]))
    data /= np.repeat(np.where(norms > 0, norms, 1.0), np.diff(X.indptr))
    return sp.csr_matrix((data, X.indices, X.indptr), X.shape)


def _store(folder, X, y):
    folder.mkdir(parents=True, exist_ok=True)
    parts = {"data": X.data, "indices": X.indices, "indptr": X.indptr, "y": y}
    for part, array in parts.items():  # the labels last: their file says that all is there
        np.save(folder / f"{part}.npy", array)
