r"""Rows of unequal exposure: depth is no evidence of the class.

With e_j the exposure of row j, a model of counts expects e_j times the rate of the class. It is
that of rows of exposure 1, with the exposures E_c = sum_j s_j e_j of the classes in place of their
rows n_c (weights s_j) everywhere but in the prior; and what a feature costs a class whatever its
entry, it costs for each unit of exposure:

    score of c = log prior_c + sum_S x_i w_ci + e sum_S (constant of feature i in class c)

So the exposure is one more column of what the rule sees, the last one, and the rule stays linear.
Exposures that are all multiplied by a number change no gain, no decision and no posterior: rates
are divided by it. Exposures of 1 are the model without them.

A column that holds the exposure has rate 1 in every class: its gain is 0, and it is never chosen.
Distances of classes, for `objective="pairs"`, are those in a row of mean exposure, to which they
are in proportion: in e rows of exposure 1 the classes are e times as far apart as in one.

With "total" the exposure is the sum of the row over all its columns, chosen or not. (Given their
total, Poisson counts are multinomial: of all features free, the two models agree.)
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from functools import partial
from numbers import Integral
from typing import Any, TypeVar

import numpy as np

from naively._nearest import nearest
from naively._types import FloatArray, IntArray
from naively.models.family import Family
from naively.models.rules import LinearRule
from naively.statistics.exposure import Exposure

S = TypeVar("S")


def checked_exposure(
    exposure: object, n_features: int | None = None, names: Sequence[str] | None = None
) -> Exposure:
    """Exposure as models take it: None, "total" or the position of a column.

    Parameters
    ----------
    exposure : object
        What a user gives: one of these, or the name of a column.
    n_features : int, optional
        Number of columns, if it is known.
    names : sequence of str, optional
        Their names, if they have any.

    Raises
    ------
    ValueError
        If it is none of these.
    """
    if exposure is None:
        return None
    known = () if names is None else tuple(names)
    if isinstance(exposure, str):
        if exposure == "total":
            if "total" in known:
                raise ValueError(
                    "`exposure`='total' is the sum of the row, and a column is called so, too; "
                    "rename the column, or give its index."
                )
            return "total"
        if exposure in known:
            return known.index(exposure)
        way = nearest(exposure, list(known)) if known else "X has no names, give an index."
        raise ValueError(f"`exposure` must be 'total' or a column; got {exposure!r}: {way}")
    if isinstance(exposure, bool) or not isinstance(exposure, Integral) or int(exposure) < 0:
        raise ValueError(
            f"`exposure` must be 'total', or the name or index of a column; got {exposure!r}."
        )
    if n_features is not None and int(exposure) >= n_features:
        raise ValueError(
            f"`exposure` must be the index of a column of X, in [0, {n_features}); got {exposure}."
        )
    return int(exposure)


def refuse_holes(exposure: Exposure, *, ignores: bool) -> None:
    """Raise a ValueError if rows have an exposure and may lack values."""
    if ignores and exposure is not None:
        raise ValueError(
            "`exposure` is of whole rows, and with `missing`='ignore' rows are of the entries that "
            "they have; leave one of them out."
        )


def of_exposure(family: Family[Any], exposure: Exposure) -> Family[Any]:
    """Return the family for rows of some exposure; None: all rows count the same."""
    if exposure is None:
        return replace(family, problem=partial(_problem, family, None))
    distances = family.distances
    return replace(
        family,
        gain=partial(_gain, family, exposure),
        problem=partial(_problem, family, exposure),
        rule=partial(_rule, family, exposure),
        freedom=None if family.freedom is None else partial(_freedom, family, exposure),
        distances=None if distances is None else partial(_distances, family, exposure),
    )


def sized(statistics: Any) -> Any:
    """Return statistics with the exposure of the classes, if there is one, as their weight."""
    if getattr(statistics, "exposure", None) is None:
        return statistics
    return replace(statistics, class_weight=statistics.exposure)


def mean_exposure(statistics: Any) -> float:
    """Exposure of a row on average, over those that have any where that is known; 1 without."""
    if statistics.exposure is None:
        return 1.0
    exposed = getattr(statistics, "exposed", None)
    rows = statistics.class_weight if exposed is None else exposed
    return float(statistics.exposure.sum() / (rows.sum() or 1.0)) or 1.0


def _in_mean_exposures(statistics: Any) -> Any:
    """Return statistics whose unit of exposure is the mean of the rows."""
    unit = mean_exposure(statistics)
    changed = {"exposure": statistics.exposure / unit}
    if getattr(statistics, "scatter", None) is not None:  # of squares by exposure
        changed["scatter"] = statistics.scatter * unit
    return replace(statistics, **changed)


def _exposed(statistics: Any, exposure: Exposure) -> Any:
    found = getattr(statistics, "exposed_by", None)
    if found != exposure:
        raise ValueError(
            f"`statistics` must have been gathered with exposure={exposure!r} for this model; got "
            f"exposure={found!r}. The method `gather` of the model gathers rightly."
        )
    return statistics if exposure is None else sized(statistics)


def _gain(family: Family[Any], exposure: Exposure, statistics: Any) -> FloatArray:
    return family.gain(_exposed(statistics, exposure))


def _problem(family: Family[Any], exposure: Exposure, statistics: Any) -> Any:
    return family.problem(_exposed(statistics, exposure))


def _freedom(family: Family[Any], exposure: Exposure, statistics: Any) -> Any:
    assert family.freedom is not None
    return family.freedom(_exposed(statistics, exposure))


def _distances(family: Family[Any], exposure: Exposure, statistics: Any) -> Any:
    """Distances of the classes in a row of mean exposure; they grow in proportion to it."""
    assert family.distances is not None
    _exposed(statistics, exposure)
    return family.distances(sized(_in_mean_exposures(statistics)))


def _rule(
    family: Family[Any],
    exposure: Exposure,
    statistics: Any,
    support: IntArray,
    log_prior: FloatArray,
) -> LinearRule:
    """Rule of the columns of the support, and last of the exposure."""
    rule = family.rule(_exposed(statistics, exposure), support, np.zeros_like(log_prior))
    assert isinstance(rule, LinearRule)
    weights = np.column_stack([rule.weights, rule.intercept])
    veto = rule.veto
    if veto is not None:
        veto = np.column_stack([veto, np.zeros(len(veto))])
    return LinearRule(log_prior, weights, log_prior, rule.veto_offset, veto)
