"""Names from anybody's data, made safe to show."""

from __future__ import annotations

import unicodedata

_BLANK = "\N{OPEN BOX}"
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
