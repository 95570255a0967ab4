"""Quotation marks of CSV, checked as they stream by."""

from __future__ import annotations

from typing import Any

from naively._kernels.compiled import kernel

FIELD_START, IN_FIELD, IN_QUOTES, AFTER_QUOTE = 0, 1, 2, 3
_QUOTE, _LF, _CR = 34, 10, 13


@kernel
def stray_quote(block: Any, delimiter: int, state: int) -> tuple[int, int]:
    """Follow fields through a block of bytes.

    Parameters
    ----------
    block : (n,) uint8
        The bytes that come next.
    delimiter
        Byte between two fields.
    state
        As the block before left it; 0 at the beginning.

    Returns
    -------
    state, position
        The state behind the block, and where text follows a closing quotation mark; -1 if nowhere.
    """
    for i in range(len(block)):
        byte = block[i]
        if state == IN_QUOTES:
            if byte == _QUOTE:
                state = AFTER_QUOTE
        elif byte in (delimiter, _LF, _CR):
            state = FIELD_START
        elif byte == _QUOTE and state != IN_FIELD:
            state = IN_QUOTES  # it opens a field, or is the second of two
        elif state == AFTER_QUOTE:
            return state, i
        else:
            state = IN_FIELD
    return state, -1
