"""Counts of each category of each feature within each class: what categorical models need.

Statistics are values. They add up (batches, shards, machines) and they subtract (cross-validation
takes a fold away); nothing ever changes them in place.
"""

from __future__ import annotations

from dataclasses import dataclass, fields, replace
from typing import Any, Self, final

import numpy as np

from naively._kernels.categories import category_counts_csr, category_counts_rows
from naively._kernels.compiled import read_only
from naively._types import Array, FloatArray, IntArray
from naively.statistics.labels import class_positions, union_of_classes
from naively.statistics.matrix import Matrix, canonical, is_sparse
from naively.statistics.rows import LabelledRows, check_finite

_ROUNDING = 1e-12


@final
@dataclass(frozen=True, slots=True, eq=False)
class ClassCategories:
    """Weighted count of every category of every feature in every class.

    Categories are whole numbers from 0; feature i has as many as the largest seen (or asked for)
    says. Statistics of the same features add (`+`) and subtract (`-`); sets of classes and of
    categories are united.

    Attributes
    ----------
    classes : ndarray of shape (n_classes,)
        Labels, ascending.
    class_rows : ndarray of shape (n_classes,)
        Rows of positive weight in each class.
    class_weight : ndarray of shape (n_classes,)
        Sum of the weights of these rows.
    n_categories : ndarray of shape (n_features,)
        Number of categories of each feature, at least 1.
    table : ndarray of shape (sum of n_categories, n_classes)
        Weighted counts, feature after feature.
    n_features : int
        Number of features.

    Examples
    --------
    >>> from naively import ClassCategories
    >>> counts = ClassCategories.from_matrix([[0, 2], [1, 1], [1, 2]], ["a", "b", "b"])
    >>> counts.of_feature(0)
    array([[1., 0.],
           [0., 2.]])
    """

    classes: Array
    class_rows: IntArray
    class_weight: FloatArray
    n_categories: IntArray
    table: FloatArray

    @classmethod
    def from_matrix(
        cls,
        X: Any,
        y: Any,
        sample_weight: Any = None,
        *,
        classes: Any = None,
        min_categories: Any = None,
    ) -> Self:
        """Count the rows of a matrix.

        Parameters
        ----------
        X : array-like, sparse matrix or data frame of shape (n, m)
            Rows of whole numbers >= 0; what follows the decimal point is cut off.
        y : array-like of shape (n,)
            Labels: whole numbers, booleans or strings.
        sample_weight : array-like of shape (n,), default=None
            Weight of each row, >= 0; a weight of 2 is the row twice, a weight of 0 no row.
        classes : array-like of shape (C,), default=None
            All labels, where y may lack some. By default those in y.
        min_categories : int or array-like of shape (m,), default=None
            Number of categories, where X may lack the last ones.

        Returns
        -------
        counts : ClassCategories
            The statistics.

        Raises
        ------
        ValueError
            If values, labels or weights cannot be counted; the message says where and why.
        """
        rows = LabelledRows.of(X, y, sample_weight, classes)
        X = rows.matrix
        if is_sparse(X):
            X = canonical(X).tocsr()
        _check_categories(X)
        sizes = np.maximum(_largest(X) + 1, _least_sizes(min_categories, X.shape[1]))
        table = _count(X, rows, sizes)
        return cls(rows.classes, rows.class_rows, rows.class_weight, sizes, table)

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
        counts : ClassCategories
            A new value; this one does not change.
        """
        return self + type(self).from_matrix(X, y, sample_weight)

    @property
    def n_features(self) -> int:
        """Number of features m."""
        return len(self.n_categories)

    def of_feature(self, i: int) -> FloatArray:
        """Return the counts of one feature.

        Parameters
        ----------
        i : int
            Column of the feature.

        Returns
        -------
        counts : ndarray of shape (n_classes, n_categories of the feature)
            Weight of the rows of each class and category.
        """
        start = int(self.n_categories[:i].sum())
        return self.table[start : start + self.n_categories[i]].T

    def equals(self, other: Self) -> bool:
        """Whether all fields agree exactly.

        Parameters
        ----------
        other : ClassCategories
            What to compare with.

        Returns
        -------
        equal : bool
            True if arrays agree in shape and in every entry.
        """
        return all(
            np.array_equal(getattr(self, field.name), getattr(other, field.name))
            for field in fields(self)
        )

    def __add__(self, other: Self) -> Self:
        if not isinstance(other, ClassCategories):
            return NotImplemented
        self._check_same_features(other)
        classes = union_of_classes(self.classes, other.classes)
        sizes = np.maximum(self.n_categories, other.n_categories)
        first, second = self._spread(classes, sizes), other._spread(classes, sizes)
        return replace(
            first,
            class_rows=first.class_rows + second.class_rows,
            class_weight=first.class_weight + second.class_weight,
            table=first.table + second.table,
        )

    def __sub__(self, other: Self) -> Self:
        if not isinstance(other, ClassCategories):
            return NotImplemented
        self._check_same_features(other)
        if (other.n_categories > self.n_categories).any():
            raise ValueError("Only statistics of rows that were counted can be subtracted.")
        part = other._spread(self.classes, self.n_categories)
        return replace(
            self,
            class_rows=self.class_rows - part.class_rows,
            class_weight=_difference(self.class_weight, part.class_weight),
            table=_difference(self.table, part.table),
        )

    def _spread(self, classes: Array, sizes: IntArray) -> Self:
        """Return the same statistics with zeros for classes and categories not among its own."""
        positions = class_positions(self.classes, classes)
        cells = np.arange(len(self.table)) + np.repeat(
            _starts(sizes) - _starts(self.n_categories), self.n_categories
        )
        table = np.zeros((sizes.sum(), len(classes)))
        table[np.ix_(cells, positions)] = self.table
        class_rows = np.zeros(len(classes), dtype=np.int64)
        class_weight = np.zeros(len(classes))
        class_rows[positions], class_weight[positions] = self.class_rows, self.class_weight
        return type(self)(classes, class_rows, class_weight, sizes, table)

    def _check_same_features(self, other: Self) -> None:
        if self.n_features != other.n_features:
            raise ValueError(
                "Statistics must be of the same features to be combined; got "
                f"n_features={self.n_features} and n_features={other.n_features}."
            )


def _starts(sizes: IntArray) -> IntArray:
    return np.cumsum(sizes) - sizes


def _check_categories(X: Matrix) -> None:
    check_finite(X)
    values = X.data if is_sparse(X) else X
    if values.size and values.min() < 0:
        raise ValueError(
            f"Negative values in data passed to categories: {values.min()}. Categories are whole "
            "numbers >= 0; encode them, for example with scikit-learn's OrdinalEncoder."
        )
    if values.size and values.max() >= 1 << 31:
        raise ValueError(
            f"Categories must be below 2**31, as there is a count for each; got {values.max()}. "
            "Encode them, for example with scikit-learn's OrdinalEncoder."
        )


def _largest(X: Matrix) -> IntArray:
    """Largest category of each column, (m,)."""
    if X.shape[0] == 0:
        return np.zeros(X.shape[1], dtype=np.int64)
    largest: Any = X.max(axis=0)
    return np.asarray(largest.toarray().ravel() if is_sparse(largest) else largest, dtype=np.int64)


def _least_sizes(min_categories: Any, n_features: int) -> IntArray:
    if min_categories is None:
        return np.ones(n_features, dtype=np.int64)
    sizes = np.asarray(min_categories)
    if sizes.dtype.kind not in "iu" or sizes.shape not in ((), (n_features,)) or (sizes < 0).any():
        raise ValueError(
            "`min_categories` must be an int >= 0 or one for each of the "
            f"{n_features} features; got {min_categories!r}."
        )
    return np.asarray(np.maximum(np.broadcast_to(sizes, n_features), 1), dtype=np.int64)


def _count(X: Matrix, rows: LabelledRows, sizes: IntArray) -> FloatArray:
    weights = np.ones(len(rows.codes)) if rows.weights is None else rows.weights
    table = np.zeros((sizes.sum(), len(rows.classes)))
    starts = _starts(sizes)
    if not is_sparse(X):
        category_counts_rows(read_only(X), rows.codes, weights, starts, table)
        return table
    table[starts] = rows.class_weight
    arrays = read_only(X.data), read_only(X.indices), read_only(X.indptr)
    category_counts_csr(*arrays, rows.codes, weights, starts, table)
    residue = np.abs(table[starts]) <= _ROUNDING * rows.class_weight
    table[starts] = np.where(residue, 0.0, table[starts])
    return table


def _difference(whole: FloatArray, part: FloatArray) -> FloatArray:
    """Return whole - part, with rounding residues as exact zeros."""
    difference = whole - part
    difference[np.abs(difference) <= _ROUNDING * whole] = 0.0
    if (difference < 0).any():
        raise ValueError(
            "Only statistics of rows that were counted can be subtracted; the difference has "
            "negative counts."
        )
    return difference
