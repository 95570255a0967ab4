"""Settings of the whole test run."""

import os
import re
import signal

import pytest
from hypothesis import settings

# scikit-learn's check of array API input needs this before SciPy is imported.
os.environ.setdefault("SCIPY_ARRAY_API", "1")

# Jobs in the background ignore Ctrl-C, and so would all commands that tests start and interrupt.
if signal.getsignal(signal.SIGINT) is signal.SIG_IGN:
    signal.signal(signal.SIGINT, signal.default_int_handler)

# Kernels compile at their first call, so that no example has a fair deadline.
settings.register_profile("naively", deadline=None, derandomize=True)
settings.load_profile("naively")


_OPTION = re.compile(r"(?<![\w-])--[a-z][a-z0-9-]+")
_ELSEWHERE = re.compile(r"`naively [a-z]+[^`]*`|pip install.*")


_KEY = re.compile(r"(?<![\w-])--([a-z]+) ([a-z][a-z0-9-]+)")


def strange_options(message, name):
    """Options and keys that a message names and its command lacks, or the command it names."""
    from naively.cli.commands import naively
    from naively.cli.keys import Keyed

    def strange(text, command):
        params = naively.commands[command].params
        known = {option for each in params for option in each.opts}
        yield from (each for each in _OPTION.findall(text) if each not in known)
        tables = {
            each.type.table: each.type.keys for each in params if isinstance(each.type, Keyed)
        }
        for table, key in _KEY.findall(text):
            if table in tables and key not in {*tables[table], "help"}:
                yield f"--{table} {key}"

    for other, rest in re.findall(r"`naively ([a-z]+)([^`]*)`", message):
        yield from strange(rest, other)
    yield from strange(_ELSEWHERE.sub("", message), name)


@pytest.fixture(autouse=True)
def _advice_can_be_followed(monkeypatch):
    """Whatever options a refusal names in any test, its command has them."""
    try:
        import click

        from naively.cli.commands import Refusal
    except ImportError:  # without the extra `cli`
        return
    invoke, show, entered = click.Command.invoke, Refusal.show, []

    def noted(self, context):
        entered.append(context.info_name)
        return invoke(self, context)

    def checked(self, file=None):
        show(self, file)
        # What is wrong with the command line itself is told before a command is entered.
        told = entered and entered[-1] != "naively"
        strange = list(strange_options(self.message, entered[-1])) if told else []
        assert not strange, f"naively {entered[-1]} has no {strange}: {self.message}"

    monkeypatch.setattr(click.Command, "invoke", noted)
    monkeypatch.setattr(Refusal, "show", checked)
