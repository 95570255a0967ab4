"""The hybrid model in plain loops over plain numbers: slow, and plainly right."""

from __future__ import annotations

from fractions import Fraction
from math import exp, fsum, log

import numpy as np


def features(rows, labels, weights, document, *, n_classes, regions, alpha, shared, normalize):
    """b[r][c] of one document under word counts of the given training rows.

    `rows` and `document` are dense lists; `regions` lists the columns of each region; `alpha` has
    a value per word (shared) or per column.
    """
    n_words = len(regions[0])
    b = np.zeros((len(regions), n_classes))
    for r, columns in enumerate(regions):
        size = fsum(document[j] for j in columns)
        if size == 0:
            continue
        for c in range(n_classes):
            # The words that share the normaliser of this region: word -> its columns.
            if shared:
                words = [[region[q] for region in regions] for q in range(n_words)]
            else:
                words = [[j] for j in columns]
            smoothing = [alpha[q] if shared else alpha[words[q][0]] for q in range(len(words))]
            count = [
                sum(
                    Fraction(float(weights[i])) * Fraction(float(rows[i][j]))
                    for i in range(len(rows))
                    if labels[i] == c
                    for j in word
                )
                for word in words
            ]
            smoothed = [
                float(n + Fraction(float(a))) for n, a in zip(count, smoothing, strict=True)
            ]
            total = float(sum(count) + sum(Fraction(float(a)) for a in smoothing))
            terms = [document[j] * (log(smoothed[q]) - log(total)) for q, j in enumerate(columns)]
            b[r, c] = fsum(terms) / (size if normalize else 1)
    return b


def leave_one_out(rows, labels, weights, **model):
    """b[i][r][c]: n refits, each without row i."""
    out = []
    for i in range(len(rows)):
        others = [q for q in range(len(rows)) if q != i]
        out.append(
            features(
                [rows[q] for q in others],
                [labels[q] for q in others],
                [weights[q] for q in others],
                rows[i],
                **model,
            )
        )
    return np.array(out)


def conditional_log_likelihood(theta, intercept, b, labels, weights):
    """Sum over rows of s_i log P(y_i | b_i)."""
    terms = []
    for i, label in enumerate(labels):
        scores = [
            intercept[c] + fsum(theta[r] * b[i][r][c] for r in range(len(theta)))
            for c in range(len(intercept))
        ]
        top = max(scores)
        terms.append(weights[i] * (scores[label] - top - log(fsum(exp(s - top) for s in scores))))
    return fsum(terms)
