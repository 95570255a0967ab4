r"""Sparse categorical naive Bayes.

Feature i takes one of K_i categories v; f_civ rows of class c have it. A free feature has
probabilities (f_civ + alpha) / (n_c + alpha K_i), as scikit-learn's CategoricalNB; a pooled one
those of all classes together. With smoothed counts in the likelihood as in the estimate,

    gain_i = sum_c sum_v (f_civ + alpha) log(theta_civ / theta_iv)        nats, >= 0

is n times the mutual information of feature and class, and the k largest gains are the optimum. A
feature with one category in all rows gains nothing by definition: only the smoothing could tell
its classes apart.

A category that was never seen in training tells nothing about the class.

Distance of two classes (:mod:`naively.models.distances`), with the smoothed probabilities p, q:

    B = -log(1 - H),    H = sum_v (p_v^(1/2) - q_v^(1/2))^2 / 2

What tells a class is one category of the feature, that of the largest z-score
(:mod:`naively.models.contrast`) of its share of the rows. Standard error of its weight, the log
probability, from the information of the smoothed likelihood:

    se^2 = 1 / (f_civ + alpha) - 1 / (n_c + alpha K_i)
"""

from __future__ import annotations

from functools import partial
from typing import Protocol

import numpy as np
from numpy.typing import ArrayLike

from naively._kernels.logarithms import x_log_x
from naively._types import Array, FloatArray, IntArray
from naively.models.contrast import (
    Contrast,
    log2_ratio,
    log_odds,
    ratio,
    root_of_sum,
    shares_of,
)
from naively.models.distances import Distances, by_blocks, of_overlap, squares
from naively.models.family import (
    Family,
    checked_number,
    corrected,
    divergence,
    excess_rounding,
    one_a_class,
    separable,
    weight_of,
)
from naively.models.kinds import CATEGORIES
from naively.models.model import Model, ignored
from naively.models.priors import fitted_prior
from naively.models.value_rules import TableRule
from naively.statistics.categories import ClassCategories


class CategoryCounts(Protocol):
    """What the categorical model needs to know about the data."""

    @property
    def feature_weight(self) -> FloatArray:
        """(C,) weight of the rows of each class, or (m, C) of those that tell of each feature."""
        ...

    @property
    def n_categories(self) -> IntArray:
        """(m,) number of categories of each feature."""
        ...

    @property
    def table(self) -> Array:
        """(sum n_categories, C) weight of the rows of each category, feature after feature."""
        ...


def model(
    *,
    alpha: float = 1.0,
    fit_prior: bool = True,
    class_prior: ArrayLike | None = None,
    min_categories: ArrayLike | None = None,
    correction: str | None = None,
    missing: str = "error",
) -> Model[ClassCategories]:
    """Categorical model; `min_categories` where rows may lack the last ones."""
    ignores = ignored(missing)
    count = partial(ClassCategories.from_matrix, min_categories=min_categories, missing=ignores)
    return Model(
        name="categorical",
        family=corrected(categorical(alpha), correction),
        gather=count,
        log_prior=partial(fitted_prior, fit_prior=fit_prior, class_prior=class_prior),
        words=CATEGORIES,
        subtracts=min_categories is not None,  # otherwise the rows decide which categories exist
        alpha=alpha,
        ignores_missing=ignores,
        learns_prior=fit_prior and class_prior is None,
    )


def categorical(alpha: object = 1.0) -> Family[CategoryCounts]:
    """Categorical model with smoothing `alpha`.

    Raises
    ------
    ValueError
        If `alpha` is not a finite number >= 0.
    """
    alpha = checked_number("alpha", alpha)
    gain = partial(categorical_gain, alpha=alpha)
    return Family(
        name="categorical",
        gain=gain,
        problem=partial(separable, gain, partial(_baseline, alpha), partial(_rounding, alpha)),
        rule=partial(_rule, alpha),
        freedom=_freedom,
        distances=partial(_distances, alpha),
        contrast=partial(_contrast, alpha),
    )


def _freedom(statistics: CategoryCounts) -> IntArray:
    """Count the classes but one, times the categories that occur but one: (m,)."""
    feature = np.repeat(np.arange(len(statistics.n_categories)), statistics.n_categories)
    occurring = statistics.table.any(axis=1)
    n = np.bincount(feature, occurring, len(statistics.n_categories)).astype(np.int64)
    return np.asarray(one_a_class(statistics) * np.maximum(n - 1, 0))


def categorical_gain(statistics: CategoryCounts, alpha: float = 0.0) -> FloatArray:
    """Nats gained by freeing each feature: (m,), non-negative."""
    sizes = statistics.n_categories
    f = statistics.table + alpha
    weight = _repeated(statistics.feature_weight, sizes) + alpha * np.repeat(sizes, sizes)[:, None]
    n = np.maximum(weight.sum(axis=1, keepdims=True), np.finfo(float).tiny)
    g = f.sum(axis=1, keepdims=True)
    cells = divergence((f * n - weight * g) / n, weight * (g / n)).sum(axis=1)
    starts = _starts(sizes)
    gain: FloatArray = np.add.reduceat(cells, starts) if len(starts) else np.zeros(0)
    occurring = np.add.reduceat(np.any(statistics.table > 0, axis=1).astype(int), starts)
    return np.where(occurring > 1, gain, 0.0)


def _rounding(
    alpha: float, statistics: CategoryCounts, columns: IntArray, gain: FloatArray
) -> FloatArray:
    weight = weight_of(statistics, columns)
    added = alpha * statistics.table.shape[1] * statistics.n_categories[columns]
    return excess_rounding(gain, weight.sum(axis=-1) + added)


def log_probabilities(
    statistics: CategoryCounts, support: IntArray, alpha: float
) -> tuple[FloatArray, IntArray]:
    """Log probability of the categories of some features, and where each feature starts.

    Returns
    -------
    log_prob : (M, C) feature after feature; -inf for probability 0, and 0 for all classes where a
        category has probability 0 in all of them.
    starts : (k + 1,)
    """
    sizes = statistics.n_categories[support]
    starts = np.append(0, np.cumsum(sizes))
    f = statistics.table[_rows_of(statistics, support)] + alpha
    of_rows = _repeated(weight_of(statistics, support), sizes)
    weight = of_rows + alpha * np.repeat(sizes, sizes)[:, None]
    if np.any(weight <= 0):  # a class without rows, without smoothing: the pooled values
        f = np.where(weight > 0, f, f.sum(axis=1, keepdims=True))
        weight = np.where(weight > 0, weight, weight.sum(axis=1, keepdims=True))
    with np.errstate(divide="ignore"):
        log_prob = np.log(f) - np.log(weight)
    log_prob[~np.any(f > 0, axis=1)] = 0.0
    return log_prob, starts


def pooled_log_probabilities(statistics: CategoryCounts, alpha: float) -> FloatArray:
    """Log probability of every category over all classes, (sum n_categories,)."""
    sizes = statistics.n_categories
    n_classes = statistics.table.shape[1]
    g = statistics.table.sum(axis=1) + n_classes * alpha
    rows = _repeated(statistics.feature_weight, sizes).sum(axis=-1)
    n = rows + n_classes * alpha * np.repeat(sizes, sizes)
    with np.errstate(divide="ignore"):
        return np.asarray(np.log(g) - np.log(n))


def _rows_of(statistics: CategoryCounts, columns: IntArray) -> IntArray:
    """Rows of the table that some features have, feature after feature."""
    sizes = statistics.n_categories[columns]
    shift = _starts(statistics.n_categories)[columns] - _starts(sizes)
    return np.asarray(np.repeat(shift, sizes) + np.arange(sizes.sum()))


def _repeated(weight: FloatArray, sizes: IntArray) -> FloatArray:
    """Weight of the rows of each feature at each of its categories: (C,) as it is, or (M, C)."""
    return weight if weight.ndim == 1 else np.repeat(weight, sizes, axis=0)


def _starts(sizes: IntArray) -> IntArray:
    return np.cumsum(sizes) - sizes


def _baseline(alpha: float, statistics: CategoryCounts) -> float:
    sizes = statistics.n_categories
    n_classes = statistics.table.shape[1]
    g = statistics.table.sum(axis=1) + n_classes * alpha
    n = statistics.feature_weight.sum(axis=-1) + n_classes * alpha * sizes
    return float(x_log_x(g).sum() - x_log_x(n).sum())


def _rule(
    alpha: float, statistics: CategoryCounts, support: IntArray, log_prior: FloatArray
) -> TableRule:
    log_prob, starts = log_probabilities(statistics, support, alpha)
    return TableRule(log_prior, np.ascontiguousarray(log_prob), starts)


def _distances(alpha: float, statistics: CategoryCounts) -> Distances:
    seen = np.any(statistics.table > 0, axis=1).astype(np.int64)
    starts = _starts(statistics.n_categories)
    one = np.add.reduceat(seen, starts) < 2 if len(starts) else np.zeros(0, dtype=np.bool_)

    def between(columns: IntArray) -> FloatArray:
        log_prob, first = log_probabilities(statistics, columns, alpha)
        lost = 0.5 * np.add.reduceat(squares(np.exp(0.5 * log_prob)), first[:-1], axis=0)
        return np.where(one[columns, None], 0.0, of_overlap(lost))

    m, n_classes = len(statistics.n_categories), statistics.table.shape[1]
    return by_blocks(m, n_classes, between, lambda columns: np.full(len(columns), 2.0))


def _contrast(
    alpha: float, statistics: CategoryCounts, columns: IntArray, prior: float
) -> Contrast:
    sizes = statistics.n_categories[columns]
    of_feature = weight_of(statistics, columns)
    rows = _repeated(of_feature, sizes)
    y = statistics.table[_rows_of(statistics, columns)]
    effect, error = log_odds(y, rows, prior)
    z = ratio(effect, error)
    first = _starts(sizes)
    category = np.array(
        [np.argmax(z[start : start + n]) for start, n in zip(first, sizes, strict=True)],
        dtype=np.int64,
    )
    at = first + category
    log_prob, _ = log_probabilities(statistics, columns, alpha)
    with np.errstate(divide="ignore", invalid="ignore"):
        variance = 1.0 / (y[at] + alpha) - 1.0 / (of_feature + alpha * sizes[:, None])
        weight = log_prob[at, 1] - log_prob[at, 0]
    shares = shares_of(y[at], of_feature)
    return Contrast(
        effect=effect[at],
        z=z[at],
        log2_fold_change=log2_ratio(shares),
        weight=weight,
        standard_error=root_of_sum(variance),
        shares=shares,
        category=category,
    )
