"""From the statistics of some rows to a model, and to what is worth telling of it."""

from __future__ import annotations

import warnings
from collections.abc import Iterator
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from naively._nearest import short
from naively._types import Array, BoolArray, FloatArray, IntArray
from naively.jobs.constraints import constrained, weighed
from naively.jobs.data import Data, Kinds
from naively.jobs.engines import Workers
from naively.jobs.model_file import ModelFile
from naively.jobs.rows import HeldRows
from naively.jobs.settings import DEFAULT_K, ModelSettings, asked_k, in_options
from naively.jobs.strangers import case_note
from naively.judging.stability import FIRM, HALVES, tail_bound
from naively.models import MODELS
from naively.models.constraints import Constraints
from naively.models.counting import size_of_values, whole_values
from naively.models.family import Coupled, Ordered
from naively.models.mixed import described
from naively.models.model import Model
from naively.models.rules import HybridRule, Rule, weights_of_classes
from naively.read.errors import told_of
from naively.read.variables import Variables
from naively.report.summary import MarkerRow
from naively.selection.certificate import Selection
from naively.selection.chance import RATE, discoveries
from naively.selection.constrained import interchangeable
from naively.selection.redundancy import own
from naively.selection.solve import tied_with_last
from naively.selection.train import Trained, choices, is_fdr, resolve_k, train
from naively.statistics.categories import ClassCategories
from naively.statistics.mixed import ClassMixed
from naively.statistics.moments import ClassMoments
from naively.text.features import FeatureDefinition, TextFeatures

_SHOWN = 5  # groups of classes, or features, in a note
_TOGETHER = 10  # times in a row, ...
_HANDFUL, _FEW = 10, 0.05  # ... in so many rows at most, and so small a share: a burst
_NAMED = 20  # features that are displaced by each


@dataclass(frozen=True, slots=True)
class Figures:
    """What is known of the selected features in each class, (k, C); None where it has no sense."""

    weights: FloatArray | None = None  # relative to their mean; infinite where a class is vetoed
    counts: Array | None = None  # without smoothing
    centers: FloatArray | None = None  # means, medians for l1 centers
    dispersions: FloatArray | None = None  # standard deviations, mean absolute ones for l1 centers
    errors: FloatArray | None = None  # of the weights, of the model; None: of no closed form
    documents: Array | None = None  # rows that hold it; None where the counts are these, or unknown
    bursts: BoolArray | None = None  # (k,) most of the count is of a handful of rows
    categories: tuple[str | None, ...] = ()  # (k,) of which the centers are shares; (): of none


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
    stability: FloatArray | None = None  # (k,) share of halves of the rows that select each
    displaced: tuple[tuple[str, ...], ...] = ()  # (k,) names; (): it was not asked for
    markers: tuple[MarkerRow, ...] = ()  # class by class, if they were asked for


def fit(
    data: Data, model: Model[Any], settings: ModelSettings, kinds: Kinds, *, clip: bool = False,
    workers: Workers | None = None,
    temperature: float | None = None, support: IntArray | None = None,
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
    support
        Features that were chosen by other means, (k,) of those to choose from.

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
        if is_fdr(settings.k):
            q, squares = RATE if settings.q is None else settings.q, _squares(data, kinds, kept)
            support = discoveries(model, statistics, q, squares=squares)
        with in_options():
            k = resolve_k(asked_k(settings, most, clip=clip), most) if support is None else 0
            trained = train(model, statistics, k, rows=rows, support=support)
        if temperature is not None:
            trained = trained.at(temperature)
        if model.needs_rows:  # every k is judged, and drawn, by the model's own rule
            trained = replace(trained, model=own(model, statistics, rows))
    columns = trained.selection.support if kept is None else kept[trained.selection.support]
    found = data.rows_of_classes(*kinds)
    rows_of_classes = np.array([found[str(each)] for each in trained.classes.tolist()])
    alpha = model.alpha
    shown = _with_documents(figures(trained, counted), data, kinds, columns)
    if not is_plain(data.features):  # what is weighted follows no law of counts
        shown = replace(shown, errors=None)
    fitted = Fitted(
        file=_model_file(data, settings, trained, counted, kinds, columns),
        selection=trained.selection,
        displaced=tuple(
            data.named((each if kept is None else kept[each])[:_NAMED])
            for each in trained.selection.displaced
        ),
        figures=shown,
        class_rows=rows_of_classes,
        n_features=statistics.n_features - isinstance(model.exposure, int),
        n_rows=data.n_rows(*kinds),
        alpha=alpha if isinstance(alpha, float) else None,
        notes=(
            *_default_note(settings, most),
            *_missing_note(counted),
            *case_note(trained.classes.astype(str).tolist()),
            *(_tie_note(trained, settings) if support is None else ()),
            *_discovery_note(trained, settings),
            *_burst_note(data, shown, kinds, columns),
            *_refit_note(trained),
            *_calibration_note(temperature),
            *data.notes,
            *_region_note(data, trained.rule),
            *(str(each.message) for each in w),
            *filter(None, [trained.told]),
        ),
    )
    return fitted, trained


def kept_firm(fitted: Fitted, stability: FloatArray, stable: float, k: int) -> Fitted:
    """Add how often each feature is selected on halves, to a model of the firm ones of k."""
    bound = tail_bound(stable, k / fitted.n_features, HALVES // 2, unimodal=False)
    by_chance = min(bound * k * k / fitted.n_features, len(stability))
    note = (
        f"{len(stability):,} of the {k:,} best features were kept: at least {100 * stable:g} % of "
        f"{HALVES} random halves of the rows select them. By chance alone there are "
        f"{by_chance:.2g} of them at most, in expectation (Shah and Samworth 2013)."
    )
    return replace(fitted, stability=stability, notes=(*fitted.notes, note))


def firm(fitted: Fitted, stability: FloatArray) -> Fitted:
    """Add how often each feature is selected on halves of the rows, and how many are firm."""
    n, k = int((stability >= FIRM - 1e-9).sum()), len(stability)
    note = (
        f"{n:,} of the {k:,} features are firm: at least {100 * FIRM:g} % of {HALVES} random "
        "halves of the rows select them."
    )
    return replace(fitted, stability=stability, notes=(*fitted.notes, note))


def _default_note(settings: ModelSettings, there_are: int) -> Iterator[str]:
    """Say that nothing was selected, if nobody asked for a number and there are few features."""
    if settings.k is None and settings.budget is None and there_are < DEFAULT_K:
        yield (
            f"All {settings.counted} were taken, since there are fewer than {DEFAULT_K}, the "
            "default; "
            "-k gives their number."
        )


def _missing_note(counted: Any) -> Iterator[str]:
    """Say how many values are missing, where they are left out."""
    observed = getattr(counted, "observed", None)
    if observed is None:
        return
    values = counted.class_weight.sum() * counted.n_features
    missing = values - observed.sum()
    if missing:
        yield (
            f"{missing:,.0f} of {values:,.0f} values ({100 * missing / values:.2g} %) are missing; "
            "each is left out of its own column."
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
    problem, constraints = family.problem(statistics), trained.model.constraints
    if isinstance(problem, Ordered):
        return
    if isinstance(problem, Coupled):
        if constraints is None or constraints.groups is None:
            inside, outside = _twins(statistics.table, support, constraints)
            places = f"{inside:,} of the {len(support):,} places"
        else:
            outside = 0
    elif constraints is not None:
        inside, outside = interchangeable(trained.model, statistics, support)
        places = f"{inside:,} of the {trained.selection.k:,} places"
    else:
        tied = tied_with_last(problem, family.gain(statistics), support)
        inside = int(tied[support].sum())
        outside = int(tied.sum()) - inside
        places = f"the last {inside:,} places" if inside > 1 else "the last place"
    if outside:
        what = settings.counted.removesuffix(" that may be chosen")
        yield (
            f"{inside + outside:,} {what} tie for {places}; those that come first, by column "
            "or by spelling, were taken."
        )


def is_plain(features: FeatureDefinition) -> bool:
    """Whether entries are counts, or presence, as models take them."""
    return features.weights in ("counts", "presence") and getattr(features, "norm", None) is None


def _squares(data: Data, kinds: Kinds, kept: IntArray | None) -> FloatArray | None:
    """Sum of the squares of the entries of each feature, (m,), of counts."""
    found = data.occurrences(kinds)
    squares = found.totals if data.features.weights == "presence" else found.squares
    return squares if squares is None or kept is None else squares[kept]


def _with_documents(figures: Figures, data: Data, kinds: Kinds, columns: IntArray) -> Figures:
    """Add how many rows hold each feature, beside its counts."""
    if figures.counts is None or data.features.presence:
        return figures
    found = data.occurrences(kinds)
    if found.documents is None:
        return figures
    bursts = None
    features = data.features
    plain = features.two_passes or getattr(features, "norm", None) is None  # totals of counts
    plain = plain and features.row_weight is None
    if found.squares is not None and plain and features.weights in ("counts", "tfidf"):
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
        f"Most of the count is of a handful of rows: {', '.join(said)}{more}; --words "
        "weights=presence counts each row once."
    )


def _discovery_note(trained: Trained[Any], settings: ModelSettings) -> Iterator[str]:
    """Say how many features are significant, and what that takes for granted."""
    n = len(trained.selection.support)
    if not is_fdr(settings.k) or not n:
        return
    q = RATE if settings.q is None else settings.q
    test = ""
    if trained.model.family.test is not None:
        test = ", by an analysis of variance, which takes the spread within classes from the rows"
    yield (
        f"{n:,} features are significant at a false discovery rate of {q:g} (Benjamini and "
        f"Hochberg){test}. Rows are taken to be independent."
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


def _twins(table: Any, support: IntArray, constraints: Constraints | None) -> tuple[int, int]:
    """Count chosen features that are counted like others in every class, and these others.

    They must have been free to choose from, and cost the same.
    """
    totals = table.sum(axis=1)  # equal where the counts are
    others = np.flatnonzero(np.isin(totals, totals[support]))
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
    data: Data, settings: ModelSettings, trained: Trained[Any], counted: Any, kinds: Kinds,
    columns: IntArray,
) -> ModelFile:  # fmt: skip
    features, idf = data.features, data.idf(kinds)
    features = replace(features, row_weight=None)  # of the training
    text, numbers = (features, None) if isinstance(features, TextFeatures) else (None, features)
    return ModelFile(
        kind=settings.kind,
        classes=tuple(str(each) for each in trained.classes.tolist()),
        names=data.named(columns),
        columns=columns.astype(np.int64),
        n_features=data.n_features,
        rule=trained.rule,
        threshold=0.0 if features.presence else None,
        weights="counts" if numbers is None else numbers.weights,
        features=text,
        idf=None if idf is None else idf if features.two_passes else idf[columns],
        known=data.named(np.arange(data.n_features)) if _knows_all(features) else (),
        text_columns=data.text_columns,
        first_column=0 if numbers is None else numbers.first_column,
        named=numbers is None or numbers.names is not None,
        layer=None if numbers is None else numbers.layer,
        exposure=features.exposure,
        exposure_name="" if features.exposure is None else settings.exposure or "",
        missing=numbers is not None and numbers.missing,
        normalize=None if numbers is None else numbers.normalize,
        log1p=numbers is not None and numbers.log1p,
        whole=None if numbers is None else _whole(numbers, counted, trained.selection.support),
        size=None
        if numbers is None
        else size_of_values(settings.kind, counted, trained.selection.support),
        variables=_selected(data, columns),
    )


def _whole(features: FeatureDefinition, counted: Any, support: IntArray) -> bool | None:
    """Whether columns hold whole numbers, as the rows of training did that were read."""
    weighted = not features.presence and features.weights != "counts"
    return True if weighted else whole_values(counted, support)  # counts alone are weighted


def _selected(data: Data, columns: IntArray) -> Variables | None:
    """Say what is to be read of a table for some of its variables."""
    variables = data.tasks[0].layout.variables if data.words_from is not None else None
    return None if variables is None else variables.take(columns)


def _knows_all(features: FeatureDefinition) -> bool:
    """Whether rows are weighed over all features, which a model must then know."""
    of_columns = not isinstance(features, TextFeatures) and features.names is not None
    return features.two_passes or (of_columns and features.exposure == "total")


def figures(trained: Trained[Any], counted: Any) -> Figures:
    """Describe the selected features in each class; `counted` are rows that weigh the same."""
    statistics, support = trained.statistics, trained.selection.support
    if hasattr(statistics, "center"):  # medians
        return Figures(
            centers=statistics.center[:, support].T, dispersions=statistics.dispersion[:, support].T
        )
    if isinstance(statistics, ClassMixed):
        centers, deviations, categories = described(statistics, support)
        return Figures(centers=centers, dispersions=deviations, categories=categories)
    if isinstance(statistics, ClassMoments):
        taken = statistics.take(support)
        return Figures(centers=taken.mean, dispersions=np.sqrt(taken.variance))
    words = getattr(counted, "words", counted)  # of hybrid models
    counts = None if isinstance(words, ClassCategories) else words.table[support]
    weights = weights_of_classes(trained.rule)
    # An exposure is the last of the columns that a rule sees, and no feature.
    weights = weights if trained.model.exposure is None else weights[: len(support)]
    errors = trained.weight_errors() if statistics is counted else None
    return Figures(weights=weights, counts=counts, errors=errors)
