"""How sure: p-values of gains and of rows against permutations; false discoveries at q = 0.1.

Likelihood ratios of the models under 10,000 permutations of the labels, the 50 features of the
largest gains and 150 others (20 rows or more). "0.05", "0.01", "0.001": share of the permutations
in which a p-value is as small, on average over the features; it should be the number itself.
"error": median of the difference of the decimal logarithms of the p-value and of the share of
permutations of a gain as large, over "features" with such a share in 0.001 to 0.5. "agree": share
of the features that both call significant at 0.01, or neither. "beyond": of the strongest 50, how
many no permutation reaches. Then the same of an analysis of variance of the rows, which `k="fdr"`
takes where entries are counts, presence or numbers, under 2,000 permutations.

False discoveries: all but the strongest tenth of the features (by the gain of the model) are put
into an order of rows of their own, twenty times, so that nothing in them tells a class. "by
ratio": features that Benjamini and Hochberg call significant by the likelihood ratios,
"discovered" those of `k="fdr"`; "false" how many of them are shuffled ones.

Counts of words come in bursts, and counts of single cells vary more than a Poisson law allows,
whose p-values are worthless there. The multinomial model asks whether the share of a word in all
occurrences is alike: where one class is longer, it is not. The test of rows asks for rows, and
keeps the rate. Cells are kept in results/discoveries*.csv.
"""

import warnings
from types import SimpleNamespace

import numpy as np
import scipy.sparse as sp
from scipy.special import chdtrc
from scipy.stats import false_discovery_control

from experiments.cells import Cells
from experiments.frame import Result, Table
from naively import (
    ClassMoments,
    SparseBernoulliNB,
    SparseGaussianNB,
    SparseMultinomialNB,
    SparseNegativeBinomialNB,
    SparsePoissonNB,
)
from naively.models.alike import alike_in_rows
from naively.models.multinomial import multinomial_gain

BLOCK = 250
STRONGEST, SAMPLE, LEAST = 50, 150, 20  # features: strongest, others, of so many occurrences
LEVELS = (0.05, 0.01, 0.001)
Q, KEPT = 0.1, 0.1

CASES = (
    ("subj", SparseBernoulliNB(alpha=0), "presence"),
    ("sms_spam", SparseBernoulliNB(alpha=0), "presence"),
    ("sms_spam", SparseMultinomialNB(alpha=0), "presence"),
    ("sms_spam", SparseMultinomialNB(alpha=0), "counts"),
    ("sms_spam", SparsePoissonNB(alpha=0), "counts"),
    ("sc_celseq2", SparsePoissonNB(alpha=0), "counts"),
    ("sc_celseq2", SparseNegativeBinomialNB(alpha=0), "counts"),
    ("sc_celseq2", SparseGaussianNB(var_smoothing=0, variance="shared"), "log counts"),
    ("sc_celseq2", SparseGaussianNB(var_smoothing=0), "log counts"),
)


def rows_of(data, name, entries):
    if name == "sc_celseq2":
        X, y, _ = data.genes(name)
        X = sp.csr_matrix(X)
    else:
        X, _, y, _, _ = data.counts(name)
    X = X.astype(np.float64)
    if entries == "presence":
        X.data[:] = 1.0
    if entries == "log counts":
        X.data = np.log1p(X.data)
    return X, np.unique(y, return_inverse=True)[1]


def named(model):
    return type(model).__name__ + " (class)" * (getattr(model, "variance", "") == "class")


def chosen(model, X, scores, rng):
    """The strongest features, and a sample of the others that occur often enough."""
    order = np.argsort(-scores)
    often = order[STRONGEST:][
        np.asarray((X[:, order[STRONGEST:]] > 0).sum(axis=0)).ravel() >= LEAST
    ]
    return order[:STRONGEST], rng.choice(often, min(SAMPLE, len(often)), replace=False)


def gains_of(model, weight, sums, squares, totals):
    """Gains (B, d) of B labellings, from sums and squares by class (B, C, d), totals (B, C)."""
    n_blocks, n_classes, d = sums.shape
    if isinstance(model, SparseMultinomialNB):
        return np.array([
            multinomial_gain(np.ascontiguousarray(table.T), total / total.sum(), 0.0)
            for table, total in zip(sums, totals, strict=True)
        ])  # fmt: skip
    table = np.ascontiguousarray(sums.transpose(0, 2, 1)).reshape(-1, n_classes)
    family = model._model().family
    if squares is None:
        statistics = SimpleNamespace(table=table, class_weight=weight, feature_weight=weight)
    else:
        scatter = squares.transpose(0, 2, 1).reshape(-1, n_classes) - table**2 / weight
        rows = weight.astype(np.int64)
        statistics = ClassMoments(
            np.arange(n_classes), rows, weight, table, np.maximum(scatter, 0.0)
        )
    return family.gain(statistics).reshape(n_blocks, d)


def permuted(data, name, model, entries, permutations):
    """Compare p-values with the share of permutations of a gain as large."""
    X, y = rows_of(data, name, entries)
    rng, n_classes = np.random.default_rng(0), y.max() + 1
    weight = np.bincount(y).astype(np.float64)
    fitted = model.fit(X, y)
    strong, others = chosen(model, X, fitted.scores_, rng)
    features = np.concatenate([strong, others])
    some = X[:, features].toarray()
    moments = isinstance(model, SparseNegativeBinomialNB | SparseGaussianNB)
    length = np.asarray(X.sum(axis=1)).ravel()

    def gains(labels):
        marks = (labels[:, None, :] == np.arange(n_classes)[:, None]).reshape(-1, len(y))
        marks = marks.astype(np.float64)
        shape = len(labels), n_classes, len(features)
        squares = (marks @ some**2).reshape(shape) if moments else None
        return gains_of(
            model, weight, (marks @ some).reshape(shape), squares,
            (marks @ length).reshape(shape[:2]),
        )  # fmt: skip

    reached = gains(y[None])[0]
    np.testing.assert_allclose(reached, fitted.scores_[features], rtol=1e-6, atol=1e-8)
    freedom = fitted.model_.family.freedom(fitted.statistics_)
    p = chdtrc(freedom, 2 * reached)
    times, below = np.zeros(len(features)), np.zeros((len(LEVELS), len(features)))
    for _ in range(permutations // BLOCK):
        found = gains(np.array([rng.permutation(y) for _ in range(BLOCK)]))
        times += (found >= reached * (1 - 1e-9)).sum(axis=0)
        by_chance = chdtrc(freedom, 2 * found)
        below += [(by_chance <= level).sum(axis=0) for level in LEVELS]
    share = (times + 1) / (permutations + 1)
    middle = (share > 0.001) & (share < 0.5) & (p > 0)
    error = np.median(np.abs(np.log10(p[middle] / share[middle])))
    agree = np.mean((p <= 0.01) == (share <= 0.01))
    sizes = below.mean(axis=1) / permutations
    unresolved = (share[: len(strong)] <= 1.5 / (permutations + 1)).sum()
    return [*map(float, sizes), float(error), int(middle.sum()), float(agree), int(unresolved)]


def permuted_rows(data, name, entries, permutations):
    """Count how small the p-values of an analysis of variance are under permutations."""
    X, y = rows_of(data, name, entries)
    rng, n_classes = np.random.default_rng(0), y.max() + 1
    weight = np.bincount(y).astype(np.float64)
    scores = SparseNegativeBinomialNB(alpha=0).fit(X, y).scores_
    some = X[:, np.concatenate(chosen(None, X, scores, rng))].toarray()
    squares, below = np.tile((some**2).sum(axis=0), BLOCK), np.zeros(len(LEVELS))
    for _ in range(permutations // BLOCK):
        labels = np.array([rng.permutation(y) for _ in range(BLOCK)])
        marks = (labels[:, None, :] == np.arange(n_classes)[:, None]).astype(np.float64)
        sums = (marks.reshape(-1, len(y)) @ some).reshape(BLOCK, n_classes, -1)
        table = np.ascontiguousarray(sums.transpose(0, 2, 1)).reshape(-1, n_classes)
        p = alike_in_rows(table, weight, squares)
        below += [(p <= level).mean() for level in LEVELS]
    return [float(each) for each in below / (permutations // BLOCK)]


def shuffled(X, kept, rng):
    """The rows with every other column in an order of its own: nothing in them tells a class."""
    columns = X.tocsc(copy=True)
    for j in np.setdiff1d(np.arange(X.shape[1]), kept):
        part = slice(columns.indptr[j], columns.indptr[j + 1])
        size = columns.indptr[j + 1] - columns.indptr[j]
        columns.indices[part] = rng.choice(X.shape[0], size, replace=False)
    columns.has_sorted_indices = False
    columns.sort_indices()
    return columns.tocsr()


def discovered(data, name, model, entries, repeats):
    """Share of false discoveries where all but the strongest features are shuffled.

    Those of the likelihood ratio of the model, and those of `k="fdr"`.
    """
    X, y = rows_of(data, name, entries)
    X = X[:, np.asarray((X > 0).sum(axis=0)).ravel() >= LEAST]
    scores = model.fit(X, y).scores_
    kept = np.argsort(-scores)[: round(KEPT * X.shape[1])]
    false, total, rng = [], [], np.random.default_rng(1)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", UserWarning)
        for _ in range(repeats):
            asked = model.set_params(k="fdr", q=Q).fit(shuffled(X, kept, rng), y)
            ratio = np.flatnonzero(false_discovery_control(asked.pvalues_) <= Q)
            both = [ratio, asked.get_support(indices=True)]
            false.append([np.mean(~np.isin(found, kept)) if len(found) else 0.0 for found in both])
            total.append([len(found) for found in both])
    model.set_params(k=10, q=None)
    total, mean = np.mean(total, axis=0), np.mean(false, axis=0)
    error = np.std(false, axis=0) / np.sqrt(repeats)
    found = [total[0], mean[0], total[1], mean[1], error[1]]
    return [X.shape[1], len(kept), *map(float, found)]


LEVEL_NAMES = [str(level) for level in LEVELS]
FALSE = ["features", "telling", "by ratio", "false", "discovered", "false share", "+-"]


def run(data, quick):
    result = Result()
    each = ["error", "features", "agree", "beyond"]
    gains = Cells("discoveries", ["set", "model", "entries"], [*LEVEL_NAMES, *each], quick)
    rows = Cells("discoveries_rows", ["set", "entries"], LEVEL_NAMES, quick)
    false = Cells("discoveries_false", ["set", "model", "entries"], FALSE, quick)
    cases = [CASES[0], CASES[7]] if quick else CASES
    for name, model, entries in cases:
        asked = data, name, model, entries
        key = name, named(model), entries
        gains.computed(key, lambda a=asked: permuted(*a, 250 if quick else 10_000))
        rows.computed(
            (name, entries), lambda a=asked: permuted_rows(a[0], a[1], a[3], 250 if quick else 2000)
        )
        false.computed(key, lambda a=asked: discovered(*a, 2 if quick else 20))
    for title, cells in (
        ("Gains under permuted labels", gains),
        ("Rows under permuted labels", rows),
        ("Discoveries at q = 0.1", false),
    ):
        found = [[*key, *values.values()] for key, values in cells.found.items()]
        result.tables[title] = Table([*cells.keys, *cells.figures], found)
        cells.tell(result.tables[title])
    sizes = [values["0.05"] for values in rows.found.values()]
    result.expect("the test of rows keeps its level", max(sizes) < 0.08)
    share = [values["false share"] for values in false.found.values()]
    result.expect("false discoveries stay near the rate asked for", np.mean(share) < 2 * Q)
    return result
