"""Derivatives of a conditional likelihood in one pass over the features."""

from __future__ import annotations

import numpy as np

from naively._types import FloatArray, IntArray
from naively.kernels.compiled import kernel


@kernel
def conditional_derivatives(
    features: FloatArray,
    codes: IntArray,
    weights: FloatArray,
    intercept: FloatArray,
    theta: FloatArray,
    posterior: FloatArray,
    slope: FloatArray,
    across: FloatArray,
    curvature: FloatArray,
) -> float:
    """Return the log-likelihood of some rows, in nats, and fill what follows from it.

    Parameters
    ----------
    features, codes, weights
        b (n, R, C), and the class and weight of each row (n,).
    intercept, theta
        t (C,) and theta (R,).
    posterior : array of shape (n, C)
        Filled with P(c | row).
    slope, across, curvature : arrays of shape (R,), (C, R) and (R, R)
        To which are added: the derivative by theta, and the negative second derivatives by
        intercept and theta and by theta alone.
    """
    n, n_regions, n_classes = features.shape
    mean = np.empty(n_regions)
    value = 0.0
    for i in range(n):
        p, own = posterior[i], codes[i]
        p[:] = intercept
        for r in range(n_regions):
            for c in range(n_classes):
                p[c] += theta[r] * features[i, r, c]
        value += weights[i] * _softmax(p, own)
        for r in range(n_regions):
            mean[r] = 0.0
            for c in range(n_classes):
                mean[r] += p[c] * features[i, r, c]
            slope[r] += weights[i] * (features[i, r, own] - mean[r])
        for c in range(n_classes):
            weight = weights[i] * p[c]
            for r in range(n_regions):
                around = weight * (features[i, r, c] - mean[r])
                across[c, r] += around
                for q in range(r + 1):
                    curvature[r, q] += around * (features[i, q, c] - mean[q])
    return value


@kernel
def _softmax(scores: FloatArray, own: int) -> float:
    """Turn scores into probabilities in place; return the log of that of one class."""
    top = scores.max()
    mine = scores[own] - top
    total = 0.0
    for c in range(len(scores)):
        scores[c] = np.exp(scores[c] - top)
        total += scores[c]
    for c in range(len(scores)):
        scores[c] /= total
    return float(mine - np.log(total))
