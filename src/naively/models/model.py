"""What a model is: everything that training, judging and reports need to know, in one record.

    rows -> gather -> statistics -> family: problem, rule       the rule sees prepare(columns)

Whoever has a `Model` can train it (:mod:`naively.selection.train`), judge it on rows
(:mod:`naively.judging`) and write it down; nothing here or behind it imports scikit-learn.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from numbers import Integral, Real
from typing import Generic, Protocol, Self, TypeVar

from naively._types import Array, FloatArray, IntArray
from naively.models.constraints import Constraints
from naively.models.family import Family
from naively.models.kinds import Words
from naively.statistics.matrix import Matrix


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


S = TypeVar("S", bound=Statistics)
A = TypeVar("A", bound=AddingStatistics)


@dataclass(frozen=True, slots=True)
class Limits:
    """How far the search of a support goes where the gap of the dual stays open."""

    exact: bool = False  # close it by branch and bound
    max_nodes: int = 1000  # of branch and bound; the best found is returned with its gap
    time_limit: float | None = None  # seconds

    @classmethod
    def checked(cls, *, exact: bool, max_nodes: int, time_limit: float | None) -> Limits:
        """Limits as a user gives them.

        Raises
        ------
        ValueError
            If one is out of range.
        """
        if not isinstance(max_nodes, Integral) or int(max_nodes) < 1:
            raise ValueError(f"`max_nodes` must be an int >= 1; got {max_nodes!r}.")
        if time_limit is not None and not (isinstance(time_limit, Real) and float(time_limit) > 0):
            raise ValueError(f"`time_limit` must be seconds > 0, or None; got {time_limit!r}.")
        return cls(exact, max_nodes, time_limit)


def as_they_are(columns: Matrix) -> Matrix:
    """Return selected columns for a rule that reads the values themselves."""
    return columns


@dataclass(frozen=True, slots=True)
class Model(Generic[S]):
    """One model with its parameters: how it is counted, trained and told of."""

    name: str  # one of MODELS: in the command, in model files, in reports
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
    # Where the features are no columns: statistics, rows, support (k,): selected features (n, k).
    project: Callable[[S, Matrix, IntArray], Matrix] | None = None

    @property
    def of_columns(self) -> bool:
        """Whether its features are columns of the rows."""
        return self.project is None

    def seen(self, statistics: S, X: Matrix, support: IntArray) -> Matrix:
        """Return what the rule of a support sees of checked rows: (n, k)."""
        if self.project is not None:
            X = self.project(statistics, X, support)
        elif len(support) != X.shape[1]:
            X = X[:, support]
        return self.prepare(X)
