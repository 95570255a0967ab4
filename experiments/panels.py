"""Features that do not say the same, and a logistic regression on the chosen ones.

python experiments/panels.py DATA > table.md

Accuracy on the test rows with the k largest gains and with `redundancy="conditional"`, each with
the model's own rule and with `refit="logistic"`; words are present or absent. Then the time.
"""

import time
import warnings

import numpy as np
from datasets import arguments, counts_split

from naively import SparseBernoulliNB, SparseMultinomialNB

SETS = ["mpqa", "sst2", "subj", "imdb", "newsgroups20"]
KS = [10, 20, 50, 100, 300, 1000]
MODELS = {"Bernoulli": SparseBernoulliNB, "multinomial": SparseMultinomialNB}


def accuracies(estimator, data, ks, **parameters):
    X, X_test, y, y_test = data
    return [estimator(k=k, **parameters).fit(X, y).score(X_test, y_test) for k in ks]


def row(*cells):
    print("|", " | ".join(cells), "|", flush=True)


def main():
    options = arguments(__doc__)
    options.add_argument("--refit", nargs="*", help="sets to refit on; by default all")
    asked = options.parse_args()
    warnings.simplefilter("ignore")
    row("set", "model", "choice", "rule", *(f"{k:,}" for k in KS))
    row("---", "---", "---", "---", *["---:"] * len(KS))
    times = []
    for name in asked.only or SETS:
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
    row("set", "choice", "seconds for 1,000 words, Bernoulli")
    row("---", "---", "---:")
    for each in times:
        row(*each)


if __name__ == "__main__":
    main()
