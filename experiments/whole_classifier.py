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
import sys
import time
import warnings
from functools import cache
from pathlib import Path

import numpy as np
import scipy.sparse as sp
from calibration import calibration_error, judged
from competitors import figures, line, records, store, table
from datasets import counts_split, into_readme
from sklearn.base import BaseEstimator, ClassifierMixin, clone
from sklearn.feature_selection import RFE
from sklearn.linear_model import LogisticRegression
from sklearn.model_selection import StratifiedKFold
from sklearn.multiclass import OneVsRestClassifier
from sklearn.naive_bayes import ComplementNB
from sklearn.pipeline import make_pipeline
from sklearn.svm import LinearSVC

from experiments.row_weights import WAYS
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
PRESENCE, WEIGHTED = SparseMultinomialNB(k=WORDS), SparseMultinomialNB(k=WORDS, alpha=0.1)


def eliminated(k, alpha=1.0, **rule):
    """Four times as many words, of which a ridge logistic regression drops half, and half again."""
    ridge = LogisticRegression(C=0.1, max_iter=1000)
    return make_pipeline(
        SparseMultinomialNB(k=4 * k, alpha=alpha),
        RFE(ridge, n_features_to_select=k, step=0.5),
        SparseMultinomialNB(k="all", alpha=alpha, **rule),
    )


SELECTIONS = {  # name: (longest n-gram, rows, estimator)
    "presence": (1, "presence", PRESENCE),
    "conditional": (1, "presence", clone(PRESENCE).set_params(redundancy="conditional")),
    "log, l2 (0.1)": (1, "log, l2", WEIGHTED),
    "tfidf, l2 (0.1)": (1, "tfidf, l2", WEIGHTED),
    "even quota (0.1)": (1, "presence", WEIGHTED),
    "even quota, tfidf, l2 (0.1)": (1, "tfidf, l2", WEIGHTED),
    "words and pairs": (2, "presence", PRESENCE),
    "words and pairs, tfidf, l2 (0.1)": (2, "tfidf, l2", WEIGHTED),
}
RULES = {
    "own": {},
    "own, calibrated": {"calibration": "cross-fitted"},
    "refit": {"refit": "logistic"},
}
OURS = {
    f"{selection}; {rule}": (length, rows, clone(estimator).set_params(**asked), WORDS)
    for selection, (length, rows, estimator) in SELECTIONS.items()
    for rule, asked in RULES.items()
}
ELIMINATED = {
    f"{selection}, eliminated; {rule}": (length, rows, eliminated(WORDS, alpha, **asked), WORDS)
    for selection, length, rows, alpha in (
        ("presence", 1, "presence", 1.0),
        ("tfidf, l2 (0.1)", 1, "tfidf, l2", 0.1),
        ("words and pairs", 2, "presence", 1.0),
    )
    for rule, asked in RULES.items()
    if rule != "own, calibrated"
}
MORE = {  # what more words are worth
    f"{selection}; own, {k:,} words": (length, rows, clone(estimator).set_params(k=k), k)
    for selection in ("presence", "tfidf, l2 (0.1)", "words and pairs")
    for k in (2000, 3000, 5000, 10000, 20000, 50000)
    for length, rows, estimator in [SELECTIONS[selection]]
}
OTHERS = {  # name: (longest n-gram, rows, estimator, words)
    "logistic, tf-idf": (1, "tfidf, l2", LogisticRegression(max_iter=1000), None),
    "NB-SVM": (1, "presence", TwoClassNBSVM(), None),
    "NB-SVM, beta = 1": (1, "presence", TwoClassNBSVM(beta=1.0), None),
    "ComplementNB": (1, "counts", ComplementNB(), None),
    "ComplementNB, tf-idf": (1, "tfidf, l2", ComplementNB(), None),
}


def judged_whole(title, estimator, X, X_test, y, y_test):
    if isinstance(estimator, TwoClassNBSVM) and len(np.unique(y)) > 2:
        estimator = OneVsRestClassifier(estimator)
    if title.startswith("even quota"):
        estimator = clone(estimator).set_params(quota=estimator.k // len(np.unique(y)))
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
    return records(RESULTS)


def run(folder, phase, names, wanted):
    warnings.simplefilter("ignore")
    classifiers = {**OURS, **MORE, **OTHERS, **ELIMINATED}
    if phase == "choose":
        classifiers = {t: each for t, each in classifiers.items() if "calibrated" not in t}
    for name in names:
        done = {r["classifier"] for r in results() if (r["phase"], r["set"]) == (phase, name)}

        @cache
        def parts(length, rows, name=name):
            return list(weighted_parts(folder, phase, name, length, rows))

        for title, (length, rows, estimator, words) in classifiers.items():
            if title in done or (wanted and title not in wanted):
                continue
            each = parts(length, rows)
            if words and words > each[0][0].shape[1]:
                continue
            found = np.mean([judged_whole(title, estimator, *part) for part in each], axis=0)
            shown = (f"{figure:.4f}" for figure in found)
            row = [phase, name, title, words or each[0][0].shape[1], *shown]
            store(RESULTS, HEADS, row)
            print(*row[1:5], f"{found[-1]:.0f} s", file=sys.stderr)


def weighted_parts(folder, phase, name, length, rows):
    """Rows to fit and to judge, with labels: the split, or three folds of its training rows."""
    X, X_test, y, y_test, _ = counts_split(folder, name, ngram_range=(1, length))
    if phase == "test":
        yield *WAYS[rows][0](X, X_test), y, y_test
        return
    for fit, check in StratifiedKFold(3, shuffle=True, random_state=0).split(X, y):
        yield *WAYS[rows][0](X[fit], X[check]), y[fit], y[check]


def chosen(name):
    """Ours of 1,000 words that is best in the folds of the training rows."""
    found = {
        row["classifier"]: float(row["accuracy"])
        for row in results()
        if (row["phase"], row["set"], row["words"]) == ("choose", name, str(WORDS))
    }
    return max(found, key=found.__getitem__) if found else None


def tables():
    yield line(*HEADS[1:])
    yield "| --- | --- |" + " ---: |" * (len(HEADS) - 3)
    titles = [*OURS, *ELIMINATED, *MORE, *OTHERS]
    tested = [row for row in results() if row["phase"] == "test"]
    tested.sort(key=lambda row: (SETS.index(row["set"]), titles.index(row["classifier"])))
    for row in tested:
        best = " (chosen)" if row["classifier"] == chosen(row["set"]) else ""
        cells = ["" if each == "nan" else each for each in list(row.values())[3:]]
        yield line(row["set"], row["classifier"] + best, *cells)
    yield ""
    yield from ["In folds of the training rows, accuracy:", ""]
    judged = {
        (row["classifier"], row["set"]): row["accuracy"]
        for row in results()
        if row["phase"] == "choose"
    }
    rows = [
        line(title, *(judged.get((title, name), "") for name in SETS))
        for title in titles
        if any((title, name) in judged for name in SETS)
    ]
    yield from table(["", *SETS], rows)


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
