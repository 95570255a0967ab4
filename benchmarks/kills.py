"""Kill -9 at twenty random moments of a run with checkpoints; each run is started again.

    python benchmarks/kills.py

Every time the result folder and the records must be those of a run left alone, byte for byte.
"""

from __future__ import annotations

import hashlib
import random
import signal
import subprocess
import sys
import tempfile
import time
from pathlib import Path

import messages
import pyarrow.parquet as pq

ROUNDS = 20
FILES, ROWS = 64, 10_000


def main():
    with tempfile.TemporaryDirectory() as folder:
        folder = Path(folder)
        (folder / "data").mkdir()
        for number in range(FILES):
            table = messages.table(ROWS, 2, number)
            pq.write_table(table, folder / "data" / f"{number:02d}.parquet")
        run(folder / "warm")  # compiles
        start = time.perf_counter()
        run(folder / "alone")
        duration = time.perf_counter() - start
        expected = digests(folder / "alone")
        print(f"left alone: {duration:.1f} s, {n_records(folder / 'alone')} records")
        rng = random.Random(0)
        for round_ in range(1, ROUNDS + 1):
            moment = rng.uniform(0, duration)
            place = folder / f"round{round_}"
            killed = run(place, moment)
            records = n_records(place)
            start = time.perf_counter()
            run(place)
            same = digests(place) == expected
            print(
                f"{round_}: killed after {moment:.2f} s: {killed}, {records} records were written; "
                f"went on for {time.perf_counter() - start:.1f} s, "
                f"{'identical' if same else 'DIFFERENT'}",
                flush=True,
            )
            if not same:
                sys.exit(1)


def run(place, moment=None):
    """Run in a folder of its own; whether it was killed."""
    place.mkdir(exist_ok=True)
    command = [sys.executable, "-m", "naively", "select", "../data/*.parquet", "-k", "500"]
    process = subprocess.Popen(
        [*command, "--checkpoint", "records", "--out", "result", "--quiet"],
        cwd=place,
        stdout=subprocess.DEVNULL,
    )
    if moment is None:
        if process.wait():
            sys.exit("the run failed")
        return False
    time.sleep(moment)
    process.send_signal(signal.SIGKILL)
    return process.wait() == -signal.SIGKILL


def digests(place):
    files = sorted((place / "result").iterdir()) + sorted((place / "records").glob("*.npz"))
    return {path.name: hashlib.sha256(path.read_bytes()).hexdigest() for path in files}


def n_records(place):
    return len(list((place / "records").glob("[!.]*.npz"))) if (place / "records").exists() else 0


if __name__ == "__main__":
    main()
