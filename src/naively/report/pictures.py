"""Pictures of the features: how often each occurs against what it weighs, and a panel by class.

Words are many and each speaks for itself: a point each, with the names of the outermost. Columns of
numbers (genes, pixels) are a panel: one row each, one column a class.
"""

from __future__ import annotations

import math
from collections.abc import Iterator
from dataclasses import dataclass

from naively.report import words
from naively.report.names import shortened
from naively.report.summary import FeatureRow, Summary

POINTS = 1000  # the features of the largest gains
_WIDE, _NARROW = (760, 400), (360, 360)  # as large as they are shown
_LEFT, _RIGHT, _TOP, _BOTTOM = 46, 20, 30, 40  # margins, for the text of the axes
_NAMED, _LONGEST = 40, 18  # points with a name, if there is room; characters of it
_LETTER, _LINE = 6.6, 13.0  # size of a letter of a name
PANEL = 30  # rows of the panel
_PANEL_CLASSES = 30
_RADIUS = 9.0  # of a dot, if all rows of the class have the feature


@dataclass(frozen=True, slots=True)
class Label:
    """A text in a drawing."""

    x: float
    y: float
    text: str
    anchor: str = "start"  # as in SVG


@dataclass(frozen=True, slots=True)
class Scatter:
    """Points of features in one size."""

    width: int
    height: int
    x: tuple[float, ...]
    y: tuple[float, ...]
    zero: float  # height of weight 0
    ticks_x: tuple[Label, ...]
    ticks_y: tuple[Label, ...]
    names: tuple[Label, ...]
    left: float = _LEFT
    top: float = _TOP

    @property
    def right(self) -> float:
        """Right end of the axes."""
        return self.width - _RIGHT

    @property
    def bottom(self) -> float:
        """Lower end of the axes."""
        return self.height - _BOTTOM


@dataclass(frozen=True, slots=True)
class Cell:
    """What a class has of a feature."""

    value: float
    shade: float  # 0 in the class that has least of it, 1 in that which has most
    share: float | None  # of the rows of the class with the feature; None: it is not known

    @property
    def radius(self) -> float:
        """Of a dot whose area is the share."""
        return _RADIUS * math.sqrt(self.share or 0.0)


@dataclass(frozen=True, slots=True)
class Panel:
    """Features by classes."""

    quantity: str  # what the values are
    rows: tuple[tuple[FeatureRow, tuple[Cell, ...]], ...]
    has_shares: bool


def frequency(row: FeatureRow) -> float:
    """Rows that hold a feature, where they were counted; else how often it occurs."""
    return sum(row.documents or row.counts)


def scatters(summary: Summary) -> tuple[Scatter, Scatter] | None:
    """Points of the features, wide and narrow; None without weights and counts of three at least.

    Features that never occur or that rule a class out have no place on the axes.
    """
    n_classes = len(summary.classes)
    placed = [
        (row.rank, frequency(row), words.weight_of(row, n_classes), row.name)
        for row in summary.features[:POINTS]
        if row.weights and row.counts
    ]
    ranks = {rank for rank, n, weight, _ in placed if n > 0 and math.isfinite(weight)}
    if len(ranks) < 3 or len(placed) > len(ranks):
        return None
    wide, narrow = (_scatter(placed, *size) for size in (_WIDE, _NARROW))
    return wide, narrow


def _scatter(placed: list[tuple[int, float, float, str]], width: int, height: int) -> Scatter:
    logs = [math.log10(n) for _, n, _, _ in placed]
    weights = [weight for _, _, weight, _ in placed]
    low, high = math.floor(min(logs)), max(math.ceil(max(logs)), math.floor(min(logs)) + 1)
    step = tick_step(max(*weights, 0.0) - min(*weights, 0.0), 6)
    bottom, top = (
        step * math.floor(min(*weights, 0.0) / step),
        step * math.ceil(max(*weights, 0.0) / step),
    )
    across, down = width - _LEFT - _RIGHT, height - _TOP - _BOTTOM

    def x(log: float) -> float:
        return round(_LEFT + across * (log - low) / (high - low), 1)

    def y(weight: float) -> float:
        return round(_TOP + down * (top - weight) / (top - bottom), 1)

    xs, ys = tuple(map(x, logs)), tuple(map(y, weights))
    ticks_x = [Label(x(p), height - _BOTTOM + 17, f"{10**p:,}", "middle")
               for p in range(low, high + 1)]  # fmt: skip
    ticks_y = [
        Label(_LEFT - 7, y(w) + 4, f"{w:.3g}".replace("-", "\N{MINUS SIGN}"), "end")
        for w in (bottom + i * step for i in range(round((top - bottom) / step) + 1))
    ]
    names = [name for *_, name in placed]
    labels = tuple(_labels(xs, ys, names, y(0.0), width - 4))
    return Scatter(width, height, xs, ys, y(0.0), tuple(ticks_x), tuple(ticks_y), labels)


def tick_step(span: float, most: int) -> float:
    """Round distance of ticks, so that a span has so many of them or fewer."""
    power = 10.0 ** math.floor(math.log10(span / most)) if span > 0 else 1.0
    return next((m * power for m in (1, 2, 5) if m * power * most >= span), 10 * power)


def _labels(
    xs: tuple[float, ...], ys: tuple[float, ...], names: list[str], zero: float, right: float
) -> Iterator[Label]:
    """Names of the outermost points that have room: no name stands on another, or on a point."""
    taken: list[tuple[float, float, float, float]] = []
    points = list(zip(xs, ys, strict=True))
    left = min(xs)
    far = sorted(range(len(xs)), key=lambda i: (-(abs(ys[i] - zero) + 0.35 * (xs[i] - left)), i))
    for i in far:
        text = shortened(names[i], _LONGEST)
        size = _LETTER * len(text)
        for start, anchor in ((xs[i] + 6, "start"), (xs[i] - 6 - size, "end")):
            box = (start - 2, ys[i] - _LINE / 2, start + size + 2, ys[i] + _LINE / 2)
            if start < _LEFT or box[2] > right or any(_overlap(box, each) for each in taken):
                continue
            if any(box[0] < x < box[2] and box[1] < y < box[3] for x, y in points):
                continue
            taken.append(box)
            yield Label(start if anchor == "start" else xs[i] - 6, ys[i] + 4, text, anchor)
            break
        if len(taken) == _NAMED:
            return


def _overlap(a: tuple[float, float, float, float], b: tuple[float, float, float, float]) -> bool:
    return a[0] < b[2] and b[0] < a[2] and a[1] < b[3] and b[1] < a[3]


def panel(summary: Summary) -> Panel | None:
    """Return the first features by class; None without figures of each class, or for many classes.

    Values are centers, or counts in a row; each feature is scaled to its own range.
    """
    shown, classes = summary.features[:PANEL], summary.classes
    if not shown or len(classes) > _PANEL_CLASSES or not (shown[0].centers or shown[0].counts):
        return None
    if any(each.train_rows == 0 for each in classes):
        return None
    rows = tuple((row, tuple(_cells(row, [each.train_rows for each in classes]))) for row in shown)
    quantity = "center" if shown[0].centers else "mean of a row"
    return Panel(quantity, rows, any(cell.share is not None for cell in rows[0][1]))


def _cells(row: FeatureRow, sizes: list[int]) -> Iterator[Cell]:
    values = row.centers or tuple(n / size for n, size in zip(row.counts, sizes, strict=True))
    low, high = min(values), max(values)
    for c, value in enumerate(values):
        share = min(row.documents[c] / sizes[c], 1.0) if row.documents else None
        yield Cell(value, (value - low) / (high - low) if high > low else 0.0, share)
