"""p-values against the tests of SciPy, against permutations, and under chance."""

from functools import partial

import numpy as np
import pytest
from scipy import sparse, stats
from sklearn.feature_selection import SelectFdr, SelectKBest, chi2

from naively import (
    HybridNB,
    SparseBernoulliNB,
    SparseCategoricalNB,
    SparseGaussianNB,
    SparseL1Centers,
    SparseL2Centers,
    SparseMultinomialNB,
    SparseNegativeBinomialNB,
    SparsePoissonNB,
    gain,
)
from naively.selection.chance import significant

LIKELIHOODS = [
    SparseMultinomialNB(alpha=0),
    SparseBernoulliNB(alpha=0),
    SparsePoissonNB(alpha=0),
    SparseNegativeBinomialNB(alpha=0),
    SparseCategoricalNB(alpha=0),
    SparseGaussianNB(var_smoothing=0),
    SparseGaussianNB(variance="shared", var_smoothing=0),
]


def rows(n=300, m=20, n_classes=3, seed=0):
    rng = np.random.default_rng(seed)
    y = rng.integers(0, n_classes, n)
    return rng.poisson(1 + 0.3 * rng.random((n_classes, m))[y]), y


def ratio_test(table):
    return stats.chi2_contingency(table, correction=False, lambda_="log-likelihood").pvalue


def test_presence_is_the_g_test():
    X, y = rows()
    expected = [ratio_test([np.bincount(y[x == v], minlength=3) for v in (0, 1)]) for x in X.T > 0]
    found = SparseBernoulliNB(alpha=0).fit(X, y).pvalues_
    np.testing.assert_allclose(found, expected, rtol=1e-9)


def test_categories_are_the_g_test():
    X, y = rows()
    tables = [[np.bincount(y[x == v], minlength=3) for v in np.unique(x)] for x in X.T]
    found = SparseCategoricalNB(alpha=0, min_categories=20).fit(X, y).pvalues_
    np.testing.assert_allclose(found, list(map(ratio_test, tables)), rtol=1e-9)


def test_poisson_counts_against_the_rows():
    X, y = rows()
    share = np.bincount(y) / len(y)
    expected = [
        stats.power_divergence(np.bincount(y, x), x.sum() * share, lambda_=0).pvalue for x in X.T
    ]
    found = SparsePoissonNB(alpha=0).fit(X, y).pvalues_
    np.testing.assert_allclose(found, expected, rtol=1e-9)


def test_multinomial_counts_against_all_counts():
    X, y = rows()
    totals = np.bincount(y, X.sum(axis=1))
    expected = [
        stats.power_divergence(np.bincount(y, x), x.sum() * totals / totals.sum(), lambda_=0).pvalue
        for x in X.T
    ]
    found = SparseMultinomialNB(alpha=0).fit(X, y).pvalues_
    np.testing.assert_allclose(found, expected, rtol=1e-9)


@pytest.mark.parametrize("variance", ["class", "shared"])
def test_gaussian_likelihood_ratio(variance):
    rng = np.random.default_rng(0)
    y = rng.integers(0, 3, 90)
    X = rng.normal(size=(90, 8)) + 0.3 * y[:, None]
    expected = []
    for x in X.T:
        pooled = stats.norm.logpdf(x, x.mean(), x.std()).sum()
        parts = [x[y == c] for c in range(3)]
        within = np.sqrt(sum(((p - p.mean()) ** 2).sum() for p in parts) / 90)
        spread = [p.std() if variance == "class" else within for p in parts]
        free = sum(
            stats.norm.logpdf(p, p.mean(), s).sum() for p, s in zip(parts, spread, strict=True)
        )
        expected.append(stats.chi2.sf(2 * (free - pooled), 4 if variance == "class" else 2))
    found = SparseGaussianNB(2, variance=variance, var_smoothing=0).fit(X, y).pvalues_
    np.testing.assert_allclose(found, expected, rtol=1e-8)


@pytest.mark.parametrize("model", LIKELIHOODS, ids=str)
def test_chance_alone_is_uniform(model):
    """Shares of features of noise with p-values under 1 %, 10 %, 50 % are such shares."""
    rng = np.random.default_rng(1)
    y = rng.integers(0, 3, 1000)
    if isinstance(model, SparseGaussianNB):
        X = rng.normal(size=(1000, 4000))
    elif isinstance(model, SparseNegativeBinomialNB):
        X = rng.negative_binomial(4, 0.5, (1000, 4000))
    else:
        X = rng.poisson(0.7, (1000, 4000))
    X = np.minimum(X, 2) if isinstance(model, SparseCategoricalNB) else X
    p = model.fit(X, y).pvalues_
    for level in (0.01, 0.1, 0.5):
        error = 4 * np.sqrt(level * (1 - level) / 4000)  # and what asymptotics leave
        assert abs(np.mean(p <= level) - level) < error + 0.1 * level


def test_permutations_agree():
    """The p-value is the share of permutations of the labels with a gain as large."""
    X, y = rows(200, 6, 2, seed=3)
    X[:, :3] = np.random.default_rng(0).poisson(1 + 0.4 * y[:, None], (200, 3))
    model = SparsePoissonNB(alpha=0, k=0)
    p, reached = model.fit(X, y).pvalues_, model.scores_
    rng, times = np.random.default_rng(0), np.zeros(6)
    for _ in range(4000):
        scores = model.fit(X, rng.permutation(y)).scores_
        times += 0.5 * (scores >= reached - 1e-9) + 0.5 * (scores > reached + 1e-9)  # mid-p
    np.testing.assert_allclose(times / 4000, p, atol=0.03)


def test_benjamini_hochberg():
    rng = np.random.default_rng(0)
    for _ in range(50):
        p = np.concatenate([rng.random(40), rng.random(10) / 100])
        for q in (0.01, 0.1, 0.5):
            expected = int((stats.false_discovery_control(p) <= q).sum())
            assert significant(p, q) == expected
    assert significant(np.empty(0), 0.1) == 0


def test_false_discoveries_are_as_few_as_asked_for():
    rng, share = np.random.default_rng(2), []
    for _ in range(40):
        y = rng.integers(0, 2, 400)
        X = rng.random((400, 500)) < 0.3
        X[:, :50] = rng.random((400, 50)) < 0.25 + 0.2 * y[:, None]
        found = SelectFdr(gain, alpha=0.1).fit(X, y).get_support()
        share.append(found[50:].sum() / max(found.sum(), 1))
    assert 0.03 < np.mean(share) < 0.13


def test_a_score_function():
    X, y = rows()
    scores, p = gain(sparse.csr_matrix(X), y, model=SparsePoissonNB())
    fitted = SparsePoissonNB(k=5).fit(X, y)
    np.testing.assert_array_equal(scores, fitted.scores_)
    np.testing.assert_array_equal(p, fitted.pvalues_)
    score = partial(gain, model=SparsePoissonNB())
    support = SelectKBest(score, k=5).fit(X, y).get_support()
    np.testing.assert_array_equal(support, fitted.support_)
    assert SelectKBest(gain).fit(X, y).pvalues_.shape == chi2(X, y)[1].shape


@pytest.mark.parametrize("model", [SparseL1Centers(), SparseL2Centers()], ids=str)
def test_centers_have_none(model):
    X, y = rows()
    scores, p = gain(X, y, model=model)
    assert np.isnan(p).all()
    assert (scores >= 0).all()
    assert not hasattr(model.fit(X, y), "pvalues_")


def test_bad_models():
    with pytest.raises(TypeError):
        gain([[1], [0]], [0, 1], model=HybridNB())


def test_a_class_without_rows_and_a_category_without_any():
    X, y = rows()
    X[:, 0] = 1
    model = SparseCategoricalNB(alpha=0).partial_fit(X, y, classes=[0, 1, 2, 3])
    np.testing.assert_allclose(model.pvalues_, SparseCategoricalNB(alpha=0).fit(X, y).pvalues_)
    assert model.pvalues_[0] == 1


def test_what_may_be_chosen_has_no_part_in_a_gain():
    X, y = rows()
    plain = gain(X, y, model=SparsePoissonNB())
    for asked in ({"required": [2]}, {"quota": 1}, {"refit": "logistic"}, {"objective": "pairs"}):
        for found, expected in zip(gain(X, y, model=SparsePoissonNB(**asked)), plain, strict=True):
            np.testing.assert_array_equal(found, expected)
