"""Pipelines whose last step is a classifier of ours: its parameters are those of the pipeline."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from sklearn.base import clone
from sklearn.pipeline import Pipeline


def is_pipeline(estimator: object) -> bool:
    """Whether an estimator is a pipeline."""
    return isinstance(estimator, Pipeline)


def last_step(estimator: Any) -> Any:
    """Return the last step of a pipeline, or an estimator itself."""
    return estimator.steps[-1][1] if is_pipeline(estimator) else estimator


def with_params(estimator: Any, values: Mapping[str, Any]) -> Any:
    """Return a copy with some parameters, of its last step if it is a pipeline."""
    prefix = f"{estimator.steps[-1][0]}__" if is_pipeline(estimator) else ""
    return clone(estimator).set_params(**{f"{prefix}{name}": v for name, v in values.items()})
