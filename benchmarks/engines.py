"""What an engine adds: `naively select --on dask:2` against `--on 2` on 400,000 messages.

User and system seconds of processes of their own and their workers; medians, and of the ratios of
pairs.
"""

import sys
import tempfile
from statistics import median

from experiments.frame import Table

from benchmarks import messages
from benchmarks.turns import SOURCE, process


def run(asked):
    ways = ("2", "dask:2")
    with tempfile.TemporaryDirectory() as out:
        select = [
            sys.executable,
            "-m",
            "naively",
            "select",
            f"{messages.files(400_000, 2)}/*.parquet",
        ]
        select += ["-k", "1000", "--quick", "--quiet", "--force", "--out", f"{out}/result", "--on"]
        for way in ways:
            process([*select, way], SOURCE)  # compiles
        turns = [[process([*select, way], SOURCE)[0] for way in ways] for _ in range(asked.rounds)]
    plain, dask = zip(*turns, strict=True)
    table = Table(["threads, CPU s", "Dask, CPU s", "ratio"])
    table.rows.append([median(plain), median(dask), median(b / a for a, b in turns)])
    return {"Dask": table}
