"""The best convex combination of a few vertices: the inner problem of the coupled dual.

A vertex v is a set of features with value c_v = sum (sum_c f_ci log f_ci - g_i log g_i) and class
totals F_v. The concave function of the weights w on the simplex

    q(w) = sum_v w_v c_v - sum_c F_c log(F_c / F),   F_c = sum_v w_v F_vc,  F = sum_c F_c

has the gradient c_v - sum_c F_vc log a_c, a = F_c / F: the gain of vertex v at the shares a.
It is maximised by a primal-dual interior point method (Wright 1997, "Primal-dual interior-point
methods", chapter 1): Newton's method on

    grad q(w) - price + slack = 0,   w_v slack_v = mu,   sum w = 1,   w, slack > 0

with mu going to 0.
"""

from __future__ import annotations

import numpy as np

from naively._kernels.compiled import kernel
from naively._types import FloatArray

TINY = 1e-300  # shares are kept above this, so that their logarithms are finite


@kernel
def log_shares(totals: FloatArray) -> FloatArray:
    """log(F_c / F), bounded below; equal shares if F = 0: (C,)."""  # noqa: D403
    total = totals.sum()
    logs = np.empty(len(totals))
    for c in range(len(totals)):
        if total <= 0:
            logs[c] = -np.log(len(totals))
        elif totals[c] > 0.5 * total:
            # Of a share close to 1 the logarithm is small, and many counts multiply it: what is
            # left to the other classes has digits that 1 minus it has not.
            rest = 0.0
            for other in range(len(totals)):
                if other != c:
                    rest += totals[other]
            logs[c] = np.log1p(-rest / total)
        else:
            logs[c] = np.log(max(totals[c] / total, TINY))
    return logs


@kernel
def _mixed(totals: FloatArray, weights: FloatArray) -> FloatArray:
    mixed = np.zeros(totals.shape[1])
    for v in range(len(weights)):
        for c in range(len(mixed)):
            mixed[c] += weights[v] * totals[v, c]
    return mixed


@kernel
def _gradient(values: FloatArray, totals: FloatArray, mixed: FloatArray) -> FloatArray:
    logs = log_shares(mixed)
    gradient = values.copy()
    for v in range(len(values)):
        for c in range(len(mixed)):
            gradient[v] -= totals[v, c] * logs[c]
    return gradient


@kernel
def _curvature(totals: FloatArray, mixed: FloatArray) -> FloatArray:
    """Minus the Hessian of q, up to what does not matter to steps that keep the sum of w: (v, v).

    That freedom is used to replace every vertex by its difference from the mixture; otherwise the
    large totals would drown the small differences.
    """
    n, n_classes = totals.shape
    size = mixed.sum()
    difference = np.empty((n, n_classes))
    excess = np.zeros(n)
    for v in range(n):
        for c in range(n_classes):
            difference[v, c] = totals[v, c] - mixed[c]
            excess[v] += difference[v, c]
    curvature = np.empty((n, n))
    for v in range(n):
        for u in range(v + 1):
            s = -excess[v] * excess[u] / size
            for c in range(n_classes):
                if mixed[c] > 0:
                    s += difference[v, c] * difference[u, c] / mixed[c]
            curvature[v, u] = curvature[u, v] = s
    return curvature


@kernel
def _solve(matrix: FloatArray, right: FloatArray) -> None:
    """Solve a symmetric positive definite system by Cholesky factors; both are overwritten."""
    n, n_right = right.shape
    for i in range(n):
        for j in range(i + 1):
            s = matrix[i, j]
            for t in range(j):
                s -= matrix[i, t] * matrix[j, t]
            matrix[i, j] = np.sqrt(max(s, TINY)) if i == j else s / matrix[j, j]
    for r in range(n_right):
        for i in range(n):
            for t in range(i):
                right[i, r] -= matrix[i, t] * right[t, r]
            right[i, r] /= matrix[i, i]
        for i in range(n - 1, -1, -1):
            for t in range(i + 1, n):
                right[i, r] -= matrix[t, i] * right[t, r]
            right[i, r] /= matrix[i, i]


@kernel
def _longest_step(x: FloatArray, direction: FloatArray) -> float:
    longest = 1.0
    for v in range(len(x)):
        if direction[v] < 0:
            longest = min(longest, -0.99 * x[v] / direction[v])
    return longest


@kernel
def best_weights(values: FloatArray, totals: FloatArray) -> FloatArray:
    """Maximise q over the simplex.

    Parameters
    ----------
    values : (v,) c_v
    totals : (v, C) F_v

    Returns
    -------
    (v,) positive weights, sum 1
    """
    n = len(values)
    weights = np.full(n, 1.0 / n)
    mixed = _mixed(totals, weights)
    gradient = _gradient(values, totals, mixed)
    price = gradient.max()
    scale = max(abs(price), 1e-30)
    slack = price - gradient + 1e-2 * scale
    accuracy = 2e-15 * (scale + np.abs(values).max())  # of a gradient: a difference of such sums
    best_gap, best = np.inf, weights.copy()
    for _ in range(60):
        mu = np.sum(weights * slack) / n
        # No point of the simplex exceeds q by more than this (Frank and Wolfe 1956).
        gap = gradient.max() - np.sum(weights * gradient)
        if gap < best_gap:
            best_gap, best = gap, weights.copy()
        # Close to the solution, rounding spoils the steps: then the best point so far is it.
        if gap <= accuracy or mu <= 1e-3 * accuracy or (mu <= accuracy and gap > best_gap):
            break
        if not np.isfinite(gap):  # a step lost all its digits: the best point so far is the answer
            break
        matrix = _curvature(totals, mixed)
        right = np.ones((n, 2))
        for v in range(n):
            matrix[v, v] += slack[v] / weights[v]
            right[v, 0] = gradient[v] - price + 0.1 * mu / weights[v]
        _solve(matrix, right)
        change = right[:, 0].sum() / right[:, 1].sum()
        step = right[:, 0] - change * right[:, 1]
        step_slack = (0.1 * mu - slack * step) / weights - slack
        length = min(_longest_step(weights, step), _longest_step(slack, step_slack))
        weights += length * step
        weights /= weights.sum()
        slack += length * step_slack
        price += length * change
        mixed = _mixed(totals, weights)
        gradient = _gradient(values, totals, mixed)
    return best


@kernel
def best_point(
    values: FloatArray, totals: FloatArray, ghost: float
) -> tuple[FloatArray, float, FloatArray]:
    """Find the best point of the hull: its weights (v,), q, and its log shares (C,).

    `ghost` counts are added to every class of a vertex where shares are concerned.
    """
    raised = np.empty(totals.shape)
    for v in range(len(totals)):
        for c in range(totals.shape[1]):
            raised[v, c] = totals[v, c] + ghost
    weights = best_weights(values, raised)
    mixed = _mixed(totals, weights)
    logs = log_shares(mixed)
    reached = 0.0
    for v in range(len(values)):
        reached += weights[v] * values[v]
    for c in range(len(mixed)):
        reached -= mixed[c] * logs[c]
        mixed[c] += ghost
    return weights, reached, log_shares(mixed)
