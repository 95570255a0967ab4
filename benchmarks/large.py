"""Ten million messages with records, and tables too wide to be dense.

`naively select --checkpoint` on 100 files (5.2 million words), all of the report included, then
`naively count` of its records; and 12 million columns of twenty classes (shape A), counted into a
dense and into a sparse table, each in a process of its own. User and system seconds; single runs.
"""

import resource
import sys
import tempfile
import time

from experiments.frame import Table

from benchmarks import messages
from benchmarks.shapes import load
from benchmarks.turns import MIB, SOURCE, apart, process
from naively import ClassCounts, SparseMultinomialNB
from naively.work.records import load_record

CELLS = {"dense": 1 << 30, "sparse": 1 << 27}


def run(asked):
    n_rows = 10_000_000
    apart(f"from benchmarks import messages; messages.files({n_rows}, 2)")
    job = ["CPU s", "rows per CPU s", "peak, MiB", "above the class table, MiB"]
    records = Table(["job", *job])
    with tempfile.TemporaryDirectory() as out:
        naively, merged = [sys.executable, "-m", "naively"], f"{out}/stats.npz"
        select = [*naively, "select", f"{messages.files(n_rows, 2)}/*.parquet", "-k", "1000"]
        select += ["--test", "0", "--checkpoint", f"{out}/records", "--out", f"{out}/result"]
        count = [*naively, "count", f"{out}/records", "-o", merged, "--quiet"]
        found = {
            "`naively select --checkpoint`": process([*select, "--quiet", "--on", "1"], SOURCE),
            "`naively count` of its records": process(count, SOURCE),
        }
        table = load_record(merged).statistics.table.nbytes
    for name, (cpu, high) in found.items():
        mib = [round(high / MIB), round((high - table) / MIB)]
        records.rows.append([name, cpu, round(n_rows / cpu), *mib])
    wide = Table(
        ["table", "MiB", "counting, CPU s", "selecting, CPU s", "relative gap", "peak, MiB"]
    )
    for kind in CELLS:
        printed = apart(f"from benchmarks.large import columns; columns({kind!r})")
        figures = list(map(float, printed.split()))
        wide.rows.append([kind, round(figures[0]), *figures[1:-1], round(figures[-1])])
    return {"Ten million messages": records, "Twelve million columns, 20 classes": wide}


def columns(kind):
    """Print the figures of a row of the second table."""
    X, y = load("A", 20)
    start = time.process_time()
    counts = ClassCounts.from_matrix(X, y, dense_cells=CELLS[kind])
    counted = time.process_time()
    model = SparseMultinomialNB.from_statistics(counts, k=120_000)
    selected = time.process_time()
    high = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024
    spent = counted - start, selected - counted
    print(counts.table.nbytes / MIB, *spent, model.certificate_.relative_gap, high)
