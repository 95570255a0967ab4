"""Accuracy of ways to weight the words of a row, at the same number of words.

python experiments/row_weights.py DATA > table.md

Five folds of the training rows; the test rows are looked at by nobody.
"""

import sys
import time

import numpy as np
from datasets import arguments, text_split
from sklearn.feature_extraction.text import CountVectorizer, TfidfTransformer
from sklearn.model_selection import StratifiedKFold

from naively import SparseBernoulliNB, SparseMultinomialNB

KS = [100, 1000]
SETS = ["subj", "mpqa", "sst2", "newsgroups20", "imdb"]


def weighted(X_fit, X_check, **settings):
    transformer = TfidfTransformer(**settings).fit(X_fit)
    return transformer.transform(X_fit), transformer.transform(X_check)


WAYS = {  # name: (rows of training and of the check, model, smoothings)
    "counts": (lambda *X: X, SparseMultinomialNB, [1]),
    "presence": (lambda *X: [(each > 0).astype(np.int64) for each in X], SparseMultinomialNB, [1]),
    "log": (
        lambda *X: weighted(*X, sublinear_tf=True, use_idf=False, norm=None),
        SparseMultinomialNB,
        [1],
    ),
    "log, l2": (
        lambda *X: weighted(*X, sublinear_tf=True, use_idf=False),
        SparseMultinomialNB,
        [1, 0.1],
    ),
    "tfidf, l2": (weighted, SparseMultinomialNB, [1, 0.1]),
    "Bernoulli": (lambda *X: X, SparseBernoulliNB, [1]),
}


def accuracies(X, y):
    """Of each way, smoothing and k: one in each fold."""
    found = {}
    for fit, check in StratifiedKFold(5, shuffle=True, random_state=0).split(X, y):
        for name, (rows, model, alphas) in WAYS.items():
            X_fit, X_check = rows(X[fit], X[check])
            statistics = model().gather(X_fit, y[fit])
            for alpha in alphas:
                for k in KS:
                    trained = model.from_statistics(statistics, k=k, alpha=alpha)
                    score = trained.score(X_check, y[check])
                    found.setdefault((name, alpha, k), []).append(score)
    return found


def main():
    options = arguments(__doc__).parse_args()
    heads = [f"{name} ({alpha:g})" for name, (*_, alphas) in WAYS.items() for alpha in alphas]
    print(f"| set | k | {' | '.join(heads)} |")
    print("| --- | ---: |" + " ---: |" * len(heads))
    for name in options.only or SETS:
        start = time.perf_counter()
        text, _, y, _ = text_split(options.data, name)
        X = CountVectorizer().fit_transform(text)
        found = accuracies(X, y)
        for k in KS:
            means = [np.mean(scores) for (_, _, size), scores in found.items() if size == k]
            cells = " | ".join(f"**{m:.4f}**" if m == max(means) else f"{m:.4f}" for m in means)
            print(f"| {name} | {k} | {cells} |", flush=True)
        print(f"{name}: {X.shape}, {time.perf_counter() - start:.0f} s", file=sys.stderr)


if __name__ == "__main__":
    main()
