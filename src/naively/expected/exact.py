"""The distribution of the log-odds, computed in one of three ways.

1. Few distinct sums (few outcomes, short documents, log-odds on a lattice): atom by atom, exact to
   rounding (:mod:`naively.expected.atoms`).
2. A smooth law: its Fourier series, exact to rounding where no sum meets the threshold
   (:mod:`naively.expected.fourier`).
3. Else a fine grid, by FFT; the heaviest sums are still judged one by one
   (:mod:`naively.expected.grid`).
"""

from __future__ import annotations

import numpy as np

from naively._types import FloatArray, IntArray
from naively.expected.atoms import atom_tail, few_atoms
from naively.expected.blocks import Block, blocks_of, span
from naively.expected.fourier import fourier_tail
from naively.expected.grid import grid_tail
from naively.expected.log_odds import LogOdds


def exact_tail(law: LogOdds, lengths: FloatArray, weights: FloatArray) -> tuple[float, float]:
    """Weighted probabilities over the lengths (L,) that the sum exceeds, or meets, the threshold.

    Lengths are rounded to integers.
    """
    draws = np.rint(lengths).astype(np.int64)
    blocks = blocks_of(law)
    above, tie = 0.0, 0.0
    for group in _octaves(draws):
        used = group[weights[group] > 0]
        if len(used):
            tails = _group_tail(law, blocks, draws[used], weights[used])
            above, tie = above + tails[0], tie + tails[1]
    return above, tie


def _octaves(lengths: IntArray) -> list[IntArray]:
    """Positions of lengths within a factor of two, treated together; zero on its own."""
    key = np.where(lengths > 0, np.frexp(np.maximum(lengths, 1).astype(np.float64))[1], 0)
    return [np.flatnonzero(key == value) for value in np.unique(key)]


def _group_tail(
    law: LogOdds, blocks: list[Block], lengths: IntArray, weights: FloatArray
) -> tuple[float, float]:
    atoms = few_atoms(blocks, lengths)
    if atoms is not None:
        above, tie = weights @ np.array([atom_tail(law, *total) for total in atoms])
        return float(above), float(tie)
    interval = span(blocks, lengths)
    tolerance = law.tolerance()
    if not interval[0] - tolerance <= law.threshold <= interval[1] + tolerance:
        return float(weights.sum()) * (law.threshold < interval[0]), 0.0
    smooth = fourier_tail(law, blocks, lengths, weights, interval)
    return smooth or grid_tail(law, blocks, lengths, weights, interval)
