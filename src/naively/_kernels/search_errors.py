"""Predicted error of a feature set with one feature more, or one less, for every candidate.

The set is known by its sums only: the probability mass T_c that it holds in each class, and for
each pair of classes the first two moments in class j of the log-odds against class k of one draw.
A candidate adds its own terms to them, so that one costs a fixed number of operations however
many features the set has. Normal approximation with the exact variance (ERR eq. 24, 33, 30).

Loops go over the candidates, without a branch, so that several are worked on at once; the few that
need a function of the mathematical library are marked by NaN, and follow one by one. In front of
the candidates stands the set as it is.
"""

from __future__ import annotations

import math

import numpy as np

from naively._kernels.compiled import kernel, kernel_part, lane_kernel
from naively._kernels.logarithms import SMALL_LOSS, small_log_loss
from naively._types import Array, FloatArray, IntArray

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
    probability, logarithm : ndarray of shape (C, m)
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
            p = probability[j, i]
            mass[j] += p
            for k in range(n_classes):
                if probability[k, i] > 0.0:
                    odds = logarithm[j, i] - logarithm[k, i]
                    sums[j, k, 0] += p * odds
                    sums[j, k, 1] += p * odds * odds
                else:
                    sums[j, k, 2] += p


@lane_kernel
def candidate_errors(
    probability: FloatArray,
    logarithm: FloatArray,
    candidates: IntArray,
    sign: float,
    mass: FloatArray,
    sums: FloatArray,
    lengths: FloatArray,
    log_prior: FloatArray,
    pooled: bool,
    product: bool,
    errors: FloatArray,
) -> None:
    """Write the error with each candidate added (sign 1) or taken away (-1).

    Parameters
    ----------
    probability, logarithm : ndarray of shape (C, m)
        As in `set_sums`.
    candidates : ndarray of shape (n,)
        Features to try.
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
    errors : ndarray of shape (n,)
        Receives the errors.
    """
    n_classes, n = len(mass), len(candidates) + 1
    p, log_p = np.zeros((n_classes, n)), np.zeros((n_classes, n))
    total, log_total = np.empty((n_classes, n)), np.empty((n_classes, n))
    for c in range(n_classes):
        for e in range(1, n):
            i = np.uint64(candidates[e - 1])
            p[c, e], log_p[c, e] = probability[c, i], logarithm[c, i]
        whole = mass[c] if pooled else 1.0 - mass[c]  # inside, or outside of, the present set
        _take_away(whole, p[c], -sign if pooled else sign, total[c], log_total[c])
    x, free, tail, wrong = np.empty(n), np.empty(n), np.empty(n), np.empty(n)
    near = np.empty(1 + _TERMS)
    errors[:] = 0.0
    for j in range(n_classes):
        prior = math.exp(log_prior[j])
        if prior == 0.0:
            continue
        wrong[:] = 0.0
        for k in range(n_classes):
            if k == j:
                continue
            _distances(
                p[j], p[k], log_p[j], log_p[k], sign, sums[j, k], total[j], total[k], log_total[j],
                log_total[k], lengths[j], log_prior[k] - log_prior[j], pooled, j < k, x, free,
            )  # fmt: skip
            _expand(x[0] if sums[j, k, 2] == 0.0 else math.inf, near)
            _write_tails(x, near, tail)
            for e in range(n):
                lost = free[e] * tail[e]
                # 1 - product of (1 - lost), without cancellation
                wrong[e] += lost - wrong[e] * lost if product else lost / (n_classes - 1)
        for e in range(1, n):
            errors[e - 1] += prior * wrong[e]


@kernel_part
def _take_away(
    whole: float, p: FloatArray, sign: float, total: FloatArray, log_total: FloatArray
) -> None:
    """Write whole - sign p, and its logarithm: 0 if that is nothing but rounding."""
    log_whole = math.log(whole) if whole > _NOTHING else 0.0
    for e in range(len(p)):
        part = sign * p[e]
        rest, r = whole - part, part / whole
        near = abs(r) < SMALL_LOSS and rest > _NOTHING and whole > _NOTHING
        total[e], log_total[e] = rest, log_whole - small_log_loss(r) if near else math.nan
    for e in range(len(p)):
        if math.isnan(log_total[e]):
            log_total[e] = math.log(total[e]) if total[e] > _NOTHING else 0.0


@kernel_part
def _distances(
    p: FloatArray,
    rival_p: FloatArray,
    log_p: FloatArray,
    rival_log_p: FloatArray,
    sign: float,
    sums: FloatArray,
    total: FloatArray,
    rival_total: FloatArray,
    log_total: FloatArray,
    rival_log_total: FloatArray,
    length: float,
    threshold: float,
    pooled: bool,
    first: bool,
    x: FloatArray,
    free: FloatArray,
) -> None:
    """Write x such that a row of class j goes to k with probability free / 2 erfc(x).

    A decision without chance has an infinite x; free is the probability that all its features are
    possible in k.
    """
    n = len(p)
    mean, second, scale = np.empty(n), np.empty(n), np.empty(n)
    for e in range(n):
        # First the features of the set ...
        added, odds, possible = sign * p[e], log_p[e] - rival_log_p[e], rival_p[e] > 0.0
        m = sums[0] + added * odds if possible else sums[0]
        s = sums[1] + added * odds * odds if possible else sums[1]
        size = sums[1] + abs(added) * odds * odds if possible else sums[1]
        veto = sums[2] if possible else sums[2] + added
        # ... then the rest of the document.
        rest, odds = total[e], log_total[e] - rival_log_total[e]
        scale[e] = size + rest * odds * odds  # of the terms whose sums and differences `second` is
        if pooled:
            # The rule compares shares among the selected features: each log-odds falls by `odds`.
            held = rest - veto
            s += odds * (odds * held - 2.0 * m)
            m -= odds * held
        else:
            there, known = rest > _NOTHING, rival_total[e] > _NOTHING
            m = m + rest * odds if there and known else m
            s = s + rest * odds * odds if there and known else s
            veto = veto + rest if there and not known else veto
        mean[e], second[e], free[e] = m, s, 1.0 - veto if veto > 0.0 else 1.0
    for e in range(n):
        if free[e] < 1.0:
            some = free[e] > _NOTHING
            mean[e] = mean[e] / free[e] if some else 0.0
            second[e] = second[e] / free[e] if some else 0.0
            scale[e] = scale[e] / free[e] if some else 0.0
            free[e] = free[e] ** length if some else 0.0**length
    for e in range(n):
        distance = length * mean[e] - threshold
        variance = length * (second[e] - mean[e] * mean[e])
        # Ties go to the first of the two.
        sure = math.inf if distance > 1e-9 or (first and distance >= -1e-9) else -math.inf
        chance = variance > 1e-20 + 1e-14 * length * scale[e]
        x[e] = distance / np.sqrt(2.0 * variance) if chance else sure


@kernel_part
def _expand(x: float, near: FloatArray) -> None:
    """Write x, and the Taylor coefficients of half of erfc around x, to (1 + terms,)."""
    near[0] = x
    near[1] = 0.5 * math.erfc(x)
    before, now = 0.0, math.exp(-x * x) / math.sqrt(math.pi)  # coefficients of the density
    for n in range(1, _TERMS):
        near[n + 1] = -now / n
        before, now = now, -2.0 * (x * now + before) / n


@kernel_part
def _write_tails(x: FloatArray, near: FloatArray, tail: FloatArray) -> None:
    """Write half of erfc(x): by a series around near[0], as for most, where that is close."""
    for e in range(len(x)):
        t = x[e] - near[0]
        value = near[_TERMS]
        for n in range(_TERMS - 1, 0, -1):
            value = value * t + near[n]
        tail[e] = value if abs(t) * (1.0 + abs(x[e])) <= _NEAR else math.nan
    for e in range(len(x)):
        if math.isnan(tail[e]):
            tail[e] = 0.5 * math.erfc(x[e])
