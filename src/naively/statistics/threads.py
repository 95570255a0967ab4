"""Work shared out over threads, so that the result does not depend on how many there are."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from concurrent.futures import ThreadPoolExecutor
from typing import TypeVar

import numba

Item = TypeVar("Item")
Result = TypeVar("Result")


def n_threads() -> int:
    """Return how many threads to use: `numba.set_num_threads` and NUMBA_NUM_THREADS decide."""
    return int(numba.get_num_threads())


def in_threads(work: Callable[[Item], Result], items: Iterable[Item]) -> list[Result]:
    """Return `[work(item) for item in items]`, as many at a time as Numba has threads.

    Items must be cut so that the result does not depend on the number of threads, and write to
    different places. Pays where `work` spends its time in kernels and in NumPy, which release the
    GIL. Errors are raised here.
    """
    items = list(items)
    threads = min(n_threads(), len(items))
    if threads < 2:
        return [work(item) for item in items]
    with ThreadPoolExecutor(threads) as pool:
        return list(pool.map(work, items))
