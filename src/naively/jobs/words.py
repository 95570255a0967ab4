"""The features of texts as the command asks for them."""

from __future__ import annotations

import os
from typing import Literal, cast

from naively.read.errors import InputError
from naively.read.matrix import read_words
from naively.text.counter import count_rows
from naively.text.features import TextFeatures


def text_features(
    *, analyzer: str, ngram_range: tuple[int, int], stop_words: str | None, token_pattern: str
) -> TextFeatures:
    """Define what is counted in texts.

    Parameters
    ----------
    analyzer, ngram_range, token_pattern
        As of `TextFeatures`; cases are folded, but of tokens.
    stop_words
        `english`, or a file with one word a line.

    Raises
    ------
    InputError
        If the definition is none, or the file cannot be read.
    """
    try:
        plain = TextFeatures(token_pattern=token_pattern)
    except ValueError as error:
        raise InputError(
            str(error).replace("`token_pattern`", "`--words token-pattern`")
        ) from error
    words = listed(stop_words)
    stop: tuple[str, ...] = ()
    if analyzer == "word" and words:
        # A stop word is taken apart as the texts are, or "don't" would never match.
        stop = tuple(count_rows(list(words), plain)[0])
    elif analyzer == "tokens":
        stop = words
    kind = cast("Literal['word', 'char', 'char_wb', 'tokens']", analyzer)
    return TextFeatures(kind, ngram_range, token_pattern=token_pattern, stop_words=stop)


def listed(choice: str | None) -> tuple[str, ...]:
    """Stop words by name, or from a file."""
    if choice is None:
        return ()
    if choice == "english":
        from sklearn.feature_extraction.text import ENGLISH_STOP_WORDS

        return tuple(sorted(ENGLISH_STOP_WORDS))
    if not os.path.exists(choice):
        raise InputError(
            "`--words stop-words` must be english, or a file with one word a line; there is no "
            f"file {choice!r}."
        )
    return tuple(sorted({word for word in read_words(choice) if word}))
