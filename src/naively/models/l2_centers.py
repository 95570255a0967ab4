r"""Sparse l2 centers (Calafiore, Fracastoro 2019, "CEN", proposition 1), for any number of classes.

Each class c has a center theta_c; at most k features may have centers that differ. With n_c rows
in class c, the training problem averages within each class, so that classes weigh the same:

    min  sum_c 1/n_c sum_{j in c} || x_j - theta_c ||^2

It separates over the features. A free feature has the class means xbar_ci, a pooled one their
mean xbar_i over the classes, and freeing it gains

    gain_i = sum_c (xbar_ci - xbar_i)^2           two classes: (xbar_+i - xbar_-i)^2 / 2

so the k largest gains are the optimum. The objective reported is the distance that freeing saves:
0 with no feature, since the distance within the classes does not depend on the choice.

Scaled features: x_i / s_i (the diagonal Mahalanobis distance of CEN section 4.1) or x_i / s_i^2
(the text experiments of CEN section 6.1), where s_i^2 is the variance within the classes. A column
that does not vary within the classes while their means differ separates them perfectly: its gain
is infinite, and in the rule its distance outweighs that of any other column.

A missing value, where it is left out, is left out of the mean of its class and out of the distance:
the center of a feature is the mean over the classes that have it, and a class that lacks it stays
there. So a row is compared by the features that it has, which are the same for all classes.

With a full covariance S, the Mahalanobis distance of CEN section 4.1 is the squared distance of
whitened features S^(-1/2) x: see `naively.Whitener`.

Distance of two classes (:mod:`naively.models.distances`): the rule is that of normal classes of
variance 1 in the scaled features, so that B = (difference of the centers)^2 / 8, in squared units
of the scaled features. Without `scale` it depends on the units of the columns, as the rule does.

The z-score of a feature is the statistic of Welch's t-test: the difference of the means of two
classes over the root of v_c / (n_c - 1), summed over both (the variance v_c is divided by n_c). It
is in `scale` of the weight the same, so the standard error of a weight is the weight over z.
"""

from __future__ import annotations

from dataclasses import replace
from functools import partial
from typing import Protocol

import numpy as np
from numpy.typing import ArrayLike

from naively._types import FloatArray, IntArray
from naively.models.contrast import Contrast, log2_ratio, ratio, root_of_sum, weight_difference
from naively.models.distances import CERTAIN, Distances, by_blocks, euclidean, squares
from naively.models.family import ROUNDING, Family, separable, weight_of
from naively.models.kinds import MEANS
from naively.models.model import Model, ignored
from naively.models.priors import center_prior
from naively.models.rules import LinearRule, finite
from naively.statistics.moments import ClassMoments

_PERFECT = 1e12  # squared distance between centers in a column that separates perfectly
POWER_OF_VARIANCE = {None: 0, "std": 1, "variance": 2}


class Moments(Protocol):
    """What the center and Gaussian models need to know about the data."""

    @property
    def class_weight(self) -> FloatArray:
        """(C,) weight of the rows of each class."""
        ...

    @property
    def feature_weight(self) -> FloatArray:
        """(C,) weight of the rows of each class, or (m, C) of those that tell of each feature."""
        ...

    @property
    def observed(self) -> FloatArray | None:
        """(m, C) the same, if rows may lack values; a rule then takes such rows, too."""
        ...

    @property
    def mean(self) -> FloatArray:
        """(m, C) mean by class."""
        ...

    @property
    def variance(self) -> FloatArray:
        """(m, C) variance by class."""
        ...

    def pooled_variance(self) -> FloatArray:
        """(m,) variance about the means of the classes."""
        ...

    def total_variance(self) -> FloatArray:
        """(m,) variance about the mean of all rows."""
        ...

    def overall_mean(self) -> FloatArray:
        """(m,) mean of all rows."""
        ...

    def take(self, columns: IntArray) -> Moments:
        """Return the moments of some columns, in the order given."""
        ...


def model(
    *,
    scale: str | None = None,
    priors: ArrayLike | None = None,
    missing: str = "error",
) -> Model[ClassMoments]:
    """Centers that are means."""
    ignores = ignored(missing)
    return Model(
        name="l2-centers",
        family=l2_centers(scale),
        gather=partial(ClassMoments.from_matrix, deviations=scale is not None, missing=ignores),
        log_prior=partial(center_prior, priors=priors),
        words=MEANS,
        learns_prior=isinstance(priors, str) and priors == "empirical",
        ignores_missing=ignores,
    )


def l2_centers(scale: str | None = None) -> Family[Moments]:
    """Nearest centers by squared distance, of features as they are, or divided by their spread.

    Parameters
    ----------
    scale : None, "std" or "variance"
        What every feature is divided by, taken within the classes.

    Raises
    ------
    ValueError
        If `scale` is none of these.
    """
    if scale not in POWER_OF_VARIANCE:
        raise ValueError(f"`scale` must be None, 'std' or 'variance'; got {scale!r}.")
    power = POWER_OF_VARIANCE[scale]
    gain = partial(l2_gain, power=power)
    return Family(
        name="l2 centers",
        gain=gain,
        problem=partial(separable, gain, _baseline, _rounding),
        rule=partial(_rule, power),
        distances=partial(_distances, power),
        contrast=partial(_contrast, power),
        objective="saving of squared distance",
        unit="squared units",
    )


def l2_gain(statistics: Moments, power: int = 0) -> FloatArray:
    """Squared distance between the centers of each feature, over its variance to some power.

    Parameters
    ----------
    statistics
        Moments of the data; second moments are read if `power` is positive.
    power : int
        Power of the variance within the classes: 0, 1 or 2.

    Returns
    -------
    (m,) non-negative; inf for a column that separates the classes perfectly, if power > 0; nan
        where a square is too large to be held.
    """
    deviation, _ = center_deviations(statistics)
    between: FloatArray = np.square(deviation, out=deviation).sum(axis=1)
    between[np.isinf(between)] = np.nan
    if power == 0:
        return between
    # A factor is infinite only where `between` is positive.
    return between * _factors(statistics, between, power)


def _rounding(statistics: Moments, columns: IntArray, gain: FloatArray) -> FloatArray:
    """Bound rounding: a gain is a sum of squares of differences, each off by epsilon of a mean.

    If d is that error and s^2 the sum of the squares, the sum is off by 2 d s C^(1/2) + d^2 C; the
    factor of a scaled feature, gain / s^2, applies to the error as well.
    """
    deviation, common = center_deviations(statistics.take(columns))
    between = np.square(deviation, out=deviation).sum(axis=1)
    error = ROUNDING * np.abs(common) * np.sqrt(deviation.shape[1])
    relative = np.divide(error, np.sqrt(between), out=np.zeros_like(error), where=between > 0)
    scale = np.where(np.isfinite(gain), gain, 0.0)
    return np.asarray(scale * (ROUNDING + 2.0 * relative + relative**2))


def center_deviations(statistics: Moments) -> tuple[FloatArray, FloatArray]:
    """Class means minus their mean over the classes (m, C), and that mean (m,).

    Classes without rows (that tell of the feature) have no part in it, and differences that are
    rounding are 0.
    """
    mean, occupied = statistics.mean, statistics.feature_weight > 0
    if occupied.ndim == 1:
        common = mean.T[occupied].mean(axis=0) if occupied.any() else np.zeros(len(mean))
        deviation = mean - common[:, None]
        deviation[:, ~occupied] = 0.0
    else:  # means of no rows are 0
        common = mean.T.sum(axis=0) / np.maximum(occupied.sum(axis=1), 1)
        deviation = np.where(occupied, mean - common[:, None], 0.0)
    least = ROUNDING * np.abs(common)
    np.copyto(deviation, 0.0, where=np.abs(deviation) <= least[:, None])
    return deviation, common


def beyond_rounding(variance: FloatArray, mean: FloatArray) -> FloatArray:
    """Variances with 0 where they are rounding of columns with these means (m, C).

    Of classes (m, C), each by its own mean, or of columns (m,).
    """
    size = np.abs(mean) if variance.ndim == 2 else np.abs(mean).max(axis=1, initial=0.0)
    return np.where(variance <= (ROUNDING * size) ** 2, 0.0, variance)


def sparse_centers(statistics: Moments, support: IntArray) -> FloatArray:
    """Centers (C, m): class means on the support, their mean over the classes elsewhere."""
    deviation, common = center_deviations(statistics)
    centers = np.tile(common, (deviation.shape[1], 1))
    centers[:, support] += deviation[support].T
    return centers


def _factors(statistics: Moments, between: FloatArray, power: int) -> FloatArray:
    """1 / variance^power (m,); inf without variance, 0 where the centers agree as well."""
    if power == 0:
        return np.ones_like(between)
    variance = beyond_rounding(statistics.pooled_variance(), statistics.mean)
    certain = np.where(between > 0, np.inf, 0.0)
    with np.errstate(over="ignore"):
        factors: FloatArray = np.divide(1.0, variance, out=certain, where=variance > 0) ** power
    factors[np.isinf(variance)] = np.nan
    known = (variance > 0) & np.isfinite(variance)
    lost = known & (np.isinf(factors) | (factors[known] == 0).all())  # a factor of 0 alone is right
    if lost.any():
        raise ValueError(
            f"The variance of column {np.flatnonzero(lost)[0]} of X, {variance[lost][0]:g}, is too "
            "small or too large for its square in double precision; multiply X by a constant."
        )
    return factors


def _baseline(statistics: Moments) -> float:
    return 0.0


def _rule(power: int, statistics: Moments, support: IntArray, log_prior: FloatArray) -> LinearRule:
    """Score log_prior - |x - theta_c|^2 / 2, less the part common to the classes (CEN eq. 3)."""
    selected = statistics.take(support)
    deviation, common = center_deviations(selected)
    between = (deviation**2).sum(axis=1)
    factors = _factors(selected, between, power)
    factors = np.where(np.isinf(factors), _PERFECT / np.where(between > 0, between, 1.0), factors)
    weights = deviation.T * factors
    with np.errstate(over="ignore", invalid="ignore"):
        intercept = log_prior - weights @ common - 0.5 * (weights * deviation.T).sum(axis=1)
    finite(intercept[None], log_prior)
    intercept[statistics.class_weight <= 0] = -np.inf
    if statistics.observed is None:
        return LinearRule(intercept, weights, log_prior)
    offset = -weights * (common + 0.5 * deviation.T)
    return LinearRule(intercept, weights, log_prior, offset=offset)


def _distances(power: int, statistics: Moments) -> Distances:
    deviation, common = center_deviations(statistics)
    factor = _factors(statistics, (deviation != 0).any(axis=1).astype(np.float64), power)
    scale = np.sqrt(factor / 8.0)
    m, n_classes = deviation.shape

    def roots(columns: IntArray) -> FloatArray:
        return deviation[columns] * scale[columns, None]

    def size(columns: IntArray) -> FloatArray:
        far = np.abs(common[columns]) + np.abs(deviation[columns]).max(axis=1, initial=0.0)
        return np.asarray(2.0 * far * np.where(np.isfinite(scale[columns]), scale[columns], 0.0))

    if not np.isinf(scale).any():
        return euclidean(m, n_classes, roots, size)

    def between(columns: IntArray) -> FloatArray:
        """Centers that differ without any spread are CERTAIN."""
        apart, certain = squares(deviation[columns]), np.isinf(scale[columns])
        unit = np.where(certain, 0.0, scale[columns])[:, None]
        sure = np.where(apart > 0, CERTAIN, 0.0)
        return np.where(certain[:, None], sure, apart * unit**2)

    return by_blocks(m, n_classes, between, size)


def contrast_of_means(statistics: Moments, columns: IntArray) -> Contrast:
    """Compare the means of two classes, without weights; z is NaN without second moments."""
    some, rows = statistics.take(columns), weight_of(statistics, columns)
    effect = some.mean[:, 1] - some.mean[:, 0]
    unknown = np.full(len(columns), np.nan)
    z = unknown
    if getattr(statistics, "scatter", None) is not None:
        with np.errstate(divide="ignore", invalid="ignore"):
            z = ratio(effect, root_of_sum(some.variance / np.where(rows > 1, rows - 1, np.nan)))
    return Contrast(effect, z, log2_ratio(some.mean), unknown, unknown)


def _contrast(power: int, statistics: Moments, columns: IntArray, prior: float) -> Contrast:
    """Compare centers; nothing is expected of them a priori."""
    found = contrast_of_means(statistics, columns)
    weight = weight_difference(_rule(power, statistics, columns, np.zeros(2)))
    with np.errstate(divide="ignore", invalid="ignore"):
        error = np.where(found.z == 0, np.nan, np.abs(weight / found.z))
    return replace(found, weight=weight, standard_error=error)
