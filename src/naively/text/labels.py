"""Labels as text, the same from every kind of file."""

from __future__ import annotations

import re
import unicodedata
from datetime import date
from decimal import Decimal
from typing import Any

_POINT = re.compile(r"(\d)\.0*$")
_WHOLE = re.compile(r"(-?(?:0|[1-9]\d*))\.0+")  # a whole number, written as a real one
# What files of text and sheets write for nothing, as pandas reads them.
ABSENT = frozenset(
    ("", "#N/A", "#N/A N/A", "#NA", "-1.#IND", "-1.#QNAN", "-NaN", "-nan", "1.#IND", "1.#QNAN")
    + ("<NA>", "N/A", "NA", "NULL", "NaN", "None", "n/a", "nan", "null")
)


def clean(text: str) -> str:
    """Replace halves of surrogate pairs, which are not characters and cannot be written again."""
    if text.isascii():
        return text
    return text.encode("utf-8", "surrogatepass").decode("utf-8", "replace")


def date_text(value: date) -> str:
    """Return a day, or a day and a time, as pandas writes them into CSV."""
    text = str(value)
    return text.removesuffix(" 00:00:00")


def name_text(value: Any) -> str:
    """Name of a row as text; empty if it is missing."""
    text = value.decode("utf-8", "replace") if isinstance(value, bytes) else value
    return "" if text is None or text != text else clean(str(text))


def label_text(value: Any) -> str | None:
    """Label as text, None if missing: one spelling of a value, whatever the file.

    Whole numbers have no point, in text neither (1.0 is 1); truth values are True and False (as
    Python, pandas and what they write have them), and other text stands as it is written, but for
    blanks around it.

    Raises
    ------
    TypeError
        If the value is a list or another thing that cannot be one label.
    """
    if isinstance(value, str):
        whole = _WHOLE.fullmatch(value.strip())
        if whole is not None:
            return whole[1] if whole[1] != "-0" else "0"
        return clean(value.strip()) or None
    if value is None or value != value:
        return None
    if isinstance(value, bool):
        return str(value)
    if isinstance(value, int):
        return str(value)
    if isinstance(value, float):
        return str(int(value)) if value.is_integer() else repr(value)
    if isinstance(value, Decimal):
        integral = value == value.to_integral_value()
        return str(int(value)) if integral else f"{value.normalize():f}"
    if isinstance(value, bytes):
        return label_text(value.decode("utf-8", "replace"))
    if isinstance(value, date):
        return date_text(value)
    raise TypeError(f"a {type(value).__name__}")


def folded(label: str) -> str:
    """Return what labels have in common that differ by case, width or a final .0 only."""
    return _POINT.sub(r"\1", unicodedata.normalize("NFKC", label).casefold())
