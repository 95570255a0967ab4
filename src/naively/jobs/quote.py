"""A row in which a feature occurs, for each selected feature; found where the rows are."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from functools import partial
from typing import Any, TypeAlias

import numpy as np

from naively._types import Array, BoolArray, IntArray
from naively.jobs.data import Data, Kinds
from naively.jobs.engines import Workers
from naively.jobs.fit import Fitted
from naively.jobs.outcome import feature_rows
from naively.read.batch import Batch
from naively.report.summary import Example, FeatureRow
from naively.report.words import figure
from naively.text.features import FeatureDefinition, TextFeatures
from naively.text.utf8 import Texts, TokenRows
from naively.text.vocabulary import Vocabulary
from naively.work.eye import Eye, eye_for
from naively.work.stream import Task, rows_by_kind, whole

QUOTED = 1000  # features for which a row is quoted
_BEFORE, _AFTER = 28, 52  # characters of text shown on each side
_LONGEST_HIT = 60
EXAMPLE_ROWS = 100_000  # of texts, in which features are looked for: the first of the file
_MARK = "\N{HORIZONTAL ELLIPSIS}"

Quote: TypeAlias = tuple[Example | None, Example | None]  # of its class, of another
_Find: TypeAlias = Callable[[str, str], tuple[int, int] | None]


def examples(data: Data, fitted: Fitted, kinds: Kinds, workers: Workers) -> list[Quote]:
    """Find rows, of the kinds that were trained on, for the features of the largest gains."""
    if data.n_regions > 1 or not data.tasks or data.words_from is not None:
        return []
    shown = feature_rows(fitted)[:QUOTED]
    columns = np.array([row.column for row in shown], dtype=np.int64)
    order = np.argsort(columns)
    wanted = Wanted(
        [shown[j].name for j in order.tolist()],
        [shown[j].speaks_for for j in order.tolist()],
        np.array([_is_elsewhere(shown[j], fitted.file.classes) for j in order.tolist()]),
        data.features,
        data.terms(columns[order]),
        columns[order],
    )
    (found,) = workers.map(found_by, [whole(data.tasks)], wanted, kinds)
    return [found[place] for place in np.argsort(order).tolist()]


def _is_elsewhere(row: FeatureRow, classes: Sequence[str]) -> bool:
    """Whether a feature occurs in a class that it does not speak for, as far as counts tell."""
    figures = zip(classes, row.counts, strict=True) if row.counts else ()
    return not row.counts or any(n > 0 for name, n in figures if name != row.speaks_for)


def found_by(task: Task, wanted: Wanted, kinds: Kinds) -> list[Quote]:
    """Find rows for each feature among the first rows of a task."""
    quotes, read, places = Quotes(wanted), 0, Counter[str]()
    for part in task.parts:
        for seen in rows_by_kind(task, part):
            if read >= EXAMPLE_ROWS or not len(quotes.open):
                return quotes.of_features
            inside = np.isin(seen.kinds, kinds)
            inside[EXAMPLE_ROWS - read :] = False
            chosen = np.flatnonzero(inside)
            batch = seen.batch.take(chosen)
            X = wanted.eye(quotes.open)(batch)
            labels, numbers = seen.names[seen.codes[chosen]], places[part.path] + chosen
            quotes.look(X, labels, numbers, partial(_document, batch), batch.keys)
            read += len(seen.kinds)
            places[part.path] += len(seen.kinds)
    return quotes.of_features


def _document(batch: Batch, i: int) -> tuple[str, ...]:
    """Texts of a row."""
    if not isinstance(batch.rows, Texts | TokenRows):
        return ()
    return tuple(batch.rows.decoded(i * batch.width + j) for j in range(batch.width))


@dataclass(frozen=True, slots=True)
class Wanted:
    """The features for which rows are looked for."""

    names: Sequence[str]  # (k,)
    classes: Sequence[str]  # (k,) from which each row is taken if the feature occurs there
    elsewhere: BoolArray  # (k,) whether the feature occurs in another class too
    features: FeatureDefinition  # what they are
    terms: Vocabulary | None  # (k,) ascending; None for columns of numbers
    columns: IntArray  # (k,) ascending

    def eye(self, some: IntArray) -> Eye:
        """Return what sees rows over some of the features."""
        terms = None if self.terms is None else self.terms.take(some)
        return eye_for(self.features, terms, self.columns[some])


class Quotes:
    """The first rows with each feature, of its own class and of any other; as rows come by."""

    def __init__(self, wanted: Wanted) -> None:
        self._wanted = wanted
        features = wanted.features
        self._find = _finder(features) if isinstance(features, TextFeatures) else None
        self._own: list[Example | None] = [None] * len(wanted.names)
        self._other: list[Example | None] = [None] * len(wanted.names)
        self.open = np.arange(len(wanted.names))  # features that lack one of the two

    @property
    def of_features(self) -> list[Quote]:
        """A row of each feature, and one that contrasts with it: of another class."""
        pairs = zip(self._own, self._other, strict=True)
        return [(own, other) if own is not None else (other, None) for own, other in pairs]

    def look(
        self, X: Any, labels: Array, places: IntArray,
        document: Callable[[int], tuple[str, ...]], names: Array | None = None,
    ) -> None:  # fmt: skip
        """Look at some more rows.

        Parameters
        ----------
        X
            The rows over the open features (n, len(open)), sparse or dense.
        labels, places
            Class and number in the file, from 0, of each row (n,).
        document
            Gives the texts of row i, if the features were found in texts.
        names
            Names of the rows (n,), where the file has any.
        """
        X = X.tocsc() if hasattr(X, "tocsc") else np.asarray(X)
        left = []
        for column, j in enumerate(self.open.tolist()):
            rows, values = _entries(X, column)
            own = labels[rows] == self._wanted.classes[j]
            for found, inside in ((self._own, own), (self._other, ~own)):
                if found[j] is None and inside.any():
                    at = np.flatnonzero(inside)[np.argmin(rows[inside])]
                    i, value = int(rows[at]), float(values[at])
                    row, label = int(places[i]) + 1, str(labels[i])
                    called = "" if names is None else str(names[i])
                    if self._find is not None:
                        name = self._wanted.names[j]
                        excerpt = _excerpt(document(i), name, self._find, row, label)
                        found[j] = replace(excerpt, name=called)
                    else:
                        found[j] = Example(row, label, figure(value), name=called)
            if self._own[j] is None or (self._other[j] is None and self._wanted.elsewhere[j]):
                left.append(j)
        self.open = np.array(left, dtype=np.int64)


def _entries(X: Any, j: int) -> tuple[IntArray, Array]:
    """Rows with a column that is not 0 and not missing, and its values there."""
    if isinstance(X, np.ndarray):
        rows = np.flatnonzero(X[:, j])
        values = X[rows, j]
    else:
        part = slice(X.indptr[j], X.indptr[j + 1])
        rows, values = X.indices[part], X.data[part]
    known = ~np.isnan(values)
    return rows[known], values[known]


def _excerpt(document: tuple[str, ...], name: str, find: _Find, row: int, label: str) -> Example:
    for text in document:
        place = find(text, name)
        if place is not None:
            start, end = place
            cut = min(end, start + _LONGEST_HIT)
            before = (_MARK if start > _BEFORE else "") + text[max(start - _BEFORE, 0) : start]
            after = text[cut : end + _AFTER] + (_MARK if len(text) > end + _AFTER else "")
            return Example(row, label, *map(_in_one_line, (text[start:cut], before, after)))
    first = document[0]  # the rule has changed the text too much to point at the place
    return Example(row, label, "", _in_one_line(first[:_AFTER]), _MARK * (len(first) > _AFTER))


def _in_one_line(text: str) -> str:
    return re.sub(r"\s+", " ", text)


def _finder(rule: TextFeatures) -> _Find:
    """Return a function that finds where in a text a feature stands."""
    if rule.analyzer != "word":
        return lambda text, name: _found_loosely(rule, text, name.strip())
    pattern = re.compile(rule.token_pattern)
    stop = frozenset(rule.stop_words)

    def find(text: str, name: str) -> tuple[int, int] | None:
        folded = _folded(rule, text)
        if rule.min_characters and " " not in name:
            return _whole_word(folded, name)
        tokens = [
            match for match in pattern.finditer(folded) if match.group(pattern.groups) not in stop
        ]
        words = [match.group(pattern.groups) for match in tokens]
        n = name.count(" ") + 1
        for i in range(len(words) - n + 1):
            if words[i] == name.split(" ", 1)[0] and " ".join(words[i : i + n]) == name:
                return tokens[i].start(), tokens[i + n - 1].end()
        return None

    return find


def _whole_word(text: str, word: str) -> tuple[int, int] | None:
    """Find characters of words with none before and none behind: no other word begins there."""
    start = text.find(word)
    while start >= 0:
        end = start + len(word)
        around = text[max(start - 1, 0) : start] + text[end : end + 1]
        if not any(each.isalnum() or each == "_" for each in around):
            return start, end
        start = text.find(word, start + 1)
    return None


def _folded(rule: TextFeatures, text: str) -> str:
    folded = text.lower() if rule.lowercase else text
    return folded if len(folded) == len(text) else text  # places must stay what they are


def _found_loosely(rule: TextFeatures, text: str, name: str) -> tuple[int, int] | None:
    """Find characters in a text whose blanks of any kind and number count as one."""
    parts = [re.escape(part) for part in name.split()]
    if not parts:
        return None
    match = re.search(r"\s+".join(parts), _folded(rule, text))
    return match.span() if match else None
