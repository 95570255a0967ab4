"""Whitening, and nearest centers of whitened features (CEN section 4.1)."""

import pickle

import numpy as np
import pandas as pd
import pytest
import scipy.sparse as sp
from sklearn.base import clone
from sklearn.covariance import LedoitWolf
from sklearn.pipeline import make_pipeline
from sklearn.utils.estimator_checks import parametrize_with_checks

import reference_centers as reference
from naively import SparseL2Centers, Whitener


@pytest.fixture(scope="module")
def correlated():
    local = np.random.default_rng(8)
    y = local.integers(0, 3, 300)
    return local.normal(size=(3, 5))[y] + local.normal(size=(300, 5)) @ local.normal(size=(5, 5)), y


def covariance_in_loops(X, y, weights=None):
    """Covariance about the means of the classes."""
    weights = np.ones(len(y)) if weights is None else weights
    S = np.zeros((X.shape[1], X.shape[1]))
    for c in np.unique(y):
        members = np.flatnonzero(y == c)
        mean = sum(weights[i] * X[i] for i in members) / sum(weights[i] for i in members)
        for i in members:
            S += weights[i] * np.outer(X[i] - mean, X[i] - mean)
    return S / sum(weights)


SINGULAR = dict.fromkeys(
    [
        "check_sample_weights_shape",
        "check_sample_weights_not_overwritten",
        "check_sample_weight_equivalence_on_dense_data",
        "check_array_api_input",
    ],
    "the covariance of these few rows is singular",
)
UNWEIGHTED = dict.fromkeys(
    [
        "check_sample_weights_pandas_series",
        "check_sample_weights_not_an_array",
        "check_sample_weights_list",
        "check_sample_weights_shape",
        "check_sample_weights_not_overwritten",
        "check_sample_weight_equivalence_on_dense_data",
    ],
    "covariance estimators take no weights",
)


@parametrize_with_checks(
    [Whitener(), Whitener(LedoitWolf())],
    expected_failed_checks=lambda estimator: (
        SINGULAR if estimator.covariance == "within" else UNWEIGHTED
    ),
)
def test_it_is_a_transformer_of_scikit_learn(estimator, check):
    check(estimator)


@pytest.mark.parametrize("kind", ["within", "estimator", "given"])
def test_the_rule_is_the_nearest_center_by_mahalanobis_distance(kind, correlated):
    X, y = correlated
    means = np.array([X[y == c].mean(axis=0) for c in range(3)])
    S = covariance_in_loops(X, y)
    covariance = {"within": "within", "estimator": LedoitWolf(), "given": S.tolist()}[kind]
    if kind == "estimator":
        S = LedoitWolf().fit(X - means[y]).covariance_
    model = make_pipeline(Whitener(covariance), SparseL2Centers(k="all")).fit(X, y)
    np.testing.assert_allclose(model[0].covariance_, S, rtol=1e-10)
    inverse = np.linalg.inv(S)
    distance = np.array([[(x - m) @ inverse @ (x - m) for m in means] for x in X])
    scores = model.decision_function(X)
    np.testing.assert_allclose(
        scores - scores[:, :1], -(distance - distance[:, :1]) / 2, rtol=1e-8, atol=1e-8
    )
    np.testing.assert_allclose(model[0].inverse_transform(model[1].centers_), means, rtol=1e-9)


def test_the_selection_is_the_best_of_all_whitened_features(correlated):
    X, y = correlated
    xi = Whitener().fit_transform(X, y)
    np.testing.assert_allclose(covariance_in_loops(xi, y), np.eye(5), atol=1e-12)
    for k in range(1, 6):
        model = make_pipeline(Whitener(), SparseL2Centers(k=k)).fit(X, y)
        support, _ = reference.best_support(lambda S: reference.l2_objective(xi, y, S), 5, k)
        assert tuple(model[1].get_support(indices=True)) == support
        np.testing.assert_allclose(model.transform(X), xi[:, support], rtol=1e-9)


def test_whitened_features_have_names_of_their_own(correlated):
    X, y = correlated
    frame = pd.DataFrame(X, columns=list("abcde"))
    model = make_pipeline(Whitener(), SparseL2Centers(k=2)).set_output(transform="pandas")
    names = [f"whitener{i}" for i in model.fit(frame, y)[1].get_support(indices=True)]
    assert model.transform(frame).columns.tolist() == names
    assert model.get_feature_names_out().tolist() == names
    weights = model[1].coef_ @ model[0].components_  # of all columns
    np.testing.assert_allclose(
        X @ weights.T + model[1].intercept_, model.decision_function(frame), atol=1e-9
    )


def test_weights_are_repetition(correlated):
    X, y = correlated
    w = np.random.default_rng(0).integers(0, 3, len(y))
    whitener = Whitener().fit(X, y, w)
    repeated = Whitener().fit(np.repeat(X, w, axis=0), np.repeat(y, w))
    np.testing.assert_allclose(whitener.components_, repeated.components_, rtol=1e-9)
    np.testing.assert_allclose(whitener.covariance_, covariance_in_loops(X, y, w), rtol=1e-9)


@pytest.mark.parametrize("covariance", ["within", LedoitWolf(), np.diag([1.0, 2, 3, 4, 5])])
def test_it_travels(correlated, covariance):
    X, y = correlated
    model = make_pipeline(Whitener(covariance), SparseL2Centers(k=2)).fit(X, y)
    again = pickle.loads(pickle.dumps(model))
    np.testing.assert_array_equal(again.predict_proba(X), model.predict_proba(X))
    assert clone(model)[0].get_params()["covariance"] is not None


def test_a_given_covariance_needs_no_labels():
    whitened = Whitener([[4.0, 0.0], [0.0, 9.0]]).fit_transform([[2.0, 3.0]])
    np.testing.assert_allclose(whitened, [[1.0, 1.0]])


def test_covariances_that_cannot_be_used(correlated):
    X, y = correlated
    twice = np.column_stack([X[:, :4], X[:, 0]])
    with pytest.raises(ValueError, match=r"singular: rank 4 of n_features=5.*LedoitWolf"):
        Whitener().fit(twice, y)
    Whitener(LedoitWolf()).fit(twice, y)
    with pytest.raises(TypeError, match="Sparse data was passed"):
        Whitener().fit(sp.csr_array(X), y)
    with pytest.raises(ValueError, match="takes no weights"):
        Whitener(LedoitWolf()).fit(X, y, np.ones(len(y)))
    with pytest.raises(ValueError, match="`covariance` must be 'within'"):
        Whitener("spherical").fit(X, y)
    with pytest.raises(ValueError, match=r"symmetric matrix of shape \(5, 5\)"):
        Whitener(np.eye(4)).fit(X, y)
    with pytest.raises(ValueError, match="y"):
        Whitener().fit(X)
