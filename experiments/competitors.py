"""All selectors on the same rows: our default choice of k features against those of others.

The defaults (`DEFAULTS`, `STEPS`) are named by default_choice.py from folds of the training rows;
here they are judged on test rows (of the split, or the other 20 %), genes and cells in three times
five folds of other seeds (refits: the first five). Features are chosen inside each fold. Cells are
kept in results/competitors.csv, as the run of hours left them: only what is missing is computed.

Rows: words of `CountVectorizer`, present or absent for others and for "presence" and "Bernoulli";
genes as they are stored; cells as log(1 + counts of 10,000), for models of counts as counted.

Rules: "own" is the naive Bayes rule of the model on the chosen columns, for others' choices that
of our default; "refit" the same with `refit="logistic"`; "logistic" is `LogisticRegression()`
(columns of genes and cells of unit deviation).

Limits: mRMR, abess and mutual information of real values (by neighbours) see the 2,000 columns of
the largest F, abess for k up to 100 and half the rows; it needs the package of that name. "In
turn" takes the best feature of each class against the others in turn, by Welch's t or by rank
sums. l1 logistic: each class against the others, seven penalties, the largest coefficients of the
first with k.

Noise: "level" is half a point of accuracy at most behind. The standard error is that of two
binomial shares of different rows; the decisions are on the same rows, so that the true error is
smaller, and the second count generous. The best of eight others is picked after the fact in every
cell; how often each method is level with the best of all the rest stands beside it.
"""

import itertools
import time
import warnings
from collections.abc import Callable
from dataclasses import dataclass
from functools import cache, partial

import numpy as np
import scipy.sparse as sp
from scipy.stats import rankdata
from sklearn.base import clone
from sklearn.feature_extraction.text import CountVectorizer
from sklearn.feature_selection import RFE, chi2, f_classif, mutual_info_classif
from sklearn.linear_model import LogisticRegression
from sklearn.metrics import confusion_matrix
from sklearn.model_selection import StratifiedKFold
from sklearn.preprocessing import MinMaxScaler, StandardScaler

from experiments.cells import Cells
from experiments.centers_cells import logged
from experiments.datasets import KINDS
from experiments.frame import Result, Table, report
from experiments.methods import best, l1_logistic
from experiments.pairs import SHARED
from experiments.row_weights import WAYS
from experiments.selectors import mutual_information
from naively import (
    Pairs,
    SparseBernoulliNB,
    SparseL1Centers,
    SparseL2Centers,
    SparseMultinomialNB,
    SparseNegativeBinomialNB,
    SparsePoissonNB,
    sparsity_path,
)

KS = (5, 10, 20, 50, 100, 300, 1000)
SIZES = {"up to 20": KS[:3], "more": KS[3:]}
GENES = ("genes, two classes", "genes, more classes")
FEW = (*GENES, "cells")  # rows
TEXTS = ("short texts", "topics", "long texts")
KIND = {name: kind for kind, names in KINDS.items() for name in names}
RULES = ("own", "refit", "logistic")
WIDER = 4  # times k features, of which k are left by elimination
FEW_ROWS = 300
WIDE = 2000  # columns of the largest f_classif, of which slow selectors see no others

# Named by default_choice.py from training rows; for up to 20 features, and for more.
DEFAULTS = {
    "genes, two classes": ("l2 by deviation, conditional", "l2 by deviation, even quota"),
    "genes, more classes": ("l2 by deviation, pairs", "l2 by deviation, pairs"),
    "cells": ("l2 by deviation, pairs, t = 0.3", "l2 by deviation, pairs, t = 0.3"),
    "short texts": ("Bernoulli, conditional", "Bernoulli, conditional"),
    "topics": ("Bernoulli, conditional", "presence (0.1), even quota"),
    "long texts": ("negative binomial, gains", "negative binomial, conditional"),
}
# The same where elimination may follow.
STEPS = {
    **DEFAULTS,
    "genes, two classes": ("l2 by deviation, gains, eliminated", "l2 by deviation, even quota"),
    "topics": ("Bernoulli, conditional", "presence, gains, eliminated"),
}
MINE = {"default": DEFAULTS, "in two steps": STEPS}
KEYS = ["set", "method", "k", "rule"]
FIGURES = ["rows", "accuracy", "macro_f1", "worst", "seconds"]


@dataclass(frozen=True)
class Method:
    """What is chosen from which rows, and the naive Bayes rule that follows."""

    rows: str
    select: Callable  # (X, y, ks) -> columns by k; a k that is too much for it is left out
    rule: object  # estimator with k="all"
    rule_rows: str
    scaled: bool = False  # whether a logistic regression has columns of unit deviation


# -- rows ------------------------------------------------------------------------------------------


def standardised(X, X_test):
    scaler = StandardScaler().fit(X)
    return scaler.transform(X), scaler.transform(X_test)


ROWS = {
    **{name: rows for name, (rows, *_) in WAYS.items()},
    "values": lambda *X: X,
    "asinh": lambda *X: [np.arcsinh(each) for each in X],
    "standardised": standardised,
    "cells": lambda *X: [logged(each.toarray()) for each in X],
    "cells, standardised": lambda *X: standardised(*(logged(each.toarray()) for each in X)),
}


def rows_of(data, name):
    """All rows, labels, and the split; None where folds are both training rows and test rows."""
    if KIND[name] in FEW:
        X, y, _ = data.genes(name)
        return (sp.csr_array(X) if name == "sc_celseq2" else X), y.astype(str), data.split(name)
    text, text_test, y, y_test = data.texts(name)
    vectorizer = CountVectorizer()
    X, X_test = vectorizer.fit_transform(text), vectorizer.transform(text_test)
    split = np.repeat(["train", "test"], [len(y), len(y_test)])
    return sp.csr_array(sp.vstack([X, X_test])), np.concatenate([y, y_test]), split


def splits(phase, name, y, split):
    """Rows to train on and rows to judge, as indices: to "choose" a default, or to "test" it."""
    few = KIND[name] in FEW
    if phase == "test" and not few:
        return [(np.flatnonzero(split == "train"), np.flatnonzero(split == "test"))]
    inside = np.arange(len(y))
    if phase == "choose" and split is not None:
        inside = np.flatnonzero(split == "train")
    n_folds, seeds = (5 if few else 3), (1, 2, 3)
    if phase == "choose":
        seeds = (0, 10, 11) if KIND[name] in GENES else (0,)
    return [
        (inside[fit], inside[check])
        for seed in seeds
        for fit, check in StratifiedKFold(n_folds, shuffle=True, random_state=seed).split(
            inside, y[inside]
        )
    ]


# -- ours ------------------------------------------------------------------------------------------


def chosen(estimator):
    def select(X, y, ks):
        least = (estimator.quota or 1) * len(np.unique(y))  # of a quota
        ks = [k for k in ks if estimator.quota is None or k >= least]
        path = sparsity_path(estimator, X, y, ks=ks)
        return {k: path.support(k) for k in ks}

    return select


def evenly(estimator):
    """As many features for each class, as far as k allows: the quota follows k."""

    def select(X, y, ks):
        size = len(np.unique(y))
        quotas = {k: k // size or None for k in ks}
        return {
            k: chosen(clone(estimator).set_params(quota=quota))(X, y, [k])[k]
            for k, quota in quotas.items()
        }

    return select


def eliminated(estimator, first=chosen):
    """Of 4 k features of the model a ridge logistic regression drops half, and half again."""

    def select(X, y, ks):
        wide = {k: min(WIDER * k, X.shape[1]) for k in ks}
        start, found = first(estimator)(X, y, list(wide.values())), {}
        for k in ks:
            Z = X[:, start[wide[k]]]
            Z = Z if sp.issparse(Z) else StandardScaler().fit_transform(Z)
            ridge = LogisticRegression(C=0.1, max_iter=1000)
            kept = RFE(ridge, n_features_to_select=k, step=0.5).fit(Z, y).support_
            found[k] = start[wide[k]][kept]
        return found

    return select


def ours(rows, estimator, scaled=False, way=chosen):
    plain = {"objective": "likelihood", "redundancy": None, "candidates": None, "quota": None}
    rule = clone(estimator).set_params(k="all", **plain)
    return Method(rows, way(estimator), rule, rows, scaled)


OPTIONS = {
    "gains": {},
    "pairs": {"objective": Pairs()},
    "pairs, t = 0.3": {"objective": Pairs(exponent=0.3)},
    "conditional": {"redundancy": "conditional"},
}
FOUND = {
    "even quota": evenly,
    "gains, eliminated": eliminated,
    "even quota, eliminated": partial(eliminated, first=evenly),
}
GENE_MODELS = {  # name: (rows, model, options)
    "l2 by deviation": (
        "values", SparseL2Centers(scale="std"), (*OPTIONS, "even quota", "gains, eliminated"),
    ),
    "Gaussian, shared variance": ("values", SHARED(), ("pairs", "even quota")),
    "l1, standardised": ("standardised", SparseL1Centers(), ("pairs", "even quota")),
    "asinh, l2 by deviation": (
        "asinh", SparseL2Centers(scale="std"), ("pairs", "even quota", "gains, eliminated"),
    ),
}  # fmt: skip
CELL_MODELS = {
    "l2 by deviation": ("cells", SparseL2Centers(scale="std"), (*OPTIONS, *FOUND)),
    "multinomial": ("counts", SparseMultinomialNB(), (*OPTIONS, "even quota")),
    "negative binomial": ("counts", SparseNegativeBinomialNB(), ("gains", "pairs")),
    "Bernoulli": ("counts", SparseBernoulliNB(), ("gains", "pairs", "conditional")),
    "Poisson": ("counts", SparsePoissonNB(), ("gains", "pairs")),
}
TEXT_OPTIONS = ("gains", "conditional", "even quota")
TEXT_MODELS = {
    "presence": ("presence", SparseMultinomialNB(), TEXT_OPTIONS),
    "Bernoulli": ("presence", SparseBernoulliNB(), (*TEXT_OPTIONS, "gains, eliminated")),
    "negative binomial": ("counts", SparseNegativeBinomialNB(), TEXT_OPTIONS),
    "log, l2 (0.1)": ("log, l2", SparseMultinomialNB(alpha=0.1), ("gains", "even quota")),
    "tfidf, l2 (0.1)": ("tfidf, l2", SparseMultinomialNB(alpha=0.1), ("gains",)),
    "Poisson of presence": ("presence", SparsePoissonNB(), ("gains", "even quota")),
    "counts": ("counts", SparseMultinomialNB(), ("gains",)),
}
TOPIC_MODELS = {
    **TEXT_MODELS,
    "Bernoulli": ("presence", SparseBernoulliNB(), TEXT_OPTIONS),
    "presence": ("presence", SparseMultinomialNB(), ("gains", "conditional", *FOUND, "pairs")),
    "presence (0.1)": ("presence", SparseMultinomialNB(alpha=0.1), TEXT_OPTIONS),
}
LONG_MODELS = {
    **TEXT_MODELS,
    "Bernoulli": ("presence", SparseBernoulliNB(), TEXT_OPTIONS),
    "negative binomial": (
        "counts", SparseNegativeBinomialNB(), (*TEXT_OPTIONS, "gains, eliminated"),
    ),
}  # fmt: skip
MODELS = {
    **dict.fromkeys(GENES, GENE_MODELS),
    "cells": CELL_MODELS,
    **dict.fromkeys(TEXTS, TEXT_MODELS),
    "topics": TOPIC_MODELS,
    "long texts": LONG_MODELS,
}


def option(rows, model, name, scaled):
    if name in OPTIONS:
        return ours(rows, clone(model).set_params(**OPTIONS[name]), scaled)
    return ours(rows, model, scaled, FOUND[name])


def ways(kind):
    """Our methods, by name: each model of the kind with each of its options."""
    return {
        f"{title}, {name}": option(rows, model, name, kind in FEW)
        for title, (rows, model, names) in MODELS[kind].items()
        for name in names
    }


# -- others ----------------------------------------------------------------------------------------


def largest(scores):
    def select(X, y, ks):
        values = scores(X, y)
        return {k: np.flatnonzero(best(values, k)) for k in ks}

    return select


def one_hot(y):
    classes, codes = np.unique(y, return_inverse=True)
    return sp.csr_array((np.ones(len(y)), (codes, np.arange(len(y)))), (len(classes), len(y)))


def dense(table):
    return table.toarray() if sp.issparse(table) else np.asarray(table)


def t_scores(X, y):
    """Welch's t of each class against the others, (C, m)."""
    classes = one_hot(y)
    n = np.asarray(classes.sum(axis=1))[:, None]
    sums, squares = dense(classes @ X), dense(classes @ (X * X if not sp.issparse(X) else X**2))

    def moments(n, sums, squares):
        mean = sums / n
        return mean, np.maximum(squares / n - mean**2, 0) / (n - 1)

    mean, error = moments(n, sums, squares)
    rest = moments(n.sum() - n, sums.sum(axis=0) - sums, squares.sum(axis=0) - squares)
    with np.errstate(invalid="ignore", divide="ignore"):
        return np.nan_to_num((mean - rest[0]) / np.sqrt(error + rest[1]), posinf=1e9, neginf=-1e9)


def wilcoxon_scores(X, y):
    """Rank sum of each class against the others, standardised with its ties, (C, m)."""
    classes = one_hot(y)
    n, size = len(y), np.asarray(classes.sum(axis=1))[:, None]
    if sp.issparse(X):  # presence: two ranks
        held = np.asarray(X.sum(axis=0), dtype=np.float64)
        high, low = n - held + (held + 1) / 2, (n - held + 1) / 2
        found = dense(classes @ X)
        ranks = found * high + (size - found) * low
        ties = held**3 - held + (n - held) ** 3 - (n - held)
    else:
        each = rankdata(X, axis=0)
        ranks = classes @ each
        # The sum of squared ranks is that of 1 ... n, less a twelfth of what the ties take.
        ties = 12 * (n * (n + 1) * (2 * n + 1) / 6 - (each**2).sum(axis=0))
    spread = size * (n - size) / 12 * (n + 1 - ties / (n * (n - 1)))
    with np.errstate(invalid="ignore", divide="ignore"):
        return np.nan_to_num((ranks - size * (n + 1) / 2) / np.sqrt(spread))


def in_turn(scores):
    """Features that are largest in each class, taken in turn until there are k."""

    def select(X, y, ks):
        order = np.argsort(-scores(X, y), axis=1, kind="stable")[:, : max(ks)]
        taken = np.array(list(dict.fromkeys(order.T.ravel())))
        return {k: np.sort(taken[:k]) for k in ks}

    return select


def prefiltered(select, most=None, width=WIDE):
    """A slow selector on the columns of the largest f_classif, for k up to `most`."""

    def on_some(X, y, ks):
        some = np.flatnonzero(best(f_scores(X, y), min(width, X.shape[1])))
        ks = [k for k in ks if most is None or k <= most(len(y))]
        found = select(X[:, some], y, ks) if ks else {}
        return {k: np.sort(some[columns]) for k, columns in found.items()}

    return on_some


def mrmr(X, y, ks):
    """F over the mean absolute correlation with those before it: `mrmr_classif` of mrmr-selection.

    Its order, from one table of correlations instead of a pass of pandas for each feature.
    """
    X = dense(X).astype(np.float64)
    with np.errstate(invalid="ignore", divide="ignore"):
        relevance = np.nan_to_num(f_classif(X, y)[0])
        redundancy = np.maximum(np.abs(np.nan_to_num(np.corrcoef(X, rowvar=False))), 0.001)
    order, total = [int(np.argmax(relevance))], np.zeros(len(relevance))
    left = relevance > 0
    while len(order) < min(max(ks), np.count_nonzero(relevance)):
        left[order[-1]] = False
        total += redundancy[order[-1]]
        score = np.where(left, relevance * len(order) / total, -np.inf)
        order.append(int(np.argmax(score)))
    return {k: np.sort(order[:k]) for k in ks}


def abess(X, y, ks):
    from abess import LogisticRegression as TwoClasses, MultinomialRegression as MoreClasses

    make = TwoClasses if len(np.unique(y)) == 2 else MoreClasses
    codes = np.unique(y, return_inverse=True)[1]
    X = StandardScaler().fit_transform(X) if not sp.issparse(X) else dense(X).astype(np.float64)
    found = {}
    for k in ks:
        coef = np.reshape(make(support_size=k).fit(X, codes).coef_, (X.shape[1], -1))
        found[k] = np.flatnonzero(np.any(coef != 0, axis=1))
    return found


def l1(X, y, ks):
    X = X if sp.issparse(X) else StandardScaler().fit_transform(X)
    return {k: np.flatnonzero(mask) for k, mask in l1_logistic(X, y, ks).items()}


def f_scores(X, y):
    """F of each column; least of constant ones, which rounding may make infinite."""
    varies = np.ones(X.shape[1], bool) if sp.issparse(X) else np.ptp(X, axis=0) > 0
    return np.where(varies, f_classif(X, y)[0], -1.0)


def chi2_scores(X, y):
    return chi2(X if sp.issparse(X) else MinMaxScaler().fit_transform(X), y)[0]


def information(X, y, ks):
    if sp.issparse(X):
        return largest(mutual_information)(X, y, ks)
    scores = partial(mutual_info_classif, random_state=0)
    return prefiltered(largest(scores))(X, y, ks)


SELECTORS = {
    "chi2": largest(chi2_scores),
    "f_classif": largest(f_scores),
    "mutual information": information,
    "t in turn": in_turn(t_scores),
    "Wilcoxon in turn": in_turn(wilcoxon_scores),
    "l1 logistic": l1,
    "mRMR": prefiltered(mrmr),
    "abess": prefiltered(abess, lambda n: 100 if n > FEW_ROWS else min(100, n // 2)),
}


def entrants(kind, size):
    """What is compared, by name.

    Others choose from rows of words as present or absent, of genes and cells from those of our
    default, and are followed by its rule.
    """
    at = list(SIZES).index(size)
    titles = [names[kind][at] for names in MINE.values()] + [PLAIN[kind]]
    found = {title: ways(kind)[title] for title in titles}
    default = found[titles[0]]
    rows = default.rows if kind in FEW else "presence"
    for name, select in SELECTORS.items():
        found[name] = Method(rows, select, default.rule, default.rule_rows, default.scaled)
    return found


# -- judging ---------------------------------------------------------------------------------------


def decisions(rules, method, X, y, X_test):
    """Predictions of some rules after a choice, by name."""
    if "own" in rules:
        yield "own", clone(method.rule).fit(X, y).predict(X_test)
    if "refit" in rules:
        yield "refit", clone(method.rule).set_params(refit="logistic").fit(X, y).predict(X_test)
    if "logistic" in rules:
        if method.scaled:
            scaler = StandardScaler(with_mean=not sp.issparse(X)).fit(X)
            X, X_test = scaler.transform(X), scaler.transform(X_test)
        yield "logistic", LogisticRegression(max_iter=1000).fit(X, y).predict(X_test)


def figures(truth, found):
    """Accuracy, macro F1 and the recall of the class that is recognised least."""
    table = confusion_matrix(truth, found)
    right = np.diag(table)
    f1 = 2 * right / (table.sum(axis=0) + table.sum(axis=1))
    return right.sum() / table.sum(), f1.mean(), (right / table.sum(axis=1)).min()


def judged(method, rules, y, parts, weigh, ks, known=None):
    """(k, rule) -> labels and predictions of all rows judged; seconds of a choice of all k.

    `known` remembers the columns chosen in each part, and how long it took.
    """
    found, known = {}, {} if known is None else known
    for part, (fit, check) in enumerate(parts):
        if part not in known:
            Z, _ = weigh(method.rows, part)
            start = time.perf_counter()
            columns = method.select(Z, y[fit], ks)
            known[part] = columns, time.perf_counter() - start
        columns = known[part][0]
        Z, Z_test = weigh(method.rule_rows, part)
        # Refits are of the first five folds: each is dozens of fits.
        now = [rule for rule in rules if rule != "refit" or part < 5]
        for k, some in columns.items():
            for rule, labels in decisions(now, method, Z[:, some], y[fit], Z_test[:, some]):
                found.setdefault((k, rule), []).append((y[check], labels))
    return found, np.median([seconds for _, seconds in known.values()])


def judge(data, names, rules, ks_of, cells, others=None):
    """Fill in the cells of some sets that are missing."""
    known = {}
    for some_rules in (("own", "logistic"), ("refit",)):  # refits last: each is dozens of fits
        some_rules = [rule for rule in some_rules if rule in rules]
        for name in names if some_rules else ():
            judge_set(data, name, some_rules, ks_of, cells, known, others)


def judge_set(data, name, rules, ks_of, cells, known, others):
    wanted = []
    for size, ks in ks_of.items():
        for title, method in entrants(KIND[name], size).items():
            # Of a k that is too much for a method there is no cell, but of its least there is.
            left = [rule for rule in rules if (name, title, ks[0], rule) not in cells]
            if left and (others is None or title in others or title not in SELECTORS):
                wanted.append((size, ks, title, method, left))
    if not wanted:
        return
    X, y, split = rows_of(data, name)
    parts = splits("test", name, y, split)

    @cache
    def weigh(rows, part):
        return ROWS[rows](*(X[each] for each in parts[part]))

    for size, ks, title, method, left in wanted:
        chosen = known.setdefault((name, size, title), {})
        try:
            found, seconds = judged(method, left, y, parts, weigh, ks, chosen)
        except ImportError as error:  # abess is no part of the development extras
            report(f"  {name}, {title}: {error}")
            continue
        for (k, rule), each in found.items():
            cells.add((name, title, k, rule), figures_of(each, seconds))


def figures_of(found, seconds):
    truth, labels = (np.concatenate(some) for some in zip(*found, strict=True))
    return [len(truth), *(float(value) for value in figures(truth, labels)), float(seconds)]


PLAIN = {  # the gains of a model without more being asked
    **dict.fromkeys(FEW, "l2 by deviation, gains"),
    **dict.fromkeys(TEXTS, "presence, gains"),
}


# -- tables ----------------------------------------------------------------------------------------


@dataclass(frozen=True)
class Cell:
    """What the methods reached with a rule and k on a set: shares of n different rows."""

    value: dict  # method -> figure
    n: list

    def others(self):
        return {title: v for title, v in self.value.items() if title in SELECTORS}

    def gap(self, mine, against=None):
        """Difference from another (the best of all others by default), and its standard error.

        The error is that of two binomial shares of different rows. On the same rows it is less.
        """
        others = self.others()
        p, q = self.value[mine], self.value[against or max(others, key=others.__getitem__)]
        return round(p - q, 4), np.sqrt((p * (1 - p) + q * (1 - q)) / self.n[0])


class Reached:
    """Set, rule and k -> what the methods reached; names of ours stand beside their options."""

    def __init__(self, cells, figure="accuracy"):
        self.cells = {}
        for (name, title, k, rule), each in cells.found.items():
            cell = self.cells.setdefault((name, rule, int(k)), Cell({}, []))
            cell.value[title] = each[figure]
            rounds = 3 if KIND[name] in FEW and rule != "refit" else 1
            cell.n.append(each["rows"] // rounds)
        for (name, _, k), cell in self.cells.items():
            at = next(i for i, ks in enumerate(SIZES.values()) if k in ks)
            known = {mine: names[KIND[name]][at] for mine, names in MINE.items()}
            known["plain gains"] = PLAIN[KIND[name]]
            cell.value.update({
                mine: cell.value[title] for mine, title in known.items() if title in cell.value
            })  # fmt: skip

    def some(self, names=KIND, rules=RULES, ks=KS):
        """Cells in which we and another were judged."""
        return [
            (key, cell) for key in itertools.product(names, rules, ks)
            if (cell := self.cells.get(key)) and "default" in cell.value and cell.others()
        ]  # fmt: skip


LEVEL = -0.005


def shares(gaps):
    """Cells level within half a point, those not behind by more than an error; mean difference."""
    if not gaps:
        return ""
    level = sum(gap >= LEVEL for gap, _ in gaps)
    within = sum(gap >= -error - 1e-9 for gap, error in gaps)
    mean = 100 * np.mean([gap for gap, _ in gaps])
    return f"{level}, {within} of {len(gaps)}; {mean:+.2f}"


def counted(reached):
    """How often ours is level with the best of the others, and with each, by rule."""
    table = Table(["ours", "against", *RULES])
    for mine in MINE:
        for against in (None, *SELECTORS, "plain gains"):
            counts = [
                shares([
                    cell.gap(mine, against) for _, cell in reached.some(rules=[rule])
                    if mine in cell.value and (against is None or against in cell.value)
                ])
                for rule in RULES
            ]  # fmt: skip
            table.rows.append([mine, against or "the best of them", *counts])
    return table


def by_set(reached):
    return Table(["set", "ours", *RULES], [
        [name, mine, *(
            shares([c.gap(mine) for _, c in reached.some([name], [rule]) if mine in c.value])
            for rule in RULES
        )]
        for name in KIND for mine in MINE
    ])  # fmt: skip


def level_with_best(reached):
    """How often each method is level (half a point) with the best of all the others."""
    table = Table(["method", *RULES])
    for title in [*MINE, *SELECTORS]:
        counts = []
        for rule in RULES:
            gaps = []
            for _, cell in reached.some(rules=[rule]):
                rest = dict(cell.others())
                if title in SELECTORS:
                    rest["default"] = cell.value["default"]
                rest.pop(title, None)
                if title in cell.value and rest:
                    gaps.append(round(cell.value[title] - max(rest.values()), 4))
            level = sum(gap >= LEVEL for gap in gaps)
            counts.append(f"{level} of {len(gaps)} ({level / len(gaps):.0%})" if gaps else "")
        table.rows.append([title, *counts])
    return table


def compared(reached, mine):
    """Ours, the best of the others, the difference and its error; of each set, rule and k."""
    table = Table(["set", "rule", *(f"{k:,}" for k in KS)])
    for name, rule in itertools.product(KIND, RULES):
        shown = []
        for k in KS:
            cell = dict(reached.some([name], [rule], [k])).get((name, rule, k))
            if cell is None or mine not in cell.value:
                shown.append("")
                continue
            gap, error = cell.gap(mine)
            others = cell.others()
            title = max(others, key=others.__getitem__)
            text = f"{cell.value[mine]:.3f}, {others[title]:.3f} {title}"
            text += f" ({100 * gap:+.1f} ± {100 * error:.1f})"
            shown.append(f"**{text}**" if gap >= LEVEL else text)
        if any(shown):
            table.rows.append([name, rule, *shown])
    return table


def means(reached, rule):
    """Mean over the k that every method has (abess the fewest), by method and set; in percent."""
    titles = [*MINE, "plain gains", *SELECTORS]
    columns = []
    for name in KIND:
        cells = [cell.value for _, cell in reached.some([name], [rule]) if "abess" in cell.value]
        columns.append([
            round(100 * float(np.mean([cell[t] for cell in cells])), 1)
            if cells and all(t in cell for cell in cells) else None
            for t in titles
        ])  # fmt: skip
    return Table(["method", *KIND], [[t, *each] for t, *each in zip(titles, *columns, strict=True)])


def tables(result, cells):
    reached = Reached(cells)
    found = {
        "Cells level (half a point), cells not behind by more than a standard error, of all; mean "
        "difference, points": counted(reached),
        "The same by set, against the best of them": by_set(reached),
        "Level with the best of all others": level_with_best(reached),
        **{f"Each set and k, {mine}": compared(reached, mine) for mine in MINE},
        **{f"Mean accuracy, {rule} (%)": means(reached, rule) for rule in RULES},
        "Mean macro F1, own (%)": means(Reached(cells, "macro_f1"), "own"),
        "Mean recall of the worst class, own (%)": means(Reached(cells, "worst"), "own"),
    }
    cells.tell(next(iter(found.values())))
    result.tables |= found


QUICK = ("chi2", "mutual information", "t in turn", "l1 logistic")


def run(data, quick):
    warnings.simplefilter("ignore")
    result = Result()
    cells = Cells("competitors", KEYS, FIGURES, quick)
    if quick:
        judge(data, ("imdb",), ("own",), {"up to 20": (5, 20)}, cells, QUICK)
    else:
        judge(data, list(KIND), RULES, SIZES, cells)
    tables(result, cells)
    reached = Reached(cells)
    gaps = [cell.gap("default")[0] for _, cell in reached.some(["imdb"], ["own"])]
    result.expect("our default is not far behind the best of the others", np.mean(gaps) > -0.1)
    l1_gaps = [cell.gap("default", "t in turn")[0] for _, cell in reached.some(["imdb"], ["own"])]
    result.expect("nor behind features taken in turn", np.mean(l1_gaps) > -0.1)
    return result
