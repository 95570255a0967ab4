"""How often a model answers what for rows of which label: counts, which add up like all others."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from naively._types import Array, IntArray
from naively.families.rules import Rule, winners
from naively.scale.features import FeatureDefinition, TextFeatures
from naively.scale.holdout import TEST, rows_of
from naively.scale.sources import explained
from naively.scale.stream import Task, batches_of
from naively.scale.text import text_matrix
from naively.scale.vocabulary import Vocabulary


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
        features = self.features
        if isinstance(features, TextFeatures):
            X = self._terms_in(rows, features)
        else:
            X = rows[:, self.columns]
            X = (X > features.threshold).astype(np.int64) if features.presence else X
        answers: Array = np.array(self.classes, dtype=str)[winners(self.rule.scores(X))]
        return answers

    def _terms_in(self, rows: Any, features: TextFeatures) -> Any:
        if self.terms is None:
            raise ValueError("hashed columns have no terms by which rows could be read.")
        return text_matrix(rows, replace(features, n_hashed=None), self.terms)


def confusion(task: Task, answerer: Answerer) -> Counter[tuple[str, str]]:
    """Count pairs of label and answer over the test rows of a task, or all if none are held out."""
    found: Counter[tuple[str, str]] = Counter()
    for part in task.parts:
        for batch in batches_of(task, part):
            with explained(str(part)):
                rows, labels = batch.rows, batch.labels.astype(str)
                if task.holdout is not None:
                    rows, labels = rows_of(batch, TEST)
                if len(labels):
                    answers = answerer.answers(rows)
                    found.update(zip(labels.tolist(), answers.tolist(), strict=True))
    return found


def total(parts: Iterable[Counter[tuple[str, str]]]) -> Counter[tuple[str, str]]:
    """Add the counts of tasks."""
    found: Counter[tuple[str, str]] = Counter()
    for part in parts:
        found.update(part)
    return found
