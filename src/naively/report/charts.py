"""The charts of a report: the path with its bound, and accuracy over coverage.

They are SVG of shapes and text alone, which a strict security policy allows. Colours are classes,
so that the page decides what they are, in light and dark.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass

from naively.report.page import Chart, Charts, Drawing
from naively.report.pictures import tick_step
from naively.report.summary import CoveragePoint, PathCurve, Summary

_WIDE, _NARROW = 720, 360  # a narrow screen shows text in its own size
_LEFT, _RIGHT, _TOP, _BOTTOM, _BETWEEN = 58, 16, 24, 42, 36  # margins, for titles and axes
_UPPER, _LOWER = 134, 96  # heights of panels
_MARGIN = 0.05  # of the range of the values, above and below them
_TICKS = 5  # at most

_CURVE = 'class="stroke-mark" stroke-width="1.5" fill="none"'
_LIMIT = 'class="stroke-grey" stroke-width="4" fill="none"'
_DOTTED = 'class="stroke-ink" stroke-width="1.5" stroke-dasharray="1.5 2.25" fill="none"'
_MARK = 'class="stroke-ink" stroke-dasharray="4 3"'
_BAND = 'class="fill-grey" opacity="0.35"'

_Points = Sequence[tuple[float, float]]


@dataclass(frozen=True, slots=True)
class _Panel:
    """Curves and bands, each with its look, over one range of values."""

    title: str
    height: int
    drawn: tuple[tuple[str, _Points], ...]
    low: float
    high: float
    written: Callable[[float], str]  # a value at the axis


@dataclass(frozen=True, slots=True)
class _Axis:
    """The horizontal axis that panels share."""

    label: str
    points: Sequence[float]  # that the page reads off
    low: float
    high: float
    ticks: Sequence[tuple[float, str]]
    marked: float | None = None
    scale: Callable[[float], float] = float

    def share(self, value: float) -> float:
        """Place of a value: 0 at the left end, 1 at the right."""
        low, high = self.scale(self.low), self.scale(self.high)
        return (self.scale(value) - low) / (high - low)


def charts_of(summary: Summary) -> Charts:
    """Draw the charts of a summary."""
    evaluation = summary.evaluation
    return Charts(
        path=_path_chart(summary.path) if summary.path is not None else None,
        coverage=_coverage_chart(evaluation.coverage)
        if evaluation is not None and len(evaluation.coverage) > 1
        else None,
    )


def _path_chart(path: PathCurve) -> Chart | None:
    points = path.points
    gain = [(point.k, point.objective - path.baseline) for point in points]
    bound = [(point.k, point.bound - path.baseline) for point in points]
    if len(points) < 2 or not all(math.isfinite(value) for _, value in (*gain, *bound)):
        return None
    top = max(value for _, value in (*gain, *bound)) or 1.0
    panels = [
        _Panel(
            "gain (thin) under its proven limit (broad)", _UPPER,
            ((_LIMIT, bound), (_CURVE, gain)), 0.0, (1 + _MARGIN) * top, "{:,.0f}".format,
        )
    ]  # fmt: skip
    drawn = tuple(_of_rows(path))
    if drawn:
        titles = {_CURVE: "accuracy", _DOTTED: "stability (dotted)"}
        named = [titles[look] for look, _ in drawn if look in titles]
        title = ", ".join(named) if len(named) > 1 else named[0].removesuffix(" (dotted)")
        panels.append(_Panel(title, _LOWER, drawn, *_range(drawn), _whole_percent))
    first, last = points[0].k, max(points[-1].k, points[0].k + 1)
    powers = [10**i for i in range(20) if first <= 10**i <= last]
    ticks = [(power, f"{power:,}") for power in powers]
    ks = [point.k for point in points]
    axis = _Axis("number of features k", ks, first, last, ticks, path.chosen, math.log)
    return _chart(panels, axis)


def _of_rows(path: PathCurve) -> Iterator[tuple[str, _Points]]:
    """Accuracy, in a band of its standard error if that is known, and stability."""
    known = [(p.k, p.accuracy, p.spread or 0.0) for p in path.points if p.accuracy is not None]
    if any(spread for *_, spread in known):
        upper = [(k, mean + spread) for k, mean, spread in known]
        yield _BAND, upper + [(k, mean - spread) for k, mean, spread in reversed(known)]
    if known:
        yield _CURVE, [(k, mean) for k, mean, _ in known]
    stability = [(p.k, p.stability) for p in path.points if p.stability is not None]
    if stability:
        yield _DOTTED, stability


def _coverage_chart(points: Sequence[CoveragePoint]) -> Chart:
    drawn = ((_CURVE, [(point.coverage, point.accuracy) for point in points]),)
    low, high = _range(drawn)
    panel = _Panel("accuracy on them", _UPPER, drawn, low, min(high, 1.0), _percent)
    ticks = [(i / 5, _percent(i / 5)) for i in range(6)]
    places = [point.coverage for point in points]
    return _chart([panel], _Axis("share of the rows that is answered", places, 0.0, 1.0, ticks))


def _range(drawn: Sequence[tuple[str, _Points]]) -> tuple[float, float]:
    values = [value for _, points in drawn for _, value in points]
    margin = _MARGIN * (max(values) - min(values)) or _MARGIN
    return min(values) - margin, max(values) + margin


def _percent(value: float) -> str:
    return f"{100 * value:.4g} %"


def _whole_percent(value: float) -> str:
    return f"{100 * value:.0f} %"


def _chart(panels: Sequence[_Panel], axis: _Axis) -> Chart:
    return Chart(*(_drawing(panels, axis, width) for width in (_WIDE, _NARROW)))


def _drawing(panels: Sequence[_Panel], axis: _Axis, width: int) -> Drawing:
    right, top = width - _RIGHT, _TOP
    parts: list[str] = []

    def x(value: float) -> float:
        return round(_LEFT + (right - _LEFT) * axis.share(value), 1)

    for panel in panels:
        bottom = top + panel.height
        parts += _panel(panel, axis, x, (top, right, bottom))
        top = bottom + _BETWEEN
    parts += [_text(x(value), bottom + 17, "middle", name) for value, name in axis.ticks]
    parts.append(_text((_LEFT + right) / 2, bottom + 37, "middle", axis.label))
    inner = "".join(parts)
    svg = f'<svg viewBox="0 0 {width} {bottom + _BOTTOM}" aria-hidden="true">{inner}</svg>'
    return Drawing(svg, tuple(map(x, axis.points)), top=_TOP, bottom=bottom)


def _panel(
    panel: _Panel, axis: _Axis, x: Callable[[float], float], edges: tuple[int, int, int]
) -> Iterator[str]:
    top, right, bottom = edges

    def y(value: float) -> float:
        return round(bottom - panel.height * (value - panel.low) / (panel.high - panel.low), 1)

    step = tick_step(panel.high - panel.low, _TICKS)
    first, last = math.ceil(panel.low / step - 1e-9), math.floor(panel.high / step + 1e-9)
    ticks = [i * step for i in range(first, last + 1)]
    across = "".join(f"M{_LEFT} {y(value)}H{right}" for value in ticks)
    down = "".join(f"M{x(value)} {top}V{bottom}" for value, _ in axis.ticks)
    yield f'<path class="stroke-line" d="{across}{down}M{_LEFT} {top}V{bottom}H{right}"'
    yield ' fill="none"/>'
    for look, points in panel.drawn:
        yield f'<path {look} d="M{"L".join(f"{x(a)} {y(b)}" for a, b in points)}"/>'
    if axis.marked is not None:
        yield f'<path {_MARK} d="M{x(axis.marked)} {top}V{bottom}"/>'
    yield from (_text(_LEFT - 7, y(value) + 4, "end", panel.written(value)) for value in ticks)
    yield _text(_LEFT, top - 8, "start", panel.title)


def _text(x: float, y: float, anchor: str, text: str) -> str:
    return f'<text x="{x:.1f}" y="{y:.1f}" text-anchor="{anchor}" font-size="12">{text}</text>'
