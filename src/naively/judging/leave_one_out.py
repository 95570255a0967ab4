r"""Leave-one-out errors along a path, the supports held fixed, in one sweep over the rows.

Row j of class c and weight s only enters the parameters of its own class. Without it the counts are
f_ci - s x_i, so for the multinomial model

    score of c = log(n_c - s) + sum_i x_i log(f_ci - s x_i) - n log(F_c(S) - s n),  n = sum_i x_i,

the sums over i in S, and the scores of all other classes are as before. For presence, with
N_c = n_c - s rows left and a_ci = n_c - f_ci rows without the feature,

    score of c = log N_c + sum_{i in S} log(a_ci - s) - log N_c
                         + sum_{i in S, x_i = 1} log(f_ci - s) - log(a_ci - s),

smoothing added to every count; a feature that all rows of the class have never meets x_i = 0, and
keeps a_ci. The result equals n refits with the same supports. It is honest about the parameters
and blind to the selection, which has seen every row.
"""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np

from naively._kernels.path_left_out import leave_one_out_csr
from naively._kernels.residue import RESIDUE
from naively._types import Array, FloatArray, IntArray
from naively.judging.path_rule import CHUNK, sum_of_parts
from naively.judging.path_scores import rule_rows
from naively.judging.rows import Rows, gather_rows, without
from naively.judging.visits import Visits, path_visits
from naively.models.family import Coupled, Ordered, alpha_of
from naively.models.model import Model, S
from naively.models.rules import winners
from naively.selection.path import SparsityPath, SteppedSupports
from naively.statistics.counts import ClassCounts

_SMALL_COUNTS = 4096  # whose logarithms are looked up
MAX_REFITS = 50_000  # rules trained for a curve without a formula


def left_out_errors(
    model: Model[S], statistics: S, track: SparsityPath, rows: Rows
) -> FloatArray | None:
    """Share (G,) of the weight decided wrongly with the row out of the parameters, supports fixed.

    Parameters
    ----------
    model : Model
        What is judged.
    statistics, track
        Of all rows, and the path that they give.
    rows : Rows
        All rows, from `checked_rows`.

    Returns
    -------
    (G,) or None where only very many refits could tell.
    """
    errors = _by_formula(model, statistics, track, rows)
    if errors is None:
        errors = _by_refits(model, statistics, track, rows)
    return None if errors is None else errors / rows.total


def _by_formula(
    model: Model[S], statistics: S, track: SparsityPath, rows: Rows
) -> FloatArray | None:
    """Weight of the rows decided wrongly by a model with a formula; None for the others."""
    problem = model.family.problem(statistics)
    if model.alpha is None or np.min(model.alpha) <= 0 or not model.of_columns:
        return None
    if model.ignores_missing:  # the formula is that of whole rows
        return None
    alpha = alpha_of(model.alpha, statistics.n_features)
    weight, prepared = statistics.class_weight, replace(rows, X=rule_rows(model, rows.X))
    prior = None if model.learns_prior else model.log_prior(statistics)
    if isinstance(problem, Ordered) and isinstance(problem.plain, Coupled):
        return None  # its supports are nested, those of the formula are stepped
    if isinstance(problem, Coupled):
        if not isinstance(track.supports, SteppedSupports):
            return None  # of another objective than that of the coupled problem
        visits = path_visits(track, statistics.n_features)
        return multinomial_errors(problem.table, alpha, weight, visits, prepared, prior)
    if not isinstance(statistics, ClassCounts) or not statistics.presence:
        return None
    visits = path_visits(track, statistics.n_features)
    return presence_errors(statistics.table, alpha, weight, visits, prepared, prior)


def _by_refits(
    model: Model[S], statistics: S, track: SparsityPath, rows: Rows
) -> FloatArray | None:
    """Weight of the rows decided wrongly, one refit of the parameters per row and k."""
    n = len(rows.labels)
    if n * len(track.k) > MAX_REFITS or not hasattr(statistics, "__sub__"):
        return None
    supports = [track.support(k) for k in track.k]
    errors = np.zeros(len(supports))
    for i in range(n):
        row = rows.take(np.array([i]))
        if model.subtracts:
            rest = without(statistics, gather_rows(model, row, statistics.classes))
        else:
            others = rows.take(np.delete(np.arange(n), i))
            rest = gather_rows(model, others, statistics.classes)
        errors += row.total * _wrong(model, rest, supports, row)
    return errors


def _wrong(model: Model[S], rest: S, supports: list[IntArray], row: Rows) -> FloatArray:
    prior = model.log_prior(rest)
    wrong = np.empty(len(supports))
    for g, support in enumerate(supports):
        scores = model.family.rule(rest, support, prior).scores(model.seen(rest, row.X, support))
        wrong[g] = winners(scores)[0] != row.labels[0]
    return wrong


@dataclass(frozen=True, slots=True)
class _Parameters:
    """What the kernel needs to know about the model; see `leave_one_out_csr`."""

    cell: FloatArray
    base: FloatArray
    own_base: FloatArray
    alpha: FloatArray
    log_small: FloatArray
    total: FloatArray
    shift: FloatArray


def multinomial_errors(
    table: Array,
    alpha: float | FloatArray,
    class_weight: FloatArray,
    visits: Visits,
    rows: Rows,
    log_prior: FloatArray | None,
    *,
    counted: bool = True,
) -> FloatArray:
    """Weight (G,) of the rows decided wrongly by a multinomial model that has not counted them.

    Parameters
    ----------
    table : ndarray of shape (m, C)
        Counts of all rows.
    alpha : float or ndarray of shape (m,)
        Positive smoothing.
    class_weight : ndarray of shape (C,)
        Weight of the rows of each class.
    visits : Visits
        The supports.
    rows : Rows
        The rows behind the counts.
    log_prior : ndarray of shape (C,) or None
        Fixed priors; None if they are learned from the rows.
    counted : bool
        Whether the counts hold the rows, so that each is taken out before it is judged. False:
        the rows are new.
    """
    counts = np.asarray(table[visits.feature], dtype=np.float64)
    one = isinstance(alpha, float)
    smoothing = np.atleast_1d(alpha if isinstance(alpha, float) else alpha[visits.feature])
    smoothed = counts + smoothing[:, None]
    total = np.ascontiguousarray(visits.totals(smoothed).T)
    total[total <= 0] = 1.0  # no feature: no row has a size there
    small = np.log(np.arange(_SMALL_COUNTS if one else 0) + smoothing[0])
    none = np.empty((0, visits.n_points))
    cell = np.hstack([counts, np.log(smoothed)])
    parameters = _Parameters(cell, none, none, smoothing, small, total, np.log(total))
    return _sweep(parameters, class_weight, visits, rows, log_prior, counted=counted)


def presence_errors(
    table: Array,
    alpha: float | FloatArray,
    class_weight: FloatArray,
    visits: Visits,
    rows: Rows,
    log_prior: FloatArray | None,
) -> FloatArray:
    """Weight (G,) of the rows decided wrongly by a Bernoulli model that has not counted them.

    Parameters
    ----------
    table : ndarray of shape (m, C)
        Weight of the rows with the feature.
    alpha, class_weight, visits, rows, log_prior
        As in `multinomial_errors`; the entries of the rows are 0 or 1.
    """
    alpha = alpha if isinstance(alpha, float) else alpha[visits.feature, None]
    present = np.asarray(table[visits.feature], dtype=np.float64)
    errors = np.zeros(visits.n_points)
    # What a row of zeros scores without one row depends on the weight of that row.
    for s in np.unique(rows.weight) if len(rows.weight) else [1.0]:
        part = rows.take(np.flatnonzero(rows.weight == s)) if len(rows.weight) else rows
        parameters = _presence_parameters(present, alpha, class_weight, visits, s)
        errors += _sweep(parameters, class_weight, visits, part, log_prior, counted=True)
    return errors


def _presence_parameters(
    present: FloatArray,
    alpha: float | FloatArray,
    class_weight: FloatArray,
    visits: Visits,
    s: float,
) -> _Parameters:
    without = np.maximum(class_weight - present, 0.0)
    total = class_weight + 2 * np.asarray(alpha)
    nothing = RESIDUE * class_weight
    left = np.where(np.abs(without - s) <= nothing, 0.0, without - s)
    reduced = np.where(left >= 0, left, without) + alpha  # else no row of the class is without
    # Classes without rows have no row to leave out; any positive number will do for them.
    rows_left = np.where(class_weight - s >= -nothing, total - s, total)
    log_absent = np.log(without + alpha) - np.log(total)
    smoothed = present + alpha
    # Where no row of the class has the feature, none asks for the weight without one.
    own = np.log(np.where(smoothed > s, smoothed - s, 1.0)) - np.log(reduced)
    cell = np.hstack([own, np.log(smoothed) - np.log(without + alpha)])
    base = np.ascontiguousarray(visits.totals(log_absent).T)
    own_base = np.ascontiguousarray(visits.totals(np.log(reduced) - np.log(rows_left)).T)
    none, empty = np.empty(0), np.empty((0, visits.n_points))
    return _Parameters(cell, base, own_base, none, none, empty, empty)


def _sweep(
    parameters: _Parameters,
    class_weight: FloatArray,
    visits: Visits,
    rows: Rows,
    log_prior: FloatArray | None,
    *,
    counted: bool,
) -> FloatArray:
    """Weight (G,) of the rows decided wrongly."""
    ptr = visits.ptr.astype(np.int32)
    visit = np.stack([visits.enter, visits.leave], axis=1).astype(np.int32)

    def part(first: int) -> FloatArray:
        wrong = np.zeros(visits.n_points)
        leave_one_out_csr(
            rows.X.data,
            rows.X.indices,
            rows.X.indptr,
            rows.labels,
            rows.weight,
            first,
            min(first + CHUNK, len(rows.labels)),
            visits.slot,
            ptr,
            visit,
            parameters.cell,
            parameters.base,
            parameters.own_base,
            parameters.alpha,
            parameters.log_small,
            parameters.total,
            parameters.shift,
            np.zeros(len(class_weight)) if log_prior is None else log_prior,
            class_weight,
            log_prior is None,
            counted,
            wrong,
        )
        return wrong

    return sum_of_parts(part, range(0, len(rows.labels), CHUNK), visits.n_points)
