r"""The law of the log-odds between two classes, and its exact moments.

A row is a set of independent blocks of outcomes. A document of N words is one block (which word?)
drawn N times; a row of m binary columns is m blocks (absent or present) drawn once. If outcome e
of block b has probability :math:`p_{be}` under the true class and moves the log-odds by
:math:`a_{be}` = (score of class i) - (score of class k), then

.. math::
    L = \sum_{\text{draws}} \sum_b a_{b e_b}, \qquad
    \log E\, e^{sL} = N \sum_b \log \sum_e p_{be} e^{s a_{be}},

so that mean and variance are exact in one pass over the outcomes,
:math:`N \sum_b \sum_e p a` and :math:`N \sum_b (\sum_e p a^2 - (\sum_e p a)^2)`. Class i is
preferred to class k when L exceeds the threshold (bias of k) - (bias of i).

Outcomes of probability zero under a class veto it: they decide, and are kept apart from the sum.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from naively._types import BoolArray, FloatArray

# Log-odds that differ by less than this share of the largest one are the same number, computed
# along two ways; a sum within the same tolerance of the threshold is a tie.
TIE_TOLERANCE = 1e-10
_ROUNDING = 1e-13  # of scores, relative (below 1: absolute), by which equal ones may differ


@dataclass(frozen=True, slots=True)
class DecisionModel:
    """What each class produces, and the linear rule that judges it."""

    probability: FloatArray  # (C, B, E) of outcome e of block b under class c; sums to 1 over e
    weight: FloatArray  # (C, B, E) nats that the outcome adds to the score of class c; -inf vetoes
    bias: FloatArray  # (C,) nats: log prior and what else does not depend on the row
    log_prior: FloatArray  # (C,) decides when a row vetoes every class
    repeats: bool  # the blocks are drawn once per unit of length, else once per row
    has_rest: bool = False  # the last outcome stands for all features left out (ERR eq. 22)

    @property
    def n_classes(self) -> int:
        """Number of classes."""
        return len(self.bias)


@dataclass(frozen=True, slots=True)
class LogOdds:
    """Law of one log-odds under one true class, given that no outcome decides by itself."""

    value: FloatArray  # (B, E) nats, finite
    probability: FloatArray  # (B, E), sums to 1 over e; 0 where an outcome decides
    threshold: float  # class i is preferred where the sum is larger
    has_rest: bool
    free: float  # probability per draw that no outcome decides
    spared: float  # probability per draw that class i is not vetoed
    rival_spared: float  # the same of class k
    prior_lead: int  # where both are vetoed, class i is preferred if 1, k if -1; 0: a tie

    def mean(self) -> float:
        """Mean of one draw, in nats."""
        return float((self.probability * self.value).sum())

    def variance(self) -> float:
        """Variance of one draw, in square nats."""
        centred = self.value - (self.probability * self.value).sum(axis=1, keepdims=True)
        return float((self.probability * centred**2).sum())

    def tolerance(self) -> float:
        """Distance from the threshold under which a sum of draws is a tie."""
        largest = float(np.abs(np.where(self.probability > 0, self.value, 0.0)).max(initial=0.0))
        return TIE_TOLERANCE * max(largest, abs(self.threshold), 1e-300)


def log_odds(model: DecisionModel, i: int, k: int, true: int) -> LogOdds:
    """Law of (score of class i) - (score of class k) when the row comes from class `true`."""
    p = model.probability[true]
    ok, rival_ok = np.isfinite(model.weight[i]), np.isfinite(model.weight[k])
    finite = ok & rival_ok
    mine, others = (np.where(finite, model.weight[c], 0.0) for c in (i, k))
    difference = _difference(mine, others)
    mass = np.where(finite, p, 0.0)
    block = mass.sum(axis=1, keepdims=True)
    return LogOdds(
        value=difference,
        probability=np.divide(mass, block, out=np.zeros_like(mass), where=block > 0),
        threshold=_threshold(model.bias[i], model.bias[k], i < k),
        has_rest=model.has_rest,
        free=_without(p, ~finite),
        spared=_without(p, ~ok),
        rival_spared=_without(p, ~rival_ok),
        prior_lead=_lead(model.log_prior[i], model.log_prior[k]),
    )


def _threshold(bias: float, rival: float, wins_ties: bool) -> float:
    """Where class i begins to win; of two classes that never occur, the first one always does."""
    if np.isneginf(bias) and np.isneginf(rival):
        return -np.inf if wins_ties else np.inf
    if np.isfinite(bias) and np.isfinite(rival):
        return float(_difference(rival, bias))
    return float(rival - bias)


def _difference(score: Any, rival: Any) -> FloatArray:
    """Return score - rival, 0 where nothing but rounding tells them apart."""
    difference = np.subtract(score, rival)
    size = np.maximum(np.maximum(np.abs(score), np.abs(rival)), 1.0)
    return np.where(np.abs(difference) > _ROUNDING * size, difference, 0.0)


def _without(probability: FloatArray, event: BoolArray) -> float:
    """Probability that no block has an outcome of the event; exactly 1 if the event is empty."""
    return float(np.prod(1 - np.where(event, probability, 0.0).sum(axis=1)))


def _lead(score: float, rival: float) -> int:
    """Which of two scores is larger: 1 the first, -1 the second, 0 neither."""
    return int(score > rival) - int(score < rival)


def compact(law: LogOdds) -> tuple[FloatArray, FloatArray]:
    """Distinct values of a one-block law, ascending, and their probabilities."""
    keep = law.probability[0] > 0
    return merge_atoms(law.value[0, keep], law.probability[0, keep])


def merge_atoms(value: FloatArray, probability: FloatArray) -> tuple[FloatArray, FloatArray]:
    """Atoms in ascending order; those closer than the tie tolerance become one."""
    if len(value) == 0:
        return value, probability
    order = np.argsort(value, kind="stable")
    value, probability = value[order], probability[order]
    step = TIE_TOLERANCE * 1e-2 * max(abs(value[0]), abs(value[-1]), 1e-300)
    start = np.flatnonzero(np.concatenate(([True], np.diff(value) > step)))
    return value[start], np.add.reduceat(probability, start)


def moments(model: DecisionModel, true: int) -> tuple[FloatArray, FloatArray]:
    """Mean and variance per draw of every log-odds under class `true`: two arrays (C, C).

    Entry (i, k) is of (score of i) - (score of k), given that no outcome decides by itself.
    """
    if np.isfinite(model.weight).all():
        return _finite_moments(model, true)
    C = model.n_classes
    mean, variance = np.zeros((C, C)), np.zeros((C, C))
    for i in range(C):
        for k in range(i + 1, C):
            law = log_odds(model, i, k, true)
            mean[i, k], variance[i, k] = law.mean(), law.variance()
    return mean - mean.T, variance + variance.T


def _finite_moments(model: DecisionModel, true: int) -> tuple[FloatArray, FloatArray]:
    """Moments of all pairs by one matrix product."""
    p = model.probability[true]
    average = np.einsum("be,cbe->cb", p, model.weight)
    # Centring on a class mean first keeps the digits that sum p a^2 - (sum p a)^2 would lose.
    centred = model.weight - average[:, :, None]
    covariance = np.einsum("be,ibe,kbe->ik", p, centred, centred, optimize=True)
    spread = np.diag(covariance)
    variance = spread[:, None] + spread[None, :] - covariance - covariance.T
    np.fill_diagonal(variance, 0.0)
    total = average.sum(axis=1)
    return total[:, None] - total[None, :], np.maximum(variance, 0.0)
