"""The features of texts as the command asks for them."""

from __future__ import annotations

import os
from typing import Literal, cast

from naively._nearest import nearest
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
        `english` or another of `LANGUAGES`, or a file with one word a line.

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


_CODES = (
    "afrikaans af, arabic ar, armenian hy, basque eu, bengali bn, breton br, bulgarian bg, "
    "catalan ca, chinese zh, croatian hr, czech cs, danish da, dutch nl, esperanto eo, estonian "
    "et, finnish fi, french fr, galician gl, german de, greek el, gujarati gu, hausa ha, hebrew "
    "he, hindi hi, hungarian hu, indonesian id, irish ga, italian it, japanese ja, korean ko, "
    "kurdish ku, latin la, latvian lv, lithuanian lt, malay ms, marathi mr, norwegian no, persian "
    "fa, polish pl, portuguese pt, romanian ro, russian ru, slovak sk, slovenian sl, somali so, "
    "sotho st, spanish es, swahili sw, swedish sv, tagalog tl, thai th, turkish tr, ukrainian uk, "
    "urdu ur, vietnamese vi, yoruba yo, zulu zu"
)
LANGUAGES = dict(each.split() for each in _CODES.split(", "))  # code by name, besides english


def listed(choice: str | None) -> tuple[str, ...]:
    """Stop words of a language, or from a file.

    Those of English are scikit-learn's; those of other languages of Stopwords ISO.
    """
    if choice is None:
        return ()
    if choice == "english":
        from sklearn.feature_extraction.text import ENGLISH_STOP_WORDS

        return tuple(sorted(ENGLISH_STOP_WORDS))
    if choice in LANGUAGES:
        return _of_language(choice)
    if not os.path.exists(choice):
        hint = nearest(choice, ["english", *LANGUAGES])
        way = f" {hint[0].upper()}{hint[1:]}" if hint.startswith("did you mean") else ""
        raise InputError(
            "`--words stop-words` must be a language, such as english, or a file with one word a "
            f"line; there is no file {choice!r}.{way}"
        )
    return tuple(sorted({word for word in read_words(choice) if word}))


def _of_language(name: str) -> tuple[str, ...]:
    try:
        from stopwordsiso import stopwords
    except ModuleNotFoundError as error:
        raise InputError(
            f"`--words stop-words={name}` needs the extra `languages`; install it with: pip "
            "install 'naively[languages]'"
        ) from error
    return tuple(sorted(stopwords(LANGUAGES[name])))
