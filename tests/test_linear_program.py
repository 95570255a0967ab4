"""NFS-long propositions 3.7 to 3.10 by a linear programming solver, beside what we do."""

import numpy as np
import pytest
from scipy.optimize import linprog, minimize_scalar
from scipy.special import xlogy

from naively.models.multinomial import multinomial
from naively.selection.coupled import coupled_columns
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
