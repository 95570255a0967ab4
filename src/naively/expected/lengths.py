"""Document lengths: one number, a distribution, or a histogram per class."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from naively._types import FloatArray

MAX_LENGTHS = 64


@dataclass(frozen=True, slots=True)
class Lengths:
    """How long the documents of each class are."""

    values: FloatArray  # (L,) ascending
    weights: FloatArray  # (L, C), each column sums to 1

    @property
    def mean(self) -> FloatArray:
        """Mean length (C,) of each class."""
        return self.values @ self.weights

    @property
    def variance(self) -> FloatArray:
        """Variance of the lengths (C,) of each class."""
        return np.asarray((np.square(self.values[:, None] - self.mean) * self.weights).sum(axis=0))


def as_lengths(length: Any, n_classes: int) -> Lengths:
    """Read a length argument.

    Parameters
    ----------
    length : number, or pair (values, weights)
        Weights are (L,), the same for all classes, or (L, n_classes). A class without weight
        gets the lengths of all classes together.

    Returns
    -------
    Lengths
        At most 64 of them: in a longer histogram, neighbours (a few percent apart) are put
        together at their mean.
    """
    values, weights = length if isinstance(length, tuple) else ([length], [1.0])
    try:
        values, weights = np.atleast_1d(np.asarray(values, float)), np.asarray(weights, float)
    except (TypeError, ValueError):
        raise ValueError(
            f"`length` must be a number, or a tuple (values, weights) of numbers; got {length!r}."
        ) from None
    _check(values, weights, n_classes)
    if weights.ndim == 1:
        weights = np.repeat(weights[:, None], n_classes, axis=1)
    total = weights.sum(axis=0)
    weights = np.where(total > 0, weights, weights.sum(axis=1, keepdims=True))
    order = np.argsort(values, kind="stable")
    return _condense(values[order], (weights / weights.sum(axis=0))[order])


def _check(values: FloatArray, weights: FloatArray, n_classes: int) -> None:
    if not (values.ndim == 1 and len(values) and np.isfinite(values).all() and (values >= 0).all()):
        raise ValueError(
            f"`length` must be finite and not negative, a number or a tuple (values, weights); "
            f"got {values.tolist()!r}."
        )
    if weights.shape not in {(len(values),), (len(values), n_classes)}:
        raise ValueError(
            f"`length` weights must have shape ({len(values)},) or ({len(values)}, {n_classes}), "
            f"one row for each length; got {weights.shape}."
        )
    if not (np.isfinite(weights).all() and (weights >= 0).all() and weights.sum() > 0):
        raise ValueError("`length` weights must be finite, not negative, and not all zero.")


def _condense(values: FloatArray, weights: FloatArray) -> Lengths:
    """Put lengths of nearly equal logarithm together at their mean; zero stays alone."""
    if len(values) <= MAX_LENGTHS:
        return Lengths(values, weights)
    positive = values[values > 0]
    width = np.log(positive[-1] / positive[0]) / (MAX_LENGTHS - 3)
    group = np.floor(np.log(np.maximum(values, positive[0]) / positive[0]) / width)
    group[values == 0] = -1.0
    start = np.flatnonzero(np.diff(group, prepend=-2.0))
    mass = weights.sum(axis=1) + 1e-300  # a length without weight needs a mean all the same
    centre = np.add.reduceat(values * mass, start) / np.add.reduceat(mass, start)
    return Lengths(np.rint(centre), np.add.reduceat(weights, start))
