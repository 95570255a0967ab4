"""What a model is to the rest of the package: a record of functions of its statistics.

A family says how much each feature gains the likelihood when its parameters may differ between
the classes ("free") instead of agreeing ("pooled"), and which decision rule follows from a set of
free features. Which features to free is the business of :mod:`naively.selection`.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Generic, TypeVar

from naively._types import FloatArray, IntArray
from naively.families.rules import Rule

S = TypeVar("S")


@dataclass(frozen=True, slots=True)
class Family(Generic[S]):
    """One model, its parameters (smoothing and the like) already bound."""

    name: str
    gain: Callable[[S], FloatArray]  # (m,) nats: best value with feature i free minus pooled
    baseline: Callable[[S], float]  # nats: the objective with every feature pooled
    rule: Callable[[S, IntArray, FloatArray], Rule]  # statistics, support (k,), log prior (C,)
    # Smoothed counts (m, C) whose class totals tie the features together (multinomial), or None:
    # then the gains add up and the k largest are the optimum.
    coupled_counts: Callable[[S], FloatArray] | None = None
