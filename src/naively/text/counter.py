"""Text straight to class statistics, without a matrix; rows only where rows are needed.

    texts --Analyzer--> identifiers of terms --> sums per (term, class) --> vocabulary, ClassCounts

Naive Bayes needs sums. `TextCounter` adds them up batch by batch and sorts the terms once, at the
end, so the vocabulary is exact after one pass. `text_matrix` makes sparse rows over the terms that
matter, for what sees single rows: prediction, accuracy, cross-validation.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from typing import Any, final

import numpy as np
import scipy.sparse as sp

from naively._kernels.cells import (
    WINDOW,
    add_cells,
    add_rows,
    count_ids,
    distinct_ids,
    move_cells,
)
from naively._types import Array, FloatArray, IntArray
from naively.statistics.counts import ClassCounts
from naively.statistics.exposure import beside, exposures_of
from naively.statistics.labels import encode_labels
from naively.statistics.lengths import length_histogram
from naively.statistics.matrix import Matrix
from naively.statistics.sparse_table import DENSE_CELLS, SparseTable, settled
from naively.statistics.weights import check_weights
from naively.text.analysis import Analyzer, Stream
from naively.text.features import TextFeatures
from naively.text.utf8 import Texts, TokenRows, as_texts, as_tokens
from naively.text.vocabulary import Vocabulary
from naively.text.weighting import in_whole_units, row_weights

Progress = Callable[[str, int, int], None]
_BATCH_BYTES = 1 << 23  # texts read at a time: their identifiers take about twice as much
_DENSE_SUMS = 1 << 26  # sums kept in a dense table while there are few: 256 MiB
_AHEAD = 8  # rows of it for each that is used: of memory that is not touched, nothing is taken
_MOST_TERMS = (1 << 32) - 1  # counted in such a table, of 32 bits a sum
_NO_VALUES = np.empty(0, dtype=np.int64)


def count_text(
    texts: Any, y: Any, features: TextFeatures | None = None, *, classes: Any = None
) -> tuple[Vocabulary, ClassCounts]:
    """Count the terms of texts by class.

    Parameters
    ----------
    texts : sequence of str of length n
        List, array, Series of pandas or polars, or array of pyarrow; of lists of str with
        analyzer="tokens".
    y : array-like of shape (n,)
        Label of each text.
    features : TextFeatures, default=None
        What the terms are; by default words as in `CountVectorizer()`.
    classes : array-like of shape (C,), default=None
        All labels, where y may lack some.

    Returns
    -------
    vocabulary : Vocabulary of m terms
        In ascending order.
    counts : ClassCounts
        Equal to those of the matrix that scikit-learn's vectorizer makes of the texts.

    Raises
    ------
    ValueError
        If a text is not a string, or labels and texts differ in number.

    Examples
    --------
    >>> from naively.text.counter import count_text
    >>> vocabulary, counts = count_text(["spam, eggs", "spam spam"], ["a", "b"])
    >>> list(vocabulary)
    ['eggs', 'spam']
    >>> counts.table.tolist()
    [[1, 0], [1, 2]]
    """
    counter = TextCounter(features or TextFeatures(), classes=() if classes is None else classes)
    counter.update(texts, y)
    return counter.result()


def count_rows(
    texts: Any, features: TextFeatures, *, parts: int = 1, progress: Progress | None = None
) -> tuple[Vocabulary, sp.csr_array]:
    """Count the terms in each row: the whole matrix, for data that fit into memory.

    Parameters
    ----------
    texts : sequence of str of length n * parts
        As in `count_text`.
    features : TextFeatures
        What the terms are.
    parts : int, default=1
        Texts that make a row; no n-gram spans two of them.
    progress : callable, default=None
        Called with a word, texts read, and texts in all.

    Returns
    -------
    vocabulary : Vocabulary of m terms
        In ascending order.
    X : csr_array of shape (n, m)
        As `CountVectorizer` makes it, int64, its rows weighted as the features say, but for the
        idf.
    """
    texts = _as_rows(texts, features)
    analyzer = Analyzer(features)
    stream = _read(analyzer, texts, progress)
    spelled = analyzer.spelled()
    vocabulary, columns = Vocabulary.sorted(spelled.bytes, spelled.offsets)
    X = _weighted(_rows_of(stream, columns, len(vocabulary), parts), features)
    occurring = np.zeros(len(vocabulary), dtype=np.bool_)
    occurring[X.indices] = True
    if occurring.all():
        return vocabulary, X
    indices = (np.cumsum(occurring) - 1)[X.indices]
    shape = (X.shape[0], int(occurring.sum()))
    narrow = sp.csr_array((X.data, indices, X.indptr), shape=shape)
    return vocabulary.take(np.flatnonzero(occurring)), narrow


def text_matrix(
    texts: Any,
    features: TextFeatures,
    vocabulary: Vocabulary,
    *,
    parts: int = 1,
    progress: Progress | None = None,
) -> sp.csr_array:
    """Count terms of a vocabulary in each text.

    Parameters
    ----------
    texts : sequence of str of length n
        As in `count_text`.
    features : TextFeatures
        What the terms are.
    vocabulary : Vocabulary of m terms
        The columns, for example those that a model selected. Other terms are skipped unseen.
    parts, progress
        As in `count_rows`.

    Returns
    -------
    X : csr_array of shape (n, m)
        Sorted indices; weighted as of `count_rows`.
    """
    return TermReader(features, vocabulary).rows(texts, parts=parts, progress=progress)


@final
class TermReader:
    """Counts terms of a vocabulary in texts, as `text_matrix` does, again and again.

    Parameters
    ----------
    features, vocabulary
        As of `text_matrix`.
    """

    def __init__(self, features: TextFeatures, vocabulary: Vocabulary) -> None:
        self._features = features
        self._vocabulary = vocabulary
        self._analyzer = Analyzer(self._features, vocabulary)
        self._columns = np.arange(len(vocabulary))

    def rows(self, texts: Any, *, parts: int = 1, progress: Progress | None = None) -> sp.csr_array:
        """Return the counts of some texts; parameters as of `text_matrix`."""
        if (
            self._features.norm is not None and not self._features.two_passes
        ):  # of all terms of a row, chosen or not
            found, X = count_rows(texts, self._features, parts=parts, progress=progress)
            return _columns_of(X, found, self._vocabulary)
        stream = _read(self._analyzer, _as_rows(texts, self._features), progress)
        counts = _rows_of(stream, self._columns, len(self._columns), parts)
        return _weighted(counts, self._features)

    def exposed_rows(self, texts: Any, *, parts: int = 1) -> Matrix:
        """Return the counts of some texts, and last the number of all terms: (n, m + 1)."""
        found, X = count_rows(texts, self._features, parts=parts)
        return beside(_columns_of(X, found, self._vocabulary), exposures_of(X, "total"))


def _as_rows(texts: Any, features: TextFeatures) -> Texts | TokenRows:
    return as_tokens(texts) if features.analyzer == "tokens" else as_texts(texts)


def _read(analyzer: Analyzer, texts: Texts | TokenRows, progress: Progress | None) -> Stream:
    """Terms of all texts, batch by batch."""
    ids, lengths, done = [np.empty(0, dtype=np.uint32)], [np.empty(0, dtype=np.int64)], 0
    for batch in _batches(texts):
        if progress is not None:
            progress("counting", done, len(texts))
        stream = analyzer.read(batch)
        ids.append(stream.ids)
        lengths.append(np.diff(stream.ends, prepend=0))
        done += len(batch)
    return Stream(np.concatenate(ids), np.cumsum(np.concatenate(lengths)))


def _weighted(X: sp.csr_array, features: TextFeatures) -> sp.csr_array:
    return row_weights(X, features.weights, features.norm)


def _columns_of(X: sp.csr_array, names: Vocabulary, wanted: Vocabulary) -> sp.csr_array:
    """Return the wanted columns, ascending, of rows over other ones; zeros where they lack some."""
    united, (own, places) = Vocabulary.union([names, wanted])
    column = np.full(len(united), -1, dtype=np.int64)
    column[places] = np.arange(len(wanted))
    indices = column[own][X.indices]
    kept = indices >= 0
    indptr = np.concatenate([[0], np.cumsum(kept)])[X.indptr]
    return sp.csr_array((X.data[kept], indices[kept], indptr), shape=(X.shape[0], len(wanted)))


def _rows_of(stream: Stream, columns: IntArray, n_columns: int, parts: int) -> sp.csr_array:
    """Sparse rows of a stream whose identifier i is column columns[i]."""
    indptr = np.concatenate([[0], stream.ends[parts - 1 :: parts]])
    small = max(n_columns, len(stream.ids)) < 1 << 31
    indices = columns.astype(np.int32 if small else np.int64)[stream.ids]
    shape = (len(indptr) - 1, n_columns)
    matrix = sp.csr_array(
        (np.ones(len(indices), dtype=np.int64), indices, indptr.astype(indices.dtype)), shape=shape
    )
    matrix.sum_duplicates()
    return matrix


@final
class TextCounter:
    """Counts the terms of texts by class, batch by batch; changes as it reads.

    Parameters
    ----------
    features : TextFeatures
        What the terms are.
    classes : array-like of shape (C,), default=()
        Labels that will occur; others may turn up as well.
    dense_cells : int, default=2**27
        A table of more cells is kept sparse.
    """

    def __init__(
        self, features: TextFeatures, classes: Any = (), *, dense_cells: int = DENSE_CELLS
    ) -> None:
        if features.two_passes:
            raise ValueError(
                "`norm` of weights 'tfidf' must be None where rows are added up: the length of a "
                "row needs the idf of all its terms first. Use weights 'log' with norm 'l2', or "
                "keep the rows."
            )
        self.features = features
        self._dense_cells = dense_cells
        # Rows, weights and lengths by class: the statistics of no columns.
        self._rows = ClassCounts.zero(0, classes, presence=features.presence)
        self._code_of: dict[Any, int] = {}
        self._analyzer = Analyzer(features)
        of_weights = features.row_weight is not None
        self._by_row = features.documents or features.resolution is not None or of_weights
        self._sums: _DenseSums | _CellSums = _DenseSums()
        self._weights = _CellSums(np.float64 if of_weights else np.int64)
        self._documents, self._squares = _CellSums(), _CellSums()
        self._stamps = np.empty(0, dtype=np.int64)
        self._stamp = 1

    def update(self, texts: Any, y: Any, sample_weight: Any = None, *, parts: int = 1) -> None:
        """Count some more rows, each of so many texts; no n-gram spans two of them.

        Rows have weights, > 0, if the features name a column of them, and only then.
        """
        texts = _as_rows(texts, self.features)
        labels, codes = encode_labels(y)
        if len(codes) * parts != len(texts):
            raise ValueError(
                f"Texts and labels must be equally many; got {len(texts)} and {len(codes)}."
            )
        weights = check_weights(sample_weight, len(codes))
        if (weights is None) != (self.features.row_weight is None):
            raise ValueError(
                "`sample_weight` must be given where `row_weight` of the features names a column "
                f"of weights, and only there; got {self.features.row_weight!r}."
            )
        own = np.array(
            [self._code_of.setdefault(label, len(self._code_of)) for label in labels.tolist()],
            dtype=np.uint32,
        )
        start = 0
        for batch in _batches(texts, parts):
            part = codes[start : start + len(batch) // parts]
            weight = None if weights is None else weights[start : start + len(part)]
            lengths = self._count(batch, own[part] if len(own) else part, parts, weight)
            histogram = length_histogram(lengths, part, weight, len(labels))
            rows = _rows_only(labels, part, weight, *histogram, self.features.presence)
            self._rows = self._rows + rows
            start += len(part)

    def result(self) -> tuple[Vocabulary, ClassCounts]:
        """Return the terms, ascending, and their counts; see `count_text`."""
        spelled = self._analyzer.spelled()
        vocabulary, positions = Vocabulary.sorted(spelled.bytes, spelled.offsets)
        sums = self._weights if self._by_row else self._sums
        tables = {"table": self._table(sums, positions, len(vocabulary))}
        if self.features.documents:
            tables["documents"] = self._table(self._documents, positions, len(vocabulary))
            tables["squares"] = self._table(self._squares, positions, len(vocabulary))
        for name, table in tables.items():
            names, table = _occurring(vocabulary, table)
            tables[name] = settled(table) if self._dense_cells else table
        return names, replace(self._rows, **tables)

    def _count(
        self, texts: Texts | TokenRows, codes: Array, parts: int, weight: FloatArray | None
    ) -> IntArray:
        """Add one batch; return the number of terms of each row."""
        stream = self._analyzer.read(texts)
        if self._by_row:
            return self._count_rows(stream, codes, parts, weight)
        stream = Stream(stream.ids, stream.ends[parts - 1 :: parts])
        n_terms, n_classes = self._analyzer.n_terms, max(len(self._code_of), 1)
        if self.features.presence:
            stream = self._distinct(stream, n_terms)
        if isinstance(self._sums, _DenseSums) and (
            n_terms * n_classes > _DENSE_SUMS
            or self._sums.n_counted + len(stream.ids) > _MOST_TERMS
        ):
            self._sums = _CellSums.of(self._sums, n_terms)
        self._sums.add(stream, codes, n_terms, n_classes)
        return np.diff(stream.ends, prepend=0)

    def _count_rows(
        self, stream: Stream, codes: Array, parts: int, weight: FloatArray | None
    ) -> Array:
        """Add one batch whose rows are looked at one by one; return the total of each."""
        n_terms = self._analyzer.n_terms
        X = _rows_of(stream, np.arange(n_terms), n_terms, parts)
        ids, ends = X.indices.astype(np.uint32), X.indptr[1:].astype(np.int64)
        values = _weighted(X, self.features).data
        rows = np.repeat(np.arange(X.shape[0]), np.diff(X.indptr))
        added = values if self.features.resolution is None else in_whole_units(values)
        self._weights.add_values(
            ids, ends, codes, added if weight is None else values * weight[rows]
        )
        if self.features.documents:
            self._documents.add_values(ids, ends, codes, _NO_VALUES)
            self._squares.add_values(ids, ends, codes, X.data * X.data)
        totals = np.bincount(rows, values, X.shape[0])
        return totals if values.dtype.kind == "f" else totals.astype(np.int64)

    def _distinct(self, stream: Stream, n_terms: int) -> Stream:
        if len(self._stamps) < n_terms:
            longer = np.zeros(2 * n_terms, dtype=np.int64)
            longer[: len(self._stamps)] = self._stamps
            self._stamps = longer
        kept, ends = np.empty_like(stream.ids), stream.ends.copy()
        distinct_ids(stream.ids, ends, self._stamps, self._stamp, kept)
        self._stamp += len(ends)
        return Stream(kept[: ends[-1]] if len(ends) else kept, ends)

    def _table(self, sums: _DenseSums | _CellSums, columns: IntArray, n_columns: int) -> Any:
        """Return sums, classes in their order, with identifier i in columns[i]."""
        position = {label: c for c, label in enumerate(self._rows.classes.tolist())}
        order = np.array([position[label] for label in self._code_of] or [0], dtype=np.int64)
        shape = (n_columns, len(self._rows.classes))
        if isinstance(sums, _DenseSums) and shape[0] * shape[1] <= self._dense_cells:
            table = np.zeros(shape, dtype=np.int64)
            sums.add_to(table, columns, order[: len(self._code_of)])
            return table
        ids, codes, values = sums.cells(self._analyzer.n_terms)
        cells = columns[ids] * shape[1] + order[codes]
        if shape[0] * shape[1] > self._dense_cells:
            return SparseTable.of(shape, cells, values)
        table = np.zeros(shape, dtype=values.dtype)
        np.add.at(table.reshape(-1), cells, values)
        return table


class _DenseSums:
    """Sums in a table of all identifiers and classes."""

    def __init__(self) -> None:
        self.counts = np.zeros((0, 0), dtype=np.uint32)
        self.n_counted = 0  # bounds every sum
        self._window = np.empty(WINDOW, dtype=np.uint64)

    def add(self, stream: Stream, codes: Array, n_terms: int, n_classes: int) -> None:
        height, width = self.counts.shape
        if n_terms > height or n_classes > width:
            wider = max(n_classes, 2 * width) if n_classes > width else width
            room = max(n_terms, min(_AHEAD * n_terms, _DENSE_SUMS // wider))
            larger = np.zeros((max(room, height), wider), dtype=np.uint32)
            larger[:height, :width] = self.counts
            self.counts = larger
        width = self.counts.shape[1]
        self.n_counted += len(stream.ids)
        count_ids(stream.ids, stream.ends, codes, width, self.counts.reshape(-1), self._window)

    def cells(self, n_terms: int) -> tuple[IntArray, IntArray, IntArray]:
        """Return identifier, class and value of each sum that is not zero."""
        ids, codes = np.nonzero(self.counts[:n_terms])
        return ids, codes, self.counts[ids, codes].astype(np.int64)

    def add_to(self, table: IntArray, columns: IntArray, order: IntArray) -> None:
        """Add the sums to a table, identifier i in row columns[i], class c in column order[c]."""
        counted = min(len(columns), len(self.counts))  # stop words have identifiers at once
        add_rows(self.counts, columns[:counted], order, table)


class _CellSums:
    """Sums of the (identifier, class) pairs that occur, in a hash table."""

    _WIDTH = 1 << 20  # classes that a key has room for

    def __init__(self, dtype: type = np.int64) -> None:
        self.keys = np.zeros(1 << 12, dtype=np.uint64)
        self.sums: Array = np.zeros(1 << 12, dtype=dtype)
        self.used = np.zeros(1, dtype=np.int64)

    @classmethod
    def of(cls, dense: _DenseSums, n_terms: int) -> _CellSums:
        """Move what a dense table holds."""
        sums = cls()
        ids, codes, values = dense.cells(n_terms)
        ends = np.arange(1, len(ids) + 1)
        sums.add_values(ids.astype(np.uint32), ends, codes.astype(np.uint32), values)
        return sums

    def add(self, stream: Stream, codes: Array, n_terms: int, n_classes: int) -> None:
        self.add_values(stream.ids, stream.ends, codes, _NO_VALUES)

    def add_values(self, ids: Array, ends: IntArray, codes: Array, values: Array) -> None:
        """Add the entries of rows of some classes; no values (length 0) are ones."""
        row = 0
        while True:
            row = add_cells(
                ids, values, ends, codes, self._WIDTH, row, self.keys, self.sums, self.used
            )
            if row == len(ends):
                return
            n_entries = int(ends[row] - (ends[row - 1] if row else 0))
            length = _power_of_two(2 * (len(self.keys) + n_entries))
            keys, sums = np.zeros(length, dtype=np.uint64), np.zeros(length, self.sums.dtype)
            move_cells(self.keys, self.sums, keys, sums)
            self.keys, self.sums = keys, sums

    def cells(self, n_terms: int) -> tuple[IntArray, IntArray, Array]:
        """Return identifier, class and value of each sum that is not zero."""
        occupied = np.flatnonzero(self.keys)
        keys = (self.keys[occupied] - np.uint64(1)).astype(np.int64)
        return keys // self._WIDTH, keys % self._WIDTH, self.sums[occupied]


def _occurring(
    vocabulary: Vocabulary, table: Array | SparseTable
) -> tuple[Vocabulary, Array | SparseTable]:
    """Drop what has an identifier but no count: stop words, and mere beginnings of n-grams."""
    if isinstance(table, SparseTable):
        occurring, _ = table.occurring()
        if len(occurring) == len(vocabulary):
            return vocabulary, table
        shape = (len(occurring), table.shape[1])
        rows = np.searchsorted(occurring, table.cells // shape[1])
        cells = rows * shape[1] + table.codes
        return vocabulary.take(occurring), SparseTable.of(shape, cells, table.values)
    occurring = np.flatnonzero(table.any(axis=1))
    if len(occurring) == len(vocabulary):
        return vocabulary, table
    return vocabulary.take(occurring), table[occurring]


def _rows_only(
    labels: Array, codes: Array, weights: FloatArray | None, values: IntArray, weight: Any,
    presence: Any,
) -> Any:  # fmt: skip
    """Statistics of no columns: rows, weight and lengths by class."""
    rows = np.bincount(codes, minlength=len(labels))
    of_classes = np.bincount(codes, weights, len(labels)).astype(np.float64)
    table = np.empty((0, len(labels)), dtype=np.int64)
    return ClassCounts(labels, rows, of_classes, table, values, weight, presence=presence)


def _power_of_two(length: int) -> int:
    return 1 << (length - 1).bit_length()


def _batches(texts: Texts | TokenRows, parts: int = 1) -> list[Any]:
    """Cut texts into batches of a bounded number of bytes, one row (of `parts`) at least each."""
    batches, start, offsets = [], 0, texts.offsets
    while start < len(texts):
        limit = offsets[start] + _BATCH_BYTES
        stop = int(np.searchsorted(offsets, limit, side="right")) - 1
        stop = min(max(stop // parts * parts, start + parts), len(texts))
        batches.append(texts.rows(start, stop))
        start = stop
    return batches
