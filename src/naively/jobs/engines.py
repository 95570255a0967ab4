"""Where the work is done: on this machine, on Dask or on Spark."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass
from typing import Any

from naively.jobs.settings import Engine
from naively.read.errors import mendable
from naively.read.progress import Progress
from naively.work.records import Record
from naively.work.stream import Task, run_tasks


@dataclass(frozen=True, slots=True)
class Workers:
    """An engine at work: how it counts tasks and how it maps a function over them."""

    jobs: int  # among which parts are divided
    are_here: bool  # on this machine, in this process
    count: Callable[[Sequence[Task], Progress], Record]
    map: Callable[..., list[Any]]  # function(task, *arguments) for each task, in their order


@contextmanager
def working(engine: Engine) -> Iterator[Workers]:
    """Start an engine, or connect to it, for as long as it is needed."""
    jobs = engine.jobs or (1 if engine.name == "local" else 2)
    if engine.name == "local":
        yield Workers(
            jobs,
            are_here=True,
            count=lambda tasks, progress: run_tasks(tasks, jobs, engine.checkpoint, progress),
            map=lambda function, tasks, *arguments: _mapped(function, tasks, arguments, jobs),
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
def _on_dask(engine: Engine, jobs: int) -> Iterator[Workers]:
    from naively.work import dask

    cluster = dask.local_cluster(jobs) if engine.address is None else dask.connected(engine.address)
    with cluster:
        yield Workers(4 * jobs, False, lambda tasks, _: dask.count_tasks(tasks), dask.map_tasks)


@contextmanager
def _on_spark(engine: Engine, jobs: int) -> Iterator[Workers]:
    from naively.work import spark

    if engine.address is None:
        opened = spark.local_session(f"local[{jobs},4]")
    else:
        opened = spark.connected(engine.address)
    with opened as session:
        yield Workers(
            4 * jobs,
            False,
            lambda tasks, _: spark.count_tasks(session, tasks),
            lambda function, tasks, *arguments: spark.map_tasks(
                session, function, tasks, *arguments
            ),
        )
