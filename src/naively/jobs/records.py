"""Records of statistics: counted, added, and solved."""

from __future__ import annotations

import os
import sys
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, replace
from glob import escape
from itertools import chain
from pathlib import Path
from types import MappingProxyType

import numpy as np

from naively._nearest import short
from naively.jobs.data import definition, names_of, notes_on_rows, of_record
from naively.jobs.fit import fit
from naively.jobs.learn import one_class
from naively.jobs.markers import check_markers, with_markers
from naively.jobs.model_file import ModelFile
from naively.jobs.outcome import file_rows, summarize
from naively.jobs.repeat import Settings
from naively.jobs.results import ALSO, RESULT_FILES, write_result
from naively.jobs.settings import ModelSettings, Recipe
from naively.jobs.strangers import copies_note, unlabelled_note
from naively.jobs.study import path_curve
from naively.judging.parting import TRAIN
from naively.models import MODELS
from naively.read.batch import Part
from naively.read.bytes import identity, spooled
from naively.read.errors import InputError, mendable
from naively.read.layout import Layout
from naively.read.parts import find_files, parts_of, told
from naively.read.progress import Progress, silent
from naively.report.summary import Summary
from naively.selection.train import is_auto
from naively.statistics.counts import ClassCounts
from naively.statistics.sparse_table import SparseTable
from naively.text.features import ColumnFeatures, FeatureDefinition, TextFeatures
from naively.text.labels import clean, label_text
from naively.text.utf8 import as_texts
from naively.text.vocabulary import Vocabulary
from naively.work.records import Record, is_record, load_record, merge_stream, save_record
from naively.work.stream import Task, kept_record, run_tasks, tasks_of
from naively.work.writing import (
    atomic_directory,
    is_of_a_file,
    is_same_file,
    reserved_directory,
)

_UNEQUAL = 4  # times the features in a row of another class
_ONE = (".npz", ".stats")  # ends of the name of one record; other names are of folders


@dataclass(frozen=True, slots=True)
class Counting:
    """What is counted, and where it stands in the files."""

    files: tuple[str, ...]
    layout: Layout
    features: TextFeatures | None = None  # None: numbers
    model: ModelSettings = ModelSettings()  # whose statistics are taken
    resolution: float | None = None  # of numbers
    of_counts: bool = False  # numbers below 0 are refused, whatever the statistic


@dataclass(frozen=True, slots=True)
class Counted:
    """What was counted."""

    records: tuple[str, ...]  # files
    notes: tuple[str, ...]  # what the reader should know of the rows


def parted(sources: Sequence[str]) -> tuple[tuple[str, ...], tuple[str, ...]]:
    """Part what is to be counted: records and folders of them, and files."""
    paths = [
        path for each in sources for path in ([each] if os.path.isdir(each) else find_files(each))
    ]
    known = tuple(path for path in paths if os.path.isdir(path) or is_record(path))
    return known, tuple(path for path in paths if path not in known)


def holds_records(source: str) -> bool:
    """Whether a path is a record, or a folder of them; one in .stats is by its name."""
    return source.endswith(".stats") or any(
        map(is_record, Path(source).glob("*.npz") if os.path.isdir(source) else [source])
    )


def is_one(out: str) -> bool:
    """Whether a name is that of one record; else it is that of a folder of them."""
    return Path(out).suffix in _ONE


def check_out(out: str) -> None:
    """Refuse a name that looks like one of a file, and of no record.

    Raises
    ------
    InputError
        If it does, and nothing of that name is there.
    """
    if is_of_a_file(out) and not is_one(out):
        raise InputError(
            f"`--out` must end in {' or '.join(_ONE)} for one record of all, or name a folder; got "
            f"{out!r}. For a folder of that name write {out + os.sep!r}."
        )


def count(
    counting: Counting | None,
    out: str,
    progress: Progress = silent,
    *,
    jobs: int | None = None,
    known: Sequence[str] = (),
) -> Counted:
    """Count each file into a record of its own.

    Parameters
    ----------
    counting
        The files, and what to count; None: there are none.
    out
        Folder of the records. A file that has one there already is not counted again.
    progress
        Told how far the work has come.
    jobs
        Threads.
    known
        Other folders of records. A file that has one in them is not counted, either.

    Returns
    -------
    Counted
        The records in `out`, one for each file.

    Raises
    ------
    InputError
        If there are only records, or a file or a setting cannot be used.
    """
    if counting is None:
        raise InputError(
            f"`--out` must end in {' or '.join(_ONE)} where records are added, such as all.npz; "
            f"got {out!r}."
        )
    written, formats, unlabelled = list[str](), set[str](), 0
    shards = _Shards.of(counting)
    notes = shards.notes()
    for name, tasks in shards.tasks(jobs, progress):
        path = Path(out, name)
        if _kept(name, tasks, known) is None:
            record = kept_record(path, tasks[0].files)
            if record is None:
                record = run_tasks(tasks, jobs)
                save_record(record, path)
            unlabelled += record.unlabelled
            written.append(str(path))
        formats |= {part.format for task in tasks for part in task.parts}
    notes = (
        *notes,
        *unlabelled_note(unlabelled, formats=formats),
        *_namesakes(out, written),
    )
    return Counted(tuple(dict.fromkeys(written)), notes)


def _namesakes(out: str, written: Sequence[str]) -> Iterator[str]:
    """Tell of records in a folder that may be of a file as it was, or as it was counted, before."""
    known = {Path(path).name for path in written}
    for name in sorted(known):
        file = name[: -len(f"-{'0' * 16}.npz")]
        for other in sorted(Path(out).glob(f"{escape(file)}-{'?' * 16}.npz")):
            if other.name not in known:
                yield (
                    f"{other} is a record of another file called {file}, or of this one before it "
                    "changed or with other settings; delete it unless its rows are to be added."
                )


def added(
    known: Sequence[str],
    counting: Counting | None,
    out: str,
    progress: Progress = silent,
    *,
    jobs: int | None = None,
) -> tuple[Record, tuple[str, ...]]:
    """Add records, and files that are in none of their folders, to one record.

    Returns
    -------
    record, notes
        The sum, and what the reader should know of the rows that were counted.

    Raises
    ------
    InputError
        If a record is damaged or counts something else, a file is in two of them, or `out` is a
        file that is counted.
    """
    for path in () if counting is None else counting.files:
        if is_same_file(out, path):
            raise InputError(f"{out}: it is also counted; choose another --out.")
    shards = None if counting is None else _Shards.of(counting)
    notes = () if shards is None else shards.notes()

    def counted() -> Iterator[Record]:
        for name, tasks in () if shards is None else shards.tasks(jobs, progress):
            if _kept(name, tasks, known) is None:
                yield run_tasks(tasks, jobs)

    with mendable():
        merged = merge_stream(chain(_all_of(known, progress), counted()))
    save_record(merged, out)
    return merged, notes


def _kept(name: str, tasks: Sequence[Task], folders: Sequence[str]) -> Record | None:
    """Return the record of a file, if it is whole in one of these that are folders."""
    folders = [each for each in folders if os.path.isdir(each)]
    found = (kept_record(Path(each, name), tasks[0].files) for each in folders)
    return next((record for record in found if record is not None), None)


@dataclass(frozen=True, slots=True)
class _Shards:
    """Files to count, one record each, and what is counted in all of them."""

    counting: Counting
    parts: Sequence[Part]
    features: FeatureDefinition
    layout: Layout
    names: Vocabulary | None  # of the columns of numbers, where they have any

    @classmethod
    def of(cls, counting: Counting) -> _Shards:
        _check_statistic(counting)
        with mendable():
            parts = parts_of(counting.files, counting.layout)
            if counting.layout.normalize == "median":
                raise InputError(
                    "`--read normalize` must be a number here, the same for all shards, such as "
                    "1e4; got median."
                )
            features, layout, columns = definition(
                counting.features, parts, counting.layout, counting.model, counting.resolution
            )
        return cls(counting, parts, features, layout, names_of(columns))

    def tasks(self, jobs: int | None, progress: Progress) -> Iterator[tuple[str, Sequence[Task]]]:
        """Tasks of each file, and the name of its record."""
        files = list(dict.fromkeys(part.path for part in self.parts))
        for done, file in enumerate(files):
            progress("counting", done, len(files))
            own = [part for part in self.parts if part.path == file]
            with mendable():
                tasks = tasks_of(
                    own, self.features, self.layout, names=self.names, n_jobs=jobs,
                    of_counts=self.counting.of_counts,
                )  # fmt: skip
            yield f"{Path(file).name}-{tasks[0].key[:16]}.npz", tasks

    def notes(self) -> tuple[str, ...]:
        """Say what the reader should know of the rows, the first ones of large files."""
        names = () if self.names is None else self.names.names().tolist()
        kind = self.counting.model.kind
        return (
            *told(self.parts, self.counting.layout),
            *notes_on_rows(self.parts, self.layout, kind, self.features, names),
        )


def _check_statistic(counting: Counting) -> None:
    """Refuse what no record holds."""
    statistic = MODELS[counting.model.kind].statistic
    if counting.model.missing is not None:
        counting.model.check_effect("missing")
    if counting.features is not None and statistic not in ("counts", "presence"):
        raise InputError(
            f"{counting.files[0]}: of texts, occurrences are counted, or the rows that hold a "
            f"word, and not {statistic}; give the files to `naively select`, or "
            "--read numbers if they hold numbers."
        )
    if counting.model.weights == "tfidf" and counting.model.norm is not None:
        raise InputError(
            "`--words norm` of weights=tfidf needs the idf of all files before a row is added "
            "up; use --words weights=log --words norm=l2, or give the files to `naively select`."
        )


def _all_of(sources: Sequence[str], progress: Progress) -> Iterator[Record]:
    paths = [path for source in sources for path in _records_in(source)]
    yield from _loaded(paths, progress)


def _loaded(paths: Sequence[str], progress: Progress) -> Iterator[Record]:
    for done, path in enumerate(paths):
        progress("reading", done, len(paths))
        yield load_record(path)


def _records_in(source: str) -> list[str]:
    if not os.path.isdir(source):
        return find_files([source])
    found = sorted(str(path) for path in Path(source).glob("*.npz"))
    if not found:
        raise InputError(
            f"{source}: the folder holds no statistics; name files in it by a quoted pattern such "
            f"as '{os.path.join(source, '*.csv')}'."
        )
    return found


def solve(
    source: str,
    settings: ModelSettings,
    out: str,
    progress: Progress = silent,
    *,
    text_columns: tuple[str, ...] = ("text",),
    force: bool = False,
    given: Settings = MappingProxyType({}),
    markers: int | None = None,
    long_rows: str | None = None,
    format: str | None = None,
) -> Summary:
    """Select features and train a classifier from statistics alone, and write the result folder.

    `text_columns` name where the texts stood, and `given` is what repeats the run. With
    `long_rows`, a table of the rows of each class, the source is a long table of counts.
    """
    with reserved_directory(out, RESULT_FILES, sometimes=ALSO, force=force):
        progress("reading", 0, 0)
        notes: tuple[str, ...] = ()
        if long_rows is None:
            with mendable():
                record = merge_stream(_all_of([source], progress))
            check_statistics(record, settings)
            notes = tuple(_presence_note(record, settings))
        else:
            record = long_record(source, long_rows, settings, format)
            copies = copies_note(dict.fromkeys(record.shards, 1))
            notes = (*_unfit_note(record), *copies)
        summary, model = _solved(source, record, settings, progress, text_columns, given, markers)
        settings_told = replace(summary.settings, halves=False)  # of rows that are not there
        summary = replace(summary, settings=settings_told, notes=(*summary.notes, *notes))
        progress("writing", 0, 0)
        with atomic_directory(out, RESULT_FILES, sometimes=ALSO, force=force) as folder:
            write_result(folder, summary, model, given)
    return summary


def _solved(
    source: str, record: Record, settings: ModelSettings, progress: Progress,
    text_columns: tuple[str, ...], given: Settings, markers: int | None,
) -> tuple[Summary, ModelFile]:  # fmt: skip
    progress("selecting", 0, 0)
    data = of_record(record, source, text_columns)
    found = data.rows_of_classes(TRAIN)
    if len(found) < 2:
        lacking = sorted(set(data.class_rows[TRAIN]) - set(found))
        why = "rows of weight 0 are left out" if lacking else (
            "was the right column given to `naively count`?"
        )  # fmt: skip
        raise one_class(source, found, why, lacking)
    if settings.kind != "bernoulli":  # whose weights are known
        weights = "presence" if record.features.presence else record.features.weights
        norm = getattr(record.features, "norm", None)
        settings = replace(settings, weights=weights, norm=norm)
    exposure = record.features.exposure
    if exposure is not None:
        named = "total" if exposure == "total" else data.named(np.array([exposure]))[0]
        settings = replace(settings, exposure=named)
    if getattr(record.features, "missing", False):
        settings = replace(settings, missing="ignore")
    settings = replace(settings, row_weight=record.features.row_weight)
    model = settings.model(of_text=isinstance(record.features, TextFeatures))
    check_markers(settings, markers)
    fitted, trained = fit(data, model, settings, (TRAIN,))
    fitted = with_markers(fitted, data, trained, settings, (TRAIN,), markers)
    recipe = Recipe((source,), Layout(text=data.text_columns), model=settings, given=given)
    curve = path_curve(trained, settings, None)
    summary = summarize(recipe, file_rows(record.shards), None, fitted, curve)
    return summary, fitted.file


def refuse_auto(settings: ModelSettings) -> None:
    """Refuse to choose k without rows."""
    if is_auto(settings.k):
        raise InputError(
            f"`-k {settings.k}` cross-validates, which needs the rows themselves and not only "
            "their statistics; give a number, or the files to `naively select`."
        )


def check_statistics(record: Record, settings: ModelSettings) -> None:
    """Refuse statistics that do not train a model.

    Raises
    ------
    InputError
        Saying which do.
    """
    refuse_auto(settings)
    counted, kind = record.features.statistic, MODELS[settings.kind]
    wanted = kind.statistic
    if wanted is None:
        raise InputError(
            f"`--model {settings.kind}` needs the rows themselves; give the files to `naively "
            "select`."
        )
    if record.features.exposure is not None and "exposure" not in kind.parameters:
        raise InputError(
            f"--model {settings.kind} takes no exposure, which the rows of these statistics have; "
            "count the shards again without one, or choose another model."
        )
    if getattr(record.features, "missing", False) and "missing" not in kind.parameters:
        raise InputError(
            f"--model {settings.kind} takes no missing values, which these statistics left out; "
            "choose another model, or fill them in and count the shards again."
        )
    if counted != wanted and (settings.kind, counted) != ("multinomial", "presence"):
        raise InputError(
            f"--model {settings.kind} needs statistics of {wanted}, these are of {counted}; count "
            f"the shards again with --model {settings.kind}, or choose another model."
        )


def _presence_note(record: Record, settings: ModelSettings) -> Iterator[str]:
    """Say that columns were counted as the Bernoulli model asks, which is not the one trained."""
    of_columns = not isinstance(record.features, TextFeatures)
    if of_columns and settings.kind == "multinomial" and record.features.statistic == "presence":
        yield (
            "These statistics are of presence, which --model bernoulli is made for; --model "
            "multinomial, which is trained, takes each feature once a row."
        )


def _spelled(counts: ClassCounts) -> ClassCounts:
    """Spell classes as those of all files are."""
    names = np.array([label_text(each) or "" for each in counts.classes.tolist()])
    order = np.argsort(names, kind="stable")
    if len(set(names.tolist())) < len(names):
        raise ValueError(
            f"two of the classes {counts.classes[:10].tolist()} are the same number; write each in "
            "one way."
        )
    return counts.of_classes(order, names[order])


def long_record(
    source: str, rows: str, settings: ModelSettings, format: str | None = None
) -> Record:
    """Read a long table of counts: columns feature, label, count, and documents if it is there.

    Parameters
    ----------
    source, rows
        The table, or a pattern of several, whose counts are added; and that of the rows of each
        class, or of their weights: label and one other column.
    settings
        Of the model, by which counts are occurrences or rows.
    format
        Of what is piped in.

    Raises
    ------
    InputError
        If a table cannot be read, or does not train the model.
    """
    refuse_auto(settings)
    statistic = MODELS[settings.kind].statistic
    if statistic not in ("counts", "presence"):
        able = [name for name, kind in MODELS.items() if kind.statistic in ("counts", "presence")]
        raise InputError(
            f"`--read class-rows` is beside a table of counts, on which --model {settings.kind} "
            f"cannot be trained; choose one of {', '.join(able)}, or give the rows."
        )
    paths = [_long_path(path, format) for path in find_files([source])]
    with _of_tables(source, rows):
        counts, names = ClassCounts.from_long(paths, rows=rows, presence=statistic == "presence")
        counts = _spelled(counts)
        texts = as_texts([clean(str(each)) for each in names.tolist()])
    known = Vocabulary(texts.bytes, texts.offsets)
    features = ColumnFeatures(counts.n_features, known.digest(), statistic)
    shards = {f"{identity(path, path)}#long": 0 for path in paths}
    shards[next(iter(shards))] = int(counts.class_rows.sum())  # whose rows these are is not known
    return Record(counts, features, known, shards)


def _long_path(path: str, format: str | None) -> str:
    """Path of a table by whose name its format is known; of what is piped in, that of a copy."""
    if path not in ("-", "/dev/stdin"):
        return path
    known = ("csv", "tsv", "parquet")
    if format not in known:
        raise InputError(
            f"standard input: a table of counts is one of {', '.join(known)}; say which with "
            "--read format."
        )
    return spooled(sys.stdin.buffer, f".{format}")


@contextmanager
def _of_tables(source: str, rows: str) -> Iterator[None]:
    """Let errors name files instead of parameters."""
    with mendable():
        try:
            yield
        except ValueError as error:
            said = str(error)
            named = "it" if said.startswith(f"{source}: ") else source
            said = said.replace("`frame`", named).replace("`rows`", rows)
            said = said.replace(
                "Rename it, or in Python name it with `feature`, `label` or `count`.",
                "Its columns must be called feature, label and count.",
            )
            raise InputError(said) from error


def _unfit_note(record: Record) -> Iterator[str]:
    """Say where counts and rows of classes seem to be of different rows, of a table of counts.

    A feature is counted more often than its class has rows, or the rows of a class hold less than
    one feature on average, or far less than those of another class.
    """
    table, rows = record.statistics.table, record.statistics.class_weight
    table = table.toarray() if isinstance(table, SparseTable) else table
    above = table - rows
    j, c = np.unravel_index(int(np.argmax(above)), table.shape)
    if above[j, c] > 0:
        name, label = _names_of(record, [int(j)])[0], record.statistics.classes[c]
        yield (
            f"{short(name)} is counted {table[j, c]:,.10g} times in the {rows[c]:,.10g} rows of "
            f"{short(label)}: right if a row counts a feature more than once; if not, counts and "
            "rows are not of the same rows."
        )
    some = np.flatnonzero(rows > 0)
    if not len(some):
        return
    mean = np.zeros(len(rows))
    mean[some] = np.asarray(record.statistics.table.sum(axis=0)).ravel()[some] / rows[some]
    few, many = int(some[np.argmin(mean[some])]), int(some[np.argmax(mean[some])])
    if mean[few] < 1 or mean[many] > _UNEQUAL * mean[few]:
        label, other = (short(record.statistics.classes[c]) for c in (few, many))
        yield (
            f"The counts make {mean[few]:.3g} for each of the {rows[few]:,.10g} rows of {label}, "
            f"and {mean[many]:.3g} for each of the {rows[many]:,.10g} of {other}: if rows hold "
            "more, there are too many in --read class-rows."
        )


def _names_of(record: Record, columns: list[int]) -> list[str]:
    assert record.names is not None
    return [str(each) for each in record.names.names(columns).tolist()]
