"""How sure: frequencies of selection by buckets and row by row; false choices against their bound.

Frequencies on 100 halves (k = 50, training rows), once with rows dealt out to 20 buckets and once
with every half drawn row by row ("buckets"); beside it, rows drawn anew with another seed ("other
rows"). Differences are over the features that either ever selects; "firm" is on 90 % of the
halves.

False choices against the bound of Shah and Samworth (2013, theorems 1 and 2): 400 rows, 1,000
features of presence, of which 20 are more frequent in one class by the planted strength; means of
100 draws, kept in results/stability_planted.csv (and the differences in results/stability.csv).
"""

import numpy as np

from experiments.cells import Cells
from experiments.frame import Result, Table
from naively import (
    SelectionStability,
    SparseBernoulliNB,
    SparseMultinomialNB,
    SparseNegativeBinomialNB,
    selection_stability,
)

K = 50
PLANTED, FEATURES, ROWS = 20, 1000, 400
SETS = ("mpqa", "rt_polarity", "subj", "sms_spam", "newsgroups20", "sc_celseq2")
FIGURES = ["rows", "mean", "largest", "firm in both", "firm in one"]


def model_of(name):
    if name == "sc_celseq2":
        return SparseNegativeBinomialNB()
    return SparseMultinomialNB() if name in ("mpqa", "newsgroups20") else SparseBernoulliNB()


def rows_of(data, name):
    if name == "sc_celseq2":
        X, y, _ = data.genes(name)
        return X.astype(np.int64), y
    X, _, y, _, _ = data.counts(name, binary=True)
    return X, y


def compared(first, second):
    """Mean and largest difference over features that either ever selects; firm in both, in one."""
    a, b = first.frequency(K), second.frequency(K)
    some = (a > 0) | (b > 0)
    firm = [set(each.stable(K).tolist()) for each in (first, second)]
    return (
        np.abs(a - b)[some].mean(), np.abs(a - b).max(), len(firm[0] & firm[1]),
        len(firm[0] ^ firm[1]),
    )  # fmt: skip


def by_buckets(data, names, cells):
    for name in names:
        model = model_of(name)
        key = name, type(model).__name__
        if (*key, "buckets") in cells and (*key, "other rows") in cells:
            continue
        X, y = rows_of(data, name)
        rows, other = (
            selection_stability(model, X, y, [K], n_buckets=None, random_state=seed)
            for seed in (0, 1)
        )
        buckets = selection_stability(model, X, y, [K])
        for against, pair in (("buckets", (buckets, rows)), ("other rows", (rows, other))):
            found = [each.item() if hasattr(each, "item") else each for each in compared(*pair)]
            cells.add((*key, against), [X.shape[0], *found])
    return Table(
        [*cells.keys, *FIGURES], [[*key, *each.values()] for key, each in cells.found.items()]
    )


def planted(rng, strength):
    """Rows with a few features that tell the classes, and noise of all frequencies."""
    y = np.arange(ROWS) % 2
    rate = np.tile(rng.uniform(0.05, 0.5, FEATURES), (2, 1))
    rate[1, :PLANTED] += strength
    return rng.random((ROWS, FEATURES)) < rate[y], y


def false_choices(strengths, ks, thresholds, repeats, cells):
    for strength in strengths:
        if all((f"{strength:g}", k, t) in cells for k in ks for t in thresholds):
            continue
        found: list[SelectionStability] = []
        rng = np.random.default_rng(0)
        for seed in range(repeats):
            X, y = planted(rng, strength)
            found.append(selection_stability(SparseBernoulliNB(), X, y, ks, random_state=seed))
        first = PLANTED if strength else 0  # without strength all are false
        for k in ks:
            for threshold in thresholds:
                stable = [each.stable(k, threshold) for each in found]
                false = float(np.mean([(each >= first).sum() for each in stable]))
                bounds = [
                    float(found[0].false_choices(k, threshold, unimodal=unimodal))
                    for unimodal in (False, True)
                ]
                some = float(np.mean([len(each) for each in stable]))
                cells.add((f"{strength:g}", k, threshold), [some, false, *bounds])
    rows = [[*key, *each.values()] for key, each in cells.found.items()]
    return Table(["planted strength", "k", "threshold", *cells.figures], rows)


def run(data, quick):
    result = Result()
    halves = Cells("stability", ["set", "model", "against"], FIGURES, quick)
    names = ("subj",) if quick else SETS
    result.tables["Differences of frequencies"] = by_buckets(data, names, halves)
    figures = ["stable", "false", "bound", "unimodal bound"]
    cells = Cells("stability_planted", ["strength", "k", "threshold"], figures, quick)
    asked = (
        ([0.25], [20], (0.75,), 2)
        if quick
        else ((0.0, 0.15, 0.25), [10, 20, 40], (0.6, 0.75, 0.9), 100)
    )
    table = false_choices(*asked, cells)
    result.tables["Stable and false choices"] = table
    cells.tell(table)
    halves.tell(result.tables["Differences of frequencies"])
    at = table.columns.index("false")
    # The bound is of a mean: of few draws it may be exceeded by chance.
    within = all(row[at] <= row[at + 1] + (1 if quick else 0) for row in table.rows)
    result.expect("no more false choices than the bound", within)
    apart = {key[2]: each["mean"] for key, each in halves.found.items() if key[0] == names[0]}
    result.expect("buckets are near to halves by row", apart["buckets"] < 0.1)
    return result
