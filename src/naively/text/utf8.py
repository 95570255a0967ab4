"""Texts of any container as UTF-8 bytes in one array, with their case folded as Python does it."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import cache
from typing import Any

import numpy as np

from naively._kernels.compiled import read_only
from naively._kernels.spelling import gather_strings
from naively._types import Array, BoolArray, IntArray

_N_CHARACTERS = 0x110000

_BEGINS_BLANK = np.zeros(256, dtype=bool)  # bytes that a blank character can begin with
_BEGINS_BLANK[[b for c in range(0x3001) if chr(c).isspace() for b in chr(c).encode()[:1]]] = True


@dataclass(frozen=True, slots=True)
class Texts:
    """Texts one after another."""

    bytes: Array  # (total,) uint8, UTF-8
    offsets: IntArray  # (n + 1,) text i is bytes[offsets[i]:offsets[i + 1]]

    def __len__(self) -> int:
        return len(self.offsets) - 1

    def rows(self, start: int, stop: int) -> Texts:
        """Return the texts start .. stop - 1, sharing memory."""
        return Texts(self.bytes, self.offsets[start : stop + 1])

    def take(self, rows: IntArray) -> Texts:
        """Return some of the texts, copied."""
        lengths = np.diff(self.offsets)[rows]
        offsets = np.zeros(len(rows) + 1, dtype=np.int64)
        np.cumsum(lengths, out=offsets[1:])
        content = np.empty(offsets[-1], dtype=np.uint8)
        gather_strings(
            read_only(self.bytes), read_only(self.offsets), rows.astype(np.int64), offsets, content
        )
        return Texts(content, offsets)

    def decoded(self, row: int) -> str:
        """Return one text."""
        piece = self.bytes[self.offsets[row] : self.offsets[row + 1]].tobytes()
        return piece.decode("utf-8", "surrogatepass")


@dataclass(frozen=True, slots=True)
class TokenRows:
    """Rows that are lists of strings."""

    tokens: Texts  # of all rows, one after another
    starts: IntArray  # (n + 1,) row i is tokens starts[i] .. starts[i + 1] - 1

    def __len__(self) -> int:
        return len(self.starts) - 1

    @property
    def bytes(self) -> Array:
        """Return the bytes of all tokens, as `offsets` divides them."""
        return self.tokens.bytes

    @property
    def offsets(self) -> IntArray:
        """Where the bytes of each row start, (n + 1,)."""
        return self.tokens.offsets[self.starts]

    def rows(self, start: int, stop: int) -> TokenRows:
        """Return the rows start .. stop - 1, sharing memory."""
        return TokenRows(self.tokens, self.starts[start : stop + 1])

    def decoded(self, row: int) -> str:
        """Return the tokens of one row, separated by blanks."""
        first, last = self.starts[row : row + 2].tolist()
        return " ".join(self.tokens.decoded(j) for j in range(first, last))

    def take(self, rows: IntArray) -> TokenRows:
        """Return some of the rows, copied."""
        lengths = np.diff(self.starts)[rows]
        starts = np.concatenate([[0], np.cumsum(lengths)])
        positions = np.arange(starts[-1]) + np.repeat(self.starts[:-1][rows] - starts[:-1], lengths)
        return TokenRows(self.tokens.take(positions), starts)


def are_blank(texts: Texts | TokenRows, longest: int) -> BoolArray:
    """Return which texts of so many bytes at most hold nothing but white space: (n,)."""
    lengths = np.diff(texts.offsets)
    blank = lengths == 0
    short = np.flatnonzero((lengths > 0) & (lengths <= longest))
    for row in short[_BEGINS_BLANK[texts.bytes[texts.offsets[short]]]].tolist():
        blank[row] = not texts.decoded(row).strip()
    return np.asarray(blank)


def as_tokens(rows: Any) -> TokenRows:
    """Return lists of strings of any container, as `as_texts` does strings.

    Raises
    ------
    ValueError
        If a row is missing, or is a string instead of a list of them; the message names it.
    """
    if isinstance(rows, TokenRows):
        return rows
    if isinstance(rows, Texts):
        raise ValueError("With analyzer='tokens', rows must be lists of strings; got strings.")
    rows = _bare(rows)
    if type(rows).__module__.startswith("pyarrow"):
        return _tokens_from_arrow(rows)
    rows = list(rows)
    for i, row in enumerate(rows):
        if row is None or isinstance(row, str | float):
            raise ValueError(
                f"With analyzer='tokens', rows must be lists of strings; got {type(row).__name__} "
                f"at row {i}."
            )
    starts = np.concatenate([[0], np.cumsum([len(row) for row in rows], dtype=np.int64)])
    return TokenRows(_from_strings([token for row in rows for token in row]), starts)


def _tokens_from_arrow(column: Any) -> TokenRows:
    import pyarrow as pa  # noqa: PLC0415 (optional)

    if isinstance(column, pa.ChunkedArray):
        column = column.combine_chunks() if column.num_chunks != 1 else column.chunk(0)
    if not is_list(column.type):
        raise ValueError(
            f"With analyzer='tokens', rows must be lists of strings; got {column.type}."
        )
    if column.null_count:
        row = column.is_null().to_numpy(zero_copy_only=False).argmax()
        raise ValueError(_not_text("a missing value", int(row)))
    lengths = np.from_dlpack(column.value_lengths())  # to_numpy would import pandas
    starts = np.concatenate([[0], np.cumsum(lengths, dtype=np.int64)])
    return TokenRows(_from_arrow(column.flatten()), starts)


def is_list(kind: Any) -> bool:
    """Whether a type of Arrow holds lists."""
    import pyarrow as pa  # noqa: PLC0415 (optional)

    return bool(pa.types.is_list(kind) or pa.types.is_large_list(kind))


def rows_of_column(column: Any) -> Texts | TokenRows:
    """Return a column of Arrow as texts or lists of tokens; what is missing is empty."""
    import pyarrow as pa  # noqa: PLC0415 (optional)

    if is_list(column.type):
        return as_tokens(column.fill_null(pa.scalar([], column.type)))
    return as_texts(column.fill_null("") if column.null_count else column)


def as_texts(texts: Any) -> Texts:
    """Return strings of any container as one array of bytes.

    Parameters
    ----------
    texts : iterable of str, array, Series of pandas or polars, or array of pyarrow, of length n
        Columns that hold Arrow memory are read in place.

    Returns
    -------
    texts : Texts
        May share memory with the input.

    Raises
    ------
    ValueError
        If an element is missing or not a string; the message names its position.
    """
    if isinstance(texts, Texts):
        return texts
    if isinstance(texts, str):
        raise ValueError("`texts` must be a sequence of strings; got one string. Pass [text].")
    if isinstance(texts, TokenRows):
        raise ValueError("These rows are lists of strings; count them with analyzer='tokens'.")
    texts = _bare(texts)
    if type(texts).__module__.startswith("pyarrow"):
        return _from_arrow(texts)
    return _from_strings(texts if isinstance(texts, Sequence) else list(texts))


def _bare(column: Any) -> Any:
    """Return what a column of a data frame holds: an array of Arrow, or a list."""
    if hasattr(column, "to_arrow"):  # polars
        return column.to_arrow()
    if hasattr(column, "__arrow_array__") and getattr(column, "array", None) is not None:
        column = getattr(column.array, "_pa_array", column)  # of pandas that holds Arrow
    is_arrow = type(column).__module__.startswith("pyarrow")
    return column.tolist() if hasattr(column, "tolist") and not is_arrow else column


def _from_strings(texts: Sequence[Any]) -> Texts:
    try:
        pieces = [text.encode("utf-8", "surrogatepass") for text in texts]
    except AttributeError:
        row = next(i for i, text in enumerate(texts) if not isinstance(text, str))
        raise ValueError(_not_text(type(texts[row]).__name__, row)) from None
    return _joined(pieces)


def _not_text(kind: str, row: int) -> str:
    return f"Texts must be strings; got {kind} at row {row}. Drop such rows or fill them with ''."


def _joined(pieces: Sequence[bytes]) -> Texts:
    offsets = np.zeros(len(pieces) + 1, dtype=np.int64)
    np.cumsum(np.fromiter(map(len, pieces), np.int64, len(pieces)), out=offsets[1:])
    return Texts(np.frombuffer(b"".join(pieces), dtype=np.uint8), offsets)


def _from_arrow(column: Any) -> Texts:
    import pyarrow as pa  # noqa: PLC0415 (optional)

    if isinstance(column, pa.ChunkedArray):
        column = column.combine_chunks() if column.num_chunks != 1 else column.chunk(0)
    if column.null_count:
        row = column.is_null().to_numpy(zero_copy_only=False).argmax()
        raise ValueError(_not_text("a missing value", int(row)))
    if not (pa.types.is_string(column.type) or pa.types.is_large_string(column.type)):
        try:
            column = column.cast(pa.large_string())
        except pa.ArrowException:
            raise ValueError(_not_text(str(column.type), 0)) from None
        if not len(column):
            return _joined([])
    width = np.int32 if pa.types.is_string(column.type) else np.int64
    _, offsets, data = column.buffers()
    if offsets is None:
        return _joined([])
    offsets = np.frombuffer(offsets, width)[column.offset : column.offset + len(column) + 1]
    content = np.frombuffer(data, np.uint8) if data is not None else np.empty(0, np.uint8)
    return Texts(content, offsets.astype(np.int64))


def lower_case(texts: Texts) -> Texts:
    """Return texts whose characters outside ASCII are folded by `str.lower`.

    Rows of ASCII alone are left as they are: the tokenizers fold those bytes on the way. A row
    with any other character is folded as a whole, since the case of a sigma depends on its word.
    """
    begin, end = int(texts.offsets[0]), int(texts.offsets[-1])
    beyond = np.flatnonzero(texts.bytes[begin:end] >= 128) + begin
    if not len(beyond):
        return texts
    rows = np.searchsorted(texts.offsets, beyond, side="right") - 1
    rows = rows[np.flatnonzero(np.diff(rows, prepend=-1))]
    lengths = np.diff(texts.offsets)
    pieces, position = [], begin
    for row in rows.tolist():
        start = texts.offsets[row]
        pieces.append(texts.bytes[position:start].tobytes())
        folded = texts.decoded(row).lower().encode("utf-8", "surrogatepass")
        pieces.append(folded)
        lengths[row] = len(folded)
        position = texts.offsets[row + 1]
    pieces.append(texts.bytes[position:end].tobytes())
    offsets = np.zeros(len(lengths) + 1, dtype=np.int64)
    np.cumsum(lengths, out=offsets[1:])
    return Texts(np.frombuffer(b"".join(pieces), dtype=np.uint8), offsets)


@cache
def word_characters() -> BoolArray:
    r"""Whether each code point matches `\w` in this Python, (0x110000,)."""
    table = _table(np.char.isalnum)
    table[ord("_")] = True
    return table


@cache
def space_characters() -> BoolArray:
    r"""Whether each code point matches `\s` in this Python, (0x110000,)."""
    return _table(np.char.isspace)


def _table(test: Callable[[Array], BoolArray]) -> BoolArray:
    return test(np.arange(_N_CHARACTERS, dtype=np.uint32).view("U1"))  # NumPy asks Python's tables


def word_bytes(*, lowercase: bool) -> Array:
    """Return what an ASCII byte becomes inside a word, or 0 where it is not part of one, (256,)."""
    table = np.zeros(256, dtype=np.uint8)
    for byte in range(128):
        character = chr(byte)
        if character.isalnum() or character == "_":
            table[byte] = ord(character.lower() if lowercase else character)
    return table


@cache
def every_character() -> BoolArray:
    """Take every code point for part of a word, (0x110000,)."""
    return np.ones(_N_CHARACTERS, dtype=np.bool_)


@cache
def all_characters() -> Texts:
    """Return every code point as a text of its own: the spelling of symbols that are characters."""
    widths = np.ones(_N_CHARACTERS, dtype=np.int64)
    for limit in (0x80, 0x800, 0x10000):
        widths[limit:] += 1
    offsets = np.zeros(_N_CHARACTERS + 1, dtype=np.int64)
    np.cumsum(widths, out=offsets[1:])
    everything = "".join(map(chr, range(_N_CHARACTERS))).encode("utf-8", "surrogatepass")
    return Texts(np.frombuffer(everything, dtype=np.uint8), offsets)
