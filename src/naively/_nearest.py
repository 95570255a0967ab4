"""Names from data in messages: cut where they are long, and the hint for a mistyped one."""

from __future__ import annotations

import re
from collections.abc import Iterable
from difflib import get_close_matches

_DIGITS = re.compile("[0-9]+")
_LONGEST = 60  # what is longer is a text that was taken for a name


def short(name: object) -> str:
    """Return a name in one line, or the beginning of a long one."""
    text = " ".join(str(name).splitlines())
    return text if len(text) <= _LONGEST else text[: _LONGEST - 1] + "\N{HORIZONTAL ELLIPSIS}"


def _are_numbers_apart(one: str, other: str) -> bool:
    """Whether two names differ in their digits alone, as identifiers do: no slip of the hand."""
    bare = [_DIGITS.sub("0", each) for each in (one, other)]
    return one != other and bare[0] == bare[1]


def nearest(name: str, known: Iterable[str], what: str = "column") -> str:
    """Hint for a mistyped name: the nearest known one, or all (the first ten) when none is near."""
    names = list(known)
    folded = {each.casefold(): each for each in reversed(names)}
    close = get_close_matches(name.casefold(), folded, n=3)
    for each in close:
        if not _are_numbers_apart(name.casefold(), each):
            return f"did you mean `{short(folded[each])}`?"
    return listed(names, what)


def listed(known: Iterable[str], what: str = "column") -> str:
    """Hint for a name that is not there: those that are, the first ten."""
    names = list(known)
    shown = ", ".join(f"`{short(each)}`" for each in names[:10])
    more = f" and {len(names) - 10} more" if len(names) > 10 else ""
    return f"it has {shown}{more}." if names else f"it has no {what}s."
