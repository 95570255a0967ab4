"""How near the best cross-validated k should `k="auto"` come? Standard errors that are given up.

    python experiments/auto_k.py DATA          the table of README.md

For each set the cross-validated errors of the training rows choose the smallest k within 0, 0.1,
0.25, 0.5 and 1 standard errors of the best; the accuracy is that on test rows (the official split,
or ten times 30 % of the rows, three times where there are many), k the median.
"""

import warnings

import numpy as np
from competitors import KIND, data
from datasets import arguments, into_readme
from sklearn.model_selection import train_test_split

from naively import SparseBernoulliNB, SparseL2Centers, SparseMultinomialNB
from naively.judging.error_path import counting_error

SHARES = (0, 0.1, 0.25, 0.5, 1)
EXPRESSION = {"l2 centers, std": lambda k: SparseL2Centers(k, scale="std")}
TEXT = {"Bernoulli": SparseBernoulliNB, "multinomial, presence": SparseMultinomialNB}
SETS = ["mpqa", "subj", "sst2", "imdb", "newsgroups20", "khan", "su", "golub", "singh", "chowdary"]


def parts_of(y, split):
    """Rows to train on and rows to test on, as indices, once or more."""
    if split is not None:
        return [(np.flatnonzero(split == "train"), np.flatnonzero(split == "test"))]
    return [
        train_test_split(np.arange(len(y)), test_size=0.3, stratify=y, random_state=seed)
        for seed in range(10)
    ]


def line_of(name, kind, make, X, y, split):
    ks, accuracy = {}, {}
    for train, test in parts_of(y, split):
        folds = make("auto").fit(X[train], y[train]).fold_errors_
        best = int(np.argmin(folds.mean))
        doubt = max(folds.standard_error[best], counting_error(float(folds.mean[best]), len(train)))
        for share in (*SHARES, "all"):
            near = folds.mean <= folds.mean[best] + (share if share != "all" else 0) * doubt + 1e-12
            k = "all" if share == "all" else int(folds.k[np.flatnonzero(near)[0]])
            ks.setdefault(share, []).append(X.shape[1] if k == "all" else k)
            reached = make(k).fit(X[train], y[train]).score(X[test], y[test])
            accuracy.setdefault(share, []).append(reached)
    cells = [f"{np.mean(accuracy[s]):.4f} ({np.median(ks[s]):.0f})" for s in accuracy]
    return f"| {name} | {kind} | " + " | ".join(cells) + " |"


def main():
    asked = arguments(__doc__).parse_args()
    warnings.simplefilter("ignore", UserWarning)  # of few features
    lines = [
        "| set | model | " + " | ".join(map(str, SHARES)) + " | all features |",
        "| --- | --- |" + " ---: |" * (len(SHARES) + 1),
    ]
    for name in asked.only or SETS:
        X, y, split = data(asked.data, name)
        few = KIND[name] in ("expression", "cells")
        for kind, make in (EXPRESSION if few else TEXT).items():
            rows = X.sign() if "presence" in kind else X
            lines.append(line_of(name, kind, make, rows, y, split))
            print(lines[-1], flush=True)
    if not asked.only:
        into_readme("auto k", lines)


if __name__ == "__main__":
    main()
