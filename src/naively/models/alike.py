r"""Whether a feature is alike in all classes: the likelihood ratio, and the analysis of variance.

Twice a gain is the likelihood-ratio statistic. Its p-values are those of the model: where counts
vary more than its law allows, or the law is of shares of all occurrences, rows that are alike in
all classes look different. The analysis of variance asks for rows. Of a feature with f_ic in the
n_c rows of class c, g_i in all n rows, and the sum q_i of the squares in all of them,

    between_i = sum_c (f_ic - n_c g_i / n)^2 / n_c          total_i = q_i - g_i^2 / n
    F_i = between_i / (C - 1) / ((total_i - between_i) / (n - C))

is compared with the law F of C - 1 and n - C degrees of freedom (Fisher 1925). It asks for the
means alone, and takes the dispersion within the classes from the rows: counts may come in bursts,
vary more than a Poisson law allows, or be 0 or 1. The mean of between_i / total_i over all
permutations of the labels is (C - 1) / (n - 1), that of the law, whatever the entries are.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from naively._types import Array, FloatArray
from naively.models.family import Family, S, all_rows, blocks, weight_of

_CONSTANT = 2.0**-40  # share of the squares that stands for no variance


def p_values(family: Family[S], statistics: S) -> FloatArray:
    """Probability of a gain as large, if the feature were alike in all classes: (m,).

    Twice the gain is the likelihood-ratio statistic, asymptotically chi-squared (Wilks 1938).

    Raises
    ------
    ValueError
        If the gain of the model is no likelihood ratio.
    """
    from scipy.special import chdtrc  # 0.1 s to import

    if family.freedom is None:
        raise ValueError(f"The gain of {family.name} is no likelihood ratio: it has no p-values.")
    freedom = family.freedom(statistics)
    gain = family.gain(statistics)
    if family.penalty is not None:
        gain = np.maximum(gain + family.penalty(statistics), 0.0)
    # Without a free parameter nothing can be gained: chdtrc is NaN there.
    return np.asarray(np.where(np.equal(freedom, 0), 1.0, chdtrc(freedom, 2.0 * gain)))


def alike_in_rows(sums: Array, weight: FloatArray, squares: FloatArray) -> FloatArray:
    """Probability of classes as different, if the rows of all are alike: (m,).

    Parameters
    ----------
    sums : (m, C)
        Sum of the entries in each class.
    weight : (C,) or (m, C)
        Weight of the rows of each class, or of those that tell of each feature.
    squares : (m,)
        Sum of the squares of the entries.
    """
    p = np.empty(len(sums))
    for block in blocks(*sums.shape):
        f, some = np.asarray(sums[block], dtype=np.float64), squares[block]
        n_c = np.broadcast_to(weight if weight.ndim == 1 else weight[block], f.shape)
        n, g = all_rows(n_c), f.sum(axis=1)
        excess = (f * n[:, None] - n_c * g[:, None]) / n[:, None]
        between = np.divide(excess**2, n_c, out=np.zeros_like(f), where=n_c > 0).sum(axis=1)
        p[block] = probability(between, some - g * (g / n), n_c, _CONSTANT * some)
    return p


def alike_in_means(statistics: Any, _: FloatArray | None = None) -> FloatArray:
    """Return the same probability, (m,), of statistics that have means and variances by class.

    It asks neither for the shape of the law nor for its dispersion: a likelihood ratio of variances
    fails where columns have many zeros, one of counts where their dispersion is estimated.
    """
    mean = statistics.mean
    weight = np.broadcast_to(weight_of(statistics, slice(None)), mean.shape)
    center = np.sum(weight * mean, axis=1) / all_rows(weight)
    between = np.sum(weight * (mean - center[:, None]) ** 2, axis=1)
    within = np.sum(weight * statistics.variance, axis=1)
    return probability(
        between, within + between, weight, _CONSTANT * np.sum(weight * mean**2, axis=1)
    )


def probability(
    between: FloatArray, total: FloatArray, weight: FloatArray, least: FloatArray
) -> FloatArray:
    """Tail of the law F, (m,): of squares (m,) between the classes and in all.

    It is 1 where all do not exceed the `least` (m,), or no row is left to tell the dispersion.
    """
    from scipy.special import fdtrc  # 0.1 s to import

    freedom = np.maximum(np.count_nonzero(weight, axis=-1) - 1, 0)
    rest = weight.sum(axis=-1) - freedom - 1
    told = (total > least) & (freedom > 0) & (rest > 0)
    within = np.maximum(total - between, 0.0)
    with np.errstate(divide="ignore", invalid="ignore"):
        tail = fdtrc(freedom, rest, (between / freedom) / (within / rest))
    return np.asarray(np.where(told, tail, 1.0))
