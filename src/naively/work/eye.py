"""Rows seen over some features only: what a model, or a search for examples, looks at."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import TypeAlias

import numpy as np
import scipy.sparse as sp

from naively._nearest import short
from naively._types import IntArray
from naively.models.counting import presence_of
from naively.read.batch import Batch
from naively.read.errors import InputError
from naively.statistics.exposure import Exposure, exposed_columns, fault_in
from naively.statistics.matrix import Matrix, is_sparse
from naively.text.counter import TermReader
from naively.text.features import ColumnFeatures, FeatureDefinition, TextFeatures
from naively.text.vocabulary import Vocabulary
from naively.text.weighting import log_weights

Eye: TypeAlias = Callable[[Batch], Matrix]  # rows over k features, (n, k)


def eye_for_terms(
    features: TextFeatures, terms: Vocabulary, *, regions: bool = False, exposed: bool = False
) -> Eye:
    """Return what sees texts over some terms, and last, with `exposed`, their exposure.

    With `regions`, the columns of text are kept apart: (n, R * k), region after region.
    """
    reader = TermReader(features, terms)

    def see(batch: Batch) -> Matrix:
        if exposed:
            return reader.exposed_rows(batch.rows, parts=batch.width)
        if not regions:
            return reader.rows(batch.rows, parts=batch.width)
        texts = reader.rows(batch.rows)
        return sp.hstack([texts[r :: batch.width] for r in range(batch.width)], format="csr")

    return see


def seen_columns(X: Matrix, columns: IntArray | slice, features: ColumnFeatures) -> Matrix:
    """Return some columns as they are counted, but for the idf: (n, k) from (n, m).

    The exposure is a column, too: that of the rows, or number m, the total of all columns.
    """
    if not isinstance(columns, slice) and features.n_columns in columns:
        return exposed_columns(X, columns[:-1], features.exposure)
    X = X[:, columns]
    if features.presence:
        return presence_of(features.threshold, X)
    return log_weights(X) if features.weights == "log" else X


_MODELS = (
    "real numbers are for --model l1-centers (medians) or l2-centers (means); --model bernoulli "
    "asks only whether a value is above 0"
)


def check_counts(
    batch: Batch, names: Vocabulary | Sequence[str] | None = None, way: str = _MODELS
) -> None:
    """Refuse negative values, which are no counts, and say what the way out is.

    Columns are called by their names (m,), where they have some, else by their numbers from 1.

    Raises
    ------
    InputError
        Naming the place.
    """
    X = batch.rows
    values = X.data if is_sparse(X) else X
    if not values.size or not (values < 0).any():  # NaN is missing
        return
    if is_sparse(X):
        entry = int(np.argmax(values < 0))
        row, column = int(np.searchsorted(X.indptr, entry, side="right")) - 1, X.indices[entry]
    else:
        row, column = np.argwhere(values < 0)[0].tolist()
    called = f"column {column + 1:,}"
    if names is not None:
        found = names.names([column])[0] if isinstance(names, Vocabulary) else names[column]
        called = short(found)
    value = X[[row]][:, [column]].sum()
    raise InputError(
        f"{batch.place(row)}: the value of {called} is {value:g}, and counts are never negative; "
        f"{way}."
    )


def check_exposure(batch: Batch, exposure: Exposure) -> None:
    """Refuse a row whose exposure cannot be that of its counts.

    Raises
    ------
    InputError
        Naming the place.
    """
    wrong = None if exposure is None else fault_in(batch.rows, exposure)
    if wrong is not None:
        row, what = wrong
        raise InputError(f"{batch.place(row)}: {what.replace('`exposure`', 'the exposure')}")


def eye_for(
    features: FeatureDefinition, terms: Vocabulary | None, columns: IntArray, *,
    regions: bool = False,
) -> Eye:  # fmt: skip
    """Return what sees rows over some columns of statistics: texts by their `terms` (k,).

    The column after all others is the total of a row, if that is its exposure.
    """
    if isinstance(features, TextFeatures):
        terms = terms or Vocabulary.of([])
        exposed = features.exposure is not None and len(columns) > len(terms)
        return eye_for_terms(features, terms, regions=regions, exposed=exposed)
    return lambda batch: seen_columns(batch.rows, columns, features)
