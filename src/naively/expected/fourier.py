"""A smooth law through the Fourier series of its density.

The characteristic function of a sum of many comparable parts dies out quickly; a few hundred
frequencies then give the tail to rounding, without any grid. Where it does not (a document may well
hold no selected feature at all: an atom), the answer is None.
"""

from __future__ import annotations

import numpy as np

from naively._types import Array, FloatArray, IntArray
from naively.expected.blocks import Block, heaviest_sum
from naively.expected.log_odds import LogOdds

_FREQUENCIES = 128  # computed at a time
_MOST_FREQUENCIES = 2048
_NEGLIGIBLE = 1e-16


def fourier_tail(
    law: LogOdds,
    blocks: list[Block],
    lengths: IntArray,
    weights: FloatArray,
    span: tuple[float, float],
) -> tuple[float, float] | None:
    """Tail from the Fourier series of the density over the span; None if it does not die out."""
    if heaviest_sum(blocks, int(lengths.min())) > _NEGLIGIBLE:
        return None  # an atom never dies out
    low, high = span
    period = high - low
    above = float(weights.sum()) * (high - law.threshold) / period
    for first in range(1, _MOST_FREQUENCIES, _FREQUENCIES):
        frequency = np.asarray(np.arange(first, first + _FREQUENCIES) * (2 * np.pi / period))
        mixture = _characteristic(blocks, lengths, weights, frequency)
        edges = np.exp(-1j * frequency * high) - np.exp(-1j * frequency * law.threshold)
        above += 2 / period * float(np.real(mixture * edges * 1j / frequency).sum())
        if np.abs(mixture[-_FREQUENCIES // 2 :]).max() < _NEGLIGIBLE:
            return min(max(above, 0.0), float(weights.sum())), 0.0
        if np.abs(mixture).max() > 0.5 ** (first / _FREQUENCIES):
            return None  # far too slow to die out in time
    return None


def _characteristic(
    blocks: list[Block], lengths: IntArray, weights: FloatArray, frequency: FloatArray
) -> Array:
    """Characteristic function of the mixture over the lengths, complex (F,)."""
    one = np.ones(len(frequency), dtype=np.complex128)
    for block in blocks:
        wave = np.exp(1j * np.multiply.outer(frequency, block.value))
        one *= (wave @ block.probability) ** block.times
    return np.asarray((one[:, None] ** lengths) @ weights)
