r"""Bhattacharyya distances between classes, feature by feature: what the models share.

    B_ab = -log sum_x (P_a(x) P_b(x))^(1/2)                                          nats, >= 0

The best decision between two classes with priors pi_a and pi_b is wrong with probability at most
(pi_a pi_b)^(1/2) exp(-B_ab) (Bhattacharyya 1943; Kailath 1967), and distances add up over features
that are independent given the class. So the sum over all pairs of classes bounds the error of naive
Bayes with its parameters taken for true: the union bound.

Each model has the distances of its own laws, at the free parameters that its rule uses. Many are
squares of differences of *roots*, one for each class and feature ((l / 2)^(1/2) for Poisson means
l), so that sums over the pairs need no table of columns and pairs.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from functools import partial

import numpy as np

from naively._kernels.pair_cover import pair_squares, row_sums, weighed_squares
from naively._types import FloatArray, IntArray
from naively.models.family import blocks
from naively.statistics.threads import in_threads

CERTAIN = 1e6  # nats, of classes that a feature never confuses
_KEPT = 1 << 24  # roots kept: 128 MB


@dataclass(frozen=True, slots=True)
class Distances:
    """Distances of m features for the pairs a < b of classes, row by row, computed on demand."""

    n_features: int
    n_classes: int
    between: Callable[[IntArray], FloatArray]  # columns (d,) -> (d, P) nats
    # Weights (P,) >= 0 -> (m,) at least sum_p weight_p B_ip, and that where it costs little
    weighed: Callable[[FloatArray], FloatArray]
    # Columns (d,) -> (d,): a mean B of distances is off by no more than ROUNDING (B + 2 s B^(1/2))
    size: Callable[[IntArray], FloatArray]

    @property
    def n_pairs(self) -> int:
        """Number of pairs P."""
        return self.n_classes * (self.n_classes - 1) // 2


def kept(
    n_features: int, n_classes: int, roots: Callable[[IntArray], FloatArray]
) -> Callable[[IntArray], FloatArray]:
    """Return roots that are computed once, unless there are very many."""
    if n_features * n_classes > _KEPT:
        return roots
    table = np.empty((n_features, n_classes))

    def fill(block: slice) -> None:
        table[block] = roots(np.arange(block.start, block.stop))

    in_threads(fill, blocks(n_features, n_classes))
    return lambda columns: table[columns]


def euclidean(
    n_features: int,
    n_classes: int,
    roots: Callable[[IntArray], FloatArray],
    size: Callable[[IntArray], FloatArray] | None = None,
) -> Distances:
    """Distances that are squares of differences of roots.

    Parameters
    ----------
    n_features, n_classes : int
    roots : callable
        Columns (d,) -> (d, C).
    size : callable, optional
        As in `Distances`; by default the roots are off by a few digits of themselves.
    """
    roots = kept(n_features, n_classes, roots)
    return Distances(
        n_features,
        n_classes,
        lambda columns: squares(roots(columns)),
        partial(weighed, n_features, n_classes, roots),
        size or (lambda columns: largest(roots(columns))),
    )


def by_blocks(
    n_features: int,
    n_classes: int,
    between: Callable[[IntArray], FloatArray],
    size: Callable[[IntArray], FloatArray],
) -> Distances:
    """Distances without a shorter way to their sums than to compute all, some columns at a time."""

    def sums(weights: FloatArray) -> FloatArray:
        return in_blocks(
            n_features, len(weights), lambda columns: row_sums(between(columns), weights)
        )

    return Distances(n_features, n_classes, between, sums, size)


def squares(roots: FloatArray) -> FloatArray:
    """Squared differences between the classes: (d, C) -> (d, P)."""
    n_classes = roots.shape[1]
    found = np.empty((len(roots), n_classes * (n_classes - 1) // 2))
    pair_squares(np.ascontiguousarray(roots), found)
    return found


def weighed(
    n_features: int, n_classes: int, roots: Callable[[IntArray], FloatArray], weights: FloatArray
) -> FloatArray:
    """Weighted sums (m,) of squared differences, for roots of any columns and weights (P,)."""
    return in_blocks(n_features, n_classes, lambda columns: weighed_sum(roots(columns), weights))


def weighed_sum(roots: FloatArray, weights: FloatArray) -> FloatArray:
    """Weighted sums (d,) of squared differences of roots (d, C), with weights (P,)."""
    total = np.empty(len(roots))
    weighed_squares(np.ascontiguousarray(roots), weights, total)
    return total


def in_blocks(n_features: int, width: int, values: Callable[[IntArray], FloatArray]) -> FloatArray:
    """Values (m,) of all columns, computed some at a time, by threads."""
    out = np.empty(n_features)

    def fill(block: slice) -> None:
        out[block] = values(np.arange(block.start, block.stop))

    in_threads(fill, blocks(n_features, width))
    return out


def largest(roots: FloatArray) -> FloatArray:
    """Size of two roots whose difference is taken, at most: (d,)."""
    return np.asarray(2.0 * np.abs(roots).max(axis=1, initial=0.0))


def of_overlap(lost: FloatArray) -> FloatArray:
    """Distances -log(1 - lost) of laws whose roots overlap but for so much; CERTAIN at most."""
    certain = lost >= 1.0 - 1e-15
    return np.where(certain, CERTAIN, -np.log1p(-np.where(certain, 0.0, lost)))
