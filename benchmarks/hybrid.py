"""Time and memory of HybridNB().fit against MultinomialNB().fit on the same matrix.

    python benchmarks/hybrid.py C A B --rounds 5

Medians of rounds in one process, the contestants taking turns; wall and processor time. Memory is
the peak of traced allocations above the data, in tables of class counts (features x classes x 8
bytes), and in shares of the dense matrix (rows x features x 8 bytes).
"""

import argparse
import time
import tracemalloc
import warnings

import numpy as np
from shapes import load
from sklearn.naive_bayes import MultinomialNB

from naively import HybridNB, SeparationWarning

CASES = {
    "A": [(2, 1, np.int64), (2, 2, np.int64)],
    "B": [(2, 1, np.int64), (2, 2, np.int64)],
    "C": [
        (2, 1, np.int64),
        (2, 1, np.float64),
        (2, 1, np.int32),
        (2, 2, np.int64),
        (2, 4, np.int64),
        (20, 1, np.int64),
    ],
}


def seconds(job):
    wall, processor = time.perf_counter(), time.process_time()
    job()
    return time.perf_counter() - wall, time.process_time() - processor


def peak(job):
    tracemalloc.start()
    job()
    high = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    return high


def compare(name, n_classes, n_regions, dtype, rounds):
    X, y = load(name, n_classes, dtype)
    jobs = [lambda: MultinomialNB().fit(X, y), lambda: HybridNB(n_regions).fit(X, y)]
    for job in jobs:
        job()  # compiles, and touches the memory once
    times = np.array([[seconds(job) for job in jobs] for _ in range(rounds)])
    theirs, ours = np.median(times, axis=0)
    high = peak(jobs[1])
    table, dense = X.shape[1] * n_classes * 8, X.shape[0] * X.shape[1] * 8
    print(
        f"| {name} | {n_classes} | {n_regions} | {np.dtype(dtype)} | {1e3 * theirs[0]:.0f} ms | "
        f"{1e3 * ours[0]:.0f} ms | {ours[0] / theirs[0]:.1f} | {ours[1] / theirs[1]:.1f} | "
        f"{high / table:.1f} | {high / dense:.1e} |",
        flush=True,
    )


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("names", nargs="*", default=["C"])
    parser.add_argument("--rounds", type=int, default=5)
    options = parser.parse_args()
    warnings.simplefilter("ignore", SeparationWarning)
    print(
        "| data | classes | regions | values | MultinomialNB | HybridNB | ratio, wall | "
        "ratio, processor | peak, tables | peak, dense |"
    )
    print("| --- |" + " ---: |" * 9)
    for name in options.names:
        for case in CASES[name]:
            compare(name, *case, options.rounds)


if __name__ == "__main__":
    main()
