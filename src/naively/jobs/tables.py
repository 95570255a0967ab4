"""What every number of features reaches, and how well it predicts: a table over k."""

from __future__ import annotations

import csv
import io
import warnings
from collections.abc import Sequence
from dataclasses import asdict, dataclass, replace
from typing import Any

import numpy as np

from naively._nearest import short
from naively._types import IntArray
from naively.jobs.against import NOTE, logistic
from naively.jobs.constraints import constrained, weighed
from naively.jobs.data import Data, Kinds, data_of, notes_on, parts_to_read
from naively.jobs.engines import Workers, working
from naively.jobs.folds import default_grid, n_divisions, repeated_errors, training
from naively.jobs.learn import check_rows
from naively.jobs.rows import HeldRows
from naively.jobs.settings import Recipe, in_options
from naively.jobs.strangers import case_note
from naively.judging.curves import Curve, best_curve, ranking
from naively.judging.parting import Parting
from naively.models import MODELS
from naively.models.model import Model
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


@dataclass(frozen=True, slots=True)
class CvPoint:
    """How well a model with k features does."""

    model: str
    k: int
    alpha: float | None  # where smoothings were searched
    score: float  # mean over the folds
    standard_error: float
    gain: float | None = None  # of the objective over no feature, on all rows; None: it has none
    bound: float | None = None  # on the gain of any k features
    relative_gap: float | None = None  # share of the bound that is left open
    entered: tuple[str, ...] = ()  # features that the k before did not have; those of many are cut


@dataclass(frozen=True, slots=True)
class CvContender:
    """The best that one model did."""

    best: CvPoint
    simplest_k: int  # fewest features within one standard error of the best
    behind: float  # the winner's score less this one, over the folds
    behind_standard_error: float
    quantity: str  # what the gain is of; empty: there is none
    unit: str


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
            f"{recipe.name}: --train alpha is smoothing, which --model {unsmoothed[0]} does not "
            "have; leave one of them out."
        )
    if against is not None and recipe.layout.variables is not None:
        raise InputError(
            f"`--against {against}` takes words or numbers, not the columns of a table; leave it "
            "out."
        )
    if against is not None and recipe.model.missing is not None:
        raise InputError(
            f"`--against {against}` takes no missing values; leave out it, or --read "
            "missing=ignore."
        )
    with working(recipe.engine) as workers, warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        parting, parts = _folds_of(recipe, n_folds, workers)
        if recipe.layout.normalize == "median" and workers.are_here:
            parts = parts or parts_of(recipe.files, recipe.layout)
            recipe = replace(recipe, layout=targeted(parts, recipe.layout))
        found = _judged(recipe, kinds, ks, parting, alphas, workers, progress, parts)
        if against is not None:
            progress(f"cross-validating {against}", 0, 0)
            found.append(_Contender(found[0].data, [logistic(recipe, found[0].data, parting)]))
    data, groups = found[0].data, [each.curves for each in found]
    kept = data.kept(training(parting), recipe.model)
    notes = _notes_on_folds(data.rows_of_classes(*training(parting)), parting)
    own = replace(recipe, model=replace(recipe.model, kind=kinds[0]))
    notes += (*data.notes, *case_note(sorted(data.labelled_rows)), *notes_on(own, data))
    notes += tuple(dict.fromkeys(str(each.message) for each in caught))
    notes += () if against is None else (NOTE,)
    winner = best_curve([curve for curves in groups for curve in curves])
    ranked = ranking(groups)
    points = tuple(
        each.point(curve, g) for each in found for curve in each.curves for g in range(len(curve.k))
    )
    (best,) = (each.best(winner) for each in found if any(c is winner for c in each.curves))
    return CvTable(
        n_features=data.n_features if kept is None else len(kept),
        n_rows=data.n_rows(*training(parting)),
        folds=parting.n_folds,
        repeats=n_divisions(recipe, data, parting),
        scoring=recipe.scoring or "accuracy",
        best=best,
        simplest_k=_simplest_k(winner),
        contenders=tuple(
            CvContender(
                own.best(curve),
                _simplest_k(curve),
                each.behind,
                each.behind_standard_error,
                *own.words,
            )
            for each in ranked.contenders
            for own in found
            for curve in [best_curve(own.curves)]
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
        other = "--read groups" if grouped else "--folds loo"
        raise InputError(f"`{other}` and `--read time` divide the rows in two ways; leave one out.")
    if n_folds is not None:
        return Parting(n_folds=n_folds, grouped=grouped, timed=timed), None
    if recipe.scoring in ("balanced_accuracy", "f1_macro") and not grouped:
        raise InputError(
            f"`--judge scoring={recipe.scoring}` has no sense in folds of one row (--folds loo); "
            "leave one of them out."
        )
    parts, layout = parts_to_read(recipe, workers)
    n = n_alone(parts, layout, grouped=grouped)
    if not 2 <= n <= _MOST_ALONE:
        raise InputError(
            f"{recipe.name}: `--folds loo` trains a model for each row, or group, of which there "
            f"must be 2 to {_MOST_ALONE:,}; got {n:,}. Use --folds 20."
        )
    return Parting(n_folds=n, grouped=grouped, singly=True), parts


@dataclass(frozen=True, slots=True)
class _Contender:
    """A kind of model, judged: a curve for each smoothing, and what it reaches on all rows."""

    data: Data
    curves: list[Curve]
    reached: Sequence[Sequence[dict[str, Any]]] = ()  # at each k, beside each curve
    words: tuple[str, str] = ("", "")  # what is gained, and in which unit

    def point(self, curve: Curve, g: int) -> CvPoint:
        """One k of a curve."""
        (i,) = (i for i, each in enumerate(self.curves) if each is curve)
        reached = self.reached[i][g] if self.reached else {}
        score, error = float(curve.mean[g]), float(curve.standard_error[g])
        alpha = curve.settings.get("alpha")
        return CvPoint(curve.name, int(curve.k[g]), alpha, score, error, **reached)

    def best(self, curve: Curve) -> CvPoint:
        """Return the best k of a curve."""
        return self.point(curve, curve.position("best"))


def _judged(
    recipe: Recipe,
    names: Sequence[str],
    ks: Sequence[int] | None,
    parting: Parting,
    alphas: Sequence[float] | None,
    workers: Workers,
    progress: Progress,
    parts: Sequence[Part] | None = None,
) -> list[_Contender]:
    """All kinds of models, the rows of the first read once for all."""
    found: list[_Contender] = []
    for name in names:
        own = replace(recipe, model=replace(recipe.model, kind=name))
        parts = found[0].data.parts if found else parts
        data = data_of(own, own.model_of(), parting, workers, progress, parts)
        found.append(_contender(own, data, ks, parting, alphas, workers, progress))
    return found


def _contender(
    recipe: Recipe,
    data: Data,
    ks: Sequence[int] | None,
    parting: Parting,
    alphas: Sequence[float] | None,
    workers: Workers,
    progress: Progress,
) -> _Contender:
    """Curves of one kind of model, one for each smoothing."""
    kinds = training(parting)
    check_rows(recipe, data, kinds)
    if parting.by_chance:
        _check_folds(recipe.name, data.rows_of_classes(*kinds), parting.n_folds)
    kept = data.kept(kinds, recipe.model)
    m = data.n_features if kept is None else len(kept)
    model = constrained(recipe.model_of(), data, recipe.model, kept)
    _check_ks(recipe.name, ks, choices(model, m, 0)[0])
    with told_of(recipe.name), in_options():
        grid = (
            default_grid(data, model, kinds, kept) if ks is None
            else model_grid(model, m, len(data.rows_of_classes(*kinds)), ks)
        )  # fmt: skip
    progress("cross-validating", 0, 0)
    models = []
    for alpha in alphas or (recipe.model.alpha,):
        settings = replace(recipe.model, alpha=alpha)
        models.append(constrained(replace(recipe, model=settings).model_of(), data, settings, kept))
    with told_of(recipe.name), in_options():
        found = repeated_errors(recipe, data, models, kept, grid, parting, workers)
        reached = [_reached(recipe, data, each, kinds, kept, grid, workers) for each in models]
    chosen: list[dict[str, Any]] = [{"alpha": alpha} for alpha in alphas or ()] or [{}]
    scoring = recipe.scoring or "accuracy"
    name, words = recipe.model.kind, model.words
    curves = [Curve.of_errors(name, *each, scoring) for each in zip(chosen, found, strict=True)]
    return _Contender(data, curves, reached, (words.quantity, words.unit))


def _reached(
    recipe: Recipe, data: Data, model: Model[Any], kinds: Kinds, kept: IntArray | None,
    grid: IntArray, workers: Workers,
) -> list[dict[str, Any]]:  # fmt: skip
    """Return what a model gains with each k, trained on all rows, and which features come in."""
    statistics = weighed(data.statistics(kinds, kept), recipe.model)
    held = HeldRows(data, kinds, workers).over(model, statistics, kept)
    track = model_path(of_rows(model, statistics, held), statistics, grid)
    found, before = [], np.empty(0, dtype=np.int64)
    for g in range(len(track.k)):
        support = track.support(int(track.k[g]))
        new = np.setdiff1d(support, before)[:_NEW_FEATURES]
        bound = float(track.bound[g] - track.baseline)
        gap = float(track.gap[g]) / bound if bound > 0 and np.isfinite(bound) else 0.0
        gain = float(track.objective[g] - track.baseline)
        entered = data.named(new if kept is None else kept[new])
        found.append({"gain": gain, "bound": bound, "relative_gap": gap, "entered": entered})
        before = support
    return found


def _simplest_k(curve: Curve) -> int:
    return int(curve.k[curve.position("simplest")])


def _check_ks(name: str, ks: Sequence[int] | None, there_are: int) -> None:
    if ks is not None and max(ks) > there_are:
        raise InputError(
            f"{name}: `--ks` must be at most the number of features, {there_are:,}; got "
            f"{max(ks):,}."
        )


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
    heads = ["model", "k", "alpha", table.scoring, "standard_error", "gain", "bound"]
    out = io.StringIO()
    writer = csv.writer(out, lineterminator="\n")
    writer.writerow([*heads, "relative_gap"])
    for p in table.points:
        figures = (p.score, p.standard_error, p.gain, p.bound, p.relative_gap)
        alpha = "" if p.alpha is None else p.alpha
        writer.writerow([p.model, p.k, alpha, *("" if x is None else repr(x) for x in figures)])
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


def first_ks(rows: Sequence[CvPoint], n: int) -> IntArray:
    """Positions of about n rows, evenly spaced, the first and the last among them."""
    return np.unique(np.rint(np.linspace(0, len(rows) - 1, min(n, len(rows)))).astype(np.int64))
