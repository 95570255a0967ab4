"""p-values of gains and of rows against permutations of the labels; false discoveries at q = 0.1.

    python experiments/discoveries.py DATA [--only SET...]

The permuted class sums of many permutations are one product of matrices, and the gains are those
of the package on them. Prints the two tables of experiments/README.md as Markdown.
"""

import warnings
from types import SimpleNamespace

import numpy as np
import scipy.sparse as sp
from datasets import arguments, counts_split
from scipy.special import chdtrc
from scipy.stats import false_discovery_control

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

PERMUTATIONS, ROW_PERMUTATIONS, BLOCK = 10_000, 2_000, 250
STRONGEST, SAMPLE, LEAST = 50, 150, 20  # features: strongest, others, of so many occurrences
LEVELS = (0.05, 0.01, 0.001)
Q, REPEATS, KEPT = 0.1, 20, 0.1

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


def data_set(folder, name, entries):
    if name == "sc_celseq2":
        stored = np.load(folder / name / f"{name}.npz")
        X, y = sp.csr_matrix(stored["X"].astype(np.float64)), stored["y"]
    else:
        X, _, y, _, _ = counts_split(folder, name)
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
        statistics = SimpleNamespace(table=table, class_weight=weight)
    else:
        scatter = squares.transpose(0, 2, 1).reshape(-1, n_classes) - table**2 / weight
        rows = weight.astype(np.int64)
        statistics = ClassMoments(
            np.arange(n_classes), rows, weight, table, np.maximum(scatter, 0.0)
        )
    return family.gain(statistics).reshape(n_blocks, d)


def permuted(folder, name, model, entries):
    """Compare p-values with the share of permutations of a gain as large."""
    X, y = data_set(folder, name, entries)
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
    for _ in range(PERMUTATIONS // BLOCK):
        found = gains(np.array([rng.permutation(y) for _ in range(BLOCK)]))
        times += (found >= reached * (1 - 1e-9)).sum(axis=0)
        by_chance = chdtrc(freedom, 2 * found)
        below += [(by_chance <= level).sum(axis=0) for level in LEVELS]
    share = (times + 1) / (PERMUTATIONS + 1)
    middle = (share > 0.001) & (share < 0.5) & (p > 0)
    error = np.median(np.abs(np.log10(p[middle] / share[middle])))
    agree = np.mean((p <= 0.01) == (share <= 0.01))
    sizes = " | ".join(f"{each:.4f}" for each in below.mean(axis=1) / PERMUTATIONS)
    unresolved = (share[: len(strong)] <= 1.5 / (PERMUTATIONS + 1)).sum()
    print(
        f"| {name} | {named(model)} "
        f"| {entries} | {sizes} | {error:.2f} ({middle.sum()}) | {agree:.3f} | {unresolved} |",
        flush=True,
    )


def permuted_rows(folder, name, entries):
    """Count how small the p-values of an analysis of variance are under permutations."""
    X, y = data_set(folder, name, entries)
    rng, n_classes = np.random.default_rng(0), y.max() + 1
    weight = np.bincount(y).astype(np.float64)
    scores = SparseNegativeBinomialNB(alpha=0).fit(X, y).scores_
    some = X[:, np.concatenate(chosen(None, X, scores, rng))].toarray()
    squares, below = np.tile((some**2).sum(axis=0), BLOCK), np.zeros(len(LEVELS))
    for _ in range(ROW_PERMUTATIONS // BLOCK):
        labels = np.array([rng.permutation(y) for _ in range(BLOCK)])
        marks = (labels[:, None, :] == np.arange(n_classes)[:, None]).astype(np.float64)
        sums = (marks.reshape(-1, len(y)) @ some).reshape(BLOCK, n_classes, -1)
        table = np.ascontiguousarray(sums.transpose(0, 2, 1)).reshape(-1, n_classes)
        p = alike_in_rows(table, weight, squares)
        below += [(p <= level).mean() for level in LEVELS]
    sizes = " | ".join(f"{each:.4f}" for each in below / (ROW_PERMUTATIONS // BLOCK))
    print(f"| {name} | {entries} | {sizes} |", flush=True)


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


def discovered(folder, name, model, entries):
    """Share of false discoveries where all but the strongest features are shuffled.

    Those of the likelihood ratio of the model, and those of `k="fdr"`.
    """
    X, y = data_set(folder, name, entries)
    X = X[:, np.asarray((X > 0).sum(axis=0)).ravel() >= LEAST]
    scores = model.fit(X, y).scores_
    kept = np.argsort(-scores)[: round(KEPT * X.shape[1])]
    false, total, rng = [], [], np.random.default_rng(1)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", UserWarning)
        for _ in range(REPEATS):
            asked = model.set_params(k="fdr", q=Q).fit(shuffled(X, kept, rng), y)
            ratio = np.flatnonzero(false_discovery_control(asked.pvalues_) <= Q)
            both = [ratio, asked.get_support(indices=True)]
            false.append([np.mean(~np.isin(found, kept)) if len(found) else 0.0 for found in both])
            total.append([len(found) for found in both])
    model.set_params(k=10, q=None)
    total, mean = np.mean(total, axis=0), np.mean(false, axis=0)
    error = np.std(false, axis=0) / np.sqrt(REPEATS)
    print(
        f"| {name} | {named(model)} "
        f"| {entries} | {X.shape[1]:,} | {len(kept):,} | {total[0]:,.0f} | {mean[0]:.3f} | "
        f"{total[1]:,.0f} | {mean[1]:.3f} | {error[1]:.3f} |",
        flush=True,
    )


if __name__ == "__main__":
    given = arguments(__doc__).parse_args()
    cases = [case for case in CASES if given.only is None or case[0] in given.only]
    print(
        "| set | model | entries | 0.05 | 0.01 | 0.001 | error | agree at 0.01 | beyond |\n"
        "| --- | --- | --- | ---: | ---: | ---: | ---: | ---: | ---: |"
    )
    for case in cases:
        permuted(given.data, *case)
    print("\n| set | entries | 0.05 | 0.01 | 0.001 |\n| --- | --- | ---: | ---: | ---: |")
    for name, entries in dict.fromkeys((name, entries) for name, _, entries in cases):  # each once
        permuted_rows(given.data, name, entries)
    print(
        "\n| set | model | entries | features | telling | by ratio | false | discovered | false "
        "share | +- |\n| --- | --- | --- | ---: | ---: | ---: | ---: | ---: | ---: | ---: |"
    )
    for case in cases:
        discovered(given.data, *case)
