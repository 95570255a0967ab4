"""Texts as a matrix of counts, read by the same analyzer as files are."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import replace
from numbers import Integral, Real
from typing import Any, Literal, Self, cast, final

import numpy as np
import scipy.sparse as sp
from sklearn.base import BaseEstimator, TransformerMixin
from sklearn.utils import Tags
from sklearn.utils.validation import check_is_fitted

from naively._nearest import nearest
from naively._types import Array, FloatArray, Frame, IntArray
from naively.estimators.all_or_nothing import all_or_nothing
from naively.read.frame import column_names, is_frame, text_rows
from naively.text.counter import TermReader, count_rows
from naively.text.features import PRESETS, TOKEN_PATTERN, Norm, TextFeatures, Weights
from naively.text.stop_words import LANGUAGES, stop_words_of, taken_apart
from naively.text.utf8 import Texts, TokenRows, as_texts, as_tokens
from naively.text.vocabulary import Vocabulary
from naively.text.weighting import scaled, smooth_idf, unit_rows

TextsLike = Sequence[str] | Sequence[Sequence[str]] | Array | Frame


@final
class WordCounts(TransformerMixin, BaseEstimator):
    r"""Texts to a sparse matrix of counts: what the command counts, as a transformer.

    Counts words, runs of words or of characters with the results of
    :class:`~sklearn.feature_extraction.text.CountVectorizer`, in a part of its time. A table has
    its texts in columns: the words of a row are counted together, or each column apart, as
    :class:`HybridNB` needs them.

    Parameters
    ----------
    columns : list of str, default=None
        Names of the columns of text of a table (pandas, polars, Arrow), by default all of them. A
        missing text is an empty one. Texts that stand in no table have no columns.
    regions : bool, default=False
        Whether the columns are kept apart, as blocks side by side over one vocabulary. Feature
        names are then `subject:word` and `body:word`.
    analyzer : {"word", "char", "char_wb", "tokens"}, default="word"
        Count words, characters, characters within words padded by blanks, or the strings of rows
        that are lists of strings.
    ngram_range : tuple of (int, int), default=(1, 1)
        Smallest and largest number of words, or characters, in a run.
    lowercase : bool, default=True
        Fold the case first.
    token_pattern : str, default=r"(?u)\b\w\w+\b"
        What a word is: a regular expression of at most one group.
    stop_words : str or list of str, default=None
        Words that are dropped before runs are formed: these, or those of a language, such as
        "english" (scikit-learn's list) or "german" (those of Stopwords ISO, with the extra
        `languages`).
    min_df, max_df : int or float, default=1, 1.0
        Rows that a term must occur in, at least and at most: their number, or their share.
    vocabulary : iterable of str, or mapping from str to int, default=None
        Terms to count, in the order of their columns, instead of those of the texts.
    weights : {"counts", "presence", "log", "tfidf"}, default="counts"
        What a term that occurs c times in a row is worth: c; 1; 1 + ln c; or c times its smooth
        inverse document frequency.
    norm : {None, "l2"}, default=None
        "l2" divides a row (a column of it, with `regions`) by the root of the sum of the squares
        of its terms: all of them, in the vocabulary or not; with weights "tfidf" those in it.
    text_like : {"tweets", "cjk"}, default=None
        Count what such texts hold: of tweets, #hashtags, @names and emoji beside the words; of
        cjk, characters and pairs of them, where no blanks part the words. It settles `analyzer`,
        and `token_pattern` or `ngram_range`.

    Attributes
    ----------
    vocabulary_ : dict
        Column of each term; with `regions`, within each block.
    idf_ : ndarray of shape (n_terms,)
        Inverse document frequency of each term; only with weights "tfidf".
    n_regions_ : int
        Number of blocks of columns; 1 without `regions`.
    columns_ : list of str
        The columns of text; empty for texts that stand in no table.
    feature_names_in_ : ndarray of shape (n_columns,)
        Columns of the table seen in `fit`; only of a table.
    n_features_in_ : int
        Their number; only of a table.

    See Also
    --------
    HybridNB : The classifier that weighs the columns of a table.

    Examples
    --------
    >>> from naively import WordCounts
    >>> words = WordCounts(ngram_range=(1, 2))
    >>> words.fit_transform(["spam, eggs", "spam spam"]).toarray()
    array([[1, 1, 1, 0],
           [0, 2, 0, 1]])
    >>> list(words.get_feature_names_out())
    ['eggs', 'spam', 'spam eggs', 'spam spam']

    Columns of a table, apart:

    >>> import pandas as pd
    >>> posts = pd.DataFrame({"subject": ["big sale", "meeting"], "body": ["sale now", "at noon"]})
    >>> words = WordCounts(regions=True)
    >>> words.fit_transform(posts).toarray()
    array([[0, 1, 0, 0, 0, 1, 0, 0, 0, 0, 1, 1],
           [0, 0, 1, 0, 0, 0, 1, 0, 0, 1, 0, 0]])
    >>> list(words.get_feature_names_out()[[1, 11]])
    ['subject:big', 'body:sale']
    """

    def __init__(
        self,
        columns: Sequence[str] | None = None,
        *,
        regions: bool = False,
        analyzer: Literal["word", "char", "char_wb", "tokens"] = "word",
        ngram_range: tuple[int, int] = (1, 1),
        lowercase: bool = True,
        token_pattern: str = TOKEN_PATTERN,
        stop_words: str | Iterable[str] | None = None,
        min_df: float = 1,
        max_df: float = 1.0,
        vocabulary: Iterable[str] | Mapping[str, int] | None = None,
        weights: Weights = "counts",
        norm: Norm | None = None,
        text_like: Literal["tweets", "cjk"] | None = None,
    ) -> None:
        self.columns = columns
        self.regions = regions
        self.analyzer = analyzer
        self.ngram_range = ngram_range
        self.lowercase = lowercase
        self.token_pattern = token_pattern
        self.stop_words = stop_words
        self.min_df = min_df
        self.max_df = max_df
        self.vocabulary = vocabulary
        self.weights = weights
        self.norm = norm
        self.text_like = text_like

    # -- fitting --------------------------------------------------------------------------------

    def fit(self, X: TextsLike, y: Any = None) -> Self:
        """Learn the vocabulary.

        Parameters
        ----------
        X : list, array or series of str of length n_samples, or data frame
            The texts, or a pandas, polars or pyarrow table with columns of text.
        y : None
            Ignored.

        Returns
        -------
        self : object
            The fitted transformer.
        """
        self.fit_transform(X)
        return self

    @all_or_nothing
    def fit_transform(self, X: TextsLike, y: Any = None) -> sp.csr_matrix:
        """Learn the vocabulary and count.

        Parameters
        ----------
        X : list, array or series of str of length n_samples, or data frame
            The texts, or a pandas, polars or pyarrow table with columns of text.
        y : None
            Ignored.

        Returns
        -------
        counts : csr_matrix of shape (n_samples, n_terms) or (n_samples, n_regions * n_terms)
            Whole numbers, unless `weights` or `norm` make others.

        Raises
        ------
        ValueError, TypeError
            If a parameter is out of range or has no effect, X holds no texts, or no term is left.
        """
        features = self._features()
        texts, columns = self._texts(X, self.columns)
        width = max(len(columns), 1)
        if self.vocabulary is not None:
            names = _listed(self.vocabulary)
            terms = Vocabulary.of(names)
            place = {name: column for column, name in enumerate(terms)}
            order = np.array([place[name] for name in names], dtype=np.int64)
            counts = self._counted(TermReader(features, terms).rows, texts, width)
        else:
            terms, counts = self._found(features, texts, width)
            order = np.arange(len(terms))
        if self.weights == "tfidf":
            n_rows = counts.shape[0]
            self.idf_: FloatArray = smooth_idf(_document_frequency(counts, 1), n_rows)[order]
        self._reader, self._order, self._terms = TermReader(features, terms), order, terms
        self.n_regions_ = width if self.regions else 1
        self.columns_ = columns
        self._remember(X, columns)
        return self._laid_out(counts)

    def _found(
        self, features: TextFeatures, texts: Texts | TokenRows, width: int
    ) -> tuple[Vocabulary, sp.csr_array]:
        """Terms that are neither too rare nor too frequent, and their counts."""
        parts = 1 if self.regions else width
        terms, counts = count_rows(texts, features, parts=parts)
        if len(terms) == 0:
            raise ValueError(
                "No text holds any term: the vocabulary is empty. Are there stop words only? See "
                "also `token_pattern` and `ngram_range`."
            )
        n_rows = len(texts) // width
        least = _number("min_df", self.min_df, n_rows)
        most = _number("max_df", self.max_df, n_rows)
        if least <= 1 and most >= n_rows:
            return terms, counts
        documents = _document_frequency(counts, width if self.regions else 1)
        kept = np.flatnonzero((documents >= least) & (documents <= most))
        if len(kept) == 0:
            raise ValueError(
                f"No term is left between `min_df`={self.min_df} and `max_df`={self.max_df}; lower "
                "the one or raise the other."
            )
        return terms.take(kept), counts[:, kept]

    def _remember(self, X: Any, columns: list[str]) -> None:
        for name in ("feature_names_in_", "n_features_in_"):
            if hasattr(self, name):
                delattr(self, name)
        if columns:
            names = column_names(X)
            self.feature_names_in_ = np.array(names, dtype=object)
            self.n_features_in_ = len(names)

    def _features(self) -> TextFeatures:
        """Return what is counted, checked."""
        terms = self._of_terms()
        if terms["analyzer"] != "word" and terms["token_pattern"] != TOKEN_PATTERN:
            raise ValueError(
                f"`token_pattern` has no effect with `analyzer`={self.analyzer!r}; leave it out."
            )
        if self.vocabulary is not None and (self.min_df, self.max_df) != (1, 1.0):
            raise ValueError(
                "`min_df` and `max_df` have no effect on a `vocabulary` that is given; leave them "
                "out."
            )
        if self.regions and self.weights == "tfidf":
            raise ValueError(
                "`weights` must be counts, presence or log with `regions`, whose columns have "
                "frequencies of their own; got 'tfidf'."
            )
        plain = TextFeatures(**terms, lowercase=bool(self.lowercase))
        return replace(plain, stop_words=self._stopped(plain), weights=self.weights, norm=self.norm)

    def _of_terms(self) -> dict[str, Any]:
        """Return what a term is: as given, or as texts of a kind have it."""
        terms: dict[str, Any] = {
            "analyzer": self.analyzer,
            "ngram_range": (self.ngram_range[0], self.ngram_range[1]),
            "token_pattern": self.token_pattern,
        }
        if self.text_like is None:
            return terms
        if self.text_like not in PRESETS:
            raise ValueError(
                f"`text_like` must be one of {', '.join(PRESETS)}, or None; got {self.text_like!r}."
            )
        settled, usual = PRESETS[self.text_like], TextFeatures()
        for name in settled:
            if terms[name] != getattr(usual, name):
                raise ValueError(
                    f"`text_like`={self.text_like!r} settles `{name}`; leave one of them out."
                )
        return {**terms, **settled}

    def _stopped(self, plain: TextFeatures) -> tuple[str, ...]:
        """Stop words that can occur: as in scikit-learn, one that is no word drops nothing."""
        given = self.stop_words
        if given is None:
            return ()
        if plain.analyzer in ("char", "char_wb"):
            raise ValueError(
                f"`stop_words` have no effect with `analyzer`={plain.analyzer!r}; leave them out."
            )
        if isinstance(given, str) and given not in LANGUAGES:
            raise ValueError(
                "`stop_words` must be a language, such as 'english', a list or None; got "
                f"{given!r}: {nearest(given, LANGUAGES, 'language')}"
            )
        words = stop_words_of(given) if isinstance(given, str) else given
        if plain.analyzer == "tokens":
            return tuple(words)
        if isinstance(given, str) and given != "english":  # which scikit-learn has not: as files do
            return taken_apart(tuple(words), plain.token_pattern)
        cut = plain.min_characters is not None
        return tuple(word for word in words if word and (not cut or _is_word(word)))

    # -- counting -------------------------------------------------------------------------------

    def transform(self, X: TextsLike) -> sp.csr_matrix:
        """Count the terms of the vocabulary.

        Parameters
        ----------
        X : list, array or series of str of length n_samples, or data frame
            As in `fit`; of a table, the order of the columns does not matter.

        Returns
        -------
        counts : csr_matrix of shape (n_samples, n_terms) or (n_samples, n_regions * n_terms)
            Terms that are not in the vocabulary are skipped.

        Raises
        ------
        ValueError, TypeError
            If X holds no texts, or lacks a column.
        """
        check_is_fitted(self)
        if bool(self.columns_) != is_frame(X):
            fitted, given = ("a table", "texts") if self.columns_ else ("texts", "a table")
            raise TypeError(f"X must be as in `fit`, which saw {fitted}; got {given}.")
        texts, columns = self._texts(X, self.columns_ or None)
        return self._laid_out(self._counted(self._reader.rows, texts, max(len(columns), 1)))

    def _counted(self, rows: Any, texts: Texts | TokenRows, width: int) -> sp.csr_array:
        return cast("sp.csr_array", rows(texts, parts=1 if self.regions else width))

    def _laid_out(self, counts: sp.csr_array) -> sp.csr_matrix:
        """Columns in their order, rows weighed by what was learned, regions side by side."""
        if (np.diff(self._order) < 0).any():
            counts = counts[:, self._order]
            counts.sort_indices()
        if self.weights == "tfidf":
            counts = scaled(counts, self.idf_)
            counts = counts if self.norm is None else unit_rows(counts)
        return sp.csr_matrix(_side_by_side(counts, self.n_regions_))

    def _texts(self, X: Any, columns: Sequence[str] | None) -> tuple[Texts | TokenRows, list[str]]:
        """Return the texts of all rows, column by column in each, and the names of the columns."""
        if isinstance(columns, str):
            raise TypeError(
                f"`columns` must be a list of names; got {columns!r}: pass [{columns!r}]."
            )
        tokens = self.analyzer == "tokens"
        if columns is None and not is_frame(X):
            if self.regions:
                raise TypeError(
                    f"`regions` are columns of a table with named columns; got {type(X)}."
                )
            if getattr(X, "ndim", 1) != 1:
                raise ValueError("X must be texts in one dimension; pass [text], or a table.")
            return (as_tokens(X) if tokens else as_texts(X)), []
        names = list(column_names(X) if columns is None else columns)
        if not names:
            raise ValueError("`columns` must name at least one text column; got none.")
        return text_rows(X, names, tokens=tokens), names

    # -- what was learned -----------------------------------------------------------------------

    @property
    def vocabulary_(self) -> dict[str, int]:
        """Column of each term."""
        check_is_fitted(self)
        return {name: column for column, name in enumerate(self._names())}

    def _names(self) -> Array:
        return self._terms.names(self._order)

    def get_feature_names_out(self, input_features: Any = None) -> Array:
        """Name of each column: the term; with `regions` the text column, a colon, the term.

        Parameters
        ----------
        input_features : None
            Ignored.

        Returns
        -------
        names : ndarray of str
            Such as `word`, or `subject:word`.
        """
        check_is_fitted(self)
        names = self._names()
        if not self.regions:
            return names
        return np.array([f"{c}:{name}" for c in self.columns_ for name in names], dtype=object)

    def __sklearn_is_fitted__(self) -> bool:
        return hasattr(self, "_terms")

    def __sklearn_tags__(self) -> Tags:
        tags = super().__sklearn_tags__()
        tags.input_tags.string = True
        tags.input_tags.two_d_array = self.columns is not None or bool(self.regions)
        tags.input_tags.one_d_array = not tags.input_tags.two_d_array
        tags.requires_fit = True
        return tags


def _listed(vocabulary: Iterable[str] | Mapping[str, int]) -> list[str]:
    """Terms in the order of their columns."""
    if isinstance(vocabulary, str):
        raise ValueError("`vocabulary` must be a list of terms, or a mapping; got one string.")
    if isinstance(vocabulary, Mapping):
        if sorted(vocabulary.values()) != list(range(len(vocabulary))):
            raise ValueError(
                f"`vocabulary` must map its {len(vocabulary):,} terms to the columns from 0 on, "
                "each once."
            )
        names = sorted(vocabulary, key=lambda name: vocabulary[name])
    else:
        names = sorted(vocabulary) if isinstance(vocabulary, set | frozenset) else list(vocabulary)
    if not names:
        raise ValueError("`vocabulary` must hold at least one term; it is empty.")
    if len(set(names)) != len(names):
        raise ValueError("`vocabulary` must hold each term once.")
    return names


def _number(name: str, given: float, n_rows: int) -> float:
    """Rows that a number, or a share of all rows, says."""
    if isinstance(given, Integral) and not isinstance(given, bool) and given >= 1:
        return int(given)
    if isinstance(given, Real) and not isinstance(given, Integral) and 0 <= given <= 1:
        return float(given) * n_rows
    raise ValueError(
        f"`{name}` must be an int >= 1, or a share of the rows in [0, 1]; got {given!r}."
    )


def _is_word(word: str) -> bool:
    return all(c.isalnum() or c == "_" for c in word)


def _document_frequency(counts: sp.csr_array, width: int) -> IntArray:
    """Rows, of so many rows of counts each, that hold each term: (m,)."""
    if width > 1:
        counts = sp.csr_array((counts.data, counts.indices, counts.indptr[::width]), copy=True,
                              shape=(counts.shape[0] // width, counts.shape[1]))  # fmt: skip
        counts.sum_duplicates()
    return np.bincount(counts.indices, minlength=counts.shape[1])


def _side_by_side(counts: sp.csr_array, n_regions: int) -> sp.csr_array:
    """Turn so many rows of counts, one after another, into blocks of one row."""
    if n_regions == 1:
        return counts
    n, m = counts.shape
    block = np.repeat(np.arange(n, dtype=np.int64) % n_regions, np.diff(counts.indptr))
    indices = counts.indices + block * m
    shape = (n // n_regions, n_regions * m)
    return sp.csr_array((counts.data, indices, counts.indptr[::n_regions]), shape=shape)
