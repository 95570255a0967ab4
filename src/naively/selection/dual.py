r"""The coupled dual of the sparse multinomial model, for any number of classes.

With the gains h_i(a) of :mod:`naively.models.multinomial`, the best support of k features is
bounded by (NFS theorem 2, NFS-long 3.2, generalised from two classes)

    psi(k) = const + min_a max_{|S| <= k} sum_{i in S} h_i(a),     a in the simplex of R^C

which is convex in a. Exchanging min and max gives its dual (NFS-long proposition 3.7, whose printed
objective has a term -(x'g) too many): maximise over fractional supports x, 0 <= x <= 1, sum x = k,

    q(x) = sum_i x_i (sum_c f_ci log f_ci - g_i log g_i) - sum_c F_c log(F_c / F)
    F_c = sum_i x_i f_ci

a concave function whose gradient is h(a) at a = F_c / F. Its linear maximisation over the x is a
selection of the k largest gains, so simplicial decomposition solves it: keep a few supports
("vertices"), maximise q over their convex hull, take the k largest gains at the maximiser as the
next vertex. The sum of those gains is an upper bound of psi, q a lower bound; a handful of rounds
closes the two to rounding.

Everything here is in nats above `const`, where no cancellation hides a gap.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from functools import cached_property
from typing import Protocol

import numpy as np
from scipy import sparse
from scipy.special import xlogy

from naively._kernels.hull import best_point, log_shares
from naively._kernels.linear_gains import (
    linear_gains,
    linear_gains_csr,
    take_best,
    taken_totals,
    taken_totals_csr,
)
from naively._kernels.weighted_top import take_largest, weighted_threshold
from naively._types import Array, FloatArray, IntArray
from naively.selection.groups import Matrix

TOLERANCE = 1e-13  # relative gap at which the decomposition stops
MARGIN = 1e-15  # distance kept from the boundary of the simplex
MAX_ROUNDS = 1000
SPARE = 20  # vertices kept beyond one for each class
ACTIVE = 1e-12  # smaller weights in a mixture are rounding
PATIENCE = 20  # rounds without any progress before giving up on the last digits


@dataclass(frozen=True, slots=True)
class Vertex:
    """The columns of largest gain at some shares."""

    take: Array  # (d,) how many of each; fractions within a `Polytope`
    threshold: float  # smallest gain taken
    value: float  # sum of the entropies taken: nats
    totals: FloatArray  # (C,) smoothed counts taken

    def bound(self, log_a: FloatArray) -> float:
        """Sum of the gains taken at the shares exp(log_a): no other selection has a larger one."""
        return self.value - float((self.totals * log_a).sum())


class Polytope(Protocol):
    """Selections that may be made, where that is not any k columns."""

    def relaxed(self, gains: FloatArray) -> FloatArray:
        """Return the (fractional) selection of the largest sum of gains: (d,)."""
        ...


@dataclass(frozen=True)
class Problem:
    """Columns to choose from; column i may be taken up to size[i] times."""

    counts: Matrix  # (d, C) without smoothing
    alpha: float | FloatArray  # smoothing: one value, or (d,)
    entropy: FloatArray  # (d,) sum_c f_ci log f_ci - g_i log g_i, <= 0
    size: IntArray  # (d,)
    base_value: float = 0.0  # entropy and class totals of columns that are in whatever is chosen
    base_totals: FloatArray | float = 0.0  # (C,)
    polytope: Polytope | None = None  # None: any k columns

    @cached_property
    def smoothing(self) -> FloatArray:
        """Smoothing of each column, (d,), or of all, (1,)."""
        return np.atleast_1d(np.asarray(self.alpha))

    @cached_property
    def everything(self) -> FloatArray:
        """Smoothed counts of all columns: (C,)."""
        return self.totals(self.size)

    def gains(self, log_a: FloatArray) -> FloatArray:
        """h_i at the shares exp(log_a): (d,) nats."""
        shift = self.alpha * log_a.sum()
        if isinstance(self.counts, np.ndarray):
            return np.asarray(linear_gains(self.counts, self.entropy, log_a) - shift)
        f = self.counts
        return np.asarray(
            linear_gains_csr(f.data, f.indices, f.indptr, self.entropy, log_a) - shift
        )

    def best(self, log_a: FloatArray, k: int) -> tuple[Vertex, FloatArray]:
        """Take the k >= 1 columns of largest gain at the shares exp(log_a), the base aside.

        Returns
        -------
        vertex : the columns; the gains (d,) of all : nats
        """
        if self.polytope is not None:
            gains = self.gains(log_a)
            x = self.polytope.relaxed(gains)
            return Vertex(x, np.nan, self.linear_value(x), self.totals(x)), gains
        take = np.empty(len(self.size), dtype=np.int64)
        if isinstance(self.counts, np.ndarray):
            alpha = self.smoothing
            gains = linear_gains(self.counts, self.entropy, log_a)
            gains -= log_a.cumsum()[-1] * alpha
            threshold, totals = weighted_threshold(gains, self.size, k), np.empty(len(log_a))
            value, smoothing = take_best(
                gains, self.size, threshold, k, self.counts, self.entropy, alpha, take, totals
            )
            totals = totals + smoothing + self.base_totals
            return Vertex(take, threshold, value + self.base_value, totals), gains
        gains = self.gains(log_a)
        threshold = take_largest(gains, self.size, k, take)
        return Vertex(take, threshold, self.linear_value(take), self.totals(take)), gains

    def totals(self, take: FloatArray | IntArray) -> FloatArray:
        """F_c of taking take[i] times column i: (C,) smoothed counts."""
        if isinstance(self.counts, np.ndarray):
            totals = taken_totals(self.counts, take)
        else:
            f = self.counts
            totals = taken_totals_csr(f.data, f.indices, f.indptr, take, f.shape[1])
        # One product, where one will do: numbers of columns are many.
        single = isinstance(self.alpha, float)
        smoothing = self.alpha * take.sum() if single else np.sum(self.alpha * take)
        return np.asarray(totals + smoothing + self.base_totals)

    def linear_value(self, take: FloatArray | IntArray) -> float:
        """Sum of the entropies of a (fractional) selection: nats."""
        return float(np.sum(self.entropy * take)) + self.base_value

    def value(self, take: FloatArray | IntArray) -> float:
        """q, the gain of a (fractional) selection: nats."""
        totals = self.totals(take)
        return self.linear_value(take) - float(np.sum(totals * log_shares(totals)))


def coupled_problem(counts: Matrix, alpha: float | FloatArray, size: IntArray) -> Problem:
    """Problem of choosing among columns with the given counts and smoothing."""
    return Problem(counts, alpha, entropies(counts, alpha), np.ascontiguousarray(size))


def entropies(counts: Matrix, alpha: float | FloatArray) -> FloatArray:
    """Sum_c f_ci log f_ci - g_i log g_i of each row: (d,)."""
    smooth = np.broadcast_to(alpha, counts.shape[0])
    g = np.asarray(counts.sum(axis=1)).ravel() + counts.shape[1] * smooth
    if sparse.issparse(counts):
        per_entry = np.repeat(smooth, np.diff(counts.indptr))
        f = counts.data + per_entry
        # Zeros of the matrix are counts of alpha: the stored entries are corrected for that.
        terms = sparse.csr_array(
            (xlogy(f, f) - xlogy(per_entry, per_entry), counts.indices, counts.indptr), counts.shape
        )
        free = np.asarray(terms.sum(axis=1)).ravel() + counts.shape[1] * xlogy(smooth, smooth)
    else:
        f = counts + smooth[:, None]
        free = xlogy(f, f).sum(axis=1)
    return np.asarray(free - xlogy(g, g))


@dataclass(frozen=True, slots=True)
class DualSolution:
    """Solution of the dual and of its dual."""

    bound: float  # nats: no selection gains more
    value: float  # nats: q of the fractional selection; bound - value is the dual gap
    log_a: FloatArray  # (C,) the shares at the solution
    threshold: float  # k-th largest gain there
    gains: FloatArray  # (d,) h at the solution
    vertices: list[Array]  # (d,) each: the supports that the fractional selection mixes
    weights: FloatArray  # (number of vertices,) of each in the mixture
    vertex_values: list[float]  # q of each
    evaluations: int

    @property
    def shares(self) -> FloatArray:
        """(C,) class shares a."""
        return np.exp(self.log_a)

    @property
    def fraction(self) -> FloatArray:
        """(d,) fractional selection."""
        return self.mixed(slice(None))

    def mixed(self, columns: IntArray | slice) -> FloatArray:
        """Fractional selection of some columns."""
        mixture = np.zeros(len(self.vertices[0][columns]))
        for weight, vertex in zip(self.weights, self.vertices, strict=True):
            mixture += weight * vertex[columns]
        return mixture


def solve_dual(problem: Problem, k: int, start: FloatArray | None = None) -> DualSolution:
    """Solve the dual for supports of k columns.

    Parameters
    ----------
    problem : Problem
    k : int
        Number of columns, 0 <= k <= sum of sizes; within a polytope only whether it is 0 matters.
    start : (C,), optional
        Shares to start from, of a neighbouring k for example.
    """
    everything = problem.everything
    log_a = np.log(_kept_inside(np.exp(log_shares(everything)) if start is None else start))
    if k == 0:
        return _base_alone(problem, log_a)
    hull = _Hull(everything.sum() * MARGIN / len(log_a))
    bound, improved = np.inf, 0
    for evaluations in range(1, MAX_ROUNDS + 1):
        vertex, gains = problem.best(log_a, k)
        upper = vertex.bound(log_a)
        if upper < bound or evaluations == 1:
            bound, best, improved = upper, (log_a, vertex.threshold, gains), evaluations
        closed = bound - hull.value <= TOLERANCE * abs(bound)
        if closed or vertex in hull or evaluations > improved + PATIENCE:
            break
        before = hull.value
        log_a = hull.add(vertex)
        if hull.value > before + TOLERANCE * abs(before):
            improved = evaluations
    active = hull.active()
    return DualSolution(
        bound=float(max(bound, hull.value)),
        value=hull.value,
        log_a=best[0],
        threshold=best[1],
        gains=best[2],
        vertices=[hull.vertices[v].take for v in active],
        weights=hull.weights[active] / hull.weights[active].sum(),
        vertex_values=[hull.value_of(v) for v in active],
        evaluations=evaluations,
    )


def _kept_inside(shares: FloatArray) -> FloatArray:
    """Shares moved off the boundary of the simplex by a relative MARGIN."""
    return (1.0 - MARGIN) * shares + MARGIN / len(shares)


class _Hull:
    """The vertices found so far and the best point of their convex hull.

    A vertex of almost no weight may be the only one that reaches some class. So vertices are
    dropped only when there are many more than the C + 1 that a solution needs, and then those that
    are furthest from being used. None is held twice: where the best vertex at the best point is
    known, nothing is left to gain but rounding.
    """

    def __init__(self, ghost: float) -> None:
        # Counts added to every class of a vertex, far below the accuracy of the result: classes
        # that no vertex has reached keep a share, and the next vertex is not chosen by log 0.
        self.ghost = ghost
        self.vertices: list[Vertex] = []
        self.weights: FloatArray = np.empty(0)  # of the best point
        self.value = -np.inf  # q of the best point

    def add(self, vertex: Vertex) -> FloatArray:
        """Add a vertex; return the log shares at the best point: (C,)."""
        self.vertices.append(vertex)
        values = np.array([each.value for each in self.vertices])
        totals = np.array([each.totals for each in self.vertices])
        self.weights, reached, log_a = best_point(values, totals, self.ghost)
        self.value = max(self.value, reached)
        if len(values) >= 2 * len(log_a) + SPARE:
            unused, loss = self.weights < ACTIVE, np.sum(totals * log_a, axis=1) - values
            kept = max(len(log_a) + SPARE, np.count_nonzero(~unused))
            self._keep(np.lexsort((loss, unused))[:kept])
        return log_a

    def __contains__(self, vertex: Vertex) -> bool:
        return any(
            vertex.value == each.value and np.array_equal(vertex.totals, each.totals)
            for each in self.vertices
        )

    def _keep(self, best: IntArray) -> None:
        """Drop all vertices but these."""
        self.vertices = [self.vertices[v] for v in best]
        self.weights = self.weights[best] / self.weights[best].sum()

    def active(self) -> IntArray:
        """Vertices that the best point mixes in earnest."""
        return np.flatnonzero(self.weights >= ACTIVE)

    def value_of(self, v: int) -> float:
        """Return q of a vertex."""
        return self.vertices[v].bound(log_shares(self.vertices[v].totals))


def _base_alone(problem: Problem, log_a: FloatArray) -> DualSolution:
    """Return the solution that takes nothing beyond the base."""
    nothing = np.zeros(len(problem.size), dtype=np.int64)
    totals = problem.totals(nothing)
    if totals.sum() > 0:
        log_a = np.log(_kept_inside(np.exp(log_shares(totals))))
    gains = problem.gains(log_a)
    value = problem.value(nothing)
    return DualSolution(
        bound=value,
        value=value,
        log_a=log_a,
        threshold=float(np.max(gains, initial=0.0)),
        gains=gains,
        vertices=[nothing],
        weights=np.ones(1),
        vertex_values=[value],
        evaluations=0,
    )


def restricted(problem: Problem, columns: IntArray) -> Problem:
    """Problem with some of the columns only."""
    alpha = problem.alpha if np.ndim(problem.alpha) == 0 else np.asarray(problem.alpha)[columns]
    return replace(
        problem,
        counts=problem.counts[columns],
        alpha=alpha,
        entropy=problem.entropy[columns],
        size=problem.size[columns],
    )
