"""NFS-long propositions 3.7 to 3.10 by a linear programming solver, beside what we do."""

from functools import partial

import numpy as np
import pytest
from scipy.optimize import linprog, minimize_scalar
from scipy.special import xlogy

from naively import Pairs, SparseBernoulliNB, SparseMultinomialNB, sparsity_path
from naively.models.multinomial import multinomial
from naively.selection import coupled
from naively.selection.coupled import ScreenedColumns, coupled_columns
from naively.selection.dual import solve_dual
from naively.selection.rounding import basic_solution
from naively.selection.solve import solve
from reference_nfs import (
    Counts,
    best_by_brute_force,
    multinomial_gain_vector,
    multinomial_log_likelihood,
    seen_columns,
)


def printed_dual(f, x):
    """(D) in two parts: the objective meant, and the term that is printed too many."""
    g = f.sum(axis=1)
    entropies = (1 - x) @ xlogy(g, g) + x @ xlogy(f, f).sum(axis=1)
    meant = entropies + xlogy(x @ g, x @ g) - xlogy(g.sum(), g.sum()) - sum(xlogy(x @ f, x @ f))
    return meant, -(x @ g)


@pytest.mark.parametrize("seed", range(30))
def test_program_34_gives_what_the_rounding_starts_from(seed):
    rng = np.random.default_rng(seed)
    # Few values, so that columns tie and the solution of the dual has fractions.
    table = rng.integers(1, 4, (int(rng.integers(5, 10)), 2))
    k = int(rng.integers(2, len(table)))
    f = table.astype(float)
    g = f.sum(axis=1)

    groups = coupled_columns(multinomial(0.0).problem(Counts(table)))
    dual = solve_dual(groups.problem, k)
    psi = solve(multinomial(0.0), Counts(table), k).certificate.bound
    # Theorem 3.2 in one variable: the least sum of the k largest gains.
    share = minimize_scalar(
        lambda a: np.sort(multinomial_gain_vector(table, (a, 1 - a)))[-k:].sum(),
        bounds=(0, 1),
        method="bounded",
        options={"xatol": 1e-13},
    ).x
    mu = g.sum() * np.array(
        [share, 1 - share]
    )  # (15): theta = g / (mu+ + mu-), theta+- = f+- / mu+-
    pooled, free = np.log(g / mu.sum()), np.log(f / mu)
    # r* = sum_i (1 - x_i) g_i log theta_i + x_i (f+_i log theta+_i + f-_i log theta-_i)
    likelihood = (f * free).sum(axis=1) - g * pooled
    shares = f / mu - (g / mu.sum())[:, None]
    solution = linprog(
        rng.normal(size=len(f)),
        A_ub=np.vstack([-likelihood, shares.T, np.ones(len(f))]),
        b_ub=[g @ pooled - psi + 1e-6, 1e-6, 1e-6, k],  # r* is the most that x can reach
        bounds=(0, 1),
        method="highs-ds",
    )
    assert solution.status == 0, solution.message
    x = solution.x
    fractional = np.flatnonzero(np.abs(x - np.rint(x)) > 1e-7)
    assert len(fractional) <= 4  # proposition 3.9
    meant, too_many = printed_dual(f, x)
    assert meant == pytest.approx(psi, abs=1e-5)  # proposition 3.7: strong duality
    assert meant + too_many < psi - 1

    # Proposition 3.8: all that is not pooled is free, at most k + |J| features.
    def log_likelihood(support):
        return multinomial_log_likelihood(table.tolist(), support)

    columns = seen_columns(table.tolist())
    found = log_likelihood({int(i) for i in np.flatnonzero(x > 1e-7)})
    assert best_by_brute_force(log_likelihood, columns, k) <= found + 1e-5
    assert found <= best_by_brute_force(log_likelihood, columns, k + len(fractional)) + 1e-5

    # The same point, without a program: C fractions among groups of equal columns, same shares.
    basic = basic_solution(groups.problem, dual)
    assert np.count_nonzero(np.abs(basic - np.rint(basic)) > 1e-7) <= 2
    totals = groups.problem.totals(basic)
    np.testing.assert_allclose(totals / totals.sum(), dual.shares, atol=1e-7)


@pytest.mark.parametrize("screened", [False, True])
@pytest.mark.parametrize("n_classes", [2, 3, 4])
def test_a_few_columns_more_reach_the_bound(n_classes, screened, monkeypatch):
    """Proposition 3.8, as a user gets it: phi(k) <= psi(k) <= OPT <= phi(k + |J|)."""
    if screened:
        monkeypatch.setattr(coupled, "SCREEN_ABOVE", 0)
    wider = 0
    for seed in range(10):
        rng = np.random.default_rng(seed)
        table = rng.integers(1, 4, (8, n_classes))
        # With a smoothing of their own, columns are never grouped; groups are never screened.
        alpha = rng.random(8) if screened else 0.0
        problem = coupled_columns(multinomial(alpha).problem(Counts(table)))
        assert isinstance(problem, ScreenedColumns) == screened

        log_likelihood = partial(multinomial_log_likelihood, (table.T + alpha).T.tolist())
        path = sparsity_path(
            SparseMultinomialNB(alpha=alpha), table.T, np.arange(n_classes), ks=np.arange(9)
        )
        for k in range(2, 9):
            columns = path.widened(k).tolist()
            wider += len(columns) > k
            assert k <= len(columns) <= k + n_classes
            reached = log_likelihood(set(columns))
            assert path.bound[k] <= reached + 1e-9
            assert reached <= best_by_brute_force(log_likelihood, range(8), len(columns)) + 1e-9
    assert wider > 0


def test_models_whose_gains_add_up_need_no_more_columns():
    X = np.random.default_rng(0).integers(0, 2, (20, 6))
    path = sparsity_path(SparseBernoulliNB(), X, np.arange(20) % 2)
    for k in range(7):
        np.testing.assert_array_equal(path.widened(k), path.support(k))
    with pytest.raises(ValueError, match=r"`k` must be an int in \[0, 6\]"):
        path.widened(7)


def test_pairs_of_classes_have_no_such_point():
    X = np.random.default_rng(0).integers(0, 2, (20, 6))
    path = sparsity_path(SparseBernoulliNB(objective=Pairs()), X, np.arange(20) % 3, ks=[2])
    with pytest.raises(ValueError, match="Use `support`"):
        path.widened(2)
