r"""Sparse Gaussian naive Bayes.

A free feature has a mean for each class, and either a variance for each class or one that the
classes share; a pooled feature has one mean and one variance for all rows. With n_c the weight
and v_ci the variance of class c, V_i the variance of all rows and v_i = sum_c n_c v_ci / n that
about the class means, all divided by the weight (maximum likelihood), freeing feature i gains

    variance per class   gain_i = sum_c n_c / 2 log(V_i / v_ci)
    shared variance      gain_i = n / 2 log(V_i / v_i)            nats

Both are non-negative, since V_i >= v_i and the logarithm is concave. They add up over features, so
the k largest are the optimum.

Smoothing adds epsilon = var_smoothing * max_i V_i to all variances, in the likelihood as in the
estimate: that of scikit-learn's GaussianNB. Without it, a feature that does not vary within a
class has an infinite gain, if it varies at all; one that never varies has gain 0 and no part in
the likelihood.

Variance per class makes the rule quadratic, shared variance linear.

Distance of two classes of means m, s and variances v, w (:mod:`naively.models.distances`):

    variance per class   B = (m - s)^2 / (4 (v + w)) + log((v + w)^2 / (4 v w)) / 4
    shared variance      B = (m - s)^2 / (8 v)

Standard error of the weight (m - s) / v of a shared variance v, from the information about means
and variance: se^2 = (1 / n_1 + 1 / n_2) / v + 2 (m - s)^2 / (n v^2). A variance for each class
has no weights. The z-score of a feature is that of the l2 centers.
"""

from __future__ import annotations

from dataclasses import replace
from functools import partial

import numpy as np
from numpy.typing import ArrayLike

from naively._types import BoolArray, FloatArray, IntArray
from naively.models.alike import alike_in_means
from naively.models.contrast import Contrast, weight_difference
from naively.models.distances import CERTAIN, Distances, by_blocks, euclidean, squares
from naively.models.family import (
    ROUNDING,
    Family,
    checked_number,
    one_a_class,
    separable,
    weight_of,
)
from naively.models.kinds import NORMAL
from naively.models.l2_centers import Moments, beyond_rounding, contrast_of_means
from naively.models.model import Model, ignored
from naively.models.priors import fitted_prior
from naively.models.rules import LinearRule, Rule, finite
from naively.models.value_rules import QuadraticRule
from naively.statistics.moments import ClassMoments

_PERFECT = 1e-12  # share of V_i that stands for a variance of 0 in the rule


def model(
    *,
    variance: str = "class",
    priors: ArrayLike | None = None,
    var_smoothing: float = 1e-9,
    missing: str = "error",
) -> Model[ClassMoments]:
    """Gaussian model."""
    ignores = ignored(missing)
    return Model(
        name="gaussian",
        family=gaussian(variance, var_smoothing),
        gather=partial(ClassMoments.from_matrix, missing=ignores),
        log_prior=partial(fitted_prior, class_prior=priors, name="priors"),
        words=NORMAL,
        # The rounding of a difference is a part of tiny variances.
        subtracts=variance == "shared",
        ignores_missing=ignores,
        learns_prior=priors is None,
    )


def gaussian(variance: str = "class", var_smoothing: object = 1e-9) -> Family[Moments]:
    """Gaussian model.

    Parameters
    ----------
    variance : "class" or "shared"
        Whether the variance of a free feature differs between the classes.
    var_smoothing : float
        Share of the largest variance of all features that is added to every variance.

    Raises
    ------
    ValueError
        If a parameter is none of these.
    """
    if variance not in ("class", "shared"):
        raise ValueError(f"`variance` must be 'class' or 'shared'; got {variance!r}.")
    var_smoothing = checked_number("var_smoothing", var_smoothing)
    shared = variance == "shared"
    gain = partial(gaussian_gain, shared=shared, var_smoothing=var_smoothing)
    return Family(
        name="Gaussian",
        gain=gain,
        problem=partial(separable, gain, partial(_baseline, var_smoothing), _rounding),
        rule=partial(_rule, shared, var_smoothing),
        freedom=partial(_freedom, shared),
        test=alike_in_means,
        distances=partial(_distances, shared, var_smoothing),
        contrast=partial(_contrast, shared, var_smoothing),
    )


def _freedom(shared: bool, statistics: Moments) -> int | IntArray:  # noqa: FBT001 (bound by position)
    """Count a mean in each class but one, and a variance too where they are not shared."""
    return one_a_class(statistics) * (1 if shared else 2)


def gaussian_gain(
    statistics: Moments, *, shared: bool = False, var_smoothing: float = 0.0
) -> FloatArray:
    """Nats gained by freeing each feature.

    Returns
    -------
    (m,) non-negative; inf for a feature without variance in a class, if `var_smoothing` is 0.
    """
    pooled, free = smoothed_variances(statistics, shared=shared, var_smoothing=var_smoothing)
    free, weight = free.T, _by_class(statistics)  # a class lies together in memory
    with np.errstate(divide="ignore", invalid="ignore"):
        log_ratio = np.where(free < pooled, np.log(pooled / free), -np.log(free / pooled))
    log_ratio = np.where((pooled > 0) & (weight > 0), log_ratio, 0.0)
    share = np.where(weight > 0, weight, 1.0)
    if share.shape[1] == 1:
        gain: FloatArray = 0.5 * (share[:, 0] @ log_ratio)
    else:
        gain = 0.5 * (share * log_ratio).sum(axis=0)
    return np.maximum(gain, 0.0)


def _by_class(statistics: Moments) -> FloatArray:
    """Weight of the rows of each class: (C, 1), or (C, m) of those that tell of each feature."""
    weight = statistics.feature_weight
    return weight[:, None] if weight.ndim == 1 else weight.T


def _rounding(statistics: Moments, columns: IntArray, gain: FloatArray) -> FloatArray:
    """Bound rounding: a gain is half of n logarithms of ratios of variances.

    A variance is off by epsilon of itself, and by what the means it is taken about are off, in
    units of its root.
    """
    some = statistics.take(columns)
    deviation = np.sqrt(some.total_variance())
    size = np.abs(some.mean).max(axis=1, initial=0.0)
    relative = np.divide(size, deviation, out=np.zeros_like(size), where=deviation > 0)
    return np.asarray(ROUNDING * weight_of(statistics, columns).sum(axis=-1) * (1.0 + relative))


def epsilon(statistics: Moments, var_smoothing: float) -> float:
    """Return what is added to every variance."""
    return _share_of_largest(statistics.total_variance(), var_smoothing)


def _share_of_largest(variance: FloatArray, share: float) -> float:
    return share * float(variance.max(initial=0.0))


def smoothed_variances(
    statistics: Moments, *, shared: bool, var_smoothing: float
) -> tuple[FloatArray, FloatArray]:
    """Variances of pooled (m,) and free (m, C) features."""
    mean, total = statistics.mean, statistics.total_variance()
    added = _share_of_largest(total, var_smoothing)
    pooled = beyond_rounding(total, mean) + added
    if shared:
        within = beyond_rounding(statistics.pooled_variance(), mean) + added
        return pooled, np.broadcast_to(within[:, None], mean.shape)
    free = beyond_rounding(statistics.variance, mean) + added
    return pooled, np.where(_is_unseen(statistics), pooled[:, None], free)


def _is_unseen(statistics: Moments) -> BoolArray | bool:
    """Features (m, C) of which no row of a class tells, though it has some: they stay pooled."""
    weight = statistics.feature_weight
    return False if weight.ndim == 1 else np.asarray((weight <= 0) & (statistics.class_weight > 0))


def free_means(statistics: Moments) -> FloatArray:
    """Mean of each class, (m, C)."""
    unseen = _is_unseen(statistics)
    if unseen is False:
        return statistics.mean
    return np.where(unseen, statistics.overall_mean()[:, None], statistics.mean)


def sparse_parameters(
    statistics: Moments, support: IntArray, *, shared: bool, var_smoothing: float
) -> tuple[FloatArray, FloatArray]:
    """Means and variances (C, m): free on the support, pooled elsewhere."""
    pooled, free = smoothed_variances(statistics, shared=shared, var_smoothing=var_smoothing)
    shape = (len(statistics.class_weight), 1)
    theta, var = np.tile(statistics.overall_mean(), shape), np.tile(pooled, shape)
    theta[:, support], var[:, support] = free_means(statistics)[support].T, free[support].T
    return theta, var


def _baseline(var_smoothing: float, statistics: Moments) -> float:
    pooled, _ = smoothed_variances(statistics, shared=True, var_smoothing=var_smoothing)
    weight = statistics.feature_weight.sum(axis=-1)
    each = np.log(2 * np.pi * pooled[pooled > 0]) + 1
    return -0.5 * float(weight * each.sum() if weight.ndim == 0 else weight[pooled > 0] @ each)


def _rule(
    shared: bool,
    var_smoothing: float,
    statistics: Moments,
    support: IntArray,
    log_prior: FloatArray,
) -> Rule:
    pooled, free = smoothed_variances(statistics, shared=shared, var_smoothing=var_smoothing)
    floor = np.where(pooled > 0, 0.0 if var_smoothing > 0 else _PERFECT * pooled, 1.0)[support]
    variance, mean = np.maximum(free[support].T, floor), free_means(statistics)[support].T
    log_prior_here = np.where(statistics.class_weight > 0, log_prior, -np.inf)
    if shared:  # linear: distances relative to that from the mean of all rows
        center = statistics.overall_mean()[support]
        weights = (mean - center) / variance
        with np.errstate(over="ignore", invalid="ignore"):
            offset = weights * (mean + center)
            intercept = log_prior_here - 0.5 * offset.sum(axis=1)
        finite(intercept[None], log_prior_here)
        rule: LinearRule | QuadraticRule = LinearRule(intercept, weights, log_prior)
    else:
        offset = np.log(2 * np.pi * variance)
        intercept = log_prior_here - 0.5 * offset.sum(axis=1)
        rule = QuadraticRule(intercept, mean, 1.0 / variance)
    return rule if statistics.observed is None else replace(rule, offset=-0.5 * offset)


def _distances(shared: bool, var_smoothing: float, statistics: Moments) -> Distances:
    pooled, free = smoothed_variances(statistics, shared=shared, var_smoothing=var_smoothing)
    center = statistics.overall_mean()[:, None]
    means = free_means(statistics)
    deviation = means - center
    deviation[np.abs(deviation) <= ROUNDING * np.abs(center)] = 0.0
    m, n_classes = deviation.shape
    a, b = np.triu_indices(n_classes, 1)

    def size(columns: IntArray) -> FloatArray:
        """Means, in units of the least deviation, are off by so much more."""
        least = np.sqrt(free[columns].min(axis=1, initial=np.inf))
        far = np.abs(means[columns]).max(axis=1, initial=0.0)
        far = np.divide(far, least, out=np.zeros_like(far), where=least > 0)
        return np.asarray(2.0 * (1.0 + far))

    def roots(columns: IntArray) -> FloatArray:
        return np.asarray(deviation[columns] / np.sqrt(8.0 * free[columns]))

    def between(columns: IntArray) -> FloatArray:
        """Classes of which one does not vary are CERTAIN, unless they are the same."""
        apart, variance = deviation[columns], free[columns]
        same = (apart[:, a] == apart[:, b]) & (variance[:, a] == variance[:, b])
        vary = np.minimum(variance[:, a], variance[:, b]) > 0
        found = _distance(apart, np.where(variance > 0, variance, 1.0))
        return np.where(vary, found, np.where(same, 0.0, CERTAIN))

    if shared and (free > 0).all():
        return euclidean(m, n_classes, roots, size)
    return by_blocks(m, n_classes, between, size)


def _distance(deviation: FloatArray, variance: FloatArray) -> FloatArray:
    """Distances (d, P) of normal classes, (d, C), of some deviations from a center."""
    a, b = np.triu_indices(deviation.shape[1], 1)
    v, w = variance[:, a], variance[:, b]
    # (v + w)^2 / (4 v w) = 1 + (v - w)^2 / (4 v w): no digits of a small distance are lost.
    ratio = (v - w) / (2.0 * np.sqrt(v) * np.sqrt(w))
    return np.asarray(squares(deviation) / (4.0 * (v + w)) + 0.25 * np.log1p(ratio**2))


def _contrast(  # noqa: FBT001 (bound by position)
    shared: bool, var_smoothing: float, statistics: Moments, columns: IntArray, prior: float
) -> Contrast:
    """Compare means; nothing is expected of them a priori."""
    found, rows = contrast_of_means(statistics, columns), weight_of(statistics, columns)
    if not shared:
        return found
    rule = _rule(shared, var_smoothing, statistics, columns, np.zeros(2))
    assert isinstance(rule, LinearRule)
    _, free = smoothed_variances(statistics, shared=True, var_smoothing=var_smoothing)
    v = free[columns, 0]
    with np.errstate(divide="ignore", invalid="ignore"):
        squared = (1.0 / rows).sum(axis=-1) / v + 2.0 * found.effect**2 / (rows.sum(axis=-1) * v**2)
    return replace(found, weight=weight_difference(rule), standard_error=np.sqrt(squared))
