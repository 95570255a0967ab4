"""Features that do not say the same (`redundancy="conditional"`), and a logistic refit on them.

Accuracy on the test rows of words present or absent (mpqa, subj: 20 %), smoothing 1; of genes (l2
centers, `scale="std"`; cells as log(1 + x)) mean accuracy over three folds, five times. "logistic"
is `refit="logistic"`, of words on mpqa, subj and imdb alone: a refit is many fits. The multinomial
model with few words of two classes is worse for the conditional choice: its rule cannot use the
absence of a word, and its own choice, which balances what the classes gain together, is not
redundant in the same way; with the refit that is gone. Cells are kept in results/panels.csv.
"""

import warnings

import numpy as np
from sklearn.model_selection import RepeatedStratifiedKFold, cross_val_score

from experiments.cells import Cells
from experiments.frame import Result, Table
from naively import SparseBernoulliNB, SparseL2Centers, SparseMultinomialNB

TEXTS = ("mpqa", "sst2", "subj", "imdb", "newsgroups20")
REFITTED = ("mpqa", "subj", "imdb")
GENES = ("khan", "su", "golub", "sc_celseq2")
KS, FEW = (10, 20, 50, 100, 300, 1000), (5, 10, 20, 50)
MODELS = {"Bernoulli": SparseBernoulliNB, "multinomial": SparseMultinomialNB}
CENTERS = "l2 by deviation"
WAYS = [(choice, rule) for choice in ("gains", "conditional") for rule in ("own", "logistic")]


def asked(choice, rule):
    refit = None if rule == "own" else rule
    return {"redundancy": None if choice == "gains" else choice, "refit": refit}


def words(data, name, cells, ks, refitted):
    """Fill in the cells of a set of texts that are missing."""
    rows = None
    for model, estimator in MODELS.items():
        for choice, rule in WAYS:
            left = [k for k in ks if (name, model, choice, rule, k) not in cells]
            if not left or (rule == "logistic" and name not in refitted):
                continue
            if rows is None:
                X, X_test, y, y_test, _ = data.counts(name)
                rows = [(each > 0).astype(np.int64) for each in (X, X_test)]
            for k in left:
                fitted = estimator(k=k, **asked(choice, rule)).fit(rows[0], y)
                score = float(fitted.score(rows[1], y_test))
                cells.add((name, model, choice, rule, k), [score])


def genes(data, name, cells, repeats):
    folds = RepeatedStratifiedKFold(n_splits=3, n_repeats=repeats, random_state=0)
    X, y, _ = data.genes(name)
    X = np.log1p(X) if name == "sc_celseq2" else X
    for choice, rule in WAYS:
        for k in FEW:
            model = SparseL2Centers(k, scale="std", **asked(choice, rule))
            cells.computed(
                (name, CENTERS, choice, rule, k),
                lambda model=model: [float(cross_val_score(model, X, y, cv=folds).mean())],
            )


def table_of(cells, names, models, ks):
    table = Table(["set", "model", "choice", "rule", *(f"k = {k:,}" for k in ks)])
    for name in names:
        for model in models:
            for way in WAYS:
                if (name, model, *way, ks[0]) in cells:
                    found = (cells[name, model, *way, k]["accuracy"] for k in ks)
                    table.rows.append([name, model, *way, *found])
    return table


def points(table, what, one, other):
    """Mean points of accuracy by which the rows of one way are ahead of those of another."""
    at = {"choice": 2, "rule": 3}[what]
    rows = {tuple(row[:4]): row[4:] for row in table.rows}
    gains = []
    for key, values in rows.items():
        rival = (*key[:at], other, *key[at + 1 :])
        if key[at] == one and rival in rows:
            gains.append([*key[:2], *(100 * (np.array(values) - rows[rival])).tolist()])
    ks = table.columns[4:]
    groups = sorted({(row[0], row[1]) for row in gains})
    means = [
        [*group, *np.mean([row[2:] for row in gains if (row[0], row[1]) == group], axis=0)]
        for group in groups
    ]
    return Table(["set", "model", *ks], means)


def run(data, quick):
    warnings.simplefilter("ignore", UserWarning)
    result = Result()
    keys = ["set", "model", "choice", "rule", "k"]
    cells = Cells("panels", keys, ["accuracy"], quick)
    texts, some = (("newsgroups20",), ("khan",)) if quick else (TEXTS, GENES)
    ks = (10, 50) if quick else KS
    for name in texts:
        words(data, name, cells, ks, () if quick else REFITTED)
    for name in some:
        genes(data, name, cells, 1 if quick else 5)
    tables = {
        "Words": table_of(cells, texts, MODELS, ks),
        "Genes": table_of(cells, some, [CENTERS], FEW),
    }
    result.tables |= tables
    for title, table in tables.items():
        ahead = points(table, "choice", "conditional", "gains")
        result.tables[f"{title}: points by which the conditional choice is ahead"] = ahead
    if not quick:
        refits = points(tables["Words"], "rule", "logistic", "own")
        result.tables["Words: points by which the refit is ahead of the own rule"] = refits
    cells.tell(tables["Words"])
    cells.tell(tables["Genes"])
    table = tables["Words"]
    result.expect("more words tell more", all(row[-1] > row[4] - 0.02 for row in table.rows))
    ahead = result.tables["Words: points by which the conditional choice is ahead"]
    bernoulli = [row[2:] for row in ahead.rows if row[1] == "Bernoulli"]
    result.expect("the conditional choice is no worse for presence", np.mean(bernoulli) > -1)
    return result
