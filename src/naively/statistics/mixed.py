"""Statistics of columns of several kinds: those of each kind, of its own columns.

They are values that add up and subtract as their parts do. Every column is counted by the rows in
which it is observed.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from functools import partial
from types import MappingProxyType
from typing import Any, Self, TypeAlias, final

import numpy as np
import numpy.typing as npt

from naively._types import Array, FloatArray, IntArray
from naively.statistics.addition import is_nothing
from naively.statistics.categories import ClassCategories
from naively.statistics.column_kinds import KINDS
from naively.statistics.counts import ClassCounts
from naively.statistics.matrix import as_matrix, is_sparse
from naively.statistics.mixed_columns import MixedColumns
from naively.statistics.moments import ClassMoments
from naively.statistics.sparse_table import column_positions

Part: TypeAlias = ClassMoments | ClassCounts | ClassCategories

_GATHER: Mapping[str, Callable[..., Part]] = MappingProxyType(
    {
        "gaussian": partial(ClassMoments.from_matrix, missing=True),
        "categorical": partial(ClassCategories.from_matrix, missing=True),
        "bernoulli": partial(ClassCounts.from_matrix, missing=True, presence=True),
        "poisson": partial(ClassCounts.from_matrix, missing=True),
    }
)


@final
@dataclass(frozen=True, slots=True, eq=False)
class ClassMixed:
    """Class statistics of columns of several kinds, each by the rows in which it is observed.

    Statistics of the same columns add (`+`) and subtract (`-`); sets of classes are united, and
    categories that one of them lacks are added.

    Attributes
    ----------
    columns : MixedColumns
        Kind and categories of each column.
    parts : mapping of str to statistics
        For each kind that there is, :class:`ClassMoments`, :class:`ClassCategories` or
        :class:`ClassCounts` of its columns.
    rows : ClassCounts
        The classes and their rows, of no column.
    classes : ndarray of shape (n_classes,)
        Labels, ascending.
    class_rows : ndarray of shape (n_classes,)
        Rows of positive weight in each class.
    class_weight : ndarray of shape (n_classes,)
        Sum of the weights of these rows.
    observed : ndarray of shape (n_features, n_classes)
        Weight of the rows in which a column is observed.
    feature_weight : ndarray of shape (n_features, n_classes)
        The same.
    n_features : int
        Number of columns.

    Examples
    --------
    >>> from naively import ClassMixed
    >>> nan = float("nan")
    >>> rows = [[1.0, 0], [nan, 1], [3.0, 1]]
    >>> counts = ClassMixed.from_matrix(rows, ["a", "a", "b"], kinds=["gaussian", "bernoulli"])
    >>> counts.observed
    array([[1., 1.],
           [2., 1.]])
    """

    columns: MixedColumns
    parts: Mapping[str, Any]
    rows: ClassCounts  # of no column

    @classmethod
    def from_matrix(
        cls,
        X: Any,
        y: Any,
        sample_weight: Any = None,
        *,
        classes: Any = None,
        kinds: Any = None,
        columns: MixedColumns | None = None,
    ) -> Self:
        """Count the rows of a matrix of numbers.

        Parameters
        ----------
        X : array-like or sparse matrix of shape (n, m)
            Rows of numbers; NaN is missing. Categories are whole numbers >= 0.
        y : array-like of shape (n,)
            Labels: whole numbers, booleans or strings.
        sample_weight : array-like of shape (n,), default=None
            Weight of each row, >= 0; a weight of 2 is the row twice, a weight of 0 no row.
        classes : array-like of shape (C,), default=None
            All labels, where y may lack some. By default those in y.
        kinds : sequence of str of length m, default=None
            Kind of each column; "gaussian" by default.
        columns : MixedColumns, default=None
            Kinds and categories of the table of which X are the codes, instead of `kinds`.

        Returns
        -------
        statistics : ClassMixed
            The statistics.

        Raises
        ------
        ValueError
            If values, labels or weights cannot be counted; the message says where and why.
        """
        X = as_matrix(X)
        X = X.tocsc() if is_sparse(X) else X
        if columns is None:
            known = ("gaussian",) * X.shape[1] if kinds is None else tuple(kinds)
            unknown = [kind for kind in known if kind not in KINDS]
            if unknown or len(known) != X.shape[1]:
                raise ValueError(
                    f"`kinds` must have one of {', '.join(KINDS)} for each of the {X.shape[1]} "
                    f"columns; got {kinds!r}."
                )
            columns = MixedColumns(known, ((),) * len(known))
        rows = {"y": y, "sample_weight": sample_weight, "classes": classes}
        parts = {}
        for kind in KINDS:
            own = columns.of_kind(kind)
            if len(own):
                given = _sizes(columns, own) if kind == "categorical" else {}
                parts[kind] = _GATHER[kind](X[:, own], **rows, **given)
        nothing = ClassCounts.from_matrix(np.empty((X.shape[0], 0)), **rows, missing=True)
        return cls(columns, parts, nothing)

    @classmethod
    def zero(cls, n_features: int, classes: Any = (), **settings: Any) -> Self:
        """Return the statistics of no rows: adding them changes nothing.

        Parameters
        ----------
        n_features : int
            Number of features m.
        classes : array-like of shape (C,), default=()
            Labels that will occur.
        **settings
            What is counted, as in `from_matrix`.

        Returns
        -------
        statistics : ClassMixed
            All sums zero.
        """
        return cls.from_matrix(np.empty((0, n_features)), [], classes=classes, **settings)

    # -- reading --------------------------------------------------------------------------------

    @property
    def classes(self) -> Array:
        """Labels, ascending, (C,)."""
        return self.rows.classes

    @property
    def class_rows(self) -> IntArray:
        """Rows of positive weight in each class, (C,)."""
        return self.rows.class_rows

    @property
    def class_weight(self) -> FloatArray:
        """Weight of the rows of each class, (C,)."""
        return self.rows.class_weight

    @property
    def n_features(self) -> int:
        """Number of features m."""
        return len(self.columns.kinds)

    @property
    def observed(self) -> FloatArray:
        """Weight of the rows of each class in which a feature is observed, (m, C)."""
        return self.of_parts(lambda kind, part: part.observed, (len(self.classes),))

    @property
    def feature_weight(self) -> FloatArray:
        """The same, for what takes statistics of any kind."""
        return self.observed

    def feature_totals(self) -> FloatArray:
        """Weighted sum of what is counted of each feature, all classes together.

        Returns
        -------
        totals : ndarray of shape (n_features,)
            As the statistics of its kind say.
        """
        return self.of_parts(lambda kind, part: part.feature_totals())

    def of_parts(
        self, values: Callable[[str, Any], npt.ArrayLike], shape: tuple[int, ...] = ()
    ) -> FloatArray:
        """Return a value for each feature from those of each kind.

        Parameters
        ----------
        values : callable
            Kind and its statistics -> one value, or one for each of its columns.
        shape : tuple of int
            Of a value.

        Returns
        -------
        values : ndarray of shape (n_features, ...)
            In the order of the columns.
        """
        found = np.zeros((self.n_features, *shape))
        for kind, part in self.parts.items():
            found[self.columns.of_kind(kind)] = values(kind, part)
        return found

    # -- making ---------------------------------------------------------------------------------

    def take(self, columns: npt.ArrayLike) -> Self:
        """Return the statistics of some features.

        Parameters
        ----------
        columns : array-like of int or bool
            Which features, in the order wanted, or a mask (m,).

        Returns
        -------
        statistics : ClassMixed
            What is known of whole rows stays as it is.
        """
        wanted = column_positions(columns, self.n_features)
        kinds = np.array(self.columns.kinds, dtype=object)[wanted]
        parts = {
            kind: part.take(np.searchsorted(self.columns.of_kind(kind), wanted[kinds == kind]))
            for kind, part in self.parts.items()
            if (kinds == kind).any()
        }
        return replace(self, columns=self.columns.take(wanted), parts=parts)

    def of_classes(
        self, positions: npt.ArrayLike, names: npt.ArrayLike | None = None, *, copy: bool = True
    ) -> Self:
        """Return the statistics of the rows of some classes.

        Parameters
        ----------
        positions : array-like of int
            Which of `classes`, each at most once.
        names : array-like of the same length, default=None
            Their labels in the result. By default those they have.
        copy : bool, default=True
            Whether arrays are the result's own.

        Returns
        -------
        statistics : ClassMixed
            As these rows alone are counted; all features are kept.
        """
        return self._each(lambda part: part.of_classes(positions, names, copy=copy))

    def weighted(self, weights: npt.ArrayLike) -> Self:
        """Return the statistics with the rows of each class weighing more, or less.

        Parameters
        ----------
        weights : array-like of shape (C,)
            By what the weight of the rows of each class is multiplied, > 0.

        Returns
        -------
        statistics : ClassMixed
            As of rows that had `sample_weight` times as large.
        """
        return self._each(lambda part: part.weighted(weights))

    def update(self, X: Any, y: Any, sample_weight: Any = None) -> Self:
        """Return the statistics of the rows seen so far and some more.

        Parameters
        ----------
        X : array-like or sparse matrix of shape (n, m)
            Rows, as in `from_matrix`, of the same columns.
        y : array-like of shape (n,)
            Labels; there may be new ones.
        sample_weight : array-like of shape (n,), default=None
            Weight of each row.

        Returns
        -------
        statistics : ClassMixed
            A new value; this one does not change.
        """
        return self + type(self).from_matrix(X, y, sample_weight, columns=self.columns)

    def equals(self, other: Self) -> bool:
        """Whether all fields agree exactly, types included.

        Parameters
        ----------
        other : ClassMixed
            What to compare with.

        Returns
        -------
        equal : bool
            True if arrays agree in shape and in every entry, and in type.
        """
        if type(other) is not type(self) or self.columns != other.columns:
            return False
        ours, theirs = ({**each.parts, "": each.rows} for each in (self, other))
        return all(part.equals(theirs[kind]) for kind, part in ours.items())

    def __add__(self, other: Self) -> Self:
        if type(other) is not type(self):
            return NotImplemented
        columns = self.columns.united(other.columns)
        return self._with(other, lambda one, two: one + two, columns)

    def __radd__(self, other: int) -> Self:
        return self if is_nothing(other) else NotImplemented

    def __sub__(self, other: Self) -> Self:
        if type(other) is not type(self):
            return NotImplemented
        self.columns.united(other.columns)
        return self._with(other, lambda one, two: one - two, self.columns)

    def without(self, other: Self) -> Self:
        """Return the statistics of the rows that are left when some are taken out.

        Parameters
        ----------
        other : ClassMixed
            Of rows that are among those counted here.

        Returns
        -------
        statistics : ClassMixed
            As `-`, other rows refused as far as sums can tell; classes and categories stay.

        Raises
        ------
        ValueError
            If these rows cannot have been counted here.
        """
        self.columns.united(other.columns)
        return self._with(other, lambda one, two: one._less(two), self.columns)

    def _each(self, change: Callable[[Any], Any]) -> Self:
        parts = {kind: change(part) for kind, part in self.parts.items()}
        return replace(self, parts=parts, rows=change(self.rows))

    def _with(self, other: Self, join: Callable[[Any, Any], Any], columns: MixedColumns) -> Self:
        parts = {kind: join(part, other.parts[kind]) for kind, part in self.parts.items()}
        return replace(self, columns=columns, parts=parts, rows=join(self.rows, other.rows))


def _sizes(columns: MixedColumns, own: Array) -> dict[str, IntArray]:
    """Return numbers of categories, where the columns were those of a table."""
    return {"min_categories": np.array([len(columns.labels[i]) for i in own], dtype=np.int64)}
