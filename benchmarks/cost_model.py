"""The quantities of the cost model in docs/scaling.md, at two sizes.

Word 1-2-grams of messages, counted in parts of 100,000 rows as workers do it, merged in a tree as
`naively.work.dask` does, and solved as on the driver; processor time in one thread. Bytes are those
of the pickles that would travel. Single runs.
"""

import pickle
import time
from math import log

from experiments.frame import Table

from benchmarks import messages
from benchmarks.turns import MIB
from naively import SparseMultinomialNB
from naively.read.layout import Layout
from naively.read.parts import parts_of
from naively.text.features import TextFeatures
from naively.work.dask import SPLIT_EVERY
from naively.work.records import merge
from naively.work.stream import run_task, tasks_of

PART = 100_000
SIZES = (400_000, 1_600_000)


def run(asked):
    small, large = map(quantities, SIZES)
    table = Table(["assumption", *(f"{size:,} rows" for size in SIZES)])
    table.rows = [[name, small[name], large[name]] for name in small]
    return {"The cost model": table}


def quantities(n_rows):
    features, layout = TextFeatures(ngram_range=(1, 2)), Layout(text=("text",))
    parts = parts_of(f"{messages.files(n_rows, 2)}/*.parquet", layout)
    run_task(tasks_of(parts[:1], features, layout)[0], dense_cells=0)  # compiles
    tasks, clock = tasks_of(parts, features, layout, n_jobs=n_rows // PART), Clock()
    level = [run_task(task, dense_cells=0) for task in tasks]
    clock.lap("count")
    bytes_of_part, cells_of_part = carried(level) / len(level), cells(level) / len(level)
    merged, moved = 0, 0
    while len(level) > 1:
        merged += cells(level)
        clock.lap("rest")
        level = [
            merge(level[start : start + SPLIT_EVERY], dense_cells=0)
            for start in range(0, len(level), SPLIT_EVERY)
        ]
        clock.lap("merge")
        moved += carried(level)
    [record] = level
    clock.lap("rest")
    SparseMultinomialNB.from_statistics(record.statistics, k=100_000)
    clock.lap("solve")
    total = cells(level)
    return {
        "counting a row, whatever n (microseconds, CPU)": 1e6 * clock["count"] / n_rows,
        "sums of a part, whatever n": round(cells_of_part),
        "bytes that a sum travels as, with its share of the terms": bytes_of_part / cells_of_part,
        "merging, a sum read (ns)": 1e9 * clock["merge"] / merged,
        "moved above the parts (MiB)": round(moved / MIB),
        "sums of all": total,
        "their growth: power of the rows, from a part to all": log(
            total / cells_of_part, n_rows / PART
        ),
        "table of the driver, sparse (MiB)": round(record.statistics.table.nbytes / MIB),
        "selecting 100,000 (CPU s)": clock["solve"],
    }


def cells(records):
    return sum(len(record.statistics.table.cells) for record in records)


def carried(records):
    return sum(len(pickle.dumps(record, 5)) for record in records)


class Clock(dict):
    """CPU seconds since the last lap, by name."""

    def __init__(self):
        self.last = time.process_time()

    def lap(self, name):
        now = time.process_time()
        self[name] = self.get(name, 0.0) + now - self.last
        self.last = now
