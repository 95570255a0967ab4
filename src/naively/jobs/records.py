"""Records of counts: what is counted, and the jobs count, merge and solve."""

from __future__ import annotations

import os
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path

from naively.io.errors import InputError, OutputError, UnreadableError, mendable, reason
from naively.io.files import atomic_directory, check_directory
from naively.io.progress import Progress, silent
from naively.io.text import TextRule, text_features
from naively.jobs.outcome import Asked, summarize
from naively.jobs.results import RESULT_FILES, write_result
from naively.jobs.settings import ModelSettings
from naively.jobs.study import path_curve
from naively.jobs.totals import Source, train_totals
from naively.report.summary import FileRow, Summary
from naively.scale.sources import Layout, columns_of, find_files
from naively.text.features import FeatureDefinition, TextFeatures
from naively.text.vocabulary import Vocabulary
from naively.work.records import CountRecord, load_record, merge_stream, save_record
from naively.work.stream import count_files, kept_record, tasks_of


@dataclass(frozen=True, slots=True)
class Counting:
    """What is counted, and where it stands in the files."""

    files: tuple[str, ...]
    layout: Layout
    text: TextRule | None = None  # None: matrices
    presence: bool = False
    n_hashed: int | None = None
    n_columns: int | None = None  # of svmlight files
    resolution: float | None = None


def definition(counting: Counting) -> tuple[FeatureDefinition, Vocabulary | None]:
    """Define the features that are counted.

    Raises
    ------
    InputError
        If the first file cannot be read, or words are wanted that streams do not find.
    """
    with mendable(UnreadableError):
        if counting.text is None:
            return columns_of(
                find_files(counting.files)[0],
                counting.layout,
                n_columns=counting.n_columns,
                presence=counting.presence,
                resolution=counting.resolution,
            )
        return _text_features(counting.text, counting), None


def _text_features(rule: TextRule, counting: Counting) -> TextFeatures:
    features = text_features(rule)
    if len(rule.columns) > 1:
        raise InputError(
            f"Streams read one column of text; got {', '.join(rule.columns)}. Leave out --engine."
        )
    return replace(features, n_hashed=counting.n_hashed, presence=counting.presence)


def count(
    counting: Counting, out: str, progress: Progress = silent, *, jobs: int | None = None
) -> list[str]:
    """Count each file into a record of its own.

    Parameters
    ----------
    counting
        The files, and what to count.
    out
        Folder of the records. A file that has one there already is not counted again.
    progress
        Told how far the work has come.
    jobs
        Threads.

    Returns
    -------
    list of str
        The records, one for each file.
    """
    features, names = definition(counting)
    written = []
    with mendable():
        files = find_files(counting.files)
        for done, file in enumerate(files):
            progress("counting", done, len(files))
            tasks = tasks_of(file, features, counting.layout, names=names)
            path = Path(out) / f"{Path(file).name}-{tasks[0].key[:16]}.npz"
            if kept_record(path, [file]) is None:
                record = count_files(file, features, counting.layout, names=names, n_jobs=jobs)
                _save(record, path)
            written.append(str(path))
    return list(dict.fromkeys(written))


def _save(record: CountRecord, path: Path) -> None:
    try:
        save_record(record, path)
    except OSError as error:
        raise OutputError(f"{path}: cannot be written: {reason(error)}.") from error


def merge_records(sources: Sequence[str], out: str, progress: Progress = silent) -> CountRecord:
    """Add records: files, or folders of them.

    Raises
    ------
    InputError
        If a record is damaged or counts something else, or a shard is in two of them.
    """
    with mendable():
        paths = [path for source in sources for path in _records_in(source)]
        merged = merge_stream(_loaded(paths, progress))
    _save(merged, Path(out))
    return merged


def _loaded(paths: Sequence[str], progress: Progress) -> Iterator[CountRecord]:
    for done, path in enumerate(paths):
        progress("reading", done, len(paths))
        yield load_record(path)


def _records_in(source: str) -> list[str]:
    if not os.path.isdir(source):
        return find_files(source)
    found = sorted(str(path) for path in Path(source).glob("*.npz"))
    if not found:
        raise InputError(
            f"{source}: the folder holds no statistics; write some with naively count."
        )
    return found


def solve(
    source: str,
    settings: ModelSettings,
    out: str,
    progress: Progress = silent,
    *,
    text_column: str = "text",
    force: bool = False,
    command: str = "",
) -> Summary:
    """Select features and train a classifier from statistics alone, and write the result folder."""
    check_directory(out, RESULT_FILES, force=force)
    progress("reading", 0, 0)
    record = _totals_in(source)
    progress("selecting", 0, 0)
    counted = Source.of_record(record, text_column)
    solved = train_totals(counted, record.statistics(), settings)
    presence = replace(settings, binary=settings.binary or record.features.presence)
    asked = Asked(presence, solved.trained.model.text, command)
    chosen = len(solved.trained.selection.support)
    curve = path_curve(solved.family, solved.statistics, chosen)
    summary = summarize(asked, file_rows(record.shards), None, solved.trained, curve)
    progress("writing", 0, 0)
    with atomic_directory(out, RESULT_FILES, force=force) as folder:
        write_result(folder, summary, solved.trained.model)
    return summary


def _totals_in(source: str) -> CountRecord:
    if os.path.isdir(source):
        raise InputError(
            f"{source}: is a folder; add its records with `naively merge {source} -o FILE`, and "
            "solve FILE."
        )
    with mendable():
        return load_record(source)


def file_rows(shards: Mapping[str, int]) -> tuple[FileRow, ...]:
    """Rows and size of each file; large files are not read once more for a digest of all bytes."""
    rows: Counter[tuple[str, int]] = Counter()
    for shard, n in shards.items():
        name, size, _ = shard.rpartition("#")[0].rsplit(":", 2)
        rows[name, int(size)] += n
    return tuple(FileRow(name, "counted", n, size, "") for (name, size), n in rows.items())
