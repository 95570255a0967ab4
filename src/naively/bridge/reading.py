"""Rows as users have them, for a model of a file: texts, tables and matrices."""

from __future__ import annotations

import warnings
from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np
from sklearn.utils import check_array

from naively._types import Array, IntArray
from naively.jobs.model_file import ModelFile
from naively.jobs.predict import eye_of
from naively.read.batch import Batch, Places
from naively.read.frame import check_named, column_names, is_frame, number_columns, text_rows
from naively.statistics.exposure import exposed_columns
from naively.statistics.matrix import Matrix, as_matrix, is_sparse
from naively.statistics.mixed_columns import array_of
from naively.text.utf8 import as_texts, as_tokens
from naively.text.weighting import scaled


@dataclass(frozen=True, slots=True)
class FileReading:
    """How the model of a file sees rows in memory; columns of a table are taken by their names."""

    file: ModelFile
    _told: set[str] = field(default_factory=set)  # what was warned of

    @property
    def names(self) -> Array:
        """Names of the selected features, (k,); of text columns apart, with that of the column."""
        file = self.file
        if file.n_regions > 1:
            named = [f"{column}:{name}" for column in file.text_columns for name in file.names]
            return np.array(named, dtype=object)
        if file.named:
            return np.array(file.names, dtype=object)
        return np.array([f"x{i}" for i in file.columns.tolist()], dtype=object)

    @property
    def support(self) -> IntArray:
        """Columns of the selected features among those of training, ascending."""
        blocks = np.arange(self.file.n_regions)[:, None] * self.file.n_features
        support: IntArray = (self.file.columns + blocks).ravel()
        return support

    def columns(self, estimator: Any, X: Any) -> Any:
        """Return the selected columns of rows: (n, k)."""
        if self.file.table is not None:
            return self._of_table(X)
        rows, idf = self._rows(estimator, X), self.file.idf
        if self.file.exposure is not None:
            return rows[:, :-1]
        # Words are weighed as their matrix was.
        weighed = self.file.features is not None and idf is not None and not self.file.known
        return scaled(rows, idf) if weighed and idf is not None else rows

    def seen(self, estimator: Any, X: Any) -> Matrix:
        """Return what the rule sees of rows."""
        if self.file.table is not None:
            return self.file.table.encoded(self._of_table(X))
        return self.file.seen(self._rows(estimator, X))

    def _rows(self, estimator: Any, X: Any) -> Matrix:
        """Return the selected columns of rows, and their exposure after them."""
        if self.file.features is not None:
            return self._of_texts(X)
        if is_frame(X) and self.file.named:
            return self._of_names(estimator, X)
        rows, columns = estimator._check_rows(X), self.file.columns
        self._tell_of_places()
        if self.file.exposure is not None:
            return exposed_columns(rows, columns, self.file.exposure)
        return rows if len(columns) == rows.shape[1] else rows[:, columns]

    def _of_texts(self, X: Any) -> Matrix:
        features, columns = self.file.features, self.file.text_columns
        assert features is not None
        tokens = features.analyzer == "tokens"
        if is_frame(X):
            texts = text_rows(X, columns, tokens=tokens)
        elif len(columns) > 1:
            raise ValueError(
                f"The model reads the columns {', '.join(columns)}; X must be a table that has "
                "them."
            )
        elif is_sparse(X) or getattr(X, "ndim", 1) != 1:
            raise ValueError("The model was trained on texts, and X is a matrix; pass the texts.")
        else:
            texts = as_tokens(X) if tokens else as_texts(X)
        width = len(columns)
        n = len(texts) // width
        return eye_of(self.file)(Batch(texts, None, None, None, Places((), range(n)), width))

    def _of_names(self, estimator: Any, X: Any) -> Matrix:
        """Columns of a table, by their names; the values are checked as those of a matrix."""
        names, places = self.file.wanted
        assert names is not None
        self._tell_of_others(X, names)
        rows = check_array(
            number_columns(X, names), ensure_all_finite=estimator._finite(), accept_sparse="csr",
            ensure_min_features=0,
        )  # fmt: skip
        estimator._check_values(rows)
        exposure, columns = self.file.exposure, self.file.columns
        if exposure is None:  # taken as of a matrix: sums over the same layout round alike
            whole = rows.shape[1] == self.file.n_features
            return rows if whole else rows[:, np.arange(rows.shape[1])]
        if isinstance(exposure, int) and places is not None:
            columns = np.searchsorted(places, columns)
            exposure = int(np.searchsorted(places, exposure))
        return exposed_columns(rows, columns, exposure)

    def _of_table(self, X: Any) -> Any:
        """Columns of a table of several kinds: those of its names, or at its places."""
        if is_frame(X) and self.file.named:
            self._tell_of_others(X, self.file.names)
            check_named(X, self.file.names)
            names = list(self.file.names)
            return X.loc[:, names] if hasattr(X, "iloc") else X.select(names)
        rows = (
            as_matrix(X).tocsr() if is_sparse(X) else array_of(X.to_numpy() if is_frame(X) else X)
        )
        if rows.ndim != 2 or rows.shape[1] != self.file.n_features:
            raise ValueError(
                f"X must have the {self.file.n_features:,} columns of training; got an array of "
                f"shape {rows.shape}."
            )
        self._tell_of_places()
        return rows[:, self.file.columns]

    def _tell_of_others(self, X: Any, names: Sequence[str]) -> None:
        there = column_names(X)
        if len(there) > self.file.n_features:
            n = len(there) - self.file.n_features
            self._tell(
                f"X has {len(there):,} columns, and the model was trained on "
                f"{self.file.n_features:,}: it takes {len(names):,} of them by name, and ignores "
                f"the others ({n:,} or more are not of training)."
            )

    def _tell_of_places(self) -> None:
        if self.file.named and self.file.features is None:
            self._tell(
                "X has no names of columns, and the model was trained with names: its columns are "
                "taken to be those of training, in that order."
            )

    def _tell(self, text: str) -> None:
        """Warn once."""
        if text not in self._told:
            self._told.add(text)
            warnings.warn(text, UserWarning, stacklevel=6)
