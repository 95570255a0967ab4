"""What an experiment gives, and how it is kept: a JSON file, its figures, a page made of all.

An experiment is a module of this folder with a docstring (first line its title, the rest what was
done, without figures) and `run(data, quick) -> Result`. `data` is a `datasets.Data`; `quick` asks
for a run of seconds on generated look-alikes, whose orderings (`Result.expect`) must hold.
"""

import json
import platform
import sys
import time
import tomllib
from dataclasses import dataclass, field
from importlib import import_module, metadata
from pathlib import Path
from types import ModuleType
from typing import Any

import matplotlib as mpl
from matplotlib.figure import Figure

from experiments.datasets import Data

HERE = Path(__file__).parent
RESULTS = HERE / "results"
PAGE = HERE / "RESULTS.md"
VERDICTS = ("held", "partly", "not held", "not testable")
LIBRARIES = ("numpy", "scipy", "scikit-learn", "numba")


@dataclass
class Table:
    """A table of figures; `times` are the columns that another run need not repeat."""

    columns: list[str]
    rows: list[list[Any]] = field(default_factory=list)
    times: tuple[str, ...] = ()
    note: str = ""

    def markdown(self) -> list[str]:
        numeric = [
            all(isinstance(row[j], int | float | None) for row in self.rows)
            for j in range(len(self.columns))
        ]
        lines = [
            "| " + " | ".join(self.columns) + " |",
            "| " + " | ".join("---:" if n else "---" for n in numeric) + " |",
        ]
        lines += ["| " + " | ".join(cell(value) for value in row) + " |" for row in self.rows]
        return [*lines, *(["", self.note] if self.note else [])]

    def without_times(self) -> list[list[Any]]:
        kept = [j for j, column in enumerate(self.columns) if column not in self.times]
        return [[row[j] for j in kept] for row in self.rows]


def cell(value: Any) -> str:
    """How a figure is shown."""
    if value is None:
        return ""
    if isinstance(value, bool | str):
        return str(value)
    if isinstance(value, int):
        return f"{value:,}"
    return f"{value:.4g}" if abs(value) < 1e4 else f"{value:,.0f}"


@dataclass
class Claim:
    """What we find of an item of the papers (a key of items/*.toml), and whether it holds."""

    item: str
    ours: str
    verdict: str
    why: str = ""


@dataclass
class Result:
    tables: dict[str, Table] = field(default_factory=dict)
    figures: dict[str, Figure] = field(default_factory=dict)
    claims: list[Claim] = field(default_factory=list)
    failed: list[str] = field(default_factory=list)

    def claim(self, item: str, ours: str, verdict: str | bool, why: str = "") -> None:
        if isinstance(verdict, bool):
            verdict = "held" if verdict else "not held"
        if verdict not in VERDICTS:
            raise ValueError(f"verdict must be one of {', '.join(VERDICTS)}: {verdict!r}")
        self.claims.append(Claim(item, ours, verdict, why))

    def expect(self, sentence: str, true: bool) -> None:
        """An ordering that must be so, of generated data too; the command ends with 1 if not."""
        if not true:
            self.failed.append(sentence)


def names() -> list[str]:
    """The experiments of this folder."""
    return sorted(
        file.stem
        for file in HERE.glob("*.py")
        if "\ndef run(data" in file.read_text(encoding="utf8")
    )


def module_of(name: str) -> ModuleType:
    return import_module(f"experiments.{name}")


def run(name: str, data: Data, quick: bool) -> tuple[Result, float]:
    start = time.perf_counter()
    result = module_of(name).run(data, quick)
    return result, time.perf_counter() - start


def keep(name: str, result: Result, seconds: float) -> None:
    """Write results/NAME.json and a picture for each figure."""
    mpl.rcParams["svg.hashsalt"] = "naively"
    for figure, drawn in result.figures.items():
        drawn.savefig(RESULTS / f"{name}-{figure}.svg", metadata={"Date": None})
    found = record(
        result.tables,
        seconds=round(seconds),
        figures=list(result.figures),
        claims=[vars(claim) for claim in result.claims],
    )
    write(RESULTS / f"{name}.json", found)


def record(tables: dict[str, Table], **more: Any) -> dict[str, Any]:
    """What is kept of a run: its day, its libraries, its tables."""
    return {
        "date": time.strftime("%Y-%m-%d"),
        "versions": {
            "python": platform.python_version(),
            **{library: metadata.version(library) for library in LIBRARIES},
        },
        **more,
        "tables": {title: vars(table) for title, table in tables.items()},
    }


def write(path: Path, found: dict[str, Any]) -> None:
    """One line for each row of a table."""
    path.write_text(_lines(found) + "\n", encoding="utf8")


def _lines(value: Any, depth: int = 0) -> str:
    """JSON with a line for each row of a table, and for all that is shorter than a line."""
    flat = json.dumps(value, ensure_ascii=False, default=_plain)
    if len(flat) < 100 or (
        isinstance(value, list) and not any(isinstance(v, list | dict) for v in value)
    ):
        return flat
    if isinstance(value, dict):
        inner = [f"{json.dumps(k)}: {_lines(v, depth + 1)}" for k, v in value.items()]
    elif isinstance(value, list):
        inner = [_lines(v, depth + 1) for v in value]
    else:
        return flat
    first, last = "{}" if isinstance(value, dict) else "[]"
    pad = "\n" + " " * depth
    return first + ",".join(f"{pad} {line}" for line in inner) + pad + last


def _plain(value: Any) -> Any:
    return value.item() if hasattr(value, "item") else list(value)


def kept(name: str, folder: Path = RESULTS) -> dict[str, Any]:
    found: dict[str, Any] = json.loads((folder / f"{name}.json").read_text(encoding="utf8"))
    return found


def kept_table(name: str, title: str, folder: Path = RESULTS) -> Table:
    table = kept(name, folder)["tables"][title]
    return Table(table["columns"], table["rows"], tuple(table["times"]), table["note"])


def differences(name: str, result: Result) -> list[str]:
    """Tables whose figures, times apart, are not those that are kept."""
    fresh = json.loads(
        json.dumps({t: vars(table) for t, table in result.tables.items()}, default=_plain)
    )
    return [
        title
        for title, table in fresh.items()
        if Table(table["columns"], table["rows"], tuple(table["times"])).without_times()
        != kept_table(name, title).without_times()
    ]


def items() -> dict[str, dict[str, str]]:
    """Tables, figures, theorems, claims of the papers: id -> paper, what, says, shown."""
    found: dict[str, dict[str, str]] = {}
    for file in ("nfs", "cen", "hyb", "err"):
        found |= tomllib.loads((HERE / "items" / f"{file}.toml").read_text(encoding="utf8"))
    return found


def page() -> str:
    """RESULTS.md: a row for each item of the papers, then each experiment, whole."""
    done = [name for name in names() if (RESULTS / f"{name}.json").exists()]
    claims = {
        claim["item"]: (name, Claim(**claim)) for name in done for claim in kept(name)["claims"]
    }
    unknown = set(claims) - set(items())
    if unknown:
        raise ValueError(f"not in items/*.toml: {', '.join(sorted(unknown))}")
    lines = [
        "# Results",
        "",
        "Made by `python -m experiments page` from `results/`; nothing here is typed by hand.",
        "",
        *_counts(claims),
    ]
    for paper in dict.fromkeys(item["paper"] for item in items().values()):
        lines += ["", f"## {paper}", "", "| item | the paper | here | verdict | shown by |"]
        lines += ["| --- | --- | --- | --- | --- |"]
        for key, item in items().items():
            if item["paper"] == paper:
                lines.append("| " + " | ".join(_row(item, claims.get(key))) + " |")
    for name in done:
        record, text = kept(name), (module_of(name).__doc__ or "").strip()
        title, _, rest = text.partition("\n")
        lines += ["", f"## {title.rstrip('.')}", "", f"`python -m experiments {name} --data DATA`"]
        lines += [f"({record['date']}, {record['seconds']:,} s)", "", rest.strip()]
        for figure in record["figures"]:
            lines += ["", f"![{figure}](results/{name}-{figure}.svg)"]
        for table in record["tables"]:
            lines += ["", f"**{table}**", "", *kept_table(name, table).markdown()]
    return "\n".join(lines) + "\n"


def _row(item: dict[str, str], found: tuple[str, Claim] | None) -> tuple[str, ...]:
    if found is None:
        return item["what"], item["says"], "", item.get("verdict", "open"), item.get("shown", "")
    name, claim = found
    ours = f"{claim.ours} ({claim.why})" if claim.why else claim.ours
    return item["what"], item["says"], ours, claim.verdict, f"`experiments {name}`"


def _counts(claims: dict[str, tuple[str, Claim]]) -> list[str]:
    verdicts = [*VERDICTS, "open"]
    lines = ["| paper | items | " + " | ".join(verdicts) + " |"]
    lines += ["| --- |" + " ---: |" * (len(verdicts) + 1)]
    for paper in dict.fromkeys(item["paper"] for item in items().values()):
        found = [
            claims[key][1].verdict if key in claims else item.get("verdict", "open")
            for key, item in items().items()
            if item["paper"] == paper
        ]
        figures = [len(found), *(found.count(verdict) for verdict in verdicts)]
        lines.append(f"| {paper} | " + " | ".join(map(str, figures)) + " |")
    return lines


def report(text: str) -> None:
    """A line of progress, beside the results."""
    print(text, file=sys.stderr, flush=True)
