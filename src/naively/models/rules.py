"""Decision rules on the selected features.

A rule scores each class up to a term common to all classes of a row; the largest score wins, and
the softmax of the scores is the class posterior. Rules see the selected columns only.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, fields
from itertools import pairwise
from typing import Any, Protocol, Self

import numpy as np

from naively._types import Array, BoolArray, FloatArray, IntArray
from naively.statistics.matrix import Matrix
from naively.statistics.missing import filled, missing_mask


class Rule(Protocol):
    """Scores classes from the selected columns of a matrix."""

    def scores(self, X: Matrix) -> FloatArray:
        """Score of each class: (n, C) from X (n, k), dense or CSR, up to a term per row."""
        ...

    def terms(self, x: FloatArray) -> tuple[FloatArray, FloatArray]:
        """Start (C,) and terms (C, k) of one row x (k,), which add up to its scores.

        A class that an entry rules out (smoothing 0) has a term of -inf. Where every class is ruled
        out, the scores are those of the prior all the same.
        """
        ...

    def arrays(self) -> dict[str, Array]:
        """Arrays from which :func:`restored` makes the rule again."""
        ...


def present(rule: Any) -> dict[str, Array]:
    """Fields of a rule that hold something, by name."""
    values = {field.name: getattr(rule, field.name) for field in fields(rule)}
    return {name: value for name, value in values.items() if value is not None}


ROUNDING = 1e-12  # difference from the largest score, relative to it, that decides nothing


def winners(scores: FloatArray) -> IntArray:
    """Position of the largest score of each row: (n,) from (n, C).

    Scores that are equal but for rounding are equal, and the first of them wins: an answer does
    not depend on the order in which a library adds up. Classes far behind have no part in it.
    """
    largest = scores.max(axis=1, keepdims=True)
    slack = ROUNDING * np.abs(np.where(np.isfinite(largest), largest, 0.0))
    return np.asarray(np.argmax(scores >= largest - slack, axis=1))


def finite(scores: FloatArray, intercept: FloatArray) -> FloatArray:
    """Return the scores (n, C) as they are, or raise ValueError where values have outgrown them.

    Classes that are not possible (-inf in the intercept) have no scores.
    """
    if not np.isfinite(scores).all() and not np.isfinite(scores[:, np.isfinite(intercept)]).all():
        raise ValueError(
            "The scores are not finite: values of X are too large for double precision. Rescale "
            "the rows, those of training alike."
        )
    return scores


@dataclass(frozen=True, slots=True)
class LinearRule:
    """scores = intercept + X @ weights.T, with events of probability zero kept apart.

    A class that gives an observed event the probability zero (smoothing 0) is vetoed: its score
    is -inf. Zero probabilities cannot stand in `weights`, where 0 * -inf would be NaN. When a row
    vetoes every class, the data decide nothing and the row gets the class prior.
    """

    intercept: FloatArray  # (C,) log prior plus the constant of the support
    weights: FloatArray  # (C, k) finite
    log_prior: FloatArray  # (C,)
    veto_offset: FloatArray | None = None  # (C,) events of probability 0 in a row of zeros
    veto: FloatArray | None = None  # (C, k) change of that number when the entry is non-zero
    # (C, k) what each feature has in the intercept, if entries may be missing (NaN)
    offset: FloatArray | None = None

    def joint(self, X: Matrix) -> FloatArray:
        """Intercept plus weights, -inf where vetoed: (n, C) from X (n, k), dense or CSR."""
        mask = None if self.offset is None else missing_mask(X)
        X = filled(X, mask)
        with np.errstate(over="ignore", invalid="ignore"):
            joint = np.asarray(X @ self.weights.T, dtype=np.float64) + self.intercept
            joint = without_missing(joint, mask, self.offset)
        if mask is not None and self.offset is not None:
            unseen = np.asarray(mask.sum(axis=1)).ravel() == mask.shape[1]
            joint[unseen] = _nothing_seen(self.intercept, self.offset)
        finite(joint, self.intercept)
        if self.veto is None:
            return joint
        vetoes = self.veto_offset + np.asarray((X != 0).astype(np.float64) @ self.veto.T)
        vetoes = without_missing(vetoes, mask, (self.veto < 0).astype(np.float64))
        return np.where(vetoes > 0, -np.inf, joint)

    def scores(self, X: Matrix) -> FloatArray:
        """Score of each class: (n, C) from X (n, k), dense or CSR, up to a term per row."""
        scores = self.joint(X)
        undecided = np.all(np.isneginf(scores), axis=1)
        scores[undecided] = self.log_prior
        return scores

    def terms(self, x: FloatArray) -> tuple[FloatArray, FloatArray]:
        """See `Rule`."""
        terms = self.weights * x
        if self.veto is not None:  # present where that is impossible, or absent
            impossible = ((self.veto > 0) & (x != 0)) | ((self.veto < 0) & (x == 0))
            terms = np.where(impossible, -np.inf, terms)
        return with_offset(self.intercept, terms, x, self.offset)

    def arrays(self) -> dict[str, Array]:
        """See `Rule`."""
        return present(self)


def without_missing(
    scores: FloatArray, mask: Matrix | None, offset: FloatArray | None
) -> FloatArray:
    """Take from the scores (n, C) what missing entries (n, k) have in their intercept (C, k)."""
    if mask is None or offset is None:
        return scores
    return np.asarray(scores - mask.astype(np.float64) @ offset.T)


def _nothing_seen(intercept: FloatArray, offset: FloatArray) -> FloatArray:
    """Scores (C,) of a row of missing entries alone; 0 where only rounding is left."""
    scores = intercept - offset.sum(axis=1)
    return np.where(np.abs(scores) <= ROUNDING * np.abs(offset).sum(axis=1), 0.0, scores)


def with_offset(
    intercept: FloatArray, terms: FloatArray, x: FloatArray, offset: FloatArray | None
) -> tuple[FloatArray, FloatArray]:
    """Give each feature of x (k,) its part of the intercept (C,); a missing one says nothing."""
    if offset is None:
        return intercept, terms
    return intercept - offset.sum(axis=1), np.where(np.isnan(x), 0.0, terms + offset)


def joint_rule(
    log_prior: FloatArray, log_present: FloatArray, log_absent: FloatArray | None = None
) -> LinearRule:
    """Rule over all features whose `joint` is the log-likelihood of a row and its class.

    Parameters
    ----------
    log_prior : (C,)
    log_present : (C, m)
        Log-probability that each unit of an entry adds; -inf vetoes.
    log_absent : (C, m), optional
        Log-probability that an entry of zero adds.
    """
    never = np.isneginf(log_present)
    if log_absent is None:
        log_absent = np.zeros((len(log_prior), 1))
    always = np.isneginf(log_absent)
    absent = np.where(always, 0.0, log_absent)
    return LinearRule(
        intercept=log_prior + absent.sum(axis=1),
        weights=np.where(never, 0.0, log_present) - absent,
        log_prior=log_prior,
        veto_offset=always.sum(axis=1, dtype=np.float64),
        veto=never.astype(np.float64) - always,
    )


def event_log(weight: FloatArray, total: FloatArray) -> tuple[FloatArray, BoolArray]:
    """Log-probability weight / total of events (C, k), with the zeros kept apart.

    Returns
    -------
    log : (C, k) finite, 0 where the probability is 0
    vetoes : (C, k) the events of probability 0. An event to which every class gives probability 0
        was never seen in training: it tells nothing about the class, and vetoes nothing.
    """
    possible = weight > 0
    log = np.log(weight, out=np.zeros_like(weight), where=possible)
    # As scikit-learn: a difference of logarithms, not the logarithm of a ratio.
    np.subtract(log, np.log(total), out=log, where=possible)
    return log, ~possible & possible.any(axis=0)


@dataclass(frozen=True, slots=True)
class HybridRule:
    """scores = intercept + sum over regions of theta times the evidence of the region.

    Evidence is the mean (or the sum) of the log probabilities of a region's words, and 0 for a
    region without words. X holds the regions side by side.
    """

    intercept: FloatArray  # (C,) -inf for a class without rows
    theta: FloatArray  # (R,)
    weights: FloatArray  # (C, V) log P(word | class)
    starts: IntArray  # (R + 1,) first column of each region, and the number of columns
    offsets: IntArray  # (R,) column minus word
    normalize: bool = True  # mean instead of sum

    def scores(self, X: Matrix) -> FloatArray:
        """Score of each class: (n, C) from X (n, starts[R]), dense or CSR."""
        with np.errstate(over="ignore", invalid="ignore"):
            scores = np.asarray(np.matmul(self.theta, self.evidence(X)) + self.intercept)
        return finite(scores, self.intercept)

    def terms(self, x: FloatArray) -> tuple[FloatArray, FloatArray]:
        """See `Rule`: theta times the weight of a word, over the words of its region."""
        parts = []
        for r, offset in enumerate(self.offsets):
            begin, end = self.starts[r], self.starts[r + 1]
            block = x[begin:end]
            size = block.sum() if self.normalize and block.sum() > 0 else 1.0
            words = self.weights[:, begin - offset : end - offset]
            parts.append(self.theta[r] * words * block / size)
        return self.intercept, np.concatenate(parts, axis=1)

    def arrays(self) -> dict[str, Array]:
        """See `Rule`; how regions lie is left out where they are means over the same words."""
        arrays = {"intercept": self.intercept, "weights": self.weights, "theta": self.theta}
        usual = hybrid_rule(**arrays)
        layout = {"starts": self.starts, "offsets": self.offsets}
        same = all(np.array_equal(getattr(usual, name), layout[name]) for name in layout)
        if same and self.normalize:
            return arrays
        return {**arrays, **layout, "normalize": np.array(self.normalize)}

    @classmethod
    def restored(cls, arrays: Mapping[str, Array]) -> Self:
        """Rule from its arrays."""
        rule = hybrid_rule(**{name: arrays[name] for name in ("intercept", "theta", "weights")})
        normalize = bool(arrays.get("normalize", True))
        starts, offsets = (arrays.get(name, getattr(rule, name)) for name in ("starts", "offsets"))
        return cls(rule.intercept, rule.theta, rule.weights, starts, offsets, normalize)

    def evidence(self, X: Matrix) -> FloatArray:
        """Evidence of each region for each class, (n, R, C), in nats."""
        evidence = np.empty((X.shape[0], len(self.theta), len(self.intercept)))
        for r, offset in enumerate(self.offsets):
            begin, end = self.starts[r], self.starts[r + 1]
            # One region is the whole matrix, and a slice of it would be a copy.
            block = X if len(self.theta) == 1 else X[:, begin:end]
            sums = np.asarray(block @ self.weights[:, begin - offset : end - offset].T)
            size = np.asarray(block.sum(axis=1), dtype=np.float64).reshape(-1, 1)
            evidence[:, r] = sums / np.where(size > 0, size, 1.0) if self.normalize else sums
        return evidence


def hybrid_rule(intercept: FloatArray, theta: FloatArray, weights: FloatArray) -> HybridRule:
    """Rule for R regions of the same k words: intercept (C,), theta (R,), weights (C, k)."""
    starts = np.arange(len(theta) + 1, dtype=np.int64) * weights.shape[1]
    return HybridRule(intercept, theta, weights, starts, starts[:-1])


def weights_of_classes(rule: Rule) -> FloatArray:
    """Weights (k, C) in nats, infinite where a class is vetoed.

    Of two classes each against the other, of more against their mean.
    """
    arrays = rule.arrays()
    if "log_prob" in arrays:  # of categories: that which says most for a class
        table, bounds = arrays["log_prob"], pairwise(arrays["starts"].tolist())
        compared = against_each_other(table)
        most = [compared[start:stop].max(axis=0) for start, stop in bounds]
        return np.array(most).reshape(-1, table.shape[1])
    weights, veto = arrays["weights"], arrays.get("veto")
    if veto is None:
        return against_each_other(weights.T)
    return against_each_other(
        np.asarray(weights + np.select([veto > 0, veto < 0], [-np.inf, np.inf], 0.0)).T
    )


def against_each_other(weights: FloatArray) -> FloatArray:
    """Weights (k, C) of two classes each against the other, of more against their finite mean."""
    if weights.shape[1] != 2:
        return relative_log(weights)
    with np.errstate(invalid="ignore"):
        apart = weights[:, 1] - weights[:, 0]
    apart = np.where(np.isnan(apart), 0.0, apart)  # both are vetoed
    return np.column_stack([-apart, apart])


def relative_log(log_prob: FloatArray) -> FloatArray:
    """Log-probabilities (n, C) relative to the mean of those that are finite."""
    finite = np.isfinite(log_prob)
    total = np.where(finite, log_prob, 0.0).sum(axis=1, keepdims=True)
    return np.asarray(log_prob - total / np.maximum(finite.sum(axis=1, keepdims=True), 1))
