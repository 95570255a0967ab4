"""Time and memory of a whole fit against the published algorithm and scikit-learn.

    python benchmarks/fit.py A B C --rounds 5

Medians of rounds in one process, the contestants taking turns; ratios are what counts. `chi2` is
run once (a minute on A). `dual` is grouping and selection, without listing the columns and without
the rule. Memory is the peak of traced allocations above the data, in tables of
class counts (features x classes x 8 bytes).
"""

import argparse
import time
import tracemalloc

import numpy as np
from published import objective, select
from shapes import load
from sklearn.feature_selection import SelectKBest, chi2
from sklearn.naive_bayes import MultinomialNB

from naively import ClassCounts, SparseMultinomialNB, sparsity_path
from naively.models.family import Coupled
from naively.selection.coupled import coupled_columns

FRACTIONS = {"A": [1e-4, 1e-2], "B": [1e-4, 1e-3, 1e-2], "C": [1e-4, 1e-2]}


def seconds(job):
    start = time.perf_counter()
    job()
    return time.perf_counter() - start


def peak(job):
    tracemalloc.start()
    job()
    high = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    return high


def compare(name, fraction, rounds, slow_rounds, dtype):
    X, y = load(name, dtype=dtype)
    k = max(round(fraction * X.shape[1]), 2)
    model = SparseMultinomialNB(k=k)
    statistics = ClassCounts.from_matrix(X, y)
    jobs = {
        "counting": lambda: ClassCounts.from_matrix(X, y),
        "fit": lambda: model.fit(X, y),
        "dual": lambda: coupled_columns(Coupled(statistics.table, 1.0)).select(k, None, None),
        "path of 100": lambda: sparsity_path(model, X, y),
        "MultinomialNB": lambda: MultinomialNB().fit(X, y),
    }
    slow = {"published": lambda: select(X, y, k)}
    if fraction == FRACTIONS[name][-1]:
        slow["chi2"] = lambda: SelectKBest(chi2, k=k).fit(X, y)
    for job in jobs.values():
        job()  # compiles, and touches the memory once
    times = {job: [] for job in [*jobs, *slow]}
    for turn in range(rounds):
        for job, run in jobs.items():
            times[job].append(seconds(run))
        if turn < slow_rounds:
            for job, run in slow.items():
                if job != "chi2" or turn == 0:
                    times[job].append(seconds(run))
    median = {job: float(np.median(values)) for job, values in times.items()}
    fit = median["fit"]
    table = X.shape[1] * 2 * 8
    certificate = model.certificate_
    support, _ = select(X, y, k)
    smooth = statistics.table + 1.0
    theirs = objective(smooth[:, 1], smooth[:, 0], support)
    print(
        f"| {name} {np.dtype(dtype).name} | {k} | {fit:.3f} | {fit / median['counting']:.2f} "
        f"| {median['dual'] / median['counting']:.2f} "
        f"| {median['path of 100'] / fit:.2f} | {median['MultinomialNB'] / fit:.1f} "
        f"| {median['published'] / fit:.0f} "
        f"| {median['chi2'] / fit if 'chi2' in median else float('nan'):.0f} "
        f"| {peak(jobs['fit']) / table:.2f} | {certificate.relative_gap:.1e} "
        f"| {1 - theirs / (certificate.bound - certificate.baseline):.1e} |",
        flush=True,
    )


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("shapes", nargs="+", choices=FRACTIONS)
    parser.add_argument("--rounds", type=int, default=5)
    parser.add_argument("--slow-rounds", type=int, default=3)
    parser.add_argument("--dtype", default="int32")
    options = parser.parse_args()
    print(
        "| shape | k | fit, s | fit / counting | dual / counting | path / fit "
        "| MultinomialNB / fit | published / fit | chi2 / fit | peak, tables | relative gap "
        "| published gap |"
    )
    print("| --- |" + " ---: |" * 11)
    for name in options.shapes:
        for fraction in FRACTIONS[name]:
            compare(name, fraction, options.rounds, options.slow_rounds, options.dtype)


if __name__ == "__main__":
    main()
