"""Which default for which kind of data: our choices of features, by training rows alone.

Folds of the rows that competitors.py trains on: three of words, five of cells (seed 0) and of
genes (three times over, seeds 0, 10 and 11; those of its test are 1 to 3). Each option is judged
by accuracy at 5, 20, 100 and 1,000 features, by the naive Bayes rule of its model and by a
logistic regression; the latter is left out where the own rule is 5 points or more behind the best
of a kind. Cells are kept in results/default_choice.csv, as the run of hours left them: only what
is missing is computed.

The rule: of a kind of data, and for up to 20 features and more apart, the option of the largest
mean over the sets, the k and both rules is the default; once among the single estimators, once
among all ("in two steps": four times as many features, then elimination by a ridge logistic
regression, C = 0.1, which drops half, and half again). The default of before (`BEFORE`) stays
where it is within 0.1 points of that; else the best option of its model is named, where that is.
Options on rows that others are not given (`OTHER_ROWS`: logs of genes, weights of words) are
judged, but not named. "even quota" is `quota` at k // C for C classes, "conditional" is
`redundancy="conditional"`.

Not seen by the rule, but by us: test figures of an earlier round, in which ranking each class in
turn was ahead for genes of two classes. Sets of genes without a split are tested on the same rows
in other folds.
"""

import warnings
from functools import cache

import numpy as np

from experiments.cells import Cells
from experiments.competitors import (
    DEFAULTS,
    FIGURES,
    KEYS,
    ROWS,
    SIZES,
    STEPS,
    figures_of,
    judged,
    rows_of,
    splits,
    ways,
)
from experiments.datasets import KINDS
from experiments.frame import Result, Table

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


class Choice:
    """The cells, and what the rule makes of them."""

    def __init__(self, cells, ks=KS):
        self.cells, self.ks = cells, ks

    def means(self, kind, title, rule, ks=None):
        """Mean over the sets of the kind, for each k; NaN where it was not judged."""
        same = title.replace(", t = 0.3", "")  # with two classes
        found = [
            [self._accuracy(name, (title, same), k, rule) for name in KINDS[kind]]
            for k in ks or self.ks
        ]
        return np.mean(found, axis=1)

    def _accuracy(self, name, titles, k, rule):
        each = [self.cells.get((name, title, k, rule), "accuracy") for title in titles]
        return next((value for value in each if value is not None), np.nan)

    def hopeless(self, kind, title):
        best = np.nanmax([self.means(kind, t, "own").mean() for t in ways(kind)])
        return not self.means(kind, title, "own").mean() >= best - BEHIND

    def winner(self, kind, size, steps):
        """The option that the rule names, and its mean."""
        ks = [k for k in self.ks if k in SIZES[size]]
        value = {
            title: np.mean([self.means(kind, title, rule, ks) for rule in RULES])
            for title, method in ways(kind).items()
            if (steps or "eliminated" not in title) and method.rows not in OTHER_ROWS
        }
        value = {title: mean for title, mean in value.items() if not np.isnan(mean)}
        best = max(value, key=value.__getitem__)
        before = BEFORE[kind]
        same = [title for title in value if title.split(",")[0] == before.split(",")[0]]
        for title in (before, max(same, key=value.__getitem__, default=best)):
            if value.get(title, -1) >= value[best] - SAME:
                return title, value[title]
        return best, value[best]


def judge(data, kinds, choice):
    """Fill in the cells that are missing."""
    known = {}  # columns chosen
    for kind in kinds:
        for rule in RULES:
            titles = ways(kind)
            if rule != "own":
                titles = [title for title in titles if not choice.hopeless(kind, title)]
            for name in KINDS[kind]:
                judge_set(data, kind, name, rule, titles, choice, known)


def judge_set(data, kind, name, rule, titles, choice, known):
    cells, ks = choice.cells, choice.ks
    titles = [title for title in titles if (name, title, ks[0], rule) not in cells]
    if not titles:
        return
    X, y, split = rows_of(data, name)
    parts = splits("choose", name, y, split)

    @cache
    def weigh(rows, part):
        return ROWS[rows](*(X[each] for each in parts[part]))

    for title in titles:
        if "t = 0.3" in title and len(np.unique(y)) == 2:
            continue  # one pair: the exponent makes no difference
        chosen = known.setdefault((name, title), {})
        found, seconds = judged(ways(kind)[title], [rule], y, parts, weigh, ks, chosen)
        for (k, _), each in found.items():
            cells.add((name, title, k, rule), figures_of(each, seconds))


def tables(result, choice, kinds):
    named = Table(["kind", "features", "of single estimators", "of all"])
    for kind in kinds:
        for size in SIZES:
            found = [choice.winner(kind, size, steps) for steps in (False, True)]
            named.rows.append([kind, size, *(f"{t}, {100 * m:.1f}" for t, m in found)])
    choice.cells.tell(named)
    result.tables["Named by the rule, with the mean accuracy (%)"] = named
    heads = [f"{rule}, {k:,}" for rule in RULES for k in choice.ks]
    for kind in kinds:
        value = {
            title: np.concatenate([choice.means(kind, title, rule) for rule in RULES])
            for title in ways(kind)
        }
        value = {title: each for title, each in value.items() if not np.isnan(each).all()}
        table = Table([kind, *heads, *(f"mean, {rule}" for rule in RULES)])
        for title in sorted(value, key=lambda t, v=value: -np.mean(v[t][: len(choice.ks)])):
            halves = np.reshape(value[title], (2, -1)).mean(axis=1)
            cells = [*value[title], *halves]
            table.rows.append([
                title, *(None if np.isnan(v) else round(100 * float(v), 1) for v in cells)
            ])  # fmt: skip
        result.tables[f"Mean accuracy, {kind} (%)"] = table


def run(data, quick):
    warnings.simplefilter("ignore")
    result = Result()
    kinds = ("cells",) if quick else tuple(KINDS)
    choice = Choice(Cells("default_choice", KEYS, FIGURES, quick), (5, 20) if quick else KS)
    judge(data, kinds, choice)
    tables(result, choice, kinds)
    table = result.tables[f"Mean accuracy, {kinds[0]} (%)"]
    more = np.mean([row[2] - row[1] for row in table.rows])
    result.expect(f"{choice.ks[1]} features tell as much as {choice.ks[0]}", more > -1)
    if not quick:
        named = {
            (kind, steps): tuple(choice.winner(kind, size, steps)[0] for size in SIZES)
            for kind in KINDS
            for steps in (False, True)
        }
        for steps, known in ((False, DEFAULTS), (True, STEPS)):
            same = all(named[kind, steps] == known[kind] for kind in KINDS)
            result.expect("the defaults of competitors.py are those that the rule names", same)
    return result
