"""The one learner: from files to a summary and a model.

    files -> statistics by kind of row -> k -> model -> verdicts on test rows -> model of all rows

Rows are gone through at most four times: to be counted, to choose k on folds, to be tested on, and
to be quoted from. Nothing that grows with rows times features is held, but for models that need it.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from naively._nearest import short
from naively._types import FloatArray, IntArray
from naively.jobs.data import Data, Kinds, data_of, notes_on
from naively.jobs.engines import Workers, working
from naively.jobs.fit import Fitted, firm, fit, is_plain, kept_firm
from naively.jobs.folds import N_FOLDS, choose_k, chooser, fitted_temperature, training
from naively.jobs.markers import check_markers, with_markers
from naively.jobs.model_file import ModelFile
from naively.jobs.outcome import Tested, files_of, summarize
from naively.jobs.profile import profile_of
from naively.jobs.quote import examples
from naively.jobs.reasons import misled_by
from naively.jobs.results import ALSO, RESULT_FILES, write_result
from naively.jobs.settings import ModelSettings, Recipe
from naively.jobs.stability import check_stability, stability_of
from naively.jobs.study import (
    Accuracies,
    coverage_points,
    grid_of,
    measured_grid,
    own_rule,
    path_curve,
    predicted_error,
    stability_grid,
    with_stability,
)
from naively.jobs.thresholds import check_thresholds, kept_threshold, thresholds
from naively.judging.agreement import agreement
from naively.judging.every_k import every_k
from naively.judging.parting import TEST, UNLABELLED, Parting
from naively.judging.scoring import is_share
from naively.judging.verdicts import Judge, Verdicts, total
from naively.models import MODELS
from naively.models.model import Model
from naively.read.errors import InputError
from naively.read.parts import parts_of
from naively.read.progress import Progress, silent
from naively.report.summary import Misled, Summary
from naively.selection.train import Trained, choices, is_auto
from naively.work.judged import Look, Untempered, judged
from naively.work.stream import Task, tasks_of
from naively.work.writing import atomic_directory, reserved_directory


def select(
    recipe: Recipe, out: str, progress: Progress = silent, *, force: bool = False
) -> Summary:
    """Select features, train and test a classifier, and write the result folder.

    Raises
    ------
    InputError
        If the input or a setting cannot be used.
    OutputError
        If the result cannot be written. The result folder is then as it was before.
    """
    with reserved_directory(out, RESULT_FILES, sometimes=ALSO, force=force):
        summary, model = learn(recipe, progress)
        progress("writing", 0, 0)
        with atomic_directory(out, RESULT_FILES, sometimes=ALSO, force=force) as folder:
            write_result(folder, summary, model, recipe.given)
    return summary


def learn(recipe: Recipe, progress: Progress = silent) -> tuple[Summary, ModelFile]:
    """Select, train and test.

    A split that was given (a file, a column) is kept: the model written is the one that was
    tested. Rows held out at random are tested on first and then join the training, since nobody
    would want a fifth of the data wasted; the summary tells how many features the two share. A
    number of features that is to be chosen is chosen once, among the training rows.
    """
    model, parting = recipe.model_of(), parting_of(recipe)
    _check_choice(recipe)
    check_stability(recipe)
    check_markers(recipe.model, recipe.markers)
    with working(recipe.engine) as workers:
        data = data_of(recipe, model, parting, workers, progress)
        kinds = training(parting)
        check_rows(recipe, data, kinds)
        check_thresholds(recipe, data, sorted(data.rows_of_classes(*kinds)))
        data = replace(data, notes=(*data.notes, *notes_on(recipe, data), *_untested(recipe, data)))
        progress("selecting", 0, 0)
        settings, accuracies, temperature = recipe.model, None, None
        if is_auto(settings.k):
            folds, k, told = choose_k(recipe, data, parting, workers)
            data = replace(data, notes=(*data.notes, *told))
            settings = replace(settings, k=k)
            scoring = recipe.scoring or "accuracy"
            if is_share(scoring):  # others are no accuracies
                accuracies = Accuracies.of_folds(
                    folds, chooser(settings.kind), settings, scoring, timed=parting.timed
                )
        if model.calibration is not None:
            temperature = fitted_temperature(data, model, settings, parting, workers)
        has_test = recipe.test.file is not None or data.n_rows(TEST) > 0
        again = has_test and not recipe.test.is_given
        # All rows may have more features than the training rows: the last fit refuses a large k.
        fitting = _Fitting(recipe, data, model, settings, workers, temperature, progress)
        final, trained = fitting.of(kinds, clip=again)
        test, tested = None, None
        if has_test:
            progress("testing", 0, 0)
            test, measured = _tested(recipe, data, final, trained, workers)
            accuracies = accuracies or measured
            tested = _test_of_odds(recipe, data, final, trained, workers)
        cut = thresholds(recipe, data, model, settings, parting, workers, trained, tested)
        if again:
            del trained  # most of the memory
            kinds = (*kinds, TEST)
            final, trained = fitting.of(kinds)
        curve = None if recipe.quick else path_curve(trained, recipe.model, accuracies)
        if recipe.stability and recipe.stable is None:
            ks = stability_grid(curve, len(trained.selection.support))
            shares, of_path = fitting.stability(trained, kinds, ks)
            final = firm(final, shares)
            curve = curve and with_stability(curve, ks, of_path)
        final = _told_if_weaker(recipe, data, final, trained, test, workers)
        final = with_markers(final, data, trained, settings, kinds, recipe.markers)
        found = [] if recipe.quick else examples(data, final, kinds, workers)
        profile = None if recipe.quick else profile_of(data)
    summary = summarize(recipe, files_of(recipe, data, test), test, final, curve, found, profile)
    split = recipe.test.split_column or ""
    file = replace(final.file, answer_from=kept_threshold(cut), split=split)
    return replace(summary, thresholds=cut), file


def _check_choice(recipe: Recipe) -> None:
    """Refuse what says how k is chosen where it is given."""
    for name in ("scoring", "repeats"):
        if getattr(recipe, name) is not None and not is_auto(recipe.model.k):
            raise InputError(
                f"`--judge {name}` has no effect without -k auto, simplest or best, which choose k "
                "by it; add one."
            )


@dataclass(frozen=True, slots=True)
class _Fitting:
    """What the model that is tested, and the one of all rows, are trained with."""

    recipe: Recipe
    data: Data
    model: Model[Any]
    settings: ModelSettings
    workers: Workers
    temperature: float | None
    progress: Progress

    def of(self, kinds: Kinds, *, clip: bool = False) -> tuple[Fitted, Trained[Any]]:
        """Train on the rows of some kinds: on the best features, or the firm ones of these."""
        stable = self.recipe.stable
        best, trained = self._fit(kinds, clip, None)
        if stable is None:
            return best, trained
        shares, _ = self.stability(trained, kinds)
        kept = shares >= stable - 1e-9
        fitted, trained = self._fit(kinds, clip, trained.selection.support[kept])
        return kept_firm(fitted, shares[kept], stable, len(shares)), trained

    def _fit(
        self, kinds: Kinds, clip: bool, support: IntArray | None
    ) -> tuple[Fitted, Trained[Any]]:
        return fit(
            self.data, self.model, self.settings, kinds, clip=clip, workers=self.workers,
            temperature=self.temperature, support=support,
        )  # fmt: skip

    def stability(
        self, trained: Trained[Any], kinds: Kinds, ks: IntArray | None = None
    ) -> tuple[FloatArray, FloatArray]:
        """Share of the halves of these rows that select each feature of a model; and at some k."""
        self.progress("selecting on halves", 0, 0)
        return stability_of(self.recipe, self.data, trained, kinds, self.workers, ks)


def parting_of(recipe: Recipe) -> Parting:
    """Which rows are trained on, and which tested on."""
    folded = is_auto(recipe.model.k) or recipe.model.calibration is not None or recipe.wanted
    share = 0.0 if recipe.test.is_given else recipe.test.holdout
    test = recipe.test
    grouped, timed = test.groups is not None, test.time is not None
    if grouped and timed:
        raise InputError(
            "`--read groups` and `--read time` divide the rows in two ways; leave one out."
        )
    if timed and test.seed and not test.is_given:
        raise InputError(
            "`--judge seed` has no effect with --read time, which draws nothing; leave it out."
        )
    parting = Parting(share, test.seed, N_FOLDS if folded else 1, grouped=grouped, timed=timed)
    halved = recipe.stability or recipe.stable is not None or recipe.model.refit is not None
    if (grouped and not halved or timed) and not (folded or 0 < share < 1):
        name = "--read groups" if grouped else "--read time"
        raise InputError(
            f"`{name}` has no effect where rows are not held out, cross-validated or halved; leave "
            "it out."
        )
    return parting


def check_rows(recipe: Recipe, data: Data, kinds: Kinds) -> None:
    """Refuse rows that cannot be trained on.

    Raises
    ------
    InputError
        If there are none, if they have one label only or nearly one for each, if no feature
        occurs in them, or if the split column leaves none for training or for the test.
    """
    name, column, found = recipe.name, recipe.test.split_column, data.rows_of_classes(*kinds)
    n = sum(found.values())
    if not n + data.n_rows(TEST):
        if unlabelled := data.n_rows(UNLABELLED):
            raise InputError(
                f"{name}: no row has a label ({unlabelled:,} read); name the column of labels with "
                "--label."
            )
        if (weight := recipe.layout.weight) is not None:
            raise InputError(
                f"{name}: no row has a weight above 0 in column `{weight}`; leave out --read "
                "weight, or name another column."
            )
        raise InputError(f"{name}: there are no rows; give files with data in them.")
    for which, rows in (("train", n), ("test", data.n_rows(TEST))):
        if column is not None and not rows:
            raise InputError(
                f"{name}: no row has {which!r} in column `{column}`; "
                "use --test instead of --read split."
            )
    if len(found) < 2:
        bare = data.n_rows(UNLABELLED)
        held = sorted(set(data.rows_of_classes(TEST)) - set(found))
        why = [f"{bare:,} row{'s' * (bare > 1)} without a label left out"] * bool(bare)
        why += ["all their rows are test rows"] * bool(held)
        why += ["rows of weight 0 are left out"] * (recipe.layout.weight is not None)
        why += ["is --label the right column?"] * (not held)
        raise one_class(name, found, "; ".join(why), held)
    if n >= 20 and 2 * len(found) > n:
        raise InputError(
            f"{name}: the labels have {len(found):,} different values in {n:,} rows, "
            "which is no class; choose another column with --label."
        )
    if data.text_columns and data.n_features == 0:
        raise InputError(
            f"{name}: no text holds any word that the rules let through; check that --text names "
            "the text, and --words stop-words, --words token-pattern and --words ngrams."
        )


def _untested(recipe: Recipe, data: Data) -> Iterator[str]:
    """Say why rows that should have been tested on are none."""
    if recipe.test.holdout and not recipe.test.is_given and not data.n_rows(TEST):
        share = recipe.test.method.partition(",")[0]
        yield f"No row was held out: {share} is less than half a row; --test 0.5 takes more."


def one_class(
    name: str, found: Iterable[str], hint: str, lacking: Sequence[str] = ()
) -> InputError:
    """Return the error of rows of one class, or none, with what to look at.

    `lacking` are classes without rows to train on, as far as they are known.
    """
    only = "".join(f" ({short(each)})" for each in found)
    others = ", ".join(map(short, lacking[:5])) + ", ..." * (len(lacking) > 5)
    none = f", none of {others}" if lacking else ""
    return InputError(
        f"{name}: the training rows hold one class only{only}{none}; two or more are needed to "
        f"tell apart ({hint})."
    )


def _tested(
    recipe: Recipe, data: Data, fitted: Fitted, trained: Trained[Any], workers: Workers
) -> tuple[Tested, Accuracies | None]:
    """Judge the test rows by a model and, where that has a sense, by those of every k."""
    every, grid = _judge(recipe, data, fitted, trained)
    verdicts = _verdicts(recipe, data, fitted, every, training(parting_of(recipe)), workers)
    method, n = recipe.test.method, verdicts.pairs.total()
    if not n:
        raise InputError(
            f"{recipe.test.file}: there are no rows with a label to test on; give a file with data "
            "in it."
        )
    accuracies = None
    if verdicts.wrong is not None:
        accuracies = Accuracies(grid, 1 - verdicts.wrong / n, None, method + own_rule(recipe.model))
    test = Tested(
        fitted=fitted,
        method=method,
        pairs=verdicts.pairs,
        left_out=verdicts.left_out,
        coverage=() if recipe.quick else coverage_points(*verdicts.by_margin()),
        predicted_error=None if recipe.quick else _expected_error(data, trained),
        misled=_misled(recipe, data, fitted, verdicts),
        bare=verdicts.bare,
    )
    return test, accuracies


def _verdicts(
    recipe: Recipe, data: Data, fitted: Fitted, judge: Judge, kinds: Kinds, workers: Workers
) -> Verdicts:
    """Return what a model, trained on rows of some kinds, makes of the test rows, or every one."""
    columns = judge.columns if data.n_regions == 1 else fitted.file.columns
    idf = data.idf(kinds)
    if data.features.two_passes:
        all_of_them = np.arange(data.n_features)
        look = Look(data.features, data.terms(all_of_them), all_of_them, False, idf, columns)
    else:
        factors = None if idf is None else idf[columns]
        look = Look(data.features, data.terms(columns), columns, data.n_regions > 1, factors)
    return total(workers.map(judged, _test_tasks(recipe, data, workers), judge, look))


def _told_if_weaker(
    recipe: Recipe, data: Data, final: Fitted, trained: Trained[Any], test: Tested | None,
    workers: Workers,
) -> Fitted:  # fmt: skip
    """Tell if the model of all rows does worse on the test rows than the one they tested.

    Of few features a single one can do that: the test is then that of another choice.
    """
    if recipe.quick or test is None or set(final.file.names) == set(test.fitted.file.names):
        return final
    kinds = (*training(parting_of(recipe)), TEST)
    judge = _judge_alone(data, final, trained)
    reached = agreement(_verdicts(recipe, data, final, judge, kinds, workers).pairs)
    tested = agreement(test.pairs)
    if reached.accuracy >= tested.low:
        return final
    note = (
        "The model that was written chose anew among all rows, and is right on "
        f"{reached.accuracy:.1%} of the test rows, though it was trained on them; the one that was "
        f"tested on {tested.accuracy:.1%}. So the choice is not settled: take more features (-k), "
        "or a split of your own (--read split=COLUMN), where the tested model is the one that is "
        "written."
    )
    return replace(final, notes=(*final.notes, note))


def _misled(recipe: Recipe, data: Data, fitted: Fitted, verdicts: Verdicts) -> tuple[Misled, ...]:
    """Explain the surest mistakes, of a model that sees the entries themselves."""
    if recipe.quick or not is_plain(data.features):
        return ()
    found = [misled_by(fitted.file, each) for each in verdicts.mistakes]
    if recipe.test.file is None and len({part.path for part in data.parts}) > 1:
        return tuple(found)
    return tuple(replace(each, key=each.key.rpartition(": ")[2]) for each in found)  # of one file


def _test_tasks(recipe: Recipe, data: Data, workers: Workers) -> Sequence[Task]:
    """Return the tasks in which the test rows are."""
    if recipe.test.file is None:
        return [task.of_test() for task in data.tasks]
    layout = recipe.test_layout(data.tasks[0].layout)
    parts = parts_of([recipe.test.file], layout)
    return tasks_of(
        parts, data.features, layout, names=data.tasks[0].names, parting=Parting(share=1.0),
        n_jobs=workers.jobs, of_counts=data.tasks[0].of_counts,
    )  # fmt: skip


def _test_of_odds(
    recipe: Recipe, data: Data, fitted: Fitted, trained: Trained[Any], workers: Workers
) -> tuple[Sequence[Task], Look, Untempered] | None:
    """Return where the test rows are, what is seen of them, and the model that is tested."""
    if not recipe.wanted:
        return None
    file, idf = fitted.file, data.idf(training(parting_of(recipe)))
    columns = np.append(file.columns, data.also)
    union = np.unique(columns)
    rule = Untempered(
        TEST, np.array(file.classes), trained.rule, replace(trained.model, constraints=None),
        np.searchsorted(union, columns), None if idf is None else idf[file.columns],
    )  # fmt: skip
    look = Look(data.features, data.terms(union), union)
    return _test_tasks(recipe, data, workers), look, rule


def _expected_error(data: Data, trained: Trained[Any]) -> float | None:
    """Error that a model expects of itself; rows that are weighted follow no law that it knows."""
    return predicted_error(trained) if is_plain(data.features) else None


def _judge(
    recipe: Recipe, data: Data, fitted: Fitted, trained: Trained[Any]
) -> tuple[Judge, IntArray]:
    """Return what judges rows by the model and by those of other k, and the grid of these."""
    file, model, chosen = fitted.file, trained.model, fitted.selection.k
    most, least = choices(model, fitted.n_features, len(file.classes))
    grid = measured_grid(
        grid_of(most, chosen, least, recipe.model), most, chosen, len(file.classes)
    )
    if recipe.quick or MODELS[file.kind].regions:  # which have no path of their own
        return _judge_alone(data, fitted, trained), grid
    models = every_k(model, trained.statistics, grid)
    kept = data.kept(training(parting_of(recipe)), recipe.model)
    seen, own = data.placed(models.columns, kept), np.append(file.columns, data.also)
    judge = replace(model, constraints=None)
    return Judge.of(trained.rule, file.classes, judge, own, models, seen), grid


def _judge_alone(data: Data, fitted: Fitted, trained: Trained[Any]) -> Judge:
    """Return what judges rows by a model."""
    columns = np.append(np.tile(fitted.file.columns, data.n_regions), data.also)
    model = replace(trained.model, constraints=None)  # of all the data: not for the workers
    return Judge(trained.rule, fitted.file.classes, model, columns, np.arange(len(columns)))
