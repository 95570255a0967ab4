"""How long kernels took to compile, which the first use of each pays, once for a cache."""

from __future__ import annotations

import logging
from dataclasses import dataclass, field
from time import perf_counter


@dataclass(slots=True)
class Clock:
    """Seconds of this process; a kernel that another one calls is compiled in the time of that."""

    seconds: float = 0.0
    _started: list[float] = field(default_factory=list)

    def start(self) -> None:
        """Begin with a kernel that is not in the cache."""
        self._started.append(perf_counter())

    def stop(self, name: str) -> None:
        """End with it, and tell those who want to know."""
        took = perf_counter() - self._started.pop() if self._started else 0.0
        logging.getLogger("naively").info("compiled %s in %.1f s, once for a cache", name, took)
        if not self._started:
            self.seconds += took


COMPILING = Clock()  # numba compiles one kernel at a time, under a lock
