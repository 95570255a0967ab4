"""`forget` takes rows out: what is left is what `fit` finds on the other rows."""

import numpy as np
import pandas as pd
import pytest
from scipy import sparse

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
)

COUNTED = [  # whole numbers: sums are exact in any order
    SparseMultinomialNB(k=2),
    SparseBernoulliNB(k=2),
    SparsePoissonNB(k=2),
    SparsePoissonNB(k=2, exposure="total"),
    SparseCategoricalNB(k=2),
]
MEASURED = [
    SparseGaussianNB(k=2),
    SparseL2Centers(k=2),
    SparseL2Centers(k=2, scale="std"),
    SparseNegativeBinomialNB(k=2),
]


def named(estimator):
    return str(estimator).split("(")[0] + ("-asked" if "=" in str(estimator)[12:] else "")


def test_rows_of_a_frame_are_forgotten_by_all_kinds_of_columns():
    frame = pd.DataFrame(
        {
            "age": [31.0, 40, np.nan, 25, 71, 66],
            "town": pd.Categorical(list("abcabc")),
            "member": [True, False, True, True, False, False],
        }
    )
    y = np.array(["x", "x", "x", "z", "z", "z"])
    gone = np.array([0, 5])
    rest = np.setdiff1d(np.arange(6), gone)
    model = SparseMixedNB(k=2).fit(frame, y).forget(frame.iloc[gone], y[gone])
    refit = SparseMixedNB(k=2).fit(frame.iloc[rest], y[rest])
    assert np.array_equal(model.statistics_.observed, refit.statistics_.observed)
    assert np.allclose(model.predict_proba(frame), refit.predict_proba(frame), rtol=1e-9)
    kept = model.statistics_
    with pytest.raises(ValueError, match="was not trained on all of these 1"):
        model.forget(frame.iloc[[0]].assign(age=500.0), ["x"])
    stranger = pd.DataFrame({"age": [40.0], "town": ["elsewhere"], "member": [False]})
    with pytest.raises(ValueError, match="`X` must hold rows that the estimator was trained on"):
        model.forget(stranger, ["x"])
    assert model.statistics_ is kept
    assert "elsewhere" not in model._table.labels[1]


def test_weights_and_batches_and_containers_are_forgotten_too():
    rng = np.random.default_rng(0)
    X, y, w = rng.poisson(1.0, (60, 8)), rng.integers(0, 3, 60), rng.uniform(0.5, 2, 60)
    model = SparsePoissonNB(k=3, class_weight="balanced")
    model.partial_fit(X[:30], y[:30], classes=[0, 1, 2], sample_weight=w[:30])
    model.partial_fit(X[30:], y[30:], sample_weight=w[30:])
    model.forget(sparse.csc_array(X[:20]), y[:20], w[:20])
    refit = SparsePoissonNB(k=3, class_weight="balanced").fit(X[20:], y[20:], w[20:])
    assert np.array_equal(model.statistics_.class_rows, refit.statistics_.class_rows)
    assert np.allclose(model.predict_proba(X), refit.predict_proba(X), rtol=1e-9)


def test_a_class_may_lose_all_its_rows_and_stays_a_class():
    X, y = np.array([[1, 0], [2, 1], [0, 3], [4, 4]]), np.array(["a", "a", "b", "c"])
    model = SparseMultinomialNB(k=2).fit(X, y).forget(X[3:], y[3:])
    assert model.classes_.tolist() == ["a", "b", "c"]
    assert model.class_count_.tolist() == [2, 1, 0]
    assert model.predict([[9, 9]]).tolist() != ["c"]


NEVER_THERE = {
    "more than was counted": ([[9, 0, 0]], ["a"], None),
    "another label": ([[1, 0, 1]], ["b"], None),
    "an unknown label": ([[1, 0, 1]], ["c"], None),
    "twice": ([[1, 0, 1], [1, 0, 1]], ["a", "a"], None),
    "another weight": ([[1, 0, 1]], ["a"], [0.5]),
    "a row like no other": ([[0, 1, 1]], ["a"], None),
}


# Sums of real numbers alone tell nothing of single rows: what is left of them may be anything.
OF_ANY_ROWS = ("more than was counted", "another label", "a row like no other")


@pytest.mark.parametrize(
    ("estimator", "case"),
    [
        pytest.param(estimator, case, id=f"{named(estimator)}-{case}")
        for estimator in [*COUNTED, *MEASURED]
        for case in NEVER_THERE
        if not (estimator is MEASURED[1] and case in OF_ANY_ROWS)
    ],
)
def test_rows_that_were_never_there_are_refused_and_nothing_changes(estimator, case):
    X, y = np.array([[1, 0, 1], [0, 2, 3], [3, 1, 1]]), np.array(["a", "b", "b"])
    model = type(estimator)(**estimator.get_params()).fit(X, y)
    before = dict(vars(model))
    rows, labels, weight = NEVER_THERE[case]
    with pytest.raises(ValueError, match=r"`X` must hold rows .* trained on.*Nothing was forg"):
        model.forget(rows, labels, weight)
    assert vars(model).keys() == before.keys()
    assert all(vars(model)[name] is before[name] for name in before)


@pytest.mark.parametrize("unit", [1e-6, 1.0, 1e6])
def test_more_than_was_measured_is_refused_in_any_unit(unit):
    X, y = unit * np.array([[1.0, 0, 1], [2, 3, 0], [0, 2, 3], [3, 1, 1]]), np.array(list("aabb"))
    model = SparseGaussianNB(k=2).fit(X, y)
    with pytest.raises(ValueError, match="Nothing was forg"):
        model.forget(X[:1] + 2 * unit, ["a"])
    model.forget(X[:1], ["a"])


def test_presence_of_more_rows_than_are_left_is_refused():
    model = SparseBernoulliNB(k=1).fit([[1, 0, 1], [1, 1, 0], [0, 0, 1]], ["a", "a", "b"])
    with pytest.raises(ValueError, match="counts without rows"):  # two rows of one
        model.forget([[0, 1, 1]], ["a"])


def test_large_means_are_no_reason_to_refuse():
    rng = np.random.default_rng(1)
    X, y = 1e8 + rng.normal(size=(400, 3)), np.repeat(["a", "b"], 200)
    model = SparseGaussianNB(k=2).fit(X, y)
    for start in (0, 200):
        rows = slice(start, start + 199)
        model.forget(X[rows], y[rows])
    assert model.statistics_.class_rows.tolist() == [1, 1]


def test_models_whose_statistics_do_not_subtract_have_none():
    assert not hasattr(SparseL1Centers(), "forget")
    assert not hasattr(HybridNB(), "forget")


def test_nothing_is_forgotten_before_a_fit():
    from sklearn.exceptions import NotFittedError

    with pytest.raises(NotFittedError):
        SparseMultinomialNB().forget([[1, 2]], ["a"])
