"""Statistics of data larger than memory: part by part, on one machine or on any joblib backend.

    files -> parts -> tasks (runs of parts) -> one record each -> merge

A task counts its parts into one place, so memory is bounded by a class table and a batch. Tasks are
cut from the parts in their order and merged in their order: the result does not depend on which
worker counted what, when, or how often it had to try.
"""

from __future__ import annotations

import hashlib
import os
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, TypeVar

from naively._types import Array, IntArray
from naively.scale.holdout import Holdout
from naively.scale.sources import Batch, Layout, Part, cut, explained, find_files, read
from naively.statistics.sparse_table import DENSE_CELLS
from naively.text.features import FeatureDefinition, fingerprint
from naively.text.vocabulary import Vocabulary
from naively.work.counters import new_counter, record_of
from naively.work.records import CountRecord, load_record, merge_stream, save_record

CHECKPOINT_PARTS = 8  # parts between two records of a run that can be resumed
Progress = Callable[[str, int, int], None]
T = TypeVar("T")


@dataclass(frozen=True, slots=True)
class Task:
    """Parts that one worker counts into one record."""

    parts: tuple[Part, ...]
    layout: Layout
    features: FeatureDefinition
    names: Vocabulary | None = None
    classes: tuple[Any, ...] = ()
    holdout: Holdout | None = None

    @property
    def files(self) -> list[str]:
        """The files of the parts."""
        return list(dict.fromkeys(part.path for part in self.parts))

    @property
    def key(self) -> str:
        """Name of the record of this task: what was counted, and how."""
        content = "\n".join(
            [fingerprint(self.features), repr(self.layout), repr(self.classes), repr(self.holdout)]
        )
        content += "\n".join(part.name for part in self.parts)
        return hashlib.sha256(content.encode()).hexdigest()[:32]


def count_files(
    files: str | os.PathLike[str] | Sequence[str | os.PathLike[str]],
    features: FeatureDefinition,
    layout: Layout | None = None,
    *,
    names: Vocabulary | None = None,
    classes: Sequence[Any] = (),
    n_jobs: int | None = None,
    checkpoint: str | os.PathLike[str] | None = None,
    progress: Progress | None = None,
) -> CountRecord:
    """Count files of any size by class.

    Parameters
    ----------
    files : path, pattern, or sequence of them
        Parquet, CSV, JSON Lines, svmlight, `.npz`, folders `*.csr` of mapped arrays, or AnnData.
    features : TextFeatures or ColumnFeatures
        What is counted; `naively.scale.sources.columns_of` defines the columns of a file.
    layout : Layout, default=None
        Where text and label stand; by default in columns of these names.
    names : Vocabulary, default=None
        Names of the columns of a matrix.
    classes : sequence, default=()
        Labels that will occur; others are found.
    n_jobs : int, default=None
        Workers of joblib: threads, unless `joblib.parallel_config` chooses another backend. By
        default one.
    checkpoint : path, default=None
        A folder for records of work done. A run that was stopped there, at whatever moment, goes on
        from them and ends with the same result.
    progress : callable, default=None
        Called with a word, tasks done, and tasks in all.

    Returns
    -------
    record : CountRecord
        Whole numbers are the same, bit for bit, for any number of workers. Real numbers are added
        in the order of rows, parts and tasks, which depends on `n_jobs`; a `resolution` in the
        definition of the columns makes them whole.

    Raises
    ------
    ValueError
        Naming file and part, if a part cannot be read; or if two parts are the same.
    """
    tasks = tasks_of(
        files, features, layout, names=names, classes=classes, n_jobs=n_jobs,
        resumable=checkpoint is not None,
    )  # fmt: skip
    return run_tasks(tasks, n_jobs, checkpoint, progress)


def run_tasks(
    tasks: Sequence[Task],
    n_jobs: int | None = None,
    checkpoint: str | os.PathLike[str] | None = None,
    progress: Progress | None = None,
) -> CountRecord:
    """Count tasks and merge their records in order; parameters as of `count_files`."""
    folder = None if checkpoint is None else Path(checkpoint)
    return merge_stream(_records(tasks, n_jobs, folder, progress))


def tasks_of(
    files: str | os.PathLike[str] | Sequence[str | os.PathLike[str]],
    features: FeatureDefinition,
    layout: Layout | None = None,
    *,
    names: Vocabulary | None = None,
    classes: Sequence[Any] = (),
    n_jobs: int | None = None,
    resumable: bool = False,
    holdout: Holdout | None = None,
) -> list[Task]:
    """Cut files into the tasks that `count_files` runs; for engines that run them elsewhere."""
    layout = layout or Layout()
    parts = cut(find_files(files), layout)
    _check_distinct(parts)
    length = CHECKPOINT_PARTS if resumable else max(-(-len(parts) // _workers(n_jobs)), 1)
    return [
        Task(tuple(parts[start : start + length]), layout, features, names, tuple(classes), holdout)
        for start in range(0, max(len(parts), 1), length)
    ]


def _workers(n_jobs: int | None) -> int:
    """Count the workers that joblib takes; -1 is one for each processor."""
    if n_jobs is None or n_jobs > 0:
        return n_jobs or 1
    from joblib import effective_n_jobs

    return int(effective_n_jobs(n_jobs))


def _check_distinct(parts: Sequence[Part]) -> None:
    seen: dict[str, Part] = {}
    for part in parts:
        if part.name in seen:
            raise ValueError(
                f"{part}: is the same data as {seen[part.name]}, and each shard must be counted "
                "once; take one of them away."
            )
        seen[part.name] = part


def run_task(
    task: Task, progress: Progress | None = None, *, dense_cells: int = DENSE_CELLS
) -> CountRecord:
    """Count the parts of a task. Workers call this; it imports neither scikit-learn nor an engine.

    A table of more than `dense_cells` is kept sparse: with 0 what travels is what occurs.

    Raises
    ------
    ValueError
        Naming file and part.
    """
    counter = new_counter(task.features, task.classes, dense_cells=dense_cells)
    shards: dict[str, int] = {}
    for done, part in enumerate(task.parts):
        if progress is not None:
            progress("counting", done, len(task.parts))
        shards[part.name] = 0
        for batch in batches_of(task, part):
            with explained(str(part)):
                counter.update(batch.rows, batch.labels)
            shards[part.name] += len(batch)
    return record_of(counter, shards, task.names)


def batches_of(task: Task, part: Part) -> Iterator[Batch]:
    """Read a part; if rows are held out, labels tell training from test rows."""
    batches = read(part, task.layout, task.features)
    if task.holdout is None:
        return batches
    return _named(part, task.holdout.marked(part.name, batches))


def parted_rows(task: Task, part: Part) -> Iterator[tuple[Any, Array, Array, IntArray]]:
    """Read a part as `Holdout.parted` gives it; all rows are tested on if none are held out."""
    holdout = task.holdout or Holdout(share=1.0)
    return _named(part, holdout.parted(part.name, read(part, task.layout, task.features)))


def _named(part: Part, rows: Iterator[T]) -> Iterator[T]:
    """Name the part in the message of what goes wrong with its rows."""
    while True:
        with explained(str(part)):
            found = next(rows, None)
        if found is None:
            return
        yield found


def _records(
    tasks: Sequence[Task], n_jobs: int | None, folder: Path | None, progress: Progress | None
) -> Iterator[CountRecord]:
    """Yield the record of each task, in their order."""
    if folder is not None:
        folder.mkdir(parents=True, exist_ok=True)
    if (n_jobs or 1) == 1 and len(tasks) == 1:
        yield _run_or_load(tasks[0], folder, progress)
        return
    from joblib import Parallel, delayed

    run = Parallel(n_jobs=n_jobs or 1, return_as="generator", prefer="threads")
    for done, record in enumerate(run(delayed(_run_or_load)(task, folder) for task in tasks), 1):
        if progress is not None:
            progress("counting", done, len(tasks))
        yield record


def _run_or_load(task: Task, folder: Path | None, progress: Progress | None = None) -> CountRecord:
    """Count a task, or take its record from the folder where an earlier run left it."""
    if folder is None:
        return run_task(task, progress)
    path = folder / f"{task.key}.npz"
    record = kept_record(path, task.files)
    if record is None:
        record = run_task(task, progress)
        save_record(record, path)
    return record


def kept_record(path: Path, files: Sequence[str]) -> CountRecord | None:
    """Return the record in a file; None if there is none, or files changed since it was written.

    The name of a record tells the size, head and tail of the files; their time tells the rest.
    """
    try:
        written = path.stat().st_mtime_ns
        if written < max(map(_changed, files), default=0):
            return None
        return load_record(path)
    except (FileNotFoundError, ValueError):  # a damaged record is counted again
        return None


def _changed(path: str) -> int:
    """When a file, or one of those in a folder, was last written or put there."""
    inside = Path(path).glob("*.npy") if os.path.isdir(path) else [Path(path)]
    times = [each.stat() for each in inside]
    return max(max(time.st_mtime_ns, time.st_ctime_ns) for time in times)
