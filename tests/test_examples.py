"""The row that is quoted for a feature: of its class, with the feature in the middle."""

import re

import numpy as np
import pytest
import scipy.sparse as sp
from hypothesis import given, strategies as st

from naively.jobs.quote import Quotes, Wanted, _finder
from naively.report.summary import Example
from naively.text.features import ColumnFeatures, TextFeatures

LABELS = np.array(["a", "b", "b"], dtype=object)


def quote(document, name, features):
    quotes = Quotes(Wanted([name], ["a"], np.array([False]), features, None, np.array([0])))
    quotes.look(sp.csr_array([[1]]), LABELS[:1], np.array([6]), lambda i: document)
    return quotes.of_features[0][0]


@pytest.mark.parametrize("layout", [np.asarray, sp.csr_array])
def test_the_first_row_of_the_class_in_which_a_column_is_not_zero(layout):
    X = layout(np.array([[5, 1, 0], [0, 0, 0], [7, 0, 0]]))
    places = np.array([10, 20, 30])
    elsewhere = np.array([True, True, False])
    wanted = Wanted(
        ["x", "y", "z"], ["b", "b", "a"], elsewhere, ColumnFeatures(3), None, np.arange(3)
    )
    quotes = Quotes(wanted)
    quotes.look(X, LABELS, places, lambda i: ())
    assert quotes.of_features == [
        (Example(31, "b", "7"), Example(11, "a", "5")),  # of its class, and of another
        (Example(11, "a", "1"), None),
        (None, None),
    ]


@pytest.mark.parametrize(
    ("text", "name", "rule", "hit", "before"),
    [
        ("One Two three", "two", {}, "Two", "One "),
        ("of the\n\tbest, the", "best the", {"ngram_range": (1, 2)}, "best, the", "of the "),
        ("bestial best", "best", {}, "best", "bestial "),
        ("top of the world", "top world", {"stop_words": ("of", "the")}, "top of the world", ""),
        ("a-1 b-2", "b-2", {"token_pattern": r"\w-\d"}, "b-2", "a-1 "),
        ("xay Bcz", "y b", {"analyzer": "char", "ngram_range": (3, 3)}, "y B", "xa"),
        ("xay\n bcz", "y b", {"analyzer": "char_wb", "ngram_range": (3, 3)}, "y b", "xa"),
    ],
)
def test_where_a_feature_stands_in_a_text(text, name, rule, hit, before):
    found = quote((text,), name, TextFeatures(**rule))
    assert (found.hit, found.before) == (hit, before)
    assert (found.row, found.label) == (7, "a")


def test_long_texts_are_cut_around_the_feature():
    found = quote(("first", "x " * 500 + "word" + " y" * 500), "word", TextFeatures())
    assert found.hit == "word"
    assert found.before.startswith("\N{HORIZONTAL ELLIPSIS}")
    assert found.after.endswith("\N{HORIZONTAL ELLIPSIS}")
    assert len(found.before) < 40
    assert len(found.after) < 60


def test_a_feature_that_cannot_be_found_again_is_quoted_without_a_mark():
    found = quote(("no such thing " * 20,), "word", TextFeatures())
    assert (found.hit, found.before[:14]) == ("", "no such thing ")


letters = st.text(st.sampled_from("abAé_3 -.ßİ"), max_size=30)


@given(letters, st.sampled_from(["a", "ab", "aba", "é", "a_3", "b3"]), st.booleans())
def test_a_word_is_quoted_where_the_pattern_first_finds_it(text, name, one_character):
    pattern = r"(?u)\b\w+\b" if one_character else r"(?u)\b\w\w+\b"
    rule = TextFeatures(token_pattern=pattern)
    folded = text.lower() if len(text.lower()) == len(text) else text
    places = [each.span() for each in re.finditer(pattern, folded) if each.group() == name]
    expected = places[0] if places else None
    if len(name) > 1 or one_character:  # others are no features
        assert _finder(rule)(text, name) == expected
