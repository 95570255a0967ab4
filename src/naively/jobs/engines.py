"""Where the work is done: on this machine, on Dask or on Spark."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass
from typing import Any

from naively.io.errors import mendable
from naively.io.progress import Progress
from naively.work.records import CountRecord
from naively.work.stream import Task, run_tasks


@dataclass(frozen=True, slots=True)
class Engine:
    """Where the work is done."""

    name: str = "local"  # "local", "dask" or "spark"
    address: str | None = None  # of a scheduler; None: workers on this machine
    jobs: int | None = None  # workers; None: one, or two on an engine


@dataclass(frozen=True, slots=True)
class Running:
    """An engine at work: how it counts tasks and how it maps a function over them."""

    jobs: int
    count: Callable[[Sequence[Task], str | None, Progress], CountRecord]
    map: Callable[..., list[Any]]


@contextmanager
def running(engine: Engine) -> Iterator[Running]:
    """Start an engine, or connect to it, for as long as it is needed."""
    jobs = engine.jobs or (1 if engine.name == "local" else 2)
    if engine.name == "local":
        yield Running(
            jobs,
            lambda tasks, folder, progress: run_tasks(tasks, jobs, folder, progress),
            lambda function, tasks, *arguments: _mapped(function, tasks, arguments, jobs),
        )
        return
    with ExitStack() as stack:
        with mendable():  # an extra is missing, or nobody answers
            on = _on_dask if engine.name == "dask" else _on_spark
            started = stack.enter_context(on(engine, jobs))
        yield started


def _mapped(
    function: Callable[..., Any], tasks: Sequence[Task], arguments: tuple[Any, ...], jobs: int
) -> list[Any]:
    if jobs == 1:
        return [function(task, *arguments) for task in tasks]
    from joblib import Parallel, delayed

    call = Parallel(n_jobs=jobs, prefer="threads")
    results: list[Any] = call(delayed(function)(task, *arguments) for task in tasks)
    return results


@contextmanager
def _on_dask(engine: Engine, jobs: int) -> Iterator[Running]:
    from naively.work import dask

    cluster = dask.local_cluster(jobs) if engine.address is None else dask.connected(engine.address)
    with cluster:
        yield Running(4 * jobs, lambda tasks, *_: dask.count_tasks(tasks), dask.map_tasks)


@contextmanager
def _on_spark(engine: Engine, jobs: int) -> Iterator[Running]:
    from naively.work import spark

    if engine.address is None:
        opened = spark.local_session(f"local[{jobs},4]")
    else:
        opened = spark.connected(engine.address)
    with opened as session:
        yield Running(
            4 * jobs,
            lambda tasks, *_: spark.count_tasks(session, tasks),
            lambda function, tasks, *arguments: spark.map_tasks(
                session, function, tasks, *arguments
            ),
        )
