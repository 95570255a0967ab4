"""Cost of feature search, of the leave-one-out path and of cross-validating a path.

    python benchmarks/error.py [--scale 1.0] [--rounds 5]

Forward search: 20,000 features x 100 steps, nanoseconds per candidate. Leave-one-out over a grid of
100 numbers of features on shape A (benchmarks/shapes.py), in multiples of one counting pass of the
same rows. Medians of rounds in one process; ratios are what counts.
"""

import argparse
import time

import numba
import numpy as np
from shapes import load

from naively import ClassCounts, SparseMultinomialNB, sparsity_path
from naively.expected.feature_search import Criterion, search
from naively.judging.leave_one_out import multinomial_errors
from naively.judging.rows import Rows
from naively.judging.visits import path_visits


def median_seconds(job, rounds):
    times = []
    for _ in range(rounds):
        start = time.perf_counter()
        job()
        times.append(time.perf_counter() - start)
    return float(np.median(times))


def forward(n_features, n_steps, n_classes, rounds):
    rng = np.random.default_rng(0)
    P = rng.gamma(0.5, size=(n_classes, n_features)) + 1e-3
    P /= P.sum(axis=1, keepdims=True)
    lengths, priors = np.full(n_classes, 50.0), np.full(n_classes, 1 / n_classes)
    criterion = Criterion.from_probabilities(P, lengths, priors, pooled=False)
    search(criterion, 2)
    found = search(criterion, n_steps)
    seconds = median_seconds(lambda: search(criterion, n_steps), rounds)
    return 1e9 * seconds / found.evaluations


def steps_by_size(rounds):
    """Time of one step with 1 and with 100 features in the set."""
    rng = np.random.default_rng(0)
    P = rng.gamma(0.5, size=(2, 20_000)) + 1e-3
    P /= P.sum(axis=1, keepdims=True)
    criterion = Criterion.from_probabilities(P, np.full(2, 50.0), np.full(2, 0.5), pooled=False)
    times = []
    for size in (1, 100):
        members = np.arange(size)
        candidate = np.ones(20_000, dtype=bool)
        candidate[members] = False
        times.append(median_seconds(lambda m=members, c=candidate: criterion.errors(m, c, 1), 20))
    return times


def searches(rounds):
    threads = numba.get_num_threads()
    print("| classes | features | threads | ns per candidate |\n| ---: | ---: | ---: | ---: |")
    for n_classes, n_features in ((2, 20_000), (2, 80_000), (3, 20_000), (5, 20_000)):
        for count in sorted({1, threads}):
            numba.set_num_threads(count)
            nanoseconds = forward(n_features, 100, n_classes, rounds)
            print(f"| {n_classes} | {n_features} | {count} | {nanoseconds:.1f} |")
    numba.set_num_threads(threads)
    small, large = steps_by_size(rounds)
    print(f"\nOne step with 100 features in the set: {large / small:.2f} times one with 1 feature.")


def leave_one_out(scale, rounds):
    X, y = load("A", scale=scale)
    model = SparseMultinomialNB()
    statistics = ClassCounts.from_matrix(X, y)
    track = sparsity_path(model, statistics)
    rows = Rows(X, y.astype(np.int64), np.empty(0))
    counts = statistics.table, 1.0, statistics.class_weight

    def curve():
        return multinomial_errors(*counts, path_visits(track, X.shape[1]), rows, None)

    errors = curve() / len(y)
    print(
        f"\n{X.shape[0]:,} rows x {X.shape[1]:,} columns, {X.nnz:,} entries, {len(track.k)} "
        f"points; leave-one-out error from {errors.max():.3f} to {errors.min():.3f}.\n"
    )
    print("| job | seconds | counting passes |\n| --- | ---: | ---: |")
    jobs = {
        "counting pass": lambda: ClassCounts.from_matrix(X, y),
        "leave-one-out path": curve,
        "of which finding the visits": lambda: path_visits(track, X.shape[1]),
        "sparsity path": lambda: sparsity_path(model, statistics),
    }
    seconds = {name: [] for name in jobs}
    for _ in range(rounds):
        for name, job in jobs.items():
            seconds[name].append(median_seconds(job, 1))
    pass_seconds = np.median(seconds["counting pass"])
    for name, times in seconds.items():
        print(f"| {name} | {np.median(times):.2f} | {np.median(times) / pass_seconds:.2f} |")


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--scale", type=float, default=1.0)
    parser.add_argument("--rounds", type=int, default=5)
    arguments = parser.parse_args()
    searches(arguments.rounds)
    leave_one_out(arguments.scale, arguments.rounds)


if __name__ == "__main__":
    main()
