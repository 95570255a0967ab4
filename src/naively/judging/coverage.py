"""Accuracy against coverage: how right a classifier is on the rows it is surest of.

Label the rows in the order of the confidence max_c P(c | row), the surest first. After a share
`coverage` of the weight, `accuracy` is the share of it that is right. At coverage 1 that is the
ordinary accuracy. A curve near the top says that confidence can be trusted: a person need only
see the rest (Raina, Shen, Ng, McCallum 2003, section 5). A monotone recalibration of two classes
that is symmetric about one half leaves the curve as it is; one with an intercept reorders rows.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import final

import numpy as np
from numpy.typing import ArrayLike

from naively._notebook import points_shown, table_html
from naively._types import Array, BoolArray, FloatArray
from naively.models.rules import winners

_ROUNDING = 1e-9  # by which probabilities may leave [0, 1]


@final
@dataclass(frozen=True, slots=True)
class CoverageCurve:
    """Accuracy on the surest rows, for every share of rows at which confidence changes.

    Attributes
    ----------
    coverage : ndarray of shape (n_points,)
        Share of the weight that is labelled, increasing to 1.
    accuracy : ndarray of shape (n_points,)
        Share of that which is right.
    confidence : ndarray of shape (n_points,)
        Least posterior probability among the labelled rows, or least difference of decision values.
    area : float
        Mean accuracy over all coverages.

    See Also
    --------
    accuracy_coverage_curve : Makes one.
    CoverageDisplay : Draws one.
    """

    coverage: FloatArray
    accuracy: FloatArray
    confidence: FloatArray

    def _repr_html_(self) -> str:
        """Show some points as a table, for notebooks."""
        rows = [
            (f"{self.coverage[g]:.1%}", f"{self.accuracy[g]:.1%}", f"{self.confidence[g]:.4g}")
            for g in points_shown(len(self.coverage))
        ]
        heads = ("rows labelled", "accuracy", "least confidence")
        return f"<p>Area under the curve {self.area:.4f}</p>" + table_html(heads, rows)

    @property
    def area(self) -> float:
        """Mean accuracy over all coverages: 1 minus the area under the risk-coverage curve."""
        return float(np.diff(self.coverage, prepend=0.0) @ self.accuracy)

    def coverage_at(self, accuracy: float) -> float:
        """Largest coverage at which the accuracy is at least this; 0 if none is.

        Parameters
        ----------
        accuracy : float
            Wanted, in [0, 1].

        Returns
        -------
        float
            In [0, 1].
        """
        if not 0 <= accuracy <= 1:
            raise ValueError(f"`accuracy` must be in [0, 1]; got {accuracy!r}.")
        reached = self.coverage[self.accuracy >= accuracy]
        return float(reached[-1]) if len(reached) else 0.0

    def accuracy_at(self, coverage: float) -> float:
        """Accuracy when at least this share is labelled, rows of equal confidence together.

        Parameters
        ----------
        coverage : float
            Wanted, in [0, 1].

        Returns
        -------
        float
            In [0, 1].
        """
        if not 0 <= coverage <= 1:
            raise ValueError(f"`coverage` must be in [0, 1]; got {coverage!r}.")
        # A share such as 0.3 need not be met to the last bit.
        position = np.searchsorted(self.coverage, coverage - 1e-12)
        return float(self.accuracy[position])


def accuracy_coverage_curve(
    y_true: ArrayLike,
    proba: ArrayLike,
    *,
    labels: ArrayLike | None = None,
    sample_weight: ArrayLike | None = None,
) -> CoverageCurve:
    """Accuracy of the surest predictions, for every coverage.

    Parameters
    ----------
    y_true : array-like of shape (n_samples,)
        True labels.
    proba : array-like of shape (n_samples, n_classes) or (n_samples,)
        Posterior probabilities, columns in the order of the sorted labels; one dimension: of the
        second of two classes. The first of equal probabilities is the prediction.
    labels : array-like of shape (n_classes,), default=None
        The label of each column (`classes_`); by default the sorted labels in `y_true`.
    sample_weight : array-like of shape (n_samples,), default=None
        Weight of each row.

    Returns
    -------
    curve : CoverageCurve
        Rows of equal confidence enter together.

    Raises
    ------
    ValueError
        If shapes disagree, labels are unknown, or there are no rows.

    Examples
    --------
    >>> from naively import accuracy_coverage_curve
    >>> curve = accuracy_coverage_curve([0, 1, 1, 0], [0.1, 0.9, 0.4, 0.3])
    >>> curve.accuracy.tolist()
    [1.0, 1.0, 0.75]
    >>> curve.coverage_at(0.95)
    0.75
    """
    y_true, proba = np.asarray(y_true), _both_columns(np.asarray(proba, dtype=np.float64))
    if y_true.ndim != 1:
        raise ValueError(f"`y_true` must have one label per row; got shape {y_true.shape}.")
    labels = np.unique(y_true) if labels is None else np.asarray(labels)
    weights = _weights(sample_weight, len(y_true))
    _check_shapes(y_true, proba, labels)
    confidence = proba.max(axis=1)
    right = labels[proba.argmax(axis=1)] == y_true
    return curve_of(confidence, right, weights)


def curve_of(confidence: FloatArray, right: BoolArray, weights: FloatArray) -> CoverageCurve:
    """Accuracy at every confidence of some rows, of which some are right (n,)."""
    order = np.argsort(-confidence, kind="stable")
    order = order[weights[order] > 0]
    ranked = confidence[order]
    last = np.flatnonzero(np.append(ranked[1:] != ranked[:-1], True))
    labelled = np.cumsum(weights[order])
    hits = np.cumsum(weights[order] * right[order])[last]
    return CoverageCurve(labelled[last] / labelled[-1], hits / labelled[last], ranked[last])


def curve_of_decisions(
    y_true: ArrayLike, decision: ArrayLike, classes: Array, sample_weight: ArrayLike | None
) -> CoverageCurve:
    """Accuracy of the surest decisions of a classifier that has no probabilities.

    Parameters
    ----------
    y_true : array-like of shape (n_samples,)
        True labels.
    decision : array-like of shape (n_samples, n_classes) or (n_samples,)
        What `decision_function` gives. Confidence is its largest value above the next.
    classes : ndarray of shape (n_classes,)
        The label of each column.
    sample_weight : array-like of shape (n_samples,) or None
        Weight of each row.
    """
    y_true, values = np.asarray(y_true), np.asarray(decision, dtype=np.float64)
    values = np.column_stack([-values, values]) / 2 if values.ndim == 1 else values
    best = np.sort(values, axis=1)[:, -2:]
    right = classes[values.argmax(axis=1)] == y_true
    return curve_of(best[:, 1] - best[:, 0], right, _weights(sample_weight, len(y_true)))


def margins(scores: FloatArray) -> FloatArray:
    """Log-odds of the answer against all others: orders rows as its probability, unrounded.

    Parameters
    ----------
    scores : ndarray of shape (n, C)
        Log-probability of each class, up to a constant of the row.

    Returns
    -------
    margin : ndarray of shape (n,)
        In nats; infinite where all others are ruled out.
    """
    best = winners(scores)
    rows = np.arange(len(scores))
    top = scores[rows, best]
    others = scores.copy()
    others[rows, best] = -np.inf
    with np.errstate(divide="ignore", invalid="ignore"):
        rest = others.max(axis=1)
        total = np.log(np.exp(others - rest[:, None]).sum(axis=1)) + rest
    return np.where(np.isneginf(rest), np.inf, top - total)


def _both_columns(proba: FloatArray) -> FloatArray:
    return np.column_stack([1 - proba, proba]) if proba.ndim == 1 else proba


def _weights(sample_weight: ArrayLike | None, n_rows: int) -> FloatArray:
    if sample_weight is None:
        return np.ones(n_rows)
    weights = np.asarray(sample_weight, dtype=np.float64)
    valid = weights.shape == (n_rows,) and ((weights >= 0) & (weights < np.inf)).all()
    if not valid or not weights.any():
        raise ValueError(
            f"`sample_weight` must have a finite weight >= 0 for each of the {n_rows} rows, and "
            "one > 0."
        )
    # Neither their sum nor any digit changes shares; the sum of huge ones would overflow.
    return np.asarray(np.ldexp(weights, -np.frexp(weights.max())[1]))


def _check_shapes(y_true: Array, proba: FloatArray, labels: Array) -> None:
    if len(y_true) == 0 or len(proba) != len(y_true):
        raise ValueError(
            "`y_true` and `proba` must have one entry per row, and a row at least; got shapes "
            f"{y_true.shape} and {proba.shape}."
        )
    if proba.ndim != 2 or proba.shape[1] != len(labels):
        raise ValueError(
            f"`proba` must have a column for each of the {len(labels)} labels; got shape "
            f"{proba.shape}. Pass `labels` (the classes_ of the classifier) if some do not occur."
        )
    if np.isnan(proba).any():
        raise ValueError("`proba` contains NaN.")
    if not ((proba >= -_ROUNDING) & (proba <= 1 + _ROUNDING)).all():
        raise ValueError(
            f"`proba` must hold probabilities in [0, 1]; got values from {proba.min():g} to "
            f"{proba.max():g}. Pass the answer of `predict_proba`, not scores."
        )
    if len(np.unique(labels)) < len(labels):
        raise ValueError(f"`labels` must differ from each other; got {labels.tolist()}.")
    strangers = np.setdiff1d(y_true, labels)
    if len(strangers):
        raise ValueError(f"`y_true` has labels that `labels` lacks, such as {strangers[:5]}.")
