"""Labels as text, the same from every kind of file."""

from __future__ import annotations

from typing import Any

import numpy as np

from naively._types import Array
from naively.statistics.labels import encode_labels


def clean(text: str) -> str:
    """Replace halves of surrogate pairs, which are not characters and cannot be written again."""
    if text.isascii():
        return text
    return text.encode("utf-8", "surrogatepass").decode("utf-8", "replace")


def label_text(value: Any) -> str | None:
    """Label as text: whole numbers without a point, blanks around it taken off, None if missing.

    Raises
    ------
    TypeError
        If the value is a list or another thing that cannot be one label.
    """
    if isinstance(value, str):
        return clean(value.strip()) or None
    if value is None or value != value:
        return None
    if isinstance(value, bool):
        return str(value).lower()
    if isinstance(value, int):
        return str(value)
    if isinstance(value, float):
        return str(int(value)) if value.is_integer() else repr(value)
    if isinstance(value, bytes):
        return label_text(value.decode("utf-8", "replace"))
    raise TypeError(f"a {type(value).__name__}")


def text_labels(labels: Array) -> tuple[Array, Array]:
    """Return the distinct labels as text, ascending (C,), and which each row has (n,).

    Raises
    ------
    ValueError
        If one of them is missing.
    """
    classes, codes = encode_labels(labels)
    names = [label_text(value) for value in classes.tolist()]
    if None in names:
        row = int(np.argmax(codes == names.index(None)))
        raise ValueError(f"the label is missing at row {row}.")
    distinct, positions = np.unique(np.array(names, dtype=str), return_inverse=True)
    return distinct, positions.astype(np.uint32)[codes]
