"""What the ways of choosing cost: processor time of a fit with each, as a ratio to the plain fit.

C20 is shape C with twenty classes. Medians of the ratios of neighbours in one process. `redundancy`
chooses 1,000 of 4,000 candidates, and is told in seconds.
"""

from functools import partial

import numpy as np
from experiments.frame import Table

from benchmarks.shapes import load
from benchmarks.turns import in_turn
from naively import SparseBernoulliNB, SparseMultinomialNB

MODELS = {"multinomial": SparseMultinomialNB, "Bernoulli": SparseBernoulliNB}
SHAPES = {"C": ("C", 2), "C20": ("C", 20), "B": ("B", 2)}


def run(asked):
    table = Table(["model", "way", *SHAPES])
    cells = {}
    for name, (shape, n_classes) in SHAPES.items():
        X, y = load(shape, n_classes)
        k = max(X.shape[1] // 1000, 100)
        for kind, estimator in MODELS.items():
            for way, options in ways_of(X.shape[1], n_classes, k).items():
                jobs = {
                    "plain": partial(estimator(k=k).fit, X, y),
                    "way": partial(estimator(**{"k": k, **options}).fit, X, y),
                }
                taken = in_turn(jobs, asked.rounds)
                ratio = taken["way"] / (1 if "seconds" in way else taken["plain"])
                cells[kind, way, name] = float(np.median(ratio[:, 1]))
    table.rows = [
        [kind, way, *(cells[kind, way, name] for name in SHAPES)]
        for kind, way in dict.fromkeys(each[:2] for each in cells)
    ]
    return {"Ways of choosing": table}


def ways_of(n_features, n_classes, k):
    """Parameters of each way."""
    rng = np.random.default_rng(0)
    m = n_features
    costs = rng.integers(1, 10, m).astype(float)
    settled = rng.choice(m, m // 100 + k // 10, replace=False)
    return {
        "required + excluded": {"required": settled[: k // 10], "excluded": settled[k // 10 :]},
        "groups": {"groups": np.arange(m) // 3},
        "quota": {"quota": k // (2 * n_classes)},
        "quota, even": {"quota": "even"},
        "budget": {"costs": costs, "budget": 2.0 * k},
        "class weights": {"class_weight": {0: 1.7}},
        "pairs": {"objective": "pairs"},
        "pairs, required + excluded": {
            "objective": "pairs", "required": settled[: k // 10], "excluded": settled[k // 10 :]
        },
        "redundancy, seconds": {"k": 1000, "redundancy": "conditional"},
    }  # fmt: skip
