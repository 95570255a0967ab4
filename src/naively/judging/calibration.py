r"""How far the probabilities of a model are to be believed: one temperature for all its scores.

Naive Bayes counts what two features say together twice, so its odds are too large. With the scores
s_j of rows that the model has not seen (each fold judged by a model of the others, its features
selected without it), the inverse temperature beta > 0 maximises

    sum_j w_j log softmax(beta s_j)_{y_j}

which is concave: beta is where the derivative, sum_j w_j (s_j,y_j - E_beta s_j), is zero. It is
taken at the points of a grid, where it adds up over rows, parts and machines, and is interpolated
between them. Answers stay as they are; only their probabilities change (Platt 1999; Guo, Pleiss,
Sun, Weinberger 2017, "On calibration of modern neural networks", section 4.2). Rows whose own class
is ruled out (smoothing 0), which no temperature helps, have no part in it.
"""

from __future__ import annotations

import numpy as np

from naively._types import Array, FloatArray, IntArray
from naively.judging.folds import Folds, divided, stratified_folds
from naively.judging.rows import Rows
from naively.models.model import Model, S
from naively.selection.train import train

GRID = 1.05 ** np.arange(-140, 41)  # of beta: 0.001 to 7, in steps of 5 %
N_FOLDS = 5
_CELLS = 1 << 20  # scores looked at at a time


def slopes(scores: FloatArray, labels: IntArray, weight: FloatArray | None = None) -> FloatArray:
    """Differentiate the log-likelihood of some rows at each beta of the grid: (G,) nats.

    Parameters
    ----------
    scores : (n, C)
    labels : (n,)
        Position of the class of each row; C for a label that the scores do not know.
    weight : (n,), optional
    """
    n, n_classes = scores.shape
    weight = np.ones(n) if weight is None else weight
    known = np.flatnonzero(labels < n_classes)
    known = known[np.isfinite(scores[known, labels[known]])]
    total = np.zeros(len(GRID))
    step = max(_CELLS // max(n_classes, 1), 1)
    for start in range(0, len(known), step):
        at = known[start : start + step]
        s = scores[at] - scores[at].max(axis=1, keepdims=True)
        own = s[np.arange(len(at)), labels[at]]
        finite = np.where(np.isneginf(s), 0.0, s)  # of probability 0: 0 times -inf is 0
        for g, beta in enumerate(GRID.tolist()):
            p = np.exp(beta * s)
            mean = (p * finite).sum(axis=1) / p.sum(axis=1)
            total[g] += weight[at] @ (own - mean)
    return total


def positions(labels: Array, classes: Array) -> IntArray:
    """Position of the label of each row (n,) among the classes (C,), ascending; C if it is none."""
    at = np.searchsorted(classes, labels)
    known = classes[np.minimum(at, len(classes) - 1)] == labels
    return np.where(known, at, len(classes))


def temperature_of(slope: FloatArray) -> float:
    """Temperature 1 / beta at which the derivative (G,), which falls, is zero; in the grid."""
    if not slope[0] > 0:  # no row speaks for its class: nothing is to be believed
        return float(1 / GRID[0])
    if not slope[-1] < 0:
        return float(1 / GRID[-1])
    g = int(np.argmax(slope <= 0))
    share = slope[g - 1] / (slope[g - 1] - slope[g])
    return float(1 / (GRID[g - 1] ** (1 - share) * GRID[g] ** share))


def cross_fitted(model: Model[S], rows: Rows, statistics: S, k: int) -> float:
    """Temperature of the model with k features, from five folds of its rows.

    Parameters
    ----------
    model : Model
        What is calibrated; each fold trains it as all rows do.
    rows : Rows
        From `checked_rows`.
    statistics
        Class statistics of all of them.
    k : int
        Number of features.
    """
    n_folds = min(N_FOLDS, len(rows.labels))
    if n_folds < 2:
        raise ValueError(
            "`calibration`='cross-fitted' needs two rows or more of positive weight; got "
            f"n_samples={n_folds}."
        )
    dealt = stratified_folds(rows.labels, n_folds, np.random.RandomState(0))
    folds = Folds(model, rows, statistics.classes, divided(dealt, n_folds), statistics)
    total = np.zeros(len(GRID))
    for t in range(n_folds):
        fold = folds.fold(t)
        trained = train(model, fold.statistics, k, rows=fold.training)
        held_out = fold.held_out
        weight = held_out.weight if len(held_out.weight) else None
        total += slopes(trained.scores(held_out.X), held_out.labels, weight)
    return temperature_of(total)
