"""The hybrid's chosen penalty on few rows, on sets that had no part in its making.

The least penalty that `HybridNB` chooses, worth 3 + 150 / n rows, was picked on the pairs of
newsgroups of `hybrid_newsgroups`, so that what it mends there is seen with a kind eye. Here are
five other sets of texts, one region: ten random splits of 4,000 rows, n of them to train on, the
vocabulary theirs. Log loss in nats; "class shares" is what a guess costs that knows no word.
"""

import warnings
from collections import defaultdict

import numpy as np
from sklearn.dummy import DummyClassifier
from sklearn.exceptions import ConvergenceWarning
from sklearn.feature_extraction.text import CountVectorizer
from sklearn.metrics import log_loss
from sklearn.naive_bayes import MultinomialNB

from experiments.frame import Result, Table, report
from experiments.newsgroups import split
from naively import HybridNB

SETS = ("rt_polarity", "subj", "mpqa", "sms_spam", "imdb")
SIZES = (10, 20, 50, 100, 500)
ROWS, SPLITS = 4000, 10
CHOSEN, LETTER, GUESS = "hybrid", "hybrid, penalty 0", "class shares"
MODELS = {
    CHOSEN: HybridNB(),
    LETTER: HybridNB(penalty=0),
    "NB": MultinomialNB(),
    GUESS: DummyClassifier(strategy="prior"),
}


def judged(data, name, sizes, n_splits):
    """Method -> mean test error and log loss by training rows, (2, sizes)."""
    records = data.records(name)
    kept = np.random.default_rng(0).permutation(len(records))[:ROWS]
    labels = [records[i]["label"] for i in kept]
    y = np.unique(labels, return_inverse=True)[1]
    X = CountVectorizer().fit_transform([records[i]["text"] for i in kept])
    found = defaultdict(lambda: np.zeros((2, len(sizes))))
    for j, size in enumerate(sizes):
        for seed in range(n_splits):
            train, test = split(y, size, seed)
            seen = np.asarray(X[train].sum(axis=0)).ravel() > 0
            for method, model in MODELS.items():
                proba = model.fit(X[train][:, seen], y[train]).predict_proba(X[test][:, seen])
                loss = log_loss(y[test], np.clip(proba, 2.0**-52, 1))
                wrong = (proba.argmax(axis=1) != y[test]).mean()
                found[method][:, j] += np.array([wrong, loss]) / n_splits
    return found


def run(data, quick):
    result = Result()
    sizes, n_splits = ((10, 50), 3) if quick else (SIZES, SPLITS)
    tables = [Table(["set", "method", *map(str, sizes)]) for _ in range(2)]
    losses = defaultdict(list)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", ConvergenceWarning)  # SeparationWarning is one
        for name in SETS[:2] if quick else SETS:
            for method, (wrong, loss) in judged(data, name, sizes, n_splits).items():
                tables[0].rows.append([name, method, *loss.round(4)])
                tables[1].rows.append([name, method, *(100 * wrong).round(2)])
                losses[method].append(loss)
            report(f"  {name}")
    chosen, letter, guess = (np.array(losses[method]) for method in (CHOSEN, LETTER, GUESS))
    below = Table(["training rows", "sets", "below penalty 0", "below class shares"])
    for j, size in enumerate(sizes):
        counts = [int((chosen < other)[:, j].sum()) for other in (letter, guess)]
        below.rows.append([size, len(chosen), *counts])
    result.tables["Sets on which the chosen penalty has the lower log loss"] = below
    result.tables["Log loss (nats) by training rows"] = tables[0]
    result.tables["Test error (%) by training rows"] = tables[1]
    result.expect(
        "with ten rows the chosen penalty spares certainty", (chosen < letter)[:, 0].all()
    )
    return result
