"""Sparse centers against one pass over the data and against scikit-learn's NearestCentroid.

    python benchmarks/centers.py [l2] [l1] [sparse]

Prints ratios of medians; all variants of a comparison take turns in one process.
"""

import gc
import sys
import time
import tracemalloc

import numba
import numpy as np
import scipy.sparse as sp
from numba import njit
from sklearn.neighbors import NearestCentroid

from naively import ClassMedians, ClassMoments, SparseL1Centers, SparseL2Centers

THREADS = numba.get_num_threads()


def in_one_thread(function):
    def run():
        numba.set_num_threads(1)
        try:
            return function()
        finally:
            numba.set_num_threads(THREADS)

    return run


def medians(variants, rounds):
    """Median seconds of each variant, by the clock and of the processor; they take turns."""
    seconds = {name: [] for name in variants}
    for turn in range(rounds + 1):
        for name, function in variants.items():
            clock, processor = time.perf_counter(), time.process_time()
            function()
            if turn:  # the first round compiles and warms up
                taken = time.perf_counter() - clock, time.process_time() - processor
                seconds[name].append(taken)
    return {name: np.median(values, axis=0) for name, values in seconds.items()}


def peak(function):
    """Bytes of NumPy arrays at the highest, above those before."""
    gc.collect()
    tracemalloc.start()
    function()
    _, highest = tracemalloc.get_traced_memory()
    tracemalloc.stop()
    return highest


def show(title, seconds, unit):
    print(f"\n{title}  (1 = {unit}, {seconds[unit][0] * 1e3:.4g} ms)")
    print(f"  {'':<44}    clock  processor")
    for name, value in seconds.items():
        clock, processor = value / seconds[unit]
        print(f"  {name:<44} {clock:8.2f}   {processor:8.2f}")
    sys.stdout.flush()


@njit(nogil=True)
def one_pass(data, indices):
    total = 0.0
    for position in range(len(data)):
        total += data[position] * (indices[position] & 1)
    return total


def dense(n, m, dtype):
    rng = np.random.default_rng(0)
    X = rng.lognormal(size=(n, m)).astype(dtype)
    return X, rng.integers(0, 2, n)


def word_counts(n, m, per_row):
    rng = np.random.default_rng(0)
    columns = np.minimum(rng.zipf(1.3, n * per_row) - 1, m - 1)
    columns = rng.permutation(m)[columns].astype(np.int32)
    X = sp.csr_array(
        (rng.lognormal(size=n * per_row), columns, np.arange(0, n * per_row + 1, per_row)),
        shape=(n, m),
    )
    X.sum_duplicates()
    return X, rng.integers(0, 2, n)


def single_cells(n, m, density):
    """Small counts, in columns of very different density (CSC)."""
    rng = np.random.default_rng(0)
    share = rng.gamma(0.5, size=m)
    per_column = np.minimum((share / share.sum() * n * m * density).astype(np.int64), n)
    indptr = np.append(0, np.cumsum(per_column))
    indices = np.empty(indptr[-1], np.int32)
    for j in range(m):
        step = n / max(per_column[j], 1)  # at least 1, so that the rows are distinct
        indices[indptr[j] : indptr[j + 1]] = np.arange(per_column[j]) * step + rng.random()
    data = rng.geometric(0.4, indptr[-1]).astype(np.float32)
    return sp.csc_array((data, indices, indptr), shape=(n, m)), rng.integers(0, 2, n)


def l2():
    for n, m, dtype, rounds in ((104, 22_283, "f8", 21), (5_000, 20_000, "f4", 7)):
        X, y = dense(n, m, dtype)

        def means(X=X, y=y):
            return ClassMoments.from_matrix(X, y, deviations=False)

        variants = {
            "one pass: X.sum()": X.sum,
            "class means, 1 thread": in_one_thread(means),
            "class means, 2 threads": means,
            "means and deviations": lambda X=X, y=y: ClassMoments.from_matrix(X, y),
            "SparseL2Centers().fit": lambda X=X, y=y: SparseL2Centers(k=50).fit(X, y),
            'SparseL2Centers(scale="std").fit': lambda X=X, y=y: SparseL2Centers(
                k=50, scale="std"
            ).fit(X, y),
            "NearestCentroid().fit": lambda X=X, y=y: NearestCentroid().fit(X, y),
        }
        show(f"l2, dense {n} x {m} {dtype}", medians(variants, rounds), "one pass: X.sum()")
    for n, m, per_row, rounds in ((25_000, 103_000, 250, 15), (100_000, 30_000, 600, 5)):
        X, y = word_counts(n, m, per_row)

        def means(X=X, y=y):
            return ClassMoments.from_matrix(X, y, deviations=False)

        variants = {
            "one pass over data and indices": lambda X=X: one_pass(X.data, X.indices),
            "class means, 1 thread": in_one_thread(means),
            "class means, 2 threads": means,
            "means and deviations": lambda X=X, y=y: ClassMoments.from_matrix(X, y),
            "SparseL2Centers().fit": lambda X=X, y=y: SparseL2Centers(k=50).fit(X, y),
        }
        title = f"l2, CSR {n} x {m}, {X.nnz} non-zeros"
        show(title, medians(variants, rounds), "one pass over data and indices")
    X, y = word_counts(2_000, 5_000, 100)
    variants = {
        "SparseL2Centers().fit": lambda: SparseL2Centers(k=50).fit(X, y),
        "NearestCentroid().fit": lambda: NearestCentroid().fit(X, y),
    }
    show(f"l2, CSR 2000 x 5000, {X.nnz} non-zeros", medians(variants, 9), "SparseL2Centers().fit")


def centroid_and_dispersions(X, y):
    model = NearestCentroid(metric="manhattan").fit(X, y)
    centers = model.centroids_.astype(X.dtype)
    return [np.abs(X[y == c] - centers[c]).mean(axis=0) for c in range(2)]


def l1():
    shapes = ((104, 22_283, "f8", 21), (104, 22_283, "f4", 21), (5_000, 20_000, "f4", 3))
    for n, m, dtype, rounds in shapes:
        X, y = dense(n, m, dtype)

        def fit(X=X, y=y):
            return SparseL1Centers(k=50).fit(X, y)

        variants = {
            "SparseL1Centers().fit, 2 threads": fit,
            "SparseL1Centers().fit, 1 thread": in_one_thread(fit),
            "NearestCentroid(manhattan).fit": lambda X=X, y=y: NearestCentroid(
                metric="manhattan"
            ).fit(X, y),
            "NearestCentroid(manhattan).fit + dispersions": lambda X=X, y=y: (
                centroid_and_dispersions(X, y)
            ),
            "X.sum()": X.sum,
        }
        seconds = medians(variants, rounds)
        show(f"l1, dense {n} x {m} {dtype}", seconds, "SparseL1Centers().fit, 2 threads")
        ours, theirs = peak(fit), peak(lambda X=X, y=y: centroid_and_dispersions(X, y))
        print(f"  peak memory in sizes of X: {ours / X.nbytes:.2f}, theirs {theirs / X.nbytes:.2f}")


def sparse():
    X, y = single_cells(100_000, 30_000, 0.05)
    for matrix in (X, X.tocsr()):

        def centers(matrix=matrix):
            return ClassMedians.from_matrix(matrix, y)

        variants = {
            "one pass over data and indices": lambda matrix=matrix: one_pass(
                matrix.data, matrix.indices
            ),
            "class medians, 1 thread": in_one_thread(centers),
            "class medians, 2 threads": centers,
        }
        title = f"l1, {matrix.format.upper()} {X.shape[0]} x {X.shape[1]}, {X.nnz} non-zeros"
        show(title, medians(variants, 3), "one pass over data and indices")
        size = matrix.data.nbytes + matrix.indices.nbytes
        print(f"  peak memory in sizes of X: {peak(centers) / size:.2f}")


if __name__ == "__main__":
    parts = {"l2": l2, "l1": l1, "sparse": sparse}
    for part in sys.argv[1:] or parts:
        parts[part]()
