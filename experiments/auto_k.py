"""How near the best cross-validated k `k="auto"` should come: standard errors that are given up.

The cross-validated errors of the training rows choose the smallest k within 0, 0.1, 0.25, 0.5 and
1 standard errors of the best; in the table the accuracy on test rows (the official split, or ten
times 30 % of the rows) and, in brackets, the median k. `k="auto"` takes a quarter, and never
counts less than one row as a difference; `k="simplest"` takes one. These are test rows: the share
was chosen on these sets, and is no estimate of what it does on others. Cells are kept in
results/auto_k.csv.
"""

import warnings

import numpy as np
from sklearn.model_selection import train_test_split

from experiments.cells import Cells
from experiments.competitors import KIND, rows_of
from experiments.frame import Result, Table
from naively import SparseBernoulliNB, SparseL2Centers, SparseMultinomialNB
from naively.judging.error_path import counting_error

SHARES = (0, 0.1, 0.25, 0.5, 1)
EXPRESSION = {"l2 centers, std": lambda k: SparseL2Centers(k, scale="std")}
TEXT = {"Bernoulli": SparseBernoulliNB, "multinomial, presence": SparseMultinomialNB}
SETS = ["mpqa", "subj", "sst2", "imdb", "newsgroups20", "khan", "su", "golub", "singh", "chowdary"]


def parts_of(y, split, times):
    """Rows to train on and rows to test on, as indices, once or more."""
    if split is not None:
        return [(np.flatnonzero(split == "train"), np.flatnonzero(split == "test"))]
    return [
        train_test_split(np.arange(len(y)), test_size=0.3, stratify=y, random_state=seed)
        for seed in range(times)
    ]


def chosen(folds, n_rows, share):
    best = int(np.argmin(folds.mean))
    doubt = max(folds.standard_error[best], counting_error(float(folds.mean[best]), n_rows))
    near = folds.mean <= folds.mean[best] + share * doubt + 1e-12
    return int(folds.k[np.flatnonzero(near)[0]])


def judge(make, X, y, split, times):
    """Mean accuracy and median k by share, and with all features."""
    found = {}
    for train, test in parts_of(y, split, times):
        folds = make("auto").fit(X[train], y[train]).fold_errors_
        ks = {share: chosen(folds, len(train), share) for share in SHARES}
        for share, k in (ks | {"all features": X.shape[1]}).items():
            reached = make(k).fit(X[train], y[train]).score(X[test], y[test])
            found.setdefault(share, []).append((reached, k))
    return {
        share: (np.mean(each, axis=0)[0], np.median(each, axis=0)[1])
        for share, each in found.items()
    }


def run(data, quick):
    warnings.simplefilter("ignore", UserWarning)  # of few features
    result = Result()
    cells = Cells("auto_k", ["set", "model", "standard errors"], ["accuracy", "k"], quick)
    table = Table(["set", "model", *map(str, SHARES), "all features"])
    lines = {}
    for name in ("golub",) if quick else SETS:
        few = KIND[name] in ("genes, two classes", "genes, more classes", "cells")
        for kind, make in (EXPRESSION if few else TEXT).items():
            if (name, kind, 0) not in cells:
                X, y, split = rows_of(data, name)
                rows = X.sign() if "presence" in kind else X
                for share, each in judge(make, rows, y, split, 1 if quick else 10).items():
                    cells.add((name, kind, share), [float(each[0]), round(each[1])])
            line = [cells[name, kind, share] for share in (*SHARES, "all features")]
            lines[name, kind] = np.array([each["accuracy"] for each in line])
            sizes = [each["k"] for each in line]
            result.expect("more doubt, fewer features", sorted(sizes[:-1])[::-1] == sizes[:-1])
            shown = (f"{each['accuracy']:.4f} ({each['k']:,})" for each in line)
            table.rows.append([name, kind, *shown])
    cells.tell(table)
    result.tables["Accuracy, and median k"] = table
    behind = 100 * np.array(
        [each[: len(SHARES)].max() - each[: len(SHARES)] for each in lines.values()]
    )
    result.tables["Points behind the best of the shares"] = Table(
        ["standard errors", "mean", "largest"],
        [[str(s), behind[:, i].mean(), behind[:, i].max()] for i, s in enumerate(SHARES)],
    )
    return result
