"""Settings of the whole test run."""

import os
import re

import pytest
from hypothesis import settings

# scikit-learn's check of array API input needs this before SciPy is imported.
os.environ.setdefault("SCIPY_ARRAY_API", "1")

# Kernels compile at their first call, so that no example has a fair deadline.
settings.register_profile("naively", deadline=None, derandomize=True)
settings.load_profile("naively")


_OPTION = re.compile(r"(?<![\w-])--[a-z][a-z0-9-]+")
_ELSEWHERE = re.compile(r"`naively [a-z]+[^`]*`|pip install.*")


def strange_options(message, name):
    """Options that a message names and its command lacks; those of another are named with it."""
    from naively.cli.scale import naively

    def known(command):
        return {option for each in naively.commands[command].params for option in each.opts}

    for other, rest in re.findall(r"`naively ([a-z]+)([^`]*)`", message):
        yield from (each for each in _OPTION.findall(rest) if each not in known(other))
    own = _OPTION.findall(_ELSEWHERE.sub("", message))
    yield from (each for each in own if each not in known(name))


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
        strange = list(strange_options(self.message, entered[-1])) if entered else []
        assert not strange, f"naively {entered[-1]} has no {strange}: {self.message}"

    monkeypatch.setattr(click.Command, "invoke", noted)
    monkeypatch.setattr(Refusal, "show", checked)
