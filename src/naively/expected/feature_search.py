"""Search for features by the predicted error (ERR section 1).

The criterion is the normal approximation with the exact variance (`Criterion`): two moments per
pair of classes describe a set of features, so that trying one feature more, or one less, costs the
same whatever the size of the set. Or it is any other estimate of the error (`EstimatedCriterion`),
computed anew for each set. Ties go to the lowest feature index.

With more than two classes the comparisons of the true class with its rivals become one error by
their product (ERR eq. 30), or by their mean. On short documents the product hardly moves until a
class beats all its rivals at once; the mean falls with every pair that is told apart.

- best individual: the k features with the smallest error, each on its own against the rest of the
  document. Features that say the same are all taken.
- forward: k times the feature that lowers the error most.
- plus l take away r: l steps forward, r steps back, until k are reached; with l < r it starts
  from all features.
- branch and bound: all sets of k features, leaving out those below a set that is already worse
  than the best found. That is valid only if taking a feature away never lowers the criterion. The
  approximation does not promise it, so violations are watched for and reported.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Literal, Protocol

import numpy as np

from naively._kernels.search_errors import candidate_errors, set_sums
from naively._types import BoolArray, FloatArray, IntArray
from naively.expected.decision_models import from_probabilities
from naively.expected.estimates import Method, preference
from naively.expected.lengths import Lengths
from naively.expected.log_odds import DecisionModel, log_odds
from naively.statistics.threads import in_threads

Together = Literal["mean", "product"]
Strategy = Literal["best_individual", "forward", "plus_l_minus_r", "branch_and_bound"]

_SAME = 1e-10  # errors that differ by less, relatively, are one error computed along two ways
_NEARLY_ALL = 0.99  # of the probability of a set
_PART = 4096  # candidates at a time, whose numbers stay in the cache
_WORTH_THREADS = 100_000  # comparisons of two classes, below which threads cost more than they win


@dataclass(frozen=True, slots=True)
class SearchResult:
    """The features found, and what the search can say about them."""

    support: IntArray  # (k,) ascending
    error: float  # predicted error of the support
    sizes: IntArray  # (steps,) number of features after each step of a stepwise search
    errors: FloatArray  # (steps,) predicted error after each step
    order: IntArray  # (steps,) the feature that came or went; best individual: in order of merit
    evaluations: int  # feature sets whose error was computed
    complete: bool  # False: a branch-and-bound search stopped at its limit of nodes
    violations: int = 0  # feature sets met that were better than a set which contains them


class SetErrors(Protocol):
    """Predicted error of feature sets of one problem: what a search asks for."""

    @property
    def probability(self) -> FloatArray:
        """Class probabilities (m, C)."""

    @property
    def log_prior(self) -> FloatArray:
        """Of each class (C,), nats."""

    @property
    def pooled(self) -> bool:
        """Whether the features left out are ignored by the rule."""

    def unpooled(self) -> SetErrors:
        """Return the same of a rule that sees how much was left out."""

    def errors(self, members: IntArray, candidate: BoolArray, sign: int) -> FloatArray:
        """Error (m,) of `members` with each candidate added (1) or taken away (-1); else inf.

        With sign 0 it is that of the members themselves.
        """


@dataclass(frozen=True, slots=True)
class Criterion:
    """Predicted error of feature sets by the normal approximation."""

    probability: FloatArray  # (m, C)
    logarithm: FloatArray  # (m, C), 0 where the probability is 0
    lengths: FloatArray  # (C,) draws per document
    log_prior: FloatArray  # (C,)
    pooled: bool  # whether the features left out are ignored by the rule
    rivals: Together = "product"

    @classmethod
    def from_probabilities(
        cls,
        probability: FloatArray,
        lengths: FloatArray,
        priors: FloatArray,
        *,
        pooled: bool,
        rivals: Together = "product",
    ) -> Criterion:
        """Criterion for class probabilities (C, m)."""
        table = np.ascontiguousarray(probability, dtype=np.float64).T
        with np.errstate(divide="ignore"):
            logarithm, log_prior = np.log(table), np.log(priors)
        logarithm[table == 0] = 0.0
        return cls(table, logarithm, np.asarray(lengths, np.float64), log_prior, pooled, rivals)

    def unpooled(self) -> Criterion:
        """Return the same of a rule that sees how much was left out."""
        return replace(self, pooled=False)

    def errors(self, members: IntArray, candidate: BoolArray, sign: int) -> FloatArray:
        """Error of each set; see `SetErrors`."""
        m, C = self.probability.shape
        mass, sums, errors = np.empty(C), np.empty((C, C, 3)), np.full(m, np.inf)
        tables = self.probability.T, self.logarithm.T
        # The sums start anew at each step: rounding never piles up, and k is small against m.
        set_sums(*tables, members, mass, sums)
        rule = self.lengths, self.log_prior, self.pooled, self.rivals == "product"
        tried = np.flatnonzero(candidate)
        found = np.empty(len(tried))

        def part(start: int) -> None:
            some = slice(start, start + _PART)
            args = (*tables, tried[some], float(sign), mass, sums, *rule, found[some])
            candidate_errors(*args)

        work = in_threads if len(tried) * C * (C - 1) >= _WORTH_THREADS else map
        list(work(part, range(0, len(tried), _PART)))
        errors[tried] = found
        if sign < 0:
            # What is left of a set without nearly all of it has lost its digits: added up anew.
            for i in tried[(self.probability[tried] > _NEARLY_ALL * mass).any(axis=1)]:
                errors[i] = self.errors(members[members != i], np.arange(m) == i, 0)[i]
        return errors


@dataclass(frozen=True, slots=True)
class EstimatedCriterion:
    """Predicted error of feature sets by any method, one estimate for each set."""

    probability: FloatArray  # (m, C)
    lengths: Lengths
    log_prior: FloatArray  # (C,)
    pooled: bool  # whether the features left out are ignored by the rule
    rivals: Together
    method: Method

    def unpooled(self) -> EstimatedCriterion:
        """Return the same of a rule that sees how much was left out."""
        return replace(self, pooled=False)

    def errors(self, members: IntArray, candidate: BoolArray, sign: int) -> FloatArray:
        """Error of each set; see `SetErrors`."""
        member = np.isin(np.arange(len(candidate)), members)
        errors = np.full(len(candidate), np.inf)
        for i in np.flatnonzero(candidate):
            one = member.copy()
            one[i] = {1: True, -1: False, 0: one[i]}[sign]
            errors[i] = self._error(np.flatnonzero(one))
        return errors

    def _error(self, support: IntArray) -> float:
        model = from_probabilities(
            self.probability.T, self.log_prior, support=support, pooled=self.pooled
        )
        C, error = model.n_classes, 0.0
        for j in range(C):
            lost = np.array([self._lost(model, j, k) for k in range(C) if k != j])
            product = self.rivals == "product"
            wrong = 1 - np.prod(1 - lost) if product else lost.sum() / max(C - 1, 1)
            error += float(np.exp(self.log_prior[j]) * wrong)
        return error

    def _lost(self, model: DecisionModel, j: int, k: int) -> float:
        """Probability that a row of class j goes to k, of these two; ties to the lower index."""
        law = log_odds(model, min(j, k), max(j, k), j)
        lengths = self.lengths.values, self.lengths.weights[:, j]
        first = preference(law, *lengths, self.method)
        return first if k < j else 1 - first


def _next_errors(
    criterion: SetErrors, members: IntArray, candidate: BoolArray, sign: int
) -> FloatArray:
    """Errors (m,) to choose the next step by.

    When only shares among the selected features count, one feature says nothing (its share is
    1 in every class), and all tie. A single one is chosen against the rest of the document.
    """
    alone = criterion.pooled and len(members) + sign == 1
    return (criterion.unpooled() if alone else criterion).errors(members, candidate, sign)


def set_error(criterion: SetErrors, members: IntArray) -> float:
    """Error of one set of features."""
    m = len(criterion.probability)
    if m == 0:
        return float(1 - np.exp(criterion.log_prior).max())
    return float(criterion.errors(members, np.arange(m) == 0, 0)[0])


def search(
    criterion: SetErrors,
    k: int,
    strategy: Strategy = "forward",
    *,
    plus: int = 2,
    minus: int = 1,
    max_nodes: int = 10_000,
) -> SearchResult:
    """Find k features with a small predicted error.

    Parameters
    ----------
    criterion : Criterion or EstimatedCriterion
        The problem.
    k : int
        Number of features, in [0, m].
    strategy : str
        "best_individual", "forward", "plus_l_minus_r" or "branch_and_bound".
    plus, minus : int
        l and r of plus-l-take-away-r; they must differ.
    max_nodes : int
        Most feature sets that branch and bound looks below.

    Returns
    -------
    SearchResult
        The features and the course of the search.
    """
    if strategy == "best_individual":
        return _best_individual(criterion, k)
    if strategy == "forward":
        return _stepwise(criterion, k, 1, 0)
    if strategy == "plus_l_minus_r":
        return _stepwise(criterion, k, plus, minus)
    return _BranchAndBound(criterion, k, max_nodes).run()


def _best_individual(criterion: SetErrors, k: int) -> SearchResult:
    everything = np.ones(len(criterion.probability), dtype=np.bool_)
    errors = _next_errors(criterion, np.empty(0, np.int64), everything, 1)
    order = _ranking(errors)[:k]
    support = np.sort(order)
    return SearchResult(
        support=support,
        error=set_error(criterion, support),
        sizes=np.ones(k, dtype=np.int64),
        errors=errors[order],
        order=order,
        evaluations=len(criterion.probability) + 1,
        complete=True,
    )


def _ranking(errors: FloatArray) -> IntArray:
    """Features by error, those whose errors are the same by index."""
    order = np.argsort(errors, kind="stable")
    new = np.diff(errors[order], prepend=-np.inf) > _SAME * np.abs(errors[order])
    return np.asarray(order[np.lexsort((order, np.cumsum(new)))])


def _chosen(errors: FloatArray, sign: int) -> int:
    """Which of the smallest errors to take: lowest indices come first, and go last."""
    smallest = errors.min()
    return int(np.flatnonzero(errors <= smallest + _SAME * abs(smallest))[0 if sign > 0 else -1])


def _first_of_equal(probability: FloatArray, support: IntArray) -> IntArray:
    """Take the lowest of features with the same probabilities, as many as were taken of them."""
    number = np.unique(probability, axis=0, return_inverse=True)[1].ravel()
    wanted = np.bincount(number[support], minlength=len(number))
    order = np.argsort(number, kind="stable")
    rank = np.arange(len(order)) - np.searchsorted(number[order], number[order])
    return np.sort(order[rank < wanted[number[order]]])


def _stepwise(criterion: SetErrors, k: int, plus: int, minus: int) -> SearchResult:
    """Walk forward and back from nothing (plus > minus), or from everything (plus < minus)."""
    if plus == minus or min(plus, minus) < 0:
        raise ValueError(f"`plus` and `minus` must differ and be >= 0; got {plus} and {minus}.")
    member = np.full(len(criterion.probability), plus < minus)
    course: list[tuple[int, int, float]] = []
    evaluations = 0

    def move(sign: int) -> None:
        nonlocal evaluations
        candidate = ~member if sign > 0 else member
        members = np.flatnonzero(member)
        errors = _next_errors(criterion, members, candidate, sign)
        chosen = _chosen(errors, sign)
        evaluations += int(candidate.sum())
        member[chosen] = sign > 0
        alone = len(members) + sign == 1
        error = set_error(criterion, np.flatnonzero(member)) if alone else float(errors[chosen])
        course.append((int(member.sum()), chosen, error))

    for sign in _moves(k, len(criterion.probability), plus, minus):
        move(sign)
    support = np.flatnonzero(member)
    sizes, order, errors = zip(*course, strict=True) if course else ((), (), ())
    return SearchResult(
        support=support,
        error=errors[-1] if errors else set_error(criterion, support),
        sizes=np.array(sizes, dtype=np.int64),
        errors=np.array(errors, dtype=np.float64),
        order=np.array(order, dtype=np.int64),
        evaluations=evaluations,
        complete=True,
    )


def _moves(k: int, m: int, plus: int, minus: int) -> list[int]:
    """Signs of the steps that lead to exactly k features."""
    forward = plus > minus
    first, second = (plus, minus) if forward else (minus, plus)
    goal, limit = (k, m) if forward else (m - k, m)
    moves: list[int] = []
    done = 0
    while done < goal:
        out = min(first, limit - done)
        # No way back beyond the goal's own distance, so that the last round ends on it.
        back = min(second, out - 1) if done + out - second < goal else done + out - goal
        moves += [1] * out + [-1] * back
        done += out - back
    return moves if forward else [-move for move in moves]


class _BranchAndBound:
    """Depth first from all features, taking away indices in ascending order (each set once)."""

    def __init__(self, criterion: SetErrors, k: int, max_nodes: int) -> None:
        self.criterion = criterion
        self.k = k
        self.max_nodes = max_nodes
        first = _stepwise(criterion, k, 1, 0)
        self.best, self.support = first.error, first.support
        self.evaluations, self.violations = first.evaluations, 0

    def run(self) -> SearchResult:
        m = len(self.criterion.probability)
        everything = np.arange(m)
        stack = [(everything, 0, set_error(self.criterion, everything))] if self.k < m else []
        nodes = 0
        while stack and nodes < self.max_nodes:
            members, start, error = stack.pop()
            if error < self.best * (1 - _SAME):
                nodes += 1
                stack += self._children(members, start, error)
        support = _first_of_equal(self.criterion.probability, self.support)
        return SearchResult(
            support=support,
            error=self.best,
            sizes=np.array([self.k]),
            errors=np.array([self.best]),
            order=np.empty(0, dtype=np.int64),
            evaluations=self.evaluations,
            complete=not any(error < self.best * (1 - _SAME) for _, _, error in stack),
            violations=self.violations,
        )

    def _children(
        self, members: IntArray, start: int, error: float
    ) -> list[tuple[IntArray, int, float]]:
        """Return the sets one feature smaller that may hold the best one, the most hopeful last."""
        surplus = len(members) - self.k
        later = members[members >= start]
        takeable = later[: len(later) - surplus + 1]
        candidate = np.zeros(len(self.criterion.probability), dtype=np.bool_)
        candidate[takeable] = True
        errors = self.criterion.errors(members, candidate, -1)
        self.evaluations += len(takeable)
        self.violations += int((errors[takeable] < error * (1 - _SAME)).sum())
        if surplus == 1:
            chosen = _chosen(errors, -1)
            if errors[chosen] < self.best * (1 - _SAME):
                self.best, self.support = float(errors[chosen]), members[members != chosen]
            return []
        order = takeable[::-1][_ranking(errors[takeable[::-1]])][::-1]
        hopeful = order[errors[order] < self.best * (1 - _SAME)]
        return [(members[members != i], int(i) + 1, float(errors[i])) for i in hopeful]
