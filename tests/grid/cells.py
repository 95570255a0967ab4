"""Cells of the grid: what each runs, and what must come of it."""

from __future__ import annotations

import contextlib
import json
import os
import re
import shutil
from collections.abc import Iterator
from dataclasses import dataclass, fields, replace
from functools import cache
from pathlib import Path
from tempfile import mkdtemp
from typing import Any

import numpy as np
from click.testing import CliRunner, Result
from tests.grid.sources import (
    FORMATS,
    NAMED,
    PACKINGS,
    SPARSE,
    TABLES,
    Table,
    numbers,
    texts,
    write,
)

from naively.cli.commands import naively
from naively.jobs import data
from naively.jobs.model_file import ModelFile, load_model
from naively.jobs.strangers import ABSENT_WORDS
from naively.models import MODELS
from naively.read import batch

WAYS = ("memory", "streams", "--on 2", "shards", "shards --on 2")
CHANGES = (
    "nothing", "columns", "rows", "name", "empty part", "hole", "hole ignored", "hole of labels",
    "name twice", "unseen class",
)  # fmt: skip


@dataclass(frozen=True)
class Cell:
    """One run of a command."""

    command: str
    content: str
    format: str
    packing: str
    model: str
    way: str
    change: str
    labels: str

    def __str__(self) -> str:
        return ", ".join(str(getattr(self, each.name)) or "plain" for each in fields(self))


DIMENSIONS: dict[str, tuple[str, ...]] = {
    "command": ("select", "predict", "explain", "cv", "count"),
    "content": ("numbers", "texts"),
    "format": tuple(FORMATS),
    "packing": tuple(PACKINGS),
    "model": tuple(MODELS),
    "way": WAYS,
    "change": CHANGES,
    "labels": ("text", "integer", "boolean", "date", "decimal", "category"),
}


@dataclass(frozen=True)
class Outcome:
    """What a run gave: its exit status, what it said, and its result."""

    status: int
    said: str
    result: object
    left: tuple[str, ...]  # files that it wrote

    @property
    def refused(self) -> bool:
        """Whether it said one sentence and wrote nothing."""
        lines = [line for line in self.said.splitlines() if line]
        if lines[:1] and lines[0].startswith("Usage: "):  # of an option that the command lacks
            lines = lines[2:]
        return self.status == 2 and not self.left and len(lines) == 1


def table_of(cell: Cell) -> Table:
    """Rows of a cell."""
    table = (numbers if cell.content == "numbers" else texts)(cell.labels)
    entries, labels = table.entries.copy(), list(table.labels)
    match cell.change:
        case "columns":
            return replace(table, entries=entries[:, ::-1], names=table.names[::-1])
        case "rows":
            return table.rows(np.random.default_rng(1).permutation(len(labels)))
        case "hole" | "hole ignored":
            entries[7, 0] = None
        case "hole of labels":
            labels[7] = None
        case "name twice":
            return replace(table, names=(table.names[0], table.names[0], *table.names[2:]))
        case "unseen class" if cell.labels in ("text", "category"):
            labels[7] = "unseen"
    return replace(table, entries=entries, labels=tuple(labels))


def _files(cell: Cell, table: Table) -> str:
    """Write the files of a cell; return their pattern."""
    name = "odd name [1] ü" if cell.change == "name" else "rows"
    parts = [table]
    if cell.way.startswith("shards"):
        parts = [table.rows(slice(i, i + 16)) for i in range(0, 48, 16)]
    if cell.change == "empty part":
        parts = [*parts, table.rows(slice(0, 0))]
    if len(parts) == 1:
        path = write(table, name, cell.format, cell.packing)
    else:
        for i, part in enumerate(parts):
            path = write(part, f"{name.split(' ')[0]}-{i}", cell.format, cell.packing)
        path = path.replace(f"-{len(parts) - 1}.", "-?.")
    return path


def _read(cell: Cell, table: Table) -> list[str]:
    """Options that say how the file of a cell is read."""
    learns, options = cell.command in LEARNING, []
    if learns and cell.content == "texts":
        options += ["--text", "text"] if cell.model != "mixed" else []
    if learns and cell.content == "numbers" and cell.format in TABLES and cell.model != "mixed":
        options += ["--read", "numbers"]
    if cell.format not in NAMED and cell.content == "numbers":
        Path("names.txt").write_text("\n".join(table.names) + "\n")
        options += ["--read", "names=names.txt"]
        Path("labels.txt").write_text("\n".join(table.spelled()) + "\n")
        if learns:
            options += ["--read", "labels=labels.txt"]
    if learns and cell.change == "hole ignored":
        options += ["--read", "missing=ignore"]
    return options


def _line(cell: Cell, path: str, options: list[str], trained: str) -> list[str]:
    model = ["--model", cell.model]
    on = ["--on", "2"] if "--on" in cell.way else []
    match cell.command:
        case "select":
            how = [*options, *model, "-k", "2", *on]
            return ["select", path, *how, "--quick", "--out", "out", "-q"]
        case "cv":
            return ["cv", path, *options, *model, "--ks", "1,2", *on, "--json", "-q"]
        case "count":
            return ["count", path, *options, *model, *on, "--out", "out.stats", "-q"]
        case "predict":
            return ["predict", trained, path, *options, "--probabilities", *on, "-q"]
        case _:
            return ["explain", trained, "--file", path, "--row", "8", *options, "--json", *on]


@contextlib.contextmanager
def _inside(folder: str) -> Iterator[None]:
    before = os.getcwd()
    os.chdir(folder)
    try:
        yield
    finally:
        os.chdir(before)


@contextlib.contextmanager
def _by(way: str) -> Iterator[None]:
    """Stream in small batches, where the way is that."""
    kept = data.HELD_BYTES, batch.BATCH_ROWS
    if way == "streams":
        data.HELD_BYTES, batch.BATCH_ROWS = 0, 7
    try:
        yield
    finally:
        data.HELD_BYTES, batch.BATCH_ROWS = kept


def run_line(line: list[str]) -> Result:
    """Run a command in this process; what is no refusal is raised."""
    found = CliRunner().invoke(naively, line)
    if found.exception is not None and not isinstance(found.exception, SystemExit):
        raise found.exception
    return found


def run(cell: Cell) -> Outcome:
    """Run a cell in a folder of its own."""
    trained = "" if cell.command in LEARNING else trained_on(cell.content, cell.model, cell.labels)
    folder = mkdtemp(prefix="grid-")
    try:
        with _inside(folder), _by(cell.way):
            table = table_of(cell)
            path = _files(cell, table)
            line = _line(cell, path, _read(cell, table), trained)
            before = set(os.listdir())
            found = run_line(line)
            left = tuple(sorted(set(os.listdir()) - before))
            result = _result(cell, found.stdout) if found.exit_code == 0 else None
            return Outcome(found.exit_code, found.stderr, result, left)
    finally:
        shutil.rmtree(folder)


def _result(cell: Cell, shown: str) -> object:
    """What has to be equal: without paths, sizes and places of columns."""
    if cell.command == "count":
        run_line(["select", "out.stats", "--model", cell.model, "-k", "2", "--out", "out", "-q"])
    if cell.command in ("select", "count"):
        summary = json.loads(Path("out/summary.json").read_text().replace(" of the first ", " of "))
        del summary["settings"]["command"], summary["files"]
        for feature in summary["features"]:
            del feature["column"]
        return {
            "features": Path("out/features.csv").read_text(),
            "certificate": summary.pop("certificate"),
            "summary": summary,
        }
    if cell.command == "predict":
        return [line.split(",")[1:] for line in shown.splitlines()]  # rows of cells have names
    return json.loads(shown.replace(" of the first ", " of "))  # of streams: how many lack a text


@cache
def trained_on(content: str, model: str, labels: str) -> str:
    """Folder of a model of the undamaged rows."""
    folder = mkdtemp(prefix="grid-model-")
    cell = Cell("select", content, "csv", "", model, "memory", "nothing", labels)
    with _inside(folder):
        table = table_of(cell)
        line = _line(cell, _files(cell, table), _read(cell, table), "")
        assert run_line(line).exit_code == 0
    return str(Path(folder, "out"))


def model_of(cell: Cell) -> ModelFile:
    """Return the model that a cell applies."""
    return load_model(str(Path(trained_on(cell.content, cell.model, cell.labels), "model.npz")))


# What must come of a cell ------------------------------------------------------------------------

LEARNING = ("select", "cv", "count")
TELLING = ("hole", "hole ignored", "hole of labels", "unseen class")  # changes of the rows


def sensible(cell: Cell) -> bool:
    """Whether there is such a cell.

    Texts are in tables, and only `select` and `count` have workers. Which rows are in which fold
    hangs on the order of columns.
    """
    return (
        (cell.content == "numbers" or cell.format in (*TABLES, "feather"))
        and ("--on" not in cell.way or cell.command in ("select", "count"))
        and (cell.change != "columns" or cell.command != "cv")
        and (cell.change != "hole ignored" or cell.command in LEARNING)
        and (cell.change != "empty part" or cell.command != "explain")  # it reads to its row
    )


def refusals(cell: Cell) -> list[str]:
    """Return the reasons to refuse a cell, as patterns of what is said: one of them is given."""
    learns, numbers = cell.command in LEARNING, cell.content == "numbers"
    matrix, kind = cell.format not in TABLES, MODELS[cell.model]
    many = cell.way.startswith("shards") or cell.change == "empty part"
    has_hole = cell.change == "hole" or (cell.change == "hole ignored" and learns)
    trained = () if learns else model_of(cell).names
    reasons = {
        r"is not one of .multinomial": (
            (cell.command == "cv" and kind.regions)
            or (cell.command == "count" and (not kind.statistic or kind.takes == "table"))
        ),
        r"the name does not tell the format": cell.format == "feather",
        r"a mixed model reads tables": cell.model == "mixed" and matrix,
        r"--read labels belongs to one file": learns and many and cell.format in SPARSE,
        r"the matrix must have rows": (
            matrix and cell.change == "empty part" and cell.format != "svmlight"
        ),
        r"--read missing.* has no effect on": (
            cell.change == "hole ignored" and (not numbers or "missing" not in kind.parameters)
        ),
        r"of texts, occurrences are counted": (
            cell.command == "count" and not numbers and kind.statistic in ("moments", "categories")
        ),
        r"the value of `u` is (missing|not a finite number)": (
            numbers and has_hole and cell.model != "mixed" and (learns or "u" in trained)
            and not (cell.change == "hole ignored" and "missing" in kind.parameters)
        ),
        r"2 (columns|fields) are called|needs the column `v`": cell.change == "name twice",
    }  # fmt: skip
    return [each for each, holds in reasons.items() if holds]


def reference(cell: Cell) -> Cell:
    """Return the plain cell that must give the same."""
    telling = cell.change in TELLING or (cell.change == "rows" and cell.command not in LEARNING)
    change = cell.change if telling else "nothing"
    return replace(cell, format="csv", packing="", way="memory", change=change)


_known = cache(run)


def fault(cell: Cell) -> str:
    """What is wrong with the outcome of a cell, or nothing."""
    found, reasons = run(cell), refusals(cell)
    if found.status:
        given = found.refused and any(re.search(each, found.said) for each in reasons)
        return "" if given else f"of {reasons} none in one sentence: {found.said} {found.left}"
    if reasons:
        return f"not refused: {reasons}"
    one, two = found.result, _known(reference(cell)).result
    if cell.change == "columns" and cell.command in ("select", "count"):
        one, two = ({k: v for k, v in each.items() if k != "summary"} for each in (one, two))
    return difference(one, two, exact=_exact(cell))


def _exact(cell: Cell) -> bool:
    """Whether sums are exact in any order, and those of scores are of the same order."""
    whole = MODELS[cell.model].statistic in ("counts", "presence", "categories")
    return (
        whole
        and cell.change != "columns"
        and (cell.command in LEARNING or cell.format not in SPARSE)
    )


def difference(one: Any, two: Any, *, exact: bool, at: str = "") -> str:
    """Where two results differ, numbers but for rounding unless exact; or nothing."""
    if isinstance(one, dict) and isinstance(two, dict) and one.keys() == two.keys():
        pairs = [(f"{at}.{key}", one[key], two[key]) for key in one]
    elif isinstance(one, list) and isinstance(two, list) and len(one) == len(two):
        pairs = [(f"{at}[{i}]", *each) for i, each in enumerate(zip(one, two, strict=True))]
    elif _told(one) == _told(two) or (not exact and _close(one, two)):
        return ""
    else:
        return f"{at}: {one!r} and {two!r}"
    found = (difference(*each, exact=exact, at=at) for at, *each in pairs)
    return next(filter(None, found), "")


def _told(value: Any) -> Any:
    """The value, without how files of text write nothing, which only they are told of."""
    return value.replace(ABSENT_WORDS, "") if isinstance(value, str) else value


def _close(one: Any, two: Any) -> bool:
    try:
        return bool(np.isclose(float(one), float(two), rtol=1e-7, atol=1e-12))
    except (TypeError, ValueError):
        return False
