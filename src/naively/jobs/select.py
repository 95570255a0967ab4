"""Select features, train and test a classifier, and write the result folder."""

from __future__ import annotations

from collections import Counter
from contextlib import suppress
from dataclasses import replace

import numpy as np

from naively._types import IntArray
from naively.estimators.parameters import is_auto
from naively.io.errors import UnreadableError
from naively.io.files import atomic_directory, check_directory
from naively.io.models import Model
from naively.io.progress import Progress, silent
from naively.jobs.examples import EXAMPLE_ROWS, examples
from naively.jobs.outcome import Asked, Tested, quoted, summarize
from naively.jobs.results import RESULT_FILES, write_result
from naively.jobs.route import streamed_job
from naively.jobs.rows import LEFT_OUT, TEST, TRAIN, Rows, load
from naively.jobs.settings import SelectJob
from naively.jobs.streamed import select_streamed
from naively.jobs.study import (
    Accuracies,
    coverage_points,
    cross_validated,
    grid_of,
    grid_of_test,
    on_test_rows,
    path_curve,
    predicted_error,
    with_accuracies,
)
from naively.jobs.training import Fitted, Trained, score_test_rows, train
from naively.judging.coverage import margins
from naively.models.rules import winners
from naively.report.summary import Example, PathCurve, Summary


def select(job: SelectJob, progress: Progress = silent) -> Summary:
    """Select features, train and test a classifier, and write the result folder.

    Texts are counted in streams where those give the same; else all rows are held in memory.

    Raises
    ------
    InputError
        If the input or a setting cannot be used.
    OutputError
        If the result cannot be written. The result folder is then as it was before.
    """
    check_directory(job.out, RESULT_FILES, force=job.force)
    streamed = streamed_job(job)
    if streamed is not None:
        with suppress(UnreadableError):  # read in memory, it is told by line what is wrong
            return select_streamed(streamed, progress)
    rows = load(job, progress)
    summary, model = learn(job, rows, progress)
    progress("writing", 0, 0)
    with atomic_directory(job.out, RESULT_FILES, force=job.force) as folder:
        write_result(folder, summary, model)
    return summary


def learn(job: SelectJob, rows: Rows, progress: Progress = silent) -> tuple[Summary, Model]:
    """Select, train and test.

    A split that was given (a file, a column) is kept: the model written is the one that was
    tested. Rows held out at random are tested on first and then join the training, since nobody
    would want a fifth of the data wasted; the summary tells how many features the two share. A
    number of features that is to be chosen is chosen once, among the training rows.
    """
    progress("selecting", 0, 0)
    given = job.test.file is not None or job.test.split_column is not None
    has_test = bool((rows.part == TEST).any())
    # All rows may have more features than the training rows: the last training refuses a large k.
    fitted = train(rows, (TRAIN,), job.model, clip=has_test and not given)
    tested, k = fitted.trained, len(fitted.trained.selection.support)
    progress("testing", 0, 0)
    test = None
    accuracies = cross_validated(fitted.estimator)
    if has_test:
        test = _tested(fitted, rows, quick=job.quick)
    if has_test and not job.quick:
        grid = _grid(rows, tested)
        accuracies = accuracies or on_test_rows(fitted.estimator, rows, fitted.kept, grid)
    if has_test and not given:
        settings = replace(job.model, k=k) if is_auto(job.model.k) else job.model
        fitted = train(rows, (TRAIN, TEST), settings)
    final = fitted.trained
    asked = Asked(job.model, rows.text, job.command, job.test.split_column)
    curve = None if job.quick else _curve(fitted, accuracies)
    left_out = int((rows.part == LEFT_OUT).sum())
    found = [] if job.quick else _examples(rows, final)
    return summarize(asked, rows.files, test, final, curve, found, left_out), final.model


def _tested(fitted: Fitted, rows: Rows, *, quick: bool) -> Tested:
    """Answer the test rows."""
    trained, estimator = fitted.trained, fitted.estimator
    scores = score_test_rows(trained.model, rows)
    truth = rows.labels[rows.part == TEST]
    answers = np.array(trained.model.classes, dtype=object)[winners(scores)]
    right = (truth == answers).astype(np.int64)
    error = None
    if hasattr(estimator, "family_") and not quick:
        support = estimator.selection_.support
        error = predicted_error(estimator.family_, estimator.statistics_, support, estimator.rule_)
    return Tested(
        trained=trained,
        method=rows.test_method,
        pairs=Counter(zip(truth.tolist(), answers.tolist(), strict=True)),
        coverage=() if quick else coverage_points(margins(scores), np.ones_like(right), right),
        predicted_error=error,
    )


def _grid(rows: Rows, tested: Trained) -> IntArray:
    k, n_classes = len(tested.selection.support), len(tested.model.classes)
    if rows.text is None:
        return grid_of(tested.n_features, k)
    return grid_of_test(tested.n_features, k, n_classes)


def _curve(fitted: Fitted, accuracies: Accuracies | None) -> PathCurve | None:
    selector = getattr(fitted.estimator, "estimator_", fitted.estimator)
    chosen = len(fitted.trained.selection.support)
    statistics = selector.statistics_
    ks = None if accuracies is None else accuracies.k
    return with_accuracies(
        path_curve(selector.family(statistics), statistics, chosen, ks), accuracies
    )


def _examples(rows: Rows, final: Trained) -> list[Example | None]:
    """Find rows, of those that were trained on, in which the features occur."""
    if rows.n_regions > 1:
        return []
    given = np.flatnonzero(np.isin(rows.part, (TRAIN, TEST)))
    trained = given if final.n_rows == len(given) else np.flatnonzero(rows.part == TRAIN)
    if rows.documents is not None:
        trained = trained[trained < EXAMPLE_ROWS]
    shown = quoted(final)
    return examples(
        rows.X[trained],
        np.array([row.column for row in shown], dtype=np.int64),
        rows.labels[trained],
        trained,
        [row.speaks_for for row in shown],
        None if rows.documents is None else [rows.documents[i] for i in trained.tolist()],
        [row.name for row in shown],
        rows.text,
    )
