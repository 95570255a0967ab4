"""The picture of a report in README.md: what `naively demo` makes, with the stability of features.

python experiments/report_picture.py        writes docs/report.png; needs chromium
"""

import sys
import tempfile
from pathlib import Path

from click.testing import CliRunner

from naively.cli.commands import naively

ROOT = Path(__file__).parents[1]
sys.path.insert(0, str(ROOT / "tests"))

from browser import Browser  # noqa: E402


def main():
    with tempfile.TemporaryDirectory() as folder:
        table = Path(folder, "demo", "docstrings.jsonl.gz")
        asked = ["--label", "library", "-k", "50", "--words", "stop-words=english"]
        for arguments in (
            ["demo", "--out", str(table.parent)],
            ["select", str(table), *asked, "--judge", "stability", "--out", f"{folder}/result"],
        ):
            done = CliRunner().invoke(naively, [*arguments, "-q"], catch_exceptions=False)
            assert done.exit_code == 0, done.output
        with Browser(width=1100, height=430) as browser:
            browser.open(Path(folder, "result", "report.html"))
            browser.screenshot(ROOT / "docs" / "report.png")


if __name__ == "__main__":
    main()
