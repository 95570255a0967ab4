"""Text at full speed: whole jobs in processes of their own, by CPU seconds and peak memory.

    python benchmarks/scale.py select --rows 1600000 --classes 2     naively select and its parts
    python benchmarks/scale.py select --quick                        what is done by hand, no more
    python benchmarks/scale.py by-hand --rows 1600000 --classes 2    the same job in scikit-learn
    python benchmarks/scale.py pairs --before OLD/src              both and an earlier tree, in turn
    python benchmarks/scale.py references --python VENV/bin/python   Polars and fastText beside it
    python benchmarks/scale.py count --rows 10000000 --classes 2     with records, bounded memory
    python benchmarks/scale.py wide                                  tables too wide to be dense
    python benchmarks/scale.py select --imdb FILE                    reviews instead of messages

Both ways hold out a fifth of the rows, select k words by the rest, train, test, and then select and
train on all rows. CPU seconds are those of the child process, user and system, whose bytecode is
kept, as in any installation.
"""

from __future__ import annotations

import argparse
import contextlib
import glob
import io
import os
import subprocess
import sys
import tempfile
import time
from pathlib import Path
from statistics import median

import messages

MIB = 1 << 20


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("job", choices=[*JOBS, *CHILDREN])
    parser.add_argument("--rows", type=int, default=1_600_000)
    parser.add_argument("--classes", type=int, default=2)
    parser.add_argument("--imdb", type=Path, help="a .jsonl.gz with text and label")
    parser.add_argument("--one-file", choices=["parquet", "csv"], help="messages in one file")
    parser.add_argument("--quick", action="store_true", help="as `naively select --quick`")
    parser.add_argument("-k", type=int, default=1000)
    parser.add_argument("--jobs", type=int, default=1)
    parser.add_argument("--ngrams", default="1,1")
    parser.add_argument("--before", type=Path, help="the folder `src` of an earlier tree")
    parser.add_argument("--rounds", type=int, default=3)
    parser.add_argument("--python", default=sys.executable, help="with polars and fasttext")
    options = parser.parse_args()
    {**JOBS, **CHILDREN}[options.job](options)


def data(options):
    """Pattern of the files, and the number of rows."""
    if options.imdb is None:
        pattern = f"{messages.files(options.rows, options.classes)}/*.parquet"
        return (one_file(pattern, options) if options.one_file else pattern), options.rows
    folder = Path(tempfile.gettempdir()) / "naively-benchmarks" / "imdb"
    path = folder / "imdb.parquet"
    if not path.exists():
        import gzip
        import json

        import pyarrow as pa
        import pyarrow.parquet as pq

        folder.mkdir(parents=True, exist_ok=True)
        with gzip.open(options.imdb, "rt", encoding="utf8") as lines:
            rows = [json.loads(line) for line in lines]
        table = pa.table({name: [row[name] for row in rows] for name in ("text", "label")})
        pq.write_table(table, path, row_group_size=5000)
    return str(path), 50_000


def one_file(pattern, options):
    """Write all messages into one file, once."""
    import pyarrow.csv
    import pyarrow.parquet as pq

    path = (
        Path(pattern).parent.parent
        / f"messages-{options.classes}-{options.rows}.{options.one_file}"
    )
    if not path.exists():
        table = pq.read_table(Path(pattern).parent)
        if options.one_file == "csv":
            pyarrow.csv.write_csv(table, path)
        else:
            pq.write_table(table, path, row_group_size=50_000)
    return str(path)


def measured(command, source=None):
    """Run a command; CPU seconds, wall seconds and peak bytes of it and its children."""
    start = time.perf_counter()
    quiet = "naively" in command[2]
    kept = Path(tempfile.gettempdir()) / "naively-benchmarks" / "bytecode"
    environment = {**os.environ, "PYTHONPYCACHEPREFIX": str(kept), "PYTHONDONTWRITEBYTECODE": ""}
    if source is not None:
        environment["PYTHONPATH"] = str(source.resolve())
    process = subprocess.Popen(
        command, stdout=subprocess.DEVNULL if quiet else None, env=environment
    )
    _, status, usage = os.wait4(process.pid, 0)
    if status:
        raise SystemExit(f"{command} failed")
    wall = time.perf_counter() - start
    return usage.ru_utime + usage.ru_stime, wall, usage.ru_maxrss << 10


def shown(name, cpu, wall, peak, n_rows):
    print(
        f"{name}: {cpu:.1f} CPU s, {n_rows / cpu:,.0f} rows per CPU s, {wall:.1f} s, "
        f"peak {peak / MIB:,.0f} MiB",
        flush=True,
    )


def child(options, job, **more):
    arguments = ["-k", str(options.k), "--jobs", str(options.jobs), "--ngrams", options.ngrams]
    arguments += ["--rows", str(options.rows), "--classes", str(options.classes)]
    if options.one_file is not None:
        arguments += ["--one-file", options.one_file]
    if options.imdb is not None:
        arguments += ["--imdb", str(options.imdb)]
    return [sys.executable, __file__, job, *arguments]


# Jobs --------------------------------------------------------------------------------------------


def select(options):
    """`naively select`; then, unless quick, once more with a clock around its parts."""
    pattern, n_rows = data(options)
    with tempfile.TemporaryDirectory() as out:
        command = [sys.executable, "-m", "naively", *arguments(options, pattern, out)]
        shown("naively select", *measured(command), n_rows)
    if not options.quick:
        measured(child(options, "parts"))


def arguments(options, pattern, out):
    return [
        "select", pattern, "-k", str(options.k), "--out", f"{out}/result", "--quiet",
        "--words", f"ngrams={options.ngrams}", "--on", str(options.jobs),
        *(["--quick"] if options.quick else []),
    ]  # fmt: skip


def by_hand(options):
    _, n_rows = data(options)
    shown("by hand", *measured(child(options, "hand")), n_rows)


def pairs(options):
    """The job by hand, by an earlier tree and by this one, in turn; medians, and of the ratios."""
    pattern, _ = data(options)
    here = Path(__file__).parents[1] / "src"
    ways = {"by hand": (child(options, "hand"), here)}
    for quick in (True, False):
        options.quick = quick
        command = [sys.executable, "-m", "naively", *arguments(options, pattern, "OUT"), "--force"]
        for name, source in {"before": options.before, "now": here}.items():
            if source is not None:
                ways[f"{name}{', quick' * quick}"] = (command, source)
    found = {name: [] for name in ways}
    with tempfile.TemporaryDirectory() as out:
        for turn in range(options.rounds + 1):  # the first compiles, and is not counted
            for name, (command, source) in ways.items():
                if turn or name != "by hand":
                    own = [part.replace("OUT", out) for part in command]
                    found[name] += [measured(own, source)] if turn else measured(own, source)[:0]
    hand = [cpu for cpu, *_ in found["by hand"]]
    for name, runs in found.items():
        cpu, wall, peak = (median(each) for each in zip(*runs, strict=True))
        ratio = median(theirs / own for theirs, (own, *_) in zip(hand, runs, strict=True))
        print(
            f"{name}: {cpu:.2f} CPU s, {wall:.1f} s, peak {peak / MIB:,.0f} MiB, "
            f"{ratio:.1f} times less; {[round(each[0], 2) for each in runs]}",
            flush=True,
        )


def references(options):
    """Count words by class in Polars; read texts and make a dictionary in fastText."""
    import pyarrow.parquet as pq

    pattern, n_rows = data(options)
    with tempfile.NamedTemporaryFile("w", suffix=".txt") as file:
        for path in sorted(glob.glob(pattern)):
            rows = pq.read_table(path, columns=["label", "text"]).to_pylist()
            file.writelines(f"__label__{row['label']} {row['text'].lower()}\n" for row in rows)
        file.flush()
        for _ in range(options.rounds):
            for name, (code, source) in REFERENCES.items():
                command = [
                    options.python,
                    "-c",
                    code,
                    pattern if source == "parquet" else file.name,
                ]
                shown(name, *measured(command), n_rows)


def count(options):
    """`naively select` with records, and the size of their table: what is needed beyond it."""
    from naively.work.records import load_record

    pattern, n_rows = data(options)
    with tempfile.TemporaryDirectory() as out:
        command = [sys.executable, "-m", "naively", "select", pattern, "-k", str(options.k)]
        command += ["--test", "0", "--checkpoint", f"{out}/records", "--out", f"{out}/result"]
        command += ["--quiet", "--on", str(options.jobs), "--words", f"ngrams={options.ngrams}"]
        cpu, wall, peak = measured(command)
        shown("naively select --checkpoint", cpu, wall, peak, n_rows)
        merged = f"{out}/stats.npz"
        command = [sys.executable, "-m", "naively", "count", f"{out}/records", "-o", merged]
        shown("naively count, of records", *measured([*command, "--quiet"]), n_rows)
        record = load_record(merged)
        table = record.statistics.table.nbytes
        names = record.names.bytes.nbytes + record.names.starts.nbytes
        print(
            f"{len(record.names):,} terms; class table {table / MIB:,.0f} MiB, "
            f"names {names / MIB:,.0f} MiB; select needed {(peak - table) / MIB:,.0f} MiB "
            "over the class table"
        )


def wide(options):
    shown("columns", *measured(child(options, "columns")), options.rows)


# Child processes ---------------------------------------------------------------------------------


def parts(options):
    """CPU seconds of the steps of `naively select` in one thread."""
    from naively.cli import main as command
    from naively.jobs import learn, results
    from naively.read import parquet
    from naively.text import counter as text
    from naively.text.analysis import Analyzer
    from naively.text.vocabulary import Vocabulary

    seconds = {}

    def clocked(owner, name, label):
        function = getattr(owner, name)

        def timed(*args, **kwargs):
            start = time.process_time()
            try:
                return function(*args, **kwargs)
            finally:
                seconds[label] = seconds.get(label, 0.0) + time.process_time() - start

        setattr(owner, name, timed)

    clocked(parquet, "text_batch", "columns to texts and labels")
    clocked(Analyzer, "read", "tokenising")
    clocked(text, "count_ids", "adding up")
    clocked(text.TextCounter, "result", "vocabulary")
    clocked(Vocabulary, "union", "uniting vocabularies")
    clocked(learn, "fit", "selecting and training")
    clocked(learn, "_judge", "rules of every k that is tested")
    clocked(learn, "judged", "testing, reading and tokenising again")
    clocked(learn, "predicted_error", "predicted error")
    clocked(learn, "path_curve", "path")
    clocked(learn, "examples", "rows to quote")
    clocked(results, "charts_of", "charts")
    pattern, n_rows = data(options)
    with tempfile.TemporaryDirectory() as out:
        sys.argv = ["naively", *arguments(options, pattern, out)]
        with contextlib.suppress(SystemExit), contextlib.redirect_stdout(io.StringIO()):
            command()
    total = time.process_time()
    print(f"parts of {total:.1f} CPU s (with the start of Python):")
    for label, spent in seconds.items():
        print(f"  {label}: {spent:.2f} s, {100 * spent / total:.0f} %", flush=True)


def hand(options):
    """CountVectorizer + SelectKBest(chi2) + MultinomialNB."""
    import numpy as np
    import pyarrow.parquet as pq
    from sklearn.feature_extraction.text import CountVectorizer
    from sklearn.feature_selection import SelectKBest, chi2
    from sklearn.model_selection import train_test_split
    from sklearn.naive_bayes import MultinomialNB
    from sklearn.pipeline import make_pipeline

    pattern, _ = data(options)
    tables = [pq.read_table(path) for path in sorted(glob.glob(pattern))]
    texts = [text for table in tables for text in table["text"].to_pylist()]
    y = np.array([label for table in tables for label in table["label"].to_pylist()])
    low, high = map(int, options.ngrams.split(","))
    start = time.process_time()
    X = CountVectorizer(ngram_range=(low, high)).fit_transform(texts)
    print(f"  CountVectorizer: {time.process_time() - start:.1f} CPU s, {X.shape[1]:,} columns")
    train, test = train_test_split(np.arange(len(y)), test_size=0.2, stratify=y, random_state=0)
    model = make_pipeline(SelectKBest(chi2, k=options.k), MultinomialNB())
    accuracy = model.fit(X[train], y[train]).score(X[test], y[test])
    model.fit(X, y)
    print(f"  accuracy {accuracy:.4f}", flush=True)


def columns(options):
    """20 classes x 12 million columns, dense and sparse, to the selected features."""
    from shapes import load

    from naively import ClassCounts, SparseMultinomialNB

    X, y = load("A", 20)
    for dense_cells in (1 << 30, 1 << 27):
        start = time.process_time()
        counts = ClassCounts.from_matrix(X, y, dense_cells=dense_cells)
        counted = time.process_time()
        model = SparseMultinomialNB.from_statistics(counts, k=120_000)
        print(
            f"  {type(counts.table).__name__}: table {counts.table.nbytes / MIB:,.0f} MiB, matrix "
            f"{(X.data.nbytes + X.indices.nbytes + X.indptr.nbytes) / MIB:,.0f} MiB, counting "
            f"{counted - start:.1f} CPU s, selecting {time.process_time() - counted:.1f} CPU s, "
            f"relative gap {model.certificate_.relative_gap:.0e}; peak {peak_mib():,} MiB",
            flush=True,
        )
        del counts, model


def peak_mib():
    import resource

    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss >> 10


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
REFERENCES = {
    "Polars, words by class": (POLARS, "parquet"),
    "fastText, dictionary": (FASTTEXT, "lines"),
}
JOBS = {
    "select": select, "by-hand": by_hand, "pairs": pairs, "references": references,
    "count": count, "wide": wide,
}  # fmt: skip
CHILDREN = {"parts": parts, "hand": hand, "columns": columns}

if __name__ == "__main__":
    main()
