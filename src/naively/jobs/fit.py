"""From the statistics of some rows to a model, and to what is worth telling of it."""

from __future__ import annotations

import unicodedata
import warnings
from collections.abc import Iterator
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from naively._nearest import short
from naively._types import Array, BoolArray, FloatArray, IntArray
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

_SHOWN = 5  # groups of classes, or features, in a note
_TOGETHER = 10  # times in a row, ...
_HANDFUL, _FEW = 10, 0.05  # ... in so many rows at most, and so small a share: a burst


@dataclass(frozen=True, slots=True)
class Figures:
    """What is known of the selected features in each class, (k, C); None where it has no sense."""

    weights: FloatArray | None = None  # relative to their mean; infinite where a class is vetoed
    counts: Array | None = None  # without smoothing
    centers: FloatArray | None = None  # means, medians for l1 centers
    dispersions: FloatArray | None = None  # standard deviations, mean absolute ones for l1 centers
    documents: Array | None = None  # rows that hold it; None where the counts are these, or unknown
    bursts: BoolArray | None = None  # (k,) most of the count is of a handful of rows


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
    shown = _with_documents(figures(trained), data, kinds, columns)
    fitted = Fitted(
        file=_model_file(data, settings, trained, kinds, columns),
        selection=trained.selection,
        figures=shown,
        class_rows=rows_of_classes,
        n_features=statistics.n_features,
        n_rows=data.n_rows(*kinds),
        alpha=alpha if isinstance(alpha, float) else None,
        notes=(
            *_default_note(settings, statistics.n_features),
            *_case_note(trained.classes),
            *_tie_note(trained, settings),
            *_burst_note(data, shown, kinds, columns),
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
        alike.setdefault(unicodedata.normalize("NFKC", name).casefold(), []).append(short(name))
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


def _with_documents(figures: Figures, data: Data, kinds: Kinds, columns: IntArray) -> Figures:
    """Add how many rows hold each feature, beside its counts."""
    if figures.counts is None or data.features.presence:
        return figures
    found = data.occurrences(kinds)
    if found.documents is None:
        return figures
    bursts = None
    if found.squares is not None and data.features.weights in ("counts", "tfidf"):
        bursts = is_burst(found.totals, found.squares, data.n_rows(*kinds))[columns]
    return replace(figures, documents=found.documents[columns], bursts=bursts)


def is_burst(totals: Array, squares: Array, n_rows: int) -> BoolArray:
    """Whether most of the count of a feature is of a handful of rows.

    With c the count in a row, sum c^2 / sum c is how often the feature stands in the row of an
    occurrence, on average over the occurrences, and (sum c)^2 / sum c^2 how many rows there would
    be if all held it equally often: the effective number of rows. A burst has at least 10 of the
    first, and at most 10 of the second, which are at most 5 % of all rows.

    Parameters
    ----------
    totals, squares
        Sum of the counts of each feature and of their squares, (m,).
    n_rows
        All rows.
    """
    counts, squares = totals.astype(np.float64), squares.astype(np.float64)
    together = squares >= _TOGETHER * counts
    few = counts**2 <= min(_HANDFUL, _FEW * n_rows) * squares
    burst: BoolArray = together & few & (counts > 0)
    return burst


def _burst_note(data: Data, figures: Figures, kinds: Kinds, columns: IntArray) -> Iterator[str]:
    """Name chosen features whose count is that of a handful of rows."""
    if figures.bursts is None or figures.documents is None or not figures.bursts.any():
        return
    at = np.flatnonzero(figures.bursts)
    totals = data.occurrences(kinds).totals[columns]
    at = at[np.argsort(-totals[at], kind="stable")]  # the most frequent first
    names = data.named(columns[at[:_SHOWN]])
    counts, rows = totals[at], figures.documents[at].sum(axis=1)
    said = [
        f"{short(name)} ({count:,.0f} times in {n:,} row{'s' * (n != 1)})"
        for name, count, n in zip(names, counts.tolist(), rows.tolist(), strict=False)
    ]
    more = f" and {len(at) - _SHOWN:,} more" if len(at) > _SHOWN else ""
    yield (
        f"Most of the count is of a handful of rows: {', '.join(said)}{more}; --weights presence "
        "counts each row once."
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
    data: Data, settings: ModelSettings, trained: Trained[Any], kinds: Kinds, columns: IntArray
) -> ModelFile:
    features, idf = data.features, data.idf(kinds)
    named = isinstance(features, TextFeatures) or features.names is not None
    return ModelFile(
        kind=settings.kind,
        classes=tuple(str(each) for each in trained.classes.tolist()),
        names=data.named(columns),
        columns=columns.astype(np.int64),
        n_features=data.n_features,
        rule=trained.rule,
        threshold=0.0 if features.presence else None,
        weights="counts" if isinstance(features, TextFeatures) else features.weights,
        features=features if isinstance(features, TextFeatures) else None,
        idf=None if idf is None else idf if features.two_passes else idf[columns],
        known=data.named(np.arange(data.n_features)) if features.two_passes else (),
        text_columns=data.text_columns,
        first_column=data.first_column,
        named=named,
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
        pieces = np.split(arrays["log_prob"], arrays["starts"][1:-1])
        return np.array([relative_log(piece).max(axis=0) for piece in pieces])
    weights, veto = arrays["weights"], arrays.get("veto")
    if veto is None:
        return np.asarray(weights - weights.mean(axis=0)).T
    sides = np.select([veto > 0, veto < 0], [-np.inf, np.inf], 0.0)
    finite = sides == 0
    total = np.where(finite, weights, 0.0).sum(axis=0)
    return np.asarray(weights - total / np.maximum(finite.sum(axis=0), 1) + sides).T
