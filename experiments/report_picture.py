"""The picture of a report in README.md: what `naively demo` makes, with the stability of features.

Writes docs/report.png, which needs chromium; the quick run makes another report, without the
picture.
"""

import json
import sys
import tempfile
from pathlib import Path

from click.testing import CliRunner

from experiments.frame import Result, Table
from experiments.thresholds import file_of
from naively.cli.commands import naively

ROOT = Path(__file__).parents[1]


def photographed(report):
    sys.path.insert(0, str(ROOT / "tests"))
    from browser import Browser

    with Browser(width=1100, height=430) as browser:
        browser.open(report)
        browser.screenshot(ROOT / "docs" / "report.png")


def run(data, quick):
    result = Result()
    with tempfile.TemporaryDirectory() as folder:
        commands = [["demo", "--out", f"{folder}/demo"]]
        asked = [f"{folder}/demo/docstrings.jsonl.gz", "--label", "library", "-k", "50"]
        asked += ["--words", "stop-words=english", "--judge", "stability"]
        if quick:
            commands, asked = [], [str(file_of(data, "subj", folder)), "-k", "50", "--quick"]
        commands.append(["select", *asked, "--out", f"{folder}/result"])
        for command in commands:
            done = CliRunner().invoke(naively, [*command, "-q"], catch_exceptions=False)
            result.expect(f"`naively {command[0]}` ends well", done.exit_code == 0)
        report = Path(folder, "result", "report.html")
        result.expect("there is a report", report.exists())
        if not quick:
            photographed(report)
        found = json.loads(Path(folder, "result", "summary.json").read_text())
    result.tables["The report that is shown"] = Table(
        ["rows", "features", "accuracy on the test rows"],
        [[found["n_rows"], found["n_features"], found["evaluation"]["accuracy"]]],
    )
    return result
