"""Weights of rows."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np

from naively._types import Array, FloatArray


def check_weights(sample_weight: Any, n_rows: int) -> FloatArray | None:
    """Return the weights of the rows as float64, or None where all are equal by default.

    Raises
    ------
    ValueError
        If there is not one finite weight >= 0 per row, or none is positive.
    """
    if sample_weight is None:
        return None
    weights = np.asarray(sample_weight, dtype=np.float64)
    if weights.ndim == 0:
        weights = np.full(n_rows, weights)
    if weights.shape != (n_rows,):
        raise ValueError(
            f"`sample_weight` must have one weight per row, shape ({n_rows},); got shape "
            f"{weights.shape}."
        )
    if not np.isfinite(weights).all():
        raise ValueError(
            f"`sample_weight` must be finite; got {weights[~np.isfinite(weights)][0]} at row "
            f"{np.flatnonzero(~np.isfinite(weights))[0]}."
        )
    if (weights < 0).any():
        raise ValueError(
            f"Negative values in data passed to `sample_weight`: {weights[weights < 0][0]} at row "
            f"{np.flatnonzero(weights < 0)[0]}; weights must be >= 0."
        )
    if n_rows and not weights.any():
        raise ValueError("`sample_weight` must have a positive weight; all are zero.")
    return weights


def class_weights(class_weight: Any, classes: Array, total: Array) -> FloatArray | None:
    """Return how much more the rows of each class weigh, (C,); None where nothing changes.

    Parameters
    ----------
    class_weight : "balanced", mapping or None
        All classes the same, or the weight of each label; 1 for those that it has not.
    classes, total : (C,)
        Labels, and weight of the rows of each.

    Raises
    ------
    ValueError
        If it is none of these, or a weight is no finite number > 0.
    """
    if class_weight is None:
        return None
    if isinstance(class_weight, str) and class_weight == "balanced":
        share = np.asarray(total, dtype=np.float64) / (float(np.sum(total)) or 1.0)
        equal = np.where(share > 0, share * np.count_nonzero(share), 1.0)
        return np.asarray(1.0 / equal)
    if not isinstance(class_weight, Mapping):
        raise ValueError(
            f"`class_weight` must be 'balanced' or a dict of label: weight; got {class_weight!r}."
        )
    labels = classes.tolist()
    for label, weight in class_weight.items():
        if label not in labels:
            raise ValueError(f"`class_weight` has label {label!r}, which is no class: {labels}.")
        if not np.isfinite(weight) or weight <= 0:
            raise ValueError(
                f"`class_weight` must hold finite weights > 0; got {weight!r} for {label!r}."
            )
    return np.array([float(class_weight.get(label, 1.0)) for label in labels])
