r"""Sparse negative binomial naive Bayes: counts that vary more than a Poisson law allows.

An entry x of feature i in a row of class c is negative binomial with mean mu_ci and dispersion
phi_i, which the classes share: Var = mu_ci + phi_i mu_ci^2. Up to what depends on x and phi_i
alone (sum_{t < x} log(1 + phi_i t), less log x!, which no choice of features changes),

    log P(x) = x log( mu_ci / (1 + phi_i mu_ci) ) - log(1 + phi_i mu_ci) / phi_i

is linear in x. So the sums of the entries f_ci, the rows n_c and phi_i are all that the likelihood
needs. Whatever phi_i is, a free feature has mu_ci = f_ci / n_c, a pooled one g_i / n, and

    gain_i = log-likelihood free minus pooled, with the same phi_i in both,

is never negative and adds up over the features: given the dispersions, the k largest gains are the
optimum, for every k. Smoothing is that of the Poisson model: it adds alpha C n_c / n to f_ci.

The gain is a sum of terms that are not negative. With e_ci = n_c g_i / n, P_ci = 1 + phi_i mu_ci,
Q_i = 1 + phi_i g_i / n, and D(x, e) = x log(x / e) - x + e,

    gain_i = sum_c D(f_ci, e_ci P_ci / Q_i) + n_c / phi_i D(1, P_ci / Q_i)

where both arguments of a D differ by (f_ci - e_ci) / Q_i, up to a factor. (The divergence of two
such laws is (1 + phi mu) / phi times that of the Bernoulli laws of phi mu / (1 + phi mu).) Without
dispersion the second term vanishes and the first is the gain of the Poisson model, bit for bit;
with phi large the gain goes to that of gamma laws, sum_c n_c / phi (t - 1 - log t), t = mu_ci n /
g_i. P and Q are both divided by 1 + phi, so that nothing overflows.

Dispersions by moments: within the classes, variances exceed means by phi_i times squared means, so

    phi_i = max(0, sum_c n_c (v_ci - m_ci) / sum_c n_c m_ci^2)

with means m_ci and variances v_ci divided by n_c, before smoothing. (Of few rows this is a little
low, as variances so divided are; to divide by n_c - 1 would make weights other than repetition.)
Means and squared deviations add up over batches and machines. The likelihood of phi needs every
single entry instead: its maximum does not follow from sums of a fixed size, and is left out.

A row of exposure e is what e independent rows of exposure 1 add up to: the law is infinitely
divisible, with mean e mu and dispersion phi / e, so that Var = e mu (1 + phi mu). Then

    log P(x) = x log( mu / (1 + phi mu) ) - e log(1 + phi mu) / phi + what x, e and phi say alone

and all above holds with the exposures E_c = sum e in place of n_c (:mod:`naively.models.exposure`).
(The other reading, Var = e mu + phi (e mu)^2, has no sums of fixed size: it needs every row.) The
expectation of sum (x - e mu)^2 / e = sum x^2 / e - f^2 / E over the n_c rows of e > 0 is n_c mu
(1 + phi mu), so that

    phi_i = max(0, sum_c (sum (x - e m_ci)^2 / e - n_c m_ci) / sum_c n_c m_ci^2)

with m_ci = f_ci / E_c are the moments above at e = 1. A dispersion that is given is that of a row
of mean exposure: what it says does not depend on the unit of the exposures.

A missing value, where it is left out, is left out of the sums, the rows n_c and n, and the squared
deviations of its own feature, and of the likelihood: all above holds feature by feature.

A feature that varies less than a Poisson law has phi_i = 0. A feature that never occurs has gain 0.

Distance of two classes of means l, r (:mod:`naively.models.distances`). The roots of the two laws
multiply to one of the same family but for its normalisation, so that

    B = log( ((1 + phi l) (1 + phi r))^(1/2) - phi (l r)^(1/2) ) / phi
      = log(1 + phi d / (((1 + phi l) (1 + phi r))^(1/2) + 1 + phi (l r)^(1/2))) / phi

with d = (l^(1/2) - r^(1/2))^2; the second form keeps the digits of small distances, and goes to
that of the Poisson model, d / 2, as phi goes to 0. It is at most d / (2 (1 + phi min(l, r))).

Standard error of a weight log(mu_ci / (1 + phi_i mu_ci)), from the information of the smoothed
likelihood at the dispersion given: se^2 = 1 / (n_c mu_ci (1 + phi_i mu_ci)). The z-score of a
feature (:mod:`naively.models.contrast`) takes its rates, whose variance the dispersion widens.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from functools import partial
from typing import Any, TypeAlias

import numpy as np
from numpy.typing import ArrayLike
from scipy.special import xlogy

from naively._types import FloatArray, IntArray
from naively.models.alike import alike_in_means
from naively.models.contrast import (
    Contrast,
    log2_ratio,
    log_rates,
    ratio,
    root_of_sum,
    shares_of,
    weight_difference,
)
from naively.models.distances import Distances, kept, largest, squares, weighed
from naively.models.exposure import checked_exposure, mean_exposure, of_exposure, refuse_holes
from naively.models.family import (
    Family,
    Separable,
    all_rows,
    alpha_of,
    blocks,
    checked_alpha,
    divergence,
    excess_rounding,
    one_a_class,
    separable,
    smoothing,
    weight_of,
)
from naively.models.kinds import RATES
from naively.models.model import Model, ignored
from naively.models.poisson import against_pooled, rate_rule, rates
from naively.models.priors import fitted_prior
from naively.models.rules import LinearRule
from naively.statistics.exposure import Exposure
from naively.statistics.matrix import as_matrix
from naively.statistics.missing import filled, missing_mask
from naively.statistics.moments import ClassMoments
from naively.statistics.source import check_counts

_LARGEST = 1e100  # dispersion; beyond, products of dispersions and means would overflow
_SLIP = 1e-9  # mean below 0 that is rounding: what a difference of sums of real numbers leaves

Dispersion: TypeAlias = FloatArray | None  # one value, or (m,); None: by moments


def model(
    *,
    alpha: ArrayLike = 1.0,
    fit_prior: bool = True,
    class_prior: ArrayLike | None = None,
    dispersion: ArrayLike = "moments",
    exposure: Exposure = None,
    missing: str = "error",
) -> Model[ClassMoments]:
    """Negative binomial model of entries with a mean for each class."""
    alpha, given = checked_alpha(alpha), checked_dispersion(dispersion)
    exposure, ignores = checked_exposure(exposure), ignored(missing)
    refuse_holes(exposure, ignores=ignores)
    return Model(
        name="negative-binomial",
        family=of_exposure(negative_binomial(alpha, dispersion), exposure),
        gather=partial(_gather, deviations=given is None, exposure=exposure, missing=ignores),
        log_prior=partial(fitted_prior, fit_prior=fit_prior, class_prior=class_prior),
        words=RATES,
        alpha=alpha,
        learns_prior=fit_prior and class_prior is None,
        exposure=exposure,
        ignores_missing=ignores,
    )


def _gather(
    X: Any, *labelled: ArrayLike | None, missing: bool = False, **keywords: Any
) -> ClassMoments:
    X = as_matrix(X)
    check_counts(filled(X, missing_mask(X)) if missing else X)  # moments take any sign
    return ClassMoments.from_matrix(X, *labelled, missing=missing, **keywords)


def checked_dispersion(dispersion: ArrayLike) -> Dispersion:
    """Dispersions that were given, one value or (m,); None for "moments".

    Raises
    ------
    ValueError
        If they are neither.
    """
    if isinstance(dispersion, str) and dispersion == "moments":
        return None
    try:
        values = np.asarray(dispersion, dtype=np.float64)
    except (TypeError, ValueError):
        values = np.array(np.nan)
    if values.ndim > 1 or not np.all((values >= 0) & (values <= _LARGEST)):
        raise ValueError(
            f"`dispersion` must be 'moments', or a number in [0, {_LARGEST:g}] (0: Poisson) or one "
            f"for each feature; got {dispersion!r}."
        )
    return values


def negative_binomial(
    alpha: object = 1.0, dispersion: ArrayLike = "moments"
) -> Family[ClassMoments]:
    """Negative binomial model.

    Parameters
    ----------
    alpha : float or (m,)
        Smoothing.
    dispersion : "moments", float or (m,)
        Of each feature, or how it is estimated.

    Raises
    ------
    ValueError
        If a parameter is none of these.
    """
    settings = checked_alpha(alpha), checked_dispersion(dispersion)
    gain = partial(_gain, *settings)
    return Family(
        name="negative binomial",
        gain=gain,
        problem=partial(_problem, *settings),
        rule=partial(_rule, *settings),
        freedom=one_a_class,
        distances=partial(_distances, *settings),
        contrast=partial(_contrast, *settings),
        weight_variance=partial(_weight_variance, *settings),
        test=alike_in_means,
    )


@dataclass(frozen=True, slots=True)
class SpreadCounts:
    """Sums of counts, and how far the counts spread."""

    table: FloatArray  # (m, C) sum of the entries of each feature in each class
    feature_weight: FloatArray  # (C,) of the rows, or their exposure; (m, C) of those that tell
    alpha: float | FloatArray  # one value, or (m,)
    dispersion: FloatArray  # (m,) of a row of exposure 1
    observed: FloatArray | None = None  # (m, C) of the rows that tell, if values may be missing


def spread_counts(
    alpha: float | FloatArray,
    dispersion: Dispersion,
    statistics: ClassMoments,
    columns: IntArray | None = None,
) -> SpreadCounts:
    """Return what the model needs to know of all features, or of some columns."""
    n_features = statistics.n_features
    alpha = alpha_of(alpha, n_features)
    given = None if dispersion is None else _for_each(dispersion, n_features)
    if columns is not None:
        statistics = statistics.take(columns)
        given = None if given is None else given[columns]
        alpha = alpha if isinstance(alpha, float) else alpha[columns]
    table = np.maximum(statistics.total, 0.0)  # a difference of sums may leave -1e-17
    phi = moment_dispersion(statistics) if given is None else given * mean_exposure(statistics)
    return SpreadCounts(table, statistics.feature_weight, alpha, phi, statistics.observed)


def _for_each(values: FloatArray, n_features: int) -> FloatArray:
    if values.shape not in ((), (n_features,)):
        raise ValueError(
            f"`dispersion` must be a number or have one value for each of the {n_features} "
            f"features; got {len(values)} values."
        )
    return np.broadcast_to(values, n_features)


def moment_dispersion(statistics: ClassMoments) -> FloatArray:
    """Dispersion of each feature by moments within the classes.

    Returns
    -------
    (m,) non-negative; 0 where a feature varies less than a Poisson law, or never occurs.
    """
    weight, mean = _rows(statistics), np.maximum(statistics.mean, 0.0)
    n = all_rows(weight)
    variance = statistics.pooled_variance() * mean_exposure(statistics)
    beyond = np.maximum(variance - _weighed(mean, weight) / n, 0.0)
    largest = mean.max(axis=1, initial=0.0)
    unit = np.where(largest > 0, largest, 1.0)  # squares of the means may overflow, ratios do not
    square = _weighed((mean / unit[:, None]) ** 2, weight) / n
    return np.divide(beyond / unit / unit, square, out=np.zeros_like(unit), where=square > 0)


def _weighed(values: FloatArray, weight: FloatArray) -> FloatArray:
    """Sum (m,) of a value (m, C) of each class, weighted by its rows, (C,) or (m, C)."""
    return np.asarray(values @ weight if weight.ndim == 1 else (values * weight).sum(axis=1))


def _rows(statistics: ClassMoments) -> FloatArray:
    """Weight of the rows of each class that are exposed, (C,), or tell of a feature, (m, C)."""
    return statistics.feature_weight if statistics.exposed is None else statistics.exposed


def negative_binomial_gain(counts: SpreadCounts) -> FloatArray:
    """Nats gained by freeing each feature.

    Returns
    -------
    (m,) non-negative.
    """
    table, phi = counts.table, counts.dispersion[:, None]
    smooth = smoothing(counts.alpha, len(table))
    gain = np.empty(len(table))
    for block in blocks(*table.shape):
        part = smooth if isinstance(smooth, float) else smooth[block]
        rows = weight_of(counts, block)
        excess, expected = against_pooled(table[block], rows, part)
        free = table[block] + table.shape[1] * part * rows / all_rows(rows)[..., None]
        gain[block] = _block_gain(excess, expected, free, rows, phi[block])
    return gain


def _block_gain(
    excess: FloatArray,
    expected: FloatArray,
    free: FloatArray,
    weight: FloatArray,
    phi: FloatArray,
) -> FloatArray:
    """Gain from smoothed sums of the classes (m, C), what they are expected to be, and phi (m, 1).

    One and phi are both divided by 1 + phi: `one` + `more` mean stands for 1 + phi mean.
    """
    one, more = 1.0 / (1.0 + phi), phi / (1.0 + phi)
    rows = np.where(weight > 0, weight, 1.0)
    of_class, pooled = one + more * free / rows, one + more * expected / rows
    gain = divergence(excess * one / pooled, expected * of_class / pooled)
    spread = divergence(-more * excess / rows / pooled, of_class / pooled)
    gain += np.divide(rows * spread, phi, out=np.zeros_like(gain), where=phi > 0)
    return np.asarray(gain.sum(axis=1))


def _gain(
    alpha: float | FloatArray, dispersion: Dispersion, statistics: ClassMoments
) -> FloatArray:
    return negative_binomial_gain(spread_counts(alpha, dispersion, statistics))


def _baseline(alpha: float | FloatArray, dispersion: Dispersion, statistics: ClassMoments) -> float:
    counts = spread_counts(alpha, dispersion, statistics)
    g = counts.table.sum(axis=1) + counts.table.shape[1] * np.asarray(alpha)
    mean = g / all_rows(counts.feature_weight)
    spread = counts.dispersion * mean
    return float(np.sum(xlogy(g, mean / (1.0 + spread)) - g * _log_share(spread)))


def _log_share(spread: FloatArray) -> FloatArray:
    """log(1 + z) / z, which is 1 at z = 0."""
    return np.divide(np.log1p(spread), spread, out=np.ones_like(spread), where=spread > 0)


def _problem(
    alpha: float | FloatArray, dispersion: Dispersion, statistics: ClassMoments
) -> Separable:
    _refuse_negative(statistics)
    return separable(
        partial(_gain, alpha, dispersion),
        partial(_baseline, alpha, dispersion),
        partial(_rounding, alpha),
        statistics,
    )


def _rounding(
    alpha: float | FloatArray, statistics: ClassMoments, columns: IntArray, gain: FloatArray
) -> FloatArray:
    """Bound rounding as in the Poisson model: what dispersion does to a term, it does to its error.

    A dispersion that is itself off changes a gain by no larger part.
    """
    smooth = smoothing(alpha_of(alpha, statistics.n_features), statistics.n_features)
    of_columns = np.broadcast_to(np.ravel(smooth), statistics.n_features)[columns]
    total = statistics.total[columns].sum(axis=1)
    return excess_rounding(gain, total + len(statistics.classes) * of_columns)


def _refuse_negative(statistics: ClassMoments) -> None:
    mean = statistics.mean
    least = mean.min(axis=1, initial=0.0)
    bad = np.flatnonzero(least < -_SLIP * mean.max(axis=1, initial=1.0))
    if len(bad):
        raise ValueError(
            f"Negative values in data passed to a model of counts: the mean of column {bad[0]} is "
            f"{least[bad[0]]:g} in a class. Counts must be >= 0; use a model of centers, which "
            "takes any sign."
        )


def _rule(
    alpha: float | FloatArray,
    dispersion: Dispersion,
    statistics: ClassMoments,
    support: IntArray,
    log_prior: FloatArray,
) -> LinearRule:
    """Weights log(mu / (1 + phi mu)); the constant is -sum log(1 + phi mu) / phi."""
    counts = spread_counts(alpha, dispersion, statistics, support)
    _, mean = rates(counts, np.arange(len(support)), counts.alpha)
    spread = counts.dispersion * mean
    cost = mean * _log_share(spread)
    rule = rate_rule(log_prior, mean, 1.0 + spread, cost)
    # Of large spreads the weights differ in their last digits; taken from -log phi they keep them.
    far = np.all(spread > 1.0, axis=0)
    from_limit = -np.log1p(np.divide(1.0, spread, out=np.zeros_like(spread), where=far))
    rule = replace(rule, weights=np.where(far, from_limit, rule.weights))
    return rule if counts.observed is None else replace(rule, offset=-cost)


def _distances(
    alpha: float | FloatArray, dispersion: Dispersion, statistics: ClassMoments
) -> Distances:
    m, n_classes = statistics.n_features, len(statistics.classes)

    def free(columns: IntArray) -> tuple[FloatArray, FloatArray]:
        """Means (d, C) and dispersions (d,)."""
        counts = spread_counts(alpha, dispersion, statistics, columns)
        mean = rates(counts, np.arange(len(columns)), counts.alpha)[1].T
        return mean, counts.dispersion

    def between(columns: IntArray) -> FloatArray:
        mean, phi = free(columns)
        return _distance(mean, phi[:, None])

    def roots(columns: IntArray) -> FloatArray:
        """Scaled so that half of their squares is not below any distance."""
        mean, phi = free(columns)
        least = mean.min(axis=1, keepdims=True, initial=np.inf)
        return np.asarray(np.sqrt(mean / (2.0 * (1.0 + phi[:, None] * least))))

    return Distances(
        m,
        n_classes,
        between,
        partial(weighed, m, n_classes, kept(m, n_classes, roots)),
        lambda columns: largest(np.sqrt(0.5 * free(columns)[0])),
    )


def _distance(mean: FloatArray, phi: FloatArray) -> FloatArray:
    """Distances (d, P) of classes of some means (d, C), with the dispersions (d, 1) they share."""
    a, b = np.triu_indices(mean.shape[1], 1)
    root = np.sqrt(mean)
    apart = squares(root)
    # With phi l = u, so that nothing overflows: roots of 1 + u rather than of its square.
    spread = np.sqrt(1.0 + phi * mean)
    sum_of_roots = spread[:, a] * spread[:, b] + 1.0 + phi * root[:, a] * root[:, b]
    ratio = phi * apart / sum_of_roots
    return np.divide(np.log1p(ratio), phi, out=0.5 * apart, where=phi > 0)


def _weight_variance(
    alpha: float | FloatArray, dispersion: Dispersion, statistics: ClassMoments,
    columns: IntArray,
) -> FloatArray:  # fmt: skip
    counts = spread_counts(alpha, dispersion, statistics, columns)
    mean = rates(counts, np.arange(len(columns)), counts.alpha)[1].T
    over = 1.0 + counts.dispersion[:, None] * mean
    with np.errstate(divide="ignore", over="ignore"):
        return np.asarray(1.0 / (counts.feature_weight * mean * over))


def _contrast(
    alpha: float | FloatArray,
    dispersion: Dispersion,
    statistics: ClassMoments,
    columns: IntArray,
    prior: float,
) -> Contrast:
    counts = spread_counts(alpha, dispersion, statistics, columns)
    y, n = counts.table, counts.feature_weight
    effect, error = log_rates(y, n, prior * mean_exposure(statistics), counts.dispersion)
    return Contrast(
        effect=effect,
        z=ratio(effect, error),
        log2_fold_change=log2_ratio(shares_of(y, n)),
        weight=weight_difference(_rule(alpha, dispersion, statistics, columns, np.zeros(2))),
        standard_error=root_of_sum(_weight_variance(alpha, dispersion, statistics, columns)),
    )
