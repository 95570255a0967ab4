"""HTML for notebooks: plain elements, without script or style of its own; names are escaped."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from html import escape

_LONGEST_NAME = 60
_SHOWN_POINTS = 12  # of a curve


def name_html(name: object) -> str:
    """Name from anybody's data, cut if it is long, with its own direction of writing."""
    text = str(name)
    shown = text if len(text) <= _LONGEST_NAME else text[: _LONGEST_NAME - 1] + "…"
    printable = "".join(c if c.isprintable() else "\N{REPLACEMENT CHARACTER}" for c in shown)
    return f"<bdi>{escape(printable)}</bdi>"


def note_html(certificate: object, names: Sequence[object], n_features: int, more: int) -> str:
    """Tell what a fitted selector has found: the proof, and the first features.

    Parameters
    ----------
    certificate
        Its sentence is shown.
    names
        Of the features to be listed.
    n_features
        Number of features there were to choose from.
    more
        How many selected features are not listed.
    """
    listed = ", ".join(map(name_html, names)) + (f" and {more:,} more" if more else "")
    k = len(names) + more
    return (
        f"<p>{escape(str(certificate))}</p>"
        f"<details><summary>{k:,} of {n_features:,} features</summary>{listed}</details>"
    )


def points_shown(n: int) -> list[int]:
    """Places of the points of a curve of n that a table shows: both ends, and some between."""
    last = min(n, _SHOWN_POINTS) - 1
    return sorted({round(i * (n - 1) / last) if last > 0 else 0 for i in range(last + 1)})


def table_html(heads: Iterable[str], rows: Iterable[Iterable[str]]) -> str:
    """Table of plain text."""
    head = "".join(f'<th scope="col">{escape(each)}</th>' for each in heads)
    body = "".join(
        "<tr>" + "".join(f"<td>{escape(cell)}</td>" for cell in row) + "</tr>" for row in rows
    )
    return f"<table><thead><tr>{head}</tr></thead><tbody>{body}</tbody></table>"
