"""What a model makes of test rows, counted where the rows are; verdicts add up, as counts do.

What a worker returns does not grow with features times rows: pairs of label and answer, wrong
answers at each k of a path, and the margin of each row, or their histogram if there are many.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterable
from dataclasses import dataclass, field
from typing import Any, final

import numpy as np

from naively._types import Array, BoolArray, FloatArray, IntArray
from naively.judging.coverage import margins
from naively.judging.path_rule import PathRule
from naively.models.rules import Rule, winners
from naively.scale.holdout import LEFT_OUT, TEST, rows_at
from naively.scale.sources import explained
from naively.text.counter import TermReader
from naively.text.features import FeatureDefinition, TextFeatures
from naively.text.vocabulary import Vocabulary
from naively.work.stream import Task, parted_rows

SINGLE_MARGINS = 1 << 21  # rows whose margins are kept one by one; of more, a histogram
_BINS = 1 << 16
_NO_WEIGHT = np.empty(0)


@dataclass(frozen=True, slots=True)
class Answerer:
    """A rule and the features it sees."""

    rule: Rule
    classes: tuple[str, ...]  # (C,)
    features: FeatureDefinition  # of the statistics
    terms: Vocabulary | None  # (k,) selected terms, ascending; None for columns of a matrix
    columns: IntArray  # (k,) selected columns

    def answers(self, rows: Any) -> Array:
        """Label that the rule gives each row, (n,): of texts, or of a matrix."""
        X = eye(self.features, self.terms, self.columns)(rows)
        answers: Array = np.array(self.classes, dtype=str)[winners(self.rule.scores(X))]
        return answers


def eye(
    features: FeatureDefinition, terms: Vocabulary | None, columns: IntArray
) -> Callable[[Any], Any]:
    """Return what sees rows over some features only, (n, k): terms, or columns of a matrix.

    Raises
    ------
    ValueError
        If the columns are hashed, so that texts cannot be searched for them.
    """
    if isinstance(features, TextFeatures):
        if terms is None:
            raise ValueError("hashed columns have no terms by which rows could be read.")
        return TermReader(features, terms).rows
    presence, threshold = features.presence, features.threshold

    def columns_of(rows: Any) -> Any:
        X = rows[:, columns]
        return (X > threshold).astype(np.int64) if presence else X

    return columns_of


@final
@dataclass(frozen=True, slots=True)
class Verdicts:
    """What came of some test rows; they add up."""

    pairs: Counter[tuple[str, str]] = field(default_factory=Counter)  # rows by label and answer
    wrong: IntArray | None = None  # (G,) rows decided wrongly at each k; None: nothing was tested
    left_out: int = 0  # rows that are for neither training nor test
    margin: FloatArray = field(default_factory=lambda: np.empty(0))  # (n,) of single rows
    right: BoolArray = field(default_factory=lambda: np.empty(0, dtype=np.bool_))  # (n,)
    bins: IntArray | None = None  # (2, 65536) rows by margin, and how many of them are right

    def __add__(self, other: Verdicts) -> Verdicts:
        """Add the verdicts on other rows, which come after these."""
        margin = np.concatenate([self.margin, other.margin])
        right = np.concatenate([self.right, other.right])
        bins = _sum(self.bins, other.bins)
        if bins is not None or len(margin) > SINGLE_MARGINS:
            bins, margin, right = _sum(bins, _histogram(margin, right)), margin[:0], right[:0]
        return Verdicts(
            pairs=self.pairs + other.pairs,
            wrong=_sum(self.wrong, other.wrong),
            left_out=self.left_out + other.left_out,
            margin=margin,
            right=right,
            bins=bins,
        )

    def by_margin(self) -> tuple[FloatArray, IntArray, IntArray]:
        """Return margins, how many rows have each, and how many of them are right, (B,)."""
        if self.bins is None:
            return self.margin, np.ones(len(self.margin), np.int64), self.right.astype(np.int64)
        occurring = np.flatnonzero(self.bins[0])
        return _least_margin(occurring), *self.bins[:, occurring]


def total(parts: Iterable[Verdicts]) -> Verdicts:
    """Add verdicts in the order of their rows."""
    return sum(parts, Verdicts())


def _sum(first: IntArray | None, second: IntArray | None) -> IntArray | None:
    if first is None or second is None:
        return second if first is None else first
    return np.asarray(first + second)


def _histogram(margin: FloatArray, right: BoolArray) -> IntArray:
    """Count by the upper half of a float's bits, whose order is that of the numbers: (2, 65536)."""
    bits = margin.astype(np.float32).view(np.uint32)
    ascending = np.where(bits >> 31, ~bits, bits | np.uint32(1 << 31)) >> np.uint32(16)
    return np.array([np.bincount(ascending[chosen], minlength=_BINS) for chosen in (..., right)])


def _least_margin(bins: IntArray) -> FloatArray:
    """Least margin that falls into each bin."""
    ascending = bins.astype(np.uint32) << np.uint32(16)
    negative = ascending < np.uint32(1 << 31)
    bits = np.where(negative, ~ascending, ascending & np.uint32((1 << 31) - 1))
    return np.asarray(bits.astype(np.uint32).view(np.float32), dtype=np.float64)


@dataclass(frozen=True, slots=True)
class Judge:
    """A model, the models of other k, and the features that any of them sees."""

    rule: Rule
    classes: tuple[str, ...]  # (C,)
    features: FeatureDefinition  # of the statistics
    terms: Vocabulary | None  # (U,) terms that are looked at; None for columns of a matrix
    columns: IntArray  # (U,) their columns
    own: IntArray  # (k,) which of them the model sees
    path: PathRule | None = None  # the models of all k of a grid
    on_path: IntArray | None = None  # (V,) which of the U columns they see

    @classmethod
    def of(cls, answerer: Answerer) -> Judge:
        """Return the judge of one model alone."""
        own = np.arange(len(answerer.columns))
        seen_by = (answerer.features, answerer.terms, answerer.columns)
        return cls(answerer.rule, answerer.classes, *seen_by, own)

    def verdicts(self, X: Any, labels: Array) -> Verdicts:
        """Judge rows over the U features (n, U), with their labels (n,)."""
        names = np.array(self.classes, dtype=str)
        scores = self.rule.scores(X[:, self.own])
        answers = names[winners(scores)]
        pairs = Counter(zip(labels.tolist(), answers.tolist(), strict=True))
        single = Verdicts(
            pairs, self._wrong(X, labels, names), 0, margins(scores), answers == labels
        )
        return single + Verdicts()

    def _wrong(self, X: Any, labels: Array, names: Array) -> IntArray | None:
        if self.path is None or self.on_path is None:
            return None
        known = np.flatnonzero(np.isin(labels, names))  # other labels are mistakes at every k
        codes = np.searchsorted(names, labels[known]).astype(np.int64)
        rows = _as_csr(X[known][:, self.on_path])
        wrong = self.path.errors(rows, codes, _NO_WEIGHT)
        return np.rint(wrong).astype(np.int64) + len(labels) - len(known)


def _as_csr(X: Any) -> Any:
    import scipy.sparse as sp  # noqa: PLC0415 (only for tests)

    return sp.csr_array(X)


def judged(task: Task, judge: Judge) -> Verdicts:
    """Judge the test rows of a task, or all rows if none are held out."""
    found, see = Verdicts(), eye(judge.features, judge.terms, judge.columns)
    for part in task.parts:
        for rows, names, codes, kinds in parted_rows(task, part):
            with explained(str(part)):
                chosen = np.flatnonzero(kinds == TEST)
                left_out = Verdicts(left_out=int((kinds == LEFT_OUT).sum()))
                if len(chosen):
                    found += judge.verdicts(see(rows_at(rows, chosen)), names[codes[chosen]])
                found += left_out
    return found
