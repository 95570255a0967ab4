"""Names from anybody's data, made safe to show."""

from __future__ import annotations

import unicodedata
from collections.abc import Iterable, Iterator

from naively._nearest import short

_BLANK = "\N{OPEN BOX}"
_COMPUTED = ("=", "+", "-", "@", "\t", "\r")
_JOINERS = "\u200c\u200d"  # part of the spelling of many languages


def visible(name: str) -> str:
    """Spell out blanks at the ends of a name and characters without a shape.

    Control characters could drive a terminal, and marks of direction turn the text around them.
    """
    if not name:
        return "(empty)"
    inner = name.strip(" ")
    before = len(name) - len(name.lstrip(" "))
    after = len(name) - len(inner) - before
    return _BLANK * before + printable(inner) + _BLANK * after


def shortened(name: str, most: int = 120) -> str:
    """Name as `visible` spells it, cut if it is long: a page and a line have room for so much."""
    shown = visible(name[: most + 1] if len(name) > most else name)
    return shown if len(shown) <= most else shown[: most - 1] + "\N{HORIZONTAL ELLIPSIS}"


def formula(names: Iterable[object]) -> str | None:
    """First name that a spreadsheet computes where it opens a CSV file; None if it does so nowhere.

    A formula may call other programs, or send the cells beside it away.
    """
    for name in names:
        if isinstance(name, str) and name.startswith(_COMPUTED) and not _is_number(name):
            return name
    return None


def formula_note(name: str | None) -> Iterator[str]:
    """Say that a name is a formula to a spreadsheet; nothing if none is."""
    if name is not None:
        yield (
            "Spreadsheets take what begins with =, +, - or @ for a formula, as "
            f"{short(name)} here does; import the CSV as text."
        )


def _is_number(name: str) -> bool:
    try:
        float(name)
    except ValueError:
        return False
    return True


def printable(text: str) -> str:
    """Spell out the characters of a text that have no shape."""
    return text if text.isprintable() else "".join(map(_shaped, text))


def _shaped(character: str) -> str:
    if character.isprintable() or character in _JOINERS:
        return character
    if unicodedata.category(character) == "Zs":
        return _BLANK
    code = ord(character)
    if code < 0x100:
        return f"\\x{code:02x}"
    return f"\\u{code:04x}" if code < 0x10000 else f"\\U{code:08x}"
