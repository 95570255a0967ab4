"""From pairs of classes to the choice among all of them.

A row goes to class i when i beats every rival. With two classes that is one comparison. With
more, the comparisons depend on one another, and three answers show the range: the product of the
pairwise probabilities (ERR eq. 30, which takes them as independent and is pessimistic), scores
drawn from the multivariate normal law with their exact means and covariances, and rows drawn from
the model itself.
"""

from __future__ import annotations

import numpy as np

from naively._types import FloatArray, IntArray
from naively.expected.lengths import Lengths
from naively.expected.log_odds import DecisionModel

_CHUNK = 4_000_000  # numbers held at a time


def product_of_rivals(pair: FloatArray) -> FloatArray:
    """Probability (C, C) to choose class i in true class j, rows j, from `pair` (C, C, C).

    `pair[j, i, k]` is the probability that i beats k in class j (1 for i = k).
    """
    return np.asarray(pair.prod(axis=2))


def normal_scores(
    model: DecisionModel, lengths: Lengths, n_rows: int, rng: np.random.Generator
) -> FloatArray:
    """Share (C, C) of rows of true class j given to class i, scores multivariate normal."""
    C = model.n_classes
    confusion = np.zeros((C, C))
    finite = np.isfinite(model.weight)
    weight = np.where(finite, model.weight, 0.0)
    for j in range(C):
        p = model.probability[j]
        block_mean = np.einsum("be,cbe->cb", p, weight)
        centred = weight - block_mean[:, :, None]
        covariance = np.einsum("be,ibe,kbe->ik", p, centred, centred, optimize=True)
        spared = np.where(finite, p, 0.0).sum(axis=2).prod(axis=1)
        drawn = rng.choice(lengths.values, n_rows, p=lengths.weights[:, j])[:, None]
        noise = rng.multivariate_normal(
            np.zeros(C), covariance, n_rows, check_valid="ignore", method="eigh"
        )
        scores = drawn * block_mean.sum(axis=1) + np.sqrt(drawn) * noise + model.bias
        scores[rng.random(scores.shape) >= spared**drawn] = -np.inf
        confusion[j] = _decide(scores, model.log_prior)
    return confusion


def simulated_rows(
    model: DecisionModel, lengths: Lengths, n_rows: int, rng: np.random.Generator
) -> FloatArray:
    """Share (C, C) of rows of true class j given to class i, rows drawn from the model."""
    draw = _documents if model.repeats else _outcomes
    return np.stack([draw(model, lengths, j, n_rows, rng) for j in range(model.n_classes)])


def _documents(
    model: DecisionModel, lengths: Lengths, j: int, n_rows: int, rng: np.random.Generator
) -> FloatArray:
    """Documents of one class, word by word, all classes' scores added up on the way."""
    cumulative = np.cumsum(model.probability[j, 0])
    drawn = np.rint(rng.choice(lengths.values, n_rows, p=lengths.weights[:, j])).astype(np.int64)
    weight = np.ascontiguousarray(model.weight[:, 0].T)
    share = np.zeros(model.n_classes)
    size = max(1, int(_CHUNK / max(drawn.mean(), 1) / model.n_classes))
    for start in range(0, n_rows, size):
        scores = _score_words(drawn[start : start + size], cumulative, weight, rng)
        share += _decide(scores + model.bias, model.log_prior) * len(scores)
    return share / n_rows


def _score_words(
    drawn: IntArray, cumulative: FloatArray, weight: FloatArray, rng: np.random.Generator
) -> FloatArray:
    """Scores (rows, C) without bias of documents of the given lengths (rows,)."""
    scores = np.zeros((len(drawn), weight.shape[1]))
    total = int(drawn.sum())
    if total == 0:
        return scores
    word = np.searchsorted(cumulative, rng.random(total) * cumulative[-1], side="right")
    filled = drawn > 0
    start = np.cumsum(drawn[filled]) - drawn[filled]
    scores[filled] = np.add.reduceat(weight[np.minimum(word, len(weight) - 1)], start, axis=0)
    return scores


def _outcomes(
    model: DecisionModel, lengths: Lengths, j: int, n_rows: int, rng: np.random.Generator
) -> FloatArray:
    """Rows of one class, all blocks of some rows at a time."""
    p = model.probability[j]
    edges = np.cumsum(p, axis=1)[:, :-1]
    share = np.zeros(model.n_classes)
    size = max(1, _CHUNK // max(p.size, 1))
    for start in range(0, n_rows, size):
        drawn = rng.random((min(size, n_rows - start), len(p)))
        outcome = (drawn[:, :, None] >= edges).sum(axis=2)
        scores = np.tile(model.bias, (len(drawn), 1))
        for e in range(p.shape[1]):
            chosen, weight = (outcome == e).astype(np.float64), model.weight[:, :, e].T
            possible = np.isfinite(weight)
            scores += chosen @ np.where(possible, weight, 0.0)
            scores[chosen @ ~possible > 0] = -np.inf
        share += _decide(scores, model.log_prior) * len(drawn)
    return share / n_rows


def _decide(scores: FloatArray, log_prior: FloatArray) -> FloatArray:
    """Share of rows that each class wins, as the rules decide."""
    vetoed = np.isneginf(scores).all(axis=1, keepdims=True)
    scores = np.where(vetoed, log_prior, scores)
    # Scores that differ by rounding only are equal: the first class wins.
    best = scores.max(axis=1, keepdims=True)
    near = scores >= best - 1e-10 * np.maximum(np.abs(best), 1.0)
    return np.bincount(near.argmax(axis=1), minlength=scores.shape[1]) / len(scores)
