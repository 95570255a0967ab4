"""Every way to choose k features here against selectors of others, on the same rows.

    python experiments/competitors.py DATA --phase choose [--only SET ...] [--methods NAME ...]
    python experiments/competitors.py DATA --phase test
    python experiments/competitors.py --tables         into README.md, from the file of results
    python experiments/competitors.py DATA --check     is mRMR here that of mrmr-selection?

"choose" looks at training rows alone, in folds, and names a default for each kind of data
(`DEFAULTS`); "test" judges on test rows, or in other folds. Features are chosen inside each fold.
Every choice is followed by three rules: naive Bayes ("own": of the model, for others' choices that
of the default), the same with `refit="logistic"`, and scikit-learn's logistic regression with its
default penalty. Results go to results/competitors.csv, a method of a set at a time; what is there
already is not done again. The package `abess` is needed for the method of that name.
"""

import argparse
import csv
import sys
import time
import warnings
from collections.abc import Callable
from dataclasses import dataclass
from functools import cache, partial
from pathlib import Path

import numpy as np
import scipy.sparse as sp
from centers_cells import logged
from centers_methods import l1_logistic
from datasets import into_readme, text_split
from pairs import VALUES
from row_weights import WAYS
from scipy.stats import rankdata
from second_stage import best, mutual_information
from sklearn.base import clone
from sklearn.feature_extraction.text import CountVectorizer
from sklearn.feature_selection import chi2, f_classif, mutual_info_classif
from sklearn.linear_model import LogisticRegression
from sklearn.metrics import confusion_matrix
from sklearn.model_selection import StratifiedKFold
from sklearn.preprocessing import MinMaxScaler, StandardScaler

from naively import (
    Pairs,
    SparseBernoulliNB,
    SparseL2Centers,
    SparseMultinomialNB,
    SparseNegativeBinomialNB,
    SparsePoissonNB,
    sparsity_path,
)

RESULTS = Path(__file__).parent / "results" / "competitors.csv"
FIELDS = ["phase", "set", "method", "k", "rule", "rows", "accuracy", "macro_f1", "worst", "seconds"]
KS = (5, 10, 20, 50, 100, 300, 1000)
CHOICE_KS = (5, 20, 100, 1000)
KINDS = {
    "expression": ("khan", "su", "golub", "singh", "chowdary"),
    "cells": ("sc_celseq2",),
    "short texts": ("subj", "mpqa", "sst2"),
    "topics": ("newsgroups20",),
    "long texts": ("imdb",),
}
FEW = ("expression", "cells")  # rows
KIND = {name: kind for kind, names in KINDS.items() for name in names}
RULES = ("own", "refit", "logistic")
WIDE = 2000  # columns of the largest f_classif, of which slow selectors see no others

# Named from the folds of phase "choose" (docs/choosing.md), before any row of "test" was looked at.
DEFAULTS = {
    "expression": "l2 by deviation, pairs",
    "cells": "l2 by deviation, pairs, t = 0.3",
    "short texts": "Bernoulli, conditional",
    "topics": "presence, conditional",
    "long texts": "negative binomial, gains",
}
# Better by the folds, but thought of after the first look at the tests: counted apart.
AFTERWARDS = dict.fromkeys(("golub", "singh", "chowdary"), "l2 by deviation, even quota")


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
    "standardised": standardised,
    "cells": lambda *X: [logged(each.toarray()) for each in X],
    "cells, standardised": lambda *X: standardised(*(logged(each.toarray()) for each in X)),
}


def data(folder, name):
    """Rows for training and for the test, or all rows and None where folds are both."""
    if KIND[name] in FEW:
        with np.load(folder / name / f"{name}.npz") as arrays:
            X, y = arrays["X"].astype(np.float64), arrays["y"].astype(str)
            split = arrays["split"].astype(str) if "split" in arrays else None
        return (sp.csr_array(X) if name == "sc_celseq2" else X), y, split
    text, text_test, y, y_test = text_split(folder, name)
    vectorizer = CountVectorizer()
    X, X_test = vectorizer.fit_transform(text), vectorizer.transform(text_test)
    split = np.repeat(["train", "test"], [len(y), len(y_test)])
    return sp.csr_array(sp.vstack([X, X_test])), np.concatenate([y, y_test]), split


def splits(phase, name, y, split):
    """Rows to train on and rows to judge, as indices."""
    few = KIND[name] in FEW
    if phase == "test" and not few:
        return [(np.flatnonzero(split == "train"), np.flatnonzero(split == "test"))]
    inside = np.arange(len(y))
    if phase == "choose" and split is not None:
        inside = np.flatnonzero(split == "train")
    n_folds, seeds = (5 if few else 3), ((0,) if phase == "choose" else (1, 2, 3))
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


def ours(rows, estimator, scaled=False, way=chosen):
    plain = {"objective": "likelihood", "redundancy": None, "quota": None}
    rule = clone(estimator).set_params(k="all", **plain)
    return Method(rows, way(estimator), rule, rows, scaled)


OPTIONS = {
    "gains": {},
    "pairs": {"objective": Pairs()},
    "pairs, t = 0.3": {"objective": Pairs(exponent=0.3)},
    "conditional": {"redundancy": "conditional"},
}


def ways(kind):
    """Our methods, by name."""
    if kind == "expression":
        found = {
            f"{model}, {option}": ours(
                "standardised" if "standardised" in model else "values", make(**asked), True
            )
            for model, make in VALUES.items()
            for option, asked in OPTIONS.items()
        }
        shared = VALUES["Gaussian, shared variance"]
        found["Gaussian, shared variance, balanced"] = ours(
            "values", shared(class_weight="balanced"), True
        )
        for model in ("Gaussian, shared variance", "l2 by deviation", "l1, standardised"):
            rows = "standardised" if "standardised" in model else "values"
            found[f"{model}, even quota"] = ours(rows, VALUES[model](), True, evenly)
        found["l2 by deviation, pairs, even quota"] = ours(
            "values", SparseL2Centers(scale="std", objective=Pairs()), True, evenly
        )
        found["l2 by deviation, quota"] = ours(
            "values", SparseL2Centers(scale="std", quota=1), True
        )
        return found
    counts = {
        "multinomial": SparseMultinomialNB,
        "Bernoulli": SparseBernoulliNB,
        "Poisson": SparsePoissonNB,
        "negative binomial": SparseNegativeBinomialNB,
    }
    if kind == "cells":
        found = {
            f"{model}, {option}": ours("counts", make(**asked), True)
            for model, make in counts.items()
            for option, asked in OPTIONS.items()
            if option != "conditional" or model in ("multinomial", "Bernoulli")
        }
        for option, asked in OPTIONS.items():
            found[f"l2 by deviation, {option}"] = ours(
                "cells", SparseL2Centers(scale="std", **asked), True
            )
        found["multinomial, even quota"] = ours("counts", SparseMultinomialNB(), True, evenly)
        found["l2 by deviation, even quota"] = ours(
            "cells", SparseL2Centers(scale="std"), True, evenly
        )
        return found
    found = {
        "presence, gains": ours("presence", SparseMultinomialNB()),
        "log, l2 (0.1), gains": ours("log, l2", SparseMultinomialNB(alpha=0.1)),
        "tfidf, l2 (0.1), gains": ours("tfidf, l2", SparseMultinomialNB(alpha=0.1)),
        "Bernoulli, gains": ours("presence", SparseBernoulliNB()),
        "presence, conditional": ours("presence", SparseMultinomialNB(redundancy="conditional")),
        "Bernoulli, conditional": ours("presence", SparseBernoulliNB(redundancy="conditional")),
        "counts, gains": ours("counts", SparseMultinomialNB()),
        "Poisson, gains": ours("counts", SparsePoissonNB()),
        "negative binomial, gains": ours("counts", SparseNegativeBinomialNB()),
        "Poisson of presence, gains": ours("presence", SparsePoissonNB()),
        "presence, balanced": ours("presence", SparseMultinomialNB(class_weight="balanced")),
        "presence, quota": ours("presence", SparseMultinomialNB(quota=1)),
    }
    for title, rows, model in (
        ("presence", "presence", SparseMultinomialNB()),
        ("Bernoulli", "presence", SparseBernoulliNB()),
        ("negative binomial", "counts", SparseNegativeBinomialNB()),
    ):
        found[f"{title}, even quota"] = ours(rows, model, way=evenly)
    if kind == "topics":
        for option in ("pairs", "pairs, t = 0.3"):
            asked = OPTIONS[option]
            weighted = SparseMultinomialNB(alpha=0.1, **asked)
            found[f"log, l2 (0.1), {option}"] = ours("log, l2", weighted)
            found[f"presence, {option}"] = ours("presence", SparseMultinomialNB(**asked))
            found[f"Bernoulli, {option}"] = ours("presence", SparseBernoulliNB(**asked))
    return found


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


def mrmr_of_the_package(X, y, ks):
    """The same by the package itself, slower."""
    import pandas as pd
    from mrmr import mrmr_classif

    frame = pd.DataFrame(dense(X).astype(np.float64))
    order = mrmr_classif(frame, pd.Series(y), K=max(ks), n_jobs=1, show_progress=False)
    return {k: np.sort(order[:k]) for k in ks}


def check_mrmr(folder):
    """Compare the first features of three sets, among 500 columns."""
    for name in ("khan", "singh", "subj"):
        X, y, split = data(folder, name)
        fit, _ = splits("test", name, y, split)[0]
        Z = (X[fit] > 0).astype(np.int64) if name == "subj" else X[fit]
        ks = (5, 10, 20, 30)
        found, expected = (
            prefiltered(way, width=500)(Z, y[fit], ks) for way in (mrmr, mrmr_of_the_package)
        )
        print(name, all(np.array_equal(found[k], expected[k]) for k in ks))


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


def competitors(kind):
    """Selectors of others, with the rule of our default of the kind."""
    texts = kind not in FEW
    rows = {"expression": "values", "cells": "cells"}.get(kind, "presence")
    default = ways(kind)[DEFAULTS[kind]]
    selectors = {
        "chi2": largest(chi2_scores),
        "f_classif": largest(f_scores),
        "mutual information": information,
        "t in turn": in_turn(t_scores),
        "Wilcoxon in turn": in_turn(wilcoxon_scores),
        "l1 logistic": l1,
        "mRMR": prefiltered(mrmr),
        "abess": prefiltered(abess, lambda n: 100 if texts else min(100, n // 2)),
    }
    return {
        name: Method(rows, select, default.rule, default.rule_rows, default.scaled)
        for name, select in selectors.items()
    }


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


def judged(method, rules, y, parts, weigh, ks):
    """(k, rule) -> labels and predictions of all rows judged; seconds of a choice of all k."""
    found, seconds = {}, []
    for part, (fit, check) in enumerate(parts):
        Z, _ = weigh(method.rows, part)
        start = time.perf_counter()
        columns = method.select(Z, y[fit], ks)
        seconds.append(time.perf_counter() - start)
        Z, Z_test = weigh(method.rule_rows, part)
        # Refits are of the first five folds: each is dozens of fits.
        now = [rule for rule in rules if rule != "refit" or part < 5]
        for k, some in columns.items():
            for rule, labels in decisions(now, method, Z[:, some], y[fit], Z_test[:, some]):
                found.setdefault((k, rule), []).append((y[check], labels))
    return found, np.median(seconds)


def asked(phase, name):
    """Methods and the rules to judge them by: first what is compared, then our other options."""
    kind = KIND[name]
    some = ("own",) if phase == "test" and kind not in FEW else ("own", "logistic")
    options = {title: (method, some) for title, method in ways(kind).items()}
    if phase == "choose":
        return [options]
    every = RULES
    mine = (DEFAULTS[kind], PLAIN[kind], AFTERWARDS.get(name, DEFAULTS[kind]))
    compared = {title: (ways(kind)[title], every) for title in mine}
    compared |= {title: (method, every) for title, method in competitors(kind).items()}
    return [compared, {title: each for title, each in options.items() if title not in compared}]


def run(folder, options):
    warnings.simplefilter("ignore")
    for turn in range(1 if options.phase == "choose" else 2):
        for name in options.only:
            left = {}
            done = {
                (row["method"], row["rule"])
                for row in results()
                if (row["phase"], row["set"]) == (options.phase, name)
            }
            for title, (method, rules) in asked(options.phase, name)[turn].items():
                rules = [r for r in rules if r in options.rules and (title, r) not in done]
                if rules and (not options.methods or title in options.methods):
                    left[title] = method, rules
            if left:
                run_set(folder, options.phase, name, left)


def run_set(folder, phase, name, methods):
    X, y, split = data(folder, name)
    parts = splits(phase, name, y, split)

    @cache
    def weigh(rows, part):
        return ROWS[rows](*(X[each] for each in parts[part]))

    for title, (method, rules) in methods.items():
        if "t = 0.3" in title and len(np.unique(y)) == 2:
            continue  # one pair: the exponent makes no difference
        start = time.perf_counter()
        try:
            found, seconds = judged(
                method, rules, y, parts, weigh, KS if phase == "test" else CHOICE_KS
            )
        except Exception as error:  # one method that fails must not end a long run
            print(f"{name}, {title}: {type(error).__name__}: {error}", file=sys.stderr)
            continue
        write(phase, name, title, found, seconds)
        print(f"{name}, {title}: {time.perf_counter() - start:.0f} s", file=sys.stderr)


PLAIN = {  # the gains of a model without more being asked
    "expression": "l2 by deviation, gains",
    "cells": "l2 by deviation, gains",
    **dict.fromkeys(("short texts", "topics", "long texts"), "presence, gains"),
}


def results():
    if not RESULTS.exists():
        return []
    with RESULTS.open(newline="") as file:
        return list(csv.DictReader(file))


def write(phase, name, title, found, seconds):
    RESULTS.parent.mkdir(exist_ok=True)
    new = not RESULTS.exists()
    with RESULTS.open("a", newline="") as file:
        writer = csv.writer(file, lineterminator="\n")
        if new:
            writer.writerow(FIELDS)
        for (k, rule), parts in found.items():
            truth, labels = (np.concatenate(each) for each in zip(*parts, strict=True))
            cells = (f"{each:.4f}" for each in figures(truth, labels))
            writer.writerow([phase, name, title, k, rule, len(truth), *cells, f"{seconds:.2f}"])


# -- tables ----------------------------------------------------------------------------------------


def line(*cells):
    return "| " + " | ".join(map(str, cells)) + " |"


def table(heads, rows, n_texts=1):
    return [line(*heads), line(*["---"] * n_texts, *["---:"] * (len(heads) - n_texts)), *rows, ""]


def reached(phase, figure="accuracy"):
    """Set, rule and k -> a figure of each method, as shares."""
    found = {}
    for row in results():
        if row["phase"] == phase:
            cell = found.setdefault((row["set"], row["rule"], int(row["k"])), {})
            cell[row["method"]] = float(row[figure])
    return found


def others_of(cell, name):
    mine = ways(KIND[name])
    return {title: value for title, value in cell.items() if title not in mine}


LEVEL = -0.005


def counted(cells):
    """How often the default is level (within half a point), or ahead by more, by rule."""
    titles = ["the best of them", *competitors("expression"), "plain gains", "the best; afterwards"]
    rows = []
    for title in titles:
        counts = []
        for rule in RULES:
            gaps = []
            for (name, with_rule, _), cell in cells.items():
                others, kind = others_of(cell, name), KIND[name]
                if with_rule != rule or DEFAULTS[kind] not in cell or not others:
                    continue
                against = {
                    "the best of them": max(others.values()),
                    "plain gains": cell.get(PLAIN[kind]),
                    "the best; afterwards": max(others.values()),
                }.get(title, others.get(title))
                mine = cell[DEFAULTS[kind]]
                if "afterwards" in title:
                    mine = cell.get(AFTERWARDS.get(name), mine)
                if against is not None:
                    gaps.append(round(mine - against, 4))
            level, ahead = sum(g >= LEVEL for g in gaps), sum(g > -LEVEL for g in gaps)
            mean = 100 * np.mean(gaps) if gaps else np.nan
            counts.append(f"{level} of {len(gaps)}; {ahead}; {mean:+.2f}")
        rows.append(line(title, *counts))
    return table(["against", *RULES], rows)


def by_set(cells):
    """Cells in which the default is level with the best of the others, of each set, by rule."""
    rows = []
    for name, kind in KIND.items():
        counts = []
        for rule in RULES:
            gaps = [
                round(cell[DEFAULTS[kind]] - max(others_of(cell, name).values()), 4)
                for (of, by, _), cell in cells.items()
                if (of, by) == (name, rule) and DEFAULTS[kind] in cell and others_of(cell, name)
            ]
            level = sum(gap >= LEVEL for gap in gaps)
            counts.append(f"{level} of {len(gaps)}; {100 * np.mean(gaps):+.2f}" if gaps else "")
        rows.append(line(name, f"`{DEFAULTS[kind]}`", *counts))
    return table(["set", "default", *RULES], rows, 2)


def level_with_best(cells):
    """How often each method is level with the best of all the others, ours among them, by rule."""
    rows = []
    for title in ["default", *competitors("expression")]:
        counts = []
        for rule in RULES:
            gaps = []
            for (name, with_rule, _), cell in cells.items():
                default = cell.get(DEFAULTS[KIND[name]])
                entrants = {"default": default, **others_of(cell, name)}
                own = entrants.pop(title, None)
                if with_rule == rule and own is not None and default is not None and entrants:
                    gaps.append(round(own - max(entrants.values()), 4))
            level = sum(gap >= LEVEL for gap in gaps)
            counts.append(f"{level} of {len(gaps)} ({level / len(gaps):.0%})" if gaps else "")
        rows.append(line(title, *counts))
    return table(["method", *RULES], rows)


def compared(cells):
    """Default, best of the others and the difference in points; of each set, rule and k."""
    rows = []
    for name in KIND:
        for rule in RULES:
            shown = []
            for k in KS:
                cell = cells.get((name, rule, k), {})
                others, mine = others_of(cell, name), cell.get(DEFAULTS[KIND[name]])
                if mine is None or not others:
                    shown.append("")
                    continue
                title = max(others, key=others.__getitem__)
                gap = 100 * (mine - others[title])
                text = f"{mine:.3f}, {others[title]:.3f} {title} ({gap:+.1f})"
                shown.append(f"**{text}**" if gap >= 100 * LEVEL - 1e-9 else text)
            if any(shown):
                rows.append(line(name, rule, *shown))
    return table(["set", "rule", *(f"{k:,}" for k in KS)], rows, 2)


def means(cells, rule):
    """Mean over the k that every method has, of each method and set; in percent."""
    titles = ["default", "afterwards", "plain gains", "best option", *competitors("expression")]
    names = [name for name in KIND if any(key[:2] == (name, rule) for key in cells)]
    columns = []
    for name in names:
        default = DEFAULTS[KIND[name]]
        known = {
            "default": default,
            "afterwards": AFTERWARDS.get(name, default),
            "plain gains": PLAIN[KIND[name]],
        }
        found = [cells[key] for key in cells if key[:2] == (name, rule)]
        most = max(len(others_of(cell, name)) for cell in found)
        found = [cell for cell in found if len(others_of(cell, name)) == most]
        column = {}
        for title in titles:
            if title == "best option":
                each = [max(v for t, v in cell.items() if t in ways(KIND[name])) for cell in found]
            else:
                each = [cell.get(known.get(title, title)) for cell in found]
            column[title] = "" if None in each else f"{100 * np.mean(each):.1f}"
        columns.append(column)
    rows = [line(title, *(column[title] for column in columns)) for title in titles]
    return table(["method", *names], rows)


def choices():
    """Accuracy of our options over the folds, for each kind; in percent, means over its sets."""
    cells = reached("choose")
    lines = []
    for kind, names in KINDS.items():
        rules = ("own", "logistic")
        found = {}
        for title in ways(kind):
            shown = []
            for rule in rules:
                for k in CHOICE_KS:
                    each = [cells.get((name, rule, k), {}) for name in names]
                    # With two classes the exponent makes no difference.
                    one = title.replace(", t = 0.3", "")
                    each = [cell.get(title, cell.get(one)) for cell in each]
                    each = [value for value in each if value is not None]
                    shown.append(np.mean(each) if each else np.nan)
            found[title] = shown
        found = {title: each for title, each in found.items() if not np.isnan(each).all()}
        order = sorted(found, key=lambda title: -np.nanmean(found[title][: len(CHOICE_KS)]))
        heads = [kind, *(f"{rule}, {k:,}" for rule in rules for k in CHOICE_KS)]
        heads += [f"mean, {rule}" for rule in rules]
        rows = []
        for title in order:
            by_rule = np.reshape(found[title], (len(rules), -1))
            shown = [*found[title], *by_rule.mean(axis=1)]
            rows.append(line(title, *("" if np.isnan(v) else f"{100 * v:.1f}" for v in shown)))
        lines += table(heads, rows)
    return lines


def tables():
    yield from ["Folds of the training rows:", "", *choices()]
    cells = reached("test")
    yield from ["Cells level or ahead; cells ahead by more; mean difference:", "", *counted(cells)]
    yield from ["The same by set, against the best of them:", "", *by_set(cells)]
    yield from ["Each method against the best of all others:", "", *level_with_best(cells)]
    yield from ["Each set and k:", "", *compared(cells)]
    for rule in RULES:
        yield from [f"Mean accuracy, {rule}:", "", *means(cells, rule)]
    yield from ["Mean macro F1, own:", "", *means(reached("test", "macro_f1"), "own")]
    yield from ["Mean recall of the worst class, own:", "", *means(reached("test", "worst"), "own")]


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("data", type=Path, nargs="?", help="folder of the data sets")
    parser.add_argument("--phase", choices=["choose", "test"])
    parser.add_argument("--only", nargs="*", default=list(KIND), help="names of sets")
    parser.add_argument("--methods", nargs="*", help="names of methods")
    parser.add_argument("--rules", nargs="*", default=RULES, help="names of rules")
    parser.add_argument("--check", action="store_true", help="compare mRMR with mrmr-selection")
    parser.add_argument("--tables", action="store_true", help="write README.md")
    options = parser.parse_args()
    if options.check:
        check_mrmr(options.data)
    elif options.tables:
        into_readme("competitors", tables())
    else:
        run(options.data, options)


if __name__ == "__main__":
    main()
