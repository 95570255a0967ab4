"""Logarithms that inner loops, or the imports of SciPy, would spend most of their time on."""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from naively._kernels.compiled import kernel, kernel_part
from naively._types import FloatArray

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


def x_log_x(x: Any) -> Any:
    """Return x log x, 0 at 0, of each number: as `scipy.special.xlogy`, which loads for 0.1 s."""
    numbers = np.array(x, dtype=np.float64, order="K")
    _to_x_log_x(numbers.ravel(order="K"))
    return numbers[()]


@kernel
def _to_x_log_x(numbers: FloatArray) -> None:
    for i in range(len(numbers)):
        numbers[i] = numbers[i] * math.log(numbers[i]) if numbers[i] != 0 else 0.0
