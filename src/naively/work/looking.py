"""A first look at tables with columns of several kinds, where they are."""

from __future__ import annotations

from functools import reduce
from operator import add

from naively.read.mixed import Found, kinds_in, values_in
from naively.work.stream import Task


def kinds_of(task: Task) -> Found:
    """Look at which kinds of cells the columns of a task hold."""
    return reduce(add, [kinds_in(part, task.layout) for part in task.parts])


def values_of(task: Task) -> Found:
    """Look at which categories, and which words, the columns of a task hold."""
    return reduce(add, [values_in(part, task.layout) for part in task.parts])
