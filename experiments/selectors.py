"""Selectors of features that ours are compared with, and classifiers on what they select.

Each selector is a function of X, y and the ks that returns, for each k, a mask of the columns and
the seconds of the processor that one selection of k takes; None for a k that it did not reach.
"""

import time
import warnings
from functools import partial

import numpy as np
import scipy.sparse as sp
from scipy.special import rel_entr
from sklearn.exceptions import ConvergenceWarning
from sklearn.feature_selection import chi2, f_classif
from sklearn.linear_model import Lasso, LogisticRegression
from sklearn.naive_bayes import BernoulliNB, MultinomialNB
from sklearn.preprocessing import label_binarize
from sklearn.svm import LinearSVC, l1_min_c

from experiments.frame import report
from naively import SparseBernoulliNB, SparseMultinomialNB, SparsityCV

ALPHAS = (0.001, 0.01, 0.1, 0.3, 1, 3, 10, 30, 100)

SVM = {"C": 1e4, "dual": False, "max_iter": 10}  # the papers': in the dual, 1,000 sweeps


def smoothing(X, y, alphas=ALPHAS, folds=10):
    """The smoothing of dense multinomial naive Bayes that the folds prefer."""
    search = SparsityCV(SparseMultinomialNB(), ks=[X.shape[1]], alphas=alphas, cv=folds)
    return search.set_params(refit=False).fit(X, y).best_params_["alpha"]


def best(scores, k):
    mask = np.zeros(len(scores), bool)
    mask[np.argsort(-np.nan_to_num(scores, nan=-np.inf), kind="stable")[:k]] = True
    return mask


def spread(log_prob):
    """Largest difference between classes: |w| of the paper for two of them."""
    return np.ptp(log_prob, axis=0)


def thresholded(alpha=1.0):
    """|w| of multinomial naive Bayes (TMNB)."""
    return lambda X, y: spread(MultinomialNB(alpha=alpha).fit(X, y).feature_log_prob_)


def odds_ratio(X, y):
    """Largest absolute log odds ratio of presence between classes (Mladenic, Grobelnik 1999)."""
    log_p = BernoulliNB().fit(X, y).feature_log_prob_
    return spread(log_p - np.log1p(-np.exp(log_p)))


def presence(X):
    return (X > 0).astype(np.float64)


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


SCORES = {
    "odds ratio": odds_ratio,
    "chi2 of counts": lambda X, y: chi2(X, y)[0],
    "chi2 of presence": lambda X, y: chi2(presence(X), y)[0],
    "mutual information": lambda X, y: mutual_information(presence(X), y),
    "f_classif": lambda X, y: f_classif(X, y)[0],
}


def by_score(score):
    def select(X, y, ks):
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")  # columns of no training row
            values, seconds = timed(score, X, y)
        found = {k: timed(best, values, k) for k in ks}
        return {k: (mask, seconds + more) for k, (mask, more) in found.items()}

    return select


def sparse_model(model, alpha):
    """A model of ours, fitted for each k from the rows."""

    def select(X, y, ks):
        found = {k: timed(model(k=k, alpha=alpha).fit, X, y) for k in ks}
        return {k: (fitted.get_support(), seconds) for k, (fitted, seconds) in found.items()}

    return select


def by_penalty(make, weakest, limit):
    """The strongest l1 penalty of a grid that leaves k coefficients; the largest of those.

    The grid starts at the strength `weakest(X, y)` that leaves none, and each is three times
    the one before. The seconds are those of one fit, as in the papers. The grid ends where its
    fits have taken `limit` seconds together.
    """

    def select(X, y, ks):
        found, spent = dict.fromkeys(ks), 0.0
        for strength in weakest(X, y) * 3.0 ** np.arange(1, 15):
            model, seconds = timed(make(strength).fit, X, y)
            spent += seconds
            size = np.count_nonzero(model.coef_)
            for k in [k for k in ks if found[k] is None and size >= k]:
                found[k] = best(np.abs(model.coef_).ravel(), k), seconds
            report(f"    {strength:.2g}: {size} coefficients, {seconds:.1f} s")
            if all(found.values()) or spent > limit:
                break
        return found

    return select


def eliminated(make, step=0.3):
    """As sklearn's RFE: a share `step` of all columns goes at a time, those of least weight."""

    def select(X, y, ks):
        m, found, spent = X.shape[1], {}, 0.0
        kept, drop = np.arange(m), max(1, int(step * m))
        for k in sorted(ks, reverse=True):
            while len(kept) > k:
                model, seconds = timed(make().fit, X[:, kept], y)
                weights = np.sum(model.coef_**2, axis=0)
                after = kept[best(weights, max(k, len(kept) - drop))]
                if len(kept) - drop < k:
                    found[k] = np.isin(np.arange(m), after), spent + seconds
                    break
                kept, spent = after, spent + seconds
            found.setdefault(k, (np.isin(np.arange(m), kept), spent))
        return found

    return select


def timed(call, *arguments):
    """What it returns, and the seconds of the processor."""
    start = time.process_time()
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", ConvergenceWarning)
        return call(*arguments), time.process_time() - start


def papers_selectors(alpha, limit):
    """The eight methods of NFS-short, experiment 1, with the settings of NFS-long, section 7.

    Lasso is stopped after 200 sweeps, where the papers have scikit-learn's 1,000.
    """
    return {
        "multinomial (ours)": sparse_model(SparseMultinomialNB, alpha),
        "Bernoulli (ours)": sparse_model(SparseBernoulliNB, alpha),
        "thresholded MNB": by_score(thresholded(alpha)),
        "odds ratio": by_score(odds_ratio),
        "l1-logistic": by_penalty(
            lambda C: LogisticRegression(
                C=C, l1_ratio=1, solver="saga", max_iter=100, random_state=0
            ),
            partial(l1_min_c, loss="log"),
            limit,
        ),
        "logistic-RFE": eliminated(partial(LogisticRegression, C=1e4, max_iter=100)),
        "l1-SVM": by_penalty(
            lambda C: LinearSVC(C=C, penalty="l1", dual=False, random_state=0), l1_min_c, limit
        ),
        "SVM-RFE": eliminated(partial(LinearSVC, **SVM)),
        "Lasso": by_penalty(_Lasso, _Lasso.weakest, limit),
    }


class _Lasso(Lasso):
    """Lasso of labels -1 and 1; the strength of the others is 1 / alpha."""

    def __init__(self, strength):
        super().__init__(alpha=1 / strength, tol=1e-5, max_iter=200)
        self.strength = strength

    def fit(self, X, y):
        return super().fit(X.astype(np.float64), _signs(y))

    @staticmethod
    def weakest(X, y):
        signs = _signs(y)
        return len(y) / np.abs(X.T @ (signs - signs.mean())).max()


def _signs(y):
    return np.where(y == np.unique(y)[-1], 1.0, -1.0)


def second_stages(alpha):
    """The papers' three classifiers on the selected columns."""
    return {
        "MNB": MultinomialNB(alpha=alpha),
        "logistic": LogisticRegression(C=1e4, max_iter=100),
        "SVM": LinearSVC(**SVM),
    }


def accuracy(classifier, X, y, X_test, y_test, mask):
    """Of a classifier on the columns of a mask."""
    return timed(classifier.fit, X[:, mask], y)[0].score(X_test[:, mask], y_test)
