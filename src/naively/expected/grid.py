"""Any law on a fine grid, by FFT.

Sums are counted from the one in which every draw has its most probable outcome (of a document: no
selected feature). Values are rounded to the grid, and the distribution is a product of powers of
the transforms of the parts. Rounding cannot tell a heavy sum just beside the threshold from one
on it; so sums with at most two draws of other outcomes, where the weight is, are taken out of the
grid and judged exactly. What is left around the threshold is smeared over a few points: ties are
told from the smooth background by what these points hold beyond their neighbours.
"""

from __future__ import annotations

import math
from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np
from numpy import fft

from naively._types import Array, FloatArray, IntArray
from naively.expected.blocks import Block
from naively.expected.log_odds import LogOdds

GRID_OF_DRAWS = 2**17
GRID_OF_BLOCKS = 2**14  # many different blocks: as many transforms
_WINDOW = 5.0  # deviations of the rounding error that a smeared tie can spread over
_FEW_OUTCOMES = 500  # up to which pairs of them are judged exactly
_NEGLIGIBLE = 1e-12


@dataclass(frozen=True, slots=True)
class _Centred:
    """Blocks counted from their most probable outcomes, and all other outcomes in one list."""

    blocks: list[Block]
    origin: float  # nats, sum of the most probable outcomes of one draw
    log_origin: float  # their log probability
    value: FloatArray  # (D,) other outcomes, nats beyond the most probable one
    odds: FloatArray  # (D,) their probability relative to it
    block: IntArray  # (D,) which block they belong to

    def few(
        self, lengths: IntArray, weights: FloatArray
    ) -> tuple[list[IntArray], list[FloatArray]]:
        """List sums with none, one or two other outcomes: members, and masses over the lengths."""
        none = weights * np.exp(lengths * self.log_origin)
        once, twice = float(none @ lengths), float(none @ np.square(lengths))
        one = self.odds * np.array([block.times for block in self.blocks])[self.block]
        members = [np.empty((1, 0), np.int64), np.arange(len(one))[:, None]]
        masses = [none.sum(keepdims=True), one * once]
        if once > 0 and len(one) <= _FEW_OUTCOMES:
            # Of n t draws of equal blocks, the second one has one draw less to come from.
            same = self.block[:, None] == self.block
            pair = np.outer(one, one) * twice - np.where(same, np.outer(one, self.odds) * once, 0.0)
            members.append(np.indices(pair.shape).reshape(2, -1).T)
            masses.append(pair.ravel() / 2)
        return members, masses


def _centred(blocks: list[Block]) -> _Centred:
    centred, origin, log_origin = [], 0.0, 0.0
    values, odds, owners = [], [], []
    for b, block in enumerate(blocks):
        top = int(np.argmax(block.probability))
        value, p = block.value - block.value[top], block.probability
        others = np.arange(len(p)) != top
        origin += block.times * float(block.value[top])
        log_origin += block.times * math.log(p[top])
        centred.append(Block(value, p, block.times))
        values.append(value[others])
        odds.append(p[others] / p[top])
        owners.append(np.full(int(others.sum()), b))
    lists = (np.concatenate(part) for part in (values, odds, owners))
    return _Centred(centred, origin, log_origin, *lists)


def grid_tail(
    law: LogOdds,
    blocks: list[Block],
    lengths: IntArray,
    weights: FloatArray,
    span: tuple[float, float],
) -> tuple[float, float]:
    """Weighted probabilities over the lengths (L,) that the sum exceeds, or meets, the threshold.

    Parameters
    ----------
    law : LogOdds
        For the threshold.
    blocks : list of Block
        The law.
    lengths, weights : ndarray of shape (L,)
        Draws, ascending, and weight of each number of draws.
    span : pair of float
        Interval that holds all sums but a negligible part.
    """
    centred = _centred(blocks)
    size = GRID_OF_DRAWS if len(blocks) == 1 else GRID_OF_BLOCKS
    step = (span[1] - span[0]) / (size - 4)
    if centred.origin == 0 and abs(law.threshold) >= step:
        # Ties of all lengths meet one threshold: let it be a point of the grid.
        step = abs(law.threshold) / math.floor(abs(law.threshold) / step)
    grid = _Grid(centred, step, size, span[0])
    parts = zip(weights, running_powers(grid.transform(), lengths), strict=True)
    if centred.origin == 0:
        # Sums of all lengths are counted from the same origin: one transform back for all.
        return grid.tail(sum(w * power for w, power in parts), lengths, weights, law)
    above, tie = 0.0, 0.0
    for position, (weight, power) in enumerate(parts):
        one = slice(position, position + 1)
        tails = grid.tail(weight * power, lengths[one], weights[one], law)
        above, tie = above + tails[0], tie + tails[1]
    return above, tie


@dataclass(frozen=True, slots=True)
class _Grid:
    """Sums beyond the origin on multiples of a step."""

    law: _Centred
    step: float  # nats
    size: int  # points
    low: float  # nats, below all sums (origin included)

    def points(self, value: FloatArray) -> IntArray:
        """Nearest multiples of the step."""
        return np.rint(value / self.step).astype(np.int64)

    def transform(self) -> Array:
        """Transform of the rounded law of one draw."""
        one = np.ones(self.size // 2 + 1, dtype=np.complex128)
        for block in self.law.blocks:
            point = self.points(block.value) % self.size
            part = fft.rfft(np.bincount(point, block.probability, self.size))
            one *= integer_power(part, block.times)
        return one

    def rounding(self, lengths: IntArray, weights: FloatArray) -> tuple[float, float]:
        """Mean, and deviation at most, in points, of the rounding error of a sum."""
        mean, square = 0.0, 0.0
        for block in self.law.blocks:
            error = np.rint(block.value / self.step) - block.value / self.step
            mean += block.times * float(block.probability @ error)
            square += block.times * float(block.probability @ np.square(error))
        average = float(weights @ lengths / weights.sum())
        return average * mean, math.sqrt(float(lengths.max()) * square)

    def tail(
        self, transform: Array, lengths: IntArray, weights: FloatArray, law: LogOdds
    ) -> tuple[float, float]:
        """Weighted probability beyond and at the threshold, from the transform of the sum.

        The lengths are one, or any number if the origin is zero.
        """
        origin = int(lengths[0]) * self.law.origin
        distance, tolerance = law.threshold - origin, law.tolerance()
        start = math.floor((self.low - origin) / self.step) - 1
        mass = np.roll(fft.irfft(transform, self.size), -(start % self.size))
        above, tie = 0.0, 0.0
        for members, probability in zip(*self.law.few(lengths, weights), strict=True):
            if probability.sum() > _NEGLIGIBLE:
                value = self.law.value[members].sum(axis=1)
                above += float(probability[value > distance + tolerance].sum())
                tie += float(probability[np.abs(value - distance) <= tolerance].sum())
                point = self.points(self.law.value)[members].sum(axis=1) - start
                mass -= np.bincount(point % self.size, probability, self.size)
        at = distance / self.step - start
        rest = self._smeared(np.maximum(mass, 0.0), at, *self.rounding(lengths, weights))
        return above + rest[0], tie + rest[1]

    def _smeared(
        self, mass: FloatArray, at: float, drift: float, spread: float
    ) -> tuple[float, float]:
        """Probability beyond and at position `at` of the rounded sums."""
        centre = round(at)
        w = math.ceil(_WINDOW * spread + abs(drift)) if spread > 1e-6 else 0
        right = _slice_sum(mass, centre + w + 1, self.size)
        inside = _slice_sum(mass, centre - w, centre + w + 1)
        if w == 0:
            exact = abs(at - centre) < 1e-6
            return (right, inside) if exact else (right + inside * (centre > at), 0.0)
        beside = _slice_sum(mass, centre - 3 * w - 1, centre - w)
        beside += _slice_sum(mass, centre + w + 1, centre + 3 * w + 2)
        tie = max(inside - beside / 2, 0.0)
        share = (w + 0.5 - drift - (at - centre)) / (2 * w + 1)
        return right + (inside - tie) * min(max(share, 0.0), 1.0), tie


def _slice_sum(mass: FloatArray, start: int, stop: int) -> float:
    return float(mass[max(start, 0) : max(stop, 0)].sum())


def running_powers(base: Array, exponents: IntArray) -> Iterator[Array]:
    """Powers of a base to ascending exponents, each from the one before."""
    power, done = np.ones_like(base), 0
    for exponent in exponents.tolist():
        power = power * integer_power(base, exponent - done)
        done = exponent
        yield power


def integer_power(base: Array, exponent: int) -> Array:
    """Return base ** exponent by squaring, many times faster than complex powers."""
    power = np.ones_like(base)
    while exponent:
        if exponent & 1:
            power = power * base
        exponent >>= 1
        base = base * base if exponent else base
    return power
