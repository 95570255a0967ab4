"""The distribution of the log-odds, computed: atom by atom when few, else on a fine grid by FFT.

Values of one draw are rounded to a grid of 2^17 points that spans all sums but 1e-15 of the
probability; the distribution of N draws is the N-th power of the transform of the one-draw law.
Zero and the threshold lie on the grid, so that the ties which matter most (a row without any
selected feature; opposite log-odds that cancel) stay exact. Other ties are smeared by the
rounding over a few points around the threshold: they are told from the smooth background by
what these points hold beyond their neighbours.
"""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np
from scipy import fft

from naively._types import FloatArray, IntArray
from naively.error.log_odds import LogOdds, compact, merge_atoms

GRID = 2**17
_OUTSIDE = math.log(1e-15)
_FEW_ATOMS = 4_000  # distinct sums that are still kept one by one
_FEW_PAIRS = 300_000  # products in one convolution of atoms
_NEGLIGIBLE = 1e-18
_WINDOW = 5.0  # deviations of the rounding error that a smeared tie can spread over


def exact_tail(law: LogOdds, lengths: FloatArray, weights: FloatArray) -> tuple[float, float]:
    """Weighted probabilities over the lengths (L,) that the sum exceeds, or meets, the threshold.

    Lengths are rounded to integers.
    """
    draws = np.rint(lengths).astype(np.int64)
    above, tie = 0.0, 0.0
    for group in _octaves(draws):
        used = group[weights[group] > 0]
        if len(used):
            tails = _group_tail(law, draws[used], weights[used])
            above, tie = above + tails[0], tie + tails[1]
    return above, tie


def _octaves(lengths: IntArray) -> list[IntArray]:
    """Positions of lengths that share a grid: within a factor of two; zero on its own."""
    key = np.where(lengths > 0, np.frexp(np.maximum(lengths, 1).astype(np.float64))[1], 0)
    return [np.flatnonzero(key == value) for value in np.unique(key)]


def _group_tail(law: LogOdds, lengths: IntArray, weights: FloatArray) -> tuple[float, float]:
    if len(law.value) == 1:
        atoms = [compact(law)]
        sums = [_power(atoms[0], int(length)) for length in lengths]
    else:
        atoms = [_block_atoms(law, b) for b in range(len(law.value))]
        sums = [_sum_of_blocks(atoms)] if np.array_equal(lengths, [1]) else [None]
    if all(total is not None for total in sums):
        tails = [_atom_tail(law, *total) for total in sums if total is not None]
        above, tie = weights @ np.array(tails)
        return float(above), float(tie)
    return _grid_tail(law, atoms, lengths, weights)


# Few atoms: exact sums --------------------------------------------------------------------------

Atoms = tuple[FloatArray, FloatArray]


def _block_atoms(law: LogOdds, b: int) -> Atoms:
    keep = law.probability[b] > 0
    return law.value[b, keep], law.probability[b, keep]


def _atom_tail(law: LogOdds, value: FloatArray, probability: FloatArray) -> tuple[float, float]:
    tolerance = law.tolerance()
    above = float(probability[value > law.threshold + tolerance].sum())
    return above, float(probability[np.abs(value - law.threshold) <= tolerance].sum())


def _power(atoms: Atoms, n: int) -> Atoms | None:
    """Atoms of the sum of n independent draws, by squaring; None when they become too many."""
    total: Atoms | None = (np.zeros(1), np.ones(1))
    square: Atoms | None = atoms
    while n and total is not None and square is not None:
        if n & 1:
            total = _convolve(total, square)
        n >>= 1
        square = _convolve(square, square) if n else square
    return total if square is not None else None


def _sum_of_blocks(blocks: list[Atoms]) -> Atoms | None:
    total: Atoms | None = (np.zeros(1), np.ones(1))
    for block in blocks:
        total = _convolve(total, block) if total is not None else None
    return total


def _convolve(left: Atoms, right: Atoms) -> Atoms | None:
    if len(left[0]) * len(right[0]) > _FEW_PAIRS:
        return None
    value = np.add.outer(left[0], right[0]).ravel()
    value, probability = merge_atoms(value, np.multiply.outer(left[1], right[1]).ravel())
    keep = probability > _NEGLIGIBLE
    return (value[keep], probability[keep]) if keep.sum() <= _FEW_ATOMS else None


# Many atoms: a grid -----------------------------------------------------------------------------


@dataclass(frozen=True, slots=True)
class _Grid:
    """Points start + (0 .. GRID-1), times `step`; the sums live there but for 1e-15."""

    step: float  # nats
    start: int
    threshold: int  # grid point nearest to the threshold
    window: int  # half width, in points, over which a tie at the threshold is smeared
    drift: float  # points by which rounding moves the sum on average

    def tail(self, mass: FloatArray) -> tuple[float, float]:
        """Probability above and at the threshold from the mass (GRID,) on the points."""
        at, w = self.threshold - self.start, self.window
        if at < 0 or at >= GRID:
            return (float(mass.sum()) if at < 0 else 0.0), 0.0
        inside = _slice_sum(mass, at - w, at + w + 1)
        right = _slice_sum(mass, at + w + 1, GRID)
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
    law: LogOdds, atoms: list[Atoms], lengths: IntArray, weights: FloatArray
) -> tuple[float, float]:
    low, high = _span(atoms, lengths)
    tolerance = law.tolerance()
    if not low - tolerance <= law.threshold <= high + tolerance:
        return float(weights.sum()) * (law.threshold < low), 0.0
    step = (high - low) / (GRID - 4)
    if abs(law.threshold) >= step:
        step = abs(law.threshold) / math.floor(abs(law.threshold) / step)
    longest = int(lengths.max())
    error = [np.rint(value / step) - value / step for value, _ in atoms]
    moments = [(p @ e, p @ np.square(e)) for (_, p), e in zip(atoms, error, strict=True)]
    offset, square = (float(sum(part)) for part in zip(*moments, strict=True))
    spread = math.sqrt(longest * square)
    drift = float(weights @ lengths / weights.sum()) * offset
    grid = _Grid(
        step=step,
        start=math.floor(low / step) - 1,
        threshold=round(law.threshold / step),
        window=math.ceil(_WINDOW * spread + abs(drift)) if spread > 1e-6 else 0,
        drift=drift,
    )
    law_on_grid = _draws_on_grid if len(atoms) == 1 else _blocks_on_grid
    mass = np.roll(law_on_grid(atoms, grid, lengths, weights), -(grid.start % GRID))
    return grid.tail(np.maximum(mass, 0.0))


def _draws_on_grid(
    atoms: list[Atoms], grid: _Grid, lengths: IntArray, weights: FloatArray
) -> FloatArray:
    """Mass (GRID,) by residue of the grid point: mixture over the lengths of powers of one draw."""
    value, probability = atoms[0]
    point = np.rint(value / grid.step).astype(np.int64) % GRID
    transform = fft.rfft(np.bincount(point, probability, GRID))
    order = np.argsort(lengths)
    power, done = np.ones_like(transform), 0
    mixture = np.zeros_like(transform)
    for length, weight in zip(lengths[order].tolist(), weights[order].tolist(), strict=True):
        power = power * transform ** (length - done)
        mixture += weight * power
        done = length
    return np.asarray(fft.irfft(mixture, GRID))


def _blocks_on_grid(
    atoms: list[Atoms], grid: _Grid, lengths: IntArray, weights: FloatArray
) -> FloatArray:
    """Mass (GRID,) by residue of the grid point: one block after the other, by shifts."""
    mass: FloatArray = np.zeros(GRID)
    mass[0] = weights.sum()
    for value, probability in atoms:
        points = np.rint(value / grid.step).astype(np.int64) % GRID
        parts = zip(points.tolist(), probability.tolist(), strict=True)
        mass = np.asarray(sum(p * np.roll(mass, point) for point, p in parts))
    return mass


def _span(atoms: list[Atoms], lengths: IntArray) -> tuple[float, float]:
    """Interval that all sums leave with a probability under 1e-15 (Chernoff's bound)."""
    deviation = math.sqrt(lengths.max() * sum(_variance(*atom) for atom in atoms))
    slopes = np.geomspace(0.05, 100.0, 40) / deviation
    high = min(float(np.min(_bound(atoms, lengths, slopes))), _extreme(atoms, lengths, 1))
    low = max(float(np.max(_bound(atoms, lengths, -slopes))), -_extreme(atoms, lengths, -1))
    return min(low, 0.0), max(high, 0.0)


def _variance(value: FloatArray, probability: FloatArray) -> float:
    return float(probability @ np.square(value - probability @ value))


def _extreme(atoms: list[Atoms], lengths: IntArray, sign: int) -> float:
    """Largest sum (sign 1), or minus the smallest one (sign -1)."""
    return max(
        float(length) * sum(float((sign * value).max()) for value, _ in atoms)
        for length in (lengths.min(), lengths.max())
    )


def _bound(atoms: list[Atoms], lengths: IntArray, slopes: FloatArray) -> FloatArray:
    """Chernoff's bounds, one for each slope (40,): upper ones for positive slopes."""
    cumulant = np.zeros_like(slopes)
    for value, probability in atoms:
        exponent = np.multiply.outer(slopes, value)
        shift = exponent.max(axis=1)
        cumulant += shift + np.log(np.exp(exponent - shift[:, None]) @ probability)
    sums = np.multiply.outer(lengths.astype(np.float64), cumulant)
    bounds = (sums - _OUTSIDE) / slopes
    return np.asarray(bounds.max(axis=0) if slopes[0] > 0 else bounds.min(axis=0))
