"""Whether two texts say the same, numbers but for rounding, and where they do not."""

from __future__ import annotations

import difflib
import re

RELATIVE = 1e-9
FLOOR = 1e-12  # of the absolute difference: what is 0 but for rounding
_NUMBER = re.compile(r"([-+]?\d+(?:\.\d+)?(?:[eE][-+]?\d+)?)")
_SHOWN, _WIDTH = 30, 160  # lines of a difference, and characters of a line
_BEFORE = 60  # characters before the place where two lines differ


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
    said: list[str] = []
    for heading in dict.fromkeys([*stored, *found]):
        one, other = (each.get(heading, "").rstrip("\n") for each in (stored, found))
        if heading in stored and heading in found and alike(one, other):
            continue
        was, now = one.split("\n"), other.split("\n")
        if len(was) == len(now):
            lines = _changes(was, now)
        else:
            lines = list(difflib.unified_diff(was, now, "stored", "found", lineterm="", n=1))
        rest = len(lines) - _SHOWN
        said += [f"in `{heading}`:", *(line[:_WIDTH] for line in lines[:_SHOWN])]
        said += [f"... and {rest} lines more"] if rest > 0 else []
    return "\n".join(said)


def _changes(was: list[str], now: list[str]) -> list[str]:
    """Each line that is not alike, from shortly before the place where it differs."""
    lines = []
    for number, (one, other) in enumerate(zip(was, now, strict=True), 1):
        if not alike(one, other):
            parts = list(zip(_NUMBER.split(one), _NUMBER.split(other), strict=False))
            same = [a == b or (i % 2 == 1 and _near(a, b)) for i, (a, b) in enumerate(parts)]
            first = same.index(False) if False in same else len(same)
            for sign, side, line in (("-", 0, one), ("+", 1, other)):
                start = max(sum(len(part[side]) for part in parts[:first]) - _BEFORE, 0)
                lines.append(f"{sign}{number}: {'…' if start else ''}{line[start:]}")
    return lines
