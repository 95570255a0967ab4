"""Class statistics on a Dask cluster: records where the blocks are, merged in a tree.

Blocks of dask arrays may be SciPy matrices. Dask's own reductions do not support them, and the
`nbytes` of such an array is that of a dense one, so nothing here uses either: every block becomes
a record on its worker, of counts a sparse one, and records are merged a few at a time. The tree,
and with it the rounding of real numbers, depends on the order of the blocks alone.
"""

from __future__ import annotations

import logging
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import replace
from typing import Any, TypeVar

import numpy as np

from naively._types import Array
from naively.statistics.matrix import is_sparse
from naively.statistics.values import ClassMedians
from naively.text.features import ColumnFeatures, FeatureDefinition, TextFeatures
from naively.work.addresses import check_answers
from naively.work.counters import new_counter, record_of
from naively.work.judged import Answerer
from naively.work.records import Record, merge
from naively.work.stream import Task, run_task

try:
    import dask
except ModuleNotFoundError as error:
    raise ModuleNotFoundError(
        "Counting on Dask needs the extra `dask`; install it with: pip install 'naively[dask]'",
        name="dask",
    ) from error

R = TypeVar("R")
SPLIT_EVERY = 8


def class_statistics(
    X: Any,
    y: Any,
    features: FeatureDefinition | None = None,
    *,
    classes: Any = (),
    split_every: int = SPLIT_EVERY,
) -> Record:
    """Gather statistics of rows by class on whatever scheduler Dask uses.

    Parameters
    ----------
    X : dask.array of shape (n, m), dask Series of texts or tokens, or sequence of Delayed
        Array blocks may be sparse; all columns must be in one chunk.
    y : dask.array or dask Series of shape (n,), or sequence of Delayed
        Labels, in the same chunks.
    features : TextFeatures or ColumnFeatures, default=None
        What is gathered: counts, presence, moments or categories. By default the counts of the
        columns of an array, or of words of a Series.
    classes : array-like of shape (C,), default=()
        Labels that will occur; others are found.
    split_every : int, default=8
        Records merged at a time.

    Returns
    -------
    record : Record
        Its statistics equal those of one process, bit for bit, for sums of whole numbers; for real
        numbers too if the definition has a `resolution`, else to rounding, and they depend on the
        chunks alone. `names` are the terms of texts. Records of different collections merge
        (:func:`naively.work.records.merge`); their shards are named after the collections.

    Raises
    ------
    ValueError
        If X and y are cut differently, or X is cut by columns.

    Examples
    --------
    >>> import dask.array as da, numpy as np
    >>> from naively.work.dask import class_statistics
    >>> X = da.from_array(np.array([[1, 0], [1, 2], [0, 3]]), chunks=(2, 2))
    >>> record = class_statistics(X, da.from_array(np.array([0, 1, 1]), chunks=2))
    >>> record.statistics.table.tolist()
    [[1, 1], [0, 5]]
    """
    features = features or _default_features(X)
    pairs = list(zip(_blocks(X, "X"), _blocks(y, "y"), strict=False))
    _check_blocks(X, y)
    count = dask.delayed(_count_block, pure=False)
    records = [
        count(rows, labels, features, tuple(classes), number, _name_of(rows))
        for number, (rows, labels) in enumerate(pairs)
    ]
    return merge_delayed(records, split_every=split_every)


def count_tasks(tasks: Sequence[Task], *, split_every: int = SPLIT_EVERY) -> Record:
    """Count files on a cluster whose workers see them; tasks as of `naively.work.stream`."""
    count = dask.delayed(run_task, pure=False)
    return merge_delayed([count(task, dense_cells=0) for task in tasks], split_every=split_every)


def merge_delayed(records: Sequence[Any], *, split_every: int = SPLIT_EVERY) -> Record:
    """Merge records, each a Delayed, in a tree on the workers, and take the sum."""
    if not records:
        raise ValueError("There must be at least one block of rows to count; got none.")
    together = dask.delayed(merge, pure=False)
    level = list(records)
    while len(level) > 1:
        level = [
            together(level[start : start + split_every], dense_cells=0)
            for start in range(0, len(level), split_every)
        ]
    (record,) = dask.compute(level[0])
    return merge([record])


def map_tasks(function: Callable[..., R], tasks: Sequence[Task], *arguments: Any) -> list[R]:
    """Apply a function to each task and the same further arguments, on the workers."""
    call = dask.delayed(function, pure=False)
    shared = [dask.delayed(argument) for argument in arguments]
    results: list[R] = list(dask.compute(*(call(task, *shared) for task in tasks)))
    return results


def predict(model: Any, X: Any) -> Any:
    """Predict the rows of a dask.array, or of a dask Series of texts, block by block.

    Parameters
    ----------
    model : fitted estimator for an array, Answerer for texts
        Sent to each worker once.
    X : dask.array of shape (n, m), or dask Series of length n
        Rows.

    Returns
    -------
    y : dask.array or dask Series of shape (n,)
        Lazy, in the chunks of X.
    """
    if isinstance(model, Answerer):
        return X.map_partitions(_answers, model, meta=(None, object))
    meta = np.empty(0, dtype=model.classes_.dtype)
    return X.map_blocks(_predicted, model, drop_axis=1, dtype=meta.dtype, meta=meta)


def class_medians(X: Any, y: Any, *, n_blocks: int = 16, classes: Any = None) -> ClassMedians:
    """Take exact medians by class: all rows of a range of columns meet on one worker.

    Parameters
    ----------
    X : dask.array of shape (n, m)
        Blocks may be sparse.
    y : dask.array of shape (n,)
        Labels, in the same chunks; gathered on every worker.
    n_blocks : int, default=16
        Ranges of columns; a worker holds all rows of one.
    classes : array-like of shape (C,), default=None
        All labels, where y may lack some.

    Returns
    -------
    medians : ClassMedians
        Equal to those of one process; `SparseL1Centers.from_statistics` takes them.
    """
    _check_blocks(X, y)
    rows = list(_blocks(X, "X"))
    labels = dask.delayed(np.concatenate)(list(_blocks(y, "y")))
    bounds = np.unique(np.linspace(0, X.shape[1], n_blocks + 1).astype(int)).tolist()
    cut, take = dask.delayed(_columns), dask.delayed(_medians)
    parts = [
        take([cut(block, start, stop) for block in rows], labels, classes)
        for start, stop in zip(bounds[:-1], bounds[1:], strict=True)
    ]
    found = dask.compute(*parts)
    medians: ClassMedians = replace(
        found[0],
        **{
            name: np.concatenate([getattr(part, name) for part in found], axis=-1)
            for name in ("center", "dispersion", "pooled_center", "pooled_dispersion")
        },
    )
    return medians


@contextmanager
def local_cluster(n_workers: int = 2) -> Iterator[Any]:
    """Start a cluster of threads in this process that listens on loopback only.

    Workers that are processes would each import and load again what this one has, for seconds;
    kernels run in threads all the same.

    Parameters
    ----------
    n_workers : int, default=2
        Threads.

    Yields
    ------
    client : distributed.Client
        Calls within the block run on its workers.
    """
    from distributed import Client, LocalCluster

    with (
        LocalCluster(
            n_workers=1,
            threads_per_worker=n_workers,
            processes=False,
            protocol="tcp",  # on which all of it listens on loopback
            host="127.0.0.1",
            dashboard_address="127.0.0.1:0",  # for there must be one: at a port that is free,
            scheduler_kwargs={"dashboard": False},  # without pages
            memory_limit=None,  # which would be that of this process, whatever is counted
            silence_logs=logging.ERROR,
        ) as cluster,
        Client(cluster) as client,
        _quiet(),
    ):
        yield client


@contextmanager
def connected(address: str) -> Iterator[Any]:
    """Use the workers of a scheduler that runs already, such as tcp://127.0.0.1:8786.

    Raises
    ------
    ValueError
        If no scheduler answers there.
    """
    from distributed import Client

    check_answers(address, "tcp://127.0.0.1:8786")
    with Client(address) as client, _quiet():
        yield client


def _quiet() -> Any:
    """Models travel within the graph, not apart from it: then they survive the loss of workers."""
    return dask.config.set({"distributed.admin.large-graph-warning-threshold": "1 TiB"})


# What comes in ---------------------------------------------------------------------------------


def _default_features(X: Any) -> FeatureDefinition:
    if hasattr(X, "shape") and len(X.shape) == 2:
        return ColumnFeatures(int(X.shape[1]))
    if hasattr(X, "map_partitions"):
        return TextFeatures()
    raise ValueError("`features` must say what delayed blocks hold: ColumnFeatures(n_columns).")


def _blocks(data: Any, name: str) -> Iterable[Any]:
    if not hasattr(data, "to_delayed"):
        return list(data)
    delayed = data.to_delayed()
    if name == "X" and getattr(delayed, "ndim", 1) == 2 and delayed.shape[1] != 1:
        raise ValueError(
            f"X must have all its columns in one chunk; got {delayed.shape[1]} chunks of columns. "
            "Use X.rechunk({1: -1})."
        )
    return np.asarray(delayed, dtype=object).ravel().tolist()


def _check_blocks(X: Any, y: Any) -> None:
    n_x, n_y = len(list(_blocks(X, "X"))), len(list(_blocks(y, "y")))
    if n_x != n_y:
        raise ValueError(f"X and y must be cut alike; got {n_x} blocks of X and {n_y} of y.")
    if not (hasattr(X, "chunks") and hasattr(y, "chunks")):
        return
    for number, (rows, labels) in enumerate(zip(X.chunks[0], y.chunks[0], strict=True)):
        if rows == rows and labels == labels and rows != labels:
            raise ValueError(
                f"X and y must be cut alike; block {number} has {rows} rows of X and {labels} "
                "labels. Use y.rechunk(X.chunks[0])."
            )


def _name_of(block: Any) -> str:
    """Name of the collection that a block is of, or its own: blocks of others are other shards."""
    key = getattr(block, "key", "rows")
    return str(key[0] if isinstance(key, tuple) else key)


# On the workers --------------------------------------------------------------------------------


def _count_block(
    rows: Any,
    labels: Any,
    features: FeatureDefinition,
    classes: tuple[Any, ...],
    number: int,
    name: str,
) -> Record:
    counter = new_counter(features, classes, dense_cells=0)
    labels = np.asarray(labels)
    try:
        counter.update(rows, labels.astype(str) if labels.dtype.kind in "OT" else labels)
    except ValueError as error:
        raise ValueError(f"block {number}: {error}") from error
    return record_of(counter, {f"block {number} of {name}": len(labels)})


def _columns(block: Any, start: int, stop: int) -> Any:
    return block[:, start:stop]


def _medians(blocks: list[Any], labels: Array, classes: Any) -> ClassMedians:
    import scipy.sparse as sp

    rows = sp.vstack(blocks, format="csr") if is_sparse(blocks[0]) else np.concatenate(blocks)
    return ClassMedians.from_matrix(rows, labels, classes=classes)


def _predicted(block: Any, model: Any) -> Array:
    return np.asarray(model.predict(block))


def _answers(texts: Any, answerer: Answerer) -> Any:
    import pandas as pd

    found = answerer.answers(texts)
    return pd.Series(found.astype(object), index=texts.index)
