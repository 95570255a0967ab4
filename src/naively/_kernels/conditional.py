"""Derivatives of a conditional likelihood in one pass over the features."""

from __future__ import annotations

from typing import Any

import numpy as np

from naively._kernels.compiled import kernel
from naively._types import FloatArray, IntArray


@kernel
def conditional_derivatives(
    features: FloatArray,
    codes: IntArray,
    weights: FloatArray,
    point: FloatArray,
    between: bool,
    posterior: FloatArray,
    gradient: FloatArray,
    curvature: FloatArray,
) -> float:
    """Return the log-likelihood of some rows, in nats, and add up its derivatives.

    Parameters
    ----------
    features, codes, weights
        b (n, R, C), and the class and weight of each row (n,).
    point
        t and theta, (C + R,).
    between : bool
        Whether to do the curvature between intercepts, which takes C^2 operations a row. If not,
        all rows of `posterior` are filled for someone else to do it.
    posterior : array of shape (1, C) or (n, C)
        Filled with P(c | row).
    gradient, curvature : arrays of shape (C + R,) and (C + R, C + R)
        To which are added: the derivative, and the lower triangle of the negative second one.
    """
    n, n_regions, n_classes = features.shape
    mean = np.empty(n_regions)
    value = 0.0
    for i in range(n):
        own, weight = codes[i], weights[i]
        row = 0 if between else i
        _score(point, features, i, posterior, row)
        value += weight * _softmax(posterior, row, own)
        for r in range(n_regions):
            mean[r] = 0.0
            for c in range(n_classes):
                mean[r] += posterior[row, c] * features[i, r, c]
            gradient[n_classes + r] += weight * (features[i, r, own] - mean[r])
        gradient[own] += weight
        for c in range(n_classes):
            share = weight * posterior[row, c]
            gradient[c] -= share
            if between:
                curvature[c, c] += share
                for d in range(c + 1):
                    curvature[c, d] -= share * posterior[row, d]
            for r in range(n_regions):
                around = share * (features[i, r, c] - mean[r])
                curvature[n_classes + r, c] += around
                for q in range(r + 1):
                    curvature[n_classes + r, n_classes + q] += around * (
                        features[i, q, c] - mean[q]
                    )
    return value


@kernel
def _score(point: FloatArray, features: FloatArray, i: int, scores: FloatArray, row: int) -> None:
    """Set a row of scores to t_c + sum_r theta_r b_irc."""
    n_regions, n_classes = features.shape[1:]
    for c in range(n_classes):
        score = point[c]
        for r in range(n_regions):
            score += point[n_classes + r] * features[i, r, c]
        scores[row, c] = score


@kernel
def _softmax(scores: FloatArray, i: int, own: Any) -> float:
    """Turn a row of scores into probabilities in place; return the log of that of one class."""
    n_classes = scores.shape[1]
    best = 0
    for c in range(1, n_classes):
        if scores[i, c] > scores[i, best]:
            best = c
    top, mine = scores[i, best], scores[i, own] - scores[i, best]
    total = 0.0
    for c in range(n_classes):
        scores[i, c] = 1.0 if c == best else np.exp(scores[i, c] - top)
        total += scores[i, c]
    scale = 1 / total
    for c in range(n_classes):
        scores[i, c] *= scale
    return float(mine - np.log(total))
