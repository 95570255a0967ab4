"""Sums and squared deviations of each feature within each class: all that moment models need.

Statistics are values. They add up (batches, shards, machines) and they subtract (cross-validation
takes a fold away); nothing ever changes them in place. Sums of whole numbers are exact.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, fields, replace
from typing import Any, Self, final

import numpy as np

from naively._kernels.compiled import read_only
from naively._kernels.moments import (
    class_moments_columns,
    class_moments_lines,
    class_moments_rows,
    class_sums_columns,
    class_sums_lines,
    class_sums_rows,
)
from naively._types import Array, FloatArray, IntArray
from naively.statistics.labels import class_positions, union_of_classes
from naively.statistics.matrix import canonical, is_sparse
from naively.statistics.rows import LabelledRows, refuse_overflow
from naively.statistics.threads import in_threads

_TILE = 1 << 13  # columns of a dense matrix treated at a time: their sums stay in the cache
_BLOCK = 1 << 22  # cells of a dense matrix converted at a time, where it has another type or order
_PART = 1 << 20  # entries of a sparse matrix that are worth a table of their own
_PARTS = 4
_ROUNDING = 1e-12


@final
@dataclass(frozen=True, slots=True, eq=False)
class ClassMoments:
    """Weighted sum, and sum of squared deviations from the mean, of every feature in every class.

    Statistics of the same features add (`+`) and subtract (`-`); sets of classes are united.
    Without the deviations (`scatter` None) one pass of additions is all they cost.

    Attributes
    ----------
    classes : ndarray of shape (n_classes,)
        Labels, ascending.
    class_rows : ndarray of shape (n_classes,)
        Rows of positive weight in each class.
    class_weight : ndarray of shape (n_classes,)
        Sum of the weights of these rows.
    total : ndarray of shape (n_classes, n_features)
        Weighted sum of the values.
    scatter : ndarray of shape (n_classes, n_features) or None
        Weighted sum of the squared deviations from the mean of the class.
    mean, variance : ndarray of shape (n_classes, n_features)
        Mean, and variance divided by the weight of the class; 0 in classes without rows.
    n_features : int
        Number of features.

    Examples
    --------
    >>> from naively import ClassMoments
    >>> first = ClassMoments.from_matrix([[1.0, 4.0], [3.0, 4.0]], ["a", "a"])
    >>> both = first + ClassMoments.from_matrix([[7.0, 0.0]], ["b"])
    >>> both.mean
    array([[2., 4.],
           [7., 0.]])
    """

    classes: Array
    class_rows: IntArray
    class_weight: FloatArray
    total: FloatArray
    scatter: FloatArray | None

    # -- making ---------------------------------------------------------------------------------

    @classmethod
    def from_matrix(
        cls,
        X: Any,
        y: Any,
        sample_weight: Any = None,
        *,
        classes: Any = None,
        deviations: bool = True,
    ) -> Self:
        """Take the moments of the rows of a matrix.

        Parameters
        ----------
        X : array-like, sparse matrix or data frame of shape (n, m)
            Rows of finite numbers. Duplicate entries of sparse matrices are summed. Never
            modified, never made dense.
        y : array-like of shape (n,)
            Labels: whole numbers, booleans or strings.
        sample_weight : array-like of shape (n,), default=None
            Weight of each row, >= 0; a weight of 2 is the row twice, a weight of 0 no row.
        classes : array-like of shape (C,), default=None
            All labels, where y may lack some. By default those in y.
        deviations : bool, default=True
            Whether to take second moments, too.

        Returns
        -------
        moments : ClassMoments
            The statistics.

        Raises
        ------
        ValueError
            If values, labels or weights cannot be used; the message says where and why.
        """
        rows = LabelledRows.of(X, y, sample_weight, classes)
        take = _sparse_tables if is_sparse(rows.matrix) else _dense_tables
        total, scatter = take(rows, deviations=deviations)
        if not (np.isfinite(total).all() and (scatter is None or np.isfinite(scatter).all())):
            refuse_overflow(rows.matrix)
        return cls(rows.classes, rows.class_rows, rows.class_weight, total, scatter)

    @classmethod
    def zero(cls, n_features: int, classes: Any = (), *, deviations: bool = True) -> Self:
        """Return the statistics of no rows: adding them changes nothing.

        Parameters
        ----------
        n_features : int
            Number of features m.
        classes : array-like of shape (C,), default=()
            Labels that will occur.
        deviations : bool, default=True
            Whether to take second moments, too.

        Returns
        -------
        moments : ClassMoments
            All sums zero.
        """
        empty = np.empty((0, n_features))
        return cls.from_matrix(empty, [], classes=classes, deviations=deviations)

    def update(self, X: Any, y: Any, sample_weight: Any = None) -> Self:
        """Return the statistics of the rows seen so far and some more.

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
        moments : ClassMoments
            A new value; this one does not change.
        """
        deviations = self.scatter is not None
        return self + type(self).from_matrix(X, y, sample_weight, deviations=deviations)

    # -- reading --------------------------------------------------------------------------------

    @property
    def n_features(self) -> int:
        """Number of features m."""
        return int(self.total.shape[1])

    @property
    def mean(self) -> FloatArray:
        """Mean by class, (C, m); 0 in classes without rows."""
        return _ratio(self.total, self.class_weight)

    @property
    def variance(self) -> FloatArray:
        """Variance by class, divided by the weight of the class, (C, m); 0 without rows."""
        return _ratio(self._deviations(), self.class_weight)

    def pooled_variance(self) -> FloatArray:
        """Variance about the means of the classes, divided by the weight of all rows.

        Returns
        -------
        variance : ndarray of shape (n_features,)
            In squared units of the features.
        """
        scatter: FloatArray = self._deviations().sum(axis=0)
        return scatter / self._positive_weight()

    def total_variance(self) -> FloatArray:
        """Variance about the mean of all rows, divided by their weight.

        Returns
        -------
        variance : ndarray of shape (n_features,)
            In squared units of the features.
        """
        mean = self.mean
        overall = self.class_weight @ mean / self._positive_weight()
        between = self.class_weight @ (mean - overall) ** 2 / self._positive_weight()
        return self.pooled_variance() + between

    def _positive_weight(self) -> float:
        return float(self.class_weight.sum()) or 1.0

    def of_columns(self, columns: IntArray) -> Self:
        """Return the moments of some columns.

        Parameters
        ----------
        columns : ndarray of int
            Which columns, in the order wanted.

        Returns
        -------
        moments : ClassMoments
            Classes and weights as they are.
        """
        scatter = None if self.scatter is None else self.scatter[:, columns]
        return replace(self, total=self.total[:, columns], scatter=scatter)

    def equals(self, other: Self) -> bool:
        """Whether all fields agree exactly, types included.

        Parameters
        ----------
        other : ClassMoments
            What to compare with.

        Returns
        -------
        equal : bool
            True if arrays agree in shape and in every entry, and in type.
        """
        return all(
            _same(getattr(self, field.name), getattr(other, field.name)) for field in fields(self)
        )

    def _deviations(self) -> FloatArray:
        if self.scatter is None:
            raise ValueError(
                "These statistics hold no second moments; gather them with `deviations=True`."
            )
        return self.scatter

    # -- arithmetic -----------------------------------------------------------------------------

    def __add__(self, other: Self) -> Self:
        if not isinstance(other, ClassMoments):
            return NotImplemented
        self._check_same_features(other)
        classes = union_of_classes(self.classes, other.classes)
        first, second = self._spread(classes), other._spread(classes)
        scatter = None
        if first.scatter is not None and second.scatter is not None:
            scatter = first.scatter + second.scatter + first._between(second)
        return replace(
            first,
            class_rows=first.class_rows + second.class_rows,
            class_weight=first.class_weight + second.class_weight,
            total=first.total + second.total,
            scatter=scatter,
        )

    def __sub__(self, other: Self) -> Self:
        if not isinstance(other, ClassMoments):
            return NotImplemented
        self._check_same_features(other)
        part = other._spread(self.classes)
        class_rows = self.class_rows - part.class_rows
        weight = self.class_weight - part.class_weight
        weight[np.abs(weight) <= _ROUNDING * self.class_weight] = 0.0
        if (class_rows < 0).any() or (weight < 0).any():
            raise ValueError(
                "Only statistics of rows that were gathered can be subtracted; the difference "
                "has classes of negative weight."
            )
        remaining = (weight > 0)[:, None]
        total = np.where(remaining, self.total - part.total, 0.0)
        rest = replace(self, class_rows=class_rows, class_weight=weight, total=total, scatter=None)
        if self.scatter is None or part.scatter is None:
            return rest
        scatter = self.scatter - part.scatter - rest._between(part)
        return replace(rest, scatter=np.where(remaining, np.maximum(scatter, 0.0), 0.0))

    def _between(self, other: Self) -> FloatArray:
        """Squared deviations that joining two groups of rows of the same classes adds."""
        joint = self.class_weight + other.class_weight
        share = _ratio(self.class_weight[:, None] * other.class_weight[:, None], joint)
        return share * (self.mean - other.mean) ** 2

    def _spread(self, classes: Array) -> Self:
        """Return the same statistics with zeros for classes that are not among its own."""
        if len(classes) == len(self.classes):
            return replace(self, classes=classes)
        positions = class_positions(self.classes, classes)

        def spread(table: Array | None) -> Any:
            if table is None:
                return None
            wider = np.zeros((len(classes), *table.shape[1:]), dtype=table.dtype)
            wider[positions] = table
            return wider

        return replace(
            self,
            classes=classes,
            class_rows=spread(self.class_rows),
            class_weight=spread(self.class_weight),
            total=spread(self.total),
            scatter=spread(self.scatter),
        )

    def _check_same_features(self, other: Self) -> None:
        if self.n_features != other.n_features:
            raise ValueError(
                "Statistics must be of the same features to be combined; got "
                f"n_features={self.n_features} and n_features={other.n_features}."
            )


def _ratio(table: FloatArray, weight: FloatArray) -> FloatArray:
    """Rows of a table divided by the weight of their class; 0 where that is 0."""
    return table / np.where(weight > 0, weight, np.inf)[:, None]


def _same(first: Any, second: Any) -> bool:
    if first is None or second is None:
        return first is second
    return first.dtype == second.dtype and np.array_equal(first, second)


# -- dense ---------------------------------------------------------------------------------------


def _dense_tables(rows: LabelledRows, *, deviations: bool) -> tuple[FloatArray, FloatArray | None]:
    sums = np.zeros((len(rows.classes), rows.matrix.shape[1]))
    if not deviations:
        for block, codes, weights in _row_blocks(rows):
            _over_tiles(class_sums_rows, (block, codes, weights), (sums,))
        return sums, None
    squares, origin = np.zeros_like(sums), _origins(rows)
    for block, codes, weights in _row_blocks(rows):
        _over_tiles(class_moments_rows, (block, codes, weights, origin), (sums, squares))
    weight = rows.class_weight
    scatter = np.maximum(squares - _ratio(sums**2, weight), 0.0)
    return sums + weight[:, None] * origin, scatter


def _over_tiles(add: Any, arrays: tuple[Array, ...], tables: tuple[FloatArray, ...]) -> None:
    """Apply a kernel to ranges of columns, each in a thread; to all at once if that is quick."""
    n_features = tables[0].shape[1]
    width = _TILE if arrays[0].size > _BLOCK else max(n_features, 1)

    def work(first: int) -> None:
        add(*arrays, first, min(first + width, n_features), *tables)

    in_threads(work, range(0, n_features, width))


def _row_blocks(rows: LabelledRows) -> Iterator[tuple[Array, Array, FloatArray]]:
    """All rows at once if the kernels can read them as they are, else a block at a time."""
    X = rows.matrix
    n_rows, n_features = X.shape
    weights = np.ones(n_rows) if rows.weights is None else rows.weights
    ready = X.dtype in (np.float32, np.float64) and X.flags.c_contiguous
    height = max(n_rows if ready else _BLOCK // max(n_features, 1), 1)
    dtype = np.float32 if np.can_cast(X.dtype, np.float32) else np.float64
    for start in range(0, n_rows, height):
        part = slice(start, start + height)
        block = np.ascontiguousarray(X[part], dtype=dtype)
        yield read_only(block), rows.codes[part], weights[part]


def _origins(rows: LabelledRows) -> FloatArray:
    """Return the heaviest row of each class (the first such), (C, m): where its moments start."""
    origin = np.zeros((len(rows.classes), rows.matrix.shape[1]))
    for c in range(len(rows.classes)):
        members = np.flatnonzero(rows.codes == c)
        if len(members):
            heaviest = 0 if rows.weights is None else np.argmax(rows.weights[members])
            origin[c] = rows.matrix[members[heaviest]]
    return origin


# -- sparse --------------------------------------------------------------------------------------


def _sparse_tables(rows: LabelledRows, *, deviations: bool) -> tuple[FloatArray, FloatArray | None]:
    X = canonical(rows.matrix) if deviations else rows.matrix
    weights = np.ones(len(rows.codes)) if rows.weights is None else rows.weights
    shape = (len(rows.classes), X.shape[1])
    by_rows = X.format == "csr"
    arrays = read_only(X.data), read_only(X.indices), read_only(X.indptr), rows.codes, weights
    if deviations:
        cells = np.zeros((shape[0] * shape[1], 4))
        add: Any = class_moments_lines if by_rows else class_moments_columns
        add(*arrays, shape[1], 0, len(X.indptr) - 1, cells)
        return _with_zeros(cells.reshape(*shape, 4), rows.class_weight)
    return _sparse_sums(arrays, shape, by_rows=by_rows).reshape(shape), None


def _sparse_sums(arrays: Any, shape: tuple[int, int], *, by_rows: bool) -> FloatArray:
    """Sum parts of the data (C * m); parts of rows need a table each, those of columns share one.

    How many parts there are depends on the data only, so that sums of real numbers do not depend
    on the number of threads.
    """
    indptr = arrays[2]
    n_parts = int(np.clip(indptr[-1] // _PART, 1, _PARTS))
    inner = np.searchsorted(indptr, indptr[-1] / n_parts * np.arange(1, n_parts))
    edges = [0, *inner.tolist(), len(indptr) - 1]
    tables = [np.zeros(shape[0] * shape[1]) for _ in range(n_parts if by_rows else 1)]
    add: Any = class_sums_lines if by_rows else class_sums_columns

    def work(part: int) -> None:
        table = tables[part if by_rows else 0]
        add(*arrays, shape[1], edges[part], edges[part + 1], table)

    in_threads(work, range(n_parts))
    for table in tables[1:]:
        tables[0] += table
    return tables[0]


def _with_zeros(cells: FloatArray, class_weight: FloatArray) -> tuple[FloatArray, FloatArray]:
    """Join the entries of each cell with the zeros of its class: sums and scatter, (C, m)."""
    weight, origin, sums, squares = (cells[:, :, field] for field in range(4))
    of_class = class_weight[:, None]
    zeros = of_class - weight
    zeros[zeros <= _ROUNDING * of_class] = 0.0
    present = np.where(weight > 0, weight, 1.0)
    within = np.maximum(squares - sums**2 / present, 0.0)
    between = (origin + sums / present) ** 2 * _ratio(weight * zeros, class_weight)
    return origin * weight + sums, within + between
