r"""Sparse l1 centers (Calafiore, Fracastoro 2019, "CEN", proposition 3), any number of classes.

As the l2 centers, with absolute distances:

    min  sum_c 1/n_c sum_{j in c} || x_j - theta_c ||_1      at most k features with free centers

A free feature has the class medians, with mean absolute deviations d_ci; a pooled one the median
of all rows, weighing 1/n_c each, with the sum d_i of the mean deviations from it over the classes.

    gain_i = d_i - sum_c d_ci >= 0

and the k largest gains are the optimum. Any value between two middle ones is a median; gains and
deviations are the same for all of them, the centers are midpoints (proposition 2).

The rule is not linear: score_c = log_prior_c - sum_{i in S} |x_i - theta_ci|.

A missing value, where it is left out, is left out of the medians and deviations of its own feature,
in which a class that lacks it has no part, and out of the distance.

Distance of two classes (:mod:`naively.models.distances`): that of Laplace laws about the centers,
with the scale of greatest likelihood that the classes share, each weighing the same: s_i, the mean
of the d_ci. With d the difference of two centers, integration over the three parts of the line
gives the overlap (1 + d / 2 s) exp(-d / 2 s), so that B = d / 2 s - log(1 + d / 2 s). (The rule
takes all scales for 1. With that in B too, panels were worse than the gains on three sets of genes
of four.)
"""

from __future__ import annotations

from functools import partial
from typing import Protocol

import numpy as np
from numpy.typing import ArrayLike

from naively._types import FloatArray, IntArray
from naively.models.distances import CERTAIN, Distances, by_blocks, largest
from naively.models.family import ROUNDING, Family, divergence, separable
from naively.models.kinds import MEDIANS
from naively.models.model import Model, ignored
from naively.models.priors import center_prior
from naively.models.value_rules import AbsoluteRule
from naively.statistics.values import ClassMedians

_NOTHING = 1e-14  # of a dispersion


class Medians(Protocol):
    """What the l1 model needs to know about the data."""

    @property
    def class_weight(self) -> FloatArray:
        """(C,) weight of the rows of each class."""
        ...

    @property
    def observed(self) -> FloatArray | None:
        """(m, C) weight of the rows that tell of each feature, if values may be missing."""
        ...

    @property
    def center(self) -> FloatArray:
        """(C, m) median of each class."""
        ...

    @property
    def dispersion(self) -> FloatArray:
        """(C, m) mean absolute deviation from it."""
        ...

    @property
    def pooled_center(self) -> FloatArray:
        """(m,) median of all rows, each class weighing the same."""
        ...

    @property
    def pooled_dispersion(self) -> FloatArray:
        """(m,) sum over the classes of the mean absolute deviations from it."""
        ...


def model(*, priors: ArrayLike | None = None, missing: str = "error") -> Model[ClassMedians]:
    """Centers that are medians; those of some rows do not follow from those of others."""
    ignores = ignored(missing)
    return Model(
        name="l1-centers",
        family=l1_centers(),
        gather=partial(ClassMedians.from_matrix, missing=ignores),
        log_prior=partial(center_prior, priors=priors),
        words=MEDIANS,
        subtracts=False,
        learns_prior=isinstance(priors, str) and priors == "empirical",
        ignores_missing=ignores,
    )


def l1_centers() -> Family[Medians]:
    """Nearest centers by absolute distance."""
    return Family(
        name="l1 centers",
        gain=l1_gain,
        problem=partial(separable, l1_gain, _baseline, _rounding),
        rule=_rule,
        distances=_distances,
        objective="saving of distance",
        unit="units",
    )


def l1_gain(statistics: Medians) -> FloatArray:
    """Distance saved by freeing the center of each feature: d_i - sum_c d_ci.

    Returns
    -------
    (m,) non-negative, in the units of the feature.
    """
    pooled = statistics.pooled_dispersion
    gain = pooled - statistics.dispersion.sum(axis=0)
    return np.where(gain <= _NOTHING * pooled, 0.0, gain)


def _rounding(statistics: Medians, columns: IntArray, gain: FloatArray) -> FloatArray:
    """Bound rounding: a gain is a difference of dispersions."""
    return ROUNDING * statistics.pooled_dispersion[columns]


def sparse_centers(statistics: Medians, support: IntArray) -> FloatArray:
    """Centers (C, m): class medians on the support, the pooled median elsewhere."""
    centers = np.tile(statistics.pooled_center, (len(statistics.class_weight), 1))
    centers[:, support] = statistics.center[:, support]
    return centers


def _baseline(statistics: Medians) -> float:
    return -float(statistics.pooled_dispersion.sum())


def _rule(statistics: Medians, support: IntArray, log_prior: FloatArray) -> AbsoluteRule:
    intercept = np.where(statistics.class_weight > 0, log_prior, -np.inf)
    return AbsoluteRule(intercept, np.ascontiguousarray(statistics.center[:, support]))


def _distances(statistics: Medians) -> Distances:
    center, weight = statistics.center, statistics.class_weight[:, None]
    occupied = (weight if statistics.observed is None else statistics.observed.T) > 0
    spread = statistics.dispersion.sum(axis=0) / np.maximum(occupied.sum(axis=0), 1)
    a, b = np.triu_indices(len(center), 1)

    def between(columns: IntArray) -> FloatArray:
        apart, scale = np.abs(center[a][:, columns] - center[b][:, columns]).T, spread[columns]
        half = apart / (2.0 * np.where(scale > 0, scale, 1.0))[:, None]
        certain = np.where(apart > 0, CERTAIN, 0.0)
        return np.where(scale[:, None] > 0, divergence(-half, 1.0 + half), certain)

    def size(columns: IntArray) -> FloatArray:
        """Centers, in units of the scale."""
        scale = np.where(spread[columns] > 0, spread[columns], np.inf)
        return largest(center[:, columns].T / scale[:, None])

    return by_blocks(center.shape[1], len(center), between, size)
