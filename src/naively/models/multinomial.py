r"""Sparse multinomial naive Bayes (Askari, d'Aspremont, El Ghaoui; NFS theorem 2, NFS-long 3.2).

f_ci is the count of feature i in class c plus the smoothing alpha, g_i = sum_c f_ci,
G = sum_i g_i; theta_c is a probability vector over the features. With the set S free and all other
features pooled, maximum likelihood gives

    outside S   theta_ci = g_i / G
    on S        theta_ci = f_ci / F_c(S) * F(S) / G,    F_c(S) = sum_{i in S} f_ci,  F = sum_c F_c

(NFS equation 14, NFS-long 13. NFS-long algorithm 1, line 6 prints the factor (1-s) / (B (A+B))
where (1-s) / B is right; NFS equation 10 and NFS-long 9 exchange I and its complement.)
The objective is then, with 0 log 0 = 0,

    sum_i g_i log g_i - G log G  +  sum_{i in S} [sum_c f_ci log f_ci - g_i log g_i]
                                 -  sum_c F_c(S) log(F_c(S) / F(S))

The last term ties the features together through the class shares a_c = F_c / F. At shares a

    h_i(a) = sum_c f_ci log(f_ci / (g_i a_c)) = sum_c D(f_ci, g_i a_c)
    D(x, e) = x log(x / e) - x + e

is what feature i gains, and the gain of S is min_a sum_{i in S} h_i(a), attained at a = F(S) / F.
Choosing S is the business of :mod:`naively.selection.dual`.

One feature alone gains nothing: two probability vectors cannot differ in one entry only.

A feature without any count differs from its expectation only by the smoothing. It stays pooled for
the objective, and its gain is 0 by definition; it enters a support only when all others are in.
(It takes part in the normalisation when it is in, as in scikit-learn.)

Distances of two classes (:mod:`naively.models.distances`). A document of n words, in cells of
probabilities p and q, has sum_i (p_i q_i)^(1/2) = 1 - h per word, h = sum_i (p_i^(1/2) -
q_i^(1/2))^2 / 2, and so the distance -n log(1 - h), which does not add up over the features. Its
lower bound n h does: it is the distance of documents whose length is Poisson of mean n, in which
the counts of the words are independent and Poisson, of means n p_i and n q_i,

    B_i = n (p_i^(1/2) - q_i^(1/2))^2 / 2

with n the mean length of a row and the probabilities f_ci / F_c of each class over all features.
The bound of the error with B is no smaller than that with -n log(1 - h), also of the words in S and
a cell of all others. As the rule normalises within S, the shares F_c(S) / F(S) are taken to be
those of all features, as in the scores h_i at the totals.

Standard error of a weight log theta_ci, from the information of the smoothed likelihood on S:

    se^2 = 1 / f_ci - 1 / F_c(S)

The z-score of a feature (:mod:`naively.models.contrast`) takes its share of all occurrences, and a
prior of as many occurrences as a row has on average, for each row that is asked for.
"""

from __future__ import annotations

from functools import partial

import numpy as np
from numpy.typing import ArrayLike

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
from naively.models.distances import Distances, euclidean
from naively.models.family import (
    CountTable,
    Coupled,
    Family,
    blocks,
    checked_alpha,
    divergence,
    one_a_class,
    smoothed,
    smoothing,
)
from naively.models.kinds import COUNTS, PRESENCE
from naively.models.model import Limits, Model, as_they_are
from naively.models.priors import fitted_prior
from naively.models.rules import LinearRule, event_log, joint_rule
from naively.statistics.counts import ClassCounts


def model(
    *,
    alpha: ArrayLike = 1.0,
    fit_prior: bool = True,
    class_prior: ArrayLike | None = None,
    binary: bool = False,
    exact: bool = False,
    max_nodes: int = 1000,
    time_limit: float | None = None,
) -> Model[ClassCounts]:
    """Multinomial model; `binary` counts every entry above 0 as 1."""
    alpha = checked_alpha(alpha)
    return Model(
        name="multinomial",
        family=of_own_counts(multinomial(alpha), presence=binary),
        gather=partial(ClassCounts.from_matrix, presence=binary),
        log_prior=partial(fitted_prior, fit_prior=fit_prior, class_prior=class_prior),
        words=PRESENCE if binary else COUNTS,
        prepare=partial(presence_of, 0.0) if binary else as_they_are,
        limits=Limits.checked(exact=exact, max_nodes=max_nodes, time_limit=time_limit),
        alpha=alpha,
        learns_prior=fit_prior and class_prior is None,
    )


def multinomial(alpha: object = 1.0) -> Family[CountTable]:
    """Multinomial model with smoothing `alpha` (a number, or one per feature)."""
    alpha = checked_alpha(alpha)
    return Family(
        name="multinomial",
        gain=smoothed(_gain_at_totals, alpha),
        problem=smoothed(_problem, alpha),
        rule=smoothed(_rule, alpha),
        feature_log_prob=smoothed(_log_prob, alpha),
        joint_rule=smoothed(_joint_rule, alpha),
        freedom=one_a_class,
        test=test_of_counts,
        distances=smoothed(_distances, alpha),
        contrast=smoothed(_contrast, alpha),
        weight_variance=smoothed(_weight_variance, alpha),
    )


def multinomial_gain(
    table: Array, shares: FloatArray, alpha: float | FloatArray = 0.0
) -> FloatArray:
    """Nats each feature gains at given class shares: h_i(a).

    Parameters
    ----------
    table : (m, C)
        Count of each feature in each class.
    shares : (C,)
        The class shares a; they sum to 1.
    alpha : float or (m,)
        Smoothing.

    Returns
    -------
    (m,) non-negative; +inf where a class of share 0 has a count.
    """
    smooth = smoothing(alpha, len(table))
    gain = np.empty(len(table))
    for block in blocks(*table.shape):
        f = table[block] + (smooth if isinstance(smooth, float) else smooth[block])
        expected = f.sum(axis=1, keepdims=True) * shares
        gain[block] = divergence(f - expected, expected).sum(axis=1)
        gain[block][np.any((f > 0) & (expected <= 0), axis=1)] = np.inf
        gain[block][~np.any(table[block] > 0, axis=1)] = 0.0
    return gain


def class_shares(table: Array, alpha: float | FloatArray = 0.0) -> FloatArray:
    """Share of each class in the smoothed counts of all features of the table: (C,)."""
    n_classes = table.shape[1]
    totals = table.sum(axis=0) + np.sum(np.broadcast_to(alpha, len(table)))
    total = totals.sum()
    return totals / total if total > 0 else np.full(n_classes, 1.0 / n_classes)


def _gain_at_totals(alpha: float | FloatArray, statistics: CountTable) -> FloatArray:
    """h_i at the class shares of all features: what scores the features before any selection."""
    return multinomial_gain(statistics.table, class_shares(statistics.table, alpha), alpha)


def _problem(alpha: float | FloatArray, statistics: CountTable) -> Coupled:
    return Coupled(statistics.table, alpha)


def _feature_totals(alpha: float | FloatArray, table: Array) -> FloatArray:
    """g_i: (m,)."""
    return np.asarray(table.sum(axis=1) + table.shape[1] * np.asarray(alpha))


def _free(
    alpha: float | FloatArray, statistics: CountTable, support: IntArray
) -> tuple[FloatArray, FloatArray]:
    """f_ci on the support (k, C) and F_c(S) (C,).

    A class without any count on S takes the pooled g_i: its probabilities there are arbitrary.
    """
    smooth = smoothing(alpha, len(statistics.table))
    f = statistics.table[support] + (smooth if isinstance(smooth, float) else smooth[support])
    totals = f.sum(axis=0)
    if not np.all(totals > 0):
        f = np.where(totals > 0, f, f.sum(axis=1, keepdims=True))
        totals = f.sum(axis=0)
    return f, np.where(totals > 0, totals, 1.0)


def _rule(
    alpha: float | FloatArray, statistics: CountTable, support: IntArray, log_prior: FloatArray
) -> LinearRule:
    """Weights log f_ci - log F_c(S); log F(S) - log G is common to the classes and dropped."""
    f, totals = _free(alpha, statistics, support)
    weights, vetoes = event_log(f.T, totals[:, None])
    if not vetoes.any():
        return LinearRule(log_prior, weights, log_prior)
    return LinearRule(
        log_prior, weights, log_prior, np.zeros(len(log_prior)), vetoes.astype(np.float64)
    )


def feature_log_prob(
    statistics: CountTable, support: IntArray, alpha: float | FloatArray
) -> FloatArray:
    """Log-probability of each feature in each class, pooled outside the support.

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
    g = _feature_totals(alpha, statistics.table)
    f, totals = _free(alpha, statistics, support)
    with np.errstate(divide="ignore"):
        log_g = np.log(g) - np.log(g.sum() or 1.0)
        log_prob = np.tile(log_g, (statistics.table.shape[1], 1))
        inside = np.log(g[support].sum() or 1.0) - np.log(g.sum() or 1.0)
        log_prob[:, support] = np.log(f.T) - np.log(totals)[:, None] + inside
    return log_prob


def _log_prob(alpha: float | FloatArray, statistics: CountTable, support: IntArray) -> FloatArray:
    return feature_log_prob(statistics, support, alpha)


def _joint_rule(
    alpha: float | FloatArray, statistics: CountTable, support: IntArray, log_prior: FloatArray
) -> LinearRule:
    return joint_rule(log_prior, feature_log_prob(statistics, support, alpha))


def _distances(alpha: float | FloatArray, statistics: CountTable) -> Distances:
    table, m = statistics.table, len(statistics.table)
    rows = statistics.feature_weight
    length = table.sum() / (rows.sum() or 1.0)
    totals = table.sum(axis=0) + np.sum(np.broadcast_to(alpha, m))
    unit = length / (2.0 * np.where(totals > 0, totals, np.inf))  # (C,)

    def roots(columns: IntArray) -> FloatArray:
        smooth = alpha if isinstance(alpha, float) else alpha[columns, None]
        counts = table[columns]
        found = np.sqrt((counts + smooth) * unit)
        return np.where(np.any(counts > 0, axis=1, keepdims=True), found, 0.0)

    return euclidean(m, len(rows), roots)


def _weight_variance(
    alpha: float | FloatArray, statistics: CountTable, columns: IntArray
) -> FloatArray:
    f, totals = _free(alpha, statistics, columns)
    with np.errstate(divide="ignore", over="ignore"):
        return np.asarray((1.0 - f / totals) / f)


def _contrast(
    alpha: float | FloatArray, statistics: CountTable, columns: IntArray, prior: float
) -> Contrast:
    y = np.asarray(statistics.table[columns], dtype=np.float64)
    n = np.asarray(statistics.table.sum(axis=0), dtype=np.float64)
    length = n.sum() / (statistics.feature_weight.sum() or 1.0)
    effect, error = log_odds(y, n, prior * length)
    return Contrast(
        effect=effect,
        z=ratio(effect, error),
        log2_fold_change=log2_ratio(shares_of(y, n)),
        weight=weight_difference(_rule(alpha, statistics, columns, np.zeros(2))),
        standard_error=root_of_sum(_weight_variance(alpha, statistics, columns)),
    )
