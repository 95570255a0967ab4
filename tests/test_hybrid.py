"""HybridNB: conventions, the model of the paper, regions, sparse support, batches."""

from __future__ import annotations

import pickle
import tracemalloc
import warnings

import numpy as np
import pandas as pd
import polars as pl
import pytest
import scipy.sparse as sp
from hypothesis import given, strategies as st
from scipy.special import log_softmax
from sklearn import config_context
from sklearn.base import clone
from sklearn.feature_selection import SelectKBest, chi2
from sklearn.linear_model import LogisticRegression
from sklearn.metrics import log_loss
from sklearn.model_selection import GridSearchCV, cross_validate
from sklearn.naive_bayes import MultinomialNB
from sklearn.pipeline import make_pipeline
from sklearn.utils.estimator_checks import parametrize_with_checks

import reference_hybrid as reference
from naively import HybridNB, SeparationWarning, SparseBernoulliNB, SparseMultinomialNB
from naively.models.rules import HybridRule

EXPECTED = {
    "check_class_weight_classifiers": "its data are negative, whatever the tags say",
    "check_decision_proba_consistency": "its data are negative, whatever the tags say",
    "check_sample_weight_equivalence_on_dense_data": (
        "a row is left out with all its weight; two rows are left out one at a time"
    ),
    "check_sample_weight_equivalence_on_sparse_data": (
        "a row is left out with all its weight; two rows are left out one at a time"
    ),
}


@parametrize_with_checks(
    [
        HybridNB(),
        HybridNB(
            shared_vocabulary=False,
            normalize=False,
            alpha=0.1,
            penalty=1.0,
            estimator=SparseMultinomialNB(k="all"),
        ),
    ],
    expected_failed_checks=lambda _: EXPECTED,
)
@pytest.mark.filterwarnings("ignore::naively.SeparationWarning")
@pytest.mark.filterwarnings("ignore:No features were selected:UserWarning")
def test_scikit_learn_checks(estimator, check):
    check(estimator)


def corpus(n=300, n_words=30, n_classes=2, seed=0):
    """Subjects of few telling words, bodies of many words less telling, side by side."""
    rng = np.random.default_rng(seed)
    y = rng.integers(0, n_classes, n)
    telling = rng.gamma(0.5, size=(n_classes, n_words)) * (rng.random(n_words) < 0.3)
    subject = rng.poisson(telling[y] * 0.3 + 0.02)
    burst = rng.gamma(0.3, size=(n, n_words))
    body = rng.poisson((telling[y] * 0.3 + 1.0) * burst)
    return np.hstack([subject, body]), y


@pytest.fixture(scope="module")
def documents():
    return corpus()


@pytest.mark.parametrize("normalize", [True, False])
@pytest.mark.parametrize("weighted", [False, True])
def test_the_model_of_the_paper(documents, normalize, weighted):
    """Equations 3, 8, 9 and 11, from plain loops and scikit-learn."""
    X, y = documents[0][:60], documents[1][:60]
    weights = np.random.default_rng(1).uniform(0.2, 2, 60) if weighted else np.ones(60)
    model = HybridNB(2, normalize=normalize, penalty=0).fit(sp.csr_matrix(X), y, weights)
    shape = {
        "n_classes": 2,
        "regions": np.arange(60).reshape(2, 30).tolist(),
        "alpha": np.ones(30).tolist(),
        "shared": True,
        "normalize": normalize,
    }
    b = reference.leave_one_out(X.tolist(), y.tolist(), weights.tolist(), **shape)
    logistic = LogisticRegression(C=np.inf, solver="newton-cholesky", tol=1e-12, max_iter=1000)
    logistic.fit(b[:, :, 1] - b[:, :, 0], y, weights)
    np.testing.assert_allclose(model.theta_, logistic.coef_[0], rtol=1e-7)
    np.testing.assert_allclose(model.intercept_, logistic.intercept_, rtol=1e-7, atol=1e-9)
    assert model.conditional_.gradient < 1e-8
    new = X[[3]].tolist()[0]
    evidence = reference.features(X.tolist(), y.tolist(), weights.tolist(), new, **shape)
    np.testing.assert_allclose(model.region_scores([new])[0], evidence, rtol=1e-12)
    log_odds = model.intercept_[0] + model.theta_ @ (evidence[:, 1] - evidence[:, 0])
    assert model.decision_function([new])[0] == pytest.approx(log_odds, rel=1e-9)
    assert model.predict_proba([new])[0, 1] == pytest.approx(1 / (1 + np.exp(-log_odds)))


@pytest.mark.parametrize("leave_one_out", [True, False])
def test_variants_of_the_paper(documents, leave_one_out):
    """Equations 7, 8 (a is the log prior ratio) and 10 (rows among the counts), in plain loops."""
    X, y = documents[0][:60], documents[1][:60]
    shape = {
        "n_classes": 2,
        "regions": np.arange(60).reshape(2, 30).tolist(),
        "alpha": np.ones(30).tolist(),
        "shared": True,
        "normalize": True,
    }
    rows, ones = (X.tolist(), y.tolist()), np.ones(60).tolist()
    if leave_one_out:
        b = reference.leave_one_out(*rows, ones, **shape)
    else:
        b = np.array([reference.features(*rows, ones, row, **shape) for row in rows[0]])
    free = HybridNB(2, penalty=0, leave_one_out=leave_one_out).fit(X, y)
    logistic = LogisticRegression(C=np.inf, solver="newton-cholesky", tol=1e-12, max_iter=1000)
    logistic.fit(b[:, :, 1] - b[:, :, 0], y)
    np.testing.assert_allclose(free.theta_, logistic.coef_[0], rtol=1e-6)
    fixed = HybridNB(2, penalty=0, leave_one_out=leave_one_out, fit_intercept=False).fit(X, y)
    prior = np.log(np.bincount(y) / 60)
    assert fixed.intercept_[0] == pytest.approx(prior[1] - prior[0], rel=1e-12)
    best = reference.conditional_log_likelihood(fixed.theta_, prior, b, y, ones)
    for step in ([1e-2, 0], [-1e-2, 0], [0, 1e-2], [0, -1e-2]):
        theta = fixed.theta_ + step
        assert reference.conditional_log_likelihood(theta, prior, b, y, ones) < best


@pytest.mark.filterwarnings("ignore::naively.SeparationWarning")
def test_few_rows_do_not_make_a_chosen_penalty_too_sure():
    """Ten documents of words that tell nothing, many times: about as good as the class shares."""
    rng = np.random.default_rng(0)
    losses = {"auto": [], 0: []}
    y = np.tile([0, 1], 105)
    for _ in range(20):
        X = rng.poisson(0.5, (210, 60))
        for penalty, found in losses.items():
            model = HybridNB(2, penalty=penalty).fit(X[:10], y[:10])
            found.append(log_loss(y[10:], model.predict_proba(X[10:])))
    assert np.mean(losses["auto"]) < 1.15 * np.log(2) < np.mean(losses[0])


def test_weights_and_smoothing_multiplied_alike_change_nothing(documents):
    X, y = documents
    one = HybridNB(2, alpha=0.5).fit(X, y, np.ones(len(y)))
    many = HybridNB(2, alpha=20.0).fit(X, y, np.full(len(y), 40.0))
    np.testing.assert_allclose(many.theta_, one.theta_, rtol=1e-6)
    np.testing.assert_allclose(many.predict_proba(X), one.predict_proba(X), rtol=1e-6)


def test_a_chosen_penalty_can_be_given_again(documents):
    X, y = documents
    chosen = HybridNB(2).fit(X, y)
    again = HybridNB(2, penalty=chosen.penalty_).fit(X, y)
    np.testing.assert_allclose(again.theta_, chosen.theta_, rtol=1e-6)


@given(
    seed=st.integers(0, 2**32 - 1),
    n_regions=st.integers(1, 4),
    eta=st.floats(0, 20),
    change=st.floats(0, 5),
)
def test_lemma_3_of_the_paper(seed, n_regions, eta, change):
    """Log probabilities that change by D change log P(y | x) by at most 2 eta R D; one, eta R D.

    The paper has eta D for one, which is the derivative in one region: regions share the word.
    """
    rng = np.random.default_rng(seed)
    words = 5
    theta = eta * rng.uniform(-1, 1, n_regions)
    before = np.log(rng.dirichlet(np.ones(words), 2))
    moved = change * rng.choice([-1.0, 0.3, 1.0], before.shape)
    one = np.zeros(before.shape)
    one[rng.integers(2), rng.integers(words)] = change
    x = sp.csr_matrix(rng.poisson(1.0, (1, words * n_regions)))

    def log_posterior(weights):
        starts = words * np.arange(n_regions + 1)
        rule = HybridRule(
            intercept=np.zeros(2), theta=theta, weights=weights, starts=starts,
            offsets=starts[:-1], normalize=True,
        )  # fmt: skip
        return log_softmax(rule.scores(x), axis=1)[0]

    rounding = 1e-9 * (1 + eta * n_regions * (change - before.min()))
    bounds = [(moved, 2 * eta * n_regions * change), (one, eta * n_regions * change)]
    for step, bound in bounds:
        difference = np.abs(log_posterior(before + step) - log_posterior(before))
        assert difference.max() <= bound + rounding


def test_one_word_in_all_regions_moves_more_than_lemma_3_has_it():
    """Two regions of one word, which class 0 makes unlikely: almost 2 eta D."""
    eta = change = 1.0
    before = np.log([[0.001, 0.999], [0.999, 0.001]])
    after = before - np.array([[change, 0], [0, 0]])
    log_p = [log_softmax(2 * eta * each[:, 0])[0] for each in (before, after)]
    assert eta * change < log_p[0] - log_p[1] <= 2 * eta * change


@pytest.mark.parametrize("n_classes", [2, 4])
def test_word_probabilities_are_those_of_naive_bayes(n_classes):
    X, y = corpus(n_classes=n_classes)
    alpha = np.linspace(0.1, 2, 30)
    model = HybridNB(2, alpha=alpha).fit(X, y)
    bayes = MultinomialNB(alpha=alpha).fit(X[:, :30] + X[:, 30:], y)
    np.testing.assert_allclose(model.word_log_prob_, bayes.feature_log_prob_, rtol=1e-12)
    apart = HybridNB(2, shared_vocabulary=False, alpha=np.tile(alpha, 2)).fit(X, y)
    for block in (slice(0, 30), slice(30, 60)):
        bayes = MultinomialNB(alpha=alpha).fit(X[:, block], y)
        expected = bayes.feature_log_prob_
        np.testing.assert_allclose(apart.word_log_prob_[:, block], expected, rtol=1e-12)


def test_one_unnormalised_region_is_naive_bayes_with_other_confidence(documents):
    """theta is positive and equal for all rows, so decisions differ through the prior only."""
    X, y = documents
    model = HybridNB(normalize=False).fit(X, y)
    bayes = MultinomialNB(fit_prior=False).fit(X, y)
    joint = bayes.predict_joint_log_proba(X)
    evidence = joint[:, 1] - joint[:, 0]
    linear = model.intercept_[0] + model.theta_[0] * evidence
    np.testing.assert_allclose(model.decision_function(X), linear, rtol=1e-9)
    assert 0 < model.theta_[0] < 1


def test_copies_of_words_make_naive_bayes_too_sure_but_not_the_hybrid():
    """Documents repeated 1 to 20 times: no new evidence, and the mean over the words knows it."""
    rng = np.random.default_rng(0)
    y = rng.integers(0, 2, 1000)
    once = rng.poisson(rng.gamma(2, size=(2, 30))[y] * 0.3)
    X = once * rng.integers(1, 21, 1000)[:, None]
    train, test = slice(0, 500), slice(500, None)
    hybrid = HybridNB().fit(X[train], y[train])
    bayes = MultinomialNB().fit(X[train], y[train])
    losses = [log_loss(y[test], m.predict_proba(X[test])) for m in (hybrid, bayes)]
    assert losses[0] < 0.5 * losses[1]
    np.testing.assert_allclose(hybrid.predict_proba(X), hybrid.predict_proba(once), rtol=1e-9)


def test_regions_described_in_any_way(documents):
    X, y = documents
    whole = HybridNB(2).fit(X, y)
    mixed = np.arange(60).reshape(2, 30).T.ravel()  # subject and body columns in turn
    others = [
        (HybridNB([slice(0, 30), slice(30, 60)]), X),
        (HybridNB(np.repeat(["a body", "subject"], 30)), X),
        (HybridNB([slice(0, 60, 2), slice(1, 60, 2)]), X[:, mixed]),
        (HybridNB(np.arange(60) % 2), X[:, mixed]),
    ]
    for model, A in others:
        model.fit(sp.csc_matrix(A), y)
        np.testing.assert_allclose(model.theta_, whole.theta_, rtol=1e-9)
        np.testing.assert_allclose(model.predict_proba(A), whole.predict_proba(X), rtol=1e-9)
    widths = HybridNB([slice(0, 10), slice(10, 60)], shared_vocabulary=False).fit(X, y)
    turned = HybridNB(np.repeat([1, 0], [10, 50]), shared_vocabulary=False).fit(X, y)
    np.testing.assert_allclose(widths.theta_, turned.theta_[::-1], rtol=1e-9)


@pytest.mark.parametrize(
    ("regions", "message"),
    [
        (7, "divides the columns"),
        (0, "divides the columns"),
        ([slice(0, 30), slice(29, 60)], "column 29 is in 2"),
        ([slice(0, 30)], "column 30 is in 0"),
        ([slice(0, 30), 4], "slices only"),
        ([slice(0, 10), slice(10, 60)], "as many columns"),
        ([0, 1], "region of each of the 60 columns"),
        ([[0, 1], [2, 3, 4]], r"slices such as .* each of the 60 columns; got \[\[0, 1\], \[2"),
        ([[0, 1], [2, 3]], r"each of the 60 columns; got \[\[0, 1\], \[2, 3\]\]\.$"),
        ("subject", "region of each of the 60 columns"),
        ([slice(0, 30), slice(30, 60), slice(60, 60)], "slice 2 has none"),
        ([slice(0, 30), slice("30", 60)], "column numbers"),
        ([None] * 60, "labels with an order"),
    ],
)
def test_regions_that_cannot_be(documents, regions, message):
    with pytest.raises(ValueError, match=message):
        HybridNB(regions).fit(*documents)


@pytest.mark.parametrize(
    ("parameters", "message"),
    [
        ({"alpha": 0}, "must be > 0"),
        ({"alpha": -1}, "finite and >= 0"),
        ({"alpha": [1.0, 2.0]}, "one value for each of the 30"),
        ({"penalty": -1}, "penalty"),
        ({"penalty": "l2"}, "penalty"),
        ({"penalty": np.nan}, "penalty"),
        ({"penalty": [1.0, -1.0]}, "penalty"),
        ({"penalty": [1.0, 1.0, 1.0]}, "each of the 2 regions; got 3"),
    ],
)
def test_parameters_that_cannot_be(documents, parameters, message):
    with pytest.raises(ValueError, match=message):
        HybridNB(2, **parameters).fit(*documents)


@pytest.mark.parametrize("normalize", [True, False])
@pytest.mark.parametrize("shared", [True, False])
def test_sparse_hybrid_is_the_hybrid_of_the_selected_words(documents, shared, normalize):
    X, y = documents
    options = {"shared_vocabulary": shared, "normalize": normalize}
    model = HybridNB(2, estimator=SparseMultinomialNB(k=8), **options).fit(sp.csr_matrix(X), y)
    support = model.get_support()
    seen = X[:, :30] + X[:, 30:] if shared else X
    selected = SparseMultinomialNB(k=8).fit(seen, y).support_
    assert (support == (np.tile(selected, 2) if shared else selected)).all()
    regions = [slice(0, support[:30].sum()), slice(support[:30].sum(), support.sum())]
    small = HybridNB(regions, **options).fit(X[:, support], y)
    np.testing.assert_allclose(model.theta_, small.theta_, rtol=1e-9)
    np.testing.assert_allclose(
        model.predict_proba(X), small.predict_proba(X[:, support]), rtol=1e-9
    )
    assert model.transform(X).shape == (300, support.sum())
    assert model.word_log_prob_.shape == (2, support.sum() // (2 if shared else 1))


@pytest.mark.parametrize("shared", [True, False])
def test_a_region_without_selected_words_tells_nothing(shared):
    y = np.repeat([0, 1], 20)
    X = np.column_stack([y * 3 + 1, 4 - y * 3, np.ones((40, 2))]).astype(int)
    for k in (0, 2):
        selector = SparseMultinomialNB(k=k)
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", SeparationWarning)
            model = HybridNB(2, shared_vocabulary=shared, estimator=selector).fit(X, y)
        assert np.isfinite(model.predict_proba(X)).all()
        assert model.theta_[1] == 0 or shared


@pytest.mark.parametrize("dtype", [np.uint8, np.bool_, np.float16, np.longdouble])
def test_narrow_and_wide_numbers_are_counts_too(documents, dtype):
    X = np.minimum(documents[0], 1) * (200 if dtype is np.uint8 else 1)
    models = [
        HybridNB(2, estimator=SparseMultinomialNB(k=8)).fit(rows, documents[1])
        for rows in (X, X.astype(dtype))
    ]
    np.testing.assert_allclose(models[1].theta_, models[0].theta_, rtol=1e-9)
    assert (models[1].support_ == models[0].support_).all()
    np.testing.assert_array_equal(
        models[1].estimator_.statistics_.table, models[0].estimator_.statistics_.table
    )


def test_counts_beyond_floats(documents):
    X, y = documents
    with pytest.raises(ValueError, match="too large for sums"):
        HybridNB(2).fit(X * 1e303, y)


@pytest.mark.parametrize("selector", [LogisticRegression(), SparseMultinomialNB, "words"])
def test_what_is_no_selector(documents, selector):
    with pytest.raises(TypeError, match="must be a selector.*get_support"):
        HybridNB(2, estimator=selector).fit(*documents)


@pytest.mark.parametrize("selector", [SparseBernoulliNB(k=5), SelectKBest(chi2, k=5)])
def test_any_selector_chooses_the_words(documents, selector):
    X, y = documents
    model = HybridNB(2, estimator=selector).fit(X, y)
    assert model.get_support().sum() == 10
    assert model.estimator_.get_support().sum() == 5
    assert not hasattr(selector, "n_features_in_")
    alpha = np.linspace(0.5, 1, 30)
    mixed = np.arange(60).reshape(2, 30).T.ravel()
    turned = HybridNB(np.arange(60) % 2, estimator=selector, alpha=alpha).fit(X[:, mixed], y)
    straight = HybridNB(2, estimator=selector, alpha=alpha).fit(X, y)
    np.testing.assert_allclose(turned.theta_, straight.theta_, rtol=1e-9)
    assert (turned.support_ == straight.support_[mixed]).all()


def test_separable_documents_warn_and_stay_finite():
    X = sp.csr_matrix([[3, 0, 1], [2, 0, 2], [0, 3, 1], [0, 2, 2], [1, 0, 2], [0, 1, 3]])
    y = [0, 0, 1, 1, 0, 1]
    with pytest.warns(SeparationWarning, match=r"6 training rows .*`penalty`="):
        model = HybridNB(penalty=0).fit(X, y)
    assert model.separable_
    assert np.isfinite(model.theta_).all()
    assert (model.penalty_ > 0).all()
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        again = HybridNB(penalty=model.penalty_).fit(X, y)
    assert (again.theta_ == model.theta_).all()
    assert not again.separable_
    assert model.predict(X).tolist() == y


def test_documents_without_words(documents):
    """Only the intercept speaks for an empty document, and only the body for an empty subject."""
    X, y = documents
    model = HybridNB(2).fit(X, y)
    empty = np.zeros((1, 60))
    np.testing.assert_allclose(model.decision_function(empty), model.intercept_)
    assert (model.region_scores(empty) == 0).all()


def test_one_class_and_classes_without_weight(documents):
    X, y = documents
    one = HybridNB(2).fit(X, np.repeat("z", 300))
    assert (one.predict(X) == "z").all()
    assert (one.predict_proba(X) == 1).all()
    gone = HybridNB(2).fit(X, y, (y == 0).astype(float))
    assert np.array_equal(gone.predict_proba(X), np.tile([1.0, 0.0], (300, 1)))
    for bad in (np.zeros(300), -np.ones(300), np.full(300, np.nan), np.ones(3)):
        with pytest.raises(ValueError, match="sample_weight"):
            HybridNB(2).fit(X, y, bad)


def test_zero_weight_is_no_row(documents):
    X, y = documents
    weights = np.tile([1.0, 0.0, 2.0], 100)
    kept = weights > 0
    a = HybridNB(2).fit(X, y, weights)
    b = HybridNB(2).fit(X[kept], y[kept], weights[kept])
    np.testing.assert_allclose(a.theta_, b.theta_, rtol=1e-12)
    assert (a.predict_proba(X) == b.predict_proba(X)).all()


def test_containers_agree(documents):
    X, y = documents
    expected = HybridNB(2).fit(X, y).predict_proba(X)
    names = [f"{r}:{w}" for r in "sb" for w in range(30)]
    containers = [
        sp.csr_matrix(X),
        sp.csc_array(X),
        sp.coo_array(X),
        np.asfortranarray(X.astype(np.float32)),
        X.astype(np.uint8),
        pd.DataFrame(X, columns=names),
        pd.DataFrame.sparse.from_spmatrix(sp.csr_matrix(X), columns=names),
        pl.DataFrame(X, schema=names),
    ]
    for A in containers:
        model = HybridNB(2).fit(A, y)
        np.testing.assert_allclose(model.predict_proba(A), expected, rtol=1e-12)
        if hasattr(A, "columns"):
            assert list(model.feature_names_in_) == names
    wide = sp.csr_matrix(X)
    wide.indices, wide.indptr = wide.indices.astype(np.int64), wide.indptr.astype(np.int64)
    np.testing.assert_allclose(HybridNB(2).fit(wide, y).predict_proba(wide), expected, rtol=1e-12)


def test_duplicates_unsorted_and_read_only_entries():
    data = np.array([1.0, 2, 3, 4, 5, 1])
    indices = np.array([2, 0, 1, 2, 0, 0])
    X = sp.csr_matrix((data, indices, np.array([0, 2, 4, 6])), shape=(3, 3))
    for values in (X.data, X.indices, X.indptr):
        values.setflags(write=False)
    model = HybridNB(penalty=1.0).fit(X, [0, 1, 1])
    same = HybridNB(penalty=1.0).fit(X.toarray(), [0, 1, 1])
    np.testing.assert_allclose(model.theta_, same.theta_, rtol=1e-12)
    np.testing.assert_allclose(model.predict_proba(X), same.predict_proba(X.toarray()), rtol=1e-12)
    assert X.nnz == 6
    assert X.indices.tolist() == [2, 0, 1, 2, 0, 0]


def test_bad_rows_are_refused_everywhere(documents):
    X, y = documents
    model = HybridNB(2).fit(X, y)
    for value, message in ((-1.0, "egative"), (np.nan, "NaN"), (np.inf, "infinity|inf")):
        bad = X.astype(float)
        bad[2, 3] = value
        for A in (bad, sp.csr_matrix(bad)):
            with pytest.raises(ValueError, match=message):
                HybridNB(2).fit(A, y)
            with pytest.raises(ValueError, match=message):
                model.predict(A)
    frame = pd.DataFrame(X, columns=[f"w{j}" for j in range(60)])
    named = HybridNB(2).fit(frame, y)
    for A in (frame[frame.columns[::-1]], frame.iloc[:, :59]):
        with pytest.raises(ValueError, match="feature"):
            named.predict(A)


def test_life_in_scikit_learn(documents):
    X, y = documents
    model = HybridNB(2, estimator=SparseMultinomialNB(k=4))
    assert clone(model).get_params()["estimator__k"] == 4
    fitted = model.fit(X, y)
    copy = pickle.loads(pickle.dumps(fitted))
    assert (copy.predict_proba(X) == fitted.predict_proba(X)).all()
    grid = GridSearchCV(HybridNB(2, estimator=SparseMultinomialNB()), {"estimator__k": [4, 30]})
    scores = grid.fit(X, y).cv_results_["mean_test_score"]
    assert np.isfinite(scores).all()
    with config_context(enable_metadata_routing=True):
        asked = HybridNB(2).set_fit_request(sample_weight=True)
        routed = make_pipeline(asked.set_score_request(sample_weight=True))
        weights = np.random.default_rng(0).uniform(0.5, 2, 300)
        result = cross_validate(
            routed, X, y, params={"sample_weight": weights}, return_estimator=True, cv=3
        )
        learned = result["estimator"][0][-1].statistics_.class_weight.sum()
    assert learned < weights.sum()
    assert learned != round(learned)


def test_rows_may_be_shuffled_and_classes_renamed(documents):
    X, y = documents
    model = HybridNB(2).fit(X, y)
    order = np.random.default_rng(0).permutation(300)
    again = HybridNB(2).fit(X[order], np.array(["no", "yes"])[y[order]])
    np.testing.assert_allclose(again.theta_, model.theta_, rtol=1e-9)
    turned = HybridNB(2).fit(X, 1 - y)
    np.testing.assert_allclose(turned.theta_, model.theta_, rtol=1e-9)
    np.testing.assert_allclose(turned.intercept_, -model.intercept_, rtol=1e-9)


def test_a_matrix_too_large_to_be_dense():
    """2,000 x 1,000,000: dense 16 GB; the table of counts is 16 MB."""
    rng = np.random.default_rng(0)
    X = sp.random(2000, 1_000_000, density=2e-5, format="csr", random_state=rng)
    X.data[:] = rng.integers(1, 4, X.nnz)
    y = rng.integers(0, 2, 2000)
    HybridNB(2, penalty=1.0).fit(X[:10], y[:10])  # compiles
    tracemalloc.start()
    HybridNB(2, penalty=1.0).fit(X, y).predict(X)
    peak = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    assert peak < 6 * 1_000_000 * 2 * 8


@pytest.mark.parametrize("shared", [True, False])
def test_smoothing_by_word_goes_with_the_words_selected(shared):
    """A model on the selected words is the model that selects them, alpha word by word."""
    X, y = corpus()
    alpha = np.linspace(0.05, 3, 30 if shared else 60)
    selector = SparseMultinomialNB(k=6 if shared else 12)
    model = HybridNB(2, shared_vocabulary=shared, alpha=alpha, estimator=selector).fit(X, y)
    words = model.estimator_.get_support(indices=True)
    columns = np.concatenate([words, words + 30]) if shared else words
    regions = np.repeat([0, 1], 6) if shared else (words >= 30).astype(int)
    alone = HybridNB(regions, shared_vocabulary=shared, alpha=alpha[words])
    alone.fit(X[:, columns], y)
    assert len(np.unique(alpha[words])) == len(words)
    np.testing.assert_allclose(model.theta_, alone.theta_, rtol=1e-8)
    expected = alone.predict_proba(X[:, columns])
    np.testing.assert_allclose(model.predict_proba(X), expected, rtol=1e-8)
