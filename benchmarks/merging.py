"""A Dask job of a hundred million messages by their records, and what the cost model says of it.

Real records, each of a million different messages, single words, are made once. The job takes each
of ten under ten names, as records of other rows, and merges them as `naively.work.dask` does, on
two workers that are processes and listen on loopback. The model of docs/scaling.md is given what
one merge of two records says, and predicts the job. One run.
"""

import pickle
import resource
import time
from dataclasses import replace
from math import ceil, log

from experiments.frame import Table

from benchmarks import messages
from benchmarks.turns import MIB, SCRATCH
from naively.read.layout import Layout
from naively.text.features import TextFeatures
from naively.work.dask import SPLIT_EVERY, connected, merge_delayed
from naively.work.records import load_record, merge, save_record
from naively.work.stream import count_files

SHARD = 1_000_000  # rows of a record
N_SHARDS = 10  # records that are real
N_RECORDS = 100


def run(asked):
    paths = shards()
    expected, (found, job) = predicted(paths), measured(paths)
    table = Table(["quantity", "model", "measured"])
    table.rows = [[name, round(value), round(found[name])] for name, value in expected.items()]
    return {"A hundred million messages": table, "The job": Table(list(job), [[*job.values()]])}


def shards():
    """Records of a million rows each, made once."""
    files = sorted(messages.files(N_SHARDS * SHARD, 2).glob("*.parquet"))
    each, paths = SHARD // messages.ROWS, []
    for number in range(N_SHARDS):
        paths.append(SCRATCH / "records" / f"{number:02d}.npz")
        if not paths[-1].exists():
            paths[-1].parent.mkdir(exist_ok=True)
            own = files[number * each : (number + 1) * each]
            save_record(count_files(own, TextFeatures(), Layout(text=("text",))), paths[-1])
    return paths


def predicted(paths):
    """What the model says, of one record, of two together, and of a merge of these."""
    pair = [load_record(path) for path in paths[:2]]
    n_cells, n_bytes = cells(pair[0]), len(pickle.dumps(pair[0], 5))
    start = time.process_time()
    both = merge(pair, dense_cells=0)
    seconds = (time.process_time() - start) / sum(map(cells, pair))
    growth = log(cells(both) / n_cells, 2)
    n_records, read, moved, size = N_RECORDS, 0.0, 0.0, 1
    while n_records > 1:
        level = n_records * n_cells * min(size, N_SHARDS) ** growth
        read, moved = read + level, moved + level * n_bytes / n_cells
        n_records, size = ceil(n_records / SPLIT_EVERY), size * SPLIT_EVERY
    last = n_cells * N_SHARDS**growth
    return {
        "sums of one record": n_cells,
        "sums of all, by their growth from one record to two": last,
        "a record of all (MiB)": last * n_bytes / n_cells / MIB,
        "moved, at most (MiB)": moved / MIB,
        "merging, CPU (s)": read * seconds,
    }


def measured(paths):
    """The job itself."""
    import dask
    from distributed import LocalCluster

    read = dask.delayed(read_as, pure=False)
    before = spent()
    with (
        LocalCluster(
            n_workers=2, threads_per_worker=1, host="127.0.0.1", dashboard_address=None
        ) as (cluster),
        connected(cluster.scheduler_address) as client,
    ):
        start = time.perf_counter()
        delayed = [read(paths[i % len(paths)], i) for i in range(N_RECORDS)]
        record = merge_delayed(delayed)
        wall = time.perf_counter() - start
        moved = client.run(lambda dask_worker: dask_worker.transfer_outgoing_bytes_total)
    cpu = spent() - before
    assert record.n_rows == N_RECORDS * SHARD
    before = time.process_time()
    for path in paths:
        load_record(path)
    loading = (time.process_time() - before) * N_RECORDS / N_SHARDS
    peaks = [
        resource.getrusage(who).ru_maxrss >> 10
        for who in (resource.RUSAGE_SELF, resource.RUSAGE_CHILDREN)
    ]
    return {
        "sums of one record": cells(load_record(paths[0])),
        "sums of all, by their growth from one record to two": cells(record),
        "a record of all (MiB)": len(pickle.dumps(record, 5)) / MIB,
        "moved, at most (MiB)": sum(moved.values()) / MIB,
        "merging, CPU (s)": cpu - loading,
    }, {
        "s": round(wall), "CPU s": round(cpu), "of which reading": round(loading, 1),
        "peak of the driver, MiB": peaks[0], "of a worker, MiB": peaks[1],
    }  # fmt: skip


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
