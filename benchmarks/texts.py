"""Text at full speed: whole jobs in processes of their own, by processor time and peak memory.

Made-up messages (79 characters and 12 words each, a million different words in 1.6 million
messages) and the 50,000 reviews of IMDB. Every way holds out a fifth, selects 1,000 words by the
rest, trains, tests, and then selects and trains on all rows; by hand it is one `CountVectorizer` of
all rows, then `SelectKBest(chi2)` and `MultinomialNB` twice. User and system seconds with start and
imports, medians of rounds in which the ways take turns; "times less" are medians of the ratios of a
round.
"""

import gzip
import json
import sys
import tempfile
from statistics import median

import pyarrow as pa
import pyarrow.parquet as pq
from experiments.frame import Table

from benchmarks import messages
from benchmarks.turns import MIB, SCRATCH, SOURCE, apart, process

REVIEWS = SCRATCH / "imdb.parquet"


def run(asked):
    apart(f"from benchmarks import texts; texts.make({str(asked.data)!r})")
    table = Table(
        [
            "data",
            "classes",
            "way",
            "CPU s",
            "rows per CPU s",
            "times less than by hand",
            "peak, MiB",
        ]
    )
    for title, n_classes, n_rows, pattern in (
        ("1.6 million messages", 2, 1_600_000, _messages(2)),
        ("1.6 million messages", 20, 1_600_000, _messages(20)),
        ("50,000 reviews", 2, 50_000, str(REVIEWS)),
    ):
        for way, (cpu, ratio, high) in _compared(pattern, asked).items():
            cells = [cpu, round(n_rows / cpu), ratio, round(high / MIB)]
            table.rows.append([title, n_classes, way, *cells])
    return {"Text": table}


def _messages(n_classes):
    return f"{messages.files(1_600_000, n_classes)}/*.parquet"


def make(folder):
    """Make the messages, and the reviews a Parquet file, once."""
    for n_classes in (2, 20):
        _messages(n_classes)
    if not REVIEWS.exists():
        with gzip.open(f"{folder}/imdb/imdb.jsonl.gz", "rt", encoding="utf8") as lines:
            rows = [json.loads(line) for line in lines]
        table = pa.table({name: [row[name] for row in rows] for name in ("text", "label")})
        pq.write_table(table, REVIEWS, row_group_size=5000)


def _compared(pattern, asked):
    """Medians of CPU seconds, of the ratio to those by hand, and of the peak, for each way."""
    ways = {"by hand": ([sys.executable, "-m", "benchmarks.by_hand", pattern], SOURCE)}
    with tempfile.TemporaryDirectory() as out:
        select = [sys.executable, "-m", "naively", "select", pattern, "-k", "1000", "--force"]
        select += ["--out", f"{out}/result", "--quiet", "--on", "1"]
        for way, more in {"--quick": ["--quick"], "with all of the report": []}.items():
            if asked.before:
                ways[f"{way}, before"] = ([*select, *more], asked.before)
            ways[way] = ([*select, *more], SOURCE)
        kept = {source: SCRATCH / f"tree-{i}" for i, source in enumerate({SOURCE, asked.before})}
        found = {way: [] for way in ways}
        for turn in range(asked.rounds + 1):  # the first compiles, and is not counted
            for way, (command, source) in ways.items():
                if turn or way != "by hand":
                    taken = process(command, source, kept[source])
                    found[way] += [taken] if turn else []
    theirs = [cpu for cpu, _ in found["by hand"]]
    return {
        way: (
            median(cpu for cpu, _ in runs),
            median(hand / cpu for hand, (cpu, _) in zip(theirs, runs, strict=True)),
            median(high for _, high in runs),
        )
        for way, runs in found.items()
    }
