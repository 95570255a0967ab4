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
optimum exists. The same likelihood less (penalty / 2) |theta|^2 then has one.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import final

import numpy as np

from naively._kernels.conditional import conditional_derivatives
from naively._types import Array, FloatArray
from naively.statistics.threads import in_threads

_FEW = 64  # classes up to which matrix products are not worth their overhead
_CHUNK = 1 << 14  # features handled at a time: they stay in the cache, and threads share them
_FLAT = 1e-13  # curvature, relative to the largest, that is rounding: the direction is flat
_VANISHED = 1e-12  # curvature, relative to the start, at which a direction has no finite optimum
_ROUNDING = 1e-10  # by which a sum over many rows may fall for no other reason
_STEP = 1e-7  # the error after a Newton step is of the order of its square
_MAX_STEPS = 200
_THINNING = 8  # one row in so many shows where the optimum is about
_LEAST_SAMPLE = 256
_SAMPLE_STEPS = 12  # a start need not be an optimum


@final
@dataclass(frozen=True, slots=True)
class Expansion:
    """Value, gradient and negative second derivative of a function at a point."""

    value: float  # nats
    gradient: FloatArray  # (C + R,)
    curvature: FloatArray  # (C + R, C + R)

    def penalised(self, ridge: FloatArray, point: FloatArray) -> Expansion:
        """Subtract sum_q ridge_q p_q^2 / 2."""
        pull = ridge * point
        value = self.value - float(point @ pull / 2)
        return Expansion(value, self.gradient - pull, self.curvature + np.diag(ridge))


@final
@dataclass(frozen=True, slots=True)
class ConditionalFit:
    """Weights that maximise the (penalised) conditional likelihood."""

    theta: FloatArray  # (R,)
    intercept: FloatArray  # (C,) the first class that has rows at 0; -inf: a class without any
    log_likelihood: float  # nats, without the penalty
    gradient: float  # largest absolute entry of the gradient of what was maximised
    penalty: float
    finite: bool  # whether the likelihood without the penalty that was added has an optimum
    steps: int


def expand(point: FloatArray, features: FloatArray, codes: Array, weights: FloatArray) -> Expansion:
    """Conditional log-likelihood and its derivatives at p = (t, theta).

    Parameters
    ----------
    point : ndarray of shape (C + R,)
        Intercepts, then region weights.
    features : ndarray of shape (n, R, C)
        b_irc.
    codes, weights : ndarrays of shape (n,)
        Class and weight of each row.
    """
    chunk = max(_CHUNK // (features.shape[1] * features.shape[2]), 1)
    chunks = [slice(begin, begin + chunk) for begin in range(0, len(codes), chunk)]

    def part(rows: slice) -> Expansion:
        return _expand_chunk(point, features[rows], codes[rows], weights[rows])

    parts = in_threads(part, chunks) if len(chunks) > 1 else [part(slice(None))]
    return Expansion(
        sum(one.value for one in parts),
        np.sum([one.gradient for one in parts], axis=0),
        np.sum([one.curvature for one in parts], axis=0),
    )


def _expand_chunk(
    point: FloatArray, features: FloatArray, codes: Array, weights: FloatArray
) -> Expansion:
    n, _, n_classes = features.shape
    between = n_classes <= _FEW
    posterior = np.empty((1 if between else n, n_classes))
    gradient, lower = np.zeros(len(point)), np.zeros((len(point), len(point)))
    value = conditional_derivatives(
        features, codes, weights, point, between, posterior, gradient, lower
    )
    curvature = lower + np.tril(lower, -1).T
    if not between:
        weighted = weights[:, None] * posterior
        pairs = np.diag(weighted.sum(axis=0)) - posterior.T @ weighted
        curvature[:n_classes, :n_classes] += pairs
    return Expansion(value, gradient, curvature)


def fit_conditional(
    features: FloatArray, codes: Array, weights: FloatArray, *, penalty: float = 0.0
) -> ConditionalFit:
    """Maximise the conditional likelihood, with a penalty if it has no finite optimum.

    Parameters
    ----------
    features : ndarray of shape (n, R, C)
        b_irc, finite.
    codes, weights : ndarrays of shape (n,)
        Class and weight of each row. Classes without weight get the intercept -inf.
    penalty : float, default=0.0
        L2 penalty: (penalty / 2) |theta|^2 is subtracted. The intercepts are free.

    Returns
    -------
    ConditionalFit
        `finite` says whether the optimum asked for exists. If not, the penalty is the information
        of one average row, at theta = 0, about the region that has least of it.
    """
    n_classes = features.shape[2]
    active = np.bincount(codes, weights, n_classes) > 0
    if not active.all():
        features, codes = features[:, :, active], (np.cumsum(active) - 1)[codes]
    rows = slice(None) if weights.all() else weights > 0
    problem = _Problem(_centred(features[rows]), codes[rows], weights[rows])
    fit = problem.solve(penalty)
    if not fit.finite:
        fit = replace(problem.solve(problem.least_information()), finite=False)
    intercept = np.full(n_classes, -np.inf)
    intercept[active] = fit.intercept - fit.intercept[0]
    return replace(fit, intercept=intercept)


def _centred(features: FloatArray) -> FloatArray:
    """Terms common to the classes of a row do not matter; without them less is rounded away."""
    return np.asarray(features - features.mean(axis=2, keepdims=True))


@final
@dataclass(frozen=True, slots=True)
class _Problem:
    """A conditional likelihood in which every class has rows."""

    features: FloatArray  # (n, R, C), centred
    codes: Array  # (n,)
    weights: FloatArray  # (n,) positive

    def at(self, point: FloatArray) -> Expansion:
        return expand(point, self.features, self.codes, self.weights)

    def least_information(self) -> float:
        """Information of an average row about theta_r at theta = 0, for the least known region."""
        n_regions, n_classes = self.features.shape[1:]
        curvature = self.at(np.zeros(n_classes + n_regions)).curvature
        information = np.diag(curvature)[n_classes:]
        least = information[information > 0].min(initial=np.inf)
        return float(least / self.weights.sum()) if np.isfinite(least) else 1.0

    def _start(self, penalty: float) -> FloatArray:
        """Return the optimum of a sample of the rows, from where few steps remain."""
        n, n_regions, n_classes = self.features.shape
        sample = slice(None, None, _THINNING)
        enough = n // _THINNING >= _LEAST_SAMPLE and len(set(self.codes[sample])) == n_classes
        if not enough:
            return np.zeros(n_classes + n_regions)
        part = _Problem(self.features[sample], self.codes[sample], self.weights[sample])
        ridge = part.ridge(max(penalty / _THINNING, part.least_information()))
        return _newton(part.objective(ridge), part._start(penalty), max_steps=_SAMPLE_STEPS)[0]

    def ceiling(self) -> float:
        """Log-likelihood above which no row can have a posterior below 1/2.

        The parameters then separate the classes, and so do all their multiples: no multiple is
        the optimum.
        """
        several = self.features.shape[2] > 1
        return float(np.log(0.5) * self.weights.min()) if several and len(self.weights) else np.inf

    def ridge(self, penalty: float) -> FloatArray:
        """Penalty of each parameter, (C + R,): the intercepts are free."""
        n_regions, n_classes = self.features.shape[1:]
        return np.repeat([0.0, penalty], [n_classes, n_regions])

    def objective(self, ridge: FloatArray) -> Callable[[FloatArray], Expansion]:
        """Return the penalised likelihood of the rows as a function of the parameters."""
        return lambda point: self.at(point).penalised(ridge, point)

    def solve(self, penalty: float) -> ConditionalFit:
        n_classes = self.features.shape[2]
        ridge = self.ridge(penalty)
        point, steps, finite = _newton(
            self.objective(ridge),
            self._start(penalty),
            ceiling=np.inf if penalty > 0 else self.ceiling(),
        )
        likelihood = self.at(point)
        return ConditionalFit(
            theta=point[n_classes:],
            intercept=point[:n_classes],
            log_likelihood=likelihood.value,
            gradient=float(np.abs(likelihood.penalised(ridge, point).gradient).max()),
            penalty=penalty,
            finite=finite,
            steps=steps,
        )


def _newton(
    objective: Callable[[FloatArray], Expansion],
    start: FloatArray,
    *,
    ceiling: float = np.inf,
    max_steps: int = _MAX_STEPS,
) -> tuple[FloatArray, int, bool]:
    """Maximise a concave function: the point, the number of steps, whether it is an optimum."""
    here = objective(np.zeros(len(start)))
    basis = _whitening(here.curvature)
    z, here = _better_start(objective, basis, start, here)
    for steps in range(max_steps):
        curvature = basis.T @ here.curvature @ basis
        vanished = len(z) > 0 and np.linalg.eigvalsh(curvature)[0] < _VANISHED
        if vanished or here.value > ceiling:
            return basis @ z, steps, False
        step = np.linalg.solve(curvature, basis.T @ here.gradient)
        slack = _ROUNDING * (1 + abs(here.value))
        there = objective(basis @ (z + step))
        while there.value < here.value - slack:  # too far: Newton's step assumes a parabola
            step /= 2
            there = objective(basis @ (z + step))
        z, here = z + step, there
        if np.linalg.norm(step) <= _STEP * (1 + np.linalg.norm(z)):
            return basis @ z, steps + 1, True
    return basis @ z, max_steps, False


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
