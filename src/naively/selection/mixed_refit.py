"""A logistic regression on chosen columns of several kinds, in any of which values may be missing.

    numbers             centered and divided by their standard deviation
    counts, presence    centered
    categories          one column for each (one-hot), with a weight of its own

What is missing is 0 in these columns: the mean, or none of the categories. It has no part in the
score, as in the model's own rule. A column of which most entries are 0, as those of words, stays
sparse if none is missing, and is centered afterwards: the start, which has no penalty, makes up for
it. See :mod:`naively.selection.refit`.
"""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np
import scipy.sparse as sp

from naively._types import FloatArray, IntArray
from naively.models.rules import LinearRule
from naively.models.value_rules import MixedRule, TableRule
from naively.selection.refit import Refitted, counted, regression
from naively.statistics.mixed import ClassMixed
from naively.statistics.parts import starts_of
from naively.statistics.rows import LabelledRows


def mixed_logistic(
    rows: LabelledRows, statistics: ClassMixed, support: IntArray, log_prior: FloatArray
) -> Refitted:
    """Fit a penalised logistic regression to rows over the chosen columns.

    Parameters
    ----------
    rows : LabelledRows
        (n, k), as `ClassMixed` counts them: NaN is missing.
    statistics
        Kinds and categories of all columns.
    support : (k,)
        The chosen ones, ascending.
    log_prior : (C,)
        Of the classes: it says which are possible, and has no part in the rule otherwise.

    Returns
    -------
    Refitted
        The `log_prior` of its rule is the intercept.

    Raises
    ------
    ValueError
        If the rows are of one class.
    """
    rows = counted(rows)
    X = sp.csc_array(rows.matrix)
    chosen = statistics.columns.take(support)
    blocks, places = list[Any](), list[int]()
    mean, later, scale = np.zeros(len(support)), np.zeros(len(support)), np.ones(len(support))
    weight = np.ones(X.shape[0]) if rows.weights is None else rows.weights
    for j, kind in enumerate(chosen.kinds):
        if kind == "categorical":
            block = _one_hot(X[:, [j]].toarray()[:, 0], len(chosen.labels[j]))
        else:
            block, mean[j], scale[j], centered = _moved(
                X[:, [j]], weight, scaled=kind == "gaussian"
            )
            later[j] = 0.0 if centered else mean[j]
        places.append(block.shape[1])
        blocks.append(block)
    design = sp.hstack(blocks, format="csr")
    if design.nnz > design.shape[0] * design.shape[1] / 2:
        design = design.toarray()
    found = regression(replace(rows, matrix=design))
    starts = starts_of(np.array(places, dtype=np.int64))
    rules: dict[str, Any] = {}
    columns: dict[str, IntArray] = {}
    nothing, start = np.zeros_like(log_prior), found.start
    for kind in statistics.parts:
        at = chosen.of_kind(kind)
        if not len(at):
            continue
        columns[kind] = at
        if kind == "categorical":
            own = np.concatenate([np.arange(starts[j], starts[j] + places[j]) for j in at])
            ends = np.cumsum([0, *(places[j] for j in at)], dtype=np.int64)
            rules[kind] = TableRule(nothing, found.weights[:, own].T, ends)
        else:
            weights = found.weights[:, starts[at]] / scale[at]
            offset, start = -weights * mean[at], start + weights @ later[at]
            rules[kind] = LinearRule(offset.sum(axis=1), weights, nothing, offset=offset)
    return Refitted(MixedRule(start, columns, rules), found.C, found.log_loss)


def _one_hot(codes: FloatArray, n: int) -> Any:
    """Columns (n_rows, n) of categories; none of a missing one. One at least, if there are none."""
    seen = np.flatnonzero(~np.isnan(codes))
    places = (seen, codes[seen].astype(np.int64))
    return sp.csc_array((np.ones(len(seen)), places), shape=(len(codes), max(n, 1)))


def _moved(column: Any, weight: FloatArray, *, scaled: bool) -> tuple[Any, float, float, bool]:
    """Column (n, 1) for the regression, its mean, its divisor, and whether it is centered."""
    values = column.toarray()[:, 0]
    seen = ~np.isnan(values)
    share = np.where(seen, weight, 0.0)
    share /= max(share.sum(), np.finfo(float).tiny)
    mean = float(share[seen] @ values[seen])
    spread = float(np.sqrt(share[seen] @ (values[seen] - mean) ** 2)) if scaled else 1.0
    spread = spread if spread > 1e-12 * abs(mean) else 1.0
    if seen.all() and 2 * column.nnz <= column.shape[0]:
        return column / spread, mean, spread, False
    moved = np.where(seen, (values - mean) / spread, 0.0)
    return sp.csc_array(moved[:, None]), mean, spread, True
