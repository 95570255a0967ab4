"""Feature selectors that sparse centers are compared with: masks for a grid of k."""

import time
import warnings

import numpy as np
from sklearn.exceptions import ConvergenceWarning
from sklearn.linear_model import LogisticRegression, lasso_path
from sklearn.naive_bayes import BernoulliNB

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
        model = LogisticRegression(l1_ratio=1, C=C, solver="liblinear", max_iter=200)
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
    alphas, coefficients, _ = lasso_path(X, target, eps=1e-2, alphas=15)
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
            model = LogisticRegression(solver="liblinear", max_iter=200).fit(X[:, kept], y)
            size = max(k, int(0.8 * len(kept)))
            kept = np.sort(kept[best(np.abs(model.coef_[0]), size)])
        masks[k] = np.isin(np.arange(X.shape[1]), kept)
    return masks


def timed(select, X, y, ks):
    """Masks, and the processor seconds that they took together."""
    start = time.process_time()
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", ConvergenceWarning)
        masks = select(X, y, ks)
    return masks, time.process_time() - start


def sparse_model(make):
    """All supports of a model of ours from one pass over the data."""

    def select(X, y, ks):
        model = make()
        statistics = model.gather(X, y)
        model = type(model).from_statistics(statistics, **{**model.get_params(), "k": max(ks)})
        return {k: best(model.scores_, k) for k in ks}

    return select


def table(title, ks, rows):
    """Markdown: a line for each method with its value at each k, and its seconds."""
    print(f"\n{title}\n")
    print("| method | " + " | ".join(ks) + " | selection, CPU s |")
    print("| --- |" + " ---: |" * (len(ks) + 1))
    for name, values, seconds in rows:
        print(f"| {name} | " + " | ".join(f"{v:.3f}" for v in values) + f" | {seconds:.3g} |")
