"""A classifier of 1,000 words against the usual ones of all words; probabilities before and after.

    python experiments/whole_classifier.py DATA --phase choose [--only SET ...]
    python experiments/whole_classifier.py DATA --phase test [--only SET ...]
    python experiments/whole_classifier.py --tables    into README.md, from the file of results

"choose" judges ours on three folds of the training rows; what is best there is named ("chosen") in
the table of "test": trained on the training rows, judged on the test rows (subj and mpqa: 80 % and
20 %). Others have
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
from competitors import figures, line, table
from datasets import counts_split, into_readme
from row_weights import WAYS
from sklearn.base import BaseEstimator, ClassifierMixin, clone
from sklearn.linear_model import LogisticRegression
from sklearn.model_selection import StratifiedKFold
from sklearn.multiclass import OneVsRestClassifier
from sklearn.naive_bayes import ComplementNB
from sklearn.svm import LinearSVC

from naively import SparseMultinomialNB

RESULTS = Path(__file__).parent / "results" / "whole_classifier.csv"
HEADS = ["phase", "set", "classifier", "words", "accuracy", "macro F1", "worst class", "log loss",
         "ECE", "p > 0.99", "of them right", "seconds"]  # fmt: skip
SETS = ["subj", "mpqa", "sst2", "imdb", "newsgroups20"]


class TwoClassNBSVM(ClassifierMixin, BaseEstimator):
    """NB-SVM of two classes, on presence (Wang and Manning 2012, equations 4 to 7)."""

    def __init__(self, beta=0.25):
        self.beta = beta  # share of a weight that is its own (section 2.3)

    def fit(self, X, y):
        self.classes_ = np.unique(y)
        present = y == self.classes_[1]
        sums = [1.0 + np.asarray(X[rows].sum(axis=0)).ravel() for rows in (present, ~present)]
        self.ratio_ = np.log(sums[0] / sums[0].sum()) - np.log(sums[1] / sums[1].sum())
        svm = LinearSVC(C=1.0, random_state=0).fit(X @ sp.diags_array(self.ratio_), present)
        w = svm.coef_[0]
        self.coef_ = (self.beta * w + (1 - self.beta) * np.abs(w).mean()) * self.ratio_
        self.intercept_ = svm.intercept_[0]
        return self

    def decision_function(self, X):
        return X @ self.coef_ + self.intercept_

    def predict(self, X):
        return self.classes_[(self.decision_function(X) > 0).astype(int)]


WORDS = 1000
SELECTIONS = {  # name: (rows, estimator)
    "presence": ("presence", SparseMultinomialNB(k=WORDS)),
    "conditional": ("presence", SparseMultinomialNB(k=WORDS, redundancy="conditional")),
    "log, l2 (0.1)": ("log, l2", SparseMultinomialNB(k=WORDS, alpha=0.1)),
    "tfidf, l2 (0.1)": ("tfidf, l2", SparseMultinomialNB(k=WORDS, alpha=0.1)),
}
RULES = {
    "own": {},
    "own, calibrated": {"calibration": "cross-fitted"},
    "refit": {"refit": "logistic"},
}
OURS = {
    f"{selection}; {rule}": (rows, clone(estimator).set_params(**asked), WORDS)
    for selection, (rows, estimator) in SELECTIONS.items()
    for rule, asked in RULES.items()
}
MORE = {  # what more words are worth
    f"{selection}; own, {k:,} words": (rows, clone(estimator).set_params(k=k), k)
    for selection in ("presence", "tfidf, l2 (0.1)")
    for k in (3000, 10000)
    for rows, estimator in [SELECTIONS[selection]]
}
OTHERS = {  # name: (rows, estimator, words)
    "logistic, tf-idf": ("tfidf, l2", LogisticRegression(max_iter=1000), None),
    "NB-SVM": ("presence", TwoClassNBSVM(), None),
    "NB-SVM, beta = 1": ("presence", TwoClassNBSVM(beta=1.0), None),
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


def judged_whole(title, estimator, X, X_test, y, y_test):
    if isinstance(estimator, TwoClassNBSVM) and len(np.unique(y)) > 2:
        estimator = OneVsRestClassifier(estimator)
    start = time.perf_counter()
    model = clone(estimator).fit(X, y)
    seconds = time.perf_counter() - start
    found = model.predict(X_test)
    probabilities = [np.nan] * 4
    if "NB-SVM" not in title:
        _, loss, sure, among = judged(model, X_test, y_test)
        error = calibration_error(model.predict_proba(X_test), found == y_test)
        probabilities = [loss, error, sure, among]
    return [*figures(y_test, found), *probabilities, seconds]


def results():
    if not RESULTS.exists():
        return []
    with RESULTS.open(newline="") as file:
        return list(csv.DictReader(file))


def run(folder, phase, names, wanted):
    warnings.simplefilter("ignore")
    done = {(row["phase"], row["set"], row["classifier"]) for row in results()}
    for name in names:
        X, X_test, y, y_test, _ = counts_split(folder, name)
        parts = [(X, X_test, y, y_test)]
        classifiers = {**OURS, **MORE, **OTHERS}
        if phase == "choose":
            folds = StratifiedKFold(3, shuffle=True, random_state=0).split(X, y)
            parts = [(X[fit], X[check], y[fit], y[check]) for fit, check in folds]
            classifiers = {t: each for t, each in OURS.items() if "calibrated" not in t}
        for title, (rows, estimator, words) in classifiers.items():
            if (phase, name, title) in done or (wanted and title not in wanted):
                continue
            if words and words > X.shape[1]:
                continue
            each = [
                judged_whole(title, estimator, *WAYS[rows][0](Z, Z_test), labels, truth)
                for Z, Z_test, labels, truth in parts
            ]
            shown = (f"{figure:.4f}" for figure in np.mean(each, axis=0))
            new = not RESULTS.exists()
            with RESULTS.open("a", newline="") as file:
                row = [phase, name, title, words or X.shape[1], *shown]
                csv.writer(file, lineterminator="\n").writerows([HEADS, row] if new else [row])


def chosen(name):
    """Ours that is best in the folds of the training rows."""
    found = {
        row["classifier"]: float(row["accuracy"])
        for row in results()
        if (row["phase"], row["set"]) == ("choose", name)
    }
    return max(found, key=found.__getitem__) if found else None


def tables():
    yield line(*HEADS[1:])
    yield "| --- | --- |" + " ---: |" * (len(HEADS) - 3)
    titles = [*OURS, *MORE, *OTHERS]
    tested = [row for row in results() if row["phase"] == "test"]
    tested.sort(key=lambda row: (SETS.index(row["set"]), titles.index(row["classifier"])))
    for row in tested:
        best = " (chosen)" if row["classifier"] == chosen(row["set"]) else ""
        cells = ["" if each == "nan" else each for each in list(row.values())[3:]]
        yield line(row["set"], row["classifier"] + best, *cells)
    yield ""
    yield from ["Ours in folds of the training rows, accuracy:", ""]
    titles = [title for title in OURS if "calibrated" not in title]
    rows = {(row["set"], row["classifier"]): row for row in results() if row["phase"] == "choose"}
    names = [name for name in SETS if (name, titles[-1]) in rows]
    accuracies = [[rows[name, title]["accuracy"] for name in names] for title in titles]
    yield from table(["", *names], [line(t, *a) for t, a in zip(titles, accuracies, strict=True)])


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("data", type=Path, nargs="?", help="folder of the data sets")
    parser.add_argument("--phase", choices=["choose", "test"])
    parser.add_argument("--only", nargs="*", default=SETS, help="names of sets")
    parser.add_argument("--methods", nargs="*", help="names of classifiers")
    parser.add_argument("--tables", action="store_true", help="write README.md")
    options = parser.parse_args()
    if options.tables:
        into_readme("whole classifier", tables())
    else:
        run(options.data, options.phase, options.only, options.methods)


if __name__ == "__main__":
    main()
