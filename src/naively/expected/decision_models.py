"""Class probabilities, or a fitted model, as laws of the data and the rule that judges them."""

from __future__ import annotations

from typing import Any, Literal

import numpy as np

from naively._types import FloatArray, IntArray
from naively.expected.log_odds import DecisionModel
from naively.models.family import Coupled, Family, objective_of
from naively.models.rules import LinearRule

Law = Literal["model", "classes"]
Likelihood = Literal["multinomial", "binomials"]


def log_or_veto(p: Any) -> FloatArray:
    """Logarithm with -inf for zero, without a warning."""
    with np.errstate(divide="ignore"):
        return np.log(np.asarray(p, dtype=np.float64))


def from_probabilities(
    probability: FloatArray,
    log_prior: FloatArray,
    *,
    support: Any = None,
    pooled: bool = False,
    binomials: bool = False,
) -> DecisionModel:
    """Documents whose words are drawn with the given class probabilities.

    Parameters
    ----------
    probability : ndarray of shape (C, D)
        Rows sum to at most 1; what is missing, and every feature outside of `support`, goes to
        one rest cell (ERR eq. 22).
    log_prior : ndarray of shape (C,)
        Used by the rule.
    support : array of int, default=None
        Features that the rule sees one by one; None for all.
    pooled : bool, default=False
        Whether the rule ignores the rest cell, as the sparse models do: only the shares of the
        features among the selected ones count then.
    binomials : bool, default=False
        Whether the rule takes the counts as independent binomial numbers (ERR eq. 2), instead of
        one multinomial draw.

    Returns
    -------
    DecisionModel
        One block of D + 1 outcomes, or D when nothing is left over.
    """
    kept = probability if support is None else probability[:, np.asarray(support, dtype=np.int64)]
    total = kept.sum(axis=1)
    rest = np.where(total < 1 - 1e-12, 1 - total, 0.0)
    weight = log_or_veto(kept)
    if binomials:
        weight, rest_weight = _binomial_weights(kept)
    elif pooled:
        scale = np.where(total > 0, total, 1.0)
        weight, rest_weight = weight - np.log(scale)[:, None], np.zeros(len(kept))
    else:
        rest_weight = log_or_veto(rest)
    return draws(kept, rest, weight, rest_weight, bias=log_prior, log_prior=log_prior)


def _binomial_weights(kept: FloatArray) -> tuple[FloatArray, FloatArray]:
    """Nats of one draw of each feature (C, D), and of none of them (C,).

    ERR eq. (2), sum_d x_d log p_d + (N - x_d) log(1 - p_d), is a sum over the N draws: one of
    feature d adds log p_d and the log(1 - p_e) of all others. Its (10) to (33) hold as they stand.
    """
    absent = log_or_veto(np.maximum(1 - kept, 0.0))
    sure = np.isneginf(absent)  # a feature of probability 1 is never absent
    absent = np.where(sure, 0.0, absent)
    total, n_sure = absent.sum(axis=1, keepdims=True), sure.sum(axis=1, keepdims=True)
    others = np.where(n_sure > sure, -np.inf, total - absent)
    return log_or_veto(kept) + others, np.where(n_sure > 0, -np.inf, total)[:, 0]


def draws(
    kept: FloatArray,
    rest: FloatArray,
    weight: FloatArray,
    rest_weight: FloatArray,
    *,
    bias: FloatArray,
    log_prior: FloatArray,
) -> DecisionModel:
    """One block of outcomes: the kept features (C, D), and the rest (C,) if there is any."""
    has_rest = bool((rest > 0).any())
    if has_rest:
        kept = np.column_stack([kept, rest])
        weight = np.column_stack([weight, rest_weight])
    return DecisionModel(
        probability=(kept / kept.sum(axis=1, keepdims=True))[:, None, :],
        weight=weight[:, None, :],
        bias=bias,
        log_prior=log_prior,
        repeats=True,
        has_rest=has_rest,
    )


def switches(
    presence: FloatArray,
    weight: FloatArray,
    veto: FloatArray | None,
    *,
    bias: FloatArray,
    log_prior: FloatArray,
) -> DecisionModel:
    """One block for each binary column: absent or present.

    Parameters
    ----------
    presence : ndarray of shape (C, D)
        Probability that the column is present.
    weight : ndarray of shape (C, D)
        What presence adds to the score of a class, in nats; `bias` (C,) holds the rest.
    veto : ndarray of shape (C, D) or None
        Positive where presence, negative where absence rules the class out.
    bias, log_prior : ndarray of shape (C,)
        As in :class:`DecisionModel`.
    """
    outcome = np.stack([np.zeros_like(weight), weight], axis=2)
    if veto is not None:
        outcome[veto < 0, 0] = -np.inf
        outcome[veto > 0, 1] = -np.inf
    return DecisionModel(
        probability=np.stack([1 - presence, presence], axis=2),
        weight=outcome,
        bias=bias,
        log_prior=log_prior,
        repeats=False,
    )


def from_fitted(
    family: Family[Any], statistics: Any, support: IntArray, rule: Any, law: Law
) -> DecisionModel:
    """Count and presence models: their rule, and rows drawn from what they know of the classes.

    Parameters
    ----------
    family, statistics, support, rule
        The fitted model.
    law : {"model", "classes"}
        For documents: whether the share of the selected features in a document is the same in
        all classes, as the sparse model has it, or each class's own.
    """
    if isinstance(rule, LinearRule) and rule.offset is not None:
        raise ValueError(
            "The error cannot be predicted where values may be missing (`missing`='ignore'): the "
            "law is that of whole rows. Use cross-validation."
        )
    if isinstance(rule, LinearRule):
        problem = objective_of(family.problem(statistics))
        if isinstance(problem, Coupled):
            return _documents(problem, support, rule, law)
        if getattr(statistics, "presence", False):
            return _presence(rule)
    raise ValueError(
        f"The error of the {family.name} model cannot be predicted from its statistics; use "
        "cross-validation. Multinomial and Bernoulli models can."
    )


def _documents(counts: Coupled, support: IntArray, rule: LinearRule, law: Law) -> DecisionModel:
    alpha = np.asarray(counts.alpha)
    inside = counts.table[support] + (alpha[support, None] if alpha.ndim else alpha)
    every = counts.table.sum(axis=0) + (alpha.sum() if alpha.ndim else alpha * len(counts.table))
    held = inside.sum(axis=0)
    scale = every
    if law == "model":
        # All classes give the selected features the same share of a document.
        scale = held * (every.sum() / held.sum()) if held.sum() > 0 else held
    kept = inside / np.where(scale > 0, scale, 1.0)
    rest = 1 - kept.sum(axis=0)
    weight = rule.weights if rule.veto is None else np.where(rule.veto > 0, -np.inf, rule.weights)
    return draws(
        kept.T,
        np.where(rest > 1e-12, rest, 0.0),
        weight,
        np.zeros(len(weight)),
        bias=rule.intercept,
        log_prior=rule.log_prior,
    )


def _presence(rule: LinearRule) -> DecisionModel:
    """Law and rule are one: the weights are the log-odds of presence."""
    from scipy.special import expit  # 0.1 s to import

    presence = expit(rule.weights)
    if rule.veto is not None:
        presence = np.where(rule.veto > 0, 0.0, np.where(rule.veto < 0, 1.0, presence))
    return switches(
        presence, rule.weights, rule.veto, bias=rule.intercept, log_prior=rule.log_prior
    )
