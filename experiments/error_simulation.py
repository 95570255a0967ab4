"""Predicted error against simulation on the paper's kind of problem (ERR section 4, figures 2-7).

    python experiments/error_simulation.py [--documents 1000000]

Two classes over 500 features, identical from feature 150 on, dense from 200 to 300; features are
added one by one, all others go to the rest cell. Prints Markdown.
"""

import argparse
from math import erfc, sqrt

import numpy as np
from numba import njit

from naively.expected.decision_models import from_probabilities
from naively.expected.estimates import expected_error
from naively.expected.gaussian import compensated_variance, exact_variance, uncorrelated_variance
from naively.expected.log_odds import log_odds

METHODS = ["exact", "saddlepoint", "normal", "compensated", "uncorrelated"]
FEATURES = 500


def problem(seed=0):
    """Class probabilities (2, 500)."""
    rng = np.random.default_rng(seed)
    base = rng.gamma(0.5, size=FEATURES)
    base[200:300] *= 8
    P = np.tile(base, (2, 1))
    P[:, :150] *= np.exp(rng.normal(0, 0.8, (2, 150)))
    P[1, :150] *= P[0, :150].sum() / P[1, :150].sum()
    return P / P.sum(axis=1, keepdims=True)


@njit(cache=True)
def add_wrong(words, odds, rest, first, wrong):
    """Count documents (rows of words) decided against their class, for every number of features.

    odds (D,), rest (D + 1,): log-odds of class 0; documents of class 0 if `first`.
    """
    D = len(odds)
    counts = np.zeros(D)
    for i in range(words.shape[0]):
        counts[:] = 0
        for position in range(words.shape[1]):
            counts[words[i, position]] += 1
        left = float(words.shape[1])
        total = 0.0
        for k in range(D + 1):
            score = total + left * rest[k]
            chosen_first = score >= -1e-9  # ties go to the first class
            wrong[k] += chosen_first != first
            if k < D:
                total += counts[k] * odds[k]
                left -= counts[k]


def simulate(P, length, n_documents, seed):
    """Simulated error (D + 1,) for 0, 1, ..., D features, equal priors."""
    rng = np.random.default_rng(seed)
    odds = np.log(P[0]) - np.log(P[1])
    left = 1 - np.hstack([np.zeros((2, 1)), np.cumsum(P, axis=1)])
    left[:, -1] = 1.0
    rest = np.log(left[0]) - np.log(left[1])
    wrong = np.zeros(FEATURES + 1)
    for c in (0, 1):
        edges = np.cumsum(P[c])
        for _ in range(0, n_documents, 10_000):
            words = np.searchsorted(edges, rng.random((10_000, length)) * edges[-1], side="right")
            add_wrong(np.minimum(words, FEATURES - 1), odds, rest, c == 0, wrong)
    return wrong / (2 * n_documents)


def deviations(P, length, ks, simulated, n_documents):
    rows = []
    for k in ks:
        true = simulated[k]
        noise = sqrt(true * (1 - true) / (2 * n_documents))
        found = [
            expected_error(P, length=length, support=range(k), method=method).error
            for method in METHODS
        ]
        rows.append((k, true, noise, *found))
    return np.array(rows)


def report(length, rows, n_documents):
    print(f"\n### Length {length}\n")
    print("| features | simulated | " + " | ".join(METHODS) + " |")
    print("| ---: | ---: |" + " ---: |" * len(METHODS))
    for row in rows[np.isin(rows[:, 0], [1, 2, 5, 10, 25, 50, 100, 150, 200, 300, 500])]:
        off = [f"{100 * (value / row[1] - 1):+.1f} %" if row[1] else "" for value in row[3:]]
        print(f"| {row[0]:.0f} | {row[1]:.3g} | " + " | ".join(off) + " |")
    seen = rows[rows[:, 1] > 1e-5]
    z = (seen[:, 3] - seen[:, 1]) / seen[:, 2]
    expected = erfc(4 / sqrt(2))
    print(
        f"\n{len(seen)} numbers of features with a simulated error above 1e-5. `exact`: largest "
        f"deviation {np.abs(z).max():.1f} standard errors of the simulation, root mean square "
        f"{np.sqrt(np.mean(z**2)):.2f} (4 standard errors: probability {expected:.0e} each; "
        "neighbouring numbers share their documents)."
    )
    for position, method in enumerate(METHODS[1:], start=4):
        off = seen[:, position] / seen[:, 1] - 1
        worst = seen[np.argmax(np.abs(off))]
        print(
            f"`{method}`: from {100 * off.min():+.1f} to {100 * off.max():+.1f} %, worst at "
            f"{worst[0]:.0f} features (error {worst[1]:.2g})."
        )


def variances(P, length=10):
    """Mean and the three variances of L12 (ERR figures 4, 5, 6), against sampling."""
    print(f"\n### Mean and variance of the log-odds, length {length} (figures 4 to 6)\n")
    print("| features | class | mean | sampled | exact var. | sampled | compensated | uncorr. |")
    print("| ---: | ---: | ---: | ---: | ---: | ---: | ---: | ---: |")
    rng = np.random.default_rng(5)
    for k in (10, 50, 100, 150, 200, 300, 500):
        model = from_probabilities(P, np.log([0.5, 0.5]), support=range(k))
        a = model.weight[0, 0] - model.weight[1, 0]
        for c in (0, 1):
            law = log_odds(model, 0, 1, c)
            sample = rng.multinomial(length, model.probability[c, 0], 100_000) @ a
            print(
                f"| {k} | {c + 1} | {length * law.mean():.3f} | {sample.mean():.3f} | "
                f"{length * exact_variance(law):.3f} | {sample.var():.3f} | "
                f"{length * compensated_variance(law):.3f} | "
                f"{length * uncorrelated_variance(law):.3f} |"
            )


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--documents", type=int, default=1_000_000)
    n_documents = parser.parse_args().documents
    P = problem()
    variances(P)
    ks = np.unique(np.r_[np.arange(1, 151), np.arange(160, 501, 20)])
    for length in (10, 50, 200):
        simulated = simulate(P, length, n_documents, seed=length)
        report(length, deviations(P, length, ks, simulated, n_documents), n_documents)


if __name__ == "__main__":
    main()
