"""Texts in a table: each word is a variable, present or not, beside the other columns."""

from itertools import combinations

import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pytest
import scipy.sparse as sp
from hypothesis import given, strategies as st
from sklearn.feature_extraction.text import CountVectorizer

from naively import Pairs, SparseMixedNB, error_path, sparsity_path

WORDS = ["ache", "cough", "fine", "happy", "rash"]


def notes(n=80, seed=0, share=0.1):
    """A frame with a number, two texts and a category, in which values are missing."""
    rng = np.random.default_rng(seed)
    c = np.arange(n) % 2
    says = rng.random((n, len(WORDS))) < 0.2 + 0.4 * (np.arange(len(WORDS)) < 2) * c[:, None]
    frame = pd.DataFrame(
        {
            "age": 40 + rng.normal(6.0 * c, 10.0),
            "note": [" ".join(np.array(WORDS)[row]) for row in says],
            "town": rng.choice(["Oslo", "Voss"], n),
            "plan": rng.choice(["rest now", "pills", "pills now"], n),
        }
    )
    for name in frame:
        frame[name] = frame[name].mask(rng.random(n) < share)
    return frame, np.array(["well", "ill"])[c]


def expanded(frame, text=("note", "plan"), **settings):
    """The same frame with a column of booleans for each word, by scikit-learn."""
    others = frame.drop(columns=list(text))
    columns = {}
    for name in text:
        words = CountVectorizer(binary=True, **settings)
        X = words.fit_transform(frame[name].fillna("")).toarray().astype(bool)
        for j, word in enumerate(words.get_feature_names_out()):
            columns[f"{name}__{word}"] = X[:, j]
    return pd.concat([others, pd.DataFrame(columns, index=frame.index)], axis=1)


@pytest.mark.filterwarnings("ignore:.*gain below 0 once it is corrected")
@pytest.mark.parametrize("more", [{}, {"alpha": 0.3, "correction": "bic"}, {"variance": "shared"}])
@given(st.integers(0, 10**6), st.integers(0, 10))
def test_words_are_columns_of_booleans(more, seed, k):
    frame, y = notes(40, seed)
    a = SparseMixedNB(k=k, text=["note", "plan"], **more).fit(frame, y)
    wide = expanded(frame)
    b = SparseMixedNB(k=k, **more).fit(wide, y)
    assert a.variable_names_.tolist() == list(wide.columns)
    assert a.get_feature_names_out().tolist() == b.get_feature_names_out().tolist()
    np.testing.assert_array_equal(a.kinds_, b.kinds_)
    np.testing.assert_allclose(a.scores_, b.scores_, rtol=1e-9, atol=1e-12)
    np.testing.assert_allclose(a.predict_proba(frame), b.predict_proba(wide), atol=1e-10)


def test_exactly_k_of_columns_and_words_are_the_best_by_trying_all():
    frame, y = notes(60, 3)
    gains = SparseMixedNB(k="all", text=["note", "plan"]).fit(frame, y).scores_
    for k in range(len(gains) + 1):
        model = SparseMixedNB(k=k, text=["note", "plan"]).fit(frame, y)
        certificate = model.certificate_
        best = max(gains[list(each)].sum() for each in combinations(range(len(gains)), k))
        assert model.support_.sum() == k
        assert certificate.proven_optimal
        gained = certificate.objective - certificate.baseline
        assert gained == pytest.approx(best, rel=1e-12, abs=1e-9)


@pytest.mark.parametrize("least", [1, 2, 10, 25])
def test_words_of_few_rows_are_no_variables(least):
    frame, y = notes()
    model = SparseMixedNB(k=1, text=["note", "plan"], min_documents=least).fit(frame, y)
    assert model.variable_names_.tolist() == list(expanded(frame, min_df=least).columns)


@pytest.mark.parametrize(
    "container", [pl.from_pandas, pa.Table.from_pandas, lambda f: f.to_numpy(dtype=object)]
)
def test_the_container_does_not_matter(container):
    frame, y = notes()
    X = container(frame)
    named = hasattr(X, "columns")
    text = ["note", "plan"] if hasattr(X, "column_names") or named else [1, 3]
    a = SparseMixedNB(k=4, text=["note", "plan"]).fit(frame, y)
    b = SparseMixedNB(k=4, text=text).fit(X, y)
    np.testing.assert_array_equal(a.support_, b.support_)
    np.testing.assert_allclose(a.predict_proba(frame), b.predict_proba(X), atol=1e-12)
    if not named:
        assert b.variable_names_[0] == "x0"
        assert b.variable_names_[2] == "x1__ache"


def test_numbers_beside_words_keep_their_digits():
    """Times in seconds since 1970 that differ by a few: words make the rows sparse."""
    rng = np.random.default_rng(0)
    y = np.arange(200) % 2
    time = 1.7e9 + rng.normal(2.0 * y, 1.0)
    frame = pd.DataFrame({"time": time, "note": rng.choice(["one two", "two"], 200)})
    a = SparseMixedNB(k=1, text=["note"]).fit(frame, y)
    b = SparseMixedNB(k=1).fit(frame[["time"]], y)
    assert a.get_feature_names_out().tolist() == ["time"]
    np.testing.assert_allclose(a.predict_proba(frame), b.predict_proba(frame[["time"]]), rtol=1e-9)


def test_what_is_transformed_and_unknown_words():
    frame, y = notes()
    model = SparseMixedNB(k=3, text=["note"]).fit(frame, y)
    X = model.transform(frame)
    assert sp.issparse(X)
    assert X.shape == (80, 3)
    strange = frame.assign(note="nothing of this was there")
    empty = frame.assign(note="")
    np.testing.assert_array_equal(model.predict_proba(strange), model.predict_proba(empty))
    missing = frame.assign(note=None)
    np.testing.assert_array_equal(model.predict_proba(missing), model.predict_proba(empty))


def test_paths_folds_and_constraints_take_words():
    frame, y = notes(200)
    path = sparsity_path(SparseMixedNB(text=["note"]), frame, y, ks=[1, 3])
    for k in (1, 3):
        fitted = SparseMixedNB(k=k, text=["note"]).fit(frame, y)
        np.testing.assert_array_equal(path.support(k), fitted.get_support(indices=True))
    errors = error_path(SparseMixedNB(text=["note"]), frame, y, [0, 2, 4])
    assert errors.cross_validated[1] < errors.cross_validated[0]
    model = SparseMixedNB(
        k=2, text=["note"], required=["note__rash"], excluded=["age"], class_weight="balanced"
    ).fit(frame, y)
    assert "note__rash" in model.get_feature_names_out()
    assert "age" not in model.get_feature_names_out()
    groups = ["age", "town", "plan", *["note"] * 5]
    whole = SparseMixedNB(k=1, text=["note"], groups=groups).fit(frame, y)
    assert whole.get_feature_names_out().tolist() == [f"note__{word}" for word in WORDS]
    assert SparseMixedNB(k=2, text=["note"], objective=Pairs()).fit(frame, y).support_.sum() == 2


@pytest.mark.parametrize(
    ("settings", "match"),
    [
        ({"text": "note"}, r"`text` must be a list of columns, such as \['note'\]"),
        ({"text": ["nowhere"]}, "`text` must name columns of X.*'nowhere'"),
        ({"text": ["note", 1]}, "`text` must name each column once"),
        ({"text": ["age"]}, "Column 'age' must hold texts, as `text` says"),
        ({"text": ["note"], "columns": {"note": "categorical"}}, "`columns` must not give a kind"),
        ({"min_documents": 2}, "`min_documents` has no effect without `text`"),
        ({"text": ["note"], "min_documents": 0}, "`min_documents` must be an int >= 1"),
        ({"text": ["note"], "min_documents": True}, "`min_documents` must be an int >= 1"),
    ],
)
def test_bad_texts(settings, match):
    frame, y = notes()
    with pytest.raises(ValueError, match=match):
        SparseMixedNB(k=1, **settings).fit(frame, y)


def test_names_of_words_and_columns_differ():
    frame, y = notes()
    with pytest.raises(ValueError, match="two are called 'note__ache'.*Rename a column"):
        SparseMixedNB(k=1, text=["note"]).fit(frame.assign(note__ache=1.0), y)


def test_texts_need_all_rows_at_once():
    frame, y = notes()
    model = SparseMixedNB(k=1, text=["note"])
    with pytest.raises(ValueError, match=r"`text`=\['note'\] needs all rows at once"):
        model.partial_fit(frame, y, classes=["ill", "well"])
    with pytest.raises(ValueError, match="sparse `X`, which holds numbers"):
        SparseMixedNB(k=1, text=[0]).fit(sp.csr_array(np.eye(4)), [0, 0, 1, 1])
    statistics = model.fit(frame, y).statistics_
    with pytest.raises(ValueError, match="needs the rows, whose words are counted"):
        SparseMixedNB.from_statistics(statistics, k=1, text=["note"])
    other = SparseMixedNB(k=1, text=["note"]).gather(frame.assign(note="a bb cc dd ee ff"), y)
    with pytest.raises(ValueError, match="other names, or other words"):
        statistics + other
