"""The papers' experiments: every item has a verdict, the page is what was kept, quick runs hold."""

import sys
import warnings
from pathlib import Path

import pytest

sys.path.insert(0, str(Path(__file__).parents[1]))

from experiments import frame
from experiments.datasets import Data

NAMES = frame.names()


def test_the_page_is_made_of_what_is_kept():
    assert frame.PAGE.read_text(encoding="utf8") == frame.page()


@pytest.mark.parametrize("name", NAMES)
def test_an_experiment_is_kept_and_described(name):
    record = frame.kept(name)
    assert record["tables"] or record["figures"]
    for figure in record["figures"]:
        drawn = frame.RESULTS / f"{name}-{figure}.svg"
        assert drawn.stat().st_size < 300_000
    title, _, _ = frame.module_of(name).__doc__.strip().partition("\n")
    assert len(title) < 110


def test_every_item_has_a_verdict():
    shown = {claim["item"] for name in NAMES for claim in frame.kept(name)["claims"]}
    items = frame.items()
    assert shown <= set(items)
    for key, item in items.items():
        verdict = item.get("verdict")
        assert (key in shown) != (verdict is not None), key
        assert verdict is None or (verdict in frame.VERDICTS and item["shown"]), key


@pytest.mark.parametrize("name", NAMES)
def test_quick(name):
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # of small data
        result, _ = frame.run(name, Data(None), quick=True)
    assert result.failed == []
    assert result.tables or result.figures
    for table in result.tables.values():
        assert all(len(row) == len(table.columns) for row in table.rows)
        table.markdown()
