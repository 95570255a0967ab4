"""What a search is given by others, checked before anything is computed from it."""

from __future__ import annotations

import inspect
from collections.abc import Callable, Iterable
from numbers import Real
from typing import Any

import numpy as np
from numpy.typing import ArrayLike
from sklearn.base import ClassifierMixin
from sklearn.metrics import check_scoring

from naively._types import FloatArray, IntArray
from naively.judging.folds import Splits
from naively.statistics.weights import check_weights


def one_scorer(estimator: ClassifierMixin, scoring: object) -> Callable[..., float]:
    """Return the scorer that `scoring` asks for.

    Raises
    ------
    ValueError
        If it asks for several, or for something that scikit-learn does not know.
    """
    if isinstance(scoring, list | tuple | set | dict):
        raise ValueError(
            "`scoring` must be one metric (a name, a scorer or a function), since one of them has "
            f"to choose; got {scoring!r}."
        )
    return check_scoring(estimator, scoring=scoring)


def check_takes_weights(scorer: Callable[..., float], scoring: object) -> None:
    """Raise TypeError if a function has no place for the weights of the rows it judges."""
    judge = getattr(scorer, "_score_func", scorer)  # of a scorer: the metric
    if not inspect.isfunction(judge):
        return
    parameters = inspect.signature(judge).parameters
    takes_any = any(each.kind is each.VAR_KEYWORD for each in parameters.values())
    if "sample_weight" not in parameters and not takes_any:
        raise TypeError(
            "`scoring` must take `sample_weight`, since weights were given and count in the scores "
            f"too; {scoring!r} does not. Add the parameter, or say with metadata routing that the "
            "weights are for training alone."
        )


def as_score(value: Any) -> float:
    """Return what a scorer gave as a number.

    Raises
    ------
    TypeError
        If it is none.
    """
    if not isinstance(value, Real) and not (np.ndim(value) == 0 and hasattr(value, "dtype")):
        raise TypeError(f"`scoring` must return a number; got {value!r}.")
    return float(value)


def checked_splits(splits: Iterable[tuple[ArrayLike, ArrayLike]], n: int) -> Splits:
    """Divisions of n rows as arrays of indices; they may be masks.

    Raises
    ------
    ValueError
        If there is none, or one that cannot be trained or judged on.
    """
    checked = [
        (
            _indices(train, n, f"training rows of division {t}"),
            _indices(test, n, f"rows to judge of division {t}"),
        )
        for t, (train, test) in enumerate(splits)
    ]
    if not checked:
        raise ValueError("`cv` must give at least one division of the rows; it gave none.")
    return checked


def _indices(rows: ArrayLike, n: int, what: str) -> IntArray:
    found = np.asarray(rows)
    masked = found.dtype.kind == "b" and found.shape == (n,)
    if found.ndim != 1 or found.size == 0 or not (masked or found.dtype.kind in "iu"):
        raise ValueError(
            f"`cv` must give indices or a mask of at least one of the {n} rows; the {what} are "
            f"{rows!r}."
        )
    if not masked and not (-n <= found.min() and found.max() < n):
        raise ValueError(
            f"`cv` must give indices below {n} (n_samples={n}); the {what} are {rows!r}."
        )
    return np.asarray(np.arange(n)[found])


def check_split_weights(weight: ArrayLike | None, splits: Splits, part: int, n: int) -> None:
    """Raise ValueError if the rows of a part (0: to train on, 1: to judge) have no weight."""
    weights = check_weights(weight, n)
    if weights is None:
        return
    for t, division in enumerate(splits):
        if not weights[division[part]].any():
            which = ("training rows", "rows to judge")[part]
            raise ValueError(
                f"`sample_weight` must leave weight in every part of every division; the {which} "
                f"of division {t} have none. Drop rows of weight 0, or divide otherwise (`cv`)."
            )


def checked_alphas(alphas: float | Iterable[ArrayLike]) -> list[float | FloatArray]:
    """Return smoothings as a list: floats, or arrays with a value for each feature.

    Raises
    ------
    ValueError
        If there is none, or one is not a number.
    """
    try:
        values = list(alphas) if isinstance(alphas, Iterable) else [alphas]
        checked = [np.asarray(value, dtype=np.float64) for value in values]
    except (TypeError, ValueError) as error:
        raise ValueError(f"`alphas` must be numbers; got {alphas!r}.") from error
    if not checked:
        raise ValueError("`alphas` must have at least one value, or be None; got [].")
    return [float(value) if value.ndim == 0 else value for value in checked]
