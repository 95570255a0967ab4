"""The row that is quoted for a feature: of its class, with the feature in the middle."""

import numpy as np
import pytest
import scipy.sparse as sp

from naively.io.text import TextRule
from naively.jobs.examples import examples
from naively.report.summary import Example

LABELS = np.array(["a", "b", "b"], dtype=object)


def quote(document, name, rule):
    (found,) = examples(
        sp.csr_array([[1]]), np.array([0]), LABELS[:1], np.array([6]), ["a"],
        [document], [name], rule,
    )  # fmt: skip
    return found


@pytest.mark.parametrize("layout", [np.asarray, sp.csr_array])
def test_the_first_row_of_the_class_in_which_a_column_is_not_zero(layout):
    X = layout(np.array([[5, 1, 0], [0, 0, 0], [7, 0, 0]]))
    places = np.array([10, 20, 30])
    found = examples(X, np.arange(3), LABELS, places, ["b", "b", "a"], None, ["x", "y", "z"], None)
    assert found == [Example(31, "b", "7"), Example(11, "a", "1"), None]


@pytest.mark.parametrize(
    ("text", "name", "rule", "hit", "before"),
    [
        ("One Two three", "two", {}, "Two", "One "),
        ("of the\n\tbest, the", "best the", {"ngrams": (1, 2)}, "best, the", "of the "),
        ("bestial best", "best", {}, "best", "bestial "),
        ("top of the world", "top world", {"stop_words": ("of", "the")}, "top of the world", ""),
        ("a-1 b-2", "b-2", {"token_pattern": r"\w-\d"}, "b-2", "a-1 "),
        ("xay Bcz", "y b", {"analyzer": "char", "ngrams": (3, 3)}, "y B", "xa"),
        ("xay\n bcz", "y b", {"analyzer": "char_wb", "ngrams": (3, 3)}, "y b", "xa"),
    ],
)
def test_where_a_feature_stands_in_a_text(text, name, rule, hit, before):
    found = quote((text,), name, TextRule(**rule))
    assert (found.hit, found.before) == (hit, before)
    assert (found.row, found.label) == (7, "a")


def test_long_texts_are_cut_around_the_feature():
    found = quote(("first", "x " * 500 + "word" + " y" * 500), "word", TextRule())
    assert found.hit == "word"
    assert found.before.startswith("\N{HORIZONTAL ELLIPSIS}")
    assert found.after.endswith("\N{HORIZONTAL ELLIPSIS}")
    assert len(found.before) < 40
    assert len(found.after) < 60


def test_a_feature_that_cannot_be_found_again_is_quoted_without_a_mark():
    found = quote(("no such thing " * 20,), "word", TextRule())
    assert (found.hit, found.before[:14]) == ("", "no such thing ")
