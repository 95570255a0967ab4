"""How well every number of features predicts: folds of the training rows, judged where they are."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import Any

import numpy as np

from naively._types import IntArray
from naively.jobs.data import Data, Kinds, data_of
from naively.jobs.engines import Workers
from naively.jobs.settings import Recipe
from naively.jobs.study import measured_grid
from naively.judging.error_path import FoldErrors
from naively.judging.every_k import every_k
from naively.judging.folds import MAX_REPEATS, REPEATED_ROWS, warn_of_nothing
from naively.judging.parting import TRAIN, Parting
from naively.models import MODELS
from naively.models.model import Model
from naively.selection.path import checked_grid
from naively.work.judged import Fold, Look, judged_folds

N_FOLDS = 5


def chooser(kind: str) -> str:
    """Kind of model whose folds choose k.

    Models that keep columns of text apart have the k of the multinomial model, which selects their
    words.
    """
    return "multinomial" if MODELS[kind].regions else kind


def choose_k(recipe: Recipe, data: Data, parting: Parting, workers: Workers) -> FoldErrors:
    """Errors on the default grid, from which `-k auto` takes its k, of the training rows alone.

    With few rows the division into folds decides as much as the rows do: they are divided anew,
    up to five times, and the errors averaged.
    """
    if (kind := chooser(recipe.model.kind)) != recipe.model.kind:
        weights, norm = recipe.model.weighting(of_text=recipe.features is not None)
        settings = replace(recipe.model, kind=kind, weights=weights, norm=norm)
        recipe = replace(recipe, model=settings)
        data = data_of(recipe, recipe.model_of(), parting, workers, parts=data.parts)
    model = recipe.model_of()
    kinds = training(parting)
    n, kept = data.n_rows(*kinds), data.kept(kinds, recipe.model)
    m = data.n_features if kept is None else len(kept)
    grid = measured_grid(
        np.append(0, checked_grid(None, m)), m, 0, len(data.rows_of_classes(*kinds))
    )
    repeats = int(np.clip(REPEATED_ROWS // max(n, 1), 1, MAX_REPEATS))
    found = [fold_errors(data, model, kinds, kept, grid, workers)]
    for seed in range(1, repeats):
        again = Parting(parting.share, parting.seed, parting.n_folds, seed)
        anew = data_of(recipe, model, again, workers, parts=data.parts)
        found.append(fold_errors(anew, model, kinds, kept, grid, workers))
    errors = np.concatenate([each.errors for each in found])
    weight = np.concatenate([each.weight for each in found])
    chosen = FoldErrors(grid, errors, weight, parting.n_folds, n)
    warn_of_nothing(chosen)
    return chosen


def fold_errors(
    data: Data, model: Model[Any], kinds: Kinds, kept: IntArray | None, grid: IntArray,
    workers: Workers,
) -> FoldErrors:  # fmt: skip
    """Error of each fold, the rows of one kind, at each k (G,): the features chosen without it."""
    # The idf of the rows of a fold has no part in the weights of the others.
    subtracts = model.subtracts and data.features.weights != "tfidf"
    total = data.statistics(kinds, kept) if subtracts else None
    folds = []
    for kind in kinds:
        if data.n_rows(kind):
            folds.append(_fold(data, model, total, kinds, kind, kept, grid))
    union = np.unique(np.concatenate([fold.on_path for fold in folds]))
    if data.features.two_passes:
        union = np.arange(data.n_features)
    placed = [replace(fold, on_path=np.searchsorted(union, fold.on_path)) for fold in folds]
    counts = sum(
        workers.map(judged_folds, data.tasks, placed, Look(data.features, data.terms(union), union))
    )
    rows = counts[:, -1]
    return FoldErrors(
        grid, counts[:, :-1] / rows[:, None], rows.astype(np.float64), len(folds), rows.sum()
    )


def _fold(
    data: Data, model: Model[Any], total: Any, kinds: Sequence[int], kind: int,
    kept: IntArray | None, grid: IntArray,
) -> Fold:  # fmt: skip
    """Models of every k without the rows of one kind; `on_path` are their columns in the data."""
    others = tuple(each for each in kinds if each != kind)
    if total is not None:
        statistics = total - data.statistics((kind,), kept)
    else:
        statistics = data.statistics(others, kept)
    present = np.flatnonzero(statistics.class_rows > 0)
    if len(present) < len(statistics.classes):
        statistics = statistics.of_classes(present)
    models = every_k(model, statistics, grid)
    columns = models.columns if kept is None else kept[models.columns]
    idf = data.idf(others)
    of_all = data.features.two_passes
    factors = None if idf is None else idf if of_all else idf[columns]
    return Fold(kind, statistics.classes.astype(str), models, columns, factors, of_all)


def training(parting: Parting) -> Kinds:
    """Kinds of the rows that are trained on."""
    return tuple(range(TRAIN, parting.n_kinds))
