"""How a text file is written."""

from __future__ import annotations

import re
from dataclasses import dataclass

THOUSANDS = re.compile(r"[+-]?[1-9]\d{0,2}(,\d{3})+")  # or thousandths
_COMMA = re.compile(r"\s*[+-]?\d*,\d+(?:[eE][+-]?\d+)?\s*")


@dataclass(frozen=True, slots=True)
class Style:
    """How a text file is written."""

    encoding: str = "utf-8"
    delimiter: str | None = None  # of CSV
    decimal: str = "."  # of CSV: what numbers have for a point
    skip: int = 0  # lines before the first of CSV, such as sep=;


def has_comma(cell: str) -> bool:
    """Whether a cell is a number with a comma for a point."""
    return _COMMA.fullmatch(cell) is not None


def pointed(cell: str) -> str:
    """Return a cell, a number with a point for its comma."""
    return cell.replace(",", ".") if has_comma(cell) else cell
