"""Text counted directly must equal what scikit-learn's vectorizers make of it, to the last term."""

import unicodedata
from collections import Counter

import numpy as np
import pyarrow as pa
import pytest
from hypothesis import given, settings, strategies as st
from sklearn.feature_extraction.text import CountVectorizer

from naively import ClassCounts
from naively.statistics.sparse_table import SparseTable
from naively.text.counter import TextCounter, _CellSums, count_rows, count_text, text_matrix
from naively.text.features import ONE_CHARACTER, TextFeatures
from naively.text.vocabulary import Vocabulary

TEXTS = [
    "Hello hello WORLD, a b ÀÉ straße İstanbul ΣΑΣ σας",
    "the cat the hat; don't_stop 3rd x2",
    "",
    "  x\t\ty  ab\n\nab  ",
    "naïve ﬁ ½ ²x नमस्ते 日本語 日本 ab 👍👍 k\u212alvin",
    "\u2028 ---",
]
LABELS = ["b", "a", "a", "c", "b", "a"]

SETTINGS = [
    {},
    {"lowercase": False},
    {"token_pattern": r"(?u)\b\w+\b"},
    {"token_pattern": r"[a-z]*i", "lowercase": False},
    {"token_pattern": r"(?i)(\w)\w", "ngram_range": (1, 2)},
    {"token_pattern": r"[\w!]+", "stop_words": ("the", "ab")},
    {"ngram_range": (1, 2)},
    {"ngram_range": (2, 3)},
    {"stop_words": ("the", "ab")},
    {"stop_words": ("the", "ab"), "ngram_range": (1, 3)},
    {"analyzer": "char"},
    {"analyzer": "char", "ngram_range": (2, 4)},
    {"analyzer": "char", "ngram_range": (3, 3), "lowercase": False},
    {"analyzer": "char_wb", "ngram_range": (1, 3)},
    {"analyzer": "char_wb", "ngram_range": (5, 6)},
]


def vectorizer(options, kind=CountVectorizer, **more):
    options = dict(options)
    if "stop_words" in options:
        options["stop_words"] = list(options["stop_words"])
    return kind(**options, **more)


def assert_same_as_scikit_learn(texts, labels, options, presence):
    features = TextFeatures(**options, weights="presence" if presence else "counts")
    reference = vectorizer(options)
    X = reference.fit_transform(texts)
    vocabulary, counts = count_text(texts, labels, features)
    assert list(vocabulary) == reference.get_feature_names_out().tolist()
    assert counts.equals(ClassCounts.from_matrix(X, labels, presence=presence))
    rows = text_matrix(texts, features, vocabulary.take(np.arange(0, len(vocabulary), 2)))
    expected = (X > 0 if presence else X)[:, ::2].toarray()
    np.testing.assert_array_equal(rows.toarray(), expected)


@pytest.mark.parametrize("presence", [False, True])
@pytest.mark.parametrize("options", SETTINGS, ids=str)
def test_terms_counts_and_rows_equal_count_vectorizer(options, presence):
    assert_same_as_scikit_learn(TEXTS, LABELS, options, presence)


characters = st.one_of(
    st.sampled_from("aAbB 12_.\t\nÉéİıΣσςſßﬁ\u0307\u0345\u200d\u00ad'日本"),
    st.characters(codec="utf-8"),
)


@settings(max_examples=60, deadline=None)
@given(
    texts=st.lists(st.text(characters, max_size=40), min_size=1, max_size=6),
    options=st.sampled_from(SETTINGS),
    presence=st.booleans(),
)
def test_any_text_gives_what_scikit_learn_gives(texts, options, presence):
    texts = [*texts, "ab ab, the AB xyz hi"]  # CountVectorizer refuses to find nothing at all
    labels = [i % 2 for i in range(len(texts))]
    assert_same_as_scikit_learn(texts, labels, options, presence)


@pytest.mark.parametrize("analyzer", ["word", "char"])
def test_every_character_of_unicode_is_treated_alike(analyzer):
    """Between letters, alone, and behind a sigma: word or not, folded to what, a space or not."""
    points = [chr(p) for p in range(0x110000) if not 0xD800 <= p < 0xE000]
    pieces = [f"a{c}b {c} Σ{c}" for c in points]
    texts = [" ".join(pieces[i : i + 4096]) for i in range(0, len(pieces), 4096)]
    options = {"token_pattern": ONE_CHARACTER} if analyzer == "word" else {"analyzer": "char"}
    analyze = vectorizer(options).build_analyzer()
    expected = Counter(term for text in texts for term in analyze(text))
    vocabulary, counts = count_text(texts, np.zeros(len(texts), dtype=int), TextFeatures(**options))
    assert dict(zip(vocabulary, counts.table[:, 0].tolist(), strict=True)) == expected


def test_a_combining_mark_splits_words_as_in_scikit_learn():
    """Python's \\w has no marks, so Hindi words fall apart; ours must do so in the same places."""
    assert unicodedata.category("\u094d") == "Mn"
    vocabulary, _ = count_text(["नमस्ते"], [0])
    assert list(vocabulary) == ["नमस"]


def test_batches_of_any_division_give_the_same_statistics():
    features = TextFeatures(ngram_range=(1, 2))
    whole_vocabulary, whole = count_text(TEXTS * 5, LABELS * 5, features)
    counter = TextCounter(features)
    for i in range(0, 30, 4):
        counter.update((TEXTS * 5)[i : i + 4], (LABELS * 5)[i : i + 4])
    vocabulary, counts = counter.result()
    assert vocabulary.equals(whole_vocabulary)
    assert counts.equals(whole)


def test_many_classes_are_counted_in_a_hash_table_with_the_same_result(monkeypatch):
    expected = count_text(TEXTS, LABELS)
    monkeypatch.setattr("naively.text.counter._DENSE_SUMS", 4)
    vocabulary, counts = count_text(TEXTS, LABELS)
    assert vocabulary.equals(expected[0])
    assert counts.equals(expected[1])


def test_sums_that_might_exceed_32_bits_are_counted_in_64_with_the_same_result(monkeypatch):
    expected = count_text(TEXTS, LABELS)
    monkeypatch.setattr("naively.text.counter._MOST_TERMS", 7)
    counter = TextCounter(TextFeatures())
    for text, label in zip(TEXTS, LABELS, strict=True):
        counter.update([text], [label])
    vocabulary, counts = counter.result()
    assert isinstance(counter._sums, _CellSums)
    assert vocabulary.equals(expected[0])
    assert counts.equals(expected[1])


@pytest.mark.parametrize("options", [{}, {"stop_words": ("the", "ab")}])
def test_a_worker_may_keep_every_table_sparse(options):
    features = TextFeatures(**options)
    counter = TextCounter(features, dense_cells=0)
    counter.update(TEXTS, LABELS)
    vocabulary, counts = counter.result()
    assert isinstance(counts.table, SparseTable)
    assert counts.table.nbytes < 1000
    expected_vocabulary, expected = count_text(TEXTS, LABELS, features)
    assert vocabulary.equals(expected_vocabulary)
    np.testing.assert_array_equal(counts.table.toarray(), expected.table)


def test_classes_that_do_not_occur_are_kept():
    _, counts = count_text(["ab"], [2], classes=[1, 2, 3])
    assert counts.classes.tolist() == [1, 2, 3]
    assert counts.table.tolist() == [[0, 1, 0]]


@pytest.mark.parametrize(
    "container",
    [
        np.array,
        pa.array,
        lambda texts: pa.array(texts, pa.large_string()),
        lambda texts: pa.array(["skipped", *texts])[1:],
        lambda texts: pa.chunked_array([texts[:2], texts[2:]]),
        lambda texts: pa.array(texts).dictionary_encode(),
        lambda texts: pytest.importorskip("polars").Series(texts),
        lambda texts: pytest.importorskip("pandas").Series(texts, dtype="object"),
        lambda texts: pytest.importorskip("pandas").Series(texts, dtype="str"),
        lambda texts: iter(texts),
    ],
)
def test_texts_come_in_any_container(container):
    expected_vocabulary, expected = count_text(TEXTS, LABELS)
    vocabulary, counts = count_text(container(TEXTS), LABELS)
    assert vocabulary.equals(expected_vocabulary)
    assert counts.equals(expected)


def test_no_texts_have_no_terms():
    vocabulary, counts = count_text([], np.empty(0, dtype=int))
    assert len(vocabulary) == 0
    assert counts.table.shape == (0, 0)


@pytest.mark.parametrize("texts", [["a", None], pa.array(["a", None]), ["a", 3.5]])
def test_what_is_no_text_is_named_with_its_row(texts):
    with pytest.raises(ValueError, match="must be strings; got .* at row 1"):
        count_text(texts, [0, 1])


@pytest.mark.parametrize(
    ("options", "message"),
    [
        (
            {"analyzer": "words"},
            "`analyzer` must be .* or 'tokens'; got 'words'",
        ),
        ({"ngram_range": (2, 1)}, r"1 <= low <= high; got \(2, 1\)"),
        ({"token_pattern": "("}, "regular expression that Python can use: .*; got '\\('"),
        ({"token_pattern": "(a)(b)"}, "at most one group, 2 given"),
        ({"weights": "idf"}, "`weights` must be 'counts', 'presence', 'log' or 'tfidf'; got 'idf'"),
        ({"norm": "l1"}, "`norm` must be 'l2' or None; got 'l1'"),
    ],
)
def test_settings_that_mean_nothing_are_refused(options, message):
    with pytest.raises(ValueError, match=message):
        TextFeatures(**options)


TOKENS = [["New_York", "is", "is", "naïve"], [], ["is", "New_York", "ß", "is", "is"], ["a.b"]]
LISTS = {
    "lists": lambda rows: rows,
    "arrow": pa.array,
    "large": lambda rows: pa.array(rows, pa.large_list(pa.large_string())),
    "slice": lambda rows: pa.array([["skipped"], *rows])[1:],
    "chunks": lambda rows: pa.chunked_array([rows[:1], rows[1:]]),
    "polars": lambda rows: pytest.importorskip("polars").Series(rows),
    "pandas": lambda rows: pytest.importorskip("pandas").Series(rows),
    "generator": lambda rows: (tuple(row) for row in rows),
}


@pytest.mark.parametrize("container", LISTS)
@pytest.mark.parametrize(
    "options", [{}, {"ngram_range": (1, 2)}, {"stop_words": ("is",), "ngram_range": (2, 3)}]
)
def test_tokens_are_counted_as_they_stand(options, container):
    features = TextFeatures(analyzer="tokens", **options)
    if "stop_words" in options:
        options = {**options, "stop_words": list(options["stop_words"])}
    reference = CountVectorizer(
        tokenizer=lambda row: row, preprocessor=lambda row: row, token_pattern=None, **options
    )
    X = reference.fit_transform(TOKENS)
    vocabulary, counts = count_text(LISTS[container](TOKENS), [0, 1, 1, 0], features)
    assert list(vocabulary) == reference.get_feature_names_out().tolist()
    assert counts.equals(ClassCounts.from_matrix(X, [0, 1, 1, 0]))
    some = vocabulary.take(np.arange(0, len(vocabulary), 2))
    rows = text_matrix(LISTS[container](TOKENS), features, some)
    np.testing.assert_array_equal(rows.toarray(), X[:, ::2].toarray())


def test_any_string_is_a_token_of_its_own():
    """But for the empty one, which is none; blanks are part of it while single ones are counted."""
    features = TextFeatures(analyzer="tokens")
    vocabulary, counts = count_text([["a b", "", "!", "a b"], ["İ\n"]], [0, 0], features)
    assert list(vocabulary) == ["!", "a b", "İ\n"]
    assert counts.table.tolist() == [[1], [2], [1]]
    assert text_matrix([["a b", "a"]], features, vocabulary).toarray().tolist() == [[0, 1, 0]]
    assert features == TextFeatures(analyzer="tokens", lowercase=True, token_pattern=ONE_CHARACTER)


def test_words_around_the_eight_bytes_of_a_key_are_told_apart():
    """Words of 1 to 40 bytes that differ in one byte or in length, more in a row than are read."""
    words = ["q" * n for n in range(1, 41)]
    words += [word[:i] + "Z" + word[i + 1 :] for word in words for i in range(len(word))]
    words += ["q" * n + "éß" + "q" * n for n in range(20)]
    text, pattern = " ".join(words * 2), r"(?u)\b\w+\b"
    expected = Counter(word.lower() for word in words * 2)
    vocabulary, counts = count_text([text], [0], TextFeatures(token_pattern=pattern))
    assert dict(zip(vocabulary, counts.table[:, 0].tolist(), strict=True)) == expected
    exact = TextFeatures(token_pattern=pattern, lowercase=False)
    assert list(count_text([text], [0], exact)[0]) == sorted(set(words))


def test_long_words_of_the_same_key_are_told_apart():
    mask, mix = (1 << 64) - 1, 0xBF58476D1CE4E5B9

    def mixed(eight):  # as of the first eight bytes of a word
        h = eight * mix & mask
        return h ^ (h >> 32)

    first, last, others = b"aaaaaaaa", b"zzzzzzzz", list[bytes]()
    key = mixed(int.from_bytes(first, "little")) ^ int.from_bytes(last, "little")
    for number in range(1 << 14):
        head = (b"%08d" % number)[::-1]
        tail = (key ^ mixed(int.from_bytes(head, "little"))).to_bytes(8, "little")
        others += [head + tail] if all(0 < byte < 128 for byte in tail) else []
    rows = [[word.decode() for word in (first + last, *others)]]
    assert len(others) > 10
    found = count_text(rows * 2, [0, 1], TextFeatures(analyzer="tokens"))
    assert list(found[0]) == sorted(rows[0])
    assert (found[1].table == 1).all()


@pytest.mark.parametrize(
    ("rows", "options", "message"),
    [
        ([["a"], "b c"], {}, "must be lists of strings; got str at row 1"),
        ([["a"], None], {}, "must be lists of strings; got NoneType at row 1"),
        (pa.array(["a"]), {}, "must be lists of strings; got string"),
        (pa.array([["a"], None]), {}, "got a missing value at row 1"),
        ([["a b"]], {"ngram_range": (1, 2)}, "must hold no blanks where n-grams"),
        ([["a\0"]], {}, "must hold no NUL"),
    ],
)
def test_what_are_no_tokens_is_said(rows, options, message):
    with pytest.raises(ValueError, match=message):
        count_text(rows, [0] * len(rows), TextFeatures(analyzer="tokens", **options))


def test_labels_and_texts_must_be_equally_many():
    with pytest.raises(ValueError, match="equally many; got 2 and 1"):
        count_text(["a", "b"], [0])


alike = st.sampled_from(["a" * 8, "a" * 16, "\0" * 8])  # sorting goes by eight bytes
names = st.text(st.sampled_from("ab\0é") | st.characters(codec="utf-8"), max_size=30)
names |= st.builds(str.__add__, alike, st.text("ab\0", max_size=2))


@given(st.lists(names, max_size=40))
def test_a_vocabulary_sorts_as_python_does(strings):
    vocabulary = Vocabulary.of(strings)
    assert list(vocabulary) == sorted(set(strings))
    assert list(vocabulary.names()) == sorted(set(strings))


@given(st.lists(st.lists(names, max_size=10), min_size=1, max_size=4))
def test_the_union_of_vocabularies_says_where_each_name_went(parts):
    vocabularies = [Vocabulary.of(part) for part in parts]
    union, positions = Vocabulary.union(vocabularies)
    assert list(union) == sorted({name for part in parts for name in part})
    for vocabulary, where in zip(vocabularies, positions, strict=True):
        assert [union[j] for j in where] == list(vocabulary)


@pytest.mark.parametrize("presence", [False, True])
def test_rows_of_several_texts_are_counted_as_the_matrix_of_their_rows(presence):
    """No bigram spans two texts of a row; presence and length are of the whole row."""
    statistic = "presence" if presence else "counts"
    features = TextFeatures(ngram_range=(1, 2), weights=statistic)
    vocabulary, X = count_rows(TEXTS[:6], features, parts=2)
    counter = TextCounter(features)
    counter.update(TEXTS[:6], LABELS[:3], parts=2)
    found, counts = counter.result()
    expected = ClassCounts.from_matrix(X, LABELS[:3], presence=presence)
    assert list(found) == list(vocabulary)
    assert counts.equals(expected)
