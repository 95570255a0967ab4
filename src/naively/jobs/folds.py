"""How well every number of features predicts: folds of the training rows, judged where they are."""

from __future__ import annotations

import warnings
from collections.abc import Sequence
from dataclasses import replace
from typing import Any

import numpy as np

from naively._types import IntArray
from naively.jobs.constraints import constrained, weighed
from naively.jobs.data import Data, Kinds, data_of
from naively.jobs.engines import Workers
from naively.jobs.rows import HeldRows
from naively.jobs.settings import ModelSettings, Recipe, asked_k
from naively.jobs.study import measured_grid
from naively.judging.calibration import temperature_of
from naively.judging.error_path import FoldErrors, class_weights, equal_rows
from naively.judging.every_k import every_k
from naively.judging.folds import chosen_k, repeats_of
from naively.judging.parting import Parting
from naively.judging.scoring import is_share, losses_of, names_in
from naively.models import MODELS
from naively.models.model import Model
from naively.read.errors import InputError, told_of
from naively.selection.redundancy import candidates, own
from naively.selection.train import choices, model_grid, resolve_k, train
from naively.work.judged import Fold, Look, Untempered, judged_folds, slopes_of_folds

N_FOLDS = 5


def chooser(kind: str) -> str:
    """Kind of model whose folds choose k.

    Models that keep columns of text apart have the k of the multinomial model, which selects their
    words.
    """
    return "multinomial" if MODELS[kind].regions else kind


def choose_k(
    recipe: Recipe, data: Data, parting: Parting, workers: Workers
) -> tuple[FoldErrors, int, tuple[str, ...]]:
    """Choose k by the errors on the default grid, of the training rows alone.

    Returns
    -------
    errors, k, notes
        The errors, the k that `-k auto` or `-k best` takes, and what the reader should know of it.

    Raises
    ------
    InputError
        If no class has two rows, so that some fold would leave none to train on.
    """
    if max(data.rows_of_classes(*training(parting)).values()) < 2:
        raise InputError(
            f"{recipe.name}: `-k {recipe.model.k}` cross-validates, for which a class needs two "
            "training rows or more; give -k a number, or more rows."
        )
    with told_of(recipe.name), warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        errors = _of_chooser(recipe, data, parting, workers)
        k = chosen_k(errors, recipe.model.k)
    return errors, k, tuple(dict.fromkeys(str(each.message) for each in caught))


def _of_chooser(recipe: Recipe, data: Data, parting: Parting, workers: Workers) -> FoldErrors:
    """Errors of the default grid, of the kind of model that chooses k."""
    if (kind := chooser(recipe.model.kind)) != recipe.model.kind:
        weights, norm = recipe.model.weighting(of_text=recipe.features is not None)
        settings = replace(recipe.model.of_words, kind=kind, weights=weights, norm=norm)
        recipe = replace(recipe, model=settings)
        data = data_of(recipe, recipe.model_of(), parting, workers, parts=data.parts)
    kinds = training(parting)
    kept = data.kept(kinds, recipe.model)
    model = constrained(recipe.model_of(), data, recipe.model, kept)
    grid = default_grid(data, model, kinds, kept)
    return repeated_errors(recipe, data, [model], kept, grid, parting, workers)[0]


def default_grid(data: Data, model: Model[Any], kinds: Kinds, kept: IntArray | None) -> IntArray:
    """Numbers of features that are compared unless others are asked for, (G,)."""
    m = data.n_features if kept is None else len(kept)
    n_classes = len(data.rows_of_classes(*kinds))
    most, least = choices(model, m, n_classes)
    grid = np.unique(np.append(least, model_grid(model, m, n_classes)))
    return measured_grid(grid, most, least, n_classes)


def repeated_errors(
    recipe: Recipe, data: Data, models: Sequence[Model[Any]], kept: IntArray | None, grid: IntArray,
    parting: Parting, workers: Workers,
) -> list[FoldErrors]:  # fmt: skip
    """Errors of each model on the same folds of the rows that are trained on.

    With few rows the division into folds decides as much as the rows do: they are divided anew,
    up to five times unless it is said how often, and the errors averaged.
    """
    if data.words_from is not None:  # the columns of a table are known by now
        known = replace(recipe.layout, variables=data.tasks[0].layout.variables)
        recipe = replace(recipe, layout=known)
    scoring = recipe.scoring or "accuracy"
    found: list[list[FoldErrors]] = [[] for _ in models]
    for seed in range(n_divisions(recipe, data, parting)):
        again = replace(parting, fold_seed=seed)
        anew = data_of(recipe, models[0], again, workers, parts=data.parts) if seed else data
        for each, model in zip(found, models, strict=True):
            each.append(_fold_errors(recipe, anew, model, again, kept, grid, workers))
    rows = data.rows_of_classes(*parting.judged)
    return [
        FoldErrors(
            grid,
            np.concatenate([of_once.errors for of_once in each]),
            np.concatenate([of_once.weight for of_once in each]),
            parting.n_folds,
            equal_rows(rows, scoring) if is_share(scoring) else None,
        )
        for each in found
    ]


def n_divisions(recipe: Recipe, data: Data, parting: Parting) -> int:
    """Count how often the rows that are trained on are divided into folds.

    Raises
    ------
    InputError
        If that is said, and there is only one way to divide them.
    """
    if parting.by_chance:
        return recipe.repeats or repeats_of(data.n_rows(*training(parting)))
    if recipe.repeats is not None:
        way = "--read time" if parting.timed else "--folds loo"
        raise InputError(
            f"`--judge repeats` has no effect with {way}, which divides rows in one way; leave it "
            "out."
        )
    return 1


def _fold_errors(
    recipe: Recipe, data: Data, model: Model[Any], parting: Parting, kept: IntArray | None,
    grid: IntArray, workers: Workers,
) -> FoldErrors:  # fmt: skip
    """Loss of each fold, the rows of one kind, at each k (G,): the features chosen without it."""
    settings, scoring, kinds = recipe.model, recipe.scoring or "accuracy", training(parting)
    names = names_in(data.rows_of_classes(*kinds))
    total = _total(data, model, kinds, kept)
    held, folds = HeldRows(data, kinds, workers), []
    judged = [kind for kind in parting.judged if data.n_rows(kind)]
    if model.redundancy is not None:  # one pass for the candidates of all folds
        places = [
            candidates(model, _without(data, total, parting, kind, kept, settings))
            for kind in judged
        ]
        union = np.unique(np.concatenate(places))
        held.hold(union if kept is None else kept[union])
    for kind in judged:
        fold = _fold(data, model, total, parting, kind, kept, grid, settings, held)
        if is_share(scoring):
            fold = replace(fold, weights=class_weights(data.class_rows[kind], scoring))
        folds.append(replace(fold, scoring=scoring, names=names))
    union = np.unique(np.concatenate([fold.on_path for fold in folds]))
    if data.features.two_passes:
        union = np.arange(data.n_features)
    placed = [replace(fold, on_path=np.searchsorted(union, fold.on_path)) for fold in folds]
    sums = sum(
        workers.map(judged_folds, data.tasks, placed, Look(data.features, data.terms(union), union))
    )
    return FoldErrors(grid, *losses_of(scoring, sums), len(folds))


def _fold(
    data: Data, model: Model[Any], total: Any, parting: Parting, kind: int,
    kept: IntArray | None, grid: IntArray, settings: ModelSettings, held: HeldRows,
) -> Fold:  # fmt: skip
    """Models of every k without the rows of one kind; `on_path` are their columns in the data."""
    statistics = _without(data, total, parting, kind, kept, settings)
    others = parting.others(kind, training(parting))
    model = own(model, statistics, held.over(model, statistics, kept, others), int(grid[-1]))
    models = every_k(model, statistics, grid)
    columns = data.placed(models.columns, kept)
    idf = data.idf(others)
    of_all = data.features.two_passes
    factors = None if idf is None else idf if of_all else idf[columns]
    return Fold(kind, statistics.classes.astype(str), models, columns, factors, of_all)


def fitted_temperature(
    data: Data, model: Model[Any], settings: ModelSettings, parting: Parting, workers: Workers
) -> float:
    """Temperature of the model that is asked for, from the folds of the training rows."""
    folds, look = fold_models(data, model, settings, parting, workers)
    return temperature_of(sum(workers.map(slopes_of_folds, data.tasks, folds, look)))


def fold_models(
    data: Data, model: Model[Any], settings: ModelSettings, parting: Parting, workers: Workers
) -> tuple[list[Untempered], Look]:
    """Train the model that is asked for without the rows of each kind in turn."""
    kinds = training(parting)
    kept = data.kept(kinds, settings)
    model = constrained(model, data, settings, kept)
    total = _total(data, model, kinds, kept)
    held, trained = HeldRows(data, kinds, workers), []
    for kind in (kind for kind in parting.judged if data.n_rows(kind)):
        statistics = _without(data, total, parting, kind, kept, settings)
        others = parting.others(kind, kinds)
        rows = held.over(model, statistics, kept, others)
        most, _ = choices(model, statistics.n_features, len(statistics.classes))
        k = resolve_k(asked_k(settings, most, clip=True), most)
        fold, idf = train(model, statistics, k, rows=rows), data.idf(others)
        support = data.placed(fold.selection.support, kept)
        factors = None if idf is None else idf[support]
        support = np.append(support, data.also)
        trained.append(
            Untempered(kind, fold.classes.astype(str), fold.rule, model, support, factors)
        )
    union = np.unique(np.concatenate([each.own for each in trained]))
    folds = [replace(each, own=np.searchsorted(union, each.own)) for each in trained]
    return folds, Look(data.features, data.terms(union), union)


def _total(data: Data, model: Model[Any], kinds: Kinds, kept: IntArray | None) -> Any:
    """Statistics of all rows from which those of a fold are taken away; None if they cannot be.

    The idf of the rows of a fold has no part in the weights of the others.
    """
    subtracts = model.subtracts and data.features.weights != "tfidf"
    return data.statistics(kinds, kept) if subtracts else None


def _without(
    data: Data, total: Any, parting: Parting, kind: int, kept: IntArray | None,
    settings: ModelSettings,
) -> Any:  # fmt: skip
    """Statistics of the rows by whose model one kind is judged, with the classes among them."""
    if total is not None and not parting.timed:
        statistics = total - data.statistics((kind,), kept)
    else:
        statistics = data.statistics(parting.others(kind, training(parting)), kept)
    present = np.flatnonzero(statistics.class_rows > 0)
    if parting.timed and len(present) < 2:
        raise InputError(
            f"{data.name}: the first rows by `--read time` hold one class only; two or more are "
            "needed to be trained on. Leave it out, or give more rows."
        )
    if len(present) < len(statistics.classes):
        statistics = statistics.of_classes(present)
    return weighed(statistics, settings)


def training(parting: Parting) -> Kinds:
    """Kinds of the rows that are trained on."""
    return parting.training
