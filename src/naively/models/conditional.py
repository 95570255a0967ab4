r"""A few weights that maximise a conditional likelihood.

Row i has features b_irc, one for each region r and class c. With class intercepts t_c and one
weight theta_r per region, shared by the classes,

    eta_ic = t_c + sum_r theta_r b_irc,      P_ic = exp(eta_ic) / sum_d exp(eta_id),
    L(t, theta) = sum_i s_i log P_{i y_i}.

For two classes this is logistic regression on b_i1 - b_i0. L is concave. With W_ic = s_i P_ic,
the class mean M_ir = sum_c P_ic b_irc and U_irc = b_irc - M_ir,

    dL/dt_c     = sum_i s_i (Y_ic - P_ic)           dL/dtheta_r = sum_ic s_i (Y_ic - P_ic) b_irc
    -d2L/dt dt  = diag(sum_i W_ic) - P' W           -d2L/dt_c dtheta_r = sum_i W_ic U_irc
    -d2L/dtheta_r dtheta_q = sum_ic W_ic U_irc U_iqc.

Newton's method runs in coordinates in which the curvature at the origin is the identity. There,
directions without any curvature (intercepts raised together; a region that is empty everywhere;
two regions that agree) drop out and their weight is zero. If the curvature of a remaining
direction dies away, the likelihood rises for ever along it: the data are separable and no finite
optimum exists. The same likelihood less sum_r (penalty_r / 2) theta_r^2 then has one. Parameters
can be held: an infinite penalty holds theta_r at 0, and intercepts may be held at given values.

The penalty can be chosen. Candidates are multiples q of what a usual row tells about theta_r at the
origin: its information is the variance v_ir of b_irc over c, and I_r the share of the rows that
have any, times their median v_ir / 0.455 (the mean, were b normal: long documents must not decide)
and the mean weight of a row. penalty_r = q I_r is worth q rows, and q = inf leaves the class
shares. Each is judged by the likelihood of every row under the weights of the other rows, by one
Newton step from the optimum with the intercepts following (for one row of residual e and curvature
W):

    J = B - E K,   K = H_tt^-1 H_ttheta,   S = H_thetatheta - H_thetat K,
    theta_-i = theta - (S - J'WJ)^-1 J'e,       eta_-i = eta - J (theta - theta_-i).

Of those within a quarter of a standard error (of the paired differences) of the best, the largest q
is taken. Features of few rows without themselves share their errors, the fewer rows the more, which
the likelihood does not know: q is at least 3 + 150 / n (found on pairs of newsgroups).
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field, replace
from functools import cached_property
from typing import TypeVar, final

import numpy as np

from naively._types import Array, BoolArray, FloatArray
from naively.statistics.threads import in_threads

_FEW = 64  # classes up to which matrix products are not worth their overhead
_CHUNK = 1 << 15  # features handled at a time: they stay in the cache, and threads share them
_MANY = 1 << 20  # features from which threads are worth their start
_FLAT = 1e-13  # curvature, relative to the largest, that is rounding: the direction is flat
_VANISHED = 1e-12  # curvature, relative to the start, at which a direction has no finite optimum
_SAME = 1e-13  # difference of features of two classes, relative to these, that is rounding
_VANISHING = 1e-9  # at which Newton's steps there are rounding, in part
_ROUNDING = 1e-10  # by which a sum over many rows may fall for no other reason
_STEP = 1e-7  # the error after a Newton step is of the order of its square
_MAX_STEPS = 200
_LEAST_WORTH = (3.0, 150.0)  # rows that a chosen penalty is worth, at least: a + b / n
_WORTH_STEP = 10.0
_CHI_SQUARED_MEDIAN = 0.4549  # of one degree of freedom, whose mean is 1
_MOST_WORTH = 100.0  # times n: beyond it only the class shares are tried
_ERRORS = 0.25  # standard errors from the best within which the largest penalty is taken
_THINNING = 8  # one row in so many shows where the optimum is about
_LEAST_SAMPLE = 256
_SAMPLE_STEP = 1e-2  # a start need not be an optimum

Part = TypeVar("Part")


@final
@dataclass(frozen=True, slots=True)
class Expansion:
    """Value, gradient and negative second derivative of a function at a point."""

    value: float  # nats
    gradient: FloatArray  # (C + R,)
    curvature: FloatArray  # (C + R, C + R)
    unpenalised: float  # nats

    def held(self, free: BoolArray) -> Expansion:
        """Take the derivatives with respect to some parameters, the others being held."""
        gradient, curvature = self.gradient * free, self.curvature * np.outer(free, free)
        return Expansion(self.value, gradient, curvature, self.unpenalised)

    def penalised(self, ridge: FloatArray, point: FloatArray) -> Expansion:
        """Subtract sum_q ridge_q p_q^2 / 2."""
        pull = ridge * point
        value = self.value - float(point @ pull / 2)
        curvature = self.curvature + np.diag(ridge)
        return Expansion(value, self.gradient - pull, curvature, self.unpenalised)


@final
@dataclass(frozen=True, slots=True)
class ConditionalFit:
    """Weights that maximise the (penalised) conditional likelihood."""

    theta: FloatArray  # (R,)
    intercept: FloatArray  # (C,) the first class that has rows at 0; -inf: a class without any
    log_likelihood: float  # nats, without the penalty
    gradient: float  # largest absolute entry of the gradient of what was maximised
    # Its negative second derivative, of the classes that have rows: (C + R, C + R).
    curvature: FloatArray = field(repr=False)
    penalty: FloatArray  # (R,) inf: theta is held at 0
    finite: bool  # whether the likelihood without the penalty that was added has an optimum
    steps: int


def expand(point: FloatArray, features: FloatArray, codes: Array, weights: FloatArray) -> Expansion:
    """Conditional log-likelihood and its derivatives at p = (t, theta).

    Parameters
    ----------
    point : ndarray of shape (C + R,)
        Intercepts, then region weights.
    features : ndarray of shape (R, C, n)
        b_irc, the rows last: what is done for one is done for many at once.
    codes, weights : ndarrays of shape (n,)
        Class and weight of each row.
    """

    def part(rows: slice) -> Expansion:
        return _expand_chunk(point, features[:, :, rows], codes[rows], weights[rows])

    parts = _of_chunks(part, features)
    value = sum(one.value for one in parts)
    return Expansion(
        value,
        np.sum([one.gradient for one in parts], axis=0),
        np.sum([one.curvature for one in parts], axis=0),
        value,
    )


def _of_chunks(part: Callable[[slice], Part], features: FloatArray) -> list[Part]:
    """Results for the rows (R, C, n) in chunks."""
    n_regions, n_classes, n = features.shape
    size = max(_CHUNK // (n_regions * n_classes), 1)
    chunks = [slice(begin, begin + size) for begin in range(0, max(n, 1), size)]
    return [part(rows) for rows in chunks] if features.size < _MANY else in_threads(part, chunks)


def _expand_chunk(point: FloatArray, b: FloatArray, codes: Array, weights: FloatArray) -> Expansion:
    n_classes = b.shape[1]
    posterior, log_likelihood = _softmax(_scores(point, b), codes)
    U = b - np.einsum("rcn,cn->rn", b, posterior)[:, None]
    W = weights * posterior
    WU, total = W * U, W.sum(axis=1)
    pairs = W @ posterior.T if n_classes > _FEW else np.einsum("cn,dn->cd", W, posterior)
    across = WU.sum(axis=2)
    pull = np.einsum("rn,n->r", _own(U, codes), weights)
    gradient = np.concatenate([np.bincount(codes, weights, n_classes) - total, pull])
    curvature = [[np.diag(total) - pairs, across.T], [across, np.einsum("rcn,qcn->rq", WU, U)]]
    value = float((weights * log_likelihood).sum())
    return Expansion(value, gradient, np.block(curvature), value)


def _scores(point: FloatArray, b: FloatArray) -> FloatArray:
    """Scores eta, (C, n), of rows (R, C, n)."""
    n_classes = b.shape[1]
    return np.asarray(np.einsum("r,rcn->cn", point[n_classes:], b) + point[:n_classes, None])


def _softmax(scores: FloatArray, codes: Array) -> tuple[FloatArray, FloatArray]:
    """Posterior, (C, n), in the place of the scores, and its logarithm for one class each, (n,)."""
    scores -= scores.max(axis=0)
    own = _own(scores, codes)
    total = np.exp(scores, out=scores).sum(axis=0)
    scores /= total
    return scores, own - np.log(total)


def _own(values: FloatArray, codes: Array) -> FloatArray:
    """Values, (..., n) from (..., C, n), of the class of each row."""
    places = codes * len(codes) + np.arange(len(codes))
    return values.reshape(*values.shape[:-2], -1).take(places, axis=-1)


def fit_conditional(
    features: FloatArray,
    codes: Array,
    weights: FloatArray,
    *,
    penalty: float | FloatArray | None = 0.0,
    fit_intercept: bool = True,
) -> ConditionalFit:
    """Maximise the conditional likelihood, with a penalty if it has no finite optimum.

    Parameters
    ----------
    features : ndarray of shape (n, R, C)
        b_irc, finite.
    codes, weights : ndarrays of shape (n,)
        Class and weight of each row. Classes without weight get the intercept -inf.
    penalty : float or ndarray of shape (R,), or None, default=0.0
        L2 penalty: sum_r (penalty_r / 2) theta_r^2 is subtracted; inf holds theta_r at 0. The
        intercepts are free. None chooses it by the leave-one-out likelihood.
    fit_intercept : bool, default=True
        False: the intercepts are the logarithms of the class shares.

    Returns
    -------
    ConditionalFit
        `finite` says whether the optimum asked for exists. If not, the penalty is the information
        of one average row, at theta = 0, about the region that has least of it.

    Raises
    ------
    ValueError
        If the squares of the features, or their sum, are beyond double precision.
    """
    _check_squares(features, weights)
    n_regions, n_classes = features.shape[1:]
    share = np.bincount(codes, weights, n_classes)
    active = share > 0
    if not active.all():
        features, codes = features[:, :, active], (np.cumsum(active) - 1)[codes]
    rows = slice(None) if weights.all() else weights > 0
    held = None if fit_intercept else np.log(share[active] / share.sum())
    problem = _Problem(_centred(features[rows]), codes[rows], weights[rows], held)
    if penalty is None:
        fit = problem.chosen()
    else:
        ridge = np.array(np.broadcast_to(np.asarray(penalty, np.float64), n_regions))
        fit = problem.solve(ridge)
        if not fit.finite:
            least = problem.information().min(initial=np.inf, where=problem.information() > 0)
            added = float(least / len(problem.weights)) if np.isfinite(least) else 1.0
            fit = replace(problem.solve(np.full(n_regions, added)), finite=False)
    intercept = np.full(n_classes, -np.inf)
    intercept[active] = fit.intercept - fit.intercept[0]
    return replace(fit, intercept=intercept)


def _check_squares(features: FloatArray, weights: FloatArray) -> None:
    largest, heaviest = (float(np.abs(each).max(initial=0.0)) for each in (features, weights))
    side = max(largest, 1.0) * max(heaviest, 1.0)
    bound = side * side * max(features.size, 1)  # infinity if too large
    if not bound < np.finfo(np.float64).max:
        raise ValueError(
            "The values of X, or `sample_weight`, are too large for sums of squares in double "
            f"precision (up to {largest:.3g} and {heaviest:.3g}); divide them by a constant."
        )


def _centred(features: FloatArray) -> FloatArray:
    """Features with the rows last, (R, C, n), less what is common to the classes of a row.

    That does not matter, and without it less is rounded away. Features that differ by rounding
    alone become 0: they tell nothing.
    """
    rows_last = np.ascontiguousarray(features.transpose(1, 2, 0))
    centred = rows_last - rows_last.mean(axis=1, keepdims=True)
    size, spread = (np.abs(each).max(axis=1, initial=0.0) for each in (rows_last, centred))
    centred.transpose(1, 0, 2)[:, spread <= _SAME * size] = 0.0
    return np.asarray(centred)


@final
@dataclass(frozen=True)
class _Problem:
    """A conditional likelihood in which every class has rows."""

    features: FloatArray  # (R, C, n), centred
    codes: Array  # (n,)
    weights: FloatArray  # (n,) positive
    held: FloatArray | None = None  # (C,) intercepts; None: they are free

    @property
    def origin(self) -> FloatArray:
        """Point (C + R,) from which parameters are counted."""
        n_regions, n_classes, _ = self.features.shape
        intercept = np.zeros(n_classes) if self.held is None else self.held
        return np.concatenate([intercept, np.zeros(n_regions)])

    def at(self, point: FloatArray, free: BoolArray | None = None) -> Expansion:
        """Expand around the origin plus a point; some parameters may be held."""
        here = self._expanded(point) if point.any() else self._at_origin
        return here if free is None else here.held(free)

    def _expanded(self, point: FloatArray) -> Expansion:
        return expand(self.origin + point, self.features, self.codes, self.weights)

    @cached_property
    def _at_origin(self) -> Expansion:
        return self._expanded(np.zeros(len(self.origin)))

    def free(self, penalty: FloatArray) -> BoolArray:
        """Which parameters, (C + R,), are not held."""
        intercepts = np.full(self.features.shape[1], self.held is None)
        return np.concatenate([intercepts, np.isfinite(penalty)])

    def information(self) -> FloatArray:
        """Information of all rows about each theta_r at the origin, (R,)."""
        n_regions, n_classes, _ = self.features.shape
        curvature = self.at(np.zeros(n_classes + n_regions)).curvature
        return np.asarray(np.diag(curvature)[n_classes:])

    def usual_information(self) -> FloatArray:
        """Information I_r of a usual row about each theta_r at the origin, (R,)."""
        if not len(self.weights):
            return np.zeros(len(self.features))
        each = self.features.var(axis=1)
        usual = [np.median(v[v > 0]) if v.any() else 0.0 for v in each]
        share = (each > 0).mean(axis=1)
        return np.asarray(self.weights.mean() * share * usual / _CHI_SQUARED_MEDIAN)

    def _start(self, penalty: FloatArray) -> FloatArray:
        """Return the optimum of a sample of the rows, from where few steps remain."""
        n_regions, n_classes, n = self.features.shape
        codes = self.codes[::_THINNING]
        if n // _THINNING < _LEAST_SAMPLE or len(np.unique(codes)) < n_classes:
            return np.zeros(n_classes + n_regions)
        features = np.ascontiguousarray(self.features[:, :, ::_THINNING])
        part = _Problem(features, codes, self.weights[::_THINNING], self.held)
        one = part.information() / part.weights.sum()
        least = one.min(initial=np.inf, where=one > 0)
        ridge = np.maximum(penalty / _THINNING, least if np.isfinite(least) else 1.0)
        return _newton(part.objective(ridge), part._start(penalty), enough=_SAMPLE_STEP)[0]

    def ceiling(self) -> float:
        """Log-likelihood above which no row can have a posterior below 1/2.

        The parameters then separate the classes, and so do all their multiples: no multiple is
        the optimum. Held intercepts have no multiples.
        """
        several = self.features.shape[1] > 1 and self.held is None
        return float(np.log(0.5) * self.weights.min()) if several and len(self.weights) else np.inf

    def ridge(self, penalty: FloatArray) -> FloatArray:
        """Penalty of each parameter, (C + R,): the intercepts have none, nor has what is held."""
        finite = np.where(np.isfinite(penalty), penalty, 0.0)
        return np.concatenate([np.zeros(self.features.shape[1]), finite])

    def objective(self, penalty: FloatArray) -> Callable[[FloatArray], Expansion]:
        """Return the penalised likelihood of the rows as a function of the parameters."""
        ridge, free = self.ridge(penalty), self.free(penalty)
        return lambda point: self.at(point, free).penalised(ridge, point)

    def solve(self, penalty: FloatArray, start: FloatArray | None = None) -> ConditionalFit:
        n_classes = self.features.shape[1]
        point, here, steps, finite = _newton(
            self.objective(penalty),
            self._start(penalty) if start is None else start,
            ceiling=self.ceiling() if (penalty == 0).all() else np.inf,
            bounded=bool((penalty > 0)[self.information() > 0].all()),
        )
        there = self.origin + point
        return ConditionalFit(
            theta=np.where(np.isinf(penalty), 0.0, point[n_classes:]),
            intercept=there[:n_classes],
            log_likelihood=here.unpenalised,
            gradient=float(np.abs(here.gradient).max(initial=0.0)),
            curvature=here.curvature,
            penalty=penalty,
            finite=finite,
            steps=steps,
        )

    # -- the penalty that the rows want ---------------------------------------------------------

    def chosen(self) -> ConditionalFit:
        """Fit with the penalty that the leave-one-out likelihood chooses."""
        n_regions, _, n = self.features.shape
        one = self.usual_information()
        least = _LEAST_WORTH[0] + _LEAST_WORTH[1] / max(n, 1)
        n_steps = max(int(np.log(_MOST_WORTH * max(n, 1) / least) / np.log(_WORTH_STEP)), 1)
        start = None
        tried: list[tuple[ConditionalFit, FloatArray]] = []
        for worth in [*least * _WORTH_STEP ** np.arange(n_steps), np.inf]:
            fit = self.solve(np.full(n_regions, np.inf) if np.isinf(worth) else worth * one, start)
            start = self._ahead(fit)
            tried.append((fit, self.without_each(fit)))
            best = max((each for _, each in tried), key=np.sum)
            if not _near(tried[-1][1], best):
                break
        return [fit for fit, each in tried if _near(each, best)][-1]

    def _ahead(self, fit: ConditionalFit) -> FloatArray:
        """Return where the optimum is about once the penalty has grown by a step.

        Optima move about as far for each factor; Newton's steps would go too far.
        """
        point = np.concatenate([fit.intercept, fit.theta]) - self.origin
        slope = np.linalg.lstsq(fit.curvature, self.ridge(fit.penalty) * point, rcond=None)[0]
        return np.asarray(point - slope * np.log(_WORTH_STEP))

    def without_each(self, fit: ConditionalFit) -> FloatArray:
        """Weighted log-likelihood of each row, (n,), under the weights of the others."""
        n_classes = self.features.shape[1]
        curvature, point = fit.curvature, np.concatenate([fit.intercept, fit.theta])
        live = np.diag(curvature)[n_classes:] > 0
        intercepts, regions = slice(None, n_classes), n_classes + np.flatnonzero(live)
        cross = curvature[intercepts][:, regions]
        follow = np.linalg.lstsq(curvature[intercepts, intercepts], cross)[0]
        whole = curvature[np.ix_(regions, regions)] - cross.T @ follow

        def part(rows: slice) -> FloatArray:
            b, codes, weights = self.features[:, :, rows], self.codes[rows], self.weights[rows]
            eta = _scores(point, b)
            if live.any():
                J = b[live] - follow.T[:, :, None]
                step = _newton_without(J, _softmax(eta.copy(), codes)[0], codes, weights, whole)
                eta -= np.einsum("rcn,rn->cn", J, step)
            return weights * _softmax(eta, codes)[1]

        return np.concatenate(_of_chunks(part, self.features))


def _newton_without(
    J: FloatArray, posterior: FloatArray, codes: Array, weights: FloatArray, whole: FloatArray
) -> FloatArray:
    """Step, (R, n), from the weights of all rows to those without each: (S - J'WJ)^-1 J'e."""
    U = J - np.einsum("rcn,cn->rn", J, posterior)[:, None]
    left = whole[:, :, None] - np.einsum("rcn,qcn->rqn", weights * posterior * U, U)
    return _solved(left, weights * _own(U, codes))


def _solved(left: FloatArray, right: FloatArray) -> FloatArray:
    """Solve many positive definite systems (R, R, n) at once, (R, n), in the place of both."""
    for r in range(len(left)):
        share = left[r + 1 :, r] / left[r, r]
        left[r + 1 :, r + 1 :] -= share[:, None] * left[r, r + 1 :]
        right[r + 1 :] -= share * right[r]
    for r in reversed(range(len(left))):
        right[r] -= (left[r, r + 1 :] * right[r + 1 :]).sum(axis=0)
        right[r] /= left[r, r]
    return right


def _near(judged: FloatArray, best: FloatArray) -> bool:
    """Whether log-likelihoods of rows, (n,), are within a part of a standard error of the best."""
    lost = best - judged
    return bool(lost.sum() <= _ERRORS * np.sqrt(len(lost)) * lost.std())


def _newton(
    objective: Callable[[FloatArray], Expansion],
    start: FloatArray,
    *,
    ceiling: float = np.inf,
    enough: float = _STEP,
    bounded: bool = False,
) -> tuple[FloatArray, Expansion, int, bool]:
    """Maximise a concave function: the point, the function there, the number of steps, success.

    One that is `bounded` has an optimum, however little it bends there: intercepts of classes far
    apart move by whole units for a last 1e-12 nats.
    """
    here = objective(np.zeros(len(start)))
    basis = _whitening(here.curvature)
    z, here = _better_start(objective, basis, start, here)
    for steps in range(_MAX_STEPS):
        curvature = basis.T @ here.curvature @ basis
        least = np.linalg.eigvalsh(curvature)[0] if len(z) > 0 else 1.0
        vanished = least < _VANISHED
        if (vanished and not bounded) or here.value > ceiling:
            return basis @ z, here, steps, False
        gradient = basis.T @ here.gradient
        slack = _ROUNDING * (1 + abs(here.value))
        if vanished:
            step = np.linalg.lstsq(curvature, gradient, rcond=None)[0]
        else:
            step = np.linalg.solve(curvature, gradient)
        if bounded and least < _VANISHING and gradient @ step <= slack:
            return basis @ z, here, steps, True
        there = objective(basis @ (z + step))
        while there.value < here.value - slack:  # too far: Newton's step assumes a parabola
            step /= 2
            there = objective(basis @ (z + step))
        z, here = z + step, there
        if np.linalg.norm(step) <= enough * (1 + np.linalg.norm(z)):
            return basis @ z, here, steps + 1, True
    return basis @ z, here, _MAX_STEPS, False


def _better_start(
    objective: Callable[[FloatArray], Expansion],
    basis: FloatArray,
    start: FloatArray,
    origin: Expansion,
) -> tuple[FloatArray, Expansion]:
    """Whichever of the start and the origin is higher, in the coordinates of the basis."""
    z = np.zeros(basis.shape[1])
    if not start.any():
        return z, origin
    near = np.asarray(np.linalg.lstsq(basis, start)[0], dtype=np.float64)
    there = objective(basis @ near)
    return (near, there) if there.value > origin.value else (z, origin)


def _whitening(curvature: FloatArray) -> FloatArray:
    """Columns that make a curvature the identity; flat directions have no column."""
    scale = np.sqrt(np.diag(curvature))
    scale = np.where(scale > 0, scale, 1.0)
    values, vectors = np.linalg.eigh(curvature / np.outer(scale, scale))
    kept = values > _FLAT * len(values)
    return np.asarray(vectors[:, kept] / np.sqrt(values[kept]) / scale[:, None])
