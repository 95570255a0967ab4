"""Figures as SVG that may stand in any page: shapes and text alone.

What a strict security policy refuses is left out: style attributes and sheets, references, scripts
and images. Colours of the palette become classes, so that the page decides what they are, in light
and dark.
"""

from __future__ import annotations

import io
import re
from collections.abc import Iterator
from typing import Any
from xml.etree import ElementTree

PALETTE = {"ink": "#010101", "mark": "#020202", "grey": "#030303", "line": "#040404"}
_CLASSES = {color: name for name, color in PALETTE.items()}
_ELEMENTS = {"svg", "g", "path", "text", "tspan"}
_KEPT = {"d", "x", "y", "viewBox", "transform"}
_STYLES = {"stroke-width", "stroke-dasharray", "stroke-linecap", "text-anchor", "opacity"}
_SVG = "{http://www.w3.org/2000/svg}"


def clean_svg(figure: Any) -> str:
    """Draw a matplotlib figure as SVG of shapes and text.

    Parameters
    ----------
    figure : matplotlib Figure
        Colours outside of `PALETTE` are not kept, nor are markers and clipping, which are
        references.
    """
    from matplotlib import rc_context

    out = io.BytesIO()
    with rc_context({"svg.fonttype": "none", "path.simplify": False}):
        figure.savefig(out, format="svg", transparent=True, metadata={"Date": None})
    root = ElementTree.fromstring(out.getvalue())
    plain = ElementTree.Element("svg", _attributes(root))
    plain.extend(_cleaned(root))
    return ElementTree.tostring(plain, encoding="unicode")


def _cleaned(element: ElementTree.Element) -> Iterator[ElementTree.Element]:
    for child in element:
        tag = child.tag.removeprefix(_SVG) if isinstance(child.tag, str) else ""
        if tag not in _ELEMENTS:
            continue
        attributes = _attributes(child)
        inner = list(_cleaned(child))
        if tag == "g" and not attributes:
            yield from inner
        elif inner or child.text or tag == "path":
            made = ElementTree.Element(tag, attributes)
            made.text = child.text if tag in ("text", "tspan") else None
            made.extend(inner)
            yield made


def _attributes(element: ElementTree.Element) -> dict[str, str]:
    kept = {name: _rounded(value) for name, value in element.attrib.items() if name in _KEPT}
    style = dict(part.split(":", 1) for part in element.get("style", "").split(";") if ":" in part)
    style = {name.strip(): value.strip() for name, value in style.items()}
    kept |= {name: value for name, value in style.items() if name in _STYLES}
    size = re.search(r"([\d.]+)px", style.get("font", style.get("font-size", "")))
    if size:
        kept["font-size"] = size[1]
    classes = [
        f"{name}-{_CLASSES[style[name]]}"
        for name in ("fill", "stroke")
        if style.get(name) in _CLASSES
    ]
    if classes:
        kept["class"] = " ".join(classes)
    if element.tag == f"{_SVG}path" and "fill" not in style and "fill" not in kept:
        return kept
    if style.get("fill") == "none":
        kept["fill"] = "none"
    return kept


def _rounded(value: str) -> str:
    return re.sub(r"-?\d+\.\d+", lambda match: f"{float(match[0]):.2f}", value)
