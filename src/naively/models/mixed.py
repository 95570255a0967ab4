r"""Sparse naive Bayes of columns of several kinds, in any of which values may be missing.

Given the class, the columns of a row are independent, each by the law of its kind: normal
(:mod:`naively.models.gaussian`), categorical (:mod:`naively.models.categorical`), present or absent
(:mod:`naively.models.bernoulli`) or a Poisson count (:mod:`naively.models.poisson`). The
log-likelihood is a sum over the columns, and so is that of what is observed: with O_i the rows in
which column i is not missing,

    L = sum_j log pi_c(j)  +  sum_i sum_{j in O_i} log p(x_ji | theta_c(j)i)

Each term is the likelihood of one column by the rows O_i alone, and the gain of freeing column i
is that of its own model on these rows. All gains are nats of the same likelihood: they compare, and
the k largest are the optimum, whatever their kinds. A missing entry of a row to be classified
leaves its term out. (Which values are missing is taken to tell nothing: missing at random, Rubin
1976. If it does tell, a column that says which are missing is a variable of its own.)

A class in which a column is never observed has the parameters of all classes, or what smoothing
says of no rows.

Categories are those that occur in the rows of training; one that does not tells nothing, and has no
part in the smoothing.

With d_i parameters more than a pooled column, a free column that is alike in all classes gains
d_i / 2 on average (Wilks 1938), so that columns of many categories win by chance: see
:func:`naively.models.family.corrected`.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import replace
from functools import partial
from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from naively._types import BoolArray, FloatArray, IntArray
from naively.models.alike import p_values
from naively.models.bernoulli import bernoulli
from naively.models.categorical import categorical
from naively.models.distances import Distances
from naively.models.family import Family, Separable, SeparableCounts, checked_number, corrected
from naively.models.gaussian import gaussian
from naively.models.kinds import COLUMNS
from naively.models.model import Model
from naively.models.poisson import poisson
from naively.models.priors import fitted_prior
from naively.models.value_rules import MixedRule, TableRule
from naively.statistics.categories import ClassCategories
from naively.statistics.mixed import ClassMixed
from naively.statistics.mixed_columns import MixedColumns
from naively.statistics.parts import starts_of

Families = Mapping[str, Family[Any]]


def model(
    *,
    alpha: float = 1.0,
    fit_prior: bool = True,
    class_prior: ArrayLike | None = None,
    variance: str = "class",
    var_smoothing: float = 1e-9,
    correction: str | None = None,
    columns: MixedColumns | None = None,
) -> Model[ClassMixed]:
    """Model of columns of several kinds; without `columns` all are Gaussian."""
    normal = columns is None or "gaussian" in columns.kinds
    return Model(
        name="mixed",
        family=mixed(alpha, variance, var_smoothing, correction),
        gather=partial(ClassMixed.from_matrix, columns=columns),
        log_prior=partial(fitted_prior, fit_prior=fit_prior, class_prior=class_prior),
        words=COLUMNS,
        # The rounding of a difference is a part of tiny variances.
        subtracts=variance == "shared" or not normal,
        learns_prior=fit_prior and class_prior is None,
        ignores_missing=True,
        refits_missing=True,
    )


def mixed(
    alpha: object = 1.0,
    variance: str = "class",
    var_smoothing: object = 1e-9,
    correction: object = None,
) -> Family[ClassMixed]:
    """Model of columns of several kinds.

    Parameters
    ----------
    alpha : float
        Smoothing of categories, presence and counts, as in the models of each.
    variance, var_smoothing
        Of the Gaussian model.
    correction : "bic" or None
        Of the gains, see `corrected`.

    Raises
    ------
    ValueError
        If a parameter is out of range.
    """
    alpha = checked_number("alpha", alpha)
    families: Families = {
        "gaussian": gaussian(variance, var_smoothing),
        "categorical": categorical(alpha),
        "bernoulli": bernoulli(alpha),
        "poisson": poisson(alpha),
    }
    family = Family(
        name="mixed",
        gain=partial(_gain, families),
        problem=partial(_problem, families),
        rule=partial(_rule, families),
        freedom=partial(_freedom, families),
        test=partial(_test, families),
        distances=partial(_distances, families),
    )
    return corrected(family, correction)


def _occurs(statistics: ClassCategories) -> BoolArray:
    """Categories of all features that have a row, and the first of a feature that has none."""
    occurs, first = np.array(statistics.table.any(axis=1)), starts_of(statistics.n_categories)
    n = np.bincount(statistics.features(), occurs, statistics.n_features)
    occurs[first[n == 0]] = True
    return occurs


def occurring(statistics: ClassCategories) -> ClassCategories:
    """Return statistics without the categories that have no row; at least one is left."""
    occurs = _occurs(statistics)
    n = np.bincount(statistics.features(), occurs, statistics.n_features).astype(np.int64)
    return replace(statistics, n_categories=n, table=statistics.table[occurs])


def _counted(kind: str, part: Any) -> Any:
    return occurring(part) if kind == "categorical" else part


def _gain(families: Families, statistics: ClassMixed) -> FloatArray:
    return statistics.of_parts(lambda kind, part: families[kind].gain(_counted(kind, part)))


def _freedom(families: Families, statistics: ClassMixed) -> IntArray:
    def of_part(kind: str, part: Any) -> int | IntArray:
        freedom = families[kind].freedom
        assert freedom is not None
        return freedom(_counted(kind, part))

    return statistics.of_parts(of_part).astype(np.int64)


def _test(families: Families, statistics: ClassMixed, _: FloatArray | None) -> FloatArray:
    if len(statistics.columns.of_kind("poisson")):
        raise ValueError(
            "`k`='fdr' has no test of columns of counts beside others, whose dispersion within the "
            "classes is not known; give `k` a number, or let these columns be numbers."
        )

    def of_part(kind: str, part: Any) -> FloatArray:
        family, counted = families[kind], _counted(kind, part)
        return p_values(family, counted) if family.test is None else family.test(counted, None)

    return statistics.of_parts(of_part)


def _problem(families: Families, statistics: ClassMixed) -> Separable:
    def baseline() -> float:
        return sum(_pooled(families[kind], _counted(kind, part)) for kind, part in parts.items())

    def rounding(columns: IntArray, gain: FloatArray) -> FloatArray:
        found = np.zeros(len(columns))
        for kind, part, at, own in _by_kind(statistics, columns):
            some = _counted(kind, part.take(own))
            problem = families[kind].problem(some)
            first = some.table if isinstance(problem, SeparableCounts) else np.arange(len(own))
            found[at] = problem.rounding(first, gain[at])  # type: ignore[union-attr]
        return found

    parts = statistics.parts
    return Separable(partial(_gain, families, statistics), baseline, rounding)


def _pooled(family: Family[Any], part: Any) -> float:
    """Log-likelihood of the columns of a kind, all pooled."""
    problem = family.problem(part)
    if isinstance(problem, SeparableCounts):
        return float(problem.pooled(problem.table).sum())
    assert isinstance(problem, Separable)
    return problem.baseline()


def _by_kind(
    statistics: ClassMixed, columns: IntArray
) -> list[tuple[str, Any, IntArray, IntArray]]:
    """For each kind: its statistics, where its columns are among some, and which of it they are."""
    found = []
    for kind, part in statistics.parts.items():
        of_kind = statistics.columns.of_kind(kind)
        at = np.flatnonzero(np.isin(columns, of_kind))
        if len(at):
            found.append((kind, part, at, np.searchsorted(of_kind, columns[at])))
    return found


def _rule(
    families: Families, statistics: ClassMixed, support: IntArray, log_prior: FloatArray
) -> MixedRule:
    places, rules = {}, {}
    for kind, part, at, own in _by_kind(statistics, support):
        places[kind] = at
        rules[kind] = _rule_of(families[kind], kind, part, own, np.zeros_like(log_prior))
    return MixedRule(log_prior, places, rules)


def _rule_of(family: Family[Any], kind: str, part: Any, own: IntArray, nothing: FloatArray) -> Any:
    rule = family.rule(_counted(kind, part), own, nothing)
    if not isinstance(rule, TableRule):
        return rule
    # As in the table of all categories: those that do not occur tell nothing.
    some = part.take(own)
    log_prob = np.zeros(some.table.shape)
    log_prob[_occurs(some)] = rule.log_prob
    starts = np.append(starts_of(some.n_categories), len(log_prob))
    return replace(rule, log_prob=log_prob, starts=starts)


def described(
    statistics: ClassMixed, support: IntArray
) -> tuple[FloatArray, FloatArray, tuple[str | None, ...]]:
    """Describe some columns in each class, without smoothing.

    Parameters
    ----------
    statistics
        Of all columns.
    support
        Which columns, ascending (k,).

    Returns
    -------
    centers : (k, C)
        Mean of numbers and counts, share of the rows that are true, and of a column of categories
        the share of that whose share differs most between the classes. A class in which the column
        is never observed has the value of all rows.
    deviations : (k, C)
        Standard deviations: of the numbers, or of the law of the kind.
    categories : (k,)
        The category that is meant; None for other kinds.
    """
    shape = (len(support), len(statistics.classes))
    centers, deviations = np.zeros(shape), np.zeros(shape)
    categories: list[str | None] = [None] * len(support)
    for kind, part, at, own in _by_kind(statistics, support):
        some = part.take(own)
        seen = some.observed
        if kind == "gaussian":
            centers[at], spread = some.mean, some.variance
        elif kind == "categorical":
            shares = _shares(some.table, np.repeat(seen, some.n_categories, axis=0))
            starts = starts_of(some.n_categories)
            differs = np.ptp(shares, axis=1)
            most = np.array(
                [start + np.argmax(differs[start : start + n])
                 for start, n in zip(starts, some.n_categories, strict=True)]
            )  # fmt: skip
            for i, column, code in zip(at, support[at], most - starts, strict=True):
                labels = statistics.columns.labels[column]
                categories[i] = str(labels[code]) if labels else None
            centers[at] = shares[most]
            spread = centers[at] * (1 - centers[at])
        else:
            centers[at] = _shares(some.table, seen)
            spread = centers[at] * (1 - centers[at] if kind == "bernoulli" else 1.0)
        deviations[at] = np.sqrt(np.maximum(spread, 0.0))
    return centers, deviations, tuple(categories)


def _shares(table: Any, weight: FloatArray) -> FloatArray:
    """Table (n, C) over the weight of its rows; over all classes together where there is none."""
    counts = np.asarray(table.toarray() if hasattr(table, "toarray") else table, dtype=np.float64)
    total = weight.sum(axis=1, keepdims=True)
    pooled = counts.sum(axis=1, keepdims=True) / np.where(total > 0, total, 1.0)
    return np.where(weight > 0, counts / np.where(weight > 0, weight, 1.0), pooled)


def _distances(families: Families, statistics: ClassMixed) -> Distances:
    m, n_classes = statistics.n_features, len(statistics.classes)
    of_kind: dict[str, Distances] = {}
    for kind, part in statistics.parts.items():
        distances = families[kind].distances
        assert distances is not None
        of_kind[kind] = distances(_counted(kind, part))

    def by_kind(value: Callable[[Distances, IntArray], FloatArray], n: int | None = None) -> Any:
        def values(columns: IntArray) -> FloatArray:
            found = np.zeros((len(columns), n) if n is not None else len(columns))
            for kind, _, at, own in _by_kind(statistics, columns):
                found[at] = value(of_kind[kind], own)
            return found

        return values

    return Distances(
        m,
        n_classes,
        by_kind(lambda each, own: each.between(own), n_classes * (n_classes - 1) // 2),
        lambda weights: statistics.of_parts(lambda kind, _: of_kind[kind].weighed(weights)),
        by_kind(lambda each, own: each.size(own)),
    )
