"""What the estimators compute and most commands answer is what is stored; see `tests/golden`."""

import pytest

from golden.commands import OTHER, SELECT
from golden.comparing import alike, difference
from golden.renewing import groups, stored
from golden.running import STORED

GROUPS = {group: found for group, found in groups().items() if group not in SELECT}


@pytest.mark.parametrize(
    ("group", "name"), [(group, name) for group, found in GROUPS.items() for name in found]
)
def test_golden(group, name):
    said = difference(stored(group)[name], GROUPS[group][name]())
    if said:
        pytest.fail(f"{name}\n{said}", pytrace=False)


def test_all_that_is_stored_is_compared():
    everything = groups()
    assert {path.stem for path in STORED.glob("*")} == set(everything)
    for group, found in everything.items():
        assert list(stored(group)) == list(found)
    assert set(OTHER) < set(GROUPS)


@pytest.mark.parametrize(
    ("first", "second", "same"),
    [
        ("gain 0.1 of 3", "gain 0.10000000000000002 of 3", True),
        ("gain 0.1 of 3", "gain 0.1001 of 3", False),
        ("0.0", "-3.1e-17", True),
        ("3 rows", "4 rows", False),
        ("-1.5", "1.5", False),
        ("a 1", "b 1", False),
        ("1 2", "1", False),
        ("inf", "1e308", False),
    ],
)
def test_numbers_are_compared_but_for_rounding(first, second, same):
    assert alike(first, second) == same


def test_a_difference_names_its_lines():
    said = difference({"output": "a 1.0\nb 2.0\nc"}, {"output": "a 1.0000000000000002\nb 3.0\nc"})
    assert said.splitlines() == ["in `output`:", "-2: b 2.0", "+2: b 3.0"]
    assert difference({}, {"error": "new"}).splitlines() == ["in `error`:", "-1: ", "+1: new"]
    assert "-c" in difference({"output": "a 1.0\nc\nd"}, {"output": "a 1.0\nd"}).splitlines()
