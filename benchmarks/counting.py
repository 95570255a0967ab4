"""Counting by class against other ways to add up a sparse matrix.

    python benchmarks/counting.py A B C --classes 2 --rounds 7

Multiples of one pass of a single thread over `indices` and `data` of the same matrix; medians of
rounds in one process, the contestants taking turns.
"""

import argparse
import time

import numba
import numpy as np
from shapes import load
from sklearn.preprocessing import LabelBinarizer

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


def seconds(job):
    start = time.perf_counter()
    job()
    return time.perf_counter() - start


def contestants(X, y, n_classes):
    m = X.shape[1]
    kind = np.int64 if X.dtype.kind == "i" else np.float64
    labels = LabelBinarizer().fit(y).transform(y)
    Y = (np.hstack([1 - labels, labels]) if n_classes == 2 else labels).astype(X.dtype)

    def ours(threads):
        def run():
            numba.set_num_threads(threads)
            ClassCounts.from_matrix(X, y)

        return run

    def by_column(kernel, shape):
        return lambda: kernel(X.data, X.indices, X.indptr, y, np.zeros(shape, kind))

    return {
        "streaming pass": lambda: streaming(X.data, X.indices),
        "ClassCounts, 1 thread": ours(1),
        "ClassCounts, 2 threads": ours(2),
        "plain scatter, (m, C)": by_column(scatter, (m, n_classes)),
        "plain scatter, (C, m)": by_column(scatter_by_class, (n_classes, m)),
        "SciPy X.T @ Y": lambda: X.T @ Y,
        "SciPy X[y == c].sum(0)": lambda: [X[y == c].sum(axis=0) for c in range(n_classes)],
    }


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("shapes", nargs="+")
    parser.add_argument("--classes", type=int, default=2)
    parser.add_argument("--rounds", type=int, default=7)
    options = parser.parse_args()
    for name in options.shapes:
        for dtype in (np.int32, np.float64):
            X, y = load(name, options.classes, dtype=dtype)
            jobs = contestants(X, y, options.classes)
            times = {job: [] for job in jobs}
            for turn in range(options.rounds + 1):
                for job, run in jobs.items():
                    if job.startswith("SciPy") and turn > 2:
                        continue
                    spent = seconds(run)
                    if turn:  # the first turn compiles and touches the memory
                        times[job].append(spent)
            unit = np.median(times["streaming pass"])
            cells = " | ".join(f"{np.median(values) / unit:.1f}" for values in times.values())
            print(f"| {name} {np.dtype(dtype).name}, {options.classes} | {cells} |", flush=True)


if __name__ == "__main__":
    main()
