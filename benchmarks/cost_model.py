"""The quantities of the cost model in docs/scaling.md, at one size; run it at two or more.

    python benchmarks/cost_model.py --rows 400000
    python benchmarks/cost_model.py --rows 1600000

Word 1-2-grams of messages, hashed to 2^26 columns, counted in parts as workers do it, divided into
blocks of columns, merged in trees as `naively.work.dask` does, joined and solved as on the driver.
Bytes are those of the pickles that would travel.
"""

from __future__ import annotations

import argparse
import pickle
import resource
import time

import messages

from naively import SparseMultinomialNB
from naively.text.features import TextFeatures
from naively.work.records import join, merge, split
from naively.work.stream import run_task, tasks_of

MIB = 1 << 20
SPLIT_EVERY = 8


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--rows", type=int, default=400_000)
    parser.add_argument("--part", type=int, default=100_000, help="rows of a partition")
    parser.add_argument("--classes", type=int, default=2)
    parser.add_argument("--bits", type=int, default=26)
    parser.add_argument("--blocks", type=int, default=16)
    options = parser.parse_args()
    features = TextFeatures(ngram_range=(1, 2), n_hashed=1 << options.bits)
    n_parts = options.rows // options.part
    files = f"{messages.files(options.rows, options.classes)}/*.parquet"
    run_task(tasks_of(files, features, n_jobs=10**6)[0], dense_cells=0)  # compiles
    tasks = tasks_of(files, features, n_jobs=n_parts)

    clock = Clock()
    parts, moved, n_cells = [], 0, 0
    for task in tasks:
        record = run_task(task, dense_cells=0)
        clock.lap("count")
        blocks = split(record, options.blocks)
        clock.lap("split")
        moved += sum(len(pickle.dumps(block, 5)) for block in blocks)
        n_cells += len(record.counts.table.cells)
        parts.append(blocks)
    print(f"{options.rows:,} rows in {len(parts)} parts of {options.part:,}")
    print(f"  count: {1e6 * clock['count'] / options.rows:.2f} us a row")
    print(f"  cells of a part: {n_cells / len(parts):,.0f}; split {per(clock['split'], n_cells)}")
    print(f"  moved by a part: {moved / len(parts) / MIB:.1f} MiB, {moved / n_cells:.2f} B a cell")
    print(f"  worker: peak {peak()} MiB with all parts in memory")
    clock.lap("rest")

    merged_cells, moved_up, tops = 0, 0, []
    for block in range(options.blocks):
        level = [part[block] for part in parts]
        while len(level) > 1:
            merged_cells += sum(len(each.counts.table.cells) for each in level)
            level = [
                merge(level[start : start + SPLIT_EVERY], dense_cells=0)
                for start in range(0, len(level), SPLIT_EVERY)
            ]
            moved_up += sum(len(pickle.dumps(each, 5)) for each in level)
        tops.append(level[0])
    clock.lap("merge")
    merging = per(clock["merge"], merged_cells)
    print(f"  merge: {merging} read; moved above the parts {moved_up / MIB:.0f} MiB")
    total_cells = sum(len(each.counts.table.cells) for each in tops)
    before = peak()
    record = join(tops)
    clock.lap("join")
    table = record.counts.table
    print(
        f"  driver: {total_cells:,} cells, table {table.nbytes / MIB:.0f} MiB, join "
        f"{per(clock['join'], total_cells)}, peak grew by {peak() - before} MiB"
    )
    before = peak()
    model = SparseMultinomialNB.from_statistics(record.counts, k=100_000)
    clock.lap("solve")
    print(
        f"  solve: {clock['solve']:.1f} CPU s, {per(clock['solve'], total_cells)}, peak grew by "
        f"{peak() - before} MiB to {peak()}; relative gap {model.certificate_.relative_gap:.0e}"
    )


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
