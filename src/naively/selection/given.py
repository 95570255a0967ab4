"""Features that were chosen by other means, and how near they come to the best of their number."""

from __future__ import annotations

from dataclasses import replace

from naively._types import IntArray
from naively.models.constraints import Constraints
from naively.models.model import Limits, Model, S
from naively.selection.certificate import Selection
from naively.selection.constrained import select_within
from naively.selection.exact import TOLERANCE
from naively.selection.solve import solve


def given(model: Model[S], statistics: S, support: IntArray, limits: Limits) -> Selection:
    """Return the selection of these features: its bound is that of any as many.

    Parameters
    ----------
    model, statistics
        The model, without constraints, and class statistics of the rows.
    support : (k,)
        Columns, ascending.
    limits : Limits
        Of the search for the bound.
    """
    best = solve(model.family, statistics, len(support), limits)
    if len(support) == 0:
        return best
    held = replace(model, constraints=Constraints(statistics.n_features, required=support))
    found = select_within(held, statistics, len(support), limits)
    reached, proof = found.proof.objective, best.proof
    optimal = proof.bound - reached <= TOLERANCE * abs(proof.bound - proof.baseline)
    proof = replace(proof, objective=reached, proven_optimal=bool(optimal))
    return replace(found, certificate=proof)
