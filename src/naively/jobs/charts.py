"""The charts of a report, drawn by the displays; none where matplotlib is not installed."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from importlib.util import find_spec
from typing import Any

import numpy as np

from naively.report.page import Chart, Charts, Drawing
from naively.report.summary import CoveragePoint, PathCurve, Summary

_WIDE, _NARROW = (720, 330), (360, 330)  # points; a narrow screen shows text in its own size
_LOW = 0.62  # height of a chart of one curve, relative to that of two
_FONT_SIZE = 12

_Draw = Callable[[Any], list[Any]]


def charts_of(summary: Summary) -> Charts:
    """Draw the charts of a summary."""
    if find_spec("matplotlib") is None:
        return Charts()
    evaluation = summary.evaluation
    return Charts(
        path=_path_chart(summary.path) if summary.path is not None else None,
        coverage=_coverage_chart(evaluation.coverage)
        if evaluation is not None and len(evaluation.coverage) > 1
        else None,
    )


def _path_chart(path: PathCurve) -> Chart | None:
    from naively.plots.path_chart import draw_path

    points = path.points
    gain = [point.objective - path.baseline for point in points]
    bound = [point.bound - path.baseline for point in points]
    if len(points) < 2 or not all(map(math.isfinite, [*gain, *bound])):
        return None
    accuracy = [(p.k, p.accuracy, p.spread or 0.0) for p in points if p.accuracy is not None]
    stability = [(p.k, p.stability) for p in points if p.stability is not None]
    ks = [point.k for point in points]

    def draw(figure: Any) -> list[Any]:
        return draw_path(figure, ks, gain, bound, accuracy, path.chosen, stability)

    return _in_two_sizes(draw, ks, 1.0 if accuracy or stability else _LOW)


def _coverage_chart(points: Sequence[CoveragePoint]) -> Chart:
    from naively.judging.coverage import CoverageCurve
    from naively.plots.coverage import CoverageDisplay
    from naively.plots.svg import PALETTE

    curve = CoverageCurve(
        *(
            np.array([getattr(point, name) for point in points])
            for name in ("coverage", "accuracy", "confidence")
        )
    )

    def draw(figure: Any) -> list[Any]:
        axes = figure.subplots()
        CoverageDisplay(curve).plot(axes, color=PALETTE["mark"], linewidth=1.5, clip_on=False)
        axes.get_legend().remove()
        axes.set(xlabel="share of the rows that is answered", ylabel="")
        axes.set_title("accuracy on them", loc="left")
        axes.set_ylim(top=min(axes.get_ylim()[1], 1.0))
        for axis in (axes.xaxis, axes.yaxis):
            axis.set_major_formatter(lambda value, _: f"{100 * value:.4g} %")
        return [axes]

    return _in_two_sizes(draw, [point.coverage for point in points], _LOW)


def _in_two_sizes(draw: _Draw, x: Sequence[float], height: float) -> Chart:
    with _quiet_style():
        wide, narrow = (_drawing(draw, x, (w, round(h * height))) for w, h in (_WIDE, _NARROW))
    return Chart(wide, narrow)


def _drawing(draw: _Draw, x: Sequence[float], size: tuple[int, int]) -> Drawing:
    from matplotlib.figure import Figure

    from naively.plots.svg import clean_svg

    width, height = size
    figure = Figure(figsize=(width / 72, height / 72), dpi=72)
    axes = draw(figure)
    figure.subplots_adjust(
        left=58 / width, right=1 - 16 / width, top=1 - 24 / height, bottom=42 / height, hspace=0.32
    )
    svg = clean_svg(figure)
    places = axes[-1].transData.transform([(each, 0.5) for each in x])[:, 0]
    return Drawing(
        svg,
        tuple(round(float(each), 1) for each in places),
        top=round(height * (1 - axes[0].get_position().y1), 1),
        bottom=round(height * (1 - axes[-1].get_position().y0), 1),
    )


@contextmanager
def _quiet_style() -> Iterator[None]:
    from matplotlib import rc_context

    from naively.plots.svg import PALETTE

    style: dict[Any, Any] = {
        "font.size": _FONT_SIZE,
        "axes.titlesize": _FONT_SIZE,
        "axes.labelsize": _FONT_SIZE,
        "axes.edgecolor": PALETTE["line"],
        "axes.spines.top": False,
        "axes.spines.right": False,
        "axes.grid": True,
        "grid.color": PALETTE["line"],
        "text.color": PALETTE["ink"],
        "axes.labelcolor": PALETTE["ink"],
        "xtick.labelcolor": PALETTE["ink"],
        "ytick.labelcolor": PALETTE["ink"],
        # Ticks are references to one shape, which a page need not have: the grid does for them.
        **{f"{axis}tick.{which}.size": 0 for axis in "xy" for which in ("major", "minor")},
    }
    with rc_context(style):
        yield
