"""The error of a classifier, predicted from what it knows about the classes.

After van Dyk and Barnard, "Naive Bayesian classifiers for multinomial features: a theoretical
analysis" (PRASA 2007), called ERR here: the log-odds of two classes is a sum of independent
contributions, so its distribution under each class, and with it the error, follows from the class
probabilities. See :mod:`naively.expected.log_odds` for the law itself.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from functools import partial
from numbers import Integral
from typing import Any, Literal, get_args

import numpy as np

from naively._notebook import table_html
from naively._types import FloatArray, IntArray
from naively.expected import gaussian
from naively.expected.decision_models import (
    Law,
    Likelihood,
    from_fitted,
    from_probabilities,
    log_or_veto,
)
from naively.expected.exact import exact_tail
from naively.expected.lengths import Lengths, as_lengths
from naively.expected.log_odds import DecisionModel, LogOdds, log_odds, moments
from naively.expected.many_classes import normal_scores, product_of_rivals, simulated_rows
from naively.expected.saddlepoint import saddlepoint_tail

Method = Literal["exact", "saddlepoint", "normal", "compensated", "uncorrelated"]
Rivals = Literal["product", "normal", "simulated"]
Ties = Literal["lowest", "split"]

_DRAWN_ROWS = 100_000  # of each class
_TABULATED = 12  # classes in a notebook
MAX_PAIRED_CLASSES = 40  # C^3 comparisons beyond this are too many
_VARIANCES = {
    "normal": gaussian.exact_variance,
    "compensated": gaussian.compensated_variance,
    "uncorrelated": gaussian.uncorrelated_variance,
}


@dataclass(frozen=True, slots=True)
class ErrorEstimate:
    """Predicted error of a classifier, and what it was computed from.

    It is what the model believes about itself: right if the class probabilities are, optimistic
    when they were estimated from few rows or when the features were selected on the same rows.

    Attributes
    ----------
    error : float
        Probability of a wrong decision.
    normalized_error : float
        The same over the sum of the probabilities of all decisions.
    confusion : ndarray of shape (n_classes, n_classes)
        Probability to choose the class of the column in a row of the class of the row.
    pair : ndarray of shape (n_classes, n_classes, n_classes) or None
        At [j, i, k] the probability that i beats k in a row of class j; None if simulated.
    mean, variance : ndarray of shape (n_classes, n_classes, n_classes) or None
        At [j, i, k] of the score of i minus that of k in a row of class j: nats, squared nats.
    method : str
        How the comparisons were computed.
    rivals : str
        How they were put together; "product" is exact for two classes.
    lengths : Lengths
        The document lengths averaged over: `values` (L,) and `weights` (L, n_classes).
    priors : ndarray of shape (n_classes,)
        How often each class occurs.

    See Also
    --------
    expected_error : Makes one.
    """

    error: float
    confusion: FloatArray
    pair: FloatArray | None
    mean: FloatArray | None
    variance: FloatArray | None
    method: str
    rivals: str
    lengths: Lengths
    priors: FloatArray

    @property
    def normalized_error(self) -> float:
        """Error of ERR eq. (34), whose denominator is the sum of all decisions' probabilities.

        The sum is 1 for two classes. For more, the product of rivals leaves out some of the
        probability, and dividing by what is left turns a pessimistic estimate into an optimistic
        one; `error` does not divide.
        """
        joint = self.confusion * self.priors[:, None]
        return float(1 - np.trace(joint) / joint.sum())

    def _repr_html_(self) -> str:
        """Show the error and, of few classes, the probability of each decision, for notebooks."""
        classes = range(len(self.confusion))
        if len(classes) > _TABULATED:
            return f"<p>{self}</p>"
        rows = [(f"class {j}", *(f"{each:.4f}" for each in self.confusion[j])) for j in classes]
        return f"<p>{self}</p>" + table_html(("decided as", *map(str, classes)), rows)

    def __str__(self) -> str:
        return f"Predicted error {self.error:.4g} ({self.method}, {len(self.priors)} classes)."


def expected_error(
    model: Any,
    *,
    length: Any = None,
    priors: Any = None,
    method: Method = "exact",
    rivals: Rivals = "product",
    support: Any = None,
    pooled: bool = False,
    likelihood: Likelihood = "multinomial",
    law: Law = "classes",
    ties: Ties = "lowest",
    n_rows: int | None = None,
    random_state: Any = 0,
) -> ErrorEstimate:
    """Predict the error of a classifier without any data.

    Parameters
    ----------
    model : fitted estimator, or array-like of shape (n_classes, n_features)
        A fitted multinomial or Bernoulli classifier of this package, or the probability of each
        feature in one draw, given the class. Rows sum to at most 1; what is missing goes to one
        rest cell.
    length : number or (values, weights), default=None
        Draws per document: one number, or a distribution with weights of shape (L,) or (L,
        n_classes); "exact" and "simulated" round them to whole numbers. For a fitted multinomial
        model the default is the histogram of the row totals of each class that its statistics keep.
        The Bernoulli model has no length.
    priors : array-like of shape (n_classes,), default=None
        How often each class occurs. With probabilities the default is equal, and the rule knows
        them. A fitted model keeps its own rule; the default is its priors.
    method : {"exact", "saddlepoint", "normal", "compensated", "uncorrelated"}
        How the probability that one class beats another is computed. "exact" computes the whole
        distribution of the log-odds; "saddlepoint" approximates its tails; the others take it as
        normal, with the exact variance or the two variances of the paper.
    rivals : {"product", "normal", "simulated"}
        For more than two classes: comparisons taken as independent (pessimistic), scores drawn
        from their multivariate normal law, or rows drawn from the model. The last two have no use
        for `method` and `ties`.
    support : array-like of int or bool, default=None
        With probabilities: the features used, or a mask of them; all others go to the rest cell.
    pooled : bool, default=False
        With probabilities: whether the rest cell carries weight 0 in the rule, as in the sparse
        models, which compare shares among the selected features only.
    likelihood : {"multinomial", "binomials"}, default="multinomial"
        With probabilities: whether the rule takes the counts of a document as one multinomial
        draw, or as independent binomial numbers (ERR eq. 1 and 2). The documents are multinomial
        in both cases, and there is no rest cell in the second rule.
    law : {"classes", "model"}
        With a fitted multinomial model: whether the share of the selected features in a document
        is that of each class, or the same for all classes as the sparse model has it.
    ties : {"lowest", "split"}
        Who gets a row whose scores tie: the lowest class index, as `predict` does, or each half.
        "saddlepoint" does so with ties that are sure, or at an end of what the log-odds can reach,
        and splits those between. With the right priors the overall error does not depend on it.
    n_rows : int, default=None
        Rows per class that `rivals="normal"` and "simulated" draw; by default 100,000.
    random_state : int or numpy.random.Generator, default=0
        Seed of these draws.

    Returns
    -------
    ErrorEstimate
        The error, the predicted confusion matrix and the intermediate figures.

    Raises
    ------
    ValueError
        If an argument cannot be used.

    Examples
    --------
    >>> from naively import expected_error
    >>> estimate = expected_error([[0.75, 0.25], [0.25, 0.75]], length=3)
    >>> estimate.error
    0.15625
    """
    check_choice("law", law, get_args(Law))
    check_choice("likelihood", likelihood, get_args(Likelihood))
    binomials = likelihood == "binomials"
    if n_rows is not None and rivals == "product":
        raise ValueError("`n_rows` has no effect with `rivals`='product', which draws nothing.")
    if hasattr(model, "statistics_"):
        for name, given in (("likelihood='binomials'", binomials), ("pooled=True", pooled)):
            if given:
                raise ValueError(
                    f"`{name}` goes with probabilities; a fitted model has its own rule."
                )
        decision, lengths, prior = of_fitted(model, length, priors, law, support)
    else:
        if law != "classes":
            raise ValueError(
                f"`law`={law!r} goes with a fitted model; probabilities are those of the classes."
            )
        if binomials and method in {"compensated", "uncorrelated"}:
            raise ValueError(
                f"`method`={method!r} is a variance of the multinomial likelihood; with "
                "`likelihood`='binomials' use 'normal', whose variance is exact."
            )
        if binomials and pooled:
            raise ValueError(
                "`pooled`=True has no part in `likelihood`='binomials', whose rule has no rest "
                "cell; leave it out."
            )
        asked = {"pooled": pooled, "binomials": binomials}
        decision, lengths, prior = _of_probabilities(model, length, priors, support, **asked)
    refuse_unused(len(prior), rivals, method=method, ties=ties)
    return estimate(
        decision,
        lengths,
        prior,
        method=method,
        rivals=rivals,
        ties=ties,
        n_rows=_DRAWN_ROWS if n_rows is None else n_rows,
        random_state=random_state,
    )


def refuse_unused(
    n_classes: int, rivals: Rivals, *, method: Method = "exact", ties: Ties = "lowest"
) -> None:
    """Refuse how two classes are compared where scores of all are drawn.

    Raises
    ------
    ValueError
        If one is given.
    """
    if rivals == "product" or n_classes <= 2:
        return
    for name, value, default in (("method", method, "exact"), ("ties", ties, "lowest")):
        if value != default:
            raise ValueError(
                f"`{name}`={value!r} has no effect with `rivals`={rivals!r} and {n_classes} "
                "classes; leave it out, or give `rivals`='product'."
            )


def _of_probabilities(
    probabilities: Any, length: Any, priors: Any, support: Any, **rule: bool
) -> tuple[DecisionModel, Lengths, FloatArray]:
    P = _check_probabilities(probabilities)
    prior = check_priors(priors, len(P))
    if length is None:
        raise ValueError("`length` must be given with probabilities: draws per document.")
    support = _check_support(support, P.shape[1])
    decision = from_probabilities(P, log_or_veto(prior), support=support, **rule)
    return decision, as_lengths(length, len(P)), prior


def of_fitted(
    model: Any, length: Any, priors: Any, law: Law, support: Any
) -> tuple[DecisionModel, Lengths, FloatArray]:
    """Law, lengths and priors of a fitted estimator."""
    if support is not None:
        raise ValueError("`support` goes with probabilities; a fitted model has its own.")
    statistics, selected = model.statistics_, model.selection_.support
    decision = from_fitted(model.model_.family, statistics, selected, model.rule_, law)
    if not decision.repeats and (length is not None or law != "classes"):
        raise ValueError(
            "`length` and `law` have no effect on a model of presence, whose rows are whole; leave "
            "them out."
        )
    own = np.exp(decision.log_prior)
    prior = own / own.sum() if priors is None else check_priors(priors, len(own))
    return decision, lengths_of(statistics, length), prior


def lengths_of(statistics: Any, length: Any = None) -> Lengths:
    """Lengths given, or else those of the rows behind the statistics."""
    if length is None:
        length = (statistics.length_values, statistics.length_weight)
        if not np.allclose(statistics.length_weight.sum(axis=0), statistics.class_weight):
            if not statistics.presence:  # else they have no part in it
                raise ValueError(
                    "`length` must be given: rows behind these statistics were counted elsewhere, "
                    "without their totals."
                )
            length = 1
    return as_lengths(length, len(statistics.classes))


def estimate(
    model: DecisionModel,
    lengths: Lengths,
    priors: FloatArray,
    *,
    method: Method = "exact",
    rivals: Rivals = "product",
    ties: Ties = "lowest",
    n_rows: int = _DRAWN_ROWS,
    random_state: Any = 0,
) -> ErrorEstimate:
    """Error of a :class:`DecisionModel`; see :func:`expected_error`."""
    check_choice("method", method, get_args(Method))
    check_choice("rivals", rivals, get_args(Rivals))
    check_choice("ties", ties, get_args(Ties))
    if not isinstance(n_rows, Integral) or n_rows < 1:
        raise ValueError(f"`n_rows` must be an int >= 1; got {n_rows!r}.")
    if not model.repeats:
        lengths = as_lengths(1, model.n_classes)
        if method in {"compensated", "uncorrelated"}:
            raise ValueError(
                f"`method={method!r}` is about words drawn for a document; columns that are "
                "present or absent are uncorrelated: use 'normal'."
            )
    pair = None
    if rivals == "product" or model.n_classes <= 2:
        pair = pair_probabilities(model, lengths, method=method, ties=ties)
        confusion = product_of_rivals(pair)
    else:
        draw = normal_scores if rivals == "normal" else simulated_rows
        confusion = draw(model, lengths, n_rows, np.random.default_rng(random_state))
    mean, variance = _total_moments(model, lengths)
    return ErrorEstimate(
        error=_error(confusion, priors),
        confusion=confusion,
        pair=pair,
        mean=mean,
        variance=variance,
        method=method if pair is not None else rivals,
        rivals=rivals,
        lengths=lengths,
        priors=priors,
    )


def pair_probabilities(
    model: DecisionModel, lengths: Lengths, *, method: Method, ties: Ties = "lowest"
) -> FloatArray:
    """Probability (C, C, C), [j, i, k], that class i beats class k in a row of class j."""
    C = model.n_classes
    if C > MAX_PAIRED_CLASSES:
        raise ValueError(
            f"`rivals='product'` compares all pairs in all classes, at most "
            f"{MAX_PAIRED_CLASSES} classes; got {C}. Use rivals='simulated' or 'normal'."
        )
    pair = np.ones((C, C, C))
    for j in range(C):
        for i in range(C):
            for k in range(i + 1, C):
                law = log_odds(model, i, k, j)
                share = 1.0 if ties == "lowest" else 0.5
                pair[j, i, k] = preference(
                    law, lengths.values, lengths.weights[:, j], method, share
                )
                pair[j, k, i] = 1 - pair[j, i, k]
    return pair


def preference(
    law: LogOdds, lengths: FloatArray, weights: FloatArray, method: Method, tie_share: float = 1.0
) -> float:
    """Probability that the first class of a pair is preferred, ties counted with `tie_share`."""
    if math.isinf(law.threshold):
        # A class that never occurs loses, and a rival that is vetoed has its prior left.
        return float(law.threshold < 0)
    free, spared, rival = (p**lengths for p in (law.free, law.spared, law.rival_spared))
    decided = weights @ (spared - free)
    share = {1: 1.0, 0: tie_share, -1: 0.0}[law.prior_lead]
    decided += share * (weights @ (1 - spared - rival + free))
    above, tie = _tail(method)(law, lengths=lengths, weights=weights * free)
    return float(min(max(decided + above + tie_share * tie, 0.0), 1.0))


def _error(confusion: FloatArray, priors: FloatArray) -> float:
    """Probability of a wrong decision; small ones are summed, never taken from 1."""
    if len(priors) > 2:
        return float(1 - priors @ np.diag(confusion))
    return float(priors @ (confusion.sum(axis=1) - np.diag(confusion)))


def _tail(method: Method) -> Any:
    if method == "exact":
        return exact_tail
    if method == "saddlepoint":
        return saddlepoint_tail
    return partial(_normal_tail, _VARIANCES[method])


def _normal_tail(
    variance: Any, law: LogOdds, lengths: FloatArray, weights: FloatArray
) -> tuple[float, float]:
    return gaussian.normal_tail(law, variance(law), lengths, weights)


def _total_moments(
    model: DecisionModel, lengths: Lengths
) -> tuple[FloatArray, FloatArray] | tuple[None, None]:
    """Mean and variance (C, C, C) over the lengths of each true class."""
    if model.n_classes > MAX_PAIRED_CLASSES:
        return None, None
    per_draw = [moments(model, j) for j in range(model.n_classes)]
    mean, variance = (np.stack(part) for part in zip(*per_draw, strict=True))
    n, spread = lengths.mean[:, None, None], lengths.variance[:, None, None]
    return n * mean, n * variance + spread * mean**2


def check_priors(priors: Any, n_classes: int) -> FloatArray:
    """Class priors (C,), checked; equal if None."""
    if priors is None:
        return np.full(n_classes, 1 / n_classes)
    try:
        prior = np.asarray(priors, dtype=np.float64)
    except (TypeError, ValueError):
        prior = np.empty(0)  # no numbers: refused below
    if prior.shape != (n_classes,) or not (prior >= 0).all() or abs(prior.sum() - 1) > 1e-8:
        raise ValueError(
            f"`priors` must be {n_classes} numbers >= 0 that sum to 1, one per class; got "
            f"{priors!r}."
        )
    return prior


def _check_probabilities(value: Any) -> FloatArray:
    if hasattr(value, "get_params"):
        raise ValueError(
            f"`model` must be a fitted classifier of this package, or class probabilities; got "
            f"{value!r}, which has no statistics of the classes. Call `fit` first."
        )
    P = np.asarray(value, dtype=np.float64)
    if P.ndim != 2 or not len(P):
        raise ValueError(
            f"`model` must be class probabilities of shape (n_classes, n_features); got shape "
            f"{P.shape}."
        )
    if not (P >= 0).all() or (P.sum(axis=1) > 1 + 1e-8).any():
        raise ValueError("Class probabilities must be >= 0, and rows must sum to at most 1.")
    return P


def _check_support(support: Any, n_features: int) -> IntArray | None:
    """Return the indices of the features used, from indices or a mask."""
    if support is None:
        return None
    used = np.asarray(support)
    if used.dtype == np.bool_ and used.shape == (n_features,):
        return np.flatnonzero(used)
    used = used.astype(np.int64) if used.size == 0 else used
    whole = used.ndim == 1 and used.dtype.kind in "iu"
    if not whole or len(np.unique(used)) < len(used) or ((used < 0) | (used >= n_features)).any():
        raise ValueError(
            f"`support` must be different column indices in [0, {n_features}), or a mask of "
            f"{n_features} bools; got {support!r}."
        )
    return np.asarray(used, dtype=np.int64)


def check_choice(name: str, value: Any, allowed: tuple[Any, ...]) -> None:
    """Refuse a value that is none of those allowed."""
    if value not in allowed:
        raise ValueError(f"`{name}` must be one of {', '.join(allowed)}; got {value!r}.")
