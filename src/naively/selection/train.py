"""The one place where a model meets k: statistics in, a trained model out."""

from __future__ import annotations

import warnings
from dataclasses import dataclass
from numbers import Integral, Real
from typing import Any, Generic

import numpy as np

from naively._types import Array, FloatArray, K
from naively.models.model import Limits, Model, S
from naively.models.rules import Rule
from naively.selection.certificate import Selection
from naively.selection.pairs import pairs_path, select_pairs
from naively.selection.path import SparsityPath, path
from naively.selection.solve import solve
from naively.statistics.matrix import Matrix


@dataclass(frozen=True, slots=True)
class Trained(Generic[S]):
    """A model with its features selected and its rule learned."""

    model: Model[S]
    statistics: S
    selection: Selection
    rule: Rule  # sees `model.seen(statistics, X, selection.support)`

    @property
    def classes(self) -> Array:
        """Labels (C,), in the order of the scores."""
        return self.statistics.classes

    def scores(self, X: Matrix) -> FloatArray:
        """Score of each class (n, C) of checked rows (n, m), up to a term common to a row."""
        return self.rule.scores(self.model.seen(self.statistics, X, self.selection.support))


def train(model: Model[S], statistics: S, k: int, limits: Limits | None = None) -> Trained[S]:
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

    Raises
    ------
    ValueError
        If the statistics or a parameter cannot be used.
    """
    log_prior = model.log_prior(statistics)
    selection = select(model, statistics, k, model.limits if limits is None else limits)
    rule = model.family.rule(statistics, selection.support, log_prior)
    return Trained(model, statistics, selection, rule)


def select(model: Model[S], statistics: S, k: int, limits: Limits) -> Selection:
    """Select k features by the objective of the model; see `train`."""
    if model.objective is not None:
        return select_pairs(model, statistics, k, limits)
    return solve(model.family, statistics, k, limits)


def model_path(model: Model[S], statistics: S, ks: Any = None) -> SparsityPath:
    """Select by the objective of the model for a whole grid of k; see `path`."""
    if model.objective is not None:
        return pairs_path(model, statistics, ks)
    return path(model.family, statistics, ks)


def is_auto(k: object) -> bool:
    """Whether the number of features is to be chosen by cross-validation."""
    return isinstance(k, str) and k == "auto"


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
            warnings.warn(
                f"`k`={k} is greater than n_features={n_features}: all features are used.",
                UserWarning,
                stacklevel=4,
            )
        return min(int(k), n_features)
    if isinstance(k, Real) and not isinstance(k, Integral) and 0 < float(k) <= 1:
        return max(round(float(k) * n_features), 1)
    if is_auto(k):
        raise ValueError(
            "`k`='auto' is chosen by cross-validation, which needs all rows at once: use `fit`, or "
            "give a number."
        )
    raise ValueError(
        f"`k` must be an int in [0, {n_features}] (n_features={n_features}), a fraction in "
        f"(0, 1], 'all' or 'auto'; got {k!r}."
    )
