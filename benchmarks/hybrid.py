"""Time and memory of HybridNB().fit against MultinomialNB().fit on the same matrix.

Medians of ratios. Memory is in tables of class counts (features x classes x 8 bytes) and in dense
matrices (rows x features x 8 bytes).
"""

import warnings
from functools import partial

import numpy as np
from experiments.frame import Table
from sklearn.naive_bayes import MultinomialNB

from benchmarks.shapes import load
from benchmarks.turns import medians, peak
from naively import HybridNB, SeparationWarning

CASES = [
    ("C", 2, 1, np.int64), ("C", 2, 1, np.float64), ("C", 2, 1, np.int32), ("C", 2, 2, np.int64),
    ("C", 2, 4, np.int64), ("C", 20, 1, np.int64), ("B", 2, 1, np.int64), ("B", 2, 2, np.int64),
    ("A", 2, 1, np.int64), ("A", 2, 2, np.int64),
]  # fmt: skip


def run(asked):
    table = Table(
        [
            "data", "classes", "regions", "values", "ratio, clock", "ratio, processor",
            "peak, tables", "peak, dense",
        ]
    )  # fmt: skip
    for name, n_classes, n_regions, dtype in CASES:
        X, y = load(name, n_classes, dtype)
        jobs = {
            "theirs": partial(MultinomialNB().fit, X, y),
            "ours": partial(HybridNB(n_regions).fit, X, y),
        }
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", SeparationWarning)
            ratio = medians(jobs, asked.rounds, "theirs")["ours"][1]
            high = peak(jobs["ours"])
        sizes = [high / (X.shape[1] * n_classes * 8), high / (X.shape[0] * X.shape[1] * 8)]
        row = [name, n_classes, n_regions, np.dtype(dtype).name]
        table.rows.append([*row, *map(float, ratio), *sizes])
    return {"The hybrid": table}
