"""Models: one file each, a record of functions of its statistics. `MODELS` has one row a model."""

from naively.models.kinds import MODELS

__all__ = ["MODELS"]
