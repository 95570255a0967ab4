"""Counts of each feature within each class: the statistics of the count and presence models.

Statistics are values. They add up (batches, shards, machines), and they subtract (cross-validation
takes a fold away, leave-one-out a row); nothing ever changes them in place.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from typing import Any, Self, final

import numpy as np

from naively._kernels.residue import RESIDUE
from naively._types import Array, FloatArray, IntArray
from naively.statistics.base import AbstractStatistics
from naively.statistics.exposure import Exposure, exposures_of
from naively.statistics.lengths import length_histogram
from naively.statistics.long import LongCounts
from naively.statistics.matrix import Matrix, canonical, is_sparse
from naively.statistics.missing import filled, split_missing
from naively.statistics.parts import COUNTS, MAYBE_COUNTS, MAYBE_TABLE, TABLE, part, values_of
from naively.statistics.rows import LabelledRows
from naively.statistics.source import Quantity
from naively.statistics.sparse_table import DENSE_CELLS, SparseTable, settled
from naively.statistics.tally import tally

_SQUARED_FITS = 1 << 31


@final
@dataclass(frozen=True, slots=True, eq=False)
class ClassCounts(AbstractStatistics):
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
    documents : ndarray of shape (n_features, n_classes) or None
        Weight of the rows in which a feature is above 0, where that was asked for.
    squares : ndarray of shape (n_features, n_classes) or None
        Sum of the squares of the entries, with the documents.
    exposure : ndarray of shape (n_classes,) or None
        Weighted sum of the exposures of the rows, if they have any.
    exposed_by : "total", int or None
        What their exposure is.
    observed : ndarray of shape (n_features, n_classes) or None
        Weight of the rows in which a feature is observed, if values may be missing.
    feature_weight : ndarray of shape (n_classes,) or (n_features, n_classes)
        The same; the weight of the classes where no value is missing, or their exposure.
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

    table: Any = field(metadata=part(TABLE))
    length_values: IntArray
    length_weight: FloatArray = field(metadata=part(COUNTS, values_of("length_values")))
    presence: bool = False
    threshold: float = 0.0
    documents: Any = field(default=None, metadata=part(MAYBE_TABLE))
    squares: Any = field(default=None, metadata=part(MAYBE_TABLE))
    exposure: FloatArray | None = field(default=None, metadata=part(MAYBE_COUNTS))
    exposed_by: Exposure = None

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
        documents: bool = False,
        exposure: Exposure = None,
        missing: bool = False,
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
        documents : bool, default=False
            Also count the rows in which a feature is above 0, and the squares of the entries. Not
            with `presence`, whose table counts these rows.
        exposure : "total" or int, default=None
            What each row is exposed to: the sum of its entries, or the column that holds it.
            Not with `presence`.
        missing : bool, default=False
            Leave NaN out of its own feature: `observed` says how many rows are left. By default
            it is an error.
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
        quantity = Quantity(presence, _checked_threshold(rows.matrix, threshold, presence))
        observed = None
        if missing:
            rows, mask, observed = split_missing(rows)
            if presence and threshold < 0:  # which zeros exceed
                rows = replace(rows, matrix=filled(rows.matrix, mask, threshold))
        n_classes, codes, weights = len(rows.classes), rows.codes, rows.weights
        table, totals = tally(rows.matrix, codes, weights, n_classes, quantity, dense_cells)
        also: dict[str, Any] = {}
        if documents:
            if presence:
                raise ValueError("`documents` must be False with `presence`; the table has them.")
            for name, matrix, what in (
                ("documents", rows.matrix, Quantity(True, 0.0)),
                ("squares", squared(rows.matrix), quantity),
            ):
                also[name], _ = tally(matrix, codes, weights, n_classes, what, dense_cells)
        if exposure is not None:
            if presence:
                raise ValueError("`exposure` must be None with `presence`; rows count 0 or 1.")
            also["exposure"] = rows.sums(exposures_of(rows.matrix, exposure))
            also["exposed_by"] = exposure
        if weights is not None and not weights.all():
            kept = weights > 0
            totals, codes, weights = totals[kept], codes[kept], weights[kept]
        return cls(
            rows.classes,
            rows.class_rows,
            rows.class_weight,
            table,
            *length_histogram(totals, codes, weights, n_classes),
            presence=presence,
            threshold=quantity.threshold,
            observed=observed,
            **also,
        )

    @classmethod
    def from_long(
        cls,
        frame: Any,
        *,
        rows: Any,
        feature: str = "feature",
        label: str = "label",
        count: str = "count",
        documents: str | None = None,
        presence: bool = False,
    ) -> tuple[Self, Array]:
        """Take what was counted elsewhere: one row for each class and feature that it has.

        That is what a database gives for `GROUP BY label, feature`; pairs that are not there count
        0. Row totals (`length_values`) are not known, so what asks for them has no answer.

        Parameters
        ----------
        frame : data frame, Arrow table, mapping of columns, list of mappings, cursor, or path
            The long table; paths end in .csv, .tsv or .parquet, and the counts of a list of paths
            are added. A cursor (of DB-API 2) or a relation (of DuckDB) holds the result of a query.
        rows : mapping of label to number, or table or path with `label` and one other column
            Rows of each class, those without any feature too; or, with counts of weighted rows,
            what they weigh together. Its labels are the classes.
        feature, label, count : str
            Names of the columns: what was counted, of which class, and how often (>= 0).
        documents : str, default=None
            Name of the column of the rows in which the feature is above 0, if there is one. Not
            with `presence`.
        presence : bool, default=False
            The counts are numbers of rows that have the feature, for models of presence.

        Returns
        -------
        counts : ClassCounts
            The statistics, as `from_matrix` takes them of the rows but for the row totals.
        features : ndarray of shape (n_features,)
            What the columns are: the distinct features, ascending.

        Raises
        ------
        ValueError
            If a column is missing, a pair is there twice, a count is negative or none, a class has
            no rows, or a feature is in more rows than its class has.
        ImportError
            If a Parquet file is given and pyarrow is not installed.

        Examples
        --------
        >>> from naively import ClassCounts, SparseMultinomialNB
        >>> table = {
        ...     "label": ["ham", "ham", "spam", "spam"],
        ...     "word": ["hello", "offer", "hello", "offer"],
        ...     "n": [9, 1, 2, 8],
        ... }
        >>> rows = {"ham": 12, "spam": 10}
        >>> counts, words = ClassCounts.from_long(table, feature="word", count="n", rows=rows)
        >>> words.tolist()
        ['hello', 'offer']
        >>> model = SparseMultinomialNB.from_statistics(counts, k=2, feature_names=words)
        >>> model.coef_.round(2).tolist()  # for spam, against ham
        [[-1.2, 1.5]]
        """
        if documents is not None and presence:
            raise ValueError("`documents` must be None with `presence`, whose counts are these.")
        columns = [count] if documents is None else [count, documents]
        long = LongCounts.of(frame, feature, label, columns, rows)
        if presence or documents is not None:
            _check_rows(columns[-1], long.tables[-1], long)
        small = long.tables[0].shape[0] * long.tables[0].shape[1] <= DENSE_CELLS
        tables = [each.toarray() if small else settled(each) for each in long.tables]
        return cls(
            long.classes,
            long.class_rows,
            long.class_weight,
            tables[0],
            np.empty(0, dtype=np.int64),
            np.empty((0, len(long.classes))),
            presence=presence,
            documents=tables[1] if documents is not None else None,
        ), long.features

    def _may_leave(self, rest: Self, taken: Self) -> bool:
        """Classes without rows have no counts; a feature is in no more rows than there are."""
        table, weight = rest.table, rest.feature_weight
        if isinstance(table, SparseTable):
            cells = (table.cells // table.shape[1], table.codes)
            counts, weight = table.values, weight[cells[-weight.ndim :]]
        else:
            counts = table
        most = weight * (1 + RESIDUE) if rest.presence else np.where(weight > 0, np.inf, 0.0)
        return bool((counts <= most).all())

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

    def feature_totals(self) -> Array:
        """How often each feature was counted, all classes together.

        Returns
        -------
        totals : ndarray of shape (n_features,)
            Sum of its counts.
        """
        return np.asarray(self.table.sum(axis=1))

    def document_totals(self) -> Array | None:
        """How many rows hold each feature, all classes together.

        Returns
        -------
        totals : ndarray of shape (n_features,) or None
            Their weight; None where they were not counted.
        """
        if self.presence:
            return self.feature_totals()
        return None if self.documents is None else np.asarray(self.documents.sum(axis=1))

    @property
    def _settings(self) -> Mapping[str, Any]:
        """Keywords of `from_matrix` by which the same is counted."""
        settings = {"presence": self.presence, "threshold": self.threshold}
        settings |= {} if self.observed is None else {"missing": True}
        settings |= {} if self.documents is None else {"documents": True}
        return settings | ({} if self.exposed_by is None else {"exposure": self.exposed_by})

    def with_exposure(self, exposure: Exposure) -> Self:
        """Return counts of all columns with the exposures of the rows, whose sums they hold.

        Parameters
        ----------
        exposure : "total", int or None
            What it is.

        Returns
        -------
        counts : ClassCounts
            With `exposure`; the same if there is none.
        """
        if exposure is None:
            return self
        total = self.table.sum(axis=0) if exposure == "total" else self.table[[exposure]][0]
        return replace(self, exposure=np.asarray(total, np.float64), exposed_by=exposure)


def squared(X: Matrix) -> Matrix:
    """Squares of the entries; whole where these fit into 64 bits."""
    if is_sparse(X):
        X = canonical(X)
        return type(X)((squared(X.data), X.indices, X.indptr), shape=X.shape)
    values = np.asarray(X)
    whole = values.dtype.kind in "biu" and (not values.size or values.max() < _SQUARED_FITS)
    with np.errstate(over="ignore"):
        return np.square(values, dtype=np.int64 if whole else np.float64)


def _check_rows(name: str, cells: SparseTable, long: LongCounts) -> None:
    """Refuse a feature that is in more rows than its class has."""
    most = long.class_weight * (1 + RESIDUE)  # sums of weights are rounded
    above = np.flatnonzero(cells.values > most[cells.codes])
    if len(above):
        at, c = int(above[0]), int(cells.codes[above[0]])
        feature = long.features[int(cells.cells[at]) // len(long.classes)]
        raise ValueError(
            f"`{name}` must be rows that have the feature, at most those of the class; got "
            f"{cells.values[at]:g} for {feature!r} in {long.classes[c]!r}, which has "
            f"{long.class_weight[c]:,.10g} rows. Count rows (COUNT(DISTINCT ...)), or leave it out."
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
