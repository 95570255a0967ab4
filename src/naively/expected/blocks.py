"""A law as blocks of outcomes, equal blocks once; and where its sums lie."""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np

from naively._types import FloatArray, IntArray
from naively.expected.log_odds import LogOdds, compact

_OUTSIDE = math.log(1e-15)


@dataclass(frozen=True, slots=True)
class Block:
    """Outcomes of a block, and how many equal blocks there are."""

    value: FloatArray  # nats
    probability: FloatArray  # positive, sums to 1
    times: int

    @property
    def variance(self) -> float:
        """Variance of one draw of one of the blocks."""
        mean = self.probability @ self.value
        return float(self.probability @ np.square(self.value - mean))


def blocks_of(law: LogOdds) -> list[Block]:
    """Blocks of a law, equal ones once."""
    if len(law.value) == 1:
        return [Block(*compact(law), times=1)]
    rows, times = np.unique(np.hstack([law.value, law.probability]), axis=0, return_counts=True)
    blocks = []
    for row, count in zip(rows, times.tolist(), strict=True):
        value, probability = np.split(row, 2)
        keep = probability > 0
        blocks.append(Block(value[keep], probability[keep], count))
    return blocks


def heaviest_sum(blocks: list[Block], length: int) -> float:
    """Probability that every draw has its most probable outcome."""
    logs = (block.times * math.log(block.probability.max()) for block in blocks)
    return math.exp(length * sum(logs))


def span(blocks: list[Block], lengths: IntArray) -> tuple[float, float]:
    """Interval that all sums leave with a probability under 1e-15 (Chernoff's bound)."""
    spread = sum(b.times * b.variance for b in blocks)
    slopes = np.geomspace(0.05, 100.0, 40) / math.sqrt(float(lengths.max()) * spread)
    high = min(float(np.min(_bound(blocks, lengths, slopes))), _extreme(blocks, lengths, 1))
    low = max(float(np.max(_bound(blocks, lengths, -slopes))), -_extreme(blocks, lengths, -1))
    return min(low, 0.0), max(high, 0.0)


def _extreme(blocks: list[Block], lengths: IntArray, sign: int) -> float:
    """Largest sum (sign 1), or minus the smallest one (sign -1)."""
    one = sum(block.times * float((sign * block.value).max()) for block in blocks)
    return max(one * float(lengths.min()), one * float(lengths.max()))


def _bound(blocks: list[Block], lengths: IntArray, slopes: FloatArray) -> FloatArray:
    """Chernoff's bounds, one for each slope (40,): upper ones for positive slopes."""
    cumulant = np.zeros_like(slopes)
    for block in blocks:
        exponent = np.multiply.outer(slopes, block.value)
        shift = exponent.max(axis=1)
        one = shift + np.log(np.exp(exponent - shift[:, None]) @ block.probability)
        cumulant += block.times * one
    sums = np.multiply.outer(lengths.astype(np.float64), cumulant)
    bounds = (sums - _OUTSIDE) / slopes
    return np.asarray(bounds.max(axis=0) if slopes[0] > 0 else bounds.min(axis=0))
