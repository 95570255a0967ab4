"""The picture of a report in README.md: what `naively demo` makes, with the stability of features.

Writes docs/report.png, which needs chromium; the quick run makes the report alone.
"""

import sys
import tempfile
from pathlib import Path

from click.testing import CliRunner

from experiments.frame import Result, Table
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
        table = Path(folder, "demo", "docstrings.jsonl.gz")
        asked = ["--label", "library", "-k", "50", "--words", "stop-words=english"]
        asked += ["--quick"] if quick else ["--judge", "stability"]
        for arguments in (
            ["demo", "--out", str(table.parent)],
            ["select", str(table), *asked, "--out", f"{folder}/result"],
        ):
            done = CliRunner().invoke(naively, [*arguments, "-q"], catch_exceptions=False)
            result.expect(f"`naively {arguments[0]}` ends well", done.exit_code == 0)
        report = Path(folder, "result", "report.html")
        made = report.exists()
        result.expect("there is a report", made)
        if made and not quick:
            photographed(report)
        size = [["docs/report.png", made]]
    result.tables["Made"] = Table(["picture", "of a report"], size)
    return result
