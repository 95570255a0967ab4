"""Work shared out over threads, so that the result does not depend on how many there are."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from concurrent.futures import ThreadPoolExecutor
from typing import Any

import numba


def in_threads(work: Callable[[Any], None], items: Sequence[Any]) -> None:
    """Run `work` on every item, as many at a time as Numba has threads.

    Items must be cut by the data alone, never by the number of threads, and write to different
    places. Pays where `work` spends its time in kernels and in NumPy, which release the GIL.
    """
    n_threads = min(numba.get_num_threads(), len(items))
    if n_threads < 2:
        for item in items:
            work(item)
        return
    with ThreadPoolExecutor(n_threads) as pool:
        for _ in pool.map(work, items):
            pass
