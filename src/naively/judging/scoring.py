r"""Scores by which k is chosen, by scikit-learn's names: sums over rows, and the loss that follows.

    accuracy            share of the rows that is decided rightly
    balanced_accuracy   the same, all classes weighing the same
    f1_macro            mean over the classes of 2 right / (answered + rows)
    neg_log_loss        mean of log p(label of the row), nats

Sums of parts of the rows add up. The loss is 1 - score, and of the last -score. The F1 of a fold is
that of its own rows, and all folds weigh the same in their mean; a class that is neither in a fold
nor answered there has none.
"""

from __future__ import annotations

from collections.abc import Iterable

import numpy as np

from naively._types import Array, FloatArray
from naively.judging.names import SHARES
from naively.models.rules import winners

_LEAST = float(np.log(np.finfo(np.float64).eps))  # log of a probability of 0, as in scikit-learn


def is_share(scoring: str) -> bool:
    """Whether the loss is the share of the rows that is decided wrongly."""
    return scoring in SHARES


def scores_of(scoring: str, losses: FloatArray) -> FloatArray:
    """Turn losses into scores, the higher the better."""
    return -losses if scoring == "neg_log_loss" else 1 - losses


def sums_of(
    scoring: str, scores: FloatArray, labels: Array, classes: Array, names: Array
) -> FloatArray:
    """Sum what is needed of the answers to some rows, (A,): for F1 or log loss.

    Parameters
    ----------
    scoring
        "f1_macro" or "neg_log_loss".
    scores : (n, C)
        Log-probabilities up to a term common to a row.
    labels : (n,)
        Of the rows, not all of them among the classes that can be answered.
    classes : (C,)
        These, ascending.
    names : (N,)
        All labels, ascending.
    """
    code = np.searchsorted(classes, labels).clip(max=len(classes) - 1)
    known = classes[code] == labels
    if scoring == "neg_log_loss":
        most = scores.max(axis=1)
        own = scores[np.arange(len(labels)), code] - most
        with np.errstate(invalid="ignore"):
            log_p = own - np.log(np.exp(scores - most[:, None]).sum(axis=1))
        return np.array([-np.where(known, np.maximum(log_p, _LEAST), _LEAST).sum()])
    answered = winners(scores)
    place = np.searchsorted(names, classes)[answered]
    right = np.bincount(place[known & (answered == code)], minlength=len(names))
    return np.concatenate([right, np.bincount(place, minlength=len(names))]).astype(np.float64)


def totals_of(scoring: str, labels: Array, names: Array) -> FloatArray:
    """Sum what is needed of the rows themselves, (A,): how many there are, or of each class."""
    if scoring == "neg_log_loss":
        return np.array([float(len(labels))])
    rows = np.bincount(np.searchsorted(names, labels), minlength=len(names))
    return np.append(rows, np.zeros(len(names)))


def losses_of(scoring: str, sums: FloatArray) -> tuple[FloatArray, FloatArray]:
    """Losses (T, G) and weights (T,) of folds, from sums (T, G + 1, A), the last of the rows."""
    found, of_all = sums[:, :-1], sums[:, -1]
    if scoring != "f1_macro":
        return found[..., 0] / of_all[:, :1], of_all[:, 0]
    n = found.shape[-1] // 2
    both = found[..., n:] + of_all[:, None, :n]
    f1 = np.divide(2 * found[..., :n], both, out=np.zeros_like(both), where=both > 0)
    return 1 - f1.sum(axis=-1) / np.count_nonzero(both, axis=-1), np.ones(len(sums))


def names_in(labels: Iterable[str]) -> Array:
    """Return distinct labels, ascending."""
    return np.array(sorted(set(labels)), dtype=str)
