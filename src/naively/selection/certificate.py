"""How good a selection is, in figures and in a sentence."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import NoReturn

from naively._notebook import table_html
from naively._types import FloatArray, IntArray


def finite_baseline(baseline: float) -> float:
    """Return the baseline, or raise ValueError if nothing can be certified above it."""
    if not math.isfinite(baseline):
        refuse_huge("likelihood")
    return baseline


def refuse_huge(what: str) -> NoReturn:
    """Raise the ValueError of figures that double precision cannot hold."""
    raise ValueError(
        f"The {what} is not a finite number: values of X, `sample_weight` or `alpha` are "
        "too large for double precision, or weights too small. Rescale them (counts rarely exceed "
        "1e15)."
    )


@dataclass(frozen=True, slots=True)
class Certificate:
    """Proof of quality of one selection, in nats of the training log-likelihood.

    No choice of `k` features can have an objective above `bound`. For models of distances the
    objective is the distance saved, in the units of the data; where every pair of classes is to be
    told apart (:class:`naively.Pairs`), it is their separation -log F.

    Attributes
    ----------
    k : int
        Number of features.
    objective : float
        Of the model returned, with its parameters pooled in a selected feature that all classes
        have alike but for smoothing (one that never occurs, or is constant).
    bound : float
        No k features do better: psi(k).
    baseline : float
        Objective with no feature, where every model starts.
    gain : float
        `objective - baseline`.
    gap : float
        `bound - objective`: how far the objective could still rise, at most.
    relative_gap : float
        `gap / (bound - baseline)`, a share of the largest possible gain; 0 when optimal.
    a_priori : float
        psi(k - C - 2), which the best k features reach by theory; -inf if k is that small, or
        theory promises nothing (pairs of classes).
    proven_optimal : bool
        Whether the selection is a global optimum, to rounding.
    evaluations : int
        How often the k best features were selected on the way.
    nodes : int
        Nodes of branch and bound (`exact=True`).
    is_empty : bool
        Whether no feature was asked for (k = 0): nothing is proven.
    quantity, unit : str
        What the objective measures, in words.
    choice : str or None
        What was chosen from, in words, where that is not any `k` features.

    References
    ----------
    Askari, d'Aspremont, El Ghaoui, "Naive Feature Selection: a nearly tight convex relaxation for
    sparse naive Bayes" (NFS-long); theorem 3.6 is the a-priori bound.

    Examples
    --------
    >>> from naively import SparseMultinomialNB
    >>> X = [[3, 0, 1, 2], [2, 0, 1, 3], [0, 3, 1, 2], [1, 2, 2, 2]]
    >>> certificate = SparseMultinomialNB(k=2).fit(X, [0, 0, 1, 1]).certificate_
    >>> certificate.proven_optimal, certificate.gap
    (True, 0.0)
    """

    k: int
    objective: float
    bound: float
    baseline: float
    a_priori: float
    proven_optimal: bool
    evaluations: int = 1
    nodes: int = 0
    quantity: str = "training likelihood"
    unit: str = "nats"
    choice: str | None = None

    @property
    def gap(self) -> float:
        """Nats by which the objective could still rise, at most."""
        # Both are infinite where a feature separates the classes perfectly.
        return self.bound - self.objective if self.bound > self.objective else 0.0

    @property
    def relative_gap(self) -> float:
        """Gap relative to the largest possible gain over no feature at all; 0 when optimal."""
        possible = self.bound - self.baseline
        return self.gap / possible if self.gap > 0 and possible > 0 else 0.0

    @property
    def is_empty(self) -> bool:
        """Whether no feature was asked for, so that there is nothing to prove."""
        return self.k == 0

    @property
    def gain(self) -> float:
        """Nats gained over the model without any feature."""
        return self.objective - self.baseline

    def _repr_html_(self) -> str:
        """Show the sentence and its figures, for notebooks."""
        figures = (self.baseline, self.objective, self.bound, self.gap)
        heads = ("no feature", "objective", "bound", "gap")
        return f"<p>{self}</p>" + table_html(heads, [[f"{each:,.6g}" for each in figures]])

    def __str__(self) -> str:
        if self.is_empty:
            return EMPTY
        one = self.k == 1 and not self.choice
        choice = self.choice or ("feature" if one else f"{self.k} features")
        reach = "reaches" if one else "reach"
        if self.proven_optimal:
            return (
                f"Proven optimal: no other {choice} {reach} a higher {self.quantity} "
                f"(gain {_figure(self.gain)} {self.unit} over no feature)."
            )
        # Rounded down: the share proven must never be overstated.
        share = math.floor((1 - self.relative_gap) * 1e6) / 1e4
        these = "The features chosen" if self.choice else f"These {self.k} features"
        these = "This feature" if one else these
        return (
            f"{these} {reach} at least {share:.4f} % of the gain that any "
            f"{choice} could reach (gap {self.gap:.3g} of "
            f"{_figure(self.bound - self.baseline)} {self.unit})."
        )


def _figure(value: float) -> str:
    return f"{value:,.0f}" if abs(value) >= 1000 else f"{value:.4g}"  # no powers of ten


EMPTY = "No feature was asked for, so there is none to prove best: all rows are answered alike."
# What is said where there is no certificate.
UNPROVEN = (
    "Each feature was chosen for what it adds to every one before it; no bound is known of such a "
    "choice, so nothing is proven of it."
)


@dataclass(frozen=True, slots=True)
class Selection:
    """The features chosen, what each contributes, and the proof."""

    support: IntArray  # (k,) column indices, ascending
    gain: FloatArray  # (k,) nats, of each selected column
    certificate: Certificate | None  # None: of such a choice nothing can be proven
    displaced: tuple[IntArray, ...] = ()  # (k,) columns that say what each says; (): not asked for

    @property
    def proof(self) -> Certificate:
        """The certificate, where the way of choosing has one."""
        assert self.certificate is not None
        return self.certificate

    @property
    def k(self) -> int:
        """How many were chosen, of what k counts."""
        return len(self.support) if self.certificate is None else self.certificate.k
