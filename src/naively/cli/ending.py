"""How a command ends: in one sentence where the user can mend it, and without a trace of Python."""

from __future__ import annotations

import codecs
import functools
import json
import os
import re
import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from typing import Any, NoReturn, ParamSpec, TypeVar

import click

from naively.cli.stopping import ASKED_TO_STOP, INTERRUPTED, SAID, Stopped, stopped_by_signals
from naively.read.errors import InputError, OutputError, reason
from naively.read.progress import Progress
from naively.report.names import printable

P = ParamSpec("P")
R = TypeVar("R")

# What shells report for a program that wrote on to a reader that had enough (head, less).
_READER_GONE = 141

_SMALLER = {"words": ["--words min-count", "smaller --words ngrams"], "k": ["a smaller -k"]}


class Refusal(click.ClickException):
    """One clear sentence and exit status 2."""

    exit_code = 2

    def show(self, file: Any = None) -> None:
        """Write the sentence to the error output."""
        click.echo(f"naively: {printable(' '.join(self.message.split()))}", file=file, err=True)


def explained(command: Callable[P, R]) -> Callable[P, R]:
    """Turn what the user can mend into one sentence, and Ctrl-C into a clean end."""

    @functools.wraps(command)
    def run(*args: P.args, **kwargs: P.kwargs) -> R:
        try:
            with ending_when_stopped():
                return command(*args, **kwargs)
        except (InputError, OutputError) as error:
            raise Refusal(str(error)) from error
        except BrokenPipeError:
            _give_up_output()
            sys.exit(_READER_GONE)
        except OSError as error:
            _give_up_output()
            name = f"{error.filename}:" if error.filename else "the output"
            raise Refusal(f"{name} cannot be written: {reason(error)}.") from error
        except MemoryError as error:
            known = {each.name for each in click.get_current_context().command.params}
            ways = [way for name, some in _SMALLER.items() if name in known for way in some]
            raise Refusal(f"not enough memory; use {', '.join([*ways, 'fewer rows'])}.") from error

    return run


@contextmanager
def ending_when_stopped() -> Iterator[None]:
    """Turn Ctrl-C and SIGTERM into a clean end."""
    try:
        with stopped_by_signals():
            yield
    except KeyboardInterrupt:
        _interrupted()
    except SystemError as error:
        # A signal that arrives as compiled code returns: Python blames the code.
        if not isinstance(error.__cause__ or error.__context__, KeyboardInterrupt):
            raise
        _interrupted()


def _interrupted() -> NoReturn:
    click.echo(SAID, nl=False, err=True)
    sys.exit(INTERRUPTED)


def stoppable(progress: Progress) -> Progress:
    """Stop at the next step where a signal was dropped."""

    def step(stage: str, done: int, total: int) -> None:
        if ASKED_TO_STOP.is_set():
            raise Stopped
        progress(stage, done, total)

    return step


def output_refused(error: OSError) -> NoReturn:
    """End, telling in one sentence why the output cannot be written."""
    _give_up_output()
    refusal = Refusal(f"the output cannot be written: {reason(error)}.")
    refusal.show()
    sys.exit(refusal.exit_code)


@contextmanager
def replacing(out: str) -> Iterator[None]:
    """Tell, once it is done, that an earlier result gave way."""
    from naively.jobs.results import RESULT_FILES
    from naively.work.writing import is_of_a_file, replaces

    if is_of_a_file(out):
        raise Refusal(f"`--out` must name a folder; got {out!r}. Leave out its ending, or add /.")
    earlier = replaces(out, RESULT_FILES)
    yield
    if earlier:
        click.echo(f"naively: the earlier result in {printable(out)} was replaced.", err=True)


def echo_json(text: str) -> None:
    """Print JSON: as it is where the output is UTF-8, and else in ASCII, which is JSON too."""
    encoding = codecs.lookup(getattr(sys.stdout, "encoding", None) or "utf-8").name
    if encoding != "utf-8":
        # Outside of strings JSON is ASCII.
        text = re.sub(r"[^\x00-\x7f]", lambda found: json.dumps(found[0])[1:-1], text)
    click.echo(text, nl=False)


def _give_up_output() -> None:
    # What could not be written would be tried, and complained of, once more at exit.
    with suppress(OSError, ValueError, AttributeError):
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
