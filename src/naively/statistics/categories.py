"""Counts of each category of each feature within each class: what categorical models need.

Statistics are values. They add up (batches, shards, machines) and they subtract (cross-validation
takes a fold away); nothing ever changes them in place.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from typing import Any, Self, final

import numpy as np

from naively._kernels.categories import category_counts_csr, category_counts_rows
from naively._kernels.compiled import read_only
from naively._kernels.residue import RESIDUE
from naively._types import FloatArray, IntArray
from naively.statistics.base import AbstractStatistics
from naively.statistics.matrix import Matrix, canonical, is_sparse
from naively.statistics.missing import split_missing
from naively.statistics.parts import COUNTS, categories_of, part, starts_of
from naively.statistics.rows import LabelledRows, check_finite


@final
@dataclass(frozen=True, slots=True, eq=False)
class ClassCategories(AbstractStatistics):
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
    observed : ndarray of shape (n_features, n_classes) or None
        Weight of the rows in which a feature is observed, if values may be missing.
    feature_weight : ndarray of shape (n_classes,) or (n_features, n_classes)
        The same; the weight of the classes where no value is missing.
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

    n_categories: IntArray
    table: FloatArray = field(metadata=part(COUNTS, categories_of("n_categories")))

    @classmethod
    def from_matrix(
        cls,
        X: Any,
        y: Any,
        sample_weight: Any = None,
        *,
        classes: Any = None,
        min_categories: Any = None,
        missing: bool = False,
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
        missing : bool, default=False
            Leave NaN out of its own feature: `observed` says how many rows are left. By default
            it is an error.

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
        observed = None
        if missing:
            rows, _, observed = split_missing(rows)
        X = rows.matrix
        if is_sparse(X):
            X = canonical(X).tocsr()
        _check_categories(X)
        counted = X if rows.weights is None else X[rows.weights > 0]
        sizes = np.maximum(_largest(counted) + 1, _least_sizes(min_categories, X.shape[1]))
        table, weight = _count(X, rows, sizes), rows.class_weight
        if observed is not None:  # missing values were counted as category 0
            first = starts_of(sizes)
            rest = table[first] - (weight - observed)
            table[first] = np.where(rest <= RESIDUE * weight, 0.0, rest)
        return cls(rows.classes, rows.class_rows, weight, sizes, table, observed=observed)

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

    def feature_totals(self) -> FloatArray:
        """Weighted sum of the values (numbers of categories) of each feature, over all classes.

        Returns
        -------
        totals : ndarray of shape (n_features,)
            The sum of the column.
        """
        sums = np.bincount(
            self.features(), self._numbers() * self.table.sum(axis=1), self.n_features
        )
        return np.asarray(sums, dtype=np.float64)

    def _alone(self, everything: Self) -> Self:
        """Leave out the last categories of a feature that only rows of other classes have."""
        number, feature = self._numbers(), self.features()
        seen = self.table.any(axis=1)
        sizes = np.ones_like(self.n_categories)
        np.maximum.at(sizes, feature[seen], number[seen] + 1)
        last = np.cumsum(self.n_categories) - 1
        asked_for = ~everything.table[last].any(axis=1)  # categories that no class has
        sizes = np.where(asked_for, self.n_categories, sizes)
        kept = number < sizes[feature]
        return replace(self, n_categories=sizes, table=self.table[kept])

    def features(self) -> IntArray:
        """Feature of each row of the table.

        Returns
        -------
        features : ndarray of shape (sum of n_categories,)
            Column index.
        """
        return np.repeat(np.arange(self.n_features), self.n_categories)

    def _numbers(self) -> IntArray:
        """Category of each row of the table, a number from 0."""
        starts = np.repeat(starts_of(self.n_categories), self.n_categories)
        return np.arange(len(self.table)) - starts

    @property
    def _settings(self) -> Mapping[str, Any]:
        """Keywords of `from_matrix` by which the same is counted."""
        return {} if self.observed is None else {"missing": True}


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
    starts = starts_of(sizes)
    if not is_sparse(X):
        category_counts_rows(read_only(X), rows.codes, weights, starts, table)
        return table
    table[starts] = rows.class_weight
    arrays = read_only(X.data), read_only(X.indices), read_only(X.indptr)
    category_counts_csr(*arrays, rows.codes, weights, starts, table)
    residue = np.abs(table[starts]) <= RESIDUE * rows.class_weight
    table[starts] = np.where(residue, 0.0, table[starts])
    return table
