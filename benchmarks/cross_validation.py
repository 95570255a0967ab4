"""Cross-validation of 100 values of k in 5 folds, against scikit-learn's on the same reviews.

    python benchmarks/cross_validation.py DATA --rounds 5

DATA holds `imdb/imdb.jsonl.gz`: one review a line with `split`, `label` and `text`. Words and pairs
of words are counted. The grid search runs on every tenth k, and its time is multiplied by ten.
"""

from __future__ import annotations

import argparse
import gzip
import json
import time
from pathlib import Path

import numpy as np
from sklearn.feature_extraction.text import CountVectorizer
from sklearn.feature_selection import SelectKBest, chi2
from sklearn.model_selection import GridSearchCV
from sklearn.naive_bayes import MultinomialNB
from sklearn.pipeline import make_pipeline

from naively import SparseBernoulliNB, SparseMultinomialNB, SparsityCV


def reviews(folder):
    """Counts and labels of the training and of the test half."""
    with gzip.open(Path(folder) / "imdb" / "imdb.jsonl.gz", "rt", encoding="utf8") as file:
        rows = [json.loads(line) for line in file]
    halves = [[row for row in rows if row["split"] == half] for half in ("train", "test")]
    texts = [[row["text"] for row in half] for half in halves]
    labels = [np.array([row["label"] for row in half]) for half in halves]
    vectorizer = CountVectorizer(ngram_range=(1, 2))
    return vectorizer.fit_transform(texts[0]), labels[0], vectorizer.transform(texts[1]), labels[1]


def timed(job):
    start = time.perf_counter()
    result = job()
    return time.perf_counter() - start, result


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("data")
    parser.add_argument("--rounds", type=int, default=5)
    parser.add_argument("--tenth", action="store_true", help="the grid search too (minutes)")
    arguments = parser.parse_args()
    X, y, X_test, y_test = reviews(arguments.data)
    ks = np.unique(np.rint(np.geomspace(10, X.shape[1], 100)).astype(int))
    print(f"{X.shape[0]:,} rows x {X.shape[1]:,} columns, {X.nnz:,} entries, {len(ks)} values of k")

    jobs = {
        "MultinomialNB: fit, predict": lambda: MultinomialNB().fit(X, y).predict(X),
        "SparsityCV, multinomial": lambda: SparsityCV(SparseMultinomialNB(), ks).fit(X, y),
        "SparsityCV, Bernoulli": lambda: SparsityCV(SparseBernoulliNB(), ks).fit(X, y),
    }
    found = {name: job() for name, job in jobs.items()}  # compiles, and fills caches
    seconds = {name: [] for name in jobs}
    for _ in range(arguments.rounds):
        for name, job in jobs.items():
            seconds[name].append(timed(job)[0])
    base = np.median(seconds["MultinomialNB: fit, predict"])
    for name, times in seconds.items():
        print(f"{name}: {np.median(times):.2f} s, {np.median(times) / base:.1f} times", flush=True)
    for name, search in list(found.items())[1:]:
        few = search.simplest_k_
        print(
            f"{name}: best k {search.best_k_} ({search.best_score_:.4f}), one standard error {few};"
            f" test half {search.score(X_test, y_test):.4f}",
            flush=True,
        )
    if arguments.tenth:
        pipeline = make_pipeline(SelectKBest(chi2), MultinomialNB())
        grid = GridSearchCV(pipeline, {"selectkbest__k": ks[5::10]}, cv=5)
        tenth, _ = timed(lambda: grid.set_params(refit=False).fit(X, y))
        ours = np.median(seconds["SparsityCV, multinomial"])
        chosen = pipeline.set_params(**grid.best_params_).fit(X, y)
        print(
            f"GridSearchCV, {len(ks[5::10])} values of k: {tenth:.0f} s; the whole grid would be "
            f"{tenth * len(ks) / len(ks[5::10]) / ours:.0f} times SparsityCV; "
            f"{grid.best_params_}, test half {chosen.score(X_test, y_test):.4f}"
        )


if __name__ == "__main__":
    main()
