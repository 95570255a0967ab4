"""Time and memory of a whole fit against the published algorithm and scikit-learn.

Medians of ratios by the clock; the published algorithm runs once for each row and `chi2` once for
each shape (a minute on A). `dual` is grouping and selection, without listing the columns and
without the rule. Memory is in tables of class counts (features x classes x 8 bytes).
"""

from experiments.frame import Table
from sklearn.feature_selection import SelectKBest, chi2
from sklearn.naive_bayes import MultinomialNB

from benchmarks.published import objective, select
from benchmarks.shapes import load
from benchmarks.turns import medians, once, peak
from naively import ClassCounts, SparseMultinomialNB, sparsity_path
from naively.models.family import Coupled
from naively.selection.coupled import coupled_columns

SHARES = {"A": [1e-4, 1e-2], "B": [1e-4, 1e-3, 1e-2], "C": [1e-4, 1e-2]}


def run(asked):
    fits = Table(
        [
            "shape", "k", "fit, s", "fit / counting", "dual / counting", "path of 100 / fit",
            "MultinomialNB / fit", "published / fit", "chi2 / fit", "peak, tables", "relative gap",
            "published gap",
        ]
    )  # fmt: skip
    weights = Table(["shape", "k", "dual / counting", "relative gap"])
    for name, shares in SHARES.items():
        X, y = load(name)
        for share in shares:
            k = max(round(share * X.shape[1]), 2)
            last = share == shares[-1]
            fits.rows.append([name, k, *_of_counts(X, y, k, asked.rounds, with_chi2=last)])
        X, y = load(name, tfidf=True)
        for share in shares:
            k = max(round(share * X.shape[1]), 2)
            weights.rows.append([name, k, *_of_weights(X, y, k, asked.rounds)])
    return {"A whole fit": fits, "The dual on real counts": weights}


def _of_counts(X, y, k, rounds, *, with_chi2):
    model, statistics = SparseMultinomialNB(k=k), ClassCounts.from_matrix(X, y)
    jobs = {
        "fit": lambda: model.fit(X, y),
        "counting": lambda: ClassCounts.from_matrix(X, y),
        "dual": lambda: _dual(statistics, k),
        "path": lambda: sparsity_path(model, X, y),
        "MultinomialNB": lambda: MultinomialNB().fit(X, y),
    }
    found = medians(jobs, rounds, "fit")
    seconds = found["fit"][0][0]
    ratio = {name: float(each[1][0]) for name, each in found.items()}
    published, _ = once(lambda: select(X, y, k))
    slowest, _ = once(lambda: SelectKBest(chi2, k=k).fit(X, y)) if with_chi2 else (None, None)
    smooth, certificate = statistics.table + 1.0, model.certificate_
    theirs = objective(smooth[:, 1], smooth[:, 0], select(X, y, k)[0])
    return [
        float(seconds), 1 / ratio["counting"], ratio["dual"] / ratio["counting"], ratio["path"],
        ratio["MultinomialNB"], published / seconds, slowest and slowest / seconds,
        peak(jobs["fit"]) / statistics.table.nbytes, certificate.relative_gap,
        1 - theirs / (certificate.bound - certificate.baseline),
    ]  # fmt: skip


def _of_weights(X, y, k, rounds):
    statistics = ClassCounts.from_matrix(X, y)
    jobs = {
        "counting": lambda: ClassCounts.from_matrix(X, y),
        "dual": lambda: _dual(statistics, k),
    }
    ratio = medians(jobs, rounds, "counting")["dual"][1][0]
    return [float(ratio), SparseMultinomialNB(k=k).fit(X, y).certificate_.relative_gap]


def _dual(statistics, k):
    return coupled_columns(Coupled(statistics.table, 1.0)).select(k, None, None)
