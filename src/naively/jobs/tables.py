"""What every number of features reaches, and how well it predicts: tables over k."""

from __future__ import annotations

import csv
import io
import warnings
from collections.abc import Sequence
from dataclasses import asdict, dataclass, replace
from typing import Any, Protocol

import numpy as np

from naively._nearest import short
from naively._types import IntArray
from naively.jobs.against import logistic
from naively.jobs.constraints import constrained, weighed
from naively.jobs.data import Data, data_of, notes_on, parts_to_read
from naively.jobs.engines import Workers, working
from naively.jobs.folds import default_grid, n_divisions, repeated_errors, training
from naively.jobs.learn import check_rows
from naively.jobs.rows import HeldRows
from naively.jobs.settings import Recipe, in_options
from naively.jobs.strangers import case_note
from naively.judging.curves import Curve, best_curve, ranking
from naively.judging.parting import Parting
from naively.models import MODELS
from naively.read.batch import Part
from naively.read.errors import InputError, told_of
from naively.read.parts import parts_of, targeted
from naively.read.progress import Progress, silent
from naively.selection.redundancy import of_rows
from naively.selection.train import choices, model_grid, model_path
from naively.work.stream import n_alone

_NEW_FEATURES = 1000  # named at each k
_SHOWN_CLASSES = 5
_MOST_ALONE = 2_000  # rows that are left out one at a time


class HasK(Protocol):
    """A row of a table over k."""

    @property
    def k(self) -> int:
        """Number of features."""


# The path --------------------------------------------------------------------------------------


@dataclass(frozen=True, slots=True)
class PathRow:
    """What k features reach."""

    k: int
    gain: float  # of the objective over no feature
    limit: float  # of any k features
    relative_gap: float  # share of the limit that is left open
    entered: tuple[str, ...]  # features that the k before did not have; those of many are cut


@dataclass(frozen=True, slots=True)
class PathTable:
    """The path of a file."""

    n_features: int
    n_rows: int
    quantity: str  # what the gain is of
    unit: str
    rows: tuple[PathRow, ...]
    notes: tuple[str, ...] = ()  # what the reader should know of the files


def path_of(recipe: Recipe, ks: Sequence[int] | None, progress: Progress = silent) -> PathTable:
    """Solve for every k of a grid on all rows of the files.

    Raises
    ------
    InputError
        If a file or a setting cannot be used.
    """
    model, kind = recipe.model_of(), MODELS[recipe.model.kind]
    if kind.regions:
        raise InputError(
            f"{recipe.name}: hybrid models have no path of their own; use --model multinomial, "
            "which selects their features."
        )
    with working(recipe.engine) as workers:
        data = data_of(recipe, model, Parting(), workers, progress)
        kinds = training(Parting())
        check_rows(recipe, data, kinds)
        kept = data.kept(kinds, recipe.model)
        statistics = weighed(data.statistics(kinds, kept), recipe.model)
        model = constrained(model, data, recipe.model, kept)
        with told_of(recipe.name):
            held = HeldRows(data, kinds, workers).over(model, statistics, kept)
            model = of_rows(model, statistics, held)
    _check_ks(recipe.name, ks, choices(model, statistics.n_features, 0)[0])
    progress("solving", 0, 0)
    with told_of(recipe.name), in_options():
        track = model_path(model, statistics, ks)
        bounds = track.bound
    rows, before, gaps = [], np.empty(0, dtype=np.int64), track.gap
    for g, k in enumerate(track.k.tolist()):
        support = track.support(k)
        new = np.setdiff1d(support, before)[:_NEW_FEATURES]
        limit = float(bounds[g] - track.baseline)
        gap = float(gaps[g]) / limit if limit > 0 and np.isfinite(limit) else 0.0
        gain = float(track.objective[g] - track.baseline)
        entered = data.named(new if kept is None else kept[new])
        rows.append(PathRow(k, gain, limit, gap, entered))
        before = support
    words = model.words
    n_rows = data.n_rows(*kinds)
    notes = (*data.notes, *case_note(sorted(data.labelled_rows)), *notes_on(recipe, data))
    return PathTable(statistics.n_features, n_rows, words.quantity, words.unit, tuple(rows), notes)


def _check_ks(name: str, ks: Sequence[int] | None, there_are: int) -> None:
    if ks is not None and max(ks) > there_are:
        raise InputError(
            f"{name}: `--ks` must be at most the number of features, {there_are:,}; got "
            f"{max(ks):,}."
        )


def path_csv(table: PathTable) -> str:
    """Give the path as CSV."""
    heads = ["k", "gain", "limit", "relative_gap"]
    rows = [[row.k, repr(row.gain), repr(row.limit), row.relative_gap] for row in table.rows]
    return _csv(heads, rows)


# Cross-validation ------------------------------------------------------------------------------


@dataclass(frozen=True, slots=True)
class CvPoint:
    """How well a model with k features does."""

    model: str
    k: int
    alpha: float | None  # where smoothings were searched
    score: float  # mean over the folds
    standard_error: float


@dataclass(frozen=True, slots=True)
class CvContender:
    """The best that one model did."""

    best: CvPoint
    simplest_k: int  # fewest features within one standard error of the best
    behind: float  # the winner's score less this one, over the folds
    behind_standard_error: float


@dataclass(frozen=True, slots=True)
class CvTable:
    """The cross-validation of a file."""

    n_features: int
    n_rows: int
    folds: int
    repeats: int  # how often the rows were divided into folds
    scoring: str  # what the scores are
    best: CvPoint
    simplest_k: int  # fewest features of the same model within one standard error of the best
    contenders: tuple[CvContender, ...]  # the best of each model, the best first
    ranking: tuple[str, ...]  # a sentence for each model, the best first
    points: tuple[CvPoint, ...]
    notes: tuple[str, ...] = ()  # what the reader should know


def cross_validate(
    recipe: Recipe,
    kinds: Sequence[str],
    ks: Sequence[int] | None,
    n_folds: int | None,
    alphas: Sequence[float] | None,
    progress: Progress = silent,
    *,
    against: str | None = None,
) -> CvTable:
    """Cross-validate some kinds of models over k, the features selected anew in each fold.

    With `n_folds` None every row, or group of rows, is left out alone. With `against` "logistic",
    logistic regression on all features is judged on the same folds.

    Raises
    ------
    InputError
        If a file or a setting cannot be used.
    """
    unsmoothed = [kind for kind in kinds if not MODELS[kind].smoothed]
    if alphas is not None and unsmoothed:
        raise InputError(
            f"{recipe.name}: --alphas is smoothing, which --model {unsmoothed[0]} does not have; "
            "leave one of them out."
        )
    if against is not None and recipe.layout.variables is not None:
        raise InputError(
            f"`--against {against}` takes words or numbers, not the columns of a table; leave it "
            "out."
        )
    if against is not None and recipe.model.missing is not None:
        raise InputError(
            f"`--against {against}` takes no missing values; leave out it, or --missing ignore."
        )
    with working(recipe.engine) as workers, warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        parting, parts = _folds_of(recipe, n_folds, workers)
        contenders: list[tuple[Data, list[Curve]]] = []
        parts = None
        if recipe.layout.normalize == "median" and workers.are_here:
            parts = parts_of(recipe.files, recipe.layout)
            recipe = replace(recipe, layout=targeted(parts, recipe.layout))
        for kind in kinds:
            parts = contenders[0][0].parts if contenders else parts
            contenders.append(
                _contender(recipe, kind, parting, ks, alphas, workers, progress, parts)
            )
        data, groups = contenders[0][0], [curves for _, curves in contenders]
        if against is not None:
            progress(f"cross-validating {against}", 0, 0)
            groups.append([logistic(recipe, data, parting)])
    kept = data.kept(training(parting), recipe.model)
    notes = _notes_on_folds(data.rows_of_classes(*training(parting)), parting)
    own = replace(recipe, model=replace(recipe.model, kind=kinds[0]))
    notes += (*data.notes, *case_note(sorted(data.labelled_rows)), *notes_on(own, data))
    notes += tuple(dict.fromkeys(str(each.message) for each in caught))
    winner = best_curve([curve for curves in groups for curve in curves])
    ranked = ranking(groups)
    points = tuple(_point(curve, g) for curves in groups for curve in curves
                   for g in range(len(curve.k)))  # fmt: skip
    return CvTable(
        n_features=data.n_features if kept is None else len(kept),
        n_rows=data.n_rows(*training(parting)),
        folds=parting.n_folds,
        repeats=n_divisions(recipe, data, parting),
        scoring=recipe.scoring or "accuracy",
        best=_point(winner, winner.position("best")),
        simplest_k=_simplest_k(winner),
        contenders=tuple(
            CvContender(
                _point(curve, curve.position("best")),
                _simplest_k(curve),
                each.behind,
                each.behind_standard_error,
            )
            for each in ranked.contenders
            for curve in [best_curve(curves) for curves in groups]
            if curve.name == each.name
        ),
        ranking=tuple(str(ranked).splitlines()),
        points=points,
        notes=notes,
    )


def _folds_of(
    recipe: Recipe, n_folds: int | None, workers: Workers
) -> tuple[Parting, Sequence[Part] | None]:
    """Return how the rows are divided, and the parts of the files where these were read for it."""
    timed, grouped = recipe.test.time is not None, recipe.test.groups is not None
    if timed and (grouped or n_folds is None):
        other = "--groups" if grouped else "--folds loo"
        raise InputError(f"`{other}` and `--time` divide the rows in two ways; leave one out.")
    if n_folds is not None:
        return Parting(n_folds=n_folds, grouped=grouped, timed=timed), None
    if recipe.scoring in ("balanced_accuracy", "f1_macro") and not grouped:
        raise InputError(
            f"`--scoring {recipe.scoring}` has no sense in folds of one row (--folds loo); leave "
            "one of them out."
        )
    parts, layout = parts_to_read(recipe, workers)
    n = n_alone(parts, layout, grouped=grouped)
    if not 2 <= n <= _MOST_ALONE:
        raise InputError(
            f"{recipe.name}: `--folds loo` trains a model for each row, or group, of which there "
            f"must be 2 to {_MOST_ALONE:,}; got {n:,}. Use --folds 20."
        )
    return Parting(n_folds=n, grouped=grouped, singly=True), parts


def _contender(
    recipe: Recipe,
    kind: str,
    parting: Parting,
    ks: Sequence[int] | None,
    alphas: Sequence[float] | None,
    workers: Workers,
    progress: Progress,
    parts: Sequence[Part] | None,
) -> tuple[Data, list[Curve]]:
    """Curves of one kind of model, one for each smoothing."""
    own = replace(recipe, model=replace(recipe.model, kind=kind))
    data = data_of(own, own.model_of(), parting, workers, progress, parts)
    kinds = training(parting)
    check_rows(own, data, kinds)
    if parting.by_chance:
        _check_folds(recipe.name, data.rows_of_classes(*kinds), parting.n_folds)
    kept = data.kept(kinds, own.model)
    m = data.n_features if kept is None else len(kept)
    model = constrained(own.model_of(), data, own.model, kept)
    _check_ks(recipe.name, ks, choices(model, m, 0)[0])
    with told_of(recipe.name), in_options():
        grid = (
            default_grid(data, model, kinds, kept) if ks is None
            else model_grid(model, m, len(data.rows_of_classes(*kinds)), ks)
        )  # fmt: skip
    progress("cross-validating", 0, 0)
    models = []
    for alpha in alphas or (own.model.alpha,):
        settings = replace(own.model, alpha=alpha)
        models.append(constrained(replace(own, model=settings).model_of(), data, settings, kept))
    with told_of(recipe.name), in_options():
        found = repeated_errors(own, data, models, kept, grid, parting, workers)
    chosen: list[dict[str, Any]] = [{"alpha": alpha} for alpha in alphas or ()] or [{}]
    scoring = recipe.scoring or "accuracy"
    return data, [Curve.of_errors(kind, *each, scoring) for each in zip(chosen, found, strict=True)]


def _simplest_k(curve: Curve) -> int:
    return int(curve.k[curve.position("simplest")])


def _point(curve: Curve, g: int) -> CvPoint:
    accuracy, error = float(curve.mean[g]), float(curve.standard_error[g])
    return CvPoint(curve.name, int(curve.k[g]), curve.settings.get("alpha"), accuracy, error)


def _check_folds(name: str, rows: dict[str, int], n_folds: int) -> None:
    """Refuse folds for which no class has rows enough."""
    largest = max(rows.values())
    if largest < n_folds:
        way_out = f"use --folds {largest}" if largest > 1 else "give more rows"
        raise InputError(
            f"{name}: `--folds` must be at most {largest:,}, the number of rows of the largest "
            f"class; got {n_folds:,} ({way_out})."
        )


def _notes_on_folds(rows: dict[str, int], parting: Parting) -> tuple[str, ...]:
    few = sorted(label for label, n in rows.items() if n < parting.n_folds)
    if not few or not parting.by_chance:
        return ()
    shown = ", ".join(map(short, few[:_SHOWN_CLASSES])) + (
        ", ..." if len(few) > _SHOWN_CLASSES else ""
    )
    return (
        f"Classes with fewer rows than there are folds: {shown} ({len(few):,} of {len(rows):,}); "
        "in some folds none of their rows are judged.",
    )


def cv_csv(table: CvTable) -> str:
    """Give all points as CSV."""
    heads = ["model", "k", "alpha", table.scoring, "standard_error"]
    rows = [
        [p.model, p.k, "" if p.alpha is None else p.alpha, repr(p.score), repr(p.standard_error)]
        for p in table.points
    ]
    return _csv(heads, rows)


# Both ------------------------------------------------------------------------------------------


def _csv(heads: Sequence[str], rows: Sequence[Sequence[Any]]) -> str:
    out = io.StringIO()
    writer = csv.writer(out, lineterminator="\n")
    writer.writerow(heads)
    writer.writerows(rows)
    return out.getvalue()


def grid(text: str | None) -> list[int] | None:
    """Read 1,10,100 or 1-20 as numbers of features.

    Raises
    ------
    ValueError
        If the text is anything else.
    """
    if text is None:
        return None
    ks: list[int] = []
    for part in text.split(","):
        first, _, last = part.strip().partition("-")
        if int(last or first) - int(first) > 1_000_000:
            raise ValueError("too many")
        ks.extend(range(int(first), int(last or first) + 1))
    if not ks or min(ks) < 0:
        raise ValueError("none")
    return sorted(set(ks))


def as_record(table: Any) -> dict[str, Any]:
    """Plain record of a result."""
    return asdict(table)


def first_ks(rows: Sequence[HasK], n: int) -> IntArray:
    """Positions of about n rows, evenly spaced, the first and the last among them."""
    return np.unique(np.rint(np.linspace(0, len(rows) - 1, min(n, len(rows)))).astype(np.int64))
