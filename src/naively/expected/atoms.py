"""Sums with few distinct values, atom by atom: exact to rounding, ties and all."""

from __future__ import annotations

import numpy as np

from naively._types import FloatArray, IntArray
from naively.expected.blocks import Block
from naively.expected.log_odds import LogOdds, merge_atoms

FEW_ATOMS = 4_000  # distinct sums that are still kept one by one
_FEW_PAIRS = 50_000  # products in one convolution
_NEGLIGIBLE = 1e-18

Atoms = tuple[FloatArray, FloatArray]  # values and probabilities


def few_atoms(blocks: list[Block], lengths: IntArray) -> list[Atoms] | None:
    """Atoms of the sum for each length, or None if any has too many; the longest is tried first."""
    if _sum_of_blocks(blocks, int(lengths.max())) is None:
        return None
    sums = [_sum_of_blocks(blocks, int(length)) for length in lengths]
    known = [total for total in sums if total is not None]
    return known if len(known) == len(sums) else None


def atom_tail(law: LogOdds, value: FloatArray, probability: FloatArray) -> tuple[float, float]:
    """Probability of the atoms above and at the threshold."""
    tolerance = law.tolerance()
    above = float(probability[value > law.threshold + tolerance].sum())
    return above, float(probability[np.abs(value - law.threshold) <= tolerance].sum())


def _sum_of_blocks(blocks: list[Block], length: int) -> Atoms | None:
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
    return (value[keep], probability[keep]) if keep.sum() <= FEW_ATOMS else None
