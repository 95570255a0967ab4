"""The path of a report: the gain with its bound above, the accuracy below."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from naively.plots.svg import PALETTE


def draw_path(
    figure: Any,
    k: Sequence[int],
    gain: Sequence[float],
    bound: Sequence[float],
    accuracy: Sequence[tuple[int, float, float]],
    chosen: int,
    stability: Sequence[tuple[int, float]] = (),
) -> list[Any]:
    """Draw into an empty figure.

    Parameters
    ----------
    figure : matplotlib Figure
        Where to draw.
    k : (K,) int
        Numbers of features.
    gain, bound : (K,) float
        Of the features, and the most that any could have.
    accuracy : list of (k, accuracy, standard error)
        The error is 0 where it is not known.
    chosen : int
        The number to be marked.
    stability : list of (k, share)
        Share of halves of the rows that select a feature of the k best, on average.

    Returns
    -------
    axes : list of matplotlib Axes
        From the upper to the lower.
    """
    heights = [1.3, 1] if accuracy or stability else [1]
    axes: list[Any] = list(
        figure.subplots(len(heights), sharex=True, height_ratios=heights, squeeze=False)[:, 0]
    )
    axes[0].plot(k, bound, color=PALETTE["grey"], linewidth=4, clip_on=False)
    axes[0].plot(k, gain, color=PALETTE["mark"], linewidth=1.5, clip_on=False)
    axes[0].set_title("gain (thin) under its proven limit (broad)", loc="left")
    axes[0].set_ylim(bottom=0)
    axes[0].yaxis.set_major_formatter(lambda value, _: f"{value:,.0f}")
    if accuracy:
        places, means, spreads = (list(each) for each in zip(*accuracy, strict=True))
        if any(spreads):
            low = [mean - spread for mean, spread in zip(means, spreads, strict=True)]
            high = [mean + spread for mean, spread in zip(means, spreads, strict=True)]
            axes[1].fill_between(
                places, low, high, color=PALETTE["grey"], alpha=0.35, clip_on=False
            )
        axes[1].plot(places, means, color=PALETTE["mark"], linewidth=1.5, clip_on=False)
    if stability:
        axes[1].plot(
            *zip(*stability, strict=True), color=PALETTE["ink"], linewidth=1.5,
            linestyle=(0, (1, 1.5)), clip_on=False,
        )  # fmt: skip
    if len(axes) > 1:
        named = ["accuracy"] * bool(accuracy)
        named += [f"stability{' (dotted)' * bool(accuracy)}"] * bool(stability)
        axes[1].set_title(", ".join(named), loc="left")
        axes[1].yaxis.set_major_formatter(lambda value, _: f"{100 * value:.0f} %")
    for each in axes:
        each.axvline(
            chosen, color=PALETTE["ink"], linewidth=1, linestyle=(0, (4, 3)), clip_on=False
        )
    _log_axis(axes[-1], k)
    axes[-1].set_xlabel("number of features k")
    return axes


def _log_axis(axes: Any, k: Sequence[int]) -> None:
    from matplotlib.ticker import FixedLocator, NullLocator

    axes.set_xscale("log")
    axes.set_xlim(k[0], max(k[-1], k[0] + 1))
    powers = [10**i for i in range(20) if k[0] <= 10**i <= k[-1]]
    axes.xaxis.set_major_locator(FixedLocator(powers))
    axes.xaxis.set_minor_locator(NullLocator())
    axes.xaxis.set_major_formatter(lambda value, _: f"{value:,.0f}")
