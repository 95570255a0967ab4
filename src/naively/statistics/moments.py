"""Sums and squared deviations of each feature within each class: all that moment models need.

Statistics are values. They add up (batches, shards, machines) and they subtract (cross-validation
takes a fold away); nothing ever changes them in place. Sums of whole numbers are exact.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field, replace
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
from naively._kernels.residue import RESIDUE
from naively._types import Array, FloatArray
from naively.statistics.base import AbstractStatistics
from naively.statistics.exposure import Exposure, exposures_of, per_exposure
from naively.statistics.matrix import canonical, is_sparse
from naively.statistics.missing import split_missing
from naively.statistics.parts import MAYBE_COUNTS, Way, part, wider
from naively.statistics.rows import LabelledRows, check_squares, refuse_overflow
from naively.statistics.threads import in_threads

_TILE = 1 << 13  # columns of a dense matrix treated at a time: their sums stay in the cache
_BLOCK = 1 << 22  # cells of a dense matrix converted at a time, where it has another type or order
_PART = 1 << 20  # entries of a sparse matrix that are worth a table of their own
_PARTS = 4
_SQUARES = 8 * np.finfo(float).eps  # rounding of a sum of n squares, but for the root of n
_ROUNDED = 1e-8  # of what sums of squares are made of, far above what rounding leaves


def _ratio(table: FloatArray, weight: FloatArray) -> FloatArray:
    """Columns of a table divided by the weight of their class; 0 where that is 0."""
    return table / np.where(weight > 0, weight, np.inf)


# -- how moments add and subtract ----------------------------------------------------------------


def _between(first: Any, second: Any) -> FloatArray:
    """Squared deviations that joining two groups of rows of the same classes adds."""
    weights = [each.feature_weight for each in (first, second)]
    share = _ratio(weights[0] * weights[1], weights[0] + weights[1])
    apart: FloatArray = first.mean - second.mean
    return share * apart**2


def _sums_added(name: str, first: Any, second: Any) -> FloatArray:
    return np.asarray(getattr(first, name) + getattr(second, name))


def _sums_taken(name: str, whole: Any, part: Any, rest: Any) -> FloatArray:
    minuend = getattr(whole, name)
    difference = minuend - getattr(part, name)
    kept = (rest.feature_weight > 0) & (np.abs(difference) > RESIDUE * np.abs(minuend))
    return np.where(kept, difference, 0.0)


def _scatter_added(name: str, first: Any, second: Any) -> FloatArray | None:
    if first.scatter is None:
        return None
    return np.asarray(first.scatter + second.scatter + _between(first, second))


def _scatter_taken(name: str, whole: Any, part: Any, rest: Any) -> FloatArray | None:
    if whole.scatter is None:
        return None
    scatter = whole.scatter - part.scatter - _between(rest, part)
    rounded = _SQUARES * np.sqrt(whole.class_rows) * whole.scatter
    kept = (rest.feature_weight > 0) & (scatter > rounded)
    return np.where(kept, scatter, 0.0)


SIGNED = Way(_sums_added, _sums_taken, wider)
SCATTER = Way(_scatter_added, _scatter_taken, wider)  # pairwise (Chan, Golub, LeVeque 1983)


@final
@dataclass(frozen=True, slots=True, eq=False)
class ClassMoments(AbstractStatistics):
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
    total : ndarray of shape (n_features, n_classes)
        Weighted sum of the values.
    scatter : ndarray of shape (n_features, n_classes) or None
        Weighted sum of the squared deviations from the mean of the class.
    exposure : ndarray of shape (n_classes,) or None
        Weighted sum of the exposures e of the rows, if they have any. The means are then sums
        divided by it, and the squared deviations those of x / e, weighted by e.
    exposed : ndarray of shape (n_classes,) or None
        Weight of the rows whose exposure is above 0.
    exposed_by : "total", int or None
        What their exposure is.
    mean, variance : ndarray of shape (n_features, n_classes)
        Mean, and variance divided by the weight of the feature; 0 in classes without rows.
    observed : ndarray of shape (n_features, n_classes) or None
        Weight of the rows in which a feature is observed, if values may be missing.
    feature_weight : ndarray of shape (n_classes,) or (n_features, n_classes)
        The same; the weight of the classes where no value is missing, or their exposure.
    n_features : int
        Number of features.

    Examples
    --------
    >>> from naively import ClassMoments
    >>> first = ClassMoments.from_matrix([[1.0, 4.0], [3.0, 4.0]], ["a", "a"])
    >>> both = first + ClassMoments.from_matrix([[7.0, 0.0]], ["b"])
    >>> both.mean
    array([[2., 7.],
           [4., 0.]])
    """

    # In memory the values of a class are neighbours: what reads moments goes along the features.
    exposure: FloatArray | None = field(default=None, kw_only=True, metadata=part(MAYBE_COUNTS))
    exposed: FloatArray | None = field(default=None, kw_only=True, metadata=part(MAYBE_COUNTS))
    total: FloatArray = field(metadata=part(SIGNED))
    scatter: FloatArray | None = field(default=None, metadata=part(SCATTER))
    exposed_by: Exposure = field(default=None, kw_only=True)

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
        exposure: Exposure = None,
        missing: bool = False,
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
        exposure : "total" or int, default=None
            What each row is exposed to, > 0 where it counts something: the sum of its entries, or
            the column that holds it.
        missing : bool, default=False
            Leave NaN out of its own feature: `observed` says how many rows are left. By default
            it is an error.

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
        if exposure is not None:
            return cls._exposed(rows, exposure, deviations=deviations)
        return cls._of(rows, deviations=deviations, missing=missing)

    @classmethod
    def _of(cls, rows: LabelledRows, *, deviations: bool, missing: bool = False) -> Self:
        observed = None
        if missing:
            rows, mask, observed = split_missing(rows)
            rows = rows if mask is None or not deviations else _at_origin(rows, mask)
        weight = rows.class_weight[:, None] if observed is None else observed.T
        take = _sparse_tables if is_sparse(rows.matrix) else _dense_tables
        with np.errstate(over="ignore", invalid="ignore"):  # what comes of it is refused
            tables = [each.T for each in take(rows, weight, deviations) if each is not None]
        if not all(np.isfinite(table).all() for table in tables):
            refuse_overflow(rows.matrix)
        check_squares(tables[0], weight.T)
        known = rows.classes, rows.class_rows, rows.class_weight
        return cls(*known, *tables, observed=observed)

    @classmethod
    def _exposed(cls, rows: LabelledRows, exposure: Exposure, *, deviations: bool) -> Self:
        """Take sums of the entries, and deviations of rows by exposure that weigh as it says."""
        sums = cls._of(rows, deviations=False)  # of whole numbers: exact
        found = exposures_of(rows.matrix, exposure)
        scatter = None
        if deviations:
            weights = found if rows.weights is None else found * rows.weights
            rates = replace(rows, matrix=per_exposure(rows.matrix, found), weights=weights)
            scatter = cls._of(rates, deviations=True).scatter
        return replace(
            sums,
            scatter=scatter,
            exposure=rows.sums(found),
            exposed=rows.sums((found > 0).astype(np.float64)),
            exposed_by=exposure,
        )

    def _may_leave(self, rest: Self, taken: Self) -> bool:
        """No squared deviations below 0, and no sums where there are no rows, but for rounding."""
        if self.scatter is None or taken.scatter is None:
            return True  # sums of any sign tell nothing
        # Of sums: at most sqrt(weight * sum of squares) is the sum of the absolute values.
        weight, gone = self.feature_weight, rest.feature_weight <= 0
        size = np.sqrt(weight * self.scatter + self.total**2)
        left = np.abs(self.total - taken.total)
        between = _between(rest, taken)
        parts = self.scatter + taken.scatter + between
        slack = _ROUNDED * parts + weight * (_ROUNDED * self.mean) ** 2
        scatter = self.scatter - taken.scatter - between
        return bool(np.where(gone, left <= _ROUNDED * size, scatter >= -slack).all())

    # -- reading --------------------------------------------------------------------------------

    @property
    def n_features(self) -> int:
        """Number of features m."""
        return int(self.total.shape[0])

    def feature_totals(self) -> Array:
        """Weighted sum of the values of each feature, all classes together.

        Returns
        -------
        totals : ndarray of shape (n_features,)
            In units of the features.
        """
        return np.asarray(self.total.sum(axis=1))

    @property
    def _settings(self) -> Mapping[str, Any]:
        """Keywords of `from_matrix` by which the same is taken."""
        settings: dict[str, Any] = {"deviations": self.scatter is not None}
        settings |= {} if self.observed is None else {"missing": True}
        return settings | ({} if self.exposed_by is None else {"exposure": self.exposed_by})

    @property
    def mean(self) -> FloatArray:
        """Mean by class, (m, C); 0 in classes without rows."""
        return _ratio(self.total, self.feature_weight)

    @property
    def variance(self) -> FloatArray:
        """Variance by class, divided by the weight of the class, (m, C); 0 without rows."""
        return _ratio(self._deviations(), self.feature_weight)

    def pooled_variance(self) -> FloatArray:
        """Variance about the means of the classes, divided by the weight of all rows.

        Returns
        -------
        variance : ndarray of shape (n_features,)
            In squared units of the features.
        """
        return np.asarray(self._deviations().sum(axis=1)) / self._positive_weight()

    def total_variance(self) -> FloatArray:
        """Variance about the mean of all rows, divided by their weight.

        Returns
        -------
        variance : ndarray of shape (n_features,)
            In squared units of the features.
        """
        mean = self.mean
        between = self._averaged((mean - self._averaged(mean)[:, None]) ** 2)
        return np.asarray(self.pooled_variance() + between)

    def overall_mean(self) -> FloatArray:
        """Mean of all rows.

        Returns
        -------
        mean : ndarray of shape (n_features,)
            In units of the features; 0 of no rows.
        """
        return self._averaged(self.mean)

    def _averaged(self, values: FloatArray) -> FloatArray:
        """Return the mean (m,) of a value (m, C) of each class, weighted by its rows."""
        weight = self.feature_weight
        total = weight @ values.T if weight.ndim == 1 else (weight * values).sum(axis=1)
        return np.asarray(total / self._positive_weight())

    def _positive_weight(self) -> float | FloatArray:
        """Weight of the rows that tell of a feature, of all classes: one, or (m,)."""
        total = self.feature_weight.sum(axis=-1)
        return np.where(total > 0, total, 1.0) if total.ndim else float(total) or 1.0

    def _deviations(self) -> FloatArray:
        if self.scatter is None:
            raise ValueError(
                "These statistics hold no second moments; gather them with `deviations=True`."
            )
        return self.scatter


# -- dense ---------------------------------------------------------------------------------------


def _at_origin(rows: LabelledRows, mask: Any) -> LabelledRows:
    """Put what adds nothing in the place of what is missing: the row where moments start.

    Where that lacks a value, too, any other of the class will do.
    """
    if is_sparse(rows.matrix):  # which keeps no entry there
        return rows
    X, columns = rows.matrix, np.arange(rows.matrix.shape[1])
    filled = np.array(X)
    for c, first in _first_rows(rows):
        members = np.flatnonzero(rows.codes == c)
        other = members[np.argmax(~mask[members], axis=0)]
        origin = np.where(mask[first], X[other, columns], X[first])
        filled[members] = np.where(mask[members], origin, X[members])
    return replace(rows, matrix=filled)


def _dense_tables(
    rows: LabelledRows, weight: FloatArray, deviations: bool
) -> tuple[FloatArray, FloatArray | None]:
    sums = np.zeros((len(rows.classes), rows.matrix.shape[1]))
    if not deviations:
        for block, codes, weights in _row_blocks(rows):
            _over_tiles(class_sums_rows, (block, codes, weights), (sums,))
        return sums, None
    squares, origin = np.zeros_like(sums), _origins(rows)
    for block, codes, weights in _row_blocks(rows):
        _over_tiles(class_moments_rows, (block, codes, weights, origin), (sums, squares))
    scatter = _beyond_zero(squares - _ratio(sums**2, weight))
    return sums + weight * origin, scatter


def _beyond_zero(difference: FloatArray) -> FloatArray:
    """Return differences that are >= 0 but for rounding; nan where a square was infinite."""
    difference[np.isneginf(difference)] = np.nan
    return np.maximum(difference, 0.0, out=difference)


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
    for c, first in _first_rows(rows):
        origin[c] = rows.matrix[first]
    return origin


def _first_rows(rows: LabelledRows) -> Iterator[tuple[int, int]]:
    """Each class that has rows, and the heaviest of them."""
    for c in range(len(rows.classes)):
        members = np.flatnonzero(rows.codes == c)
        if len(members):
            heaviest = 0 if rows.weights is None else np.argmax(rows.weights[members])
            yield c, int(members[heaviest])


# -- sparse --------------------------------------------------------------------------------------


def _sparse_tables(
    rows: LabelledRows, weight: FloatArray, deviations: bool
) -> tuple[FloatArray, FloatArray | None]:
    X = canonical(rows.matrix) if deviations else rows.matrix
    weights = np.ones(len(rows.codes)) if rows.weights is None else rows.weights
    shape = (len(rows.classes), X.shape[1])
    by_rows = X.format == "csr"
    arrays = read_only(X.data), read_only(X.indices), read_only(X.indptr), rows.codes, weights
    if deviations:
        cells = np.zeros((shape[0] * shape[1], 4))
        add: Any = class_moments_lines if by_rows else class_moments_columns
        add(*arrays, shape[1], 0, len(X.indptr) - 1, cells)
        return _with_zeros(cells.reshape(*shape, 4), weight)
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


def _with_zeros(cells: FloatArray, of_class: FloatArray) -> tuple[FloatArray, FloatArray]:
    """Join the entries of each cell with the zeros of its class: sums and scatter, (C, m).

    The weight of the class is (C, 1), or (C, m) where entries are missing.
    """
    weight, origin, sums, squares = (cells[:, :, field] for field in range(4))
    zeros = of_class - weight
    zeros[zeros <= RESIDUE * of_class] = 0.0
    present = np.where(weight > 0, weight, 1.0)
    within = _beyond_zero(squares - sums**2 / present)
    between = (origin + sums / present) ** 2 * _ratio(weight * zeros, of_class)
    return origin * weight + sums, within + between
