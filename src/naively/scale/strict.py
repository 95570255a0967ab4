"""CSV as Python's strict reader takes it: a stray quotation mark must not swallow what follows."""

from __future__ import annotations

from typing import Any, final

import numpy as np

from naively._kernels.csv_quotes import FIELD_START, IN_FIELD, stray_quote


@final
class StrictQuotes:
    """A stream of CSV that refuses text between a closing quotation mark and the next delimiter.

    Parameters
    ----------
    stream : file object
        Open for reading bytes, in an encoding that has ASCII in it.
    delimiter : str
        What separates the columns.
    """

    def __init__(self, stream: Any, delimiter: str) -> None:
        self._stream = stream
        self._delimiter = ord(delimiter)
        self._state = FIELD_START
        self._read = 0
        self.closed = False

    def read(self, size: int = -1) -> bytes:
        """Read some bytes.

        Raises
        ------
        ValueError
            Naming the first byte that stands in the wrong place.
        """
        block = bytes(self._stream.read(size) if size >= 0 else self._stream.read())
        if block and (b'"' in block or self._state > IN_FIELD):
            octets = np.frombuffer(block, dtype=np.uint8)
            self._state, place = stray_quote(octets, self._delimiter, self._state)
            if place >= 0:
                raise ValueError(
                    f"text follows a closing quotation mark at byte {self._read + place:,}; "
                    "if quotation marks are part of the text, add --no-quotes."
                )
        elif block:
            ended = block[-1] in (self._delimiter, 10, 13)
            self._state = FIELD_START if ended else IN_FIELD
        self._read += len(block)
        return block

    def readable(self) -> bool:
        """Whether it can be read."""
        return True

    def close(self) -> None:
        """Close the file."""
        self.closed = True
        self._stream.close()
