"""What the models of counts share: the statistics that are theirs, and rows of presence."""

from __future__ import annotations

from dataclasses import replace
from functools import partial

import numpy as np

from naively.models.family import Family, Problem
from naively.statistics.counts import ClassCounts
from naively.statistics.matrix import Matrix, canonical, is_sparse
from naively.statistics.missing import missing_mask


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
    return (X > threshold).astype(np.float64)
