"""Thresholds for a wanted precision or recall: chosen on folds, told on the test rows."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from naively._nearest import short
from naively.jobs.data import Data
from naively.jobs.engines import Workers
from naively.jobs.folds import fold_models
from naively.jobs.settings import ModelSettings, Recipe
from naively.judging.agreement import share_interval
from naively.judging.parting import Parting
from naively.judging.thresholds import Wanted, reached_by, threshold_for
from naively.judging.verdicts import total
from naively.models import MODELS
from naively.models.model import Model
from naively.read.errors import InputError
from naively.report.summary import Threshold
from naively.selection.train import Trained
from naively.work.judged import Look, Untempered, odds_of_folds
from naively.work.stream import Task


def check_thresholds(recipe: Recipe, data: Data, classes: Sequence[str]) -> None:
    """Refuse what is wanted of classes that are not there, or of models that have no threshold.

    Raises
    ------
    InputError
        Saying why.
    """
    for wanted in recipe.wanted:
        option = f"`--judge {wanted.goal}`"
        if wanted.name not in classes:
            there_are = ", ".join(map(short, classes[:5])) + ", ..." * (len(classes) > 5)
            raise InputError(
                f"{recipe.name}: {option} must be of a class of the training ({there_are}); got "
                f"{short(wanted.name)}."
            )
        if MODELS[recipe.model.kind].regions or data.features.two_passes:
            raise InputError(
                f"{option} has no effect on --model hybrid, nor with --words weights=tfidf and "
                "--words norm; leave one of them out."
            )


def thresholds(
    recipe: Recipe, data: Data, model: Model[Any], settings: ModelSettings, parting: Parting,
    workers: Workers, trained: Trained[Any], tested: tuple[Sequence[Task], Look, Untempered] | None,
) -> tuple[Threshold, ...]:  # fmt: skip
    """Choose thresholds by the rows of folds that a model has not seen; judge them on test rows.

    Parameters
    ----------
    tested
        Where the test rows are, what is looked at of them, and the model; None for no test.
    """
    if not recipe.wanted:
        return ()
    folds, look = fold_models(data, model, settings, parting, workers)
    found = []
    for wanted in recipe.wanted:
        odds = total(
            workers.map(odds_of_folds, data.tasks, folds, look, wanted.name, trained.temperature)
        ).by_margin()
        least = threshold_for(*odds, wanted)
        if least is None:
            found.append(Threshold(wanted.name, wanted.goal, wanted.share, None))
            continue
        test: tuple[Any, ...] = ()
        if tested is not None:
            tasks, seen, judge = tested
            rows = total(workers.map(odds_of_folds, tasks, [judge], seen, wanted.name, 1.0))
            test = _told(wanted, rows.by_margin(), least)
        found.append(Threshold(wanted.name, wanted.goal, wanted.share, least, *test))
    return tuple(found)


def kept_threshold(found: Sequence[Threshold]) -> tuple[str, float] | None:
    """Return the one threshold by which a model is to answer; None if there is none, or more."""
    given = [(each.name, each.log_odds) for each in found if each.log_odds is not None]
    return given[0] if len(given) == 1 else None


def _told(wanted: Wanted, rows: Any, least: float) -> tuple[Any, ...]:
    odds, n_rows, members = rows
    reached = reached_by(odds, n_rows, members, least)
    some, n = reached.of(wanted.goal)
    if not n:
        return ()
    other = reached.of("recall" if wanted.goal == "precision" else "precision")
    low, high = share_interval(some, n)
    return n, some / n, low, high, other[0] / other[1] if other[1] else None
