"""Weights of rows."""

from __future__ import annotations

from typing import Any

import numpy as np

from naively._types import FloatArray


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
