"""What builds the pages: formulas drawn by the browser, and a reference that lists every name."""

import importlib.util
import re
import shlex
from pathlib import Path

import pytest

import naively

DOCS = Path(__file__).parents[1] / "docs"


@pytest.fixture(scope="module")
def native_math():
    pytest.importorskip("sphinx")
    spec = importlib.util.spec_from_file_location("native_math", DOCS / "_ext" / "native_math.py")
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


def test_names_of_functions_are_set_off(native_math):
    assert native_math._spaced(r"g_i \log g_i") == r"g_i \, \log \, g_i"
    assert native_math._spaced(r"\log (x)") == r"\log (x)"
    assert native_math._spaced(r"\logarithm") == r"\logarithm"


def test_lines_with_signs_are_aligned(native_math):
    from docutils import nodes

    formula = native_math._mathml(nodes.math_block("", r"a &= b \\ c &= d"), as_block=True)
    assert formula.count("<mtr>") == 2
    assert 'display="block"' in formula


def test_the_reference_lists_every_public_name_once():
    listed = re.findall(r"^   (\w+)$", (DOCS / "reference.rst").read_text("utf8"), re.MULTILINE)
    assert sorted(listed) == sorted(name for name in naively.__all__ if name != "__version__")


def test_nothing_in_the_settings_needs_the_network():
    settings = (DOCS / "conf.py").read_text("utf8")
    assert "intersphinx" not in settings
    assert "http" not in settings


def shell_commands():
    """Every `naively ...` line of the pages and the README, as (page, line)."""
    root = DOCS.parent
    pages = [root / "README.md", *DOCS.glob("*.md"), *DOCS.glob("*/*.md")]
    for page in sorted(pages):
        for line in re.findall(r"^    (naively [a-z].*)$", page.read_text("utf8"), re.MULTILINE):
            yield pytest.param(line, id=f"{page.stem}: {line}")


@pytest.mark.parametrize("line", list(shell_commands()))
def test_commands_in_the_pages_can_be_given(line, tmp_path, monkeypatch):
    from naively.cli.commands import naively as group

    monkeypatch.chdir(tmp_path)
    (tmp_path / "result").mkdir()
    (tmp_path / "result" / "run.toml").write_text('file = "reviews.tsv.gz"\n')
    name, *arguments = shlex.split(line, comments=True)[1:]
    group.commands[name].make_context(name, arguments)  # raises for options that are not there
