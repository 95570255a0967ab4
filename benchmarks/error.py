"""Cost of feature search and of the leave-one-out path.

Forward search of 100 steps: nanoseconds per candidate, of the processor and in one thread.
Leave-one-out over a grid of 100 numbers of features on shape A, in multiples of one counting pass
of the same rows by the clock. Medians.
"""

import numpy as np
from experiments.frame import Table

from benchmarks.shapes import load
from benchmarks.turns import in_threads, in_turn, medians
from naively import ClassCounts, SparseMultinomialNB, sparsity_path
from naively.expected.feature_search import Criterion, search
from naively.judging.leave_one_out import multinomial_errors
from naively.judging.rows import Rows
from naively.judging.visits import path_visits


def run(asked):
    searches = Table(["classes", "features", "ns per candidate"])
    for n_classes, n_features in ((2, 20_000), (2, 80_000), (3, 20_000), (5, 20_000)):
        criterion = _criterion(n_features, n_classes)
        job = in_threads(1, lambda each=criterion: search(each, 100))
        seconds = np.median(in_turn({"search": job}, asked.rounds)["search"][:, 1])
        nanoseconds = 1e9 * float(seconds) / search(criterion, 100).evaluations
        searches.rows.append([n_classes, n_features, nanoseconds])
    steps = Table(["features in the set", "ns per candidate of one step"])
    steps.rows = [[size, _step(size, asked.rounds)] for size in (1, 100)]
    paths = Table(["job", "seconds", "counting passes"], _left_out(asked.rounds))
    return {"Forward search": searches, "Steps by size": steps, "Leave-one-out path": paths}


def _criterion(n_features, n_classes):
    rng = np.random.default_rng(0)
    P = rng.gamma(0.5, size=(n_classes, n_features)) + 1e-3
    P /= P.sum(axis=1, keepdims=True)
    lengths, priors = np.full(n_classes, 50.0), np.full(n_classes, 1 / n_classes)
    return Criterion.from_probabilities(P, lengths, priors, pooled=False)


def _step(size, rounds):
    criterion, members = _criterion(20_000, 2), np.arange(size)
    candidate = np.ones(20_000, dtype=bool)
    candidate[members] = False
    job = in_threads(1, lambda: criterion.errors(members, candidate, 1))
    seconds = np.median(in_turn({"step": job}, 4 * rounds)["step"][:, 1])
    return 1e9 * float(seconds) / candidate.sum()


def _left_out(rounds):
    X, y = load("A")
    model, statistics = SparseMultinomialNB(), ClassCounts.from_matrix(X, y)
    track, rows = sparsity_path(model, statistics), Rows(X, y.astype(np.int64), np.empty(0))
    counts = statistics.table, 1.0, statistics.class_weight
    jobs = {
        "counting": lambda: ClassCounts.from_matrix(X, y),
        "leave-one-out path": lambda: multinomial_errors(
            *counts, path_visits(track, X.shape[1]), rows, None
        ),
        "of which finding when each column is in": lambda: path_visits(track, X.shape[1]),
        "sparsity path": lambda: sparsity_path(model, statistics),
    }
    found = medians(jobs, rounds, "counting")
    return [[name, float(took[0]), float(ratio[0])] for name, (took, ratio) in found.items()]
