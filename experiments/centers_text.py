"""Accuracy of a linear SVM on words selected by l2 centers and others (CEN, figure 1).

    python experiments/centers_text.py DATA

Random 80/20 splits of word counts (tokens of one character too, as in the paper). For l2 centers
the features are divided by their variance, as the paper says, or by their standard deviation, or
not at all; the other methods see counts.
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
from datasets import arguments, rows
from sklearn.feature_extraction.text import CountVectorizer
from sklearn.model_selection import StratifiedShuffleSplit
from sklearn.svm import LinearSVC

from naively import SparseBernoulliNB, SparseL2Centers, SparseMultinomialNB

SETS = {
    "mpqa": ("mpqa/mpqa.jsonl.gz", (0.001, 0.005, 0.01, 0.05, 0.1)),
    "sst2": ("sst2/sst2_phrases.jsonl.gz", (0.0002, 0.0005, 0.001, 0.005, 0.01)),
}
METHODS = {
    "l2 centers / variance": sparse_model(lambda: SparseL2Centers(scale="variance")),
    "l2 centers / std": sparse_model(lambda: SparseL2Centers(scale="std")),
    "l2 centers": sparse_model(SparseL2Centers),
    "multinomial": lambda X, y, ks: {
        k: SparseMultinomialNB.from_statistics(SparseMultinomialNB().gather(X, y), k=k).support_
        for k in ks
    },
    "Bernoulli": sparse_model(SparseBernoulliNB),
    "Odds Ratio": by_score(odds_ratio),
    "l1-logistic": l1_logistic,
    "Lasso": lasso,
    "RFE-logistic": rfe_logistic,
}


def main():
    options = arguments(__doc__)
    options.add_argument("--splits", type=int, default=50)
    options.add_argument("--methods", nargs="*", choices=list(METHODS), default=list(METHODS))
    options = options.parse_args()
    for name in options.only or SETS:
        file, shares = SETS[name]
        records = rows(options.data, file)
        y = np.array([record["label"] for record in records])
        X = CountVectorizer(token_pattern=r"(?u)\b\w+\b").fit_transform(
            [record["text"] for record in records]
        )
        ks = {round(share * X.shape[1]): share for share in shares}
        reached = {method: np.zeros(len(ks)) for method in options.methods}
        seconds = {method: [] for method in options.methods}
        splits = StratifiedShuffleSplit(options.splits, test_size=0.2, random_state=0)
        for train, test in splits.split(X, y):
            A, A_test = X[train].astype(np.float64), X[test].astype(np.float64)
            for method in options.methods:
                masks, used = timed(METHODS[method], A, y[train], list(ks))
                seconds[method].append(used)
                for i, k in enumerate(ks):
                    svm = LinearSVC(random_state=0).fit(A[:, masks[k]], y[train])
                    score = svm.score(A_test[:, masks[k]], y[test])
                    reached[method][i] += score / options.splits
        title = f"{name}: {X.shape[0]} x {X.shape[1]}, accuracy, {options.splits} splits"
        columns = [f"{share:.2%} ({k})" for k, share in ks.items()]
        table(title, columns, [(m, reached[m], np.median(seconds[m])) for m in options.methods])


if __name__ == "__main__":
    main()
