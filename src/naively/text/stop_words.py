"""Words of a language that say nothing of what a text is about."""

from __future__ import annotations

from collections.abc import Sequence

from naively.text.counter import count_rows
from naively.text.features import TextFeatures

_CODES = (
    "afrikaans af, arabic ar, armenian hy, basque eu, bengali bn, breton br, bulgarian bg, "
    "catalan ca, chinese zh, croatian hr, czech cs, danish da, dutch nl, english en, esperanto "
    "eo, estonian et, finnish fi, french fr, galician gl, german de, greek el, gujarati gu, hausa "
    "ha, hebrew he, hindi hi, hungarian hu, indonesian id, irish ga, italian it, japanese ja, "
    "korean ko, kurdish ku, latin la, latvian lv, lithuanian lt, malay ms, marathi mr, norwegian "
    "no, persian fa, polish pl, portuguese pt, romanian ro, russian ru, slovak sk, slovenian sl, "
    "somali so, sotho st, spanish es, swahili sw, swedish sv, tagalog tl, thai th, turkish tr, "
    "ukrainian uk, urdu ur, vietnamese vi, yoruba yo, zulu zu"
)
LANGUAGES = dict(each.split() for each in _CODES.split(", "))  # code by name


def stop_words_of(language: str) -> tuple[str, ...]:
    """Stop words of one of `LANGUAGES`, ascending.

    Those of English are scikit-learn's; those of other languages of Stopwords ISO.

    Raises
    ------
    ModuleNotFoundError
        If the package that has them is not installed.
    """
    if language == "english":
        from sklearn.feature_extraction.text import ENGLISH_STOP_WORDS

        return tuple(sorted(ENGLISH_STOP_WORDS))
    try:
        from stopwordsiso import stopwords
    except ModuleNotFoundError as error:
        raise ModuleNotFoundError(
            f"stop words of {language} need the extra `languages`; install it with: pip install "
            "'naively[languages]'"
        ) from error
    return tuple(sorted(stopwords(LANGUAGES[language])))


def taken_apart(words: Sequence[str], token_pattern: str) -> tuple[str, ...]:
    """Stop words as they stand among the words of texts, or "don't" would never match."""
    if not words:
        return ()
    return tuple(count_rows(list(words), TextFeatures(token_pattern=token_pattern))[0])
