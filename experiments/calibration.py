"""Probabilities of sparse models before and after `calibration="cross-fitted"`, and of a refit.

Words present or absent. Log loss in nats a row (a class with probability 0 in floating point
counts 36 nats); share of the rows with an answer of probability above 0.99, and how many of these
are right (1 if there are none); ECE, the mean distance between confidence and accuracy over 15
equal bins of the largest probability; T, the temperature. "test": the test rows, after all
training rows. "folds" (imdb): means of three folds of the training rows, each fitted and
calibrated as a whole, which tell the figures of the test rows without them. The figure has
`SparseMultinomialNB` with 1,000 words.
"""

import warnings

import numpy as np
from matplotlib.figure import Figure
from sklearn.metrics import log_loss
from sklearn.model_selection import StratifiedKFold

from experiments.frame import Result, Table, report
from naively import SparseBernoulliNB, SparseMultinomialNB

SETS = ("imdb", "mpqa", "newsgroups20", "sst2", "subj")
WAYS = {
    "as it is": {},
    "cross-fitted": {"calibration": "cross-fitted"},
    "logistic": {"refit": "logistic"},
}
KS = (100, 1000)
SURE = 0.99


def curve(proba, right):
    """Mean confidence, share right and rows of the bins that have any, of 15 equal ones: (3, b)."""
    confidence = proba.max(axis=1)
    bins = np.minimum((confidence * 15).astype(int), 14)
    size = np.bincount(bins, minlength=15)
    some = size > 0
    means = [
        np.bincount(bins, each, minlength=15)[some] / size[some] for each in (confidence, right)
    ]
    return np.array([*means, size[some]])


def judged(model, X, y, X_test, y_test):
    """Figures of a model on rows that it has not seen, and its curve."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        model.fit(X, y)
    proba = model.predict_proba(X_test)
    right = model.classes_[proba.argmax(axis=1)] == y_test
    sure = proba.max(axis=1) > SURE
    loss = log_loss(y_test, np.clip(proba, 2.0**-52, 1), labels=model.classes_)
    confidence, share, size = curve(proba, right)
    error = size @ np.abs(confidence - share) / size.sum()
    among = right[sure].mean() if sure.any() else 1.0
    figures = [right.mean(), loss, sure.mean(), among, error, model.temperature_]
    return np.array(figures), (confidence, share)


def run(data, quick):
    result = Result()
    table = Table(["set", "model", "k", "how", "part", "accuracy", "log loss", "p > 0.99",
                   "of them right", "ECE", "T"])  # fmt: skip
    curves, found = {}, {}
    for name in ("imdb", "subj") if quick else SETS:
        X, X_test, y, y_test, _ = data.counts(name)
        X, X_test = ((each > 0).astype(np.int64) for each in (X, X_test))
        folds = StratifiedKFold(3, shuffle=True, random_state=0).split(X, y)
        splits = {"test": [(X, y, X_test, y_test)]}
        if name == "imdb":
            splits["folds"] = [(X[fit], y[fit], X[check], y[check]) for fit, check in folds]
        for estimator in (SparseMultinomialNB, SparseBernoulliNB):
            for k in KS[:1] if quick else KS:
                for how, asked in WAYS.items():
                    for part, rows in splits.items():
                        each = [judged(estimator(k=k, **asked), *row) for row in rows]
                        means = np.mean([figures for figures, _ in each], axis=0)
                        key = (name, estimator.__name__, k, how, part)
                        found[key] = means
                        table.rows.append([*key, *means.round(4)])
                        if key[1:3] == ("SparseMultinomialNB", KS[0 if quick else 1]):
                            curves.setdefault(name, {}).setdefault(how, each[0][1])
        report(f"  {name}")
    result.tables["Calibration"] = table
    result.figures["curves"] = drawn(curves)
    worse = [
        found[*key[:3], "cross-fitted", key[4]][1] - means[1]
        for key, means in found.items()
        if key[3] == "as it is"
    ]
    same = [
        found[*key[:3], "cross-fitted", key[4]][0] == means[0]
        for key, means in found.items()
        if key[3] == "as it is" and key[4] == "test"
    ]
    result.expect("one temperature changes no answer", all(same))
    result.expect("cross-fitting does not cost log loss on average", np.mean(worse) < 0.01)
    return result


def drawn(curves):
    figure = Figure(figsize=(2.1 * len(curves), 2.6), layout="constrained")
    axes = np.atleast_1d(figure.subplots(1, len(curves), sharey=True, sharex=True))
    for (name, ways), place in zip(curves.items(), axes, strict=True):
        place.plot([0, 1], [0, 1], color="0.7", linewidth=0.8)
        for how, (confidence, share) in ways.items():
            place.plot(confidence, share, marker="o", markersize=3, linewidth=1, label=how)
        place.set(title=name, xlabel="largest probability")
        place.spines[["top", "right"]].set_visible(False)
    axes[0].set(ylabel="share that is right")
    axes[0].legend(frameon=False, fontsize="small")
    return figure
