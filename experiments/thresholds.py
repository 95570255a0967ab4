"""Thresholds for a wanted precision: chosen on five folds of the training rows, told on test rows.

`naively select -k 1000 --judge precision=CLASS=0.95`. A split that a set has is kept; of the
others a fifth of each class is held out. "within" says whether the wanted precision lies in the 95
% interval of the test, or below it. Kept in results/thresholds.csv.
"""

import json
import tempfile
from pathlib import Path

from click.testing import CliRunner

from experiments.cells import Cells
from experiments.datasets import FILES
from experiments.frame import Result, Table
from naively.cli.commands import naively

K = 1000
WANTED = 0.95
SETS = {
    "sms_spam": "spam",
    "subj": "subjective",
    "rt_polarity": "pos",
    "mpqa": "neg",
    "imdb": "pos",
}
FIGURES = ["nats", "test precision", "low", "high", "rows answered", "recall"]


def file_of(data, name, folder):
    """The file of a set; of a generated one it is written."""
    if not data.generated:
        return data.folder / FILES.get(name, f"{name}/{name}.jsonl.gz")
    table = Path(folder, "rows.jsonl")
    lines = (json.dumps(record) for record in data.records(name))
    table.write_text("\n".join(lines) + "\n", encoding="utf8")
    return table


def threshold(data, name, label, k):
    """Figures of the threshold that the command chooses for a class."""
    with tempfile.TemporaryDirectory() as folder:
        split = ["--read", "split=split"] if name == "imdb" else []
        wanted = ["--judge", f"precision={label}={WANTED}"]
        command = ["select", str(file_of(data, name, folder)), "-k", str(k), *wanted, *split]
        command += ["--out", f"{folder}/r", "--quick", "-q"]
        done = CliRunner().invoke(naively, command, catch_exceptions=False)
        if done.exit_code:
            raise RuntimeError(done.output)
        (found,) = json.loads(Path(folder, "r", "summary.json").read_text())["thresholds"]
    keys = ["log_odds", "reached", "low", "high", "test_rows", "other"]
    return ["" if found.get(key) is None else found[key] for key in keys]


def run(data, quick):
    result = Result()
    cells = Cells("thresholds", ["set", "class"], FIGURES, quick)
    table = Table(["set", "class", *FIGURES, "within"])
    sets = {"imdb": "pos"} if quick else SETS
    for name, label in sets.items():
        found = cells.computed(
            (name, label),
            lambda name=name, label=label: threshold(data, name, label, 300 if quick else K),
        )
        high = found["high"]
        within = "" if high is None else "yes" if high >= WANTED else "no"
        table.rows.append([name, label, *found.values(), within])
        result.expect(f"a threshold of {name} answers rows", found["nats"] is not None)
    cells.tell(table)
    result.tables["Thresholds for a precision of 0.95"] = table
    return result
