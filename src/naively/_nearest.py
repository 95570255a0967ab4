"""The hint for a mistyped name."""

from __future__ import annotations

from collections.abc import Iterable
from difflib import get_close_matches


def nearest(name: str, known: Iterable[str]) -> str:
    """Hint for a mistyped name: the nearest known one, or all (the first ten) when none is near."""
    names = list(known)
    folded = {each.casefold(): each for each in reversed(names)}
    close = get_close_matches(name.casefold(), folded, n=1)
    if close:
        return f"did you mean `{folded[close[0]]}`?"
    shown = ", ".join(f"`{each}`" for each in names[:10])
    more = f" and {len(names) - 10} more" if len(names) > 10 else ""
    return f"it has {shown}{more}." if names else "it has no columns."
