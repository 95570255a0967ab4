"""Run command lines in this process, mask what has no fixed result, and keep it as text."""

from __future__ import annotations

import io
import os
import re
import shlex
import sys
import tempfile
import warnings
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from unittest import mock

from naively import __version__

# The door of the command: whatever moves behind it, this is the only line to edit.
from naively.cli import main

from .inputs import BUILDERS

STORED = Path(__file__).parent / "stored"
ENVIRONMENT = {"COLUMNS": "80", "LINES": "40", "NO_COLOR": "1", "TERM": "dumb", "LC_ALL": "C.UTF-8"}


@dataclass(frozen=True)
class Entry:
    """Command lines that run in one folder, one after the other, and the files they find there."""

    name: str
    inputs: str
    lines: tuple[str, ...]


Sections = dict[str, str]  # what an entry gave: a text by heading


# What has no fixed result ------------------------------------------------------------------------

_PACKED = r"\.(?:parquet|h5ad|npz|gz|bz2|xz|zst)"  # their bytes depend on who packed them
_MASKS = [
    # The version of the package, in summaries, reports and --version.
    (re.compile(rf'("version": "|naively |naively, version ){re.escape(__version__)}\b'), r"\1<v>"),
    # Size and digest of packed files: pyarrow, HDF5 and zlib write other bytes in other versions.
    (
        re.compile(rf'("name": "[^"]*{_PACKED}".*?)"size": \d+, "sha256": "[0-9a-f]*"'),
        r'\1"size": <n>, "sha256": <digest>',
    ),
    (
        re.compile(rf"(\| [^|]*{_PACKED} \| [^|]* \| [^|]* \|) [\d,]+ \| [^|]* \|"),
        r"\1 <n> | <digest> |",
    ),
    # The same in the names of counted shards.
    (re.compile(rf"({_PACKED}):\d+:[0-9a-f]+#"), r"\1:<n>:<digest>#"),
    # Memory: another machine has more or less of it.
    # Records are called by a digest of how their features are defined.
    (re.compile(r"\b[0-9a-f]{16}(?:[0-9a-f]{16})?\.npz"), "<digest>.npz"),
    (re.compile(r"this machine has [\d.,]+ \w+"), "this machine has <memory>"),
]


def masked(text: str, folder: str) -> str:
    """Take out what differs between machines, versions and runs."""
    text = text.replace(folder, "<folder>")
    for pattern, instead in _MASKS:
        text = pattern.sub(instead, text)
    return "".join(c if c == "\n" or c.isprintable() else f"\\x{ord(c):02x}" for c in text)


# Running -----------------------------------------------------------------------------------------


@contextmanager
def _standing_in(folder: str) -> Iterator[None]:
    """Be in a folder, with the environment of a terminal of fixed width."""
    where = os.getcwd()
    os.chdir(folder)
    try:
        with mock.patch.dict(os.environ, ENVIRONMENT):
            yield
    finally:
        os.chdir(where)


@contextmanager
def _standard_input(content: bytes) -> Iterator[None]:
    """Put a pipe with the content where the standard input is, which some open by name."""
    kept, stream = os.dup(0), sys.stdin
    end, other = os.pipe()
    os.write(other, content)  # less than a pipe holds
    os.close(other)
    os.dup2(end, 0)
    os.close(end)
    try:
        with open(0, encoding="utf-8", closefd=False) as sys.stdin:
            yield
    finally:
        sys.stdin = stream
        os.dup2(kept, 0)
        os.close(kept)


def run(line: str) -> tuple[int, str, str]:
    """Run a command line here; return exit status, standard output and standard error.

    `< FILE` at its end is the standard input.
    """
    line, _, source = line.partition(" < ")
    streams = sys.argv, sys.stdout, sys.stderr
    out, error = (io.TextIOWrapper(io.BytesIO(), "utf-8", write_through=True) for _ in range(2))
    status = 0
    with _standard_input(Path(source).read_bytes() if source else b""), warnings.catch_warnings():
        warnings.simplefilter("error")
        sys.argv, sys.stdout, sys.stderr = ["naively", *shlex.split(line)], out, error
        try:
            main()
        except SystemExit as end:
            status = end.code if isinstance(end.code, int) else int(bool(end.code))
        except Exception as fault:  # what Python would show as a traceback, with status 1
            status = 1
            error.write(f"{type(fault).__name__}: {fault}\n")
        finally:
            sys.argv, sys.stdout, sys.stderr = streams
    return status, *(each.buffer.getvalue().decode() for each in (out, error))


def result_of(entry: Entry) -> Sections:
    """Run the lines of an entry in a folder of its own; return all they gave."""
    with tempfile.TemporaryDirectory() as name:
        folder = os.path.realpath(name)
        for path, content in BUILDERS[entry.inputs]().items():
            target = Path(folder, path)
            target.parent.mkdir(parents=True, exist_ok=True)
            target.write_bytes(content)
        with _standing_in(folder):
            found = _sections(entry)
        return {heading: masked(text, folder) for heading, text in found.items()}


def _sections(entry: Entry) -> Sections:
    given = _files()
    found: Sections = {}
    outputs = []
    for number, line in enumerate(entry.lines, 1):
        status, out, error = run(line)
        outputs.append(out)
        found[f"{number} $ naively {line}"] = f"exit status {status}\n"
        found[f"{number} output"] = out
        found[f"{number} error"] = error
    new = [path for path in _files() if path not in given]
    found["files"] = "".join(f"{path}\n" for path in new)
    for path in new:
        if path.endswith((".csv", ".md", ".json")):
            text = Path(path).read_bytes().decode()
            found[path] = "(as printed)\n" if text in outputs else text
    probe = next((path for path in given if path.startswith("probe.")), None)
    if probe:
        for path in new:
            if path.endswith("model.npz"):
                status, out, error = run(f"predict {path} {probe} --probabilities")
                found[f"answers of {path}"] = out if not status else error
    return {heading: text for heading, text in found.items() if text}


def _files() -> list[str]:
    return sorted(str(path) for path in Path().rglob("*") if path.is_file())


# Keeping -----------------------------------------------------------------------------------------

_ENTRY, _SECTION, _INDENT = "=== ", "--- ", "    "


def dump(results: dict[str, Sections]) -> str:
    """Text of many results: one line a line, indented under the heading of its section."""
    parts = []
    for name, sections in results.items():
        parts.append(f"{_ENTRY}{name}\n")
        for heading, text in sections.items():
            parts.append(f"{_SECTION}{heading}\n")
            parts += [f"{_INDENT}{line}\n" if line else "\n" for line in text.splitlines()]
        parts.append("\n")
    return "".join(parts)


def parse(text: str) -> dict[str, Sections]:
    """Read what `dump` wrote, but for blank lines at the end of sections."""
    results: dict[str, dict[str, list[str]]] = {}
    sections: dict[str, list[str]] = {}
    lines: list[str] = []
    for line in text.splitlines():
        if line.startswith(_ENTRY):
            sections = results.setdefault(line.removeprefix(_ENTRY), {})
        elif line.startswith(_SECTION):
            lines = sections.setdefault(line.removeprefix(_SECTION), [])
        else:
            lines.append(line.removeprefix(_INDENT))
    return {
        name: {heading: "\n".join(each).rstrip("\n") for heading, each in found.items()}
        for name, found in results.items()
    }
