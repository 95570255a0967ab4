"""Rows as users have them, for a model of a file: texts, tables and matrices."""

from __future__ import annotations

from collections.abc import Hashable, Sequence
from dataclasses import dataclass, field, replace
from typing import Any

import numpy as np
from sklearn.utils import check_array

from naively._types import Array, FloatArray, IntArray
from naively._warn import warn
from naively.jobs.model_file import ModelFile
from naively.jobs.predict import eye_of
from naively.models.counting import FIRST_ROWS, unlike_training
from naively.read.batch import Batch, Places
from naively.read.frame import check_named, column_names, is_frame, number_columns, text_rows
from naively.read.matrix import scaled_counts
from naively.read.variables import Variables, spellings
from naively.statistics.exposure import exposed_columns
from naively.statistics.labels import is_missing
from naively.statistics.matrix import Matrix, as_matrix, is_sparse
from naively.statistics.mixed_columns import Labels, Table, array_of
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
        if self.file.variables is not None:
            return self._of_table(X, self.file.variables)
        rows, idf = self._rows(estimator, X), self.file.idf
        if self.file.exposure is not None:
            return rows[:, :-1]
        # Words are weighed as their matrix was.
        weighed = self.file.features is not None and idf is not None and not self.file.known
        return scaled(rows, idf) if weighed and idf is not None else rows

    def seen(self, estimator: Any, X: Any) -> Matrix:
        """Return what the rule sees of rows."""
        if self.file.variables is not None:
            rows = self._encoded(X, self.file.variables)
            self._tell_of_values(rows)
            return rows
        return self.file.seen(self._rows(estimator, X))

    def answers(self, scores: FloatArray) -> IntArray:
        """Codes (n,) of the classes that are answered."""
        return self.file.answers(scores)

    def _rows(self, estimator: Any, X: Any) -> Matrix:
        """Return the selected columns of rows, and their exposure after them."""
        if self.file.features is not None:
            return self._of_texts(X)
        if is_frame(X) and self.file.named:
            return self._of_names(estimator, X)
        rows, columns = self._scaled(estimator._check_rows(X)), self.file.columns
        self._tell_of_places()
        self._tell_of_values(rows if len(columns) == rows.shape[1] else rows[:FIRST_ROWS, columns])
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
        there = column_names(X) if self.file.scales else names  # all of a row are in its sum
        check_named(X, names)
        rows = check_array(
            number_columns(X, there), ensure_all_finite=estimator._finite(), accept_sparse="csr",
            ensure_min_features=0,
        )  # fmt: skip
        estimator._check_values(rows)
        if self.file.scales:
            rows = self._scaled(rows)[:, [there.index(name) for name in names]]
        exposure, columns = self.file.exposure, self.file.columns
        self._tell_of_values(rows)
        if exposure is None:  # taken as of a matrix: sums over the same layout round alike
            whole = rows.shape[1] == self.file.n_features
            return rows if whole else rows[:, np.arange(rows.shape[1])]
        if isinstance(exposure, int) and places is not None:
            columns = np.searchsorted(places, columns)
            exposure = int(np.searchsorted(places, exposure))
        return exposed_columns(rows, columns, exposure)

    def _scaled(self, rows: Matrix) -> Matrix:
        """Rows of all columns as the reader of files scales them."""
        file = self.file
        if not file.scales:
            return rows
        if ((rows.data if is_sparse(rows) else rows) < 0).any():
            raise ValueError(
                "X must hold counts, none below 0: the model was trained on rows that were scaled "
                "or taken logarithms of when they were read, and does so itself; pass the rows as "
                "they were before."
            )
        if said := unlike_training(True, rows):
            self._tell(f"{said} It scales them itself.")
        if file.normalize is not None and rows.shape[1] != file.n_features:
            self._tell(
                f"Rows are scaled to the sum {file.normalize:g} over all columns of X, which has "
                f"{rows.shape[1]:,}; in training there were {file.n_features:,}."
            )
        return scaled_counts(rows, file.normalize, log1p=file.log1p)

    def _of_table(self, X: Any, variables: Variables) -> Any:
        """Columns of a table of several kinds, as they are; as numbers where some are words."""
        if variables.words.columns:
            return self._encoded(X, variables)
        names = list(variables.names)
        if is_frame(X) and self.file.named:
            self._find(X, names)
            return X.loc[:, names] if hasattr(X, "iloc") else X.select(names)
        return self._at_places(X)

    def _encoded(self, X: Any, variables: Variables) -> Matrix:
        """Columns of a table of several kinds as numbers, then the words of its texts."""
        names, words, columns = variables.names, variables.words, variables.columns
        assert columns is not None
        if not (is_frame(X) and self.file.named):
            if words.columns:
                raise ValueError(
                    f"The model reads texts in the columns {', '.join(words.columns)}; X must be a "
                    "table that has them."
                )
            return columns.encoded(self._at_places(X))
        self._find(X, [*names, *words.columns])
        there = column_names(X)
        table = Table.of(X).some([there.index(name) for name in names])
        tokens = words.features.analyzer == "tokens"
        texts = [text_rows(X, [name], tokens=tokens) for name in words.columns]
        return words.beside(columns.encoded(_as_known(table, variables)), texts)

    def _find(self, X: Any, names: Sequence[str]) -> None:
        check_named(X, names)
        assert self.file.variables is not None
        if not self.file.variables.words.columns:  # whose number of columns is told
            self._tell_of_others(X, names)

    def _at_places(self, X: Any) -> Any:
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

    def _tell_of_values(self, rows: Matrix) -> None:
        file = self.file
        if not file.scales and (said := unlike_training(file.whole, rows, file.rule, file.size)):
            self._tell(said)

    def _tell(self, text: str) -> None:
        """Warn once."""
        if text not in self._told:
            self._told.add(text)
            warn(text)


def _as_known(table: Table, variables: Variables) -> Table:
    """Let categories that a file spelled out be known by their spelling: 3 as "3"."""
    assert variables.columns is not None
    kinds, labels = variables.columns.kinds, variables.columns.labels

    def column(i: int) -> Any:
        values = table.column(i)
        if kinds[i] != "categorical":
            return values
        return _spelled(values.tolist(), variables.names[i], labels[i])

    return replace(table, column=column)


def _spelled(values: list[Any], name: str, labels: Labels) -> Array:
    """Categories (n,) of a column: as they are if they are known so, else as text."""
    known = set(labels)
    new = [
        None if is_missing(value) or (isinstance(value, Hashable) and value in known) else value
        for value in values
    ]
    spelled = spellings(new, name, Places((), range(len(new))), written=False)
    found = np.empty(len(values), dtype=object)
    found[:] = [old if text is None else text for old, text in zip(values, spelled, strict=True)]
    return found
