"""Warnings that point at the caller's own line."""

from __future__ import annotations

import sys
import warnings


def warn(text: str, category: type[Warning] = UserWarning) -> None:
    """Warn at the innermost line outside this package."""
    frame, level = sys._getframe(1), 2
    while frame.f_back is not None and frame.f_globals.get("__name__", "").startswith("naively."):
        frame, level = frame.f_back, level + 1
    warnings.warn(text, category, stacklevel=level)
