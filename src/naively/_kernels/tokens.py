"""UTF-8 text as streams of numbers: words as identifiers, characters as code points.

The rules are those of scikit-learn's analyzers, and the tables of word and space characters are
made from Python's own, so tokens agree to the last character. ASCII letters are folded here when
asked; the case of other letters must have been folded before, in Python.

Identifiers are given in the order of first occurrence. A dictionary is a set of flat arrays: the
spellings one after another (`arena`), where each starts (`starts`), and an open-addressing table
(`table`, a power of two of slots) of two numbers a slot: a key, and the identifier + 1 with the
number of bytes above it. The key of at most eight bytes are these bytes, so that a short word is
compared in one look; that of more is a hash, and the spellings are compared as well. Kernels stop
when an array might overflow and report the row they reached; the caller enlarges the arrays and
calls again.
"""

from __future__ import annotations

import numpy as np

from naively._kernels.compiled import kernel, kernel_part
from naively._kernels.prefetch import prefetch
from naively._types import Array, BoolArray, IntArray

NOTHING = np.uint32(0xFFFFFFFF)  # the identifier of what a frozen dictionary does not hold
WINDOW = 128  # words that are read before they are looked up: their slots are on the way meanwhile

_MIX = np.uint64(0xBF58476D1CE4E5B9)  # of SplitMix64 (Steele, Lea, Flood 2014)
_SPREAD = np.uint64(0x9E3779B97F4A7C15)
_HALF = np.uint64(32)
_IDENTIFIER = np.uint64(0xFFFFFFFF)
_ONE, _TWO, _EIGHT, _ALL_BITS = np.uint64(1), np.uint64(2), np.uint64(8), np.uint64(64)


@kernel_part
def _mixed(h: np.uint64, eight: np.uint64) -> np.uint64:
    h = (h ^ eight) * _MIX
    return h ^ (h >> _HALF)


@kernel_part
def _slot(key: np.uint64, mask: np.uint64) -> np.uint64:
    h = key * _SPREAD
    return (h ^ (h >> _HALF)) & mask


@kernel
def words_utf8(  # noqa: C901, PLR0915 (one pass over the bytes: read, fold, hash, look up)
    text: Array,
    offsets: IntArray,
    first_row: int,
    word_byte: Array,
    word_character: BoolArray,
    min_characters: int,
    frozen: bool,
    table: Array,
    starts: IntArray,
    arena: Array,
    used: IntArray,
    window: Array,
    ids: Array,
    ends: IntArray,
) -> int:
    """Write the identifiers of the words of each row; return the row reached.

    `word_byte` (256,) maps an ASCII byte to its folded form, or 0 outside words; `word_character`
    (0x110000,) tells other characters. `used[0]` is the number of words in the dictionary;
    `ends[i]` the number of identifiers up to the end of row i. `window` (3, WINDOW) is room for
    key, number of bytes and place of some words.
    """
    mask = np.uint64(len(table) // 2 - 1)
    n_words = used[0]
    written = ends[first_row - 1] if first_row else 0
    for i in range(first_row, len(ends)):
        length = offsets[i + 1] - offsets[i]
        if (n_words + length // 2 + 1) * 4 > len(table) or starts[n_words] + length > len(arena):
            used[0] = n_words
            return i
        position, stop = np.uint64(offsets[i]), np.uint64(offsets[i + 1])
        while position < stop:
            n_read = 0
            while position < stop and n_read < WINDOW:
                begin = position
                characters = 0
                h = key = shift = np.uint64(0)
                width = _ONE
                while position < stop:
                    byte = text[position]
                    if byte < 128:
                        byte = word_byte[byte]
                        if byte == 0:
                            width = _ONE
                            break
                        characters += 1
                    elif byte >= 0xC0:  # other bytes go on with the character
                        width = np.uint64(2) if byte < 0xE0 else np.uint64(3 + (byte >= 0xF0))
                        point = np.int64(byte) & (0xFF >> (np.int64(width) + 1))
                        for k in range(1, np.int64(width)):
                            point = (point << 6) | (np.int64(text[position + np.uint64(k)]) & 0x3F)
                        if not word_character[point]:
                            break
                        characters += 1
                    if shift == _ALL_BITS:
                        h = _mixed(h, key)
                        key = shift = np.uint64(0)
                    key |= np.uint64(byte) << shift
                    shift += _EIGHT
                    position += _ONE
                size = position - begin
                position += width  # over the character that ended the word
                if characters >= min_characters:
                    key = key if size <= _EIGHT else _mixed(h, key)
                    window[0, n_read] = key
                    window[1, n_read] = size
                    window[2, n_read] = begin
                    n_read += 1
                    prefetch(table, _TWO * _slot(key, mask))
            for w in range(n_read):
                key, size, begin = window[0, w], window[1, w], window[2, w]
                slot = _slot(key, mask)
                word = np.uint64(0)
                while True:
                    entry = table[_TWO * slot + _ONE]
                    word = entry & _IDENTIFIER
                    if word == 0:
                        break
                    if table[_TWO * slot] == key and entry >> _HALF == size:
                        alike = np.uint64(0) if size > _EIGHT else size
                        other = np.uint64(starts[word - _ONE])
                        while alike < size:
                            byte = text[begin + alike]
                            byte = word_byte[byte] if byte < 128 else byte
                            if byte != arena[other + alike]:
                                break
                            alike += _ONE
                        if alike == size:
                            break
                    slot = (slot + _ONE) & mask
                if word == 0 and not frozen:
                    tail = np.uint64(starts[n_words])
                    for j in range(np.int64(size)):
                        byte = text[begin + np.uint64(j)]
                        arena[tail + np.uint64(j)] = word_byte[byte] if byte < 128 else byte
                    n_words += 1
                    starts[n_words] = np.int64(tail + size)
                    word = np.uint64(n_words)
                    table[_TWO * slot] = key
                    table[_TWO * slot + _ONE] = size << _HALF | word
                # NOTHING if a frozen dictionary lacks the word
                ids[written] = np.uint32((word - _ONE) & _IDENTIFIER)
                written += 1
        ends[i] = written
    used[0] = n_words
    return len(ends)


@kernel
def move_words(old: Array, table: Array) -> None:
    """Enter the words of one table into a larger, empty one."""
    mask = np.uint64(len(table) // 2 - 1)
    for place in range(0, len(old), 2):
        if old[place + 1] == 0:
            continue
        slot = _slot(old[place], mask)
        while table[_TWO * slot + _ONE] != 0:
            slot = (slot + _ONE) & mask
        table[_TWO * slot] = old[place]
        table[_TWO * slot + _ONE] = old[place + 1]


@kernel
def characters_utf8(
    text: Array,
    offsets: IntArray,
    lowercase: bool,
    space: BoolArray,
    points: Array,
    ends: IntArray,
) -> None:
    """Write the code points of each row, a run of two or more spaces as one blank."""
    written = 0
    for i in range(len(ends)):
        position, stop = offsets[i], offsets[i + 1]
        run = 0
        while position < stop:
            byte = text[position]
            width = 1 if byte < 128 else (2 if byte < 0xE0 else (3 if byte < 0xF0 else 4))
            point = np.int64(byte) if width == 1 else np.int64(byte) & (0xFF >> (width + 1))
            for k in range(1, width):
                point = (point << 6) | (np.int64(text[position + k]) & 0x3F)
            position += width
            run = run + 1 if space[point] else 0
            if run >= 2:
                points[written - 1] = 32
                continue
            if lowercase and 65 <= point <= 90:
                point += 32
            points[written] = point
            written += 1
        ends[i] = written


@kernel
def padded_words(
    points: Array,
    ends: IntArray,
    space: BoolArray,
    padded: Array,
    word_ends: IntArray,
    row_words: IntArray,
) -> int:
    """Write each word between two blanks; return the number of words.

    `word_ends[w]` is where word w ends in `padded`; `row_words[i]` the number of words up to the
    end of row i.
    """
    written = n_words = begin = 0
    for i in range(len(ends)):
        inside = False
        for position in range(begin, ends[i]):
            blank = space[points[position]]
            if blank and inside:
                padded[written] = 32
                written += 1
                word_ends[n_words] = written
                n_words += 1
            elif not blank:
                if not inside:
                    padded[written] = 32
                    written += 1
                padded[written] = points[position]
                written += 1
            inside = not blank
        if inside:
            padded[written] = 32
            written += 1
            word_ends[n_words] = written
            n_words += 1
        begin = ends[i]
        row_words[i] = n_words
    return n_words
