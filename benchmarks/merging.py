"""A Dask job of a hundred million messages by their records, and what the cost model says of it.

    python benchmarks/merging.py                  single words
    python benchmarks/merging.py --ngrams 1,2     words and pairs of neighbours, which takes memory

Real records, each of a million different messages (`messages.py`), are made once and kept in the
temporary directory. The job takes each of them under many names, as records of other rows, and
merges them as `naively.work.dask` does, on two workers that are processes and listen on loopback.
The model of docs/scaling.md is given what one merge of two records says, and predicts the job.
"""

from __future__ import annotations

import argparse
import pickle
import resource
import tempfile
import time
from dataclasses import replace
from math import ceil, log
from pathlib import Path

import messages

from naively.read.layout import Layout
from naively.text.features import TextFeatures
from naively.work.dask import SPLIT_EVERY, connected, merge_delayed
from naively.work.records import load_record, merge, save_record
from naively.work.stream import count_files

SHARD = 1_000_000  # rows of a record
MIB = 1 << 20


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--rows", type=int, default=100_000_000)
    parser.add_argument("--shards", type=int, default=10, help="real records, all different")
    parser.add_argument("--ngrams", default="1,1")
    parser.add_argument("--classes", type=int, default=2)
    parser.add_argument("--only-shards", action="store_true", help="make the records, and stop")
    options = parser.parse_args()
    paths = shards(options)
    if options.only_shards:
        return
    expected = predicted(options, paths)
    found = measured(options, paths)
    print(f"| {options.rows:,} messages, n-grams {options.ngrams} | model | measured |")
    print("| --- | ---: | ---: |")
    for name, value in expected.items():
        print(f"| {name} | {value:,.0f} | {found[name]:,.0f} |")


def shards(options):
    """Records of a million rows each, made once."""
    files = sorted(messages.files(options.shards * SHARD, options.classes).glob("*.parquet"))
    folder = Path(tempfile.gettempdir()) / "naively-benchmarks"
    paths, each = [], SHARD // messages.ROWS
    for number in range(options.shards):
        name = f"records-{options.classes}-{options.ngrams.replace(',', '-')}"
        paths.append(folder / name / f"{number:02d}.npz")
        if not paths[-1].exists():
            features = TextFeatures(ngram_range=tuple(map(int, options.ngrams.split(","))))
            own = files[number * each : (number + 1) * each]
            save_record(count_files(own, features, Layout(text=("text",))), paths[-1])
    return paths


def predicted(options, paths):
    """What the model says, of one record, of two together, and of a merge of these."""
    pair = [load_record(path) for path in paths[:2]]
    n_cells, n_bytes = cells(pair[0]), len(pickle.dumps(pair[0], 5))
    start = time.process_time()
    both = merge(pair, dense_cells=0)
    seconds = (time.process_time() - start) / sum(map(cells, pair))
    growth = log(cells(both) / n_cells, 2)
    n_records, read, moved, size = options.rows // SHARD, 0.0, 0.0, 1
    while n_records > 1:
        level = n_records * n_cells * min(size, options.shards) ** growth
        read, moved = read + level, moved + level * n_bytes / n_cells
        n_records, size = ceil(n_records / SPLIT_EVERY), size * SPLIT_EVERY
    last = n_cells * options.shards**growth
    return {
        "sums of one record": n_cells,
        "sums of all, by their growth from one record to two": last,
        "a record of all (MiB)": last * n_bytes / n_cells / MIB,
        "moved, at most (MiB)": moved / MIB,
        "merging, CPU (s)": read * seconds,
    }


def measured(options, paths):
    """The job itself."""
    import dask
    from distributed import LocalCluster

    read = dask.delayed(read_as, pure=False)
    n_records = options.rows // SHARD
    before = spent()
    with (
        LocalCluster(
            n_workers=2, threads_per_worker=1, host="127.0.0.1", dashboard_address=None
        ) as (cluster),
        connected(cluster.scheduler_address) as client,
    ):
        start = time.perf_counter()
        delayed = [read(paths[i % len(paths)], i) for i in range(n_records)]
        record = merge_delayed(delayed)
        wall = time.perf_counter() - start
        moved = client.run(lambda dask_worker: dask_worker.transfer_outgoing_bytes_total)
    cpu = spent() - before
    assert record.n_rows == options.rows
    before = time.process_time()
    for path in paths:
        load_record(path)
    loading = (time.process_time() - before) * n_records / len(paths)
    peaks = [
        resource.getrusage(who).ru_maxrss >> 10
        for who in (resource.RUSAGE_SELF, resource.RUSAGE_CHILDREN)
    ]
    print(
        f"{wall:.0f} s, {cpu:.0f} CPU s, of which reading the records {loading:.0f}; peak of the "
        f"driver {peaks[0]:,} MiB, of a worker {peaks[1]:,} MiB"
    )
    return {
        "sums of one record": cells(load_record(paths[0])),
        "sums of all, by their growth from one record to two": cells(record),
        "a record of all (MiB)": len(pickle.dumps(record, 5)) / MIB,
        "moved, at most (MiB)": sum(moved.values()) / MIB,
        "merging, CPU (s)": cpu - loading,
    }


def read_as(path, number):
    """Return a record as one of other rows."""
    record = load_record(path)
    return replace(record, shards={f"{number}/{name}": n for name, n in record.shards.items()})


def cells(record):
    """Sums that are not zero."""
    table = record.statistics.table
    return int((table.values != 0).sum()) if hasattr(table, "values") else int((table != 0).sum())


def spent():
    """CPU seconds of this process and of its children that ended."""
    return sum(
        used.ru_utime + used.ru_stime
        for used in map(resource.getrusage, (resource.RUSAGE_SELF, resource.RUSAGE_CHILDREN))
    )


if __name__ == "__main__":
    main()
