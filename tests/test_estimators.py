"""scikit-learn's conventions, and its estimators at k = "all"."""

import numpy as np
import pytest
import scipy.sparse as sp
from sklearn.naive_bayes import BernoulliNB, MultinomialNB
from sklearn.utils.estimator_checks import parametrize_with_checks

from agreement import not_for_counts
from naively import ClassCounts, SparseBernoulliNB, SparseMultinomialNB


@parametrize_with_checks(
    [
        SparseMultinomialNB(),
        SparseMultinomialNB(k="all"),
        SparseMultinomialNB(k=2, exact=True),
        SparseBernoulliNB(),
        SparseBernoulliNB(k="all"),
    ],
    expected_failed_checks=not_for_counts,
)
@pytest.mark.filterwarnings("ignore:`k`=:UserWarning")
@pytest.mark.filterwarnings("ignore:No features were selected:UserWarning")
def test_scikit_learn_checks(estimator, check):
    check(estimator)


@pytest.fixture(scope="module")
def counts():
    rng = np.random.default_rng(0)
    y = rng.integers(0, 4, 300)
    X = rng.poisson(rng.gamma(0.3, 2.0, (4, 60))[y])
    return X, y, rng.uniform(0.1, 3, 300)


@pytest.mark.parametrize(
    ("ours", "theirs"), [(SparseMultinomialNB, MultinomialNB), (SparseBernoulliNB, BernoulliNB)]
)
@pytest.mark.parametrize("n_classes", [2, 4])
@pytest.mark.parametrize("weighted", [False, True])
@pytest.mark.parametrize("prior", ["learned", "uniform", "given"])
@pytest.mark.parametrize("alpha", [1.0, 0.01])
def test_all_features_equal_scikit_learn(ours, theirs, n_classes, weighted, prior, alpha, counts):
    X, y, weight = counts
    y = y % n_classes
    weight = weight if weighted else None
    given = np.arange(1, n_classes + 1) / sum(range(1, n_classes + 1))
    parameters = {
        "alpha": alpha,
        "fit_prior": prior != "uniform",
        "class_prior": given if prior == "given" else None,
    }
    a = ours(k="all", **parameters).fit(sp.csr_array(X), y, weight)
    b = theirs(**parameters).fit(X, y, weight)
    for name in ("feature_log_prob_", "class_log_prior_", "feature_count_", "class_count_"):
        np.testing.assert_allclose(getattr(a, name), getattr(b, name), rtol=1e-12, atol=1e-14)
    for A in (X, sp.csr_matrix(X), sp.csc_array(X)):
        joint = a.predict_joint_log_proba(A)
        np.testing.assert_allclose(joint, b.predict_joint_log_proba(X), rtol=1e-12)
    np.testing.assert_allclose(a.predict_proba(X), b.predict_proba(X), rtol=1e-10, atol=1e-300)
    assert (a.predict(X) == b.predict(X)).all()


def test_smoothing_per_feature_equals_scikit_learn(counts):
    X, y, weight = counts
    alpha = np.linspace(0.1, 2, 60)
    a = SparseMultinomialNB(k="all", alpha=alpha).fit(X, y, weight)
    b = MultinomialNB(alpha=alpha).fit(X, y, weight)
    np.testing.assert_allclose(a.feature_log_prob_, b.feature_log_prob_, rtol=1e-12)
    # BernoulliNB takes no array here (its rows per class cannot be smoothed by one); a column is
    # independent of the others, so one fit per column says the same.
    a = SparseBernoulliNB(k="all", alpha=alpha).fit(X, y, weight)
    for j in range(60):
        b = BernoulliNB(alpha=alpha[j]).fit(X[:, [j]], y, weight)
        np.testing.assert_allclose(a.feature_log_prob_[:, [j]], b.feature_log_prob_, rtol=1e-12)


@pytest.mark.parametrize("estimator", [SparseMultinomialNB, SparseBernoulliNB])
@pytest.mark.parametrize("n_classes", [2, 4])
def test_the_rule_on_k_columns_is_bayes_rule_on_all(estimator, n_classes, counts):
    """Pooled features cancel: the posterior from k columns is that of the whole table."""
    X, y, _ = counts
    model = estimator(k=7).fit(X, y % n_classes)
    log_prob = model.feature_log_prob_
    assert np.ptp(log_prob[:, ~model.support_], axis=0).max() == 0
    assert (np.ptp(log_prob[:, model.support_], axis=0) > 0).all()
    seen = X if estimator is SparseMultinomialNB else (X > 0).astype(float)
    joint = seen @ log_prob.T + model.class_log_prior_
    if estimator is SparseMultinomialNB:
        np.testing.assert_allclose(np.exp(log_prob).sum(axis=1), 1)
    else:
        joint += (1 - seen) @ np.log1p(-np.exp(log_prob)).T
    posterior = np.exp(joint - np.logaddexp.reduce(joint, axis=1)[:, None])
    np.testing.assert_allclose(model.predict_proba(X), posterior, rtol=1e-9)
    np.testing.assert_allclose(model.predict_joint_log_proba(X), joint, rtol=1e-10)
    linear = seen @ model.coef_.T + model.intercept_
    log_proba = model.predict_log_proba(X)
    if n_classes == 2:
        np.testing.assert_allclose(linear[:, 0], np.diff(log_proba)[:, 0], atol=1e-9)
    else:
        log_proba -= log_proba[:, :1]
        np.testing.assert_allclose(linear - linear[:, :1], log_proba, atol=1e-9)


@pytest.mark.parametrize("estimator", [SparseMultinomialNB, SparseBernoulliNB])
def test_partial_fit_and_statistics_equal_fit(estimator, counts):
    X, y, weight = counts
    whole = estimator(k=9).fit(X, y, weight)
    parts = estimator(k=9)
    for rows in np.array_split(np.arange(300), 7):
        parts.partial_fit(X[rows], y[rows], classes=range(4), sample_weight=weight[rows])
    gathered = [
        estimator().gather(X[rows], y[rows], weight[rows], classes=range(4))
        for rows in np.array_split(np.arange(300), 3)
    ]
    merged = estimator.from_statistics(gathered[2] + gathered[0] + gathered[1], k=9)
    for model in (parts, merged):
        np.testing.assert_allclose(model.feature_count_, whole.feature_count_, rtol=1e-12)
        assert (model.support_ == whole.support_).all()
        np.testing.assert_allclose(model.predict_proba(X), whole.predict_proba(X), rtol=1e-9)


def test_a_bad_batch_leaves_the_estimator_unchanged(counts):
    X, y, _ = counts
    model = SparseMultinomialNB(k=9).fit(X, y)
    before = model.predict_proba(X)
    with pytest.raises(ValueError, match="Negative values"):
        model.partial_fit(-X, y)
    with pytest.raises(ValueError, match="classes"):
        model.partial_fit(X, y + 1)
    for other in ([0, 1], [0, 1, 2, 4], [0, 1, 2, 3, 4], ["0", "1", "2", "3"]):
        with pytest.raises(ValueError, match="is not the same as on the last call"):
            model.partial_fit(X, y, classes=other)
    assert (model.predict_proba(X) == before).all()


def test_feature_names_of_statistics(counts):
    X, y, _ = counts
    statistics = ClassCounts.from_matrix(X, y)
    names = [f"gene{j}" for j in range(60)]
    model = SparseMultinomialNB.from_statistics(statistics, k=3, feature_names=names)
    assert list(model.get_feature_names_out()) == list(np.array(names)[model.support_])
    with pytest.raises(ValueError, match="feature_names"):
        SparseMultinomialNB.from_statistics(statistics, k=3, feature_names=names[:-1])
