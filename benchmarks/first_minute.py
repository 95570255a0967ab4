"""Processor time until the first result: the command and a fit, without and with compiled code.

    python benchmarks/first_minute.py OLD/src NEW/src --rounds 5 --data FILE

Two trees of sources take turns, each run a process of its own, user and system time with the start
of Python. "Cold": NUMBA_CACHE_DIR is an empty folder (the bytecode of Python is kept, as in any
installation); "warm": the same again. Medians of the rounds, and of the ratios of pairs. FILE
has a column of text and one of labels; by default 3,800 messages that are made up.
"""

import argparse
import csv
import os
import resource
import shutil
import statistics
import subprocess
import sys
import tempfile
from pathlib import Path

SELECT = ["-m", "naively", "select"]
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


def spent():
    used = resource.getrusage(resource.RUSAGE_CHILDREN)
    return used.ru_utime + used.ru_stime


def seconds(arguments, source, folder):
    environment = {name: os.environ[name] for name in os.environ if not name.startswith("PYTHON")}
    environment |= {
        "PYTHONPATH": str(Path(source).resolve()),
        "PYTHONPYCACHEPREFIX": str(folder / "bytecode"),
        "NUMBA_CACHE_DIR": str(folder / "kernels"),
    }
    before = spent()
    subprocess.run(
        [sys.executable, *arguments], env=environment, cwd=folder, check=True, capture_output=True
    )
    return spent() - before


def messages(path):
    from messages import table

    made = table(3_800, 2, 0)
    with path.open("w", newline="") as file:
        rows = zip(made["text"].to_pylist(), made["label"].to_pylist(), strict=True)
        csv.writer(file).writerows([("text", "label"), *rows])
    return path


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("sources", nargs=2, help="the folders `src` of two trees")
    parser.add_argument("--rounds", type=int, default=5)
    parser.add_argument("--data", type=Path)
    options = parser.parse_args()
    with tempfile.TemporaryDirectory() as scratch:
        data = options.data.resolve() if options.data else messages(Path(scratch) / "texts.csv")
        jobs = {
            "naively select": [*SELECT, str(data), "--out", "result", "--quiet"],
            "SparseMultinomialNB().fit": ["-c", FIT],
        }
        folders = [Path(scratch) / str(tree) for tree in (0, 1)]
        times = {(job, state): [] for job in jobs for state in ("cold", "warm")}
        for turn in range(options.rounds + 1):  # the first makes the bytecode, and is not counted
            for job, arguments in jobs.items():
                for state in ("cold", "warm"):
                    pair = []
                    for source, folder in zip(options.sources, folders, strict=True):
                        folder.mkdir(exist_ok=True)
                        if state == "cold":
                            shutil.rmtree(folder / "kernels", ignore_errors=True)
                        pair.append(seconds(arguments, source, folder))
                    if turn:
                        times[job, state].append(pair)
    print("| job | cache | before, CPU s | after, CPU s | after / before |")
    print("| --- | --- | ---: | ---: | ---: |")
    for (job, state), pairs in times.items():
        before, after = (statistics.median(each) for each in zip(*pairs, strict=True))
        ratio = statistics.median(new / old for old, new in pairs)
        print(f"| `{job}` | {state} | {before:.1f} | {after:.1f} | {ratio:.2f} |")


if __name__ == "__main__":
    main()
