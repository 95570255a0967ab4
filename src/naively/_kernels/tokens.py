"""UTF-8 text as streams of numbers: words as identifiers, characters as code points.

The rules are those of scikit-learn's analyzers, and the tables of word and space characters are
made from Python's own, so tokens agree to the last character. ASCII letters are folded here when
asked; the case of other letters must have been folded before, in Python.

Identifiers are given in the order of first occurrence. A dictionary is a set of flat arrays: the
spellings one after another (`arena`), where each starts (`starts`), its hash, and an
open-addressing table of identifiers + 1 (`slots`, a power of two). Kernels stop when an array might
overflow and report the row they reached; the caller enlarges the arrays and calls again.
"""

from __future__ import annotations

import numpy as np

from naively._kernels.compiled import kernel
from naively._types import Array, BoolArray, IntArray

NOTHING = np.uint32(0xFFFFFFFF)  # the identifier of what a frozen dictionary does not hold

_BASIS = np.uint64(0xCBF29CE484222325)  # Fowler-Noll-Vo, 64 bits
_PRIME = np.uint64(0x100000001B3)
_SPREAD = np.uint64(0x9E3779B97F4A7C15)
_ONE = np.uint64(1)


@kernel
def words_utf8(  # noqa: C901, PLR0915 (one pass over the bytes: read, fold, hash, look up)
    text: Array,
    offsets: IntArray,
    first_row: int,
    word_byte: Array,
    word_character: BoolArray,
    min_characters: int,
    frozen: bool,
    slots: Array,
    hashes: Array,
    starts: IntArray,
    arena: Array,
    used: IntArray,
    ids: Array,
    ends: IntArray,
) -> int:
    """Write the identifiers of the words of each row; return the row reached.

    `word_byte` (256,) maps an ASCII byte to its folded form, or 0 outside words; `word_character`
    (0x110000,) tells other characters. `used[0]` is the number of words in the dictionary;
    `ends[i]` the number of identifiers up to the end of row i.
    """
    mask = np.uint64(len(slots) - 1)
    n_words = used[0]
    written = ends[first_row - 1] if first_row else 0
    for i in range(first_row, len(ends)):
        position, stop = offsets[i], offsets[i + 1]
        if n_words + (stop - position) // 2 + 1 >= len(hashes) or starts[
            n_words
        ] + stop - position > len(arena):
            used[0] = n_words
            return i
        while position < stop:
            tail = starts[n_words]  # a word is spelled behind the last one and kept if it is new
            write = tail
            characters = 0
            h = _BASIS
            width = 1
            while position < stop:
                byte = text[position]
                if byte < 128:
                    width = 1
                    folded = word_byte[byte]
                    if folded == 0:
                        break
                    arena[write] = folded
                    h = (h ^ np.uint64(folded)) * _PRIME
                else:
                    width = 2 if byte < 0xE0 else (3 if byte < 0xF0 else 4)
                    point = np.int64(byte) & (0xFF >> (width + 1))
                    for k in range(1, width):
                        point = (point << 6) | (np.int64(text[position + k]) & 0x3F)
                    if not word_character[point]:
                        break
                    for k in range(width):
                        arena[write + k] = text[position + k]
                        h = (h ^ np.uint64(text[position + k])) * _PRIME
                write += width
                position += width
                characters += 1
            position += width  # over the character that ended the word
            if characters < min_characters:
                continue
            h *= _SPREAD
            h ^= h >> np.uint64(29)
            slot = h & mask
            word = np.uint32(0)
            while True:
                word = slots[slot]
                if word == 0:
                    break
                if hashes[word - 1] == h:
                    other = starts[word - 1]
                    length = starts[word] - other
                    k = 0
                    if length == write - tail:
                        while k < length and arena[other + k] == arena[tail + k]:
                            k += 1
                    if k == length:
                        break
                slot = (slot + _ONE) & mask
            if word == 0 and not frozen:
                hashes[n_words] = h
                n_words += 1
                starts[n_words] = write
                word = np.uint32(n_words)
                slots[slot] = word
            ids[written] = word - np.uint32(1)  # NOTHING if a frozen dictionary lacks the word
            written += 1
        ends[i] = written
    used[0] = n_words
    return len(ends)


@kernel
def refill_slots(hashes: Array, n_entries: int, slots: Array) -> None:
    """Enter the identifiers 0 .. n_entries - 1 into an empty table."""
    mask = np.uint64(len(slots) - 1)
    for entry in range(n_entries):
        slot = hashes[entry] & mask
        while slots[slot]:
            slot = (slot + _ONE) & mask
        slots[slot] = np.uint32(entry + 1)


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
