"""What reading and counting 1.6 million messages costs in Polars and in fastText.

Polars counts the words of each class by `group_by` and nothing more; fastText reads lines of
lower-case text into its dictionary alone. Processes of their own, user and system seconds with the
start of Python, medians.
"""

import glob
import tempfile
from statistics import median

import pyarrow.parquet as pq
from experiments.frame import Table

from benchmarks import messages
from benchmarks.turns import MIB, SOURCE, process

POLARS = r"""
import sys
import polars as pl
words = pl.col("text").str.to_lowercase().str.extract_all(r"\b\w\w+\b").alias("word")
rows = pl.scan_parquet(sys.argv[1]).select("label", words).explode("word")
print(rows.group_by("label", "word").len().collect(engine="streaming").shape)
"""
FASTTEXT = """
import sys
import fasttext
fasttext.train_supervised(sys.argv[1], epoch=0, dim=1, minCount=1, bucket=0, thread=1, verbose=0)
"""


def run(asked):
    pattern = f"{messages.files(1_600_000, 2)}/*.parquet"
    table = Table(["reference", "CPU s", "peak, MiB"])
    with tempfile.NamedTemporaryFile("w", suffix=".txt") as file:
        for path in sorted(glob.glob(pattern)):
            rows = pq.read_table(path, columns=["label", "text"]).to_pylist()
            file.writelines(f"__label__{row['label']} {row['text'].lower()}\n" for row in rows)
        file.flush()
        jobs = {"Polars": (POLARS, pattern), "fastText": (FASTTEXT, file.name)}
        for name, (code, given) in jobs.items():
            command = [asked.python, "-c", code, given]
            runs = [process(command, SOURCE) for _ in range(asked.rounds)]
            cpu, high = (median(each) for each in zip(*runs, strict=True))
            table.rows.append([name, cpu, round(high / MIB)])
    return {"References": table}
