"""Cost of one hundred halves, in fits.

`selection_stability` with its defaults against a fit of the same model, two classes; medians of
ratios by the clock.
"""

from functools import partial

from experiments.frame import Table

from benchmarks.shapes import load
from benchmarks.turns import medians
from naively import SparseBernoulliNB, SparseMultinomialNB, selection_stability


def run(asked):
    table = Table(["shape", "model", "k", "fit, s", "100 halves / fit"])
    for name, ks in {"A": (100, 1200), "C": (10, 100, 1030)}.items():
        X, y = load(name)
        for k in ks:
            for model in (SparseMultinomialNB(k=k), SparseBernoulliNB(k=k)):
                jobs = {
                    "fit": partial(model.fit, X, y),
                    "halves": partial(selection_stability, model, X, y),
                }
                found = medians(jobs, asked.rounds, "fit")
                fit, ratio = found["fit"][0][0], found["halves"][1][0]
                table.rows.append([name, type(model).__name__, k, float(fit), float(ratio)])
    return {"One hundred halves": table}
