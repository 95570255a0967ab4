"""Logarithms that inner loops would spend most of their time on."""

from __future__ import annotations

import math

from naively._kernels.compiled import kernel_part

SMALL_LOSS = 1e-3  # up to which the next term of the series is below 1e-18


@kernel_part
def small_log_loss(r: float) -> float:
    """Return -log(1 - r) of an |r| < SMALL_LOSS."""
    return r * (1.0 + r * (0.5 + r * (1.0 / 3.0 + r * (0.25 + r * 0.2))))


@kernel_part
def log_less(whole: float, log_whole: float, part: float) -> float:
    """Return log(whole - part), from log(whole) where the part is small."""
    r = part / whole
    if abs(r) < SMALL_LOSS:
        return log_whole - small_log_loss(r)
    return math.log(whole - part)
