"""How a text file is written."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class Style:
    """How a text file is written."""

    encoding: str = "utf-8"
    delimiter: str | None = None  # of CSV
    skip: int = 0  # lines before the first of CSV, such as sep=;
