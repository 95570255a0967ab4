"""Texts to counts, as scikit-learn's vectorizers make them; text columns of tables."""

from __future__ import annotations

import pickle

import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pytest
from click.testing import CliRunner
from hypothesis import given, settings, strategies as st
from sklearn.base import clone
from sklearn.exceptions import NotFittedError
from sklearn.feature_extraction.text import CountVectorizer, TfidfVectorizer
from sklearn.pipeline import make_pipeline
from sklearn.utils.estimator_checks import (
    check_estimator_cloneable,
    check_estimator_repr,
    check_estimator_tags_renamed,
    check_get_params_invariance,
    check_no_attributes_set_in_init,
    check_parameters_default_constructible,
    check_set_params,
    check_valid_tag_types,
)

from naively import HybridNB, SparseMultinomialNB, WordCounts
from naively.cli.commands import naively
from naively.jobs.model_file import load_model
from naively.jobs.words import text_features
from naively.text.features import TOKEN_PATTERN

POSTS = {
    "subject": ["big sale", None, "meeting", "sale today"],
    "body": ["sale now now", "see you at noon", "", "big prices"],
    "label": ["spam", "ham", "ham", "spam"],
}
TABLES = {
    "pandas": pd.DataFrame(POSTS),
    "pandas nullable": pd.DataFrame(POSTS).convert_dtypes(),
    "pandas of Arrow": pd.DataFrame(POSTS).convert_dtypes(dtype_backend="pyarrow"),
    "polars": pl.DataFrame(POSTS),
    "polars categorical": pl.DataFrame(POSTS).cast(pl.Categorical),
    "pyarrow": pa.table(POSTS),
}
BOTH = ["subject", "body"]
CHECKS = (
    check_estimator_cloneable,
    check_estimator_repr,
    check_estimator_tags_renamed,
    check_get_params_invariance,
    check_no_attributes_set_in_init,
    check_parameters_default_constructible,
    check_set_params,
    check_valid_tag_types,
)


# As scikit-learn -------------------------------------------------------------------------------

WORDS = st.text(st.sampled_from("abAB é'-\tßİσΣ日_2²\U00010400"), max_size=12)
ANY_TEXT = st.one_of(WORDS, st.text(max_size=12))
OPTIONS = st.one_of(
    st.fixed_dictionaries(
        {
            "ngram_range": st.sampled_from([(1, 1), (1, 2), (2, 3)]),
            "token_pattern": st.sampled_from(
                [r"(?u)\b\w\w+\b", r"(?u)\b\w+\b", r"[a-zé']+", r"(?i)(\w)\w"]
            ),
            "stop_words": st.none() | st.just("english") | st.lists(WORDS.filter(bool), max_size=3),
        }
    ),
    st.fixed_dictionaries(
        {
            "analyzer": st.sampled_from(["char", "char_wb"]),
            "ngram_range": st.sampled_from([(1, 1), (1, 3), (2, 2), (4, 5)]),
        }
    ),
)
RARE = st.fixed_dictionaries(
    {"min_df": st.sampled_from([1, 2, 0.3, 0.0]), "max_df": st.sampled_from([1.0, 2, 0.6])}
)


def answer(kind, options, texts, new):
    try:
        fitted = kind(**options)
        X = fitted.fit_transform(texts)
        names = fitted.get_feature_names_out().tolist()
    except ValueError:
        return None
    rows = [each.toarray().tolist() for each in (X, fitted.transform(new))]
    return names, dict(sorted(fitted.vocabulary_.items())), rows


@given(st.lists(ANY_TEXT, min_size=1, max_size=6), st.lists(ANY_TEXT, max_size=3), OPTIONS, RARE,
       st.booleans())  # fmt: skip
@settings(max_examples=400, deadline=None)
@pytest.mark.filterwarnings("ignore:Your stop_words may be inconsistent:UserWarning")
def test_the_answers_are_those_of_count_vectorizer(texts, new, options, rare, lowercase):
    options = options | rare | {"lowercase": lowercase}
    blank = any(" " in word for word in options.get("stop_words") or () if word != "english")
    if blank and options.get("stop_words") != "english":
        options = options | {"ngram_range": (1, 1)}
    assert answer(WordCounts, options, texts, new) == answer(CountVectorizer, options, texts, new)


def test_rows_of_one_character_have_room_for_their_blanks():
    texts = ["a", "b", ""] * 20_000
    options = {"analyzer": "char_wb", "ngram_range": (1, 3)}
    ours, theirs = (kind(**options).fit_transform(texts) for kind in (WordCounts, CountVectorizer))
    assert (ours != theirs).nnz == 0


@given(st.lists(ANY_TEXT, min_size=1, max_size=5),
       st.lists(st.sampled_from(["ab", "ba", "é", "aa", "bb"]), min_size=1, unique=True),
       st.sampled_from([list, set, lambda v: {name: i for i, name in enumerate(v)}]))  # fmt: skip
@settings(max_examples=200, deadline=None)
def test_a_vocabulary_that_is_given_keeps_its_order(texts, vocabulary, kind):
    options = {"vocabulary": kind(vocabulary), "token_pattern": r"\w+"}
    assert answer(WordCounts, options, texts, texts) == answer(
        CountVectorizer, options, texts, texts
    )


TEXTS = ["the cat sat on the mat", "the dog", "a cat and a dog and a cat", ""]


@pytest.mark.parametrize("min_df", [1, 2])
@pytest.mark.parametrize(
    ("ours", "theirs"),
    [
        ({"weights": "presence"}, {"binary": True, "use_idf": False, "norm": None}),
        ({"weights": "log"}, {"sublinear_tf": True, "use_idf": False, "norm": None}),
        ({"weights": "tfidf"}, {"norm": None}),
        ({"weights": "tfidf", "norm": "l2"}, {}),
    ],
)
def test_weights_are_those_of_scikit_learn(ours, theirs, min_df):
    one, other = WordCounts(min_df=min_df, **ours), TfidfVectorizer(min_df=min_df, **theirs)
    for rows in (TEXTS, ["cat cat dog fish", "fish"]):
        X = one.fit_transform(rows) if rows is TEXTS else one.transform(rows)
        expected = other.fit_transform(rows) if rows is TEXTS else other.transform(rows)
        np.testing.assert_allclose(X.toarray(), expected.toarray(), rtol=1e-12)
    if "tfidf" in ours.values():
        np.testing.assert_allclose(one.idf_, other.idf_, rtol=1e-12)


def test_a_row_has_length_1_over_all_its_terms():
    words = WordCounts(norm="l2", vocabulary=["cat", "dog"]).fit(TEXTS)
    for rows in (words.fit_transform(TEXTS), words.transform(TEXTS)):
        for text, row in zip(TEXTS, rows.toarray(), strict=True):
            tokens = [word for word in text.split() if len(word) > 1]
            length = np.sqrt(sum(tokens.count(word) ** 2 for word in set(tokens))) or 1
            np.testing.assert_allclose(row, [tokens.count(w) / length for w in ("cat", "dog")])


@pytest.mark.parametrize("check", CHECKS, ids=lambda check: check.__name__)
def test_scikit_learn_checks(check):
    """Those that need no rows: scikit-learn has none for texts."""
    check("WordCounts", WordCounts(analyzer="char_wb", ngram_range=(1, 3)))


def test_before_it_is_fitted_it_says_so():
    for ask in (WordCounts().get_feature_names_out, lambda: WordCounts().transform(TEXTS)):
        with pytest.raises(NotFittedError):
            ask()


def test_it_can_be_copied_and_sent():
    words = WordCounts(ngram_range=(1, 2), stop_words=["the"]).fit(TEXTS)
    again = pickle.loads(pickle.dumps(words))
    assert (again.transform(TEXTS) != words.transform(TEXTS)).nnz == 0
    assert clone(words).get_params() == words.get_params()


# Tables ----------------------------------------------------------------------------------------


@pytest.mark.parametrize("table", TABLES.values(), ids=TABLES)
def test_blocks_share_the_words(table):
    vectorizer = WordCounts(BOTH, regions=True)
    X = vectorizer.fit_transform(table)
    names = vectorizer.get_feature_names_out()
    words = sorted({w for column in BOTH for t in POSTS[column] if t for w in t.split()})
    assert list(names) == [f"{r}:{w}" for r in BOTH for w in words]
    for i in range(4):
        for r, column in enumerate(BOTH):
            text = (POSTS[column][i] or "").split()
            counts = X[[i]].toarray()[0, r * len(words) : (r + 1) * len(words)]
            assert counts.tolist() == [text.count(word) for word in words]
    assert X.shape == (4, 2 * len(words))
    assert X.has_sorted_indices
    assert (vectorizer.transform(table) != X).nnz == 0
    assert vectorizer.n_regions_ == 2
    assert list(vectorizer.feature_names_in_) == ["subject", "body", "label"]


@pytest.mark.parametrize("table", TABLES.values(), ids=TABLES)
def test_columns_are_counted_together_by_default(table):
    vectorizer = WordCounts(BOTH, min_df=2)
    X = vectorizer.fit_transform(table)
    assert vectorizer.get_feature_names_out().tolist() == ["big", "sale"]  # in rows 0 and 3
    assert X.toarray().tolist() == [[1, 2], [0, 0], [0, 0], [1, 1]]
    apart = WordCounts(BOTH, min_df=2, regions=True)
    assert apart.fit_transform(table).toarray().tolist() == [
        [1, 1, 0, 1], [0] * 4, [0] * 4, [0, 1, 1, 0]
    ]  # fmt: skip
    # No run of words spans two columns.
    pairs = WordCounts(BOTH, ngram_range=(2, 2)).fit(table)
    assert "sale sale" not in pairs.vocabulary_


def test_new_rows_keep_the_vocabulary_and_any_order_of_columns():
    vectorizer = WordCounts(BOTH, regions=True).fit(TABLES["pandas"])
    new = pd.DataFrame({"body": ["sale unknown"], "subject": ["noon"]})
    X = vectorizer.transform(new)
    names = vectorizer.get_feature_names_out()
    assert sorted(names[X.indices]) == ["body:sale", "subject:noon"]
    with pytest.raises(ValueError, match="no column of text 'subject'"):
        vectorizer.transform(new.drop(columns="subject"))
    with pytest.raises(TypeError, match="saw a table; got texts"):
        vectorizer.transform(["sale"])
    with pytest.raises(TypeError, match="saw texts; got a table"):
        WordCounts().fit(TEXTS).transform(new)


@pytest.mark.parametrize("container", [pd.DataFrame, pl.DataFrame, pa.table])
def test_lists_of_tokens(container):
    table = container({"a": [["x y", "z"], [], ["z"]], "b": [["z"], ["q"], []]})
    words = WordCounts(analyzer="tokens")
    assert words.fit_transform(table).toarray().tolist() == [[0, 1, 2], [1, 0, 0], [0, 0, 1]]
    assert words.get_feature_names_out().tolist() == ["q", "x y", "z"]


def test_the_whole_way_in_a_pipeline():
    posts = pd.concat([TABLES["pandas"]] * 5)
    model = make_pipeline(WordCounts(BOTH, regions=True), HybridNB(regions=2, penalty=0.1))
    assert clone(model).fit(posts, posts["label"]).score(posts, posts["label"]) == 1
    assert model.fit(posts, posts["label"])[-1].theta_.shape == (2,)
    texts = make_pipeline(WordCounts(), SparseMultinomialNB(k="all"))
    assert texts.fit(posts["body"], posts["label"]).score(posts["body"], posts["label"]) == 1


SECRET = "my secret diary"


@pytest.mark.parametrize(
    ("table", "options", "error", "message"),
    [
        (TABLES["pandas"], {"columns": ["title"]}, ValueError, "no column of text 'title'"),
        (TABLES["pandas"], {"columns": []}, ValueError, "at least one"),
        (pd.DataFrame({"n": [1, 2]}), {}, ValueError, "must hold text; it holds int"),
        (pa.table({"n": [1, 2]}), {}, ValueError, "must hold text; it holds int64"),
        (np.array([["a", "b"]]), {}, ValueError, "one dimension"),
        (SECRET, {}, ValueError, "got one string"),
        ([SECRET], {"regions": True}, TypeError, "named columns"),
        ([SECRET, None], {}, ValueError, "got NoneType at row 1"),
        (TABLES["pandas"], {"columns": "subject"}, TypeError, r"pass \['subject'\]"),
        (TABLES["polars"].lazy(), {}, TypeError, "X.collect"),
        (pd.DataFrame([["a", "b"]], columns=["n", "n"]), {}, ValueError, "several columns 'n'"),
        (pd.DataFrame({"n": [np.zeros(2), "a"]}), {}, ValueError, "must hold text"),
        ([SECRET], {"min_df": 0}, ValueError, "`min_df` must be"),
        ([SECRET], {"max_df": 1.5}, ValueError, "`max_df` must be"),
        ([SECRET], {"min_df": 2}, ValueError, "No term is left"),
        ([""], {}, ValueError, "vocabulary is empty"),
        ([SECRET], {"vocabulary": []}, ValueError, "it is empty"),
        ([SECRET], {"vocabulary": ["a", "a"]}, ValueError, "each term once"),
        ([SECRET], {"vocabulary": {"a": 1}}, ValueError, "from 0 on"),
        ([SECRET], {"vocabulary": ["a"], "min_df": 2}, ValueError, "have no effect"),
        ([SECRET], {"analyzer": "char", "stop_words": ["a"]}, ValueError, "have no effect"),
        ([SECRET], {"analyzer": "char", "token_pattern": "a"}, ValueError, "has no effect"),
        ([SECRET], {"stop_words": "germn"}, ValueError, "must be a language, such as"),
        (TABLES["polars"], {"columns": BOTH, "regions": True, "weights": "tfidf"}, ValueError,
         "frequencies of their own"),
    ],
)  # fmt: skip
def test_what_cannot_be(table, options, error, message):
    with pytest.raises(error, match=message) as caught:
        WordCounts(**options).fit(table)
    assert SECRET not in str(caught.value)


# As the command has them -------------------------------------------------------------------------

TWEETS = [
    "Ich bin #froh \U0001f600 und @anna auch",
    "nicht so gut \U0001f61e und das ist es",
    "\u597d\u96fb\u5f71",
]


@pytest.mark.parametrize("like", ["tweets", "cjk"])
def test_texts_of_a_kind_are_those_of_the_command(tmp_path, monkeypatch, like):
    monkeypatch.chdir(tmp_path)
    pd.DataFrame({"text": TWEETS * 4, "label": ["a", "b", "b"] * 4}).to_csv("a.csv", index=False)
    options = ["-k", "all", "--test", "0", "--quick", "-q", "--words", f"text-like={like}"]
    assert CliRunner().invoke(naively, ["select", "a.csv", *options]).exit_code == 0
    words = WordCounts(text_like=like).fit(TWEETS)
    assert sorted(load_model("result/model.npz").names) == words.get_feature_names_out().tolist()
    assert ("#froh" in words.vocabulary_) == (like == "tweets")
    assert ("\u597d\u96fb" in words.vocabulary_) == (like == "cjk")


def test_what_texts_of_a_kind_settle_is_refused_beside_it():
    with pytest.raises(ValueError, match="`text_like`='tweets' settles `token_pattern`"):
        WordCounts(text_like="tweets", token_pattern=r"\w+").fit(TWEETS)
    with pytest.raises(ValueError, match="`text_like`='cjk' settles `ngram_range`"):
        WordCounts(text_like="cjk", ngram_range=(1, 3)).fit(TWEETS)
    with pytest.raises(ValueError, match="`text_like` must be one of tweets, cjk, or None"):
        WordCounts(text_like="mails").fit(TWEETS)
    with pytest.raises(ValueError, match="`stop_words` have no effect with `analyzer`='char'"):
        WordCounts(text_like="cjk", stop_words="german").fit(TWEETS)
    assert "tweets" in WordCounts(text_like="tweets", ngram_range=(1, 2)).fit(TWEETS).text_like


def test_stop_words_of_languages_are_those_of_the_command():
    pytest.importorskip("stopwordsiso")
    words = WordCounts(stop_words="german", ngram_range=(1, 2)).fit(TWEETS[:2])
    stop = text_features(
        analyzer="word", ngram_range=(1, 2), stop_words="german", token_pattern=TOKEN_PATTERN
    ).stop_words
    assert words._features().stop_words == stop
    assert "und" not in words.vocabulary_
    assert "froh" in words.vocabulary_
    with pytest.raises(ValueError, match="'germn': did you mean `german`"):
        WordCounts(stop_words="germn").fit(TWEETS)
