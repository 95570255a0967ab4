"""Values that are missing: left out of their own feature, in training and in prediction."""

from functools import partial
from itertools import product

import numpy as np
import pytest
import scipy.sparse as sp
from hypothesis import given, strategies as st
from scipy import stats
from scipy.special import logsumexp
from sklearn.model_selection import StratifiedKFold

from naively import (
    ClassCategories,
    ClassCounts,
    ClassMedians,
    ClassMoments,
    ClassValues,
    SparseBernoulliNB,
    SparseCategoricalNB,
    SparseGaussianNB,
    SparseL1Centers,
    SparseL2Centers,
    SparseNegativeBinomialNB,
    SparsePoissonNB,
    SparsityCV,
    error_path,
    expected_error,
    sparsity_path,
)

# A penalty of free parameters makes gains negative: of that these tests are not.
pytestmark = pytest.mark.filterwarnings("ignore:.*gain below 0 once it is corrected")

MODELS = {
    "gaussian": partial(SparseGaussianNB, var_smoothing=0.0),
    "gaussian of shared variance": partial(SparseGaussianNB, var_smoothing=0.0, variance="shared"),
    "bernoulli": SparseBernoulliNB,
    "bernoulli above 1": partial(SparseBernoulliNB, binarize=1.0, alpha=0.3),
    "bernoulli, smoothing by feature": partial(SparseBernoulliNB, alpha=np.arange(1, 7) / 4),
    "bernoulli above -1": partial(SparseBernoulliNB, binarize=-1.0),
    "poisson": partial(SparsePoissonNB, alpha=0.5),
    "poisson, smoothing by feature": partial(SparsePoissonNB, alpha=np.arange(1, 7) / 4),
    "negative binomial": partial(SparseNegativeBinomialNB, alpha=0.5),
    "negative binomial, given": partial(SparseNegativeBinomialNB, dispersion=0.3),
    "negative binomial, smoothing by feature": partial(
        SparseNegativeBinomialNB, alpha=np.arange(1, 7) / 4
    ),
    "categorical": SparseCategoricalNB,
    "categorical, corrected": partial(SparseCategoricalNB, correction="bic", alpha=0.2),
}
OF_SPARSE = [name for name in MODELS if "-1" not in name]  # zeros are not stored
STATISTICS = {
    "counts": ClassCounts,
    "presence": partial(ClassCounts.from_matrix, presence=True),
    "moments": ClassMoments,
    "categories": ClassCategories,
}


def rows(n=90, m=6, n_classes=3, seed=0, share=0.2):
    """Small counts, of which some are missing."""
    rng = np.random.default_rng(seed)
    y = np.arange(n) % n_classes
    X = rng.poisson(1 + (np.arange(m) % 3 == y[:, None]), (n, m)).astype(float)
    X[rng.random((n, m)) < share] = np.nan
    return X, np.array(["ant", "bee", "cat", "dog"])[y]


def weights(n, seed=1):
    return np.random.default_rng(seed).choice([0.0, 0.5, 1.0, 2.0], n)


def alone(model, X, y, i, weight=None):
    """The same model of one feature and the rows that have it, fitted as if nothing was missing."""
    kept = ~np.isnan(X[:, i])
    alpha = model().get_params().get("alpha")
    more = {"alpha": alpha[i]} if np.ndim(alpha) else {}
    weight = None if weight is None else weight[kept]
    return model(k=1, **more).fit(X[kept, i : i + 1], y[kept], weight)


# -- by the laws themselves ----------------------------------------------------------------------


def logs(name, x, sample):
    """Log-probabilities of x under the law whose parameters are those of a sample (likelihood)."""
    if name == "gaussian":
        return stats.norm.logpdf(x, sample.mean(), sample.std())
    if name == "bernoulli":
        return stats.bernoulli.logpmf(x > 0, np.mean(sample > 0))
    if name == "poisson":
        return stats.poisson.logpmf(x, sample.mean())
    return np.log([np.mean(sample == each) for each in np.atleast_1d(x)])


LAWS = {
    "gaussian": SparseGaussianNB(k=3, var_smoothing=0.0, missing="ignore"),
    "bernoulli": SparseBernoulliNB(k=3, alpha=0.0, missing="ignore"),
    "poisson": SparsePoissonNB(k=3, alpha=0.0, missing="ignore"),
    "categorical": SparseCategoricalNB(k=3, alpha=0.0, missing="ignore"),
}


@pytest.mark.parametrize("name", LAWS)
def test_gains_and_posteriors_are_those_of_the_law_in_plain_loops(name):
    X, y = rows(n=240)
    X = np.minimum(X, 3)
    model = LAWS[name].fit(X, y)
    gains = []
    for x in X.T:
        seen = ~np.isnan(x)
        classes = [x[seen & (y == c)] for c in model.classes_]
        free = sum(logs(name, part, part).sum() for part in classes)
        gains.append(free - logs(name, x[seen], x[seen]).sum())
    np.testing.assert_allclose(model.scores_, gains, rtol=1e-9)
    np.testing.assert_array_equal(model.get_support(indices=True), np.sort(np.argsort(gains)[-3:]))
    joint = np.tile(np.log([np.mean(y == c) for c in model.classes_]), (len(X), 1))
    for j, row in enumerate(X):
        for i in model.get_support(indices=True):
            if not np.isnan(row[i]):
                for c, label in enumerate(model.classes_):
                    sample = X[y == label, i]
                    joint[j, c] += logs(name, row[i], sample[~np.isnan(sample)]).item()
    expected = joint - logsumexp(joint, axis=1, keepdims=True)
    np.testing.assert_allclose(model.predict_log_proba(X), expected, atol=1e-9)
    seen = model.model_.prepare(X[:1, model.support_])[0]
    start, terms = model.rule_.terms(seen)
    np.testing.assert_allclose(start + terms.sum(axis=1), model._scores(X[:1])[0], atol=1e-9)


# -- a row is left out of what it lacks, and of nothing else --------------------------------------


@pytest.mark.parametrize("weighted", [False, True])
@pytest.mark.parametrize("name", MODELS)
def test_a_row_without_a_value_is_left_out_of_that_feature(name, weighted):
    X, y = rows()
    weight = weights(len(y)) if weighted else None
    model = MODELS[name](k="all", missing="ignore").fit(X, y, weight)
    prior = model.class_log_prior_  # of all rows
    joint = np.tile(prior, (len(X), 1))
    for i in range(X.shape[1]):
        own = alone(MODELS[name], X, y, i, weight)
        assert model.scores_[i] == pytest.approx(own.scores_[0], rel=1e-10)
        assert model.pvalues_[i] == pytest.approx(own.pvalues_[0], rel=1e-8)
        seen = ~np.isnan(X[:, i])
        joint[seen] += own.predict_log_proba(X[seen, i : i + 1]) - own.class_log_prior_
    expected = joint - logsumexp(joint, axis=1, keepdims=True)
    np.testing.assert_allclose(model.predict_log_proba(X), expected, atol=1e-9)


@pytest.mark.parametrize("name", MODELS)
def test_the_objective_is_that_of_each_feature_by_its_rows(name):
    X, y = rows()
    parts = [alone(MODELS[name], X, y, i).certificate_ for i in range(6)]
    model = MODELS[name](k=2, missing="ignore").fit(X, y)
    baseline = sum(part.baseline for part in parts)
    gains = sorted(part.objective - part.baseline for part in parts)
    assert model.certificate_.baseline == pytest.approx(baseline, rel=1e-10)
    assert model.certificate_.objective == pytest.approx(baseline + sum(gains[-2:]), rel=1e-10)
    assert model.certificate_.proven_optimal


@pytest.mark.parametrize(
    ("name", "container"),
    [(name, np.asarray) for name in MODELS]
    + [(name, container) for name in OF_SPARSE for container in (sp.csr_array, sp.csc_array)],
)
def test_nothing_changes_where_nothing_is_missing(name, container):
    X, y = rows(share=0.0)
    weight = weights(len(y))
    a, b = (
        MODELS[name](k=3, missing=missing).fit(container(X), y, weight)
        for missing in ("error", "ignore")
    )
    assert a.certificate_ == b.certificate_
    for of in (lambda e: e.scores_, lambda e: e.pvalues_, lambda e: e.predict_proba(container(X))):
        np.testing.assert_array_equal(of(a), of(b))
    grid = [0, 1, 3, 6]
    one, two = (sparsity_path(each, container(X), y, ks=grid) for each in (a, b))
    np.testing.assert_array_equal(one.objective, two.objective)


@pytest.mark.parametrize("name", OF_SPARSE)
@pytest.mark.parametrize("container", [sp.csr_array, sp.csc_array, sp.coo_array])
def test_sparse_rows_are_dense_rows(name, container):
    X, y = rows()
    a = MODELS[name](k=3, missing="ignore").fit(X, y, weights(len(y)))
    b = MODELS[name](k=3, missing="ignore").fit(container(X), y, weights(len(y)))
    np.testing.assert_allclose(a.scores_, b.scores_, rtol=1e-10)
    np.testing.assert_allclose(a.predict_proba(X), b.predict_proba(container(X)), atol=1e-10)


def test_means_far_from_zero_keep_their_digits():
    X, y = rows()
    near, far = (SparseGaussianNB(k=3, missing="ignore").fit(X + by, y) for by in (0.0, 1e6))
    np.testing.assert_allclose(far.scores_, near.scores_, rtol=1e-7)
    np.testing.assert_allclose(far.predict_proba(X + 1e6), near.predict_proba(X), atol=1e-6)


# -- statistics ----------------------------------------------------------------------------------


@st.composite
def shards(draw):
    seed, n_classes = draw(st.integers(0, 10**6)), draw(st.integers(1, 3))
    X, y = rows(
        draw(st.integers(2, 30)), 4, n_classes, seed, draw(st.sampled_from([0.0, 0.3, 0.9]))
    )
    return X, y, draw(st.integers(0, len(y)))


def agree(a, b):
    for name in ("classes", "class_rows", "class_weight", "observed"):
        np.testing.assert_array_equal(getattr(a, name), getattr(b, name))
    for name in ("table", "total", "scatter"):
        if hasattr(a, name):
            np.testing.assert_allclose(getattr(a, name), getattr(b, name), atol=1e-9)


@pytest.mark.parametrize("name", STATISTICS)
@given(shards())
def test_statistics_add_and_subtract(name, shard):
    X, y, cut = shard
    made = STATISTICS[name]
    given = {"missing": True, "classes": np.unique(y)}
    gather = partial(made if name == "presence" else made.from_matrix, **given)
    if name == "categories":
        gather = partial(gather, min_categories=12)
    whole, first, rest = gather(X, y), gather(X[:cut], y[:cut]), gather(X[cut:], y[cut:])
    agree(first + rest, whole)
    agree(rest + first, whole)
    agree(whole - first, rest)
    order = np.random.default_rng(0).permutation(len(y))
    agree(gather(X[order], y[order]), whole)
    np.testing.assert_array_equal(
        whole.observed, [[(~np.isnan(x[y == c])).sum() for c in whole.classes] for x in X.T]
    )
    columns = np.array([2, 0])
    agree(whole.take(columns), gather(X[:, columns], y))


def test_statistics_of_whole_rows_and_of_rows_with_holes_are_not_added():
    X, y = rows(share=0.0)
    whole, holes = (ClassMoments.from_matrix(X, y, missing=each) for each in (False, True))
    with pytest.raises(ValueError, match="missing=True"):
        holes + whole


@pytest.mark.parametrize("name", MODELS)
def test_batches_are_the_fit(name):
    X, y = rows()
    once = MODELS[name](k=3, missing="ignore").fit(X, y)
    batches = MODELS[name](k=3, missing="ignore")
    for start in range(0, 90, 30):
        part = slice(start, start + 30)
        batches.partial_fit(X[part], y[part], classes=np.unique(y))
    np.testing.assert_allclose(batches.scores_, once.scores_, rtol=1e-10)
    np.testing.assert_allclose(batches.predict_proba(X), once.predict_proba(X), atol=1e-10)
    again = type(once).from_statistics(once.statistics_, **once.get_params())
    np.testing.assert_array_equal(again.predict_proba(X), once.predict_proba(X))


# -- what is built on it -------------------------------------------------------------------------


@pytest.mark.parametrize("name", MODELS)
def test_paths_and_searches_are_loops_of_fits(name):
    X, y = rows(n=60)
    make, grid = partial(MODELS[name], missing="ignore"), [0, 1, 2, 4, 6]
    path = sparsity_path(make(), X, y, ks=grid)
    for g, k in enumerate(grid):
        fitted = make(k=k).fit(X, y)
        np.testing.assert_array_equal(path.support(k), fitted.get_support(indices=True))
        assert path.objective[g] == pytest.approx(fitted.certificate_.objective, rel=1e-12)
    cv = StratifiedKFold(3)
    search = SparsityCV(make(), ks=grid, cv=cv).fit(X, y)
    for g, k in enumerate(grid):
        scores = [
            make(k=k).fit(X[train], y[train]).score(X[test], y[test])
            for train, test in cv.split(X, y)
        ]
        assert search.cv_results_["mean_test_score"][g] == pytest.approx(np.mean(scores))


def test_errors_with_a_row_left_out_are_refits():
    X, y = rows(n=30)
    make = partial(SparseBernoulliNB, missing="ignore")
    curves = error_path(make(), X, y, ks=[2])
    support = make(k=2).fit(X, y).get_support(indices=True)
    wrong = []
    for i in range(30):
        kept = np.arange(30) != i
        fitted = make(k="all").fit(X[kept][:, support], y[kept])
        wrong.append(fitted.predict(X[[i]][:, support])[0] != y[i])
    assert curves.leave_one_out[0] == pytest.approx(np.mean(wrong))
    assert curves.predicted is None  # the law is that of whole rows
    with pytest.raises(ValueError, match="whole rows"):
        expected_error(make(k=2).fit(X, y))


def test_calibration_and_pairs():
    X, y = rows(n=90)
    plain = SparsePoissonNB(k=4, missing="ignore").fit(X, y)
    cooled = SparsePoissonNB(k=4, missing="ignore", calibration="cross-fitted").fit(X, y)
    np.testing.assert_array_equal(plain.predict(X), cooled.predict(X))
    log = plain.predict_log_proba(X) / cooled.temperature_
    expected = log - logsumexp(log, axis=1, keepdims=True)
    np.testing.assert_allclose(cooled.predict_log_proba(X), expected, atol=1e-9)
    for name, make in MODELS.items():
        if "corrected" in name:
            continue
        distances = make(k=2, missing="ignore").fit(X, y).model_.family.distances
        whole = distances(make(k=2, missing="ignore").fit(X, y).statistics_).between(np.arange(6))
        for i in range(6):
            own = alone(make, X, y, i)
            one = own.model_.family.distances(own.statistics_).between(np.array([0]))
            np.testing.assert_allclose(whole[i], one[0], rtol=1e-9)


def test_the_joint_likelihood_leaves_out_what_is_missing():
    X, y = rows()
    model = SparseBernoulliNB(k="all", missing="ignore").fit(X, y)
    joint = np.tile(model.class_log_prior_, (len(X), 1))
    log_prob = model.feature_log_prob_
    for i in range(6):
        present = log_prob[:, i]
        terms = np.where((X[:, [i]] > 0), present, np.log1p(-np.exp(present)))
        joint += np.where(np.isnan(X[:, [i]]), 0.0, terms)
    np.testing.assert_allclose(model.predict_joint_log_proba(X), joint, atol=1e-9)


# -- corners -------------------------------------------------------------------------------------

NAN = np.nan


def test_a_feature_that_nobody_has_tells_nothing():
    X, y = np.array([[NAN, 1.0], [NAN, 2.0], [NAN, 0.0], [NAN, 0.5]]), ["a", "a", "b", "b"]
    for make in MODELS.values():
        if np.ndim(make().get_params().get("alpha")) == 0:
            model = make(k="all", missing="ignore").fit(X, y)
            assert model.scores_[0] == pytest.approx(0.0, abs=1e-12)
            assert model.pvalues_[0] == 1.0
            changed = model.predict_proba(np.where(np.isnan(X), 3.0, X))
            np.testing.assert_allclose(changed, model.predict_proba(X), atol=1e-12)


def test_a_class_that_never_has_a_feature_has_the_parameters_of_all():
    X = np.array([[5.0], [7.0], [NAN], [NAN], [1.0], [2.0]])
    y = ["a", "a", "b", "b", "c", "c"]
    model = SparseGaussianNB(k=1, missing="ignore").fit(X, y)
    seen = X[[0, 1, 4, 5], 0]
    assert model.theta_[1, 0] == pytest.approx(seen.mean())
    assert model.var_[1, 0] == pytest.approx(seen.var(), rel=1e-6)
    rates = SparsePoissonNB(k=1, alpha=0.0, missing="ignore").fit(X, y).rate_
    np.testing.assert_allclose(rates[:, 0], [6.0, 3.75, 1.5])


def test_a_missing_value_rules_nothing_out():
    """Without smoothing, presence rules out one class here and absence the other."""
    X, y = np.array([[1.0], [1.0], [0.0], [NAN]]), ["a", "a", "b", "b"]
    model = SparseBernoulliNB(k=1, alpha=0.0, missing="ignore").fit(X, y)
    proba = model.predict_proba([[1.0], [0.0], [NAN]])
    np.testing.assert_allclose(proba, [[1, 0], [0, 1], [0.5, 0.5]])


def test_what_is_refused():
    X, y = rows()
    for make in MODELS.values():
        with pytest.raises(ValueError, match="NaN"):
            make(k=2).fit(X, y)
        with pytest.raises(ValueError, match="`missing` must be 'error' or 'ignore'; got 'drop'"):
            make(k=2, missing="drop").fit(X, y)
        model = make(k=2, missing="ignore").fit(X, y)
        with pytest.raises(ValueError, match="infinity"):
            model.predict(np.where(np.isnan(X), np.inf, X))
        with pytest.raises(ValueError, match="infinity"):
            make(k=2, missing="ignore").fit(np.where(np.isnan(X), np.inf, X), y)
        with pytest.raises(ValueError, match="NaN"):
            make(k=2).fit(np.nan_to_num(X), y).predict(X)
        assert np.isnan(model.transform(X)).any()
    for make in (SparsePoissonNB, SparseNegativeBinomialNB, SparseCategoricalNB):
        with pytest.raises(ValueError, match="Negative"):
            make(k=2, missing="ignore").fit(X, y).predict(np.where(X == 1, -1.0, X))
    for more in ({"refit": "logistic"}, {"redundancy": "conditional"}):
        with pytest.raises(ValueError, match=f"`{next(iter(more))}` needs every entry of a row"):
            SparseBernoulliNB(k=2, missing="ignore", **more).fit(X, y)


# -- centers ---------------------------------------------------------------------------------------


def of_columns(X, y, weight, i, classes):
    """Values and weights of a feature in each class, without those that are missing."""
    seen = ~np.isnan(X[:, i])
    return [(X[seen & (y == c), i], weight[seen & (y == c)]) for c in classes]


def median(values, weights):
    """Midpoint of the values with no more than half of the weight on either side."""
    fine = [
        v
        for v in values[weights > 0]
        if 2 * weights[values < v].sum() <= weights.sum() * (1 + 1e-12)
        and 2 * weights[values > v].sum() <= weights.sum() * (1 + 1e-12)
    ]
    return (min(fine) + max(fine)) / 2


def some_centers(n=60, m=7):
    """Rows of which column 5 is never seen in a class, column 6 never at all."""
    X, y = rows(n=n, m=m)
    X = X + np.random.default_rng(0).integers(-2, 3, X.shape)
    X[y == "bee", 5] = np.nan
    X[:, 6] = np.nan
    return X, y


@pytest.mark.parametrize("container", [np.asarray, sp.csr_array, sp.csc_array])
@pytest.mark.parametrize("weighted", [False, True])
@pytest.mark.parametrize("scale", [None, "std", "variance"])
def test_means_of_what_is_there(scale, weighted, container):
    X, y = some_centers()
    weight = weights(len(y)) if weighted else np.ones(len(y))
    model = SparseL2Centers(k=4, scale=scale, missing="ignore").fit(container(X), y, weight)
    classes, gains, terms = model.classes_, [], []
    for i in range(X.shape[1]):
        parts = of_columns(X, y, weight, i, classes)
        means = {c: np.average(v, weights=w) for c, (v, w) in enumerate(parts) if w.sum() > 0}
        common = np.mean(list(means.values())) if means else 0.0
        scatter = sum(w @ (v - means[c]) ** 2 for c, (v, w) in enumerate(parts) if c in means)
        spread = scatter / max(sum(w.sum() for _, w in parts), 1) if scale else 1.0
        spread = spread**2 if scale == "variance" else spread
        centers = np.array([means.get(c, common) for c in range(3)])
        gains.append(((centers - common) ** 2).sum() / spread if means else 0.0)
        terms.append(-((X[:, [i]] - centers) ** 2) / 2 / spread if means else np.zeros((60, 3)))
    np.testing.assert_allclose(model.scores_, gains, rtol=1e-8, atol=1e-12)
    support = np.sort(np.argsort(-np.array(gains), kind="stable")[:4])
    np.testing.assert_array_equal(model.get_support(indices=True), support)
    joint = sum(np.where(np.isnan(terms[i]), 0.0, terms[i]) for i in support)
    joint += np.log(np.full(3, 1 / 3))
    expected = joint - logsumexp(joint, axis=1, keepdims=True)
    np.testing.assert_allclose(model.predict_log_proba(container(X)), expected, atol=1e-8)


@pytest.mark.parametrize("container", [np.asarray, sp.csr_array, sp.csc_array])
@pytest.mark.parametrize("weighted", [False, True])
def test_medians_of_what_is_there(weighted, container):
    X, y = some_centers()
    weight = weights(len(y)) if weighted else np.ones(len(y))
    model = SparseL1Centers(k=4, missing="ignore").fit(container(X), y, weight)
    gains, terms = [], []
    for i in range(X.shape[1]):
        parts = of_columns(X, y, weight, i, model.classes_)
        there = [(v, w / w.sum()) for v, w in parts if w.sum() > 0]
        centers, gain = np.zeros(3), 0.0
        if there:
            together = median(*(np.concatenate(each) for each in zip(*there, strict=True)))
            centers = np.array([median(v, w) if w.sum() > 0 else together for v, w in parts])
            own = [median(v, w) for v, w in there]
            gain = sum(w @ np.abs(v - together) - w @ np.abs(v - c)
                       for (v, w), c in zip(there, own, strict=True))  # fmt: skip
        gains.append(gain)
        terms.append(-np.abs(X[:, [i]] - centers))
        np.testing.assert_allclose(model.statistics_.center[:, i], centers, atol=1e-9)
    np.testing.assert_allclose(model.scores_, gains, atol=1e-9)
    support = model.get_support(indices=True)
    assert sum(gains[i] for i in support) == pytest.approx(sum(sorted(gains)[-4:]))
    expected = sum(np.where(np.isnan(terms[i]), 0.0, terms[i]) for i in support)
    scores = model.decision_function(container(X))
    difference = scores - expected
    np.testing.assert_allclose(difference - difference[:, :1], 0.0, atol=1e-9)
    start, of_features = model.rule_.terms(X[0, support])
    np.testing.assert_allclose(start + of_features.sum(axis=1), scores[0], atol=1e-9)
    observed = [[w.sum() for _, w in of_columns(X, y, weight, i, model.classes_)] for i in range(7)]
    np.testing.assert_allclose(model.statistics_.observed, observed)


CENTERS = {
    "l2": SparseL2Centers, "l2 by spread": partial(SparseL2Centers, scale="std"),
    "l1": SparseL1Centers,
}  # fmt: skip


@pytest.mark.parametrize("name", CENTERS)
def test_centers_of_whole_rows_are_the_same(name):
    X, y = rows(share=0.0)
    for container in (np.asarray, sp.csr_array):
        a, b = (
            CENTERS[name](k=3, missing=each).fit(container(X), y, weights(len(y)))
            for each in ("error", "ignore")
        )
        assert a.certificate_ == b.certificate_
        np.testing.assert_array_equal(a.scores_, b.scores_)
        np.testing.assert_array_equal(a.decision_function(X), b.decision_function(X))


@pytest.mark.parametrize("name", CENTERS)
def test_centers_are_searched_as_in_a_loop_and_part_pairs(name):
    X, y = some_centers()
    make, grid, cv = partial(CENTERS[name], missing="ignore"), [1, 3, 5], StratifiedKFold(3)
    search = SparsityCV(make(), ks=grid, cv=cv).fit(X, y)
    for g, k in enumerate(grid):
        scores = [
            make(k=k).fit(X[train], y[train]).score(X[test], y[test])
            for train, test in cv.split(X, y)
        ]
        assert search.cv_results_["mean_test_score"][g] == pytest.approx(np.mean(scores))
    assert make(k="auto").fit(X, y).support_.any()
    panel = make(k=2, objective="pairs").fit(X, y)
    distances = panel.model_.family.distances(panel.statistics_).between(np.arange(7))
    for i in range(5):
        kept = ~np.isnan(X[:, i])
        own = CENTERS[name](k=1).fit(X[kept, i : i + 1], y[kept])
        one = own.model_.family.distances(own.statistics_).between(np.array([0]))
        np.testing.assert_allclose(distances[i], one[0], rtol=1e-9)
    with pytest.raises(ValueError, match="NaN"):
        CENTERS[name](k=2).fit(X, y)
    with pytest.raises(ValueError, match="NaN"):
        CENTERS[name](k=2).fit(np.nan_to_num(X), y).predict(X)


def test_batches_of_centers_are_the_fit():
    X, y = some_centers()
    once = SparseL2Centers(k=3, scale="std", missing="ignore").fit(X, y)
    batches, values = SparseL2Centers(k=3, scale="std", missing="ignore"), None
    for start in range(0, 60, 20):
        part = slice(start, start + 20)
        batches.partial_fit(X[part], y[part], classes=np.unique(y))
        more = ClassValues.from_matrix(X[part], y[part])
        values = more if values is None else values + more
    np.testing.assert_allclose(batches.scores_, once.scores_, rtol=1e-10)
    medians = values.medians(missing=True)
    whole = ClassMedians.from_matrix(X, y, missing=True)
    np.testing.assert_array_equal(medians.center, whole.center)
    with pytest.raises(ValueError, match="NaN"):
        values.medians()


# -- the correction ------------------------------------------------------------------------------


def test_corrected_gains_are_the_bayesian_information_criterion():
    X, y = rows()
    plain, bic = (
        SparseCategoricalNB(k=2, missing="ignore", correction=each).fit(X, y)
        for each in (None, "bic")
    )
    for i, x in enumerate(X.T):
        seen = ~np.isnan(x)
        parameters = (3 - 1) * (len(np.unique(x[seen])) - 1)
        expected = plain.scores_[i] - parameters / 2 * np.log(seen.sum())
        assert bic.scores_[i] == pytest.approx(expected, rel=1e-12)
    np.testing.assert_allclose(bic.pvalues_, plain.pvalues_, rtol=1e-9)


def test_what_the_correction_refuses():
    X, y = rows(share=0.0)
    for more, match in (
        ({"correction": "aic"}, "`correction` must be 'bic' or None; got 'aic'"),
        ({"correction": "bic", "costs": [1] * 6, "budget": 3}, "`budget` takes every feature"),
        (
            {"correction": "bic", "objective": "pairs"},
            "and `correction` cannot be asked",
        ),
        (
            {"correction": "bic", "redundancy": "conditional"},
            "and `correction` cannot be asked",
        ),
    ):
        with pytest.raises(ValueError, match=match):
            SparseCategoricalNB(k=2, **more).fit(X, y)
    model = SparseCategoricalNB(k=2, correction="bic", required=[5]).fit(X, y)
    assert model.support_[5]


def test_what_was_never_seen_is_impossible_unless_it_is_missing():
    """Without smoothing: present where no row had it, or absent where all rows had it."""
    X, y = np.array([[1, 0], [1, 1], [0, 0], [0, 0], [1, 0]]), np.array([0, 0, 1, 1, 1])
    model = SparseBernoulliNB(k="all", alpha=0.0, missing="ignore").fit(X, y)
    share = [X[y == c].mean(axis=0) for c in (0, 1)]
    for row in product([0.0, 1.0, np.nan], repeat=2):
        x = np.array(row)
        joint, (intercept, terms) = model.rule_.joint(x[None])[0], model.rule_.terms(x)
        with np.errstate(divide="ignore", invalid="ignore"):
            expected = [
                np.log((y == c).mean())
                + sum(np.log(p if v else 1 - p) for p, v in zip(share[c], x, strict=True) if v == v)
                for c in (0, 1)
            ]
            for found in (joint, intercept + terms.sum(axis=1)):
                np.testing.assert_allclose(
                    found - found[::-1], np.subtract(expected, expected[::-1]), atol=1e-12
                )
