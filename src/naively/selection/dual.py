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
from typing import Any, Protocol

import numpy as np
from scipy import sparse

from naively._kernels.climb import climb
from naively._kernels.hull import (
    BEST,
    EVALUATIONS,
    THRESHOLD,
    VERTICES,
    log_shares,
    pooled_gain,
    turn,
)
from naively._kernels.linear_gains import (
    linear_gains,
    linear_gains_csr,
    taken_totals,
    taken_totals_csr,
)
from naively._kernels.logarithms import x_log_x
from naively._kernels.weighted_top import take_largest
from naively._types import Array, FloatArray, IntArray
from naively.selection.groups import Matrix

MARGIN = 1e-15  # distance kept from the boundary of the simplex
FEW = 8  # vertices that there is room for at first
SPARE = 20  # vertices kept beyond one for each class
ACTIVE = 1e-12  # smaller weights in a mixture are rounding


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
    def n_columns(self) -> int:
        """How many columns there are to choose from."""
        return int(self.size.sum())

    @cached_property
    def everything(self) -> FloatArray:
        """Smoothed counts of all columns: (C,)."""
        return self.totals(self.size)

    def gains(self, log_a: FloatArray) -> FloatArray:
        """h_i at the shares exp(log_a): (d,) nats."""
        f, gains = self.counts, np.empty(len(self.entropy))
        if isinstance(f, np.ndarray):
            linear_gains(f, self.entropy, self.smoothing, log_a, log_a.sum(), gains)
            return gains
        linear_gains_csr(f.data, f.indices, f.indptr, self.entropy, log_a, gains)
        gains -= self.alpha * log_a.sum()
        return gains

    def best(self, log_a: FloatArray, k: int) -> tuple[Vertex, FloatArray]:
        """Take the k >= 1 columns of largest gain at the shares exp(log_a), the base aside.

        Returns
        -------
        vertex : the columns; the gains (d,) of all : nats
        """
        gains, threshold = self.gains(log_a), np.nan
        if self.polytope is not None:
            take: Array = self.polytope.relaxed(gains)
        else:
            take = np.empty(len(self.size), dtype=np.int64)
            threshold = take_largest(gains, self.size, k, take)
        return Vertex(take, threshold, self.linear_value(take), self.totals(take)), gains

    def totals(self, take: FloatArray | IntArray) -> FloatArray:
        """F_c of taking take[i] times column i: (C,) smoothed counts."""
        f, totals = self.counts, np.zeros(self.counts.shape[1])
        if isinstance(f, np.ndarray):
            taken_totals(f, take, totals)
        else:
            taken_totals_csr(f.data, f.indices, f.indptr, take, totals)
        # One product, where one will do: numbers of columns are many.
        single = isinstance(self.alpha, float)
        smoothing = self.alpha * take.sum() if single else np.sum(self.alpha * take)
        return np.asarray(totals + smoothing + self.base_totals)

    def linear_value(self, take: FloatArray | IntArray) -> float:
        """Sum of the entropies of a (fractional) selection: nats."""
        return float((self.entropy * take).sum()) + self.base_value

    def value(self, take: FloatArray | IntArray) -> float:
        """q, the gain of a (fractional) selection: nats."""
        return pooled_gain(self.linear_value(take), self.totals(take))


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
            (x_log_x(f) - x_log_x(per_entry), counts.indices, counts.indptr), counts.shape
        )
        free = np.asarray(terms.sum(axis=1)).ravel() + counts.shape[1] * x_log_x(smooth)
    else:
        f = counts + smooth[:, None]
        free = x_log_x(f).sum(axis=1)
    return np.asarray(free - x_log_x(g))


@dataclass(frozen=True, slots=True)
class DualSolution:
    """Solution of the dual and of its dual."""

    bound: float  # nats: no selection gains more
    value: float  # nats: q of the fractional selection; bound - value is the dual gap
    log_a: FloatArray  # (C,) the shares at the solution
    threshold: float  # k-th largest gain there
    gains: FloatArray  # (d,) h at the solution
    vertices: Array  # (number of vertices, d): the supports that the fractional selection mixes
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
        mixture = np.zeros(self.vertices.shape[1])
        for weight, vertex in zip(self.weights, self.vertices, strict=True):
            mixture += weight * vertex
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
    hull = _Hull(problem, log_a)
    hull.climb(problem, k)
    active = np.flatnonzero(hull.weights[: hull.count[VERTICES]] >= ACTIVE)
    bound, value, threshold = hull.reached.tolist()
    return DualSolution(
        bound=max(bound, value),
        value=value,
        log_a=hull.best_log_a,
        threshold=threshold,
        gains=hull.gains[hull.count[BEST]],
        vertices=hull.takes[active],
        weights=hull.weights[active] / hull.weights[active].sum(),
        vertex_values=[pooled_gain(hull.values[v], hull.totals[v]) for v in active],
        evaluations=int(hull.count[EVALUATIONS]),
    )


def _kept_inside(shares: FloatArray) -> FloatArray:
    """Shares moved off the boundary of the simplex by a relative MARGIN."""
    return (1.0 - MARGIN) * shares + MARGIN / len(shares)


class _Hull:
    """The vertices found so far and the best point of their convex hull; see `turn`.

    A vertex of almost no weight may be the only one that reaches some class. So vertices are
    dropped only when there are many more than the C + 1 that a solution needs, and then those that
    are furthest from being used.
    """

    def __init__(self, problem: Problem, log_a: FloatArray) -> None:
        everything, n_classes, d = problem.everything, len(log_a), len(problem.size)
        # Counts added to every class of a vertex, far below the accuracy of the result: classes
        # that no vertex has reached keep a share, and the next vertex is not chosen by log 0.
        self.ghost = everything.sum() * MARGIN / n_classes
        self.log_a, self.best_log_a, self.gains = log_a, log_a.copy(), np.empty((2, d))
        self.values, self.totals = np.empty(FEW), np.empty((FEW, n_classes))
        self.weights = np.empty(FEW)
        self.takes: Array = np.empty((FEW, d), np.int64 if problem.polytope is None else np.float64)
        self.count = np.zeros(4, dtype=np.int64)
        self.reached = np.array([np.inf, -np.inf, np.nan])

    def climb(self, problem: Problem, k: int) -> None:
        """Add vertices until the bound and the best point meet."""
        if isinstance(problem.counts, np.ndarray) and problem.polytope is None:
            table = problem.counts, problem.entropy, problem.size, problem.smoothing
            base = problem.base_value, np.zeros(len(self.log_a)) + problem.base_totals
            while not climb(*table, *base, k, self.gains, self.takes, *self._state()):
                self._make_room()
            return
        done = False
        while not done:
            if self.count[VERTICES] == len(self.values):
                self._make_room()
            vertex, gains = problem.best(self.log_a, k)
            self.takes[self.count[VERTICES]] = vertex.take
            is_best, done = turn(vertex.value, vertex.totals, *self._state())
            if is_best:
                self.gains[0], self.reached[THRESHOLD] = gains, vertex.threshold

    def _state(self) -> tuple[Any, ...]:
        """Return what `turn` takes beside a vertex."""
        best = self.values, self.totals, self.weights
        return self.log_a, self.best_log_a, *best, self.count, self.reached, self.ghost

    def _make_room(self) -> None:
        """Make room for more vertices; drop some, if there are many more than may be needed."""
        n, n_classes = len(self.values), len(self.log_a)
        most, kept = 2 * n_classes + SPARE, np.arange(n)
        if n >= most:
            unused = self.weights < ACTIVE
            loss = np.sum(self.totals * self.log_a, axis=1) - self.values
            several = max(n_classes + SPARE, np.count_nonzero(~unused))
            kept = np.lexsort((loss, unused))[:several]
            self.weights /= self.weights[kept].sum()
        more = max(min(2 * n, most), len(kept) + 1) - len(kept)
        self.count[VERTICES] = len(kept)
        self.values, self.totals, self.weights, self.takes = (
            np.concatenate([each[kept], np.empty_like(each[:1].repeat(more, axis=0))])
            for each in (self.values, self.totals, self.weights, self.takes)
        )


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
        vertices=nothing[None],
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
