"""Predicted error in plain loops: every document enumerated, every covariance written out."""

from __future__ import annotations

import itertools
import math

import numpy as np


def compositions(total, parts):
    """All ways to write `total` as a sum of `parts` counts."""
    if parts == 1:
        yield (total,)
        return
    for first in range(total + 1):
        for others in compositions(total - first, parts - 1):
            yield (first, *others)


def multinomial_probability(x, p):
    result = float(math.factorial(sum(x)))
    for count, probability in zip(x, p, strict=True):
        result *= probability**count / math.factorial(count)
    return result


def score(x, weight, bias):
    total = bias
    for count, w in zip(x, weight, strict=True):
        if count:
            total = total + count * w
    return total


def decide(scores, log_prior, tolerance=1e-9):
    """First class of the best score; the prior when all are -inf."""
    if all(s == -math.inf for s in scores):
        scores = log_prior
    best = max(scores)
    return next(c for c, s in enumerate(scores) if s >= best - tolerance)


def confusion_of_documents(probability, weight, bias, log_prior, length):
    """Rows: true class. `probability` and `weight` are lists over classes of lists over words."""
    C = len(probability)
    confusion = np.zeros((C, C))
    for x in compositions(length, len(probability[0])):
        chosen = decide([score(x, weight[c], bias[c]) for c in range(C)], log_prior)
        for j in range(C):
            confusion[j, chosen] += multinomial_probability(x, probability[j])
    return confusion


def confusion_of_switches(presence, log_prior):
    """Bayes rule on independent binary columns."""
    C, D = len(presence), len(presence[0])
    confusion = np.zeros((C, C))
    for x in itertools.product([0, 1], repeat=D):
        likelihood = [
            math.prod(p if bit else 1 - p for p, bit in zip(presence[c], x, strict=True))
            for c in range(C)
        ]
        scores = [
            (math.log(value) if value > 0 else -math.inf) + prior
            for value, prior in zip(likelihood, log_prior, strict=True)
        ]
        chosen = decide(scores, log_prior)
        for j in range(C):
            confusion[j, chosen] += likelihood[j]
    return confusion


def confusion_of_binomials(probability, support, length):
    """ERR eq. (2) as it stands, on every multinomial document; equal priors."""
    C = len(probability)
    confusion = np.zeros((C, C))
    for x in compositions(length, len(probability[0])):
        scores = []
        for p in probability:
            total = 0.0
            for d in support:
                for times, chance in ((x[d], p[d]), (length - x[d], 1 - p[d])):
                    if times:
                        total += times * math.log(chance) if chance > 0 else -math.inf
            scores.append(total)
        chosen = decide(scores, [0.0] * C)
        for j in range(C):
            confusion[j, chosen] += multinomial_probability(x, probability[j])
    return confusion


def log_odds_moments(p, a, length):
    """Mean and variance of sum_d x_d a_d from the multinomial covariance matrix."""
    mean = length * sum(pd * ad for pd, ad in zip(p, a, strict=True))
    variance = 0.0
    for d in range(len(p)):
        for e in range(len(p)):
            covariance = length * (p[d] * (d == e) - p[d] * p[e])
            variance += a[d] * a[e] * covariance
    return mean, variance


def paper_variances(p, a, p_rest, a_rest, length):
    """ERR eq. (25) and eq. (26), the factor m inside the last bracket of (26) left out."""
    uncorrelated = 0.0
    slope = surplus = 0.0
    for pd, ad in zip(p, a, strict=True):
        uncorrelated += pd * (1 - pd) * ad**2 - 2 * pd * p_rest * ad * a_rest
        slope += ad * pd / (1 - p_rest)
        surplus += pd * (1 - pd)
    uncorrelated += p_rest * (1 - p_rest) * a_rest**2
    compensated = uncorrelated - slope**2 * (surplus - p_rest * (1 - p_rest))
    return length * uncorrelated, length * compensated


def search_error(probability, support, length, priors, pooled, rivals="product"):
    """Normal estimate for the features in `support` (ERR eq. 24, 33, 30), no zeros allowed.

    Of more than two classes the product of the comparisons, or the mean of their errors.
    """
    C = len(probability)
    total = [sum(probability[c][d] for d in support) for c in range(C)]
    right = 0.0
    for j in range(C):
        correct, won = 1.0, 0.0
        for k in range(C):
            if k == j:
                continue
            mean = second = 0.0
            for d in support:
                a = math.log(probability[j][d]) - math.log(probability[k][d])
                if pooled:
                    a -= math.log(total[j]) - math.log(total[k])
                mean += probability[j][d] * a
                second += probability[j][d] * a * a
            if not pooled and min(1 - total[j], 1 - total[k]) > 1e-12:
                a = math.log(1 - total[j]) - math.log(1 - total[k])
                mean += (1 - total[j]) * a
                second += (1 - total[j]) * a * a
            threshold = math.log(priors[k]) - math.log(priors[j])
            variance = length * max(second - mean * mean, 0.0)
            distance = length * mean - threshold
            if variance <= 1e-20:
                beats = float(distance > 1e-9 or (abs(distance) <= 1e-9 and j < k))
            else:
                beats = 0.5 * math.erfc(-distance / math.sqrt(2 * variance))
            correct *= beats
            won += beats / (C - 1)
        right += priors[j] * (correct if rivals == "product" else won)
    return 1 - right
