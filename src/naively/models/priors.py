"""Class priors: estimated from the rows, uniform, or given."""

from __future__ import annotations

from typing import Protocol

import numpy as np
from numpy.typing import ArrayLike

from naively._types import FloatArray


def log_prior(
    class_weight: FloatArray,
    *,
    fit_prior: bool = True,
    class_prior: ArrayLike | None = None,
    name: str = "class_prior",
) -> FloatArray:
    """Log prior of each class.

    Parameters
    ----------
    class_weight : (C,)
        Weight of the rows of each class.
    fit_prior : bool
        Estimate the prior from `class_weight`; otherwise all classes are equally likely.
    class_prior : (C,), optional
        The prior itself; replaces the estimate.
    name : str
        What the user calls the prior, for messages.

    Returns
    -------
    (C,) nats; -inf for a class of prior 0.
    """
    if class_prior is not None:
        return _log(_checked_prior(class_prior, len(class_weight), name))
    if not fit_prior:
        return np.full(len(class_weight), -np.log(len(class_weight)))
    with np.errstate(over="ignore"):  # an infinite total is reported
        total = float(np.sum(class_weight))
    if not 0 < total < np.inf:
        hint = "divide all weights by a constant" if total else "give rows with positive weight"
        raise ValueError(
            f"The class prior cannot be estimated: the rows have total weight {total:g}"
            f"{', too large for double precision' if total else ''}. "
            f"Give `class_prior`, set `fit_prior=False`, or {hint}."
        )
    # As scikit-learn: a difference of logarithms, not the logarithm of a ratio.
    return np.asarray(_log(np.asarray(class_weight, dtype=np.float64)) - np.log(total))


def _checked_prior(class_prior: ArrayLike, n_classes: int, name: str) -> FloatArray:
    prior = np.asarray(class_prior, dtype=np.float64)
    if prior.shape != (n_classes,):
        raise ValueError(
            f"`{name}` must have one value for each of the {n_classes} classes; "
            f"got an array of shape {prior.shape}."
        )
    if not np.all(np.isfinite(prior)) or np.any(prior < 0):
        raise ValueError(f"`{name}` must hold numbers >= 0; got {prior.tolist()}.")
    if abs(prior.sum() - 1.0) > 1e-8:
        raise ValueError(f"`{name}` must sum to 1; it sums to {prior.sum():.10g}.")
    return prior


def _log(values: FloatArray) -> FloatArray:
    return np.log(values, out=np.full(values.shape, -np.inf), where=values > 0)


class Weighed(Protocol):
    """Statistics that know how often each class occurs."""

    @property
    def class_weight(self) -> FloatArray:
        """(C,) weight of the rows of each class."""
        ...


def fitted_prior(
    statistics: Weighed,
    *,
    fit_prior: bool = True,
    class_prior: ArrayLike | None = None,
    name: str = "class_prior",
) -> FloatArray:
    """Log prior of the classes of some statistics; see `log_prior`."""
    return log_prior(
        statistics.class_weight, fit_prior=fit_prior, class_prior=class_prior, name=name
    )


def center_prior(statistics: Weighed, *, priors: ArrayLike | None = None) -> FloatArray:
    """Log prior that `priors` asks for, (C,); zeros where classes weigh the same.

    Scores are distances in the unit of the data: a constant of every class would swallow small
    ones by rounding.

    Parameters
    ----------
    statistics
        Of the rows.
    priors : None, "uniform", "empirical" or (C,)
        Equal (the first two), estimated from the rows, or given.
    """
    weight = statistics.class_weight
    if priors is None or (isinstance(priors, str) and priors == "uniform"):
        return np.zeros(len(weight))
    if isinstance(priors, str) and priors == "empirical":
        return log_prior(weight)
    if isinstance(priors, str):
        raise ValueError(
            "`priors` must be None, 'uniform', 'empirical' or an array with one probability per "
            f"class; got {priors!r}."
        )
    return log_prior(weight, class_prior=priors, name="priors")
