r"""A panel that covers every pair of classes: greedy with lazy evaluation, and a proven bound.

With weights w_p = (pi_a pi_b)^(1/2) of the pairs p of classes and distances e_ip = t B_i,ab of the
features (:class:`naively.models.model.Pairs`),

    minimise over |S| = k    F(S) = sum_p w_p exp(-E_p(S)),     E_p(S) = sum_{i in S} e_ip

and told is the separation G = -log F, in nats.

Greedy. F is supermodular and falls: what feature i takes off,

    F(S) - F(S + i) = sum_p w_p exp(-E_p(S)) (1 - exp(-e_ip)),

shrinks as S grows. So falls that were computed earlier are bounds, and few are computed again
(Minoux 1978). Other bounds cost no table of columns and pairs: by concavity the fall is at most
F (1 - exp(-sum_p l_p e_ip)) with l_p the share of pair p in F.

While F is large, a feature that parts a few pairs beyond need takes off nearly as much as one that
parts more of them by little, which serves few features worse than the same features all at once.
So the first 64 are put into another order: the one that F rises least without is given up first.
(On two sets of genes, five features by the first order reach 67 to 96 % of the separation that is
proven possible, by the second 85 to 95 %; 64 of them are the same.) One order serves every k.

Bound. G is concave in x, if E = sum_i x_i e_i with 0 <= x <= 1, sum x = k. For any shares l in the
simplex of the pairs

    G(x) <= sum_p l_p (E_p - log w_p + log l_p)

(the sum of exponentials is the largest of such linear forms), so

    max_S G(S) <= sum of the k largest h_i(l) + sum_p l_p log(l_p / w_p),    h_i(l) = sum_p l_p e_ip

which is convex in l. Simplicial decomposition minimises it, as the dual of the multinomial model:
keep a few supports, take the point of their hull with the least F, its shares, and the k features
of largest h as the next support. With one pair h = e, and the bound is reached by the k largest.

Constraints. Required features are constants of the problem: their energies are taken off the
log w_p, and the others are chosen for the same F. The distances of a group are the sums of those
of its columns. So nothing above changes. Budgets and quotas are linear in x: the bound is the
largest sum of h over the sets that are allowed (:mod:`naively.selection.polytope`), and the
vertices are such sets, or mixtures of two. Greedy takes features that the set can still grow by;
with a budget also those of the largest fall for what they cost, and the better set is kept
(Leskovec et al. 2007). With one pair of classes gains add up, and the choice is that of a knapsack.
"""

from __future__ import annotations

import heapq
import time
from collections.abc import Callable
from dataclasses import dataclass, field, replace
from functools import cache, partial
from typing import Any

import numpy as np
from scipy import sparse
from scipy.special import logsumexp, xlogy

from naively._kernels.pair_cover import DONE, cover_pairs, first_equal, mix_vertices, row_sums
from naively._types import BoolArray, FloatArray, IntArray
from naively.models.constraints import NONE, Constraints
from naively.models.distances import Distances, in_blocks
from naively.models.family import ROUNDING
from naively.models.kinds import SEPARATION
from naively.models.model import Limits, Model, S
from naively.selection.certificate import Certificate, Selection, refuse_huge
from naively.selection.constrained import Adding, ListedSupports, spoken_task
from naively.selection.path import SparsityPath, checked_grid
from naively.selection.polytope import Allowed
from naively.selection.top_k import TIE_TOLERANCE, gain_order, top_k
from naively.selection.units import Task, UnitSupports

_CELLS = 1 << 25  # distances held at a time: 256 MB
_GIVEN_UP = 64  # columns that elimination starts from
_FIRST = 1024  # columns looked at first
_RELAXED = 1 << 22  # distances that the relaxation is solved over
_ROUNDS = 40  # of the decomposition
_CLOSED = 1e-12  # relative gap that counts as closed
_ENLARGED = 8  # times that columns join the relaxation
_LITTLE = 0.01  # of a gap that is open anyhow
_NEAR = 1e-7  # relative gap of the relaxation at which the decomposition stops
_LOOKED = 64  # columns looked at together
_CLOSE = 1e-12  # by which logs of falls that are equal may differ


@dataclass(frozen=True, slots=True)
class Cover:
    """Pairs of classes to be told apart, and what each feature adds to that."""

    distances: Distances
    exponent: float
    kept: IntArray  # (Q,) pairs of classes that occur, among all P
    log_weight: FloatArray  # (Q,)
    nothing: float  # separation without any feature, not even those that are required

    @property
    def n_features(self) -> int:
        """Number of features m."""
        return self.distances.n_features

    def rows(self, columns: IntArray) -> FloatArray:
        """e_ip of some columns: (d, Q) nats."""
        with np.errstate(over="ignore", invalid="ignore"):  # what comes of it is refused
            rows = self.distances.between(columns)
            if len(self.kept) < rows.shape[1]:
                rows = np.ascontiguousarray(rows[:, self.kept])
            rows *= self.exponent
        return _finite(rows)

    def most(self, share: FloatArray) -> FloatArray:
        """h_i at some shares (Q,), or a little more: (m,) nats."""
        weights = np.zeros(self.distances.n_pairs)
        weights[self.kept] = share
        with np.errstate(over="ignore", invalid="ignore"):
            return _finite(self.exponent * self.distances.weighed(weights))

    def falls(self, log_weight: FloatArray) -> FloatArray:
        """Log of a bound on what each column takes off the sum of some weights: (m,)."""
        log_f = logsumexp(log_weight)
        with np.errstate(divide="ignore"):
            return np.asarray(log_f + np.log(-np.expm1(-self.most(np.exp(log_weight - log_f)))))

    def energy(self, columns: IntArray) -> FloatArray:
        """E_p of a support: (Q,)."""
        energy = np.zeros(len(self.kept))
        for some in self.parts(columns):
            energy += self.rows(some).sum(axis=0)
        return energy

    def parts(self, columns: IntArray) -> list[IntArray]:
        """Cut columns into parts whose distances fit into memory."""
        step = max(_CELLS // max(self.distances.n_pairs, 1), 1)
        return [columns[start : start + step] for start in range(0, len(columns), step)]

    def separation(self, energy: FloatArray) -> FloatArray:
        """G = -log F, at energies (..., Q)."""
        return np.asarray(-logsumexp(self.log_weight - energy, axis=-1))

    def share(self, energy: FloatArray) -> FloatArray:
        """Share of each pair in F: (Q,)."""
        exponents = self.log_weight - energy
        return np.asarray(np.exp(exponents - logsumexp(exponents)))


def _finite(values: FloatArray) -> FloatArray:
    if not np.isfinite(values).all():
        refuse_huge("distance of two classes in a feature")
    return values


def cover_of(model: Model[S], statistics: S) -> Cover:
    """Return the problem of a model whose objective is the pairs of classes.

    Raises
    ------
    ValueError
        If the statistics cannot be used, or no form of the distances of the model is known.
    """
    assert model.objective is not None
    model.family.problem(statistics)  # refuses statistics of something else
    if model.family.distances is None:
        raise ValueError(
            f"`objective`='pairs' needs distances of the classes, which the {model.family.name} "
            "model does not have; use objective='likelihood'."
        )
    log_prior = np.where(statistics.class_weight > 0, model.log_prior(statistics), -np.inf)
    a, b = np.triu_indices(len(log_prior), 1)
    with np.errstate(invalid="ignore"):
        log_weight = 0.5 * (log_prior[a] + log_prior[b]) - logsumexp(log_prior)
    kept = np.flatnonzero(log_weight > -np.inf)
    distances, exponent = model.family.distances(statistics), float(model.objective.exponent)
    nothing = float(-logsumexp(log_weight)) if len(kept) else 0.0
    return Cover(distances, exponent, kept, log_weight[kept], nothing)


def _beside(cover: Cover, task: Task) -> Cover:
    """Return the problem over the units that are left to choose, with the required ones in."""
    if len(task.free) == cover.n_features:
        return cover
    required = task.support(NONE)
    log_weight = cover.log_weight - cover.energy(required)
    distances = _of_units(cover.distances, task.constraints, task.free)
    return replace(cover, distances=distances, log_weight=log_weight)


def _of_units(distances: Distances, constraints: Constraints, units: IntArray) -> Distances:
    """Distances of units, the sums of those of their columns."""
    if constraints.groups is None:
        return replace(
            distances,
            n_features=len(units),
            between=lambda some: distances.between(units[some]),
            weighed=lambda weights: distances.weighed(weights)[units],
            size=lambda some: distances.size(units[some]),
        )
    shape = (constraints.n_units, distances.n_features)
    ones, columns = np.ones(distances.n_features), np.arange(distances.n_features)
    members: Any = sparse.csr_array((ones, (constraints.units, columns)), shape)[units]
    step = max(_CELLS // max(distances.n_pairs, 1), 1)

    def between(some: IntArray) -> FloatArray:
        of_some, sums = members[some], np.zeros((len(some), distances.n_pairs))
        number = np.repeat(np.arange(len(some)), np.diff(of_some.indptr))
        for start in range(0, len(number), step):
            part = slice(start, start + step)
            np.add.at(sums, number[part], distances.between(of_some.indices[part]))
        return sums

    def size(some: IntArray) -> FloatArray:  # sum_i s_i B_i^(1/2) at most, by Cauchy and Schwarz
        of_some = members[some]
        squares = distances.size(of_some.indices) ** 2
        return np.sqrt(np.add.reduceat(squares, of_some.indptr[:-1]))

    def weighed(weights: FloatArray) -> FloatArray:
        return np.asarray(members @ distances.weighed(weights))

    return Distances(len(units), distances.n_classes, between, weighed, size)


def select_pairs(model: Model[S], statistics: S, k: int, limits: Limits) -> Selection:
    """Select k features, or groups of them, that tell every pair of classes apart.

    Parameters
    ----------
    model : Model
        With an objective.
    statistics
        Class statistics of the data.
    k : int
        Number of features, >= 0, or with a budget at most; all that may be chosen if there are
        fewer.
    limits : Limits
        Whether to search on until the choice is optimal, and how far.

    Raises
    ------
    ValueError
        If no choice of k can meet the constraints.
    """
    everything, task = cover_of(model, statistics), spoken_task(model, statistics)
    n, cover = task.to_choose(k), _beside(everything, task)
    adding = _adding(model, everything, task)
    if adding is not None:
        told = adding.select(k, limits)
        proof = replace(told.proof, quantity=SEPARATION, unit="nats")
        told = replace(told, certificate=proof)
    else:
        allowed = task.allowed(n)
        chosen = _Shaped(cover).chosen(allowed) if task.is_shaped else np.sort(_order(cover, n)[:n])
        searched = _searched if limits.exact else _proven
        found = searched(cover, allowed, chosen, limits)
        told = _told(everything, task.support(task.free[found.support]), found)
    if model.constraints is None:
        return told
    reached = len(model.constraints.units_of(told.support))
    choice = task.choice(reached if model.constraints.costs is None else k)
    return replace(told, certificate=replace(told.proof, k=reached, choice=choice))


def _adding(model: Model[S], cover: Cover, task: Task) -> Adding | None:
    """Return the problem of constraints whose gains add up: with one pair of classes they do."""
    if len(cover.kept) > 1 or not task.is_shaped:
        return None
    gain, known = _of_one_pair(cover), (task.constraints, task.speaks, task.n_classes)
    error = _rounding(cover, np.arange(len(gain)), gain)
    return Adding(*known, model.family, gain, error, cover.nothing)


# --- the order ----------------------------------------------------------------------------------


def _order(cover: Cover, k: int) -> IntArray:
    """First k columns in the order in which they are taken, or more."""
    if len(cover.kept) > 1:
        order = _greedy_order(cover, max(k, min(_GIVEN_UP, cover.n_features)))
        return np.append(_elimination_order(cover, order[:_GIVEN_UP]), order[_GIVEN_UP:])
    gain = _of_one_pair(cover)
    first = top_k(gain, k, partial(_rounding, cover))  # few, as a rule: not all have to be sorted
    return first[gain_order(gain[first], lambda at, e: _rounding(cover, first[at], e))]


def _of_one_pair(cover: Cover) -> FloatArray:
    """e_i of the one pair of classes there is, (m,); 0 if there is none."""
    if len(cover.kept) == 0:
        return np.zeros(cover.n_features)
    return in_blocks(
        cover.n_features, cover.distances.n_pairs, lambda columns: cover.rows(columns)[:, 0]
    )


def _rounding(cover: Cover, columns: IntArray, e: FloatArray) -> FloatArray:
    size = cover.distances.size(columns) * np.sqrt(cover.exponent)
    return np.asarray(ROUNDING * (e + 2.0 * size * np.sqrt(e)))


def _greedy_order(cover: Cover, k: int) -> IntArray:
    """Greedy order of k columns, of as many columns at a time as memory allows."""
    m = cover.n_features
    most = max(_CELLS // len(cover.kept), 2)
    log_weight, order, found = cover.log_weight.copy(), np.empty(k, dtype=np.int64), 0
    stale = np.full(m, np.inf)  # log of a bound on the fall of each; nan: taken
    n = min(max(_FIRST, 2 * k), m, most)
    while found < k:
        stale = np.minimum(stale, cover.falls(log_weight))
        columns, floor = _largest(stale, n)
        rows = cover.rows(columns)
        head = first_equal(rows)
        by_group = np.argsort(head, kind="stable")  # columns of a group stay ascending
        heads, start = np.unique(head[by_group], return_index=True)
        pointer = np.append(start, len(columns))
        bound = np.minimum.reduceat(stale[columns[by_group]], start)
        before = found
        found, why = cover_pairs(
            rows[heads],
            columns[by_group],
            pointer,
            cover.distances.size(columns[heads]) * np.sqrt(cover.exponent),
            bound,
            floor,
            TIE_TOLERANCE,
            ROUNDING,
            n >= most,
            log_weight,
            order,
            found,
        )
        stale[columns[by_group]] = np.repeat(bound, np.diff(np.append(start, len(columns))))
        stale[order[before:found]] = np.nan
        n = min(2 * n, m - found, most) if why != DONE else n
    return order


def _elimination_order(cover: Cover, columns: IntArray, allowed: Allowed | None = None) -> IntArray:
    """Order in which columns are best kept: the last is that which F rises least without.

    No class is left with less than its quota before all have no more.
    """
    left = np.sort(columns)
    rows, order = cover.rows(left), np.empty_like(left)
    for n in range(len(left), 0, -1):
        loss = _losses(cover, rows, rows.sum(axis=0))
        if allowed is not None:
            loss[~_spare(allowed, left)] = np.inf
        error = TIE_TOLERANCE * (loss.min() + float(rows.sum(axis=0).max()))
        least = int(np.flatnonzero(loss <= loss.min() + error)[-1])  # of those that tie, the last
        order[n - 1] = left[least]
        left, rows = np.delete(left, least), np.delete(rows, least, axis=0)
    return order


def _spare(allowed: Allowed, columns: IntArray) -> BoolArray:
    """Which columns of some a quota can do without; all of them, where it can do without none."""
    assert allowed.speaks is not None
    assert allowed.quota is not None
    speaks = allowed.speaks[columns]
    spare = (np.bincount(speaks, minlength=len(allowed.quota)) > allowed.quota)[speaks]
    return spare if spare.any() else ~spare


def _largest(bound: FloatArray, n: int) -> tuple[IntArray, float]:
    """Columns of the n largest bounds, ascending, and the largest bound of the others."""
    left = np.flatnonzero(~np.isnan(bound))
    n = min(n, len(left))
    chosen = np.zeros(len(left), dtype=np.bool_)
    chosen[top_k(bound[left], n)] = True
    return left[chosen], float(bound[left[~chosen]].max(initial=-np.inf))


# --- within budgets and quotas ----------------------------------------------------------------


@dataclass(slots=True)
class _Shaped:
    """Choices that a budget or a quota shapes; orders are kept from one k to the next."""

    cover: Cover
    most: int = 0  # the largest k that will be asked for
    orders: dict[tuple[int, ...], IntArray] = field(default_factory=dict)  # by quota
    free: IntArray = field(default_factory=lambda: np.empty(0, np.int64))  # without a quota

    def chosen(self, allowed: Allowed) -> IntArray:
        """Columns of a good choice, ascending."""
        cover, k = self.cover, allowed.k
        if allowed.cost is not None:  # the better of what gains most, and most for what it costs
            found = [_greedy_choice(cover, allowed, per_cost=each) for each in (False, True)]
            reached = [float(cover.separation(cover.energy(each))) for each in found]
            return np.sort(found[int(np.argmax(reached))])
        if k >= _GIVEN_UP or allowed.quota is None:
            free = self._free_choice(allowed)
            return np.sort(_greedy_choice(cover, allowed) if free is None else free)
        quota = tuple(allowed.quota.tolist())
        if quota not in self.orders:
            wider = replace(allowed, k=min(_GIVEN_UP, cover.n_features))
            first = _greedy_choice(cover, wider)
            self.orders[quota] = _elimination_order(cover, first, wider)
        return np.sort(self.orders[quota][:k])

    def _free_choice(self, allowed: Allowed) -> IntArray | None:
        """Greedy choice without the quota, if that would not have mattered on the way to it."""
        k, quota, speaks = allowed.k, allowed.quota, allowed.speaks
        if quota is None or speaks is None:
            return None
        if len(self.free) < k:
            several = len(self.cover.kept) > 1
            self.free = (_greedy_order if several else _order)(self.cover, max(self.most, k))
        order = self.free[:k]
        of_class = speaks[order, None] == np.arange(len(quota))
        wanting = np.maximum(quota - (of_class.cumsum(axis=0) - of_class), 0).sum(axis=1)
        return order if (wanting < k - np.arange(k)).all() else None


def _greedy_choice(cover: Cover, allowed: Allowed, *, per_cost: bool = False) -> IntArray:
    """Take columns one by one, always one by which F falls most of those that may still enter.

    With `per_cost`, most for what it costs. Falls that were computed earlier are bounds, as above.
    """
    log_weight = cover.log_weight.copy()
    order: list[int] = []
    take = np.zeros(cover.n_features, dtype=np.int64)
    with np.errstate(divide="ignore"):
        price = np.log(allowed.cost) if per_cost and allowed.cost is not None else 0.0
    stale = cover.falls(log_weight)  # log of a bound on the fall of each
    while len(order) < allowed.k:
        may = np.flatnonzero(allowed.may_enter(take))
        if len(may) == 0:
            break
        best = _largest_fall(cover, log_weight, may, stale, price)
        if stale[best] == -np.inf and allowed.cost is not None and allowed.quota is None:
            break  # nothing is gained any more
        order.append(best)
        take[best] = 1
        log_weight -= cover.rows(np.array([best]))[0]
    return np.array(order, dtype=np.int64)


def _largest_fall(
    cover: Cover,
    log_weight: FloatArray,
    may: IntArray,
    stale: FloatArray,
    price: FloatArray | float,
) -> int:
    """Column of the largest fall, less its price, of some; bounds that were looked at are renewed.

    Of those that tie, the first.
    """
    log_f = logsumexp(log_weight)
    share, priced = np.exp(log_weight - log_f), np.broadcast_to(price, len(stale))
    key = stale[may] - priced[may]
    order, reached, looked = np.argsort(-key, kind="stable"), -np.inf, 0
    while looked < len(may) and key[order[looked]] >= reached - _CLOSE:
        some = may[order[looked : looked + _LOOKED]]
        fall = -np.expm1(-cover.rows(some)) @ share
        with np.errstate(divide="ignore"):
            stale[some] = np.minimum(stale[some], log_f + np.log(fall))
        looked += len(some)
        reached = float(np.max(stale[some] - priced[some], initial=reached))
    seen = may[order[:looked]]
    tied = seen[stale[seen] - priced[seen] >= reached - _CLOSE]
    return int(tied.min())


# --- the bound ----------------------------------------------------------------------------------


@dataclass(frozen=True, slots=True)
class _Found:
    """A support and what is proven about it."""

    support: IntArray
    objective: float
    bound: float
    rounds: int = 1
    nodes: int = 0


def _proven(
    cover: Cover, allowed: Allowed, support: IntArray, limits: Limits | None = None
) -> _Found:
    """Bound what any support that is allowed could reach.

    The relaxation is solved over the columns that matter at some shares, and the bound at its
    shares taken over all; those that it then lacks join it.
    """
    energy, k = cover.energy(support), allowed.k
    objective = _separation_or_nothing(cover, energy)
    if len(cover.kept) < 2 or k == 0 or len(support) == cover.n_features:
        return _Found(support, objective, objective)
    baseline, share, columns = cover.nothing, cover.share(energy), support
    most = cover.most(share)
    best, rounds = allowed.optimum(most), 1
    bound = float(best.x @ most) + _entropy(cover, share)
    for _ in range(_ENLARGED):
        priced = most if allowed.cost is None else most - best.price * allowed.cost
        near, _ = _largest(priced, min(2 * k + _FIRST, cover.n_features))
        columns = np.union1d(np.union1d(columns, near), np.flatnonzero(best.x))
        if len(columns) * len(cover.kept) > _RELAXED:
            break  # of so many features, the first bound has been as good
        relaxed = _relax(cover, cover.rows(columns), allowed.over(columns), energy, objective)
        most, energy = cover.most(relaxed.share), relaxed.energy
        most[columns] = relaxed.h
        best = allowed.optimum(most)
        bound = min(bound, float(best.x @ most) + _entropy(cover, relaxed.share))
        rounds += relaxed.rounds + 1
        if bound - relaxed.bound <= max(_NEAR * (bound - baseline), _LITTLE * (bound - objective)):
            break
    return _Found(support, objective, max(bound, objective), rounds)


def _separation_or_nothing(cover: Cover, energy: FloatArray) -> float:
    """Separation; 0 where there is no pair of classes to tell apart."""
    return float(cover.separation(energy)) if len(cover.kept) else 0.0


def _entropy(cover: Cover, share: FloatArray) -> float:
    """sum_p l_p log(l_p / w_p)."""  # noqa: D403
    return float(np.sum(xlogy(share, share) - share * cover.log_weight))


@dataclass(frozen=True, slots=True)
class _Relaxed:
    """Solution of the relaxation over some columns."""

    bound: float
    share: FloatArray  # (Q,) that gives it
    energy: FloatArray  # (Q,) of the best mixture
    h: FloatArray  # (d,) at these shares
    x: FloatArray  # (d,) of the best mixture, 0 to 1
    best: IntArray  # positions of the best support met
    value: float  # its separation
    rounds: int


def _relax(
    cover: Cover,
    rows: FloatArray,
    allowed: Allowed,
    start: FloatArray,
    known: float,
    base: FloatArray | float = 0.0,
) -> _Relaxed:
    """Bound the best that is allowed of some columns (d, Q), on top of a base (Q,) that is in.

    Parameters
    ----------
    start : (Q,)
        Energies, the base among them, at whose shares to begin.
    known : float
        Separation that a support has: where it leaves a gap, a hundredth of that is near enough.
    """
    vertices: list[FloatArray] = []
    chosen: list[FloatArray] = []
    mixture = np.zeros(0)
    bound, value, energy = np.inf, -np.inf, start
    share = h = np.zeros(0)
    best = np.zeros(0, dtype=np.int64)
    for _ in range(_ROUNDS):
        here = cover.share(energy)
        found = row_sums(rows, here)
        optimum = allowed.optimum(found)
        whole = np.flatnonzero(allowed.filled(found, optimum))
        reached = float(here @ np.broadcast_to(base, here.shape)) + float(optimum.x @ found)
        if (possible := reached + _entropy(cover, here)) < bound:
            bound, share, h = possible, here, found
        at = np.flatnonzero(optimum.x)
        vertex = base + (optimum.x[at, None] * rows[at]).sum(axis=0)
        together = vertex if allowed.cost is None else base + rows[whole].sum(axis=0)
        if (separation := float(cover.separation(together))) > value:
            value, best = separation, whole
        relaxed = float(cover.separation(energy)) if len(vertices) else -np.inf
        open_gap = _LITTLE * (bound - max(known, value))
        if bound - max(relaxed, value) <= max(_NEAR * abs(bound - cover.nothing), open_gap):
            break
        if any(np.array_equal(optimum.x, each) for each in chosen):
            break
        chosen.append(optimum.x)
        vertices.append(vertex)
        mixture = np.append(mixture, 0.0 if len(mixture) else 1.0)
        hull = np.array(vertices)
        mix_vertices(hull, cover.log_weight, mixture, 1e-9)
        energy = mixture @ hull
    x = np.zeros(len(rows))
    for weight, each in zip(mixture, chosen, strict=True):
        x += weight * each
    return _Relaxed(bound, share, energy, h, x, best, value, len(vertices) + 1)


def _told(cover: Cover, support: IntArray, found: _Found) -> Selection:
    """Return the selection of some columns, of all of them, with what is proven of their choice."""
    energy, parts = cover.energy(support), cover.parts(support)
    gain = np.concatenate([np.zeros(0), *(_losses(cover, cover.rows(p), energy) for p in parts)])
    possible = abs(found.bound - cover.nothing)
    certificate = Certificate(
        k=len(support),
        objective=found.objective,
        bound=found.bound,
        baseline=cover.nothing,
        a_priori=-np.inf,
        proven_optimal=found.bound - found.objective <= _CLOSED * possible,
        evaluations=found.rounds,
        nodes=found.nodes,
        quantity=SEPARATION,
    )
    return Selection(support, gain, certificate)


def _losses(cover: Cover, rows: FloatArray, energy: FloatArray) -> FloatArray:
    """Separation that a support of some energy would lose without each of its columns (d, Q)."""
    if len(cover.kept) == 0:
        return np.zeros(len(rows))
    exponents = cover.log_weight - energy
    # exp(e) of the pairs, weighed by their shares: without feature i, F is so many times larger.
    log_share = exponents - logsumexp(exponents)
    return np.maximum(logsumexp(log_share + rows, axis=1), 0.0)


# --- the search ---------------------------------------------------------------------------------


def _searched(cover: Cover, allowed: Allowed, support: IntArray, limits: Limits) -> _Found:
    """Branch and bound, from a support that is good already."""
    found = _proven(cover, allowed, support)
    if found.bound - found.objective <= _CLOSED * abs(found.bound - cover.nothing):
        return found
    m = cover.n_features
    columns = np.arange(m)
    if m * len(cover.kept) > _CELLS:
        raise ValueError(
            f"`exact` holds the distances of {m:,} features for {len(cover.kept):,} pairs of "
            f"classes, more than {_CELLS:,}; leave it out, or select among fewer features."
        )
    tree = _Tree(cover, cover.rows(columns), allowed, support)
    tree.search(limits)
    bound = max(min(tree.bound, found.bound), tree.value)
    return _Found(np.sort(tree.support), tree.value, bound, found.rounds, tree.nodes)


class _Tree:
    """Nodes that are still open, best bound first, and the best support found.

    A node fixes some columns in and some out. What its bound loses if a column changes sides
    settles most of the others: with slack = bound - best, a column of h_i > h_[k+1] + slack is in
    every better support, one of h_i < h_[k] - slack in none; with a budget, less their prices.
    """

    def __init__(self, cover: Cover, rows: FloatArray, allowed: Allowed, support: IntArray) -> None:
        self.cover, self.rows, self.allowed = cover, rows, allowed
        self.support, self.value = self._swapped(support)
        self.bound, self.nodes = np.inf, 0
        self.tolerance = _CLOSED * max(abs(self.value - cover.nothing), 1e-300)
        self._open: list[tuple[float, int, BoolArray, BoolArray, int]] = []
        nobody = np.zeros(len(rows), dtype=np.bool_)
        self._visit(nobody, ~nobody)

    def search(self, limits: Limits) -> None:
        """Divide the node of largest bound until none can improve on the best support."""
        deadline = time.monotonic() + (limits.time_limit or np.inf)
        while self._open and -self._open[0][0] > self.value + self.tolerance:
            if self.nodes >= limits.max_nodes or time.monotonic() >= deadline:
                self.bound = -self._open[0][0]
                return
            _, _, inside, left, branch = heapq.heappop(self._open)
            left = left.copy()
            left[branch] = False
            taken = inside.copy()
            taken[branch] = True
            self._visit(taken, left)
            self._visit(inside, left)
        self.bound = self.value

    def _swapped(self, support: IntArray) -> tuple[IntArray, float]:
        """Exchange single columns, or add them, as long as that helps."""
        energy = self.rows[support].sum(axis=0)
        value, take = float(self.cover.separation(energy)), np.zeros(len(self.rows), np.int64)
        take[support] = 1
        better = True
        while better:
            better = False
            for column in [*np.flatnonzero(take).tolist(), -1]:  # -1: none leaves
                others = np.flatnonzero(take == 0)
                may = self.allowed.may_exchange(take, np.array([column]), others)[0]
                if not (others := others[may]).size:
                    continue
                left = energy if column < 0 else energy - self.rows[column]
                reached = self.cover.separation(left + self.rows[others])
                if reached.max() > value + 1e-12 * max(abs(value), 1.0):
                    take[others[np.argmax(reached)]] = 1
                    take[column] -= column >= 0
                    energy = self.rows[take > 0].sum(axis=0)
                    value, better = float(self.cover.separation(energy)), True
        return np.flatnonzero(take), value

    def _visit(self, inside: BoolArray, left: BoolArray) -> None:
        """Bound a node, try its best support, and keep it if it may hold something better."""
        low = inside.astype(np.int64)
        rest = self.allowed.without(low, np.arange(len(low)), left.astype(np.int64))
        if rest.cost is not None:  # what costs more than is left will never be chosen
            left = left & (rest.cost <= rest.budget + rest.slack)
        taken, columns = np.flatnonzero(inside), np.flatnonzero(left)
        rest = self.allowed.without(low, columns, np.ones(len(columns), dtype=np.int64))
        if not rest.is_possible():
            return
        self.nodes += 1
        base = self.rows[taken].sum(axis=0)
        if rest.k == 0 or len(columns) == 0 or (rest.cost is None and rest.k == len(columns)):
            self._try(np.append(taken, columns[: rest.k]))
            return
        rows = self.rows[columns]
        start = base + min(rest.k, len(columns)) * rows.mean(axis=0)
        relaxed = _relax(self.cover, rows, rest, start, self.value, base)
        self._try(np.append(taken, columns[relaxed.best]))
        slack = relaxed.bound - self.value
        if slack <= self.tolerance:
            return
        enters, leaves = rest.settled(relaxed.h, rest.optimum(relaxed.h), slack)
        inside, left = inside.copy(), left.copy()
        inside[columns[enters]] = True
        left[columns[enters | leaves]] = False
        open_ones = ~(enters | leaves)
        if not open_ones.any():
            self._visit(inside, left)
            return
        marginal = np.where(open_ones, np.abs(relaxed.x - 0.5), np.inf)
        branch = int(columns[np.argmin(marginal)])
        heapq.heappush(self._open, (-relaxed.bound, self.nodes, inside, left, branch))

    def _try(self, support: IntArray) -> None:
        value = float(self.cover.separation(self.rows[support].sum(axis=0)))
        if value > self.value:
            self.support, self.value = support, value


# --- the path -----------------------------------------------------------------------------------


def pairs_path(model: Model[S], statistics: S, ks: Any = None) -> SparsityPath:
    """Greedy selections over a grid of k; their bounds are computed when asked for."""
    task, everything = spoken_task(model, statistics), cover_of(model, statistics)
    cover, adding = _beside(everything, task), _adding(model, everything, task)
    grid = checked_grid(ks, task.constraints.n_choices, task.least)
    if adding is not None:
        return adding.path(grid)
    if task.is_shaped:
        return _shaped_path(everything, cover, task, grid)
    inner = grid - len(task.required)
    order = _order(cover, int(inner[-1]))
    supports = CoverSupports(cover, order)
    energy = _energies(cover, order, inner)
    objective = np.array([_separation_or_nothing(cover, each) for each in energy])
    bound: FloatArray | Callable[[], FloatArray] = objective
    if len(cover.kept) > 1:
        bound = cache(partial(_bounds, cover, supports, inner, objective))
    shown = supports if model.constraints is None else UnitSupports(supports, task)
    return SparsityPath(grid, objective, bound, cover.nothing, shown)


def _shaped_path(everything: Cover, cover: Cover, task: Task, grid: IntArray) -> SparsityPath:
    """Choose at each k of a grid: from one to the next, features may leave."""
    shaped = _Shaped(cover, int(grid[-1]))

    def chosen(k: int) -> tuple[Allowed, IntArray]:
        allowed = task.allowed(task.to_choose(k))
        return allowed, shaped.chosen(allowed)

    def support(found: IntArray) -> IntArray:
        return task.support(task.free[found])

    found = [chosen(k) for k in grid.tolist()]
    listed = [support(each) for _, each in found]
    objective = np.array([everything.separation(everything.energy(each)) for each in listed])

    def bounds() -> FloatArray:
        proven = [_proven(cover, *each) for each in found]
        return np.asarray(objective + [each.bound - each.objective for each in proven])

    supports = ListedSupports(grid, listed, everything.n_features, lambda k: support(chosen(k)[1]))
    return SparsityPath(grid, objective, cache(bounds), everything.nothing, supports)


def _bounds(
    cover: Cover, supports: CoverSupports, grid: IntArray, objective: FloatArray
) -> FloatArray:
    """Bounds at each k of the grid, (K,), no less than what the supports reach."""
    size = np.ones(cover.n_features, dtype=np.int64)
    found = [_proven(cover, Allowed(k, size), supports.at(k)) for k in grid.tolist()]
    # Energies are added up in another order there; what is the same must look the same.
    return np.asarray(objective + [each.bound - each.objective for each in found])


def _energies(cover: Cover, order: IntArray, grid: IntArray) -> FloatArray:
    """E_p of the first k columns of an order at each k: (K, Q)."""
    energy, out = np.zeros(len(cover.kept)), np.empty((len(grid), len(cover.kept)))
    before = 0
    for g, k in enumerate(grid.tolist()):
        energy = energy + cover.energy(order[before:k])
        out[g], before = energy, k
    return out


@dataclass(frozen=True, slots=True)
class CoverSupports:
    """Supports are the first columns of one order, of which some are known."""

    cover: Cover
    first: IntArray  # columns in the order in which they are taken

    @property
    def n_features(self) -> int:
        """See `Supports`."""
        return self.cover.n_features

    def at(self, k: int) -> IntArray:
        """See `Supports`."""
        known = self.first if k <= len(self.first) else _order(self.cover, k)
        return np.sort(known[:k])

    def first_grid_position(self, k: IntArray) -> IntArray:
        """See `Supports`."""
        position = np.full(self.n_features, len(k), dtype=np.int64)
        taken = self.order(k)
        position[taken] = np.searchsorted(k, np.arange(len(taken)), side="right")
        return position

    def order(self, k: IntArray) -> IntArray:
        """See `Supports`."""
        return (self.first if k[-1] <= len(self.first) else _order(self.cover, int(k[-1])))[: k[-1]]

    def a_priori(self, k: IntArray, objective: FloatArray) -> FloatArray:
        """See `Supports`; theory promises the optimum of two classes, and nothing of more."""
        return objective if len(self.cover.kept) < 2 else np.full(len(k), -np.inf)
