"""The features of texts as the command asks for them."""

from __future__ import annotations

import os
from typing import Literal, cast

from naively._nearest import nearest
from naively.read.errors import InputError
from naively.read.matrix import read_words
from naively.text.features import TextFeatures
from naively.text.stop_words import LANGUAGES, stop_words_of, taken_apart


def text_features(
    *, analyzer: str, ngram_range: tuple[int, int], stop_words: str | None, token_pattern: str
) -> TextFeatures:
    """Define what is counted in texts.

    Parameters
    ----------
    analyzer, ngram_range, token_pattern
        As of `TextFeatures`; cases are folded, but of tokens.
    stop_words
        One of `LANGUAGES`, or a file with one word a line.

    Raises
    ------
    InputError
        If the definition is none, or the file cannot be read.
    """
    try:
        TextFeatures(token_pattern=token_pattern)
    except ValueError as error:
        raise InputError(
            str(error).replace("`token_pattern`", "`--words token-pattern`")
        ) from error
    words = listed(stop_words)
    stop: tuple[str, ...] = ()
    if analyzer == "word" and words:
        stop = taken_apart(words, token_pattern)
    elif analyzer == "tokens":
        stop = words
    kind = cast("Literal['word', 'char', 'char_wb', 'tokens']", analyzer)
    return TextFeatures(kind, ngram_range, token_pattern=token_pattern, stop_words=stop)


def listed(choice: str | None) -> tuple[str, ...]:
    """Stop words of a language, or from a file."""
    if choice is None:
        return ()
    if choice in LANGUAGES:
        try:
            return stop_words_of(choice)
        except ModuleNotFoundError as error:
            raise InputError(f"`--words stop-words={choice}`: {error}") from error
    if not os.path.exists(choice):
        by_code = {code: name for name, code in LANGUAGES.items()}
        hint = nearest(by_code.get(choice, choice), LANGUAGES)
        way = f"{hint[0].upper()}{hint[1:]}"
        if choice in by_code:
            way = f"Did you mean {by_code[choice]!r}?"
        elif not hint.startswith("did you mean"):
            way = f"Languages: {', '.join(LANGUAGES)}."
        raise InputError(
            "`--words stop-words` must be a language, such as english, or a file with one word a "
            f"line; there is no file {choice!r}. {way}"
        )
    return tuple(sorted({word for word in read_words(choice) if word}))
