"""Columns of several kinds: one estimator over a table, with gains that compare."""

import pickle
from functools import partial
from itertools import combinations

import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pytest
import scipy.sparse as sp
from hypothesis import given, strategies as st
from scipy import stats
from scipy.special import logsumexp
from sklearn.compose import ColumnTransformer
from sklearn.feature_extraction.text import CountVectorizer
from sklearn.model_selection import StratifiedKFold
from sklearn.pipeline import make_pipeline
from sklearn.utils.estimator_checks import parametrize_with_checks

from naively import (
    ClassMixed,
    Pairs,
    SparseBernoulliNB,
    SparseCategoricalNB,
    SparseGaussianNB,
    SparseMixedNB,
    SparsePoissonNB,
    SparsityCV,
    error_path,
    gain,
    selection_stability,
    sparsity_path,
)
from naively.models import mixed
from naively.models.value_rules import kind_of, restored
from naively.selection.train import train
from naively.statistics.mixed_columns import MixedColumns

NAN = float("nan")
TOLD = {"visits": "poisson"}
KINDS = ["gaussian", "categorical", "bernoulli", "poisson", "gaussian", "categorical"]
OF_ONE_KIND = {
    "gaussian": SparseGaussianNB,
    "categorical": SparseCategoricalNB,
    "bernoulli": SparseBernoulliNB,
    "poisson": SparsePoissonNB,
}


def table(n=120, n_classes=3, seed=0, share=0.15):
    """A frame of numbers, strings, booleans, counts and categoricals, some of them missing."""
    rng = np.random.default_rng(seed)
    c = np.arange(n) % n_classes
    names = ["u", "v", "w"]
    frame = pd.DataFrame(
        {
            "age": 40 + rng.normal(6.0 * c, 10.0),
            "town": rng.choice(["Oslo", "Bergen", "Voss"], n),
            "smokes": rng.random(n) < 0.3 + 0.2 * c,
            "visits": rng.poisson(1 + c),
            "size": rng.normal(size=n),
            "grade": pd.Categorical(np.array(names)[np.where(rng.random(n) < 0.5, c, 0)], names),
        }
    ).astype({"visits": float, "smokes": object})
    for name in frame:
        frame[name] = frame[name].mask(rng.random(n) < share)
    return frame, np.array(["ant", "bee", "cat"])[c]


def coded(frame):
    """The frame as numbers, by pandas."""
    columns = {
        name: frame[name].astype("category").cat.codes.astype(float).replace(-1, NAN)
        if name in ("town", "grade")
        else frame[name].astype(float)
        for name in frame
    }
    return pd.DataFrame(columns).to_numpy()


def single(kind, x, y, weight=None, **more):
    """The model of one column and the rows that have it."""
    kept = ~np.isnan(x)
    weight = None if weight is None else weight[kept]
    make = OF_ONE_KIND[kind]
    more = {name: value for name, value in more.items() if name in make().get_params()}
    return make(k=1, **more).fit(x[kept, None], y[kept], weight)


# -- the optimum, by trying all ------------------------------------------------------------------


def log_likelihood(X, y, weight, kinds, support):
    """Largest log-likelihood of what is observed, in plain loops over columns, classes and rows."""
    total = 0.0
    for i, kind in enumerate(kinds):
        seen = ~np.isnan(X[:, i])
        groups = [seen & (y == c) for c in np.unique(y)] if i in support else [seen]
        for rows in groups:
            x, w = X[rows, i], weight[rows]
            mean = np.average(x, weights=w)
            if kind == "gaussian":
                each = stats.norm.logpdf(x, mean, np.sqrt(np.average((x - mean) ** 2, weights=w)))
            elif kind == "poisson":
                each = stats.poisson.logpmf(x, mean) + stats.poisson.logpmf(0, 0)
                each += np.array([np.log(np.arange(1, v + 1)).sum() for v in x])  # no factorials
            else:
                each = np.log([w[x == v].sum() / w.sum() for v in x])
            total += w @ each
    return total


@pytest.mark.parametrize("n_classes", [2, 3])
@given(st.integers(0, 10**6), st.integers(0, 6), st.booleans())
def test_the_support_is_the_best_of_all(n_classes, seed, k, weighted):
    frame, y = table(60, n_classes, seed)
    X = coded(frame)
    rng = np.random.default_rng(seed)
    weight = rng.uniform(0.5, 2.0, 60) if weighted else np.ones(60)
    model = SparseMixedNB(k=k, columns=TOLD, alpha=0.0, var_smoothing=0.0).fit(frame, y, weight)
    best = max(
        log_likelihood(X, y, weight, KINDS, support) for support in combinations(range(6), k)
    )
    found = log_likelihood(X, y, weight, KINDS, np.flatnonzero(model.support_))
    assert found == pytest.approx(best, rel=1e-10)
    assert model.certificate_.objective == pytest.approx(best, rel=1e-10)
    assert model.certificate_.bound == model.certificate_.objective
    assert model.certificate_.proven_optimal


# -- each column is the model of its kind --------------------------------------------------------


@pytest.mark.parametrize("weighted", [False, True])
@pytest.mark.parametrize("more", [{}, {"alpha": 0.3}, {"variance": "shared"}])
def test_gains_and_scores_are_those_of_the_models_of_each_kind(more, weighted):
    frame, y = table()
    X = coded(frame)
    weight = np.random.default_rng(1).choice([0.5, 1.0, 2.0], len(y)) if weighted else None
    model = SparseMixedNB(k="all", columns=TOLD, var_smoothing=0.0, **more).fit(frame, y, weight)
    assert model.kinds_.tolist() == KINDS
    joint = np.tile(model.class_log_prior_, (len(y), 1))
    for i, kind in enumerate(KINDS):
        own = single(kind, X[:, i], y, weight, var_smoothing=0.0, **more)
        assert model.scores_[i] == pytest.approx(own.scores_[0], rel=1e-10)
        assert model.pvalues_[i] == pytest.approx(own.pvalues_[0], rel=1e-8)
        seen = ~np.isnan(X[:, i])
        joint[seen] += own.predict_log_proba(X[seen, i : i + 1]) - own.class_log_prior_
    expected = joint - logsumexp(joint, axis=1, keepdims=True)
    np.testing.assert_allclose(model.predict_log_proba(frame), expected, atol=1e-9)
    start, terms = model.rule_.terms(coded(frame)[0])
    np.testing.assert_allclose(start + terms.sum(axis=1), model._scores(frame[:1])[0], atol=1e-9)


@pytest.mark.parametrize("share", [0.0, 0.2])
@pytest.mark.parametrize("kind", OF_ONE_KIND)
def test_columns_of_one_kind_are_its_model(kind, share):
    rng = np.random.default_rng(2)
    y = np.arange(90) % 3
    X = rng.poisson(1 + (np.arange(7) % 3 == y[:, None]), (90, 7)).astype(float)
    X = np.minimum(X, 2)  # categories that all occur in each column
    X[rng.random(X.shape) < share] = NAN
    ours = SparseMixedNB(k=3, columns=[kind] * 7).fit(X, y)
    theirs = OF_ONE_KIND[kind](k=3, missing="ignore").fit(X, y)
    np.testing.assert_allclose(ours.scores_, theirs.scores_, rtol=1e-13)
    np.testing.assert_array_equal(ours.support_, theirs.support_)
    assert ours.certificate_.objective == pytest.approx(theirs.certificate_.objective, rel=1e-13)
    np.testing.assert_allclose(ours.predict_proba(X), theirs.predict_proba(X), atol=1e-13)
    if not share:
        plain = OF_ONE_KIND[kind](k=3).fit(X, y)
        np.testing.assert_allclose(ours.scores_, plain.scores_, rtol=1e-13)


def test_distances_of_classes_are_those_of_each_kind():
    frame, y = table()
    X = coded(frame)
    model = SparseMixedNB(k=3, columns=TOLD, objective="pairs", var_smoothing=0.0).fit(frame, y)
    distances = model.model_.family.distances(model.statistics_)
    found = distances.between(np.arange(6))
    for i, kind in enumerate(KINDS):
        own = single(kind, X[:, i], y, var_smoothing=0.0)
        expected = own.model_.family.distances(own.statistics_).between(np.array([0]))
        np.testing.assert_allclose(found[i], expected[0], rtol=1e-9)
    weights = np.array([0.2, 1.0, 0.5])
    assert (distances.weighed(weights) >= found @ weights * (1 - 1e-12)).all()
    prior = np.exp(model.class_log_prior_)
    pairs = [(a, b) for a in range(3) for b in range(a + 1, 3)]
    root = np.array([np.sqrt(prior[a] * prior[b]) for a, b in pairs])
    best = min(
        combinations(range(6), 3), key=lambda S: (root * np.exp(-found[list(S)].sum(axis=0))).sum()
    )
    exact = SparseMixedNB(k=3, columns=TOLD, objective=Pairs(exact=True), var_smoothing=0.0)
    assert tuple(exact.fit(frame, y).get_support(indices=True)) == best


# -- tables of all sorts -------------------------------------------------------------------------


def as_lists(frame):
    return [[None if pd.isna(v) else v for v in row] for row in frame.itertuples(index=False)]


CONTAINERS = {
    "polars": pl.from_pandas,
    "arrow": partial(pa.Table.from_pandas, preserve_index=False),
    "objects": lambda frame: frame.astype(object).to_numpy(),
    "lists": as_lists,
    "nullable": lambda frame: frame.convert_dtypes(convert_integer=False),
    "arrow in pandas": lambda frame: frame.convert_dtypes(dtype_backend="pyarrow"),
}


@pytest.mark.parametrize("name", CONTAINERS)
def test_the_container_does_not_matter(name):
    frame, y = table()
    named = name not in ("objects", "lists")
    X, told = CONTAINERS[name](frame), TOLD if named else {3: "poisson"}
    a, b = (
        SparseMixedNB(k=3, columns=TOLD).fit(frame, y),
        SparseMixedNB(k=3, columns=told).fit(X, y),
    )
    assert b.kinds_.tolist() == KINDS
    np.testing.assert_allclose(a.scores_, b.scores_, rtol=1e-12)
    np.testing.assert_allclose(a.predict_proba(frame), b.predict_proba(X), atol=1e-12)
    chosen = b.transform(X)
    assert chosen.shape == (120, 3)
    if named:
        assert type(chosen) is type(X)
        assert b.get_feature_names_out().tolist() == a.get_feature_names_out().tolist()
        names = getattr(chosen, "column_names", None) or list(chosen.columns)
        assert names == a.get_feature_names_out().tolist()


def test_defaults_by_type():
    frame = pd.DataFrame(
        {
            "whole": [1, 2, 3],
            "nullable": pd.array([1, None, 3], dtype="Int64"),
            "real": np.array([0.5, NAN, 1], dtype=np.float32),
            "flag": [True, False, True],
            "maybe": pd.array([True, None, False], dtype="boolean"),
            "text": ["a", None, "b"],
            "string": pd.array(["a", None, "b"], dtype="string"),
            "category": pd.Categorical([3, 1, 3]),
            "objects": np.array([1, None, 2.5], dtype=object),
            "nothing": np.array([None, None, None], dtype=object),
        }
    )
    model = SparseMixedNB(k=2).fit(frame, ["x", "y", "y"])
    kinds = ["gaussian"] * 3 + ["bernoulli"] * 2 + ["categorical"] * 3 + ["gaussian"] * 2
    assert model.kinds_.tolist() == kinds
    assert model.categories_[5:8] == [["a", "b"], ["a", "b"], [1, 3]]
    assert model.scores_[9] == 0.0
    told = dict.fromkeys(["whole", "flag", "text"], "categorical")
    model = SparseMixedNB(k=2, columns=told).fit(frame, ["x", "y", "y"])
    assert model.categories_[0] == [1, 2, 3]
    assert model.categories_[3] == [False, True]
    numbers = SparseMixedNB(k=1).fit([[1.0, True], [2.0, False]], ["x", "y"])
    assert numbers.kinds_.tolist() == ["gaussian", "bernoulli"]


def test_categories_that_training_does_not_have_tell_nothing():
    """Whether they were declared or not: neither to a row, nor in the smoothing."""
    y = ["x", "x", "y", "y", "y"]
    frame = pd.DataFrame({"a": ["p", "q", "q", "q", None]})
    declared = pd.DataFrame({"a": pd.Categorical(frame["a"], ["z", "q", "p"])})
    one, two = (SparseMixedNB(k=1).fit(each, y) for each in (frame, declared))
    np.testing.assert_allclose(one.scores_, two.scores_, rtol=1e-12)
    new = pd.DataFrame({"a": ["z", "never", None, "p"]})
    np.testing.assert_allclose(one.predict_proba(new)[:3], [[0.4, 0.6]] * 3)
    # Of "p": (1 + 1) / (2 + 2) and (0 + 1) / (2 + 2), by two rows of each class that have a value
    likelihood = np.array([2 / 4, 1 / 4]) * [0.4, 0.6]
    np.testing.assert_allclose(one.predict_proba(new)[3], likelihood / likelihood.sum())
    categorical = pd.DataFrame({"a": pd.Categorical(new["a"], ["never", "p", "z"])})
    np.testing.assert_allclose(two.predict_proba(categorical), one.predict_proba(new))


def test_columns_are_matched_by_name():
    frame, y = table()
    model = SparseMixedNB(k=2, columns=TOLD).fit(frame, y)
    with pytest.raises(ValueError, match="feature names"):
        model.predict(frame[frame.columns[::-1]])
    with pytest.raises(ValueError, match="town"):
        model.predict(frame.drop(columns="town"))


def test_sparse_rows_and_words_beside_numbers():
    frame = pd.DataFrame(
        {
            "age": [20.0, 25, 30, 60, 65, NAN],
            "note": ["good day", "good", "day good", "bad", "bad day", "bad bad"],
        }
    )
    y = ["x", "x", "x", "y", "y", "y"]
    columns = ColumnTransformer(
        [("words", CountVectorizer(), "note"), ("rest", "passthrough", ["age"])],
        sparse_threshold=1.0,
    )
    X = columns.fit_transform(frame)
    assert sp.issparse(X)
    kinds = ["bernoulli"] * 3 + ["gaussian"]
    a, b = (SparseMixedNB(k=2, columns=kinds).fit(rows, y) for rows in (X, X.toarray()))
    np.testing.assert_allclose(a.scores_, b.scores_, rtol=1e-12)
    np.testing.assert_allclose(a.predict_proba(X), b.predict_proba(X.toarray()), atol=1e-12)
    assert sp.issparse(a.transform(X))
    pipeline = make_pipeline(columns, SparseMixedNB(k=2, columns=kinds)).fit(frame, y)
    assert pipeline.score(frame, y) == 1.0
    with pytest.raises(ValueError, match="cannot be 'categorical' in a sparse"):
        SparseMixedNB(columns={0: "categorical"}).fit(X, y)


@pytest.mark.parametrize(
    ("columns", "match"),
    [
        ({"note": "text"}, r"words are variables of their own. Say `text`=\['note'\]"),
        ({"note": "normal"}, "`columns` must give one of gaussian, categorical"),
        ({"nowhere": "gaussian"}, "`columns` must name columns of X.*'nowhere'"),
        ({7: "gaussian"}, "`columns` must name columns of X.*7"),
        (["gaussian"], "one kind for each of the 4 columns"),
        ("gaussian", "must map columns to kinds"),
        ({"note": "gaussian"}, "'note' is 'gaussian', but holds 'good'.*'categorical'"),
        ({"size": "poisson"}, "Negative values in data: Column 'size' is 'poisson'.*-1"),
    ],
)
def test_bad_columns(columns, match):
    frame = pd.DataFrame(
        {"note": ["good", "bad"], "size": [-1.0, 2.0], "k": [1, 2], "flag": [True, False]}
    )
    with pytest.raises(ValueError, match=match):
        SparseMixedNB(k=1, columns=columns).fit(frame, ["x", "y"])


def test_bad_values():
    y = ["x", "y"]
    for column, match in (
        ([np.inf, 1.0], "infinity: Column 'a' holds inf"),
        (pd.to_datetime(["2020-01-01", "2021-01-01"]), "Turn dates into numbers"),
        ([("p", 1), ("q", 2)], "must be strings, numbers or booleans"),
        ([["p"], ["q"]], "must be strings, numbers or booleans"),
    ):
        with pytest.raises(ValueError, match=match):
            SparseMixedNB(k=1).fit(pd.DataFrame({"a": column}), y)
    model = SparseMixedNB(k=1).fit(pd.DataFrame({"a": [1.0, 2.0]}), y)
    with pytest.raises(ValueError, match="infinity"):
        model.predict(pd.DataFrame({"a": [np.inf]}))
    with pytest.raises(ValueError, match="0 sample"):
        model.predict(pd.DataFrame({"a": []}))
    with pytest.raises(ValueError, match="has 1"):
        SparseMixedNB(k=1).fit([[1.0, 2.0], [1.0]], y)
    frame, y = table()
    for more, match in (
        ({"alpha": -1}, "`alpha`"),
        ({"variance": "some"}, "`variance`"),
        ({"correction": "aic"}, "`correction`"),
        ({"correction": "bic", "objective": "pairs"}, "correction"),
        ({"correction": "bic", "costs": [1] * 6, "budget": 2}, "`budget`"),
    ):
        with pytest.raises(ValueError, match=match):
            SparseMixedNB(k=2, **more).fit(frame, y)


# -- statistics ----------------------------------------------------------------------------------


@given(st.integers(0, 10**6), st.integers(0, 40))
def test_statistics_add_and_subtract(seed, cut):
    frame, y = table(40, 3, seed, 0.3)
    columns = MixedColumns.of(frame, TOLD, list(frame))
    X = columns.encoded(frame)
    gather = partial(ClassMixed.from_matrix, columns=columns, classes=np.unique(y))
    whole, first, rest = gather(X, y), gather(X[:cut], y[:cut]), gather(X[cut:], y[cut:])
    order = np.random.default_rng(seed).permutation(40)
    family = mixed.mixed()
    gains = family.gain(whole)
    for same in (
        first + rest,
        rest + first,
        gather(X[order], y[order]),
        first.update(X[cut:], y[cut:]),
    ):
        np.testing.assert_array_equal(same.observed, whole.observed)
        np.testing.assert_allclose(family.gain(same), gains, atol=1e-9)
    difference = whole - first
    np.testing.assert_array_equal(difference.observed, rest.observed)
    shared = mixed.mixed(variance="shared")  # variances of few rows keep what a difference loses
    np.testing.assert_allclose(shared.gain(difference), shared.gain(rest), rtol=1e-5, atol=1e-7)
    np.testing.assert_array_equal(
        whole.observed, [[(~np.isnan(x[y == c])).sum() for c in whole.classes] for x in X.T]
    )
    assert (whole + ClassMixed.zero(6, columns=columns)).equals(whole)
    assert sum([first, rest]).equals(first + rest)
    some = np.array([5, 0, 3])
    exactly = mixed.mixed(var_smoothing=0.0)  # which is a share of the largest variance
    np.testing.assert_allclose(exactly.gain(whole.take(some)), exactly.gain(whole)[some], rtol=1e-9)


def test_weights_of_classes_are_weights_of_rows():
    frame, y = table()
    weight = np.select([y == "ant", y == "bee"], [2.0, 0.5], 1.0)
    asked = SparseMixedNB(k=3, columns=TOLD, class_weight={"ant": 2.0, "bee": 0.5}).fit(frame, y)
    rows = SparseMixedNB(k=3, columns=TOLD).fit(frame, y, weight)
    np.testing.assert_allclose(asked.scores_, rows.scores_, rtol=1e-10)
    np.testing.assert_allclose(asked.predict_proba(frame), rows.predict_proba(frame), atol=1e-10)
    few = asked.statistics_.of_classes([0, 2])
    kept = y != "bee"
    alone = SparseMixedNB(k=3, columns=TOLD).fit(frame[kept], y[kept], weight[kept])
    np.testing.assert_allclose(asked.model_.family.gain(few), alone.scores_, rtol=1e-6)


def test_batches_are_the_fit_and_bring_new_categories():
    frame, y = table()
    once = SparseMixedNB(k=3, columns=TOLD).fit(frame, y)
    batches = SparseMixedNB(k=3, columns=TOLD)
    order = frame["town"].fillna("Oslo").sort_values(kind="stable").index  # a town after the other
    for part in np.array_split(order, 4):
        batches.partial_fit(frame.loc[part], y[part], classes=np.unique(y))
    np.testing.assert_allclose(batches.scores_, once.scores_, rtol=1e-10)
    np.testing.assert_allclose(batches.predict_proba(frame), once.predict_proba(frame), atol=1e-10)
    again = SparseMixedNB.from_statistics(once.statistics_, k=3, feature_names=list(frame))
    np.testing.assert_array_equal(again.predict_proba(frame), once.predict_proba(frame))


def test_statistics_whose_codes_differ_are_not_added():
    gather = SparseMixedNB().gather
    y = ["x", "y"]
    one, two = (gather(pd.DataFrame({"a": v}), y) for v in (["p", "q"], ["q", "r"]))
    with pytest.raises(ValueError, match="categories of Column 'a' have other numbers"):
        one + two
    categories = ["p", "q", "r"]
    one, two = (
        gather(pd.DataFrame({"a": pd.Categorical(v, categories)}), y)
        for v in (["p", "q"], ["q", "r"])
    )
    both = SparseMixedNB(k=1).fit(pd.DataFrame({"a": ["p", "q", "q", "r"]}), y * 2)
    assert SparseMixedNB.from_statistics(one + two, k=1).scores_ == pytest.approx(both.scores_)
    with pytest.raises(ValueError, match="columns of the same kinds"):
        one + gather(pd.DataFrame({"a": [1.0, 2.0]}), y)


# -- what is built on it -------------------------------------------------------------------------


@pytest.mark.filterwarnings("ignore:.*gain below 0 once it is corrected")
@pytest.mark.parametrize("more", [{}, {"correction": "bic"}, {"variance": "shared"}])
def test_paths_and_searches_are_loops_of_fits(more):
    frame, y = table(60)
    frame["rare"] = ["once"] + ["often", "else"] * 29 + ["twice"]  # categories of one fold alone
    make, grid = partial(SparseMixedNB, columns=TOLD, **more), [0, 1, 2, 4, 7]
    path = sparsity_path(make(), frame, y, ks=grid)
    for g, k in enumerate(grid):
        fitted = make(k=k).fit(frame, y)
        np.testing.assert_array_equal(path.support(k), fitted.get_support(indices=True))
        assert path.objective[g] == pytest.approx(fitted.certificate_.objective, rel=1e-12)
    cv = StratifiedKFold(3)
    search = SparsityCV(make(), ks=grid, cv=cv, scoring="neg_log_loss").fit(frame, y)
    for g, k in enumerate(grid):
        losses = []
        for train_rows, test in cv.split(frame, y):
            fitted = make(k=k).fit(frame.iloc[train_rows], y[train_rows])
            log = fitted.predict_log_proba(frame.iloc[test])
            losses.append(
                log[np.arange(len(test)), np.searchsorted(fitted.classes_, y[test])].mean()
            )
        assert search.cv_results_["mean_test_score"][g] == pytest.approx(np.mean(losses), rel=1e-9)


def test_everything_else_takes_it():
    frame, y = table()
    model = SparseMixedNB(k="auto", columns=TOLD, calibration="cross-fitted").fit(frame, y)
    plain = SparseMixedNB(k=model.fold_errors_.best_k(), columns=TOLD).fit(frame, y)
    log = plain.predict_log_proba(frame) / model.temperature_
    expected = log - logsumexp(log, axis=1, keepdims=True)
    np.testing.assert_allclose(model.predict_log_proba(frame), expected, atol=1e-9)
    loaded = pickle.loads(pickle.dumps(model))
    np.testing.assert_array_equal(loaded.predict_proba(frame), model.predict_proba(frame))
    rule = restored(kind_of(model.rule_), model.rule_.arrays())
    X = model._check_rows(frame)[:, model.support_]
    np.testing.assert_array_equal(rule.scores(X), model._scores(frame))
    curves = error_path(SparseMixedNB(columns=TOLD), frame, y, ks=[1, 3])
    assert curves.predicted is None
    stability = selection_stability(SparseMixedNB(k=2, columns=TOLD), frame, y, n_subsamples=6)
    assert stability.frequency(2).sum() == pytest.approx(2.0)
    scores, p = gain(frame, y, model=SparseMixedNB(columns=TOLD))
    fitted = SparseMixedNB(k=2, columns=TOLD).fit(frame, y)
    np.testing.assert_array_equal(scores, fitted.scores_)
    np.testing.assert_array_equal(p, fitted.pvalues_)
    assert "age" in fitted._repr_html_()


def test_constraints():
    frame, y = table()
    make = partial(SparseMixedNB, columns=TOLD)
    free = make(k="all").fit(frame, y).scores_
    model = make(k=2, required=["size"], excluded=["grade"]).fit(frame, y)
    allowed = [i for i in range(6) if frame.columns[i] not in ("size", "grade")]
    best = max(allowed, key=lambda i: free[i])
    assert set(model.get_support(indices=True)) == {4, best}
    groups = ["body", "home", "body", "care", "body", "care"]
    sums = pd.Series(free).groupby(groups).sum()
    model = make(k=1, groups=groups).fit(frame, y)
    assert {groups[i] for i in model.get_support(indices=True)} == {sums.idxmax()}
    costs = np.array([3.0, 1.0, 1.0, 2.0, 1.0, 4.0])
    model = make(k=None, costs=costs, budget=5.0).fit(frame, y)
    subsets = [S for k in range(7) for S in combinations(range(6), k) if costs[list(S)].sum() <= 5]
    assert free[model.support_].sum() == pytest.approx(max(free[list(S)].sum() for S in subsets))


# -- the correction ------------------------------------------------------------------------------


def test_the_correction_is_half_the_parameters_times_the_log_of_the_rows():
    frame, y = table()
    X = coded(frame)
    plain, bic = (
        SparseMixedNB(k=3, columns=TOLD, correction=c).fit(frame, y) for c in (None, "bic")
    )
    for i, kind in enumerate(KINDS):
        x = X[~np.isnan(X[:, i]), i]
        of_a_class = {"gaussian": 2, "categorical": len(np.unique(x)) - 1}.get(kind, 1)
        lost = 2 * of_a_class / 2 * np.log(len(x))
        assert bic.scores_[i] == pytest.approx(plain.scores_[i] - lost, rel=1e-12)
    np.testing.assert_allclose(bic.pvalues_, plain.pvalues_, rtol=1e-9)
    certificate = bic.certificate_
    gained = certificate.objective - certificate.baseline
    assert gained == pytest.approx(np.sort(bic.scores_)[-3:].sum(), rel=1e-12)
    assert certificate.baseline == plain.certificate_.baseline


def noise_is_chosen(correction, n_tables=200):
    """In how many tables noise of 30 values is preferred to a number that tells of the class."""
    chosen = 0
    for seed in range(n_tables):
        rng = np.random.default_rng(seed)
        y = np.repeat([0, 1], 100)
        frame = pd.DataFrame(
            {"number": rng.normal(0.6 * y), "noise": rng.integers(0, 30, 200).astype(str)}
        )
        model = SparseMixedNB(k=1, alpha=0.0, correction=correction).fit(frame, y)
        chosen += model.get_support(indices=True)[0] == 1
    return chosen


@pytest.mark.filterwarnings("ignore:.*gain below 0 once it is corrected")
def test_noise_of_many_values_gains_by_chance_and_is_corrected():
    """By Wilks it gains 29 / 2 nats on average, the number about 200 log(1.09) / 2 = 8.6 + 1."""
    assert noise_is_chosen(None) > 150
    assert noise_is_chosen("bic") == 0


@pytest.mark.filterwarnings(
    "ignore:.*gain below 0 once it is corrected"
)  # noise, chosen on purpose
@parametrize_with_checks([SparseMixedNB(), SparseMixedNB(k=2, correction="bic")])
@pytest.mark.filterwarnings("ignore:`k`=:UserWarning")
@pytest.mark.filterwarnings("ignore:No features were selected:UserWarning")
def test_scikit_learn_checks(estimator, check):
    check(estimator)


def test_a_matrix_of_numbers_needs_no_table():
    X = np.array([[1.0, 0, NAN], [2.0, 2, 1], [5.0, 1, 1], [6.0, 2, 0]])
    kinds = ["gaussian", "categorical", "bernoulli"]
    statistics = ClassMixed.from_matrix(X, ["a", "a", "b", "b"], kinds=kinds)
    trained = train(mixed.model(), statistics, 1)
    assert trained.selection.support.tolist() == [0]
    with pytest.raises(ValueError, match="`kinds` must have one of"):
        ClassMixed.from_matrix(X, ["a", "a", "b", "b"], kinds=["gaussian", "text", "poisson"])
