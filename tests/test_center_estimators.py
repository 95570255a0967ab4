"""Centers and likelihood models as estimators: conventions, scikit-learn's models at k = "all"."""

import pickle
import warnings

import numpy as np
import pandas as pd
import polars as pl
import pytest
import scipy.sparse as sp
from sklearn.base import clone
from sklearn.naive_bayes import CategoricalNB, GaussianNB
from sklearn.neighbors import NearestCentroid
from sklearn.utils.estimator_checks import parametrize_with_checks

from agreement import not_for_counts
from naively import (
    ClassValues,
    SparseCategoricalNB,
    SparseGaussianNB,
    SparseL1Centers,
    SparseL2Centers,
    SparseNegativeBinomialNB,
    SparsePoissonNB,
    sparsity_path,
)

CENTERS = (SparseL1Centers, SparseL2Centers)
LIKELIHOODS = (
    SparseGaussianNB, SparsePoissonNB, SparseNegativeBinomialNB, SparseCategoricalNB
)  # fmt: skip
SEPARABLE = (*CENTERS, *LIKELIHOODS)
CONTAINERS = (np.asarray, np.asfortranarray, sp.csr_matrix, sp.csc_matrix, sp.csr_array)
rng = np.random.default_rng(0)


@pytest.mark.filterwarnings("ignore:The .* model takes counts")  # the checks give real numbers
@parametrize_with_checks(
    [
        SparseL2Centers(),
        SparseL2Centers(k="all", scale="std"),
        SparseL2Centers(k=2, scale="variance", priors="empirical"),
        SparseL1Centers(),
        SparseL1Centers(k="all", priors="empirical"),
        SparseGaussianNB(),
        SparseGaussianNB(k=2, variance="shared"),
        SparseGaussianNB(k=2, missing="ignore"),
        SparsePoissonNB(missing="ignore"),
        SparsePoissonNB(),
        SparsePoissonNB(k=3, alpha=0.0),
        SparseNegativeBinomialNB(),
        SparseNegativeBinomialNB(k=3, alpha=0.0, dispersion=0.5),
        SparseCategoricalNB(),
    ],
    expected_failed_checks=not_for_counts,
)
@pytest.mark.filterwarnings("ignore:`k`=:UserWarning")
@pytest.mark.filterwarnings("ignore:No features were selected:UserWarning")
def test_scikit_learn_checks(estimator, check):
    check(estimator)


@pytest.fixture(scope="module")
def data():
    local = np.random.default_rng(3)
    y = local.integers(0, 4, 200)
    return local.normal(size=(4, 30))[y] + local.normal(size=(200, 30)) + 5, y


@pytest.fixture(scope="module")
def counts():
    local = np.random.default_rng(5)
    y = local.integers(0, 3, 150)
    return local.poisson(local.gamma(0.5, 2.0, (3, 20))[y]), y


# -- scikit-learn's models at k = "all" ----------------------------------------------------------


@pytest.mark.parametrize("container", CONTAINERS)
@pytest.mark.parametrize(
    ("ours", "metric"), [(SparseL1Centers, "manhattan"), (SparseL2Centers, "euclidean")]
)
def test_all_features_equal_nearest_centroid(ours, metric, container, data):
    X, y = data
    X[np.abs(X) < 4] = 0
    a = ours(k="all").fit(container(X), y)
    b = NearestCentroid(metric=metric).fit(X, y)
    np.testing.assert_allclose(a.centroids_, b.centroids_, rtol=1e-12, atol=1e-12)
    assert (a.predict(container(X)) == b.predict(X)).all()
    assert a.support_.all()


def test_scaled_centers_equal_nearest_centroid_of_scaled_data(data):
    X, y = data
    within = sum(X[y == c].var(axis=0) * (y == c).sum() for c in range(4)) / len(y)
    for scale, divisor in (("std", np.sqrt(within)), ("variance", within)):
        a = SparseL2Centers(k="all", scale=scale).fit(X, y)
        b = NearestCentroid().fit(X / divisor, y)
        assert (a.predict(X) == b.predict(X / divisor)).all()


@pytest.mark.parametrize("weighted", [False, True])
@pytest.mark.parametrize("priors", [None, [0.1, 0.2, 0.3, 0.4]])
@pytest.mark.parametrize("var_smoothing", [1e-9, 0.1])
def test_all_features_equal_gaussian_nb(weighted, priors, var_smoothing, data):
    X, y = data
    weight = np.random.default_rng(0).uniform(0.5, 2, len(y)) if weighted else None
    a = SparseGaussianNB(k="all", priors=priors, var_smoothing=var_smoothing).fit(X, y, weight)
    b = GaussianNB(priors=priors, var_smoothing=var_smoothing).fit(X, y, weight)
    if weighted:  # scikit-learn takes the smoothing from unweighted variances
        b.var_ += a.epsilon_ - b.epsilon_
    for name in ("theta_", "var_", "class_prior_", "class_count_"):
        np.testing.assert_allclose(getattr(a, name), getattr(b, name), rtol=1e-10)
    for rows in (X, sp.csr_array(X)):
        np.testing.assert_allclose(a.predict_proba(rows), b.predict_proba(X), rtol=1e-7, atol=1e-30)
    assert (a.predict(X) == b.predict(X)).all()


@pytest.mark.parametrize("weighted", [False, True])
@pytest.mark.parametrize("alpha", [1.0, 0.1])
@pytest.mark.parametrize("min_categories", [None, 9])
def test_all_features_equal_categorical_nb(weighted, alpha, min_categories, counts):
    X, y = np.minimum(counts[0], 6), counts[1]
    weight = np.random.default_rng(0).uniform(0.5, 2, len(y)) if weighted else None
    parameters = {"alpha": alpha, "min_categories": min_categories}
    a = SparseCategoricalNB(k="all", **parameters).fit(X, y, weight)
    b = CategoricalNB(**parameters).fit(X, y, weight)
    assert (a.n_categories_ == b.n_categories_).all()
    for mine, theirs in zip(a.category_count_, b.category_count_, strict=True):
        np.testing.assert_allclose(mine, theirs, rtol=1e-12)
    for mine, theirs in zip(a.feature_log_prob_, b.feature_log_prob_, strict=True):
        np.testing.assert_allclose(mine, theirs, rtol=1e-12)
    for rows in (X, sp.csr_array(X)):
        np.testing.assert_allclose(a.predict_proba(rows), b.predict_proba(X), rtol=1e-9)


def test_pooled_parameters_are_shared_outside_the_support(counts):
    X, y = counts
    gaussian = SparseGaussianNB(k=3).fit(X, y)
    poisson = SparsePoissonNB(k=3).fit(X, y)
    l1, l2 = SparseL1Centers(k=3).fit(X, y), SparseL2Centers(k=3).fit(X, y)
    for model, table in (
        (gaussian, gaussian.theta_),
        (gaussian, gaussian.var_),
        (poisson, poisson.rate_),
        (l1, l1.centers_),
        (l2, l2.centers_),
    ):
        assert (np.ptp(table[:, ~model.support_], axis=0) == 0).all()
        assert model.support_.sum() == 3
    categorical = SparseCategoricalNB(k=3).fit(X, y)
    spread = [np.ptp(table, axis=0).max() for table in categorical.feature_log_prob_]
    assert ((np.array(spread) > 0) == categorical.support_).all()


def test_coefficients_give_the_decision(data):
    X, y = data
    for labels in (y, y % 2):
        model = SparseL2Centers(k=4).fit(X, labels)
        decision = X @ model.coef_.T + model.intercept_
        expected = model.decision_function(X)
        decision = decision[:, 0] if expected.ndim == 1 else decision
        np.testing.assert_allclose(decision, expected, rtol=1e-9, atol=1e-9)


def test_priors_move_the_decision():
    X, y = np.array([[0.0], [0], [0], [2]]), [0, 0, 0, 1]
    for model in (SparseL2Centers(k=1), SparseL1Centers(k=1)):
        assert model.fit(X, y).predict([[1.1]]) == [1]
        assert clone(model).set_params(priors="uniform").fit(X, y).predict([[1.1]]) == [1]
        assert clone(model).set_params(priors="empirical").fit(X, y).predict([[1.1]]) == [0]
        assert clone(model).set_params(priors=[0.05, 0.95]).fit(X, y).predict([[0.5]]) == [1]
        np.testing.assert_allclose(
            model.set_params(priors="empirical").fit(X, y).class_prior_, [0.75, 0.25]
        )
        for bad in ("balanced", [0.5, 0.6], [1.0], [-1, 2]):
            with pytest.raises(ValueError, match="`priors` must"):
                clone(model).set_params(priors=bad).fit(X, y)
    proba = SparseL2Centers(k=1, priors="empirical").fit(X, y).predict_proba([[1.0]])
    np.testing.assert_allclose(proba, [[0.75, 0.25]])


# -- batches, statistics, weights ----------------------------------------------------------------


@pytest.mark.parametrize(
    "model",
    [
        SparseL2Centers(k=3),
        SparseL2Centers(k=3, scale="variance"),
        SparseGaussianNB(k=3),
        SparsePoissonNB(k=3),
        SparseCategoricalNB(k=3),
    ],
)
def test_batches_are_the_whole(model, counts):
    X, y = counts
    whole = clone(model).fit(X, y)
    batches = clone(model)
    for i in range(0, len(y), 37):
        batches.partial_fit(X[i : i + 37], y[i : i + 37], classes=[0, 1, 2])
    assert (batches.support_ == whole.support_).all()
    np.testing.assert_allclose(batches.predict_proba(X), whole.predict_proba(X), atol=1e-10)
    again = type(model).from_statistics(batches.statistics_, **batches.get_params())
    assert (again.support_ == whole.support_).all()
    assert (again.predict(X) == whole.predict(X)).all()


def test_medians_do_not_come_in_batches_but_values_do(counts):
    X, y = counts
    assert not hasattr(SparseL1Centers(), "partial_fit")
    values = ClassValues.from_matrix(X[:60], y[:60]) + ClassValues.from_matrix(X[60:], y[60:])
    model = SparseL1Centers.from_statistics(values.medians(), k=4)
    whole = SparseL1Centers(k=4).fit(X, y)
    assert (model.support_ == whole.support_).all()
    assert (model.predict(X) == whole.predict(X)).all()


@pytest.mark.parametrize("estimator", SEPARABLE)
@pytest.mark.parametrize("container", CONTAINERS)
def test_weights_are_repetition(estimator, container):
    X = np.array([[2, 0, 1], [1, 1, 0], [0, 3, 1], [0, 2, 2]])
    y = np.array([0, 0, 1, 1])
    w = np.array([3, 0, 1, 2])
    a = estimator(k=2).fit(container(X), y, sample_weight=w)
    b = estimator(k=2).fit(np.repeat(X, w, axis=0), np.repeat(y, w))
    c = estimator(k=2).fit(container(X), y, sample_weight=10 * w)
    assert (a.support_ == b.support_).all()
    np.testing.assert_allclose(a.scores_, b.scores_, rtol=1e-12, atol=1e-12)
    assert (a.predict(X) == b.predict(X)).all()
    assert (a.support_ == c.support_).all()
    if estimator in CENTERS:
        np.testing.assert_allclose(a.centers_, b.centers_, rtol=1e-12)
        np.testing.assert_allclose(a.centers_, c.centers_, rtol=1e-12)


@pytest.mark.parametrize("estimator", SEPARABLE)
def test_weights_must_be_usable(estimator):
    X, y = np.array([[2, 0, 1], [1, 1, 0], [0, 3, 1], [0, 2, 2]]), [0, 0, 1, 1]
    for bad in ([1, 1, -5, 1], [0, 0, 0, 0], [1, np.nan, 1, 1], [1, 1, 1]):
        with pytest.raises(ValueError, match="`sample_weight`"):
            estimator(k="all").fit(X, y, sample_weight=bad)
    proba = estimator(k="all").fit(X, y, sample_weight=[1, 1, 0, 0])
    assert (proba.predict(X) == 0).all()
    if hasattr(proba, "predict_proba"):
        assert np.array_equal(proba.predict_proba(X), [[1, 0]] * 4)


@pytest.mark.parametrize("estimator", SEPARABLE)
def test_paths_and_certificates(estimator, counts):
    X, y = counts
    path = sparsity_path(estimator(), X, y, ks=[0, 1, 5, 20])
    assert (path.gap == 0).all()
    for k in (0, 1, 5, 20):
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            model = estimator(k=k).fit(X, y)
        assert path.support(k).tolist() == np.flatnonzero(model.support_).tolist()
        assert model.certificate_.proven_optimal
        assert model.certificate_.gap == 0
    position = path.k.tolist().index(5)
    assert path.objective[position] == pytest.approx(
        estimator(k=5).fit(X, y).certificate_.objective
    )


# -- reported failures of others -----------------------------------------------------------------


@pytest.mark.parametrize("container", CONTAINERS)
def test_even_counts_implicit_zeros_and_negative_values(container):
    X = np.array([[0.0, -1], [2, 0], [0, 0], [4, 2], [7, 0], [7, -3], [8, 0], [8, -5]])
    model = SparseL1Centers(k=2).fit(container(X), np.repeat([0, 1], 4))
    assert model.centers_.tolist() == [[1.0, 0.0], [7.5, -1.5]]
    assert model.scores_.tolist() == [4.0, 0.0]  # 16 and 0 summed over four rows a class


def test_one_outlier():
    Z = np.array([[0.0, 0], [0, 0], [0, 0], [0, 60], [2, 0], [2, 0], [2, 0], [2, 0]])
    y = np.repeat([0, 1], 4)
    assert SparseL1Centers(k=1).fit(Z, y).support_.tolist() == [True, False]
    l2 = SparseL2Centers(k=1).fit(Z, y)
    assert l2.support_.tolist() == [False, True]
    assert l2.scores_.tolist() == [2.0, 112.5]  # 8 and 450 over four rows a class


@pytest.mark.parametrize("estimator", SEPARABLE)
@pytest.mark.parametrize("bad", [np.nan, np.inf])
def test_not_finite_in_any_container(estimator, bad):
    X = np.array([[1.0, bad], [0, 1]])
    fine = estimator(k="all").fit(pd.DataFrame({"a": [1.0, 0], "b": [0.0, 1]}), [0, 1])
    for A in (X, sp.csr_matrix(X), sp.csc_matrix(X), pd.DataFrame(X, columns=["a", "b"])):
        with pytest.raises(ValueError, match="NaN|inf"):
            estimator(k=1).fit(A, [0, 1])
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")  # no feature names
            for method in (fine.predict, fine.transform):
                with pytest.raises(ValueError, match="NaN|inf"):
                    method(A)


def test_negative_values():
    X = [[-1.0, 2], [3, 0]]
    for estimator in (*CENTERS, SparseGaussianNB):
        assert estimator(k=1).fit(X, [0, 1]).predict([[-1.0, 2]])[0] == 0
    for estimator in (SparsePoissonNB, SparseNegativeBinomialNB, SparseCategoricalNB):
        for A in (np.array(X), sp.csr_matrix(X)):
            with pytest.raises(ValueError, match="egative"):
                estimator(k=1).fit(A, [0, 1])
            with pytest.raises(ValueError, match="egative"):
                estimator(k=1).fit([[1, 2], [3, 0]], [0, 1]).predict(A)


@pytest.mark.parametrize("estimator", SEPARABLE)
def test_columns_in_another_order_or_number(estimator):
    df = pd.DataFrame({"a": [2, 0], "b": [0, 3]})
    model = estimator(k="all").fit(df, [0, 1])
    assert model.n_features_in_ == 2
    assert model.predict(df).tolist() == [0, 1]
    for A in (df[["b", "a"]], df[["a"]]):
        with pytest.raises(ValueError, match="feature names"):
            model.predict(A)
    with pytest.raises(ValueError, match="features"):
        estimator(k=1).fit(df.to_numpy(), [0, 1]).transform(np.ones((1, 5)))
    with pytest.raises(TypeError):
        estimator(k="all").fit(df.set_axis([0, "b"], axis=1), [0, 1])


@pytest.mark.parametrize("estimator", SEPARABLE)
def test_names_of_what_was_kept(estimator):
    df, y = pd.DataFrame({"a": [0, 0, 1, 0], "b": [0, 0, 1, 1]}), [0, 0, 1, 1]
    model = estimator(k=1).fit(df, y)
    assert model.get_feature_names_out().tolist() == ["b"]
    out = model.set_output(transform="pandas").transform(df)
    assert out.columns.tolist() == ["b"]
    assert out["b"].tolist() == [0, 0, 1, 1]
    out = (
        clone(model)
        .set_output(transform="polars")
        .fit_transform(pl.DataFrame(df.to_dict("list")), y)
    )
    assert out.columns == ["b"]
    assert out["b"].dtype.is_numeric()


@pytest.mark.parametrize("estimator", SEPARABLE)
def test_labels_of_any_kind(estimator):
    X = np.array([[1, 0], [1, 1], [0, 0], [0, 1]])
    for labels in (
        [0, 1],
        [-1, 1],
        [0, 2],
        ["ham", "spam"],
        [False, True],
        np.array([0, 255], np.uint8),
    ):
        y = np.repeat(np.asarray(labels), 2)
        model = estimator(k=1).fit(X, y)
        assert model.support_.tolist() == [True, False]
        assert (model.classes_ == np.unique(y)).all()
        assert (model.predict(X) == y).all()
    for bad in ([[1, 0], [0, 1], [1, 1], [0, 0]], [0.5, 1.5, 0.5, 1.5], [0, 1, np.nan, 0]):
        with pytest.raises(ValueError):  # noqa: PT011 (three reasons, tested with the labels)
            estimator(k=1).fit(X, bad)


@pytest.mark.parametrize("estimator", SEPARABLE)
def test_one_class(estimator):
    model = estimator(k=1).fit([[1, 1], [0, 1]], ["z", "z"])
    assert model.predict([[0, 0], [5, 1]]).tolist() == ["z", "z"]
    assert model.scores_.tolist() == [0, 0]


@pytest.mark.parametrize("estimator", [each for each in SEPARABLE if hasattr(each, "partial_fit")])
def test_classes_not_seen_yet(estimator):
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        model = estimator(k="all").partial_fit(
            [[2, 0], [0, 3]], ["a", "b"], classes=["a", "b", "c"]
        )
        assert model.predict([[2, 0], [0, 3]]).tolist() == ["a", "b"]
        assert (model.predict_proba([[1, 1]])[:, 2] == 0).all()
    model.partial_fit([[1, 4]], ["c"])
    full = estimator(k="all").fit([[2, 0], [0, 3], [1, 4]], ["a", "b", "c"])
    np.testing.assert_allclose(
        model.predict_proba([[1, 1], [1, 4]]), full.predict_proba([[1, 1], [1, 4]]), atol=1e-12
    )


@pytest.mark.parametrize("estimator", SEPARABLE)
def test_exactly_k_whatever_the_container(estimator):
    X = np.kron(np.eye(3), np.ones((3, 2))).astype(int)
    y = np.repeat(["a", "b", "c"], 3)
    for k in range(1, 7):
        supports = {
            tuple(estimator(k=k).fit(A, y).support_)
            for A in (*(c(X) for c in CONTAINERS), X.astype(np.float32), X.astype(bool))
        }
        assert supports == {tuple(np.arange(6) < k)}  # all tie: lowest index first


@pytest.mark.parametrize("estimator", SEPARABLE)
def test_no_feature(estimator):
    X, y = np.array([[1, 0], [1, 0], [0, 1], [0, 1]]), [1, 1, 1, 0]
    model = estimator(k=0).fit(X, y)
    with pytest.warns(UserWarning, match="No features were selected"):
        selected = model.transform(X)
    assert selected.shape == (4, 0)
    expected = [0, 0, 0, 0] if estimator in CENTERS else [1, 1, 1, 1]
    assert model.predict(X).tolist() == expected


@pytest.mark.parametrize("estimator", SEPARABLE)
def test_64_bit_indices(estimator):
    X = sp.csr_matrix(np.array([[2.0, 0], [0, 3]]))
    X.indices, X.indptr = X.indices.astype(np.int64), X.indptr.astype(np.int64)
    assert estimator(k=1).fit(X, [0, 1]).predict(X).tolist() == [0, 1]


@pytest.mark.parametrize("estimator", SEPARABLE)
def test_duplicate_entries_and_untouched_input(estimator):
    D = sp.csr_matrix((np.ones(4), [0, 0, 1, 1], [0, 2, 3, 4]), shape=(3, 2))
    a = estimator(k="all").fit(D, [0, 1, 1])
    b = estimator(k="all").fit(D.toarray(), [0, 1, 1])
    np.testing.assert_allclose(a.scores_, b.scores_, rtol=1e-12)
    assert (a.predict(D) == b.predict(D.toarray())).all()
    assert D.nnz == 4
    before = pickle.dumps(a)
    a.predict(D)
    assert pickle.dumps(a) == before
    assert (pickle.loads(before).predict(D) == a.predict(D)).all()


@pytest.mark.parametrize("estimator", SEPARABLE)
def test_a_frame_of_sparse_columns(estimator):
    df = pd.DataFrame.sparse.from_spmatrix(
        sp.csr_matrix(np.array([[2, 0], [0, 3]])), columns=["a", "b"]
    )
    model = estimator(k="all").fit(df, [0, 1])
    assert model.feature_names_in_.tolist() == ["a", "b"]
    assert model.predict(df).tolist() == [0, 1]


@pytest.mark.parametrize("estimator", SEPARABLE)
def test_rows_and_labels_in_any_order(estimator, counts):
    X, y = counts
    model = estimator(k=5).fit(X, y)
    order = np.random.default_rng(2).permutation(len(y))
    renamed = np.array(["z", "m", "a"])[y]
    for A, b in ((X[order], y[order]), (X, renamed)):
        assert (estimator(k=5).fit(A, b).support_ == model.support_).all()
    columns = np.random.default_rng(2).permutation(X.shape[1])
    assert (estimator(k=5).fit(X[:, columns], y).support_ == model.support_[columns]).all()


@pytest.mark.parametrize("estimator", SEPARABLE)
def test_float32_supports_equal_those_of_float64(estimator, counts):
    X, y = counts
    assert (
        estimator(k=5).fit(X.astype(np.float32), y).support_ == estimator(k=5).fit(X, y).support_
    ).all()


@pytest.mark.parametrize("scale", ["std", "variance"])
def test_a_perfect_separator_is_selected_first(scale):
    X = np.array([[0.1, 0.0], [0.1, 0.0], [0.1, 1], [0.3, 1], [0.3, 1], [0.3, 1]])
    y = [0, 0, 0, 1, 1, 1]
    model = SparseL2Centers(k=1, scale=scale).fit(X, y)
    assert model.support_.tolist() == [True, False]
    assert model.scores_[0] == np.inf
    assert np.isfinite(model.coef_).all()
    assert (model.predict(X) == y).all()
    assert "Proven optimal" in str(model.certificate_)


def test_certificates_speak_of_distances(counts):
    X, y = counts
    assert "saving of distance" in str(SparseL1Centers(k=2).fit(X, y).certificate_)
    assert "saving of squared distance" in str(SparseL2Centers(k=2).fit(X, y).certificate_)
    assert "training likelihood" in str(SparseGaussianNB(k=2).fit(X, y).certificate_)


@pytest.mark.parametrize("model", CENTERS)
def test_centers_do_not_depend_on_the_unit_of_the_data(model):
    X, y = np.array([[1, 2], [1.2, 1], [3, 2], [3.2, 1]]), [0, 0, 1, 1]
    assert model(k=1).fit(X * 1e-14, y).predict(X * 1e-14).tolist() == y
