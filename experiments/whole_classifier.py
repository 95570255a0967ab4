"""A classifier of 1,000 words against the usual ones of all words; probabilities before and after.

    python experiments/whole_classifier.py DATA [--only SET ...]
    python experiments/whole_classifier.py --tables    Markdown, from the file of results

Trained on the training rows, judged on the test rows (subj and mpqa: 80 % and 20 %). Others have
scikit-learn's parameters, NB-SVM those of Wang and Manning (2012): presence times the log ratio of
the classes, a linear SVM of C = 1, its weights moved three quarters of the way to their mean size.
Log loss in nats a row; expected calibration error over 15 equal bins of the largest probability.
"""

import argparse
import csv
import time
import warnings
from pathlib import Path

import numpy as np
import scipy.sparse as sp
from calibration import judged
from competitors import figures
from datasets import counts_split
from row_weights import WAYS
from sklearn.base import BaseEstimator, ClassifierMixin
from sklearn.linear_model import LogisticRegression
from sklearn.multiclass import OneVsRestClassifier
from sklearn.naive_bayes import ComplementNB
from sklearn.svm import LinearSVC

from naively import SparseMultinomialNB

RESULTS = Path(__file__).parent / "results" / "whole_classifier.csv"
HEADS = ["set", "classifier", "words", "accuracy", "macro F1", "worst class", "log loss", "ECE",
         "p > 0.99", "of them right", "seconds"]  # fmt: skip
SETS = ["subj", "mpqa", "sst2", "imdb", "newsgroups20"]
BETA = 0.25  # share of a weight that is its own (Wang and Manning 2012, section 2.3)


class TwoClassNBSVM(ClassifierMixin, BaseEstimator):
    """NB-SVM of two classes, on presence (Wang and Manning 2012, equations 4 to 7)."""

    def fit(self, X, y):
        self.classes_ = np.unique(y)
        present = y == self.classes_[1]
        sums = [1.0 + np.asarray(X[rows].sum(axis=0)).ravel() for rows in (present, ~present)]
        self.ratio_ = np.log(sums[0] / sums[0].sum()) - np.log(sums[1] / sums[1].sum())
        svm = LinearSVC(C=1.0, random_state=0).fit(X @ sp.diags_array(self.ratio_), present)
        w = svm.coef_[0]
        self.coef_ = (BETA * w + (1 - BETA) * np.abs(w).mean()) * self.ratio_
        self.intercept_ = svm.intercept_[0]
        return self

    def decision_function(self, X):
        return X @ self.coef_ + self.intercept_

    def predict(self, X):
        return self.classes_[(self.decision_function(X) > 0).astype(int)]


def ours(**asked):
    return SparseMultinomialNB(k=1000, **asked)


CLASSIFIERS = {  # name: (rows, estimator, words)
    "SparseMultinomialNB": ("presence", ours(), 1000),
    "SparseMultinomialNB, calibrated": ("presence", ours(calibration="cross-fitted"), 1000),
    "SparseMultinomialNB, refit": ("presence", ours(refit="logistic"), 1000),
    "SparseMultinomialNB, log, l2 (0.1)": (
        "log, l2",
        SparseMultinomialNB(k=1000, alpha=0.1),
        1000,
    ),
    "SparseMultinomialNB, log, l2 (0.1), calibrated": (
        "log, l2",
        SparseMultinomialNB(k=1000, alpha=0.1, calibration="cross-fitted"),
        1000,
    ),
    "SparseMultinomialNB, log, l2 (0.1), refit": (
        "log, l2",
        SparseMultinomialNB(k=1000, alpha=0.1, refit="logistic"),
        1000,
    ),
    "SparseMultinomialNB, tfidf, l2 (0.1), refit": (
        "tfidf, l2",
        SparseMultinomialNB(k=1000, alpha=0.1, refit="logistic"),
        1000,
    ),
    "logistic, tf-idf": ("tfidf, l2", LogisticRegression(max_iter=1000), None),
    "NB-SVM": ("presence", TwoClassNBSVM(), None),
    "ComplementNB": ("counts", ComplementNB(), None),
    "ComplementNB, tf-idf": ("tfidf, l2", ComplementNB(), None),
}


def calibration_error(proba, right):
    """Mean distance of confidence and accuracy, over 15 equal bins of confidence."""
    confidence = proba.max(axis=1)
    bins = np.minimum((confidence * 15).astype(int), 14)
    size = np.bincount(bins, minlength=15)
    gaps = np.abs(np.bincount(bins, confidence - right, minlength=15))
    return gaps[size > 0].sum() / len(right)


def row_of(name, title, estimator, words, X, X_test, y, y_test):
    if isinstance(estimator, TwoClassNBSVM) and len(np.unique(y)) > 2:
        estimator = OneVsRestClassifier(estimator)
    start = time.perf_counter()
    model = estimator.fit(X, y)
    seconds = time.perf_counter() - start
    found = model.predict(X_test)
    accuracy, f1, worst = figures(y_test, found)
    probabilities = [np.nan] * 4
    if hasattr(model, "predict_proba") and "NB-SVM" not in title:
        _, loss, sure, among = judged(model, X_test, y_test)
        error = calibration_error(model.predict_proba(X_test), found == y_test)
        probabilities = [loss, error, sure, among]
    shown = [f"{each:.4f}" for each in (accuracy, f1, worst, *probabilities)]
    return [name, title, words or X.shape[1], *shown, f"{seconds:.1f}"]


def results():
    if not RESULTS.exists():
        return []
    with RESULTS.open(newline="") as file:
        return list(csv.DictReader(file))


def run(folder, names):
    warnings.simplefilter("ignore")
    done = {(row["set"], row["classifier"]) for row in results()}
    for name in names:
        X, X_test, y, y_test, _ = counts_split(folder, name)
        for title, (rows, estimator, words) in CLASSIFIERS.items():
            if (name, title) in done:
                continue
            parts = WAYS[rows][0](X, X_test)
            row = row_of(name, title, estimator, words, *parts, y, y_test)
            new = not RESULTS.exists()
            with RESULTS.open("a", newline="") as file:
                csv.writer(file, lineterminator="\n").writerows([HEADS, row] if new else [row])


def tables():
    yield "| " + " | ".join(HEADS) + " |"
    yield "| --- | --- |" + " ---: |" * (len(HEADS) - 2)
    for row in results():
        cells = [each.replace("nan", "") for each in row.values()]
        yield "| " + " | ".join(cells) + " |"


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("data", type=Path, nargs="?", help="folder of the data sets")
    parser.add_argument("--only", nargs="*", default=SETS, help="names of sets")
    parser.add_argument("--tables", action="store_true")
    options = parser.parse_args()
    if options.tables:
        print("\n".join(tables()))
    else:
        run(options.data, options.only)


if __name__ == "__main__":
    main()
