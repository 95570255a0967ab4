"""Cross-validation of a whole path against a loop of clones and fits."""

from __future__ import annotations

import numpy as np
import pytest
from scipy import sparse
from sklearn import config_context
from sklearn.base import BaseEstimator, ClassifierMixin, clone
from sklearn.datasets import load_digits
from sklearn.metrics import check_scoring, make_scorer, matthews_corrcoef
from sklearn.model_selection import (
    GridSearchCV,
    GroupKFold,
    KFold,
    LeaveOneOut,
    RepeatedStratifiedKFold,
    ShuffleSplit,
    StratifiedKFold,
)
from sklearn.pipeline import make_pipeline
from sklearn.utils.estimator_checks import parametrize_with_checks

from agreement import not_for_counts
from naively import (
    SparseBernoulliNB,
    SparseCategoricalNB,
    SparseGaussianNB,
    SparseL1Centers,
    SparseL2Centers,
    SparseMultinomialNB,
    SparseNegativeBinomialNB,
    SparsePoissonNB,
    SparsityCV,
    sparsity_path,
)

ESTIMATORS = [
    SparseMultinomialNB(),
    SparseMultinomialNB(alpha=0.0),
    SparseMultinomialNB(exact=True),
    SparseMultinomialNB(alpha=np.linspace(0.5, 2.0, 14)),
    SparseBernoulliNB(),
    SparseBernoulliNB(alpha=0.0, fit_prior=False),
    SparsePoissonNB(),
    SparseNegativeBinomialNB(),
    SparseL2Centers(),
    SparseL2Centers(scale="std"),
    SparseL1Centers(),
    SparseGaussianNB(var_smoothing=1e-3),
    SparseGaussianNB(variance="shared"),
    SparseCategoricalNB(),
]
NAMES = [str(estimator).replace("\n", "")[:60] for estimator in ESTIMATORS]
LINEAR = [e for e in ESTIMATORS if isinstance(e, SparseMultinomialNB | SparseBernoulliNB)]


def documents(n=60, m=14, n_classes=3, seed=0, rate=2.0):
    rng = np.random.default_rng(seed)
    rates = rate * rng.gamma(1.0, size=(n_classes, m))
    y = np.arange(n) % n_classes
    return rng.poisson(rates[y]), np.array(["a", "b", "c"])[y]


def loop(estimator, X, y, ks, cv, scoring=None, weight=None, groups=None):
    """Scores of a fit for each fold and k."""
    scores = []
    for train, test in cv.split(X, y, groups):
        scores.append([])
        for k in ks:
            model = clone(estimator).set_params(k=k)
            fitting = {} if weight is None else {"sample_weight": weight[train]}
            judging = {} if weight is None else {"sample_weight": weight[test]}
            model.fit(X[train], y[train], **fitting)
            scorer = check_scoring(model, scoring=scoring)
            scores[-1].append(scorer(model, X[test], y[test], **judging))
    return np.array(scores)


def split_scores(search):
    table = search.cv_results_
    return np.array([table[f"split{t}_test_score"] for t in range(search.n_splits_)])


# The loop ---------------------------------------------------------------------------------------


@pytest.mark.parametrize("sparse_rows", [False, True])
@pytest.mark.parametrize("estimator", ESTIMATORS, ids=NAMES)
def test_equals_a_loop_of_clones_and_fits(estimator, sparse_rows):
    X, y = documents()
    if sparse_rows:
        X = sparse.csr_array(X)
    ks, cv = [1, 2, 5, 9, 14], StratifiedKFold(4, shuffle=True, random_state=1)
    search = SparsityCV(estimator, ks, cv).fit(X, y)
    expected = loop(estimator, X, y, ks, cv)
    np.testing.assert_allclose(split_scores(search), expected, rtol=0, atol=1e-10)
    mean = expected.mean(axis=0)
    assert search.best_k_ == ks[int(np.argmax(mean >= mean.max() - 1e-12))]
    assert search.best_score_ == pytest.approx(mean.max())
    chosen = clone(estimator).set_params(k=search.best_k_).fit(X, y)
    np.testing.assert_array_equal(search.predict(X), chosen.predict(X))


@pytest.mark.parametrize(
    "scoring", ["neg_log_loss", "roc_auc", "f1", make_scorer(matthews_corrcoef)]
)
@pytest.mark.parametrize("estimator", ESTIMATORS, ids=NAMES)
def test_scorers_of_probabilities_and_decisions(estimator, scoring):
    X, y = documents(n_classes=2)
    y = (y == "a").astype(int)
    if scoring == "neg_log_loss" and not hasattr(estimator, "predict_proba"):
        pytest.skip("centers have no probabilities")
    ks, cv = [1, 3, 8, 14], StratifiedKFold(3)
    with np.errstate(divide="ignore"):
        search = SparsityCV(estimator, ks, cv, scoring).fit(X, y)
        expected = loop(estimator, X, y, ks, cv, scoring)
    np.testing.assert_allclose(split_scores(search), expected, rtol=1e-10, atol=1e-10)


@pytest.mark.parametrize("scoring", ["roc_auc", "average_precision"])
@pytest.mark.parametrize(
    "estimator", [SparseMultinomialNB(), SparseBernoulliNB(), SparseL2Centers(), SparsePoissonNB()]
)
def test_scorers_that_rank_rows_which_tie(estimator, scoring):
    """Short rows of features with equal counts tie; rounding must break ties as the models do."""
    for seed in range(8):
        X, y = documents(n=60, m=18, n_classes=2, seed=seed, rate=0.5)
        y, ks, cv = (y == "a").astype(int), [1, 2, 5, 12, 17, 18], StratifiedKFold(3)
        search = SparsityCV(estimator, ks, cv, scoring).fit(X, y)
        expected = loop(estimator, X, y, ks, cv, scoring)
        np.testing.assert_allclose(split_scores(search), expected, rtol=0, atol=1e-10)


def test_variances_that_are_nothing_but_smoothing():
    """A class in which a word never occurs: rounding would be a part of its variance."""
    for seed in range(6):
        X, y = documents(n=60, m=18, n_classes=2, seed=seed, rate=0.3)
        ks, cv = [2, 5, 18], StratifiedKFold(3, shuffle=True, random_state=0)
        search = SparsityCV(SparseGaussianNB(), ks, cv, "neg_log_loss").fit(X, y)
        expected = loop(SparseGaussianNB(), X, y, ks, cv, "neg_log_loss")
        np.testing.assert_allclose(split_scores(search), expected, rtol=1e-10, atol=1e-10)


@pytest.mark.parametrize("estimator", [SparseMultinomialNB(), SparsePoissonNB(), SparseL2Centers()])
def test_half_precision(estimator):
    X, y = documents()
    found = SparsityCV(estimator, [2, 7]).fit(X.astype(np.float16), y)
    plain = SparsityCV(estimator, [2, 7]).fit(X, y)
    np.testing.assert_allclose(split_scores(found), split_scores(plain), atol=1e-10)


def test_supports_that_are_not_nested():
    """Paths in which a feature leaves again, with every k, against the loop."""
    leaving = 0
    for seed in range(6):
        X, y = documents(n=45, m=25, seed=seed, rate=0.6)
        ks, cv = np.arange(26), StratifiedKFold(3, shuffle=True, random_state=seed)
        for train, _ in cv.split(X, y):
            track = sparsity_path(SparseMultinomialNB(), X[train], y[train], ks)
            supports = [set(track.support(k)) for k in track.k]
            pairs = zip(supports, supports[1:], strict=False)
            leaving += sum(not small <= large for small, large in pairs)
        for scoring in (None, "neg_log_loss"):
            search = SparsityCV(SparseMultinomialNB(), ks, cv, scoring).fit(X, y)
            expected = loop(SparseMultinomialNB(), X, y, ks.tolist(), cv, scoring)
            np.testing.assert_allclose(split_scores(search), expected, rtol=1e-10, atol=1e-10)
    assert leaving > 5


@pytest.mark.parametrize("estimator", LINEAR[:1] + LINEAR[4:5] + [SparseL2Centers()])
@pytest.mark.parametrize(
    "cv",
    [
        ShuffleSplit(4, test_size=0.3, train_size=0.4, random_state=0),
        RepeatedStratifiedKFold(n_splits=3, n_repeats=2, random_state=0),
        LeaveOneOut(),
        GroupKFold(4),
    ],
    ids=lambda cv: type(cv).__name__,
)
def test_any_splitter(estimator, cv):
    X, y = documents(n=36)
    groups = np.arange(36) // 3
    groups = groups if isinstance(cv, GroupKFold) else None
    search = SparsityCV(estimator, [1, 4, 10], cv).fit(X, y, groups=groups)
    expected = loop(estimator, X, y, [1, 4, 10], cv, groups=groups)
    np.testing.assert_allclose(split_scores(search), expected, atol=1e-10)


@pytest.mark.parametrize("estimator", [SparseMultinomialNB(), SparseL2Centers(), SparseL1Centers()])
def test_a_class_that_training_lacks(estimator):
    X, y = documents(n=30)
    y = np.where(np.arange(30) < 10, "rare", y)
    rows = np.arange(30)
    cv = [(rows[10:], rows[:10]), (rows[:20], rows[20:])]
    search = SparsityCV(estimator, [2, 6], cv).fit(X, y)
    expected = [
        [
            clone(estimator).set_params(k=k).fit(X[train], y[train]).score(X[test], y[test])
            for k in (2, 6)
        ]
        for train, test in cv
    ]
    np.testing.assert_allclose(split_scores(search), expected, atol=1e-10)
    assert search.classes_.tolist() == ["a", "b", "c", "rare"]


def test_divisions_may_be_masks():
    X, y = documents()
    test = np.arange(60) % 4 == 0
    by_mask = SparsityCV(SparseBernoulliNB(), [3], [(~test, test)]).fit(X, y)
    by_index = SparsityCV(SparseBernoulliNB(), [3], [(np.flatnonzero(~test), np.flatnonzero(test))])
    np.testing.assert_array_equal(split_scores(by_mask), split_scores(by_index.fit(X, y)))


@pytest.mark.parametrize("scoring", [None, "neg_log_loss"])
def test_weights_in_training_and_scoring(scoring):
    X, y = documents()
    weight = np.random.default_rng(0).integers(0, 4, 60).astype(float)
    cv = StratifiedKFold(3)
    for estimator in (SparseMultinomialNB(), SparseGaussianNB(), SparsePoissonNB()):
        search = SparsityCV(estimator, [2, 7], cv, scoring).fit(X, y, sample_weight=weight)
        expected = loop(estimator, X, y, [2, 7], cv, scoring, weight)
        np.testing.assert_allclose(split_scores(search), expected, rtol=1e-9, atol=1e-10)


@pytest.mark.parametrize(
    "estimator",
    [SparseMultinomialNB(alpha=0.0), SparseBernoulliNB(alpha=0.0), SparsePoissonNB(alpha=0.0)],
)
@pytest.mark.parametrize("rows", ["real", "class"])
def test_weights_where_events_are_impossible(estimator, rows):
    """Rows that every class with a prior excludes get the prior; none without weight has one."""
    for seed in range(5):
        X, y = documents(n=60, m=14, seed=seed, rate=0.5)
        weight = np.random.default_rng(seed).random(60) if rows == "real" else (y != "c") * 1.0
        ks, cv = [2, 8, 13, 14], StratifiedKFold(3, shuffle=True, random_state=0)
        for scoring in (None, make_scorer(matthews_corrcoef)):
            search = SparsityCV(estimator, ks, cv, scoring).fit(X, y, sample_weight=weight)
            expected = loop(estimator, X, y, ks, cv, scoring, weight)
            np.testing.assert_allclose(split_scores(search), expected, rtol=0, atol=1e-10)


def test_duplicates_in_sparse_rows():
    rows = sparse.csr_array(
        (np.array([1, 1, 2, 1, 1, 1]), np.array([0, 0, 1, 2, 2, 0]), np.arange(0, 7)), (6, 3)
    )
    twice = sparse.csr_array((rows.data, rows.indices, [0, 2, 3, 5, 6]), shape=(4, 3))
    y = np.array([0, 1, 0, 1])
    for estimator in (SparseMultinomialNB(), SparseBernoulliNB(), SparseMultinomialNB(alpha=0)):
        found = SparsityCV(estimator, [1, 2, 3], cv=2).fit(twice, y)
        plain = SparsityCV(estimator, [1, 2, 3], cv=2).fit(twice.toarray(), y)
        np.testing.assert_array_equal(split_scores(found), split_scores(plain))


# The interface ----------------------------------------------------------------------------------


def test_table_is_that_of_a_grid_search():
    X, y = documents()
    ks, alphas, cv = [2, 5, 9], [0.1, 1.0], StratifiedKFold(3)
    found = SparsityCV(SparseMultinomialNB(), ks, cv, alphas=alphas).fit(X, y)
    grid = GridSearchCV(SparseMultinomialNB(), {"alpha": alphas, "k": ks}, cv=cv).fit(X, y)
    assert found.cv_results_.keys() == grid.cv_results_.keys()
    assert found.cv_results_["params"] == grid.cv_results_["params"]
    for name, column in grid.cv_results_.items():
        if "time" not in name and name != "params":
            np.testing.assert_allclose(
                np.asarray(found.cv_results_[name], dtype=float),
                np.asarray(column, dtype=float),
                atol=1e-10,
            )
    assert (found.best_index_, found.best_params_) == (grid.best_index_, grid.best_params_)
    assert found.best_score_ == pytest.approx(grid.best_score_)
    np.testing.assert_allclose(found.best_estimator_.coef_, grid.best_estimator_.coef_)
    assert (found.cv_results_["mean_fit_time"] > 0).all()


def test_default_grid():
    X, y = documents()
    search = SparsityCV(SparseBernoulliNB()).fit(X, y)
    assert search.cv_results_["param_k"].tolist() == list(range(1, 15))
    assert search.n_splits_ == 5


def test_one_standard_error():
    X, y = documents(n=150, m=40, rate=0.5, seed=2)
    search = SparsityCV(SparseMultinomialNB(), refit="simplest").fit(X, y)
    scores = split_scores(search)
    mean, error = scores.mean(axis=0), scores.std(axis=0, ddof=1) / np.sqrt(5)
    best = int(np.argmax(mean))
    ks = np.asarray(search.cv_results_["param_k"])
    expected = ks[np.flatnonzero(mean >= mean[best] - error[best])[0]]
    assert search.simplest_k_ == search.best_k_ == expected
    assert search.get_support().sum() == expected
    widest = SparsityCV(SparseMultinomialNB()).fit(X, y)
    assert widest.simplest_k_ == expected
    assert widest.best_k_ == ks[best] > expected


def test_several_estimators():
    X, y = load_digits(return_X_y=True)
    contenders = [SparseBernoulliNB(binarize=7), SparseMultinomialNB(), SparseL2Centers()]
    search = SparsityCV(contenders, [5, 20, 50]).fit(X, y)
    alone = [SparsityCV(each, [5, 20, 50]).fit(X, y) for each in contenders]
    for i, each in enumerate(alone):
        part = split_scores(search)[:, 3 * i : 3 * i + 3]
        np.testing.assert_array_equal(part, split_scores(each))
    best = max(alone, key=lambda each: each.best_score_)
    assert type(search.best_estimator_) is type(best.estimator)
    assert search.best_k_ == best.best_k_
    winner, *others = search.ranking_.contenders
    assert winner.name == type(best.estimator).__name__
    assert winner.behind == 0
    ahead = split_scores(best)[:, best.best_index_]
    for other in others:
        mine = next(each for each in alone if type(each.estimator).__name__ == other.name)
        behind = ahead - split_scores(mine)[:, mine.best_index_]
        assert other.behind == pytest.approx(behind.mean())
        assert other.behind_standard_error == pytest.approx(behind.std(ddof=1) / np.sqrt(5))
    assert "(winner)" in str(search.ranking_)
    assert [type(e) for e in search.cv_results_["param_estimator"][::3]] == [
        type(e) for e in contenders
    ]
    assert not search.cv_results_["param_k"].mask.any()


def test_refit_by_a_callable_or_not_at_all():
    X, y = documents()
    last = SparsityCV(SparseBernoulliNB(), [2, 3], refit=lambda table: 1).fit(X, y)
    assert last.best_k_ == 3
    never = SparsityCV(SparseBernoulliNB(), [2, 3], refit=False).fit(X, y)
    assert never.best_k_ in (2, 3)
    assert not hasattr(never, "predict")
    with pytest.raises(AttributeError, match="no attribute 'predict'") as raised:
        never.predict(X)
    assert "refit=True" in str(raised.value.__cause__)
    with pytest.raises(ValueError, match=r"must return an int in \[0, 2\)"):
        SparsityCV(SparseBernoulliNB(), [2, 3], refit=lambda table: 2).fit(X, y)


def test_delegates_to_the_best_estimator():
    X, y = documents()
    search = SparsityCV(SparseMultinomialNB(), [4]).fit(X, y)
    best = search.best_estimator_
    np.testing.assert_array_equal(search.predict_proba(X), best.predict_proba(X))
    np.testing.assert_array_equal(search.predict_log_proba(X), best.predict_log_proba(X))
    np.testing.assert_array_equal(search.transform(X), best.transform(X))
    np.testing.assert_array_equal(search.get_support(indices=True), np.flatnonzero(best.support_))
    assert search.get_feature_names_out().tolist() == best.get_feature_names_out().tolist()
    assert search.score(X, y) == best.score(X, y)
    np.testing.assert_array_equal(search.decision_function(X), best.decision_function(X))


def test_plain_functions_get_a_fitted_model():
    X, y = documents()

    def few_features_and_right(model, rows, labels):
        return model.score(rows, labels) - 0.01 * model.support_.sum() + 0 * model.coef_.sum()

    cv = StratifiedKFold(3)
    search = SparsityCV(SparseMultinomialNB(), [2, 6], cv, few_features_and_right).fit(X, y)
    expected = loop(SparseMultinomialNB(), X, y, [2, 6], cv, few_features_and_right)
    np.testing.assert_allclose(split_scores(search), expected, atol=1e-10)


def test_metadata_routing():
    X, y = documents()
    weight, groups = np.random.default_rng(0).random(60), np.arange(60) % 6
    with config_context(enable_metadata_routing=True):
        estimator = SparseMultinomialNB().set_fit_request(sample_weight=True)
        scorer = make_scorer(matthews_corrcoef).set_score_request(sample_weight=False)
        search = SparsityCV(estimator, [2, 7], GroupKFold(3), scorer)
        search.fit(X, y, sample_weight=weight, groups=groups)
    for t, (train, test) in enumerate(GroupKFold(3).split(X, y, groups)):
        for g, k in enumerate([2, 7]):
            model = SparseMultinomialNB(k).fit(X[train], y[train], weight[train])
            expected = matthews_corrcoef(y[test], model.predict(X[test]))
            assert split_scores(search)[t, g] == pytest.approx(expected, abs=1e-10)


def test_metadata_is_for_who_asked_for_it():
    X, y = documents()
    weight = np.random.default_rng(0).random(60)
    with config_context(enable_metadata_routing=True):
        weighted = SparseMultinomialNB().set_fit_request(sample_weight=True)
        weighted.set_score_request(sample_weight=False)
        plain = SparseBernoulliNB().set_fit_request(sample_weight=False)
        both = SparsityCV([weighted, plain], [2, 7]).fit(X, y, sample_weight=weight)
    alone = SparsityCV(SparseBernoulliNB(), [2, 7]).fit(X, y)
    np.testing.assert_array_equal(split_scores(both)[:, 2:], split_scores(alone))


def test_rows_left_out_may_have_no_weight_in_training():
    X, y = documents()
    weight, cv = (np.arange(60) >= 20).astype(float), KFold(3)
    with config_context(enable_metadata_routing=True):
        estimator = SparseMultinomialNB().set_fit_request(sample_weight=True)
        estimator.set_score_request(sample_weight=False)
        search = SparsityCV(estimator, [2, 7], cv).fit(X, y, sample_weight=weight)
    for t, (train, test) in enumerate(cv.split(X)):
        for g, k in enumerate([2, 7]):
            model = SparseMultinomialNB(k).fit(X[train], y[train], weight[train])
            assert split_scores(search)[t, g] == pytest.approx(model.score(X[test], y[test]))


class FromElsewhere(ClassifierMixin, BaseEstimator):
    """Takes frames only; always answers the class of the first row."""

    def __init__(self, k=1):
        self.k = k

    def fit(self, X, y):
        assert X.columns.tolist() == [f"word{i}" for i in range(14)]
        self.classes_, self.answer_ = np.unique(y), y[0]
        return self

    def predict(self, X):
        assert X.columns[0] == "word0"
        return np.full(len(X), self.answer_)


@pytest.mark.parametrize("place", [0, 1])
def test_estimators_from_elsewhere_get_the_frame(place):
    pandas = pytest.importorskip("pandas")
    X, y = documents()
    frame = pandas.DataFrame(X, columns=[f"word{i}" for i in range(14)])
    contenders = [SparseMultinomialNB()]
    contenders.insert(place, FromElsewhere())
    search = SparsityCV(contenders, [2, 7]).fit(frame, y)
    alone = SparsityCV(SparseMultinomialNB(), [2, 7]).fit(frame, y)
    ours = split_scores(search)[:, 2 - 2 * place :][:, :2]
    np.testing.assert_array_equal(ours, split_scores(alone))


def test_names_of_columns():
    pandas = pytest.importorskip("pandas")
    X, y = documents()
    frame = pandas.DataFrame(X, columns=[f"word{i}" for i in range(14)])
    search = SparsityCV(SparseMultinomialNB(), [3]).fit(frame, y)
    assert search.feature_names_in_.tolist() == list(frame.columns)
    assert all(name.startswith("word") for name in search.get_feature_names_out())


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"ks": [3, 99]}, r"`ks` must lie in \[0, 14\]"),
        ({"alphas": []}, "`alphas` must have at least one value"),
        ({"estimator": []}, "must be a classifier or a list of at least one"),
        ({"estimator": SparseL2Centers(), "alphas": [1.0]}, "SparseL2Centers has none"),
        ({"refit": "yes"}, "`refit` must be True, False"),
        ({"alphas": ["much"]}, "`alphas` must be numbers"),
        ({"alphas": [None]}, "`alpha` must be finite"),
        ({"scoring": ["accuracy", "f1_macro"]}, "`scoring` must be one metric"),
        ({"scoring": {"a": "accuracy"}}, "`scoring` must be one metric"),
        ({"scoring": lambda model, X, y: np.nan}, "every mean score is NaN"),
        ({"cv": []}, "`cv` must give at least one division"),
        (
            {"cv": [([0, 1, 2], [])]},
            r"at least one of the 60 rows; the rows to judge of division 0",
        ),
        ({"cv": [([], [0, 1])]}, "the training rows of division 0 are"),
        ({"cv": [([0, 1], [2, 60])]}, r"indices below 60 \(n_samples=60\)"),
        ({"cv": [([0.0, 1.0], [2])]}, "indices or a mask"),
        ({"cv": [(1, 2)]}, "indices or a mask"),
    ],
)
def test_messages(change, message):
    X, y = documents()
    search = SparsityCV(SparseMultinomialNB()).set_params(**change)
    with pytest.raises(ValueError, match=message):
        search.fit(X, y)


@pytest.mark.parametrize("score", ["high", None, np.ones(2), {"a": 1.0}])
def test_scores_are_numbers(score):
    X, y = documents()
    with pytest.raises(TypeError, match="`scoring` must return a number; got"):
        SparsityCV(SparseMultinomialNB(), [2], scoring=lambda model, X, y: score).fit(X, y)


def test_weights_need_a_place_in_the_scorer():
    X, y = documents()

    def right(model, X, y):
        return model.score(X, y)

    def metric(y_true, y_pred):
        return float(np.mean(y_true == y_pred))

    for scoring in (right, make_scorer(metric)):
        search = SparsityCV(SparseMultinomialNB(), [2], scoring=scoring)
        assert search.fit(X, y).best_k_ == 2
        with pytest.raises(TypeError, match="`scoring` must take `sample_weight`"):
            search.fit(X, y, sample_weight=np.ones(60))


@pytest.mark.parametrize("estimator", [SparseMultinomialNB(), SparseL1Centers()])
@pytest.mark.parametrize(
    ("heavy", "part"),
    [(slice(20, 60), "rows to judge of division 0"), (slice(0, 20), "training rows of division 0")],
)
def test_parts_without_weight(estimator, heavy, part):
    X, y = documents()
    weight = np.zeros(60)
    weight[heavy] = 1.0
    with pytest.raises(ValueError, match=f"`sample_weight` must leave weight in .* the {part}"):
        SparsityCV(estimator, [2], KFold(3)).fit(X, y, sample_weight=weight)


def test_needs_classifiers_with_k():
    from sklearn.naive_bayes import MultinomialNB

    X, y = documents()
    with pytest.raises(TypeError, match="a parameter `k`"):
        SparsityCV(MultinomialNB()).fit(X, y)
    with pytest.raises(TypeError, match="last step is one of this package, .* got Pipeline"):
        SparsityCV(make_pipeline(MultinomialNB())).fit(X, y)
    with pytest.raises(ValueError, match=r"'all', 'fdr', 'auto', 'simplest' or 'best'; got '10'"):
        SparseMultinomialNB(k="10").fit(X, y)
    with pytest.raises(TypeError, match="got the class SparseMultinomialNB"):
        SparsityCV(SparseMultinomialNB).fit(X, y)


@parametrize_with_checks(
    [SparsityCV(SparseMultinomialNB(), cv=2), SparsityCV(SparseL2Centers(), [1, 2], cv=2)],
    expected_failed_checks=not_for_counts,
)
def test_scikit_learn_checks(estimator, check):
    check(estimator)


@pytest.mark.parametrize("alphas", [None, [0.5, 1.0]])
def test_rows_are_checked_once(alphas, monkeypatch):
    checks = []
    check = SparseMultinomialNB._check_batch

    def counted(self, *given, **how):
        checks.append(self)
        return check(self, *given, **how)

    monkeypatch.setattr(SparseMultinomialNB, "_check_batch", counted)
    rng = np.random.default_rng(2)
    import pandas as pd

    frame = pd.DataFrame(rng.poisson(1.0, (60, 5)), columns=list("abcde"))
    y = rng.integers(2, size=60)
    search = SparsityCV(SparseMultinomialNB(), alphas=alphas).fit(frame, y)
    assert len(checks) == 1
    assert search.feature_names_in_.tolist() == list("abcde")
    assert search.best_estimator_.alpha == search.best_params_.get("alpha", 1.0)
