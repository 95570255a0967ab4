"""What a model is to the rest of the package: a record of functions of its statistics.

A family says how much each feature gains the likelihood when its parameters may differ between
the classes ("free") instead of agreeing ("pooled"), and which decision rule follows from a set of
free features. Which features to free is the business of :mod:`naively.selection`.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace
from functools import partial
from numbers import Real
from typing import TYPE_CHECKING, Any, Generic, Protocol, TypeAlias, TypeVar

import numpy as np

from naively._types import Array, FloatArray, IntArray
from naively.models.rules import LinearRule, Rule

if TYPE_CHECKING:
    from naively.models.contrast import Contrast
    from naively.models.distances import Distances

S = TypeVar("S", contravariant=True)
R = TypeVar("R")

ROUNDING = 2.0**-44  # relative: sums of real numbers in another order differ by no more


class CountTable(Protocol):
    """What the count models need to know about the data."""

    @property
    def table(self) -> Array:
        """(m, C) count of each feature in each class, int64 or float64."""
        ...

    @property
    def feature_weight(self) -> FloatArray:
        """(C,) weight of the rows of each class, or (m, C) of those that tell of each feature."""
        ...

    @property
    def observed(self) -> FloatArray | None:
        """(m, C) the same, if rows may lack values; a rule then takes such rows, too."""
        ...


@dataclass(frozen=True, slots=True)
class Separable:
    """Gains that add up: the k largest are the optimum."""

    gain: Callable[[], FloatArray]  # (m,) nats: best value with feature i free minus pooled
    baseline: Callable[[], float]  # nats: the objective with every feature pooled
    # By how much gains may be off: columns (d,), their gains (d,) -> (d,) nats
    rounding: Callable[[IntArray, FloatArray], FloatArray]


@dataclass(frozen=True, slots=True)
class SeparableCounts:
    """Gains that add up, each a function of the counts of its column: equal columns need it once.

    What repeats is grouped before anything is computed.
    """

    table: Array  # (m, C) counts, int64 or float64
    gain: Callable[[Array], FloatArray]  # table (d, C) -> (d,) nats
    pooled: Callable[[Array], FloatArray]  # log-likelihood with the column pooled, (d,) nats
    rounding: Callable[[Array, FloatArray], FloatArray]  # of gains: table, gains -> (d,) nats


@dataclass(frozen=True, slots=True)
class Coupled:
    """Counts whose class totals over the support tie the features together: gains do not add up."""

    table: Array  # (m, C) counts, int64 or float64
    alpha: float | FloatArray  # smoothing added to every count: one value, or (m,)


@dataclass(frozen=True, slots=True)
class Ordered:
    """An order in which features come in, whatever they gain together: nothing is left to solve.

    The family is then bound to the rows from which the order was found.
    """

    order: IntArray  # (m,) the first k of it are the k features; without those excluded, fewer
    added: FloatArray  # (q,) what each of the first q adds to those before it
    displaced: tuple[IntArray, ...]  # (q,) for each of these, features that say the same
    plain: Separable | SeparableCounts | Coupled  # the objective, and how large it could be


# Which k features to free.
Problem: TypeAlias = Separable | SeparableCounts | Coupled | Ordered


def objective_of(problem: Problem) -> Separable | SeparableCounts | Coupled:
    """Return what the features gain together, whatever the order in which they come."""
    return problem.plain if isinstance(problem, Ordered) else problem


@dataclass(frozen=True, slots=True)
class Family(Generic[S]):
    """One model, its parameters (smoothing and the like) already bound."""

    name: str
    gain: Callable[[S], FloatArray]  # (m,) nats: best value with feature i free minus pooled
    problem: Callable[[S], Problem]  # costs nothing: what has to be computed is so by selection
    rule: Callable[[S, IntArray, FloatArray], Rule]  # statistics, support (k,), log prior (C,)
    # (C, m) log-probability of every feature, pooled outside the support: statistics, support
    feature_log_prob: Callable[[S, IntArray], FloatArray] | None = None
    # Joint log-likelihood over all features: statistics, support, log prior
    joint_rule: Callable[[S, IntArray, FloatArray], LinearRule] | None = None
    # Of the classes, under the free parameters of every feature; None: of no known form
    distances: Callable[[S], Distances] | None = None
    objective: str = "training likelihood"  # what is maximised, and its unit, for the reader
    unit: str = "nats"
    # Parameters that a free feature has more than a pooled one, one number or (m,): twice its gain
    # is chi-squared with so many degrees of freedom, if there are many rows
    freedom: Callable[[S], int | IntArray] | None = None
    # p-values (m,) of features alike in the rows of all classes, from statistics and the squares of
    # the entries (m,) where these are known; None: those of the gain hold
    test: Callable[[S, FloatArray | None], FloatArray] | None = None
    # How two classes differ: their statistics, columns (k,), rows expected a priori of each
    contrast: Callable[[S, IntArray, float], Contrast] | None = None
    # Variance of the weight of each class in free features, (k, C), from the information of the
    # smoothed likelihood, the classes independent of each other; None: of no closed form
    weight_variance: Callable[[S, IntArray], FloatArray] | None = None
    # By how much a gain is less than that of the likelihood, (m,) nats; None: by nothing
    penalty: Callable[[S], FloatArray] | None = None


def corrected(family: Family[S], correction: object) -> Family[S]:
    """Return the family with gains that make up for the number of parameters of a feature.

    Of a feature that is alike in all classes, twice the gain is chi-squared with d degrees of
    freedom: by chance alone, a feature with more values gains more, d / 2 on average. The Bayesian
    information criterion (Schwarz 1978) takes d / 2 log n, n being the weight of the rows that tell
    of the feature, so that a gain that is left is evidence for a difference.

    Parameters
    ----------
    family : Family
        With `freedom`.
    correction : "bic" or None

    Raises
    ------
    ValueError
        If `correction` is neither.
    """
    if correction is None:
        return family
    if correction != "bic":
        raise ValueError(f"`correction` must be 'bic' or None; got {correction!r}.")
    return replace(
        family,
        gain=partial(_corrected_gain, family),
        problem=partial(_corrected_problem, family),
        penalty=partial(_penalty, family),
        objective=f"{family.objective} less the BIC penalty",
    )


def _penalty(family: Family[Any], statistics: Any) -> FloatArray:
    assert family.freedom is not None
    n = np.maximum(statistics.feature_weight.sum(axis=-1), 1.0)
    penalty = 0.5 * np.asarray(family.freedom(statistics)) * np.log(n)
    return np.broadcast_to(penalty, statistics.n_features)


def _corrected_gain(family: Family[Any], statistics: Any) -> FloatArray:
    return np.asarray(family.gain(statistics) - _penalty(family, statistics))


def _corrected_problem(family: Family[Any], statistics: Any) -> Separable:
    plain = family.problem(statistics)
    assert isinstance(plain, Separable)

    def rounding(columns: IntArray, gain: FloatArray) -> FloatArray:
        """Of the gain of the likelihood, and of the difference."""
        lost = _penalty(family, statistics)[columns]
        of_gain = plain.rounding(columns, np.maximum(gain + lost, 0.0))
        return np.asarray(of_gain + ROUNDING * lost)

    return Separable(partial(_corrected_gain, family, statistics), plain.baseline, rounding)


def separable(
    gain: Callable[[S], FloatArray],
    baseline: Callable[[S], float],
    rounding: Callable[[S, IntArray, FloatArray], FloatArray],
    statistics: S,
) -> Separable:
    """Return the problem of a family with these gains: bind the first three for `problem`."""
    return Separable(
        partial(gain, statistics), partial(baseline, statistics), partial(rounding, statistics)
    )


class Weighted(Protocol):
    """Statistics that know the weight of each class."""

    @property
    def feature_weight(self) -> FloatArray:
        """(C,) weight of the rows of each class, or (m, C) of those that tell of each feature."""
        ...


def one_a_class(statistics: Weighted) -> int | IntArray:
    """Parameters that a free feature has more than a pooled one, if it has one in each class."""
    n = np.maximum(np.count_nonzero(statistics.feature_weight, axis=-1) - 1, 0)
    return n if np.ndim(n) else int(n)


def weight_of(statistics: Weighted, columns: IntArray | slice) -> FloatArray:
    """Weight of the rows of each class that tell of some features: (C,), or (d, C) if they differ.

    A rank of 1 says that it is the same for all.
    """
    weight = statistics.feature_weight
    return weight if weight.ndim == 1 else weight[columns]


def all_rows(weight: FloatArray) -> FloatArray:
    """Weight of the rows of all classes, () or (d,); 1 where there are none."""
    total = weight.sum(axis=-1)
    return np.where(total > 0, total, 1.0)


def excess_rounding(gain: FloatArray, size: FloatArray) -> FloatArray:
    """By how much rounding may have changed gains that are sums of D(f, e), see `divergence`.

    If every excess f - e is off by epsilon e, the sum is off by epsilon sum |f - e|, at most
    epsilon (2 gain sum e)^(1/2) (Cauchy, Schwarz; D is about (f - e)^2 / 2 e).

    Parameters
    ----------
    gain : (d,)
    size : (d,)
        Sum of the e.
    """
    return np.asarray(ROUNDING * (gain + np.sqrt(2.0 * gain) * np.sqrt(size)))


def checked_alpha(alpha: object) -> float | FloatArray:
    """Smoothing as a float or a (m,) array, refused if negative or not finite."""
    try:
        values = np.asarray(alpha, dtype=np.float64)
    except (TypeError, ValueError):
        raise ValueError(f"`alpha` must be a number or one per feature; got {alpha!r}.") from None
    if values.ndim > 1:
        raise ValueError(
            f"`alpha` must be a number or one number per feature; got an array of shape "
            f"{values.shape}."
        )
    if not np.all(np.isfinite(values)) or np.any(values < 0):
        worst = values.flat[np.argmin(np.where(np.isfinite(values), values, -np.inf))]
        raise ValueError(f"`alpha` must be finite and >= 0 (0: no smoothing); got {worst}.")
    return float(values) if values.ndim == 0 else values


def checked_number(name: str, value: object) -> float:
    """Return a parameter as a float, refused unless it is a finite number >= 0."""
    number = float(value) if isinstance(value, Real) else np.nan
    if not 0 <= number < np.inf:
        raise ValueError(f"`{name}` must be a finite number >= 0; got {value!r}.")
    return number


def smoothing(alpha: float | FloatArray, n_features: int) -> float | FloatArray:
    """Smoothing ready to be added to a (m, C) table: a float or (m, 1)."""
    alpha = alpha_of(alpha, n_features)
    return alpha if isinstance(alpha, float) else alpha[:, None]


def alpha_of(alpha: float | FloatArray, n_features: int) -> float | FloatArray:
    """Smoothing of so many features: a float, also where one value is said for each, or (m,)."""
    if isinstance(alpha, float):
        return alpha
    if alpha.shape[0] != n_features:
        raise ValueError(
            f"`alpha` must be a number or have one value for each of the {n_features} features; "
            f"got {alpha.shape[0]} values."
        )
    return float(alpha[0]) if n_features and (alpha == alpha[0]).all() else alpha


def smoothed(function: Callable[..., R], alpha: float | FloatArray) -> Callable[..., R]:
    """Bind the smoothing of a family: function(alpha, statistics, ...), which gets `alpha_of`."""
    return partial(_smoothed, function, alpha)


def _smoothed(
    function: Callable[..., R], alpha: float | FloatArray, statistics: CountTable, *others: Any
) -> R:
    return function(alpha_of(alpha, len(statistics.table)), statistics, *others)


def blocks(n: int, n_classes: int) -> list[slice]:
    """Slices that cut n rows into blocks small enough for the cache."""
    length = max(1, (1 << 16) // n_classes)
    return [slice(start, min(start + length, n)) for start in range(0, n, length)]


def divergence(excess: FloatArray, expected: FloatArray) -> FloatArray:
    """Value of x log(x / e) - x + e at x = e + excess, >= 0, exact also where x is close to e.

    The sum of these over cells whose totals agree is the likelihood ratio, and no two terms cancel.
    """
    expected = np.broadcast_to(expected, excess.shape)
    ratio = np.divide(excess, expected, out=np.zeros_like(excess), where=expected > 0)
    ratio = np.maximum(ratio, -1.0)  # x >= 0 up to rounding
    x = 1.0 + ratio
    curvature = x * np.log(x, out=np.zeros_like(x), where=x > 0) - ratio
    near = np.abs(ratio) < 0.05
    t = ratio[near]
    # (1 + t) log(1 + t) - t = sum_{j >= 2} (-t)^j / (j (j - 1)), to t^10: relative error 1e-14.
    series = np.zeros_like(t)
    for j in range(10, 1, -1):
        series = 1.0 / (j * (j - 1)) - t * series
    curvature[near] = t * t * series
    return np.asarray(expected * curvature)
