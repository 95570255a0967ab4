"""Write what the command and the estimators give today into `stored/`."""

from __future__ import annotations

import functools
import sys
import time
from collections.abc import Callable, Sequence

from .commands import OTHER, SELECT
from .running import STORED, Sections, dump, parse, result_of

Group = dict[str, Callable[[], Sections]]


def groups() -> dict[str, Group]:
    """Return what there is to run, by file and name."""
    from .estimators import GROUPS

    commands = {
        group: {entry.name: (lambda entry=entry: result_of(entry)) for entry in entries}
        for group, entries in {**SELECT, **OTHER}.items()
    }
    return {**commands, **GROUPS}


@functools.cache
def stored(group: str) -> dict[str, Sections]:
    """Read what is stored of a group."""
    path = STORED / f"{group}.txt"
    return parse(path.read_text("utf-8")) if path.exists() else {}


def renew(words: Sequence[str]) -> None:
    """Run all entries, or those whose names hold one of the words, and store what they give."""
    STORED.mkdir(exist_ok=True)
    for group, entries in groups().items():
        wanted = [name for name in entries if not words or any(word in name for word in words)]
        if not wanted:
            continue
        start = time.perf_counter()
        kept = stored(group)
        results = {}
        for name, run in entries.items():
            if name in wanted:
                results[name] = run()
            elif name in kept:
                results[name] = kept[name]
        (STORED / f"{group}.txt").write_text(dump(results), "utf-8")
        seconds = time.perf_counter() - start
        sys.stderr.write(f"{group}: {len(wanted)} entries in {seconds:.1f} s\n")
    if not words:
        for path in STORED.glob("*.txt"):
            if path.stem not in groups():
                path.unlink()
