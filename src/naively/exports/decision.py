"""What is exported: a rule, the features that it sees, and the classes that it tells apart."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any, Literal, TypeAlias

import numpy as np

from naively._types import BoolArray, FloatArray
from naively.models.rules import LinearRule, Rule
from naively.models.value_rules import AbsoluteRule, QuadraticRule, TableRule, kind_of
from naively.statistics.exposure import Exposure

Label: TypeAlias = str | int | bool
SingleRule: TypeAlias = LinearRule | QuadraticRule | AbsoluteRule | TableRule
Logarithm: TypeAlias = Literal["log1p", "log"]  # ln(1 + x); 1 + ln(x) of x above 0
LOWEST = -1e308  # the score of a class that is ruled out, where there is no infinity


@dataclass(frozen=True, slots=True)
class Decision:
    """A rule with what stands around it."""

    model: str  # its name
    classes: tuple[Label, ...]  # (C,)
    names: tuple[str, ...]  # (q,) of the columns that the rule sees
    columns: tuple[int, ...]  # (q,) their places among the columns of training
    named: bool  # whether they have names of their own
    n_features: int  # columns of training
    rule: Rule
    threshold: float | None = None  # an entry above it is 1, others 0; None: values as they are
    missing: bool = False  # a value may be missing, and then says nothing
    posterior: bool = True  # whether the softmax of the scores are probabilities
    of_words: bool = False  # the features are words: what is not there was counted 0 times
    exposure: Exposure = None  # "total": the rule sees, after the columns, the sum of the row
    row_sum: float | None = None  # to which the values of a row, over all columns, are scaled
    logarithm: Logarithm | None = None  # of the values, after that
    answer_from: tuple[int, float] | None = None  # code of a class, and the log-odds it must reach
    unsaid: str = ""  # what keeps all formats but JSON from telling it, if something does
    more: Mapping[str, Any] = field(default_factory=dict)  # that only JSON tells

    @property
    def of_whole_row(self) -> bool:
        """Whether the sum of a row over all columns is needed."""
        return self.exposure == "total" or self.row_sum is not None

    @property
    def keys(self) -> tuple[str | int, ...]:
        """How a row calls the columns: by name, or by position if they have none."""
        return self.names if self.named else self.columns


ABLE: Mapping[str, tuple[type[Any], ...]] = {  # kinds of rules that formats can express
    "onnx": (LinearRule, QuadraticRule, AbsoluteRule),
    "sql": (LinearRule, QuadraticRule, AbsoluteRule, TableRule),
    "python": (LinearRule, QuadraticRule, AbsoluteRule, TableRule),
}


def single(decision: Decision, format: str, layout: str = "") -> SingleRule:
    """Return the rule if a format, SQL in one of its layouts, can express it.

    Raises
    ------
    ValueError
        Saying which formats can.
    """
    reason = _hindrance(decision, format, layout)
    if reason:
        another = {"columns": "words", "words": "columns"}.get(layout, "")
        other = f"`layout`={another!r}, or " if another else ""
        other *= not _hindrance(decision, format, another)
        able = [repr(each) for each in ABLE if each != format and not _hindrance(decision, each)]
        raise ValueError(
            f"`format`={format!r}{f' with `layout`={layout!r}' if other else ''} cannot express "
            f"this {decision.model} model: {reason}. Use {other}"
            f"{' or '.join([*able, repr('json')])}."
        )
    rule: SingleRule = decision.rule  # type: ignore[assignment]
    return rule


def _hindrance(decision: Decision, format: str, layout: str = "") -> str:
    """Return what keeps a format from telling the rule; nothing if it, or a layout of it, can."""
    if decision.unsaid:
        return decision.unsaid
    if not isinstance(decision.rule, ABLE[format]):
        return f"its rule is of the kind {kind_of(decision.rule)!r}"
    if (
        decision.of_whole_row
        and format == "sql"
        and (layout == "columns" or not by_words(decision))
    ):
        return "it sees the total of a row over all columns"
    if layout == "words" and not isinstance(decision.rule, LinearRule):
        return (
            "a word that is not there adds nothing in linear rules only, and this is of the kind "
            f"{kind_of(decision.rule)!r}"
        )
    if layout == "words" and decision.missing:
        return "what is not there was counted 0 times, and the model knows missing values"
    if layout == "words" and not decision.named:
        return (
            "its columns have no names, by which words are found (train on a data frame, or export "
            "the pipeline whose first step is WordCounts)"
        )
    if decision.of_words and format == "onnx":
        return "it sees words of texts, and a graph takes a matrix with the columns of training"
    return ""


def by_words(decision: Decision) -> bool:
    """Whether words that are not in a row add nothing, so that those that are suffice."""
    return isinstance(decision.rule, LinearRule) and not decision.missing


def start_of(rule: SingleRule) -> FloatArray:
    """Score of each class (C,) before any feature."""
    return rule.log_prior if isinstance(rule, TableRule) else rule.intercept


def prior_of(rule: SingleRule) -> FloatArray | None:
    """Scores (C,) of a row that rules out every class; None where that cannot be."""
    if isinstance(rule, TableRule) or (isinstance(rule, LinearRule) and rule.veto is not None):
        return rule.log_prior
    return None


def offset_of(rule: SingleRule) -> FloatArray | None:
    """Return what each feature has in the start (C, q), and a missing one has not."""
    return None if isinstance(rule, TableRule | AbsoluteRule) else rule.offset


def vetoes_of(rule: SingleRule) -> tuple[FloatArray, FloatArray] | None:
    """Events of probability 0 in a row of zeros (C,), and what a non-zero adds (C, q)."""
    if not isinstance(rule, LinearRule) or rule.veto is None or rule.veto_offset is None:
        return None
    return rule.veto_offset, rule.veto


def finite_table(rule: TableRule) -> tuple[FloatArray, BoolArray]:
    """Log-probabilities (M, C) with 0 where they are -inf, and where that is."""
    never = np.isneginf(rule.log_prob)
    return np.where(never, 0.0, rule.log_prob), never
