"""Select features, train and test a classifier, and write the result folder."""

from __future__ import annotations

from pathlib import Path

from naively.io.files import atomic_directory, check_directory
from naively.io.models import Model, save_model
from naively.io.progress import Progress, silent
from naively.jobs.outcome import summarize
from naively.jobs.rows import TEST, TRAIN, Rows, load
from naively.jobs.settings import SelectJob
from naively.jobs.training import answer_test_rows, train
from naively.report.documents import features_csv, summary_html, summary_json
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
        ("features.csv", features_csv),
        ("summary.json", summary_json),
        ("report.html", summary_html),
    ):
        # Names of files may hold bytes that are no text; they are spelled out.
        (folder / name).write_text(document(summary), "utf-8", "backslashreplace", newline="")
    with (folder / "model.npz").open("wb") as file:
        save_model(model, file)


def learn(job: SelectJob, rows: Rows, progress: Progress = silent) -> tuple[Summary, Model]:
    """Select, train and test.

    A split that was given (a file, a column) is kept: the model written is the one that was
    tested. Rows held out at random are tested on first and then join the training, since nobody
    would want a fifth of the data wasted; the summary tells how many features the two share.
    """
    progress("selecting", 0, 0)
    given = job.test.file is not None or job.test.split_column is not None
    tested = train(rows, (TRAIN,), job.model, clip=not given)
    has_test = bool((rows.part == TEST).any())
    final = train(rows, (TRAIN, TEST), job.model) if has_test and not given else tested
    progress("testing", 0, 0)
    answers = answer_test_rows(tested.model, rows) if has_test else None
    return summarize(job, rows, tested, final, answers), final.model
