"""Text in: from documents to counts of words or characters."""

from __future__ import annotations

import re
import reprlib
import warnings
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
from typing import Any, Literal, cast

import numpy as np

from naively.io.errors import InputError
from naively.io.progress import Progress, silent
from naively.text.counter import count_rows, text_matrix
from naively.text.features import TextFeatures
from naively.text.vocabulary import Vocabulary

ANALYZERS = ("word", "char", "char_wb", "tokens")
TOKEN_PATTERN = r"(?u)\b\w\w+\b"  # scikit-learn's: words of two or more letters or digits
ONE_CHARACTER = r"(?u)\b\w+\b"
NO_WORD = (
    "no text holds any word that the rules let through; check that --text names the text, and "
    "--stop-words, --token-pattern and --ngrams."
)
_REPORT_EVERY = 200  # documents between two reports of progress

_Analyzer = Callable[[str], list[str]]


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
    features = text_features(rule)
    if features is not None:
        vocabulary, X = count_rows(
            _flat(documents), features, parts=_width(documents), progress=progress
        )
        counted = Counted(X, tuple(vocabulary))
    else:
        counted = _count_by_pattern(documents, rule, progress)
    if not counted.names:
        raise InputError(f"{source}: {NO_WORD}")
    return counted


def _count_by_pattern(
    documents: Sequence[tuple[str, ...]], rule: TextRule, progress: Progress
) -> Counted:
    """Count words of any pattern, as scikit-learn does."""
    vectorizer = _vectorizer(rule)
    try:
        X = vectorizer.fit_transform(_reported(documents, progress))
    except ValueError:  # nothing found
        return Counted(None, ())
    return Counted(X, tuple(vectorizer.get_feature_names_out().tolist()))


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
    if features is None:
        vectorizer = _vectorizer(rule, {name: i for i, name in enumerate(names)})
        return vectorizer.transform(_reported(documents, progress))
    order = np.array(sorted(range(len(names)), key=names.__getitem__))
    X = text_matrix(
        _flat(documents),
        features,
        Vocabulary.of(names),
        parts=_width(documents),
        progress=progress,
    )
    return X if (np.diff(order) > 0).all() else X[:, np.argsort(order)]


def text_features(rule: TextRule) -> TextFeatures | None:
    """Give the definition of features that are counted without scikit-learn, if the rule is one."""
    _check_pattern(rule)
    shortest = {TOKEN_PATTERN: 2, ONE_CHARACTER: 1}.get(rule.token_pattern)
    if shortest is None and rule.analyzer == "word":
        return None
    plain = TextFeatures(lowercase=rule.lowercase, min_characters=shortest or 2)
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


def _vectorizer(rule: TextRule, vocabulary: dict[str, int] | None = None) -> Any:
    from sklearn.feature_extraction.text import CountVectorizer

    return CountVectorizer(
        analyzer=_per_column(_analyzer(rule)), vocabulary=vocabulary, dtype=np.int64
    )


def _per_column(analyze: _Analyzer) -> Callable[[tuple[str, ...]], Iterable[str]]:
    def analyzed(document: tuple[str, ...]) -> Iterable[str]:
        if len(document) == 1:
            return analyze(document[0])
        return [feature for part in document for feature in analyze(part)]

    return analyzed


def _analyzer(rule: TextRule) -> _Analyzer:
    """Build scikit-learn's analyzer for the rule: the same tokens as its users know."""
    from sklearn.feature_extraction.text import CountVectorizer

    _check_pattern(rule)
    word = rule.analyzer == "word"
    plain = CountVectorizer(
        lowercase=rule.lowercase, token_pattern=rule.token_pattern
    ).build_analyzer()
    # A stop word is taken apart as the texts are, or "don't" would never match.
    stop = sorted({token for entry in rule.stop_words for token in plain(entry)}) if word else []
    vectorizer = CountVectorizer(
        analyzer=rule.analyzer,
        ngram_range=rule.ngrams,
        stop_words=stop or None,
        token_pattern=rule.token_pattern if word else None,
        lowercase=rule.lowercase,
    )
    with warnings.catch_warnings():
        warnings.filterwarnings("ignore", message="Your stop_words may be inconsistent")
        analyzer: _Analyzer = vectorizer.build_analyzer()
    return analyzer


def _check_pattern(rule: TextRule) -> None:
    fault = pattern_fault(rule.token_pattern)
    if fault:
        raise InputError(f"`--token-pattern` {fault}")


def pattern_fault(pattern: str) -> str:
    """Say what is wrong with a pattern of words; empty if nothing is."""
    try:
        groups = re.compile(pattern).groups
    except (re.error, OverflowError, RecursionError) as error:
        shown = reprlib.repr(pattern)
        return f"must be a regular expression that Python can use: {error}; got {shown}."
    if groups > 1:
        return f"must have at most one group, {groups} given; write the others as (?:...)."
    return ""


def _reported(
    documents: Sequence[tuple[str, ...]], progress: Progress
) -> Iterator[tuple[str, ...]]:
    for done, document in enumerate(documents):
        if done % _REPORT_EVERY == 0:
            progress("counting", done, len(documents))
        yield document
