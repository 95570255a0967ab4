"""Answer a class only where its log-odds reach a threshold, for a wanted precision or recall.

The threshold is that of the most rows for a precision: the least one at which, of the rows that
reach it, the share wanted is of the class; and the greatest one for a recall, at which the share
wanted of the rows of the class reaches it. Elsewhere the best of the other classes is the answer.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal, TypeAlias

import numpy as np

from naively._types import FloatArray, IntArray
from naively.models.rules import winners

_STEPS = 1e6  # of thresholds in a nat

Goal: TypeAlias = Literal["precision", "recall"]


@dataclass(frozen=True, slots=True)
class Wanted:
    """What is wanted of a class."""

    name: str
    goal: Goal
    share: float  # in (0, 1]


@dataclass(frozen=True, slots=True)
class Reached:
    """What a threshold does on some rows."""

    called: int  # rows that reach it
    right: int  # of these, rows of the class
    members: int  # rows of the class

    def __add__(self, other: Reached) -> Reached:
        """Add what it does on other rows."""
        return Reached(
            self.called + other.called, self.right + other.right, self.members + other.members
        )

    def of(self, goal: Goal) -> tuple[int, int]:
        """Return some rows of how many: their share is the precision, or the recall."""
        return self.right, (self.called if goal == "precision" else self.members)


def log_odds(scores: FloatArray, code: int) -> FloatArray:
    """Log-odds (n,) of a class against all others, from scores (n, C), in nats."""
    others = np.delete(scores, code, axis=1)
    most = others.max(axis=1)
    most = np.where(np.isfinite(most), most, 0.0)
    with np.errstate(divide="ignore", invalid="ignore"):
        rest = most + np.log(np.exp(others - most[:, None]).sum(axis=1))
        odds = scores[:, code] - rest
    return np.where(np.isnan(odds), -np.inf, odds)  # both are ruled out


def answers_at(scores: FloatArray, code: int, threshold: float) -> IntArray:
    """Return codes (n,) of the answers with a threshold for one of the classes."""
    others = scores.copy()
    others[:, code] = -np.inf
    fallback = winners(others)
    fallback = np.where(fallback == code, int(code == 0), fallback)
    return np.where(log_odds(scores, code) >= threshold, code, fallback)


def threshold_for(
    odds: FloatArray, rows: IntArray, members: IntArray, wanted: Wanted
) -> float | None:
    """Return the threshold for what is wanted; None if no threshold reaches it.

    Parameters
    ----------
    odds : (B,)
        Log-odds of the class, of single rows or of rows taken together.
    rows, members : (B,)
        How many rows have each, and how many of them are of the class.
    wanted
        Of the class.
    """
    distinct, which = np.unique(-odds, return_inverse=True)
    called = np.cumsum(np.bincount(which, rows, len(distinct)))
    right = np.cumsum(np.bincount(which, members, len(distinct)))
    if not len(distinct) or not right[-1]:
        return None
    of = called if wanted.goal == "precision" else right[-1]
    reached = np.flatnonzero((right >= wanted.share * of - 1e-9) & (right > 0))
    if not len(reached):
        return None
    least = -distinct[reached[-1 if wanted.goal == "precision" else 0]]
    return float(np.floor(least * _STEPS) / _STEPS)  # not above it, and short enough to be typed


def reached_by(odds: FloatArray, rows: IntArray, members: IntArray, threshold: float) -> Reached:
    """Return what a threshold does on rows, see `threshold_for`."""
    called = odds >= threshold
    return Reached(int(rows[called].sum()), int(members[called].sum()), int(members.sum()))
