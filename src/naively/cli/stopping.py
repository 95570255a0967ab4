"""Ctrl-C and SIGTERM stop a command, from its first imports on."""

from __future__ import annotations

import signal
import sys
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from threading import Event
from typing import Any

INTERRUPTED = 130  # what shells report for a program stopped by Ctrl-C
SAID = "naively: interrupted; nothing was written.\n"

ASKED_TO_STOP = Event()  # a process has its signals once


class Stopped(KeyboardInterrupt):
    """What a signal raises.

    Where KeyboardInterrupt itself passes through code that is compiled of a text, as those of
    dataclasses are, Python notes it and ends by the signal, whatever the program ends with.
    """


@contextmanager
def stopped_by_signals() -> Iterator[None]:
    """Let Ctrl-C and SIGTERM stop what runs within, at the next step if Python drops the exception.

    What is raised while an object is destroyed is dropped, and told on the error output.
    """

    def stop(*_: object) -> None:
        ASKED_TO_STOP.set()
        raise Stopped

    def tell(dropped: Any) -> None:
        if not issubclass(dropped.exc_type, KeyboardInterrupt):
            usual(dropped)

    usual, sys.unraisablehook = sys.unraisablehook, tell
    before: dict[signal.Signals, Any] = {}
    try:
        with suppress(ValueError):  # not in the main thread: leave signals alone
            for number in (signal.SIGINT, signal.SIGTERM):
                if signal.getsignal(number) is not signal.SIG_IGN:  # as of jobs in the background
                    before[number] = signal.signal(number, stop)
        yield
    finally:
        for number, handler in before.items():
            signal.signal(number, handler)
        sys.unraisablehook = usual
        ASKED_TO_STOP.clear()
