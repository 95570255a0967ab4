"""Train a model on some parts of the rows, and apply it to the test rows."""

from __future__ import annotations

import warnings
from collections.abc import Iterator
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any

import numpy as np

from naively._types import Array, FloatArray, IntArray
from naively.io.errors import InputError, told_of
from naively.io.models import Model, Rule, scores
from naively.jobs.rows import TEST, Rows
from naively.jobs.settings import DEFAULT_K, VALUE_MODELS, ModelSettings
from naively.models.rules import HybridRule, LinearRule
from naively.selection.certificate import Selection

if TYPE_CHECKING:
    from naively.estimators.base import AbstractSparseClassifier


@dataclass(frozen=True, slots=True)
class Figures:
    """What is known of the selected features in each class, (k, C); None where it has no sense."""

    weights: FloatArray | None = None  # relative to their mean; infinite where a class is vetoed
    counts: Array | None = None  # without smoothing
    centers: FloatArray | None = None  # means, medians for l1 centers
    dispersions: FloatArray | None = None  # standard deviations, mean absolute ones for l1 centers


@dataclass(frozen=True, slots=True)
class Trained:
    """A model with what is worth telling of its training.

    The estimator itself is let go: its statistics may be most of the memory.
    """

    model: Model
    selection: Selection
    figures: Figures
    class_rows: IntArray  # (C,)
    n_features: int  # to choose from
    n_rows: int
    notes: tuple[str, ...] = ()  # what the reader should know of the training


@dataclass(frozen=True, slots=True)
class Fitted:
    """A trained model with its estimator, for whoever wants to know more; let it go soon."""

    trained: Trained
    estimator: Any
    kept: IntArray  # columns of the rows that the estimator was given


def train(
    rows: Rows, parts: tuple[int, ...], settings: ModelSettings, *, clip: bool = False
) -> Fitted:
    """Select features and train the classifier on some parts of the rows.

    Parameters
    ----------
    rows
        All rows.
    parts
        The parts to train on.
    settings
        The model.
    clip
        Whether a `k` above the number of features means all of them, instead of an error.
    """
    X, labels = rows.of(*parts)
    kept = kept_columns(rows, _joined(X, rows.n_regions), settings)
    with told_of(rows.files[0].name):
        k = number_of_features(settings, len(kept), clip=clip)
    estimator = new_estimator(replace(settings, k=k), rows.n_regions)
    columns = in_regions(kept, len(rows.names), rows.n_regions)
    with told_of(rows.files[0].name), warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        estimator.fit(X if len(columns) == X.shape[1] else X[:, columns], labels.astype(str))
    # The words of a hybrid were selected by an estimator of its own.
    selector = getattr(estimator, "estimator_", estimator)
    statistics, selection = selector.statistics_, selector.selection_
    trained = Trained(
        model=_model(rows, settings, estimator.rule_, selector, kept),
        selection=selection,
        figures=_figures(settings.kind, X, columns[selection.support], labels, estimator),
        class_rows=statistics.class_rows,
        n_features=len(kept),
        n_rows=len(labels),
        notes=(
            *default_note(settings, len(kept)),
            *_region_note(rows, estimator.rule_),
            *_presence_note(rows, X, settings),
            *(str(each.message) for each in caught),
        ),
    )
    return Fitted(trained, estimator, kept)


def number_of_features(
    settings: ModelSettings, there_are: int, *, clip: bool = False
) -> int | float | str:
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


def default_note(settings: ModelSettings, there_are: int) -> Iterator[str]:
    """Say that nothing was selected, if nobody asked for a number and there are few features."""
    if settings.k is None and there_are < DEFAULT_K:
        yield (
            f"All features were taken, since there are fewer than {DEFAULT_K}, the default; "
            "-k gives their number."
        )


def _figures(kind: str, X: Any, columns: IntArray, labels: Array, estimator: Any) -> Figures:
    """Describe the selected columns in each class."""
    from naively.statistics.moments import ClassMoments

    selector = getattr(estimator, "estimator_", estimator)
    statistics, support = selector.statistics_, selector.selection_.support
    if kind == "l1-centers":
        return Figures(
            centers=statistics.center[:, support].T, dispersions=statistics.dispersion[:, support].T
        )
    if kind in VALUE_MODELS:
        moments = ClassMoments.from_matrix(X[:, columns], labels.astype(str))
        return Figures(centers=moments.mean.T, dispersions=np.sqrt(moments.variance).T)
    return Figures(weights=relative_weights(estimator.rule_), counts=statistics.table[support])


def relative_weights(rule: LinearRule | HybridRule) -> FloatArray:
    """Weights (k, C) relative to their mean over the classes, infinite where a class is vetoed."""
    if isinstance(rule, HybridRule) or rule.veto is None:
        return np.asarray(rule.weights - rule.weights.mean(axis=0)).T
    sides = np.select([rule.veto > 0, rule.veto < 0], [-np.inf, np.inf], 0.0)
    finite = sides == 0
    total = np.where(finite, rule.weights, 0.0).sum(axis=0)
    return np.asarray(rule.weights - total / np.maximum(finite.sum(axis=0), 1) + sides).T


def _joined(X: Any, n_regions: int) -> Any:
    """Sum the counts over the regions, (n, m)."""
    m = X.shape[1] // n_regions
    return sum((X[:, r * m : (r + 1) * m] for r in range(1, n_regions)), start=X[:, :m])


def in_regions(columns: IntArray, width: int, n_regions: int) -> IntArray:
    """Give the places of some columns in every region; regions stand side by side."""
    return np.concatenate([columns + r * width for r in range(n_regions)])


def _region_note(rows: Rows, rule: Rule) -> Iterator[str]:
    if isinstance(rule, HybridRule) and rows.n_regions > 1 and rows.text is not None:
        weights = zip(rows.text.columns, rule.theta.tolist(), strict=True)
        worth = ", ".join(f"{column} {theta:.3g}" for column, theta in weights)
        yield f"Weights of the regions, in words that each is worth: {worth}."


def _presence_note(rows: Rows, X: Any, settings: ModelSettings) -> Iterator[str]:
    """Say what a model of presence leaves unread in a matrix of counts."""
    if settings.kind != "bernoulli" or rows.text is not None or settings.binary:
        return
    values = np.asarray(X.data if hasattr(X, "indptr") else X).ravel()
    positive = int((values > 0).sum())
    above = int((values > 1).sum())
    if above:
        yield (
            f"The bernoulli model asks only whether a value is above 0; {above:,} of the "
            f"{positive:,} values that are, are above 1. --model multinomial counts them "
            "(--binary says that presence is meant)."
        )


def kept_columns(rows: Rows, X: Any, settings: ModelSettings) -> IntArray:
    """Columns that are counted often enough in the training rows X."""
    # Words that occur in test rows only are no features; columns of a matrix always are.
    text = rows.text is not None
    least = max(settings.min_count, 1) if text else settings.min_count
    if least == 0 or (least == 1 and not text):
        return np.arange(X.shape[1])
    counted = (X > 0) if settings.kind == "bernoulli" else X
    kept = np.flatnonzero(np.asarray(counted.sum(axis=0)).ravel() >= least)
    if len(kept) == 0:
        raise InputError(
            f"{rows.files[0].name}: no feature is counted {least:,} times or more in training; "
            "lower --min-count."
        )
    return kept


def new_estimator(settings: ModelSettings, n_regions: int) -> Any:
    """Make the estimator that the settings ask for."""
    # Imported only now: they take seconds, and bad input is refused before.
    from naively.estimators import centers, likelihood, naive_bayes

    match settings.kind:
        case "bernoulli":
            return naive_bayes.SparseBernoulliNB(k=settings.k, alpha=settings.alpha)
        case "l1-centers":
            return centers.SparseL1Centers(k=settings.k)
        case "l2-centers":
            return centers.SparseL2Centers(k=settings.k, scale=settings.scale)
        case "gaussian":
            return likelihood.SparseGaussianNB(k=settings.k)
    counting = naive_bayes.SparseMultinomialNB(
        k=settings.k,
        alpha=settings.alpha,
        exact=settings.exact,
        time_limit=settings.time_limit,
    )
    if settings.kind == "multinomial":
        return counting
    from naively.estimators.hybrid import HybridNB

    return HybridNB(n_regions, alpha=settings.alpha, estimator=counting)


def _model(
    rows: Rows,
    settings: ModelSettings,
    rule: Rule,
    selector: AbstractSparseClassifier,
    kept: IntArray,
) -> Model:
    columns = kept[selector.selection_.support]
    # With --binary a count above 0 is a 1 for prediction too.
    threshold = 0.0 if settings.kind == "bernoulli" or settings.binary else None
    return Model(
        kind=settings.kind,
        classes=tuple(str(each) for each in selector.classes_),
        names=tuple(rows.names[i] for i in columns),
        columns=columns.astype(np.int64),
        n_features=len(rows.names),
        rule=rule,
        threshold=threshold,
        text=rows.text,
        first_column=rows.first_column,
    )


def score_test_rows(model: Model, rows: Rows) -> FloatArray:
    """Score of each class for each test row, (n, C)."""
    chosen = np.flatnonzero(rows.part == TEST)
    columns = in_regions(model.columns, len(rows.names), rows.n_regions)
    return scores(model, rows.X[chosen][:, columns])
