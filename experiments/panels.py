"""Features that do not say the same, and a logistic regression on the chosen ones.

python experiments/panels.py DATA > table.md

Accuracy on the test rows with the k largest gains and with `redundancy="conditional"`, each with
the model's own rule and with `refit="logistic"`; words are present or absent. Then the same of
genes, in folds, and the time.
"""

import time
import warnings

import numpy as np
from datasets import arguments, counts_split
from sklearn.model_selection import RepeatedStratifiedKFold, cross_val_score

from naively import SparseBernoulliNB, SparseL2Centers, SparseMultinomialNB

SETS = ["mpqa", "sst2", "subj", "imdb", "newsgroups20"]
EXPRESSION = ["khan", "su", "golub", "sc_celseq2"]  # l2 centers of scaled genes
SMALL = [5, 10, 20, 50]
KS = [10, 20, 50, 100, 300, 1000]
MODELS = {"Bernoulli": SparseBernoulliNB, "multinomial": SparseMultinomialNB}


def accuracies(estimator, data, ks, **parameters):
    X, X_test, y, y_test = data
    return [estimator(k=k, **parameters).fit(X, y).score(X_test, y_test) for k in ks]


def row(*cells):
    print("|", " | ".join(cells), "|", flush=True)


def expression(folder, names):
    """Accuracy over three folds, five times, of real values; counts of cells as log(1 + x)."""
    row("set", "choice", "rule", *(f"{k:,}" for k in SMALL))
    row("---", "---", "---", *["---:"] * len(SMALL))
    folds = RepeatedStratifiedKFold(n_splits=3, n_repeats=5, random_state=0)
    for name in names:
        with np.load(folder / name / f"{name}.npz") as file:
            X, y = file["X"].astype(float), file["y"]
        X = np.log1p(X) if name == "sc_celseq2" else X
        for redundancy in (None, "conditional"):
            for refit in (None, "logistic"):
                model = SparseL2Centers(scale="std", redundancy=redundancy, refit=refit)
                found = [
                    cross_val_score(model.set_params(k=k), X, y, cv=folds).mean() for k in SMALL
                ]
                shown = (f"{each:.3f}" for each in found)
                row(name, redundancy or "gains", refit or "own", *shown)


def main():
    options = arguments(__doc__)
    options.add_argument("--refit", nargs="*", help="sets to refit on; by default all")
    asked = options.parse_args()
    warnings.simplefilter("ignore")
    row("set", "model", "choice", "rule", *(f"{k:,}" for k in KS))
    row("---", "---", "---", "---", *["---:"] * len(KS))
    times = []
    for name in [name for name in SETS if name in (asked.only or SETS)]:
        X, X_test, y, y_test, _ = counts_split(asked.data, name)
        data = ((X > 0).astype(np.int64), (X_test > 0).astype(np.int64), y, y_test)
        for model, estimator in MODELS.items():
            for redundancy in (None, "conditional"):
                for refit in (None, "logistic"):
                    if refit and asked.refit is not None and name not in asked.refit:
                        continue
                    found = accuracies(estimator, data, KS, redundancy=redundancy, refit=refit)
                    shown = (f"{each:.3f}" for each in found)
                    row(name, model, redundancy or "gains", refit or "own", *shown)
        for redundancy in (None, "conditional"):
            SparseBernoulliNB(k=9, redundancy=redundancy).fit(data[0], y)
            start = time.perf_counter()
            SparseBernoulliNB(k=1000, redundancy=redundancy).fit(data[0], y)
            times.append((name, redundancy or "gains", f"{time.perf_counter() - start:.2f}"))
    print()
    expression(asked.data, [name for name in EXPRESSION if name in (asked.only or EXPRESSION)])
    print()
    row("set", "choice", "seconds for 1,000 words, Bernoulli")
    row("---", "---", "---:")
    for each in times:
        row(*each)


if __name__ == "__main__":
    main()
