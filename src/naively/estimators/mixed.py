"""Sparse naive Bayes of a table: columns of several kinds, and values that are missing."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from numbers import Integral
from typing import Any, Self, final

import numpy as np
from numpy.typing import ArrayLike
from sklearn.utils import Tags
from sklearn.utils.validation import check_is_fitted, validate_data

from naively._types import Array, K, MatrixLike
from naively.estimators.asked import describe_asked
from naively.estimators.base import AbstractSparseNaiveBayes
from naively.models import mixed
from naively.models.model import Model, Objective, RowsOver
from naively.statistics.matrix import Matrix, as_matrix, check_library, is_sparse
from naively.statistics.mixed import ClassMixed
from naively.statistics.mixed_columns import (
    MixedColumns,
    Table,
    array_of,
    check_table,
    text_columns,
    texts_of,
)
from naively.text.table_words import TableWords


@final
@describe_asked
class SparseMixedNB(AbstractSparseNaiveBayes[ClassMixed]):
    r"""Naive Bayes of a table in which at most k columns tell the classes apart; exact.

    Columns are numbers, categories, booleans and counts, each with the law of its kind, and any
    value may be missing. Gains of all kinds are nats of one likelihood: they compare, and the k
    columns of the largest gains are the optimum, for every k.

    Parameters
    ----------
    k : int, float, "all", "auto", "simplest", "best" or "fdr", default=10
        Number of columns, or a fraction of them in (0, 1]; "auto" chooses by cross-validation
        with the selection inside each fold (see :func:`naively.error_path`): the fewest within a
        quarter of a standard error of the best; "simplest" those within one, "best" the best;
        "fdr" takes all that are significant (see `q`).
    columns : mapping or sequence of str, default=None
        Kind of some columns, by name or position, or of all in their order: "gaussian" (real
        numbers), "categorical", "bernoulli" (booleans; numbers: whether they are above 0) or
        "poisson" (counts). The others by their type: booleans are Bernoulli, other numbers
        Gaussian, strings and categoricals categorical.
    text : sequence of str or int, default=None
        Columns of text, by name or position. Each word of one is a variable of its own, "bernoulli"
        (present in the row or not), behind the other columns and named ``column__word``; words are
        those of :class:`~sklearn.feature_extraction.text.CountVectorizer`.
    min_documents : int, default=None
        Of `text`: the words that so many rows hold at least are variables; by default all are.
    alpha : float, default=1.0
        Smoothing of categorical, Bernoulli and Poisson columns, as in the estimators of each.
    variance : {"class", "shared"}, default="class"
        Whether the variance of a selected Gaussian column differs between the classes, or only its
        mean does.
    var_smoothing : float, default=1e-9
        Share of the largest variance of all Gaussian columns that is added to every variance.
    fit_prior : bool, default=True
        Whether to learn the class priors; otherwise they are equal.
    class_prior : array-like of shape (n_classes,), default=None
        Prior probabilities of the classes in the order of `classes_`, instead of learned ones.

    Attributes
    ----------
    support_ : ndarray of shape (n_features,)
        Mask of the selected columns.
    certificate_ : Certificate or None
        Objective and bound in nats; they agree.
    scores_ : ndarray of shape (n_features,)
        Gain of each column in nats, less its correction.
    pvalues_ : ndarray of shape (n_features,)
        Chance of such a gain, without correction, in a column alike in all classes
        (likelihood-ratio test).
    kinds_ : ndarray of shape (n_features,)
        Kind of each column.
    categories_ : list of list
        Categories of each column in the order of their counts, [] of other kinds.
    displaced_ : list of ndarray
        Empty: there is no `redundancy` here.
    refitted_ : Refitted or None
        With `refit`: the rule that decides, its inverse penalty `C` and its log loss.
    temperature_ : float
        What the scores were divided by; 1 without `calibration`.
    stability_ : SelectionStability
        With `stable`: how often each column was selected.
    classes_ : ndarray of shape (n_classes,)
        Class labels.
    class_count_, class_log_prior_ : ndarray of shape (n_classes,)
        Weight of the rows, and log prior, of each class.
    statistics_ : ClassMixed
        The class statistics, from which everything above follows.
    variable_names_ : ndarray of shape (n_features,)
        Names of the variables: columns (x0, x1, ... without names), then words.
    n_features_in_ : int
        Number of columns seen in `fit`; with `text` there are more or less variables
        (`n_features`), one for each other column and one for each word.
    feature_names_in_ : ndarray of shape (n_columns,)
        Names of the columns, if `X` has string column names.

    See Also
    --------
    SparseGaussianNB, SparseCategoricalNB, SparseBernoulliNB, SparsePoissonNB : The model of each
        kind; with ``missing="ignore"`` they give what this one gives for columns of one kind.

    Notes
    -----
    `X` is a data frame (pandas, polars), a table of Arrow, a NumPy array of numbers or objects, a
    list of rows, or a sparse matrix, whose zeros are values (then no column is categorical). None,
    NaN, NaT and `pandas.NA` are missing: the row is left out of that column, in training and in
    prediction. That values are missing is taken to tell nothing; a column that says so is a
    variable of its own. A category that no training row has is as if it were missing, and has no
    part in the smoothing. A text that is missing holds no word, as an empty one does. Dates are
    refused: make numbers of them.

    A string column of a new value in each row has as many categories as rows, and gains very much
    by chance: ``correction="bic"`` is for that.

    Examples
    --------
    >>> import pandas as pd
    >>> from naively import SparseMixedNB
    >>> frame = pd.DataFrame(
    ...     {
    ...         "age": [31, 35, None, 62, 70, 66],
    ...         "town": ["Oslo", "Bergen", "Oslo", "Bergen", None, "Oslo"],
    ...         "smokes": [True, False, False, True, False, True],
    ...     }
    ... )
    >>> model = SparseMixedNB(k=1).fit(frame, ["young"] * 3 + ["old"] * 3)
    >>> model.kinds_.tolist(), model.get_feature_names_out().tolist()
    (['gaussian', 'categorical', 'bernoulli'], ['age'])
    >>> model.predict(frame).tolist()
    ['young', 'young', 'old', 'old', 'old', 'old']
    """

    def __init__(
        self,
        k: K = 10,
        *,
        columns: Mapping[Any, str] | Sequence[str] | None = None,
        text: Sequence[str | int] | None = None,
        min_documents: int | None = None,
        alpha: float = 1.0,
        variance: str = "class",
        var_smoothing: float = 1e-9,
        fit_prior: bool = True,
        class_prior: ArrayLike | None = None,
        correction: str | None = None,
        objective: Objective = "likelihood",
        refit: str | None = None,
        calibration: str | None = None,
        q: float | None = None,
        stable: float | None = None,
        required: ArrayLike | None = None,
        excluded: ArrayLike | None = None,
        groups: ArrayLike | None = None,
        costs: ArrayLike | None = None,
        budget: float | None = None,
        class_weight: Mapping[Any, float] | str | None = None,
    ) -> None:
        self.k = k
        self.columns = columns
        self.text, self.min_documents = text, min_documents
        self.alpha = alpha
        self.variance = variance
        self.var_smoothing = var_smoothing
        self.fit_prior = fit_prior
        self.class_prior = class_prior
        self.correction = correction
        self.objective = objective
        self.refit = refit
        self.calibration = calibration
        self.q, self.stable = q, stable
        self.required, self.excluded, self.groups = required, excluded, groups
        self.costs, self.budget = costs, budget
        self.class_weight = class_weight

    def _model(self) -> Model[ClassMixed]:
        return mixed.model(
            alpha=self.alpha,
            fit_prior=self.fit_prior,
            class_prior=self.class_prior,
            variance=self.variance,
            var_smoothing=self.var_smoothing,
            correction=self.correction,
            columns=self._variables if hasattr(self, "_table") else None,
        )

    @property
    def _variables(self) -> MixedColumns:
        """Kinds, categories and names of all variables."""
        return self._words.variables(self._table)

    @property
    def _column_names(self) -> list[str] | None:
        """Names of the columns of X, if they have any."""
        return super()._names

    @property
    def _names(self) -> list[str] | None:
        """Names of the variables, if the columns or texts have any."""
        if not hasattr(self, "_words") or not self._words.columns:
            return self._column_names
        return list(self._variables.names or ())

    @property
    def _n_variables(self) -> int:
        return len(self._variables.kinds) if hasattr(self, "_words") else self.n_features_in_

    # -- a table as a matrix --------------------------------------------------------------------

    _table: MixedColumns  # of the columns but the texts
    _words: TableWords

    def _check_batch(self, X: MatrixLike, y: ArrayLike, *, reset: bool) -> tuple[Matrix, Array]:
        self._check_columns(X, reset=reset)
        if reset:
            self._learn(X)
        else:
            self._table = self._table.extended(self._split(X)[0])
        rows = self._encoded(X)
        return rows, self._check_labels(y, rows)

    def _learn(self, X: MatrixLike) -> None:
        """Find kinds, categories and words."""
        named, least = self._column_names, self._least_documents()
        text = text_columns(X, self.text, named)
        if text and named is None:  # as scikit-learn calls them
            named = [f"x{i}" for i in range(self.n_features_in_)]
        self._table = MixedColumns.of(X, self.columns, named, text)
        self._text_at = text
        called = [named[i] for i in text] if named else []
        self._words = TableWords.of(called, texts_of(X, text, called), least)
        self._words.check_names(self._table)

    def _least_documents(self) -> int:
        least = self.min_documents
        if least is None:
            return 1
        if isinstance(least, bool) or not isinstance(least, Integral) or least < 1:
            raise ValueError(f"`min_documents` must be an int >= 1, or None; got {least!r}.")
        if self.text is None:
            raise ValueError(
                f"`min_documents` has no effect without `text`; give both or neither. Got {least}."
            )
        return int(least)

    def _split(self, X: MatrixLike) -> tuple[Any, list[list[str]]]:
        """Return the columns of a table, and its texts."""
        if not self._text_at:
            return X, []
        table = Table.of(X)
        kept = [i for i in range(table.width) if i not in self._text_at]
        return table.some(kept), texts_of(table, self._text_at, self._words.columns)

    def _encoded(self, X: MatrixLike) -> Matrix:
        columns, texts = self._split(X)
        return self._words.beside(self._table.encoded(columns), texts)

    def _check_rows(self, X: MatrixLike) -> Matrix:
        self._check_columns(X, reset=False)
        return self._encoded(X)

    def partial_fit(
        self,
        X: MatrixLike,
        y: ArrayLike,
        classes: ArrayLike | None = None,
        sample_weight: ArrayLike | None = None,
    ) -> Self:
        """Add a batch of rows; the result is that of `fit` on all rows seen so far.

        Parameters
        ----------
        X : {array-like, sparse matrix, data frame} of shape (n_samples, n_features)
            Rows of this batch, of the same columns; new categories may occur.
        y : array-like of shape (n_samples,)
            Class labels.
        classes : array-like of shape (n_classes,), default=None
            All labels that may ever occur; required at the first call, optional afterwards.
        sample_weight : array-like of shape (n_samples,), default=None
            Weight of each row.

        Returns
        -------
        self : object
            The fitted estimator.

        Raises
        ------
        ValueError
            As `fit`; also if `classes` is missing at the first call, differs from that of an
            earlier call, or lacks a label of `y`; and with `text`, whose words are not known
            before all rows are.
        """
        if self.text is not None:
            raise ValueError(
                f"`text`={self.text!r} needs all rows at once, since later batches would bring new "
                "words; use `fit`, or make columns of a fixed vocabulary with CountVectorizer."
            )
        return super().partial_fit(X, y, classes, sample_weight)

    def _check_columns(self, X: MatrixLike, *, reset: bool) -> None:
        """Check names and number of the columns, whatever they hold."""
        check_library(X)
        check_table(X)
        validate_data(self, X, reset=reset, skip_check_array=True)

    def _finite(self) -> bool | str:
        return "allow-nan"

    def _finish(self, statistics: ClassMixed, rows: RowsOver | None = None) -> Self:
        if self.text is not None:
            raise ValueError(
                f"`text`={self.text!r} needs the rows, whose words are counted, and not only their "
                "statistics; use `fit`."
            )
        self._table, self._words, self._text_at = statistics.columns, TableWords(), []
        return super()._finish(statistics, rows)

    def transform(self, X: MatrixLike) -> Any:  # a frame, if it is one
        """Reduce rows to the selected columns.

        Parameters
        ----------
        X : {array-like, sparse matrix, data frame} of shape (n_samples, n_features)
            Rows.

        Returns
        -------
        X : {ndarray, sparse matrix, data frame} of shape (n_samples, k)
            The selected columns, as they are, in a container of the same kind. With `text` a
            sparse matrix of numbers: categories by their place in `categories_`, words 1 or 0.
        """
        check_is_fitted(self)
        if self._reading is not None:
            return self._reading.columns(self, X)
        columns = self.selection_.support
        if self._words.columns:
            return self._check_rows(X)[:, columns]
        self._check_columns(X, reset=False)
        if hasattr(X, "iloc"):
            return X.iloc[:, columns]
        if hasattr(X, "select") and hasattr(X, "columns"):  # polars; Arrow
            names = getattr(X, "column_names", X.columns)
            return X.select([names[i] for i in columns])
        if is_sparse(X):
            return as_matrix(X).tocsr()[:, columns]
        chosen = array_of(X)[:, columns]
        plain = np.asarray(chosen.tolist()) if isinstance(X, list | tuple) else chosen
        return plain if plain.dtype.kind in "biuf" else chosen

    # -- what was found -------------------------------------------------------------------------

    def get_feature_names_out(self, input_features: ArrayLike | None = None) -> Array:
        """Return the names of the selected variables.

        Parameters
        ----------
        input_features : array-like of str of shape (n_columns,), default=None
            Names of the columns, where X had none; refused if they differ from those of `fit`.

        Returns
        -------
        names : ndarray of shape (k,)
            Of columns, and of words as ``column__word``.
        """
        check_is_fitted(self)
        if self._reading is not None or not self._words.columns:
            return np.asarray(super().get_feature_names_out(input_features))
        if input_features is not None and np.asarray(input_features).tolist() != self._column_names:
            raise ValueError("`input_features` must be the names of the columns of `fit`, or None.")
        return self.variable_names_[self.support_]

    @property
    def variable_names_(self) -> Array:
        """All variables by name, (n_features,)."""
        check_is_fitted(self)
        names = self._names or [f"x{i}" for i in range(self.statistics_.n_features)]
        return np.array(names, dtype=object)

    @property
    def kinds_(self) -> Array:
        """Kind of each variable, (n_features,)."""
        check_is_fitted(self)
        return np.array(self.statistics_.columns.kinds)

    @property
    def categories_(self) -> list[list[Any]]:
        """Categories of each variable in the order of their counts, [] of other kinds."""
        check_is_fitted(self)
        return [list(labels) for labels in self.statistics_.columns.labels]

    def __sklearn_tags__(self) -> Tags:
        tags = super().__sklearn_tags__()
        tags.input_tags.categorical = True
        tags.input_tags.string = True
        return tags
