"""Where displays draw."""

from __future__ import annotations

from typing import Any

import numpy as np

from naively._types import Array


def axes(ax: Any = None) -> Any:
    """Return the axes given, or those of a new figure.

    Raises
    ------
    ImportError
        If matplotlib is not installed.
    """
    if ax is not None:
        return ax
    try:
        from matplotlib import pyplot
    except ImportError as error:
        raise ImportError(
            "Plots need matplotlib, which is not installed: pip install 'naively[plot]'."
        ) from error
    return pyplot.subplots(layout="constrained")[1]  # a plain `savefig` cuts no label off


def fitted_model(estimator: Any) -> Any:
    """Return a fitted classifier: the best of a search.

    Raises
    ------
    NotFittedError
        If it is not fitted.
    """
    from sklearn.utils.validation import check_is_fitted  # the command draws without it

    check_is_fitted(estimator)
    return getattr(estimator, "best_estimator_", estimator)


def names_of(given: Any, n_features: int) -> Array:
    """Return the names of features: x0, x1, ... if none are given.

    Raises
    ------
    ValueError
        If they are not as many as features.
    """
    names = np.asarray(
        [f"x{i}" for i in range(n_features)] if given is None else given, dtype=object
    )
    if names.shape != (n_features,):
        raise ValueError(
            f"`feature_names` must have one name for each of the {n_features} features; got shape "
            f"{names.shape}."
        )
    return names


def plain(name: Any) -> str:
    """Return a name as text: dollar signs are no formula, long names are cut."""
    text = "".join(c if c.isprintable() else "�" for c in str(name))
    text = text if len(text) <= 30 else text[:29] + "…"
    return text.replace("$", r"\$")
