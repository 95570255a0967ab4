"""Where displays draw."""

from __future__ import annotations

from typing import Any


def axes(ax: Any = None) -> Any:
    """Return the axes given, or those of a new figure.

    Raises
    ------
    ImportError
        If matplotlib is not installed.
    """
    if ax is not None:
        return ax
    try:
        from matplotlib import pyplot
    except ImportError as error:
        raise ImportError(
            "Plots need matplotlib, which is not installed: pip install 'naively[plot]'."
        ) from error
    return pyplot.subplots(layout="constrained")[1]  # a plain `savefig` cuts no label off
