"""Damage and read files until the time is over, each kind of file in a process of its own."""

from __future__ import annotations

import multiprocessing
import resource
import sys
import tempfile
import time
import traceback
import warnings
from collections import Counter
from pathlib import Path
from random import Random

from tests.hostile.damage import damage, random_steps
from tests.hostile.sources import sources

from naively.read import fence
from naively.read.errors import InputError

FOUND = Path("hostile-found")
HANGS = 20.0  # seconds
MEMORY = 6 << 30  # bytes
TURN = 10.0  # seconds, before the next file has its turn


def fault(source, path) -> str:
    """Read a file: what is wrong with what came of it, or nothing."""
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("error")
            source.read(path)
    except InputError as error:
        return f"more than a sentence: {error}" if "\n" in str(error) else ""
    except ValueError as error:
        # Records say what is wrong as a ValueError, which the command shows.
        named = source.name == "record.npz" and "\n" not in str(error)
        return "" if named else traceback.format_exc()
    except BaseException:
        return traceback.format_exc()
    return ""


def work(name, seed, seconds, folder, channel) -> None:
    """Damage and read; what is at work stands in a file."""
    resource.setrlimit(resource.RLIMIT_AS, (MEMORY, MEMORY))
    fence._fault = lambda *_: ""  # this process is the fence
    source, random = sources(folder)[name], Random(seed)
    path = folder / source.file
    end = time.monotonic() + seconds
    while time.monotonic() < end:
        path.write_bytes(damage(source.content, random_steps(random)))
        channel.send("begin")
        channel.send(fault(source, path))


def keep(name, path, why, counts) -> None:
    counts[name, why.strip().splitlines()[-1][:160]] += 1
    kept = FOUND / f"{len(list(FOUND.iterdir())):04d}-{name.replace(' ', '-')}"
    kept.write_bytes(path.read_bytes())
    kept.with_name(kept.name + ".why").write_text(why)


def turn(name, seed, seconds, counts) -> int:
    """Give one kind of file its turn; return how many were read."""
    tried = 0
    with tempfile.TemporaryDirectory() as made:
        folder = Path(made)
        path = folder / name.rpartition(" ")[2]
        ours, theirs = multiprocessing.Pipe()
        worker = multiprocessing.Process(target=work, args=(name, seed, seconds, folder, theirs))
        worker.start()
        theirs.close()
        try:
            while ours.poll(HANGS + 20 * (tried == 0)):
                said = ours.recv()
                tried += said == "begin"
                if said not in ("begin", ""):
                    keep(name, path, said, counts)
            keep(name, path, "it hangs", counts)
        except EOFError:
            worker.join()
            if worker.exitcode:
                keep(name, path, f"it ended with {worker.exitcode}", counts)
        worker.kill()
        worker.join()
    return tried


def say(text) -> None:
    sys.stdout.write(f"{text}\n")
    sys.stdout.flush()


def main() -> None:
    seconds, names = float(sys.argv[1]), sys.argv[2:]
    FOUND.mkdir(exist_ok=True)
    with tempfile.TemporaryDirectory() as made:
        names = names or list(sources(Path(made)))
    # Another run damages other bytes.
    seed = int(time.time())
    end, tried, counts = time.monotonic() + seconds, Counter(), Counter()
    while time.monotonic() < end:
        for name in names:
            if (left := end - time.monotonic()) > 0:
                tried[name] += turn(name, seed, min(TURN, left), counts)
        seed += 1
        say(f"{sum(tried.values()):,} read, {counts.total():,} found")
    say(str(dict(tried)))
    for what, n in counts.most_common():
        say(f"{n:,} {what[0]}: {what[1]}")


if __name__ == "__main__":
    main()
