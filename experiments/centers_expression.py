"""Balanced accuracy of a linear SVM on genes selected by l1 centers and others (CEN, figure 2).

    python experiments/centers_expression.py DATA

50 random 80/20 splits; columns are standardised by the training rows for all methods, "raw"
excepted. For each method: mean over the splits at each share of the features, and
processor seconds (median) of the selection at all five.
"""

import numpy as np
from centers_methods import (
    by_score,
    l1_logistic,
    lasso,
    odds_ratio,
    rfe_logistic,
    sparse_model,
    table,
    timed,
)
from datasets import arguments
from sklearn.metrics import balanced_accuracy_score
from sklearn.model_selection import StratifiedShuffleSplit
from sklearn.preprocessing import StandardScaler
from sklearn.svm import LinearSVC

from naively import SparseL1Centers

SETS = ("chowdary", "singh")
SHARES = (0.0005, 0.001, 0.005, 0.01, 0.02)
METHODS = {
    "l1 centers": sparse_model(SparseL1Centers),
    "l1-logistic": l1_logistic,
    "RFE-logistic": rfe_logistic,
    "Lasso": lasso,
    "Odds Ratio": by_score(odds_ratio),
}


def main():
    options = arguments(__doc__)
    options.add_argument("--splits", type=int, default=50)
    options = options.parse_args()
    for name in options.only or SETS:
        archive = np.load(options.data / name / f"{name}.npz")
        X, y = archive["X"].astype(np.float64), archive["y"]
        ks = {max(round(share * X.shape[1]), 1): share for share in SHARES}
        names = ["l1 centers, raw", *METHODS]
        reached = {method: np.zeros(len(ks)) for method in names}
        seconds = {method: [] for method in names}
        splits = StratifiedShuffleSplit(options.splits, test_size=0.2, random_state=0)
        for train, test in splits.split(X, y):
            scaler = StandardScaler().fit(X[train])
            Z, Z_test = scaler.transform(X[train]), scaler.transform(X[test])
            for method in names:
                raw = method not in METHODS
                select = METHODS["l1 centers" if raw else method]
                masks, used = timed(select, X[train] if raw else Z, y[train], list(ks))
                seconds[method].append(used)
                for i, k in enumerate(ks):
                    svm = LinearSVC(random_state=0).fit(Z[:, masks[k]], y[train])
                    found = svm.predict(Z_test[:, masks[k]])
                    reached[method][i] += balanced_accuracy_score(y[test], found) / options.splits
        title = f"{name}: {X.shape[0]} x {X.shape[1]}, balanced accuracy"
        shares = [f"{share:.2%} ({k})" for k, share in ks.items()]
        table(title, shares, [(m, reached[m], np.median(seconds[m])) for m in names])


if __name__ == "__main__":
    main()
