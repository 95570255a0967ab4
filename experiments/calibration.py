"""Probabilities before and after `calibration="cross-fitted"`, and those of a refit.

python experiments/calibration.py DATA > table.md

Log loss in nats a row; share of the rows with an answer of probability above 0.99, and how many of
these are right. Three folds of the training rows, each fitted and calibrated as a whole, then the
test rows.
"""

import warnings

import numpy as np
from datasets import arguments, counts_split
from sklearn.metrics import log_loss
from sklearn.model_selection import StratifiedKFold

from naively import SparseBernoulliNB, SparseMultinomialNB

K = [100, 1000]
SURE = 0.99


def judged(model, X, y):
    proba = model.predict_proba(X)
    sure = proba.max(axis=1) > SURE
    right = model.classes_[proba.argmax(axis=1)] == y
    among = right[sure].mean() if sure.any() else np.nan
    # A probability that rounds to 0 costs 36 nats, not infinitely many.
    loss = log_loss(y, np.clip(proba, 2.0**-52, 1), labels=model.classes_)
    return np.array([right.mean(), loss, sure.mean(), among])


def main():
    asked = arguments(__doc__).parse_args()
    warnings.simplefilter("ignore")
    heads = ["accuracy", "log loss", "p > 0.99", "of them right"]
    heads = ["set", "model", "k", "how", *heads, *(f"test {head}" for head in heads), "T"]
    print("|", " | ".join(heads), "|")
    print("|", " | ".join(["---"] * 4 + ["---:"] * 9), "|", flush=True)
    for name in asked.only or ["imdb"]:
        X, X_test, y, y_test, _ = counts_split(asked.data, name)
        X, X_test = ((each > 0).astype(np.int64) for each in (X, X_test))
        splits = list(StratifiedKFold(3, shuffle=True, random_state=0).split(X, y))
        for estimator in (SparseBernoulliNB, SparseMultinomialNB):
            for k in K:
                for how in ({}, {"calibration": "cross-fitted"}, {"refit": "logistic"}):
                    model = estimator(k=k, **how)
                    folds = [
                        judged(model.fit(X[inside], y[inside]), X[outside], y[outside])
                        for inside, outside in splits
                    ]
                    test = judged(model.fit(X, y), X_test, y_test)
                    figures = (f"{each:.3f}" for each in [*np.mean(folds, axis=0), *test])
                    cells = [name, estimator.__name__, str(k), "".join(how.values()) or "as it is"]
                    print("|", " | ".join([*cells, *figures, f"{model.temperature_:.2f}"]), "|",
                          flush=True)  # fmt: skip


if __name__ == "__main__":
    main()
