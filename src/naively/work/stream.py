"""Statistics of data larger than memory: part by part, on one machine or on any joblib backend.

    files -> parts -> tasks (runs of parts) -> one record each -> merge

A task counts its parts into one place, so memory is bounded by a class table and a batch. Tasks are
cut from the parts in their order and merged in their order: the result does not depend on which
worker counted what, when, or how often it had to try.

Rows of every kind (:mod:`naively.judging.parting`) are counted in one pass: a label `pos` becomes
`1:pos`, and the statistics of a kind are taken apart afterwards, or added.
"""

from __future__ import annotations

import hashlib
import os
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field, replace
from functools import reduce
from operator import add
from pathlib import Path
from typing import TypeVar, final

import numpy as np

from naively._types import Array, IntArray
from naively._versions import VersionError
from naively.judging.parting import (
    FEW_ROWS,
    LEFT_OUT,
    TEST,
    TRAIN,
    UNLABELLED,
    Parting,
    for_rows,
    is_repetitive,
    kinds_in,
    times_in,
)
from naively.read.batch import Batch, Part
from naively.read.errors import InputError
from naively.read.layout import Layout
from naively.read.parts import aligned, batches_of, parts_of
from naively.read.progress import Progress, silent
from naively.statistics.base import AbstractStatistics
from naively.statistics.sparse_table import DENSE_CELLS
from naively.text.counter import TextCounter
from naively.text.features import FeatureDefinition, fingerprint
from naively.text.vocabulary import Vocabulary
from naively.work.counters import new_counter, record_of
from naively.work.eye import check_counts, check_exposure
from naively.work.records import Record, load_record, merge_stream, save_record
from naively.work.row_keys import column_keys, part_keys

CHECKPOINT_PARTS = 8  # parts between two records of a run that can be resumed
S = TypeVar("S", bound=AbstractStatistics)


@dataclass(frozen=True, slots=True)
class Task:
    """Parts that one worker counts into one record."""

    parts: tuple[Part, ...]
    layout: Layout
    features: FeatureDefinition
    names: Vocabulary | None = None
    parting: Parting | None = None  # None: labels do not tell kinds of rows
    of_counts: bool = False  # columns of numbers of which those below 0 are refused
    kept: Kept | None = field(default=None, compare=False)  # the rows that are tested on, if few

    @property
    def files(self) -> list[str]:
        """The files of the parts, and that of their labels."""
        labels = [] if self.layout.labels_file is None else [self.layout.labels_file]
        return [*dict.fromkeys(part.path for part in self.parts), *labels]

    @property
    def key(self) -> str:
        """Name of the record of this task: what was counted, and how."""
        layout = replace(self.layout, wanted=None)  # the features say which columns
        content = [fingerprint(self.features), repr(layout), repr(self.parting)]
        content += [part.name for part in self.parts]
        content += [repr(part.style) for part in self.parts[:1]]
        return hashlib.sha256("\n".join(content).encode()).hexdigest()[:32]

    def of_test(self) -> Task:
        """Return a task of the rows that are tested on alone, if counting has kept them all."""
        found = {} if self.kept is None else self.kept.parts
        if self.parting is None or any(part.name not in found for part in self.parts):
            return self
        few = {name: np.concatenate(kinds).tobytes() for name, (_, kinds) in found.items()}
        parts = [replace(part, held=tuple(found[part.name][0])) for part in self.parts]
        return replace(self, parts=tuple(parts), parting=replace(self.parting, few=few), kept=None)


@final
class Kept:
    """Rows that counting comes by and testing would read again; none if they are too many."""

    def __init__(self, n_bytes: int) -> None:
        self._room = n_bytes
        self.parts: dict[str, tuple[list[Batch], list[IntArray]]] = {}  # by name: rows, kinds

    def add(self, part: Part, seen: Seen) -> None:
        """Keep the rows of a batch that are not trained on."""
        if self._room < 0:
            return
        chosen = np.isin(seen.kinds, (TEST, LEFT_OUT))
        batch = seen.batch.take(chosen)
        self._room -= batch.nbytes
        batches, kinds = self.parts.setdefault(part.name, ([], []))
        batches.append(batch)
        kinds.append(seen.kinds[chosen].astype(np.int32))
        if self._room < 0:
            self.parts.clear()


@dataclass(frozen=True, slots=True)
class Seen:
    """Some rows with their labels and kinds."""

    batch: Batch
    names: Array  # (C,) labels that occur, ascending
    codes: IntArray  # (n,) which of them each row has
    kinds: IntArray  # (n,)

    def of_kind(self, *kinds: int) -> tuple[Batch, Array]:
        """Rows of some kinds, with their labels."""
        chosen = np.isin(self.kinds, kinds)
        return self.batch.take(chosen), self.names[self.codes[chosen]]


@contextmanager
def told_at(part: Part) -> Iterator[None]:
    """Name the file in the message of what goes wrong with its rows."""
    try:
        yield
    except InputError:
        raise
    except ValueError as error:
        raise InputError(f"{part.source}: {error}") from error


def rows_by_kind(task: Task, part: Part) -> Iterator[Seen]:
    """Read a part; all rows are of the kind for training if nothing else is said."""
    chooser = (task.parting or Parting()).of_part(part.name)
    columns = column_keys(task.names if chooser.asks_keys else None)
    for batch in batches_of(part, task.layout):
        if task.of_counts:
            check_counts(batch, task.names)
        if task.features.kind == "columns":
            check_exposure(batch, task.features.exposure)
        labels = np.empty(0, dtype=str) if batch.labels is None else batch.labels
        names, codes = np.unique(labels, return_inverse=True)
        keys = None
        if chooser.asks_keys:
            keys = _keys(chooser.parting, batch, part, task.layout, columns)
        kinds = chooser.kinds(len(batch), keys, split_of(batch, part, task.layout))
        if batch.labels is not None:
            kinds[labels == ""] = UNLABELLED
        yield Seen(batch, names, codes, kinds)


def split_of(batch: Batch, part: Part, layout: Layout) -> IntArray | None:
    """Kinds (n,) that the split column says; None if there is none."""
    if batch.split is None:
        return None
    try:
        return kinds_in(batch.split)
    except ValueError as error:
        raise InputError(f"{part.source}: column `{layout.split}` {error}") from error


def is_grouped(task: Task) -> bool:
    """Whether rows of one group are never parted."""
    return task.parting is not None and task.parting.grouped


def parted(
    parting: Parting, parts: Sequence[Part], layout: Layout, names: Vocabulary | None = None
) -> Parting:
    """Return the parting of the rows of some parts, whose columns may have names.

    Few rows are read, and dealt out exactly; of groups, times, and rows that mostly repeat others
    all are.

    Raises
    ------
    InputError
        If times cannot be read, or tell too few rows apart.
    """
    if not parting.asks_content:
        return parting
    keys, codes, split, sizes = list[Array](), list[IntArray](), list[IntArray](), dict[str, int]()
    classes: dict[str, int] = {}
    asks_all = parting.grouped or parting.timed or parting.singly
    columns = column_keys(names)
    batches = ((part, batch) for part in parts for batch in batches_of(part, layout))
    for own, batch in batches:
        keys.append(_keys(parting, batch, own, layout, columns))
        labels = np.empty(0, dtype=str) if batch.labels is None else batch.labels
        own_names, which = np.unique(labels, return_inverse=True)
        of_names = [classes.setdefault(name, len(classes)) for name in own_names.tolist()]
        codes.append(np.array(of_names, dtype=np.int64)[which])
        given = split_of(batch, own, layout)
        split += [] if given is None else [given]
        sizes[own.name] = sizes.get(own.name, 0) + len(batch)
        if not asks_all and sum(sizes.values()) > FEW_ROWS:
            if not is_repetitive(np.concatenate(keys)):
                return parting
            asks_all = True
    if not keys:
        return parting
    labels = np.array(sorted(classes), dtype=str)
    place = np.empty(len(classes), dtype=np.int64)
    place[[classes[name] for name in labels.tolist()]] = np.arange(len(labels))
    every = place[np.concatenate(codes)]
    try:
        return for_rows(
            parting, np.concatenate(keys), every, labels,
            np.concatenate(split) if split else None, sizes,
        )  # fmt: skip
    except ValueError as error:
        option = f"--read {'time' if parting.timed else 'groups'}"
        raise InputError(
            f"{parts[0].source}: `{option}={layout.group}`: {error}; choose another column, or "
            "leave it out."
        ) from error


def _keys(parting: Parting, batch: Batch, part: Part, layout: Layout, columns: Array) -> Array:
    """By what rows are divided (n,): their content, their group, or their time."""
    if not parting.timed:
        return part_keys(batch, columns)
    assert batch.group is not None
    try:
        return times_in(batch.group)
    except ValueError as error:
        raise InputError(f"{part.source}: column `{layout.group}` {error}.") from error


def n_alone(parts: Sequence[Part], layout: Layout, *, grouped: bool) -> int:
    """Count the rows, or the groups of rows, each of which may be left out alone."""
    batches = (batch for part in parts for batch in batches_of(part, layout))
    labelled = (b if b.labels is None else b.take(b.labels != "") for b in batches)
    keys = [part_keys(batch) for batch in labelled]
    return len(np.unique(np.concatenate(keys))) if grouped and keys else sum(map(len, keys))


def _marked(seen: Seen) -> tuple[Batch, Array]:
    """Rows that are counted, with labels that tell their kinds."""
    counted = seen.kinds != LEFT_OUT
    kinds, codes = seen.kinds[counted], seen.codes[counted]
    distinct, kind = np.unique(kinds, return_inverse=True)
    both = np.array([f"{k}:{name}" for k in distinct.tolist() for name in seen.names.tolist()])
    return seen.batch.take(counted), both[kind * len(seen.names) + codes] if len(both) else kinds


def of_kinds(statistics: S, kinds: Sequence[int], *, copy: bool = True) -> S:
    """Return the statistics of the rows of some kinds, of statistics whose labels tell them.

    Those of one kind may be views of these unless a `copy` is asked for.
    """
    copy = copy and len(kinds) == 1  # a sum is one
    return reduce(add, [_of_kind(statistics, kind, copy=copy) for kind in kinds])


def _of_kind(statistics: S, kind: int, *, copy: bool) -> S:
    positions, mark = positions_of(statistics.classes, (kind,)), f"{kind}:"
    names = [statistics.classes[c].removeprefix(mark) for c in positions.tolist()]
    return statistics.of_classes(positions, np.array(names, dtype=str), copy=copy)


def positions_of(classes: Array, kinds: Sequence[int]) -> IntArray:
    """Positions of the labels of some kinds among labels that tell them."""
    marks = tuple(f"{kind}:" for kind in kinds)
    chosen = [c for c, name in enumerate(classes.tolist()) if name.startswith(marks)]
    return np.array(chosen, dtype=np.int64)


# Tasks -----------------------------------------------------------------------------------------


def count_files(
    files: str | os.PathLike[str] | Sequence[str | os.PathLike[str]],
    features: FeatureDefinition,
    layout: Layout | None = None,
    *,
    names: Vocabulary | None = None,
    n_jobs: int | None = None,
    checkpoint: str | os.PathLike[str] | None = None,
    progress: Progress = silent,
) -> Record:
    """Count files of any size by class.

    Parameters
    ----------
    files : path, pattern, or sequence of them
        Of any format in :data:`naively.read.formats.FORMATS`.
    features : TextFeatures or ColumnFeatures
        What is counted; columns of numbers are those of the first file, and found by their names
        in the others.
    layout : Layout, default=None
        Where text and label stand; by default in columns of these names.
    names : Vocabulary, default=None
        Names of the columns of a matrix.
    n_jobs : int, default=None
        Workers of joblib: threads, unless `joblib.parallel_config` chooses another backend. By
        default one.
    checkpoint : path, default=None
        A folder for records of work done. A run that was stopped there, at whatever moment, goes on
        from them and ends with the same result.
    progress : callable, optional
        Called with a word, tasks done, and tasks in all.

    Returns
    -------
    record : Record
        Labels are text. Whole numbers are the same, bit for bit, for any number of workers. Real
        numbers are added in the order of rows, parts and tasks, which depends on `n_jobs`; a
        `resolution` in the definition of the columns makes them whole.

    Raises
    ------
    ValueError
        Naming file and line, if a part cannot be read; or if two parts are the same.
    """
    if layout is None and features.kind == "text":
        layout = Layout(text=("text",), tokens=features.analyzer == "tokens")
    layout = layout or Layout()
    parts = parts_of(files, layout)
    if features.kind == "columns" and parts and parts[0].columns is not None:  # of svmlight
        features = replace(features, first_column=parts[0].columns.first_column)
    tasks = tasks_of(
        parts, features, aligned(parts, layout),
        names=names, n_jobs=n_jobs, resumable=checkpoint is not None,
        of_counts=features.kind == "columns" and features.statistic == "counts",
    )  # fmt: skip
    return run_tasks(tasks, n_jobs, checkpoint, progress)


def tasks_of(
    parts: Sequence[Part],
    features: FeatureDefinition,
    layout: Layout,
    *,
    names: Vocabulary | None = None,
    parting: Parting | None = None,
    n_jobs: int | None = None,
    resumable: bool = False,
    of_counts: bool = False,
) -> list[Task]:
    """Cut parts into tasks, about one for each worker, which know the kind of each row.

    With `of_counts`, columns of numbers are counts, and values below 0 are refused.

    Raises
    ------
    InputError
        If two parts are the same.
    """
    _check_distinct(parts)
    parting = None if parting is None else parted(parting, parts, layout, names)
    length = CHECKPOINT_PARTS if resumable else max(-(-len(parts) // _workers(n_jobs)), 1)
    return [
        Task(tuple(parts[start : start + length]), layout, features, names, parting, of_counts)
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
            raise InputError(
                f"{part.source}: is the same data as {seen[part.name].source}, and each shard must "
                "be counted once; take one of them away."
            )
        seen[part.name] = part


def run_task(task: Task, progress: Progress = silent, *, dense_cells: int = DENSE_CELLS) -> Record:
    """Count the parts of a task. Workers call this; it imports neither scikit-learn nor an engine.

    A table of more than `dense_cells` is kept sparse: with 0 what travels is what occurs.

    Raises
    ------
    ValueError
        Naming file and line.
    """
    counter = new_counter(task.features, dense_cells=dense_cells)
    shards: dict[str, int] = {}
    for done, part in enumerate(task.parts):
        progress("counting", done, len(task.parts))
        shards[part.name] = 0
        for seen in rows_by_kind(task, part):
            shards[part.name] += int((seen.kinds != LEFT_OUT).sum())
            if task.kept is not None:
                task.kept.add(part, seen)
            marked = task.parting is not None
            batch, labels = _marked(seen) if marked else seen.of_kind(TRAIN)
            with told_at(part):
                if isinstance(counter, TextCounter):
                    counter.update(batch.rows, labels, batch.weight, parts=batch.width)
                else:
                    counter.update(batch.rows, labels, batch.weight)
    return record_of(counter, shards, task.names)


def run_tasks(
    tasks: Sequence[Task],
    n_jobs: int | None = None,
    checkpoint: str | os.PathLike[str] | None = None,
    progress: Progress = silent,
) -> Record:
    """Count tasks and merge their records in order; parameters as of `count_files`."""
    folder = None if checkpoint is None else Path(checkpoint)
    return merge_stream(_records(tasks, n_jobs, folder, progress))


def _records(
    tasks: Sequence[Task], n_jobs: int | None, folder: Path | None, progress: Progress
) -> Iterator[Record]:
    """Yield the record of each task, in their order."""
    if folder is not None:
        folder.mkdir(parents=True, exist_ok=True)
    if (n_jobs or 1) == 1 and len(tasks) == 1:
        yield _run_or_load(tasks[0], folder, progress)
        return
    from joblib import Parallel, delayed

    run = Parallel(n_jobs=n_jobs or 1, return_as="generator", prefer="threads")
    for done, record in enumerate(run(delayed(_run_or_load)(task, folder) for task in tasks), 1):
        progress("counting", done, len(tasks))
        yield record


def _run_or_load(task: Task, folder: Path | None, progress: Progress = silent) -> Record:
    """Count a task, or take its record from the folder where an earlier run left it."""
    if folder is None:
        return run_task(task, progress)
    path = folder / f"{task.key}.npz"
    record = kept_record(path, task.files)
    if record is None:
        record = run_task(task, progress)
        save_record(record, path)
    return record


def kept_record(path: Path, files: Sequence[str]) -> Record | None:
    """Return the record in a file; None if there is none, or files changed since it was written.

    The name of a record tells the size, head and tail of the files; their time tells the rest.

    Raises
    ------
    InputError
        If another version wrote it.
    """
    try:
        written = path.stat().st_mtime_ns
        if written < max(map(_changed, files), default=0):
            return None
        return load_record(path)
    except VersionError as error:  # which is not written over
        raise InputError(str(error)) from error
    except (FileNotFoundError, ValueError):  # a damaged record is counted again
        return None


def _changed(path: str) -> int:
    """When a file was last written or put there."""
    time = os.stat(path)
    return max(time.st_mtime_ns, time.st_ctime_ns)


def whole(tasks: Sequence[Task]) -> Task:
    """Return one task of the parts of all."""
    return replace(tasks[0], parts=tuple(part for task in tasks for part in task.parts))
