"""How far answers agree with the truth, from the rows of each pair (truth, answer)."""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Mapping
from dataclasses import dataclass

_NORMAL_95 = 1.959963984540054  # normal quantile of a 95 % interval


@dataclass(frozen=True, slots=True)
class Agreement:
    """What some rows, one at least, say of the answers to them."""

    rows: int
    accuracy: float
    low: float  # of an interval that holds the true accuracy in about 95 of 100 such tests
    high: float
    balanced_accuracy: float  # mean recall over the classes that occur
    macro_f1: float  # mean over the labels that occur or are answered


def agreement(pairs: Mapping[tuple[str, str], int]) -> Agreement:
    """Return the agreement of rows (truth, answer), so many each; there is one at least."""
    truths, answers = Counter[str](), Counter[str]()
    for (truth, answer), n in pairs.items():
        truths[truth] += n
        answers[answer] += n
    right = {name: pairs.get((name, name), 0) for name in sorted({*truths, *answers})}
    n = truths.total()
    low, high = share_interval(sum(right.values()), n)
    return Agreement(
        rows=n,
        accuracy=sum(right.values()) / n,
        low=low,
        high=high,
        balanced_accuracy=_mean([right[name] / rows for name, rows in truths.items()]),
        macro_f1=_mean([2 * k / (truths[name] + answers[name]) for name, k in right.items()]),
    )


def _mean(values: list[float]) -> float:
    return math.fsum(values) / len(values)


def share_interval(some: int, n: int) -> tuple[float, float]:
    """Range that holds the true share in about 95 of 100 samples of n (Wilson 1927)."""
    p, z2 = some / n, _NORMAL_95**2
    middle = (p + z2 / (2 * n)) / (1 + z2 / n)
    half = _NORMAL_95 * math.sqrt(p * (1 - p) / n + z2 / (4 * n * n)) / (1 + z2 / n)
    return min(max(middle - half, 0.0), p), max(min(middle + half, 1.0), p)
