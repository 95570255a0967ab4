"""The nine words of IMDB (NFS-long, experiment 4, table 4): words, weights, accuracy.

python experiments/imdb_words.py DATA > table.md
"""

import numpy as np
from datasets import arguments, counts_split
from sklearn.model_selection import GridSearchCV
from sklearn.naive_bayes import MultinomialNB

from naively import SparseBernoulliNB, SparseMultinomialNB

PAPER = {
    "love": 0.69,
    "best": 0.72,
    "waste": -2.63,
    "excellent": 1.46,
    "bad": -1.36,
    "great": 0.88,
    "wonderful": 1.56,
    "worst": -2.29,
    "awful": -2.23,
}
ALPHAS = [1e-10, 1e-3, 1e-2, 0.1, 0.3, 1, 3, 10, 30, 100, 300, 1000]


def cross_validated(X, y):
    """The smoothing of dense MultinomialNB, as the paper chooses it."""
    search = GridSearchCV(MultinomialNB(), {"alpha": ALPHAS}, cv=5).fit(X, y)
    return search.best_params_["alpha"]


def main():
    folder = arguments(__doc__).parse_args().data
    print(
        "| stop words | model | smoothing | words and weights | of the nine | accuracy | stage 2 |"
    )
    print("| --- | --- | ---: | --- | ---: | ---: | ---: |")
    for stop_words in ("english", None):
        X, X_test, y, y_test, names = counts_split(folder, "imdb", stop_words=stop_words)
        for alpha, model in [
            (0, SparseMultinomialNB),
            (1, SparseMultinomialNB),
            (cross_validated(X, y), SparseMultinomialNB),
            (1, SparseBernoulliNB),
        ]:
            fitted = model(k=9, alpha=alpha).fit(X, y)
            kept = fitted.get_support(indices=True)
            weights = fitted.coef_[0][kept]
            order = np.argsort(weights)
            words = ", ".join(f"{names[kept[i]]} {weights[i]:+.2f}" for i in order)
            stage2 = MultinomialNB(alpha=max(alpha, 1e-10)).fit(X[:, kept], y)
            print(
                f"| {stop_words} | {model.__name__} | {alpha:g} | {words} "
                f"| {len(set(names[kept]) & set(PAPER))} | {fitted.score(X_test, y_test):.4f} "
                f"| {stage2.score(X_test[:, kept], y_test):.4f} |",
                flush=True,
            )


if __name__ == "__main__":
    main()
