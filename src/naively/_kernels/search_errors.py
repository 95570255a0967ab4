"""Predicted error of a feature set with one feature more, or one less, for every candidate.

The set is known by its sums only: the probability mass T_c that it holds in each class, and for
each pair of classes the first two moments in class j of the log-odds against class k of one draw.
A candidate adds its own terms to them, so that one costs a fixed number of operations however
many features the set has. Normal approximation with the exact variance (ERR eq. 24, 33, 30).
"""

from __future__ import annotations

import math

import numpy as np

from naively._kernels.compiled import kernel, kernel_part
from naively._kernels.logarithms import log_less
from naively._types import Array, BoolArray, FloatArray

_NOTHING = 1e-12  # a rest cell below this is rounding
_TERMS = 8  # of the series of a tail around that of the present set
_NEAR = 0.02  # distance, times 1 + |x|, up to which the next term is below 1e-15 of the tail


@kernel
def set_sums(
    probability: FloatArray,
    logarithm: FloatArray,
    members: Array,
    mass: FloatArray,
    sums: FloatArray,
) -> None:
    """Compute the sums of a feature set, from scratch.

    Parameters
    ----------
    probability, logarithm : ndarray of shape (m, C)
        Class probabilities and their logarithms (0 where the probability is 0).
    members : ndarray of int
        The set.
    mass : ndarray of shape (C,)
        Receives the probability of the set in each class.
    sums : ndarray of shape (C, C, 3)
        Receives, for classes j and k: first and second moment in class j of the log-odds of j
        against k, and the probability in class j of features that k cannot produce.
    """
    n_classes = len(mass)
    mass[:] = 0.0
    sums[:] = 0.0
    for position in range(len(members)):
        i = np.uint64(members[position])
        for j in range(n_classes):
            p = probability[i, j]
            mass[j] += p
            for k in range(n_classes):
                if probability[i, k] > 0.0:
                    odds = logarithm[i, j] - logarithm[i, k]
                    sums[j, k, 0] += p * odds
                    sums[j, k, 1] += p * odds * odds
                else:
                    sums[j, k, 2] += p


@kernel_part
def _wrong(
    mean: float,
    second: float,
    impossible: float,
    length: float,
    threshold: float,
    first: bool,
    near: FloatArray,
    scale: float,
) -> float:
    """Probability that class j loses against k, given the moments of one draw in class j.

    `scale` is the size of the terms whose sums and differences the second moment is.
    """
    free = 1.0
    if impossible > 0.0:
        free = max(1.0 - impossible, 0.0)
        if free <= _NOTHING:
            return 0.0 if length > 0.0 else _sure(-threshold, 1e-9, first)
        mean, second, scale = mean / free, second / free, scale / free
        free = free**length
    distance = length * mean - threshold
    variance = length * (second - mean * mean)
    if variance <= 1e-20 + 1e-14 * length * scale:
        return free * _sure(distance, 1e-9, first)
    return free * _tail(distance / math.sqrt(2.0 * variance), near)


@kernel_part
def _tail(x: float, near: FloatArray) -> float:
    """Half of erfc(x): by a series around near[0], as for most candidates, where that is close."""
    t = x - near[0]
    if abs(t) * (1.0 + abs(x)) > _NEAR:
        return 0.5 * math.erfc(x)
    value = near[_TERMS]
    for n in range(_TERMS - 1, 0, -1):
        value = value * t + near[n]
    return float(value)


@kernel
def _expansions(
    whole: FloatArray,
    log_whole: FloatArray,
    sums: FloatArray,
    lengths: FloatArray,
    log_prior: FloatArray,
    pooled: bool,
) -> FloatArray:
    """Series (C, C, 1 + terms) around the present set; around infinity where it is not normal."""
    n_classes = len(whole)
    near = np.full((n_classes, n_classes, 1 + _TERMS), np.inf)
    for j in range(n_classes):
        for k in range(n_classes):
            mean, second, impossible = _with_rest(
                sums[j, k, 0],
                sums[j, k, 1],
                sums[j, k, 2],
                whole[j],
                whole[k],
                log_whole[j] - log_whole[k],
                pooled,
            )
            distance = lengths[j] * mean - (log_prior[k] - log_prior[j])
            variance = lengths[j] * (second - mean * mean)
            if k != j and impossible == 0.0 and variance > 0.0:
                _expand(distance / math.sqrt(2.0 * variance), near[j, k])
    return near


@kernel
def _expand(x: float, near: FloatArray) -> None:
    """Write x, and the Taylor coefficients of half of erfc around x, to (1 + terms,)."""
    near[0] = x
    near[1] = 0.5 * math.erfc(x)
    before, now = 0.0, math.exp(-x * x) / math.sqrt(math.pi)  # coefficients of the density
    for n in range(1, _TERMS):
        near[n + 1] = -now / n
        before, now = now, -2.0 * (x * now + before) / n


@kernel_part
def _sure(distance: float, tolerance: float, first: bool) -> float:
    """Error of a decision without chance: 0 above the threshold, 1 below, ties to the first."""
    if distance > tolerance or (first and distance >= -tolerance):
        return 0.0
    return 1.0


@kernel_part
def _with_rest(
    mean: float,
    second: float,
    impossible: float,
    total: float,
    rival_total: float,
    odds: float,
    pooled: bool,
) -> tuple[float, float, float]:
    """Moments of the features of the set to moments of a draw, given the log-odds of the totals."""
    if pooled:
        # The rule compares shares among the selected features: each log-odds falls by `odds`.
        held = total - impossible
        return mean - odds * held, second + odds * (odds * held - 2.0 * mean), impossible
    if total <= _NOTHING:
        return mean, second, impossible
    if rival_total <= _NOTHING:
        return mean, second, impossible + total
    return mean + total * odds, second + total * odds * odds, impossible


@kernel
def candidate_errors(
    probability: FloatArray,
    logarithm: FloatArray,
    candidate: BoolArray,
    sign: float,
    mass: FloatArray,
    sums: FloatArray,
    lengths: FloatArray,
    log_prior: FloatArray,
    pooled: bool,
    product: bool,
    start: int,
    stop: int,
    errors: FloatArray,
) -> None:
    """Write the error with each candidate added (sign 1) or taken away (-1); inf for others.

    Parameters
    ----------
    probability, logarithm : ndarray of shape (m, C)
        As in `set_sums`.
    candidate : ndarray of bool, shape (m,)
        Which features to try.
    sign : float
        1 to add, -1 to take away, 0 to leave the set as it is.
    mass, sums : ndarray of shape (C,) and (C, C, 3)
        Sums of the present set.
    lengths, log_prior : ndarray of shape (C,)
        Draws per document, and log prior, of each class.
    pooled : bool
        Whether the features outside of the set are ignored by the rule.
    product : bool
        Whether a row is right that beats all rivals at once, taken as independent; else the
        error is the mean over the rivals.
    start, stop : int
        Range of features to treat.
    errors : ndarray of shape (m,)
        Receives the errors.
    """
    n_classes = np.uint64(len(mass))
    whole = mass.copy() if pooled else 1.0 - mass  # inside, or outside of, the present set
    log_whole = np.zeros_like(mass)
    for c in range(n_classes):
        log_whole[c] = math.log(whole[c]) if whole[c] > _NOTHING else 0.0
    gone = -sign if pooled else sign
    prior = np.exp(log_prior)
    total = np.empty_like(mass)
    log_total = np.empty_like(mass)
    near = _expansions(whole, log_whole, sums, lengths, log_prior, pooled)
    for position in range(start, stop):
        i = np.uint64(position)
        if not candidate[i]:
            errors[i] = np.inf
            continue
        for c in range(n_classes):
            part = gone * probability[i, c]
            total[c] = whole[c] - part
            log_total[c] = _log_rest(whole[c], log_whole[c], part)
        error = 0.0
        for j in range(n_classes):
            if prior[j] == 0.0:
                continue
            p, wrong = sign * probability[i, j], 0.0
            for k in range(n_classes):
                if k == j:
                    continue
                mean, second, impossible = sums[j, k, 0], sums[j, k, 1], sums[j, k, 2]
                scale = second
                if probability[i, k] > 0.0:
                    odds = logarithm[i, j] - logarithm[i, k]
                    mean += p * odds
                    second += p * odds * odds
                    scale += abs(p) * odds * odds
                else:
                    impossible += p
                rest_odds = log_total[j] - log_total[k]
                scale += total[j] * rest_odds * rest_odds
                mean, second, impossible = _with_rest(
                    mean, second, impossible, total[j], total[k], rest_odds, pooled
                )
                margin = log_prior[k] - log_prior[j]
                lost = _wrong(
                    mean, second, impossible, lengths[j], margin, j < k, near[j, k], scale
                )
                # 1 - product of (1 - lost), without cancellation
                wrong += lost - wrong * lost if product else lost / (n_classes - 1)
            error += prior[j] * wrong
        errors[i] = error


@kernel_part
def _log_rest(whole: float, log_whole: float, part: float) -> float:
    """Return log(whole - part), 0 if that is nothing but rounding."""
    if whole - part <= _NOTHING:
        return 0.0
    return log_less(whole, log_whole, part) if whole > _NOTHING else math.log(whole - part)
