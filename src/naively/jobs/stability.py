"""How often each selected feature is selected on halves of the rows, wherever these are."""

from __future__ import annotations

from dataclasses import replace
from functools import partial
from typing import Any

import numpy as np

from naively._types import Array, FloatArray, IntArray
from naively.jobs.data import Data, Kinds
from naively.jobs.engines import Workers
from naively.jobs.settings import Recipe
from naively.judging.folds import stratified_folds
from naively.judging.stability import BUCKETS, HALVES, times_selected
from naively.models import MODELS
from naively.models.model import Model
from naively.read.errors import InputError, told_of
from naively.selection.train import Trained, is_fdr, model_path
from naively.statistics.matrix import Matrix
from naively.work.bucketed import bucketed, summed
from naively.work.judged import Look
from naively.work.taken import Taken, joined, taken

_RARE = 2 * BUCKETS  # rows of a class, so that each half has some; buckets of fewer are dealt out
_FEWEST = 10 * BUCKETS  # rows, so that buckets are of like sizes; fewer are halved row by row


def check_stability(recipe: Recipe) -> None:
    """Refuse a model whose features cannot be selected again from sums of its statistics.

    Raises
    ------
    InputError
        Naming what stands in the way.
    """
    asked = recipe.stability or recipe.stable is not None
    if asked and (name := hindrance(recipe)):
        way = ", or take --model l2-centers" if recipe.model.kind == "l1-centers" else ""
        raise InputError(
            f"`{_option(recipe)}` selects k features again on sums of counts, not with {name}; "
            f"leave one of them out{way}."
        )


def hindrance(recipe: Recipe) -> str:
    """Option with which no features are selected on halves; "" if there is none."""
    settings, stable = recipe.model, recipe.stable is not None
    hindrances = {
        f"--model {settings.kind}": MODELS[settings.kind].statistic is None,
        "--choose objective=pairs": stable and settings.objective != "likelihood",
        "--choose redundancy": settings.redundancy is not None,
        "--choose class-weight": settings.class_weight is not None,
        "--words weights=tfidf": settings.weights == "tfidf",
        "constraints on the features": stable and settings.is_constrained,
        "--choose groups, costs and budget": any(
            each is not None for each in (settings.feature_groups, settings.costs, settings.budget)
        ),
        "-k fdr": is_fdr(settings.k),
        "--train calibration": stable and settings.calibration is not None,
    }
    return next((name for name, hinders in hindrances.items() if hinders), "")


def _option(recipe: Recipe) -> str:
    return "--judge stability" if recipe.stable is None else "--choose stable"


def stability_of(
    recipe: Recipe, data: Data, trained: Trained[Any], kinds: Kinds, workers: Workers,
    ks: IntArray | None = None,
) -> tuple[FloatArray, FloatArray]:  # fmt: skip
    """Share of 100 random halves of the rows on which each selected feature is selected: (k,).

    And of the best features at some other k (K,), ascending, the largest below 3 k: on average.
    Rows are divided in buckets by their content, of which halves are made; few rows one by one.
    Groups of rows are never parted.

    Raises
    ------
    InputError
        If a class has too few rows for both halves.
    """
    kept = data.kept(kinds, recipe.model)
    classes, gathering = trained.classes, trained.model
    total = gathering.exposure == "total"
    if total:
        gathering = replace(gathering, gather=partial(_beside_total, gathering))

    groups = _groups(data, kinds)
    few = (data.n_rows(*kinds) if groups is None else len(groups)) < _FEWEST

    def look_at(columns: IntArray | None) -> Look:
        some = np.arange(trained.statistics.n_features) if columns is None else columns
        places = data.placed(some, kept)
        places = np.append(places, data.also) if total else places
        return Look(data.features, data.terms(places), places)

    def counted(columns: IntArray | None) -> list[Any]:
        look = look_at(columns)
        if few and groups is None:
            X, labels, _, weight, _ = joined(_taken(data, look, kinds, workers))
            weights = [None] * len(labels) if weight is None else weight[:, None]
            return [
                gathering.gather(X[[i]], labels[[i]], weights[i], classes=classes)
                for i in range(len(labels))
            ]
        own, n = (groups, len(groups)) if few and groups is not None else (None, BUCKETS)
        found = workers.map(bucketed, data.tasks, look, tuple(kinds), gathering, classes, n, own)
        return [summed(list(each)) for each in zip(*found, strict=True)]

    rng = np.random.RandomState(0)
    drawn = np.zeros(BUCKETS, dtype=np.int64)
    rare = groups is None and min(data.rows_of_classes(*kinds).values()) < _RARE
    if few and groups is None:
        nothing = look_at(np.arange(1))
        drawn = np.searchsorted(classes, joined(_taken(data, nothing, kinds, workers))[1])
    elif rare or groups is not None:  # one holds rows of many classes: dealt out by the rarest
        some = counted(np.arange(1))  # of it, or by the largest of groups
        of = partial(_rarest, trained.statistics.class_rows) if rare else np.argmax
        drawn = np.array([0 if each is None else of(each.class_rows) for each in some])
    sides = [stratified_folds(drawn, 2, rng) == 0 for _ in range(HALVES // 2)]
    model = replace(trained.model, refit=None, calibration=None)
    support = trained.selection.support
    with told_of(data.name):
        grid = np.unique(np.append(np.empty(0, dtype=np.int64) if ks is None else ks, len(support)))
        times = times_selected(model, trained.statistics, counted, sides, grid)
        at = int(np.searchsorted(grid, len(support)))
        own = np.asarray(times[[at]].toarray().ravel()[support] / HALVES)
        if ks is None:
            return own, np.empty(0)
        track = model_path(model, trained.statistics, grid)
        shares = [
            times[[g]].toarray().ravel()[track.support(k)].mean() / HALVES if k else np.nan
            for g, k in enumerate(grid.tolist())
        ]
    return own, np.array(shares)[np.searchsorted(grid, ks)]


def _rarest(rows: IntArray, own: IntArray) -> int:
    """Class of the fewest rows (C,) of all of which a bucket has some of its own (C,)."""
    return int(np.where(own > 0, rows, np.inf).argmin())


def _groups(data: Data, kinds: Kinds) -> Array | None:
    """Keys of the groups of the rows of some kinds, ascending; None if there are no groups."""
    parting = data.tasks[0].parting
    if parting is None or parting.groups is None:
        return None
    return np.array(sorted(key for key, kind in parting.groups.items() if kind in kinds), np.uint64)


def _taken(data: Data, look: Look, kinds: Kinds, workers: Workers) -> list[Taken]:
    """Return the rows over the columns looked at, which are few."""
    found = workers.map(taken, data.tasks, look, tuple(kinds))
    return [each for each in found if each is not None]


def _beside_total(
    model: Model[Any], X: Matrix, y: Array, sample_weight: Any = None, **keywords: Any
) -> Any:
    """Statistics of rows over some columns, after which stands the total of all."""
    last = X.shape[1] - 1
    found = model.gather(X, y, sample_weight, **keywords, exposure=last).take(np.arange(last))
    return replace(found, exposed_by=model.exposure)
