"""Hybrid model on pairs of newsgroups: test error, accuracy against coverage (HYB, figures 1, 2).

Needs snowballstemmer. Subject and body are the regions; other headers are dropped, numbers and
addresses become tokens, words are stemmed. The vocabulary is that of the training rows.

    python experiments/hybrid_newsgroups.py DATA > tables.md
"""

import re
import sys
import warnings
from collections import defaultdict

import numpy as np
import pandas as pd
import snowballstemmer
from datasets import arguments, rows
from sklearn.linear_model import LogisticRegression
from sklearn.model_selection import GridSearchCV
from sklearn.naive_bayes import MultinomialNB

from naively import HybridNB, SeparationWarning, WordCounts, accuracy_coverage_curve

ALIKE = [
    ("alt.atheism", "talk.religion.misc"),
    ("comp.sys.ibm.pc.hardware", "comp.sys.mac.hardware"),
    ("rec.sport.baseball", "rec.sport.hockey"),
    ("comp.graphics", "talk.politics.mideast"),
    ("talk.politics.guns", "talk.politics.misc"),
]
OTHERS = [
    ("rec.autos", "rec.motorcycles"),
    ("sci.crypt", "sci.electronics"),
    ("sci.med", "sci.space"),
    ("comp.os.ms-windows.misc", "comp.windows.x"),
    ("misc.forsale", "soc.religion.christian"),
]
SIZES = [10, 20, 50, 100, 200, 500, 1000]
SPLITS = 10
NEAR = 0.01  # "very near the lowest": within one point of error
TOKEN = re.compile(r"[\w.+-]+@[\w.-]+\w|\d[\d.,]*|[^\W\d_]{2,}")


class Stems:
    """Text to stems, numbers and addresses as tokens; every word is stemmed once."""

    def __init__(self):
        self.stemmer = snowballstemmer.stemmer("english")
        self.known = {}

    def __call__(self, text):
        return [self.token(match.group()) for match in TOKEN.finditer(text)]

    def token(self, word):
        if "@" in word:
            return "EMAILADDR"
        if word[0].isdigit():
            return "NUMBER"
        word = word.lower()
        if word not in self.known:
            self.known[word] = self.stemmer.stemWord(word)
        return self.known[word]


def posts(folder):
    return pd.DataFrame(rows(folder, "newsgroups20/newsgroups20.jsonl.gz"))


def pair_counts(table, pair, analyzer):
    """Counts of subject and body side by side, and 0 or 1 for the group."""
    part = table[table["label"].isin(pair)]
    vectorizer = WordCounts(regions=True, analyzer="tokens")
    tokens = part[["subject", "body"]].map(analyzer)
    return vectorizer.fit_transform(tokens), (part["label"] == pair[1]).to_numpy().astype(int)


def joined(X):
    """Counts of the words of both regions."""
    return X[:, : X.shape[1] // 2] + X[:, X.shape[1] // 2 :]


def known_words(X, train):
    """Columns of the words that the training rows have in either region."""
    seen = np.asarray(X[train].sum(axis=0)).reshape(2, -1).sum(axis=0) > 0
    return X[:, np.tile(seen, 2)]


def best_penalty(X, y, train):
    """C of the logistic regression, by cross-validation on the training rows of one split."""
    if len(train) < 50:
        return 1.0
    model = LogisticRegression(solver="liblinear")
    search = GridSearchCV(model, {"C": [0.01, 0.1, 1.0]}, cv=3, scoring="neg_log_loss")
    return search.fit(X[train], y[train]).best_params_["C"]


def models(penalty):
    """Name -> (classifier, whether it sees the regions apart)."""
    return {
        "NB": (MultinomialNB(), False),
        "hybrid R=2": (HybridNB(2), True),
        "hybrid R=1": (HybridNB(), False),
        "unnormalised R=2": (HybridNB(2, normalize=False), True),
        "unnormalised R=1": (HybridNB(normalize=False), False),
        "logistic": (LogisticRegression(C=penalty, solver="liblinear"), False),
    }


def fitted(X, y, train, test, penalty, wanted):
    """Name -> posteriors of the test rows."""
    apart = known_words(X, train)
    together = joined(apart)
    posteriors = {}
    for name, (model, regions) in models(penalty).items():
        if name in wanted:
            A = apart if regions else together
            posteriors[name] = model.fit(A[train], y[train]).predict_proba(A[test])
    return posteriors


def split(y, size, seed):
    """Random rows, with both classes among the training rows."""
    rng = np.random.default_rng(seed)
    while True:
        order = rng.permutation(len(y))
        if len(set(y[order[:size]])) == 2:
            return order[:size], order[size:]


def error_curves(X, y):
    """Name -> mean test error for each size."""
    errors = defaultdict(lambda: np.zeros((len(SIZES), SPLITS)))
    wanted = ["NB", "hybrid R=2", "hybrid R=1", "unnormalised R=2", "logistic"]
    for i, size in enumerate(SIZES):
        penalty = best_penalty(joined(X), y, split(y, size, 0)[0])
        for seed in range(SPLITS):
            train, test = split(y, size, seed)
            for name, proba in fitted(X, y, train, test, penalty, wanted).items():
                errors[name][i, seed] = (proba.argmax(axis=1) != y[test]).mean()
    return {name: values.mean(axis=1) for name, values in errors.items()}


def coverages(X, y):
    """Name -> mean (accuracy, area, coverage at 95 %, coverage at 90 %) over halves."""
    figures = defaultdict(list)
    wanted = ["NB", "hybrid R=1", "unnormalised R=1", "logistic", "hybrid R=2"]
    penalty = best_penalty(joined(X), y, split(y, len(y) // 2, 0)[0])
    for seed in range(SPLITS):
        train, test = split(y, len(y) // 2, seed)
        for name, proba in fitted(X, y, train, test, penalty, wanted).items():
            curve = accuracy_coverage_curve(y[test], proba)
            at = [curve.coverage_at(0.95), curve.coverage_at(0.9)]
            figures[name].append([curve.accuracy_at(1), curve.area, *at])
    return {name: np.mean(values, axis=0) for name, values in figures.items()}


def short(pair):
    return " / ".join(group.split(".", 1)[1] for group in pair)


def error_table(curves):
    print("| pair | method | " + " | ".join(map(str, SIZES)) + " |")
    print("| --- | --- |" + " ---: |" * len(SIZES))
    for pair, curve in curves.items():
        for name, errors in curve.items():
            figures = " | ".join(f"{100 * error:.1f}" for error in errors)
            print(f"| {short(pair)} | {name} | {figures} |")


def coverage_table(figures):
    print("\n| pair | method | accuracy | area | coverage at 95 % | at 90 % |")
    print("| --- | --- | ---: | ---: | ---: | ---: |")
    for pair, figure in figures.items():
        for name, values in figure.items():
            shown = " | ".join(f"{value:.3f}" for value in values)
            print(f"| {short(pair)} | {name} | {shown} |")


def claims(curves, figures):
    def errors(name):
        return np.array([curve[name] for curve in curves.values()])

    def per_size(cells):
        return f"{cells.sum()} of {cells.size} (by size {cells.sum(axis=0).tolist()})"

    rivals, hybrid = np.minimum(errors("NB"), errors("logistic")), errors("hybrid R=2")
    print(f"\nMean test error, {len(curves)} pairs x {len(SIZES)} sizes {SIZES}:")
    print(f"- hybrid R=2 lowest of NB, logistic, hybrid: {per_size(hybrid <= rivals)}")
    print(f"- lowest or within {100 * NEAR:g} point: {per_size(hybrid <= rivals + NEAR)}")
    print(f"- below NB: {per_size(hybrid < errors('NB'))}")
    print(f"- R=2 below R=1: {per_size(hybrid < errors('hybrid R=1'))}")
    better = hybrid < errors("unnormalised R=2")
    print(f"- normalised below unnormalised (R=2): {per_size(better)}")
    print("\n| method | " + " | ".join(map(str, SIZES)) + " |\n| --- |" + " ---: |" * len(SIZES))
    for name in next(iter(curves.values())):
        shown = " | ".join(f"{100 * error:.1f}" for error in errors(name).mean(axis=0))
        print(f"| {name} | {shown} |")
    coverage_claims(figures)


def coverage_claims(figures):
    def of(name):
        return np.array([figure[name] for figure in figures.values()])

    print()
    hybrid = of("hybrid R=1")
    for name in ("NB", "unnormalised R=1", "logistic"):
        more = hybrid > of(name)
        print(
            f"- hybrid R=1 against {name}: area higher on {more[:, 1].sum()}, coverage at 95 % "
            f"higher on {more[:, 2].sum()} of {len(more)} pairs (mean {hybrid[:, 2].mean():.2f} "
            f"against {of(name)[:, 2].mean():.2f})"
        )


def main():
    options = arguments(__doc__).parse_args()
    warnings.simplefilter("ignore", SeparationWarning)
    table, analyzer = posts(options.data), Stems()
    curves, figures = {}, {}
    for pair in ALIKE + OTHERS:
        if options.only and not set(options.only) & set(pair):
            continue
        X, y = pair_counts(table, pair, analyzer)
        print(short(pair), X.shape, file=sys.stderr, flush=True)
        curves[pair] = error_curves(X, y)
        figures[pair] = coverages(X, y)
    error_table(curves)
    coverage_table(figures)
    claims(curves, figures)


if __name__ == "__main__":
    main()
