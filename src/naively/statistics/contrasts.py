"""Statistics of each class against all others: two classes, from those of many."""

from __future__ import annotations

from collections.abc import Iterator
from functools import reduce
from operator import add
from typing import TypeVar

from naively.statistics.base import AbstractStatistics

A = TypeVar("A", bound=AbstractStatistics)


def against_rest(statistics: A) -> Iterator[A]:
    """Give, class by class, the statistics as if the rows of all others had one label.

    The classes of each are 0, the rest, and 1, the class. Halves of the classes are added to the
    rest of the other half in turn, so that C classes cost C log C additions, and no subtraction.
    """
    n = len(statistics.classes)

    def named(c: int, name: int) -> A:
        return statistics.of_classes([c], [name])

    def within(first: int, last: int, outside: list[A]) -> Iterator[A]:
        """Give those of the classes of a range, from the sum of all that are not in it."""
        if last - first == 1:
            yield reduce(add, [*outside, named(first, 1)])
            return
        middle = (first + last) // 2
        for start, stop, others in (
            (first, middle, (middle, last)),
            (middle, last, (first, middle)),
        ):
            rest = [*outside, *(named(c, 0) for c in range(*others))]
            yield from within(start, stop, [reduce(add, rest)])

    return within(0, n, [])
