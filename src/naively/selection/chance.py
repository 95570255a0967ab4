"""What chance alone would give: p-values of gains, and how many features stand out of it."""

from __future__ import annotations

from typing import TypeVar

import numpy as np
from scipy.special import chdtrc

from naively._types import FloatArray
from naively.models.family import Family

S = TypeVar("S")


def p_values(family: Family[S], statistics: S) -> FloatArray:
    """Probability of a gain as large, if the feature were alike in all classes: (m,).

    Twice the gain is the likelihood-ratio statistic, asymptotically chi-squared (Wilks 1938).

    Raises
    ------
    ValueError
        If the gain of the model is no likelihood ratio.
    """
    if family.freedom is None:
        raise ValueError(f"The gain of {family.name} is no likelihood ratio: it has no p-values.")
    freedom = family.freedom(statistics)
    gain = family.gain(statistics)
    if family.penalty is not None:
        gain = np.maximum(gain + family.penalty(statistics), 0.0)
    # Without a free parameter nothing can be gained: chdtrc is NaN there.
    return np.asarray(np.where(np.equal(freedom, 0), 1.0, chdtrc(freedom, 2.0 * gain)))


def significant(p: FloatArray, q: float) -> int:
    """Count the features that Benjamini and Hochberg (1995) call significant.

    Parameters
    ----------
    p : (m,)
        p-values.
    q : float
        False discovery rate in (0, 1): the expected share of them that are false, at most.
    """
    ranked = np.sort(p)
    below = np.flatnonzero(ranked <= q * np.arange(1, len(p) + 1) / max(len(p), 1))
    return int(below[-1]) + 1 if len(below) else 0
