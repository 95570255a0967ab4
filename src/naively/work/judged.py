"""Models judged where the rows are."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from naively._types import Array, FloatArray, IntArray
from naively.judging.calibration import GRID, positions, slopes
from naively.judging.every_k import EveryK, weight_of_wrong
from naively.judging.parting import LEFT_OUT, TEST, UNLABELLED
from naively.judging.scoring import is_share, sums_of, totals_of
from naively.judging.thresholds import log_odds
from naively.judging.verdicts import Judge, Verdicts
from naively.models.model import Model
from naively.models.rules import Rule, winners
from naively.statistics.exposure import place_of
from naively.statistics.matrix import Matrix
from naively.text.counter import TermReader
from naively.text.features import FeatureDefinition, TextFeatures
from naively.text.vocabulary import Vocabulary
from naively.text.weighting import scaled, unit_rows
from naively.work.eye import Eye, eye_for, seen_columns
from naively.work.stream import Task, rows_by_kind, told_at


@dataclass(frozen=True, slots=True)
class Look:
    """Which columns are looked at, and what they are."""

    features: FeatureDefinition
    names: Vocabulary | None  # (U,) of texts
    columns: IntArray  # (U,)
    regions: bool = False  # columns of text are kept apart
    idf: FloatArray | None = None  # (U,) by which columns are multiplied
    seen: IntArray | None = None  # those of the columns that are given, once rows have length 1

    def eye(self) -> Eye:
        """Return what sees rows over the columns."""
        see = eye_for(self.features, self.names, self.columns, regions=self.regions)
        idf, seen = self.idf, self.seen
        return see if idf is None else lambda batch: weighted(see(batch), idf, seen)


def weighted(X: Matrix, idf: FloatArray, seen: IntArray | None) -> Matrix:
    """Multiply columns by their idf; `seen` columns of rows of length 1, if these are told."""
    X = scaled(X, idf)
    return X if seen is None else unit_rows(X)[:, seen]


def judged(task: Task, judge: Judge, look: Look) -> Verdicts:
    """Judge the test rows of a task."""
    found, see = Verdicts(), look.eye()
    for part in task.parts:
        for seen in rows_by_kind(task, part):
            batch, labels = seen.of_kind(TEST)
            with told_at(part):
                if len(batch):
                    found += judge.verdicts(see(batch), labels, batch.called, batch.beginning)
            # Those without a label were told where the other rows were counted.
            only_tested = task.parting is not None and task.parting.share == 1
            left_out = UNLABELLED if only_tested else LEFT_OUT
            found += Verdicts(left_out=int((seen.kinds == left_out).sum()))
    return found


@dataclass(frozen=True, slots=True)
class Fold:
    """The models of every k that were trained without the rows of one kind."""

    kind: int
    classes: Array  # (C,)
    every_k: EveryK
    on_path: IntArray  # which of the columns looked at they see
    idf: FloatArray | None = None  # of these, from the rows that they were trained on, or ...
    of_all: bool = False  # ... of all columns looked at, over which rows then have length 1
    weights: Mapping[str, float] | None = None  # of a row of each class; None: one
    scoring: str = "accuracy"  # see `judging.scoring`
    names: Array = field(default_factory=lambda: np.empty(0, dtype=str))  # (N,) all labels

    def weight_of(self, labels: Array) -> FloatArray:
        """Weight of rows with some labels, (n,)."""
        if self.weights is None:
            return np.ones(len(labels))
        names, codes = np.unique(labels, return_inverse=True)
        return np.array([self.weights[name] for name in names.tolist()], dtype=np.float64)[codes]


def judged_folds(task: Task, folds: Sequence[Fold], look: Look) -> FloatArray:
    """Return sums over each fold at each k, and last of its rows alone: (T, G + 1, A)."""
    found, see = None, look.eye()
    for part in task.parts:
        for seen in rows_by_kind(task, part):
            with told_at(part):
                counts = np.array([_of_fold(fold, see, *seen.of_kind(fold.kind)) for fold in folds])
            found = counts if found is None else found + counts
    return np.zeros((len(folds), 1, 1)) if found is None else found


@dataclass(frozen=True, slots=True)
class Untempered:
    """A model that was trained without the rows of one kind."""

    kind: int
    classes: Array  # (C,)
    rule: Rule
    model: Model[Any]
    own: IntArray  # (k,) which of the columns looked at it sees
    idf: FloatArray | None = None  # (k,) of these, from the rows that it was trained on

    def scores(self, X: Matrix) -> FloatArray:
        """Scores (n, C) of rows over the columns looked at."""
        own = X[:, self.own]
        own = own if self.idf is None else scaled(own, self.idf)
        return np.asarray(self.rule.scores(self.model.prepare(own)))


def slopes_of_folds(task: Task, folds: Sequence[Untempered], look: Look) -> FloatArray:
    """Differentiate the log-likelihood of the rows of each fold, see `calibration`: (G,) nats."""
    total, see = np.zeros(len(GRID)), look.eye()
    for part in task.parts:
        for seen in rows_by_kind(task, part):
            for fold in folds:
                batch, labels = seen.of_kind(fold.kind)
                if len(batch):
                    with told_at(part):
                        scores = fold.scores(see(batch))
                        total += slopes(scores, positions(labels, fold.classes), batch.weight)
    return total


def odds_of_folds(
    task: Task, folds: Sequence[Untempered], look: Look, name: str, temperature: float
) -> Verdicts:
    """Log-odds of a class for the rows of each fold, and whether they are of it, as verdicts."""
    found, see = Verdicts(), look.eye()
    for part in task.parts:
        for seen in rows_by_kind(task, part):
            for fold in folds:
                batch, labels = seen.of_kind(fold.kind)
                if len(batch) and name in fold.classes:
                    with told_at(part):
                        scores = fold.scores(see(batch)) / temperature
                    code = int(np.flatnonzero(fold.classes == name)[0])
                    odds = log_odds(scores, code)
                    found += Verdicts(margin=odds, right=labels == name)
    return found


def _of_fold(fold: Fold, see: Any, batch: Any, labels: Array) -> FloatArray:
    X = see(batch)
    if fold.of_all and fold.idf is not None:
        X = weighted(X, fold.idf, fold.on_path)
    else:
        X = X[:, fold.on_path]
        X = X if fold.idf is None else scaled(X, fold.idf)
    if is_share(fold.scoring):
        weight = fold.weight_of(labels)
        wrong = weight_of_wrong(fold.every_k, X, labels, fold.classes, weight)
        return np.append(wrong, weight.sum())[:, None]
    sums = [
        sums_of(fold.scoring, scores, labels, fold.classes, fold.names)
        for _, scores in fold.every_k.scores(X)
    ]
    return np.array([*sums, totals_of(fold.scoring, labels, fold.names)])


@dataclass(frozen=True, slots=True)
class Answerer:
    """A rule and the features it sees, ready to answer texts or rows of a matrix anywhere."""

    rule: Rule
    classes: tuple[str, ...]  # (C,)
    features: FeatureDefinition  # of the statistics
    terms: Vocabulary | None  # (k,) selected terms, ascending; None for columns of a matrix
    columns: IntArray  # (k,) selected columns
    idf: FloatArray | None = None  # (k,) with weights "tfidf"

    def __post_init__(self) -> None:
        if self.features.two_passes:
            raise ValueError(
                "`norm` of weights 'tfidf' must be None for answers from selected terms alone; the "
                "length of a row is that of all its terms. `naively predict` knows them."
            )
        if (self.idf is None) == (self.features.weights == "tfidf"):
            raise ValueError(
                "`idf` must be that of the selected features with weights 'tfidf', and None "
                f"otherwise; got {self.idf!r}."
            )

    def answers(self, rows: Any) -> Array:
        """Label that the rule gives each row, (n,): of texts, or of a matrix."""
        exposure = self.features.exposure  # the rule sees it after the features
        if isinstance(self.features, TextFeatures):
            reader = TermReader(self.features, self.terms or Vocabulary.of([]))
            X = reader.rows(rows) if exposure is None else reader.exposed_rows(rows)
        else:
            also = place_of(exposure, self.features.n_columns)
            X = seen_columns(rows, np.append(self.columns, also), self.features)
        X = X if self.idf is None else scaled(X, self.idf)
        answers: Array = np.array(self.classes, dtype=str)[winners(self.rule.scores(X))]
        return answers
