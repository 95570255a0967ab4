"""From the statistics of some rows to a model, and to what is worth telling of it."""

from __future__ import annotations

import warnings
from collections.abc import Iterator
from dataclasses import dataclass
from itertools import pairwise
from typing import Any

import numpy as np

from naively._nearest import short
from naively._types import Array, FloatArray, IntArray
from naively.jobs.data import Data, Kinds
from naively.jobs.model_file import ModelFile
from naively.jobs.settings import DEFAULT_K, ModelSettings
from naively.models import MODELS
from naively.models.family import Coupled
from naively.models.model import Model
from naively.models.rules import HybridRule, Rule
from naively.read.errors import InputError, told_of
from naively.selection.certificate import Selection
from naively.selection.solve import tied_with_last
from naively.selection.train import Trained, resolve_k, train
from naively.statistics.categories import ClassCategories
from naively.statistics.moments import ClassMoments
from naively.text.features import TextFeatures
from naively.text.labels import folded

_SHOWN = 5  # groups of classes in a note


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


def fit(
    data: Data, model: Model[Any], settings: ModelSettings, kinds: Kinds, *, clip: bool = False
) -> tuple[Fitted, Trained[Any]]:
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

    Returns
    -------
    fitted, trained
        What is told and kept, and the model with its statistics, which may be most of the memory.
    """
    kept = data.kept(kinds, settings)
    with told_of(data.name), warnings.catch_warnings(record=True) as w:
        warnings.simplefilter("always")
        statistics = data.statistics(kinds, kept)
        k = resolve_k(_asked(settings, statistics.n_features, clip=clip), statistics.n_features)
        trained = train(model, statistics, k)
    columns = trained.selection.support if kept is None else kept[trained.selection.support]
    found = data.rows_of_classes(*kinds)
    rows_of_classes = np.array([found[str(each)] for each in trained.classes.tolist()])
    alpha = model.alpha
    fitted = Fitted(
        file=_model_file(data, settings, trained, columns),
        selection=trained.selection,
        figures=figures(trained),
        class_rows=rows_of_classes,
        n_features=statistics.n_features,
        n_rows=data.n_rows(*kinds),
        alpha=alpha if isinstance(alpha, float) else None,
        notes=(
            *_default_note(settings, statistics.n_features),
            *_case_note(trained.classes),
            *_tie_note(trained, settings),
            *data.notes,
            *_region_note(data, trained.rule),
            *(str(each.message) for each in w),
        ),
    )
    return fitted, trained


def _asked(settings: ModelSettings, there_are: int, *, clip: bool) -> int | float | str:
    """Return the `k` to train with: the default, or with `clip` any, is at most all there are."""
    k = DEFAULT_K if settings.k is None else settings.k
    if not isinstance(k, int) or k <= there_are:
        return k
    if settings.k is not None and not clip:
        raise InputError(
            f"`-k` must be at most the number of features, {there_are:,}; got {k:,} "
            "(-k all takes all of them)."
        )
    return there_are


def _default_note(settings: ModelSettings, there_are: int) -> Iterator[str]:
    """Say that nothing was selected, if nobody asked for a number and there are few features."""
    if settings.k is None and there_are < DEFAULT_K:
        yield (
            f"All features were taken, since there are fewer than {DEFAULT_K}, the default; "
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
    if MODELS[settings.kind].regions or not 0 < len(support) < statistics.n_features:
        return
    gain = family.gain(statistics)
    problem = family.problem(statistics)
    if isinstance(problem, Coupled):
        inside, outside = _twins(statistics.table, gain, support)
        places = f"{inside:,} of the {len(support):,} places"
    else:
        tied = tied_with_last(problem, gain, support)
        inside = int(tied[support].sum())
        outside = int(tied.sum()) - inside
        places = f"the last {inside:,} places" if inside > 1 else "the last place"
    if outside:
        yield (
            f"{inside + outside:,} features tie for {places}; those that come first, by column "
            "or by spelling, were taken."
        )


def _twins(table: Any, gain: FloatArray, support: IntArray) -> tuple[int, int]:
    """Count chosen features that are counted like others in every class, and these others."""
    others = np.flatnonzero(np.isin(gain, gain[support]))
    others = others[~np.isin(others, support)]
    chosen, left = (
        [row.tobytes() for row in np.ascontiguousarray(table[at])] for at in (support, others)
    )
    both = set(chosen) & set(left)
    return sum(row in both for row in chosen), sum(row in both for row in left)


def _region_note(data: Data, rule: Rule) -> Iterator[str]:
    if isinstance(rule, HybridRule) and data.n_regions > 1:
        weights = zip(data.text_columns, rule.theta.tolist(), strict=True)
        worth = ", ".join(f"{column} {theta:.3g}" for column, theta in weights)
        yield f"Weights of the regions, in words that each is worth: {worth}."


def relative_log(log_prob: FloatArray) -> FloatArray:
    """Log-probabilities (n, C) relative to the mean of those that are finite."""
    finite = np.isfinite(log_prob)
    total = np.where(finite, log_prob, 0.0).sum(axis=1, keepdims=True)
    return np.asarray(log_prob - total / np.maximum(finite.sum(axis=1, keepdims=True), 1))


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


def figures(trained: Trained[Any]) -> Figures:
    """Describe the selected features in each class."""
    statistics, support = trained.statistics, trained.selection.support
    if hasattr(statistics, "center"):  # medians
        return Figures(
            centers=statistics.center[:, support].T, dispersions=statistics.dispersion[:, support].T
        )
    if isinstance(statistics, ClassMoments):
        taken = statistics.take(support)
        return Figures(centers=taken.mean, dispersions=np.sqrt(taken.variance))
    words = getattr(statistics, "words", statistics)  # of hybrid models
    counts = None if isinstance(words, ClassCategories) else words.table[support]
    return Figures(weights=relative_weights(trained.rule), counts=counts)


def relative_weights(rule: Rule) -> FloatArray:
    """Weights (k, C) relative to their mean over the classes, infinite where a class is vetoed."""
    arrays = rule.arrays()
    if "log_prob" in arrays:  # of categories: that which says most for a class
        table, bounds = arrays["log_prob"], pairwise(arrays["starts"].tolist())
        most = [relative_log(table[start:stop]).max(axis=0) for start, stop in bounds]
        return np.array(most).reshape(-1, table.shape[1])
    weights, veto = arrays["weights"], arrays.get("veto")
    if veto is None:
        return np.asarray(weights - weights.mean(axis=0)).T
    sides = np.select([veto > 0, veto < 0], [-np.inf, np.inf], 0.0)
    finite = sides == 0
    total = np.where(finite, weights, 0.0).sum(axis=0)
    return np.asarray(weights - total / np.maximum(finite.sum(axis=0), 1) + sides).T
