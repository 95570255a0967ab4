"""Error over the number of features: what fits, refits and known truths say."""

from __future__ import annotations

import numpy as np
import pytest
from scipy import sparse
from sklearn.base import clone
from sklearn.model_selection import cross_val_score
from sklearn.utils.estimator_checks import parametrize_with_checks

from agreement import not_for_counts
from naively import (
    ErrorPathDisplay,
    HybridNB,
    SparseBernoulliNB,
    SparseCategoricalNB,
    SparseGaussianNB,
    SparseL1Centers,
    SparseL2Centers,
    SparseMultinomialNB,
    SparseNegativeBinomialNB,
    SparsePoissonNB,
    error_path,
    expected_error,
)
from naively.judging.error_path import ErrorPath, FoldErrors
from naively.judging.folds import fold_errors, stratified_folds
from naively.judging.leave_one_out import _by_formula, _by_refits
from naively.judging.rows import checked_rows, gather_rows
from naively.selection.path import path

ESTIMATORS = [
    SparseMultinomialNB(),
    SparseMultinomialNB(alpha=0.0),
    SparseBernoulliNB(),
    SparseBernoulliNB(alpha=0.0, fit_prior=False),
    SparsePoissonNB(),
    SparseNegativeBinomialNB(),
    SparseCategoricalNB(),
    SparseGaussianNB(var_smoothing=1e-3),
    SparseL2Centers(scale="std"),
    SparseL1Centers(),
]
NAMES = [str(estimator) for estimator in ESTIMATORS]


def documents(n=60, m=12, n_classes=3, seed=0, rate=2.0):
    rng = np.random.default_rng(seed)
    rates = rate * rng.gamma(1.0, size=(n_classes, m))
    y = np.arange(n) % n_classes
    return rng.poisson(rates[y]), np.array(["a", "b", "c"])[y]


def noise(seed=0, n=60, m=5000):
    rng = np.random.default_rng(seed)
    return rng.integers(0, 2, (n, m)), rng.permutation(np.repeat([0, 1], n // 2))


# Cross-validated error --------------------------------------------------------------------------


@pytest.mark.parametrize("sparse_rows", [False, True])
@pytest.mark.parametrize("estimator", ESTIMATORS, ids=NAMES)
def test_fold_errors_equal_a_loop_of_fits(estimator, sparse_rows):
    X, y = documents()
    if sparse_rows:
        X = sparse.csr_array(X)
    given = X.astype(float) if isinstance(estimator, SparseL2Centers) else X
    model = estimator._model()
    rows = checked_rows(given, y, None)
    ks = [1, 2, 5, 9, 12] if estimator.__class__ is SparseL2Centers else [0, 1, 2, 5, 9, 12]
    statistics = model.gather(given, y)
    found = fold_errors(model, rows, statistics, ks, n_folds=4, random_state=3)
    fold = stratified_folds(rows.labels, 4, np.random.RandomState(3))
    for t in range(4):
        inside, outside = np.flatnonzero(fold == t), np.flatnonzero(fold != t)
        for g, k in enumerate(ks):
            model = clone(estimator).set_params(k=k).fit(given[outside], y[outside])
            expected = np.mean(model.predict(given[inside]) != y[inside])
            assert found.errors[t, g] == pytest.approx(expected, abs=1e-12)


def test_weights_count_as_rows():
    X, y = documents(n=30)
    weight = np.tile([1, 0, 2], 10)
    twice = np.repeat(np.arange(30), weight)
    settings = {"ks": [0, 3], "rivals": "product"}
    weighted = error_path(SparseMultinomialNB(), X, y, sample_weight=weight, **settings)
    repeated = error_path(SparseMultinomialNB(), X[twice], y[twice], **settings)
    np.testing.assert_allclose(weighted.predicted, repeated.predicted)
    assert weighted.folds.weight.sum() == 5 * weight.sum()  # few rows are divided five times


@pytest.mark.parametrize("unused", [{"method": "normal"}, {"rivals": "product"}])
def test_where_no_error_is_predicted_how_has_no_effect(unused):
    X, y = documents(n=30)
    with pytest.raises(ValueError, match="have no effect on this gaussian model"):
        error_path(SparseGaussianNB(), X, y, ks=[1, 3], **unused)


@pytest.mark.parametrize("n", [60, 150, 600])
def test_the_path_chooses_the_k_of_a_fit(n):
    X, y = documents(n=n)
    for k, choice in (("auto", "auto"), ("simplest", "simplest"), ("best", "best")):
        fitted = SparseMultinomialNB(k=k).fit(X, y)
        chosen = fitted.fold_errors_.best_k(choice)
        assert len(fitted.get_support(indices=True)) == chosen
        path = error_path(SparseMultinomialNB(), X, y, ks=fitted.fold_errors_.k, rivals="product")
        np.testing.assert_array_equal(path.folds.errors, fitted.fold_errors_.errors)
        assert path.best_k(choice) == chosen


@pytest.mark.parametrize("n_folds", [2, 5, 7])
def test_folds_have_equal_shares_of_the_classes(n_folds):
    labels = np.repeat([0, 1, 2], [31, 12, 3])
    fold = stratified_folds(labels, n_folds, np.random.RandomState(0))
    for c in range(3):
        counts = np.bincount(fold[labels == c], minlength=n_folds)
        assert np.ptp(counts) <= 1
    assert np.ptp(np.bincount(fold)) <= 1


def test_other_estimators_are_refused_by_name():
    with pytest.raises(TypeError, match=r"sparse classifier of this package.*got HybridNB"):
        error_path(HybridNB(), [[1, 0], [0, 1]], [0, 1])


def test_standard_error_and_choice():
    errors = np.array([[0.5, 0.30, 0.2, 0.21], [0.5, 0.24, 0.2, 0.25], [0.5, 0.27, 0.26, 0.27]])
    folds = FoldErrors(np.array([0, 5, 9, 20]), errors, np.ones(3), 3)
    np.testing.assert_allclose(folds.mean, errors.mean(axis=0))
    expected = errors.std(axis=0, ddof=1) / np.sqrt(3)
    np.testing.assert_allclose(folds.standard_error, expected)
    assert folds.best_k("best") == 9
    assert folds.best_k() == 9
    wider = FoldErrors(folds.k, errors + [[0, 0, -0.1, 0], [0, 0, 0.1, 0], [0] * 4], np.ones(3), 3)
    assert wider.best_k("simplest") == 5
    assert wider.best_k() == 9
    with pytest.raises(ValueError, match="`choice` must be"):
        folds.best_k("largest")


# k="auto" ---------------------------------------------------------------------------------------


@pytest.mark.parametrize("estimator", ESTIMATORS, ids=str)
def test_auto_takes_the_cross_validated_choice(estimator):
    X, y = documents(n=90, m=40, rate=1.0)
    X[:, 5:] = np.random.default_rng(1).poisson(1.0, (90, 35))  # five columns matter
    model = clone(estimator).set_params(k="auto").fit(X, y)
    assert model.support_.sum() == model.fold_errors_.best_k()
    assert 1 <= model.support_.sum() <= 20
    chosen = clone(estimator).set_params(k=int(model.support_.sum())).fit(X, y)
    np.testing.assert_array_equal(chosen.support_, model.support_)


def not_for_auto(estimator):
    """Checks that a k chosen by cross-validation cannot pass."""
    needs_rows = "`k`='auto' needs all rows at once, and says so"
    folds = "a row of weight two is in one fold, a row that is there twice may be in two"
    failing = not_for_counts(estimator)
    if hasattr(estimator, "partial_fit"):
        failing["check_fit_score_takes_y"] = needs_rows
        failing["check_n_features_in_after_fitting"] = needs_rows
        failing["check_estimators_partial_fit_n_features"] = needs_rows
    # The others see no feature that helps in the data of these checks, however they are divided.
    choosing = SparseMultinomialNB | SparsePoissonNB | SparseGaussianNB | SparseL1Centers
    if isinstance(estimator, choosing | SparseL2Centers):
        failing["check_sample_weight_equivalence_on_dense_data"] = folds
        failing["check_sample_weight_equivalence_on_sparse_data"] = folds
    return failing


@pytest.mark.filterwarnings("ignore:`k`='auto' selects no feature")
@pytest.mark.filterwarnings("ignore:No features were selected")
@pytest.mark.filterwarnings("ignore:The .* model takes counts")  # the checks give real numbers
@parametrize_with_checks(
    [
        SparseMultinomialNB(k="auto"),
        SparseBernoulliNB(k="auto"),
        SparsePoissonNB(k="auto"),
        SparseCategoricalNB(k="auto"),
        SparseGaussianNB(k="auto"),
        SparseL2Centers(k="auto"),
        SparseL1Centers(k="auto"),
    ],
    expected_failed_checks=not_for_auto,
)
def test_scikit_learn_checks(estimator, check):
    check(estimator)


def test_auto_needs_rows():
    X, y = documents()
    statistics = SparseMultinomialNB().gather(X, y)
    with pytest.raises(ValueError, match="needs all rows at once"):
        SparseMultinomialNB.from_statistics(statistics, k="auto")
    with pytest.raises(ValueError, match="needs all rows at once"):
        SparseMultinomialNB(k="auto").partial_fit(X, y, classes=["a", "b", "c"])
    with pytest.raises(ValueError, match="at least two rows"):
        SparseMultinomialNB(k="auto").fit(X[:1], y[:1])


@pytest.mark.parametrize("n_folds", [0, 1, 2.5])
def test_number_of_folds_is_checked(n_folds):
    X, y = documents()
    with pytest.raises(ValueError, match="`n_folds` must be an int >= 2"):
        error_path(SparseMultinomialNB(), X, y, ks=[1], n_folds=n_folds)


def test_auto_says_that_no_feature_helps():
    X, y = np.zeros((20, 3), dtype=int), np.arange(20) % 2
    X[:, 0] = np.arange(20) < 10
    with pytest.warns(UserWarning, match="selects no feature: the cross-validated error"):
        model = SparseBernoulliNB(k="auto").fit(X, y)
    assert model.support_.sum() == 0


# The three curves -------------------------------------------------------------------------------


def test_on_noise_only_cross_validation_is_honest():
    """Labels independent of 5,000 columns: every classifier errs on half of all new rows."""
    curves = [error_path(SparseBernoulliNB(), *noise(seed), [0, 5, 20, 100]) for seed in range(6)]
    predicted = np.mean([curve.predicted for curve in curves], axis=0)
    leave_one_out = np.mean([curve.leave_one_out for curve in curves], axis=0)
    honest = np.mean([curve.cross_validated for curve in curves], axis=0)
    assert (predicted[2:] < 0.1).all()
    assert (leave_one_out[2:] < 0.1).all()
    assert (np.abs(honest - 0.5) < 0.12).all()


@pytest.mark.filterwarnings("ignore:`k`='auto' selects no feature")
def test_auto_is_not_fooled_by_noise():
    X, y = noise(0, m=500)
    score = cross_val_score(SparseBernoulliNB(k="auto"), X, y, cv=5).mean()
    assert abs(score - 0.5) < 0.2


def test_predicted_error_is_right_for_the_model_itself():
    """Rows drawn with the probabilities that the model has in the end."""
    rng = np.random.default_rng(0)
    P = rng.dirichlet(np.full(30, 0.5), size=2)
    train = np.vstack([rng.multinomial(20, P[c], 5000) for c in (0, 1)])
    test = np.vstack([rng.multinomial(20, P[c], 20000) for c in (0, 1)])
    y_train, y_test = np.repeat([0, 1], 5000), np.repeat([0, 1], 20000)
    for k in (3, 10, 30):
        model = SparseMultinomialNB(k=k).fit(train, y_train)
        error = np.mean(model.predict(test) != y_test)
        assert expected_error(model).error == pytest.approx(error, abs=0.006)
        assert expected_error(model, length=20).error == pytest.approx(error, abs=0.006)


def test_predicted_error_of_the_presence_model():
    rng = np.random.default_rng(1)
    theta = rng.beta(0.5, 2.0, size=(2, 40))
    y = rng.integers(0, 2, 20000)
    X = rng.random((20000, 40)) < theta[y]
    model = SparseBernoulliNB(k=8).fit(X[:10000], y[:10000])
    error = np.mean(model.predict(X[10000:]) != y[10000:])
    for method in ("exact", "saddlepoint", "normal"):
        assert expected_error(model, method=method).error == pytest.approx(error, abs=0.02)


def test_predicted_error_of_fitted_models_without_smoothing():
    model = SparseMultinomialNB(k="all", alpha=0.0).fit([[4, 0, 1], [0, 4, 1]], [0, 1])
    # Wrong only if all five words are the third one: then the first class wins.
    result = expected_error(model)
    np.testing.assert_allclose(result.confusion, [[1, 0], [0.2**5, 1 - 0.2**5]])
    perfect = SparseBernoulliNB(k=1, alpha=0.0).fit([[1, 0], [0, 0]], [1, 0])
    assert expected_error(perfect).error == 0


def test_prior_and_law_of_a_fitted_model():
    X, y = documents(n=90, n_classes=2)
    model = SparseMultinomialNB(k=4, class_prior=[0.2, 0.8]).fit(X, y)
    nothing = SparseMultinomialNB(k=0, class_prior=[0.2, 0.8]).fit(X, y)
    assert expected_error(nothing).error == pytest.approx(0.2)
    assert expected_error(nothing, priors=[0.5, 0.5]).error == pytest.approx(0.5)
    own = expected_error(model, law="model")
    assert 0 <= own.error <= 0.2
    held = own.confusion  # under the model's own law every class gives S the same share
    assert held.shape == (2, 2)
    with pytest.raises(ValueError, match="`law` must be one of"):
        expected_error(model, law="mine")
    with pytest.raises(ValueError, match="a fitted model has its own"):
        expected_error(model, support=[1])


@pytest.mark.parametrize("estimator", [SparseMultinomialNB(), SparseBernoulliNB()])
def test_predicted_error_of_many_classes_is_simulated(estimator):
    X, y = documents(n=168, m=20, n_classes=3)
    path = error_path(estimator, X, y, [0, 5, 20], n_folds=2)
    for error, k in zip(path.predicted, path.k, strict=True):
        model = clone(estimator).set_params(k=int(k)).fit(X, y)
        own = expected_error(model, rivals="simulated", n_rows=30_000, random_state=1)
        assert error == pytest.approx(own.error, abs=0.015)
    many = error_path(estimator, X[:126], np.repeat(np.arange(42), 3), [2], n_folds=2)
    assert 0.5 < many.predicted[0] < 1


def test_models_without_a_law_say_so():
    X, y = documents()
    model = SparseL1Centers(k=3).fit(X, y)
    with pytest.raises(ValueError, match="use cross-validation"):
        expected_error(model)
    curves = error_path(SparseL1Centers(), X, y, [1, 3])
    assert curves.predicted is None
    assert curves.leave_one_out is None
    assert curves.cross_validated.shape == (2,)


@pytest.mark.parametrize("estimator", [ESTIMATORS[i] for i in (0, 1, 2, 4, 6)])
def test_leave_one_out_equals_refits(estimator):
    X, y = documents(n=24, n_classes=2, rate=0.7)
    ks = [0, 2, 4, 8, 12]
    found = error_path(estimator, X, y, ks, n_folds=2).leave_one_out
    fitted = [clone(estimator).set_params(k=k).fit(X, y) for k in ks]
    wrong = np.zeros(5)
    for i in range(24):
        others = np.arange(24) != i
        for g, model in enumerate(fitted):
            rest = model.gather(X[others], y[others], classes=model.classes_)
            support = model.selection_.support
            rule = model.model_.family.rule(rest, support, model.model_.log_prior(rest))
            scores = rule.scores(model.model_.prepare(X[[i]][:, support]).astype(float))[0]
            winner = np.argmax(scores >= scores.max() - 1e-9)
            wrong[g] += model.classes_[winner] != y[i]
    np.testing.assert_allclose(found, wrong / 24)


# The display ------------------------------------------------------------------------------------


@pytest.fixture
def pyplot():
    matplotlib = pytest.importorskip("matplotlib")
    matplotlib.use("agg")
    from matplotlib import pyplot

    yield pyplot
    pyplot.close("all")


def test_display(pyplot):
    X, y = documents()
    display = ErrorPathDisplay.from_estimator(SparseMultinomialNB(), X, y, ks=[1, 3, 12])
    np.testing.assert_allclose(
        display.cross_validated_line_.get_ydata(), display.path.cross_validated
    )
    np.testing.assert_allclose(display.predicted_line_.get_ydata(), display.path.predicted)
    labels = [text.get_text() for text in display.ax_.get_legend().get_texts()]
    assert any("honest" in label for label in labels)
    assert any("blind to the selection" in label for label in labels)
    assert any("what the model believes" in label for label in labels)
    assert display.chosen_line_.get_xdata()[0] == display.path.best_k()


def test_display_without_the_optimistic_curves(pyplot):
    folds = FoldErrors(np.array([1, 2]), np.array([[0.5, 0.4], [0.4, 0.4]]), np.ones(2), 2)
    _, ax = pyplot.subplots()
    display = ErrorPathDisplay(ErrorPath(folds.k, None, None, folds)).plot(ax=ax)
    assert display.ax_ is ax
    assert display.predicted_line_ is None
    assert display.leave_one_out_line_ is None


@pytest.mark.parametrize("Model", [SparseMultinomialNB, SparseBernoulliNB])
@pytest.mark.parametrize("alpha", [1.0, 1e-9, 1e-13])
def test_rows_left_out_may_be_all_but_their_class_or_nothing_of_it(Model, alpha):
    """Weights over decades: what is left of a class is a light row, or a residue of 1e-17."""
    for seed in range(60):
        rng = np.random.default_rng(seed)
        y = rng.permutation(np.arange(7) % 2)
        X = np.where(rng.random((7, 8)) < 0.8, (y[:, None] == np.arange(8) % 2) * 3, 0)
        weight = rng.choice([1e-8, 0.1, 0.2, 0.3, 1.0], 7)
        model = Model(k="all", alpha=alpha)._model()
        rows = checked_rows(X, y, weight)
        statistics = gather_rows(model, rows, np.array([0, 1]))
        track = path(model.family, statistics, [2, 8])
        found = _by_formula(model, statistics, track, rows)
        np.testing.assert_allclose(found, _by_refits(model, statistics, track, rows), atol=1e-12)
