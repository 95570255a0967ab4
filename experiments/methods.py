"""Selectors to compare with, as functions of X, y and a grid of k; and how a comparison is made.

A selector returns a mask of the columns for each k of the grid. What is random has a seed.
"""

import time
import warnings

import numpy as np
from matplotlib.figure import Figure
from sklearn.exceptions import ConvergenceWarning
from sklearn.linear_model import LogisticRegression, lasso_path
from sklearn.naive_bayes import BernoulliNB
from sklearn.svm import LinearSVC

from experiments.frame import Table
from naively import SparseMultinomialNB

STRENGTHS = (0.003, 0.01, 0.03, 0.1, 0.3, 1.0, 10.0)  # of l1-logistic, from sparse to dense


def best(scores, k):
    mask = np.zeros(len(scores), bool)
    mask[np.argsort(-scores, kind="stable")[:k]] = True
    return mask


def by_score(scores):
    return lambda X, y, ks: {k: best(scores(X, y), k) for k in ks}


def odds_ratio(X, y):
    """Absolute log odds ratio of a feature being high, by the median of dense columns."""
    high = (np.median(X, axis=0) < X) if isinstance(X, np.ndarray) else X
    log_p = BernoulliNB().fit(high, y).feature_log_prob_
    return np.ptp(log_p - np.log1p(-np.exp(log_p)), axis=0)


def l1_logistic(X, y, ks):
    """The strongest penalty of a grid that leaves k coefficients; the largest of those.

    More than two classes: each against the others, and the largest coefficient of a feature.
    """
    classes = np.unique(y)
    targets = [y == c for c in (classes[1:] if len(classes) == 2 else classes)]
    sizes, found = [], []
    for C in STRENGTHS:
        model = LogisticRegression(
            l1_ratio=1, C=C, solver="liblinear", max_iter=200, random_state=0
        )
        coef = [model.fit(X, target).coef_[0] for target in targets]
        found.append(np.max(np.abs(coef), axis=0))
        sizes.append(np.count_nonzero(found[-1]))
        if sizes[-1] >= max(ks):
            break
    enough = {k: next((i for i, size in enumerate(sizes) if size >= k), -1) for k in ks}
    return {k: best(found[i], k) for k, i in enough.items()}


def lasso(X, y, ks):
    """The first step of the path with k coefficients; the largest of those."""
    target = np.where(y == np.unique(y)[-1], 1.0, -1.0)
    _, coefficients, _ = lasso_path(X, target, eps=1e-2, alphas=15)
    coefficients = np.abs(coefficients)
    sizes = (coefficients > 0).sum(axis=0)
    steps = {k: np.argmax(sizes >= k) if (sizes >= k).any() else -1 for k in ks}
    return {k: best(coefficients[:, i], k) for k, i in steps.items()}


def rfe_logistic(X, y, ks):
    """Drop the fifth of the features with the smallest logistic coefficients, again and again."""
    kept = np.arange(X.shape[1])
    masks = {}
    for k in sorted(ks, reverse=True):
        while len(kept) > k:
            model = LogisticRegression(solver="liblinear", max_iter=200, random_state=0)
            coef = model.fit(X[:, kept], y).coef_[0]
            kept = np.sort(kept[best(np.abs(coef), max(k, int(0.8 * len(kept))))])
        masks[k] = np.isin(np.arange(X.shape[1]), kept)
    return masks


def multinomial(X, y, ks):
    statistics = SparseMultinomialNB().gather(X, y)
    return {k: SparseMultinomialNB.from_statistics(statistics, k=k).support_ for k in ks}


def sparse_model(make):
    """All supports of a separable model of ours from one pass over the data."""

    def select(X, y, ks):
        model = make()
        statistics = model.gather(X, y)
        model = type(model).from_statistics(statistics, **{**model.get_params(), "k": max(ks)})
        return {k: best(model.scores_, k) for k in ks}

    return select


def timed(select, X, y, ks):
    """Masks, and the processor seconds that they took together."""
    start = time.process_time()
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", ConvergenceWarning)
        masks = select(X, y, ks)
    return masks, time.process_time() - start


class Comparison:
    """Scores of a linear SVM on what each method selects, and what one selection takes."""

    def __init__(self, ks, score):
        self.ks = ks  # number of features -> share of them
        self.score = score  # of labels and predictions
        self.scores = {}  # method -> one list of scores, by level, for each split
        self.seconds = {}

    def add(self, method, select, X, y, judged, timing):
        """A split: select on X, y; judge on rows (train, test, y_test) that the SVM sees."""
        train, test, y_test = judged
        masks, _ = timed(select, X, y, list(self.ks))
        found = []
        for k in self.ks:
            svm = LinearSVC(random_state=0, C=0.1 if len(np.unique(y)) > 2 else 1.0)
            with warnings.catch_warnings():
                warnings.simplefilter("ignore", ConvergenceWarning)
                svm.fit(train[:, masks[k]], y)
            found.append(self.score(y_test, svm.predict(test[:, masks[k]])))
        self.scores.setdefault(method, []).append(found)
        if timing:
            spent = [timed(select, X, y, [k])[1] for k in self.ks]
            self.seconds.setdefault(method, []).append(spent)

    def mean(self, method):
        return np.mean(self.scores[method], axis=0)

    def median_seconds(self, method):
        return np.median(self.seconds[method], axis=0)

    def tables(self, title, what):
        levels = [f"{share:.2%} ({k:,})" for k, share in self.ks.items()]
        score = Table(["method", "splits", *levels])
        seconds = Table(["method", *levels], times=tuple(levels))
        for method, found in self.scores.items():
            score.rows.append([method, len(found), *self.mean(method).round(4)])
            seconds.rows.append([method, *self.median_seconds(method)])
        return {f"{title}: {what}": score, f"{title}: CPU seconds of one selection": seconds}

    def figure(self, what):
        """The paper's two panels: score and time against the share of the features."""
        figure = Figure(figsize=(8, 3.2), layout="constrained")
        left, right = figure.subplots(1, 2)
        shares = [100 * share for share in self.ks.values()]
        for i, method in enumerate(self.scores):
            style = {"color": f"C{i % 10}", "marker": "o", "markersize": 3, "linewidth": 1}
            left.plot(shares, self.mean(method), label=method, **style)
            right.plot(shares, self.median_seconds(method), **style)
        left.set(xscale="log", xlabel="features kept (%)", ylabel=what)
        right.set(xscale="log", yscale="log", xlabel="features kept (%)")
        right.set(ylabel="one selection (CPU s)")
        for axes in (left, right):
            axes.spines[["top", "right"]].set_visible(False)
        figure.legend(loc="outside right center", frameon=False, fontsize="small")
        return figure

    def behind(self, ours, others):
        """By level, how far the best of the others is ahead of ours (negative: behind)."""
        return np.max([self.mean(each) for each in others], axis=0) - self.mean(ours)

    def slower(self, ours, other):
        """The least factor, over the levels, by which another method takes longer."""
        return float(np.min(self.median_seconds(other) / self.median_seconds(ours)))


def on_par(behind, near=0.01):
    """Held: nowhere more than `near` behind the best; partly: on average."""
    if behind.max() <= near:
        return "held"
    return "partly" if behind.mean() <= near else "not held"
