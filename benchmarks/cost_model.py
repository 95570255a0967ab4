"""The quantities of the cost model in docs/scaling.md, at one size; run it at two or more.

    python benchmarks/cost_model.py --rows 400000
    python benchmarks/cost_model.py --rows 1600000

Word 1-2-grams of messages, counted in parts as workers do it, merged in a tree as
`naively.work.dask` does, and solved as on the driver. Bytes are those of the pickles that would
travel.
"""

from __future__ import annotations

import argparse
import pickle
import resource
import time

import messages

from naively import SparseMultinomialNB
from naively.read.layout import Layout
from naively.read.parts import parts_of
from naively.text.features import TextFeatures
from naively.work.records import merge
from naively.work.stream import run_task, tasks_of

MIB = 1 << 20
SPLIT_EVERY = 8


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--rows", type=int, default=400_000)
    parser.add_argument("--part", type=int, default=100_000, help="rows of a partition")
    parser.add_argument("--classes", type=int, default=2)
    options = parser.parse_args()
    features = TextFeatures(ngram_range=(1, 2))
    n_parts = options.rows // options.part
    layout = Layout(text=("text",))
    parts = parts_of(f"{messages.files(options.rows, options.classes)}/*.parquet", layout)
    run_task(tasks_of(parts[:1], features, layout)[0], dense_cells=0)  # compiles

    tasks, clock = tasks_of(parts, features, layout, n_jobs=n_parts), Clock()
    level = [run_task(task, dense_cells=0) for task in tasks]
    clock.lap("count")
    moved, n_cells = carried(level), cells(level)
    print(f"{options.rows:,} rows in {len(level)} parts of {options.part:,}")
    print(f"  count: {1e6 * clock['count'] / options.rows:.2f} us a row")
    print(f"  cells of a part: {n_cells / len(level):,.0f}")
    print(f"  moved by a part: {moved / len(level) / MIB:.1f} MiB, {moved / n_cells:.2f} B a cell")
    print(f"  worker: peak {peak()} MiB with all parts in memory")

    merged_cells, moved_up = 0, 0
    while len(level) > 1:
        merged_cells += cells(level)
        clock.lap("rest")
        level = [
            merge(level[start : start + SPLIT_EVERY], dense_cells=0)
            for start in range(0, len(level), SPLIT_EVERY)
        ]
        clock.lap("merge")
        moved_up += carried(level)
    merging = per(clock["merge"], merged_cells)
    print(f"  merge: {merging} read; moved above the parts {moved_up / MIB:.0f} MiB")
    total_cells, before = cells(level), peak()
    record = merge(level)
    table = record.statistics.table
    print(
        f"  driver: {total_cells:,} cells of {len(record.names):,} terms, table "
        f"{table.nbytes / MIB:.0f} MiB, peak grew by {peak() - before} MiB"
    )
    before = peak()
    clock.lap("rest")
    model = SparseMultinomialNB.from_statistics(record.statistics, k=100_000)
    clock.lap("solve")
    print(
        f"  solve: {clock['solve']:.1f} CPU s, {per(clock['solve'], total_cells)}, peak grew by "
        f"{peak() - before} MiB to {peak()}; relative gap {model.certificate_.relative_gap:.0e}"
    )


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


def per(seconds, n):
    return f"{1e9 * seconds / max(n, 1):.0f} ns a cell"


def peak():
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss >> 10


if __name__ == "__main__":
    main()
