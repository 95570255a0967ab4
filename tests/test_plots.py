"""Displays of the path and of the weights hold the numbers they draw."""

from __future__ import annotations

import numpy as np
import pytest
from scipy import sparse

from naively import (
    CoverageDisplay,
    ErrorPathDisplay,
    FeaturePanelDisplay,
    FeatureScatterDisplay,
    FeatureWeightsDisplay,
    SparseBernoulliNB,
    SparseCategoricalNB,
    SparseGaussianNB,
    SparseL1Centers,
    SparseL2Centers,
    SparseMultinomialNB,
    SparsePoissonNB,
    SparsityCV,
    SparsityPathDisplay,
    StabilityDisplay,
    sparsity_path,
)

matplotlib = pytest.importorskip("matplotlib")


@pytest.fixture(autouse=True)
def pyplot():
    matplotlib.use("agg")
    from matplotlib import pyplot

    yield pyplot
    pyplot.close("all")


def documents(n=60, m=12, seed=0):
    rng = np.random.default_rng(seed)
    y = np.arange(n) % 3
    return rng.poisson(2 * rng.gamma(1.0, size=(3, m))[y]), np.array(["a", "b", "c"])[y]


def test_path_shows_objective_bound_and_gap():
    X, y = documents()
    display = SparsityPathDisplay.from_estimator(SparseMultinomialNB(), X, y, ks=[1, 2, 5, 9, 12])
    path = sparsity_path(SparseMultinomialNB(), X, y, [1, 2, 5, 9, 12])
    np.testing.assert_allclose(
        display.objective_line_.get_ydata(), path.objective - path.baseline, atol=1e-9
    )
    np.testing.assert_allclose(
        display.bound_line_.get_ydata(), path.bound - path.baseline, atol=1e-9
    )
    np.testing.assert_allclose(display.gap_line_.get_ydata(), path.gap, atol=1e-9)
    np.testing.assert_allclose(
        display.a_priori_line_.get_ydata(), path.a_priori - path.baseline, atol=1e-9
    )
    assert display.gap_ax_ is not display.ax_
    labels = [text.get_text() for text in display.ax_.get_legend().get_texts()]
    assert "a priori: bound for k - 5 features" in labels
    assert display.score_ax_ is None


def test_path_of_a_search_shows_the_scores():
    X, y = documents()
    search = SparsityCV([SparseBernoulliNB(), SparseMultinomialNB()], alphas=[0.1, 1.0]).fit(X, y)
    display = SparsityPathDisplay.from_estimator(search, X, y)
    table, best = search.cv_results_, search.best_index_
    k = display.score_line_.get_xdata()
    at = int(np.flatnonzero(k == search.best_k_)[0])
    assert display.score_line_.get_ydata()[at] == pytest.approx(table["mean_test_score"][best])
    first = best - at  # the curve of the estimator and smoothing that won
    np.testing.assert_allclose(
        display.score_line_.get_ydata(), table["mean_test_score"][first : first + len(k)]
    )
    assert display.chosen_line_.get_xdata()[0] == search.best_k_
    error = table["std_test_score"][best] / 2  # five folds: the square root of 5 - 1
    vertices = display.band_.get_paths()[0].vertices
    ends = vertices[np.isclose(vertices[:, 0], search.best_k_), 1]
    assert np.ptp(ends) == pytest.approx(2 * error)


def test_path_draws_where_it_is_told(pyplot):
    X, y = documents()
    search = SparsityCV(SparseBernoulliNB(), [1, 5]).fit(X, y)
    _, ax = pyplot.subplots(1, 2)
    assert SparsityPathDisplay.from_estimator(search, X, y, ax=ax).score_ax_ is ax[1]
    with pytest.raises(ValueError, match="`ax` must be two axes"):
        SparsityPathDisplay.from_estimator(search, X, y, ax=ax[0])


@pytest.mark.parametrize("estimator", [SparseMultinomialNB(4), SparseL2Centers(4)])
def test_weights_of_each_class(estimator):
    X, y = documents()
    model = estimator.fit(X, y)
    display = FeatureWeightsDisplay.from_estimator(model, n_top=3)
    expected = model.coef_ - model.coef_.mean(axis=0)
    assert [ax.get_title() for ax in display.axes_] == ["a", "b", "c"]
    for c, bars in enumerate(display.bars_):
        widths = [bar.get_width() for bar in bars]
        largest = np.sort(np.abs(expected[c]))[::-1][:3]
        np.testing.assert_allclose(np.sort(np.abs(widths))[::-1], largest)
        assert widths == sorted(widths, reverse=True)
        names = [label.get_text() for label in display.axes_[c].get_yticklabels()]
        np.testing.assert_allclose([expected[c, int(name[1:])] for name in names], widths)


def test_weights_of_two_classes_are_opposite():
    X, y = documents()
    search = SparsityCV(SparseMultinomialNB(), [4]).fit(X[y != "c"], y[y != "c"])
    display = FeatureWeightsDisplay.from_estimator(search)
    np.testing.assert_allclose(display.weights[0], -display.weights[1])
    np.testing.assert_allclose(display.weights[1], search.best_estimator_.coef_[0])
    assert len(display.top(0)) == 4


def test_images_of_pixels():
    X, y = documents()
    model = SparseMultinomialNB(5).fit(X, y)
    display = FeatureWeightsDisplay.from_estimator(model, image_shape=(3, 4))
    assert len(display.images_) == 3
    pixels = display.images_[1].get_array()
    np.testing.assert_allclose(pixels.data.ravel(), display.weights[1])
    np.testing.assert_array_equal(~pixels.mask.ravel(), model.support_)
    low, high = display.images_[0].get_clim()
    assert low == -high == -np.abs(display.weights).max()
    with pytest.raises(ValueError, match="one pixel for each of the 12 features"):
        FeatureWeightsDisplay.from_estimator(model, image_shape=(3, 5))


def test_hostile_names_are_drawn_as_text(tmp_path):
    names = ["$\\frac{", "a" * 500, "", "x\x00\n\u202e"]
    display = FeatureWeightsDisplay.from_weights(np.eye(4)[:2] + 0.1, names, ["<b>", "$y$"])
    display.figure_.savefig(tmp_path / "weights.png")
    labels = [label.get_text() for ax in display.axes_ for label in ax.get_yticklabels()]
    assert all(len(label) <= 32 and label.isprintable() for label in labels)


def test_messages():
    X, y = documents()
    model = SparseMultinomialNB(5).fit(X, y)
    with pytest.raises(ValueError, match="one name for each of the 12 features"):
        FeatureWeightsDisplay.from_estimator(model, feature_names=["a"])
    with pytest.raises(ValueError, match="`ax` must be 3 axes"):
        FeatureWeightsDisplay.from_estimator(model, ax=[None])


# Every model, and what a plain `savefig` keeps ----------------------------------------------------


@pytest.mark.parametrize("estimator", [SparseL1Centers(4), SparseGaussianNB(4, var_smoothing=0)])
def test_models_without_weights_show_their_centers(estimator):
    X, y = documents()
    X = X * np.array([1, 1000] * 6)  # in units that differ
    model = estimator.fit(X, y)
    display = FeatureWeightsDisplay.from_estimator(model)
    is_l1 = hasattr(model, "dispersion_")
    for j in range(12):
        rows = [X[y == label, j] for label in model.classes_]
        centers = [np.median(each) if is_l1 else each.mean() for each in rows]
        if is_l1:
            spread = np.mean([np.abs(r - m).mean() for r, m in zip(rows, centers, strict=True)])
        else:
            spread = np.sqrt(np.mean([each.var() for each in rows]))
        expected = (centers - np.mean(centers)) / spread if model.support_[j] else np.zeros(3)
        np.testing.assert_allclose(display.weights[:, j], expected, rtol=1e-6, atol=1e-12)
    assert display.axes_[0].get_xlabel() == "Center against the mean, in spreads"


@pytest.mark.parametrize("container", [np.asarray, sparse.csr_matrix, sparse.csc_array])
def test_scatter_counts_rows_and_draws_the_weight_of_the_class(container):
    X, y = documents()
    model = SparseMultinomialNB(4).fit(X, y)
    display = FeatureScatterDisplay.from_estimator(model, container(X), n_named=2)
    places = np.asarray(display.points_.get_offsets())
    expected = (model.coef_ - model.coef_.mean(axis=0)).max(axis=0)[model.support_]
    np.testing.assert_allclose(places[:, 0], (X > 0).sum(axis=0)[model.support_])
    np.testing.assert_allclose(places[:, 1], expected)
    largest = np.flatnonzero(model.support_)[np.argsort(-np.abs(expected))[:2]]
    assert [text.get_text() for text in display.texts_] == [f"x{i}" for i in largest]
    two = np.isin(y, ["a", "b"])
    model = SparseMultinomialNB(4).fit(X[two], y[two])
    display = FeatureScatterDisplay.from_estimator(model, container(X[two]))
    np.testing.assert_allclose(display.weight, model.coef_[0, model.support_])
    with pytest.raises(ValueError, match="`X` must have the 12 features of the model; it has 3"):
        FeatureScatterDisplay.from_estimator(model, X[:, :3])


@pytest.mark.parametrize("kind", ["heatmap", "dots"])
@pytest.mark.parametrize("container", [np.asarray, sparse.csr_array])
@pytest.mark.parametrize(
    "estimator", [SparseL1Centers(4), SparseGaussianNB(4), SparseCategoricalNB(4)]
)
def test_panel_has_means_and_shares_of_each_class(estimator, container, kind):
    X, y = documents()
    X = np.minimum(X, 3)
    model = estimator.fit(X, y)
    display = FeaturePanelDisplay.from_estimator(model, container(X), y, kind=kind)
    means = np.array([X[y == c].mean(axis=0) for c in "abc"])[:, model.get_support()].T
    shares = np.array([(X[y == c] > 0).mean(axis=0) for c in "abc"])[:, model.get_support()].T
    np.testing.assert_allclose(display.means, means)
    np.testing.assert_allclose(display.shares, shares)
    drawn = np.ravel(display.image_.get_array())
    np.testing.assert_allclose(drawn.reshape(4, 3), (means - means.min(axis=1)[:, None])
                               / np.ptp(means, axis=1)[:, None])  # fmt: skip
    if kind == "dots":
        sizes = display.image_.get_sizes()
        np.testing.assert_allclose(sizes / sizes.max(), shares.ravel() / shares.max())
    assert [t.get_text() for t in display.ax_.get_xticklabels()] == ["a", "b", "c"]


def test_panel_messages():
    X, y = documents()
    model = SparseGaussianNB(4).fit(X, y)
    with pytest.raises(ValueError, match="`kind` must be 'heatmap' or 'dots'; got 'bars'"):
        FeaturePanelDisplay.from_estimator(model, X, y, kind="bars")
    with pytest.raises(ValueError, match="it has none of 'c'"):
        FeaturePanelDisplay.from_estimator(model, X[y != "c"], y[y != "c"])


def test_models_without_either_are_told():
    X, y = documents()
    model = SparseCategoricalNB(4).fit(X, y)
    with pytest.raises(TypeError, match="SparseCategoricalNB has neither. Pass what you want"):
        FeatureWeightsDisplay.from_estimator(model)


@pytest.mark.parametrize("classes", [2, 3])
def test_coverage_without_probabilities(classes):
    X, y = documents()
    X, y = (each[np.isin(y, ["a", "b", "c"][:classes])] for each in (X, y))
    model = SparseL1Centers(4).fit(X, y)
    weight = np.arange(1, len(y) + 1) % 4
    display = CoverageDisplay.from_estimator(model, X, y, sample_weight=weight)
    values = model.decision_function(X)
    values = np.column_stack([-values / 2, values / 2]) if values.ndim == 1 else values
    margin = np.diff(np.sort(values, axis=1)[:, -2:])[:, 0]
    right = model.predict(X) == y
    for coverage, accuracy, least in zip(
        display.curve.coverage, display.curve.accuracy, display.curve.confidence, strict=True
    ):
        inside = margin >= least
        assert coverage == pytest.approx(weight[inside].sum() / weight.sum())
        assert accuracy == pytest.approx(weight[inside & right].sum() / weight[inside].sum())
    assert display.curve.accuracy[-1] == pytest.approx(model.score(X, y, weight))
    with pytest.raises(TypeError, match="`predict_proba` or `decision_function`; int has neither"):
        CoverageDisplay.from_estimator(5, X, y)


def test_a_path_without_a_gap_has_no_axis_of_it():
    X, y = documents()
    display = SparsityPathDisplay.from_estimator(SparseBernoulliNB(), X, y)
    assert not display.gap_ax_.axison
    assert not display.gap_line_.get_visible()
    labels = [text.get_text() for text in display.ax_.get_legend().get_texts()]
    assert "gap: none, proven optimal at every k" in labels


@pytest.mark.parametrize("ks", [[20], [10, 20]])
def test_lines_that_are_named_look_different(ks):
    rng = np.random.default_rng(0)
    y = np.arange(60) % 2
    X = np.column_stack([rng.poisson(4 + 4 * y) for _ in range(20)])
    display = StabilityDisplay.from_estimator(
        SparseMultinomialNB(), X, y, ks=ks, threshold=0.01, n_subsamples=4
    )  # fmt: skip
    lines = display.stable_lines_
    assert len(lines) == 20
    looks = {(line.get_color(), line.get_linestyle(), line.get_marker()) for line in lines}
    assert len(looks) == 20


def test_lines_of_stability():
    X, y = documents()
    names = [f"word {i}" for i in range(12)]
    ks = [1, 5, 9]
    display = StabilityDisplay.from_estimator(
        SparseMultinomialNB(), X, y, ks=ks, feature_names=names, threshold=0.8, n_subsamples=20
    )
    found = display.stability
    shares = np.array([found.frequency(k) for k in ks])
    firm = found.stable(9, 0.8)
    assert {line.get_label() for line in display.stable_lines_} == {names[i] for i in firm}
    for line in display.stable_lines_:
        np.testing.assert_allclose(line.get_ydata(), shares[:, names.index(line.get_label())])
    others = np.setdiff1d(np.flatnonzero(shares.any(axis=0)), firm)
    drawn = sorted(segment[:, 1].tolist() for segment in display.other_lines_.get_segments())
    np.testing.assert_allclose(drawn, sorted(shares[:, others].T.tolist()), rtol=1e-12)
    assert display.threshold_line_.get_ydata()[0] == 0.8
    with pytest.raises(ValueError, match="`feature_names` must have one name for each of the 12"):
        StabilityDisplay(found, feature_names=["a"]).plot()
    one = StabilityDisplay.from_estimator(SparseMultinomialNB(k=3), X, y, n_subsamples=4)
    assert one.ax_.get_xticks().tolist() == [3]


def test_nothing_is_cut_off_by_a_plain_savefig(tmp_path):
    X, y = documents()
    search = SparsityCV(SparseMultinomialNB(), [1, 5, 9]).fit(X, y)
    model = search.best_estimator_
    for display in (
        SparsityPathDisplay.from_estimator(SparseMultinomialNB(), X, y),
        SparsityPathDisplay.from_estimator(search, X, y),
        FeatureWeightsDisplay.from_estimator(model),
        CoverageDisplay.from_estimator(model, X, y),
        FeatureScatterDisplay.from_estimator(model, X),
        FeaturePanelDisplay.from_estimator(model, X, y, feature_names=["n" * 30] * 12),
        FeaturePanelDisplay.from_estimator(model, X, y, kind="dots"),
        ErrorPathDisplay.from_estimator(SparseMultinomialNB(), X, y, ks=[1, 5, 9]),
        StabilityDisplay.from_estimator(SparseMultinomialNB(), X, y, ks=[1, 5, 12]),
    ):
        figure = display.figure_
        figure.savefig(tmp_path / "a.png")
        needed = figure.get_tightbbox(figure.canvas.get_renderer())
        width, height = figure.get_size_inches()
        assert needed.x0 >= -0.01
        assert needed.y0 >= -0.01
        assert needed.x1 <= width + 0.01
        assert needed.y1 <= height + 0.01


# -- standard errors of weights -------------------------------------------------------------------


def drawn_anew(model, f, n, rng, times=6000):
    """Weights (times, C, k) of counts drawn from the model at its estimates f (C, k), n rows."""
    if isinstance(model, SparseMultinomialNB):
        share = f / f.sum(axis=1, keepdims=True)
        many = np.stack(
            [rng.multinomial(row.sum(), p, times) for row, p in zip(f, share, strict=True)], axis=1
        )
        return np.log(many / many.sum(axis=2, keepdims=True))
    if isinstance(model, SparseBernoulliNB):
        many = rng.binomial(n[:, None], f / n[:, None], (times, *f.shape))
        return np.log(many) - np.log(n[:, None] - many)
    return np.log(rng.poisson(f, (times, *f.shape)))


@pytest.mark.parametrize("n_classes", [2, 3, 5])
@pytest.mark.parametrize(
    "model", [SparseMultinomialNB(4, alpha=0), SparseBernoulliNB(4, alpha=0),
              SparsePoissonNB(4, alpha=0)], ids=str,
)  # fmt: skip
def test_errors_of_weights_are_the_spread_of_weights_drawn_anew(model, n_classes):
    rng = np.random.default_rng(n_classes)
    y = np.arange(400 * n_classes) % n_classes
    X = rng.poisson(rng.uniform(0.3, 1.2, (n_classes, 4))[y])
    display = FeatureWeightsDisplay.from_estimator(model.fit(X, y))
    seen = (X > 0) if isinstance(model, SparseBernoulliNB) else X
    f = np.array([seen[y == c].sum(axis=0) for c in range(n_classes)])
    anew = drawn_anew(model, f, np.bincount(y), rng)
    # Of two classes against the other, of more against their mean.
    other = anew[:, ::-1] if n_classes == 2 else anew.mean(axis=1, keepdims=True)
    relative = anew - other
    np.testing.assert_allclose(display.errors, relative.std(axis=0), rtol=0.06)
    for bars in display.bars_:
        assert bars.errorbar is not None


def test_weights_without_a_closed_form_have_no_errors():
    rng = np.random.default_rng(0)
    y, X = np.arange(60) % 2, rng.poisson(1.0, (60, 5))
    for model in (SparseGaussianNB(3, variance="shared"),
                  SparseMultinomialNB(3, class_weight="balanced"),
                  SparseMultinomialNB(3, refit="logistic")):  # fmt: skip
        display = FeatureWeightsDisplay.from_estimator(model.fit(X, y))
        assert display.errors is None
    with pytest.raises(ValueError, match="`errors` must have the shape of the weights"):
        FeatureWeightsDisplay.from_weights([[1.0, 2]], ["a", "b"], ["c"], errors=[[1.0]])
