"""How far a predicted error is to be trusted: the training repeated on counts drawn anew.

The paper takes the class probabilities as known (its last section leaves their estimation to later
work). Here they are estimated, and the features selected, on other counts that the fitted
probabilities could have given (Efron and Tibshirani 1993, section 17.6): each time the model that
is trained on these predicts one error, and makes another one on rows of the fitted probabilities.
The difference is the optimism of such predictions.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from numbers import Integral, Real
from typing import Any

import numpy as np

from naively._types import FloatArray
from naively.expected.decision_models import from_fitted
from naively.expected.estimates import Method, Rivals, estimate, of_fitted, refuse_unused
from naively.expected.path import SIMULATED_ROWS
from naively.models.model import Model
from naively.selection.train import train
from naively.statistics.counts import ClassCounts


@dataclass(frozen=True, slots=True)
class BootstrapError:
    """A predicted error, and what the same prediction misses on counts drawn anew.

    Attributes
    ----------
    error : float
        Predicted error of the model, as :func:`expected_error` gives it.
    believed : ndarray of shape (n_resamples,)
        The same of each model trained on counts drawn anew.
    made : ndarray of shape (n_resamples,)
        Error of that model on rows of the probabilities that the counts were drawn from.
    corrected : float
        The predicted error with the mean optimism added.

    See Also
    --------
    bootstrap_error : Makes one.
    """

    error: float
    believed: FloatArray
    made: FloatArray

    @property
    def corrected(self) -> float:
        """The predicted error with the mean optimism added."""
        return float(np.clip(self.error + np.mean(self.made - self.believed), 0.0, 1.0))

    def interval(self, level: float = 0.95) -> tuple[float, float]:
        """Range of the error of the model on new rows.

        Parameters
        ----------
        level : float, default=0.95
            Share of the resamples within.

        Returns
        -------
        low, high : float
            The predicted error with quantiles of the optimism added.

        Raises
        ------
        ValueError
            If the level is not in (0, 1).
        """
        if not (isinstance(level, Real) and 0 < level < 1):
            raise ValueError(f"`level` must be a number in (0, 1); got {level!r}.")
        ends = np.quantile(self.made - self.believed, [(1 - level) / 2, (1 + level) / 2])
        low, high = np.clip(self.error + ends, 0.0, 1.0)
        return float(low), float(high)

    def __str__(self) -> str:
        low, high = self.interval()
        return (
            f"Predicted error {self.error:.4g}, corrected {self.corrected:.4g} "
            f"({low:.4g} to {high:.4g}, {len(self.made)} resamples)."
        )


def bootstrap_error(
    model: Any,
    *,
    n_resamples: int = 50,
    length: Any = None,
    method: Method = "exact",
    rivals: Rivals | None = None,
    random_state: int = 0,
) -> BootstrapError:
    """Correct a predicted error for what training on few rows adds to it.

    The counts of each class are drawn anew from the fitted probabilities, as many as there were;
    the same number of features is selected and the rule learned from them. That they are drawn
    independently is the model's own assumption: words that come in bursts tell the probabilities
    worse than these draws do.

    Parameters
    ----------
    model : fitted estimator
        A multinomial or Bernoulli classifier of this package with smoothing.
    n_resamples : int, default=50
        How often.
    length : number or (values, weights), default=None
        Draws per document, as in :func:`expected_error`.
    method : {"exact", "saddlepoint", "normal", "compensated", "uncorrelated"}
        How errors are predicted, as in :func:`expected_error`.
    rivals : {"product", "normal", "simulated"}, default=None
        As in :func:`expected_error`; by default more than two classes are simulated, with 20,000
        rows in all.
    random_state : int, default=0
        Seed of all draws.

    Returns
    -------
    BootstrapError
        The predicted error, the errors of the resamples, a corrected error and an interval.

    Raises
    ------
    ValueError
        If the model or an argument cannot be used.

    References
    ----------
    Efron, Tibshirani, "An introduction to the bootstrap", Chapman and Hall 1993, section 17.6.

    Examples
    --------
    >>> import numpy as np
    >>> from naively import SparseMultinomialNB, bootstrap_error
    >>> rng = np.random.default_rng(0)
    >>> X, y = rng.poisson(0.5, (60, 300)), np.repeat([0, 1], 30)  # nothing to be learned
    >>> found = bootstrap_error(SparseMultinomialNB(k=20).fit(X, y))
    >>> bool(found.error < 0.15), bool(found.corrected > 2 * found.error)
    (True, True)
    """
    if isinstance(n_resamples, bool) or not isinstance(n_resamples, Integral) or n_resamples < 1:
        raise ValueError(f"`n_resamples` must be an int >= 1; got {n_resamples!r}.")
    if not hasattr(model, "statistics_"):
        raise ValueError(
            f"`model` must be a fitted classifier of this package; got {model!r}. Call `fit` first."
        )
    trained, statistics, k = model.model_, model.statistics_, len(model.selection_.support)
    law, lengths, priors = of_fitted(model, length, None, "classes", None)
    _check_trainable(trained, model)
    rng = np.random.default_rng(random_state)
    if rivals is None:
        rivals = "simulated" if len(priors) > 2 else "product"
    refuse_unused(len(priors), rivals, method=method)
    asked: dict[str, Any] = {
        "method": method,
        "rivals": rivals,
        "n_rows": -(-SIMULATED_ROWS // len(priors)),
        "random_state": random_state,
    }
    error = estimate(law, lengths, priors, **asked).error
    log_prior = trained.log_prior(statistics)
    believed, made = np.empty(n_resamples), np.empty(n_resamples)
    for b in range(n_resamples):
        drawn = _drawn(statistics, trained.alpha, rng)
        again = train(trained, drawn, k)
        support = again.selection.support
        own = from_fitted(trained.family, drawn, support, again.rule, "classes")
        rule = trained.family.rule(statistics, support, log_prior)
        true = from_fitted(trained.family, statistics, support, rule, "classes")
        on_true = replace(own, probability=true.probability)
        asked["random_state"] = int(rng.integers(2**31))
        believed[b], made[b] = (
            estimate(each, lengths, priors, **asked).error for each in (own, on_true)
        )
    return BootstrapError(error, believed, made)


def _check_trainable(trained: Model[Any], model: Any) -> None:
    if trained.needs_rows:
        raise ValueError(
            "The counts of a model can be drawn anew, but not the rows that `redundancy`, `refit` "
            "and `calibration` look at; leave them out, or use cross-validation."
        )
    if trained.alpha is None or not np.min(trained.alpha) > 0:
        raise ValueError(
            f"`alpha` of the model must be > 0, so that a word that was not drawn is still "
            f"possible; got {model.alpha!r}."
        )


def _drawn(statistics: ClassCounts, alpha: Any, rng: np.random.Generator) -> ClassCounts:
    """Draw counts by the smoothed probabilities: as many occurrences, or rows, as there were."""
    smooth = np.asarray(alpha, dtype=np.float64)
    table = np.asarray(statistics.table, dtype=np.float64)
    inside = table + (smooth[:, None] if smooth.ndim else smooth)
    drawn = np.empty(table.shape, dtype=np.int64)
    for c, weight in enumerate(statistics.class_weight):
        if statistics.presence:
            spread = 2 * smooth
            drawn[:, c] = rng.binomial(round(weight), inside[:, c] / (weight + spread))
        else:
            share = inside[:, c] / inside[:, c].sum()
            drawn[:, c] = rng.multinomial(round(table[:, c].sum()), share)
    return replace(statistics, table=drawn, documents=None, squares=None)
