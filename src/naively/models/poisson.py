r"""Sparse Poisson naive Bayes.

An entry of feature i in a row of class c is Poisson with mean lambda_ci. With f_ci the sum of the
entries and n_c rows, a free feature has lambda_ci = f_ci / n_c, a pooled one g_i / n, and

    gain_i = sum_c f_ci log( (f_ci / n_c) / (g_i / n) )         nats, >= 0

adds up over the features: the k largest are the optimum. The logarithms of the factorials are the
same for all models of the same data, and left out.

Smoothing adds alpha * C * n_c / n to f_ci: alpha for each class on average, shared out in
proportion to the rows. So it moves all rates of a feature towards each other, and a feature whose
rates agree still gains nothing.

Rows of exposure e have mean e lambda_ci, and the exposures E_c of the classes take the place of
n_c (:mod:`naively.models.exposure`).

Distance of two classes (:mod:`naively.models.distances`), with the rates l, r of a feature:

    B = (l^(1/2) - r^(1/2))^2 / 2

Standard error of a weight log lambda_ci, from the information of the smoothed likelihood:
se^2 = 1 / f_ci. The z-score of a feature (:mod:`naively.models.contrast`) takes its rates.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from functools import partial

import numpy as np
from numpy.typing import ArrayLike

from naively._types import Array, FloatArray, IntArray
from naively.models.contrast import (
    Contrast,
    log2_ratio,
    log_rates,
    ratio,
    root_of_sum,
    shares_of,
    weight_difference,
)
from naively.models.counting import test_of_counts
from naively.models.distances import Distances, euclidean
from naively.models.exposure import checked_exposure, mean_exposure, of_exposure, refuse_holes
from naively.models.family import (
    CountTable,
    Family,
    Separable,
    SeparableCounts,
    all_rows,
    blocks,
    checked_alpha,
    divergence,
    excess_rounding,
    one_a_class,
    separable,
    smoothed,
    smoothing,
    weight_of,
)
from naively.models.kinds import COUNTS
from naively.models.model import Model, ignored
from naively.models.priors import fitted_prior
from naively.models.rules import LinearRule, event_log
from naively.statistics.counts import ClassCounts
from naively.statistics.exposure import Exposure


@dataclass(frozen=True, slots=True)
class SomeCounts:
    """Counts of some columns."""

    table: Array  # (d, C)
    feature_weight: FloatArray  # (C,) or (d, C)
    observed: FloatArray | None = None  # not needed of rates


def model(
    *,
    alpha: ArrayLike = 1.0,
    fit_prior: bool = True,
    class_prior: ArrayLike | None = None,
    exposure: Exposure = None,
    missing: str = "error",
) -> Model[ClassCounts]:
    """Poisson model of entries with a mean for each class."""
    alpha, exposure, ignores = checked_alpha(alpha), checked_exposure(exposure), ignored(missing)
    refuse_holes(exposure, ignores=ignores)
    return Model(
        name="poisson",
        family=of_exposure(poisson(alpha), exposure),
        gather=partial(ClassCounts.from_matrix, exposure=exposure, missing=ignores),
        log_prior=partial(fitted_prior, fit_prior=fit_prior, class_prior=class_prior),
        words=COUNTS,
        alpha=alpha,
        ignores_missing=ignores,
        learns_prior=fit_prior and class_prior is None,
        exposure=exposure,
    )


def poisson(alpha: object = 1.0) -> Family[CountTable]:
    """Poisson model with smoothing `alpha` (a number, or one per feature)."""
    alpha = checked_alpha(alpha)
    return Family(
        name="Poisson",
        gain=smoothed(_all_gains, alpha),
        problem=smoothed(_problem, alpha),
        rule=smoothed(_rule, alpha),
        freedom=one_a_class,
        test=test_of_counts,
        distances=smoothed(_distances, alpha),
        contrast=smoothed(_contrast, alpha),
        weight_variance=smoothed(_weight_variance, alpha),
    )


def poisson_gain(
    table: Array, class_weight: FloatArray, alpha: float | FloatArray = 0.0
) -> FloatArray:
    """Nats gained by freeing each feature.

    Parameters
    ----------
    table : (m, C)
        Sum of the entries in each class.
    class_weight : (C,) or (m, C)
        Weight of the rows of each class, or of those that tell of each feature.
    alpha : float or (m,)
        Smoothing.

    Returns
    -------
    (m,) non-negative.
    """
    smooth = smoothing(alpha, len(table))
    gain = np.empty(len(table))
    for block in blocks(*table.shape):
        part = smooth if isinstance(smooth, float) else smooth[block]
        weight = class_weight if class_weight.ndim == 1 else class_weight[block]
        gain[block] = divergence(*against_pooled(table[block], weight, part)).sum(axis=1)
    return gain


def against_pooled(
    table: Array, class_weight: FloatArray, smooth: float | FloatArray
) -> tuple[FloatArray, FloatArray]:
    """Smoothed sums (m, C) less what the pooled rates expect, and these expectations.

    The excess is one exact difference of products: rates that agree leave nothing.
    """
    n_classes, n = table.shape[1], all_rows(class_weight)[..., None]
    _, power = np.frexp(n)  # products of light weights would vanish; powers of two cancel exactly
    n, class_weight = np.ldexp(n, -power), np.ldexp(class_weight, -power)
    f = np.asarray(table, dtype=np.float64)
    g = f.sum(axis=1, keepdims=True)
    excess = (f * n - class_weight * g) / n  # the smoothing cancels
    return excess, class_weight * ((g + n_classes * smooth) / n)


def rates(
    statistics: CountTable, support: IntArray, alpha: float | FloatArray
) -> tuple[FloatArray, FloatArray]:
    """Mean entry of each feature: pooled (m,), and by class on the support (C, k)."""
    table, weight = statistics.table, weight_of(statistics, support)
    added = table.shape[1] * np.asarray(alpha)
    pooled = (table.sum(axis=1) + added) / all_rows(statistics.feature_weight)
    of_support = added if added.ndim == 0 else added[support]
    by_class = weight[:, None] if weight.ndim == 1 else weight.T
    f = table[support].T + by_class * of_support / all_rows(weight)
    occupied = by_class > 0
    free = np.where(occupied, f / np.where(occupied, by_class, 1.0), pooled[support])
    return pooled, free


def sparse_rates(
    statistics: CountTable, support: IntArray, alpha: float | FloatArray
) -> FloatArray:
    """Mean entry of each class and feature (C, m): free on the support, pooled elsewhere."""
    pooled, free = rates(statistics, support, alpha)
    rate = np.tile(pooled, (statistics.table.shape[1], 1))
    rate[:, support] = free
    return rate


def _gain(alpha: float | FloatArray, statistics: CountTable, table: Array) -> FloatArray:
    return poisson_gain(table, statistics.feature_weight, alpha)


def _all_gains(alpha: float | FloatArray, statistics: CountTable) -> FloatArray:
    return poisson_gain(statistics.table, statistics.feature_weight, alpha)


def _rounding(
    alpha: float | FloatArray, statistics: CountTable, table: Array, gain: FloatArray
) -> FloatArray:
    return excess_rounding(gain, table.sum(axis=1) + table.shape[1] * np.asarray(alpha))


def _some_roundings(
    alpha: float | FloatArray, statistics: CountTable, columns: IntArray, gain: FloatArray
) -> FloatArray:
    smooth = alpha if isinstance(alpha, float) else alpha[columns]
    return _rounding(smooth, statistics, statistics.table[columns], gain)


def _pooled(alpha: float | FloatArray, statistics: CountTable, table: Array) -> FloatArray:
    from scipy.special import xlogy  # 0.1 s to import

    g = table.sum(axis=1) + table.shape[1] * np.asarray(alpha)
    return np.asarray(xlogy(g, g / all_rows(statistics.feature_weight)) - g)


def _problem(alpha: float | FloatArray, statistics: CountTable) -> Separable | SeparableCounts:
    if isinstance(alpha, float) and statistics.feature_weight.ndim == 1:
        return SeparableCounts(
            statistics.table,
            partial(_gain, alpha, statistics),
            partial(_pooled, alpha, statistics),
            partial(_rounding, alpha, statistics),
        )
    return separable(
        partial(_all_gains, alpha),
        partial(_baseline, alpha),
        partial(_some_roundings, alpha),
        statistics,
    )


def _baseline(alpha: float | FloatArray, statistics: CountTable) -> float:
    return float(np.sum(_pooled(alpha, statistics, statistics.table)))


def _rule(
    alpha: float | FloatArray, statistics: CountTable, support: IntArray, log_prior: FloatArray
) -> LinearRule:
    """Weights log lambda_ci; the constant is -sum lambda_ci."""
    _, rate = rates(statistics, support, alpha)
    rule = rate_rule(log_prior, rate, np.ones_like(rate), rate)
    return rule if statistics.observed is None else replace(rule, offset=-rate)


def rate_rule(
    log_prior: FloatArray, mean: FloatArray, scale: FloatArray, cost: FloatArray
) -> LinearRule:
    """Rule of weights log(mean / scale) and costs of each feature, (C, k), whatever the entry."""
    weights, never = event_log(mean, scale)
    intercept = log_prior - cost.sum(axis=1)
    if not never.any():
        return LinearRule(intercept, weights, log_prior)
    return LinearRule(
        intercept, weights, log_prior, np.zeros(len(log_prior)), never.astype(np.float64)
    )


def free_rates(statistics: CountTable, columns: IntArray, alpha: float | FloatArray) -> FloatArray:
    """Mean entry of each class, (d, C), of columns that are all free."""
    of_columns = np.broadcast_to(alpha, len(statistics.table))
    some = SomeCounts(statistics.table[columns], weight_of(statistics, columns))
    return rates(some, np.arange(len(columns)), of_columns[columns])[1].T


def _distances(alpha: float | FloatArray, statistics: CountTable) -> Distances:
    def roots(columns: IntArray) -> FloatArray:
        return np.sqrt(0.5 * free_rates(statistics, columns, alpha))

    m, n_classes = statistics.table.shape
    return euclidean(m, n_classes, roots)


def _weight_variance(
    alpha: float | FloatArray, statistics: CountTable, columns: IntArray
) -> FloatArray:
    n = weight_of(statistics, columns)
    with np.errstate(divide="ignore", over="ignore"):
        return np.asarray(1.0 / (free_rates(statistics, columns, alpha) * n))


def _contrast(
    alpha: float | FloatArray, statistics: CountTable, columns: IntArray, prior: float
) -> Contrast:
    y, n = np.asarray(statistics.table[columns], dtype=np.float64), weight_of(statistics, columns)
    effect, error = log_rates(y, n, prior * mean_exposure(statistics))
    return Contrast(
        effect=effect,
        z=ratio(effect, error),
        log2_fold_change=log2_ratio(shares_of(y, n)),
        weight=weight_difference(_rule(alpha, statistics, columns, np.zeros(2))),
        standard_error=root_of_sum(_weight_variance(alpha, statistics, columns)),
    )
