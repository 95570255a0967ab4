"""Sparse centers against one pass over the data and against scikit-learn's NearestCentroid.

Medians of ratios by the clock. `medians` are class medians alone.
"""

from functools import partial

import numpy as np
import scipy.sparse as sp
from experiments.frame import Table
from numba import njit
from sklearn.neighbors import NearestCentroid

from benchmarks.turns import in_threads, medians, peak
from naively import ClassMedians, ClassMoments, SparseL1Centers, SparseL2Centers


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


def run(asked):
    return {
        "l2 centers": l2(asked.rounds),
        "l1 centers": l1(asked.rounds),
        "l1 centers of sparse counts": sparse(max(asked.rounds // 2, 1)),
    }


def l2(rounds):
    """Multiples of a pass over the data."""
    found = {}
    for n, m, dtype in ((104, 22_283, "f8"), (5_000, 20_000, "f4")):
        X, y = dense(n, m, dtype)
        jobs = {**_l2_jobs(X, y), "NearestCentroid().fit": partial(NearestCentroid().fit, X, y)}
        found[f"dense {n} x {m:,}, {X.dtype}"] = {"pass": X.sum, **jobs}
    for n, m, per_row in ((25_000, 103_000, 250), (100_000, 30_000, 600)):
        X, y = word_counts(n, m, per_row)
        once = {"pass": partial(one_pass, X.data, X.indices)}
        found[f"CSR {n:,} x {m:,}, {X.nnz / 1e6:.1f} million non-zeros"] = once | _l2_jobs(X, y)
    table = Table(["data", *list(next(iter(found.values())))[1:]])
    for title, jobs in found.items():
        measured = medians(jobs, 3 * rounds if "104" in title else rounds, "pass")
        cells = [
            float(measured[name][1][0]) if name in jobs else None for name in table.columns[1:]
        ]
        table.rows.append([title, *cells])
    return table


def _l2_jobs(X, y):
    def means():
        return ClassMoments.from_matrix(X, y, deviations=False)

    return {
        "class means, 1 thread": in_threads(1, means),
        "2 threads": means,
        "means and deviations": lambda: ClassMoments.from_matrix(X, y),
        "fit": partial(SparseL2Centers(k=50).fit, X, y),
        'fit, "std"': partial(SparseL2Centers(k=50, scale="std").fit, X, y),
    }


def l1(rounds):
    """Multiples of our fit in two threads; sizes of X."""
    table = Table([
        "data", "1 thread", "NearestCentroid(manhattan)", "the same, 1 thread of ours",
        "with dispersions", "our peak, sizes of X", "theirs",
    ])  # fmt: skip
    for n, m, dtype in ((104, 22_283, "f8"), (104, 22_283, "f4"), (5_000, 20_000, "f4")):
        X, y = dense(n, m, dtype)
        fit = partial(SparseL1Centers(k=50).fit, X, y)
        jobs = {
            "fit": fit,
            "1 thread": in_threads(1, fit),
            "theirs": partial(NearestCentroid(metric="manhattan").fit, X, y),
            "dispersions": partial(centroid_and_dispersions, X, y),
        }
        ratio = {
            name: float(each[1][0])
            for name, each in medians(jobs, 3 * rounds if n == 104 else rounds, "fit").items()
        }
        table.rows.append([
            f"dense {n:,} x {m:,}, {X.dtype}", ratio["1 thread"], ratio["theirs"],
            ratio["theirs"] / ratio["1 thread"], ratio["dispersions"],
            peak(fit) / X.nbytes, peak(jobs["dispersions"]) / X.nbytes,
        ])  # fmt: skip
    return table


def centroid_and_dispersions(X, y):
    model = NearestCentroid(metric="manhattan").fit(X, y)
    centers = model.centroids_.astype(X.dtype)
    return [np.abs(X[y == c] - centers[c]).mean(axis=0) for c in range(2)]


def sparse(rounds):
    """Multiples of a pass over the data; sizes of X."""
    table = Table(["data", "medians, 1 thread", "2 threads", "peak, sizes of X"])
    X, y = single_cells(100_000, 30_000, 0.05)
    for matrix in (X, X.tocsr()):
        centers = partial(ClassMedians.from_matrix, matrix, y)
        jobs = {
            "pass": partial(one_pass, matrix.data, matrix.indices),
            "1 thread": in_threads(1, centers),
            "2 threads": centers,
        }
        found = medians(jobs, rounds, "pass")
        size = matrix.data.nbytes + matrix.indices.nbytes
        title = (
            f"{matrix.format.upper()} 100,000 x 30,000, {matrix.nnz / 1e6:.0f} million non-zeros"
        )
        table.rows.append([
            title, float(found["1 thread"][1][0]), float(found["2 threads"][1][0]),
            peak(centers) / size,
        ])  # fmt: skip
    return table
