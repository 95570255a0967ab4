"""Counting words and characters: the same features as scikit-learn's users know."""

import numpy as np
import pytest
from sklearn.feature_extraction.text import ENGLISH_STOP_WORDS, CountVectorizer

from naively.io.errors import InputError
from naively.io.text import TextRule, count, count_known, english_stop_words

TEXTS = ["Don't stop the Music", "the music; THE beat!", "", "été à l'île 日本語 stop"]
DOCUMENTS = [(text,) for text in TEXTS]


@pytest.mark.parametrize(
    ("rule", "options"),
    [
        (TextRule(), {}),
        (TextRule(ngrams=(1, 2)), {"ngram_range": (1, 2)}),
        (TextRule(analyzer="char", ngrams=(1, 3)), {"analyzer": "char", "ngram_range": (1, 3)}),
        (
            TextRule(analyzer="char_wb"),
            {"analyzer": "char_wb"},
        ),
        (TextRule(token_pattern=r"(?u)\b\w+\b"), {"token_pattern": r"(?u)\b\w+\b"}),
        (TextRule(stop_words=english_stop_words()), {"stop_words": "english"}),
        (TextRule(lowercase=False), {"lowercase": False}),
    ],
)
def test_counts_equal_those_of_count_vectorizer(rule, options):
    vectorizer = CountVectorizer(**options)
    expected = vectorizer.fit_transform(TEXTS).toarray()
    counted = count(DOCUMENTS, rule)
    assert list(counted.names) == vectorizer.get_feature_names_out().tolist()
    np.testing.assert_array_equal(counted.X.toarray(), expected)


def test_columns_are_counted_apart():
    counted = count([("new york", "city hall"), ("york city", "")], TextRule(ngrams=(2, 2)))
    assert counted.names == ("city hall", "new york", "york city")
    assert counted.X.toarray().tolist() == [[1, 1, 0], [0, 0, 1]]  # no "york city" in the first


def test_known_features_only_in_their_order():
    X = count_known(DOCUMENTS, ["stop", "music", "absent"], TextRule())
    assert X.toarray().tolist() == [[1, 1, 0], [0, 1, 0], [0, 0, 0], [1, 0, 0]]
    assert count_known(DOCUMENTS, [], TextRule()).shape == (4, 0)


def test_stop_words_are_taken_apart_like_texts():
    counted = count([("Don't panic",)], TextRule(stop_words=("DON'T",)))
    assert counted.names == ("panic",)


def test_english_is_the_list_of_scikit_learn():
    assert set(english_stop_words()) == set(ENGLISH_STOP_WORDS)


@pytest.mark.parametrize("pattern", ["(", "(a)(b)"])
def test_bad_token_pattern(pattern):
    with pytest.raises(InputError, match="`--token-pattern` must"):
        count(DOCUMENTS, TextRule(token_pattern=pattern))


def test_documents_without_any_word():
    with pytest.raises(InputError, match="the input: no text holds any word"):
        count([("",), ("? !",)], TextRule())


def test_progress_is_told():
    seen = []
    count(DOCUMENTS * 200, TextRule(), lambda stage, done, total: seen.append((stage, done, total)))
    assert seen[0] == ("counting", 0, 800)
    assert [done for _, done, _ in seen] == sorted(done for _, done, _ in seen)
