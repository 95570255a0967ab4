"""Whether two texts say the same, numbers but for rounding, and where they do not."""

from __future__ import annotations

import difflib
import re

RELATIVE = 1e-9
FLOOR = 1e-12  # of the absolute difference: what is 0 but for rounding
_NUMBER = re.compile(r"([-+]?\d+(?:\.\d+)?(?:[eE][-+]?\d+)?)")
_SHOWN = 30  # lines of a difference


def alike(first: str, second: str) -> bool:
    """Whether the words are the same, the whole numbers too, and the others nearly."""
    if first == second:
        return True
    one, other = _NUMBER.split(first), _NUMBER.split(second)
    if len(one) != len(other) or one[::2] != other[::2]:
        return False
    return all(map(_near, one[1::2], other[1::2]))


def _near(first: str, second: str) -> bool:
    if first == second:
        return True
    if first.lstrip("+-").isdigit() and second.lstrip("+-").isdigit():
        return False
    a, b = float(first), float(second)
    return abs(a - b) <= max(RELATIVE * max(abs(a), abs(b)), FLOOR)


def difference(stored: dict[str, str], found: dict[str, str]) -> str:
    """Return what differs, section by section and line by line; nothing if all is alike."""
    said = []
    for heading in dict.fromkeys([*stored, *found]):
        one, other = (each.get(heading, "").rstrip("\n") for each in (stored, found))
        if heading in stored and heading in found and alike(one, other):
            continue
        was, now = one.split("\n"), other.split("\n")
        if len(was) == len(now):  # lines that are alike are no part of the difference
            now = [a if alike(a, b) else b for a, b in zip(was, now, strict=True)]
        lines = list(difflib.unified_diff(was, now, "stored", "found", lineterm="", n=1))
        rest = len(lines) - _SHOWN
        said += [f"in `{heading}`:", *(line[:400] for line in lines[:_SHOWN])]
        said += [f"... and {rest} lines more"] if rest > 0 else []
    return "\n".join(said)
