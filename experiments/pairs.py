"""Panels for every pair of classes (`objective="pairs"`) against the largest gains.

Judged by the rule of the same model. Three folds, five times over (newsgroups20, whose rows are
many: once), features chosen from the training rows alone; accuracy and, in brackets, the recall of
the class that is recognised least, over all rows judged. "proven": least share of the largest
possible separation, over the folds, at exponent t = 1; with two classes, where the exponent
changes nothing, the order is proven. "standardised": columns by the training rows. Texts: words of
two documents or more.

For standardised l2 centers, whose unit variance takes the spread for too large already, t = 0.3 is
worse. For l1 centers the scale of a Laplace law is found within the classes; with unit scale,
which the rule has, pairs were worse than the gains.

Judging takes hours: the cells are kept in results/pairs.csv. What a fit with pairs costs is in
processor seconds of shape C of the benchmarks (20 classes: 190 pairs), counting included, and in
multiples of the plain fit; medians of rounds taken in turn.
"""

import sys
import time
from functools import partial
from pathlib import Path

import numpy as np
from sklearn.datasets import load_digits
from sklearn.feature_extraction.text import CountVectorizer
from sklearn.model_selection import RepeatedStratifiedKFold
from sklearn.preprocessing import StandardScaler

from experiments.cells import Cells
from experiments.datasets import GENES
from experiments.frame import Result, Table
from naively import (
    Pairs,
    SparseBernoulliNB,
    SparseGaussianNB,
    SparseL1Centers,
    SparseL2Centers,
    SparseMultinomialNB,
    SparseNegativeBinomialNB,
    SparsePoissonNB,
)

KS = (5, 10, 20, 50)
OBJECTIVES = {
    "gains": "likelihood",
    "pairs, t = 1": Pairs(),
    "pairs, t = 0.3": Pairs(exponent=0.3),
}
SHARED = partial(SparseGaussianNB, variance="shared")
VALUES = {
    "Gaussian, shared variance": SHARED,
    "Gaussian": SparseGaussianNB,
    "l2 by deviation": partial(SparseL2Centers, scale="std"),
    "l2, standardised": SparseL2Centers,
    "l1, standardised": SparseL1Centers,
}
COUNTS = {
    "Bernoulli": SparseBernoulliNB,
    "multinomial": SparseMultinomialNB,
    "Poisson": SparsePoissonNB,
    "negative binomial": SparseNegativeBinomialNB,
}
SETS = {
    "su": VALUES,
    "khan": VALUES,
    "golub": VALUES,
    "singh": VALUES,
    "digits": {"Gaussian, shared variance": SHARED, "Gaussian": SparseGaussianNB, **COUNTS},
    "sc_celseq2": {"l2, standardised": SparseL2Centers, **COUNTS},
    "newsgroups20": COUNTS,
    "sst_fine": COUNTS,
}
MORE = ("su", "khan", "digits", "sc_celseq2")  # values or counts of more than two classes
TIMES = {"newsgroups20": 1}


def rows_of(data, name):
    if name == "digits":
        return load_digits(return_X_y=True)
    if name in GENES:
        return data.genes(name)[:2]
    records = data.records(name)
    texts = [record["text"] for record in records]
    return CountVectorizer(min_df=2).fit_transform(texts), np.array([r["label"] for r in records])


def objectives(y):
    """With two classes there is one pair, and no exponent."""
    names = list(OBJECTIVES)
    return {name: OBJECTIVES[name] for name in (names if len(np.unique(y)) > 2 else names[:2])}


def judged(title, make, X, y, times):
    """Accuracy and worst recall for each objective and k; and what was proven."""
    classes, asked = np.unique(y), objectives(y)
    right = np.zeros((len(asked), len(KS), len(classes)))
    proven = np.ones(len(KS))
    splits = RepeatedStratifiedKFold(n_splits=3, n_repeats=times, random_state=0)
    for train, test in splits.split(np.zeros(len(y)), y):
        Z, Z_test = X[train], X[test]
        if "standardised" in title:
            scaler = StandardScaler().fit(Z)
            Z, Z_test = scaler.transform(Z), scaler.transform(Z_test)
        statistics = make().gather(Z, y[train])
        for o, objective in enumerate(asked.values()):
            for i, k in enumerate(KS):
                parameters = {**make().get_params(), "objective": objective}
                del parameters["k"]
                fitted = type(make()).from_statistics(statistics, k, **parameters)
                hits = fitted.predict(Z_test) == y[test]
                right[o, i] += [np.sum(hits & (y[test] == c)) for c in classes]
                if o == 1:
                    proven[i] = min(proven[i], 1 - fitted.certificate_.relative_gap)
    per_class = right / times / np.array([np.sum(y == c) for c in classes])
    return right.sum(axis=2) / times / len(y), per_class.min(axis=2), proven


def judge(data, sets, models, cells, times):
    """Fill in the cells that are missing."""
    for name in sets:
        X = None
        for title, make in SETS[name].items():
            if title not in (models or SETS[name]) or (name, title, "gains", KS[0]) in cells:
                continue
            if X is None:
                X, y = rows_of(data, name)
            accuracy, worst, proven = judged(title, make, X, y, times or TIMES.get(name, 5))
            for o, objective in enumerate(objectives(y)):
                for i, k in enumerate(KS):
                    share = proven[i] if o == 1 else ""
                    cells.add((name, title, objective, k), [accuracy[o, i], worst[o, i], share])


def tables(result, cells, sets):
    table = Table(["set", "model", "chosen by", *(f"k = {k}" for k in KS)])
    proven = Table(["set", "model", *(f"k = {k}" for k in KS)])
    ahead = Table(["chosen by", *(f"k = {k}" for k in KS)])
    done = [
        (n, t, o) for n in sets for t in SETS[n] for o in OBJECTIVES if (n, t, o, KS[0]) in cells
    ]
    for key in done:
        each = [cells[*key, k] for k in KS]
        shown = (f"{cell['accuracy']:.3f} ({cell['worst']:.2f})" for cell in each)
        table.rows.append([*key, *shown])
        if key[2] == "pairs, t = 1" and each[0]["proven"] is not None:
            proven.rows.append([*key[:2], *(cell["proven"] for cell in each)])
    gains = {}
    for objective in list(OBJECTIVES)[1:]:
        few = [key[:2] for key in done if key[2] == objective and key[0] in MORE]
        gains[objective] = np.array([
            [
                cells[*key, objective, k]["accuracy"] - cells[*key, "gains", k]["accuracy"]
                for k in KS
            ]
            for key in few
        ])  # fmt: skip
        means = 100 * gains[objective].mean(axis=0)
        wins = (gains[objective] > 0.005).sum(axis=0), (gains[objective] < -0.005).sum(axis=0)
        shown = (f"{m:+.1f} ({a} ahead, {b} behind)" for m, a, b in zip(means, *wins, strict=True))
        ahead.rows.append([objective, *shown])
    ahead.note = "Ahead and behind: by more than half a point."
    result.tables["Accuracy, and the worst recall"] = table
    result.tables["Share of the largest possible separation"] = proven
    result.tables[f"Points ahead of the gains: {', '.join(n for n in sets if n in MORE)}"] = ahead
    few = gains["pairs, t = 1"][:, 0].mean()
    result.expect("five features for every pair tell more than those of the largest gains", few > 0)


def cost(cells, rounds=5):
    """Fill in what is missing: seconds of the plain fit, and of the others in multiples of it."""
    for name, estimator in COUNTS.items():
        for k in (10, 100, 1000):
            cells.computed((name, k), lambda e=estimator, k=k: seconds_of(e, k, rounds))
    found = [[*key, *values.values()] for key, values in cells.found.items()]
    table = Table([*cells.keys, *cells.figures], found, times=tuple(cells.figures))
    cells.tell(table)
    return table


def seconds_of(estimator, k, rounds):
    sys.path.insert(0, str(Path(__file__).parents[1] / "benchmarks"))
    from shapes import load

    X, y = load("C", n_classes=20)
    seconds = {o: [] for o in OBJECTIVES}
    for turn in range(rounds + 1):
        for o, objective in OBJECTIVES.items():
            start = time.process_time()
            estimator(k=k, objective=objective).fit(X, y)
            if turn:  # the first compiles
                seconds[o].append(time.process_time() - start)
    plain, *others = (np.array(each) for each in seconds.values())
    return [float(np.median(plain)), *(float(np.median(each / plain)) for each in others)]


def run(data, quick):
    result = Result()
    cells = Cells(
        "pairs", ["set", "model", "chosen by", "k"], ["accuracy", "worst", "proven"], quick
    )
    sets = ("khan",) if quick else tuple(SETS)
    judge(data, sets, ["Gaussian, shared variance"] if quick else None, cells, 1 if quick else None)
    tables(result, cells, sets)
    cells.tell(result.tables["Accuracy, and the worst recall"])
    if not quick:
        figures = ["plain fit, CPU s", "t = 1, times", "t = 0.3, times"]
        result.tables["What a fit costs"] = cost(
            Cells("pairs_cost", ["model", "k"], figures, quick)
        )
    return result
