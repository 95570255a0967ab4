"""Counts of each feature within each class: the statistics of the count and presence models.

Statistics are values. They add up (batches, shards, machines), and they subtract (cross-validation
takes a fold away, leave-one-out a row); nothing ever changes them in place.
"""

from __future__ import annotations

from dataclasses import dataclass, fields, replace
from typing import Any, Self, final

import numpy as np
import numpy.typing as npt

from naively._types import Array, FloatArray, IntArray
from naively.statistics.addition import checked_sum, is_nothing
from naively.statistics.labels import class_positions, union_of_classes
from naively.statistics.lengths import length_histogram
from naively.statistics.matrix import is_sparse
from naively.statistics.rows import LabelledRows
from naively.statistics.source import Quantity
from naively.statistics.sparse_table import DENSE_CELLS, SparseTable, settled
from naively.statistics.tally import tally
from naively.statistics.wide import tally_wide

# Differences of float sums below this share of the minuend are rounding, and become exactly 0:
# a feature that was taken away completely must be absent, not present with a weight of 1e-17.
_ROUNDING = 1e-12
_NOT_COUNTED = (
    "Only statistics of rows that were counted can be subtracted; the difference has negative "
    "counts."
)
_STRIP = 1 << 18  # cells of a table treated at a time, so that temporaries stay small


@final
@dataclass(frozen=True, slots=True, eq=False)
class ClassCounts:
    """Weighted count of every feature in every class.

    Rows of weight zero leave no trace in any array, except that their labels are classes.
    Statistics of the same features add (`+`) and subtract (`-`); sets of classes are united.

    Whole numbers (booleans, integers of any width) without weights are counted in 64-bit integers:
    the result is the same, bit for bit, for any container, number of threads and division into
    batches. Real numbers and weights are summed in float64 in the order of the rows.

    Attributes
    ----------
    classes : ndarray of shape (n_classes,)
        Labels, ascending.
    table : ndarray of shape (n_features, n_classes)
        C-contiguous; int64 for whole numbers without weights, else float64. A table of more than
        2**27 cells, most of them zero, is kept sparse and reads like an array.
    class_rows : ndarray of shape (n_classes,)
        Rows of positive weight in each class.
    class_weight : ndarray of shape (n_classes,)
        Sum of the weights of these rows.
    length_values : ndarray of shape (L,)
        Row totals that occur, ascending; coarser above 4096.
    length_weight : ndarray of shape (L, n_classes)
        Weight of the rows of that total.
    presence : bool
        Whether entries above `threshold` were counted, instead of values summed.
    threshold : float
        What an entry has to exceed to be present.
    feature_count : ndarray of shape (n_classes, n_features)
        The table, transposed.
    n_features : int
        Number of features.

    Examples
    --------
    >>> from naively import ClassCounts
    >>> monday = ClassCounts.from_matrix([[2, 0], [1, 1]], ["ham", "spam"])
    >>> tuesday = ClassCounts.from_matrix([[0, 3]], ["spam"])
    >>> (monday + tuesday).feature_count
    array([[2, 0],
           [1, 4]])
    >>> (monday + tuesday - tuesday).equals(monday)
    True
    """

    classes: Array
    table: Any
    class_rows: IntArray
    class_weight: FloatArray
    length_values: IntArray
    length_weight: FloatArray
    presence: bool = False
    threshold: float = 0.0

    # -- making ---------------------------------------------------------------------------------

    @classmethod
    def from_matrix(
        cls,
        X: Any,
        y: Any,
        sample_weight: Any = None,
        *,
        classes: Any = None,
        presence: bool = False,
        threshold: float = 0.0,
        dense_cells: int = DENSE_CELLS,
    ) -> Self:
        """Count the rows of a matrix.

        Parameters
        ----------
        X : array-like, sparse matrix or data frame of shape (n, m)
            Rows of finite numbers, non-negative unless `presence` is set. Duplicate entries of
            sparse matrices are summed. Never modified, never made dense.
        y : array-like of shape (n,)
            Labels: whole numbers, booleans or strings.
        sample_weight : array-like of shape (n,), default=None
            Weight of each row, >= 0; a weight of 2 is the row twice, a weight of 0 no row.
        classes : array-like of shape (C,), default=None
            All labels, where y may lack some. By default those in y.
        presence : bool, default=False
            Count the entries greater than `threshold` instead of summing values.
        threshold : float, default=0.0
            Only used with `presence`; at least 0 if X is sparse.
        dense_cells : int, default=2**27
            A table of more cells (columns times classes) is kept sparse while that is smaller.

        Returns
        -------
        counts : ClassCounts
            The statistics.

        Raises
        ------
        ValueError
            If values, labels or weights cannot be counted; the message says where and why.
        """
        rows = LabelledRows.of(X, y, sample_weight, classes)
        n_classes, codes, weights = len(rows.classes), rows.codes, rows.weights
        quantity = Quantity(presence, _checked_threshold(rows.matrix, threshold, presence))
        is_wide = rows.matrix.shape[1] * n_classes > dense_cells and quantity.threshold >= 0
        count = tally_wide if is_wide else tally
        table, totals = count(rows.matrix, codes, weights, n_classes, quantity)
        if weights is not None and not weights.all():
            kept = weights > 0
            totals, codes, weights = totals[kept], codes[kept], weights[kept]
        return cls(
            rows.classes,
            settled(table) if is_wide else table,
            rows.class_rows,
            rows.class_weight,
            *length_histogram(totals, codes, weights, n_classes),
            presence=presence,
            threshold=quantity.threshold,
        )

    @classmethod
    def zero(
        cls, n_features: int, classes: Any = (), *, presence: bool = False, threshold: float = 0.0
    ) -> Self:
        """Return the statistics of no rows: adding them changes nothing.

        Parameters
        ----------
        n_features : int
            Number of features m.
        classes : array-like of shape (C,), default=()
            Labels that will occur.
        presence, threshold : bool and float
            As in `from_matrix`.

        Returns
        -------
        counts : ClassCounts
            All counts zero.
        """
        empty = np.empty((0, n_features), dtype=np.int64)
        return cls.from_matrix(empty, [], classes=classes, presence=presence, threshold=threshold)

    def update(self, X: Any, y: Any, sample_weight: Any = None) -> Self:
        """Return the statistics of the rows counted so far and some more.

        Parameters
        ----------
        X : array-like, sparse matrix or data frame of shape (n, m)
            Rows, as in `from_matrix`.
        y : array-like of shape (n,)
            Labels; there may be new ones.
        sample_weight : array-like of shape (n,), default=None
            Weight of each row.

        Returns
        -------
        counts : ClassCounts
            A new value; this one does not change.
        """
        batch = type(self).from_matrix(
            X, y, sample_weight, presence=self.presence, threshold=self.threshold
        )
        return self + batch

    # -- reading --------------------------------------------------------------------------------

    @property
    def n_features(self) -> int:
        """Number of features m."""
        return int(self.table.shape[0])

    @property
    def feature_count(self) -> Array:
        """Counts by class, (C, m): a view of the table."""
        transposed: Array = self.table.T
        return transposed

    def take(self, columns: npt.ArrayLike) -> Self:
        """Return the statistics of some features.

        Parameters
        ----------
        columns : array-like of int or bool
            Which features, in the order wanted, or a mask (m,).

        Returns
        -------
        counts : ClassCounts
            The histogram of row totals stays that of whole rows.
        """
        if isinstance(self.table, SparseTable):
            return replace(self, table=self.table.take(columns))
        wanted = np.asarray(columns)
        if wanted.size == 0 and wanted.dtype.kind == "f":  # what an empty list becomes
            wanted = wanted.astype(np.int64)
        return replace(self, table=np.ascontiguousarray(self.table[wanted]))

    def equals(self, other: Self) -> bool:
        """Whether all fields agree exactly, types included.

        Parameters
        ----------
        other : ClassCounts
            What to compare with.

        Returns
        -------
        equal : bool
            True if arrays agree in shape and in every entry, and in type.
        """
        return all(
            _same(getattr(self, field.name), getattr(other, field.name)) for field in fields(self)
        )

    # -- arithmetic -----------------------------------------------------------------------------

    def __add__(self, other: Self) -> Self:
        if not isinstance(other, ClassCounts):
            return NotImplemented
        self._check_same_features(other)
        classes = union_of_classes(self.classes, other.classes)
        first, second = self._spread(classes), other._spread(classes)
        values, weight = _merged_lengths(first, second, 1.0)
        return replace(
            first,
            table=settled(_sum(first.table, second.table)),
            class_rows=checked_sum(first.class_rows, second.class_rows),
            class_weight=checked_sum(first.class_weight, second.class_weight),
            length_values=values,
            length_weight=weight,
        )

    def __radd__(self, other: int) -> Self:
        return self if is_nothing(other) else NotImplemented

    def __sub__(self, other: Self) -> Self:
        if not isinstance(other, ClassCounts):
            return NotImplemented
        self._check_same_features(other)
        part = other._spread(self.classes)
        values, weight = _merged_lengths(self, part, -1.0)
        occurring = weight.any(axis=1)
        return replace(
            self,
            table=settled(_difference(self.table, part.table)),
            class_rows=_difference(self.class_rows, part.class_rows),
            class_weight=_difference(self.class_weight, part.class_weight),
            length_values=values[occurring],
            length_weight=weight[occurring],
        )

    def _spread(self, classes: Array) -> Self:
        """Return the same statistics with zeros for classes that are not among its own."""
        if np.array_equal(classes, self.classes):
            return replace(self, classes=classes)
        positions = class_positions(self.classes, classes)

        def spread(counts: Any) -> Any:
            if isinstance(counts, SparseTable):
                return counts.spread(positions, len(classes))
            if counts.ndim == 2 and len(counts) * len(classes) > DENSE_CELLS:
                return settled(SparseTable.from_dense(counts).spread(positions, len(classes)))
            wider = np.zeros((*counts.shape[:-1], len(classes)), dtype=counts.dtype)
            wider[..., positions] = counts
            return wider

        return replace(
            self,
            classes=classes,
            table=spread(self.table),
            class_rows=spread(self.class_rows),
            class_weight=spread(self.class_weight),
            length_weight=spread(self.length_weight),
        )

    def _check_same_features(self, other: Self) -> None:
        if self.n_features != other.n_features:
            raise ValueError(
                "Statistics must be of the same features to be combined; got "
                f"n_features={self.n_features} and n_features={other.n_features}."
            )
        if (self.presence, self.threshold) != (other.presence, other.threshold):
            raise ValueError(
                "Statistics must count the same thing to be combined; got "
                f"presence={self.presence}, threshold={self.threshold} and "
                f"presence={other.presence}, threshold={other.threshold}."
            )


def _checked_threshold(matrix: Any, threshold: float, presence: bool) -> float:
    if not presence:
        return 0.0
    if not np.isfinite(threshold):
        raise ValueError(f"`threshold` must be a finite number; got {threshold}.")
    if threshold < 0 and is_sparse(matrix):
        raise ValueError(
            f"`threshold` must be >= 0 for sparse X, whose unstored zeros would all exceed it; "
            f"got {threshold}. Pass a dense array."
        )
    return float(threshold)


def _same(first: Any, second: Any) -> bool:
    if isinstance(first, SparseTable):
        return first.equals(second)
    if not isinstance(first, np.ndarray):
        return bool(first == second)
    return first.dtype == second.dtype and np.array_equal(first, second)


def _merged_lengths(
    first: ClassCounts, second: ClassCounts, sign: float
) -> tuple[IntArray, FloatArray]:
    """Sum or difference of the histograms of row totals of two statistics of the same classes."""
    values = np.union1d(first.length_values, second.length_values)
    weight = np.zeros((len(values), len(first.classes)))
    weight[np.searchsorted(values, first.length_values)] = first.length_weight
    positions = np.searchsorted(values, second.length_values)
    if sign > 0:
        weight[positions] = checked_sum(weight[positions], second.length_weight)
    else:
        weight[positions] = _difference(weight[positions], second.length_weight)
    return values, weight


def _sum(first: Any, second: Any) -> Any:
    if isinstance(first, SparseTable) or isinstance(second, SparseTable):
        return first + second  # checks the total itself
    return checked_sum(first, second)


def _difference(whole: Any, part: Any) -> Any:
    """Return whole - part, both >= 0, with rounding residues as exact zeros."""
    if isinstance(whole, SparseTable):
        return _sparse_difference(whole, part)
    difference = whole + -part if isinstance(part, SparseTable) else np.subtract(whole, part)
    cells, minuend = difference.reshape(-1), whole.reshape(-1)
    for start in range(0, cells.size, _STRIP):
        strip = slice(start, start + _STRIP)
        if cells.dtype.kind == "f":
            residue = np.abs(cells[strip]) <= _ROUNDING * minuend[strip]
            cells[strip][residue] = 0.0
        if (cells[strip] < 0).any():
            raise ValueError(_NOT_COUNTED)
    return difference


def _sparse_difference(whole: SparseTable, part: Array | SparseTable) -> SparseTable:
    part = part if isinstance(part, SparseTable) else SparseTable.from_dense(part)
    if not np.isin(part.cells, whole.cells, assume_unique=True).all():
        raise ValueError(_NOT_COUNTED)
    taken = np.zeros(len(whole.values), dtype=np.result_type(whole.dtype, part.dtype))
    taken[np.searchsorted(whole.cells, part.cells)] = part.values
    return SparseTable.of(whole.shape, whole.cells, _difference(whole.values, taken))
