"""The coupled dual by vertices: the best convex combination of a few of them, and the next one.

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

import math

import numpy as np

from naively._kernels.compiled import kernel, kernel_part, patient
from naively._types import FloatArray, IntArray

TINY = 1e-300  # shares are kept above this, so that their logarithms are finite
TOLERANCE = 1e-13  # relative gap at which the decomposition stops
MAX_ROUNDS = 1000
PATIENCE = 20  # rounds without any progress before giving up on the last digits
VERTICES, EVALUATIONS, IMPROVED, BEST = range(4)  # places in `count`
BOUND, VALUE, THRESHOLD = range(3)  # places in `reached`


@kernel
def _log_shares(totals: FloatArray) -> FloatArray:
    """log(F_c / F), bounded below; equal shares if F = 0: (C,)."""  # noqa: D403
    total = 0.0
    for c in range(len(totals)):
        total += totals[c]
    logs = np.empty(len(totals))
    for c in range(len(totals)):
        if total <= 0:
            logs[c] = -math.log(len(totals))
        elif totals[c] > 0.5 * total:
            # Of a share close to 1 the logarithm is small, and many counts multiply it: what is
            # left to the other classes has digits that 1 minus it has not.
            rest = 0.0
            for other in range(len(totals)):
                if other != c:
                    rest += totals[other]
            logs[c] = math.log1p(-rest / total)
        else:
            logs[c] = math.log(max(totals[c] / total, TINY))
    return logs


log_shares = patient(_log_shares)


@kernel
def _pooled_gain(value: float, totals: FloatArray) -> float:
    """Gain q of a vertex, or of a mixture of some."""
    logs, pooled = _log_shares(totals), 0.0
    for c in range(len(totals)):
        pooled += totals[c] * logs[c]
    return float(value - pooled)  # as it is when compiled, no number of NumPy's


pooled_gain = patient(_pooled_gain)


@kernel_part
def _mix(totals: FloatArray, weights: FloatArray, ghost: float, mixed: FloatArray) -> None:
    for c in range(len(mixed)):
        mixed[c] = 0.0
        for v in range(len(weights)):
            mixed[c] += weights[v] * (totals[v, c] + ghost)


@kernel_part
def _climb(
    values: FloatArray, totals: FloatArray, ghost: float, mixed: FloatArray, gradient: FloatArray
) -> None:
    """Write the gradient of q."""
    logs = _log_shares(mixed)
    for v in range(len(values)):
        gradient[v] = values[v]
        for c in range(len(mixed)):
            gradient[v] -= (totals[v, c] + ghost) * logs[c]


@kernel_part
def _bend(
    totals: FloatArray, ghost: float, mixed: FloatArray, difference: FloatArray, matrix: FloatArray
) -> None:
    """Write minus the Hessian of q, up to what does not matter to steps that keep the sum of w.

    That freedom is used to replace every vertex by its difference from the mixture (v, C; then its
    sum); otherwise the large totals would drown the small differences. On and below the diagonal.
    """
    n, n_classes = totals.shape
    size = 0.0
    for c in range(n_classes):
        size += mixed[c]
    for v in range(n):
        excess = 0.0
        for c in range(n_classes):
            difference[v, c] = totals[v, c] + ghost - mixed[c]
            excess += difference[v, c]
        difference[v, n_classes] = excess
        for u in range(v + 1):
            s = -excess * difference[u, n_classes] / size
            for c in range(n_classes):
                if mixed[c] > 0:
                    s += difference[v, c] * difference[u, c] / mixed[c]
            matrix[v, u] = s


@kernel_part
def _solve(matrix: FloatArray, right: FloatArray) -> None:
    """Solve a symmetric positive definite system by Cholesky factors; both are overwritten."""
    n, n_right = right.shape
    for i in range(n):
        for j in range(i + 1):
            s = matrix[i, j]
            for t in range(j):
                s -= matrix[i, t] * matrix[j, t]
            matrix[i, j] = math.sqrt(max(s, TINY)) if i == j else s / matrix[j, j]
    for r in range(n_right):
        for i in range(n):
            for t in range(i):
                right[i, r] -= matrix[i, t] * right[t, r]
            right[i, r] /= matrix[i, i]
        for i in range(n - 1, -1, -1):
            for t in range(i + 1, n):
                right[i, r] -= matrix[t, i] * right[t, r]
            right[i, r] /= matrix[i, i]


@kernel_part
def _move(
    weights: FloatArray, slack: FloatArray, right: FloatArray, mu: float
) -> tuple[float, float]:
    """Step as far as weights and slack stay positive; return the step's length and price."""
    above, below = 0.0, 0.0
    for v in range(len(weights)):
        above += right[v, 0]
        below += right[v, 1]
    change, length = above / below, 1.0
    for v in range(len(weights)):
        step = right[v, 0] - change * right[v, 1]
        step_slack = (0.1 * mu - slack[v] * step) / weights[v] - slack[v]
        if step < 0:
            length = min(length, -0.99 * weights[v] / step)
        if step_slack < 0:
            length = min(length, -0.99 * slack[v] / step_slack)
        right[v, 0], right[v, 1] = step, step_slack
    total = 0.0
    for v in range(len(weights)):
        weights[v] += length * right[v, 0]
        slack[v] += length * right[v, 1]
        total += weights[v]
    for v in range(len(weights)):
        weights[v] /= total
    return length, change


@kernel
def best_point(  # noqa: C901 (a kernel that calls another is compiled with it again)
    values: FloatArray, totals: FloatArray, ghost: float
) -> tuple[FloatArray, float, FloatArray]:
    """Maximise q over the simplex.

    Parameters
    ----------
    values : (v,) c_v
    totals : (v, C) F_v
    ghost : counts added to every class of a vertex where shares are concerned

    Returns
    -------
    (v,) positive weights, sum 1; q; (C,) log shares
    """
    n, n_classes = totals.shape
    weights, now, slack, gradient = np.empty(n), np.empty(n), np.empty(n), np.empty(n)
    mixed, difference = np.empty(n_classes), np.empty((n, n_classes + 1))
    matrix, right = np.empty((n, n)), np.empty((n, 2))
    price, accuracy, best_gap = 0.0, 0.0, np.inf
    for v in range(n):
        now[v] = weights[v] = 1.0 / n
    for turn in range(60):
        _mix(totals, now, ghost, mixed)
        _climb(values, totals, ghost, mixed, gradient)
        mu, mean, most, largest = 0.0, 0.0, gradient[0], 0.0
        for v in range(n):
            most = max(most, gradient[v])
            largest = max(largest, abs(values[v]))
            mean += now[v] * gradient[v]
        if turn == 0:
            price, scale = most, max(abs(most), 1e-30)
            accuracy = 2e-15 * (scale + largest)  # of a gradient: a difference of such sums
            for v in range(n):
                slack[v] = price - gradient[v] + 1e-2 * scale
        for v in range(n):
            mu += now[v] * slack[v]
        mu /= n
        # No point of the simplex exceeds q by more than this (Frank and Wolfe 1956).
        gap = most - mean
        if gap < best_gap:
            best_gap = gap
            for v in range(n):
                weights[v] = now[v]
        # Close to the solution, rounding spoils the steps: then the best point so far is it.
        if gap <= accuracy or mu <= 1e-3 * accuracy or (mu <= accuracy and gap > best_gap):
            break
        if not math.isfinite(
            gap
        ):  # a step lost all its digits: the best point so far is the answer
            break
        _bend(totals, ghost, mixed, difference, matrix)
        for v in range(n):
            matrix[v, v] += slack[v] / now[v]
            right[v, 0] = gradient[v] - price + 0.1 * mu / now[v]
            right[v, 1] = 1.0
        _solve(matrix, right)
        length, change = _move(now, slack, right, mu)
        price += length * change
    _mix(totals, weights, 0.0, mixed)
    logs = _log_shares(mixed)
    reached = 0.0
    for v in range(n):
        reached += weights[v] * values[v]
    for c in range(n_classes):
        reached -= mixed[c] * logs[c]
        mixed[c] += ghost
    return weights, float(reached), _log_shares(mixed)


@kernel
def _turn(  # noqa: C901 (a kernel that calls another is compiled with it again)
    value: float,
    vertex: FloatArray,
    log_a: FloatArray,
    best_log_a: FloatArray,
    values: FloatArray,
    totals: FloatArray,
    weights: FloatArray,
    count: IntArray,
    reached: FloatArray,
    ghost: float,
) -> tuple[bool, bool]:
    """Add the best vertex at some shares to those found before, and move to their best point.

    None is held twice: where the best vertex at the best point is known, nothing is left to gain
    but rounding.

    Parameters
    ----------
    value, vertex : float and (C,)
        Of the vertex: sum of the entropies, and smoothed counts.
    log_a, best_log_a : (C,)
        The shares, which are moved on; those of the least bound.
    values, totals, weights : (v,), (v, C) and (v,)
        Of the vertices so far, with room for one more: as of `best_point`.
    count : (4,)
        Vertices, evaluations, evaluation of the last progress, place of the best gains.
    reached : (3,)
        The least bound, the largest q, threshold at the least bound.
    ghost : float
        As of `best_point`.

    Returns
    -------
    Whether the bound is the least so far, and whether that was the last evaluation.
    """
    n, taken = count[VERTICES], 0.0
    count[EVALUATIONS] += 1
    for c in range(len(vertex)):
        taken += vertex[c] * log_a[c]
    is_best = value - taken < reached[BOUND] or count[EVALUATIONS] == 1
    if is_best:
        reached[BOUND], count[IMPROVED] = value - taken, count[EVALUATIONS]
        for c in range(len(vertex)):
            best_log_a[c] = log_a[c]
    bound, before = reached[BOUND], reached[VALUE]
    if bound - before <= TOLERANCE * abs(bound):
        return is_best, True
    for v in range(n):
        same = values[v] == value
        for c in range(len(vertex)):
            same = same and totals[v, c] == vertex[c]
        if same:
            return is_best, True
    if count[EVALUATIONS] > count[IMPROVED] + PATIENCE:
        return is_best, True
    values[n], count[VERTICES] = value, n + 1
    for c in range(len(vertex)):
        totals[n, c] = vertex[c]
    found, q, logs = best_point(values[: n + 1], totals[: n + 1], ghost)
    for v in range(n + 1):
        weights[v] = found[v]
    for c in range(len(vertex)):
        log_a[c] = logs[c]
    if q > before:
        reached[VALUE] = q
        if q > before + TOLERANCE * abs(before):
            count[IMPROVED] = count[EVALUATIONS]
    return is_best, count[EVALUATIONS] == MAX_ROUNDS


turn = patient(_turn)
