"""Plain figures: panels without frames, lines with few points."""

from matplotlib.figure import Figure


def panels(*titles, width=3.2, height=2.8, **options):
    """A figure with a row of axes, one for each title."""
    figure = Figure(figsize=(width * len(titles), height), layout="constrained")
    axes = figure.subplots(1, len(titles), squeeze=False, **options)[0]
    for each, title in zip(axes, titles, strict=True):
        each.set_title(title, fontsize="medium")
        each.spines[["top", "right"]].set_visible(False)
    return figure, axes
