"""Processor time until the first result: the command and a fit, without and with compiled code.

Each run is a process of its own, user and system time with the start of Python, on 3,800 made-up
messages or a matrix of 3,800 rows and 16,000 columns. Cold: no kernel has been compiled; warm: all
have. Medians, and the median of the ratios of pairs if `--before` names the sources of an earlier
tree.
"""

import csv
import shutil
import sys
import tempfile
from pathlib import Path
from statistics import median

from experiments.frame import Table

from benchmarks.messages import table as messages
from benchmarks.turns import SOURCE, process

FIT = """
import numpy as np, scipy.sparse as sp
rng = np.random.default_rng(0)
columns = rng.zipf(1.3, 45_000) % 16_000
rows = rng.integers(0, 3_800, len(columns))
X = sp.csr_array((np.ones(len(columns), np.int64), (rows, columns)), (3_800, 16_000))
y = rng.integers(0, 2, 3_800)
from naively import SparseMultinomialNB
SparseMultinomialNB().fit(X, y)
"""


def run(asked):
    table = Table(["job", "cache", "before, CPU s", "CPU s", "ratio"])
    trees = {"now": SOURCE, **({"before": asked.before} if asked.before else {})}
    with tempfile.TemporaryDirectory() as scratch:
        out = Path(scratch) / "result"
        select = ["-m", "naively", "select", str(_texts(Path(scratch))), "--out", str(out)]
        jobs = {"`naively select`": [*select, "--quiet", "--force"], "`fit`": ["-c", FIT]}
        taken = {(*job, tree): [] for job in _states(jobs) for tree in trees}
        for turn in range(asked.rounds + 1):  # the first makes the bytecode, and is not counted
            for job, cache in _states(jobs):
                for tree, source in trees.items():
                    kept = Path(scratch) / tree
                    if cache == "cold":
                        shutil.rmtree(kept / "kernels", ignore_errors=True)
                    seconds, _ = process([sys.executable, *jobs[job]], source, kept)
                    taken[job, cache, tree] += [seconds] if turn else []
    for job, cache in _states(jobs):
        now, before = (taken.get((job, cache, tree)) for tree in ("now", "before"))
        row = [before and median(before), median(now)]
        row.append(before and median(new / old for new, old in zip(now, before, strict=True)))
        table.rows.append([job, cache, *row])
    return {"The first minute": table}


def _states(jobs):
    return [(job, cache) for job in jobs for cache in ("cold", "warm")]


def _texts(folder):
    made = messages(3_800, 2, 0)
    path = folder / "texts.csv"
    with path.open("w", newline="") as file:
        rows = zip(made["text"].to_pylist(), made["label"].to_pylist(), strict=True)
        csv.writer(file).writerows([("text", "label"), *rows])
    return path
