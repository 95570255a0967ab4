"""p-values against the tests of SciPy, against permutations, and under chance."""

import itertools
import json
from functools import partial

import numpy as np
import pytest
from click.testing import CliRunner
from hypothesis import given, settings, strategies as st
from scipy import sparse, stats
from sklearn.base import clone
from sklearn.feature_selection import SelectFdr, SelectKBest, chi2

from naively import (
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
    gain,
)
from naively.cli.commands import naively
from naively.models.alike import alike_in_rows
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


# -- features by their false discovery rate -------------------------------------------------------

NAIVE_BAYES = [*LIKELIHOODS, SparseMultinomialNB(), SparseBernoulliNB(), SparsePoissonNB()]


def stepped_up(p, q):
    """Benjamini and Hochberg (1995), section 3.1, in plain loops: which hypotheses are rejected."""
    order, n = sorted(range(len(p)), key=lambda i: p[i]), 0
    for rank in range(1, len(p) + 1):
        if p[order[rank - 1]] <= rank / len(p) * q:
            n = rank
    return sorted(order[:n])


def signal(n=400, m=60, seed=5):
    rng = np.random.default_rng(seed)
    y = rng.integers(0, 3, n)
    rate = np.ones((3, m))
    rate[rng.integers(0, 3, 15), np.arange(15)] += 0.5
    return np.minimum(rng.poisson(rate[y]), 4), y


def by_rows(model):
    """Whether a model leaves the choice to a test of rows."""
    counts = SparseMultinomialNB | SparsePoissonNB | SparseNegativeBinomialNB
    return isinstance(model, counts | SparseBernoulliNB | SparseGaussianNB)


@pytest.mark.parametrize("q", [None, 0.01, 0.4])
@pytest.mark.parametrize("model", NAIVE_BAYES, ids=str)
def test_features_are_those_of_benjamini_and_hochberg(model, q):
    X, y = signal()
    fitted = clone(model).set_params(k="fdr", q=q).fit(X, y)
    p, rate = fitted.pvalues_, 0.1 if q is None else q
    if by_rows(model):
        entries = X > 0 if isinstance(model, SparseBernoulliNB) else X
        p = stats.f_oneway(*(entries[y == c] for c in range(3))).pvalue
    chosen = fitted.get_support(indices=True).tolist()
    assert chosen == stepped_up(p.tolist(), rate)
    assert chosen == np.flatnonzero(stats.false_discovery_control(p) <= rate).tolist()
    assert 0 < len(chosen) < 60


@pytest.mark.parametrize("model", NAIVE_BAYES[:7], ids=str)
def test_batches_and_statistics_choose_the_same(model):
    X, y = signal()
    X[0] = 4
    asked = clone(model).set_params(k="fdr", q=0.2)
    whole = asked.fit(X, y)
    batches = clone(asked).partial_fit(X[:150], y[:150], classes=[0, 1, 2])
    batches.partial_fit(X[150:], y[150:])
    parameters = clone(model).get_params() | {"k": "fdr", "q": 0.2}
    known = type(model).from_statistics(whole.statistics_, **parameters)
    for other in (batches, known):
        np.testing.assert_array_equal(other.support_, whole.support_)


def test_the_certificate_is_of_any_as_many():
    """Their objective by the model of these features alone, the bound of as many by the best."""
    X, y = signal()
    for model in (SparseMultinomialNB(), SparseCategoricalNB(), SparsePoissonNB()):
        found = clone(model).set_params(k="fdr", q=0.2).fit(X, y)
        chosen = found.get_support(indices=True)
        best = clone(model).set_params(k=len(chosen)).fit(X, y).certificate_
        held = clone(model).set_params(k=len(chosen), required=chosen).fit(X, y).certificate_
        assert found.certificate_.bound == best.bound
        assert found.certificate_.objective == pytest.approx(held.objective)
        assert found.certificate_.k == len(chosen)
        assert found.certificate_.proven_optimal == (found.certificate_.relative_gap < 1e-6)
        np.testing.assert_array_equal(
            clone(model).set_params(k=len(chosen), required=chosen).fit(X, y).predict(X),
            found.predict(X),
        )


def test_false_discoveries_of_the_model():
    rng, share = np.random.default_rng(7), []
    for _ in range(30):
        y = rng.integers(0, 2, 400)
        X = rng.poisson(1.0, (400, 300))
        X[:, :30] = rng.poisson(1.0 + 0.3 * y[:, None], (400, 30))
        found = SparsePoissonNB(k="fdr", q=0.2).fit(X, y).support_
        share.append(found[30:].sum() / max(found.sum(), 1))
    assert 0.1 < np.mean(share) < 0.25


@given(st.integers(0, 2**32 - 1), st.sampled_from([2, 3]))
@settings(max_examples=20, deadline=None)
def test_the_test_of_rows_is_right_on_average_over_all_permutations(seed, n_classes):
    """The mean of between / total over every permutation of six rows is that of the law F."""
    rng = np.random.default_rng(seed)
    x, y = rng.poisson(1.0, 6) * rng.integers(1, 9, 6), np.arange(6) % n_classes
    x[0] += 1 + x.max()  # not constant
    total, share = ((x - x.mean()) ** 2).sum(), []
    weight = np.bincount(y).astype(float)
    for order in itertools.permutations(y):
        sums = np.bincount(order, x, n_classes)
        between = (weight * (sums / weight - x.mean()) ** 2).sum() / total
        share.append(between)
        p = alike_in_rows(sums[None], weight, np.array([(x**2).sum()], dtype=float))
        law = stats.beta((n_classes - 1) / 2, (6 - n_classes) / 2)
        assert p[0] == pytest.approx(law.sf(between), abs=1e-9)
    assert np.mean(share) == pytest.approx(law.mean())


@pytest.mark.parametrize("model", [SparseMultinomialNB(), SparsePoissonNB()], ids=str)
def test_false_discoveries_are_few_where_counts_come_in_bursts(model):
    """Of counts that vary more than a Poisson law allows, in rows of unequal length."""
    rng, share, plain = np.random.default_rng(3), [], []
    for _ in range(20):
        y = rng.integers(0, 2, 400)
        mean = np.ones((400, 201))
        mean[:, :20] += 0.8 * y[:, None]
        mean[:, -1] = 200 * (1 + y)  # in which rows of one class are longer
        X = rng.poisson(rng.gamma(0.5, mean / 0.5))
        found = clone(model).set_params(k="fdr").fit(X, y)
        chosen = np.delete(found.support_, -1)
        share.append(chosen[20:].sum() / max(chosen.sum(), 1))
        plain.append((stats.false_discovery_control(found.pvalues_)[20:-1] <= 0.1).mean())
    assert np.mean(share) < 0.13
    assert np.mean(plain) > 0.2  # which is why


@pytest.mark.filterwarnings("ignore:No feature is significant")
@pytest.mark.parametrize(
    "model", [SparseNegativeBinomialNB(), SparseGaussianNB(variance="shared")], ids=str
)
def test_few_rows_alike_in_all_classes_seldom_differ(model):
    """Some feature is found in a share q of data sets that have none, not in three times as many.

    So many are found by twice the gain, as if it were chi-squared already.
    """
    rng, found, plain = np.random.default_rng(11), [], []
    counts = isinstance(model, SparseNegativeBinomialNB)
    mean = rng.gamma(1.0, 2.0, 60)
    for _ in range(300):
        rows = rng.poisson(rng.gamma(0.7, mean / 0.7, (36, 60)))
        X = rows if counts else rng.normal(size=(36, 60))
        fitted = clone(model).set_params(k="fdr", q=0.1).fit(X, np.arange(36) % 3)
        found.append(fitted.support_.any())
        plain.append((stats.false_discovery_control(fitted.pvalues_) <= 0.1).any())
    assert np.mean(found) < 0.13  # 1.7 standard errors
    assert np.mean(plain) > 0.13  # which is why


def test_statistics_without_squares_are_refused():
    X, y = signal()
    counts = SparsePoissonNB().fit(X, y).statistics_
    with pytest.raises(ValueError, match="gather them with `documents`=True"):
        SparsePoissonNB.from_statistics(counts, k="fdr")
    mixed = SparseMixedNB(columns=["poisson"] * 60, k="fdr")
    with pytest.raises(ValueError, match="has no test of columns of counts beside others"):
        mixed.fit(X, y)


def test_columns_of_several_kinds_are_tested_each_by_its_own():
    rng = np.random.default_rng(0)
    y = rng.integers(0, 3, 300)
    X = np.where(rng.random((300, 8)) < 0.5, 0.0, rng.exponential(size=(300, 8))) + 0.3 * y[:, None]
    X[:, 4:] = rng.integers(0, 3, (300, 4))
    kinds = ["gaussian"] * 4 + ["categorical"] * 4
    found = SparseMixedNB(columns=kinds, k="fdr", q=0.5, alpha=0).fit(X, y)
    numbers = stats.f_oneway(*(X[y == c, :4] for c in range(3))).pvalue
    p = np.append(numbers, found.pvalues_[4:])
    expected = np.flatnonzero(stats.false_discovery_control(p) <= 0.5)
    assert found.get_support(indices=True).tolist() == expected.tolist()


def test_nothing_is_significant():
    X, y = np.random.default_rng(0).poisson(1, (60, 20)), np.arange(60) % 2
    with pytest.warns(UserWarning, match="No feature is significant at a false discovery rate of"):
        model = SparsePoissonNB(k="fdr", q=1e-6).fit(X, y)
    assert not model.support_.any()
    np.testing.assert_allclose(model.predict_proba(X), 0.5)


@pytest.mark.parametrize(
    ("model", "message"),
    [
        (SparsePoissonNB(k=3, q=0.1), "`q` has no effect without `k`='fdr'"),
        (SparsePoissonNB(k="auto", q=0.1), "`q` has no effect without `k`='fdr'"),
        (SparsePoissonNB(k="fdr", q=0), r"`q` must be a false discovery rate in \(0, 1\)"),
        (SparsePoissonNB(k="fdr", q=1.0), r"`q` must be a false discovery rate in \(0, 1\)"),
        (SparsePoissonNB(k="fdr", class_weight="balanced"), "not with `class_weight`"),
        (SparsePoissonNB(k="fdr", quota=1), "not with constraints"),
        (SparsePoissonNB(k="fdr", exposure="total"), "not with `exposure` and the poisson model"),
        (SparsePoissonNB(k="fdr", objective="pairs"), "not with `objective`='pairs'"),
        (SparsePoissonNB(k="fdr", redundancy="conditional"), "not with `redundancy`"),
        (SparsePoissonNB(k="fdr", calibration="cross-fitted"), "`calibration` is fitted on folds"),
        (SparsePoissonNB(k="fdr", stable=0.9), "not of `k`='fdr'"),
        (SparseL2Centers(k="fdr"), "l2-centers model, whose gain is no likelihood ratio"),
        (SparseL1Centers(k="fdr"), "l1-centers model, whose gain is no likelihood ratio"),
    ],
    ids=str,
)
def test_where_p_values_do_not_choose(model, message):
    X, y = signal()
    with pytest.raises(ValueError, match=message):
        model.fit(X, y)


def run(*arguments):
    result = CliRunner().invoke(naively, list(map(str, arguments)))
    return result.exit_code, " ".join(result.output.split())


def write(path, model):
    """Write a table of numbers, and fit a model to the same rows."""
    X, y = signal()
    lines = [",".join(["label", *(f"f{i}" for i in range(60))])]
    lines += [",".join(map(str, [f"c{c}", *row])) for row, c in zip(X.tolist(), y, strict=True)]
    path.write_text("\n".join(lines) + "\n")
    return model.fit(X, y)


@pytest.mark.parametrize(
    ("name", "model"),
    [
        ("multinomial", SparseMultinomialNB(k="fdr", q=0.2)),
        ("poisson", SparsePoissonNB(k="fdr", q=0.2)),
        ("bernoulli", SparseBernoulliNB(k="fdr", q=0.2)),
        ("negative-binomial", SparseNegativeBinomialNB(k="fdr", q=0.2)),
        ("gaussian", SparseGaussianNB(k="fdr", q=0.2)),
        ("categorical", SparseCategoricalNB(k="fdr", q=0.2)),
    ],
)
def test_the_command_chooses_what_python_does(tmp_path, name, model):
    fitted = write(tmp_path / "a.csv", model)
    # Sums of squares over the rows tested on and all others are rounded in another order.
    share = 0.0 if fitted.model_.name in ("negative-binomial", "gaussian") else 0.3
    asked = (
        "--read",
        "numbers",
        "--model",
        name,
        "-k",
        "fdr",
        "--choose",
        "q=0.2",
        "-q",
        "--test",
        share,
    )
    status, said = run("select", tmp_path / "a.csv", *asked, "--out", tmp_path / "r")
    assert status == 0, said
    summary = json.loads((tmp_path / "r" / "summary.json").read_text())
    found = sorted(row["column"] for row in summary["features"])
    assert found == fitted.get_support(indices=True).tolist()
    assert f"{len(found)} features are significant at a false discovery rate of 0.2" in said
    assert ("by an analysis of variance" in said) == by_rows(model)
    assert "so many are significant" in (tmp_path / "r" / "report.html").read_text()
    assert (
        run(
            "count",
            tmp_path / "a.csv",
            "--read",
            "numbers",
            "--model",
            name,
            "-o",
            tmp_path / "s",
            "-q",
        )[0]
        == 0
    )
    (record,) = (tmp_path / "s").glob("*.npz")
    solved = ("--model", name, "-k", "fdr", "--choose", "q=0.2", "-q", "-o", tmp_path / "r2")
    assert run("select", record, *solved)[0] == 0
    same = [(tmp_path / each / "model.npz").read_bytes() for each in ("r", "r2")]
    assert same[0] == same[1]


@pytest.mark.parametrize(
    ("options", "message"),
    [
        (("-k", 5, "--choose", "q=0.1"), "`--choose q` has no effect without -k fdr"),
        (("-k", "fdr", "--model", "l2-centers"), "not with --model l2-centers, which has none"),
        (("-k", "fdr", "--choose", "class-weight=balanced"), "not with --choose class-weight"),
        (("-k", "fdr", "--words", "weights=log"), "not with weights that are no counts"),
        (("-k", "fdr", "--choose", "quota=1"), "not with constraints"),
        (
            ("-k", "fdr", "--model", "poisson", "--read", "exposure=total"),
            "not with --read exposure and",
        ),
        (("-k", "fdr", "--train", "calibration=cross-fitted"), "not with --train calibration"),
        (("-k", "fdr", "--judge", "stability"), "not with -k fdr"),
    ],
)
def test_the_command_says_where_p_values_do_not_choose(tmp_path, options, message):
    write(tmp_path / "a.csv", SparsePoissonNB(k=1))
    asked = ("--read", "numbers", "--out", tmp_path / "r", *options)
    status, said = run("select", tmp_path / "a.csv", *asked)
    assert status == 2
    assert message in said


def test_a_command_of_which_nothing_is_significant(tmp_path):
    write(tmp_path / "a.csv", SparsePoissonNB(k=1))
    asked = (
        "--read",
        "numbers",
        "-k",
        "fdr",
        "--choose",
        "q=1e-300",
        "-q",
        "--out",
        tmp_path / "r",
    )
    status, said = run("select", tmp_path / "a.csv", *asked)
    assert status == 0, said
    assert "No feature is significant" in said
