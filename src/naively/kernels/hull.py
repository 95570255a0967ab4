"""The best convex combination of a few vertices: the inner problem of the coupled dual.

A vertex v is a set of features with value c_v = sum (sum_c f_ci log f_ci - g_i log g_i) and class
totals F_v. The concave function of the weights (on the simplex)

    q(w) = sum_v w_v c_v - sum_c F_c log(F_c / F),   F_c = sum_v w_v F_vc,  F = sum_c F_c

has the gradient c_v - sum_c F_vc log a_c, a = F_c / F: the gain of vertex v at the shares a.
"""

from __future__ import annotations

import numpy as np

from naively._types import FloatArray
from naively.kernels.compiled import kernel

TINY = 1e-300  # shares are kept above this, so that their logarithms are finite


@kernel
def log_shares(totals: FloatArray) -> FloatArray:
    """log(F_c / F), bounded below: (C,)."""
    total = totals.sum()
    logs = np.empty(len(totals))
    for c in range(len(totals)):
        logs[c] = np.log(max(totals[c] / total, TINY)) if total > 0 else -np.log(len(totals))
    return logs


@kernel
def _gradient(values: FloatArray, totals: FloatArray, weights: FloatArray) -> FloatArray:
    n, n_classes = totals.shape
    mixed = np.zeros(n_classes)
    for v in range(n):
        for c in range(n_classes):
            mixed[c] += weights[v] * totals[v, c]
    logs = log_shares(mixed)
    gradient = values.copy()
    for v in range(n):
        for c in range(n_classes):
            gradient[v] -= totals[v, c] * logs[c]
    return gradient


@kernel
def _line_maximum(
    values: FloatArray,
    totals: FloatArray,
    weights: FloatArray,
    direction: FloatArray,
    longest: float,
) -> float:
    """Step in [0, longest] that maximises q along a direction, by bisection on the slope."""
    slope = np.dot(_gradient(values, totals, weights + longest * direction), direction)
    if slope >= 0:
        return longest
    low, high = 0.0, longest
    for _ in range(100):
        middle = 0.5 * (low + high)
        if middle <= low or middle >= high:
            break
        slope = np.dot(_gradient(values, totals, weights + middle * direction), direction)
        if slope > 0:
            low = middle
        else:
            high = middle
    return 0.5 * (low + high)


@kernel
def _solve(matrix: FloatArray, right: FloatArray) -> FloatArray:
    """Solve a symmetric positive definite system by Cholesky factors; both are overwritten."""
    n, n_right = right.shape
    for i in range(n):
        for j in range(i + 1):
            s = matrix[i, j]
            for t in range(j):
                s -= matrix[i, t] * matrix[j, t]
            if i == j:
                matrix[i, i] = np.sqrt(max(s, 1e-300))
            else:
                matrix[i, j] = s / matrix[j, j]
    for r in range(n_right):
        for i in range(n):
            for t in range(i):
                right[i, r] -= matrix[i, t] * right[t, r]
            right[i, r] /= matrix[i, i]
        for i in range(n - 1, -1, -1):
            for t in range(i + 1, n):
                right[i, r] -= matrix[t, i] * right[t, r]
            right[i, r] /= matrix[i, i]
    return right


@kernel
def _newton_direction(
    totals: FloatArray, weights: FloatArray, gradient: FloatArray, free: FloatArray
) -> FloatArray:
    """Newton step of the free weights that keeps their sum."""
    index = np.flatnonzero(free)
    n, n_classes = len(index), totals.shape[1]
    mixed = np.zeros(n_classes)
    for v in range(len(weights)):
        for c in range(n_classes):
            mixed[c] += weights[v] * totals[v, c]
    size = mixed.sum()
    # The step keeps the sum of the weights, so every vertex may be replaced by its difference from
    # the mixture: otherwise large totals would drown the small differences.
    hessian = np.empty((n, n))
    for p in range(n):
        for r in range(p + 1):
            s = sum_p = sum_r = 0.0
            for c in range(n_classes):
                x, y = totals[index[p], c] - mixed[c], totals[index[r], c] - mixed[c]
                sum_p += x
                sum_r += y
                if mixed[c] > 0:
                    s += x * y / mixed[c]
            hessian[p, r] = hessian[r, p] = s - sum_p * sum_r / size
    scale = 0.0
    for p in range(n):
        scale = max(scale, hessian[p, p])
    for p in range(n):
        hessian[p, p] += 1e-13 * scale + 1e-300
    right = np.ones((n, 2))
    middle = np.dot(weights, gradient)
    for p in range(n):
        right[p, 0] = gradient[index[p]] - middle
    right = _solve(hessian, right)
    price = right[:, 0].sum() / right[:, 1].sum()
    step = np.zeros(len(weights))
    for p in range(n):
        step[index[p]] = right[p, 0] - price * right[p, 1]
    return step


@kernel
def _longest_step(weights: FloatArray, direction: FloatArray) -> float:
    longest = np.inf
    for v in range(len(weights)):
        if direction[v] < 0:
            longest = min(longest, -weights[v] / direction[v])
    return longest


@kernel
def _move(weights: FloatArray, direction: FloatArray, step: float) -> None:
    total = 0.0
    for v in range(len(weights)):
        weights[v] = max(weights[v] + step * direction[v], 0.0)
        if weights[v] < 1e-15:
            weights[v] = 0.0
        total += weights[v]
    weights /= total


@kernel
def best_weights(values: FloatArray, totals: FloatArray, weights: FloatArray) -> None:
    """Maximise q over the simplex, in place, from the weights given.

    Each round moves toward the vertex of largest gradient by an exact line search, then takes
    Newton steps on the weights that are not zero; a weight that reaches zero is dropped.

    Parameters
    ----------
    values : (v,) c_v
    totals : (v, C) F_v
    weights : (v,) start, replaced by the maximiser
    """
    n = len(weights)
    for _ in range(50 * n):
        gradient = _gradient(values, totals, weights)
        reached = np.dot(weights, gradient)
        best = np.argmax(gradient)
        if gradient[best] - reached <= 1e-14 * abs(reached):
            return
        if weights[best] == 0.0:
            toward = -weights
            toward[best] += 1.0
            _move(weights, toward, _line_maximum(values, totals, weights, toward, 1.0))
        before = weights.copy()
        for _ in range(30):
            gradient = _gradient(values, totals, weights)
            direction = _newton_direction(totals, weights, gradient, weights)
            ascent = np.dot(direction, gradient)
            if not ascent > 1e-15 * abs(reached):
                break
            longest = _longest_step(weights, direction)
            ahead = weights + min(1.0, longest) * direction
            step = min(1.0, longest)
            if np.dot(_gradient(values, totals, ahead), direction) < -0.5 * ascent:
                step = _line_maximum(values, totals, weights, direction, step)
            _move(weights, direction, step)
        if np.array_equal(before, weights):
            toward = -weights
            toward[best] += 1.0
            step = _line_maximum(values, totals, weights, toward, 1.0)
            _move(weights, toward, step)
            if np.array_equal(before, weights):
                return
