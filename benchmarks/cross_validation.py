"""Every k cross-validated, and paths, against a single fit and predict of scikit-learn.

IMDB's training half, words and pairs of words (25,000 rows, 1,513,804 columns, 8.8 million
entries), and 8,000 sentences of films with words and pairs: 100 values of k from 10 to all on a log
scale, 5 stratified folds, default smoothing, refit included, against `MultinomialNB().fit(X,
y).predict(X)` on the same matrix. Paths of 100 k on shape C against a fit. Medians of ratios of a
round.
"""

import gzip
import json
from functools import partial

import numpy as np
from experiments.frame import Table
from sklearn.feature_extraction.text import CountVectorizer
from sklearn.naive_bayes import MultinomialNB

from benchmarks.shapes import load
from benchmarks.turns import medians
from naively import SparseBernoulliNB, SparseMultinomialNB, SparsityCV, sparsity_path

MODELS = (SparseMultinomialNB(), SparseBernoulliNB())


def run(asked):
    times = Table(
        ["data", "job", "CPU s", "times, clock", "times, processor", "best k", "its score",
         "one standard error", "test half"]
    )  # fmt: skip
    times.rows += _searches("short reviews", *sentences(asked.data), asked.rounds, None)
    X, y, X_test, y_test = reviews(asked.data)
    times.rows += _searches("IMDB", X, y, asked.rounds, (X_test, y_test))
    return {
        "Cross-validation": times,
        "Paths of 100 on C": _paths(asked.rounds),
    }


def reviews(folder):
    """Counts and labels of the training and of the test half."""
    rows = _read(folder / "imdb" / "imdb.jsonl.gz")
    halves = [[row for row in rows if row["split"] == half] for half in ("train", "test")]
    texts = [[row["text"] for row in half] for half in halves]
    labels = [np.array([row["label"] for row in half]) for half in halves]
    vectorizer = CountVectorizer(ngram_range=(1, 2))
    return vectorizer.fit_transform(texts[0]), labels[0], vectorizer.transform(texts[1]), labels[1]


def sentences(folder):
    """Counts and labels of 8,000 sentences."""
    rows = _read(folder / "rt_polarity" / "rt_polarity.jsonl.gz")
    kept = np.random.default_rng(0).permutation(len(rows))[:8000]
    X = CountVectorizer(ngram_range=(1, 2)).fit_transform([rows[i]["text"] for i in kept])
    return X, np.array([rows[i]["label"] for i in kept])


def grid_of(X):
    return np.unique(np.rint(np.geomspace(10, X.shape[1], 100)).astype(int))


def _read(path):
    with gzip.open(path, "rt", encoding="utf8") as file:
        return [json.loads(line) for line in file]


def _searches(data, X, y, rounds, test):
    ks = grid_of(X)
    searches = [SparsityCV(model, ks) for model in MODELS]
    base = "MultinomialNB, fit and predict"
    jobs = {base: lambda: MultinomialNB().fit(X, y).predict(X)}
    jobs |= {
        f"SparsityCV({type(each.estimator).__name__}())": partial(each.fit, X, y)
        for each in searches
    }
    rows = []
    found = medians(jobs, rounds, base)
    for job, search in zip(jobs, [None, *searches], strict=True):
        taken, ratio = found[job]
        row = [data, job, float(taken[1]), *map(float, ratio)]
        row += [search.best_k_, search.best_score_, search.simplest_k_] if search else [None] * 3
        rows.append([*row, search.score(*test) if search and test else None])
    return rows


def _paths(rounds):
    X, y = load("C")
    table = Table(["model", "path / fit, clock", "processor"])
    for model in MODELS:
        jobs = {
            "fit": partial(model.set_params(k=1030).fit, X, y),
            "path": partial(sparsity_path, model, X, y),
        }
        ratio = medians(jobs, rounds, "fit")["path"][1]
        table.rows.append([type(model).__name__, *map(float, ratio)])
    return table
