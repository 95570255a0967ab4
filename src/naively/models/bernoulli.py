r"""Sparse Bernoulli naive Bayes (Askari, d'Aspremont, El Ghaoui; NFS theorem 1, NFS-long 3.1).

Feature i is present in f_ci of the n_c rows of class c. With theta_ci the probability of presence,
the log-likelihood is a sum over features, so each is best on its own:

    free    theta_ci = f_ci / n_c   w_i = sum_c f_ci log theta_ci + (n_c - f_ci) log(1 - theta_ci)
    pooled  theta_i = f_i / n       v_i = f_i log theta_i + (n - f_i) log(1 - theta_i)

and the gain w_i - v_i = n I(x_i; y), n times the mutual information in nats, is never negative.
The k largest gains are the global optimum. (NFS equation 10 exchanges the set I and its
complement: the pooled features are those NOT among the k; equation 9 has log(f+ / n_c) where
log(f_c / n_c) is meant.)

Smoothing: f_ci + alpha presences among n_c + 2 alpha rows, in the likelihood as in the estimate.
A feature that is present in all rows, or in none, tells the classes apart only by that smoothing:
its gain is 0 by definition.

The gain is computed as a sum of non-negative terms. With e_ci = n_c theta_i the expected count,

    w_i - v_i = sum_c D(f_ci, e_ci) + D(n_c - f_ci, n_c - e_ci),   D(x, e) = x log(x / e) - x + e

where f_ci - e_ci is one exact difference of products of counts; subtracting v_i from w_i would lose
all digits of a small gain.

Distance of two classes (:mod:`naively.models.distances`), with the smoothed probabilities p, q:

    B = -log( (p q)^(1/2) + ((1 - p) (1 - q))^(1/2) ) = -log cos(u - v)

with the angles u, v whose sines are p^(1/2), q^(1/2). B / (u - v)^2 grows with the difference.

Standard error of a weight log(theta_ci / (1 - theta_ci)), from the information of the smoothed
likelihood: se^2 = 1 / (f_ci + alpha) + 1 / (n_c - f_ci + alpha). The z-score of a feature
(:mod:`naively.models.contrast`) takes the share of the rows that hold it.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from functools import partial
from numbers import Real

import numpy as np
from numpy.typing import ArrayLike

from naively._kernels.logarithms import x_log_x
from naively._kernels.residue import RESIDUE
from naively._types import Array, FloatArray, IntArray
from naively.models.contrast import (
    Contrast,
    log2_ratio,
    log_odds,
    ratio,
    root_of_sum,
    shares_of,
    weight_difference,
)
from naively.models.counting import of_own_counts, presence_of, test_of_counts
from naively.models.distances import (
    Distances,
    in_blocks,
    kept,
    largest,
    of_overlap,
    squares,
    weighed_sum,
)
from naively.models.family import (
    CountTable,
    Family,
    Separable,
    SeparableCounts,
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
from naively.models.kinds import PRESENCE
from naively.models.model import Model, ignored
from naively.models.priors import fitted_prior
from naively.models.rules import LinearRule, event_log, joint_rule
from naively.statistics.counts import ClassCounts
from naively.statistics.matrix import Matrix, is_sparse


def model(
    *,
    alpha: ArrayLike = 1.0,
    fit_prior: bool = True,
    class_prior: ArrayLike | None = None,
    binarize: float | None = 0.0,
    missing: str = "error",
) -> Model[ClassCounts]:
    """Bernoulli model of entries above `binarize`; None: of rows that hold 0 and 1 only."""
    alpha, above, ignores = checked_alpha(alpha), _checked_threshold(binarize), ignored(missing)
    gather = partial(ClassCounts.from_matrix, presence=True, threshold=above, missing=ignores)
    return Model(
        name="bernoulli",
        family=of_own_counts(bernoulli(alpha), presence=True, threshold=above),
        gather=gather if binarize is not None else partial(_gather_binary, gather),
        log_prior=partial(fitted_prior, fit_prior=fit_prior, class_prior=class_prior),
        words=PRESENCE,
        prepare=partial(presence_of, above),
        alpha=alpha,
        ignores_missing=ignores,
        learns_prior=fit_prior and class_prior is None,
    )


def _checked_threshold(binarize: float | None) -> float:
    if binarize is None:
        return 0.0
    if not isinstance(binarize, Real) or not np.isfinite(float(binarize)):
        raise ValueError(f"`binarize` must be a finite number or None; got {binarize!r}.")
    return float(binarize)


def check_binary(X: Matrix) -> None:
    """Raise ValueError unless X holds zeros and ones only."""
    values = X.data if is_sparse(X) else np.asarray(X)
    if not ((values == 0) | (values == 1) | np.isnan(values)).all():
        raise ValueError(
            "`binarize=None` states that X holds zeros and ones only, but it holds other "
            "values; give `binarize` a threshold."
        )


def _gather_binary(
    gather: Callable[..., ClassCounts], X: Matrix, *labelled: ArrayLike | None, **classes: ArrayLike
) -> ClassCounts:
    check_binary(X)
    return gather(X, *labelled, **classes)


def bernoulli(alpha: object = 1.0) -> Family[CountTable]:
    """Bernoulli model with smoothing `alpha` (a number, or one per feature)."""
    alpha = checked_alpha(alpha)
    return Family(
        name="Bernoulli",
        gain=smoothed(_all_gains, alpha),
        problem=smoothed(_problem, alpha),
        rule=smoothed(_rule, alpha),
        feature_log_prob=smoothed(_log_prob, alpha),
        joint_rule=smoothed(_joint_rule, alpha),
        freedom=one_a_class,
        distances=smoothed(_distances, alpha),
        contrast=smoothed(_contrast, alpha),
        weight_variance=smoothed(_weight_variance, alpha),
        test=test_of_counts,
    )


def bernoulli_gain(
    table: Array, class_weight: FloatArray, alpha: float | FloatArray = 0.0
) -> FloatArray:
    """Nats gained by freeing each feature: w_i - v_i.

    Parameters
    ----------
    table : (m, C)
        Weight of the rows of each class in which the feature is present.
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
        gain[block] = _block_gain(table[block], weight, part)
    return gain


def _block_gain(table: Array, class_weight: FloatArray, smooth: float | FloatArray) -> FloatArray:
    f = table + smooth
    n = class_weight + 2 * np.asarray(smooth)
    f_all, n_all = f.sum(axis=1, keepdims=True), np.sum(n, axis=-1, keepdims=True)
    n_all = np.where(n_all > 0, n_all, 1.0)
    excess = (f * n_all - n * f_all) / n_all
    expected = n * (f_all / n_all)
    gain = divergence(excess, expected).sum(axis=1)
    gain += divergence(-excess, n - expected).sum(axis=1)
    gain[_is_constant(table, class_weight)] = 0.0
    return np.asarray(gain)


def _is_constant(table: Array, class_weight: FloatArray) -> Array:
    never = ~np.any(table > 0, axis=1)
    return np.asarray(never | np.all(_absent(class_weight, table) == 0, axis=1))


def _absent(class_weight: FloatArray | float, table: Array) -> FloatArray:
    """Weight of the rows without each feature; what sums in another order differ by is nothing."""
    absent = class_weight - table
    return np.where(absent <= RESIDUE * class_weight, 0.0, absent)


def _gain(alpha: float | FloatArray, statistics: CountTable, table: Array) -> FloatArray:
    return bernoulli_gain(table, statistics.feature_weight, alpha)


def _all_gains(alpha: float | FloatArray, statistics: CountTable) -> FloatArray:
    return bernoulli_gain(statistics.table, statistics.feature_weight, alpha)


def _rounding(
    alpha: float | FloatArray, weight: FloatArray, table: Array, gain: FloatArray
) -> FloatArray:
    """Bound for each gain: an excess is off by epsilon e, and by as much of the other event.

    Of the rarer of the two events, e = epsilon n^2 / e of the more frequent one: see
    `excess_rounding`.
    """
    n_classes = table.shape[1]
    present = table.sum(axis=1) + n_classes * np.asarray(alpha)
    rows = weight.sum(axis=-1) + 2 * n_classes * np.asarray(alpha)
    rarer = np.minimum(present, rows - present)
    size = np.divide(rows**2, rarer, out=np.zeros(len(table)), where=rarer > 0)
    return excess_rounding(gain, size)


def _some_roundings(
    alpha: float | FloatArray, statistics: CountTable, columns: IntArray, gain: FloatArray
) -> FloatArray:
    smooth = alpha if isinstance(alpha, float) else alpha[columns]
    return _rounding(smooth, weight_of(statistics, columns), statistics.table[columns], gain)


def _pooled(alpha: float | FloatArray, statistics: CountTable, table: Array) -> FloatArray:
    """v_i, nats."""
    smooth = np.asarray(alpha)
    n_classes = table.shape[1]
    f = table.sum(axis=1) + n_classes * smooth
    n = np.sum(statistics.feature_weight, axis=-1) + 2 * n_classes * smooth
    absent = np.maximum(n - f, 0.0)
    return np.asarray(x_log_x(f) + x_log_x(absent) - x_log_x(n))


def _problem(alpha: float | FloatArray, statistics: CountTable) -> Separable | SeparableCounts:
    if isinstance(alpha, float) and statistics.feature_weight.ndim == 1:
        return SeparableCounts(
            statistics.table,
            partial(_gain, alpha, statistics),
            partial(_pooled, alpha, statistics),
            partial(_rounding, alpha, statistics.feature_weight),
        )
    return separable(
        partial(_all_gains, alpha),
        partial(_baseline, alpha),
        partial(_some_roundings, alpha),
        statistics,
    )


def _baseline(alpha: float | FloatArray, statistics: CountTable) -> float:
    return float(np.sum(_pooled(alpha, statistics, statistics.table)))


def _free(
    alpha: float | FloatArray, statistics: CountTable, support: IntArray
) -> tuple[FloatArray, FloatArray, FloatArray]:
    """Presences, absences and rows of each class on the support, smoothed: (k, C) each.

    A class without rows takes the pooled values: without smoothing nothing is known about it.
    """
    smooth = smoothing(alpha, len(statistics.table))
    if not isinstance(smooth, float):
        smooth = smooth[support]
    counts, weight = statistics.table[support], weight_of(statistics, support)
    present = counts + smooth
    absent = _absent(weight, counts) + smooth
    rows = np.broadcast_to(weight + 2 * np.asarray(smooth), present.shape)
    if np.any(rows <= 0):
        present, absent, rows = (
            np.where(rows > 0, x, x.sum(axis=1, keepdims=True)) for x in (present, absent, rows)
        )
    return present, absent, np.where(rows > 0, rows, 1.0)


def _rule(
    alpha: float | FloatArray, statistics: CountTable, support: IntArray, log_prior: FloatArray
) -> LinearRule:
    """Weights log(theta / (1 - theta)); the constant is sum log(1 - theta) (NFS equation 4)."""
    present, absent, rows = _free(alpha, statistics, support)
    log_present, never = event_log(present.T, rows.T)
    log_absent, always = event_log(absent.T, rows.T)
    intercept = log_prior + log_absent.sum(axis=1)
    rule = LinearRule(intercept, log_present - log_absent, log_prior)
    if never.any() or always.any():
        offset = always.sum(axis=1, dtype=np.float64)
        rule = replace(rule, veto_offset=offset, veto=never.astype(np.float64) - always)
    return rule if statistics.observed is None else replace(rule, offset=log_absent)


def feature_log_prob(
    statistics: CountTable, support: IntArray, alpha: float | FloatArray
) -> FloatArray:
    """Log-probability of presence of each feature in each class, pooled outside the support.

    Parameters
    ----------
    statistics
        Counts of the data.
    support : (k,)
        Column indices of the free features.
    alpha : float or (m,)
        Smoothing.

    Returns
    -------
    (C, m) nats; -inf for an event of probability 0.
    """
    smooth = np.asarray(alpha)
    n_classes = statistics.table.shape[1]
    f = statistics.table.sum(axis=1) + n_classes * smooth
    n = np.sum(statistics.feature_weight, axis=-1) + 2 * n_classes * smooth
    present, _, rows = _free(alpha, statistics, support)
    with np.errstate(divide="ignore"):
        log_prob = np.tile(np.log(f) - np.log(n), (n_classes, 1))
        log_prob[:, support] = np.log(present.T) - np.log(rows.T)
    return log_prob


def _log_prob(alpha: float | FloatArray, statistics: CountTable, support: IntArray) -> FloatArray:
    return feature_log_prob(statistics, support, alpha)


def _joint_rule(
    alpha: float | FloatArray, statistics: CountTable, support: IntArray, log_prior: FloatArray
) -> LinearRule:
    log_prob = feature_log_prob(statistics, support, alpha)
    log_absent = _log_absent(statistics, support, alpha)
    rule = joint_rule(log_prior, log_prob, log_absent)
    if statistics.observed is None:
        return rule
    return replace(rule, offset=np.where(np.isneginf(log_absent), 0.0, log_absent))


def _log_absent(statistics: CountTable, support: IntArray, alpha: float | FloatArray) -> FloatArray:
    """Log-probability of absence, as `feature_log_prob` of presence: (C, m)."""
    smooth = np.asarray(alpha)
    n_classes, n = statistics.table.shape[1], statistics.feature_weight.sum(axis=-1)
    pooled = _absent(n, statistics.table.sum(axis=1)) + n_classes * smooth
    _, absent, rows = _free(alpha, statistics, support)
    with np.errstate(divide="ignore"):
        log_absent = np.tile(np.log(pooled) - np.log(n + 2 * n_classes * smooth), (n_classes, 1))
        log_absent[:, support] = np.log(absent.T) - np.log(rows.T)
    return log_absent


def _angles(alpha: float | FloatArray, statistics: CountTable, columns: IntArray) -> FloatArray:
    """Angle of each class, (d, C), from the axis of the more frequent event: exact where small."""
    present, absent, _ = _free(alpha, statistics, columns)
    same = _is_constant(statistics.table[columns], weight_of(statistics, columns))
    flip = (present.sum(axis=1) > absent.sum(axis=1))[:, None]
    rarer, other = np.where(flip, absent, present), np.where(flip, present, absent)
    return np.where(same[:, None], 0.0, np.arctan2(np.sqrt(rarer), np.sqrt(other)))


def _overlap_lost(angle: FloatArray) -> FloatArray:
    """1 - cos of angles."""
    return np.asarray(2.0 * np.sin(0.5 * angle) ** 2)


def _distances(alpha: float | FloatArray, statistics: CountTable) -> Distances:
    m, n_classes = statistics.table.shape
    angles = kept(m, n_classes, partial(_angles, alpha, statistics))

    def between(columns: IntArray) -> FloatArray:
        return of_overlap(_overlap_lost(np.sqrt(squares(angles(columns)))))

    def sums(weights: FloatArray, columns: IntArray) -> FloatArray:
        """Squared angles, times the largest B / angle^2 of any two classes."""
        angle = angles(columns)
        widest = np.ptp(angle, axis=1)
        most = of_overlap(_overlap_lost(widest))
        most = np.divide(most, widest**2, out=np.zeros_like(most), where=widest > 0)
        return np.asarray(most * weighed_sum(angle, weights))

    return Distances(
        m,
        n_classes,
        between,
        lambda weights: in_blocks(m, n_classes, partial(sums, weights)),
        lambda columns: largest(angles(columns)),
    )


def _weight_variance(
    alpha: float | FloatArray, statistics: CountTable, columns: IntArray
) -> FloatArray:
    present, absent, _ = _free(alpha, statistics, columns)
    with np.errstate(divide="ignore", over="ignore"):
        return np.asarray(1.0 / present + 1.0 / absent)


def _contrast(
    alpha: float | FloatArray, statistics: CountTable, columns: IntArray, prior: float
) -> Contrast:
    y = np.asarray(statistics.table[columns], dtype=np.float64)
    n = weight_of(statistics, columns)
    effect, error = log_odds(y, n, prior)
    shares = shares_of(y, n)
    return Contrast(
        effect=effect,
        z=ratio(effect, error),
        log2_fold_change=log2_ratio(shares),
        weight=weight_difference(_rule(alpha, statistics, columns, np.zeros(2))),
        standard_error=root_of_sum(_weight_variance(alpha, statistics, columns)),
        shares=shares,
    )
