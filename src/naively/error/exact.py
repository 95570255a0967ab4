"""The distribution of the log-odds, computed.

Three ways, the first that applies:

1. Few distinct sums (few outcomes, short documents, log-odds on a lattice): atom by atom, ties and
   all, exact to rounding.
2. A smooth law, whose characteristic function dies out: its Fourier series over an interval that
   holds all but 1e-15 of the probability. Sums that meet the threshold have no weight.
3. Else a fine grid: values of one draw are rounded to its points, and the distribution of the sum
   is a product of powers of transforms of the parts (FFT). Zero and the threshold lie on the grid,
   so that the ties which matter most (a row without any selected feature; opposite log-odds that
   cancel) stay exact. Other ties are smeared by the rounding over a few points around the
   threshold: they are told from the smooth background by what these points hold beyond their
   neighbours.
"""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np
from scipy import fft

from naively._types import Array, FloatArray, IntArray
from naively.error.log_odds import LogOdds, compact, merge_atoms

_OUTSIDE = math.log(1e-15)
_FEW_ATOMS = 4_000  # distinct sums that are still kept one by one
_FEW_PAIRS = 50_000  # products in one convolution of atoms
_NEGLIGIBLE = 1e-18
_FREQUENCIES = 128  # of the Fourier series, computed at a time
_MOST_FREQUENCIES = 2048  # a law that is not smooth by then goes to the grid
_GRID_OF_DRAWS = 2**17
_GRID_OF_BLOCKS = 2**14  # many different blocks: as many transforms
_WINDOW = 5.0  # deviations of the rounding error that a smeared tie can spread over


@dataclass(frozen=True, slots=True)
class _Block:
    """Outcomes of a block, and how many equal blocks there are."""

    value: FloatArray  # nats
    probability: FloatArray  # positive, sums to 1
    times: int


Atoms = tuple[FloatArray, FloatArray]  # values and probabilities


def exact_tail(law: LogOdds, lengths: FloatArray, weights: FloatArray) -> tuple[float, float]:
    """Weighted probabilities over the lengths (L,) that the sum exceeds, or meets, the threshold.

    Lengths are rounded to integers.
    """
    draws = np.rint(lengths).astype(np.int64)
    blocks = _blocks(law)
    above, tie = 0.0, 0.0
    for group in _octaves(draws):
        used = group[weights[group] > 0]
        if len(used):
            tails = _group_tail(law, blocks, draws[used], weights[used])
            above, tie = above + tails[0], tie + tails[1]
    return above, tie


def _blocks(law: LogOdds) -> list[_Block]:
    """Blocks of a law, equal ones once."""
    if len(law.value) == 1:
        return [_Block(*compact(law), times=1)]
    rows, times = np.unique(np.hstack([law.value, law.probability]), axis=0, return_counts=True)
    blocks = []
    for row, count in zip(rows, times.tolist(), strict=True):
        value, probability = np.split(row, 2)
        keep = probability > 0
        blocks.append(_Block(value[keep], probability[keep], count))
    return blocks


def _octaves(lengths: IntArray) -> list[IntArray]:
    """Positions of lengths that share a grid: within a factor of two; zero on its own."""
    key = np.where(lengths > 0, np.frexp(np.maximum(lengths, 1).astype(np.float64))[1], 0)
    return [np.flatnonzero(key == value) for value in np.unique(key)]


def _group_tail(
    law: LogOdds, blocks: list[_Block], lengths: IntArray, weights: FloatArray
) -> tuple[float, float]:
    atoms = _few_atoms(blocks, lengths)
    if atoms is not None:
        above, tie = weights @ np.array([_atom_tail(law, *total) for total in atoms])
        return float(above), float(tie)
    low, high = _span(blocks, lengths)
    tolerance = law.tolerance()
    if not low - tolerance <= law.threshold <= high + tolerance:
        return float(weights.sum()) * (law.threshold < low), 0.0
    smooth = _fourier_tail(law, blocks, lengths, weights, (low, high))
    return smooth or _grid_tail(law, blocks, lengths, weights, (low, high))


# Few atoms: exact sums --------------------------------------------------------------------------


def _atom_tail(law: LogOdds, value: FloatArray, probability: FloatArray) -> tuple[float, float]:
    tolerance = law.tolerance()
    above = float(probability[value > law.threshold + tolerance].sum())
    return above, float(probability[np.abs(value - law.threshold) <= tolerance].sum())


def _few_atoms(blocks: list[_Block], lengths: IntArray) -> list[Atoms] | None:
    """Atoms of the sum for each length, or None if any has too many; the longest is tried first."""
    if _sum_of_blocks(blocks, int(lengths.max())) is None:
        return None
    sums = [_sum_of_blocks(blocks, int(length)) for length in lengths]
    known = [total for total in sums if total is not None]
    return known if len(known) == len(sums) else None


def _sum_of_blocks(blocks: list[_Block], length: int) -> Atoms | None:
    """Atoms of the sum, or None when they become too many."""
    total: Atoms | None = (np.zeros(1), np.ones(1))
    for block in blocks:
        part = _power((block.value, block.probability), block.times * length)
        total = _convolve(total, part)
        if total is None:
            break
    return total


def _power(atoms: Atoms, n: int) -> Atoms | None:
    """Atoms of the sum of n independent draws, by squaring; None when they become too many."""
    total: Atoms | None = (np.zeros(1), np.ones(1))
    square: Atoms | None = atoms
    while n and total is not None:
        if n & 1:
            total = _convolve(total, square)
        n >>= 1
        square = _convolve(square, square) if n else square
    return total


def _convolve(left: Atoms | None, right: Atoms | None) -> Atoms | None:
    if left is None or right is None or len(left[0]) * len(right[0]) > _FEW_PAIRS:
        return None
    value = np.add.outer(left[0], right[0]).ravel()
    value, probability = merge_atoms(value, np.multiply.outer(left[1], right[1]).ravel())
    keep = probability > _NEGLIGIBLE
    return (value[keep], probability[keep]) if keep.sum() <= _FEW_ATOMS else None


# A smooth law: its Fourier series ---------------------------------------------------------------


def _fourier_tail(
    law: LogOdds,
    blocks: list[_Block],
    lengths: IntArray,
    weights: FloatArray,
    span: tuple[float, float],
) -> tuple[float, float] | None:
    """Tail from the Fourier series of the density over the span; None if it does not die out."""
    low, high = span
    period = high - low
    above = float(weights.sum()) * (high - law.threshold) / period
    for first in range(1, _MOST_FREQUENCIES, _FREQUENCIES):
        frequency = np.asarray(np.arange(first, first + _FREQUENCIES) * (2 * np.pi / period))
        mixture = _characteristic(blocks, lengths, weights, frequency)
        edges = np.exp(-1j * frequency * high) - np.exp(-1j * frequency * law.threshold)
        above += 2 / period * float(np.real(mixture * edges * 1j / frequency).sum())
        if np.abs(mixture[-_FREQUENCIES // 2 :]).max() < 1e-16:
            return min(max(above, 0.0), float(weights.sum())), 0.0
        if np.abs(mixture).max() > 0.5 ** (first / _FREQUENCIES):
            return None  # far too slow to die out in time
    return None


def _characteristic(
    blocks: list[_Block], lengths: IntArray, weights: FloatArray, frequency: FloatArray
) -> Array:
    """Characteristic function of the mixture over the lengths, complex (F,)."""
    one = np.ones(len(frequency), dtype=np.complex128)
    for block in blocks:
        wave = np.exp(1j * np.multiply.outer(frequency, block.value))
        one *= (wave @ block.probability) ** block.times
    return np.asarray((one[:, None] ** lengths) @ weights)


# Else a grid ------------------------------------------------------------------------------------


@dataclass(frozen=True, slots=True)
class _Grid:
    """Points start + (0 .. size - 1), times `step`; the sums live there but for 1e-15."""

    size: int
    step: float  # nats
    start: int
    threshold: int  # grid point nearest to the threshold
    window: int  # half width, in points, over which a tie at the threshold is smeared
    drift: float  # points by which rounding moves the sum on average

    def tail(self, mass: FloatArray) -> tuple[float, float]:
        """Probability above and at the threshold from the mass (size,) on the points."""
        at, w = self.threshold - self.start, self.window
        if at < 0 or at >= self.size:
            return (float(mass.sum()) if at < 0 else 0.0), 0.0
        inside = _slice_sum(mass, at - w, at + w + 1)
        right = _slice_sum(mass, at + w + 1, self.size)
        if w == 0:
            return right, inside
        beside = _slice_sum(mass, at - 3 * w - 1, at - w) + _slice_sum(
            mass, at + w + 1, at + 3 * w + 2
        )
        tie = max(inside - beside / 2, 0.0)
        share = (w + 0.5 - self.drift) / (2 * w + 1)
        return right + (inside - tie) * min(max(share, 0.0), 1.0), tie


def _slice_sum(mass: FloatArray, start: int, stop: int) -> float:
    return float(mass[max(start, 0) : max(stop, 0)].sum())


def _grid_tail(
    law: LogOdds,
    blocks: list[_Block],
    lengths: IntArray,
    weights: FloatArray,
    span: tuple[float, float],
) -> tuple[float, float]:
    grid = _make_grid(law, blocks, lengths, weights, span)
    one = np.ones(grid.size // 2 + 1, dtype=np.complex128)
    for block in blocks:
        point = np.rint(block.value / grid.step).astype(np.int64) % grid.size
        part = fft.rfft(np.bincount(point, block.probability, grid.size))
        one *= _integer_power(part, block.times)
    power, done = np.ones_like(one), 0
    mixture = np.zeros_like(one)
    order = np.argsort(lengths)
    for length, weight in zip(lengths[order].tolist(), weights[order].tolist(), strict=True):
        power *= _integer_power(one, length - done)
        mixture += weight * power
        done = length
    mass = np.roll(fft.irfft(mixture, grid.size), -(grid.start % grid.size))
    return grid.tail(np.maximum(mass, 0.0))


def _integer_power(base: Array, exponent: int) -> Array:
    """Return base ** exponent by squaring, many times faster than complex powers."""
    power = np.ones_like(base)
    while exponent:
        if exponent & 1:
            power = power * base
        exponent >>= 1
        base = base * base if exponent else base
    return power


def _make_grid(
    law: LogOdds,
    blocks: list[_Block],
    lengths: IntArray,
    weights: FloatArray,
    span: tuple[float, float],
) -> _Grid:
    size = _GRID_OF_DRAWS if len(blocks) == 1 else _GRID_OF_BLOCKS
    step = (span[1] - span[0]) / (size - 4)
    if abs(law.threshold) >= step:
        step = abs(law.threshold) / math.floor(abs(law.threshold) / step)
    offset, square = 0.0, 0.0
    for block in blocks:
        error = np.rint(block.value / step) - block.value / step
        offset += block.times * float(block.probability @ error)
        square += block.times * float(block.probability @ np.square(error))
    spread = math.sqrt(float(lengths.max()) * square)
    drift = float(weights @ lengths / weights.sum()) * offset
    return _Grid(
        size=size,
        step=step,
        start=math.floor(span[0] / step) - 1,
        threshold=round(law.threshold / step),
        window=math.ceil(_WINDOW * spread + abs(drift)) if spread > 1e-6 else 0,
        drift=drift,
    )


def _span(blocks: list[_Block], lengths: IntArray) -> tuple[float, float]:
    """Interval that all sums leave with a probability under 1e-15 (Chernoff's bound)."""
    spread = sum(b.times * _variance(b) for b in blocks)
    slopes = np.geomspace(0.05, 100.0, 40) / math.sqrt(float(lengths.max()) * spread)
    high = min(float(np.min(_bound(blocks, lengths, slopes))), _extreme(blocks, lengths, 1))
    low = max(float(np.max(_bound(blocks, lengths, -slopes))), -_extreme(blocks, lengths, -1))
    return min(low, 0.0), max(high, 0.0)


def _variance(block: _Block) -> float:
    return float(block.probability @ np.square(block.value - block.probability @ block.value))


def _extreme(blocks: list[_Block], lengths: IntArray, sign: int) -> float:
    """Largest sum (sign 1), or minus the smallest one (sign -1)."""
    one = sum(block.times * float((sign * block.value).max()) for block in blocks)
    return max(one * float(lengths.min()), one * float(lengths.max()))


def _bound(blocks: list[_Block], lengths: IntArray, slopes: FloatArray) -> FloatArray:
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
