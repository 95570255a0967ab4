"""From the statistics of some rows to a model, and to what is worth telling of it."""

from __future__ import annotations

import warnings
from collections.abc import Iterator
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from naively._nearest import short
from naively._types import Array, FloatArray, IntArray
from naively.jobs.constraints import constrained, in_options, weighed
from naively.jobs.data import Data, Kinds
from naively.jobs.engines import Workers
from naively.jobs.model_file import ModelFile
from naively.jobs.rows import HeldRows
from naively.jobs.settings import DEFAULT_K, ModelSettings, asked_k
from naively.models import MODELS
from naively.models.constraints import Constraints
from naively.models.family import Coupled, Ordered
from naively.models.model import Model
from naively.models.rules import HybridRule, Rule, weights_of_classes
from naively.read.errors import told_of
from naively.selection.certificate import Selection
from naively.selection.constrained import interchangeable
from naively.selection.redundancy import own
from naively.selection.solve import tied_with_last
from naively.selection.train import Trained, choices, resolve_k, train
from naively.statistics.categories import ClassCategories
from naively.statistics.moments import ClassMoments
from naively.text.features import TextFeatures
from naively.text.labels import folded

_SHOWN = 5  # groups of classes in a note
_NAMED = 20  # features that are displaced by each


@dataclass(frozen=True, slots=True)
class Figures:
    """What is known of the selected features in each class, (k, C); None where it has no sense."""

    weights: FloatArray | None = None  # relative to their mean; infinite where a class is vetoed
    counts: Array | None = None  # without smoothing
    centers: FloatArray | None = None  # means, medians for l1 centers
    dispersions: FloatArray | None = None  # standard deviations, mean absolute ones for l1 centers


@dataclass(frozen=True, slots=True)
class Fitted:
    """A model with what is worth telling of its training; the statistics are let go."""

    file: ModelFile
    selection: Selection
    figures: Figures
    class_rows: IntArray  # (C,)
    n_features: int  # to choose from
    n_rows: int
    alpha: float | None = None  # smoothing; None: the model has none, or one for each feature
    notes: tuple[str, ...] = ()  # what the reader should know of the training
    displaced: tuple[tuple[str, ...], ...] = ()  # (k,) names; (): it was not asked for


def fit(
    data: Data, model: Model[Any], settings: ModelSettings, kinds: Kinds, *, clip: bool = False,
    workers: Workers | None = None,
    temperature: float | None = None,
) -> tuple[Fitted, Trained[Any]]:  # fmt: skip
    """Select features and train the classifier on the rows of some kinds.

    Parameters
    ----------
    data
        All rows.
    model
        With its parameters.
    settings
        Its number of features, and how often one must occur.
    kinds
        Of the rows to train on.
    clip
        Whether a `k` above the number of features means all of them, instead of an error.
    workers
        Who brings the rows, for a model that needs them; None if there are only statistics.
    temperature
        By which the scores are divided, if they are calibrated.

    Returns
    -------
    fitted, trained
        What is told and kept, and the model with its statistics, which may be most of the memory.
    """
    kept = data.kept(kinds, settings)
    model = constrained(model, data, settings, kept)
    with told_of(data.name), warnings.catch_warnings(record=True) as w:
        warnings.simplefilter("always")
        counted, rows = data.statistics(kinds, kept), None
        statistics = weighed(counted, settings)
        most, _ = choices(model, statistics.n_features, len(statistics.classes))
        if workers is not None:
            rows = HeldRows(data, kinds, workers).over(model, statistics, kept)
        with in_options():
            k = resolve_k(asked_k(settings, most, clip=clip), most)
            trained = train(model, statistics, k, rows=rows)
        if temperature is not None:
            trained = trained.at(temperature)
        if model.needs_rows:  # every k is judged, and drawn, by the model's own rule
            trained = replace(trained, model=own(model, statistics, rows))
    columns = trained.selection.support if kept is None else kept[trained.selection.support]
    found = data.rows_of_classes(*kinds)
    rows_of_classes = np.array([found[str(each)] for each in trained.classes.tolist()])
    alpha = model.alpha
    fitted = Fitted(
        file=_model_file(data, settings, trained, columns),
        selection=trained.selection,
        displaced=tuple(
            data.named((each if kept is None else kept[each])[:_NAMED])
            for each in trained.selection.displaced
        ),
        figures=figures(trained, counted),
        class_rows=rows_of_classes,
        n_features=statistics.n_features,
        n_rows=data.n_rows(*kinds),
        alpha=alpha if isinstance(alpha, float) else None,
        notes=(
            *_default_note(settings, most),
            *_case_note(trained.classes),
            *_tie_note(trained, settings),
            *_refit_note(trained),
            *_calibration_note(temperature),
            *data.notes,
            *_region_note(data, trained.rule),
            *(str(each.message) for each in w),
        ),
    )
    return fitted, trained


def _default_note(settings: ModelSettings, there_are: int) -> Iterator[str]:
    """Say that nothing was selected, if nobody asked for a number and there are few features."""
    if settings.k is None and settings.budget is None and there_are < DEFAULT_K:
        yield (
            f"All {settings.counted} were taken, since there are fewer than {DEFAULT_K}, the "
            "default; "
            "-k gives their number."
        )


def _case_note(classes: Array) -> Iterator[str]:
    """Say which classes a reader would take for one."""
    alike: dict[str, list[str]] = {}
    for name in classes.astype(str).tolist():
        alike.setdefault(folded(name), []).append(short(name))
    groups = [" and ".join(names) for names in alike.values() if len(names) > 1]
    if groups:
        more = f" (and {len(groups) - _SHOWN} more)" if len(groups) > _SHOWN else ""
        yield (
            f"Classes that differ by case or spelling only are kept apart: "
            f"{'; '.join(groups[:_SHOWN])}{more}."
        )


def _tie_note(trained: Trained[Any], settings: ModelSettings) -> Iterator[str]:
    """Say how many features the last places were drawn from, where the choice among them is none.

    Gains compare features in models whose gains add up; in the others features are equal only if
    they are counted alike.
    """
    family, statistics, support = (
        trained.model.family,
        trained.statistics,
        trained.selection.support,
    )
    if trained.model.objective is not None:
        return  # what a feature adds depends on the others
    if MODELS[settings.kind].regions or not 0 < len(support) < statistics.n_features:
        return
    gain = family.gain(statistics)
    problem, constraints = family.problem(statistics), trained.model.constraints
    if isinstance(problem, Ordered):
        return
    if isinstance(problem, Coupled):
        if constraints is None or constraints.groups is None:
            inside, outside = _twins(statistics.table, gain, support, constraints)
            places = f"{inside:,} of the {len(support):,} places"
        else:
            outside = 0
    elif constraints is not None:
        inside, outside = interchangeable(trained.model, statistics, support)
        places = f"{inside:,} of the {trained.selection.k:,} places"
    else:
        tied = tied_with_last(problem, gain, support)
        inside = int(tied[support].sum())
        outside = int(tied.sum()) - inside
        places = f"the last {inside:,} places" if inside > 1 else "the last place"
    if outside:
        what = settings.counted.removesuffix(" that may be chosen")
        yield (
            f"{inside + outside:,} {what} tie for {places}; those that come first, by column "
            "or by spelling, were taken."
        )


def _refit_note(trained: Trained[Any]) -> Iterator[str]:
    """Say which rule decides, and which model chose."""
    if trained.refitted is None:
        return
    k, C = len(trained.selection.support), trained.refitted.C
    yield (
        f"A logistic regression on the {k:,} features decides (C = {C:.3g}, by the log loss of "
        f"five folds); they were chosen by the {trained.model.name} model."
    )


def _calibration_note(temperature: float | None) -> Iterator[str]:
    if temperature is not None:
        yield (
            f"Scores were divided by {temperature:.3g}, so that their probabilities are those of "
            "rows that were not trained on (five folds)."
        )


def _twins(
    table: Any, gain: FloatArray, support: IntArray, constraints: Constraints | None
) -> tuple[int, int]:
    """Count chosen features that are counted like others in every class, and these others.

    They must have been free to choose from, and cost the same.
    """
    others = np.flatnonzero(np.isin(gain, gain[support]))
    others = others[~np.isin(others, support)]
    costs = np.zeros(0)
    if constraints is not None:
        support, others = (each[np.isin(each, constraints.free)] for each in (support, others))
        costs = constraints.unit_costs
    chosen, left = (
        [
            row.tobytes() + cost.tobytes()
            for row, cost in zip(
                np.ascontiguousarray(table[at]),
                costs[at] if len(costs) else np.zeros(len(at)),
                strict=True,
            )
        ]
        for at in (support, others)
    )
    both = set(chosen) & set(left)
    return sum(row in both for row in chosen), sum(row in both for row in left)


def _region_note(data: Data, rule: Rule) -> Iterator[str]:
    if isinstance(rule, HybridRule) and data.n_regions > 1:
        weights = zip(data.text_columns, rule.theta.tolist(), strict=True)
        worth = ", ".join(f"{column} {theta:.3g}" for column, theta in weights)
        yield f"Weights of the regions, in words that each is worth: {worth}."


def _model_file(
    data: Data, settings: ModelSettings, trained: Trained[Any], columns: IntArray
) -> ModelFile:
    features = data.features
    text, numbers = (features, None) if isinstance(features, TextFeatures) else (None, features)
    return ModelFile(
        kind=settings.kind,
        classes=tuple(str(each) for each in trained.classes.tolist()),
        names=data.named(columns),
        columns=columns.astype(np.int64),
        n_features=data.n_features,
        rule=trained.rule,
        threshold=0.0 if features.presence else None,  # with --binary, for prediction too
        features=text,
        text_columns=data.text_columns,
        first_column=0 if numbers is None else numbers.first_column,
        named=numbers is None or numbers.names is not None,
        layer=None if numbers is None else numbers.layer,
    )


def figures(trained: Trained[Any], counted: Any) -> Figures:
    """Describe the selected features in each class; `counted` are rows that weigh the same."""
    statistics, support = trained.statistics, trained.selection.support
    if hasattr(statistics, "center"):  # medians
        return Figures(
            centers=statistics.center[:, support].T, dispersions=statistics.dispersion[:, support].T
        )
    if isinstance(statistics, ClassMoments):
        taken = statistics.take(support)
        return Figures(centers=taken.mean, dispersions=np.sqrt(taken.variance))
    words = getattr(counted, "words", counted)  # of hybrid models
    counts = None if isinstance(words, ClassCategories) else words.table[support]
    return Figures(weights=weights_of_classes(trained.rule), counts=counts)
