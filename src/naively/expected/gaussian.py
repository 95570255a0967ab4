"""Normal approximations to the log-odds, with three variances.

"normal" has the exact variance; "uncorrelated" and "compensated" are those of ERR eq. (25) and
eq. (26), kept to compare with the paper. In eq. (26) a factor N (the paper's m) inside the last
bracket is one too many; it is left out here.
"""

from __future__ import annotations

import numpy as np

from naively._types import FloatArray
from naively.expected.log_odds import LogOdds


def exact_variance(law: LogOdds) -> float:
    """Variance per draw, all correlations included."""
    return law.variance()


def uncorrelated_variance(law: LogOdds) -> float:
    """Variance per draw without the correlations between features (ERR eq. 8 and 25)."""
    p, a, rest, rest_weight = _cells(law)
    between = 2 * p * rest * a * rest_weight
    own = (p * (1 - p) * a**2 - between).sum() + rest * (1 - rest) * rest_weight**2
    return max(float(own), 0.0)


def compensated_variance(law: LogOdds) -> float:
    """Variance per draw, correlations compensated through the total count (ERR eq. 21 and 26)."""
    p, a, rest, _ = _cells(law)
    if rest >= 1:
        return 0.0
    drift = float((a * p).sum()) / (1 - rest)
    surplus = float((p * (1 - p)).sum()) - rest * (1 - rest)
    return max(uncorrelated_variance(law) - drift**2 * surplus, 0.0)


def _cells(law: LogOdds) -> tuple[FloatArray, FloatArray, float, float]:
    """Probabilities and log-odds of the features, and of the rest cell."""
    p, a = law.probability[0], law.value[0]
    return (p[:-1], a[:-1], float(p[-1]), float(a[-1])) if law.has_rest else (p, a, 0.0, 0.0)


def normal_tail(
    law: LogOdds, variance: float, lengths: FloatArray, weights: FloatArray
) -> tuple[float, float]:
    """Weighted probabilities over the lengths (L,) that the sum exceeds, or meets, the threshold.

    A sum without variance is no normal law: it lies above, on or below the threshold.
    """
    from scipy.special import ndtr  # 0.1 s to import

    distance = lengths * law.mean() - law.threshold
    deviation = np.sqrt(lengths * variance)
    tolerance = law.tolerance()
    sure = deviation <= tolerance
    above = ndtr(np.divide(distance, deviation, out=np.zeros_like(distance), where=~sure))
    above = np.where(sure, distance > tolerance, above)
    tie = sure & (np.abs(distance) <= tolerance)
    return float(weights @ above), float(weights @ tie)
