"""Which of our choices of features is the default for a kind of data: by training rows alone.

    python experiments/default_choice.py DATA [--only SET ...]    folds, into the file of results
    python experiments/default_choice.py --names                  the winners, for competitors.py
    python experiments/default_choice.py --tables                 into README.md

Folds of the rows that competitors.py trains on: three of words, five of cells (seed 0) and of genes
(three times over, seeds 0, 10 and 11; those of its test are 1 to 3). Each option is judged by
accuracy at 5, 20, 100 and 1,000 features, by the naive Bayes rule of its model and by a logistic
regression; the latter is left out where the own rule is 5 points or more behind the best of a kind.

The rule: of a kind of data, and for up to 20 features and more apart, the option of the largest
mean over the sets, the k and both rules is the default; once among the single estimators, once
among all ("in two steps": four times as many features, then elimination by a logistic regression).
The default of before (`BEFORE`) stays where it is within 0.1 points of that; else the best option
of its model is named, where that is. Options on rows that others are not given (`OTHER_ROWS`: logs
of genes, weights of words) are judged, but not named.
"""

import argparse
import sys
import time
import warnings
from functools import cache
from pathlib import Path

import numpy as np
from competitors import (
    FIELDS,
    KINDS,
    ROWS,
    SIZES,
    data,
    judged,
    line,
    records,
    row_of,
    splits,
    store,
    table,
    ways,
)
from datasets import into_readme

RESULTS = Path(__file__).parent / "results" / "default_choice.csv"
KS = (5, 20, 100, 1000)
RULES = ("own", "logistic")
BEFORE = {
    "genes, two classes": "l2 by deviation, pairs",
    "genes, more classes": "l2 by deviation, pairs",
    "cells": "l2 by deviation, pairs, t = 0.3",
    "short texts": "Bernoulli, conditional",
    "topics": "presence, conditional",
    "long texts": "negative binomial, gains",
}
OTHER_ROWS = ("asinh", "log, l2", "tfidf, l2")
SAME = 0.001
BEHIND = 0.05  # of the best by the own rule, beyond which there is no logistic regression


def run(folder, names):
    known = {}  # columns chosen
    for kind, members in KINDS.items():
        for rule in RULES:
            worthy = [t for t in ways(kind) if rule == "own" or not hopeless(kind, t)]
            for name in set(members) & set(names):
                run_set(folder, kind, name, rule, worthy, known)


def run_set(folder, kind, name, rule, titles, known):
    done = {row["method"] for row in records(RESULTS) if (row["set"], row["rule"]) == (name, rule)}
    titles = [title for title in titles if title not in done]
    if not titles:
        return
    X, y, split = data(folder, name)
    parts = splits("choose", name, y, split)

    @cache
    def weigh(rows, part):
        return ROWS[rows](*(X[each] for each in parts[part]))

    for title in titles:
        if "t = 0.3" in title and len(np.unique(y)) == 2:
            continue  # one pair: the exponent makes no difference
        start = time.perf_counter()
        chosen = known.setdefault((name, title), {})
        found, seconds = judged(ways(kind)[title], [rule], y, parts, weigh, KS, chosen)
        for (k, _), each in found.items():
            store(RESULTS, FIELDS, row_of(name, title, k, rule, each, seconds))
        print(f"{name}, {title}, {rule}: {time.perf_counter() - start:.0f} s", file=sys.stderr)


@cache
def accuracies():
    found = {}
    for row in records(RESULTS):
        found[row["set"], row["rule"], int(row["k"]), row["method"]] = float(row["accuracy"])
    return found


def means(kind, title, rule, ks=KS):
    """Mean over the sets of the kind, for each k; NaN where it was not judged."""
    known = accuracies()
    same = title.replace(", t = 0.3", "")  # with two classes
    each = [
        [known.get((n, rule, k, title), known.get((n, rule, k, same), np.nan)) for n in KINDS[kind]]
        for k in ks
    ]
    return np.mean(each, axis=1)


def hopeless(kind, title):
    accuracies.cache_clear()
    best = np.nanmax([means(kind, t, "own").mean() for t in ways(kind)])
    return not means(kind, title, "own").mean() >= best - BEHIND


def winner(kind, size, steps):
    """The option that the rule names, and its mean."""
    ks = [k for k in KS if k in SIZES[size]]
    value = {
        title: np.mean([means(kind, title, rule, ks) for rule in RULES])
        for title, method in ways(kind).items()
        if (steps or "eliminated" not in title) and method.rows not in OTHER_ROWS
    }
    value = {title: mean for title, mean in value.items() if not np.isnan(mean)}
    best = max(value, key=value.__getitem__)
    before = BEFORE[kind]
    same = [title for title in value if title.split(",")[0] == before.split(",")[0]]
    for title in (before, max(same, key=value.__getitem__)):
        if value[title] >= value[best] - SAME:
            return title, value[title]
    return best, value[best]


def named():
    for title, steps in (("DEFAULTS", False), ("STEPS", True)):
        print(f"{title} = {{")
        for kind in KINDS:
            names = tuple(winner(kind, size, steps)[0] for size in SIZES)
            print(f"    {kind!r}: {names!r},")
        print("}")


def tables():
    rows = []
    for kind in KINDS:
        for size in SIZES:
            cells = [f"{t}, {100 * m:.1f}" for t, m in (winner(kind, size, s) for s in (0, 1))]
            rows.append(line(kind, size, *cells))
    yield from ["Named by the rule:", ""]
    yield from table(["kind", "features", "of single estimators", "of all"], rows, 4)
    for kind in KINDS:
        value = {t: [*means(kind, t, "own"), *means(kind, t, "logistic")] for t in ways(kind)}
        order = sorted(
            (t for t in value if not np.isnan(value[t]).all()), key=lambda t: -np.mean(value[t][:4])
        )
        rows = []
        for title in order:
            halves = np.reshape(value[title], (2, -1)).mean(axis=1)
            cells = ("" if np.isnan(v) else f"{100 * v:.1f}" for v in [*value[title], *halves])
            rows.append(line(title, *cells))
        heads = [f"{rule}, {k:,}" for rule in RULES for k in KS]
        yield from table([kind, *heads, *(f"mean, {rule}" for rule in RULES)], rows)


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("data", type=Path, nargs="?", help="folder of the data sets")
    every = [name for names in KINDS.values() for name in names]
    parser.add_argument("--only", nargs="*", default=every, help="names of sets")
    parser.add_argument("--names", action="store_true", help="print the winners")
    parser.add_argument("--tables", action="store_true", help="write README.md")
    options = parser.parse_args()
    warnings.simplefilter("ignore")
    if options.names:
        named()
    elif options.tables:
        into_readme("default choice", tables())
    else:
        run(options.data, options.only)


if __name__ == "__main__":
    main()
