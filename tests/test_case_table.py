"""The table of failures in `cases.md` names tests that are there."""

import re
from pathlib import Path

TESTS = Path(__file__).parent


def test_every_failure_is_held_by_tests_that_are_there():
    _, _, *rows = re.findall(r"^\|(.+?)\|(.+?)\|$", (TESTS / "cases.md").read_text(), re.MULTILINE)
    assert rows
    for failure, held in rows:
        names = re.findall(r"(test_\w+\.py)::(test_\w+)", held)
        assert names, failure
        for file, test in names:
            assert f"def {test}(" in (TESTS / file).read_text(), f"{failure}: {file}::{test}"
