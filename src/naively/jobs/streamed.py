"""`naively select` in streams: statistics are counted where the data are, and added up.

Rows are seen once more to be tested on, over the features of the largest k that is tested, and some
of them to be quoted from. Nothing that grows with rows times features is ever held.
"""

from __future__ import annotations

import os
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace

import numpy as np

from naively._types import IntArray
from naively.io.errors import InputError, UnreadableError, mendable
from naively.io.files import atomic_directory, check_directory, fingerprint
from naively.io.models import Model
from naively.io.progress import Progress, silent
from naively.io.text import NO_WORD
from naively.jobs.engines import Engine, Running, running
from naively.jobs.outcome import Asked, Tested, quoted, summarize
from naively.jobs.quoting import found_by, search_for, whole
from naively.jobs.records import Counting, definition, file_rows
from naively.jobs.results import RESULT_FILES, write_result
from naively.jobs.rows import check_labels, check_split
from naively.jobs.settings import ModelSettings, TestSettings, method_of
from naively.jobs.study import (
    Accuracies,
    coverage_points,
    grid_of_test,
    path_curve,
    predicted_error,
    with_accuracies,
)
from naively.jobs.totals import Solved, Source, rules_of, train_totals
from naively.jobs.training import Trained
from naively.report.summary import Example, FileRow, PathCurve, Summary
from naively.scale.holdout import TEST, TRAIN, Holdout, counts_of
from naively.scale.judging import Judge, Verdicts, judged, total
from naively.scale.parts import Layout
from naively.statistics.counts import ClassCounts
from naively.text.features import TextFeatures
from naively.work.stream import Task, tasks_of


@dataclass(frozen=True, slots=True)
class StreamedJob:
    """All that `naively select` is asked, and where to do it."""

    counting: Counting
    test_layout: Layout  # of the file to test on, if there is one
    model: ModelSettings
    test: TestSettings
    engine: Engine
    out: str
    force: bool = False
    command: str = ""
    quick: bool = False
    checkpoint: str | None = None


def select_streamed(job: StreamedJob, progress: Progress = silent) -> Summary:
    """Count in streams, select, train, test on held-out rows, and write the result folder.

    Raises
    ------
    InputError
        If the input or a setting cannot be used.
    OutputError
        If the result cannot be written.
    """
    check_directory(job.out, RESULT_FILES, force=job.force)
    summary, model = learn_streamed(job, progress)
    progress("writing", 0, 0)
    with atomic_directory(job.out, RESULT_FILES, force=job.force) as folder:
        write_result(folder, summary, model)
    return summary


@dataclass(frozen=True, slots=True)
class Counted:
    """What one pass over the files gave."""

    source: Source
    tasks: Sequence[Task]
    counts: ClassCounts  # classes tell training from test rows
    shards: Mapping[str, int]  # rows of each part


@dataclass(frozen=True, slots=True)
class _Candidate:
    """A model that is to be tested, and the models of other k."""

    trained: Trained
    judge: Judge
    grid: IntArray  # (G,) their k
    predicted_error: float | None


def learn_streamed(job: StreamedJob, progress: Progress = silent) -> tuple[Summary, Model]:
    """Count, select, train and test, as `naively.jobs.select.learn` does on rows in memory."""
    given = job.test.file is not None or job.test.split_column is not None
    with running(job.engine) as engine:
        counted = count_job(job, engine, progress)
        progress("selecting", 0, 0)
        training, held_out = (counts_of(counted.counts, kind) for kind in (TRAIN, TEST))
        check_rows(job, training, held_out)
        has_test = job.test.file is not None or bool(held_out.class_rows.sum())
        solved = train_totals(counted.source, training, job.model, clip=has_test and not given)
        candidate = _candidate(job, counted.source, solved) if has_test else None
        if has_test and not given:
            solved = train_totals(counted.source, training + held_out, job.model)
        final, ks = solved.trained, None if candidate is None else candidate.grid
        curve = None
        if not job.quick:
            curve = path_curve(solved.family, solved.statistics, len(final.selection.support), ks)
        del solved, training, held_out
        progress("testing", 0, 0)
        with mendable(UnreadableError):
            verdicts = _verdicts(job, counted, candidate, engine)
            kinds = (TRAIN,) if given else (TRAIN, TEST)
            found = [] if job.quick else _examples(counted, final, kinds, engine)
    test = None
    if candidate is not None:
        test, curve = _tested(job, candidate, verdicts, curve)
    binary = job.model.binary or job.counting.presence
    asked = Asked(
        replace(job.model, binary=binary), final.model.text, job.command, job.test.split_column
    )
    files = _files(job, counted, verdicts)
    return summarize(asked, files, test, final, curve, found, verdicts.left_out), final.model


def count_job(job: StreamedJob, engine: Running, progress: Progress) -> Counted:
    """Count training and test rows in one pass."""
    counting = job.counting
    features, names = definition(counting)
    tested = job.test.file is None and job.test.split_column is None
    holdout = Holdout(job.test.holdout if tested else 0.0, job.test.seed)
    with mendable(UnreadableError):
        tasks = tasks_of(
            counting.files, features, counting.layout, names=names, n_jobs=engine.jobs,
            resumable=job.checkpoint is not None, holdout=holdout,
        )  # fmt: skip
        record = engine.count(tasks, job.checkpoint, progress)
    name = ", ".join(counting.files)
    text = counting.text if counting.n_hashed is None else None
    source = Source(name, record.features, record.names, text)
    return Counted(source, tasks, record.statistics(), record.shards)


def check_rows(job: StreamedJob, training: ClassCounts, held_out: ClassCounts) -> None:
    """Refuse what `naively.jobs.rows.load` refuses of rows in memory.

    Raises
    ------
    InputError
        If labels, the split or the words cannot be used.
    """
    name, column = ", ".join(job.counting.files), job.test.split_column
    if not training.class_rows.sum() + held_out.class_rows.sum():
        raise UnreadableError(f"{name}: there are no rows; give files with data in them.")
    if column is not None:
        check_split(name, column, training.class_rows.sum(), held_out.class_rows.sum())
    check_labels(
        name, dict(zip(training.classes.tolist(), training.class_rows.tolist(), strict=True))
    )
    if job.counting.text is not None and training.n_features == 0:
        raise InputError(f"{name}: {NO_WORD}")


def _candidate(job: StreamedJob, source: Source, solved: Solved) -> _Candidate:
    """Return the trained model, and those of other k, ready to be tested."""
    trained, model = solved.trained, solved.trained.model
    support = trained.selection.support
    grid = np.array([len(support)], dtype=np.int64)
    if not job.quick:
        grid = grid_of_test(trained.n_features, len(support), len(model.classes))
    path, columns = rules_of(solved, job.model, grid)
    union = np.union1d(columns, model.columns)
    judge = Judge(
        rule=model.rule,
        classes=model.classes,
        features=source.features,
        terms=source.terms(union),
        columns=union,
        own=np.searchsorted(union, model.columns),
        path=path,
        on_path=np.searchsorted(union, columns),
    )
    error = None
    if not job.quick:
        error = predicted_error(solved.family, solved.statistics, support, model.rule)
    return _Candidate(trained, judge, grid, error)


def _verdicts(
    job: StreamedJob, counted: Counted, candidate: _Candidate | None, engine: Running
) -> Verdicts:
    """Test on the rows of a file, or on those held out."""
    if candidate is None:
        return Verdicts()
    features = counted.source.features
    if isinstance(features, TextFeatures) and candidate.judge.terms is None:
        raise InputError(
            "Hashed columns have no terms to be found in test rows; add --holdout 0, or leave out "
            "--hash."
        )
    tasks = counted.tasks
    if job.test.file is not None:
        names, n_jobs = tasks[0].names, engine.jobs
        tasks = tasks_of(job.test.file, features, job.test_layout, names=names, n_jobs=n_jobs)
    return total(engine.map(judged, tasks, candidate.judge))


def _examples(
    counted: Counted, final: Trained, kinds: tuple[int, ...], engine: Running
) -> list[Example | None]:
    """Find rows, of those that were trained on, in which the features occur."""
    source = counted.source
    if isinstance(source.features, TextFeatures) and source.text is None:
        return []  # hashed
    shown = quoted(final)
    search, places = search_for(shown, source.features, source.names, source.text, kinds)
    (found,) = engine.map(found_by, [whole(counted.tasks)], search)
    return [found[place] for place in places.tolist()]


def _tested(
    job: StreamedJob, candidate: _Candidate, verdicts: Verdicts, curve: PathCurve | None
) -> tuple[Tested | None, PathCurve | None]:
    """Describe what came of the test rows."""
    n = verdicts.pairs.total()
    if n == 0 or verdicts.wrong is None:
        return None, curve
    method = method_of(job.test)
    accuracies = Accuracies(candidate.grid, 1 - verdicts.wrong / n, None, method)
    test = Tested(
        trained=candidate.trained,
        method=method,
        pairs=verdicts.pairs,
        coverage=() if job.quick else coverage_points(*verdicts.by_margin()),
        predicted_error=candidate.predicted_error,
    )
    return test, with_accuracies(curve, accuracies)


def _files(job: StreamedJob, counted: Counted, verdicts: Verdicts) -> tuple[FileRow, ...]:
    """Tell what was read; a single file with a digest of all its bytes, as in memory."""
    files = job.counting.files
    if job.engine.name != "local" or len(files) > 1 or not os.path.isfile(files[0]):
        return file_rows(counted.shards)
    tested = job.test.file
    rows = sum(counted.shards.values()) + verdicts.left_out
    read = [(files[0], "training" if tested else "training and test", rows)]
    if tested is not None and os.path.isfile(tested):
        read.append((tested, "test", verdicts.pairs.total()))
    prints = [fingerprint(name) for name, _, _ in read]
    return tuple(
        FileRow(name, role, n, each.size, each.sha256)
        for (name, role, n), each in zip(read, prints, strict=True)
    )
