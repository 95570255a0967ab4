"""Predicted errors corrected by counts drawn anew, against what models trained on few rows make."""

from __future__ import annotations

import numpy as np
import pytest

from naively import (
    ClassCounts,
    SparseBernoulliNB,
    SparseGaussianNB,
    SparseMultinomialNB,
    bootstrap_error,
    expected_error,
)

LENGTH = 20


def documents(seed, n, m=60):
    """Documents of two classes, and the probabilities they are drawn with."""
    rng = np.random.default_rng(0)
    P = rng.gamma(0.5, size=m) * np.exp(rng.normal(0, 0.4, (2, m)))
    P /= P.sum(axis=1, keepdims=True)
    y = np.arange(n) % 2
    return np.random.default_rng(seed).multinomial(LENGTH, P[y]), y, P


def presence(seed, n, m=60):
    rng = np.random.default_rng(0)
    P = np.clip(rng.uniform(0.1, 0.5, m) + rng.normal(0, 0.08, (2, m)), 0.02, 0.98)
    y = np.arange(n) % 2
    return (np.random.default_rng(seed).random((n, m)) < P[y]).astype(int), y, P


@pytest.mark.parametrize(
    ("draw", "estimator"),
    [(documents, SparseMultinomialNB(k=15)), (presence, SparseBernoulliNB(k=15))],
)
def test_the_correction_takes_most_of_the_optimism(draw, estimator):
    """Means over data sets of 40 rows: predicted, corrected, and the error on 4,000 new rows."""
    X_new, y_new, _ = draw(999, 4000)
    found = []
    for seed in range(8):
        X, y, _ = draw(seed, 40)
        model = estimator.fit(X, y)
        bootstrap = bootstrap_error(model, n_resamples=20, method="saddlepoint")
        expected = expected_error(model, method="saddlepoint").error
        assert bootstrap.error == pytest.approx(expected, abs=1e-12)
        found.append([bootstrap.error, bootstrap.corrected, 1 - model.score(X_new, y_new)])
    predicted, corrected, true = np.mean(found, axis=0)
    assert predicted < true - 0.03
    assert abs(corrected - true) < 0.5 * (true - predicted)


@pytest.mark.parametrize("n_classes", [2, 3])
def test_many_counts_leave_nothing_to_correct(n_classes):
    rng = np.random.default_rng(1)
    X, y = rng.poisson(1.0, (30, 8)) * 10**7, np.arange(30) % n_classes
    model = SparseMultinomialNB(k=4).fit(X, y)
    found = bootstrap_error(model, length=5, n_resamples=10)
    assert np.abs(found.made - found.believed).max() < (1e-3 if n_classes == 2 else 0.03)


def test_all_features_and_the_same_draws_again():
    X, y, _ = documents(0, 40)
    model = SparseMultinomialNB(k="all").fit(X, y)
    first, again = (bootstrap_error(model, n_resamples=5) for _ in range(2))
    np.testing.assert_array_equal(first.made, again.made)
    low, high = first.interval(0.5)
    assert low <= first.corrected <= high
    assert (first.made >= first.believed).all()  # the believed one is Bayes's error of its own law
    assert str(first).endswith("5 resamples).")


def test_draws_keep_the_totals():
    from naively.expected.bootstrap import _drawn

    X, y, _ = documents(3, 50)
    counts = ClassCounts.from_matrix(X, y)
    drawn = _drawn(counts, 1.0, np.random.default_rng(0))
    np.testing.assert_array_equal(drawn.table.sum(axis=0), counts.table.sum(axis=0))
    rows = ClassCounts.from_matrix(X, y, presence=True)
    drawn = _drawn(rows, np.full(60, 0.5), np.random.default_rng(0))
    assert (drawn.table <= rows.class_weight).all()


@pytest.mark.parametrize(
    ("estimator", "parameters", "message"),
    [
        (SparseMultinomialNB(k=3), {"n_resamples": 0}, "`n_resamples` must be an int >= 1; got 0"),
        (SparseMultinomialNB(k=3), {"method": "best"}, "`method` must be one of"),
        (SparseMultinomialNB(k=3, alpha=0), {}, "`alpha` of the model must be > 0"),
        (SparseBernoulliNB(k=3, refit="logistic"), {}, "cannot|but not the rows"),
        (SparseGaussianNB(k=3), {}, "cannot be predicted"),
    ],
)
def test_refusals(estimator, parameters, message):
    X, y, _ = documents(0, 40)
    with pytest.raises(ValueError, match=message):
        bootstrap_error(estimator.fit(X, y), **parameters)
    with pytest.raises(ValueError, match="Call `fit` first"):
        bootstrap_error(SparseMultinomialNB())
    with pytest.raises(ValueError, match="`level` must be"):
        bootstrap_error(SparseMultinomialNB(k=3).fit(X, y), n_resamples=1).interval(95)


def test_drawn_rivals_refuse_a_method():
    X, y = np.random.default_rng(0).poisson(1.0, (30, 8)), np.arange(30) % 3
    model = SparseMultinomialNB(k=4).fit(X, y)
    with pytest.raises(ValueError, match="give `rivals`='product'"):
        bootstrap_error(model, method="normal")
    assert len(bootstrap_error(model, n_resamples=2, method="normal", rivals="product").made) == 2
