"""Medians of each feature within each class and over all classes, with their dispersions.

Medians do not add up: those of two batches do not determine those of both. So `ClassMedians`, all
that the l1 model needs to know, has no `+`. `ClassValues` keeps the values themselves and has one,
but needs the memory of the rows: it does not subtract, is in no record, and is none of the
statistics of `naively.statistics.base`.

Dense columns are transposed a block at a time, sorted within their classes by NumPy and read off.
In sparse data the zeros of a class are most often more than half of it. One pass over the
non-zeros weighs what lies on either side of zero, which settles those columns; only the others
are sorted, their zeros standing as one value of their joint weight.
"""

from __future__ import annotations

import itertools
import math
from collections.abc import Iterator
from dataclasses import dataclass, replace
from typing import Any, Self, final

import numpy as np
import scipy.sparse as sp

from naively._kernels.compiled import read_only
from naively._kernels.medians import (
    DIGIT_BITS,
    accumulate_segments,
    columns_dense,
    pooled_medians,
    pooled_medians_of_two,
    segment_centers,
    segments_csc,
    segments_csr,
    signs_csc,
    signs_csr,
)
from naively._types import Array, FloatArray, IntArray
from naively.statistics.labels import union_of_classes
from naively.statistics.matrix import Matrix, canonical, is_sparse
from naively.statistics.missing import split_missing
from naively.statistics.rows import LabelledRows, refuse_overflow
from naively.statistics.threads import in_threads, n_threads

_BLOCK = 1 << 18  # values sorted at a time: 1 to 2 MB, which stays in the cache
_WIDEST = 512  # columns of a block: transposing more of them at once defeats the cache
_BATCH = 1 << 25  # non-zeros of sparse columns held at a time
_PART = 1 << 20  # non-zeros that are worth a thread
_PARTS = 4
_MULTIPLES = 12  # weights are whole numbers of a unit if some multiple up to this shows it
_ROUNDING = 1e-12
_NONE_NEEDED = np.empty(0, dtype=np.uint64)
_TABLES = ("center", "dispersion", "pooled_center", "pooled_dispersion")


@final
@dataclass(frozen=True, slots=True, eq=False)
class ClassMedians:
    """Weighted medians and mean absolute deviations of every feature.

    In a class without rows the medians are the pooled ones and the deviations 0.

    Attributes
    ----------
    classes : ndarray of shape (n_classes,)
        Labels, ascending.
    class_rows : ndarray of shape (n_classes,)
        Rows of positive weight in each class.
    class_weight : ndarray of shape (n_classes,)
        Sum of the weights of these rows.
    center : ndarray of shape (n_classes, n_features)
        Median of each class.
    dispersion : ndarray of shape (n_classes, n_features)
        Mean absolute deviation from it.
    pooled_center : ndarray of shape (n_features,)
        Median of all rows, each class weighing the same.
    pooled_dispersion : ndarray of shape (n_features,)
        Sum over the classes of the mean deviations from it.
    observed : ndarray of shape (n_features, n_classes) or None
        Weight of the rows in which a feature is observed, if values may be missing. A class in
        which it never is counts as one without rows.
    n_features : int
        Number of features.

    Examples
    --------
    >>> from naively import ClassMedians
    >>> medians = ClassMedians.from_matrix([[1], [2], [60], [7]], ["a", "a", "a", "b"])
    >>> medians.center.T
    array([[2., 7.]])
    """

    classes: Array
    class_rows: IntArray
    class_weight: FloatArray
    center: FloatArray
    dispersion: FloatArray
    pooled_center: FloatArray
    pooled_dispersion: FloatArray
    observed: FloatArray | None = None

    @classmethod
    def from_matrix(
        cls, X: Any, y: Any, sample_weight: Any = None, *, classes: Any = None,
        missing: bool = False,
    ) -> Self:  # fmt: skip
        """Take the medians of the rows of a matrix.

        Parameters
        ----------
        X : array-like, sparse matrix or data frame of shape (n, m)
            Rows of finite numbers. Never modified, never made dense.
        y : array-like of shape (n,)
            Labels: whole numbers, booleans or strings.
        sample_weight : array-like of shape (n,), default=None
            Weight of each row, >= 0; a weight of 2 is the row twice, a weight of 0 no row.
        classes : array-like of shape (C,), default=None
            All labels, where y may lack some. By default those in y.
        missing : bool, default=False
            Leave NaN out of its own feature: `observed` says how many rows are left. By default
            it is an error.

        Returns
        -------
        medians : ClassMedians
            The statistics.

        Raises
        ------
        ValueError
            If values, labels or weights cannot be used; the message says where and why.
        """
        rows = LabelledRows.of(X, y, sample_weight, classes)
        return cls._observed(rows) if missing else cls._of(rows)

    @classmethod
    def _of(cls, rows: LabelledRows) -> Self:
        shares = _shares(rows)
        result = cls(
            rows.classes,
            rows.class_rows,
            rows.class_weight,
            *_empty_tables(len(rows.classes), rows.matrix.shape[1]),
        )
        if is_sparse(rows.matrix):
            _sparse_centers(canonical(rows.matrix), rows.codes, shares, result)
        else:
            _dense_centers(rows.matrix, rows.codes, shares, result)
        if not np.isfinite(result.pooled_dispersion).all():
            refuse_overflow(rows.matrix)
        return result

    @classmethod
    def _observed(cls, rows: LabelledRows) -> Self:
        """Take the medians of the columns that lack the same rows together, by the others."""
        whole, mask, observed = split_missing(rows)
        if mask is None:
            return replace(cls._of(rows), observed=observed)
        tables = _empty_tables(len(rows.classes), mask.shape[1])
        X = canonical(rows.matrix).tocsc() if is_sparse(rows.matrix) else rows.matrix
        for lacking, columns in _alike_columns(mask):
            if not observed[columns[0]].any():
                continue  # nothing is known of them
            kept = np.setdiff1d(np.arange(mask.shape[0]), lacking)
            weights = None if rows.weights is None else rows.weights[kept]
            some = LabelledRows(X[:, columns][kept], rows.classes, rows.codes[kept], weights)
            medians = cls._of(some)
            for table, name in zip(tables, _TABLES, strict=True):
                table[..., columns] = getattr(medians, name)
        found = cls(rows.classes, rows.class_rows, rows.class_weight, *tables)
        return replace(found, observed=observed)

    @property
    def n_features(self) -> int:
        """Number of features m."""
        return int(self.pooled_center.shape[0])


@final
@dataclass(frozen=True, slots=True, eq=False)
class ClassValues:
    """The rows themselves: what has to be kept for medians of data that come in batches.

    Values of the same features add (`+`); nothing is copied before `medians` is asked for.

    Attributes
    ----------
    classes : ndarray of shape (n_classes,)
        Labels, ascending.
    batches : tuple
        The labelled rows of each batch.
    n_features : int
        Number of features.

    Examples
    --------
    >>> from naively import ClassValues, SparseL1Centers
    >>> values = ClassValues.from_matrix([[1, 5], [2, 6]], ["a", "a"])
    >>> values = values.update([[8, 5], [9, 6]], ["b", "b"])
    >>> model = SparseL1Centers.from_statistics(values.medians(), k=1)
    >>> model.get_support(indices=True)
    array([0])
    """

    classes: Array
    batches: tuple[LabelledRows, ...]
    n_features: int

    @classmethod
    def from_matrix(cls, X: Any, y: Any, sample_weight: Any = None, *, classes: Any = None) -> Self:
        """Keep the rows of a matrix.

        Parameters
        ----------
        X : array-like, sparse matrix or data frame of shape (n, m)
            Rows of finite numbers.
        y : array-like of shape (n,)
            Labels: whole numbers, booleans or strings.
        sample_weight : array-like of shape (n,), default=None
            Weight of each row, >= 0; a weight of 2 is the row twice, a weight of 0 no row.
        classes : array-like of shape (C,), default=None
            All labels, where y may lack some. By default those in y.

        Returns
        -------
        values : ClassValues
            The rows, one batch.

        Raises
        ------
        ValueError
            If labels or weights cannot be used; the message says where and why.
        """
        rows = LabelledRows.of(X, y, sample_weight, classes)
        return cls(rows.classes, (rows,), rows.matrix.shape[1])

    def update(self, X: Any, y: Any, sample_weight: Any = None) -> Self:
        """Return the values of the rows kept so far and some more.

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
        values : ClassValues
            A new value; this one does not change.
        """
        return self + type(self).from_matrix(X, y, sample_weight)

    def __add__(self, other: Self) -> Self:
        if not isinstance(other, ClassValues):
            return NotImplemented
        if self.n_features != other.n_features:
            raise ValueError(
                "Statistics must be of the same features to be combined; got "
                f"n_features={self.n_features} and n_features={other.n_features}."
            )
        classes = union_of_classes(self.classes, other.classes)
        return type(self)(classes, self.batches + other.batches, self.n_features)

    def medians(self, *, missing: bool = False) -> ClassMedians:
        """Take the medians of all rows kept.

        Parameters
        ----------
        missing : bool, default=False
            Leave NaN out of its own feature. By default it is an error.

        Returns
        -------
        medians : ClassMedians
            Equal to those of one matrix of all the rows.
        """
        weights = [
            np.ones(len(batch.codes)) if batch.weights is None else batch.weights
            for batch in self.batches
        ]
        weighted = any(batch.weights is not None for batch in self.batches)
        return ClassMedians.from_matrix(
            _stacked([batch.matrix for batch in self.batches]),
            np.concatenate([batch.classes[batch.codes] for batch in self.batches]),
            np.concatenate(weights) if weighted else None,
            classes=self.classes,
            missing=missing,
        )


def _alike_columns(mask: Matrix) -> Iterator[tuple[IntArray, IntArray]]:
    """Rows that are missing in some columns, and these columns; whole ones come together."""
    at = sp.csc_array(mask)
    at.sort_indices()
    alike: dict[bytes, list[int]] = {}
    for i in range(at.shape[1]):
        lacking = at.indices[at.indptr[i] : at.indptr[i + 1]].astype(np.int64)
        alike.setdefault(lacking.tobytes(), []).append(i)
    for lacking_rows, columns in alike.items():
        yield np.frombuffer(lacking_rows, dtype=np.int64), np.array(columns, dtype=np.int64)


def _stacked(matrices: list[Matrix]) -> Matrix:
    if len(matrices) == 1:
        return matrices[0]
    if any(is_sparse(matrix) for matrix in matrices):
        return sp.vstack([sp.csr_array(matrix) for matrix in matrices], format="csr")
    return np.concatenate(matrices)


def _empty_tables(n_classes: int, n_features: int) -> tuple[FloatArray, ...]:
    shape = (n_classes, n_features)
    return np.zeros(shape), np.zeros(shape), np.zeros(n_features), np.zeros(n_features)


# -- weights that can be compared exactly --------------------------------------------------------


@dataclass(frozen=True, slots=True)
class _Shares:
    """Weights of rows, rescaled within each class; medians see shares of the class only."""

    weights: FloatArray | None  # (n,); whole numbers unless `tolerance` is positive; None: all 1
    totals: FloatArray  # (C,)
    digits: IntArray  # (C + 1, D) exact comparison with one half; D = 0 if it is not possible
    tolerance: float  # relative; sums this close to one half are equal to it
    # Of two classes whose values all weigh the same: with i values of the first, how many of the
    # second are one half of both or more, (rows of the first + 1,); otherwise empty.
    needed: Array


def _shares(rows: LabelledRows) -> _Shares:
    weights = rows.weights
    whole = True
    if weights is not None:
        weights = weights.copy()
        for c in range(len(rows.classes)):
            members = (rows.codes == c) & (weights > 0)
            units = _whole_units(weights[members])
            whole &= units is not None
            weights[members] = weights[members] if units is None else units
    totals = np.bincount(rows.codes, weights, len(rows.classes)).astype(np.float64)
    alike = weights is None and not is_sparse(rows.matrix)
    needed = _needed(totals) if alike and len(totals) == 2 and totals.all() else _NONE_NEEDED
    if not whole:
        return _Shares(weights, totals, np.zeros((0, 0), np.int64), _ROUNDING, needed)
    return _Shares(weights, totals, _digits(totals), 0.0, needed)


def _needed(totals: FloatArray) -> Array:
    """Rows of the second of two classes that make one half of both with i of the first."""
    first, second = totals.astype(np.int64).tolist()
    return np.asarray(second - np.arange(first + 1) * second // first, dtype=np.uint64)


def _whole_units(weights: FloatArray) -> FloatArray | None:
    """Positive weights as multiples of a unit, if all are small multiples of one."""
    if len(weights) == 0:
        return weights
    ratios = weights / weights.min()
    for multiple in range(1, _MULTIPLES + 1):
        units = np.rint(ratios * multiple)
        if (np.abs(ratios * multiple - units) <= _ROUNDING * units).all():
            return units if units.sum() < 1 << 40 else None
    return None


def _digits(totals: FloatArray) -> IntArray:
    """Digits of lcm / total by class, and of the sum of lcm over the classes with rows."""
    sizes = [int(total) for total in totals]
    common = math.lcm(*(size for size in sizes if size))
    numbers = [common // size if size else 0 for size in sizes]
    numbers.append(common * sum(size > 0 for size in sizes))
    n_digits = -(-max(numbers).bit_length() // DIGIT_BITS)
    mask = (1 << DIGIT_BITS) - 1
    return np.array(
        [[(number >> DIGIT_BITS * d) & mask for d in range(n_digits)] for number in numbers],
        dtype=np.int64,
    ).reshape(len(numbers), n_digits)


# -- dense ---------------------------------------------------------------------------------------


def _dense_centers(X: Matrix, codes: Array, shares: _Shares, result: ClassMedians) -> None:
    order = np.argsort(codes, kind="stable")
    if shares.weights is not None:
        order = order[shares.weights[order] > 0]
    bounds = np.concatenate([[0], np.cumsum(result.class_rows)])
    n_rows, n_classes, n_features = len(order), len(result.classes), X.shape[1]
    width = max(1, min(_BLOCK // max(n_rows, 1), _WIDEST, n_features))
    starts = np.append(n_rows * np.arange(width)[:, None] + bounds[:-1], n_rows * width)

    def work(firsts: IntArray) -> None:
        scratch = np.empty((width, n_rows), dtype=_sortable(X.dtype))  # stays in the cache
        for first in firsts.tolist():
            columns = np.arange(first, min(first + width, n_features))
            block, own = scratch[: len(columns)], starts[: len(columns) * n_classes + 1]
            columns_dense(read_only(X), order, first, block)
            running = _sort_classes(block, bounds, own, order, shares)
            _write_centers(block.ravel(), own, *running, shares, columns, result)

    in_threads(work, np.array_split(np.arange(0, n_features, width), 4 * n_threads()))


def _sort_classes(
    block: Array, bounds: IntArray, starts: IntArray, order: IntArray, shares: _Shares
) -> tuple[FloatArray, IntArray]:
    """Sort the columns of a block within the classes; running weights, and where those begin."""
    segments = [slice(*pair) for pair in itertools.pairwise(bounds.tolist())]
    if shares.weights is None:
        for segment in segments:
            block[:, segment].sort(axis=1)
        return np.arange(1.0, shares.totals.max() + 1), np.zeros(len(starts) - 1, dtype=np.int64)
    running = np.empty(block.shape)
    for segment in segments:
        ranks = np.argsort(block[:, segment], axis=1)
        block[:, segment] = np.take_along_axis(block[:, segment], ranks, axis=1)
        running[:, segment] = np.cumsum(shares.weights[order[segment]][ranks], axis=1)
    return running.ravel(), starts[:-1]


def _sortable(dtype: Any) -> Any:
    """Type that holds the values of `dtype` and that NumPy sorts fast."""
    return np.float32 if np.can_cast(dtype, np.float32) else np.float64


def _write_centers(
    values: Array,
    starts: IntArray,
    cumulative: FloatArray,
    cumulative_starts: IntArray,
    shares: _Shares,
    columns: IntArray,
    result: ClassMedians,
) -> None:
    common = np.empty(len(columns))
    running = cumulative, cumulative_starts, shares.totals
    if len(shares.needed):
        pooled_medians_of_two(values, starts, shares.needed, common)
    else:
        pooled_medians(values, starts, *running, shares.digits, shares.tolerance, common)
    segment_centers(
        values,
        starts,
        *running,
        shares.tolerance,
        columns,
        common,
        result.center,
        result.dispersion,
        result.pooled_center,
        result.pooled_dispersion,
    )


# -- sparse --------------------------------------------------------------------------------------


def _sparse_centers(X: Matrix, codes: Array, shares: _Shares, result: ClassMedians) -> None:
    n_features, n_classes = X.shape[1], len(result.classes)
    weights = np.ones(len(codes)) if shares.weights is None else shares.weights
    arrays = read_only(X.data), read_only(X.indices), read_only(X.indptr), codes, weights
    signs = _signs(arrays, n_features, n_classes, by_rows=X.format == "csr")
    occupied = shares.totals > 0
    share = signs[:, occupied] / shares.totals[occupied, None]
    # The median of every class is 0 where less than half of it lies on either side of 0, and
    # then so is the pooled one.
    half = 0.5 * (1 - shares.tolerance)
    settled = (np.maximum(share[:, :, 1], share[:, :, 2]) < half).all(axis=1)
    result.dispersion[occupied] = share[:, :, 3].T
    result.pooled_dispersion[:] = share[:, :, 3].sum(axis=1)
    open_columns = np.flatnonzero(~settled)
    lengths = signs[open_columns, :, 0].astype(np.int64)
    lengths += result.class_rows > lengths  # the zeros, one value
    gather: Any = segments_csr if X.format == "csr" else segments_csc
    for batch in _batches(lengths.sum(axis=1)):
        columns = open_columns[batch]
        slots = np.full(n_features, -1)
        slots[columns] = np.arange(len(columns))
        starts = np.append(0, np.cumsum(lengths[batch]))
        values = np.zeros(starts[-1], dtype=_sortable(X.dtype))
        value_weights = np.empty(starts[-1])
        ends = starts[:-1].copy()
        gather(*arrays, slots, n_classes, ends, values, value_weights)
        zeros = np.flatnonzero(ends < starts[1:])
        outside = signs[columns, :, 1] + signs[columns, :, 2]
        value_weights[ends[zeros]] = (shares.totals - outside).ravel()[zeros]
        _segments_done(starts, values, value_weights, shares, columns, result)


def _signs(arrays: Any, n_features: int, n_classes: int, *, by_rows: bool) -> FloatArray:
    """Sum what lies on either side of zero (m, C, 4), by parts of the data.

    How many parts there are depends on the data only, so that sums of real numbers do not depend
    on the number of threads. Parts of rows need a table each, those of columns share one.
    """
    indptr, n_cells = arrays[2], n_features * n_classes
    n_parts = int(np.clip(indptr[-1] // max(_PART, 8 * n_cells), 1, _PARTS))
    inner = np.searchsorted(indptr, indptr[-1] / n_parts * np.arange(1, n_parts))
    edges = [0, *inner.tolist(), len(indptr) - 1]
    tables = [np.zeros((n_cells, 4)) for _ in range(n_parts if by_rows else 1)]
    add: Any = signs_csr if by_rows else signs_csc

    def work(part: int) -> None:
        add(*arrays, n_classes, edges[part], edges[part + 1], tables[part if by_rows else 0])

    in_threads(work, range(n_parts))
    for table in tables[1:]:
        tables[0] += table
    return tables[0].reshape(n_features, n_classes, 4)


def _batches(lengths: IntArray, size: int = _BATCH) -> list[slice]:
    """Consecutive columns that together hold about `size` values, or one with more."""
    batch = np.cumsum(lengths) // size
    edges = np.flatnonzero(np.diff(batch, prepend=-1, append=-1)).tolist()
    return [slice(*pair) for pair in itertools.pairwise(edges)]


def _segments_done(
    starts: IntArray,
    values: Array,
    weights: FloatArray,
    shares: _Shares,
    columns: IntArray,
    result: ClassMedians,
) -> None:
    """Sort the segments of columns by value, in place, and write their centers."""
    n_classes = len(result.classes)
    edges = np.append(starts[:-1:n_classes], starts[-1])

    def work(part: slice) -> None:
        own = starts[part.start * n_classes : part.stop * n_classes + 1]
        for first, last in itertools.pairwise(own.tolist()):
            ranks = np.argsort(values[first:last])
            values[first:last] = values[first:last][ranks]
            weights[first:last] = weights[first:last][ranks]
        accumulate_segments(own, weights)
        _write_centers(values, own, weights, own[:-1], shares, columns[part], result)

    in_threads(work, _batches(np.diff(edges), _PART))
