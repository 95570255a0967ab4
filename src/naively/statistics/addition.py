"""Sums of tables that cannot overflow unnoticed.

Counts are >= 0, so the total of all of them bounds every cell, and every sum that is taken of a
table later. It is looked at before tables are added, without temporaries as large as a table.
"""

from __future__ import annotations

from typing import Any, final

import numpy as np

from naively._types import Array

_LARGEST = int(np.iinfo(np.int64).max)
_SURELY_FITS = 2.0**62  # totals in double precision up to this are far enough from the limit
_STRIP = 1 << 18  # cells looked at a time
_HALF = 32  # bits


def checked_sum(first: Array, second: Array) -> Array:
    """Return first + second, both >= 0, or raise ValueError where that would overflow."""
    check_total(first, second)
    total: Array = first + second
    return total


def check_total(*tables: Array) -> None:
    """Make sure that tables of counts (of any shape, >= 0) can be added.

    Raises
    ------
    ValueError
        If all their values together exceed a 64-bit integer (or double precision, where one of the
        tables is real).
    """
    with np.errstate(over="ignore"):
        if sum(float(table.max(initial=0)) * table.size for table in tables) < _SURELY_FITS:
            return
        about = float(sum(float(table.sum(dtype=np.float64)) for table in tables))
    if about < _SURELY_FITS:
        return
    real = any(table.dtype.kind == "f" for table in tables)
    _check_bound(about if real else sum(_exact_total(table) for table in tables))


def _check_bound(total: int | float) -> None:
    if isinstance(total, float):
        if not np.isfinite(total):
            raise ValueError(
                "The sums of these statistics exceed the range of double precision (1.8e308); "
                "divide X or the weights by a constant."
            )
    elif total > _LARGEST:
        raise ValueError(
            f"Together these statistics add up to {total:.3g}, more than a 64-bit integer holds "
            f"({_LARGEST}); count X as float64, at least one part of it."
        )


def _exact_total(table: Array) -> int:
    cells = table.reshape(-1)
    total = 0
    for start in range(0, cells.size, _STRIP):
        strip = cells[start : start + _STRIP].astype(np.int64, copy=False)
        high, low = strip >> _HALF, strip & ((1 << _HALF) - 1)  # sums of halves fit
        total += (int(high.sum()) << _HALF) + int(low.sum())
    return total


def is_nothing(other: Any) -> bool:
    """Whether a summand is the 0 with which Python's `sum` begins."""
    return isinstance(other, int) and not isinstance(other, bool) and other == 0


@final
class RunningTotal:
    """Total of all tables that were added into one place, which bounds every cell there."""

    def __init__(self) -> None:
        self._total: int | float = 0

    def add(self, table: Array) -> None:
        """Take in one more table of counts; raises ValueError where their sum could overflow."""
        if table.dtype.kind == "f" or isinstance(self._total, float):
            with np.errstate(over="ignore"):
                self._total = float(self._total) + float(table.sum(dtype=np.float64))
        else:
            self._total += _exact_total(table)
        _check_bound(self._total)
