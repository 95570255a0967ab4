"""What the models of counts share: their statistics, rows of presence, a test of rows."""

from __future__ import annotations

from dataclasses import replace
from functools import partial
from typing import Any

import numpy as np

from naively._types import Array, BoolArray, FloatArray, IntArray
from naively.models.alike import alike_in_rows
from naively.models.family import Family, Problem
from naively.models.kinds import MODELS, Takes
from naively.statistics.counts import ClassCounts
from naively.statistics.matrix import Matrix, canonical, is_sparse
from naively.statistics.missing import missing_mask
from naively.statistics.moments import ClassMoments
from naively.statistics.source import distinct
from naively.statistics.values import ClassMedians

FIRST_ROWS = 1000  # that are looked at
_HALVES = 0.25  # of the medians, beyond which values may be halves
_NUMBERS = ("gaussian", "poisson")  # kinds of columns whose values are not categories
_ROUNDING = 1e-13  # of sums of weighted values, relative
_ROWS = 10  # that tell of the size of values: single ones may be of any size
_LARGER = 2.0  # times; held-out rows of eight sets, of one class each, reached 0.98
_FEWEST = 5  # values that tell counts from others: that all are whole is no chance


def whole_values(statistics: Any, support: IntArray | slice) -> bool | None:
    """Whether the values of some features were whole numbers in training, as their sums tell.

    None if that is not known: of presence, of categories, of rows that weigh differently. Of
    features of several kinds those that are numbers count.
    """
    statistics = getattr(statistics, "words", statistics)  # of hybrid models
    if hasattr(statistics, "parts"):
        chosen, columns = np.arange(statistics.n_features)[support], statistics.columns
        some = {kind: np.intersect1d(columns.of_kind(kind), chosen) for kind in _NUMBERS}
        known = {
            whole_values(statistics.parts[kind], np.searchsorted(columns.of_kind(kind), of_kind))
            for kind, of_kind in some.items()
            if len(of_kind)
        }
        return known.pop() if len(known) == 1 else None
    sums: Any
    if (sums := getattr(statistics, "center", None)) is not None:
        half = sums - np.floor(sums) == 0.5  # medians between two whole numbers, or of halves
        if np.count_nonzero(half) > _HALVES * half.size:
            return None
        sums = np.where(half, 0.0, sums).T
    elif (sums := getattr(statistics, "total", None)) is None:
        if getattr(statistics, "presence", True):
            return None
        sums = statistics.table
    own = np.asarray(sums[support])
    if own.dtype.kind in "iu":
        return True if own.any() else None
    rows = statistics.class_rows
    weights = np.unique(statistics.class_weight[rows > 0] / rows[rows > 0])
    alike = len(weights) == 1
    unit = weights[0] if alike and not hasattr(statistics, "center") else 1.0
    own = own[own != 0]
    odd = _odd(own, unit)
    if own.size and not odd.any():
        # A few sums of halves are whole by chance, those of all features are not.
        values = getattr(sums, "values", sums)  # of a sparse table
        return True if own.size >= _FEWEST or not _odd(values, unit).any() else None
    return False if alike and 2 * np.count_nonzero(odd) > own.size else None


def _odd(sums: Array, unit: float) -> BoolArray:
    """Which sums of values of some weight are no sums of whole numbers."""
    sums = sums / unit
    return np.asarray(~np.isclose(sums, np.rint(sums), rtol=_ROUNDING, atol=0.0))


def size_of_values(name: str, statistics: Any, support: IntArray) -> float | None:
    """Most that values of some features are from 0 in a class, on average over the features.

    By the triangle inequality the mean of |x| is at most |mean| + standard deviation, and at most
    |median| + mean deviation from it. None if there are no such figures, or the model of that name
    takes no values: counts of longer rows are larger.
    """
    if name not in MODELS or MODELS[name].takes != "values":
        return None
    if isinstance(statistics, ClassMoments) and statistics.scatter is not None:
        some = statistics.take(support)
        reached = np.abs(some.mean) + np.sqrt(some.variance)
    elif isinstance(statistics, ClassMedians):
        reached = (np.abs(statistics.center) + statistics.dispersion)[:, support].T
    else:
        return None
    size = float(np.mean(reached.max(axis=1))) if len(support) else 0.0
    return size if 0 < size < np.inf else None


def unlike_training(
    whole: bool | None, X: Matrix, rule: Any = None, size: float | None = None
) -> str:
    """Say that the first rows hold logarithms in place of counts, or the reverse; else "".

    So of rows that are far larger than those of training, as without logarithms or a scaling. They
    cannot be told from those by their spread: a row of another class, or of one cell that holds
    little, may be as far off as one in another scale.

    Parameters
    ----------
    whole
        What `whole_values` says of the training.
    X
        Rows (n, k), as the model takes them.
    rule
        That of the model: of several kinds of columns it knows which are numbers.
    size
        What `size_of_values` says of the training.
    """
    if whole is None and size is None:
        return ""
    X = X[:FIRST_ROWS]
    if (columns := getattr(rule, "columns", None)) is not None:
        of_kinds = [own for kind, own in columns.items() if kind in _NUMBERS]
        X = X[:, np.concatenate(of_kinds)]
    return _unlike_kind(whole, X) or _unlike_size(size, X)


def _unlike_size(size: float | None, X: Matrix) -> str:
    if size is None or X.shape[0] < _ROWS:
        return ""
    sizes = np.abs(np.asarray(X.data if is_sparse(X) else X, dtype=np.float64))
    with np.errstate(over="ignore"):  # values that are refused
        times = float(np.nansum(sizes)) / (X.shape[0] * X.shape[1] * size)
    if not _LARGER < times < np.inf:
        return ""
    return (
        f"The values of the first {X.shape[0]:,} rows are {times:.3g} times as far from 0 as those "
        "of training were in any class, on average; give values made as those of training, with "
        "the same scaling and logarithms."
    )


def _unlike_kind(whole: bool | None, X: Matrix) -> str:
    if whole is None:
        return ""
    values = X.data if is_sparse(X) else np.asarray(X)
    values = values[(values != 0) & ~np.isnan(values)]
    if values.size < _FEWEST:
        return ""
    if whole:
        said = uncounted(X)
        return said and (
            f"The model was trained on whole numbers, and {said}; give counts, not their "
            "logarithms or shares, or train on such values."
        )
    largest = values.max()
    # From 2**53 on all floats are whole.
    if not 1 < largest < 2**53 or (values != np.rint(values)).any():
        return ""
    return (
        f"The model was trained on values that are no whole numbers, as logarithms are, and the "
        f"{values.size:,} values other than 0 in the first {X.shape[0]:,} rows are whole numbers "
        f"up to {largest:,.0f}, as counts are; give values made as those of training."
    )


def uncounted(X: Matrix) -> str:
    """Say how many values above 0 are no whole numbers, if they are more than half; else "".

    A few are estimated counts, or corrected ones; most are so of logarithms.
    """
    values = X.data if is_sparse(X) else X
    if values.dtype.kind != "f":
        return ""
    positive = values[values > 0]
    odd = positive[positive != np.rint(positive)]
    if 2 * odd.size <= positive.size:
        return ""
    return (
        f"of the {positive.size:,} values above 0 in the first {X.shape[0]:,} rows {odd.size:,} "
        f"are no whole numbers, such as {odd.flat[0]:.4g}"
    )


def bare_rows(takes: Takes, X: Matrix) -> int:
    """Count the rows (n, k) that say nothing: counts without one above 0, values all missing."""
    counted = takes in ("counts", "presence")
    if is_sparse(X):
        X = X.tocsr()
        rows = np.repeat(np.arange(X.shape[0]), np.diff(X.indptr))
        n = np.bincount(rows[X.data > 0 if counted else np.isnan(X.data)], minlength=X.shape[0])
        return int(np.count_nonzero(n == (0 if counted else X.shape[1])))
    X = np.asarray(X)
    held = X > 0 if counted else ~np.isnan(X)
    return int(np.count_nonzero(~held.any(axis=1)))


def of_own_counts(
    family: Family[ClassCounts], *, presence: bool, threshold: float = 0.0
) -> Family[ClassCounts]:
    """Return the family with a problem that refuses counts of something else."""
    return replace(family, problem=partial(_own_problem, family, presence, threshold))


def _own_problem(
    family: Family[ClassCounts], presence: bool, threshold: float, statistics: ClassCounts
) -> Problem:
    if (statistics.presence, statistics.threshold) != (presence, threshold):
        raise ValueError(
            f"`statistics` must have been counted with presence={presence}, "
            f"threshold={threshold:g} for this model; got presence={statistics.presence}, "
            f"threshold={statistics.threshold:g}. The method `gather` of the model counts rightly."
        )
    return family.problem(statistics)


def test_of_counts(statistics: Any, squares: FloatArray | None) -> FloatArray:
    """Test that counts are alike in the rows of all classes: p-values (m,).

    Raises
    ------
    ValueError
        If the squares (m,) of the entries are neither given nor in the statistics.
    """
    if squares is None and statistics.presence:
        squares = statistics.table.sum(axis=1)
    elif squares is None and statistics.squares is not None:
        squares = statistics.squares.sum(axis=1)
    if squares is None:
        raise ValueError(
            "`k`='fdr' takes the dispersion of counts from their squares, which `statistics` lack; "
            "gather them with `documents`=True, as an estimator with `k`='fdr' does."
        )
    weight = statistics.feature_weight
    return alike_in_rows(statistics.table, weight, np.asarray(squares, dtype=np.float64))


def presence_of(threshold: float, X: Matrix) -> Matrix:
    """1 where an entry is above a threshold, else 0: (n, k), sparse if X is; NaN where X is."""
    if not is_sparse(X):
        X = np.asarray(X)
        present = (X > threshold).astype(np.float64)
        mask = missing_mask(X)
        return present if mask is None else np.where(mask, np.nan, present)
    if threshold < 0:
        raise ValueError(
            f"`binarize` must be >= 0 for sparse X, whose zeros are not stored; got "
            f"{threshold}. Pass X.toarray() or a threshold >= 0."
        )
    mask = missing_mask(X)
    if mask is not None:
        X = canonical(X)
        values = np.where(np.isnan(X.data), np.nan, X.data > threshold)
        return type(X)((values, X.indices, X.indptr), shape=X.shape)
    X = distinct(X)
    present = type(X)(((X.data > threshold).astype(np.float64), X.indices, X.indptr), X.shape)
    if not present.data.all():
        present = present.copy()  # the positions are those of X
        present.eliminate_zeros()
    return present
