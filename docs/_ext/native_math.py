"""Formulas as MathML, which browsers draw themselves: the pages need no script and no network.

docutils, on which Sphinx stands, translates TeX. A formula that it cannot translate is a warning,
hence an error where warnings are.
"""

from __future__ import annotations

import re
from typing import Any

from docutils import nodes
from docutils.utils.math import MathError, latex2mathml
from sphinx.application import Sphinx
from sphinx.util import logging

_LOGGER = logging.getLogger(__name__)


def setup(app: Sphinx) -> dict[str, Any]:
    """Register the way to draw formulas."""
    app.add_html_math_renderer("native", (_inline, None), (_display, None))
    return {"parallel_read_safe": True, "parallel_write_safe": True}


def _inline(writer: Any, node: nodes.math) -> None:
    writer.body.append(_mathml(node))
    raise nodes.SkipNode


def _display(writer: Any, node: nodes.math_block) -> None:
    identifier = f' id="{node["ids"][0]}"' if node.get("ids") else ""
    number = f'<span class="eqno">({node["number"]})</span>' if node.get("number") else ""
    formula = _mathml(node, as_block=True)
    writer.body.append(f'<div class="formula"{identifier}>{formula}{number}</div>')
    raise nodes.SkipNode


def _mathml(node: Any, *, as_block: bool = False) -> str:
    source = node.astext()
    if as_block and ("\\\\" in source or "&" in source) and "\\begin" not in source:
        source = f"\\begin{{aligned}}{source}\\end{{aligned}}"
    try:
        tree = latex2mathml.tex2mathml(_spaced(source), as_block=as_block)
    except MathError as error:
        _LOGGER.warning("formula: %s: %s", error, source, location=node)
        return f"<code>{_escaped(source)}</code>"
    return str(tree)


def _spaced(source: str) -> str:
    """Set off the names of functions and put indices beside bars, as TeX does, not docutils."""
    source = re.sub(r"(\\bar ?\w)_", r"\1{}_", source)
    source = re.sub(r"(?<=[\w})])\s*(?=\\(?:log|exp|max|min)\b)", r" \\, ", source)
    return re.sub(r"(\\(?:log|exp))(?!\s*(?:[({]|\\[Bb]ig|\\left)|[a-z])", r"\1 \\,", source)


def _escaped(source: str) -> str:
    """Return text as HTML shows it."""
    return source.replace("&", "&amp;").replace("<", "&lt;").replace(">", "&gt;")
