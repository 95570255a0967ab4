"""Gathering statistics batch by batch in one place, for matrices as `TextCounter` does for texts.

A batch touches few of the columns of a table of counts; adding whole tables would write all of them
every time. So the cells of a batch are added to the running table in place, and a wide table is a
short list of sparse parts that are added up when they have grown as large as their sum. The tables
of other statistics are written whole by any batch; they are joined in a tree.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from functools import reduce
from operator import add
from typing import Any, TypeAlias, final

import numpy as np

from naively._types import Array
from naively.statistics.addition import RunningTotal
from naively.statistics.counts import ClassCounts, squared
from naively.statistics.exposure import exposures_of
from naively.statistics.labels import class_positions
from naively.statistics.lengths import length_histogram
from naively.statistics.matrix import Matrix, as_matrix, is_sparse
from naively.statistics.sparse_table import DENSE_CELLS, SparseTable, settled
from naively.text.counter import TextCounter
from naively.text.features import ColumnFeatures, FeatureDefinition, TextFeatures
from naively.text.vocabulary import Vocabulary
from naively.text.weighting import log_weights
from naively.work.records import STATISTICS, Record, Tree

Counter: TypeAlias = "TextCounter | MatrixCounter | TreeCounter"
_SMALL = 1 << 16  # cells of a table that is not worth being sparse


@final
class MatrixCounter:
    """Counts the rows of matrices by class, batch by batch; changes as it reads.

    Parameters
    ----------
    features : ColumnFeatures
        What the columns are, and what is added up.
    classes : array-like of shape (C,), default=()
        Labels that will occur; others may turn up as well.
    dense_cells : int, default=2**27
        A table of more cells is kept sparse.
    """

    def __init__(
        self, features: ColumnFeatures, classes: Any = (), *, dense_cells: int = DENSE_CELLS
    ) -> None:
        self.features = features
        self._dense_cells = dense_cells
        self._rows = self._part(np.empty((0, features.n_columns), dtype=np.int64), [], classes)
        self._rows = replace(self._rows, table=np.zeros((0, len(self._rows.classes)), np.int64))
        self._table: Array | None = None
        self._parts: list[SparseTable] = []
        self._total = RunningTotal()
        self._also: dict[str, MatrixCounter] = {}
        if features.documents:
            documents, squares = (
                ColumnFeatures(features.n_columns, statistic="presence", missing=features.missing),
                (replace(features, documents=False, weights="counts", resolution=None)),
            )
            for name, what in (("documents", documents), ("squares", squares)):
                self._also[name] = MatrixCounter(what, classes, dense_cells=dense_cells)

    def update(self, X: Any, y: Any, sample_weight: Any = None) -> None:
        """Count some more rows."""
        for name, counter in self._also.items():
            counter.update(X if name == "documents" else squared(as_matrix(X)), y)  # of rows
        X = _checked(X, self.features)
        if self.features.exposure is not None:
            exposures_of(X, self.features.exposure)  # refused where it cannot be
        part = self._part(X, y, None, sample_weight)
        before = self._rows.classes
        table = part.table
        self._total.add(table.values if isinstance(table, SparseTable) else table)
        self._rows = self._rows + replace(part, table=np.zeros((0, len(part.classes)), np.int64))
        self._widen(before)
        if not isinstance(table, SparseTable):
            table = SparseTable.from_dense(table)
        if len(part.classes) != len(self._rows.classes):
            positions = class_positions(part.classes, self._rows.classes)
            table = table.spread(positions, len(self._rows.classes))
        self._add(table)

    def result(self) -> tuple[None, ClassCounts]:
        """Return the statistics of all batches so far."""
        shape = (self.features.n_columns, len(self._rows.classes))
        table: Any = self._table
        if table is None:
            table = SparseTable.total([_empty(shape), *self._parts])
            if self._dense_cells:
                small = shape[0] * shape[1] <= self._dense_cells
                table = table.toarray() if small else settled(table)
        also = {name: counter.result()[1].table for name, counter in self._also.items()}
        return None, replace(self._rows, table=table, **also)

    def _part(self, X: Any, y: Any, classes: Any, sample_weight: Any = None) -> ClassCounts:
        presence, threshold = self.features.presence, self.features.threshold
        n_entries = len(X.data) if is_sparse(X) else X.size
        dense_cells = min(DENSE_CELLS, max(n_entries, _SMALL))
        resolution = self.features.resolution
        if self.features.weights == "log":
            X = log_weights(X)
        scaled = X if resolution is None or presence else _multiples(X, resolution)
        counts = ClassCounts.from_matrix(
            scaled,
            y,
            sample_weight,
            classes=classes,
            presence=presence,
            threshold=threshold,
            missing=self.features.missing,
            dense_cells=dense_cells,
        )
        return (
            counts
            if scaled is X or resolution is None
            else _unscaled(counts, scaled, y, resolution)
        )

    def _widen(self, before: Array) -> None:
        """Make room in the sums so far for labels that are new."""
        after = self._rows.classes
        if len(after) == len(before):
            return
        positions = class_positions(before, after)
        self._parts = [part.spread(positions, len(after)) for part in self._parts]
        if self._table is not None:
            part = SparseTable.from_dense(self._table).spread(positions, len(after))
            self._table = None
            self._parts = []
            self._add(part)

    def _add(self, part: SparseTable) -> None:
        if part.shape[0] * part.shape[1] > self._dense_cells:
            self._add_wide(part)
            return
        if self._table is None:
            self._table = np.zeros(part.shape, dtype=part.dtype)
            for other in self._parts:
                self._table.reshape(-1)[other.cells] += other.values
            self._parts = []
        if part.dtype.kind == "f" and self._table.dtype.kind != "f":
            self._table = self._table.astype(part.dtype)
        self._table.reshape(-1)[part.cells] += part.values

    def _add_wide(self, part: SparseTable) -> None:
        if self._table is not None:
            self._parts, self._table = [SparseTable.from_dense(self._table)], None
        self._parts.append(part)
        if sum(len(each.cells) for each in self._parts[1:]) > len(self._parts[0].cells):
            self._parts = [SparseTable.total(self._parts)]


@final
class TreeCounter:
    """Gathers moments or categories, or those of each kind, of rows of matrices, batch by batch.

    Parameters
    ----------
    features : ColumnFeatures
        What the columns are, and which statistic is taken.
    classes : array-like of shape (C,), default=()
        Labels that will occur; others may turn up as well.
    """

    def __init__(self, features: ColumnFeatures, classes: Any = ()) -> None:
        self.features = features
        self._kind = STATISTICS[features.statistic]
        exposure = features.exposure  # of moments; counts hold its sums
        self._settings: dict[str, Any] = {} if exposure is None else {"exposure": exposure}
        self._settings |= {"missing": True} if features.missing else {}
        if features.variables is not None:
            self._settings = {"columns": features.variables}
        self._sums: Tree[Any] = Tree(lambda parts: reduce(add, parts))
        self._sums.add(self._kind.zero(features.n_columns, classes, **self._settings))

    def update(self, X: Any, y: Any, sample_weight: Any = None) -> None:
        """Gather some more rows."""
        matrix = _checked(X, self.features)
        if matrix.shape[0]:
            self._sums.add(self._kind.from_matrix(matrix, y, sample_weight, **self._settings))

    def result(self) -> tuple[None, Any]:
        """Return the statistics of all batches so far."""
        return None, self._sums.total()


def _checked(X: Any, features: ColumnFeatures) -> Matrix:
    matrix = as_matrix(X)
    if matrix.shape[1] != features.n_columns:
        raise ValueError(
            f"X must have {features.n_columns} columns (n_columns of the definition of the "
            f"features); got {matrix.shape[1]}."
        )
    return matrix


def _empty(shape: tuple[int, int]) -> SparseTable:
    return SparseTable.of(shape, np.empty(0, dtype=np.int64), np.empty(0, dtype=np.int64))


def _multiples(X: Any, resolution: float) -> Any:
    """Round values to whole multiples of a resolution."""
    values = X.data if is_sparse(X) else X
    per_unit = 1.0 / resolution
    if values.dtype.kind != "f" and 1.0 <= per_unit < 2**62 and per_unit.is_integer():
        if values.size and values.min() < 0:
            return X  # refused, with its place, when it is counted
        largest = int(values.max()) if values.size else 0
        _check_multiples(largest * int(per_unit), largest, resolution)
        scaled = values.astype(np.int64) * int(per_unit)  # exact, beyond 2**53 too
    else:
        values = np.asarray(values, dtype=np.float64)
        if not np.isfinite(values).all() or (values < 0).any():
            return X
        with np.errstate(over="ignore"):
            quotients = np.rint(values / resolution)
        if quotients.size:
            _check_multiples(np.abs(quotients).max(), np.abs(values).max(), resolution)
        scaled = quotients.astype(np.int64)
    if not is_sparse(X):
        return scaled
    return type(X)((scaled, X.indices, X.indptr), shape=X.shape, copy=False)


def _check_multiples(multiple: float, value: float, resolution: float) -> None:
    if multiple >= 2**62:
        raise ValueError(
            f"Values must be below 2**62 times the resolution ({resolution}); got {value}. "
            "Choose a coarser resolution."
        )


def _unscaled(counts: ClassCounts, scaled: Any, y: Any, resolution: float) -> ClassCounts:
    """Give counts of multiples the row totals in their own unit."""
    totals = np.asarray(scaled.sum(axis=1)).ravel() * resolution
    codes = np.searchsorted(counts.classes, np.asarray(y)) if len(totals) else np.empty(0, int)
    values, weight = length_histogram(totals, codes, None, len(counts.classes))
    return replace(counts, length_values=values, length_weight=weight)


def new_counter(
    features: FeatureDefinition, classes: Any = (), *, dense_cells: int = DENSE_CELLS
) -> Counter:
    """Return an empty counter for features of any kind."""
    if isinstance(features, TextFeatures):
        return TextCounter(features, classes, dense_cells=dense_cells)
    if STATISTICS[features.statistic] is ClassCounts:
        return MatrixCounter(features, classes, dense_cells=dense_cells)
    return TreeCounter(features, classes)


def record_of(
    counter: Counter, shards: Mapping[str, int], names: Vocabulary | None = None
) -> Record:
    """Return what a counter has gathered, as a record of shards."""
    found, statistics = counter.result()
    return Record(statistics, counter.features, found if found is not None else names, shards)
