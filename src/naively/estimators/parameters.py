"""Checks of constructor parameters, done in `fit` as scikit-learn asks."""

from __future__ import annotations

import warnings
from numbers import Integral, Real
from typing import Any

import numpy as np


def is_auto(k: Any) -> bool:
    """Whether the number of features is to be chosen by cross-validation."""
    return isinstance(k, str) and k == "auto"


def resolve_k(k: Any, n_features: int) -> int:
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
