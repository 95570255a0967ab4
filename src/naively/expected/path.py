"""The error that the models of a path predict of themselves."""

from __future__ import annotations

import numpy as np

from naively._types import FloatArray
from naively.expected.decision_models import from_fitted
from naively.expected.estimates import Method, Rivals, estimate, lengths_of, refuse_unused
from naively.models.family import Coupled, objective_of
from naively.models.model import Model, S
from naively.selection.path import SparsityPath

SIMULATED_ROWS = 20_000  # of all classes together, for each predicted error of many classes


def predicted_errors(
    model: Model[S],
    statistics: S,
    track: SparsityPath,
    method: Method = "exact",
    rivals: Rivals | None = None,
) -> FloatArray | None:
    """Error expected at each k of a path, from the statistics alone.

    Parameters
    ----------
    model, statistics, track
        The model, and the path that its statistics give.
    method, rivals
        As in :func:`naively.expected_error`; rivals are simulated by default.

    Returns
    -------
    (G,) or None for models whose error has no known law.

    Raises
    ------
    ValueError
        If `method` or `rivals` has no effect on the model or the number of its classes.
    """
    problem = objective_of(model.family.problem(statistics))
    # The law is that of whole rows, of counts or presence.
    counted = isinstance(problem, Coupled) or getattr(statistics, "presence", False)
    if not counted or not model.of_columns or model.ignores_missing:
        if method != "exact" or rivals is not None:
            raise ValueError(
                f"`method` and `rivals` have no effect on this {model.name} model, whose error is "
                "not predicted; leave them out."
            )
        return None
    log_prior = model.log_prior(statistics)
    prior = np.exp(log_prior) / np.exp(log_prior).sum()
    lengths, n_rows = lengths_of(statistics), -(-SIMULATED_ROWS // len(prior))
    combined = rivals or "simulated"
    refuse_unused(len(prior), combined, method=method)

    def error(k: int) -> float:
        support = track.support(k)
        rule = model.family.rule(statistics, support, log_prior)
        law = from_fitted(model.family, statistics, support, rule, "classes")
        return estimate(law, lengths, prior, method=method, rivals=combined, n_rows=n_rows).error

    return np.array([error(k) for k in track.k])
