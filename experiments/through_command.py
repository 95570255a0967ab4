"""Through the command: `naively select FILE ...` on the open sets.

Defaults unless stated; accuracy on the official test rows, or on 20 % held out. The certificate is
the share of the largest possible gain that the selection provably reaches. Kept in
results/through_command.csv.
"""

import json
import shlex
import tempfile
from pathlib import Path

from click.testing import CliRunner

from experiments.cells import Cells
from experiments.frame import Result, Table
from experiments.thresholds import file_of
from naively.cli.commands import naively

ENGLISH, CHARACTERS = "--words stop-words=english", "--words analyzer=char --words ngrams=1,3"
CASES = [
    ("imdb", "-k 100"),
    ("imdb", "-k 100 --model bernoulli"),
    ("imdb", f"-k 100 {ENGLISH}"),
    ("imdb", f"-k 9 {ENGLISH}"),
    ("newsgroups20", "-k 1000"),
    ("newsgroups20", "-k 1000 --model bernoulli"),
    ("udhr", f"-k 2000 {CHARACTERS}"),
    ("udhr", f"-k 2000 {CHARACTERS} --model bernoulli"),
    ("sst2", "-k 100"),
    ("mpqa", "-k 100"),
    ("sms_spam", "-k 100"),
]
TEXT = {"newsgroups20": "--text subject --text body"}  # else the command finds it
FIGURES = ["classes", "accuracy", "certificate, %"]


def judged(data, name, options):
    """Classes, accuracy and what the certificate proves, in percent."""
    with tempfile.TemporaryDirectory() as folder:
        file = file_of(data, name, folder)
        asked = shlex.split(options) + shlex.split(TEXT.get(name, ""))
        if "split" in data.records(name)[0]:
            asked += ["--read", "split=split"]
        command = ["select", str(file), *asked, "--out", f"{folder}/r", "--quick", "-q"]
        done = CliRunner().invoke(naively, command, catch_exceptions=False)
        if done.exit_code:
            raise RuntimeError(done.output)
        found = json.loads(Path(folder, "r", "summary.json").read_text())
    proven = 100 * (1 - found["certificate"]["relative_gap"])
    return [len(found["classes"]), float(found["evaluation"]["accuracy"]), float(proven)]


def run(data, quick):
    result = Result()
    cells = Cells("through_command", ["set", "options"], FIGURES, quick)
    for name, options in CASES[:2] if quick else CASES:
        cells.computed((name, options), lambda n=name, o=options: judged(data, n, o))
        found = cells[name, options]
        result.expect(f"{name} is told better than by chance", found["accuracy"] > 0.05)
        result.expect(
            f"the selection of {name} is proven nearly best", found["certificate, %"] > 99
        )
    table = Table(["set", "options", *FIGURES], [[*k, *v.values()] for k, v in cells.found.items()])
    cells.tell(table)
    result.tables["Through the command"] = table
    return result
