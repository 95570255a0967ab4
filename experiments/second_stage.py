"""Accuracy of MultinomialNB on the columns that each method selects (NFS, experiment 1).

python experiments/second_stage.py DATA > table.md
"""

import sys
import time

import numpy as np
from datasets import arguments, counts_split
from sklearn.feature_selection import chi2, mutual_info_classif
from sklearn.naive_bayes import BernoulliNB, MultinomialNB

from naively import SparseBernoulliNB, SparseMultinomialNB

FRACTIONS = [0.001, 0.005, 0.01, 0.05, 0.1]
SETS = ["mpqa", "sst2", "imdb", "newsgroups20"]


def best(scores, k):
    mask = np.zeros(len(scores), bool)
    mask[np.argsort(-np.nan_to_num(scores, nan=-np.inf), kind="stable")[:k]] = True
    return mask


def spread(log_prob):
    """Largest difference between classes: |w| of the paper for two of them."""
    return np.ptp(log_prob, axis=0)


def odds_ratio(X, y):
    """Largest absolute log odds ratio of presence between classes (Mladenic, Grobelnik 1999)."""
    log_p = BernoulliNB().fit(X, y).feature_log_prob_
    return spread(log_p - np.log1p(-np.exp(log_p)))


def supports(X, y, ks):
    """Method name -> function of k giving a mask; scores are computed once."""
    scores = {
        "chi2": lambda: chi2(X, y)[0],
        "mutual information": lambda: mutual_info_classif(X, y, discrete_features=True),
        "thresholded MNB": lambda: spread(MultinomialNB().fit(X, y).feature_log_prob_),
        "odds ratio": lambda: odds_ratio(X, y),
    }
    for name, model in [("Bernoulli", SparseBernoulliNB), ("multinomial", SparseMultinomialNB)]:
        statistics = model().gather(X, y)
        yield name, {k: model.from_statistics(statistics, k=k).support_ for k in ks}
    for name, score in scores.items():
        start = time.perf_counter()
        values = score()
        print(f"  {name}: {time.perf_counter() - start:.1f} s", file=sys.stderr)
        yield name, {k: best(values, k) for k in ks}


def main():
    options = arguments(__doc__).parse_args()
    wins = cells = 0
    print("| set | method | " + " | ".join(f"{100 * f:g} %" for f in FRACTIONS) + " |")
    print("| --- | --- |" + " ---: |" * len(FRACTIONS))
    for name in options.only or SETS:
        X, X_test, y, y_test, _ = counts_split(options.data, name)
        ks = [max(round(f * X.shape[1]), 1) for f in FRACTIONS]
        table = {}
        for method, masks in supports(X, y, ks):
            table[method] = [
                MultinomialNB().fit(X[:, masks[k]], y).score(X_test[:, masks[k]], y_test)
                for k in ks
            ]
            figures = " | ".join(f"{accuracy:.3f}" for accuracy in table[method])
            print(f"| {name} | {method} | {figures} |", flush=True)
        ours = np.maximum(table["Bernoulli"], table["multinomial"])
        wins += int((ours >= table["chi2"]).sum())
        cells += len(ks)
    print(f"\nThe better of ours at least equals chi2 in {wins} of {cells} cells.")


if __name__ == "__main__":
    main()
