"""Select features, train and test a classifier, and write the result folder."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

from naively.estimators.parameters import is_auto
from naively.io.files import atomic_directory, check_directory
from naively.io.models import Model, save_model
from naively.io.progress import Progress, silent
from naively.jobs.charts import charts_of
from naively.jobs.outcome import Tested, summarize
from naively.jobs.rows import TEST, TRAIN, Rows, load
from naively.jobs.settings import SelectJob
from naively.jobs.study import (
    cross_validated,
    grid_of,
    on_test_rows,
    path_curve,
    predicted_error,
)
from naively.jobs.training import score_test_rows, train
from naively.report.documents import features_csv, summary_json
from naively.report.page import summary_html
from naively.report.summary import Summary

RESULT_FILES = ("features.csv", "model.npz", "report.html", "summary.json")


def select(job: SelectJob, progress: Progress = silent) -> Summary:
    """Select features, train and test a classifier, and write the result folder.

    Raises
    ------
    InputError
        If the input or a setting cannot be used.
    OutputError
        If the result cannot be written. The result folder is then as it was before.
    """
    check_directory(job.out, RESULT_FILES, force=job.force)
    rows = load(job, progress)
    summary, model = learn(job, rows, progress)
    progress("writing", 0, 0)
    with atomic_directory(job.out, RESULT_FILES, force=job.force) as folder:
        write_result(folder, summary, model)
    return summary


def write_result(folder: Path, summary: Summary, model: Model) -> None:
    """Write the files of a result into a folder."""
    for name, document in (
        ("features.csv", features_csv(summary)),
        ("summary.json", summary_json(summary)),
        ("report.html", summary_html(summary, charts_of(summary))),
    ):
        # Names of files may hold bytes that are no text; they are spelled out.
        (folder / name).write_text(document, "utf-8", "backslashreplace", newline="")
    with (folder / "model.npz").open("wb") as file:
        save_model(model, file)


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
        scores = score_test_rows(tested.model, rows)
        test = Tested(tested, scores, predicted_error(fitted.estimator))
        grid = grid_of(tested.n_features, k)
        accuracies = accuracies or on_test_rows(fitted.estimator, rows, fitted.kept, grid)
    if has_test and not given:
        settings = replace(job.model, k=k) if is_auto(job.model.k) else job.model
        fitted = train(rows, (TRAIN, TEST), settings)
    final = fitted.trained
    curve = path_curve(fitted.estimator, len(final.selection.support), accuracies)
    return summarize(job, rows, test, final, curve), final.model
