"""What a model is: everything that training, judging and reports need to know, in one record.

    rows -> gather -> statistics -> family: problem, rule       the rule sees prepare(columns)

Whoever has a `Model` can train it (:mod:`naively.selection.train`), judge it on rows
(:mod:`naively.judging`) and write it down; nothing here or behind it imports scikit-learn.
"""

from __future__ import annotations

from collections.abc import Callable, Collection
from dataclasses import dataclass, replace
from functools import partial
from numbers import Integral, Real
from typing import Generic, Literal, NoReturn, Protocol, Self, TypeAlias, TypeVar

from naively._types import Array, FloatArray, IntArray
from naively.models.constraints import Constraints
from naively.models.family import Family
from naively.models.kinds import SEPARATION, Words
from naively.statistics.exposure import Exposure, exposed_columns, place_of
from naively.statistics.matrix import Matrix, canonical, is_sparse
from naively.statistics.rows import LabelledRows

# Columns (q,), ascending: the training rows over these, as the rule of the model sees them (n, q).
RowsOver: TypeAlias = Callable[[IntArray], LabelledRows]


class Statistics(Protocol):
    """What every model knows of the data."""

    @property
    def classes(self) -> Array:
        """(C,) labels, ascending."""
        ...

    @property
    def class_weight(self) -> FloatArray:
        """(C,) weight of the rows of each class."""
        ...

    @property
    def n_features(self) -> int:
        """Number of features to choose from."""
        ...


class AddingStatistics(Statistics, Protocol):
    """Statistics of some rows and of others give those of all."""

    def __add__(self, other: Self) -> Self: ...

    def __sub__(self, other: Self) -> Self: ...

    def without(self, other: Self) -> Self:
        """As `-`; raises ValueError for rows that cannot have been counted."""
        ...


S = TypeVar("S", bound=Statistics)
A = TypeVar("A", bound=AddingStatistics)


_MAX_NODES = 1000


@dataclass(frozen=True, slots=True)
class Limits:
    """How far the search of a support goes where the gap of the dual stays open."""

    exact: bool = False  # close it by branch and bound
    max_nodes: int = _MAX_NODES  # of branch and bound; the best found is returned with its gap
    time_limit: float | None = None  # seconds

    @classmethod
    def checked(cls, *, exact: bool, max_nodes: int, time_limit: float | None) -> Limits:
        """Limits as a user gives them.

        Raises
        ------
        ValueError
            If one is out of range, or has no effect.
        """
        if not isinstance(max_nodes, Integral) or int(max_nodes) < 1:
            raise ValueError(f"`max_nodes` must be an int >= 1; got {max_nodes!r}.")
        if time_limit is not None and not (isinstance(time_limit, Real) and float(time_limit) > 0):
            raise ValueError(f"`time_limit` must be seconds > 0, or None; got {time_limit!r}.")
        for name, given, default in (
            ("max_nodes", max_nodes, _MAX_NODES), ("time_limit", time_limit, None)
        ):  # fmt: skip
            if not exact and given != default:
                raise ValueError(
                    f"`{name}` has no effect without `exact`=True; give both, or leave it at "
                    f"{default}. Got {given!r}."
                )
        return cls(exact, max_nodes, time_limit)


@dataclass(frozen=True, slots=True, kw_only=True)
class Pairs:
    r"""Objective of selection: tell every pair of classes apart.

    The k features S are those with the smallest

        F(S) = sum over pairs of classes a < b of (pi_a pi_b)^(1/2) exp(-t sum_{i in S} B_i,ab)

    with class priors pi, and with the Bhattacharyya distance B_i,ab of the two classes in feature
    i, in nats, under the parameters that the model gives a selected feature. At t = 1 this is the
    union bound of the error of naive Bayes itself, if its assumptions hold. A feature that parts
    classes that are told apart already gains next to nothing; one that parts the closest two gains
    most.

    What is reported is the separation -log F, in nats. Features are taken one by one, each time
    the one of most separation; the first 64 are then put into the order in which they are best
    kept. So the features of a smaller k are among those of a larger one, but for budgets and
    quotas. Two classes have one pair, and the k largest distances are the optimum.

    Attributes
    ----------
    exponent : float, default=1.0
        The t above, > 0. Below 1 it hedges against dependence: a pair counts as told apart only
        after more features do so.
    exact : bool, default=False
        Whether to search on until the choice is proven optimal (branch and bound; for small
        problems). The features of a smaller k then need not be among those of a larger one.
    max_nodes : int, default=1000
        Most nodes that `exact` may visit; the best selection found is then returned with its gap.
    time_limit : float, default=None
        Most seconds that `exact` may take.
    limits : Limits
        The last three, as the search takes them.

    Raises
    ------
    ValueError
        If one is out of range, or has no effect.

    References
    ----------
    Kailath, "The divergence and Bhattacharyya distance measures in signal selection", IEEE
    Transactions on Communication Technology 15, 1967.

    Examples
    --------
    >>> from naively import Pairs, SparseL2Centers
    >>> X = [[9.0, 1, 0], [9.0, 1, 0], [0.0, 1, 0], [0.0, 1, 0], [0.0, 0, 2], [0.0, 0, 2]]
    >>> y = ["a", "a", "b", "b", "c", "c"]
    >>> SparseL2Centers(k=2, objective=Pairs(exponent=0.5)).fit(X, y).get_support(indices=True)
    array([0, 2])
    """

    exponent: float = 1.0
    exact: bool = False
    max_nodes: int = 1000
    time_limit: float | None = None

    def __post_init__(self) -> None:
        if not (isinstance(self.exponent, Real) and 0 < float(self.exponent) < float("inf")):
            raise ValueError(
                f"`exponent` must be a finite number > 0 (1: the bound of the error of naive "
                f"Bayes); got {self.exponent!r}."
            )
        _ = self.limits

    @property
    def limits(self) -> Limits:
        """Of the search."""
        return Limits.checked(
            exact=self.exact, max_nodes=self.max_nodes, time_limit=self.time_limit
        )


Objective: TypeAlias = Literal["likelihood", "pairs"] | Pairs


@dataclass(frozen=True, slots=True)
class Redundancy:
    """Features are chosen for what they add to those before: see `selection.redundancy`."""

    candidates: int | None = None  # of the largest gains, among which they are; None: the default

    @classmethod
    def checked(cls, redundancy: object, candidates: object) -> Redundancy | None:
        """Return what a user asks for.

        Raises
        ------
        ValueError
            If one is out of range, or has no effect.
        """
        if redundancy not in (None, "conditional"):
            raise ValueError(f"`redundancy` must be 'conditional' or None; got {redundancy!r}.")
        if candidates is None:
            return None if redundancy is None else cls()
        if redundancy is None:
            raise ValueError(
                "`candidates` has no effect without `redundancy`='conditional'; give both or "
                f"neither. Got {candidates!r}."
            )
        if isinstance(candidates, bool) or not isinstance(candidates, Integral) or candidates < 1:
            raise ValueError(f"`candidates` must be an int >= 1, or None; got {candidates!r}.")
        return cls(int(candidates))


_PAIRS, _REDUNDANCY = "`objective`='pairs'", "`redundancy`='conditional'"
# Constraints that cannot be asked for together with this; the others can.
NOT_WITH_REDUNDANCY = ("groups", "costs", "budget")


def ignored(missing: object) -> bool:
    """Whether missing values are left out, as a user says it.

    Raises
    ------
    ValueError
        If `missing` is neither "ignore" nor "error".
    """
    if missing not in ("error", "ignore"):
        raise ValueError(f"`missing` must be 'error' or 'ignore'; got {missing!r}.")
    return missing == "ignore"


def as_they_are(columns: Matrix) -> Matrix:
    """Return selected columns for a rule that reads the values themselves."""
    return columns


@dataclass(frozen=True, slots=True)
class Model(Generic[S]):
    """One model with its parameters: how it is counted, trained and told of."""

    name: str  # one of MODELS, or mixed: in the command, in model files, in reports
    family: Family[S]
    gather: Callable[..., S]  # X, y, sample_weight=None, classes=None (by name): statistics
    log_prior: Callable[[S], FloatArray]  # (C,) nats
    words: Words
    prepare: Callable[[Matrix], Matrix] = as_they_are  # selected columns: what the rule sees
    subtracts: bool = True  # statistics of all rows less those of some are those of the others
    limits: Limits = Limits()
    alpha: float | FloatArray | None = None  # smoothing of counts, one value or (m,)
    constraints: Constraints | None = None  # on the features that are chosen
    learns_prior: bool = True  # from the rows; otherwise it is the same for all of them
    objective: Pairs | None = None  # None: the likelihood, or distance, of the family
    redundancy: Redundancy | None = None  # None: the k features of the best objective
    refit: str | None = None  # "logistic": the rule is that of `selection.refit`
    calibration: str | None = None  # "cross-fitted": see `judging.calibration`
    exposure: Exposure = None  # of rows, which the rule sees as one more column, the last
    # Where the features are no columns: statistics, rows, support (k,): selected features (n, k).
    project: Callable[[S, Matrix, IntArray], Matrix] | None = None
    ignores_missing: bool = False  # NaN is left out of its own feature; otherwise it is an error
    refits_missing: bool = False  # and has no part in the scores of `refit`; otherwise no refit

    def __post_init__(self) -> None:
        if self.objective is not None and self.redundancy is not None:
            self._refuse(_PAIRS, _REDUNDANCY)
        asked = () if self.constraints is None else self.constraints.asked
        for name in NOT_WITH_REDUNDANCY:
            if self.redundancy is not None and name in asked:
                self._refuse(_REDUNDANCY, f"`{name}`")
        if self.family.penalty is not None:
            self._check_correction(asked)
        if self.exposure is not None:
            for name in ("redundancy", "refit"):
                if getattr(self, name) is not None:
                    raise ValueError(
                        f"`{name}` looks at the entries of single rows, and knows nothing of their "
                        "`exposure`; leave one of them out."
                    )

    def _check_correction(self, asked: Collection[str]) -> None:
        for name, given in ((_PAIRS, self.objective), (_REDUNDANCY, self.redundancy)):
            if given is not None:
                self._refuse(name, "`correction`")
        if "costs" in asked:
            raise ValueError(
                "`budget` takes every feature for a gain, and a corrected gain may be a loss; "
                "leave `correction` out, or exclude features instead."
            )

    @staticmethod
    def _refuse(one: str, other: str) -> NoReturn:
        raise ValueError(
            f"{one} and {other} cannot be asked for together: each is a way to choose the "
            "features; leave one out."
        )

    @property
    def of_columns(self) -> bool:
        """Whether its features are columns of the rows."""
        return self.project is None

    @property
    def threshold(self) -> float | None:
        """What an entry has to exceed to be 1 to the rule, others 0; None: it sees the values."""
        return float(self.prepare.args[0]) if isinstance(self.prepare, partial) else None

    @property
    def needs_rows(self) -> bool:
        """Whether it is trained on the rows themselves, beside their statistics."""
        return any(each is not None for each in (self.redundancy, self.refit, self.calibration))

    def asking(
        self,
        *,
        redundancy: object = None,
        candidates: object = None,
        refit: object = None,
        calibration: object = None,
    ) -> Self:
        """Return the model with what can be asked of every model.

        Raises
        ------
        ValueError
            If a parameter is out of range, or has no effect.
        """
        asked = Redundancy.checked(redundancy, candidates)
        if asked is not None and self.limits.exact:
            raise ValueError(
                "`exact`=True has no effect with `redundancy`='conditional', which solves another "
                "problem; leave one of them out."
            )
        if refit not in (None, "logistic"):
            raise ValueError(f"`refit` must be 'logistic' or None; got {refit!r}.")
        if calibration not in (None, "cross-fitted"):
            raise ValueError(f"`calibration` must be 'cross-fitted' or None; got {calibration!r}.")
        whole = refit is not None and not self.refits_missing
        if self.ignores_missing and (asked is not None or whole):
            name = "redundancy" if asked is not None else "refit"
            raise ValueError(
                f"`{name}` needs every entry of a row, and missing values are left out; fill them "
                f"in before, or leave `{name}` out."
            )
        return replace(self, redundancy=asked, refit=refit, calibration=calibration)

    def rows_over(
        self, statistics: S, X: Matrix, y: object, sample_weight: object = None
    ) -> RowsOver:
        """Return what gives checked training rows over some columns."""

        def rows(columns: IntArray) -> LabelledRows:
            seen = self.seen(statistics, canonical(X) if is_sparse(X) else X, columns)
            return LabelledRows.of(seen, y, sample_weight, statistics.classes)

        return rows

    def also(self, n_features: int) -> IntArray:
        """Columns that the rule sees after those of the support: the place of the exposure."""
        return place_of(self.exposure, n_features)

    def seen(self, statistics: S, X: Matrix, support: IntArray) -> Matrix:
        """Return what the rule of a support sees of checked rows: (n, k), and their exposure."""
        if self.project is not None:
            X = self.project(statistics, X, support)
        elif self.exposure is not None:
            X = exposed_columns(X, support, self.exposure)
        elif len(support) != X.shape[1]:
            X = X[:, support]
        return self.prepare(X)


def with_objective(model: Model[S], objective: Objective) -> Model[S]:
    """Return the model with another objective of selection.

    Raises
    ------
    ValueError
        If `objective` is none, or the model has a search of its own.
    """
    if isinstance(objective, str) and objective == "likelihood":
        return model
    pairs = Pairs() if isinstance(objective, str) and objective == "pairs" else objective
    if not isinstance(pairs, Pairs):
        raise ValueError(
            f"`objective` must be 'likelihood', 'pairs' or a `Pairs` record; got {objective!r}."
        )
    if model.family.distances is None:
        raise ValueError(
            f"`objective`='pairs' needs distances of classes, which the {model.name} model lacks; "
            "leave it out."
        )
    if model.limits != Limits():
        raise ValueError(
            "`exact`, `max_nodes` and `time_limit` of the model are of objective='likelihood' and "
            "have no effect on pairs of classes; give objective=Pairs(exact=True)."
        )
    words = replace(model.words, unit="nats", quantity=SEPARATION)
    return replace(model, objective=pairs, limits=pairs.limits, words=words)
