"""What `naively select` answers and leaves is what is stored; see `tests/golden`."""

import pytest

from golden.commands import SELECT
from golden.comparing import difference
from golden.renewing import stored
from golden.running import result_of


@pytest.mark.parametrize(
    ("group", "entry"),
    [
        pytest.param(group, entry, id=entry.name)
        for group, entries in SELECT.items()
        for entry in entries
    ],
)
def test_golden(group, entry):
    said = difference(stored(group)[entry.name], result_of(entry))
    if said:
        pytest.fail(f"{entry.name}\n{said}", pytrace=False)
