"""Weights of words: which rows a multinomial model should be given.

Accuracy of five stratified folds of the training rows (all training rows where the set has a split,
else 80 % of it; no test row is looked at), words of `CountVectorizer`, k features selected in each
fold, the model's own rule. "log" is 1 + ln of the count, "l2" divides rows by their length, "tfidf"
is scikit-learn's with the smooth idf of the fold's training rows; in brackets the smoothing.
Presence is the default of the command for words: words come in bursts, which presence does not
count twice, and in short texts it is the same as counts. Smoothing 1 is much for rows of length 1.
"""

import numpy as np
from sklearn.feature_extraction.text import TfidfTransformer
from sklearn.model_selection import StratifiedKFold

from experiments.frame import Result, Table, report
from naively import SparseBernoulliNB, SparseMultinomialNB

KS = (100, 1000)
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


def run(data, quick):
    result = Result()
    ways = [(name, alpha) for name, (*_, alphas) in WAYS.items() for alpha in alphas]
    table = Table(["set", "k", *(f"{name} ({alpha:g})" for name, alpha in ways)])
    gains = Table(["set", "k", "presence less counts, points", "best way"])
    for name in ["imdb"] if quick else SETS:
        X, _, y, _, _ = data.counts(name)
        found = accuracies(X, y)
        for k in KS:
            means = [float(np.mean(found[*way, k])) for way in ways]
            table.rows.append([name, k, *means])
            best = "{} ({:g})".format(*ways[int(np.argmax(means))])
            gains.rows.append([name, k, 100 * (means[1] - means[0]), best])
        report(f"  {name}: {X.shape}")
    result.tables["Accuracy of five folds of the training rows"] = table
    result.tables["Presence instead of counts"] = gains
    least = min(min(row[2:]) for row in table.rows)
    result.expect("every way is better than chance of two classes", least > 0.5)
    return result
