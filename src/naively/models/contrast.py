r"""How two classes differ in each feature, and how sure that is: log-odds ratios and z-scores.

Of a feature that makes up y of n in a class (occurrences of all occurrences, or rows of all rows),
with y_0 of n_0 that are expected a priori, the log-odds are

    delta = log( (y + y_0) / (n + n_0 - y - y_0) )
    var(delta) = 1 / (y + y_0) + 1 / (n + n_0 - y - y_0)

approximately, and z is the difference of two classes over the root of the sum of their variances
(Monroe, Colaresi, Quinn 2008, "Fightin' words", Political Analysis 16, equations 15 to 22). The
prior is informative: y_0 is n_0 times the share of the feature in both classes together, n_0 as
large as asked for. So a rare feature, whose odds may differ by chance, is drawn towards no
difference. A rate, a mean y / n of counts, has log(y + y_0) - log(n + n_0) of variance
1 / (y + y_0) under the Gamma prior of the same kind.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from naively._types import FloatArray, IntArray
from naively.models.rules import LinearRule, weights_of_classes


@dataclass(frozen=True, slots=True)
class Contrast:
    """The second of two classes against the first, in k features: (k,) each.

    A figure that has no sense is NaN.
    """

    effect: FloatArray  # above 0 where the second class has more of the feature
    z: FloatArray  # effect over its standard error
    log2_fold_change: FloatArray  # of the rates, shares or means, as counted
    weight: FloatArray  # nats that the rule adds to the second class for a unit of the feature
    standard_error: FloatArray  # of the weight
    shares: FloatArray | None = None  # (k, 2) of rows with the feature; None: it is not known
    category: IntArray | None = None  # that tells the second class best, of categories


def log_odds(y: FloatArray, n: FloatArray, prior: float) -> tuple[FloatArray, FloatArray]:
    """Log-odds ratio of two classes, and its standard error: (k,) each.

    Parameters
    ----------
    y : (k, 2)
        Of each feature, or category, in each class.
    n : (2,) or (k, 2)
        Of all; of those that may have each feature, if they differ.
    prior : float
        n_0 of each class.
    """
    expected = y.sum(axis=1, keepdims=True) / _all(n) * prior
    inside = y + expected
    return _difference(inside, np.maximum(n + prior - inside, 0.0))


def _all(n: FloatArray) -> FloatArray:
    total = n.sum(axis=-1, keepdims=True)
    return np.where(total > 0, total, 1.0)


def _difference(inside: FloatArray, outside: FloatArray) -> tuple[FloatArray, FloatArray]:
    with np.errstate(divide="ignore", invalid="ignore"):
        odds = np.log(inside) - np.log(outside)
        variance = (1.0 / inside + 1.0 / outside).sum(axis=1)
        effect = odds[:, 1] - odds[:, 0]
    return np.where(np.isnan(effect), 0.0, effect), np.sqrt(variance)


def log_rates(
    y: FloatArray, n: FloatArray, prior: float, dispersion: FloatArray | float = 0.0
) -> tuple[FloatArray, FloatArray]:
    """Log ratio of the rates y / n of two classes, and its standard error: (k,) each.

    Parameters
    ----------
    y : (k, 2)
        Sum of the entries of each feature in each class.
    n : (2,) or (k, 2)
        Rows; those that tell of each feature, if they differ.
    prior : float
        Rows of the mean rate that are expected a priori in each class.
    dispersion : (k,) or float
        By which the variance of a mean mu is mu + dispersion mu^2.
    """
    inside = y + y.sum(axis=1, keepdims=True) / _all(n) * prior
    mean = inside / (n + prior)
    over = 1.0 + np.reshape(dispersion, (-1, 1)) * mean
    with np.errstate(divide="ignore", invalid="ignore"):
        effect = np.log(mean[:, 1]) - np.log(mean[:, 0])
        error = np.sqrt((over / inside).sum(axis=1))
    return np.where(np.isnan(effect), 0.0, effect), error


def log2_ratio(rate: FloatArray) -> FloatArray:
    """Binary logarithm of the second rate over the first (k, 2); NaN unless both are >= 0."""
    rate = np.where(rate < 0, np.nan, rate)
    with np.errstate(divide="ignore", invalid="ignore"):
        return np.asarray(np.log2(rate[:, 1]) - np.log2(rate[:, 0]))


def shares_of(y: FloatArray, n: FloatArray) -> FloatArray:
    """Share y / n of each class, (k, 2); NaN in a class of nothing."""
    return np.asarray(y / np.where(n > 0, n, np.nan))


def ratio(value: FloatArray, error: FloatArray) -> FloatArray:
    """Value over its standard error, (k,); 0 where the value is."""
    with np.errstate(divide="ignore", invalid="ignore"):
        return np.where(value == 0, 0.0, value / error)


def weight_difference(rule: LinearRule) -> FloatArray:
    """Weight of the second of two classes against the first, (k,); infinite where one is vetoed."""
    return weights_of_classes(rule)[:, 1]


def relative_errors(variance: FloatArray) -> FloatArray:
    """Return standard errors (k, C) of weights as `weights_of_classes` compares them.

    Those of independent weights w_c of variances v_c (k, C): the variance of w_c less the mean is
    v_c (1 - 2 / C) + sum_a v_a / C^2; that of the difference of two is their sum.
    """
    n = variance.shape[1]
    if n == 2:
        return np.repeat(root_of_sum(variance)[:, None], 2, axis=1)
    shared = variance.sum(axis=1, keepdims=True) / n**2
    return np.asarray(np.sqrt((1.0 - 2.0 / n) * variance + shared))


def root_of_sum(variance: FloatArray) -> FloatArray:
    """Return the standard error of a difference of two classes, from their variances (k, 2)."""
    return np.asarray(np.sqrt(variance.sum(axis=1)))
