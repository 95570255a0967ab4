"""Small drawings inside tables: bars as single SVG paths, since a page holds thousands.

No style stands in an element (the security policy of the page forbids it): shapes carry classes.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Sequence

_BROAD = 12  # so many columns or fewer are drawn broader


def _stretched(kind: str, paths: str) -> str:
    return (
        f'<svg class="bar {kind}" viewBox="0 0 100 10" preserveAspectRatio="none" '
        f'aria-hidden="true">{paths}</svg>'
    )


def two_sided(value: float, largest: float) -> str:
    """Bar from the middle, to the left for the first and to the right for the second class."""
    side = "second" if value > 0 else "first"
    return _stretched(side, f'<path d="M50 5h{50 * _clipped(value, largest):.3g}"/>')


def pair(first: float, second: float, largest: float) -> str:
    """Two bars, one above the other."""
    lengths = (100 * _clipped(value, largest) for value in (first, second))
    upper, lower = lengths
    return _stretched(
        "pair",
        f'<path class="first" d="M0 2.5h{upper:.3g}"/><path d="M0 7.5h{lower:.3g}"/>',
    )


def columns(values: Sequence[float], largest: float) -> str:
    """One column per value, up or down from a line: in the middle, unless no value is negative."""
    line = 10 if any(value < 0 for value in values) else 20
    step = 4 if len(values) > _BROAD else 8
    path = "".join(
        f"M{step * i + step // 2} {line}v{-line * _clipped(value, largest):.2g}"
        for i, value in enumerate(values)
    )
    return (
        f'<svg class="bar columns{" broad" if step == 8 else ""}" '
        f'viewBox="0 0 {step * len(values)} 20" aria-hidden="true">'
        f'<path d="{path}"/></svg>'
    )


def _clipped(value: float, largest: float) -> float:
    return min(max(value / largest, -1.0), 1.0) if largest > 0 and not math.isnan(value) else 0.0


def largest_finite(values: Iterable[float]) -> float:
    """Largest absolute value of those that are finite; 1 if there is none above 0."""
    return max((abs(value) for value in values if math.isfinite(value)), default=0.0) or 1.0
