"""Accuracy of MultinomialNB on the columns that each method selects (NFS, experiment 1).

python experiments/second_stage.py DATA > table.md
"""

import sys
import time

import numpy as np
import scipy.sparse as sp
from datasets import arguments, text_split
from scipy.special import rel_entr
from sklearn.feature_extraction.text import CountVectorizer
from sklearn.feature_selection import chi2
from sklearn.model_selection import StratifiedKFold
from sklearn.naive_bayes import BernoulliNB, MultinomialNB
from sklearn.preprocessing import label_binarize

from naively import SparseBernoulliNB, SparseMultinomialNB

FRACTIONS = [0.001, 0.005, 0.01, 0.05, 0.1]
ALPHAS = [0.1, 1, 3, 10, 30, 100]
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


def mutual_information(X, y):
    """As mutual_info_classif(discrete_features=True), without a loop of columns."""
    labels = label_binarize(y, classes=np.unique(y), sparse_output=True)
    if labels.shape[1] == 1:
        labels = sp.hstack([1 - labels.toarray(), labels], format="csr")
    n, prior = len(y), np.asarray(labels.mean(axis=0)).ravel()
    absent = np.tile(prior, (X.shape[1], 1))  # probability of (column is 0, class)
    information = np.zeros(X.shape[1])

    def add(joint):
        marginal = joint.sum(axis=1, keepdims=True) * prior
        information[:] += rel_entr(joint, marginal).sum(axis=1)

    for value in np.unique(X.data):
        has = sp.csr_array((X.data == value, X.indices, X.indptr), X.shape)
        joint = np.asarray((has.astype(float).T @ labels).todense()) / n
        absent -= joint
        add(joint)
    add(np.maximum(absent, 0))
    return information


def accuracy(X, y, X_test, y_test, mask):
    return MultinomialNB().fit(X[:, mask], y).score(X_test[:, mask], y_test)


def tuned_supports(model, X, y, ks):
    """Masks for each k, with the smoothing that folds of the training rows prefer."""
    reached = np.zeros((len(ALPHAS), len(ks)))
    for fit, check in StratifiedKFold(3, shuffle=True, random_state=0).split(X, y):
        statistics = model().gather(X[fit], y[fit])
        for a, alpha in enumerate(ALPHAS):
            for j, k in enumerate(ks):
                mask = model.from_statistics(statistics, k=k, alpha=alpha).support_
                reached[a, j] += accuracy(X[fit], y[fit], X[check], y[check], mask)
    statistics = model().gather(X, y)
    return {
        k: model.from_statistics(statistics, k=k, alpha=ALPHAS[a]).support_
        for k, a in zip(ks, reached.argmax(axis=0), strict=True)
    }


def supports(X, y, ks):
    """Name of each method and its masks by k; scores are computed once."""
    scores = {
        "chi2": lambda: chi2(X, y)[0],
        "mutual information": lambda: mutual_information(X, y),
        "thresholded MNB": lambda: spread(MultinomialNB().fit(X, y).feature_log_prob_),
        "odds ratio": lambda: odds_ratio(X, y),
    }
    for name, model in [("Bernoulli", SparseBernoulliNB), ("multinomial", SparseMultinomialNB)]:
        yield name, tuned_supports(model, X, y, ks)
    for name, score in scores.items():
        start = time.perf_counter()
        values = score()
        print(f"  {name}: {time.perf_counter() - start:.1f} s", file=sys.stderr)
        yield name, {k: best(values, k) for k in ks}


def splits(folder, name):
    """Counts and labels of training and test rows: one official split, or ten random ones."""
    for seed in range(10 if name == "mpqa" else 1):
        text, text_test, y, y_test = text_split(folder, name, seed=seed)
        vectorizer = CountVectorizer()
        yield vectorizer.fit_transform(text), vectorizer.transform(text_test), y, y_test


def table_of(folder, name):
    """Mean accuracy over the splits: method -> one figure per fraction."""
    tables = {}
    for X, X_test, y, y_test in splits(folder, name):
        ks = [max(round(f * X.shape[1]), 1) for f in FRACTIONS]
        for method, masks in supports(X, y, ks):
            row = [accuracy(X, y, X_test, y_test, masks[k]) for k in ks]
            tables.setdefault(method, []).append(row)
    return {method: np.mean(rows, axis=0) for method, rows in tables.items()}


def main():
    options = arguments(__doc__).parse_args()
    wins = cells = 0
    print("| set | method | " + " | ".join(f"{100 * f:g} %" for f in FRACTIONS) + " |")
    print("| --- | --- |" + " ---: |" * len(FRACTIONS))
    for name in options.only or SETS:
        table = table_of(options.data, name)
        for method, row in table.items():
            print(
                f"| {name} | {method} | " + " | ".join(f"{a:.4f}" for a in row) + " |", flush=True
            )
        ours = np.maximum(table["Bernoulli"], table["multinomial"])
        wins += int((ours >= table["chi2"]).sum())
        cells += len(ours)
    print(f"\nThe better of ours at least equals chi2 in {wins} of {cells} cells.")


if __name__ == "__main__":
    main()
