"""Figures that pages quote are those that are kept."""

import pytest
from tests import quoted


@pytest.mark.parametrize("page", quoted.PAGES, ids=lambda page: page.stem)
def test_quoted_figures_are_those_kept(page):
    text = page.read_text("utf8")
    assert quoted.renewed(text) == text, "`python -m tests.quoted` writes them anew"


def test_a_mark_gives_the_figure_before_it(monkeypatch):
    monkeypatch.setattr(quoted, "half", lambda: "0.5", raising=False)
    assert quoted.renewed("is 7.1<!--= half() --> of") == "is 0.5<!--= half() --> of"


def test_a_mark_before_a_table_gives_the_last_cells(monkeypatch):
    monkeypatch.setattr(quoted, "rows", lambda: [["1"], ["2"]], raising=False)
    table = "<!--= rows() -->\n| a | b |\n| --- | --- |\n| x | 7 |\n| y | 2 |\n"
    assert quoted.renewed(table) == table.replace("7", "1")
    with pytest.raises(ValueError, match="gives 2 rows; the table has 1"):
        quoted.renewed(table.replace("| y | 2 |\n", ""))
