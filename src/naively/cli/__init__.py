"""The command `naively`."""

from __future__ import annotations

import atexit
import gc
import sys

from naively.cli.stopping import INTERRUPTED, SAID, stopped_by_signals

_OBJECTS = 300_000  # more than before garbage is looked for: imports and compiling make few cycles


def main() -> None:
    """Run the command, or say how to install what it needs."""
    try:
        with stopped_by_signals():
            _run()
    except KeyboardInterrupt:
        sys.stderr.write(SAID)
        sys.exit(INTERRUPTED)


def _run() -> None:
    gc.set_threshold(_OBJECTS)
    atexit.register(gc.freeze)  # nor is it at the very end, in all modules: 0.4 s of every run
    try:
        from naively.cli.commands import naively
    except ModuleNotFoundError as error:
        if error.name not in ("click", "rich", "jinja2"):
            raise
        sys.stderr.write(
            f"naively: the command needs the package {error.name}, which is not installed; "
            "install it with: pip install 'naively[cli]'\n"
        )
        sys.exit(2)
    try:
        naively(prog_name="naively")
    except OSError as error:  # from what is printed outside of the commands, such as --help
        from naively.cli.ending import output_refused

        output_refused(error)
