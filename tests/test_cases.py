"""Failures that users of such tools report, and the right answers, worked out by hand."""

import pickle
import tracemalloc
import warnings
from functools import partial
from typing import get_args

import numpy as np
import pandas as pd
import polars as pl
import pytest
import scipy.sparse as sp
from sklearn.base import clone
from sklearn.model_selection import GridSearchCV, StratifiedKFold, cross_val_score
from sklearn.pipeline import make_pipeline

from naively import (
    ClassCategories,
    ClassCounts,
    ClassMoments,
    ErrorSearchSelector,
    SparseBernoulliNB,
    SparseCategoricalNB,
    SparseGaussianNB,
    SparseL1Centers,
    SparseL2Centers,
    SparseMultinomialNB,
    SparsePoissonNB,
    SparsityCV,
    sparsity_path,
)
from naively._kernels.path_scores import add_errors
from naively.expected.feature_search import Strategy
from naively.models.family import Coupled
from naively.models.rules import winners
from naively.selection.coupled import ScreenedColumns, coupled_columns
from reference_nfs import best_by_brute_force, multinomial_log_likelihood

BOTH = pytest.mark.parametrize("Model", [SparseBernoulliNB, SparseMultinomialNB])

# -- zeros, counts, k -----------------------------------------------------------------------------


def test_no_smoothing_on_separable_data():
    X = np.array([[1, 1], [1, 0], [0, 1], [0, 0]])
    for A in (X, sp.csr_array(X)):
        P = SparseBernoulliNB(k="all", alpha=0).fit(A, [1, 1, 0, 0]).predict_proba(A)
        assert np.array_equal(P, [[0, 1], [0, 1], [1, 0], [1, 0]])
    model = SparseMultinomialNB(k="all", alpha=0).fit([[2, 0], [0, 3]], [0, 1])
    Q = model.predict_proba([[1, 0], [0, 1], [1, 1]])
    assert np.array_equal(Q, [[1, 0], [0, 1], [0.5, 0.5]])  # both ruled out: the prior


def test_a_row_no_class_can_produce_gets_the_prior():
    model = SparseMultinomialNB(k="all", alpha=0).fit([[2, 0], [1, 0], [0, 3]], [0, 0, 1])
    np.testing.assert_allclose(model.predict_proba([[1, 1]]), [[2 / 3, 1 / 3]])
    assert np.isneginf(model.predict_joint_log_proba([[1, 1]])).all()
    assert np.isfinite(model.predict_joint_log_proba([[1, 0]])).sum() == 1


def test_smoothing_is_taken_as_given():
    X, y = [[2, 0], [0, 3]], [0, 1]
    model = SparseMultinomialNB(k="all", alpha=1e-12).fit(X, y)
    assert model.feature_log_prob_[0, 1] == pytest.approx(np.log(1e-12 / 2))
    model = SparseMultinomialNB(k="all", alpha=[1.0, 2.0]).fit(X, y)
    np.testing.assert_allclose(np.exp(model.feature_log_prob_), [[3 / 5, 2 / 5], [1 / 6, 5 / 6]])
    model = SparseMultinomialNB(k="all", alpha=0.5).fit([[8, 2], [0, 10]], [1, 0])
    assert np.diff(model.feature_log_prob_[:, 0])[0] == pytest.approx(np.log(17))


@BOTH
@pytest.mark.parametrize("bad", [-1, [1.0, 2.0, 3.0], np.nan, np.inf, [[1.0, 1.0]], "one", None])
def test_bad_smoothing(Model, bad):
    with pytest.raises(ValueError, match="`alpha` must be"):
        Model(k="all", alpha=bad).fit([[2, 0], [0, 3]], [0, 1])


def test_an_all_zero_column():
    p2 = SparseMultinomialNB(k="all").fit([[3, 1], [1, 2]], [0, 1]).predict_proba([[1, 0]])
    p3 = SparseMultinomialNB(k="all").fit([[3, 1, 0], [1, 2, 0]], [0, 1])
    np.testing.assert_allclose(p2, [[5 / 8, 3 / 8]])
    np.testing.assert_allclose(p3.predict_proba([[1, 0, 0]]), [[12 / 19, 7 / 19]])
    X = np.array([[1, 0], [1, 0], [0, 0], [0, 0]])
    model = SparseBernoulliNB(k=1, alpha=0).fit(X, [0, 0, 1, 1])
    assert model.support_.tolist() == [True, False]
    assert model.scores_[1] == 0
    model = SparseMultinomialNB(k=2, alpha=0).fit([[3, 0, 1], [1, 0, 2]], [0, 1])
    assert model.support_.tolist() == [True, False, True]
    assert np.isfinite(model.certificate_.objective)


@BOTH
def test_one_class_only(Model):
    model = Model(k=1).fit([[1, 1], [0, 1]], ["z", "z"])
    assert model.predict([[0, 0], [5, 1]]).tolist() == ["z", "z"]
    assert np.array_equal(model.predict_proba([[0, 1]]), [[1.0]])
    assert model.certificate_.gap == 0


@BOTH
def test_k_of_zero_selects_nothing(Model):
    X, y = np.array([[1, 0], [1, 0], [0, 1], [0, 1]]), [1, 1, 1, 0]
    model = Model(k=0).fit(X, y)
    assert model.support_.sum() == 0
    np.testing.assert_allclose(model.predict_proba(X), [[0.25, 0.75]] * 4)
    with pytest.warns(UserWarning, match="No features were selected"):
        assert model.transform(X).shape == (4, 0)


@BOTH
def test_k_above_the_number_of_features_warns_once(Model):
    with pytest.warns(UserWarning, match=r"`k`=9 .* n_features=4") as caught:
        model = Model(k=9).fit(np.eye(4), [0, 0, 1, 1])
    assert len(caught) == 1
    assert caught[0].filename == __file__
    assert model.support_.sum() == 4


@BOTH
@pytest.mark.parametrize("bad", [-1, 0.0, 1.5, -0.5, "most", None, True, np.nan, [1]])
def test_bad_k(Model, bad):
    with pytest.raises(ValueError, match="`k` must be an int in"):
        Model(k=bad).fit(np.eye(4), [0, 0, 1, 1])


@BOTH
def test_fractional_k(Model):
    X = np.random.default_rng(0).poisson(1.0, (20, 30))
    y = np.arange(20) % 2
    for k, expected in [(0.1, 3), (0.001, 1), (1.0, 30), (np.float32(0.5), 15), (np.int8(4), 4)]:
        assert Model(k=k).fit(X, y).support_.sum() == expected


@BOTH
def test_ties_go_to_the_lowest_index_in_every_container(Model):
    X = np.array([[1, 1, 1, 0], [1, 1, 1, 0], [0, 0, 0, 1], [0, 0, 0, 1]])
    y = [0, 0, 1, 1]
    containers = (
        X, np.asfortranarray(X), sp.csr_matrix(X), sp.csc_matrix(X), sp.coo_array(X),
        X.astype(np.float32), X.astype(bool), X.tolist(), pd.DataFrame(X), pl.DataFrame(X),
    )  # fmt: skip
    supports = {tuple(Model(k=2).fit(A, y).get_support(indices=True)) for A in containers}
    expected = {(0, 1)} if Model is SparseBernoulliNB else {(0, 3)}  # totals of classes must agree
    assert supports == expected


def test_the_best_feature_survives_ties():
    Z = np.array([[0, 0, 1], [0, 0, 1], [0, 1, 0], [0, 1, 0], [1, 1, 0]])
    assert SparseBernoulliNB(k=2, alpha=0).fit(Z, [0, 0, 1, 1, 1]).support_[2]


@BOTH
def test_k_counts_columns_over_all_classes_together(Model):
    X = np.kron(np.eye(3), np.ones((3, 2))).astype(int)
    y = np.repeat(["a", "b", "c"], 3)
    for k in range(7):
        assert Model(k=k, alpha=0).fit(X, y).support_.sum() == k


def test_a_perfect_separator_comes_first():
    X = np.array([[0, 0], [0, 0], [0, 1], [1, 1], [1, 1], [1, 1]])
    model = SparseBernoulliNB(k=1, alpha=0).fit(X, [0, 0, 0, 1, 1, 1])
    assert model.support_.tolist() == [True, False]
    np.testing.assert_allclose(model.scores_, [6 * np.log(2), 1.9095425], rtol=1e-7)


def test_a_constant_column_scores_zero():
    X = np.array([[1, 0, 1], [1, 0, 0], [1, 0, 0], [1, 0, 0]])
    model = SparseBernoulliNB(k=1, alpha=0).fit(X, [0, 0, 1, 1])
    np.testing.assert_allclose(model.scores_, [0, 0, 0.86304622], atol=1e-8)
    assert model.support_.tolist() == [False, False, True]


# -- containers, dtypes, memory -------------------------------------------------------------------


def test_sparse_entries_that_were_never_summed():
    D = sp.csr_matrix((np.ones(4), np.array([0, 0, 1, 1]), np.array([0, 2, 3, 4])), shape=(3, 2))
    y = [0, 1, 1]
    model = SparseBernoulliNB(k="all").fit(D, y)
    assert np.array_equal(model.feature_count_, [[1, 0], [0, 2]])
    np.testing.assert_allclose(model.predict_proba(D), model.predict_proba(D.toarray()))
    assert D.nnz == 4  # input not modified
    data, columns = np.array([2.0, -2, 1, 3]), np.array([0, 0, 1, 0])
    C = sp.csr_matrix((data, columns, np.array([0, 2, 3, 4])), shape=(3, 2))
    model = SparseMultinomialNB(k="all").fit(C, y)
    assert np.array_equal(model.feature_count_, [[0, 0], [3, 1]])
    np.testing.assert_allclose(model.predict_proba(C), model.predict_proba(C.toarray()))


def test_stored_zeros_are_absent():
    Z = sp.csr_matrix((np.array([0.0, 1, 1]), np.array([0, 1, 0]), [0, 2, 3, 3]), shape=(3, 2))
    model = SparseBernoulliNB(k="all").fit(Z, [0, 1, 1])
    assert np.array_equal(model.feature_count_, [[0, 1], [1, 0]])
    assert Z.nnz == 3
    no_smoothing = SparseMultinomialNB(k="all", alpha=0).fit([[2, 0], [0, 3]], [0, 1])
    zero = sp.csr_matrix((np.array([1.0, 0.0]), np.array([0, 1]), [0, 2]), shape=(1, 2))
    assert np.array_equal(no_smoothing.predict_proba(zero), [[1, 0]])


@BOTH
def test_64_bit_indices(Model):
    X = sp.csr_matrix(np.array([[2.0, 0], [0, 3]]))
    X.indices = X.indices.astype(np.int64)
    X.indptr = X.indptr.astype(np.int64)
    model = Model(k="all").fit(X, [0, 1])
    assert model.predict(X).tolist() == [0, 1]
    assert model.transform(X).shape == (2, 2)


@BOTH
def test_small_integers_do_not_wrap(Model):
    X = np.zeros((600, 2), np.uint8)
    X[:300, 0] = X[300:, 1] = 1
    y = np.repeat([0, 1], 300)
    widths = (bool, np.int8, np.uint16, np.int64, np.uint64, np.float16, np.float32)
    for A in (X, *(X.astype(width) for width in widths)):
        for container in (np.asarray, sp.csr_matrix, sp.csc_array):
            if A.dtype != np.float16 or container is np.asarray:  # SciPy has no sparse float16
                model = Model(k="all").fit(container(A), y)
                assert np.array_equal(model.feature_count_, [[300, 0], [0, 300]])


@BOTH
def test_a_frame_of_sparse_columns_stays_sparse(Model):
    frame = pd.DataFrame.sparse.from_spmatrix(
        sp.csr_matrix(np.array([[2, 0], [0, 3]])), columns=["a", "b"]
    )
    model = Model(k="all").fit(frame, [0, 1])
    assert list(model.feature_names_in_) == ["a", "b"]
    assert (model.feature_count_ > 0).tolist() == [[True, False], [False, True]]
    wide = sp.random(1000, 5000, density=0.001, format="csc", random_state=0)
    frame = pd.DataFrame.sparse.from_spmatrix(wide, columns=[f"c{j}" for j in range(5000)])
    tracemalloc.start()
    Model(k=5).fit(frame, np.arange(1000) % 2)
    peak = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    assert peak < 20e6  # 40 MB when dense


@BOTH
def test_read_only_input_and_nothing_changed(Model):
    data, indices = np.array([1.0, 2, 3, 4, 5]), np.array([2, 0, 1, 2, 0])
    A = sp.csr_matrix((data, indices, np.array([0, 2, 4, 5])), shape=(3, 3))
    for v in (A.data, A.indices, A.indptr):
        v.setflags(write=False)
    model = Model(k="all").fit(A, [0, 1, 1])
    before = pickle.dumps(model)
    assert (model.predict_proba(A) == model.predict_proba(A)).all()
    assert pickle.dumps(model) == before
    assert A.indices.tolist() == [2, 0, 1, 2, 0]
    if Model is SparseMultinomialNB:
        assert model.feature_count_.tolist() == [[2, 0, 1], [5, 3, 4]]


@BOTH
def test_no_table_of_rows_by_classes(Model):
    X = sp.random(20000, 1000, density=0.002, format="csr", random_state=0)
    y = np.arange(20000) % 2000
    Model(k=50).fit(X[:4000], y[:4000] % 3)  # compile first
    tracemalloc.start()
    Model(k="all").fit(X, y)
    peak = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    assert peak < 10 * 2000 * 1000 * 8  # 320 MB more for a rows-by-classes table


# -- validation, names, labels --------------------------------------------------------------------


@BOTH
@pytest.mark.parametrize("bad", [np.nan, np.inf, -np.inf])
def test_nan_and_infinity_are_refused_everywhere(Model, bad):
    X = np.array([[1, bad], [0, 1]])
    ok = pd.DataFrame({"a": [1.0, 0], "b": [0.0, 1]})
    fitted = Model(k="all").fit(ok.to_numpy(), [0, 1])
    framed = Model(k="all").set_output(transform="pandas").fit(ok, [0, 1])
    for A in (X, sp.csr_matrix(X), sp.csc_matrix(X), X.astype(np.float32), X.astype(np.float16)):
        if sp.issparse(A) and A.dtype == np.float16:
            continue
        with pytest.raises(ValueError, match="NaN|infinity|Negative"):
            Model(k=1).fit(A, [0, 1])
        for method in (fitted.predict, fitted.transform):
            with pytest.raises(ValueError, match="NaN|infinity"):
                method(A)
    frame = pd.DataFrame(X, columns=["a", "b"])
    for method in (framed.predict, framed.transform):
        with pytest.raises(ValueError, match="NaN|infinity"):
            method(frame)


def test_negative_values():
    fitted = SparseMultinomialNB(k="all").fit([[1, 2], [3, 0]], [0, 1])
    dense = np.array([[-1.0, 2], [3, 0]])
    for A in (dense, dense.astype(int), sp.csr_matrix(dense), sp.csc_matrix(dense)):
        for f in (
            lambda A=A: SparseMultinomialNB(k=1).fit(A, [0, 1]),
            lambda A=A: fitted.predict(A),
        ):
            with pytest.raises(ValueError, match="Negative values"):
                f()


@BOTH
def test_columns_in_another_order_or_number(Model):
    frame = pd.DataFrame({"a": [2, 0], "b": [0, 3]})
    model = Model(k="all").fit(frame, [0, 1])
    assert model.n_features_in_ == 2
    assert model.predict(frame).tolist() == [0, 1]
    for bad in (frame[["b", "a"]], frame[["a"]]):
        for method in (model.predict, model.transform, model.predict_proba):
            with pytest.raises(ValueError, match="feature"):
                method(bad)
    plain = Model(k=1).fit(frame.to_numpy(), [0, 1])
    for method in (plain.predict, plain.transform, plain.predict_log_proba):
        with pytest.raises(ValueError, match="5 features"):
            method(np.ones((1, 5)))
    with pytest.raises(ValueError, match="5 features"):
        plain.partial_fit(np.ones((1, 5)), [0])
    assert not hasattr(
        Model(k="all").fit(frame.set_axis([0, 1], axis=1), [0, 1]), "feature_names_in_"
    )
    with pytest.raises(TypeError):
        Model(k="all").fit(frame.set_axis([0, "b"], axis=1), [0, 1])


def test_names_of_the_columns_kept():
    frame = pd.DataFrame({"a": [0, 0, 1, 0], "b": [0, 0, 1, 1]})
    y = [0, 0, 1, 1]
    assert SparseBernoulliNB(k=1).fit(frame, y).get_feature_names_out().tolist() == ["b"]
    plain = SparseBernoulliNB(k=1).fit(frame.to_numpy(), y)
    assert plain.get_feature_names_out().tolist() == ["x1"]
    assert plain.get_feature_names_out(["u", "v"]).tolist() == ["v"]
    out = SparseBernoulliNB(k=1).set_output(transform="pandas").fit_transform(frame, y)
    assert list(out.columns) == ["b"]
    assert out["b"].tolist() == [0, 0, 1, 1]
    polars = pl.DataFrame({"a": [0, 0, 1, 0], "b": [0, 0, 1, 1]})
    out = SparseBernoulliNB(k=1).set_output(transform="polars").fit_transform(polars, y)
    assert out.columns == ["b"]
    assert out["b"].dtype.is_numeric()


@pytest.mark.parametrize(
    "labels",
    [
        [0, 1],
        [-1, 1],
        [0, 2],
        ["ham", "spam"],
        [False, True],
        np.array([0, 255], np.uint8),
        [1.0, 3.0],
    ],
    ids=str,
)
def test_labels_of_any_kind(labels):
    X = np.array([[1, 0], [1, 1], [0, 0], [0, 1]])
    for y in (
        np.repeat(np.asarray(labels), 2),
        pd.Series(np.repeat(labels, 2)),
        list(np.repeat(labels, 2)),
    ):
        model = SparseBernoulliNB(k=1).fit(X, y)
        assert model.support_.tolist() == [True, False]
        assert (model.classes_ == np.unique(y)).all()
        assert (model.predict(X) == np.asarray(y)).all()


@BOTH
@pytest.mark.parametrize(
    "bad",
    [
        [[1, 0], [0, 1], [1, 1], [0, 0]],
        [0.5, 1.5, 0.5, 1.5],
        [0, 1, np.nan, 0],
        [0, 1],
        None,
        [None, 1, 0, 1],
    ],
    ids=str,
)
def test_bad_labels(Model, bad):
    with pytest.raises(ValueError, match="."):
        Model(k=1).fit(np.array([[1, 0], [1, 1], [0, 0], [0, 1]]), bad)


# -- weights, priors, batches, imbalance ----------------------------------------------------------

X4 = np.array([[2, 0, 1], [1, 1, 0], [0, 3, 1], [0, 2, 2]])
Y4 = np.array([0, 0, 1, 1])


@BOTH
def test_weights_equal_repetition_and_zero_weight_removal(Model):
    w = np.array([3, 0, 1, 2])
    repeated = Model(k=2).fit(np.repeat(X4, w, axis=0), np.repeat(Y4, w))
    for A in (X4, sp.csr_matrix(X4), sp.csc_matrix(X4)):
        weighted = Model(k=2).fit(A, Y4, sample_weight=w)
        assert (weighted.support_ == repeated.support_).all()
        np.testing.assert_allclose(
            weighted.predict_proba(X4), repeated.predict_proba(X4), rtol=1e-12
        )
        assert np.array_equal(weighted.feature_count_, repeated.feature_count_)
    tens = Model(k=2, alpha=0).fit(X4, Y4, sample_weight=10 * w)
    ones = Model(k=2, alpha=0).fit(X4, Y4, sample_weight=w)
    assert (tens.support_ == ones.support_).all()
    np.testing.assert_allclose(tens.predict_proba(X4), ones.predict_proba(X4), rtol=1e-12)


@BOTH
@pytest.mark.parametrize(
    "bad",
    [[1, 1, -5, 1], [0, 0, 0, 0], [1, np.nan, 1, 1], [1, np.inf, 1, 1], [1, 1, 1], [[1] * 4]],
    ids=str,
)
def test_bad_weights(Model, bad):
    with pytest.raises(ValueError, match="weight"):
        Model(k="all").fit(X4, Y4, sample_weight=bad)


@BOTH
def test_weights_that_empty_a_class(Model):
    P = Model(k="all").fit(X4, Y4, sample_weight=[1, 1, 0, 0]).predict_proba(X4)
    assert np.array_equal(P, [[1, 0]] * 4)


@BOTH
@pytest.mark.parametrize(
    "bad", [[0.5], [0.2, 0.2], [-0.5, 1.5], [np.nan, 1], [0.2, 0.3, 0.5]], ids=str
)
def test_bad_priors(Model, bad):
    with pytest.raises(ValueError, match="class_prior"):
        Model(k="all", class_prior=bad).fit(X4, Y4)


def test_a_class_not_seen_yet():
    model = SparseMultinomialNB(k="all")
    model.partial_fit([[2, 0], [0, 3]], ["a", "b"], classes=["a", "b", "c"])
    np.testing.assert_allclose(
        model.predict_proba([[1, 1]]), [[0.53956835, 0.46043165, 0]], atol=1e-8
    )
    assert model.predict([[1, 1]])[0] == "a"
    model.partial_fit([[1, 4]], ["c"])
    full = SparseMultinomialNB(k="all").fit([[2, 0], [0, 3], [1, 4]], ["a", "b", "c"])
    np.testing.assert_allclose(model.feature_log_prob_, full.feature_log_prob_)
    np.testing.assert_allclose(model.class_log_prior_, full.class_log_prior_)
    with pytest.raises(ValueError, match="`classes` must be passed"):
        SparseMultinomialNB().partial_fit([[1, 4]], ["c"])


def test_extreme_imbalance():
    X = np.zeros((1000, 2), int)
    y = np.zeros(1000, int)
    y[0] = X[0, 0] = 1
    X[1:500, 1] = 1
    model = SparseBernoulliNB(k=1, alpha=0).fit(X, y)
    assert model.support_.tolist() == [True, False]
    np.testing.assert_allclose(model.scores_, [7.90725511, 0.69164768])
    P = SparseBernoulliNB(k="all").fit(X[:, [0]], y).predict_proba([[1], [0]])
    np.testing.assert_allclose(P[:, 1], [0.40048010, 0.00033389], atol=1e-8)
    U = SparseBernoulliNB(k="all", class_prior=[0.5, 0.5]).fit(X[:, [0]], y).predict_proba([[1]])
    assert U[0, 1] == pytest.approx(0.99850374)


# -- life cycle -----------------------------------------------------------------------------------


def test_clone_search_and_pickle():
    rng = np.random.default_rng(0)
    X = rng.poisson(1.0, (60, 8))
    y = (X[:, 0] > 0).astype(int)
    pipeline = make_pipeline(SparseBernoulliNB(k=1), SparseMultinomialNB(k="all"))
    search = GridSearchCV(pipeline, {"sparsebernoullinb__k": [1, 3, "all"]}, cv=3).fit(X, y)
    assert not np.isnan(search.cv_results_["mean_test_score"]).any()
    fitted = SparseBernoulliNB(k=3, alpha=0.5).fit(X, y)
    fresh = clone(fitted)
    assert fresh.get_params()["k"] == 3
    assert not any(name.endswith("_") for name in vars(fresh))
    assert fresh.set_params(k=2).fit(X, y).support_.sum() == 2
    copy = pickle.loads(pickle.dumps(fitted))
    assert (copy.predict_proba(X) == fitted.predict_proba(X)).all()


def test_selection_inside_folds_is_not_fooled_by_noise():
    rng = np.random.default_rng(0)
    X = rng.integers(0, 2, (60, 2000))
    y = rng.permutation(np.repeat([0, 1], 30))
    cv = StratifiedKFold(5, shuffle=True, random_state=0)
    nested = cross_val_score(SparseBernoulliNB(k=20), X, y, cv=cv).mean()
    kept = SparseBernoulliNB(k=20).fit(X, y).support_
    leaky = cross_val_score(SparseBernoulliNB(k="all"), X[:, kept], y, cv=cv).mean()
    assert nested < 0.7
    assert leaky > 0.85


# -- the published implementation -----------------------------------------------------------------


def test_a_column_never_seen_scores_zero():
    X = np.zeros((8, 3), int)
    X[2, 1] = 1
    model = SparseBernoulliNB(k=1, alpha=1e-10).fit(X, [1, 1, 1, 1, 0, 0, 0, 0])
    assert model.support_.tolist() == [False, True, False]
    assert model.scores_[1] == pytest.approx(0.76482071, abs=1e-6)
    model = SparseBernoulliNB(k=1).fit([[1, 1], [1, 1], [1, 0], [1, 0]], [1, 1, 0, 0])
    theta = np.exp(model.feature_log_prob_)
    assert ((theta > 0) & (theta < 1)).all()


def test_the_best_set_at_the_kink_of_the_dual():
    a, b = np.array([3, 2, 1, 8]), np.array([2, 1, 1, 3])
    for exact in (False, True):
        model = SparseMultinomialNB(k=2, alpha=0, exact=exact).fit([a, b], [1, 0])
        certificate = model.certificate_
        assert model.support_.tolist() == [False, False, True, True]
        totals = [8, 3, -11, -2, 13, -9, -4]  # of columns 2 and 3, and of the classes on them
        gain = sum(np.sign(x) * abs(x) * np.log(abs(x)) for x in totals)
        assert certificate.gain == pytest.approx(gain, rel=1e-12)
        bound = certificate.bound - certificate.baseline
        assert certificate.gain - 1e-12 <= bound <= 0.19937653 + 1e-6
    assert certificate.proven_optimal


@BOTH
def test_row_and_column_order_and_class_names_do_not_matter(Model):
    rng = np.random.default_rng(1)
    X = rng.poisson(rng.gamma(0.5, 2.0, (3, 40))[np.arange(200) % 3])
    y = np.arange(200) % 3
    support = Model(k=6).fit(X, y).support_
    rows, columns = rng.permutation(200), rng.permutation(40)
    assert (Model(k=6).fit(X[rows], y[rows]).support_ == support).all()
    assert (Model(k=6).fit(X[:, columns], y).support_ == support[columns]).all()
    assert (Model(k=6).fit(X, np.array(["z", "a", "m"])[y]).support_ == support).all()
    assert (Model(k=6).fit(X.astype(np.float32), y).support_ == support).all()


def test_warnings_are_not_raised_by_ordinary_use():
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        for Model in (SparseBernoulliNB, SparseMultinomialNB):
            model = Model(k=2, alpha=0).fit(X4, Y4)
            model.predict_proba(X4)


# -- found by trying to break it -------------------------------------------------------------------


def test_counts_over_many_decades_neither_hang_nor_lose_their_proof():
    rng = np.random.default_rng(3)
    for _ in range(20):
        table = 10 ** rng.uniform(-7, 3, (6, 2))
        model = SparseMultinomialNB(k=3, alpha=0, exact=True, time_limit=5).fit(table.T, [0, 1])
        certificate = model.certificate_
        assert np.isfinite(certificate.objective)
        assert certificate.objective <= certificate.bound


@BOTH
def test_duplicates_of_small_integers_do_not_wrap(Model):
    cells = (np.array([200, 200, 3], np.uint8), ([0, 0, 1], [0, 0, 1]))
    X = sp.coo_matrix(cells, shape=(2, 2))
    csr = sp.csr_matrix((cells[0], np.array([0, 0, 1]), np.array([0, 2, 3])), shape=(2, 2))
    dense = np.array([[400, 0], [0, 3]])
    expected = Model(k="all").fit(dense, [0, 1])
    for A in (X, csr):
        model = Model(k="all").fit(A, [0, 1])
        assert np.array_equal(model.feature_count_, expected.feature_count_)
        assert np.array_equal(model.predict_proba(A), expected.predict_proba(dense))


@BOTH
def test_figures_that_are_no_numbers_are_refused(Model):
    X = np.array([[1e307, 1, 0], [1, 1e307, 3]])
    if Model is SparseMultinomialNB:
        with pytest.raises(ValueError, match="too large"), np.errstate(all="ignore"):
            Model(k=2).fit(X, [0, 1])
    with pytest.raises(ValueError, match="too large"), np.errstate(all="ignore"):
        Model(k=2).fit(X4, Y4, sample_weight=[1e300, 1e307, 1e307, 1e307])


def test_statistics_of_another_kind_are_refused():
    sums, presence = SparseMultinomialNB().gather(X4, Y4), SparseBernoulliNB().gather(X4, Y4)
    for Model, wrong in ((SparseMultinomialNB, presence), (SparseBernoulliNB, sums)):
        with pytest.raises(ValueError, match="`statistics` must have been counted"):
            Model.from_statistics(wrong, k=1)
        with pytest.raises(ValueError, match="`statistics` must have been counted"):
            sparsity_path(Model(), wrong)
    high = SparseBernoulliNB(binarize=2.5).gather(X4, Y4)
    with pytest.raises(ValueError, match="threshold"):
        SparseBernoulliNB.from_statistics(high, k=1)


def test_limits_of_the_exact_search_are_checked():
    for bad in (0, -1, np.nan, "a"):
        with pytest.raises(ValueError, match="`time_limit`"):
            SparseMultinomialNB(k=2, exact=True, time_limit=bad).fit(X4, Y4)
    for bad in (0, -1, 1.5, None):
        with pytest.raises(ValueError, match="`max_nodes`"):
            SparseMultinomialNB(k=2, exact=True, max_nodes=bad).fit(X4, Y4)


@BOTH
def test_what_a_path_is_asked_is_checked(Model):
    path = sparsity_path(Model(), X4, Y4)
    for bad in (-1, 4, 1.5):
        with pytest.raises(ValueError, match=r"`k` must be an int in \[0, 3\]"):
            path.support(bad)
    assert path.support(3).tolist() == [0, 1, 2]
    with pytest.raises(ValueError, match="`y` may only be left out"):
        sparsity_path(Model(), X4)
    with pytest.raises(TypeError, match="`estimator` must be a sparse classifier"):
        sparsity_path(StratifiedKFold(), X4, Y4)


# -- ties ------------------------------------------------------------------------------------------


def bytes_and_signal():
    """200 rows: column 5 tells the classes, column 7 is in bytes, the rest says nothing."""
    rng = np.random.default_rng(0)
    y = np.arange(200) % 2
    X = rng.uniform(size=(200, 8))
    X[:, 5] = 0.8 * y + rng.uniform(size=200)
    X[:, 7] = rng.normal(3e6, 1e6, 200)
    return X, y


@pytest.mark.parametrize(
    "make",
    [
        SparseL2Centers,
        SparseL1Centers,
        # Smoothing is a share of the largest variance, as in scikit-learn: it does hide the others.
        partial(SparseGaussianNB, var_smoothing=0.0),
        partial(SparseGaussianNB, var_smoothing=0.0, variance="shared"),
        SparsePoissonNB,
        partial(SparsePoissonNB, alpha=np.linspace(1, 2, 8)),
        SparseMultinomialNB,
    ],
)
@pytest.mark.filterwarnings("ignore:The poisson model takes counts")
def test_a_column_in_bytes_does_not_make_the_others_tie(make):
    X, y = bytes_and_signal()
    for factor in (1.0, 1e6):
        X[:, 7] *= factor
        model = make(k=2)
        order = np.argsort(-model.fit(X, y).scores_, kind="stable")
        if make is SparseMultinomialNB:
            assert model.support_[[5, 7]].all()  # its gains depend on one another
            continue
        assert model.get_support(indices=True).tolist() == sorted(order[:2])
        assert sparsity_path(model, X, y).order.tolist() == order.tolist()
    if make in (SparseL1Centers, SparseL2Centers):
        assert sorted(order[:2]) == [5, 7]


def test_a_hopeless_class_does_not_make_the_others_tie():
    scores = np.array([[-1.0 - 1e-9, -1.0, -1e6], [-1.0 - 1e-14, -1.0, -1e6]])
    assert winners(scores).tolist() == [1, 0]
    assert winners(np.array([[-np.inf, -2.0, -2.0], [-np.inf] * 3])).tolist() == [1, 0]
    for row, expected in zip(scores, (1, 0), strict=True):
        wrong = np.zeros(1)
        add_errors(row[None, None], np.array([expected]), np.empty(0), 0, wrong)
        assert wrong == 0


def test_a_class_of_large_values_does_not_hide_the_spread_of_another():
    """Standard deviations of 1e-5 around 0 are no rounding, though another class is at 1e9."""
    rng = np.random.default_rng(0)
    x = np.concatenate([rng.normal(0, 1e-5, 50), rng.normal(1e9, 1.0, 50)])
    model = SparseGaussianNB(k="all", var_smoothing=0.0).fit(x[:, None], np.repeat([0, 1], 50))
    assert model.var_[0, 0] == pytest.approx(x[:50].var(), rel=1e-9)


EQUAL = np.array([[273, 273, 245, 245], [87, 87, 250, 250], [271, 271, 85, 85]])


@pytest.mark.parametrize("exact", [False, True])
@pytest.mark.parametrize(
    "columns",
    [
        EQUAL,  # sums above 256 in three classes
        EQUAL / 7,  # real numbers
        EQUAL[:2] * 1000,  # large pairs
        sp.csr_array(EQUAL / 7),
    ],
    ids=["sums", "real", "pairs", "sparse"],
)
def test_of_equal_columns_that_are_not_grouped_the_first_are_taken(columns, exact):
    y = np.arange(columns.shape[0])
    for alpha in (1.0, np.ones(4), np.array([1.0, 1.0, 2.0, 2.0])):
        for weights in (None, np.full(len(y), 0.3)):
            model = SparseMultinomialNB(k=2, alpha=alpha, exact=exact)
            model.fit(columns, y, sample_weight=weights)
            assert model.get_support(indices=True).tolist() == [0, 2]
            path = sparsity_path(SparseMultinomialNB(alpha=alpha), columns, y, ks=[2, 3])
            assert path.support(2).tolist() == [0, 2]


def test_equal_columns_with_another_smoothing_are_not_equal():
    """Column 0 is smoothed so much that it says little: the second of two equal columns wins."""
    X = [[9, 9, 0, 1], [0, 0, 9, 1]]
    alpha = [30.0, 1.0, 1.0, 1.0]
    for Model in (SparseBernoulliNB, SparseMultinomialNB, SparsePoissonNB):
        assert Model(k=2, alpha=alpha).fit(X, [0, 1]).get_support(indices=True).tolist() == [1, 2]


@pytest.mark.parametrize("n_classes", [2, 3])
def test_screened_columns_that_are_equal(n_classes, monkeypatch):
    """Many columns without groups: equal ones are settled together, or chosen in order."""
    monkeypatch.setattr("naively.selection.coupled.SCREEN_ABOVE", 100)
    rng = np.random.default_rng(0)
    table = rng.gamma(0.2, 2.0, (500, n_classes))[rng.integers(0, 500, 3000)]
    number = np.unique(table, axis=0, return_inverse=True)[1].ravel()
    coupled = coupled_columns(Coupled(table, 1.0))
    assert isinstance(coupled, ScreenedColumns)
    for k in (2, 40, 300, 1500):
        take = coupled.select(k, None, None).take
        for group in range(number.max() + 1):
            assert (np.diff(take[number == group].astype(int)) <= 0).all()


def test_a_class_that_dwarfs_the_others_hides_no_proof():
    """All gains tie at the optimum, which mixes two selections; the better one is the answer."""
    X = np.array(
        [
            [1835, 1835, 0, 0],
            [54160, 54160, 165, 330],
            [375109, 375109, 0, 0],
            [453755, 453755, 6, 12],
        ]
    )
    model = SparseMultinomialNB(k=2, alpha=0, exact=True).fit(X, [0, 1, 1, 1])
    table = np.array([X[0], X[1:].sum(axis=0)]).T
    likelihood = partial(multinomial_log_likelihood, table.tolist())
    best = best_by_brute_force(likelihood, range(4), 2)
    assert model.certificate_.proven_optimal
    assert model.certificate_.gain == pytest.approx(0.7098307, abs=1e-7)
    assert model.certificate_.gain == pytest.approx(best - likelihood(set()), abs=1e-7)
    assert model.get_support(indices=True).tolist() == [0, 3]


@pytest.mark.parametrize("seed", range(40))
def test_exact_leaves_no_gap_where_columns_repeat_over_decades(seed):
    """Repeated columns, multiples of columns, classes of very different size."""
    rng = np.random.default_rng(seed)
    n_classes = int(rng.integers(2, 4))
    few = np.rint(10 ** rng.uniform(0, 6, (3, n_classes))) * (rng.random((3, n_classes)) < 0.8)
    table = np.concatenate([few, 2 * few, few])[rng.permutation(9)].astype(int)
    likelihood = partial(multinomial_log_likelihood, table.tolist())
    seen = [i for i in range(9) if table[i].any()]
    for k in (2, 3, 5):
        model = SparseMultinomialNB(k=k, alpha=0, exact=True).fit(table.T, np.arange(n_classes))
        best = best_by_brute_force(likelihood, seen, k)
        assert model.certificate_.proven_optimal
        assert model.certificate_.objective == pytest.approx(best, rel=1e-13, abs=1e-9)


@pytest.mark.parametrize("strategy", get_args(Strategy))
@pytest.mark.parametrize("moves", [(2, 1), (1, 2), (3, 1)])
def test_one_pooled_feature_says_nothing(strategy, moves):
    """Its share of itself is 1 in every class: the prior decides, and the first feature wins."""
    steps = dict(zip(("plus", "minus"), moves, strict=True)) if strategy == "plus_l_minus_r" else {}
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # of branch and bound, that its premise fails
        for seed in range(20):
            rng = np.random.default_rng(seed)
            y = np.repeat([0, 1], [int(rng.integers(5, 15)), 10])
            X = rng.poisson(rng.gamma(0.5, 2.0, (2, 5))[y])
            selector = ErrorSearchSelector(k=1, strategy=strategy, **steps)
            for shares in (None, np.bincount(y) / len(y)):
                error = selector.set_params(priors=shares).fit(X, y).error_
                assert error == pytest.approx(0.5 if shares is None else shares.min(), abs=1e-12)
            selector.fit(X[:, [0, 0, 0]], y)
            assert selector.get_support(indices=True).tolist() == [0]


# -- what is nothing -------------------------------------------------------------------------------


@pytest.mark.parametrize("make", [ClassCounts, ClassMoments, ClassCategories])
def test_statistics_of_other_labels_do_not_subtract(make):
    ours = make.from_matrix([[1, 2], [3, 0]], ["a", "b"])
    for labels in (["a", "c"], ["c", "d"]):
        with pytest.raises(ValueError, match="labels outside `classes`, such as"):
            ours - make.from_matrix([[1, 2], [3, 0]], labels)
    with pytest.raises(ValueError, match="Labels must be of one kind"):
        ours - make.from_matrix([[1, 2]], [0])
    with pytest.raises(ValueError, match="Only statistics of rows that were counted"):
        ours - make.from_matrix([[1, 2], [1, 2]], ["a", "a"])


TWO_CLASSES = (np.array([0, 0, 0, 1]), np.array([[1.0], [1.0], [0.0], [1.0]]))


def counted(X, y, w):
    return ClassCounts.from_matrix(X, y, w, presence=True)


@pytest.mark.parametrize("container", [np.asarray, sp.csr_array])
def test_what_is_taken_away_completely_is_absent(container):
    """0.1 + 0.2 + 0.3 - 0.3 - 0.2 - 0.1 is 1e-17, and nothing."""
    X, y, w = np.ones((6, 1)), np.zeros(6, int), np.array([0.1, 0.2, 0.3, 0.3, 0.2, 0.1])
    for gather in (counted, ClassCounts.from_matrix, ClassCategories.from_matrix):
        rest = gather(container(X), y, w) - gather(container(X[3:]), y[3:], w[3:])
        rest = rest - gather(container(X[:3]), y[:3], w[:3])
        assert not rest.table.any()
        assert not rest.class_weight.any()


@pytest.mark.parametrize("light", [1e-10, 1e-7, 1e-4])
@pytest.mark.parametrize("container", [np.asarray, sp.csr_array])
def test_a_row_of_little_weight_is_not_nothing(container, light):
    """The row without the feature weighs a small share of its class, and lifts the veto."""
    (y, X), w = TWO_CLASSES, np.array([0.3, 0.7, light, 0.9])
    extra = container(np.array([[1.0]]))
    for rest in (
        counted(container(X), y, w),
        counted(container(X), y, w) + counted(extra, [0], [0.2]) - counted(extra, [0], [0.2]),
    ):
        model = SparseBernoulliNB.from_statistics(rest, k=1, alpha=0.0)
        absent = model.predict_joint_log_proba([[0]])[0]
        assert absent[0] - absent[1] == np.inf  # class 1 has no such row
        share = rest.class_weight[0] / rest.class_weight.sum()
        assert absent[0] == pytest.approx(np.log(light / 1.0 * share), abs=1e-4)
        assert model.predict_proba([[0]]).tolist() == [[1.0, 0.0]]
    categories = ClassCategories.from_matrix(container(X), y, w)
    assert categories.of_feature(0)[0, 0] == pytest.approx(light, rel=1e-4)
    for value in (0.0, 1.0):  # beside rows of another category, and of its own
        row = container(np.array([[value]]))
        for gather in (partial(ClassCategories.from_matrix, min_categories=2), counted):
            both, one = gather(container(X[:2]), y[:2], w[:2]), gather(row, [0], [light])
            rest = both + one - both
            np.testing.assert_allclose(rest.table, one.table, rtol=1e-4)
            np.testing.assert_allclose(rest.class_weight, one.class_weight, rtol=1e-4)


def test_of_sparse_columns_without_zeros_no_zero_is_left():
    """Weights of 0.1 sum to more or less than their sum in another order, by 1e-17: no row."""
    rng = np.random.default_rng(0)
    for _ in range(20):
        w = rng.choice([0.1, 0.2, 0.3, 0.7], 9)
        X, y = np.full((9, 1), 1e9) + rng.integers(0, 2, (9, 1)), np.zeros(9, int)
        dense = ClassMoments.from_matrix(X, y, w)
        for container in (sp.csr_array(X), sp.csc_array(X)):
            sparse = ClassMoments.from_matrix(container, y, w)
            np.testing.assert_allclose(sparse.scatter, dense.scatter, rtol=1e-6)
            ones = ClassCategories.from_matrix(container - container + sp.csr_array(X > 0), y, w)
            assert ones.of_feature(0)[0, 0] == 0
        binary = counted(sp.csr_array(X), y, w)
        model = SparseBernoulliNB.from_statistics(
            binary + counted(np.zeros((1, 1)), [1], [1.0]), k=1, alpha=0.0
        )
        assert model.predict_proba([[0]]).tolist() == [[0.0, 1.0]]
        assert model.predict_joint_log_proba([[0]])[0, 0] == -np.inf


@pytest.mark.parametrize("light", [1e-10, 1e-7])
def test_zeros_of_little_weight_spread(light):
    X, y, w = np.array([[1.0], [1.0], [0.0]]), [0, 0, 0], np.array([0.3, 0.7, light])
    for container in (np.asarray, sp.csr_array, sp.csc_array):
        scatter = ClassMoments.from_matrix(container(X), y, w).scatter
        np.testing.assert_allclose(scatter, [[light / (1 + light)]], rtol=1e-5)


WITHOUT_SMOOTHING = {
    "bernoulli": partial(SparseBernoulliNB, alpha=0),
    "multinomial": partial(SparseMultinomialNB, alpha=0),
    "poisson": partial(SparsePoissonNB, alpha=0),
    "categorical": partial(SparseCategoricalNB, alpha=0, min_categories=2),
    "l2": SparseL2Centers,
    "l2, std": partial(SparseL2Centers, scale="std"),
    "gaussian, shared": partial(SparseGaussianNB, variance="shared"),
}


@pytest.mark.parametrize("make", WITHOUT_SMOOTHING.values(), ids=WITHOUT_SMOOTHING)
@pytest.mark.parametrize("seed", range(8))
def test_folds_leave_nothing_behind(make, seed):
    """Total minus fold is the training rows: no presence or absence of 1e-16 lifts a veto."""
    rng = np.random.default_rng(seed)
    y = np.arange(40) % (2 + seed % 2)
    X = (rng.random((40, 12)) < rng.choice([0.03, 0.1, 0.9, 0.97], 12)).astype(int)
    w, ks = rng.uniform(0.1, 1, 40), [2, 5, 12]
    cv = StratifiedKFold(4, shuffle=True, random_state=0)
    results = SparsityCV(make(), ks=ks, cv=cv).fit(X, y, sample_weight=w).cv_results_
    for fold, (train, test) in enumerate(cv.split(X, y)):
        refits = [make(k=k).fit(X[train], y[train], sample_weight=w[train]) for k in ks]
        expected = [each.score(X[test], y[test], sample_weight=w[test]) for each in refits]
        np.testing.assert_allclose(results[f"split{fold}_test_score"], expected, atol=1e-12)


# -- very large values -----------------------------------------------------------------------------

MEASURES = {
    "l1": SparseL1Centers,
    "l2": SparseL2Centers,
    "l2, std": partial(SparseL2Centers, scale="std"),
    "l2, variance": partial(SparseL2Centers, scale="variance"),
    "gaussian": SparseGaussianNB,
    "gaussian, unsmoothed": partial(SparseGaussianNB, var_smoothing=0.0),
    "gaussian, shared": partial(SparseGaussianNB, variance="shared"),
    "poisson": SparsePoissonNB,
    "multinomial": SparseMultinomialNB,
    "bernoulli": SparseBernoulliNB,
}


def answered(model, X):
    model.predict(X)
    return getattr(model, "predict_proba", getattr(model, "decision_function", None))(X)


def refusal(job):
    """What a job is refused with; empty if it is done."""
    try:
        job()
    except ValueError as error:
        return str(error)
    return ""


@pytest.mark.parametrize("make", MEASURES.values(), ids=MEASURES)
@pytest.mark.parametrize("container", [np.asarray, sp.csr_array])
@pytest.mark.filterwarnings("ignore:The poisson model takes counts")
def test_very_large_values_are_answered_or_refused(make, container):
    """Never NaN, never a proof of nothing: squares end at 1e308, sums of them before."""
    y, refused = np.arange(20) % 2, []
    for size in (1e76, 1e100, 1e149, 3e153, 1e154, 3e154, 1e155, 1e200, 1e300, 1e308):
        for seed in range(5):
            X = np.random.default_rng(seed).uniform(0, 1, (20, 3)) + np.outer(y, [1, 0, 0.5])
            X[:, 1] *= size / X[:, 1].max()
            model, rows = make(k=2), container(X)
            reason = refusal(lambda m=model, Z=rows: m.fit(Z, y) and answered(m, Z))
            if reason:
                refused.append((size, reason))
                continue
            assert np.isfinite(answered(model, rows)).all()
            assert np.isfinite([model.certificate_.gain, *model.scores_]).all()
            along = sparsity_path(make(), rows, y).support(2).tolist()
            assert along == model.get_support(indices=True).tolist()
    assert all("too large" in reason and size >= 1e150 for size, reason in refused)
    assert bool(refused) == (make is not SparseBernoulliNB)


@pytest.mark.parametrize("make", MEASURES.values(), ids=MEASURES)
@pytest.mark.filterwarnings("ignore:The poisson model takes counts")
def test_very_large_values_to_predict_are_answered_or_refused(make):
    X, y = bytes_and_signal()
    model = make(k=3).fit(X, y)
    for container in (np.asarray, sp.csr_array):
        for size in (1e100, 1e200, 1e308):
            rows = X[:2].copy()
            rows[:, model.support_] = size
            reason = refusal(partial(answered, model, container(rows)))
            assert not reason or ("too large" in reason and size >= 1e200)
            assert reason or np.isfinite(answered(model, container(rows))).all()


def test_gains_that_outgrow_double_precision_together_are_refused():
    X = np.outer([0, 1, 0, 1], np.full(40, 1.2e153 * 10))
    with pytest.raises(ValueError, match="saving of squared distance is not a finite number"):
        SparseL2Centers(k=40).fit(X, [0, 1, 0, 1])
