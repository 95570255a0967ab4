"""Markers against the formulas of the paper in loops, fits of two classes, pandas and SciPy."""

import csv
import io
import json
import math
import sys

import numpy as np
import pandas as pd
import pytest
from click.testing import CliRunner
from scipy import optimize, sparse, stats

from naively import (
    ClassCounts,
    HybridNB,
    Markers,
    SparseBernoulliNB,
    SparseCategoricalNB,
    SparseGaussianNB,
    SparseL1Centers,
    SparseL2Centers,
    SparseMultinomialNB,
    SparseNegativeBinomialNB,
    SparsePoissonNB,
    markers,
)
from naively.cli.commands import naively

COUNTS = [
    SparseMultinomialNB,
    SparseBernoulliNB,
    SparsePoissonNB,
    SparseNegativeBinomialNB,
    SparseCategoricalNB,
]
VALUES = [
    SparseGaussianNB(),
    SparseGaussianNB(variance="shared"),
    SparseL2Centers(),
    SparseL2Centers(scale="std"),
]
EVERY = [*(each() for each in COUNTS), *VALUES]


def rows(n=240, m=12, n_classes=5, seed=0):
    rng = np.random.default_rng(seed)
    y = np.array(list("abcdefgh"))[rng.integers(0, n_classes, n)]
    rate = 0.3 + 1.5 * rng.random((n_classes, m)) ** 2
    return rng.poisson(rate[np.unique(y, return_inverse=True)[1]]), y


def frame(estimator, X, y, k=None, **asked):
    found = markers(estimator.set_params(k="all").fit(X, y), k, **asked).to_frame()
    assert len(found)  # or loops over its rows would assert nothing
    return found


@pytest.mark.parametrize("model", EVERY, ids=str)
def test_gain_and_p_value_are_those_of_two_classes(model):
    X, y = rows()
    found = frame(model, X, y)
    assert len(found) > X.shape[1]
    for label, table in found.groupby("class"):
        two = model.fit(X, y == label)
        at = table["feature"].to_numpy()
        np.testing.assert_allclose(table["gain"], two.scores_[at], rtol=1e-9)
        expected = two.pvalues_[at] if hasattr(two, "pvalues_") else np.nan
        np.testing.assert_allclose(table["pvalue"], expected, rtol=1e-7)
        assert (np.diff(np.nan_to_num(table["z"])) <= 0).all()
        assert table["rank"].tolist() == list(range(1, len(table) + 1))


@pytest.mark.parametrize(
    "model", [each for each in EVERY if not isinstance(each, SparseCategoricalNB)], ids=str
)
def test_weight_is_that_of_two_classes(model):
    X, y = rows()
    for label, table in frame(model, X, y).groupby("class"):
        two, at = model.fit(X, y == label), table["feature"].to_numpy()
        rule = getattr(two.rule_, "weights", np.full((2, X.shape[1]), np.nan))
        expected = rule[1, at] - rule[0, at]
        np.testing.assert_allclose(table["weight"], expected, rtol=1e-7)


def paper(y_i, n_i, y_j, n_j, a, a0):
    """Equations 15 to 22: log-odds ratio, its variance and the z-score."""
    odds_i = math.log((y_i + a) / (n_i + a0 - y_i - a))
    odds_j = math.log((y_j + a) / (n_j + a0 - y_j - a))
    variance = 1 / (y_i + a) + 1 / (n_i + a0 - y_i - a)
    variance += 1 / (y_j + a) + 1 / (n_j + a0 - y_j - a)
    return (odds_i - odds_j) / math.sqrt(variance)


@pytest.mark.parametrize("prior", [None, 1, 7.5])
def test_z_scores_of_the_paper(prior):
    X, y = rows()
    alpha_0 = (len(X) if prior is None else prior) * X.sum() / len(X)
    for row in frame(SparseMultinomialNB(), X, y, prior=prior).itertuples():
        inside, w = y == row[1], row.feature
        background = X[:, w].sum() / X.sum()
        expected = paper(
            X[inside, w].sum(), X[inside].sum(), X[~inside, w].sum(), X[~inside].sum(),
            alpha_0 * background, alpha_0,
        )  # fmt: skip
        assert row.z == pytest.approx(expected, rel=1e-9)


@pytest.mark.parametrize("prior", [None, 3])
def test_z_scores_of_presence_and_categories(prior):
    X, y = rows()
    strength = len(X) if prior is None else prior
    held = X > 0
    for row in frame(SparseBernoulliNB(), X, y, prior=prior).itertuples():
        inside, x = y == row[1], held[:, row.feature]
        expected = paper(x[inside].sum(), inside.sum(), x[~inside].sum(), (~inside).sum(),
                         strength * x.mean(), strength)  # fmt: skip
        assert row.z == pytest.approx(expected, rel=1e-9)
    for row in frame(SparseCategoricalNB(), X, y, prior=prior).itertuples():
        inside, scores = y == row[1], []
        for category in range(X[:, row.feature].max() + 1):
            x = X[:, row.feature] == category
            if not x.any():
                scores.append(0.0)
                continue
            scores.append(paper(x[inside].sum(), inside.sum(), x[~inside].sum(), (~inside).sum(),
                                strength * x.mean(), strength))  # fmt: skip
        assert row.category == np.argmax(scores)
        assert row.z == pytest.approx(max(scores), rel=1e-9)


@pytest.mark.parametrize("dispersion", [0, 0.7])
def test_z_scores_of_rates(dispersion):
    X, y = rows()
    model = SparseNegativeBinomialNB(dispersion=dispersion) if dispersion else SparsePoissonNB()
    for row in frame(model, X, y, prior=10).itertuples():
        inside, x = y == row[1], X[:, row.feature]
        a = 10 * x.mean()
        mean = [(x[side].sum() + a) / (side.sum() + 10) for side in (inside, ~inside)]
        variance = sum(
            (1 + dispersion * mu) / (x[side].sum() + a)
            for mu, side in zip(mean, (inside, ~inside), strict=True)
        )
        expected = (math.log(mean[0]) - math.log(mean[1])) / math.sqrt(variance)
        assert row.z == pytest.approx(expected, rel=1e-9)


@pytest.mark.parametrize("model", [VALUES[0], VALUES[1], VALUES[3]], ids=str)
def test_z_scores_of_means_are_welchs(model):
    X, y = rows()
    for row in frame(model, X, y).itertuples():
        inside, x = y == row[1], X[:, row.feature]
        expected = stats.ttest_ind(x[inside], x[~inside], equal_var=False).statistic
        assert row.z == pytest.approx(expected, rel=1e-9)


def curvature(function, at):
    """Second derivatives of a function by central differences, (n, n)."""
    n, step = len(at), 1e-4
    steps, found = step * np.eye(n), np.empty((n, n))
    for i in range(n):
        for j in range(n):
            a, b = steps[i], steps[j]
            corners = function(at + a + b) - function(at + a - b)
            found[i, j] = (corners - function(at - a + b) + function(at - a - b)) / (4 * step**2)
    return found


def likelihoods(X, y, label, j, alpha=1.0):
    """Likelihood of two classes over parameters of which the last is the weight, for each model."""
    sides = [y != label, y == label]
    f = [X[side].sum(axis=0) + alpha for side in sides]
    held = [(X[side] > 0).sum(axis=0)[j] for side in sides]
    n, share = [side.sum() for side in sides], [2 * side.mean() for side in sides]

    def multinomial(p):  # logits of feature j against all others
        logits = [p[0], p[0] + p[1]]
        return sum(
            x[j] * t - x.sum() * math.log(1 + math.exp(t)) for x, t in zip(f, logits, strict=True)
        )

    def bernoulli(p):
        logits = [p[0], p[0] + p[1]]
        return sum(
            (x + alpha) * t - (m + 2 * alpha) * math.log(1 + math.exp(t))
            for x, m, t in zip(held, n, logits, strict=True)
        )

    def poisson(p):
        logs = [p[0], p[0] + p[1]]
        sums = [X[side, j].sum() + alpha * s for side, s in zip(sides, share, strict=True)]
        return sum(x * t - m * math.exp(t) for x, m, t in zip(sums, n, logs, strict=True))

    def negative_binomial(p, phi=0.5):
        weights = [p[0], p[0] + p[1]]
        sums = [X[side, j].sum() + alpha * s for side, s in zip(sides, share, strict=True)]
        return sum(
            x * t + m / phi * math.log(1 - phi * math.exp(t))
            for x, m, t in zip(sums, n, weights, strict=True)
        )

    def gaussian(p):  # mean of one class, log variance, weight
        v = math.exp(p[1])
        means = [p[0], p[0] + p[2] * v]
        return sum(
            stats.norm.logpdf(X[side, j], mean, math.sqrt(v)).sum()
            for side, mean in zip(sides, means, strict=True)
        )

    return {
        SparseMultinomialNB: multinomial,
        SparseBernoulliNB: bernoulli,
        SparsePoissonNB: poisson,
        SparseNegativeBinomialNB: negative_binomial,
        SparseGaussianNB: gaussian,
    }


@pytest.mark.parametrize(
    ("model", "start"),
    [
        (SparseBernoulliNB(), [0.0, 0.1]),
        (SparsePoissonNB(), [0.0, 0.1]),
        (SparseNegativeBinomialNB(dispersion=0.5), [-1.0, 0.1]),
        (SparseGaussianNB(variance="shared", var_smoothing=0), [0.5, 0.0, 0.1]),
    ],
    ids=str,
)
def test_standard_errors_are_those_of_the_likelihood(model, start):
    X, y = rows(n_classes=3)
    for row in frame(model, X, y, 1).itertuples():
        function = likelihoods(X, y, row[1], row.feature)[type(model)]
        best = optimize.minimize(
            lambda p, f=function: -f(p), start, method="Nelder-Mead",
            options={"xatol": 1e-9, "fatol": 1e-11, "maxiter": 5000},
        ).x  # fmt: skip
        assert row.weight == pytest.approx(best[-1], abs=1e-5)
        covariance = np.linalg.inv(-curvature(function, best))
        assert row.standard_error == pytest.approx(math.sqrt(covariance[-1, -1]), rel=1e-3)


def test_standard_errors_of_shares():
    """Of log shares, by simulation: counts drawn from the shares that were found."""
    X, y = rows(n=600, n_classes=2)
    table = frame(SparseMultinomialNB(alpha=0), X, y)
    rng, totals = np.random.default_rng(0), [X[y == c].sum(axis=0) for c in "ab"]
    for row in table.itertuples():
        logs = [
            np.log(rng.multinomial(f.sum(), f / f.sum(), 20_000)[:, row.feature] / f.sum())
            for f in totals
        ]
        assert row.standard_error == pytest.approx(np.std(logs[1] - logs[0]), rel=0.04)
    for row in frame(SparseCategoricalNB(alpha=0), X, y).itertuples():
        inside, x = y == row[1], X[:, row.feature] == row.category
        if min(x[inside].sum(), x[~inside].sum()) < 30:
            continue
        drawn = [rng.binomial(s.sum(), x[s].mean(), 20_000) / s.sum() for s in (inside, ~inside)]
        spread = np.std(np.log(drawn[0]) - np.log(drawn[1]))
        assert row.standard_error == pytest.approx(spread, rel=0.06)


def test_shares_and_fold_changes_by_pandas():
    X, y = rows()
    presence = ClassCounts.from_matrix(X, y, presence=True)
    data = pd.DataFrame(X)
    for model in (SparseMultinomialNB(), SparsePoissonNB(), *VALUES):
        for row in frame(model, X, y, presence=presence).itertuples():
            group, x = data.groupby(y == row[1]), row.feature
            held = (data[x] > 0).groupby(y == row[1]).mean()
            assert (row.share_in, row.share_out) == pytest.approx((held[True], held[False]))
            rate = group[x].mean()
            if isinstance(model, SparseMultinomialNB):
                rate = group[x].sum() / group.sum().sum(axis=1)
            assert row.log2_fold_change == pytest.approx(np.log2(rate[True] / rate[False]))
    for row in frame(SparseBernoulliNB(), X, y).itertuples():
        held = (data[row.feature] > 0).groupby(y == row[1]).mean()
        assert (row.share_in, row.share_out) == pytest.approx((held[True], held[False]))
        assert row.log2_fold_change == pytest.approx(np.log2(held[True] / held[False]))
    for row in frame(SparseCategoricalNB(), X, y).itertuples():
        held = (data[row.feature] == row.category).groupby(y == row[1]).mean()
        assert (row.share_in, row.share_out) == pytest.approx((held[True], held[False]))


@pytest.mark.parametrize("model", [each() for each in COUNTS], ids=str)
def test_batches_and_statistics_are_the_rows(model):
    X, y = rows()
    whole = markers(model.set_params(k=6).fit(X, y))
    batches = type(model)(k=6).partial_fit(X[:99], y[:99], classes=np.unique(y))
    batches.partial_fit(sparse.csr_array(X[99:]), y[99:])
    known = type(model).from_statistics(model.statistics_, k=6)
    exact = not isinstance(model, SparseNegativeBinomialNB)  # squares of deviations are rounded
    for other in (markers(batches), markers(known)):
        for name, values in whole.columns().items():
            if exact or values.dtype.kind != "f":
                np.testing.assert_array_equal(other.columns()[name], values)
            else:
                np.testing.assert_allclose(other.columns()[name], values, rtol=1e-10)


def test_names_order_and_coverage():
    X, y = rows(m=30)
    data = pd.DataFrame(X, columns=[f"gene {i:02}" for i in range(30)])
    model = SparsePoissonNB(k=2).fit(data, y)
    found = markers(model)
    assert isinstance(found, Markers)
    assert set(found.feature) <= set(model.get_feature_names_out())
    assert found.feature.tolist() == [f"gene {i:02}" for i in found.column]
    rates = SparsePoissonNB(k="all").fit(data, y).rate_[:, model.support_]
    own = set(np.unique(y)[rates.argmax(axis=0)])
    assert found.uncovered.tolist() == [c for c in np.unique(y) if c not in own]
    assert f"{len(found.uncovered)} of 5 classes have no feature of their own" in str(found)
    covered = markers(SparsePoissonNB(k=10, quota=1).fit(data, y))
    assert covered.coverage == "Every class has a feature of its own."
    assert (markers(model, 1).rank == 1).all()
    assert "<table" in found._repr_html_()


def test_class_weights_have_no_part():
    X, y = rows()
    plain = frame(SparseBernoulliNB(), X, y)
    weighed = frame(SparseBernoulliNB(class_weight={"a": 5.0}), X, y)
    pd.testing.assert_frame_equal(plain, weighed)
    repeated = np.repeat(np.arange(len(y)), 1 + np.arange(len(y)) % 3)
    counted = markers(
        SparseBernoulliNB(k="all").fit(X, y, sample_weight=1 + np.arange(len(y)) % 3), None
    )
    pd.testing.assert_frame_equal(
        counted.to_frame(), frame(SparseBernoulliNB(), X[repeated], y[repeated])
    )


def test_two_classes_and_features_without_counts():
    X = np.array([[3, 0, 0, 1], [4, 0, 0, 1], [0, 2, 0, 1], [0, 5, 0, 1]])
    for model in EVERY:
        found = frame(model, X, list("aabb"))
        kept = found[found.feature.isin([0, 1])]
        if not isinstance(model, SparseCategoricalNB):
            assert kept.feature.tolist() == [0, 1]
            assert kept["class"].tolist() == ["a", "b"]
        assert 2 not in found.feature.tolist()
    known = markers(SparseBernoulliNB(k=1).partial_fit(X, list("aabb"), classes=list("abc")))
    assert "c" not in known.label
    assert "c" in known.uncovered


@pytest.mark.parametrize(
    ("model", "asked", "message"),
    [
        (SparseL1Centers(), {}, "the l1-centers model lacks"),
        (SparseGaussianNB(), {"prior": 2}, "`prior` has no effect on the gaussian model"),
        (SparsePoissonNB(), {"prior": -1}, "`prior` must be a finite number of rows >= 0"),
        (SparsePoissonNB(), {"k": 0}, "`k` must be an int >= 1"),
        (
            SparsePoissonNB(),
            {"presence": ClassCounts.zero(4, list("abcde"))},
            "must count the",
        ),
        (SparseBernoulliNB(), {"presence": ClassCounts.zero(4)}, "`presence` has no effect"),
    ],
)
def test_what_has_no_sense_is_refused(model, asked, message):
    X, y = rows(m=4)
    with pytest.raises(ValueError, match=message):
        markers(model.set_params(k=2).fit(X, y), **asked)


def test_the_models_that_are_named_instead_compare():
    X, y = rows(m=4)
    with pytest.raises(ValueError, match="use one of") as refused:
        markers(SparseL1Centers(k=2).fit(X, y))
    named = str(refused.value).split("use one of ")[1].rstrip(".").split(", ")
    assert set(named) == {each.set_params(k=2).fit(X, y).model_.name for each in EVERY}


def test_other_estimators_and_no_pandas(monkeypatch):
    with pytest.raises(TypeError):
        markers(HybridNB())
    X, y = rows()
    found = markers(SparsePoissonNB().fit(X, y))
    monkeypatch.setitem(sys.modules, "pandas", None)
    with pytest.raises(ImportError, match="pip install pandas"):
        found.to_frame()
    assert list(found.columns())[:3] == ["class", "rank", "feature"]


# -- the command ----------------------------------------------------------------------------------


def run(*arguments):
    result = CliRunner().invoke(naively, list(map(str, arguments)))
    return result.exit_code, result.output


def texts(n=300):
    rng = np.random.default_rng(0)
    words, labels = np.array([f"word{i:02}" for i in range(40)]), rng.choice(list("abc"), n)
    rate = 0.5 + rng.random((3, 40)) * 3
    rate /= rate.sum(axis=1, keepdims=True)
    return [" ".join(rng.choice(words, 12, p=rate["abc".index(label)])) for label in labels], labels


def write(path, rows, labels):
    lines = [json.dumps({"text": t, "label": c}) for t, c in zip(rows, labels, strict=True)]
    path.write_text("\n".join(lines) + "\n")


@pytest.mark.parametrize("model", ["multinomial", "bernoulli", "poisson"])
def test_the_command_tells_what_python_does(tmp_path, model):
    data, labels = texts()
    write(tmp_path / "a.jsonl", data, labels)
    asked = ("--model", model, "-k", 9, "--markers", 3, "-q", "--quick")
    status, said = run("select", tmp_path / "a.jsonl", *asked, "--out", tmp_path / "r")
    assert status == 0, said
    names = sorted({word for row in data for word in row.split()})
    X = np.array([[row.split().count(name) for name in names] for row in data])
    held = ClassCounts.from_matrix(X, labels, presence=True)
    if model == "multinomial":
        fitted = SparseMultinomialNB(k=9).fit(X > 0, labels)
        expected = markers(fitted, 3, presence=held)
    elif model == "bernoulli":
        expected = markers(SparseBernoulliNB(k=9).fit(X, labels), 3)
    else:
        expected = markers(SparsePoissonNB(k=9).fit(X, labels), 3, presence=held)
    found = pd.read_csv(io.StringIO((tmp_path / "r" / "markers.csv").read_text()))
    table = expected.to_frame().assign(feature=[names[i] for i in expected.column])
    pd.testing.assert_frame_equal(found, table, check_dtype=False, rtol=1e-6)
    page = (tmp_path / "r" / "report.html").read_text()
    assert "Each class against all others" in page
    assert run("explain", tmp_path / "r", "--report", "json")[0] == 0  # read back


def test_streams_and_records_give_the_same_bytes(tmp_path):
    write(tmp_path / "a.jsonl", *texts())
    asked = ("-k", 9, "--markers", 3, "-q")
    for name, how in {"one": ("--quick",), "two": ("--on", 2, "--quick")}.items():
        out = tmp_path / name
        assert run("select", tmp_path / "a.jsonl", *asked, *how, "--out", out)[0] == 0
    assert run("count", tmp_path / "a.jsonl", "-o", tmp_path / "counted", "-q")[0] == 0
    (record,) = (tmp_path / "counted").glob("*.npz")
    assert run("select", record, *asked, "-o", tmp_path / "three")[0] == 0
    found = [(tmp_path / name / "markers.csv").read_bytes() for name in ("one", "two", "three")]
    assert found[0] == found[1] == found[2]
    assert len(list(csv.reader(io.StringIO(found[0].decode())))) == 10


@pytest.mark.parametrize(
    ("options", "message"),
    [
        (("--model", "l1-centers", "--text", "text"), "which --model l1-centers lacks"),
        (("--model", "hybrid"), "which --model hybrid lacks"),
        (("--words", "weights=tfidf"), "takes rows to hold counts"),
    ],
)
def test_the_command_refuses_what_has_no_markers(tmp_path, options, message):
    write(tmp_path / "a.jsonl", *texts())
    status, said = run("select", tmp_path / "a.jsonl", "--markers", 3, "--out", tmp_path / "r",
                       *options)  # fmt: skip
    assert status == 2
    assert message in said


def test_without_the_option_there_is_no_table(tmp_path):
    write(tmp_path / "a.jsonl", *texts())
    out = tmp_path / "r"
    assert run("select", tmp_path / "a.jsonl", "-k", 9, "--markers", 2, "-q", "--out", out)[0] == 0
    assert (out / "markers.csv").exists()
    assert run("select", tmp_path / "a.jsonl", "-k", 9, "-q", "--quick", "--out", out)[0] == 0
    assert not (out / "markers.csv").exists()
    assert "markers" not in json.loads((out / "summary.json").read_text())
