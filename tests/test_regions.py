"""Text columns to regions side by side."""

from __future__ import annotations

import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pytest
from sklearn.base import clone
from sklearn.feature_extraction.text import CountVectorizer, HashingVectorizer
from sklearn.pipeline import make_pipeline

from naively import HybridNB, RegionVectorizer

POSTS = {
    "subject": ["big sale", None, "meeting", "sale today"],
    "body": ["sale now now", "see you at noon", "", "big prices"],
    "label": ["spam", "ham", "ham", "spam"],
}
TABLES = {
    "pandas": pd.DataFrame(POSTS),
    "pandas nullable": pd.DataFrame(POSTS).convert_dtypes(),
    "polars": pl.DataFrame(POSTS),
    "pyarrow": pa.table(POSTS),
}


@pytest.mark.parametrize("table", TABLES.values(), ids=TABLES)
def test_blocks_share_the_words(table):
    vectorizer = RegionVectorizer(["subject", "body"])
    X = vectorizer.fit_transform(table)
    names = vectorizer.get_feature_names_out()
    words = sorted(
        {w for column in ("subject", "body") for t in POSTS[column] if t for w in t.split()}
    )
    assert list(names) == [f"{r}:{w}" for r in ("subject", "body") for w in words]
    for i in range(4):
        for r, column in enumerate(("subject", "body")):
            text = (POSTS[column][i] or "").split()
            counts = X[[i]].toarray()[0, r * len(words) : (r + 1) * len(words)]
            assert counts.tolist() == [text.count(word) for word in words]
    assert X.shape == (4, 2 * len(words))
    assert (vectorizer.transform(table) != X).nnz == 0
    assert vectorizer.n_regions_ == 2
    assert list(vectorizer.feature_names_in_) == ["subject", "body", "label"]


def test_new_rows_keep_the_vocabulary_and_any_order_of_columns():
    vectorizer = RegionVectorizer(["subject", "body"]).fit(TABLES["pandas"])
    new = pd.DataFrame({"body": ["sale unknown"], "subject": ["noon"]})
    X = vectorizer.transform(new)
    names = vectorizer.get_feature_names_out()
    assert sorted(names[X.indices]) == ["body:sale", "subject:noon"]


def test_all_columns_by_default_and_any_vectorizer():
    texts = TABLES["polars"].drop("label")
    assert RegionVectorizer().fit(texts).columns_ == ["subject", "body"]
    own = CountVectorizer(binary=True, min_df=2)
    vectorizer = RegionVectorizer(vectorizer=own).fit(texts)
    assert list(vectorizer.get_feature_names_out()) == [
        f"{r}:{w}" for r in ("subject", "body") for w in ("big", "sale")
    ]
    assert not hasattr(own, "vocabulary_")
    hashed = RegionVectorizer(vectorizer=HashingVectorizer(n_features=16)).fit_transform(texts)
    assert hashed.shape == (4, 32)


def test_the_whole_way_in_a_pipeline():
    posts = pd.concat([TABLES["pandas"]] * 5)
    model = make_pipeline(RegionVectorizer(["subject", "body"]), HybridNB(regions=2, penalty=0.1))
    assert clone(model).fit(posts, posts["label"]).score(posts, posts["label"]) == 1
    assert model.fit(posts, posts["label"])[-1].theta_.shape == (2,)


@pytest.mark.parametrize(
    ("table", "columns", "error", "message"),
    [
        (TABLES["pandas"], ["title"], ValueError, "no column 'title'"),
        (TABLES["pandas"], [], ValueError, "at least one"),
        (pd.DataFrame({"n": [1, 2]}), None, ValueError, "must hold text"),
        (np.array([["a", "b"]]), None, TypeError, "named columns"),
        (["a text"], None, TypeError, "named columns"),
        (TABLES["pandas"], "subject", TypeError, r"pass \['subject'\]"),
        (TABLES["polars"].lazy(), None, TypeError, "X.collect"),
        (pd.DataFrame([["a", "b"]], columns=["n", "n"]), None, ValueError, "several columns 'n'"),
        (pd.DataFrame({"n": [np.zeros(2), "a"]}), None, ValueError, "must hold text"),
    ],
)
def test_tables_that_cannot_be(table, columns, error, message):
    with pytest.raises(error, match=message):
        RegionVectorizer(columns).fit(table)
