"""The jobs on files of any size: count, merge, solve, and select in streams.

Statistics are counted where the data are and added up; models come from the sums. Rows are seen
again only to be tested on, and then only the selected features of them.
"""

from __future__ import annotations

import os
from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any, cast

import numpy as np

import naively
from naively.estimators.parameters import is_auto, resolve_k
from naively.families.bernoulli import bernoulli
from naively.families.multinomial import multinomial
from naively.families.priors import log_prior
from naively.families.rules import LinearRule
from naively.io.errors import InputError, OutputError, reason
from naively.io.files import atomic_directory, check_directory
from naively.io.models import Model
from naively.io.progress import Progress, silent
from naively.io.text import ONE_CHARACTER, TOKEN_PATTERN, TextRule, text_features
from naively.jobs.outcome import feature_rows, features_in_words
from naively.jobs.select import RESULT_FILES, write_result
from naively.jobs.settings import ModelSettings, TestSettings
from naively.jobs.training import (
    Figures,
    Trained,
    default_note,
    number_of_features,
    relative_weights,
)
from naively.report.summary import (
    ClassRow,
    Evaluation,
    FileRow,
    Mistake,
    Settings,
    Summary,
)
from naively.scale.confusion import Answerer, confusion, total
from naively.scale.features import FeatureDefinition, TextFeatures
from naively.scale.holdout import TEST, TRAIN, Holdout, counts_of
from naively.scale.records import CountRecord, load_record, merge_stream, save_record
from naively.scale.sources import Layout, columns_of, find_files
from naively.scale.stream import Task, count_files, run_tasks, tasks_of
from naively.scale.vocabulary import Vocabulary
from naively.selection.certificate import Selection
from naively.selection.solve import solve as solved
from naively.statistics.counts import ClassCounts

STATISTICS = "stats.npz"
_MISTAKES = 20  # kinds of mistakes kept in the summary


@dataclass(frozen=True, slots=True)
class Engine:
    """Where the work is done."""

    name: str = "local"  # "local", "dask" or "spark"
    address: str | None = None  # of a scheduler; None: workers on this machine
    jobs: int | None = None  # workers; None: one, or two on an engine


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


@dataclass(frozen=True, slots=True)
class StreamedJob:
    """All that `naively select --engine` is asked."""

    counting: Counting
    model: ModelSettings
    test: TestSettings
    engine: Engine
    out: str
    force: bool = False
    command: str = ""
    checkpoint: str | None = None


# Definitions -----------------------------------------------------------------------------------


def definition(counting: Counting) -> tuple[FeatureDefinition, Vocabulary | None]:
    """Define the features that are counted.

    Raises
    ------
    InputError
        If the first file cannot be read, or words are wanted that streams do not find.
    """
    with mendable():
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
    if features is None:
        raise InputError(
            f"Streams find words by {TOKEN_PATTERN} or {ONE_CHARACTER}; got "
            f"--token-pattern {rule.token_pattern!r}. Leave out --engine to use any pattern."
        )
    if len(rule.columns) > 1:
        raise InputError(
            f"Streams read one column of text; got {', '.join(rule.columns)}. Leave out --engine."
        )
    return replace(features, n_hashed=counting.n_hashed, presence=counting.presence)


@contextmanager
def mendable() -> Iterator[None]:
    """Turn errors of the scale layer into those that the command shows as one sentence."""
    try:
        yield
    except (InputError, OutputError):
        raise
    except (ValueError, ModuleNotFoundError) as error:
        raise InputError(str(error)) from error


# count, merge, solve ---------------------------------------------------------------------------


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
            if not _is_whole(path):
                record = count_files(file, features, counting.layout, names=names, n_jobs=jobs)
                _save(record, path)
            written.append(str(path))
    return written


def _is_whole(path: Path) -> bool:
    if not path.exists():
        return False
    try:
        load_record(path)
    except ValueError:
        return False
    return True


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
    with mendable():
        record = load_record(source)
    progress("selecting", 0, 0)
    trained = _trained(record, record.statistics(), settings, text_column)
    files = _file_rows(record)
    summary = _summary(trained, trained, settings, files, command, text_column, record, None)
    with atomic_directory(out, RESULT_FILES, force=force) as folder:
        write_result(folder, summary, trained.model)
    return summary


# select ----------------------------------------------------------------------------------------


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
    counting, column = job.counting, job.counting.layout.text or "text"
    features, names = definition(counting)
    holdout = _holdout(job.test)
    with mendable(), _running(job.engine) as engine:
        tasks = tasks_of(
            counting.files, features, counting.layout, names=names, n_jobs=engine.jobs,
            resumable=job.checkpoint is not None, holdout=holdout,
        )  # fmt: skip
        record = engine.count(tasks, job.checkpoint, progress)
        _check_classes(record, holdout)
        progress("selecting", 0, 0)
        counts = record.statistics()
        training = counts if holdout is None else counts_of(counts, TRAIN)
        given = job.test.file is not None or job.test.split_column is not None
        tested = _trained(record, training, job.model, column, clip=not given)
        final = tested
        if holdout is not None and not given:
            everything = training + counts_of(counts, TEST)
            final = _trained(record, everything, job.model, column)
        progress("testing", 0, 0)
        answers = _answers(job, features, names, tasks, tested, engine)
    files = _file_rows(record)
    summary = _summary(
        tested, final, job.model, files, job.command, column, record, answers, job.test
    )
    progress("writing", 0, 0)
    with atomic_directory(job.out, RESULT_FILES, force=job.force) as folder:
        write_result(folder, summary, final.model)
    return summary


def _holdout(test: TestSettings) -> Holdout | None:
    if test.file is not None or (test.split_column is None and test.holdout == 0):
        return None
    return Holdout(test.holdout if test.split_column is None else 0.0, test.seed)


def _check_classes(record: CountRecord, holdout: Holdout | None) -> None:
    names = record.counts.classes.astype(str).tolist()
    if holdout is not None:
        names = [name for name in names if name.startswith(TRAIN)]
    if len(names) < 2:
        raise InputError(
            "The training rows hold fewer than two classes; two or more are needed to tell apart "
            "(is --label the right column?)."
        )


def _answers(
    job: StreamedJob,
    features: FeatureDefinition,
    names: Vocabulary | None,
    tasks: Sequence[Task],
    tested: Trained,
    engine: Any,
) -> Counter[tuple[str, str]] | None:
    if job.test.file is not None:
        tasks = tasks_of(
            job.test.file, features, job.counting.layout, names=names, n_jobs=engine.jobs
        )
    elif tasks[0].holdout is None:
        return None
    if isinstance(features, TextFeatures) and features.n_hashed is not None:
        raise InputError(
            "Hashed columns have no terms to be found in test rows; add --holdout 0, or leave out "
            "--hash."
        )
    model = tested.model
    terms = Vocabulary.of(model.names) if model.text is not None else None
    answerer = Answerer(model.rule, model.classes, features, terms, model.columns)
    return total(engine.map(confusion, tasks, answerer))


def _trained(
    record: CountRecord,
    counts: ClassCounts,
    settings: ModelSettings,
    text_column: str,
    *,
    clip: bool = False,
) -> Trained:
    """Train from statistics, as `naively.jobs.training.train` does from rows."""
    if is_auto(settings.k):
        raise InputError(
            "`-k auto` cross-validates, which needs the rows themselves and not only their counts; "
            "give a number, or select from a file that fits into memory."
        )
    kept = _kept(record, counts, settings)
    k = number_of_features(settings, len(kept), clip=clip)
    whole = len(kept) == counts.n_features
    names = np.array(counts.classes.astype(str), dtype=object)
    statistics = replace(counts if whole else counts.take(kept), classes=names)
    selection, rule = _solved(statistics, replace(settings, k=k))
    columns = kept[selection.support]
    return Trained(
        model=Model(
            kind=settings.kind,
            classes=tuple(map(str, names.tolist())),
            names=_feature_names(record, columns),
            columns=columns,
            n_features=counts.n_features,
            rule=rule,
            threshold=0.0 if record.features.presence else None,
            text=_rule_of(record.features, text_column),
        ),
        selection=selection,
        figures=Figures(weights=relative_weights(rule), counts=statistics.table[selection.support]),
        class_rows=counts.class_rows,
        n_features=len(kept),
        n_rows=int(counts.class_rows.sum()),
        notes=tuple(default_note(settings, len(kept))),
    )


def _solved(statistics: ClassCounts, settings: ModelSettings) -> tuple[Selection, LinearRule]:
    """Select and train as estimators do, without scikit-learn, whose import takes longer."""
    models = {"multinomial": multinomial, "bernoulli": bernoulli}
    if settings.kind not in models:
        raise InputError(
            f"Streams add up counts, which train multinomial and bernoulli models; got --model "
            f"{settings.kind}. Leave out --engine."
        )
    presence = settings.kind == "bernoulli" or settings.binary
    if statistics.presence != presence:
        raise InputError(
            f"--model {settings.kind} needs statistics counted {'with' if presence else 'without'} "
            "--presence; count the shards again, or choose the other model."
        )
    try:
        family = models[settings.kind](settings.alpha)
        k = resolve_k(settings.k, statistics.n_features)
        selection = solved(
            family, statistics, k, exact=settings.exact, time_limit=settings.time_limit
        )
        rule = family.rule(statistics, selection.support, log_prior(statistics.class_weight))
        return selection, cast("LinearRule", rule)
    except ValueError as error:
        raise InputError(str(error)) from error


def _kept(record: CountRecord, counts: ClassCounts, settings: ModelSettings) -> Any:
    text = record.names is not None and isinstance(record.features, TextFeatures)
    least = max(settings.min_count, 1) if text else settings.min_count
    if least == 0 or (least == 1 and not text):
        return np.arange(counts.n_features)
    kept = np.flatnonzero(counts.table.sum(axis=1) >= least)
    if len(kept) == 0:
        raise InputError(
            f"No feature is counted {least:,} times or more in training; lower --min-count."
        )
    return kept


def _feature_names(record: CountRecord, columns: Any) -> tuple[str, ...]:
    if record.names is not None:
        return tuple(record.names.names(columns).tolist())
    return tuple(str(column) for column in columns.tolist())


def _rule_of(features: FeatureDefinition, column: str) -> TextRule | None:
    if not isinstance(features, TextFeatures) or features.n_hashed is not None:
        return None
    return TextRule(
        columns=(column,),
        analyzer=features.analyzer,
        ngrams=features.ngram_range,
        stop_words=features.stop_words,
        token_pattern=TOKEN_PATTERN if features.min_characters == 2 else ONE_CHARACTER,
        lowercase=features.lowercase,
    )


# What came out ---------------------------------------------------------------------------------


def _file_rows(record: CountRecord) -> tuple[FileRow, ...]:
    """Rows and size of each file; large files are not read once more for a digest of all bytes."""
    rows: Counter[tuple[str, int]] = Counter()
    for shard, n in record.shards.items():
        name, size, _ = shard.rpartition("#")[0].rsplit(":", 2)
        rows[name, int(size)] += n
    return tuple(FileRow(name, "counted", n, size, "") for (name, size), n in rows.items())


def _summary(
    tested: Trained,
    final: Trained,
    settings: ModelSettings,
    files: tuple[FileRow, ...],
    command: str,
    text_column: str,
    record: CountRecord,
    answers: Counter[tuple[str, str]] | None,
    test: TestSettings | None = None,
) -> Summary:
    evaluation = None
    if answers and test is not None:
        evaluation = _evaluation(tested, final, answers, test)
    trained_on = "trained on all rows" + (", after the test" if final is not tested else "")
    if evaluation is not None and final is tested:
        trained_on = "trained on the training rows only: it is the model that was tested"
    presence = replace(settings, binary=settings.binary or record.features.presence)
    return Summary(
        settings=Settings(
            command=command,
            version=naively.__version__,
            model=settings.kind,
            k=str(settings.k or len(final.selection.support)),
            alpha=settings.alpha,
            exact=settings.exact,
            features=features_in_words(final.model.text, presence),
            final_rows=trained_on,
        ),
        files=files,
        n_features=final.n_features,
        n_rows=final.n_rows,
        certificate=final.selection.certificate,
        classes=_class_rows(final, answers or Counter()),
        features=feature_rows(final),
        evaluation=evaluation,
        notes=final.notes,
    )


def _class_rows(final: Trained, answers: Counter[tuple[str, str]]) -> tuple[ClassRow, ...]:
    rows = []
    for name, n in zip(final.model.classes, final.class_rows.tolist(), strict=True):
        tested = sum(m for (truth, _), m in answers.items() if truth == name)
        called = sum(m for (_, answer), m in answers.items() if answer == name)
        right = answers[name, name]
        recall = right / tested if tested else None
        rows.append(ClassRow(name, n, tested, recall, right / called if called else None))
    return tuple(rows)


def _evaluation(
    tested: Trained, final: Trained, answers: Counter[tuple[str, str]], test: TestSettings
) -> Evaluation:
    rows: Counter[str] = Counter()
    for (truth, _), n in answers.items():
        rows[truth] += n
    n_rows = rows.total()
    classes = tested.model.classes
    usual = classes[int(np.argmax(tested.class_rows))]
    wrong = {pair: n for pair, n in answers.items() if pair[0] != pair[1]}
    mistakes = sorted(wrong.items(), key=lambda item: (-item[1], item[0]))[:_MISTAKES]
    recalls = [answers[name, name] / n for name, n in sorted(rows.items())]
    shared = len(set(tested.model.names) & set(final.model.names))
    return Evaluation(
        method=_method(test),
        train_rows=tested.n_rows,
        test_rows=n_rows,
        accuracy=sum(answers[name, name] for name in rows) / n_rows,
        balanced_accuracy=float(np.mean(recalls)),
        usual_class=usual,
        usual_accuracy=rows[usual] / n_rows,
        unseen_rows=sum(n for name, n in rows.items() if name not in classes),
        mistakes=tuple(Mistake(truth, answer, n) for (truth, answer), n in mistakes),
        shared_features=None if final is tested else shared,
    )


def _method(test: TestSettings) -> str:
    if test.file is not None:
        return f"the rows of {Path(test.file).name}"
    if test.split_column is not None:
        return f"the rows with test in column {test.split_column}"
    return f"about {100 * test.holdout:g} % of the rows, held out at random with seed {test.seed}"


# Engines ---------------------------------------------------------------------------------------


@dataclass(frozen=True, slots=True)
class _Running:
    """An engine at work: how it counts tasks and how it maps a function over them."""

    jobs: int
    count: Callable[[Sequence[Task], str | None, Progress], CountRecord]
    map: Callable[..., list[Any]]


@contextmanager
def _running(engine: Engine) -> Iterator[_Running]:
    jobs = engine.jobs or (1 if engine.name == "local" else 2)
    if engine.name == "local":
        yield _Running(
            jobs,
            lambda tasks, folder, progress: run_tasks(tasks, jobs, folder, progress),
            lambda function, tasks, *arguments: _mapped(function, tasks, arguments, jobs),
        )
    elif engine.name == "dask":
        with _on_dask(engine, jobs) as running:
            yield running
    else:
        with _on_spark(engine, jobs) as running:
            yield running


def _mapped(
    function: Callable[..., Any], tasks: Sequence[Task], arguments: tuple[Any, ...], jobs: int
) -> list[Any]:
    from joblib import Parallel, delayed

    call = Parallel(n_jobs=jobs, prefer="threads")
    results: list[Any] = call(delayed(function)(task, *arguments) for task in tasks)
    return results


@contextmanager
def _on_dask(engine: Engine, jobs: int) -> Iterator[_Running]:
    from naively.scale import dask

    cluster = dask.local_cluster(jobs) if engine.address is None else dask.connected(engine.address)
    with cluster:
        yield _Running(4 * jobs, lambda tasks, *_: dask.count_tasks(tasks), dask.map_tasks)


@contextmanager
def _on_spark(engine: Engine, jobs: int) -> Iterator[_Running]:
    from naively.scale import spark

    if engine.address is None:
        opened = spark.local_session(f"local[{jobs},4]")
    else:
        opened = spark.connected(engine.address)
    with opened as session:
        yield _Running(
            4 * jobs,
            lambda tasks, *_: spark.count_tasks(session, tasks),
            lambda function, tasks, *arguments: spark.map_tasks(
                session, function, tasks, *arguments
            ),
        )
