"""The one place where a model meets k: statistics in, a trained model out."""

from __future__ import annotations

from dataclasses import dataclass, replace
from numbers import Integral, Real
from typing import Any, Generic, Self

import numpy as np

from naively._choices import AUTO
from naively._types import Array, FloatArray, IntArray, K
from naively._warn import warn
from naively.models.contrast import relative_errors
from naively.models.exposure import sized
from naively.models.kinds import MODELS
from naively.models.model import Limits, Model, RowsOver, S
from naively.models.rules import Rule
from naively.models.value_rules import tempered
from naively.selection.certificate import Selection
from naively.selection.constrained import path_within, select_within
from naively.selection.given import given
from naively.selection.mixed_refit import mixed_logistic
from naively.selection.path import SparsityPath, checked_grid, path
from naively.selection.redundancy import of_rows, refuse_no_rows
from naively.selection.refit import Refitted, logistic_rule
from naively.selection.solve import solve
from naively.statistics.matrix import Matrix
from naively.statistics.mixed import ClassMixed


@dataclass(frozen=True, slots=True)
class Trained(Generic[S]):
    """A model with its features selected and its rule learned."""

    model: Model[S]
    statistics: S
    selection: Selection
    rule: Rule  # sees `model.seen(statistics, X, selection.support)`
    refitted: Refitted | None = None  # where the rule is not that of the family
    temperature: float = 1.0  # by which its scores are divided

    @property
    def classes(self) -> Array:
        """Labels (C,), in the order of the scores."""
        return self.statistics.classes

    @property
    def told(self) -> str:
        """Say which features are chosen though their corrected gain is a loss; "" if none is."""
        chosen, lost = len(self.selection.support), 0
        if self.model.family.penalty is not None:
            lost = int(np.count_nonzero(self.selection.gain < 0))
        way = f"`k`={chosen - lost}" if self.model.constraints is None else "a smaller `k`"
        if not lost:
            return ""
        return (
            f"{lost:,} of the {chosen:,} chosen features have a gain below 0 once it is corrected: "
            f"they gain no more than chance does; {way} leaves them out."
        )

    def at(self, temperature: float) -> Self:
        """Return the model with its scores divided by a temperature, its answers the same."""
        rule = tempered(self.rule, temperature)
        return replace(self, rule=rule, temperature=self.temperature * temperature)

    def weight_errors(self) -> FloatArray | None:
        """Return standard errors (k, C) of the weights, as `weights_of_classes` compares them.

        From the information of the likelihood of the model; None where they have no closed form.
        """
        variance = self.model.family.weight_variance
        if variance is None or self.refitted is not None:
            return None
        found = relative_errors(variance(sized(self.statistics), self.selection.support))
        return found / self.temperature

    def scores(self, X: Matrix) -> FloatArray:
        """Score of each class (n, C) of checked rows (n, m), up to a term common to a row."""
        return self.rule.scores(self.model.seen(self.statistics, X, self.selection.support))


def train(
    model: Model[S],
    statistics: S,
    k: int,
    limits: Limits | None = None,
    rows: RowsOver | None = None,
    support: IntArray | None = None,
) -> Trained[S]:
    """Select k features and learn the rule.

    Parameters
    ----------
    model : Model
        The model with its parameters.
    statistics
        Class statistics of the kind that `model.gather` returns.
    k : int
        Number of features, >= 0, such as `resolve_k` returns; all of them if there are fewer.
    limits : Limits, optional
        Of the search, if not those of the model.
    rows : callable, optional
        Gives the rows behind the statistics over some columns, for a model that needs them
        (:attr:`Model.needs_rows`).
    support : (k,) int, optional
        Features that were chosen by other means, ascending, instead of the best.

    Raises
    ------
    ValueError
        If the statistics or a parameter cannot be used, or rows are needed and not given.
    """
    log_prior = model.log_prior(statistics)
    model = of_rows(model, statistics, rows, k)
    limits = model.limits if limits is None else limits
    if support is None:
        selection = select(model, statistics, k, limits)
    else:
        selection = given(model, statistics, support, limits)
    if model.refit is None or len(selection.support) == 0:  # the prior alone
        rule = model.family.rule(statistics, selection.support, log_prior)
        return Trained(model, statistics, selection, rule)
    if rows is None:
        refuse_no_rows("refit", model.refit)
    own = rows(selection.support)
    if isinstance(statistics, ClassMixed):
        refitted = mixed_logistic(own, statistics, selection.support, log_prior)
    else:
        scaled = MODELS[model.name].takes == "values"
        refitted = logistic_rule(own, log_prior, scaled=scaled)
    return Trained(model, statistics, selection, refitted.rule, refitted)


def select(model: Model[S], statistics: S, k: int, limits: Limits) -> Selection:
    """Select k features by the objective of the model, of those that may be chosen; see `train`."""
    if model.objective is not None:
        from naively.selection.pairs import select_pairs  # for this objective only

        return select_pairs(model, statistics, k, limits)
    if model.constraints is not None:
        return select_within(model, statistics, k, limits)
    return solve(model.family, statistics, k, limits)


def model_path(model: Model[S], statistics: S, ks: Any = None) -> SparsityPath:
    """Solve for a grid of k: the supports that `train` selects at each.

    Parameters
    ----------
    model : Model
    statistics
        Class statistics of the data.
    ks : (K,) int, optional
        As in :func:`naively.selection.path.path`.
    """
    if model.objective is not None:
        from naively.selection.pairs import pairs_path  # for this objective only

        return pairs_path(model, statistics, ks)
    if model.constraints is not None:
        return path_within(model, statistics, ks)
    return path(model.family, statistics, ks)


def choices(model: Model[S], n_features: int, n_classes: int) -> tuple[int, int]:
    """How many can be chosen at most, and how few will do whatever the features speak for."""
    constraints = model.constraints
    if constraints is None:
        return n_features, 0
    if constraints.quota == "even":
        least = max(constraints.least, n_classes)
    else:
        least = constraints.least + constraints.quota * n_classes
    return constraints.n_choices, min(least, constraints.n_choices)


def model_grid(model: Model[S], n_features: int, n_classes: int, ks: Any = None) -> IntArray:
    """Numbers of features to try, ascending, that models of some of the rows can meet too: (K,).

    Raises
    ------
    ValueError
        If `ks` are no numbers of features that may be chosen.
    """
    most, least = choices(model, n_features, n_classes)
    if ks is not None and model.constraints is not None and model.constraints.quota != "even":
        least = model.constraints.least
    return checked_grid(ks, most, least)


def k_of(model: Model[S], statistics: S, k: K) -> int:
    """Return the number of features that `k` asks for: see `resolve_k`.

    Raises
    ------
    ValueError
        If `k` is no such number; None is one if there is a budget.

    Warns
    -----
    UserWarning
        If an int `k` is larger than the number that may be chosen.
    """
    constraints = model.constraints
    if constraints is None:
        return resolve_k(k, statistics.n_features)
    most = constraints.n_choices
    if k is None and constraints.costs is not None:
        return most
    if isinstance(k, Integral) and int(k) > most:
        used = "all of them are used" if constraints.costs is None else "`budget` alone limits them"
        warn(
            f"`k`={k} is greater than {most}, the number of {constraints.counted} that may be "
            f"chosen: {used}.",
        )
        return most
    return resolve_k(k, most)


def is_auto(k: object) -> bool:
    """Whether the number of features is to be chosen by cross-validation."""
    return isinstance(k, str) and k in AUTO


def is_fdr(k: object) -> bool:
    """Whether the features are to be those that chance does not account for."""
    return isinstance(k, str) and k == "fdr"


def resolve_k(k: K, n_features: int) -> int:
    """Return the number of features that `k` asks for.

    Parameters
    ----------
    k : int, float or "all"
        A number of features, a fraction of them in (0, 1] (rounded, at least one), or all.
    n_features : int
        Number of features there are.

    Returns
    -------
    int
        In [0, n_features].

    Raises
    ------
    ValueError
        If `k` is none of these.

    Warns
    -----
    UserWarning
        If an int `k` is larger than `n_features`; all features are then used.
    """
    if isinstance(k, str) and k == "all":
        return n_features
    if isinstance(k, Integral) and not isinstance(k, bool | np.bool_) and int(k) >= 0:
        if int(k) > n_features:
            warn(
                f"`k`={k} is greater than n_features={n_features}: all features are used.",
            )
        return min(int(k), n_features)
    if isinstance(k, Real) and not isinstance(k, Integral) and 0 < float(k) <= 1:
        return max(round(float(k) * n_features), 1)
    if is_auto(k):
        raise ValueError(
            f"`k`={k!r} is chosen by cross-validation, which needs all rows at once: use `fit`, or "
            "give a number."
        )
    if is_fdr(k):
        raise ValueError(
            "`k`='fdr' chooses features by their p-values, and is no number of them: it is for the "
            "fit of naive Bayes models alone; give a number."
        )
    raise ValueError(
        f"`k` must be an int in [0, {n_features}] (n_features={n_features}), a fraction in "
        f"(0, 1], 'all', 'fdr', 'auto', 'simplest' or 'best'; got {k!r}."
    )
