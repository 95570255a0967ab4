"""Faults that were found by trying: each with the value that is right."""

import csv
import json
import warnings
from functools import partial

import numpy as np
import pytest
import scipy.sparse as sp
from click.testing import CliRunner
from sklearn.base import BaseEstimator

import naively as package
from naively import (
    ClassCounts,
    ErrorSearchSelector,
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
    expected_error,
    markers,
)
from naively.cli.commands import naively
from naively.jobs.study import coverage_points
from naively.judging.parting import Parting
from naively.statistics.weights import class_weights
from naively.work.row_keys import row_keys


class Rows:
    """A batch of rows of numbers."""

    width = 1
    group = None

    def __init__(self, rows):
        self.rows = rows

    def __len__(self):
        return self.rows.shape[0]


def run(*arguments, status=0):
    result = CliRunner().invoke(naively, [str(each) for each in arguments])
    assert result.exit_code == status, result.output
    return result


# -- containers ------------------------------------------------------------------------------------

MASKED = np.ma.masked_array(
    [[1.0, 5], [2, 1], [9, 1], [8, 4]], mask=[[0, 1], [0, 0], [1, 0], [0, 0]]
)


@pytest.mark.parametrize(
    "model", [SparseGaussianNB, SparseMultinomialNB, SparsePoissonNB, SparseBernoulliNB]
)
def test_what_is_masked_is_missing(model):
    with pytest.raises(ValueError, match="NaN"):
        model(k=1).fit(MASKED, [0, 0, 1, 1])


@pytest.mark.parametrize(
    "model", [SparseGaussianNB, SparsePoissonNB, SparseBernoulliNB, SparseCategoricalNB]
)
@pytest.mark.parametrize("dtype", [float, int])
def test_what_is_masked_is_left_out_of_its_feature(model, dtype):
    y, holes = [0, 0, 1, 1], MASKED.filled(np.nan)
    found = model(k=1, missing="ignore").fit(MASKED.astype(dtype), y)
    expected = model(k=1, missing="ignore").fit(holes, y)
    np.testing.assert_array_equal(found.statistics_.observed, [[2, 1], [1, 2]])
    np.testing.assert_array_equal(found.scores_, expected.scores_)
    np.testing.assert_array_equal(
        found.predict_proba(MASKED.astype(dtype)), expected.predict_proba(holes)
    )


def test_a_mixed_table_leaves_out_what_is_masked():
    found = SparseMixedNB(k=1).fit(MASKED, [0, 0, 1, 1])
    np.testing.assert_array_equal(found.statistics_.observed, [[2, 1], [1, 2]])
    plain = np.ma.masked_array(MASKED.data, mask=False)
    dense = SparseGaussianNB(k=1).fit(MASKED.data, [0, 0, 1, 1])
    np.testing.assert_array_equal(
        SparseGaussianNB(k=1).fit(plain, [0, 0, 1, 1]).scores_, dense.scores_
    )


# -- rows held out by their content ----------------------------------------------------------------


def test_a_row_is_known_whatever_its_form():
    dense = row_keys(Rows(np.array([[2.0, 3.0, 0.0]])))
    parts = sp.csr_matrix(([1.0, 1, 3, 0], [0, 0, 1, 2], [0, 4]), shape=(1, 3))
    unsorted = sp.csr_matrix(([3.0, 2], [1, 0], [0, 2]), shape=(1, 3))
    for rows in (parts, unsorted, sp.csr_array(np.array([[2.0, 3.0, -0.0]]))):
        np.testing.assert_array_equal(row_keys(Rows(rows)), dense)
    holes = np.array([[np.nan], [-np.nan]])
    assert len(set(row_keys(Rows(holes)).tolist())) == 1


def test_repeated_rows_are_dealt_out_whatever_their_order():
    rng = np.random.default_rng(0)
    keys = rng.integers(0, 4, 300).astype(np.uint64)
    codes = rng.integers(0, 3, 300)
    parting, names = Parting(share=0.2, n_folds=3, apart=True), np.array(["a", "b", "c"])

    def dealt(order):
        kinds = parting.dealt(keys[order], codes[order], names, None)
        cells = np.zeros((4, 3, 5), dtype=int)
        np.add.at(cells, (keys[order].astype(int), codes[order], kinds), 1)
        return cells

    expected = dealt(np.arange(300))
    for _ in range(5):
        np.testing.assert_array_equal(dealt(rng.permutation(300)), expected)
    of_test = expected[:, :, 0].sum(axis=0) / expected.sum(axis=(0, 2))
    np.testing.assert_allclose(of_test, 0.2, atol=1 / np.bincount(codes).min())


def test_folds_are_equal_parts_of_the_rows_that_are_trained_on():
    rng = np.random.default_rng(1)
    for seed in range(50):
        keys = rng.integers(0, 1 << 60, 60)
        codes = np.repeat([0, 1], 30)
        kinds = Parting(share=0.2, seed=seed, n_folds=5).dealt(
            keys, codes, np.array(["a", "b"]), None
        )
        for code in (0, 1):
            sizes = np.bincount(kinds[(codes == code) & (kinds > 0)] - 1, minlength=5)
            assert sizes.sum() == 24
            assert np.ptp(sizes) <= 1


def test_rows_of_equal_margin_enter_together():
    margin = np.array([2.0, 1.0, 1.0, 1.0, 0.5])
    one = np.ones(5, dtype=np.int64)
    points = {}
    for right in ([1, 1, 0, 0, 1], [1, 0, 0, 1, 1]):
        found = coverage_points(margin, one, np.array(right))
        points[tuple(right)] = [(each.coverage, each.accuracy) for each in found]
    assert points[1, 1, 0, 0, 1] == points[1, 0, 0, 1, 1] == [(0.2, 1.0), (0.8, 0.5), (1.0, 0.6)]


# -- statistics ------------------------------------------------------------------------------------


def test_a_category_of_rows_that_weigh_nothing_is_none():
    rng = np.random.default_rng(17)
    y, X = rng.integers(0, 2, 14), rng.integers(0, 4, (14, 1))
    weight = rng.integers(0, 3, 14)
    weight[X[:, 0] == X.max()] = 0
    rows = np.repeat(np.arange(14), weight)
    for form in (np.asarray, sp.csr_array):
        found = SparseCategoricalNB(k=1).fit(form(X), y, sample_weight=weight)
        repeated = SparseCategoricalNB(k=1).fit(form(X[rows]), y[rows])
        np.testing.assert_allclose(found.scores_, repeated.scores_, rtol=1e-12)


@pytest.mark.parametrize("model", [SparsePoissonNB, SparseNegativeBinomialNB])
def test_markers_do_not_depend_on_the_unit_of_exposure(model):
    X, y = np.array([[9.0, 1], [8, 2], [3, 9], [2, 8]]), list("aabb")
    found = []
    for unit in (1.0, 1e4, 1e-4):
        exposure = unit * np.array([2.0, 1, 1, 3])
        table = np.column_stack([X, exposure])
        found.append(markers(model(k=2, exposure=2).fit(table, y)).z)
    np.testing.assert_allclose(found[1], found[0], rtol=1e-10)
    np.testing.assert_allclose(found[2], found[0], rtol=1e-10)
    same = np.column_stack([X, np.ones(4)])
    np.testing.assert_allclose(
        markers(model(k=2, exposure=2).fit(same, y)).z, markers(model(k=2).fit(X, y)).z, rtol=1e-12
    )


def test_counts_say_the_same_by_presence_whatever_their_law():
    rng = np.random.default_rng(3)
    for _ in range(20):
        y = rng.integers(0, 2, 60)
        X = rng.poisson(0.5 + y[:, None] * rng.random(6))
        one, other = (
            model.fit(X, y).support_
            for model in (
                SparsePoissonNB(k=3, redundancy="conditional"),
                SparseNegativeBinomialNB(k=3, dispersion=0.0, redundancy="conditional"),
            )
        )
        np.testing.assert_array_equal(one, other)


# -- the command -----------------------------------------------------------------------------------


@pytest.fixture
def table(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    rng = np.random.default_rng(0)
    y = np.repeat(["a", "b"], [60, 40])
    X = rng.poisson(1 + 3 * (y == "a")[:, None] * rng.random(5))
    with open("t.csv", "w", newline="") as file:
        out = csv.writer(file)
        out.writerow([*"vwxyz", "depth", "label"])
        out.writerows([*row, 3, label] for row, label in zip(X.tolist(), y.tolist(), strict=True))
    return X, y


@pytest.mark.parametrize("exposure", ["total", "depth"])
@pytest.mark.parametrize("model", ["poisson", "negative-binomial"])
def test_thresholds_of_rows_of_some_exposure(table, exposure, model):
    shown = run(
        "select", "t.csv", "--read", "numbers", "--model", model, "-k", 3,
        "--read", f"exposure={exposure}", "--judge", "precision=a=0.7", "--json", "-q",
        "--out", "out",
    )  # fmt: skip
    [threshold] = json.loads(shown.stdout)["thresholds"]
    assert threshold["test_rows"] > 0
    assert threshold["reached"] >= threshold["low"]
    assert threshold["log_odds"] == round(threshold["log_odds"], 6)


def test_logistic_regression_weighs_classes_as_the_others(table):
    def scores(*more):
        shown = run("cv", "t.csv", "--read", "numbers", "--against", "logistic", "--json", *more)
        return json.loads(shown.stdout)

    assert scores() != scores("--choose", "class-weight=balanced")


def test_labels_of_cells_are_looked_for_by_name(tmp_path):
    anndata = pytest.importorskip("anndata")
    import pandas as pd

    obs = pd.DataFrame({"cell_type": ["a", "b"] * 5, "plate": ["p"] * 10}, index=list("abcdefghij"))
    path = tmp_path / "cells.h5ad"
    anndata.AnnData(X=np.eye(10, 3), obs=obs).write_h5ad(path)
    said = run("select", path, status=2).output
    assert "there is no column `label`" in " ".join(said.split())


@pytest.mark.parametrize("power", [-300, -200, -160, -120, -60, 60, 100, 120, 150, 200, 290])
@pytest.mark.parametrize(
    "make",
    [
        SparseL2Centers,
        partial(SparseL2Centers, scale="std"),
        partial(SparseL2Centers, scale="variance"),
        SparseGaussianNB,
        partial(SparseGaussianNB, variance="shared"),
    ],
)
def test_the_unit_of_a_table_changes_nothing_or_is_refused(make, power):
    """Squares that double precision cannot hold chose any features and answered one class."""
    rng = np.random.default_rng(0)
    y = np.arange(30) % 2
    X = rng.normal(size=(30, 4)) + 5.0 * y[:, None] * [0, 1, 0, 0]
    unit = 2.0 ** round(power / np.log10(2))  # a power of two: no digit changes
    known = make(2).fit(X, y)
    # Squares end at 1e-308 and 1e308, squares of variances at 1e-77 and 1e77.
    if abs(power) > (77 if known.get_params().get("scale") == "variance" else 154):
        with pytest.raises(ValueError, match=r"too (small|large)"):
            make(2).fit(X * unit, y)
        return
    model = make(2).fit(X * unit, y)
    np.testing.assert_array_equal(model.support_, known.support_)
    np.testing.assert_array_equal(model.predict(X * unit), known.predict(X))


@pytest.mark.parametrize("weight", [1e-100, 1e-170, 1e-250, 2.0**-1000, 2.0**-1040])
@pytest.mark.parametrize(
    "make",
    [
        partial(SparseMultinomialNB, alpha=0.0),
        partial(SparseBernoulliNB, alpha=0.0),
        partial(SparsePoissonNB, alpha=0.0),
        partial(SparseNegativeBinomialNB, alpha=0.0),
        partial(SparseCategoricalNB, alpha=0.0),
        SparseGaussianNB,
        SparseL2Centers,
        SparseL1Centers,
    ],
)
def test_rows_of_little_weight_are_rows(make, weight):
    """Without smoothing the unit of the weights is nothing: products of light ones vanished."""
    X, y = np.array([[3, 0, 1], [2, 1, 0], [0, 3, 1], [1, 4, 0.0]]), [0, 0, 1, 1]
    known, found = make(1).fit(X, y), make(1).fit(X, y, sample_weight=np.full(4, weight))
    np.testing.assert_array_equal(found.support_, known.support_)
    np.testing.assert_array_equal(found.predict(X), known.predict(X))


@pytest.mark.parametrize("normalize", [True, False])
@pytest.mark.parametrize("value", [1e307, 1e308, 1.7e308])
def test_entries_near_the_end_of_double_precision_in_a_hybrid(value, normalize):
    X, y = np.array([[value, 0, 1], [value, 1, 0], [0, value, 1], [1, value, 0]]), [0, 0, 1, 1]
    with pytest.raises(ValueError, match="too large"):
        HybridNB(penalty=1.0, normalize=normalize).fit(X, y)
    model = HybridNB(penalty=1.0, normalize=normalize).fit(np.minimum(X, 5), y)
    if value > 1e307:  # its products with weights are beyond
        with pytest.raises(ValueError, match="too large"):
            model.predict(X)
    else:
        assert model.predict(X).tolist() == y


@pytest.mark.parametrize(("value", "weight"), [(1e155, 1), (1e200, 1), (1e300, 1), (1, 1e300)])
@pytest.mark.parametrize("penalty", ["auto", 1.0])
def test_squares_beyond_double_precision_in_a_hybrid(value, weight, penalty):
    X, y = np.array([[2, 0, 1], [3, 1, 0], [0, 3, 1], [1, 2, 0]]) * value, [0, 0, 1, 1]
    model = HybridNB(penalty=penalty, normalize=False)
    with pytest.raises(ValueError, match="too large for sums"):
        model.fit(X, y, sample_weight=np.full(4, weight))


@pytest.mark.parametrize("make", [SparseMultinomialNB, SparsePoissonNB, SparseCategoricalNB])
def test_weights_whose_sums_are_infinite_are_refused(make):
    X, y = np.array([[3, 0, 1], [2, 1, 0], [0, 3, 1], [1, 4, 0]]), [0, 0, 1, 1]
    with pytest.raises(ValueError, match="too large"):
        make(k=1).fit(X, y, sample_weight=np.full(4, 1e308))


@pytest.mark.parametrize("weight", [1e-299, 1e-302, 1e-305])
def test_balanced_classes_weigh_alike_however_light_their_rows(weight):
    total = np.array([3.0, 1.0, 0.0])
    for found in (class_weights("balanced", np.arange(3), total * scale) for scale in (1, weight)):
        np.testing.assert_allclose(found, [2 / 3, 2, 1], rtol=1e-12)


@pytest.mark.parametrize("length", ["a", ["a", "b"], ([1, 2], "ab")])
def test_lengths_that_are_no_numbers(length):
    with pytest.raises(ValueError, match=r"^`length` must be a number, or a tuple"):
        expected_error([[0.5, 0.5], [0.2, 0.8]], length=length)


@pytest.mark.parametrize("priors", ["ab", ["a", "b"], [None, 1.0]])
def test_priors_that_are_no_numbers(priors):
    with pytest.raises(ValueError, match=r"^`priors` must be 2 numbers >= 0 that sum to 1"):
        expected_error([[0.5, 0.5], [0.2, 0.8]], length=3, priors=priors)


@pytest.mark.parametrize(
    "make", [SparseMultinomialNB, SparseBernoulliNB, SparseL2Centers, SparseGaussianNB]
)
@pytest.mark.parametrize("method", ["fit", "partial_fit"])
def test_a_fit_that_fails_leaves_the_estimator_as_it_was(make, method):
    X, y = np.arange(12.0).reshape(4, 3), [0, 1, 0, 1]
    model = make(2).fit(X, y)
    before, answers = dict(vars(model)), model.predict(X)
    wider = np.hstack([X, X])
    wider[0, 0] = np.inf
    with pytest.raises(ValueError, match="infinity"):
        getattr(model, method)(wider[:, : 6 if method == "fit" else 3], y)
    assert vars(model).keys() == before.keys()
    assert all(vars(model)[name] is before[name] for name in before)
    np.testing.assert_array_equal(model.predict(X), answers)


@pytest.mark.parametrize(
    "call",
    [
        lambda X, y: SparseMultinomialNB(9).fit(X, y),
        lambda X, y: SparseMultinomialNB.from_statistics(ClassCounts.from_matrix(X, y), k=9),
        lambda X, y: SparseMultinomialNB(9, excluded=[0]).fit(X, y),
        lambda X, y: SparseMultinomialNB("auto").fit(X * 0 + 1, y),
        lambda X, y: SparseMultinomialNB("fdr", q=1e-9).fit(X * 0 + 1, y),
        lambda X, y: ErrorSearchSelector(9).fit(X, y),
        lambda X, y: HybridNB(regions=2, penalty=0).fit(X, y),
    ],
)
def test_a_warning_points_at_the_line_of_the_caller(call):
    X, y = np.repeat(np.eye(4), 5, axis=0), np.repeat([0, 0, 1, 1], 5)
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        call(X, y)
    assert [each.filename for each in caught] == [__file__]


def test_a_folder_of_records_tells_of_a_file_as_it_was(tmp_path, monkeypatch):
    """The rows of a file that changed were added twice, without a word."""
    monkeypatch.chdir(tmp_path)
    with open("a.csv", "w") as file:
        file.write("text,label\n" + "good,x\nbad,y\n" * 10)
    count = ["count", "a.csv", "--out", "records", "-q"]
    assert "another file" not in CliRunner().invoke(naively, count).output
    with open("a.csv", "a") as file:
        file.write("better,x\n")
    assert "is a record of another file called a.csv" in CliRunner().invoke(naively, count).output


def estimators():
    """One of each public class, with what it cannot do without."""
    needs = {
        "SparsityCV": lambda make: make(SparseMultinomialNB(), cv=2),
        "ErrorSearchSelector": lambda make: make(k=2),
    }
    for name in dir(package):
        make = getattr(package, name)
        if isinstance(make, type) and issubclass(make, BaseEstimator) and name != "WordCounts":
            model = needs.get(name, lambda make: make())(make)
            yield model.set_params(k=2) if "k" in model.get_params() else model


@pytest.mark.parametrize("model", [*estimators()], ids=lambda model: type(model).__name__)
def test_a_refit_of_another_width_that_fails_changes_nothing(model):
    X, y = np.random.default_rng(0).poisson(2.0, (40, 5)), np.arange(40) % 2
    X[:, 0] += 3 * y
    model.fit(X, y)
    before = dict(vars(model))
    wide = np.random.default_rng(1).poisson(2.0, (40, 7)).astype(float)
    for rows, labels in ((np.where(wide == 2, np.inf, wide), y), (wide, y[:5])):
        with pytest.raises(ValueError, match="."):
            model.fit(rows, labels)
        assert vars(model) == before
    assert model.n_features_in_ == 5
