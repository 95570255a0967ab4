"""A rule as JSON: all of it, whatever its kind."""

from __future__ import annotations

import json
from typing import Any

import numpy as np

from naively.exports.decision import Decision
from naively.models.value_rules import kind_of


def text(decision: Decision) -> str:
    """Return the JSON text; see `docs/howto/export.md` for the schema."""
    described = {
        "format": "naively rule",
        "version": 1,
        "model": decision.model,
        "classes": list(decision.classes),
        "features": [
            {"name": name, "column": column}
            for name, column in zip(decision.names, decision.columns, strict=True)
        ],
        "named": decision.named,
        "n_features": decision.n_features,
        "threshold": decision.threshold,
        "missing": decision.missing,
        "exposure": decision.exposure,
        "probabilities": decision.posterior,
        "rule": kind_of(decision.rule),
        "arrays": {name: _numbers(each.tolist()) for name, each in decision.rule.arrays().items()},
        **decision.more,
    }
    return json.dumps(described, indent=1, allow_nan=False) + "\n"


def _numbers(value: Any) -> Any:
    """Return lists of numbers, with null for -inf, which JSON does not have."""
    if isinstance(value, list):
        return [_numbers(each) for each in value]
    return None if isinstance(value, float) and np.isneginf(value) else value
