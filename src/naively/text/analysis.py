"""From texts to streams of term identifiers, by dictionaries that grow.

    texts -> symbols (words by their spelling, or code points) -> terms (n-grams of symbols)

One stream serves all uses: statistics count it, sparse rows are made of it.
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import final

import numpy as np

from naively._kernels.compiled import read_only
from naively._kernels.ngrams import ngram_nodes, refill_nodes, spell_nodes, spelling_lengths
from naively._kernels.tokens import (
    NOTHING,
    WINDOW,
    characters_utf8,
    move_words,
    padded_words,
    words_utf8,
)
from naively._types import Array, BoolArray, IntArray
from naively.text.features import TextFeatures
from naively.text.utf8 import (
    Texts,
    TokenRows,
    all_characters,
    as_texts,
    as_tokens,
    every_character,
    lower_case,
    space_characters,
    word_bytes,
    word_characters,
)
from naively.text.vocabulary import Vocabulary

_FIRST = 1 << 12
_SYMBOL_BYTES = 8
_NO_TABLE = np.zeros(1, dtype=np.bool_)


@dataclass(frozen=True, slots=True)
class Stream:
    """Identifiers of the terms of some rows, in the order of the text."""

    ids: Array  # (total,) uint32; NOTHING for what a frozen analyzer does not know
    ends: IntArray  # (n,) where each row ends


@final
class Analyzer:
    """Gives terms identifiers in the order in which they occur; changes as it reads.

    Parameters
    ----------
    features : TextFeatures
        What the terms are.
    vocabulary : Vocabulary, default=None
        If given, only these terms are found, and identifier j is the j-th of them.
    """

    def __init__(self, features: TextFeatures, vocabulary: Vocabulary | None = None) -> None:
        self.features = features
        self._word_byte = word_bytes(lowercase=features.lowercase)
        # Words of any pattern are cut by it first, and are tokens from then on.
        pattern = None if features.min_characters else re.compile(features.token_pattern)
        self._pattern = pattern
        self._of_tokens = features.analyzer == "tokens" or pattern is not None
        self._words = _Words()
        self._tree = _Tree()
        self._of_characters = features.analyzer in ("char", "char_wb")
        self._direct = not self._of_characters and features.ngram_range == (1, 1)
        self._columns: Array | None = None  # position in the vocabulary of each identifier
        self._n_stopped = self._enter_words(features.stop_words)
        if vocabulary is not None:
            self._columns = self._positions(vocabulary)

    @property
    def n_terms(self) -> int:
        """Identifiers given so far, those of prefixes of n-grams included."""
        return int((self._words if self._direct else self._tree).used[0])

    def read(self, texts: Texts | TokenRows) -> Stream:
        """Return the terms of each text."""
        if self._pattern is not None:
            texts = _cut(as_texts(texts), self._pattern, lowercase=self.features.lowercase)
        elif self.features.lowercase and isinstance(texts, Texts):
            texts = lower_case(texts)
        stream = self._symbols(texts)
        if self._columns is None:
            return stream
        known = stream.ids != NOTHING
        kept = stream.ids[known]
        ends = np.concatenate([[0], np.cumsum(known)])[stream.ends]
        return _only_terms(Stream(self._columns[kept], ends))

    def spelled(self) -> Texts:
        """Return the spelling of every identifier."""
        words = self._words.spelled()
        if self._direct:
            return words
        symbols = all_characters() if self._of_characters else words
        return self._tree.spelled(symbols, separator=0 if self._of_characters else 1)

    def _symbols(self, texts: Texts | TokenRows) -> Stream:
        low, high = self.features.ngram_range
        frozen = self._columns is not None
        if self._of_characters:
            texts = as_texts(texts)
            points = _characters(texts, space_characters(), lowercase=self.features.lowercase)
            if self.features.analyzer == "char":
                return self._tree.read(points, low, high, clipped=False, frozen=frozen)
            padded, row_words = _padded(points)
            nodes = self._tree.read(padded, low, high, clipped=True, frozen=frozen)
            return Stream(nodes.ids, np.concatenate([[0], nodes.ends])[row_words])
        if self._of_tokens:
            words = self._tokens(as_tokens(texts), frozen=frozen)
        else:
            words = self._words.read(
                as_texts(texts), self._word_byte, self.features.min_characters or 1, frozen=frozen
            )
        if self._n_stopped:
            words = _without(words, self._n_stopped)
        if self._direct:
            return words
        return self._tree.read(words, low, high, clipped=False, frozen=frozen)

    def _tokens(self, rows: TokenRows, *, frozen: bool) -> Stream:
        """Words of rows that are cut already: each token is a text of one word."""
        tokens, starts = rows.tokens, rows.starts
        tokens = tokens.rows(int(starts[0]), int(starts[-1]))
        _check_tokens(tokens, blanks_allowed=self._direct)
        words = self._words.read(tokens, _EVERY_BYTE, 1, frozen=frozen, others=every_character())
        return Stream(words.ids, np.concatenate([[0], words.ends])[starts[1:] - starts[0]])

    def _enter_words(self, words: tuple[str, ...]) -> int:
        """Give the first identifiers to stop words, by which they are known from then on."""
        if words and not self._of_characters:
            self._whole_words(as_texts(list(words)))
        return int(self._words.used[0])

    def _whole_words(self, texts: Texts) -> Stream:
        """Enter words from names, which are separated by blanks, if n-grams are wanted."""
        if not self._of_tokens:
            return self._words.read(texts, word_bytes(lowercase=False), 1, frozen=False)
        byte = _EVERY_BYTE if self._direct else _EVERY_BYTE * (_EVERY_BYTE != ord(" "))
        return self._words.read(texts, byte, 1, frozen=False, others=every_character())

    def _positions(self, vocabulary: Vocabulary) -> Array:
        """Enter the terms of a vocabulary; return the position of each identifier in it."""
        texts = Texts(vocabulary.bytes, vocabulary.starts)
        if self._of_characters:
            symbols = _characters(texts, _NO_SPACE, lowercase=False)
        else:
            symbols = self._whole_words(texts)
        if self._direct:
            terms = symbols
        else:  # the n-gram of the whole name, whatever its n
            longest = int(np.diff(symbols.ends, prepend=0).max(initial=1))
            terms = self._tree.read(symbols, longest, longest, clipped=True, frozen=False)
        positions = np.full(self.n_terms, NOTHING, dtype=np.uint32)
        positions[terms.ids] = np.arange(len(vocabulary), dtype=np.uint32)
        return positions


def _cut(texts: Texts, pattern: re.Pattern[str], *, lowercase: bool) -> TokenRows:
    """Cut texts into the words of a pattern."""
    decoded = (texts.decoded(i) for i in range(len(texts)))
    return as_tokens([pattern.findall(text.lower() if lowercase else text) for text in decoded])


_EVERY_BYTE = np.arange(256, dtype=np.uint8)
_NO_SPACE = np.zeros(0x110000, dtype=np.bool_)


def _characters(texts: Texts, space: BoolArray, *, lowercase: bool) -> Stream:
    points = np.empty(int(texts.offsets[-1] - texts.offsets[0]), dtype=np.uint32)
    ends = np.empty(len(texts), dtype=np.int64)
    content, offsets = read_only(texts.bytes), read_only(texts.offsets)
    characters_utf8(content, offsets, lowercase, space, points, ends)
    return Stream(points[: ends[-1]] if len(ends) else points, ends)


def _check_tokens(tokens: Texts, *, blanks_allowed: bool) -> None:
    content = tokens.bytes[tokens.offsets[0] : tokens.offsets[-1]]
    if not blanks_allowed and (content == ord(" ")).any():
        raise ValueError(
            "Tokens must hold no blanks where n-grams of them are counted, since blanks separate "
            "their names; replace them, for example by '_'."
        )
    if (content == 0).any():
        raise ValueError("Tokens must hold no NUL characters; take them out.")


def _padded(points: Stream) -> tuple[Stream, IntArray]:
    """Words between blanks, and the number of words up to the end of each row."""
    total = int(points.ends[-1]) if len(points.ends) else 0
    # A row of L characters has at most (L + 1) / 2 words: 2 L + 1 characters with their blanks.
    padded = np.empty(2 * total + len(points.ends), dtype=np.uint32)
    ends = np.empty(total + 1, dtype=np.int64)
    words = np.empty(len(points.ends), dtype=np.int64)
    n_words = padded_words(points.ids, points.ends, space_characters(), padded, ends, words)
    return Stream(padded, ends[:n_words]), words


def _without(words: Stream, n_stopped: int) -> Stream:
    kept = words.ids >= n_stopped
    return Stream(words.ids[kept], np.concatenate([[0], np.cumsum(kept)])[words.ends])


def _only_terms(stream: Stream) -> Stream:
    """Drop what has an identifier only because a longer term begins with it."""
    kept = stream.ids != NOTHING
    if kept.all():
        return stream
    return Stream(stream.ids[kept], np.concatenate([[0], np.cumsum(kept)])[stream.ends])


class _Words:
    """Words by their spelling."""

    def __init__(self) -> None:
        self.table = np.zeros(4 * _FIRST, dtype=np.uint64)  # of two numbers a slot; half are free
        self.starts = np.zeros(_FIRST + 1, dtype=np.int64)
        self.arena = np.empty(_FIRST * _SYMBOL_BYTES, dtype=np.uint8)
        self.used = np.zeros(1, dtype=np.int64)
        self._window = np.empty((3, WINDOW), dtype=np.uint64)

    def read(
        self,
        texts: Texts,
        word_byte: Array,
        least: int,
        *,
        frozen: bool,
        others: BoolArray | None = None,
    ) -> Stream:
        content, offsets = read_only(texts.bytes), read_only(texts.offsets)
        table = _NO_TABLE
        if (content[offsets[0] : offsets[-1]] >= 128).any():
            table = word_characters() if others is None else others
        total = int(offsets[-1] - offsets[0])
        ids = np.empty(total // least + 1, dtype=np.uint32)
        ends = np.empty(len(texts), dtype=np.int64)
        row = 0
        while True:
            row = words_utf8(
                content, offsets, row, word_byte, table, least, frozen, self.table,
                self.starts, self.arena, self.used, self._window, ids, ends,
            )  # fmt: skip
            if row == len(ends):
                return Stream(ids[: ends[-1]] if len(ends) else ids[:0], ends)
            self._make_room(int(texts.offsets[row + 1] - texts.offsets[row]))

    def _make_room(self, n_bytes: int) -> None:
        """Enlarge what a row of `n_bytes` might overflow."""
        n_words = int(self.used[0])
        if self.starts[n_words] + n_bytes > len(self.arena):
            self.arena = _longer(self.arena, 2 * (len(self.arena) + n_bytes))
        capacity = n_words + n_bytes // 2 + 1
        if 4 * capacity > len(self.table):
            old, self.table = self.table, np.zeros(4 * _power_of_two(capacity), dtype=np.uint64)
            self.starts = _longer(self.starts, len(self.table) // 4 + 1)
            move_words(old, self.table)

    def spelled(self) -> Texts:
        starts = self.starts[: self.used[0] + 1]
        return Texts(self.arena[: starts[-1]], starts)


class _Tree:
    """n-grams by the n-gram one symbol shorter and the last symbol."""

    def __init__(self) -> None:
        self.keys = np.empty(_FIRST, dtype=np.uint64)
        self.slots = np.zeros(2 * _FIRST, dtype=np.uint32)
        self.used = np.zeros(1, dtype=np.int64)

    def read(self, symbols: Stream, low: int, high: int, *, clipped: bool, frozen: bool) -> Stream:
        total = int(symbols.ends[-1]) if len(symbols.ends) else 0
        nodes = np.empty(total * (high - low + 1) + 1, dtype=np.uint32)
        ends = np.empty(len(symbols.ends), dtype=np.int64)
        segment = 0
        while True:
            segment = ngram_nodes(
                symbols.ids, symbols.ends, segment, low, high, clipped, frozen,
                self.slots, self.keys, self.used, nodes, ends,
            )  # fmt: skip
            if segment == len(ends):
                return Stream(nodes[: ends[-1]] if len(ends) else nodes[:0], ends)
            begin = symbols.ends[segment - 1] if segment else 0
            self._grow(int(symbols.ends[segment] - begin) * high)

    def _grow(self, n_nodes: int) -> None:
        capacity = 2 * max(len(self.keys), n_nodes)
        self.keys = _longer(self.keys, capacity)
        self.slots = np.zeros(_power_of_two(2 * capacity), dtype=np.uint32)
        refill_nodes(self.keys, int(self.used[0]), self.slots)

    def spelled(self, symbols: Texts, separator: int) -> Texts:
        keys = self.keys[: self.used[0]]
        lengths = np.empty(len(keys), dtype=np.int64)
        spelling_lengths(keys, read_only(symbols.offsets), separator, lengths)
        starts = np.zeros(len(keys) + 1, dtype=np.int64)
        np.cumsum(lengths, out=starts[1:])
        arena = np.empty(starts[-1], dtype=np.uint8)
        spell_nodes(
            keys, read_only(symbols.bytes), read_only(symbols.offsets), separator, starts, arena
        )
        return Texts(arena, starts)


def _longer(array: Array, length: int) -> Array:
    longer = np.empty(length, dtype=array.dtype)
    longer[: len(array)] = array
    return longer


def _power_of_two(length: int) -> int:
    return 1 << (length - 1).bit_length()
