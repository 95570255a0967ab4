"""Text columns as regions of one matrix of counts."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import chain
from typing import Any, Self, final

import numpy as np
import scipy.sparse as sp
from sklearn.base import BaseEstimator, TransformerMixin, clone
from sklearn.feature_extraction.text import CountVectorizer
from sklearn.utils import Tags
from sklearn.utils.validation import check_is_fitted

from naively._types import Array, Frame
from naively.estimators.all_or_nothing import all_or_nothing
from naively.statistics.matrix import Matrix


@final
class RegionVectorizer(TransformerMixin, BaseEstimator):
    """Text columns of a table to word counts side by side, over one vocabulary.

    A table with the columns subject and body becomes the matrix [counts of subject | counts of
    body], both blocks with the same words in the same order: the input of
    :class:`HybridNB` with `regions=2`. Feature names are `subject:word` and `body:word`.

    Parameters
    ----------
    columns : list of str, default=None
        Names of the text columns; by default all columns of the table, in their order.
    vectorizer : object, default=None
        Turns texts into a sparse matrix of counts, with `fit_transform`, `transform` and (for
        feature names) `get_feature_names_out`; by default
        :class:`~sklearn.feature_extraction.text.CountVectorizer`. It sees every cell as a
        document of its own: `min_df` and `max_df` count cells.

    Attributes
    ----------
    columns_ : list of str
        The text columns, one region each.
    vectorizer_ : object
        The fitted vectorizer, with the vocabulary that the columns share.
    n_regions_ : int
        Number of regions.
    feature_names_in_ : ndarray of shape (n_features,)
        Columns of the table seen in `fit`.
    n_features_in_ : int
        Their number.

    See Also
    --------
    HybridNB : The classifier that weighs the regions.

    Examples
    --------
    >>> import pandas as pd
    >>> from naively import RegionVectorizer
    >>> posts = pd.DataFrame({"subject": ["big sale", "meeting"], "body": ["sale now", "at noon"]})
    >>> vectorizer = RegionVectorizer()
    >>> vectorizer.fit_transform(posts).toarray()
    array([[0, 1, 0, 0, 0, 1, 0, 0, 0, 0, 1, 1],
           [0, 0, 1, 0, 0, 0, 1, 0, 0, 1, 0, 0]])
    >>> list(vectorizer.get_feature_names_out()[[1, 11]])
    ['subject:big', 'body:sale']
    """

    def __init__(
        self, columns: Sequence[str] | None = None, *, vectorizer: BaseEstimator | None = None
    ) -> None:
        self.columns = columns
        self.vectorizer = vectorizer

    @all_or_nothing
    def fit(self, X: Frame, y: None = None) -> Self:
        """Learn the vocabulary of all columns together.

        Parameters
        ----------
        X : data frame of shape (n_samples, n_columns)
            A pandas, polars or pyarrow table.
        y : None
            Ignored.

        Returns
        -------
        self : object
            The fitted vectorizer.
        """
        self.fit_transform(X)
        return self

    def fit_transform(self, X: Frame, y: None = None) -> Matrix:
        """Learn the vocabulary and count.

        Parameters
        ----------
        X : data frame of shape (n_samples, n_columns)
            A pandas, polars or pyarrow table. A missing text is an empty one.
        y : None
            Ignored.

        Returns
        -------
        counts : sparse matrix of shape (n_samples, n_regions * n_words)
            One block of columns for each text column.

        Raises
        ------
        ValueError, TypeError
            If X is not a table, lacks a column, or a column does not hold text.
        """
        names = _column_names(X)
        columns = names if self.columns is None else _checked_columns(self.columns)
        texts = _texts(X, columns)
        self.vectorizer_ = CountVectorizer() if self.vectorizer is None else clone(self.vectorizer)
        counts = self.vectorizer_.fit_transform(list(chain.from_iterable(texts)))
        self.columns_ = columns
        self.n_regions_ = len(columns)
        self.feature_names_in_ = np.array(names, dtype=object)
        self.n_features_in_ = len(names)
        return self._side_by_side(counts)

    def transform(self, X: Frame) -> Matrix:
        """Count the words of the vocabulary.

        Parameters
        ----------
        X : data frame of shape (n_samples, n_columns)
            A table with the text columns of `fit`; their order does not matter.

        Returns
        -------
        counts : sparse matrix of shape (n_samples, n_regions * n_words)
            One block of columns for each text column.
        """
        check_is_fitted(self, "vectorizer_")
        texts = _texts(X, self.columns_)
        return self._side_by_side(self.vectorizer_.transform(list(chain.from_iterable(texts))))

    def _side_by_side(self, counts: Matrix) -> Matrix:
        """Turn the texts of one column after the other into regions beside each other."""
        n = counts.shape[0] // self.n_regions_
        blocks = [counts[r * n : (r + 1) * n] for r in range(self.n_regions_)]
        beside = sp.hstack(blocks, format="csr")
        beside.sort_indices()  # once, here, instead of in every fit
        return beside

    def get_feature_names_out(self, input_features: None = None) -> Array:
        """Name of each column: the text column, a colon, the word.

        Parameters
        ----------
        input_features : None
            Ignored.

        Returns
        -------
        names : ndarray of str of shape (n_regions * n_words,)
            Such as `subject:word`.
        """
        check_is_fitted(self, "vectorizer_")
        words = self.vectorizer_.get_feature_names_out()
        return np.array([f"{c}:{word}" for c in self.columns_ for word in words], dtype=object)

    def __sklearn_tags__(self) -> Tags:
        tags = super().__sklearn_tags__()
        tags.input_tags.string = True
        tags.input_tags.two_d_array = True
        return tags


def _checked_columns(columns: Sequence[str]) -> list[str]:
    if isinstance(columns, str):
        raise TypeError(f"`columns` must be a list of names; got {columns!r}: pass [{columns!r}].")
    return list(columns)


def _column_names(X: Frame) -> list[str]:
    if hasattr(X, "collect"):
        raise TypeError(f"X must hold its rows; got a {type(X).__name__}: pass `X.collect()`.")
    names = getattr(X, "column_names", None)  # pyarrow; its `columns` are the values
    if names is None:
        names = getattr(X, "columns", None)
    if names is None:
        raise TypeError(
            f"X must be a pandas, polars or pyarrow table with named columns; got {type(X)}. "
            "Texts of one region only: use scikit-learn's CountVectorizer and `regions=1`."
        )
    return list(names)


def _texts(X: Frame, columns: list[str]) -> list[list[str]]:
    names = _column_names(X)
    if not columns:
        raise ValueError("`columns` must name at least one text column; got none.")
    missing = [column for column in columns if column not in names]
    if missing:
        raise ValueError(f"X has no column {missing[0]!r}; its columns are {names}.")
    twice = [column for column in columns if names.count(column) > 1]
    if twice:
        raise ValueError(f"X has several columns {twice[0]!r}; rename all but one.")
    return [_column_texts(X[column], column) for column in columns]


def _column_texts(column: Any, name: str) -> list[str]:
    values = column.to_pylist() if hasattr(column, "to_pylist") else column.to_list()
    texts = ["" if _is_missing(value) else value for value in values]
    stranger = next((text for text in texts if not isinstance(text, str)), None)
    if stranger is not None:
        raise ValueError(
            f"Column {name!r} must hold text; got {stranger!r}. Convert it to strings, or leave "
            "it out of `columns`."
        )
    return texts


def _is_missing(value: object) -> bool:
    if value is None or isinstance(value, float | np.floating):
        return value is None or bool(np.isnan(value))
    return type(value).__name__ in ("NAType", "NaTType")  # pandas need not be installed
