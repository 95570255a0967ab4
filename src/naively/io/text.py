"""Text in: from documents to counts of words or characters."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any, Literal, cast

import numpy as np

from naively.io.errors import InputError
from naively.io.progress import Progress, silent
from naively.text.counter import count_rows, text_matrix
from naively.text.features import TOKEN_PATTERN, TextFeatures
from naively.text.vocabulary import Vocabulary

ANALYZERS = ("word", "char", "char_wb", "tokens")
NO_WORD = (
    "no text holds any word that the rules let through; check that --text names the text, and "
    "--stop-words, --token-pattern and --ngrams."
)


@dataclass(frozen=True, slots=True)
class TextRule:
    """How a document becomes features; it travels with the model, so both sides count alike."""

    columns: tuple[str, ...] = ("text",)  # the columns of text; no n-gram spans two of them
    analyzer: str = "word"
    ngrams: tuple[int, int] = (1, 1)  # smallest and largest n
    stop_words: tuple[str, ...] = ()
    token_pattern: str = TOKEN_PATTERN
    lowercase: bool = True


@dataclass(frozen=True, slots=True)
class Counted:
    """How often each feature occurs in each document."""

    X: Any  # (n, m) CSR, int64
    names: tuple[str, ...]  # (m,) ascending when found in the documents


def count(
    documents: Sequence[tuple[str, ...]],
    rule: TextRule,
    progress: Progress = silent,
    *,
    source: str = "the input",
) -> Counted:
    """Count the features that occur in the documents, which are called `source` in messages.

    Raises
    ------
    InputError
        If no document holds any feature, or the rule cannot be applied.
    """
    vocabulary, X = count_rows(
        _flat(documents), text_features(rule), parts=_width(documents), progress=progress
    )
    counted = Counted(X, tuple(vocabulary))
    if not counted.names:
        raise InputError(f"{source}: {NO_WORD}")
    return counted


def count_known(
    documents: Sequence[tuple[str, ...]],
    names: Sequence[str],
    rule: TextRule,
    progress: Progress = silent,
) -> Any:
    """Count given features only: (n, len(names)) CSR, int64."""
    import scipy.sparse as sp

    if not names:
        return sp.csr_array((len(documents), 0), dtype=np.int64)
    features = text_features(rule)
    order = np.array(sorted(range(len(names)), key=names.__getitem__))
    X = text_matrix(
        _flat(documents),
        features,
        Vocabulary.of(names),
        parts=_width(documents),
        progress=progress,
    )
    return X if (np.diff(order) > 0).all() else X[:, np.argsort(order)]


def text_features(rule: TextRule) -> TextFeatures:
    """Give the definition of the features of a rule.

    Raises
    ------
    InputError
        If the rule cannot be applied.
    """
    try:
        plain = TextFeatures(lowercase=rule.lowercase, token_pattern=rule.token_pattern)
    except ValueError as error:
        raise InputError(str(error).replace("`token_pattern`", "`--token-pattern`")) from error
    stop: tuple[str, ...] = ()
    if rule.stop_words and rule.analyzer == "word":
        # A stop word is taken apart as the texts are, or "don't" would never match.
        stop = tuple(count_rows(list(rule.stop_words), plain)[0])
    elif rule.analyzer == "tokens":
        stop = rule.stop_words
    analyzer = cast("Literal['word', 'char', 'char_wb', 'tokens']", rule.analyzer)
    return replace(plain, analyzer=analyzer, ngram_range=rule.ngrams, stop_words=stop)


def _flat(documents: Sequence[tuple[str, ...]]) -> list[str]:
    return [part for document in documents for part in document]


def _width(documents: Sequence[tuple[str, ...]]) -> int:
    return len(documents[0]) if len(documents) else 1


def by_region(documents: Sequence[tuple[str, ...]]) -> list[tuple[str, ...]]:
    """Give the texts of the first column, then of the second, ...: each its own document."""
    return [(part,) for column in zip(*documents, strict=True) for part in column]


def side_by_side(X: Any, n_regions: int) -> Any:
    """Turn counts of the documents of `by_region`, (R * n, m), into regions, (n, R * m)."""
    import scipy.sparse as sp

    n = X.shape[0] // n_regions
    return sp.hstack([X[r * n : (r + 1) * n] for r in range(n_regions)], format="csr")


def english_stop_words() -> tuple[str, ...]:
    """Give scikit-learn's list of English stop words, sorted."""
    from sklearn.feature_extraction.text import ENGLISH_STOP_WORDS

    return tuple(sorted(ENGLISH_STOP_WORDS))
