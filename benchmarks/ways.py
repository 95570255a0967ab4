"""What the ways of choosing cost: CPU time of a fit with each, as a ratio to the plain fit.

    python benchmarks/ways.py C C20 A B A20 --rounds 7

C20 is shape C with twenty classes; A20 a tenth of A with twenty: 1.2 million columns. The fits take
turns in one process; told are medians of the ratios of neighbours, of processor time. `redundancy`
chooses 1,000 of 4,000 candidates and is told in seconds beside the plain fit.
"""

from __future__ import annotations

import argparse
import time

import numpy as np
from shapes import load

from naively import SparseBernoulliNB, SparseMultinomialNB

MODELS = {"multinomial": SparseMultinomialNB, "bernoulli": SparseBernoulliNB}
SHAPES = {
    "A": ("A", 2, 1.0), "B": ("B", 2, 1.0), "C": ("C", 2, 1.0), "C20": ("C", 20, 1.0),
    "A20": ("A", 20, 0.1),
}  # fmt: skip


def ways_of(n_features, n_classes, k):
    """Parameters of each way."""
    rng = np.random.default_rng(0)
    m = n_features
    costs = rng.integers(1, 10, m).astype(float)
    settled = rng.choice(m, m // 100 + k // 10, replace=False)
    return {
        "required + excluded": {"required": settled[: k // 10], "excluded": settled[k // 10 :]},
        "groups": {"groups": np.arange(m) // 3},
        "quota": {"quota": k // (2 * n_classes)},
        "quota, even": {"quota": "even"},
        "budget": {"costs": costs, "budget": 2.0 * k},
        "class weights": {"class_weight": {0: 1.7}},
        "pairs": {"objective": "pairs"},
        "pairs, required + excluded": {
            "objective": "pairs", "required": settled[: k // 10], "excluded": settled[k // 10 :]
        },
    }  # fmt: skip


def seconds(job):
    start = time.process_time()
    job()
    return time.process_time() - start


def median_of_pairs(plain, other, rounds):
    """Seconds of the plain job, and the ratio of the other to it: medians."""
    for job in (plain, other):
        job()
    pairs = np.array([[seconds(plain), seconds(other)] for _ in range(rounds)])
    return float(np.median(pairs[:, 0])), float(np.median(pairs[:, 1] / pairs[:, 0]))


def compare(name, rounds, only):
    shape, n_classes, scale = SHAPES[name]
    X, y = load(shape, n_classes, scale=scale)
    k = max(X.shape[1] // 1000, 100)
    for kind, estimator in MODELS.items():
        for way, asked in ways_of(X.shape[1], n_classes, k).items():
            if only and only not in way:
                continue
            plain, fitted = estimator(k=k), estimator(k=k, **asked)
            took, ratio = median_of_pairs(
                lambda each=plain: each.fit(X, y), lambda each=fitted: each.fit(X, y), rounds
            )
            print(f"| {name} | {kind} | {way} | {took:.3f} | {ratio:.2f} |", flush=True)
        if not only or only in "redundancy":
            plain, fitted = estimator(k=1000), estimator(k=1000, redundancy="conditional")
            took, ratio = median_of_pairs(
                lambda each=plain: each.fit(X, y), lambda each=fitted: each.fit(X, y), rounds
            )
            print(f"| {name} | {kind} | redundancy, s | {took:.3f} | {took * ratio:.2f} s |",
                  flush=True)  # fmt: skip


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("shapes", nargs="+", choices=SHAPES)
    parser.add_argument("--rounds", type=int, default=7)
    parser.add_argument("--only", help="a word of the ways to time")
    options = parser.parse_args()
    print("| shape | model | way | plain fit, CPU s | ratio |\n| --- | --- | --- | ---: | ---: |")
    for name in options.shapes:
        compare(name, options.rounds, options.only)


if __name__ == "__main__":
    main()
