"""Every way to choose k features here against selectors of others, on the same rows.

    python experiments/competitors.py DATA --phase choose [--only SET ...] [--methods NAME ...]
    python experiments/competitors.py DATA --phase test
    python experiments/competitors.py --tables         Markdown, from the file of results

"choose" looks at training rows alone, in folds, and names a default for each kind of data
(`DEFAULTS`); "test" judges on rows that had no part in that. Features are chosen inside each fold.
Every choice is followed by three rules: naive Bayes ("own": of the model, for others' choices that
of the default), the same with `refit="logistic"`, and scikit-learn's logistic regression with its
default penalty. Results go to results/competitors.csv, a method of a set at a time; what is there
already is not done again. `mrmr-selection` and `abess` are needed for the methods of their names.
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
from datasets import text_split
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
KIND = {name: kind for kind, names in KINDS.items() for name in names}
WIDE = 2000  # columns of the largest f_classif, of which slow selectors see no others

# Named from the folds of phase "choose" (docs/choosing.md), before any row of "test" was looked at.
DEFAULTS = dict.fromkeys(KINDS, "")


@dataclass(frozen=True)
class Method:
    """What is chosen from which rows, and the naive Bayes rule that follows."""

    rows: str
    select: Callable  # (X, y, ks) -> columns by k; a k that is too much for it is left out
    rule: object  # estimator with k="all"
    rule_rows: str


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
    if KIND[name] in ("expression", "cells"):
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
    few = KIND[name] in ("expression", "cells")
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
        path = sparsity_path(estimator, X, y, ks=[k for k in ks if k <= X.shape[1]])
        return {k: path.support(k) for k in ks if k <= X.shape[1]}

    return select


def ours(rows, estimator):
    plain = {"objective": "likelihood", "redundancy": None, "quota": None}
    return Method(rows, chosen(estimator), clone(estimator).set_params(k="all", **plain), rows)


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
                "standardised" if "standardised" in model else "values", make(**asked)
            )
            for model, make in VALUES.items()
            for option, asked in OPTIONS.items()
        }
        shared = VALUES["Gaussian, shared variance"]
        found["Gaussian, shared variance, balanced"] = ours(
            "values", shared(class_weight="balanced")
        )
        found["l2 by deviation, quota"] = ours("values", SparseL2Centers(scale="std", quota=1))
        return found
    counts = {
        "multinomial": SparseMultinomialNB,
        "Bernoulli": SparseBernoulliNB,
        "Poisson": SparsePoissonNB,
        "negative binomial": SparseNegativeBinomialNB,
    }
    if kind == "cells":
        found = {
            f"{model}, {option}": ours("counts", make(**asked))
            for model, make in counts.items()
            for option, asked in OPTIONS.items()
        }
        for option, asked in OPTIONS.items():
            found[f"l2 by deviation, {option}"] = ours(
                "cells", SparseL2Centers(scale="std", **asked)
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
        "presence, balanced": ours("presence", SparseMultinomialNB(class_weight="balanced")),
        "presence, quota": ours("presence", SparseMultinomialNB(quota=2)),
    }
    if kind == "topics":
        for option in ("pairs", "pairs, t = 0.3"):
            asked = OPTIONS[option]
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
        some = np.flatnonzero(best(f_classif(X, y)[0], min(width, X.shape[1])))
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
    """The same by the package itself; `--check` compares the two."""
    import pandas as pd
    from mrmr import mrmr_classif

    frame = pd.DataFrame(dense(X).astype(np.float64))
    order = mrmr_classif(frame, pd.Series(y), K=max(ks), n_jobs=1, show_progress=False)
    return {k: np.sort(order[:k]) for k in ks}


def abess(X, y, ks):
    from abess import LogisticRegression as TwoClasses
    from abess import MultinomialRegression as MoreClasses

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


def chi2_scores(X, y):
    return chi2(X if sp.issparse(X) else MinMaxScaler().fit_transform(X), y)[0]


def information(X, y, ks):
    if sp.issparse(X):
        return largest(mutual_information)(X, y, ks)
    scores = partial(mutual_info_classif, random_state=0)
    return prefiltered(largest(scores))(X, y, [k for k in ks if k <= WIDE])


def competitors(kind):
    """Selectors of others, with the rule of our default of the kind."""
    texts = kind not in ("expression", "cells")
    rows = {"expression": "values", "cells": "cells"}.get(kind, "presence")
    default = ways(kind)[DEFAULTS[kind]]
    selectors = {
        "chi2": largest(chi2_scores),
        "f_classif": largest(lambda X, y: f_classif(X, y)[0]),
        "mutual information": information,
        "t in turn": in_turn(t_scores),
        "Wilcoxon in turn": in_turn(wilcoxon_scores),
        "l1 logistic": l1,
        "mRMR": prefiltered(mrmr),
        "abess": prefiltered(abess, lambda n: 50 if texts else min(50, n // 2)),
    }
    return {
        name: Method(rows, select, default.rule, default.rule_rows)
        for name, select in selectors.items()
    }


# -- judging ---------------------------------------------------------------------------------------


def decisions(rule, X, y, X_test, *, words, refit):
    """Predictions of the rules after a choice, by name."""
    yield "own", clone(rule).fit(X, y).predict(X_test)
    if refit:
        yield "refit", clone(rule).set_params(refit="logistic").fit(X, y).predict(X_test)
    if not words:
        scaler = StandardScaler(with_mean=not sp.issparse(X)).fit(X)
        X, X_test = scaler.transform(X), scaler.transform(X_test)
    yield "logistic", LogisticRegression(max_iter=1000).fit(X, y).predict(X_test)


def figures(truth, found):
    """Accuracy, macro F1 and the recall of the class that is recognised least."""
    table = confusion_matrix(truth, found)
    right = np.diag(table)
    f1 = 2 * right / (table.sum(axis=0) + table.sum(axis=1))
    return right.sum() / table.sum(), f1.mean(), (right / table.sum(axis=1)).min()


def judged(method, X, y, pairs_of_rows, weigh, ks, *, words, refit):
    """(k, rule) -> labels and predictions of all rows judged; seconds of a choice of all k."""
    found, seconds = {}, []
    for part, (fit, check) in enumerate(pairs_of_rows):
        Z, _ = weigh(method.rows, part)
        start = time.perf_counter()
        columns = method.select(Z, y[fit], ks)
        seconds.append(time.perf_counter() - start)
        Z, Z_test = weigh(method.rule_rows, part)
        for k, some in columns.items():
            parts = (Z[:, some], y[fit], Z_test[:, some])
            for rule, labels in decisions(method.rule, *parts, words=words, refit=refit):
                found.setdefault((k, rule), []).append((y[check], labels))
    return found, np.median(seconds)


def run(folder, phase, names, wanted):
    warnings.simplefilter("ignore")
    done = {(row["phase"], row["set"], row["method"]) for row in results()}
    for name in names:
        kind = KIND[name]
        methods = ways(kind)
        if phase == "test":
            first = {DEFAULTS[kind]: methods[DEFAULTS[kind]]}
            methods = {**first, **competitors(kind), **methods}
        if wanted:
            methods = {each: methods[each] for each in wanted if each in methods}
        methods = {k: v for k, v in methods.items() if (phase, name, k) not in done}
        if not methods:
            continue
        X, y, split = data(folder, name)
        if len(np.unique(y)) == 2:  # one pair: the exponent makes no difference
            methods = {k: v for k, v in methods.items() if "t = 0.3" not in k}
        parts = splits(phase, name, y, split)

        @cache
        def weigh(rows, part, X=X, parts=parts):
            return ROWS[rows](*(X[each] for each in parts[part]))

        for title, method in methods.items():
            full = phase == "test" and (not title_of_ours(kind, title) or title in (
                DEFAULTS[kind], PLAIN[kind]))  # fmt: skip
            ks = KS if phase == "test" else CHOICE_KS
            words = kind not in ("expression", "cells")
            start = time.perf_counter()
            try:
                found, seconds = judged(method, X, y, parts, weigh, ks, words=words, refit=full)
            except Exception as error:  # one method that fails must not end a long run
                print(f"{name}, {title}: {type(error).__name__}: {error}", file=sys.stderr)
                continue
            write(phase, name, title, found, seconds)
            print(f"{name}, {title}: {time.perf_counter() - start:.0f} s", file=sys.stderr)


def title_of_ours(kind, title):
    return title in ways(kind)


PLAIN = {
    "expression": "l2 by deviation, gains",
    "cells": "multinomial, gains",
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


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("data", type=Path, nargs="?", help="folder of the data sets")
    parser.add_argument("--phase", choices=["choose", "test"])
    parser.add_argument("--only", nargs="*", default=list(KIND), help="names of sets")
    parser.add_argument("--methods", nargs="*", help="names of methods")
    options = parser.parse_args()
    run(options.data, options.phase, options.only, options.methods)


if __name__ == "__main__":
    main()
