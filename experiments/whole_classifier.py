"""The whole classifier: 1,000 words against the usual classifiers of all words.

`SparseMultinomialNB` with words chosen in several ways, judged on three folds of the training
rows; what is best there with 1,000 words is named ("chosen") among the figures of the test rows
(subj and mpqa: 80 % and 20 %). Of the folds, refits were run on subj and mpqa alone, and nothing
on imdb. Others have scikit-learn's parameters, NB-SVM those of Wang and Manning (2012): presence
times the log ratio of the classes, a linear SVM of C = 1, its weights moved three quarters of the
way to their mean size.

Log loss in nats a row; ECE is the expected calibration error over 15 equal bins of the largest
probability; then the share of the rows with an answer of probability above 0.99, and how many of
these are right. "Eliminated" is in two steps, as among all selectors; "even quota" has 1,000 // C
words for each class, "words and pairs" n-grams of length 1 and 2 among the candidates; in brackets
the smoothing. Cells are kept in results/whole_classifier.csv: only classifiers of the test rows
that are missing are computed.
"""

import time
import warnings
from functools import cache

import numpy as np
import scipy.sparse as sp
from sklearn.base import BaseEstimator, ClassifierMixin, clone
from sklearn.feature_selection import RFE
from sklearn.linear_model import LogisticRegression
from sklearn.metrics import log_loss
from sklearn.model_selection import StratifiedKFold
from sklearn.multiclass import OneVsRestClassifier
from sklearn.naive_bayes import ComplementNB
from sklearn.pipeline import make_pipeline
from sklearn.svm import LinearSVC

from experiments.calibration import SURE, curve
from experiments.cells import Cells
from experiments.competitors import figures
from experiments.frame import Result, Table
from experiments.row_weights import WAYS
from naively import SparseMultinomialNB

KEYS = ["phase", "set", "classifier"]
FIGURES = ["words", "accuracy", "macro F1", "worst class", "log loss", "ECE", "p > 0.99",
           "of them right", "seconds"]  # fmt: skip
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
    return [*figures(y_test, found), *of_probabilities(model, X_test, y_test, found), seconds]


def of_probabilities(model, X_test, y_test, found):
    """Log loss, calibration error, share of sure answers, how many of these are right."""
    if not hasattr(model, "predict_proba"):
        return [np.nan] * 4
    proba, right = model.predict_proba(X_test), found == y_test
    confidence, share, size = curve(proba, right)
    sure = proba.max(axis=1) > SURE
    among = right[sure].mean() if sure.any() else np.nan
    # A probability that rounds to 0 costs 36 nats, not infinitely many.
    loss = log_loss(y_test, np.clip(proba, 2.0**-52, 1), labels=model.classes_)
    return [loss, size @ np.abs(confidence - share) / size.sum(), sure.mean(), among]


def judge(data, phase, names, classifiers, cells):
    """Fill in the cells that are missing."""
    for name in names:

        @cache
        def parts(length, rows, name=name):
            return list(weighted_parts(data, phase, name, length, rows))

        for title, (length, rows, estimator, words) in classifiers.items():
            if (phase, name, title) in cells:
                continue
            each = parts(length, rows)
            if words and words > each[0][0].shape[1]:
                continue
            found = np.mean([judged_whole(title, estimator, *part) for part in each], axis=0)
            cells.add((phase, name, title), [words or each[0][0].shape[1], *map(float, found)])


def weighted_parts(data, phase, name, length, rows):
    """Rows to fit and to judge, with labels: the split, or three folds of its training rows."""
    X, X_test, y, y_test, _ = data.counts(name, ngram_range=(1, length))
    if phase == "test":
        yield *WAYS[rows][0](X, X_test), y, y_test
        return
    for fit, check in StratifiedKFold(3, shuffle=True, random_state=0).split(X, y):
        yield *WAYS[rows][0](X[fit], X[check]), y[fit], y[check]


def chosen(cells, name, words):
    """Ours of 1,000 words that is best in the folds of the training rows."""
    found = {
        title: each["accuracy"]
        for (phase, where, title), each in cells.found.items()
        if (phase, where) == ("choose", name) and title not in OTHERS and each["words"] == words
    }
    return max(found, key=found.__getitem__) if found else None


def tables(result, cells, sets, words=WORDS):
    titles = [*OURS, *ELIMINATED, *MORE, *OTHERS]
    test = Table(["set", "classifier", *FIGURES], times=("seconds",))
    best = Table(["set", "chosen", "its accuracy", "best of the others", "its accuracy", "points"])
    for name in sets:
        wanted = chosen(cells, name, words)
        for title in titles:
            if ("test", name, title) in cells:
                each = cells["test", name, title]
                mark = " (chosen)" if title == wanted else ""
                test.rows.append([name, title + mark, *each.values()])
        others = {t: cells.get(("test", name, t), "accuracy") for t in OTHERS}
        others = {t: value for t, value in others.items() if value is not None}
        ours = cells.get(("test", name, wanted), "accuracy") if wanted else None
        if others and ours is not None:
            rival = max(others, key=others.__getitem__)
            gap = 100 * (ours - others[rival])
            best.rows.append([name, wanted, ours, rival, others[rival], gap])
    folds = Table(["classifier", *sets])
    for title in titles:
        row = [cells.get(("choose", name, title), "accuracy") for name in sets]
        if any(value is not None for value in row):
            folds.rows.append([title, *row])
    result.tables["Chosen with 1,000 words, against the best of the others"] = best
    cells.tell(test)
    result.tables["Test rows"] = test
    result.tables["Folds of the training rows, accuracy"] = folds


def run(data, quick):
    warnings.simplefilter("ignore")
    result = Result()
    cells = Cells("whole_classifier", KEYS, FIGURES, quick)
    every = OURS | MORE | OTHERS | ELIMINATED
    if quick:
        some = {t: every[t] for t in ("logistic, tf-idf", "NB-SVM", "ComplementNB")}
        rows = SELECTIONS["presence"]
        some["presence; own"] = (*rows[:2], clone(rows[2]).set_params(k=300), 300)
        judge(data, "test", ("imdb",), some, cells)
        judge(data, "choose", ("imdb",), {"presence; own": some["presence; own"]}, cells)
        tables(result, cells, ("imdb",), 300)
    else:
        tables(result, cells, SETS)
    reached = result.tables["Chosen with 1,000 words, against the best of the others"].rows
    result.expect("few words are not far behind all of them", all(row[-1] > -15 for row in reached))
    return result
