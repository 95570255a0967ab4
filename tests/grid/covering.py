"""Few cells of a grid in which every pair of values occurs."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from itertools import combinations
from random import Random

Row = tuple[str, ...]
Pair = tuple[int, str, int, str]

_TRIES = 30  # random rows, of which that of the most new pairs is taken


def covering(
    dimensions: Mapping[str, Sequence[str]], sensible: Callable[[Row], bool]
) -> Iterator[Row]:
    """Return sensible rows that hold every pair of values that any of them can hold."""
    random, values = Random(0), list(dimensions.values())
    open_pairs = {
        (i, a, j, b)
        for i, j in combinations(range(len(values)), 2)
        for a in values[i]
        for b in values[j]
    }
    while open_pairs:
        wanted = min(open_pairs)
        rows = [row for _ in range(_TRIES) if sensible(row := _row_with(wanted, values, random))]
        if not rows:
            open_pairs.discard(wanted)  # no row holds it
            continue
        best = max(rows, key=lambda row: len(open_pairs & _pairs(row)))
        open_pairs -= _pairs(best)
        yield best


def _row_with(pair: Pair, values: Sequence[Sequence[str]], random: Random) -> Row:
    row = [random.choice(each) for each in values]
    i, row[i], j, row[j] = pair
    return tuple(row)


def _pairs(row: Row) -> set[Pair]:
    return {(i, row[i], j, row[j]) for i, j in combinations(range(len(row)), 2)}
