r"""Tail probabilities of the log-odds by the saddlepoint method (Lugannani and Rice 1980).

With the cumulant function :math:`K(s)` of the sum and s solving :math:`K'(s) = t`,

.. math::
    P(L > t) \approx 1 - \Phi(w) + \varphi(w) (1/u - 1/w), \quad
    w = \mathrm{sign}(s) \sqrt{2 (s t - K(s))}, \quad u = s \sqrt{K''(s)}.

The skewness that makes the normal approximation wrong by factors in the tails is taken care of.
The law is treated as continuous: half of a tie counts as above.
"""

from __future__ import annotations

import math

import numpy as np

from naively._types import FloatArray
from naively.expected.log_odds import LogOdds

_MAX_STEPS = 1100  # halvings from the largest number to the last digit of one near 1


def saddlepoint_tail(law: LogOdds, lengths: FloatArray, weights: FloatArray) -> tuple[float, float]:
    """Weighted probabilities over the lengths (L,) that the sum exceeds, or meets, the threshold.

    Whatever is sure (no draw, or a threshold outside of what the sum can reach) is exact.
    """
    above, tie = 0.0, 0.0
    for length, weight in zip(lengths.tolist(), weights.tolist(), strict=True):
        if weight > 0:
            one_above, one_tie = _tail(law, length)
            above, tie = above + weight * one_above, tie + weight * one_tie
    return above, tie


def _tail(law: LogOdds, length: float) -> tuple[float, float]:
    possible = law.probability > 0
    highest = length * float(np.where(possible, law.value, -np.inf).max(axis=1).sum())
    lowest = length * float(np.where(possible, law.value, np.inf).min(axis=1).sum())
    tolerance = law.tolerance()
    if length == 0 or highest - lowest <= tolerance:
        value = highest if length else 0.0
        return float(value > law.threshold + tolerance), float(
            abs(value - law.threshold) <= tolerance
        )
    if law.variance() == 0:  # what is not sure has less probability than numbers have digits
        value = length * cumulants(law, 0.0)[1]
        return float(value > law.threshold), 0.0
    if law.threshold >= highest - tolerance:
        return 0.0, _edge(law, length, highest, "max")
    if law.threshold <= lowest + tolerance:
        tie = _edge(law, length, lowest, "min")
        return 1.0 - tie, tie
    return _lugannani_rice(law, length, _saddlepoint(law, law.threshold / length)), 0.0


def _edge(law: LogOdds, length: float, value: float, side: str) -> float:
    """Probability of the largest (smallest) possible sum, if that is the threshold."""
    tolerance = law.tolerance()
    if abs(value - law.threshold) > tolerance:
        return 0.0
    possible = law.probability > 0
    fill = -np.inf if side == "max" else np.inf
    edge = getattr(np.where(possible, law.value, fill), side)(axis=1, keepdims=True)
    mass = np.where(possible & (np.abs(law.value - edge) <= tolerance), law.probability, 0.0)
    return float(np.exp(length * np.log(mass.sum(axis=1)).sum()))


def cumulants(law: LogOdds, s: float) -> tuple[float, float, float, float]:
    """Cumulant function of one draw and its first three derivatives at s."""
    exponent = np.where(law.probability > 0, s * law.value, -np.inf)
    shift = exponent.max(axis=1, keepdims=True)
    tilted = law.probability * np.exp(exponent - shift)
    total = tilted.sum(axis=1, keepdims=True)
    tilted /= total
    mean = (tilted * law.value).sum(axis=1, keepdims=True)
    centred = np.where(law.probability > 0, law.value - mean, 0.0)
    return (
        float((shift + np.log(total)).sum()),
        float(mean.sum()),
        float((tilted * centred**2).sum()),
        float((tilted * centred**3).sum()),
    )


def _saddlepoint(law: LogOdds, target: float) -> float:
    """Solve K'(s) = target for one draw: Newton's step, kept inside a bracket."""
    low, high, s = -math.inf, math.inf, 0.0
    scale = math.sqrt(law.variance())
    for _ in range(_MAX_STEPS):
        _, slope, curvature, _ = cumulants(law, s)
        if abs(slope - target) <= 1e-13 * (scale + abs(target)):
            break
        low, high = (s, high) if slope < target else (low, s)
        # Far out the curvature dies away: never go further than four deviations or twice as far.
        reach = 4 / scale + abs(s)
        step = (
            (target - slope) / curvature if curvature > 0 else math.copysign(reach, target - slope)
        )
        new = s + max(-reach, min(reach, step))
        s = new if low < new < high else (low + high) / 2
        if high - low <= 1e-15 * abs(s):
            break
    return s


def _lugannani_rice(law: LogOdds, length: float, s: float) -> float:
    from scipy.special import ndtr  # 0.1 s to import

    K, slope, curvature, skew = cumulants(law, s)
    w = math.copysign(math.sqrt(max(2 * length * (s * slope - K), 0.0)), s)
    if abs(w) < 1e-4:
        # The two poles of 1/u - 1/w cancel at the mean; this is their limit.
        skewness = skew / curvature / math.sqrt(curvature) if curvature > 0 else 0.0
        limit = 0.5 - skewness / (6 * math.sqrt(2 * math.pi * length))
        return min(max(limit, 0.0), 1.0)
    u = s * math.sqrt(length * curvature)
    if u == 0:  # the curvature has died away
        return float(ndtr(-w))
    density = math.exp(-w * w / 2) / math.sqrt(2 * math.pi)
    tail = float(ndtr(-w)) + density * (1 / u - 1 / w)
    return min(max(tail, 0.0), 1.0)
