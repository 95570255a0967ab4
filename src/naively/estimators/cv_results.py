"""What a cross-validation found, as a table of scikit-learn's shape."""

from __future__ import annotations

from typing import Any

import numpy as np
from scipy.stats import rankdata

from naively._types import Array, FloatArray
from naively.judging.curves import Curve, Settings


def results_table(curves: list[Curve]) -> dict[str, Any]:
    """Return the curves, one after the other, as `cv_results_`; times are shares of a pass."""
    scores = np.concatenate([curve.scores for curve in curves], axis=1)
    params = [{**curve.settings, "k": int(k)} for curve in curves for k in curve.k]
    table: dict[str, Any] = {}
    for part in ("fit", "score"):
        seconds = np.concatenate([_shares(curve, f"{part}_seconds") for curve in curves], axis=1)
        table[f"mean_{part}_time"] = seconds.mean(axis=0)
        table[f"std_{part}_time"] = seconds.std(axis=0)
    for name in dict.fromkeys(name for each in params for name in each):
        table[f"param_{name}"] = _column(params, name)
    table["params"] = params
    for t, row in enumerate(scores):
        table[f"split{t}_test_score"] = row
    mean = scores.mean(axis=0)
    table["mean_test_score"] = mean
    table["std_test_score"] = scores.std(axis=0)
    last = np.nanmin(mean, initial=0.0) - 1.0  # what has no score ranks last, as in scikit-learn
    ranks = rankdata(-np.where(np.isnan(mean), last, np.round(mean, 12)), method="min")
    table["rank_test_score"] = ranks.astype(np.int32)
    return table


def _shares(curve: Curve, name: str) -> FloatArray:
    """Seconds of each fold and candidate, (T, G): all candidates share a pass equally."""
    per_candidate = getattr(curve, name) / len(curve.k)
    return np.repeat(per_candidate[:, None], len(curve.k), axis=1)


def _column(params: list[Settings], name: str) -> Array:
    """Values of one parameter, masked where a candidate does not have it."""
    present = [name in each for each in params]
    values: Array = np.empty(len(params), dtype=np.int64 if name == "k" else object)
    for i, each in enumerate(params):
        if present[i]:
            values[i] = each[name]
    if name == "alpha" and all(present) and all(np.ndim(value) == 0 for value in values):
        values = values.astype(np.float64)
    return np.ma.MaskedArray(values, mask=~np.array(present))
