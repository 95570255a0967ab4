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

from dataclasses import dataclass
from typing import Any

import numpy as np

from naively._kernels.path_left_out import leave_one_out_counts_csr, leave_one_out_presence_csr
from naively._types import FloatArray, IntArray
from naively.judging.path_rule import CHUNK, sum_of_parts
from naively.judging.visits import Stays, Visits

_SMALL_COUNTS = 4096


@dataclass(frozen=True, slots=True)
class Rows:
    """Labelled rows of a CSR matrix, as the rule takes them."""

    X: Any  # (n, m)
    labels: IntArray  # (n,) position of the class
    weight: FloatArray  # (n,), or (0,) if all are 1

    def take(self, rows: IntArray) -> Rows:
        """Return some of the rows."""
        weight = self.weight[rows] if len(self.weight) else self.weight
        return Rows(self.X[rows], self.labels[rows], weight)

    @property
    def total(self) -> float:
        """Weight of all rows."""
        return float(self.weight.sum()) if len(self.weight) else float(len(self.labels))


def multinomial_errors(
    alpha: float | FloatArray,
    class_weight: FloatArray,
    stays: Stays,
    rows: Rows,
    log_prior: FloatArray | None,
    *,
    counted: bool = True,
) -> FloatArray:
    """Weight (G,) of the rows decided wrongly by a multinomial model that has not counted them.

    Parameters
    ----------
    alpha : float or ndarray of shape (m,)
        Positive smoothing.
    class_weight : ndarray of shape (C,)
        Weight of the rows of each class.
    stays : Stays
        The supports, and the counts of all rows.
    rows : Rows
        The rows behind the counts.
    log_prior : ndarray of shape (C,) or None
        Fixed priors; None if they are learned from the rows.
    counted : bool
        Whether the counts hold the rows, so that each is taken out before it is judged. False:
        the rows are new.
    """
    alpha = np.atleast_1d(np.asarray(alpha, dtype=np.float64))  # of groups: single columns, if many
    counts = stays.counts
    smoothing = np.broadcast_to(alpha[:, None], (len(counts), 1))
    total = stays.totals(counts) + stays.totals(smoothing)
    total = np.where(total > 0, total, 1.0)  # no feature: no row has a size there
    logs = np.log(counts + smoothing)
    small = np.log(np.arange(_SMALL_COUNTS if len(alpha) == 1 else 0) + alpha[0])

    def sweep(first: int, last: int, wrong: FloatArray) -> None:
        leave_one_out_counts_csr(
            rows.X.data,
            rows.X.indices,
            rows.X.indptr,
            rows.labels,
            rows.weight,
            first,
            last,
            stays.stay,
            stays.more_feature,
            stays.more_ptr,
            stays.more_enter,
            stays.more_leave,
            counts,
            logs,
            alpha,
            small,
            total,
            np.log(total),
            np.zeros(len(class_weight)) if log_prior is None else log_prior,
            class_weight,
            log_prior is None,
            counted,
            wrong,
        )

    return _by_parts(sweep, len(rows.labels), stays.n_points)


def _by_parts(sweep: Any, n: int, n_points: int) -> FloatArray:
    """Sum of sweep(first, last, wrong) over parts of n rows."""

    def part(first: int) -> FloatArray:
        wrong = np.zeros(n_points)
        sweep(first, min(first + CHUNK, n), wrong)
        return wrong

    return sum_of_parts(part, range(0, n, CHUNK), n_points)


@dataclass(frozen=True, slots=True)
class _Parameters:
    """What the kernel of the presence model needs to know about the classes."""

    cell: FloatArray  # (U, 2 C)
    absent: FloatArray  # (U, C)
    base: FloatArray  # (G, C)
    own_base: FloatArray  # (G, C)


def presence_errors(
    present: FloatArray,
    alpha: float | FloatArray,
    class_weight: FloatArray,
    visits: Visits,
    rows: Rows,
    log_prior: FloatArray | None,
) -> FloatArray:
    """Weight (G,) of the rows decided wrongly by a Bernoulli model that has not counted them.

    Parameters
    ----------
    present : ndarray of shape (m, C)
        Weight of the rows with the feature.
    alpha : float or ndarray of shape (m,)
        Positive smoothing.
    visits : Visits
        The supports.
    class_weight, rows, log_prior
        As in `multinomial_errors`; the entries of the rows are 0 or 1.
    """
    alpha = alpha if isinstance(alpha, float) else alpha[visits.feature, None]
    present = present[visits.feature]
    errors = np.zeros(visits.n_points)
    # What a row of zeros scores without one row depends on the weight of that row.
    for s in np.unique(rows.weight) if len(rows.weight) else [1.0]:
        part = rows.take(np.flatnonzero(rows.weight == s)) if len(rows.weight) else rows
        parameters = _presence_parameters(present, alpha, class_weight, visits, s, log_prior)
        errors += _sweep(parameters, class_weight, visits, part, learned=log_prior is None)
    return errors


def _presence_parameters(
    present: FloatArray,
    alpha: float | FloatArray,
    class_weight: FloatArray,
    visits: Visits,
    s: float,
    log_prior: FloatArray | None,
) -> _Parameters:
    without = np.maximum(class_weight - present, 0.0)
    total = class_weight + 2 * np.asarray(alpha)
    meets_zero = without >= s * (1 - 1e-9)
    reduced = np.where(meets_zero, without - s, without) + alpha
    # Classes without rows have no row to leave out; any positive number will do for them.
    rows_left = np.where(class_weight > s * (1 - 1e-9), total - s, total)
    log_absent = np.log(without + alpha) - np.log(total)
    fixed = np.zeros(len(class_weight)) if log_prior is None else log_prior
    smoothed = present + alpha
    return _Parameters(
        cell=np.hstack([smoothed, np.log(smoothed) - np.log(without + alpha)]),
        absent=reduced,
        base=fixed + visits.totals(log_absent),
        own_base=fixed + visits.totals(np.log(reduced) - np.log(rows_left)),
    )


def _sweep(
    parameters: _Parameters,
    class_weight: FloatArray,
    visits: Visits,
    rows: Rows,
    *,
    learned: bool,
) -> FloatArray:
    def sweep(first: int, last: int, wrong: FloatArray) -> None:
        leave_one_out_presence_csr(
            rows.X.data,
            rows.X.indices,
            rows.X.indptr,
            rows.labels,
            rows.weight,
            first,
            last,
            visits.slot,
            visits.ptr,
            visits.enter,
            visits.leave,
            parameters.cell,
            parameters.absent,
            parameters.base,
            parameters.own_base,
            class_weight,
            learned,
            wrong,
        )

    return _by_parts(sweep, len(rows.labels), visits.n_points)
