"""What the documentation shows is what happens."""

import doctest
import importlib
import pkgutil
import re
import shlex
import sys
from pathlib import Path

import pytest

import naively

OPTIONS = doctest.ELLIPSIS | doctest.NORMALIZE_WHITESPACE
ROOT = Path(__file__).parents[1]
README = ROOT / "README.md"
PAGES = sorted((ROOT / "docs").rglob("*.md"))


def modules():
    """Modules with examples, found without importing those that need an extra."""
    for module in pkgutil.walk_packages(naively.__path__, "naively."):
        source = Path(module.module_finder.path, *module.name.split(".")[-1:]).with_suffix(".py")
        if source.exists() and ">>> " in source.read_text(encoding="utf8"):
            yield module.name


@pytest.mark.parametrize("name", list(modules()))
def test_examples_in_docstrings(name):
    failed, tried = doctest.testmod(importlib.import_module(name), optionflags=OPTIONS)
    assert tried > 0
    assert failed == 0


def test_examples_in_the_readme():
    failed, tried = doctest.testfile(str(README), module_relative=False, optionflags=OPTIONS)
    assert tried > 5
    assert failed == 0


def has_examples(page):
    return ">>> " in page.read_text(encoding="utf8") and "_build" not in page.parts


def shell(line):
    """Print what a command prints; it must succeed."""
    from click.testing import CliRunner

    from naively.cli.commands import naively as command

    found = CliRunner().invoke(command, shlex.split(line)[1:], catch_exceptions=False)
    assert found.exit_code == 0, found.output
    sys.stdout.write(found.stdout)


class Console(doctest.DocTestParser):
    """Examples of Python, and of the shell: what stands below `$ naively ...` is what it prints."""

    def parse(self, string, name="<string>"):
        commands = re.sub(r"^\$ (naively .*)$", r">>> shell(r'''\1''')", string, flags=re.MULTILINE)
        return super().parse(re.sub(r"^```$", "", commands, flags=re.MULTILINE), name)


@pytest.mark.parametrize("page", list(filter(has_examples, PAGES)), ids=lambda page: page.stem)
def test_examples_in_the_pages(page, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)  # what an example writes does not stay
    failed, tried = doctest.testfile(
        str(page),
        module_relative=False,
        optionflags=OPTIONS,
        parser=Console(),
        extraglobs={"shell": shell},
    )
    assert tried > 0
    assert failed == 0
