"""Single columns that are added to a selection, or exchanged."""

from __future__ import annotations

import math

from naively._kernels.compiled import kernel, kernel_part, patient
from naively._kernels.hull import TINY
from naively._types import FloatArray, IntArray


@kernel
def edges(values: FloatArray, take: IntArray, sizes: IntArray) -> tuple[int, int]:
    """Place of the least value taken, and of the largest left; the first of equals, -1 if none."""
    least = most = -1
    for i in range(len(values)):
        if take[i] > 0 and (least < 0 or values[i] < values[least]):
            least = i
        if take[i] < sizes[i] and (most < 0 or values[i] > values[most]):
            most = i
    return least, most


@kernel
def across(
    values: FloatArray,
    take: IntArray,
    sizes: IntArray,
    least: float,
    most: float,
    out: IntArray,
    into: IntArray,
) -> tuple[int, int]:
    """Write places taken of values below `most`, and left of values above `least`: how many."""
    n_out = n_into = 0
    for i in range(len(values)):
        if take[i] > 0 and values[i] < most:
            out[n_out] = i
            n_out += 1
        if take[i] < sizes[i] and values[i] > least:
            into[n_into] = i
            n_into += 1
    return n_out, n_into


@kernel_part
def _divergence(excess: float, expected: float) -> float:
    """As `naively.models.family.divergence`, of one cell."""
    t = max(excess / expected, -1.0) if expected > 0 else 0.0
    curvature = -t
    if abs(t) < 0.05:
        curvature = 0.0
        for j in range(10, 1, -1):
            curvature = 1.0 / (j * (j - 1)) - t * curvature
        curvature *= t * t
    elif t > -1:
        curvature += (1.0 + t) * math.log(1.0 + t)
    return expected * curvature


@kernel
def _best_exchange(
    gains: FloatArray,
    noise: FloatArray,
    counts: FloatArray,
    n_out: int,
    totals: FloatArray,
    shares: FloatArray,
) -> tuple[int, int]:
    """Exchange that raises the gain of a selection most; -1 if none does.

    Parameters
    ----------
    gains, noise, counts : (n,), (n,) and (n, C)
        Of columns that are in, the first `n_out`, and of columns that are not: gains at the shares,
        what these lose to rounding, and smoothed counts.
    n_out : int
    totals, shares : (C,)
        Smoothed counts of the selection and their shares.

    Returns
    -------
    Places of the column to take out and of the one to put in.
    """
    best, out, into = 0.0, -1, -1
    for i in range(n_out):
        for j in range(n_out, len(gains)):
            rise, lost = gains[j] - gains[i], noise[i] + noise[j]
            if rise <= lost:
                continue
            total = 0.0
            for c in range(len(totals)):
                total += totals[c] + counts[j, c] - counts[i, c]
            for c in range(len(totals)):
                expected = total * shares[c]
                rise -= _divergence(totals[c] + counts[j, c] - counts[i, c] - expected, expected)
            if rise > max(best, lost):
                best, out, into = rise, i, j
    return out, into


best_exchange = patient(_best_exchange)


@kernel
def _best_addition(entropy: FloatArray, counts: FloatArray, totals: FloatArray) -> int:
    """Place of the column, of entropies (n,) and counts (n, C), that adds most to totals (C,)."""
    best, place = -math.inf, 0
    for i in range(len(entropy)):
        total, value = 0.0, 0.0
        for c in range(len(totals)):
            total += totals[c] + counts[i, c]
        for c in range(len(totals)):
            sum_c = totals[c] + counts[i, c]
            value += sum_c * math.log(max(sum_c / total, TINY))
        if entropy[i] - value > best:
            best, place = entropy[i] - value, i
    return place


best_addition = patient(_best_addition)
