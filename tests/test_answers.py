"""What every classifier says in Python: decisions as scikit-learn has them, and clear refusals."""

from __future__ import annotations

import traceback

import numpy as np
import pandas as pd
import polars as pl
import pytest
from hypothesis import given, settings, strategies as st
from sklearn.base import clone
from sklearn.metrics import roc_auc_score

from naively import (
    HybridNB,
    SparseBernoulliNB,
    SparseCategoricalNB,
    SparseGaussianNB,
    SparseL1Centers,
    SparseL2Centers,
    SparseMixedNB,
    SparseMultinomialNB,
    SparseNegativeBinomialNB,
    SparsePoissonNB,
    SparsityCV,
)

LINEAR = [
    SparseMultinomialNB(k=2),
    SparseBernoulliNB(k=2),
    SparsePoissonNB(k=2),
    SparseNegativeBinomialNB(k=2),
    SparseGaussianNB(k=2, variance="shared"),
    SparseL2Centers(k=2),
]
CLASSIFIERS = [
    *LINEAR,
    SparseMultinomialNB(k="all", alpha=0.0),
    SparseBernoulliNB(k="all", alpha=0.0),
    SparseCategoricalNB(k=2, alpha=0.0),
    SparseGaussianNB(k=2),
    SparseL1Centers(k=2),
    SparseMixedNB(k=2),
    HybridNB(penalty=0.1),
    SparseMultinomialNB(k=2, refit="logistic"),
    SparseBernoulliNB(k=2, calibration="cross-fitted"),
]
RNG = np.random.default_rng(5)


def rows(n_classes, n=60):
    y = np.arange(n) % n_classes
    X = RNG.poisson(1.0, size=(n, 6))
    X[np.arange(n), y] += RNG.poisson(2.0, size=n)
    return X, np.array(["b", "a", "d", "c"])[y]


# Decisions -------------------------------------------------------------------------------------


@pytest.mark.parametrize("n_classes", [2, 4])
@pytest.mark.parametrize("estimator", CLASSIFIERS, ids=str)
def test_decisions_are_those_of_predict(estimator, n_classes):
    X, y = rows(n_classes)
    model = clone(estimator).fit(X, y)
    new = RNG.poisson(1.0, size=(200, 6))
    scores = model.decision_function(new)
    assert np.isfinite(scores).all()
    if n_classes == 2:
        assert scores.shape == (200,)
        answer = (scores > 0).astype(int)
    else:
        assert scores.shape == (200, n_classes)
        answer = scores.argmax(axis=1)
    np.testing.assert_array_equal(model.classes_[answer], model.predict(new))
    if hasattr(model, "predict_log_proba"):
        with np.errstate(divide="ignore"):
            log_proba = model.predict_log_proba(new)
        possible = np.isfinite(log_proba).all(axis=1)
        if n_classes == 2:
            odds = log_proba[possible, 1] - log_proba[possible, 0]
            np.testing.assert_allclose(scores[possible], odds, rtol=1e-9, atol=1e-9)
        else:
            moved = scores[possible] - log_proba[possible]
            np.testing.assert_allclose(moved, moved[:, :1] + 0 * moved, atol=1e-7)


@pytest.mark.parametrize("n_classes", [2, 3])
@pytest.mark.parametrize("estimator", LINEAR, ids=str)
def test_decisions_of_linear_models_are_linear(estimator, n_classes):
    """In what the rule sees: presence in the Bernoulli model, and squares for centers of many."""
    X, y = rows(n_classes)
    model = clone(estimator).fit(X, y)
    if not hasattr(model, "coef_"):
        first = model.decision_function(np.zeros((1, 6)))
        steps = [model.decision_function(np.eye(6)[[i]]) - first for i in range(6)]
        linear = first + sum(X[:, [i] if n_classes > 2 else i] * s for i, s in enumerate(steps))
    else:
        Z = (X > 0) if isinstance(model, SparseBernoulliNB) else X
        linear = Z @ model.coef_.T + model.intercept_
    found = model.decision_function(X)
    np.testing.assert_allclose(found, linear.reshape(found.shape), rtol=1e-7, atol=1e-9)


@given(st.lists(st.integers(0, 2), min_size=4, max_size=4), st.permutations(range(4)))
@settings(max_examples=100, deadline=None)
def test_rows_that_tie_are_decided_alike(row, order):
    """Two classes that mirror each other: a row like its mirror ties, and the first class wins."""
    X = [[3, 1, 0, 2], [1, 3, 0, 2]]
    model = SparseBernoulliNB(k="all").fit(np.array(X)[:, order], ["a", "b"])
    even = np.array([[row[0], row[0], row[2], row[3]]])[:, order]
    assert model.predict(even).tolist() == ["a"]
    assert model.decision_function(even)[0] <= 0


def test_metrics_that_rank_take_decisions():
    X, y = rows(2)
    model = SparseBernoulliNB(k="all", alpha=0.0).fit(X[:30], y[:30])
    assert 0 <= roc_auc_score(y == "b", model.decision_function(X)) <= 1
    search = SparsityCV(SparseMultinomialNB(), [2, 6], scoring="roc_auc", cv=3).fit(X, y)
    assert search.best_score_ > 0.5


# Refusals --------------------------------------------------------------------------------------

SECRET = "my secret diary"


@pytest.mark.parametrize(
    "X",
    [
        [SECRET] * 4,
        np.array([SECRET] * 4),
        pd.Series([SECRET] * 4),
        [[SECRET]] * 4,
        np.array([[SECRET, 1]] * 4, dtype=object),
        pd.DataFrame({"n": [1, 2, 3, 4], "diary": [SECRET] * 4}),
        pl.DataFrame({"n": [1, 2, 3, 4], "diary": [SECRET] * 4}),
    ],
    ids=lambda X: type(X).__name__,
)
@pytest.mark.parametrize(
    "estimator", [SparseMultinomialNB(k=1), HybridNB(penalty=1.0), SparseL1Centers(k=1)]
)
def test_texts_need_a_vectorizer_and_are_not_printed(estimator, X):
    numbers = {"n": [1, 2, 3, 4], "diary": [4, 0, 2, 1]}
    Z = type(X)(numbers) if hasattr(X, "columns") else np.array([*numbers.values()]).T
    fitted = clone(estimator).fit(Z, [0, 0, 1, 1])
    for ask in (lambda: clone(estimator).fit(X, [0, 0, 1, 1]), lambda: fitted.predict(X)):
        with pytest.raises(ValueError, match=r"texts, and .* takes numbers.*WordCounts") as caught:
            ask()
        assert SECRET not in "".join(traceback.format_exception(caught.value))
    if hasattr(X, "columns"):
        assert "column 'diary'" in str(caught.value)


@pytest.mark.parametrize(
    ("y", "place"),
    [
        (["a", None, "b", "a"], "row 1"),
        (["a", "b", float("nan"), "a"], "row 2"),
        (np.array([0.0, 1.0, 1.0, np.nan]), "row 3"),
        (pd.Series(["a", pd.NA, pd.NA, "b"], dtype="string"), "row 1, the first of 2"),
        (pd.Series([1, 2, None, 1], dtype="Int64"), "row 2"),
        (pl.Series(["a", "b", None, "a"]), "row 2"),
        (pd.Series(["a", "b", None, "a"], dtype="category"), "row 2"),
    ],
    ids=lambda each: type(each).__name__,
)
@pytest.mark.parametrize(
    "estimator", [SparseMultinomialNB(k=1), SparseMixedNB(k=1), HybridNB(), SparseL1Centers(k=1),
                  SparsityCV(SparseMultinomialNB(), [1], cv=2)], ids=str,
)  # fmt: skip
def test_labels_that_are_missing_are_named(estimator, y, place):
    X = np.arange(8).reshape(4, 2)
    with pytest.raises(ValueError, match=f"`y` contains NaN or None.*at {place} "):
        clone(estimator).fit(X, y)
