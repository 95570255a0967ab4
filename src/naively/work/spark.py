"""Class statistics on Spark: partial sums by `mapInArrow`, totals by `groupBy().sum()`.

Only DataFrames are used, so this runs on Spark Connect too, where RDDs and the SparkContext are
refused. A partition is counted into sums per (column or term, class), which are rows; Spark adds up
equal ones across partitions, and what reaches the driver are the sums that occur.

Moments and categories are no such sums: each partition becomes a record, and the driver merges them
in the order of the partitions.
"""

from __future__ import annotations

import os
import pickle
import re
import sys
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import replace
from typing import Any, TypeVar

import numpy as np

from naively._types import Array, IntArray
from naively.statistics.counts import ClassCounts
from naively.statistics.sparse_table import DENSE_CELLS, SparseTable, settled
from naively.text.features import ColumnFeatures, FeatureDefinition, TextFeatures
from naively.text.utf8 import as_texts, rows_of_column
from naively.text.vocabulary import Vocabulary
from naively.work.addresses import check_answers
from naively.work.counters import new_counter, record_of
from naively.work.judged import Answerer
from naively.work.records import STATISTICS, Record, merge_stream
from naively.work.stream import Task, run_task

R = TypeVar("R")
_BATCH = 1 << 17  # sums handed on at a time
# What a row of partial sums is, in its column `kind`.
_CELL, _ROWS, _LENGTH, _SHARD, _DOCUMENTS, _SQUARES = range(6)
_TABLES = {"table": _CELL, "documents": _DOCUMENTS, "squares": _SQUARES}
_KEYS = ("kind", "term", "place", "label")
_SCHEMA = "kind int, term string, place bigint, label string, whole bigint, real double"
_CONNECT_PORT = 15002  # of an address of Spark Connect that has none
_MASTERS = ("local", "yarn", "k8s://")  # that are no host and port
_INTEGERS = {"tinyint": np.int8, "smallint": np.int16, "int": np.int32, "bigint": np.int64}


def class_statistics(
    frame: Any,
    features: FeatureDefinition | None = None,
    *,
    text: str | None = "text",
    label: str = "label",
    classes: Sequence[Any] = (),
) -> Record:
    """Gather statistics of the rows of a Spark DataFrame by class.

    Parameters
    ----------
    frame : pyspark.sql.DataFrame
        One row per row; classic or Spark Connect.
    features : TextFeatures or ColumnFeatures, default=None
        What is gathered: counts, presence, moments or categories. By default counts of words, or
        of all numeric columns but the label.
    text : str, default="text"
        Column of texts; None counts the other columns as numbers.
    label : str, default="label"
        Column of labels.
    classes : sequence, default=()
        Labels that will occur; others are found.

    Returns
    -------
    record : Record
        Whole numbers are counted exactly, whatever the partitions. The order in which Spark adds
        real numbers is not fixed; a `resolution` in the definition makes them whole.

    Raises
    ------
    ValueError
        If a column is missing, or a partition cannot be counted.
    """
    for name in filter(None, (label, text)):
        if name not in frame.columns:
            raise ValueError(f"There is no column `{name}`; the frame has {frame.columns}.")
    columns = [name for name in frame.columns if name != label]
    if features is None:
        features = TextFeatures() if text is not None else ColumnFeatures(len(columns))
    frame = frame.select(*([text] if text is not None else columns), label)
    kind = dict(frame.dtypes)[label]
    counted = _partition_counter(features, text, label, tuple(classes))
    if not _is_counted(features):
        return _of_kind(_merged(frame, counted), kind)
    rows = frame.mapInArrow(lambda batches: _sums(counted(batches)), _SCHEMA)
    return _assembled(_summed(rows), features, kind, classes)


def count_tasks(session: Any, tasks: Sequence[Task]) -> Record:
    """Count files, which all executors must see; tasks as of `naively.work.stream`.

    Parameters
    ----------
    session : pyspark.sql.SparkSession
        Where to run.
    tasks : sequence of Task
        Each becomes a partition, and its record the rows of it.
    """
    if tasks and not _is_counted(tasks[0].features):
        return merge_stream(map_tasks(session, run_task, tasks))
    frame = _one_row_each(session, len(tasks))

    def count(batches: Iterator[Any]) -> Iterator[Any]:
        for number in _numbers(batches):
            yield from _sums(run_task(tasks[number], dense_cells=0))

    features, names = tasks[0].features, tasks[0].names
    rows = _summed(frame.mapInArrow(count, _SCHEMA))
    return _assembled(rows, features, "string", (), names)


def map_tasks(
    session: Any, function: Callable[..., R], tasks: Sequence[Task], *arguments: Any
) -> list[R]:
    """Apply a function to each task and the same further arguments, on the executors."""
    import pyarrow as pa

    def call(batches: Iterator[Any]) -> Iterator[Any]:
        for number in _numbers(batches):
            result = pickle.dumps(function(tasks[number], *arguments))
            yield pa.RecordBatch.from_pydict({"id": [number], "result": [result]})

    frame = _one_row_each(session, len(tasks))
    return _unpickled(frame.mapInArrow(call, "id bigint, result binary"))


def predict(frame: Any, answerer: Answerer, *, text: str = "text") -> Any:
    """Add a column `answer` with the label of each text; a map over partitions.

    Parameters
    ----------
    frame : pyspark.sql.DataFrame
        With a column of texts.
    answerer : Answerer
        Rule and terms of a model.
    text : str, default="text"
        The column of texts.

    Returns
    -------
    frame : pyspark.sql.DataFrame
        Lazy: all columns and the answer.
    """
    import pyarrow as pa

    fields = ", ".join(f"`{name}` {kind}" for name, kind in frame.dtypes)

    def answer(batches: Iterator[Any]) -> Iterator[Any]:
        for batch in batches:
            answers = answerer.answers(rows_of_column(batch.column(text)))
            yield batch.append_column("answer", pa.array(answers.tolist(), pa.string()))

    return frame.mapInArrow(answer, f"{fields}, answer string")


def _session() -> Any:
    try:
        from pyspark.sql import SparkSession
    except ModuleNotFoundError as error:
        raise ModuleNotFoundError(
            "Counting on Spark needs the extra `spark`; install it with: pip install "
            "'naively[spark]'",
            name="pyspark",
        ) from error
    return SparkSession


@contextmanager
def local_session(master: str = "local[2,4]", **settings: str) -> Iterator[Any]:
    """Start Spark on this machine, listening on loopback only, without its web pages.

    Parameters
    ----------
    master : str, default="local[2,4]"
        Two threads, and four failures before a job is given up: with `local[2]` the first one is
        the last. `local-cluster[2,1,1024]` starts executors of their own.
    **settings : str
        Further settings, dots as two underscores: `spark__executor__memory="1g"`.

    Yields
    ------
    session : pyspark.sql.SparkSession
        Stopped at the end.
    """
    os.environ.setdefault("SPARK_LOCAL_IP", "127.0.0.1")
    os.environ.setdefault("PYSPARK_PYTHON", sys.executable)
    builder = _session().builder.master(master).appName("naively")
    fixed = {
        "spark.driver.bindAddress": "127.0.0.1",
        "spark.driver.host": "127.0.0.1",
        "spark.ui.enabled": "false",
        "spark.sql.shuffle.partitions": "4",
    }
    for name, value in {**fixed, **{k.replace("__", "."): v for k, v in settings.items()}}.items():
        builder = builder.config(name, value)
    session = _started(builder, master)
    try:
        yield session
    finally:
        session.stop()


@contextmanager
def connected(address: str) -> Iterator[Any]:
    """Use a Spark that runs already: spark://HOST:PORT, or sc://HOST:PORT for Spark Connect.

    Any other master that Spark knows will do too: yarn, k8s://..., local[2].

    Raises
    ------
    ValueError
        If nothing answers there, or Spark does not know such an address.
    """
    builder = _session().builder.appName("naively")
    remote = address.startswith("sc://")
    if not address.startswith(_MASTERS):
        example = "spark://127.0.0.1:7077, sc://127.0.0.1:15002, yarn or local[2]"
        check_answers(address, example, _CONNECT_PORT if remote else None)
    session = _started(builder.remote(address) if remote else builder.master(address), address)
    try:
        yield session
    finally:
        session.stop()


def _started(builder: Any, master: str) -> Any:
    try:
        return builder.getOrCreate()
    except Exception as error:  # from the virtual machine, each release has its own
        told = str(error).strip().splitlines() or [type(error).__name__]
        raise ValueError(
            f"Spark does not start as {master!r} ({told[0]}); it needs Java 17 or later, and for "
            "sc:// addresses the packages of pyspark[connect]."
        ) from error


# On the executors ------------------------------------------------------------------------------


def _partition_counter(
    features: FeatureDefinition, text: str | None, label: str, classes: tuple[Any, ...]
) -> Callable[[Iterator[Any]], Record]:
    def count(batches: Iterator[Any]) -> Record:
        counter = new_counter(features, [str(each) for each in classes], dense_cells=0)
        for batch in batches:
            if batch.column(label).null_count:
                raise ValueError(f"the label in column `{label}` is missing in a row.")
            labels = np.array([str(each) for each in batch.column(label).to_pylist()], dtype=str)
            if text is not None:
                counter.update(rows_of_column(batch.column(text)), labels)
            else:
                names = [name for name in batch.schema.names if name != label]
                columns = [batch.column(name).to_numpy(zero_copy_only=False) for name in names]
                counter.update(np.column_stack(columns), labels)
        return record_of(counter, {})

    return count


def _is_counted(features: FeatureDefinition) -> bool:
    return STATISTICS[features.statistic] is ClassCounts


def _merged(frame: Any, counted: Callable[[Iterator[Any]], Record]) -> Record:
    """Merge the records of the partitions, in their order."""
    import pyarrow as pa

    def record(batches: Iterator[Any]) -> Iterator[Any]:
        from pyspark import TaskContext

        context = TaskContext.get()
        number = 0 if context is None else context.partitionId()
        result = pickle.dumps(counted(batches))
        yield pa.RecordBatch.from_pydict({"id": [number], "result": [result]})

    return merge_stream(_unpickled(frame.mapInArrow(record, "id bigint, result binary")))


def _unpickled(frame: Any) -> list[Any]:
    """Results of partitions, in their order."""
    with _explained():
        table = frame.toArrow().sort_by("id")
    return [pickle.loads(result) for result in table["result"].to_pylist()]


def _of_kind(record: Record, kind: str) -> Record:
    """Give a record, whose labels are text, those of the type of their column."""
    statistics = record.statistics
    labels = [_labels([label], kind)[0] for label in statistics.classes.tolist()]
    found = statistics.of_classes(range(len(labels)), np.array(labels) if labels else None)
    return replace(record, statistics=found)


def _one_row_each(session: Any, n: int) -> Any:
    if n == 0:
        raise ValueError("There must be at least one part to count; got none.")
    return session.range(0, n, 1, n)


def _numbers(batches: Iterator[Any]) -> Iterator[int]:
    for batch in batches:
        yield from batch.column("id").to_pylist()


def _sums(record: Record) -> Iterator[Any]:
    """Rows for the sums of a record, in batches."""
    counts = record.statistics
    terms = record.names if isinstance(record.features, TextFeatures) else None
    labels = counts.classes.astype(str)
    for name, kind in _TABLES.items():
        if (table := getattr(counts, name)) is not None:
            yield from _cell_rows(kind, table, labels, terms)
    yield _rows(_ROWS, np.zeros(len(labels), np.int64), labels, counts.class_rows)
    lengths, codes = np.nonzero(counts.length_weight)
    weight = counts.length_weight[lengths, codes].astype(np.int64)
    yield _rows(_LENGTH, counts.length_values[lengths], labels[codes], weight)
    yield _shard_rows(record.shards)


def _cell_rows(kind: int, table: Any, labels: Array, terms: Vocabulary | None) -> Iterator[Any]:
    table = table if isinstance(table, SparseTable) else SparseTable.from_dense(table)
    for start in range(0, len(table.cells), _BATCH):
        cells = table.cells[start : start + _BATCH].astype(np.int64)
        columns, codes = cells // table.shape[1], cells % table.shape[1]
        values = table.values[start : start + _BATCH]
        yield _rows(kind, columns, labels[codes], values, terms)


def _rows(
    kind: int, places: IntArray, labels: Array, values: Array, terms: Vocabulary | None = None
) -> Any:
    import pyarrow as pa

    n = len(places)
    whole = values.dtype.kind == "i"
    return pa.RecordBatch.from_pydict(
        {
            "kind": pa.array(np.full(n, kind, dtype=np.int32)),
            "term": pa.array(
                [None] * n if terms is None else list(terms.take(places)), pa.string()
            ),
            "place": pa.array(np.zeros(n, np.int64) if terms is not None else places),
            "label": pa.array(labels.tolist(), pa.string()),
            "whole": pa.array(values, pa.int64()) if whole else pa.nulls(n, pa.int64()),
            "real": pa.nulls(n, pa.float64()) if whole else pa.array(values, pa.float64()),
        }
    )


def _shard_rows(shards: Mapping[str, int]) -> Any:
    import pyarrow as pa

    n = len(shards)
    batch = _rows(
        _SHARD, np.zeros(n, np.int64), np.full(n, ""), np.array(list(shards.values()), np.int64)
    )
    return batch.set_column(1, "term", pa.array(list(shards), pa.string()))


# On the driver ---------------------------------------------------------------------------------


def _summed(frame: Any) -> Any:
    """Arrow table of the totals of partial sums."""
    totals = frame.groupBy(*_KEYS).agg({"whole": "sum", "real": "sum"})
    with _explained():
        return totals.toArrow().rename_columns([*_KEYS, *_value_names(totals)])


def _value_names(totals: Any) -> list[str]:
    return [name.removeprefix("sum(").removesuffix(")") for name in totals.columns[len(_KEYS) :]]


@contextmanager
def _explained() -> Iterator[None]:
    """Give the sentence that a worker raised instead of the trace of a virtual machine."""
    try:
        yield
    except Exception as error:
        found = re.findall(r"(?:InputError|ValueError): (.+)", str(error))
        if not found:
            raise
        raise ValueError(found[-1].strip()) from error  # the first ones are its causes


def _assembled(
    rows: Any,
    features: FeatureDefinition,
    kind: str,
    classes: Sequence[Any],
    names: Vocabulary | None = None,
) -> Record:
    import pyarrow.compute as pc

    part = {number: rows.filter(pc.equal(rows["kind"], number)) for number in range(6)}
    labels = _labels([*part[_ROWS]["label"].to_pylist(), *map(str, classes)], kind)
    code = {str(label): c for c, label in enumerate(labels.tolist())}
    tables = {}
    for name, number in _TABLES.items():
        if number == _CELL or features.documents:
            found, tables[name] = _table(part[number], features, code)
            names = found if isinstance(features, TextFeatures) else names
    class_rows = np.zeros(len(labels), dtype=np.int64)
    np.add.at(class_rows, _codes(part[_ROWS], code), _values(part[_ROWS]))
    counts = ClassCounts(
        labels,
        class_rows,
        class_rows.astype(np.float64),
        tables.pop("table"),
        *_lengths(part[_LENGTH], code),
        presence=features.presence,
        threshold=getattr(features, "threshold", 0.0),
        **tables,
    )
    shards = dict(
        zip(part[_SHARD]["term"].to_pylist(), part[_SHARD]["whole"].to_pylist(), strict=True)
    )
    return Record(counts, features, names, dict(sorted(shards.items())))


def _table(
    cells: Any, features: FeatureDefinition, code: Mapping[str, int]
) -> tuple[Vocabulary | None, Any]:
    """Table of the sums of one kind, and the terms of texts."""
    if isinstance(features, TextFeatures):
        terms = as_texts(cells["term"])
        names, columns = Vocabulary.sorted(terms.bytes, terms.offsets)
        shape = (len(names), len(code))
    else:
        names, columns, shape = None, _integers(cells["place"]), (features.n_columns, len(code))
    table = SparseTable.of(shape, columns * shape[1] + _codes(cells, code), _values(cells))
    return names, table.toarray() if shape[0] * shape[1] <= DENSE_CELLS else settled(table)


def _labels(found: Sequence[str], kind: str) -> Array:
    if kind in _INTEGERS:
        return np.unique(np.array([int(label) for label in found], dtype=_INTEGERS[kind]))
    if kind == "boolean":
        return np.unique(np.array([label == "True" for label in found]))
    return np.unique(np.array(found, dtype=str))


def _integers(column: Any) -> IntArray:
    values: IntArray = column.to_numpy().astype(np.int64)
    return values


def _codes(rows: Any, code: Mapping[str, int]) -> IntArray:
    encoded = rows["label"].combine_chunks().dictionary_encode()
    lookup = np.array([code[label] for label in encoded.dictionary.to_pylist()] or [0])
    codes: IntArray = lookup[encoded.indices.to_numpy(zero_copy_only=False).astype(np.int64)]
    return codes


def _values(rows: Any) -> Array:
    real = rows["real"]
    is_real = len(rows) and real.null_count == 0
    values: Array = real.to_numpy() if is_real else _integers(rows["whole"])
    return values


def _lengths(rows: Any, code: Mapping[str, int]) -> tuple[IntArray, Array]:
    values, places = np.unique(_integers(rows["place"]), return_inverse=True)
    weight = np.zeros((len(values), len(code)))
    np.add.at(weight, (places, _codes(rows, code)), _values(rows))
    return values, weight
