"""What came of judging rows by a model, and by the models of every k: counts that add up."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, field
from typing import Any, final

import numpy as np

from naively._types import Array, BoolArray, FloatArray, IntArray
from naively.judging.coverage import margins
from naively.judging.every_k import EveryK, wrong_at_every_k
from naively.judging.rows import dense_row
from naively.models.counting import bare_rows
from naively.models.kinds import MODELS
from naively.models.model import Model
from naively.models.rules import Rule, winners
from naively.statistics.matrix import Matrix

SINGLE_MARGINS = 1 << 21  # rows whose margins are kept one by one; of more, a histogram
_BINS = 1 << 16
_MISTAKES = 5  # that are kept


@dataclass(frozen=True, slots=True, eq=False)
class Mistaken:
    """A row that is answered wrongly, with what the model sees of it."""

    margin: float  # log-odds of the answer, nats
    key: str  # name of the row, or its place
    truth: str
    answer: str
    x: FloatArray  # (k,) its selected columns
    text: str = ""  # its beginning, of texts


def _surest(mistakes: Iterable[Mistaken]) -> tuple[Mistaken, ...]:
    return tuple(sorted(mistakes, key=lambda each: -each.margin)[:_MISTAKES])


def surest_mistakes(
    X: Matrix, truths: Array, answers: Array, margin: FloatArray, classes: Sequence[str],
    key: Callable[[int], str], text: Callable[[int], str] = lambda _: "",
) -> tuple[Mistaken, ...]:  # fmt: skip
    """Return the surest of the rows that are answered wrongly, of classes that can be answered.

    Parameters
    ----------
    X : (n, k)
        Selected columns of the rows.
    truths, answers, margin : (n,)
        Labels, what was answered, and the log-odds of it.
    classes
        That can be answered.
    key, text
        What row i is called, and how it begins.
    """
    wrong = np.flatnonzero((answers != truths) & np.isin(truths, classes))
    return tuple(
        Mistaken(
            float(margin[i]), key(i), str(truths[i]), str(answers[i]), dense_row(X, i), text(i)
        )
        for i in wrong[np.argsort(-margin[wrong], kind="stable")[:_MISTAKES]].tolist()
    )


@final
@dataclass(frozen=True, slots=True)
class Verdicts:
    """What came of some rows."""

    pairs: Counter[tuple[str, str]] = field(default_factory=Counter)  # rows by label and answer
    wrong: IntArray | None = None  # (G,) rows decided wrongly at each k; None: nothing was judged
    left_out: int = 0  # rows that are for neither training nor test
    margin: FloatArray = field(default_factory=lambda: np.empty(0))  # (n,) of single rows
    right: BoolArray = field(default_factory=lambda: np.empty(0, dtype=np.bool_))  # (n,)
    bins: IntArray | None = None  # (2, 65536) rows by margin, and how many of them are right
    mistakes: tuple[Mistaken, ...] = ()  # some of the surest, the surest first
    bare: int = 0  # rows that say nothing to the model

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
            mistakes=_surest((*self.mistakes, *other.mistakes)),
            bare=self.bare + other.bare,
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


# Judges ----------------------------------------------------------------------------------------


@dataclass(frozen=True, slots=True)
class Judge:
    """A model, the models of every k, and the columns that any of them sees."""

    rule: Rule
    classes: tuple[str, ...]  # (C,)
    model: Model[Any]
    columns: IntArray  # (U,) that are looked at
    own: IntArray  # (k,) which of them the model sees
    every_k: EveryK | None = None
    on_path: IntArray | None = None  # (V,) which of the U columns these see

    @classmethod
    def of(
        cls, rule: Rule, classes: tuple[str, ...], model: Model[Any], columns: IntArray,
        every_k: EveryK | None = None, seen_by_k: IntArray | None = None,
    ) -> Judge:  # fmt: skip
        """Return a judge; `seen_by_k` are the columns of `every_k`, numbered as `columns` are."""
        union = columns if seen_by_k is None else np.union1d(columns, seen_by_k)
        on_path = None if seen_by_k is None else np.searchsorted(union, seen_by_k)
        own = np.searchsorted(union, columns)
        return cls(rule, classes, model, union, own, every_k, on_path)

    def verdicts(
        self, X: Matrix, labels: Array, key: Callable[[int], str],
        text: Callable[[int], str] = lambda _: "",
    ) -> Verdicts:  # fmt: skip
        """Judge rows over the U columns (n, U), with their labels (n,).

        And what row i is called, and how it begins.
        """
        names, own = np.array(self.classes, dtype=str), X[:, self.own]
        scores = self.rule.scores(self.model.prepare(own))
        answers, margin = names[winners(scores)], margins(scores)
        pairs = Counter(zip(labels.tolist(), answers.tolist(), strict=True))
        found = Verdicts(
            pairs, self._wrong(X, labels, names), 0, margin, answers == labels,
            mistakes=surest_mistakes(own, labels, answers, margin, self.classes, key, text),
            bare=bare_rows(MODELS[self.model.name].takes, self._features(own)),
        )  # fmt: skip
        return found + Verdicts()

    def _features(self, own: Matrix) -> Matrix:
        return own if self.model.exposure is None else own[:, :-1]

    def _wrong(self, X: Matrix, labels: Array, names: Array) -> IntArray | None:
        if self.every_k is None:
            return None
        return wrong_at_every_k(self.every_k, X[:, self.on_path], labels, names)
