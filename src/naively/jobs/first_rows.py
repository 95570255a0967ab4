"""What the first rows look like: names among the features, logarithms, letters in parts."""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Iterator, Sequence
from itertools import combinations
from typing import Any

import numpy as np

from naively._nearest import short
from naively._types import FloatArray
from naively.models.counting import FIRST_ROWS, uncounted
from naively.models.kinds import MODELS
from naively.read.batch import Batch
from naively.statistics.matrix import Matrix, is_sparse
from naively.text.features import EMOJI, FeatureDefinition, TextFeatures
from naively.text.utf8 import Texts

_FEWEST = 20  # rows from which on values that are all distinct are no chance
_GLANCE = 50  # rows that tell most columns not to be names
_SHOWN = 5
_WORD = re.compile(r"[!-~]{1,60}")  # a category, in ASCII: some scripts write texts without blanks
_EMOJI = re.compile(EMOJI)
_PAIRS = re.compile(r"\A\s*[\w.:-]+=[^\s=]+(\s+[\w.:-]+=[^\s=]+)*\s*\Z")
_MOSTLY_ZERO = 0.5  # share of the values
_NOTICED = 0.05  # share of the rows
_MARKS = (0xCC, 0xCD)  # bytes that combining accents begin with


def fractions_note(kind: str, X: Matrix) -> Iterator[str]:
    """Say that a model of counts meets something else, logarithms most likely."""
    said = uncounted(X[:FIRST_ROWS]) if MODELS[kind].takes == "counts" else ""
    if said:
        yield (
            f"The {kind} model takes counts, and {said}. Real numbers and logarithms are for "
            "--model l2-centers --train scale=std; of counts give the file, or the layer, that "
            "holds them."
        )


def zeros_note(X: Matrix) -> Iterator[str]:
    """Say that values which a bell is drawn through are mostly 0, as counts of rare things are."""
    X = X[:FIRST_ROWS]
    held = np.count_nonzero(X.data if is_sparse(X) else X)
    share = 1 - held / max(X.shape[0] * X.shape[1], 1)
    if share > _MOSTLY_ZERO:
        yield (
            f"Of the values of the first {X.shape[0]:,} rows {100 * share:.3g} % are 0, which no "
            "normal distribution describes: of counts --model poisson or negative-binomial is "
            "usual, --model bernoulli asks whether a value is above 0."
        )


def scaled_note(option: str, X: Matrix) -> Iterator[str]:
    """Say that rows to be scaled, or taken logarithms of, seem to be so already."""
    if said := uncounted(X[:FIRST_ROWS]):
        yield f"`{option}` is for counts, and {said}: leave it out if they are scaled already."


def repeated_note(batch: Batch) -> Iterator[str]:
    """Say that what was taken for names of rows is none, most likely."""
    if batch.keys is None:
        return
    names = batch.keys[:FIRST_ROWS].tolist()
    if _FEWEST <= len(names) and 2 * len(set(names)) <= len(names):
        yield (
            f"The first column of text, or the index, was taken for names of the rows, which "
            f"repeat ({short(names[0])}, ...), and is no feature; --model mixed reads columns of "
            "any kind."
        )


def names_note(X: Matrix, names: Sequence[str]) -> Iterator[str]:
    """Say which columns (m,) hold another whole number, or category, in every one of the rows.

    Not if most columns do: such numbers are measured.
    """
    X = X[:FIRST_ROWS, : len(names)]
    if X.shape[0] < _FEWEST or not X.shape[1]:
        return
    glance = _are_distinct(_dense(X[:_GLANCE]))
    maybe = np.flatnonzero(glance)
    found = maybe[_are_distinct(_dense(X[:, maybe]))] if len(maybe) else maybe
    if 0 < 2 * len(found) <= max(X.shape[1], 2):
        yield from _named([names[j] for j in found.tolist()], X.shape[0])


def _named(names: Sequence[str], n: int) -> Iterator[str]:
    listed = ", ".join(f"`{short(name)}`" for name in names[:_SHOWN])
    more = f" and {len(names) - _SHOWN:,} more" if len(names) > _SHOWN else ""
    hold, they = ("holds", "it is") if len(names) == 1 else ("hold", "they are")
    yield (
        f"{listed}{more} {hold} another value in each of the first {n:,} rows, as names of rows "
        f"do; if {they} no feature, add --read ignore='{short(names[0])}'."
    )


def _dense(X: Matrix) -> FloatArray:
    return np.asarray(X.toarray() if is_sparse(X) else X, dtype=np.float64)


def _are_distinct(X: FloatArray) -> Any:
    """Whether columns (m,) hold whole numbers alone, no two alike."""
    ascending = np.sort(X, axis=0)
    whole = (ascending == np.rint(ascending)).all(axis=0)  # NaN is not equal to itself
    return whole & (np.diff(ascending, axis=0) > 0).all(axis=0)


def categories_note(batch: Batch, columns: Sequence[str]) -> Iterator[str]:
    """Say which columns of text hold names of rows, or the same single words as another."""
    if not isinstance(batch.rows, Texts):
        return
    n, values = min(len(batch), FIRST_ROWS), dict[str, list[str]]()
    for j, name in enumerate(columns):
        cells = [batch.rows.decoded(i * batch.width + j) for i in range(n)]
        if all(not cell or _WORD.fullmatch(cell) for cell in cells):
            values[name] = [cell for cell in cells if cell]
    distinct = {name: set(cells) for name, cells in values.items()}
    ids = [name for name, cells in values.items() if _FEWEST <= n == len(distinct[name])]
    if ids:
        listed = ", ".join(f"`{short(name)}`" for name in ids)
        yield (
            f"{listed} {'holds' if len(ids) == 1 else 'hold'} another word in each of the first "
            f"{n:,} rows, as names of rows do; leave out --text '{short(ids[0])}' if it is no text."
        )
    shared = [
        (one, other, both)
        for one, other in combinations(distinct, 2)
        if (both := distinct[one] & distinct[other])
    ]
    if shared:
        one, other, both = max(shared, key=lambda each: len(each[2]))
        more = f" (and {len(shared) - 1:,} more pairs)" if len(shared) > 1 else ""
        yield (
            f"The columns `{short(one)}` and `{short(other)}`{more} hold the same values, such as "
            f"{short(min(both))}, which are one feature here; --model mixed keeps the columns "
            "apart, and so do values that name their column, such as "
            f"{short(one)}={short(min(both))}."
        )


def cut_note(batch: Batch, features: FeatureDefinition) -> Iterator[str]:
    """Say what words of letters leave out or cut: emoji in some rows, NAME=VALUE in most."""
    if not _are_letters(features):
        return
    first = batch.rows.rows(0, min(len(batch), FIRST_ROWS) * batch.width)
    texts = [first.decoded(i) for i in range(len(first))]

    def rows(pattern: re.Pattern[str]) -> int:
        held = np.array([bool(pattern.search(each)) for each in texts])
        return int(held.reshape(-1, batch.width).any(axis=1).sum())

    n = len(first) // batch.width
    if (found := rows(_EMOJI)) and found >= _NOTICED * n:
        yield (
            f"{found:,} of the first {n:,} rows hold emoji, which are not counted; --words "
            "text-like=tweets counts them, and #hashtags and @names as such."
        )
    if (found := rows(_PAIRS)) and 2 * found >= n:
        yield (
            f"{found:,} of the first {n:,} rows hold only NAME=VALUE, of which names and values "
            "are counted apart; --words token-pattern='\\S+' counts the pairs."
        )


def _are_letters(features: FeatureDefinition) -> bool:
    """Whether features are words of letters, as by default."""
    return (
        isinstance(features, TextFeatures)
        and features.analyzer == "word"
        and features.min_characters is not None
    )


def letters_note(batch: Batch, features: FeatureDefinition) -> Iterator[str]:
    """Say that letters are written in parts, of which an accent ends a word."""
    if not _are_letters(features):
        return
    rows = batch.rows
    first = rows.rows(0, min(len(rows), FIRST_ROWS * batch.width))
    content = first.bytes[int(first.offsets[0]) : int(first.offsets[-1])]
    if not np.isin(content, _MARKS).any():
        return
    texts = (first.decoded(i) for i in range(len(first)))
    parted = sum(not unicodedata.is_normalized("NFC", text) for text in texts)
    if parted:
        yield (
            f"{parted:,} of the first {len(first):,} texts hold letters in parts, such as u and "
            "its dots, and a word ends before the second; write them as "
            "unicodedata.normalize('NFC', text) does."
        )
