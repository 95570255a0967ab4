"""Cost of one hundred halves, in fits.

    python benchmarks/stability.py A C --rounds 3

Medians of rounds in one process, the contestants taking turns.
"""

import argparse
import time

import numpy as np
from shapes import load

from naively import SparseBernoulliNB, SparseMultinomialNB, selection_stability


def seconds(job):
    start = time.perf_counter()
    job()
    return time.perf_counter() - start


def compare(name, k, rounds, models):
    X, y = load(name)
    for model in models:
        model = model.set_params(k=k)
        jobs = {
            "fit": lambda m=model: m.fit(X, y),
            "halves": lambda m=model: selection_stability(m, X, y),
        }
        jobs["fit"]()
        times = {job: [] for job in jobs}
        for _ in range(rounds):
            for job, work in jobs.items():
                times[job].append(seconds(work))
        fit, halves = (np.median(times[job]) for job in jobs)
        print(
            f"| {name} | {type(model).__name__} | {k:,} | {fit:.3f} | {halves / fit:.1f} |",
            flush=True,
        )


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("shapes", nargs="*", default=["A", "C"])
    parser.add_argument("--rounds", type=int, default=3)
    given = parser.parse_args()
    print("| shape | model | k | fit, s | 100 halves / fit |\n| --- | --- | ---: | ---: | ---: |")
    for shape in given.shapes:
        for k in {"A": (100, 1200), "C": (10, 100, 1030)}[shape]:
            compare(shape, k, given.rounds, (SparseMultinomialNB(), SparseBernoulliNB()))
