"""`--train variance` and `--train prior`: what the parameters of the estimators give."""

import numpy as np
import pytest
from click.testing import CliRunner

import naively
from naively.cli.commands import naively as command

N, M = 60, 6
ESTIMATORS = {
    "multinomial": (naively.SparseMultinomialNB, {"fit_prior": False}),
    "bernoulli": (naively.SparseBernoulliNB, {"fit_prior": False}),
    "poisson": (naively.SparsePoissonNB, {"fit_prior": False}),
    "negative-binomial": (naively.SparseNegativeBinomialNB, {"fit_prior": False}),
    "categorical": (naively.SparseCategoricalNB, {"fit_prior": False}),
    "l1-centers": (naively.SparseL1Centers, {"priors": "empirical"}),
    "l2-centers": (naively.SparseL2Centers, {"priors": "empirical"}),
}


@pytest.fixture
def rows(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    rng = np.random.default_rng(2)
    y = np.array(["a", "b", "c"])[np.minimum(np.arange(N) % 6, 2)]  # c: four of six
    X = rng.poisson(1 + 2.0 * (np.arange(M) % 3 == np.searchsorted(["a", "b", "c"], y)[:, None]))
    np.savez("rows.npz", X=X, y=y)
    return X, y


def run(*arguments, status=0):
    result = CliRunner().invoke(command, [str(each) for each in arguments])
    assert result.exit_code == status, result.output
    return result.stderr


@pytest.mark.parametrize("kind", ESTIMATORS)
def test_classes_are_as_likely_as_is_said(rows, kind):
    X, y = rows
    Estimator, parameters = ESTIMATORS[kind]
    prior = "empirical" if "priors" in parameters else "uniform"
    run("select", "rows.npz", "--model", kind, "-k", 3, "--test", 0, "--train", f"prior={prior}")
    wanted = Estimator(k=3, **parameters).fit(X, y).decision_function(X)
    found = naively.load("result/model.npz").decision_function(X)
    np.testing.assert_allclose(found, wanted, rtol=1e-9, atol=1e-9)
    assert not np.allclose(found, Estimator(k=3).fit(X, y).decision_function(X))


def test_classes_share_their_variance(rows):
    X, y = rows
    asked = ["--model", "gaussian", "-k", 3, "--train", "variance=shared"]
    run("select", "rows.npz", *asked, "--test", 0)
    wanted = naively.SparseGaussianNB(k=3, variance="shared").fit(X, y)
    found = naively.load("result/model.npz")
    np.testing.assert_allclose(found.decision_function(X), wanted.decision_function(X), rtol=1e-9)
    run("count", "rows.npz", "--model", "gaussian", "-o", "rows.stats")
    run("select", "rows.stats", *asked, "--out", "other")
    of_record = naively.load("other/model.npz").decision_function(X)
    np.testing.assert_array_equal(of_record, found.decision_function(X))


@pytest.mark.parametrize(
    ("asked", "told"),
    [
        (["--model=gaussian", "--train=prior=uniform"], "which takes it from the rows"),
        (["--model=hybrid", "--train=prior=uniform"], "which has intercepts instead"),
        (["--model=poisson", "--train=variance=shared"], "(it is for gaussian, mixed)"),
        (["--model=poisson", "--train=normalize=false"], "(it is for hybrid)"),
        (["--train=prior=some"], "'--train prior'"),
    ],
)
def test_what_has_no_effect_is_refused(rows, asked, told):
    assert told in run("select", "rows.npz", *asked, status=2)
