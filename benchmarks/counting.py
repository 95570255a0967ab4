"""Counting by class against other ways to add up a sparse matrix.

Multiples, by the clock, of one pass of one thread over `indices` and `data` of the same
matrix.
"""

import numba
import numpy as np
from experiments.frame import Table
from sklearn.preprocessing import LabelBinarizer

from benchmarks.shapes import load
from benchmarks.turns import in_threads, medians
from naively import ClassCounts


@numba.njit(nogil=True)
def streaming(data, indices):
    total = 0.0
    for position in range(len(data)):
        total += data[position] + indices[position]
    return total


@numba.njit(nogil=True)
def scatter(data, indices, indptr, codes, table):
    """Scatter-add into interleaved classes: the plainest loop, unsigned indices, no checks."""
    width = np.uint64(table.shape[1])
    flat = table.reshape(-1)
    for i in range(len(codes)):
        c = np.uint64(codes[i])
        for position in range(indptr[i], indptr[i + 1]):
            flat[np.uint64(indices[position]) * width + c] += data[position]


@numba.njit(nogil=True)
def scatter_by_class(data, indices, indptr, codes, table):
    """The same into one row per class."""
    for i in range(len(codes)):
        row = table[codes[i]]
        for position in range(indptr[i], indptr[i + 1]):
            row[np.uint64(indices[position])] += data[position]


def contestants(X, y, n_classes):
    m = X.shape[1]
    kind = np.int64 if X.dtype.kind == "i" else np.float64
    labels = LabelBinarizer().fit(y).transform(y)
    Y = (np.hstack([1 - labels, labels]) if n_classes == 2 else labels).astype(X.dtype)

    def ours():
        ClassCounts.from_matrix(X, y)

    def by_column(kernel, shape):
        return lambda: kernel(X.data, X.indices, X.indptr, y, np.zeros(shape, kind))

    return {
        "streaming pass": lambda: streaming(X.data, X.indices),
        "ClassCounts, 1 thread": in_threads(1, ours),
        "ClassCounts, 2 threads": in_threads(2, ours),
        "plain scatter, (m, C)": by_column(scatter, (m, n_classes)),
        "plain scatter, (C, m)": by_column(scatter_by_class, (n_classes, m)),
        "SciPy X.T @ Y": lambda: X.T @ Y,
        "SciPy X[y == c].sum(0)": lambda: [X[y == c].sum(axis=0) for c in range(n_classes)],
    }


def run(asked):
    table = Table([])
    for name, n_classes in (("A", 2), ("B", 2), ("C", 2), ("C", 20)):
        for dtype in (np.int32, np.float64):
            X, y = load(name, n_classes, dtype=dtype)
            found = medians(contestants(X, y, n_classes), asked.rounds, "streaming pass")
            table.columns = ["shape, classes", *list(found)[1:]]
            ratios = [float(ratio[0]) for _, ratio in found.values()]
            table.rows.append([f"{name} {np.dtype(dtype).name}, {n_classes}", *ratios[1:]])
    return {"Counting": table}
