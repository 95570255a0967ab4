"""Training from statistics alone, as `naively.jobs.training` does from rows.

Without the estimators, whose import of scikit-learn takes longer than many a selection.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any, cast

import numpy as np

from naively._types import Array, IntArray
from naively.estimators.parameters import is_auto, resolve_k
from naively.io.errors import InputError, mendable, told_of
from naively.io.models import Model
from naively.io.text import TextRule
from naively.jobs.settings import ModelSettings
from naively.jobs.training import (
    Figures,
    Trained,
    default_note,
    number_of_features,
    relative_weights,
)
from naively.judging.path_rule import PathRule, path_rule, rule_of_rules
from naively.models.bernoulli import bernoulli
from naively.models.family import Family
from naively.models.multinomial import multinomial
from naively.models.priors import log_prior
from naively.models.rules import LinearRule
from naively.selection.path import path
from naively.selection.solve import solve
from naively.statistics.counts import ClassCounts
from naively.text.features import FeatureDefinition, TextFeatures
from naively.text.labels import label_text
from naively.text.vocabulary import Vocabulary
from naively.work.records import CountRecord

TRAINED_BY_TOTALS = {"multinomial": multinomial, "bernoulli": bernoulli}


@dataclass(frozen=True, slots=True)
class Source:
    """What the columns of statistics are."""

    name: str  # for messages; empty if there is none
    features: FeatureDefinition
    names: Vocabulary | None
    text: TextRule | None  # that goes with the model; None for matrices and hashed columns

    @classmethod
    def of_record(cls, record: CountRecord, column: str) -> Source:
        """Say it of a record, whose texts stood in some column."""
        return cls("", record.features, record.names, rule_of(record.features, column))

    def terms(self, columns: IntArray) -> Vocabulary | None:
        """Return the terms in some columns of text; None if they cannot be looked for."""
        searched = isinstance(self.features, TextFeatures) and self.names is not None
        return self.names.take(columns) if searched and self.names is not None else None


@dataclass(frozen=True, slots=True)
class Solved:
    """A trained model with what it was trained on; let it go soon."""

    trained: Trained
    family: Family[ClassCounts]
    statistics: ClassCounts  # of the kept columns
    kept: IntArray  # columns that the features were chosen from


def train_totals(
    source: Source, counts: ClassCounts, settings: ModelSettings, *, clip: bool = False
) -> Solved:
    """Select features and train the classifier from statistics.

    Parameters
    ----------
    source
        What the columns are.
    counts
        Of the training rows.
    settings
        The model.
    clip
        Whether a `k` above the number of features means all of them, instead of an error.

    Raises
    ------
    InputError
        If the settings do not fit the statistics.
    """
    if is_auto(settings.k):
        raise InputError(
            "`-k auto` cross-validates, which needs the rows themselves and not only their counts; "
            "give a number, or select from a file that fits into memory."
        )
    family = family_of(settings, counts)
    kept = kept_totals(source, counts, settings)
    whole = len(kept) == counts.n_features
    statistics = replace(counts if whole else counts.take(kept), classes=_names(counts.classes))
    with told_of(source.name) if source.name else mendable():
        k = resolve_k(number_of_features(settings, len(kept), clip=clip), len(kept))
        limits: dict[str, Any] = {"exact": settings.exact, "time_limit": settings.time_limit}
        selection = solve(family, statistics, k, **limits)
        prior = log_prior(statistics.class_weight)
        rule = cast("LinearRule", family.rule(statistics, selection.support, prior))
    trained = Trained(
        model=_model(source, settings, counts, kept[selection.support], rule, statistics.classes),
        selection=selection,
        figures=Figures(weights=relative_weights(rule), counts=statistics.table[selection.support]),
        class_rows=counts.class_rows,
        n_features=len(kept),
        n_rows=int(counts.class_rows.sum()),
        notes=tuple(default_note(settings, len(kept))),
    )
    return Solved(trained, family, statistics, kept)


def _model(
    source: Source,
    settings: ModelSettings,
    counts: ClassCounts,
    columns: IntArray,
    rule: LinearRule,
    classes: Array,
) -> Model:
    return Model(
        kind=settings.kind,
        classes=tuple(classes.tolist()),
        names=feature_names(source, columns),
        columns=columns,
        n_features=counts.n_features,
        rule=rule,
        threshold=0.0 if counts.presence else None,
        text=source.text,
    )


def family_of(settings: ModelSettings, counts: ClassCounts) -> Family[ClassCounts]:
    """Return the model, with its smoothing bound.

    Raises
    ------
    InputError
        If the statistics do not train it.
    """
    if settings.kind not in TRAINED_BY_TOTALS:
        raise InputError(
            f"Streams add up counts, which train multinomial and bernoulli models; got --model "
            f"{settings.kind}. Leave out --engine."
        )
    presence = settings.kind == "bernoulli" or settings.binary
    if counts.presence != presence:
        raise InputError(
            f"--model {settings.kind} needs statistics counted {'with' if presence else 'without'} "
            "--presence; count the shards again, or choose the other model."
        )
    with mendable():
        return TRAINED_BY_TOTALS[settings.kind](settings.alpha)


def kept_totals(source: Source, counts: ClassCounts, settings: ModelSettings) -> IntArray:
    """Columns that are counted often enough in the training rows."""
    text = source.names is not None and isinstance(source.features, TextFeatures)
    least = max(settings.min_count, 1) if text else settings.min_count
    if least == 0 or (least == 1 and not text):
        return np.arange(counts.n_features)
    kept = np.flatnonzero(counts.table.sum(axis=1) >= least)
    if len(kept) == 0:
        where = f"{source.name}: no" if source.name else "No"
        raise InputError(
            f"{where} feature is counted {least:,} times or more in training; lower --min-count."
        )
    return kept


def feature_names(source: Source, columns: IntArray) -> tuple[str, ...]:
    """Return the names of some columns."""
    if source.names is not None:
        return tuple(source.names.names(columns).tolist())
    return tuple(str(column) for column in columns.tolist())


def rule_of(features: FeatureDefinition, column: str) -> TextRule | None:
    """Return the rule by which a column of text was counted, for prediction; None for numbers."""
    if not isinstance(features, TextFeatures) or features.n_hashed is not None:
        return None
    return TextRule(
        columns=(column,),
        analyzer=features.analyzer,
        ngrams=features.ngram_range,
        stop_words=features.stop_words,
        token_pattern=features.token_pattern,
        lowercase=features.lowercase,
    )


def _names(classes: Array) -> Array:
    """Labels as text, as files in memory spell them where that keeps them apart."""
    names = [label_text(label) or str(label) for label in classes.tolist()]
    if len(set(names)) < len(names):
        names = [str(label) for label in classes.tolist()]
    return np.array(names, dtype=object)


def rules_of(solved: Solved, settings: ModelSettings, grid: IntArray) -> tuple[PathRule, IntArray]:
    """Return the models of every k of a grid, over the columns that any of them sees: (U,)."""
    family, statistics = solved.family, solved.statistics
    prior = log_prior(statistics.class_weight)
    if settings.exact:
        supports = [_exact(solved, settings, k) for k in grid.tolist()]
        rules: list[Any] = [family.rule(statistics, support, prior) for support in supports]
        rule = rule_of_rules(supports, rules, statistics.n_features)
    else:
        rule = path_rule(family, statistics, path(family, statistics, grid), prior)
    return rule.over_its_columns(), solved.kept[rule.columns]


def _exact(solved: Solved, settings: ModelSettings, k: int) -> IntArray:
    return solve(
        solved.family, solved.statistics, k, exact=True, time_limit=settings.time_limit
    ).support
